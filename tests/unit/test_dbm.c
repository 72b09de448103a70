/* Small zones by hand. Index 0 is the constant, X and Y are ages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zone/dbm.h"

#define INF BOUND_INFINITY
#define LE(value) (2 * (value) + 1)
#define LT(value) (2 * (value))
enum { X = 1, Y = 2, DIM = 3, ENTRIES = DIM * DIM };

static void expect_zone(const Bound *zone, const Bound *wanted, int dim) {
  assert_true(dbm_is_closed(wanted, dim)); /* else the test itself is wrong */
  for (int at = 0; at < dim * dim; at++) {
    assert_int_equal(zone[at], wanted[at]);
  }
  assert_true(dbm_equal(zone, wanted, dim));
}

static void expect_point(const Bound *zone, int64_t half_x, int64_t half_y, bool inside) {
  int64_t point[DIM] = {0, half_x, half_y};
  assert_int_equal(dbm_contains_half(zone, DIM, point), inside);
}

/* 2 <= X < 5, X <= Y, Y - X < 3 */
static const Bound paper_zone[ENTRIES] = {LE(0), LE(-2), LE(-2), LT(5), LE(0), LE(0), LT(8), LT(3), LE(0)};

/* low_x <= X <= high_x, low_y <= Y <= high_y */
static void box(Bound *zone, int low_x, int high_x, int low_y, int high_y) {
  dbm_universe(zone, DIM);
  assert_true(dbm_constrain(zone, DIM, 0, X, bound_at_most(-low_x)));
  assert_true(dbm_constrain(zone, DIM, X, 0, bound_at_most(high_x)));
  assert_true(dbm_constrain(zone, DIM, 0, Y, bound_at_most(-low_y)));
  assert_true(dbm_constrain(zone, DIM, Y, 0, bound_at_most(high_y)));
}

static void test_codes_of_bounds_order_add_and_negate_like_bounds(void **state) {
  (void)state;
  assert_true(bound_below(3) < bound_at_most(3) && bound_at_most(3) < bound_below(4));
  assert_true(bound_below(-3) < bound_at_most(-3) && bound_at_most(-3) < bound_below(-2));
  assert_int_equal(bound_value(bound_below(-3)), -3);
  assert_int_equal(bound_value(bound_at_most(-3)), -3);
  assert_int_equal(bound_add(bound_at_most(2), bound_at_most(-5)), bound_at_most(-3));
  assert_int_equal(bound_add(bound_at_most(2), bound_below(-5)), bound_below(-3));
  assert_int_equal(bound_add(bound_below(2), bound_below(-5)), bound_below(-3));
  assert_int_equal(bound_add(BOUND_INFINITY, bound_below(-5)), BOUND_INFINITY);
  assert_int_equal(bound_negate(bound_at_most(4)), bound_below(-4));
  assert_int_equal(bound_negate(bound_below(4)), bound_at_most(-4));
}

static void test_zero_and_universe_are_closed(void **state) {
  (void)state;
  Bound zone[DBM_DIM_MAX * DBM_DIM_MAX];
  for (int dim = 1; dim <= DBM_DIM_MAX; dim += 21) {
    dbm_zero(zone, dim);
    assert_true(dbm_is_closed(zone, dim));
    dbm_universe(zone, dim);
    assert_true(dbm_is_closed(zone, dim));
  }
}

static void test_closed_means_tight_not_empty_and_not_negative(void **state) {
  (void)state;
  Bound loose[ENTRIES] = {LE(0), LE(0), LE(0), LE(5), LE(0), LE(0), INF, LE(3), LE(0)}; /* Y <= X + 3 <= 8 */
  assert_false(dbm_is_closed(loose, DIM));
  loose[Y * DIM] = LE(8);
  assert_true(dbm_is_closed(loose, DIM));
  Bound empty[ENTRIES] = {LE(0), LE(-3), LE(0), LE(2), LE(0), LE(2), LE(9), LE(9), LE(0)};
  assert_false(dbm_is_closed(empty, DIM));
  Bound negative[4] = {LE(0), LE(1), INF, LE(0)};
  assert_false(dbm_is_closed(negative, 2));
}

