/* What never happened in any scenario of a model: a proof about nothing is no proof.
 *
 * Gathers which stretches of the source ran, over all scenarios together, and names those that did not: a handler that
 * the model calls and that never runs, a kind of client that never enters; and in the model's own file a timer that
 * never fires, and a statement behind a branch that is never taken. Stretches, not instructions, since each scenario is
 * compiled anew and loops are written out.
 */
#ifndef LOCKSTEP_CLI_COVERAGE_H
#define LOCKSTEP_CLI_COVERAGE_H

#include <glib.h>

/* Warnings (warning.h) in the order of the source; caller unrefs. `outcomes` holds one Outcome (outcome.h) for each
 * scenario of the model, all complete. */
GPtrArray *coverage_warnings(const GPtrArray *outcomes);

#endif
