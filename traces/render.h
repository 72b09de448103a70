/* Pictures out of DOT by the external program `dot` of Graphviz. */
#ifndef LOCKSTEP_TRACES_RENDER_H
#define LOCKSTEP_TRACES_RENDER_H

#include <gio/gio.h>
#include <stdbool.h>

/* "svg", "png", "pdf"; ends with NULL. */
extern const char *const render_formats[];

/* "a/b.svg" for "a/b.dot" and "svg". Caller frees. */
char *render_output_path(const char *dot_path, const char *format);

/* Renders `dot_path` to render_output_path. False and an error that a user understands if `dot` is not installed
 * (G_IO_ERROR_NOT_FOUND), the format is unknown (G_IO_ERROR_INVALID_ARGUMENT) or `dot` fails. */
bool render_dot(const char *dot_path, const char *format, GError **error);

#endif
