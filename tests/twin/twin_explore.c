/* The search against a slow and obvious one, on random toys.
 *
 * A toy is two equal processes. Each has a location and a number 0 .. 7; an edge asks that the number lie in a range
 * and keeps it, sets it or adds to it (up to 7). A zone is a box over the two numbers, so a hull takes in points that
 * nobody reaches, and the truth is found by walking over points: Bellman-Ford on a flat array of costs. A toy without
 * numbers has no zone. Usage: twin_explore [seed [cases]]
 */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/exhaustive.h"
#include "explore/timelock.h"
#include "explore/witness.h"

enum { LOCATIONS = 5, NUMBERS = 8, EDGES_MAX = 12, RULES = 2, EDGE_BITS = 4, BITS = EDGE_BITS + RULES };
enum { SIDES = LOCATIONS * NUMBERS, POINTS = SIDES * SIDES, KEYS = LOCATIONS * LOCATIONS, ANYWHERE = 255 };

typedef struct Range {
  int32_t low, high;
} Range;

typedef struct Edge {
  uint8_t from, to, forbidden; /* where the other must not be, or ANYWHERE */
  Range guard;
  bool sets;
  int32_t operand;
  uint16_t faults, steps;
  uint8_t violation_peer; /* with the other there, the edge violates */
  uint8_t violation_bit;
} Edge;

typedef struct Rule { /* violated while one process is here and the other there */
  uint8_t here, there;
  Range here_range, there_range;
} Rule;

typedef struct Toy {
  bool timed;
  bool frozen[LOCATIONS];
  Edge edges[EDGES_MAX];
  uint32_t edge_count;
  Rule rules[RULES];
  struct {
    uint8_t locations[2];
    Range box[2];
  } initials[2];
  uint32_t initial_count;
} Toy;

static uint64_t rng_state;
static uint64_t seed;
static uint32_t case_number;

