/* The words for violations, on hand-made runs with the granularity of real ones: a step is one transition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "properties/why.h"

/* --- a run, built by hand ---------------------------------------------------------------------------------------- */

#define MS INT64_C(1000000)

typedef struct Maker {
  Run *run;
  int32_t next_message;
} Maker;

static int32_t add_lane(Maker *m, const char *name, bool is_client) {
  Run *run = m->run;
  run->lanes = g_renew(RunLane, run->lanes, (gsize)run->lane_count + 1);
  run->lanes[run->lane_count] =
      (RunLane){.name = g_strdup(name), .model_name = g_strdup(name), .is_client = is_client, .group = 1};
  return run->lane_count++;
}

static Maker make_run(void) {
  Run *run = g_new0(Run, 1);
  char **strings[] = {&run->model,    &run->model_text,        &run->scenario,   &run->scenario_text,
                      &run->property, &run->property_sentence, &run->faults_text};
  for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
    *strings[i] = g_strdup("");
  }
  return (Maker){.run = run, .next_message = 1};
}

static void step_at(Maker *m, int64_t time_ns) {
  Run *run = m->run;
  run->steps = g_renew(RunStep, run->steps, (gsize)run->step_count + 1);
  run->steps[run->step_count++] = (RunStep){.time_ns = time_ns};
}

static RunEvent *add(Maker *m, RunEventKind kind, int32_t lane, int32_t peer, const char *text) {
  RunStep *step = &m->run->steps[m->run->step_count - 1];
  step->events = g_renew(RunEvent, step->events, (gsize)step->event_count + 1);
  RunEvent *event = &step->events[step->event_count++];
  *event = (RunEvent){.kind = kind, .lane = lane, .peer = peer, .owner = -1};
  event->name = g_strdup("");
  event->before = g_strdup("");
  event->text = g_strdup(text);
  return event;
}

static RunEvent *numbered(Maker *m, RunEventKind kind, int32_t lane, int32_t peer, int32_t number) {
  RunEvent *event = add(m, kind, lane, peer, "");
  event->number = number;
  return event;
}

static RunEvent *variable(Maker *m, int32_t lane, const char *name, const char *before, const char *after,
                          int32_t owner) {
  RunEvent *event = add(m, RUN_VARIABLE, lane, -1, after);
  g_free(event->name);
  g_free(event->before);
  event->name = g_strdup(name);
  event->before = g_strdup(before);
  event->owner = owner;
  return event;
}

static void lock(Maker *m, int32_t lane, const char *before, const char *after, int32_t owner) {
  variable(m, lane, "owner", before, after, owner)->is_lock = true;
}

static void fire(Maker *m, int32_t lane) {
  RunEvent *event = add(m, RUN_FIRE, lane, -1, "");
  g_free(event->name);
  event->name = g_strdup("expiry");
}

static int32_t send_to(Maker *m, int32_t from, int32_t to, const char *text) {
  return add(m, RUN_SEND, from, to, text)->message = m->next_message++;
}

static void answer(Maker *m, int32_t server, int32_t client, int32_t request, const char *text) {
  RunEvent *event = add(m, RUN_SEND, server, client, text);
  event->message = m->next_message++;
  event->reply_to = request;
}

static RunEvent *arrive(Maker *m, int32_t lane, int32_t from, int32_t message, const char *text) {
  RunEvent *event = add(m, RUN_ARRIVE, lane, from, text);
  event->message = message;
  return event;
}

/* The answer that was sent last. */
static void hear(Maker *m, int32_t client, int32_t server, const char *text) {
  arrive(m, client, server, m->next_message - 1, text);
}

/* --- redlock, or one Redis server -------------------------------------------------------------------------------- */

enum { A, B, NODE, STORE = NODE + 5 };

static Maker make_redlock(void) {
  static const char *const names[] = {"A", "B", "node[0]", "node[1]", "node[2]", "node[3]", "node[4]", "store"};
  Maker m = make_run();
  for (int i = 0; i < 8; i++) {
    add_lane(&m, names[i], i < 2);
  }
  return m;
}

static const char *token_of(int32_t client) {
  return client == A ? "a1" : "b1";
}

static const char *call_of(int32_t client) {
  return client == A ? "set_nx(a1, 10s)" : "set_nx(b1, 10s)";
}

/* The client asks node[first] and the next ones in turn, 3 ms there and 3 ms back each, and gets them. */
static void acquire(Maker *m, int32_t client, int64_t start_ms, int first, int count) {
  step_at(m, start_ms * MS);
  numbered(m, RUN_BEGIN, client, -1, 0);
  numbered(m, RUN_ATTEMPT, client, -1, 1);
  for (int i = 0; i < count; i++) {
    int32_t node = NODE + first + i;
    int32_t message = send_to(m, client, node, call_of(client));
    step_at(m, (start_ms + 6 * i + 3) * MS);
    arrive(m, node, client, message, call_of(client));
    lock(m, node, "none", token_of(client), client);
    answer(m, node, client, message, "ok");
    step_at(m, (start_ms + 6 * i + 6) * MS);
    hear(m, client, node, "ok");
  }
}

static void check(Maker *m, int32_t client) {
  add(m, RUN_COMPARE, client, -1, "age(since) < 9.898s: yes");
}

static void enter(Maker *m, int32_t client, const char *token) {
  RunEvent *event = add(m, RUN_ENTER, client, -1, token);
  event->number = 1;
}

static void expire(Maker *m, int first, int count, int64_t time_ms) {
  for (int i = 0; i < count; i++) {
    step_at(m, (time_ms + i) * MS);
    fire(m, NODE + first + i);
    lock(m, NODE + first + i, "a1", "none", -1);
  }
}

/* A client has sent `call` to the store; it arrives. */
static void handled(Maker *m, int32_t client, int32_t message, const char *call, RunEventKind kind, int64_t time_ms) {
  step_at(m, time_ms * MS);
  arrive(m, STORE, client, message, call);
  numbered(m, kind, STORE, client, 1);
  answer(m, STORE, client, message, "ok");
}

