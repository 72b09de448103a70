#include "explore/random.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

#include "base/check.h"
#include "properties/property.h"

/* --- what a batch has seen --------------------------------------------------------------------------------------- */

enum { SEEN_BITS = 17, SEEN_SLOTS = 1 << SEEN_BITS };

/* Hashes in open addressing; when it is three quarters full nothing is new any more. */
typedef struct SeenSet {
  uint64_t slots[SEEN_SLOTS];
  int32_t count;
} SeenSet;

static bool seen_add(SeenSet *seen, uint64_t hash) {
  hash |= hash == 0;
  uint64_t at = hash >> (64 - SEEN_BITS);
  while (seen->slots[at] != 0) {
    if (seen->slots[at] == hash) {
      return false;
    }
    at = (at + 1) % SEEN_SLOTS;
  }
  if (seen->count >= SEEN_SLOTS / 4 * 3) {
    return false;
  }
  seen->slots[at] = hash;
  seen->count++;
  return true;
}

/* --- the search -------------------------------------------------------------------------------------------------- */

typedef struct Batch {
  bool is_done;
  uint64_t runs, steps, entries, found;
  Find finds[WORLD_PROPERTIES_MAX];
  Problem problems[WORLD_PROBLEMS_MAX];
  int32_t problem_count;
} Batch;

typedef struct Search {
  const Program *program;
  const RandomOptions *options;
  GMutex mutex;                    /* guards what follows */
  Batch **batches;                 /* under way, or done and not counted yet; else NULL */
  int64_t batch_count, next, last; /* batches behind `last` do not matter any more */
  int64_t settled;                 /* all batches up to this one are counted in the result */
  uint64_t found;                  /* by those */
  RandomResult *result;
  RandomProgress progress;
  StopReason stopped;
} Search;

/* One thread, with all the memory that its runs need. */
typedef struct Worker {
  Search *search;
  World *world;
  Clocks clocks;
  Walk *walk;
  void *selves[STRATEGY_COUNT];
  SeenSet *seen;
  uint8_t *packed;
  Batch *batch;
  int64_t number;
  bool looks_at_states; /* some property may be violated by a state alone, while time passes */
  uint64_t reported_runs, reported_steps, new_states, new_reported;
} Worker;

static void hear(void *user, const Step *step, const Event *event) {
  Worker *worker = user;
  (void)step;
  worker->batch->entries += event->kind == EVENT_ENTER;
}

/* --- worlds ------------------------------------------------------------------------------------------------------ */

/* Clocks that the scenario leaves open get one of their extremes for a batch. */
static void draw_clocks(const Program *program, uint64_t seed, Clocks *clocks) {
  static const ClockRate rates[] = {RATE_SLOW, RATE_EXACT, RATE_FAST};
  Rng rng = rng_new(rng_derive_named(seed, "clocks"));
  *clocks = (Clocks){.suspends = rng_one_in(&rng, 2) ? SUSPEND_SHORTEST : SUSPEND_LONGEST};
  for (int32_t p = 0; p < program->client_count + program->server_count; p++) {
    clocks->rate[p] = rates[rng_below(&rng, 3)];
  }
}

static void worker_leave_world(Worker *worker) {
  for (int32_t s = 0; s < STRATEGY_COUNT; s++) {
    if (strategies[s]->free != NULL) {
      strategies[s]->free(worker->selves[s]);
    }
  }
  walk_free(worker->walk);
  world_free(worker->world);
  free(worker->packed);
  worker->walk = NULL;
  worker->world = NULL;
}

static void worker_enter_world(Worker *worker, const Clocks *clocks) {
  const Program *program = worker->search->program;
  worker->clocks = *clocks;
  worker->world = world_new_with(program, property_monitors, PROPERTY_COUNT, clocks);
  worker->walk = walk_new(worker->world, worker->search->options->steps_max);
  worker->packed = malloc(layout_packed_max(&worker->world->layout));
  CHECK(worker->packed != NULL);
  worker->looks_at_states = program->never_count > 0 || program->obtainable_count > 0;
  for (int32_t s = 0; s < STRATEGY_COUNT; s++) {
    worker->selves[s] = strategies[s]->new != NULL ? strategies[s]->new (worker->world) : NULL;
  }
  clocked_set_listener(worker->walk->clocked, hear, worker);
}

