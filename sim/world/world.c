#include "world/world.h"

#include <glib.h>
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
  case OP_END:
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
      uint8_t live = op == OP_ASK || op == OP_ASK_ALL || op == OP_TELL || op == OP_ENTER;
      for (int32_t i = 0; i < count && op != OP_ATTEMPT; i++) {
        live |= world->attempt_live[next[i]];
      }
      changed |= live != world->attempt_live[pc];
      world->attempt_live[pc] = live;
    }
  }
  for (int32_t k = 0; k < program->kind_count; k++) { /* other tasks may send on its behalf at any time */
    const ClientKind *kind = &program->kinds[k];
    for (int32_t pc = kind->entry; pc < kind->code_end && kind->task_count > 1; pc++) {
      world->attempt_live[pc] = 1;
    }
  }
}

static void raise_to(int64_t *bound, int64_t bound_us) {
  *bound = bound_us > *bound ? bound_us : *bound;
}

static int64_t *bounds_of_process(World *world, int32_t process) {
  const Program *program = world->program;
  return process < program->client_count
             ? world->stamp_bound_us[program->client_kind[process]]
             : world->server_stamp_bound_us[world_service_index(world, process - program->client_count)];
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
    if (!reachable[pc] || (!is_age && instr->op != OP_LOAD_OF)) {
      continue;
    }
    if (process < program->client_count) {
      world->never_reads[process] |= UINT64_C(1) << instr->index;
    }
    if (is_age && process < program->client_count + program->server_count) {
      raise_to(&bounds_of_process(world, process)[instr->index], program->durations_us[instr->operand]);
    }
  }
  free(reachable);
}

/* Bounds pass backwards through copies (x := y gives the bounds of x to y): a fixed point over code of one process. */
static void find_stamp_bounds(World *world, const uint8_t *reachable, int32_t variable_count, int64_t *bounds) {
  const Program *program = world->program;
  for (int32_t round = 0; round <= variable_count; round++) {
    for (int32_t pc = 0; pc < program->code_count; pc++) {
      const Instr *instr = &program->code[pc];
      if (!reachable[pc]) {
        continue;
      }
      if (instr->op == OP_AGE_BELOW) {
        raise_to(&bounds[instr->index], program->durations_us[instr->operand]);
      } else if (instr->op == OP_STAMP_COPY) {
        raise_to(&bounds[instr->operand], bounds[instr->index]);
      } else if (instr->op == OP_WAIT && instr->index >= 0) {
        const Wait *wait = &program->waits[instr->index];
        for (int32_t a = 0; a < wait->age_count; a++) {
          raise_to(&bounds[wait->ages[a].variable], program->durations_us[wait->ages[a].duration]);
        }
      }
    }
  }
}

static void mark_service(const Program *program, const Service *service, uint8_t *reachable) {
  for (int32_t h = 0; h < service->handler_count; h++) {
    if (service->handlers[h].entry != NO_INDEX) {
      world_mark_reachable(program, service->handlers[h].entry, reachable);
    }
  }
  for (int32_t t = 0; t < service->timer_count; t++) {
    if (service->timers[t].entry != NO_INDEX) {
      world_mark_reachable(program, service->timers[t].entry, reachable);
    }
  }
  if (service->lost_entry != NO_INDEX) {
    world_mark_reachable(program, service->lost_entry, reachable);
  }
}

static void mark_kind(const Program *program, const ClientKind *kind, uint8_t *reachable) {
  for (int32_t t = 0; t < kind->task_count; t++) {
    world_mark_reachable(program, kind->tasks[t].entry, reachable);
  }
  for (int32_t n = 0; n < program->notice_count; n++) {
    if (kind->notice_entries[n] != NO_INDEX) {
      world_mark_reachable(program, kind->notice_entries[n], reachable);
    }
  }
}

/* Where stamps are values, what is written into one variable may come from any other: one bound for all. */
static bool moves_stamps(const Program *program, const uint8_t *reachable, const Variable *variables, int32_t count) {
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    const Instr *instr = &program->code[pc];
    if (reachable[pc] && (instr->op == OP_LOAD || instr->op == OP_STORE) && instr->index < count &&
        variables[instr->index].type.sort == SORT_STAMP) {
      return true;
    }
  }
  return false;
}

static void share_stamp_bounds(World *world) {
  const Program *program = world->program;
  int64_t *most = &world->all_stamps_bound_us;
  *most = -1;
  for (int32_t g = 0; g < program->ghost_count; g++) {
    world->stamps_travel |= program->ghosts[g].type.sort == SORT_STAMP;
  }
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    Opcode op = (Opcode)program->code[pc].op;
    world->stamps_travel |= op == OP_NOW || op == OP_NOW_WALL || op == OP_AGE_BELOW_VALUE;
    if (op == OP_AGE_BELOW_VALUE || op == OP_AGE_BELOW || op == OP_AGE_BELOW_OF) {
      raise_to(most, program->durations_us[program->code[pc].operand]);
    }
  }
  for (int32_t w = 0; w < program->wait_count; w++) {
    for (int32_t a = 0; a < program->waits[w].age_count; a++) {
      raise_to(most, program->durations_us[program->waits[w].ages[a].duration]);
    }
  }
  for (int32_t k = 0; k < program->kind_count && world->stamps_travel; k++) {
    for (int32_t v = 0; v < program->kinds[k].variable_count; v++) {
      world->stamp_bound_us[k][v] = *most;
    }
  }
  for (int32_t s = 0; s < program->service_count && world->stamps_travel; s++) {
    for (int32_t v = 0; v < program->services[s].variable_count; v++) {
      world->server_stamp_bound_us[s][v] = *most;
    }
  }
}

