/* The symbolic engine: a world as a System whose zones hold all real-valued timings at once.
 *
 * A zone ranges over the ages that its discrete part names; it is closed under the passing of time within the state's
 * invariants, and extrapolated (ExtraLU+) by the constants that each age can still be compared with. Action sequences
 * are therefore exact without join, and over-approximated with it. Bounds are whole units of the greatest common
 * divisor of all constants.
 */
#ifndef LOCKSTEP_WORLD_TIMED_H
#define LOCKSTEP_WORLD_TIMED_H

#include "world/step.h"
#include "world/system.h"

typedef struct Timed Timed;

/* NULL and `*too_large_us` set to the constant when one does not fit a bound (zone/bound.h). */
Timed *timed_new(const World *world, int64_t *too_large_us);
void timed_free(Timed *timed);
/* The System; valid as long as the Timed. With `symmetric`, canonical states are one for each class of clients. */
System timed_system(Timed *timed, bool symmetric);
/* The transitions of a state, for walks that take only one of them: each without the state that it leads to and without
 * what it violates. */
void timed_transitions(Timed *timed, SystemState state, SuccessorSink sink, void *user);
/* The successor by one of them, its action with the choices in it. */
void timed_successor(Timed *timed, SystemState state, const Action *action, SuccessorSink sink, void *user);
/* Microseconds in one unit of a bound. */
int64_t timed_unit_us(const Timed *timed);

/* For twins: whether a concrete state (ages in nanoseconds, 1-based) lies in a stored one; `state` is renamed to its
 * representative first when the system is symmetric. */
uint32_t timed_key(Timed *timed, const State *state, bool symmetric, uint8_t *key,
                   int32_t age_source[STATE_AGES_MAX + 1]);

#endif
