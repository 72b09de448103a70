/* The compiler: what it makes of redlock and of small models, and a slow twin of its liveness analysis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "support/shipped.h"

/* Small models: a head, variables of the client, its body. */
#define HEAD \
  "model small \"\"\nuse redis\nuse register\nparam ttl = 10s\nserver node[3] : redis\nserver store : register\n"
#define CALM "scenario calm { latency 0ms..20ms }\n"

static Shipped small(const char *client, const char *rest) {
  g_autofree char *text = g_strconcat(HEAD, client, "\n", CALM, rest, NULL);
  return shipped_text(text, "calm", NULL);
}

static int32_t variable_index(const ClientKind *kind, const char *name) {
  for (int32_t i = 0; i < kind->variable_count; i++) {
    if (strcmp(kind->variables[i].name, name) == 0) {
      return i;
    }
  }
  fail_msg("no variable %s", name);
  abort(); /* not reached */
}

static uint64_t variable_bit(const ClientKind *kind, const char *name) {
  return UINT64_C(1) << variable_index(kind, name);
}

static const Handler *find_handler(const Program *program, int32_t service, const char *name) {
  for (int32_t i = 0; i < program->services[service].handler_count; i++) {
    if (strcmp(program->services[service].handlers[i].name, name) == 0) {
      return &program->services[service].handlers[i];
    }
  }
  fail_msg("no handler %s", name);
  return NULL;
}

/* The pc of instruction number `which` (from 0) of that kind. */
static int32_t find_op(const Program *program, Opcode op, int32_t which) {
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    if (program->code[pc].op == op && which-- == 0) {
      return pc;
    }
  }
  return NO_INDEX;
}

static int32_t count_ops(const Program *program, Opcode op) {
  int32_t count = 0;
  while (find_op(program, op, count) != NO_INDEX) {
    count++;
  }
  return count;
}

static void assert_window(Window window, int64_t lo_us, int64_t hi_us) {
  assert_int_equal(window.lo_us, lo_us);
  assert_int_equal(window.hi_us, hi_us);
}

/* Redlock */

static void test_redlock_has_its_processes_and_parameters(void **state) {
  (void)state;
  Shipped redlock = shipped_open("redlock", "calm", NULL);
  const Program *program = redlock.program;
  assert_int_equal(program->client_count, 2);
  assert_int_equal(program->server_count, 6);
  assert_true(program->clients_symmetric[0]);
  assert_int_equal(program->parameters[1].value, 3);
  assert_int_equal(program->parameters[4].value, 102000);
  g_autofree char *name = program_process_name(program, 4);
  assert_string_equal(name, "node[2]");
  g_autofree char *store = program_process_name(program, 7);
  assert_string_equal(store, "store");
  shipped_close(&redlock);
}

static void test_parameters_of_handlers_are_inferred_from_the_calls(void **state) {
  (void)state;
  Shipped redlock = shipped_open("redlock", "calm", NULL);
  const Handler *set_nx = find_handler(redlock.program, 0, "set_nx");
  assert_int_equal(set_nx->param_sorts[0], SORT_TOKEN);
  assert_int_equal(set_nx->param_sorts[1], SORT_DURATION);
  assert_int_equal(find_handler(redlock.program, 0, "del")->entry, NO_INDEX);
  shipped_close(&redlock);
}

static void test_only_what_is_read_again_is_live_at_an_ask(void **state) {
  (void)state;
  Shipped redlock = shipped_open("redlock", "calm", NULL);
  const ClientKind *kind = &redlock.program->kinds[0];
  uint64_t key = variable_bit(kind, "key"), votes = variable_bit(kind, "votes"), since = variable_bit(kind, "since");
  int32_t ask = find_op(redlock.program, OP_ASK, 0), write = find_op(redlock.program, OP_ASK, 2);
  assert_int_equal(kind->live_after[ask], key | votes | since | variable_bit(kind, ".n"));
  assert_int_equal(kind->live_after[write], key);
  assert_int_equal(kind->live_after[find_op(redlock.program, OP_WAIT, 1)], 0);
  shipped_close(&redlock);
}

static void test_an_until_is_live_while_the_wait_lasts(void **state) {
  (void)state;
  Shipped redlock = shipped_open("redlock", "calm", NULL);
  const ClientKind *kind = &redlock.program->kinds[0];
  int32_t wait = find_op(redlock.program, OP_WAIT, 0);
  const Wait *window = &redlock.program->waits[redlock.program->code[wait].index];
  assert_int_equal(window->hi_us, 5000000);
  assert_int_equal(window->age_count, 1);
  assert_int_equal(window->until_entry, NO_INDEX);
  assert_int_equal(redlock.program->durations_us[window->ages[0].duration], 9898000);
  assert_true(kind->live_before[wait] & variable_bit(kind, "since"));
  shipped_close(&redlock);
}

