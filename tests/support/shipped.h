/* For tests: a shipped model, compiled. Models are found through LOCKSTEP_MODELS, or in ./models. */
#ifndef LOCKSTEP_TESTS_SHIPPED_H
#define LOCKSTEP_TESTS_SHIPPED_H

#include "lang/compile.h"

typedef struct Shipped {
  Model *model;
  Program *program;
} Shipped;

/* `settings` is a list of "name", "value" pairs that ends with NULL, or NULL. Fails the test with the diagnostics. */
Shipped shipped_open(const char *model, const char *scenario, const char *const *settings);
/* The same for a model given as text; services come from the shipped ones. */
Shipped shipped_text(const char *text, const char *scenario, const char *const *settings);
void shipped_close(Shipped *shipped);
/* Names of the scenarios of a shipped model of this name: a NULL-ended list; free with g_strfreev. */
char **shipped_scenarios(const char *name);

typedef struct ShippedScenario {
  const char *model, *scenario;
} ShippedScenario;

/* Small ones of each kind of lock, and of each fault, for the twins: the last one's names are NULL. Not `replica`,
 * which the hull without symmetry loses. */
extern const ShippedScenario shipped_small_scenarios[];

#endif
