/* Messages and what befalls them: parallel calls, order, lateness, loss, second copies, cuts, losses of connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/judge.h"

/* --- ask all --------------------------------------------------------------------------------------------------------
 */

/* Three servers that answer after 2 s, 4 s and 6 s; the first one may say no. `k` is how many said ok. */
#define POLL(first, call)                                                                                       \
  "service voter { on vote() { if me == node[0] { reply " first " }  reply ok } }\n"                            \
  "server node[3] : voter\n"                                                                                    \
  "client timed[1] { " TIMED "var k : 0..3\n" START " k = ask all node.vote()" call "\n phase = 2  wait 1h }\n" \
  "never \"none\" { any(c in timed : c.phase == 2 and c.k == 0) }\n"                                            \
  "never \"one\" { any(c in timed : c.phase == 2 and c.k == 1) }\n"                                             \
  "never \"two\" { any(c in timed : c.phase == 2 and c.k == 2) }\n"                                             \
  "never \"three\" { any(c in timed : c.phase == 2 and c.k == 3) }\n"
#define TRIPS "latency 1s..1s to node[0]\n latency 2s..2s to node[1]\n latency 3s..3s to node[2]\n"

static void test_a_parallel_ask_goes_on_as_soon_as_its_quorum_is_reached(void **state) {
  (void)state;
  judge(POLL("ok", " count ok until 1") BETWEEN("2s", "2s"), TRIPS, BETWEEN_HOLDS " none=p one=v two=p three=p");
  judge(POLL("ok", " count ok until 2") BETWEEN("4s", "4s"), TRIPS, BETWEEN_HOLDS " none=p one=p two=v three=p");
  judge(POLL("ok", " count ok until 3") BETWEEN("6s", "6s"), TRIPS, BETWEEN_HOLDS " none=p one=p two=p three=v");
  judge(POLL("ok", " count ok") BETWEEN("6s", "6s"), TRIPS, BETWEEN_HOLDS " none=p one=p two=p three=v");
}

/* The first one's `no` counts as an answer and not as a vote. */
static void test_a_parallel_ask_counts_equal_replies(void **state) {
  (void)state;
  judge(POLL("no", " count ok until 2") BETWEEN("6s", "6s"), TRIPS, BETWEEN_HOLDS " one=p two=v three=p");
  judge(POLL("no", " count ok until 3") BETWEEN("6s", "6s"), TRIPS, BETWEEN_HOLDS " one=p two=v three=p");
  judge(POLL("no", " count ok until 1") BETWEEN("4s", "4s"), TRIPS, BETWEEN_HOLDS " none=p one=v two=p");
  judge(POLL("no", " count no until 1") BETWEEN("2s", "2s"), TRIPS, BETWEEN_HOLDS " none=p one=v two=p");
  judge(POLL("7", " count 7") BETWEEN("6s", "6s"), TRIPS, BETWEEN_HOLDS " none=p one=v two=p three=p");
}

/* At 4 s the time-out and the second answer may come in any order. */
static void test_a_parallel_ask_goes_on_at_its_time_out(void **state) {
  (void)state;
  judge(POLL("ok", " within 3999ms count ok until 2") BETWEEN("3999ms", "3999ms"), TRIPS,
        BETWEEN_HOLDS " none=p one=v two=p");
  judge(POLL("ok", " within 4s count ok until 2") BETWEEN("4s", "4s"), TRIPS, BETWEEN_HOLDS " none=p one=v two=v");
  judge(POLL("ok", " within 1999ms count ok") BETWEEN("1999ms", "1999ms"), TRIPS, BETWEEN_HOLDS " none=v one=p");
}

/* `refused` is an answer; silence is none. */
static void test_a_parallel_ask_among_servers_that_are_down(void **state) {
  (void)state;
  judge(POLL("ok", " within 9s count ok until 3") BETWEEN("6s", "6s"), TRIPS "down node[1]",
        BETWEEN_HOLDS " two=v three=p");
  judge(POLL("ok", " within 9s count ok until 3") BETWEEN("9s", "9s"), TRIPS "down node[1] silent",
        BETWEEN_HOLDS " two=v three=p");
  judge(POLL("ok", " count ok until 3"), TRIPS "down node[1] silent", "deadlock=v two=p");
}

