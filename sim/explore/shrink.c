#include "explore/shrink.h"

#include <string.h>

#include "base/check.h"
#include "world/schedule.h"

enum { ANSWERS_MAX = ACTION_CHOICES_MAX, PASSES_MAX = 6 };
/* So many steps are rehearsed or solved: two or three seconds. */
#define WORK_MAX INT64_C(2000000)

/* --- moves ------------------------------------------------------------------------------------------------------- */

typedef struct Answers {
  uint8_t items[ANSWERS_MAX];
  int32_t count;
} Answers;

/* A decision without its time, and without what depends on the rest of the run: a message is known by its connection.
 */
typedef struct Move {
  Action action; /* without choices; of an arrival without the index */
  Cell client, server, peer, kind, handler;
  bool travels_alone;
  Answers compares, picks, tickets;
  Answers strikes; /* answers to the adversary's choices, nearly all 0 */
  bool begins_attempt;
  int32_t pause; /* fault + 1 of the pause that begins in it; 0: none does */
} Move;

typedef struct Moves {
  Move *items;
  int32_t count;
} Moves;

typedef struct Cost {
  int32_t faults, steps, switches;
} Cost;

static bool is_less(Cost a, Cost b) {
  return a.faults != b.faults ? a.faults < b.faults : a.steps != b.steps ? a.steps < b.steps : a.switches < b.switches;
}

typedef struct Shrinker {
  Chooser chooser; /* first */
  const World *world;
  int32_t property;
  State *state;
  Move *move;          /* the one that is rehearsed */
  Answers *answers_in; /* recording: the action's choices in order */
  int32_t in, compare, pick, ticket, strike;
  Action *taken;
  bool records;
  Moves best, trial;
  Cost best_cost;
  Action *actions;
  Action *best_actions;
  int32_t best_count;
  int64_t work;
  bool attempt_begun;
  int32_t pause_begun;
} Shrinker;

/* --- choices, by kind -------------------------------------------------------------------------------------------- */

static void append(Answers *answers, int32_t answer) {
  if (answers->count < ANSWERS_MAX) {
    answers->items[answers->count++] = (uint8_t)answer;
  }
}

/* While recording the choices of the action in order, filed by kind; later the answers of that kind, 0 behind their
 * end. */
static int32_t answer_of(Shrinker *shrinker, Answers *kind, int32_t *at, int32_t count) {
  int32_t answer = 0;
  if (shrinker->records) {
    answer = shrinker->in < shrinker->answers_in->count ? shrinker->answers_in->items[shrinker->in++] : 0;
    append(kind, answer);
  } else if (*at < kind->count) {
    answer = kind->items[(*at)++];
  }
  answer = answer < count ? answer : 0;
  if (shrinker->taken->choice_count < ACTION_CHOICES_MAX) {
    shrinker->taken->choices[shrinker->taken->choice_count++] = (uint8_t)answer;
  }
  return answer;
}

static int32_t choose(Chooser *chooser, int32_t count) {
  Shrinker *shrinker = (Shrinker *)chooser;
  Move *move = shrinker->move;
  return chooser->by_model ? answer_of(shrinker, &move->picks, &shrinker->pick, count)
                           : answer_of(shrinker, &move->strikes, &shrinker->strike, count);
}

static bool compare(Chooser *chooser, Cell age, Reading bound, bool strict) {
  Shrinker *shrinker = (Shrinker *)chooser;
  (void)age, (void)bound, (void)strict; /* whether it can be so is the solver's question */
  return answer_of(shrinker, &shrinker->move->compares, &shrinker->compare, 2) == 0;
}

static int32_t next_ticket(Chooser *chooser, Cell before, Cell alive) {
  Shrinker *shrinker = (Shrinker *)chooser;
  (void)before, (void)alive;
  return answer_of(shrinker, &shrinker->move->tickets, &shrinker->ticket, 2);
}

static void hear(void *user, const Step *step, const Event *event) {
  Shrinker *shrinker = user;
  (void)step;
  shrinker->attempt_begun |= event->kind == EVENT_ATTEMPT;
  shrinker->pause_begun = event->kind == EVENT_PAUSE ? event->index + 1 : shrinker->pause_begun;
}

