/* What the adversary does: pauses, crashes, clock steps. Late and lost messages are choices at the sending (step.c). */
#include <string.h>

#include "base/check.h"
#include "world/step.h"

static bool window_is_bounded(const Fault *fault) {
  return fault->lo_us != DURATION_INFINITE && (fault->lo_us > 0 || fault->hi_us != DURATION_INFINITE);
}

/* Whether a clock step would change anything: some timer or stamp is on the wall clock of the process. */
static bool reads_wall_clock(const World *world, const State *state, int32_t process) {
  const Program *program = world->program;
  if (process < program->client_count) {
    const ClientKind *kind = world_kind(world, process);
    for (int32_t v = 0; v < kind->variable_count; v++) {
      bool on_wall = kind->variables[v].type.sort == SORT_STAMP && kind->variables[v].type.on_wall;
      if (on_wall && world_client_variable(world, (State *)state, process, v)[0] != 0) {
        return true;
      }
    }
    return false;
  }
  int32_t server = process - program->client_count;
  const Service *service = world_service(world, server);
  for (int32_t t = 0; t < service->timer_count; t++) {
    const Cell *timer = world_timer(world, (State *)state, server, t);
    if (service->timers[t].on_wall && timer[TIMER_DURATION] && !timer[TIMER_OVERDUE]) {
      return true;
    }
  }
  return false;
}

static bool may_strike(const World *world, const State *state, int32_t fault, int32_t process) {
  const Program *program = world->program;
  const Fault *what = &program->faults[fault];
  if (process >= program->client_count) {
    int32_t server = process - program->client_count;
    const Cell *cells = state->cells + world->layout.server_cell[server];
    bool up = (what->servers >> server & 1) && !cells[SERVER_FAULT];
    return up && (what->kind == FAULT_CRASH_SERVER ||
                  (what->kind == FAULT_STEP && reads_wall_clock(world, state, process)));
  }
  const Cell *cells = state->cells + world->layout.client_cell[process];
  if (!(what->clients >> process & 1) || cells[CLIENT_PHASE] != PHASE_RESTS) {
    return false;
  }
  return what->kind == FAULT_CRASH_CLIENT || (what->kind == FAULT_PAUSE && !cells[CLIENT_FAULT]) ||
         (what->kind == FAULT_STEP && reads_wall_clock(world, state, process));
}

int32_t step_faults(const World *world, const State *state, Action actions[FAULT_ACTIONS_MAX]) {
  const Program *program = world->program;
  int32_t count = 0;
  for (int32_t f = 0; f < program->fault_count; f++) {
    FaultKind kind = program->faults[f].kind;
    if (kind == FAULT_LATE || kind == FAULT_LOST || world_budget(world, state, f) == 0) {
      continue;
    }
    ActionKind action = kind == FAULT_PAUSE ? ACTION_PAUSE : kind == FAULT_STEP ? ACTION_CLOCK_STEP : ACTION_CRASH;
    for (int32_t p = 0; p < program->client_count + program->server_count && count < FAULT_ACTIONS_MAX; p++) {
      if (may_strike(world, state, f, p)) {
        actions[count++] = (Action){.kind = (uint8_t)action, .subject = (uint8_t)p, .object = (uint8_t)f};
      }
    }
  }
  return count;
}

static void begin_pause(Step *step, int32_t client, int32_t fault) {
  Cell *cells = state_client(&step->world->layout, step->state, client);
  step_spend(step, fault);
  cells[CLIENT_FAULT] = fault + 1;
  cells[CLIENT_PAUSE_AGE] = window_is_bounded(&step->world->program->faults[fault]) ? step_new_age(step) : 0;
  Event event = step_event_of(step, EVENT_PAUSE);
  event.index = fault;
  event.pc = cells[CLIENT_PC];
  step_event(step, event);
}

static void crash_client(Step *step, int32_t client, int32_t fault) {
  Cell *cells = state_client(&step->world->layout, step->state, client);
  step_spend(step, fault);
  Event event = step_event_of(step, EVENT_CRASH);
  event.index = fault;
  step_event(step, event);
  step_end_client(step, client, PHASE_CRASHED);
  cells[CLIENT_FAULT] = fault + 1;
  cells[CLIENT_AGE] = window_is_bounded(&step->world->program->faults[fault]) ? step_new_age(step) : 0;
}

