#include "base/vec.h"

#include "base/check.h"

void *vec_grow(void *items, uint32_t *capacity, uint64_t count, size_t item_bytes) {
  if (count <= *capacity) {
    return items;
  }
  CHECK(count <= UINT32_MAX / 2);
  uint32_t wanted = *capacity ? *capacity * 2 : 16;
  while (wanted < count) {
    wanted *= 2;
  }
  void *grown = realloc(items, (size_t)wanted * item_bytes);
  CHECK(grown != NULL);
  *capacity = wanted;
  return grown;
}
