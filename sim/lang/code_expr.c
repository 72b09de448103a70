#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

static const Shape shape_bool = {.sort = SORT_BOOL, .lo = 0, .hi = 1};
static const Shape shape_any = {.sort = SORT_REPLY};

static Shape shape_of(Sort sort) {
  return (Shape){.sort = sort, .lo = INT32_MIN, .hi = INT32_MAX};
}

static Shape shape_of_constant(Constant value) {
  return (Shape){.sort = value.sort, .lo = value.value, .hi = value.value};
}

/* Variables of other processes: c.inside, c.up, c.x, node[0].owner; in `never` only. */

typedef struct Field {
  int32_t process, variable;
  const Variable *declared; /* NULL: `inside` or `up` */
} Field;

static const Variable *find_variable(const Variable *variables, int32_t count, const char *name, int32_t *index) {
  for (int32_t i = 0; i < count; i++) {
    if (strcmp(variables[i].name, name) == 0) {
      *index = i;
      return &variables[i];
    }
  }
  return NULL;
}

static bool is_state_field(const char *name) {
  return strcmp(name, "inside") == 0 || strcmp(name, "up") == 0;
}

static void unknown_field(Compiler *c, const Expr *expr, const Variable *variables, int32_t count) {
  NameList names = {0};
  vec_push(&names, "inside");
  vec_push(&names, "up");
  for (int32_t i = 0; i < count; i++) {
    vec_push(&names, (const char *)variables[i].name);
  }
  const char *nearest = nearest_find(expr->name.text, names.items, names.count);
  const char *owner = expr_text(c, expr->left);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, expr->name.span, "'%s' has no variable '%s'; did you mean '%s'?", owner,
                      expr->name.text, nearest);
  } else {
    diagnostics_error(c->diagnostics, expr->name.span, "'%s' has no variable '%s'", owner, expr->name.text);
  }
  vec_free(&names);
}

static bool resolve_field(Compiler *c, const Expr *expr, Field *field) {
  Constant owner;
  Fold fold = compiler_fold(c, expr->left, &owner);
  if (fold == FOLD_BAD) {
    return false;
  }
  if (c->mode != MODE_NEVER) {
    diagnostics_error(c->diagnostics, expr->span, "only a `never` sees the variables of other processes");
    return false;
  }
  bool is_process = fold == FOLD_YES && (owner.sort == SORT_CLIENT || owner.sort == SORT_SERVER);
  if (!is_process || owner.is_group) {
    if (expr->left->kind == EXPR_NAME && compiler_find(c, expr->left->name.text) == NULL) {
      compiler_unknown(c, expr->left->name, "name");
    } else {
      diagnostics_error(c->diagnostics, expr->left->span, "'%s' is not one client or server; write `any(c in client : c.%s …)`",
                        expr_text(c, expr->left), expr->name.text);
    }
    return false;
  }
  const Program *program = c->program;
  bool is_client = owner.sort == SORT_CLIENT;
  int32_t kind = is_client ? compiler_kind_of_client(c, owner.value) : 0;
  int32_t service = is_client ? 0 : program->groups[program->server_group[owner.value]].service;
  const Variable *variables = is_client ? program->kinds[kind].variables : program->services[service].variables;
  int32_t count = is_client ? c->decl->clients[kind]->variable_count : program->services[service].variable_count;
  *field = (Field){.process = (int32_t)owner.value + (is_client ? 0 : program->client_count)};
  field->declared = find_variable(variables, count, expr->name.text, &field->variable);
  if (field->declared == NULL && (!is_state_field(expr->name.text) || (!is_client && strcmp(expr->name.text, "inside") == 0))) {
    unknown_field(c, expr, variables, count);
    return false;
  }
  if (is_client && field->declared != NULL) {
    c->never_reads[kind] |= UINT64_C(1) << field->variable;
  }
  return true;
}

static Shape code_field(Compiler *c, const Expr *expr) {
  Field field;
  if (!resolve_field(c, expr, &field)) {
    return shape_any;
  }
  if (field.declared == NULL) {
    code_emit(c, strcmp(expr->name.text, "up") == 0 ? OP_UP_OF : OP_INSIDE_OF, 0, field.process, expr->span);
    return shape_bool;
  }
  if (field.declared->type.sort == SORT_STAMP) {
    diagnostics_error(c->diagnostics, expr->span, "a stamp is only compared: `age(%s) < 10s`", expr_text(c, expr));
    return shape_any;
  }
  code_emit(c, OP_LOAD_OF, field.variable, field.process, expr->span);
  Type type = field.declared->type;
  return (Shape){type.sort, type.optional, type.lo, type.hi};
}

/* Ages */

