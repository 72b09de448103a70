/* Names without information: what a renumbering and a permutation keep, and what they forget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>
#include <string.h>

#include "properties/property.h"
#include "support/shipped.h"
#include "world/clocked.h"
#include "world/timed.h"

static const char two_locks[] =
    "model m \"\"\nservice s { var a : token? = none  var b : token? = none  var t : ticket = 0\n"
    "on put(x, y) { a = x; b = y; t = next t; reply t } }\nserver node[2] : s\n"
    "client[3] { var k : token? = none  var f : ticket = 0  var since : stamp\n"
    "loop { k = fresh  since = now  ask node[0].put(k, k)  wait 1s..2s until age(since) >= 1s  tell node[1].put(k, none) } }\n"
    "scenario s { latency 0s..1s }\n";

typedef struct Fixture {
  Shipped shipped;
  World *world;
  State state;
} Fixture;

static Fixture *open_fixture(void) {
  static Fixture fixture;
  fixture.shipped = shipped_text(two_locks, "s", NULL);
  fixture.world = world_new(fixture.shipped.program, property_monitors, PROPERTY_COUNT);
  world_initial(fixture.world, &fixture.state);
  return &fixture;
}

static void close_fixture(Fixture *fixture) {
  world_free(fixture->world);
  shipped_close(&fixture->shipped);
}

enum { VARIABLE_KEY, VARIABLE_FENCE, VARIABLE_SINCE };
enum { SERVER_A, SERVER_B, SERVER_TICKET };

static Cell *key_of(Fixture *fixture, int32_t client) {
  return world_client_variable(fixture->world, &fixture->state, client, VARIABLE_KEY);
}

static Cell *at_server(Fixture *fixture, int32_t server, int32_t variable) {
  return world_server_variable(fixture->world, &fixture->state, server, variable);
}

static void test_tokens_are_numbered_in_the_order_of_the_vector(void **state) {
  (void)state;
  Fixture *fixture = open_fixture();
  Renaming renaming;
  *key_of(fixture, 0) = 7;
  *key_of(fixture, 1) = 3;
  *at_server(fixture, 0, SERVER_A) = 3;
  *at_server(fixture, 0, SERVER_B) = TOKEN_FOREIGN;
  *at_server(fixture, 1, SERVER_A) = 9;
  names_renumber(fixture->world, &fixture->state, &renaming);
  assert_int_equal(*key_of(fixture, 0), 1);
  assert_int_equal(*key_of(fixture, 1), 2);
  assert_int_equal(*at_server(fixture, 0, SERVER_A), 2);
  assert_int_equal(*at_server(fixture, 0, SERVER_B), TOKEN_FOREIGN);
  assert_int_equal(*at_server(fixture, 1, SERVER_A), 3);
  assert_int_equal(renaming.token_count, 3);
  assert_int_equal(renaming.tokens[1], 7);
  assert_int_equal(renaming.tokens[2], 3);
  assert_int_equal(renaming.tokens[3], 9);
  close_fixture(fixture);
}

static void test_tickets_keep_their_order_and_small_distances(void **state) {
  (void)state;
  Fixture *fixture = open_fixture();
  Renaming renaming;
  *world_client_variable(fixture->world, &fixture->state, 0, VARIABLE_FENCE) = 40;
  *world_client_variable(fixture->world, &fixture->state, 1, VARIABLE_FENCE) = 12;
  *world_client_variable(fixture->world, &fixture->state, 2, VARIABLE_FENCE) = TICKET_BOTTOM;
  *at_server(fixture, 0, SERVER_TICKET) = 40;
  *at_server(fixture, 1, SERVER_TICKET) = 13;
  names_renumber(fixture->world, &fixture->state, &renaming);
  assert_int_equal(*world_client_variable(fixture->world, &fixture->state, 0, VARIABLE_FENCE), TICKET_BOTTOM + 7);
  assert_int_equal(*world_client_variable(fixture->world, &fixture->state, 1, VARIABLE_FENCE), TICKET_BOTTOM + 3);
  assert_int_equal(*world_client_variable(fixture->world, &fixture->state, 2, VARIABLE_FENCE), TICKET_BOTTOM);
  assert_int_equal(*at_server(fixture, 0, SERVER_TICKET), TICKET_BOTTOM + 7);
  assert_int_equal(*at_server(fixture, 1, SERVER_TICKET), TICKET_BOTTOM + 4);
  close_fixture(fixture);
}

static void test_the_smallest_ticket_keeps_its_name_when_nobody_has_it(void **state) {
  (void)state;
  Fixture *fixture = open_fixture();
  Renaming renaming;
  for (int32_t c = 0; c < 3; c++) {
    *world_client_variable(fixture->world, &fixture->state, c, VARIABLE_FENCE) = 5;
  }
  *at_server(fixture, 0, SERVER_TICKET) = *at_server(fixture, 1, SERVER_TICKET) = 5;
  names_renumber(fixture->world, &fixture->state, &renaming);
  assert_int_equal(*at_server(fixture, 0, SERVER_TICKET), TICKET_BOTTOM + TICKET_GAP_MAX);
  close_fixture(fixture);
}

static void test_room_is_made_between_two_tickets(void **state) {
  (void)state;
  Fixture *fixture = open_fixture();
  *at_server(fixture, 0, SERVER_TICKET) = 2;
  *at_server(fixture, 1, SERVER_TICKET) = 3;
  assert_int_equal(names_next_ticket(fixture->world, &fixture->state, 2), 3);
  assert_int_equal(names_next_ticket(fixture->world, &fixture->state, 3), 0);
  names_raise_tickets(fixture->world, &fixture->state, 3);
  assert_int_equal(*at_server(fixture, 0, SERVER_TICKET), 2);
  assert_int_equal(*at_server(fixture, 1, SERVER_TICKET), 4);
  close_fixture(fixture);
}

static void test_a_permutation_and_its_inverse_change_nothing(void **state) {
  (void)state;
  Fixture *fixture = open_fixture();
  static State there, back;
  Permutation forth = {.to_client = {1, 2, 0}, .to_server = {0, 1}},
              inverse = {.to_client = {2, 0, 1}, .to_server = {0, 1}};
  *key_of(fixture, 0) = 1;
  *key_of(fixture, 1) = 2;
  *at_server(fixture, 0, SERVER_A) = 2;
  names_permute(fixture->world, &there, &fixture->state, &forth);
  names_permute(fixture->world, &back, &there, &inverse);
  assert_int_equal(*world_client_variable(fixture->world, &there, 1, VARIABLE_KEY), 1);
  assert_int_equal(*world_client_variable(fixture->world, &there, 2, VARIABLE_KEY), 2);
  assert_memory_equal(back.cells, fixture->state.cells,
                      (size_t)state_cells(&fixture->world->layout, &back) * sizeof(Cell));
  close_fixture(fixture);
}

/* --- on the states of runs --------------------------------------------------------------------------------------- */

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint32_t random_below(uint32_t count) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (uint32_t)(seed >> 33) % count;
}

