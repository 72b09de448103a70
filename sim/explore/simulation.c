#include "explore/simulation.h"

#include <glib.h>
#include <string.h>

#include "base/check.h"
#include "properties/property.h"
#include "world/clocked.h"

#define NS_PER_US 1000
/* An end that no run comes to, though each thing has its age. */
#define LONGEST_US (INT64_C(60) * 60 * 24 * 366 * 1000000)
#define OPEN_WINDOW_NS 1e9 /* mean of what may take any time */

enum { MESSAGE_SLOTS = 1024, THING_SLOTS = 4096, STRIKES_MAX = 256, EVENTS_MAX = 100000000 };

/* When something due is to happen, drawn when it was first seen. */
typedef struct Slot {
  uint64_t tag;
  int64_t at_ns;
} Slot;

typedef struct Strike {
  int64_t at_ns;
  int32_t fault, client; /* client: of --pause; NO_INDEX: any process */
} Strike;

typedef struct Attempt {
  int64_t since_ns;
  bool is_open;
} Attempt;

typedef struct Batches {
  const Program *program;
  const SimulationOptions *options;
  GMutex mutex;      /* guards what follows */
  Simulation **done; /* per batch: finished and not counted yet */
  int64_t count, next, settled, last;
  Simulation *sum;
  StopReason stopped;
} Batches;

typedef struct Simulator {
  Batches *batches;
  const World *world;
  const SimulationOptions *options;
  Clocked *clocked;
  Simulation *sum; /* of the batch under way */
  Rng rng;
  int32_t pause_fault; /* of --pause; NO_INDEX */
  Slot messages[MESSAGE_SLOTS], things[THING_SLOTS];
  Strike strikes[STRIKES_MAX];
  int32_t strike_count;
  bool message_strikes; /* the next message is struck */
  Attempt attempts[PROGRAM_CLIENTS_MAX][PROGRAM_TASKS_MAX];
  int32_t inside;
  int64_t free_since_ns, end_ns;
  int32_t word_stale;
  bool looks_at_states;
} Simulator;

/* --- what is counted --------------------------------------------------------------------------------------------- */

/* The attempt that a client's event is about. */
static Attempt *attempt_of(Simulator *simulator, const Event *event) {
  CHECK(event->client >= 0);
  return &simulator->attempts[event->client][event->task];
}

static void close_attempt(Simulator *simulator, Attempt *attempt, bool entered) {
  Simulation *sum = simulator->sum;
  if (!attempt->is_open) {
    return;
  }
  attempt->is_open = false;
  sum->acquisitions += entered;
  sum->refusals += !entered;
  histogram_add(entered ? &sum->acquire : &sum->refuse, clocked_now_ns(simulator->clocked) - attempt->since_ns);
}

static void count_entry(Simulator *simulator, int32_t change) {
  int64_t now_ns = clocked_now_ns(simulator->clocked);
  if (simulator->inside == 0 && change > 0) {
    simulator->sum->free_ns += now_ns - simulator->free_since_ns;
  }
  simulator->inside += change;
  if (simulator->inside == 0) {
    simulator->free_since_ns = now_ns;
  }
}

static void hear(void *user, const Step *step, const Event *event) {
  Simulator *simulator = user;
  Simulation *sum = simulator->sum;
  (void)step;
  switch (event->kind) {
  case EVENT_ATTEMPT: {
    Attempt *attempt = attempt_of(simulator, event);
    close_attempt(simulator, attempt, false);
    *attempt = (Attempt){clocked_now_ns(simulator->clocked), true};
    sum->attempts++;
    break;
  }
  case EVENT_ENTER:
    close_attempt(simulator, attempt_of(simulator, event), true);
    count_entry(simulator, 1);
    break;
  case EVENT_LEAVE: count_entry(simulator, -1); break;
  case EVENT_END:
  case EVENT_CRASH:
    if (event->process < simulator->world->program->client_count) {
      for (int32_t t = 0; t < PROGRAM_TASKS_MAX; t++) {
        close_attempt(simulator, &simulator->attempts[event->process][t], false);
      }
    }
    break;
  case EVENT_COMMIT: sum->commits++; break;
  case EVENT_REPLY:
    sum->rejected += event->after.sort == SORT_WORD && event->after.number == simulator->word_stale;
    break;
  default: break;
  }
}