/* --- one move ---------------------------------------------------------------------------------------------------- */

static void name_message(const World *world, State *state, Move *move) {
  const Cell *record = state_message(&world->layout, state, move->action.object);
  move->client = record[MESSAGE_CLIENT];
  move->server = record[MESSAGE_SERVER];
  move->peer = record[MESSAGE_PEER];
  move->kind = record[MESSAGE_KIND];
  move->handler = record[MESSAGE_HANDLER];
  move->travels_alone = record[MESSAGE_LATE] != 0;
}

static bool is_its_message(const Shrinker *shrinker, const Move *move, int32_t message) {
  const Cell *record = state_message(&shrinker->world->layout, shrinker->state, message);
  bool same_kind = record[MESSAGE_KIND] == move->kind ||
                   (record[MESSAGE_KIND] <= MESSAGE_ORPHAN && move->kind <= MESSAGE_ORPHAN); /* a call given up */
  return record[MESSAGE_CLIENT] == move->client && record[MESSAGE_SERVER] == move->server &&
         record[MESSAGE_PEER] == move->peer && same_kind && record[MESSAGE_HANDLER] == move->handler &&
         (record[MESSAGE_LATE] != 0) == move->travels_alone;
}

/* Whether it can happen in this state, time apart, and as which action. */
static bool find_action(Shrinker *shrinker, const Move *move, Action *action) {
  Thing things[THINGS_MAX];
  Action faults[FAULT_ACTIONS_MAX];
  *action = move->action;
  if (action->kind >= ACTION_FAULTS) {
    int32_t count = step_faults(shrinker->world, shrinker->state, faults);
    for (int32_t i = 0; i < count; i++) {
      if (action_is(&faults[i], action)) {
        return true;
      }
    }
    return false;
  }
  int32_t count = step_things(shrinker->world, shrinker->state, things);
  for (int32_t i = 0; i < count; i++) {
    Action due = thing_action(&things[i]);
    bool is_it = action->kind == ACTION_ARRIVE ? due.kind == ACTION_ARRIVE && is_its_message(shrinker, move, due.object)
                                               : action_is(&due, action);
    if (is_it && !things[i].withheld && !things[i].blocked) {
      *action = due;
      return true;
    }
  }
  return false;
}

/* False: a finding of the model. */
static bool take_move(Shrinker *shrinker, Move *move, Action *action, Step *step) {
  Renaming renaming;
  shrinker->move = move;
  shrinker->taken = action;
  shrinker->in = shrinker->compare = shrinker->pick = shrinker->ticket = shrinker->strike = 0;
  shrinker->attempt_begun = false;
  shrinker->pause_begun = 0;
  action->choice_count = 0;
  memset(action->choices, 0, sizeof action->choices);
  step_start(step, shrinker->world, shrinker->state, &shrinker->chooser);
  step->log = hear;
  step->log_user = shrinker;
  step_take(step, action);
  step_settle(step);
  names_renumber(shrinker->world, shrinker->state, &renaming);
  return step->problem.kind == PROBLEM_NONE;
}

/* --- recording --------------------------------------------------------------------------------------------------- */

static void record(Shrinker *shrinker, const Decision *decisions, int32_t count) {
  world_initial(shrinker->world, shrinker->state);
  shrinker->records = true;
  for (int32_t i = 0; i < count; i++) {
    Answers choices = {.count = decisions[i].action.choice_count};
    memcpy(choices.items, decisions[i].action.choices, sizeof decisions[i].action.choices);
    Move *move = &shrinker->best.items[i];
    *move = (Move){.action = decisions[i].action};
    if (move->action.kind == ACTION_ARRIVE) {
      name_message(shrinker->world, shrinker->state, move);
    }
    Action action = move->action;
    Step step;
    shrinker->answers_in = &choices;
    take_move(shrinker, move, &action, &step);
    move->begins_attempt = shrinker->attempt_begun;
    move->pause = shrinker->pause_begun;
  }
  shrinker->best.count = count;
  shrinker->records = false;
}

/* --- candidates -------------------------------------------------------------------------------------------------- */

