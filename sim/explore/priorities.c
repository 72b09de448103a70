#include "explore/priorities.h"

void priorities_draw(Priorities *priorities, const World *world, Rng *rng) {
  int32_t count = world->program->client_count + world->program->server_count;
  for (int32_t p = 0; p < count; p++) {
    int32_t other = (int32_t)rng_below(rng, (uint64_t)p + 1);
    priorities->of[p] = priorities->of[other];
    priorities->of[other] = p;
  }
  priorities->lowest = 0;
  priorities->change_count = (int32_t)rng_below(rng, PRIORITY_CHANGES_MAX + 1);
}

void priorities_draw_changes(Priorities *priorities, int32_t steps, Rng *rng) {
  for (int32_t c = 0; c < priorities->change_count; c++) {
    priorities->change_at[c] = (int32_t)rng_below(rng, (uint64_t)steps);
  }
}

bool priorities_change_at(const Priorities *priorities, int32_t step) {
  for (int32_t c = 0; c < priorities->change_count; c++) {
    if (priorities->change_at[c] == step) {
      return true;
    }
  }
  return false;
}

int64_t priorities_on_level(const Priorities *priorities, int32_t process, int32_t level) {
  return level * (INT64_C(1) << 32) + priorities->of[process]; /* further apart than any two priorities */
}

void priorities_lower(Priorities *priorities, int32_t process) {
  priorities->of[process] = --priorities->lowest;
}
