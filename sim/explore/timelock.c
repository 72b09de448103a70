#include "explore/timelock.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/vec.h"
#include "explore/exhaustive.h"

typedef struct Indices {
  VEC(uint32_t) list;
} Indices;

typedef struct Search {
  const Exploration *exploration;
  const SearchLimits *limits;
  uint64_t expanded, next_tick; /* zones, of all components */
  StopReason stopped;
} Search;

/* A zone that is being searched. */
typedef struct Node {
  uint32_t member; /* its state, by its number in the component */
  uint32_t below;  /* on the path: the next lower node of the same state, or STORE_NONE */
  uint32_t words;  /* where its zone begins */
  bool on_path;    /* its successors stand above it; else it waits for its turn */
} Node;

/* One component. */
typedef struct Confirmation {
  Search *search;
  const uint32_t *members; /* state indices */
  uint32_t member_count;
  Store finished; /* the states of the component, by number, with the zones that no endless run begins in */
  VEC(Node) stack;
  VEC(int32_t) words; /* of the stack */
  VEC(int32_t) zone;  /* a copy of the one being expanded: the stack may move meanwhile */
  VEC(uint32_t) tops; /* per member its highest node on the path, or STORE_NONE */
} Confirmation;

/* Components: Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1, 1972. */
typedef struct Visit {
  uint32_t state_index;
  uint32_t edge;  /* the next to follow */
  uint32_t order; /* the how-manieth state this is, from 1 */
  uint32_t open;  /* its place among the open ones */
} Visit;

typedef struct Components {
  Search *search;
  uint32_t *lowest; /* per state: the least order known of its component; 0: not visited, CLOSED: component done */
  VEC(Visit) path;
  Indices open; /* visited, but not closed */
  uint32_t visited_count;
} Components;

static const uint32_t CLOSED = UINT32_MAX;

/* Confirmation */

static bool covers(const Confirmation *confirmation, uint32_t member, const int32_t *outer, const int32_t *inner) {
  const System *system = confirmation->search->exploration->system;
  SystemState view = store_view(&confirmation->finished, member, outer);
  return view.zone_words == 0 || system->covers(system->self, view, inner);
}

static bool is_finished(const Confirmation *confirmation, uint32_t member, const int32_t *words) {
  const Store *finished = &confirmation->finished;
  bool is_covered = false;
  for (uint32_t block = store_state(finished, member)->zones; block != POOL_NONE && !is_covered;) {
    const StoredZone *zone = store_zone(finished, block);
    is_covered = covers(confirmation, member, zone->words, words);
    block = zone->next;
  }
  return is_covered;
}

/* In the place of the zones inside it. */
static void add_finished(Confirmation *confirmation, uint32_t member, const int32_t *words) {
  Store *finished = &confirmation->finished;
  uint32_t previous = POOL_NONE;
  for (uint32_t block = store_state(finished, member)->zones; block != POOL_NONE;) {
    const StoredZone *zone = store_zone(finished, block);
    uint32_t next = zone->next;
    if (covers(confirmation, member, words, zone->words)) {
      store_remove_zone(finished, member, previous, block);
    } else {
      previous = block;
    }
    block = next;
  }
  store_add_zone(finished, member, words);
}

static void push_node(Confirmation *confirmation, uint32_t member, const int32_t *words) {
  uint32_t word_count = store_state(&confirmation->finished, member)->zone_words;
  uint32_t begin = confirmation->words.count;
  vec_reserve(&confirmation->words, (uint64_t)begin + word_count + 1);
  if (word_count > 0) {
    memcpy(confirmation->words.items + begin, words, word_count * sizeof *words);
  }
  confirmation->words.count += word_count;
  vec_push(&confirmation->stack, ((Node){.member = member, .words = begin}));
}

static void pop_node(Confirmation *confirmation) {
  confirmation->words.count = confirmation->stack.items[--confirmation->stack.count].words;
}

static void take_successor(void *user, const Successor *successor) {
  Confirmation *confirmation = user;
  SystemState state = successor->state;
  uint32_t member = store_find(&confirmation->finished, state.key, state.key_bytes);
  if (member != STORE_NONE && !is_finished(confirmation, member, state.zone)) {
    push_node(confirmation, member, state.zone);
  }
}

/* Puts the topmost node on the path, and its successors above it. */
static void expand(Confirmation *confirmation) {
  const Exploration *exploration = confirmation->search->exploration;
  confirmation->search->expanded++;
  uint32_t top = confirmation->stack.count - 1;
  Node *node = &confirmation->stack.items[top];
  node->on_path = true;
  node->below = confirmation->tops.items[node->member];
  confirmation->tops.items[node->member] = top;
  uint32_t word_count = store_state(&confirmation->finished, node->member)->zone_words;
  vec_reserve(&confirmation->zone, word_count + 1);
  memcpy(confirmation->zone.items, confirmation->words.items + node->words, word_count * sizeof(int32_t));
  SystemState view = store_view(&confirmation->finished, node->member, confirmation->zone.items);
  exploration->system->successors(exploration->system->self, view, exploration->canonical, take_successor,
                                  confirmation);
}

