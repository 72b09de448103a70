#include "world/world.h"

#include <string.h>

#include "base/check.h"
#include "world/dead.h"

/* --- the code as a graph: what may run after an instruction ------------------------------------------------------ */

static int32_t code_successors(const Instr *instr, int32_t pc, int32_t next[2]) {
  switch (instr->op) {
  case OP_JUMP: next[0] = instr->operand; return 1;
  case OP_JUMP_IF:
  case OP_JUMP_UNLESS:
    next[0] = pc + 1;
    next[1] = instr->operand;
    return 2;
  case OP_STOP:
  case OP_RETURN:
  case OP_REPLY:
  case OP_DONE: return 0;
  default: next[0] = pc + 1; return 1;
  }
}

void world_mark_reachable(const Program *program, int32_t entry, uint8_t *reachable) {
  VEC(int32_t) todo = {0};
  vec_push(&todo, entry);
  while (todo.count > 0) {
    int32_t pc = todo.items[--todo.count];
    if (reachable[pc]) {
      continue;
    }
    reachable[pc] = 1;
    int32_t next[2];
    int32_t count = code_successors(&program->code[pc], pc, next);
    for (int32_t i = 0; i < count; i++) {
      vec_push(&todo, next[i]);
    }
  }
  vec_free(&todo);
}

/* Backward: is the name of the current attempt still used (by a message or an entry) before the next one begins? */
static void find_attempt_live(World *world) {
  const Program *program = world->program;
  world->attempt_live = calloc((size_t)program->code_count + 1, 1);
  CHECK(world->attempt_live != NULL);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t pc = program->code_count - 1; pc >= 0; pc--) {
      uint8_t op = program->code[pc].op;
      int32_t next[2];
      int32_t count = code_successors(&program->code[pc], pc, next);
      uint8_t live = op == OP_ASK || op == OP_TELL || op == OP_ENTER;
      for (int32_t i = 0; i < count && op != OP_ATTEMPT; i++) {
        live |= world->attempt_live[next[i]];
      }
      changed |= live != world->attempt_live[pc];
      world->attempt_live[pc] = live;
    }
  }
}

static void raise_bound(World *world, int32_t kind, int32_t variable, int64_t bound_us) {
  int64_t *bound = &world->stamp_bound_us[kind][variable];
  *bound = bound_us > *bound ? bound_us : *bound;
}

/* What the nevers read: bounds of stamps, and variables that outlive their client's interest in them. */
static void find_never_reads(World *world) {
  const Program *program = world->program;
  uint8_t *reachable = calloc((size_t)program->code_count + 1, 1);
  CHECK(reachable != NULL);
  for (int32_t n = 0; n < program->never_count; n++) {
    world_mark_reachable(program, program->nevers[n].entry, reachable);
  }
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    const Instr *instr = &program->code[pc];
    bool is_age = instr->op == OP_AGE_BELOW_OF;
    int32_t process = is_age ? instr->count : instr->operand;
    if (!reachable[pc] || (!is_age && instr->op != OP_LOAD_OF) || process >= program->client_count) {
      continue;
    }
    world->never_reads[process] |= UINT64_C(1) << instr->index;
    if (is_age) {
      raise_bound(world, program->client_kind[process], instr->index, program->durations_us[instr->operand]);
    }
  }
  free(reachable);
}

/* Bounds pass backwards through copies (x := y gives the bounds of x to y): a fixed point over the code of one kind. */
static void find_stamp_bounds(World *world, int32_t kind) {
  const Program *program = world->program;
  const ClientKind *client = &program->kinds[kind];
  const int64_t *bounds = world->stamp_bound_us[kind];
  uint8_t *reachable = calloc((size_t)program->code_count + 1, 1);
  CHECK(reachable != NULL);
  world_mark_reachable(program, client->entry, reachable);
  for (int32_t round = 0; round <= client->variable_count; round++) {
    for (int32_t pc = 0; pc < program->code_count; pc++) {
      const Instr *instr = &program->code[pc];
      if (!reachable[pc]) {
        continue;
      }
      if (instr->op == OP_AGE_BELOW) {
        raise_bound(world, kind, instr->index, program->durations_us[instr->operand]);
      } else if (instr->op == OP_STAMP_COPY) {
        raise_bound(world, kind, instr->operand, bounds[instr->index]);
      } else if (instr->op == OP_WAIT && instr->index >= 0) {
        const Wait *wait = &program->waits[instr->index];
        for (int32_t a = 0; a < wait->age_count; a++) {
          raise_bound(world, kind, wait->ages[a].variable, program->durations_us[wait->ages[a].duration]);
        }
      }
    }
  }
  free(reachable);
}

