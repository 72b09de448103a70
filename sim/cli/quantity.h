/* Numbers with units, as people type and read them: "4G" and "10m" in, "33,568" and "9.1 s" out. */
#ifndef LOCKSTEP_CLI_QUANTITY_H
#define LOCKSTEP_CLI_QUANTITY_H

#include <glib.h>

/* "500M", "4G", "4GiB", "1024" in bytes; the units are powers of 1024. */
gboolean quantity_parse_bytes(const char *text, guint64 *bytes);
/* "90s", "10m", "10min", "2h", "500ms"; a bare number is seconds. */
gboolean quantity_parse_duration(const char *text, gint64 *duration_us);
/* "20000", "20k", "2M": powers of 1000. */
gboolean quantity_parse_count(const char *text, guint64 *count);

/* Callers free. */
char *quantity_count(guint64 count);                /* "33,568" */
char *quantity_bytes(guint64 bytes);                /* "120 MB", "2.1 GB": powers of 1024, as typed */
char *quantity_seconds(double seconds);             /* "0.02 s", "9.1 s", "12 min 5 s" */
char *quantity_of(guint64 count, const char *noun); /* "1 fault", "2 faults" */

#endif
