/* The virtual machine: one switch over the instructions of lang/opcodes.def. A client runs from one waiting point to
 * the next, a handler from its beginning to its end, in zero time. */
#include "base/check.h"
#include "world/step.h"

#define STEP_INSTRUCTIONS_MAX 100000

typedef struct Machine {
  Step *step;
  int32_t pc;
  bool halted;
} Machine;

static void push(Machine *machine, Sort sort, Cell number) {
  Step *step = machine->step;
  CHECK(step->stack_count < STEP_STACK_MAX);
  step->stack[step->stack_count++] = (Value){(Cell)sort, number};
}

static Value pop(Machine *machine) {
  CHECK(machine->step->stack_count > 0);
  return machine->step->stack[--machine->step->stack_count];
}

static void fail(Machine *machine, ProblemKind kind) {
  step_fail(machine->step, kind, machine->pc);
  machine->halted = true;
}

/* The variable of the process that runs. */
static const Variable *own_variable(const Step *step, int32_t index, Cell **cells) {
  const World *world = step->world;
  if (step->process < world->program->client_count) {
    *cells = world_client_variable(world, step->state, step->process, index);
    return &world_kind(world, step->process)->variables[index];
  }
  *cells = world_server_variable(world, step->state, step->server, index);
  return &world_service(world, step->server)->variables[index];
}

static const Variable *other_variable(const Step *step, int32_t process, int32_t index, Cell **cells) {
  const World *world = step->world;
  int32_t clients = world->program->client_count;
  if (process < clients) {
    *cells = world_client_variable(world, step->state, process, index);
    return &world_kind(world, process)->variables[index];
  }
  *cells = world_server_variable(world, step->state, process - clients, index);
  return &world_service(world, process - clients)->variables[index];
}

static void store(Machine *machine, int32_t index) {
  Step *step = machine->step;
  Cell *cells;
  const Variable *variable = own_variable(step, index, &cells);
  Value before = world_read(&variable->type, cells);
  Value after = pop(machine);
  if (!world_write(&variable->type, cells, after)) {
    fail(machine, after.sort == (Cell)variable->type.sort ? PROBLEM_RANGE : PROBLEM_VALUE);
    return;
  }
  Event event = step_event_of(step, EVENT_VARIABLE);
  event.index = index;
  event.pc = machine->pc;
  event.before = before;
  event.after = after;
  if (before.sort != after.sort || before.number != after.number) {
    step_event(step, event);
  }
  if (variable->is_lock) {
    event.kind = EVENT_LOCK;
    event.attempt = step->attempt;
    step_event(step, event);
  }
}

static void arithmetic(Machine *machine, Opcode op) {
  Value b = pop(machine), a = pop(machine);
  if (a.sort == SORT_SERVER && b.sort == SORT_INT && op == OP_ADD) { /* the next one of its group */
    push(machine, SORT_SERVER, a.number + b.number);
    return;
  }
  if (a.sort != SORT_INT || b.sort != SORT_INT || ((op == OP_DIV || op == OP_MOD) && b.number == 0)) {
    fail(machine, PROBLEM_VALUE);
    return;
  }
  int64_t x = a.number, y = b.number, result = 0;
  switch (op) {
  case OP_ADD: result = x + y; break;
  case OP_SUB: result = x - y; break;
  case OP_MUL: result = x * y; break;
  case OP_DIV: result = x / y; break;
  case OP_MOD: result = x % y; break;
  case OP_MIN: result = x < y ? x : y; break;
  default: result = x > y ? x : y; break;
  }
  if (result > INT32_MAX || result < INT32_MIN) {
    fail(machine, PROBLEM_RANGE);
    return;
  }
  push(machine, SORT_INT, (Cell)result);
}

static void compare_order(Machine *machine, Opcode op) {
  Value b = pop(machine), a = pop(machine);
  if (a.sort != b.sort || (a.sort != SORT_INT && a.sort != SORT_TICKET)) {
    fail(machine, PROBLEM_VALUE);
    return;
  }
  bool result = op == OP_LT   ? a.number < b.number
                : op == OP_LE ? a.number <= b.number
                : op == OP_GT ? a.number > b.number
                              : a.number >= b.number;
  push(machine, SORT_BOOL, result);
}

