#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

static const Shape shape_bool = {.sort = SORT_BOOL, .lo = 0, .hi = 1};
const Shape shape_any = {.sort = SORT_REPLY};

Shape shape_of(Sort sort) {
  return (Shape){.sort = sort, .lo = INT32_MIN, .hi = INT32_MAX};
}

static Shape shape_of_constant(Constant value) {
  return (Shape){.sort = value.sort, .lo = value.value, .hi = value.value};
}

/* Quantifiers: unrolled, the variable a constant in each copy. */

/* A group of processes, or `peers`: the group of whoever runs, without itself. */
static bool group_range(Compiler *c, const Expr *expr, const char *what, Range *range) {
  Constant group;
  bool is_peers = compiler_is_peers(c, expr);
  if (!(is_peers ? compiler_peers(c, expr, &group) : compiler_constant(c, expr, what, &group))) {
    return false;
  }
  *range = (Range){group, group.count, is_peers};
  range->first.is_group = false;
  range->first.count = 1;
  if (group.sort != SORT_CLIENT && group.sort != SORT_SERVER) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is no group of processes and no range a..b",
                      expr_text(c, expr));
    return false;
  }
  return true;
}

bool code_range(Compiler *c, const Expr *low_expr, const Expr *high_expr, const char *what, Range *range) {
  Constant low, high;
  if (high_expr == NULL) {
    return group_range(c, low_expr, what, range);
  }
  if (!compiler_constant(c, low_expr, what, &low) || !compiler_constant(c, high_expr, "the end of the range", &high)) {
    return false;
  }
  if (low.sort != SORT_INT || high.sort != SORT_INT || high.value - low.value >= 1000) {
    diagnostics_error(c->diagnostics, low_expr->span, "a range is a..b with numbers, at most 1000 of them");
    return false;
  }
  *range = (Range){low, high.value < low.value ? 0 : (int32_t)(high.value - low.value) + 1, false};
  return true;
}

/* The elements of an array of the process that runs, or of a ghost. */
static const Symbol *quantified_array(Compiler *c, const Expr *expr) {
  const Symbol *symbol =
      expr->third == NULL && expr->left->kind == EXPR_NAME ? compiler_find(c, expr->left->name.text) : NULL;
  bool is_variable = symbol != NULL && (symbol->kind == SYMBOL_VARIABLE || symbol->kind == SYMBOL_GHOST);
  return is_variable && symbol->extent.is_array ? ast_copy(c->model->ast, symbol, sizeof *symbol) : NULL;
}

typedef struct Domain {
  Range range;
  const Symbol *array; /* NULL: the values of the range themselves */
} Domain;

static bool quantifier_domain(Compiler *c, const Expr *expr, Domain *domain) {
  domain->array = quantified_array(c, expr);
  if (domain->array == NULL) {
    return code_range(c, expr->left, expr->third, "what is quantified over", &domain->range);
  }
  const Extent *extent = &domain->array->extent;
  domain->range = (Range){{extent->sort, extent->first, 1, false}, extent->count, false};
  return true;
}

static void bind_quantified(Compiler *c, const Expr *expr, const Domain *domain, int32_t i) {
  Constant value = domain->range.first;
  value.value += i;
  Symbol symbol = {.name = expr->name, .kind = SYMBOL_CONSTANT, .constant = value};
  if (domain->array != NULL) {
    symbol.kind = SYMBOL_ELEMENT;
    symbol.array = domain->array;
    symbol.shape = domain->array->shape;
  }
  compiler_push_local(c, symbol);
}

/* Jumps when server number `i` of the peers is the one that runs. */
static void code_skip_me(Compiler *c, const Range *range, int32_t i, Patches *patches, Span span) {
  if (range->skips_me) {
    code_push(c, range->first.sort, range->first.value + i, span);
    code_emit(c, OP_ME, 0, 0, span);
    code_emit(c, OP_EQ, 0, 0, span);
    code_jump(c, OP_JUMP_IF, patches, span);
  }
}