/* An answer to the first call must not count for the second, to which everybody says no. The first requests do their
 * work nevertheless. */
static void test_a_late_answer_of_an_earlier_parallel_ask_is_dropped(void **state) {
  (void)state;
#define STALE_POLL(counted)                                                            \
  "service voter { var asked : bool  on a() { asked = true }  on b() { reply no } }\n" \
  "server node[2] : voter\n"                                                           \
  "client[1] { var k : 0..2  var j : 0..2  var asking : bool\n"                        \
  " k = ask all node.a() within 1s count ok until 2\n"                                 \
  " asking = true  j = ask all node.b() count " counted "\n wait 1h }\n"               \
  "never \"counted\" { any(c in client : c.j > 0) }\n"                                 \
  "never \"late\" { any(c in client : c.asking and c.k == 0) and all(n in node : n.asked) }\n"
  judge(STALE_POLL("ok"), "latency 0s..5s", "counted=p late=v");
  judge(STALE_POLL("no"), "latency 0s..5s", "counted=v");
}

/* The same of a single call. A second copy of the first answer is no answer to the second call either. */
#define TWICE                                                               \
  "service counter { var n : 0..3  on get() { n += 1  reply n } }\n"        \
  "server x : counter\n"                                                    \
  "client[1] { var a : reply  var b : reply  var done : bool\n"             \
  " a = ask x.get() within 1s\n b = ask x.get()\n done = true  wait 1h }\n" \
  "never \"same\" { any(c in client : c.done and c.a == c.b) }\n"           \
  "never \"two\" { any(c in client : c.done and c.b == 2) }\n"              \
  "never \"three\" { any(c in client : c.done and c.b == 3) }\n"            \
  "never \"timeout\" { any(c in client : c.done and c.a == timeout) }\n"

static void test_each_call_gets_its_own_answer(void **state) {
  (void)state;
  judge(TWICE, "latency 0s..5s", "same=p two=v three=p timeout=v");
  judge(TWICE, "latency 0ms..400ms\n 1 duplicated to x", "same=p two=v three=v timeout=p");
  judge(TWICE, "latency 0ms..499ms", "timeout=p");
  judge(TWICE, "latency 0ms..500ms", "timeout=v");
}

/* --- tell -----------------------------------------------------------------------------------------------------------
 */

#define TELL_ALL(latest)                                                                          \
  "service s { var n : 0..2  on put() { n += 1 } }\n"                                             \
  "server node[3] : s\n"                                                                          \
  "client[1] { var late : bool\n tell all node.put()\n wait " latest "  late = true  wait 1h }\n" \
  "never \"all\" { all(n in node : n.n == 1) }\n"                                                 \
  "never \"more\" { any(n in node : n.n > 1) }\n"                                                 \
  "never \"one missing\" { any(c in client : c.late) and count(n in node : n.n == 0) >= 1 }\n"    \
  "never \"two missing\" { any(c in client : c.late) and count(n in node : n.n == 0) >= 2 }\n"

static void test_tell_all_reaches_each_server_once(void **state) {
  (void)state;
  JUDGE("model m \"\"\n" TELL_ALL("1001ms") "scenario s \"\" { latency 0s..1s }\n", NULL, "all", "v", "more", "p",
        "one missing", "p", "two missing", "p");
  JUDGE("model m \"\"\n" TELL_ALL("1s") "scenario s \"\" { latency 0s..1s }\n", NULL, "one missing", "v");
  JUDGE("model m \"\"\n" TELL_ALL("1001ms") "scenario s \"\" { latency 0s..1s\n 1 lost to node }\n", NULL, "all", "v",
        "more", "p", "one missing", "v", "two missing", "p");
}

/* Two messages of one client; `overtaken`: the second one is there first. */
#define PAIR(first, second)                                                          \
  "service s { var a : 0..2  var b : 0..2  on a() { a += 1 }  on b() { b += 1 } }\n" \
  "server x : s\nserver y : s\n"                                                     \
  "client[1] { tell " first "\n tell " second "\n wait 1h }\n"                       \
  "never \"overtaken\" { (x.b > 0 or y.b > 0) and x.a == 0 }\n"                      \
  "never \"both\" { x.a > 0 and x.b + y.b > 0 }\n"                                   \
  "never \"twice\" { x.a == 2 or x.b == 2 }\n"

