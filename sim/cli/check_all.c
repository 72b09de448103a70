#include "cli/check_all.h"

#include <stdio.h>
#include <string.h>

#include "cli/outcome.h"
#include "cli/sweep.h"
#include "cli/sweep_table.h"
#include "traces/format.h"

typedef struct CheckAll {
  bool as_json;
  SweepTable table;
  GPtrArray *names; /* of the models that have a result */
  GArray *tallies;  /* of Tally; the same models */
  ExitCode code;
  bool any_wrong, any_broke; /* a model that does not compile; a process that ended badly */
} CheckAll;

static void add_text(GPtrArray *line, const char *option, const char *value) {
  if (value) {
    g_ptr_array_add(line, g_strdup_printf("%s=%s", option, value));
  }
}

static void add_flag(GPtrArray *line, const char *option, gboolean is_set) {
  if (is_set) {
    g_ptr_array_add(line, g_strdup(option));
  }
}

/* Pictures of so many violations are left undrawn: the .dot files are there. */
static void add_formats(GPtrArray *line, const CheckOptions *options) {
  for (char **format = options->emit; format && *format; format++) {
    add_text(line, "--emit", *format);
  }
  for (int32_t i = 0; !options->emit && !options->no_pictures && i < trace_format_count; i++) {
    add_text(line, "--emit", trace_formats[i].is_dot ? trace_formats[i].name : NULL);
  }
}

/* What each model's process is told. --allow-undecided is ours: it is about all of them. */
static char **model_options(const CheckOptions *options) {
  GPtrArray *line = g_ptr_array_new();
  add_text(line, "--memory", options->memory);
  add_text(line, "--timeout", options->timeout);
  add_text(line, "--max-states", options->max_states);
  add_text(line, "--output", options->output);
  add_flag(line, "--exact", options->exact);
  add_flag(line, "--no-symmetry", options->no_symmetry);
  add_flag(line, "--less", options->less);
  add_flag(line, "--no-pictures", options->no_pictures);
  add_formats(line, options);
  g_ptr_array_add(line, NULL);
  return (char **)g_ptr_array_free(line, FALSE);
}

static void note_code(CheckAll *all, ExitCode code) {
  all->any_wrong = all->any_wrong || code == EXIT_DATA;
  all->any_broke = all->any_broke || code == EXIT_INTERNAL || code == EXIT_USAGE;
  if (code == EXIT_NOT_MET || code == EXIT_UNDECIDED) {
    all->code = outcome_worse(all->code, code);
  }
}

static void take_result(void *user, const SweepResult *result) {
  CheckAll *all = user;
  if (*result->said) {
    fflush(stdout);
    fprintf(stderr, "%s: %s", result->model, result->said);
  }
  note_code(all, result->code);
  if (!result->document) {
    return;
  }
  if (all->as_json) {
    g_autofree char *text = json_to_string(result->document, FALSE);
    puts(text);
    return;
  }
  Tally tally = sweep_table_model(&all->table, result->document);
  g_ptr_array_add(all->names, (char *)result->model);
  g_array_append_val(all->tallies, tally);
}

static int widest(const GPtrArray *names) {
  int width = (int)strlen("model");
  for (guint i = 0; i < names->len; i++) {
    width = MAX(width, (int)strlen(names->pdata[i]));
  }
  return width;
}

static ExitCode worst(const CheckAll *all, ExitCode swept) {
  return swept != EXIT_MET ? swept : all->any_broke ? EXIT_INTERNAL : all->any_wrong ? EXIT_DATA : all->code;
}

ExitCode check_all(const CheckOptions *options, guint job_count, bool colour, const Catalogue *catalogue,
                   GError **error) {
  if (!catalogue_is_there(catalogue, error)) {
    return EXIT_INTERNAL;
  }
  g_auto(GStrv) told = model_options(options);
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GArray) tallies = g_array_new(FALSE, FALSE, sizeof(Tally));
  CheckAll all = {.as_json = options->as_json,
                  .table = {.colour = colour, .model_width = widest(catalogue->names)},
                  .names = names,
                  .tallies = tallies,
                  .code = EXIT_MET};
  Sweep sweep = {.models = catalogue->names,
                 .options = told,
                 .job_count = job_count ? job_count : g_get_num_processors(),
                 .quiet = options->quiet,
                 .sink = take_result,
                 .user = &all};
  gint64 began_us = g_get_monotonic_time();
  if (!all.as_json) {
    sweep_table_head(&all.table);
  }
  ExitCode swept = sweep_run(&sweep, error);
  if (!all.as_json && names->len) {
    sweep_table_sum(&all.table, (const char *const *)names->pdata, (const Tally *)(void *)tallies->data, names->len,
                    (double)(g_get_monotonic_time() - began_us) / 1e6);
  }
  return worst(&all, swept);
}
