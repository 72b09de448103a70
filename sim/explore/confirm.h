/* From a witness to a run: exact times, executed by the concrete engine, and judged there again.
 *
 * Nothing is reported as violated that has not passed through here.
 */
#ifndef LOCKSTEP_EXPLORE_CONFIRM_H
#define LOCKSTEP_EXPLORE_CONFIRM_H

#include "explore/walk.h"
#include "lang/program.h"
#include "world/run.h"
#include "world/world.h"

/* Gives the actions of a witness exact times and executes them. Returns the run when it violates `property` (its bit's
 * number), by its last step or, with `state_violation`, by the state that this one leads to; else NULL, and *problem
 * (caller frees) says what went wrong. */
Run *confirm_run(const World *world, const Action *actions, int32_t count, int32_t property, bool state_violation,
                 char **problem);

/* Executes decisions of a random run with every check. Returns the run when its last state violates `property`; end_ns
 * is when that state is looked at, 0: right after the last decision. Else NULL, and *problem says what went wrong. */
Run *confirm_decisions(const World *world, const Decision *decisions, int32_t count, int64_t end_ns, int32_t property,
                       char **problem);

/* Executes the recorded decisions of a run on a program. False, and *mismatch (caller frees) says where, when one of
 * them is not possible. *replayed is the run as far as it came, explained like the recorded one when it violates the
 * same property and with an empty property when it does not. */
bool replay_run(const Program *program, const Run *recorded, Run **replayed, char **mismatch);

#endif
