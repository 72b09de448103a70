#include "world/step.h"

#include <string.h>

#include "base/check.h"
#include "world/dead.h"

/* --- what can happen --------------------------------------------------------------------------------------------- */

typedef struct ThingList {
  Thing *things;
  int32_t count;
} ThingList;

static Thing *list_thing(ThingList *list, ActionKind kind, int32_t subject, int32_t object, Cell age, int64_t lo_us,
                         int64_t hi_us) {
  CHECK(list->count < THINGS_MAX);
  Thing *thing = &list->things[list->count++];
  *thing = (Thing){.kind = kind, .subject = subject, .object = object, .age = age, .lo_us = lo_us, .hi_us = hi_us};
  return thing;
}

/* Which goes before the messages, unless it is withheld. */
static bool server_has_overdue_timer(const World *world, const State *state, int32_t server) {
  int32_t count = world_timer_slots(world_service(world, server));
  for (int32_t t = 0; t < count && faults_of_server(world, state, server) == NULL; t++) {
    if (world_timer(world, (State *)state, server, t)[TIMER_OVERDUE]) {
      return true;
    }
  }
  return false;
}

static bool same_stream(const Cell *a, const Cell *b) {
  return a[MESSAGE_CLIENT] == b[MESSAGE_CLIENT] && a[MESSAGE_SERVER] == b[MESSAGE_SERVER] &&
         a[MESSAGE_PEER] == b[MESSAGE_PEER] && message_goes_to_client(a) == message_goes_to_client(b) &&
         !a[MESSAGE_LATE] && !b[MESSAGE_LATE] && a[MESSAGE_KIND] != MESSAGE_LOSS && b[MESSAGE_KIND] != MESSAGE_LOSS;
}

/* Whether the receiver cannot take a message at present: it is paused, or the two are cut off. */
static bool is_held_up(const World *world, const State *state, const Cell *record) {
  int32_t client = record[MESSAGE_CLIENT] - 1, server = record[MESSAGE_SERVER] - 1;
  if (client >= 0 && record[MESSAGE_KIND] != MESSAGE_LOSS && world_is_cut(world, state, client, server)) {
    return true;
  }
  if (message_goes_to_client(record)) {
    bool task_pauses =
        record[MESSAGE_KIND] == MESSAGE_REPLY && faults_of_task(world, state, client, record[MESSAGE_TASK]) != NULL;
    return task_pauses || fault_is_pause(faults_of_client(world, state, client));
  }
  const Fault *fault = faults_of_server(world, state, server);
  return fault != NULL && (fault_is_pause(fault) || record[MESSAGE_KIND] == MESSAGE_LOSS);
}

static void set_message_window(const World *world, const Cell *record, Thing *thing) {
  const Program *program = world->program;
  Window latency = program->latency[record[MESSAGE_SERVER] - 1];
  if (record[MESSAGE_KIND] == MESSAGE_LOSS) {
    latency = program->detect;
  }
  thing->lo_us = record[MESSAGE_CUT] == HELD_UP ? 0 : latency.lo_us;
  thing->hi_us = latency.hi_us;
  if (record[MESSAGE_LATE]) {
    const Fault *fault = &program->faults[record[MESSAGE_LATE] - 1];
    bool is_copy = fault->kind == FAULT_DUPLICATED;
    int64_t from_us = is_copy ? latency.lo_us : latency.hi_us;
    thing->lo_us = from_us + fault->lo_us;
    thing->hi_us = fault->hi_us != DURATION_INFINITE ? latency.hi_us + fault->hi_us : DURATION_INFINITE;
    thing->after_lo = fault->lo_us == 0 && !is_copy;
    thing->optional = true;
  }
}

/* Messages are sorted, so the first of a stream stands right before the others. */
static void list_messages(const World *world, const State *state, ThingList *list) {
  const Layout *layout = &world->layout;
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    if (record[MESSAGE_WAITING]) {
      continue;
    }
    int32_t client = record[MESSAGE_CLIENT] - 1, server = record[MESSAGE_SERVER] - 1;
    bool to_client = message_goes_to_client(record);
    Thing *thing = list_thing(list, ACTION_ARRIVE, to_client ? client : world->program->client_count + server, m,
                              record[MESSAGE_AGE], 0, 0);
    set_message_window(world, record, thing);
    thing->overdue = record[MESSAGE_OVERDUE];
    thing->withheld = is_held_up(world, state, record) || record[MESSAGE_CUT] == HELD_UP_BEHIND;
    bool is_behind = m > 0 && !world->is_unordered && same_stream(record - layout->message.count, record);
    thing->blocked = is_behind || (!to_client && server_has_overdue_timer(world, state, server));
  }
}

/* In true time, for what waits since the task came to rest. */
static void list_wake(const World *world, int32_t client, const Cell *task, ActionKind kind, int64_t lo_us,
                      int64_t hi_us, ThingList *list) {
  Reading lo = world_reading(world, client, lo_us, task[TASK_BEHIND_LO], task[TASK_BEHIND_HI]);
  Reading hi = world_reading(world, client, hi_us, task[TASK_BEHIND_LO], task[TASK_BEHIND_HI]);
  list_thing(list, kind, client, 0, task[TASK_AGE], lo.lo_us, hi.hi_us);
}

static void list_until_ages(const World *world, const State *state, int32_t client, const Wait *wait, ThingList *list) {
  for (int32_t a = 0; a < wait->age_count; a++) {
    const Cell *stamp = world_client_variable(world, (State *)state, client, wait->ages[a].variable);
    int64_t at_us = world->program->durations_us[wait->ages[a].duration] - stamp[STAMP_SHIFT];
    Reading at = world_reading(world, client, at_us > 0 ? at_us : 0, stamp[STAMP_BEHIND_LO], stamp[STAMP_BEHIND_HI]);
    list_thing(list, ACTION_WAKE, client, a + 1, stamp[STAMP_AGE], at.lo_us, at.hi_us);
  }
}

