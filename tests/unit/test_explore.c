/* The search on toys: a graph whose edges ask that one number lie in a range and then shift it; a zone is an interval
 * of integers. And counters, which have no zone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "explore/exhaustive.h"
#include "explore/store.h"
#include "explore/timelock.h"
#include "explore/witness.h"

enum { A, B, C, D, E, F, EDGES_MAX = 16, LOG_MAX = 256, FAR = 1000000 };

typedef struct Edge {
  uint8_t from, to;
  int32_t low, high, shift; /* low .. high: what the number must be */
  uint16_t faults, steps;
  uint64_t violated;
} Edge;

typedef struct Graph {
  Edge edges[EDGES_MAX];
  uint8_t initials[3]; /* the number is `initial_low .. initial_high` */
  uint32_t initial_count;
  int32_t initial_low, initial_high;
  uint64_t initial_violated;
  bool frozen[8];
  uint64_t violations[8]; /* while the number is violation_low .. violation_high */
  int32_t violation_low, violation_high;
  char log[LOG_MAX]; /* the locations that were expanded, in order */
} Graph;

typedef struct Interval {
  int32_t low, high;
} Interval;

static Interval interval_of(SystemState state) {
  return (Interval){state.zone[0], state.zone[1]};
}

static void give(const uint8_t *location, Interval interval, Successor successor, SuccessorSink sink, void *user) {
  int32_t words[2] = {interval.low, interval.high};
  successor.state = (SystemState){location, 1, words, 2};
  sink(user, &successor);
}

static void graph_initial(void *self, bool canonical, SuccessorSink sink, void *user) {
  (void)canonical;
  const Graph *graph = self;
  for (uint32_t i = 0; i < graph->initial_count; i++) {
    Interval interval = {graph->initial_low, graph->initial_high};
    give(&graph->initials[i], interval, (Successor){.violated = graph->initial_violated}, sink, user);
  }
}

static void graph_successors(void *self, SystemState state, bool canonical, SuccessorSink sink, void *user) {
  (void)canonical;
  Graph *graph = self;
  Interval now = interval_of(state);
  uint8_t from = state.key[0];
  if (strlen(graph->log) < LOG_MAX - 1) {
    graph->log[strlen(graph->log)] = (char)('A' + from);
  }
  for (int i = 0; i < EDGES_MAX; i++) {
    const Edge *edge = &graph->edges[i];
    Interval met = {now.low > edge->low ? now.low : edge->low, now.high < edge->high ? now.high : edge->high};
    bool there = edge->steps > 0 || edge->faults > 0;
    if (there && edge->from == from && met.low <= met.high) {
      Successor successor = {.action = {.kind = (uint8_t)i, .choice_count = 2, .choices = {(uint8_t)i, 7}},
                             .faults = edge->faults,
                             .steps = edge->steps,
                             .violated = edge->violated};
      give(&edge->to, (Interval){met.low + edge->shift, met.high + edge->shift}, successor, sink, user);
    }
  }
}

static bool graph_covers(void *self, SystemState outer, const int32_t *inner) {
  (void)self;
  return outer.zone[0] <= inner[0] && inner[1] <= outer.zone[1];
}

static bool graph_join(void *self, SystemState state, int32_t *zone, const int32_t *other) {
  (void)self, (void)state;
  bool grows = other[0] < zone[0] || other[1] > zone[1];
  zone[0] = other[0] < zone[0] ? other[0] : zone[0];
  zone[1] = other[1] > zone[1] ? other[1] : zone[1];
  return grows;
}

static bool graph_merge(void *self, SystemState state, int32_t *zone, const int32_t *other) {
  bool touch = zone[0] <= other[1] + 1 && other[0] <= zone[1] + 1;
  if (touch) {
    graph_join(self, state, zone, other);
  }
  return touch;
}

static void graph_widen(void *self, SystemState state, int32_t *zone, const int32_t *old, uint32_t growth) {
  (void)self, (void)state;
  if (growth >= 3) {
    zone[1] = zone[1] > old[1] ? FAR : zone[1];
  }
}

