/* Each run has a random subset of the scenario's faults, at its own rate, and its own way to go about time, or one for
 * each process (swarm testing: Groce, Zhang, Eide, Chen, Regehr, ISSTA 2012): what one fault hides, runs without it
 * show. */
#include "explore/strategy.h"

static void begin(void *self, Walk *walk) {
  (void)self;
  Rng *rng = &walk->rng;
  uint32_t rate = UINT32_C(4) << rng_below(rng, 6);
  walk->temper =
      (Temper){.strike_one_in = rng_one_in(rng, 6) ? 0 : rate, .choice_one_in = rng_one_in(rng, 6) ? 0 : rate};
  if (rng_one_in(rng, 2)) {
    walk_draw_timings(walk);
  } else {
    walk_set_timing(walk, (Timing)rng_below(rng, TIMING_COUNT));
  }
  walk_vary(walk);
  if (walk->world->program->fault_count > 1) {
    uint64_t half = rng_next(rng);
    walk->temper.faults_off = half & rng_next(rng); /* a quarter of them */
  }
}

const Strategy strategy_swarm = {.name = "swarm",
                                 .text = "each run with some of the faults, and one way to go about time",
                                 .share = 1,
                                 .begin = begin};
