#include "explore/store.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/check.h"

enum {
  UNIT_BYTES = 8,
  CHUNK_BYTES = 1 << 20,
  CHUNK_UNITS = CHUNK_BYTES / UNIT_BYTES,
  CHUNK_COUNT_MAX = 1 << 15,
  SPARE_CHUNKS = 64,
  STATES_PER_BLOCK = 1 << 12,
  SLOT_COUNT_FIRST = 1 << 10,
  LABEL_SLOT_COUNT_FIRST = 64
};

static void *take_memory(uint64_t bytes) {
  void *memory = malloc(bytes);
  CHECK(memory != NULL);
  return memory;
}

static void *take_zeroed(uint64_t count, size_t item_bytes) {
  void *memory = calloc(count, item_bytes);
  CHECK(memory != NULL);
  return memory;
}

/* Pools */

static uint32_t block_units(size_t block_bytes) {
  CHECK(block_bytes <= CHUNK_BYTES);
  return block_bytes == 0 ? 1 : (uint32_t)((block_bytes + UNIT_BYTES - 1) / UNIT_BYTES);
}

void *pool_at(const Pool *pool, uint32_t block) {
  DCHECK(block != POOL_NONE && block < pool->next_unit);
  return pool->chunks.items[block / CHUNK_UNITS] + (size_t)(block % CHUNK_UNITS) * UNIT_BYTES;
}

static void add_chunk(Pool *pool) {
  CHECK(pool->chunks.count < CHUNK_COUNT_MAX);
  vec_push(&pool->chunks, take_memory(CHUNK_BYTES));
  pool->bytes += CHUNK_BYTES;
  pool->next_unit = (uint64_t)(pool->chunks.count - 1) * CHUNK_UNITS;
  if (pool->next_unit == POOL_NONE) {
    pool->next_unit++;
  }
}

uint32_t pool_take(Pool *pool, size_t block_bytes) {
  uint32_t units = block_units(block_bytes);
  if (units < POOL_RECYCLED_UNITS && pool->recycled[units] != POOL_NONE) {
    uint32_t block = pool->recycled[units];
    memcpy(&pool->recycled[units], pool_at(pool, block), sizeof block);
    return block;
  }
  if (pool->next_unit + units > (uint64_t)pool->chunks.count * CHUNK_UNITS) {
    add_chunk(pool);
    CHECK(pool->next_unit + units <= (uint64_t)pool->chunks.count * CHUNK_UNITS);
  }
  uint32_t block = (uint32_t)pool->next_unit;
  pool->next_unit += units;
  return block;
}

void pool_give_back(Pool *pool, uint32_t block, size_t block_bytes) {
  uint32_t units = block_units(block_bytes);
  if (units < POOL_RECYCLED_UNITS) {
    memcpy(pool_at(pool, block), &pool->recycled[units], sizeof block);
    pool->recycled[units] = block;
  }
}

bool pool_is_nearly_full(const Pool *pool) {
  return pool->chunks.count > CHUNK_COUNT_MAX - SPARE_CHUNKS;
}

void pool_free(Pool *pool) {
  for (uint32_t i = 0; i < pool->chunks.count; i++) {
    free(pool->chunks.items[i]);
  }
  vec_free(&pool->chunks);
  *pool = (Pool){0};
}

/* The store and its size */

void store_init(Store *store) {
  *store = (Store){.slot_count = SLOT_COUNT_FIRST, .label_slot_count = LABEL_SLOT_COUNT_FIRST};
  store->slots = take_zeroed(store->slot_count, sizeof *store->slots);
  store->label_slots = take_zeroed(store->label_slot_count, sizeof *store->label_slots);
  CHECK(store_label(store, 0, 0) == 0);
}

void store_free(Store *store) {
  for (uint32_t i = 0; i < store->blocks.count; i++) {
    free(store->blocks.items[i]);
  }
  vec_free(&store->blocks);
  vec_free(&store->labels);
  pool_free(&store->keys);
  pool_free(&store->zones);
  pool_free(&store->edges);
  free(store->slots);
  free(store->label_slots);
  *store = (Store){0};
}

uint64_t store_bytes(const Store *store) {
  return store->keys.bytes + store->zones.bytes + store->edges.bytes + store->slot_count * sizeof *store->slots +
         store->blocks.count * (uint64_t)STATES_PER_BLOCK * sizeof(StoredState) +
         store->labels.capacity * sizeof(EdgeLabel) + store->label_slot_count * sizeof *store->label_slots;
}

uint64_t store_growth_bytes(const Store *store) {
  bool soon = store->state_count > store->slot_count / 3 * 2 - store->slot_count / 64;
  return soon ? store->slot_count * 2 * sizeof *store->slots : 0;
}

bool store_is_nearly_full(const Store *store) {
  return pool_is_nearly_full(&store->keys) || pool_is_nearly_full(&store->zones) ||
         pool_is_nearly_full(&store->edges) || store->state_count > UINT32_MAX / 2 ||
         store->labels.count > UINT32_MAX / 4;
}

