/* Variables, elements of arrays, and what other processes have: how they are read, and how their ages are compared. */
#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

static int32_t ghost_process(const Compiler *c) {
  return c->program->client_count + c->program->server_count;
}

/* Elements */

static const char *index_name(const Extent *extent) {
  return extent->sort == SORT_INT ? "numbers" : extent->sort == SORT_CLIENT ? "clients" : "servers";
}

bool code_index(Compiler *c, Name name, const Extent *extent, const Expr *index) {
  if (!extent->is_array) {
    diagnostics_error(c->diagnostics, name.span, "'%s' is no array", name.text);
    return false;
  }
  if (index == NULL) {
    diagnostics_error(c->diagnostics, name.span, "'%s' is an array; name an element: `%s[…]`", name.text, name.text);
    return false;
  }
  Shape shape = code_value_as(c, index, extent->sort);
  if (shape.sort != extent->sort && shape.sort != SORT_REPLY) {
    diagnostics_error(c->diagnostics, index->span, "'%s' is indexed by %s; '%s' is %s", name.text, index_name(extent),
                      expr_text(c, index), sort_text(shape.sort));
    return false;
  }
  if (shape.sort == extent->sort && (shape.hi < extent->first || shape.lo >= extent->first + extent->count)) {
    if (extent->sort == SORT_INT) {
      diagnostics_error(c->diagnostics, index->span, "'%s' has the indices 0..%d", name.text, extent->count - 1);
    } else {
      diagnostics_error(c->diagnostics, index->span, "'%s' has no element for '%s'", name.text, expr_text(c, index));
    }
    return false;
  }
  return true;
}

/* Whether ghosts may be read here: their values must not change what the model does. */
static bool check_ghost(Compiler *c, Name name) {
  if (c->mode == MODE_NEVER || c->reads_ghosts > 0) {
    return true;
  }
  diagnostics_error(c->diagnostics, name.span,
                    "'%s' is a ghost: only a `never`, an `assert` and assignments to ghosts read it", name.text);
  return false;
}

static Shape load_variable(Compiler *c, const Symbol *symbol, Name name, bool is_indexed) {
  if (symbol->kind == SYMBOL_GHOST) {
    check_ghost(c, name);
    code_emit_element(c, OP_LOAD_OF, symbol->index, ghost_process(c), is_indexed, name.span);
  } else {
    code_emit_element(c, OP_LOAD, symbol->index, 0, is_indexed, name.span);
  }
  return symbol->shape;
}

Shape code_load(Compiler *c, const Symbol *found, Name name, const Expr *index) {
  Symbol symbol = *found; /* the lists of symbols may move */
  bool is_variable = symbol.kind == SYMBOL_VARIABLE || symbol.kind == SYMBOL_GHOST;
  if (symbol.kind == SYMBOL_ELEMENT) {
    code_push(c, symbol.constant.sort, symbol.constant.value, name.span);
    return load_variable(c, symbol.array, name, true);
  }
  if ((index != NULL || symbol.extent.is_array) && !code_index(c, name, &symbol.extent, index)) {
    return shape_any;
  }
  if (is_variable) {
    return load_variable(c, &symbol, name, index != NULL);
  }
  code_emit(c, symbol.kind == SYMBOL_ARG ? OP_LOAD_ARG : OP_LOAD_LOCAL, symbol.index, 0, name.span);
  return symbol.shape;
}

/* What other processes have: c.inside, c.up, c.x, node[0].owner; in `never` only. */

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
      diagnostics_error(c->diagnostics, expr->left->span,
                        "'%s' is not one client or server; write `any(c in client : c.%s …)`", expr_text(c, expr->left),
                        expr->name.text);
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
  if (field->declared == NULL &&
      (!is_state_field(expr->name.text) || (!is_client && strcmp(expr->name.text, "inside") == 0))) {
    unknown_field(c, expr, variables, count);
    return false;
  }
  if (is_client && field->declared != NULL) {
    c->never_reads[kind] |= UINT64_C(1) << field->variable;
  }
  return true;
}

Sort code_field_sort(Compiler *c, const Expr *expr) {
  Field field;
  return resolve_field(c, expr, &field) && field.declared != NULL ? field.declared->type.sort : SORT_REPLY;
}

