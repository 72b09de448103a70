/* What statements, expressions and properties mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/judge.h"

/* A client that calculates `n`, at most 9, and is done. `0` to `9`: it came out so. */
#define COMES_OUT(k) "never \"" #k "\" { any(c in client : c.done and c.n == " #k ") }\n"
#define CALCULATES(declarations, body)                                                                       \
  declarations "client[1] { var n : 0..9  var done : bool\n" body "\n done = true  wait 1h }\n" COMES_OUT(0) \
      COMES_OUT(1) COMES_OUT(2) COMES_OUT(3) COMES_OUT(4) COMES_OUT(5) COMES_OUT(6) COMES_OUT(7)
#define ONLY_0 "0=v 1=p 2=p 3=p 4=p 5=p 6=p 7=p"
#define ONLY_1 "0=p 1=v 2=p 3=p 4=p 5=p 6=p 7=p"
#define ONLY_2 "0=p 1=p 2=v 3=p 4=p 5=p 6=p 7=p"
#define ONLY_3 "0=p 1=p 2=p 3=v 4=p 5=p 6=p 7=p"
#define ONLY_4 "0=p 1=p 2=p 3=p 4=v 5=p 6=p 7=p"
#define ONLY_5 "0=p 1=p 2=p 3=p 4=p 5=v 6=p 7=p"
#define ONLY_6 "0=p 1=p 2=p 3=p 4=p 5=p 6=v 7=p"
#define ONLY_7 "0=p 1=p 2=p 3=p 4=p 5=p 6=p 7=v"
#define NEVER_DONE "0=p 1=p 2=p 3=p 4=p 5=p 6=p 7=p"

static void test_choose_takes_each_of_its_ways(void **state) {
  (void)state;
  judge(CALCULATES("", "choose { n = 1 } or { n = 3 } or { n = 5 }"), "", "0=p 1=v 2=p 3=v 4=p 5=v 6=p 7=p");
  judge(CALCULATES("", "choose { n += 1 } or { }  choose { n += 2 } or { }"), "", "0=v 1=v 2=v 3=v 4=p 5=p 6=p 7=p");
}

static void test_pick_takes_each_value(void **state) {
  (void)state;
  judge(CALCULATES("", "pick k in 2..4\n n = k"), "", "0=p 1=p 2=v 3=v 4=v 5=p 6=p 7=p");
  judge(CALCULATES("service s { on get() { if me == node[1] { reply 1 }  reply 2 } }\nserver node[3] : s\n",
                   "pick x in node\n if ask x.get() == 1 { n = 1 } else { n = 2 }"),
        "", "0=p 1=v 2=v 3=p 4=p 5=p 6=p 7=p");
  judge(
      "client[2] { var self : bool  var other : bool\n pick c in client\n if c == me { self = true } else { other = true }\n"
      " wait 1h }\n"
      "never \"self\" { any(c in client : c.self) }\nnever \"other\" { any(c in client : c.other) }\n"
      "never \"both\" { any(c in client : c.self and c.other) }\n",
      "", "self=v other=v both=p");
}

/* In a handler, too, the choice is that of the model and costs no fault. */
static void test_a_handler_may_choose(void **state) {
  (void)state;
  judge(CALCULATES("service s { on get() { choose { reply 1 } or { pick k in 3..4\n reply k } } }\nserver x : s\n",
                   "if ask x.get() == 1 { n = 1 } else { n = 3 }"),
        "", "0=p 1=v 2=p 3=v 4=p 5=p 6=p 7=p");
}

static void test_loops_count(void **state) {
  (void)state;
  judge(CALCULATES("", "repeat 3 { n += 1 }"), "", ONLY_3);
  judge(CALCULATES("", "for i in 1..3 { n += i }"), "", ONLY_6);
  judge(CALCULATES("", "for i in 0..2 { for j in 0..1 { n += 1 } }"), "", ONLY_6);
  judge(CALCULATES("", "while n < 5 { n += 2  yield }"), "", ONLY_6);
  judge(CALCULATES("", "loop { wait 1s  n += 1  if n == 4 { break } }"), "", ONLY_4);
}

