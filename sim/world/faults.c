/* What the adversary does: pauses, suspends, crashes, clock steps, cuts, triggers. Late, lost and second messages are
 * choices at the sending (step.c), a skew is a clock step at the beginning, drift is a matter of readings (world.c). */
#include <string.h>

#include "base/check.h"
#include "world/step.h"

/* --- who is under which fault ------------------------------------------------------------------------------------ */

static const Fault *fault_in(const World *world, Cell cell) {
  return cell ? &world->program->faults[cell - 1] : NULL;
}

const Fault *faults_of_client(const World *world, const State *state, int32_t client) {
  return fault_in(world, state->cells[world->layout.client_cell[client] + CLIENT_FAULT]);
}

const Fault *faults_of_task(const World *world, const State *state, int32_t client, int32_t task) {
  return fault_in(world, state_task(&world->layout, (State *)state, client, task)[TASK_FAULT]);
}

const Fault *faults_of_server(const World *world, const State *state, int32_t server) {
  return fault_in(world, state->cells[world->layout.server_cell[server] + SERVER_FAULT]);
}

bool fault_is_pause(const Fault *fault) {
  return fault != NULL && (fault->kind == FAULT_PAUSE || fault->kind == FAULT_SUSPEND);
}

static bool window_is_bounded(const Fault *fault) {
  return fault->lo_us != DURATION_INFINITE && (fault->lo_us > 0 || fault->hi_us != DURATION_INFINITE);
}

/* The age of something that lasts as long as the window of its fault says. */
static Cell new_age_for(Step *step, const Fault *fault) {
  bool is_suspend = fault->kind == FAULT_SUSPEND; /* some clocks give it a length */
  return is_suspend || window_is_bounded(fault) ? step_new_age(step) : 0;
}

/* --- what may strike --------------------------------------------------------------------------------------------- */

static bool some_stamp_is_taken(const World *world, State *state, int32_t process) {
  const Program *program = world->program;
  bool is_client = process < program->client_count;
  int32_t server = process - program->client_count;
  int32_t count = is_client ? world_kind(world, process)->variable_count : world_service(world, server)->variable_count;
  for (int32_t v = 0; v < count; v++) {
    const Variable *variable =
        is_client ? &world_kind(world, process)->variables[v] : &world_service(world, server)->variables[v];
    const Cell *stamp =
        is_client ? world_client_variable(world, state, process, v) : world_server_variable(world, state, server, v);
    for (int32_t e = 0; e < variable->extent.count && variable->type.sort == SORT_STAMP; e++) {
      if (variable->type.on_wall && stamp[e * STAMP_CELLS + STAMP_AGE] != 0) {
        return true;
      }
    }
  }
  return false;
}

/* Whether a clock step would change anything: some timer or stamp is on the wall clock of the process, or will be. */
static bool reads_wall_clock(const World *world, const State *state, int32_t process) {
  const Program *program = world->program;
  if (world->stamps_travel || some_stamp_is_taken(world, (State *)state, process)) {
    return true;
  }
  if (process < program->client_count) {
    return false;
  }
  int32_t server = process - program->client_count, element;
  const Service *service = world_service(world, server);
  int32_t slots = world_timer_slots(service);
  for (int32_t t = 0; t < slots; t++) {
    const Cell *timer = world_timer(world, (State *)state, server, t);
    if (world_timer_of(service, t, &element)->on_wall && timer[TIMER_DURATION] && !timer[TIMER_OVERDUE]) {
      return true;
    }
  }
  return false;
}

/* Nothing has happened yet: clocks may still be set wrong. */
static bool is_beginning(const World *world, const State *state) {
  for (int32_t c = 0; c < world->program->client_count; c++) {
    if (state->cells[world->layout.client_cell[c] + CLIENT_PHASE] != PHASE_NOT_BEGUN) {
      return false;
    }
  }
  return state->message_count == 0;
}

static bool may_skew(const World *world, const State *state, int32_t process) {
  int32_t clients = world->program->client_count;
  Cell offset = process < clients ? state->cells[world->layout.client_cell[process] + CLIENT_OFFSET]
                                  : state->cells[world->layout.server_cell[process - clients] + SERVER_OFFSET];
  return world->stamps_travel && offset == 0 && is_beginning(world, state);
}

