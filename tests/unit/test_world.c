/* What the semantics promise, on models of a few lines: each is judged by the whole way, search, confirmation and all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/judge.h"

static void test_an_ask_without_a_time_out_waits_for_ever_for_a_lost_message(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n r = ask x.get() }\n"
        "scenario s \"\" { latency 0s..1s\n 1 lost to x }\n",
        NULL, "deadlock", "v");
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n r = ask x.get() within 5s }\n"
        "scenario s \"\" { latency 0s..1s\n 1 lost to x }\n",
        NULL, "deadlock", "p");
}

static void test_a_loop_of_asks_that_take_no_time_is_a_timelock(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n loop { r = ask x.get() } }\n"
        "scenario s \"\" { latency 0s..0s }\n",
        "timelock", "deadlock", "u");
  JUDGE(
      "model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n loop { r = ask x.get()\n wait 1s..1s } }\n"
      "scenario s \"\" { latency 0s..0s }\n",
      NULL, "deadlock", "p");
}

/* Two clients that keep apart by time alone: the second may begin whenever it likes, so they meet. */
static void test_an_instant_that_is_shared_counts_as_shared(void **state) {
  (void)state;
  JUDGE(
      "model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"
      "client[2] { var key : token\n key = fresh\n if ask node.set_nx(key, ttl) == ok { critical { wait 0s..10s } } }\n"
      "scenario s \"\" { latency 0s..0s }\n",
      NULL, "mutual_exclusion", "v");
  JUDGE(
      "model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"
      "client[2] { var key : token\n key = fresh\n if ask node.set_nx(key, ttl) == ok { critical { wait 0s..9999ms } } }\n"
      "scenario s \"\" { latency 0s..0s }\n",
      NULL, "mutual_exclusion", "p");
}

/* The clock of the one server jumps by 4 s: a key of 10 s lives for 6. */
static void test_a_clock_step_brings_an_expiry_forward_by_its_length(void **state) {
  (void)state;
#define STEPPED(work)                                                                                          \
  "model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"                                            \
  "client[2] { var key : token\n key = fresh\n if ask node.set_nx(key, ttl) == ok { critical { wait 0s.." work \
  " } } }\nscenario s \"\" { latency 0s..0s\n 1 step of node by 4s }\n"
  JUDGE(STEPPED("5999ms"), NULL, "mutual_exclusion", "p");
  JUDGE(STEPPED("6s"), NULL, "mutual_exclusion", "v");
}

/* `until` ends the wait at the very instant, and at once when it holds already. */
static void test_a_wait_ends_as_soon_as_its_until_holds(void **state) {
  (void)state;
#define UNTIL(bound)                                                                         \
  "model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"                          \
  "client[2] { var key : token\n var since : stamp\n since = now\n key = fresh\n"            \
  " if ask node.set_nx(key, ttl) == ok { critical { wait 0s..inf until age(since) >= " bound \
  " } } }\nscenario s \"\" { latency 0s..0s }\n"
  JUDGE(UNTIL("9s"), NULL, "mutual_exclusion", "p");
  JUDGE(UNTIL("10s"), NULL, "mutual_exclusion", "v");
}

/* `rounds n` ends each client after n entries. */
static void test_rounds_end_the_clients(void **state) {
  (void)state;
  JUDGE("model m \"\"\nclient[1] { loop { critical { wait 1s..1s }\n wait 1s..1s } }\n"
        "scenario s \"\" { latency 0s..0s\n rounds 2 }\n",
        NULL, "mutual_exclusion", "p", "deadlock", "p");
}

/* A reply that has left a server survives its crash; a request on its way does not, and nobody answers it. */
static void test_a_crash_takes_requests_on_their_way_with_it(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n r = ask x.get() }\n"
        "scenario s \"\" { latency 0s..1s\n 1 crash of x losing memory, back after 0s..1s }\n",
        NULL, "deadlock", "v");
}

/* Tokens that no client has any more are still told apart where somebody looks. */
static void test_a_never_tells_the_tokens_of_two_servers_apart(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse redis\nserver node[2] : redis\nclient[1] { var key : token\n key = fresh\n"
        " ask node[0].set_nx(key, 10s)\n key = fresh\n ask node[1].set_nx(key, 10s)\n wait 1s..1s }\n"
        "never \"same\" { node[0].owner != none and node[0].owner == node[1].owner }\n"
        "never \"both\" { node[0].owner != none and node[1].owner != none }\n"
        "scenario s \"\" { latency 0s..0s }\n",
        NULL, "same", "p", "both", "v");
}

