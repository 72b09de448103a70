/* What a search has met: a hash table of discrete states, and for each its zones and its forward edges.
 *
 * States are numbered 0, 1, 2, … in the order in which they were met, and are never forgotten. A state keeps a list of
 * zones, each marked expanded or not; its edges, which only ever gain (zones only grow); and the bookkeeping of
 * the search that fills the store. Keys, zones and edges live in pools: addresses are stable, references are 32 bits.
 * Two systems that hand out the same states in the same order fill the store alike: nothing depends on an address.
 *
 * The store owns its memory and counts it. How zones are compared and merged is the business of the search.
 */
#ifndef LOCKSTEP_EXPLORE_STORE_H
#define LOCKSTEP_EXPLORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/vec.h"
#include "world/system.h"

#define STORE_NONE UINT32_MAX

/* (faults, steps), ordered lexicographically, hence as one integer. */
typedef uint64_t Cost;
#define COST_NONE UINT64_MAX

static inline Cost cost_of(uint32_t faults, uint32_t steps) {
  return (uint64_t)faults << 32 | steps;
}
static inline uint32_t cost_faults(Cost cost) {
  return (uint32_t)(cost >> 32);
}
static inline uint32_t cost_steps(Cost cost) {
  return (uint32_t)cost;
}
static inline Cost cost_plus(Cost a, Cost b) {
  CHECK(cost_steps(a) <= UINT32_MAX - cost_steps(b));
  return a + b;
}

/* A growing heap of small blocks that do not move: 1 MiB chunks, 8-byte units, up to 32 GiB. Freed blocks of up to
 * 4 KiB are used again for blocks of the same size. A zeroed Pool is empty. */
#define POOL_NONE 0
#define POOL_RECYCLED_UNITS 512
typedef struct Pool {
  VEC(uint8_t *) chunks;
  uint64_t next_unit;
  uint64_t bytes; /* taken from the host */
  uint32_t recycled[POOL_RECYCLED_UNITS];
} Pool;

uint32_t pool_take(Pool *pool, size_t block_bytes); /* at most 1 MiB; uninitialised, aligned to 8 bytes */
void pool_give_back(Pool *pool, uint32_t block, size_t block_bytes);
void *pool_at(const Pool *pool, uint32_t block);
bool pool_is_nearly_full(const Pool *pool); /* less than 64 MiB left: time to stop */
void pool_free(Pool *pool);

typedef struct StoredState {
  Cost waiting; /* the cost that it is queued at, or COST_NONE */
  uint32_t key;
  uint32_t zones; /* the newest; POOL_NONE: no zone */
  uint32_t edges;
  uint32_t edge_count;
  uint32_t violation; /* label of what the state itself violates, on any zone that was expanded; 0: nothing */
  uint32_t grown_at;  /* a serial number: the larger, the later its zones last grew */
  uint16_t key_bytes;
  uint16_t zone_words;
  uint16_t growth; /* how often its hull grew; stays at its maximum */
  bool expanded;   /* at least once */
  bool may_delay;  /* in some zone that was expanded */
} StoredState;

typedef struct StoredZone {
  uint32_t next; /* an older zone of the same state */
  uint32_t expanded;
  int32_t words[];
} StoredZone;

/* An edge is one integer, so that sorting a state's edges is sorting integers: first by child, then by label. */
typedef uint64_t StoredEdge;
static inline StoredEdge edge_of(uint32_t child, uint32_t label) {
  return (uint64_t)child << 32 | label;
}
static inline uint32_t edge_child(StoredEdge edge) {
  return (uint32_t)(edge >> 32);
}
static inline uint32_t edge_label(StoredEdge edge) {
  return (uint32_t)edge;
}

/* What an edge costs and violates. There are few different ones: each is kept once. Label 0 is all zeros. */
typedef struct EdgeLabel {
  uint64_t violated;
  Cost cost;
} EdgeLabel;

typedef struct Store {
  uint64_t *slots; /* open addressing: hash << 32 | index + 1, or 0 */
  uint64_t slot_count;
  VEC(StoredState *) blocks;
  uint32_t state_count;
  Pool keys, zones, edges;
  VEC(EdgeLabel) labels;
  uint32_t *label_slots;
  uint32_t label_slot_count;
  uint64_t zone_count;
  uint64_t peak_bytes; /* larger than store_bytes only because of the table's doublings */
} Store;

void store_init(Store *store);
void store_free(Store *store);
uint64_t store_bytes(const Store *store);
/* What the hash table takes in addition when it doubles, if that is about to happen; else 0. */
uint64_t store_growth_bytes(const Store *store);
bool store_is_nearly_full(const Store *store); /* of what 32-bit references reach */

/* The index of the state with this key, or STORE_NONE. */
uint32_t store_find(const Store *store, const uint8_t *key, uint32_t key_bytes);
/* The same, but adds the state (without a zone) if it is new. Keys of up to 65,535 bytes, zones of as many words. */
uint32_t store_intern(Store *store, SystemState state, bool *is_new);
StoredState *store_state(const Store *store, uint32_t index);

/* A new zone of the state, unexpanded, first in its list. */
uint32_t store_add_zone(Store *store, uint32_t index, const int32_t *words);
StoredZone *store_zone(const Store *store, uint32_t zone);
/* Unlinks `zone` from the state's list; `previous` stands before it, or is POOL_NONE. */
void store_remove_zone(Store *store, uint32_t index, uint32_t previous, uint32_t zone);
/* The state as the system knows it, with these words as its zone. */
SystemState store_view(const Store *store, uint32_t index, const int32_t *words);

uint32_t store_label(Store *store, Cost cost, uint64_t violated);
/* Adds edges to those of the state; sorts `edges` in passing. None is kept twice, none is lost. */
void store_merge_edges(Store *store, uint32_t index, StoredEdge *edges, uint32_t edge_count);
const StoredEdge *store_edges(const Store *store, uint32_t index); /* edge_count of them, sorted */

/* Sorts ascending and drops repetitions; how many are left. Quick on short and on sorted input. */
uint32_t sort_set(uint64_t *integers, uint32_t count);

#endif