static void test_break_leaves_the_innermost_loop_and_continue_its_round(void **state) {
  (void)state;
  judge(CALCULATES("", "for i in 1..4 { if i == 3 { break }  n += i }"), "", ONLY_3);
  judge(CALCULATES("", "for i in 1..3 { if i == 2 { continue }  n += i }"), "", ONLY_4);
  judge(CALCULATES("", "repeat 2 { repeat 3 { n += 1  if n % 2 == 0 { break } }  n += 1 }"), "", ONLY_5);
  judge(CALCULATES("", "repeat 3 { n += 1  if n > 2 { continue }  n += 1 }"), "", ONLY_4);
}

static void test_stop_ends_the_client(void **state) {
  (void)state;
  judge(CALCULATES("", "n = 3  wait 1s  stop"), "", NEVER_DONE " deadlock=p");
  judge(CALCULATES("", "n = 3  wait 1s  if n == 2 { stop }"), "", ONLY_3);
}

static void test_a_def_stands_for_its_statements(void **state) {
  (void)state;
  judge("client[1] { var n : 0..9  var done : bool\n"
        " def add(k, twice) { n += k  if twice { n += k } }\n"
        " add(1, false)  add(2, true)\n done = true  wait 1h }\n" COMES_OUT(5) COMES_OUT(3) COMES_OUT(1),
        "", "5=v 3=p 1=p");
}

static void test_a_script_is_one_more_atomic_handler(void **state) {
  (void)state;
#define SWAP(body)                                                                                       \
  "use cell\nscript cell.swap(c) { let old = value  value = c  reply old }\n"                            \
  "server x : cell\n"                                                                                    \
  "client[2] { var r : reply  var first : bool\n " body "\n if r == none { first = true }\n wait 1h }\n" \
  "never \"one\" { count(c in client : c.first) == 1 }\nnever \"two\" { count(c in client : c.first) == 2 }\n"
  judge(SWAP("r = ask x.swap(me)"), "latency 0s..1s", "one=v two=p");
  judge(SWAP("r = ask x.get()  ask x.set(me)"), "latency 0s..1s", "one=v two=v");
}

/* --- arrays and lists -----------------------------------------------------------------------------------------------
 */

static void test_elements_of_arrays_are_their_own(void **state) {
  (void)state;
  judge("client[1] { var a[3] : 0..9  var done : bool\n"
        " a[0] = 3  for i in 1..2 { a[i] = a[i - 1] + i }\n a[1] += 1  done = true  wait 1h }\n"
        "never \"356\" { any(c in client : c.done and c.a[0] == 3 and c.a[1] == 5 and c.a[2] == 6) }\n"
        "never \"other\" { any(c in client : c.done and (c.a[0] != 3 or c.a[1] != 5 or c.a[2] != 6)) }\n",
        "", "356=v other=p");
}

static void test_an_index_outside_its_array_is_a_finding(void **state) {
  (void)state;
#define INDEX(last)                                                                                                   \
  "model m \"\"\nclient[1] { var a[3] : bool  var i : 0..3\n pick k in 0.." last "\n i = k  a[i] = true  wait 1h }\n" \
  "never \"last\" { any(c in client : c.a[2]) }\nscenario s \"\" { }\n"
  JUDGE(INDEX("2"), NULL, "last", "v", "deadlock", "p");
  JUDGE(INDEX("3"), "range", "last", "v", "deadlock", "u");
}

static void test_an_array_over_clients_has_one_element_for_each(void **state) {
  (void)state;
  judge("service s { var seen[client] : 0..2  on hi() { seen[caller] += 1 } }\nserver x : s\n"
        "client[2] { tell x.hi()  wait 1h }\n"
        "never \"both\" { all(c in client : x.seen[c] == 1) }\nnever \"twice\" { any(c in client : x.seen[c] == 2) }\n",
        "latency 0s..1s", "both=v twice=p");
}