/* Discrete states */

StoredState *store_state(const Store *store, uint32_t index) {
  DCHECK(index < store->state_count);
  return &store->blocks.items[index / STATES_PER_BLOCK][index % STATES_PER_BLOCK];
}

static bool has_key(const Store *store, uint32_t index, const uint8_t *key, uint32_t key_bytes) {
  const StoredState *state = store_state(store, index);
  return state->key_bytes == key_bytes && memcmp(pool_at(&store->keys, state->key), key, key_bytes) == 0;
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint64_t *find_slot(const Store *store, uint32_t hash, const uint8_t *key, uint32_t key_bytes) {
  uint64_t mask = store->slot_count - 1;
  for (uint64_t position = hash & mask;; position = (position + 1) & mask) {
    uint64_t *slot = &store->slots[position];
    if (*slot == 0 || ((uint32_t)(*slot >> 32) == hash && has_key(store, (uint32_t)*slot - 1, key, key_bytes))) {
      return slot;
    }
  }
}

/* At two thirds; slots carry their hash, so that no key is read. */
static void grow_table(Store *store) {
  uint64_t old_count = store->slot_count;
  uint64_t *old = store->slots;
  store->slot_count = old_count * 2;
  store->slots = take_zeroed(store->slot_count, sizeof *store->slots);
  uint64_t both_bytes = store_bytes(store) + old_count * sizeof *old;
  store->peak_bytes = both_bytes > store->peak_bytes ? both_bytes : store->peak_bytes;
  uint64_t mask = store->slot_count - 1;
  for (uint64_t i = 0; i < old_count; i++) {
    if (old[i] != 0) {
      uint64_t position = old[i] >> 32 & mask;
      while (store->slots[position] != 0) {
        position = (position + 1) & mask;
      }
      store->slots[position] = old[i];
    }
  }
  free(old);
}

static uint32_t hash_key(const uint8_t *key, uint32_t key_bytes) {
  return (uint32_t)XXH3_64bits(key, key_bytes);
}

uint32_t store_find(const Store *store, const uint8_t *key, uint32_t key_bytes) {
  uint64_t slot = *find_slot(store, hash_key(key, key_bytes), key, key_bytes);
  return slot == 0 ? STORE_NONE : (uint32_t)slot - 1;
}

static uint32_t add_state(Store *store, SystemState state) {
  CHECK(state.key_bytes <= UINT16_MAX && state.zone_words <= UINT16_MAX);
  if (store->state_count % STATES_PER_BLOCK == 0) {
    vec_push(&store->blocks, take_memory(sizeof(StoredState) * STATES_PER_BLOCK));
  }
  uint32_t index = store->state_count++;
  StoredState *stored = store_state(store, index);
  *stored = (StoredState){
      .waiting = COST_NONE,
      .key = pool_take(&store->keys, state.key_bytes),
      .key_bytes = (uint16_t)state.key_bytes,
      .zone_words = (uint16_t)state.zone_words,
  };
  if (state.key_bytes > 0) {
    memcpy(pool_at(&store->keys, stored->key), state.key, state.key_bytes);
  }
  return index;
}

uint32_t store_intern(Store *store, SystemState state, bool *is_new) {
  uint32_t hash = hash_key(state.key, state.key_bytes);
  uint64_t *slot = find_slot(store, hash, state.key, state.key_bytes);
  *is_new = *slot == 0;
  if (*slot != 0) {
    return (uint32_t)*slot - 1;
  }
  uint32_t index = add_state(store, state);
  *slot = (uint64_t)hash << 32 | (index + 1);
  if (store->state_count > store->slot_count / 3 * 2) {
    grow_table(store);
  }
  return index;
}

SystemState store_view(const Store *store, uint32_t index, const int32_t *words) {
  const StoredState *state = store_state(store, index);
  return (SystemState){
      .key = pool_at(&store->keys, state->key),
      .key_bytes = state->key_bytes,
      .zone = words,
      .zone_words = state->zone_words,
  };
}

/* Zones */

static size_t zone_bytes(const StoredState *state) {
  return sizeof(StoredZone) + state->zone_words * sizeof(int32_t);
}

StoredZone *store_zone(const Store *store, uint32_t zone) {
  return pool_at(&store->zones, zone);
}

uint32_t store_add_zone(Store *store, uint32_t index, const int32_t *words) {
  StoredState *state = store_state(store, index);
  uint32_t block = pool_take(&store->zones, zone_bytes(state));
  StoredZone *zone = store_zone(store, block);
  zone->next = state->zones;
  zone->expanded = false;
  if (state->zone_words > 0) {
    memcpy(zone->words, words, state->zone_words * sizeof(int32_t));
  }
  state->zones = block;
  store->zone_count++;
  return block;
}

void store_remove_zone(Store *store, uint32_t index, uint32_t previous, uint32_t zone) {
  StoredState *state = store_state(store, index);
  uint32_t next = store_zone(store, zone)->next;
  if (previous == POOL_NONE) {
    DCHECK(state->zones == zone);
    state->zones = next;
  } else {
    store_zone(store, previous)->next = next;
  }
  pool_give_back(&store->zones, zone, zone_bytes(state));
  store->zone_count--;
}

/* Edges */

static uint32_t *find_label_slot(const Store *store, Cost cost, uint64_t violated) {
  uint64_t fields[2] = {cost, violated};
  uint32_t mask = store->label_slot_count - 1;
  for (uint32_t position = (uint32_t)XXH3_64bits(fields, sizeof fields) & mask;; position = (position + 1) & mask) {
    uint32_t *slot = &store->label_slots[position];
    if (*slot == 0) {
      return slot;
    }
    const EdgeLabel *label = &store->labels.items[*slot - 1];
    if (label->cost == cost && label->violated == violated) {
      return slot;
    }
  }
}

static void grow_label_table(Store *store) {
  free(store->label_slots);
  store->label_slot_count *= 2;
  store->label_slots = take_zeroed(store->label_slot_count, sizeof *store->label_slots);
  for (uint32_t i = 0; i < store->labels.count; i++) {
    *find_label_slot(store, store->labels.items[i].cost, store->labels.items[i].violated) = i + 1;
  }
}

uint32_t store_label(Store *store, Cost cost, uint64_t violated) {
  uint32_t *slot = find_label_slot(store, cost, violated);
  if (*slot != 0) {
    return *slot - 1;
  }
  uint32_t label = store->labels.count;
  vec_push(&store->labels, ((EdgeLabel){.violated = violated, .cost = cost}));
  *slot = label + 1;
  if (store->labels.count > store->label_slot_count / 2) {
    grow_label_table(store);
  }
  return label;
}

static int compare_integers(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left;
  uint64_t b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static void sort_by_insertion(uint64_t *integers, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    uint64_t integer = integers[i];
    uint32_t j = i;
    for (; j > 0 && integers[j - 1] > integer; j--) {
      integers[j] = integers[j - 1];
    }
    integers[j] = integer;
  }
}

static void sort_integers(uint64_t *integers, uint32_t count) {
  if (count <= 24) {
    sort_by_insertion(integers, count);
    return;
  }
  uint32_t i = 1;
  while (i < count && integers[i - 1] <= integers[i]) {
    i++;
  }
  if (i < count) {
    qsort(integers, count, sizeof *integers, compare_integers);
  }
}

uint32_t sort_set(uint64_t *integers, uint32_t count) {
  sort_integers(integers, count);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (kept == 0 || integers[kept - 1] != integers[i]) {
      integers[kept++] = integers[i];
    }
  }
  return kept;
}

