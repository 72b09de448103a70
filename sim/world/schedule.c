#include "world/schedule.h"

#include <string.h>

#include "base/check.h"
#include "zone/differences.h"

#define NS_PER_US 1000
#define NS_PER_MS INT64_C(1000000)
#define LOOKS_MAX 1024

/* The instants are the nodes of the constraints, in ns: 0 is the beginning of time, k the k-th step, count + 1 the last
 * look. */
typedef struct Scheduler {
  Chooser chooser; /* first */
  const World *world;
  Differences constraints;
  int32_t now;
  const Action *action;
  int32_t choice;
  uint64_t look; /* the answers of the last look's comparisons, a bit each */
  int32_t look_count;
  bool looking;
  int32_t births[STATE_AGES_MAX + 2];           /* node at which each age was born */
  int64_t preferred_ns[SCHEDULE_STEPS_MAX + 2]; /* after that node's birth node; -1: as soon as may be */
  int32_t preferred_from[SCHEDULE_STEPS_MAX + 2];
} Scheduler;

static void require(Scheduler *scheduler, int32_t i, int32_t j, int64_t most_ns) {
  differences_require(&scheduler->constraints, i, j, most_ns);
}

static bool scheduled_compare(Chooser *chooser, Cell age, Reading bound, bool strict) {
  Scheduler *scheduler = (Scheduler *)chooser;
  CHECK(bound.lo_us == bound.hi_us); /* its world has clocks of known rates */
  bool below;
  if (scheduler->looking) {
    CHECK(scheduler->look_count < 64);
    below = !(scheduler->look >> scheduler->look_count++ & 1);
  } else {
    CHECK(scheduler->choice < scheduler->action->choice_count);
    below = scheduler->action->choices[scheduler->choice++] == 0;
  }
  int64_t bound_ns = bound.lo_us * NS_PER_US;
  if (below) {
    require(scheduler, scheduler->now, scheduler->births[age], bound_ns - strict);
  } else {
    require(scheduler, scheduler->births[age], scheduler->now, -bound_ns - !strict);
  }
  return below;
}

static int32_t scheduled_choose(Chooser *chooser, int32_t count) {
  Scheduler *scheduler = (Scheduler *)chooser;
  CHECK(scheduler->choice < scheduler->action->choice_count);
  int32_t answer = scheduler->action->choices[scheduler->choice++];
  CHECK(answer < count);
  return answer;
}

/* What the state demands of the next instant: nothing leaves its window, and what is overdue goes at once. */
static void require_invariants(Scheduler *scheduler, const Thing *things, int32_t count) {
  int32_t now = scheduler->now;
  require(scheduler, now - 1, now, 0);
  for (int32_t i = 0; i < count; i++) {
    const Thing *thing = &things[i];
    if (thing->overdue && !thing->withheld) {
      require(scheduler, now, now - 1, 0);
    } else if (thing->hi_us != DURATION_INFINITE && !thing->withheld && !thing->optional) {
      require(scheduler, now, scheduler->births[thing->age], thing->hi_us * NS_PER_US);
    }
  }
}

/* The thing that an action takes, or NULL: a fault. */
static const Thing *thing_of(const Thing *things, int32_t count, const Action *action) {
  for (int32_t i = 0; i < count; i++) {
    Action due = thing_action(&things[i]);
    if (action_is(&due, action)) {
      return &things[i];
    }
  }
  return NULL;
}

static void require_window(Scheduler *scheduler, const Thing *thing) {
  if (thing->overdue || thing->age == 0) {
    return;
  }
  int32_t birth = scheduler->births[thing->age];
  require(scheduler, birth, scheduler->now, -thing->lo_us * NS_PER_US - thing->after_lo);
  if (thing->hi_us != DURATION_INFINITE) {
    require(scheduler, scheduler->now, birth, thing->hi_us * NS_PER_US);
  }
  if (thing->kind == ACTION_ARRIVE && thing->hi_us != DURATION_INFINITE && !thing->optional) {
    scheduler->preferred_from[scheduler->now] = birth;
    scheduler->preferred_ns[scheduler->now] = (thing->lo_us + (thing->hi_us - thing->lo_us) / 4) * NS_PER_US;
  }
}

static void carry_births(Scheduler *scheduler, const Renaming *renaming, int32_t old_age_count) {
  int32_t births[STATE_AGES_MAX + 2] = {0};
  for (int32_t a = 1; a <= renaming->age_count; a++) {
    births[a] = renaming->ages[a] <= old_age_count ? scheduler->births[renaming->ages[a]] : scheduler->now;
  }
  memcpy(scheduler->births, births, sizeof births);
}

