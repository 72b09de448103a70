/* Live variables by the classic backward equations, over the finished code of one client kind:
 * before(pc) = (after(pc) - writes(pc)) + reads(pc), after(pc) = union of before over the successors.
 *
 * Each task is solved by itself. What another task or a notice handler of the client reads may be read at any rest of
 * this one, so it is always live here. An element is never written as a whole array is: such a store ends no life. */
#include "base/check.h"
#include "lang/compiler.h"

static uint64_t bit(int32_t variable) {
  return UINT64_C(1) << variable;
}

static uint64_t until_reads(const Compiler *c, int32_t wait) {
  const Wait *wanted = &c->waits.items[wait];
  uint64_t reads = 0;
  for (int32_t i = 0; i < wanted->age_count; i++) {
    reads |= bit(wanted->ages[i].variable);
  }
  if (wanted->until_entry == NO_INDEX) {
    return reads;
  }
  /* A block ends at the RETURN that no jump leads past. */
  int32_t last = wanted->until_entry;
  for (int32_t pc = wanted->until_entry; pc <= last; pc++) {
    const Instr *instr = &c->code.items[pc];
    reads |= instr->op == OP_LOAD ? bit(instr->index) : 0;
    if (instr->op == OP_JUMP || instr->op == OP_JUMP_IF || instr->op == OP_JUMP_UNLESS) {
      last = MAX(last, instr->operand);
    }
    last = MAX(last, instr->op == OP_JUMP || instr->op == OP_RETURN ? last : pc + 1);
  }
  return reads;
}

static uint64_t reads_of(const Compiler *c, const Instr *instr) {
  switch (instr->op) {
  case OP_LOAD:
  case OP_AGE_BELOW: return bit(instr->index);
  case OP_STAMP_COPY: return bit(instr->operand);
  case OP_WAIT: return until_reads(c, instr->index);
  default: return 0;
  }
}

static uint64_t writes_of(const Instr *instr) {
  bool writes = !instr->is_indexed && (instr->op == OP_STORE || instr->op == OP_STAMP || instr->op == OP_STAMP_COPY);
  return writes ? bit(instr->index) : 0;
}

static uint64_t live_behind(const ClientKind *kind, const Instr *instr, int32_t pc) {
  switch (instr->op) {
  case OP_JUMP: return kind->live_before[instr->operand];
  case OP_JUMP_IF:
  case OP_JUMP_UNLESS: return kind->live_before[instr->operand] | kind->live_before[pc + 1];
  case OP_STOP:
  case OP_END:
  case OP_DONE:
  case OP_RETURN: return 0;
  default: return kind->live_before[pc + 1];
  }
}

static void solve(const Compiler *c, ClientKind *kind, int32_t begin, int32_t end) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (int32_t pc = end - 1; pc >= begin; pc--) {
      const Instr *instr = &c->code.items[pc];
      uint64_t after = live_behind(kind, instr, pc);
      uint64_t before = (after & ~writes_of(instr)) | reads_of(c, instr);
      changed = changed || before != kind->live_before[pc];
      kind->live_before[pc] = before;
      kind->live_after[pc] = after;
    }
  }
}

static int32_t task_end(const Compiler *c, int32_t index, int32_t task) {
  const ClientKind *kind = &c->program->kinds[index];
  return task + 1 < kind->task_count ? kind->tasks[task + 1].entry : c->body_end[index];
}

static uint64_t all_writes(const Compiler *c, int32_t begin, int32_t end) {
  uint64_t writes = 0;
  for (int32_t pc = begin; pc < end; pc++) {
    writes |= writes_of(&c->code.items[pc]);
  }
  return writes;
}

/* What a task may read before it was assigned: by itself, while no other task and no notice handler assigns it either.
 * (When they do is for the program to know.) */
static uint64_t read_at_first(const Compiler *c, int32_t index) {
  const ClientKind *kind = &c->program->kinds[index];
  uint64_t live = 0;
  for (int32_t t = 0; t < kind->task_count; t++) {
    uint64_t others =
        all_writes(c, kind->entry, kind->tasks[t].entry) | all_writes(c, task_end(c, index, t), c->notices_end[index]);
    live |= kind->live_before[kind->tasks[t].entry] & ~others;
  }
  for (int32_t n = 0; n < c->program->notice_count; n++) {
    uint64_t others = all_writes(c, kind->entry, c->body_end[index]);
    live |= kind->notice_entries[n] == NO_INDEX ? 0 : kind->live_before[kind->notice_entries[n]] & ~others;
  }
  return live;
}

/* A token (client, server) has no value before the first assignment, so it must not be read there. */
static void check_assigned(Compiler *c, int32_t index) {
  const ClientKind *kind = &c->program->kinds[index];
  uint64_t live = read_at_first(c, index);
  for (int32_t i = 0; i < kind->variable_count; i++) {
    const Variable *variable = &kind->variables[i];
    bool has_no_value = variable->initial_sort == SORT_NONE && !variable->type.optional;
    bool needs_value =
        variable->type.sort == SORT_TOKEN || variable->type.sort == SORT_CLIENT || variable->type.sort == SORT_SERVER;
    if ((live & bit(i)) != 0 && has_no_value && needs_value) {
      diagnostics_error(c->diagnostics, variable->span,
                        variable->extent.is_array
                            ? "an element of '%s' may be read before it is assigned; give it a type with `?`"
                            : "'%s' may be read before it is assigned; give it a value, or a type with `?`",
                        variable->name);
    }
  }
}

static uint64_t all_reads(const Compiler *c, int32_t begin, int32_t end) {
  uint64_t reads = 0;
  for (int32_t pc = begin; pc < end; pc++) {
    reads |= reads_of(c, &c->code.items[pc]);
  }
  return reads;
}

/* What others than this task may read at any time. */
static uint64_t foreign_reads(const Compiler *c, int32_t index, int32_t task) {
  const ClientKind *kind = &c->program->kinds[index];
  uint64_t reads = c->never_reads[index] | all_reads(c, c->body_end[index], c->notices_end[index]);
  for (int32_t t = 0; t < kind->task_count; t++) {
    reads |= t == task ? 0 : all_reads(c, kind->tasks[t].entry, task_end(c, index, t));
  }
  return reads;
}

static void kind_liveness(Compiler *c, int32_t index, int32_t begin, int32_t end) {
  ClientKind *kind = &c->program->kinds[index];
  kind->live_before = g_new0(uint64_t, (size_t)c->code.count + 1);
  kind->live_after = g_new0(uint64_t, (size_t)c->code.count + 1);
  solve(c, kind, begin, end);
  check_assigned(c, index);
  uint64_t foreign = c->never_reads[index];
  for (int32_t pc = begin, task = -1; pc < end; pc++) {
    bool begins_next = task + 1 < kind->task_count && pc == kind->tasks[task + 1].entry;
    task += begins_next;
    foreign = pc == c->body_end[index] ? c->never_reads[index] : begins_next ? foreign_reads(c, index, task) : foreign;
    uint64_t until = c->code.items[pc].op == OP_WAIT ? until_reads(c, c->code.items[pc].index) : 0;
    kind->live_before[pc] |= foreign;
    kind->live_after[pc] |= foreign | until;
  }
}

void compile_liveness(Compiler *c) {
  Program *program = c->program;
  for (int32_t k = 0; k < program->kind_count; k++) {
    kind_liveness(c, k, program->kinds[k].entry, program->kinds[k].code_end);
  }
}
