#include "explore/walk.h"

#include <string.h>

#include "base/check.h"

#define NS_PER_US 1000

/* --- the constants of a model ------------------------------------------------------------------------------------ */

static void add_constant(Walk *walk, int64_t us) {
  int64_t ns = us < INT64_MAX / (4 * NS_PER_US) ? us * NS_PER_US : 0;
  for (int32_t i = 0; i < walk->constant_count; i++) {
    if (walk->constants_ns[i] == ns) {
      return;
    }
  }
  if (ns > 0 && walk->constant_count < WALK_CONSTANTS_MAX) {
    walk->constants_ns[walk->constant_count++] = ns;
  }
}

static void gather_constants(Walk *walk) {
  const Program *program = walk->world->program;
  for (int32_t d = 0; d < program->duration_count; d++) {
    add_constant(walk, program->durations_us[d]);
  }
  for (int32_t w = 0; w < program->wait_count; w++) {
    add_constant(walk, program->waits[w].lo_us);
    add_constant(walk, program->waits[w].hi_us);
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    add_constant(walk, program->latency[s].hi_us);
  }
  if (walk->constant_count == 0) {
    add_constant(walk, 1000000); /* a model without time: any scale will do */
  }
}

static int64_t random_constant(Walk *walk) {
  return walk->constants_ns[rng_below(&walk->rng, (uint64_t)walk->constant_count)];
}

/* --- instants ---------------------------------------------------------------------------------------------------- */

static int64_t clamped(int64_t instant, int64_t from, int64_t to) {
  return instant < from ? from : instant > to ? to : instant;
}

/* An end of another window, or an instant at which an age comes to one of the model's constants. */
static int64_t random_landmark(Walk *walk, const Due *due) {
  const State *state = clocked_state(walk->clocked);
  if (state->age_count > 0 && rng_one_in(&walk->rng, 2)) {
    Cell age = (Cell)rng_between(&walk->rng, 1, state->age_count);
    return walk->now_ns - clocked_age_ns(walk->clocked, age) + random_constant(walk);
  }
  const Due *other = &walk->due[rng_below(&walk->rng, (uint64_t)walk->due_count)];
  if (other == due || other->latest_ns == INT64_MAX || rng_one_in(&walk->rng, 2)) {
    return other->opens_ns;
  }
  return other->latest_ns;
}

static int64_t boundary_instant(Walk *walk, const Due *due, int64_t from, int64_t to) {
  switch (rng_below(&walk->rng, 4)) {
  case 0: return from + (int64_t)rng_below(&walk->rng, 2);
  case 1: return to - (int64_t)rng_below(&walk->rng, 2);
  case 2: return rng_between(&walk->rng, from, to);
  default: break;
  }
  for (int32_t attempt = 0; attempt < 6; attempt++) {
    int64_t instant = random_landmark(walk, due) + rng_between(&walk->rng, -1, 1);
    if (from <= instant && instant <= to) {
      return instant;
    }
  }
  return from;
}

/* A window without an upper end: a few of the model's own lengths are enough to get past everything else. */
static int64_t open_end(Walk *walk, int64_t from, Timing timing) {
  int64_t length = random_constant(walk);
  if (timing == TIMING_BOUNDARY) {
    return from + (rng_one_in(&walk->rng, 2) ? 0 : length + 1);
  }
  if (timing == TIMING_EDGE) {
    return from + length;
  }
  return from + (timing == TIMING_EARLY ? 0 : length + (int64_t)rng_below(&walk->rng, (uint64_t)length));
}

int32_t walk_whose(const World *world, const State *state, const Action *action) {
  Cell client = 0;
  if (action->kind == ACTION_ARRIVE) {
    client = state_message(&world->layout, (State *)state, action->object)[MESSAGE_CLIENT];
  }
  return client > 0 ? client - 1 : action_process(world, action);
}

bool walk_lingers(const Walk *walk, const State *state, int32_t process) {
  return walk->temper.lingers && process < walk->world->program->client_count &&
         world_is_inside(walk->world, state, process);
}

