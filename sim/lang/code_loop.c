/* Loops: of clients, which may wait in each round, and of handlers, which run at one instant. */
#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

#define COPIES_MAX 1000 /* of the body of a loop in a handler */

bool code_is_inlined(const Compiler *c, const HandlerDecl *def) {
  for (int32_t i = 0; i < c->inlined_count; i++) {
    if (c->inlined[i] == def) {
      return true;
    }
  }
  return false;
}

/* Whether `block` enters a critical section outside any loop of its own. */
static bool enters_directly(Compiler *c, const Block *block) {
  for (int32_t i = 0; i < block->count; i++) {
    const Stmt *stmt = block->items[i];
    if (stmt->kind == STMT_CRITICAL ||
        (stmt->kind == STMT_IF && (enters_directly(c, &stmt->body) || enters_directly(c, &stmt->other)))) {
      return true;
    }
    for (int32_t a = 0; a < stmt->arm_count; a++) {
      if (enters_directly(c, &stmt->arms[a])) {
        return true;
      }
    }
    if (stmt->kind != STMT_RUN || !compiler_work(c, stmt->span)) {
      continue;
    }
    const ClientDecl *client = c->decl->clients[c->kind];
    for (int32_t d = 0; d < client->def_count; d++) {
      bool is_called = strcmp(client->defs[d]->name.text, stmt->targets[0].text) == 0;
      if (is_called && !code_is_inlined(c, client->defs[d]) && c->inlined_count < AST_DEPTH_MAX) {
        c->inlined[c->inlined_count++] = client->defs[d];
        bool enters = enters_directly(c, &client->defs[d]->body);
        c->inlined_count--;
        if (enters) {
          return true;
        }
      }
    }
  }
  return false;
}

static void loop_open(Compiler *c, LoopContext *loop, int32_t head) {
  *loop = (LoopContext){.outer = c->loop, .head = head, .critical_count = c->critical_count};
  c->loop = loop;
}

static void loop_close(Compiler *c, LoopContext *loop) {
  c->loop = loop->outer;
  code_patch(c, &loop->breaks);
  vec_free(&loop->continues);
}

void code_attempt(Compiler *c, const Block *body, Span span) {
  if (enters_directly(c, body)) {
    code_emit(c, OP_ATTEMPT, 0, 0, span);
  }
}

/* `loop` and `while`: nothing bounds them, so each round must let time pass. */
void code_while(Compiler *c, const Stmt *stmt) {
  LoopContext loop;
  int32_t head = code_label(c);
  bool is_reached = !c->dead;
  loop_open(c, &loop, head);
  if (stmt->kind == STMT_WHILE) {
    code_condition(c, stmt->value, false, &loop.breaks);
  }
  code_attempt(c, &stmt->body, stmt->span);
  code_body(c, &stmt->body);
  code_emit(c, OP_JUMP, 0, head, stmt->span);
  if (is_reached) {
    vec_push(&c->loop_checks, ((LoopCheck){head, (int32_t)c->code.count, stmt->span}));
  }
  loop_close(c, &loop);
}

static void code_counted_body(Compiler *c, const Stmt *stmt, LoopContext *loop) {
  loop_open(c, loop, NO_INDEX);
  code_attempt(c, &stmt->body, stmt->span);
  code_body(c, &stmt->body);
  code_patch(c, &loop->continues);
}

/* In a handler, which takes no time: one copy of the body after the other. */
typedef struct Copies {
  const Stmt *stmt;
  Range range;
  bool is_bound; /* there is a loop variable */
} Copies;

static void code_copy(Compiler *c, const Copies *copies, int32_t i) {
  const Stmt *stmt = copies->stmt;
  ScopeMark mark = scope_open(c);
  Constant value = copies->range.first;
  value.value += i;
  if (copies->is_bound) {
    compiler_push_local(
        c, (Symbol){.name = stmt->targets[0], .kind = SYMBOL_CONSTANT, .is_fixed = true, .constant = value});
  }
  if (copies->range.skips_me) {
    code_push(c, value.sort, value.value, stmt->value->span);
    code_emit(c, OP_ME, 0, 0, stmt->value->span);
    code_emit(c, OP_EQ, 0, 0, stmt->value->span);
    code_jump(c, OP_JUMP_IF, &c->loop->continues, stmt->value->span);
  }
  code_body(c, &stmt->body);
  code_patch(c, &c->loop->continues);
  scope_close(c, mark);
}

