#include "explore/distribution.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#define LONGEST_NS 3e16 /* a year: a tail may be heavier than any run is long */

/* By inversion, one random number a sample: the same number of draws for every distribution. */
static double quantile_ns(const Distribution *distribution, double p) {
  double a = distribution->a_ns, b = distribution->b;
  switch (distribution->kind) {
  case DISTRIBUTION_UNIFORM: return a + p * (b - a);
  case DISTRIBUTION_EXPONENTIAL: return gsl_cdf_exponential_Pinv(p, a);
  case DISTRIBUTION_LOGNORMAL: return a * exp(b * gsl_cdf_ugaussian_Pinv(p));
  case DISTRIBUTION_PARETO: return gsl_cdf_pareto_Pinv(p, b, a);
  case DISTRIBUTION_EMPIRICAL: return distribution->samples_ns[(int32_t)(p * distribution->sample_count)];
  default: return a;
  }
}

int64_t distribution_sample_ns(const Distribution *distribution, Rng *rng) {
  double ns = quantile_ns(distribution, rng_unit(rng));
  return ns <= 0 ? 0 : ns >= LONGEST_NS ? (int64_t)LONGEST_NS : (int64_t)(ns + 0.5);
}

void distribution_clear(Distribution *distribution) {
  free(distribution->samples_ns);
  *distribution = (Distribution){0};
}
