#include "world/timed.h"

#include <string.h>

#include "base/check.h"
#include "zone/dbm.h"

/* The answers of one step so far, and what else could have been answered: the choices of a step form a tree, which is
 * walked depth first by taking the step again from its beginning with the next script. */
typedef struct Script {
  uint8_t choices[ACTION_CHOICES_MAX];
  uint64_t untried[ACTION_CHOICES_MAX]; /* bit set */
  int32_t count, position;
  bool overflow;
} Script;

#define ZONE_WORDS_MAX (DBM_DIM_MAX * DBM_DIM_MAX)

struct Timed {
  Chooser chooser; /* first: the step hands it back to us */
  const World *world;
  int64_t unit_us;
  bool symmetric;
  Script script;
  State base, work, permuted, best;
  int32_t dim;                /* of the zone that the step runs in */
  Bound zone[ZONE_WORDS_MAX]; /* before the step, with what its comparisons have ruled out */
  Bound arrived[ZONE_WORDS_MAX];
  Bound represented[ZONE_WORDS_MAX];
  uint8_t *key, *other_key, *represented_key;
  int32_t age_source[STATE_AGES_MAX + 1];
};

/* --- scripts -------------------------------------------------------------------------------------------------------- */

static int32_t script_answer(Script *script, uint64_t options) {
  if (script->position < script->count) {
    return script->choices[script->position++];
  }
  if (script->count == ACTION_CHOICES_MAX) {
    script->overflow = true;
    return __builtin_ctzll(options);
  }
  int32_t first = __builtin_ctzll(options);
  script->choices[script->count] = (uint8_t)first;
  script->untried[script->count] = options & ~(UINT64_C(1) << first);
  script->count++;
  script->position++;
  return first;
}

/* To the next leaf of the tree; false when there is none. */
static bool script_advance(Script *script) {
  while (script->count > 0 && script->untried[script->count - 1] == 0) {
    script->count--;
  }
  if (script->count == 0) {
    return false;
  }
  uint64_t *untried = &script->untried[script->count - 1];
  int32_t next = __builtin_ctzll(*untried);
  script->choices[script->count - 1] = (uint8_t)next;
  *untried &= *untried - 1;
  return true;
}

static int32_t timed_choose(Chooser *chooser, int32_t count) {
  Timed *timed = (Timed *)chooser;
  return script_answer(&timed->script, (UINT64_C(1) << count) - 1);
}

static int32_t in_units(const Timed *timed, int64_t us) { return (int32_t)(us / timed->unit_us); }

static bool timed_compare(Chooser *chooser, Cell age, int64_t bound_us, bool strict) {
  Timed *timed = (Timed *)chooser;
  int32_t units = in_units(timed, bound_us);
  Bound below = strict ? bound_below(units) : bound_at_most(units);
  Bound above = bound_negate(below);
  uint64_t options = (dbm_satisfies_some(timed->zone, timed->dim, age, 0, below) ? 1u : 0u) |
                     (dbm_satisfies_some(timed->zone, timed->dim, 0, age, above) ? 2u : 0u);
  int32_t answer = script_answer(&timed->script, options);
  bool left = answer == 0 ? dbm_constrain(timed->zone, timed->dim, age, 0, below)
                          : dbm_constrain(timed->zone, timed->dim, 0, age, above);
  CHECK(left);
  return answer == 0;
}

/* --- invariants and extrapolation ----------------------------------------------------------------------------------- */

static bool has_invariant(const Thing *thing) {
  return thing->hi_us != DURATION_INFINITE && !thing->withheld && !thing->overdue && !thing->optional;
}

static bool forbids_delay(const Thing *thing) { return thing->overdue && !thing->withheld; }

/* Intersects with the invariant of a state. It must never rule out a whole zone: what is past its window is overdue. */
static void assert_invariants(const Timed *timed, const Thing *things, int32_t count, Bound *zone, int32_t dim) {
  for (int32_t i = 0; i < count; i++) {
    if (has_invariant(&things[i])) {
      bool left = dbm_constrain(zone, dim, things[i].age, 0, bound_at_most(in_units(timed, things[i].hi_us)));
      CHECK(left);
    }
  }
}