static void code_copies(Compiler *c, const Copies *copies) {
  LoopContext loop;
  int32_t locals = c->local_count;
  loop_open(c, &loop, NO_INDEX);
  for (int32_t i = 0; i < copies->range.count && compiler_work(c, copies->stmt->span); i++) {
    c->local_count = locals; /* the `let`s of one copy are those of the next */
    code_copy(c, copies, i);
  }
  loop_close(c, &loop);
}

void code_repeat(Compiler *c, const Stmt *stmt) {
  int32_t rounds;
  int32_t most = c->mode == MODE_CLIENT ? INT32_MAX : COPIES_MAX;
  if (!compiler_number(c, stmt->value, "the number of rounds", 0, most, &rounds) || rounds == 0) {
    return;
  }
  if (c->mode != MODE_CLIENT) {
    code_copies(c, &(Copies){.stmt = stmt, .range = {.count = rounds}});
    return;
  }
  ScopeMark mark = scope_open(c);
  Symbol counter = code_hidden(c, (Name){"repeat", stmt->span}, (Type){.sort = SORT_INT, .lo = 0, .hi = rounds});
  LoopContext loop;
  code_push(c, SORT_INT, rounds, stmt->value->span);
  code_store(c, &counter, stmt->span);
  int32_t head = code_label(c);
  code_counted_body(c, stmt, &loop);
  code_emit(c, OP_LOAD, counter.index, 0, stmt->span);
  code_push(c, SORT_INT, 1, stmt->span);
  code_emit(c, OP_SUB, 0, 0, stmt->span);
  code_store(c, &counter, stmt->span);
  code_emit(c, OP_LOAD, counter.index, 0, stmt->span);
  code_push(c, SORT_INT, 0, stmt->span);
  code_emit(c, OP_GT, 0, 0, stmt->span);
  code_emit(c, OP_JUMP_IF, 0, head, stmt->span);
  loop_close(c, &loop);
  scope_close(c, mark);
}

/* The values of a `for`: servers of one group, or numbers. */
static bool for_range(Compiler *c, const Stmt *stmt, Type *type) {
  Constant low, high;
  if (stmt->high == NULL) {
    Fold fold = compiler_fold(c, stmt->value, &low);
    if (fold != FOLD_YES) {
      if (fold == FOLD_NO && (stmt->value->kind != EXPR_NAME || compiler_find(c, stmt->value->name.text) != NULL)) {
        diagnostics_error(c->diagnostics, stmt->value->span,
                          "`for` ranges over a group of servers or over numbers a..b");
      } else if (fold == FOLD_NO) {
        compiler_unknown(c, stmt->value->name, "group of servers");
      }
      return false;
    }
    *type = (Type){.sort = low.sort, .lo = (int32_t)low.value, .hi = (int32_t)low.value + low.count - 1};
    if (low.sort != SORT_SERVER && low.sort != SORT_CLIENT) {
      diagnostics_error(c->diagnostics, stmt->value->span, "`for` ranges over a group of servers or over numbers a..b");
      return false;
    }
    compiler_tell_apart(c, low, stmt->value->span); /* one comes before the other */
    return true;
  }
  if (!compiler_constant(c, stmt->value, "the beginning of the range", &low) ||
      !compiler_constant(c, stmt->high, "the end of the range", &high)) {
    return false;
  }
  if (low.sort != SORT_INT || high.sort != SORT_INT) {
    const Expr *wrong = low.sort != SORT_INT ? stmt->value : stmt->high;
    diagnostics_error(c->diagnostics, wrong->span, "a `for` counts numbers; '%s' is %s", expr_text(c, wrong),
                      sort_text(low.sort != SORT_INT ? low.sort : high.sort));
    return false;
  }
  *type = (Type){.sort = SORT_INT, .lo = (int32_t)low.value, .hi = (int32_t)high.value};
  return low.value <= high.value; /* an empty range: no code */
}

