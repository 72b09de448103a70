/* Priorities with change points (priorities.h), in time: of what may happen before anything has to, the process with
 * the highest priority acts, as soon as it may; the others wait as long as they can. At d random steps somebody's
 * priority falls below all others, or a fault strikes: a violation that needs d such events at the right places is met
 * with a known probability. */
#include "explore/strategy.h"

#include "base/check.h"
#include "explore/priorities.h"

enum { LENGTH_MIN = 20 };

typedef struct Pct {
  Priorities priorities;
  bool is_planned; /* who acts does so when it was planned, not as soon as it may */
} Pct;

static void *new (const World *world) {
  (void)world;
  Pct *pct = calloc(1, sizeof *pct);
  CHECK(pct != NULL);
  return pct;
}

static void begin(void *self, Walk *walk) {
  Pct *pct = self;
  priorities_draw(&pct->priorities, walk->world, &walk->rng);
  priorities_draw_changes(&pct->priorities, LENGTH_MIN << rng_below(&walk->rng, 4), &walk->rng);
  pct->is_planned = rng_one_in(&walk->rng, 2);
  walk->temper = (Temper){.strike_one_in = 1, .choice_one_in = 20};
  walk_set_timing(walk, TIMING_MIXED);
  walk_vary(walk);
}

static int64_t priority(const Pct *pct, const Walk *walk, const Due *due) {
  int32_t process = action_process(walk->world, &due->action);
  bool lingers = walk_lingers(walk, clocked_state(walk->clocked), process);
  return priorities_on_level(&pct->priorities, process, lingers ? -1 : 0);
}

static int32_t best(const Pct *pct, const Walk *walk) {
  int32_t chosen = -1;
  for (int32_t i = 0; i < walk->due_count; i++) {
    const Due *due = &walk->due[i];
    if (due->earliest_ns > walk->last_ns || walk->planned_ns[i] == INT64_MAX) {
      continue;
    }
    int64_t mine = priority(pct, walk, due);
    int64_t other = chosen < 0 ? INT64_MIN : priority(pct, walk, &walk->due[chosen]);
    if (mine > other || (mine == other && due->earliest_ns < walk->due[chosen].earliest_ns)) {
      chosen = i;
    }
  }
  return chosen;
}

static bool decide(void *self, Walk *walk, Decision *decision) {
  Pct *pct = self;
  int32_t chosen = best(pct, walk);
  if (priorities_change_at(&pct->priorities, walk->decision_count)) {
    if (rng_one_in(&walk->rng, 2) &&
        walk_strike(walk, chosen >= 0 ? &walk->due[chosen] : NULL, walk->last_ns, decision)) {
      return true;
    }
    if (chosen >= 0) {
      priorities_lower(&pct->priorities, action_process(walk->world, &walk->due[chosen].action));
      chosen = best(pct, walk);
    }
  }
  if (chosen < 0) {
    return false;
  }
  const Due *due = &walk->due[chosen];
  int64_t to = due->latest_ns < walk->last_ns ? due->latest_ns : walk->last_ns;
  int64_t at = pct->is_planned ? walk->planned_ns[chosen] : due->earliest_ns;
  *decision = (Decision){at < due->earliest_ns ? due->earliest_ns : at > to ? to : at, due->action};
  return true;
}

const Strategy strategy_pct = {.name = "pct",
                               .text = "priorities with change points",
                               .share = 6,
                               .new = new,
                               .free = free,
                               .begin = begin,
                               .decide = decide};