/* Debug builds: on arrival every point of the zone satisfies the invariants already; nothing is cut away. */
static void check_invariants_hold(const Timed *timed, const Thing *things, int32_t count, const Bound *zone,
                                  int32_t dim) {
  for (int32_t i = 0; i < count; i++) {
    DCHECK(!has_invariant(&things[i]) ||
           dbm_satisfies_all(zone, dim, things[i].age, 0, bound_at_most(in_units(timed, things[i].hi_us))));
  }
  (void)timed, (void)things, (void)count, (void)zone, (void)dim;
}

typedef struct AgeBounds {
  int32_t lower[DBM_DIM_MAX], upper[DBM_DIM_MAX];
} AgeBounds;

static void raise_to(int32_t *bound, int64_t units) { *bound = units > *bound ? (int32_t)units : *bound; }

/* How far later clock steps may still move the wall clock of a process back: a comparison may come that much later. */
static int64_t steps_back_us(const World *world, const State *state, int32_t process) {
  const Program *program = world->program;
  int64_t back = 0;
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    bool its = process < program->client_count ? fault->clients >> process & 1
                                               : fault->servers >> (process - program->client_count) & 1;
    if (fault->kind == FAULT_STEP && its && fault->by_us < 0) {
      back -= fault->by_us * world_budget(world, state, f);
    }
  }
  return back;
}

static bool may_pause(const World *world, const State *state, int32_t client) {
  for (int32_t f = 0; f < world->program->fault_count; f++) {
    const Fault *fault = &world->program->faults[f];
    if (fault->kind == FAULT_PAUSE && fault->clients >> client & 1 && world_budget(world, state, f) > 0) {
      return true;
    }
  }
  return false;
}

static void bound_thing(const Timed *timed, const State *state, const Thing *thing, AgeBounds *bounds) {
  const World *world = timed->world;
  int64_t lo = thing->lo_us, hi = thing->hi_us;
  bool may_be_past = thing->withheld;
  if (thing->kind == ACTION_FIRE) {
    int64_t back = steps_back_us(world, state, world->program->client_count + thing->subject);
    lo += back;
    hi += back;
    may_be_past = true;
  } else if (thing->kind == ACTION_WAKE && thing->object > 0) {
    may_be_past = true; /* a stamp: compared both ways */
  } else if (thing->subject < world->program->client_count) {
    may_be_past |= may_pause(world, state, thing->subject);
  }
  if (lo > 0 || thing->after_lo) {
    raise_to(&bounds->lower[thing->age], in_units(timed, lo));
  }
  if (hi != DURATION_INFINITE) {
    raise_to(&bounds->upper[thing->age], in_units(timed, hi));
    if (may_be_past) {
      raise_to(&bounds->lower[thing->age], in_units(timed, hi));
    }
  }
}

static void bound_stamps(const Timed *timed, State *state, AgeBounds *bounds) {
  const World *world = timed->world;
  for (int32_t c = 0; c < world->program->client_count; c++) {
    const ClientKind *kind = world_kind(world, c);
    for (int32_t v = 0; v < kind->variable_count; v++) {
      int64_t bound_us = world->stamp_bound_us[world->program->client_kind[c]][v];
      if (kind->variables[v].type.sort != SORT_STAMP || bound_us < 0) {
        continue;
      }
      const Cell *stamp = world_client_variable(world, state, c, v);
      if (kind->variables[v].type.on_wall) {
        bound_us += steps_back_us(world, state, c) - stamp[1];
      }
      if (stamp[0] != 0 && bound_us >= 0) {
        raise_to(&bounds->lower[stamp[0]], in_units(timed, bound_us));
        raise_to(&bounds->upper[stamp[0]], in_units(timed, bound_us));
      }
    }
  }
}