#define EXPECT(condition)                                                                                             \
  ((condition) ? (void)0                                                                                              \
               : (printf("%s:%d: seed %" PRIu64 " case %u: %s\n", __FILE__, __LINE__, seed, case_number, #condition), \
                  exit(1)))

static uint32_t below(uint32_t limit) { /* splitmix64 */
  uint64_t z = rng_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((z ^ z >> 31) % limit);
}

static Range random_range(uint32_t length_max) {
  int32_t low = (int32_t)below(NUMBERS);
  int32_t high = low + (int32_t)below(length_max);
  return (Range){low, high < NUMBERS ? high : NUMBERS - 1};
}

static uint8_t random_location(void) {
  return (uint8_t)below(LOCATIONS);
}

static Edge random_edge(uint8_t from) {
  return (Edge){
      .from = from,
      .to = random_location(),
      .forbidden = below(3) == 0 ? random_location() : ANYWHERE,
      .guard = below(3) == 0 ? (Range){0, NUMBERS - 1} : random_range(4),
      .sets = below(2) == 0,
      .operand = (int32_t)below(4),
      .faults = below(4) == 0 ? (uint16_t)below(3) : 0,
      .steps = below(8) == 0 ? (uint16_t)below(4) : 1,
      .violation_peer = below(3) == 0 ? random_location() : ANYWHERE,
      .violation_bit = (uint8_t)below(EDGE_BITS),
  };
}

static Toy random_toy(void) {
  Toy toy = {.timed = below(4) != 0, .edge_count = 4 + below(EDGES_MAX - 3), .initial_count = 1 + below(2)};
  for (uint32_t i = 0; i < toy.edge_count; i++) {
    toy.edges[i] = random_edge((uint8_t)(i % LOCATIONS));
  }
  for (uint32_t i = 0; i < RULES; i++) {
    toy.rules[i] = (Rule){random_location(), random_location(), random_range(3), random_range(3)};
  }
  for (uint32_t i = 0; i < LOCATIONS; i++) {
    toy.frozen[i] = below(3) == 0;
  }
  for (uint32_t i = 0; i < toy.initial_count; i++) {
    for (int side = 0; side < 2; side++) {
      toy.initials[i].locations[side] = (uint8_t)below(2);
      toy.initials[i].box[side] = toy.timed ? random_range(3) : (Range){0, 0};
    }
  }
  return toy;
}

/* The meaning of a toy, once: on boxes. A point is a box of one. */
typedef struct Box {
  uint8_t locations[2];
  Range ranges[2];
} Box;

static bool meet(Range *range, Range other) {
  range->low = MAX(range->low, other.low);
  range->high = MIN(range->high, other.high);
  return range->low <= range->high;
}

static bool take_edge(const Toy *toy, const Edge *edge, int side, Box *box) {
  if (box->locations[side] != edge->from || box->locations[1 - side] == edge->forbidden) {
    return false;
  }
  box->locations[side] = edge->to;
  if (!toy->timed) {
    return true;
  }
  Range *range = &box->ranges[side];
  if (!meet(range, edge->guard)) {
    return false;
  }
  if (edge->sets) {
    *range = (Range){edge->operand, edge->operand};
  } else {
    *range = (Range){MIN(range->low + edge->operand, NUMBERS - 1), MIN(range->high + edge->operand, NUMBERS - 1)};
  }
  return true;
}

static uint64_t edge_violation(const Edge *edge, int side, const Box *before) {
  return before->locations[1 - side] == edge->violation_peer ? UINT64_C(1) << edge->violation_bit : 0;
}

static uint64_t box_violations(const Toy *toy, const Box *box) {
  uint64_t bits = 0;
  for (int i = 0; i < RULES; i++) {
    for (int side = 0; side < 2; side++) {
      const Rule *rule = &toy->rules[i];
      Range here = box->ranges[side], there = box->ranges[1 - side];
      bool hit = box->locations[side] == rule->here && box->locations[1 - side] == rule->there &&
                 (!toy->timed || (meet(&here, rule->here_range) && meet(&there, rule->there_range)));
      bits |= (uint64_t)hit << (EDGE_BITS + i);
    }
  }
  return bits;
}

static Box canonical_box(Box box) {
  if (box.locations[0] <= box.locations[1]) {
    return box;
  }
  return (Box){{box.locations[1], box.locations[0]}, {box.ranges[1], box.ranges[0]}};
}

/* The toy as a System */

static SystemState state_of(const Toy *toy, const Box *box) {
  return (SystemState){box->locations, 2, toy->timed ? (const int32_t *)box->ranges : NULL, toy->timed ? 4 : 0};
}

static Box box_of(const SystemState *state) {
  Box box = {{state->key[0], state->key[1]}, {{0, 0}, {0, 0}}};
  if (state->zone_words > 0) {
    memcpy(box.ranges, state->zone, sizeof box.ranges);
  }
  return box;
}

static void toy_initial(void *self, bool canonical, SuccessorSink sink, void *user) {
  const Toy *toy = self;
  for (uint32_t i = 0; i < toy->initial_count; i++) {
    Box box = {{toy->initials[i].locations[0], toy->initials[i].locations[1]},
               {toy->initials[i].box[0], toy->initials[i].box[1]}};
    box = canonical ? canonical_box(box) : box;
    sink(user, &(Successor){.state = state_of(toy, &box)});
  }
}

static Action action_of(uint32_t edge, int side) {
  Action action = {.kind = (uint8_t)edge, .subject = (uint8_t)side, .choice_count = (uint8_t)(edge * 7 % 61)};
  memset(action.choices, (int)edge + 1, action.choice_count);
  return action;
}

static void toy_successors(void *self, SystemState state, bool canonical, SuccessorSink sink, void *user) {
  const Toy *toy = self;
  Box before = box_of(&state);
  for (uint32_t i = 0; i < toy->edge_count; i++) {
    for (int side = 0; side < 2; side++) {
      const Edge *edge = &toy->edges[i];
      Box after = before;
      if (take_edge(toy, edge, side, &after)) {
        after = canonical ? canonical_box(after) : after;
        sink(user, &(Successor){state_of(toy, &after), action_of(i, side), edge->faults, edge->steps,
                                edge_violation(edge, side, &before)});
      }
    }
  }
}

static SystemState toy_representative(void *self, SystemState state) {
  static Box box;
  box = canonical_box(box_of(&state));
  return state_of(self, &box);
}

static uint64_t toy_violations(void *self, SystemState state) {
  Box box = box_of(&state);
  return box_violations(self, &box);
}

static bool toy_may_delay(void *self, SystemState state) {
  const Toy *toy = self;
  return !toy->frozen[state.key[0]] && !toy->frozen[state.key[1]];
}

static bool words_cover(const int32_t *outer, const int32_t *inner) {
  return outer[0] <= inner[0] && inner[1] <= outer[1] && outer[2] <= inner[2] && inner[3] <= outer[3];
}

static bool toy_covers(void *self, SystemState outer, const int32_t *inner) {
  (void)self;
  return words_cover(outer.zone, inner);
}

static bool toy_join(void *self, SystemState state, int32_t *zone, const int32_t *other) {
  (void)self, (void)state;
  if (words_cover(zone, other)) {
    return false;
  }
  for (int i = 0; i < 4; i += 2) {
    zone[i] = MIN(zone[i], other[i]);
    zone[i + 1] = MAX(zone[i + 1], other[i + 1]);
  }
  return true;
}

static bool toy_merge(void *self, SystemState state, int32_t *zone, const int32_t *other) {
  bool same_first = zone[0] == other[0] && zone[1] == other[1];
  bool same_second = zone[2] == other[2] && zone[3] == other[3];
  int i = same_first ? 2 : 0;
  bool touch = zone[i] <= other[i + 1] + 1 && other[i] <= zone[i + 1] + 1;
  if (words_cover(zone, other) || words_cover(other, zone) || ((same_first || same_second) && touch)) {
    toy_join(self, state, zone, other);
    return true;
  }
  return false;
}

static System toy_system(Toy *toy) {
  return (System){
      .self = toy,
      .initial = toy_initial,
      .successors = toy_successors,
      .representative = toy_representative,
      .violations = toy_violations,
      .may_delay = toy_may_delay,
      .covers = toy_covers,
      .join = toy_join,
      .merge = toy_merge,
  };
}

/* The obvious searches: over points, and over hulls in any order. */

typedef struct Truth {
  Cost points[POINTS];
  Cost hits[BITS];
} Truth;

static uint32_t point_of(const Box *box) {
  uint32_t first = box->locations[0] * NUMBERS + (uint32_t)box->ranges[0].low;
  return first * SIDES + box->locations[1] * NUMBERS + (uint32_t)box->ranges[1].low;
}

static Box box_at(uint32_t point) {
  int32_t first = (int32_t)(point / SIDES), second = (int32_t)(point % SIDES);
  int32_t x = first % NUMBERS, y = second % NUMBERS;
  return (Box){{(uint8_t)(first / NUMBERS), (uint8_t)(second / NUMBERS)}, {{x, x}, {y, y}}};
}

static bool lower(Cost *cost, Cost candidate) {
  bool lowers = candidate < *cost;
  *cost = lowers ? candidate : *cost;
  return lowers;
}

static void lower_hits(Truth *truth, uint64_t violated, Cost cost) {
  for (int bit = 0; bit < BITS; bit++) {
    if ((violated >> bit & 1) != 0) {
      lower(&truth->hits[bit], cost);
    }
  }
}

static bool relax_point(const Toy *toy, Truth *truth, uint32_t point) {
  bool changed = false;
  Box before = box_at(point);
  lower_hits(truth, box_violations(toy, &before), truth->points[point]);
  for (uint32_t i = 0; i < toy->edge_count; i++) {
    for (int side = 0; side < 2; side++) {
      Box after = before;
      if (take_edge(toy, &toy->edges[i], side, &after)) {
        Cost cost = truth->points[point] + cost_of(toy->edges[i].faults, toy->edges[i].steps);
        changed |= lower(&truth->points[point_of(&after)], cost);
        lower_hits(truth, edge_violation(&toy->edges[i], side, &before), cost);
      }
    }
  }
  return changed;
}

static void find_truth(const Toy *toy, Truth *truth) {
  memset(truth, 0xff, sizeof *truth);
  for (uint32_t i = 0; i < toy->initial_count; i++) {
    for (int32_t x = toy->initials[i].box[0].low; x <= toy->initials[i].box[0].high; x++) {
      for (int32_t y = toy->initials[i].box[1].low; y <= toy->initials[i].box[1].high; y++) {
        const uint8_t *locations = toy->initials[i].locations;
        truth->points[point_of(&(Box){{locations[0], locations[1]}, {{x, x}, {y, y}}})] = 0;
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t point = 0; point < POINTS; point++) {
      changed |= truth->points[point] != COST_NONE && relax_point(toy, truth, point);
    }
  }
}

typedef struct Hulls {
  bool canonical, changed;
  const Toy *toy;
  GHashTable *boxes; /* key as number -> Box */
  uint64_t violated;
} Hulls;

static uint32_t key_number(const uint8_t *locations) {
  return locations[0] * (uint32_t)LOCATIONS + locations[1];
}

static void join_hull(void *user, const Successor *successor) {
  Hulls *hulls = user;
  gpointer key = GUINT_TO_POINTER(key_number(successor->state.key) + 1);
  Box *known = g_hash_table_lookup(hulls->boxes, key);
  hulls->violated |= successor->violated;
  if (known == NULL) {
    Box box = box_of(&successor->state);
    g_hash_table_insert(hulls->boxes, key, g_memdup2(&box, sizeof box));
    hulls->changed = true;
  } else if (hulls->toy->timed) {
    hulls->changed |= toy_join(NULL, successor->state, (int32_t *)known->ranges, successor->state.zone);
  }
}

static void find_hulls(Toy *toy, Hulls *hulls) {
  toy_initial(toy, hulls->canonical, join_hull, hulls);
  while (hulls->changed) {
    hulls->changed = false;
    for (uint32_t key = 1; key <= KEYS; key++) {
      const Box *box = g_hash_table_lookup(hulls->boxes, GUINT_TO_POINTER(key));
      if (box != NULL) {
        Box copy = *box;
        hulls->violated |= box_violations(toy, &copy);
        toy_successors(toy, state_of(toy, &copy), hulls->canonical, join_hull, hulls);
      }
    }
  }
}

/* Comparison */

typedef struct Tally {
  uint32_t timed, large, violated, spurious, hit_too_cheap, witnesses, long_witnesses, refuted, regrown, several_zones;
  uint32_t timelocks, cycles, false_cycles;
} Tally;

static Tally tally;

static uint32_t key_of_point(uint32_t point, bool canonical) {
  Box box = canonical ? canonical_box(box_at(point)) : box_at(point);
  return key_number(box.locations);
}

static uint32_t find_key(const Exploration *exploration, uint32_t key) {
  uint8_t locations[2] = {(uint8_t)(key / LOCATIONS), (uint8_t)(key % LOCATIONS)};
  return store_find(&exploration->store, locations, 2);
}

static void compare_with_hulls(const Exploration *exploration, const Hulls *hulls) {
  uint32_t count = g_hash_table_size(hulls->boxes);
  EXPECT(exploration->store.state_count == count && exploration->store.zone_count == count);
  EXPECT(exploration_hit_set(exploration) == hulls->violated);
  for (uint32_t key = 0; key < KEYS; key++) {
    const Box *box = g_hash_table_lookup(hulls->boxes, GUINT_TO_POINTER(key + 1));
    uint32_t index = find_key(exploration, key);
    EXPECT((index != STORE_NONE) == (box != NULL));
    if (box != NULL && hulls->toy->timed) {
      const StoredZone *zone = store_zone(&exploration->store, store_state(&exploration->store, index)->zones);
      EXPECT(memcmp(zone->words, box->ranges, sizeof box->ranges) == 0);
    }
  }
}

static bool holds_point(const Exploration *exploration, const Toy *toy, uint32_t index, const Box *point) {
  uint32_t block = store_state(&exploration->store, index)->zones;
  while (block != POOL_NONE) {
    const StoredZone *zone = store_zone(&exploration->store, block);
    if (!toy->timed || words_cover(zone->words, (const int32_t *)point->ranges)) {
      return true;
    }
    block = zone->next;
  }
  return false;
}

static void compare_with_points(const Exploration *exploration, const Toy *toy, const Truth *truth) {
  bool reached[KEYS] = {false};
  uint32_t reached_count = 0;
  for (uint32_t point = 0; point < POINTS; point++) {
    if (truth->points[point] != COST_NONE) {
      uint32_t key = key_of_point(point, exploration->canonical);
      reached_count += !reached[key];
      reached[key] = true;
      EXPECT(find_key(exploration, key) != STORE_NONE);
    }
    Box box = box_at(point);
    uint32_t index = find_key(exploration, key_of_point(point, false));
    if (!exploration->canonical && index != STORE_NONE && (toy->timed || point_of(&box) == point)) {
      bool held = holds_point(exploration, toy, index, &box);
      EXPECT(held || truth->points[point] == COST_NONE);
      EXPECT(!held || !exploration->exact || !toy->timed || truth->points[point] != COST_NONE);
    }
  }
  EXPECT(!exploration->exact || exploration->store.state_count == reached_count);
}

static void compare_hits(const Exploration *exploration, const Toy *toy, const Truth *truth) {
  for (int bit = 0; bit < BITS; bit++) {
    EXPECT(exploration->hits[bit] <= truth->hits[bit]);
    EXPECT(toy->timed || exploration->hits[bit] == truth->hits[bit]);
    EXPECT(!exploration->exact || (exploration->hits[bit] == COST_NONE) == (truth->hits[bit] == COST_NONE));
    tally.violated += truth->hits[bit] != COST_NONE;
    tally.spurious += exploration->hits[bit] != COST_NONE && truth->hits[bit] == COST_NONE;
    tally.hit_too_cheap += exploration->hits[bit] < truth->hits[bit] && truth->hits[bit] != COST_NONE;
  }
}

/* Takes the run again, on boxes, and looks whether it does what it says. */
static void replay(const Toy *toy, const Witness *witness, int bit) {
  EXPECT(witness->initial_index < toy->initial_count);
  Box box = {{toy->initials[witness->initial_index].locations[0], toy->initials[witness->initial_index].locations[1]},
             {toy->initials[witness->initial_index].box[0], toy->initials[witness->initial_index].box[1]}};
  Cost cost = 0;
  uint64_t violated = 0;
  for (uint32_t i = 0; i < witness->action_count; i++) {
    const Action *action = &witness->actions[i];
    const Edge *edge = &toy->edges[action->kind];
    Action wanted = action_of(action->kind, action->subject);
    EXPECT(memcmp(action, &wanted, sizeof wanted) == 0);
    violated = edge_violation(edge, action->subject, &box);
    EXPECT(take_edge(toy, edge, action->subject, &box));
    cost += cost_of(edge->faults, edge->steps);
  }
  violated = witness->state_violation ? box_violations(toy, &box) : violated;
  EXPECT((violated >> bit & 1) != 0);
  EXPECT(cost == cost_of(witness->faults, witness->steps));
}

static void compare_witnesses(const Exploration *exploration, const Toy *toy, const Truth *truth) {
  for (int bit = 0; bit < BITS; bit++) {
    Witness *witness = witness_search(exploration, UINT64_C(1) << bit, &(SearchLimits){.phase = "twin"});
    if (truth->hits[bit] == COST_NONE) {
      EXPECT(witness->outcome == WITNESS_NONE);
      tally.refuted += exploration->hits[bit] != COST_NONE;
    } else {
      EXPECT(witness->outcome == WITNESS_FOUND);
      EXPECT(cost_of(witness->faults, witness->steps) == truth->hits[bit]);
      replay(toy, witness, bit);
      tally.witnesses++;
      tally.long_witnesses += witness->action_count >= 5;
    }
    witness_free(witness);
  }
}

/* Timelocks. What an exploration cannot know is which points of its zones are reached: the truth is that of all of
 * them, walked over one by one. */
typedef struct Points {
  bool in[POINTS];
  uint32_t count;
} Points;

/* The points of the zones that forbid delay. */
static void find_frozen(const Exploration *exploration, const Toy *toy, Points *points) {
  points->count = 0;
  for (uint32_t point = 0; point < POINTS; point++) {
    Box box = box_at(point);
    bool is_named = toy->timed || (box.ranges[0].low == 0 && box.ranges[1].low == 0);
    is_named &= !exploration->canonical || box.locations[0] <= box.locations[1];
    uint32_t index = is_named ? find_key(exploration, key_number(box.locations)) : STORE_NONE;
    points->in[point] = index != STORE_NONE &&
                        !toy_may_delay((void *)(uintptr_t)toy, store_view(&exploration->store, index, NULL)) &&
                        holds_point(exploration, toy, index, &box);
    points->count += points->in[point];
  }
}

/* `next[i]`: the point that edge i / 2 leads to, taken by the side i % 2, or POINTS. */
static void find_next(const Toy *toy, bool canonical, uint32_t point, uint32_t next[2 * EDGES_MAX]) {
  for (uint32_t i = 0; i < 2 * EDGES_MAX; i++) {
    Box after = box_at(point);
    next[i] = POINTS;
    if (i < 2 * toy->edge_count && take_edge(toy, &toy->edges[i / 2], (int)(i % 2), &after)) {
      after = canonical ? canonical_box(after) : after;
      next[i] = point_of(&after);
    }
  }
}

/* Takes away points that lead to none of the others, until none is left or only those on endless runs. */
static void peel(const Toy *toy, bool canonical, Points *points) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t point = 0; point < POINTS; point++) {
      if (points->in[point]) {
        uint32_t next[2 * EDGES_MAX];
        bool goes_on = false;
        find_next(toy, canonical, point, next);
        for (uint32_t i = 0; i < 2 * EDGES_MAX; i++) {
          goes_on |= next[i] < POINTS && points->in[next[i]];
        }
        points->in[point] = goes_on;
        points->count -= !goes_on;
        changed |= !goes_on;
      }
    }
  }
}

