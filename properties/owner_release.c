/* Ghost, per lock variable: the attempt on whose behalf it was set; 0: nobody's, or not known since a restart. */
#include "properties/property.h"
#include "world/names.h"
#include "world/world.h"

static bool applicable(const Program *program) {
  for (int32_t g = 0; g < program->group_count; g++) {
    const Service *service = &program->services[program->groups[g].service];
    for (int32_t v = 0; v < service->variable_count; v++) {
      if (service->variables[v].is_lock) {
        return true;
      }
    }
  }
  return false;
}

static int32_t lock_count(const Service *service, int32_t before) {
  int32_t count = 0;
  for (int32_t v = 0; v < before; v++) {
    count += service->variables[v].is_lock ? service->variables[v].extent.count : 0;
  }
  return count;
}

static void declare(World *world, int32_t monitor) {
  for (int32_t s = 0; s < world->program->server_count; s++) {
    const Service *service = world_service(world, s);
    for (int32_t v = 0; v < service->variable_count; v++) {
      const Extent *extent = &service->variables[v].extent;
      for (int32_t e = 0; e < extent->count && service->variables[v].is_lock; e++) {
        int32_t cell = world_ghost(world, monitor, s, FIELD_HOLDING, UINT8_MAX);
        if (e == 0) {
          world_ghost_array(world, cell, extent);
        }
      }
    }
  }
}

static int event(const World *world, int32_t monitor, State *state, const Event *event) {
  int32_t first = event->server >= 0 ? world->ghost_cell[monitor][event->server] : NO_INDEX;
  if (first == NO_INDEX) {
    return SIGN_NOTHING;
  }
  const Service *service = world_service(world, event->server);
  if (event->kind == EVENT_RESET) {
    for (int32_t i = 0; i < lock_count(service, service->variable_count); i++) {
      state->cells[first + i] = 0;
    }
  }
  if (event->kind != EVENT_LOCK) {
    return SIGN_NOTHING;
  }
  Cell *setter = &state->cells[first + lock_count(service, event->index) + event->element];
  bool was_set = event->before.sort != SORT_NONE;
  bool foreign = was_set && event->attempt != 0 && *setter != 0 && *setter != event->attempt;
  *setter = event->after.sort == SORT_NONE ? 0 : event->attempt;
  int raised = was_set && event->attempt != 0 ? SIGN_RAISED : SIGN_NOTHING;
  return raised | (foreign ? SIGN_VIOLATED : SIGN_NOTHING);
}

/* Of an attempt that is over, only "somebody else's" can still be read out of the ghost. */
static void settle(const World *world, int32_t monitor, State *state) {
  for (int32_t s = 0; s < world->program->server_count; s++) {
    int32_t first = world->ghost_cell[monitor][s];
    int32_t count =
        first == NO_INDEX ? 0 : lock_count(world_service(world, s), world_service(world, s)->variable_count);
    for (int32_t i = 0; i < count; i++) {
      Cell *setter = &state->cells[first + i];
      if (*setter != 0 && *setter != HOLDING_FOREIGN && !world_attempt_lives(world, state, *setter)) {
        *setter = HOLDING_FOREIGN;
      }
    }
  }
}

const Monitor monitor_owner_release = {
    .name = "owner_release",
    .applicable = applicable,
    .declare = declare,
    .event = event,
    .settle = settle,
};