static void extrapolate(const Timed *timed, State *state, const Thing *things, int32_t count, Bound *zone) {
  AgeBounds bounds;
  int32_t dim = state->age_count + 1;
  for (int32_t i = 0; i < dim; i++) {
    bounds.lower[i] = bounds.upper[i] = -1;
  }
  for (int32_t i = 0; i < count; i++) {
    if (things[i].age != 0) {
      bound_thing(timed, state, &things[i], &bounds);
    }
  }
  bound_stamps(timed, state, &bounds);
  dbm_extrapolate(zone, dim, bounds.lower, bounds.upper);
}

/* From the instant of arrival to all later ones: time passes within the invariants. */
static void let_time_pass(const Timed *timed, State *state, Bound *zone) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(timed->world, state, things);
  int32_t dim = state->age_count + 1;
  bool urgent = false;
  for (int32_t i = 0; i < count; i++) {
    urgent |= forbids_delay(&things[i]);
  }
  check_invariants_hold(timed, things, count, zone, dim);
  if (!urgent) {
    dbm_delay(zone, dim);
    assert_invariants(timed, things, count, zone, dim);
  }
  extrapolate(timed, state, things, count, zone);
}

/* --- representatives ------------------------------------------------------------------------------------------------ */

/* Renames `state` (its names not yet renumbered) to its representative and packs it: the smallest key of its class.
 * Leaves the renamed state in timed->best; age_source[new] is the old age. */
static uint32_t make_key(Timed *timed, const State *state, bool canonical, uint8_t *key, int32_t *age_source) {
  static int32_t permutations[NAMES_PERMUTATIONS_MAX][PROGRAM_CLIENTS_MAX];
  const World *world = timed->world;
  int32_t count = canonical ? names_permutations(world, state, permutations) : 1;
  uint32_t best_bytes = 0;
  for (int32_t p = 0; p < count; p++) {
    Renaming renaming;
    if (canonical) {
      names_permute(world, &timed->permuted, state, permutations[p]);
      names_sort_messages(world, &timed->permuted);
    } else {
      state_copy(&world->layout, &timed->permuted, state);
    }
    names_renumber(world, &timed->permuted, &renaming);
    uint8_t *into = p == 0 ? key : timed->other_key;
    uint32_t bytes = state_pack(&world->layout, &timed->permuted, into);
    if (p > 0 && (bytes > best_bytes || (bytes == best_bytes && memcmp(into, key, bytes) >= 0))) {
      continue;
    }
    if (p > 0) {
      memcpy(key, into, bytes);
    }
    best_bytes = bytes;
    state_copy(&world->layout, &timed->best, &timed->permuted);
    for (int32_t a = 1; a <= renaming.age_count; a++) {
      age_source[a] = renaming.ages[a];
    }
  }
  return best_bytes;
}

uint32_t timed_key(Timed *timed, const State *state, bool symmetric, uint8_t *key,
                   int32_t age_source[STATE_AGES_MAX + 1]) {
  return make_key(timed, state, symmetric, key, age_source);
}

/* Whether no other order of the clients is worth trying: a state whose names are renumbered is its own representative. */
static bool is_only_itself(const Timed *timed, const State *state) {
  int32_t permutations[NAMES_PERMUTATIONS_MAX][PROGRAM_CLIENTS_MAX];
  int32_t count = names_permutations(timed->world, state, permutations);
  for (int32_t c = 0; count == 1 && c < timed->world->program->client_count; c++) {
    count += permutations[0][c] != c;
  }
  return count == 1;
}

static SystemState timed_representative(void *self, SystemState state) {
  Timed *timed = self;
  int32_t source[STATE_AGES_MAX + 1] = {0};
  state_unpack(&timed->world->layout, state.key, &timed->work);
  int32_t dim = timed->work.age_count + 1;
  if (is_only_itself(timed, &timed->work)) {
    return state;
  }
  uint32_t bytes = make_key(timed, &timed->work, true, timed->represented_key, source);
  int32_t new_dim = timed->best.age_count + 1;
  dbm_project(timed->represented, new_dim, state.zone, dim, source);
  return (SystemState){timed->represented_key, bytes, timed->represented, (uint32_t)(new_dim * new_dim)};
}

