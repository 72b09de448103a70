/* Crashes, pauses, suspends, triggers and clocks that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/judge.h"

/* --- crashes of a server --------------------------------------------------------------------------------------------
 */

/* Two writes with `gap` between them. `q` is what is read in the end of what two answers have promised. */
#define WRITES(gap)                                                                        \
  "service store { var n : 0..2  on inc() { n += 1  reply n }  on get() { reply n } }\n"   \
  "server x : store\n"                                                                     \
  "client[1] { var a : reply  var b : reply  var q : reply  var done : bool\n"             \
  " a = ask x.inc() within 1min\n wait " gap "\n b = ask x.inc() within 1min\n wait 20s\n" \
  " q = ask x.get() within 1min\n done = true  wait 1h }\n"                                \
  "never \"none\" { any(c in client : c.done and c.b == 2 and c.q == 0) }\n"               \
  "never \"half\" { any(c in client : c.done and c.b == 2 and c.q == 1) }\n"               \
  "never \"all\" { any(c in client : c.done and c.b == 2 and c.q == 2) }\n"

static void test_what_a_server_forgets_in_a_crash(void **state) {
  (void)state;
  judge(WRITES("1s"), "", "none=p half=p all=v");
  judge(WRITES("1s"), "1 crash of x losing nothing, back after 0s..1s", "none=p half=p all=v");
  judge(WRITES("1s"), "1 crash of x losing memory, back after 0s..1s", "none=v half=p all=v");
  judge(WRITES("1s"), "1 crash of x losing last 10s, back after 0s..1s", "none=v half=v all=v");
}

/* The first write is durable 5 s after it at the latest. If the second one comes then or before, both may be lost. */
static void test_a_durable_copy_is_not_older_than_it_may_be(void **state) {
  (void)state;
  judge(WRITES("5s"), "1 crash of x losing last 5s, back after 0s..1s", "none=v half=v");
  judge(WRITES("5001ms"), "1 crash of x losing last 5s, back after 0s..1s", "none=p half=v");
}

/* A key that expires 10 s after it was set. Its holder asks after `wait` whether it is still there, and if so it is
 * durable: then a crash does not end it earlier. */
#define DURABLE_KEY(wait, bound)                                                       \
  "use redis\n"                                                                        \
  "script redis.has(key) { reply owner == key }\n"                                     \
  "server node : redis\n"                                                              \
  "client holder[1] { var key : token  var since : stamp\n since = now  key = fresh\n" \
  " ask node.set_nx(key, 10s)\n wait " wait "\n"                                       \
  " if ask node.has(key) within 1s == true and age(since) < " bound " {\n"             \
  "  critical { wait until age(since) >= " bound " } } }\n"                            \
  "client intruder[1] { var key : token\n key = fresh\n"                               \
  " if ask node.set_nx(key, 10s) == ok { critical { wait 1s } } }\n"

static void test_what_is_durable_outlives_a_crash(void **state) {
  (void)state;
  judge(DURABLE_KEY("1001ms", "9999ms"), "1 crash of node losing last 1s, back after 0s..1s", "mutual_exclusion=p");
  judge(DURABLE_KEY("1s", "9999ms"), "1 crash of node losing last 1s, back after 0s..1s", "mutual_exclusion=v");
  judge(DURABLE_KEY("1001ms", "10s"), "1 crash of node losing last 1s, back after 0s..1s", "mutual_exclusion=v");
  judge(DURABLE_KEY("1001ms", "9999ms"), "1 crash of node losing memory, back after 0s..1s", "mutual_exclusion=v");
}

/* A timer goes on through a crash, unless it is forgotten. While the server is down it does not fire. */
#define GOES_ON                                                                                                      \
  "service store { var set : bool  timer t\n on put() { set = true  t in 10s }  after t { set = false } }\n"         \
  "server x : store\n"                                                                                               \
  "client[1] { var since : stamp  var done : bool\n if ask x.put() == ok { since = now  done = true }\n wait 1h }\n" \
  "never \"shorter\" { any(c in client : c.done and not x.set and age(c.since) < 10s) }\n"                           \
  "never \"full\" { any(c in client : c.done and x.set and age(c.since) >= 10s) }\n"                                 \
  "never \"longer\" { any(c in client : c.done and x.set and age(c.since) >= 10001ms) }\n"