static void test_each_scenario_has_its_faults(void **state) {
  (void)state;
  static const struct {
    const char *scenario;
    FaultKind kind;
    uint32_t clients, servers;
    int64_t lo_us, hi_us, by_us;
  } expected[] = {
      {"pause", FAULT_PAUSE, 3, 0, 0, 15000000, 0},
      {"ntp_step", FAULT_STEP, 0, 31, 0, DURATION_INFINITE, 10000000},
      {"amnesia", FAULT_CRASH_SERVER, 0, 31, 0, 1000000, 0},
      {"patient_restart", FAULT_CRASH_SERVER, 0, 31, 10000000, 20000000, 0},
      {"late_answer", FAULT_LATE, 0, 31, 0, DURATION_INFINITE, 0},
      {"late_write", FAULT_LATE, 0, 32, 0, DURATION_INFINITE, 0},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
    Shipped redlock = shipped_open("redlock", expected[i].scenario, NULL);
    assert_int_equal(redlock.program->fault_count, 1);
    const Fault *fault = &redlock.program->faults[0];
    assert_int_equal(fault->kind, expected[i].kind);
    assert_int_equal(fault->count, 1);
    assert_int_equal(fault->clients, expected[i].clients);
    assert_int_equal(fault->servers, expected[i].servers);
    assert_window((Window){fault->lo_us, fault->hi_us}, expected[i].lo_us, expected[i].hi_us);
    assert_int_equal(fault->by_us, expected[i].by_us);
    assert_window(redlock.program->latency[5], 0, 20000);
    shipped_close(&redlock);
  }
}

static void test_a_setting_wins_over_the_declaration(void **state) {
  (void)state;
  static const char *const settings[] = {"servers", "3", "work", "inf", NULL};
  Shipped redlock = shipped_open("redlock", "calm", settings);
  assert_int_equal(redlock.program->server_count, 4);
  assert_int_equal(redlock.program->parameters[1].value, 2);
  assert_int_equal(redlock.program->waits[0].hi_us, DURATION_INFINITE);
  shipped_close(&redlock);
}

/* Small models */

static void test_leaving_a_section_by_any_door_leaves_it(void **state) {
  (void)state;
  Shipped model = small("client { loop { wait 1s\n critical { if any(i in 0..1 : i == 2) { stop } wait 1s\n"
                        " if ask store.read() == ok { break } if ask store.read() == ok { continue } } } }",
                        "");
  assert_int_equal(count_ops(model.program, OP_ENTER), 1);
  assert_int_equal(count_ops(model.program, OP_LEAVE), 3);
  shipped_close(&model);
}

static void test_an_attempt_begins_with_the_innermost_loop(void **state) {
  (void)state;
  Shipped model = small("client { loop { wait 1s\n repeat 3 { critical { wait 1s } } } }", "");
  int32_t attempt = find_op(model.program, OP_ATTEMPT, 0);
  assert_true(attempt > find_op(model.program, OP_WAIT, 0));
  assert_int_equal(count_ops(model.program, OP_ATTEMPT), 1);
  shipped_close(&model);
  model = small("client { wait 1s\n critical { wait 1s } }", "");
  assert_int_equal(find_op(model.program, OP_ATTEMPT, 0), model.program->kinds[0].entry);
  shipped_close(&model);
}

static void test_the_messages_of_tell_all_leave_together(void **state) {
  (void)state;
  Shipped model = small("client { var key : token\n key = fresh; tell all node.release(key) }", "");
  assert_int_equal(count_ops(model.program, OP_TELL), 3);
  assert_int_equal(count_ops(model.program, OP_PAUSE_POINT), 1);
  assert_true(model.program->servers_symmetric[0]);
  shipped_close(&model);
}

/* The instructions from the first one of kind `op` on must be these. */
static void assert_code(const Program *program, Opcode op, const Opcode *expected, size_t count) {
  int32_t pc = find_op(program, op, 0);
  assert_true(pc != NO_INDEX && pc + (int32_t)count <= program->code_count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(program->code[pc + (int32_t)i].op, expected[i]);
  }
}

#define ASSERT_CODE(program, ...)                                        \
  do {                                                                   \
    static const Opcode expected[] = {__VA_ARGS__};                      \
    assert_code(program, expected[0], expected, G_N_ELEMENTS(expected)); \
  } while (0)

static void test_the_index_of_an_element_lies_on_top(void **state) {
  (void)state;
  Shipped model =
      small("client[2] { var x[4] : 0..9 var s[node] : stamp var i : 0..3\n wait 1s\n x[i] += 1\n s[node[1]] = now\n"
            " if age(s[node[1]]) < 1s { wait 1s } }",
            "");
  const Variable *x = &model.program->kinds[0].variables[0], *s = &model.program->kinds[0].variables[1];
  assert_true(x->extent.is_array && x->extent.sort == SORT_INT && x->extent.count == 4);
  assert_true(s->extent.is_array && s->extent.sort == SORT_SERVER && s->extent.count == 3 && s->extent.first == 0);
  ASSERT_CODE(model.program, OP_LOAD, OP_LOAD, OP_PUSH, OP_ADD, OP_LOAD, OP_STORE, OP_PAUSE_POINT, OP_PUSH, OP_STAMP,
              OP_PAUSE_POINT, OP_PUSH, OP_AGE_BELOW);
  assert_true(model.program->code[find_op(model.program, OP_STORE, 0)].is_indexed);
  assert_false(model.program->code[find_op(model.program, OP_LOAD, 0)].is_indexed);
  assert_true(model.program->code[find_op(model.program, OP_LOAD, 1)].is_indexed);
  shipped_close(&model);
}

static void test_a_stored_element_does_not_end_the_life_of_the_array(void **state) {
  (void)state;
  Shipped model =
      small("client { var x[4] : 0..9 var y : 0..9\n wait 1s\n x[1] = 2\n y = 1\n wait 1s until x[2] == y }", "");
  const ClientKind *kind = &model.program->kinds[0];
  assert_int_equal(kind->live_before[find_op(model.program, OP_WAIT, 0)], variable_bit(kind, "x"));
  shipped_close(&model);
}

