#include "explore/witness.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/vec.h"

enum { ACTION_HEAD_BYTES = 5 };

/* A binary heap: least `first`, then greatest `second`, then least `index`. */
typedef struct HeapEntry {
  Cost first, second;
  uint32_t index;
} HeapEntry;

typedef struct Heap {
  VEC(HeapEntry) entries;
} Heap;

/* One way into a node: an action from another one. */
typedef struct Link {
  uint32_t next;   /* block of another way, or POOL_NONE */
  uint32_t parent; /* a node */
  uint32_t action_block;
} Link;

/* A state with all that is reached of it at one cost by sequences of actions whose zones have an exact union: nodes are
 * joined until they are expanded. Its block in the pool: the zone, the key. */
typedef struct Node {
  Cost cost;
  uint32_t links;          /* block of the first Link; POOL_NONE: initial */
  uint32_t block;          /* POOL_NONE: a goal, which needs no state */
  uint32_t initial_index;  /* of an initial node */
  uint32_t representative; /* its index in the exploration's store */
  uint16_t key_bytes;
  uint16_t zone_words;
  uint64_t goal; /* what the action that leads here violates of the properties; 0: no goal */
  bool dead;     /* covered by, or joined to, a younger node that is no dearer */
  bool expanded;
  bool leads; /* to the goal: marked when there is one */
} Node;

/* What has been reached of a representative at some cost or less: the zone of a node, or the exact union of several.
 * Nothing inside it has to be reached again. */
typedef struct Cover {
  Cost cost;
  uint32_t next; /* block of the next one of the representative, or POOL_NONE */
  uint32_t node; /* STORE_NONE: a union */
  int32_t zone[];
} Cover;

typedef struct Backward {
  const Store *store;
  uint64_t *begins; /* the edges into state i are begins[i] .. begins[i + 1] - 1 of the following */
  uint32_t *parents;
  uint32_t *labels;
  Heap heap;
} Backward;

typedef struct Search {
  const Exploration *exploration;
  const SearchLimits *limits;
  Witness *witness;
  uint64_t properties; /* bit set */
  Cost *distances;     /* per state of the exploration: to a hit, or COST_NONE */
  uint32_t *covers;    /* per state: its newest Cover, or POOL_NONE */
  VEC(Node) nodes;
  Pool pool;
  Heap heap;
  Cost bound;      /* of the cheapest goal so far: what cannot be cheaper is not generated */
  uint32_t parent; /* being expanded; STORE_NONE: the initial states are being generated */
  uint32_t initial_count;
  uint64_t next_tick;
  bool has_lost_way; /* some states were given up: no proof */
} Search;

static void *take_array(uint64_t count, size_t item_bytes) {
  void *memory = calloc(count + 1, item_bytes);
  CHECK(memory != NULL);
  return memory;
}

/* Heap */

static bool comes_before(const HeapEntry *a, const HeapEntry *b) {
  if (a->first != b->first) {
    return a->first < b->first;
  }
  return a->second != b->second ? a->second > b->second : a->index < b->index;
}

static void heap_push(Heap *heap, HeapEntry entry) {
  vec_push(&heap->entries, entry);
  uint32_t hole = heap->entries.count - 1;
  HeapEntry *entries = heap->entries.items;
  while (hole > 0 && comes_before(&entry, &entries[(hole - 1) / 2])) {
    entries[hole] = entries[(hole - 1) / 2];
    hole = (hole - 1) / 2;
  }
  entries[hole] = entry;
}

static HeapEntry heap_pop(Heap *heap) {
  HeapEntry *entries = heap->entries.items;
  HeapEntry top = entries[0];
  uint32_t count = --heap->entries.count;
  HeapEntry last = entries[count];
  uint32_t hole = 0;
  for (uint32_t child = 1; child < count; child = 2 * hole + 1) {
    child += child + 1 < count && comes_before(&entries[child + 1], &entries[child]);
    if (!comes_before(&entries[child], &last)) {
      break;
    }
    entries[hole] = entries[child];
    hole = child;
  }
  entries[hole] = last;
  return top;
}

/* Backwards: the cone */

