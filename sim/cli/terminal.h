/* The terminal: whether to use colour on standard output, which, and how wide a line may be. */
#ifndef LOCKSTEP_CLI_TERMINAL_H
#define LOCKSTEP_CLI_TERMINAL_H

#include <glib.h>
#include <stdbool.h>

/* `mode` is "auto", "always", "never" or NULL for auto: a terminal, and NO_COLOR is unset or empty. Fails with
 * EXIT_USAGE for any other word. */
gboolean terminal_colour(const char *mode, bool *colour, GError **error);

typedef enum Ink { INK_PLAIN, INK_GOOD, INK_BAD, INK_OPEN, INK_FAINT, INK_STRONG } Ink;

/* `text` in that ink, padded with spaces to `width` columns; caller frees. */
char *terminal_ink(bool colour, Ink ink, const char *text, int width);

/* Puts as much of `line` as fits one row in place of the row that the terminal on standard error shows; "" clears it.
 */
void terminal_row(const char *line);

#endif