static void quantifier_condition(Compiler *c, const Expr *expr, bool when, Patches *patches) {
  Domain domain;
  if (!quantifier_domain(c, expr, &domain)) {
    return;
  }
  /* any: one true decides; all: one false does. */
  bool decisive = expr->quantifier == QUANTIFIER_ANY;
  Patches decided = {0};
  for (int32_t i = 0; i < domain.range.count && compiler_work(c, expr->span); i++) {
    Patches not_this = {0};
    bind_quantified(c, expr, &domain, i);
    code_skip_me(c, &domain.range, i, &not_this, expr->span);
    code_condition(c, expr->right, decisive, when == decisive ? patches : &decided);
    code_patch(c, &not_this);
    c->locals.count--;
  }
  if (when != decisive) {
    code_jump(c, OP_JUMP, patches, expr->span);
  }
  code_patch(c, &decided);
}

static Shape quantifier_count(Compiler *c, const Expr *expr, const Domain *domain) {
  const Range *range = &domain->range;
  code_push(c, SORT_INT, 0, expr->span);
  c->pending++;
  for (int32_t i = 0; i < range->count && compiler_work(c, expr->span); i++) {
    Patches not_this = {0};
    bind_quantified(c, expr, domain, i);
    code_skip_me(c, range, i, &not_this, expr->span);
    code_condition(c, expr->right, false, &not_this);
    c->locals.count--;
    code_push(c, SORT_INT, 1, expr->span);
    code_emit(c, OP_ADD, 0, 0, expr->span);
    code_patch(c, &not_this);
  }
  c->pending--;
  return (Shape){.sort = SORT_INT, .lo = 0, .hi = range->count};
}

