/* The engine against two slow, obvious ones, on models without time (no window, no age: semantics.md, section 1).
 *
 * The first takes the world's own steps, but enumerates their choices by brute force and keeps states in a GHashTable:
 * it knows no store, no queue by cost, no zone. The second is the quorum lock written a second time, by hand, out of
 * nothing but the protocol: it shares no line with sim/, and has the same number of states to the unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explore/exhaustive.h"
#include "properties/property.h"
#include "support/shipped.h"
#include "world/timed.h"

/* --- the naive explorer ------------------------------------------------------------------------------------------ */

typedef struct Naive {
  Chooser chooser; /* first */
  const World *world;
  Timed *timed;
  GHashTable *costs; /* GBytes of a key -> Cost */
  GQueue waiting;    /* keys */
  Cost hits[PROPERTY_BITS];
  int32_t choices[ACTION_CHOICES_MAX], counts[ACTION_CHOICES_MAX], chosen, asked;
  uint64_t choosing_steps;
} Naive;

static int32_t naive_choose(Chooser *chooser, int32_t count) {
  Naive *naive = (Naive *)chooser;
  assert_true(count > 1 && naive->asked < ACTION_CHOICES_MAX);
  if (naive->asked == naive->chosen) {
    naive->choices[naive->chosen++] = 0;
  }
  naive->counts[naive->asked] = count;
  return naive->choices[naive->asked++];
}

static bool naive_compare(Chooser *chooser, Cell age, Reading bound, bool strict) {
  (void)chooser, (void)age, (void)bound, (void)strict;
  fail_msg("nothing has an age here");
  return false;
}

/* The next sequence of choices, like the hands of a clock. */
static bool naive_advance(Naive *naive) {
  while (naive->chosen > 0 && naive->choices[naive->chosen - 1] + 1 == naive->counts[naive->chosen - 1]) {
    naive->chosen--;
  }
  naive->chosen > 0 ? naive->choices[naive->chosen - 1]++ : 0;
  return naive->chosen > 0;
}

static void naive_hit(Naive *naive, uint64_t violated, Cost cost) {
  for (int32_t p = 0; p < PROPERTY_BITS; p++) {
    naive->hits[p] = violated >> p & 1 && cost < naive->hits[p] ? cost : naive->hits[p];
  }
}

static uint64_t violated_by(Naive *naive, State *state) {
  const World *world = naive->world;
  uint64_t violated = 0;
  for (int32_t m = 0; m < world->monitor_count; m++) {
    bool is = world->monitors[m]->violated_by != NULL && world->monitors[m]->violated_by(world, state);
    violated |= is ? UINT64_C(1) << m : 0;
  }
  for (int32_t n = 0; n < world->program->never_count; n++) {
    Step step;
    step_start(&step, world, state, &naive->chooser);
    violated |= vm_evaluate(&step, world->program->nevers[n].entry) ? world_never_bit(world, n) : 0;
  }
  return violated;
}

/* A state that was reached for no more than `cost`; what became cheaper is expanded again. */
static void naive_reach(Naive *naive, State *state, Cost cost) {
  static uint8_t bytes[1 << 16];
  int32_t source[STATE_AGES_MAX + 1];
  GBytes *key = g_bytes_new(bytes, timed_key(naive->timed, state, false, bytes, source));
  const Cost *known = g_hash_table_lookup(naive->costs, key);
  assert_int_equal(packed_age_count(bytes), 0);
  if (known != NULL && *known <= cost) {
    g_bytes_unref(key);
    return;
  }
  state_unpack(&naive->world->layout, bytes, state);
  naive_hit(naive, violated_by(naive, state), cost);
  g_queue_push_tail(&naive->waiting, g_bytes_ref(key));
  g_hash_table_replace(naive->costs, key, g_memdup2(&cost, sizeof cost));
}