static uint64_t count_edges_by_child(Backward *backward) {
  const Store *store = backward->store;
  for (uint32_t i = 0; i < store->state_count; i++) {
    const StoredEdge *edges = store_edges(store, i);
    for (uint32_t j = 0; j < store_state(store, i)->edge_count; j++) {
      backward->begins[edge_child(edges[j]) + 1]++;
    }
  }
  for (uint32_t i = 0; i < store->state_count; i++) {
    backward->begins[i + 1] += backward->begins[i];
  }
  return backward->begins[store->state_count];
}

/* While the edges are filled in, begins[i] is where the next one into i goes: in the end, the beginning of i + 1. */
static void reverse_edges(Backward *backward) {
  const Store *store = backward->store;
  for (uint32_t i = 0; i < store->state_count; i++) {
    const StoredEdge *edges = store_edges(store, i);
    for (uint32_t j = 0; j < store_state(store, i)->edge_count; j++) {
      uint64_t position = backward->begins[edge_child(edges[j])]++;
      backward->parents[position] = i;
      backward->labels[position] = edge_label(edges[j]);
    }
  }
  memmove(backward->begins + 1, backward->begins, store->state_count * sizeof *backward->begins);
  backward->begins[0] = 0;
}

static void shorten(Search *search, Backward *backward, uint32_t index, Cost distance) {
  if (distance < search->distances[index]) {
    search->witness->cone += search->distances[index] == COST_NONE;
    search->distances[index] = distance;
    heap_push(&backward->heap, (HeapEntry){.first = distance, .index = index});
  }
}

static void seed_hits(Search *search, Backward *backward) {
  const Store *store = backward->store;
  for (uint32_t i = 0; i < store->state_count; i++) {
    search->distances[i] = COST_NONE;
    if ((exploration_state_violations(search->exploration, i) & search->properties) != 0) {
      shorten(search, backward, i, 0);
    }
    const StoredEdge *edges = store_edges(store, i);
    for (uint32_t j = 0; j < store_state(store, i)->edge_count; j++) {
      const EdgeLabel *label = &store->labels.items[edge_label(edges[j])];
      if ((label->violated & search->properties) != 0) {
        shorten(search, backward, i, label->cost);
      }
    }
  }
}

static void spread_distances(Search *search, Backward *backward) {
  const Store *store = backward->store;
  while (backward->heap.entries.count > 0) {
    HeapEntry entry = heap_pop(&backward->heap);
    if (entry.first != search->distances[entry.index]) {
      continue;
    }
    for (uint64_t i = backward->begins[entry.index]; i < backward->begins[entry.index + 1]; i++) {
      Cost edge_cost = store->labels.items[backward->labels[i]].cost;
      shorten(search, backward, backward->parents[i], cost_plus(entry.first, edge_cost));
    }
  }
}

static void note_peak(Search *search, uint64_t bytes) {
  if (bytes > search->witness->peak_bytes) {
    search->witness->peak_bytes = bytes;
  }
}

static uint64_t search_bytes(const Search *search) {
  return store_bytes(&search->exploration->store) + search->pool.bytes +
         search->exploration->store.state_count * (sizeof *search->distances + sizeof *search->covers) +
         search->nodes.capacity * sizeof(Node) + search->heap.entries.capacity * sizeof(HeapEntry);
}

static bool passes_memory(const Search *search, uint64_t bytes) {
  return search->limits->memory_bytes != 0 && bytes > search->limits->memory_bytes;
}

/* False if there is no memory for it. */
static bool measure_cone(Search *search) {
  const Store *store = &search->exploration->store;
  Backward backward = {.store = store, .begins = take_array(store->state_count + 1, sizeof *backward.begins)};
  uint64_t edge_count = count_edges_by_child(&backward);
  uint64_t bytes = search_bytes(search) + store->state_count * sizeof *backward.begins +
                   edge_count * (sizeof *backward.parents + sizeof *backward.labels);
  bool fits = !passes_memory(search, bytes);
  if (fits) {
    backward.parents = take_array(edge_count, sizeof *backward.parents);
    backward.labels = take_array(edge_count, sizeof *backward.labels);
    reverse_edges(&backward);
    seed_hits(search, &backward);
    spread_distances(search, &backward);
    note_peak(search, bytes + backward.heap.entries.capacity * sizeof(HeapEntry));
  }
  free(backward.begins);
  free(backward.parents);
  free(backward.labels);
  vec_free(&backward.heap.entries);
  return fits;
}