static int64_t plan(Walk *walk, const Due *due) {
  const State *state = clocked_state(walk->clocked);
  int32_t process = walk_whose(walk->world, state, &due->action);
  Timing timing = walk_lingers(walk, state, process) ? TIMING_LATE : walk->temper.timing[process];
  timing = timing == TIMING_MIXED ? (Timing)rng_below(&walk->rng, TIMING_MIXED) : timing;
  if (due->optional && rng_one_in(&walk->rng, 4)) {
    return INT64_MAX;
  }
  int64_t from = due->earliest_ns, to = due->latest_ns;
  to = to == INT64_MAX ? open_end(walk, from, timing) : to;
  to = to < from ? from : to;
  switch (timing) {
  case TIMING_EARLY: return from;
  case TIMING_EDGE: return rng_one_in(&walk->rng, 2) ? from : to;
  case TIMING_LATE: return to;
  case TIMING_BOUNDARY: return clamped(boundary_instant(walk, due, from, to), from, to);
  default: return rng_between(&walk->rng, from, to);
  }
}

/* --- what is due ------------------------------------------------------------------------------------------------- */

/* The same for as long as a thing is due, however the state around it changes: messages are known by their number. */
static uint64_t key_of(const Walk *walk, const Due *due) {
  uint64_t object = due->action.object;
  if (due->action.kind == ACTION_ARRIVE) {
    State *state = (State *)clocked_state(walk->clocked);
    object = (uint64_t)state_message(&walk->world->layout, state, due->action.object)[MESSAGE_ID];
  }
  uint64_t what = (uint64_t)due->action.kind << 56 | (uint64_t)due->action.subject << 48 |
                  (uint64_t)due->action.part << 40 | object;
  return due->action.kind == ACTION_ARRIVE ? what : rng_mix((uint64_t)due->opens_ns) ^ what;
}

static bool find_plan(const Walk *walk, uint64_t key, int64_t *planned_ns) {
  for (int32_t i = 0; i < walk->old_count; i++) {
    if (walk->old_keys[i] == key) {
      *planned_ns = walk->old_planned_ns[i];
      return true;
    }
  }
  return false;
}

static void look_at_faults(Walk *walk) {
  walk->fault_count = 0;
  if (walk->temper.strike_one_in == 0) {
    return;
  }
  int32_t count = step_faults(walk->world, clocked_state(walk->clocked), walk->faults);
  for (int32_t i = 0; i < count; i++) {
    bool is_on = walk->faults[i].object >= 64 || !(walk->temper.faults_off >> walk->faults[i].object & 1);
    if (is_on && walk_may_strike(walk, clocked_state(walk->clocked), action_process(walk->world, &walk->faults[i]))) {
      walk->faults[walk->fault_count++] = walk->faults[i];
    }
  }
}

bool walk_look(Walk *walk) {
  memcpy(walk->old_keys, walk->keys, (size_t)walk->due_count * sizeof walk->keys[0]);
  memcpy(walk->old_planned_ns, walk->planned_ns, (size_t)walk->due_count * sizeof walk->planned_ns[0]);
  walk->old_count = walk->due_count;
  walk->now_ns = clocked_now_ns(walk->clocked);
  walk->due_count = clocked_queue(walk->clocked, walk->due);
  walk->last_ns = INT64_MAX;
  for (int32_t i = 0; i < walk->due_count; i++) {
    const Due *due = &walk->due[i];
    walk->last_ns = !due->optional && due->latest_ns < walk->last_ns ? due->latest_ns : walk->last_ns;
  }
  for (int32_t i = 0; i < walk->due_count; i++) {
    const Due *due = &walk->due[i];
    walk->keys[i] = key_of(walk, due);
    if (!find_plan(walk, walk->keys[i], &walk->planned_ns[i])) {
      walk->planned_ns[i] = plan(walk, due);
    }
  }
  look_at_faults(walk);
  return walk->due_count > 0;
}