static void test_messages_of_one_connection_keep_their_order(void **state) {
  (void)state;
  judge(PAIR("x.a()", "x.b()"), "latency 0s..1s", "overtaken=p both=v twice=p");
  judge(PAIR("x.a()", "y.b()"), "latency 0s..1s", "overtaken=v both=v");
  judge(PAIR("x.a()", "x.b()"), "latency 0s..1s\n network unordered", "overtaken=v both=v twice=p");
}

static void test_what_is_late_or_lost_leaves_the_order(void **state) {
  (void)state;
  judge(PAIR("x.a()", "x.b()"), "latency 0s..1s\n 1 late to x", "overtaken=v both=v twice=p");
  judge(PAIR("x.a()", "x.b()"), "latency 0s..1s\n 1 lost to x", "overtaken=v both=v twice=p");
  judge(PAIR("x.a()", "x.b()"), "latency 0s..1s\n 1 lost to y\n 1 late to y\n 1 duplicated to y",
        "overtaken=p both=v twice=p");
}

static void test_a_second_copy_comes_besides_the_first(void **state) {
  (void)state;
  judge(PAIR("x.a()", "x.b()"), "latency 0s..1s\n 1 duplicated to x", "both=v twice=v");
  judge(PAIR("x.a()", "x.a()"), "latency 0s..1s", "twice=v");
}

/* Two messages, of which the budget strikes one or both. */
#define TWO_TELLS                                                                                \
  "service s { var n : 0..4  on put() { n += 1 } }\n"                                            \
  "server x : s\n"                                                                               \
  "client[1] { var late : bool\n tell x.put()  tell x.put()\n wait 2s  late = true  wait 1h }\n" \
  "never \"none\" { any(c in client : c.late) and x.n == 0 }\n"                                  \
  "never \"one\" { any(c in client : c.late) and x.n == 1 }\n"                                   \
  "never \"three\" { x.n == 3 }\nnever \"four\" { x.n == 4 }\n"

static void test_a_budget_of_messages_is_for_the_whole_run(void **state) {
  (void)state;
  judge(TWO_TELLS, "latency 0s..1s", "none=p one=p three=p");
  judge(TWO_TELLS, "latency 0s..1s\n 1 lost to x", "none=p one=v three=p");
  judge(TWO_TELLS, "latency 0s..1s\n 2 lost to x", "none=v one=v three=p");
  judge(TWO_TELLS, "latency 0s..1s\n inf lost to x", "none=v one=v three=p");
  judge(TWO_TELLS, "latency 0s..1s\n 1 duplicated to x", "none=p one=p three=v four=p");
  judge(TWO_TELLS, "latency 0s..1s\n 2 duplicated to x", "three=v four=v");
}

/* --- when messages arrive -------------------------------------------------------------------------------------------
 */

/* A message with the instant of its sending: `at` says between which of six bounds it has arrived first, `again` the
 * same of a second copy. */
#define POST(b1, b2, b3, b4, b5, b6)                                                                                \
  "service post { var at : 0..7  var again : 0..7  var here : 0..7\n"                                               \
  " on put(s) {\n"                                                                                                  \
  "  if age(s) < " b1 " { here = 1 } else if age(s) < " b2 " { here = 2 } else if age(s) < " b3                     \
  " { here = 3 }\n  else if age(s) < " b4 " { here = 4 } else if age(s) < " b5 " { here = 5 } else if age(s) < " b6 \
  " { here = 6 } else { here = 7 }\n"                                                                               \
  "  if at == 0 { at = here } else { again = here }  here = 0 } }\n"                                                \
  "server x : post\n"                                                                                               \
  "client[1] { var since : stamp\n since = now  tell x.put(since)\n wait 1h }\n"                                    \
  "never \"1\" { x.at == 1 or x.again == 1 }\nnever \"2\" { x.at == 2 or x.again == 2 }\n"                          \
  "never \"3\" { x.at == 3 or x.again == 3 }\nnever \"4\" { x.at == 4 or x.again == 4 }\n"                          \
  "never \"5\" { x.at == 5 or x.again == 5 }\nnever \"6\" { x.at == 6 or x.again == 6 }\n"                          \
  "never \"7\" { x.at == 7 or x.again == 7 }\nnever \"twice\" { x.again > 0 }\n"

