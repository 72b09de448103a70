/* lockstep fuzz: random search through the scenarios of a model. Standard output depends on the seed alone: times, and
 * how many threads there were, are told on standard error. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/folder.h"
#include "cli/fuzz_watch.h"
#include "cli/model_file.h"
#include "cli/outcome.h"
#include "cli/parameter.h"
#include "cli/quantity.h"
#include "cli/result_json.h"
#include "cli/seed.h"
#include "cli/terminal.h"
#include "cli/warning.h"
#include "explore/fuzz.h"
#include "traces/text.h"

#define RUNS_DEFAULT 20000
#define STEPS_DEFAULT 400

typedef struct Options {
  char **settings, **emit;
  char *runs, *timeout, *seed, *strategy, *steps, *output, *colour;
  int jobs;
  gboolean to_the_end, as_found, no_pictures, as_json, quiet, allow_undecided;
} Options;

typedef struct Fuzz {
  Options options;
  FuzzOptions search;
  FuzzWatch watch;
  Folder folder;
  VerifyOptions verify; /* for run.json, which has no exhaustive search to tell of */
  char *seed_text;
  bool colour;
  GPtrArray *outcomes;
  GPtrArray *fuzzings;
} Fuzz;

/* --- options ----------------------------------------------------------------------------------------------------- */

static char *strategies_help(void) {
  GString *text = g_string_new("Strategies (--strategy; without it a portfolio of them, most runs for the first):");
  for (int32_t s = 0; s < STRATEGY_COUNT; s++) {
    g_string_append_printf(text, "\n  %-9s %s", strategies[s]->name, strategies[s]->text);
  }
  return g_string_free(text, FALSE);
}

static gboolean parse_options(Options *o, const Command *command, int argc, char **argv, char ***arguments,
                              GError **error) {
  const GOptionEntry entries[] = {
      {"param", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &o->settings, "Set a parameter of the model (repeatable)",
       "NAME=VALUE"},
      {"runs", 0, 0, G_OPTION_ARG_STRING, &o->runs,
       "At most so many runs of each scenario (default: 20000, or as many as --timeout leaves time for)", "N"},
      {"max-steps", 0, 0, G_OPTION_ARG_STRING, &o->steps, "A run has at most so many steps (default: 400)", "N"},
      {"timeout", 0, 0, G_OPTION_ARG_STRING, &o->timeout, "Search a scenario for this time at most, such as 90s or 10m",
       "TIME"},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &o->seed, "Repeat what this seed gave (default: a new one, which is printed)",
       "SEED"},
      {"jobs", 'j', 0, G_OPTION_ARG_INT, &o->jobs, "Threads (default: the cores at hand); the result is the same", "N"},
      {"strategy", 0, 0, G_OPTION_ARG_STRING, &o->strategy, "Only this way to choose runs", "NAME"},
      {"continue", 0, 0, G_OPTION_ARG_NONE, &o->to_the_end,
       "Use up all runs; else a scenario ends when what it claims to be broken is found, or anything", NULL},
      {"as-found", 0, 0, G_OPTION_ARG_NONE, &o->as_found, "Report runs as they were found, not shrunk", NULL},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &o->output,
       "Write traces, pictures and run.json below DIR (default: lockstep-out)", "DIR"},
      {"emit", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o->emit, "Write each violation as FORMAT (repeatable)", "FORMAT"},
      {"no-pictures", 0, 0, G_OPTION_ARG_NONE, &o->no_pictures, "Write only what --emit names, besides the trace",
       NULL},
      {"allow-undecided", 0, 0, G_OPTION_ARG_NONE, &o->allow_undecided,
       "Exit with 0 instead of 2 when nothing is found", NULL},
      {"json", 0, 0, G_OPTION_ARG_NONE, &o->as_json, "Print one JSON document", NULL},
      {"colour", 0, 0, G_OPTION_ARG_STRING, &o->colour, "Colour the output (default: auto, which heeds NO_COLOR)",
       "auto|always|never"},
      {"quiet", 'q', 0, G_OPTION_ARG_NONE, &o->quiet, "No progress and no reports", NULL},
      G_OPTION_ENTRY_NULL,
  };
  return command_parse(command, entries, argc, argv, 1, -1, arguments, error);
}

static void options_clear(Options *o) {
  char *strings[] = {o->runs, o->timeout, o->seed, o->strategy, o->steps, o->output, o->colour};
  for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
    g_free(strings[i]);
  }
  g_strfreev(o->settings);
  g_strfreev(o->emit);
}

