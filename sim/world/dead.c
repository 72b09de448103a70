#include "world/dead.h"

#include "base/check.h"
#include "world/names.h"

/* --- what a handler can do with an orphan: an abstract run of its code ------------------------------------------- */

typedef enum Guess { GUESS_UNKNOWN, GUESS_ORPHAN, GUESS_TRUE, GUESS_FALSE } Guess;

#define GUESS_STACK_MAX 64
#define GUESS_STEPS_MAX 4000

typedef struct Abstract {
  const Program *program;
  int32_t orphan_argument;
  int32_t steps;
  uint8_t *covered; /* per pc: marks where it comes by; NULL: does not */
} Abstract;

typedef struct AbstractState {
  int32_t pc, count;
  uint8_t stack[GUESS_STACK_MAX];
} AbstractState;

static Guess guess_of_equality(Guess a, Guess b, bool equal) {
  if (a == GUESS_ORPHAN || b == GUESS_ORPHAN) {
    return equal ? GUESS_FALSE : GUESS_TRUE;
  }
  return GUESS_UNKNOWN;
}

/* How many values an instruction pops; -1 for one that has an effect, or that this analysis does not know (a ghost may
 * hold what is an orphan). */
static int32_t pops_without_effect(const Instr *instr) {
  if (instr->is_indexed) {
    return -1; /* may be a finding */
  }
  switch (instr->op) {
  case OP_PUSH:
  case OP_LOAD:
  case OP_LOAD_ARG:
  case OP_ME:
  case OP_CALLER:
  case OP_INSIDE_OF:
  case OP_UP_OF:
  case OP_TIMER_ARMED:
  case OP_JUMP: return 0;
  case OP_POP:
  case OP_NEG:
  case OP_NOT:
  case OP_IS_SORT:
  case OP_JUMP_UNLESS:
  case OP_JUMP_IF: return 1;
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_DIV:
  case OP_MOD:
  case OP_MIN:
  case OP_MAX:
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: return 2;
  default: return -1;
  }
}

static bool harmless_from(Abstract *abstract, AbstractState at) {
  for (;;) {
    const Instr *instr = &abstract->program->code[at.pc];
    if (++abstract->steps > GUESS_STEPS_MAX) {
      return false;
    }
    if (abstract->covered != NULL) {
      abstract->covered[at.pc] = 1;
    }
    if (instr->op == OP_REPLY || instr->op == OP_DONE) {
      return true; /* nobody waits for the answer */
    }
    int32_t pops = pops_without_effect(instr);
    if (pops < 0 || pops > at.count || at.count == GUESS_STACK_MAX) {
      return false;
    }
    Guess b = pops > 0 ? (Guess)at.stack[at.count - 1] : GUESS_UNKNOWN;
    Guess a = pops > 1 ? (Guess)at.stack[at.count - 2] : GUESS_UNKNOWN;
    Guess result = GUESS_UNKNOWN;
    at.count -= pops;
    at.pc++;
    switch (instr->op) {
    case OP_JUMP: at.pc = instr->operand; continue;
    case OP_POP: continue;
    case OP_JUMP_IF:
    case OP_JUMP_UNLESS: {
      Guess taken = instr->op == OP_JUMP_IF ? GUESS_TRUE : GUESS_FALSE;
      AbstractState jumped = at;
      jumped.pc = instr->operand;
      if (b == GUESS_TRUE || b == GUESS_FALSE) {
        at = b == taken ? jumped : at;
      } else if (!harmless_from(abstract, jumped)) {
        return false;
      }
      continue;
    }
    case OP_LOAD_ARG: result = instr->index == abstract->orphan_argument ? GUESS_ORPHAN : GUESS_UNKNOWN; break;
    case OP_EQ:
    case OP_NE: result = guess_of_equality(a, b, instr->op == OP_EQ); break;
    case OP_NOT: result = b == GUESS_TRUE ? GUESS_FALSE : b == GUESS_FALSE ? GUESS_TRUE : GUESS_UNKNOWN; break;
    default: break;
    }
    at.stack[at.count++] = (uint8_t)result;
  }
}

static void find_harmless(World *world, int32_t service, int32_t handler_index) {
  const Handler *handler = &world->program->services[service].handlers[handler_index];
  bool waits = handler->guard != NO_INDEX;
  for (int32_t a = 0; a < handler->param_count && handler->entry != NO_INDEX && !waits; a++) {
    Abstract abstract = {.program = world->program, .orphan_argument = a};
    bool harmless = harmless_from(&abstract, (AbstractState){.pc = handler->entry});
    world->harmless[service][handler_index] |= (uint8_t)(harmless << a);
  }
}

/* Whether one of the values that a reply or message is made of may be a token: all but constants and variables of other
 * sorts, one instruction each right before it. */
