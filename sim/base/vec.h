/* A growing array of one element type: VEC(int) numbers = {0}; vec_push(&numbers, 7); numbers.items[0].
 *
 * The vector owns its items; vec_free gives them back and leaves an empty vector. Counts are 32 bits.
 * Not for the inner loops of the search, which allocate up front.
 */
#ifndef LOCKSTEP_BASE_VEC_H
#define LOCKSTEP_BASE_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC(Type)      \
  struct {             \
    Type *items;       \
    uint32_t count;    \
    uint32_t capacity; \
  }

/* Returns `items` with room for `count` items of `item_bytes`, moved if need be; CHECKs that the count fits 31 bits
 * and that memory is there. */
void *vec_grow(void *items, uint32_t *capacity, uint64_t count, size_t item_bytes);

#define vec_reserve(vec, wanted) \
  ((vec)->items = vec_grow((vec)->items, &(vec)->capacity, (wanted), sizeof *(vec)->items))
#define vec_push(vec, value) (vec_reserve((vec), (uint64_t)(vec)->count + 1), (vec)->items[(vec)->count++] = (value))
#define vec_free(vec) (free((vec)->items), (vec)->items = NULL, (vec)->count = 0, (vec)->capacity = 0)

#endif