static gboolean parse_count(const char *option, const char *text, guint64 most, guint64 *value, GError **error) {
  if (text && (!quantity_parse_count(text, value) || *value > most)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE,
                "--%s '%s' is not a number such as 20000 or 2M, at most %" G_GUINT64_FORMAT, option, text, most);
    return FALSE;
  }
  return TRUE;
}

static gboolean settle_search(Fuzz *fuzz, GError **error) {
  const Options *o = &fuzz->options;
  guint64 runs = o->timeout ? G_MAXINT32 : RUNS_DEFAULT, steps = STEPS_DEFAULT, seed = 0;
  gint64 timeout_us = 0;
  if (!parse_count("runs", o->runs, G_MAXINT32, &runs, error) ||
      !parse_count("max-steps", o->steps, 100000, &steps, error) || !seed_parse(o->seed, &seed, error)) {
    return FALSE;
  }
  if (o->timeout && !quantity_parse_duration(o->timeout, &timeout_us)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--timeout '%s' is not such as 90s or 10m", o->timeout);
    return FALSE;
  }
  if (o->strategy && !strategy_find(o->strategy)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "there is no strategy '%s'; see 'lockstep fuzz --help'", o->strategy);
    return FALSE;
  }
  fuzz->seed_text = seed_text(seed);
  fuzz->watch = (FuzzWatch){.quiet = o->quiet, .limit_us = timeout_us};
  fuzz->search = (FuzzOptions){.random = {.seed = seed,
                                          .runs = runs,
                                          .steps_max = (int32_t)steps,
                                          .jobs = o->jobs > 0 ? o->jobs : (int32_t)g_get_num_processors(),
                                          .strategy = o->strategy ? strategy_find(o->strategy) : NULL,
                                          .to_the_end = o->to_the_end,
                                          .tick = fuzz_watch_tick,
                                          .user = &fuzz->watch},
                               .as_found = o->as_found,
                               .shrinking = fuzz_watch_shrinking};
  fuzz->folder.timeout_us = timeout_us;
  return TRUE;
}

static gboolean settle_output(Fuzz *fuzz, GError **error) {
  const Options *o = &fuzz->options;
  fuzz->verify = (VerifyOptions){.symmetry = false};
  fuzz->folder.verify = &fuzz->verify;
  fuzz->folder.root = o->output ? o->output : "lockstep-out";
  fuzz->folder.seed = fuzz->seed_text;
  if (!terminal_colour(o->colour, &fuzz->colour, error)) {
    return FALSE;
  }
  if (o->emit || o->no_pictures) {
    return folder_formats(o->emit, &fuzz->folder.formats, error);
  }
  fuzz->folder.formats = folder_default_formats();
  return TRUE;
}

/* --- results ----------------------------------------------------------------------------------------------------- */

static char *detail_text(const Fuzzing *fuzzing, const Claim *claim, int32_t index) {
  g_autofree char *runs = quantity_of(fuzzing->runs, "run");
  if (!claim->result || claim->result->verdict == VERDICT_NOT_VIOLATED) {
    return claim->result ? g_strconcat("in ", runs, NULL) : g_strdup("");
  }
  if (claim->result->verdict != VERDICT_VIOLATED) {
    return g_strdup(claim->result->note);
  }
  g_autofree char *faults = quantity_of(claim->result->faults, "fault");
  g_autofree char *steps = quantity_of(claim->result->steps, "step");
  g_autofree char *run = quantity_count(fuzzing->found_in[index]);
  return g_strdup_printf("%s, %s; run %s, by %s", faults, steps, run, fuzzing->found_by[index]);
}

static void print_claim(const Fuzz *fuzz, const Fuzzing *fuzzing, const Claim *claim, int32_t index,
                        const char *scenario) {
  static const struct {
    const char *text;
    Ink ink;
  } verdicts[] = {[VERDICT_PROVED] = {"", INK_PLAIN},
                  [VERDICT_VIOLATED] = {"violated", INK_BAD},
                  [VERDICT_NOT_VIOLATED] = {"not violated", INK_OPEN},
                  [VERDICT_UNDECIDED] = {"undecided", INK_OPEN},
                  [VERDICT_NOT_APPLICABLE] = {"not applicable", INK_FAINT}};
  static const char *const met[] = {
      [MET_NO_CLAIM] = "", [MET_YES] = "met", [MET_NO] = "NOT MET", [MET_UNDECIDED] = "undecided"};
  Verdict verdict = claim->result ? claim->result->verdict : VERDICT_UNDECIDED;
  g_autofree char *word = terminal_ink(fuzz->colour, verdicts[verdict].ink, verdicts[verdict].text, 12);
  g_autofree char *detail = detail_text(fuzzing, claim, index);
  g_autofree char *claimed =
      claim->expected ? g_strdup_printf("%s: %s", claim->expected->holds ? "holds" : "broken", met[claim->met])
                      : g_strdup("");
  g_autofree char *line =
      g_strdup_printf("%-16s  %-18s  %s  %-44s  %s", scenario, claim->property, word, detail, claimed);
  puts(g_strchomp(line));
}