static int64_t *no_bounds(int32_t count) {
  int64_t *bounds = malloc(sizeof(int64_t) * (size_t)(count + 1));
  CHECK(bounds != NULL);
  for (int32_t v = 0; v < count; v++) {
    bounds[v] = -1;
  }
  return bounds;
}

static void find_bounds(World *world) {
  const Program *program = world->program;
  for (int32_t k = 0; k < program->kind_count; k++) {
    world->stamp_bound_us[k] = no_bounds(program->kinds[k].variable_count);
  }
  for (int32_t s = 0; s < program->service_count; s++) {
    world->server_stamp_bound_us[s] = no_bounds(program->services[s].variable_count);
  }
  find_never_reads(world);
  for (int32_t k = 0; k < program->kind_count + program->service_count; k++) {
    uint8_t *reachable = calloc((size_t)program->code_count + 1, 1);
    CHECK(reachable != NULL);
    if (k < program->kind_count) {
      mark_kind(program, &program->kinds[k], reachable);
      find_stamp_bounds(world, reachable, program->kinds[k].variable_count, world->stamp_bound_us[k]);
      world->stamps_travel |=
          moves_stamps(program, reachable, program->kinds[k].variables, program->kinds[k].variable_count);
    } else {
      int32_t s = k - program->kind_count;
      mark_service(program, &program->services[s], reachable);
      find_stamp_bounds(world, reachable, program->services[s].variable_count, world->server_stamp_bound_us[s]);
      world->stamps_travel |=
          moves_stamps(program, reachable, program->services[s].variables, program->services[s].variable_count);
    }
    free(reachable);
  }
  share_stamp_bounds(world);
}

static bool calls_next(const Program *program, const uint8_t *reachable) {
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    if (reachable[pc] && program->code[pc].op == OP_NEXT) {
      return true;
    }
  }
  return false;
}

/* Where a counter can only be the largest ticket there is, distances mean nothing. It need not be when it begins anew
 * after a crash, or when there are several. */
static void find_ticket_gap(World *world) {
  const Program *program = world->program;
  int32_t counters = 0;
  bool begins_anew = false;
  for (int32_t k = 0; k < program->kind_count + program->service_count; k++) {
    uint8_t *reachable = calloc((size_t)program->code_count + 1, 1);
    CHECK(reachable != NULL);
    int32_t s = k - program->kind_count;
    if (s < 0) {
      mark_kind(program, &program->kinds[k], reachable);
    } else {
      mark_service(program, &program->services[s], reachable);
    }
    for (int32_t g = 0; calls_next(program, reachable) && g < program->group_count; g++) {
      counters += s < 0 ? 2 : program->groups[g].service == s ? program->groups[g].count : 0;
    }
    free(reachable);
  }
  for (int32_t f = 0; f < program->fault_count; f++) {
    begins_anew |= program->faults[f].kind == FAULT_CRASH_SERVER && program->faults[f].memory != MEMORY_KEPT;
  }
  world->ticket_gap = counters > 1 || (counters > 0 && begins_anew) ? TICKET_GAP_MAX : 1;
}

static void find_talk(World *world) {
  const Program *program = world->program;
  uint8_t *reachable = calloc((size_t)program->code_count + 1, 1);
  CHECK(reachable != NULL);
  for (int32_t s = 0; s < program->service_count; s++) {
    mark_service(program, &program->services[s], reachable);
  }
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    world->servers_talk |= reachable[pc] && program->code[pc].op == OP_TELL;
  }
  free(reachable);
}

/* --- the layout -------------------------------------------------------------------------------------------------- */

/* What the scenario's faults can do to whom: bit sets of clients and of servers. */
typedef struct Uses {
  uint32_t paused, suspended, stepped, crashed, cut; /* clients */
  uint32_t paused_tasks;                             /* clients */
  uint32_t servers_paused, servers_stepped, servers_crashed, servers_durable;
  bool alone; /* some messages travel alone */
} Uses;

static Uses scenario_uses(const Program *program) {
  Uses uses = {0};
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    switch (fault->kind) {
    case FAULT_SUSPEND: uses.suspended |= fault->clients; /* and is a pause */ /* fall through */
    case FAULT_PAUSE:
      *(fault->task == NO_INDEX ? &uses.paused : &uses.paused_tasks) |= fault->clients;
      uses.servers_paused |= fault->servers;
      break;
    case FAULT_STEP:
    case FAULT_SKEW:
      uses.stepped |= fault->clients;
      uses.servers_stepped |= fault->servers;
      break;
    case FAULT_CRASH_CLIENT: uses.crashed |= fault->clients; break;
    case FAULT_DOWN: uses.servers_crashed |= fault->servers; break;
    case FAULT_CRASH_SERVER:
      uses.servers_crashed |= fault->servers;
      uses.servers_durable |= fault->memory == MEMORY_DURABLE ? fault->servers : 0;
      break;
    case FAULT_CUT: uses.cut |= fault->clients; break;
    case FAULT_LATE:
    case FAULT_DUPLICATED: uses.alone = true; break;
    default: break;
    }
  }
  return uses;
}

