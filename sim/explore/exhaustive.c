#include "explore/exhaustive.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/vec.h"

/* What waits at one cost. An entry whose state waits at another cost by now is stale; a state may stand here twice, if
 * an entry was stale for a while. */
typedef struct Level {
  Cost cost;
  VEC(uint32_t) states;
} Level;

typedef struct Search {
  Exploration *exploration;
  const ExploreOptions *options;
  VEC(Level) levels; /* dearest first */
  uint64_t level_bytes;
  uint64_t waiting_count; /* states */
  VEC(uint64_t) round;    /* what is being expanded: grown_at << 32 | state index, ascending */
  Cost cost;              /* of the round */
  uint32_t clock;         /* the next grown_at; stays at its maximum, where the order is that of the state index */
  uint64_t next_tick;
  VEC(int32_t) zones;    /* copies of those being expanded: the originals may grow meanwhile */
  VEC(int32_t) scratch;  /* one zone */
  VEC(StoredEdge) edges; /* of the state being expanded */
} Search;

/* The queue */

/* The position of the level, or of the first cheaper one. */
static uint32_t find_level(const Search *search, Cost cost) {
  uint32_t low = 0, high = search->levels.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (search->levels.items[middle].cost > cost) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static Level *level_at(Search *search, Cost cost) {
  uint32_t position = find_level(search, cost);
  if (position == search->levels.count || search->levels.items[position].cost != cost) {
    vec_push(&search->levels, (Level){0});
    Level *level = &search->levels.items[position];
    memmove(level + 1, level, (search->levels.count - 1 - position) * sizeof *level);
    *level = (Level){.cost = cost};
  }
  return &search->levels.items[position];
}

static void enqueue(Search *search, uint32_t index, Cost cost) {
  StoredState *state = store_state(&search->exploration->store, index);
  DCHECK(cost >= search->cost);
  if (state->waiting <= cost) {
    return;
  }
  search->waiting_count += state->waiting == COST_NONE;
  state->waiting = cost;
  Level *level = level_at(search, cost);
  search->level_bytes -= level->states.capacity * sizeof(uint32_t);
  vec_push(&level->states, index);
  search->level_bytes += level->states.capacity * sizeof(uint32_t);
}

/* Fixes the order of the cheapest level, without stale and repeated entries; false if there is no level. */
static bool begin_round(Search *search) {
  if (search->levels.count == 0) {
    return false;
  }
  Level level = search->levels.items[--search->levels.count];
  search->cost = level.cost;
  search->round.count = 0;
  for (uint32_t i = 0; i < level.states.count; i++) {
    uint32_t index = level.states.items[i];
    const StoredState *state = store_state(&search->exploration->store, index);
    if (state->waiting == level.cost) {
      vec_push(&search->round, (uint64_t)state->grown_at << 32 | index);
    }
  }
  search->round.count = sort_set(search->round.items, search->round.count);
  search->level_bytes -= level.states.capacity * sizeof(uint32_t);
  vec_free(&level.states);
  return true;
}

/* Arrivals */

typedef enum Arrival { ARRIVAL_COVERED, ARRIVAL_WAITS, ARRIVAL_GREW } Arrival;

/* COVERED: by a zone that has been expanded; WAITS: by one that will be. */
static Arrival compare_with_stored(const Search *search, uint32_t index, const int32_t *words) {
  const System *system = search->exploration->system;
  const Store *store = &search->exploration->store;
  const StoredState *state = store_state(store, index);
  if (state->zone_words == 0) {
    return state->waiting == COST_NONE ? ARRIVAL_COVERED : ARRIVAL_WAITS; /* without a look at its only zone */
  }
  Arrival arrival = ARRIVAL_GREW;
  for (uint32_t block = state->zones; block != POOL_NONE;) {
    const StoredZone *zone = store_zone(store, block);
    if (system->covers(system->self, store_view(store, index, zone->words), words)) {
      if (zone->expanded) {
        return ARRIVAL_COVERED;
      }
      arrival = ARRIVAL_WAITS;
    }
    block = zone->next;
  }
  return arrival;
}

static int32_t *copy_to_scratch(Search *search, const int32_t *words, uint32_t count) {
  vec_reserve(&search->scratch, count);
  memcpy(search->scratch.items, words, count * sizeof *words);
  return search->scratch.items;
}

static Arrival grow_hull(Search *search, uint32_t index, const int32_t *words) {
  const System *system = search->exploration->system;
  const Store *store = &search->exploration->store;
  StoredState *state = store_state(store, index);
  StoredZone *zone = store_zone(store, state->zones);
  SystemState view = store_view(store, index, zone->words);
  const int32_t *old = copy_to_scratch(search, zone->words, state->zone_words);
  if (!system->join(system->self, view, zone->words, words)) {
    return zone->expanded ? ARRIVAL_COVERED : ARRIVAL_WAITS;
  }
  if (state->growth < UINT16_MAX) {
    state->growth++;
  }
  if (system->widen != NULL) {
    system->widen(system->self, view, zone->words, old, state->growth);
  }
  zone->expanded = false;
  return ARRIVAL_GREW;
}

/* Removes the zones that `words` covers, and makes it the union with those that it merges with; true if there were some
 * of the latter. */
static bool swallow(Search *search, uint32_t index, int32_t *words) {
  const System *system = search->exploration->system;
  Store *store = &search->exploration->store;
  SystemState view = store_view(store, index, words);
  bool grew = false;
  uint32_t previous = POOL_NONE;
  for (uint32_t block = store_state(store, index)->zones; block != POOL_NONE;) {
    const StoredZone *zone = store_zone(store, block);
    uint32_t next = zone->next;
    bool covered = system->covers(system->self, view, zone->words);
    bool merged = !covered && system->merge != NULL && system->merge(system->self, view, words, zone->words);
    if (covered || merged) {
      store_remove_zone(store, index, previous, block);
    } else {
      previous = block;
    }
    grew = grew || merged;
    block = next;
  }
  return grew;
}

static Arrival grow_exact(Search *search, uint32_t index, const int32_t *words) {
  Store *store = &search->exploration->store;
  int32_t *merged = copy_to_scratch(search, words, store_state(store, index)->zone_words);
  while (swallow(search, index, merged)) {
  }
  store_add_zone(store, index, merged);
  return ARRIVAL_GREW;
}

static Arrival add_contribution(Search *search, uint32_t index, const int32_t *words) {
  Arrival arrival = compare_with_stored(search, index, words);
  if (arrival != ARRIVAL_GREW) {
    return arrival;
  }
  return search->exploration->exact ? grow_exact(search, index, words) : grow_hull(search, index, words);
}

/* Takes in one state that is reached at `cost`; its index. */
static uint32_t arrive(Search *search, SystemState state, Cost cost) {
  Store *store = &search->exploration->store;
  bool is_new;
  Arrival arrival = ARRIVAL_GREW;
  uint32_t index = store_intern(store, state, &is_new);
  if (is_new) {
    store_add_zone(store, index, state.zone);
  } else {
    CHECK(store_state(store, index)->zone_words == state.zone_words);
    arrival = add_contribution(search, index, state.zone);
  }
  if (arrival == ARRIVAL_GREW) {
    store_state(store, index)->grown_at = search->clock;
    search->clock += search->clock < UINT32_MAX;
  }
  if (arrival != ARRIVAL_COVERED) {
    enqueue(search, index, cost);
  }
  return index;
}

static void note_hits(Exploration *exploration, uint64_t violated, Cost cost) {
  for (unsigned bit = 0; violated != 0; bit++, violated >>= 1) {
    if ((violated & 1) != 0 && cost < exploration->hits[bit]) {
      exploration->hits[bit] = cost;
    }
  }
}

static void add_state_violations(Search *search, uint32_t index, uint64_t violated) {
  Store *store = &search->exploration->store;
  uint64_t all = exploration_state_violations(search->exploration, index) | violated;
  store_state(store, index)->violation = store_label(store, 0, all);
  note_hits(search->exploration, violated, search->cost);
}

static void take_initial(void *user, const Successor *initial) {
  Search *search = user;
  uint32_t index = arrive(search, initial->state, 0);
  if (initial->violated != 0) {
    add_state_violations(search, index, initial->violated);
  }
}

static void take_successor(void *user, const Successor *successor) {
  Search *search = user;
  Exploration *exploration = search->exploration;
  Cost edge_cost = cost_of(successor->faults, successor->steps);
  Cost cost = cost_plus(search->cost, edge_cost);
  uint32_t child = arrive(search, successor->state, cost);
  uint32_t label = store_label(&exploration->store, edge_cost, successor->violated);
  vec_push(&search->edges, edge_of(child, label));
  note_hits(exploration, successor->violated, cost);
  exploration->transitions++;
}

/* Expansion */

/* Copies the unexpanded zones of the state and marks them; their number. What arrives from now on is not among them. */
static uint32_t collect_unexpanded(Search *search, uint32_t index) {
  const Store *store = &search->exploration->store;
  const StoredState *state = store_state(store, index);
  uint32_t zone_count = 0;
  for (uint32_t block = state->zones; block != POOL_NONE;) {
    StoredZone *zone = store_zone(store, block);
    if (!zone->expanded) {
      uint64_t word_count = (uint64_t)zone_count * state->zone_words;
      vec_reserve(&search->zones, word_count + state->zone_words + 1);
      memcpy(search->zones.items + word_count, zone->words, state->zone_words * sizeof(int32_t));
      zone->expanded = true;
      zone_count++;
    }
    block = zone->next;
  }
  return zone_count;
}

static void expand_zone(Search *search, uint32_t index, const int32_t *words) {
  Exploration *exploration = search->exploration;
  const System *system = exploration->system;
  SystemState view = store_view(&exploration->store, index, words);
  StoredState *state = store_state(&exploration->store, index);
  uint64_t violated = system->violations == NULL ? 0 : system->violations(system->self, view);
  if (violated != 0) {
    add_state_violations(search, index, violated);
  }
  state->may_delay = state->may_delay || system->may_delay == NULL || system->may_delay(system->self, view);
  state->expanded = true;
  system->successors(system->self, view, exploration->canonical, take_successor, search);
  exploration->expanded++;
}

static void expand_state(Search *search, uint32_t index) {
  Store *store = &search->exploration->store;
  StoredState *state = store_state(store, index);
  DCHECK(state->waiting == search->cost);
  state->waiting = COST_NONE;
  search->waiting_count--;
  search->edges.count = 0;
  uint32_t zone_count = collect_unexpanded(search, index);
  DCHECK(zone_count > 0);
  for (uint32_t i = 0; i < zone_count; i++) {
    expand_zone(search, index, search->zones.items + (size_t)i * state->zone_words);
  }
  store_merge_edges(store, index, search->edges.items, search->edges.count);
}

/* Limits */

static uint64_t search_bytes(const Search *search) {
  return sizeof(Exploration) + store_bytes(&search->exploration->store) + search->level_bytes +
         search->levels.capacity * sizeof(Level) + search->round.capacity * sizeof(uint64_t) +
         search->zones.capacity * sizeof(int32_t) + search->scratch.capacity * sizeof(int32_t) +
         search->edges.capacity * sizeof(StoredEdge);
}

static StopReason report(Search *search) {
  const Exploration *exploration = search->exploration;
  Progress progress = {
      .phase = search->options->limits.phase,
      .faults = cost_faults(search->cost),
      .steps = cost_steps(search->cost),
      .discrete = exploration->store.state_count,
      .zones = exploration->store.zone_count,
      .expanded = exploration->expanded,
      .transitions = exploration->transitions,
      .queued = search->waiting_count,
      .bytes = search_bytes(search),
  };
  search->next_tick = exploration->expanded + EXPANSIONS_PER_TICK;
  return search->options->limits.tick(search->options->limits.user, &progress);
}

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static StopReason check_limits(Search *search) {
  const ExploreOptions *options = search->options;
  Exploration *exploration = search->exploration;
  uint64_t bytes = search_bytes(search);
  uint64_t table_bytes = store_growth_bytes(&exploration->store);
  exploration->peak_bytes = larger(exploration->peak_bytes, larger(bytes, exploration->store.peak_bytes));
  if (store_is_nearly_full(&exploration->store) ||
      (options->limits.memory_bytes != 0 && bytes + table_bytes > options->limits.memory_bytes)) {
    return STOP_MEMORY;
  }
  if (options->max_states != 0 && exploration->store.state_count > options->max_states) {
    return STOP_STATES;
  }
  return options->limits.tick != NULL && exploration->expanded >= search->next_tick ? report(search) : STOP_NOT;
}

/* The search */

static void run(Search *search) {
  Exploration *exploration = search->exploration;
  exploration->stopped = check_limits(search);
  while (exploration->stopped == STOP_NOT && begin_round(search)) {
    for (uint32_t i = 0; i < search->round.count && exploration->stopped == STOP_NOT; i++) {
      expand_state(search, (uint32_t)search->round.items[i]);
      exploration->stopped = check_limits(search);
    }
  }
  if (search->waiting_count == 0 && exploration->stopped != STOP_NOT && exploration->stopped != STOP_OVERFLOW) {
    exploration->stopped = STOP_NOT; /* the limit was met by the very last expansion */
  }
}

static void search_free(Search *search) {
  for (uint32_t i = 0; i < search->levels.count; i++) {
    vec_free(&search->levels.items[i].states);
  }
  vec_free(&search->levels);
  vec_free(&search->round);
  vec_free(&search->zones);
  vec_free(&search->scratch);
  vec_free(&search->edges);
}

Exploration *explore(const System *system, const ExploreOptions *options) {
  Exploration *exploration = calloc(1, sizeof *exploration);
  CHECK(exploration != NULL);
  exploration->system = system;
  exploration->exact = options->exact;
  exploration->canonical = options->canonical;
  store_init(&exploration->store);
  for (int i = 0; i < PROPERTY_BITS; i++) {
    exploration->hits[i] = COST_NONE;
  }
  Search search = {.exploration = exploration, .options = options};
  system->initial(system->self, options->canonical, take_initial, &search);
  run(&search);
  search_free(&search);
  return exploration;
}

void exploration_free(Exploration *exploration) {
  if (exploration != NULL) {
    store_free(&exploration->store);
    free(exploration);
  }
}

uint64_t exploration_hit_set(const Exploration *exploration) {
  uint64_t set = 0;
  for (int i = 0; i < PROPERTY_BITS; i++) {
    set |= (uint64_t)(exploration->hits[i] != COST_NONE) << i;
  }
  return set;
}

uint64_t exploration_state_violations(const Exploration *exploration, uint32_t state_index) {
  const Store *store = &exploration->store;
  return store->labels.items[store_state(store, state_index)->violation].violated;
}