static bool shows(Shrinker *shrinker, const Step *step) {
  const World *world = shrinker->world;
  bool by_state = shrinker->property < world->monitor_count &&
                  world->monitors[shrinker->property]->violated_by != NULL &&
                  world->monitors[shrinker->property]->violated_by(world, shrinker->state);
  return step->violated >> shrinker->property & 1 || by_state;
}

/* Properties over ages are looked at by the solver, in the last state. */
static bool is_looked_at(const Shrinker *shrinker) {
  int32_t assertions = shrinker->world->monitor_count + shrinker->world->program->never_count;
  return shrinker->property >= shrinker->world->monitor_count &&
         !(shrinker->property >= assertions &&
           shrinker->property < assertions + shrinker->world->program->assertion_count);
}

/* Rehearses the trial; what cannot happen falls out of it, and what is behind the violation. Returns whether it may
 * violate the property. */
static bool rehearse(Shrinker *shrinker, Cost *cost) {
  int32_t kept = 0, last = -1;
  bool shown = false;
  *cost = (Cost){0};
  world_initial(shrinker->world, shrinker->state);
  for (int32_t i = 0; i < shrinker->trial.count && !shown; i++) {
    Move *move = &shrinker->trial.items[i];
    Action action;
    Step step;
    if (!find_action(shrinker, move, &action)) {
      continue;
    }
    if (!take_move(shrinker, move, &action, &step) || kept >= SCHEDULE_STEPS_MAX) {
      return false;
    }
    int32_t process = action_process(shrinker->world, &action);
    *cost = (Cost){cost->faults + step.faults, cost->steps + step.steps, cost->switches + (process != last)};
    last = process;
    shrinker->actions[kept] = action;
    move->pause = shrinker->pause_begun;
    shrinker->trial.items[kept++] = *move;
    shown = shows(shrinker, &step);
  }
  shrinker->trial.count = kept;
  return shown || is_looked_at(shrinker);
}

static void keep_trial(Shrinker *shrinker, Cost cost) {
  Moves held = shrinker->best;
  int32_t count = shrinker->trial.count;
  shrinker->best = shrinker->trial;
  shrinker->trial = held;
  shrinker->best_cost = cost;
  shrinker->best_count = count;
  memcpy(shrinker->best_actions, shrinker->actions, (size_t)count * sizeof(Action));
}

static bool is_spent(const Shrinker *shrinker) {
  return shrinker->work >= WORK_MAX;
}

static bool solve(const Shrinker *shrinker, const Action *actions, int32_t count, int64_t *times_ns) {
  int32_t look = is_looked_at(shrinker) ? shrinker->property : NO_INDEX;
  return schedule_solve(shrinker->world, actions, count, look, times_ns) == SCHEDULE_SOLVED;
}

/* Whether the trial is a cheaper run than the best so far; then it is the best. */
static bool try_trial(Shrinker *shrinker) {
  Cost cost;
  if (is_spent(shrinker)) {
    return false;
  }
  shrinker->work += shrinker->trial.count;
  if (!rehearse(shrinker, &cost) || !is_less(cost, shrinker->best_cost)) {
    return false;
  }
  shrinker->work += shrinker->trial.count;
  if (!solve(shrinker, shrinker->actions, shrinker->trial.count, NULL)) {
    return false;
  }
  keep_trial(shrinker, cost);
  return true;
}

static void copy_best(Shrinker *shrinker) {
  shrinker->trial.count = shrinker->best.count;
  memcpy(shrinker->trial.items, shrinker->best.items, (size_t)shrinker->best.count * sizeof(Move));
}

static void trial_append(Shrinker *shrinker, const Move *move) {
  shrinker->trial.items[shrinker->trial.count++] = *move;
}

/* --- reductions -------------------------------------------------------------------------------------------------- */

static bool without_range(Shrinker *shrinker, int32_t from, int32_t end) {
  shrinker->trial.count = 0;
  for (int32_t i = 0; i < shrinker->best.count; i++) {
    if (i < from || i >= end) {
      trial_append(shrinker, &shrinker->best.items[i]);
    }
  }
  return try_trial(shrinker);
}