static void test_each_task_has_its_entry_and_hears_of_the_others(void **state) {
  (void)state;
  Shipped model =
      small("client { var a : bool var b : bool\n task work { wait 1s\n a = true\n wait 2s\n critical { wait 3s } }\n"
            " task watch { wait 4s until a\n b = true\n repeat 2 { wait 1s } stop } }",
            "");
  const ClientKind *kind = &model.program->kinds[0];
  assert_int_equal(kind->task_count, 2);
  assert_string_equal(kind->tasks[1].name, "watch");
  assert_true(kind->tasks[0].enters && kind->enters && !kind->tasks[1].enters);
  assert_int_equal(model.program->code[kind->tasks[1].entry - 1].op, OP_END);
  /* What `watch` reads is live wherever `work` rests; its own variables nowhere before. */
  int32_t wait = find_op(model.program, OP_WAIT, 0);
  assert_true(kind->live_before[wait] & variable_bit(kind, "a"));
  assert_false(kind->live_before[wait] & variable_bit(kind, "b"));
  shipped_close(&model);
}

#define SIGNALS                                                                                                    \
  "server desk[2] : desk\nservice desk { var who : client? var at : stamp\n"                                       \
  " on come(t) when who == none keep { who = caller; at = now; tell who.called(t, at); tell all peers.seen(t) }\n" \
  " on seen(t) { } on go() { who = none } on lost(c) { if who == c { who = none } } }\n"

static void test_notices_know_their_arguments_from_the_servers(void **state) {
  (void)state;
  Shipped model = small(
      "client[2] { var t : token var at : stamp var done : bool\n on called(x, y) { t = x; at = y; done = true }\n"
      " t = fresh\n wait 1s until done\n ask desk[0].come(t) }",
      SIGNALS);
  const Program *program = model.program;
  const ClientKind *kind = &program->kinds[0];
  assert_int_equal(program->notice_count, 1);
  assert_int_equal(program->notices[0].param_sorts[0], SORT_TOKEN);
  assert_int_equal(program->notices[0].param_sorts[1], SORT_STAMP);
  int32_t entry = kind->notice_entries[0];
  assert_true(entry > kind->entry && entry < kind->code_end);
  assert_int_equal(program->code[entry].op, OP_LOAD_ARG);
  assert_true(find_op(program, OP_NOTIFY, 0) > kind->code_end);
  /* A handler that only servers call gets its arguments' sorts from them. */
  const Handler *seen = find_handler(program, 0, "seen");
  assert_int_equal(seen->param_sorts[0], SORT_TOKEN);
  shipped_close(&model);
}

static void test_a_guard_is_a_block_before_its_handler(void **state) {
  (void)state;
  Shipped model = small("client[2] { var t : token var done : bool\n on called(x, y) { done = true }\n t = fresh\n"
                        " ask desk[0].come(t) }",
                        SIGNALS);
  const Handler *come = find_handler(model.program, 0, "come");
  assert_true(come->keeps && come->guard != NO_INDEX && come->guard < come->entry);
  assert_int_equal(model.program->code[come->entry - 1].op, OP_RETURN);
  assert_true(model.program->services[0].lost_entry > come->entry);
  shipped_close(&model);
}

static void test_a_parallel_ask_pushes_the_first_server_and_its_number(void **state) {
  (void)state;
  Shipped model = small("client[2] { var key : token var k : 0..3\n key = fresh\n wait 1s\n"
                        " k = ask all node.set_nx(key, ttl) within 50ms count ok until 2\n if k >= 2 { wait 1s } }",
                        "");
  const Program *program = model.program;
  ASSERT_CODE(program, OP_PAUSE_POINT, OP_PUSH, OP_LOAD, OP_PUSH, OP_ASK_ALL, OP_REPLY_VALUE, OP_STORE);
  const Parallel *parallel = &program->parallels[0];
  assert_int_equal(parallel->count, 3);
  assert_int_equal(parallel->until, 2);
  assert_int_equal(parallel->wanted_sort, SORT_WORD);
  assert_string_equal(program->words[parallel->wanted], "ok");
  assert_true(program->servers_symmetric[0]);
  shipped_close(&model);
}

static void test_what_tells_servers_apart_breaks_their_symmetry(void **state) {
  (void)state;
  static const struct {
    const char *body;
    bool is_symmetric;
  } cases[] = {
      {"var k : 0..3 k = ask all node.del() count ok", true},
      {"pick n in node ask n.del()", true},
      {"var s[node] : bool pick n in node s[n] = true", true},
      {"for n in node { ask n.del() }", false},
      {"var i : 0..2 ask node[i].del()", false},
      {"ask node[1].del()", false},
      {"var k : 0..3 k = ask all node[0..1].del() count ok", false},
      {"for n in lists[me] { ask n.del() }", false},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *client = g_strdup_printf("client[2] { %s }", cases[i].body);
    Shipped model = small(client, i == G_N_ELEMENTS(cases) - 1 ? "param lists = [node[0..1], node[1..2]]" : "");
    assert_int_equal(model.program->servers_symmetric[0], cases[i].is_symmetric);
    assert_int_equal(model.program->servers_asymmetry[0].end > 0, !cases[i].is_symmetric);
    assert_false(model.program->servers_symmetric[1]); /* there is only one */
    shipped_close(&model);
  }
}

