#include "cli/coverage.h"

#include "cli/warning.h"

typedef struct Coverage {
  GHashTable *ran;   /* set of Span: what ran in some scenario */
  GHashTable *named; /* set of Span: what has its warning already */
  GArray *missing;   /* of Missing */
} Coverage;

typedef struct Missing {
  Span span;
  Warning *warning;
} Missing;

static guint span_hash(gconstpointer item) {
  const Span *span = item;
  return span->file * 2654435761u ^ span->begin * 40503u ^ span->end;
}

static gboolean span_equal(gconstpointer a, gconstpointer b) {
  const Span *left = a, *right = b;
  return left->file == right->file && left->begin == right->begin && left->end == right->end;
}

static bool pc_ran(const Outcome *outcome, int32_t pc) {
  return outcome->verification->covered[pc / 64] >> (pc % 64) & 1;
}

static void note_what_ran(Coverage *coverage, const Outcome *outcome) {
  const Program *program = outcome->program;
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    if (pc_ran(outcome, pc)) {
      g_hash_table_add(coverage->ran, &program->code[pc].span);
    }
  }
}

static void miss(Coverage *coverage, const Outcome *outcome, const Span *span, const char *kind, const char *text) {
  if (span->begin == span->end || g_hash_table_contains(coverage->named, span)) {
    return;
  }
  g_hash_table_add(coverage->named, (gpointer)span);
  Missing missing = {*span, warning_new(outcome->program, kind, text, *span, NULL)};
  g_array_append_val(coverage->missing, missing);
}

static bool is_idle(const Coverage *coverage, const Outcome *outcome, int32_t pc) {
  return !pc_ran(outcome, pc) && !g_hash_table_contains(coverage->ran, &outcome->program->code[pc].span);
}

static bool contains(Span outer, Span inner) {
  return outer.file == inner.file && outer.begin <= inner.begin && outer.end >= inner.end;
}

/* The statement that begins at `pc`: the widest stretch around its first instruction, as far as the code runs straight.
 */
static const Span *statement_span(const Coverage *coverage, const Outcome *outcome, int32_t pc) {
  const Program *program = outcome->program;
  const Span *widest = &program->code[pc].span;
  for (; pc < program->code_count && is_idle(coverage, outcome, pc); pc++) {
    const Instr *instr = &program->code[pc];
    if (contains(instr->span, *widest)) {
      widest = &instr->span;
    }
    if (instr->op == OP_JUMP || instr->op == OP_JUMP_IF || instr->op == OP_JUMP_UNLESS || instr->op == OP_REPLY) {
      break;
    }
  }
  return widest;
}

/* A service is written for many models: what this one leaves idle in it is no fault of either. */
static bool is_of_model(const Span *span) {
  return span->file == SOURCES_MODEL;
}

static void check_branch(Coverage *coverage, const Outcome *outcome, int32_t next) {
  const Instr *instr = &outcome->program->code[next];
  bool is_statement = instr->op != OP_DONE; /* behind the last one of a handler there is none */
  if (is_statement && is_of_model(&instr->span) && is_idle(coverage, outcome, next)) {
    miss(coverage, outcome, statement_span(coverage, outcome, next), "never_runs", "this never runs in any scenario");
  }
}

static void check_branches(Coverage *coverage, const Outcome *outcome) {
  const Program *program = outcome->program;
  for (int32_t pc = 0; pc < program->code_count; pc++) {
    const Instr *instr = &program->code[pc];
    if (pc_ran(outcome, pc) && (instr->op == OP_JUMP_IF || instr->op == OP_JUMP_UNLESS)) {
      check_branch(coverage, outcome, pc + 1);
      check_branch(coverage, outcome, instr->operand);
    }
  }
}

static void check_service(Coverage *coverage, const Outcome *outcome, const Service *service) {
  for (int32_t i = 0; i < service->handler_count; i++) {
    const Handler *handler = &service->handlers[i];
    if (handler->entry != NO_INDEX && is_idle(coverage, outcome, handler->entry)) {
      g_autofree char *text =
          g_strdup_printf("'%s.%s' is called, but never runs in any scenario", service->name, handler->name);
      miss(coverage, outcome, &handler->span, "never_runs", text);
    }
  }
  for (int32_t i = 0; i < service->timer_count; i++) {
    const Timer *timer = &service->timers[i];
    if (timer->entry != NO_INDEX && is_of_model(&timer->span) && is_idle(coverage, outcome, timer->entry)) {
      g_autofree char *text = g_strdup_printf("'%s.%s' never fires in any scenario", service->name, timer->name);
      miss(coverage, outcome, &timer->span, "never_fires", text);
    }
  }
}

/* Where the code that begins at `entry` ends: at the next entry of a kind of client, or with the program. */
static int32_t kind_end(const Program *program, int32_t entry) {
  int32_t end = program->code_count;
  for (int32_t i = 0; i < program->kind_count; i++) {
    int32_t other = program->kinds[i].entry;
    end = other > entry && other < end ? other : end;
  }
  return end;
}

static void check_kind(Coverage *coverage, const Outcome *outcome, const ClientKind *kind) {
  const Program *program = outcome->program;
  const Span *place = NULL;
  for (int32_t pc = kind->entry; pc < kind_end(program, kind->entry); pc++) {
    if (program->code[pc].op == OP_ENTER) {
      place = place ? place : &program->code[pc].span;
      if (g_hash_table_contains(coverage->ran, &program->code[pc].span)) {
        return;
      }
    }
  }
  if (kind->enters && place) {
    g_autofree char *text = g_strdup_printf("'%s' never enters its critical section in any scenario", kind->name);
    miss(coverage, outcome, place, "never_enters", text);
  }
}

static int compare_missing(gconstpointer a, gconstpointer b) {
  const Span *left = &((const Missing *)a)->span, *right = &((const Missing *)b)->span;
  return left->file != right->file ? (left->file < right->file ? -1 : 1)
                                   : (left->begin > right->begin) - (left->begin < right->begin);
}

static GPtrArray *sorted_warnings(GArray *missing) {
  GPtrArray *warnings = g_ptr_array_new_with_free_func(warning_free);
  g_array_sort(missing, compare_missing);
  for (guint i = 0; i < missing->len; i++) {
    g_ptr_array_add(warnings, g_array_index(missing, Missing, i).warning);
  }
  return warnings;
}

GPtrArray *coverage_warnings(const GPtrArray *outcomes) {
  g_autoptr(GHashTable) ran = g_hash_table_new(span_hash, span_equal);
  g_autoptr(GHashTable) named = g_hash_table_new(span_hash, span_equal);
  g_autoptr(GArray) missing = g_array_new(FALSE, FALSE, sizeof(Missing));
  Coverage coverage = {ran, named, missing};
  for (guint i = 0; i < outcomes->len; i++) {
    note_what_ran(&coverage, outcomes->pdata[i]);
  }
  for (guint i = 0; i < outcomes->len; i++) {
    const Outcome *outcome = outcomes->pdata[i];
    for (int32_t k = 0; k < outcome->program->kind_count; k++) {
      check_kind(&coverage, outcome, &outcome->program->kinds[k]);
    }
    for (int32_t s = 0; s < outcome->program->service_count; s++) {
      check_service(&coverage, outcome, &outcome->program->services[s]);
    }
    check_branches(&coverage, outcome);
  }
  return sorted_warnings(missing);
}