static void count_violations(Simulator *simulator, uint64_t violated, uint64_t *in_run) {
  *in_run |= violated;
  for (int32_t p = 0; violated >> p != 0; p++) {
    simulator->sum->violations[p] += violated >> p & 1;
  }
}

/* --- when things happen ------------------------------------------------------------------------------------------ */

static bool is_sampled_pause(const Simulator *simulator, const Thing *thing) {
  const World *world = simulator->world;
  return thing->kind == ACTION_RESUME && thing->subject < world->program->client_count && thing->part == 0 &&
         state_client(&world->layout, (State *)clocked_state(simulator->clocked), thing->subject)[CLIENT_FAULT] ==
             simulator->pause_fault + 1;
}

static int64_t sample(Simulator *simulator, const Thing *thing, int64_t opens_ns, int64_t latest_ns) {
  const SimulationOptions *options = simulator->options;
  static const Distribution open_window = {.kind = DISTRIBUTION_EXPONENTIAL, .a_ns = OPEN_WINDOW_NS};
  if (thing->kind == ACTION_ARRIVE && options->latency.kind != DISTRIBUTION_NONE && !thing->optional) {
    return opens_ns + distribution_sample_ns(&options->latency, &simulator->rng);
  }
  if (simulator->pause_fault != NO_INDEX && is_sampled_pause(simulator, thing)) {
    return opens_ns + distribution_sample_ns(&options->pause, &simulator->rng);
  }
  if (latest_ns == INT64_MAX) {
    return opens_ns + distribution_sample_ns(&open_window, &simulator->rng);
  }
  return rng_between(&simulator->rng, opens_ns, latest_ns);
}

static Slot *slot_of(Simulator *simulator, const Thing *thing, int64_t opens_ns, uint64_t *tag) {
  if (thing->kind == ACTION_ARRIVE) {
    State *state = (State *)clocked_state(simulator->clocked);
    *tag = (uint64_t)state_message(&simulator->world->layout, state, thing->object)[MESSAGE_ID];
    return &simulator->messages[*tag % MESSAGE_SLOTS];
  }
  uint32_t place =
      (((uint32_t)thing->kind * WORLD_PROCESSES_MAX + (uint32_t)thing->subject) * 8 + (uint32_t)thing->part);
  *tag = (uint64_t)opens_ns << 1 | 1; /* never 0, which is an empty slot */
  return &simulator->things[(place + (uint32_t)thing->object * 7919) % THING_SLOTS];
}

static int64_t instant_of(Simulator *simulator, const Thing *thing, int64_t now_ns) {
  int64_t opens_ns, latest_ns;
  if (thing->overdue) {
    return now_ns;
  }
  clocked_window(simulator->clocked, thing, &opens_ns, &latest_ns);
  if (opens_ns >= latest_ns) {
    return latest_ns;
  }
  uint64_t tag;
  Slot *slot = slot_of(simulator, thing, opens_ns, &tag);
  if (slot->tag != tag) {
    *slot = (Slot){tag, sample(simulator, thing, opens_ns, latest_ns)};
  }
  return slot->at_ns < now_ns ? now_ns : slot->at_ns;
}

/* What happens first; of several at one instant, any. False: nothing does. */
static bool find_next(Simulator *simulator, Action *action, int64_t *at_ns) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(simulator->world, clocked_state(simulator->clocked), things), first = -1;
  int64_t now_ns = clocked_now_ns(simulator->clocked);
  uint64_t ties = 1;
  *at_ns = INT64_MAX;
  for (int32_t i = 0; i < count; i++) {
    if (things[i].withheld || things[i].blocked) {
      continue;
    }
    int64_t instant = instant_of(simulator, &things[i], now_ns);
    ties = instant < *at_ns ? 1 : ties + (instant == *at_ns);
    if (instant < *at_ns || (instant == *at_ns && rng_below(&simulator->rng, ties) == 0)) {
      *at_ns = instant;
      first = i;
    }
  }
  if (first >= 0) {
    *action = thing_action(&things[first]);
  }
  return first >= 0;
}

/* --- faults ------------------------------------------------------------------------------------------------------ */

static bool strikes_messages(const Fault *fault) {
  return fault->kind == FAULT_LATE || fault->kind == FAULT_LOST || fault->kind == FAULT_DUPLICATED;
}

