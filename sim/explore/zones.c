/* A random order of events, whose times are solved: the run is walked over zones (world/timed), which hold all timings
 * of the order so far, with priorities and change points (priorities.h). What is met only if every delay has one
 * certain length is met here as often as anything else. A walk that violates something gets its times (world/schedule),
 * up to the last of its violations, and the run begins with those decisions; behind another walk it is a uniform one.
 */
#include "explore/strategy.h"

#include <string.h>

#include "base/check.h"
#include "explore/priorities.h"
#include "world/schedule.h"
#include "world/timed.h"
#include "zone/dbm.h"

enum { LENGTH_MIN = 20, LENGTH_MAX = LENGTH_MIN << 3 };

typedef struct Place {
  uint8_t *key;
  uint32_t key_bytes, zone_words;
  int32_t zone[DBM_DIM_MAX * DBM_DIM_MAX];
} Place;

typedef struct Zones {
  const World *world;
  Timed *timed; /* NULL: the model's constants do not fit */
  System system;
  const Walk *walk; /* of this run: its temper */
  Rng *rng;
  State state; /* where the walk is, its names */
  Place *at, *next;
  Action actions[LENGTH_MAX];
  int64_t times_ns[LENGTH_MAX + 1];
  int32_t walked;      /* actions */
  int32_t kept;        /* of these, with their times: the run's first decisions */
  bool looks;          /* behind those, at times_ns[kept], the state violates something by itself */
  uint64_t known;      /* properties that a walk of this batch has violated */
  uint64_t violated;   /* by the last step */
  uint32_t candidates; /* for the next step: as good as the best one, which is actions[walked] */
  int64_t best;        /* the rank of that one */
  int32_t actor;       /* whose the last action was, or that one is */
  bool strikes;        /* a fault is wanted */
  bool struck;         /* the last action was one, or had one in it; a clock step aside */
  Priorities priorities;
} Zones;

static Place *place_new(const World *world) {
  Place *place = calloc(1, sizeof *place);
  CHECK(place != NULL);
  place->key = malloc(layout_packed_max(&world->layout));
  CHECK(place->key != NULL);
  return place;
}

static void place_free(Place *place) {
  free(place->key);
  free(place);
}

static void *new (const World *world) {
  Zones *zones = calloc(1, sizeof *zones);
  CHECK(zones != NULL);
  int64_t too_large_us;
  zones->world = world;
  zones->timed = timed_new(world, &too_large_us);
  zones->system = zones->timed != NULL ? timed_system(zones->timed, false) : (System){0};
  zones->at = place_new(world);
  zones->next = place_new(world);
  return zones;
}

static void delete (void *self) {
  Zones *zones = self;
  timed_free(zones->timed);
  place_free(zones->at);
  place_free(zones->next);
  free(zones);
}

static void forget(void *self) {
  ((Zones *)self)->known = 0;
}

/* --- one step ---------------------------------------------------------------------------------------------------- */

static void keep(void *user, const Successor *successor) {
  Zones *zones = user;
  Place *next = zones->next;
  next->key_bytes = successor->state.key_bytes;
  next->zone_words = successor->state.zone_words;
  memcpy(next->key, successor->state.key, next->key_bytes);
  memcpy(next->zone, successor->state.zone, next->zone_words * sizeof *next->zone);
  zones->actions[zones->walked] = successor->action;
  zones->violated = successor->violated;
  zones->struck = successor->faults > 0 && successor->action.kind != ACTION_CLOCK_STEP;
}

/* A step with a fault where one is wanted, else one without; then the priority of whose it is. */
static int64_t rank(const Zones *zones, const Successor *successor, int32_t process) {
  bool is_wanted = zones->strikes && walk_may_strike(zones->walk, &zones->state, process);
  int32_t level = successor->faults == 0 ? 1 : is_wanted ? 2 : 0;
  bool lingers = walk_lingers(zones->walk, &zones->state, process);
  return priorities_on_level(&zones->priorities, process, 2 * level - lingers);
}

static void consider(void *user, const Successor *transition) {
  Zones *zones = user;
  int32_t process = walk_whose(zones->world, &zones->state, &transition->action);
  int64_t mine = rank(zones, transition, process);
  zones->candidates = zones->candidates == 0 || mine > zones->best ? 1 : zones->candidates + (mine == zones->best);
  if (mine > zones->best || (mine == zones->best && rng_one_in(zones->rng, zones->candidates))) {
    zones->best = mine;
    zones->actor = process;
    zones->actions[zones->walked] = transition->action;
  }
}

static SystemState state_at(const Place *place) {
  return (SystemState){place->key, place->key_bytes, place->zone, place->zone_words};
}

