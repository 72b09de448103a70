/* What a server makes wait, and whom it tells: guards, withdrawal, notices that wake a wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/judge.h"

/* A gate that somebody opens after 5 s; `served` counts who has passed. */
#define GATE(keep, patience)                                                             \
  "service gate { var open : bool  var served : 0..3\n"                                  \
  " on pass() when open " keep "{ served += 1 }\n"                                       \
  " on open() { open = true } }\n"                                                       \
  "server x : gate\n"                                                                    \
  "client timed[1] { " TIMED START " ask x.pass()" patience "\n phase = 2\n wait 1h }\n" \
  "client opener[1] { wait 5s  tell x.open() }\n"                                        \
  "never \"served\" { x.served > 0 }\n"

/* The gate opens when the opener's message arrives, after 6 s to 7 s; the answer takes 1 s to 2 s more. */
static void test_a_request_waits_until_its_guard_holds(void **state) {
  (void)state;
  judge(GATE("", "") BETWEEN("7s", "9s"), "client starts 0s..0s\n latency 1s..2s",
        BETWEEN_HOLDS " served=v deadlock=p");
}

static void test_a_request_whose_guard_never_holds_waits_for_ever(void **state) {
  (void)state;
  judge(GATE("", ""), "client starts 0s..0s\n latency 1s..2s\n 1 lost to x", "deadlock=v");
  judge(GATE("", " within 9s"), "client starts 0s..0s\n latency 1s..2s\n 1 lost to x", "deadlock=p");
}

/* The gate opens at 5 s: who gives up at that instant may still pass. */
static void test_a_request_is_withdrawn_when_its_call_has_timed_out(void **state) {
  (void)state;
  judge(GATE("", " within 4999ms"), "client starts 0s..0s", "served=p");
  judge(GATE("", " within 5s"), "client starts 0s..0s", "served=v");
  judge(GATE("keep ", " within 4999ms"), "client starts 0s..0s", "served=v");
}

/* The gate opens when the client says hello again, which it does only after a crash: twice is served who was not
 * withdrawn then. */
#define REBORN(keep)                                        \
  "service gate { var hellos : 0..2  var served : 0..3\n"   \
  " on hello() { hellos += 1 }\n"                           \
  " on pass() when hellos == 2 " keep "{ served += 1 } }\n" \
  "server x : gate\n"                                       \
  "client[1] { ask x.hello()  ask x.pass() }\n"             \
  "never \"once\" { x.served == 1 }\nnever \"twice\" { x.served == 2 }\n"

static void test_a_request_is_withdrawn_when_its_client_crashes(void **state) {
  (void)state;
  judge(REBORN(""), "1 crash of client, back after 1s", "once=v twice=p");
  judge(REBORN("keep "), "1 crash of client, back after 1s", "once=v twice=v");
  judge(REBORN("keep "), "1 pause of client for 0s..1s", "once=p twice=p");
}

/* The call ends before its request can arrive, which then finds the gate open, or nobody makes it wait. */
#define TOO_EARLY(keep, opens)                           \
  "service gate { var open : bool  var served : bool\n"  \
  " on pass() when open " keep "{ served = true }\n"     \
  " on open() { open = true } }\n"                       \
  "server x : gate\n"                                    \
  "client[1] { ask x.pass() within 1s  wait 1h }\n"      \
  "client opener[1] { wait " opens "  tell x.open() }\n" \
  "never \"served\" { x.served }\n"

static void test_a_request_whose_call_has_timed_out_on_its_way_does_not_wait(void **state) {
  (void)state;
  judge(TOO_EARLY("", "1ms"), "client starts 0s..0s\n latency 2s..2s", "served=p");
  judge(TOO_EARLY("", "0s"), "client starts 0s..0s\n latency 2s..2s", "served=v");
  judge(TOO_EARLY("keep ", "1ms"), "client starts 0s..0s\n latency 2s..2s", "served=v");
}

/* A desk that serves one at a time. `first` asks 1 s before `second`, and both while it is taken. */
#define QUEUE                                                                                         \
  "service desk { var holder : client?\n"                                                             \
  " on take() when holder == none { holder = caller }\n"                                              \
  " on give() { holder = none } }\n"                                                                  \
  "server x : desk\n"                                                                                 \
  "client early[1] { ask x.take()  wait 5s  tell x.give() }\n"                                        \
  "client first[1] { var got : bool\n wait 1s  ask x.take()  got = true  wait 1s  tell x.give() }\n"  \
  "client second[1] { var got : bool\n wait 2s  ask x.take()  got = true  wait 1s  tell x.give() }\n" \
  "never \"second\" { any(a in second : a.got) and not any(a in first : a.got) }\n"                   \
  "never \"both\" { any(a in second : a.got) and any(a in first : a.got) }\n"

/* Requests sent 1 s apart change places where one of them takes 1 s and the other none. The reply to the first one may
 * be on its way for 999 ms, and the second one is answered not before 1 s later. */
