/* The timeline to scale: one lane per process, time to the right, quiet time compressed and marked with its length.
 *
 * DOT with pinned positions; `dot -Tsvg` only paints it. Servers with locks on top, clients in the middle by first
 * entry, resources at the bottom. Bars say who holds what, arrows are messages, numbered badges refer to the sentences
 * below. Beyond SCALED_STEPS_MAX steps the older part is squeezed and its messages are left out; the picture says so.
 */
#ifndef LOCKSTEP_TRACES_SCALED_H
#define LOCKSTEP_TRACES_SCALED_H

#include "world/run.h"

#define SCALED_STEPS_MAX 300

/* Caller frees. */
char *scaled_timeline(const Run *run);

#endif
