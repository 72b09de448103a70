#include "world/step.h"

#include <string.h>

#include "base/check.h"
#include "world/dead.h"

/* --- what can happen ----------------------------------------------------------------------------------------------- */

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

static bool server_has_overdue_timer(const World *world, const State *state, int32_t server) {
  const Service *service = world_service(world, server);
  for (int32_t t = 0; t < service->timer_count; t++) {
    if (world_timer(world, (State *)state, server, t)[TIMER_OVERDUE]) {
      return true;
    }
  }
  return false;
}

static bool same_stream(const Cell *a, const Cell *b) {
  return a[MESSAGE_CLIENT] == b[MESSAGE_CLIENT] && a[MESSAGE_SERVER] == b[MESSAGE_SERVER] &&
         (a[MESSAGE_KIND] == MESSAGE_REPLY) == (b[MESSAGE_KIND] == MESSAGE_REPLY) && !a[MESSAGE_LATE] &&
         !b[MESSAGE_LATE];
}

/* Messages are sorted, so the first of a stream stands right before the others. */
static void list_messages(const World *world, const State *state, ThingList *list) {
  const Layout *layout = &world->layout;
  const Program *program = world->program;
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    int32_t client = record[MESSAGE_CLIENT] - 1, server = record[MESSAGE_SERVER] - 1;
    bool is_reply = record[MESSAGE_KIND] == MESSAGE_REPLY;
    Window latency = program->latency[server];
    Thing *thing = list_thing(list, ACTION_ARRIVE, is_reply ? client : program->client_count + server, m,
                              record[MESSAGE_AGE], latency.lo_us, latency.hi_us);
    if (record[MESSAGE_LATE]) {
      const Fault *fault = &program->faults[record[MESSAGE_LATE] - 1];
      bool bounded = fault->hi_us != DURATION_INFINITE;
      thing->lo_us = latency.hi_us + fault->lo_us;
      thing->hi_us = bounded ? latency.hi_us + fault->hi_us : DURATION_INFINITE;
      thing->after_lo = fault->lo_us == 0;
      thing->optional = true;
    }
    thing->overdue = record[MESSAGE_OVERDUE];
    const Cell *receiver = state->cells + layout->client_cell[client];
    thing->withheld = is_reply && receiver[CLIENT_PHASE] == PHASE_RESTS && receiver[CLIENT_FAULT];
    thing->blocked = (m > 0 && same_stream(record - layout->message.count, record)) ||
                     (!is_reply && server_has_overdue_timer(world, state, server));
  }
}

/* The call's time-out, or the ends of the wait. */
static void list_rest(const World *world, const State *state, int32_t client, ThingList *list) {
  const Program *program = world->program;
  Cell *cells = state_client(&world->layout, (State *)state, client);
  const Instr *instr = &program->code[cells[CLIENT_PC]];
  int32_t from = list->count;
  if (instr->op == OP_ASK && instr->operand >= 0) {
    int64_t within_us = program->durations_us[instr->operand];
    if (within_us != DURATION_INFINITE) {
      list_thing(list, ACTION_TIMEOUT, client, 0, cells[CLIENT_AGE], within_us, within_us);
    }
  } else if (instr->op == OP_YIELD) {
    list_thing(list, ACTION_WAKE, client, 0, cells[CLIENT_AGE], 0, 0);
  } else if (instr->op == OP_WAIT) {
    const Wait *wait = &program->waits[instr->index];
    list_thing(list, ACTION_WAKE, client, 0, cells[CLIENT_AGE], wait->lo_us, wait->hi_us);
    for (int32_t a = 0; a < wait->age_count; a++) {
      const Cell *stamp = world_client_variable(world, (State *)state, client, wait->ages[a].variable);
      int64_t at_us = program->durations_us[wait->ages[a].duration] - stamp[1];
      list_thing(list, ACTION_WAKE, client, a + 1, stamp[0], at_us > 0 ? at_us : 0, at_us > 0 ? at_us : 0);
    }
  }
  for (int32_t i = from; i < list->count; i++) {
    list->things[i].overdue = cells[CLIENT_OVERDUE];
    list->things[i].withheld = cells[CLIENT_FAULT] != 0;
  }
}