static int32_t any_choice(void *user, int32_t count, bool by_model) {
  (void)by_model;
  (void)user;
  return (int32_t)random_below((uint32_t)count);
}

/* Takes something that is due, as soon as it may or as late as it may. */
static bool take_any(Clocked *clocked) {
  Due queue[THINGS_MAX];
  int32_t count = clocked_queue(clocked, queue);
  if (count == 0) {
    return false;
  }
  int64_t limit_ns = queue[0].latest_ns;
  const Due *due = &queue[random_below((uint32_t)count)];
  due = due->earliest_ns > limit_ns ? &queue[0] : due;
  int64_t time_ns = random_below(2) || limit_ns == INT64_MAX ? due->earliest_ns : MIN(limit_ns, due->latest_ns);
  return clocked_take(clocked, MAX(time_ns, clocked_now_ns(clocked)), &due->action);
}

/* What two exchanged clients see is one class: the same representative, whichever order it was met in. */
static void assert_one_class(const World *world, Timed *timed, const State *state) {
  static uint8_t key[1 << 16], other_key[1 << 16];
  static State exchanged;
  int32_t source[STATE_AGES_MAX + 1];
  Permutation rotation = {.to_client = {1, 2, 0}, .to_server = {0, 1}};
  uint32_t bytes = timed_key(timed, state, true, key, source);
  names_permute(world, &exchanged, state, &rotation);
  names_sort_messages(world, &exchanged);
  uint32_t other_bytes = timed_key(timed, &exchanged, true, other_key, source);
  assert_int_equal(bytes, other_bytes);
  assert_memory_equal(key, other_key, bytes);
}

