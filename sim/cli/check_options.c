#include "cli/check_options.h"

#define NONE G_OPTION_ARG_NONE
#define STRING G_OPTION_ARG_STRING

gboolean check_options_parse(CheckOptions *o, const Command *command, int argc, char **argv, char ***arguments,
                             GError **error) {
  /* clang-format off: one option, one entry */
  const GOptionEntry entries[] = {
      {"param", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &o->settings, "Set a parameter of the model (repeatable)",
       "NAME=VALUE"},
      {"all", 0, 0, NONE, &o->all, "Check every shipped model; prints a line for each scenario and for each model",
       NULL},
      {"jobs", 'j', 0, STRING, &o->jobs, "With --all: check so many models at a time (default: the cores at hand)",
       "N"},
      {"exact", 0, 0, NONE, &o->exact, "Merge zones only where that is exact: slower, for a second look", NULL},
      {"no-symmetry", 0, 0, NONE, &o->no_symmetry, "Do not treat exchangeable clients and servers as one", NULL},
      {"less", 0, 0, NONE, &o->less, "Search how much less of a violation's one fault is still enough (takes longer)",
       NULL},
      {"memory", 0, 0, STRING, &o->memory, "Stop a scenario at this much memory (default: 4G)", "SIZE"},
      {"timeout", 0, 0, STRING, &o->timeout, "Stop a scenario after this time, such as 90s or 10m", "TIME"},
      {"max-states", 0, 0, STRING, &o->max_states, "Stop a scenario at so many states", "N"},
      {"allow-undecided", 0, 0, NONE, &o->allow_undecided, "Exit with 0 instead of 2 when undecided", NULL},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &o->output,
       "Write traces, pictures and run.json below DIR (default: lockstep-out)", "DIR"},
      {"emit", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o->emit,
       "Write each violation as FORMAT (repeatable; default: scaled, compact and svg, with --all no svg)", "FORMAT"},
      {"no-pictures", 0, 0, NONE, &o->no_pictures, "Write only what --emit names, besides the trace", NULL},
      {"report", 0, 0, STRING, &o->report, "Print in full the first violation of each scenario (default), all, or none",
       "first|all|none"},
      {"trace", 0, 0, STRING, &o->trace, "Fold steps that belong together in reports (default), or print each",
       "folded|full"},
      {"json", 0, 0, NONE, &o->as_json, "Print one JSON document (with --all: one for each model, a line each)", NULL},
      {"colour", 0, 0, STRING, &o->colour, "Colour the output (default: auto, which heeds NO_COLOR)",
       "auto|always|never"},
      {"quiet", 'q', 0, NONE, &o->quiet, "No progress, and no reports unless --report says so", NULL},
      G_OPTION_ENTRY_NULL,
  };
  /* clang-format on */
  return command_parse(command, entries, argc, argv, 0, -1, arguments, error);
}

void check_options_clear(CheckOptions *options) {
  char **strings[] = {&options->output,     &options->jobs,  &options->memory, &options->timeout,
                      &options->max_states, &options->trace, &options->report, &options->colour};
  for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
    g_free(*strings[i]);
  }
  g_strfreev(options->settings);
  g_strfreev(options->emit);
}
