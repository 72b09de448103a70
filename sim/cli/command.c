#include "cli/command.h"

#include <string.h>

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

static gboolean takes_argument(const GOptionEntry *entries, char letter) {
  for (; entries->long_name; entries++) {
    if (entries->short_name == letter) {
      return entries->arg != G_OPTION_ARG_NONE;
    }
  }
  return FALSE;
}

/* "-j2" is "-j 2", which is all that GOption knows; caller frees. Behind "--" nothing is an option. */
static char **split_short(const GOptionEntry *entries, char **argv) {
  GStrvBuilder *builder = g_strv_builder_new();
  gboolean is_option = TRUE;
  for (; *argv; argv++) {
    const char *word = *argv;
    is_option = is_option && strcmp(word, "--") != 0;
    if (is_option && word[0] == '-' && word[1] && word[2] && takes_argument(entries, word[1])) {
      char letter[] = {'-', word[1], '\0'};
      g_strv_builder_add_many(builder, letter, word + 2, NULL);
    } else {
      g_strv_builder_add(builder, word);
    }
  }
  char **split = g_strv_builder_end(builder);
  g_strv_builder_unref(builder);
  return split;
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
  (void)argc;
  g_autofree char *program_name = g_strconcat("lockstep ", command->name, NULL);
  g_set_prgname(program_name);
  g_autoptr(GOptionContext) context = context_new(command, entries, arguments);
  g_autoptr(GError) parse_error = NULL;
  g_auto(GStrv) words = split_short(entries, argv);
  if (!g_option_context_parse_strv(context, &words, &parse_error)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "%s; see 'lockstep %s --help'", parse_error->message, command->name);
    return FALSE;
  }
  if (!*arguments) {
    *arguments = g_new0(char *, 1);
  }
  return count_is_right(command, *arguments, least, most, error);
}
