/* What a command of the program is, and how it ends.
 *
 * main.c holds the one table of commands; each command is one file with one table of options, from which its --help
 * is made. A command returns an exit code, or fails with a GError whose code is one (domain COMMAND_ERROR).
 */
#ifndef LOCKSTEP_CLI_COMMAND_H
#define LOCKSTEP_CLI_COMMAND_H

#include <glib.h>

typedef enum ExitCode {
  EXIT_MET = 0,           /* every claim is met; without claims: nothing is violated */
  EXIT_NOT_MET = 1,       /* a claim is not met */
  EXIT_UNDECIDED = 2,     /* a limit was reached first */
  EXIT_USAGE = 64,        /* the command line is wrong */
  EXIT_DATA = 65,         /* the model or the trace is wrong */
  EXIT_INTERNAL = 70,     /* lockstep is wrong (check.h), or the host failed it: a full disk, no permission */
  EXIT_INTERRUPTED = 130, /* SIGINT */
} ExitCode;

typedef struct Command {
  const char *name;
  const char *arguments;    /* "MODEL [SCENARIO…]" */
  const char *summary;      /* one line of `lockstep --help` */
  const char *more;         /* what stands below the options in its own --help; NULL: nothing */
  char *(*more_from)(void); /* … and what is made from a table; caller frees. NULL: nothing */
  /* `argv[0]` is the command's name. Fails with EXIT_INTERNAL and an error set, or returns an ExitCode. */
  ExitCode (*run)(const struct Command *command, int argc, char **argv, GError **error);
} Command;

extern const Command check_command, dump_command, fuzz_command, list_command, new_command, replay_command,
    simulate_command;

#define COMMAND_ERROR (command_error_quark())
GQuark command_error_quark(void);

/* Parses `entries`, and leaves the other arguments, at least `least` and at most `most` (-1: any number), in
 * `*arguments` (NULL-terminated; caller frees). --help prints and exits. */
gboolean command_parse(const Command *command, const GOptionEntry *entries, int argc, char **argv, int least, int most,
                       char ***arguments, GError **error);

#endif
