/* Random search: what it must find, that it is the same with any number of threads, and that shrinking is worth its
 * name: no more faults than the cheapest run of the exhaustive search, and at most one and a half times its steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/confirm.h"
#include "explore/fuzz.h"
#include "explore/shrink.h"
#include "properties/property.h"
#include "support/shipped.h"

enum { SEEDS = 20, RUNS_MAX = 30000 };

typedef struct Case {
  const char *model, *scenario, *property;
  uint64_t seeds; /* to find it with; those that take thousands of runs with four */
  uint64_t shrinks;
} Case;

static const Case must_find[] = {
    {"redlock", "pause", "mutual_exclusion", SEEDS, 0},
    {"redlock", "ntp_step", "mutual_exclusion", SEEDS, 0},
    {"redlock", "amnesia", "mutual_exclusion", SEEDS, 0},
    {"broken/fenced_write_only", "pause", "lost_update", SEEDS, 2},
    {"broken/fischer_fast", "two", "mutual_exclusion", SEEDS, 2},
    {"broken/fischer_fast", "three", "mutual_exclusion", 4, 2},
    {"broken/naked_del", "pause", "owner_release", SEEDS, 2},
    {"broken/naked_del", "pause", "two clients inside of which neither outlived its TTL", SEEDS, 1},
    {"broken/redlock_no_validity", "late", "mutual_exclusion", SEEDS, 2},
    {"broken/no_expiry", "late_set", "obtainable within 15s", 4, 13},
    {"broken/redlock_extend_minority", "restart", "mutual_exclusion", 4, 0},
    {"broken/redlock_wall_clock", "large_step", "mutual_exclusion", 4, 1},
};
enum { CASES = sizeof must_find / sizeof must_find[0] };

static int32_t property_of(const World *world, const char *name) {
  for (int32_t p = 0; p < world_property_count(world); p++) {
    if (strcmp(world->property_names[p], name) == 0) {
      return p;
    }
  }
  fail_msg("no property %s", name);
  return -1;
}

static RandomOptions options_for(uint64_t seed, int32_t jobs) {
  return (RandomOptions){.seed = seed, .runs = RUNS_MAX, .steps_max = 400, .jobs = jobs};
}

/* A bound in runs stands for ten seconds on an idle core. */
static void test_known_violations_are_found_from_any_seed(void **state) {
  (void)state;
  for (int32_t c = 0; c < CASES; c++) {
    Shipped shipped = shipped_open(must_find[c].model, must_find[c].scenario, NULL);
    World *world = world_new_with(shipped.program, property_monitors, PROPERTY_COUNT, &(Clocks){0});
    int32_t property = property_of(world, must_find[c].property);
    uint64_t worst = 0;
    for (uint64_t seed = 1; seed <= must_find[c].seeds; seed++) {
      char *problem = NULL;
      RandomOptions options = options_for(seed, 2);
      options.wanted = UINT64_C(1) << property;
      RandomResult *result = random_search(shipped.program, &options);
      const Find *find = &result->finds[property];
      if (find->decisions == NULL) {
        fail_msg("%s %s, seed %" PRIu64 ": not found", must_find[c].model, must_find[c].scenario, seed);
      }
      Run *run = confirm_decisions(world, find->decisions, find->count, find->end_ns, property, &problem);
      if (run == NULL) {
        fail_msg("%s", problem);
      }
      worst = find->run > worst ? find->run : worst;
      run_free(run);
      random_result_free(result);
    }
    print_message("%s %s %s: found from each of %d seeds, after %" PRIu64 " runs at the most\n", must_find[c].model,
                  must_find[c].scenario, must_find[c].property, (int)must_find[c].seeds, worst + 1);
    world_free(world);
    shipped_close(&shipped);
  }
}

/* A walk over zones goes on past what it violates first: here everybody who writes over a newer update was inside
 * beside another, so the lost update always comes second. */
static void test_a_violation_behind_another_is_found_by_the_same_run(void **state) {
  (void)state;
  Shipped shipped = shipped_open("broken/consul_no_delay", "pause", NULL);
  World *world = world_new_with(shipped.program, property_monitors, PROPERTY_COUNT, &(Clocks){0});
  int32_t first = property_of(world, "mutual_exclusion"), second = property_of(world, "lost_update"), both = 0;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    RandomOptions options = options_for(seed, 2);
    options.strategy = &strategy_zones;
    options.wanted = UINT64_C(1) << first | UINT64_C(1) << second;
    RandomResult *result = random_search(shipped.program, &options);
    assert_non_null(result->finds[second].decisions);
    assert_true(result->finds[first].run <= result->finds[second].run);
    both += result->finds[first].run == result->finds[second].run;
    random_result_free(result);
  }
  assert_true(both >= 3);
  world_free(world);
  shipped_close(&shipped);
}

