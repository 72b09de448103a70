#include "world/dead.h"

#include "base/check.h"
#include "world/names.h"

/* --- what a handler can do with an orphan: an abstract run of its code ---------------------------------------------- */

typedef enum Guess { GUESS_UNKNOWN, GUESS_ORPHAN, GUESS_TRUE, GUESS_FALSE } Guess;

#define GUESS_STACK_MAX 64
#define GUESS_STEPS_MAX 4000

typedef struct Abstract {
  const Program *program;
  int32_t orphan_argument;
  int32_t steps;
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

/* How many values an instruction pops; -1 for one that has an effect, or that this analysis does not know. */
static int32_t pops_without_effect(const Instr *instr) {
  switch (instr->op) {
  case OP_PUSH: case OP_LOAD: case OP_LOAD_OF: case OP_LOAD_ARG: case OP_ME: case OP_CALLER: case OP_INSIDE_OF:
  case OP_UP_OF: case OP_TIMER_ARMED: case OP_JUMP: return 0;
  case OP_POP: case OP_NEG: case OP_NOT: case OP_IS_SORT: case OP_JUMP_UNLESS: case OP_JUMP_IF: return 1;
  case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_MIN: case OP_MAX: case OP_EQ: case OP_NE:
  case OP_LT: case OP_LE: case OP_GT: case OP_GE: return 2;
  default: return -1;
  }
}

static bool harmless_from(Abstract *abstract, AbstractState at) {
  for (;;) {
    const Instr *instr = &abstract->program->code[at.pc];
    if (++abstract->steps > GUESS_STEPS_MAX) {
      return false;
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

void dead_prepare(World *world) {
  const Program *program = world->program;
  for (int32_t s = 0; s < program->service_count; s++) {
    const Service *service = &program->services[s];
    world->harmless[s] = calloc((size_t)service->handler_count + 1, 1);
    CHECK(world->harmless[s] != NULL);
    for (int32_t h = 0; h < service->handler_count; h++) {
      const Handler *handler = &service->handlers[h];
      for (int32_t a = 0; a < handler->param_count && handler->entry != NO_INDEX; a++) {
        Abstract abstract = {.program = program, .orphan_argument = a};
        bool harmless = harmless_from(&abstract, (AbstractState){.pc = handler->entry});
        world->harmless[s][h] |= (uint8_t)(harmless << a);
      }
    }
  }
}

/* --- which messages are dead ---------------------------------------------------------------------------------------- */

/* Whether the token, which is argument `argument` of this message, can do nothing there. */
static bool is_idle_there(const World *world, const Cell *record, int32_t argument) {
  int32_t service = world_service_index(world, record[MESSAGE_SERVER] - 1);
  return record[MESSAGE_KIND] == MESSAGE_TELL && world->harmless[service][record[MESSAGE_HANDLER]] >> argument & 1;
}

static bool occurs_in_fixed_part(const Layout *layout, const State *state, Cell token) {
  for (uint32_t i = 0; i < layout->fixed_names.count; i++) {
    uint32_t at = layout->fixed_names.items[i];
    if (state->cells[at] == token && field_sort_at(layout->fixed.items, state->cells, at) == FIELD_TOKEN) {
      return true;
    }
  }
  return false;
}

static bool is_orphan(const World *world, const State *state, Cell token) {
  const Layout *layout = &world->layout;
  if (occurs_in_fixed_part(layout, state, token)) {
    return false;
  }
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    for (int32_t a = 0; a < layout->value_count; a++) {
      bool there = record[MESSAGE_VALUES + 2 * a] == SORT_TOKEN && record[MESSAGE_VALUES + 2 * a + 1] == token;
      if (there && !is_idle_there(world, record, a)) {
        return false;
      }
    }
  }
  return true;
}

static bool is_dead(const World *world, const State *state, const Cell *record) {
  for (int32_t a = 0; record[MESSAGE_KIND] == MESSAGE_TELL && a < world->layout.value_count; a++) {
    if (record[MESSAGE_VALUES + 2 * a] == SORT_TOKEN && is_idle_there(world, record, a) &&
        is_orphan(world, state, record[MESSAGE_VALUES + 2 * a + 1])) {
      return true;
    }
  }
  return false;
}

void dead_drop_messages(const World *world, State *state) {
  for (int32_t m = state->message_count - 1; m >= 0; m--) {
    if (is_dead(world, state, state_message(&world->layout, state, m))) {
      state_remove_message(&world->layout, state, m);
    }
  }
}