/* The call's time-out, or the ends of the wait. */
static void list_rest(const World *world, const State *state, int32_t client, int32_t task_index, ThingList *list) {
  const Program *program = world->program;
  const Cell *task = state_task(&world->layout, (State *)state, client, task_index);
  const Instr *instr = &program->code[task[TASK_PC]];
  int32_t from = list->count;
  if (task[TASK_PHASE] == TASK_READY) {
    list_thing(list, ACTION_WAKE, client, 0, 0, 0, 0)->overdue = true;
  } else if ((instr->op == OP_ASK || instr->op == OP_ASK_ALL) && instr->operand >= 0) {
    int64_t within_us = program->durations_us[instr->operand];
    if (within_us != DURATION_INFINITE) {
      list_wake(world, client, task, ACTION_TIMEOUT, within_us, within_us, list);
    }
  } else if (instr->op == OP_YIELD) {
    list_thing(list, ACTION_WAKE, client, 0, task[TASK_AGE], 0, 0);
  } else if (instr->op == OP_WAIT) {
    const Wait *wait = &program->waits[instr->index];
    if (wait->lo_us != DURATION_INFINITE) {
      list_wake(world, client, task, ACTION_WAKE, wait->lo_us, wait->hi_us, list);
    } else if (task[TASK_OVERDUE]) { /* its `until` holds by now */
      list_thing(list, ACTION_WAKE, client, 0, 0, 0, 0);
    }
    list_until_ages(world, state, client, wait, list);
  }
  bool withheld = fault_is_pause(faults_of_client(world, state, client)) || task[TASK_FAULT];
  for (int32_t i = from; i < list->count; i++) {
    list->things[i].part = task_index;
    list->things[i].overdue |= task[TASK_OVERDUE] != 0;
    list->things[i].withheld = withheld;
  }
  if (task[TASK_FAULT]) {
    const Fault *fault = &program->faults[task[TASK_FAULT] - 1];
    list_thing(list, ACTION_RESUME, client, 0, task[TASK_PAUSE_AGE], fault->lo_us, fault->hi_us)->part = task_index + 1;
  }
}

static void list_cuts(const World *world, const State *state, int32_t client, ThingList *list) {
  for (int32_t s = 0; s < world->program->server_count; s++) {
    if (world_is_cut(world, state, client, s)) {
      const Cell *cut = world_cut(world, (State *)state, client, s);
      const Fault *fault = &world->program->faults[cut[CUT_FAULT] - 1];
      list_thing(list, ACTION_JOIN, client, s, cut[CUT_AGE], fault->lo_us, fault->hi_us);
    }
  }
}

static void list_client(const World *world, const State *state, int32_t client, ThingList *list) {
  const Program *program = world->program;
  const Cell *cells = state->cells + world->layout.client_cell[client];
  const Fault *fault = faults_of_client(world, state, client);
  switch ((ClientPhase)cells[CLIENT_PHASE]) {
  case PHASE_NOT_BEGUN: {
    Window starts = program->client_starts_given ? program->client_starts : (Window){0, DURATION_INFINITE};
    list_thing(list, ACTION_BEGIN, client, 0, cells[CLIENT_AGE], starts.lo_us, starts.hi_us);
    break;
  }
  case PHASE_RUNS:
    for (int32_t t = 0; t < world_kind(world, client)->task_count; t++) {
      if (state_task(&world->layout, (State *)state, client, t)[TASK_PHASE] != TASK_ENDED) {
        list_rest(world, state, client, t, list);
      }
    }
    if (fault != NULL) {
      Window length = fault->kind == FAULT_SUSPEND ? world_suspend_window(world, cells[CLIENT_FAULT] - 1)
                                                   : (Window){fault->lo_us, fault->hi_us};
      list_thing(list, ACTION_RESUME, client, 0, cells[CLIENT_AGE], length.lo_us, length.hi_us);
    }
    break;
  case PHASE_CRASHED:
    if (fault->lo_us != DURATION_INFINITE) {
      list_thing(list, ACTION_RESTART, client, 0, cells[CLIENT_AGE], fault->lo_us, fault->hi_us);
    }
    break;
  case PHASE_ENDED: break;
  }
  list_cuts(world, state, client, list);
}

static void list_timers(const World *world, const State *state, int32_t server, bool withheld, ThingList *list) {
  const Program *program = world->program;
  int32_t slots = world_timer_slots(world_service(world, server));
  for (int32_t t = 0; t < slots; t++) {
    const Cell *timer = world_timer(world, (State *)state, server, t);
    if (timer[TIMER_DURATION]) {
      int64_t at_us = program->durations_us[timer[TIMER_DURATION] - 1] - timer[TIMER_SHIFT];
      Reading at = world_reading(world, program->client_count + server, at_us > 0 ? at_us : 0, 0, 0);
      Thing *thing = list_thing(list, ACTION_FIRE, server, t, timer[TIMER_AGE], at.lo_us, at.hi_us);
      thing->overdue = timer[TIMER_OVERDUE];
      thing->withheld = withheld;
    }
  }
}

/* How old what is not yet in a durable copy may become. */
static int64_t durable_us(const Program *program, int32_t server) {
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    if (fault->kind == FAULT_CRASH_SERVER && fault->memory == MEMORY_DURABLE && fault->servers >> server & 1) {
      return fault->durable_us;
    }
  }
  return DURATION_INFINITE;
}