static void test_timers_go_on_through_a_crash(void **state) {
  (void)state;
  judge(GOES_ON, "1 crash of x losing nothing, back after 0s", "shorter=p full=v longer=p");
  judge(GOES_ON, "1 crash of x losing nothing, back after 1s", "shorter=p full=v longer=v");
  judge(GOES_ON, "1 crash of x losing memory, back after 0s", "shorter=v full=v longer=p");
}

/* A timer that was due while the server was down fires before it handles anything: at 2001 ms or later nobody sees the
 * key that expires after 2 s. */
#define EXPIRED(wait)                                                                                   \
  "service store { var set : bool  var gone : bool  timer t\n"                                          \
  " on put() { set = true  t in 2s }  on get() { reply set }  after t { set = false  gone = true } }\n" \
  "server x : store\n"                                                                                  \
  "client[1] { var r : reply\n ask x.put()  wait " wait "\n r = ask x.get() within 1min\n wait 1h }\n"  \
  "never \"stale\" { any(c in client : c.r == true) }\n"                                                \
  "never \"pending\" { x.set and any(c in client : c.r == refused) }\n"

static void test_timers_that_were_due_meanwhile_fire_first(void **state) {
  (void)state;
  judge(EXPIRED("2001ms"), "1 crash of x losing nothing, back after 0s..10s", "stale=p pending=v");
  judge(EXPIRED("2001ms"), "1 pause of x for 0s..10s", "stale=p pending=p");
  judge(EXPIRED("2001ms"), "1 crash of x losing last 1s, back after 0s..10s",
        "stale=p pending=v"); /* put back, it has the age that it had */
  judge(EXPIRED("2s"), "", "stale=v pending=p");
  judge(EXPIRED("2001ms"), "", "stale=p pending=p");
}

/* Refused in one round trip, or told nothing. A request on its way at the crash gets no answer in any case. */
#define CALL                                                                                                \
  "service s { var handled : bool  on get() { handled = true } }\n"                                         \
  "server x : s\n"                                                                                          \
  "client timed[1] { " TIMED "var r : reply\n" START " r = ask x.get() within 10s\n phase = 2  wait 1h }\n" \
  "never \"ok\" { any(c in timed : c.phase == 2 and c.r == ok) }\n"                                         \
  "never \"refused\" { any(c in timed : c.phase == 2 and c.r == refused) }\n"                               \
  "never \"timeout\" { any(c in timed : c.phase == 2 and c.r == timeout) }\n"                               \
  "never \"vain\" { x.handled and any(c in timed : c.phase == 2 and c.r != ok) }\n"

static void test_a_server_that_is_down_refuses_or_is_silent(void **state) {
  (void)state;
  judge(CALL BETWEEN("2s", "4s"), "latency 1s..2s\n down x", BETWEEN_HOLDS " ok=p refused=v timeout=p");
  judge(CALL BETWEEN("10s", "10s"), "latency 1s..2s\n down x silent", BETWEEN_HOLDS " ok=p refused=p timeout=v");
  judge(CALL, "latency 1s..2s\n 1 crash of x losing nothing, back after 20s", "ok=v refused=v timeout=v vain=p");
  judge(CALL, "latency 1s..2s\n 1 crash of x losing nothing, back after 20s silent", "ok=v refused=p timeout=v vain=p");
}

/* What has been answered is answered: `vain` above. What was on its way at the crash is gone, though the server is back
 * at once; what was sent while it was down, and is still on its way when it is back, is handled. */
#define ON_ITS_WAY                                                                                                   \
  "service s { var n : bool  on put() { n = true } }\n"                                                              \
  "server x : s\n"                                                                                                   \
  "client[1] { var sent : bool  var late : bool\n tell x.put()\n sent = true  wait 2001ms  late = true  wait 1h }\n" \
  "never \"gone\" { any(c in client : c.late) and not x.n }\n"

static void test_requests_on_their_way_are_gone(void **state) {
  (void)state;
  judge(ON_ITS_WAY, "latency 2s..2s", "gone=p");
  judge(ON_ITS_WAY, "latency 2s..2s\n 1 crash of x losing nothing, back after 0s", "gone=v");
  judge(ON_ITS_WAY, "latency 2s..2s\n 1 pause of x for 0s..0s", "gone=p");
}

