#include "cli/watch.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/quantity.h"
#include "cli/terminal.h"

#define SECOND_US G_GINT64_CONSTANT(1000000)

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

void watch_catch_interrupts(void) {
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
}

bool watch_was_interrupted(void) {
  return interrupted;
}

void watch_begin(Watch *watch, const char *title) {
  watch->title = g_strdup(title);
  watch->is_terminal = isatty(STDERR_FILENO);
  watch->began_us = watch->said_us = g_get_monotonic_time();
  watch->interval_us = watch->is_terminal ? SECOND_US : 10 * SECOND_US;
  watch->next_us = watch->began_us + watch->interval_us;
  watch->said_expanded = watch->said_queued = 0;
}

static const char *trend(guint64 before, guint64 now) {
  return now > before ? "growing" : now < before ? "falling" : "steady";
}

static char *line_text(const Watch *watch, const Progress *progress, gint64 now_us) {
  double seconds = (double)(now_us - watch->said_us) / (double)SECOND_US;
  /* Each phase counts anew. */
  guint64 since = progress->expanded - (progress->expanded < watch->said_expanded ? 0 : watch->said_expanded);
  g_autofree char *faults = quantity_of(progress->faults, "fault");
  g_autofree char *steps = quantity_of(progress->steps, "step");
  g_autofree char *states = quantity_count(progress->discrete);
  g_autofree char *expanded = quantity_count(progress->expanded);
  g_autofree char *rate = quantity_count((guint64)((double)since / seconds));
  g_autofree char *queued = quantity_count(progress->queued);
  g_autofree char *bytes = quantity_bytes(progress->bytes);
  g_autofree char *limit = watch->memory_bytes ? quantity_bytes(watch->memory_bytes) : g_strdup("no limit");
  g_autofree char *elapsed = quantity_seconds((double)(now_us - watch->began_us) / (double)SECOND_US);
  return g_strdup_printf("%s: %s  level %s, %s  %s states  %s expanded (%s/s)  queue %s %s  %s of %s  %s", watch->title,
                         progress->phase, faults, steps, states, expanded, rate, queued,
                         trend(watch->said_queued, progress->queued), bytes, limit, elapsed);
}

static void say(Watch *watch, const Progress *progress, gint64 now_us) {
  g_autofree char *line = line_text(watch, progress, now_us);
  if (watch->is_terminal) {
    terminal_row(line);
  } else {
    fprintf(stderr, "%s\n", line);
    fflush(stderr);
  }
  watch->line_is_open = watch->is_terminal;
  watch->said_us = now_us;
  watch->said_expanded = progress->expanded;
  watch->said_queued = progress->queued;
  if (!watch->is_terminal) {
    watch->interval_us *= 2;
  }
  watch->next_us = now_us + watch->interval_us;
}

StopReason watch_tick(void *user, const Progress *progress) {
  Watch *watch = user;
  gint64 now_us = g_get_monotonic_time();
  if (!watch->quiet && now_us >= watch->next_us) {
    say(watch, progress, now_us);
  }
  if (interrupted) {
    return STOP_INTERRUPT;
  }
  return watch->limit_us && now_us - watch->began_us >= watch->limit_us ? STOP_TIME : STOP_NOT;
}

double watch_end(Watch *watch) {
  if (watch->line_is_open) {
    terminal_row("");
    watch->line_is_open = false;
  }
  g_clear_pointer(&watch->title, g_free);
  return (double)(g_get_monotonic_time() - watch->began_us) / (double)SECOND_US;
}
