#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

#define PERMITS_MAX 1000

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
        variable->type.lo == type.lo && variable->type.hi == type.hi && variable->type.optional == type.optional &&
        variable->type.on_wall == type.on_wall) {
      break;
    }
  }
  if (index == c->variables.count && index < CLIENT_VARIABLES_MAX) {
    Variable added = {
        .name = hidden, .type = type, .extent = {.count = 1}, .initial_sort = SORT_NONE, .span = name.span};
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
  Shape shape = {type.sort, type.optional, type.lo, type.hi, type.on_wall};
  return (Symbol){
      .name = name, .kind = SYMBOL_VARIABLE, .index = (int32_t)index, .shape = shape, .extent = {.count = 1}};
}

Type type_of_shape(Shape shape) {
  Sort sort =
      shape.sort == SORT_NONE || shape.sort == SORT_WORD || shape.sort == SORT_DURATION ? SORT_REPLY : shape.sort;
  Type type = {.sort = sort, .optional = shape.optional, .on_wall = shape.on_wall};
  if (sort == SORT_INT || sort == SORT_BOOL || sort == SORT_SERVER) {
    type.lo = (int32_t)shape.lo;
    type.hi = (int32_t)shape.hi;
  }
  return type;
}

ScopeMark scope_open(const Compiler *c) {
  return (ScopeMark){c->locals.count, c->hidden_in_use};
}

void scope_close(Compiler *c, ScopeMark mark) {
  c->locals.count = mark.local_count;
  c->hidden_in_use = mark.hidden_in_use;
}

/* Assignment */

static void check_clocks(Compiler *c, const Symbol *target, const Expr *value, Shape shape) {
  if (target->shape.on_wall != shape.on_wall) {
    diagnostics_error(c->diagnostics, value->span, "the two stamps are read on different clocks");
  }
}

static void check_store(Compiler *c, Name name, const Symbol *target, const Expr *value, Shape shape) {
  Shape wanted = target->shape;
  if (wanted.sort == SORT_REPLY && shape.sort == SORT_STAMP) {
    diagnostics_error(c->diagnostics, value->span, "'%s' cannot hold a stamp; declare it as `var %s : stamp`",
                      name.text, name.text);
  }
  if (wanted.sort == SORT_REPLY || shape.sort == SORT_REPLY) {
    return;
  }
  if (shape.sort == SORT_NONE) {
    if (!wanted.optional) {
      diagnostics_error(c->diagnostics, value->span, "'%s' is never none; declare it with a `?` after its type",
                        name.text);
    }
  } else if (wanted.sort == SORT_STAMP && shape.sort != SORT_STAMP) {
    diagnostics_error(c->diagnostics, value->span, "a stamp takes `now` or another stamp");
  } else if (shape.sort != wanted.sort) {
    diagnostics_error(c->diagnostics, value->span, "'%s' is %s; it cannot take %s", name.text, sort_text(wanted.sort),
                      sort_text(shape.sort));
  } else if (shape.sort == SORT_INT && (shape.hi < wanted.lo || shape.lo > wanted.hi)) {
    diagnostics_error(c->diagnostics, value->span, "'%s' lies in %d..%d; this is outside", name.text,
                      (int32_t)wanted.lo, (int32_t)wanted.hi);
  } else if (shape.sort == SORT_STAMP) {
    check_clocks(c, target, value, shape);
  }
}

static const char *why_not_assigned(const Symbol *symbol) {
  switch (symbol->kind) {
  case SYMBOL_TIMER: return "is a timer; write `in` a duration or `off` behind it";
  case SYMBOL_ARG: return "is an argument and keeps its value";
  case SYMBOL_LIST: return "is a list of servers";
  case SYMBOL_CONSTANT:
  case SYMBOL_KIND:
    return symbol->is_fixed ? "is a loop counter or an argument and cannot be assigned" : "is a constant";
  default: return "is a loop counter or an argument and cannot be assigned";
  }
}