static void test_a_list_is_a_table_of_first_servers(void **state) {
  (void)state;
  Shipped model = small("client[2] { var k : 0..2\n wait 1s\n k = ask all lists[me].del() within 1s count ok }",
                        "param lists = [node[0..1], node[1..2]]");
  ASSERT_CODE(model.program, OP_ME, OP_ORDINAL, OP_TABLE, OP_ASK_ALL);
  assert_int_equal(model.program->table_count, 1);
  assert_int_equal(model.program->tables[0].values[1], 1);
  assert_int_equal(model.program->parallels[0].count, 2);
  assert_false(model.program->clients_symmetric[0]);
  shipped_close(&model);
}

static void test_a_section_says_what_it_holds_and_for_how_many(void **state) {
  (void)state;
  Shipped model = small("client { var t : ticket var i : 0..3\n wait 1s\n critical of i permit 3 fence t { wait 1s }\n"
                        " critical of i shared { wait 1s } }",
                        "");
  const Critical *first = &model.program->criticals[0], *second = &model.program->criticals[1];
  assert_true(first->has_resource && first->has_fence && !first->is_shared && first->permits == 3);
  assert_true(second->has_resource && !second->has_fence && second->is_shared && second->permits == 1);
  int32_t enter = find_op(model.program, OP_ENTER, 0);
  assert_int_equal(model.program->code[enter - 2].index, variable_index(&model.program->kinds[0], "i"));
  assert_int_equal(model.program->code[enter - 1].index, variable_index(&model.program->kinds[0], "t"));
  shipped_close(&model);
}

static void test_choices_and_picks(void **state) {
  (void)state;
  Shipped model =
      small("client[2] { var x : 0..9\n wait 1s\n choose { x = 1 } or { x = 2 } or { x = 3 }\n pick y in 4..6\n"
            " pick n in node\n ask n.put(x + y)\n }",
            "script redis.put(v) { choose { reply v } or { reply nil } }");
  const Program *program = model.program;
  assert_int_equal(count_ops(program, OP_CHOOSE), 4);
  assert_int_equal(program->code[find_op(program, OP_CHOOSE, 0)].index, 3);
  int32_t pick = find_op(program, OP_CHOOSE, 1);
  assert_int_equal(program->code[pick - 1].operand, 4);
  assert_int_equal(program->code[pick].index, 3);
  assert_int_equal(program->code[pick + 1].op, OP_ADD);
  assert_int_equal(program->code[find_op(program, OP_CHOOSE, 2) - 1].index, SORT_SERVER);
  shipped_close(&model);
}

static void test_ghosts_belong_to_a_process_of_their_own(void **state) {
  (void)state;
  Shipped model = small("ghost var g : 0..9 ghost var last[client] : stamp\n"
                        "client[2] { wait 1s\n last[me] = now\n if g < 3 { g += 1 }\n assert g < 9 \"few\" }",
                        "never \"many\" { g > 8 or any(c in client : age(last[c]) < 1s) }");
  const Program *program = model.program;
  assert_int_equal(program->ghost_count, 2);
  ASSERT_CODE(program, OP_NOW, OP_ME, OP_STORE_GHOST, OP_LOAD_OF, OP_PUSH, OP_LT, OP_JUMP_UNLESS, OP_LOAD_OF, OP_PUSH,
              OP_ADD, OP_STORE_GHOST, OP_LOAD_OF, OP_PUSH, OP_LT, OP_ASSERT);
  assert_int_equal(program->code[find_op(program, OP_LOAD_OF, 0)].operand,
                   program->client_count + program->server_count);
  assert_int_equal(program->code[find_op(program, OP_AGE_BELOW_OF, 0)].count,
                   program->client_count + program->server_count);
  assert_string_equal(program->assertions[0].text, "few");
  assert_true(program->clients_symmetric[0]);
  shipped_close(&model);
}

static void test_a_loop_in_a_handler_is_copied(void **state) {
  (void)state;
  Shipped model = small(
      "client { ask node[0].clear() }",
      "script redis.clear() { for i in 0..2 { if i == 1 { continue } fence = next fence } repeat 2 { owner = fresh } }");
  assert_int_equal(count_ops(model.program, OP_NEXT), 2);
  assert_int_equal(count_ops(model.program, OP_FRESH), 2);
  shipped_close(&model);
}

static void test_a_round_may_wait_in_a_parallel_ask(void **state) {
  (void)state;
  Shipped model = small("client { var k : 0..3\n loop { k = ask all node.del() count ok } }", "");
  assert_int_equal(count_ops(model.program, OP_ASK_ALL), 1);
  shipped_close(&model);
}

static void test_calls_that_differ_make_a_parameter_dynamic(void **state) {
  (void)state;
  Shipped model =
      small("client { var t : ticket\n var r : reply\n ask box.put(t)\n r = ask box.put(none)\n ask box.one(t) }",
            "server box : any_box service any_box { var v : reply on put(x) { v = x } on one(y) { reply y, y } }");
  const Service *box = &model.program->services[0];
  assert_int_equal(box->handlers[0].param_sorts[0], SORT_REPLY);
  assert_int_equal(box->handlers[1].param_sorts[0], SORT_TICKET);
  assert_int_equal(box->handlers[1].reply_count, 2);
  shipped_close(&model);
}

