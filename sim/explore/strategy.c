#include "explore/strategy.h"

#include <string.h>

const Strategy *const strategies[STRATEGY_COUNT] = {&strategy_uniform,  &strategy_pct,      &strategy_swarm,
                                                    &strategy_boundary, &strategy_coverage, &strategy_zones};

const Strategy *strategy_find(const char *name) {
  for (int32_t s = 0; s < STRATEGY_COUNT; s++) {
    if (strcmp(strategies[s]->name, name) == 0) {
      return strategies[s];
    }
  }
  return NULL;
}