static bool hands_token_on(const Service *service, const Instr *code, int32_t pc) {
  const Instr *instr = &code[pc];
  bool tells = instr->op == OP_TELL || instr->op == OP_NOTIFY;
  int32_t count = instr->op == OP_REPLY ? instr->index : tells ? instr->count : 0;
  for (int32_t i = 1; i <= count; i++) {
    const Instr *value = &code[pc - i];
    bool is_load = value->op == OP_LOAD && !value->is_indexed &&
                   service->variables[value->index].type.sort != SORT_TOKEN &&
                   service->variables[value->index].type.sort != SORT_REPLY;
    if (value->op != OP_PUSH && !is_load) {
      return true;
    }
  }
  return false;
}

static void look_at_handler(World *world, int32_t service_index, int32_t entry, uint8_t *touches) {
  const Program *program = world->program;
  uint8_t *reachable = calloc((size_t)program->code_count + 1, 1);
  CHECK(reachable != NULL);
  world_mark_reachable(program, entry, reachable);
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    if (reachable[pc]) {
      Opcode op = (Opcode)program->code[pc].op;
      *touches |= op == OP_OBSERVE || op == OP_COMMIT || op == OP_TELL; /* the next server may, too */
      world->tokens_stay &= !hands_token_on(&program->services[service_index], program->code, pc);
    }
  }
  free(reachable);
}

static bool has_one_token(const Service *service) {
  int32_t count = 0;
  for (int32_t v = 0; v < service->variable_count; v++) {
    bool holds = service->variables[v].type.sort == SORT_TOKEN || service->variables[v].type.sort == SORT_REPLY;
    count += holds ? service->variables[v].extent.count : 0;
  }
  return count <= 1;
}

/* A durable copy is compared with what it is a copy of. */
static bool has_copies(const Program *program) {
  for (int32_t f = 0; f < program->fault_count; f++) {
    if (program->faults[f].kind == FAULT_CRASH_SERVER && program->faults[f].memory == MEMORY_DURABLE) {
      return true;
    }
  }
  return false;
}

/* A `never` may compare the variables of two servers, or a ghost. */
static bool nevers_read_servers(const Program *program) {
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    if (program->code[pc].op == OP_LOAD_OF && program->code[pc].operand >= program->client_count) {
      return true;
    }
  }
  return false;
}

void dead_prepare(World *world) {
  const Program *program = world->program;
  world->tokens_stay = true;
  world->one_token_each = !nevers_read_servers(program) && !has_copies(program);
  for (int32_t s = 0; s < program->service_count; s++) {
    const Service *service = &program->services[s];
    uint8_t ignored = 0;
    world->harmless[s] = calloc((size_t)service->handler_count + 1, 1);
    world->touches_resource[s] = calloc((size_t)service->handler_count + 1, 1);
    CHECK(world->harmless[s] != NULL && world->touches_resource[s] != NULL);
    world->one_token_each &= has_one_token(service);
    for (int32_t h = 0; h < service->handler_count; h++) {
      if (service->handlers[h].entry != NO_INDEX) {
        find_harmless(world, s, h);
        look_at_handler(world, s, service->handlers[h].entry, &world->touches_resource[s][h]);
      }
    }
    for (int32_t t = 0; t < service->timer_count; t++) {
      if (service->timers[t].entry != NO_INDEX) {
        look_at_handler(world, s, service->timers[t].entry, &ignored);
      }
    }
    if (service->lost_entry != NO_INDEX) {
      look_at_handler(world, s, service->lost_entry, &ignored);
    }
  }
}

/* --- which messages are dead ------------------------------------------------------------------------------------- */

/* Whether the token, which is argument `argument` of this message, can do nothing there. */
static bool is_idle_there(const World *world, const Cell *record, int32_t argument) {
  int32_t service = world_service_index(world, record[MESSAGE_SERVER] - 1);
  return record[MESSAGE_KIND] == MESSAGE_TELL && !record[MESSAGE_WAITING] &&
         world->harmless[service][record[MESSAGE_HANDLER]] >> argument & 1;
}

static bool occurs_in(const Layout *layout, const State *state, int32_t first, int32_t end, Cell token) {
  for (uint32_t i = 0; i < layout->fixed_names.count; i++) {
    int32_t at = layout->fixed_names.items[i];
    if (at >= first && at < end && state->cells[at] == token &&
        field_sort_at(layout->fixed.items, state->cells, (uint32_t)at) == FIELD_TOKEN) {
      return true;
    }
  }
  return false;
}

/* Whether some client has the token, or may be given it by a server. */
static bool is_at_large(const World *world, const State *state, Cell token) {
  const Layout *layout = &world->layout;
  int32_t end = world->tokens_stay ? layout->server_cell[0] : (int32_t)layout->fixed.count;
  return occurs_in(layout, state, layout->client_cell[0], end, token);
}

