#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

static void code_block(Compiler *c, const Block *block);

/* Variables that the user did not declare: loop counters, `let`, arguments of a `def`. One whose scope has ended is
 * taken again by the next of the same name and type. */
Symbol code_hidden(Compiler *c, Name name, Type type) {
  char *hidden = g_strconcat(".", name.text, NULL);
  uint32_t index = 0;
  for (; index < c->variables.count; index++) {
    const Variable *variable = &c->variables.items[index];
    bool is_free = (c->hidden_in_use >> index & 1) == 0;
    if (is_free && strcmp(variable->name, hidden) == 0 && variable->type.sort == type.sort &&
        variable->type.lo == type.lo && variable->type.hi == type.hi && variable->type.optional == type.optional) {
      break;
    }
  }
  if (index == c->variables.count && index < CLIENT_VARIABLES_MAX) {
    Variable added = {.name = hidden, .type = type, .extent = {.count = 1}, .initial_sort = SORT_NONE, .span = name.span};
    if (type.sort == SORT_INT || type.sort == SORT_BOOL || type.sort == SORT_SERVER) {
      added.initial_sort = type.sort;
      added.initial = type.lo;
    } else if (type.sort == SORT_TICKET) {
      added.initial_sort = SORT_TICKET;
      added.initial = TICKET_BOTTOM;
    }
    vec_push(&c->variables, added);
  } else {
    g_free(hidden);
  }
  if (index >= CLIENT_VARIABLES_MAX) {
    diagnostics_error(c->diagnostics, name.span, "a client has at most %d variables, loop counters and `let`s included",
                      CLIENT_VARIABLES_MAX);
    c->exhausted = true;
    index = 0;
  }
  c->hidden_in_use |= UINT64_C(1) << index;
  Shape shape = {type.sort, type.optional, type.lo, type.hi};
  return (Symbol){.name = name, .kind = SYMBOL_VARIABLE, .index = (int32_t)index, .shape = shape};
}

Type type_of_shape(Shape shape) {
  Sort sort = shape.sort == SORT_NONE || shape.sort == SORT_WORD || shape.sort == SORT_DURATION ? SORT_REPLY : shape.sort;
  Type type = {.sort = sort, .optional = shape.optional};
  if (sort == SORT_INT || sort == SORT_BOOL || sort == SORT_SERVER) {
    type.lo = (int32_t)shape.lo;
    type.hi = (int32_t)shape.hi;
  }
  return type;
}

typedef struct ScopeMark {
  uint32_t local_count;
  uint64_t hidden_in_use;
} ScopeMark;

static ScopeMark scope_open(const Compiler *c) {
  return (ScopeMark){c->locals.count, c->hidden_in_use};
}

static void scope_close(Compiler *c, ScopeMark mark) {
  c->locals.count = mark.local_count;
  c->hidden_in_use = mark.hidden_in_use;
}

/* Assignment */

static void check_store(Compiler *c, Name name, const Symbol *target, const Expr *value, Shape shape) {
  Shape wanted = target->shape;
  if (wanted.sort == SORT_REPLY || shape.sort == SORT_REPLY) {
    return;
  }
  if (shape.sort == SORT_NONE) {
    if (!wanted.optional) {
      diagnostics_error(c->diagnostics, value->span, "'%s' is never none; declare it with a `?` after its type", name.text);
    }
  } else if (shape.sort != wanted.sort) {
    diagnostics_error(c->diagnostics, value->span, "'%s' is %s; it cannot take %s", name.text, sort_text(wanted.sort),
                      sort_text(shape.sort));
  } else if (shape.sort == SORT_INT && (shape.hi < wanted.lo || shape.lo > wanted.hi)) {
    diagnostics_error(c->diagnostics, value->span, "'%s' lies in %d..%d; this is outside", name.text, (int32_t)wanted.lo,
                      (int32_t)wanted.hi);
  }
}

static const Symbol *assigned_symbol(Compiler *c, Name name) {
  const Symbol *symbol = compiler_find(c, name.text);
  if (symbol == NULL) {
    compiler_unknown(c, name, "variable");
    return NULL;
  }
  if ((symbol->kind != SYMBOL_VARIABLE && symbol->kind != SYMBOL_LOCAL) || symbol->is_fixed) {
    const char *why = symbol->kind == SYMBOL_TIMER ? "is a timer; write `in` a duration or `off` behind it"
                      : symbol->kind == SYMBOL_ARG ? "is an argument and keeps its value"
                      : symbol->is_fixed           ? "is a loop counter or an argument and cannot be assigned"
                                                   : "is a constant";
    diagnostics_error(c->diagnostics, name.span, "'%s' %s", name.text, why);
    return NULL;
  }
  return symbol;
}