/* Other tasks change meanwhile what a task has read. */
static void test_a_task_that_pauses_behind_a_look_acts_on_what_it_saw(void **state) {
  (void)state;
  JUDGE("model m \"stale read of a shared variable by a paused task\"\n"
        "service store { var bad : bool  var closed : bool\n"
        " on close() { closed = true }\n"
        " on write() { if closed { bad = true } } }\n"
        "server x : store\n"
        "client[1] {\n"
        "  var held : bool = true\n"
        "  task worker { wait 1s..1s  if held { tell x.write() } }\n"
        "  task watchdog { wait 2s..2s  held = false  ask x.close() }\n"
        "}\n"
        "never \"bad\" { x.bad }\n"
        "scenario s \"\" { latency 0s..0s  1 pause of client.worker for 0s..15s }\n",
        NULL, "bad", "v");
}

/* The condition has held for an instant. */
static void test_a_wait_that_was_over_stays_over_while_its_task_pauses(void **state) {
  (void)state;
  JUDGE("model m \"wait until held, then the task sleeps\"\n"
        "service store { var bad : bool  var closed : bool\n"
        " on close() { closed = true }\n"
        " on write() { if closed { bad = true } } }\n"
        "server x : store\n"
        "client[1] {\n"
        "  var held : bool\n"
        "  task worker { wait until held  tell x.write() }\n"
        "  task watchdog { wait 1s..1s  held = true  wait 1s..1s  held = false  ask x.close() }\n"
        "}\n"
        "never \"bad\" { x.bad }\n"
        "scenario s \"\" { latency 0s..0s  1 pause of client.worker for 0s..15s }\n",
        NULL, "bad", "v");
}

/* A reply that comes afterwards finds nobody. */
static void test_stop_gives_up_the_calls_of_other_tasks(void **state) {
  (void)state;
  JUDGE("model m \"stop while another task asks\"\n"
        "use cell\n"
        "server x : cell\n"
        "client[1] {\n"
        "  var r : reply\n"
        "  task a { r = ask x.get()  critical { wait 1s } }\n"
        "  task b { wait 100ms  stop }\n"
        "}\n"
        "never \"inside\" { any(c in client : c.inside) }\n"
        "scenario s \"\" { latency 1s..1s }\n",
        NULL, "inside", "p");
}

/* A handler that asks a ghost for it does something. */
static void test_a_ghost_keeps_a_token_known(void **state) {
  (void)state;
  JUDGE("model m \"a token in a ghost alone\"\n"
        "ghost var last : token?\n"
        "ghost var doubles : 0..3\n"
        "service s { \n"
        " on put(k) { last = k }\n"
        " on release(k) { if last == k { doubles += 1 } } }\n"
        "server x : s\n"
        "client[1] { var k : token\n"
        " k = fresh\n"
        " ask x.put(k)\n"
        " tell x.release(k)\n"
        " wait 5s..5s }\n"
        "never \"two\" { doubles >= 1 }\n"
        "scenario s \"\" { latency 0s..1s expect \"two\" broken }\n",
        NULL, "two", "v");
}

/* Servers that are exchanged, with a cut each. */
static void test_cuts_change_places_with_their_servers(void **state) {
  (void)state;
  JUDGE("model m \"cuts and symmetric servers\"\n"
        "service s { var n : bool  on put() { n = true } }\n"
        "server node[2] : s\n"
        "client[1] { var k : 0..2\n"
        " k = ask all node.put() within 1s count ok }\n"
        "never \"two\" { count(n in node : n.n) == 1 and client[0].k == 1 }\n"
        "scenario s \"\" { latency 0s..0s  2 cut of client from node for 0s..5s }\n",
        NULL, "two", "v", "deadlock", "p");
}

/* A variable as an argument, read on a clock that is wrong from the beginning. */
static void test_a_stamp_that_travels_meets_a_clock_that_is_off(void **state) {
  (void)state;
  JUDGE("model m \"a stamp variable as an argument\"\n"
        "service s { var seen : stamp on wall  var old : bool\n"
        " on put(t) { seen = t  if age(seen) >= 5s { old = true } } }\n"
        "server x : s\n"
        "client[1] { var t : stamp on wall\n"
        " t = now\n"
        " ask x.put(t) }\n"
        "never \"old\" { x.old }\n"
        "scenario s \"\" { latency 0s..1s  skew x by 10s }\n",
        NULL, "old", "v");
}