static bool is_cut_from(const Program *program, int32_t client, int32_t server) {
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    if (fault->kind == FAULT_CUT && fault->clients >> client & 1 && fault->servers >> server & 1) {
      return true;
    }
  }
  return false;
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
    *hi = instr->op == OP_CHOOSE && instr->index > *hi ? instr->index : *hi;
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

/* As wide as the fields for them are. */
static void find_room(World *world) {
  integer_range(world->program, &world->integer_lo, &world->integer_hi);
  int64_t span = (int64_t)world->integer_hi - world->integer_lo;
  int64_t most = world->integer_lo + (int64_t)(span > UINT16_MAX  ? UINT32_MAX
                                               : span > UINT8_MAX ? UINT16_MAX
                                                                  : UINT8_MAX);
  world->integer_hi = most > INT32_MAX ? INT32_MAX : (int32_t)most;
}

int32_t world_type_cells(const Type *type) {
  return type->sort == SORT_STAMP ? STAMP_CELLS : type->sort == SORT_REPLY ? 2 : 1;
}

int32_t world_variable_cells(const Variable *variable) {
  return world_type_cells(&variable->type) * variable->extent.count;
}

/* Elements change places when clients (servers) do. */
static void note_array(World *world, const Extent *extent, int32_t cell, int32_t element_cells) {
  if (extent->is_array && extent->sort != SORT_INT) {
    LayoutArray array = {cell, element_cells, extent->sort == SORT_CLIENT, extent->first, extent->count, NO_INDEX};
    vec_push(&world->layout.arrays, array);
  }
}

static void add_element(World *world, const Type *type, bool stepped, bool suspended) {
  Layout *layout = &world->layout;
  switch (type->sort) {
  case SORT_INT:
  case SORT_BOOL: /* none is below the lowest */
    layout_add(layout, FIELD_PLAIN, type->lo - type->optional, (int64_t)type->hi - type->lo + type->optional);
    break;
  case SORT_STAMP:
    layout_add(layout, FIELD_AGE, 0, STATE_AGES_MAX);
    layout_add(layout, FIELD_PLAIN, 0, type->on_wall && (stepped || world->stamps_travel) ? UINT32_MAX : 0);
    layout_add(layout, FIELD_PLAIN, 0, !type->on_wall && suspended ? UINT32_MAX : 0);
    layout_add(layout, FIELD_PLAIN, 0, !type->on_wall && suspended ? UINT32_MAX : 0);
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

/* Returns its first cell. */
static int32_t add_variable(World *world, const Variable *variable, bool stepped, bool suspended) {
  int32_t first = (int32_t)world->layout.fixed.count;
  note_array(world, &variable->extent, first, world_type_cells(&variable->type));
  for (int32_t e = 0; e < variable->extent.count; e++) {
    add_element(world, &variable->type, stepped, suspended);
  }
  return first;
}

static void lay_out_task(World *world, int32_t client, int32_t task, const Uses *uses) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  const ClientKind *kind = world_kind(world, client);
  uint32_t bit = UINT32_C(1) << client;
  bool enters = kind->tasks[task].enters, pauses = uses->paused_tasks & bit, stands = uses->suspended & bit;
  bool wakes = kind->task_count > 1 || program->notice_count > 0; /* another part of the client may end its wait */
  bool overdue = ((uses->paused | uses->stepped | uses->paused_tasks) & bit) || wakes;
  bool has_resource = false;
  int32_t lo, hi;
  integer_range(program, &lo, &hi);
  for (int32_t c = 0; c < program->critical_count; c++) {
    has_resource |= enters && program->criticals[c].has_resource;
  }
  layout_add(layout, FIELD_PLAIN, 0, kind->task_count > 1 ? TASK_ENDED : 0);
  layout_add(layout, FIELD_PLAIN, 0, UINT16_MAX);
  layout_add(layout, FIELD_AGE, 0, STATE_AGES_MAX);
  layout_add(layout, FIELD_PLAIN, 0, stands ? UINT32_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, stands ? UINT32_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, overdue);
  layout_add(layout, FIELD_PLAIN, 0, pauses ? program->fault_count : 0);
  layout_add(layout, FIELD_AGE, 0, pauses ? STATE_AGES_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, enters ? program->critical_count : 0);
  layout_add(layout, FIELD_PLAIN, 0, has_resource ? SORT_COUNT : 0);
  layout_add(layout, FIELD_TAGGED, has_resource ? lo : 0, has_resource ? (int64_t)hi - lo : 0);
  layout_add(layout, FIELD_HOLDING, 0, enters ? UINT8_MAX : 0);
  layout_add(layout, FIELD_TICKET, 0, enters && world->has_fences ? STATE_NAMES_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, program->parallel_count > 0 ? PROGRAM_SERVERS_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, program->parallel_count > 0 ? PROGRAM_SERVERS_MAX : 0);
}

static void lay_out_client(World *world, int32_t client, const Uses *uses) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  const ClientKind *kind = world_kind(world, client);
  uint32_t bit = UINT32_C(1) << client;
  bool stops = (uses->paused | uses->crashed) & bit, steps = uses->stepped & bit, stands = uses->suspended & bit;
  int32_t first = layout_add(layout, FIELD_PLAIN, 0, PHASE_CRASHED);
  layout_add(layout, FIELD_PLAIN, 0, stops ? program->fault_count : 0);
  layout_add(layout, FIELD_AGE, 0, stops || program->client_starts_given ? STATE_AGES_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, program->rounds);
  layout_add(layout, FIELD_PLAIN, 0, steps && world->stamps_travel ? UINT32_MAX : 0);
  for (int32_t t = 0; t < kind->task_count; t++) {
    lay_out_task(world, client, t, uses);
  }
  int32_t *offsets = layout->client_variable[program->client_kind[client]];
  for (int32_t v = 0; v < kind->variable_count; v++) {
    offsets[v] = add_variable(world, &kind->variables[v], steps, stands) - first;
  }
  layout->client_cut[client] = uses->cut & bit ? (int32_t)layout->fixed.count - first : NO_INDEX;
  for (int32_t s = 0; s < program->server_count && (uses->cut & bit); s++) {
    bool is_cut = is_cut_from(program, client, s);
    layout_add(layout, FIELD_PLAIN, 0, is_cut ? program->fault_count : 0);
    layout_add(layout, FIELD_AGE, 0, is_cut ? STATE_AGES_MAX : 0);
  }
  for (int32_t g = 0; g < program->group_count && (uses->cut & bit); g++) { /* change places as the servers do */
    const ServerGroup *group = &program->groups[g];
    int32_t cell = first + layout->client_cut[client] + group->first * CUT_CELLS;
    vec_push(&layout->arrays, ((LayoutArray){cell, CUT_CELLS, false, group->first, group->count, NO_INDEX}));
  }
  layout->client_cell[client] = first;
  layout->client_cells[client] = (int32_t)layout->fixed.count - first;
}