static void naive_take(Naive *naive, const State *from, const Action *action, Cost cost) {
  static State state;
  naive->chosen = 0;
  do {
    Step step;
    naive->asked = 0;
    state_copy(&naive->world->layout, &state, from);
    step_start(&step, naive->world, &state, &naive->chooser);
    step_take(&step, action);
    assert_int_equal(step.problem.kind, PROBLEM_NONE);
    step_settle(&step);
    naive->choosing_steps += naive->asked > 0;
    Cost reached = cost_plus(cost, cost_of(step.faults, step.steps));
    naive_hit(naive, step.violated, reached);
    naive_reach(naive, &state, reached);
  } while (naive_advance(naive));
}

static void naive_explore(Naive *naive) {
  static State state;
  Thing things[THINGS_MAX];
  Action faults[FAULT_ACTIONS_MAX];
  world_initial(naive->world, &state);
  naive_reach(naive, &state, cost_of(0, 0));
  for (GBytes *key; (key = g_queue_pop_head(&naive->waiting)) != NULL; g_bytes_unref(key)) {
    Cost cost = *(const Cost *)g_hash_table_lookup(naive->costs, key);
    state_unpack(&naive->world->layout, g_bytes_get_data(key, NULL), &state);
    int32_t count = step_things(naive->world, &state, things);
    for (int32_t i = 0; i < count; i++) {
      if (!things[i].withheld && !things[i].blocked) {
        naive_take(naive, &state,
                   &(Action){.kind = (uint8_t)things[i].kind,
                             .subject = (uint8_t)things[i].subject,
                             .object = (uint8_t)things[i].object},
                   cost);
      }
    }
    count = step_faults(naive->world, &state, faults);
    for (int32_t i = 0; i < count; i++) {
      naive_take(naive, &state, &faults[i], cost);
    }
  }
}

/* --- the comparison ---------------------------------------------------------------------------------------------- */

static Exploration *explored(Timed *timed, System *system, bool exact, bool symmetric) {
  *system = timed_system(timed, symmetric);
  Exploration *exploration = explore(system, &(ExploreOptions){.exact = exact, .canonical = true});
  assert_int_equal(exploration->stopped, STOP_NOT);
  return exploration;
}

static void assert_same_as(const Naive *naive, bool exact) {
  System system;
  Exploration *exploration = explored(naive->timed, &system, exact, false);
  GHashTableIter iterator;
  gpointer key;
  assert_int_equal(exploration->store.state_count, g_hash_table_size(naive->costs));
  g_hash_table_iter_init(&iterator, naive->costs);
  while (g_hash_table_iter_next(&iterator, &key, NULL)) {
    gsize bytes;
    const uint8_t *data = g_bytes_get_data(key, &bytes);
    assert_true(store_find(&exploration->store, data, (uint32_t)bytes) != STORE_NONE);
  }
  for (int32_t p = 0; p < PROPERTY_BITS; p++) {
    assert_true(exploration->hits[p] == naive->hits[p]);
  }
  exploration_free(exploration);
}

/* With n clients that can be exchanged a class has at most n! states; what is hit, and at which cost, stays. */
static uint32_t assert_symmetric(const Naive *naive, uint32_t orders) {
  System system;
  Exploration *exploration = explored(naive->timed, &system, false, true);
  uint32_t classes = exploration->store.state_count, states = g_hash_table_size(naive->costs);
  assert_true(classes <= states && classes >= (states + orders - 1) / orders);
  assert_true(orders == 1 || classes < states);
  for (int32_t p = 0; p < PROPERTY_BITS; p++) {
    assert_true(exploration->hits[p] == naive->hits[p]);
  }
  exploration_free(exploration);
  return classes;
}

typedef struct Counts {
  uint32_t states, classes;
  uint64_t violated;
} Counts;

