#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"

static const char *const ink_codes[] = {
    [INK_PLAIN] = "", [INK_GOOD] = "32", [INK_BAD] = "31", [INK_OPEN] = "33", [INK_FAINT] = "2", [INK_STRONG] = "1",
};

gboolean terminal_colour(const char *mode, bool *colour, GError **error) {
  if (!mode || strcmp(mode, "auto") == 0) {
    const char *no_color = g_getenv("NO_COLOR");
    *colour = isatty(STDOUT_FILENO) && !(no_color && *no_color);
    return TRUE;
  }
  *colour = strcmp(mode, "always") == 0;
  if (!*colour && strcmp(mode, "never") != 0) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--colour is auto, always or never, not '%s'", mode);
    return FALSE;
  }
  return TRUE;
}

char *terminal_ink(bool colour, Ink ink, const char *text, int width) {
  long spaces = width - g_utf8_strlen(text, -1);
  g_autofree char *padding = g_strnfill(spaces > 0 ? (gsize)spaces : 0, ' ');
  if (!colour || ink == INK_PLAIN || !*text) {
    return g_strconcat(text, padding, NULL);
  }
  return g_strconcat("\033[", ink_codes[ink], "m", text, "\033[0m", padding, NULL);
}

void terminal_row(const char *line) {
  struct winsize size;
  bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  bool is_too_long = is_known && g_utf8_strlen(line, -1) >= size.ws_col;
  g_autofree char *clipped = is_too_long ? g_utf8_substring(line, 0, size.ws_col - 1) : g_strdup(line);
  fprintf(stderr, "\r%s\033[K", clipped);
  fflush(stderr);
}