/* Chunks of half the run, a quarter, … one move (delta debugging: Zeller, Hildebrandt 2002). */
static bool drop_chunks(Shrinker *shrinker) {
  bool any = false;
  for (int32_t size = shrinker->best.count / 2; size >= 1; size /= 2) {
    for (int32_t from = shrinker->best.count - size; from > -size; from -= size) {
      any |= without_range(shrinker, from < 0 ? 0 : from, from + size);
    }
  }
  return any;
}

static bool has_strike(const Move *move) {
  for (int32_t i = 0; i < move->strikes.count; i++) {
    if (move->strikes.items[i] != 0) {
      return true;
    }
  }
  return false;
}

/* A move that begins an attempt, with what strikes the beginning of a later one if something does: it stands for both.
 */
static void trial_append_merged(Shrinker *shrinker, const Move *earlier, const Move *later) {
  Move merged = *earlier;
  merged.strikes = has_strike(later) ? later->strikes : earlier->strikes;
  trial_append(shrinker, &merged);
}

static bool belongs_to(const Shrinker *shrinker, const Move *move, int32_t client) {
  if (move->action.kind == ACTION_ARRIVE) {
    return move->client == client + 1;
  }
  return action_process(shrinker->world, &move->action) == client;
}

static int32_t next_attempt(const Shrinker *shrinker, int32_t client, int32_t from) {
  for (int32_t i = from; i < shrinker->best.count; i++) {
    const Move *move = &shrinker->best.items[i];
    if (move->begins_attempt && action_process(shrinker->world, &move->action) == client) {
      return i;
    }
  }
  return -1;
}

/* The last attempt that the client has begun by move `until`; -1: none. */
static int32_t attempt_by(const Shrinker *shrinker, int32_t client, int32_t until) {
  int32_t last = -1;
  for (int32_t i = next_attempt(shrinker, client, 0); i >= 0 && i <= until; i = next_attempt(shrinker, client, i + 1)) {
    last = i;
  }
  return last;
}

static int32_t last_attempt(const Shrinker *shrinker, int32_t client) {
  return attempt_by(shrinker, client, shrinker->best.count);
}

/* Each client comes from the beginning of its attempt `from` to that of its attempt `to` at once; with `from` -1 it
 * does nothing up to `to`. */
static bool cut_ranges(Shrinker *shrinker, const int32_t *from, const int32_t *to) {
  const Move *items = shrinker->best.items;
  shrinker->trial.count = 0;
  for (int32_t i = 0; i < shrinker->best.count; i++) {
    int32_t begins = -1;
    bool dropped = false;
    for (int32_t c = 0; c < shrinker->world->program->client_count && !dropped; c++) {
      dropped = i > from[c] && i <= to[c] && belongs_to(shrinker, &items[i], c);
      begins = i == from[c] && to[c] >= 0 ? to[c] : begins;
    }
    if (begins >= 0) {
      trial_append_merged(shrinker, &items[i], &items[begins]);
    } else if (!dropped) {
      trial_append(shrinker, &items[i]);
    }
  }
  return try_trial(shrinker);
}

/* The client begins its attempt `from` no sooner than it began its attempt `to`, in place of that one. */
static bool put_off_attempt(Shrinker *shrinker, int32_t client, int32_t from, int32_t to) {
  const Move *items = shrinker->best.items;
  shrinker->trial.count = 0;
  for (int32_t i = 0; i < shrinker->best.count; i++) {
    if (i < from || i > to || !belongs_to(shrinker, &items[i], client)) {
      trial_append(shrinker, &items[i]);
    }
    if (i == to) {
      trial_append_merged(shrinker, &items[from], &items[to]);
    }
  }
  return try_trial(shrinker);
}

/* Without a client's moves between the beginnings of two of its attempts: it comes to the later one at once, either
 * when the earlier one began, or when the later one did. */
static bool without_attempts(Shrinker *shrinker, int32_t client, int32_t from, int32_t to) {
  int32_t froms[PROGRAM_CLIENTS_MAX], tos[PROGRAM_CLIENTS_MAX];
  memset(froms, -1, sizeof froms);
  memset(tos, -1, sizeof tos);
  froms[client] = from;
  tos[client] = to;
  return cut_ranges(shrinker, froms, tos) || put_off_attempt(shrinker, client, from, to);
}