static const Symbol *assigned_symbol(Compiler *c, Name name) {
  const Symbol *symbol = compiler_find(c, name.text);
  if (symbol == NULL) {
    compiler_unknown(c, name, "variable");
    return NULL;
  }
  bool is_variable = symbol->kind == SYMBOL_VARIABLE || symbol->kind == SYMBOL_LOCAL || symbol->kind == SYMBOL_GHOST;
  if (!is_variable || symbol->is_fixed) {
    diagnostics_error(c->diagnostics, name.span, "'%s' %s", name.text, why_not_assigned(symbol));
    return NULL;
  }
  return symbol;
}

/* Where an assignment stores: a variable or an element of one. */
typedef struct Target {
  Symbol symbol; /* a copy: the lists of symbols may move */
  Name name;
  const Expr *index;
} Target;

static bool find_target(Compiler *c, const Stmt *stmt, int32_t which, Target *target) {
  const Symbol *symbol = assigned_symbol(c, stmt->targets[which]);
  if (symbol == NULL) {
    return false;
  }
  *target = (Target){*symbol, stmt->targets[which], stmt->indices != NULL ? stmt->indices[which] : NULL};
  return true;
}

/* Whether an index is needed; it then lies on the stack. False after a diagnostic. */
static bool code_target_index(Compiler *c, const Target *target, bool *is_indexed) {
  *is_indexed = target->index != NULL || target->symbol.extent.is_array;
  return !*is_indexed || code_index(c, target->name, &target->symbol.extent, target->index);
}

void code_store(Compiler *c, const Symbol *symbol, Span span) {
  Opcode op = symbol->kind == SYMBOL_LOCAL ? OP_STORE_LOCAL : symbol->kind == SYMBOL_GHOST ? OP_STORE_GHOST : OP_STORE;
  code_emit(c, op, symbol->index, 0, span);
}

/* The value lies on the stack. */
static void store_target(Compiler *c, const Target *target, Span span) {
  bool is_indexed;
  c->pending++;
  bool good = code_target_index(c, target, &is_indexed);
  c->pending--;
  if (good && is_indexed) {
    code_emit_element(c, target->symbol.kind == SYMBOL_GHOST ? OP_STORE_GHOST : OP_STORE, target->symbol.index, 0, true,
                      span);
  } else if (good) {
    code_store(c, &target->symbol, span);
  }
}

static bool is_plain_stamp(const Symbol *symbol) {
  return symbol != NULL && symbol->kind == SYMBOL_VARIABLE && symbol->shape.sort == SORT_STAMP &&
         !symbol->extent.is_array;
}

/* stamp = now, stamp = other stamp: of this process, so that each variable keeps what is known of it. False: something
 * else. */
static bool code_stamp(Compiler *c, const Target *target, const Expr *value, Span span) {
  const Symbol *from = value->kind == EXPR_NAME ? compiler_find(c, value->name.text) : NULL;
  Shape shape = {.sort = SORT_STAMP, .on_wall = value->number != 0};
  bool is_indexed;
  if (target->symbol.kind != SYMBOL_VARIABLE) {
    return false;
  }
  if (value->kind == EXPR_NOW) {
    if (shape.on_wall) { /* said: it must be the clock of the variable */
      check_clocks(c, &target->symbol, value, shape);
    }
    code_pause_point(c, span);
    if (code_target_index(c, target, &is_indexed)) {
      code_emit_element(c, OP_STAMP, target->symbol.index, 0, is_indexed, span);
    }
    return true;
  }
  if (is_plain_stamp(from) && is_plain_stamp(&target->symbol) && target->index == NULL) {
    check_clocks(c, &target->symbol, value, from->shape);
    code_emit(c, OP_STAMP_COPY, target->symbol.index, from->index, span);
    return true;
  }
  return false;
}

/* Assigns the value of an expression; to a ghost it may come from ghosts. */
static void code_assign_value(Compiler *c, const Target *target, const Expr *value, Span span) {
  bool is_ghost = target->symbol.kind == SYMBOL_GHOST;
  c->reads_ghosts += is_ghost;
  if (target->symbol.shape.sort != SORT_STAMP || !code_stamp(c, target, value, span)) {
    Shape shape = code_value_as(c, value, target->symbol.shape.sort);
    check_store(c, target->name, &target->symbol, value, shape);
    store_target(c, target, span);
  }
  c->reads_ghosts -= is_ghost;
}