/* The highest node of the path that lies inside the topmost one of the stack, or STORE_NONE. */
static uint32_t find_inside(const Confirmation *confirmation) {
  const Node *nodes = confirmation->stack.items;
  const Node *node = &nodes[confirmation->stack.count - 1];
  const int32_t *words = confirmation->words.items;
  uint32_t below = confirmation->tops.items[node->member];
  while (below != STORE_NONE && !covers(confirmation, node->member, words + node->words, words + nodes[below].words)) {
    below = nodes[below].below;
  }
  return below;
}

static Timelock timelock_of(Indices cycle) {
  CHECK(cycle.list.count > 0);
  return (Timelock){
      .found = true, .state_index = cycle.list.items[0], .cycle = cycle.list.items, .cycle_count = cycle.list.count};
}

/* The path from this node on. */
static Timelock close_cycle(const Confirmation *confirmation, uint32_t from) {
  Indices cycle = {0};
  for (uint32_t i = from; i < confirmation->stack.count; i++) {
    if (confirmation->stack.items[i].on_path) {
      vec_push(&cycle.list, confirmation->members[confirmation->stack.items[i].member]);
    }
  }
  return timelock_of(cycle);
}

/* One step of the search, at the top of the stack. */
static Timelock advance(Confirmation *confirmation) {
  Node node = confirmation->stack.items[confirmation->stack.count - 1];
  const int32_t *words = confirmation->words.items + node.words;
  if (node.on_path) {
    add_finished(confirmation, node.member, words);
    confirmation->tops.items[node.member] = node.below;
    pop_node(confirmation);
  } else if (is_finished(confirmation, node.member, words)) {
    pop_node(confirmation);
  } else {
    uint32_t inside = find_inside(confirmation);
    if (inside != STORE_NONE) {
      return close_cycle(confirmation, inside);
    }
    expand(confirmation);
  }
  return (Timelock){0};
}

static uint32_t next_inside(const Confirmation *confirmation, uint32_t state_index) {
  const Store *store = &confirmation->search->exploration->store;
  const StoredEdge *edges = store_edges(store, state_index);
  uint32_t next = STORE_NONE;
  for (uint32_t i = 0; i < store_state(store, state_index)->edge_count && next == STORE_NONE; i++) {
    SystemState child = store_view(store, edge_child(edges[i]), NULL);
    bool is_inside = store_find(&confirmation->finished, child.key, child.key_bytes) != STORE_NONE;
    next = is_inside ? edge_child(edges[i]) : STORE_NONE;
  }
  CHECK(next != STORE_NONE); /* every state of a component leads on into it */
  return next;
}

/* Some cycle of the component: whoever walks on for so long goes round. */
static Timelock unconfirmed_cycle(const Confirmation *confirmation) {
  uint32_t begin = confirmation->members[0];
  for (uint32_t i = 0; i < confirmation->member_count; i++) {
    begin = next_inside(confirmation, begin);
  }
  Indices cycle = {0};
  uint32_t at = begin;
  do {
    vec_push(&cycle.list, at);
    at = next_inside(confirmation, at);
  } while (at != begin);
  return timelock_of(cycle);
}

static uint64_t confirmation_bytes(const Confirmation *confirmation) {
  return store_bytes(&confirmation->search->exploration->store) + store_bytes(&confirmation->finished) +
         confirmation->stack.count * sizeof *confirmation->stack.items +
         confirmation->words.count * sizeof *confirmation->words.items;
}

static StopReason report(Search *search, const Confirmation *confirmation) {
  const SearchLimits *limits = search->limits;
  Progress progress = {
      .phase = limits->phase,
      .discrete = confirmation->member_count,
      .zones = confirmation->finished.zone_count,
      .expanded = search->expanded,
      .queued = confirmation->stack.count,
      .bytes = confirmation_bytes(confirmation),
  };
  search->next_tick = search->expanded + EXPANSIONS_PER_TICK;
  return limits->tick(limits->user, &progress);
}

static bool passes_limit(const Confirmation *confirmation) {
  Search *search = confirmation->search;
  const SearchLimits *limits = search->limits;
  bool passes_memory = limits->memory_bytes != 0 && confirmation_bytes(confirmation) > limits->memory_bytes;
  if (passes_memory || confirmation->words.count > UINT32_MAX / 4) {
    search->stopped = STOP_MEMORY;
  } else if (limits->tick != NULL && search->expanded >= search->next_tick) {
    search->stopped = report(search, confirmation);
  }
  return search->stopped != STOP_NOT;
}

