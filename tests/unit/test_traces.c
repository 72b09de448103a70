/* Reports, pictures and files of hand-made runs with the granularity of real ones: a step is one transition.
 *
 * Golden files: tests/golden/traces (LOCKSTEP_GOLDEN_DIR overrides the folder, LOCKSTEP_REWRITE_GOLDEN=1 rewrites). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glib/gstdio.h>

#include "base/check.h"
#include "traces/beat.h"
#include "traces/format.h"
#include "traces/json.h"
#include "traces/render.h"
#include "traces/rounds.h"

/* --- a run, built by hand ---------------------------------------------------------------------------------------- */

#define MS 1000000LL
#define SECOND 1000000000LL

typedef struct Maker {
  Run *run;
  int64_t now_ns;
  int32_t next_message;
} Maker;

static Maker make_run(const char *model, const char *scenario) {
  Run *run = g_new0(Run, 1);
  run->model = g_strdup(model);
  run->model_text = g_strdup("a lock");
  run->scenario = g_strdup(scenario);
  run->scenario_text = g_strdup("");
  run->property = g_strdup("");
  run->property_sentence = g_strdup("");
  run->faults_text = g_strdup("");
  return (Maker){.run = run, .next_message = 1};
}

static void add_parameter(Maker *m, const char *name, const char *value) {
  Run *run = m->run;
  run->parameters = g_renew(RunParameter, run->parameters, (gsize)run->parameter_count + 1);
  run->parameters[run->parameter_count++] = (RunParameter){g_strdup(name), g_strdup(value)};
}

static int32_t add_lane(Maker *m, const char *name, const char *model_name, int32_t group) {
  Run *run = m->run;
  run->lanes = g_renew(RunLane, run->lanes, (gsize)run->lane_count + 1);
  run->lanes[run->lane_count] = (RunLane){.name = g_strdup(name), .model_name = g_strdup(model_name), .group = group};
  return run->lane_count++;
}

static int32_t add_client(Maker *m, const char *name, const char *model_name) {
  int32_t lane = add_lane(m, name, model_name, 0);
  m->run->lanes[lane].is_client = true;
  return lane;
}

static void step_at(Maker *m, int64_t time_ns) {
  Run *run = m->run;
  m->now_ns = time_ns;
  run->steps = g_renew(RunStep, run->steps, (gsize)run->step_count + 1);
  run->steps[run->step_count] = (RunStep){.time_ns = time_ns};
  Action *action = &run->steps[run->step_count].action;
  action->kind = (uint8_t)(run->step_count % 7);
  action->subject = (uint8_t)(run->step_count % 3);
  action->choice_count = (uint8_t)(run->step_count % 2);
  action->choices[0] = (uint8_t)(run->step_count % 2);
  run->step_count++;
}

static void step_after(Maker *m, int64_t delay_ns) {
  step_at(m, m->now_ns + delay_ns);
}

static RunEvent *add(Maker *m, RunEventKind kind, int32_t lane, int32_t peer, const char *text) {
  RunStep *step = &m->run->steps[m->run->step_count - 1];
  step->events = g_renew(RunEvent, step->events, (gsize)step->event_count + 1);
  RunEvent *event = &step->events[step->event_count++];
  *event = (RunEvent){.kind = kind,
                      .lane = lane,
                      .peer = peer,
                      .owner = -1,
                      .name = g_strdup(""),
                      .before = g_strdup(""),
                      .text = g_strdup(text)};
  return event;
}

static RunEvent *add_numbered(Maker *m, RunEventKind kind, int32_t lane, int32_t peer, int32_t number) {
  RunEvent *event = add(m, kind, lane, peer, "");
  event->number = number;
  return event;
}

static void variable(Maker *m, int32_t lane, const char *name, const char *before, const char *after) {
  RunEvent *event = add(m, RUN_VARIABLE, lane, -1, after);
  g_free(event->name);
  g_free(event->before);
  event->name = g_strdup(name);
  event->before = g_strdup(before);
}

static void lock_variable(Maker *m, int32_t lane, const char *before, const char *after, int32_t owner) {
  variable(m, lane, "owner", before, after);
  RunStep *step = &m->run->steps[m->run->step_count - 1];
  step->events[step->event_count - 1].is_lock = true;
  step->events[step->event_count - 1].owner = owner;
}

static int32_t ask(Maker *m, int32_t from, int32_t to, const char *call) {
  RunEvent *event = add(m, RUN_SEND, from, to, call);
  return event->message = m->next_message++;
}

static int32_t reply(Maker *m, int32_t from, int32_t to, int32_t request, const char *text) {
  RunEvent *event = add(m, RUN_SEND, from, to, text);
  event->reply_to = request;
  return event->message = m->next_message++;
}

static RunEvent *arrive(Maker *m, int32_t lane, int32_t from, int32_t message, const char *text) {
  RunEvent *event = add(m, RUN_ARRIVE, lane, from, text);
  event->message = message;
  return event;
}

static void timer(Maker *m, int32_t lane, const char *name) {
  RunEvent *event = add(m, RUN_FIRE, lane, -1, "");
  g_free(event->name);
  event->name = g_strdup(name);
}

static void violate(Maker *m, const char *property, int32_t lane, int32_t peer, const char *sentence) {
  RunEvent *event = add(m, RUN_VIOLATION, lane, peer, sentence);
  g_free(event->name);
  event->name = g_strdup(property);
  g_free(m->run->property);
  g_free(m->run->property_sentence);
  m->run->property = g_strdup(property);
  m->run->property_sentence = g_strdup(sentence);
}