/* `orders` is n! of the clients that the program cannot tell apart. */
static Counts compare(const char *text, const char *scenario, const char *const *settings, uint32_t orders) {
  int64_t too_large;
  Shipped shipped = shipped_text(text, scenario, settings);
  World *world = world_new(shipped.program, property_monitors, PROPERTY_COUNT);
  Timed *timed = timed_new(world, &too_large);
  Naive naive = {.chooser = {.choose = naive_choose, .compare = naive_compare}, .world = world, .timed = timed};
  naive.costs = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, g_free);
  memset(naive.hits, 0xff, sizeof naive.hits);
  naive_explore(&naive);
  assert_same_as(&naive, false);
  assert_same_as(&naive, true);
  Counts counts = {g_hash_table_size(naive.costs), assert_symmetric(&naive, orders), 0};
  for (int32_t p = 0; p < PROPERTY_BITS; p++) {
    counts.violated |= naive.hits[p] != COST_NONE ? UINT64_C(1) << p : 0;
  }
  print_message("%s: %u states, %u classes, %" PRIu64 " steps with choices, violated 0x%" PRIx64 "\n", scenario,
                counts.states, counts.classes, naive.choosing_steps, counts.violated);
  g_hash_table_destroy(naive.costs);
  timed_free(timed);
  world_free(world);
  shipped_close(&shipped);
  return counts;
}

static uint64_t bit_of(const char *property) {
  for (int32_t m = 0; m < PROPERTY_COUNT; m++) {
    if (strcmp(property_monitors[m]->name, property) == 0) {
      return UINT64_C(1) << m;
    }
  }
  fail_msg("no property %s", property);
  return 0;
}

/* --- models ------------------------------------------------------------------------------------------------------ */

#define LOCK_SERVICE                                                                                    \
  "service lock { var owner : token? = none lock\n var fence : ticket = 0\n"                            \
  " on take(key) { if owner != none { reply nil }\n owner = key\n fence = next fence\n reply fence }\n" \
  " on release(key) { if owner == key { owner = none } }\n on del() { owner = none } }\n"
#define LOCK_CLIENT(release, store)                                                                     \
  "model m \"\"\nuse fenced_register\nuse register\nserver node : lock\n" LOCK_SERVICE store            \
  "client[2] { var key : token\n var fence : reply\n loop { key = fresh\n fence = ask node.take(key)\n" \
  " if fence is ticket { critical fence fence {\n"                                                      \
  "  if ask store.read(fence) != stale { wait 0s..inf\n ask store.write(fence) } } }\n" release         \
  " wait 0s..inf } }\nnever \"somebody holds the lock\" { node.owner != none }\n"
#define FENCED(release) LOCK_CLIENT(release, "server store : fenced_register\n")

static void test_a_lock_with_tokens_and_tickets(void **state) {
  (void)state;
  const char *const text = FENCED(
      "tell node.release(key)\n") "scenario calm { latency 0s..inf\n rounds 2 }\n"
                                  "scenario lost { latency 0s..inf\n rounds 1\n 1 lost }\n"
                                  "scenario pause { latency 0s..inf\n rounds 1\n 1 pause of client for 0s..inf }\n"
                                  "scenario crash { latency 0s..inf\n rounds 1\n 1 crash of client, back after 0s..inf }\n"
                                  "scenario amnesia { latency 0s..inf\n rounds 2\n 1 crash of node losing memory, back after 0s..inf }\n";
  uint64_t never = UINT64_C(1) << PROPERTY_COUNT;
  assert_true(compare(text, "calm", NULL, 2).violated == never);
  assert_true(compare(text, "lost", NULL, 2).violated == (never | bit_of("deadlock")));
  assert_true(compare(text, "pause", NULL, 2).violated & never);
  assert_true(compare(text, "crash", NULL, 2).violated & never);
  assert_true(compare(text, "amnesia", NULL, 2).violated & bit_of("mutual_exclusion"));
}

static void test_a_lock_that_anybody_may_release(void **state) {
  (void)state;
  const char *const text = FENCED("tell node.del()\n") "scenario naked { latency 0s..inf\n rounds 1 }\n";
  uint64_t violated = compare(text, "naked", NULL, 2).violated;
  assert_true(violated & bit_of("mutual_exclusion"));
  assert_true(violated & bit_of("owner_release"));
}

