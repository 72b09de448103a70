#include "cli/folder.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/result_json.h"
#include "traces/format.h"
#include "traces/render.h"

#define TRACE_SUFFIX ".trace"
#define TRACE_NAME "json" /* the format that is always written: `replay` takes it */

static bool has_graphviz(void) {
  g_autofree char *program = g_find_program_in_path("dot");
  return program != NULL;
}

/* Bits: the trace formats, then the rendered ones. */
static unsigned trace_bit(int32_t format) {
  return 1u << format;
}

static unsigned render_bit(size_t format) {
  return 1u << ((size_t)trace_format_count + format);
}

static unsigned dot_bits(void) {
  unsigned bits = 0;
  for (int32_t i = 0; i < trace_format_count; i++) {
    bits |= trace_formats[i].is_dot ? trace_bit(i) : 0u;
  }
  return bits;
}

char *folder_formats_help(void) {
  GString *help = g_string_new("Formats of --emit, besides the trace, which is always written:\n");
  for (int32_t i = 0; i < trace_format_count; i++) {
    if (strcmp(trace_formats[i].name, TRACE_NAME) != 0) {
      g_string_append_printf(help, "  %-10s %s\n", trace_formats[i].name, trace_formats[i].summary);
    }
  }
  for (size_t i = 0; render_formats[i]; i++) {
    g_string_append_printf(help, "  %-10s the timelines as pictures, drawn by Graphviz\n", render_formats[i]);
  }
  return g_string_free(help, FALSE);
}

static gboolean add_render_format(const char *name, unsigned *chosen, GError **error) {
  for (size_t i = 0; render_formats[i]; i++) {
    if (strcmp(render_formats[i], name) == 0) {
      *chosen |= render_bit(i) | dot_bits();
      if (!has_graphviz()) {
        g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--emit %s needs Graphviz: there is no program 'dot'", name);
        return FALSE;
      }
      return TRUE;
    }
  }
  g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "there is no format '%s' for --emit; see 'lockstep check --help'",
              name);
  return FALSE;
}

gboolean folder_formats(char **names, unsigned *chosen, GError **error) {
  *chosen = 0;
  for (char **name = names; name && *name; name++) {
    const TraceFormat *format = trace_format_find(*name);
    if (format) {
      *chosen |= trace_bit((int32_t)(format - trace_formats));
    } else if (!add_render_format(*name, chosen, error)) {
      return FALSE;
    }
  }
  return TRUE;
}

unsigned folder_default_formats(void) {
  if (has_graphviz()) {
    return dot_bits() | render_bit(0);
  }
  fputs(
      "lockstep: note: no pictures, since Graphviz (the program 'dot') is not installed; the .dot files are written\n",
      stderr);
  return dot_bits();
}

/* The text of a never becomes a name of a file: letters, digits and single underscores. */
static char *file_stem(const char *property) {
  GString *stem = g_string_new(NULL);
  for (const char *letter = property; *letter; letter++) {
    if (g_ascii_isalnum(*letter)) {
      g_string_append_c(stem, g_ascii_tolower(*letter));
    } else if (stem->len && stem->str[stem->len - 1] != '_') {
      g_string_append_c(stem, '_');
    }
  }
  if (stem->len == 0) {
    g_string_append(stem, "never");
  }
  return g_string_free(stem, FALSE);
}

/* Two nevers may have the same stem: the later one gets a number. */
static char *free_stem(const char *property, const GPtrArray *files) {
  g_autofree char *stem = file_stem(property);
  for (guint number = 2;; number++) {
    g_autofree char *trace = g_strconcat(stem, TRACE_SUFFIX, NULL);
    if (!g_ptr_array_find_with_equal_func((GPtrArray *)files, trace, g_str_equal, NULL)) {
      return g_steal_pointer(&stem);
    }
    g_free(stem);
    g_autofree char *base = file_stem(property);
    stem = g_strdup_printf("%s_%u", base, number);
  }
}

static gboolean host_error(GError **error, GError *cause) {
  g_set_error_literal(error, COMMAND_ERROR, EXIT_INTERNAL, cause->message);
  g_error_free(cause);
  return FALSE;
}

/* Takes over `name` and `text`. */
static gboolean write_file(const char *where, char *name, char *text, GPtrArray *files, GError **error) {
  g_autofree char *path = g_build_filename(where, name, NULL);
  GError *cause = NULL;
  g_ptr_array_add(files, name);
  gboolean written = g_file_set_contents(path, text, -1, &cause);
  g_free(text);
  return written || host_error(error, cause);
}

static gboolean render(const Folder *folder, const char *where, const char *dot_name, GPtrArray *files,
                       GError **error) {
  g_autofree char *dot_path = g_build_filename(where, dot_name, NULL);
  for (size_t i = 0; render_formats[i]; i++) {
    GError *cause = NULL;
    if (!(folder->formats & render_bit(i))) {
      continue;
    }
    if (!render_dot(dot_path, render_formats[i], &cause)) {
      return host_error(error, cause);
    }
    g_ptr_array_add(files, render_output_path(dot_name, render_formats[i]));
  }
  return TRUE;
}