/* 1 s to 2 s, both included. */
static void test_a_prompt_message_arrives_within_its_latency(void **state) {
  (void)state;
  judge(POST("1s", "1001ms", "2s", "2001ms", "1min", "2min"), "latency 1s..2s", "1=p 2=v 3=v 4=v 5=p 6=p 7=p");
}

/* By 3 s to 4 s: after 5 s to 6 s, both included. Or promptly, in 1 s to 2 s. */
static void test_a_late_message_arrives_so_much_after_its_latency(void **state) {
  (void)state;
  judge(POST("1s", "2001ms", "5s", "5001ms", "6s", "6001ms"), "latency 1s..2s\n 1 late to x by 3s..4s",
        "1=p 2=v 3=p 4=v 5=v 6=v 7=p twice=p");
}

/* Strictly after 2 s, and at any time then. */
static void test_a_late_message_without_bounds_comes_at_any_time(void **state) {
  (void)state;
  judge(POST("1s", "2s", "2001ms", "1min", "2min", "59min"), "latency 1s..2s\n 1 late to x",
        "1=p 2=v 3=v 4=v 5=v 6=v 7=v twice=p");
  judge(POST("1s", "1001ms", "1002ms", "1min", "2min", "59min"), "latency 1s..1s\n 1 late to x by 1ms..1s",
        "1=p 2=v 3=v 4=v 5=p 6=p");
}

/* The first message is late and comes behind the second one, which takes 1 s. So does a timer, and at the latest then
 * it has fired. */
static void test_a_late_message_arrives_strictly_after_its_latency(void **state) {
  (void)state;
#define STRICTLY                                                                                              \
  "service s { var b : bool  var behind : bool\n on a() { if b { behind = true } }\n on b() { b = true } }\n" \
  "service clock { var fired : bool  timer t\n on start() { t in 1s }\n after t { fired = true } }\n"         \
  "server x : s\nserver y : clock\n"                                                                          \
  "client[1] { tell y.start()  wait 0s  tell x.a()  tell x.b()\n wait 1h }\n"                                 \
  "never \"behind\" { x.behind }\nnever \"at_once\" { x.behind and not y.fired }\n"
  judge(STRICTLY, "latency 1s..1s to x\n 1 late to x by 0s..5s", "behind=v at_once=p");
  judge(STRICTLY, "latency 1s..1s to x\n network unordered", "behind=v at_once=v");
}

/* A copy by 3 s to 4 s comes after 1 s + 3 s to 2 s + 4 s. */
static void test_a_second_copy_arrives_within_its_own_bounds(void **state) {
  (void)state;
  judge(POST("1s", "2001ms", "4s", "4001ms", "6s", "6001ms"), "latency 1s..2s\n 1 duplicated to x by 3s..4s",
        "1=p 2=v 3=p 4=v 5=v 6=v 7=p twice=v");
  judge(POST("1s", "1001ms", "2s", "2001ms", "59min", "10h"), "latency 1s..2s\n 1 duplicated to x",
        "1=p 2=v 3=v 4=v 5=v 6=v twice=v");
}

static void test_a_latency_belongs_to_its_server(void **state) {
  (void)state;
  judge(POST("1s", "1001ms", "2s", "2001ms", "1min", "2min"), "latency 5s..6s\n latency 1s..2s to x",
        "1=p 2=v 3=v 4=v 5=p 6=p 7=p");
}

/* --- cuts -----------------------------------------------------------------------------------------------------------
 */

#define ASK                                                                   \
  "service s { var lost : bool  on get() { }  on lost(c) { lost = true } }\n" \
  "server x : s\nserver y : s\n"                                              \
  "client timed[1] { " TIMED START " ask x.get()\n phase = 2  wait 1h }\n"    \
  "never \"lost\" { x.lost }\nnever \"y lost\" { y.lost }\n"

