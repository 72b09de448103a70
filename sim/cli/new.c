/* lockstep new: a shipped model under a new name, to begin with. */
#include <errno.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model_file.h"
#include "cli/result_json.h"

#define MODEL_TO_START_FROM "start"

typedef struct NewOptions {
  char *from, *folder;
  gboolean as_json;
} NewOptions;

static const char *const language_words[] = {
#define KEYWORD(name, text) text,
#include "lang/tokens.def"
    NULL,
};

/* What the language takes for a name, and is free. */
static gboolean name_is_right(const Catalogue *catalogue, const char *name, GError **error) {
  if (!g_regex_match_simple("^[A-Za-z_][A-Za-z0-9_]*$", name, G_REGEX_DOLLAR_ENDONLY, 0)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE,
                "'%s' is no name for a model: letters, digits and '_', not a digit first, and no folder or '.lk'",
                name);
    return FALSE;
  }
  if (g_strv_contains(language_words, name)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "'%s' is a word of the language; choose another name", name);
    return FALSE;
  }
  if (catalogue_has(catalogue, name)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "'%s' is the name of a shipped model; choose another", name);
    return FALSE;
  }
  return TRUE;
}

static char *read_shipped(const Catalogue *catalogue, const char *name, GError **error) {
  g_autofree char *path = catalogue_path(catalogue, name);
  char *text = NULL;
  g_autoptr(GError) cause = NULL;
  if (!catalogue_has(catalogue, name)) {
    const char *meant = catalogue_nearest(catalogue, name);
    g_autofree char *hint = meant ? g_strdup_printf("did you mean '%s'?", meant) : g_strdup("see 'lockstep list'");
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "there is no shipped model '%s'; %s", name, hint);
    return NULL;
  }
  if (!g_file_get_contents(path, &text, NULL, &cause)) {
    g_set_error_literal(error, COMMAND_ERROR, EXIT_INTERNAL, cause->message);
    return NULL;
  }
  return text;
}

/* `text` with another name on its `model` line; caller frees. */
static char *renamed(const char *text, const char *name) {
  g_autoptr(GRegex) line = g_regex_new("^([ \\t]*model[ \\t]+)\\w+", G_REGEX_MULTILINE, 0, NULL);
  g_autoptr(GMatchInfo) match = NULL;
  int begin = 0, end = 0;
  if (!g_regex_match(line, text, 0, &match) || !g_match_info_fetch_pos(match, 0, &begin, &end)) {
    return g_strdup(text);
  }
  g_autofree char *before = g_strndup(text, (gsize)begin);
  g_autofree char *head = g_match_info_fetch(match, 1);
  return g_strconcat(before, head, name, text + end, NULL);
}

/* "x": the file is made here, or it is an error; nothing that was there is touched. */
static gboolean write_new(const char *path, const char *text, GError **error) {
  FILE *file = g_fopen(path, "wx");
  if (!file && errno == EEXIST) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "%s is there already, and is not overwritten", path);
    return FALSE;
  }
  gboolean written = file && fputs(text, file) >= 0;
  int write_errno = errno;
  if (file && fclose(file) != 0) {
    write_errno = errno;
    written = FALSE;
  }
  if (!written) {
    g_set_error(error, COMMAND_ERROR, EXIT_INTERNAL, "cannot write %s: %s", path, g_strerror(write_errno));
  }
  return written;
}

static gboolean make_folder(const char *folder, GError **error) {
  if (g_mkdir_with_parents(folder, 0777) != 0) {
    g_set_error(error, COMMAND_ERROR, EXIT_INTERNAL, "cannot make the folder %s: %s", folder, g_strerror(errno));
    return FALSE;
  }
  return TRUE;
}

static void print_result(const NewOptions *options, const char *from, const char *path) {
  if (!options->as_json) {
    printf("%s  (a copy of %s)\n  lockstep check %s\n", path, from, path);
    return;
  }
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-new/1");
  json_set_string(builder, "path", path);
  json_set_string(builder, "from", from);
  json_builder_end_object(builder);
  json_print(builder, true);
}

/* The copy is parsed where it will stand, before it is written: its services are found from there, too. */
static ExitCode make_model(const NewOptions *options, const char *name, GError **error) {
  const char *from = options->from ? options->from : MODEL_TO_START_FROM;
  g_autoptr(Catalogue) catalogue = catalogue_open();
  g_autofree char *file_name = g_strconcat(name, ".lk", NULL);
  g_autofree char *path =
      options->folder ? g_build_filename(options->folder, file_name, NULL) : g_steal_pointer(&file_name);
  if (!catalogue_is_there(catalogue, error) || !name_is_right(catalogue, name, error)) {
    return EXIT_USAGE;
  }
  g_autofree char *original = read_shipped(catalogue, from, error);
  g_autofree char *text = original ? renamed(original, name) : NULL;
  if (!text || !model_file_would_do(catalogue, path, text, error)) {
    return EXIT_DATA;
  }
  if ((options->folder && !make_folder(options->folder, error)) || !write_new(path, text, error)) {
    return EXIT_INTERNAL;
  }
  print_result(options, from, path);
  return EXIT_MET;
}

static ExitCode new_run(const Command *command, int argc, char **argv, GError **error) {
  NewOptions options = {0};
  const GOptionEntry entries[] = {
      {"from", 0, 0, G_OPTION_ARG_STRING, &options.from,
       "Copy this shipped model (default: " MODEL_TO_START_FROM "); see 'lockstep list'", "MODEL"},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.folder, "Write it into DIR (default: the current folder)",
       "DIR"},
      {"json", 0, 0, G_OPTION_ARG_NONE, &options.as_json, "Print one JSON document", NULL},
      G_OPTION_ENTRY_NULL,
  };
  g_auto(GStrv) arguments = NULL;
  ExitCode code = EXIT_USAGE;
  if (command_parse(command, entries, argc, argv, 1, 1, &arguments, error)) {
    code = make_model(&options, arguments[0], error);
  }
  g_free(options.from);
  g_free(options.folder);
  return code;
}

const Command new_command = {
    .name = "new",
    .arguments = "NAME",
    .summary = "Writes NAME.lk, a model to start from",
    .more =
        "The model checks as it is: every claim is met, within seconds. A file that is there already is never\n"
        "overwritten. Services that the model uses need no copy: a services/NAME.lk beside a model comes first, then\n"
        "the shipped ones.",
    .run = new_run,
};
