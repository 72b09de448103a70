/* A model as the command line names it: found, read, parsed, with the services that it uses.
 *
 * MODEL is a path, or the name of a shipped model. A service is looked for beside the model (services/NAME.lk), then
 * among the shipped ones. The hash is over every byte that was read, so that a trace can say whether it is still the
 * same model.
 */
#ifndef LOCKSTEP_CLI_MODEL_FILE_H
#define LOCKSTEP_CLI_MODEL_FILE_H

#include "cli/catalogue.h"
#include "lang/compile.h"

#define MODEL_HASH_BYTES 17 /* 16 hexadecimal digits of xxHash 64 */

typedef struct ModelFile {
  char *name;     /* of a shipped model its name, else the one on its `model` line */
  char *argument; /* as it was asked for: what a trace says about where to find it */
  Model *model;
  char hash[MODEL_HASH_BYTES];
} ModelFile;

/* Fails with EXIT_USAGE when there is no such model, EXIT_DATA when it is wrong. Warnings go to stderr. */
ModelFile *model_file_open(const Catalogue *catalogue, const char *argument, GError **error);
void model_file_free(ModelFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ModelFile, model_file_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Program, program_free)

/* Fails with EXIT_DATA when there is none: nothing at all is no proof. */
gboolean model_file_has_scenarios(const ModelFile *file, GError **error);
/* The index of a scenario by name, or -1 with EXIT_USAGE. */
int32_t model_file_scenario(const ModelFile *file, const char *name, GError **error);
/* `settings` are strings "NAME=VALUE", NULL-terminated, or NULL. */
Program *model_file_compile(const ModelFile *file, int32_t scenario, char **settings, GError **error);
/* Whether `text` would be a right model, in all its scenarios, if it stood in a file at `path`; EXIT_DATA when not. */
gboolean model_file_would_do(const Catalogue *catalogue, const char *path, const char *text, GError **error);

#endif