static const Symbol *stamp_variable(Compiler *c, const Expr *expr) {
  const Symbol *symbol = expr->kind == EXPR_NAME ? compiler_find(c, expr->name.text) : NULL;
  if (symbol == NULL && expr->kind == EXPR_NAME) {
    compiler_unknown(c, expr->name, "stamp");
    return NULL;
  }
  if (symbol == NULL || symbol->kind != SYMBOL_VARIABLE || symbol->shape.sort != SORT_STAMP) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is not a stamp; `age` reads a variable that took `now`",
                      expr_text(c, expr));
    return NULL;
  }
  return symbol;
}

static void wrong_age_operator(Compiler *c, const Expr *expr) {
  const char *age = expr_text(c, expr->left), *bound = expr_text(c, expr->right);
  bool is_above = expr->op == BINARY_GT;
  if (expr->op == BINARY_LE || is_above) {
    diagnostics_error(c->diagnostics, expr->op_span,
                      "an age that meets its bound exactly counts as too old; write `%s %s %s`", age,
                      is_above ? ">=" : "<", bound);
  } else {
    diagnostics_error(c->diagnostics, expr->op_span, "an age is only compared by < and >=; write `%s < %s`", age, bound);
  }
}

/* `age(s) < d` or `age(s) >= d`: resolves both sides. False after a diagnostic. */
bool code_age(Compiler *c, const Expr *expr, bool *below, int32_t *variable, int32_t *process, int32_t *duration) {
  if (expr->left->kind != EXPR_AGE) {
    diagnostics_error(c->diagnostics, expr->span, "write the age first: `age(…) < %s`", expr_text(c, expr->left));
    return false;
  }
  if (expr->op != BINARY_LT && expr->op != BINARY_GE) {
    wrong_age_operator(c, expr);
    return false;
  }
  const Expr *stamp = expr->left->left;
  *process = NO_INDEX;
  if (stamp->kind == EXPR_FIELD) {
    Field field;
    if (!resolve_field(c, stamp, &field)) {
      return false;
    }
    if (field.declared == NULL || field.declared->type.sort != SORT_STAMP) {
      diagnostics_error(c->diagnostics, stamp->span, "'%s' is not a stamp", expr_text(c, stamp));
      return false;
    }
    *variable = field.variable;
    *process = field.process;
  } else {
    const Symbol *symbol = stamp_variable(c, stamp);
    if (symbol == NULL) {
      return false;
    }
    *variable = symbol->index;
  }
  int64_t us;
  if (!compiler_constant_duration(c, expr->right, "what an age is compared with", &us)) {
    return false;
  }
  *below = expr->op == BINARY_LT;
  *duration = compiler_duration(c, us);
  return true;
}

static bool is_age_comparison(const Expr *expr) {
  return expr->kind == EXPR_BINARY && expr->op >= BINARY_EQ && expr->op <= BINARY_GE &&
         (expr->left->kind == EXPR_AGE || expr->right->kind == EXPR_AGE);
}

/* Pushes age < d; returns whether the user asked for that or for its opposite. */
static bool code_age_below(Compiler *c, const Expr *expr) {
  bool below = true;
  int32_t variable, process, duration;
  code_pause_point(c, expr->span);
  if (!code_age(c, expr, &below, &variable, &process, &duration)) {
    return true;
  }
  if (process == NO_INDEX) {
    code_emit(c, OP_AGE_BELOW, variable, duration, expr->span);
  } else {
    int32_t pc = code_emit(c, OP_AGE_BELOW_OF, variable, duration, expr->span);
    if (pc != NO_INDEX) {
      c->code.items[pc].count = (uint8_t)process;
    }
  }
  return below;
}

/* Quantifiers: unrolled, the variable a constant in each copy. */

typedef struct Range {
  Constant first; /* of `count` values */
  int32_t count;
} Range;

static bool quantifier_range(Compiler *c, const Expr *expr, Range *range) {
  Constant low, high;
  if (!compiler_constant(c, expr->left, "what is quantified over", &low)) {
    return false;
  }
  if (expr->third == NULL) {
    *range = (Range){low, low.count};
    range->first.is_group = false;
    range->first.count = 1;
    if (low.sort != SORT_CLIENT && low.sort != SORT_SERVER) {
      diagnostics_error(c->diagnostics, expr->left->span, "'%s' is no group of processes and no range a..b",
                        expr_text(c, expr->left));
      return false;
    }
    return true;
  }
  if (!compiler_constant(c, expr->third, "the end of the range", &high)) {
    return false;
  }
  if (low.sort != SORT_INT || high.sort != SORT_INT || high.value - low.value >= 1000) {
    diagnostics_error(c->diagnostics, expr->left->span, "a range is a..b with numbers, at most 1000 of them");
    return false;
  }
  *range = (Range){low, high.value < low.value ? 0 : (int32_t)(high.value - low.value) + 1};
  return true;
}

static void bind_quantified(Compiler *c, const Expr *expr, const Range *range, int32_t i) {
  Constant value = range->first;
  value.value += i;
  Symbol symbol = {.name = expr->name, .kind = SYMBOL_CONSTANT, .constant = value};
  compiler_push_local(c, symbol);
}

