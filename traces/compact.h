/* The timeline as a table: one row per told event, one column per lane. One HTML-like table in DOT, no coordinates.
 *
 * A cell shows the state after the event; a tall cell is a state that lasts. Servers with a lock are narrow columns
 * with the owner's letter. Made for a README, a slide or a narrow page.
 */
#ifndef LOCKSTEP_TRACES_COMPACT_H
#define LOCKSTEP_TRACES_COMPACT_H

#include "world/run.h"

/* Caller frees. */
char *compact_timeline(const Run *run);

#endif
