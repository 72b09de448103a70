/* Any instant of its window, and a fault about once in thirty steps. The portfolio's runs of this kind are those of
 * zones.c whose walk violates nothing new. */
#include "explore/strategy.h"

static void begin(void *self, Walk *walk) {
  (void)self;
  walk->temper = (Temper){.strike_one_in = 30, .choice_one_in = 30};
  walk_set_timing(walk, TIMING_UNIFORM);
}

const Strategy strategy_uniform = {
    .name = "uniform", .text = "any instant of its window, any fault at any time", .share = 0, .begin = begin};