/* --- the layout --------------------------------------------------------------------------------------------------- */

typedef struct Uses {
  uint32_t paused, stepped, crashed, returning;         /* client bit sets */
  uint32_t servers_stepped, servers_crashed;
  bool late;
} Uses;

static Uses scenario_uses(const Program *program) {
  Uses uses = {0};
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    switch (fault->kind) {
    case FAULT_PAUSE: uses.paused |= fault->clients; break;
    case FAULT_STEP:
      uses.stepped |= fault->clients;
      uses.servers_stepped |= fault->servers;
      break;
    case FAULT_CRASH_CLIENT: uses.crashed |= fault->clients; break;
    case FAULT_CRASH_SERVER: uses.servers_crashed |= fault->servers; break;
    case FAULT_LATE: uses.late = true; break;
    default: break;
    }
  }
  return uses;
}

/* Range of the integers that a message or a reply variable may carry. */
static void integer_range(const Program *program, int32_t *lo, int32_t *hi) {
  *lo = 0;
  *hi = STATE_NAMES_MAX;
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    const Instr *instr = &program->code[pc];
    if (instr->op == OP_PUSH && instr->index == SORT_INT) {
      *lo = instr->operand < *lo ? instr->operand : *lo;
      *hi = instr->operand > *hi ? instr->operand : *hi;
    }
  }
  for (int32_t k = 0; k < program->kind_count; k++) {
    for (int32_t v = 0; v < program->kinds[k].variable_count; v++) {
      const Type *type = &program->kinds[k].variables[v].type;
      *lo = type->sort == SORT_INT && type->lo < *lo ? type->lo : *lo;
      *hi = type->sort == SORT_INT && type->hi > *hi ? type->hi : *hi;
    }
  }
  for (int32_t s = 0; s < program->service_count; s++) {
    for (int32_t v = 0; v < program->services[s].variable_count; v++) {
      const Type *type = &program->services[s].variables[v].type;
      *lo = type->sort == SORT_INT && type->lo < *lo ? type->lo : *lo;
      *hi = type->sort == SORT_INT && type->hi > *hi ? type->hi : *hi;
    }
  }
}

int32_t world_type_cells(const Type *type) { return type->sort == SORT_REPLY || type->sort == SORT_STAMP ? 2 : 1; }

static void add_variable(World *world, const Variable *variable, bool stepped) {
  Layout *layout = &world->layout;
  const Type *type = &variable->type;
  switch (type->sort) {
  case SORT_INT:
  case SORT_BOOL: layout_add(layout, FIELD_PLAIN, type->lo, (int64_t)type->hi - type->lo); break;
  case SORT_STAMP:
    layout_add(layout, FIELD_AGE, 0, STATE_AGES_MAX);
    layout_add(layout, FIELD_PLAIN, 0, type->on_wall && stepped ? UINT32_MAX : 0);
    break;
  case SORT_REPLY: {
    int32_t lo, hi;
    integer_range(world->program, &lo, &hi);
    layout_add(layout, FIELD_PLAIN, 0, SORT_COUNT);
    layout_add(layout, FIELD_TAGGED, lo, (int64_t)hi - lo);
    break;
  }
  case SORT_DURATION:
  case SORT_WORD: layout_add(layout, FIELD_PLAIN, 0, UINT16_MAX); break;
  default: layout_add(layout, field_sort_of((Cell)type->sort), 0, UINT8_MAX); break;
  }
}

static void lay_out_client(World *world, int32_t client, const Uses *uses) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  const ClientKind *kind = world_kind(world, client);
  uint32_t bit = UINT32_C(1) << client;
  bool pauses = uses->paused & bit, crashes = uses->crashed & bit, steps = uses->stepped & bit;
  int32_t first = layout_add(layout, FIELD_PLAIN, 0, PHASE_CRASHED);
  layout_add(layout, FIELD_PLAIN, 0, UINT16_MAX);
  layout_add(layout, FIELD_PLAIN, 0, pauses || crashes ? program->fault_count : 0);
  layout_add(layout, FIELD_AGE, 0, pauses ? STATE_AGES_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, pauses || steps);
  layout_add(layout, FIELD_AGE, 0, STATE_AGES_MAX);
  layout_add(layout, FIELD_PLAIN, 0, kind->enters ? program->critical_count : 0);
  layout_add(layout, FIELD_HOLDING, 0, kind->enters ? UINT8_MAX : 0);
  layout_add(layout, FIELD_TICKET, 0, world->has_fences ? STATE_NAMES_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, program->rounds);
  int32_t *offsets = layout->client_variable[program->client_kind[client]];
  for (int32_t v = 0; v < kind->variable_count; v++) {
    offsets[v] = (int32_t)layout->fixed.count - first;
    add_variable(world, &kind->variables[v], steps);
  }
  layout->client_cell[client] = first;
  layout->client_cells[client] = (int32_t)layout->fixed.count - first;
}