/* The crash comes before the first request is sent, which is refused 1 s later; the second one arrives after 3 s. */
static void test_requests_sent_to_a_server_that_is_down_find_it_back(void **state) {
  (void)state;
#define SENT_WHILE_DOWN                                                                 \
  "service s { var n : bool  on get() { n = true } }\n"                                 \
  "server x : s\n"                                                                      \
  "client[1] { var a : reply  var b : reply  var done : bool\n"                         \
  " a = ask x.get() within 10s\n b = ask x.get() within 10s\n done = true  wait 1h }\n" \
  "never \"back\" { any(c in client : c.done and c.a == refused and c.b == ok) }\n"     \
  "never \"down\" { any(c in client : c.done and c.a == refused and c.b == refused) }\n"
  judge(SENT_WHILE_DOWN, "latency 1s..1s\n 1 crash of x losing nothing, back after 2999ms", "back=v down=p");
  judge(SENT_WHILE_DOWN, "latency 1s..1s\n 1 crash of x losing nothing, back after 3s", "back=v down=v");
}

/* --- crashes of a client --------------------------------------------------------------------------------------------
 */

/* It says hello when it begins, and counts in a variable of its own. */
#define HELLO                                                                                                  \
  "service s { var hellos : 0..3  var first : client?  var stranger : bool  var soon : bool  var at : stamp\n" \
  " on hello() { hellos += 1\n"                                                                                \
  "  if first == none { first = caller } else if first != caller { stranger = true }\n"                        \
  "  if hellos == 2 and age(at) < 3s { soon = true }\n"                                                        \
  "  at = now } }\n"                                                                                           \
  "server x : s\n"                                                                                             \
  "client[1] { var n : 0..3\n n += 1  tell x.hello()\n wait 1min }\n"                                          \
  "never \"twice\" { x.hellos == 2 }\nnever \"thrice\" { x.hellos == 3 }\n"                                    \
  "never \"remembers\" { any(c in client : c.n > 1) }\n"                                                       \
  "never \"stranger\" { x.stranger }\nnever \"soon\" { x.soon }\n"

static void test_a_client_comes_back_under_its_name_and_remembers_nothing(void **state) {
  (void)state;
  judge(HELLO, "1 crash of client, back after 3s..4s", "twice=v thrice=p remembers=p stranger=p soon=p");
  judge(HELLO, "1 crash of client, back after 2999ms..4s", "twice=v soon=v");
  judge(HELLO, "2 crash of client, back after 3s..4s", "twice=v thrice=v remembers=p stranger=p");
  judge(HELLO, "1 crash of client", "twice=p");
}

/* Who has crashed is not inside; whoever is cut off and does not know it is. */
#define SESSION                                                                     \
  "service s { var holder : client?\n"                                              \
  " on take() when holder == none { holder = caller }\n"                            \
  " on give() { if holder == caller { holder = none } }\n"                          \
  " on lost(c) { if holder == c { holder = none } } }\n"                            \
  "server x : s\n"                                                                  \
  "client[2] { ask x.take()  critical { wait 1s..10s }  tell x.give()  wait 1h }\n" \
  "never \"left\" { any(c in client : c.inside and not c.up) }\n"

static void test_who_has_crashed_is_not_inside(void **state) {
  (void)state;
  judge(SESSION, "detect 1s..2s\n 1 crash of client", "mutual_exclusion=p deadlock=p");
  judge(SESSION, "1 crash of client silent", "mutual_exclusion=p deadlock=v");
  judge(SESSION, "detect 1s..2s\n 1 cut of client from x for 0s..10s", "mutual_exclusion=v");
}

/* --- triggers -------------------------------------------------------------------------------------------------------
 */

#define EVICTED(when)                                                                                        \
  "service s { var n : 0..9  var open : bool  on evict(k) " when "{ n += k }  on open() { open = true } }\n" \
  "server x : s\n"                                                                                           \
  "client[1] { wait 1s  tell x.open() }\n"                                                                   \
  "never \"three\" { x.n == 3 }\nnever \"six\" { x.n == 6 }\nnever \"shut\" { x.n > 0 and not x.open }\n"

static void test_a_trigger_runs_its_handler_at_any_time(void **state) {
  (void)state;
  judge(EVICTED(""), "1 trigger of x.evict(0)", "three=p");
  judge(EVICTED(""), "1 trigger of x.evict(3)", "three=v six=p shut=v");
  judge(EVICTED(""), "2 trigger of x.evict(3)", "three=v six=v");
}