Shape code_field(Compiler *c, const Expr *expr, const Expr *index) {
  Field field;
  if (!resolve_field(c, expr, &field)) {
    return shape_any;
  }
  if (field.declared == NULL) {
    code_emit(c, strcmp(expr->name.text, "up") == 0 ? OP_UP_OF : OP_INSIDE_OF, 0, field.process, expr->span);
    return shape_of(SORT_BOOL);
  }
  if (field.declared->type.sort == SORT_STAMP) {
    diagnostics_error(c->diagnostics, expr->span, "a stamp is only compared: `age(%s) < 10s`", expr_text(c, expr));
    return shape_any;
  }
  Name name = {expr_text(c, expr), expr->span};
  if ((index != NULL || field.declared->extent.is_array) && !code_index(c, name, &field.declared->extent, index)) {
    return shape_any;
  }
  code_emit_element(c, OP_LOAD_OF, field.variable, field.process, index != NULL, expr->span);
  Type type = field.declared->type;
  return (Shape){type.sort, type.optional, type.lo, type.hi, type.on_wall};
}

/* Ages */

typedef struct Stamp {
  int32_t variable;
  int32_t process;     /* NO_INDEX: the one that runs */
  const Symbol *value; /* an argument or a `let` of a handler; NULL: a variable */
  bool on_wall;        /* of such a value */
  Name name;
  Extent extent;
  const Expr *index;     /* of an element */
  const Symbol *element; /* of a quantifier over an array */
} Stamp;

static bool no_stamp(Compiler *c, const Expr *expr) {
  diagnostics_error(c->diagnostics, expr->span, "'%s' is not a stamp; `age` reads a variable that took `now`",
                    expr_text(c, expr));
  return false;
}

static bool find_field_stamp(Compiler *c, const Expr *expr, const Expr *field_expr, Stamp *stamp) {
  Field field;
  if (!resolve_field(c, field_expr, &field)) {
    return false;
  }
  if (field.declared == NULL || field.declared->type.sort != SORT_STAMP) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is not a stamp", expr_text(c, expr));
    return false;
  }
  *stamp = (Stamp){.variable = field.variable,
                   .process = field.process,
                   .extent = field.declared->extent,
                   .name = {expr_text(c, field_expr), field_expr->span}};
  return true;
}

/* A stamp that came with a message, or a `let`: it must be known which clock it is read on. */
static bool find_value_stamp(Compiler *c, const Expr *expr, const Symbol *symbol, Stamp *stamp) {
  bool is_argument = symbol->kind == SYMBOL_ARG,
       is_bad = symbol->shape.sort != SORT_STAMP && symbol->shape.sort != SORT_REPLY;
  if (is_bad) {
    return no_stamp(c, expr);
  }
  const CallFacts *facts = is_argument ? c->handled : NULL;
  if (facts != NULL && (facts->on_wall & facts->on_monotonic & (1 << symbol->index))) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' comes from different clocks: wall and monotonic",
                      expr_text(c, expr));
    return false;
  }
  *stamp = (Stamp){.process = NO_INDEX, .value = symbol, .on_wall = symbol->shape.on_wall, .name = expr->name};
  return true;
}

static bool find_stamp(Compiler *c, const Expr *expr, Stamp *stamp) {
  const Expr *base = expr->kind == EXPR_INDEX ? expr->left : expr;
  const Expr *index = expr->kind == EXPR_INDEX ? expr->right : NULL;
  if (base->kind == EXPR_FIELD) {
    bool found = find_field_stamp(c, expr, base, stamp);
    stamp->index = index;
    return found;
  }
  const Symbol *symbol = base->kind == EXPR_NAME ? compiler_find(c, base->name.text) : NULL;
  if (symbol == NULL && base->kind == EXPR_NAME) {
    compiler_unknown(c, base->name, "stamp");
    return false;
  }
  if (symbol != NULL && index == NULL && (symbol->kind == SYMBOL_ARG || symbol->kind == SYMBOL_LOCAL)) {
    return find_value_stamp(c, expr, symbol, stamp);
  }
  const Symbol *element = symbol != NULL && symbol->kind == SYMBOL_ELEMENT ? symbol : NULL;
  symbol = element != NULL ? element->array : symbol;
  bool is_variable = symbol != NULL && (symbol->kind == SYMBOL_VARIABLE || symbol->kind == SYMBOL_GHOST);
  if (!is_variable || symbol->shape.sort != SORT_STAMP) {
    return no_stamp(c, expr);
  }
  bool is_ghost = symbol->kind == SYMBOL_GHOST;
  *stamp = (Stamp){.variable = symbol->index,
                   .process = is_ghost ? ghost_process(c) : NO_INDEX,
                   .name = base->name,
                   .extent = symbol->extent,
                   .index = index,
                   .element = element};
  return !is_ghost || check_ghost(c, base->name);
}