static void read_store(Maker *m, int32_t client, const char *call, int64_t time_ms) {
  int32_t message = send_to(m, client, STORE, call);
  handled(m, client, message, call, RUN_OBSERVE, time_ms);
  step_at(m, (time_ms + 3) * MS);
  hear(m, client, STORE, "ok");
}

static void write_store(Maker *m, int32_t client, const char *call, int64_t time_ms) {
  int32_t message = send_to(m, client, STORE, call);
  handled(m, client, message, call, RUN_COMMIT, time_ms);
}

static void pause_a(Maker *m, int64_t time_ms) {
  step_at(m, time_ms * MS);
  check(m, A);
  add(m, RUN_PAUSE, A, -1, "before `ask store.write()`");
}

static void resume_a(Maker *m, int64_t time_ms, int64_t since_ms) {
  step_at(m, time_ms * MS);
  add(m, RUN_RESUME, A, -1, "")->duration_ns = (time_ms - since_ms) * MS;
}

/* --- what is expected -------------------------------------------------------------------------------------------- */

static void print_why(const Run *run) {
  print_message("  %s: %s.\n", run->property, run->property_sentence);
  for (int32_t w = 0; w < run->why_count; w++) {
    print_message("      %s.\n", run->why[w]);
  }
}

/* Explains and frees the run: the sentence, the parties and all the reasons. */
static void assert_explained(Maker *m, const char *property, const char *never, int32_t lane, int32_t peer,
                             const char *sentence, const char *const *reasons) {
  Run *run = m->run;
  why_explain(run, property, never);
  print_why(run);
  assert_string_equal(run->property, property);
  assert_string_equal(run->property_sentence, sentence);
  int32_t count = 0;
  for (; reasons != NULL && reasons[count] != NULL && count < run->why_count; count++) {
    assert_string_equal(run->why[count], reasons[count]);
  }
  assert_true(reasons == NULL || reasons[count] == NULL);
  assert_int_equal(count, run->why_count);
  if (run->step_count > 0) {
    const RunStep *last = &run->steps[run->step_count - 1];
    const RunEvent *event = &last->events[last->event_count - 1];
    assert_int_equal(event->kind, RUN_VIOLATION);
    assert_string_equal(event->name, property);
    assert_string_equal(event->text, sentence);
    assert_int_equal(event->lane, lane);
    assert_int_equal(event->peer, peer);
  }
  run_free(run);
}

#define REASONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- mutual exclusion -------------------------------------------------------------------------------------------- */

static void test_a_pause_outlasts_the_lock(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 5);
  check(&m, A);
  enter(&m, A, "");
  read_store(&m, A, "read()", 34);
  pause_a(&m, 458);
  expire(&m, 0, 5, 10003);
  acquire(&m, B, 10020, 1, 3);
  check(&m, B);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 10.038 s while A is still inside (since 0.030 s)",
      REASONS(
          "A entered at 0.030 s, because it had got the lock on node[0..4] by 0.027 s and found age(since) < 9.898s "
          "true",
          "A is still inside, because it has been paused since 0.458 s, right after it had found age(since) < 9.898s "
          "true",
          "B was right to enter at 10.038 s, because A's lock had expired on node[1], node[2] and node[3] by 10.006 "
          "s and B had got it there by 10.035 s",
          "So A's check of 0.458 s was 9.580 s old when B entered: the assumption failed that no pause outlasts the "
          "lock"));
}

/* B is inside already when A, which had checked before its pause, goes in. */
static void test_a_pause_between_check_and_entry(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 3);
  check(&m, A);
  add(&m, RUN_PAUSE, A, -1, "before `critical`");
  expire(&m, 0, 3, 10003);
  acquire(&m, B, 10020, 0, 3);
  enter(&m, B, "");
  resume_a(&m, 12000, 18);
  enter(&m, A, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, A, B, "A enters at 12.000 s while B is still inside (since 10.038 s)",
      REASONS(
          "B was right to enter at 10.038 s, because A's lock had expired on node[0], node[1] and node[2] by 10.005 "
          "s and B had got it there by 10.035 s",
          "A entered only at 12.000 s, because it was paused from 0.018 s to 12.000 s, right after it had found "
          "age(since) < 9.898s true",
          "So A's check of 0.018 s was 11.982 s old when it entered: the assumption failed that no pause outlasts "
          "the lock"));
}

static void test_a_clock_step_ends_a_lock_before_its_time(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 3);
  check(&m, A);
  enter(&m, A, "");
  step_at(&m, 1500 * MS);
  add(&m, RUN_CLOCK_STEP, NODE + 2, -1, "")->duration_ns = 10000 * MS;
  expire(&m, 2, 1, 1500);
  acquire(&m, B, 1900, 2, 3);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 1.918 s while A is still inside (since 0.018 s)",
      REASONS(
          "A entered at 0.018 s, because it had got the lock on node[0], node[1] and node[2] by 0.015 s and "
          "found age(since) < 9.898s true",
          "B was right to enter at 1.918 s, because A's lock had expired on node[2] at 1.500 s, when the clock of "
          "node[2] was stepped by 10.000 s, and B had got the lock on node[2], node[3] and node[4] by 1.915 s",
          "So the assumption failed that the clock of node[2] runs evenly, and A's lock there ended before its time; "
          "an expiry on a monotonic clock would not have jumped"));
}

static void test_a_server_forgets_what_it_has_granted(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 3);
  enter(&m, A, "");
  step_at(&m, 300 * MS);
  add(&m, RUN_CRASH, NODE + 1, -1, "losing its memory");
  lock(&m, NODE + 1, "a1", "none", -1);
  step_at(&m, 420 * MS);
  add(&m, RUN_RESTART, NODE + 1, -1, "");
  acquire(&m, B, 530, 1, 1);
  acquire(&m, B, 540, 3, 2);
  enter(&m, B, "");
  /* acquire() begins an attempt each time, and both are number 1 here. */
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 0.552 s while A is still inside (since 0.018 s)",
      REASONS(
          "A entered at 0.018 s, because it had got the lock on node[0], node[1] and node[2] by 0.015 s",
          "B was right to enter at 0.552 s, because node[1] had crashed at 0.300 s and lost its memory and A's lock "
          "with it, and B had got the lock on node[1], node[3] and node[4] by 0.549 s",
          "So the assumption failed that node[1] remembers a lock that it has granted"));
}