static void spend(Maker *m, int32_t faults, const char *text) {
  m->run->steps[m->run->step_count - 1].faults += faults;
  m->run->faults += faults;
  g_free(m->run->faults_text);
  m->run->faults_text = g_strdup(text);
}

static void because(Maker *m, const char *reason) {
  Run *run = m->run;
  run->why = g_renew(char *, run->why, (gsize)run->why_count + 1);
  run->why[run->why_count++] = g_strdup(reason);
}

/* --- redlock ----------------------------------------------------------------------------------------------------- */

enum { A, B, NODE, STORE = NODE + 5 };

static Maker make_redlock(const char *scenario) {
  Maker m = make_run("redlock", scenario);
  add_parameter(&m, "servers", "5");
  add_parameter(&m, "quorum", "3");
  add_parameter(&m, "ttl", "10s");
  add_parameter(&m, "patience", "50ms");
  add_parameter(&m, "margin", "102ms");
  add_parameter(&m, "work", "5s");
  add_client(&m, "A", "client[0]");
  add_client(&m, "B", "client[1]");
  for (int i = 0; i < 5; i++) {
    g_autofree char *name = g_strdup_printf("node[%d]", i);
    int32_t lane = add_lane(&m, name, name, 1);
    m.run->lanes[lane].has_lock = true;
  }
  int32_t store = add_lane(&m, "store", "store", 2);
  m.run->lanes[store].is_resource = true;
  return m;
}

static const char *token_of(int32_t client) {
  return client == A ? "a1" : "b1";
}

/* The votes that a client already has; the first request is in the step that begins the client. */
static void acquire_from(Maker *m, int32_t client, int first, int count, int votes, int64_t hop_ns) {
  g_autofree char *call = g_strdup_printf("set_nx(%s, 10s)", token_of(client));
  int32_t message = 0;
  for (int i = first; i < first + count; i++) {
    if (i == first && first == 0) {
      add_numbered(m, RUN_BEGIN, client, -1, 0);
      add_numbered(m, RUN_ATTEMPT, client, -1, client + 1);
      variable(m, client, "key", "none", token_of(client));
      variable(m, client, "since", "never", "now");
    }
    message = ask(m, client, NODE + i, call);
    step_after(m, hop_ns + i * 100000);
    arrive(m, NODE + i, client, message, call);
    lock_variable(m, NODE + i, "none", token_of(client), client);
    message = reply(m, NODE + i, client, message, "ok");
    step_after(m, hop_ns);
    arrive(m, client, NODE + i, message, "ok");
    g_autofree char *before = g_strdup_printf("%d", votes), *after = g_strdup_printf("%d", votes + 1);
    variable(m, client, "votes", before, after);
    votes++;
  }
}

static void enter(Maker *m, int32_t client) {
  add(m, RUN_COMPARE, client, -1, "age(since) < 9.898s: yes");
  add_numbered(m, RUN_ENTER, client, -1, client + 1);
}

static void acquire_all(Maker *m, int32_t client, int64_t start_ns, int64_t hop_ns) {
  step_at(m, start_ns);
  acquire_from(m, client, 0, 5, 0, hop_ns);
  enter(m, client);
}

static void read_store(Maker *m, int32_t client) {
  int32_t message = ask(m, client, STORE, "read()");
  step_after(m, 4 * MS);
  arrive(m, STORE, client, message, "read()");
  add_numbered(m, RUN_OBSERVE, STORE, client, client + 1);
  message = reply(m, STORE, client, message, "ok");
  step_after(m, 3 * MS);
  arrive(m, client, STORE, message, "ok");
  add(m, RUN_WAIT, client, -1, "0s..5s");
}

static void wake(Maker *m, int32_t client, int64_t delay_ns) {
  step_after(m, delay_ns);
  add(m, RUN_WAKE, client, -1, "");
  add(m, RUN_COMPARE, client, -1, "age(since) < 9.898s: yes");
}

static void expire(Maker *m, int32_t node, int64_t time_ns, int32_t client) {
  step_at(m, time_ns);
  timer(m, NODE + node, "expiry");
  lock_variable(m, NODE + node, token_of(client), "none", -1);
}

static int32_t send_write(Maker *m, int32_t client) {
  return ask(m, client, STORE, "write()");
}

static void write_arrives(Maker *m, int32_t client, int32_t message, int64_t delay_ns) {
  step_after(m, delay_ns);
  arrive(m, STORE, client, message, "write()");
  add_numbered(m, RUN_COMMIT, STORE, client, client + 1);
}

static void pause_a_before_write(Maker *m) {
  acquire_all(m, A, 0, 3 * MS);
  read_store(m, A);
  wake(m, A, 420 * MS);
  step_after(m, 0);
  add(m, RUN_PAUSE, A, -1, "before ask store.write()");
  spend(m, 1, "1 pause of A (9.7 s)");
  for (int i = 0; i < 5; i++) {
    expire(m, i, 10 * SECOND + (3 + 7 * i) * MS, A);
  }
}