static void test_an_until_without_ages_is_a_block_of_its_own(void **state) {
  (void)state;
  Shipped model = small("client { var a : bool\n var b : 0..3\n var s : stamp\n s = now\n"
                        " a = ask store.read() == ok\n wait 0s..9s until a and b > 1 or age(s) >= 3s\n stop }",
                        "");
  const Wait *wait = &model.program->waits[0];
  const ClientKind *kind = &model.program->kinds[0];
  assert_int_equal(wait->age_count, 1);
  assert_true(wait->until_entry > find_op(model.program, OP_STOP, 0));
  assert_true(wait->until_entry < kind->code_end);
  uint64_t reads = variable_bit(kind, "a") | variable_bit(kind, "b") | variable_bit(kind, "s");
  int32_t pc = find_op(model.program, OP_WAIT, 0);
  assert_int_equal(kind->live_before[pc], reads);
  assert_int_equal(kind->live_after[pc], reads);
  shipped_close(&model);
}

/* A proof that exchanges clients would leave out what only the second one meets. */
static void test_a_loop_over_clients_whose_order_matters_breaks_the_symmetry(void **state) {
  (void)state;
  static const struct {
    const char *loop;
    bool is_symmetric;
  } cases[] = {
      {"for c in client { has[c] = false }", true},
      {"for c in client { if has[c] { has[c] = false  tell c.gone() } }", true},
      {"for c in client { if not any(d in client : has[d]) { has[c] = true } }", false},
      {"for c in client { has[c] = has[caller] }", false},
      {"for c in client { tell x.put(c) }", false},
      {"for c in client { number[c] = next last }", false},
      {"for c in client { if has[c] { reply ok } }", false},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(
        "model m \"\"\nservice log { on put(c) { } }\n"
        "service s { var has[client] : bool  var number[client] : ticket  var last : ticket\n on go() { %s } }\n"
        "server y : s\nserver x : log\nclient[2] { on gone() { }\n loop { ask y.go()  ask x.put(me)  wait 1s } }\n"
        "scenario s { latency 0s..1s }\n",
        cases[i].loop);
    Shipped model = shipped_text(text, "s", NULL);
    assert_int_equal(model.program->clients_symmetric[0], cases[i].is_symmetric);
    shipped_close(&model);
  }
}

static void test_a_client_that_is_named_breaks_the_symmetry(void **state) {
  (void)state;
  Shipped model = small("client[2] { wait 1s\n if me == 0 { wait 1s } }", "");
  assert_false(model.program->clients_symmetric[0]);
  shipped_close(&model);
  model = small("client[2] { var c : client?\n c = me\n if c == me { wait 1s } }",
                "never \"both\" { all(c in client : c.inside) }");
  assert_true(model.program->clients_symmetric[0]);
  shipped_close(&model);
}

static void test_what_a_never_reads_is_always_live(void **state) {
  (void)state;
  Shipped model =
      small("client[2] { var a : bool\n var b : bool\n wait 1s }", "never \"a\" { any(c in client : c.a) }");
  const ClientKind *kind = &model.program->kinds[0];
  assert_int_equal(kind->live_before[find_op(model.program, OP_WAIT, 0)], variable_bit(kind, "a"));
  shipped_close(&model);
}

static void test_clients_of_a_scenario_win_over_the_declaration(void **state) {
  (void)state;
  Shipped fischer = shipped_open("fischer", "four", NULL);
  assert_int_equal(fischer.program->client_count, 4);
  assert_window(fischer.program->latency[0], 0, 0);
  shipped_close(&fischer);
}

static void test_the_listing_is_the_same_each_time(void **state) {
  (void)state;
  Shipped first = shipped_open("broken/naked_del", "pause", NULL),
          second = shipped_open("broken/naked_del", "pause", NULL);
  g_autofree char *one = program_listing(first.program), *other = program_listing(second.program);
  assert_string_equal(one, other);
  assert_non_null(strstr(one, "age.below.of  client[1].since < 10s"));
  shipped_close(&first);
  shipped_close(&second);
}

/* The twin of the liveness analysis: a variable is live before an instruction if some walk from there reads it before
 * it writes it. One depth-first walk for each variable and place; until blocks count at their wait. */

typedef struct Walk {
  const Program *program;
  int32_t variable;
  bool *seen;
} Walk;

static bool reads_variable(const Walk *walk, const Instr *instr) {
  if (instr->op == OP_STAMP_COPY) {
    return instr->operand == walk->variable;
  }
  if (instr->op == OP_WAIT) {
    const Wait *wait = &walk->program->waits[instr->index];
    for (int32_t i = 0; i < wait->age_count; i++) {
      if (wait->ages[i].variable == walk->variable) {
        return true;
      }
    }
    return false; /* the shipped models have no other `until` */
  }
  return (instr->op == OP_LOAD || instr->op == OP_AGE_BELOW) && instr->index == walk->variable;
}

static bool walk_reads(Walk *walk, int32_t pc) {
  while (!walk->seen[pc]) {
    walk->seen[pc] = true;
    const Instr *instr = &walk->program->code[pc];
    if (reads_variable(walk, instr)) {
      return true;
    }
    bool writes = instr->op == OP_STORE || instr->op == OP_STAMP || instr->op == OP_STAMP_COPY;
    if ((writes && instr->index == walk->variable) || instr->op == OP_STOP) {
      return false;
    }
    if ((instr->op == OP_JUMP_IF || instr->op == OP_JUMP_UNLESS) && walk_reads(walk, instr->operand)) {
      return true;
    }
    pc = instr->op == OP_JUMP ? instr->operand : pc + 1;
  }
  return false;
}