static void test_a_zone_without_ages_survives_every_operation(void **state) {
  (void)state;
  Bound zone[1], other[1];
  int32_t none[1] = {0};
  int source[1] = {0};
  dbm_zero(zone, 1);
  dbm_universe(other, 1);
  dbm_delay(zone, 1);
  dbm_extrapolate(zone, 1, none, none);
  assert_true(dbm_includes(zone, other, 1));
  assert_false(dbm_hull(zone, other, 1));
  assert_true(dbm_merge_exact(zone, other, 1));
  dbm_rearrange(other, 1, zone, 1, source);
  assert_true(dbm_is_closed(other, 1));
}

static void test_delay_keeps_differences(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  dbm_zero(zone, DIM);
  dbm_delay(zone, DIM);
  const Bound wanted[ENTRIES] = {LE(0), LE(0), LE(0), INF, LE(0), LE(0), INF, LE(0), LE(0)};
  expect_zone(zone, wanted, DIM);
}

static void test_reset_after_a_strict_wait_gives_a_strict_difference(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  dbm_zero(zone, DIM);
  dbm_delay(zone, DIM);
  assert_true(dbm_constrain(zone, DIM, 0, X, bound_below(-1)));
  assert_true(dbm_constrain(zone, DIM, X, 0, bound_at_most(4)));
  dbm_reset(zone, DIM, Y);
  const Bound wanted[ENTRIES] = {LE(0), LT(-1), LE(0), LE(4), LE(0), LE(4), LE(0), LT(-1), LE(0)};
  expect_zone(zone, wanted, DIM);
}

static void test_copy_makes_ages_equal(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  box(zone, 1, 2, 5, 9);
  dbm_copy(zone, DIM, Y, X);
  const Bound wanted[ENTRIES] = {LE(0), LE(-1), LE(-1), LE(2), LE(0), LE(0), LE(2), LE(0), LE(0)};
  expect_zone(zone, wanted, DIM);
  dbm_copy(zone, DIM, X, X);
  expect_zone(zone, wanted, DIM);
}

static void test_forget_leaves_only_not_negative(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  memcpy(zone, paper_zone, sizeof zone);
  dbm_forget(zone, DIM, X);
  const Bound wanted[ENTRIES] = {LE(0), LE(0), LE(-2), INF, LE(0), INF, LT(8), LT(8), LE(0)};
  expect_zone(zone, wanted, DIM);
}

static void test_constrain_tightens_through_the_new_bound(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  dbm_universe(zone, DIM);
  assert_true(dbm_constrain(zone, DIM, 0, X, bound_at_most(-2)));
  assert_true(dbm_constrain(zone, DIM, X, 0, bound_below(5)));
  assert_true(dbm_constrain(zone, DIM, X, Y, bound_at_most(0)));
  assert_true(dbm_constrain(zone, DIM, Y, X, bound_below(3)));
  expect_zone(zone, paper_zone, DIM);
  assert_true(dbm_constrain(zone, DIM, Y, 0, bound_at_most(8)));
  assert_true(dbm_constrain(zone, DIM, Y, 0, BOUND_INFINITY));
  expect_zone(zone, paper_zone, DIM); /* implied */
}

static void test_constrain_to_nothing_is_reported(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  memcpy(zone, paper_zone, sizeof zone);
  assert_false(dbm_satisfies_some(zone, DIM, 0, X, bound_at_most(-5))); /* X < 5 and X >= 5 */
  assert_true(dbm_satisfies_some(zone, DIM, X, 0, bound_at_most(2)));   /* X >= 2 and X <= 2 */
  assert_false(dbm_satisfies_some(zone, DIM, X, 0, bound_below(2)));
  assert_true(dbm_satisfies_all(zone, DIM, X, 0, bound_below(5)));
  assert_true(dbm_satisfies_all(zone, DIM, X, 0, bound_at_most(5)));
  assert_false(dbm_satisfies_all(zone, DIM, X, 0, bound_at_most(4)));
  assert_false(dbm_constrain(zone, DIM, 0, X, bound_at_most(-5)));
}