/* A call takes 2 s to 4 s, and with a cut no less. A cut of up to 10 s that begins when the request is 2 s old ends
 * when it is 12 s old; it arrives within 2 s more, and so does its answer. The second cut strikes what the first one
 * has held up, right before it arrives. */
static void test_a_cut_holds_messages_up_and_loses_none(void **state) {
  (void)state;
  judge(ASK BETWEEN("2s", "4s"), "latency 1s..2s", BETWEEN_HOLDS " deadlock=p");
  judge(ASK BETWEEN("2s", "16s"), "latency 1s..2s\n 1 cut of timed from x for 0s..10s", BETWEEN_HOLDS " deadlock=p");
  judge(ASK BETWEEN("2s", "28s"), "latency 1s..2s\n 2 cut of timed from x for 0s..10s", BETWEEN_HOLDS " deadlock=p");
  judge(ASK BETWEEN("2s", "2s"), "latency 1s..1s\n 2 cut of timed from x for 0s..0s", "early=p earliest=v");
  judge(ASK BETWEEN("2s", "4s"), "latency 1s..2s\n 1 cut of timed from y for 0s..10s", BETWEEN_HOLDS " deadlock=p");
}

/* Both messages of a connection that was cut come, and in their order. */
static void test_a_cut_keeps_the_order(void **state) {
  (void)state;
  judge(PAIR("x.a()", "x.b()"), "latency 0s..1s\n 1 cut of client from x for 0s..10s", "overtaken=p both=v");
}

/* --- detect ---------------------------------------------------------------------------------------------------------
 */

/* Messages take 1 s. A, sent at 0 s, can be held up by a cut that ends by 1.3 s, and then arrives by 2.3 s. B, sent at
 * 0.9 s, is too young for that cut: it does not arrive before 1.9 s, and waits for A, but no longer. */
static void test_a_young_message_waits_behind_one_that_a_cut_has_held_up(void **state) {
  (void)state;
  judge("service s { var a : bool  var b : bool  var early : bool  var late : bool  var later : bool\n"
        "  on a(sent) { a = true  late = age(sent) >= 2300ms  later = age(sent) >= 2301ms }\n"
        "  on b(sent) { b = true  early = age(sent) < 1900ms } }\n"
        "server x : s\n"
        "client[1] { var since : stamp  since = now  tell x.a(since)  wait 900ms..900ms  tell x.b(since)  wait 1h }\n"
        "never \"early\" { x.early }\nnever \"overtaken\" { x.b and not x.a }\n"
        "never \"both_late\" { x.late and x.b and any(c in client : age(c.since) < 2301ms) }\n"
        "never \"later\" { x.later }\n"
        "never \"behind\" { x.late and not x.b and any(c in client : age(c.since) >= 2301ms) }\n",
        "latency 1s..1s\n 1 cut of client from x for 0s..300ms",
        "early=p overtaken=p both_late=v later=p behind=p deadlock=p");
}

/* A client that may crash in its life of 10 s, or be cut off then; another one has its eye on the clock. */
#define LIFE                                                                                                                    \
  "service s { var lost : bool  on hello() { }  on lost(c) { lost = true } }\n"                                                 \
  "server x : s\n"                                                                                                              \
  "client subject[1] { wait 10s  stop }\n"                                                                                      \
  "client clock[1] { var since : stamp  var runs : bool\n since = now  runs = true  wait 1h }\n"                                \
  "never \"lost\" { x.lost }\n"                                                                                                 \
  "never \"before 2s\" { x.lost and any(c in clock : c.runs and age(c.since) < 2s) }\n"                                         \
  "never \"at 2s\" { x.lost and any(c in clock : c.runs and age(c.since) < 2001ms) }\n"                                         \
  "never \"not at 13s\" { not x.lost and any(s in subject : not s.up) and any(c in clock : c.runs and age(c.since) >= 13s) }\n" \
  "never \"later\" { not x.lost and any(s in subject : not s.up) and any(c in clock : c.runs and age(c.since) >= 13001ms) }\n"