static void code_assign_many(Compiler *c, const Stmt *stmt) {
  Shape value;
  if (stmt->value->kind != EXPR_ASK) {
    diagnostics_error(c->diagnostics, stmt->value->span, "several variables take the values of one `ask`");
    return;
  }
  int32_t values = code_ask(c, stmt->value, &value);
  if (stmt->target_count > values) {
    diagnostics_error(c->diagnostics, stmt->targets[values].span, "'%s' replies at most %d value%s",
                      stmt->value->call->handler.text, values, values == 1 ? "" : "s");
  }
  for (int32_t i = 0; i < stmt->target_count; i++) {
    Target target = {.name = stmt->targets[i]};
    if (stmt->kind == STMT_LET) {
      target.symbol = code_hidden(c, stmt->targets[i], (Type){.sort = SORT_REPLY});
      compiler_push_local(c, target.symbol);
    } else if (!find_target(c, stmt, i, &target)) {
      continue;
    }
    code_emit(c, OP_REPLY_VALUE, i, 0, stmt->targets[i].span);
    store_target(c, &target, stmt->targets[i].span);
  }
}

static void code_assign(Compiler *c, const Stmt *stmt) {
  Target target;
  if (stmt->target_count > 1) {
    code_assign_many(c, stmt);
  } else if (find_target(c, stmt, 0, &target)) {
    code_assign_value(c, &target, stmt->value, stmt->span);
  }
}

static void code_increment(Compiler *c, const Stmt *stmt) {
  Target target;
  if (!find_target(c, stmt, 0, &target)) {
    return;
  }
  const Symbol *symbol = &target.symbol;
  if (symbol->shape.sort != SORT_INT && symbol->shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, stmt->targets[0].span, "'%s' is %s, not a number", stmt->targets[0].text,
                      sort_text(symbol->shape.sort));
    return;
  }
  bool is_ghost = symbol->kind == SYMBOL_GHOST;
  c->reads_ghosts += is_ghost;
  code_load(c, symbol, target.name, target.index);
  c->pending++;
  Shape shape = code_value(c, stmt->value);
  c->pending--;
  if (shape.sort != SORT_INT && shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, stmt->value->span, "'%s' is %s, not a number", expr_text(c, stmt->value),
                      sort_text(shape.sort));
  }
  code_emit(c, stmt->kind == STMT_ADD ? OP_ADD : OP_SUB, 0, 0, stmt->span);
  store_target(c, &target, stmt->span);
  c->reads_ghosts -= is_ghost;
}

Symbol code_new_variable(Compiler *c, Name name, Shape shape) {
  if (c->mode == MODE_CLIENT) {
    return code_hidden(c, name, type_of_shape(shape));
  }
  if (c->local_count >= CLIENT_VARIABLES_MAX) {
    diagnostics_error(c->diagnostics, name.span, "a handler has at most %d `let`s", CLIENT_VARIABLES_MAX);
    c->exhausted = true;
    c->local_count = 0;
  }
  shape.sort = shape.sort == SORT_NONE ? SORT_REPLY : shape.sort;
  return (Symbol){
      .name = name, .kind = SYMBOL_LOCAL, .index = c->local_count++, .shape = shape, .extent = {.count = 1}};
}

static void code_let(Compiler *c, const Stmt *stmt) {
  if (stmt->target_count > 1) {
    code_assign_many(c, stmt);
    return;
  }
  Name name = stmt->targets[0];
  if (c->mode == MODE_CLIENT && stmt->value->kind == EXPR_NOW) {
    Target target = {.symbol = code_hidden(c, name, (Type){.sort = SORT_STAMP, .on_wall = stmt->value->number != 0}),
                     .name = name};
    code_stamp(c, &target, stmt->value, stmt->span);
    compiler_push_local(c, target.symbol);
    return;
  }
  Shape shape = code_value(c, stmt->value);
  Symbol symbol = code_new_variable(c, name, shape);
  code_store(c, &symbol, stmt->span);
  compiler_push_local(c, symbol);
}

