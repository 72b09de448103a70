/* One transition at a time against all successors at once: walks over the zones of small scenarios, where in each state
 * what timed_transitions lists and timed_successor makes of it is what the System's successors are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "properties/property.h"
#include "support/shipped.h"
#include "world/timed.h"

enum { SUCCESSORS_MAX = 512, KEY_BYTES_MAX = 4096, ZONE_WORDS_MAX = 4096, WALKS = 10, STEPS = 60 };

typedef struct Copy {
  Action action;
  uint16_t faults, steps;
  uint64_t violated;
  uint32_t key_bytes, zone_words;
  uint8_t key[KEY_BYTES_MAX];
  int32_t zone[ZONE_WORDS_MAX];
} Copy;

typedef struct Copies {
  Copy items[SUCCESSORS_MAX];
  int32_t count;
} Copies;

static uint64_t seed = 0x5ccce550;
static Copies all, listed;
static Copy at, one;

static void copy(Copy *to, const Successor *from) {
  assert_true(from->state.key_bytes <= KEY_BYTES_MAX && from->state.zone_words <= ZONE_WORDS_MAX);
  to->action = from->action;
  to->faults = from->faults;
  to->steps = from->steps;
  to->violated = from->violated;
  to->key_bytes = from->state.key_bytes;
  to->zone_words = from->state.zone_words;
  if (from->state.key != NULL) {
    memcpy(to->key, from->state.key, to->key_bytes);
    memcpy(to->zone, from->state.zone, to->zone_words * sizeof(int32_t));
  }
}

static void collect(void *user, const Successor *successor) {
  Copies *copies = user;
  assert_true(copies->count < SUCCESSORS_MAX);
  copy(&copies->items[copies->count++], successor);
}

static void collect_one(void *user, const Successor *successor) {
  copy(user, successor);
}

static SystemState state_of(const Copy *from) {
  return (SystemState){from->key, from->key_bytes, from->zone, from->zone_words};
}

static void assert_same_transition(const Copy *a, const Copy *b) {
  assert_memory_equal(&a->action, &b->action, sizeof a->action);
  assert_int_equal(a->faults, b->faults);
  assert_int_equal(a->steps, b->steps);
}

static void assert_same_successor(const Copy *a, const Copy *b) {
  assert_same_transition(a, b);
  assert_int_equal(a->violated, b->violated);
  assert_int_equal(a->key_bytes, b->key_bytes);
  assert_memory_equal(a->key, b->key, a->key_bytes);
  assert_int_equal(a->zone_words, b->zone_words);
  assert_memory_equal(a->zone, b->zone, a->zone_words * sizeof(int32_t));
}

static void look_at(Timed *timed, const System *system) {
  all.count = listed.count = 0;
  system->successors(system->self, state_of(&at), false, collect, &all);
  timed_transitions(timed, state_of(&at), collect, &listed);
  assert_int_equal(listed.count, all.count);
  for (int32_t i = 0; i < all.count; i++) {
    assert_same_transition(&listed.items[i], &all.items[i]);
    one.key_bytes = 0;
    timed_successor(timed, state_of(&at), &listed.items[i].action, collect_one, &one);
    assert_same_successor(&one, &all.items[i]);
  }
}

static void walk(Timed *timed, const System *system, Rng *rng, uint64_t *successors) {
  system->initial(system->self, false, collect_one, &at);
  for (int32_t s = 0; s < STEPS; s++) {
    look_at(timed, system);
    *successors += (uint64_t)all.count;
    if (all.count == 0) {
      break;
    }
    at = all.items[rng_below(rng, (uint64_t)all.count)];
  }
}

static void check_scenario(const char *model, const char *scenario) {
  int64_t too_large;
  uint64_t successors = 0;
  Rng rng = rng_new(seed);
  Shipped shipped = shipped_open(model, scenario, NULL);
  World *world = world_new(shipped.program, property_monitors, PROPERTY_COUNT);
  Timed *timed = timed_new(world, &too_large);
  assert_non_null(timed);
  System system = timed_system(timed, false);
  for (int32_t w = 0; w < WALKS; w++) {
    walk(timed, &system, &rng, &successors);
  }
  assert_true(successors > 2 * WALKS);
  print_message("%s %s: %" PRIu64 " successors\n", model, scenario, successors);
  timed_free(timed);
  world_free(world);
  shipped_close(&shipped);
}

static void test_one_at_a_time_is_as_all_at_once(void **state) {
  (void)state;
  for (const ShippedScenario *small = shipped_small_scenarios; small->model != NULL; small++) {
    check_scenario(small->model, small->scenario);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_at_a_time_is_as_all_at_once)};
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
  print_message("seed 0x%" PRIx64 "\n", seed);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
