#include "explore/confirm.h"

#include <glib.h>
#include <string.h>

#include "base/check.h"
#include "properties/property.h"
#include "properties/why.h"
#include "world/clocked.h"
#include "world/schedule.h"

/* Whether the engine, as it stands, shows the violation. */
static bool shows_violation(Clocked *clocked, int32_t property) {
  CHECK(property >= 0);
  uint64_t bit = UINT64_C(1) << property;
  return clocked_violated(clocked) & bit || clocked_violated_now(clocked) & bit;
}

static Run *explained(const World *world, Clocked *clocked, int32_t property, int64_t end_ns) {
  Run *run = clocked_take_run(clocked);
  run->end_ns = end_ns;
  const char *name = world->property_names[property];
  why_explain(run, name, property < world->monitor_count ? NULL : name);
  return run;
}

Run *confirm_run(const World *world, const Action *actions, int32_t count, int32_t property, bool state_violation,
                 char **problem) {
  int64_t times_ns[SCHEDULE_STEPS_MAX + 1];
  int32_t look = state_violation && property >= world->monitor_count ? property : NO_INDEX;
  *problem = NULL;
  switch (schedule_solve(world, actions, count, look, times_ns)) {
  case SCHEDULE_TOO_LONG:
    *problem = g_strdup_printf("the witness has more than %d steps", SCHEDULE_STEPS_MAX);
    return NULL;
  case SCHEDULE_IMPOSSIBLE: *problem = g_strdup("no exact times fit the witness"); return NULL;
  case SCHEDULE_SOLVED: break;
  }
  Clocked *clocked = clocked_new(world, true);
  bool taken = true;
  int32_t i = 0;
  for (; i < count && taken; i++) {
    taken = clocked_take(clocked, times_ns[i], &actions[i]);
  }
  taken = taken && (look == NO_INDEX || clocked_let_pass(clocked, times_ns[count]));
  Run *run = NULL;
  if (!taken) {
    *problem = g_strdup_printf("step %d of the witness: %s", i, clocked_refusal(clocked));
  } else if (!shows_violation(clocked, property)) {
    *problem = g_strdup("the witness, executed, violates nothing");
  } else {
    bool later = look != NO_INDEX && (count == 0 || times_ns[count] > times_ns[count - 1]);
    run = explained(world, clocked, property, later ? times_ns[count] : 0);
  }
  clocked_free(clocked);
  return run;
}

Run *confirm_decisions(const World *world, const Decision *decisions, int32_t count, int64_t end_ns, int32_t property,
                       char **problem) {
  Clocked *clocked = clocked_new(world, true);
  bool taken = true;
  int32_t i = 0;
  for (; i < count && taken; i++) {
    taken = clocked_take(clocked, decisions[i].time_ns, &decisions[i].action);
  }
  taken = taken && (end_ns == 0 || clocked_let_pass(clocked, end_ns));
  Run *run = NULL;
  *problem = NULL;
  if (!taken) {
    *problem = g_strdup_printf("decision %d: %s", i, clocked_refusal(clocked));
  } else if (!shows_violation(clocked, property)) {
    *problem = g_strdup("the run, executed again, violates nothing");
  } else {
    run = explained(world, clocked, property, end_ns);
  }
  clocked_free(clocked);
  return run;
}

/* The number of a property by its name, or -1. */
static int32_t property_number(const World *world, const char *name) {
  int32_t count = world_property_count(world);
  for (int32_t p = 0; p < count; p++) {
    if (strcmp(world->property_names[p], name) == 0) {
      return p;
    }
  }
  return -1;
}

bool replay_run(const Program *program, const Run *recorded, Run **replayed, char **mismatch) {
  Clocks clocks = {.suspends = (SuspendLength)recorded->suspends};
  for (int32_t l = 0; l < recorded->lane_count && l < WORLD_PROCESSES_MAX; l++) {
    clocks.rate[l] = (ClockRate)recorded->lanes[l].rate;
  }
  World *world = world_new_with(program, property_monitors, PROPERTY_COUNT, &clocks);
  Clocked *clocked = clocked_new(world, true);
  int32_t property = property_number(world, recorded->property);
  bool taken = true;
  int32_t i = 0;
  *mismatch = NULL;
  for (; i < recorded->step_count && taken; i++) {
    taken = clocked_take(clocked, recorded->steps[i].time_ns, &recorded->steps[i].action);
  }
  taken = taken && (recorded->end_ns == 0 || clocked_let_pass(clocked, recorded->end_ns));
  if (!taken) {
    *mismatch = g_strdup_printf("step %d: %s", i, clocked_refusal(clocked));
    *replayed = clocked_take_run(clocked);
  } else if (property >= 0 && shows_violation(clocked, property)) {
    *replayed = explained(world, clocked, property, recorded->end_ns);
  } else {
    *replayed = clocked_take_run(clocked);
  }
  clocked_free(clocked);
  world_free(world);
  return taken;
}