/* Two clients inside: the run ends as B enters. */
static Run *make_pause(void) {
  Maker m = make_redlock("pause");
  pause_a_before_write(&m);
  acquire_all(&m, B, 10 * SECOND + 80 * MS, 3 * MS);
  violate(&m, "mutual_exclusion", B, A, "A and B are inside at the same time since 10.111 s");
  because(&m, "A is inside, because its check age(since) < 9.898s at 0.458 said yes and it was then paused");
  because(&m, "B is inside, because node[0..4] had let A's key expire by 10.031");
  because(&m, "Nothing tells A: a pause has no bound, a lease has one");
  return m.run;
}

/* The store accepts A's write, computed from what B has replaced: the run ends there. */
static Run *make_stale_write(void) {
  Maker m = make_redlock("pause");
  pause_a_before_write(&m);
  acquire_all(&m, B, 10 * SECOND + 31 * MS, 2 * MS);
  read_store(&m, B);
  wake(&m, B, 20 * MS);
  int32_t b_write = send_write(&m, B);
  write_arrives(&m, B, b_write, 4 * MS);
  int32_t ok = reply(&m, STORE, B, b_write, "ok");
  step_after(&m, 3 * MS);
  arrive(&m, B, STORE, ok, "ok");
  step_at(&m, 458 * MS + 9700 * MS);
  RunEvent *resume = add(&m, RUN_RESUME, A, -1, "");
  resume->duration_ns = 9700 * MS;
  int32_t a_write = send_write(&m, A);
  write_arrives(&m, A, a_write, 6 * MS);
  violate(&m, "lost_update", A, B, "the write of A replaces the write of B, which A has never read");
  because(&m, "A read the store at 0.035 and was paused before it wrote");
  because(&m, "B was right to enter, because all five keys had expired by 10.031");
  return m.run;
}

/* One server's clock jumps past the expiry; A has votes of node[0..2] only, B gets node[2..4]. */
static Run *make_clock_step(void) {
  Maker m = make_redlock("ntp_step");
  step_at(&m, 0);
  acquire_from(&m, A, 0, 3, 0, 3 * MS);
  g_autofree char *call = g_strdup("set_nx(a1, 10s)");
  for (int i = 3; i < 5; i++) {
    ask(&m, A, NODE + i, call);
    RunStep *step = &m.run->steps[m.run->step_count - 1];
    step->events[step->event_count - 1].flag_lost = true;
    spend(&m, 1, "2 lost messages, 1 step of the clock of node[2] (10 s)");
    step_after(&m, 50 * MS);
    add(&m, RUN_TIMEOUT, A, NODE + i, "set_nx(a1, 10s)");
  }
  enter(&m, A);
  read_store(&m, A);
  step_at(&m, 1500 * MS);
  RunEvent *jump = add(&m, RUN_CLOCK_STEP, NODE + 2, -1, "");
  jump->duration_ns = 10 * SECOND;
  spend(&m, 1, "2 lost messages, 1 step of the clock of node[2] (10 s)");
  expire(&m, 2, 1500 * MS, A);
  step_at(&m, 1900 * MS);
  add_numbered(&m, RUN_BEGIN, B, -1, 0);
  add_numbered(&m, RUN_ATTEMPT, B, -1, 2);
  variable(&m, B, "key", "none", "b1");
  g_autofree char *b_call = g_strdup("set_nx(b1, 10s)");
  for (int i = 0; i < 2; i++) {
    int32_t message = ask(&m, B, NODE + i, b_call);
    step_after(&m, 3 * MS);
    arrive(&m, NODE + i, B, message, b_call);
    message = reply(&m, NODE + i, B, message, "nil");
    step_after(&m, 2 * MS);
    arrive(&m, B, NODE + i, message, "nil");
  }
  acquire_from(&m, B, 2, 3, 0, 2 * MS);
  enter(&m, B);
  violate(&m, "mutual_exclusion", B, A, "A and B are inside at the same time since 1.9229 s");
  because(&m, "node[2] counts A's ten seconds on its wall clock, and that jumped by 10 s");
  return m.run;
}

/* node[1] restarts without its memory while A is inside with node[0..2]. */
static Run *make_amnesia(void) {
  Maker m = make_redlock("amnesia");
  step_at(&m, 0);
  acquire_from(&m, A, 0, 3, 0, 3 * MS);
  enter(&m, A);
  read_store(&m, A);
  step_at(&m, 300 * MS);
  add(&m, RUN_CRASH, NODE + 1, -1, "losing memory");
  lock_variable(&m, NODE + 1, "a1", "none", -1);
  spend(&m, 1, "1 crash of node[1], losing memory");
  step_at(&m, 320 * MS);
  add_numbered(&m, RUN_BEGIN, B, -1, 0);
  add_numbered(&m, RUN_ATTEMPT, B, -1, 2);
  int32_t message = ask(&m, B, NODE + 0, "set_nx(b1, 10s)");
  step_after(&m, 3 * MS);
  arrive(&m, NODE + 0, B, message, "set_nx(b1, 10s)");
  message = reply(&m, NODE + 0, B, message, "nil");
  step_after(&m, 3 * MS);
  arrive(&m, B, NODE + 0, message, "nil");
  message = ask(&m, B, NODE + 1, "set_nx(b1, 10s)");
  step_after(&m, 3 * MS);
  add(&m, RUN_REFUSED, B, NODE + 1, "set_nx(b1, 10s)")->message = message;
  add(&m, RUN_WAIT, B, -1, "200ms..250ms");
  step_at(&m, 420 * MS);
  add(&m, RUN_RESTART, NODE + 1, -1, "");
  step_at(&m, 530 * MS);
  add(&m, RUN_WAKE, B, -1, "");
  add_numbered(&m, RUN_ATTEMPT, B, -1, 3);
  acquire_from(&m, B, 1, 1, 0, 2 * MS);
  acquire_from(&m, B, 3, 2, 1, 2 * MS);
  enter(&m, B);
  violate(&m, "mutual_exclusion", B, A, "A and B are inside at the same time since 0.5428 s");
  return m.run;
}

