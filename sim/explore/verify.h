/* One scenario of one model, from program to verdicts: explores, confirms what the search hits, and gives for each
 * property a verdict and, where it is violated, the run. Knows no clock and no terminal: limits of time and the
 * progress line come in through `tick`.
 */
#ifndef LOCKSTEP_EXPLORE_VERIFY_H
#define LOCKSTEP_EXPLORE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "explore/progress.h"
#include "lang/program.h"
#include "properties/property.h"
#include "world/run.h"

typedef struct VerifyOptions {
  bool exact; /* exact merging instead of the hull */
  bool symmetry;
  uint64_t memory_bytes; /* 0: no limit */
  uint64_t max_states;   /* 0: no limit */
  /* Called every few thousand expansions; anything but STOP_NOT ends the search with that reason. May be NULL. */
  StopReason (*tick)(void *user, const Progress *progress);
  void *user;
} VerifyOptions;

typedef struct PropertyResult {
  char *name;         /* "mutual_exclusion", "obtainable within 30s", or the text of a never */
  bool is_never;      /* or of an assertion */
  int32_t obtainable; /* index into Program.obtainables; NO_INDEX: it is no such claim */
  Verdict verdict;
  bool vacuous;           /* proved, but its event never happened */
  uint32_t faults, steps; /* violated: the cost that the search went by; a fault inside a step is a step of its own */
  Run *run;               /* violated: the confirmed run; else NULL */
  char *note;             /* why it is undecided, in words; "" */
} PropertyResult;

typedef struct Finding {
  char *kind; /* "timelock", "range", "overflow", "never_enters", "never_runs", "symmetry", … */
  char *text; /* one sentence */
  Span span;  /* empty (begin == end) when there is no place */
} Finding;

typedef struct Verification {
  PropertyResult *properties;
  int32_t property_count;
  Finding *findings;
  int32_t finding_count;
  StopReason stopped;
  uint64_t discrete, zones, expanded, transitions;
  uint64_t peak_bytes;
  uint64_t *covered; /* bit per pc of the program: was executed in this scenario */
} Verification;

Verification *verify(const Program *program, const VerifyOptions *options);
void verification_free(Verification *verification);

#endif
