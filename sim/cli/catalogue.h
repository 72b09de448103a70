/* The models that come with lockstep: where they are, what they are called, and the services that models use.
 *
 * A shipped model's name is its path below the models' folder without ".lk": "redlock", "broken/naked_del". The folder
 * is $LOCKSTEP_MODELS if that is set, else the source tree's for a program that runs from its build tree, else
 * share/lockstep/models beside the program's bin, else the one that the build was configured for.
 *
 * A model says itself which family it belongs to, in a comment at its head, "# family: Redis", which the language knows
 * nothing of. Those in the folder "broken" violate what they claim to violate; their family is that of what they break.
 */
#ifndef LOCKSTEP_CLI_CATALOGUE_H
#define LOCKSTEP_CLI_CATALOGUE_H

#include <glib.h>

#define CATALOGUE_OTHER "other" /* the family of the models that name none; listed last */

typedef struct Catalogue {
  char *folder;
  GPtrArray *names; /* sorted, the top folder's first */
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
/* What the model's head says, or CATALOGUE_OTHER; caller frees. */
char *catalogue_family(const Catalogue *catalogue, const char *name);
/* From the text of a model: what stands behind "# family:" before its first statement but `model`. NULL: nothing. */
char *catalogue_family_of_text(const char *text);
gboolean catalogue_is_broken(const char *name);
/* The name that was probably meant, with or without its folder; NULL when none is near. */
const char *catalogue_nearest(const Catalogue *catalogue, const char *word);

#endif