/* It does not wait at a guard. */
static void test_a_trigger_whose_guard_does_not_hold_does_nothing(void **state) {
  (void)state;
  judge(EVICTED("when open "), "1 trigger of x.evict(3)", "three=v six=p shut=p");
  judge(EVICTED("when n > 0 "), "2 trigger of x.evict(3)", "three=p");
}

/* --- pauses ---------------------------------------------------------------------------------------------------------
 */

/* Two tasks, each of which waits for 5 s. `a_late` is said of the first one when it is not through after `bound`. */
#define TWO_TASKS(bound)                                                                        \
  "client[1] { var since : stamp  var begun : bool  var a : bool  var b : bool\n"               \
  " task worker { since = now  begun = true  wait 5s  a = true  wait 1h }\n"                    \
  " task watchdog { wait 5s  b = true  wait 1h } }\n"                                           \
  "never \"a_late\" { any(c in client : c.begun and not c.a and age(c.since) >= " bound ") }\n" \
  "never \"b_late\" { any(c in client : c.begun and not c.b and age(c.since) >= " bound ") }\n"

static void test_a_pause_of_one_task_leaves_the_others_alone(void **state) {
  (void)state;
  judge(TWO_TASKS("5001ms"), "", "a_late=p b_late=p");
  judge(TWO_TASKS("5s"), "", "a_late=v b_late=v");
  judge(TWO_TASKS("5001ms"), "1 pause of client.worker for 0s..10s", "a_late=v b_late=p");
  judge(TWO_TASKS("15s"), "1 pause of client.worker for 0s..10s", "a_late=v b_late=p");
  judge(TWO_TASKS("15001ms"), "1 pause of client.worker for 0s..10s", "a_late=p b_late=p");
  judge(TWO_TASKS("5001ms"), "1 pause of client.watchdog for 0s..10s", "a_late=p b_late=v");
  judge(TWO_TASKS("15s"), "1 pause of client.watchdog for 0s..10s", "a_late=p b_late=v");
  judge(TWO_TASKS("15001ms"), "1 pause of client.watchdog for 0s..10s", "a_late=p b_late=p");
}

static void test_a_pause_of_a_client_stops_all_its_tasks(void **state) {
  (void)state;
  judge(TWO_TASKS("15s"), "1 pause of client for 0s..10s", "a_late=v b_late=v");
  judge(TWO_TASKS("15001ms"), "1 pause of client for 0s..10s", "a_late=p b_late=p");
}

/* A task that sleeps hears its answer at its resume; the other one, whose call was sent at the same time, at once. */
static void test_a_task_that_pauses_hears_its_answer_later(void **state) {
  (void)state;
#define CALLS                                                                                                  \
  "service s { on get() { } }\nserver x : s\n"                                                                 \
  "client timed[1] { " TIMED "var other : bool\n task worker { " START " ask x.get()\n phase = 2  wait 1h }\n" \
  " task watchdog { ask x.get()\n other = true  wait 1h } }\n"                                                 \
  "never \"other_late\" { any(c in timed : c.phase == 1 and not c.other and age(c.since) >= 4001ms) }\n"
  judge(CALLS BETWEEN("2s", "10s"), "latency 1s..2s\n 1 pause of timed.worker for 0s..6s",
        BETWEEN_HOLDS " other_late=p");
  judge(CALLS BETWEEN("2s", "10s"), "latency 1s..2s\n 1 pause of timed for 0s..6s", BETWEEN_HOLDS " other_late=v");
}

/* As for a client: answer at 4 s, time-out at 10 s, asleep from 4 s to 10 s. The other task's sleep does not matter. */
static void test_an_answer_and_a_time_out_race_after_a_pause_of_their_task(void **state) {
  (void)state;
#define TASK_CALL                                                                                                   \
  "service s { on get() { } }\nserver x : s\n"                                                                      \
  "client[1] { var r : reply  task worker { r = ask x.get() within 10s\n wait 1h }\n task watchdog { wait 1h } }\n" \
  "never \"timeout\" { any(c in client : c.r == timeout) }\n"
  judge(TASK_CALL, "latency 2s..2s\n 1 pause of client.worker for 0s..5999ms", "timeout=p");
  judge(TASK_CALL, "latency 2s..2s\n 1 pause of client.worker for 0s..6s", "timeout=v");
  judge(TASK_CALL, "latency 2s..2s\n 1 pause of client.watchdog for 0s..1min", "timeout=p");
}

