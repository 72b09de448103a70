#include "cli/seed.h"

#include <unistd.h>

#include "base/rng.h"
#include "cli/command.h"

gboolean seed_parse(const char *text, guint64 *seed, GError **error) {
  if (!text) {
    /* Short enough to be copied by hand. */
    *seed = rng_mix((guint64)g_get_real_time() ^ (guint64)getpid() << 40) >> 16;
    return TRUE;
  }
  guint base = g_ascii_strncasecmp(text, "0x", 2) == 0 ? 16 : 10;
  if (!g_ascii_string_to_unsigned(text + (base == 16 ? 2 : 0), base, 0, G_MAXUINT64, seed, NULL)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--seed '%s' is not such as 0x4e85b3a5 or 42", text);
    return FALSE;
  }
  return TRUE;
}

char *seed_text(guint64 seed) {
  return g_strdup_printf("0x%" G_GINT64_MODIFIER "x", seed);
}