/* --- successors ----------------------------------------------------------------------------------------------------- */

typedef struct Emission {
  bool canonical;
  SuccessorSink sink;
  void *user;
} Emission;

static void note_problem(const World *world, Problem problem) {
  Seen *seen = world->seen;
  for (int32_t i = 0; i < seen->problem_count; i++) {
    if (seen->problems[i].kind == problem.kind && seen->problems[i].pc == problem.pc) {
      return;
    }
  }
  if (seen->problem_count < WORLD_PROBLEMS_MAX) {
    seen->problems[seen->problem_count++] = problem;
  }
}

/* Hands out the state in timed->work, whose ages up to old_age_count are those of timed->zone, and 0 beyond. */
static void emit(Timed *timed, const Action *action, const Step *step, const Emission *emission) {
  const World *world = timed->world;
  uint32_t bytes =
      make_key(timed, &timed->work, emission->canonical && timed->symmetric, timed->key, timed->age_source);
  int32_t dim = timed->best.age_count + 1;
  int32_t source[STATE_AGES_MAX + 1] = {0};
  for (int32_t a = 1; a < dim; a++) {
    source[a] = timed->age_source[a] < timed->dim ? timed->age_source[a] : -1;
  }
  dbm_rearrange(timed->arrived, dim, timed->zone, timed->dim, source);
  let_time_pass(timed, &timed->best, timed->arrived);
  Successor successor = {.state = {timed->key, bytes, timed->arrived, (uint32_t)(dim * dim)},
                         .action = *action,
                         .faults = step->faults,
                         .steps = step->steps,
                         .violated = step->violated};
  successor.action.choice_count = (uint8_t)timed->script.count;
  memcpy(successor.action.choices, timed->script.choices, (size_t)timed->script.count);
  (void)world;
  emission->sink(emission->user, &successor);
}

/* Takes an action in all the ways that `zone` leaves. */
static void take_all(Timed *timed, const Action *action, const Bound *zone, const Emission *emission) {
  size_t zone_bytes = sizeof(Bound) * (size_t)timed->dim * (size_t)timed->dim;
  timed->script = (Script){0};
  do {
    Step step;
    timed->script.position = 0;
    state_copy(&timed->world->layout, &timed->work, &timed->base);
    memcpy(timed->zone, zone, zone_bytes);
    step_start(&step, timed->world, &timed->work, &timed->chooser);
    step_take(&step, action);
    if (timed->script.overflow) {
      step_fail(&step, PROBLEM_ENDLESS, -1);
    }
    if (step.problem.kind != PROBLEM_NONE) {
      note_problem(timed->world, step.problem);
      continue;
    }
    step_settle(&step);
    emit(timed, action, &step, emission);
  } while (script_advance(&timed->script));
}

/* The zone of a state within its invariants, which extrapolation may have widened. */
static int32_t enter_state(Timed *timed, SystemState state, Bound *zone, Thing *things) {
  state_unpack(&timed->world->layout, state.key, &timed->base);
  timed->dim = timed->base.age_count + 1;
  memcpy(zone, state.zone, state.zone_words * sizeof(Bound));
  int32_t count = step_things(timed->world, &timed->base, things);
  assert_invariants(timed, things, count, zone, timed->dim);
  return count;
}

/* Whether the window has come for some point of the zone, which is cut to those points. */
static bool window_has_come(const Timed *timed, const Thing *thing, Bound *zone) {
  if (thing->withheld || thing->blocked) {
    return false;
  }
  if (thing->overdue || thing->age == 0) {
    return true;
  }
  int32_t lo = in_units(timed, thing->lo_us);
  Bound from = thing->after_lo ? bound_below(-lo) : bound_at_most(-lo);
  if (!dbm_constrain(zone, timed->dim, 0, thing->age, from)) {
    return false;
  }
  return thing->hi_us == DURATION_INFINITE ||
         dbm_constrain(zone, timed->dim, thing->age, 0, bound_at_most(in_units(timed, thing->hi_us)));
}