/* One step of the endless ones, from all points of `from` to those with this key. */
static void step_to(const Toy *toy, bool canonical, const Points *endless, uint32_t key, const Points *from,
                    Points *to) {
  *to = (Points){.count = 0};
  for (uint32_t point = 0; point < POINTS; point++) {
    if (from->in[point]) {
      uint32_t next[2 * EDGES_MAX];
      find_next(toy, canonical, point, next);
      for (uint32_t i = 0; i < 2 * EDGES_MAX; i++) {
        if (next[i] < POINTS && endless->in[next[i]] && key_of_point(next[i], false) == key) {
          to->in[next[i]] = true;
          to->count++;
        }
      }
    }
  }
}

static uint32_t key_of_state(const Exploration *exploration, uint32_t index) {
  return key_number(store_view(&exploration->store, index, NULL).key);
}

/* Some point can go round more often than there are points: for ever. */
static void check_cycle(const Exploration *exploration, const Toy *toy, const Timelock *timelock,
                        const Points *endless) {
  static Points at, next;
  at = *endless;
  for (uint32_t point = 0; point < POINTS; point++) {
    at.in[point] &= key_of_point(point, false) == key_of_state(exploration, timelock->state_index);
  }
  EXPECT(timelock->cycle[0] == timelock->state_index);
  for (uint32_t round = 0; round <= NUMBERS * NUMBERS; round++) {
    for (uint32_t i = 1; i <= timelock->cycle_count; i++) {
      uint32_t key = key_of_state(exploration, timelock->cycle[i % timelock->cycle_count]);
      step_to(toy, exploration->canonical, endless, key, &at, &next);
      EXPECT(next.count > 0);
      at = next;
    }
  }
}

