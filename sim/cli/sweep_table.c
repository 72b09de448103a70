#include "cli/sweep_table.h"

#include <stdio.h>
#include <string.h>

#include "cli/quantity.h"
#include "cli/terminal.h"

enum { SCENARIO_WIDTH = 20 };

typedef struct Cell {
  const char *text;
  Ink ink;
  int width; /* negative: to the left */
} Cell;

static void print_cells(const SweepTable *table, const Cell *cells, size_t count) {
  GString *line = g_string_new(NULL);
  for (size_t i = 0; i < count; i++) {
    bool to_left = cells[i].width < 0;
    int width = to_left ? -cells[i].width : cells[i].width;
    int before = to_left ? 0 : MAX(0, width - (int)g_utf8_strlen(cells[i].text, -1));
    g_autofree char *text = terminal_ink(table->colour, cells[i].ink, cells[i].text, to_left ? width : 0);
    g_string_append_printf(line, "%s%*s%s", i ? "  " : "", before, "", text);
  }
  puts(g_strchomp(line->str));
  g_string_free(line, TRUE);
}

static void print_indented(const SweepTable *table, Ink ink, const char *text) {
  g_autofree char *inked = terminal_ink(table->colour, ink, text, 0);
  printf("    %s\n", inked);
}

/* --- what a document says ---------------------------------------------------------------------------------------- */

/* "" for null. */
static const char *string_of(JsonObject *object, const char *name) {
  return json_object_get_string_member_with_default(object, name, "");
}

static bool is_vacuous(JsonObject *property) {
  return json_object_get_boolean_member_with_default(property, "vacuous", FALSE);
}

static void count_property(Tally *tally, JsonObject *property) {
  if (!*string_of(property, "expected")) {
    tally->unclaimed += strcmp(string_of(property, "verdict"), "violated") == 0;
  } else if (json_object_get_null_member(property, "met")) {
    tally->undecided++;
  } else if (json_object_get_boolean_member(property, "met")) {
    tally->met++;
  } else {
    tally->not_met++;
  }
}

static Tally scenario_tally(JsonObject *scenario) {
  JsonArray *properties = json_object_get_array_member(scenario, "properties");
  Tally tally = {.scenarios = 1, .is_complete = json_object_get_boolean_member(scenario, "complete")};
  for (guint i = 0; i < json_array_get_length(properties); i++) {
    count_property(&tally, json_array_get_object_element(properties, i));
  }
  tally.states = json_object_get_int_member(json_object_get_object_member(scenario, "states"), "discrete");
  tally.peak_bytes = json_object_get_int_member(scenario, "peak_bytes");
  tally.seconds = json_object_get_double_member(scenario, "seconds");
  return tally;
}

static void add(Tally *sum, const Tally *part) {
  sum->scenarios += part->scenarios;
  sum->met += part->met;
  sum->not_met += part->not_met;
  sum->undecided += part->undecided;
  sum->unclaimed += part->unclaimed;
  sum->is_complete = sum->is_complete && part->is_complete;
  sum->states += part->states;
  sum->peak_bytes = MAX(sum->peak_bytes, part->peak_bytes);
  sum->seconds += part->seconds;
}

static guint claim_count(const Tally *tally) {
  return tally->met + tally->not_met + tally->undecided;
}

/* Without claims, of a scenario or of all of them, it is as in outcome_code: nothing is violated. */
static Ink tally_ink(const Tally *tally) {
  bool has_claims = claim_count(tally) > 0;
  bool is_bad = has_claims ? tally->not_met > 0 : tally->unclaimed > 0;
  bool is_open = has_claims ? tally->undecided > 0 : !tally->is_complete;
  return is_bad ? INK_BAD : is_open ? INK_OPEN : INK_GOOD;
}

/* --- one model --------------------------------------------------------------------------------------------------- */

