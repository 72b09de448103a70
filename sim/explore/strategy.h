/* How random runs are chosen: one interface, one file for each strategy, one table.
 *
 * A strategy sets the temper of each run when it begins, may decide differently from what is planned, and may learn
 * from runs that reached something new. It belongs to one batch: what it has learnt does not depend on other batches.
 */
#ifndef LOCKSTEP_EXPLORE_STRATEGY_H
#define LOCKSTEP_EXPLORE_STRATEGY_H

#include "explore/walk.h"

typedef struct Strategy {
  const char *name, *text;
  int32_t share;                    /* of the portfolio's runs, in parts; 0: none, only if it is asked for */
  void *(*new)(const World *world); /* its memory, for many batches; NULL: none */
  void (*free)(void *self);
  void (*forget)(void *self);                                 /* a new batch begins */
  void (*begin)(void *self, Walk *walk);                      /* a run begins: sets walk->temper */
  bool (*decide)(void *self, Walk *walk, Decision *decision); /* NULL: walk_decide */
  void (*end)(void *self, const Walk *walk,
              int32_t new_until); /* the last decision that led to something new; 0: none did */
} Strategy;

extern const Strategy strategy_zones;    /* priorities with change points, over zones */
extern const Strategy strategy_pct;      /* priorities with change points */
extern const Strategy strategy_boundary; /* just under, at and just over each bound */
extern const Strategy strategy_uniform;  /* any instant of a window, any fault at any time */
extern const Strategy strategy_swarm;    /* each run with some of the faults, and one way to go about time */
extern const Strategy strategy_coverage; /* goes on from where runs reached something new */

/* The order matters to a portfolio's first few runs (random.c): they are of zones, zones, and boundary. */
#define STRATEGY_COUNT 6
extern const Strategy *const strategies[STRATEGY_COUNT];
/* NULL: there is none of that name. */
const Strategy *strategy_find(const char *name);

#endif