static uint64_t graph_violations(void *self, SystemState state) {
  const Graph *graph = self;
  bool meets = state.zone[0] <= graph->violation_high && state.zone[1] >= graph->violation_low;
  return meets ? graph->violations[state.key[0]] : 0;
}

static bool graph_may_delay(void *self, SystemState state) {
  const Graph *graph = self;
  return !graph->frozen[state.key[0]];
}

static System graph_system(Graph *graph) {
  return (System){
      .self = graph,
      .initial = graph_initial,
      .successors = graph_successors,
      .violations = graph_violations,
      .may_delay = graph_may_delay,
      .covers = graph_covers,
      .join = graph_join,
      .merge = graph_merge,
  };
}

static Edge step(uint8_t from, uint8_t to) {
  return (Edge){.from = from, .to = to, .low = -FAR, .high = FAR, .steps = 1};
}

static Edge guarded(uint8_t from, uint8_t to, int32_t low, int32_t high, int32_t shift) {
  return (Edge){.from = from, .to = to, .low = low, .high = high, .shift = shift, .steps = 1};
}

static Edge priced(uint8_t from, uint8_t to, uint16_t faults, uint16_t steps) {
  return (Edge){.from = from, .to = to, .low = -FAR, .high = FAR, .faults = faults, .steps = steps};
}

static Edge violating(Edge edge, uint64_t violated) {
  edge.violated = violated;
  return edge;
}

static const ExploreOptions hull = {.limits.phase = "exploring"};
static const ExploreOptions exact = {.exact = true, .limits.phase = "exploring"};

static Exploration *explore_graph(System *system, Graph *graph, const ExploreOptions *options) {
  if (graph->initial_count == 0) {
    graph->initial_count = 1;
  }
  *system = graph_system(graph);
  return explore(system, options);
}

static void expect_hit(const Exploration *exploration, unsigned property, uint32_t faults, uint32_t steps) {
  assert_int_equal(exploration->hits[property], cost_of(faults, steps));
}

/* The run's actions as the numbers of their edges: "0 3 3". */
static void expect_run(const Exploration *exploration, unsigned property, const uint8_t *edges, uint32_t count) {
  Witness *witness = witness_search(exploration, UINT64_C(1) << property, &(SearchLimits){0});
  assert_int_equal(witness->outcome, WITNESS_FOUND);
  assert_int_equal(witness->action_count, count);
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(witness->actions[i].kind, edges[i]);
    assert_int_equal(witness->actions[i].choice_count, 2);
    assert_int_equal(witness->actions[i].choices[0], edges[i]);
    assert_int_equal(witness->actions[i].choices[1], 7);
  }
  witness_free(witness);
}