/* --- one run ----------------------------------------------------------------------------------------------------- */

static void keep_find(Worker *worker, const Strategy *strategy, int32_t property, int64_t end_ns) {
  const Walk *walk = worker->walk;
  Find *find = &worker->batch->finds[property];
  worker->batch->found |= UINT64_C(1) << property;
  *find = (Find){.count = walk->decision_count,
                 .end_ns = end_ns,
                 .strategy = strategy,
                 .clocks = worker->clocks,
                 .run = (uint64_t)worker->number * RANDOM_BATCH_RUNS + worker->batch->runs};
  find->decisions = malloc((size_t)(find->count + 1) * sizeof(Decision));
  CHECK(find->decisions != NULL);
  memcpy(find->decisions, walk->decisions, (size_t)find->count * sizeof(Decision));
}

static void keep_finds(Worker *worker, const Strategy *strategy, uint64_t violated, int64_t end_ns) {
  uint64_t found_first = violated & ~worker->batch->found;
  for (int32_t p = 0; found_first >> p != 0 && p < WORLD_PROPERTIES_MAX; p++) {
    if (found_first >> p & 1) {
      keep_find(worker, strategy, p, end_ns);
    }
  }
}

static void keep_problem(Problem *problems, int32_t *count, Problem problem) {
  for (int32_t i = 0; i < *count; i++) {
    if (problems[i].kind == problem.kind && problems[i].pc == problem.pc) {
      return;
    }
  }
  if (problem.kind != PROBLEM_NONE && *count < WORLD_PROBLEMS_MAX) {
    problems[(*count)++] = problem;
  }
}

/* A discrete state, or a pair of events in a row, that this batch has not seen before. */
static bool note_new(Worker *worker, uint32_t *last_event) {
  Walk *walk = worker->walk;
  const Action *action = &walk->decisions[walk->decision_count - 1].action;
  uint32_t event = (uint32_t)action->kind << 16 | (uint32_t)action->subject << 8 | action->part;
  uint32_t bytes = state_pack(&worker->world->layout, clocked_state(walk->clocked), worker->packed);
  bool is_new = seen_add(worker->seen, XXH64(worker->packed, bytes, 0));
  worker->new_states += is_new;
  is_new |= seen_add(worker->seen, rng_mix((uint64_t)*last_event << 32 | event));
  *last_event = event;
  return is_new;
}

/* Properties of states alone are looked at right before time goes on, too. */
static void look_before(Worker *worker, const Strategy *strategy, int64_t time_ns) {
  Walk *walk = worker->walk;
  if (worker->looks_at_states && time_ns > walk->now_ns && clocked_let_pass(walk->clocked, time_ns)) {
    keep_finds(worker, strategy, clocked_violated_now(walk->clocked), time_ns);
  }
}

static bool run_on(Worker *worker, const Strategy *strategy, void *self) {
  Walk *walk = worker->walk;
  Decision decision;
  bool any = walk_look(walk);
  bool decided =
      any && (strategy->decide != NULL ? strategy->decide(self, walk, &decision) : walk_decide(walk, &decision));
  if (!decided) {
    keep_finds(worker, strategy, clocked_violated_now(walk->clocked), 0); /* a deadlock */
    return false;
  }
  look_before(worker, strategy, decision.time_ns);
  if (!walk_take(walk, &decision)) {
    keep_problem(worker->batch->problems, &worker->batch->problem_count, clocked_problem(walk->clocked));
    return false;
  }
  uint64_t violated = clocked_violated(walk->clocked);
  violated |= worker->looks_at_states ? clocked_violated_now(walk->clocked) : 0;
  keep_finds(worker, strategy, violated, 0);
  look_before(worker, strategy, walk->look_ns);
  return true;
}

static void run_once(Worker *worker, const Strategy *strategy, void *self, uint64_t seed) {
  Walk *walk = worker->walk;
  int32_t new_until = 0;
  uint32_t last_event = 0;
  walk_begin(walk, seed);
  strategy->begin(self, walk);
  int32_t length = walk->temper.length > 0 ? walk->temper.length : walk->decision_max;
  while (walk->decision_count < length && run_on(worker, strategy, self)) {
    worker->batch->steps++;
    new_until = note_new(worker, &last_event) ? walk->decision_count : new_until;
  }
  if (strategy->end != NULL) {
    strategy->end(self, walk, new_until);
  }
}