static void test_an_array_over_servers_has_one_element_for_each(void **state) {
  (void)state;
  judge(
      "service s { on hi() { if me == node[1] { reply no }  reply ok } }\nserver node[3] : s\n"
      "client[1] { var got[node] : bool  var done : bool\n"
      " for n in node { if ask n.hi() == ok { got[n] = true } }\n done = true  wait 1h }\n"
      "never \"two\" { any(c in client : c.done and c.got[node[0]] and not c.got[node[1]] and c.got[node[2]]) }\n"
      "never \"other\" { any(c in client : c.done and (not c.got[node[0]] or c.got[node[1]] or not c.got[node[2]])) }\n",
      "", "two=v other=p");
}

/* Each client's timer fires 3 s after it was set; setting it again puts it off, `off` takes it back. */
static void test_each_timer_of_an_array_fires_by_itself(void **state) {
  (void)state;
#define TIMERS(then)                                                                                         \
  "service s { var gone[client] : bool  var armed_ : bool  timer t[client]\n"                                \
  " on arm() { t[caller] in 3s }\n on disarm() { t[caller] off }\n"                                          \
  " on look() { armed_ = t[caller] armed }\n after t[c] { gone[c] = true } }\n"                              \
  "server x : s\n"                                                                                           \
  "client a[1] { var since : stamp  var set : bool\n since = now  tell x.arm()  set = true\n wait 2s\n" then \
  " wait 1h }\n"                                                                                             \
  "client b[1] { wait 1s  tell x.arm()  wait 1h }\n"                                                         \
  "never \"a\" { any(c in a : x.gone[c]) }\n"                                                                \
  "never \"b_alone\" { any(c in b : x.gone[c]) and not any(c in a : x.gone[c]) }\n"                          \
  "never \"early\" { any(c in a : x.gone[c] and age(c.since) < 3s) }\n"                                      \
  "never \"at_3s\" { any(c in a : x.gone[c] and age(c.since) < 3001ms) }\n"                                  \
  "never \"armed\" { x.armed_ }\n"
  judge(TIMERS(""), "client starts 0s..0s", "a=v b_alone=p early=p at_3s=v");
  judge(TIMERS("tell x.arm()\n"), "client starts 0s..0s", "a=v b_alone=v early=p at_3s=p");
  judge(TIMERS("tell x.disarm()\n"), "client starts 0s..0s", "a=p b_alone=v");
  judge(TIMERS("tell x.look()\n"), "client starts 0s..0s", "armed=v");
  judge(TIMERS("wait 1001ms  tell x.look()\n"), "client starts 0s..0s", "armed=p");
  judge(TIMERS("tell x.disarm()  tell x.look()\n"), "client starts 0s..0s", "armed=p");
}

/* node[0..1] for the one, node[1..2] for the other; node[3] for nobody. */
static void test_each_client_has_its_list_of_servers(void **state) {
  (void)state;
  judge("param lists = [node[0..1], node[1..2]]\n"
        "service s { var n : 0..4  on inc() { n += 1 } }\nserver node[4] : s\n"
        "client[2] { var k : 0..4\n k = ask all lists[me].inc() count ok\n wait 1h }\n"
        "never \"all\" { node[0].n == 1 and node[1].n == 2 and node[2].n == 1 }\n"
        "never \"more\" { node[0].n > 1 or node[1].n > 2 or node[2].n > 1 or node[3].n > 0 }\n"
        "never \"k\" { any(c in client : c.k > 2) }\n",
        "", "all=v more=p k=p");
}

static void test_a_slice_is_a_part_of_a_group(void **state) {
  (void)state;
  judge("service s { var n : 0..4  on inc() { n += 1 } }\nserver node[4] : s\n"
        "client[1] { for x in node[1..2] { ask x.inc() }\n tell all node[2..3].inc()\n wait 1h }\n"
        "never \"all\" { node[1].n == 1 and node[2].n == 2 and node[3].n == 1 }\n"
        "never \"more\" { node[0].n > 0 or node[1].n > 1 or node[2].n > 2 or node[3].n > 1 }\n",
        "", "all=v more=p");
}

/* --- quantifiers ----------------------------------------------------------------------------------------------------
 */