#define EXPECT_RUN(exploration, property, ...) \
  expect_run(exploration, property, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void expect_no_run(const Exploration *exploration, unsigned property) {
  Witness *witness = witness_search(exploration, UINT64_C(1) << property, &(SearchLimits){0});
  assert_int_equal(witness->outcome, WITNESS_NONE);
  assert_null(witness->actions);
  witness_free(witness);
}

/* Store */

static void test_pool_uses_freed_blocks_again(void **state) {
  (void)state;
  Pool pool = {0};
  uint32_t first = pool_take(&pool, 24), second = pool_take(&pool, 24);
  assert_true(first != POOL_NONE && second != first);
  pool_give_back(&pool, first, 24);
  assert_int_not_equal(pool_take(&pool, 32), first);
  assert_int_equal(pool_take(&pool, 17), first); /* as many units */
  assert_int_not_equal(pool_take(&pool, 24), first);
  pool_free(&pool);
}

static void test_store_numbers_states_in_order(void **state) {
  (void)state;
  Store store;
  store_init(&store);
  bool is_new;
  for (uint32_t i = 0; i < 50000; i++) {
    assert_int_equal(store_intern(&store, (SystemState){(const uint8_t *)&i, 4, NULL, 0}, &is_new), i);
    assert_true(is_new);
  }
  uint32_t wanted = 4711;
  assert_int_equal(store_find(&store, (const uint8_t *)&wanted, 4), wanted);
  assert_int_equal(store_find(&store, (const uint8_t *)&wanted, 3), STORE_NONE); /* a prefix is another key */
  assert_int_equal(store_intern(&store, (SystemState){(const uint8_t *)&wanted, 4, NULL, 0}, &is_new), wanted);
  assert_false(is_new);
  store_free(&store);
}

static void test_edges_are_united(void **state) {
  (void)state;
  Store store;
  store_init(&store);
  bool is_new;
  store_intern(&store, (SystemState){(const uint8_t *)"k", 1, NULL, 0}, &is_new);
  store_merge_edges(&store, 0, (StoredEdge[]){7, 3, 7, 5}, 4);
  store_merge_edges(&store, 0, (StoredEdge[]){9, 5, 1}, 3);
  store_merge_edges(&store, 0, NULL, 0);
  const StoredEdge wanted[] = {1, 3, 5, 7, 9};
  assert_int_equal(store_state(&store, 0)->edge_count, 5);
  assert_memory_equal(store_edges(&store, 0), wanted, sizeof wanted);
  store_free(&store);
}

static void test_labels_are_kept_once(void **state) {
  (void)state;
  Store store;
  store_init(&store);
  assert_int_equal(store_label(&store, 0, 0), 0);
  for (uint32_t i = 1; i < 1000; i++) {
    assert_int_equal(store_label(&store, cost_of(i % 3, i), UINT64_C(1) << i % 64), i);
  }
  assert_int_equal(store_label(&store, cost_of(700 % 3, 700), UINT64_C(1) << 700 % 64), 700);
  store_free(&store);
}

/* Search */

static void test_three_states(void **state) {
  (void)state;
  Graph graph = {.edges = {step(A, B), step(B, C), violating(step(C, A), 5)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  assert_int_equal(exploration->stopped, STOP_NOT);
  assert_int_equal(exploration->store.state_count, 3);
  assert_int_equal(exploration->store.zone_count, 3);
  assert_int_equal(exploration->expanded, 3);
  assert_int_equal(exploration->transitions, 3);
  assert_int_equal(exploration_hit_set(exploration), 5);
  expect_hit(exploration, 2, 0, 3);
  EXPECT_RUN(exploration, 0, 0, 1, 2);
  expect_no_run(exploration, 1);
  exploration_free(exploration);
}

static void test_fewer_faults_come_before_fewer_steps(void **state) {
  (void)state;
  Graph graph = {.edges = {violating(priced(A, B, 1, 1), 1), step(A, C), step(C, D), violating(priced(D, B, 0, 9), 1)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  expect_hit(exploration, 0, 0, 11);
  EXPECT_RUN(exploration, 0, 1, 2, 3);
  assert_string_equal(graph.log, "ACDBACDACD"); /* the search, the witness's nodes, the walk to its run */
  exploration_free(exploration);
}

static void test_a_cheaper_way_makes_a_waiting_state_cheaper(void **state) {
  (void)state;
  Graph graph = {.edges = {priced(A, B, 0, 9), priced(A, C, 0, 1), priced(C, B, 0, 1), violating(step(B, D), 1)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  expect_hit(exploration, 0, 0, 3);
  assert_int_equal(exploration->expanded, 4);
  exploration_free(exploration);
}

static void test_edges_without_cost_end(void **state) {
  (void)state;
  Graph graph = {.edges = {priced(A, B, 1, 0), priced(B, C, 0, 1), priced(C, B, 1, 0)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &exact);
  assert_int_equal(exploration->expanded, 3);
  exploration_free(exploration);
}

static void test_initial_state_may_violate(void **state) {
  (void)state;
  Graph graph = {.initial_count = 1, .initial_violated = 2, .violations = {[A] = 1}, .violation_high = 9};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  for (unsigned property = 0; property < 2; property++) {
    expect_hit(exploration, property, 0, 0);
    expect_run(exploration, property, NULL, 0);
  }
  exploration_free(exploration);
}

static void test_run_names_its_initial_state(void **state) {
  (void)state;
  Graph graph = {.initials = {A, B, C}, .initial_count = 3, .edges = {step(A, D), violating(step(C, D), 1)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  Witness *witness = witness_search(exploration, UINT64_C(1) << 0, &(SearchLimits){0});
  assert_int_equal(witness->initial_index, 2);
  assert_int_equal(witness->action_count, 1);
  assert_false(witness->state_violation);
  witness_free(witness);
  exploration_free(exploration);
}

static void test_state_violation_ends_in_that_state(void **state) {
  (void)state;
  Graph graph = {.edges = {guarded(A, B, 0, 0, 1), guarded(B, B, 0, 9, 1)},
                 .violations = {[B] = 1},
                 .violation_low = 4,
                 .violation_high = 4};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  Witness *witness = witness_search(exploration, UINT64_C(1) << 0, &(SearchLimits){0});
  assert_true(witness->state_violation);
  assert_int_equal(witness->steps, 4);
  witness_free(witness);
  EXPECT_RUN(exploration, 0, 0, 1, 1, 1);
  exploration_free(exploration);
}

/* Into B with 0 or with 5, and 3 would violate. */
static Graph graph_with_a_gap(void) {
  return (Graph){.edges = {guarded(A, B, 0, 0, 0), guarded(A, B, 0, 0, 5), violating(guarded(B, C, 3, 3, 0), 1)}};
}

static void test_hull_is_refuted_by_the_witness_search(void **state) {
  (void)state;
  Graph graph = graph_with_a_gap();
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  assert_int_equal(exploration_hit_set(exploration), 1);
  expect_no_run(exploration, 0);
  exploration_free(exploration);
}

static void test_exact_search_keeps_the_gap(void **state) {
  (void)state;
  Graph graph = graph_with_a_gap();
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &exact);
  assert_int_equal(exploration_hit_set(exploration), 0);
  assert_int_equal(exploration->store.state_count, 2);
  assert_int_equal(exploration->store.zone_count, 3);
  exploration_free(exploration);
}

static void test_true_hit_behind_a_spurious_one(void **state) {
  (void)state;
  Graph graph = graph_with_a_gap();
  graph.edges[3] = guarded(A, D, 0, 0, 0);
  graph.edges[4] = guarded(D, D, 0, 2, 1);
  graph.edges[5] = guarded(D, B, 3, 3, 0);
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  expect_hit(exploration, 0, 0, 2); /* a lower bound */
  EXPECT_RUN(exploration, 0, 3, 4, 4, 4, 5, 2);
  exploration_free(exploration);
}

static void test_dear_zone_does_not_replace_a_cheap_one_inside_it(void **state) {
  (void)state;
  Graph graph = {.initial_count = 1,
                 .initial_high = 9,
                 .edges = {guarded(A, B, 0, 0, 0), priced(A, B, 0, 3), violating(guarded(B, C, 0, 0, 0), 1)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &exact);
  EXPECT_RUN(exploration, 0, 0, 2);
  exploration_free(exploration);
}

static void test_zones_that_touch_are_merged_over_a_bridge(void **state) {
  (void)state;
  Graph graph = {.edges = {guarded(A, B, 0, 0, 0), guarded(A, B, 0, 0, 2), guarded(A, B, 0, 0, 1), step(B, C)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &exact);
  assert_int_equal(exploration->store.zone_count, 3);
  assert_string_equal(graph.log, "ABC"); /* nothing that was swallowed is expanded */
  exploration_free(exploration);
}

static void test_without_merge_zones_stay_apart(void **state) {
  (void)state;
  Graph graph = {.edges = {guarded(A, B, 0, 0, 0), guarded(A, B, 0, 0, 1)}, .initial_count = 1};
  System system = graph_system(&graph);
  system.merge = NULL;
  Exploration *exploration = explore(&system, &exact);
  assert_int_equal(exploration->store.zone_count, 3);
  exploration_free(exploration);
}

static void test_larger_zone_replaces_smaller_ones(void **state) {
  (void)state;
  Graph graph = {.initial_count = 1,
                 .initial_high = 9,
                 .edges = {guarded(A, B, 2, 2, 0), guarded(A, B, 7, 7, 0), guarded(A, B, 0, 9, 0)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &exact);
  assert_int_equal(exploration->store.zone_count, 2);
  assert_int_equal(exploration->expanded, 2);
  exploration_free(exploration);
}

static void test_grown_state_is_expanded_again_a_level_later(void **state) {
  (void)state;
  /* B is reached with 0 at once, and with 5 by way of C. */
  Graph graph = {.edges = {guarded(A, B, 0, 0, 0), step(A, C), guarded(C, B, 0, 0, 5), step(B, D)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  assert_string_equal(graph.log, "ABCDBD");
  assert_int_equal(exploration->expanded, 6);
  exploration_free(exploration);
}

static void test_least_recently_grown_comes_first(void **state) {
  (void)state;
  /* All at cost 1: B is met first, but grows last. */
  Graph graph = {.edges = {guarded(A, B, 0, 0, 0), step(A, C), step(A, D), guarded(A, B, 0, 0, 5)}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  assert_string_equal(graph.log, "ACDB");
  exploration_free(exploration);
}

static void test_widening_ends_growth(void **state) {
  (void)state;
  Graph graph = {.edges = {guarded(A, A, 0, 90000, 1)}, .initial_count = 1};
  System system = graph_system(&graph);
  Exploration *slow = explore(&system, &hull);
  system.widen = graph_widen;
  Exploration *fast = explore(&system, &hull);
  assert_int_equal(slow->expanded, 90002);
  assert_int_equal(fast->expanded, 4);
  assert_int_equal(store_state(&slow->store, 0)->growth, UINT16_MAX);
  exploration_free(slow);
  exploration_free(fast);
}

/* Timelocks */

static const SearchLimits unlimited;

static void expect_timelock(Graph graph, uint32_t state_index, uint32_t cycle_count) {
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  Timelock timelock = exploration_find_timelock(exploration, &unlimited);
  assert_true(timelock.found);
  assert_int_equal(timelock.state_index, state_index);
  assert_int_equal(timelock.cycle_count, cycle_count);
  assert_true(cycle_count == 0 || timelock.cycle[0] == state_index);
  timelock_free(&timelock);
  exploration_free(exploration);
}

static void test_cycle_without_delay_is_a_timelock(void **state) {
  (void)state;
  expect_timelock((Graph){.edges = {step(A, B), step(B, C), step(C, B)}, .frozen = {[B] = true, [C] = true}}, 1, 2);
  expect_timelock((Graph){.edges = {step(A, B), step(B, B)}, .frozen = {[B] = true}}, 1, 1);
}

static void test_end_without_delay_is_a_timelock(void **state) {
  (void)state;
  expect_timelock((Graph){.edges = {step(A, B)}, .frozen = {[B] = true}}, 1, 0);
}

static void expect_no_timelock(Graph graph, const ExploreOptions *options) {
  System system;
  Exploration *exploration = explore_graph(&system, &graph, options);
  assert_false(exploration_find_timelock(exploration, &unlimited).found);
  exploration_free(exploration);
}

static void test_delay_on_the_cycle_is_no_timelock(void **state) {
  (void)state;
  Graph graph = {.edges = {step(A, B), step(B, C), step(C, D), step(B, D), step(D, B)},
                 .frozen = {[A] = true, [B] = true, [C] = true}};
  expect_no_timelock(graph, &hull);
}

/* Regression: while something is overdue, a client waits (B) for 200 by its age, which is 0 or 200, and wakes (C) to
 * wait again, at age 0. The hull 0 .. 200 seems to go round for ever. */
static Graph graph_that_wakes_once(void) {
  return (Graph){.edges = {guarded(A, B, 0, 0, 0), guarded(A, B, 0, 0, 200), guarded(B, C, 200, 200, -200), step(C, B),
                           step(B, D), step(C, D)},
                 .frozen = {[B] = true, [C] = true}};
}

static void test_wait_that_is_woken_once_is_no_timelock(void **state) {
  (void)state;
  Graph graph = graph_that_wakes_once();
  expect_no_timelock(graph, &hull);
  expect_no_timelock(graph, &exact);
  graph.edges[3] = guarded(C, B, 0, 0, 200); /* now the wait begins at 200 again: found at C, from 0 to 0 */
  expect_timelock(graph, 2, 2);
}

static void test_cycle_that_uses_something_up_is_no_timelock(void **state) {
  (void)state;
  Graph graph = {
      .edges = {guarded(A, B, 0, 0, 300), guarded(B, C, 1, FAR, -1), step(C, B), guarded(B, B, 2, FAR, -2), step(B, D)},
      .frozen = {[B] = true, [C] = true}};
  expect_no_timelock(graph, &hull);
  expect_no_timelock(graph, &exact);
}

/* Round B and C only down to 7; there B and D go round for ever. */
static void test_true_cycle_behind_a_false_one(void **state) {
  (void)state;
  Graph graph = {.edges = {guarded(A, B, 0, 0, 20), guarded(B, C, 8, FAR, -1), step(C, B), guarded(B, D, 7, 7, 0),
                           step(D, B), step(B, E)},
                 .frozen = {[B] = true, [C] = true, [D] = true}};
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  Timelock timelock = exploration_find_timelock(exploration, &unlimited);
  assert_true(timelock.found);
  assert_int_equal(timelock.cycle_count, 2);
  for (uint32_t i = 0; i < 2; i++) {
    uint8_t location = store_view(&exploration->store, timelock.cycle[i], NULL).key[0];
    assert_true(location == B || location == D);
  }
  timelock_free(&timelock);
  exploration_free(exploration);
}

/* C is finished with 1, by way of B, before it is searched with all that it has. */
static void test_finished_zone_does_not_stand_for_a_larger_one(void **state) {
  (void)state;
  Graph graph = {.edges = {guarded(A, B, 0, 0, 0), guarded(A, C, 0, 0, 5), guarded(B, C, 0, 0, 1),
                           guarded(C, B, 3, 3, 0), guarded(C, C, 5, 5, 0)},
                 .frozen = {[B] = true, [C] = true}};
  expect_timelock(graph, 2, 1);
}

static StopReason stop_timelock(void *user, const Progress *progress) {
  (void)progress;
  return *(const StopReason *)user;
}

static void test_cycle_that_a_limit_left_unsettled_is_reported(void **state) {
  (void)state;
  Graph graph = graph_that_wakes_once();
  System system;
  Exploration *exploration = explore_graph(&system, &graph, &hull);
  StopReason answer = STOP_NOT;
  SearchLimits limits = {.memory_bytes = 1 << 30, .tick = stop_timelock, .user = &answer};
  assert_false(exploration_find_timelock(exploration, &limits).found);
  for (int32_t i = 0; i < 2; i++) {
    limits.memory_bytes = i == 0 ? 0 : 1;
    answer = i == 0 ? STOP_TIME : STOP_NOT;
    Timelock timelock = exploration_find_timelock(exploration, &limits);
    assert_true(timelock.found);
    assert_int_equal(timelock.stopped, i == 0 ? STOP_TIME : STOP_MEMORY);
    assert_int_equal(timelock.cycle_count, 2);
    assert_int_equal(timelock.state_index, timelock.cycle[0]);
    assert_int_equal(timelock.cycle[0] + timelock.cycle[1], 1 + 2);
    timelock_free(&timelock);
  }
  exploration_free(exploration);
}

/* Counters: a square of side * side states, without zones. */

typedef struct Counters {
  uint32_t side;
  uint32_t ticks;
  StopReason answer; /* of the tick, from its second call on */
  Progress last;
} Counters;

static void give_counters(uint32_t x, uint32_t y, uint64_t violated, SuccessorSink sink, void *user) {
  uint32_t key[2] = {x, y};
  sink(user, &(Successor){.state = {(const uint8_t *)key, sizeof key, NULL, 0}, .steps = 1, .violated = violated});
}

static void counters_initial(void *self, bool canonical, SuccessorSink sink, void *user) {
  (void)self, (void)canonical;
  give_counters(0, 0, 0, sink, user);
}

static void counters_successors(void *self, SystemState state, bool canonical, SuccessorSink sink, void *user) {
  (void)canonical;
  const Counters *counters = self;
  uint32_t key[2];
  memcpy(key, state.key, sizeof key);
  if (key[0] + 1 < counters->side) {
    give_counters(key[0] + 1, key[1], key[0] + 2 == counters->side ? 1 : 0, sink, user);
  }
  if (key[1] + 1 < counters->side) {
    give_counters(key[0], key[1] + 1, key[0] == 3 && key[1] == 3 ? 2 : 0, sink, user);
  }
}

static StopReason count_tick(void *user, const Progress *progress) {
  Counters *counters = user;
  counters->last = *progress;
  return ++counters->ticks == 1 ? STOP_NOT : counters->answer;
}

static System counters_system(Counters *counters) {
  return (System){.self = counters, .initial = counters_initial, .successors = counters_successors};
}

static Exploration *explore_counters(System *system, Counters *counters, uint64_t memory_bytes, uint64_t max_states) {
  *system = counters_system(counters);
  ExploreOptions options = {
      .max_states = max_states,
      .limits = {.memory_bytes = memory_bytes, .phase = "counting", .tick = count_tick, .user = counters}};
  return explore(system, &options);
}

static void test_square_of_counters(void **state) {
  (void)state;
  Counters counters = {.side = 200};
  System system;
  Exploration *exploration = explore_counters(&system, &counters, 0, 0);
  assert_int_equal(exploration->stopped, STOP_NOT);
  assert_int_equal(exploration->store.state_count, 40000);
  assert_int_equal(exploration->expanded, 40000);
  assert_int_equal(exploration->transitions, 2 * 200 * 199);
  expect_hit(exploration, 0, 0, 199);
  expect_hit(exploration, 1, 0, 7);
  assert_int_equal(counters.ticks, 1 + 40000 / 2048);
  assert_string_equal(counters.last.phase, "counting");
  Witness *witness = witness_search(exploration, UINT64_C(1) << 0, &(SearchLimits){0});
  assert_int_equal(witness->steps, 199);
  assert_int_equal(witness->expanded, 199);
  witness_free(witness);
  witness = witness_search(exploration, UINT64_C(1) << 1, &(SearchLimits){0});
  assert_int_equal(witness->expanded, 16); /* each state on one of the many runs that cost as much, once */
  witness_free(witness);
  exploration_free(exploration);
}

static void expect_stop(uint64_t memory_bytes, uint64_t max_states, StopReason answer, StopReason wanted) {
  Counters counters = {.side = 1000, .answer = answer};
  System system;
  Exploration *exploration = explore_counters(&system, &counters, memory_bytes, max_states);
  assert_int_equal(exploration->stopped, wanted);
  assert_true(exploration->store.state_count < 1000000);
  expect_hit(exploration, 1, 0, 7); /* what was seen remains */
  Witness *witness = witness_search(exploration, UINT64_C(1) << 1, &(SearchLimits){0});
  assert_int_equal(witness->outcome, WITNESS_FOUND);
  assert_int_equal(witness->steps, 7);
  witness_free(witness);
  exploration_free(exploration);
}

static void test_limits_stop_the_search(void **state) {
  (void)state;
  expect_stop(8 << 20, 0, STOP_NOT, STOP_MEMORY);
  expect_stop(0, 5000, STOP_NOT, STOP_STATES);
  expect_stop(0, 0, STOP_TIME, STOP_TIME);
  expect_stop(0, 0, STOP_INTERRUPT, STOP_INTERRUPT);
}

static void test_limit_of_states_is_inclusive(void **state) {
  (void)state;
  Counters counters = {.side = 20};
  System system;
  Exploration *exploration = explore_counters(&system, &counters, 0, 400);
  assert_int_equal(exploration->stopped, STOP_NOT);
  exploration_free(exploration);
}

static void test_memory_stays_below_its_limit(void **state) {
  (void)state;
  Counters counters = {.side = 1000};
  System system;
  Exploration *exploration = explore_counters(&system, &counters, 32 << 20, 0);
  assert_int_equal(exploration->stopped, STOP_MEMORY);
  assert_true(exploration->peak_bytes <= (33 << 20) && exploration->peak_bytes > (16 << 20));
  exploration_free(exploration);
}

static void test_limits_stop_the_witness_search(void **state) {
  (void)state;
  Counters counters = {.side = 100};
  System system;
  Exploration *exploration = explore_counters(&system, &counters, 0, 0);
  Witness *witness = witness_search(exploration, UINT64_C(1) << 0, &(SearchLimits){.memory_bytes = 1000});
  assert_int_equal(witness->outcome, WITNESS_LIMIT);
  assert_int_equal(witness->stopped, STOP_MEMORY);
  witness_free(witness);
  counters = (Counters){.side = 100, .ticks = 1, .answer = STOP_TIME};
  witness = witness_search(exploration, UINT64_C(1) << 0, &(SearchLimits){.tick = count_tick, .user = &counters});
  assert_int_equal(witness->outcome, WITNESS_LIMIT);
  assert_int_equal(witness->stopped, STOP_TIME);
  witness_free(witness);
  exploration_free(exploration);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pool_uses_freed_blocks_again),
      cmocka_unit_test(test_store_numbers_states_in_order),
      cmocka_unit_test(test_edges_are_united),
      cmocka_unit_test(test_labels_are_kept_once),
      cmocka_unit_test(test_three_states),
      cmocka_unit_test(test_fewer_faults_come_before_fewer_steps),
      cmocka_unit_test(test_a_cheaper_way_makes_a_waiting_state_cheaper),
      cmocka_unit_test(test_edges_without_cost_end),
      cmocka_unit_test(test_initial_state_may_violate),
      cmocka_unit_test(test_run_names_its_initial_state),
      cmocka_unit_test(test_state_violation_ends_in_that_state),
      cmocka_unit_test(test_hull_is_refuted_by_the_witness_search),
      cmocka_unit_test(test_exact_search_keeps_the_gap),
      cmocka_unit_test(test_true_hit_behind_a_spurious_one),
      cmocka_unit_test(test_dear_zone_does_not_replace_a_cheap_one_inside_it),
      cmocka_unit_test(test_zones_that_touch_are_merged_over_a_bridge),
      cmocka_unit_test(test_without_merge_zones_stay_apart),
      cmocka_unit_test(test_larger_zone_replaces_smaller_ones),
      cmocka_unit_test(test_grown_state_is_expanded_again_a_level_later),
      cmocka_unit_test(test_least_recently_grown_comes_first),
      cmocka_unit_test(test_widening_ends_growth),
      cmocka_unit_test(test_cycle_without_delay_is_a_timelock),
      cmocka_unit_test(test_end_without_delay_is_a_timelock),
      cmocka_unit_test(test_delay_on_the_cycle_is_no_timelock),
      cmocka_unit_test(test_wait_that_is_woken_once_is_no_timelock),
      cmocka_unit_test(test_cycle_that_uses_something_up_is_no_timelock),
      cmocka_unit_test(test_true_cycle_behind_a_false_one),
      cmocka_unit_test(test_finished_zone_does_not_stand_for_a_larger_one),
      cmocka_unit_test(test_cycle_that_a_limit_left_unsettled_is_reported),
      cmocka_unit_test(test_square_of_counters),
      cmocka_unit_test(test_limits_stop_the_search),
      cmocka_unit_test(test_limit_of_states_is_inclusive),
      cmocka_unit_test(test_memory_stays_below_its_limit),
      cmocka_unit_test(test_limits_stop_the_witness_search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