/* A's write travels alone for 11 s. */
static Run *make_late_write(void) {
  Maker m = make_redlock("late_write");
  acquire_all(&m, A, 0, 3 * MS);
  read_store(&m, A);
  wake(&m, A, 300 * MS);
  int32_t a_write = send_write(&m, A);
  RunStep *step = &m.run->steps[m.run->step_count - 1];
  step->events[step->event_count - 1].flag_late = true;
  spend(&m, 1, "1 late message to store");
  for (int i = 0; i < 5; i++) {
    expire(&m, i, 10 * SECOND + (3 + 7 * i) * MS, A);
  }
  acquire_all(&m, B, 10 * SECOND + 40 * MS, 2 * MS);
  read_store(&m, B);
  wake(&m, B, 20 * MS);
  int32_t b_write = send_write(&m, B);
  write_arrives(&m, B, b_write, 4 * MS);
  step_after(&m, 900 * MS);
  arrive(&m, STORE, A, a_write, "write()")->flag_late = true;
  add_numbered(&m, RUN_COMMIT, STORE, A, 1);
  violate(&m, "fencing", A, B, "the store applies a write of A after a write of B, who entered later");
  return m.run;
}

/* Fischer's protocol without its second wait, as a shared variable that is asked in zero time. */
static void fischer_call(Maker *m, int32_t client, const char *call, const char *answer, const char *before) {
  enum { SHARED = 2 };
  int32_t message = ask(m, client, SHARED, call);
  step_at(m, 0);
  arrive(m, SHARED, client, message, call);
  if (before) {
    variable(m, SHARED, "id", before, client == A ? "A" : "B");
  }
  message = reply(m, SHARED, client, message, answer);
  step_at(m, 0);
  arrive(m, client, SHARED, message, answer);
}

static Run *make_fischer(void) {
  Maker m = make_run("fischer", "no_wait");
  add_client(&m, "A", "client[0]");
  add_client(&m, "B", "client[1]");
  add_lane(&m, "shared", "shared", 1);
  for (int32_t client = A; client <= B; client++) {
    step_at(&m, 0);
    add_numbered(&m, RUN_BEGIN, client, -1, 0);
    add_numbered(&m, RUN_ATTEMPT, client, -1, client + 1);
    fischer_call(&m, client, "get()", "none", NULL);
  }
  step_at(&m, 0);
  fischer_call(&m, A, "set(A)", "ok", "none");
  fischer_call(&m, A, "get()", "A", NULL);
  add_numbered(&m, RUN_ENTER, A, -1, 1);
  step_at(&m, 0);
  fischer_call(&m, B, "set(B)", "ok", "A");
  fischer_call(&m, B, "get()", "B", NULL);
  add_numbered(&m, RUN_ENTER, B, -1, 2);
  violate(&m, "mutual_exclusion", B, A, "A and B are inside at the same time");
  return m.run;
}

/* Two rounds of six clients that share two locks on one server, one round after the other: long, and nothing goes
 * wrong. */
static Run *make_long(int rounds) {
  Maker m = make_run("two_locks", "calm");
  enum { CLIENTS = 6 };
  for (int32_t client = 0; client < CLIENTS; client++) {
    g_autofree char *name = g_strdup_printf("%c", 'A' + client), *model_name = g_strdup_printf("client[%d]", client);
    add_client(&m, name, model_name);
  }
  int32_t server = add_lane(&m, "db", "db", 1);
  m.run->lanes[server].has_lock = m.run->lanes[server].is_resource = true;
  for (int i = 0; i < rounds; i++) {
    int32_t client = i % CLIENTS;
    g_autofree char *lock = g_strdup_printf("row[%d]", i % 2), *token = g_strdup_printf("t%d", i);
    step_after(&m, 40 * MS);
    add_numbered(&m, RUN_ATTEMPT, client, -1, i + 1);
    int32_t message = ask(&m, client, server, "lock()");
    step_after(&m, 2 * MS);
    arrive(&m, server, client, message, "lock()");
    lock_variable(&m, server, "none", token, client);
    RunStep *step = &m.run->steps[m.run->step_count - 1];
    g_free(step->events[step->event_count - 1].name);
    step->events[step->event_count - 1].name = g_strdup(lock);
    message = reply(&m, server, client, message, "ok");
    step_after(&m, 2 * MS);
    arrive(&m, client, server, message, "ok");
    add_numbered(&m, RUN_ENTER, client, -1, i + 1);
    message = ask(&m, client, server, "commit()");
    step_after(&m, 3 * MS);
    arrive(&m, server, client, message, "commit()");
    add_numbered(&m, RUN_COMMIT, server, client, i + 1);
    lock_variable(&m, server, token, "none", -1);
    step = &m.run->steps[m.run->step_count - 1];
    g_free(step->events[step->event_count - 1].name);
    step->events[step->event_count - 1].name = g_strdup(lock);
    message = reply(&m, server, client, message, "ok");
    step_after(&m, 2 * MS);
    arrive(&m, client, server, message, "ok");
    add_numbered(&m, RUN_LEAVE, client, -1, i + 1);
  }
  return m.run;
}

