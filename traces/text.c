#include "traces/text.h"

#include <string.h>

#include "traces/beat.h"
#include "traces/palette.h"
#include "traces/rounds.h"

enum { WHAT_WIDTH_MAX = 68 };

typedef struct Report {
  GString *out;
  const Story *story;
  const Run *run;
  const TextOptions *options;
  int number_width, time_width, who_width, what_width;
} Report;

static int width_of(const char *text) {
  return (int)MIN(g_utf8_strlen(text, -1), 1000);
}

static void append_padded(GString *out, const char *text, int width) {
  g_string_append(out, text);
  for (int i = width_of(text); i < width; i++) {
    g_string_append_c(out, ' ');
  }
}

static void append_right(GString *out, const char *text, int width) {
  for (int i = width_of(text); i < width; i++) {
    g_string_append_c(out, ' ');
  }
  g_string_append(out, text);
}

static void start_colour(const Report *report, const char *parameters) {
  if (report->options->has_colour) {
    g_string_append_printf(report->out, "\033[%sm", parameters);
  }
}

static void end_colour(const Report *report) {
  start_colour(report, "0");
}

static char *number_text(const Beat *beat) {
  return beat->first == beat->last ? g_strdup_printf("%d", beat->first + 1)
                                   : g_strdup_printf("%d-%d", beat->first + 1, beat->last + 1);
}

static void measure(Report *report, const Beats *beats) {
  report->time_width = 5;
  report->who_width = 3;
  report->number_width = 2;
  for (uint32_t i = 0; i < beats->list.count; i++) {
    const Beat *beat = &beats->list.items[i];
    g_autofree char *number = number_text(beat);
    g_autofree char *time = run_time_text(report->run->steps[beat->first].time_ns);
    report->number_width = MAX(report->number_width, width_of(number));
    report->time_width = MAX(report->time_width, width_of(time));
    report->who_width = MAX(report->who_width, width_of(beat->who));
    report->what_width = MAX(report->what_width, MIN(width_of(beat->what), WHAT_WIDTH_MAX));
  }
}

/* "redlock, scenario pause, 2 clients; servers 5, ttl 10s" */
static void append_setting(const Report *report) {
  const Run *run = report->run;
  int clients = 0;
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    clients += run->lanes[lane].is_client;
  }
  g_string_append(report->out, run->model);
  if (run->scenario[0]) {
    g_string_append_printf(report->out, ", scenario %s", run->scenario);
  }
  g_string_append_printf(report->out, ", %d client%s", clients, clients == 1 ? "" : "s");
  for (int32_t i = 0; i < run->parameter_count; i++) {
    g_string_append_printf(report->out, "%s%s %s", i ? ", " : "; ", run->parameters[i].name, run->parameters[i].value);
  }
}

static void append_sentence(GString *out, const char *sentence) {
  g_string_append(out, sentence);
  size_t length = strlen(sentence);
  if (length && !strchr(".!?", sentence[length - 1])) {
    g_string_append_c(out, '.');
  }
}

static void append_head(const Report *report) {
  const Run *run = report->run;
  start_colour(report, run->property[0] ? "1;31" : "1");
  g_string_append_printf(report->out, run->property[0] ? "violation: %s" : "run%s", run->property);
  end_colour(report);
  g_string_append(report->out, "  (");
  append_setting(report);
  g_string_append(report->out, ")\n");
  if (run->property_sentence[0]) {
    g_string_append(report->out, "  ");
    append_sentence(report->out, run->property_sentence);
  }
  if (run->property[0]) {
    g_string_append_printf(report->out, "%sIt takes ", run->property_sentence[0] ? " " : "  ");
    append_sentence(report->out, run->faults_text[0] ? run->faults_text : "no fault, only delays");
    g_string_append_c(report->out, '\n');
  }
  g_string_append_c(report->out, '\n');
}

static void append_row(const Report *report, const char *number, const char *time, const Beat *beat) {
  GString *out = report->out;
  const Story *story = report->story;
  g_string_append(out, beat && beat->is_violation ? "> " : "  ");
  append_right(out, number, report->number_width);
  g_string_append(out, "  ");
  append_right(out, time, report->time_width);
  g_string_append(out, "  ");
  int32_t client = beat && beat->client >= 0 ? story->hue_number[beat->client] : -1;
  const char *colour = !beat || beat->kind == BEAT_AGAIN ? "2"
                       : beat->is_violation              ? "1;31"
                       : client >= 0                     ? palette_hue(client)->terminal
                                                         : NULL;
  const char *who = beat ? beat->who : "who", *what = beat ? beat->what : "what",
             *changed = beat ? beat->changed : "changed";
  if (colour) {
    start_colour(report, colour);
  }
  append_padded(out, who, report->who_width);
  g_string_append(out, "  ");
  append_padded(out, what, changed[0] ? report->what_width : 0);
  if (colour) {
    end_colour(report);
  }
  g_string_append_printf(out, "%s%s\n", changed[0] ? "  " : "", changed);
}

static void append_quiet(const Report *report, int64_t quiet_ns) {
  if (quiet_ns < ROUNDS_QUIET_NS) {
    return;
  }
  g_autofree char *text = story_duration_text(quiet_ns);
  for (int i = 0; i < report->number_width + 4; i++) {
    g_string_append_c(report->out, ' ');
  }
  start_colour(report, "2");
  g_string_append_printf(report->out, "... %s", text);
  end_colour(report);
  g_string_append_c(report->out, '\n');
}

static void append_steps(Report *report, const Beats *beats) {
  const Run *run = report->run;
  measure(report, beats);
  append_row(report, "", "t (s)", NULL);
  for (uint32_t i = 0; i < beats->list.count; i++) {
    const Beat *beat = &beats->list.items[i];
    append_quiet(report, beat_quiet_ns(run, beat));
    g_autofree char *number = number_text(beat);
    g_autofree char *time = run_time_text(run->steps[beat->first].time_ns);
    append_row(report, number, time, beat);
  }
}

static void append_tail(const Report *report) {
  const Run *run = report->run;
  if (run->why_count || report->options->less || report->options->trace_path) {
    g_string_append_c(report->out, '\n');
  }
  for (int32_t i = 0; i < run->why_count; i++) {
    g_string_append(report->out, i ? "     " : "why  ");
    append_sentence(report->out, run->why[i]);
    g_string_append_c(report->out, '\n');
  }
  if (report->options->less) {
    g_string_append(report->out, "less ");
    append_sentence(report->out, report->options->less);
    g_string_append_c(report->out, '\n');
  }
  if (report->options->trace_path) {
    g_string_append_printf(report->out, "replay  lockstep replay %s\n", report->options->trace_path);
  }
}

char *text_report(const Run *run, const TextOptions *options) {
  static const TextOptions plain = {0};
  Story *story = story_new(run);
  Report report = {.out = g_string_new(NULL), .story = story, .run = run, .options = options ? options : &plain};
  Beats *beats = beats_new(story, !report.options->is_full);
  if (!report.options->is_full) {
    beats_fold_rounds(beats, run);
  }
  append_head(&report);
  append_steps(&report, beats);
  append_tail(&report);
  beats_free(beats);
  story_free(story);
  return g_string_free(report.out, FALSE);
}
