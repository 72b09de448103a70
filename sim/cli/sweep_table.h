/* The verdicts on many models for people, from their JSON documents: a line for each scenario as the models come, then
 * a table with a line for each model, and one line for all.
 *
 * Every figure but the times is the same on each run, however many models are checked at once.
 */
#ifndef LOCKSTEP_CLI_SWEEP_TABLE_H
#define LOCKSTEP_CLI_SWEEP_TABLE_H

#include <json-glib/json-glib.h>
#include <stdbool.h>

typedef struct Tally {
  guint scenarios, met, not_met, undecided, unclaimed; /* unclaimed: violations that no claim speaks of */
  bool is_complete;                                    /* every scenario has all its verdicts */
  gint64 states, peak_bytes;                           /* peak: of the largest scenario */
  double seconds;
} Tally;

typedef struct SweepTable {
  bool colour;
  int model_width;
} SweepTable;

void sweep_table_head(const SweepTable *table);
/* The scenarios of one model, what is wrong with their claims, and the warnings; what they amount to. `document` is a
 * "lockstep-check/1". */
Tally sweep_table_model(const SweepTable *table, JsonNode *document);
/* `names` and `tallies` go together. */
void sweep_table_sum(const SweepTable *table, const char *const *names, const Tally *tallies, guint count,
                     double elapsed_seconds);

#endif
