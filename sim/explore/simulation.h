/* A scenario run forwards many times, with sampled lengths of time, for the figures that a person asks for.
 *
 * Discrete events in the concrete engine: everything due has an instant, drawn once, by its distribution or uniformly
 * over the model's window; the first one happens. The adversary is chance: each fault of a finite budget strikes at an
 * instant drawn uniformly from the run, whoever may be struck then; one without an end does not strike. Runs come in
 * numbered batches, so that the result does not depend on the number of threads. Nothing is allocated inside a run.
 */
#ifndef LOCKSTEP_EXPLORE_SIMULATION_H
#define LOCKSTEP_EXPLORE_SIMULATION_H

#include "explore/distribution.h"
#include "explore/progress.h"
#include "explore/statistics.h"
#include "world/world.h"

#define SIMULATION_BATCH_RUNS 50

typedef struct SimulationOptions {
  uint64_t seed, runs;
  int32_t jobs;
  int64_t time_ns;          /* a run ends there, or when nothing can happen any more */
  double precision;         /* ends when every rate is known to within that, at 95 %; 0: never before the runs do */
  Distribution latency;     /* of each message */
  Distribution pause;       /* how long a client pauses, … */
  Distribution pause_every; /* … and how long it runs between two pauses */
  StopReason (*tick)(void *user, uint64_t runs, uint64_t events); /* as in RandomOptions; may be NULL */
  void *user;
} SimulationOptions;

typedef struct Simulation {
  uint64_t runs, events, faults;
  uint64_t attempts, acquisitions, refusals; /* an attempt that is over and did not enter was refused */
  uint64_t commits, rejected; /* writes that a resource has applied; requests that it answered with `stale` */
  uint64_t violations[WORLD_PROPERTIES_MAX]; /* per property: steps that violated it, */
  uint64_t runs_with[WORLD_PROPERTIES_MAX];  /* and runs in which one did */
  int64_t time_ns, free_ns;                  /* of all runs together; without anybody inside */
  Histogram acquire, refuse; /* from the beginning of an attempt to its entry, or to its end without one */
  uint64_t cut_short;        /* runs that ran into a finding of the model */
  Problem problem;           /* the first of these */
  bool is_precise;
  StopReason stopped;
} Simulation;

/* `program` is changed: windows and faults make room for the distributions. Free with free(). */
Simulation *simulate(Program *program, const SimulationOptions *options);

#endif
