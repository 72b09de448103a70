#include "properties/property.h"
#include "world/world.h"

static bool applicable(const Program *program) { return program->critical_count > 0; }

/* Paused holders are inside; crashed ones are not (the world has them leave). */
static int event(const World *world, int32_t monitor, State *state, const Event *event) {
  (void)monitor;
  if (event->kind != EVENT_ENTER) {
    return SIGN_NOTHING;
  }
  int32_t inside = 0;
  for (int32_t c = 0; c < world->program->client_count; c++) {
    inside += world_is_inside(world, state, c);
  }
  return inside > 1 ? SIGN_RAISED | SIGN_VIOLATED : SIGN_RAISED;
}

const Monitor monitor_mutual_exclusion = {
    .name = "mutual_exclusion",
    .applicable = applicable,
    .event = event,
};
