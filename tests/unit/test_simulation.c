/* Simulation: the measured tables of the third seed document, the same figures with any number of threads, names that
 * are kept against names that are renumbered, and what distributions and faults do to a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "explore/simulation.h"
#include "properties/property.h"
#include "support/shipped.h"
#include "world/clocked.h"

#define MS INT64_C(1000000)

static SimulationOptions options_for(uint64_t runs, int32_t jobs) {
  return (SimulationOptions){.seed = 3, .runs = runs, .jobs = jobs, .time_ns = 60000 * MS};
}

static Simulation *simulate_shipped(const char *model, const char *scenario, const SimulationOptions *options) {
  Shipped shipped = shipped_open(model, scenario, NULL);
  Simulation *sum = simulate(shipped.program, options);
  assert_int_equal(sum->runs, options->runs);
  assert_int_equal(sum->cut_short, 0);
  shipped_close(&shipped);
  return sum;
}

enum { MUTUAL_EXCLUSION, FENCING, LOST_UPDATE };

typedef struct Row {
  const char *model, *scenario;
  uint64_t runs, acquired, double_holds, lost, rejected;
  int64_t p50_from_us, p50_to_us; /* of the time to acquire; 0: not looked at */
} Row;

/* Must show 4. 100 rounds each, 200 for the third table; each run is one round. */
static const Row measured[] = {
    {"seed/hang_unfenced", "hang", 100, 200, 100, 100, 0, 80, 180},
    {"seed/hang_fenced", "hang", 100, 300, 100, 0, 100, 80, 180},              /* A takes the lock again */
    {"seed/hang_fenced", "stale_write_first", 100, 200, 100, 100, 0, 80, 180}, /* not tried there */
    {"seed/unlock", "naked_del", 100, 300, 100, 0, 0, 80, 180},
    {"seed/unlock", "compare_and_delete", 100, 200, 0, 0, 0, 80, 180},
    {"seed/one_dead", "single_alive", 200, 200, 0, 0, 0, 80, 180},
    {"seed/one_dead", "single_dead", 200, 0, 0, 0, 0, 0, 0},
    {"seed/one_dead", "quorum_alive", 200, 200, 0, 0, 0, 240, 540},
    {"seed/one_dead", "quorum_dead", 200, 200, 0, 0, 0, 99000, 101000}, /* one time-out of 100 ms */
};

static void test_the_measured_tables_come_out(void **state) {
  (void)state;
  for (size_t r = 0; r < sizeof measured / sizeof measured[0]; r++) {
    const Row *row = &measured[r];
    SimulationOptions options = options_for(row->runs, 2);
    Simulation *sum = simulate_shipped(row->model, row->scenario, &options);
    print_message("%s %s\n", row->model, row->scenario);
    assert_int_equal(sum->acquisitions, row->acquired);
    assert_int_equal(sum->violations[MUTUAL_EXCLUSION], row->double_holds);
    assert_int_equal(sum->runs_with[MUTUAL_EXCLUSION], row->double_holds);
    assert_int_equal(sum->violations[LOST_UPDATE], row->lost);
    assert_int_equal(sum->rejected, row->rejected);
    if (row->p50_to_us > 0) {
      assert_in_range(histogram_percentile_ns(&sum->acquire, 0.5) / 1000, row->p50_from_us, row->p50_to_us);
    }
    free(sum);
  }
}

static void test_figures_do_not_depend_on_threads(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 10; seed++) {
    SimulationOptions one = options_for(120, 1), many = options_for(120, 1 + (int32_t)(seed % 4));
    one.seed = many.seed = seed;
    one.time_ns = many.time_ns = 5000 * MS;
    Simulation *a = simulate_shipped("redlock", "pause", &one), *b = simulate_shipped("redlock", "pause", &many);
    assert_memory_equal(a, b, sizeof *a);
    free(a);
    free(b);
  }
}

static void test_it_stops_when_it_knows_enough(void **state) {
  (void)state;
  Shipped shipped = shipped_open("seed/hang_unfenced", "hang", NULL);
  SimulationOptions options = options_for(100000, 2);
  options.precision = 0.01;
  Simulation *sum = simulate(shipped.program, &options);
  assert_true(sum->is_precise);
  assert_int_equal(sum->runs, 200); /* 0 of 150 is known to within 0.012, 0 of 200 to within 0.0092 */
  free(sum);
  shipped_close(&shipped);
}

static void test_distributions_replace_windows(void **state) {
  (void)state;
  SimulationOptions options = options_for(200, 1);
  options.latency = (Distribution){DISTRIBUTION_CONSTANT, 7e6, 0, NULL, 0};
  Simulation *sum = simulate_shipped("single_node", "calm", &options);
  assert_in_range(histogram_percentile_ns(&sum->acquire, 0.5), 13890000, 14 * MS); /* two messages */
  assert_in_range(histogram_percentile_ns(&sum->acquire, 0.99), 13890000, 14 * MS);
  assert_int_equal(sum->violations[MUTUAL_EXCLUSION], 0);
  free(sum);
}