static void compare_equal(Machine *machine, bool wanted) {
  Value b = pop(machine), a = pop(machine);
  bool equal = a.sort == b.sort && (a.sort == SORT_NONE || a.number == b.number);
  push(machine, SORT_BOOL, equal == wanted);
}

static void fresh_token(Machine *machine) {
  Step *step = machine->step;
  if (step->new_token == 0) {
    step->new_token = names_largest(step->world, step->state, FIELD_TOKEN, TOKEN_FOREIGN - 1);
  }
  if (step->new_token >= STATE_NAMES_MAX) {
    fail(machine, PROBLEM_NAMES);
    return;
  }
  push(machine, SORT_TOKEN, ++step->new_token);
  Event event = step_event_of(step, EVENT_FRESH);
  event.after = step->stack[step->stack_count - 1];
  step_event(step, event);
}

/* Tickets that the machine holds move up together with those in the state. */
static void raise_held_tickets(Step *step, Cell least) {
  Value *held[] = {step->stack, step->locals, step->values};
  int32_t counts[] = {step->stack_count, STEP_LOCALS_MAX, step->value_count};
  for (int32_t h = 0; h < 3; h++) {
    for (int32_t i = 0; i < counts[h]; i++) {
      if (held[h][i].sort == SORT_TICKET && held[h][i].number >= least) {
        held[h][i].number++;
      }
    }
  }
  step->fence += step->fence >= least;
}

/* The next larger ticket hits the next one alive, or misses it and lies between. */
static void next_ticket(Machine *machine) {
  Step *step = machine->step;
  Value before = pop(machine);
  if (before.sort != SORT_TICKET) {
    fail(machine, PROBLEM_VALUE);
    return;
  }
  Cell alive = names_next_ticket(step->world, step->state, before.number);
  Cell next = alive;
  if (alive == 0) {
    next = before.number + 1;
  } else if (step->chooser->choose(step->chooser, 2) == 1) {
    names_raise_tickets(step->world, step->state, alive);
    raise_held_tickets(step, alive);
  }
  if (next >= STATE_NAMES_MAX) {
    fail(machine, PROBLEM_NAMES);
    return;
  }
  push(machine, SORT_TICKET, next);
  Event event = step_event_of(step, EVENT_FRESH);
  event.before = before;
  event.after = step->stack[step->stack_count - 1];
  event.number = alive;
  step_event(step, event);
}

static void take_stamp(Machine *machine, int32_t index) {
  Cell *cells;
  own_variable(machine->step, index, &cells);
  cells[0] = step_new_age(machine->step);
  cells[1] = 0;
}

/* age(stamp) < bound; a stamp never taken is older than any bound. */
static bool stamp_is_below(Step *step, const Cell *stamp, int64_t bound_us) {
  return stamp[0] != 0 && bound_us - stamp[1] > 0 && step_compare(step, stamp[0], bound_us - stamp[1], true);
}

static void compare_age(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Cell *cells;
  if (instr->op == OP_AGE_BELOW) {
    own_variable(step, instr->index, &cells);
  } else {
    other_variable(step, instr->count, instr->index, &cells);
  }
  bool below = stamp_is_below(step, cells, step->world->program->durations_us[instr->operand]);
  push(machine, SORT_BOOL, below);
  Event event = step_event_of(step, EVENT_COMPARE);
  event.index = instr->index;
  event.number = instr->operand;
  event.pc = machine->pc;
  event.after = (Value){SORT_BOOL, below};
  step_event(step, event);
}

/* ask and tell: pops the arguments and the server below them. */
static void call(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  step->stack_count -= instr->count;
  Value arguments[PROGRAM_ARGS_MAX];
  for (int32_t a = 0; a < instr->count; a++) {
    arguments[a] = step->stack[step->stack_count + a];
  }
  Value server = pop(machine);
  CHECK(server.sort == SORT_SERVER);
  bool asks = instr->op == OP_ASK;
  step_send(step, asks ? MESSAGE_ASK : MESSAGE_TELL, step->process, server.number - 1, instr->index, arguments,
            instr->count, machine->pc);
  if (asks) {
    Cell *client = state_client(&step->world->layout, step->state, step->process);
    bool bounded = instr->operand >= 0 && step->world->program->durations_us[instr->operand] != DURATION_INFINITE;
    client[CLIENT_AGE] = bounded ? step_new_age(step) : 0;
    step_rest(step, step->process, machine->pc);
    machine->halted = true;
  }
}

