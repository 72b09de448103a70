#include "traces/format.h"

#include <string.h>

#include "traces/compact.h"
#include "traces/grid.h"
#include "traces/scaled.h"

static char *write_text(const Run *run, const TraceMeta *meta, const TextOptions *options) {
  (void)meta;
  return text_report(run, options);
}

static char *write_grid(const Run *run, const TraceMeta *meta, const TextOptions *options) {
  (void)meta, (void)options;
  return grid_text(run);
}

static char *write_json(const Run *run, const TraceMeta *meta, const TextOptions *options) {
  static const TraceMeta nothing = {0};
  (void)options;
  return trace_to_json(run, meta ? meta : &nothing);
}

static char *write_scaled(const Run *run, const TraceMeta *meta, const TextOptions *options) {
  (void)meta, (void)options;
  return scaled_timeline(run);
}

static char *write_compact(const Run *run, const TraceMeta *meta, const TextOptions *options) {
  (void)meta, (void)options;
  return compact_timeline(run);
}

const TraceFormat trace_formats[] = {
    {"text", ".txt", "the report: what happened, step by step, and why", false, write_text},
    {"grid", ".grid.txt", "one row per event and one column per process, for a terminal", false, write_grid},
    {"json", ".trace", "the run with all its decisions, for replay and other tools", false, write_json},
    {"scaled", ".scaled.dot", "a timeline to scale, for Graphviz", true, write_scaled},
    {"compact", ".compact.dot", "a timeline as a table, for Graphviz", true, write_compact},
};
const int32_t trace_format_count = (int32_t)(sizeof trace_formats / sizeof trace_formats[0]);

const TraceFormat *trace_format_find(const char *name) {
  for (int32_t i = 0; i < trace_format_count; i++) {
    if (strcmp(trace_formats[i].name, name) == 0) {
      return &trace_formats[i];
    }
  }
  return NULL;
}