static void store(Compiler *c, const Symbol *symbol, Span span) {
  code_emit(c, symbol->kind == SYMBOL_LOCAL ? OP_STORE_LOCAL : OP_STORE, symbol->index, 0, span);
}

/* stamp = now, stamp = other stamp */
static void code_stamp(Compiler *c, const Symbol *symbol, const Expr *value, Span span) {
  const Symbol *from = value->kind == EXPR_NAME ? compiler_find(c, value->name.text) : NULL;
  if (value->kind == EXPR_NOW) {
    int32_t index = symbol->index;
    code_pause_point(c, span);
    code_emit(c, OP_STAMP, index, 0, span);
  } else if (from != NULL && from->kind == SYMBOL_VARIABLE && from->shape.sort == SORT_STAMP) {
    if (c->variables.items[from->index].type.on_wall != c->variables.items[symbol->index].type.on_wall) {
      diagnostics_error(c->diagnostics, value->span, "the two stamps are read on different clocks");
    }
    code_emit(c, OP_STAMP_COPY, symbol->index, from->index, span);
  } else {
    diagnostics_error(c->diagnostics, value->span, "a stamp takes `now` or another stamp");
  }
}

static void code_assign_many(Compiler *c, const Stmt *stmt) {
  if (stmt->value->kind != EXPR_ASK) {
    diagnostics_error(c->diagnostics, stmt->value->span, "several variables take the values of one `ask`");
    return;
  }
  int32_t values = code_ask(c, stmt->value);
  if (stmt->target_count > values) {
    diagnostics_error(c->diagnostics, stmt->targets[values].span, "'%s' replies at most %d value%s",
                      stmt->value->call->handler.text, values, values == 1 ? "" : "s");
  }
  for (int32_t i = 0; i < stmt->target_count; i++) {
    const Symbol *symbol = stmt->kind == STMT_LET ? NULL : assigned_symbol(c, stmt->targets[i]);
    Symbol fresh;
    if (stmt->kind == STMT_LET) {
      fresh = code_hidden(c, stmt->targets[i], (Type){.sort = SORT_REPLY});
      compiler_push_local(c, fresh);
      symbol = &fresh;
    }
    if (symbol != NULL) {
      code_emit(c, OP_REPLY_VALUE, i, 0, stmt->targets[i].span);
      store(c, symbol, stmt->targets[i].span);
    }
  }
}

static void code_assign(Compiler *c, const Stmt *stmt) {
  if (stmt->target_count > 1) {
    code_assign_many(c, stmt);
    return;
  }
  const Symbol *found = assigned_symbol(c, stmt->targets[0]);
  if (found == NULL) {
    return;
  }
  Symbol symbol = *found; /* the lists of symbols may move */
  if (symbol.shape.sort == SORT_STAMP) {
    code_stamp(c, &symbol, stmt->value, stmt->span);
    return;
  }
  Shape shape = code_value_as(c, stmt->value, symbol.shape.sort);
  check_store(c, stmt->targets[0], &symbol, stmt->value, shape);
  store(c, &symbol, stmt->span);
}

static void code_increment(Compiler *c, const Stmt *stmt) {
  const Symbol *found = assigned_symbol(c, stmt->targets[0]);
  if (found == NULL) {
    return;
  }
  Symbol symbol = *found;
  if (symbol.shape.sort != SORT_INT && symbol.shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, stmt->targets[0].span, "'%s' is %s, not a number", stmt->targets[0].text,
                      sort_text(symbol.shape.sort));
    return;
  }
  code_emit(c, symbol.kind == SYMBOL_LOCAL ? OP_LOAD_LOCAL : OP_LOAD, symbol.index, 0, stmt->targets[0].span);
  c->pending++;
  Shape shape = code_value(c, stmt->value);
  c->pending--;
  if (shape.sort != SORT_INT && shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, stmt->value->span, "'%s' is %s, not a number", expr_text(c, stmt->value),
                      sort_text(shape.sort));
  }
  code_emit(c, stmt->kind == STMT_ADD ? OP_ADD : OP_SUB, 0, 0, stmt->span);
  store(c, &symbol, stmt->span);
}