/* Forwards: nodes */

/* Where the parts of a node's block are; the zones stand first, so that they are aligned. */
static int32_t *node_zone(const Search *search, const Node *node) {
  return pool_at(&search->pool, node->block);
}

static bool renames(const Search *search) {
  return search->exploration->canonical && search->exploration->system->representative != NULL;
}

static uint8_t *node_key(const Search *search, const Node *node) {
  return (uint8_t *)(node_zone(search, node) + node->zone_words);
}

static SystemState node_state(const Search *search, const Node *node) {
  return (SystemState){
      .key = node_key(search, node),
      .key_bytes = node->key_bytes,
      .zone = node_zone(search, node),
      .zone_words = node->zone_words,
  };
}

/* An action's choices are few as a rule: only those that were made are kept. */
static uint32_t keep_action(Search *search, const Action *action) {
  CHECK(action->choice_count <= ACTION_CHOICES_MAX);
  uint32_t block = pool_take(&search->pool, ACTION_HEAD_BYTES + action->choice_count);
  uint8_t *bytes = pool_at(&search->pool, block);
  bytes[0] = action->kind;
  bytes[1] = action->subject;
  bytes[2] = action->object;
  bytes[3] = action->part;
  bytes[4] = action->choice_count;
  memcpy(bytes + ACTION_HEAD_BYTES, action->choices, action->choice_count);
  return block;
}

static Action kept_action(const Search *search, uint32_t block) {
  const uint8_t *bytes = pool_at(&search->pool, block);
  Action action = {
      .kind = bytes[0], .subject = bytes[1], .object = bytes[2], .part = bytes[3], .choice_count = bytes[4]};
  memcpy(action.choices, bytes + ACTION_HEAD_BYTES, action.choice_count);
  return action;
}

static Link *link_at(const Search *search, uint32_t block) {
  return pool_at(&search->pool, block);
}

/* The way into a new node from the one that is expanded. */
static uint32_t keep_link(Search *search, const Action *action) {
  uint32_t action_block = keep_action(search, action);
  uint32_t block = pool_take(&search->pool, sizeof(Link));
  *link_at(search, block) = (Link){POOL_NONE, search->parent, action_block};
  return block;
}

/* Adds a node with everything but its state, and queues it: h is 0 for a goal. Among equal f the smaller g first: what
 * may be joined to a node is there before it is expanded; but goals before all. */
static Node *add_node(Search *search, const Successor *successor, Cost cost, Cost distance, uint64_t goal) {
  bool initial = search->parent == STORE_NONE;
  Node node = {
      .cost = cost,
      .links = initial ? POOL_NONE : keep_link(search, &successor->action),
      .block = POOL_NONE,
      .initial_index = initial ? search->initial_count : 0,
      .representative = STORE_NONE,
      .goal = goal,
  };
  Cost second = goal != 0 ? COST_NONE : COST_NONE - 1 - cost;
  heap_push(&search->heap, (HeapEntry){cost_plus(cost, distance), second, search->nodes.count});
  vec_push(&search->nodes, node);
  search->witness->generated++;
  return &search->nodes.items[search->nodes.count - 1];
}

static void keep_state(Search *search, Node *node, SystemState state) {
  CHECK(state.key_bytes <= UINT16_MAX && state.zone_words <= UINT16_MAX);
  node->key_bytes = (uint16_t)state.key_bytes;
  node->zone_words = (uint16_t)state.zone_words;
  size_t zone_bytes = state.zone_words * sizeof *state.zone;
  node->block = pool_take(&search->pool, zone_bytes + state.key_bytes);
  if (zone_bytes > 0) {
    memcpy(node_zone(search, node), state.zone, zone_bytes);
  }
  if (state.key_bytes > 0) {
    memcpy(node_key(search, node), state.key, state.key_bytes);
  }
}

/* Forwards: what is covered */

static Cover *cover_at(const Search *search, uint32_t block) {
  return pool_at(&search->pool, block);
}

static size_t cover_bytes(uint32_t zone_words) {
  return sizeof(Cover) + zone_words * sizeof(int32_t);
}