/* Control */

/* Whether nothing but ghosts and properties can see what the block does. */
static bool is_ghostly(Compiler *c, const Block *block) {
  for (int32_t i = 0; i < block->count; i++) {
    const Stmt *stmt = block->items[i];
    bool assigns = stmt->kind == STMT_ASSIGN || stmt->kind == STMT_ADD || stmt->kind == STMT_SUB;
    const Symbol *symbol = assigns && stmt->target_count == 1 ? compiler_find(c, stmt->targets[0].text) : NULL;
    bool is_ghost = symbol != NULL && symbol->kind == SYMBOL_GHOST && !stmt->value->has_ask;
    bool is_if =
        stmt->kind == STMT_IF && !stmt->value->has_ask && is_ghostly(c, &stmt->body) && is_ghostly(c, &stmt->other);
    if (!is_ghost && !is_if && stmt->kind != STMT_ASSERT) {
      return false;
    }
  }
  return true;
}

static void code_if(Compiler *c, const Stmt *stmt) {
  Patches no = {0}, end = {0};
  bool ghostly = is_ghostly(c, &stmt->body) && is_ghostly(c, &stmt->other);
  c->reads_ghosts += ghostly;
  code_condition(c, stmt->value, false, &no);
  c->reads_ghosts -= ghostly;
  code_block(c, &stmt->body);
  if (stmt->other.count > 0) {
    code_jump(c, OP_JUMP, &end, stmt->span);
  }
  code_patch(c, &no);
  code_block(c, &stmt->other);
  code_patch(c, &end);
}

/* choose { … } or { … }: one of the arms, whichever the adversary likes. */
static void code_choose(Compiler *c, const Stmt *stmt) {
  ScopeMark mark = scope_open(c);
  Shape shape = {.sort = SORT_INT, .lo = 0, .hi = stmt->arm_count - 1};
  bool is_simple = stmt->arm_count == 2;
  Symbol chosen = {0};
  Patches end = {0};
  code_emit(c, OP_CHOOSE, stmt->arm_count, 0, stmt->span);
  if (!is_simple) {
    chosen = code_new_variable(c, (Name){"choose", stmt->span}, shape);
    code_store(c, &chosen, stmt->span);
  }
  for (int32_t i = 0; i < stmt->arm_count - 1; i++) {
    Patches next = {0};
    if (!is_simple) {
      code_load(c, &chosen, chosen.name, NULL);
    }
    code_push(c, SORT_INT, i, stmt->span);
    code_emit(c, OP_EQ, 0, 0, stmt->span);
    code_jump(c, OP_JUMP_UNLESS, &next, stmt->span);
    code_block(c, &stmt->arms[i]);
    code_jump(c, OP_JUMP, &end, stmt->span);
    code_patch(c, &next);
  }
  code_block(c, &stmt->arms[stmt->arm_count - 1]);
  code_patch(c, &end);
  scope_close(c, mark);
}

/* Pushes the first of what is picked from. */
static bool code_pick_range(Compiler *c, const Stmt *stmt, Shape *shape, int32_t *count) {
  const Expr *from = stmt->value;
  const Symbol *symbol =
      from->kind == EXPR_INDEX && from->left->kind == EXPR_NAME ? compiler_find(c, from->left->name.text) : NULL;
  Constant folded;
  if (symbol != NULL && symbol->kind == SYMBOL_LIST && stmt->high == NULL &&
      compiler_fold(c, from, &folded) == FOLD_NO) {
    const ServerList *list;
    if (!code_list_entry(c, from, &list)) {
      return false;
    }
    *count = list->length;
    *shape = (Shape){.sort = SORT_SERVER, .lo = 0, .hi = c->program->server_count - 1};
    return true;
  }
  Range range;
  if (!code_range(c, from, stmt->high, "what is picked from", &range)) {
    return false;
  }
  if (range.count == 0 || range.skips_me) {
    diagnostics_error(c->diagnostics, from->span, "there may be nothing here to pick from");
    return false;
  }
  *count = range.count;
  *shape = (Shape){.sort = range.first.sort, .lo = range.first.value, .hi = range.first.value + range.count - 1};
  code_push(c, range.first.sort, range.first.value, from->span);
  return true;
}

