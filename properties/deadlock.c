#include "properties/property.h"
#include "world/step.h"

static bool applicable(const Program *program) {
  return program->client_count > 0;
}

static bool violated_by(const World *world, const State *state) {
  return step_is_stuck(world, state);
}

const Monitor monitor_deadlock = {
    .name = "deadlock",
    .applicable = applicable,
    .violated_by = violated_by,
};