static gboolean write_violation(const Folder *folder, const char *where, Claim *claim, GPtrArray *files,
                                GError **error) {
  const Run *run = claim->result->run;
  g_autofree char *stem = free_stem(claim->property, files);
  g_autofree char *trace_name = g_strconcat(stem, TRACE_SUFFIX, NULL);
  claim->trace = g_build_filename(where, trace_name, NULL);
  TextOptions options = {.trace_path = claim->trace, .less = claim->less.text};
  TraceMeta meta = {.tool_version = (char *)LOCKSTEP_VERSION, .model_hash = (char *)folder->model->hash};
  unsigned wanted = folder->formats | trace_bit((int32_t)(trace_format_find(TRACE_NAME) - trace_formats));
  for (int32_t i = 0; i < trace_format_count; i++) {
    const TraceFormat *format = &trace_formats[i];
    if (!(wanted & trace_bit(i))) {
      continue;
    }
    char *name = g_strconcat(stem, format->suffix, NULL);
    if (!write_file(where, name, format->write(run, &meta, &options), files, error) ||
        (format->is_dot && !render(folder, where, name, files, error))) {
      return FALSE;
    }
  }
  return TRUE;
}

/* Only plain names are taken from run.json: whatever stands there, nothing outside the folder is removed. */
static void remove_listed(const char *where, JsonNode *root) {
  JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
  JsonNode *files = object ? json_object_get_member(object, "files") : NULL;
  JsonArray *names = files && JSON_NODE_HOLDS_ARRAY(files) ? json_node_get_array(files) : NULL;
  for (guint i = 0; names && i < json_array_get_length(names); i++) {
    JsonNode *node = json_array_get_element(names, i);
    const char *name = json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node) : "";
    if (*name && !strchr(name, '/') && strcmp(name, "..") != 0) {
      g_autofree char *path = g_build_filename(where, name, NULL);
      g_unlink(path);
    }
  }
}

static void remove_earlier(const char *where) {
  g_autofree char *path = g_build_filename(where, FOLDER_RECORD_NAME, NULL);
  g_autoptr(JsonParser) parser = json_parser_new();
  if (json_parser_load_from_file(parser, path, NULL)) {
    remove_listed(where, json_parser_get_root(parser));
    g_unlink(path);
  }
}

static void set_count_or_null(JsonBuilder *builder, const char *name, uint64_t value) {
  json_builder_set_member_name(builder, name);
  if (value) {
    json_builder_add_int_value(builder, (gint64)value);
  } else {
    json_builder_add_null_value(builder);
  }
}

static void add_strings(JsonBuilder *builder, const char *name, char **strings, guint count) {
  json_builder_set_member_name(builder, name);
  json_builder_begin_array(builder);
  for (guint i = 0; i < count; i++) {
    g_autofree char *valid = g_utf8_make_valid(strings[i], -1);
    json_builder_add_string_value(builder, valid);
  }
  json_builder_end_array(builder);
}

static void add_limits(JsonBuilder *builder, const Folder *folder) {
  json_builder_set_member_name(builder, "limits");
  json_builder_begin_object(builder);
  set_count_or_null(builder, "memory_bytes", folder->verify->memory_bytes);
  set_count_or_null(builder, "max_states", folder->verify->max_states);
  set_count_or_null(builder, "timeout_us", (uint64_t)folder->timeout_us);
  json_builder_end_object(builder);
}

static char *record_text(const Folder *folder, const Outcome *outcome, const GPtrArray *files) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-run/1");
  json_set_string(builder, "version", LOCKSTEP_VERSION);
  add_strings(builder, "command_line", folder->command_line, g_strv_length(folder->command_line));
  json_set_string(builder, "model", folder->model->name);
  json_set_string(builder, "model_argument", folder->model->argument);
  json_set_string(builder, "model_hash", folder->model->hash);
  json_set_string(builder, "seed", folder->seed);
  json_builder_set_member_name(builder, "exact");
  json_builder_add_boolean_value(builder, folder->verify->exact);
  json_builder_set_member_name(builder, "symmetry");
  json_builder_add_boolean_value(builder, folder->verify->symmetry);
  add_limits(builder, folder);
  json_builder_set_member_name(builder, "result");
  result_json_scenario(builder, outcome);
  add_strings(builder, "files", (char **)files->pdata, files->len);
  json_builder_end_object(builder);
  return json_text(builder, true);
}

static char *scenario_path(const Folder *folder, const char *scenario) {
  return g_build_filename(folder->root, folder->model->name, scenario, NULL);
}

gboolean folder_begin(const Folder *folder, const char *scenario, GError **error) {
  g_autofree char *where = scenario_path(folder, scenario);
  if (g_mkdir_with_parents(where, 0777) != 0) {
    g_set_error(error, COMMAND_ERROR, EXIT_INTERNAL, "cannot make the folder %s: %s", where, g_strerror(errno));
    return FALSE;
  }
  remove_earlier(where);
  return TRUE;
}

gboolean folder_write(const Folder *folder, Outcome *outcome, GError **error) {
  g_autofree char *where = scenario_path(folder, outcome->program->scenario);
  g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    Claim *claim = &outcome->claims[i];
    if (claim->result && claim->result->run && !write_violation(folder, where, claim, files, error)) {
      return FALSE;
    }
  }
  char *record = record_text(folder, outcome, files);
  g_autofree char *path = g_build_filename(where, FOLDER_RECORD_NAME, NULL);
  GError *cause = NULL;
  gboolean written = g_file_set_contents(path, record, -1, &cause);
  g_free(record);
  return written || host_error(error, cause);
}
