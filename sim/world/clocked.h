/* The concrete engine: one run with exact times in nanoseconds.
 *
 * Executes decisions (an instant and an action), one at a time, and refuses one that the semantics do not allow: a
 * window that has not come or has gone by, something overdue that is passed over, a comparison or a ticket that comes
 * out otherwise than its recorded choice says. It knows numbers only: instants of birth for ages, integers for tickets.
 * What waits is a queue ordered by (latest instant, order of listing). It may record a Run.
 */
#ifndef LOCKSTEP_WORLD_CLOCKED_H
#define LOCKSTEP_WORLD_CLOCKED_H

#include "world/run.h"
#include "world/step.h"

typedef struct Clocked Clocked;

Clocked *clocked_new(const World *world, bool records);
void clocked_free(Clocked *clocked);

/* False when the decision is not allowed; `clocked_refusal` says why, and the engine is not to be used any further. */
bool clocked_take(Clocked *clocked, int64_t time_ns, const Action *action);
const char *clocked_refusal(const Clocked *clocked);
/* Lets time pass to `time_ns` without an action; false when something had to happen before. */
bool clocked_let_pass(Clocked *clocked, int64_t time_ns);

/* Answers for choices that an action has not recorded, for random runs: called with the number of options, and whether
 * it is the model that leaves them open (`choose`) and not the adversary, whose option 0 is to do nothing. Comparisons
 * and tickets are never asked for; the numbers decide. The answers are in the action of the recorded step. */
typedef int32_t (*ClockedOracle)(void *user, int32_t count, bool by_model);
void clocked_set_oracle(Clocked *clocked, ClockedOracle oracle, void *user);

const State *clocked_state(const Clocked *clocked);
int64_t clocked_now_ns(const Clocked *clocked);
/* Age of a name of the state, in nanoseconds. */
int64_t clocked_age_ns(const Clocked *clocked, Cell age);
/* Properties that the last step violated, and those that the state as it is now violates. */
uint64_t clocked_violated(const Clocked *clocked);
uint64_t clocked_violated_now(Clocked *clocked);
/* Something pending, with its window as instants: latest_ns is INT64_MAX for none. In the order of the queue. */
typedef struct Due {
  Action action;
  int64_t earliest_ns, latest_ns;
  int64_t opens_ns; /* the beginning of the window, though it may be past: what is due keeps it while it is due */
  bool optional;
} Due;
int32_t clocked_queue(const Clocked *clocked, Due queue[THINGS_MAX]);

/* --- for random runs, which take only what is listed ------------------------------------------------------------- */

/* Takes an action that clocked_queue (at an instant of its window that no other one's end comes before) or step_faults
 * has listed: the same step, without looking again whether it is allowed. False: a finding of the model. */
bool clocked_step(Clocked *clocked, int64_t time_ns, const Action *action);
/* The last action with all its choices: what a trace records, and clocked_take takes again. */
const Action *clocked_taken(const Clocked *clocked);
/* What the last step ran into, if it was refused for a finding of the model. */
Problem clocked_problem(const Clocked *clocked);
/* The window of something pending that is not overdue, as instants: INT64_MAX for no end. */
void clocked_window(const Clocked *clocked, const Thing *thing, int64_t *opens_ns, int64_t *latest_ns);
/* Back to the initial state; what was set stays set. Not for one that records. */
void clocked_reset(Clocked *clocked);
/* Hears every event of every step. */
void clocked_set_listener(Clocked *clocked, void (*hear)(void *user, const Step *step, const Event *event), void *user);
/* Renumbers names, and forgets what can no longer matter, only when names run short: the same run, but its state is not
 * canonical, and its actions are not for a trace. */
void clocked_keep_names(Clocked *clocked);

/* The run so far (only if it records); the engine keeps nothing of it. */
Run *clocked_take_run(Clocked *clocked);

#endif