static void test_a_gap_smaller_than_one_is_not_empty(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  dbm_universe(zone, DIM);
  assert_true(dbm_constrain(zone, DIM, 0, X, bound_below(0)));
  assert_true(dbm_constrain(zone, DIM, X, Y, bound_below(0)));
  assert_true(dbm_constrain(zone, DIM, Y, 0, bound_below(1))); /* 0 < X < Y < 1 */
  const Bound wanted[ENTRIES] = {LE(0), LT(0), LT(0), LT(1), LE(0), LT(0), LT(1), LT(1), LE(0)};
  expect_zone(zone, wanted, DIM);
}

static void test_largest_constants_do_not_overflow(void **state) {
  (void)state;
  Bound zone[ENTRIES];
  dbm_universe(zone, DIM);
  assert_true(dbm_constrain(zone, DIM, X, Y, bound_at_most(BOUND_VALUE_MAX)));
  assert_true(dbm_constrain(zone, DIM, Y, 0, bound_below(BOUND_VALUE_MAX - 1)));
  assert_int_equal(zone[X * DIM], bound_below(2 * BOUND_VALUE_MAX - 1));
  assert_false(dbm_constrain(zone, DIM, 0, Y, bound_at_most(-BOUND_VALUE_MAX)));
}

static void test_points_on_strict_and_other_borders(void **state) {
  (void)state;
  expect_point(paper_zone, 4, 4, true);
  expect_point(paper_zone, 3, 4, false);
  expect_point(paper_zone, 9, 9, true);
  expect_point(paper_zone, 10, 10, false);
  expect_point(paper_zone, 4, 9, true);
  expect_point(paper_zone, 4, 10, false);
}

static void test_includes_tells_strict_from_not_strict(void **state) {
  (void)state;
  Bound closed_end[ENTRIES], open_end[ENTRIES];
  box(closed_end, 0, 3, 0, 3);
  memcpy(open_end, closed_end, sizeof open_end);
  assert_true(dbm_constrain(open_end, DIM, X, 0, bound_below(3)));
  assert_true(dbm_includes(closed_end, open_end, DIM));
  assert_false(dbm_includes(open_end, closed_end, DIM));
  assert_true(dbm_includes(open_end, open_end, DIM));
}

static void test_hull_grows_or_says_that_it_did_not(void **state) {
  (void)state;
  Bound zone[ENTRIES], other[ENTRIES], wanted[ENTRIES];
  box(zone, 0, 1, 0, 1);
  box(other, 3, 4, 3, 4);
  assert_true(dbm_hull(zone, other, DIM));
  box(wanted, 0, 4, 0, 4);
  assert_true(dbm_constrain(wanted, DIM, X, Y, bound_at_most(1)));
  assert_true(dbm_constrain(wanted, DIM, Y, X, bound_at_most(1)));
  expect_zone(zone, wanted, DIM);
  assert_false(dbm_hull(zone, other, DIM));
}

/* Merges both ways round; checks that a refusal changes nothing and a merge is the hull. */
static void expect_merge(const Bound *a, const Bound *b, bool wanted) {
  for (int turn = 0; turn < 2; turn++) {
    Bound zone[ENTRIES], hull[ENTRIES];
    memcpy(zone, turn ? b : a, sizeof zone);
    memcpy(hull, zone, sizeof hull);
    dbm_hull(hull, turn ? a : b, DIM);
    assert_int_equal(dbm_merge_exact(zone, turn ? a : b, DIM), wanted);
    assert_true(dbm_equal(zone, wanted ? hull : turn ? b : a, DIM));
  }
}

