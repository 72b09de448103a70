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

/* What a search may use, and whom it tells how far it has come. */
typedef struct SearchLimits {
  uint64_t memory_bytes;                                    /* 0: no limit. What the search builds upon counts */
  const char *phase;                                        /* for Progress */
  StopReason (*tick)(void *user, const Progress *progress); /* at the start and each so many expansions. May be NULL */
  void *user;
} SearchLimits;

enum { EXPANSIONS_PER_TICK = 2048 };

#endif