static void test_waiting_requests_are_served_in_the_order_of_arrival(void **state) {
  (void)state;
  judge(QUEUE, "client starts 0s..0s\n latency 0s..499ms", "second=p both=v deadlock=p");
  judge(QUEUE, "client starts 0s..0s\n latency 0s..1s", "second=v both=v deadlock=p");
}

/* What an open guard lets through closes it for the next. */
#define SECTION(condition)                              \
  "service desk { var holder : client?\n"               \
  " on take() when " condition " { holder = caller }\n" \
  " on give() { holder = none } }\n"                    \
  "server x : desk\n"                                   \
  "client[3] { ask x.take()  critical { wait 1s }  tell x.give() }\n"

static void test_one_request_at_a_time_is_let_through(void **state) {
  (void)state;
  judge(SECTION("holder == none"), "latency 0s..1s", "mutual_exclusion=p deadlock=p");
  judge(SECTION("holder == none or true"), "latency 0s..1s", "mutual_exclusion=v deadlock=p");
}

/* Of those whose guards come true together, the handler that stands first in the service: not the one that has waited
 * for longer. */
#define TWO_GUARDS(first, second)                                                   \
  "service desk { var free : bool  var got : client?\n"                             \
  " on " first "() when free { free = false  if got == none { got = caller } }\n"   \
  " on " second "() when free { free = false  if got == none { got = caller } }\n"  \
  " on open() { free = true } }\n"                                                  \
  "server x : desk\n"                                                               \
  "client a[1] { wait 1s  ask x.early() }\nclient b[1] { wait 2s  ask x.late() }\n" \
  "client opener[1] { wait 5s  tell x.open() }\n"                                   \
  "never \"early\" { any(c in a : x.got == c) }\nnever \"late\" { any(c in b : x.got == c) }\n"

static void test_guards_are_looked_at_in_the_order_of_handlers(void **state) {
  (void)state;
  judge(TWO_GUARDS("early", "late"), "client starts 0s..0s", "early=v late=p");
  judge(TWO_GUARDS("late", "early"), "client starts 0s..0s", "early=p late=v");
}

/* The loss opens the gate for an instant: `close` waits since the beginning, and is served right behind `pass`. */
#define LOST_AT_A_GUARD(opens)                                               \
  "service gate { var open : bool  var opened : bool  var served : bool\n"   \
  " on pass() when open { served = true }\n"                                 \
  " on close() when open { open = false }\n"                                 \
  " on open() { " opens " }\n"                                               \
  " on lost(c) { open = true  opened = true } }\n"                           \
  "server x : gate\n"                                                        \
  "client subject[1] { ask x.pass() }\nclient closer[1] { ask x.close() }\n" \
  "never \"opened\" { x.opened }\nnever \"served\" { x.served }\n"

static void test_a_request_is_withdrawn_when_the_loss_of_its_client_is_noticed(void **state) {
  (void)state;
  judge(LOST_AT_A_GUARD(""), "client starts 0s..0s\n detect 2s..3s\n 1 cut of subject from x for 0s..10s",
        "opened=v served=p");
  judge(LOST_AT_A_GUARD("open = true"),
        "client starts 0s..0s\n detect 2s..3s\n 1 cut of subject from x for 0s..10s\n 1 trigger of x.open()",
        "opened=v served=v");
}

/* A timer opens a gate as well as a request does. */
static void test_a_timer_serves_who_waits(void **state) {
  (void)state;
  judge("service gate { var busy : bool  timer t\n"
        " on work() { busy = true  t in 3s }\n"
        " on pass() when not busy { }\n"
        " after t { busy = false } }\n"
        "server x : gate\n"
        "client timed[1] { " TIMED START " ask x.work()  ask x.pass()  phase = 2  wait 1h }\n" BETWEEN("3s", "3s"),
        "client starts 0s..0s", BETWEEN_HOLDS);
}

/* --- notices --------------------------------------------------------------------------------------------------------
 */

/* The server tells its client after 5 s: the request and the notice take 1 s to 2 s each. */
#define BELL(wait)                                                                                           \
  "service bell { var who : client?  timer t\n"                                                              \
  " on start() { who = caller  t in 5s }\n"                                                                  \
  " after t { if who != none { tell who.ring() } } }\n"                                                      \
  "server x : bell\n"                                                                                        \
  "client timed[1] { " TIMED "var told : bool\n on ring() { told = true }\n" START " tell x.start()\n " wait \
  "\n phase = 2  wait 1h }\n"                                                                                \
  "never \"told\" { any(c in timed : c.told) }\n"

static void test_a_notice_wakes_a_wait(void **state) {
  (void)state;
  judge(BELL("wait until told") BETWEEN("7s", "9s"), "latency 1s..2s", BETWEEN_HOLDS " deadlock=p told=v");
  judge(BELL("wait until told"), "latency 1s..2s\n 1 lost to x", "deadlock=v");
}