/* The variables and timers of a server, or their durable copy. Returns the first cell. */
static int32_t lay_out_memory(World *world, int32_t server, bool steps, bool overdue) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  const Service *service = world_service(world, server);
  int32_t first = (int32_t)layout->fixed.count;
  for (int32_t v = 0; v < service->variable_count; v++) {
    add_variable(world, &service->variables[v], steps, false);
  }
  for (int32_t t = 0; t < service->timer_count; t++) {
    bool shifts = steps && service->timers[t].on_wall;
    note_array(world, &service->timers[t].extent, (int32_t)layout->fixed.count, TIMER_CELLS);
    for (int32_t e = 0; e < service->timers[t].extent.count; e++) {
      layout_add(layout, FIELD_PLAIN, 0, program->duration_count);
      layout_add(layout, FIELD_AGE, 0, STATE_AGES_MAX);
      layout_add(layout, FIELD_PLAIN, 0, shifts ? UINT32_MAX : 0);
      layout_add(layout, FIELD_PLAIN, 0, shifts || overdue);
    }
  }
  return first;
}

static void lay_out_server(World *world, int32_t server, const Uses *uses) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  const Service *service = world_service(world, server);
  int32_t index = world_service_index(world, server);
  uint32_t bit = UINT32_C(1) << server;
  bool steps = uses->servers_stepped & bit, durable = uses->servers_durable & bit;
  bool stops = (uses->servers_crashed | uses->servers_paused) & bit;
  int32_t first = layout_add(layout, FIELD_PLAIN, 0, stops ? program->fault_count : 0);
  layout_add(layout, FIELD_AGE, 0, stops ? STATE_AGES_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, steps && world->stamps_travel ? UINT32_MAX : 0);
  layout_add(layout, FIELD_PLAIN, 0, durable);
  layout_add(layout, FIELD_AGE, 0, durable ? STATE_AGES_MAX : 0);
  int32_t memory = lay_out_memory(world, server, steps, stops) - first;
  for (int32_t v = 0; v < service->variable_count; v++) {
    layout->server_variable[index][v] = memory;
    memory += world_variable_cells(&service->variables[v]);
  }
  for (int32_t t = 0; t < service->timer_count; t++) {
    layout->server_timer[index][t] = memory;
    memory += TIMER_CELLS * service->timers[t].extent.count;
  }
  layout->server_copy[server] = durable ? lay_out_memory(world, server, steps, stops) - first : NO_INDEX;
  for (int32_t m = 0; m < world->monitor_count; m++) {
    world->ghost_cell[m][server] = NO_INDEX;
  }
  layout->server_cell[server] = first;
  layout->server_cells[server] = (int32_t)layout->fixed.count - first;
}

