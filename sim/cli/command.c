#include "cli/command.h"

G_DEFINE_QUARK(lockstep - command - error - quark, command_error)

static GOptionContext *context_new(const Command *command, const GOptionEntry *entries, char ***arguments) {
  GOptionEntry rest[] = {
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, arguments, NULL, command->arguments},
      G_OPTION_ENTRY_NULL,
  };
  GOptionContext *context = g_option_context_new(NULL);
  g_option_context_set_summary(context, command->summary);
  g_autofree char *listed = command->more_from ? command->more_from() : g_strdup("");
  g_autofree char *more = g_strconcat(command->more ? command->more : "", *listed ? "\n\n" : "", listed, NULL);
  g_option_context_set_description(context, more);
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_main_entries(context, rest, NULL);
  return context;
}

static gboolean count_is_right(const Command *command, char **arguments, int least, int most, GError **error) {
  int count = (int)g_strv_length(arguments);
  if (count < least) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "%s needs %s; see 'lockstep %s --help'", command->name,
                command->arguments, command->name);
    return FALSE;
  }
  if (most >= 0 && count > most) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "'%s' is one argument too many; see 'lockstep %s --help'",
                arguments[most], command->name);
    return FALSE;
  }
  return TRUE;
}

gboolean command_parse(const Command *command, const GOptionEntry *entries, int argc, char **argv, int least, int most,
                       char ***arguments, GError **error) {
  *arguments = NULL;
  g_autofree char *program_name = g_strconcat("lockstep ", command->name, NULL);
  g_set_prgname(program_name);
  g_autoptr(GOptionContext) context = context_new(command, entries, arguments);
  g_autoptr(GError) parse_error = NULL;
  if (!g_option_context_parse(context, &argc, &argv, &parse_error)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "%s; see 'lockstep %s --help'", parse_error->message, command->name);
    return FALSE;
  }
  if (!*arguments) {
    *arguments = g_new0(char *, 1);
  }
  return count_is_right(command, *arguments, least, most, error);
}