/* A works for longer than its lock lasts and looks at no clock. */
static void test_a_client_stays_inside_for_too_long(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10020, 0, 1);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 10.026 s while A is still inside (since 0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "B was right to enter at 10.026 s, because A's lock had expired on node[0] at 10.003 s and B "
              "had got it there at 10.023 s",
              "So A stayed inside for longer than its lock lasted"));
}

/* The reply with the grant is late, and A does not look how old it is. */
static void test_a_late_grant(void **state) {
  (void)state;
  Maker m = make_redlock();
  step_at(&m, 0);
  numbered(&m, RUN_ATTEMPT, A, -1, 1);
  int32_t request = send_to(&m, A, NODE, call_of(A));
  step_at(&m, 3 * MS);
  arrive(&m, NODE, A, request, call_of(A));
  lock(&m, NODE, "none", "a1", A);
  answer(&m, NODE, A, request, "ok");
  int32_t reply = m.next_message - 1;
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10020, 0, 1);
  enter(&m, B, "");
  step_at(&m, 11000 * MS);
  arrive(&m, A, NODE, reply, "ok")->flag_late = true;
  enter(&m, A, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, A, B, "A enters at 11.000 s while B is still inside (since 10.026 s)",
      REASONS("B was right to enter at 10.026 s, because A's lock had expired on node[0] at 10.003 s and B "
              "had got it there at 10.023 s",
              "A entered only at 11.000 s, because `ok` of node[0], sent at 0.003 s, arrived late, at "
              "11.000 s",
              "So A entered on a lock that had run out: the assumption failed that it gets there in time"));
}

/* A waits for a read whose request is late, and cannot know when its lock goes. */
static void test_a_late_call_keeps_a_client_inside(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  send_to(&m, A, STORE, "read()");
  m.run->steps[m.run->step_count - 1].events[2].flag_late = true;
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10020, 0, 1);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 10.026 s while A is still inside (since 0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "A is still inside, because it has been waiting since 0.006 s for store to answer its "
              "`read()`, and that is late",
              "B was right to enter at 10.026 s, because A's lock had expired on node[0] at 10.003 s and B "
              "had got it there at 10.023 s",
              "So A stayed inside for longer than its lock lasted"));
}

/* A naked DEL of the third client frees the lock of A. */
static void test_a_third_client_frees_the_lock(void **state) {
  (void)state;
  Maker m = make_redlock();
  int32_t c = add_lane(&m, "C", true);
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  step_at(&m, 50 * MS);
  numbered(&m, RUN_ATTEMPT, c, -1, 1);
  int32_t message = send_to(&m, c, NODE, "del()");
  step_at(&m, 60 * MS);
  arrive(&m, NODE, c, message, "del()");
  lock(&m, NODE, "a1", "none", -1);
  acquire(&m, B, 70, 0, 1);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 0.076 s while A is still inside (since 0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "B was right to enter at 0.076 s, because `del()` of C had freed A's lock on node[0] at 0.060 "
              "s and B had got it there at 0.073 s",
              "So node[0] let C free a lock of A; a release that compares the owner first would have left "
              "it"));
}

/* Two locks that have nothing to do with each other. */
static void test_two_locks_for_one_thing(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  acquire(&m, B, 10, 1, 1);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 0.016 s while A is still inside (since 0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "B entered at 0.016 s, because it had got the lock on node[1] at 0.013 s",
              "So both had got what they take for the lock at the same time, A on node[0] and B on node[1]"));
}

/* One ask of the shared variable of Fischer's protocol, which changes it if `before` is given. */
static void ask_shared(Maker *m, int32_t client, const char *call, const char *reply, const char *before, int64_t us) {
  int32_t message = send_to(m, client, NODE, call);
  step_at(m, us * 1000);
  arrive(m, NODE, client, message, call);
  if (before != NULL) {
    variable(m, NODE, "x", before, client == A ? "A" : "B", client);
  }
  answer(m, NODE, client, message, reply);
  step_at(m, us * 1000);
  hear(m, client, NODE, reply);
}

static void test_two_pass_the_test_of_a_shared_variable(void **state) {
  (void)state;
  Maker m = make_run();
  add_lane(&m, "A", true);
  add_lane(&m, "B", true);
  add_lane(&m, "shared", false);
  for (int32_t client = A; client <= B; client++) {
    step_at(&m, 100000);
    numbered(&m, RUN_ATTEMPT, client, -1, 1);
    ask_shared(&m, client, "get()", "none", NULL, 100 + client);
  }
  step_at(&m, 110000);
  ask_shared(&m, A, "set(A)", "ok", "none", 110);
  ask_shared(&m, A, "get()", "A", NULL, 121);
  enter(&m, A, "");
  step_at(&m, 121000);
  ask_shared(&m, B, "set(B)", "ok", "A", 122);
  ask_shared(&m, B, "get()", "B", NULL, 133);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 0.000133 s while A is still inside (since 0.000121 s)",
      REASONS(
          "A entered at 0.000121 s, after shared had answered its `get()` with `A` at 0.000121 s",
          "B entered at 0.000133 s, after shared had answered its `get()` with `B` at 0.000133 s",
          "B had not been kept out, because shared had answered its `get()` with `none` at 0.000101 s, before "
          "`set(A)` of A arrived at 0.00011 s",
          "So what A had been told at 0.000121 s no longer held when B entered, because `set(B)` of B had arrived at "
          "0.000122 s, after A's last look"));
}

/* The lock is a variable that anybody may write. */
static void test_an_overwritten_lock(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  step_at(&m, 10 * MS);
  numbered(&m, RUN_ATTEMPT, B, -1, 1);
  int32_t message = send_to(&m, B, NODE, "set(b1)");
  step_at(&m, 12 * MS);
  arrive(&m, NODE, B, message, "set(b1)");
  lock(&m, NODE, "a1", "b1", B);
  step_at(&m, 14 * MS);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 0.014 s while A is still inside (since 0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "B entered at 0.014 s, because `set(b1)` of B had overwritten A's lock on node[0] at 0.012 s "
              "and B had got it there at 0.012 s",
              "So node[0] let B overwrite the lock while it was held"));
}