static void code_let_in_handler(Compiler *c, const Stmt *stmt) {
  Shape shape = code_value(c, stmt->value);
  if (c->local_count >= CLIENT_VARIABLES_MAX) {
    diagnostics_error(c->diagnostics, stmt->span, "a handler has at most %d `let`s", CLIENT_VARIABLES_MAX);
    return;
  }
  if (shape.sort == SORT_NONE) {
    shape.sort = SORT_REPLY;
  }
  Symbol symbol = {.name = stmt->targets[0], .kind = SYMBOL_LOCAL, .index = c->local_count++, .shape = shape};
  store(c, &symbol, stmt->span);
  compiler_push_local(c, symbol);
}

static void code_let(Compiler *c, const Stmt *stmt) {
  if (stmt->target_count > 1) {
    code_assign_many(c, stmt);
  } else if (c->mode == MODE_HANDLER) {
    code_let_in_handler(c, stmt);
  } else if (stmt->value->kind == EXPR_NOW) {
    Symbol symbol = code_hidden(c, stmt->targets[0], (Type){.sort = SORT_STAMP});
    code_stamp(c, &symbol, stmt->value, stmt->span);
    compiler_push_local(c, symbol);
  } else {
    Shape shape = code_value(c, stmt->value);
    Symbol symbol = code_hidden(c, stmt->targets[0], type_of_shape(shape));
    store(c, &symbol, stmt->span);
    compiler_push_local(c, symbol);
  }
}

/* Control */

static void code_if(Compiler *c, const Stmt *stmt) {
  Patches no = {0}, end = {0};
  code_condition(c, stmt->value, false, &no);
  code_block(c, &stmt->body);
  if (stmt->other.count > 0) {
    code_jump(c, OP_JUMP, &end, stmt->span);
  }
  code_patch(c, &no);
  code_block(c, &stmt->other);
  code_patch(c, &end);
}

