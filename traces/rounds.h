/* Rounds that come again: a client that asks in vain fifty times is told once, and how often it does so again.
 *
 * For reports, which tell every beat; pictures choose among the beats instead (beats_chosen).
 */
#ifndef LOCKSTEP_TRACES_ROUNDS_H
#define LOCKSTEP_TRACES_ROUNDS_H

#include "traces/beat.h"

/* What reads as a gap in time between two beats. */
#define ROUNDS_QUIET_NS 1000000000

/* Time from the step before a beat to the beat. */
int64_t beat_quiet_ns(const Run *run, const Beat *beat);

/* Where a round of at most 16 beats is followed by at least three that differ from it in nothing but their instants,
 * those become one beat of kind BEAT_AGAIN: "steps 5-7 again, 49 times (to 14.461)". A violation is in none of them. */
void beats_fold_rounds(Beats *beats, const Run *run);

#endif