void sweep_table_head(const SweepTable *table) {
  const Cell cells[] = {{"model", INK_FAINT, -table->model_width},
                        {"scenario", INK_FAINT, -SCENARIO_WIDTH},
                        {"claims met", INK_FAINT, 10},
                        {"states", INK_FAINT, 12},
                        {"time", INK_FAINT, 12}};
  print_cells(table, cells, G_N_ELEMENTS(cells));
}

static char *claims_text(const Tally *tally) {
  if (claim_count(tally) == 0) {
    return g_strdup(tally->unclaimed ? "violated" : tally->is_complete ? "-" : "undecided");
  }
  return g_strdup_printf("%u of %u", tally->met, claim_count(tally));
}

static void print_scenario(const SweepTable *table, const char *model, const char *scenario, const Tally *tally) {
  g_autofree char *claims = claims_text(tally);
  g_autofree char *states = quantity_count((guint64)tally->states);
  g_autofree char *seconds = quantity_seconds(tally->seconds);
  const Cell cells[] = {{model, INK_STRONG, -table->model_width},
                        {scenario, INK_PLAIN, -SCENARIO_WIDTH},
                        {claims, tally_ink(tally), 10},
                        {states, INK_PLAIN, 12},
                        {seconds, INK_PLAIN, 12}};
  print_cells(table, cells, G_N_ELEMENTS(cells));
}

/* A claim that is not met, or not decided. */
static void print_shortfall(const SweepTable *table, JsonObject *property) {
  bool is_open = json_object_get_null_member(property, "met");
  const char *expected = string_of(property, "expected");
  if (!*expected || (!is_open && json_object_get_boolean_member(property, "met"))) {
    return;
  }
  g_autofree char *verdict = g_strdelimit(g_strdup(string_of(property, "verdict")), "_", ' ');
  const char *note = string_of(property, "note");
  g_autofree char *line =
      g_strdup_printf("%s: claimed that it %s, %s%s%s%s", string_of(property, "name"),
                      strcmp(expected, "holds") == 0 ? "holds" : "is broken", verdict,
                      is_vacuous(property) ? ", but nothing ever happened" : "", *note ? ": " : "", note);
  print_indented(table, is_open ? INK_OPEN : INK_BAD, line);
}

/* "models/x.lk:7:3: warning: …"; `scenario` may be NULL. */
static void print_warning(const SweepTable *table, JsonObject *warning, const char *scenario) {
  g_autofree char *place =
      *string_of(warning, "file")
          ? g_strdup_printf("%s:%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT ": ", string_of(warning, "file"),
                            json_object_get_int_member(warning, "line"), json_object_get_int_member(warning, "column"))
          : g_strdup("");
  g_autofree char *where = scenario ? g_strdup_printf(" (in %s)", scenario) : g_strdup("");
  g_autofree char *line = g_strdup_printf("%swarning: %s%s", place, string_of(warning, "text"), where);
  print_indented(table, INK_OPEN, line);
}

static void print_warnings(const SweepTable *table, JsonArray *warnings, const char *scenario) {
  for (guint i = 0; i < json_array_get_length(warnings); i++) {
    print_warning(table, json_array_get_object_element(warnings, i), scenario);
  }
}