static Shape quantifier_extreme(Compiler *c, const Expr *expr, const Domain *domain) {
  const Range *range = &domain->range;
  Shape all = {.sort = SORT_INT, .lo = INT32_MAX, .hi = INT32_MIN};
  for (int32_t i = 0; i < range->count && compiler_work(c, expr->span); i++) {
    bind_quantified(c, expr, domain, i);
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
  if (range->skips_me) {
    diagnostics_error(c->diagnostics, expr->left->span,
                      "`min` and `max` do not range over peers, of which there may be none");
  } else if (range->count == 0) {
    diagnostics_error(c->diagnostics, expr->left->span, "this range is empty: it has no smallest or largest");
  }
  return all;
}

static Shape code_quantifier(Compiler *c, const Expr *expr) {
  Domain domain;
  if (!quantifier_domain(c, expr, &domain)) {
    return shape_any;
  }
  return expr->quantifier == QUANTIFIER_COUNT ? quantifier_count(c, expr, &domain)
                                              : quantifier_extreme(c, expr, &domain);
}

/* Conditions: jumping code, so that nothing lies on the stack at a pause point. */

static bool is_logic(const Expr *expr) {
  return expr->kind == EXPR_NOT || (expr->kind == EXPR_BINARY && expr->op <= BINARY_AND) ||
         (expr->kind == EXPR_QUANTIFIER && expr->quantifier != QUANTIFIER_COUNT && expr->quantifier < QUANTIFIER_MIN);
}

static void condition_leaf(Compiler *c, const Expr *expr, bool when, Patches *patches) {
  if (code_is_age_comparison(expr)) {
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

void code_truth_value(Compiler *c, const Expr *expr, const char *what) {
  Shape shape = code_value(c, expr);
  if (shape.sort != SORT_BOOL && shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, expr->span, "%s holds a condition, but this is %s", what, sort_text(shape.sort));
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

static bool in_service(const Compiler *c) {
  return c->mode == MODE_HANDLER || c->mode == MODE_GUARD;
}

/* Whose messages the handler gets: clients', servers', or only the adversary's. */
static Shape caller_shape(const Compiler *c) {
  bool from_server = c->handled != NULL && c->handled->from_server,
       from_client = c->handled != NULL && c->handled->from_client;
  Shape shape = shape_of(from_server && from_client ? SORT_REPLY : from_server ? SORT_SERVER : SORT_CLIENT);
  shape.optional = !from_server && !from_client;
  return shape;
}

static Sort plain_sort_of_element(Compiler *c, const Expr *array) {
  const Symbol *symbol = array->kind == EXPR_NAME ? compiler_find(c, array->name.text) : NULL;
  if (array->kind == EXPR_FIELD && c->mode == MODE_NEVER) {
    return code_field_sort(c, array);
  }
  bool is_variable =
      symbol != NULL && symbol->kind != SYMBOL_CONSTANT && symbol->kind != SYMBOL_KIND && symbol->kind != SYMBOL_LIST;
  return is_variable ? symbol->shape.sort : SORT_REPLY;
}

/* The sort of an expression that names something, without code; SORT_REPLY when that is not plain to see. */
static Sort plain_sort(Compiler *c, const Expr *expr) {
  const Symbol *symbol = expr->kind == EXPR_NAME ? compiler_find(c, expr->name.text) : NULL;
  if (symbol != NULL && symbol->kind != SYMBOL_CONSTANT && symbol->kind != SYMBOL_KIND && symbol->kind != SYMBOL_LIST) {
    return symbol->shape.sort;
  }
  if (expr->kind == EXPR_FIELD && c->mode == MODE_NEVER) {
    return code_field_sort(c, expr);
  }
  if (expr->kind == EXPR_INDEX) {
    return plain_sort_of_element(c, expr->left);
  }
  if (expr->kind == EXPR_ME) {
    return in_service(c) ? SORT_SERVER : SORT_CLIENT;
  }
  if (expr->kind == EXPR_CALLER) {
    return caller_shape(c).sort;
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
    diagnostics_error(c->diagnostics, wrong->span,
                      "'%s' is a duration; compare it with a duration such as 30ms, not with %s", expr_text(c, wrong),
                      sort_text(other.sort));
  } else if (wrong_shape.sort == SORT_WORD) {
    diagnostics_error(c->diagnostics, wrong->span, "'%s' is a word that servers reply; it cannot equal %s",
                      expr_text(c, wrong), sort_text(other.sort));
  } else {
    diagnostics_error(c->diagnostics, wrong->span, "'%s' is %s; it cannot be compared with %s", expr_text(c, wrong),
                      sort_text(wrong_shape.sort), sort_text(other.sort));
  }
}

static void only_ages(Compiler *c, const Expr *expr) {
  const char *text = expr_text(c, expr);
  diagnostics_error(c->diagnostics, expr->span,
                    "'%s' is a stamp; it is only compared (`age(%s) < 10s`), copied to another stamp or sent", text,
                    text);
}

static void check_comparison(Compiler *c, const Expr *expr, Shape left, Shape right) {
  if (left.sort == SORT_STAMP || right.sort == SORT_STAMP) {
    only_ages(c, left.sort == SORT_STAMP ? expr->left : expr->right);
    return;
  }
  bool is_dynamic = left.sort == SORT_REPLY || right.sort == SORT_REPLY;
  bool has_none = left.sort == SORT_NONE || right.sort == SORT_NONE;
  if (expr->op >= BINARY_LT) {
    Sort sort = left.sort == SORT_REPLY ? right.sort : left.sort;
    if (sort == SORT_TOKEN || sort == SORT_CLIENT || sort == SORT_SERVER || sort == SORT_WORD || sort == SORT_BOOL ||
        sort == SORT_NONE) {
      diagnostics_error(c->diagnostics, expr->op_span,
                        "there is no order here, since '%s' is %s; only == and != mean anything",
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
  if (shape.sort == SORT_STAMP) {
    only_ages(c, expr);
    return false;
  }
  const char *why = shape.sort == SORT_TICKET
                        ? "; only the order of tickets means anything, and `next t` is a larger one"
                    : shape.sort == SORT_DURATION ? "; durations are calculated with constants only"
                                                  : "";
  diagnostics_error(c->diagnostics, expr->span, "'%s' is %s, not a number%s", expr_text(c, expr), sort_text(shape.sort),
                    why);
  return false;
}

static Shape code_arithmetic(Compiler *c, const Expr *expr) {
  static const Opcode ops[] = {[BINARY_ADD] = OP_ADD,
                               [BINARY_SUB] = OP_SUB,
                               [BINARY_MUL] = OP_MUL,
                               [BINARY_DIV] = OP_DIV,
                               [BINARY_MOD] = OP_MOD};
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
  case SYMBOL_GHOST:
  case SYMBOL_ELEMENT:
  case SYMBOL_ARG:
  case SYMBOL_LOCAL: return code_load(c, symbol, expr->name, NULL);
  case SYMBOL_LIST:
    diagnostics_error(c->diagnostics, expr->span, "'%s' is a list of servers; write `%s[me]`", expr->name.text,
                      expr->name.text);
    return shape_any;
  default:
    diagnostics_error(c->diagnostics, expr->span, "'%s' is a timer; write `%s armed`", expr->name.text,
                      expr->name.text);
    return shape_any;
  }
}

/* node[i], client[i]: the first one, and so many places on. */
static Shape code_member(Compiler *c, const Expr *expr, Constant group) {
  compiler_tell_apart(c, group, expr->span);
  code_push(c, group.sort, group.value, expr->left->span);
  c->pending++;
  Shape shape = code_value(c, expr->right);
  c->pending--;
  if (shape.sort != SORT_INT && shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, expr->right->span, "an index of a group is a number; '%s' is %s",
                      expr_text(c, expr->right), sort_text(shape.sort));
  }
  code_emit(c, OP_CHECK_INDEX, group.count, 0, expr->right->span);
  code_emit(c, OP_ADD, 0, 0, expr->span);
  return (Shape){.sort = group.sort, .lo = group.value, .hi = group.value + group.count - 1};
}

/* An element of an array, a member of a group or an entry of a list, whose index the program computes. */
static Shape code_subscript(Compiler *c, const Expr *expr) {
  const Expr *base = expr->left;
  if (base->kind == EXPR_FIELD) {
    return code_field(c, base, expr->right);
  }
  Constant group;
  const Symbol *symbol = compiler_find(c, base->name.text);
  if (symbol != NULL && symbol->kind == SYMBOL_LIST) {
    const ServerList *list = NULL;
    if (code_list_entry(c, expr, &list) && list->is_group) {
      diagnostics_error(c->diagnostics, expr->span, "'%s' is a group of processes, not a value", expr_text(c, expr));
    }
    return shape_of(SORT_SERVER);
  }
  if (compiler_fold(c, base, &group) == FOLD_YES) {
    return code_member(c, expr, group);
  }
  if (symbol != NULL && symbol->kind != SYMBOL_TIMER) {
    return code_load(c, symbol, base->name, expr->right);
  }
  diagnostics_error(c->diagnostics, base->span, "'%s' is no array", expr_text(c, base));
  return shape_any;
}

static Shape code_constant(Compiler *c, const Expr *expr, Constant value, Sort expected) {
  if (value.is_group) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is a group of processes, not a value", expr_text(c, expr));
    return shape_any;
  }
  if (expected == SORT_TICKET && value.sort == SORT_INT) {
    if (value.value != 0) {
      diagnostics_error(c->diagnostics, expr->span,
                        "only the order of tickets means anything; the only number that is one is 0, "
                        "the smallest");
    }
    code_push(c, SORT_TICKET, TICKET_BOTTOM, expr->span);
    return shape_of(SORT_TICKET);
  }
  if (expected == SORT_CLIENT && value.sort == SORT_INT && value.value >= 0 && value.value < c->program->client_count) {
    value.sort = SORT_CLIENT;
    compiler_tell_apart(c, value, expr->span);
  }
  code_push(c, value.sort, value.value, expr->span);
  return shape_of_constant(value);
}

static Shape code_next(Compiler *c, const Expr *expr) {
  if (c->mode == MODE_GUARD) {
    diagnostics_error(c->diagnostics, expr->span, "`next` makes a new value; it cannot stand in a mere condition");
  }
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
  } sorts[] = {{"ticket", SORT_TICKET}, {"token", SORT_TOKEN},   {"number", SORT_INT}, {"bool", SORT_BOOL},
               {"client", SORT_CLIENT}, {"server", SORT_SERVER}, {"word", SORT_WORD}};
  code_value(c, expr->left);
  for (size_t i = 0; i < G_N_ELEMENTS(sorts); i++) {
    if (strcmp(sorts[i].word, expr->name.text) == 0) {
      code_emit(c, OP_IS_SORT, (int32_t)sorts[i].sort, 0, expr->span);
      return shape_bool;
    }
  }
  diagnostics_error(c->diagnostics, expr->name.span,
                    "after `is` stands ticket, token, number, bool, client, server or word");
  return shape_bool;
}

static Shape code_armed(Compiler *c, const Expr *expr) {
  const Symbol *symbol = compiler_find(c, expr->name.text);
  if (symbol == NULL || symbol->kind != SYMBOL_TIMER) {
    compiler_unknown(c, expr->name, "timer");
    return shape_bool;
  }
  int32_t index = symbol->index;
  Extent extent = symbol->extent;
  bool is_indexed = expr->left != NULL || extent.is_array;
  if (!is_indexed || code_index(c, expr->name, &extent, expr->left)) {
    code_emit_element(c, OP_TIMER_ARMED, index, 0, is_indexed, expr->span);
  }
  return shape_bool;
}

static Shape code_me(Compiler *c, const Expr *expr) {
  if (c->mode == MODE_NEVER) {
    diagnostics_error(c->diagnostics, expr->span, "`me` has no meaning in a `never`");
    return shape_any;
  }
  code_emit(c, OP_ME, 0, 0, expr->span);
  if (in_service(c)) {
    return shape_of(SORT_SERVER);
  }
  const ClientKind *kind = &c->program->kinds[c->kind];
  return (Shape){.sort = SORT_CLIENT, .lo = kind->first, .hi = kind->first + kind->count - 1};
}

static Shape code_caller(Compiler *c, const Expr *expr) {
  Shape shape = caller_shape(c);
  if (!in_service(c) || c->handled == NULL) {
    diagnostics_error(c->diagnostics, expr->span, "`caller` is known only while a server handles a message");
  } else if (shape.sort == SORT_REPLY) {
    diagnostics_error(
        c->diagnostics, expr->span,
        "clients and servers call this handler; write one for each, so that `caller` is one or the other");
  }
  code_emit(c, OP_CALLER, 0, 0, expr->span);
  return shape;
}

static Shape code_binary_value(Compiler *c, const Expr *expr) {
  if (code_is_age_comparison(expr)) {
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

static Shape code_now(Compiler *c, const Expr *expr) {
  if (c->mode != MODE_CLIENT && c->mode != MODE_HANDLER && c->mode != MODE_NOTICE) {
    diagnostics_error(c->diagnostics, expr->span, "`now` is taken into a stamp; a mere condition compares its age");
  }
  code_pause_point(c, expr->span);
  code_emit(c, expr->number ? OP_NOW_WALL : OP_NOW, 0, 0, expr->span);
  Shape shape = shape_of(SORT_STAMP);
  shape.on_wall = expr->number != 0;
  return shape;
}

static Shape code_odd(Compiler *c, const Expr *expr) {
  if (expr->kind == EXPR_LIST) {
    diagnostics_error(c->diagnostics, expr->span, "a list of servers is the value of a parameter");
  } else {
    diagnostics_error(c->diagnostics, expr->span, "an age is only compared: `%s < 10s`", expr_text(c, expr));
  }
  return shape_any;
}

static Shape code_computed(Compiler *c, const Expr *expr) {
  switch (expr->kind) {
  case EXPR_NAME: return code_name(c, expr);
  case EXPR_FIELD: return code_field(c, expr, NULL);
  case EXPR_INDEX: return code_subscript(c, expr);
  case EXPR_NOW: return code_now(c, expr);
  case EXPR_FRESH:
    if (c->mode != MODE_CLIENT && c->mode != MODE_HANDLER && c->mode != MODE_NOTICE) {
      diagnostics_error(c->diagnostics, expr->span, "`fresh` makes a new value; it cannot stand in a mere condition");
    }
    code_emit(c, OP_FRESH, 0, 0, expr->span);
    return shape_of(SORT_TOKEN);
  case EXPR_ME: return code_me(c, expr);
  case EXPR_CALLER: return code_caller(c, expr);
  case EXPR_NEXT: return code_next(c, expr);
  case EXPR_IS: return code_is(c, expr);
  case EXPR_ARMED: return code_armed(c, expr);
  case EXPR_BINARY: return code_binary_value(c, expr);
  case EXPR_QUANTIFIER:
    if (expr->has_age) {
      code_pause_point(c, expr->span);
    }
    return code_quantifier(c, expr);
  case EXPR_ASK: {
    Shape value;
    code_ask(c, expr, &value);
    code_emit(c, OP_REPLY_VALUE, 0, 0, expr->span);
    return value;
  }
  case EXPR_NEGATE: {
    Shape shape = code_value(c, expr->left);
    check_number(c, expr->left, shape);
    code_emit(c, OP_NEG, 0, 0, expr->span);
    return shape_of(SORT_INT);
  }
  default: return code_odd(c, expr);
  }
}

Shape code_value_as(Compiler *c, const Expr *expr, Sort expected) {
  Constant value;
  if (c->pending >= STACK_MAX) {
    diagnostics_error(c->diagnostics, expr->span, "this is nested too deeply: more than %d values wait for it",
                      STACK_MAX);
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