/* Searches from all stored zones of one state. */
static Timelock search_from(Confirmation *confirmation, uint32_t member) {
  const Store *store = &confirmation->search->exploration->store;
  Timelock timelock = {0};
  for (uint32_t block = store_state(store, confirmation->members[member])->zones; block != POOL_NONE;) {
    const StoredZone *zone = store_zone(store, block);
    push_node(confirmation, member, zone->words);
    block = zone->next;
  }
  while (confirmation->stack.count > 0 && !timelock.found) {
    timelock = passes_limit(confirmation) ? unconfirmed_cycle(confirmation) : advance(confirmation);
  }
  return timelock;
}

static Timelock confirm(Search *search, const uint32_t *members, uint32_t member_count) {
  Confirmation confirmation = {.search = search, .members = members, .member_count = member_count};
  store_init(&confirmation.finished);
  for (uint32_t i = 0; i < member_count; i++) {
    bool is_new;
    store_intern(&confirmation.finished, store_view(&search->exploration->store, members[i], NULL), &is_new);
    vec_push(&confirmation.tops, STORE_NONE);
  }
  Timelock timelock = {0};
  for (uint32_t i = 0; i < member_count && !timelock.found; i++) {
    timelock = search_from(&confirmation, i);
  }
  store_free(&confirmation.finished);
  vec_free(&confirmation.stack);
  vec_free(&confirmation.words);
  vec_free(&confirmation.zone);
  vec_free(&confirmation.tops);
  return timelock;
}

/* Components */

static bool forbids_delay(const StoredState *state) {
  return state->expanded && !state->may_delay;
}

static bool has_edge_to_itself(const Store *store, uint32_t index) {
  const StoredEdge *edges = store_edges(store, index);
  bool has = false;
  for (uint32_t i = 0; i < store_state(store, index)->edge_count; i++) {
    has = has || edge_child(edges[i]) == index;
  }
  return has;
}

static void visit(Components *components, uint32_t index) {
  uint32_t order = ++components->visited_count;
  components->lowest[index] = order;
  vec_push(&components->path, ((Visit){.state_index = index, .order = order, .open = components->open.list.count}));
  vec_push(&components->open.list, index);
}

/* Leaves the state at the end of the path; if it was the first of its component, that is complete. */
static Timelock leave(Components *components) {
  const Store *store = &components->search->exploration->store;
  Visit left = components->path.items[--components->path.count];
  uint32_t lowest = components->lowest[left.state_index];
  if (lowest < left.order) {
    uint32_t parent = components->path.items[components->path.count - 1].state_index;
    components->lowest[parent] = lowest < components->lowest[parent] ? lowest : components->lowest[parent];
    return (Timelock){0};
  }
  const uint32_t *members = components->open.list.items + left.open;
  uint32_t member_count = components->open.list.count - left.open;
  for (uint32_t i = 0; i < member_count; i++) {
    components->lowest[members[i]] = CLOSED;
  }
  components->open.list.count = left.open;
  bool is_candidate = member_count > 1 || has_edge_to_itself(store, left.state_index);
  return is_candidate ? confirm(components->search, members, member_count) : (Timelock){0};
}

/* Follows one edge from the end of the path, or leaves that state. */
static Timelock walk_on(Components *components) {
  const Store *store = &components->search->exploration->store;
  Visit *end = &components->path.items[components->path.count - 1];
  uint32_t from = end->state_index;
  if (end->edge == store_state(store, from)->edge_count) {
    return end->edge == 0 ? (Timelock){.found = true, .state_index = from} : leave(components);
  }
  uint32_t child = edge_child(store_edges(store, from)[end->edge++]);
  if (components->lowest[child] == 0) {
    if (forbids_delay(store_state(store, child))) {
      visit(components, child);
    }
  } else if (components->lowest[child] < components->lowest[from]) {
    components->lowest[from] = components->lowest[child];
  }
  return (Timelock){0};
}

Timelock exploration_find_timelock(const Exploration *exploration, const SearchLimits *limits) {
  const Store *store = &exploration->store;
  Search search = {.exploration = exploration, .limits = limits};
  Components components = {.search = &search, .lowest = calloc((size_t)store->state_count + 1, sizeof(uint32_t))};
  CHECK(components.lowest != NULL);
  Timelock timelock = {0};
  for (uint32_t i = 0; i < store->state_count && !timelock.found; i++) {
    if (components.lowest[i] == 0 && forbids_delay(store_state(store, i))) {
      visit(&components, i);
    }
    while (components.path.count > 0 && !timelock.found) {
      timelock = walk_on(&components);
    }
  }
  free(components.lowest);
  vec_free(&components.path);
  vec_free(&components.open.list);
  timelock.stopped = search.stopped;
  return timelock;
}

void timelock_free(Timelock *timelock) {
  free(timelock->cycle);
  *timelock = (Timelock){0};
}
