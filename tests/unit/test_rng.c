/* The random numbers: frozen vectors (from the reference implementations where there are any), ranges, streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

/* Published with rand_xoshiro, from Vigna's splitmix64.c. */
static void test_splitmix64_is_the_published_one(void **state) {
  (void)state;
  static const uint64_t expected[] = {UINT64_C(1985237415132408290), UINT64_C(2979275885539914483),
                                      UINT64_C(13511426838097143398)};
  uint64_t split = UINT64_C(1477776061723855037);
  for (int i = 0; i < 3; i++) {
    assert_true(rng_split(&split) == expected[i]);
  }
}

/* Published with rand_xoshiro, from Vigna's xoshiro256starstar.c. */
static void test_xoshiro256_is_the_published_one(void **state) {
  (void)state;
  static const uint64_t expected[] = {11520,
                                      0,
                                      1509978240,
                                      UINT64_C(1215971899390074240),
                                      UINT64_C(1216172134540287360),
                                      UINT64_C(607988272756665600),
                                      UINT64_C(16172922978634559625),
                                      UINT64_C(8476171486693032832),
                                      UINT64_C(10595114339597558777),
                                      UINT64_C(2904607092377533576)};
  Rng rng = {{1, 2, 3, 4}};
  for (int i = 0; i < 10; i++) {
    assert_true(rng_next(&rng) == expected[i]);
  }
}

/* Ours: a seed printed by this version means the same run for ever. Whoever changes these raises RNG_VERSION. */
static void test_seeding_and_streams_are_frozen(void **state) {
  (void)state;
  Rng rng = rng_new(42);
  assert_true(rng_next(&rng) == UINT64_C(1546998764402558742));
  assert_true(rng_derive(42, 0) == UINT64_C(228508882106960437));
  assert_true(rng_derive_named(42, "latency") == UINT64_C(14377827112660926387));
  assert_int_equal(RNG_VERSION, 1);
}

static void test_ranges_are_kept_and_filled(void **state) {
  (void)state;
  Rng rng = rng_new(7);
  int seen[7] = {0};
  for (int i = 0; i < 7000; i++) {
    int64_t drawn = rng_between(&rng, -3, 3);
    assert_in_range(drawn + 3, 0, 6);
    seen[drawn + 3]++;
    double unit = rng_unit(&rng);
    assert_true(unit > 0 && unit < 1);
  }
  for (int i = 0; i < 7; i++) {
    assert_in_range(seen[i], 850, 1150); /* 1,000 expected, deviation 29 */
  }
  assert_int_equal(rng_between(&rng, 5, 5), 5);
  assert_int_equal(rng_below(&rng, 1), 0);
  rng_between(&rng, INT64_MIN, INT64_MAX);
}

static void test_streams_of_near_seeds_and_indices_differ(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 30; seed++) {
    for (uint64_t index = 0; index < 30; index++) {
      for (uint64_t other = 0; other < seed * 30 + index; other++) {
        assert_true(rng_derive(seed, index) != rng_derive(other / 30, other % 30));
      }
    }
  }
  assert_true(rng_derive_named(1, "ab") != rng_derive_named(1, "ba"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_splitmix64_is_the_published_one),
      cmocka_unit_test(test_xoshiro256_is_the_published_one),
      cmocka_unit_test(test_seeding_and_streams_are_frozen),
      cmocka_unit_test(test_ranges_are_kept_and_filled),
      cmocka_unit_test(test_streams_of_near_seeds_and_indices_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
