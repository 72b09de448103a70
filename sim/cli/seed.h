/* Seeds of random runs, as people type and read them: "0x4e85b3a53f7ef", or a decimal number. */
#ifndef LOCKSTEP_CLI_SEED_H
#define LOCKSTEP_CLI_SEED_H

#include <glib.h>

/* NULL: a new one, from the host's clock. Fails with EXIT_USAGE. */
gboolean seed_parse(const char *text, guint64 *seed, GError **error);
/* Caller frees. */
char *seed_text(guint64 seed);

#endif