/* A's own wall clock is set back, and its check says yes for too long. */
static void test_a_clock_step_of_a_client(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  step_at(&m, 1000 * MS);
  add(&m, RUN_CLOCK_STEP, A, -1, "")->duration_ns = -10000 * MS;
  expire(&m, 0, 1, 10003);
  step_at(&m, 10010 * MS);
  check(&m, A);
  acquire(&m, B, 10020, 0, 1);
  enter(&m, B, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, B, A, "B enters at 10.026 s while A is still inside (since 0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "A is still inside; it last found age(since) < 9.898s true at 10.010 s",
              "The clock of A was stepped by -10.000 s at 1.000 s, before it found age(since) < 9.898s true at "
              "10.010 s",
              "B was right to enter at 10.026 s, because A's lock had expired on node[0] at 10.003 s and B "
              "had got it there at 10.023 s",
              "So A stayed inside for longer than its lock lasted"));
}

static void test_nothing_is_claimed_where_nothing_is_known(void **state) {
  (void)state;
  Maker m = make_redlock();
  step_at(&m, 1000 * MS);
  enter(&m, A, "");
  step_at(&m, 2000 * MS);
  enter(&m, B, "");
  assert_explained(&m, "mutual_exclusion", NULL, B, A, "B enters at 2.000 s while A is still inside (since 1.000 s)",
                   NULL);
}

static void test_more_than_two_are_inside(void **state) {
  (void)state;
  Maker m = make_redlock();
  int32_t c = add_lane(&m, "C", true);
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  acquire(&m, B, 10, 1, 1);
  enter(&m, B, "");
  expire(&m, 0, 1, 10003);
  step_at(&m, 10010 * MS);
  numbered(&m, RUN_ATTEMPT, c, -1, 1);
  int32_t message = send_to(&m, c, NODE, "set_nx(c1, 10s)");
  step_at(&m, 10012 * MS);
  arrive(&m, NODE, c, message, "set_nx(c1, 10s)");
  lock(&m, NODE, "none", "c1", c);
  step_at(&m, 10014 * MS);
  enter(&m, c, "");
  assert_explained(
      &m, "mutual_exclusion", NULL, c, A,
      "C enters at 10.014 s while A (since 0.006 s) and B (since 0.016 s) are still inside",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "C was right to enter at 10.014 s, because A's lock had expired on node[0] at 10.003 s and C had got it "
              "there at 10.012 s",
              "So A stayed inside for longer than its lock lasted"));
}

/* --- writes ------------------------------------------------------------------------------------------------------ */

/* A reads and pauses; its lock expires; B enters, reads and writes; A goes on and writes. */
static Maker make_stale_write(const char *a_token, const char *b_token, const char *read_a, const char *read_b,
                              const char *write_a, const char *write_b) {
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 3);
  check(&m, A);
  enter(&m, A, a_token);
  read_store(&m, A, read_a, 34);
  pause_a(&m, 500);
  expire(&m, 0, 3, 10003);
  acquire(&m, B, 10020, 0, 3);
  check(&m, B);
  enter(&m, B, b_token);
  read_store(&m, B, read_b, 10050);
  write_store(&m, B, write_b, 10060);
  resume_a(&m, 10200, 500);
  write_store(&m, A, write_a, 10206);
  return m;
}

static const char entry_of_a[] =
    "A entered at 0.018 s, because it had got the lock on node[0], node[1] and node[2] by 0.015 s and found "
    "age(since) < 9.898s true";
static const char pause_of_a[] = "A sent its write only at 10.200 s, because it was paused from 0.500 s to 10.200 s, "
                                 "right after it had found age(since) < 9.898s true";
static const char right_of_b[] =
    "B was right to enter at 10.038 s, because A's lock had expired on node[0], node[1] and "
    "node[2] by 10.005 s and B had got it there by 10.035 s";

static void test_a_pause_before_a_write_loses_an_update(void **state) {
  (void)state;
  Maker m = make_stale_write("", "", "read()", "read()", "write()", "write()");
  assert_explained(
      &m, "lost_update", NULL, A, B,
      "store applies a write of A at 10.206 s, computed from what it read at 0.034 s, and loses that of B "
      "at 10.060 s",
      REASONS(entry_of_a, pause_of_a, right_of_b,
              ("So A's check of 0.500 s was 9.700 s old when it sent the write; a fencing token that store "
               "checks on reads and writes would have stopped it")));
}

static void test_a_pause_before_a_write_violates_fencing(void **state) {
  (void)state;
  Maker m = make_stale_write("", "", "read()", "read()", "write()", "write()");
  assert_explained(
      &m, "fencing", NULL, A, B,
      "store applies a write of A at 10.206 s, after one at 10.060 s of B, who entered later (at 10.038 s, "
      "A at 0.018 s)",
      REASONS(entry_of_a, pause_of_a, right_of_b,
              ("So A's check of 0.500 s was 9.700 s old when it sent the write; a fencing token that store "
               "checks on reads and writes would have stopped it")));
}

static void test_a_token_that_is_not_compared(void **state) {
  (void)state;
  Maker m = make_stale_write("33", "34", "read(33)", "read(34)", "write(33)", "write(34)");
  assert_explained(
      &m, "fencing", NULL, A, B,
      "store applies a write of A at 10.206 s, after one at 10.060 s of B, whose token is larger (34, that "
      "of A is 33)",
      REASONS(entry_of_a, pause_of_a, right_of_b,
              ("So A's check of 0.500 s was 9.700 s old when it sent the write; store had been shown 34 by B, "
               "and took the write with 33 all the same")));
}