/* Whether the `until` of a wait already holds: the wait then ends at once. */
static bool until_holds(Machine *machine, const Wait *wait) {
  Step *step = machine->step;
  if (wait->until_entry != NO_INDEX && vm_evaluate(step, wait->until_entry)) {
    return true;
  }
  for (int32_t a = 0; a < wait->age_count; a++) {
    Cell *stamp;
    own_variable(step, wait->ages[a].variable, &stamp);
    if (!stamp_is_below(step, stamp, step->world->program->durations_us[wait->ages[a].duration])) {
      return true;
    }
  }
  return false;
}

static void wait_here(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Window window = {0, 0}; /* yield */
  if (instr->op == OP_WAIT) {
    const Wait *wait = &step->world->program->waits[instr->index];
    if (until_holds(machine, wait)) {
      return;
    }
    window = (Window){wait->lo_us, wait->hi_us};
    Event event = step_event_of(step, EVENT_WAIT);
    event.index = instr->index;
    event.pc = machine->pc;
    step_event(step, event);
  }
  Cell *client = state_client(&step->world->layout, step->state, step->process);
  bool bounded = window.lo_us > 0 || window.hi_us != DURATION_INFINITE;
  client[CLIENT_AGE] = bounded ? step_new_age(step) : 0;
  step_rest(step, step->process, machine->pc);
  machine->halted = true;
}

static void begin_attempt(Machine *machine) {
  Step *step = machine->step;
  const World *world = step->world;
  Cell *client = state_client(&world->layout, step->state, step->process);
  if (world->program->rounds > 0 && client[CLIENT_ROUNDS] >= world->program->rounds) {
    step_end_client(step, step->process, PHASE_ENDED);
    machine->halted = true;
    return;
  }
  Cell largest = names_largest(world, step->state, FIELD_HOLDING, HOLDING_FOREIGN - 1);
  Cell name = (largest < HOLDING_UNENTERED ? HOLDING_UNENTERED - 1 : largest) + 1;
  if (name >= HOLDING_FOREIGN) {
    fail(machine, PROBLEM_NAMES);
    return;
  }
  client[CLIENT_ATTEMPT] = name;
  client[CLIENT_FENCE] = 0;
  Event event = step_event_of(step, EVENT_ATTEMPT);
  event.attempt = name;
  step_event(step, event);
}

/* A holding gets a new name at its entry, later than all that have entered before. */
static void enter(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  const World *world = step->world;
  Cell *client = state_client(&world->layout, step->state, step->process);
  if (world->program->criticals[instr->index].has_fence) {
    Value fence = pop(machine);
    if (fence.sort != SORT_TICKET) {
      fail(machine, PROBLEM_VALUE);
      return;
    }
    client[CLIENT_FENCE] = fence.number;
  }
  Cell last = names_largest(world, step->state, FIELD_HOLDING, HOLDING_UNENTERED - 1);
  if (last + 1 >= HOLDING_UNENTERED) {
    fail(machine, PROBLEM_NAMES);
    return;
  }
  Event event = step_event_of(step, EVENT_ENTER);
  event.number = client[CLIENT_ATTEMPT]; /* the name until now */
  names_replace(world, step->state, FIELD_HOLDING, client[CLIENT_ATTEMPT], last + 1);
  client[CLIENT_INSIDE] = instr->index + 1;
  client[CLIENT_ROUNDS] += world->program->rounds > 0;
  event.attempt = client[CLIENT_ATTEMPT];
  event.fence = client[CLIENT_FENCE];
  event.index = instr->index;
  event.pc = machine->pc;
  step_event(step, event);
}

static void leave(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  state_client(&step->world->layout, step->state, step->process)[CLIENT_INSIDE] = 0;
  Event event = step_event_of(step, EVENT_LEAVE);
  event.index = instr->index;
  step_event(step, event);
}