static bool may_strike_server(const World *world, const State *state, const Fault *what, int32_t server) {
  const Fault *under = faults_of_server(world, state, server);
  int32_t process = world->program->client_count + server;
  if (!(what->servers >> server & 1)) {
    return false;
  }
  switch (what->kind) {
  case FAULT_CRASH_SERVER: return under == NULL || fault_is_pause(under);
  case FAULT_STEP: return (under == NULL || fault_is_pause(under)) && reads_wall_clock(world, state, process);
  case FAULT_PAUSE:
  case FAULT_TRIGGER: return under == NULL;
  case FAULT_SKEW: return may_skew(world, state, process);
  default: return false;
  }
}

static bool task_may_pause(const Cell *task) {
  return task[TASK_PHASE] == TASK_RESTS && !task[TASK_FAULT];
}

static bool may_strike_client(const World *world, const State *state, const Fault *what, int32_t client) {
  const Cell *cells = state->cells + world->layout.client_cell[client];
  if (!(what->clients >> client & 1)) {
    return false;
  }
  if (what->kind == FAULT_SKEW) {
    return may_skew(world, state, client);
  }
  if (cells[CLIENT_PHASE] != PHASE_RUNS) {
    return false;
  }
  switch (what->kind) {
  case FAULT_CRASH_CLIENT: return true;
  case FAULT_PAUSE:
  case FAULT_SUSPEND:
    return !cells[CLIENT_FAULT] &&
           (what->task == NO_INDEX || task_may_pause(state_task(&world->layout, (State *)state, client, what->task)));
  case FAULT_STEP: return reads_wall_clock(world, state, client);
  default: return false;
  }
}

static ActionKind action_of(FaultKind kind) {
  switch (kind) {
  case FAULT_PAUSE:
  case FAULT_SUSPEND: return ACTION_PAUSE;
  case FAULT_STEP:
  case FAULT_SKEW: return ACTION_CLOCK_STEP;
  case FAULT_TRIGGER: return ACTION_TRIGGER;
  default: return ACTION_CRASH;
  }
}

static int32_t list_cuts(const World *world, const State *state, int32_t fault, Action *actions) {
  const Fault *what = &world->program->faults[fault];
  int32_t count = 0;
  for (int32_t c = 0; c < world->program->client_count; c++) {
    bool runs = state->cells[world->layout.client_cell[c] + CLIENT_PHASE] == PHASE_RUNS;
    for (int32_t s = 0; s < world->program->server_count && runs && what->clients >> c & 1; s++) {
      if (what->servers >> s & 1 && !world_is_cut(world, state, c, s)) {
        actions[count++] =
            (Action){.kind = ACTION_CUT, .subject = (uint8_t)c, .object = (uint8_t)fault, .part = (uint8_t)s};
      }
    }
  }
  return count;
}

static bool is_choice_or_standing(FaultKind kind) {
  return kind == FAULT_LATE || kind == FAULT_LOST || kind == FAULT_DUPLICATED || kind == FAULT_UNORDERED ||
         kind == FAULT_DRIFT || kind == FAULT_DOWN;
}

int32_t step_faults(const World *world, const State *state, Action actions[FAULT_ACTIONS_MAX]) {
  const Program *program = world->program;
  int32_t count = 0; /* never too many: world_new has counted */
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    if (is_choice_or_standing(fault->kind) || (fault->kind != FAULT_SKEW && world_budget(world, state, f) == 0)) {
      continue;
    }
    if (fault->kind == FAULT_CUT) {
      count += list_cuts(world, state, f, actions + count);
      continue;
    }
    for (int32_t p = 0; p < program->client_count + program->server_count; p++) {
      bool strikes = p < program->client_count ? may_strike_client(world, state, fault, p)
                                               : may_strike_server(world, state, fault, p - program->client_count);
      if (strikes) {
        actions[count++] = (Action){.kind = (uint8_t)action_of(fault->kind),
                                    .subject = (uint8_t)p,
                                    .object = (uint8_t)f,
                                    .part = (uint8_t)(fault->task + 1)};
      }
    }
  }
  return count;
}

/* --- pauses ------------------------------------------------------------------------------------------------------ */

static void log_pause(Step *step, int32_t fault, int32_t pc) {
  Event event = step_event_of(step, EVENT_PAUSE);
  event.index = fault;
  event.pc = pc;
  step_event(step, event);
}