static bool has_stuck_state(const Exploration *exploration, const Toy *toy) {
  const Store *store = &exploration->store;
  bool stuck = false;
  for (uint32_t i = 0; i < store->state_count; i++) {
    stuck |=
        !toy_may_delay((void *)(uintptr_t)toy, store_view(store, i, NULL)) && store_state(store, i)->edge_count == 0;
  }
  return stuck;
}

/* Whether the states alone have a cycle that forbids delay. */
static bool has_candidate(const Exploration *exploration, const Toy *toy) {
  const Store *store = &exploration->store;
  bool left[KEYS];
  for (uint32_t i = 0; i < store->state_count; i++) {
    left[i] = !toy_may_delay((void *)(uintptr_t)toy, store_view(store, i, NULL));
  }
  bool any = true;
  for (uint32_t round = 0; round < KEYS && any; round++) {
    any = false;
    for (uint32_t i = 0; i < store->state_count; i++) {
      bool on = false;
      for (uint32_t j = 0; j < store_state(store, i)->edge_count; j++) {
        on |= left[edge_child(store_edges(store, i)[j])];
      }
      left[i] = left[i] && on;
      any |= left[i];
    }
  }
  return any;
}

static void compare_timelock(const Exploration *exploration, const Toy *toy) {
  static Points endless;
  Timelock timelock = exploration_find_timelock(exploration, &(SearchLimits){0});
  find_frozen(exploration, toy, &endless);
  peel(toy, exploration->canonical, &endless);
  bool stuck = has_stuck_state(exploration, toy), candidate = has_candidate(exploration, toy);
  EXPECT(timelock.found == (stuck || endless.count > 0));
  EXPECT(endless.count == 0 || candidate);
  if (timelock.cycle_count > 0) {
    check_cycle(exploration, toy, &timelock, &endless);
  } else {
    EXPECT(!timelock.found || store_state(&exploration->store, timelock.state_index)->edge_count == 0);
  }
  tally.timelocks += timelock.found;
  tally.cycles += timelock.cycle_count > 1;
  tally.false_cycles += candidate && endless.count == 0;
  timelock_free(&timelock);
  if (candidate && !stuck) { /* without looking, it has to be believed */
    timelock = exploration_find_timelock(exploration, &(SearchLimits){.memory_bytes = 1});
    EXPECT(timelock.found && timelock.stopped == STOP_MEMORY && timelock.cycle_count > 0);
    timelock_free(&timelock);
  }
}

