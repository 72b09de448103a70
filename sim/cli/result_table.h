/* The verdicts as a table on standard output: a row for each property, scenario by scenario, as they come. */
#ifndef LOCKSTEP_CLI_RESULT_TABLE_H
#define LOCKSTEP_CLI_RESULT_TABLE_H

#include "cli/outcome.h"

typedef struct ResultTable {
  bool colour;
  int model_width, scenario_width; /* of the first column; the model's only when the table is of several models */
} ResultTable;

void result_table_head(const ResultTable *table);
void result_table_rows(const ResultTable *table, const Outcome *outcome);
/* What the word "proved" means for these outcomes. */
void result_table_legend(const ResultTable *table, const GPtrArray *outcomes);
/* How many claims are met, and how many violations are no claim's. */
void result_table_sum(const GPtrArray *outcomes);

/* The same for many models: one line for each scenario, and one for each claim that is not met. */
void result_table_brief_head(const ResultTable *table);
void result_table_brief(const ResultTable *table, const char *model, const Outcome *outcome);

/* "33,568 states, 50,835 expanded, 9.1 s, 120 MB"; caller frees. */
char *result_cost_text(const Outcome *outcome);

#endif
