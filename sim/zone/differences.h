/* Systems of difference constraints t_i - t_j <= most over nodes 0 .. nodes - 1, as a list: sparse, with exact values,
 * where a DBM is dense and small. Values are in any unit; their sum along a path must fit into 62 bits.
 *
 * Zero-initialise but for `nodes`; `count` may be set back, which drops the newest constraints. Cormen et al.,
 * "Introduction to Algorithms", section on difference constraints and shortest paths.
 */
#ifndef LOCKSTEP_ZONE_DIFFERENCES_H
#define LOCKSTEP_ZONE_DIFFERENCES_H

#include <stdbool.h>
#include <stdint.h>

#define DIFFERENCE_UNBOUNDED (INT64_MAX / 4)

typedef struct Difference {
  int32_t i, j;
  int64_t most;
} Difference;

typedef struct Differences {
  int32_t nodes, count, room;
  Difference *items;
} Differences;

void differences_clear(Differences *differences);
void differences_require(Differences *differences, int32_t i, int32_t j, int64_t most);
/* Whether some t satisfies them all: in nodes * count steps at the most, and in a few * count if nearly all constraints
 * join neighbours. */
bool differences_are_satisfiable(const Differences *differences);
/* Of a system that is satisfiable the closed matrix: [i * nodes + j] is the tightest bound of t_i - t_j that follows,
 * or DIFFERENCE_UNBOUNDED. In nodes^3 steps. The caller frees it. */
int64_t *differences_close(const Differences *differences);

#endif
