/* The symbolic engine against the concrete one: thousands of random concrete runs of the shipped models never leave
 * the explored states, neither in their discrete part nor in their ages; and what they violate, the search has hit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/exhaustive.h"
#include "properties/property.h"
#include "support/shipped.h"
#include "world/clocked.h"
#include "world/timed.h"
#include "zone/dbm.h"

static uint64_t seed = 0x10c457e9;

static uint64_t random_next(void) { /* splitmix64 */
  uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}
static int64_t random_below(int64_t end) {
  return (int64_t)(random_next() % (uint64_t)end);
}

static int32_t oracle(void *user, int32_t count, bool by_model) {
  (void)user, (void)by_model;
  return random_below(3) ? 0 : (int32_t)random_below(count);
}

typedef struct Twin {
  const World *world; /* of the search: clocks may be any that the scenario allows */
  const World *exact; /* of the runs: theirs are given */
  Timed *timed;
  Exploration *exploration;
  bool symmetric;
  uint64_t steps, runs, violations, faults;
} Twin;

/* An instant between the two: the ends half of the time. */
static int64_t pick_instant(int64_t from, int64_t to) {
  switch (random_below(4)) {
  case 0: return from;
  case 1: return to;
  default: return from + random_below(to - from + 1);
  }
}

/* One random decision; false when the run is at its end. */
static bool decide(Clocked *clocked, const World *world, int64_t *time_ns, Action *action) {
  Due queue[THINGS_MAX];
  Action faults[FAULT_ACTIONS_MAX];
  int64_t now = clocked_now_ns(clocked), last = INT64_MAX;
  int32_t count = clocked_queue(clocked, queue);
  for (int32_t i = 0; i < count; i++) {
    last = !queue[i].optional && queue[i].latest_ns < last ? queue[i].latest_ns : last;
  }
  int32_t fault_count = step_faults(world, clocked_state(clocked), faults);
  if (fault_count > 0 && random_below(25) == 0) {
    *time_ns = pick_instant(now, last == INT64_MAX ? now + 5000000 : last);
    *action = faults[random_below(fault_count)];
    return true;
  }
  for (int32_t attempt = 0; attempt < 40 && count > 0; attempt++) {
    const Due *due = &queue[random_below(count)];
    int64_t to = due->latest_ns < last ? due->latest_ns : last;
    to = to == INT64_MAX ? due->earliest_ns + 50000000 : to;
    if (due->earliest_ns <= to) {
      *time_ns = pick_instant(due->earliest_ns, to);
      *action = due->action;
      return true;
    }
  }
  return false;
}

static bool satisfies(int64_t difference_ns, Bound bound, int64_t unit_ns) {
  int64_t limit_ns = (int64_t)bound_value(bound) * unit_ns;
  return bound == BOUND_INFINITY || (bound_is_strict(bound) ? difference_ns < limit_ns : difference_ns <= limit_ns);
}

static bool zone_contains(const Bound *zone, int32_t dim, const int64_t *ages_ns, int64_t unit_ns) {
  for (int32_t i = 0; i < dim; i++) {
    for (int32_t j = 0; j < dim; j++) {
      if (!satisfies(ages_ns[i] - ages_ns[j], zone[i * dim + j], unit_ns)) {
        return false;
      }
    }
  }
  return true;
}

static bool in_some_zone(Twin *twin, const Clocked *clocked, uint32_t index, int32_t dim, const int32_t *source) {
  int64_t ages_ns[STATE_AGES_MAX + 1] = {0};
  bool inside = false;
  for (int32_t a = 1; a < dim; a++) {
    ages_ns[a] = clocked_age_ns(clocked, source[a]);
  }
  for (uint32_t z = store_state(&twin->exploration->store, index)->zones; z != POOL_NONE;) {
    const StoredZone *zone = store_zone(&twin->exploration->store, z);
    inside |= zone_contains(zone->words, dim, ages_ns, timed_unit_us(twin->timed) * 1000);
    z = zone->next;
  }
  return inside;
}

/* How long a clock has stood still is an interval in the search: so many suspends, of any length each. */
static void loosen(const World *world, const Fault *suspend, Cell *behind) {
  Window length = world_suspend_window(world, (int32_t)(suspend - world->program->faults));
  int32_t count = behind[1] / (int32_t)length.hi_us;
  behind[0] = (Cell)(suspend->lo_us * count);
  behind[1] = (Cell)(suspend->hi_us * count);
}