static void code_pick(Compiler *c, const Stmt *stmt) {
  Shape shape = shape_any;
  int32_t count;
  if (code_pick_range(c, stmt, &shape, &count)) {
    code_emit(c, OP_CHOOSE, count, 0, stmt->span);
    code_emit(c, OP_ADD, 0, 0, stmt->span);
  }
  Symbol symbol = code_new_variable(c, stmt->targets[0], shape);
  code_store(c, &symbol, stmt->span);
  compiler_push_local(c, symbol);
}

/* Asserts with one text are one property, wherever they stand; a `never` is another one. */
static int32_t add_assertion(Compiler *c, const Stmt *stmt) {
  for (uint32_t i = 0; i < c->assertions.count; i++) {
    if (strcmp(c->assertions.items[i].text, stmt->text.text) == 0) {
      return (int32_t)i;
    }
  }
  for (int32_t i = 0; i < c->decl->never_count; i++) {
    if (strcmp(c->decl->nevers[i].text.text, stmt->text.text) == 0) {
      diagnostics_error(c->diagnostics, stmt->text.span, "a `never` has this text already");
      diagnostics_note(c->diagnostics, c->decl->nevers[i].text.span, "it is declared here");
    }
  }
  Assertion assertion = {g_strdup(stmt->text.text), stmt->text.span};
  vec_push(&c->assertions, assertion);
  return (int32_t)c->assertions.count - 1;
}

static void code_assert(Compiler *c, const Stmt *stmt) {
  int32_t index = add_assertion(c, stmt);
  if (stmt->value->has_ask) {
    diagnostics_error(c->diagnostics, stmt->value->span,
                      "an `assert` cannot ask; ask before it, and look at the reply here");
    return;
  }
  c->reads_ghosts++;
  code_truth_value(c, stmt->value, "an `assert`");
  c->reads_ghosts--;
  code_emit(c, OP_ASSERT, index, 0, stmt->span);
}

static void code_stop(Compiler *c, const Stmt *stmt) {
  if (c->critical_count > 0) {
    code_leave(c, stmt->span);
  }
  code_emit(c, OP_STOP, 0, 0, stmt->span);
}

/* `of e`: which resource the section holds. */
static void code_resource_name(Compiler *c, const Expr *resource) {
  Shape shape = code_value(c, resource);
  bool is_name =
      shape.sort == SORT_INT || shape.sort == SORT_CLIENT || shape.sort == SORT_SERVER || shape.sort == SORT_REPLY;
  if (!is_name) {
    diagnostics_error(c->diagnostics, resource->span,
                      "a resource is named by a number, a client or a server; '%s' is %s", expr_text(c, resource),
                      sort_text(shape.sort));
  }
}

static void code_critical(Compiler *c, const Stmt *stmt) {
  if (c->critical_count > 0) {
    diagnostics_error(c->diagnostics, stmt->span, "a critical section cannot stand inside another");
    return;
  }
  Critical critical = {.has_fence = stmt->value != NULL,
                       .has_resource = stmt->resource != NULL,
                       .is_shared = stmt->is_shared,
                       .permits = 1,
                       .span = stmt->span};
  if (stmt->permits != NULL) {
    compiler_number(c, stmt->permits, "the number of permits", 1, PERMITS_MAX, &critical.permits);
  }
  vec_push(&c->criticals, critical);
  code_pause_point(c, stmt->span);
  if (stmt->resource != NULL) {
    code_resource_name(c, stmt->resource);
  }
  c->pending += stmt->resource != NULL;
  if (stmt->value != NULL) {
    Shape shape = code_value(c, stmt->value);
    if (shape.sort != SORT_TICKET && shape.sort != SORT_REPLY) {
      diagnostics_error(c->diagnostics, stmt->value->span, "a fence is a ticket; '%s' is %s", expr_text(c, stmt->value),
                        sort_text(shape.sort));
    }
  }
  c->pending -= stmt->resource != NULL;
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
      code_store(c, &bound[i], stmt->args[i]->span);
    }
  }
}