static void assert_same_find(const Find *a, const Find *b) {
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->run, b->run);
  if (a->decisions == NULL || b->decisions == NULL) {
    assert_true(a->decisions == b->decisions); /* neither search has found anything */
    return;
  }
  for (int32_t i = 0; i < a->count; i++) {
    assert_int_equal(a->decisions[i].time_ns, b->decisions[i].time_ns);
    assert_memory_equal(&a->decisions[i].action, &b->decisions[i].action, sizeof(Action));
  }
}

static void assert_same_twice(const Case *what, uint64_t seed, int32_t jobs_a, int32_t jobs_b) {
  Shipped shipped = shipped_open(what->model, what->scenario, NULL);
  RandomOptions a = options_for(seed, jobs_a), b = options_for(seed, jobs_b);
  a.runs = b.runs = 600;
  a.wanted = b.wanted = 7;
  RandomResult *first = random_search(shipped.program, &a), *second = random_search(shipped.program, &b);
  assert_int_equal(first->runs, second->runs);
  assert_int_equal(first->steps, second->steps);
  assert_int_equal(first->entries, second->entries);
  for (int32_t p = 0; p < WORLD_PROPERTIES_MAX; p++) {
    assert_same_find(&first->finds[p], &second->finds[p]);
  }
  random_result_free(first);
  random_result_free(second);
  shipped_close(&shipped);
}

static void test_ten_seeds_give_the_same_with_any_number_of_threads(void **state) {
  (void)state;
  for (uint64_t seed = 100; seed < 110; seed++) {
    assert_same_twice(&must_find[(seed % 2) * 3], seed, 1, 1 + (int32_t)(seed % 4));
  }
}

static void assert_seeds_differ(void) {
  Shipped shipped = shipped_open("redlock", "pause", NULL);
  uint64_t steps[2];
  for (uint64_t seed = 0; seed < 2; seed++) {
    RandomOptions options = options_for(seed, 1);
    options.runs = 50;
    options.to_the_end = true;
    RandomResult *result = random_search(shipped.program, &options);
    steps[seed] = result->entries * 100000 + result->steps;
    random_result_free(result);
  }
  assert_int_not_equal(steps[0], steps[1]);
  shipped_close(&shipped);
}

static void test_another_seed_is_another_search(void **state) {
  (void)state;
  assert_seeds_differ();
}

static void assert_shrinks_well(const Case *what, uint64_t seed, uint32_t faults, uint32_t steps) {
  Shipped shipped = shipped_open(what->model, what->scenario, NULL);
  World *world = world_new_with(shipped.program, property_monitors, PROPERTY_COUNT, &(Clocks){0});
  int32_t property = property_of(world, what->property);
  RandomOptions options = options_for(seed, 2);
  options.wanted = UINT64_C(1) << property;
  RandomResult *result = random_search(shipped.program, &options);
  const Find *find = &result->finds[property];
  assert_non_null(find->decisions);
  Shrunk shrunk = shrink(world, find->decisions, find->count, property);
  assert_non_null(shrunk.decisions);
  shrink_nearby(world, &shrunk, property, seed, 4000);
  shrink_tidy(world, &shrunk, property);
  char *problem = NULL;
  Run *run = confirm_decisions(world, shrunk.decisions, shrunk.count, shrunk.end_ns, property, &problem);
  print_message("%s %s %s: %d decisions, shrunk to %d faults, %d steps; the cheapest has %u, %u\n", what->model,
                what->scenario, what->property, find->count, shrunk.faults, shrunk.steps, faults, steps);
  assert_non_null(run);
  assert_true((uint32_t)shrunk.faults <= faults);
  assert_true((uint32_t)shrunk.steps * 2 <= steps * 3);
  run_free(run);
  shrunk_clear(&shrunk);
  random_result_free(result);
  world_free(world);
  shipped_close(&shipped);
}

static void test_shrunk_runs_are_nearly_as_short_as_the_cheapest(void **state) {
  (void)state;
  for (int32_t c = 0; c < CASES; c++) {
    if (must_find[c].shrinks == 0) {
      continue;
    }
    Shipped shipped = shipped_open(must_find[c].model, must_find[c].scenario, NULL);
    Verification *verification = verify(shipped.program, &(VerifyOptions){.symmetry = true});
    for (int32_t p = 0; p < verification->property_count; p++) {
      const PropertyResult *cheapest = &verification->properties[p];
      if (strcmp(cheapest->name, must_find[c].property) == 0) {
        assert_int_equal(cheapest->verdict, VERDICT_VIOLATED);
        for (uint64_t seed = 1; seed <= must_find[c].shrinks; seed++) {
          assert_shrinks_well(&must_find[c], seed, cheapest->faults, cheapest->steps);
        }
      }
    }
    verification_free(verification);
    shipped_close(&shipped);
  }
}

