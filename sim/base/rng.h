/* Random numbers that are the same for ever and everywhere: xoshiro256** (Blackman, Vigna 2018), seeded by splitmix64
 * (Steele, Lea, Flood 2014). "rng=1" in files means this algorithm and these derivations; the vectors in
 * tests/unit/test_rng.c freeze them, so that a seed means the same run in every version.
 *
 * A stream is derived from a seed and a number or a name: streams of one seed are independent of each other and of how
 * much any of them is used. Owns nothing; integers only, so that no host's floating point can tell.
 */
#ifndef LOCKSTEP_BASE_RNG_H
#define LOCKSTEP_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

#define RNG_VERSION 1

typedef struct Rng {
  uint64_t state[4];
} Rng;

/* The next number of splitmix64 with this state. */
uint64_t rng_split(uint64_t *state);
/* The same mixing as a hash of one word. */
uint64_t rng_mix(uint64_t word);

Rng rng_new(uint64_t seed);
/* A seed for the stream `index` (or `name`) of `seed`: derive it again, and it is the same. */
uint64_t rng_derive(uint64_t seed, uint64_t index);
uint64_t rng_derive_named(uint64_t seed, const char *name);

uint64_t rng_next(Rng *rng);
/* 0 .. end - 1, without bias; end > 0. */
uint64_t rng_below(Rng *rng, uint64_t end);
/* from .. to, both included; from <= to. */
int64_t rng_between(Rng *rng, int64_t from, int64_t to);
/* True once in `count` times. */
bool rng_one_in(Rng *rng, uint64_t count);
/* In the open interval (0, 1): a multiple of 2^-53, plus half of one. */
double rng_unit(Rng *rng);

#endif