#define LIFE_JUDGED(scenario, ...)                                                                               \
  JUDGE("model m \"\"\n" LIFE "scenario s \"\" { client starts 0s..0s\n detect 2s..3s\n " scenario " }\n", NULL, \
        __VA_ARGS__)

/* A crash at 0 s to 10 s is noticed 2 s to 3 s later: at 2 s to 13 s. */
static void test_a_crash_is_noticed_within_the_window(void **state) {
  (void)state;
  LIFE_JUDGED("1 crash of subject", "lost", "v", "before 2s", "p", "at 2s", "v", "not at 13s", "v", "later", "p");
  LIFE_JUDGED("", "lost", "p");
}

static void test_a_silent_crash_is_not_noticed(void **state) {
  (void)state;
  LIFE_JUDGED("1 crash of subject silent", "lost", "p", "later", "v");
}

static void test_a_pause_is_no_loss(void **state) {
  (void)state;
  LIFE_JUDGED("1 pause of subject for 0s..inf", "lost", "p");
}

/* The loss is noticed 2 s after the beginning of the cut, if it still lasts. */
static void test_a_cut_is_noticed_while_it_lasts(void **state) {
  (void)state;
  LIFE_JUDGED("1 cut of subject from x for 0s..1999ms", "lost", "p");
  LIFE_JUDGED("1 cut of subject from x for 0s..2s", "lost", "v", "before 2s", "p", "at 2s", "v");
  LIFE_JUDGED("1 cut of subject from x for 0s..inf", "lost", "v", "before 2s", "p", "at 2s", "v");
}

/* Only the server at the other end of the cut. */
static void test_a_cut_is_noticed_by_the_server_that_is_cut_off(void **state) {
  (void)state;
  JUDGE("model m \"\"\n" ASK "scenario s \"\" { detect 2s..3s\n 1 cut of timed from x for 0s..10s }\n", NULL, "lost",
        "v", "y lost", "p");
}

/* A client that is back before the window has begun is noticed at once, and no second time later. */
static void test_a_client_that_comes_back_is_noticed_at_once(void **state) {
  (void)state;
#define COMES_BACK                                                                     \
  "service s { var losses : 0..3  var hellos : 0..2  var unnoticed : bool\n"           \
  " on hello() { hellos += 1  if hellos == 2 and losses == 0 { unnoticed = true } }\n" \
  " on lost(c) { losses += 1 } }\n"                                                    \
  "server x : s\n"                                                                     \
  "client[1] { tell x.hello()  wait 1h }\n"                                            \
  "never \"back\" { x.hellos == 2 }\nnever \"unnoticed\" { x.unnoticed }\nnever \"twice\" { x.losses == 2 }\n"
  judge(COMES_BACK, "detect 2s..3s\n 1 crash of client, back after 1s", "back=v unnoticed=p twice=p");
  judge(COMES_BACK, "detect 2s..3s\n 1 crash of client, back after 1s silent", "back=v unnoticed=v twice=p");
}

/* A client that crashes while the server is down, within its life of 10 s: whoever asks a minute later hears of it,
 * unless the server has forgotten that there was anybody. */
static void test_a_loss_while_the_server_is_down_is_noticed_when_it_is_back(void **state) {
  (void)state;
#define DOWN_MEANWHILE                                                                        \
  "service s { var lost : bool\n on get() { reply lost }\n on lost(c) { lost = true } }\n"    \
  "server x : s\n"                                                                            \
  "client subject[1] { wait 10s  stop }\n"                                                    \
  "client asker[1] { var r : reply\n wait 1min\n r = ask x.get() within 1s\n wait 1h }\n"     \
  "never \"unnoticed\" { any(c in asker : c.r == false) and any(c in subject : not c.up) }\n" \
  "never \"noticed\" { any(c in asker : c.r == true) }\n"                                     \
  "never \"false_alarm\" { any(c in asker : c.r == true) and all(c in subject : c.up) }\n"
#define CLIENT_CRASH "client starts 0s..0s\n detect 2s..3s\n 1 crash of subject\n "
  judge(DOWN_MEANWHILE, CLIENT_CRASH, "unnoticed=p noticed=v false_alarm=p");
  judge(DOWN_MEANWHILE, CLIENT_CRASH "1 crash of x losing nothing, back after 5s",
        "unnoticed=p noticed=v false_alarm=p");
  judge(DOWN_MEANWHILE, CLIENT_CRASH "1 crash of x losing memory, back after 5s",
        "unnoticed=v noticed=v false_alarm=p");
}

