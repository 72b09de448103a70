/* The report of a violation for a terminal: what happened, the steps with what each changed, why, how to replay.
 *
 * Plain text in UTF-8, lines of any length, times exact to the nanosecond. Folded by default: one line may stand for
 * several steps, and then its number is the honest range "3-14". conventions.md, section 4.
 */
#ifndef LOCKSTEP_TRACES_TEXT_H
#define LOCKSTEP_TRACES_TEXT_H

#include "world/run.h"

typedef struct TextOptions {
  bool is_full;           /* every step on a line of its own, with all that it changes */
  bool has_colour;        /* SGR colours, by client */
  const char *less;       /* how much less of the fault would be enough, a sentence; NULL: not known */
  const char *trace_path; /* for the `replay` line; NULL: none */
} TextOptions;

/* NULL for `options`: folded, plain. A run without a violation is reported as a run. Caller frees. */
char *text_report(const Run *run, const TextOptions *options);

#endif