static void test_a_token_that_the_write_does_not_show(void **state) {
  (void)state;
  Maker m = make_stale_write("33", "34", "read()", "read()", "write()", "write()");
  assert_explained(
      &m, "lost_update", NULL, A, B,
      "store applies a write of A at 10.206 s, computed from what it read at 0.034 s, and loses that of B "
      "at 10.060 s",
      REASONS(entry_of_a, pause_of_a, right_of_b,
              ("So A's check of 0.500 s was 9.700 s old when it sent the write; A entered with token 33, but "
               "its write did not show it to store")));
}

/* The resource compares tokens of writes only: A's old write comes between B's read and B's write. */
static void test_a_token_that_only_writes_show(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 3);
  check(&m, A);
  enter(&m, A, "33");
  read_store(&m, A, "read()", 34);
  pause_a(&m, 500);
  expire(&m, 0, 3, 10003);
  acquire(&m, B, 10020, 0, 3);
  enter(&m, B, "34");
  read_store(&m, B, "read()", 10050);
  resume_a(&m, 10200, 500);
  write_store(&m, A, "write(33)", 10206);
  step_at(&m, 10210 * MS);
  write_store(&m, B, "write(34)", 10216);
  assert_explained(
      &m, "lost_update", NULL, B, A,
      "store applies a write of B at 10.216 s, computed from what it read at 10.050 s, and loses that of A "
      "at 10.206 s",
      REASONS(entry_of_a, pause_of_a, right_of_b,
              ("So A's check of 0.500 s was 9.700 s old when it sent the write; store had not been shown 34, "
               "the token of B, when it took the write with 33: a read must present its token too")));
}

static void test_a_late_write(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 3);
  check(&m, A);
  enter(&m, A, "");
  read_store(&m, A, "read()", 34);
  step_at(&m, 338 * MS);
  check(&m, A);
  int32_t message = send_to(&m, A, STORE, "write()");
  m.run->steps[m.run->step_count - 1].events[1].flag_late = true;
  expire(&m, 0, 3, 10003);
  acquire(&m, B, 10020, 0, 3);
  enter(&m, B, "");
  read_store(&m, B, "read()", 10050);
  write_store(&m, B, "write()", 10060);
  handled(&m, A, message, "write()", RUN_COMMIT, 10992);
  m.run->steps[m.run->step_count - 1].events[0].flag_late = true;
  assert_explained(
      &m, "lost_update", NULL, A, B,
      "store applies a write of A at 10.992 s, computed from what it read at 0.034 s, and loses that of B "
      "at 10.060 s",
      REASONS(entry_of_a,
              "The write of A reached store only at 10.992 s, because it was late: sent at 0.338 s, it took "
              "10.654 s",
              right_of_b,
              "So A still had its lock when it sent the write, and no longer when the write arrived; a "
              "fencing token that store checks on reads and writes would have stopped it"));
}

/* The pause is over before the lock goes, but the check is stale: the write is on its way as the lock goes. */
static void test_a_pause_and_a_write_on_its_way(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  pause_a(&m, 40);
  resume_a(&m, 9995, 40);
  int32_t write = send_to(&m, A, STORE, "write()");
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10004, 0, 1);
  enter(&m, B, "");
  write_store(&m, B, "write()", 10012);
  handled(&m, A, write, "write()", RUN_COMMIT, 10015);
  assert_explained(
      &m, "fencing", NULL, A, B,
      "store applies a write of A at 10.015 s, after one at 10.012 s of B, who entered later (at 10.010 s, A "
      "at 0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "A sent its write only at 9.995 s, because it was paused from 0.040 s to 9.995 s, right after "
              "it had found age(since) < 9.898s true",
              "The write of A came after B entered at 10.010 s, because it was still on its way: sent at "
              "9.995 s, it arrived at 10.015 s",
              "B was right to enter at 10.010 s, because A's lock had expired on node[0] at 10.003 s and B "
              "had got it there at 10.007 s",
              "So A's check of 0.040 s was 9.955 s old when it sent the write; a fencing token that store "
              "checks on reads and writes would have stopped it"));
}

/* The read that A waits for is late, and so is what A does next. */
static void test_a_late_read(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  int32_t read = send_to(&m, A, STORE, "read()");
  m.run->steps[m.run->step_count - 1].events[2].flag_late = true;
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10004, 0, 1);
  enter(&m, B, "");
  read_store(&m, B, "read()", 10012);
  handled(&m, A, read, "read()", RUN_OBSERVE, 10016);
  m.run->steps[m.run->step_count - 1].events[0].flag_late = true;
  step_at(&m, 10020 * MS);
  hear(&m, A, STORE, "ok");
  write_store(&m, A, "write()", 10024);
  step_at(&m, 10030 * MS);
  write_store(&m, B, "write()", 10034);
  assert_explained(
      &m, "lost_update", NULL, B, A,
      "store applies a write of B at 10.034 s, computed from what it read at 10.012 s, and loses that of A "
      "at 10.024 s",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "A sent its write only at 10.020 s, because `read()` of A, sent at 0.006 s, arrived late, at "
              "10.016 s",
              "B was right to enter at 10.010 s, because A's lock had expired on node[0] at 10.003 s and B "
              "had got it there at 10.007 s",
              "So the write of A came after its lock had expired; a fencing token that store checks on reads "
              "and writes would have stopped it"));
}

/* A's last grant is late, and A looks at no clock: it enters after B, and B's write is the one that comes after. */
static void test_a_write_after_that_of_one_without_a_lock(void **state) {
  (void)state;
  Maker m = make_redlock();
  step_at(&m, 0);
  numbered(&m, RUN_ATTEMPT, A, -1, 1);
  int32_t request = send_to(&m, A, NODE, call_of(A));
  step_at(&m, 3 * MS);
  arrive(&m, NODE, A, request, call_of(A));
  lock(&m, NODE, "none", "a1", A);
  answer(&m, NODE, A, request, "ok");
  int32_t grant = m.next_message - 1;
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10010, 0, 1);
  enter(&m, B, "");
  step_at(&m, 10020 * MS);
  arrive(&m, A, NODE, grant, "ok")->flag_late = true;
  enter(&m, A, "");
  write_store(&m, A, "write()", 10024);
  step_at(&m, 10030 * MS);
  write_store(&m, B, "write()", 10034);
  assert_explained(
      &m, "fencing", NULL, B, A,
      "store applies a write of B at 10.034 s, after one at 10.024 s of A, who entered later (at 10.020 s, B "
      "at 10.016 s)",
      REASONS("B was right to enter at 10.016 s, because A's lock had expired on node[0] at 10.003 s and B "
              "had got it there at 10.013 s",
              "A entered only at 10.020 s, because `ok` of node[0], sent at 0.003 s, arrived late, at "
              "10.020 s",
              "So A entered on a lock that had run out: the assumption failed that it gets there in time"));
}

