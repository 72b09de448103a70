#include "zone/dbm.h"

#include <string.h>

#include "base/check.h"

/* Entries are sums along paths, so they may pass BOUND_VALUE_MAX; as long as their codes stay in -BOUND_LIMIT ..
 * BOUND_LIMIT - 1, no sum of two can overflow or look like BOUND_INFINITY. Every sum that is kept is CHECKed for it,
 * in release too: a wrapped bound would be a wrong verdict. */
#define BOUND_LIMIT ((Bound)1 << 30)

static bool bound_fits(Bound bound) {
  return bound >= -BOUND_LIMIT && bound < BOUND_LIMIT;
}

/* -- Construction and the invariant ------------------------------------------------------------------------------ */

void dbm_zero(Bound *zone, int dim) {
  DCHECK(dim >= 1 && dim <= DBM_DIM_MAX);
  for (int at = 0; at < dim * dim; at++) {
    zone[at] = BOUND_ZERO;
  }
}

void dbm_universe(Bound *zone, int dim) {
  DCHECK(dim >= 1 && dim <= DBM_DIM_MAX);
  for (int i = 0; i < dim; i++) {
    for (int j = 0; j < dim; j++) {
      zone[i * dim + j] = i == 0 || i == j ? BOUND_ZERO : BOUND_INFINITY;
    }
  }
}

static bool entry_is_tight(const Bound *zone, int dim, int i, int j) {
  for (int k = 0; k < dim; k++) {
    if (zone[i * dim + j] > bound_add(zone[i * dim + k], zone[k * dim + j])) {
      return false;
    }
  }
  return zone[i * dim + j] == BOUND_INFINITY || bound_fits(zone[i * dim + j]);
}

bool dbm_is_closed(const Bound *zone, int dim) {
  if (dim < 1 || dim > DBM_DIM_MAX) {
    return false;
  }
  for (int i = 0; i < dim; i++) {
    if (zone[i * dim + i] != BOUND_ZERO || zone[i] > BOUND_ZERO) {
      return false;
    }
  }
  /* A negative cycle through i would make the (zero) diagonal of i loose, so closed includes not empty. */
  for (int i = 0; i < dim; i++) {
    for (int j = 0; j < dim; j++) {
      if (!entry_is_tight(zone, dim, i, j)) {
        return false;
      }
    }
  }
  return true;
}

bool dbm_equal(const Bound *a, const Bound *b, int dim) {
  return memcmp(a, b, (size_t)(dim * dim) * sizeof *a) == 0;
}

bool dbm_contains_half(const Bound *zone, int dim, const int64_t *half_point) {
  DCHECK(half_point[0] == 0);
  for (int i = 0; i < dim; i++) {
    for (int j = 0; j < dim; j++) {
      /* In halves, < v is < 2v and <= v is < 2v + 1: in both cases the code itself. */
      Bound bound = zone[i * dim + j];
      if (bound != BOUND_INFINITY && half_point[i] - half_point[j] >= bound) {
        return false;
      }
    }
  }
  return true;
}

/* -- Ages one at a time: O(dim), closed before and after ----------------------------------------------------------- */

void dbm_delay(Bound *zone, int dim) {
  DCHECK(dbm_is_closed(zone, dim));
  for (int i = 1; i < dim; i++) {
    zone[i * dim] = BOUND_INFINITY;
  }
  DCHECK(dbm_is_closed(zone, dim));
}

/* Index `x` becomes a twin of index `y`; the order of the two loops gives the four entries among themselves <= 0. */
static void assign(Bound *zone, int dim, int x, int y) {
  DCHECK(dbm_is_closed(zone, dim));
  DCHECK(x >= 1 && x < dim && y >= 0 && y < dim);
  for (int j = 0; j < dim; j++) {
    zone[x * dim + j] = zone[y * dim + j];
  }
  for (int i = 0; i < dim; i++) {
    zone[i * dim + x] = zone[i * dim + y];
  }
  DCHECK(dbm_is_closed(zone, dim));
}

