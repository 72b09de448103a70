/* zone/dbm against two slow twins, on random zones: a naive DBM, (value, strict) pairs closed from scratch after each
 * operation, and sampled points, checked against what the operation means for sets.
 *
 * Constants are multiples of GRAIN, points are in half units: 2 * GRAIN steps between neighbouring constants, so that
 * a few ages can be ordered strictly between two constants. Usage: twin_dbm [seed].
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "zone/dbm.h"

enum {
  GRAIN = 4,
  CONSTANT_MAX = 6,
  SMALL_DIM_MAX = 6,
  LARGE_DIM_MAX = 20,
  ENTRIES_MAX = LARGE_DIM_MAX * LARGE_DIM_MAX
};
enum {
  ROUNDS = 2000,
  LARGE_ROUNDS = 60,
  MERGE_ROUNDS = 4 * ROUNDS,
  POINTS = 8,
  FAR_HALF = 2 * GRAIN * (CONSTANT_MAX + 2)
};
/* No value needed to put a point below FAR_HALF into a small zone is larger: a bound is a path of constants. */
enum { VALUE_HALF_MAX = FAR_HALF + 2 * GRAIN * CONSTANT_MAX * SMALL_DIM_MAX };

/* -- Random numbers: splitmix64 (Steele, Lea, Flood 2014) ---------------------------------------------------------- */

static uint64_t seed = 20240607, random_state;
static int grain = GRAIN; /* of the constants */

static uint64_t random_word(void) {
  uint64_t word = random_state += UINT64_C(0x9e3779b97f4a7c15);
  word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
  return word ^ (word >> 31);
}
static int pick(int low, int high) {
  return low + (int)(random_word() % (uint64_t)(high - low + 1));
}
static bool one_in(int count) {
  return pick(1, count) == 1;
}

/* Each test starts from the seed, so that it fails alone as it fails among the others. */
static int start(void **state) {
  (void)state;
  random_state = seed;
  grain = GRAIN;
  return 0;
}

/* -- The naive twin ------------------------------------------------------------------------------------------------ */

typedef struct {
  int64_t value;
  bool strict, none; /* none: no bound */
} Entry;

typedef struct {
  int dim;
  Entry at[LARGE_DIM_MAX + 1][LARGE_DIM_MAX + 1];
} Naive;

static const Entry no_bound = {0, false, true};
static const Entry at_most_zero = {0, false, false};

static bool tighter(Entry a, Entry b) {
  if (a.none || b.none) {
    return !a.none && b.none;
  }
  return a.value < b.value || (a.value == b.value && a.strict && !b.strict);
}
static bool same(Entry a, Entry b) {
  return !tighter(a, b) && !tighter(b, a);
}
static Entry sum(Entry a, Entry b) {
  return a.none || b.none ? no_bound : (Entry){a.value + b.value, a.strict || b.strict, false};
}
static Entry opposite(Entry a) {
  return (Entry){-a.value, !a.strict, false};
}
static Entry entry_of(Bound bound) {
  return bound == BOUND_INFINITY ? no_bound : (Entry){bound_value(bound), bound_is_strict(bound), false};
}

/* Closes; false if empty. */
static bool naive_close(Naive *zone) {
  for (int k = 0; k < zone->dim; k++) {
    for (int i = 0; i < zone->dim; i++) {
      for (int j = 0; j < zone->dim; j++) {
        Entry path = sum(zone->at[i][k], zone->at[k][j]);
        if (tighter(path, zone->at[i][j])) {
          zone->at[i][j] = path;
        }
      }
    }
  }
  for (int i = 0; i < zone->dim; i++) {
    if (tighter(zone->at[i][i], at_most_zero)) {
      return false;
    }
  }
  return true;
}

static void naive_universe(Naive *zone, int dim) {
  zone->dim = dim;
  for (int i = 0; i < dim; i++) {
    for (int j = 0; j < dim; j++) {
      zone->at[i][j] = i == 0 || i == j ? at_most_zero : no_bound;
    }
  }
}

