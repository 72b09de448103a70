/* Goes on from where runs reached something new: a discrete state, or a pair of events, never seen in this batch. Keeps
 * the decisions that led there; a run repeats some of them, up to a random point, and goes on at random. */
#include "explore/strategy.h"

#include <string.h>

#include "base/check.h"

enum { KEPT_MAX = 64, KEPT_STEPS_MAX = 300 };

typedef struct Kept {
  Decision decisions[KEPT_STEPS_MAX];
  int32_t count;
} Kept;

typedef struct Coverage {
  Kept kept[KEPT_MAX];
  int32_t kept_count;
  const Kept *repeated; /* what this run begins with; NULL: nothing */
  int32_t repeat_count;
} Coverage;

static void *new (const World *world) {
  (void)world;
  Coverage *coverage = calloc(1, sizeof *coverage);
  CHECK(coverage != NULL);
  return coverage;
}

static void forget(void *self) {
  ((Coverage *)self)->kept_count = 0;
}

static void begin(void *self, Walk *walk) {
  Coverage *coverage = self;
  Rng *rng = &walk->rng;
  uint32_t rate = UINT32_C(8) << rng_below(rng, 4);
  walk->temper = (Temper){.strike_one_in = rate, .choice_one_in = rate};
  walk_set_timing(walk, rng_one_in(rng, 2) ? TIMING_MIXED : TIMING_BOUNDARY);
  walk_vary(walk);
  coverage->repeated = NULL;
  if (coverage->kept_count > 0 && !rng_one_in(rng, 4)) {
    coverage->repeated = &coverage->kept[rng_below(rng, (uint64_t)coverage->kept_count)];
    int32_t half = coverage->repeated->count / 2; /* what was new is near the end */
    coverage->repeat_count = (int32_t)rng_between(rng, rng_one_in(rng, 3) ? 0 : half, coverage->repeated->count);
  }
}

static bool decide(void *self, Walk *walk, Decision *decision) {
  Coverage *coverage = self;
  if (coverage->repeated != NULL && walk->decision_count < coverage->repeat_count) {
    *decision = coverage->repeated->decisions[walk->decision_count];
    return true;
  }
  return walk_decide(walk, decision);
}

static void end(void *self, const Walk *walk, int32_t new_until) {
  Coverage *coverage = self;
  if (new_until == 0) {
    return;
  }
  int32_t at = coverage->kept_count < KEPT_MAX ? coverage->kept_count++ : (int32_t)(walk->rng.state[0] % KEPT_MAX);
  Kept *kept = &coverage->kept[at];
  kept->count = new_until < KEPT_STEPS_MAX ? new_until : KEPT_STEPS_MAX;
  memcpy(kept->decisions, walk->decisions, (size_t)kept->count * sizeof(Decision));
}

const Strategy strategy_coverage = {.name = "coverage",
                                    .text = "goes on from where runs reached something new",
                                    .share = 1,
                                    .new = new,
                                    .free = free,
                                    .forget = forget,
                                    .begin = begin,
                                    .decide = decide,
                                    .end = end};