static void set_timer(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Cell *timer = world_timer(step->world, step->state, step->server, instr->index);
  Value duration = {SORT_NONE, 0};
  if (instr->op == OP_TIMER_SET) {
    duration = pop(machine);
    if (duration.sort != SORT_DURATION) {
      fail(machine, PROBLEM_VALUE);
      return;
    }
  }
  bool set = duration.sort == SORT_DURATION && step->world->program->durations_us[duration.number] != DURATION_INFINITE;
  timer[TIMER_DURATION] = set ? duration.number + 1 : 0;
  timer[TIMER_AGE] = set ? step_new_age(step) : 0;
  timer[TIMER_SHIFT] = 0;
  timer[TIMER_OVERDUE] = 0;
}

static void reply(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  int32_t count = instr->op == OP_REPLY ? instr->index : 1;
  Value values[PROGRAM_ARGS_MAX * 2] = {{SORT_WORD, step->world->program->word_ok}};
  if (instr->op == OP_REPLY) {
    step->stack_count -= count;
    for (int32_t i = 0; i < count; i++) {
      values[i] = step->stack[step->stack_count + i];
    }
  }
  Event event = step_event_of(step, EVENT_REPLY);
  event.after = values[0];
  step_event(step, event);
  if (step->answers) {
    step_send(step, MESSAGE_REPLY, step->client, step->server, 0, values, count, machine->pc);
  }
  machine->halted = true;
}

static void touch_resource(Machine *machine, EventKind kind) {
  Step *step = machine->step;
  Event event = step_event_of(step, kind);
  event.attempt = step->attempt;
  event.fence = step->fence;
  event.pc = machine->pc;
  step_event(step, event);
}

static void push_variable(Machine *machine, const Variable *variable, const Cell *cells) {
  Value value = world_read(&variable->type, cells);
  push(machine, (Sort)value.sort, value.number);
}

static void run_value(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Cell *cells;
  switch (instr->op) {
  case OP_PUSH:
    push(machine, (Sort)instr->index,
         instr->operand + (instr->index == SORT_CLIENT || instr->index == SORT_SERVER)); /* names count from 1 */
    break;
  case OP_POP: pop(machine); break;
  case OP_LOAD: {
    const Variable *variable = own_variable(step, instr->index, &cells);
    push_variable(machine, variable, cells);
    break;
  }
  case OP_STORE: store(machine, instr->index); break;
  case OP_LOAD_OF: {
    const Variable *variable = other_variable(step, instr->operand, instr->index, &cells);
    push_variable(machine, variable, cells);
    break;
  }
  case OP_LOAD_ARG:
  case OP_REPLY_VALUE: {
    Value value = instr->index < step->value_count ? step->values[instr->index] : (Value){SORT_NONE, 0};
    push(machine, (Sort)value.sort, value.number);
    break;
  }
  case OP_LOAD_LOCAL: push(machine, (Sort)step->locals[instr->index].sort, step->locals[instr->index].number); break;
  case OP_STORE_LOCAL: step->locals[instr->index] = pop(machine); break;
  case OP_ME:
    if (step->process < step->world->program->client_count) {
      push(machine, SORT_CLIENT, step->process + 1);
    } else {
      push(machine, SORT_SERVER, step->server + 1);
    }
    break;
  case OP_CALLER: push(machine, SORT_CLIENT, step->client + 1); break;
  case OP_INSIDE_OF:
    push(machine, SORT_BOOL, state_client(&step->world->layout, step->state, instr->operand)[CLIENT_INSIDE] != 0);
    break;
  case OP_UP_OF: {
    int32_t clients = step->world->program->client_count;
    bool up = instr->operand < clients
                  ? state_client(&step->world->layout, step->state, instr->operand)[CLIENT_PHASE] != PHASE_CRASHED
                  : state_server(&step->world->layout, step->state, instr->operand - clients)[SERVER_FAULT] == 0;
    push(machine, SORT_BOOL, up);
    break;
  }
  case OP_FRESH: fresh_token(machine); break;
  default: next_ticket(machine); break;
  }
}