static void timed_successors(void *self, SystemState state, bool canonical, SuccessorSink sink, void *user) {
  Timed *timed = self;
  Emission emission = {canonical, sink, user};
  Thing things[THINGS_MAX];
  Action faults[FAULT_ACTIONS_MAX];
  Bound zone[ZONE_WORDS_MAX], guarded[ZONE_WORDS_MAX];
  int32_t count = enter_state(timed, state, zone, things);
  for (int32_t i = 0; i < count; i++) {
    memcpy(guarded, zone, state.zone_words * sizeof(Bound));
    if (window_has_come(timed, &things[i], guarded)) {
      Action action = {.kind = (uint8_t)things[i].kind,
                       .subject = (uint8_t)things[i].subject,
                       .object = (uint8_t)things[i].object};
      take_all(timed, &action, guarded, &emission);
    }
  }
  int32_t fault_count = step_faults(timed->world, &timed->base, faults);
  for (int32_t i = 0; i < fault_count; i++) {
    take_all(timed, &faults[i], zone, &emission);
  }
}

static void timed_initial(void *self, bool canonical, SuccessorSink sink, void *user) {
  Timed *timed = self;
  Emission emission = {canonical, sink, user};
  Step step;
  world_initial(timed->world, &timed->work);
  timed->dim = timed->work.age_count + 1;
  dbm_zero(timed->zone, timed->dim);
  timed->script = (Script){0};
  step_start(&step, timed->world, &timed->work, &timed->chooser);
  step.steps = 0;
  step_settle(&step);
  emit(timed, &(Action){0}, &step, &emission);
}

/* --- properties of states ------------------------------------------------------------------------------------------- */

static bool never_may_hold(Timed *timed, int32_t never, const Bound *zone) {
  size_t zone_bytes = sizeof(Bound) * (size_t)timed->dim * (size_t)timed->dim;
  timed->script = (Script){0};
  do {
    Step step;
    timed->script.position = 0;
    memcpy(timed->zone, zone, zone_bytes);
    step_start(&step, timed->world, &timed->base, &timed->chooser);
    if (vm_evaluate(&step, timed->world->program->nevers[never].entry)) {
      return true;
    }
    if (step.problem.kind != PROBLEM_NONE || timed->script.overflow) {
      note_problem(timed->world, step.problem.kind != PROBLEM_NONE ? step.problem : (Problem){PROBLEM_ENDLESS, -1});
    }
  } while (script_advance(&timed->script));
  return false;
}

static uint64_t timed_violations(void *self, SystemState state) {
  Timed *timed = self;
  const World *world = timed->world;
  Thing things[THINGS_MAX];
  Bound zone[ZONE_WORDS_MAX];
  uint64_t violated = 0;
  enter_state(timed, state, zone, things);
  for (int32_t m = 0; m < world->monitor_count; m++) {
    if (world->monitors[m]->violated_by != NULL && world->monitors[m]->violated_by(world, &timed->base)) {
      violated |= UINT64_C(1) << m;
    }
  }
  for (int32_t n = 0; n < world->program->never_count; n++) {
    violated |= never_may_hold(timed, n, zone) ? world_never_bit(world, n) : 0;
  }
  return violated;
}

static bool timed_may_delay(void *self, SystemState state) {
  Timed *timed = self;
  Thing things[THINGS_MAX];
  Bound zone[ZONE_WORDS_MAX];
  int32_t count = enter_state(timed, state, zone, things);
  for (int32_t i = 0; i < count; i++) {
    if (forbids_delay(&things[i])) {
      return false;
    }
    if (has_invariant(&things[i]) &&
        !dbm_constrain(zone, timed->dim, things[i].age, 0, bound_below(in_units(timed, things[i].hi_us)))) {
      return false;
    }
  }
  return true;
}