static bool is_inlined(const Compiler *c, const HandlerDecl *def) {
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
    if (stmt->kind != STMT_RUN || !compiler_work(c, stmt->span)) {
      continue;
    }
    const ClientDecl *client = c->decl->clients[c->kind];
    for (int32_t d = 0; d < client->def_count; d++) {
      bool is_called = strcmp(client->defs[d]->name.text, stmt->targets[0].text) == 0;
      if (is_called && !is_inlined(c, client->defs[d]) && c->inlined_count < AST_DEPTH_MAX) {
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

static void code_attempt(Compiler *c, const Block *body, Span span) {
  if (enters_directly(c, body)) {
    code_emit(c, OP_ATTEMPT, 0, 0, span);
  }
}

/* `loop` and `while`: nothing bounds them, so each round must let time pass. */
static void code_while(Compiler *c, const Stmt *stmt) {
  LoopContext loop;
  int32_t head = code_label(c);
  bool is_reached = !c->dead;
  loop_open(c, &loop, head);
  if (stmt->kind == STMT_WHILE) {
    code_condition(c, stmt->value, false, &loop.breaks);
  }
  code_attempt(c, &stmt->body, stmt->span);
  code_block(c, &stmt->body);
  code_emit(c, OP_JUMP, 0, head, stmt->span);
  if (is_reached) {
    vec_push(&c->loop_checks, ((LoopCheck){head, (int32_t)c->code.count, stmt->span}));
  }
  loop_close(c, &loop);
}

static void code_counted_body(Compiler *c, const Stmt *stmt, LoopContext *loop) {
  loop_open(c, loop, NO_INDEX);
  code_attempt(c, &stmt->body, stmt->span);
  code_block(c, &stmt->body);
  code_patch(c, &loop->continues);
}

static void code_repeat(Compiler *c, const Stmt *stmt) {
  int32_t rounds;
  if (!compiler_number(c, stmt->value, "the number of rounds", 0, INT32_MAX, &rounds) || rounds == 0) {
    return;
  }
  ScopeMark mark = scope_open(c);
  Symbol counter = code_hidden(c, (Name){"repeat", stmt->span}, (Type){.sort = SORT_INT, .lo = 0, .hi = rounds});
  LoopContext loop;
  code_push(c, SORT_INT, rounds, stmt->value->span);
  store(c, &counter, stmt->span);
  int32_t head = code_label(c);
  code_counted_body(c, stmt, &loop);
  code_emit(c, OP_LOAD, counter.index, 0, stmt->span);
  code_push(c, SORT_INT, 1, stmt->span);
  code_emit(c, OP_SUB, 0, 0, stmt->span);
  store(c, &counter, stmt->span);
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
        diagnostics_error(c->diagnostics, stmt->value->span, "`for` ranges over a group of servers or over numbers a..b");
      } else if (fold == FOLD_NO) {
        compiler_unknown(c, stmt->value->name, "group of servers");
      }
      return false;
    }
    if (low.sort == SORT_CLIENT) {
      diagnostics_error(c->diagnostics, stmt->value->span, "`for` over clients is not supported yet");
      return false;
    }
    *type = (Type){.sort = low.sort, .lo = (int32_t)low.value, .hi = (int32_t)low.value + low.count - 1};
    if (low.sort != SORT_SERVER) {
      diagnostics_error(c->diagnostics, stmt->value->span, "`for` ranges over a group of servers or over numbers a..b");
    }
    return low.sort == SORT_SERVER;
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

static void code_for(Compiler *c, const Stmt *stmt) {
  Type type;
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
  store(c, &counter, span);
  int32_t head = code_label(c);
  code_counted_body(c, stmt, &loop);
  if (type.lo < type.hi) {
    code_emit(c, OP_LOAD, counter.index, 0, span);
    code_push(c, type.sort, type.hi, span);
    code_emit(c, OP_EQ, 0, 0, span);
    code_jump(c, OP_JUMP_IF, &loop.breaks, span);
    code_emit(c, OP_LOAD, counter.index, 0, span);
    code_push(c, SORT_INT, 1, span);
    code_emit(c, OP_ADD, 0, 0, span);
    store(c, &counter, span);
    code_emit(c, OP_JUMP, 0, head, span);
  }
  loop_close(c, &loop);
  scope_close(c, mark);
}

static void code_leave(Compiler *c, Span span) {
  code_pause_point(c, span);
  code_emit(c, OP_LEAVE, (int32_t)c->criticals.count - 1, 0, span);
}

static void code_exit_loop(Compiler *c, const Stmt *stmt) {
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

static void code_stop(Compiler *c, const Stmt *stmt) {
  if (c->critical_count > 0) {
    code_leave(c, stmt->span);
  }
  code_emit(c, OP_STOP, 0, 0, stmt->span);
}

static void code_critical(Compiler *c, const Stmt *stmt) {
  if (c->critical_count > 0) {
    diagnostics_error(c->diagnostics, stmt->span, "a critical section inside another is not supported yet");
    return;
  }
  Critical critical = {.has_fence = stmt->value != NULL, .permits = 1, .span = stmt->span};
  vec_push(&c->criticals, critical);
  code_pause_point(c, stmt->span);
  if (stmt->value != NULL) {
    Shape shape = code_value(c, stmt->value);
    if (shape.sort != SORT_TICKET && shape.sort != SORT_REPLY) {
      diagnostics_error(c->diagnostics, stmt->value->span, "a fence is a ticket; '%s' is %s", expr_text(c, stmt->value),
                        sort_text(shape.sort));
    }
  }
  code_emit(c, OP_ENTER, (int32_t)c->criticals.count - 1, 0, stmt->span);
  c->critical_count++;
  code_block(c, &stmt->body);
  if (!c->dead) {
    code_leave(c, stmt->span);
  }
  c->critical_count--;
}

static const HandlerDecl *find_def(Compiler *c, Name name) {
  const ClientDecl *client = c->decl->clients[c->kind];
  NameList names = {0};
  for (int32_t i = 0; i < client->def_count; i++) {
    if (strcmp(client->defs[i]->name.text, name.text) == 0) {
      vec_free(&names);
      return client->defs[i];
    }
    vec_push(&names, client->defs[i]->name.text);
  }
  const char *nearest = nearest_find(name.text, names.items, names.count);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, name.span, "there is no `def %s`; did you mean '%s'?", name.text, nearest);
  } else {
    diagnostics_error(c->diagnostics, name.span, "there is no `def %s` in this client", name.text);
  }
  vec_free(&names);
  return NULL;
}

/* Arguments become constants or hidden variables. The body sees them and the client's variables, nothing else. */
static void bind_arguments(Compiler *c, const Stmt *stmt, const HandlerDecl *def, Symbol *bound) {
  int32_t declared = c->decl->clients[c->kind]->variable_count;
  for (int32_t i = 0; i < def->param_count; i++) {
    Constant value;
    Fold fold = compiler_fold(c, stmt->args[i], &value);
    const Symbol *hidden = stmt->args[i]->kind == EXPR_NAME ? compiler_find(c, stmt->args[i]->name.text) : NULL;
    if (hidden != NULL && hidden->kind == SYMBOL_VARIABLE && hidden->index >= declared) {
      bound[i] = *hidden; /* the body cannot see it, and so not change it: no copy */
      bound[i].name = def->params[i];
      bound[i].is_fixed = true;
    } else if (fold == FOLD_YES) {
      bound[i] = (Symbol){.name = def->params[i], .kind = SYMBOL_CONSTANT, .constant = value};
    } else {
      Shape shape = code_value(c, stmt->args[i]);
      bound[i] = code_hidden(c, def->params[i], type_of_shape(shape));
      bound[i].is_fixed = true;
      store(c, &bound[i], stmt->args[i]->span);
    }
  }
}

static void code_run(Compiler *c, const Stmt *stmt) {
  const HandlerDecl *def = c->mode == MODE_CLIENT ? find_def(c, stmt->targets[0]) : NULL;
  if (c->mode != MODE_CLIENT) {
    diagnostics_error(c->diagnostics, stmt->span, "a service has no `def`s");
  }
  if (def == NULL || !compiler_work(c, stmt->span)) {
    return;
  }
  if (def->param_count != stmt->arg_count) {
    diagnostics_error(c->diagnostics, stmt->span, "'%s' takes %d argument%s, not %d", def->name.text, def->param_count,
                      def->param_count == 1 ? "" : "s", stmt->arg_count);
    return;
  }
  if (is_inlined(c, def) || c->inlined_count == AST_DEPTH_MAX / 10) {
    diagnostics_error(c->diagnostics, stmt->span, "a `def` is copied to where it is called, so it cannot call itself");
    return;
  }
  ScopeMark mark = scope_open(c);
  Symbol bound[PROGRAM_ARGS_MAX];
  bind_arguments(c, stmt, def, bound);
  /* The caller's own names are out of sight: the client's variables lie lowest. */
  VEC(Symbol) hidden = {0};
  uint32_t declared = (uint32_t)c->decl->clients[c->kind]->variable_count;
  for (uint32_t i = declared; i < c->locals.count; i++) {
    vec_push(&hidden, c->locals.items[i]);
  }
  c->locals.count = MIN(declared, c->locals.count);
  for (int32_t i = 0; i < def->param_count; i++) {
    compiler_push_local(c, bound[i]);
  }
  LoopContext *loop = c->loop;
  c->loop = NULL; /* break and continue do not reach through a def */
  c->inlined[c->inlined_count++] = def;
  code_block(c, &def->body);
  c->inlined_count--;
  c->loop = loop;
  c->locals.count = MIN(declared, c->locals.count);
  for (uint32_t i = 0; i < hidden.count; i++) {
    vec_push(&c->locals, hidden.items[i]);
  }
  vec_free(&hidden);
  scope_close(c, mark);
}

/* wait */

typedef VEC(const Expr *) ExprList;
typedef VEC(UntilAge) UntilAgeList;

static void split_disjuncts(const Expr *expr, ExprList *list) {
  if (expr->kind == EXPR_BINARY && expr->op == BINARY_OR) {
    split_disjuncts(expr->left, list);
    split_disjuncts(expr->right, list);
  } else {
    vec_push(list, expr);
  }
}

static void until_age(Compiler *c, const Expr *expr, UntilAgeList *ages) {
  bool below;
  int32_t variable, process, duration;
  bool is_comparison = expr->kind == EXPR_BINARY && (expr->left->kind == EXPR_AGE || expr->right->kind == EXPR_AGE);
  if (!is_comparison) {
    diagnostics_error(c->diagnostics, expr->span,
                      "after `until` an age stands alone or behind `or`: `age(…) >= 10s or done`; here it is mixed with something else");
    return;
  }
  if (!code_age(c, expr, &below, &variable, &process, &duration)) {
    return;
  }
  if (below) {
    diagnostics_error(c->diagnostics, expr->op_span, "a wait ends when an age is reached, so write `%s >= %s`",
                      expr_text(c, expr->left), expr_text(c, expr->right));
    return;
  }
  UntilAge age = {(int16_t)variable, duration};
  vec_push(ages, age);
}

/* The part of an `until` without ages, as a block of its own behind the client's code. */
static void defer_until(Compiler *c, const ExprList *plain, Span span) {
  Code outer = c->code;
  bool dead = c->dead;
  int32_t label_at = c->label_at;
  c->code = (Code){0};
  c->dead = false;
  c->label_at = NO_INDEX;
  c->mode = MODE_UNTIL;
  Patches yes = {0};
  for (uint32_t i = 0; i < plain->count; i++) {
    code_condition(c, plain->items[i], true, &yes);
  }
  code_push(c, SORT_BOOL, 0, span);
  code_emit(c, OP_RETURN, 0, 0, span);
  code_patch(c, &yes);
  if (!c->dead) {
    code_push(c, SORT_BOOL, 1, span);
    code_emit(c, OP_RETURN, 0, 0, span);
  }
  Deferred block = {(int32_t)c->waits.count, c->code};
  vec_push(&c->deferred, block);
  c->mode = MODE_CLIENT;
  c->code = outer;
  c->dead = dead;
  c->label_at = label_at;
}

static void code_until(Compiler *c, const Expr *until, Wait *wait) {
  ExprList disjuncts = {0}, plain = {0};
  UntilAgeList ages = {0};
  split_disjuncts(until, &disjuncts);
  for (uint32_t i = 0; i < disjuncts.count; i++) {
    if (disjuncts.items[i]->has_age) {
      until_age(c, disjuncts.items[i], &ages);
    } else {
      vec_push(&plain, disjuncts.items[i]);
    }
  }
  if (plain.count > 0) {
    defer_until(c, &plain, until->span);
  }
  wait->age_count = (int32_t)ages.count;
  wait->ages = g_memdup2(ages.items, ages.count * sizeof *ages.items);
  vec_free(&ages);
  vec_free(&disjuncts);
  vec_free(&plain);
}

static void code_wait(Compiler *c, const Stmt *stmt) {
  Wait wait = {.lo_us = 0, .hi_us = DURATION_INFINITE, .until_entry = NO_INDEX, .span = stmt->span};
  Window window = {0, DURATION_INFINITE};
  if (stmt->value != NULL && !compiler_window(c, stmt->value, stmt->high, "a wait", &window)) {
    return;
  }
  wait.lo_us = window.lo_us;
  wait.hi_us = window.hi_us;
  if (stmt->until != NULL && stmt->until->has_ask) {
    diagnostics_error(c->diagnostics, stmt->until->span, "an `until` cannot ask; write a loop with an `ask` and a short `wait`");
    return;
  }
  if (stmt->until != NULL) {
    code_until(c, stmt->until, &wait);
  }
  vec_push(&c->waits, wait);
  code_emit(c, OP_WAIT, (int32_t)c->waits.count - 1, 0, stmt->span);
}

/* Statements of services */

static void code_reply(Compiler *c, const Stmt *stmt) {
  for (int32_t i = 0; i < stmt->arg_count; i++) {
    const Expr *value = stmt->args[i];
    c->pending += i > 0;
    if (value->kind == EXPR_NAME && compiler_find(c, value->name.text) == NULL) {
      code_push(c, SORT_WORD, compiler_word(c, value->name.text), value->span);
    } else {
      code_value(c, value);
    }
  }
  c->pending = 0;
  code_emit(c, OP_REPLY, stmt->arg_count, 0, stmt->span);
}

static void code_timer(Compiler *c, const Stmt *stmt) {
  const Symbol *symbol = compiler_find(c, stmt->targets[0].text);
  if (symbol == NULL || symbol->kind != SYMBOL_TIMER) {
    compiler_unknown(c, stmt->targets[0], "timer");
    return;
  }
  int32_t index = symbol->index;
  if (stmt->kind == STMT_TIMER_OFF) {
    code_emit(c, OP_TIMER_OFF, index, 0, stmt->span);
    return;
  }
  Shape shape = code_value(c, stmt->value);
  if (shape.sort != SORT_DURATION && shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, stmt->value->span, "a timer fires after a duration; '%s' is %s",
                      expr_text(c, stmt->value), sort_text(shape.sort));
  }
  code_emit(c, OP_TIMER_SET, index, 0, stmt->span);
}