/* Runs the instruction at machine->pc, which is moved on to the next. */
static void run_instruction(Machine *machine) {
  Step *step = machine->step;
  const Instr *instr = &step->world->program->code[machine->pc];
  int32_t next = machine->pc + 1;
  switch ((Opcode)instr->op) {
  case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_MIN: case OP_MAX:
    arithmetic(machine, (Opcode)instr->op);
    break;
  case OP_NEG: {
    Value x = pop(machine);
    push(machine, SORT_INT, 0);
    push(machine, (Sort)x.sort, x.number);
    arithmetic(machine, OP_SUB);
    break;
  }
  case OP_NOT: push(machine, SORT_BOOL, pop(machine).number == 0); break;
  case OP_EQ: compare_equal(machine, true); break;
  case OP_NE: compare_equal(machine, false); break;
  case OP_LT: case OP_LE: case OP_GT: case OP_GE: compare_order(machine, (Opcode)instr->op); break;
  case OP_IS_SORT: push(machine, SORT_BOOL, pop(machine).sort == instr->index); break;
  case OP_STAMP: take_stamp(machine, instr->index); break;
  case OP_STAMP_COPY: {
    Cell *to, *from;
    own_variable(step, instr->index, &to);
    own_variable(step, instr->operand, &from);
    to[0] = from[0];
    to[1] = from[1];
    break;
  }
  case OP_AGE_BELOW: case OP_AGE_BELOW_OF: compare_age(machine, instr); break;
  case OP_JUMP: next = instr->operand; break;
  case OP_JUMP_UNLESS: next = pop(machine).number == 0 ? instr->operand : next; break;
  case OP_JUMP_IF: next = pop(machine).number != 0 ? instr->operand : next; break;
  case OP_RETURN: machine->halted = true; break;
  case OP_PAUSE_POINT: machine->halted = faults_strike(step, step->process, machine->pc); break;
  case OP_ATTEMPT: begin_attempt(machine); break;
  case OP_ASK: case OP_TELL: call(machine, instr); break;
  case OP_WAIT: case OP_YIELD: wait_here(machine, instr); break;
  case OP_ENTER: enter(machine, instr); break;
  case OP_LEAVE: leave(machine, instr); break;
  case OP_STOP:
    step_end_client(step, step->process, PHASE_ENDED);
    machine->halted = true;
    break;
  case OP_REPLY: case OP_DONE: reply(machine, instr); break;
  case OP_TIMER_SET: case OP_TIMER_OFF: set_timer(machine, instr); break;
  case OP_TIMER_ARMED:
    push(machine, SORT_BOOL, world_timer(step->world, step->state, step->server, instr->index)[TIMER_DURATION] != 0);
    break;
  case OP_OBSERVE: touch_resource(machine, EVENT_OBSERVE); break;
  case OP_COMMIT: touch_resource(machine, EVENT_COMMIT); break;
  default: run_value(machine, instr); break;
  }
  machine->pc = next;
}

/* What another process or a clock could tell apart (semantics.md, section 2). */
static const bool is_visible[OP_COUNT] = {
    [OP_STAMP] = true, [OP_AGE_BELOW] = true, [OP_ENTER] = true, [OP_LEAVE] = true, [OP_ASK] = true, [OP_TELL] = true,
};

static void run(Step *step, int32_t pc) {
  Machine machine = {.step = step, .pc = pc};
  while (!machine.halted && step->problem.kind == PROBLEM_NONE) {
    if (++step->instruction_count > STEP_INSTRUCTIONS_MAX) {
      fail(&machine, PROBLEM_ENDLESS);
      return;
    }
    step->world->seen->covered[machine.pc] = 1;
    step->visible |= is_visible[step->world->program->code[machine.pc].op];
    run_instruction(&machine);
  }
}

void vm_run_client(Step *step, int32_t client, int32_t pc) {
  step->process = step->client = client;
  step->server = -1;
  run(step, pc);
}

void vm_run_server(Step *step, int32_t server, int32_t entry) {
  step->process = step->world->program->client_count + server;
  step->server = server;
  for (int32_t i = 0; i < STEP_LOCALS_MAX; i++) {
    step->locals[i] = (Value){SORT_NONE, 0};
  }
  if (entry != NO_INDEX) {
    run(step, entry);
  }
}

bool vm_evaluate(Step *step, int32_t entry) {
  run(step, entry);
  return step->problem.kind == PROBLEM_NONE && step->stack[--step->stack_count].number != 0;
}