/* Adds the constraint without closing. */
static void naive_add(Naive *zone, int i, int j, Entry bound) {
  if (tighter(bound, zone->at[i][j])) {
    zone->at[i][j] = bound;
  }
}

static bool naive_constrain(Naive *zone, int i, int j, Entry bound) {
  naive_add(zone, i, j, bound);
  return naive_close(zone);
}

static void naive_forget(Naive *zone, int x) {
  for (int i = 0; i < zone->dim; i++) {
    zone->at[x][i] = zone->at[i][x] = no_bound;
  }
  zone->at[0][x] = zone->at[x][x] = at_most_zero;
  assert_true(naive_close(zone));
}

/* x := y, or x := 0 when y is 0: forget, then ask for equality. */
static void naive_assign(Naive *zone, int x, int y) {
  if (x == y) {
    return;
  }
  naive_forget(zone, x);
  naive_add(zone, x, y, at_most_zero);
  naive_add(zone, y, x, at_most_zero);
  assert_true(naive_close(zone));
}

/* By definition: v is in the result if v - d is in the zone for some d >= 0. The constant of the zone becomes an age
 * (-d as seen from the new constant), which is then projected away. */
static void naive_delay(Naive *zone) {
  Naive moved;
  int dim = zone->dim;
  moved.dim = dim + 1;
  for (int i = 0; i <= dim; i++) {
    for (int j = 0; j <= dim; j++) {
      moved.at[i][j] = i > 0 && j > 0 ? zone->at[i - 1][j - 1] : i == 0 || i == j ? at_most_zero : no_bound;
    }
  }
  assert_true(naive_close(&moved));
  for (int i = 0; i < dim; i++) {
    for (int j = 0; j < dim; j++) {
      zone->at[i][j] = moved.at[i == 0 ? 0 : i + 1][j == 0 ? 0 : j + 1];
    }
  }
}

static bool naive_includes(const Naive *outer, const Naive *inner) {
  for (int i = 0; i < outer->dim; i++) {
    for (int j = 0; j < outer->dim; j++) {
      if (tighter(outer->at[i][j], inner->at[i][j])) {
        return false;
      }
    }
  }
  return true;
}

static void naive_hull(Naive *zone, const Naive *other) {
  for (int i = 0; i < zone->dim; i++) {
    for (int j = 0; j < zone->dim; j++) {
      if (tighter(zone->at[i][j], other->at[i][j])) {
        zone->at[i][j] = other->at[i][j];
      }
    }
  }
  assert_true(naive_close(zone));
}

/* The union is the hull if no point of the hull breaks a constraint of `a` and one of `b`: each pair is tried. */
static bool naive_union_is_hull(const Naive *a, const Naive *b) {
  int dim = a->dim;
  Naive hull = *a;
  naive_hull(&hull, b);
  for (int first = 0; first < dim * dim; first++) {
    Entry of_a = a->at[first / dim][first % dim];
    for (int second = 0; second < dim * dim && tighter(of_a, hull.at[first / dim][first % dim]); second++) {
      Entry of_b = b->at[second / dim][second % dim];
      if (of_b.none) {
        continue;
      }
      Naive beyond = hull;
      naive_add(&beyond, first % dim, first / dim, opposite(of_a));
      naive_add(&beyond, second % dim, second / dim, opposite(of_b));
      if (naive_close(&beyond)) {
        return false;
      }
    }
  }
  return true;
}

/* Extra+LU as the paper writes it; -1 stands for minus infinity. */
static void naive_extrapolate(Naive *zone, const int32_t *lower, const int32_t *upper) {
  Naive before = *zone;
  for (int i = 0; i < zone->dim; i++) {
    for (int j = 0; j < zone->dim; j++) {
      Entry c = before.at[i][j];
      int64_t l = i == 0 ? 0 : lower[i], u = j == 0 ? 0 : upper[j];
      if (i == j || c.none) {
        continue;
      }
      if (c.value > l || -before.at[0][i].value > l || (-before.at[0][j].value > u && i != 0)) {
        zone->at[i][j] = no_bound;
      } else if (-before.at[0][j].value > u && i == 0) {
        zone->at[i][j] = u < 0 ? at_most_zero : (Entry){-u, true, false};
      }
    }
  }
  assert_true(naive_close(zone));
}