static void list_server(const World *world, const State *state, int32_t server, ThingList *list) {
  const Program *program = world->program;
  const Cell *cells = state->cells + world->layout.server_cell[server];
  const Fault *fault = faults_of_server(world, state, server);
  list_timers(world, state, server, fault != NULL, list);
  if (fault != NULL && fault->kind != FAULT_DOWN && fault->lo_us != DURATION_INFINITE) {
    list_thing(list, fault_is_pause(fault) ? ACTION_RESUME : ACTION_RESTART, program->client_count + server, 0,
               cells[SERVER_AGE], fault->lo_us, fault->hi_us);
  }
  if (cells[SERVER_DIRTY]) {
    list_thing(list, ACTION_SYNC, server, 0, cells[SERVER_DIRTY_AGE], 0, durable_us(program, server));
  }
}

int32_t step_things(const World *world, const State *state, Thing things[THINGS_MAX]) {
  ThingList list = {.things = things};
  for (int32_t c = 0; c < world->program->client_count; c++) {
    list_client(world, state, c, &list);
  }
  for (int32_t s = 0; s < world->program->server_count; s++) {
    list_server(world, state, s, &list);
  }
  list_messages(world, state, &list);
  return list.count;
}

bool step_is_stuck(const World *world, const State *state) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(world, state, things);
  for (int32_t i = 0; i < count; i++) {
    if (!things[i].optional && !things[i].withheld) {
      return false; /* what is blocked waits for something that is not */
    }
  }
  for (int32_t c = 0; c < world->program->client_count; c++) {
    if (state->cells[world->layout.client_cell[c] + CLIENT_PHASE] == PHASE_RUNS) {
      return true;
    }
  }
  return false;
}

/* --- taking a step ----------------------------------------------------------------------------------------------- */

void step_start(Step *step, const World *world, State *state, Chooser *chooser) {
  memset(step, 0, offsetof(Step, stack));
  memset(step->locals, 0, sizeof step->locals); /* sort none */
  step->value_count = 0;
  step->world = world;
  step->state = state;
  step->chooser = chooser;
  step->old_age_count = state->age_count;
  step->process = step->client = step->server = step->peer = -1;
  step->steps = 1;
}

void step_fail(Step *step, ProblemKind kind, int32_t pc) {
  if (step->problem.kind == PROBLEM_NONE) {
    step->problem = (Problem){kind, pc};
  }
}

Event step_event_of(const Step *step, EventKind kind) {
  return (Event){.kind = kind,
                 .process = step->process,
                 .client = step->client,
                 .server = step->server,
                 .task = step->task,
                 .index = -1,
                 .pc = -1};
}

void step_event(Step *step, Event event) {
  const World *world = step->world;
  for (int32_t m = 0; event.kind < EVENT_MONITORED && m < world->monitor_count; m++) {
    if (world->monitors[m]->event == NULL) {
      continue;
    }
    int signs = world->monitors[m]->event(world, m, step->state, &event);
    world->seen->raised |= signs & SIGN_RAISED ? UINT64_C(1) << m : 0;
    step->violated |= signs & SIGN_VIOLATED ? UINT64_C(1) << m : 0;
    if (signs & SIGN_OVERFLOW) {
      step_fail(step, PROBLEM_SLOTS, event.pc);
    }
  }
  if (step->log != NULL) {
    step->log(step->log_user, step, &event);
  }
}

Cell step_new_age(Step *step) {
  if (step->new_age == 0) {
    step->new_age = ++step->state->age_count;
    if (step->state->age_count > STATE_AGES_MAX) {
      step_fail(step, PROBLEM_NAMES, -1);
    }
  }
  return step->new_age;
}

bool step_compare(Step *step, Cell age, Reading bound, bool strict) {
  if (bound.hi_us < 0 || (bound.hi_us == 0 && strict)) {
    return false;
  }
  if (age == 0 || age > step->old_age_count || bound.lo_us == DURATION_INFINITE) {
    return true; /* born in this step: zero */
  }
  return step->chooser->compare(step->chooser, age, bound, strict);
}

void step_spend(Step *step, int32_t fault) {
  if (step->world->program->faults[fault].count != COUNT_INFINITE) {
    step->state->cells[step->world->layout.budget_cell + fault]--;
  }
  step->faults++;
}

static bool strikes_messages(const Fault *fault) {
  return fault->kind == FAULT_LATE || fault->kind == FAULT_LOST || fault->kind == FAULT_DUPLICATED;
}

/* Which fault, if any, strikes a message to or from these servers: a choice of the adversary. NULL: none. */
static const Fault *message_fault(Step *step, uint32_t servers) {
  const Program *program = step->world->program;
  int32_t options[PROGRAM_SERVERS_MAX + 1];
  int32_t count = 1;
  for (int32_t f = 0; f < program->fault_count && count <= PROGRAM_SERVERS_MAX; f++) {
    const Fault *fault = &program->faults[f];
    if (strikes_messages(fault) && fault->servers & servers && world_budget(step->world, step->state, f) > 0) {
      options[count++] = f;
    }
  }
  int32_t chosen = count > 1 ? step->chooser->choose(step->chooser, count) : 0;
  if (chosen == 0) {
    return NULL;
  }
  step_spend(step, options[chosen]);
  return &program->faults[options[chosen]];
}