static int32_t compare_with_walks(const Program *program) {
  const ClientKind *kind = &program->kinds[0];
  int32_t live_count = 0;
  for (int32_t pc = kind->entry; pc < kind->code_end; pc++) {
    for (int32_t v = 0; v < kind->variable_count; v++) {
      Walk walk = {program, v, g_new0(bool, (gsize)program->code_count + 1)};
      bool is_live = walk_reads(&walk, pc);
      g_free(walk.seen);
      assert_int_equal(kind->live_before[pc] >> v & 1, is_live);
      live_count += is_live;
    }
  }
  return live_count;
}

static void test_liveness_agrees_with_walking(void **state) {
  (void)state;
  static const char *const models[] = {"redlock", "single_node", "fenced", "broken/fenced_write_only",
                                       "broken/redlock_no_validity"};
  for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
    char **scenarios = shipped_scenarios(models[i]);
    Shipped model = shipped_open(models[i], scenarios[0], NULL);
    assert_true(compare_with_walks(model.program) > 20);
    shipped_close(&model);
    g_strfreev(scenarios);
  }
}

/* Scenarios */

#define SCENARIO_HEAD                                                                                             \
  "model small \"\"\nuse redis\nuse register\nparam ttl = 10s\nserver node[3] : redis\nserver store : register\n" \
  "client writer[2] { var key : token\n key = fresh\n pick n in node\n ask n.set_nx(key, ttl) }\n"                \
  "client reader { var t : ticket\n critical fence t { ask store.read() } }\n"
#define WRITERS UINT32_C(3)
#define READER UINT32_C(4)
#define NODES UINT32_C(7)
#define STORE UINT32_C(8)

static Shipped scenario_and(const char *lines, const char *rest) {
  g_autofree char *text = g_strconcat(SCENARIO_HEAD, "scenario s {\n", lines, "\n}\n", rest, NULL);
  return shipped_text(text, "s", NULL);
}

static Shipped scenario(const char *lines) {
  return scenario_and(lines, "");
}

typedef struct FaultCase {
  const char *line;
  Fault fault;
  const char *listing;
} FaultCase;

#define FOR_EVER .hi_us = DURATION_INFINITE
#define NEVER_BACK .lo_us = DURATION_INFINITE, .hi_us = DURATION_INFINITE

static const FaultCase fault_cases[] = {
    {"1 late to node by 1s..2s",
     {FAULT_LATE, 1, .servers = NODES, .lo_us = 1000000, .hi_us = 2000000},
     "  1 late to node[0] node[1] node[2] by 1s..2s\n"},
    {"inf lost to store", {FAULT_LOST, COUNT_INFINITE, .servers = STORE, FOR_EVER}, "  inf lost to store\n"},
    {"2 duplicated",
     {FAULT_DUPLICATED, 2, .servers = NODES | STORE, FOR_EVER},
     "  2 duplicated to node[0] node[1] node[2] store by 0s..inf\n"},
    {"1 duplicated by 0s..5s to store",
     {FAULT_DUPLICATED, 1, .servers = STORE, .hi_us = 5000000},
     "  1 duplicated to store by 0s..5s\n"},
    {"network unordered",
     {FAULT_UNORDERED, 1, .clients = WRITERS | READER, .servers = NODES | STORE, FOR_EVER},
     "  network unordered\n"},
    {"1 pause of node[1..2] for 0s..inf",
     {FAULT_PAUSE, 1, .servers = 6, FOR_EVER},
     "  1 pause of node[1] node[2] for 0s..inf\n"},
    {"1 suspend of reader for 3s",
     {FAULT_SUSPEND, 1, .clients = READER, .lo_us = 3000000, .hi_us = 3000000},
     "  1 suspend of reader[0] for 3s..3s\n"},
    {"2 step of writer by -1s",
     {FAULT_STEP, 2, .clients = WRITERS, FOR_EVER, .by_us = -1000000},
     "  2 step of writer[0] writer[1] by -1s\n"},
    {"skew node by -1ms",
     {FAULT_SKEW, 1, .servers = NODES, FOR_EVER, .by_us = -1000},
     "  skew node[0] node[1] node[2] by -1ms\n"},
    {"drift 1%",
     {FAULT_DRIFT, 1, .clients = WRITERS | READER, .servers = NODES | STORE, FOR_EVER, .drift_ppm = 10000},
     "  drift 10000ppm of writer[0] writer[1] reader[0] node[0] node[1] node[2] store\n"},
    {"drift 0.5% of store",
     {FAULT_DRIFT, 1, .servers = STORE, FOR_EVER, .drift_ppm = 5000},
     "  drift 5000ppm of store\n"},
    {"drift 100ppm of client",
     {FAULT_DRIFT, 1, .clients = WRITERS | READER, FOR_EVER, .drift_ppm = 100},
     "  drift 100ppm of writer[0] writer[1] reader[0]\n"},
    {"1 crash of store losing memory",
     {FAULT_CRASH_SERVER, 1, .servers = STORE, NEVER_BACK},
     "  1 crash of store losing memory, never back\n"},
    {"1 crash of store losing nothing, back after 1s..2s silent",
     {FAULT_CRASH_SERVER, 1, .servers = STORE, .lo_us = 1000000, .hi_us = 2000000, .memory = MEMORY_KEPT,
      .is_silent = true},
     "  1 crash of store losing nothing, back after 1s..2s silent\n"},
    {"1 crash of store losing last ttl / 2, silent",
     {FAULT_CRASH_SERVER, 1, .servers = STORE, NEVER_BACK, .memory = MEMORY_DURABLE, .durable_us = 5000000,
      .is_silent = true},
     "  1 crash of store losing last 5s, never back silent\n"},
    {"1 crash of writer, back after 0s, silent",
     {FAULT_CRASH_CLIENT, 1, .clients = WRITERS, .is_silent = true},
     "  1 crash of writer[0] writer[1], back after 0s..0s silent\n"},
    {"1 cut of writer from node for 0s..1s",
     {FAULT_CUT, 1, .clients = WRITERS, .servers = NODES, .hi_us = 1000000},
     "  1 cut of writer[0] writer[1] from node[0] node[1] node[2] for 0s..1s\n"},
    {"1 cut of store from client for 0s..inf",
     {FAULT_CUT, 1, .clients = WRITERS | READER, .servers = STORE, FOR_EVER},
     "  1 cut of writer[0] writer[1] reader[0] from store for 0s..inf\n"},
    {"down node[0]", {FAULT_DOWN, 1, .servers = 1, FOR_EVER}, "  down node[0]\n"},
    {"down node silent",
     {FAULT_DOWN, 1, .servers = NODES, FOR_EVER, .is_silent = true},
     "  down node[0] node[1] node[2] silent\n"},
};