static bool drop_attempts_of(Shrinker *shrinker, int32_t client) {
  bool any = false;
  for (int32_t from = next_attempt(shrinker, client, 0); from >= 0;) {
    bool dropped = false;
    int32_t last = last_attempt(shrinker, client); /* the most first */
    if (last > from) {
      dropped = without_attempts(shrinker, client, from, last);
    }
    int32_t to = next_attempt(shrinker, client, from + 1);
    if (!dropped && to >= 0) {
      dropped = without_attempts(shrinker, client, from, to);
    }
    any |= dropped;
    from = dropped ? next_attempt(shrinker, client, from) : to;
  }
  return any;
}

/* Without a client, and without what the others did while they needed it: each comes at once to the last attempt that
 * it has begun by move `until`. */
static bool cut_client(Shrinker *shrinker, int32_t client, int32_t until) {
  int32_t from[PROGRAM_CLIENTS_MAX], to[PROGRAM_CLIENTS_MAX];
  for (int32_t c = 0; c < shrinker->world->program->client_count; c++) {
    from[c] = c == client ? -1 : next_attempt(shrinker, c, 0);
    to[c] = c == client ? shrinker->best.count : attempt_by(shrinker, c, until);
  }
  return cut_ranges(shrinker, from, to);
}

static bool drop_client(Shrinker *shrinker, int32_t client) {
  bool dropped = cut_client(shrinker, client, -1);
  for (int32_t i = 0; i < shrinker->best.count && !dropped; i++) {
    const Move *move = &shrinker->best.items[i];
    dropped = move->begins_attempt && action_process(shrinker->world, &move->action) != client &&
              cut_client(shrinker, client, i);
  }
  return dropped;
}

/* Rounds of several clients that depend on each other go together: each client comes to its next attempt at once, or to
 * its last one. */
static bool drop_rounds(Shrinker *shrinker, bool all_but_the_last) {
  int32_t from[PROGRAM_CLIENTS_MAX], to[PROGRAM_CLIENTS_MAX];
  for (int32_t c = 0; c < shrinker->world->program->client_count; c++) {
    from[c] = next_attempt(shrinker, c, 0);
    int32_t next = from[c] < 0 ? -1 : next_attempt(shrinker, c, from[c] + 1);
    to[c] = next < 0 ? from[c] : all_but_the_last ? last_attempt(shrinker, c) : next;
  }
  return cut_ranges(shrinker, from, to);
}

static bool drop_attempts(Shrinker *shrinker) {
  bool any = drop_rounds(shrinker, true);
  while (drop_rounds(shrinker, false)) {
    any = true;
  }
  for (int32_t c = 0; c < shrinker->world->program->client_count; c++) {
    any |= drop_client(shrinker, c);
    any |= drop_attempts_of(shrinker, c);
  }
  return any;
}

static void join(Answers *to, const Answers *from) {
  for (int32_t i = 0; i < from->count; i++) {
    append(to, from->items[i]);
  }
}

/* Without the fault inside move `at`: the step goes on with what followed the end of the pause. */
static bool without_strike(Shrinker *shrinker, int32_t at) {
  Move *struck = &shrinker->trial.items[at];
  copy_best(shrinker);
  memset(struck->strikes.items, 0, sizeof struck->strikes.items);
  for (int32_t i = at + 1; i < shrinker->trial.count; i++) {
    const Move *move = &shrinker->trial.items[i];
    if (move->action.kind == ACTION_RESUME &&
        move->action.subject == action_process(shrinker->world, &struck->action)) {
      join(&struck->compares, &move->compares);
      join(&struck->picks, &move->picks);
      join(&struck->strikes, &move->strikes);
      memmove(&shrinker->trial.items[i], move + 1, (size_t)(shrinker->trial.count - i - 1) * sizeof(Move));
      shrinker->trial.count--;
      break;
    }
  }
  return try_trial(shrinker);
}