static int32_t most_of(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* The most values, and the highest number of a handler or notice. */
static void measure_messages(World *world, int32_t *handler_most, bool *waits) {
  const Program *program = world->program;
  int32_t *values = &world->layout.value_count;
  *values = 1;
  *handler_most = program->notice_count;
  for (int32_t s = 0; s < program->service_count; s++) {
    const Service *service = &program->services[s];
    *handler_most = most_of(*handler_most, service->handler_count);
    for (int32_t h = 0; h < service->handler_count; h++) {
      const Handler *handler = &service->handlers[h];
      if (handler->entry != NO_INDEX) {
        *values = most_of(*values, most_of(handler->param_count, handler->reply_count));
        *waits |= handler->guard != NO_INDEX;
      }
    }
  }
  for (int32_t n = 0; n < program->notice_count; n++) {
    *values = most_of(*values, program->notices[n].param_count);
  }
}

static void lay_out_message(World *world, const Uses *uses) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  int32_t handler_most, lo, hi;
  bool tasks = false, waits = false;
  bool overdue = uses->paused || uses->paused_tasks || uses->servers_paused || uses->servers_crashed || uses->cut != 0;
  bool offsets = world->stamps_travel && (uses->stepped || uses->servers_stepped);
  measure_messages(world, &handler_most, &waits);
  for (int32_t k = 0; k < program->kind_count; k++) {
    tasks |= program->kinds[k].task_count > 1;
  }
  integer_range(program, &lo, &hi);
  const Field header[MESSAGE_VALUES] = {
      [MESSAGE_CLIENT] = {FIELD_CLIENT, 1, 0},
      [MESSAGE_SERVER] = {FIELD_SERVER, 1, 0},
      [MESSAGE_PEER] = {FIELD_SERVER, world->servers_talk, 0},
      [MESSAGE_KIND] = {FIELD_PLAIN, 1, 0},
      [MESSAGE_HANDLER] = {FIELD_PLAIN, handler_most > UINT8_MAX ? 2 : 1, 0},
      [MESSAGE_TASK] = {FIELD_PLAIN, tasks, 0},
      [MESSAGE_LATE] = {FIELD_PLAIN, uses->alone, 0},
      [MESSAGE_WAITING] = {FIELD_PLAIN, waits, 0},
      [MESSAGE_OVERDUE] = {FIELD_PLAIN, overdue, 0},
      [MESSAGE_CUT] = {FIELD_PLAIN, uses->cut != 0, 0},
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
    vec_push(&layout->message, ((Field){FIELD_PLAIN, offsets ? 4 : 0, 0}));
  }
}

static int32_t *offset_table(int32_t count) {
  int32_t *table = calloc((size_t)count + 1, sizeof *table);
  CHECK(table != NULL);
  return table;
}

static bool is_in_bag(const Layout *layout, int32_t cell) {
  for (uint32_t b = 0; b < layout->bags.count; b++) {
    const LayoutBag *bag = &layout->bags.items[b];
    if (cell >= bag->cell && cell < bag->cell + bag->element_cells * bag->count) {
      return true;
    }
  }
  return false;
}

/* Which fields a renaming must look at. */
static void list_names(Layout *layout) {
  for (uint32_t i = 0; i < layout->fixed.count; i++) {
    if (layout->fixed.items[i].sort != FIELD_PLAIN && layout->fixed.items[i].width > 0) {
      vec_push(&layout->fixed_names, (uint16_t)i);
      if (!is_in_bag(layout, (int32_t)i)) {
        vec_push(&layout->ordered_names, (uint16_t)i);
      }
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
    ages = most_of(program->waits[w].age_count, ages);
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    count += 2 + world_timer_slots(world_service(world, s));
  }
  for (int32_t c = 0; c < program->client_count; c++) {
    count += 1 + world_kind(world, c)->task_count * (2 + ages);
    count += world->layout.client_cut[c] == NO_INDEX ? 0 : program->server_count;
  }
  return count;
}

static int32_t bit_count(uint32_t bits) {
  return __builtin_popcount(bits);
}

/* How much the adversary may do at once: see step_faults. */
static int32_t most_faults(const Program *program) {
  int32_t count = 0;
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    count += fault->kind == FAULT_CUT ? bit_count(fault->clients) * bit_count(fault->servers)
                                      : bit_count(fault->clients) + bit_count(fault->servers);
  }
  return count;
}

static void lay_out_ghosts(World *world, const Uses *uses) {
  const Program *program = world->program;
  bool steps = uses->stepped || uses->servers_stepped;
  world->layout.ghost_variable = offset_table(program->ghost_count);
  for (int32_t g = 0; g < program->ghost_count; g++) {
    world->layout.ghost_variable[g] = add_variable(world, &program->ghosts[g], steps, false);
  }
  world->layout.obtainable_cell = (int32_t)world->layout.fixed.count;
  for (int32_t o = 0; o < program->obtainable_count; o++) {
    layout_add(&world->layout, FIELD_AGE, 0, STATE_AGES_MAX);
  }
}

/* The ghosts of a monitor lie side by side for the servers of a group. */
static void note_monitor_ghosts(World *world) {
  const Program *program = world->program;
  for (int32_t m = 0; m < world->monitor_count; m++) {
    for (int32_t g = 0; g < program->group_count; g++) {
      int32_t first = program->groups[g].first, count = program->groups[g].count;
      const int32_t *cells = &world->ghost_cell[m][first];
      if (count > 1 && cells[0] != NO_INDEX && cells[1] != NO_INDEX) {
        vec_push(&world->layout.arrays, ((LayoutArray){cells[0], cells[1] - cells[0], false, first, count, NO_INDEX}));
      }
    }
  }
}

static int32_t process_of_cell(const World *world, int32_t cell) {
  const Program *program = world->program;
  const Layout *layout = &world->layout;
  for (int32_t p = 0; p < program->client_count + program->server_count; p++) {
    int32_t s = p - program->client_count;
    int32_t first = s < 0 ? layout->client_cell[p] : layout->server_cell[s];
    if (cell >= first && cell < first + (s < 0 ? layout->client_cells[p] : layout->server_cells[s])) {
      return p;
    }
  }
  return NO_INDEX;
}