static void test_boxes_merge_when_they_make_a_box(void **state) {
  (void)state;
  Bound a[ENTRIES], b[ENTRIES];
  box(a, 0, 2, 0, 2);
  box(b, 2, 4, 0, 2);
  expect_merge(a, b, true);
  box(b, 1, 4, 0, 2);
  expect_merge(a, b, true);
  box(b, 3, 4, 0, 2); /* a gap */
  expect_merge(a, b, false);
  box(b, 0, 4, 0, 1); /* an L */
  expect_merge(a, b, false);
  box(b, 1, 1, 1, 2); /* inside */
  expect_merge(a, b, true);
  expect_merge(a, a, true);
}

static void test_halves_merge_unless_both_lack_the_border(void **state) {
  (void)state;
  Bound low[ENTRIES], high[ENTRIES];
  box(low, 0, 4, 0, 4);
  memcpy(high, low, sizeof high);
  assert_true(dbm_constrain(low, DIM, X, 0, bound_below(2)));
  assert_true(dbm_constrain(high, DIM, 0, X, bound_at_most(-2)));
  expect_merge(low, high, true);
  assert_true(dbm_constrain(high, DIM, 0, X, bound_below(-2)));
  expect_merge(low, high, false);
}

/* 0 <= Y < 1, X > Y + 1 and 1 <= Y < 2, X >= Y + 1: convex as a set, but no zone; the hull has all of X = Y + 1. */
static void test_a_union_with_half_a_border_does_not_merge(void **state) {
  (void)state;
  const Bound low[ENTRIES] = {LE(0), LT(-1), LE(0), INF, LE(0), INF, LT(1), LT(-1), LE(0)};
  const Bound high[ENTRIES] = {LE(0), LE(-2), LE(-1), INF, LE(0), INF, LT(2), LE(-1), LE(0)};
  expect_merge(low, high, false);
}

static void test_two_orders_of_independent_steps_merge(void **state) {
  (void)state;
  Bound x_first[ENTRIES], y_first[ENTRIES];
  box(x_first, 0, 5, 0, 5);
  memcpy(y_first, x_first, sizeof y_first);
  assert_true(dbm_constrain(x_first, DIM, Y, X, bound_at_most(0)));
  assert_true(dbm_constrain(y_first, DIM, X, Y, bound_at_most(0)));
  expect_merge(x_first, y_first, true);
}

static void expect_extrapolation(const Bound *zone, const int32_t *lower, const int32_t *upper, const Bound *wanted) {
  Bound result[ENTRIES];
  memcpy(result, zone, sizeof result);
  dbm_extrapolate(result, DIM, lower, upper);
  expect_zone(result, wanted, DIM);
}

static void test_extrapolation_keeps_what_guards_can_see(void **state) {
  (void)state;
  const int32_t large[DIM] = {0, 9, 9};
  expect_extrapolation(paper_zone, large, large, paper_zone);
}

static void test_extrapolation_past_both_lower_constants_drops_both_rows(void **state) {
  (void)state;
  const int32_t lower[DIM] = {0, 1, 1}, upper[DIM] = {0, 1, 10};
  const Bound wanted[ENTRIES] = {LE(0), LT(-1), LE(-2), INF, LE(0), INF, INF, INF, LE(0)};
  expect_extrapolation(paper_zone, lower, upper, wanted);
}

static void test_extrapolation_past_an_upper_constant_drops_the_column(void **state) {
  (void)state;
  /* X is past U(X) = 1: Y - X goes; nothing else is larger than a lower constant. X > 1 and X <= Y give Y >= 2 still.
   */
  const int32_t lower[DIM] = {0, 5, 8}, upper[DIM] = {0, 1, 8};
  const Bound wanted[ENTRIES] = {LE(0), LT(-1), LE(-2), LT(5), LE(0), LE(0), LT(8), LT(7), LE(0)};
  expect_extrapolation(paper_zone, lower, upper, wanted);
}

static void test_extrapolation_drops_a_bound_just_past_the_lower_constant(void **state) {
  (void)state;
  /* Y < 8 goes at L(Y) = 7 and comes back as Y < X + 3 < 8. */
  const int32_t lower[DIM] = {0, 5, 7}, upper[DIM] = {0, 5, 7};
  expect_extrapolation(paper_zone, lower, upper, paper_zone);
  const int32_t lower_x[DIM] = {0, 4, 7};
  const Bound wanted[ENTRIES] = {LE(0), LE(-2), LE(-2), INF, LE(0), LE(0), INF, LT(3), LE(0)};
  expect_extrapolation(paper_zone, lower_x, upper, wanted);
}

