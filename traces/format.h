/* The forms in which a run can be written, listed once: the command line takes names, suffixes and help from here. */
#ifndef LOCKSTEP_TRACES_FORMAT_H
#define LOCKSTEP_TRACES_FORMAT_H

#include "traces/json.h"
#include "traces/text.h"

typedef struct TraceFormat {
  const char *name;    /* as in --emit NAME */
  const char *suffix;  /* of its file: ".scaled.dot" */
  const char *summary; /* one line for --help */
  bool is_dot;         /* `dot` can draw it: see render.h */
  /* The caller frees the result. What a format has no use for may be NULL. */
  char *(*write)(const Run *run, const TraceMeta *meta, const TextOptions *options);
} TraceFormat;

extern const TraceFormat trace_formats[];
extern const int32_t trace_format_count;

/* NULL if there is none of that name. */
const TraceFormat *trace_format_find(const char *name);

#endif