/* --- batches ----------------------------------------------------------------------------------------------------- */

/* A step through the portfolio's shares that comes by each of them: prime, and no factor of their sum. */
enum { SHARE_STRIDE = 7 };

/* Which strategy a run has: the portfolio's shares, spread, so that the first few runs already have most of them. */
static int32_t strategy_of_run(const RandomOptions *options, uint64_t run) {
  int32_t shares = 0;
  for (int32_t s = 0; s < STRATEGY_COUNT; s++) {
    if (strategies[s] == options->strategy) {
      return s;
    }
    shares += strategies[s]->share;
  }
  CHECK(shares % SHARE_STRIDE != 0);
  int32_t at = (int32_t)(run * SHARE_STRIDE % (uint64_t)shares), s = 0;
  while (at >= strategies[s]->share) {
    at -= strategies[s++]->share;
  }
  return s;
}

static bool settles(const RandomOptions *options, uint64_t found) {
  if (options->to_the_end) {
    return false;
  }
  return options->wanted != 0 ? (options->wanted & ~found) == 0 : found != 0;
}

/* Tells how far the search has come, and hears whether it is over for this batch. */
static bool report(Worker *worker) {
  Search *search = worker->search;
  g_mutex_lock(&search->mutex);
  search->progress.runs += worker->batch->runs - worker->reported_runs;
  search->progress.steps += worker->batch->steps - worker->reported_steps;
  if (worker->new_states > worker->new_reported) {
    search->progress.last_new_run = search->progress.runs;
  }
  search->progress.new_states += worker->new_states - worker->new_reported;
  worker->new_reported = worker->new_states;
  worker->reported_runs = worker->batch->runs;
  worker->reported_steps = worker->batch->steps;
  if (search->stopped == STOP_NOT && search->options->tick != NULL) {
    search->stopped = search->options->tick(search->options->user, &search->progress);
  }
  bool over = search->stopped != STOP_NOT || worker->number > search->last;
  g_mutex_unlock(&search->mutex);
  return over;
}

static void begin_batch(Worker *worker, uint64_t seed) {
  if (world_has_loose_clocks(worker->search->program)) {
    Clocks clocks;
    draw_clocks(worker->search->program, seed, &clocks);
    worker_leave_world(worker);
    worker_enter_world(worker, &clocks);
  }
  memset(worker->seen, 0, sizeof *worker->seen);
  worker->reported_runs = worker->reported_steps = 0;
  for (int32_t s = 0; s < STRATEGY_COUNT; s++) {
    if (strategies[s]->forget != NULL) {
      strategies[s]->forget(worker->selves[s]);
    }
  }
}

/* False: it was cut short, and does not count as done. */
static bool run_batch(Worker *worker) {
  const RandomOptions *options = worker->search->options;
  uint64_t seed = rng_derive(options->seed, (uint64_t)worker->number);
  uint64_t first = (uint64_t)worker->number * RANDOM_BATCH_RUNS;
  uint64_t runs = options->runs - first < RANDOM_BATCH_RUNS ? options->runs - first : RANDOM_BATCH_RUNS;
  begin_batch(worker, seed);
  while (worker->batch->runs < runs && !settles(options, worker->batch->found)) {
    int32_t s = strategy_of_run(options, worker->batch->runs);
    run_once(worker, strategies[s], worker->selves[s], rng_derive(seed, worker->batch->runs));
    worker->batch->runs++;
    if (worker->batch->runs % 8 == 0 && report(worker)) {
      return false;
    }
  }
  report(worker);
  return true;
}

static void add_batch(RandomResult *result, Batch *batch) {
  result->runs += batch->runs;
  result->steps += batch->steps;
  result->entries += batch->entries;
  for (int32_t p = 0; p < WORLD_PROPERTIES_MAX; p++) {
    if (batch->finds[p].decisions != NULL && result->finds[p].decisions == NULL) {
      result->finds[p] = batch->finds[p];
      batch->finds[p].decisions = NULL;
    }
  }
  for (int32_t i = 0; i < batch->problem_count; i++) {
    keep_problem(result->problems, &result->problem_count, batch->problems[i]);
  }
}