/* From the last on, so that arrays over clients within those over servers come out. */
static void place_arrays(World *world) {
  Layout *layout = &world->layout;
  layout->cell_array = calloc(layout->fixed.count + 1, sizeof *layout->cell_array);
  layout->cell_home = calloc(layout->fixed.count + 1, sizeof *layout->cell_home);
  CHECK(layout->cell_array != NULL && layout->cell_home != NULL);
  for (uint32_t i = 0; i < layout->fixed.count; i++) {
    layout->cell_home[i] = (uint16_t)i;
  }
  for (uint32_t i = layout->arrays.count; i > 0; i--) {
    LayoutArray *array = &layout->arrays.items[i - 1];
    int32_t home = layout->cell_home[array->cell]; /* of the array in the first element of the one around it */
    array->process = process_of_cell(world, array->cell);
    for (int32_t at = 0; at < array->count * array->element_cells; at++) {
      layout->cell_array[array->cell + at] = (uint16_t)i;
      layout->cell_home[array->cell + at] = (uint16_t)(home + at % array->element_cells);
    }
  }
}

static void lay_out(World *world) {
  const Program *program = world->program;
  Layout *layout = &world->layout;
  Uses uses = scenario_uses(program);
  find_room(world);
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
  lay_out_ghosts(world, &uses);
  lay_out_message(world, &uses);
  for (int32_t m = 0; m < world->monitor_count; m++) {
    if (world->monitors[m]->declare != NULL) {
      world->monitors[m]->declare(world, m);
    }
  }
  note_monitor_ghosts(world);
  place_arrays(world);
  list_names(layout);
  world->too_large = layout->fixed.count + STATE_MESSAGES_MAX * layout->message.count > STATE_CELLS_MAX ||
                     layout->message.count > MESSAGE_CELLS_MAX || most_things(world) > THINGS_MAX ||
                     most_faults(program) > FAULT_ACTIONS_MAX || world_property_count(world) > WORLD_PROPERTIES_MAX;
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

/* --- clocks ------------------------------------------------------------------------------------------------------ */

enum { MILLION = 1000000 };

static void find_drift(World *world) {
  const Program *program = world->program;
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    for (int32_t p = 0; p < program->client_count + program->server_count && fault->kind == FAULT_DRIFT; p++) {
      bool its =
          p < program->client_count ? fault->clients >> p & 1 : fault->servers >> (p - program->client_count) & 1;
      world->drift_ppm[p] = its ? most_of(world->drift_ppm[p], fault->drift_ppm) : world->drift_ppm[p];
    }
  }
}

bool world_has_loose_clocks(const Program *program) {
  for (int32_t f = 0; f < program->fault_count; f++) {
    const Fault *fault = &program->faults[f];
    if (fault->kind == FAULT_DRIFT || (fault->kind == FAULT_SUSPEND && fault->lo_us != fault->hi_us)) {
      return true;
    }
  }
  return false;
}

__extension__ typedef __int128 Wide;

/* us / (rate / 1000000): rounded up, to the nearest, or down; fits, since durations are far below 2^63 / 10^6 µs. */
static int64_t at_rate(int64_t us, int64_t rate, int64_t round_up) {
  Wide scaled = (Wide)us * MILLION;
  return (int64_t)((scaled + round_up) / rate);
}

Reading world_reading(const World *world, int32_t process, int64_t us, Cell behind_lo, Cell behind_hi) {
  int32_t ppm = world->drift_ppm[process];
  if (us == DURATION_INFINITE) {
    return (Reading){us, us};
  }
  Reading reading = {us, us};
  if (ppm > 0 && us > 0) {
    int64_t slow = MILLION - ppm, fast = MILLION + ppm;
    switch (world->clocks.rate[process]) {
    case RATE_ANY: reading = (Reading){at_rate(us, fast, 0), at_rate(us, slow, slow - 1)}; break;
    case RATE_SLOW: reading.lo_us = reading.hi_us = at_rate(us, slow, slow / 2); break;
    case RATE_FAST: reading.lo_us = reading.hi_us = at_rate(us, fast, fast / 2); break;
    case RATE_EXACT: break;
    }
  }
  reading.lo_us += behind_lo;
  reading.hi_us = behind_hi == BEHIND_FOREVER ? DURATION_INFINITE : reading.hi_us + behind_hi;
  return reading;
}

int32_t world_standing_faults(const World *world) {
  int32_t count = world->is_unordered;
  for (int32_t p = 0; p < world->program->client_count + world->program->server_count; p++) {
    count += world->drift_ppm[p] > 0 && (world->clocks.rate[p] == RATE_SLOW || world->clocks.rate[p] == RATE_FAST);
  }
  return count;
}

/* A length beyond which a suspend makes no difference that a shorter one does not make: past every bound. */
static int64_t beyond_all_us(const Program *program, int64_t least_us) {
  int64_t most = least_us;
  for (int32_t d = 0; d < program->duration_count; d++) {
    int64_t us = program->durations_us[d];
    most = us != DURATION_INFINITE && us > most ? us : most;
  }
  return 2 * most;
}

Window world_suspend_window(const World *world, int32_t fault) {
  const Fault *what = &world->program->faults[fault];
  switch (world->clocks.suspends) {
  case SUSPEND_SHORTEST: return (Window){what->lo_us, what->lo_us};
  case SUSPEND_LONGEST: {
    int64_t us = what->hi_us == DURATION_INFINITE ? beyond_all_us(world->program, what->lo_us) : what->hi_us;
    return (Window){us, us};
  }
  default: return (Window){what->lo_us, what->hi_us};
  }
}

