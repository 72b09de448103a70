/* Random search: many random runs of one scenario, in numbered batches, by a portfolio of strategies.
 *
 * A batch has its own seed, derived from the search's and its number, and depends on nothing else: so the result is the
 * same with any number of threads. It is what the batches up to the one that settles the question have found; what
 * later ones did meanwhile is thrown away. Each property's find is that of the lowest run. Knows no clock: limits of
 * time come in through `tick`, and a search ended by one is the only thing that may differ.
 */
#ifndef LOCKSTEP_EXPLORE_RANDOM_H
#define LOCKSTEP_EXPLORE_RANDOM_H

#include "explore/progress.h"
#include "explore/strategy.h"
#include "lang/program.h"

#define RANDOM_BATCH_RUNS 256

typedef struct RandomProgress {
  uint64_t runs, steps;
  uint64_t new_states;   /* discrete states that their batch had not seen before */
  uint64_t last_new_run; /* the number of runs when the last of them was seen */
} RandomProgress;

typedef struct RandomOptions {
  uint64_t seed, runs;
  int32_t steps_max; /* of a run */
  int32_t jobs;
  const Strategy *strategy; /* NULL: the portfolio */
  uint64_t wanted;          /* ends when all of these are found, bit set of properties; 0: when any is */
  bool to_the_end;          /* goes on until all runs are used up */
  /* Called every few runs, from any thread but never from two; anything but STOP_NOT ends the search. May be NULL. */
  StopReason (*tick)(void *user, const RandomProgress *progress);
  void *user;
} RandomOptions;

/* A run that violates a property, as decisions. */
typedef struct Find {
  Decision *decisions; /* NULL: none was found */
  int32_t count;
  int64_t end_ns; /* when the last state is looked at, if that is later than the last decision; else 0 */
  uint64_t run;   /* its number, from 0 */
  const Strategy *strategy;
  Clocks clocks; /* under which it happened */
} Find;

typedef struct RandomResult {
  uint64_t runs, steps, entries; /* entries: into critical sections */
  Find finds[WORLD_PROPERTIES_MAX];
  Problem problems[WORLD_PROBLEMS_MAX]; /* findings of the model, each once */
  int32_t problem_count;
  StopReason stopped; /* STOP_NOT: the question is settled, or all runs are used up */
} RandomResult;

RandomResult *random_search(const Program *program, const RandomOptions *options);
void random_result_free(RandomResult *result);

#endif