static void fill_record(Step *step, const Envelope *envelope, Cell *record) {
  const World *world = step->world;
  memset(record, 0, world->layout.message.count * sizeof(Cell));
  record[MESSAGE_CLIENT] = envelope->client + 1;
  record[MESSAGE_SERVER] = envelope->server + 1;
  record[MESSAGE_PEER] = envelope->peer + 1;
  record[MESSAGE_KIND] = (Cell)envelope->kind;
  record[MESSAGE_HANDLER] = envelope->handler;
  record[MESSAGE_TASK] = envelope->task;
  if (step->next_message_id > 0) {
    record[MESSAGE_ID] = step->next_message_id++;
    record[MESSAGE_REPLY_TO] = envelope->kind == MESSAGE_REPLY ? step->request_id : 0;
  }
  if (envelope->peer >= 0) { /* on behalf of whoever asked the server */
    record[MESSAGE_ATTEMPT] = step->attempt;
    record[MESSAGE_FENCE] = step->fence;
  } else if (!message_goes_to_client(record)) {
    int32_t worker = world_attempt_task(world_kind(world, envelope->client), step->task);
    const Cell *task = state_task(&world->layout, step->state, envelope->client, worker);
    record[MESSAGE_ATTEMPT] = task[TASK_ATTEMPT];
    record[MESSAGE_FENCE] = task[TASK_FENCE];
  }
  for (int32_t i = 0; i < envelope->value_count; i++) {
    if (!world_has_room(world, envelope->values[i])) {
      step_fail(step, PROBLEM_RANGE, envelope->pc);
    }
    memcpy(&record[MESSAGE_VALUES + VALUE_CELLS * i], &envelope->values[i], sizeof(Value));
  }
}

/* A second copy of the last message, that travels alone. */
static void send_copy(Step *step, int32_t fault, int32_t pc) {
  const Layout *layout = &step->world->layout;
  State *state = step->state;
  if (state->message_count == STATE_MESSAGES_MAX) {
    step_fail(step, PROBLEM_SLOTS, pc);
    return;
  }
  Cell *copy = state_message(layout, state, state->message_count);
  memcpy(copy, state_message(layout, state, state->message_count - 1), layout->message.count * sizeof(Cell));
  copy[MESSAGE_LATE] = fault + 1;
  copy[MESSAGE_AGE] = step_new_age(step);
  copy[MESSAGE_ID] = step->next_message_id > 0 ? step->next_message_id++ : 0;
  state->message_count++;
  Event event = step_event_of(step, EVENT_SEND);
  event.message = copy;
  event.number = fault + 1;
  event.pc = pc;
  step_event(step, event);
}

void step_send(Step *step, const Envelope *envelope) {
  const World *world = step->world;
  State *state = step->state;
  if (state->message_count == STATE_MESSAGES_MAX) {
    step_fail(step, PROBLEM_SLOTS, envelope->pc);
    return;
  }
  Cell *record = state_message(&world->layout, state, state->message_count);
  fill_record(step, envelope, record);
  uint32_t ends = UINT32_C(1) << envelope->server | (envelope->peer >= 0 ? UINT32_C(1) << envelope->peer : 0);
  const Fault *fault = message_fault(step, ends);
  int32_t number = fault != NULL ? (int32_t)(fault - world->program->faults) : NO_INDEX;
  bool lost = fault != NULL && fault->kind == FAULT_LOST, late = fault != NULL && fault->kind == FAULT_LATE;
  Window latency = world->program->latency[envelope->server];
  record[MESSAGE_LATE] = late ? number + 1 : 0;
  bool timed = late || latency.lo_us > 0 || latency.hi_us != DURATION_INFINITE;
  record[MESSAGE_AGE] = timed && !lost ? step_new_age(step) : 0;
  Event event = step_event_of(step, EVENT_SEND);
  event.message = record;
  event.number = lost || late ? number + 1 : 0;
  event.pc = envelope->pc;
  step_event(step, event);
  state->message_count += !lost;
  if (fault != NULL && fault->kind == FAULT_DUPLICATED) {
    send_copy(step, number, envelope->pc);
  }
}

static void clear_variables(const World *world, State *state, int32_t client, uint64_t live) {
  const ClientKind *kind = world_kind(world, client);
  for (int32_t v = 0; v < kind->variable_count; v++) {
    if (live >> v & 1) {
      continue;
    }
    const Type *type = &kind->variables[v].type;
    Cell *cells = world_client_variable(world, state, client, v);
    Cell empty = type->sort == SORT_INT || type->sort == SORT_BOOL ? type->lo - type->optional : 0;
    int32_t count = world_variable_cells(&kind->variables[v]);
    for (int32_t i = 0; i < count; i++) {
      cells[i] = empty;
    }
  }
}

void step_rest(Step *step, int32_t client, int32_t task_index, int32_t pc) {
  const World *world = step->world;
  const ClientKind *kind = world_kind(world, client);
  Cell *task = state_task(&world->layout, step->state, client, task_index);
  bool at_point = world->program->code[pc].op == OP_PAUSE_POINT;
  task[TASK_PHASE] = TASK_RESTS;
  task[TASK_PC] = pc;
  clear_variables(world, step->state, client, at_point ? kind->live_before[pc] : kind->live_after[pc]);
  if (!world->attempt_live[at_point ? pc : pc + 1]) {
    task[TASK_ATTEMPT] = 0;
    task[TASK_FENCE] = 0;
  }
}

static void leave_section(Step *step, int32_t client, int32_t task, int32_t inside) {
  Event event = step_event_of(step, EVENT_LEAVE);
  event.process = event.client = client;
  event.task = task;
  event.index = inside - 1;
  if (inside) {
    step_event(step, event);
  }
}

