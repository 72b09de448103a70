/* The options of `lockstep check`, as they were typed. What they mean is check.c's business. */
#ifndef LOCKSTEP_CLI_CHECK_OPTIONS_H
#define LOCKSTEP_CLI_CHECK_OPTIONS_H

#include <stdbool.h>

#include "cli/command.h"

typedef struct CheckOptions {
  char **settings, **emit;
  char *output, *jobs, *memory, *timeout, *max_states, *trace, *report, *colour; /* NULL: not given */
  gboolean exact, no_symmetry, no_pictures, as_json, all, less, allow_undecided, quiet;
} CheckOptions;

/* `options` is empty; see command_parse. Clear it in any case. */
gboolean check_options_parse(CheckOptions *options, const Command *command, int argc, char **argv, char ***arguments,
                             GError **error);
void check_options_clear(CheckOptions *options);

#endif