static Run *make_long_run(void) {
  return make_long(80);
}

static Run *make_short_run(void) {
  return make_long(6);
}

/* --- golden files ------------------------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  Run *(*make)(void);
} fixtures[] = {
    {"pause", make_pause},         {"stale_write", make_stale_write}, {"clock_step", make_clock_step},
    {"amnesia", make_amnesia},     {"late_write", make_late_write},   {"fischer", make_fischer},
    {"two_locks", make_short_run},
};

static TraceMeta some_meta(void) {
  return (TraceMeta){.tool_version = g_strdup("0.1.0"), .model_hash = g_strdup("xxh3:0123456789abcdef")};
}

static void assert_golden(const char *name, const char *suffix, const char *text) {
  const char *folder = g_getenv("LOCKSTEP_GOLDEN_DIR");
  g_autofree char *path = g_strdup_printf("%s/%s%s", folder ? folder : "tests/golden/traces", name, suffix),
                  *wanted = NULL;
  if (g_getenv("LOCKSTEP_REWRITE_GOLDEN")) {
    assert_true(g_file_set_contents(path, text, -1, NULL));
    return;
  }
  if (!g_file_get_contents(path, &wanted, NULL, NULL)) {
    fail_msg("no golden file %s; write it with LOCKSTEP_REWRITE_GOLDEN=1", path);
  }
  if (strcmp(wanted, text) != 0) {
    print_error("%s differs; if that is right, rewrite it with LOCKSTEP_REWRITE_GOLDEN=1\n", path);
  }
  assert_string_equal(text, wanted);
}

static void test_every_format_of_every_story_is_as_in_its_golden_file(void **state) {
  (void)state;
  TraceMeta meta = some_meta();
  for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
    Run *run = fixtures[i].make();
    TextOptions options = {.trace_path = "lockstep-out/redlock/pause/mutual_exclusion.trace"};
    for (int32_t f = 0; f < trace_format_count; f++) {
      g_autofree char *text = trace_formats[f].write(run, &meta, &options);
      assert_golden(fixtures[i].name, trace_formats[f].suffix, text);
    }
    run_free(run);
  }
  trace_meta_clear(&meta);
}

static void test_a_full_report_has_every_step(void **state) {
  (void)state;
  Run *run = make_pause();
  TextOptions options = {.is_full = true};
  g_autofree char *text = text_report(run, &options);
  assert_golden("pause", ".full.txt", text);
  run_free(run);
}

static char *without_colour(const char *text) {
  g_autoptr(GRegex) regex = g_regex_new("\033\\[[0-9;]*m", 0, 0, NULL);
  return g_regex_replace_literal(regex, text, -1, 0, "", 0, NULL);
}

static void test_colour_changes_nothing_but_colour(void **state) {
  (void)state;
  Run *run = make_stale_write();
  TextOptions options = {.has_colour = true};
  g_autofree char *plain = text_report(run, NULL), *coloured = text_report(run, &options);
  g_autofree char *stripped = without_colour(coloured);
  assert_string_equal(stripped, plain);
  assert_non_null(strstr(coloured, "\033[38;5;32m"));
  assert_null(strchr(plain, '\033'));
  run_free(run);
}

/* --- beats ------------------------------------------------------------------------------------------------------- */

static void assert_each_step_once(const Beats *beats, const Run *run) {
  int32_t next = 0;
  for (uint32_t i = 0; i < beats->list.count; i++) {
    assert_int_equal(beats->list.items[i].first, next);
    assert_true(beats->list.items[i].last >= next);
    next = beats->list.items[i].last + 1;
  }
  assert_int_equal(next, run->step_count);
}

static void assert_beats_cover(const Run *run, bool folded) {
  Story *story = story_new(run);
  Beats *beats = beats_new(story, folded);
  int32_t count = 0, violations = 0;
  assert_each_step_once(beats, run);
  assert_true(folded || (int32_t)beats->list.count == run->step_count);
  g_autofree int32_t *chosen = beats_chosen(beats, 12, &count);
  assert_true(count <= 12);
  for (int32_t i = 0; i < count; i++) {
    violations += beats->list.items[chosen[i]].is_violation;
  }
  assert_int_equal(violations, run->property[0] != '\0');
  beats_fold_rounds(beats, run);
  assert_each_step_once(beats, run);
  beats_free(beats);
  story_free(story);
}

/* Tries to get a lock, a try in two steps, 300 ms apart; an answer for each. The violation is the last step. */
static Beats *make_tries(Maker *m, const char *const *answers, int32_t count) {
  Beats *beats = g_new0(Beats, 1);
  *m = make_run("tries", "");
  for (int32_t i = 0; i < 2 * count; i++) {
    step_after(m, 150 * MS);
    g_autofree char *time = run_time_text(m->now_ns);
    Beat beat = {.first = i, .last = i, .who = g_strdup("A"), .sentence = g_strdup(""), .changed = g_strdup("")};
    beat.what = i % 2 ? g_strdup("waits") : g_strdup_printf("asks: %s (to %s)", answers[i / 2], time);
    beat.is_violation = i == 2 * count - 1;
    vec_push(&beats->list, beat);
  }
  return beats;
}

