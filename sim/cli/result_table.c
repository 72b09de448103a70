#include "cli/result_table.h"

#include <stdio.h>
#include <string.h>

#include "cli/quantity.h"
#include "cli/terminal.h"

enum { PROPERTY_WIDTH = 18, VERDICT_WIDTH = 12, DETAIL_WIDTH = 20 };

typedef struct Look {
  const char *text;
  Ink ink;
} Look;

static const Look verdict_looks[] = {
    [VERDICT_PROVED] = {"proved", INK_GOOD},
    [VERDICT_VIOLATED] = {"violated", INK_BAD},
    [VERDICT_NOT_VIOLATED] = {"not violated", INK_OPEN},
    [VERDICT_UNDECIDED] = {"undecided", INK_OPEN},
    [VERDICT_NOT_APPLICABLE] = {"not applicable", INK_FAINT},
};
static const Look met_looks[] = {
    [MET_NO_CLAIM] = {"", INK_PLAIN},
    [MET_YES] = {"met", INK_GOOD},
    [MET_NO] = {"NOT MET", INK_BAD},
    [MET_UNDECIDED] = {"undecided", INK_OPEN},
};

/* A line, cell by cell; spaces at its end are not printed. */
static void put(const ResultTable *table, GString *line, Ink ink, const char *text, int width) {
  g_autofree char *cell = terminal_ink(table->colour, ink, text, width);
  g_string_append_printf(line, "%s%s", line->len ? "  " : "", cell);
}

static void end_line(GString *line) {
  puts(g_strchomp(line->str));
  g_string_free(line, TRUE);
}

static void put_line(const ResultTable *table, Ink ink, int indent, const char *text) {
  g_autofree char *inked = terminal_ink(table->colour, ink, text, 0);
  printf("%*s%s\n", indent, "", inked);
}

/* What a verdict does not say by itself: the cost of the run, or the bound of the proof. */
static char *detail_text(const Outcome *outcome, const Claim *claim) {
  const PropertyResult *result = claim->result;
  if (result->verdict == VERDICT_VIOLATED) {
    g_autofree char *faults = quantity_of(result->faults, "fault");
    g_autofree char *steps = quantity_of(claim_steps(claim), "step");
    return g_strdup_printf("%s, %s", faults, steps);
  }
  if (result->verdict != VERDICT_PROVED) {
    return g_strdup("");
  }
  g_autofree char *rounds = quantity_of((guint64)outcome->program->rounds, "round");
  g_autofree char *bound = outcome->program->rounds > 0 ? g_strconcat("within ", rounds, NULL) : g_strdup("");
  return g_strconcat(result->vacuous ? "vacuous" : "", result->vacuous && *bound ? ", " : "", bound, NULL);
}

static char *claim_text(const ResultTable *table, const Claim *claim) {
  if (!claim->expected) {
    return g_strdup("");
  }
  g_autofree char *met = terminal_ink(table->colour, met_looks[claim->met].ink, met_looks[claim->met].text, 0);
  return g_strdup_printf("%s: %s", claim->expected->holds ? "holds" : "broken", met);
}

void result_table_head(const ResultTable *table) {
  GString *line = g_string_new(NULL);
  put(table, line, INK_FAINT, "scenario", table->scenario_width);
  put(table, line, INK_FAINT, "property", PROPERTY_WIDTH);
  put(table, line, INK_FAINT, "verdict", VERDICT_WIDTH + 2 + DETAIL_WIDTH);
  put(table, line, INK_FAINT, "claimed", 0);
  end_line(line);
}

static void put_claim(const ResultTable *table, const Outcome *outcome, const Claim *claim, const char *scenario) {
  static const Look unchecked = {"not checked", INK_OPEN};
  const Look *look = claim->result ? &verdict_looks[claim->result->verdict] : &unchecked;
  g_autofree char *detail = claim->result ? detail_text(outcome, claim) : g_strdup("");
  g_autofree char *claimed = claim_text(table, claim);
  GString *line = g_string_new(NULL);
  put(table, line, INK_STRONG, scenario, table->scenario_width);
  put(table, line, INK_PLAIN, claim->property, PROPERTY_WIDTH);
  put(table, line, look->ink, look->text, VERDICT_WIDTH);
  put(table, line, INK_PLAIN, detail, DETAIL_WIDTH);
  put(table, line, INK_PLAIN, claimed, 0);
  end_line(line);
  if (claim->result && claim->result->note[0]) {
    put_line(table, INK_FAINT, table->scenario_width + 4, claim->result->note);
  }
}

