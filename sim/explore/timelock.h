/* Where time can stand still for ever, looked for in a finished exploration.
 *
 * *Stuck*: a state that forbids delay in all its zones and has no successor. Exact on hulls: successors are those of
 * the whole hull. *Endless*: a run without end that lets no time pass. A cycle of states that forbid delay is only a
 * candidate for that, since each round of it may need something that the round before has used up (a wait that has
 * been woken begins again at age 0), which a hull forgets. So each strongly connected component of such states is
 * searched again, with zones that are not joined: depth first, from every stored zone of every state in it, along the
 * successors that stay in it. (They need not be asked whether they forbid delay: their state does so on its hull.)
 *
 *   - A zone that includes one of the same state on the path below it closes a *true* cycle: each of its points has
 *     a predecessor one round earlier that lies in it too, and regions are finitely many, so some run goes round for
 *     ever. The converse, to lie inside one on the path, says nothing: the hull that the search begins in includes
 *     whatever comes back to it. Such a zone is searched on.
 *   - A zone inside one of the same state that is finished is dropped: whatever it can do, that one could.
 *
 * (Laarman, Olesen, Dalsgaard, Larsen, van de Pol, "Multi-Core Emptiness Checking of Timed Büchi Automata Using
 * Inclusion Abstraction", CAV 2013: there a state may be dropped below a red one, and closes a cycle above a cyan one.)
 *
 * It ends: where no time passes ages are reset or constrained, by finitely many constants, so zones are finitely many,
 * and an endless path meets an equal one again. When a limit is reached first, a cycle of the component is reported as
 * it is.
 *
 * It misses nothing. An endless run without delay stays in one component in the end; its points there lie in stored
 * zones. Suppose that all searches of the component finish, and take the zone that finished first among those with a
 * point of an endless run: the next point of that run lies in a successor, which was finished or dropped before, so an
 * earlier zone has such a point too. Contradiction.
 *
 * Not looked at are the points that must not wait in a state where others may: something is at the end of its window.
 * In world/timed that can happen at once and is gone then. So an endless run, in which it is never put off, comes at
 * last to states where nobody may wait, because something is overdue there or was born with a window of no length.
 */
#ifndef LOCKSTEP_EXPLORE_TIMELOCK_H
#define LOCKSTEP_EXPLORE_TIMELOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "explore/progress.h"

typedef struct Exploration Exploration; /* explore/exhaustive.h */

typedef struct Timelock {
  bool found;
  StopReason stopped; /* STOP_NOT: settled. Else there is a candidate, which may be no timelock */
  uint32_t state_index;
  uint32_t *cycle; /* state indices, in order; cycle[0] is state_index. NULL: stuck */
  uint32_t cycle_count;
} Timelock;

/* The first in the order of a depth-first search from state 0, 1, 2, … */
Timelock exploration_find_timelock(const Exploration *exploration, const SearchLimits *limits);
void timelock_free(Timelock *timelock);

#endif