static void add_strike(Simulator *simulator, int64_t at_ns, int32_t fault, int32_t client) {
  if (simulator->strike_count < STRIKES_MAX) {
    simulator->strikes[simulator->strike_count++] = (Strike){at_ns, fault, client};
  }
}

static void draw_strikes(Simulator *simulator) {
  const Program *program = simulator->world->program;
  simulator->strike_count = 0;
  simulator->message_strikes = false;
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    bool has_budget = fault->kind != FAULT_UNORDERED && fault->kind != FAULT_SKEW && fault->kind != FAULT_DRIFT &&
                      fault->kind != FAULT_DOWN && fault->count != COUNT_INFINITE;
    for (int32_t n = 0; has_budget && n < fault->count; n++) {
      add_strike(simulator, rng_between(&simulator->rng, 0, simulator->options->time_ns), f, NO_INDEX);
    }
  }
  for (int32_t c = 0; simulator->pause_fault != NO_INDEX && c < program->client_count; c++) {
    add_strike(simulator, distribution_sample_ns(&simulator->options->pause_every, &simulator->rng),
               simulator->pause_fault, c);
  }
}

static int32_t first_strike(const Simulator *simulator) {
  int32_t first = -1;
  for (int32_t i = 0; i < simulator->strike_count; i++) {
    if (first < 0 || simulator->strikes[i].at_ns < simulator->strikes[first].at_ns) {
      first = i;
    }
  }
  return first;
}

/* An action of that fault that is possible now, any of them. */
static bool find_fault(Simulator *simulator, const Strike *strike, Action *action) {
  Action actions[FAULT_ACTIONS_MAX];
  int32_t count = step_faults(simulator->world, clocked_state(simulator->clocked), actions);
  uint64_t found = 0;
  for (int32_t i = 0; i < count; i++) {
    bool fits =
        actions[i].object == strike->fault && (strike->client == NO_INDEX || actions[i].subject == strike->client);
    found += fits;
    if (fits && rng_below(&simulator->rng, found) == 0) {
      *action = actions[i];
    }
  }
  return found > 0;
}

/* A strike whose time has come: the action it takes, or it waits for the next event (nobody can be struck now). A pause
 * of --pause is followed by the next one. */
static bool strike(Simulator *simulator, int32_t index, int64_t at_ns, int64_t next_ns, Action *action) {
  Strike *due = &simulator->strikes[index];
  bool of_messages = strikes_messages(&simulator->world->program->faults[due->fault]);
  bool found = !of_messages && find_fault(simulator, due, action);
  if (found || of_messages) {
    simulator->message_strikes |= of_messages;
    simulator->sum->faults++;
    if (due->client != NO_INDEX) {
      due->at_ns = at_ns + distribution_sample_ns(&simulator->options->pause_every, &simulator->rng);
    } else {
      *due = simulator->strikes[--simulator->strike_count];
    }
  } else {
    due->at_ns = next_ns == INT64_MAX ? INT64_MAX : next_ns + 1;
  }
  return found;
}

static int32_t choose(void *user, int32_t count, bool by_model) {
  Simulator *simulator = user;
  if (by_model) {
    return (int32_t)rng_below(&simulator->rng, (uint64_t)count);
  }
  bool strikes = simulator->message_strikes;
  simulator->message_strikes = false;
  return strikes;
}

/* --- one run ----------------------------------------------------------------------------------------------------- */

static bool decide(Simulator *simulator, Action *action, int64_t *at_ns) {
  int64_t next_ns;
  bool any = find_next(simulator, action, &next_ns);
  for (int32_t i = first_strike(simulator); i >= 0; i = first_strike(simulator)) {
    int64_t strike_ns = simulator->strikes[i].at_ns, now_ns = clocked_now_ns(simulator->clocked);
    if (strike_ns > next_ns || strike_ns > simulator->options->time_ns) {
      break;
    }
    Action fault;
    if (strike(simulator, i, strike_ns, next_ns, &fault)) {
      *action = fault;
      *at_ns = strike_ns > now_ns ? strike_ns : now_ns;
      return true;
    }
  }
  *at_ns = next_ns;
  return any;
}

static void end_run(Simulator *simulator, uint64_t violated) {
  Simulation *sum = simulator->sum;
  int64_t end_ns = clocked_now_ns(simulator->clocked);
  sum->runs++;
  sum->time_ns += end_ns;
  sum->free_ns += simulator->inside == 0 ? end_ns - simulator->free_since_ns : 0;
  for (int32_t p = 0; p < WORLD_PROPERTIES_MAX; p++) {
    sum->runs_with[p] += violated >> p & 1;
  }
}