static void lay_out_server(World *world, int32_t server, const Uses *uses) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  const Service *service = world_service(world, server);
  uint32_t bit = UINT32_C(1) << server;
  bool steps = uses->servers_stepped & bit, crashes = uses->servers_crashed & bit;
  int32_t first = layout_add(layout, FIELD_PLAIN, 0, crashes ? program->fault_count : 0);
  layout_add(layout, FIELD_AGE, 0, crashes ? STATE_AGES_MAX : 0);
  for (int32_t v = 0; v < service->variable_count; v++) {
    layout->server_variable[world_service_index(world, server)][v] = (int32_t)layout->fixed.count - first;
    add_variable(world, &service->variables[v], steps);
  }
  for (int32_t t = 0; t < service->timer_count; t++) {
    bool shifts = steps && service->timers[t].on_wall;
    layout->server_timer[world_service_index(world, server)][t] = (int32_t)layout->fixed.count - first;
    layout_add(layout, FIELD_PLAIN, 0, program->duration_count);
    layout_add(layout, FIELD_AGE, 0, STATE_AGES_MAX);
    layout_add(layout, FIELD_PLAIN, 0, shifts ? UINT32_MAX : 0);
    layout_add(layout, FIELD_PLAIN, 0, shifts);
  }
  for (int32_t m = 0; m < world->monitor_count; m++) {
    world->ghost_cell[m][server] = NO_INDEX;
  }
  layout->server_cell[server] = first;
  layout->server_cells[server] = (int32_t)layout->fixed.count - first;
}

static void lay_out_message(World *world, const Uses *uses) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  int32_t handler_most = 0, lo, hi;
  layout->value_count = 1;
  for (int32_t s = 0; s < program->service_count; s++) {
    const Service *service = &program->services[s];
    handler_most = service->handler_count > handler_most ? service->handler_count : handler_most;
    for (int32_t h = 0; h < service->handler_count; h++) {
      const Handler *handler = &service->handlers[h];
      int32_t most = handler->param_count > handler->reply_count ? handler->param_count : handler->reply_count;
      layout->value_count = handler->entry != NO_INDEX && most > layout->value_count ? most : layout->value_count;
    }
  }
  integer_range(program, &lo, &hi);
  const Field header[MESSAGE_VALUES] = {
      [MESSAGE_CLIENT] = {FIELD_CLIENT, 1, 0},
      [MESSAGE_SERVER] = {FIELD_SERVER, 1, 0},
      [MESSAGE_KIND] = {FIELD_PLAIN, 1, 0},
      [MESSAGE_HANDLER] = {FIELD_PLAIN, handler_most > UINT8_MAX ? 2 : 1, 0},
      [MESSAGE_LATE] = {FIELD_PLAIN, uses->late, 0},
      [MESSAGE_OVERDUE] = {FIELD_PLAIN, uses->paused != 0, 0},
      [MESSAGE_AGE] = {FIELD_AGE, 1, 0},
      [MESSAGE_ATTEMPT] = {FIELD_HOLDING, 1, 0},
      [MESSAGE_FENCE] = {FIELD_TICKET, world->has_fences, 0},
      [MESSAGE_ID] = {FIELD_PLAIN, 0, 0},
      [MESSAGE_REPLY_TO] = {FIELD_PLAIN, 0, 0},
  };
  for (int32_t i = 0; i < MESSAGE_VALUES; i++) {
    vec_push(&layout->message, header[i]);
  }
  for (int32_t i = 0; i < layout->value_count; i++) {
    vec_push(&layout->message, ((Field){FIELD_PLAIN, 1, 0}));
    vec_push(&layout->message, ((Field){FIELD_TAGGED, hi - lo > UINT16_MAX ? 4 : hi - lo > UINT8_MAX ? 2 : 1, lo}));
  }
}

static int32_t *offset_table(int32_t count) {
  int32_t *table = calloc((size_t)count + 1, sizeof *table);
  CHECK(table != NULL);
  return table;
}