/* What is planned first; of several at one instant, any. -1: nothing is. */
static int32_t first_planned(Walk *walk, int64_t *at_ns) {
  int32_t first = -1;
  uint64_t ties = 0;
  *at_ns = INT64_MAX;
  for (int32_t i = 0; i < walk->due_count; i++) {
    const Due *due = &walk->due[i];
    if (walk->planned_ns[i] == INT64_MAX || due->earliest_ns > walk->last_ns) {
      continue;
    }
    /* What is planned for later than something else has to happen stays there, and is not first; or it happens right
     * then, so that the two meet. */
    bool meets = walk->temper.meets_deadlines && walk->last_ns < due->latest_ns;
    int64_t instant = clamped(walk->planned_ns[i], due->earliest_ns, meets ? walk->last_ns : due->latest_ns);
    ties = instant < *at_ns ? 1 : ties + (instant == *at_ns);
    if (instant < *at_ns || (instant == *at_ns && rng_below(&walk->rng, ties) == 0)) {
      *at_ns = instant;
      first = i;
    }
  }
  return first;
}

/* --- faults ------------------------------------------------------------------------------------------------------ */

/* The processes that a fault may strike, as a bit set. */
static uint64_t victims_of(const Program *program, const Fault *fault) {
  switch (fault->kind) {
  case FAULT_LATE:
  case FAULT_LOST:
  case FAULT_DUPLICATED: return (UINT64_C(1) << program->client_count) - 1; /* the clients of the messages */
  case FAULT_CUT: return fault->clients;
  case FAULT_UNORDERED:
  case FAULT_DRIFT:
  case FAULT_DOWN: return 0; /* they stand from the beginning */
  default: return fault->clients | (uint64_t)fault->servers << program->client_count;
  }
}

static void gather_victims(Walk *walk) {
  const Program *program = walk->world->program;
  uint64_t victims = 0;
  for (int32_t f = 0; f < program->fault_count; f++) {
    victims |= victims_of(program, &program->faults[f]);
  }
  for (int32_t p = 0; p < program->client_count + program->server_count; p++) {
    if (victims >> p & 1) {
      walk->victims[walk->victim_count++] = p;
    }
  }
}

static bool is_somebody_inside(const Walk *walk, const State *state) {
  for (int32_t c = 0; c < walk->world->program->client_count; c++) {
    if (world_is_inside(walk->world, state, c)) {
      return true;
    }
  }
  return false;
}

bool walk_may_strike(const Walk *walk, const State *state, int32_t process) {
  bool is_client = process < walk->world->program->client_count;
  switch (walk->temper.aim) {
  case AIM_VICTIM: return process == walk->temper.victim;
  case AIM_HOLDER: return is_client ? world_is_inside(walk->world, state, process) : is_somebody_inside(walk, state);
  case AIM_INSIDE: return is_somebody_inside(walk, state);
  default: return true;
  }
}

void walk_set_timing(Walk *walk, Timing timing) {
  for (int32_t p = 0; p < WORLD_PROCESSES_MAX; p++) {
    walk->temper.timing[p] = timing;
  }
}

void walk_draw_timings(Walk *walk) {
  int32_t count = walk->world->program->client_count + walk->world->program->server_count;
  for (int32_t p = 0; p < count; p++) {
    walk->temper.timing[p] = (Timing)rng_below(&walk->rng, TIMING_COUNT);
  }
}

void walk_vary(Walk *walk) {
  Temper *temper = &walk->temper;
  temper->length = walk->decision_max >> rng_below(&walk->rng, 4);
  temper->lingers = rng_one_in(&walk->rng, 2);
  temper->meets_deadlines = !rng_one_in(&walk->rng, 4);
  walk_draw_aim(walk);
}

