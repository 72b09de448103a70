/* The witness of a hit: the cheapest run that really violates a property, or the proof that there is none.
 *
 * An exploration over-approximates (hulls, widening, extrapolation), and its hits may be spurious. Here a property's
 * hit is searched again, with exact zones (each successor's zone as the System gives it, nothing joined) and with
 * process names that stay put, inside the *cone*: the states from which the exploration sees a way to the hit.
 *   1. Backwards: Dijkstra over the exploration's reversed edges gives each state the least cost h of a way to a hit.
 *   2. Forwards: A* by f = g + h from the initial states; among equal f the smaller g first, then the older node. A
 * node whose representative is outside the cone is dropped; so is one that lies inside what other nodes of the same
 *      representative cover at a cost not above. A node that waits is joined to a new one with the same key and cost if
 *      their union is exact (System.merge), and keeps all its ways in: the interleavings of independent steps.
 *   3. When a goal leaves the heap: the nodes and ways that lead to it are walked forwards again from the initial
 *      state with unjoined zones, depth first, remembering zones that are lost on the way, to one sequence of actions.
 *
 * If the exploration was finished, both answers are final:
 *   - WITNESS_NONE is a *proof* that the property is not violated, wherever the hit came from. The exploration has an
 * edge for each step of each real run; so a run that violates the property stays inside the cone, step by step, and
 * each of its exact zones is generated or covered by one that is. With nothing left to expand there is no such run.
 *   - WITNESS_FOUND is the *cheapest* run. h never exceeds the cost of a real way to the goal and obeys the triangle
 *     inequality (it is a distance in a graph that has all real edges), and goals are judged when they leave the
 *     heap: the first has the least g. A node is only ever dropped for one that reaches as much at no higher cost.
 * If it was stopped by a limit, WITNESS_FOUND is a real run, though perhaps not the cheapest, and NONE means nothing.
 *
 * The run has times: unjoined zones are exact for action sequences, and exact unions hold no point that none of them
 * has, so some walk arrives. Deterministic. While a System hands out successors,
 * its representative and covers are called.
 */
#ifndef LOCKSTEP_EXPLORE_WITNESS_H
#define LOCKSTEP_EXPLORE_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "explore/exhaustive.h"
#include "explore/progress.h"
#include "world/system.h"

typedef enum WitnessOutcome { WITNESS_NONE, WITNESS_FOUND, WITNESS_LIMIT } WitnessOutcome;

typedef struct Witness {
  WitnessOutcome outcome;
  StopReason stopped;     /* WITNESS_LIMIT: by what */
  uint32_t initial_index; /* found: the run begins in the System's initial state with this number, counted from 0 */
  Action *actions;        /* in order. The last one violates the property, or leads to the state that does */
  uint32_t action_count;  /* 0: an initial state violates it */
  bool state_violation;   /* found: it is the last state that violates, seen while time passes in it */
  uint64_t violated;      /* found: those of the properties that the run violates at its end */
  uint32_t faults, steps;
  uint64_t cone;                        /* states of the exploration with a way to a hit */
  uint64_t generated, pruned, expanded; /* nodes; pruned: generated, but covered */
  uint64_t peak_bytes;
} Witness;

/* `properties` is a bit set: the search ends with the cheapest run that violates any of them, and witness->violated
 * says which. Those are then searched no further: none of them has a cheaper run. */
Witness *witness_search(const Exploration *exploration, uint64_t properties, const SearchLimits *limits);
void witness_free(Witness *witness);

#endif
