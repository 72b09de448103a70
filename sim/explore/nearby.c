#include <string.h>

#include "explore/shrink.h"

enum { LONGER_MAX = 4 };
/* So many steps are rehearsed or solved, about a second: few candidates where runs are long. */
#define WORK_MAX INT64_C(600000)

typedef struct Nearby {
  const World *world;
  Shrunk *best;
  Walk *walk;
  int32_t property;
  int64_t work;
} Nearby;

static void shrink_this(Nearby *nearby) {
  Shrunk other = shrink(nearby->world, nearby->walk->decisions, nearby->walk->decision_count, nearby->property);
  nearby->work += other.work;
  if (other.decisions != NULL && shrunk_is_cheaper(&other, nearby->best)) {
    shrunk_clear(nearby->best);
    *nearby->best = other;
  } else {
    shrunk_clear(&other);
  }
}

/* Mostly as soon as may be: what is short in steps is often short in time. */
static void draw_temper(Walk *walk) {
  uint32_t rate = UINT32_C(2) << rng_below(&walk->rng, 4);
  walk->temper = (Temper){.strike_one_in = rate, .choice_one_in = rate};
  walk_set_timing(walk, (Timing)rng_below(&walk->rng, TIMING_COUNT));
}

/* The next decision: the best run's, as far as it is followed, then any. */
static bool decide(Nearby *nearby, int32_t followed, Decision *decision) {
  Walk *walk = nearby->walk;
  if (!walk_look(walk)) {
    return false;
  }
  if (walk->decision_count < followed) {
    *decision = nearby->best->decisions[walk->decision_count];
    return true;
  }
  if (walk->decision_count == followed && walk->fault_count > 0 && rng_one_in(&walk->rng, 2)) {
    /* The same fault earlier is the usual way to a shorter run. */
    *decision = (Decision){walk->now_ns, walk->faults[rng_below(&walk->rng, (uint64_t)walk->fault_count)]};
    return true;
  }
  return walk_decide(walk, decision);
}

static bool violates(const Nearby *nearby) {
  uint64_t bit = UINT64_C(1) << nearby->property;
  bool by_state = nearby->property >= nearby->world->monitor_count;
  return clocked_violated(nearby->walk->clocked) & bit ||
         (by_state && clocked_violated_now(nearby->walk->clocked) & bit);
}

static void run_once(Nearby *nearby, uint64_t seed) {
  Walk *walk = nearby->walk;
  Decision decision;
  walk_begin(walk, seed);
  int32_t length = nearby->best->count + LONGER_MAX;
  length = length < walk->decision_max ? length : walk->decision_max;
  int32_t followed = (int32_t)rng_below(&walk->rng, (uint64_t)nearby->best->count + 1);
  draw_temper(walk);
  while (walk->decision_count < length && decide(nearby, followed, &decision) && walk_take(walk, &decision)) {
    if (violates(nearby)) {
      if (walk->decision_count != nearby->best->count || followed < nearby->best->count) {
        shrink_this(nearby);
      }
      return;
    }
  }
}

void shrink_nearby(const World *world, Shrunk *shrunk, int32_t property, uint64_t seed, int32_t runs) {
  Nearby nearby = {
      .world = world, .best = shrunk, .walk = walk_new(world, shrunk->count + LONGER_MAX), .property = property};
  for (int32_t r = 0; r < runs && nearby.work < WORK_MAX; r++) {
    run_once(&nearby, rng_derive(seed, (uint64_t)r));
  }
  walk_free(nearby.walk);
}