static void wrong_age_operator(Compiler *c, const Expr *expr) {
  const char *age = expr_text(c, expr->left), *bound = expr_text(c, expr->right);
  bool is_above = expr->op == BINARY_GT;
  if (expr->op == BINARY_LE || is_above) {
    diagnostics_error(c->diagnostics, expr->op_span,
                      "an age that meets its bound exactly counts as too old; write `%s %s %s`", age,
                      is_above ? ">=" : "<", bound);
  } else {
    diagnostics_error(c->diagnostics, expr->op_span, "an age is only compared by < and >=; write `%s < %s`", age,
                      bound);
  }
}

bool code_is_age_comparison(const Expr *expr) {
  return expr->kind == EXPR_BINARY && expr->op >= BINARY_EQ && expr->op <= BINARY_GE &&
         (expr->left->kind == EXPR_AGE || expr->right->kind == EXPR_AGE);
}

/* Both sides of `age(s) < d` or `age(s) >= d`. False after a diagnostic. */
static bool resolve_age(Compiler *c, const Expr *expr, bool *below, Stamp *stamp, int32_t *duration) {
  if (expr->left->kind != EXPR_AGE) {
    diagnostics_error(c->diagnostics, expr->span, "write the age first: `age(…) < %s`", expr_text(c, expr->left));
    return false;
  }
  if (expr->op != BINARY_LT && expr->op != BINARY_GE) {
    wrong_age_operator(c, expr);
    return false;
  }
  int64_t us;
  if (!find_stamp(c, expr->left->left, stamp) ||
      !compiler_constant_duration(c, expr->right, "what an age is compared with", &us)) {
    return false;
  }
  *below = expr->op == BINARY_LT;
  *duration = compiler_duration(c, us);
  return true;
}

bool code_age(Compiler *c, const Expr *expr, bool *below, int32_t *variable, int32_t *duration) {
  Stamp stamp;
  if (!resolve_age(c, expr, below, &stamp, duration)) {
    return false;
  }
  if (stamp.process != NO_INDEX || stamp.extent.is_array) {
    diagnostics_error(c->diagnostics, expr->left->span,
                      "`until` reads the age of a stamp of this client that is no array");
    return false;
  }
  *variable = stamp.variable;
  return true;
}

bool code_age_below(Compiler *c, const Expr *expr) {
  bool below = true;
  int32_t duration;
  Stamp stamp;
  code_pause_point(c, expr->span);
  if (c->mode == MODE_GUARD) {
    diagnostics_error(c->diagnostics, expr->span,
                      "a guard reads no clock; let a timer change a variable that it reads");
    return true;
  }
  if (!resolve_age(c, expr, &below, &stamp, &duration)) {
    return true;
  }
  if (stamp.value != NULL) {
    code_load(c, stamp.value, stamp.name, NULL);
    code_emit(c, OP_AGE_BELOW_VALUE, stamp.on_wall, duration, expr->span);
    return below;
  }
  bool is_indexed = stamp.index != NULL || stamp.extent.is_array;
  if (stamp.element != NULL) {
    code_push(c, stamp.element->constant.sort, stamp.element->constant.value, expr->span);
  } else if (is_indexed && !code_index(c, stamp.name, &stamp.extent, stamp.index)) {
    return true;
  }
  code_emit_element(c, stamp.process == NO_INDEX ? OP_AGE_BELOW : OP_AGE_BELOW_OF, stamp.variable, duration, is_indexed,
                    expr->span);
  if (stamp.process != NO_INDEX && !c->dead && !c->exhausted) {
    c->code.items[c->code.count - 1].count = (uint8_t)stamp.process;
  }
  return below;
}