static void expect_twins(const Bound *zone, const Naive *naive) {
  int dim = naive->dim;
  assert_true(dbm_is_closed(zone, dim));
  for (int i = 0; i < dim; i++) {
    for (int j = 0; j < dim; j++) {
      if (!same(entry_of(zone[i * dim + j]), naive->at[i][j])) {
        fail_msg("dim %d: entry %d, %d is code %d; the naive twin has %lld, strict %d, none %d", dim, i, j,
                 (int)zone[i * dim + j], (long long)naive->at[i][j].value, naive->at[i][j].strict,
                 naive->at[i][j].none);
      }
    }
  }
}

/* -- Random zones and points ----------------------------------------------------------------------------------------
 */

typedef struct {
  Bound zone[ENTRIES_MAX];
  Naive naive;
} Pair;

static Bound random_bound(void) {
  int32_t value = grain * pick(-CONSTANT_MAX, CONSTANT_MAX);
  return one_in(2) ? bound_below(value) : bound_at_most(value);
}

static int other_than(int i, int low, int high) {
  int j = pick(low, high - 1);
  return j >= i ? j + 1 : j;
}

/* Constrains both twins; false (and no change) if that is empty. */
static bool constrain(Pair *pair, int i, int j, Bound bound) {
  int dim = pair->naive.dim;
  Pair before = *pair;
  bool some = dbm_satisfies_some(pair->zone, dim, i, j, bound);
  bool all = dbm_satisfies_all(pair->zone, dim, i, j, bound);
  assert_true(dbm_equal(pair->zone, before.zone, dim));
  bool left = naive_constrain(&pair->naive, i, j, entry_of(bound));
  assert_int_equal(some, left);
  assert_int_equal(dbm_constrain(pair->zone, dim, i, j, bound), left);
  if (!left) {
    *pair = before;
    return false;
  }
  expect_twins(pair->zone, &pair->naive);
  assert_int_equal(all, dbm_equal(pair->zone, before.zone, dim));
  return true;
}

/* Any zone: a few constraints that leave something, on all ages >= 0. */
static void random_zone(Pair *pair, int dim, int constraint_count) {
  naive_universe(&pair->naive, dim);
  dbm_universe(pair->zone, dim);
  for (int n = 0; n < constraint_count && dim > 1; n++) {
    int i = pick(0, dim - 1);
    constrain(pair, i, other_than(i, 0, dim - 1), random_bound());
  }
}

static int small_zone(Pair *pair) {
  int dim = pick(2, SMALL_DIM_MAX);
  random_zone(pair, dim, pick(0, 3 * dim));
  return dim;
}

/* A point of the zone, age by age between the bounds given those before; often on a border. False: no half unit fits.
 */
static bool point_of(const Bound *zone, int dim, int64_t *point) {
  point[0] = 0;
  for (int i = 1; i < dim; i++) {
    int64_t low = 0, high = FAR_HALF;
    for (int j = 0; j < i; j++) {
      Bound up = zone[i * dim + j], down = zone[j * dim + i]; /* in halves: i - j < up, j - i < down */
      if (up != BOUND_INFINITY && point[j] + up - 1 < high) {
        high = point[j] + up - 1;
      }
      if (down != BOUND_INFINITY && point[j] - down + 1 > low) {
        low = point[j] - down + 1;
      }
    }
    if (low > high) {
      return false;
    }
    point[i] = one_in(3) ? low : one_in(3) ? high : pick((int)low, (int)high);
  }
  assert_true(dbm_contains_half(zone, dim, point));
  return true;
}

/* A point in, near or far from the zone. */
static void random_point(const Bound *zone, int dim, int64_t *point) {
  if (one_in(4) || !point_of(zone, dim, point)) {
    point[0] = 0;
    for (int i = 1; i < dim; i++) {
      point[i] = pick(0, FAR_HALF);
    }
  } else if (one_in(2)) {
    int i = pick(1, dim - 1);
    point[i] = point[i] > 0 && one_in(2) ? point[i] - 1 : point[i] + 1;
  }
}