/* `task` is the one that pauses alone, or that is struck on its way; the fault says which. */
static void begin_client_pause(Step *step, int32_t client, int32_t task_index, int32_t fault) {
  const Fault *what = &step->world->program->faults[fault];
  Cell *cells = state_client(&step->world->layout, step->state, client);
  Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  step_spend(step, fault);
  if (what->task == NO_INDEX) {
    cells[CLIENT_FAULT] = fault + 1;
    cells[CLIENT_AGE] = new_age_for(step, what);
  } else {
    task[TASK_FAULT] = fault + 1;
    task[TASK_PAUSE_AGE] = new_age_for(step, what);
  }
  step->task = task_index;
  log_pause(step, fault, task[TASK_PC]);
}

static void crash_client(Step *step, int32_t client, int32_t fault);

bool faults_strike(Step *step, int32_t pc) {
  const Program *program = step->world->program;
  int32_t client = step->process, task = step->task;
  int32_t options[64];
  int32_t count = 1;
  for (int32_t f = 0; f < program->fault_count && count < 64; f++) {
    const Fault *fault = &program->faults[f];
    if (!step->visible && fault->task == NO_INDEX) {
      continue; /* while a task pauses alone, the others may change what it has read */
    }
    bool pauses = fault_is_pause(fault) && (fault->task == NO_INDEX || fault->task == task);
    if ((pauses || fault->kind == FAULT_CRASH_CLIENT) && fault->clients >> client & 1 &&
        world_budget(step->world, step->state, f) > 0) {
      options[count++] = f;
    }
  }
  int32_t chosen = count > 1 ? step->chooser->choose(step->chooser, count) : 0;
  if (chosen == 0) {
    return false;
  }
  step->steps++;
  if (fault_is_pause(&program->faults[options[chosen]])) {
    step_rest(step, client, task, pc);
    begin_client_pause(step, client, task, options[chosen]);
  } else {
    crash_client(step, client, options[chosen]);
  }
  return true;
}

/* What is on its way to a paused process is withheld; the resume will look again. */
static void forget_overdue(Step *step, int32_t process, int32_t task_alone) {
  const World *world = step->world;
  int32_t clients = world->program->client_count;
  for (int32_t m = 0; m < step->state->message_count; m++) {
    Cell *record = state_message(&world->layout, step->state, m);
    bool to_client = message_goes_to_client(record);
    bool its = to_client ? record[MESSAGE_CLIENT] == process + 1 : record[MESSAGE_SERVER] == process - clients + 1;
    bool for_it = task_alone < 0 || (record[MESSAGE_KIND] == MESSAGE_REPLY && record[MESSAGE_TASK] == task_alone);
    record[MESSAGE_OVERDUE] = its && for_it ? 0 : record[MESSAGE_OVERDUE];
  }
  if (process >= clients) {
    return; /* a timer stays overdue: how far a clock step has carried it is forgotten */
  }
  for (int32_t t = 0; t < world_kind(world, process)->task_count; t++) {
    if (task_alone < 0 || t == task_alone) {
      Cell *overdue = &state_task(&world->layout, step->state, process, t)[TASK_OVERDUE];
      *overdue = *overdue == OVERDUE_LATE ? 0 : *overdue;
    }
  }
}

void faults_pause(Step *step, const Action *action) {
  int32_t process = action->subject, fault = action->object, clients = step->world->program->client_count;
  forget_overdue(step, process, action->part - 1);
  if (process < clients) {
    begin_client_pause(step, process, action->part ? action->part - 1 : 0, fault);
    return;
  }
  step->process = process;
  step->server = process - clients;
  Cell *cells = state_server(&step->world->layout, step->state, step->server);
  step_spend(step, fault);
  cells[SERVER_FAULT] = fault + 1;
  cells[SERVER_AGE] = new_age_for(step, &step->world->program->faults[fault]);
  log_pause(step, fault, -1);
}

typedef enum Glance { GLANCE_CLIENT, GLANCE_TASK, GLANCE_WALL_CLOCK, GLANCE_SERVER } Glance;

/* Whether a thing waited for the process (a task of it, its wall clock) that looks at the clock. */
static bool waited_for(const Thing *thing, Glance glance, int32_t process, int32_t task, int32_t clients) {
  bool arrives = thing->kind == ACTION_ARRIVE && thing->subject == process && !thing->optional;
  bool rests = (thing->kind == ACTION_TIMEOUT || thing->kind == ACTION_WAKE) && thing->subject == process;
  switch (glance) {
  case GLANCE_CLIENT: return arrives || rests;
  case GLANCE_TASK: return (rests && thing->part == task) || arrives;
  case GLANCE_WALL_CLOCK: return thing->kind == ACTION_WAKE && thing->object > 0 && thing->subject == process;
  default: return arrives || (thing->kind == ACTION_FIRE && thing->subject == process - clients);
  }
}