/* --- names of properties ----------------------------------------------------------------------------------------- */

static char *obtainable_name(const Program *program, const Obtainable *obtainable) {
  g_autofree char *within = world_duration_text(obtainable->within_us);
  return obtainable->kind == NO_INDEX
             ? g_strdup_printf("obtainable within %s", within)
             : g_strdup_printf("obtainable by %s within %s", program->kinds[obtainable->kind].name, within);
}

static void name_properties(World *world) {
  const Program *program = world->program;
  char **name = world->property_names;
  for (int32_t m = 0; m < world->monitor_count; m++) {
    *name++ = g_strdup(world->monitors[m]->name);
  }
  for (int32_t n = 0; n < program->never_count; n++) {
    *name++ = g_strdup(program->nevers[n].text);
  }
  for (int32_t a = 0; a < program->assertion_count; a++) {
    *name++ = g_strdup(program->assertions[a].text);
  }
  for (int32_t o = 0; o < program->obtainable_count; o++) {
    *name++ = obtainable_name(program, &program->obtainables[o]);
  }
}

char *world_duration_text(int64_t us) {
  static const struct {
    int64_t us;
    const char *unit;
  } units[] = {{3600000000, "h"}, {60000000, "min"}, {1000000, "s"}, {1000, "ms"}, {1, "us"}};
  if (us == DURATION_INFINITE) {
    return g_strdup("inf");
  }
  if (us == 0) {
    return g_strdup("0s");
  }
  for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
    if (us % units[i].us == 0) {
      return g_strdup_printf("%" G_GINT64_FORMAT "%s", us / units[i].us, units[i].unit);
    }
  }
  return NULL;
}

/* --- worlds ------------------------------------------------------------------------------------------------------ */

void world_ghost_array(World *world, int32_t cell, const Extent *extent) {
  note_array(world, extent, cell, 1);
}

void world_ghost_bag(World *world, int32_t cell, int32_t element_cells, int32_t count) {
  vec_push(&world->layout.bags, ((LayoutBag){cell, element_cells, count}));
}

World *world_new(const Program *program, const Monitor *const *monitors, int32_t monitor_count) {
  return world_new_with(program, monitors, monitor_count, &(Clocks){0});
}

World *world_new_with(const Program *program, const Monitor *const *monitors, int32_t monitor_count,
                      const Clocks *clocks) {
  CHECK(monitor_count <= WORLD_MONITORS_MAX && program->code_count <= UINT16_MAX);
  World *world = calloc(1, sizeof *world);
  CHECK(world != NULL);
  world->program = program;
  world->clocks = *clocks;
  world->monitor_count = monitor_count;
  world->all_fences = program->critical_count > 0;
  for (int32_t m = 0; m < monitor_count; m++) {
    world->monitors[m] = monitors[m];
  }
  for (int32_t c = 0; c < program->critical_count; c++) {
    world->has_fences |= program->criticals[c].has_fence;
    world->all_fences &= program->criticals[c].has_fence;
  }
  for (int32_t f = 0; f < program->fault_count; f++) {
    world->is_unordered |= program->faults[f].kind == FAULT_UNORDERED;
  }
  for (int32_t g = 0; g < program->group_count; g++) {
    world->has_symmetric_servers |= program->servers_symmetric[g] && program->groups[g].count > 1;
  }
  find_drift(world);
  find_attempt_live(world);
  find_bounds(world);
  find_talk(world);
  find_ticket_gap(world);
  dead_prepare(world);
  lay_out(world);
  if (!world->too_large) {
    name_properties(world);
  }
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
    free(world->server_stamp_bound_us[s]);
    free(world->harmless[s]);
    free(world->touches_resource[s]);
  }
  for (int32_t p = 0; p < WORLD_PROPERTIES_MAX; p++) {
    g_free(world->property_names[p]);
  }
  vec_free(&world->entry_ghosts);
  free(world->attempt_live);
  free(world->seen->covered);
  free(world->seen);
  free(world);
}

/* --- values and initial states ----------------------------------------------------------------------------------- */

Value world_read(const Type *type, const Cell *cells) {
  switch (type->sort) {
  case SORT_REPLY: return (Value){cells[0], cells[1], 0};
  case SORT_INT:
    if (type->optional && cells[0] < type->lo) {
      return (Value){SORT_NONE, 0, 0};
    }
    return (Value){SORT_INT, cells[0], 0};
  case SORT_BOOL:
  case SORT_WORD:
  case SORT_DURATION: return (Value){(Cell)type->sort, cells[0], 0};
  default: return cells[0] == 0 ? (Value){SORT_NONE, 0, 0} : (Value){(Cell)type->sort, cells[0], 0};
  }
}