static void move_on(Zones *zones) {
  Place *left = zones->at;
  zones->at = zones->next;
  zones->next = left;
  state_unpack(&zones->world->layout, zones->at->key, &zones->state);
}

/* Who acted last falls behind all others at a change point, and mostly when a fault has struck: who sleeps shall sleep
 * on. A step of a clock puts nobody to sleep. */
static void change(Zones *zones) {
  uint32_t strike_one_in = zones->walk->temper.strike_one_in;
  bool falls = zones->struck && !rng_one_in(zones->rng, 4);
  falls |= priorities_change_at(&zones->priorities, zones->walked);
  if (falls && zones->walked > 0) {
    priorities_lower(&zones->priorities, zones->actor);
  }
  zones->strikes = strike_one_in > 0 && rng_one_in(zones->rng, strike_one_in);
}

/* --- the walk ---------------------------------------------------------------------------------------------------- */

static void begin_walk(Zones *zones, int32_t length) {
  priorities_draw(&zones->priorities, zones->world, zones->rng);
  priorities_draw_changes(&zones->priorities, length, zones->rng);
  zones->walked = 0;
  zones->system.initial(zones->system.self, false, keep, zones);
  move_on(zones);
}

/* False: nothing can happen any more. */
static bool walk_step(Zones *zones) {
  zones->candidates = 0;
  zones->best = INT64_MIN;
  change(zones);
  timed_transitions(zones->timed, state_at(zones->at), consider, zones);
  if (zones->candidates == 0) {
    return false;
  }
  timed_successor(zones->timed, state_at(zones->at), &zones->actions[zones->walked], keep, zones);
  move_on(zones);
  zones->walked++;
  return true;
}

/* One of the properties; NO_INDEX: there is none. */
static int32_t first_of(uint64_t properties) {
  int32_t p = 0;
  while (p < WORLD_PROPERTIES_MAX && !(properties >> p & 1)) {
    p++;
  }
  return p < WORLD_PROPERTIES_MAX ? p : NO_INDEX;
}

/* Keeps the walk so far if there are instants for it, and for a look at its last state. */
static bool keep_walk(Zones *zones, int32_t look) {
  ScheduleOutcome outcome = schedule_solve(zones->world, zones->actions, zones->walked, look, zones->times_ns);
  if (outcome == SCHEDULE_SOLVED) {
    zones->kept = zones->walked;
    zones->looks = look != NO_INDEX;
  }
  return outcome == SCHEDULE_SOLVED;
}

/* Goes on past a step that violates something: other violations may only ever come behind it. Ends where a state does,
 * which the run has to look at right then. */
static void walk_on(Zones *zones, int32_t length) {
  begin_walk(zones, length);
  while (!zones->looks && zones->walked < length && walk_step(zones)) {
    uint64_t by_step = zones->violated & ~zones->known;
    uint64_t by_state = zones->system.violations(zones->system.self, state_at(zones->at)) & ~zones->known;
    int32_t look = by_step == 0 ? first_of(by_state) : NO_INDEX;
    if ((by_step | by_state) != 0 && keep_walk(zones, look)) {
      zones->known |= look == NO_INDEX ? by_step : UINT64_C(1) << look;
    }
  }
}

static void begin(void *self, Walk *walk) {
  Zones *zones = self;
  zones->walk = walk;
  zones->rng = &walk->rng;
  walk->temper = (Temper){.strike_one_in = UINT32_C(4) << rng_below(&walk->rng, 4)};
  walk_draw_aim(walk);
  walk->temper.lingers = rng_one_in(&walk->rng, 2);
  walk_set_timing(walk, TIMING_LATE);
  int32_t length = LENGTH_MIN << rng_below(&walk->rng, 4);
  zones->kept = 0;
  zones->looks = false;
  if (zones->timed != NULL) {
    walk_on(zones, length < walk->decision_max ? length : walk->decision_max);
  }
  if (zones->kept == 0) {
    strategy_uniform.begin(NULL, walk);
  }
}

static bool decide(void *self, Walk *walk, Decision *decision) {
  Zones *zones = self;
  int32_t at = walk->decision_count;
  if (at < zones->kept) {
    *decision = (Decision){zones->times_ns[at], zones->actions[at]};
    walk->look_ns = zones->looks && at + 1 == zones->kept ? zones->times_ns[zones->kept] : 0;
    return true;
  }
  return walk_decide(walk, decision);
}

const Strategy strategy_zones = {
    .name = "zones",
    .text = "priorities with change points, times solved, not drawn; if that violates nothing, uniform",
    .share = 8,
    .new = new,
    .free = delete,
    .forget = forget,
    .begin = begin,
    .decide = decide};