static void code_resource(Compiler *c, const Stmt *stmt) {
  Service *service = &c->program->services[c->service];
  bool observes = stmt->kind == STMT_OBSERVE;
  service->observes = service->observes || observes;
  service->commits = service->commits || !observes;
  code_emit(c, observes ? OP_OBSERVE : OP_COMMIT, 0, 0, stmt->span);
}

static void code_ask_statement(Compiler *c, const Stmt *stmt) {
  if (stmt->value->kind == EXPR_ASK) {
    code_ask(c, stmt->value);
  } else {
    diagnostics_error(c->diagnostics, stmt->value->span, "this does nothing with what it computes; write `if` in front of it");
  }
}

static void code_tell_statement(Compiler *c, const Stmt *stmt) {
  code_tell(c, stmt->call);
}

static void code_yield(Compiler *c, const Stmt *stmt) {
  code_emit(c, OP_YIELD, 0, 0, stmt->span);
}

enum { IN_CLIENT = 1, IN_SERVICE = 2, ANYWHERE = 3 };

static const struct {
  int where;
  void (*code)(Compiler *c, const Stmt *stmt);
} statements[] = {
    [STMT_ASSIGN] = {ANYWHERE, code_assign},       [STMT_ADD] = {ANYWHERE, code_increment},
    [STMT_SUB] = {ANYWHERE, code_increment},       [STMT_LET] = {ANYWHERE, code_let},
    [STMT_IF] = {ANYWHERE, code_if},               [STMT_WHILE] = {IN_CLIENT, code_while},
    [STMT_LOOP] = {IN_CLIENT, code_while},         [STMT_REPEAT] = {IN_CLIENT, code_repeat},
    [STMT_FOR] = {IN_CLIENT, code_for},            [STMT_BREAK] = {IN_CLIENT, code_exit_loop},
    [STMT_CONTINUE] = {IN_CLIENT, code_exit_loop}, [STMT_STOP] = {IN_CLIENT, code_stop},
    [STMT_ASK] = {IN_CLIENT, code_ask_statement},  [STMT_TELL] = {ANYWHERE, code_tell_statement},
    [STMT_WAIT] = {IN_CLIENT, code_wait},          [STMT_YIELD] = {IN_CLIENT, code_yield},
    [STMT_CRITICAL] = {IN_CLIENT, code_critical},  [STMT_RUN] = {ANYWHERE, code_run},
    [STMT_REPLY] = {IN_SERVICE, code_reply},       [STMT_TIMER_IN] = {IN_SERVICE, code_timer},
    [STMT_TIMER_OFF] = {IN_SERVICE, code_timer},   [STMT_OBSERVE] = {IN_SERVICE, code_resource},
    [STMT_COMMIT] = {IN_SERVICE, code_resource},
};