static void list_client(const World *world, const State *state, int32_t client, ThingList *list) {
  const Program *program = world->program;
  Cell *cells = state_client(&world->layout, (State *)state, client);
  const Fault *fault = cells[CLIENT_FAULT] ? &program->faults[cells[CLIENT_FAULT] - 1] : NULL;
  switch ((ClientPhase)cells[CLIENT_PHASE]) {
  case PHASE_NOT_BEGUN: {
    Window starts = program->client_starts_given ? program->client_starts : (Window){0, DURATION_INFINITE};
    list_thing(list, ACTION_BEGIN, client, 0, cells[CLIENT_AGE], starts.lo_us, starts.hi_us);
    break;
  }
  case PHASE_RESTS:
    list_rest(world, state, client, list);
    if (fault != NULL) {
      list_thing(list, ACTION_RESUME, client, 0, cells[CLIENT_PAUSE_AGE], fault->lo_us, fault->hi_us);
    }
    break;
  case PHASE_CRASHED:
    if (fault->lo_us != DURATION_INFINITE) {
      list_thing(list, ACTION_RESTART, client, 0, cells[CLIENT_AGE], fault->lo_us, fault->hi_us);
    }
    break;
  case PHASE_ENDED: break;
  }
}

static void list_server(const World *world, const State *state, int32_t server, ThingList *list) {
  const Program *program = world->program;
  const Cell *cells = state->cells + world->layout.server_cell[server];
  if (cells[SERVER_FAULT]) {
    const Fault *fault = &program->faults[cells[SERVER_FAULT] - 1];
    if (fault->lo_us != DURATION_INFINITE) {
      list_thing(list, ACTION_RESTART, program->client_count + server, 0, cells[SERVER_AGE], fault->lo_us,
                 fault->hi_us);
    }
    return;
  }
  for (int32_t t = 0; t < world_service(world, server)->timer_count; t++) {
    const Cell *timer = world_timer(world, (State *)state, server, t);
    if (timer[TIMER_DURATION]) {
      int64_t at_us = program->durations_us[timer[TIMER_DURATION] - 1] - timer[TIMER_SHIFT];
      at_us = at_us > 0 ? at_us : 0;
      Thing *thing = list_thing(list, ACTION_FIRE, server, t, timer[TIMER_AGE], at_us, at_us);
      thing->overdue = timer[TIMER_OVERDUE];
    }
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
    if (state->cells[world->layout.client_cell[c] + CLIENT_PHASE] == PHASE_RESTS) {
      return true;
    }
  }
  return false;
}

/* --- taking a step ------------------------------------------------------------------------------------------------- */