/* Edges are exactly those of the zones: each zone is expanded once more, and nothing new turns up. */
typedef struct Recheck {
  Exploration *exploration;
  VEC(StoredEdge) edges;
} Recheck;

static void collect_edge(void *user, const Successor *successor) {
  Recheck *recheck = user;
  Store *store = &recheck->exploration->store;
  uint32_t child = store_find(store, successor->state.key, 2);
  EXPECT(child != STORE_NONE);
  uint32_t label = store_label(store, cost_of(successor->faults, successor->steps), successor->violated);
  vec_push(&recheck->edges, edge_of(child, label));
}

static void check_fixed_point(Exploration *exploration) {
  Store *store = &exploration->store;
  Recheck recheck = {.exploration = exploration};
  for (uint32_t i = 0; i < store->state_count; i++) {
    recheck.edges.count = 0;
    EXPECT(store_state(store, i)->waiting == COST_NONE);
    for (uint32_t block = store_state(store, i)->zones; block != POOL_NONE; block = store_zone(store, block)->next) {
      EXPECT(store_zone(store, block)->expanded);
      SystemState view = store_view(store, i, store_zone(store, block)->words);
      exploration->system->successors(exploration->system->self, view, exploration->canonical, collect_edge, &recheck);
    }
    uint32_t before = store_state(store, i)->edge_count;
    store_merge_edges(store, i, recheck.edges.items, recheck.edges.count);
    EXPECT(store_state(store, i)->edge_count == before);
  }
  vec_free(&recheck.edges);
}

