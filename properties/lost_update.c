/* Ghost, per resource: for each attempt that has observed it, whether another one has replaced the value since. */
#include "properties/property.h"
#include "world/names.h"
#include "world/world.h"

enum { SLOT_ATTEMPT, SLOT_STALE, SLOT_CELLS };

static bool applicable(const Program *program) {
  for (int32_t g = 0; g < program->group_count; g++) {
    const Service *service = &program->services[program->groups[g].service];
    if (service->observes && service->commits && program->critical_count > 0) {
      return true;
    }
  }
  return false;
}

/* An attempt is forgotten when it can no longer commit: there are never many at a time. */
static int32_t slot_count(const World *world) {
  return world->program->client_count + 4;
}

static void declare(World *world, int32_t monitor) {
  for (int32_t s = 0; s < world->program->server_count; s++) {
    bool judged = world_service(world, s)->observes && world_service(world, s)->commits;
    for (int32_t i = 0; judged && i < slot_count(world); i++) {
      world_ghost(world, monitor, s, FIELD_HOLDING, UINT8_MAX);
      world_ghost(world, monitor, s, FIELD_PLAIN, 1);
    }
    if (judged) {
      world_ghost_bag(world, world->ghost_cell[monitor][s], SLOT_CELLS, slot_count(world));
    }
  }
}

/* The slot of an attempt, or the first free one; NULL when all are taken by others. */
static Cell *find_slot(Cell *slots, int32_t count, Cell attempt) {
  for (int32_t pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < count; i++) {
      if (slots[i * SLOT_CELLS + SLOT_ATTEMPT] == (pass == 0 ? attempt : 0)) {
        return &slots[i * SLOT_CELLS];
      }
    }
  }
  return NULL;
}

static int commit(Cell *slots, int32_t count, Cell attempt) {
  Cell *own = find_slot(slots, count, attempt);
  bool observed = own != NULL && own[SLOT_ATTEMPT] == attempt;
  bool stale = observed && own[SLOT_STALE];
  for (int32_t i = 0; i < count; i++) {
    Cell *slot = &slots[i * SLOT_CELLS];
    slot[SLOT_STALE] = slot[SLOT_ATTEMPT] != 0 && slot != own;
  }
  return (observed ? SIGN_RAISED : SIGN_NOTHING) | (stale ? SIGN_VIOLATED : SIGN_NOTHING);
}

static int event(const World *world, int32_t monitor, State *state, const Event *event) {
  bool judged = event->kind == EVENT_OBSERVE || event->kind == EVENT_COMMIT;
  if (!judged || event->attempt == 0 || world->ghost_cell[monitor][event->server] == NO_INDEX) {
    return SIGN_NOTHING;
  }
  Cell *slots = state->cells + world->ghost_cell[monitor][event->server];
  if (event->kind == EVENT_COMMIT) {
    return commit(slots, slot_count(world), event->attempt);
  }
  Cell *slot = find_slot(slots, slot_count(world), event->attempt);
  if (slot == NULL) {
    return SIGN_OVERFLOW;
  }
  slot[SLOT_ATTEMPT] = event->attempt;
  slot[SLOT_STALE] = 0;
  return SIGN_NOTHING;
}

/* Forgets attempts that are over. */
static void settle(const World *world, int32_t monitor, State *state) {
  for (int32_t s = 0; s < world->program->server_count; s++) {
    if (world->ghost_cell[monitor][s] == NO_INDEX) {
      continue;
    }
    Cell *slots = state->cells + world->ghost_cell[monitor][s];
    for (int32_t i = 0; i < slot_count(world); i++) {
      Cell *slot = &slots[i * SLOT_CELLS];
      if (slot[SLOT_ATTEMPT] && !world_attempt_may_write(world, state, slot[SLOT_ATTEMPT])) {
        slot[SLOT_ATTEMPT] = slot[SLOT_STALE] = 0;
      }
    }
  }
}

const Monitor monitor_lost_update = {
    .name = "lost_update",
    .applicable = applicable,
    .declare = declare,
    .event = event,
    .settle = settle,
};
