/* Ghost, per resource: the latest holding whose write it has applied, and the ticket that this one entered with.
 * Where every entry of the program has a ticket, the tickets alone decide and the holding is not kept. */
#include "properties/property.h"
#include "world/names.h"
#include "world/world.h"

enum { GHOST_HOLDING, GHOST_TICKET };

static bool applicable(const Program *program) {
  bool commits = false;
  for (int32_t g = 0; g < program->group_count; g++) {
    commits |= program->services[program->groups[g].service].commits;
  }
  return commits && program->critical_count > 0;
}

static void declare(World *world, int32_t monitor) {
  for (int32_t s = 0; s < world->program->server_count; s++) {
    if (world_service(world, s)->commits) {
      world_ghost(world, monitor, s, FIELD_HOLDING, world->all_fences ? 0 : UINT8_MAX);
      world_ghost(world, monitor, s, FIELD_TICKET, world->has_fences ? STATE_NAMES_MAX : 0);
    }
  }
}

/* Whether the holding (a, ticket_a) is later than (b, ticket_b). */
static bool is_later(Cell a, Cell ticket_a, Cell b, Cell ticket_b) {
  return ticket_a && ticket_b ? ticket_a > ticket_b : a > b;
}

static int event(const World *world, int32_t monitor, State *state, const Event *event) {
  bool is_holding = event->attempt != 0 && event->attempt < HOLDING_UNENTERED;
  if (event->kind != EVENT_COMMIT || !is_holding) {
    return SIGN_NOTHING;
  }
  Cell *ghost = state->cells + world->ghost_cell[monitor][event->server];
  bool any = ghost[GHOST_HOLDING] || ghost[GHOST_TICKET];
  if (any && is_later(ghost[GHOST_HOLDING], ghost[GHOST_TICKET], event->attempt, event->fence)) {
    return SIGN_RAISED | SIGN_VIOLATED;
  }
  ghost[GHOST_HOLDING] = world->all_fences ? 0 : event->attempt;
  ghost[GHOST_TICKET] = event->fence;
  return SIGN_RAISED;
}

/* Whether a holding earlier than `latest` may still write. */
static bool earlier_lives(const World *world, const State *state, Cell latest) {
  for (Cell earlier = 1; earlier < latest; earlier++) {
    if (world_attempt_may_write(world, state, earlier)) {
      return true;
    }
  }
  return false;
}

/* Without a ticket (a later entry may have a smaller one), holdings to come are later: if no earlier one can write any
 * more, the ghost has nothing to say. */
static void settle(const World *world, int32_t monitor, State *state) {
  for (int32_t s = 0; s < world->program->server_count; s++) {
    if (world->ghost_cell[monitor][s] == NO_INDEX) {
      continue;
    }
    Cell *ghost = state->cells + world->ghost_cell[monitor][s];
    if (ghost[GHOST_HOLDING] && !ghost[GHOST_TICKET] && !earlier_lives(world, state, ghost[GHOST_HOLDING])) {
      ghost[GHOST_HOLDING] = 0;
    }
  }
}

const Monitor monitor_fencing = {
    .name = "fencing",
    .applicable = applicable,
    .compares_entries = true,
    .declare = declare,
    .event = event,
    .settle = settle,
};
