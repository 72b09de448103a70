/* Watches a search from outside: its limit of time, Ctrl-C, and the line of progress on standard error.
 *
 * On a terminal one line is rewritten each second; elsewhere plain lines come at growing intervals (10 s, 20 s, …).
 * The only place that reads the host's clock.
 */
#ifndef LOCKSTEP_CLI_WATCH_H
#define LOCKSTEP_CLI_WATCH_H

#include <glib.h>

#include "explore/verify.h"

typedef struct Watch {
  bool quiet, is_terminal, line_is_open;
  gint64 limit_us; /* 0: none; for each scenario */
  guint64 memory_bytes;
  char *title;
  gint64 began_us, next_us, interval_us, said_us;
  guint64 said_expanded, said_queued;
} Watch;

/* From here on the first SIGINT asks the search to stop, the second ends the program. */
void watch_catch_interrupts(void);
bool watch_was_interrupted(void);

/* `quiet`: says nothing. `title` is copied. */
void watch_begin(Watch *watch, const char *title);
StopReason watch_tick(void *user, const Progress *progress); /* VerifyOptions.tick; `user` is the Watch */
/* Takes the line of progress away; the seconds since watch_begin. */
double watch_end(Watch *watch);

#endif