static void run_once(Simulator *simulator, uint64_t seed) {
  Clocked *clocked = simulator->clocked;
  uint64_t violated = 0;
  Action action;
  int64_t at_ns;
  clocked_reset(clocked);
  simulator->rng = rng_new(seed);
  simulator->inside = 0;
  simulator->free_since_ns = 0;
  memset(simulator->attempts, 0, sizeof simulator->attempts);
  memset(simulator->messages, 0, sizeof simulator->messages);
  memset(simulator->things, 0, sizeof simulator->things);
  draw_strikes(simulator);
  for (int32_t e = 0; e < EVENTS_MAX && decide(simulator, &action, &at_ns) && at_ns <= simulator->options->time_ns;
       e++) {
    simulator->sum->events++;
    if (!clocked_step(clocked, at_ns, &action)) {
      Problem problem = clocked_problem(clocked);
      simulator->sum->problem = simulator->sum->cut_short++ == 0 ? problem : simulator->sum->problem;
      break;
    }
    uint64_t now_violated =
        clocked_violated(clocked) | (simulator->looks_at_states ? clocked_violated_now(clocked) : 0);
    if (now_violated != 0) {
      count_violations(simulator, now_violated, &violated);
    }
  }
  end_run(simulator, violated);
}

/* --- batches ----------------------------------------------------------------------------------------------------- */

static void add(Simulation *to, const Simulation *from) {
  to->problem = to->cut_short == 0 ? from->problem : to->problem;
  uint64_t *sums[] = {&to->runs,     &to->events,  &to->faults,   &to->attempts, &to->acquisitions,
                      &to->refusals, &to->commits, &to->rejected, &to->cut_short};
  const uint64_t parts[] = {from->runs,     from->events,  from->faults,   from->attempts, from->acquisitions,
                            from->refusals, from->commits, from->rejected, from->cut_short};
  for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
    *sums[i] += parts[i];
  }
  for (int32_t p = 0; p < WORLD_PROPERTIES_MAX; p++) {
    to->violations[p] += from->violations[p];
    to->runs_with[p] += from->runs_with[p];
  }
  to->time_ns += from->time_ns;
  to->free_ns += from->free_ns;
  histogram_merge(&to->acquire, &from->acquire);
  histogram_merge(&to->refuse, &from->refuse);
}

static bool is_known(uint64_t hits, uint64_t trials, double precision) {
  Interval interval = interval_of_rate(hits, trials, STATISTICS_CONFIDENCE);
  return (interval.high - interval.low) / 2 <= precision;
}

static bool is_precise(const Simulation *sum, double precision) {
  bool known = precision > 0 && is_known(sum->acquisitions, sum->acquisitions + sum->refusals, precision);
  for (int32_t p = 0; p < WORLD_PROPERTIES_MAX && known; p++) {
    known = is_known(sum->runs_with[p], sum->runs, precision);
  }
  return known;
}

/* In order of their numbers, whoever was first. */
static void settle(Batches *batches) {
  for (int64_t b = batches->settled + 1; b <= batches->last && batches->done[b] != NULL; b++) {
    batches->settled = b;
    add(batches->sum, batches->done[b]);
    free(batches->done[b]);
    batches->done[b] = NULL;
    if (is_precise(batches->sum, batches->options->precision)) {
      batches->sum->is_precise = true;
      batches->last = b;
    }
  }
}

static int64_t next_batch(Batches *batches) {
  g_mutex_lock(&batches->mutex);
  int64_t number = batches->next <= batches->last && batches->stopped == STOP_NOT ? batches->next++ : -1;
  g_mutex_unlock(&batches->mutex);
  return number;
}

static void finish_batch(Batches *batches, int64_t number, Simulation *sum) {
  g_mutex_lock(&batches->mutex);
  batches->done[number] = sum;
  settle(batches);
  if (batches->options->tick != NULL && batches->stopped == STOP_NOT) {
    batches->stopped = batches->options->tick(batches->options->user, batches->sum->runs, batches->sum->events);
  }
  g_mutex_unlock(&batches->mutex);
}

