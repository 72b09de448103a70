/* Intervals against a known Bernoulli model and published values; percentiles against sorting; distributions against
 * their moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "explore/distribution.h"
#include "explore/statistics.h"

/* Must show 6: over 1,000 repetitions the 95 % interval covers the true rate between 93 % and 99 % of the time. */
static void assert_covers(double rate, int trials, uint64_t seed) {
  Rng rng = rng_new(seed);
  int covered = 0;
  for (int r = 0; r < 1000; r++) {
    uint64_t hits = 0;
    for (int t = 0; t < trials; t++) {
      hits += rng_unit(&rng) < rate;
    }
    Interval interval = interval_of_rate(hits, (uint64_t)trials, STATISTICS_CONFIDENCE);
    covered += interval.low <= rate && rate <= interval.high;
  }
  print_message("rate %.3f, %d trials: covered %d of 1000 times\n", rate, trials, covered);
  assert_in_range(covered, 930, 990);
}

static void test_intervals_cover_the_true_rate(void **state) {
  (void)state;
  assert_covers(0.5, 200, 1);
  assert_covers(0.1, 300, 2);
  assert_covers(0.02, 1000, 3);
  assert_covers(0.9, 400, 4);
}

/* Known values: 0 of n has the upper end 1 - (alpha/2)^(1/n), the rule of three with both tails; 8 of 10 from R's
 * binom.test. */
static void test_intervals_are_those_of_clopper_and_pearson(void **state) {
  (void)state;
  Interval none = interval_of_rate(0, 100, 0.95), all = interval_of_rate(100, 100, 0.95),
           some = interval_of_rate(8, 10, 0.95);
  assert_true(none.low == 0 && fabs(none.high - (1 - pow(0.025, 0.01))) < 1e-9);
  assert_true(all.high == 1 && fabs(all.low - pow(0.025, 0.01)) < 1e-9);
  assert_true(fabs(some.low - 0.4439045) < 1e-6 && fabs(some.high - 0.9747893) < 1e-6);
  Interval unknown = interval_of_rate(0, 0, 0.95);
  assert_true(unknown.low == 0 && unknown.high == 1);
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void test_percentiles_are_those_of_sorting(void **state) {
  (void)state;
  enum { COUNT = 10001 };
  static int64_t values[COUNT];
  static Histogram histogram, half;
  Rng rng = rng_new(9);
  for (int i = 0; i < COUNT; i++) {
    values[i] = rng_between(&rng, 0, INT64_C(1) << rng_below(&rng, 45));
    histogram_add(i % 2 ? &histogram : &half, values[i]);
  }
  histogram_merge(&histogram, &half);
  qsort(values, COUNT, sizeof values[0], by_value);
  static const double shares[] = {0.01, 0.5, 0.9, 0.99, 1};
  for (int s = 0; s < 5; s++) {
    int64_t exact = values[(int)ceil(shares[s] * COUNT) - 1], found = histogram_percentile_ns(&histogram, shares[s]);
    assert_true(found <= exact && exact - found <= exact / 128);
  }
  static Histogram empty;
  assert_int_equal(histogram_percentile_ns(&empty, 0.5), -1);
}

static double mean_of(Distribution distribution, double *share_above, double limit) {
  Rng rng = rng_new(11);
  double sum = 0, above = 0;
  for (int i = 0; i < 100000; i++) {
    double ns = (double)distribution_sample_ns(&distribution, &rng);
    sum += ns;
    above += ns > limit;
  }
  *share_above = above / 100000;
  return sum / 100000;
}

static void assert_near(double value, double wanted, double tolerance) {
  if (fabs(value - wanted) > tolerance) {
    fail_msg("%f is not near %f", value, wanted);
  }
}

static void test_distributions_have_their_moments(void **state) {
  (void)state;
  double above, ms = 1e6;
  assert_near(mean_of((Distribution){DISTRIBUTION_CONSTANT, 3 * ms, 0, NULL, 0}, &above, 3 * ms), 3 * ms, 0);
  assert_near(mean_of((Distribution){DISTRIBUTION_UNIFORM, ms, 5 * ms, NULL, 0}, &above, 2 * ms), 3 * ms, 0.02 * ms);
  assert_near(above, 0.75, 0.01);
  assert_near(mean_of((Distribution){DISTRIBUTION_EXPONENTIAL, 10 * ms, 0, NULL, 0}, &above, 10 * ms), 10 * ms,
              0.2 * ms);
  assert_near(above, exp(-1), 0.01);
  assert_near(mean_of((Distribution){DISTRIBUTION_LOGNORMAL, ms, 0.5, NULL, 0}, &above, ms), ms * exp(0.125),
              0.02 * ms);
  assert_near(above, 0.5, 0.01);
  mean_of((Distribution){DISTRIBUTION_PARETO, 50 * ms, 1.5, NULL, 0}, &above, 200 * ms);
  assert_near(above, pow(4, -1.5), 0.01);
  double samples[] = {1 * ms, 2 * ms, 6 * ms};
  assert_near(mean_of((Distribution){DISTRIBUTION_EMPIRICAL, 0, 0, samples, 3}, &above, 1.5 * ms), 3 * ms, 0.03 * ms);
  assert_near(above, 2.0 / 3, 0.01);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_intervals_cover_the_true_rate),
      cmocka_unit_test(test_intervals_are_those_of_clopper_and_pearson),
      cmocka_unit_test(test_percentiles_are_those_of_sorting),
      cmocka_unit_test(test_distributions_have_their_moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