/* Of 3, 5 and 2. */
static void test_quantifiers_look_at_every_element(void **state) {
  (void)state;
#define THREE(is, is_not)                                                                                       \
  judge("client[1] { var a[3] : 0..9  var done : bool\n a[0] = 3  a[1] = 5  a[2] = 2  done = true  wait 1h }\n" \
        "never \"is\" { any(c in client : c.done and (" is ")) }\n"                                             \
        "never \"not\" { any(c in client : c.done and (" is_not ")) }\n",                                       \
        "", "is=v not=p")
  THREE("min(i in 0..2 : c.a[i]) == 2", "min(i in 0..2 : c.a[i]) != 2");
  THREE("min(i in 0..1 : c.a[i]) == 3", "min(i in 0..1 : c.a[i]) == 2");
  THREE("max(i in 0..2 : c.a[i]) == 5", "max(i in 0..2 : c.a[i]) != 5");
  THREE("count(i in 0..2 : c.a[i] > 2) == 2", "count(i in 0..2 : c.a[i] > 2) != 2");
  THREE("any(i in 0..2 : c.a[i] == 2)", "any(i in 0..2 : c.a[i] == 4)");
  THREE("all(i in 0..2 : c.a[i] >= 2)", "all(i in 0..2 : c.a[i] > 2)");
}

/* In a client, over its own array and over the clients. */
static void test_quantifiers_are_expressions(void **state) {
  (void)state;
  judge("client[1] { var a[3] : 0..9  var n : 0..9  var done : bool\n a[0] = 3  a[1] = 5  a[2] = 2\n"
        " n = max(v in a : v) - min(v in a : v) + count(v in a : v == 5)\n done = true  wait 1h }\n" COMES_OUT(4)
            COMES_OUT(3) COMES_OUT(0),
        "", "4=v 3=p 0=p");
}

/* Over the other servers of a group. */
static void test_peers_are_the_other_servers(void **state) {
  (void)state;
  judge("service s { var n : 0..4  on put() { n = count(p in peers : true)  tell all peers.copy() }\n"
        " on copy() { n = 4 } }\nserver node[3] : s\n"
        "client[1] { tell node[0].put()  wait 1h }\n"
        "never \"all\" { node[0].n == 2 and node[1].n == 4 and node[2].n == 4 }\nnever \"self\" { node[0].n == 4 }\n",
        "latency 0s..1s", "all=v self=p");
}

/* --- sections and properties ----------------------------------------------------------------------------------------
 */

#define INSIDE(head, section) head "client[3] { critical " section " { wait 1s }\n wait 1h }\n"

static void test_sections_of_different_resources_do_not_exclude_each_other(void **state) {
  (void)state;
  judge("client a[1] { critical of 0 { wait 1s } }\nclient b[1] { critical of 1 { wait 1s } }\n", "",
        "mutual_exclusion=p");
  judge("client a[1] { critical of 1 { wait 1s } }\nclient b[1] { critical of 1 { wait 1s } }\n", "",
        "mutual_exclusion=v");
  judge("client[2] { critical of me { wait 1s } }\n", "", "mutual_exclusion=p");
  judge("client[2] { var x[2] : 0..3\n x[0] = 2\n critical of x[0] { wait 1s } }\n", "", "mutual_exclusion=v");
  judge("client[2] { pick k in 0..1\n critical of k { wait 1s } }\n", "", "mutual_exclusion=v");
}

static void test_shared_sections_admit_each_other_and_nobody_else(void **state) {
  (void)state;
  judge(INSIDE("", "shared"), "", "mutual_exclusion=p");
  judge("client reader[2] { critical shared { wait 1s } }\nclient writer[1] { critical { wait 1s } }\n", "",
        "mutual_exclusion=v");
  judge("client reader[1] { critical shared { wait 1s } }\nclient writer[1] { critical { wait 1s } }\n", "",
        "mutual_exclusion=v");
}

static void test_a_section_with_permits_admits_so_many(void **state) {
  (void)state;
  judge(INSIDE("", "permit 3"), "", "mutual_exclusion=p");
  judge(INSIDE("", "permit 2"), "", "mutual_exclusion=v");
  judge(INSIDE("", "permit 2"), "clients 2", "mutual_exclusion=p");
}

