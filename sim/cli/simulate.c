/* lockstep simulate: runs scenarios many times with sampled lengths of time, and prints figures with their intervals.
 * Standard output depends on the seed alone. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/distribution_text.h"
#include "cli/fuzz_watch.h"
#include "cli/model_file.h"
#include "cli/quantity.h"
#include "cli/result_json.h"
#include "cli/seed.h"
#include "explore/simulation.h"
#include "properties/property.h"

#define RUNS_DEFAULT 1000
#define TIME_DEFAULT_US G_GINT64_CONSTANT(60000000)

typedef struct Options {
  char **settings;
  char *runs, *time, *seed, *latency, *pause, *precision, *timeout;
  int jobs;
  gboolean as_json, quiet;
} Options;

typedef struct Simulate {
  Options options;
  SimulationOptions search;
  FuzzWatch watch;
  char *seed_text;
} Simulate;

static gboolean parse_options(Options *o, const Command *command, int argc, char **argv, char ***arguments,
                              GError **error) {
  const GOptionEntry entries[] = {
      {"param", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &o->settings, "Set a parameter of the model (repeatable)",
       "NAME=VALUE"},
      {"runs", 0, 0, G_OPTION_ARG_STRING, &o->runs, "So many runs (default: 1000)", "N"},
      {"time", 0, 0, G_OPTION_ARG_STRING, &o->time, "How long a run is, in its own time (default: 1min)", "TIME"},
      {"latency", 0, 0, G_OPTION_ARG_STRING, &o->latency,
       "How long each message takes (default: uniform over the scenario's window)", "DISTRIBUTION"},
      {"pause", 0, 0, G_OPTION_ARG_STRING, &o->pause,
       "Each client pauses, such as \"every 10min for pareto(50ms, 1.5)\"", "\"every D for D\""},
      {"precision", 0, 0, G_OPTION_ARG_STRING, &o->precision,
       "Stop when every rate is known to within so much, such as 0.01", "X"},
      {"timeout", 0, 0, G_OPTION_ARG_STRING, &o->timeout, "Stop a scenario after this time, such as 90s or 10m",
       "TIME"},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &o->seed, "Repeat what this seed gave (default: a new one, which is printed)",
       "SEED"},
      {"jobs", 'j', 0, G_OPTION_ARG_INT, &o->jobs, "Threads (default: the cores at hand); the result is the same", "N"},
      {"json", 0, 0, G_OPTION_ARG_NONE, &o->as_json, "Print one JSON document", NULL},
      {"quiet", 'q', 0, G_OPTION_ARG_NONE, &o->quiet, "No progress", NULL},
      G_OPTION_ENTRY_NULL,
  };
  return command_parse(command, entries, argc, argv, 1, -1, arguments, error);
}

static void options_clear(Options *o) {
  char *strings[] = {o->runs, o->time, o->seed, o->latency, o->pause, o->precision, o->timeout};
  for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
    g_free(strings[i]);
  }
  g_strfreev(o->settings);
}

static StopReason tick(void *user, uint64_t runs, uint64_t events) {
  RandomProgress progress = {.runs = runs, .steps = events};
  return fuzz_watch_tick(user, &progress);
}

static gboolean usage(GError **error, const char *option, const char *text, const char *example) {
  g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s '%s' is not such as %s", option, text, example);
  return FALSE;
}

static gboolean settle_numbers(Simulate *simulate, GError **error) {
  const Options *o = &simulate->options;
  guint64 runs = RUNS_DEFAULT;
  gint64 time_us = TIME_DEFAULT_US, timeout_us = 0;
  if (o->runs && (!quantity_parse_count(o->runs, &runs) || runs > G_MAXINT32)) {
    return usage(error, "runs", o->runs, "1000 or 2M");
  }
  if (o->time && (!quantity_parse_duration(o->time, &time_us) || time_us > 366 * 24 * G_GINT64_CONSTANT(3600000000))) {
    return usage(error, "time", o->time, "10s or 1h, at most a year");
  }
  if (o->timeout && !quantity_parse_duration(o->timeout, &timeout_us)) {
    return usage(error, "timeout", o->timeout, "90s or 10m");
  }
  if (o->precision) {
    char *end;
    simulate->search.precision = g_ascii_strtod(o->precision, &end);
    if (*end || !(simulate->search.precision > 0 && simulate->search.precision < 1)) {
      return usage(error, "precision", o->precision, "0.01");
    }
  }
  simulate->search.runs = runs;
  simulate->search.time_ns = time_us * 1000;
  simulate->watch = (FuzzWatch){.quiet = o->quiet, .limit_us = timeout_us};
  return TRUE;
}

static gboolean settle(Simulate *simulate, GError **error) {
  const Options *o = &simulate->options;
  SimulationOptions *search = &simulate->search;
  search->jobs = o->jobs > 0 ? o->jobs : (int32_t)g_get_num_processors();
  search->tick = tick;
  search->user = &simulate->watch;
  if (!settle_numbers(simulate, error) || !seed_parse(o->seed, &search->seed, error)) {
    return FALSE;
  }
  simulate->seed_text = seed_text(search->seed);
  return (!o->latency || distribution_parse("latency", o->latency, &search->latency, error)) &&
         (!o->pause || distribution_parse_every("pause", o->pause, &search->pause_every, &search->pause, error));
}

/* --- figures ----------------------------------------------------------------------------------------------------- */

