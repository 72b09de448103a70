/* The program: finds the command in the table and runs it. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/terminal.h"

static const Command *const commands[] = {&check_command, &dump_command,   &fuzz_command,    &list_command,
                                          &new_command,   &replay_command, &simulate_command};

static void print_help(FILE *out) {
  fputs(
      "Usage: lockstep COMMAND …\n\n"
      "Checks models of distributed locks: explores every schedule and every timing of each scenario of a model, and\n"
      "says which properties are proved, which are violated, and how.\n\n"
      "Commands:\n",
      out);
  for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
    g_autofree char *arguments = terminal_ink(false, INK_PLAIN, commands[i]->arguments, 19);
    fprintf(out, "  %-8s %s  %s\n", commands[i]->name, arguments, commands[i]->summary);
  }
  fputs("\n'lockstep COMMAND --help' lists the options of a command; 'lockstep --version' prints the version.\n\n"
        "Exit codes: 0 every claim is met (without claims: nothing is violated), 1 a claim is not met, 2 undecided,\n"
        "64 wrong usage, 65 wrong model or trace, 70 internal error, 130 interrupted.\n",
        out);
}

static const Command *find_command(const char *name, GError **error) {
  const char *names[G_N_ELEMENTS(commands)];
  for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
    names[i] = commands[i]->name;
    if (strcmp(name, names[i]) == 0) {
      return commands[i];
    }
  }
  const char *meant = nearest_find(name, names, G_N_ELEMENTS(commands));
  g_autofree char *hint = meant ? g_strdup_printf("did you mean '%s'?", meant) : g_strdup("see 'lockstep --help'");
  g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "there is no %s '%s'; %s", name[0] == '-' ? "option" : "command", name,
              hint);
  return NULL;
}

/* What stands on stdout must have got there: a full disk is not a proof. */
static ExitCode flush_results(ExitCode code) {
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fputs("lockstep: error: cannot write the results to standard output\n", stderr);
    return EXIT_INTERNAL;
  }
  return code;
}

static ExitCode run_command(int argc, char **argv) {
  g_autoptr(GError) error = NULL;
  const Command *command = find_command(argv[1], &error);
  ExitCode code = command ? command->run(command, argc - 1, argv + 1, &error) : EXIT_USAGE;
  if (!error) {
    return code;
  }
  /* Diagnostics of a model are whole lines that begin with its position. */
  gboolean is_text = g_str_has_suffix(error->message, "\n");
  fprintf(stderr, "%s%s%s", is_text ? "" : "lockstep: error: ", error->message, is_text ? "" : "\n");
  return error->domain == COMMAND_ERROR ? (ExitCode)error->code : EXIT_INTERNAL;
}

int main(int argc, char **argv) {
  /* UTF-8 whatever the host says: the same bytes everywhere. Numbers and messages stay those of the C locale. */
  setlocale(LC_CTYPE, "C.UTF-8");
  signal(SIGPIPE, SIG_IGN);
  g_set_prgname("lockstep");
  if (argc < 2) {
    print_help(stderr);
    return (int)EXIT_USAGE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts("lockstep " LOCKSTEP_VERSION);
    return (int)flush_results(EXIT_MET);
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return (int)flush_results(EXIT_MET);
  }
  return (int)flush_results(run_command(argc, argv));
}
