/* `lockstep check --all`: every shipped model, in processes of their own, and what they come to together. */
#ifndef LOCKSTEP_CLI_CHECK_ALL_H
#define LOCKSTEP_CLI_CHECK_ALL_H

#include "cli/catalogue.h"
#include "cli/check_options.h"

/* `options` are right: each was parsed. So many models at a time: `job_count`; 0: as the host has cores. Returns an
 * ExitCode; EXIT_DATA when a model is wrong, which does not keep the others from being checked. */
ExitCode check_all(const CheckOptions *options, guint job_count, bool colour, const Catalogue *catalogue,
                   GError **error);

#endif