/* Whatever waited for the process is still inside its window, or overdue. */
static void look_at_clock(Step *step, Glance glance, int32_t process, int32_t task) {
  const World *world = step->world;
  int32_t clients = world->program->client_count;
  Thing things[THINGS_MAX];
  int32_t count = step_things(world, step->state, things);
  for (int32_t i = 0; i < count; i++) {
    const Thing *thing = &things[i];
    if (!waited_for(thing, glance, process, task, clients) || thing->withheld || thing->overdue ||
        thing->hi_us == DURATION_INFINITE ||
        step_compare(step, thing->age, (Reading){thing->hi_us, thing->hi_us}, false)) {
      continue;
    }
    if (thing->kind == ACTION_ARRIVE) {
      state_message(&world->layout, step->state, thing->object)[MESSAGE_OVERDUE] = 1;
    } else if (thing->kind == ACTION_FIRE) {
      Cell *timer = world_timer(world, step->state, thing->subject, thing->object);
      timer[TIMER_OVERDUE] = 1;
      timer[TIMER_SHIFT] = 0;
    } else {
      state_task(&world->layout, step->state, process, thing->part)[TASK_OVERDUE] = OVERDUE_LATE;
    }
  }
}

static Cell sum_us(Step *step, Cell cell, int64_t us) {
  int64_t sum = (int64_t)cell + us;
  if (sum > INT32_MAX - 1 || sum < INT32_MIN) {
    step_fail(step, PROBLEM_RANGE, -1);
    return cell;
  }
  return (Cell)sum;
}

static void add_behind(Step *step, Cell *behind_lo, Cell *behind_hi, Window length) {
  *behind_lo = sum_us(step, *behind_lo, length.lo_us);
  bool forever = length.hi_us == DURATION_INFINITE || *behind_hi == BEHIND_FOREVER;
  *behind_hi = forever ? BEHIND_FOREVER : sum_us(step, *behind_hi, length.hi_us);
}

/* The monotonic clock of a client stood still: whatever it measures began that much later. */
static void hold_clock(Step *step, int32_t client, Window length) {
  const World *world = step->world;
  const ClientKind *kind = world_kind(world, client);
  for (int32_t v = 0; v < kind->variable_count; v++) {
    const Variable *variable = &kind->variables[v];
    Cell *stamp = world_client_variable(world, step->state, client, v);
    for (int32_t e = 0; e < variable->extent.count && variable->type.sort == SORT_STAMP; e++, stamp += STAMP_CELLS) {
      if (!variable->type.on_wall && stamp[STAMP_AGE]) {
        add_behind(step, &stamp[STAMP_BEHIND_LO], &stamp[STAMP_BEHIND_HI], length);
      }
    }
  }
  for (int32_t t = 0; t < kind->task_count; t++) {
    Cell *task = state_task(&world->layout, step->state, client, t);
    if (task[TASK_AGE]) {
      add_behind(step, &task[TASK_BEHIND_LO], &task[TASK_BEHIND_HI], length);
    }
  }
}

/* A task that was struck on its way goes on. */
static void go_on_from_point(Step *step, int32_t client, int32_t task_index) {
  const Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  if (task[TASK_PHASE] == TASK_RESTS && !task[TASK_FAULT] &&
      step->world->program->code[task[TASK_PC]].op == OP_PAUSE_POINT) {
    vm_run_client(step, client, task_index, task[TASK_PC] + 1);
  }
}

static void resume_client(Step *step, int32_t client) {
  Cell *cells = state_client(&step->world->layout, step->state, client);
  int32_t fault = cells[CLIENT_FAULT] - 1, tasks = world_kind(step->world, client)->task_count;
  if (step->world->program->faults[fault].kind == FAULT_SUSPEND) {
    hold_clock(step, client, world_suspend_window(step->world, fault));
  }
  cells[CLIENT_FAULT] = 0;
  cells[CLIENT_AGE] = 0;
  step_event(step, step_event_of(step, EVENT_RESUME));
  look_at_clock(step, GLANCE_CLIENT, client, 0);
  for (int32_t t = 0; t < tasks && step->problem.kind == PROBLEM_NONE; t++) {
    go_on_from_point(step, client, t); /* at most one was struck */
  }
}