void dbm_reset(Bound *zone, int dim, DbmAge x) {
  assign(zone, dim, x, 0);
}

void dbm_copy(Bound *zone, int dim, DbmAge x, DbmAge y) {
  DCHECK(y >= 1);
  if (x != y) {
    assign(zone, dim, x, y);
  }
}

void dbm_forget(Bound *zone, int dim, DbmAge x) {
  DCHECK(dbm_is_closed(zone, dim));
  DCHECK(x >= 1 && x < dim);
  for (int i = 0; i < dim; i++) {
    zone[x * dim + i] = BOUND_INFINITY;
    zone[i * dim + x] = zone[i * dim]; /* all that is left is x >= 0 */
  }
  zone[x * dim + x] = BOUND_ZERO;
  DCHECK(dbm_is_closed(zone, dim));
}

/* -- Tightening ---------------------------------------------------------------------------------------------------- */

/* row = min(row, from + via), entry by entry. Written for the vectoriser: no branches, no aliases. */
static void relax_row(Bound *restrict row, const Bound *restrict via, Bound from, int dim) {
  Bound magnitude = 0; /* has the bits of every kept sum (of its complement, if negative), to see the largest */
  for (int j = 0; j < dim; j++) {
    Bound sum = bound_add(from, via[j]);
    Bound kept = sum < row[j] ? sum : 0;
    magnitude |= kept ^ (kept >> 31);
    row[j] = sum < row[j] ? sum : row[j];
  }
  CHECK(magnitude < BOUND_LIMIT);
}

/* The bound on k - j that follows from the closed zone's k - i and `bound` on i - j; BOUND_INFINITY if that is no news.
 */
static Bound detour(const Bound *zone, int dim, int k, int i, int j, Bound bound) {
  Bound through = bound_add(zone[k * dim + i], bound);
  if (through >= zone[k * dim + j]) {
    return BOUND_INFINITY;
  }
  CHECK(bound_fits(through));
  return through;
}

/* Adds `bound` on i - j, news to a closed zone and not empty with it, and closes: every shorter path has the form
 * k -> i -> j -> l, and row k gains only if k -> j does. Row j does not gain, so relax_row's rows are never the same.
 */
static void tighten(Bound *zone, int dim, int i, int j, Bound bound) {
  for (int k = 0; k < dim; k++) {
    Bound from = detour(zone, dim, k, i, j, bound);
    if (from != BOUND_INFINITY) {
      relax_row(zone + k * dim, zone + j * dim, from, dim);
    }
  }
}

static bool row_is_bare(const Bound *row, int dim) {
  int bounded_count = 0;
  for (int j = 0; j < dim; j++) {
    bounded_count += row[j] != BOUND_INFINITY;
  }
  return bounded_count <= 1; /* the diagonal */
}

/* Floyd-Warshall, for zones that are known not to be empty. Extrapolation leaves many rows bare: no path goes on there.
 */
static void close_all(Bound *zone, int dim) {
  for (int k = 0; k < dim; k++) {
    if (row_is_bare(zone + k * dim, dim)) {
      continue;
    }
    for (int i = 0; i < dim; i++) {
      if (i != k && zone[i * dim + k] != BOUND_INFINITY) {
        relax_row(zone + i * dim, zone + k * dim, zone[i * dim + k], dim);
      }
    }
  }
}

bool dbm_satisfies_some(const Bound *zone, int dim, int i, int j, Bound bound) {
  DCHECK(i >= 0 && i < dim && j >= 0 && j < dim && i != j);
  return bound_add(zone[j * dim + i], bound) >= BOUND_ZERO;
}

bool dbm_satisfies_all(const Bound *zone, int dim, int i, int j, Bound bound) {
  DCHECK(i >= 0 && i < dim && j >= 0 && j < dim && i != j);
  return zone[i * dim + j] <= bound;
}

