/* lockstep list: the shipped models, by family. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model_file.h"
#include "cli/result_json.h"

typedef struct Listed {
  ModelFile *file;
  char *family;
} Listed;

static void listed_free(void *item) {
  Listed *listed = item;
  model_file_free(listed->file);
  g_free(listed->family);
  g_free(listed);
}

static void add_model(JsonBuilder *builder, const Listed *listed) {
  const ModelFile *file = listed->file;
  json_builder_begin_object(builder);
  json_set_string(builder, "name", file->name);
  json_set_string(builder, "family", listed->family);
  json_builder_set_member_name(builder, "broken");
  json_builder_add_boolean_value(builder, catalogue_is_broken(file->name));
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

static void print_json(const GPtrArray *models) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-list/1");
  json_builder_set_member_name(builder, "models");
  json_builder_begin_array(builder);
  for (guint i = 0; i < models->len; i++) {
    add_model(builder, models->pdata[i]);
  }
  json_builder_end_array(builder);
  json_builder_end_object(builder);
  json_print(builder, true);
}

static void print_text(const GPtrArray *models) {
  int width = 0;
  for (guint i = 0; i < models->len; i++) {
    width = MAX(width, (int)strlen(((const Listed *)models->pdata[i])->file->name));
  }
  const char *last_family = "";
  for (guint i = 0; i < models->len; i++) {
    const Listed *listed = models->pdata[i];
    if (strcmp(listed->family, last_family) != 0) {
      printf("%s%s\n", i ? "\n" : "", listed->family);
      last_family = listed->family;
    }
    printf("  %-*s  %s\n", width, listed->file->name, model_text(listed->file->model));
  }
}

/* By family, the models without one last; within a family the broken ones last, each part by name. */
static int compare_listed(gconstpointer a, gconstpointer b) {
  const Listed *left = *(const Listed *const *)a, *right = *(const Listed *const *)b;
  int by_other = (strcmp(left->family, CATALOGUE_OTHER) == 0) - (strcmp(right->family, CATALOGUE_OTHER) == 0);
  int by_family = g_ascii_strcasecmp(left->family, right->family);
  by_family = by_family ? by_family : strcmp(left->family, right->family);
  int by_broken = catalogue_is_broken(left->file->name) - catalogue_is_broken(right->file->name);
  int by_name = strcmp(left->file->name, right->file->name);
  return by_other ? by_other : by_family ? by_family : by_broken ? by_broken : by_name;
}

/* Every model of the catalogue; a wrong one is an error of the installation. */
static GPtrArray *open_all(const Catalogue *catalogue, GError **error) {
  g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func(listed_free);
  for (guint i = 0; i < catalogue->names->len; i++) {
    const char *name = catalogue->names->pdata[i];
    ModelFile *file = model_file_open(catalogue, name, error);
    if (!file) {
      return NULL;
    }
    Listed *listed = g_new0(Listed, 1);
    *listed = (Listed){.file = file, .family = catalogue_family(catalogue, name)};
    g_ptr_array_add(models, listed);
  }
  g_ptr_array_sort(models, compare_listed);
  return g_steal_pointer(&models);
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
  g_autoptr(GPtrArray) models = catalogue_is_there(catalogue, error) ? open_all(catalogue, error) : NULL;
  if (!models) {
    return EXIT_DATA;
  }
  (as_json ? print_json : print_text)(models);
  return EXIT_MET;
}

const Command list_command = {
    .name = "list",
    .arguments = "",
    .summary = "Lists the models that come with lockstep, by family",
    .more = "A model's family is what its head says in a comment, '# family: Redis'; without one it is 'other'.\n"
            "The models below broken/ are known to be wrong, and claim so; they stand with what they break.",
    .run = list_run,
};