typedef struct Rate {
  const char *json, *text;
  uint64_t hits, trials;
} Rate;

enum { RATES_MAX = WORLD_PROPERTIES_MAX + 1 };

/* Of attempts: got the lock. Of runs: with a violation of each property that applies. */
static int32_t list_rates(const World *world, const Simulation *sum, Rate rates[RATES_MAX]) {
  int32_t count = 0;
  rates[count++] = (Rate){"acquired", "attempts that acquired", sum->acquisitions, sum->acquisitions + sum->refusals};
  for (int32_t p = 0; p < world_property_count(world); p++) {
    if (p >= world->monitor_count || world->monitors[p]->applicable(world->program)) {
      rates[count++] = (Rate){world->property_names[p], world->property_names[p], sum->runs_with[p], sum->runs};
    }
  }
  return count;
}

static uint64_t violations_of(const World *world, const Simulation *sum, const char *name) {
  for (int32_t p = 0; p < world->monitor_count; p++) {
    if (strcmp(world->property_names[p], name) == 0) {
      return sum->violations[p];
    }
  }
  return 0;
}

static char *milliseconds(int64_t ns) {
  return ns < 0 ? g_strdup("-") : g_strdup_printf("%.2f ms", (double)ns / 1e6);
}

static void print_count(const char *name, uint64_t count) {
  g_autofree char *text = quantity_count(count);
  printf("  %-34s %12s\n", name, text);
}

static void print_latency(const char *name, const Histogram *histogram) {
  g_autofree char *median = milliseconds(histogram_percentile_ns(histogram, 0.5));
  g_autofree char *high = milliseconds(histogram_percentile_ns(histogram, 0.99));
  printf("  %-34s p50 %s, p99 %s\n", name, median, high);
}

static void print_rate(const Rate *rate, bool of_runs) {
  Interval interval = interval_of_rate(rate->hits, rate->trials, STATISTICS_CONFIDENCE);
  g_autofree char *name = of_runs ? g_strdup_printf("runs that violate %s", rate->text) : g_strdup(rate->text);
  g_autofree char *hits = quantity_count(rate->hits);
  g_autofree char *trials = quantity_count(rate->trials);
  printf("  %-34s %s of %s: %.3g %% (95 %%: %.3g .. %.3g %%)\n", name, hits, trials,
         rate->trials > 0 ? 100.0 * (double)rate->hits / (double)rate->trials : 0.0, 100 * interval.low,
         100 * interval.high);
}