/* Who was away and comes back while the server sleeps locks anew. What the server had not noticed of it by then must
 * not free that lock later: it hears of it at its resume, before it handles anything. */
static void test_an_old_loss_does_not_strike_a_new_connection(void **state) {
  (void)state;
#define LOCK_OF_CONNECTION(mine)                                                                               \
  "service s { var holder : client?\n"                                                                         \
  " on take() when holder == none { holder = caller }\n on give() { if holder == caller { holder = none } }\n" \
  " on lost(c) { if " mine " { holder = none } } }\n"                                                          \
  "server x : s\nclient[2] { ask x.take()  critical { wait 1s..20s }  tell x.give()  wait 1h }\n"
#define AWAY "detect 5s..6s\n 1 crash of client, back after 1s\n "
  judge(LOCK_OF_CONNECTION("holder == c"), AWAY "1 pause of x for 0s..10s", "mutual_exclusion=p");
  judge(LOCK_OF_CONNECTION("holder == c"), AWAY "2 pause of x for 0s..10s", "mutual_exclusion=p");
  judge(LOCK_OF_CONNECTION("holder == c"), AWAY "1 cut of client from x for 0s..4999ms", "mutual_exclusion=p");
  judge(LOCK_OF_CONNECTION("holder == c"), AWAY "1 cut of client from x for 0s..5s", "mutual_exclusion=v");
  judge(LOCK_OF_CONNECTION("true"), AWAY "1 pause of x for 0s..10s", "mutual_exclusion=v");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_parallel_ask_goes_on_as_soon_as_its_quorum_is_reached),
      cmocka_unit_test(test_a_parallel_ask_counts_equal_replies),
      cmocka_unit_test(test_a_parallel_ask_goes_on_at_its_time_out),
      cmocka_unit_test(test_a_parallel_ask_among_servers_that_are_down),
      cmocka_unit_test(test_a_late_answer_of_an_earlier_parallel_ask_is_dropped),
      cmocka_unit_test(test_each_call_gets_its_own_answer),
      cmocka_unit_test(test_tell_all_reaches_each_server_once),
      cmocka_unit_test(test_messages_of_one_connection_keep_their_order),
      cmocka_unit_test(test_what_is_late_or_lost_leaves_the_order),
      cmocka_unit_test(test_a_second_copy_comes_besides_the_first),
      cmocka_unit_test(test_a_budget_of_messages_is_for_the_whole_run),
      cmocka_unit_test(test_a_prompt_message_arrives_within_its_latency),
      cmocka_unit_test(test_a_late_message_arrives_so_much_after_its_latency),
      cmocka_unit_test(test_a_late_message_without_bounds_comes_at_any_time),
      cmocka_unit_test(test_a_late_message_arrives_strictly_after_its_latency),
      cmocka_unit_test(test_a_second_copy_arrives_within_its_own_bounds),
      cmocka_unit_test(test_a_latency_belongs_to_its_server),
      cmocka_unit_test(test_a_cut_holds_messages_up_and_loses_none),
      cmocka_unit_test(test_a_cut_keeps_the_order),
      cmocka_unit_test(test_a_young_message_waits_behind_one_that_a_cut_has_held_up),
      cmocka_unit_test(test_a_crash_is_noticed_within_the_window),
      cmocka_unit_test(test_a_silent_crash_is_not_noticed),
      cmocka_unit_test(test_a_pause_is_no_loss),
      cmocka_unit_test(test_a_cut_is_noticed_while_it_lasts),
      cmocka_unit_test(test_a_cut_is_noticed_by_the_server_that_is_cut_off),
      cmocka_unit_test(test_a_client_that_comes_back_is_noticed_at_once),
      cmocka_unit_test(test_a_loss_while_the_server_is_down_is_noticed_when_it_is_back),
      cmocka_unit_test(test_an_old_loss_does_not_strike_a_new_connection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
