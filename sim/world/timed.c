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
  Permutation permutations[NAMES_PERMUTATIONS_MAX];
  int64_t offsets_us;         /* the most that wall clocks may be apart */
  int32_t dim;                /* of the zone that the step runs in */
  Bound zone[ZONE_WORDS_MAX]; /* before the step, with what its comparisons have ruled out */
  Bound arrived[ZONE_WORDS_MAX];
  Bound represented[ZONE_WORDS_MAX];
  uint8_t *key, *other_key, *represented_key;
  int32_t age_source[STATE_AGES_MAX + 1];
};

/* --- scripts ----------------------------------------------------------------------------------------------------- */

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

static int32_t in_units(const Timed *timed, int64_t us) {
  return (int32_t)(us / timed->unit_us);
}

static Bound bound_of(const Timed *timed, int64_t us, bool strict) {
  return strict ? bound_below(in_units(timed, us)) : bound_at_most(in_units(timed, us));
}

/* Below the latest reading it may be yes, from the earliest one on it may be no. */
static bool timed_compare(Chooser *chooser, Cell age, Reading bound, bool strict) {
  Timed *timed = (Timed *)chooser;
  bool always_yes = bound.hi_us == DURATION_INFINITE;
  Bound below = always_yes ? BOUND_INFINITY : bound_of(timed, bound.hi_us, strict);
  Bound above = bound_negate(bound_of(timed, bound.lo_us, strict));
  uint64_t options = (always_yes || dbm_satisfies_some(timed->zone, timed->dim, age, 0, below) ? 1u : 0u) |
                     (dbm_satisfies_some(timed->zone, timed->dim, 0, age, above) ? 2u : 0u);
  int32_t answer = script_answer(&timed->script, options);
  bool left = answer == 1  ? dbm_constrain(timed->zone, timed->dim, 0, age, above)
              : always_yes ? true
                           : dbm_constrain(timed->zone, timed->dim, age, 0, below);
  CHECK(left);
  return answer == 0;
}

/* --- invariants and extrapolation -------------------------------------------------------------------------------- */

static bool has_invariant(const Thing *thing) {
  return thing->hi_us != DURATION_INFINITE && !thing->withheld && !thing->overdue && !thing->optional;
}

static bool forbids_delay(const Thing *thing) {
  return thing->overdue && !thing->withheld;
}

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

static void raise_to(int32_t *bound, int64_t units) {
  *bound = units > *bound ? (int32_t)units : *bound;
}

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

static bool may_pause(const World *world, const State *state, int32_t process) {
  int32_t clients = world->program->client_count;
  for (int32_t f = 0; f < world->program->fault_count; f++) {
    const Fault *fault = &world->program->faults[f];
    bool its = process < clients ? fault->clients >> process & 1 : fault->servers >> (process - clients) & 1;
    bool stops = fault_is_pause(fault) || fault->kind == FAULT_CRASH_SERVER;
    if (stops && its && world_budget(world, state, f) > 0) {
      return true;
    }
  }
  return false;
}

/* How much the monotonic clock of a client may still fall behind: comparisons may come that much later. */
static int64_t suspends_us(const World *world, const State *state, int32_t client) {
  int64_t behind = 0;
  for (int32_t f = 0; f < world->program->fault_count; f++) {
    const Fault *fault = &world->program->faults[f];
    if (fault->kind == FAULT_SUSPEND && fault->clients >> client & 1) {
      Window length = world_suspend_window(world, f);
      Cell under = state->cells[world->layout.client_cell[client] + CLIENT_FAULT];
      int64_t most = length.hi_us == DURATION_INFINITE ? length.lo_us : length.hi_us;
      behind += most * ((int64_t)world_budget(world, state, f) + (under == f + 1));
    }
  }
  return behind;
}

/* Whether the message may come to wait behind one that a cut holds up (HELD_UP_BEHIND). */
static bool may_wait_behind(const World *world, const State *state, const Thing *thing) {
  if (thing->kind != ACTION_ARRIVE || thing->lo_us == 0 || world->is_unordered) {
    return false;
  }
  Cell client = state_message(&world->layout, (State *)state, thing->object)[MESSAGE_CLIENT];
  return client > 0 && world_has_cuts(world, client - 1);
}