static void quantifier_condition(Compiler *c, const Expr *expr, bool when, Patches *patches) {
  Range range;
  if (!quantifier_range(c, expr, &range)) {
    return;
  }
  /* any: one true decides; all: one false does. */
  bool decisive = expr->quantifier == QUANTIFIER_ANY;
  Patches decided = {0};
  for (int32_t i = 0; i < range.count && compiler_work(c, expr->span); i++) {
    bind_quantified(c, expr, &range, i);
    code_condition(c, expr->right, decisive, when == decisive ? patches : &decided);
    c->locals.count--;
  }
  if (when != decisive) {
    code_jump(c, OP_JUMP, patches, expr->span);
  }
  code_patch(c, &decided);
}

static Shape quantifier_count(Compiler *c, const Expr *expr, const Range *range) {
  code_push(c, SORT_INT, 0, expr->span);
  c->pending++;
  for (int32_t i = 0; i < range->count && compiler_work(c, expr->span); i++) {
    Patches not_this = {0};
    bind_quantified(c, expr, range, i);
    code_condition(c, expr->right, false, &not_this);
    c->locals.count--;
    code_push(c, SORT_INT, 1, expr->span);
    code_emit(c, OP_ADD, 0, 0, expr->span);
    code_patch(c, &not_this);
  }
  c->pending--;
  return (Shape){.sort = SORT_INT, .lo = 0, .hi = range->count};
}

static Shape quantifier_extreme(Compiler *c, const Expr *expr, const Range *range) {
  Shape all = {.sort = SORT_INT, .lo = INT32_MAX, .hi = INT32_MIN};
  for (int32_t i = 0; i < range->count && compiler_work(c, expr->span); i++) {
    bind_quantified(c, expr, range, i);
    c->pending += i > 0;
    Shape one = code_value(c, expr->right);
    c->pending -= i > 0;
    c->locals.count--;
    if (one.sort != SORT_INT && one.sort != SORT_REPLY) {
      diagnostics_error(c->diagnostics, expr->right->span, "`min` and `max` are for numbers; '%s' is %s",
                        expr_text(c, expr->right), sort_text(one.sort));
      return all;
    }
    all.lo = MIN(all.lo, one.lo);
    all.hi = MAX(all.hi, one.hi);
    if (i > 0) {
      code_emit(c, expr->quantifier == QUANTIFIER_MIN ? OP_MIN : OP_MAX, 0, 0, expr->span);
    }
  }
  if (range->count == 0) {
    diagnostics_error(c->diagnostics, expr->left->span, "this range is empty: it has no smallest or largest");
  }
  return all;
}

static Shape code_quantifier(Compiler *c, const Expr *expr) {
  Range range;
  if (!quantifier_range(c, expr, &range)) {
    return shape_of(SORT_REPLY);
  }
  return expr->quantifier == QUANTIFIER_COUNT ? quantifier_count(c, expr, &range) : quantifier_extreme(c, expr, &range);
}

/* Conditions: jumping code, so that nothing lies on the stack at a pause point. */

static bool is_logic(const Expr *expr) {
  return expr->kind == EXPR_NOT || (expr->kind == EXPR_BINARY && expr->op <= BINARY_AND) ||
         (expr->kind == EXPR_QUANTIFIER && expr->quantifier != QUANTIFIER_COUNT && expr->quantifier < QUANTIFIER_MIN);
}

static void condition_leaf(Compiler *c, const Expr *expr, bool when, Patches *patches) {
  if (is_age_comparison(expr)) {
    bool below = code_age_below(c, expr);
    code_jump(c, below == when ? OP_JUMP_IF : OP_JUMP_UNLESS, patches, expr->span);
    return;
  }
  Shape shape = code_value(c, expr);
  if (shape.sort != SORT_BOOL && shape.sort != SORT_REPLY) {
    const char *hint = expr->kind == EXPR_ASK ? "; compare the reply, as in `… == ok`" : "; compare it with something";
    diagnostics_error(c->diagnostics, expr->span, "a condition is true or false, but '%s' is %s%s", expr_text(c, expr),
                      sort_text(shape.sort), hint);
  } else if (expr->kind == EXPR_ASK) {
    diagnostics_error(c->diagnostics, expr->span, "compare the reply with something, as in `… == ok`");
  }
  code_jump(c, when ? OP_JUMP_IF : OP_JUMP_UNLESS, patches, expr->span);
}