static void assert_told(const char *const *answers, int32_t count, const char *wanted) {
  Maker m;
  Beats *beats = make_tries(&m, answers, count);
  beats_fold_rounds(beats, m.run);
  assert_each_step_once(beats, m.run);
  g_autoptr(GString) told = g_string_new(NULL);
  for (uint32_t i = 0; i < beats->list.count; i++) {
    g_string_append_printf(told, "%s%s", i ? "; " : "", beats->list.items[i].what);
  }
  assert_string_equal(told->str, wanted);
  beats_free(beats);
  run_free(m.run);
}

static void test_rounds_that_differ_in_nothing_but_time_are_told_once(void **state) {
  (void)state;
  const char *const in_vain[] = {"2 of 5", "2 of 5", "2 of 5", "2 of 5", "2 of 5", "2 of 5"};
  assert_told(in_vain, 6,
              "asks: 2 of 5 (to 0.150); waits; steps 1-2 again, 4 times (to 1.500); asks: 2 of 5 (to 1.650); waits");
  assert_told(in_vain, 4,
              "asks: 2 of 5 (to 0.150); waits; asks: 2 of 5 (to 0.450); waits; asks: 2 of 5 (to 0.750); "
              "waits; asks: 2 of 5 (to 1.050); waits");
  const char *const once_better[] = {"2 of 5", "2 of 5", "2 of 5", "2 of 5", "2 of 5", "3 of 5", "2 of 5"};
  assert_told(once_better, 7,
              "asks: 2 of 5 (to 0.150); waits; steps 1-2 again, 4 times (to 1.500); asks: 3 of 5 (to 1.650); waits; "
              "asks: 2 of 5 (to 1.950); waits");
}

static void test_each_step_is_in_one_beat_and_the_violation_is_told(void **state) {
  (void)state;
  for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
    Run *run = fixtures[i].make();
    assert_beats_cover(run, true);
    assert_beats_cover(run, false);
    run_free(run);
  }
  Run *run = make_long_run();
  assert_beats_cover(run, true);
  run_free(run);
}

static void assert_duration(int64_t duration_ns, const char *wanted) {
  g_autofree char *text = story_duration_text(duration_ns);
  assert_string_equal(text, wanted);
}

static void test_durations_read_well(void **state) {
  (void)state;
  assert_duration(9700 * MS, "9.7 s");
  assert_duration(9653 * MS, "9.653 s");
  assert_duration(10 * SECOND, "10 s");
  assert_duration(-4 * SECOND, "-4 s");
  assert_duration(420 * MS, "420 ms");
  assert_duration(3100000, "3.1 ms");
  assert_duration(999999600, "1 s");
  assert_duration(1500, "1.5 us");
  assert_duration(0, "0 ns");
  assert_duration(G_MININT64, "-9223372036.855 s");
}

static void assert_lanes(const Run *run, const int32_t *lanes, int32_t count, const char *wanted) {
  g_autofree char *text = story_lanes_text(run, lanes, count);
  assert_string_equal(text, wanted);
}

static void test_lanes_of_an_array_are_named_as_slices(void **state) {
  (void)state;
  Run *run = make_pause();
  const int32_t lanes[] = {A, NODE, NODE + 1, NODE + 2, NODE + 4, STORE};
  assert_lanes(run, lanes, 6, "A, node[0..2], node[4], store");
  assert_lanes(run, lanes + 1, 1, "node[0]");
  run_free(run);
}

/* --- pictures ---------------------------------------------------------------------------------------------------- */

static void test_a_long_run_says_what_is_not_shown(void **state) {
  (void)state;
  Run *run = make_long_run();
  assert_true(run->step_count > 300);
  g_autofree char *scaled = trace_format_find("scaled")->write(run, NULL, NULL);
  g_autofree char *compact = trace_format_find("compact")->write(run, NULL, NULL);
  assert_non_null(strstr(scaled, "Steps 1 to 100 are squeezed, and their 80 messages are not drawn."));
  assert_non_null(strstr(compact, "12 rows tell 12 of the run's 400 steps."));
  run_free(run);
}

static void test_a_run_of_nothing_can_be_written(void **state) {
  (void)state;
  Maker m = make_run("empty", "");
  for (int32_t f = 0; f < trace_format_count; f++) {
    g_autofree char *text = trace_formats[f].write(m.run, NULL, NULL);
    assert_true(text[0] != '\0');
  }
  run_free(m.run);
}

static bool has_dot(void) {
  g_autofree char *program = g_find_program_in_path("dot");
  return program != NULL;
}

static void rename_everything(Run *run, const char *name) {
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    g_free(run->lanes[lane].name);
    run->lanes[lane].name = g_strdup(name);
  }
  for (int32_t i = 0; i < run->step_count; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      g_free(run->steps[i].events[j].text);
      run->steps[i].events[j].text = g_strdup(name);
    }
  }
  g_free(run->property_sentence);
  run->property_sentence = g_strdup(name);
}