static void code_run(Compiler *c, const Stmt *stmt) {
  const HandlerDecl *def = c->mode == MODE_CLIENT ? find_def(c, stmt->targets[0]) : NULL;
  if (c->mode != MODE_CLIENT) {
    diagnostics_error(c->diagnostics, stmt->span, "a service has no `def`s; write the statements of '%s' here",
                      stmt->targets[0].text);
  }
  if (def == NULL || !compiler_work(c, stmt->span)) {
    return;
  }
  if (def->param_count != stmt->arg_count) {
    diagnostics_error(c->diagnostics, stmt->span, "'%s' takes %d argument%s, not %d", def->name.text, def->param_count,
                      def->param_count == 1 ? "" : "s", stmt->arg_count);
    return;
  }
  if (code_is_inlined(c, def) || c->inlined_count == AST_DEPTH_MAX / 10) {
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
  int32_t variable, duration;
  bool is_comparison = expr->kind == EXPR_BINARY && (expr->left->kind == EXPR_AGE || expr->right->kind == EXPR_AGE);
  if (!is_comparison) {
    diagnostics_error(
        c->diagnostics, expr->span,
        "after `until` an age stands alone or behind `or`: `age(…) >= 10s or done`; here it is mixed with something else");
    return;
  }
  if (!code_age(c, expr, &below, &variable, &duration)) {
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
  Window window = {DURATION_INFINITE, DURATION_INFINITE}; /* only the `until` ends it */
  if (stmt->value != NULL && !compiler_window(c, stmt->value, stmt->high, "a wait", &window)) {
    return;
  }
  wait.lo_us = window.lo_us;
  wait.hi_us = window.hi_us;
  if (stmt->until != NULL && stmt->until->has_ask) {
    diagnostics_error(c->diagnostics, stmt->until->span,
                      "an `until` cannot ask; write a loop with an `ask` and a short `wait`");
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
  Target target = {*symbol, stmt->targets[0], stmt->indices != NULL ? stmt->indices[0] : NULL};
  bool sets = stmt->kind == STMT_TIMER_IN, is_indexed;
  if (sets) {
    Shape shape = code_value(c, stmt->value);
    if (shape.sort != SORT_DURATION && shape.sort != SORT_REPLY) {
      diagnostics_error(c->diagnostics, stmt->value->span, "a timer fires after a duration; '%s' is %s",
                        expr_text(c, stmt->value), sort_text(shape.sort));
    }
  }
  if (code_target_index(c, &target, &is_indexed)) {
    code_emit_element(c, sets ? OP_TIMER_SET : OP_TIMER_OFF, target.symbol.index, 0, is_indexed, stmt->span);
  }
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
    Shape value;
    code_ask(c, stmt->value, &value);
  } else {
    diagnostics_error(c->diagnostics, stmt->value->span,
                      "this does nothing with what it computes; write `if` in front of it");
  }
}

static void code_tell_statement(Compiler *c, const Stmt *stmt) {
  code_tell(c, stmt->call);
}

static void code_yield(Compiler *c, const Stmt *stmt) {
  code_emit(c, OP_YIELD, 0, 0, stmt->span);
}

enum { IN_CLIENT = 1, IN_SERVICE = 2, IN_NOTICE = 4, IN_PROCESS = 3, ANYWHERE = 7 };

static const struct {
  int where;
  void (*code)(Compiler *c, const Stmt *stmt);
} statements[] = {
    [STMT_ASSIGN] = {ANYWHERE, code_assign},
    [STMT_ADD] = {ANYWHERE, code_increment},
    [STMT_SUB] = {ANYWHERE, code_increment},
    [STMT_LET] = {ANYWHERE, code_let},
    [STMT_IF] = {ANYWHERE, code_if},
    [STMT_WHILE] = {IN_CLIENT, code_while},
    [STMT_LOOP] = {IN_CLIENT, code_while},
    [STMT_REPEAT] = {ANYWHERE, code_repeat},
    [STMT_FOR] = {ANYWHERE, code_for},
    [STMT_BREAK] = {ANYWHERE, code_exit_loop},
    [STMT_CONTINUE] = {ANYWHERE, code_exit_loop},
    [STMT_STOP] = {IN_CLIENT, code_stop},
    [STMT_ASK] = {IN_CLIENT, code_ask_statement},
    [STMT_TELL] = {IN_PROCESS, code_tell_statement},
    [STMT_WAIT] = {IN_CLIENT, code_wait},
    [STMT_YIELD] = {IN_CLIENT, code_yield},
    [STMT_CRITICAL] = {IN_CLIENT, code_critical},
    [STMT_RUN] = {IN_PROCESS, code_run},
    [STMT_REPLY] = {IN_SERVICE, code_reply},
    [STMT_TIMER_IN] = {IN_SERVICE, code_timer},
    [STMT_TIMER_OFF] = {IN_SERVICE, code_timer},
    [STMT_OBSERVE] = {IN_SERVICE, code_resource},
    [STMT_COMMIT] = {IN_SERVICE, code_resource},
    [STMT_CHOOSE] = {ANYWHERE, code_choose},
    [STMT_PICK] = {ANYWHERE, code_pick},
    [STMT_ASSERT] = {ANYWHERE, code_assert},
};

static const char *where_it_belongs(int here, int where) {
  return here == IN_CLIENT   ? "a service, not to a client"
         : here == IN_NOTICE ? where == IN_SERVICE
                                   ? "a service, not to what a client is told"
                                   : "the program of a client, not to what it is told, which takes no time"
                             : "a client, not to a service";
}

static void code_block(Compiler *c, const Block *block) {
  ScopeMark mark = scope_open(c);
  for (int32_t i = 0; i < block->count && !c->exhausted; i++) {
    const Stmt *stmt = block->items[i];
    int here = c->mode == MODE_CLIENT ? IN_CLIENT : c->mode == MODE_NOTICE ? IN_NOTICE : IN_SERVICE;
    if ((statements[stmt->kind].where & here) == 0) {
      diagnostics_error(c->diagnostics, stmt->span, "this statement belongs to %s",
                        where_it_belongs(here, statements[stmt->kind].where));
    } else {
      statements[stmt->kind].code(c, stmt);
    }
  }
  scope_close(c, mark);
}

void code_append_deferred(Compiler *c) {
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

static void code_task(Compiler *c, ClientKind *kind, const char *name, const Block *body, Span span) {
  uint32_t criticals = c->criticals.count;
  Task *task = &kind->tasks[kind->task_count++];
  c->dead = false;
  *task = (Task){.name = g_strdup(name), .entry = code_label(c), .span = span};
  code_attempt(c, body, span);
  code_block(c, body);
  code_emit(c, OP_END, 0, 0, span);
  task->enters = c->criticals.count > criticals;
  kind->enters = kind->enters || task->enters;
  /* Tasks take turns, so they have no hidden variable in common. */
  c->hidden_in_use = c->variables.count == 64 ? UINT64_MAX : (UINT64_C(1) << c->variables.count) - 1;
}

void code_client(Compiler *c, const ClientDecl *client) {
  ClientKind *kind = &c->program->kinds[c->kind];
  kind->entry = (int32_t)c->code.count;
  kind->enters = false;
  for (int32_t t = 0; t < client->task_count; t++) {
    code_task(c, kind, client->tasks[t]->name.text, &client->tasks[t]->body, client->tasks[t]->span);
  }
  if (client->task_count == 0) {
    code_task(c, kind, NULL, &client->body, client->span);
  }
}

void code_body(Compiler *c, const Block *body) {
  code_block(c, body);
}