static void code_block(Compiler *c, const Block *block) {
  ScopeMark mark = scope_open(c);
  for (int32_t i = 0; i < block->count && !c->exhausted; i++) {
    const Stmt *stmt = block->items[i];
    int here = c->mode == MODE_CLIENT ? IN_CLIENT : IN_SERVICE;
    if ((statements[stmt->kind].where & here) == 0) {
      diagnostics_error(c->diagnostics, stmt->span, "this statement belongs to %s",
                        here == IN_CLIENT ? "a service, not to a client" : "a client, not to a service");
    } else {
      statements[stmt->kind].code(c, stmt);
    }
  }
  scope_close(c, mark);
}

static void append_deferred(Compiler *c) {
  for (uint32_t i = 0; i < c->deferred.count; i++) {
    Deferred *block = &c->deferred.items[i];
    int32_t base = (int32_t)c->code.count;
    c->waits.items[block->wait].until_entry = base;
    for (uint32_t pc = 0; pc < block->code.count; pc++) {
      Instr instr = block->code.items[pc];
      if (instr.op == OP_JUMP || instr.op == OP_JUMP_IF || instr.op == OP_JUMP_UNLESS) {
        instr.operand += base;
      }
      vec_push(&c->code, instr);
    }
    vec_free(&block->code);
  }
  c->deferred.count = 0;
}

void code_client(Compiler *c, const ClientDecl *client) {
  Span span = client->span;
  c->dead = false;
  code_label(c);
  ClientKind *kind = &c->program->kinds[c->kind];
  kind->entry = kind->tasks[0].entry = (int32_t)c->code.count;
  kind->task_count = 1;
  code_attempt(c, &client->body, span);
  code_block(c, &client->body);
  code_emit(c, OP_STOP, 0, 0, span);
  append_deferred(c);
}

void code_handler_body(Compiler *c, const Block *body) {
  code_block(c, body);
}