static bool ranges_over_list(Compiler *c, const Stmt *stmt) {
  const Expr *over = stmt->value;
  const Symbol *symbol =
      over->kind == EXPR_INDEX && over->left->kind == EXPR_NAME ? compiler_find(c, over->left->name.text) : NULL;
  Constant folded;
  return stmt->high == NULL && symbol != NULL && symbol->kind == SYMBOL_LIST &&
         compiler_fold(c, over, &folded) == FOLD_NO;
}

/* The counter goes on to the next value, and round again. */
static void code_next_round(Compiler *c, const Symbol *counter, int32_t head, Span span) {
  code_emit(c, OP_LOAD, counter->index, 0, span);
  code_push(c, SORT_INT, 1, span);
  code_emit(c, OP_ADD, 0, 0, span);
  code_store(c, counter, span);
  code_emit(c, OP_JUMP, 0, head, span);
}

/* for n in lists[me] */
static void code_for_list(Compiler *c, const Stmt *stmt) {
  const ServerList *list;
  ScopeMark mark = scope_open(c);
  Span span = stmt->targets[0].span;
  if (!code_list_entry(c, stmt->value, &list)) {
    return;
  }
  int32_t length = list->length;
  Type type = {.sort = SORT_SERVER, .lo = list->firsts[0], .hi = list->firsts[0] + length - 1};
  for (int32_t i = 1; i < list->count; i++) {
    type.lo = MIN(type.lo, list->firsts[i]);
    type.hi = MAX(type.hi, list->firsts[i] + length - 1);
  }
  Symbol counter = code_hidden(c, stmt->targets[0], type);
  counter.is_fixed = true;
  compiler_push_local(c, counter);
  LoopContext loop;
  code_store(c, &counter, span);
  int32_t head = code_label(c);
  code_counted_body(c, stmt, &loop);
  code_emit(c, OP_LOAD, counter.index, 0, span);
  code_list_entry(c, stmt->value, &list);
  code_push(c, SORT_INT, length - 1, span);
  code_emit(c, OP_ADD, 0, 0, span);
  code_emit(c, OP_EQ, 0, 0, span);
  code_jump(c, OP_JUMP_IF, &loop.breaks, span);
  code_next_round(c, &counter, head, span);
  loop_close(c, &loop);
  scope_close(c, mark);
}

static bool is_name(const Expr *expr, const char *name) {
  return expr != NULL && expr->kind == EXPR_NAME && strcmp(expr->name.text, name) == 0;
}

static bool is_change(const Stmt *stmt) {
  return stmt->kind == STMT_ASSIGN || stmt->kind == STMT_ADD || stmt->kind == STMT_SUB || stmt->kind == STMT_TIMER_IN ||
         stmt->kind == STMT_TIMER_OFF;
}

/* Whether the block changes (an element of) the variable or timer. */
static bool changes(const Block *block, const char *name) {
  for (int32_t i = 0; i < block->count; i++) {
    const Stmt *stmt = block->items[i];
    if ((is_change(stmt) && strcmp(stmt->targets[0].text, name) == 0) || changes(&stmt->body, name) ||
        changes(&stmt->other, name)) {
      return true;
    }
  }
  return false;
}

/* Whether an expression reads nothing that another copy of the loop's body has changed before, and draws no number. */
static bool reads_its_own(const Expr *expr, const Block *loop, const char *process) {
  if (expr == NULL) {
    return true;
  }
  switch (expr->kind) {
  case EXPR_NAME: return !changes(loop, expr->name.text);
  case EXPR_ARMED: return !changes(loop, expr->name.text) || is_name(expr->left, process);
  case EXPR_INDEX:
    if (expr->left->kind == EXPR_NAME && is_name(expr->right, process)) {
      return true;
    }
    break;
  case EXPR_NEXT: return false;
  default: break;
  }
  return reads_its_own(expr->left, loop, process) && reads_its_own(expr->right, loop, process) &&
         reads_its_own(expr->third, loop, process);
}