static bool naive_contains_half(const Naive *zone, const int64_t *point) {
  for (int i = 0; i < zone->dim; i++) {
    for (int j = 0; j < zone->dim; j++) {
      Entry bound = {2 * zone->at[i][j].value, zone->at[i][j].strict, zone->at[i][j].none};
      if (tighter(bound, (Entry){point[i] - point[j], false, false})) {
        return false;
      }
    }
  }
  return true;
}

static bool contains(const Pair *pair, const int64_t *point) {
  bool inside = dbm_contains_half(pair->zone, pair->naive.dim, point);
  assert_int_equal(inside, naive_contains_half(&pair->naive, point));
  return inside;
}

static void make_even(int64_t *point, int dim) {
  for (int i = 1; i < dim; i++) {
    point[i] -= point[i] % 2;
  }
}

/* Whether some value of age x (of no age, if 0: then of the time to go back) puts the point into the zone. Values are
 * tried by the half unit; for an even point that finds one if there is one, since the limits are even too. */
static bool some_value_fits(const Pair *pair, int x, const int64_t *point) {
  int64_t tried[LARGE_DIM_MAX];
  int dim = pair->naive.dim;
  for (int64_t value = 0; value <= VALUE_HALF_MAX; value++) {
    memcpy(tried, point, (size_t)dim * sizeof *tried);
    for (int i = 1; i < dim; i++) {
      tried[i] = x == 0 ? point[i] - value : i == x ? value : point[i];
    }
    if (contains(pair, tried)) {
      return true;
    }
  }
  return false;
}

static void expect_enough(const char *what, int count, int least) {
  printf("  %-44s %d\n", what, count);
  if (count < least) {
    fail_msg("only %d cases: %s; expected at least %d", count, what, least);
  }
}

/* -- The tests ------------------------------------------------------------------------------------------------------
 */

static void test_constrain_is_intersection(void **state) {
  (void)state;
  int empty_count = 0, implied_count = 0, tightened_count = 0, in_count = 0, out_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair pair;
    int64_t point[SMALL_DIM_MAX];
    int dim = small_zone(&pair), i = pick(0, dim - 1), j = other_than(i, 0, dim - 1);
    Pair before = pair;
    Bound bound = random_bound();
    bool left = constrain(&pair, i, j, bound);
    bool implied = left && dbm_equal(pair.zone, before.zone, dim);
    empty_count += !left;
    implied_count += implied;
    tightened_count += left && !implied;
    for (int p = 0; p < POINTS; p++) {
      random_point(before.zone, dim, point);
      bool wanted = contains(&before, point) && point[i] - point[j] < bound;
      assert_int_equal(left && contains(&pair, point), wanted);
      in_count += wanted;
      out_count += contains(&before, point) && !wanted;
    }
  }
  expect_enough("constraints that leave nothing", empty_count, ROUNDS / 20);
  expect_enough("implied constraints", implied_count, ROUNDS / 20);
  expect_enough("constraints that tighten", tightened_count, ROUNDS / 5);
  expect_enough("points kept", in_count, ROUNDS);
  expect_enough("points cut off", out_count, ROUNDS / 2);
}

/* Delay (x = 0) or forget x: points move forwards into the result, and each point of the result has an origin. */
static void expect_moves(const Pair *before, const Pair *after, int x, int *from_outside_count) {
  int dim = before->naive.dim;
  int64_t point[SMALL_DIM_MAX];
  for (int p = 0; p < POINTS; p++) {
    random_point(before->zone, dim, point);
    bool inside = contains(before, point);
    int64_t value = pick(0, FAR_HALF);
    for (int i = 1; i < dim; i++) {
      point[i] = x == 0 ? point[i] + value : i == x ? value : point[i];
    }
    assert_true(!inside || contains(after, point));
    random_point(after->zone, dim, point);
    make_even(point, dim);
    bool reached = contains(after, point);
    assert_int_equal(reached, some_value_fits(before, x, point));
    *from_outside_count += reached && !contains(before, point);
  }
}