void code_condition(Compiler *c, const Expr *expr, bool when, Patches *patches) {
  Constant value;
  Fold fold = compiler_fold(c, expr, &value);
  if (fold == FOLD_BAD) {
    return;
  }
  if (fold == FOLD_YES && value.sort == SORT_BOOL) {
    if ((value.value != 0) == when) {
      code_jump(c, OP_JUMP, patches, expr->span);
    }
    return;
  }
  if (expr->kind == EXPR_NOT) {
    code_condition(c, expr->left, !when, patches);
  } else if (expr->kind == EXPR_QUANTIFIER && is_logic(expr)) {
    quantifier_condition(c, expr, when, patches);
  } else if (!is_logic(expr)) {
    condition_leaf(c, expr, when, patches);
  } else if ((expr->op == BINARY_OR) == when) { /* one side is enough for the jump */
    code_condition(c, expr->left, when, patches);
    code_condition(c, expr->right, when, patches);
  } else {
    Patches decided = {0};
    code_condition(c, expr->left, !when, &decided);
    code_condition(c, expr->right, when, patches);
    code_patch(c, &decided);
  }
}

static Shape code_truth(Compiler *c, const Expr *expr) {
  Patches no = {0}, end = {0};
  code_condition(c, expr, false, &no);
  code_push(c, SORT_BOOL, 1, expr->span);
  code_jump(c, OP_JUMP, &end, expr->span);
  code_patch(c, &no);
  code_push(c, SORT_BOOL, 0, expr->span);
  code_patch(c, &end);
  return shape_bool;
}

/* Comparison and arithmetic */

/* The sort of an expression that names something, without code; SORT_REPLY when that is not plain to see. */
static Sort plain_sort(Compiler *c, const Expr *expr) {
  const Symbol *symbol = expr->kind == EXPR_NAME ? compiler_find(c, expr->name.text) : NULL;
  if (symbol != NULL && symbol->kind != SYMBOL_CONSTANT && symbol->kind != SYMBOL_KIND) {
    return symbol->shape.sort;
  }
  if (expr->kind == EXPR_FIELD && c->mode == MODE_NEVER) {
    Field field;
    return resolve_field(c, expr, &field) && field.declared != NULL ? field.declared->type.sort : SORT_REPLY;
  }
  if (expr->kind == EXPR_ME || expr->kind == EXPR_CALLER) {
    return expr->kind == EXPR_ME && c->mode == MODE_HANDLER ? SORT_SERVER : SORT_CLIENT;
  }
  return expr->kind == EXPR_NEXT ? SORT_TICKET : SORT_REPLY;
}

static void cannot_compare(Compiler *c, const Expr *expr, Shape left, Shape right) {
  const Expr *wrong = expr->right;
  Shape wrong_shape = right, other = left;
  if (left.sort == SORT_DURATION && right.sort != SORT_DURATION) {
    wrong = expr->left;
    wrong_shape = left;
    other = right;
  }
  if (wrong_shape.sort == SORT_DURATION) {
    diagnostics_error(c->diagnostics, wrong->span, "'%s' is a duration; compare it with a duration such as 30ms, not with %s",
                      expr_text(c, wrong), sort_text(other.sort));
  } else if (wrong_shape.sort == SORT_WORD) {
    diagnostics_error(c->diagnostics, wrong->span, "'%s' is a word that servers reply; it cannot equal %s", expr_text(c, wrong),
                      sort_text(other.sort));
  } else {
    diagnostics_error(c->diagnostics, wrong->span, "'%s' is %s; it cannot be compared with %s", expr_text(c, wrong),
                      sort_text(wrong_shape.sort), sort_text(other.sort));
  }
}

static void check_comparison(Compiler *c, const Expr *expr, Shape left, Shape right) {
  bool is_dynamic = left.sort == SORT_REPLY || right.sort == SORT_REPLY;
  bool has_none = left.sort == SORT_NONE || right.sort == SORT_NONE;
  if (expr->op >= BINARY_LT) {
    Sort sort = left.sort == SORT_REPLY ? right.sort : left.sort;
    if (sort == SORT_TOKEN || sort == SORT_CLIENT || sort == SORT_SERVER || sort == SORT_WORD || sort == SORT_BOOL ||
        sort == SORT_NONE) {
      diagnostics_error(c->diagnostics, expr->op_span, "there is no order here, since '%s' is %s; only == and != mean anything",
                        expr_text(c, left.sort == sort ? expr->left : expr->right), sort_text(sort));
      return;
    }
  }
  if (!is_dynamic && !(has_none && expr->op < BINARY_LT) && left.sort != right.sort) {
    cannot_compare(c, expr, left, right);
  }
}

static Shape code_comparison(Compiler *c, const Expr *expr) {
  static const Opcode ops[] = {[BINARY_EQ] = OP_EQ, [BINARY_NE] = OP_NE, [BINARY_LT] = OP_LT,
                               [BINARY_LE] = OP_LE, [BINARY_GT] = OP_GT, [BINARY_GE] = OP_GE};
  Shape left = code_value_as(c, expr->left, plain_sort(c, expr->right));
  c->pending++;
  Shape right = code_value_as(c, expr->right, left.sort);
  c->pending--;
  check_comparison(c, expr, left, right);
  code_emit(c, ops[expr->op], 0, 0, expr->span);
  return shape_bool;
}