/* Without a lock variable nobody knows what a token would have been. */
static void test_no_token_is_promised_where_no_lock_is_known(void **state) {
  (void)state;
  Maker m = make_redlock();
  step_at(&m, 10 * MS);
  enter(&m, A, "");
  int32_t write = send_to(&m, A, STORE, "write()");
  step_at(&m, 20 * MS);
  enter(&m, B, "");
  write_store(&m, B, "write()", 22);
  handled(&m, A, write, "write()", RUN_COMMIT, 30);
  assert_explained(
      &m, "fencing", NULL, A, B,
      "store applies a write of A at 0.030 s, after one at 0.022 s of B, who entered later (at 0.020 s, A at "
      "0.010 s)",
      REASONS("The write of A came after B entered at 0.020 s, because it was still on its way: sent at "
              "0.010 s, it arrived at 0.030 s",
              "So the write of A came when B had entered after it"));
}

/* A gives up waiting for its write and lets the lock go; the write comes when B has written. */
static void test_a_write_that_outlives_its_lock(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  read_store(&m, A, "read()", 34);
  int32_t write = send_to(&m, A, STORE, "write()");
  m.run->steps[m.run->step_count - 1].events[1].flag_late = true;
  step_at(&m, 87 * MS);
  add(&m, RUN_TIMEOUT, A, STORE, "write()");
  numbered(&m, RUN_LEAVE, A, -1, 1);
  int32_t release = send_to(&m, A, NODE, "release(a1)");
  step_at(&m, 90 * MS);
  arrive(&m, NODE, A, release, "release(a1)");
  lock(&m, NODE, "a1", "none", -1);
  acquire(&m, B, 100, 0, 1);
  enter(&m, B, "");
  write_store(&m, B, "write()", 110);
  handled(&m, A, write, "write()", RUN_COMMIT, 120);
  m.run->steps[m.run->step_count - 1].events[0].flag_late = true;
  assert_explained(
      &m, "fencing", NULL, A, B,
      "store applies a write of A at 0.120 s, after one at 0.110 s of B, who entered later (at 0.106 s, A at "
      "0.006 s)",
      REASONS("A entered at 0.006 s, because it had got the lock on node[0] at 0.003 s",
              "The write of A reached store only at 0.120 s, because it was late: sent at 0.037 s, it took "
              "0.083 s",
              "B was right to enter at 0.106 s, because `release(a1)` of A had freed A's lock on node[0] at "
              "0.090 s and B had got it there at 0.103 s",
              "So A had given its lock back before its write was applied; a fencing token that store checks "
              "on reads and writes would have stopped it"));
}

/* No lateness: the write is on its way while the lock goes. */
static void test_a_write_on_its_way(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 3);
  check(&m, A);
  enter(&m, A, "");
  read_store(&m, A, "read()", 34);
  step_at(&m, 10000 * MS);
  int32_t message = send_to(&m, A, STORE, "write()");
  expire(&m, 0, 3, 10003);
  acquire(&m, B, 10020, 0, 3);
  enter(&m, B, "");
  write_store(&m, B, "write()", 10039);
  handled(&m, A, message, "write()", RUN_COMMIT, 10040);
  assert_explained(
      &m, "fencing", NULL, A, B,
      "store applies a write of A at 10.040 s, after one at 10.039 s of B, who entered later (at 10.038 s, A "
      "at 0.018 s)",
      REASONS(entry_of_a,
              "The write of A came after B entered at 10.038 s, because it was still on its way: sent at "
              "10.000 s, it arrived at 10.040 s",
              right_of_b,
              "So A still had its lock when it sent the write, and no longer when the write arrived; a "
              "fencing token that store checks on reads and writes would have stopped it"));
}

/* --- owner_release, deadlock, never ------------------------------------------------------------------------------ */

static void test_a_naked_del_after_the_expiry(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10020, 0, 1);
  step_at(&m, 10500 * MS);
  int32_t message = send_to(&m, A, NODE, "del()");
  step_at(&m, 10505 * MS);
  arrive(&m, NODE, A, message, "del()");
  lock(&m, NODE, "b1", "none", -1);
  assert_explained(
      &m, "owner_release", NULL, A, B, "`del()` of A frees the lock of B on node[0] at 10.505 s (b1, set at 10.023 s)",
      REASONS(
          "It was no longer the lock of A, who had set it at 0.003 s, because it had expired on node[0] at 10.003 s",
          "B was right to set it at 10.023 s, because it was free then",
          "So `del()` freed a lock that its attempt had not set; a release that compares the owner first would have "
          "left it"));
}

static void test_a_pause_before_a_naked_del(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  pause_a(&m, 500);
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10020, 0, 1);
  resume_a(&m, 10500, 500);
  int32_t message = send_to(&m, A, NODE, "del()");
  step_at(&m, 10505 * MS);
  arrive(&m, NODE, A, message, "del()");
  lock(&m, NODE, "b1", "none", -1);
  assert_explained(
      &m, "owner_release", NULL, A, B, "`del()` of A frees the lock of B on node[0] at 10.505 s (b1, set at 10.023 s)",
      REASONS(
          "It was no longer the lock of A, who had set it at 0.003 s, because it had expired on node[0] at 10.003 s",
          "B was right to set it at 10.023 s, because it was free then",
          "A sent `del()` only at 10.500 s, because it was paused from 0.500 s to 10.500 s, right after it had found "
          "age(since) < 9.898s true",
          "So `del()` freed a lock that its attempt had not set; a release that compares the owner first would have "
          "left it"));
}