static void test_delay_adds_the_same_time_to_all_ages(void **state) {
  (void)state;
  int moved_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair pair;
    int dim = small_zone(&pair);
    Pair before = pair;
    dbm_delay(pair.zone, dim);
    naive_delay(&pair.naive);
    expect_twins(pair.zone, &pair.naive);
    expect_moves(&before, &pair, 0, &moved_count);
  }
  expect_enough("points reached by waiting only", moved_count, ROUNDS / 4); /* many random zones have no upper bounds */
}

static void test_forget_allows_any_value(void **state) {
  (void)state;
  int moved_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair pair;
    int dim = small_zone(&pair), x = pick(1, dim - 1);
    Pair before = pair;
    dbm_forget(pair.zone, dim, x);
    naive_forget(&pair.naive, x);
    expect_twins(pair.zone, &pair.naive);
    expect_moves(&before, &pair, x, &moved_count);
  }
  expect_enough("points with a new value only", moved_count, ROUNDS);
}

static void test_reset_and_copy_assign(void **state) {
  (void)state;
  int reset_count = 0, copy_count = 0, in_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair pair;
    int64_t point[SMALL_DIM_MAX];
    int dim = small_zone(&pair), x = pick(1, dim - 1), y = pick(0, dim - 1);
    Pair before = pair;
    if (y == 0) {
      dbm_reset(pair.zone, dim, x);
    } else {
      dbm_copy(pair.zone, dim, x, y);
    }
    naive_assign(&pair.naive, x, y);
    expect_twins(pair.zone, &pair.naive);
    reset_count += y == 0;
    copy_count += y != 0 && x != y;
    for (int p = 0; p < POINTS; p++) {
      random_point(before.zone, dim, point);
      bool inside = contains(&before, point);
      point[x] = point[y];
      assert_true(!inside || contains(&pair, point));
      random_point(pair.zone, dim, point);
      make_even(point, dim);
      bool reached = contains(&pair, point);
      assert_int_equal(reached, point[x] == point[y] &&
                                    (x == y ? contains(&before, point) : some_value_fits(&before, x, point)));
      in_count += reached;
    }
  }
  expect_enough("resets", reset_count, ROUNDS / 10);
  expect_enough("copies", copy_count, ROUNDS / 10);
  expect_enough("points after an assignment", in_count, ROUNDS);
}

/* A zone near another: some of the constraints dropped (a hull with a small zone inside) or new ones added. */
static void neighbour(Pair *pair, const Pair *of) {
  int dim = of->naive.dim;
  *pair = *of;
  for (int n = pick(1, 3); n > 0; n--) {
    int i = pick(0, dim - 1);
    constrain(pair, i, other_than(i, 0, dim - 1), random_bound());
  }
}

static void test_includes_is_inclusion_of_points(void **state) {
  (void)state;
  int yes_count = 0, no_count = 0, witness_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair outer, inner;
    int64_t point[SMALL_DIM_MAX];
    int dim = small_zone(&outer);
    neighbour(&inner, &outer);
    if (one_in(2)) { /* a second cut, on the outer one, so that the answer is open */
      Pair cut;
      neighbour(&cut, &outer);
      outer = cut;
    }
    bool includes = dbm_includes(outer.zone, inner.zone, dim);
    assert_int_equal(includes, naive_includes(&outer.naive, &inner.naive));
    yes_count += includes && !dbm_equal(outer.zone, inner.zone, dim);
    no_count += !includes;
    bool witness = false;
    for (int p = 0; p < POINTS; p++) {
      if (point_of(inner.zone, dim, point)) {
        witness |= !contains(&outer, point);
      }
    }
    assert_false(includes && witness);
    witness_count += witness;
  }
  expect_enough("strict inclusions", yes_count, ROUNDS / 10);
  expect_enough("no inclusion", no_count, ROUNDS / 10);
  expect_enough("no inclusion, with a point to show", witness_count, ROUNDS / 20);
}