/* A wait of 5 s ends at 5 s, or at the end of a pause of 6 s, or later: not between. */
static void test_a_pause_is_not_shorter_than_it_may_be(void **state) {
  (void)state;
#define GAP                                                                                                    \
  "client[1] { var since : stamp  var gap : bool\n"                                                            \
  " task worker { since = now  wait 5s\n"                                                                      \
  "  if age(since) >= 5001ms { if age(since) < 6s { gap = true } }  wait 1h }\n task watchdog { wait 1h } }\n" \
  "never \"gap\" { any(c in client : c.gap) }\n"
  judge(GAP, "1 pause of client for 6s", "gap=p");
  judge(GAP, "1 pause of client.worker for 6s", "gap=p");
  judge(GAP, "1 pause of client for 5999ms..6s", "gap=v");
  judge(GAP, "1 pause of client.worker for 5999ms..6s", "gap=v");
}

/* A call takes 2 s to 4 s. What comes to somebody who sleeps is taken at the resume: the pause begins when the request,
 * or the answer, is about to arrive. */
static void test_a_pause_holds_up_what_arrives(void **state) {
  (void)state;
  judge(CALL BETWEEN("2s", "10s"), "latency 1s..2s\n 1 pause of x for 0s..6s", BETWEEN_HOLDS " ok=v refused=p");
  judge(CALL BETWEEN("2s", "10s"), "latency 1s..2s\n 1 pause of timed for 0s..6s", BETWEEN_HOLDS " ok=v refused=p");
}

/* The answer comes at 4 s, the time-out at 10 s: a sleep that begins at 4 s and ends at 10 s lets them race. */
static void test_an_answer_and_a_time_out_race_after_a_pause(void **state) {
  (void)state;
  judge(CALL, "latency 2s..2s\n 1 pause of timed for 0s..5999ms", "ok=v timeout=p");
  judge(CALL, "latency 2s..2s\n 1 pause of timed for 0s..6s", "ok=v timeout=v");
}

/* --- suspends and clocks --------------------------------------------------------------------------------------------
 */

/* A client that waits for 4 s by its monotonic clock and then looks at a stamp. */
#define LOOK(stamp, bound)                                                         \
  "client[1] { var since : " stamp "  var fresh_ : bool  var old : bool\n"         \
  " since = now  wait 4s\n"                                                        \
  " if age(since) < " bound " { fresh_ = true } else { old = true }\n wait 1h }\n" \
  "never \"fresh\" { any(c in client : c.fresh_) }\nnever \"old\" { any(c in client : c.old) }\n"

/* Asleep for 2 s or 3 s, whichever the clock: awake at 4 s, and 2 s older if it slept between the wait and the look. */
static void test_a_monotonic_clock_stands_still_in_a_suspend_and_not_in_a_pause(void **state) {
  (void)state;
  judge(LOOK("stamp", "4001ms"), "", "fresh=v old=p");
  judge(LOOK("stamp", "4s"), "", "fresh=p old=v");
  judge(LOOK("stamp", "6s"), "1 pause of client for 2s", "fresh=v old=v");
  judge(LOOK("stamp", "6001ms"), "1 pause of client for 2s", "fresh=v old=p");
  judge(LOOK("stamp", "4001ms"), "1 suspend of client for 2s", "fresh=v old=p");
  judge(LOOK("stamp on wall", "6s"), "1 suspend of client for 2s", "fresh=v old=v");
  judge(LOOK("stamp on wall", "6001ms"), "1 suspend of client for 2s", "fresh=v old=p");
  judge(LOOK("stamp", "4001ms"), "2 suspend of client for 2s", "fresh=v old=p");
  judge(LOOK("stamp on wall", "8s"), "2 suspend of client for 2s", "fresh=v old=v");
  judge(LOOK("stamp on wall", "8001ms"), "2 suspend of client for 2s", "fresh=v old=p");
}