bool world_write(const Type *type, Cell *cells, Value value) {
  if (type->sort == SORT_REPLY) {
    if (value.sort == SORT_STAMP) {
      return false; /* a reply has no room for one */
    }
    cells[0] = value.sort;
    cells[1] = value.number;
    return true;
  }
  if (value.sort == SORT_NONE && type->sort == SORT_INT && type->optional) {
    cells[0] = type->lo - 1;
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

static void reset_element(const Variable *variable, Cell *cells) {
  if (variable->type.sort == SORT_STAMP) {
    memset(cells, 0, STAMP_CELLS * sizeof(Cell));
    return;
  }
  Cell number = variable->initial;
  if (variable->initial_sort == SORT_CLIENT || variable->initial_sort == SORT_SERVER) {
    number++; /* names count from 1 in cells */
  }
  bool fits = world_write(&variable->type, cells, (Value){(Cell)variable->initial_sort, number, 0});
  if (!fits) {
    cells[0] = variable->type.lo; /* an integer without an initial value: the compiler has said what it must be */
  }
}

static void reset_variable(const Variable *variable, Cell *cells) {
  for (int32_t e = 0; e < variable->extent.count; e++) {
    reset_element(variable, cells + e * world_type_cells(&variable->type));
  }
}

int32_t world_timer_slots(const Service *service) {
  return world_timer_slot(service, service->timer_count);
}

int32_t world_timer_slot(const Service *service, int32_t timer) {
  int32_t slot = 0;
  for (int32_t t = 0; t < timer; t++) {
    slot += service->timers[t].extent.count;
  }
  return slot;
}

const Timer *world_timer_of(const Service *service, int32_t slot, int32_t *element) {
  const Timer *timer = service->timers;
  while (slot >= timer->extent.count) {
    slot -= timer->extent.count;
    timer++;
  }
  *element = slot;
  return timer;
}

int32_t world_attempt_task(const ClientKind *kind, int32_t task) {
  if (kind->tasks[task].enters) {
    return task;
  }
  for (int32_t t = 0; t < kind->task_count; t++) {
    if (kind->tasks[t].enters) {
      return t;
    }
  }
  return task;
}

bool world_is_inside(const World *world, const State *state, int32_t client) {
  for (int32_t t = 0; t < world_kind(world, client)->task_count; t++) {
    if (state_task(&world->layout, (State *)state, client, t)[TASK_INSIDE]) {
      return true;
    }
  }
  return false;
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
  if (service->timer_count > 0) {
    memset(world_timer(world, state, server, 0), 0, (size_t)world_timer_slots(service) * TIMER_CELLS * sizeof(Cell));
  }
}

/* Servers that are down from the beginning on; durable copies of what there is at the beginning. */
static void start_server(const World *world, State *state, int32_t server) {
  Cell *cells = state_server(&world->layout, state, server);
  for (int32_t f = 0; f < world->program->fault_count; f++) {
    const Fault *fault = &world->program->faults[f];
    if (fault->kind == FAULT_DOWN && fault->servers >> server & 1) {
      cells[SERVER_FAULT] = f + 1;
    }
  }
  world_reset_server(world, state, server);
  world_save_copy(world, state, server);
}

static int32_t memory_cells(const World *world, int32_t server) {
  const Service *service = world_service(world, server);
  int32_t count = world_timer_slots(service) * TIMER_CELLS;
  for (int32_t v = 0; v < service->variable_count; v++) {
    count += world_variable_cells(&service->variables[v]);
  }
  return count;
}

void world_save_copy(const World *world, State *state, int32_t server) {
  Cell *cells = state_server(&world->layout, state, server);
  int32_t copy = world->layout.server_copy[server];
  if (copy != NO_INDEX) {
    memcpy(cells + copy, cells + SERVER_HEADER, (size_t)memory_cells(world, server) * sizeof(Cell));
    cells[SERVER_DIRTY] = cells[SERVER_DIRTY_AGE] = 0;
  }
}

void world_restore_copy(const World *world, State *state, int32_t server) {
  Cell *cells = state_server(&world->layout, state, server);
  int32_t copy = world->layout.server_copy[server];
  CHECK(copy != NO_INDEX);
  memcpy(cells + SERVER_HEADER, cells + copy, (size_t)memory_cells(world, server) * sizeof(Cell));
  cells[SERVER_DIRTY] = cells[SERVER_DIRTY_AGE] = 0;
}

Cell *world_copied_timers(const World *world, State *state, int32_t server) {
  int32_t copy = world->layout.server_copy[server];
  if (copy == NO_INDEX) {
    return NULL;
  }
  int32_t behind = memory_cells(world, server) - world_timer_slots(world_service(world, server)) * TIMER_CELLS;
  return state_server(&world->layout, state, server) + copy + behind;
}

bool world_copy_holds(const World *world, const State *state, int32_t server) {
  const Cell *cells = state->cells + world->layout.server_cell[server];
  int32_t copy = world->layout.server_copy[server];
  return copy == NO_INDEX ||
         memcmp(cells + copy, cells + SERVER_HEADER, (size_t)memory_cells(world, server) * sizeof(Cell)) == 0;
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
    start_server(world, state, s);
  }
  for (int32_t g = 0; g < program->ghost_count; g++) {
    reset_variable(&program->ghosts[g], world_ghost_variable(world, state, g));
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
    for (int32_t t = 0; t < world_kind(world, c)->task_count; t++) {
      if (state_task(&world->layout, (State *)state, c, t)[TASK_ATTEMPT] == attempt) {
        return true;
      }
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
    if (record[MESSAGE_ATTEMPT] == attempt && !message_goes_to_client(record) &&
        world->touches_resource[service][record[MESSAGE_HANDLER]]) {
      return true;
    }
  }
  return client_carries(world, state, attempt);
}