/* Draws into a folder of its own; `dot` must accept the text. */
static void assert_drawable(const char *dot_text) {
  g_autofree char *folder = g_dir_make_tmp("lockstep-traces-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "picture.dot", NULL), *svg = render_output_path(path, "svg");
  g_autoptr(GError) error = NULL;
  assert_true(g_file_set_contents(path, dot_text, -1, NULL));
  if (!render_dot(path, "svg", &error)) {
    fail_msg("%s", error->message);
  }
  assert_true(g_file_test(svg, G_FILE_TEST_EXISTS));
  g_remove(svg);
  g_remove(path);
  g_rmdir(folder);
}

static void test_hostile_names_are_escaped(void **state) {
  (void)state;
  static const char *const names[] = {"<b>&\"\\N", "a\nb\tc", "\xff\xfe bad", "]]>--", "", "%s%n", "\x01", "ключ[0]"};
  for (size_t i = 0; i < G_N_ELEMENTS(names) && has_dot(); i++) {
    Run *run = make_stale_write();
    rename_everything(run, names[i]);
    g_autofree char *scaled = trace_format_find("scaled")->write(run, NULL, NULL);
    g_autofree char *compact = trace_format_find("compact")->write(run, NULL, NULL);
    assert_drawable(scaled);
    assert_drawable(compact);
    run_free(run);
  }
}

static void assert_render_error(const char *path, const char *format, int code, const char *part) {
  g_autoptr(GError) error = NULL;
  assert_false(render_dot(path, format, &error));
  assert_int_equal(error->code, code);
  if (!strstr(error->message, part)) {
    fail_msg("'%s' does not say '%s'", error->message, part);
  }
}

static void test_rendering_says_what_is_wrong(void **state) {
  (void)state;
  assert_render_error("x.dot", "gif", G_IO_ERROR_INVALID_ARGUMENT,
                      "unknown picture format 'gif'; there are svg, png, pdf");
  if (has_dot()) {
    assert_render_error("/nonexistent/x.dot", "svg", G_IO_ERROR_FAILED, "could not draw");
  }
  g_autofree char *path = g_strdup(g_getenv("PATH"));
  g_setenv("PATH", "/nonexistent", TRUE);
  assert_render_error("x.dot", "svg", G_IO_ERROR_NOT_FOUND, "the program 'dot' is not installed");
  g_setenv("PATH", path, TRUE);
}

static void test_formats_are_found_by_name(void **state) {
  (void)state;
  for (int32_t i = 0; i < trace_format_count; i++) {
    assert_ptr_equal(trace_format_find(trace_formats[i].name), &trace_formats[i]);
  }
  assert_null(trace_format_find("gif"));
}

/* --- JSON -------------------------------------------------------------------------------------------------------- */

static void test_a_trace_survives_the_round_trip(void **state) {
  (void)state;
  for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
    Run *run = fixtures[i].make();
    TraceMeta meta = some_meta(), meta_back = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *text = trace_to_json(run, &meta);
    Run *back = trace_from_json(text, strlen(text), &meta_back, &error);
    if (!back) {
      fail_msg("%s", error->message);
      return; /* not reached */
    }
    assert_string_equal(meta_back.model_hash, meta.model_hash);
    assert_int_equal(back->step_count, run->step_count);
    for (int32_t s = 0; s < run->step_count; s++) {
      assert_memory_equal(&back->steps[s].action, &run->steps[s].action, sizeof(Action));
    }
    g_autofree char *again = trace_to_json(back, &meta_back);
    assert_string_equal(again, text);
    trace_meta_clear(&meta);
    trace_meta_clear(&meta_back);
    run_free(run);
    run_free(back);
  }
}

static void test_every_field_of_an_event_survives(void **state) {
  (void)state;
  Maker m = make_run("m", "s");
  add_client(&m, "A", "client[0]");
  step_at(&m, G_MAXINT64);
  for (int kind = 0; kind < RUN_EVENT_KIND_COUNT; kind++) {
    RunEvent *event = add(&m, (RunEventKind)kind, 0, 0, "t\"\\\n\x01ü");
    *event = (RunEvent){event->kind,   0,          0, 7, 8, -9, 0, -G_MAXINT64, true, true, true, event->name,
                        event->before, event->text};
  }
  TraceMeta meta = some_meta();
  g_autofree char *text = trace_to_json(m.run, &meta);
  Run *back = trace_from_json(text, strlen(text), NULL, NULL);
  assert_non_null(back);
  for (int kind = 0; kind < RUN_EVENT_KIND_COUNT; kind++) {
    const RunEvent *a = &m.run->steps[0].events[kind], *b = &back->steps[0].events[kind];
    assert_true(a->kind == b->kind && a->lane == b->lane && a->peer == b->peer && a->message == b->message &&
                a->reply_to == b->reply_to && a->number == b->number && a->owner == b->owner &&
                a->duration_ns == b->duration_ns && b->flag_late && b->flag_lost && b->is_lock);
    assert_string_equal(a->text, b->text);
  }
  assert_true(back->steps[0].time_ns == G_MAXINT64);
  trace_meta_clear(&meta);
  run_free(m.run);
  run_free(back);
}

/* A small trace in which `from` is replaced by `to`. */
static void assert_rejected(const char *from, const char *to, const char *part) {
  Run *run = make_fischer();
  TraceMeta meta = some_meta();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = trace_to_json(run, &meta);
  const char *at = strstr(text, from);
  assert_non_null(at);
  g_autofree char *broken = g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  Run *back = trace_from_json(broken, strlen(broken), NULL, &error);
  assert_null(back);
  assert_non_null(error);
  if (!strstr(error->message, part)) {
    fail_msg("'%s' does not say '%s'", error->message, part);
  }
  trace_meta_clear(&meta);
  run_free(run);
}

