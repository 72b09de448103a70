/* One scenario from program to verdicts by random search: what is found is shrunk, executed with every check, and given
 * as the exhaustive verification gives it. What is not found is "not violated in N runs", and never more than that.
 */
#ifndef LOCKSTEP_EXPLORE_FUZZ_H
#define LOCKSTEP_EXPLORE_FUZZ_H

#include "explore/random.h"
#include "explore/verify.h"

typedef struct FuzzOptions {
  RandomOptions random; /* without `wanted` */
  bool as_found;        /* runs are not shrunk */
  /* Told before a run is shrunk, which takes a moment. May be NULL. */
  void (*shrinking)(void *user, const char *property);
} FuzzOptions;

typedef struct Fuzzing {
  Verification *verification;
  uint64_t runs, steps, entries;
  uint64_t found_in[WORLD_PROPERTIES_MAX];    /* per property: the number of its run, from 1; 0: none */
  const char *found_by[WORLD_PROPERTIES_MAX]; /* and the strategy of that run */
  int32_t found_steps[WORLD_PROPERTIES_MAX];  /* and how long it was before it was shrunk */
} Fuzzing;

/* Ends when everything that the scenario claims to be broken is found, or, where it claims nothing to be, anything. */
Fuzzing *fuzz(const Program *program, const FuzzOptions *options);
/* The verification stays the caller's. */
void fuzzing_free(Fuzzing *fuzzing);

#endif