static void resume_task(Step *step, int32_t client, int32_t task_index) {
  Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  task[TASK_FAULT] = task[TASK_PAUSE_AGE] = 0;
  step->task = task_index;
  step_event(step, step_event_of(step, EVENT_RESUME));
  if (!state_client(&step->world->layout, step->state, client)[CLIENT_FAULT]) {
    look_at_clock(step, GLANCE_TASK, client, task_index);
    go_on_from_point(step, client, task_index);
  }
}

static bool is_losing(const World *world, State *state, int32_t client, int32_t server) {
  for (int32_t m = 0; m < state->message_count; m++) {
    const Cell *record = state_message(&world->layout, state, m);
    if (record[MESSAGE_KIND] == MESSAGE_LOSS && record[MESSAGE_CLIENT] == client + 1 &&
        record[MESSAGE_SERVER] == server + 1) {
      return true;
    }
  }
  return false;
}

/* Whoever has come back to a server that was not there to notice: it hears first that the old connections are gone. */
static void notice_returned(Step *step, int32_t server) {
  const World *world = step->world;
  for (int32_t c = 0; c < world->program->client_count && step->problem.kind == PROBLEM_NONE; c++) {
    bool crashed = state_client(&world->layout, step->state, c)[CLIENT_PHASE] == PHASE_CRASHED;
    if (!crashed && !world_is_cut(world, step->state, c, server) && is_losing(world, step->state, c, server)) {
      step_notice_loss(step, c, server);
    }
  }
}

static void server_is_back(Step *step, int32_t process, EventKind kind) {
  step->process = process;
  step->server = process - step->world->program->client_count;
  Cell *cells = state_server(&step->world->layout, step->state, step->server);
  cells[SERVER_FAULT] = cells[SERVER_AGE] = 0;
  step_event(step, step_event_of(step, kind));
  look_at_clock(step, GLANCE_SERVER, process, 0);
  notice_returned(step, process - step->world->program->client_count);
}

void faults_resume(Step *step, const Action *action) {
  int32_t process = action->subject;
  if (process >= step->world->program->client_count) {
    server_is_back(step, process, EVENT_RESUME);
    return;
  }
  step->ran = process + 1; /* its waits have not been looked at meanwhile */
  if (action->part) {
    resume_task(step, process, action->part - 1);
  } else {
    resume_client(step, process);
  }
}

/* --- losses of connections --------------------------------------------------------------------------------------- */

/* The server will notice, if it cares, and if it is down and forgets nothing, when it is back. */
static void begin_loss(Step *step, int32_t client, int32_t server) {
  const World *world = step->world;
  State *state = step->state;
  const Fault *fault = faults_of_server(world, state, server);
  bool remembers =
      fault == NULL || fault_is_pause(fault) || (fault->kind == FAULT_CRASH_SERVER && fault->memory != MEMORY_LOST);
  if (!remembers || world_service(world, server)->lost_entry == NO_INDEX || is_losing(world, state, client, server)) {
    return;
  }
  if (state->message_count == STATE_MESSAGES_MAX) {
    step_fail(step, PROBLEM_SLOTS, -1);
    return;
  }
  Window detect = world->program->detect;
  Cell *record = state_message(&world->layout, state, state->message_count++);
  memset(record, 0, world->layout.message.count * sizeof(Cell));
  record[MESSAGE_CLIENT] = client + 1;
  record[MESSAGE_SERVER] = server + 1;
  record[MESSAGE_KIND] = MESSAGE_LOSS;
  record[MESSAGE_AGE] = detect.lo_us > 0 || detect.hi_us != DURATION_INFINITE ? step_new_age(step) : 0;
}

static void remove_loss(Step *step, int32_t client, int32_t server) {
  const Layout *layout = &step->world->layout;
  for (int32_t m = step->state->message_count - 1; m >= 0; m--) {
    const Cell *record = state_message(layout, step->state, m);
    bool its = (client < 0 || record[MESSAGE_CLIENT] == client + 1) && record[MESSAGE_SERVER] == server + 1;
    if (its && record[MESSAGE_KIND] == MESSAGE_LOSS) {
      state_remove_message(layout, step->state, m);
    }
  }
}

