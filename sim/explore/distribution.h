/* A distribution of lengths of time, for simulation: what is sampled is whole nanoseconds, never negative.
 *
 * Quantiles come from GSL and libm, so the last nanosecond of a sample may differ between hosts; searches use integers
 * only (base/rng) and never this. Owns the numbers of an empirical one.
 */
#ifndef LOCKSTEP_EXPLORE_DISTRIBUTION_H
#define LOCKSTEP_EXPLORE_DISTRIBUTION_H

#include "base/rng.h"

typedef enum DistributionKind {
  DISTRIBUTION_NONE,        /* not given: uniform over the window of the model */
  DISTRIBUTION_CONSTANT,    /* constant(10ms) */
  DISTRIBUTION_UNIFORM,     /* uniform(1ms, 5ms) */
  DISTRIBUTION_EXPONENTIAL, /* exponential(10ms): its mean */
  DISTRIBUTION_LOGNORMAL,   /* lognormal(1ms, 0.5): its median, and the deviation of its logarithm */
  DISTRIBUTION_PARETO,      /* pareto(50ms, 1.5): the least, and the exponent of its tail */
  DISTRIBUTION_EMPIRICAL,   /* one of the numbers of a file, each as likely as the others */
  DISTRIBUTION_KIND_COUNT
} DistributionKind;

typedef struct Distribution {
  DistributionKind kind;
  double a_ns, b; /* b of UNIFORM is in ns, too */
  double *samples_ns;
  int32_t sample_count;
} Distribution;

int64_t distribution_sample_ns(const Distribution *distribution, Rng *rng);
void distribution_clear(Distribution *distribution);

#endif