static void test_hull_is_the_smallest_zone_with_both(void **state) {
  (void)state;
  int grew_count = 0, between_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair a, b, hull;
    int64_t point[SMALL_DIM_MAX];
    int dim = small_zone(&a);
    random_zone(&b, dim, pick(0, 3 * dim));
    hull = a;
    bool grew = dbm_hull(hull.zone, b.zone, dim);
    naive_hull(&hull.naive, &b.naive);
    expect_twins(hull.zone, &hull.naive);
    assert_int_equal(grew, !naive_includes(&a.naive, &b.naive));
    grew_count += grew;
    for (int p = 0; p < POINTS; p++) {
      if (point_of(one_in(2) ? a.zone : b.zone, dim, point)) {
        assert_true(contains(&hull, point));
      }
      if (point_of(hull.zone, dim, point)) {
        between_count += !contains(&a, point) && !contains(&b, point);
      }
    }
  }
  expect_enough("hulls that grew", grew_count, ROUNDS / 4);
  expect_enough("points in the hull only", between_count, ROUNDS);
}

/* Two zones whose union has a chance: both sides of a cut through one zone, with or without overlap or gap, and often
 * one or both of them cut again. */
static bool two_parts(Pair *a, Pair *b) {
  int dim = pick(2, 4), i = pick(0, dim - 1), j = other_than(i, 0, dim - 1);
  random_zone(a, dim, pick(0, 2 * dim));
  *b = *a;
  Bound cut = random_bound(), opposite_cut = bound_negate(cut) + (one_in(2) ? pick(-1, 1) : 2 * GRAIN * pick(0, 1));
  bool cut_both = constrain(a, i, j, cut) && constrain(b, j, i, opposite_cut);
  for (int n = pick(0, 2); n > 0; n--) {
    int k = pick(0, dim - 1);
    constrain(one_in(2) ? a : b, k, other_than(k, 0, dim - 1), random_bound());
  }
  return cut_both;
}

static void test_merge_happens_exactly_when_the_union_is_convex(void **state) {
  (void)state;
  int merged_count = 0, refused_count = 0, point_count = 0;
  for (int n = 0; n < MERGE_ROUNDS; n++) {
    grain = one_in(3) ? GRAIN : 1; /* 1: a piece that is one unit too small shows, though there are few points */
    Pair a, b, merged;
    int64_t point[SMALL_DIM_MAX];
    bool cut = two_parts(&a, &b);
    int dim = a.naive.dim;
    bool trivial = !cut || dbm_includes(a.zone, b.zone, dim) || dbm_includes(b.zone, a.zone, dim);
    merged = a;
    bool exact = dbm_merge_exact(merged.zone, b.zone, dim);
    assert_int_equal(exact, naive_union_is_hull(&a.naive, &b.naive));
    if (exact) {
      naive_hull(&merged.naive, &b.naive);
    }
    expect_twins(merged.zone, &merged.naive); /* the hull, or untouched */
    merged_count += exact && !trivial;
    refused_count += !exact;
    for (int p = 0; p < POINTS && exact; p++) {
      random_point(merged.zone, dim, point);
      assert_int_equal(contains(&merged, point), contains(&a, point) || contains(&b, point));
      point_count += !trivial && contains(&a, point) != contains(&b, point);
    }
  }
  expect_enough("merged, neither includes the other", merged_count, ROUNDS / 5);
  expect_enough("not merged", refused_count, ROUNDS / 5);
  expect_enough("points of one of two merged zones", point_count, ROUNDS / 2);
}

/* A value v of an age is simulated by w if v = w, or L < w < v, or U < v < w (the LU-preorder of Behrmann et al. 2006):
 * w passes the guards that v passes. The w for a given v are an interval, so "some point of the zone simulates this
 * point" is a zone (in half units), empty or not. */