/* What a `never` reads is kept beyond the end. */
void step_end_client(Step *step, int32_t client, ClientPhase phase) {
  const World *world = step->world;
  Cell *cells = state_client(&world->layout, step->state, client);
  int32_t tasks = world_kind(world, client)->task_count;
  clear_variables(world, step->state, client, world->never_reads[client]);
  cells[CLIENT_PHASE] = (Cell)phase;
  cells[CLIENT_FAULT] = cells[CLIENT_AGE] = 0;
  cells[CLIENT_ROUNDS] = phase == PHASE_ENDED ? 0 : cells[CLIENT_ROUNDS];
  step_give_up_call(step, client, -1, -1); /* of other tasks, or of all */
  for (int32_t t = 0; t < tasks; t++) {
    Cell *task = state_task(&world->layout, step->state, client, t);
    int32_t inside = task[TASK_INSIDE];
    memset(task, 0, TASK_CELLS * sizeof(Cell));
    leave_section(step, client, t, inside);
  }
  if (phase == PHASE_ENDED) {
    Event event = step_event_of(step, EVENT_END);
    event.process = event.client = client;
    step_event(step, event);
  }
}

void step_end_task(Step *step, int32_t client, int32_t task_index) {
  int32_t tasks = world_kind(step->world, client)->task_count;
  Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  Cell attempt = task[TASK_ATTEMPT], fence = task[TASK_FENCE];
  memset(task, 0, TASK_CELLS * sizeof(Cell));
  task[TASK_PHASE] = TASK_ENDED;
  task[TASK_ATTEMPT] = attempt; /* other tasks may still send on its behalf */
  task[TASK_FENCE] = fence;
  for (int32_t t = 0; t < tasks; t++) {
    if (state_task(&step->world->layout, step->state, client, t)[TASK_PHASE] != TASK_ENDED) {
      return;
    }
  }
  step_end_client(step, client, PHASE_ENDED);
}

void step_begin_client(Step *step, int32_t client) {
  const World *world = step->world;
  const ClientKind *kind = world_kind(world, client);
  Cell *cells = state_client(&world->layout, step->state, client);
  cells[CLIENT_PHASE] = PHASE_RUNS;
  cells[CLIENT_AGE] = 0;
  cells[CLIENT_FAULT] = 0;
  world_reset_client(world, step->state, client);
  step_event(step, step_event_of(step, EVENT_BEGIN));
  step->visible = true; /* there was no rest before */
  if (kind->task_count == 1) {
    vm_run_client(step, client, 0, kind->tasks[0].entry);
    return;
  }
  for (int32_t t = 0; t < kind->task_count; t++) { /* each will run before time passes */
    state_task(&world->layout, step->state, client, t)[TASK_PHASE] = TASK_READY;
  }
}

/* The call or wait at which a task rests is over, and it goes on behind it. */
static void go_on(Step *step, int32_t client, int32_t task_index) {
  Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  task[TASK_AGE] = task[TASK_BEHIND_LO] = task[TASK_BEHIND_HI] = 0;
  task[TASK_OVERDUE] = 0;
  task[TASK_AWAITED] = task[TASK_COUNTED] = 0;
  vm_run_client(step, client, task_index, task[TASK_PC] + 1);
}

static void take_values(Step *step, const Cell *record) {
  step->value_count = step->world->layout.value_count;
  for (int32_t i = 0; i < step->value_count; i++) {
    memcpy(&step->values[i], &record[MESSAGE_VALUES + VALUE_CELLS * i], sizeof(Value));
  }
}

/* Nobody waits for these replies any more: a request becomes a mere tell, or is withdrawn from the guard at which it
 * waits, or will be when it comes there. A reply on its way is gone: it would change nothing, and could always have
 * arrived before any message behind it. */
void step_give_up_call(Step *step, int32_t client, int32_t task, int32_t server) {
  const World *world = step->world;
  for (int32_t m = step->state->message_count - 1; m >= 0; m--) {
    Cell *record = state_message(&world->layout, step->state, m);
    bool its = record[MESSAGE_CLIENT] == client + 1 && (task < 0 || record[MESSAGE_TASK] == task) &&
               (server < 0 || record[MESSAGE_SERVER] == server + 1);
    if (!its || (record[MESSAGE_KIND] != MESSAGE_ASK && record[MESSAGE_KIND] != MESSAGE_REPLY)) {
      continue;
    }
    const Handler *handler = &world_service(world, record[MESSAGE_SERVER] - 1)->handlers[record[MESSAGE_HANDLER]];
    bool is_withdrawn = handler->guard != NO_INDEX && !handler->keeps;
    if (record[MESSAGE_KIND] == MESSAGE_REPLY || (record[MESSAGE_WAITING] && is_withdrawn)) {
      state_remove_message(&world->layout, step->state, m);
    } else {
      record[MESSAGE_KIND] = is_withdrawn ? MESSAGE_ORPHAN : MESSAGE_TELL;
      record[MESSAGE_TASK] = 0;
    }
  }
}

/* One of the answers to an `ask all`; true when it has enough of them. */
static bool count_answer(Step *step, Cell *task, const Instr *instr) {
  const Parallel *parallel = &step->world->program->parallels[instr->index];
  Cell wanted = parallel->wanted + (parallel->wanted_sort == SORT_CLIENT || parallel->wanted_sort == SORT_SERVER);
  task[TASK_AWAITED]--;
  task[TASK_COUNTED] += step->values[0].sort == (Cell)parallel->wanted_sort && step->values[0].number == wanted;
  return task[TASK_AWAITED] == 0 || task[TASK_COUNTED] >= parallel->until;
}

static void set_counted(Step *step, const Cell *task) {
  step->values[0] = (Value){SORT_INT, task[TASK_COUNTED], 0};
  step->value_count = 1;
}