static void free_batch(Search *search, int64_t number) {
  Batch *batch = search->batches[number];
  for (int32_t p = 0; batch != NULL && p < WORLD_PROPERTIES_MAX; p++) {
    free(batch->finds[p].decisions);
  }
  free(batch);
  search->batches[number] = NULL;
}

/* Counts the batches in order as far as they are done; the first that settles the question is the last to count. */
static void settle_batches(Search *search) {
  for (int64_t b = search->settled + 1; b <= search->last && search->batches[b] != NULL && search->batches[b]->is_done;
       b++) {
    search->settled = b;
    search->found |= search->batches[b]->found;
    add_batch(search->result, search->batches[b]);
    free_batch(search, b);
    if (settles(search->options, search->found)) {
      search->last = search->settled;
    }
  }
}

static bool next_batch(Worker *worker) {
  Search *search = worker->search;
  g_mutex_lock(&search->mutex);
  bool any = search->next <= search->last && search->stopped == STOP_NOT;
  if (any) {
    worker->number = search->next++;
    worker->batch = search->batches[worker->number] = calloc(1, sizeof(Batch));
    CHECK(worker->batch != NULL);
  }
  g_mutex_unlock(&search->mutex);
  return any;
}

static void *work(void *data) {
  Worker *worker = data;
  Clocks clocks = {0};
  worker->seen = malloc(sizeof *worker->seen);
  CHECK(worker->seen != NULL);
  if (world_has_loose_clocks(worker->search->program)) {
    draw_clocks(worker->search->program, worker->search->options->seed, &clocks);
  }
  worker_enter_world(worker, &clocks);
  while (next_batch(worker)) {
    bool done = run_batch(worker);
    g_mutex_lock(&worker->search->mutex);
    worker->batch->is_done = done;
    settle_batches(worker->search);
    g_mutex_unlock(&worker->search->mutex);
  }
  worker_leave_world(worker);
  free(worker->seen);
  return NULL;
}

/* --- the result -------------------------------------------------------------------------------------------------- */

/* A search that was stopped counts what its batches had found by then. */
static void gather(Search *search) {
  search->result->stopped = search->settled == search->last ? STOP_NOT : search->stopped;
  for (int64_t b = 0; b < search->batch_count; b++) {
    if (search->batches[b] != NULL && search->result->stopped != STOP_NOT) {
      add_batch(search->result, search->batches[b]);
    }
    free_batch(search, b);
  }
}

RandomResult *random_search(const Program *program, const RandomOptions *options) {
  Search search = {.program = program, .options = options, .settled = -1};
  search.batch_count = (int64_t)((options->runs + RANDOM_BATCH_RUNS - 1) / RANDOM_BATCH_RUNS);
  search.last = search.batch_count - 1;
  search.batches = calloc((size_t)search.batch_count + 1, sizeof(Batch *));
  search.result = calloc(1, sizeof *search.result);
  int32_t jobs = options->jobs < 1                    ? 1
                 : options->jobs > search.batch_count ? (int32_t)search.batch_count
                                                      : options->jobs;
  Worker *workers = calloc((size_t)jobs + 1, sizeof(Worker));
  GThread **threads = g_new0(GThread *, jobs + 1);
  CHECK(search.batches != NULL && search.result != NULL && workers != NULL);
  g_mutex_init(&search.mutex);
  for (int32_t j = 0; j < jobs; j++) {
    workers[j].search = &search;
  }
  for (int32_t j = 1; j < jobs; j++) {
    threads[j] = g_thread_new("random", work, &workers[j]);
  }
  if (jobs > 0) {
    work(&workers[0]);
  }
  for (int32_t j = 1; j < jobs; j++) {
    g_thread_join(threads[j]);
  }
  gather(&search);
  g_mutex_clear(&search.mutex);
  g_free(threads);
  free(workers);
  free(search.batches);
  return search.result;
}

void random_result_free(RandomResult *result) {
  for (int32_t p = 0; result != NULL && p < WORLD_PROPERTIES_MAX; p++) {
    free(result->finds[p].decisions);
  }
  free(result);
}