/* Numbers are drawn in an order; who enters with a smaller one after a larger one breaks it. */
static void test_fencing_tokens_have_to_grow(void **state) {
  (void)state;
#define TOKENS(next, clients, body)                                               \
  "service s { var n : ticket  on draw() { " next "  reply n } }\nserver x : s\n" \
  "client[" clients "] { var t : reply\n " body " }\n"
#define ENTERS "t = ask x.draw()\n if t is ticket { critical fence t { wait 1s } }\n"
  judge(TOKENS("n = next n", "1", ENTERS ENTERS), "", "token_order=p");
  judge(TOKENS("", "1", ENTERS ENTERS), "", "token_order=v");
  judge(TOKENS("n = next n", "2", ENTERS), "latency 0s..1s", "token_order=v");
}

/* A register that takes every write, and one that remembers the largest token. The writes of a holding may be late. */
static void test_fencing_is_about_the_order_of_writes(void **state) {
  (void)state;
#define FENCED(check)                                                                              \
  "service lock { var busy : bool  var n : ticket\n"                                               \
  " on take() when not busy { busy = true  n = next n  reply n }\n on give() { busy = false } }\n" \
  "service store { var mark : ticket\n on write(t) { " check "  commit } }\n"                      \
  "server x : lock\nserver y : store\n"                                                            \
  "client[2] { var t : reply\n t = ask x.take()\n"                                                 \
  " if t is ticket { critical fence t { tell y.write(t) } }\n tell x.give()\n wait 1h }\n"
  judge(FENCED(""), "", "fencing=v mutual_exclusion=p token_order=p");
  judge(FENCED("if t < mark { reply stale }  mark = t"), "latency 0s..1s\n 1 late to y",
        "fencing=p mutual_exclusion=p token_order=p");
  judge(FENCED(""), "latency 0s..1s\n 1 late to y", "fencing=v");
}

/* What was read is still there when what was made of it is written. */
static void test_an_update_is_lost_when_another_one_came_between(void **state) {
  (void)state;
#define UPDATES(clients, between)       \
  "use register\nserver x : register\n" \
  "client[" clients "] { critical { ask x.read()\n " between "\n ask x.write() } }\n"
  judge(UPDATES("1", "wait 1s"), "", "lost_update=p");
  judge(UPDATES("2", "wait 1s"), "", "lost_update=v");
  judge("service s { on update() { observe  commit } }\nserver x : s\nclient[2] { critical { ask x.update() } }\n", "",
        "lost_update=p");
  judge(UPDATES("1", "ask x.write()  ask x.write()"), "", "lost_update=p"); /* its own commits are no others' */
}

/* What another attempt has set may not be freed or overwritten. */
static void test_a_lock_is_freed_by_who_has_set_it(void **state) {
  (void)state;
#define RELEASES(body)                                                              \
  "service s { var owner : client? = none lock\n"                                   \
  " on take() when owner == none { owner = caller }\n on give() { owner = none }\n" \
  " on safe() { if owner == caller { owner = none } } }\n"                          \
  "server x : s\nclient[2] { " body " }\n"
  judge(RELEASES("ask x.take()  critical { wait 1s }  ask x.give()"), "", "owner_release=p mutual_exclusion=p");
  judge(RELEASES("ask x.take() within 1s  wait 0s..5s  ask x.give()\n critical { wait 1s }"), "", "owner_release=v");
  judge(RELEASES("ask x.take() within 1s  wait 0s..5s  ask x.safe()\n critical { wait 1s }"), "", "owner_release=p");
}

/* --- ghosts and assertions ------------------------------------------------------------------------------------------
 */

static void test_an_assertion_holds_whenever_the_program_comes_by(void **state) {
  (void)state;
#define ASSERTS(bound) "client[1] { var n : 0..9\n repeat 3 { n += 1  wait 1s  assert n < " bound " \"small\" } }\n"
  judge(ASSERTS("4"), "", "small=p");
  judge(ASSERTS("3"), "", "small=v");
  judge("client[1] { var n : 0..9\n n = 5  if n == 4 { assert false \"small\" }\n wait 1h }\n", "", "small=p");
}

