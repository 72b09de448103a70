/* From a witness to a run: exact times, executed by the concrete engine, and judged there again.
 *
 * Nothing is reported as violated that has not passed through here.
 */
#ifndef LOCKSTEP_EXPLORE_CONFIRM_H
#define LOCKSTEP_EXPLORE_CONFIRM_H

#include "lang/program.h"
#include "world/run.h"
#include "world/world.h"

/* Gives the actions of a witness exact times and executes them. Returns the run when it violates `property` (its bit's
 * number), by its last step or, with `state_violation`, by the state that this one leads to; else NULL, and *problem
 * (caller frees) says what went wrong. */
Run *confirm_run(const World *world, const Action *actions, int32_t count, int32_t property, bool state_violation,
                 char **problem);

/* Executes the recorded decisions of a run on a program. False, and *mismatch (caller frees) says where, when one of
 * them is not possible. *replayed is the run as far as it came, explained like the recorded one when it violates the same
 * property and with an empty property when it does not. */
bool replay_run(const Program *program, const Run *recorded, Run **replayed, char **mismatch);

#endif