/* A wait of 4 s that is suspended for 2 s lasts for 6 s by the wall clock; in a pause it goes on. */
static void test_a_wait_stands_still_in_a_suspend(void **state) {
  (void)state;
  judge(LOOK("stamp on wall", "4s"), "1 suspend of client for 2s", "fresh=p old=v");
#define SUSPENDED(wait)                                                                                               \
  "service clock { var fired : bool  timer t\n on start() { t in 6s }  on mute() when false { }\n"                    \
  " after t { fired = true } }\n"                                                                                     \
  "server x : clock\n"                                                                                                \
  "client[1] { var since : stamp  var done : bool\n since = now  tell x.start()  " wait "\n done = true  wait 1h }\n" \
  "never \"before\" { any(c in client : c.done) and not x.fired }\n"                                                  \
  "never \"after\" { any(c in client : not c.done) and x.fired }\n"
  static const char *const models[] = {SUSPENDED("wait 4s"), SUSPENDED("wait until age(since) >= 4s"),
                                       SUSPENDED("ask x.mute() within 4s")};
  for (size_t m = 0; m < 3; m++) {
    judge(models[m], "", "before=v after=p");
    judge(models[m], "1 suspend of client for 1999ms", "before=v after=p");
    judge(models[m], "1 suspend of client for 2s", "before=v after=v");
    judge(models[m], "2 suspend of client for 1s", "before=v after=v");
    judge(models[m], "2 suspend of client for 999ms", "before=v after=p");
    judge(models[m], "1 pause of client for 1s..5999ms", "before=v after=v");
    judge(models[m], "1 pause of client for 1s..1999ms", "before=v after=p");
  }
}

/* A server's time, stored by a client: from then on it is read on the clock there. */
static void test_a_stamp_from_a_server_is_read_on_the_clock_of_who_has_it(void **state) {
  (void)state;
#define TOLD(bound)                                                                                     \
  "service s { on time() { reply now } }\nserver x : s\n"                                               \
  "client[1] { var since : stamp  var fresh_ : bool  var old : bool\n since = ask x.time()\n wait 4s\n" \
  " if age(since) < " bound " { fresh_ = true } else { old = true }\n wait 1h }\n"                      \
  "never \"fresh\" { any(c in client : c.fresh_) }\nnever \"old\" { any(c in client : c.old) }\n"
  judge(TOLD("4s"), "", "fresh=p old=v");
  judge(TOLD("4001ms"), "", "fresh=v old=p");
  judge(TOLD("6s"), "1 pause of client for 2s", "fresh=v old=v");
  judge(TOLD("6001ms"), "1 pause of client for 2s", "fresh=v old=p");
}

static void test_a_step_of_a_client_moves_its_wall_clock_alone(void **state) {
  (void)state;
  judge(LOOK("stamp on wall", "6s"), "1 step of client by 2s", "fresh=v old=v");
  judge(LOOK("stamp on wall", "6001ms"), "1 step of client by 2s", "fresh=v old=p");
  judge(LOOK("stamp on wall", "8s"), "2 step of client by 2s", "fresh=v old=v");
  judge(LOOK("stamp on wall", "8001ms"), "2 step of client by 2s", "fresh=v old=p");
  judge(LOOK("stamp on wall", "2001ms"), "1 step of client by -2s", "fresh=v old=v");
  judge(LOOK("stamp on wall", "2s"), "1 step of client by -2s", "fresh=p old=v");
  judge(LOOK("stamp", "4001ms"), "inf step of client by 2s", "fresh=v old=p");
}

/* Until 4 s have passed by the wall clock. */
#define WAKE                                                    \
  "client timed[1] { " TIMED "var wall : stamp on wall\n" START \
  " wall = now\n wait until age(wall) >= 4s\n phase = 2\n"      \
  " wait 1h }\n"

static void test_a_step_brings_the_end_of_a_wait_forward_or_puts_it_off(void **state) {
  (void)state;
  judge(WAKE BETWEEN("4s", "4s"), "", BETWEEN_HOLDS);
  judge(WAKE BETWEEN("3s", "4s"), "1 step of timed by 1s", BETWEEN_HOLDS);
  judge(WAKE BETWEEN("4s", "5s"), "1 step of timed by -1s", BETWEEN_HOLDS);
  judge(WAKE BETWEEN("2s", "4s"), "2 step of timed by 1s", BETWEEN_HOLDS);
  judge(WAKE BETWEEN("3s", "5s"), "1 step of timed by 1s\n 1 step of timed by -1s", BETWEEN_HOLDS);
}

