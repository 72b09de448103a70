/* Random priorities of processes with change points, as probabilistic concurrency testing has them (PCT: Burckhardt,
 * Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): at a few random steps of a run somebody falls below all others.
 */
#ifndef LOCKSTEP_EXPLORE_PRIORITIES_H
#define LOCKSTEP_EXPLORE_PRIORITIES_H

#include <stdbool.h>

#include "base/rng.h"
#include "world/world.h"

enum { PRIORITY_CHANGES_MAX = 4 };

typedef struct Priorities {
  int32_t of[WORLD_PROCESSES_MAX]; /* the larger, the sooner */
  int32_t change_at[PRIORITY_CHANGES_MAX];
  int32_t change_count, lowest;
} Priorities;

/* A new order of the processes, and how often it is to change; then when it does, within so many steps. */
void priorities_draw(Priorities *priorities, const World *world, Rng *rng);
void priorities_draw_changes(Priorities *priorities, int32_t steps, Rng *rng);
bool priorities_change_at(const Priorities *priorities, int32_t step);
/* The priority of a process on a level: whoever is on a higher level comes first. */
int64_t priorities_on_level(const Priorities *priorities, int32_t process, int32_t level);
/* From now on below all others. */
void priorities_lower(Priorities *priorities, int32_t process);

#endif
