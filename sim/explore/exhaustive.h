/* Exhaustive search: every reachable discrete state of a System, with zones that cover all that is reachable in it.
 *
 * One list, not two (David, Behrmann, Larsen, Yi, "Unification & Sharing in Timed Automata Verification", SPIN 2003):
 * the zones of a discrete state are kept together, each marked expanded or not, and the queue holds discrete states.
 * Popping one expands whatever zones of it are still unexpanded; a zone that was swallowed while it waited is never
 * expanded. In *hull* mode a state has one zone, which is joined in place: an over-approximation, which may prove and
 * never convicts. In *exact* mode it has several, merged only where the union is exact.
 *
 * Order: cheapest (faults, steps) first, and within one cost the state whose zones grew least recently, an order fixed
 * when the cost is begun. A contribution arrives at the cost of the state that was popped plus that of the edge, which
 * is never below the cost being expanded, and the state is queued
 *   - at that cost, if it does not wait: a child of cost c + 1 is left to grow until c is done;
 *   - at the smaller of both, if it waits already, even if the contribution lies inside a zone that waits;
 *   - not at all, if a zone that has been expanded covers it (that was at a cost not above).
 * Hence, by induction over a run: a zone that covers its i-th state is expanded at a cost not above that of the run
 * so far. So the search ends in a fixed point, and the cost of a first hit is a *lower bound* of the cost of any run
 * that violates the property: attained where zones are trivial (plain Dijkstra), while a zone that grows before it is
 * expanded shares the cheapest of its contributions' costs. The witness search finds the true cost.
 *
 * A search that is stopped by a limit can be used like a finished one; it has seen less. Deterministic: the order
 * depends on the system alone. While a System hands out successors, its covers, join, merge and widen are called.
 */
#ifndef LOCKSTEP_EXPLORE_EXHAUSTIVE_H
#define LOCKSTEP_EXPLORE_EXHAUSTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "explore/progress.h"
#include "explore/store.h"
#include "explore/timelock.h"
#include "world/system.h"

#define PROPERTY_BITS 64

typedef struct ExploreOptions {
  bool exact;          /* several zones per state, merged exactly; else one, their hull */
  bool canonical;      /* states are renamed to representatives of their symmetry class */
  uint64_t max_states; /* 0: no limit. Passed by one expansion at most, as the memory is */
  SearchLimits limits;
} ExploreOptions;

typedef struct Exploration {
  const System *system; /* must outlive the exploration */
  bool exact, canonical;
  StopReason stopped;       /* STOP_NOT: finished, a fixed point */
  Store store;              /* states, zones, edges */
  Cost hits[PROPERTY_BITS]; /* per property a lower bound of the cost of violating it; COST_NONE: nothing hit */
  uint64_t expanded;        /* zones */
  uint64_t transitions;     /* successors handed out, again for each expansion */
  uint64_t peak_bytes;
} Exploration;

Exploration *explore(const System *system, const ExploreOptions *options);
void exploration_free(Exploration *exploration);

/* The properties that are hit. */
uint64_t exploration_hit_set(const Exploration *exploration);
/* What the state itself violates, in some zone that was expanded. */
uint64_t exploration_state_violations(const Exploration *exploration, uint32_t state_index);

#endif
