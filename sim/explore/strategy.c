#include "explore/strategy.h"

#include <string.h>

const Strategy *const strategies[STRATEGY_COUNT] = {&strategy_zones,   &strategy_pct,   &strategy_boundary,
                                                    &strategy_uniform, &strategy_swarm, &strategy_coverage};

const Strategy *strategy_find(const char *name) {
  for (int32_t s = 0; s < STRATEGY_COUNT; s++) {
    if (strcmp(strategies[s]->name, name) == 0) {
      return strategies[s];
    }
  }
  return NULL;
}