/* Whether a message could still bring the token to the server to some effect. */
static bool is_on_its_way(const World *world, const State *state, int32_t server, Cell token) {
  const Layout *layout = &world->layout;
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    if (world->tokens_stay && record[MESSAGE_SERVER] != server + 1) {
      continue;
    }
    for (int32_t a = 0; a < layout->value_count; a++) {
      bool there = record[MESSAGE_VALUES + VALUE_CELLS * a] == SORT_TOKEN &&
                   record[MESSAGE_VALUES + VALUE_CELLS * a + 1] == token;
      if (there && !is_idle_there(world, record, a)) {
        return true;
      }
    }
  }
  return false;
}

/* Whether the token is unknown at the server and will remain so. */
static bool is_orphan(const World *world, const State *state, int32_t server, Cell token) {
  const Layout *layout = &world->layout;
  int32_t first = layout->server_cell[server];
  return !is_at_large(world, state, token) && !is_on_its_way(world, state, server, token) &&
         !occurs_in(layout, state, first, first + layout->server_cells[server], token);
}

/* The argument that makes a message dead; -1 for none. */
static int32_t dead_argument(const World *world, const State *state, const Cell *record) {
  for (int32_t a = 0; record[MESSAGE_KIND] == MESSAGE_TELL && a < world->layout.value_count; a++) {
    if (record[MESSAGE_VALUES + VALUE_CELLS * a] == SORT_TOKEN && is_idle_there(world, record, a) &&
        is_orphan(world, state, record[MESSAGE_SERVER] - 1, record[MESSAGE_VALUES + VALUE_CELLS * a + 1])) {
      return a;
    }
  }
  return -1;
}

/* What the handler would have run counts as run: it is a part of the model that does something. */
static void cover_handler(const World *world, const Cell *record, int32_t argument) {
  const Service *service = world_service(world, record[MESSAGE_SERVER] - 1);
  Abstract abstract = {.program = world->program, .orphan_argument = argument, .covered = world->seen->covered};
  harmless_from(&abstract, (AbstractState){.pc = service->handlers[record[MESSAGE_HANDLER]].entry});
}

void dead_drop_messages(const World *world, State *state) {
  for (int32_t m = state->message_count - 1; m >= 0; m--) {
    const Cell *record = state_message(&world->layout, state, m);
    int32_t argument = dead_argument(world, state, record);
    if (argument < 0 || record[MESSAGE_CUT] == HELD_UP) { /* others may wait behind one that was held up */
      continue;
    }
    cover_handler(world, record, argument);
    state_remove_message(&world->layout, state, m);
  }
}

/* --- tokens and entries ------------------------------------------------------------------------------------------ */

/* Whether any request to the server carries the token, to whatever effect. */
static bool is_carried(const World *world, const State *state, int32_t server, Cell token) {
  const Layout *layout = &world->layout;
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    for (int32_t a = 0; a < layout->value_count && record[MESSAGE_SERVER] == server + 1; a++) {
      if (record[MESSAGE_VALUES + VALUE_CELLS * a] == SORT_TOKEN &&
          record[MESSAGE_VALUES + VALUE_CELLS * a + 1] == token) {
        return true;
      }
    }
  }
  return false;
}

void dead_forget_tokens(const World *world, State *state) {
  const Layout *layout = &world->layout;
  if (!world->tokens_stay || !world->one_token_each) {
    return;
  }
  for (int32_t s = 0; s < world->program->server_count; s++) {
    const Service *service = world_service(world, s);
    for (int32_t v = 0; v < service->variable_count; v++) { /* no arrays: one token each */
      Cell *cell = world_server_variable(world, state, s, v);
      if (service->variables[v].type.sort == SORT_TOKEN && *cell != 0 &&
          !occurs_in(layout, state, layout->client_cell[0], layout->server_cell[0], *cell) &&
          !is_carried(world, state, s, *cell)) {
        *cell = TOKEN_FOREIGN;
      }
    }
  }
}

static bool is_compared(const World *world, const State *state, Cell holding) {
  for (uint32_t i = 0; i < world->entry_ghosts.count; i++) {
    if (state->cells[world->entry_ghosts.items[i]] == holding) {
      return true;
    }
  }
  return world_attempt_may_write(world, state, holding);
}

void dead_forget_entries(const World *world, State *state) {
  Cell last = names_largest(world, state, FIELD_HOLDING, HOLDING_UNENTERED - 1);
  Cell unentered = names_largest(world, state, FIELD_HOLDING, HOLDING_FOREIGN - 1);
  unentered = unentered < HOLDING_UNENTERED ? HOLDING_UNENTERED - 1 : unentered;
  for (Cell holding = 1; holding <= last; holding++) {
    if (!is_compared(world, state, holding) && unentered + 1 < HOLDING_FOREIGN) {
      names_replace(world, state, FIELD_HOLDING, holding, ++unentered);
    }
  }
}
