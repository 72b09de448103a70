/* lockstep replay: takes the decisions of a trace again in the concrete engine, on the model as it is now. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/folder.h"
#include "cli/model_file.h"
#include "cli/result_json.h"
#include "cli/terminal.h"
#include "explore/confirm.h"
#include "traces/json.h"
#include "traces/text.h"

typedef struct ReplayOptions {
  char *model, *colour;
  gboolean is_full, as_json;
} ReplayOptions;

typedef struct Replay {
  Run *recorded, *replayed; /* replayed: as far as it came; NULL: nowhere */
  TraceMeta meta;
  char *mismatch; /* where it left the trace; NULL: it did not */
  bool is_same_model, is_reproduced;
} Replay;

static gboolean read_trace(const char *path, Replay *replay, GError **error) {
  g_autofree char *text = NULL;
  gsize text_bytes = 0;
  g_autoptr(GError) cause = NULL;
  if (!g_file_get_contents(path, &text, &text_bytes, &cause)) {
    g_set_error_literal(error, COMMAND_ERROR, EXIT_DATA, cause->message);
    return FALSE;
  }
  replay->recorded = trace_from_json(text, text_bytes, &replay->meta, &cause);
  if (!replay->recorded) {
    g_set_error(error, COMMAND_ERROR, EXIT_DATA, "%s: %s", path, cause->message);
    return FALSE;
  }
  return TRUE;
}

/* The scenario, with the parameters of the trace. */
static Program *compile(const Run *recorded, const ModelFile *file, GError **error) {
  g_autoptr(GPtrArray) settings = g_ptr_array_new_with_free_func(g_free);
  for (int32_t i = 0; i < recorded->parameter_count; i++) {
    g_ptr_array_add(settings, g_strdup_printf("%s=%s", recorded->parameters[i].name, recorded->parameters[i].value));
  }
  g_ptr_array_add(settings, NULL);
  int32_t scenario = model_file_scenario(file, recorded->scenario, error);
  return scenario < 0 ? NULL : model_file_compile(file, scenario, (char **)settings->pdata, error);
}

/* Where the model was when the trace was written: run.json beside the trace knows; else it is a shipped model. */
static char *model_argument(const Replay *replay, const char *trace_path) {
  g_autofree char *folder = g_path_get_dirname(trace_path);
  g_autofree char *record = g_build_filename(folder, FOLDER_RECORD_NAME, NULL);
  g_autoptr(JsonParser) parser = json_parser_new();
  JsonNode *root = json_parser_load_from_file(parser, record, NULL) ? json_parser_get_root(parser) : NULL;
  JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
  JsonNode *member = object ? json_object_get_member(object, "model_argument") : NULL;
  bool is_known = member && json_node_get_value_type(member) == G_TYPE_STRING;
  return g_strdup(is_known ? json_node_get_string(member) : replay->recorded->model);
}

static gboolean execute(Replay *replay, const char *model, GError **error) {
  g_autoptr(Catalogue) catalogue = catalogue_open();
  g_autoptr(ModelFile) file = model_file_open(catalogue, model, error);
  g_autoptr(Program) program = file ? compile(replay->recorded, file, error) : NULL;
  if (!program) {
    return FALSE;
  }
  replay->is_same_model = g_strcmp0(file->hash, replay->meta.model_hash) == 0;
  bool went_through = replay_run(program, replay->recorded, &replay->replayed, &replay->mismatch);
  replay->is_reproduced =
      went_through && replay->replayed && strcmp(replay->replayed->property, replay->recorded->property) == 0;
  return TRUE;
}

static const char *outcome_text(const Replay *replay) {
  if (replay->mismatch) {
    return replay->mismatch;
  }
  return replay->is_reproduced ? "the violation is reproduced" : "every step is taken again, but nothing is violated";
}

static void print_json(const Replay *replay) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-replay/1");
  json_set_string(builder, "model", replay->recorded->model);
  json_set_string(builder, "scenario", replay->recorded->scenario);
  json_set_string(builder, "property", replay->recorded->property);
  json_builder_set_member_name(builder, "same_model");
  json_builder_add_boolean_value(builder, replay->is_same_model);
  json_builder_set_member_name(builder, "reproduced");
  json_builder_add_boolean_value(builder, replay->is_reproduced);
  json_set_string(builder, "mismatch", replay->mismatch);
  json_builder_end_object(builder);
  json_print(builder, true);
}

static void print_text(const Replay *replay, const TextOptions *options) {
  if (!replay->is_same_model) {
    fputs("lockstep: note: the model has changed since the trace was written\n", stderr);
  }
  if (replay->replayed) {
    char *text = text_report(replay->replayed, options);
    fputs(text, stdout);
    free(text);
  }
  printf("\nreplay: %s\n", outcome_text(replay));
}

static gboolean parse_options(const Command *command, ReplayOptions *options, int argc, char **argv, char ***arguments,
                              GError **error) {
  const GOptionEntry entries[] = {
      {"model", 0, 0, G_OPTION_ARG_FILENAME, &options->model, "Take this model instead of the one that the trace names",
       "MODEL"},
      {"full", 0, 0, G_OPTION_ARG_NONE, &options->is_full, "Print each step on a line of its own", NULL},
      {"json", 0, 0, G_OPTION_ARG_NONE, &options->as_json, "Print one JSON document", NULL},
      {"colour", 0, 0, G_OPTION_ARG_STRING, &options->colour, "Colour the output (default: auto, which heeds NO_COLOR)",
       "auto|always|never"},
      G_OPTION_ENTRY_NULL,
  };
  return command_parse(command, entries, argc, argv, 1, 1, arguments, error);
}

static void replay_clear(Replay *replay) {
  if (replay->recorded) {
    run_free(replay->recorded);
    trace_meta_clear(&replay->meta);
  }
  if (replay->replayed) {
    run_free(replay->replayed);
  }
  free(replay->mismatch);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Replay, replay_clear)

static ExitCode replay_trace(const ReplayOptions *options, const char *path, GError **error) {
  g_auto(Replay) replay = {0};
  bool colour = false;
  if (!terminal_colour(options->colour, &colour, error)) {
    return EXIT_USAGE;
  }
  if (!read_trace(path, &replay, error)) {
    return EXIT_DATA;
  }
  g_autofree char *model = options->model ? g_strdup(options->model) : model_argument(&replay, path);
  if (!execute(&replay, model, error)) {
    return EXIT_DATA;
  }
  if (options->as_json) {
    print_json(&replay);
  } else {
    print_text(&replay, &(TextOptions){.is_full = options->is_full, .has_colour = colour});
  }
  return replay.is_reproduced ? EXIT_MET : EXIT_NOT_MET;
}

static ExitCode replay_command_run(const Command *command, int argc, char **argv, GError **error) {
  ReplayOptions options = {0};
  g_auto(GStrv) arguments = NULL;
  ExitCode code = EXIT_USAGE;
  if (parse_options(command, &options, argc, argv, &arguments, error)) {
    code = replay_trace(&options, arguments[0], error);
  }
  g_free(options.model);
  g_free(options.colour);
  return code;
}

const Command replay_command = {
    .name = "replay",
    .arguments = "TRACE",
    .summary = "Takes the steps of a trace again, and prints its report",
    .more =
        "TRACE is a .trace file that 'lockstep check' or 'lockstep fuzz' wrote. Exit codes: 0 the violation is reproduced, 1 it is not,\n"
        "64 wrong usage, 65 wrong trace or model, 70 internal error.",
    .run = replay_command_run,
};