static bool drop_faults(Shrinker *shrinker) {
  bool any = false;
  for (int32_t i = 0; i < shrinker->best.count; i++) {
    const Move *move = &shrinker->best.items[i];
    if (move->action.kind >= ACTION_FAULTS) {
      any |= without_range(shrinker, i, i + 1);
    } else if (has_strike(move)) {
      any |= without_strike(shrinker, i);
    }
  }
  return any;
}

static int32_t resume_of(const Shrinker *shrinker, int32_t pause) {
  const Move *items = shrinker->best.items;
  int32_t i = pause + 1;
  while (i < shrinker->best.count &&
         (items[i].action.kind != ACTION_RESUME ||
          items[i].action.subject != action_process(shrinker->world, &items[pause].action))) {
    i++;
  }
  return i;
}

static void answer_all(Answers *answers, int32_t answer, int32_t count) {
  answers->count = 0;
  while (answers->count < count) {
    append(answers, answer);
  }
}

/* The moves of `client` after `from` and before `end`, as they are after a pause: no strike, clocks perhaps beyond. */
static void append_own(Shrinker *shrinker, int32_t client, int32_t from, int32_t end, bool too_late) {
  for (int32_t i = from + 1; i < end; i++) {
    Move move = shrinker->best.items[i];
    if (action_process(shrinker->world, &move.action) != client || move.action.kind == ACTION_PAUSE) {
      continue;
    }
    memset(move.strikes.items, 0, sizeof move.strikes.items);
    if (too_late) {
      answer_all(&move.compares, 1, move.compares.count + 2);
    }
    trial_append(shrinker, &move);
  }
}

/* The pause of move `at` begins right behind move `from` already; what its process did between comes after its end. */
static bool pull_pause(Shrinker *shrinker, int32_t at, int32_t from, bool overdue, bool too_late) {
  const Move *items = shrinker->best.items;
  int32_t resume = resume_of(shrinker, at), client = action_process(shrinker->world, &items[at].action);
  Move pause = {.action = {.kind = ACTION_PAUSE, .subject = (uint8_t)client, .object = (uint8_t)(items[at].pause - 1)}};
  Move end = {.action = {.kind = ACTION_RESUME, .subject = (uint8_t)client}};
  answer_all(&end.compares, overdue, 4);
  shrinker->trial.count = 0;
  for (int32_t i = 0; i <= from; i++) {
    trial_append(shrinker, &items[i]);
  }
  trial_append(shrinker, &pause);
  for (int32_t i = from + 1; i < resume; i++) {
    if (action_process(shrinker->world, &items[i].action) != client) {
      trial_append(shrinker, &items[i]);
    }
  }
  trial_append(shrinker, &end);
  append_own(shrinker, client, from, resume, too_late);
  for (int32_t i = resume + 1; i < shrinker->best.count; i++) {
    trial_append(shrinker, &items[i]);
  }
  return try_trial(shrinker);
}

static bool pull_pause_anywhere(Shrinker *shrinker, int32_t at) {
  for (int32_t from = 0; from < at; from++) {
    for (int32_t way = 0; way < 4; way++) {
      if (pull_pause(shrinker, at, from, way & 1, way & 2)) {
        return true;
      }
    }
  }
  return false;
}

static bool pull_pauses(Shrinker *shrinker) {
  for (int32_t i = 0; i < shrinker->best.count; i++) {
    const Move *move = &shrinker->best.items[i];
    if (move->pause != 0 && action_process(shrinker->world, &move->action) < shrinker->world->program->client_count &&
        pull_pause_anywhere(shrinker, i)) {
      return true;
    }
  }
  return false;
}

/* A move goes to where its process acted last before, or acts next. */
static bool move_to(Shrinker *shrinker, int32_t from, int32_t to) {
  copy_best(shrinker);
  Move moved = shrinker->trial.items[from];
  Move *items = shrinker->trial.items;
  if (from < to) {
    memmove(&items[from], &items[from + 1], (size_t)(to - from) * sizeof(Move));
  } else {
    memmove(&items[to + 1], &items[to], (size_t)(from - to) * sizeof(Move));
  }
  items[to] = moved;
  return try_trial(shrinker);
}

