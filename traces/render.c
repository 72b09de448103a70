#include "traces/render.h"

#include <glib/gstdio.h>
#include <string.h>

const char *const render_formats[] = {"svg", "png", "pdf", NULL};

char *render_output_path(const char *dot_path, const char *format) {
  size_t length = strlen(dot_path);
  size_t stem = g_str_has_suffix(dot_path, ".dot") ? length - 4 : length;
  return g_strdup_printf("%.*s.%s", (int)stem, dot_path, format);
}

/* A path that begins with a dash would be an option to dot. */
static char *as_argument(const char *path) {
  return path[0] == '-' ? g_strdup_printf("./%s", path) : g_strdup(path);
}

static bool run_dot(const char *program, const char *dot_path, const char *format, const char *output, GError **error) {
  g_autofree char *type = g_strdup_printf("-T%s", format);
  g_autofree char *input = as_argument(dot_path), *picture = as_argument(output), *messages = NULL;
  const char *const arguments[] = {program, type, "-o", picture, input, NULL};
  g_autoptr(GSubprocess) process =
      g_subprocess_newv(arguments, G_SUBPROCESS_FLAGS_STDERR_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE, error);
  if (!process || !g_subprocess_communicate_utf8(process, NULL, NULL, NULL, &messages, error)) {
    return false;
  }
  if (g_subprocess_get_successful(process)) {
    return true;
  }
  g_remove(output);
  g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "'dot' could not draw %s: %s", dot_path,
              messages && messages[0] ? g_strstrip(messages) : "it gave no reason");
  return false;
}

bool render_dot(const char *dot_path, const char *format, GError **error) {
  if (!g_strv_contains(render_formats, format)) {
    g_autofree char *known = g_strjoinv(", ", (char **)render_formats);
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "unknown picture format '%s'; there are %s", format,
                known);
    return false;
  }
  g_autofree char *program = g_find_program_in_path("dot");
  if (!program) {
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
                "cannot draw %s: the program 'dot' is not installed. It is part of Graphviz (the package is called "
                "graphviz); or draw the file elsewhere with: dot -T%s %s",
                dot_path, format, dot_path);
    return false;
  }
  g_autofree char *output = render_output_path(dot_path, format);
  return run_dot(program, dot_path, format, output, error);
}