static bool pass(Scheduler *scheduler, State *state, const Action *action) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(scheduler->world, state, things);
  require_invariants(scheduler, things, count);
  const Thing *thing = thing_of(things, count, action);
  if (action->kind < ACTION_FAULTS) {
    if (thing == NULL || thing->withheld || thing->blocked) {
      return false;
    }
    require_window(scheduler, thing);
  }
  scheduler->action = action;
  scheduler->choice = 0;
  Step step;
  Renaming renaming;
  step_start(&step, scheduler->world, state, &scheduler->chooser);
  step_take(&step, action);
  step_settle(&step);
  names_renumber(scheduler->world, state, &renaming);
  carry_births(scheduler, &renaming, step.old_age_count);
  return step.problem.kind == PROBLEM_NONE;
}

static int64_t rounded_up(int64_t ns) {
  return (ns + NS_PER_MS - 1) / NS_PER_MS * NS_PER_MS;
}

/* In a closed system each instant may be chosen anywhere between what the earlier ones leave. */
static void choose_times(const Scheduler *scheduler, int32_t count, int64_t *times_ns) {
  int32_t nodes = scheduler->constraints.nodes;
  int64_t times[SCHEDULE_STEPS_MAX + 2] = {0};
  int64_t *at = differences_close(&scheduler->constraints);
  for (int32_t k = 1; k < nodes; k++) {
    int64_t lo = 0, hi = DIFFERENCE_UNBOUNDED;
    for (int32_t j = 0; j < k; j++) {
      int64_t least = times[j] - at[j * nodes + k];
      int64_t most = at[k * nodes + j] < DIFFERENCE_UNBOUNDED ? times[j] + at[k * nodes + j] : DIFFERENCE_UNBOUNDED;
      lo = least > lo ? least : lo;
      hi = most < hi ? most : hi;
    }
    int64_t wish = lo;
    if (scheduler->preferred_ns[k] >= 0) {
      wish = times[scheduler->preferred_from[k]] + scheduler->preferred_ns[k];
    }
    wish = wish < lo ? lo : wish > hi ? hi : wish;
    times[k] = rounded_up(wish) <= hi ? rounded_up(wish) : wish;
  }
  free(at);
  memcpy(times_ns, times + 1, ((size_t)count + 1) * sizeof *times_ns);
}

/* The next path through the last look's comparisons: behind the last "below" that becomes an "at least". False: that
 * was the last one. */
static bool next_look(Scheduler *scheduler) {
  for (int32_t i = scheduler->look_count - 1; i >= 0; i--) {
    if (!(scheduler->look >> i & 1)) {
      scheduler->look = (scheduler->look & ((UINT64_C(1) << i) - 1)) | UINT64_C(1) << i;
      return true;
    }
  }
  return false;
}

/* Adds the last look: some instant of the last state that violates the property, by one of its paths. */
static bool look_at_last_state(Scheduler *scheduler, State *state, int32_t property) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(scheduler->world, state, things);
  require_invariants(scheduler, things, count);
  bool found = property == NO_INDEX && differences_are_satisfiable(&scheduler->constraints), any = property != NO_INDEX;
  int32_t gathered = scheduler->constraints.count;
  scheduler->looking = true;
  for (int32_t looks = 0; any && looks < LOOKS_MAX && !found; looks++) {
    Step step;
    scheduler->constraints.count = gathered;
    scheduler->look_count = 0;
    step_start(&step, scheduler->world, state, &scheduler->chooser);
    found = step_state_violates(&step, property) && differences_are_satisfiable(&scheduler->constraints);
    any = next_look(scheduler);
  }
  return found;
}

/* Whether the actions can happen, and the last look: then all constraints are gathered. */
static bool gather_constraints(Scheduler *scheduler, const Action *actions, int32_t count, int32_t look_property) {
  State *state = malloc(sizeof *state);
  CHECK(state != NULL);
  memset(scheduler->preferred_ns, 0xff, sizeof scheduler->preferred_ns);
  world_initial(scheduler->world, state);
  bool possible = true;
  for (int32_t i = 0; i < count && possible; i++) {
    scheduler->now = i + 1;
    possible = pass(scheduler, state, &actions[i]);
  }
  scheduler->now = count + 1;
  possible = possible && look_at_last_state(scheduler, state, look_property);
  free(state);
  return possible;
}

ScheduleOutcome schedule_solve(const World *world, const Action *actions, int32_t count, int32_t look_property,
                               int64_t *times_ns) {
  if (count > SCHEDULE_STEPS_MAX) {
    return SCHEDULE_TOO_LONG;
  }
  Scheduler scheduler = {.chooser = {.choose = scheduled_choose, .compare = scheduled_compare},
                         .world = world,
                         .constraints = {.nodes = count + 2}};
  bool possible = gather_constraints(&scheduler, actions, count, look_property);
  if (possible && times_ns != NULL) {
    choose_times(&scheduler, count, times_ns);
  }
  differences_clear(&scheduler.constraints);
  return possible ? SCHEDULE_SOLVED : SCHEDULE_IMPOSSIBLE;
}
