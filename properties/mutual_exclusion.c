#include "properties/property.h"
#include "world/world.h"

static bool applicable(const Program *program) {
  return program->critical_count > 0;
}

static bool same_resource(const Cell *a, const Cell *b) {
  return a[TASK_RESOURCE_SORT] == b[TASK_RESOURCE_SORT] && a[TASK_RESOURCE] == b[TASK_RESOURCE];
}

/* How many may be inside at a time when these two are: any number of readers, the fewer of the permits else. */
static int32_t admitted(const Critical *a, const Critical *b) {
  if (a->is_shared && b->is_shared) {
    return INT32_MAX;
  }
  return a->is_shared || b->is_shared ? 1 : a->permits < b->permits ? a->permits : b->permits;
}

/* Paused holders are inside; crashed ones are not (the world has them leave). */
static int event(const World *world, int32_t monitor, State *state, const Event *event) {
  (void)monitor;
  if (event->kind != EVENT_ENTER) {
    return SIGN_NOTHING;
  }
  const Program *program = world->program;
  const Cell *entered = state_task(&world->layout, state, event->client, event->task);
  int32_t inside = 0, most = INT32_MAX;
  for (int32_t c = 0; c < program->client_count; c++) {
    for (int32_t t = 0; t < world_kind(world, c)->task_count; t++) {
      const Cell *task = state_task(&world->layout, state, c, t);
      if (!task[TASK_INSIDE] || !same_resource(task, entered)) {
        continue;
      }
      int32_t pair = admitted(&program->criticals[task[TASK_INSIDE] - 1], &program->criticals[event->index]);
      inside++;
      most = pair < most && task != entered ? pair : most;
    }
  }
  return inside > most ? SIGN_RAISED | SIGN_VIOLATED : SIGN_RAISED;
}

const Monitor monitor_mutual_exclusion = {
    .name = "mutual_exclusion",
    .applicable = applicable,
    .event = event,
};