static void arrive_at_task(Step *step, const Cell *record) {
  int32_t client = record[MESSAGE_CLIENT] - 1, task_index = record[MESSAGE_TASK];
  Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  const Instr *instr = &step->world->program->code[task[TASK_PC]];
  bool in_parallel = instr->op == OP_ASK_ALL;
  take_values(step, record);
  step_give_up_call(step, client, task_index, in_parallel ? record[MESSAGE_SERVER] - 1 : -1); /* second copies */
  if (in_parallel) {
    if (!count_answer(step, task, instr)) {
      return;
    }
    set_counted(step, task);
    step_give_up_call(step, client, task_index, -1);
  }
  go_on(step, client, task_index);
}

static void arrive_notice(Step *step, const Cell *record) {
  int32_t client = record[MESSAGE_CLIENT] - 1;
  int32_t entry = world_kind(step->world, client)->notice_entries[record[MESSAGE_HANDLER]];
  bool hears = state_client(&step->world->layout, step->state, client)[CLIENT_PHASE] == PHASE_RUNS;
  if (hears && entry != NO_INDEX) {
    take_values(step, record);
    vm_run_notice(step, client, entry);
  }
}

/* The registers for the request that a server handles. */
static void take_request(Step *step, const Cell *record) {
  step->server = record[MESSAGE_SERVER] - 1;
  step->process = step->world->program->client_count + step->server;
  step->client = record[MESSAGE_CLIENT] - 1;
  step->peer = record[MESSAGE_PEER] - 1;
  step->answers = record[MESSAGE_KIND] == MESSAGE_ASK;
  step->caller_task = record[MESSAGE_TASK];
  step->request_id = record[MESSAGE_ID];
  step->attempt = record[MESSAGE_ATTEMPT];
  step->fence = record[MESSAGE_FENCE];
  take_values(step, record);
}

static const Handler *handler_of(const World *world, const Cell *record) {
  return &world_service(world, record[MESSAGE_SERVER] - 1)->handlers[record[MESSAGE_HANDLER]];
}

/* A server that is down: the caller is refused, or hears nothing. */
static void refuse(Step *step, const Fault *fault) {
  if (step->answers && !fault->is_silent) {
    Envelope reply = {.kind = MESSAGE_REPLY,
                      .client = step->client,
                      .server = step->server,
                      .peer = -1,
                      .task = step->caller_task,
                      .values = &(Value){SORT_WORD, step->world->program->word_refused, 0},
                      .value_count = 1,
                      .pc = -1};
    step_event(step, step_event_of(step, EVENT_REFUSED));
    step_send(step, &reply);
  }
}

static bool guard_holds(Step *step, const Handler *handler) {
  return handler->guard == NO_INDEX || vm_evaluate(step, handler->guard);
}

static void wait_at_guard(Step *step, const Cell *record) {
  const Layout *layout = &step->world->layout;
  Cell *waiting = state_message(layout, step->state, step->state->message_count++); /* the slot that it had */
  memcpy(waiting, record, layout->message.count * sizeof(Cell));
  waiting[MESSAGE_WAITING] = 1;
  waiting[MESSAGE_LATE] = waiting[MESSAGE_AGE] = waiting[MESSAGE_OVERDUE] = waiting[MESSAGE_CUT] = 0;
}

static void arrive_at_server(Step *step, const Cell *record) {
  const Handler *handler = handler_of(step->world, record);
  take_request(step, record);
  const Fault *fault = faults_of_server(step->world, step->state, step->server);
  if (fault != NULL) {
    refuse(step, fault);
  } else if (guard_holds(step, handler)) {
    vm_run_server(step, step->server, handler->entry);
    step_serve_waiting(step, step->server);
  } else if (step->problem.kind == PROBLEM_NONE && record[MESSAGE_KIND] != MESSAGE_ORPHAN) {
    wait_at_guard(step, record);
  }
}

/* The first request whose guard holds, in the order of handlers and of arrival; -1 for none. */
static int32_t next_to_serve(Step *step, int32_t server) {
  const Layout *layout = &step->world->layout;
  for (int32_t m = 0; m < step->state->message_count; m++) {
    const Cell *record = state_message(layout, step->state, m);
    if (record[MESSAGE_WAITING] && record[MESSAGE_SERVER] == server + 1) {
      take_request(step, record);
      if (guard_holds(step, handler_of(step->world, record))) {
        return m;
      }
    }
  }
  return -1;
}

void step_serve_waiting(Step *step, int32_t server) {
  const Layout *layout = &step->world->layout;
  if (layout->message.items[MESSAGE_WAITING].width == 0) {
    return;
  }
  for (;;) {
    names_sort_messages(step->world, step->state);
    int32_t message = next_to_serve(step, server);
    if (message < 0 || step->problem.kind != PROBLEM_NONE) {
      return;
    }
    const Handler *handler = handler_of(step->world, state_message(layout, step->state, message));
    state_remove_message(layout, step->state, message);
    vm_run_server(step, server, handler->entry);
  }
}

void step_notice_loss(Step *step, int32_t client, int32_t server) {
  const World *world = step->world;
  for (int32_t m = step->state->message_count - 1; m >= 0; m--) {
    const Cell *record = state_message(&world->layout, step->state, m);
    bool its = record[MESSAGE_CLIENT] == client + 1 && record[MESSAGE_SERVER] == server + 1;
    if (its && (record[MESSAGE_KIND] == MESSAGE_LOSS || record[MESSAGE_WAITING])) {
      state_remove_message(&world->layout, step->state, m);
    }
  }
  step->server = server;
  step->process = world->program->client_count + server;
  step->client = client;
  step_event(step, step_event_of(step, EVENT_LOSS));
  step->client = step->peer = -1;
  step->answers = false;
  step->attempt = step->fence = 0;
  step->values[0] = (Value){SORT_CLIENT, client + 1, 0};
  step->value_count = 1;
  vm_run_server(step, server, world_service(world, server)->lost_entry);
  step_serve_waiting(step, server);
}