static const Fault *suspend_of(const Program *program) {
  for (int32_t f = 0; f < program->fault_count; f++) {
    if (program->faults[f].kind == FAULT_SUSPEND) {
      return &program->faults[f];
    }
  }
  return NULL;
}

static void loosen_clocks(const World *exact, const State *state, State *loose) {
  const Fault *suspend = suspend_of(exact->program);
  state_copy(&exact->layout, loose, state);
  for (int32_t c = 0; suspend != NULL && c < exact->program->client_count; c++) {
    const ClientKind *kind = world_kind(exact, c);
    for (int32_t v = 0; v < kind->variable_count; v++) {
      Cell *stamp = world_client_variable(exact, loose, c, v);
      for (int32_t e = 0; e < kind->variables[v].extent.count && kind->variables[v].type.sort == SORT_STAMP; e++) {
        loosen(exact, suspend, stamp + e * STAMP_CELLS + STAMP_BEHIND_LO);
      }
    }
    for (int32_t t = 0; t < kind->task_count; t++) {
      loosen(exact, suspend, state_task(&exact->layout, loose, c, t) + TASK_BEHIND_LO);
    }
  }
}

/* The discrete part is stored, and the ages lie in one of its zones. Clients that look alike in it may be exchanged:
 * one of the orders in which they give the same discrete part has to fit. */
static void assert_explored(Twin *twin, const Clocked *clocked) {
  static uint8_t key[1 << 16], other_key[1 << 16];
  static Permutation rows[NAMES_PERMUTATIONS_MAX];
  static State exchanged, loose;
  int32_t source[STATE_AGES_MAX + 1];
  loosen_clocks(twin->exact, clocked_state(clocked), &loose);
  const State *state = &loose;
  uint32_t bytes = timed_key(twin->timed, state, twin->symmetric, key, source);
  uint32_t index = store_find(&twin->exploration->store, key, bytes);
  assert_true(index != STORE_NONE);
  int32_t dim = packed_age_count(key) + 1;
  bool inside = in_some_zone(twin, clocked, index, dim, source);
  int32_t count = twin->symmetric && !inside ? names_permutations(twin->world, state, rows) : 0;
  for (int32_t r = 0; r < count && !inside; r++) {
    names_permute(twin->world, &exchanged, state, &rows[r]);
    names_sort_messages(twin->world, &exchanged);
    uint32_t other_bytes = timed_key(twin->timed, &exchanged, false, other_key, source);
    bool same = other_bytes == bytes && memcmp(key, other_key, bytes) == 0;
    inside = same && in_some_zone(twin, clocked, index, dim, source);
  }
  assert_true(inside);
}

static void one_run(Twin *twin, int32_t steps) {
  Clocked *clocked = clocked_new(twin->exact, false);
  clocked_set_oracle(clocked, oracle, NULL);
  twin->runs++;
  for (int32_t i = 0; i < steps; i++) {
    int64_t time_ns;
    Action action;
    if (!decide(clocked, twin->exact, &time_ns, &action)) {
      break;
    }
    bool taken = clocked_take(clocked, time_ns, &action);
    if (!taken && g_str_has_prefix(clocked_refusal(clocked), "the next ticket")) {
      break; /* the oracle does not know numbers: what it has said of this one cannot be */
    }
    if (!taken) {
      print_message("refused: %s\n", clocked_refusal(clocked));
    }
    assert_true(taken);
    uint64_t violated = clocked_violated(clocked) | clocked_violated_now(clocked);
    assert_true((violated & ~exploration_hit_set(twin->exploration)) == 0);
    twin->violations += violated != 0;
    twin->faults += action.kind >= ACTION_FAULTS;
    twin->steps++;
    assert_explored(twin, clocked);
  }
  clocked_free(clocked);
}

/* Any clocks that the scenario allows. A suspend takes its longest: a shortest of nothing would not be seen in a state.
 */
static World *exact_world(const Program *program) {
  Clocks clocks = {.suspends = SUSPEND_LONGEST};
  for (int32_t p = 0; p < WORLD_PROCESSES_MAX; p++) {
    clocks.rate[p] = (ClockRate)(RATE_SLOW + random_below(3));
  }
  return world_new_with(program, property_monitors, PROPERTY_COUNT, &clocks);
}

enum { WORLDS = 5 };

static void several_runs(Twin *twin, const Program *program, int32_t runs, int32_t steps) {
  int32_t worlds = world_has_loose_clocks(program) ? WORLDS : 1;
  for (int32_t w = 0; w < worlds; w++) {
    World *exact = exact_world(program);
    twin->exact = exact;
    for (int32_t r = 0; r < runs / worlds; r++) {
      one_run(twin, steps);
    }
    world_free(exact);
  }
}

