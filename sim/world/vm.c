/* The virtual machine: one switch over the instructions of lang/opcodes.def. A client runs from one waiting point to
 * the next, a handler from its beginning to its end, in zero time. */
#include <string.h>

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
  step->stack[step->stack_count++] = (Value){(Cell)sort, number, 0};
}

static void push_value(Machine *machine, Value value) {
  push(machine, (Sort)value.sort, value.number);
  machine->step->stack[machine->step->stack_count - 1].offset = value.offset;
}

static Value pop(Machine *machine) {
  CHECK(machine->step->stack_count > 0);
  return machine->step->stack[--machine->step->stack_count];
}

static void fail(Machine *machine, ProblemKind kind) {
  step_fail(machine->step, kind, machine->pc);
  machine->halted = true;
}

/* The variable of a process and its first cell; the ghosts' process is the one behind the last server. */
static const Variable *variable_of(const Step *step, int32_t process, int32_t index, Cell **cells) {
  const World *world = step->world;
  int32_t clients = world->program->client_count, servers = world->program->server_count;
  if (process < clients) {
    *cells = world_client_variable(world, step->state, process, index);
    return &world_kind(world, process)->variables[index];
  }
  if (process < clients + servers) {
    *cells = world_server_variable(world, step->state, process - clients, index);
    return &world_service(world, process - clients)->variables[index];
  }
  *cells = world_ghost_variable(world, step->state, index);
  return &world->program->ghosts[index];
}

/* Pops the index of an array: which element it means. False after a finding. */
static bool pop_element(Machine *machine, const Extent *extent, int32_t *element) {
  Value index = pop(machine);
  bool is_name = extent->sort == SORT_CLIENT || extent->sort == SORT_SERVER; /* names count from 1 */
  *element = index.number - is_name - extent->first;
  if (index.sort != (Cell)extent->sort || *element < 0 || *element >= extent->count) {
    fail(machine, index.sort == (Cell)extent->sort ? PROBLEM_RANGE : PROBLEM_VALUE);
    return false;
  }
  return true;
}

/* The variable that an instruction means, and the cells of the element. NULL after a finding. */
static const Variable *find_element(Machine *machine, const Instr *instr, int32_t process, Cell **cells,
                                    int32_t *element) {
  const Variable *variable = variable_of(machine->step, process, instr->index, cells);
  *element = 0;
  if (instr->is_indexed && !pop_element(machine, &variable->extent, element)) {
    return NULL;
  }
  *cells += *element * world_type_cells(&variable->type);
  return variable;
}

/* The offset of a process's wall clock from true time, where stamps travel. */
static Cell wall_offset(const Step *step, int32_t process) {
  const Layout *layout = &step->world->layout;
  int32_t clients = step->world->program->client_count;
  return process < clients ? state_client(layout, step->state, process)[CLIENT_OFFSET]
                           : state_server(layout, step->state, process - clients)[SERVER_OFFSET];
}

/* A stamp as a value says how far the clock was off when it was taken; a variable, how far it was stepped since. */
static Value read_stamp(const Step *step, const Type *type, const Cell *cells, int32_t process) {
  if (cells[STAMP_AGE] == 0) {
    return (Value){SORT_STAMP, 0, 0};
  }
  return (Value){SORT_STAMP, cells[STAMP_AGE], type->on_wall ? wall_offset(step, process) - cells[STAMP_SHIFT] : 0};
}

static bool write_stamp(const Step *step, const Type *type, Cell *cells, Value value, int32_t process) {
  if (value.sort != SORT_STAMP) {
    return false;
  }
  cells[STAMP_AGE] = value.number;
  cells[STAMP_SHIFT] = type->on_wall && value.number ? wall_offset(step, process) - value.offset : 0;
  cells[STAMP_BEHIND_LO] = cells[STAMP_BEHIND_HI] = 0;
  return true;
}