static void bound_thing(const Timed *timed, const State *state, const Thing *thing, AgeBounds *bounds) {
  const World *world = timed->world;
  int64_t lo = thing->lo_us, hi = thing->hi_us;
  Action action = thing_action(thing);
  int32_t process = action_process(world, &action);
  bool may_be_past = thing->withheld || may_pause(world, state, process) || may_wait_behind(world, state, thing);
  if (thing->kind == ACTION_FIRE) {
    int64_t back = world_reading(world, process, steps_back_us(world, state, process), 0, 0).hi_us;
    lo += back;
    hi += back;
    may_be_past = true;
  } else if (thing->kind == ACTION_WAKE || thing->kind == ACTION_TIMEOUT) {
    int64_t behind = suspends_us(world, state, process);
    may_be_past |= thing->object > 0; /* a stamp: compared both ways */
    lo += behind;
    hi += hi == DURATION_INFINITE ? 0 : behind;
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

/* A comparison with `bound_us` on the clock of a process (-1: true time), both ways. */
static void bound_stamp(const Timed *timed, const State *state, int32_t process, int64_t bound_us, const Cell *stamp,
                        AgeBounds *bounds) {
  const World *world = timed->world;
  int64_t back = process >= 0 ? steps_back_us(world, state, process) : 0;
  int64_t most = bound_us + back - stamp[STAMP_SHIFT] + timed->offsets_us; /* it may travel to a clock so far behind */
  int64_t least = bound_us - stamp[STAMP_SHIFT];
  if (stamp[STAMP_AGE] == 0 || bound_us < 0 || most < 0) {
    return;
  }
  int64_t hi_us = most, lo_us = least;
  if (process >= 0) {
    Reading latest = world_reading(world, process, most, stamp[STAMP_BEHIND_LO], stamp[STAMP_BEHIND_HI]);
    bool is_client = process < world->program->client_count;
    hi_us = latest.hi_us == DURATION_INFINITE ? latest.lo_us : latest.hi_us;
    hi_us += is_client ? suspends_us(world, state, process) : 0;
    lo_us = latest.lo_us;
  }
  int64_t bound = hi_us > lo_us ? hi_us : lo_us;
  raise_to(&bounds->lower[stamp[STAMP_AGE]], in_units(timed, bound));
  raise_to(&bounds->upper[stamp[STAMP_AGE]], in_units(timed, bound));
}

static void bound_variables(const Timed *timed, State *state, int32_t process, const Variable *variables, int32_t count,
                            const int64_t *bound_us, Cell *cells, AgeBounds *bounds) {
  for (int32_t v = 0; v < count; v++) {
    for (int32_t e = 0; e < variables[v].extent.count && variables[v].type.sort == SORT_STAMP; e++) {
      bound_stamp(timed, state, process, bound_us[v], cells + e * STAMP_CELLS, bounds);
    }
    cells += world_variable_cells(&variables[v]);
  }
}

/* A stamp that travels may come to be compared on any clock: the latest of all readings. */
static void bound_travelling(const Timed *timed, const State *state, Cell age, AgeBounds *bounds) {
  const World *world = timed->world;
  int64_t bound_us = world->all_stamps_bound_us;
  int32_t count = world->program->client_count + world->program->server_count;
  for (int32_t p = 0; p < count && bound_us >= 0; p++) {
    Cell stamp[STAMP_CELLS] = {[STAMP_AGE] = age};
    bound_stamp(timed, state, p, bound_us, stamp, bounds);
  }
}

static void bound_messages(const Timed *timed, State *state, AgeBounds *bounds) {
  const Layout *layout = &timed->world->layout;
  for (int32_t m = 0; m < state->message_count; m++) {
    const Cell *record = state_message(layout, state, m);
    for (int32_t i = 0; i < layout->value_count; i++) {
      const Cell *value = &record[MESSAGE_VALUES + VALUE_CELLS * i];
      if (value[0] == SORT_STAMP && value[1] != 0) {
        bound_travelling(timed, state, value[1], bounds);
      }
    }
  }
}

/* The timers of a durable copy may be those of the server again. */
static void bound_copy(const Timed *timed, State *state, int32_t server, AgeBounds *bounds) {
  const World *world = timed->world;
  int32_t copy = world->layout.server_copy[server], process = world->program->client_count + server;
  if (copy == NO_INDEX) {
    return;
  }
  const Service *service = world_service(world, server);
  Cell *cells = state_server(&world->layout, state, server) + copy;
  bound_variables(timed, state, process, service->variables, service->variable_count,
                  world->server_stamp_bound_us[world_service_index(world, server)], cells, bounds);
  for (int32_t v = 0; v < service->variable_count; v++) {
    cells += world_variable_cells(&service->variables[v]);
  }
  int32_t slots = world_timer_slots(service);
  for (int32_t t = 0; t < slots; t++, cells += TIMER_CELLS) {
    if (cells[TIMER_DURATION]) {
      Cell stamp[STAMP_CELLS] = {[STAMP_AGE] = cells[TIMER_AGE], [STAMP_SHIFT] = cells[TIMER_SHIFT]};
      bound_stamp(timed, state, process, world->program->durations_us[cells[TIMER_DURATION] - 1], stamp, bounds);
    }
  }
}

static void bound_stamps(const Timed *timed, State *state, AgeBounds *bounds) {
  const World *world = timed->world;
  const Program *program = world->program;
  for (int32_t c = 0; c < program->client_count; c++) {
    const ClientKind *kind = world_kind(world, c);
    if (kind->variable_count > 0) {
      bound_variables(timed, state, c, kind->variables, kind->variable_count,
                      world->stamp_bound_us[program->client_kind[c]], world_client_variable(world, state, c, 0),
                      bounds);
    }
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    const Service *service = world_service(world, s);
    if (service->variable_count > 0) {
      bound_variables(timed, state, program->client_count + s, service->variables, service->variable_count,
                      world->server_stamp_bound_us[world_service_index(world, s)],
                      world_server_variable(world, state, s, 0), bounds);
    }
    bound_copy(timed, state, s, bounds);
  }
  for (int32_t g = 0; g < program->ghost_count; g++) {
    bound_variables(timed, state, -1, &program->ghosts[g], 1, &world->all_stamps_bound_us,
                    world_ghost_variable(world, state, g), bounds);
  }
  for (int32_t o = 0; o < program->obtainable_count; o++) {
    Cell stamp[STAMP_CELLS] = {[STAMP_AGE] = state->cells[world->layout.obtainable_cell + o]};
    bound_stamp(timed, state, -1, program->obtainables[o].within_us, stamp, bounds);
  }
  if (world->stamps_travel) {
    bound_messages(timed, state, bounds);
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

/* --- representatives --------------------------------------------------------------------------------------------- */

/* Renames `state` (its names not yet renumbered) to its representative and packs it: the smallest key of its class.
 * Leaves the renamed state in timed->best; age_source[new] is the old age. */
static uint32_t make_key(Timed *timed, const State *state, bool canonical, uint8_t *key, int32_t *age_source) {
  Permutation *permutations = timed->permutations;
  const World *world = timed->world;
  int32_t count = canonical ? names_permutations(world, state, permutations) : 1;
  uint32_t best_bytes = 0;
  for (int32_t p = 0; p < count; p++) {
    Renaming renaming;
    if (canonical) {
      names_permute(world, &timed->permuted, state, &permutations[p]);
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

/* Whether no other order of the processes is worth trying: a state whose names are renumbered is its own
 * representative. */
static bool is_only_itself(Timed *timed, const State *state) {
  const Program *program = timed->world->program;
  int32_t count = names_permutations(timed->world, state, timed->permutations);
  bool moves = count > 1;
  for (int32_t c = 0; c < program->client_count; c++) {
    moves |= timed->permutations[0].to_client[c] != c;
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    moves |= timed->permutations[0].to_server[s] != s;
  }
  return !moves;
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

/* --- successors -------------------------------------------------------------------------------------------------- */

typedef struct Emission {
  bool canonical;
  bool stateless; /* successors without states */
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

/* The transition that has been taken in timed->work, without the state that it leads to. */
static Successor transition_of(const Timed *timed, const Action *action, const Step *step) {
  Successor successor = {.action = *action, .faults = step->faults, .steps = step->steps};
  successor.action.choice_count = (uint8_t)timed->script.count;
  memcpy(successor.action.choices, timed->script.choices, (size_t)timed->script.count);
  return successor;
}

/* Settles the state in timed->work, whose ages up to old_age_count are those of timed->zone, and 0 beyond; hands it
 * out.
 */
static void emit(Timed *timed, const Action *action, Step *step, const Emission *emission) {
  Successor successor = transition_of(timed, action, step);
  if (emission->stateless) {
    emission->sink(emission->user, &successor);
    return;
  }
  step_settle(step);
  uint32_t bytes =
      make_key(timed, &timed->work, emission->canonical && timed->symmetric, timed->key, timed->age_source);
  int32_t dim = timed->best.age_count + 1;
  int32_t source[STATE_AGES_MAX + 1] = {0};
  for (int32_t a = 1; a < dim; a++) {
    source[a] = timed->age_source[a] < timed->dim ? timed->age_source[a] : -1;
  }
  dbm_rearrange(timed->arrived, dim, timed->zone, timed->dim, source);
  let_time_pass(timed, &timed->best, timed->arrived);
  successor.state = (SystemState){timed->key, bytes, timed->arrived, (uint32_t)(dim * dim)};
  successor.violated = step->violated;
  emission->sink(emission->user, &successor);
}

/* Takes an action in all the ways that `zone` leaves, from what is set in timed->script on. */
static void take_all(Timed *timed, const Action *action, const Bound *zone, const Emission *emission) {
  size_t zone_bytes = sizeof(Bound) * (size_t)timed->dim * (size_t)timed->dim;
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

static void expand(Timed *timed, SystemState state, const Emission *emission) {
  Thing things[THINGS_MAX];
  Action faults[FAULT_ACTIONS_MAX];
  Bound zone[ZONE_WORDS_MAX], guarded[ZONE_WORDS_MAX];
  int32_t count = enter_state(timed, state, zone, things);
  for (int32_t i = 0; i < count; i++) {
    memcpy(guarded, zone, state.zone_words * sizeof(Bound));
    if (window_has_come(timed, &things[i], guarded)) {
      Action action = thing_action(&things[i]);
      timed->script = (Script){0};
      take_all(timed, &action, guarded, emission);
    }
  }
  int32_t fault_count = step_faults(timed->world, &timed->base, faults);
  for (int32_t i = 0; i < fault_count; i++) {
    timed->script = (Script){0};
    take_all(timed, &faults[i], zone, emission);
  }
}

static void timed_successors(void *self, SystemState state, bool canonical, SuccessorSink sink, void *user) {
  expand(self, state, &(Emission){.canonical = canonical, .sink = sink, .user = user});
}

void timed_transitions(Timed *timed, SystemState state, SuccessorSink sink, void *user) {
  expand(timed, state, &(Emission){.stateless = true, .sink = sink, .user = user});
}

/* Cuts the zone of the state in timed->base to where the action can be taken: where its window has come. */
static bool guard(Timed *timed, const Thing *things, int32_t count, const Action *action, Bound *zone) {
  for (int32_t i = 0; i < count; i++) {
    Action due = thing_action(&things[i]);
    if (action_is(&due, action)) {
      return window_has_come(timed, &things[i], zone);
    }
  }
  return action->kind >= ACTION_FAULTS;
}

void timed_successor(Timed *timed, SystemState state, const Action *action, SuccessorSink sink, void *user) {
  Thing things[THINGS_MAX];
  Bound zone[ZONE_WORDS_MAX];
  int32_t count = enter_state(timed, state, zone, things);
  bool can_be_taken = guard(timed, things, count, action, zone);
  CHECK(can_be_taken);
  timed->script = (Script){.count = action->choice_count};
  memcpy(timed->script.choices, action->choices, action->choice_count);
  take_all(timed, action, zone, &(Emission){.sink = sink, .user = user});
}

static void timed_initial(void *self, bool canonical, SuccessorSink sink, void *user) {
  Timed *timed = self;
  Emission emission = {.canonical = canonical, .sink = sink, .user = user};
  Step step;
  world_initial(timed->world, &timed->work);
  timed->dim = timed->work.age_count + 1;
  dbm_zero(timed->zone, timed->dim);
  timed->script = (Script){0};
  step_start(&step, timed->world, &timed->work, &timed->chooser);
  step.steps = 0;
  emit(timed, &(Action){0}, &step, &emission);
}

/* --- properties of states ---------------------------------------------------------------------------------------- */

static bool may_violate(Timed *timed, int32_t property, const Bound *zone) {
  const World *world = timed->world;
  if (property < world->monitor_count) { /* looks at no age */
    const Monitor *monitor = world->monitors[property];
    return monitor->violated_by != NULL && monitor->violated_by(world, &timed->base);
  }
  size_t zone_bytes = sizeof(Bound) * (size_t)timed->dim * (size_t)timed->dim;
  timed->script = (Script){0};
  do {
    Step step;
    timed->script.position = 0;
    memcpy(timed->zone, zone, zone_bytes);
    step_start(&step, timed->world, &timed->base, &timed->chooser);
    if (step_state_violates(&step, property)) {
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
  Thing things[THINGS_MAX];
  Bound zone[ZONE_WORDS_MAX];
  uint64_t violated = 0;
  int32_t count = world_property_count(timed->world);
  enter_state(timed, state, zone, things);
  for (int32_t p = 0; p < count; p++) {
    violated |= may_violate(timed, p, zone) ? UINT64_C(1) << p : 0;
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

/* --- zones ------------------------------------------------------------------------------------------------------- */

static int zone_dim(SystemState state) {
  return packed_age_count(state.key) + 1;
}

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
                  .classes_split = symmetric && timed->world->has_symmetric_servers,
                  .violations = timed_violations,
                  .may_delay = timed_may_delay,
                  .covers = timed_covers,
                  .join = timed_join,
                  .merge = timed_merge};
}

/* --- the unit of time -------------------------------------------------------------------------------------------- */

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

static void add_fault_constants(Constants *constants, const World *world, int32_t f) {
  const Fault *fault = &world->program->faults[f];
  int64_t count = fault->count == COUNT_INFINITE ? 1 : fault->count;
  Window length = world_suspend_window(world, f);
  add_constant(constants, fault->lo_us);
  add_constant(constants, fault->hi_us);
  add_constant(constants, fault->durable_us);
  if (fault->kind == FAULT_SUSPEND) {
    add_constant(constants, length.lo_us * count);
    add_constant(constants, length.hi_us == DURATION_INFINITE ? 0 : length.hi_us * count);
  }
  if (fault->kind == FAULT_STEP || fault->kind == FAULT_SKEW) {
    add_constant(constants, fault->by_us * count);
    add_constant(constants, fault->by_us);
  }
}

/* Where clocks drift, any duration may have to be read on any of them: to the microsecond. */
static bool has_drift(const World *world) {
  for (int32_t p = 0; p < WORLD_PROCESSES_MAX; p++) {
    if (world->drift_ppm[p] > 0) {
      return true;
    }
  }
  return false;
}

static Constants world_constants(const World *world) {
  const Program *program = world->program;
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
  add_constant(&constants, program->detect.lo_us);
  add_constant(&constants, program->detect.hi_us);
  for (int32_t o = 0; o < program->obtainable_count; o++) {
    add_constant(&constants, program->obtainables[o].within_us);
  }
  for (int32_t f = 0; f < program->fault_count; f++) {
    add_fault_constants(&constants, world, f);
  }
  if (has_drift(world)) {
    constants.divisor = 1;
    constants.largest *= 2; /* a clock runs at more than half its rate */
  }
  return constants;
}

/* The most that two wall clocks may be apart. */
static int64_t most_offset_us(const Program *program) {
  int64_t most = 0;
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    bool shifts = fault->kind == FAULT_STEP || fault->kind == FAULT_SKEW;
    int64_t count = fault->count == COUNT_INFINITE ? 1 : fault->count;
    most += shifts ? 2 * (fault->by_us < 0 ? -fault->by_us : fault->by_us) * count : 0;
  }
  return most;
}

Timed *timed_new(const World *world, int64_t *too_large_us) {
  Constants constants = world_constants(world);
  int64_t unit_us = constants.divisor > 0 ? constants.divisor : 1;
  if (constants.largest / unit_us > BOUND_VALUE_MAX / 4) {
    *too_large_us = constants.largest;
    return NULL;
  }
  Timed *timed = calloc(1, sizeof *timed);
  CHECK(timed != NULL);
  uint32_t key_bytes = layout_packed_max(&world->layout);
  timed->chooser = (Chooser){.choose = timed_choose, .compare = timed_compare};
  timed->world = world;
  timed->unit_us = unit_us;
  timed->offsets_us = world->stamps_travel ? most_offset_us(world->program) : 0;
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

int64_t timed_unit_us(const Timed *timed) {
  return timed->unit_us;
}