bool faults_strike(Step *step, int32_t client, int32_t pc) {
  const Program *program = step->world->program;
  int32_t options[64];
  int32_t count = 1;
  for (int32_t f = 0; step->visible && f < program->fault_count && count < 64; f++) {
    bool strikes = program->faults[f].kind == FAULT_PAUSE || program->faults[f].kind == FAULT_CRASH_CLIENT;
    if (strikes && program->faults[f].clients >> client & 1 && world_budget(step->world, step->state, f) > 0) {
      options[count++] = f;
    }
  }
  int32_t chosen = count > 1 ? step->chooser->choose(step->chooser, count) : 0;
  if (chosen == 0) {
    return false;
  }
  step->steps++;
  if (program->faults[options[chosen]].kind == FAULT_PAUSE) {
    step_rest(step, client, pc);
    begin_pause(step, client, options[chosen]);
  } else {
    crash_client(step, client, options[chosen]);
  }
  return true;
}

void faults_pause(Step *step, int32_t client, int32_t fault) {
  const Layout *layout = &step->world->layout;
  state_client(layout, step->state, client)[CLIENT_OVERDUE] = 0; /* withheld; the resume will look again */
  for (int32_t m = 0; m < step->state->message_count; m++) {
    Cell *record = state_message(layout, step->state, m);
    if (record[MESSAGE_CLIENT] == client + 1 && record[MESSAGE_KIND] == MESSAGE_REPLY) {
      record[MESSAGE_OVERDUE] = 0;
    }
  }
  begin_pause(step, client, fault);
}

/* Whatever waited for the client is still inside its window, or overdue. */
static void look_at_clock(Step *step, int32_t client, bool wall_only) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(step->world, step->state, things);
  Cell *cells = state_client(&step->world->layout, step->state, client);
  for (int32_t i = 0; i < count; i++) {
    const Thing *thing = &things[i];
    bool its = thing->subject == client && (thing->kind == ACTION_TIMEOUT || thing->kind == ACTION_WAKE ||
                                            (thing->kind == ACTION_ARRIVE && !thing->optional));
    if (!its || thing->hi_us == DURATION_INFINITE || (wall_only && !(thing->kind == ACTION_WAKE && thing->object))) {
      continue;
    }
    if (step_compare(step, thing->age, thing->hi_us, false)) {
      continue;
    }
    if (thing->kind == ACTION_ARRIVE) {
      state_message(&step->world->layout, step->state, thing->object)[MESSAGE_OVERDUE] = 1;
    } else {
      cells[CLIENT_OVERDUE] = 1;
    }
  }
}

void faults_resume(Step *step, int32_t client) {
  Cell *cells = state_client(&step->world->layout, step->state, client);
  cells[CLIENT_FAULT] = 0;
  cells[CLIENT_PAUSE_AGE] = 0;
  step_event(step, step_event_of(step, EVENT_RESUME));
  if (step->world->program->code[cells[CLIENT_PC]].op == OP_PAUSE_POINT) {
    vm_run_client(step, client, cells[CLIENT_PC] + 1);
  } else {
    look_at_clock(step, client, false);
  }
}

/* The variables of a server get their initial values; the log hears what they were. */
static void forget_memory(Step *step, int32_t server) {
  const Service *service = world_service(step->world, server);
  Value before[64];
  CHECK(service->variable_count <= 64);
  for (int32_t v = 0; v < service->variable_count; v++) {
    before[v] = world_read(&service->variables[v].type, world_server_variable(step->world, step->state, server, v));
  }
  world_reset_server(step->world, step->state, server);
  for (int32_t v = 0; v < service->variable_count; v++) {
    Event event = step_event_of(step, EVENT_VARIABLE);
    event.index = v;
    event.before = before[v];
    event.after = world_read(&service->variables[v].type, world_server_variable(step->world, step->state, server, v));
    if (service->variables[v].type.sort != SORT_STAMP &&
        (event.before.sort != event.after.sort || event.before.number != event.after.number)) {
      step_event(step, event);
    }
  }
}

