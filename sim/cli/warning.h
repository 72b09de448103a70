/* A finding as it is printed: with its position in the model, and the scenarios in which it came up.
 *
 * The findings of a verification are one scenario's; the same one in several scenarios is printed once.
 */
#ifndef LOCKSTEP_CLI_WARNING_H
#define LOCKSTEP_CLI_WARNING_H

#include "cli/outcome.h"

typedef struct Warning {
  char *kind; /* "timelock", "never_runs", … */
  char *text;
  char *file; /* NULL: it has no place */
  uint32_t line, column;
  const Sources *sources; /* of the program, which must outlive the warning */
  Span span;
  GString *scenarios; /* "calm, pause"; empty: the whole model */
} Warning;

/* `span` may be empty, `scenario` NULL. */
Warning *warning_new(const Program *program, const char *kind, const char *text, Span span, const char *scenario);
void warning_free(void *item); /* a Warning, as GLib hands it */
/* "models/x.lk:7:3: warning: … (in calm, pause)" with the source line and carets, as a diagnostic; caller frees. */
char *warning_text(const Warning *warning);

/* The findings of all outcomes, each once; caller unrefs. */
GPtrArray *warnings_gather(const GPtrArray *outcomes);

#endif