/* A message to the process itself: those of two copies travel on two connections. */
static bool tells_its_own(const Call *call, const Block *loop, const char *process) {
  bool is_own = !call->to_all && is_name(call->target, process);
  for (int32_t a = 0; a < call->arg_count && is_own; a++) {
    is_own = reads_its_own(call->args[a], loop, process);
  }
  return is_own;
}

/* Whether the copies of the body for one process and for another may change places: each only tells its own process
 * something and changes the elements of its own process, and none reads what another one changes. */
static bool is_even_handed(const Block *body, const Block *loop, const char *process) {
  for (int32_t i = 0; i < body->count; i++) {
    const Stmt *stmt = body->items[i];
    bool is_own =
        is_change(stmt) && stmt->target_count == 1 && stmt->indices != NULL && is_name(stmt->indices[0], process);
    bool is_if = stmt->kind == STMT_IF && is_even_handed(&stmt->body, loop, process) &&
                 is_even_handed(&stmt->other, loop, process);
    bool is_tell = stmt->kind == STMT_TELL && tells_its_own(stmt->call, loop, process);
    if ((!is_own && !is_if && !is_tell && stmt->kind != STMT_CONTINUE) || !reads_its_own(stmt->value, loop, process)) {
      return false;
    }
  }
  return true;
}

static void code_for_at_once(Compiler *c, const Stmt *stmt) {
  Copies copies = {.stmt = stmt, .is_bound = true};
  if (!code_range(c, stmt->value, stmt->high, "what a `for` ranges over", &copies.range)) {
    return;
  }
  if (copies.range.first.sort != SORT_INT && !is_even_handed(&stmt->body, &stmt->body, stmt->targets[0].text)) {
    Constant processes = copies.range.first;
    processes.count = copies.range.count;
    compiler_tell_apart(c, processes, stmt->value->span);
  }
  code_copies(c, &copies);
}

void code_for(Compiler *c, const Stmt *stmt) {
  Type type;
  if (c->mode != MODE_CLIENT) {
    code_for_at_once(c, stmt);
    return;
  }
  if (ranges_over_list(c, stmt)) {
    code_for_list(c, stmt);
    return;
  }
  if (!for_range(c, stmt, &type)) {
    return;
  }
  ScopeMark mark = scope_open(c);
  Symbol counter = code_hidden(c, stmt->targets[0], type);
  counter.is_fixed = true;
  compiler_push_local(c, counter);
  LoopContext loop;
  Span span = stmt->targets[0].span;
  code_push(c, type.sort, type.lo, span);
  code_store(c, &counter, span);
  int32_t head = code_label(c);
  code_counted_body(c, stmt, &loop);
  if (type.lo < type.hi) {
    code_emit(c, OP_LOAD, counter.index, 0, span);
    code_push(c, type.sort, type.hi, span);
    code_emit(c, OP_EQ, 0, 0, span);
    code_jump(c, OP_JUMP_IF, &loop.breaks, span);
    code_next_round(c, &counter, head, span);
  }
  loop_close(c, &loop);
  scope_close(c, mark);
}

void code_leave(Compiler *c, Span span) {
  code_pause_point(c, span);
  code_emit(c, OP_LEAVE, (int32_t)c->criticals.count - 1, 0, span);
}

void code_exit_loop(Compiler *c, const Stmt *stmt) {
  LoopContext *loop = c->loop;
  bool is_break = stmt->kind == STMT_BREAK;
  if (loop == NULL) {
    diagnostics_error(c->diagnostics, stmt->span, "there is no loop here to %s", is_break ? "leave" : "continue");
    return;
  }
  if (c->critical_count > loop->critical_count) {
    code_leave(c, stmt->span);
  }
  if (is_break) {
    code_jump(c, OP_JUMP, &loop->breaks, stmt->span);
  } else if (loop->head != NO_INDEX) {
    code_emit(c, OP_JUMP, 0, loop->head, stmt->span);
  } else {
    code_jump(c, OP_JUMP, &loop->continues, stmt->span);
  }
}
