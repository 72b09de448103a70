/* A run as JSON, "lockstep-trace/1", written and read back without loss: the file that `lockstep replay` takes.
 *
 * One document: what was checked (model, scenario, parameters, hash, tool version), what it violates, the lanes, and
 * the steps with their decisions and events. Fields at their defaults are left out. The reader checks every type,
 * range and reference and says what is wrong and where; it ignores members that it does not know (additions are free,
 * a change of meaning is "/2") and never crashes on any input.
 */
#ifndef LOCKSTEP_TRACES_JSON_H
#define LOCKSTEP_TRACES_JSON_H

#include <gio/gio.h>

#include "world/run.h"

#define TRACE_FORMAT_NAME "lockstep-trace/1"
#define TRACE_LANES_MAX 256

/* What the caller knows about a trace besides the run. */
typedef struct TraceMeta {
  char *tool_version, *model_hash;
} TraceMeta;

void trace_meta_clear(TraceMeta *meta);

/* Caller frees. */
char *trace_to_json(const Run *run, const TraceMeta *meta);
/* NULL and an error of G_IO_ERROR_INVALID_DATA (or _NOT_SUPPORTED for another version) if the text is no trace. `meta`
 * may be NULL; else the caller clears it. The run's strings and arrays come from g_malloc. */
Run *trace_from_json(const char *text, size_t length, TraceMeta *meta, GError **error);

#endif