static void crash_server(Step *step, int32_t server, int32_t fault) {
  const Layout *layout = &step->world->layout;
  Cell *cells = state_server(layout, step->state, server);
  step->server = server;
  step->process = step->world->program->client_count + server;
  step_spend(step, fault);
  Event event = step_event_of(step, EVENT_CRASH);
  event.index = fault;
  step_event(step, event);
  forget_memory(step, server);
  event.kind = EVENT_RESET;
  step_event(step, event);
  for (int32_t m = step->state->message_count - 1; m >= 0; m--) {
    const Cell *record = state_message(layout, step->state, m);
    if (record[MESSAGE_SERVER] == server + 1 && record[MESSAGE_KIND] != MESSAGE_REPLY) {
      state_remove_message(layout, step->state, m);
    }
  }
  cells[SERVER_FAULT] = fault + 1;
  cells[SERVER_AGE] = window_is_bounded(&step->world->program->faults[fault]) ? step_new_age(step) : 0;
}

void faults_crash(Step *step, int32_t process, int32_t fault) {
  int32_t clients = step->world->program->client_count;
  if (process < clients) {
    crash_client(step, process, fault);
  } else {
    crash_server(step, process - clients, fault);
  }
}

void faults_restart(Step *step, int32_t process) {
  int32_t clients = step->world->program->client_count;
  step->process = process;
  if (process >= clients) {
    step->server = process - clients;
    Cell *cells = state_server(&step->world->layout, step->state, step->server);
    cells[SERVER_FAULT] = 0;
    cells[SERVER_AGE] = 0;
  }
  step_event(step, step_event_of(step, EVENT_RESTART));
}

static Cell shifted(Step *step, Cell shift, int64_t by_us) {
  int64_t sum = (int64_t)shift + by_us;
  if (sum > INT32_MAX || sum < INT32_MIN) {
    step_fail(step, PROBLEM_RANGE, -1);
    return shift;
  }
  return (Cell)sum;
}

static void step_timers(Step *step, int32_t server, int64_t by_us) {
  const Service *service = world_service(step->world, server);
  for (int32_t t = 0; t < service->timer_count; t++) {
    Cell *timer = world_timer(step->world, step->state, server, t);
    if (!service->timers[t].on_wall || !timer[TIMER_DURATION] || timer[TIMER_OVERDUE]) {
      continue;
    }
    timer[TIMER_SHIFT] = shifted(step, timer[TIMER_SHIFT], by_us);
    int64_t at_us = step->world->program->durations_us[timer[TIMER_DURATION] - 1] - timer[TIMER_SHIFT];
    if (!step_compare(step, timer[TIMER_AGE], at_us, false)) {
      timer[TIMER_OVERDUE] = 1;
      timer[TIMER_SHIFT] = 0; /* it fires now: how far the clock went does not matter */
    }
  }
}

static void step_stamps(Step *step, int32_t client, int64_t by_us) {
  const ClientKind *kind = world_kind(step->world, client);
  for (int32_t v = 0; v < kind->variable_count; v++) {
    Cell *stamp = world_client_variable(step->world, step->state, client, v);
    if (kind->variables[v].type.sort == SORT_STAMP && kind->variables[v].type.on_wall && stamp[0] != 0) {
      stamp[1] = shifted(step, stamp[1], by_us);
    }
  }
  if (!state_client(&step->world->layout, step->state, client)[CLIENT_FAULT]) {
    look_at_clock(step, client, true);
  }
}

void faults_clock_step(Step *step, int32_t process, int32_t fault) {
  int32_t clients = step->world->program->client_count;
  step_spend(step, fault);
  step->process = process;
  step->server = process < clients ? -1 : process - clients;
  Event event = step_event_of(step, EVENT_CLOCK_STEP);
  event.index = fault;
  event.number = step->world->program->faults[fault].by_us;
  step_event(step, event);
  if (process < clients) {
    step_stamps(step, process, event.number);
  } else {
    step_timers(step, process - clients, event.number);
  }
}
