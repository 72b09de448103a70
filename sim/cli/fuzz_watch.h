/* Watches a random search from outside, as watch.h does an exhaustive one: its limit of time, Ctrl-C, and the line of
 * progress on standard error (runs, new states, how long there has been none). */
#ifndef LOCKSTEP_CLI_FUZZ_WATCH_H
#define LOCKSTEP_CLI_FUZZ_WATCH_H

#include "cli/watch.h"
#include "explore/random.h"

typedef struct FuzzWatch {
  bool quiet, is_terminal, line_is_open;
  gint64 limit_us; /* 0: none; for each scenario */
  const char *title;
  gint64 began_us, next_us, interval_us, said_us, new_us;
  guint64 said_runs, said_states, last_new_run, runs;
} FuzzWatch;

void fuzz_watch_begin(FuzzWatch *watch, const char *title);
StopReason fuzz_watch_tick(void *user, const RandomProgress *progress); /* RandomOptions.tick */
void fuzz_watch_shrinking(void *user, const char *property);            /* FuzzOptions.shrinking */
/* Takes the line away, and says how long it took. */
void fuzz_watch_end(FuzzWatch *watch);

#endif