/* Two entries within 2 s; the ghost remembers when the last one was, whoever it was. */
static void test_ghosts_remember_for_properties(void **state) {
  (void)state;
#define GHOST(pause)                                                                       \
  "ghost var last : stamp\nghost var soon : 0..9\n"                                        \
  "service s { on run() { if age(last) < 2s { soon += 1 }  last = now } }\nserver x : s\n" \
  "client[1] { tell x.run()\n wait " pause "\n tell x.run()\n wait 1h }\n"                 \
  "never \"soon\" { soon > 0 }\nnever \"twice\" { soon > 1 }\n"
  judge(GHOST("2s"), "", "soon=p twice=p");
  judge(GHOST("1999ms"), "", "soon=v twice=p");
  judge(GHOST("2s"), "latency 0s..1ms", "soon=v twice=p");
}

/* In a deployed system nobody could read it: a ghost of each client. */
static void test_a_ghost_may_have_an_element_for_each_client(void **state) {
  (void)state;
  judge("ghost var runs[client] : 0..3\n"
        "client[2] { runs[me] += 1\n wait 1s\n runs[me] += 1\n wait 1h }\n"
        "never \"two\" { all(c in client : runs[c] == 2) }\nnever \"three\" { any(c in client : runs[c] == 3) }\n",
        "", "two=v three=p");
}

/* --- instants -------------------------------------------------------------------------------------------------------
 */

/* A wait may end anywhere in its window, both ends included, and nowhere else. */
static void test_a_wait_ends_within_its_window(void **state) {
  (void)state;
#define WAITS(window) "client timed[1] { " TIMED START " wait " window "\n phase = 2  wait 1h }\n"
  judge(WAITS("2s..3s") BETWEEN("2s", "3s"), "", BETWEEN_HOLDS);
  judge(WAITS("2s") BETWEEN("2s", "2s"), "", BETWEEN_HOLDS);
  judge(WAITS("2s..3s until age(since) >= 2500ms") BETWEEN("2s", "2500ms"), "", BETWEEN_HOLDS);
  judge(WAITS("2s..3s until age(since) >= 1s") BETWEEN("1s", "1s"), "", BETWEEN_HOLDS);
  judge(WAITS("2s..3s until age(since) >= 4s or age(since) >= 2100ms") BETWEEN("2s", "2100ms"), "", BETWEEN_HOLDS);
}

/* A stamp that was never taken is older than any bound. */
static void test_a_stamp_that_was_never_taken_is_old(void **state) {
  (void)state;
  judge("client[1] { var s : stamp  var t : stamp  var old : bool  var young : bool\n t = now\n"
        " if age(s) >= 1h { old = true }\n if age(t) >= 1ms { young = true }\n wait 1h }\n"
        "never \"old\" { any(c in client : c.old) }\nnever \"young\" { any(c in client : c.young) }\n",
        "", "old=v young=p");
}

/* A reply with two values, one of them a stamp's outcome. */
static void test_a_reply_may_have_several_values(void **state) {
  (void)state;
  judge("service s { on get() { reply ok, 4 } }\nserver x : s\n"
        "client[1] { var r : reply  var v : reply  var n : 0..9  var done : bool\n r, v = ask x.get()\n"
        " if r == ok and v is number and v == 4 { n = 4 } else { n = 1 }\n done = true  wait 1h }\n" COMES_OUT(4)
            COMES_OUT(1),
        "", "4=v 1=p");
}

static void test_a_fresh_token_is_new_each_time(void **state) {
  (void)state;
  judge("client[2] { var a : token  var b : token  var done : bool\n a = fresh  b = fresh\n done = true  wait 1h }\n"
        "never \"same\" { any(c in client : c.done and c.a == c.b) }\n"
        "never \"shared\" { any(c in client : any(d in client : c != d and c.done and d.done and c.a == d.a)) }\n"
        "never \"done\" { all(c in client : c.done) }\n",
        "", "same=p shared=p done=v");
}

/* --- tasks ----------------------------------------------------------------------------------------------------------
 */

