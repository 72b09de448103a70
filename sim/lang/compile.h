/* From text to a Program: the front end's one door.
 *
 * model_load reads a model and the services that it uses, parses and resolves them; model_compile makes the Program
 * of one scenario. Both report to the Model's Diagnostics and return NULL / false when there is an error.
 */
#ifndef LOCKSTEP_LANG_COMPILE_H
#define LOCKSTEP_LANG_COMPILE_H

#include "lang/program.h"

typedef struct Model Model;

/* Finds the text of a service by name ("redis"); returns NULL when there is none. Caller frees the text;
 * `*path` is set to what diagnostics shall print. */
typedef char *(*ServiceReader)(void *user, const char *name, char **path, size_t *text_bytes);

/* `name` is the path that diagnostics print. Never NULL; look at model_diagnostics. */
Model *model_parse(const char *name, const char *text, size_t text_bytes, ServiceReader reader, void *user);
void model_free(Model *model);
const Diagnostics *model_diagnostics(const Model *model);

const char *model_name(const Model *model);
const char *model_text(const Model *model); /* the string on the `model` line */
int32_t model_scenario_count(const Model *model);
const char *model_scenario_name(const Model *model, int32_t scenario);
const char *model_scenario_text(const Model *model, int32_t scenario);

typedef struct Setting {
  const char *name, *value;
} Setting; /* -p name=value; value is an expression in the language */

/* NULL when a diagnostic was added. A value that does not parse or an unknown name is a diagnostic, too ("<command
 * line>"). */
Program *model_compile(Model *model, int32_t scenario, const Setting *settings, int32_t setting_count);

#endif