static void test_a_wait_ends_with_its_window_or_with_the_notice(void **state) {
  (void)state;
  judge(BELL("wait 8s until told") BETWEEN("7s", "8s"), "latency 1s..2s", BETWEEN_HOLDS);
  judge(BELL("wait 6s until told") BETWEEN("6s", "6s"), "latency 1s..2s", BETWEEN_HOLDS);
  judge(BELL("wait 4s..20s until told") BETWEEN("4s", "9s"), "latency 1s..2s", BETWEEN_HOLDS);
}

/* A notice that comes during a pause of up to 10 s, which begins at 9 s at the latest, is heard at its end. */
static void test_a_paused_client_hears_at_its_resume(void **state) {
  (void)state;
  judge(BELL("wait until told") BETWEEN("7s", "19s"), "latency 1s..2s\n 1 pause of timed for 0s..10s",
        BETWEEN_HOLDS " deadlock=p");
}

/* It is told after 7 s at the earliest. */
static void test_who_has_ended_hears_nothing(void **state) {
  (void)state;
  judge(BELL("wait 6999ms  stop"), "latency 1s..2s", "told=p");
  judge(BELL("wait 7s  stop"), "latency 1s..2s", "told=v");
}

/* Who comes back after a crash is somebody who has not asked, though what is told to its name reaches it. */
static void test_a_client_that_is_back_hears_what_is_told_to_its_name(void **state) {
  (void)state;
#define REBORN_HEARS                                                                      \
  "service bell { var hellos : 0..2  timer t\n"                                           \
  " on start() { hellos += 1  if hellos == 1 { t in 5s } }\n"                             \
  " after t { tell all client.ring() } }\n"                                               \
  "server x : bell\n"                                                                     \
  "client[1] { var told : bool\n on ring() { told = true }\n tell x.start()  wait 1h }\n" \
  "never \"told\" { x.hellos == 2 and any(c in client : c.told) }\n"
  judge(REBORN_HEARS, "1 crash of client, back after 1s", "told=v");
  judge(REBORN_HEARS, "1 crash of client, back after 6s", "told=p");
}

/* Two notices at one instant are heard in the order in which they were told, over one connection. */
static void test_notices_keep_their_order(void **state) {
  (void)state;
#define TWO_NOTICES                                                                                                      \
  "service bell { on start() { tell caller.ring(1)  tell caller.ring(2) } }\n"                                           \
  "server x : bell\n"                                                                                                    \
  "client[1] { var first : 0..2\n on ring(n) { if first == 0 { first = n } }\n tell x.start()  wait until first > 0 }\n" \
  "never \"one\" { any(c in client : c.first == 1) }\nnever \"two\" { any(c in client : c.first == 2) }\n"
  judge(TWO_NOTICES, "latency 0s..1s", "one=v two=p");
  judge(TWO_NOTICES, "latency 0s..1s\n network unordered", "one=v two=v");
  judge(TWO_NOTICES, "latency 0s..1s\n 1 late to x", "one=v two=v");
}

/* All tasks of a client see what it was told. */
static void test_a_notice_wakes_every_task_that_waits_for_it(void **state) {
  (void)state;
  judge("service bell { on start() { tell caller.ring() } }\n"
        "server x : bell\n"
        "client[1] { var told : bool  var a : bool  var b : bool\n on ring() { told = true }\n"
        " task one { wait until told  a = true }\n"
        " task two { wait until told  b = true  wait 1s }\n"
        " task three { tell x.start() } }\n"
        "never \"both\" { any(c in client : c.a and c.b) }\n"
        "never \"untold\" { any(c in client : (c.a or c.b) and not c.told) }\n",
        "latency 0s..1s", "both=v untold=p deadlock=p");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_request_waits_until_its_guard_holds),
      cmocka_unit_test(test_a_request_whose_guard_never_holds_waits_for_ever),
      cmocka_unit_test(test_a_request_is_withdrawn_when_its_call_has_timed_out),
      cmocka_unit_test(test_a_request_is_withdrawn_when_its_client_crashes),
      cmocka_unit_test(test_a_request_whose_call_has_timed_out_on_its_way_does_not_wait),
      cmocka_unit_test(test_waiting_requests_are_served_in_the_order_of_arrival),
      cmocka_unit_test(test_one_request_at_a_time_is_let_through),
      cmocka_unit_test(test_guards_are_looked_at_in_the_order_of_handlers),
      cmocka_unit_test(test_a_request_is_withdrawn_when_the_loss_of_its_client_is_noticed),
      cmocka_unit_test(test_a_timer_serves_who_waits),
      cmocka_unit_test(test_a_notice_wakes_a_wait),
      cmocka_unit_test(test_a_wait_ends_with_its_window_or_with_the_notice),
      cmocka_unit_test(test_a_paused_client_hears_at_its_resume),
      cmocka_unit_test(test_who_has_ended_hears_nothing),
      cmocka_unit_test(test_a_client_that_is_back_hears_what_is_told_to_its_name),
      cmocka_unit_test(test_notices_keep_their_order),
      cmocka_unit_test(test_a_notice_wakes_every_task_that_waits_for_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