/* --- zones ---------------------------------------------------------------------------------------------------------- */

static int zone_dim(SystemState state) { return packed_age_count(state.key) + 1; }

static bool timed_covers(void *self, SystemState outer, const int32_t *inner) {
  (void)self;
  return dbm_includes(outer.zone, inner, zone_dim(outer));
}

static bool timed_join(void *self, SystemState state, int32_t *zone, const int32_t *other) {
  (void)self;
  return dbm_hull(zone, other, zone_dim(state));
}

static bool timed_merge(void *self, SystemState state, int32_t *zone, const int32_t *other) {
  (void)self;
  return dbm_merge_exact(zone, other, zone_dim(state));
}

System timed_system(Timed *timed, bool symmetric) {
  timed->symmetric = symmetric;
  return (System){.self = timed,
                  .initial = timed_initial,
                  .successors = timed_successors,
                  .representative = symmetric ? timed_representative : NULL,
                  .violations = timed_violations,
                  .may_delay = timed_may_delay,
                  .covers = timed_covers,
                  .join = timed_join,
                  .merge = timed_merge};
}

/* --- the unit of time ------------------------------------------------------------------------------------------------ */

typedef struct Constants {
  int64_t divisor, largest;
} Constants;

static void add_constant(Constants *constants, int64_t us) {
  if (us == DURATION_INFINITE) {
    return;
  }
  int64_t a = us < 0 ? -us : us, b = constants->divisor;
  constants->largest = a > constants->largest ? a : constants->largest;
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  constants->divisor = a;
}

static Constants program_constants(const Program *program) {
  Constants constants = {0, 0};
  for (int32_t i = 0; i < program->duration_count; i++) {
    add_constant(&constants, program->durations_us[i]);
  }
  for (int32_t i = 0; i < program->wait_count; i++) {
    add_constant(&constants, program->waits[i].lo_us);
    add_constant(&constants, program->waits[i].hi_us);
  }
  for (int32_t i = 0; i < program->server_count; i++) {
    add_constant(&constants, program->latency[i].lo_us);
    add_constant(&constants, program->latency[i].hi_us);
  }
  add_constant(&constants, program->client_starts.lo_us);
  add_constant(&constants, program->client_starts.hi_us);
  for (int32_t i = 0; i < program->fault_count; i++) {
    const Fault *fault = &program->faults[i];
    add_constant(&constants, fault->lo_us);
    add_constant(&constants, fault->hi_us);
    int64_t count = fault->count == COUNT_INFINITE ? 1 : fault->count;
    add_constant(&constants, fault->kind == FAULT_STEP ? fault->by_us * count : 0);
    add_constant(&constants, fault->kind == FAULT_STEP ? fault->by_us : 0);
  }
  return constants;
}

Timed *timed_new(const World *world, int64_t *too_large_us) {
  Constants constants = program_constants(world->program);
  int64_t unit_us = constants.divisor > 0 ? constants.divisor : 1;
  if (constants.largest / unit_us > BOUND_VALUE_MAX / 4) {
    *too_large_us = constants.largest;
    return NULL;
  }
  Timed *timed = calloc(1, sizeof *timed);
  CHECK(timed != NULL);
  uint32_t key_bytes = layout_packed_max(&world->layout);
  timed->chooser = (Chooser){timed_choose, timed_compare};
  timed->world = world;
  timed->unit_us = unit_us;
  timed->key = malloc(key_bytes);
  timed->other_key = malloc(key_bytes);
  timed->represented_key = malloc(key_bytes);
  CHECK(timed->key != NULL && timed->other_key != NULL && timed->represented_key != NULL);
  return timed;
}

void timed_free(Timed *timed) {
  if (timed != NULL) {
    free(timed->key);
    free(timed->other_key);
    free(timed->represented_key);
    free(timed);
  }
}

int64_t timed_unit_us(const Timed *timed) { return timed->unit_us; }
