/* What can be said of many runs: rates with their intervals, and a histogram of latencies.
 *
 * An interval is that of Clopper and Pearson (1934): never less than the stated confidence, whatever the true rate,
 * also when nothing or everything was seen. The histogram has buckets of at most 1/128 of their value, so its
 * percentiles are that exact; it adds up in any order to the same counts.
 */
#ifndef LOCKSTEP_EXPLORE_STATISTICS_H
#define LOCKSTEP_EXPLORE_STATISTICS_H

#include <stdint.h>

#define STATISTICS_CONFIDENCE 0.95

typedef struct Interval {
  double low, high;
} Interval;

/* For `hits` of `trials` independent trials; 0 .. 1 when there were none. */
Interval interval_of_rate(uint64_t hits, uint64_t trials, double confidence);

#define HISTOGRAM_BITS 7
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_BITS) << HISTOGRAM_BITS)

typedef struct Histogram {
  uint64_t count;
  uint64_t buckets[HISTOGRAM_BUCKETS];
} Histogram;

void histogram_add(Histogram *histogram, int64_t value_ns);
void histogram_merge(Histogram *to, const Histogram *from);
/* The smallest bucket's lower end such that the share of values up to that bucket is at least `share`; -1: no values.
 */
int64_t histogram_percentile_ns(const Histogram *histogram, double share);

#endif
