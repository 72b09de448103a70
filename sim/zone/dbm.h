/* Zones: convex sets of age valuations, as difference bound matrices.
 *
 * A zone over `dim - 1` ages is a matrix of dim * dim bounds, row by row: entry [i * dim + j] bounds age i - age j, and
 * index 0 is the constant zero. Every zone that leaves this module is *closed* (each entry is the tightest that
 * follows from the others: Floyd-Warshall) and not empty, unless a function says that it returns false for "empty"
 * (the matrix is then garbage). Ages are never negative: entry [0 * dim + i] is at most <= 0. The caller owns the
 * memory; nothing here allocates. Dill 1990; Bengtsson and Yi 2004, section 4.
 *
 * Pre- and postconditions are DCHECKed. `dim` is 1 .. DBM_DIM_MAX; dim 1 is the zone of a model without ages.
 */
#ifndef LOCKSTEP_ZONE_DBM_H
#define LOCKSTEP_ZONE_DBM_H

#include <stdbool.h>
#include <stdint.h>

#include "zone/bound.h"

#define DBM_DIM_MAX 64

typedef int32_t DbmAge; /* an index, 1 .. dim - 1 */

/* All ages are zero. */
void dbm_zero(Bound *zone, int dim);
/* All ages are any number >= 0. */
void dbm_universe(Bound *zone, int dim);
bool dbm_is_closed(const Bound *zone, int dim); /* closed, non-empty, ages >= 0: the invariant, for DCHECK and tests */
bool dbm_equal(const Bound *a, const Bound *b, int dim);

/* Time passes: drops the upper bounds. Ages keep their differences. */
void dbm_delay(Bound *zone, int dim);
/* Age `x` becomes zero. */
void dbm_reset(Bound *zone, int dim, DbmAge x);
/* Age `x` becomes equal to age `y`. */
void dbm_copy(Bound *zone, int dim, DbmAge x, DbmAge y);
/* Age `x` may be anything >= 0. */
void dbm_forget(Bound *zone, int dim, DbmAge x);

/* Intersects with age i - age j (<|<=) bound, 0 <= i, j < dim, i != j; false if nothing is left. */
bool dbm_constrain(Bound *zone, int dim, int i, int j, Bound bound);
/* Whether dbm_constrain would leave something; the zone is not changed. */
bool dbm_satisfies_some(const Bound *zone, int dim, int i, int j, Bound bound);
/* Whether every valuation in the zone already satisfies it. */
bool dbm_satisfies_all(const Bound *zone, int dim, int i, int j, Bound bound);

/* Whether `outer` contains `inner`. */
bool dbm_includes(const Bound *outer, const Bound *inner, int dim);
/* Makes `zone` the smallest zone that contains both (their convex hull among zones); true if it grew. */
bool dbm_hull(Bound *zone, const Bound *other, int dim);
/* If the union of both is convex (equal to the hull), makes `zone` that union and returns true; else leaves it alone.
 * Subtracts `zone` from the hull piece by piece; each piece must lie in `other`. Ben Salah, Bozga, Maler, CONCUR 2006.
 */
bool dbm_merge_exact(Bound *zone, const Bound *other, int dim);

/* ExtraLU+ (Behrmann, Bouyer, Larsen, Pelanek, STTT 2006, definition 8): `lower[i]` (`upper[i]`) is the largest
 * constant that age i is still compared with by a guard age >= c or > c (age <= c or < c), or -1 for none; index 0 is
 * ignored and counts as 0. Closes the result. Sound for models whose guards compare single ages with constants. */
void dbm_extrapolate(Bound *zone, int dim, const int32_t *lower, const int32_t *upper);

/* Renames and drops: `out` (out_dim) has at [i] the age source[i] of `zone` (source[0] must be 0; the sources are
 * distinct and in range). Closed again without any work, since a projection of a closed zone is closed. `out` must not
 * overlap. */
void dbm_project(Bound *out, int out_dim, const Bound *zone, int dim, const int *source);
/* As dbm_project, but a source of -1 makes a new age, equal to zero. */
void dbm_rearrange(Bound *out, int out_dim, const Bound *zone, int dim, const int *source);

/* Whether a point (values in half units: 2 * time, so that points between integers can be sampled; point[0] is 0) lies
 * inside. */
bool dbm_contains_half(const Bound *zone, int dim, const int64_t *half_point);

#endif
