/* Many models, each checked by a process of its own, so many at once.
 *
 * Processes, not threads: the engine keeps buffers of its own, and a model that eats up the memory shall not take the
 * others along. Each runs `lockstep check MODEL --json`; the results come in the order of the models, whatever ends
 * first. Owns the processes: SIGINT is handed on to them once (the second one ends this program), and they do not
 * outlive it.
 */
#ifndef LOCKSTEP_CLI_SWEEP_H
#define LOCKSTEP_CLI_SWEEP_H

#include <json-glib/json-glib.h>
#include <stdbool.h>

#include "cli/command.h"

typedef struct SweepResult {
  const char *model;
  JsonNode *document; /* "lockstep-check/1"; NULL: it printed none */
  ExitCode code;
  char *said; /* on standard error; never NULL */
} SweepResult;

typedef struct Sweep {
  const GPtrArray *models; /* names */
  char **options;          /* of `check`, for every model; NULL-terminated */
  guint job_count;         /* processes at a time, at least 1 */
  bool quiet;              /* no progress, which else is a line on a terminal */
  void (*sink)(void *user, const SweepResult *result);
  void *user;
} Sweep;

/* EXIT_MET when every model was started and has ended, however that was; EXIT_INTERRUPTED after SIGINT, when those that
 * were not started are missing; else EXIT_INTERNAL, and an error. */
ExitCode sweep_run(const Sweep *sweep, GError **error);

#endif