void faults_cut(Step *step, int32_t client, int32_t server, int32_t fault) {
  Cell *cut = world_cut(step->world, step->state, client, server);
  step_spend(step, fault);
  cut[CUT_FAULT] = fault + 1;
  cut[CUT_AGE] = new_age_for(step, &step->world->program->faults[fault]);
  Event event = step_event_of(step, EVENT_CUT);
  event.server = server;
  event.index = fault;
  step_event(step, event);
  begin_loss(step, client, server);
}

/* A message that would have arrived during the cut arrives within the upper end of its latency from now on, and may
 * arrive at once. One that is too young for that keeps its window, but for those before it in its stream. */
static void hold_message(Step *step, Cell *record, bool is_behind) {
  const World *world = step->world;
  Window latency = world->program->latency[record[MESSAGE_SERVER] - 1];
  bool is_young = record[MESSAGE_CUT] != HELD_UP && !record[MESSAGE_OVERDUE] && latency.lo_us > 0 &&
                  step_compare(step, record[MESSAGE_AGE], (Reading){latency.lo_us, latency.lo_us}, true);
  if (is_young) {
    record[MESSAGE_CUT] = is_behind && !world->is_unordered ? HELD_UP_BEHIND : HELD_UP_NOT;
    return;
  }
  record[MESSAGE_CUT] = HELD_UP;
  record[MESSAGE_OVERDUE] = 0;
  record[MESSAGE_AGE] = latency.hi_us != DURATION_INFINITE ? step_new_age(step) : 0;
}

void faults_join(Step *step, int32_t client, int32_t server) {
  const World *world = step->world;
  Cell *cut = world_cut(world, step->state, client, server);
  cut[CUT_FAULT] = cut[CUT_AGE] = 0;
  Event event = step_event_of(step, EVENT_JOIN);
  event.server = server;
  step_event(step, event);
  const Fault *under = faults_of_client(world, step->state, client);
  bool is_gone = state_client(&world->layout, step->state, client)[CLIENT_PHASE] == PHASE_CRASHED && !under->is_silent;
  if (!is_gone) {
    remove_loss(step, client, server);
  }
  bool held[2] = {false, false}; /* one on the way to the server; to the client */
  for (int32_t m = 0; m < step->state->message_count; m++) {
    Cell *record = state_message(&world->layout, step->state, m);
    bool its = record[MESSAGE_CLIENT] == client + 1 && record[MESSAGE_SERVER] == server + 1 &&
               record[MESSAGE_KIND] != MESSAGE_LOSS && !record[MESSAGE_LATE] && !record[MESSAGE_WAITING];
    if (its) {
      bool to_client = message_goes_to_client(record);
      hold_message(step, record, held[to_client]);
      held[to_client] |= record[MESSAGE_CUT] == HELD_UP;
    }
  }
}

/* --- crashes ----------------------------------------------------------------------------------------------------- */

static void crash_client(Step *step, int32_t client, int32_t fault) {
  const World *world = step->world;
  const Fault *what = &world->program->faults[fault];
  Cell *cells = state_client(&world->layout, step->state, client);
  step_spend(step, fault);
  Event event = step_event_of(step, EVENT_CRASH);
  event.index = fault;
  step_event(step, event);
  step_end_client(step, client, PHASE_CRASHED);
  cells[CLIENT_FAULT] = fault + 1;
  cells[CLIENT_AGE] = window_is_bounded(what) ? step_new_age(step) : 0;
  for (int32_t s = 0; s < world->program->server_count && !what->is_silent; s++) {
    begin_loss(step, client, s);
  }
}

typedef struct Memory {
  Value values[64];
} Memory;

/* The first elements of the variables, for the log. */
static void remember(Step *step, int32_t server, Memory *memory) {
  const Service *service = world_service(step->world, server);
  CHECK(service->variable_count <= 64);
  for (int32_t v = 0; v < service->variable_count; v++) {
    memory->values[v] =
        world_read(&service->variables[v].type, world_server_variable(step->world, step->state, server, v));
  }
}

static void log_memory(Step *step, int32_t server, const Memory *before) {
  const Service *service = world_service(step->world, server);
  for (int32_t v = 0; v < service->variable_count; v++) {
    Event event = step_event_of(step, EVENT_VARIABLE);
    event.index = v;
    event.before = before->values[v];
    event.after = world_read(&service->variables[v].type, world_server_variable(step->world, step->state, server, v));
    if (service->variables[v].type.sort != SORT_STAMP &&
        (event.before.sort != event.after.sort || event.before.number != event.after.number)) {
      step_event(step, event);
    }
  }
}

