#include "base/rng.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

uint64_t rng_mix(uint64_t word) {
  word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
  return word ^ word >> 31;
}

uint64_t rng_split(uint64_t *state) {
  *state += GOLDEN;
  return rng_mix(*state);
}

Rng rng_new(uint64_t seed) {
  Rng rng;
  for (int i = 0; i < 4; i++) {
    rng.state[i] = rng_split(&seed);
  }
  return rng;
}

uint64_t rng_derive(uint64_t seed, uint64_t index) {
  /* Two rounds: neighbouring seeds and neighbouring indices must not meet in one stream. */
  return rng_mix(rng_mix(seed + GOLDEN) ^ (index * GOLDEN + UINT64_C(0xd1b54a32d192ed03)));
}

uint64_t rng_derive_named(uint64_t seed, const char *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, 64 bits */
  for (; *name != '\0'; name++) {
    hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
  }
  return rng_derive(seed, hash);
}

static uint64_t rotated(uint64_t word, int by) {
  return word << by | word >> (64 - by);
}

uint64_t rng_next(Rng *rng) {
  uint64_t *s = rng->state;
  uint64_t result = rotated(s[1] * 5, 7) * 9, shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotated(s[3], 45);
  return result;
}

/* Draws again while the number lies in the last, incomplete stretch: 2^64 is rarely a multiple of `end`. */
uint64_t rng_below(Rng *rng, uint64_t end) {
  uint64_t incomplete = -end % end, drawn;
  do {
    drawn = rng_next(rng);
  } while (drawn < incomplete);
  return drawn % end;
}

int64_t rng_between(Rng *rng, int64_t from, int64_t to) {
  uint64_t span = (uint64_t)to - (uint64_t)from;
  return (int64_t)((uint64_t)from + (span == UINT64_MAX ? rng_next(rng) : rng_below(rng, span + 1)));
}

bool rng_one_in(Rng *rng, uint64_t count) {
  return rng_below(rng, count) == 0;
}

double rng_unit(Rng *rng) {
  return ((double)(rng_next(rng) >> 11) + 0.5) * 0x1p-53;
}
