/* lockstep check: explores the scenarios of a model, and holds the verdicts against its claims. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_all.h"
#include "cli/check_options.h"
#include "cli/command.h"
#include "cli/coverage.h"
#include "cli/folder.h"
#include "cli/less.h"
#include "cli/model_file.h"
#include "cli/outcome.h"
#include "cli/parameter.h"
#include "cli/quantity.h"
#include "cli/result_json.h"
#include "cli/result_table.h"
#include "cli/terminal.h"
#include "cli/warning.h"
#include "cli/watch.h"
#include "traces/text.h"

typedef enum ReportChoice { REPORT_FIRST, REPORT_ALL, REPORT_NONE } ReportChoice;

typedef struct Check {
  CheckOptions options;
  VerifyOptions verify;
  Watch watch;
  Folder folder;
  Catalogue *catalogue;
  ResultTable table;
  TextOptions text;
  ReportChoice report;
  guint64 job_count; /* 0: not given */
} Check;

/* One model on its way through the check. */
typedef struct Job {
  ModelFile *file;
  GPtrArray *programs; /* of the scenarios that are still to be checked, in order */
  GPtrArray *outcomes;
  bool is_whole; /* every scenario of the model was asked for */
} Job;

static void free_program(void *program) {
  program_free(program);
}

static void free_outcome(void *outcome) {
  outcome_free(outcome);
}

static void job_clear(Job *job) {
  g_clear_pointer(&job->file, model_file_free);
  g_clear_pointer(&job->programs, g_ptr_array_unref);
  g_clear_pointer(&job->outcomes, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Job, job_clear)

static gboolean add_program(Job *job, int32_t scenario, char **settings, GError **error) {
  Program *program = model_file_compile(job->file, scenario, settings, error);
  if (program) {
    g_ptr_array_add(job->programs, program);
  }
  return program != NULL;
}

/* Everything is compiled before anything is explored: a mistake in the last scenario shows at once. */
static gboolean job_begin(Job *job, const Check *check, const char *model, char **scenarios, GError **error) {
  job->programs = g_ptr_array_new_with_free_func(free_program);
  job->outcomes = g_ptr_array_new_with_free_func(free_outcome);
  job->is_whole = !scenarios || !*scenarios;
  job->file = model_file_open(check->catalogue, model, error);
  if (!job->file || !model_file_has_scenarios(job->file, error)) {
    return FALSE;
  }
  int32_t count = job->is_whole ? model_scenario_count(job->file->model) : 0;
  for (int32_t i = 0; i < count; i++) {
    if (!add_program(job, i, check->options.settings, error)) {
      return FALSE;
    }
  }
  for (char **name = scenarios; name && *name; name++) {
    int32_t scenario = model_file_scenario(job->file, *name, error);
    if (scenario < 0 || !add_program(job, scenario, check->options.settings, error)) {
      return FALSE;
    }
  }
  return TRUE;
}

static Outcome *explore(Check *check, Job *job) {
  Program *program = g_ptr_array_steal_index(job->programs, 0);
  watch_begin(&check->watch, program->scenario);
  Verification *verification = verify(program, &check->verify);
  double seconds = watch_end(&check->watch);
  Outcome *outcome = outcome_new(program, verification, seconds);
  g_ptr_array_add(job->outcomes, outcome);
  return outcome;
}

/* --timeout counts anew, for all that is tried. */
static void find_less(Check *check, Outcome *outcome) {
  g_autofree char *title = g_strconcat(outcome->program->scenario, ", with less", NULL);
  watch_begin(&check->watch, title);
  less_search(outcome, &check->verify);
  watch_end(&check->watch);
}

/* Until all is explored, or the user interrupts. */
static gboolean job_run(Job *job, Check *check, GError **error) {
  check->folder.model = job->file;
  while (job->programs->len && !watch_was_interrupted()) {
    const Program *next = job->programs->pdata[0];
    if (!folder_begin(&check->folder, next->scenario, error)) {
      return FALSE;
    }
    Outcome *outcome = explore(check, job);
    if (check->options.less && !watch_was_interrupted()) {
      find_less(check, outcome);
    }
    if (!folder_write(&check->folder, outcome, error)) {
      return FALSE;
    }
    if (!check->options.as_json) {
      result_table_rows(&check->table, outcome);
    }
  }
  return TRUE;
}

static void print_report(const Check *check, const Outcome *outcome, const Claim *claim, bool in_full) {
  const Run *run = claim->result->run;
  fputs("\n", stdout);
  if (in_full) {
    TextOptions options = check->text;
    options.trace_path = claim->trace;
    options.less = claim->less.text;
    char *text = text_report(run, &options);
    fputs(text, stdout);
    free(text);
  } else {
    char *text = claim_in_brief(outcome, claim);
    fputs(text, stdout);
    g_free(text);
  }
}

static void print_reports(const Check *check, const Outcome *outcome) {
  const Claim *first = outcome_first_violation(outcome);
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    const Claim *claim = &outcome->claims[i];
    if (claim->result && claim->result->run && check->report != REPORT_NONE) {
      print_report(check, outcome, claim, claim == first || check->report == REPORT_ALL);
    }
  }
}