/* A gate that a timer of 5 s opens. */
#define TIMER(on_wall)                                                                               \
  "service gate { var busy : bool  timer t " on_wall "\n"                                            \
  " on work() { busy = true  t in 5s }\n on pass() when not busy { }\n after t { busy = false } }\n" \
  "server x : gate\n"                                                                                \
  "client timed[1] { " TIMED START " ask x.work()  ask x.pass()\n phase = 2  wait 20s }\n"

static void test_a_step_moves_timers_on_the_wall_clock_alone(void **state) {
  (void)state;
  judge(TIMER("on wall") BETWEEN("3s", "5s"), "1 step of x by 2s", BETWEEN_HOLDS);
  judge(TIMER("on wall") BETWEEN("5s", "7s"), "1 step of x by -2s", BETWEEN_HOLDS);
  judge(TIMER("on wall") BETWEEN("1s", "5s"), "2 step of x by 2s", BETWEEN_HOLDS);
  judge(TIMER("on wall") BETWEEN("5s", "5s"), "1 step of timed by 2s", BETWEEN_HOLDS);
  judge(TIMER("") BETWEEN("5s", "5s"), "1 step of x by 2s", BETWEEN_HOLDS);
}

/* A pause of 3 s that begins when the wait, or the timer, is about to end. */
static void test_a_step_during_a_pause(void **state) {
  (void)state;
  judge(WAKE BETWEEN("3s", "7s"), "1 step of timed by 1s\n 1 pause of timed for 0s..3s", BETWEEN_HOLDS);
  judge(WAKE BETWEEN("4s", "8s"), "1 step of timed by -1s\n 1 pause of timed for 0s..3s", BETWEEN_HOLDS);
  judge(TIMER("on wall") BETWEEN("3s", "8s"), "1 step of x by 2s\n 1 pause of x for 0s..3s", BETWEEN_HOLDS);
  judge(TIMER("on wall") BETWEEN("5s", "10s"), "1 step of x by -2s\n 1 pause of x for 0s..3s", BETWEEN_HOLDS);
}

/* A stamp that travels for up to 1 s is read on another clock. */
#define TRAVELS(stamp, bound)                                                           \
  "service s { var old : bool  on put(t) { if age(t) >= " bound " { old = true } } }\n" \
  "server x : s\n"                                                                      \
  "client[1] { var t : " stamp "\n t = now  tell x.put(t)\n wait 20s }\n"               \
  "never \"old\" { x.old }\n"

static void test_a_stamp_that_travels_is_read_on_the_clock_there(void **state) {
  (void)state;
  judge(TRAVELS("stamp", "1s"), "latency 0s..1s", "old=v");
  judge(TRAVELS("stamp", "1001ms"), "latency 0s..1s\n skew x by 2s\n 1 step of x by 2s", "old=p");
  judge(TRAVELS("stamp on wall", "3s"), "latency 0s..1s\n skew x by 2s", "old=v");
  judge(TRAVELS("stamp on wall", "3001ms"), "latency 0s..1s\n skew x by 2s", "old=p");
  judge(TRAVELS("stamp on wall", "1001ms"), "latency 0s..1s\n skew client by 2s", "old=p");
  judge(TRAVELS("stamp on wall", "3s"), "latency 0s..1s\n skew client by -2s", "old=v");
  judge(TRAVELS("stamp on wall", "3001ms"), "latency 0s..1s\n skew client by -2s", "old=p");
  judge(TRAVELS("stamp on wall", "3s"), "latency 0s..1s\n 1 step of x by 2s", "old=v");
  judge(TRAVELS("stamp on wall", "3001ms"), "latency 0s..1s\n 1 step of x by 2s", "old=p");
  judge(TRAVELS("stamp on wall", "5s"), "latency 0s..1s\n skew x by 2s\n 1 step of x by 2s", "old=v");
  judge(TRAVELS("stamp on wall", "5001ms"), "latency 0s..1s\n skew x by 2s\n 1 step of x by 2s", "old=p");
}

/* A key that lives for 10 s, and work of some length under it. */
#define DRIFTS(work)                            \
  "use redis\nserver node : redis\n"            \
  "client[2] { var key : token\n key = fresh\n" \
  " if ask node.set_nx(key, 10s) == ok { critical { wait " work " } } }\n"

