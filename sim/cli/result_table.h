/* The verdicts as a table on standard output: a row for each property, scenario by scenario, as they come. */
#ifndef LOCKSTEP_CLI_RESULT_TABLE_H
#define LOCKSTEP_CLI_RESULT_TABLE_H

#include "cli/outcome.h"

typedef struct ResultTable {
  bool colour;
  int scenario_width; /* of the first column */
} ResultTable;

void result_table_head(const ResultTable *table);
void result_table_rows(const ResultTable *table, const Outcome *outcome);
/* What the word "proved" means for these outcomes. */
void result_table_legend(const ResultTable *table, const GPtrArray *outcomes);
/* How many claims are met, and how many violations are no claim's. */
void result_table_sum(const GPtrArray *outcomes);

/* "33,568 states, 50,835 expanded, 9.1 s, 120 MB"; caller frees. */
char *result_cost_text(const Outcome *outcome);

#endif