static void print_rows(const Fuzz *fuzz, const Outcome *outcome, const Fuzzing *fuzzing) {
  const char *scenario = outcome->program->scenario;
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    const Claim *claim = &outcome->claims[i];
    if (claim->expected || claim->result->verdict != VERDICT_NOT_APPLICABLE) {
      print_claim(fuzz, fuzzing, claim, i, scenario);
      scenario = "";
    }
  }
  g_autofree char *runs = quantity_of(fuzzing->runs, "run");
  g_autofree char *steps = quantity_of(fuzzing->steps, "step");
  g_autofree char *entries = quantity_count(fuzzing->entries);
  printf("%-16s  %s, %s; a critical section was entered %s times%s\n", "", runs, steps, entries,
         outcome->verification->stopped != STOP_NOT ? "; stopped before the end: another time it may come further"
                                                    : "");
  fflush(stdout);
}

static void print_reports(const Fuzz *fuzz, const Outcome *outcome) {
  const Claim *first = outcome_first_violation(outcome);
  for (int32_t i = 0; i < outcome->claim_count && !fuzz->options.quiet; i++) {
    const Claim *claim = &outcome->claims[i];
    if (!claim->result || !claim->result->run) {
      continue;
    }
    if (claim == first) {
      char *text =
          text_report(claim->result->run, &(TextOptions){.has_colour = fuzz->colour, .trace_path = claim->trace});
      printf("\n%s", text);
      free(text);
    } else {
      char *text = claim_in_brief(outcome, claim);
      printf("\n%s", text);
      g_free(text);
    }
  }
}

/* How it was found, before it was shrunk. */
static void add_finds(JsonBuilder *builder, const Fuzzing *fuzzing) {
  json_builder_set_member_name(builder, "finds");
  json_builder_begin_array(builder);
  for (int32_t p = 0; p < fuzzing->verification->property_count; p++) {
    if (fuzzing->found_in[p] == 0) {
      continue;
    }
    json_builder_begin_object(builder);
    json_set_string(builder, "property", fuzzing->verification->properties[p].name);
    json_set_string(builder, "strategy", fuzzing->found_by[p]);
    json_builder_set_member_name(builder, "run");
    json_builder_add_int_value(builder, (gint64)fuzzing->found_in[p]);
    json_builder_set_member_name(builder, "steps");
    json_builder_add_int_value(builder, fuzzing->found_steps[p]);
    json_builder_end_object(builder);
  }
  json_builder_end_array(builder);
}

static void print_json(const Fuzz *fuzz, const char *model) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-fuzz/1");
  json_set_string(builder, "version", LOCKSTEP_VERSION);
  json_set_string(builder, "model", model);
  json_set_string(builder, "seed", fuzz->seed_text);
  json_builder_set_member_name(builder, "rng");
  json_builder_add_int_value(builder, RNG_VERSION);
  json_builder_set_member_name(builder, "scenarios");
  json_builder_begin_array(builder);
  for (guint i = 0; i < fuzz->outcomes->len; i++) {
    const Outcome *outcome = fuzz->outcomes->pdata[i];
    const Fuzzing *fuzzing = fuzz->fuzzings->pdata[i];
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "runs");
    json_builder_add_int_value(builder, (gint64)fuzzing->runs);
    json_builder_set_member_name(builder, "run_steps");
    json_builder_add_int_value(builder, (gint64)fuzzing->steps);
    json_builder_set_member_name(builder, "entries");
    json_builder_add_int_value(builder, (gint64)fuzzing->entries);
    add_finds(builder, fuzzing);
    json_builder_set_member_name(builder, "result");
    result_json_scenario(builder, outcome);
    json_builder_end_object(builder);
  }
  json_builder_end_array(builder);
  json_builder_end_object(builder);
  json_print(builder, true);
}