static bool gather_processes(Shrinker *shrinker) {
  bool any = false;
  for (int32_t i = 1; i < shrinker->best.count; i++) {
    int32_t process = action_process(shrinker->world, &shrinker->best.items[i].action);
    for (int32_t j = i - 1; j >= 0 && j >= i - 12; j--) {
      if (action_process(shrinker->world, &shrinker->best.items[j].action) == process) {
        any |= j < i - 1 && (move_to(shrinker, i, j + 1) || move_to(shrinker, j, i - 1));
        break;
      }
    }
  }
  return any;
}

static void reduce(Shrinker *shrinker) {
  bool any = true;
  for (int32_t pass = 0; pass < PASSES_MAX && any && !is_spent(shrinker); pass++) {
    any = drop_faults(shrinker);
    any |= drop_attempts(shrinker);
    any |= drop_chunks(shrinker);
    any |= pull_pauses(shrinker);
  }
}

static void tidy(Shrinker *shrinker) {
  while (!is_spent(shrinker) && gather_processes(shrinker)) {
  }
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static void *room(size_t count, size_t bytes) {
  void *memory = calloc(count + 2, bytes);
  CHECK(memory != NULL);
  return memory;
}

static Shrunk result_of(const Shrinker *shrinker) {
  Shrunk shrunk = {.work = shrinker->work, .faults = shrinker->best_cost.faults, .steps = shrinker->best_cost.steps};
  if (shrinker->best_count < 0) {
    return shrunk;
  }
  int32_t count = shrunk.count = shrinker->best_count;
  int64_t *times_ns = room((size_t)count, sizeof(int64_t));
  bool solved = solve(shrinker, shrinker->best_actions, count, times_ns);
  CHECK(solved); /* as it was when it became the best */
  shrunk.decisions = room((size_t)count, sizeof(Decision));
  for (int32_t i = 0; i < count; i++) {
    shrunk.decisions[i] = (Decision){times_ns[i], shrinker->best_actions[i]};
  }
  bool ends_later = is_looked_at(shrinker) && (count == 0 || times_ns[count] > times_ns[count - 1]);
  shrunk.end_ns = ends_later ? times_ns[count] : 0;
  free(times_ns);
  return shrunk;
}

static Shrunk shrink_by(const World *world, const Decision *decisions, int32_t count, int32_t property,
                        void (*improve)(Shrinker *)) {
  size_t room_for = (size_t)count + 4; /* a pulled pause adds two */
  Shrinker shrinker = {.chooser = {.choose = choose, .compare = compare, .next_ticket = next_ticket},
                       .world = world,
                       .property = property,
                       .state = room(1, sizeof(State)),
                       .best = {room(room_for, sizeof(Move)), 0},
                       .trial = {room(room_for, sizeof(Move)), 0},
                       .actions = room(room_for, sizeof(Action)),
                       .best_actions = room(room_for, sizeof(Action)),
                       .best_cost = {INT32_MAX, INT32_MAX, INT32_MAX},
                       .best_count = -1};
  record(&shrinker, decisions, count);
  copy_best(&shrinker);
  try_trial(&shrinker);
  improve(&shrinker);
  Shrunk shrunk = result_of(&shrinker);
  free(shrinker.state);
  free(shrinker.best.items);
  free(shrinker.trial.items);
  free(shrinker.actions);
  free(shrinker.best_actions);
  return shrunk;
}

Shrunk shrink(const World *world, const Decision *decisions, int32_t count, int32_t property) {
  return shrink_by(world, decisions, count, property, reduce);
}

void shrink_tidy(const World *world, Shrunk *shrunk, int32_t property) {
  Shrunk other = shrink_by(world, shrunk->decisions, shrunk->count, property, tidy);
  if (other.decisions != NULL && !shrunk_is_cheaper(shrunk, &other)) {
    other.work += shrunk->work;
    shrunk_clear(shrunk);
    *shrunk = other;
  } else {
    shrunk_clear(&other);
  }
}

bool shrunk_is_cheaper(const Shrunk *a, const Shrunk *b) {
  return a->faults != b->faults ? a->faults < b->faults : a->steps < b->steps;
}

void shrunk_clear(Shrunk *shrunk) {
  free(shrunk->decisions);
  *shrunk = (Shrunk){0};
}