static void test_a_bad_trace_is_rejected_with_its_reason(void **state) {
  (void)state;
  assert_rejected("lockstep-trace/1", "lockstep-trace/2",
                  "has the format 'lockstep-trace/2', and this lockstep reads 'lockstep-trace/1'");
  assert_rejected("lockstep-trace/1", "itf", "its format is 'itf'");
  assert_rejected("\"model\"", "\"modle\"", "'model' is missing");
  assert_rejected("\"lanes\": [", "\"lanes\": 3, \"x\": [", "'lanes' is no list");
  assert_rejected("\"time_ns\": 0", "\"time_ns\": -1", "step 1: 'time_ns' is -1, outside 0..");
  assert_rejected("\"time_ns\": 0", "\"time_ns\": 1.5", "step 1: 'time_ns' is no whole number");
  assert_rejected("\"time_ns\": 0", "\"time_ns\": 9", "step 2: 'time_ns' is 0, outside 9..");
  assert_rejected("\"event\": \"begin\"", "\"event\": \"began\"", "step 1: unknown event 'began'");
  assert_rejected("\"lane\": 0", "\"lane\": 3", "'lane' is 3, but there are 3 lanes");
  assert_rejected("\"peer\": 2", "\"owner\": 2", "'owner' is 2, which is no client");
  assert_rejected("\"kind\": 0", "\"kind\": 256", "'kind' is 256, outside 0..255");
  assert_rejected("\"name\": \"A\"", "\"name\": null", "lane 1: 'name' is no string");
  assert_rejected("\"client\": true", "\"client\": 1", "lane 1: 'client' is neither true nor false");
  assert_rejected("\"why\": []", "\"why\": [[]]", "reason 1 of 'why' is no string");
  assert_rejected("\"why\": []", "\"why\": [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]", "nested more than 16 deep");
  assert_rejected("\"steps\"", "/* no */ \"steps\"", "an unexpected character");
  assert_rejected("\"steps\"", "\xff", "not UTF-8");
  assert_rejected("{", "[", "not a trace");
}

/* Own generator: the mutants are the same on every machine. */
static uint32_t next_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

static bool read_and_write(const char *text, size_t length) {
  TraceMeta meta = {0};
  g_autoptr(GError) error = NULL;
  Run *run = trace_from_json(text, length, &meta, &error);
  assert_true((run == NULL) == (error != NULL));
  for (int32_t f = 0; run && f < trace_format_count; f++) {
    TextOptions options = {.is_full = f % 2 == 0, .has_colour = true};
    g_free(trace_formats[f].write(run, &meta, &options));
    g_free(text_report(run, &options));
  }
  trace_meta_clear(&meta);
  bool is_read = run != NULL;
  run_free(run);
  return is_read;
}

static void test_no_mutant_of_a_trace_crashes_reader_or_writers(void **state) {
  (void)state;
  uint64_t seed = 7;
  int read = 0, mutants = 0;
  print_message("seed %d\n", (int)seed);
  for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
    Run *run = fixtures[i].make();
    TraceMeta meta = some_meta();
    g_autofree char *text = trace_to_json(run, &meta);
    size_t length = strlen(text);
    CHECK(length > 0);
    for (size_t cut = 0; cut < length; cut += 97) {
      read += read_and_write(text, cut);
    }
    for (int mutant = 0; mutant < 300; mutant++, mutants++) {
      g_autofree char *copy = g_strdup(text);
      for (uint32_t change = next_random(&seed) % 4 + 1; change > 0; change--) {
        static const char letters[] = "0123456789-\"{}[],: aeflnrstu.";
        size_t at = next_random(&seed) % length;
        bool is_digit = g_ascii_isdigit(copy[at]);
        copy[at] = is_digit || next_random(&seed) % 3 == 0
                       ? letters[next_random(&seed) % (is_digit ? 10 : sizeof letters - 1)]
                       : copy[at];
      }
      read += read_and_write(copy, length);
    }
    trace_meta_clear(&meta);
    run_free(run);
  }
  print_message("%d of %d mutants were still traces\n", read, mutants);
  assert_true(read > 100 && read < mutants);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_format_of_every_story_is_as_in_its_golden_file),
      cmocka_unit_test(test_a_full_report_has_every_step),
      cmocka_unit_test(test_colour_changes_nothing_but_colour),
      cmocka_unit_test(test_each_step_is_in_one_beat_and_the_violation_is_told),
      cmocka_unit_test(test_rounds_that_differ_in_nothing_but_time_are_told_once),
      cmocka_unit_test(test_durations_read_well),
      cmocka_unit_test(test_lanes_of_an_array_are_named_as_slices),
      cmocka_unit_test(test_a_long_run_says_what_is_not_shown),
      cmocka_unit_test(test_a_run_of_nothing_can_be_written),
      cmocka_unit_test(test_hostile_names_are_escaped),
      cmocka_unit_test(test_rendering_says_what_is_wrong),
      cmocka_unit_test(test_formats_are_found_by_name),
      cmocka_unit_test(test_a_trace_survives_the_round_trip),
      cmocka_unit_test(test_every_field_of_an_event_survives),
      cmocka_unit_test(test_a_bad_trace_is_rejected_with_its_reason),
      cmocka_unit_test(test_no_mutant_of_a_trace_crashes_reader_or_writers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