static bool is_pruned(const Search *search, uint32_t representative, SystemState own, Cost cost) {
  const System *system = search->exploration->system;
  for (uint32_t block = search->covers[representative]; block != POOL_NONE;) {
    const Cover *cover = cover_at(search, block);
    SystemState outer = {own.key, own.key_bytes, cover->zone, own.zone_words};
    if (cover->cost <= cost && (own.zone_words == 0 || system->covers(system->self, outer, own.zone))) {
      return true;
    }
    block = cover->next;
  }
  return false;
}

/* Joins an older node, not yet expanded, to a new one with the same key and cost: their zones have an exact union. */
static bool join_nodes(Search *search, uint32_t new_index, uint32_t old_index) {
  const System *system = search->exploration->system;
  Node *new_node = &search->nodes.items[new_index], *old = &search->nodes.items[old_index];
  bool same = !old->expanded && !old->dead && old->links != POOL_NONE && new_node->links != POOL_NONE &&
              old->key_bytes == new_node->key_bytes &&
              memcmp(node_key(search, old), node_key(search, new_node), old->key_bytes) == 0;
  if (!same ||
      !system->merge(system->self, node_state(search, new_node), node_zone(search, new_node), node_zone(search, old))) {
    return false;
  }
  Link *last = link_at(search, old->links);
  while (last->next != POOL_NONE) {
    last = link_at(search, last->next);
  }
  last->next = new_node->links;
  new_node->links = old->links;
  old->dead = true;
  return true;
}

/* Whether the new cover makes an old one needless: it lies inside at no lower cost, or both have a union. */
static bool takes_over(Search *search, SystemState own, Cover *cover, const Cover *old) {
  const System *system = search->exploration->system;
  SystemState outer = {own.key, own.key_bytes, cover->zone, own.zone_words};
  if (old->cost >= cover->cost && (own.zone_words == 0 || system->covers(system->self, outer, old->zone))) {
    if (old->node != STORE_NONE) {
      search->nodes.items[old->node].dead = true;
    }
    return true;
  }
  if (old->cost == cover->cost && system->merge != NULL && system->merge(system->self, outer, cover->zone, old->zone)) {
    bool joined = cover->node != STORE_NONE && old->node != STORE_NONE && join_nodes(search, cover->node, old->node);
    cover->node = joined ? cover->node : STORE_NONE; /* else the nodes live on, each with its own zone */
    return true;
  }
  return false;
}

static void add_cover(Search *search, uint32_t representative, SystemState own, Cost cost, uint32_t node) {
  uint32_t new_block = pool_take(&search->pool, cover_bytes(own.zone_words));
  Cover *cover = cover_at(search, new_block);
  *cover = (Cover){.cost = cost, .node = node};
  if (own.zone_words > 0) {
    memcpy(cover->zone, own.zone, own.zone_words * sizeof *own.zone);
  }
  for (uint32_t *link = &search->covers[representative]; *link != POOL_NONE;) {
    uint32_t block = *link;
    Cover *old = cover_at(search, block);
    if (takes_over(search, own, cover, old)) {
      *link = old->next;
      pool_give_back(&search->pool, block, cover_bytes(own.zone_words));
    } else {
      link = &old->next;
    }
  }
  cover->next = search->covers[representative];
  search->covers[representative] = new_block;
}

static void add_exact_state(Search *search, const Successor *successor, Cost cost) {
  const System *system = search->exploration->system;
  const Store *store = &search->exploration->store;
  SystemState own = renames(search) ? system->representative(system->self, successor->state) : successor->state;
  uint32_t index = store_find(store, own.key, own.key_bytes);
  if (index == STORE_NONE && system->classes_split) {
    search->has_lost_way =
        true; /* it is there under another representative: without its distance there is no going on */
    return;
  }
  CHECK(index != STORE_NONE || search->exploration->stopped != STOP_NOT); /* else a finished search has missed it */
  if (index == STORE_NONE || search->distances[index] == COST_NONE ||
      cost_plus(cost, search->distances[index]) >= search->bound) {
    return;
  }
  CHECK(own.zone_words == store_state(store, index)->zone_words && own.zone_words == successor->state.zone_words);
  if (is_pruned(search, index, own, cost)) {
    search->witness->pruned++;
    return;
  }
  uint32_t node_index = search->nodes.count;
  Node *node = add_node(search, successor, cost, search->distances[index], 0);
  keep_state(search, node, successor->state);
  node->representative = index;
  add_cover(search, index, own, cost, node_index);
}