static void test_an_age_without_constants_is_forgotten(void **state) {
  (void)state;
  const int32_t constant[DIM] = {0, -1, 9};
  Bound wanted[ENTRIES];
  memcpy(wanted, paper_zone, sizeof wanted);
  dbm_forget(wanted, DIM, X);
  expect_extrapolation(paper_zone, constant, constant, wanted);
}

static void test_project_renames_and_drops(void **state) {
  (void)state;
  Bound swapped[ENTRIES], only_y[4];
  const int swap[DIM] = {0, Y, X}, drop[2] = {0, Y};
  dbm_project(swapped, DIM, paper_zone, DIM, swap);
  const Bound wanted_swapped[ENTRIES] = {LE(0), LE(-2), LE(-2), LT(8), LE(0), LT(3), LT(5), LE(0), LE(0)};
  expect_zone(swapped, wanted_swapped, DIM);
  dbm_project(only_y, 2, paper_zone, DIM, drop);
  const Bound wanted_y[4] = {LE(0), LE(-2), LT(8), LE(0)};
  expect_zone(only_y, wanted_y, 2);
}

static void test_rearrange_makes_new_ages_zero(void **state) {
  (void)state;
  Bound out[4 * 4];
  const int source[4] = {0, -1, X, -1};
  dbm_rearrange(out, 4, paper_zone, DIM, source);
  const Bound wanted[4 * 4] = {LE(0), LE(0), LE(-2), LE(0), LE(0), LE(0), LE(-2), LE(0),
                               LT(5), LT(5), LE(0),  LT(5), LE(0), LE(0), LE(-2), LE(0)};
  expect_zone(out, wanted, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_codes_of_bounds_order_add_and_negate_like_bounds),
      cmocka_unit_test(test_zero_and_universe_are_closed),
      cmocka_unit_test(test_closed_means_tight_not_empty_and_not_negative),
      cmocka_unit_test(test_a_zone_without_ages_survives_every_operation),
      cmocka_unit_test(test_delay_keeps_differences),
      cmocka_unit_test(test_reset_after_a_strict_wait_gives_a_strict_difference),
      cmocka_unit_test(test_copy_makes_ages_equal),
      cmocka_unit_test(test_forget_leaves_only_not_negative),
      cmocka_unit_test(test_constrain_tightens_through_the_new_bound),
      cmocka_unit_test(test_constrain_to_nothing_is_reported),
      cmocka_unit_test(test_a_gap_smaller_than_one_is_not_empty),
      cmocka_unit_test(test_largest_constants_do_not_overflow),
      cmocka_unit_test(test_points_on_strict_and_other_borders),
      cmocka_unit_test(test_includes_tells_strict_from_not_strict),
      cmocka_unit_test(test_hull_grows_or_says_that_it_did_not),
      cmocka_unit_test(test_boxes_merge_when_they_make_a_box),
      cmocka_unit_test(test_halves_merge_unless_both_lack_the_border),
      cmocka_unit_test(test_a_union_with_half_a_border_does_not_merge),
      cmocka_unit_test(test_two_orders_of_independent_steps_merge),
      cmocka_unit_test(test_extrapolation_keeps_what_guards_can_see),
      cmocka_unit_test(test_extrapolation_past_both_lower_constants_drops_both_rows),
      cmocka_unit_test(test_extrapolation_past_an_upper_constant_drops_the_column),
      cmocka_unit_test(test_extrapolation_drops_a_bound_just_past_the_lower_constant),
      cmocka_unit_test(test_an_age_without_constants_is_forgotten),
      cmocka_unit_test(test_project_renames_and_drops),
      cmocka_unit_test(test_rearrange_makes_new_ages_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