Tally sweep_table_model(const SweepTable *table, JsonNode *document) {
  JsonObject *object = json_node_get_object(document);
  JsonArray *scenarios = json_object_get_array_member(object, "scenarios");
  Tally sum = {.is_complete = true};
  for (guint i = 0; i < json_array_get_length(scenarios); i++) {
    JsonObject *scenario = json_array_get_object_element(scenarios, i);
    JsonArray *properties = json_object_get_array_member(scenario, "properties");
    Tally tally = scenario_tally(scenario);
    print_scenario(table, string_of(object, "model"), string_of(scenario, "name"), &tally);
    for (guint j = 0; j < json_array_get_length(properties); j++) {
      print_shortfall(table, json_array_get_object_element(properties, j));
    }
    print_warnings(table, json_object_get_array_member(scenario, "findings"), string_of(scenario, "name"));
    add(&sum, &tally);
  }
  print_warnings(table, json_object_get_array_member(object, "warnings"), NULL);
  return sum;
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

enum { FIGURE_COUNT = 7 };

static void print_figures(const SweepTable *table, const char *model, const char *const figures[FIGURE_COUNT],
                          const Ink inks[FIGURE_COUNT]) {
  static const int widths[FIGURE_COUNT] = {9, 5, 7, 9, 12, 12, 8};
  Cell cells[FIGURE_COUNT + 1] = {{model, INK_STRONG, -table->model_width}};
  for (size_t i = 0; i < FIGURE_COUNT; i++) {
    cells[i + 1] = (Cell){figures[i], inks[i], widths[i]};
  }
  print_cells(table, cells, G_N_ELEMENTS(cells));
}

static void print_sum_head(const SweepTable *table) {
  static const char *const figures[FIGURE_COUNT] = {"scenarios", "met",  "not met", "undecided",
                                                    "states",    "time", "memory"};
  static const Ink inks[FIGURE_COUNT] = {INK_FAINT, INK_FAINT, INK_FAINT, INK_FAINT, INK_FAINT, INK_FAINT, INK_FAINT};
  print_figures(table, "model", figures, inks);
}

static void print_sum_row(const SweepTable *table, const char *model, const Tally *tally) {
  g_autofree char *scenarios = quantity_count(tally->scenarios);
  g_autofree char *met = quantity_count(tally->met);
  g_autofree char *not_met = quantity_count(tally->not_met);
  g_autofree char *undecided = quantity_count(tally->undecided);
  g_autofree char *states = quantity_count((guint64)tally->states);
  g_autofree char *seconds = quantity_seconds(tally->seconds);
  g_autofree char *bytes = quantity_bytes((guint64)tally->peak_bytes);
  const char *const figures[FIGURE_COUNT] = {scenarios, met, not_met, undecided, states, seconds, bytes};
  const Ink inks[FIGURE_COUNT] = {[1] = tally->met ? INK_GOOD : INK_PLAIN,
                                  [2] = tally->not_met ? INK_BAD : INK_PLAIN,
                                  [3] = tally->undecided ? INK_OPEN : INK_PLAIN};
  print_figures(table, model, figures, inks);
}

static void print_total(const Tally *sum, guint models, double elapsed_seconds) {
  g_autofree char *model_text = quantity_of(models, "model");
  g_autofree char *scenarios = quantity_of(sum->scenarios, "scenario");
  g_autofree char *claims = quantity_of(claim_count(sum), "claim");
  g_autofree char *not_met = sum->not_met ? g_strdup_printf(", %u not met", sum->not_met) : g_strdup("");
  g_autofree char *undecided = sum->undecided ? g_strdup_printf(", %u undecided", sum->undecided) : g_strdup("");
  g_autofree char *violations = quantity_of(sum->unclaimed, "violation");
  g_autofree char *unclaimed =
      sum->unclaimed ? g_strdup_printf(", %s that no claim speaks of", violations) : g_strdup("");
  g_autofree char *states = quantity_of((guint64)sum->states, "state");
  g_autofree char *seconds = quantity_seconds(sum->seconds);
  g_autofree char *elapsed = quantity_seconds(elapsed_seconds);
  g_autofree char *bytes = quantity_bytes((guint64)sum->peak_bytes);
  printf("\n%s, %s: %u of %s met%s%s%s; %s, %s of search in %s, up to %s each\n", model_text, scenarios, sum->met,
         claims, not_met, undecided, unclaimed, states, seconds, elapsed, bytes);
}

void sweep_table_sum(const SweepTable *table, const char *const *names, const Tally *tallies, guint count,
                     double elapsed_seconds) {
  Tally sum = {.is_complete = true};
  puts("");
  print_sum_head(table);
  for (guint i = 0; i < count; i++) {
    print_sum_row(table, names[i], &tallies[i]);
    add(&sum, &tallies[i]);
  }
  print_total(&sum, count, elapsed_seconds);
}