static void take_successor(void *user, const Successor *successor) {
  Search *search = user;
  bool initial = search->parent == STORE_NONE;
  Cost before = initial ? 0 : search->nodes.items[search->parent].cost;
  Cost cost = initial ? 0 : cost_plus(before, cost_of(successor->faults, successor->steps));
  if ((successor->violated & search->properties) != 0 && cost < search->bound) {
    search->bound = cost;
    add_node(search, successor, cost, 0, successor->violated & search->properties);
  }
  add_exact_state(search, successor, cost);
  search->initial_count += initial;
}

/* Forwards: the search */

/* Backwards once more: from the goal to one sequence of actions. The nodes that lead to the goal, with the links
 * between them, hold at least one run that goes all the way; it is walked forwards again with unjoined zones, depth
 * first, and a way that ends early is remembered by the zone that was lost on it. */

/* A way out of a node that leads to the goal. */
typedef struct Exit {
  uint32_t from, to; /* nodes */
  uint32_t action_block;
} Exit;

/* A state on the walk. */
typedef struct Stand {
  uint8_t *key;
  int32_t *zone;
  uint32_t key_bytes, zone_words;
} Stand;

typedef struct Lost {
  uint32_t next; /* block */
  int32_t zone[];
} Lost;

typedef struct Walk {
  Search *search;
  VEC(Exit) exits; /* sorted by `from` */
  uint32_t *lost;  /* per node: block of the first Lost */
  uint32_t goal_index;
  VEC(uint32_t) path; /* action blocks */
  /* What the successors are matched with, and what matches */
  Action action;
  uint32_t target;
  VEC(Stand) matches;
  bool reaches_goal;
} Walk;

static void mark_leading(Search *search, uint32_t goal_index) {
  VEC(uint32_t) todo = {0};
  vec_push(&todo, goal_index);
  search->nodes.items[goal_index].leads = true;
  while (todo.count > 0) {
    uint32_t block = search->nodes.items[todo.items[--todo.count]].links;
    for (; block != POOL_NONE; block = link_at(search, block)->next) {
      Node *parent = &search->nodes.items[link_at(search, block)->parent];
      if (!parent->leads) {
        parent->leads = true;
        vec_push(&todo, link_at(search, block)->parent);
      }
    }
  }
  vec_free(&todo);
}

static int compare_exits(const void *a, const void *b) {
  const Exit *x = a, *y = b;
  if (x->from != y->from) {
    return x->from < y->from ? -1 : 1;
  }
  return x->to != y->to ? (x->to < y->to ? -1 : 1)
                        : (x->action_block > y->action_block) - (x->action_block < y->action_block);
}

static void list_exits(Walk *walk) {
  Search *search = walk->search;
  for (uint32_t i = 0; i < search->nodes.count; i++) {
    uint32_t block = search->nodes.items[i].leads ? search->nodes.items[i].links : POOL_NONE;
    for (; block != POOL_NONE; block = link_at(search, block)->next) {
      vec_push(&walk->exits, ((Exit){link_at(search, block)->parent, i, link_at(search, block)->action_block}));
    }
  }
  if (walk->exits.count > 0) {
    qsort(walk->exits.items, walk->exits.count, sizeof(Exit), compare_exits);
  }
}