void walk_draw_aim(Walk *walk) {
  Temper *temper = &walk->temper;
  temper->aim = (Aim)rng_below(&walk->rng, AIM_COUNT);
  if (walk->victim_count > 0) {
    temper->victim = walk->victims[rng_below(&walk->rng, (uint64_t)walk->victim_count)];
  }
  if (temper->aim == AIM_INSIDE || temper->aim == AIM_HOLDER) {
    temper->choice_one_in = temper->choice_one_in > 0 ? (uint32_t)rng_between(&walk->rng, 2, 5) : 0;
    temper->strike_one_in =
        temper->strike_one_in > 1 ? (uint32_t)rng_between(&walk->rng, 3, 12) : temper->strike_one_in;
  }
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

/* One of the faults; or of those that strike the process that is to act next, if there are any. */
static const Action *random_fault(Walk *walk, const Due *next) {
  const Action *chosen = NULL;
  uint64_t ties = 0;
  for (int32_t i = 0; next != NULL && i < walk->fault_count; i++) {
    bool strikes_it = walk->faults[i].subject == action_process(walk->world, &next->action);
    if (strikes_it && rng_below(&walk->rng, ++ties) == 0) {
      chosen = &walk->faults[i];
    }
  }
  return chosen != NULL ? chosen : &walk->faults[rng_below(&walk->rng, (uint64_t)walk->fault_count)];
}

bool walk_strike(Walk *walk, const Due *next, int64_t until_ns, Decision *decision) {
  if (walk->fault_count == 0 || !rng_one_in(&walk->rng, walk->temper.strike_one_in)) {
    return false;
  }
  int64_t to = until_ns == INT64_MAX ? walk->now_ns + random_constant(walk) : until_ns;
  switch (rng_below(&walk->rng, 4)) {
  case 0: *decision = (Decision){walk->now_ns, *random_fault(walk, NULL)}; break;
  case 1: *decision = (Decision){to, *random_fault(walk, next)}; break; /* right before it acts */
  default: *decision = (Decision){rng_between(&walk->rng, walk->now_ns, to), *random_fault(walk, NULL)};
  }
  return true;
}

bool walk_decide(Walk *walk, Decision *decision) {
  int64_t at_ns;
  int32_t first = first_planned(walk, &at_ns);
  const Due *next = first >= 0 ? &walk->due[first] : NULL;
  if (walk_strike(walk, next, at_ns, decision)) {
    return true;
  }
  if (next != NULL) {
    *decision = (Decision){at_ns, next->action};
  }
  return next != NULL;
}

bool walk_take(Walk *walk, const Decision *decision) {
  CHECK(walk->decision_count < walk->decision_max);
  walk->actor = walk_whose(walk->world, clocked_state(walk->clocked), &decision->action);
  bool taken = clocked_step(walk->clocked, decision->time_ns, &decision->action);
  walk->decisions[walk->decision_count++] = (Decision){decision->time_ns, *clocked_taken(walk->clocked)};
  return taken;
}

int32_t walk_choose(Walk *walk, int32_t count, bool by_model) {
  if (by_model) {
    return (int32_t)rng_below(&walk->rng, (uint64_t)count);
  }
  bool strikes = walk->temper.choice_one_in > 0 && walk_may_strike(walk, clocked_state(walk->clocked), walk->actor) &&
                 rng_one_in(&walk->rng, walk->temper.choice_one_in);
  if (!strikes) {
    return 0;
  }
  return (int32_t)rng_between(&walk->rng, 1, count - 1);
}

static int32_t choose(void *user, int32_t count, bool by_model) {
  return walk_choose(user, count, by_model);
}

Walk *walk_new(const World *world, int32_t decision_max) {
  Walk *walk = calloc(1, sizeof *walk);
  CHECK(walk != NULL);
  walk->world = world;
  walk->clocked = clocked_new(world, false);
  walk->decision_max = decision_max;
  walk->decisions = calloc((size_t)decision_max, sizeof(Decision));
  CHECK(walk->decisions != NULL);
  clocked_set_oracle(walk->clocked, choose, walk);
  gather_constants(walk);
  gather_victims(walk);
  return walk;
}

void walk_free(Walk *walk) {
  if (walk != NULL) {
    clocked_free(walk->clocked);
    free(walk->decisions);
    free(walk);
  }
}

void walk_begin(Walk *walk, uint64_t seed) {
  walk->rng = rng_new(seed);
  walk->decision_count = walk->due_count = 0;
  walk->look_ns = 0;
  walk->temper = (Temper){0};
  clocked_reset(walk->clocked);
}
