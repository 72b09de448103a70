/* How far a search has come, and why it was stopped: what a search tells its caller and may be told by it. */
#ifndef LOCKSTEP_EXPLORE_PROGRESS_H
#define LOCKSTEP_EXPLORE_PROGRESS_H

#include <stdint.h>

typedef struct Progress {
  const char *phase;      /* "exploring", "searching a witness for mutual_exclusion", … */
  uint32_t faults, steps; /* the level: cost that is being expanded */
  uint64_t discrete, zones, expanded, transitions, queued;
  uint64_t bytes;
} Progress;

typedef enum StopReason { STOP_NOT, STOP_TIME, STOP_MEMORY, STOP_STATES, STOP_OVERFLOW, STOP_INTERRUPT } StopReason;

#endif
