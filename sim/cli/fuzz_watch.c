#include "cli/fuzz_watch.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/quantity.h"
#include "cli/terminal.h"

#define SECOND_US G_GINT64_CONSTANT(1000000)

void fuzz_watch_begin(FuzzWatch *watch, const char *title) {
  watch->title = title;
  watch->is_terminal = isatty(STDERR_FILENO);
  watch->began_us = watch->said_us = watch->new_us = g_get_monotonic_time();
  watch->interval_us = watch->is_terminal ? SECOND_US : 10 * SECOND_US;
  watch->next_us = watch->began_us + watch->interval_us;
  watch->said_runs = watch->said_states = watch->last_new_run = watch->runs = 0;
}

static void say(FuzzWatch *watch, const char *line) {
  if (watch->quiet) {
    return;
  }
  if (watch->is_terminal) {
    terminal_row(line);
  } else {
    fprintf(stderr, "%s\n", line);
    fflush(stderr);
  }
  watch->line_is_open = watch->is_terminal;
}

static char *line_text(const FuzzWatch *watch, const RandomProgress *progress, gint64 now_us) {
  double seconds = (double)(now_us - watch->said_us) / (double)SECOND_US;
  g_autofree char *runs = quantity_of(progress->runs, "run");
  g_autofree char *run_rate = quantity_count((guint64)((double)(progress->runs - watch->said_runs) / seconds));
  g_autofree char *state_rate =
      quantity_count((guint64)((double)(progress->new_states - watch->said_states) / seconds));
  g_autofree char *quiet = quantity_seconds((double)(now_us - watch->new_us) / (double)SECOND_US);
  g_autofree char *elapsed = quantity_seconds((double)(now_us - watch->began_us) / (double)SECOND_US);
  return g_strdup_printf("%s: searching at random  %s (%s/s)  new states %s/s, the last one %s ago  %s", watch->title,
                         runs, run_rate, state_rate, quiet, elapsed);
}

StopReason fuzz_watch_tick(void *user, const RandomProgress *progress) {
  FuzzWatch *watch = user;
  gint64 now_us = g_get_monotonic_time();
  watch->new_us = progress->last_new_run != watch->last_new_run ? now_us : watch->new_us;
  watch->last_new_run = progress->last_new_run;
  watch->runs = progress->runs;
  if (now_us >= watch->next_us) {
    g_autofree char *line = line_text(watch, progress, now_us);
    say(watch, line);
    watch->said_us = now_us;
    watch->said_runs = progress->runs;
    watch->said_states = progress->new_states;
    watch->interval_us *= watch->is_terminal ? 1 : 2;
    watch->next_us = now_us + watch->interval_us;
  }
  if (watch_was_interrupted()) {
    return STOP_INTERRUPT;
  }
  return watch->limit_us && now_us - watch->began_us >= watch->limit_us ? STOP_TIME : STOP_NOT;
}

void fuzz_watch_shrinking(void *user, const char *property) {
  FuzzWatch *watch = user;
  g_autofree char *line = g_strdup_printf("%s: shrinking a violation of %s", watch->title, property);
  if (watch->is_terminal) {
    say(watch, line);
  }
}

void fuzz_watch_end(FuzzWatch *watch) {
  if (watch->line_is_open) {
    terminal_row("");
    watch->line_is_open = false;
  }
  double seconds = (double)(g_get_monotonic_time() - watch->began_us) / (double)SECOND_US;
  g_autofree char *elapsed = quantity_seconds(seconds);
  g_autofree char *runs = quantity_of(watch->runs, "run");
  if (!watch->quiet) {
    fprintf(stderr, "%s: %s, %s\n", watch->title, runs, elapsed);
  }
}