static bool is_simulated(const Naive *zone, const int64_t *point, const int32_t *lower, const int32_t *upper) {
  Naive simulating = *zone;
  for (int i = 0; i < zone->dim; i++) {
    for (int j = 0; j < zone->dim; j++) {
      simulating.at[i][j].value *= 2;
    }
  }
  for (int i = 1; i < zone->dim; i++) {
    int64_t l = lower[i] < 0 ? -1 : 2 * lower[i], u = upper[i] < 0 ? -1 : 2 * upper[i];
    if (point[i] <= u) {
      naive_add(&simulating, i, 0, (Entry){point[i], false, false});
    }
    naive_add(&simulating, 0, i, point[i] > l ? (Entry){-l, true, false} : (Entry){-point[i], false, false});
  }
  return naive_close(&simulating);
}

static void test_extrapolation_adds_only_what_guards_cannot_tell(void **state) {
  (void)state;
  int changed_count = 0, kept_count = 0, new_point_count = 0, told_apart_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair pair;
    int64_t point[SMALL_DIM_MAX];
    int32_t lower[SMALL_DIM_MAX] = {77}, upper[SMALL_DIM_MAX] = {-77}; /* index 0 is ignored */
    int dim = small_zone(&pair);
    Pair before = pair;
    for (int i = 1; i < dim; i++) {
      lower[i] = one_in(5) ? -1 : GRAIN * pick(0, CONSTANT_MAX);
      upper[i] = one_in(5) ? -1 : GRAIN * pick(0, CONSTANT_MAX);
    }
    dbm_extrapolate(pair.zone, dim, lower, upper);
    naive_extrapolate(&pair.naive, lower, upper);
    expect_twins(pair.zone, &pair.naive);
    assert_true(dbm_includes(pair.zone, before.zone, dim));
    bool changed = !dbm_equal(pair.zone, before.zone, dim);
    changed_count += changed;
    kept_count += !changed;
    for (int p = 0; p < POINTS; p++) {
      random_point(pair.zone, dim, point);
      bool simulated = is_simulated(&before.naive, point, lower, upper);
      assert_true(simulated || !contains(&pair, point));
      new_point_count += contains(&pair, point) && !contains(&before, point);
      told_apart_count += !simulated;
    }
  }
  expect_enough("zones that grew", changed_count, ROUNDS / 4);
  expect_enough("zones that did not", kept_count, ROUNDS / 50);
  expect_enough("new points", new_point_count, ROUNDS);
  expect_enough("points that guards can tell apart", told_apart_count, ROUNDS / 2);
}

static void test_rearrange_is_projection_with_zeros(void **state) {
  (void)state;
  int new_count = 0, dropped_count = 0, in_count = 0;
  for (int n = 0; n < ROUNDS; n++) {
    Pair pair, out;
    int64_t point[SMALL_DIM_MAX], moved[SMALL_DIM_MAX] = {0};
    int source[SMALL_DIM_MAX] = {0}, free_ages[SMALL_DIM_MAX], zeros = 0;
    int dim = small_zone(&pair), free_count = dim - 1;
    out.naive.dim = pick(1, SMALL_DIM_MAX);
    for (int i = 1; i < dim; i++) {
      free_ages[i - 1] = i;
    }
    for (int i = 1; i < out.naive.dim; i++) {
      int at = pick(-1, free_count - 1);
      source[i] = at < 0 ? -1 : free_ages[at];
      zeros += at < 0;
      if (at >= 0) {
        free_ages[at] = free_ages[--free_count];
      }
    }
    naive_universe(&out.naive, out.naive.dim);
    for (int i = 0; i < out.naive.dim; i++) {
      for (int j = 0; j < out.naive.dim; j++) {
        if (source[i] >= 0 && source[j] >= 0) {
          out.naive.at[i][j] = pair.naive.at[source[i]][source[j]];
        }
      }
    }
    for (int i = 1; i < out.naive.dim; i++) {
      if (source[i] < 0) {
        naive_assign(&out.naive, i, 0);
      }
    }
    (zeros ? dbm_rearrange : dbm_project)(out.zone, out.naive.dim, pair.zone, dim, source);
    expect_twins(out.zone, &out.naive);
    new_count += zeros > 0;
    dropped_count += free_count > 0;
    for (int p = 0; p < POINTS; p++) {
      if (point_of(pair.zone, dim, point)) {
        for (int i = 1; i < out.naive.dim; i++) {
          moved[i] = source[i] < 0 ? 0 : point[source[i]];
        }
        assert_true(contains(&out, moved));
        in_count++;
      }
    }
  }
  expect_enough("with new ages", new_count, ROUNDS / 10);
  expect_enough("with dropped ages", dropped_count, ROUNDS / 10);
  expect_enough("points", in_count, ROUNDS);
}