static void print_all(const Fuzz *fuzz, const ModelFile *file) {
  if (fuzz->options.as_json) {
    print_json(fuzz, file->name);
    return;
  }
  for (guint i = 0; i < fuzz->outcomes->len; i++) {
    print_reports(fuzz, fuzz->outcomes->pdata[i]);
  }
  g_autoptr(GPtrArray) findings = warnings_gather(fuzz->outcomes);
  for (guint i = 0; i < findings->len; i++) {
    g_autofree char *text = warning_text(findings->pdata[i]);
    printf("%s%s", i ? "" : "\n", text);
  }
  printf("\nnot violated is not proved: see 'lockstep check'. Again: --seed %s\n", fuzz->seed_text);
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static gboolean fuzz_scenario(Fuzz *self, Program *program, GError **error) {
  if (!folder_begin(&self->folder, program->scenario, error)) {
    program_free(program);
    return FALSE;
  }
  fuzz_watch_begin(&self->watch, program->scenario);
  Fuzzing *fuzzing = fuzz(program, &self->search);
  fuzz_watch_end(&self->watch);
  Outcome *outcome = outcome_new(program, fuzzing->verification, 0);
  outcome->engine = "random";
  g_ptr_array_add(self->outcomes, outcome);
  g_ptr_array_add(self->fuzzings, fuzzing);
  gboolean written = folder_write(&self->folder, outcome, error);
  if (written && !self->options.as_json) {
    print_rows(self, outcome, fuzzing);
  }
  return written;
}

static gboolean compile_all(const Fuzz *fuzz, const ModelFile *file, char **scenarios, GPtrArray *programs,
                            GError **error) {
  int32_t count = *scenarios ? (int32_t)g_strv_length(scenarios) : model_scenario_count(file->model);
  for (int32_t i = 0; i < count; i++) {
    int32_t scenario = *scenarios ? model_file_scenario(file, scenarios[i], error) : i;
    Program *program = scenario < 0 ? NULL : model_file_compile(file, scenario, fuzz->options.settings, error);
    if (!program) {
      return FALSE;
    }
    g_ptr_array_add(programs, program);
  }
  return TRUE;
}

static void free_program(void *program) {
  program_free(program);
}
static void free_outcome(void *outcome) {
  outcome_free(outcome);
}
static void free_fuzzing(void *fuzzing) {
  fuzzing_free(fuzzing);
}

static ExitCode fuzz_model(Fuzz *fuzz, char **arguments, GError **error) {
  g_autoptr(Catalogue) catalogue = catalogue_open();
  g_autoptr(ModelFile) file = model_file_open(catalogue, arguments[0], error);
  g_autoptr(GPtrArray) programs = g_ptr_array_new_with_free_func(free_program);
  if (!file || !model_file_has_scenarios(file, error) || !compile_all(fuzz, file, arguments + 1, programs, error)) {
    return EXIT_DATA;
  }
  fuzz->folder.model = file;
  if (!fuzz->options.as_json) {
    printf("%s  %s\nseed %s, rng %d\n\n", file->name, model_text(file->model), fuzz->seed_text, RNG_VERSION);
  }
  ExitCode code = EXIT_MET;
  while (programs->len && !watch_was_interrupted()) {
    if (!fuzz_scenario(fuzz, g_ptr_array_steal_index(programs, 0), error)) {
      return EXIT_INTERNAL;
    }
    code = outcome_worse(code, outcome_code(fuzz->outcomes->pdata[fuzz->outcomes->len - 1]));
  }
  print_all(fuzz, file);
  return code;
}

static ExitCode fuzz_run(const Command *command, int argc, char **argv, GError **error) {
  Fuzz fuzz = {0};
  g_auto(GStrv) command_line = g_strdupv(argv);
  g_auto(GStrv) arguments = NULL;
  fuzz.folder.command_line = command_line;
  fuzz.outcomes = g_ptr_array_new_with_free_func(free_outcome);
  fuzz.fuzzings = g_ptr_array_new_with_free_func(free_fuzzing);
  ExitCode code = EXIT_USAGE;
  if (parse_options(&fuzz.options, command, argc, argv, &arguments, error) && settle_search(&fuzz, error) &&
      settle_output(&fuzz, error)) {
    watch_catch_interrupts();
    code = fuzz_model(&fuzz, arguments, error);
    code = watch_was_interrupted()                                  ? EXIT_INTERRUPTED
           : code == EXIT_UNDECIDED && fuzz.options.allow_undecided ? EXIT_MET
                                                                    : code;
  }
  g_ptr_array_unref(fuzz.outcomes);
  g_ptr_array_unref(fuzz.fuzzings);
  g_free(fuzz.seed_text);
  options_clear(&fuzz.options);
  return code;
}

const Command fuzz_command = {
    .name = "fuzz",
    .arguments = "MODEL [SCENARIO…]",
    .summary = "Searches the scenarios of a model at random, and shrinks what it finds",
    .more =
        "Exit codes: 0 what is claimed to be broken was found, and nothing is claimed to hold, 1 a claim is not met\n"
        "(without claims: something is violated), 2 nothing was found where something is claimed, 64 wrong usage,\n"
        "65 wrong model, 70 internal error, 130 interrupted.",
    .more_from = strategies_help,
    .run = fuzz_run,
};
