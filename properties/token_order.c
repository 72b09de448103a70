/* Ghost: the largest ticket that a holding has entered with. Sections that name their resource (`of`) are not judged:
 * the tokens of different resources have nothing to do with each other. */
#include "properties/property.h"
#include "world/world.h"

enum { GHOST_SERVER = 0 }; /* any would do: a ticket comes from some server */

static bool is_judged(const Critical *critical) {
  return critical->has_fence && !critical->has_resource;
}

static bool applicable(const Program *program) {
  for (int32_t c = 0; c < program->critical_count && program->server_count > 0; c++) {
    if (is_judged(&program->criticals[c])) {
      return true;
    }
  }
  return false;
}

static void declare(World *world, int32_t monitor) {
  if (applicable(world->program)) {
    world_ghost(world, monitor, GHOST_SERVER, FIELD_TICKET, STATE_NAMES_MAX);
  }
}

static int event(const World *world, int32_t monitor, State *state, const Event *event) {
  if (event->kind != EVENT_ENTER || !is_judged(&world->program->criticals[event->index])) {
    return SIGN_NOTHING;
  }
  Cell *largest = &state->cells[world->ghost_cell[monitor][GHOST_SERVER]];
  bool violated = *largest != 0 && event->fence <= *largest;
  *largest = event->fence > *largest ? event->fence : *largest;
  return violated ? SIGN_RAISED | SIGN_VIOLATED : SIGN_RAISED;
}

const Monitor monitor_token_order = {
    .name = "token_order",
    .applicable = applicable,
    .declare = declare,
    .event = event,
};
