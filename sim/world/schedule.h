/* Exact times for a sequence of actions.
 *
 * The windows, invariants and comparisons that the sequence passes through are difference constraints on the instants
 * of its steps (zone/differences). They are closed and solved step by step, preferring times that read well: whole
 * milliseconds, messages that take a quarter of their window, everything else as soon as it may. Strict bounds are "at
 * least one nanosecond". Works on names that stay put (a canonical = false path of world/timed).
 */
#ifndef LOCKSTEP_WORLD_SCHEDULE_H
#define LOCKSTEP_WORLD_SCHEDULE_H

#include "world/step.h"

#define SCHEDULE_STEPS_MAX 400

typedef enum ScheduleOutcome { SCHEDULE_SOLVED, SCHEDULE_IMPOSSIBLE, SCHEDULE_TOO_LONG } ScheduleOutcome;

/* If it is solved, fills times_ns[0 .. count - 1], and times_ns[count] with an instant not before the last step at
 * which the last state violates property `look_property` (NO_INDEX: any). Without times_ns (NULL): only whether there
 * are such instants, which is far quicker for long sequences. */
ScheduleOutcome schedule_solve(const World *world, const Action *actions, int32_t count, int32_t look_property,
                               int64_t *times_ns);

#endif