static bool all_complete(const GPtrArray *outcomes) {
  for (guint i = 0; i < outcomes->len; i++) {
    if (((const Outcome *)outcomes->pdata[i])->verification->stopped != STOP_NOT) {
      return false;
    }
  }
  return outcomes->len > 0;
}

/* What the whole model is silent about can only be said when all of it was explored. */
static GPtrArray *model_warnings(const Job *job) {
  if (job->is_whole && job->programs->len == 0 && all_complete(job->outcomes)) {
    return coverage_warnings(job->outcomes);
  }
  return g_ptr_array_new_with_free_func(warning_free);
}

static void print_warnings(const GPtrArray *warnings) {
  for (guint i = 0; i < warnings->len; i++) {
    g_autofree char *text = warning_text(warnings->pdata[i]);
    fputs(text, stdout);
  }
}

static ExitCode job_code(const Job *job) {
  ExitCode code = job->programs->len ? EXIT_UNDECIDED : EXIT_MET;
  for (guint i = 0; i < job->outcomes->len; i++) {
    code = outcome_worse(code, outcome_code(job->outcomes->pdata[i]));
  }
  return code;
}

/* After an interrupt. */
static void print_unchecked(const Job *job) {
  for (guint i = 0; i < job->programs->len; i++) {
    printf("%s%s", i ? ", " : "\nnot checked: ", ((const Program *)job->programs->pdata[i])->scenario);
  }
  if (job->programs->len) {
    puts("");
  }
}

static void print_json(const Job *job, const GPtrArray *warnings) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  result_json_document(builder, job->file->name, job->outcomes, warnings);
  json_print(builder, true);
}

static void job_print(const Job *job, const Check *check) {
  g_autoptr(GPtrArray) warnings = model_warnings(job);
  if (check->options.as_json) {
    print_json(job, warnings);
    return;
  }
  g_autoptr(GPtrArray) findings = warnings_gather(job->outcomes);
  result_table_legend(&check->table, job->outcomes);
  for (guint i = 0; i < job->outcomes->len; i++) {
    print_reports(check, job->outcomes->pdata[i]);
  }
  if (findings->len + warnings->len) {
    puts("");
  }
  print_warnings(findings);
  print_warnings(warnings);
  print_unchecked(job);
  result_table_sum(job->outcomes);
}

static void print_head(Check *check, const Job *job) {
  if (check->options.as_json || job->programs->len == 0) {
    return;
  }
  int width = (int)strlen("scenario");
  for (guint i = 0; i < job->programs->len; i++) {
    width = MAX(width, (int)strlen(((const Program *)job->programs->pdata[i])->scenario));
  }
  check->table.scenario_width = width;
  g_autofree char *title = terminal_ink(check->table.colour, INK_STRONG, job->file->name, 0);
  g_autofree char *parameters = parameters_text(job->programs->pdata[0]);
  printf("%s  %s\n%s\n\n", title, model_text(job->file->model), parameters);
  result_table_head(&check->table);
}

static ExitCode check_model(Check *check, const char *model, char **scenarios, GError **error) {
  g_auto(Job) job = {0};
  if (!job_begin(&job, check, model, scenarios, error)) {
    return EXIT_DATA;
  }
  print_head(check, &job);
  if (!job_run(&job, check, error)) {
    return EXIT_INTERNAL;
  }
  job_print(&job, check);
  return job_code(&job);
}

typedef gboolean (*CountParser)(const char *text, guint64 *value);

static gboolean parse_limit(const char *option, const char *text, CountParser parser, const char *example,
                            guint64 *value, GError **error) {
  if (text && !parser(text, value)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s '%s' is not such as %s", option, text, example);
    return FALSE;
  }
  return TRUE;
}

static gboolean parse_duration(const char *text, guint64 *value) {
  gint64 duration_us = 0;
  gboolean right = quantity_parse_duration(text, &duration_us);
  *value = (guint64)duration_us;
  return right;
}

static gboolean parse_word(const char *option, const char *text, const char *const *words, unsigned *choice,
                           GError **error) {
  for (unsigned i = 0; text && words[i]; i++) {
    if (strcmp(text, words[i]) == 0) {
      *choice = i;
      return TRUE;
    }
  }
  if (text) {
    g_autofree char *all = g_strjoinv(", ", (char **)words);
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s is one of %s, not '%s'", option, all, text);
  }
  return text == NULL;
}

