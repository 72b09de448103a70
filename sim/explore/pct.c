/* Priorities with change points (PCT: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010), in time: processes
 * have random priorities; of what may happen before anything has to, the process with the highest acts, as soon as it
 * may; the others wait as long as they can. At d random steps somebody's priority falls below all others, or a fault
 * strikes: a violation that needs d such events at the right places is met with a known probability. */
#include "explore/strategy.h"

#include "base/check.h"

enum { CHANGES_MAX = 4, LENGTH_MIN = 20 };

typedef struct Pct {
  int32_t priority[WORLD_PROCESSES_MAX]; /* the larger, the sooner */
  int32_t change_at[CHANGES_MAX];
  int32_t change_count, lowest, length;
} Pct;

static void *new (const World *world) {
  (void)world;
  Pct *pct = calloc(1, sizeof *pct);
  CHECK(pct != NULL);
  return pct;
}

static void forget(void *self) {
  ((Pct *)self)->length = 0;
}

static void begin(void *self, Walk *walk) {
  Pct *pct = self;
  int32_t count = walk->world->program->client_count + walk->world->program->server_count;
  for (int32_t p = 0; p < count; p++) {
    int32_t other = (int32_t)rng_below(&walk->rng, (uint64_t)p + 1);
    pct->priority[p] = pct->priority[other];
    pct->priority[other] = p;
  }
  pct->lowest = 0;
  pct->change_count = (int32_t)rng_below(&walk->rng, CHANGES_MAX + 1);
  int32_t length = LENGTH_MIN << rng_below(&walk->rng, 4);
  for (int32_t c = 0; c < pct->change_count; c++) {
    pct->change_at[c] = (int32_t)rng_below(&walk->rng, (uint64_t)length);
  }
  bool mixed = rng_one_in(&walk->rng, 2);
  walk->temper = (Temper){.is_mixed = mixed, .strike_one_in = 1, .choice_one_in = 20};
  walk_vary(walk);
}

static int32_t process_of(const Walk *walk, const Action *action) {
  bool of_server = action->kind == ACTION_FIRE || action->kind == ACTION_SYNC;
  return action->subject + (of_server ? walk->world->program->client_count : 0);
}

static bool is_change(const Pct *pct, int32_t step) {
  for (int32_t c = 0; c < pct->change_count; c++) {
    if (pct->change_at[c] == step) {
      return true;
    }
  }
  return false;
}

static int32_t best(const Pct *pct, const Walk *walk) {
  int32_t chosen = -1;
  for (int32_t i = 0; i < walk->due_count; i++) {
    const Due *due = &walk->due[i];
    if (due->earliest_ns > walk->last_ns || walk->planned_ns[i] == INT64_MAX) {
      continue;
    }
    int32_t mine = pct->priority[process_of(walk, &due->action)];
    int32_t other = chosen < 0 ? INT32_MIN : pct->priority[process_of(walk, &walk->due[chosen].action)];
    if (mine > other || (mine == other && due->earliest_ns < walk->due[chosen].earliest_ns)) {
      chosen = i;
    }
  }
  return chosen;
}

/* Client steps keep their planned instants when the temper is mixed: priorities order what coincides, plans the rest.
 */
static bool decide(void *self, Walk *walk, Decision *decision) {
  Pct *pct = self;
  int32_t chosen = best(pct, walk);
  if (is_change(pct, walk->decision_count)) {
    if (rng_one_in(&walk->rng, 2) && walk_strike(walk, walk->last_ns, decision)) {
      return true;
    }
    if (chosen >= 0) {
      pct->priority[process_of(walk, &walk->due[chosen].action)] = --pct->lowest;
      chosen = best(pct, walk);
    }
  }
  if (chosen < 0) {
    return false;
  }
  const Due *due = &walk->due[chosen];
  int64_t to = due->latest_ns < walk->last_ns ? due->latest_ns : walk->last_ns;
  int64_t at = walk->temper.is_mixed ? walk->planned_ns[chosen] : due->earliest_ns;
  *decision = (Decision){at < due->earliest_ns ? due->earliest_ns : at > to ? to : at, due->action};
  return true;
}

const Strategy strategy_pct = {.name = "pct",
                               .text = "priorities with change points",
                               .share = 1,
                               .new = new,
                               .free = free,
                               .forget = forget,
                               .begin = begin,
                               .decide = decide};