static void arrive(Step *step, int32_t message) {
  const Layout *layout = &step->world->layout;
  Cell record[MESSAGE_CELLS_MAX];
  memcpy(record, state_message(layout, step->state, message), layout->message.count * sizeof(Cell));
  if (record[MESSAGE_KIND] == MESSAGE_LOSS) {
    step_notice_loss(step, record[MESSAGE_CLIENT] - 1, record[MESSAGE_SERVER] - 1);
    return;
  }
  state_remove_message(layout, step->state, message);
  step->client = record[MESSAGE_CLIENT] - 1;
  Event event = step_event_of(step, EVENT_ARRIVE);
  event.server = record[MESSAGE_SERVER] - 1;
  event.message = record;
  step_event(step, event);
  switch ((MessageKind)record[MESSAGE_KIND]) {
  case MESSAGE_REPLY: arrive_at_task(step, record); break;
  case MESSAGE_NOTICE: arrive_notice(step, record); break;
  default: arrive_at_server(step, record); break;
  }
}

static void time_out(Step *step, int32_t client, int32_t task_index) {
  const Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  step_give_up_call(step, client, task_index, -1);
  step->task = task_index;
  step_event(step, step_event_of(step, EVENT_TIMEOUT));
  step->values[0] = (Value){SORT_WORD, step->world->program->word_timeout, 0};
  step->value_count = 1;
  if (step->world->program->code[task[TASK_PC]].op == OP_ASK_ALL) {
    set_counted(step, task);
  }
  go_on(step, client, task_index);
}

/* The index of an element, as the handler behind `after t[i]` gets it. */
static Value element_index(const Extent *extent, int32_t element) {
  bool is_name = extent->sort == SORT_CLIENT || extent->sort == SORT_SERVER; /* names count from 1 */
  return (Value){extent->is_array ? (Cell)extent->sort : SORT_NONE, extent->first + element + is_name, 0};
}

static void fire(Step *step, int32_t server, int32_t slot) {
  const World *world = step->world;
  int32_t element;
  const Timer *timer = world_timer_of(world_service(world, server), slot, &element);
  step->server = server;
  step->process = world->program->client_count + server;
  memset(world_timer(world, step->state, server, slot), 0, TIMER_CELLS * sizeof(Cell));
  Event event = step_event_of(step, EVENT_FIRE);
  event.index = slot;
  step_event(step, event);
  step->values[0] = element_index(&timer->extent, element);
  step->value_count = 1;
  vm_run_server(step, server, timer->entry);
  step_serve_waiting(step, server);
}

static void wake(Step *step, int32_t client, int32_t task_index, int32_t cause) {
  const Cell *task = state_task(&step->world->layout, step->state, client, task_index);
  if (task[TASK_PHASE] == TASK_READY) {
    step->visible = true; /* there was no rest before */
    vm_run_client(step, client, task_index, world_kind(step->world, client)->tasks[task_index].entry);
    return;
  }
  step->task = task_index;
  Event event = step_event_of(step, EVENT_WAKE);
  event.index = cause;
  event.pc = task[TASK_PC];
  step_event(step, event);
  go_on(step, client, task_index);
}

void step_wake_waiters(Step *step, int32_t client) {
  const World *world = step->world;
  const ClientKind *kind = world_kind(world, client);
  const Cell *cells = state_client(&world->layout, step->state, client);
  if ((kind->task_count == 1 && world->program->notice_count == 0) || cells[CLIENT_PHASE] != PHASE_RUNS ||
      cells[CLIENT_FAULT]) {
    return;
  }
  for (int32_t t = 0; t < kind->task_count && step->problem.kind == PROBLEM_NONE; t++) {
    Cell *task = state_task(&world->layout, step->state, client, t);
    const Instr *instr = &world->program->code[task[TASK_PC]];
    bool waits = task[TASK_PHASE] == TASK_RESTS && instr->op == OP_WAIT && !task[TASK_OVERDUE];
    if (waits && world->program->waits[instr->index].until_entry != NO_INDEX) {
      step->process = step->client = client;
      bool holds = vm_evaluate(step, world->program->waits[instr->index].until_entry);
      task[TASK_OVERDUE] = holds ? OVERDUE_WOKEN : 0;
    }
  }
}

static void sync_copy(Step *step, int32_t server) {
  step->server = server;
  step->process = step->world->program->client_count + server;
  world_save_copy(step->world, step->state, server);
  step_event(step, step_event_of(step, EVENT_SYNC));
}

/* Who waited behind a message that a cut had held up, which is there now or will never be, is still inside its window,
 * or overdue. */
static void release_behind(Step *step) {
  const World *world = step->world;
  const Cell *before = NULL;
  bool behind = false;
  if (world->layout.message.items[MESSAGE_CUT].width == 0 || step->problem.kind != PROBLEM_NONE) {
    return;
  }
  names_sort_messages(world, step->state);
  for (int32_t m = 0; m < step->state->message_count; m++) {
    Cell *record = state_message(&world->layout, step->state, m);
    behind = before != NULL && !record[MESSAGE_WAITING] && same_stream(before, record) &&
             (behind || before[MESSAGE_CUT] == HELD_UP);
    before = record;
    if (record[MESSAGE_CUT] == HELD_UP_BEHIND && !behind) {
      int64_t hi_us = world->program->latency[record[MESSAGE_SERVER] - 1].hi_us;
      record[MESSAGE_CUT] = HELD_UP_NOT;
      record[MESSAGE_OVERDUE] = !is_held_up(world, step->state, record) && hi_us != DURATION_INFINITE &&
                                !step_compare(step, record[MESSAGE_AGE], (Reading){hi_us, hi_us}, false);
    }
  }
}