static void test_pauses_break_what_is_calm_otherwise(void **state) {
  (void)state;
  SimulationOptions options = options_for(200, 1);
  options.pause = (Distribution){DISTRIBUTION_CONSTANT, 12e9, 0, NULL, 0};
  options.pause_every = (Distribution){DISTRIBUTION_EXPONENTIAL, 10e9, 0, NULL, 0};
  Simulation *sum = simulate_shipped("single_node", "calm", &options);
  assert_true(sum->violations[MUTUAL_EXCLUSION] > 20);
  assert_true(sum->faults > 400); /* two clients, a minute, a pause about every 22 s: some 5 in a run */
  assert_true(sum->faults < 200 * 8);
  free(sum);
}

/* The same decisions in an engine that renumbers after each step and in one that keeps names: the same events, at least
 * as far as anybody could see. */
typedef struct Heard {
  uint64_t hash, entries;
} Heard;

static void hear(void *user, const Step *step, const Event *event) {
  Heard *heard = user;
  (void)step;
  uint64_t what = (uint64_t)event->kind << 32 | (uint64_t)(uint32_t)(event->process + 1) << 16 |
                  (uint64_t)(uint32_t)(event->pc + 1);
  heard->hash = rng_mix(heard->hash ^ what);
  heard->entries += event->kind == EVENT_ENTER;
}

static int32_t nothing(void *user, int32_t count, bool by_model) {
  (void)user, (void)count, (void)by_model;
  return 0;
}

static uint64_t message_number(const World *world, const Clocked *clocked, const Action *action) {
  State *state = (State *)clocked_state(clocked);
  return (uint64_t)state_message(&world->layout, state, action->object)[MESSAGE_ID];
}

/* The same thing in the other engine: messages go by their number, which both give in the order of sending. */
static bool find_same(const World *world, const Clocked *from, const Due *due, const Clocked *to, Due *same) {
  Due queue[THINGS_MAX];
  int32_t count = clocked_queue(to, queue);
  for (int32_t i = 0; i < count; i++) {
    bool arrives = due->action.kind == ACTION_ARRIVE;
    *same = queue[i];
    if (arrives ? queue[i].action.kind == ACTION_ARRIVE &&
                      message_number(world, from, &due->action) == message_number(world, to, &queue[i].action)
                : action_is(&queue[i].action, &due->action)) {
      return true;
    }
  }
  return false;
}

static void test_kept_names_change_nothing_that_anybody_sees(void **state) {
  (void)state;
  static const char *const models[] = {"redlock", "fenced", "seed/hang_fenced", "zookeeper"};
  static const char *const scenarios[] = {"calm", "calm", "hang", "calm"};
  for (int32_t m = 0; m < 4; m++) {
    Shipped shipped = shipped_open(models[m], scenarios[m], NULL);
    World *world = world_new(shipped.program, property_monitors, PROPERTY_COUNT);
    Clocked *plain = clocked_new(world, false), *kept = clocked_new(world, false);
    Heard heard[2] = {{0}};
    Rng rng = rng_new((uint64_t)m);
    int32_t steps = 0;
    clocked_keep_names(kept);
    clocked_set_oracle(plain, nothing, NULL);
    clocked_set_oracle(kept, nothing, NULL);
    clocked_set_listener(plain, hear, &heard[0]);
    clocked_set_listener(kept, hear, &heard[1]);
    for (; steps < 20000; steps++) {
      Due queue[THINGS_MAX], same = {0};
      int32_t count = clocked_queue(plain, queue);
      int32_t at = 0; /* the queue is ordered by latest instants: the first is always possible at its end */
      if (count == 0) {
        break;
      }
      int64_t time_ns = queue[at].latest_ns == INT64_MAX
                            ? queue[at].earliest_ns
                            : rng_between(&rng, queue[at].earliest_ns, queue[at].latest_ns);
      assert_true(find_same(world, plain, &queue[at], kept, &same));
      assert_int_equal(same.latest_ns, queue[at].latest_ns);
      assert_true(clocked_step(plain, time_ns, &queue[at].action));
      assert_true(clocked_step(kept, time_ns, &same.action));
      assert_int_equal(clocked_violated(plain), clocked_violated(kept));
      assert_true(heard[0].hash == heard[1].hash);
    }
    print_message("%s %s: %d steps, %d entries\n", models[m], scenarios[m], steps, (int)heard[0].entries);
    assert_true(heard[0].entries > 0 && steps > 15);
    clocked_free(plain);
    clocked_free(kept);
    world_free(world);
    shipped_close(&shipped);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_measured_tables_come_out),
      cmocka_unit_test(test_figures_do_not_depend_on_threads),
      cmocka_unit_test(test_it_stops_when_it_knows_enough),
      cmocka_unit_test(test_distributions_replace_windows),
      cmocka_unit_test(test_pauses_break_what_is_calm_otherwise),
      cmocka_unit_test(test_kept_names_change_nothing_that_anybody_sees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