/* Never another number. */
static void test_a_number_without_room_is_a_finding(void **state) {
  (void)state;
  JUDGE("model m \"a number larger than a message's field\"\n"
        "service s { var big : bool\n"
        " on put(v) { if v > 200 { big = true } } }\n"
        "server x : s\n"
        "client[1] { var a : 0..9\n"
        " a = 9\n"
        " ask x.put(a * 50)\n"
        " wait 1s }\n"
        "never \"big\" { x.big }\n"
        "scenario s \"\" { latency 0s..1s }\n",
        "range", "big", "u");
}

/* They change places with clients and with servers. */
static void test_ghosts_of_lock_arrays_of_exchanged_servers(void **state) {
  (void)state;
  JUDGE("model m \"lock arrays over clients in symmetric servers\"\n"
        "service s { var owner[client] : token? = none lock\n"
        " on put(k) { owner[caller] = k }\n"
        " on free(c) { owner[c] = none } }\n"
        "server node[2] : s\n"
        "client[2] { var k : token  var n : 0..2\n"
        " k = fresh\n"
        " n = ask all node.put(k) within 1s count ok\n"
        " critical { wait 1s..2s }\n"
        " pick c in client\n"
        " n = ask all node.free(c) within 1s count ok }\n"
        "scenario s \"\" { latency 0s..0s  1 lost to node }\n",
        NULL, "owner_release", "v", "mutual_exclusion", "v");
}

/* Messages to one server have the order of the loop, which is that of the clients. */
static void test_a_loop_that_serves_one_client_before_the_other_tells_them_apart(void **state) {
  (void)state;
  JUDGE("model m \"messages to one server, in the order of the loop\"\n"
        "service log { var first : client? = none\n"
        " on put(c) { if first == none { first = c } }\n"
        " on mine(c) { reply first == c } }\n"
        "service s { var used : bool\n"
        " on go() { if used { reply late }  used = true\n"
        "  for c in client { tell book.put(c) }\n"
        "  reply ok } }\n"
        "server x : s\n"
        "server book : log\n"
        "client[2] { var r : reply  var mine : reply\n"
        " r = ask x.go()\n"
        " if r == ok { wait 5s  mine = ask book.mine(me) } }\n"
        "never \"mine\" { any(c in client : c.mine == true) }\n"
        "never \"not mine\" { any(c in client : c.mine == false) }\n"
        "scenario s \"\" { latency 0s..1s }\n",
        "symmetry", "mine", "v", "not mine", "v");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_ask_without_a_time_out_waits_for_ever_for_a_lost_message),
      cmocka_unit_test(test_a_loop_of_asks_that_take_no_time_is_a_timelock),
      cmocka_unit_test(test_an_instant_that_is_shared_counts_as_shared),
      cmocka_unit_test(test_a_clock_step_brings_an_expiry_forward_by_its_length),
      cmocka_unit_test(test_a_wait_ends_as_soon_as_its_until_holds),
      cmocka_unit_test(test_a_never_tells_the_tokens_of_two_servers_apart),
      cmocka_unit_test(test_rounds_end_the_clients),
      cmocka_unit_test(test_a_crash_takes_requests_on_their_way_with_it),
      cmocka_unit_test(test_a_task_that_pauses_behind_a_look_acts_on_what_it_saw),
      cmocka_unit_test(test_a_wait_that_was_over_stays_over_while_its_task_pauses),
      cmocka_unit_test(test_stop_gives_up_the_calls_of_other_tasks),
      cmocka_unit_test(test_a_ghost_keeps_a_token_known),
      cmocka_unit_test(test_cuts_change_places_with_their_servers),
      cmocka_unit_test(test_a_stamp_that_travels_meets_a_clock_that_is_off),
      cmocka_unit_test(test_a_number_without_room_is_a_finding),
      cmocka_unit_test(test_ghosts_of_lock_arrays_of_exchanged_servers),
      cmocka_unit_test(test_a_loop_that_serves_one_client_before_the_other_tells_them_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
