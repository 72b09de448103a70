/* lockstep dump: the compiled program of one scenario, as the search runs it. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/model_file.h"
#include "cli/result_json.h"

static void print_json(const ModelFile *file, const Program *program, const char *listing) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-dump/1");
  json_set_string(builder, "model", file->name);
  json_set_string(builder, "scenario", program->scenario);
  json_builder_set_member_name(builder, "parameters");
  result_json_parameters(builder, program);
  json_set_string(builder, "listing", listing);
  json_builder_end_object(builder);
  json_print(builder, true);
}

static ExitCode dump_run(const Command *command, int argc, char **argv, GError **error) {
  gboolean as_json = FALSE;
  g_auto(GStrv) settings = NULL, arguments = NULL;
  const GOptionEntry entries[] = {
      {"param", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &settings, "Set a parameter of the model (repeatable)",
       "NAME=VALUE"},
      {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print one JSON document", NULL},
      G_OPTION_ENTRY_NULL,
  };
  if (!command_parse(command, entries, argc, argv, 1, 2, &arguments, error)) {
    return EXIT_USAGE;
  }
  g_autoptr(Catalogue) catalogue = catalogue_open();
  g_autoptr(ModelFile) file = model_file_open(catalogue, arguments[0], error);
  bool has_scenarios = file && model_file_has_scenarios(file, error);
  int32_t scenario = !has_scenarios ? -1 : arguments[1] ? model_file_scenario(file, arguments[1], error) : 0;
  g_autoptr(Program) program = scenario < 0 ? NULL : model_file_compile(file, scenario, settings, error);
  if (!program) {
    return EXIT_DATA;
  }
  char *listing = program_listing(program);
  if (as_json) {
    print_json(file, program, listing);
  } else {
    fputs(listing, stdout);
  }
  free(listing);
  return EXIT_MET;
}

const Command dump_command = {
    .name = "dump",
    .arguments = "MODEL [SCENARIO]",
    .summary = "Prints the compiled program of a scenario (default: the first)",
    .run = dump_run,
};
