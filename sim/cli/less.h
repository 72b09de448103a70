/* How much less of its fault a violation could do with: the smallest upper bound of the fault's window, in whole
 * milliseconds, with which the property is still violated.
 *
 * Asked where the answer is one figure: the scenario has one fault in all, a single pause, crash, late message or clock
 * step, and the violation uses it. Each figure tried is a verification of its own, with the window changed and nothing
 * else; what is said was verified on both sides, by bisection. A longer window allows all that a shorter one does, so
 * there is one threshold; a clock step has no window, and there it is one of perhaps several.
 */
#ifndef LOCKSTEP_CLI_LESS_H
#define LOCKSTEP_CLI_LESS_H

#include "cli/outcome.h"

/* Sets `less` of each violated claim. Ends early, and says so there, when `options->tick` stops a verification. */
void less_search(Outcome *outcome, const VerifyOptions *options);

#endif