/* What a server still knows when it comes back; the log hears what it has lost. */
static void lose_memory(Step *step, int32_t server, const Fault *fault) {
  Memory before;
  if (fault->memory == MEMORY_KEPT) {
    return;
  }
  remember(step, server, &before);
  if (fault->memory == MEMORY_DURABLE) {
    world_restore_copy(step->world, step->state, server);
  } else {
    world_reset_server(step->world, step->state, server);
    world_save_copy(step->world, step->state, server);
    remove_loss(step, -1, server);
  }
  log_memory(step, server, &before);
  step_event(step, step_event_of(step, EVENT_RESET));
}

static void crash_server(Step *step, int32_t server, int32_t fault) {
  const Layout *layout = &step->world->layout;
  const Fault *what = &step->world->program->faults[fault];
  Cell *cells = state_server(layout, step->state, server);
  step->server = server;
  step->process = step->world->program->client_count + server;
  step_spend(step, fault);
  Event event = step_event_of(step, EVENT_CRASH);
  event.index = fault;
  step_event(step, event);
  lose_memory(step, server, what);
  forget_overdue(step, step->process, -1);
  for (int32_t m = step->state->message_count - 1; m >= 0; m--) {
    const Cell *record = state_message(layout, step->state, m);
    bool is_request = record[MESSAGE_KIND] <= MESSAGE_ORPHAN;
    if (record[MESSAGE_SERVER] == server + 1 && is_request) {
      state_remove_message(layout, step->state, m);
    }
  }
  cells[SERVER_FAULT] = fault + 1;
  cells[SERVER_AGE] = window_is_bounded(what) ? step_new_age(step) : 0;
}

void faults_crash(Step *step, int32_t process, int32_t fault) {
  int32_t clients = step->world->program->client_count;
  if (process < clients) {
    crash_client(step, process, fault);
  } else {
    crash_server(step, process - clients, fault);
  }
}

/* A client that comes back opens new connections: the servers notice at last that the old ones are gone. */
static void restart_client(Step *step, int32_t client) {
  const World *world = step->world;
  step_event(step, step_event_of(step, EVENT_RESTART));
  for (int32_t s = 0; s < world->program->server_count; s++) {
    if (is_losing(world, step->state, client, s) && faults_of_server(world, step->state, s) == NULL) {
      step_notice_loss(step, client, s);
    }
  }
  step->process = step->client = client;
  step->server = -1;
  step_begin_client(step, client);
}

void faults_restart(Step *step, int32_t process) {
  if (process < step->world->program->client_count) {
    restart_client(step, process);
  } else {
    server_is_back(step, process, EVENT_RESTART);
  }
}

/* --- clock steps ------------------------------------------------------------------------------------------------- */

/* A durable copy says when by the wall clock, too: what is put back will be compared with it. */
static void step_copied_timers(Step *step, int32_t server, int64_t by_us) {
  const World *world = step->world;
  const Service *service = world_service(world, server);
  Cell *timer = world_copied_timers(world, step->state, server);
  int32_t slots = world_timer_slots(service), element;
  for (int32_t t = 0; t < slots && timer != NULL; t++, timer += TIMER_CELLS) {
    if (world_timer_of(service, t, &element)->on_wall && timer[TIMER_DURATION] && !timer[TIMER_OVERDUE]) {
      timer[TIMER_SHIFT] = sum_us(step, timer[TIMER_SHIFT], by_us);
    }
  }
}

static void step_timers(Step *step, int32_t server, int64_t by_us) {
  const World *world = step->world;
  const Service *service = world_service(world, server);
  int32_t slots = world_timer_slots(service), element;
  step_copied_timers(step, server, by_us);
  bool is_up = faults_of_server(world, step->state, server) == NULL; /* else the return will look at the clock */
  for (int32_t t = 0; t < slots; t++) {
    Cell *timer = world_timer(world, step->state, server, t);
    if (!world_timer_of(service, t, &element)->on_wall || !timer[TIMER_DURATION] || timer[TIMER_OVERDUE]) {
      continue;
    }
    timer[TIMER_SHIFT] = sum_us(step, timer[TIMER_SHIFT], by_us);
    int64_t at_us = world->program->durations_us[timer[TIMER_DURATION] - 1] - timer[TIMER_SHIFT];
    int64_t hi_us = at_us > 0 ? world_reading(world, world->program->client_count + server, at_us, 0, 0).hi_us : at_us;
    if (is_up && !step_compare(step, timer[TIMER_AGE], (Reading){hi_us, hi_us}, false)) {
      timer[TIMER_OVERDUE] = 1;
      timer[TIMER_SHIFT] = 0; /* it fires now: how far the clock went does not matter */
    }
  }
}