/* Of two zones of one state neither covers the other, and they do not merge. */
static void check_antichains(const Exploration *exploration) {
  const Store *store = &exploration->store;
  for (uint32_t i = 0; i < store->state_count; i++) {
    for (uint32_t a = store_state(store, i)->zones; a != POOL_NONE; a = store_zone(store, a)->next) {
      for (uint32_t b = store_zone(store, a)->next; b != POOL_NONE; b = store_zone(store, b)->next) {
        int32_t words[4];
        memcpy(words, store_zone(store, a)->words, sizeof words);
        EXPECT(!toy_merge(NULL, (SystemState){0}, words, store_zone(store, b)->words));
      }
    }
  }
}

static bool same_stores(const Exploration *a, const Exploration *b) {
  bool same = a->store.state_count == b->store.state_count && a->expanded == b->expanded &&
              a->transitions == b->transitions && a->store.zone_count == b->store.zone_count &&
              a->peak_bytes == b->peak_bytes && memcmp(a->hits, b->hits, sizeof a->hits) == 0;
  for (uint32_t i = 0; same && i < a->store.state_count; i++) {
    const StoredState *x = store_state(&a->store, i), *y = store_state(&b->store, i);
    same = x->grown_at == y->grown_at && x->zones == y->zones && x->edge_count == y->edge_count &&
           memcmp(pool_at(&a->store.keys, x->key), pool_at(&b->store.keys, y->key), 2) == 0 &&
           (x->edge_count == 0 ||
            memcmp(store_edges(&a->store, i), store_edges(&b->store, i), x->edge_count * sizeof(StoredEdge)) == 0);
  }
  return same;
}