/* Where servers may be exchanged, a class may have several representatives: what was hit has to be the same. */
static void assert_hits_the_same(const World *world, const Exploration *plain) {
  int64_t too_large;
  Timed *timed = timed_new(world, &too_large);
  System system = timed_system(timed, true);
  Exploration *reduced = explore(&system, &(ExploreOptions){.canonical = true});
  assert_int_equal(reduced->stopped, STOP_NOT);
  assert_true(exploration_hit_set(reduced) == exploration_hit_set(plain));
  assert_true(reduced->store.state_count <= plain->store.state_count);
  exploration_free(reduced);
  timed_free(timed);
}

static void check_scenario(const char *model, const char *scenario, const char *const *settings, bool exact,
                           bool symmetric, int32_t runs, int32_t steps) {
  int64_t too_large;
  Shipped shipped = shipped_open(model, scenario, settings);
  World *world = world_new(shipped.program, property_monitors, PROPERTY_COUNT);
  bool exchanges_servers = symmetric && world->has_symmetric_servers;
  symmetric &= !exchanges_servers;
  Timed *timed = timed_new(world, &too_large);
  assert_non_null(timed);
  System system = timed_system(timed, symmetric);
  ExploreOptions options = {.exact = exact, .canonical = true};
  Twin twin = {.world = world, .timed = timed, .exploration = explore(&system, &options), .symmetric = symmetric};
  assert_int_equal(twin.exploration->stopped, STOP_NOT);
  assert_int_equal(world->seen->problem_count, 0);
  several_runs(&twin, shipped.program, runs, steps);
  if (exchanges_servers) {
    assert_hits_the_same(world, twin.exploration);
  }
  print_message("%s %s%s%s: %u states, %" PRIu64 " runs, %" PRIu64 " steps, %" PRIu64 " faults, %" PRIu64
                " violations\n",
                model, scenario, exact ? " exact" : "", symmetric ? " symmetric" : "",
                twin.exploration->store.state_count, twin.runs, twin.steps, twin.faults, twin.violations);
  assert_true(twin.steps >= (uint64_t)twin.runs);
  exploration_free(twin.exploration);
  timed_free(timed);
  world_free(world);
  shipped_close(&shipped);
}

static void every_scenario(const char *model, const char *const *settings, bool exact, int32_t runs, int32_t steps) {
  char **scenarios = shipped_scenarios(model);
  for (int32_t s = 0; scenarios[s] != NULL; s++) {
    check_scenario(model, scenarios[s], settings, exact, false, runs, steps);
    check_scenario(model, scenarios[s], settings, exact, true, runs, steps);
  }
  g_strfreev(scenarios);
}

static void test_runs_of_small_models_stay_in_the_exact_states(void **state) {
  (void)state;
  every_scenario("single_node", NULL, true, 50, 100);
  every_scenario("broken/naked_del", (const char *const[]){NULL}, false, 100, 100);
  check_scenario("fischer", "three", NULL, true, false, 50, 100);
  check_scenario("fischer", "three", NULL, true, true, 50, 100);
  check_scenario("fischer", "four", NULL, true, true, 50, 100);
  every_scenario("broken/fischer_fast", NULL, true, 50, 100);
}

static void test_runs_of_all_models_stay_in_the_hull(void **state) {
  (void)state;
  every_scenario("single_node", NULL, false, 50, 100);
  every_scenario("fenced", NULL, false, 50, 100);
  every_scenario("broken/fenced_write_only", NULL, false, 100, 100);
  static const char *const settings[] = {"servers", "3", NULL};
  check_scenario("redlock", "calm", settings, false, false, 100, 200);
  check_scenario("redlock", "calm", settings, false, true, 100, 200);
  check_scenario("redlock", "amnesia", settings, false, true, 100, 200);
}

static void test_runs_of_newer_models_stay_in_the_hull(void **state) {
  (void)state;
  for (const ShippedScenario *small = shipped_small_scenarios; small->model != NULL; small++) {
    check_scenario(small->model, small->scenario, NULL, false, false, 30, 80);
    check_scenario(small->model, small->scenario, NULL, false, true, 30, 80);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs_of_small_models_stay_in_the_exact_states),
      cmocka_unit_test(test_runs_of_all_models_stay_in_the_hull),
      cmocka_unit_test(test_runs_of_newer_models_stay_in_the_hull),
  };
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
  print_message("seed 0x%" PRIx64 "\n", seed);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