void step_take(Step *step, const Action *action) {
  int32_t subject = action->subject, object = action->object, clients = step->world->program->client_count;
  bool is_server = action->kind == ACTION_FIRE || action->kind == ACTION_SYNC;
  if (subject < clients && !is_server) {
    step->process = step->client = subject;
  }
  switch ((ActionKind)action->kind) {
  case ACTION_BEGIN: step_begin_client(step, subject); break;
  case ACTION_ARRIVE: arrive(step, object); break;
  case ACTION_TIMEOUT: time_out(step, subject, action->part); break;
  case ACTION_WAKE: wake(step, subject, action->part, object); break;
  case ACTION_FIRE: fire(step, subject, object); break;
  case ACTION_RESUME: faults_resume(step, action); break;
  case ACTION_RESTART: faults_restart(step, subject); break;
  case ACTION_SYNC: sync_copy(step, subject); break;
  case ACTION_JOIN: faults_join(step, subject, object); break;
  case ACTION_PAUSE: faults_pause(step, action); break;
  case ACTION_CRASH: faults_crash(step, subject, object); break;
  case ACTION_CLOCK_STEP: faults_clock_step(step, subject, object); break;
  case ACTION_CUT: faults_cut(step, subject, action->part, object); break;
  case ACTION_TRIGGER: faults_trigger(step, subject - clients, object); break;
  }
  if (step->ran > 0) {
    step_wake_waiters(step, step->ran - 1);
  }
  release_behind(step);
}

/* Whether somebody of the kind is inside, and whether somebody who is not could be. */
static void look_who_is_inside(const World *world, State *state, int32_t wanted_kind, bool *inside, bool *eligible) {
  for (int32_t c = 0; c < world->program->client_count; c++) {
    const Cell *cells = state_client(&world->layout, state, c);
    if ((wanted_kind != NO_INDEX && world->program->client_kind[c] != wanted_kind) || !world_kind(world, c)->enters) {
      continue;
    }
    *inside |= world_is_inside(world, state, c);
    for (int32_t t = 0; t < world_kind(world, c)->task_count; t++) {
      const Cell *task = state_task(&world->layout, state, c, t);
      *eligible |= world_kind(world, c)->tasks[t].enters && cells[CLIENT_PHASE] == PHASE_RUNS && !cells[CLIENT_FAULT] &&
                   task[TASK_PHASE] != TASK_ENDED && !task[TASK_FAULT];
    }
  }
}

/* Since when nobody is inside though somebody could be. */
static void note_obtainables(Step *step) {
  const World *world = step->world;
  for (int32_t o = 0; o < world->program->obtainable_count; o++) {
    int32_t kind = world->program->obtainables[o].kind;
    bool inside = false, eligible = false;
    bool has_entered = kind == NO_INDEX ? step->entered_kinds != 0 : step->entered_kinds >> kind & 1;
    Cell *since = &step->state->cells[world->layout.obtainable_cell + o];
    look_who_is_inside(world, step->state, kind, &inside, &eligible);
    *since = inside || !eligible ? 0 : *since == 0 || has_entered ? step_new_age(step) : *since;
  }
}

/* What has been written that the durable copies do not hold. */
static void note_dirt(Step *step) {
  const World *world = step->world;
  for (int32_t s = 0; s < world->program->server_count; s++) {
    Cell *cells = state_server(&world->layout, step->state, s);
    if (world->layout.server_copy[s] == NO_INDEX || cells[SERVER_FAULT]) {
      continue;
    }
    if (world_copy_holds(world, step->state, s)) {
      cells[SERVER_DIRTY] = cells[SERVER_DIRTY_AGE] = 0;
    } else if (!cells[SERVER_DIRTY]) {
      cells[SERVER_DIRTY] = 1;
      cells[SERVER_DIRTY_AGE] = step_new_age(step);
    }
  }
}

void step_settle_briefly(Step *step) {
  note_obtainables(step);
  note_dirt(step);
  names_sort_messages(step->world, step->state);
}

void step_settle(Step *step) {
  const World *world = step->world;
  note_obtainables(step);
  note_dirt(step);
  dead_drop_messages(world, step->state);
  dead_forget_tokens(world, step->state);
  for (int32_t m = 0; m < world->monitor_count; m++) {
    if (world->monitors[m]->settle != NULL) {
      world->monitors[m]->settle(world, m, step->state);
    }
  }
  dead_forget_entries(world, step->state);
  names_sort_messages(world, step->state);
}

bool step_state_violates(Step *step, int32_t property) {
  const World *world = step->world;
  const Program *program = world->program;
  int32_t never = property - world->monitor_count;
  int32_t obtainable = never - program->never_count - program->assertion_count;
  if (never < 0) {
    return world->monitors[property]->violated_by != NULL && world->monitors[property]->violated_by(world, step->state);
  }
  if (never < program->never_count) {
    return vm_evaluate(step, program->nevers[never].entry);
  }
  if (obtainable < 0) {
    return false; /* an assertion: seen in the step */
  }
  Cell since = step->state->cells[world->layout.obtainable_cell + obtainable];
  int64_t within_us = program->obtainables[obtainable].within_us;
  return since != 0 && !step_compare(step, since, (Reading){within_us, within_us}, false);
}