static void test_three_clients_that_look_before_they_write(void **state) {
  (void)state;
  const char *const text =
      "model m \"\"\nuse cell\nserver x : cell\n"
      "client[3] { loop { wait 0s..inf\n if ask x.get() == none { ask x.set(me)\n"
      " if ask x.get() == me { critical { wait 0s..inf }\n ask x.clear() } } } }\n"
      "scenario three { latency 0s..inf\n rounds 1 }\nscenario two { latency 0s..inf\n clients 2\n 1 lost }\n";
  assert_true(compare(text, "three", NULL, 6).violated & bit_of("mutual_exclusion"));
  assert_true(compare(text, "two", NULL, 2).violated == bit_of("mutual_exclusion")); /* the other one goes on */
}

static void test_clients_of_two_kinds_are_not_exchanged(void **state) {
  (void)state;
  const char *const text = "model m \"\"\nuse cell\nserver x : cell\n"
                           "client a[1] { loop { wait 0s..inf\n if ask x.get() == none { ask x.set(me) } } }\n"
                           "client b[1] { loop { ask x.clear()\n wait 0s..inf } }\n"
                           "scenario kinds { latency 0s..inf }\n";
  compare(text, "kinds", NULL, 1);
}

/* --- the quorum lock, by hand ------------------------------------------------------------------------------------ */

#define SERVERS 3
enum { NOT_BEGUN, IDLE, ASKING, INSIDE };
enum { NO_REPLY, YES, NO };

typedef struct Flat {
  struct {
    uint8_t phase, asks, votes;
    uint8_t takes[SERVERS], frees[SERVERS]; /* on their way; a free always before a take */
    uint8_t reply[SERVERS];
  } client[2];
  uint8_t owner[SERVERS]; /* client + 1 */
  uint8_t losses;         /* left */
} Flat;

typedef struct Peer {
  GHashTable *seen;
  GQueue waiting;
  bool two_inside, stuck;
} Peer;

static void peer_reach(Peer *peer, Flat flat) {
  GBytes *key = g_bytes_new(&flat, sizeof flat);
  peer->two_inside |= flat.client[0].phase == INSIDE && flat.client[1].phase == INSIDE;
  if (g_hash_table_add(peer->seen, g_bytes_ref(key))) {
    g_queue_push_tail(&peer->waiting, g_bytes_ref(key));
  }
  g_bytes_unref(key);
}

static void peer_ask(Peer *peer, Flat flat, int c) {
  flat.client[c].phase = ASKING;
  if (flat.losses > 0) {
    Flat lost = flat;
    lost.losses--;
    peer_reach(peer, lost);
  }
  flat.client[c].takes[flat.client[c].asks]++;
  peer_reach(peer, flat);
}

/* Frees the servers from n on, each message perhaps lost, and is idle then. */
static void peer_free(Peer *peer, Flat flat, int c, int n) {
  flat.client[c].phase = IDLE;
  flat.client[c].votes = flat.client[c].asks = 0;
  if (n == SERVERS) {
    peer_reach(peer, flat);
    return;
  }
  if (flat.losses > 0) {
    Flat lost = flat;
    lost.losses--;
    peer_free(peer, lost, c, n + 1);
  }
  flat.client[c].frees[n]++;
  peer_free(peer, flat, c, n + 1);
}

static void peer_read(Peer *peer, Flat flat, int c) {
  uint8_t *reply = &flat.client[c].reply[flat.client[c].asks];
  flat.client[c].votes = (uint8_t)(flat.client[c].votes + (*reply == YES));
  *reply = NO_REPLY;
  if (flat.client[c].asks + 1 < SERVERS) {
    flat.client[c].asks++;
    peer_ask(peer, flat, c);
  } else if (flat.client[c].votes > SERVERS / 2) {
    flat.client[c].phase = INSIDE;
    flat.client[c].votes = flat.client[c].asks = 0;
    peer_reach(peer, flat);
  } else {
    peer_free(peer, flat, c, 0);
  }
}

