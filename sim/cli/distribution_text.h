/* Distributions as people type them: "lognormal(1ms, 0.5)", "empirical(delays.txt)", "every 10min for
 * pareto(50ms, 1.5)". */
#ifndef LOCKSTEP_CLI_DISTRIBUTION_TEXT_H
#define LOCKSTEP_CLI_DISTRIBUTION_TEXT_H

#include <glib.h>

#include "explore/distribution.h"

/* Fail with EXIT_USAGE. A file of an empirical one has a duration on each line; a bare number is seconds. */
gboolean distribution_parse(const char *option, const char *text, Distribution *distribution, GError **error);
/* "every D for D": a D that is only a duration is constant, behind `every` the mean of an exponential. */
gboolean distribution_parse_every(const char *option, const char *text, Distribution *every, Distribution *length,
                                  GError **error);
/* What can be written, for --help; caller frees. */
char *distribution_help(void);

#endif
