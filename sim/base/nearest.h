/* The name that was probably meant: "did you mean 'redlock'?".
 *
 * Distance is the number of letters inserted, dropped, changed or swapped with their neighbour (optimal string
 * alignment), without regard to ASCII case. A name is near when at most a third of the word's letters,
 * and one more, are wrong.
 */
#ifndef LOCKSTEP_BASE_NEAREST_H
#define LOCKSTEP_BASE_NEAREST_H

#include <stddef.h>

/* The nearest of `names` to `word`, the first of equals; NULL when none is near. */
const char *nearest_find(const char *word, const char *const *names, size_t name_count);

#endif