static void peer_handle(Peer *peer, Flat flat, int c, int n) {
  if (flat.client[c].frees[n] > 0) {
    flat.client[c].frees[n]--;
    flat.owner[n] = flat.owner[n] == c + 1 ? 0 : flat.owner[n];
    peer_reach(peer, flat);
    return;
  }
  flat.client[c].takes[n]--;
  bool is_free = flat.owner[n] == 0;
  flat.owner[n] = is_free ? (uint8_t)(c + 1) : flat.owner[n];
  if (flat.losses > 0) {
    Flat lost = flat;
    lost.losses--;
    peer_reach(peer, lost);
  }
  flat.client[c].reply[n] = is_free ? YES : NO;
  peer_reach(peer, flat);
}

static void peer_expand(Peer *peer, const Flat *flat) {
  bool can_move = false;
  for (int c = 0; c < 2; c++) {
    int phase = flat->client[c].phase, asks = flat->client[c].asks;
    Flat next = *flat;
    bool moves = phase != ASKING || flat->client[c].reply[asks] != NO_REPLY;
    if (phase == NOT_BEGUN) {
      next.client[c].phase = IDLE;
      peer_reach(peer, next);
    } else if (phase == IDLE) {
      peer_ask(peer, next, c);
    } else if (phase == INSIDE) {
      peer_free(peer, next, c, 0);
    } else if (moves) {
      peer_read(peer, next, c);
    }
    for (int n = 0; n < SERVERS; n++) {
      if (flat->client[c].takes[n] > 0 || flat->client[c].frees[n] > 0) {
        peer_handle(peer, *flat, c, n);
        moves = true;
      }
    }
    can_move |= moves;
  }
  peer->stuck |= !can_move;
}

static uint32_t peer_count(int losses, bool *two_inside, bool *stuck) {
  Peer peer = {.seen = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL)};
  Flat first = {.losses = (uint8_t)losses};
  peer_reach(&peer, first);
  for (GBytes *key; (key = g_queue_pop_head(&peer.waiting)) != NULL; g_bytes_unref(key)) {
    peer_expand(&peer, g_bytes_get_data(key, NULL));
  }
  uint32_t count = g_hash_table_size(peer.seen);
  *two_inside = peer.two_inside;
  *stuck = peer.stuck;
  g_hash_table_destroy(peer.seen);
  return count;
}

/* The same lock has 16,636 states for SPIN, Rumur, TLC and TChecker (two clients, three servers, two losses). It is not
 * the same to the unit here, for these reasons: there a loss strikes at any time on the way, here when the message is
 * sent (the same to every receiver, in fewer states); there the client can tell that a message is lost, and goes on;
 * here it waits for ever; there a client waits until its releases have arrived, here it may ask again behind them, on
 * ordered connections; and here a client begins. Hence the peer by hand, with our granularity. */
static void test_the_quorum_lock_has_the_states_that_it_has_by_hand(void **state) {
  (void)state;
  const char *folder = g_getenv("LOCKSTEP_TESTS");
  g_autofree char *path = g_build_filename(folder != NULL ? folder : "tests", "models", "quorum_lock.lk", NULL);
  g_autofree char *text = NULL;
  assert_true(g_file_get_contents(path, &text, NULL, NULL));
  for (int losses = 0; losses <= 2; losses++) {
    bool two_inside, stuck;
    char scenario[] = {'s', (char)('0' + losses), '\0'};
    uint32_t states = peer_count(losses, &two_inside, &stuck);
    print_message("by hand with %d losses: %u states\n", losses, states);
    Counts counts = compare(text, scenario, NULL, 2);
    assert_int_equal(counts.states, states);
    assert_false(two_inside);
    assert_int_equal(stuck, losses == 2); /* one client alone goes on */
    assert_true(counts.violated == (stuck ? bit_of("deadlock") : 0));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_lock_with_tokens_and_tickets),
      cmocka_unit_test(test_a_lock_that_anybody_may_release),
      cmocka_unit_test(test_three_clients_that_look_before_they_write),
      cmocka_unit_test(test_clients_of_two_kinds_are_not_exchanged),
      cmocka_unit_test(test_the_quorum_lock_has_the_states_that_it_has_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