static void print_figures(const World *world, const Simulation *sum) {
  g_autofree char *runs = quantity_of(sum->runs, "run");
  g_autofree char *events = quantity_of(sum->events, "event");
  printf("%s  %s, %s, %.1f s simulated%s\n", world->program->scenario, runs, events, (double)sum->time_ns / 1e9,
         sum->stopped != STOP_NOT ? "; stopped before the end"
         : sum->is_precise        ? "; precise enough"
                                  : "");
  print_count("acquisitions", sum->acquisitions);
  print_count("refusals", sum->refusals);
  print_count("double holds", violations_of(world, sum, "mutual_exclusion"));
  print_count("lost updates", violations_of(world, sum, "lost_update"));
  print_count("writes applied", sum->commits);
  print_count("stale requests rejected", sum->rejected);
  print_count("faults", sum->faults);
  print_latency("time to acquire", &sum->acquire);
  print_latency("time to be refused", &sum->refuse);
  printf("  %-34s %.2f %%\n", "time without a holder",
         sum->time_ns > 0 ? 100.0 * (double)sum->free_ns / (double)sum->time_ns : 0.0);
  Rate rates[RATES_MAX];
  int32_t count = list_rates(world, sum, rates);
  for (int32_t r = 0; r < count; r++) {
    print_rate(&rates[r], r > 0);
  }
  if (sum->cut_short > 0) {
    g_autofree char *cut = quantity_of(sum->cut_short, "run");
    printf("  %s ran into a finding of the model and ended there: see 'lockstep check'\n", cut);
  }
  puts("");
  fflush(stdout);
}

static void set_number(JsonBuilder *builder, const char *name, double value) {
  json_builder_set_member_name(builder, name);
  json_builder_add_double_value(builder, value);
}

static void add_rate(JsonBuilder *builder, const Rate *rate) {
  Interval interval = interval_of_rate(rate->hits, rate->trials, STATISTICS_CONFIDENCE);
  json_builder_begin_object(builder);
  json_set_string(builder, "name", rate->json);
  json_set_count(builder, "hits", rate->hits);
  json_set_count(builder, "trials", rate->trials);
  set_number(builder, "low", interval.low);
  set_number(builder, "high", interval.high);
  json_builder_end_object(builder);
}

static void add_figures(JsonBuilder *builder, const World *world, const Simulation *sum) {
  json_builder_begin_object(builder);
  json_set_string(builder, "name", world->program->scenario);
  const struct {
    const char *name;
    uint64_t value;
  } counts[] = {{"runs", sum->runs},
                {"events", sum->events},
                {"attempts", sum->attempts},
                {"acquisitions", sum->acquisitions},
                {"refusals", sum->refusals},
                {"double_holds", violations_of(world, sum, "mutual_exclusion")},
                {"lost_updates", violations_of(world, sum, "lost_update")},
                {"writes", sum->commits},
                {"rejected", sum->rejected},
                {"faults", sum->faults},
                {"cut_short", sum->cut_short}};
  for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
    json_set_count(builder, counts[i].name, counts[i].value);
  }
  set_number(builder, "simulated_s", (double)sum->time_ns / 1e9);
  set_number(builder, "without_holder_s", (double)sum->free_ns / 1e9);
  const struct {
    const char *name;
    int64_t value;
  } percentiles[] = {{"acquire_p50_ns", histogram_percentile_ns(&sum->acquire, 0.5)},
                     {"acquire_p99_ns", histogram_percentile_ns(&sum->acquire, 0.99)},
                     {"refuse_p50_ns", histogram_percentile_ns(&sum->refuse, 0.5)},
                     {"refuse_p99_ns", histogram_percentile_ns(&sum->refuse, 0.99)}};
  for (size_t i = 0; i < G_N_ELEMENTS(percentiles); i++) {
    json_builder_set_member_name(builder, percentiles[i].name);
    json_builder_add_int_value(builder, percentiles[i].value);
  }
  json_builder_set_member_name(builder, "complete");
  json_builder_add_boolean_value(builder, sum->stopped == STOP_NOT);
  json_builder_set_member_name(builder, "rates");
  json_builder_begin_array(builder);
  Rate rates[RATES_MAX];
  int32_t count = list_rates(world, sum, rates);
  for (int32_t r = 0; r < count; r++) {
    add_rate(builder, &rates[r]);
  }
  json_builder_end_array(builder);
  json_builder_end_object(builder);
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static gboolean simulate_scenario(Simulate *self, const ModelFile *file, int32_t scenario, JsonBuilder *builder,
                                  GError **error) {
  g_autoptr(Program) program = scenario < 0 ? NULL : model_file_compile(file, scenario, self->options.settings, error);
  if (!program) {
    return FALSE;
  }
  World *world = world_new(program, property_monitors, PROPERTY_COUNT);
  if (world->too_large) {
    world_free(world);
    g_set_error(error, COMMAND_ERROR, EXIT_DATA, "%s: too many processes, variables or timers for one state",
                program->scenario);
    return FALSE;
  }
  fuzz_watch_begin(&self->watch, program->scenario);
  Simulation *sum = simulate(program, &self->search);
  fuzz_watch_end(&self->watch);
  if (builder) {
    add_figures(builder, world, sum);
  } else {
    print_figures(world, sum);
  }
  free(sum);
  world_free(world);
  return TRUE;
}