static void load(Machine *machine, const Instr *instr, int32_t process) {
  Cell *cells;
  int32_t element;
  const Variable *variable = find_element(machine, instr, process, &cells, &element);
  if (variable != NULL) {
    bool is_stamp = variable->type.sort == SORT_STAMP;
    push_value(machine, is_stamp ? read_stamp(machine->step, &variable->type, cells, process)
                                 : world_read(&variable->type, cells));
  }
}

static void log_change(Step *step, const Variable *variable, Event event) {
  if (event.before.sort != event.after.sort || event.before.number != event.after.number) {
    step_event(step, event);
  }
  if (variable->is_lock) {
    event.kind = EVENT_LOCK;
    event.attempt = step->attempt;
    step_event(step, event);
  }
}

static void store(Machine *machine, const Instr *instr, int32_t process) {
  Step *step = machine->step;
  Cell *cells;
  int32_t element;
  const Variable *variable = find_element(machine, instr, process, &cells, &element);
  if (variable == NULL) {
    return;
  }
  bool is_stamp = variable->type.sort == SORT_STAMP;
  Value before = is_stamp ? (Value){SORT_STAMP, 0, 0} : world_read(&variable->type, cells);
  Value after = pop(machine);
  bool has_room = variable->type.sort != SORT_REPLY || world_has_room(step->world, after);
  if (!has_room || !(is_stamp ? write_stamp(step, &variable->type, cells, after, process)
                              : world_write(&variable->type, cells, after))) {
    bool is_outside = !has_room || after.sort == (Cell)variable->type.sort;
    fail(machine, is_outside ? PROBLEM_RANGE : PROBLEM_VALUE);
    return;
  }
  Event event = step_event_of(step, EVENT_VARIABLE);
  event.process = process;
  event.index = instr->index;
  event.element = element;
  event.pc = machine->pc;
  event.before = before;
  event.after = is_stamp ? before : after;
  log_change(step, variable, event);
}