static int64_t clamp(int64_t value) {
  return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value;
}

/* Interval arithmetic: what a sum can be, for the ranges of `let` variables. */
static Shape interval(BinaryOp op, Shape a, Shape b) {
  Shape all = shape_of(SORT_INT);
  if (op == BINARY_ADD) {
    all = (Shape){.sort = SORT_INT, .lo = clamp(a.lo + b.lo), .hi = clamp(a.hi + b.hi)};
  } else if (op == BINARY_SUB) {
    all = (Shape){.sort = SORT_INT, .lo = clamp(a.lo - b.hi), .hi = clamp(a.hi - b.lo)};
  } else if (op == BINARY_MUL && a.lo >= 0 && b.lo >= 0) {
    all = (Shape){.sort = SORT_INT, .lo = clamp(a.lo * b.lo), .hi = clamp(a.hi * b.hi)};
  } else if (op == BINARY_DIV && a.lo >= 0 && b.lo > 0) {
    all = (Shape){.sort = SORT_INT, .lo = a.lo / b.hi, .hi = a.hi / b.lo};
  } else if (op == BINARY_MOD && a.lo >= 0 && b.lo > 0) {
    all = (Shape){.sort = SORT_INT, .lo = 0, .hi = MIN(a.hi, b.hi - 1)};
  }
  return all;
}

static bool check_number(Compiler *c, const Expr *expr, Shape shape) {
  if (shape.sort == SORT_INT || shape.sort == SORT_REPLY) {
    return true;
  }
  const char *why = shape.sort == SORT_TICKET ? "; only the order of tickets means anything, and `next t` is a larger one"
                    : shape.sort == SORT_DURATION ? "; durations are calculated with constants only"
                                                  : "";
  diagnostics_error(c->diagnostics, expr->span, "'%s' is %s, not a number%s", expr_text(c, expr), sort_text(shape.sort), why);
  return false;
}

static Shape code_arithmetic(Compiler *c, const Expr *expr) {
  static const Opcode ops[] = {[BINARY_ADD] = OP_ADD, [BINARY_SUB] = OP_SUB, [BINARY_MUL] = OP_MUL,
                               [BINARY_DIV] = OP_DIV, [BINARY_MOD] = OP_MOD};
  Shape left = code_value(c, expr->left);
  c->pending++;
  Shape right = code_value(c, expr->right);
  c->pending--;
  if (!check_number(c, expr->left, left) || !check_number(c, expr->right, right)) {
    return shape_any;
  }
  code_emit(c, ops[expr->op], 0, 0, expr->span);
  bool is_known = left.sort == SORT_INT && right.sort == SORT_INT;
  return is_known ? interval(expr->op, left, right) : shape_of(SORT_INT);
}

/* Messages */

typedef struct Target {
  int32_t service, handler;
} Target;

static int32_t find_handler(const Compiler *c, int32_t service, const char *name) {
  const ServiceDecl *decl = c->decl->services[service];
  for (int32_t i = 0; i < decl->handler_count; i++) {
    if (strcmp(decl->handlers[i]->name.text, name) == 0) {
      return i;
    }
  }
  return NO_INDEX;
}

static void unknown_handler(Compiler *c, int32_t service, Name name) {
  const ServiceDecl *decl = c->decl->services[service];
  NameList names = {0};
  for (int32_t i = 0; i < decl->handler_count; i++) {
    vec_push(&names, decl->handlers[i]->name.text);
  }
  const char *nearest = nearest_find(name.text, names.items, names.count);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, name.span, "the service '%s' has no handler '%s'; did you mean '%s'?", decl->name.text,
                      name.text, nearest);
  } else {
    diagnostics_error(c->diagnostics, name.span, "the service '%s' has no handler '%s'", decl->name.text, name.text);
  }
  vec_free(&names);
}

/* A server known only when the program runs: the handler's name must say which service it is. */
static int32_t service_by_handler(Compiler *c, const Call *call) {
  int32_t found = NO_INDEX;
  for (int32_t i = 0; i < c->decl->service_count; i++) {
    if (find_handler(c, i, call->handler.text) == NO_INDEX) {
      continue;
    }
    if (found != NO_INDEX) {
      diagnostics_error(c->diagnostics, call->target->span, "two services have a handler '%s', and which of them '%s' runs is "
                        "not known; this is not supported yet", call->handler.text, expr_text(c, call->target));
      return NO_INDEX;
    }
    found = i;
  }
  if (found == NO_INDEX) {
    diagnostics_error(c->diagnostics, call->handler.span, "no service has a handler '%s'", call->handler.text);
  }
  return found;
}