bool dbm_constrain(Bound *zone, int dim, int i, int j, Bound bound) {
  DCHECK(dbm_is_closed(zone, dim));
  DCHECK(bound == BOUND_INFINITY || bound_fits(bound));
  if (dbm_satisfies_all(zone, dim, i, j, bound)) {
    return true;
  }
  if (!dbm_satisfies_some(zone, dim, i, j, bound)) {
    return false;
  }
  tighten(zone, dim, i, j, bound);
  DCHECK(dbm_is_closed(zone, dim));
  return true;
}

/* -- Two zones ----------------------------------------------------------------------------------------------------- */

bool dbm_includes(const Bound *outer, const Bound *inner, int dim) {
  DCHECK(dbm_is_closed(outer, dim) && dbm_is_closed(inner, dim));
  for (int i = 0; i < dim; i++) { /* leaves between rows, so that each row is a loop without a branch */
    int outside = 0;
    for (int j = 0; j < dim; j++) {
      outside |= inner[i * dim + j] > outer[i * dim + j];
    }
    if (outside) {
      return false;
    }
  }
  return true;
}

/* The larger of each pair of entries. Needs no closing: max(a + b, c + d) <= max(a, c) + max(b, d). */
bool dbm_hull(Bound *zone, const Bound *other, int dim) {
  DCHECK(dbm_is_closed(zone, dim) && dbm_is_closed(other, dim));
  int grew = 0;
  for (int at = 0; at < dim * dim; at++) {
    grew |= other[at] > zone[at];
    zone[at] = other[at] > zone[at] ? other[at] : zone[at];
  }
  DCHECK(dbm_is_closed(zone, dim));
  return grew != 0;
}

/* Whether the part of `zone` with `bound` on i - j (news to it, not empty with it) lies in `outer`; builds no matrix.
 */
