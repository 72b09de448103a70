/* From a run that random search has found to the shortest one that can be made of it: fewer faults, then fewer steps,
 * then fewer changes between processes, with times that read well and pauses as short as they may be.
 *
 * Works on the order of events, not on their times: a candidate leaves out some of them, is rehearsed without a clock
 * (what became impossible falls out), and counts if exact times exist for what is left (world/schedule) and it still
 * violates the same property. The amount of work is bounded by a count, not by a clock: same run in, same run out.
 */
#ifndef LOCKSTEP_EXPLORE_SHRINK_H
#define LOCKSTEP_EXPLORE_SHRINK_H

#include "explore/walk.h"

typedef struct Shrunk {
  Decision *decisions; /* NULL: nothing shorter was found than what was given */
  int32_t count;
  int64_t end_ns;        /* as in Find */
  int32_t faults, steps; /* as the exhaustive search counts them */
  int64_t work;          /* steps rehearsed or solved on the way */
} Shrunk;

/* `world` is that of the find: same clocks. */
Shrunk shrink(const World *world, const Decision *decisions, int32_t count, int32_t property);
/* Then looks for a cheaper one near it: `runs` short random runs that begin as it does, up to a random point, and go on
 * at random; each that violates the property is shrunk in turn, as long as there is work left for it. */
void shrink_nearby(const World *world, Shrunk *shrunk, int32_t property, uint64_t seed, int32_t runs);
/* At last, at the same cost: each process's events together. */
void shrink_tidy(const World *world, Shrunk *shrunk, int32_t property);
/* Fewer faults; of as many, fewer steps. */
bool shrunk_is_cheaper(const Shrunk *a, const Shrunk *b);
void shrunk_clear(Shrunk *shrunk);

#endif