static uint32_t first_exit(const Walk *walk, uint32_t node) {
  uint32_t low = 0, high = walk->exits.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (walk->exits.items[middle].from < node) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static Stand stand_on(SystemState state) {
  Stand stand = {take_array(state.key_bytes + 1, 1), take_array(state.zone_words + 1, sizeof(int32_t)), state.key_bytes,
                 state.zone_words};
  if (state.key_bytes > 0) {
    memcpy(stand.key, state.key, state.key_bytes);
  }
  if (state.zone_words > 0) {
    memcpy(stand.zone, state.zone, state.zone_words * sizeof *state.zone);
  }
  return stand;
}

static void stand_free(Stand *stand) {
  free(stand->key);
  free(stand->zone);
}

static void match_successor(void *user, const Successor *successor) {
  Walk *walk = user;
  const Action *action = &successor->action;
  bool same = action->kind == walk->action.kind && action->subject == walk->action.subject &&
              action->object == walk->action.object && action->part == walk->action.part &&
              action->choice_count == walk->action.choice_count &&
              memcmp(action->choices, walk->action.choices, action->choice_count) == 0;
  if (!same) {
    return;
  }
  const Node *target = &walk->search->nodes.items[walk->target];
  if (target->goal != 0) {
    walk->reaches_goal |= (successor->violated & target->goal) == target->goal;
  } else if (target->key_bytes == successor->state.key_bytes &&
             memcmp(node_key(walk->search, target), successor->state.key, target->key_bytes) == 0) {
    vec_push(&walk->matches, stand_on(successor->state));
  }
}

static bool is_lost(const Walk *walk, uint32_t node, SystemState state) {
  const System *system = walk->search->exploration->system;
  for (uint32_t block = walk->lost[node]; block != POOL_NONE;) {
    const Lost *lost = pool_at(&walk->search->pool, block);
    SystemState outer = {state.key, state.key_bytes, lost->zone, state.zone_words};
    if (state.zone_words == 0 || system->covers(system->self, outer, state.zone)) {
      return true;
    }
    block = lost->next;
  }
  return false;
}

static void remember_lost(Walk *walk, uint32_t node, SystemState state) {
  uint32_t block = pool_take(&walk->search->pool, sizeof(Lost) + state.zone_words * sizeof(int32_t));
  Lost *lost = pool_at(&walk->search->pool, block);
  lost->next = walk->lost[node];
  if (state.zone_words > 0) {
    memcpy(lost->zone, state.zone, state.zone_words * sizeof *state.zone);
  }
  walk->lost[node] = block;
}

static bool walk_from(Walk *walk, uint32_t node, SystemState state);

/* Tries one way out; depth is bounded by the steps of the run. */
static bool walk_through(Walk *walk, const Exit *way, SystemState state) {
  const System *system = walk->search->exploration->system;
  walk->action = kept_action(walk->search, way->action_block);
  walk->target = way->to;
  walk->reaches_goal = false;
  uint32_t begin = walk->matches.count;
  system->successors(system->self, state, false, match_successor, walk);
  vec_push(&walk->path, way->action_block);
  bool found = walk->reaches_goal;
  uint32_t end = walk->matches.count;
  for (uint32_t i = begin; i < end && !found; i++) {
    Stand stand = walk->matches.items[i];
    found = walk_from(walk, way->to, (SystemState){stand.key, stand.key_bytes, stand.zone, stand.zone_words});
  }
  while (walk->matches.count > begin) {
    stand_free(&walk->matches.items[--walk->matches.count]);
  }
  walk->path.count -= !found;
  return found;
}

static bool walk_from(Walk *walk, uint32_t node, SystemState state) {
  const System *system = walk->search->exploration->system;
  if (node == walk->goal_index) {
    return (system->violations(system->self, state) & walk->search->properties) != 0;
  }
  if (is_lost(walk, node, state)) {
    return false;
  }
  for (uint32_t i = first_exit(walk, node); i < walk->exits.count && walk->exits.items[i].from == node; i++) {
    Exit way = walk->exits.items[i];
    if (walk_through(walk, &way, state)) {
      return true;
    }
  }
  remember_lost(walk, node, state);
  return false;
}

/* Fills witness->actions; false if no way leads through, which the union of exact zones rules out. */
static bool walk_to_goal(Search *search, uint32_t goal_index) {
  Witness *witness = search->witness;
  Walk walk = {.search = search, .goal_index = goal_index, .lost = take_array(search->nodes.count, sizeof *walk.lost)};
  bool found = false;
  mark_leading(search, goal_index);
  list_exits(&walk);
  for (uint32_t i = 0; i < search->nodes.count && !found; i++) {
    const Node *node = &search->nodes.items[i];
    if (node->leads && node->links == POOL_NONE && node->goal != 0) {
      witness->initial_index = node->initial_index; /* initial, and a violation by itself */
      found = true;
    } else if (node->leads && node->links == POOL_NONE) {
      Stand stand = stand_on(node_state(search, node));
      witness->initial_index = node->initial_index;
      found = walk_from(&walk, i, (SystemState){stand.key, stand.key_bytes, stand.zone, stand.zone_words});
      stand_free(&stand);
    }
  }
  witness->action_count = walk.path.count;
  witness->actions = take_array(walk.path.count, sizeof *witness->actions);
  for (uint32_t i = 0; i < walk.path.count; i++) {
    witness->actions[i] = kept_action(search, walk.path.items[i]);
  }
  vec_free(&walk.exits);
  vec_free(&walk.path);
  vec_free(&walk.matches);
  free(walk.lost);
  return found;
}

static void write_run(Search *search, uint32_t goal_index, uint64_t violated) {
  Witness *witness = search->witness;
  Node goal = search->nodes.items[goal_index];
  witness->violated = violated;
  witness->outcome = WITNESS_FOUND;
  witness->faults = cost_faults(goal.cost);
  witness->steps = cost_steps(goal.cost);
  witness->state_violation = goal.goal == 0;
  bool found = walk_to_goal(search, goal_index);
  CHECK(found);
}

/* What of the properties the node violates; if nothing, its successors are generated. */
static uint64_t expand(Search *search, uint32_t node_index) {
  const System *system = search->exploration->system;
  const Node *node = &search->nodes.items[node_index];
  if (node->goal != 0) {
    return node->goal;
  }
  SystemState state = node_state(search, node);
  uint64_t violated = system->violations != NULL ? system->violations(system->self, state) & search->properties : 0;
  if (violated == 0) {
    search->parent = node_index;
    search->nodes.items[node_index].expanded = true;
    system->successors(system->self, state, false, take_successor, search);
    search->witness->expanded++;
  }
  return violated;
}

static StopReason report(Search *search, Cost level) {
  const Witness *witness = search->witness;
  Progress progress = {
      .phase = search->limits->phase,
      .faults = cost_faults(level),
      .steps = cost_steps(level),
      .discrete = witness->cone,
      .zones = search->nodes.count,
      .expanded = witness->expanded,
      .transitions = witness->generated + witness->pruned,
      .queued = search->heap.entries.count,
      .bytes = search_bytes(search),
  };
  search->next_tick = witness->expanded + EXPANSIONS_PER_TICK;
  return search->limits->tick(search->limits->user, &progress);
}

static StopReason check_limits(Search *search, Cost level) {
  uint64_t bytes = search_bytes(search);
  note_peak(search, bytes);
  if (passes_memory(search, bytes) || pool_is_nearly_full(&search->pool) || search->nodes.count > UINT32_MAX / 4) {
    return STOP_MEMORY;
  }
  bool due = search->limits->tick != NULL && search->witness->expanded >= search->next_tick;
  return due ? report(search, level) : STOP_NOT;
}

static void stop(Search *search, StopReason reason) {
  search->witness->outcome = WITNESS_LIMIT;
  search->witness->stopped = reason;
}

static void search_forwards(Search *search) {
  const System *system = search->exploration->system;
  system->initial(system->self, false, take_successor, search);
  while (search->heap.entries.count > 0) {
    HeapEntry entry = heap_pop(&search->heap);
    const Node *node = &search->nodes.items[entry.index];
    if (node->dead || (entry.first >= search->bound && node->goal == 0)) {
      continue;
    }
    StopReason reason = check_limits(search, entry.first);
    if (reason != STOP_NOT) {
      stop(search, reason);
      return;
    }
    uint64_t violated = expand(search, entry.index);
    if (violated != 0) {
      write_run(search, entry.index, violated);
      return;
    }
  }
  if (search->has_lost_way) {
    stop(search, STOP_NOT);
  }
}

Witness *witness_search(const Exploration *exploration, uint64_t properties, const SearchLimits *limits) {
  Witness *witness = take_array(1, sizeof *witness);
  uint32_t state_count = exploration->store.state_count;
  Search search = {
      .exploration = exploration,
      .limits = limits,
      .witness = witness,
      .properties = properties,
      .distances = take_array(state_count, sizeof *search.distances),
      .covers = take_array(state_count, sizeof *search.covers),
      .bound = COST_NONE,
      .parent = STORE_NONE,
  };
  if (!measure_cone(&search)) {
    stop(&search, STOP_MEMORY);
  } else if (witness->cone > 0) {
    search_forwards(&search);
  }
  free(search.distances);
  free(search.covers);
  vec_free(&search.nodes);
  vec_free(&search.heap.entries);
  pool_free(&search.pool);
  return witness;
}

void witness_free(Witness *witness) {
  if (witness != NULL) {
    free(witness->actions);
    free(witness);
  }
}