static gboolean settle_output(Check *check, GError **error) {
  static const char *const report_words[] = {"first", "all", "none", NULL};
  static const char *const trace_words[] = {"folded", "full", NULL};
  const CheckOptions *options = &check->options;
  unsigned report = options->quiet ? REPORT_NONE : REPORT_FIRST, trace = 0;
  if (!parse_word("report", options->report, report_words, &report, error) ||
      !parse_word("trace", options->trace, trace_words, &trace, error) ||
      !terminal_colour(options->colour, &check->table.colour, error)) {
    return FALSE;
  }
  check->report = (ReportChoice)report;
  check->text = (TextOptions){.has_colour = check->table.colour, .is_full = trace == 1};
  check->folder.root = options->output ? options->output : "lockstep-out";
  if (options->emit || options->no_pictures) {
    return folder_formats(options->emit, &check->folder.formats, error);
  }
  check->folder.formats = options->all ? 0 : folder_default_formats();
  return TRUE;
}

static gboolean settle_limits(Check *check, GError **error) {
  const CheckOptions *options = &check->options;
  guint64 timeout_us = 0;
  check->verify = (VerifyOptions){
      .exact = options->exact,
      .symmetry = !options->no_symmetry,
      .tick = watch_tick,
      .user = &check->watch,
  };
  if (!parse_limit("memory", options->memory ? options->memory : "4G", quantity_parse_bytes, "500M or 4G",
                   &check->verify.memory_bytes, error) ||
      !parse_limit("max-states", options->max_states, quantity_parse_count, "20000 or 2M", &check->verify.max_states,
                   error) ||
      !parse_limit("jobs", options->jobs, quantity_parse_count, "2", &check->job_count, error) ||
      !parse_limit("timeout", options->timeout, parse_duration, "90s or 10m", &timeout_us, error)) {
    return FALSE;
  }
  check->watch =
      (Watch){.quiet = options->quiet, .limit_us = (gint64)timeout_us, .memory_bytes = check->verify.memory_bytes};
  check->folder.timeout_us = (gint64)timeout_us;
  check->folder.verify = &check->verify;
  return TRUE;
}

static gboolean settle_model(const Check *check, char **arguments, GError **error) {
  if (check->options.all && (arguments[0] || check->options.settings)) {
    g_set_error_literal(error, COMMAND_ERROR, EXIT_USAGE, "--all takes neither a model nor -p");
    return FALSE;
  }
  if (!check->options.all && check->options.jobs) {
    g_set_error_literal(error, COMMAND_ERROR, EXIT_USAGE, "-j goes with --all: one model is searched by one thread");
    return FALSE;
  }
  if (!check->options.all && !arguments[0]) {
    g_set_error_literal(error, COMMAND_ERROR, EXIT_USAGE,
                        "check needs a model ('lockstep list' prints those that are shipped), or --all");
    return FALSE;
  }
  return TRUE;
}

static ExitCode check_settled(Check *check, char **arguments, GError **error) {
  if (!settle_model(check, arguments, error) || !settle_limits(check, error) || !settle_output(check, error)) {
    return EXIT_USAGE;
  }
  g_autoptr(Catalogue) catalogue = check->catalogue = catalogue_open();
  ExitCode code = EXIT_INTERNAL;
  if (check->options.all) {
    code = check_all(&check->options, (guint)MIN(check->job_count, G_MAXUINT), check->table.colour, catalogue, error);
  } else {
    watch_catch_interrupts();
    code = check_model(check, arguments[0], arguments + 1, error);
  }
  if (code == EXIT_INTERRUPTED || watch_was_interrupted()) {
    fputs("lockstep: interrupted\n", stderr);
    return EXIT_INTERRUPTED;
  }
  return code == EXIT_UNDECIDED && check->options.allow_undecided ? EXIT_MET : code;
}

static ExitCode check_run(const Command *command, int argc, char **argv, GError **error) {
  Check check = {0};
  g_auto(GStrv) command_line = g_strdupv(argv);
  g_auto(GStrv) arguments = NULL;
  check.folder.command_line = command_line;
  ExitCode code = EXIT_USAGE;
  if (check_options_parse(&check.options, command, argc, argv, &arguments, error)) {
    code = check_settled(&check, arguments, error);
  }
  check_options_clear(&check.options);
  return code;
}

const Command check_command = {
    .name = "check",
    .arguments = "MODEL [SCENARIO…]",
    .summary = "Explores the scenarios of a model, and says which claims are met",
    .more = "MODEL is a path, or the name of a shipped model ('lockstep list'). Without SCENARIO all are checked.\n"
            "Results go to DIR/<model>/<scenario>/. Exit codes: 0 every claim is met, 1 a claim is not met,\n"
            "2 undecided, 64 wrong usage, 65 wrong model, 70 internal error, 130 interrupted.",
    .more_from = folder_formats_help,
    .run = check_run,
};