static void run_batch(Simulator *simulator, int64_t number) {
  const SimulationOptions *options = simulator->options;
  uint64_t first = (uint64_t)number * SIMULATION_BATCH_RUNS;
  simulator->sum = calloc(1, sizeof(Simulation));
  CHECK(simulator->sum != NULL);
  for (uint64_t r = first; r < first + SIMULATION_BATCH_RUNS && r < options->runs; r++) {
    run_once(simulator, rng_derive(options->seed, r));
  }
  finish_batch(simulator->batches, number, simulator->sum);
}

static int32_t find_word(const Program *program, const char *word) {
  for (int32_t w = 0; w < program->word_count; w++) {
    if (strcmp(program->words[w], word) == 0) {
      return w;
    }
  }
  return NO_INDEX;
}

/* Clocks that the scenario leaves open are exact here: how wrong they are is a bound, and no distribution. */
static void *work(void *data) {
  Batches *batches = data;
  Clocks clocks = {.suspends = SUSPEND_SHORTEST};
  for (int32_t p = 0; p < WORLD_PROCESSES_MAX; p++) {
    clocks.rate[p] = RATE_EXACT;
  }
  Simulator *simulator = calloc(1, sizeof *simulator);
  CHECK(simulator != NULL);
  World *world = world_new_with(batches->program, property_monitors, PROPERTY_COUNT, &clocks);
  simulator->batches = batches;
  simulator->options = batches->options;
  simulator->world = world;
  simulator->clocked = clocked_new(world, false);
  simulator->pause_fault =
      batches->options->pause.kind != DISTRIBUTION_NONE ? world->program->fault_count - 1 : NO_INDEX;
  simulator->word_stale = find_word(world->program, "stale");
  simulator->looks_at_states = world->program->never_count > 0 || world->program->obtainable_count > 0;
  clocked_keep_names(simulator->clocked);
  clocked_set_oracle(simulator->clocked, choose, simulator);
  clocked_set_listener(simulator->clocked, hear, simulator);
  for (int64_t b = next_batch(batches); b >= 0; b = next_batch(batches)) {
    run_batch(simulator, b);
  }
  clocked_free(simulator->clocked);
  world_free(world);
  free(simulator);
  return NULL;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static void make_room(Program *program, const SimulationOptions *options) {
  for (int32_t s = 0; options->latency.kind != DISTRIBUTION_NONE && s < program->server_count; s++) {
    program->latency[s] = (Window){0, LONGEST_US};
  }
  if (options->pause.kind != DISTRIBUTION_NONE) {
    program->faults = realloc(program->faults, (size_t)(program->fault_count + 1) * sizeof(Fault));
    CHECK(program->faults != NULL);
    program->faults[program->fault_count++] = (Fault){.kind = FAULT_PAUSE,
                                                      .count = COUNT_INFINITE,
                                                      .clients = (UINT32_C(1) << program->client_count) - 1,
                                                      .hi_us = LONGEST_US,
                                                      .task = NO_INDEX};
  }
}

Simulation *simulate(Program *program, const SimulationOptions *options) {
  make_room(program, options);
  Batches batches = {.program = program, .options = options, .settled = -1};
  batches.count = (int64_t)((options->runs + SIMULATION_BATCH_RUNS - 1) / SIMULATION_BATCH_RUNS);
  batches.last = batches.count - 1;
  batches.sum = calloc(1, sizeof(Simulation));
  batches.done = calloc((size_t)batches.count + 1, sizeof(Simulation *));
  CHECK(batches.sum != NULL && batches.done != NULL);
  int32_t jobs = options->jobs < 1 ? 1 : options->jobs > batches.count ? (int32_t)batches.count : options->jobs;
  GThread **threads = g_new0(GThread *, jobs + 1);
  g_mutex_init(&batches.mutex);
  for (int32_t j = 1; j < jobs; j++) {
    threads[j] = g_thread_new("simulate", work, &batches);
  }
  work(&batches);
  for (int32_t j = 1; j < jobs; j++) {
    g_thread_join(threads[j]);
  }
  batches.sum->stopped = batches.settled == batches.last ? STOP_NOT : batches.stopped;
  for (int64_t b = 0; b < batches.count; b++) {
    free(batches.done[b]);
  }
  g_mutex_clear(&batches.mutex);
  g_free(threads);
  free(batches.done);
  return batches.sum;
}