static void assert_fault(const Fault *found, const Fault *expected) {
  assert_int_equal(found->kind, expected->kind);
  assert_int_equal(found->count, expected->count);
  assert_int_equal(found->clients, expected->clients);
  assert_int_equal(found->servers, expected->servers);
  assert_window((Window){found->lo_us, found->hi_us}, expected->lo_us, expected->hi_us);
  assert_int_equal(found->by_us, expected->by_us);
  assert_int_equal(found->task, NO_INDEX);
  assert_int_equal(found->memory, expected->memory);
  assert_int_equal(found->durable_us, expected->durable_us);
  assert_int_equal(found->is_silent, expected->is_silent);
  assert_int_equal(found->drift_ppm, expected->drift_ppm);
}

static void test_every_fault_is_compiled_and_listed(void **state) {
  (void)state;
  for (size_t i = 0; i < G_N_ELEMENTS(fault_cases); i++) {
    Shipped model = scenario(fault_cases[i].line);
    assert_int_equal(model.program->fault_count, 1);
    assert_fault(&model.program->faults[0], &fault_cases[i].fault);
    g_autofree char *listing = program_listing(model.program);
    assert_non_null(strstr(listing, fault_cases[i].listing));
    shipped_close(&model);
  }
}

static void test_faults_keep_the_order_of_their_lines(void **state) {
  (void)state;
  Shipped model = scenario("1 late to node\n1 trigger of node.del()\n0 lost\n1 pause of client for 1s; down store");
  assert_int_equal(model.program->fault_count, 4);
  assert_int_equal(model.program->faults[0].kind, FAULT_LATE);
  assert_int_equal(model.program->faults[1].kind, FAULT_TRIGGER);
  assert_int_equal(model.program->faults[3].kind, FAULT_DOWN);
  shipped_close(&model);
}

static void test_a_trigger_calls_its_handler(void **state) {
  (void)state;
  Shipped model =
      scenario_and("1 trigger of node.set_nx(none, 3s)\n1 trigger of box.put(nil, node[1])",
                   "server box : words service words { var v : reply on put(x, y) { v = x } on get() { reply v } }");
  const Handler *handlers = model.program->services[1].handlers, *put = find_handler(model.program, 0, "put");
  const Fault *set = &model.program->faults[0], *word = &model.program->faults[1];
  assert_string_equal(handlers[set->handler].name, "set_nx");
  assert_int_equal(set->servers, NODES);
  assert_int_equal(set->arg_count, 2);
  assert_int_equal(set->arg_sorts[0], SORT_NONE);
  assert_int_equal(model.program->durations_us[set->args[1]], 3000000);
  assert_int_equal(handlers[set->handler].param_sorts[0], SORT_REPLY); /* a client passes a token */
  assert_int_equal(handlers[set->handler].param_sorts[1], SORT_DURATION);
  assert_int_not_equal(put->entry, NO_INDEX); /* no client calls it */
  assert_int_equal(put->param_sorts[0], SORT_WORD);
  assert_string_equal(model.program->words[word->args[0]], "nil");
  assert_int_equal(word->arg_sorts[1], SORT_SERVER);
  assert_int_equal(find_handler(model.program, 0, "get")->entry, NO_INDEX);
  g_autofree char *listing = program_listing(model.program);
  assert_non_null(strstr(listing, "  1 trigger of box.put(nil, node[1])\n"));
  shipped_close(&model);
}

static void test_what_strikes_some_of_a_group_breaks_its_symmetry(void **state) {
  (void)state;
  static const struct {
    const char *line, *why;
    int32_t group;
  } cases[] = {
      {"1 pause of node[0] for 1s", "node[0]", 0},
      {"latency 0s..1s to node[1..2]", "node[1..2]", 0},
      {"down node[2]", "node[2]", 0},
      {"1 cut of client from node[0] for 1s", "node[0]", 0},
      {"1 trigger of node.set_nx(node[1], 1s)", "node[1]", 0},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    Shipped model = scenario(cases[i].line);
    assert_false(model.program->servers_symmetric[cases[i].group]);
    Span span = model.program->servers_asymmetry[cases[i].group];
    const char *text = sources_text(model.program->sources, span.file, NULL);
    assert_memory_equal(text + span.begin, cases[i].why, strlen(cases[i].why));
    assert_int_equal(model.program->servers_asymmetry[1].end, 0);
    shipped_close(&model);
  }
}

