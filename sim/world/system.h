/* All that a search may know about what it searches: states, successors, and an order on zones.
 *
 * A state has a *discrete part* (bytes, compared for equality) and a *zone* (words, compared by inclusion); the search
 * looks into neither. Messages, locks and clocks are below this line. A System is one implementation of the table of
 * functions here: world/timed for protocols, a few lines for the toys in the tests.
 *
 * States that `initial` and `successors` hand out are valid until the sink returns. With `canonical`, states are
 * renamed to the representative of their symmetry class; without, process names stay put (a witness is searched so),
 * and `representative` maps such a state to the one that a canonical search has stored.
 */
#ifndef LOCKSTEP_WORLD_SYSTEM_H
#define LOCKSTEP_WORLD_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct SystemState {
  const uint8_t *key; /* the discrete part */
  uint32_t key_bytes;
  const int32_t *zone;
  uint32_t zone_words; /* a function of the key */
} SystemState;

/* One transition, opaque to the search; with the choices made inside it, so that it can be taken again. */
#define ACTION_CHOICES_MAX 59
typedef struct Action {
  uint8_t kind, subject, object;
  uint8_t part; /* of the subject: a task */
  uint8_t choice_count;
  uint8_t choices[ACTION_CHOICES_MAX];
} Action;

typedef struct Successor {
  SystemState state;
  Action action;
  uint16_t faults; /* what the transition adds to the cost */
  uint16_t steps;
  uint64_t violated; /* bit set of the properties that it violates (possibly, if the zone over-approximates) */
} Successor;

typedef void (*SuccessorSink)(void *user, const Successor *successor);

typedef struct System {
  void *self;
  /* The initial states (faults and steps 0). */
  void (*initial)(void *self, bool canonical, SuccessorSink sink, void *user);
  void (*successors)(void *self, SystemState state, bool canonical, SuccessorSink sink, void *user);
  /* The representative of a state, valid until the next call. NULL: a state is its own. */
  SystemState (*representative)(void *self, SystemState state);
  /* The representative is not the same for all members of a class: some classes are stored more than once. */
  bool classes_split;
  /* Properties that some point of the state violates, seen while time passes in it (bit set). NULL: none. */
  uint64_t (*violations)(void *self, SystemState state);
  /* Whether some point of the state lets a positive time pass. NULL: yes. */
  bool (*may_delay)(void *self, SystemState state);
  /* The following look at two zones of one discrete part. */
  bool (*covers)(void *self, SystemState outer, const int32_t *inner);
  /* `zone` becomes an over-approximation of the union, true if it grew. */
  bool (*join)(void *self, SystemState state, int32_t *zone, const int32_t *other);
  /* `zone` becomes the union exactly, or false and nothing changes. NULL: never. */
  bool (*merge)(void *self, SystemState state, int32_t *zone, const int32_t *other);
  /* `zone` has grown from `old` for the `growth`th time: it may be enlarged so that it stops growing soon. NULL: never.
   */
  void (*widen)(void *self, SystemState state, int32_t *zone, const int32_t *old, uint32_t growth);
} System;

#endif