/* The pause ends before the lock does, but the `del` is on its way when another one sets it. */
static void test_a_naked_del_on_its_way(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  pause_a(&m, 500);
  resume_a(&m, 10000, 500);
  int32_t message = send_to(&m, A, NODE, "del()");
  expire(&m, 0, 1, 10003);
  acquire(&m, B, 10004, 0, 1);
  step_at(&m, 10012 * MS);
  arrive(&m, NODE, A, message, "del()");
  lock(&m, NODE, "b1", "none", -1);
  assert_explained(
      &m, "owner_release", NULL, A, B, "`del()` of A frees the lock of B on node[0] at 10.012 s (b1, set at 10.007 s)",
      REASONS(
          "It was no longer the lock of A, who had set it at 0.003 s, because it had expired on node[0] at 10.003 s",
          "B was right to set it at 10.007 s, because it was free then",
          "A sent `del()` only at 10.000 s, because it was paused from 0.500 s to 10.000 s, right after it had found "
          "age(since) < 9.898s true",
          "`del()` was sent at 10.000 s, before B had set the lock, and arrived after",
          "So `del()` freed a lock that its attempt had not set; a release that compares the owner first would have "
          "left it"));
}

/* A lets the lock go though it never got it. */
static void test_a_del_of_a_lock_that_it_never_had(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, B, 0, 0, 1);
  step_at(&m, 100 * MS);
  numbered(&m, RUN_ATTEMPT, A, -1, 1);
  int32_t message = send_to(&m, A, NODE, call_of(A));
  step_at(&m, 103 * MS);
  arrive(&m, NODE, A, message, call_of(A));
  answer(&m, NODE, A, message, "nil");
  step_at(&m, 106 * MS);
  hear(&m, A, NODE, "nil");
  message = send_to(&m, A, NODE, "del()");
  step_at(&m, 109 * MS);
  arrive(&m, NODE, A, message, "del()");
  lock(&m, NODE, "b1", "none", -1);
  assert_explained(
      &m, "owner_release", NULL, A, B, "`del()` of A frees the lock of B on node[0] at 0.109 s (b1, set at 0.003 s)",
      REASONS("It was not the lock of A, because A had not set it: node[0] had answered its `set_nx(a1, 10s)` "
              "with `nil` at 0.103 s",
              "B was right to set it at 0.003 s, because it was free then",
              "So `del()` freed a lock that its attempt had not set; a release that compares the owner "
              "first would have left it"));
}

static void test_a_del_of_another_round(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  int32_t message = send_to(&m, A, NODE, "del()");
  m.run->steps[m.run->step_count - 1].events[1].flag_late = true;
  expire(&m, 0, 1, 10003);
  step_at(&m, 10010 * MS);
  numbered(&m, RUN_ATTEMPT, A, -1, 2);
  int32_t again = send_to(&m, A, NODE, "set_nx(a2, 10s)");
  step_at(&m, 10012 * MS);
  arrive(&m, NODE, A, again, "set_nx(a2, 10s)");
  lock(&m, NODE, "none", "a2", A);
  step_at(&m, 10020 * MS);
  arrive(&m, NODE, A, message, "del()")->flag_late = true;
  lock(&m, NODE, "a2", "none", -1);
  assert_explained(
      &m, "owner_release", NULL, A, A,
      "`del()` of A (attempt 1) frees the lock of A (attempt 2) on node[0] at 10.020 s (a2, set at 10.012 s)",
      REASONS(
          "It was no longer the lock of A (attempt 1), who had set it at 0.003 s, because it had expired on node[0] "
          "at 10.003 s",
          "A (attempt 2) was right to set it at 10.012 s, because it was free then",
          "`del()` arrived only at 10.020 s, because it was late: sent at 0.006 s, it took 10.014 s",
          "So `del()` freed a lock that its attempt had not set; a release that compares a value that is fresh for "
          "each attempt first would have left it"));
}

static void test_two_wait_for_each_other(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  int32_t a = send_to(&m, A, NODE + 1, "lock()");
  acquire(&m, B, 10, 1, 1);
  int32_t b = send_to(&m, B, NODE, "lock()");
  step_at(&m, 20 * MS);
  arrive(&m, NODE + 1, A, a, "lock()");
  step_at(&m, 22 * MS);
  arrive(&m, NODE, B, b, "lock()");
  assert_explained(
      &m, "deadlock", NULL, A, B,
      "Nothing can happen any more after 0.022 s: A has been waiting since 0.006 s for node[1] to "
      "answer its `lock()`, which arrived at 0.020 s; B has been waiting since 0.016 s for node[0] to answer "
      "its `lock()`, which arrived at 0.022 s",
      NULL);
}

static void test_a_lost_reply_is_waited_for(void **state) {
  (void)state;
  Maker m = make_redlock();
  step_at(&m, 0);
  int32_t a = send_to(&m, A, NODE, "lock()");
  step_at(&m, 5 * MS);
  arrive(&m, NODE, A, a, "lock()");
  answer(&m, NODE, A, a, "ok");
  m.run->steps[1].events[1].flag_lost = true;
  assert_explained(&m, "deadlock", NULL, A, -1,
                   "Nothing can happen any more after 0.005 s: A has been waiting since 0.000 s for node[0] to "
                   "answer its `lock()`, and the answer was lost",
                   NULL);
}

static void test_what_a_model_forbids(void **state) {
  (void)state;
  static const char never[] = "two jobs run in one period";
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  acquire(&m, B, 10, 1, 1);
  enter(&m, B, "");
  assert_explained(&m, never, never, B, -1,
                   "It is violated after B enters its critical section at 0.016 s (inside: A since 0.006 s)", NULL);
}

static void test_what_a_model_forbids_when_time_has_passed(void **state) {
  (void)state;
  Maker m = make_redlock();
  acquire(&m, A, 0, 0, 1);
  enter(&m, A, "");
  m.run->end_ns = 12000 * MS;
  assert_explained(&m, "held too long", "held too long", A, -1,
                   "It is violated at 12.000 s, after A enters its critical section at 0.006 s", NULL);
}