void step_start(Step *step, const World *world, State *state, Chooser *chooser) {
  memset(step, 0, offsetof(Step, stack));
  memset(step->locals, 0, sizeof step->locals); /* sort none */
  step->value_count = 0;
  step->world = world;
  step->state = state;
  step->chooser = chooser;
  step->old_age_count = state->age_count;
  step->process = step->client = step->server = -1;
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

bool step_compare(Step *step, Cell age, int64_t bound_us, bool strict) {
  if (bound_us < 0 || (bound_us == 0 && strict)) {
    return false;
  }
  if (age == 0 || age > step->old_age_count || bound_us == DURATION_INFINITE) {
    return true; /* born in this step: zero */
  }
  return step->chooser->compare(step->chooser, age, bound_us, strict);
}

void step_spend(Step *step, int32_t fault) {
  if (step->world->program->faults[fault].count != COUNT_INFINITE) {
    step->state->cells[step->world->layout.budget_cell + fault]--;
  }
  step->faults++;
}

/* Which fault, if any, strikes a message to or from `server`: a choice of the adversary. Returns fault + 1 or 0. */
static int32_t message_fault(Step *step, int32_t server) {
  const Program *program = step->world->program;
  int32_t options[PROGRAM_SERVERS_MAX + 1];
  int32_t count = 1;
  options[0] = 0;
  for (int32_t f = 0; f < program->fault_count && count <= PROGRAM_SERVERS_MAX; f++) {
    const Fault *fault = &program->faults[f];
    if ((fault->kind == FAULT_LATE || fault->kind == FAULT_LOST) && fault->servers >> server & 1 &&
        world_budget(step->world, step->state, f) > 0) {
      options[count++] = f + 1;
    }
  }
  int32_t chosen = count > 1 ? options[step->chooser->choose(step->chooser, count)] : 0;
  if (chosen) {
    step_spend(step, chosen - 1);
  }
  return chosen;
}

void step_send(Step *step, MessageKind kind, int32_t client, int32_t server, int32_t handler, const Value *values,
               int32_t count, int32_t pc) {
  const World *world = step->world;
  State *state = step->state;
  if (state->message_count == STATE_MESSAGES_MAX) {
    step_fail(step, PROBLEM_SLOTS, pc);
    return;
  }
  Cell *record = state_message(&world->layout, state, state->message_count);
  memset(record, 0, world->layout.message.count * sizeof(Cell));
  record[MESSAGE_CLIENT] = client + 1;
  record[MESSAGE_SERVER] = server + 1;
  record[MESSAGE_KIND] = kind;
  record[MESSAGE_HANDLER] = handler;
  if (step->next_message_id > 0) {
    record[MESSAGE_ID] = step->next_message_id++;
    record[MESSAGE_REPLY_TO] = kind == MESSAGE_REPLY ? step->request_id : 0;
  }
  if (kind != MESSAGE_REPLY) {
    const Cell *sender = state_client(&world->layout, state, client);
    record[MESSAGE_ATTEMPT] = sender[CLIENT_ATTEMPT];
    record[MESSAGE_FENCE] = sender[CLIENT_FENCE];
  }
  for (int32_t i = 0; i < count; i++) {
    record[MESSAGE_VALUES + 2 * i] = values[i].sort;
    record[MESSAGE_VALUES + 2 * i + 1] = values[i].number;
  }
  int32_t fault = message_fault(step, server);
  bool lost = fault && world->program->faults[fault - 1].kind == FAULT_LOST;
  Window latency = world->program->latency[server];
  bool late = fault && !lost;
  record[MESSAGE_LATE] = late ? fault : 0;
  bool timed = latency.lo_us > 0 || latency.hi_us != DURATION_INFINITE;
  record[MESSAGE_AGE] = timed && !lost ? step_new_age(step) : 0;
  Event event = step_event_of(step, EVENT_SEND);
  event.message = record;
  event.number = fault;
  event.pc = pc;
  step_event(step, event);
  state->message_count += !lost;
}

static void clear_variables(const World *world, State *state, int32_t client, uint64_t live) {
  const ClientKind *kind = world_kind(world, client);
  for (int32_t v = 0; v < kind->variable_count; v++) {
    if (!(live >> v & 1)) {
      const Type *type = &kind->variables[v].type;
      Cell *cells = world_client_variable(world, state, client, v);
      cells[0] = type->sort == SORT_INT || type->sort == SORT_BOOL ? type->lo : 0;
      if (world_type_cells(type) == 2) {
        cells[1] = 0;
      }
    }
  }
}

void step_rest(Step *step, int32_t client, int32_t pc) {
  const World *world = step->world;
  const ClientKind *kind = world_kind(world, client);
  Cell *cells = state_client(&world->layout, step->state, client);
  bool at_point = world->program->code[pc].op == OP_PAUSE_POINT;
  cells[CLIENT_PHASE] = PHASE_RESTS;
  cells[CLIENT_PC] = pc;
  clear_variables(world, step->state, client, at_point ? kind->live_before[pc] : kind->live_after[pc]);
  if (!world->attempt_live[at_point ? pc : pc + 1]) {
    cells[CLIENT_ATTEMPT] = 0;
    cells[CLIENT_FENCE] = 0;
  }
}

/* What a `never` reads is kept beyond the end. */
void step_end_client(Step *step, int32_t client, ClientPhase phase) {
  Cell *cells = state_client(&step->world->layout, step->state, client);
  int32_t inside = cells[CLIENT_INSIDE];
  clear_variables(step->world, step->state, client, step->world->never_reads[client]);
  memset(cells, 0, CLIENT_ROUNDS * sizeof(Cell)); /* all of the header but the rounds */
  cells[CLIENT_PHASE] = phase;
  if (phase == PHASE_ENDED) {
    cells[CLIENT_ROUNDS] = 0;
  }
  Event event = step_event_of(step, EVENT_LEAVE);
  event.process = event.client = client;
  event.index = inside - 1;
  if (inside) {
    step_event(step, event);
  }
  event.kind = EVENT_END;
  if (phase == PHASE_ENDED) {
    step_event(step, event);
  }
}

static void begin(Step *step, int32_t client) {
  Cell *cells = state_client(&step->world->layout, step->state, client);
  cells[CLIENT_AGE] = 0;
  cells[CLIENT_FAULT] = 0;
  world_reset_client(step->world, step->state, client);
  step_event(step, step_event_of(step, EVENT_BEGIN));
  step->visible = true; /* there was no rest before */
  vm_run_client(step, client, world_kind(step->world, client)->entry);
}

/* The call or wait at which a client rests is over, and it goes on behind it. */
static void go_on(Step *step, int32_t client) {
  Cell *cells = state_client(&step->world->layout, step->state, client);
  cells[CLIENT_AGE] = 0;
  cells[CLIENT_OVERDUE] = 0;
  vm_run_client(step, client, cells[CLIENT_PC] + 1);
}

static void take_values(Step *step, const Cell *record) {
  step->value_count = step->world->layout.value_count;
  for (int32_t i = 0; i < step->value_count; i++) {
    step->values[i] = (Value){record[MESSAGE_VALUES + 2 * i], record[MESSAGE_VALUES + 2 * i + 1]};
  }
}

static void arrive_at_client(Step *step, const Cell *record) {
  take_values(step, record);
  go_on(step, record[MESSAGE_CLIENT] - 1);
}

static void arrive_at_server(Step *step, const Cell *record) {
  const World *world = step->world;
  int32_t server = record[MESSAGE_SERVER] - 1;
  step->server = server;
  step->process = world->program->client_count + server;
  step->answers = record[MESSAGE_KIND] == MESSAGE_ASK;
  step->request_id = record[MESSAGE_ID];
  if (state_server(&world->layout, step->state, server)[SERVER_FAULT]) {
    if (step->answers) {
      step_event(step, step_event_of(step, EVENT_REFUSED));
      step_send(step, MESSAGE_REPLY, step->client, server, 0, &(Value){SORT_WORD, world->program->word_refused}, 1, -1);
    }
    return;
  }
  take_values(step, record);
  step->attempt = record[MESSAGE_ATTEMPT];
  step->fence = record[MESSAGE_FENCE];
  vm_run_server(step, server, world_service(world, server)->handlers[record[MESSAGE_HANDLER]].entry);
}

static void arrive(Step *step, int32_t message) {
  const Layout *layout = &step->world->layout;
  Cell record[MESSAGE_CELLS_MAX];
  memcpy(record, state_message(layout, step->state, message), layout->message.count * sizeof(Cell));
  state_remove_message(layout, step->state, message);
  step->client = record[MESSAGE_CLIENT] - 1;
  Event event = step_event_of(step, EVENT_ARRIVE);
  event.server = record[MESSAGE_SERVER] - 1;
  event.message = record;
  step_event(step, event);
  if (record[MESSAGE_KIND] == MESSAGE_REPLY) {
    arrive_at_client(step, record);
  } else {
    arrive_at_server(step, record);
  }
}

/* Nobody waits for the reply of this client's call any more: its request becomes a mere tell. A reply on its way is
 * gone: it would change nothing, and could always have arrived before any message behind it. */
static void give_up_call(Step *step, int32_t client) {
  const Layout *layout = &step->world->layout;
  for (int32_t m = step->state->message_count - 1; m >= 0; m--) {
    Cell *record = state_message(layout, step->state, m);
    if (record[MESSAGE_CLIENT] != client + 1) {
      continue;
    }
    if (record[MESSAGE_KIND] == MESSAGE_REPLY) {
      state_remove_message(layout, step->state, m);
    } else {
      record[MESSAGE_KIND] = MESSAGE_TELL;
    }
  }
}

static void time_out(Step *step, int32_t client) {
  give_up_call(step, client);
  step_event(step, step_event_of(step, EVENT_TIMEOUT));
  step->values[0] = (Value){SORT_WORD, step->world->program->word_timeout};
  step->value_count = 1;
  go_on(step, client);
}

static void fire(Step *step, int32_t server, int32_t timer) {
  const World *world = step->world;
  step->server = server;
  step->process = world->program->client_count + server;
  memset(world_timer(world, step->state, server, timer), 0, TIMER_CELLS * sizeof(Cell));
  Event event = step_event_of(step, EVENT_FIRE);
  event.index = timer;
  step_event(step, event);
  vm_run_server(step, server, world_service(world, server)->timers[timer].entry);
}

static void wake(Step *step, int32_t client, int32_t cause) {
  Event event = step_event_of(step, EVENT_WAKE);
  event.index = cause;
  event.pc = state_client(&step->world->layout, step->state, client)[CLIENT_PC];
  step_event(step, event);
  go_on(step, client);
}

void step_take(Step *step, const Action *action) {
  int32_t subject = action->subject, object = action->object;
  if (subject < step->world->program->client_count && action->kind != ACTION_FIRE) {
    step->process = step->client = subject;
  }
  switch ((ActionKind)action->kind) {
  case ACTION_BEGIN: begin(step, subject); break;
  case ACTION_ARRIVE: arrive(step, object); break;
  case ACTION_TIMEOUT: time_out(step, subject); break;
  case ACTION_WAKE: wake(step, subject, object); break;
  case ACTION_FIRE: fire(step, subject, object); break;
  case ACTION_RESUME: faults_resume(step, subject); break;
  case ACTION_RESTART:
    faults_restart(step, subject);
    if (subject < step->world->program->client_count) {
      begin(step, subject);
    }
    break;
  case ACTION_PAUSE: faults_pause(step, subject, object); break;
  case ACTION_CRASH:
    faults_crash(step, subject, object);
    if (subject < step->world->program->client_count) {
      give_up_call(step, subject);
    }
    break;
  case ACTION_CLOCK_STEP: faults_clock_step(step, subject, object); break;
  }
}

void step_settle(Step *step) {
  const World *world = step->world;
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