static void test_what_holds_is_not_violated(void **state) {
  (void)state;
  Shipped shipped = shipped_open("fenced", "pause", NULL);
  World *world = world_new(shipped.program, property_monitors, PROPERTY_COUNT);
  FuzzOptions options = {.random = options_for(5, 2)};
  options.random.runs = 600;
  options.random.to_the_end = true;
  Fuzzing *fuzzing = fuzz(shipped.program, &options);
  assert_int_equal(fuzzing->runs, 600);
  const PropertyResult *properties = fuzzing->verification->properties;
  assert_int_equal(properties[property_of(world, "lost_update")].verdict, VERDICT_NOT_VIOLATED);
  assert_int_equal(properties[property_of(world, "fencing")].verdict, VERDICT_NOT_VIOLATED);
  assert_int_equal(properties[property_of(world, "mutual_exclusion")].verdict, VERDICT_VIOLATED);
  assert_true(fuzzing->entries > 1000);
  verification_free(fuzzing->verification);
  fuzzing_free(fuzzing);
  world_free(world);
  shipped_close(&shipped);
}

/* It holds for a microsecond of the seven seconds that somebody may be inside. */
static const char instant_text[] =
    "model instant \"five seconds after it entered\"\n"
    "client {\n"
    "  var since : stamp\n"
    "  loop { since = now  critical { wait 3s..10s }  wait 1s..2s }\n"
    "}\n"
    "never \"five seconds inside\" { any(c in client : c.inside and age(c.since) >= 5s and age(c.since) < 5000001us) }\n"
    "scenario calm \"\" { expect all holds }\n";

static void test_a_walk_over_zones_looks_when_its_last_state_violates_something(void **state) {
  (void)state;
  Shipped shipped = shipped_text(instant_text, "calm", NULL);
  World *world = world_new_with(shipped.program, property_monitors, PROPERTY_COUNT, &(Clocks){0});
  RandomOptions options = options_for(1, 1);
  options.strategy = &strategy_zones;
  RandomResult *result = random_search(shipped.program, &options);
  const Find *find = &result->finds[property_of(world, "five seconds inside")];
  assert_non_null(find->decisions);
  assert_int_equal(find->run, 0);
  assert_in_range(find->end_ns % INT64_C(1000000000), 0, 999);
  random_result_free(result);
  world_free(world);
  shipped_close(&shipped);
}

/* A crash of the counter makes the next ticket a smaller one: the numbers decide whether it hits one in use. */
static const char reset_text[] =
    "model reset \"a counter that is lost\"\n"
    "use redis\n"
    "server node : redis\n"
    "client[2] {\n"
    "  var f : reply\n"
    "  loop {\n"
    "    f = ask node.set_nx_fenced(fresh, 1s) within 50ms\n"
    "    if f is ticket { critical fence f { wait 0s..2s } }\n"
    "    wait 100ms..200ms\n"
    "  }\n"
    "}\n"
    "scenario lost \"\" { latency 0ms..10ms  inf crash of node losing memory, back after 0s..1s  expect all holds }\n";

static void test_tickets_after_a_reset_follow_their_numbers(void **state) {
  (void)state;
  Shipped shipped = shipped_text(reset_text, "lost", NULL);
  World *world = world_new(shipped.program, property_monitors, PROPERTY_COUNT);
  RandomOptions options = options_for(3, 1);
  options.runs = 200;
  options.to_the_end = true;
  RandomResult *result = random_search(shipped.program, &options);
  assert_int_equal(result->problem_count, 0);
  assert_true(result->steps > 20000); /* no run was cut short by a wrong ticket */
  char *problem = NULL;
  const Find *find = &result->finds[0];
  assert_non_null(find->decisions);
  Run *run = confirm_decisions(world, find->decisions, find->count, find->end_ns, 0, &problem);
  assert_non_null(run);
  run_free(run);
  random_result_free(result);
  world_free(world);
  shipped_close(&shipped);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ten_seeds_give_the_same_with_any_number_of_threads),
      cmocka_unit_test(test_another_seed_is_another_search),
      cmocka_unit_test(test_what_holds_is_not_violated),
      cmocka_unit_test(test_tickets_after_a_reset_follow_their_numbers),
      cmocka_unit_test(test_known_violations_are_found_from_any_seed),
      cmocka_unit_test(test_a_violation_behind_another_is_found_by_the_same_run),
      cmocka_unit_test(test_a_walk_over_zones_looks_when_its_last_state_violates_something),
      cmocka_unit_test(test_shrunk_runs_are_nearly_as_short_as_the_cheapest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
