/* A bound on a difference of two ages, as one small integer.
 *
 * A bound is "x - y < v" or "x - y <= v" with an integer v in model units (a whole number of microseconds). It is
 * coded as 2v for < and 2v + 1 for <=, so that the order of the codes is the order of strength and the sum of two
 * bounds is a handful of instructions (Bengtsson and Yi, "Timed automata: semantics, algorithms and tools", 2004,
 * section 4). BOUND_INFINITY means no bound; |v| is at most BOUND_VALUE_MAX, which leaves room for one addition.
 */
#ifndef LOCKSTEP_ZONE_BOUND_H
#define LOCKSTEP_ZONE_BOUND_H

#include <stdbool.h>
#include <stdint.h>

typedef int32_t Bound;

#define BOUND_INFINITY INT32_MAX
#define BOUND_VALUE_MAX ((int32_t)1 << 28)
#define BOUND_ZERO ((Bound)1) /* <= 0 */

static inline Bound bound_at_most(int32_t value) {
  return 2 * value + 1;
}
static inline Bound bound_below(int32_t value) {
  return 2 * value;
}
static inline bool bound_is_strict(Bound bound) {
  return (bound & 1) == 0;
}
static inline int32_t bound_value(Bound bound) {
  return bound >> 1;
}

/* The bound on x - z that follows from one on x - y and one on y - z. */
static inline Bound bound_add(Bound a, Bound b) {
  return a == BOUND_INFINITY || b == BOUND_INFINITY ? BOUND_INFINITY : a + b - ((a & 1) | (b & 1));
}
/* The opposite: not (x - y < v) is y - x <= -v; not (x - y <= v) is y - x < -v. */
static inline Bound bound_negate(Bound bound) {
  return 1 - bound;
}

#endif
