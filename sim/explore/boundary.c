/* Just under, at and just over the ends of windows, and the instants at which ages come to what they are compared with:
 * two things that exclude each other by a hair meet there, and nowhere else. */
#include "explore/strategy.h"

static void begin(void *self, Walk *walk) {
  (void)self;
  static const uint32_t rates[] = {5, 15, 60};
  uint32_t rate = rates[rng_below(&walk->rng, 3)];
  walk->temper = (Temper){.strike_one_in = rate, .choice_one_in = rate};
  walk_set_timing(walk, rng_one_in(&walk->rng, 2) ? TIMING_EDGE : TIMING_BOUNDARY);
  walk_vary(walk);
}

const Strategy strategy_boundary = {
    .name = "boundary", .text = "just under, at and just over each bound", .share = 1, .begin = begin};
