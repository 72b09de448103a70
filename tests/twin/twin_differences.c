/* zone/differences against the obvious twin on small random systems: every assignment of small integers is tried. A
 * system over integers that some numbers satisfy is satisfied by integers, not far apart. Usage: twin_differences
 * [seed]. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "zone/differences.h"

/* A bound that follows is the sum of NODES - 1 at most: FAR holds a point for each. */
enum { ROUNDS = 4000, NODES = 4, SPAN = 3, FAR = (NODES - 1) * SPAN, WIDTH = 2 * FAR + 1 };

static uint64_t seed = 20261206;

static bool holds(const Differences *differences, const int64_t *t) {
  for (int32_t c = 0; c < differences->count; c++) {
    const Difference *item = &differences->items[c];
    if (t[item->i] - t[item->j] > item->most) {
      return false;
    }
  }
  return true;
}

/* With t_0 = 0. Returns how many points satisfy it; largest[i * NODES + j] is the largest t_i - t_j among them. */
static int32_t try_all_points(const Differences *differences, int64_t *largest) {
  int32_t satisfying = 0;
  for (int32_t at = 0; at < NODES * NODES; at++) {
    largest[at] = INT64_MIN;
  }
  for (int32_t n = 0; n < WIDTH * WIDTH * WIDTH; n++) {
    int64_t t[NODES] = {0, n % WIDTH - FAR, n / WIDTH % WIDTH - FAR, n / WIDTH / WIDTH - FAR};
    if (!holds(differences, t)) {
      continue;
    }
    satisfying++;
    for (int32_t at = 0; at < NODES * NODES; at++) {
      int64_t difference = t[at / NODES] - t[at % NODES];
      largest[at] = difference > largest[at] ? difference : largest[at];
    }
  }
  return satisfying;
}

static void draw(Differences *differences, Rng *rng) {
  differences->count = 0;
  int32_t count = 1 + (int32_t)rng_below(rng, 3 * NODES);
  for (int32_t c = 0; c < count; c++) {
    int32_t i = (int32_t)rng_below(rng, NODES), j = (int32_t)rng_below(rng, NODES);
    differences_require(differences, i, j, (int64_t)rng_below(rng, 2 * SPAN + 1) - SPAN + (i == j));
  }
}

static void test_satisfiable_if_some_point_is_and_closed_to_the_largest_differences(void **state) {
  (void)state;
  Differences differences = {.nodes = NODES};
  Rng rng = rng_new(seed);
  int32_t satisfiable = 0, exact = 0;
  for (int32_t round = 0; round < ROUNDS; round++) {
    int64_t largest[NODES * NODES];
    draw(&differences, &rng);
    int32_t points = try_all_points(&differences, largest);
    assert_int_equal(differences_are_satisfiable(&differences), points > 0);
    if (points == 0) {
      continue;
    }
    satisfiable++;
    int64_t *closed = differences_close(&differences);
    for (int32_t at = 0; at < NODES * NODES; at++) {
      if (closed[at] < DIFFERENCE_UNBOUNDED) {
        assert_int_equal(closed[at], largest[at]);
        exact += at % (NODES + 1) != 0;
      }
    }
    free(closed);
  }
  printf("%d systems, %d satisfiable, %d bounds compared\n", ROUNDS, satisfiable, exact);
  assert_true(satisfiable > ROUNDS / 8 && satisfiable < ROUNDS / 8 * 7 && exact > ROUNDS);
  differences_clear(&differences);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    seed = strtoull(argv[1], NULL, 0);
  }
  printf("seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_satisfiable_if_some_point_is_and_closed_to_the_largest_differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