static void assert_renumbered(const World *world, const State *state) {
  static State again;
  Renaming renaming;
  state_copy(&world->layout, &again, state);
  names_renumber(world, &again, &renaming);
  assert_memory_equal(again.cells, state->cells, (size_t)state_cells(&world->layout, state) * sizeof(Cell));
}

static void test_the_representative_does_not_depend_on_who_is_who(void **state) {
  (void)state;
  int64_t too_large;
  Fixture *fixture = open_fixture();
  Timed *timed = timed_new(fixture->world, &too_large);
  timed_system(timed, true);
  int32_t looked_at = 0;
  for (int32_t run = 0; run < 200; run++) {
    Clocked *clocked = clocked_new(fixture->world, false);
    clocked_set_oracle(clocked, any_choice, NULL);
    for (int32_t step = 0; step < 60 && take_any(clocked); step++, looked_at++) {
      assert_renumbered(fixture->world, clocked_state(clocked));
      assert_one_class(fixture->world, timed, clocked_state(clocked));
    }
    clocked_free(clocked);
  }
  print_message("%d states\n", looked_at);
  assert_true(looked_at > 1000);
  timed_free(timed);
  close_fixture(fixture);
}

/* Arrays over clients at clients and servers, locks in them, servers asked all at once, tasks: no order of any shows.
 */
static const char arrays[] =
    "model m \"\"\nservice s { var owner[client] : token? = none lock  timer lease[client]\n"
    "on put(k) { owner[caller] = k  lease[caller] in 5s }\n on free(c) { owner[c] = none  lease[c] off }\n"
    "after lease[c] { owner[c] = none } }\nserver node[2] : s\n"
    "client[3] { var k : token? = none  var n : 0..2  var seen[client] : bool\n"
    "task worker { loop { k = fresh  n = ask all node.put(k) within 1s count ok  if n == 2 { critical { wait 1s..2s } }\n"
    "pick c in client  seen[c] = true  n = ask all node.free(c) within 1s count ok } }\n"
    "task other { loop { wait 1s..3s  if seen[me] { seen[me] = false } } } }\n"
    "scenario s { latency 0s..1s  1 lost to node  1 cut of client from node for 0s..3s  1 pause of client.worker for 0s..2s }\n";

static void assert_same_class(const World *world, Timed *timed, const State *state, const Permutation *permutation) {
  static uint8_t key[1 << 16], other_key[1 << 16];
  static State exchanged;
  int32_t source[STATE_AGES_MAX + 1];
  uint32_t bytes = timed_key(timed, state, true, key, source);
  names_permute(world, &exchanged, state, permutation);
  names_sort_messages(world, &exchanged);
  assert_int_equal(bytes, timed_key(timed, &exchanged, true, other_key, source));
  assert_memory_equal(key, other_key, bytes);
}

static void test_the_representative_does_not_depend_on_places_in_arrays(void **state) {
  (void)state;
  int64_t too_large;
  Shipped shipped = shipped_text(arrays, "s", NULL);
  World *world = world_new(shipped.program, property_monitors, PROPERTY_COUNT);
  assert_true(world->has_symmetric_servers);
  Timed *timed = timed_new(world, &too_large);
  timed_system(timed, true);
  int32_t looked_at = 0;
  for (int32_t run = 0; run < 60; run++) {
    Clocked *clocked = clocked_new(world, false);
    clocked_set_oracle(clocked, any_choice, NULL);
    for (int32_t step = 0; step < 60 && take_any(clocked); step++, looked_at++) {
      assert_same_class(world, timed, clocked_state(clocked),
                        &(Permutation){.to_client = {1, 2, 0}, .to_server = {0, 1}});
      assert_same_class(world, timed, clocked_state(clocked),
                        &(Permutation){.to_client = {0, 1, 2}, .to_server = {1, 0}});
    }
    clocked_free(clocked);
  }
  assert_true(looked_at > 500);
  timed_free(timed);
  world_free(world);
  shipped_close(&shipped);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tokens_are_numbered_in_the_order_of_the_vector),
      cmocka_unit_test(test_tickets_keep_their_order_and_small_distances),
      cmocka_unit_test(test_the_smallest_ticket_keeps_its_name_when_nobody_has_it),
      cmocka_unit_test(test_room_is_made_between_two_tickets),
      cmocka_unit_test(test_a_permutation_and_its_inverse_change_nothing),
      cmocka_unit_test(test_the_representative_does_not_depend_on_who_is_who),
      cmocka_unit_test(test_the_representative_does_not_depend_on_places_in_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