static void run_mode(Toy *toy, const Truth *truth, bool exact, bool canonical) {
  System system = toy_system(toy);
  ExploreOptions options = {.exact = exact, .canonical = canonical, .limits.phase = "twin"};
  Exploration *exploration = explore(&system, &options);
  Exploration *again = explore(&system, &options);
  EXPECT(exploration->stopped == STOP_NOT);
  EXPECT(same_stores(exploration, again));
  exploration_free(again);
  if (!exact) {
    Hulls hulls = {.toy = toy, .canonical = canonical, .boxes = g_hash_table_new_full(NULL, NULL, NULL, g_free)};
    find_hulls(toy, &hulls);
    compare_with_hulls(exploration, &hulls);
    g_hash_table_unref(hulls.boxes);
  }
  compare_with_points(exploration, toy, truth);
  compare_hits(exploration, toy, truth);
  check_fixed_point(exploration);
  check_antichains(exploration);
  compare_witnesses(exploration, toy, truth);
  compare_timelock(exploration, toy);
  tally.timed += toy->timed;
  tally.large += exploration->store.state_count >= 8;
  tally.regrown += exploration->expanded > exploration->store.state_count;
  tally.several_zones += exploration->store.zone_count > exploration->store.state_count;
  exploration_free(exploration);
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20240917;
  uint32_t cases = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000;
  printf("seed %" PRIu64 ", %u toys, each hull and exact, canonical and not\n", seed, cases);
  fflush(stdout);
  rng_state = seed;
  static Truth truth;
  for (case_number = 0; case_number < cases; case_number++) {
    Toy toy = random_toy();
    find_truth(&toy, &truth);
    for (int mode = 0; mode < 4; mode++) {
      run_mode(&toy, &truth, (mode & 1) != 0, (mode & 2) != 0);
    }
  }
  printf("of %u runs: timed %u, 8 states or more %u, expanded again %u, several zones %u, "
         "timelock %u (of two states or more %u; false candidates %u)\n",
         cases * 4, tally.timed, tally.large, tally.regrown, tally.several_zones, tally.timelocks, tally.cycles,
         tally.false_cycles);
  printf("hits: true %u, spurious %u (refuted %u), bound below the true cost %u; witnesses %u, of 5 steps or more %u\n",
         tally.violated, tally.spurious, tally.refuted, tally.hit_too_cheap, tally.witnesses, tally.long_witnesses);
  bool thin = tally.large == 0 || tally.regrown == 0 || tally.several_zones == 0 || tally.spurious == 0 ||
              tally.hit_too_cheap == 0 || tally.long_witnesses == 0 || tally.cycles == 0 || tally.false_cycles == 0;
  return cases >= 1000 && thin ? 1 : 0;
}