/* One step of a random walk, on both twins. */
static void walk(Pair *pair, const int32_t *lower, const int32_t *upper) {
  int dim = pair->naive.dim, i = pick(0, dim - 1), x = pick(1, dim - 1), y = pick(1, dim - 1);
  switch (pick(0, 6)) {
  case 0:
    dbm_delay(pair->zone, dim);
    naive_delay(&pair->naive);
    break;
  case 1:
    dbm_reset(pair->zone, dim, x);
    naive_assign(&pair->naive, x, 0);
    break;
  case 2:
    dbm_copy(pair->zone, dim, x, y);
    naive_assign(&pair->naive, x, y);
    break;
  case 3:
    if (one_in(4)) {
      dbm_forget(pair->zone, dim, x);
      naive_forget(&pair->naive, x);
    }
    break;
  case 4:
    if (one_in(4)) {
      dbm_extrapolate(pair->zone, dim, lower, upper);
      naive_extrapolate(&pair->naive, lower, upper);
    }
    break;
  default: constrain(pair, i, other_than(i, 0, dim - 1), random_bound());
  }
  expect_twins(pair->zone, &pair->naive);
}

static void test_long_walks_in_large_zones_stay_twins(void **state) {
  (void)state;
  int bounded_count = 0, merged_count = 0;
  for (int n = 0; n < LARGE_ROUNDS; n++) {
    Pair pair, other;
    int32_t lower[LARGE_DIM_MAX], upper[LARGE_DIM_MAX];
    int dim = pick(7, LARGE_DIM_MAX);
    random_zone(&pair, dim, dim);
    for (int i = 0; i < dim; i++) {
      lower[i] = GRAIN * pick(0, CONSTANT_MAX);
      upper[i] = GRAIN * pick(0, CONSTANT_MAX);
    }
    for (int step = 0; step < 40; step++) {
      walk(&pair, lower, upper);
    }
    int i = pick(0, dim - 1), j = other_than(i, 0, dim - 1);
    other = pair;
    Bound cut = random_bound();
    if (constrain(&pair, i, j, cut) && constrain(&other, j, i, bound_negate(cut))) { /* two halves always merge */
      assert_true(dbm_merge_exact(pair.zone, other.zone, dim));
      naive_hull(&pair.naive, &other.naive);
      expect_twins(pair.zone, &pair.naive);
      merged_count++;
    }
    for (int at = 0; at < dim * dim; at++) {
      bounded_count += pair.zone[at] != BOUND_INFINITY && pair.zone[at] != BOUND_ZERO;
    }
  }
  expect_enough("large halves merged", merged_count, LARGE_ROUNDS / 10);
  expect_enough("bounds at the end of walks", bounded_count, LARGE_ROUNDS * 20);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    seed = strtoull(argv[1], NULL, 0);
  }
  printf("seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_constrain_is_intersection, start),
      cmocka_unit_test_setup(test_delay_adds_the_same_time_to_all_ages, start),
      cmocka_unit_test_setup(test_forget_allows_any_value, start),
      cmocka_unit_test_setup(test_reset_and_copy_assign, start),
      cmocka_unit_test_setup(test_includes_is_inclusion_of_points, start),
      cmocka_unit_test_setup(test_hull_is_the_smallest_zone_with_both, start),
      cmocka_unit_test_setup(test_merge_happens_exactly_when_the_union_is_convex, start),
      cmocka_unit_test_setup(test_extrapolation_adds_only_what_guards_cannot_tell, start),
      cmocka_unit_test_setup(test_rearrange_is_projection_with_zeros, start),
      cmocka_unit_test_setup(test_long_walks_in_large_zones_stay_twins, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
