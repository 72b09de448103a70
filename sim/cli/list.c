/* lockstep list: the shipped models, by family. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model_file.h"
#include "cli/result_json.h"

static void add_model(JsonBuilder *builder, const ModelFile *file) {
  g_autofree char *family = catalogue_family(file->name);
  json_builder_begin_object(builder);
  json_set_string(builder, "name", file->name);
  json_set_string(builder, "family", family);
  json_set_string(builder, "text", model_text(file->model));
  json_builder_set_member_name(builder, "scenarios");
  json_builder_begin_array(builder);
  for (int32_t i = 0; i < model_scenario_count(file->model); i++) {
    json_builder_begin_object(builder);
    json_set_string(builder, "name", model_scenario_name(file->model, i));
    json_set_string(builder, "text", model_scenario_text(file->model, i));
    json_builder_end_object(builder);
  }
  json_builder_end_array(builder);
  json_builder_end_object(builder);
}

static void print_json(const GPtrArray *files) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-list/1");
  json_builder_set_member_name(builder, "models");
  json_builder_begin_array(builder);
  for (guint i = 0; i < files->len; i++) {
    add_model(builder, files->pdata[i]);
  }
  json_builder_end_array(builder);
  json_builder_end_object(builder);
  json_print(builder, true);
}

static void print_text(const GPtrArray *files) {
  int width = 0;
  for (guint i = 0; i < files->len; i++) {
    width = MAX(width, (int)strlen(((const ModelFile *)files->pdata[i])->name));
  }
  g_autofree char *last_family = g_strdup("");
  for (guint i = 0; i < files->len; i++) {
    const ModelFile *file = files->pdata[i];
    g_autofree char *family = catalogue_family(file->name);
    if (strcmp(family, last_family) != 0) {
      printf("%s%s\n", i ? "\n" : "", family);
      g_free(last_family);
      last_family = g_strdup(family);
    }
    printf("  %-*s  %s\n", width, file->name, model_text(file->model));
  }
}

static void free_file(void *file) {
  model_file_free(file);
}

/* Every model of the catalogue; a wrong one is an error of the installation. */
static GPtrArray *open_all(const Catalogue *catalogue, GError **error) {
  g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(free_file);
  for (guint i = 0; i < catalogue->names->len; i++) {
    ModelFile *file = model_file_open(catalogue, catalogue->names->pdata[i], error);
    if (!file) {
      return NULL;
    }
    g_ptr_array_add(files, file);
  }
  return g_steal_pointer(&files);
}

static ExitCode list_run(const Command *command, int argc, char **argv, GError **error) {
  gboolean as_json = FALSE;
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print one JSON document", NULL},
      G_OPTION_ENTRY_NULL,
  };
  g_auto(GStrv) arguments = NULL;
  if (!command_parse(command, entries, argc, argv, 0, 0, &arguments, error)) {
    return EXIT_USAGE;
  }
  g_autoptr(Catalogue) catalogue = catalogue_open();
  g_autoptr(GPtrArray) files = catalogue_is_there(catalogue, error) ? open_all(catalogue, error) : NULL;
  if (!files) {
    return EXIT_DATA;
  }
  (as_json ? print_json : print_text)(files);
  return EXIT_MET;
}

const Command list_command = {
    .name = "list",
    .arguments = "",
    .summary = "Lists the models that come with lockstep",
    .run = list_run,
};