static void test_what_strikes_all_of_them_keeps_the_symmetry(void **state) {
  (void)state;
  Shipped model = scenario("1 pause of node for 1s\n1 crash of writer\ndown store\nlatency 0s..1s to node\ndrift 1%");
  assert_int_equal(model.program->servers_asymmetry[0].end, 0);
  assert_true(model.program->clients_symmetric[0]);
  shipped_close(&model);
  model = scenario("1 suspend of writer[1] for 1s");
  assert_false(model.program->clients_symmetric[0]);
  shipped_close(&model);
}

static void test_a_scenario_says_when_a_loss_is_noticed(void **state) {
  (void)state;
  Shipped model = scenario("detect 1s..3s\nclient starts 0s..2s\nrounds 4\nset ttl = 3s");
  assert_window(model.program->detect, 1000000, 3000000);
  assert_window(model.program->client_starts, 0, 2000000);
  assert_int_equal(model.program->rounds, 4);
  assert_int_equal(model.program->parameters[0].value, 3000000);
  g_autofree char *listing = program_listing(model.program);
  assert_non_null(strstr(listing, "  detect 1s..3s\n"));
  shipped_close(&model);
  model = scenario("1 crash of client");
  assert_window(model.program->detect, 0, 0);
  shipped_close(&model);
}

static void test_obtainable_is_claimed_by_kind_and_bound(void **state) {
  (void)state;
  Shipped model = scenario(
      "expect obtainable within 30s, obtainable by reader within 30s holds, obtainable by reader within 1s broken\n"
      "expect token_order holds");
  const Program *program = model.program;
  assert_int_equal(program->obtainable_count, 3);
  assert_int_equal(program->obtainables[0].kind, NO_INDEX);
  assert_int_equal(program->obtainables[1].kind, 1);
  assert_int_equal(program->obtainables[2].within_us, 1000000);
  assert_int_equal(program->expectations[1].obtainable, 1);
  assert_true(program->expectations[1].holds);
  assert_false(program->expectations[2].holds);
  assert_int_equal(program->expectations[3].obtainable, NO_INDEX);
  g_autofree char *listing = program_listing(program);
  assert_non_null(strstr(listing, "  expect obtainable by reader within 1s broken\n"));
  shipped_close(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_redlock_has_its_processes_and_parameters),
      cmocka_unit_test(test_parameters_of_handlers_are_inferred_from_the_calls),
      cmocka_unit_test(test_only_what_is_read_again_is_live_at_an_ask),
      cmocka_unit_test(test_an_until_is_live_while_the_wait_lasts),
      cmocka_unit_test(test_each_scenario_has_its_faults),
      cmocka_unit_test(test_a_setting_wins_over_the_declaration),
      cmocka_unit_test(test_leaving_a_section_by_any_door_leaves_it),
      cmocka_unit_test(test_an_attempt_begins_with_the_innermost_loop),
      cmocka_unit_test(test_the_messages_of_tell_all_leave_together),
      cmocka_unit_test(test_the_index_of_an_element_lies_on_top),
      cmocka_unit_test(test_a_stored_element_does_not_end_the_life_of_the_array),
      cmocka_unit_test(test_each_task_has_its_entry_and_hears_of_the_others),
      cmocka_unit_test(test_notices_know_their_arguments_from_the_servers),
      cmocka_unit_test(test_a_guard_is_a_block_before_its_handler),
      cmocka_unit_test(test_a_parallel_ask_pushes_the_first_server_and_its_number),
      cmocka_unit_test(test_what_tells_servers_apart_breaks_their_symmetry),
      cmocka_unit_test(test_a_list_is_a_table_of_first_servers),
      cmocka_unit_test(test_a_section_says_what_it_holds_and_for_how_many),
      cmocka_unit_test(test_choices_and_picks),
      cmocka_unit_test(test_ghosts_belong_to_a_process_of_their_own),
      cmocka_unit_test(test_a_loop_in_a_handler_is_copied),
      cmocka_unit_test(test_a_round_may_wait_in_a_parallel_ask),
      cmocka_unit_test(test_calls_that_differ_make_a_parameter_dynamic),
      cmocka_unit_test(test_an_until_without_ages_is_a_block_of_its_own),
      cmocka_unit_test(test_a_loop_over_clients_whose_order_matters_breaks_the_symmetry),
      cmocka_unit_test(test_a_client_that_is_named_breaks_the_symmetry),
      cmocka_unit_test(test_what_a_never_reads_is_always_live),
      cmocka_unit_test(test_clients_of_a_scenario_win_over_the_declaration),
      cmocka_unit_test(test_the_listing_is_the_same_each_time),
      cmocka_unit_test(test_liveness_agrees_with_walking),
      cmocka_unit_test(test_every_fault_is_compiled_and_listed),
      cmocka_unit_test(test_faults_keep_the_order_of_their_lines),
      cmocka_unit_test(test_a_trigger_calls_its_handler),
      cmocka_unit_test(test_what_strikes_some_of_a_group_breaks_its_symmetry),
      cmocka_unit_test(test_what_strikes_all_of_them_keeps_the_symmetry),
      cmocka_unit_test(test_a_scenario_says_when_a_loss_is_noticed),
      cmocka_unit_test(test_obtainable_is_claimed_by_kind_and_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