const StoredEdge *store_edges(const Store *store, uint32_t index) {
  const StoredState *state = store_state(store, index);
  return state->edge_count == 0 ? NULL : pool_at(&store->edges, state->edges);
}

/* How many of the sorted `edges` the state does not have yet. */
static uint32_t count_missing(const Store *store, uint32_t index, const StoredEdge *edges, uint32_t edge_count) {
  const StoredEdge *old = store_edges(store, index);
  uint32_t old_count = store_state(store, index)->edge_count;
  uint32_t missing = 0;
  for (uint32_t i = 0, j = 0; i < edge_count; i++) {
    while (j < old_count && old[j] < edges[i]) {
      j++;
    }
    missing += j == old_count || old[j] != edges[i];
  }
  return missing;
}

static void unite_sorted(StoredEdge *out, const StoredEdge *a, uint32_t a_count, const StoredEdge *b,
                         uint32_t b_count) {
  uint32_t i = 0, j = 0;
  while (i < a_count || j < b_count) {
    bool from_a = j == b_count || (i < a_count && a[i] <= b[j]);
    StoredEdge edge = from_a ? a[i] : b[j];
    i += i < a_count && a[i] == edge;
    j += j < b_count && b[j] == edge;
    *out++ = edge;
  }
}

void store_merge_edges(Store *store, uint32_t index, StoredEdge *edges, uint32_t edge_count) {
  edge_count = sort_set(edges, edge_count);
  uint32_t missing = count_missing(store, index, edges, edge_count);
  if (missing == 0) {
    return;
  }
  StoredState *state = store_state(store, index);
  uint32_t old_count = state->edge_count;
  uint32_t block = pool_take(&store->edges, (size_t)(old_count + missing) * sizeof *edges);
  unite_sorted(pool_at(&store->edges, block), store_edges(store, index), old_count, edges, edge_count);
  if (old_count > 0) {
    pool_give_back(&store->edges, state->edges, old_count * sizeof *edges);
  }
  state->edges = block;
  state->edge_count = old_count + missing;
}