static bool part_lies_in(const Bound *zone, int dim, int i, int j, Bound bound, const Bound *outer) {
  const Bound *via = zone + j * dim;
  for (int k = 0; k < dim; k++) {
    const Bound *row = zone + k * dim;
    const Bound *limit = outer + k * dim;
    Bound from = detour(zone, dim, k, i, j, bound);
    int outside = 0;
    for (int l = 0; l < dim; l++) {
      /* The analyzer cannot tell that dbm_merge_exact has filled all dim * dim entries of the hull.
       * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
      outside |= (row[l] > limit[l]) & (bound_add(from, via[l]) > limit[l]);
    }
    if (outside) {
      return false;
    }
  }
  return true;
}

/* Whether `zone` without `taken`, which it includes, lies in `rest`. Each constraint of `taken` that the rest of `zone`
 * does not imply yet splits off one piece, which is not empty because the zone is closed. */
static bool difference_lies_in(Bound *zone, const Bound *taken, const Bound *rest, int dim) {
  for (int i = 0; i < dim; i++) {
    for (int j = 0; j < dim; j++) {
      Bound bound = taken[i * dim + j];
      if (bound >= zone[i * dim + j]) {
        continue;
      }
      if (!part_lies_in(zone, dim, j, i, bound_negate(bound), rest)) {
        return false;
      }
      tighten(zone, dim, i, j, bound);
    }
  }
  return true;
}

bool dbm_merge_exact(Bound *zone, const Bound *other, int dim) {
  DCHECK(dbm_is_closed(zone, dim) && dbm_is_closed(other, dim));
  Bound hull[DBM_DIM_MAX * DBM_DIM_MAX];
  int zone_tighter_count = 0, other_tighter_count = 0;
  for (int at = 0; at < dim * dim; at++) {
    zone_tighter_count += zone[at] < other[at];
    other_tighter_count += other[at] < zone[at];
    hull[at] = other[at] > zone[at] ? other[at] : zone[at];
  }
  if (zone_tighter_count != 0 && other_tighter_count != 0) {    /* else one includes the other */
    bool take_zone = zone_tighter_count <= other_tighter_count; /* the union is symmetric: as few pieces as possible */
    if (!difference_lies_in(hull, take_zone ? zone : other, take_zone ? other : zone, dim)) {
      return false;
    }
  }
  dbm_hull(zone, other, dim);
  return true;
}

/* -- Extrapolation ------------------------------------------------------------------------------------------------- */

/* Drops the bounds above a ceiling, which is the lower of a common one and one per entry; true if there were any. */
static bool loosen(Bound *restrict row, const Bound *restrict ceiling, Bound common, int count) {
  int changed = 0;
  for (int j = 0; j < count; j++) {
    int above = row[j] > (ceiling[j] < common ? ceiling[j] : common);
    changed |= above & (row[j] != BOUND_INFINITY);
    row[j] = above ? BOUND_INFINITY : row[j];
  }
  return changed != 0;
}

/* The four cases of Extra+LU, with c the value of an entry and i, j over the indices (i = 0 last, the others read it):
 *   c[i][j] > L(i), or -c[0][i] > L(i), or -c[0][j] > U(j) and i != 0:  infinity
 *   -c[0][j] > U(j) and i = 0:  < -U(j), here at most <= 0.
 * In codes, c > v is "above <= v" and -c > v is "below < -v". */
void dbm_extrapolate(Bound *zone, int dim, const int32_t *lower, const int32_t *upper) {
  DCHECK(dbm_is_closed(zone, dim));
  Bound ceiling[DBM_DIM_MAX];
  ceiling[0] = INT32_MAX;
  for (int j = 1; j < dim; j++) {
    DCHECK(lower[j] >= -1 && lower[j] <= BOUND_VALUE_MAX && upper[j] >= -1 && upper[j] <= BOUND_VALUE_MAX);
    ceiling[j] = zone[j] < bound_below(-upper[j]) ? INT32_MIN : INT32_MAX;
  }
  bool changed = false;
  for (int i = 1; i < dim; i++) {
    Bound *row = zone + i * dim;
    Bound common = zone[i] < bound_below(-lower[i]) ? INT32_MIN : bound_at_most(lower[i]);
    changed |= loosen(row, ceiling, common, i);
    changed |= loosen(row + i + 1, ceiling + i + 1, common, dim - i - 1);
  }
  for (int j = 1; j < dim; j++) {
    Bound least = upper[j] < 0 ? BOUND_ZERO : bound_below(-upper[j]);
    if (zone[j] < least) {
      zone[j] = least;
      changed = true;
    }
  }
  if (changed) {
    close_all(zone, dim);
  }
  DCHECK(dbm_is_closed(zone, dim));
}

/* -- Other ages ---------------------------------------------------------------------------------------------------- */

static bool sources_are_sound(const int *source, int out_dim, int dim, int least) {
  bool used[DBM_DIM_MAX] = {false};
  for (int i = 0; i < out_dim; i++) {
    if (source[i] < least || source[i] >= dim || (i == 0) != (source[i] == 0) || (source[i] > 0 && used[source[i]])) {
      return false;
    }
    used[source[i] < 0 ? 0 : source[i]] = true;
  }
  return true;
}

/* A new age (-1, where `least` allows it) is equal to zero, so its differences are those of index 0. */
static void gather(Bound *restrict out, int out_dim, const Bound *restrict zone, int dim, const int *source,
                   int least) {
  CHECK(out_dim >= 1 && out_dim <= DBM_DIM_MAX && sources_are_sound(source, out_dim, dim, least));
  DCHECK(dbm_is_closed(zone, dim));
  int column[DBM_DIM_MAX];
  for (int i = 0; i < out_dim; i++) {
    column[i] = source[i] < 0 ? 0 : source[i];
  }
  for (int i = 0; i < out_dim; i++) {
    const Bound *row = zone + column[i] * dim;
    for (int j = 0; j < out_dim; j++) {
      out[i * out_dim + j] = row[column[j]];
    }
  }
  DCHECK(dbm_is_closed(out, out_dim));
}

void dbm_project(Bound *out, int out_dim, const Bound *zone, int dim, const int *source) {
  gather(out, out_dim, zone, dim, source, 0);
}

void dbm_rearrange(Bound *out, int out_dim, const Bound *zone, int dim, const int *source) {
  gather(out, out_dim, zone, dim, source, -1);
}
