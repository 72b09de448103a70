/* One random run under way: the concrete engine, what is due in it, and when each of these is planned to happen.
 *
 * A thing gets a planned instant once, when it is first seen, and keeps it while it is due; the next decision is what
 * is planned first, or a fault. How instants and faults are chosen is a strategy's business (strategy.h). The decisions
 * are kept: an instant and an action with all choices each, which clocked_take takes again. Allocates once, for many
 * runs.
 */
#ifndef LOCKSTEP_EXPLORE_WALK_H
#define LOCKSTEP_EXPLORE_WALK_H

#include "base/rng.h"
#include "world/clocked.h"

typedef struct Decision {
  int64_t time_ns;
  Action action;
} Decision;

typedef enum Timing {
  TIMING_UNIFORM,  /* anywhere in the window */
  TIMING_BOUNDARY, /* just under, at or just over the ends of windows and what stamps are compared with */
  TIMING_EDGE,     /* exactly at one of the two ends: much meets at one instant */
  TIMING_EARLY,    /* as soon as it may */
  TIMING_LATE,     /* as late as it may */
  TIMING_MIXED,    /* each thing has one of those above */
  TIMING_COUNT
} Timing;

/* When faults strike: one that has to strike one certain step is far more likely to if there are not many others. */
typedef enum Aim {
  AIM_ANY,    /* at any time */
  AIM_INSIDE, /* while some client is in its critical section: most harm only while somebody relies on the lock */
  AIM_HOLDER, /* then, and of the clients only those inside */
  AIM_VICTIM, /* one process alone, at any time */
  AIM_COUNT
} Aim;

/* How a run goes about time and faults. Probabilities are "one in so many". */
typedef struct Temper {
  Timing timing[WORLD_PROCESSES_MAX]; /* of whatever belongs to a process (walk_whose) */
  uint32_t strike_one_in;             /* a fault before a step; 0: never */
  uint32_t choice_one_in;             /* a fault inside a step, at each point where one may strike; 0: never */
  uint64_t faults_off;                /* bit set of the scenario's faults that stay away */
  Aim aim;
  int32_t victim;       /* AIM_VICTIM: the process (walk_whose) */
  bool lingers;         /* who is in its critical section stays as long as it can: so two meet there more often */
  bool meets_deadlines; /* what is planned for later happens when something else has to: much at one instant */
  int32_t length;       /* of the run, in decisions; 0: as many as are allowed */
} Temper;

#define WALK_CONSTANTS_MAX 64

typedef struct Walk {
  const World *world;
  Clocked *clocked;
  Rng rng;
  Temper temper;
  int64_t constants_ns[WALK_CONSTANTS_MAX]; /* every finite duration of the model, and the ends of its windows */
  int32_t constant_count;
  int32_t victims[WORLD_PROCESSES_MAX]; /* the processes that the scenario's faults may strike */
  int32_t victim_count;
  int32_t actor; /* whose the decision is that is taken */
  int64_t now_ns;
  int64_t look_ns; /* when the state behind the next decision is looked at; 0: only before time goes on */
  int64_t last_ns; /* no later than that, something has to happen */
  Due due[THINGS_MAX];
  int64_t planned_ns[THINGS_MAX]; /* INT64_MAX: never (optional) */
  int32_t due_count;
  Action faults[FAULT_ACTIONS_MAX];
  int32_t fault_count;
  Decision *decisions;
  int32_t decision_count, decision_max;
  uint64_t keys[THINGS_MAX], old_keys[THINGS_MAX];
  int64_t old_planned_ns[THINGS_MAX];
  int32_t old_count;
} Walk;

Walk *walk_new(const World *world, int32_t decision_max);
void walk_free(Walk *walk);
/* What the strategies that vary their runs have in common: one length for short and long runs (all of the longest, a
 * half, …), an aim, and half of the runs linger. */
void walk_vary(Walk *walk);
void walk_draw_aim(Walk *walk);
/* Whether the aim lets faults strike this process now. */
bool walk_may_strike(const Walk *walk, const State *state, int32_t process);
/* Whether this process lingers in its critical section. */
bool walk_lingers(const Walk *walk, const State *state, int32_t process);
/* The process that an action belongs to: of a message to or from a client, that client. */
int32_t walk_whose(const World *world, const State *state, const Action *action);
/* All processes go about time in the same way; or each in its own, a slow one beside a fast one. */
void walk_set_timing(Walk *walk, Timing timing);
void walk_draw_timings(Walk *walk);
/* Begins a new run, with its own stream of random numbers. */
void walk_begin(Walk *walk, uint64_t seed);
/* Looks what is due now, and plans what is new. False: nothing is. */
bool walk_look(Walk *walk);
/* The decision that the plans lead to, or now and then a fault before it. False: nothing will happen any more. */
bool walk_decide(Walk *walk, Decision *decision);
/* Whether a fault is to strike, and which, at an instant up to `until_ns`, when `next` (or nothing: NULL) is planned.
 */
bool walk_strike(Walk *walk, const Due *next, int64_t until_ns, Decision *decision);
/* Takes and keeps it. False: a finding of the model. */
bool walk_take(Walk *walk, const Decision *decision);
/* An answer to a choice: the model's own at random, the adversary's mostly 0. */
int32_t walk_choose(Walk *walk, int32_t count, bool by_model);

#endif
