#include "cli/model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/nearest.h"
#include "cli/command.h"

/* While a model is being read: where its services may be, and the hash so far. */
typedef struct Reading {
  const Catalogue *catalogue;
  char *folder; /* of the model */
  XXH64_state_t *hash;
} Reading;

static char *read_service(void *user, const char *name, char **path, size_t *text_bytes) {
  const Reading *reading = user;
  const char *folders[] = {reading->folder, reading->catalogue->folder};
  for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
    g_autofree char *candidate = g_strconcat(folders[i], "/services/", name, ".lk", NULL);
    char *text = NULL;
    gsize bytes = 0;
    if (g_file_get_contents(candidate, &text, &bytes, NULL)) {
      XXH64_update(reading->hash, text, bytes);
      *path = g_steal_pointer(&candidate);
      *text_bytes = bytes;
      return text;
    }
  }
  return NULL;
}

/* The file that MODEL means; `*shipped` is its name when it is a shipped one. */
static char *find_model(const Catalogue *catalogue, const char *argument, char **shipped, GError **error) {
  if (g_file_test(argument, G_FILE_TEST_IS_REGULAR)) {
    return g_strdup(argument);
  }
  if (catalogue_has(catalogue, argument)) {
    *shipped = g_strdup(argument);
    return catalogue_path(catalogue, argument);
  }
  const char *meant = catalogue_nearest(catalogue, argument);
  g_autofree char *hint =
      meant ? g_strdup_printf("did you mean '%s'?", meant) : g_strdup("'lockstep list' prints the shipped models");
  g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "there is no model '%s'; %s", argument, hint);
  return NULL;
}

static Model *parse(const Catalogue *catalogue, const char *path, const char *text, size_t text_bytes,
                    char hash[MODEL_HASH_BYTES]) {
  Reading reading = {.catalogue = catalogue, .folder = g_path_get_dirname(path), .hash = XXH64_createState()};
  XXH64_reset(reading.hash, 0);
  XXH64_update(reading.hash, text, text_bytes);
  Model *model = model_parse(path, text, text_bytes, read_service, &reading);
  snprintf(hash, MODEL_HASH_BYTES, "%016" G_GINT64_MODIFIER "x", (guint64)XXH64_digest(reading.hash));
  XXH64_freeState(reading.hash);
  g_free(reading.folder);
  return model;
}

static Model *parse_file(const Catalogue *catalogue, const char *path, char hash[MODEL_HASH_BYTES], GError **error) {
  g_autofree char *text = NULL;
  gsize text_bytes = 0;
  g_autoptr(GError) read_error = NULL;
  if (!g_file_get_contents(path, &text, &text_bytes, &read_error)) {
    g_set_error_literal(error, COMMAND_ERROR, EXIT_DATA, read_error->message);
    return NULL;
  }
  return parse(catalogue, path, text, text_bytes, hash);
}

static gboolean is_right(const Model *model, GError **error) {
  char *text = diagnostics_text(model_diagnostics(model));
  gboolean right = !diagnostics_any_error(model_diagnostics(model));
  if (right) {
    fputs(text, stderr);
  } else {
    g_set_error_literal(error, COMMAND_ERROR, EXIT_DATA, text);
  }
  free(text);
  return right;
}

ModelFile *model_file_open(const Catalogue *catalogue, const char *argument, GError **error) {
  g_autofree char *shipped = NULL;
  g_autofree char *path = find_model(catalogue, argument, &shipped, error);
  if (!path) {
    return NULL;
  }
  g_autoptr(ModelFile) file = g_new0(ModelFile, 1);
  file->argument = g_strdup(argument);
  file->model = parse_file(catalogue, path, file->hash, error);
  if (!file->model || !is_right(file->model, error)) {
    return NULL;
  }
  file->name = shipped ? g_steal_pointer(&shipped) : g_strdup(model_name(file->model));
  return g_steal_pointer(&file);
}

void model_file_free(ModelFile *file) {
  if (file->model) {
    model_free(file->model);
  }
  g_free(file->name);
  g_free(file->argument);
  g_free(file);
}

gboolean model_file_has_scenarios(const ModelFile *file, GError **error) {
  if (model_scenario_count(file->model) == 0) {
    g_set_error(error, COMMAND_ERROR, EXIT_DATA, "%s has no scenario, so there is nothing to check", file->argument);
    return FALSE;
  }
  return TRUE;
}

int32_t model_file_scenario(const ModelFile *file, const char *name, GError **error) {
  int32_t count = model_scenario_count(file->model);
  g_autofree const char **names = g_new(const char *, (gsize)count + 1);
  for (int32_t i = 0; i < count; i++) {
    names[i] = model_scenario_name(file->model, i);
    if (strcmp(names[i], name) == 0) {
      return i;
    }
  }
  names[count] = NULL;
  const char *meant = nearest_find(name, names, (size_t)count);
  g_autofree char *all = g_strjoinv(", ", (char **)names);
  g_autofree char *hint =
      meant ? g_strdup_printf("did you mean '%s'?", meant) : g_strdup_printf("it has: %s", count ? all : "none");
  g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "%s has no scenario '%s'; %s", file->name, name, hint);
  return -1;
}

static gboolean split_settings(char **texts, GArray *settings, GError **error) {
  for (char **text = texts; text && *text; text++) {
    char *equals = strchr(*text, '=');
    if (!equals || equals == *text || equals[1] == '\0') {
      g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "'-p %s' is not NAME=VALUE, such as ttl=10s", *text);
      return FALSE;
    }
    Setting setting = {.name = g_strndup(*text, (size_t)(equals - *text)), .value = g_strdup(equals + 1)};
    g_array_append_val(settings, setting);
  }
  return TRUE;
}

static void clear_setting(void *item) {
  Setting *setting = item;
  g_free((char *)setting->name);
  g_free((char *)setting->value);
}

Program *model_file_compile(const ModelFile *file, int32_t scenario, char **settings, GError **error) {
  g_autoptr(GArray) split = g_array_new(FALSE, FALSE, sizeof(Setting));
  g_array_set_clear_func(split, clear_setting);
  if (!split_settings(settings, split, error)) {
    return NULL;
  }
  Program *program = model_compile(file->model, scenario, (Setting *)(void *)split->data, (int32_t)split->len);
  if (!program) {
    char *text = diagnostics_text(model_diagnostics(file->model));
    /* A wrong -p is wrong usage; everything else is a wrong model. */
    gboolean is_usage = g_str_has_prefix(text, "<command line>");
    g_set_error_literal(error, COMMAND_ERROR, is_usage ? EXIT_USAGE : EXIT_DATA, text);
    free(text);
  }
  return program;
}

gboolean model_file_would_do(const Catalogue *catalogue, const char *path, const char *text, GError **error) {
  g_autoptr(ModelFile) file = g_new0(ModelFile, 1);
  file->model = parse(catalogue, path, text, strlen(text), file->hash);
  gboolean right = is_right(file->model, error);
  for (int32_t i = 0; right && i < model_scenario_count(file->model); i++) {
    g_autoptr(Program) program = model_file_compile(file, i, NULL, error);
    right = program != NULL;
  }
  return right;
}