/* Which fields a renaming must look at. */
static void list_names(Layout *layout) {
  for (uint32_t i = 0; i < layout->fixed.count; i++) {
    if (layout->fixed.items[i].sort != FIELD_PLAIN && layout->fixed.items[i].width > 0) {
      vec_push(&layout->fixed_names, (uint16_t)i);
    }
  }
  for (uint32_t i = 0; i < layout->message.count; i++) {
    if (layout->message.items[i].sort != FIELD_PLAIN && layout->message.items[i].width > 0) {
      vec_push(&layout->message_names, (uint16_t)i);
    }
  }
}

/* How many things may be pending at once: see step_things. */
static int32_t most_things(const World *world) {
  const Program *program = world->program;
  int32_t ages = 0, count = STATE_MESSAGES_MAX;
  for (int32_t w = 0; w < program->wait_count; w++) {
    ages = program->waits[w].age_count > ages ? program->waits[w].age_count : ages;
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    count += 1 + world_service(world, s)->timer_count;
  }
  return count + program->client_count * (2 + ages);
}

static void lay_out(World *world) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  Uses uses = scenario_uses(program);
  for (int32_t k = 0; k < program->kind_count; k++) {
    layout->client_variable[k] = offset_table(program->kinds[k].variable_count);
  }
  for (int32_t s = 0; s < program->service_count; s++) {
    layout->server_variable[s] = offset_table(program->services[s].variable_count);
    layout->server_timer[s] = offset_table(program->services[s].timer_count);
  }
  layout->budget_cell = 0;
  for (int32_t f = 0; f < program->fault_count; f++) {
    layout_add(layout, FIELD_PLAIN, 0, program->faults[f].count == COUNT_INFINITE ? 0 : program->faults[f].count);
  }
  for (int32_t c = 0; c < program->client_count; c++) {
    lay_out_client(world, c, &uses);
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    lay_out_server(world, s, &uses);
  }
  lay_out_message(world, &uses);
  for (int32_t m = 0; m < world->monitor_count; m++) {
    if (world->monitors[m]->declare != NULL) {
      world->monitors[m]->declare(world, m);
    }
  }
  list_names(layout);
  world->too_large = layout->fixed.count + STATE_MESSAGES_MAX * layout->message.count > STATE_CELLS_MAX ||
                     layout->message.count > MESSAGE_CELLS_MAX || most_things(world) > THINGS_MAX;
}

int32_t world_ghost(World *world, int32_t monitor, int32_t server, FieldSort sort, int64_t most) {
  int32_t cell = layout_add(&world->layout, sort, 0, most);
  if (sort == FIELD_HOLDING && world->monitors[monitor]->compares_entries) {
    vec_push(&world->entry_ghosts, cell);
  }
  if (world->ghost_cell[monitor][server] == NO_INDEX) {
    world->ghost_cell[monitor][server] = cell;
  }
  return cell;
}

World *world_new(const Program *program, const Monitor *const *monitors, int32_t monitor_count) {
  CHECK(monitor_count <= WORLD_MONITORS_MAX && program->code_count <= UINT16_MAX);
  World *world = calloc(1, sizeof *world);
  CHECK(world != NULL);
  world->program = program;
  world->monitor_count = monitor_count;
  world->all_fences = program->critical_count > 0;
  for (int32_t m = 0; m < monitor_count; m++) {
    world->monitors[m] = monitors[m];
  }
  for (int32_t c = 0; c < program->critical_count; c++) {
    world->has_fences |= program->criticals[c].has_fence;
    world->all_fences &= program->criticals[c].has_fence;
  }
  find_attempt_live(world);
  for (int32_t k = 0; k < program->kind_count; k++) {
    int32_t count = program->kinds[k].variable_count;
    world->stamp_bound_us[k] = malloc(sizeof(int64_t) * (size_t)(count + 1));
    CHECK(world->stamp_bound_us[k] != NULL);
    for (int32_t v = 0; v < count; v++) {
      world->stamp_bound_us[k][v] = -1;
    }
  }
  find_never_reads(world);
  for (int32_t k = 0; k < program->kind_count; k++) {
    find_stamp_bounds(world, k);
  }
  dead_prepare(world);
  lay_out(world);
  world->seen = calloc(1, sizeof *world->seen);
  CHECK(world->seen != NULL);
  world->seen->covered = calloc((size_t)program->code_count + 1, 1);
  CHECK(world->seen->covered != NULL);
  return world;
}

void world_free(World *world) {
  if (world == NULL) {
    return;
  }
  layout_free(&world->layout, world->program);
  for (int32_t k = 0; k < world->program->kind_count; k++) {
    free(world->stamp_bound_us[k]);
  }
  for (int32_t s = 0; s < world->program->service_count; s++) {
    free(world->harmless[s]);
    free(world->touches_resource[s]);
  }
  vec_free(&world->entry_ghosts);
  free(world->attempt_live);
  free(world->seen->covered);
  free(world->seen);
  free(world);
}