static void step_stamps(Step *step, const Variable *variable, Cell *stamp, int64_t by_us) {
  for (int32_t e = 0; e < variable->extent.count; e++, stamp += STAMP_CELLS) {
    if (variable->type.sort == SORT_STAMP && variable->type.on_wall && stamp[STAMP_AGE] != 0) {
      stamp[STAMP_SHIFT] = sum_us(step, stamp[STAMP_SHIFT], by_us);
    }
  }
}

static void step_client_clock(Step *step, int32_t client, int64_t by_us) {
  const ClientKind *kind = world_kind(step->world, client);
  Cell *cells = state_client(&step->world->layout, step->state, client);
  for (int32_t v = 0; v < kind->variable_count; v++) {
    step_stamps(step, &kind->variables[v], world_client_variable(step->world, step->state, client, v), by_us);
  }
  if (step->world->stamps_travel) {
    cells[CLIENT_OFFSET] = sum_us(step, cells[CLIENT_OFFSET], by_us);
  }
  if (cells[CLIENT_PHASE] == PHASE_RUNS && !cells[CLIENT_FAULT]) {
    look_at_clock(step, GLANCE_WALL_CLOCK, client, 0);
  }
}

static void step_server_clock(Step *step, int32_t server, int64_t by_us) {
  const Service *service = world_service(step->world, server);
  Cell *cells = state_server(&step->world->layout, step->state, server);
  int32_t copy = step->world->layout.server_copy[server]; /* the same cells once more */
  for (int32_t v = 0; v < service->variable_count; v++) {
    Cell *stamp = world_server_variable(step->world, step->state, server, v);
    step_stamps(step, &service->variables[v], stamp, by_us);
    if (copy != NO_INDEX) {
      step_stamps(step, &service->variables[v], stamp + copy - SERVER_HEADER, by_us);
    }
  }
  if (step->world->stamps_travel) {
    cells[SERVER_OFFSET] = sum_us(step, cells[SERVER_OFFSET], by_us);
  }
  step_timers(step, server, by_us);
}

void faults_clock_step(Step *step, int32_t process, int32_t fault) {
  int32_t clients = step->world->program->client_count;
  const Fault *what = &step->world->program->faults[fault];
  if (what->kind == FAULT_SKEW) {
    step->faults++; /* no budget: each process once */
  } else {
    step_spend(step, fault);
  }
  step->process = process;
  step->server = process < clients ? -1 : process - clients;
  Event event = step_event_of(step, EVENT_CLOCK_STEP);
  event.index = fault;
  event.number = what->by_us;
  step_event(step, event);
  if (process < clients) {
    step_client_clock(step, process, what->by_us);
  } else {
    step_server_clock(step, process - clients, what->by_us);
  }
}

/* --- triggers ---------------------------------------------------------------------------------------------------- */

void faults_trigger(Step *step, int32_t server, int32_t fault) {
  const Fault *what = &step->world->program->faults[fault];
  const Handler *handler = &world_service(step->world, server)->handlers[what->handler];
  step_spend(step, fault);
  step->server = server;
  step->process = step->world->program->client_count + server;
  step->client = -1;
  Event event = step_event_of(step, EVENT_TRIGGER);
  event.index = fault;
  step_event(step, event);
  step->value_count = what->arg_count;
  for (int32_t a = 0; a < what->arg_count; a++) {
    bool is_name = what->arg_sorts[a] == SORT_CLIENT || what->arg_sorts[a] == SORT_SERVER; /* names count from 1 */
    step->values[a] = (Value){(Cell)what->arg_sorts[a], what->args[a] + is_name, 0};
  }
  if (handler->guard == NO_INDEX || vm_evaluate(step, handler->guard)) {
    vm_run_server(step, server, handler->entry);
    step_serve_waiting(step, server);
  }
}