/* At 10 %: 9 s of a slow clock last for 9 s / 0.9 = 10 s; 10 s of a fast one for 10 s / 1.1 = 9.0909 s; and with both
 * 8.1818 s of work are enough, since 8.1818 s / 0.9 = 9.0909 s. */
static void test_waits_and_timers_drift_with_their_process(void **state) {
  (void)state;
  judge(DRIFTS("9999ms"), "", "mutual_exclusion=p");
  judge(DRIFTS("8999ms"), "drift 10% of client", "mutual_exclusion=p");
  judge(DRIFTS("9s"), "drift 10% of client", "mutual_exclusion=v");
  judge(DRIFTS("9090ms"), "drift 10% of node", "mutual_exclusion=p");
  judge(DRIFTS("9091ms"), "drift 10% of node", "mutual_exclusion=v");
  judge(DRIFTS("8181ms"), "drift 10%", "mutual_exclusion=p");
  judge(DRIFTS("8182ms"), "drift 10%", "mutual_exclusion=v");
}

/* 5 s of a server are 4.5454 s to 5.5555 s. */
static void test_a_stamp_is_read_on_a_clock_that_drifts(void **state) {
  (void)state;
  judge(TIMER("") BETWEEN("4545ms", "5555ms"), "drift 10% of x", BETWEEN_HOLDS);
  judge(TRAVELS("stamp", "1100ms"), "latency 0s..1s\n drift 10% of x", "old=v");
  judge(TRAVELS("stamp", "1101ms"), "latency 0s..1s\n drift 10% of x", "old=p");
  judge(TRAVELS("stamp", "1001ms"), "latency 0s..1s\n drift 10% of client", "old=p");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_a_server_forgets_in_a_crash),
      cmocka_unit_test(test_a_durable_copy_is_not_older_than_it_may_be),
      cmocka_unit_test(test_what_is_durable_outlives_a_crash),
      cmocka_unit_test(test_timers_go_on_through_a_crash),
      cmocka_unit_test(test_timers_that_were_due_meanwhile_fire_first),
      cmocka_unit_test(test_a_server_that_is_down_refuses_or_is_silent),
      cmocka_unit_test(test_requests_on_their_way_are_gone),
      cmocka_unit_test(test_requests_sent_to_a_server_that_is_down_find_it_back),
      cmocka_unit_test(test_a_client_comes_back_under_its_name_and_remembers_nothing),
      cmocka_unit_test(test_who_has_crashed_is_not_inside),
      cmocka_unit_test(test_a_trigger_runs_its_handler_at_any_time),
      cmocka_unit_test(test_a_trigger_whose_guard_does_not_hold_does_nothing),
      cmocka_unit_test(test_a_pause_of_one_task_leaves_the_others_alone),
      cmocka_unit_test(test_a_pause_of_a_client_stops_all_its_tasks),
      cmocka_unit_test(test_a_task_that_pauses_hears_its_answer_later),
      cmocka_unit_test(test_an_answer_and_a_time_out_race_after_a_pause_of_their_task),
      cmocka_unit_test(test_a_pause_is_not_shorter_than_it_may_be),
      cmocka_unit_test(test_a_pause_holds_up_what_arrives),
      cmocka_unit_test(test_an_answer_and_a_time_out_race_after_a_pause),
      cmocka_unit_test(test_a_monotonic_clock_stands_still_in_a_suspend_and_not_in_a_pause),
      cmocka_unit_test(test_a_wait_stands_still_in_a_suspend),
      cmocka_unit_test(test_a_stamp_from_a_server_is_read_on_the_clock_of_who_has_it),
      cmocka_unit_test(test_a_step_of_a_client_moves_its_wall_clock_alone),
      cmocka_unit_test(test_a_step_brings_the_end_of_a_wait_forward_or_puts_it_off),
      cmocka_unit_test(test_a_step_moves_timers_on_the_wall_clock_alone),
      cmocka_unit_test(test_a_step_during_a_pause),
      cmocka_unit_test(test_a_stamp_that_travels_is_read_on_the_clock_there),
      cmocka_unit_test(test_waits_and_timers_drift_with_their_process),
      cmocka_unit_test(test_a_stamp_is_read_on_a_clock_that_drifts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