static void begin_document(Simulate *self, const ModelFile *file, JsonBuilder *builder) {
  if (!builder) {
    printf("%s  %s\nseed %s, rng %d\n\n", file->name, model_text(file->model), self->seed_text, RNG_VERSION);
    return;
  }
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-simulate/1");
  json_set_string(builder, "version", LOCKSTEP_VERSION);
  json_set_string(builder, "model", file->name);
  json_set_string(builder, "seed", self->seed_text);
  json_set_count(builder, "rng", RNG_VERSION);
  json_builder_set_member_name(builder, "scenarios");
  json_builder_begin_array(builder);
}

static ExitCode simulate_model(Simulate *self, char **arguments, GError **error) {
  g_autoptr(Catalogue) catalogue = catalogue_open();
  g_autoptr(ModelFile) file = model_file_open(catalogue, arguments[0], error);
  if (!file || !model_file_has_scenarios(file, error)) {
    return EXIT_DATA;
  }
  g_autoptr(JsonBuilder) builder = self->options.as_json ? json_builder_new() : NULL;
  begin_document(self, file, builder);
  char **names = arguments + 1;
  int32_t count = *names ? (int32_t)g_strv_length(names) : model_scenario_count(file->model);
  for (int32_t i = 0; i < count && !watch_was_interrupted(); i++) {
    int32_t scenario = *names ? model_file_scenario(file, names[i], error) : i;
    if (!simulate_scenario(self, file, scenario, builder, error)) {
      return EXIT_DATA;
    }
  }
  if (builder) {
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    json_print(builder, true);
  }
  return watch_was_interrupted() ? EXIT_INTERRUPTED : EXIT_MET;
}

static ExitCode simulate_run(const Command *command, int argc, char **argv, GError **error) {
  Simulate self = {0};
  g_auto(GStrv) arguments = NULL;
  ExitCode code = EXIT_USAGE;
  if (parse_options(&self.options, command, argc, argv, &arguments, error) && settle(&self, error)) {
    watch_catch_interrupts();
    code = simulate_model(&self, arguments, error);
  }
  distribution_clear(&self.search.latency);
  distribution_clear(&self.search.pause);
  distribution_clear(&self.search.pause_every);
  g_free(self.seed_text);
  options_clear(&self.options);
  return code;
}

const Command simulate_command = {
    .name = "simulate",
    .arguments = "MODEL [SCENARIO…]",
    .summary = "Runs scenarios many times with sampled times, and prints how often what happens",
    .more =
        "Each fault of a finite budget strikes at a random instant of the run. Exit codes: 0 it was simulated, whatever came\n"
        "of it, 64 wrong usage, 65 wrong model, 70 internal error, 130 interrupted.",
    .more_from = distribution_help,
    .run = simulate_run,
};