static bool is_row(const Claim *claim) {
  return claim->expected || claim->result->verdict != VERDICT_NOT_APPLICABLE;
}

char *result_cost_text(const Outcome *outcome) {
  const Verification *verification = outcome->verification;
  g_autofree char *states = quantity_of(verification->discrete, "state");
  g_autofree char *expanded = quantity_count(verification->expanded);
  g_autofree char *seconds = quantity_seconds(outcome->seconds);
  g_autofree char *bytes = quantity_bytes(verification->peak_bytes);
  return g_strdup_printf("%s, %s expanded, %s, %s", states, expanded, seconds, bytes);
}

static const char *stop_text(StopReason reason) {
  static const char *const texts[] = {
      [STOP_NOT] = "",
      [STOP_TIME] = "stopped by --timeout after ",
      [STOP_MEMORY] = "stopped by --memory after ",
      [STOP_STATES] = "stopped by --max-states after ",
      [STOP_OVERFLOW] = "stopped, since something did not fit into a state, after ",
      [STOP_INTERRUPT] = "interrupted after ",
  };
  return texts[reason];
}

void result_table_rows(const ResultTable *table, const Outcome *outcome) {
  const char *scenario = outcome->program->scenario;
  GString *others = g_string_new(NULL);
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    const Claim *claim = &outcome->claims[i];
    if (is_row(claim)) {
      put_claim(table, outcome, claim, scenario);
      scenario = "";
    } else {
      g_string_append_printf(others, "%s%s", others->len ? ", " : "not applicable: ", claim->property);
    }
  }
  if (others->len) {
    put_line(table, INK_FAINT, table->scenario_width + 2, others->str);
  }
  g_string_free(others, TRUE);
  g_autofree char *cost = result_cost_text(outcome);
  g_autofree char *line = g_strconcat(stop_text(outcome->verification->stopped), cost, NULL);
  put_line(table, INK_FAINT, table->scenario_width + 2, line);
  fflush(stdout);
}

static bool any_proved(const GPtrArray *outcomes, bool with_rounds) {
  for (guint i = 0; i < outcomes->len; i++) {
    const Outcome *outcome = outcomes->pdata[i];
    for (int32_t j = 0; j < outcome->claim_count; j++) {
      const PropertyResult *result = outcome->claims[j].result;
      if (result && result->verdict == VERDICT_PROVED && (outcome->program->rounds > 0) == with_rounds) {
        return true;
      }
    }
  }
  return false;
}

void result_table_legend(const ResultTable *table, const GPtrArray *outcomes) {
  if (any_proved(outcomes, false)) {
    puts("");
    put_line(table, INK_FAINT, 0, "proved: for every schedule and every real-valued timing within the scenario");
  }
  if (any_proved(outcomes, true)) {
    puts("");
    put_line(table, INK_FAINT, 0, "proved within n rounds: the same, where each client ends after n entries");
  }
}

static int32_t count_unclaimed_violations(const Outcome *outcome) {
  int32_t count = 0;
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    const Claim *claim = &outcome->claims[i];
    count += claim->met == MET_NO_CLAIM && claim->result->verdict == VERDICT_VIOLATED;
  }
  return count;
}

void result_table_sum(const GPtrArray *outcomes) {
  int32_t met = 0, claimed = 0, unclaimed = 0;
  for (guint i = 0; i < outcomes->len; i++) {
    const Outcome *outcome = outcomes->pdata[i];
    met += outcome_count(outcome, MET_YES);
    claimed += outcome->claim_count - outcome_count(outcome, MET_NO_CLAIM);
    unclaimed += count_unclaimed_violations(outcome);
  }
  g_autofree char *claims = quantity_of((guint64)claimed, "claim");
  g_autofree char *violations = quantity_of((guint64)unclaimed, "violation");
  if (claimed) {
    printf("\n%d of %s met\n", met, claims);
  }
  if (unclaimed) {
    printf("%s%s that no claim speaks of\n", claimed ? "" : "\n", violations);
  }
}