static bool resolve_handler(Compiler *c, const Call *call, int32_t service, Target *target) {
  if (service == NO_INDEX) {
    return false;
  }
  *target = (Target){service, find_handler(c, service, call->handler.text)};
  if (target->handler == NO_INDEX) {
    unknown_handler(c, service, call->handler);
    return false;
  }
  const HandlerDecl *decl = c->decl->services[service]->handlers[target->handler];
  if (decl->param_count != call->arg_count) {
    diagnostics_error(c->diagnostics, call->span, "'%s' takes %d argument%s, not %d", call->handler.text, decl->param_count,
                      decl->param_count == 1 ? "" : "s", call->arg_count);
    diagnostics_note(c->diagnostics, decl->name.span, "it is declared here");
    return false;
  }
  Span *first = &c->calls[service][target->handler];
  *first = first->end == 0 ? call->span : *first;
  return true;
}

/* Which servers `place` names: a constant, or a variable (count 0). */
static bool resolve_place(Compiler *c, const Expr *place, bool to_all, Constant *servers, const Symbol **variable) {
  Fold fold = compiler_fold(c, place, servers);
  *variable = NULL;
  if (fold == FOLD_BAD) {
    return false;
  }
  const Symbol *symbol = place->kind == EXPR_NAME ? compiler_find(c, place->name.text) : NULL;
  if (fold == FOLD_NO && symbol != NULL && symbol->kind == SYMBOL_VARIABLE &&
      (symbol->shape.sort == SORT_SERVER || symbol->shape.sort == SORT_REPLY)) {
    *variable = symbol;
    return !to_all || (diagnostics_error(c->diagnostics, place->span, "`all` needs a group of servers"), false);
  }
  if (fold == FOLD_NO && place->kind == EXPR_NAME && symbol == NULL) {
    compiler_unknown(c, place->name, "server");
    return false;
  }
  if (fold == FOLD_YES && servers->sort == SORT_CLIENT) {
    diagnostics_error(c->diagnostics, place->span, "a message to a client is not supported yet");
    return false;
  }
  if (fold == FOLD_NO || servers->sort != SORT_SERVER) {
    diagnostics_error(c->diagnostics, place->span, "'%s' is not a server", expr_text(c, place));
    return false;
  }
  if (servers->is_group != to_all) {
    const char *text = expr_text(c, place);
    if (to_all) {
      diagnostics_error(c->diagnostics, place->span, "'%s' is a single server; leave out the `all`", text);
    } else {
      diagnostics_error(c->diagnostics, place->span, "'%s' is a group of servers; name one of them (`%s[0]`) or write `for n in %s`",
                        text, text, text);
    }
    return false;
  }
  return true;
}

static void note_argument(Compiler *c, const Target *target, int32_t index, Shape shape) {
  Handler *handler = &c->program->services[target->service].handlers[target->handler];
  Sort sort = shape.optional || shape.sort == SORT_NONE ? SORT_REPLY : shape.sort;
  Sort known = handler->param_sorts[index];
  handler->param_sorts[index] = known == SORT_NONE || known == sort ? sort : SORT_REPLY;
}

static void code_send(Compiler *c, Opcode op, const Call *call, const Target *target, int32_t duration) {
  for (int32_t i = 0; i < call->arg_count; i++) {
    c->pending++;
    note_argument(c, target, i, code_value(c, call->args[i]));
  }
  c->pending -= call->arg_count;
  int32_t pc = code_emit(c, op, target->handler, duration, call->span);
  if (pc != NO_INDEX) {
    c->code.items[pc].count = (uint8_t)call->arg_count;
  }
}

static int32_t service_of_server(const Compiler *c, int64_t server) {
  return c->program->groups[c->program->server_group[server]].service;
}

/* Where the server of a loop variable is one of a known group. */
static int32_t service_of_variable(Compiler *c, const Symbol *variable, const Call *call) {
  if (variable->shape.sort == SORT_SERVER && variable->name.text[0] != '\0' && variable->shape.lo >= 0) {
    int32_t service = service_of_server(c, variable->shape.lo);
    bool is_one = true;
    for (int64_t s = variable->shape.lo; s <= variable->shape.hi; s++) {
      is_one = is_one && service_of_server(c, s) == service;
    }
    if (is_one) {
      return service;
    }
  }
  return service_by_handler(c, call);
}

int32_t code_ask(Compiler *c, const Expr *ask) {
  const Call *call = ask->call;
  if (c->mode != MODE_CLIENT || c->pending > 0) {
    diagnostics_error(c->diagnostics, ask->span, c->mode == MODE_CLIENT
                      ? "`ask` stands as a statement, as the right side of an assignment, or first in a condition"
                      : "only the program of a client can `ask`");
    return 1;
  }
  Constant servers;
  const Symbol *variable;
  Target target;
  if (!resolve_place(c, call->target, false, &servers, &variable)) {
    return 1;
  }
  int32_t service = variable != NULL ? service_of_variable(c, variable, call) : service_of_server(c, servers.value);
  int32_t index = variable != NULL ? variable->index : 0;
  int64_t us = 0;
  if (!resolve_handler(c, call, service, &target) ||
      (call->within != NULL && !compiler_constant_duration(c, call->within, "the time-out", &us))) {
    return 1;
  }
  if (us < 0) {
    diagnostics_error(c->diagnostics, call->within->span, "a time-out cannot be negative");
  }
  bool for_ever = call->within == NULL || us == DURATION_INFINITE;
  code_pause_point(c, ask->span);
  if (variable != NULL) {
    code_emit(c, OP_LOAD, index, 0, call->target->span);
  } else {
    code_push(c, SORT_SERVER, servers.value, call->target->span);
  }
  code_send(c, OP_ASK, call, &target, for_ever ? NO_INDEX : compiler_duration(c, us));
  return c->program->services[service].handlers[target.handler].reply_count;
}