static void arithmetic(Machine *machine, Opcode op) {
  Value b = pop(machine), a = pop(machine);
  if ((a.sort == SORT_SERVER || a.sort == SORT_CLIENT) && b.sort == SORT_INT && op == OP_ADD) { /* one further on */
    push(machine, (Sort)a.sort, a.number + b.number);
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

static bool misses_ticket(Step *step, Cell before, Cell alive) {
  Chooser *chooser = step->chooser;
  return (chooser->next_ticket != NULL ? chooser->next_ticket(chooser, before, alive) : chooser->choose(chooser, 2)) ==
         1;
}

static void choose_arm(Machine *machine, int32_t count) {
  Chooser *chooser = machine->step->chooser;
  chooser->by_model = true;
  push(machine, SORT_INT, count > 1 ? chooser->choose(chooser, count) : 0);
  chooser->by_model = false;
}

/* The next larger ticket hits the next one alive, or misses it and lies between. Which, is known where distances are
 * kept; where they are only known to be at least so large, it is open how large the rest is. */
static void next_ticket(Machine *machine) {
  Step *step = machine->step;
  Value before = pop(machine);
  if (before.sort != SORT_TICKET) {
    fail(machine, PROBLEM_VALUE);
    return;
  }
  Cell alive = names_next_ticket(step->world, step->state, before.number);
  int32_t gap = step->world->ticket_gap, distance = alive - before.number;
  bool is_open = alive != 0 && distance >= gap;
  Cell next = is_open && gap == 1 ? alive : before.number + 1;
  if (is_open && misses_ticket(step, before.number, alive)) {
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
  event.number = is_open ? alive : 0;
  step_event(step, event);
}

static void take_stamp(Machine *machine, const Instr *instr) {
  Cell *cells;
  int32_t element;
  if (find_element(machine, instr, machine->step->process, &cells, &element) != NULL) {
    memset(cells, 0, STAMP_CELLS * sizeof(Cell));
    cells[STAMP_AGE] = step_new_age(machine->step);
  }
}

/* age(stamp) < bound on the clock of `process`; a stamp never taken is older than any bound. */
static bool stamp_is_below(Step *step, const Cell *stamp, int64_t bound_us, int32_t process) {
  int64_t left_us = bound_us == DURATION_INFINITE ? bound_us : bound_us - stamp[STAMP_SHIFT];
  if (stamp[STAMP_AGE] == 0 || left_us <= 0) {
    return false;
  }
  Reading bound = world_reading(step->world, process, left_us, stamp[STAMP_BEHIND_LO], stamp[STAMP_BEHIND_HI]);
  return step_compare(step, stamp[STAMP_AGE], bound, true);
}

static void push_comparison(Machine *machine, const Instr *instr, int32_t process, bool below) {
  push(machine, SORT_BOOL, below);
  Event event = step_event_of(machine->step, EVENT_COMPARE);
  event.process = instr->op == OP_AGE_BELOW ? machine->step->process : instr->op == OP_AGE_BELOW_OF ? -1 : process;
  event.index = instr->op == OP_AGE_BELOW_VALUE ? NO_INDEX : instr->index;
  event.number = instr->operand;
  event.pc = machine->pc;
  event.after = (Value){SORT_BOOL, below, 0};
  step_event(machine->step, event);
}

static void compare_age(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  int32_t process = instr->op == OP_AGE_BELOW ? step->process : instr->count;
  int32_t clock = process < step->world->program->client_count + step->world->program->server_count ? process : 0;
  Cell *cells;
  int32_t element;
  if (find_element(machine, instr, process, &cells, &element) != NULL) {
    int64_t bound_us = step->world->program->durations_us[instr->operand];
    push_comparison(machine, instr, process, stamp_is_below(step, cells, bound_us, clock));
  }
}

/* The same of a stamp on the stack: read on the clock of the process that runs. */
static void compare_value_age(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Value value = pop(machine);
  if (value.sort != SORT_STAMP) {
    fail(machine, PROBLEM_VALUE);
    return;
  }
  bool on_wall = instr->index == 1;
  Cell stamp[STAMP_CELLS] = {
      [STAMP_AGE] = value.number, [STAMP_SHIFT] = on_wall ? wall_offset(step, step->process) - value.offset : 0};
  int64_t bound_us = step->world->program->durations_us[instr->operand];
  push_comparison(machine, instr, step->process, stamp_is_below(step, stamp, bound_us, step->process));
}

/* Pops the arguments of a message, and whom it goes to below them; false after a finding. */
static bool take_message(Machine *machine, const Instr *instr, Value *arguments, Sort receiver_sort,
                         int32_t *receiver) {
  Step *step = machine->step;
  step->stack_count -= instr->count;
  memcpy(arguments, &step->stack[step->stack_count], instr->count * sizeof(Value));
  Value to = pop(machine);
  *receiver = to.number - 1;
  if (to.sort != (Cell)receiver_sort) {
    fail(machine, PROBLEM_VALUE);
    return false;
  }
  return true;
}

static void rest_here(Machine *machine, bool timed) {
  Step *step = machine->step;
  Cell *task = state_task(&step->world->layout, step->state, step->process, step->task);
  task[TASK_AGE] = timed ? step_new_age(step) : 0;
  step_rest(step, step->process, step->task, machine->pc);
  machine->halted = true;
}

/* Whether an ask has a time-out. */
static bool is_bounded(const Step *step, const Instr *instr) {
  return instr->operand >= 0 && step->world->program->durations_us[instr->operand] != DURATION_INFINITE;
}

/* ask and tell: pops the arguments and the server below them. */
static void call(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Value arguments[PROGRAM_ARGS_MAX];
  int32_t server;
  if (!take_message(machine, instr, arguments, SORT_SERVER, &server)) {
    return;
  }
  bool asks = instr->op == OP_ASK, by_server = step->server >= 0;
  Envelope envelope = {.kind = asks ? MESSAGE_ASK : MESSAGE_TELL,
                       .client = by_server ? -1 : step->process,
                       .server = server,
                       .peer = by_server ? step->server : -1,
                       .handler = instr->index,
                       .task = asks ? step->task : 0,
                       .values = arguments,
                       .value_count = instr->count,
                       .pc = machine->pc};
  step_send(step, &envelope);
  if (asks) {
    rest_here(machine, is_bounded(step, instr));
  }
}

static void call_all(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  const Parallel *parallel = &step->world->program->parallels[instr->index];
  Value arguments[PROGRAM_ARGS_MAX];
  int32_t first;
  if (!take_message(machine, instr, arguments, SORT_SERVER, &first)) {
    return;
  }
  Cell *task = state_task(&step->world->layout, step->state, step->process, step->task);
  task[TASK_AWAITED] = parallel->count;
  task[TASK_COUNTED] = 0;
  for (int32_t i = 0; i < parallel->count; i++) {
    Envelope envelope = {.kind = MESSAGE_ASK,
                         .client = step->process,
                         .server = first + i,
                         .peer = -1,
                         .handler = parallel->handler,
                         .task = step->task,
                         .values = arguments,
                         .value_count = instr->count,
                         .pc = machine->pc};
    step_send(step, &envelope);
  }
  rest_here(machine, is_bounded(step, instr));
}

static void notify(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Value arguments[PROGRAM_ARGS_MAX];
  int32_t client;
  if (!take_message(machine, instr, arguments, SORT_CLIENT, &client)) {
    return;
  }
  Envelope envelope = {.kind = MESSAGE_NOTICE,
                       .client = client,
                       .server = step->server,
                       .peer = -1,
                       .handler = instr->index,
                       .values = arguments,
                       .value_count = instr->count,
                       .pc = machine->pc};
  step_send(step, &envelope);
}

/* Whether the `until` of a wait already holds: the wait then ends at once. */
static bool until_holds(Machine *machine, const Wait *wait) {
  Step *step = machine->step;
  if (wait->until_entry != NO_INDEX && vm_evaluate(step, wait->until_entry)) {
    return true;
  }
  for (int32_t a = 0; a < wait->age_count; a++) {
    Cell *stamp;
    variable_of(step, step->process, wait->ages[a].variable, &stamp);
    if (!stamp_is_below(step, stamp, step->world->program->durations_us[wait->ages[a].duration], step->process)) {
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
  bool ends_by_itself = window.lo_us != DURATION_INFINITE;
  rest_here(machine, ends_by_itself && (window.lo_us > 0 || window.hi_us != DURATION_INFINITE));
}

static void begin_attempt(Machine *machine) {
  Step *step = machine->step;
  const World *world = step->world;
  Cell *task = state_task(&world->layout, step->state, step->process, step->task);
  int32_t rounds = state_client(&world->layout, step->state, step->process)[CLIENT_ROUNDS];
  if (world->program->rounds > 0 && rounds >= world->program->rounds) {
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
  task[TASK_ATTEMPT] = name;
  task[TASK_FENCE] = 0;
  Event event = step_event_of(step, EVENT_ATTEMPT);
  event.attempt = name;
  step_event(step, event);
}

/* The fence lies above the resource. False after a finding. */
static bool take_section(Machine *machine, const Critical *critical, Cell *task) {
  Value fence = critical->has_fence ? pop(machine) : (Value){SORT_TICKET, 0, 0};
  Value resource = critical->has_resource ? pop(machine) : (Value){SORT_NONE, 0, 0};
  bool names_one = resource.sort == SORT_INT || resource.sort == SORT_CLIENT || resource.sort == SORT_SERVER;
  if (fence.sort != SORT_TICKET || (critical->has_resource && !names_one)) {
    fail(machine, PROBLEM_VALUE);
    return false;
  }
  if (!world_has_room(machine->step->world, resource)) {
    fail(machine, PROBLEM_RANGE);
    return false;
  }
  task[TASK_FENCE] = critical->has_fence ? fence.number : task[TASK_FENCE];
  task[TASK_RESOURCE_SORT] = resource.sort;
  task[TASK_RESOURCE] = resource.number;
  return true;
}

/* A holding gets a new name at its entry, later than all that have entered before. */
static void enter(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  const World *world = step->world;
  Cell *task = state_task(&world->layout, step->state, step->process, step->task);
  if (!take_section(machine, &world->program->criticals[instr->index], task)) {
    return;
  }
  Cell last = names_largest(world, step->state, FIELD_HOLDING, HOLDING_UNENTERED - 1);
  if (last + 1 >= HOLDING_UNENTERED) {
    fail(machine, PROBLEM_NAMES);
    return;
  }
  Event event = step_event_of(step, EVENT_ENTER);
  event.number = task[TASK_ATTEMPT]; /* the name until now */
  names_replace(world, step->state, FIELD_HOLDING, task[TASK_ATTEMPT], last + 1);
  task[TASK_INSIDE] = instr->index + 1;
  state_client(&world->layout, step->state, step->process)[CLIENT_ROUNDS] += world->program->rounds > 0;
  step->entered_kinds |= UINT32_C(1) << world->program->client_kind[step->process];
  event.attempt = task[TASK_ATTEMPT];
  event.fence = task[TASK_FENCE];
  event.index = instr->index;
  event.pc = machine->pc;
  step_event(step, event);
}

static void leave(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Cell *task = state_task(&step->world->layout, step->state, step->process, step->task);
  task[TASK_INSIDE] = task[TASK_RESOURCE_SORT] = task[TASK_RESOURCE] = 0;
  Event event = step_event_of(step, EVENT_LEAVE);
  event.index = instr->index;
  step_event(step, event);
}

/* The timer that an instruction means; NULL after a finding. */
static Cell *find_timer(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  const Service *service = world_service(step->world, step->server);
  int32_t element = 0;
  if (instr->is_indexed && !pop_element(machine, &service->timers[instr->index].extent, &element)) {
    return NULL;
  }
  return world_timer(step->world, step->state, step->server, world_timer_slot(service, instr->index) + element);
}

static void set_timer(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  Cell *timer = find_timer(machine, instr);
  if (timer == NULL) {
    return;
  }
  Value duration = {SORT_NONE, 0, 0};
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

static void push_armed(Machine *machine, const Instr *instr) {
  const Cell *timer = find_timer(machine, instr);
  if (timer != NULL) {
    push(machine, SORT_BOOL, timer[TIMER_DURATION] != 0);
  }
}

static void reply(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  int32_t count = instr->op == OP_REPLY ? instr->index : 1;
  Value values[PROGRAM_ARGS_MAX * 2] = {{SORT_WORD, step->world->program->word_ok, 0}};
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
    Envelope envelope = {.kind = MESSAGE_REPLY,
                         .client = step->client,
                         .server = step->server,
                         .peer = -1,
                         .task = step->caller_task,
                         .values = values,
                         .value_count = count,
                         .pc = machine->pc};
    step_send(step, &envelope);
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

/* A client's or server's place in its kind or group. */
static void push_ordinal(Machine *machine) {
  const Program *program = machine->step->world->program;
  Value process = pop(machine);
  if (process.sort == SORT_CLIENT) {
    push(machine, SORT_INT, process.number - 1 - program->kinds[program->client_kind[process.number - 1]].first);
  } else if (process.sort == SORT_SERVER) {
    push(machine, SORT_INT, process.number - 1 - program->groups[program->server_group[process.number - 1]].first);
  } else {
    fail(machine, PROBLEM_VALUE);
  }
}

static void push_constant(Machine *machine, Sort sort, Cell number) {
  push(machine, sort, number + (sort == SORT_CLIENT || sort == SORT_SERVER)); /* names count from 1 */
}

static void push_entry(Machine *machine, const Instr *instr) {
  const Table *table = &machine->step->world->program->tables[instr->index];
  Value at = pop(machine);
  if (at.sort != SORT_INT || at.number < 0 || at.number >= table->count) {
    fail(machine, at.sort == SORT_INT ? PROBLEM_RANGE : PROBLEM_VALUE);
    return;
  }
  push_constant(machine, table->sort, table->values[at.number]);
}

static void check_index(Machine *machine, const Instr *instr) {
  Value top = pop(machine);
  if (top.sort != SORT_INT || top.number < 0 || top.number >= instr->index) {
    fail(machine, top.sort == SORT_INT ? PROBLEM_RANGE : PROBLEM_VALUE);
    return;
  }
  push_value(machine, top);
}

static void push_caller(Machine *machine) {
  const Step *step = machine->step;
  if (step->peer >= 0) {
    push(machine, SORT_SERVER, step->peer + 1);
  } else {
    push(machine, step->client >= 0 ? SORT_CLIENT : SORT_NONE, step->client + 1);
  }
}

static bool process_is_up(const Step *step, int32_t process) {
  const World *world = step->world;
  int32_t clients = world->program->client_count;
  if (process < clients) {
    return state_client(&world->layout, step->state, process)[CLIENT_PHASE] != PHASE_CRASHED;
  }
  const Fault *fault = faults_of_server(world, step->state, process - clients);
  return fault == NULL || fault_is_pause(fault);
}

static void run_value(Machine *machine, const Instr *instr) {
  Step *step = machine->step;
  switch (instr->op) {
  case OP_PUSH: push_constant(machine, (Sort)instr->index, instr->operand); break;
  case OP_POP: pop(machine); break;
  case OP_LOAD: load(machine, instr, step->process); break;
  case OP_STORE: store(machine, instr, step->process); break;
  case OP_LOAD_OF: load(machine, instr, instr->operand); break;
  case OP_STORE_GHOST:
    store(machine, instr, step->world->program->client_count + step->world->program->server_count);
    break;
  case OP_LOAD_ARG:
  case OP_REPLY_VALUE:
    push_value(machine, instr->index < step->value_count ? step->values[instr->index] : (Value){SORT_NONE, 0, 0});
    break;
  case OP_LOAD_LOCAL: push_value(machine, step->locals[instr->index]); break;
  case OP_STORE_LOCAL: step->locals[instr->index] = pop(machine); break;
  case OP_ME:
    if (step->server < 0) {
      push(machine, SORT_CLIENT, step->process + 1);
    } else {
      push(machine, SORT_SERVER, step->server + 1);
    }
    break;
  case OP_CALLER: push_caller(machine); break;
  case OP_ORDINAL: push_ordinal(machine); break;
  case OP_TABLE: push_entry(machine, instr); break;
  case OP_CHECK_INDEX: check_index(machine, instr); break;
  case OP_CHOOSE: choose_arm(machine, instr->index); break;
  case OP_NOW:
  case OP_NOW_WALL:
    push_value(machine, (Value){SORT_STAMP, step_new_age(step),
                                instr->op == OP_NOW_WALL ? wall_offset(step, step->process) : 0});
    break;
  case OP_INSIDE_OF: push(machine, SORT_BOOL, world_is_inside(step->world, step->state, instr->operand)); break;
  case OP_UP_OF: push(machine, SORT_BOOL, process_is_up(step, instr->operand)); break;
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
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_DIV:
  case OP_MOD:
  case OP_MIN:
  case OP_MAX: arithmetic(machine, (Opcode)instr->op); break;
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
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: compare_order(machine, (Opcode)instr->op); break;
  case OP_IS_SORT: push(machine, SORT_BOOL, pop(machine).sort == instr->index); break;
  case OP_STAMP: take_stamp(machine, instr); break;
  case OP_STAMP_COPY: {
    Cell *to, *from;
    variable_of(step, step->process, instr->index, &to);
    variable_of(step, step->process, instr->operand, &from);
    memcpy(to, from, STAMP_CELLS * sizeof(Cell));
    break;
  }
  case OP_AGE_BELOW:
  case OP_AGE_BELOW_OF: compare_age(machine, instr); break;
  case OP_AGE_BELOW_VALUE: compare_value_age(machine, instr); break;
  case OP_JUMP: next = instr->operand; break;
  case OP_JUMP_UNLESS: next = pop(machine).number == 0 ? instr->operand : next; break;
  case OP_JUMP_IF: next = pop(machine).number != 0 ? instr->operand : next; break;
  case OP_RETURN: machine->halted = true; break;
  case OP_PAUSE_POINT: machine->halted = faults_strike(step, machine->pc); break;
  case OP_ATTEMPT: begin_attempt(machine); break;
  case OP_ASK:
  case OP_TELL: call(machine, instr); break;
  case OP_ASK_ALL: call_all(machine, instr); break;
  case OP_NOTIFY: notify(machine, instr); break;
  case OP_WAIT:
  case OP_YIELD: wait_here(machine, instr); break;
  case OP_ENTER: enter(machine, instr); break;
  case OP_LEAVE: leave(machine, instr); break;
  case OP_ASSERT:
    if (pop(machine).number == 0) {
      step->violated |= world_assertion_bit(step->world, instr->index);
    }
    break;
  case OP_END:
    step_end_task(step, step->process, step->task);
    machine->halted = true;
    break;
  case OP_STOP:
    step_end_client(step, step->process, PHASE_ENDED);
    machine->halted = true;
    break;
  case OP_REPLY:
  case OP_DONE: reply(machine, instr); break;
  case OP_TIMER_SET:
  case OP_TIMER_OFF: set_timer(machine, instr); break;
  case OP_TIMER_ARMED: push_armed(machine, instr); break;
  case OP_OBSERVE: touch_resource(machine, EVENT_OBSERVE); break;
  case OP_COMMIT: touch_resource(machine, EVENT_COMMIT); break;
  default: run_value(machine, instr); break;
  }
  machine->pc = next;
}

/* What another process or a clock could tell apart (semantics.md, section 2). */
static const bool is_visible[OP_COUNT] = {
    [OP_STAMP] = true, [OP_AGE_BELOW] = true, [OP_ENTER] = true,    [OP_LEAVE] = true,           [OP_ASK] = true,
    [OP_TELL] = true,  [OP_NOW] = true,       [OP_NOW_WALL] = true, [OP_AGE_BELOW_VALUE] = true, [OP_ASK_ALL] = true,
};

/* And what a `never` can: a variable that it reads, a ghost. */
static bool shows_in_nevers(const Step *step, const Instr *instr) {
  if (instr->op == OP_STORE_GHOST) {
    return true;
  }
  int32_t variable = instr->op == OP_STORE || instr->op == OP_STAMP_COPY ? instr->index : NO_INDEX;
  return step->server < 0 && variable >= 0 && step->world->never_reads[step->process] >> variable & 1;
}

static void run(Step *step, int32_t pc) {
  Machine machine = {.step = step, .pc = pc};
  while (!machine.halted && step->problem.kind == PROBLEM_NONE) {
    if (++step->instruction_count > STEP_INSTRUCTIONS_MAX) {
      fail(&machine, PROBLEM_ENDLESS);
      return;
    }
    step->world->seen->covered[machine.pc] = 1;
    const Instr *instr = &step->world->program->code[machine.pc];
    step->visible |= is_visible[instr->op] || shows_in_nevers(step, instr);
    run_instruction(&machine);
  }
}

void vm_run_client(Step *step, int32_t client, int32_t task, int32_t pc) {
  step->process = step->client = client;
  step->task = task;
  step->server = -1;
  step->ran = client + 1;
  run(step, pc);
}

static void forget_locals(Step *step) {
  for (int32_t i = 0; i < STEP_LOCALS_MAX; i++) {
    step->locals[i] = (Value){SORT_NONE, 0, 0};
  }
}

void vm_run_notice(Step *step, int32_t client, int32_t entry) {
  step->process = step->client = client;
  step->task = 0;
  step->server = -1;
  step->answers = false;
  step->ran = client + 1;
  forget_locals(step);
  run(step, entry);
}

void vm_run_server(Step *step, int32_t server, int32_t entry) {
  step->process = step->world->program->client_count + server;
  step->server = server;
  forget_locals(step);
  if (entry != NO_INDEX) {
    run(step, entry);
  }
}

bool vm_evaluate(Step *step, int32_t entry) {
  run(step, entry);
  return step->problem.kind == PROBLEM_NONE && step->stack[--step->stack_count].number != 0;
}
