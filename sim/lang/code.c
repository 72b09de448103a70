#include "base/check.h"
#include "lang/compiler.h"

int32_t code_emit(Compiler *c, Opcode op, int32_t index, int32_t operand, Span span) {
  if (c->dead || c->exhausted) {
    return NO_INDEX;
  }
  if (c->code.count >= CODE_MAX || index > TABLE_MAX) {
    c->exhausted = true;
    diagnostics_error(c->diagnostics, span, "this model is too large: it needs too many instructions or constants");
    return NO_INDEX;
  }
  Instr instr = {.op = (uint8_t)op, .index = (int16_t)index, .operand = operand, .span = span};
  vec_push(&c->code, instr);
  c->dead = op == OP_JUMP || op == OP_STOP || op == OP_END || op == OP_RETURN || op == OP_REPLY || op == OP_DONE;
  return (int32_t)c->code.count - 1;
}

void code_emit_element(Compiler *c, Opcode op, int32_t index, int32_t operand, bool is_indexed, Span span) {
  int32_t pc = code_emit(c, op, index, operand, span);
  if (pc != NO_INDEX) {
    c->code.items[pc].is_indexed = is_indexed;
  }
}

void code_push(Compiler *c, Sort sort, int64_t value, Span span) {
  int32_t operand = sort == SORT_DURATION ? compiler_duration(c, value) : (int32_t)value;
  code_emit(c, OP_PUSH, (int32_t)sort, operand, span);
}

void code_pause_point(Compiler *c, Span span) {
  uint32_t count = c->code.count;
  bool repeated = count > 0 && c->code.items[count - 1].op == OP_PAUSE_POINT && c->label_at != (int32_t)count;
  if (c->mode == MODE_CLIENT && c->pending == 0 && !repeated) {
    code_emit(c, OP_PAUSE_POINT, 0, 0, span);
  }
}

int32_t code_label(Compiler *c) {
  c->label_at = (int32_t)c->code.count;
  return c->label_at;
}

void code_jump(Compiler *c, Opcode op, Patches *patches, Span span) {
  int32_t pc = code_emit(c, op, 0, NO_INDEX, span);
  if (pc != NO_INDEX) {
    vec_push(patches, pc);
  }
}

void code_patch(Compiler *c, Patches *patches) {
  for (uint32_t i = 0; i < patches->count; i++) {
    c->code.items[patches->items[i]].operand = (int32_t)c->code.count;
  }
  if (patches->count > 0) {
    c->dead = false;
    code_label(c);
  }
  vec_free(patches);
}