void code_tell(Compiler *c, const Call *call) {
  Constant servers;
  const Symbol *variable;
  Target target;
  if (c->mode != MODE_CLIENT) {
    diagnostics_error(c->diagnostics, call->span, "`tell` in a service is not supported yet");
    return;
  }
  if (!resolve_place(c, call->target, call->to_all, &servers, &variable)) {
    return;
  }
  int32_t service = variable != NULL ? service_of_variable(c, variable, call) : service_of_server(c, servers.value);
  int32_t index = variable != NULL ? variable->index : 0;
  if (!resolve_handler(c, call, service, &target)) {
    return;
  }
  for (int32_t i = 0; i < (variable != NULL ? 1 : servers.count); i++) {
    code_pause_point(c, call->span);
    if (variable != NULL) {
      code_emit(c, OP_LOAD, index, 0, call->target->span);
    } else {
      code_push(c, SORT_SERVER, servers.value + i, call->target->span);
    }
    code_send(c, OP_TELL, call, &target, NO_INDEX);
  }
}

/* Values */

static Shape code_word(Compiler *c, const Expr *expr) {
  if (!compiler_word_known(c, expr->name.text)) {
    compiler_unknown(c, expr->name, "name");
    return shape_any;
  }
  code_push(c, SORT_WORD, compiler_word(c, expr->name.text), expr->span);
  return shape_of(SORT_WORD);
}

static Shape code_name(Compiler *c, const Expr *expr) {
  const Symbol *symbol = compiler_find(c, expr->name.text);
  if (symbol == NULL) {
    return code_word(c, expr);
  }
  switch (symbol->kind) {
  case SYMBOL_VARIABLE:
    if (symbol->shape.sort == SORT_STAMP) {
      diagnostics_error(c->diagnostics, expr->span, "'%s' is a stamp; it is only compared (`age(%s) < 10s`) or copied to another stamp",
                        expr->name.text, expr->name.text);
      return shape_any;
    }
    code_emit(c, OP_LOAD, symbol->index, 0, expr->span);
    return symbol->shape;
  case SYMBOL_ARG:
    code_emit(c, OP_LOAD_ARG, symbol->index, 0, expr->span);
    return symbol->shape;
  case SYMBOL_LOCAL:
    code_emit(c, OP_LOAD_LOCAL, symbol->index, 0, expr->span);
    return symbol->shape;
  default:
    diagnostics_error(c->diagnostics, expr->span, "'%s' is a timer; write `%s armed`", expr->name.text, expr->name.text);
    return shape_any;
  }
}

static Shape code_constant(Compiler *c, const Expr *expr, Constant value, Sort expected) {
  if (value.is_group) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is a group of processes, not a value", expr_text(c, expr));
    return shape_any;
  }
  if (expected == SORT_TICKET && value.sort == SORT_INT) {
    if (value.value != 0) {
      diagnostics_error(c->diagnostics, expr->span, "only the order of tickets means anything; the only number that is one is 0, "
                        "the smallest");
    }
    code_push(c, SORT_TICKET, TICKET_BOTTOM, expr->span);
    return shape_of(SORT_TICKET);
  }
  if (expected == SORT_CLIENT && value.sort == SORT_INT && value.value >= 0 && value.value < c->program->client_count) {
    compiler_break_symmetry(c, compiler_kind_of_client(c, value.value), expr->span);
    value.sort = SORT_CLIENT;
  }
  code_push(c, value.sort, value.value, expr->span);
  return shape_of_constant(value);
}

static Shape code_next(Compiler *c, const Expr *expr) {
  Shape shape = code_value_as(c, expr->left, SORT_TICKET);
  if (shape.sort != SORT_TICKET && shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, expr->left->span, "`next` is for tickets; '%s' is %s", expr_text(c, expr->left),
                      sort_text(shape.sort));
  }
  code_emit(c, OP_NEXT, 0, 0, expr->span);
  return shape_of(SORT_TICKET);
}