static void test_a_run_without_steps(void **state) {
  (void)state;
  Maker m = make_redlock();
  assert_explained(&m, "deadlock", NULL, -1, -1, "It is violated from the beginning", NULL);
  m = make_redlock();
  step_at(&m, 0); /* a step without events */
  assert_explained(&m, "fencing", NULL, -1, -1, "It is violated from the beginning", NULL);
}

/* Times are told in the run's own size, rounded. */
static void test_times_are_rounded(void **state) {
  (void)state;
  Maker m = make_redlock();
  step_at(&m, 4739000001);
  enter(&m, A, "");
  step_at(&m, 10050499999);
  enter(&m, B, "");
  assert_explained(&m, "mutual_exclusion", NULL, B, A, "B enters at 10.050 s while A is still inside (since 4.739 s)",
                   NULL);
}

/* Whatever the events are, there is a sentence, and nothing is read out of bounds. */
static uint32_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*seed >> 33);
}

static void add_random_event(Maker *m, uint64_t *seed) {
  static const char *const texts[] = {"", "none", "a1", "b1", "33", "write(33)", "ok", "age(x) < 1s: yes", "(", ":"};
  int32_t lane = (int32_t)(next_random(seed) % 8), peer = (int32_t)(next_random(seed) % 8);
  static const RunEventKind likely[] = {RUN_ENTER, RUN_COMMIT, RUN_OBSERVE, RUN_VARIABLE, RUN_ARRIVE, RUN_SEND};
  bool is_likely = next_random(seed) % 2 == 0;
  RunEventKind kind = is_likely ? likely[next_random(seed) % 6] : (RunEventKind)(next_random(seed) % RUN_VIOLATION);
  lane = is_likely ? (kind == RUN_ENTER ? lane % 2 : NODE + lane % 2) : lane;
  peer = is_likely ? peer % 2 : peer;
  RunEvent *event = add(m, kind, lane, peer, texts[next_random(seed) % 10]);
  g_free(event->before);
  event->before = g_strdup(texts[next_random(seed) % 10]);
  event->is_lock = next_random(seed) % 4 > 0;
  event->owner = (int32_t)(next_random(seed) % 3) - 1;
  event->message = (int32_t)(next_random(seed) % 12);
  event->reply_to = (int32_t)(next_random(seed) % 6);
  event->number = next_random(seed) % 8 == 0 ? 2 : 1;
  event->flag_late = next_random(seed) % 3 == 0;
  event->duration_ns = (int64_t)next_random(seed) - 1000000000;
}

static void test_no_run_is_too_odd(void **state) {
  (void)state;
  static const char *const properties[] = {"mutual_exclusion", "fencing",  "lost_update",
                                           "owner_release",    "deadlock", "x"};
  uint64_t seed = 7;
  int32_t reasons = 0;
  print_message("seed %d\n", (int)seed);
  for (int round = 0; round < 6000; round++) {
    Maker m = make_redlock();
    for (uint32_t s = 0, steps = next_random(&seed) % 20; s < steps; s++) {
      step_at(&m, (int64_t)s * 700 * MS);
      for (uint32_t e = next_random(&seed) % 6; e > 0; e--) {
        add_random_event(&m, &seed);
      }
    }
    why_explain(m.run, properties[round % 6], NULL);
    assert_true(strlen(m.run->property_sentence) > 10);
    reasons += m.run->why_count;
    run_free(m.run);
  }
  print_message("%d reasons\n", (int)reasons);
  assert_true(reasons > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_pause_outlasts_the_lock),
      cmocka_unit_test(test_a_pause_between_check_and_entry),
      cmocka_unit_test(test_a_clock_step_ends_a_lock_before_its_time),
      cmocka_unit_test(test_a_server_forgets_what_it_has_granted),
      cmocka_unit_test(test_a_client_stays_inside_for_too_long),
      cmocka_unit_test(test_a_late_grant),
      cmocka_unit_test(test_a_late_call_keeps_a_client_inside),
      cmocka_unit_test(test_a_third_client_frees_the_lock),
      cmocka_unit_test(test_two_locks_for_one_thing),
      cmocka_unit_test(test_two_pass_the_test_of_a_shared_variable),
      cmocka_unit_test(test_an_overwritten_lock),
      cmocka_unit_test(test_a_clock_step_of_a_client),
      cmocka_unit_test(test_nothing_is_claimed_where_nothing_is_known),
      cmocka_unit_test(test_more_than_two_are_inside),
      cmocka_unit_test(test_a_pause_before_a_write_loses_an_update),
      cmocka_unit_test(test_a_pause_before_a_write_violates_fencing),
      cmocka_unit_test(test_a_token_that_is_not_compared),
      cmocka_unit_test(test_a_token_that_the_write_does_not_show),
      cmocka_unit_test(test_a_token_that_only_writes_show),
      cmocka_unit_test(test_a_late_write),
      cmocka_unit_test(test_a_pause_and_a_write_on_its_way),
      cmocka_unit_test(test_a_late_read),
      cmocka_unit_test(test_a_write_after_that_of_one_without_a_lock),
      cmocka_unit_test(test_no_token_is_promised_where_no_lock_is_known),
      cmocka_unit_test(test_a_write_that_outlives_its_lock),
      cmocka_unit_test(test_a_write_on_its_way),
      cmocka_unit_test(test_a_naked_del_after_the_expiry),
      cmocka_unit_test(test_a_pause_before_a_naked_del),
      cmocka_unit_test(test_a_naked_del_on_its_way),
      cmocka_unit_test(test_a_del_of_a_lock_that_it_never_had),
      cmocka_unit_test(test_a_del_of_another_round),
      cmocka_unit_test(test_two_wait_for_each_other),
      cmocka_unit_test(test_a_lost_reply_is_waited_for),
      cmocka_unit_test(test_what_a_model_forbids),
      cmocka_unit_test(test_what_a_model_forbids_when_time_has_passed),
      cmocka_unit_test(test_a_run_without_steps),
      cmocka_unit_test(test_times_are_rounded),
      cmocka_unit_test(test_no_run_is_too_odd),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
