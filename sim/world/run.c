#include "world/run.h"

#include <glib.h>
#include <string.h>

#include "base/check.h"
#include "world/world.h"

static void event_clear(RunEvent *event) {
  g_free(event->name);
  g_free(event->before);
  g_free(event->text);
}

void run_free(Run *run) {
  if (run == NULL) {
    return;
  }
  for (int32_t s = 0; s < run->step_count; s++) {
    for (int32_t e = 0; e < run->steps[s].event_count; e++) {
      event_clear(&run->steps[s].events[e]);
    }
    g_free(run->steps[s].events);
  }
  for (int32_t l = 0; l < run->lane_count; l++) {
    g_free(run->lanes[l].name);
    g_free(run->lanes[l].model_name);
  }
  for (int32_t p = 0; p < run->parameter_count; p++) {
    g_free(run->parameters[p].name);
    g_free(run->parameters[p].value);
  }
  for (int32_t w = 0; w < run->why_count; w++) {
    g_free(run->why[w]);
  }
  char *strings[] = {run->model,    run->model_text,        run->scenario,   run->scenario_text,
                     run->property, run->property_sentence, run->faults_text};
  for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
    g_free(strings[i]);
  }
  g_free(run->steps);
  g_free(run->lanes);
  g_free(run->parameters);
  g_free(run->why);
  g_free(run);
}

char *run_time_text(int64_t time_ns) {
  const char *sign = time_ns < 0 ? "-" : "";
  uint64_t ns = time_ns < 0 ? (uint64_t)-time_ns : (uint64_t)time_ns;
  char *text = g_strdup_printf("%s%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT, sign, (guint64)(ns / 1000000000u),
                               (guint64)(ns % 1000000000u));
  size_t length = strlen(text);
  while (text[length - 1] == '0' && text[length - 4] != '.') {
    text[--length] = '\0';
  }
  return text;
}

/* --- what the adversary spent ------------------------------------------------------------------------------------ */

/* How long the pause that begins in this event lasts; -1 when the run ends before it. */
static int64_t pause_length(const Run *run, int32_t from_step, int32_t lane) {
  for (int32_t s = from_step; s < run->step_count; s++) {
    for (int32_t e = 0; e < run->steps[s].event_count; e++) {
      const RunEvent *event = &run->steps[s].events[e];
      if (event->kind == RUN_RESUME && event->lane == lane) {
        return event->duration_ns;
      }
    }
  }
  return -1;
}

static void describe_fault(const Run *run, int32_t step, const RunEvent *event, GString *text) {
  const char *lane = event->lane >= 0 ? run->lanes[event->lane].name : "";
  const char *comma = text->len > 0 ? ", " : "";
  if (event->kind == RUN_PAUSE) {
    int64_t length_ns = pause_length(run, step, event->lane);
    g_autofree char *length = run_time_text(length_ns);
    g_string_append_printf(text, "%sa %s of %s%s%s%s", comma, strcmp(event->name, "suspend") == 0 ? "suspend" : "pause",
                           lane, length_ns >= 0 ? " for " : "", length_ns >= 0 ? length : "",
                           length_ns >= 0 ? " s" : "");
  } else if (event->kind == RUN_CRASH) {
    g_string_append_printf(text, "%sa crash of %s%s%s", comma, lane, *event->text ? " " : "", event->text);
  } else if (event->kind == RUN_CLOCK_STEP) {
    g_autofree char *by = run_time_text(event->duration_ns);
    g_string_append_printf(text, "%sa clock step of %s by %s s", comma, lane, by);
  } else if (event->kind == RUN_CUT) {
    g_string_append_printf(text, "%sa cut of %s from %s", comma, lane, run->lanes[event->peer].name);
  } else if (event->kind == RUN_TRIGGER) {
    g_string_append_printf(text, "%s%s of %s", comma, event->text, lane);
  } else if (event->kind == RUN_SEND && (event->flag_late || event->flag_lost)) {
    g_string_append_printf(text, "%sa %s message from %s to %s", comma,
                           event->flag_lost                   ? "lost"
                           : strcmp(event->name, "copy") == 0 ? "second"
                                                              : "late",
                           lane, run->lanes[event->peer].name);
  }
}

/* What is wrong all the time. */
static void describe_standing(const Run *run, GString *text) {
  if (run->is_unordered) {
    g_string_append(text, "an unordered network");
  }
  for (int32_t l = 0; l < run->lane_count; l++) {
    if (run->lanes[l].rate == RATE_SLOW || run->lanes[l].rate == RATE_FAST) {
      g_string_append_printf(text, "%sa %s clock of %s", text->len > 0 ? ", " : "",
                             run->lanes[l].rate == RATE_SLOW ? "slow" : "fast", run->lanes[l].name);
    }
  }
}

char *run_faults_text(const Run *run) {
  GString *text = g_string_new(NULL);
  describe_standing(run, text);
  for (int32_t s = 0; s < run->step_count; s++) {
    for (int32_t e = 0; e < run->steps[s].event_count; e++) {
      describe_fault(run, s, &run->steps[s].events[e], text);
    }
  }
  if (text->len == 0) {
    g_string_append(text, "no fault");
  }
  return g_string_free(text, FALSE);
}
