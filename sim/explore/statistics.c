#include "explore/statistics.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* Where the distribution function of Beta(a, b) comes to p. By halving: gsl_cdf_beta_Pinv (GSL 2.7) does not always
 * converge, and then ends the program. */
static double beta_quantile(double p, double a, double b) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    if (gsl_cdf_beta_P(middle, a, b) < p) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (low + high) / 2;
}

Interval interval_of_rate(uint64_t hits, uint64_t trials, double confidence) {
  double k = (double)hits, n = (double)trials, tail = (1 - confidence) / 2;
  return (Interval){
      .low = hits == 0 ? 0 : beta_quantile(tail, k, n - k + 1),
      .high = hits == trials ? 1 : beta_quantile(1 - tail, k + 1, n - k),
  };
}

/* The leading bits of a value, and how many follow: below 2^HISTOGRAM_BITS each value has its own bucket. */
static int32_t bucket_of(uint64_t value) {
  int32_t bits = value >> HISTOGRAM_BITS == 0 ? 0 : 64 - __builtin_clzll(value >> HISTOGRAM_BITS);
  return bits == 0 ? (int32_t)value : (bits << HISTOGRAM_BITS) + (int32_t)(value >> (bits - 1)) - (1 << HISTOGRAM_BITS);
}

static int64_t bucket_begin(int32_t bucket) {
  int32_t bits = bucket >> HISTOGRAM_BITS, rest = bucket & ((1 << HISTOGRAM_BITS) - 1);
  return bits == 0 ? rest : (int64_t)((1 << HISTOGRAM_BITS) + rest) << (bits - 1);
}

void histogram_add(Histogram *histogram, int64_t value_ns) {
  histogram->count++;
  histogram->buckets[bucket_of((uint64_t)(value_ns > 0 ? value_ns : 0))]++;
}

void histogram_merge(Histogram *to, const Histogram *from) {
  to->count += from->count;
  for (int32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
    to->buckets[b] += from->buckets[b];
  }
}

int64_t histogram_percentile_ns(const Histogram *histogram, double share) {
  uint64_t wanted = (uint64_t)ceil(share * (double)histogram->count), seen = 0;
  for (int32_t b = 0; b < HISTOGRAM_BUCKETS && histogram->count > 0; b++) {
    seen += histogram->buckets[b];
    if (seen >= wanted && seen > 0) {
      return bucket_begin(b);
    }
  }
  return -1;
}
