/* The models that come with lockstep: where they are, what they are called, and the services that models use.
 *
 * A shipped model's name is its path below the models' folder without ".lk": "redlock", "broken/naked_del". The folder
 * is $LOCKSTEP_MODELS if that is set, else the source tree's for a program that runs from its build tree, else
 * share/lockstep/models beside the program's bin, else the one that the build was configured for.
 */
#ifndef LOCKSTEP_CLI_CATALOGUE_H
#define LOCKSTEP_CLI_CATALOGUE_H

#include <glib.h>

typedef struct Catalogue {
  char *folder;
  GPtrArray *names; /* sorted, the top folder's ("protocols") first */
} Catalogue;

/* An empty catalogue when the folder is not there; never NULL. */
Catalogue *catalogue_open(void);
void catalogue_free(Catalogue *catalogue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Catalogue, catalogue_free)

/* Fails with EXIT_INTERNAL when it is empty: the installation is broken. */
gboolean catalogue_is_there(const Catalogue *catalogue, GError **error);
gboolean catalogue_has(const Catalogue *catalogue, const char *name);
/* Caller frees. */
char *catalogue_path(const Catalogue *catalogue, const char *name);
/* "protocols" or the model's top folder; caller frees. */
char *catalogue_family(const char *name);
/* The name that was probably meant, with or without its folder; NULL when none is near. */
const char *catalogue_nearest(const Catalogue *catalogue, const char *word);

#endif