/* --- values and initial states ------------------------------------------------------------------------------------ */

Value world_read(const Type *type, const Cell *cells) {
  switch (type->sort) {
  case SORT_REPLY: return (Value){cells[0], cells[1]};
  case SORT_INT:
  case SORT_BOOL:
  case SORT_WORD:
  case SORT_DURATION: return (Value){(Cell)type->sort, cells[0]};
  default: return cells[0] == 0 ? (Value){SORT_NONE, 0} : (Value){(Cell)type->sort, cells[0]};
  }
}

bool world_write(const Type *type, Cell *cells, Value value) {
  if (type->sort == SORT_REPLY) {
    cells[0] = value.sort;
    cells[1] = value.number;
    return true;
  }
  if (value.sort == SORT_NONE && type->sort != SORT_INT && type->sort != SORT_BOOL) {
    cells[0] = 0;
    return true;
  }
  if (value.sort != (Cell)type->sort) {
    return false;
  }
  if ((type->sort == SORT_INT || type->sort == SORT_BOOL) && (value.number < type->lo || value.number > type->hi)) {
    return false;
  }
  cells[0] = value.number;
  return true;
}

static void reset_variable(const Variable *variable, Cell *cells) {
  if (variable->type.sort == SORT_STAMP) {
    cells[0] = cells[1] = 0;
    return;
  }
  Cell number = variable->initial;
  if (variable->initial_sort == SORT_CLIENT || variable->initial_sort == SORT_SERVER) {
    number++; /* names count from 1 in cells */
  }
  bool fits = world_write(&variable->type, cells, (Value){(Cell)variable->initial_sort, number});
  if (!fits) {
    cells[0] = variable->type.lo; /* an integer without an initial value: the compiler has said what it must be */
  }
}

void world_reset_client(const World *world, State *state, int32_t client) {
  const ClientKind *kind = world_kind(world, client);
  for (int32_t v = 0; v < kind->variable_count; v++) {
    reset_variable(&kind->variables[v], world_client_variable(world, state, client, v));
  }
}

void world_reset_server(const World *world, State *state, int32_t server) {
  const Service *service = world_service(world, server);
  for (int32_t v = 0; v < service->variable_count; v++) {
    reset_variable(&service->variables[v], world_server_variable(world, state, server, v));
  }
  for (int32_t t = 0; t < service->timer_count; t++) {
    memset(world_timer(world, state, server, t), 0, TIMER_CELLS * sizeof(Cell));
  }
}

void world_initial(const World *world, State *state) {
  const Program *program = world->program;
  memset(state->cells, 0, world->layout.fixed.count * sizeof(Cell));
  state->message_count = 0;
  state->age_count = 0;
  for (int32_t f = 0; f < program->fault_count; f++) {
    int32_t count = program->faults[f].count;
    state->cells[world->layout.budget_cell + f] = count == COUNT_INFINITE ? 0 : count;
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    world_reset_server(world, state, s);
  }
  for (int32_t c = 0; c < program->client_count; c++) {
    world_reset_client(world, state, c);
    if (program->client_starts_given) {
      state_client(&world->layout, state, c)[CLIENT_AGE] = 1;
      state->age_count = 1;
    }
  }
}

int32_t world_budget(const World *world, const State *state, int32_t fault) {
  int32_t count = world->program->faults[fault].count;
  return count == COUNT_INFINITE ? count : state->cells[world->layout.budget_cell + fault];
}

static bool client_carries(const World *world, const State *state, Cell attempt) {
  for (int32_t c = 0; c < world->program->client_count; c++) {
    if (state->cells[world->layout.client_cell[c] + CLIENT_ATTEMPT] == attempt) {
      return true;
    }
  }
  return false;
}

bool world_attempt_lives(const World *world, const State *state, Cell attempt) {
  const Cell *record = state->cells + world->layout.fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += world->layout.message.count) {
    if (record[MESSAGE_ATTEMPT] == attempt) {
      return true;
    }
  }
  return client_carries(world, state, attempt);
}

bool world_attempt_may_write(const World *world, const State *state, Cell attempt) {
  const Cell *record = state->cells + world->layout.fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += world->layout.message.count) {
    int32_t service = world_service_index(world, record[MESSAGE_SERVER] - 1);
    if (record[MESSAGE_ATTEMPT] == attempt && world->touches_resource[service][record[MESSAGE_HANDLER]]) {
      return true;
    }
  }
  return client_carries(world, state, attempt);
}
