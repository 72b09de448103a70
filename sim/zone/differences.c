#include "zone/differences.h"

#include <stdlib.h>

#include "base/check.h"

void differences_clear(Differences *differences) {
  free(differences->items);
  *differences = (Differences){.nodes = differences->nodes};
}

void differences_require(Differences *differences, int32_t i, int32_t j, int64_t most) {
  CHECK(i >= 0 && i < differences->nodes && j >= 0 && j < differences->nodes);
  if (differences->count == differences->room) {
    differences->room = differences->room * 2 + 256;
    differences->items = realloc(differences->items, (size_t)differences->room * sizeof *differences->items);
    CHECK(differences->items != NULL);
  }
  differences->items[differences->count++] = (Difference){i, j, most};
}

/* The least weight that a path without a cycle can have: one constraint into each node at most. Leaves zeros. */
static int64_t least_weight(const Differences *differences, int64_t *least) {
  int64_t sum = 0;
  for (int32_t c = 0; c < differences->count; c++) {
    const Difference *item = &differences->items[c];
    least[item->i] = item->most < least[item->i] ? item->most : least[item->i];
  }
  for (int32_t n = 0; n < differences->nodes; n++) {
    sum += least[n];
    least[n] = 0;
  }
  return sum;
}

/* Shortest paths from a node before all others (Bellman-Ford), the constraints in turn forwards and backwards (Yen
 * 1970). A path that needs more rounds than nodes, or weighs less than any can, has gone around a negative cycle. */
static bool settle(const Differences *differences, int64_t *distance, int64_t least) {
  bool changed = true;
  for (int32_t round = 0; changed; round++) {
    changed = false;
    for (int32_t k = 0; k < differences->count; k++) {
      const Difference *item = &differences->items[round % 2 == 0 ? k : differences->count - 1 - k];
      int64_t via = distance[item->j] + item->most;
      if (via < distance[item->i]) {
        if (via < least || round > differences->nodes) {
          return false;
        }
        distance[item->i] = via;
        changed = true;
      }
    }
  }
  return true;
}

bool differences_are_satisfiable(const Differences *differences) {
  int64_t *distance = calloc((size_t)differences->nodes, sizeof *distance);
  CHECK(distance != NULL);
  bool satisfiable = settle(differences, distance, least_weight(differences, distance));
  free(distance);
  return satisfiable;
}

/* Floyd-Warshall. */
int64_t *differences_close(const Differences *differences) {
  int32_t nodes = differences->nodes;
  int64_t *at = calloc((size_t)nodes * (size_t)nodes, sizeof *at);
  CHECK(at != NULL);
  for (int32_t i = 0; i < nodes * nodes; i++) {
    at[i] = i % (nodes + 1) == 0 ? 0 : DIFFERENCE_UNBOUNDED;
  }
  for (int32_t c = 0; c < differences->count; c++) {
    const Difference *item = &differences->items[c];
    int64_t *entry = &at[item->i * nodes + item->j];
    *entry = item->most < *entry ? item->most : *entry;
  }
  for (int32_t k = 0; k < nodes; k++) {
    CHECK(at[k * nodes + k] == 0);
    for (int32_t i = 0; i < nodes; i++) {
      int64_t ik = at[i * nodes + k];
      for (int32_t j = 0; j < nodes && ik < DIFFERENCE_UNBOUNDED; j++) {
        int64_t kj = at[k * nodes + j], via = ik + kj;
        at[i * nodes + j] = kj < DIFFERENCE_UNBOUNDED && via < at[i * nodes + j] ? via : at[i * nodes + j];
      }
    }
  }
  return at;
}