/* Each has its own call: what the one has enough of, or gives up, is no matter of the other. */
static void test_calls_of_two_tasks_have_nothing_to_do_with_each_other(void **state) {
  (void)state;
#define TASKS(first)                                                                        \
  "service s { on a() { reply 1 }\n on b() { reply 2 } }\nserver node[2] : s\n"             \
  "client[1] { var k : 0..2  var j : 0..2  var r : reply  var one : bool  var two : bool\n" \
  " task one { " first "\n one = true  wait 1h }\n"                                         \
  " task two { j = ask all node.b() count 2\n two = true  wait 1h } }\n"                    \
  "never \"both\" { any(c in client : c.one and c.two and c.j == 2) }\n"                    \
  "never \"less\" { any(c in client : c.two and c.j < 2) }\n"                               \
  "never \"k\" { any(c in client : c.one and c.k != 1) }\n"                                 \
  "never \"wrong\" { any(c in client : c.r == 2) }\n"
  judge(TASKS("k = ask all node.a() count 1 until 1"), "latency 0s..1s", "both=v less=p k=p wrong=p deadlock=p");
  judge(TASKS("k = 1  r = ask node[0].a() within 500ms"), "latency 0s..1s", "both=v less=p k=p wrong=p deadlock=p");
}

/* When clients begin. */
static void test_clients_start_within_their_window(void **state) {
  (void)state;
#define STARTS(bound)                                                                        \
  "service s { var at : stamp  var n : 0..2  var far : bool\n"                               \
  " on hello() { if n == 1 and age(at) >= " bound " { far = true }\n at = now  n += 1 } }\n" \
  "server x : s\nclient[2] { tell x.hello()  wait 1h }\nnever \"far\" { x.far }\n"
  judge(STARTS("1s"), "client starts 2s..3s", "far=v");
  judge(STARTS("1001ms"), "client starts 2s..3s", "far=p");
  judge(STARTS("10min"), "", "far=v");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choose_takes_each_of_its_ways),
      cmocka_unit_test(test_pick_takes_each_value),
      cmocka_unit_test(test_a_handler_may_choose),
      cmocka_unit_test(test_loops_count),
      cmocka_unit_test(test_break_leaves_the_innermost_loop_and_continue_its_round),
      cmocka_unit_test(test_stop_ends_the_client),
      cmocka_unit_test(test_a_def_stands_for_its_statements),
      cmocka_unit_test(test_a_script_is_one_more_atomic_handler),
      cmocka_unit_test(test_elements_of_arrays_are_their_own),
      cmocka_unit_test(test_an_index_outside_its_array_is_a_finding),
      cmocka_unit_test(test_an_array_over_clients_has_one_element_for_each),
      cmocka_unit_test(test_an_array_over_servers_has_one_element_for_each),
      cmocka_unit_test(test_each_timer_of_an_array_fires_by_itself),
      cmocka_unit_test(test_each_client_has_its_list_of_servers),
      cmocka_unit_test(test_a_slice_is_a_part_of_a_group),
      cmocka_unit_test(test_quantifiers_look_at_every_element),
      cmocka_unit_test(test_quantifiers_are_expressions),
      cmocka_unit_test(test_peers_are_the_other_servers),
      cmocka_unit_test(test_sections_of_different_resources_do_not_exclude_each_other),
      cmocka_unit_test(test_shared_sections_admit_each_other_and_nobody_else),
      cmocka_unit_test(test_a_section_with_permits_admits_so_many),
      cmocka_unit_test(test_fencing_tokens_have_to_grow),
      cmocka_unit_test(test_fencing_is_about_the_order_of_writes),
      cmocka_unit_test(test_an_update_is_lost_when_another_one_came_between),
      cmocka_unit_test(test_a_lock_is_freed_by_who_has_set_it),
      cmocka_unit_test(test_an_assertion_holds_whenever_the_program_comes_by),
      cmocka_unit_test(test_ghosts_remember_for_properties),
      cmocka_unit_test(test_a_ghost_may_have_an_element_for_each_client),
      cmocka_unit_test(test_a_wait_ends_within_its_window),
      cmocka_unit_test(test_a_stamp_that_was_never_taken_is_old),
      cmocka_unit_test(test_a_reply_may_have_several_values),
      cmocka_unit_test(test_a_fresh_token_is_new_each_time),
      cmocka_unit_test(test_calls_of_two_tasks_have_nothing_to_do_with_each_other),
      cmocka_unit_test(test_clients_start_within_their_window),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