static Shape code_is(Compiler *c, const Expr *expr) {
  static const struct {
    const char *word;
    Sort sort;
  } sorts[] = {{"ticket", SORT_TICKET}, {"token", SORT_TOKEN}, {"number", SORT_INT}, {"bool", SORT_BOOL},
               {"client", SORT_CLIENT}, {"server", SORT_SERVER}, {"word", SORT_WORD}};
  code_value(c, expr->left);
  for (size_t i = 0; i < G_N_ELEMENTS(sorts); i++) {
    if (strcmp(sorts[i].word, expr->name.text) == 0) {
      code_emit(c, OP_IS_SORT, (int32_t)sorts[i].sort, 0, expr->span);
      return shape_bool;
    }
  }
  diagnostics_error(c->diagnostics, expr->name.span, "after `is` stands ticket, token, number, bool, client, server or word");
  return shape_bool;
}

static Shape code_armed(Compiler *c, const Expr *expr) {
  const Symbol *symbol = compiler_find(c, expr->name.text);
  if (symbol == NULL || symbol->kind != SYMBOL_TIMER) {
    compiler_unknown(c, expr->name, "timer");
    return shape_bool;
  }
  code_emit(c, OP_TIMER_ARMED, symbol->index, 0, expr->span);
  return shape_bool;
}

static Shape code_process(Compiler *c, const Expr *expr) {
  bool is_me = expr->kind == EXPR_ME;
  if (is_me ? c->mode == MODE_NEVER : c->mode != MODE_HANDLER) {
    diagnostics_error(c->diagnostics, expr->span, is_me ? "`me` has no meaning in a `never`"
                                                        : "`caller` is known only while a server handles a message");
  }
  code_emit(c, is_me ? OP_ME : OP_CALLER, 0, 0, expr->span);
  return shape_of(is_me && c->mode == MODE_HANDLER ? SORT_SERVER : SORT_CLIENT);
}

static Shape code_binary_value(Compiler *c, const Expr *expr) {
  if (is_age_comparison(expr)) {
    if (!code_age_below(c, expr)) {
      code_emit(c, OP_NOT, 0, 0, expr->span);
    }
    return shape_bool;
  }
  if (expr->has_age) {
    code_pause_point(c, expr->span); /* the ages inside are read with values on the stack */
  }
  return expr->op <= BINARY_GE ? code_comparison(c, expr) : code_arithmetic(c, expr);
}

static Shape code_odd(Compiler *c, const Expr *expr) {
  if (expr->kind == EXPR_NOW) {
    diagnostics_error(c->diagnostics, expr->span, "`now` is only assigned to a stamp: `since = now`");
  } else {
    diagnostics_error(c->diagnostics, expr->span, "an age is only compared: `%s < 10s`", expr_text(c, expr));
  }
  return shape_any;
}

static Shape code_computed(Compiler *c, const Expr *expr) {
  switch (expr->kind) {
  case EXPR_NAME:
    return code_name(c, expr);
  case EXPR_FIELD:
    return code_field(c, expr);
  case EXPR_FRESH:
    if (c->mode != MODE_CLIENT && c->mode != MODE_HANDLER) {
      diagnostics_error(c->diagnostics, expr->span, "`fresh` makes a new value; it cannot stand in a mere condition");
    }
    code_emit(c, OP_FRESH, 0, 0, expr->span);
    return shape_of(SORT_TOKEN);
  case EXPR_ME:
  case EXPR_CALLER:
    return code_process(c, expr);
  case EXPR_NEXT:
    return code_next(c, expr);
  case EXPR_IS:
    return code_is(c, expr);
  case EXPR_ARMED:
    return code_armed(c, expr);
  case EXPR_BINARY:
    return code_binary_value(c, expr);
  case EXPR_QUANTIFIER:
    if (expr->has_age) {
      code_pause_point(c, expr->span);
    }
    return code_quantifier(c, expr);
  case EXPR_ASK:
    code_ask(c, expr);
    code_emit(c, OP_REPLY_VALUE, 0, 0, expr->span);
    return shape_any;
  case EXPR_NEGATE: {
    Shape shape = code_value(c, expr->left);
    check_number(c, expr->left, shape);
    code_emit(c, OP_NEG, 0, 0, expr->span);
    return shape_of(SORT_INT);
  }
  default:
    return code_odd(c, expr);
  }
}

Shape code_value_as(Compiler *c, const Expr *expr, Sort expected) {
  Constant value;
  if (c->pending >= STACK_MAX) {
    diagnostics_error(c->diagnostics, expr->span, "this is nested too deeply: more than %d values wait for it", STACK_MAX);
    return shape_any;
  }
  Fold fold = compiler_fold(c, expr, &value);
  if (fold == FOLD_BAD) {
    return shape_any;
  }
  if (fold == FOLD_YES) {
    return code_constant(c, expr, value, expected);
  }
  return is_logic(expr) ? code_truth(c, expr) : code_computed(c, expr);
}

Shape code_value(Compiler *c, const Expr *expr) {
  return code_value_as(c, expr, SORT_REPLY);
}
