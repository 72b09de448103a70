#include "base/nearest.h"

#include <string.h>

/* Longer names are never suggested: nobody mistypes sixty letters, and the rows stay on the stack. */
#define NAME_BYTES_MAX 63

static char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t distance(const char *a, const char *b) {
  size_t a_bytes = strlen(a), b_bytes = strlen(b);
  size_t rows[3][NAME_BYTES_MAX + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_bytes; j++) {
    last[j] = j;
    before[j] = 0;
  }
  for (size_t i = 1; i <= a_bytes; i++) {
    row[0] = i;
    for (size_t j = 1; j <= b_bytes; j++) {
      size_t changed = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
      row[j] = least(changed, least(last[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = least(row[j], before[j - 2] + 1);
      }
    }
    size_t *free_row = before;
    before = last;
    last = row;
    row = free_row;
  }
  return last[b_bytes];
}

const char *nearest_find(const char *word, const char *const *names, size_t name_count) {
  if (strlen(word) > NAME_BYTES_MAX) {
    return NULL;
  }
  const char *nearest = NULL;
  size_t nearest_distance = strlen(word) / 3 + 2; /* one more than is still near */
  for (size_t i = 0; i < name_count; i++) {
    if (strlen(names[i]) > NAME_BYTES_MAX) {
      continue;
    }
    size_t here = distance(word, names[i]);
    if (here < nearest_distance && here < strlen(word)) {
      nearest = names[i];
      nearest_distance = here;
    }
  }
  return nearest;
}
