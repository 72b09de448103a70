#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"
#include "lang/parser.h"

#define WORK_MAX 4000000

static const char *const sort_texts[SORT_COUNT] = {
    [SORT_NONE] = "none",           [SORT_INT] = "a number",    [SORT_BOOL] = "true or false", [SORT_WORD] = "a word",
    [SORT_DURATION] = "a duration", [SORT_CLIENT] = "a client", [SORT_SERVER] = "a server",    [SORT_TOKEN] = "a token",
    [SORT_TICKET] = "a ticket",     [SORT_STAMP] = "a stamp",   [SORT_REPLY] = "a reply"};

const char *sort_text(Sort sort) {
  return sort_texts[sort];
}

const char *expr_text(Compiler *c, const Expr *expr) {
  const char *text = sources_text(c->model->sources, expr->span.file, NULL);
  size_t bytes = expr->span.end - expr->span.begin;
  bool is_long = bytes > 40 || memchr(text + expr->span.begin, '\n', bytes) != NULL;
  return is_long ? "this" : ast_text(c->model->ast, text + expr->span.begin, bytes);
}

bool compiler_work(Compiler *c, Span span) {
  if (++c->work > WORK_MAX && !c->exhausted) {
    c->exhausted = true;
    diagnostics_error(c->diagnostics, span,
                      "this expands to too much code; use fewer processes or nest fewer quantifiers");
  }
  return !c->exhausted;
}

/* Names */

void compiler_declare_global(Compiler *c, Symbol symbol) {
  gpointer known = g_hash_table_lookup(c->global_index, symbol.name.text);
  if (known != NULL) {
    diagnostics_error(c->diagnostics, symbol.name.span, "'%s' is declared twice", symbol.name.text);
    diagnostics_note(c->diagnostics, c->globals.items[GPOINTER_TO_UINT(known) - 1].name.span,
                     "it is declared here, too");
    return;
  }
  vec_push(&c->globals, symbol);
  g_hash_table_insert(c->global_index, (gpointer)(uintptr_t)symbol.name.text, GUINT_TO_POINTER(c->globals.count));
}

void compiler_push_local(Compiler *c, Symbol symbol) {
  const Symbol *known = compiler_find(c, symbol.name.text);
  if (known != NULL) {
    Span span = known->name.span;
    diagnostics_error(c->diagnostics, symbol.name.span, "'%s' already means something here; choose another name",
                      symbol.name.text);
    diagnostics_note(c->diagnostics, span, "it is declared here");
  }
  vec_push(&c->locals, symbol);
}

const Symbol *compiler_find(Compiler *c, const char *name) {
  for (uint32_t i = c->locals.count; i > 0; i--) {
    if (strcmp(c->locals.items[i - 1].name.text, name) == 0) {
      return &c->locals.items[i - 1];
    }
  }
  uint32_t index = GPOINTER_TO_UINT(g_hash_table_lookup(c->global_index, name));
  return index == 0 ? NULL : &c->globals.items[index - 1];
}

bool compiler_word_known(Compiler *c, const char *name) {
  return g_hash_table_contains(c->word_index, name) || g_hash_table_contains(c->reply_words, name);
}

int32_t compiler_word(Compiler *c, const char *name) {
  uint32_t index = GPOINTER_TO_UINT(g_hash_table_lookup(c->word_index, name));
  if (index == 0) {
    char *copy = g_strdup(name);
    vec_push(&c->words, copy);
    index = c->words.count;
    g_hash_table_insert(c->word_index, copy, GUINT_TO_POINTER(index));
  }
  return (int32_t)index - 1;
}

int32_t compiler_duration(Compiler *c, int64_t us) {
  for (uint32_t i = 0; i < c->durations.count; i++) {
    if (c->durations.items[i] == us) {
      return (int32_t)i;
    }
  }
  vec_push(&c->durations, us);
  return (int32_t)c->durations.count - 1;
}

void compiler_unknown(Compiler *c, Name name, const char *what) {
  NameList names = {0};
  bool may_be_word = strcmp(what, "name") == 0;
  for (uint32_t i = 0; may_be_word && i < 3; i++) { /* ok, timeout, refused */
    vec_push(&names, (const char *)c->words.items[i]);
  }
  for (uint32_t i = 0; may_be_word && i < c->reply_word_list.count && !diagnostics_many(c->diagnostics); i++) {
    vec_push(&names, c->reply_word_list.items[i]);
  }
  for (uint32_t i = c->locals.count; i > 0; i--) {
    vec_push(&names, c->locals.items[i - 1].name.text);
  }
  for (uint32_t i = 0; i < c->globals.count && !diagnostics_many(c->diagnostics); i++) {
    vec_push(&names, c->globals.items[i].name.text);
  }
  const char *nearest = nearest_find(name.text, names.items, names.count);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, name.span, "unknown %s '%s'; did you mean '%s'?", what, name.text, nearest);
  } else {
    diagnostics_error(c->diagnostics, name.span, "unknown %s '%s'", what, name.text);
  }
  vec_free(&names);
}

void compiler_break_symmetry(Compiler *c, int32_t kind, Span span) {
  if (c->program->clients_symmetric[kind]) {
    c->program->clients_symmetric[kind] = false;
    c->program->clients_asymmetry[kind] = span;
  }
}

static void break_server_symmetry(Compiler *c, int32_t group, Span span) {
  if (c->program->servers_symmetric[group]) {
    c->program->servers_symmetric[group] = false;
    c->program->servers_asymmetry[group] = span;
  }
}

void compiler_tell_apart(Compiler *c, Constant processes, Span span) {
  for (int64_t i = processes.value; i < processes.value + processes.count; i++) {
    if (processes.sort == SORT_CLIENT) {
      compiler_break_symmetry(c, compiler_kind_of_client(c, i), span);
    } else {
      break_server_symmetry(c, c->program->server_group[i], span);
    }
  }
}

int32_t compiler_service_of_server(const Compiler *c, int64_t server) {
  return c->program->groups[c->program->server_group[server]].service;
}

bool compiler_is_peers(Compiler *c, const Expr *expr) {
  return expr->kind == EXPR_NAME && (c->mode == MODE_HANDLER || c->mode == MODE_GUARD) &&
         strcmp(expr->name.text, "peers") == 0 && compiler_find(c, "peers") == NULL;
}

bool compiler_peers(Compiler *c, const Expr *expr, Constant *group) {
  int32_t found = 0;
  for (int32_t g = 0; g < c->program->group_count; g++) {
    const ServerGroup *candidate = &c->program->groups[g];
    if (candidate->service == c->service) {
      *group = (Constant){SORT_SERVER, candidate->first, candidate->count, true};
      found++;
    }
  }
  if (found != 1) {
    diagnostics_error(c->diagnostics, expr->span,
                      "`peers` has a meaning where one group of servers uses the service '%s'; here %d do",
                      c->decl->services[c->service]->name.text, found);
  }
  return found == 1;
}

int32_t compiler_kind_of_client(const Compiler *c, int64_t client) {
  return c->program->client_kind[client];
}

/* Constants */

static Fold bad(Compiler *c, Span span, const char *message) {
  diagnostics_error(c->diagnostics, span, "%s", message);
  return FOLD_BAD;
}

static Fold fold_name(Compiler *c, const Expr *expr, Constant *value) {
  const Symbol *symbol = compiler_find(c, expr->name.text);
  if (symbol == NULL || (symbol->kind != SYMBOL_CONSTANT && symbol->kind != SYMBOL_KIND)) {
    return FOLD_NO;
  }
  *value = symbol->constant;
  return FOLD_YES;
}

/* lists[0] */
static Fold fold_list_entry(Compiler *c, const Expr *expr, const ServerList *list, Constant index, Constant *value) {
  if (index.sort != SORT_INT || index.is_group || expr->kind == EXPR_SLICE) {
    return bad(c, expr->span, "a list is indexed by `me` or by a number");
  }
  if (index.value < 0 || index.value >= list->count) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' has the indices 0..%d", expr_text(c, expr->left),
                      list->count - 1);
    return FOLD_BAD;
  }
  *value = (Constant){SORT_SERVER, list->firsts[index.value], list->length, list->is_group};
  return FOLD_YES;
}

static Fold fold_range_of_group(Compiler *c, const Expr *expr, Constant low, Constant high, Constant *value) {
  if (low.sort != SORT_INT || high.sort != SORT_INT) {
    return bad(c, expr->span, "an index of a group is a number; to reach all of its members write `for n in …`");
  }
  if (low.value < 0 || high.value < low.value || high.value >= value->count) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' has the indices 0..%d", expr_text(c, expr->left),
                      value->count - 1);
    return FOLD_BAD;
  }
  bool is_part = high.value - low.value + 1 < value->count || value->sort == SORT_CLIENT;
  value->value += low.value;
  value->count = (int32_t)(high.value - low.value) + 1;
  value->is_group = expr->kind == EXPR_SLICE;
  if (is_part) {
    compiler_tell_apart(c, *value, expr->span);
  }
  return FOLD_YES;
}

/* node[i], client[i], node[a..b], lists[i]; FOLD_NO when the program computes the index or looks into an array. */
static Fold fold_part(Compiler *c, const Expr *expr, Constant *value) {
  Constant low, high;
  const Symbol *symbol = expr->left->kind == EXPR_NAME ? compiler_find(c, expr->left->name.text) : NULL;
  if (expr->left->kind == EXPR_NAME && symbol == NULL) {
    compiler_unknown(c, expr->left->name, "name");
    return FOLD_BAD;
  }
  bool is_list = symbol != NULL && symbol->kind == SYMBOL_LIST;
  Fold base = is_list ? FOLD_YES : compiler_fold(c, expr->left, value);
  if (base != FOLD_YES) {
    return base;
  }
  const ServerList *list = is_list ? &c->lists.items[symbol->index] : NULL;
  if (!is_list && !value->is_group) {
    diagnostics_error(c->diagnostics, expr->left->span, "'%s' is no array", expr_text(c, expr->left));
    return FOLD_BAD;
  }
  Fold first = compiler_fold(c, expr->right, &low);
  Fold last = expr->kind == EXPR_SLICE ? compiler_fold(c, expr->third, &high) : (high = low, first);
  if (first == FOLD_BAD || last == FOLD_BAD) {
    return FOLD_BAD;
  }
  if (first == FOLD_NO || last == FOLD_NO) {
    return expr->kind == EXPR_INDEX ? FOLD_NO : bad(c, expr->span, "the ends of a slice are constant numbers");
  }
  return is_list ? fold_list_entry(c, expr, list, low, value) : fold_range_of_group(c, expr, low, high, value);
}

static bool is_infinite(Constant value) {
  return value.sort == SORT_DURATION && value.value == DURATION_INFINITE;
}

/* inf behaves as in IEEE 754, and what is NaN there is an error here. */
static Fold fold_infinite(Compiler *c, const Expr *expr, Constant a, Constant b, Constant *value) {
  bool grows = expr->op == BINARY_ADD || (expr->op == BINARY_SUB && is_infinite(a) && !is_infinite(b)) ||
               (expr->op == BINARY_MUL && a.value > 0 && b.value > 0) ||
               (expr->op == BINARY_DIV && is_infinite(a) && b.sort == SORT_INT && b.value > 0);
  if (!grows) {
    return bad(c, expr->span, "this calculation with `inf` has no result");
  }
  *value = (Constant){.sort = SORT_DURATION, .value = DURATION_INFINITE, .count = 1};
  return FOLD_YES;
}

static Fold fold_division(Compiler *c, const Expr *expr, Constant a, Constant b, Constant *value) {
  if (b.value == 0) {
    return bad(c, expr->span, "division by zero");
  }
  if (a.value == INT64_MIN) {
    return bad(c, expr->span, "this is too large to calculate with");
  }
  if (expr->op == BINARY_MOD) {
    value->value = a.value % b.value;
    return FOLD_YES;
  }
  if (a.sort == SORT_DURATION && b.sort == SORT_INT && a.value % b.value != 0) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is not a whole number of microseconds; round it to one",
                      expr_text(c, expr));
    return FOLD_BAD;
  }
  value->value = a.value / b.value;
  value->sort = a.sort == b.sort ? SORT_INT : SORT_DURATION;
  return FOLD_YES;
}

static bool may_calculate(BinaryOp op, Sort a, Sort b) {
  bool numbers = a == SORT_INT && b == SORT_INT, durations = a == SORT_DURATION && b == SORT_DURATION;
  switch (op) {
  case BINARY_ADD:
  case BINARY_SUB: return numbers || durations;
  case BINARY_MUL: return numbers || (a == SORT_DURATION && b == SORT_INT) || (a == SORT_INT && b == SORT_DURATION);
  case BINARY_DIV: return numbers || durations || (a == SORT_DURATION && b == SORT_INT);
  default: return numbers;
  }
}

static Fold fold_arithmetic(Compiler *c, const Expr *expr, Constant a, Constant b, Constant *value) {
  if (!may_calculate(expr->op, a.sort, b.sort)) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is %s and '%s' is %s; this cannot be calculated",
                      expr_text(c, expr->left), sort_text(a.sort), expr_text(c, expr->right), sort_text(b.sort));
    return FOLD_BAD;
  }
  *value =
      (Constant){.sort = a.sort == SORT_DURATION || b.sort == SORT_DURATION ? SORT_DURATION : SORT_INT, .count = 1};
  if (is_infinite(a) || is_infinite(b)) {
    return fold_infinite(c, expr, a, b, value);
  }
  bool overflow = false;
  switch (expr->op) {
  case BINARY_ADD: overflow = __builtin_add_overflow(a.value, b.value, &value->value); break;
  case BINARY_SUB: overflow = __builtin_sub_overflow(a.value, b.value, &value->value); break;
  case BINARY_MUL: overflow = __builtin_mul_overflow(a.value, b.value, &value->value); break;
  default:
    if (fold_division(c, expr, a, b, value) == FOLD_BAD) {
      return FOLD_BAD;
    }
  }
  if (value->sort == SORT_INT) {
    overflow = overflow || value->value < INT32_MIN || value->value > INT32_MAX;
  } else {
    overflow = overflow || value->value == DURATION_INFINITE;
  }
  return overflow ? bad(c, expr->span, "this number is too large") : FOLD_YES;
}

static Fold fold_comparison(const Expr *expr, Constant a, Constant b, Constant *value) {
  bool is_ordered = a.sort == SORT_INT || a.sort == SORT_DURATION;
  bool is_order = expr->op >= BINARY_LT;
  if (a.sort != b.sort || (is_order && !is_ordered) || a.is_group || b.is_group) {
    return FOLD_NO; /* code_expr.c says what is wrong */
  }
  bool results[] = {[BINARY_EQ] = a.value == b.value,
                    [BINARY_NE] = a.value != b.value,
                    [BINARY_LT] = a.value<b.value, [BINARY_LE] = a.value <= b.value, [BINARY_GT] = a.value> b.value,
                    [BINARY_GE] = a.value >= b.value};
  *value = (Constant){.sort = SORT_BOOL, .value = results[expr->op], .count = 1};
  return FOLD_YES;
}

static Fold fold_logic(const Expr *expr, Constant a, Constant b, Constant *value) {
  if (a.sort != SORT_BOOL || b.sort != SORT_BOOL) {
    return FOLD_NO;
  }
  bool result = expr->op == BINARY_AND ? a.value && b.value : a.value || b.value;
  *value = (Constant){.sort = SORT_BOOL, .value = result, .count = 1};
  return FOLD_YES;
}

static Fold fold_binary(Compiler *c, const Expr *expr, Constant *value) {
  Constant a, b;
  Fold left = compiler_fold(c, expr->left, &a);
  Fold right = left == FOLD_YES ? compiler_fold(c, expr->right, &b) : FOLD_NO;
  if (left != FOLD_YES || right != FOLD_YES) {
    return left == FOLD_BAD || right == FOLD_BAD ? FOLD_BAD : FOLD_NO;
  }
  if (expr->op <= BINARY_AND) {
    return fold_logic(expr, a, b, value);
  }
  return expr->op <= BINARY_GE ? fold_comparison(expr, a, b, value) : fold_arithmetic(c, expr, a, b, value);
}

static Fold fold_prefix(Compiler *c, const Expr *expr, Constant *value) {
  Fold inner = compiler_fold(c, expr->left, value);
  if (inner != FOLD_YES) {
    return inner;
  }
  if (expr->kind == EXPR_NOT) {
    value->value = !value->value;
    return value->sort == SORT_BOOL ? FOLD_YES : FOLD_NO;
  }
  if (value->sort != SORT_INT && value->sort != SORT_DURATION) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is %s and has no negative", expr_text(c, expr->left),
                      sort_text(value->sort));
    return FOLD_BAD;
  }
  if (is_infinite(*value) || value->value == INT64_MIN || (value->sort == SORT_INT && value->value == INT32_MIN)) {
    return bad(c, expr->span, "this number is too large");
  }
  value->value = -value->value;
  return FOLD_YES;
}

static Fold fold_literal(const Expr *expr, Constant *value) {
  static const Sort sorts[] = {[EXPR_NUMBER] = SORT_INT,
                               [EXPR_DURATION] = SORT_DURATION,
                               [EXPR_INF] = SORT_DURATION,
                               [EXPR_BOOL] = SORT_BOOL,
                               [EXPR_NONE] = SORT_NONE};
  int64_t number = expr->kind == EXPR_INF ? DURATION_INFINITE : expr->number;
  *value = (Constant){.sort = sorts[expr->kind], .value = number, .count = 1};
  return FOLD_YES;
}

Fold compiler_fold(Compiler *c, const Expr *expr, Constant *value) {
  if (!compiler_work(c, expr->span)) {
    return FOLD_BAD;
  }
  switch (expr->kind) {
  case EXPR_NUMBER:
  case EXPR_DURATION:
  case EXPR_INF:
  case EXPR_BOOL:
  case EXPR_NONE: return fold_literal(expr, value);
  case EXPR_NAME: return fold_name(c, expr, value);
  case EXPR_INDEX:
  case EXPR_SLICE: return fold_part(c, expr, value);
  case EXPR_NOT:
  case EXPR_NEGATE: return fold_prefix(c, expr, value);
  case EXPR_BINARY: return expr->has_age || expr->has_ask ? FOLD_NO : fold_binary(c, expr, value);
  default: return FOLD_NO;
  }
}

/* The first name in a constant expression that means nothing, to say so rather than "not constant". */
static const Expr *unknown_name_in(Compiler *c, const Expr *expr) {
  if (expr == NULL) {
    return NULL;
  }
  if (expr->kind == EXPR_NAME && compiler_find(c, expr->name.text) == NULL) {
    return expr;
  }
  const Expr *left = unknown_name_in(c, expr->left);
  return left != NULL ? left : unknown_name_in(c, expr->right);
}

bool compiler_constant(Compiler *c, const Expr *expr, const char *what, Constant *value) {
  Fold fold = compiler_fold(c, expr, value);
  if (fold == FOLD_NO) {
    const Expr *unknown = expr->kind == EXPR_QUANTIFIER ? NULL : unknown_name_in(c, expr);
    if (unknown != NULL) {
      compiler_unknown(c, unknown->name, "name");
    } else {
      diagnostics_error(c->diagnostics, expr->span, "%s must be a constant: numbers, durations and parameters", what);
    }
  }
  return fold == FOLD_YES;
}

bool compiler_number(Compiler *c, const Expr *expr, const char *what, int64_t lo, int64_t hi, int32_t *number) {
  Constant value;
  if (!compiler_constant(c, expr, what, &value)) {
    return false;
  }
  if (value.sort != SORT_INT || value.is_group) {
    diagnostics_error(c->diagnostics, expr->span, "%s must be a number; '%s' is %s", what, expr_text(c, expr),
                      sort_text(value.sort));
    return false;
  }
  if (value.value < lo || value.value > hi) {
    diagnostics_error(c->diagnostics, expr->span,
                      "%s must lie in %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT, what, lo, hi,
                      value.value);
    return false;
  }
  *number = (int32_t)value.value;
  return true;
}

bool compiler_constant_duration(Compiler *c, const Expr *expr, const char *what, int64_t *us) {
  Constant value;
  if (!compiler_constant(c, expr, what, &value)) {
    return false;
  }
  if (value.sort != SORT_DURATION) {
    const char *hint = value.sort == SORT_INT ? "; write it with a unit, such as 30ms" : "";
    diagnostics_error(c->diagnostics, expr->span, "%s must be a duration; '%s' is %s%s", what, expr_text(c, expr),
                      sort_text(value.sort), hint);
    return false;
  }
  *us = value.value;
  return true;
}

bool compiler_window(Compiler *c, const Expr *lo, const Expr *hi, const char *what, Window *window) {
  if (!compiler_constant_duration(c, lo, what, &window->lo_us) ||
      !compiler_constant_duration(c, hi, what, &window->hi_us)) {
    return false;
  }
  if (window->lo_us < 0) {
    diagnostics_error(c->diagnostics, lo->span, "%s cannot be negative", what);
    return false;
  }
  if (window->lo_us > window->hi_us) {
    diagnostics_error(c->diagnostics, (Span){lo->span.file, lo->span.begin, MAX(lo->span.end, hi->span.end)},
                      "this window is empty: its end lies before its beginning");
    return false;
  }
  return true;
}

/* Declarations */

static const Expr *parse_override(Compiler *c, const Setting *setting) {
  uint32_t file = sources_add(c->model->sources, "<command line>", setting->value, strlen(setting->value));
  ParseInput input = {c->model->ast, c->model->sources, file, c->diagnostics};
  return parse_setting(input);
}

static const Expr *scenario_setting(const Compiler *c, const char *name) {
  const Expr *value = NULL;
  for (int32_t i = 0; c->scenario != NULL && i < c->scenario->item_count; i++) {
    const ScenarioItem *item = &c->scenario->items[i];
    if (item->kind == ITEM_SET && strcmp(item->name.text, name) == 0) {
      value = item->value;
    }
  }
  return value;
}

static bool check_parameter(Compiler *c, const ParamDecl *param, const Expr *said, Constant value, Constant original) {
  if ((value.sort != SORT_INT && value.sort != SORT_DURATION) || value.is_group) {
    diagnostics_error(c->diagnostics, said->span, "a parameter is a number or a duration");
    return false;
  }
  if (value.sort != original.sort) {
    diagnostics_error(c->diagnostics, said->span, "the parameter '%s' is %s; '%s' is %s", param->name.text,
                      sort_text(original.sort), expr_text(c, said), sort_text(value.sort));
    diagnostics_note(c->diagnostics, param->name.span, "it is declared here");
    return false;
  }
  return true;
}

static const Setting *setting_of(const Setting *settings, int32_t setting_count, const char *name) {
  const Setting *found = NULL;
  for (int32_t i = 0; i < setting_count; i++) {
    found = strcmp(settings[i].name, name) == 0 ? &settings[i] : found;
  }
  return found;
}

/* The command line wins over the scenario, the scenario over the declaration. */
static void declare_parameter(Compiler *c, const ParamDecl *param, const Setting *setting) {
  Constant original = {.sort = SORT_INT, .count = 1}, value;
  const Expr *override = setting != NULL ? parse_override(c, setting) : scenario_setting(c, param->name.text);
  bool good = compiler_constant(c, param->value, "a parameter", &original) &&
              check_parameter(c, param, param->value, original, original);
  value = original;
  if (good && override != NULL && compiler_constant(c, override, "a parameter", &value)) {
    check_parameter(c, param, override, value, original);
  }
  Symbol symbol = {.name = param->name, .kind = SYMBOL_CONSTANT, .constant = value};
  compiler_declare_global(c, symbol);
  Program *program = c->program;
  program->parameters[program->parameter_count++] =
      (Parameter){g_strdup(param->name.text), value.sort == SORT_DURATION, value.value};
}

static bool is_parameter(const ModelDecl *decl, const char *name) {
  for (int32_t i = 0; i < decl->param_count; i++) {
    if (strcmp(decl->params[i].name.text, name) == 0) {
      return true;
    }
  }
  return false;
}

static void unknown_parameter(Compiler *c, Name name) {
  NameList names = {0};
  for (int32_t i = 0; i < c->decl->param_count && !diagnostics_many(c->diagnostics); i++) {
    vec_push(&names, c->decl->params[i].name.text);
  }
  const char *nearest = nearest_find(name.text, names.items, names.count);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, name.span, "the model has no parameter '%s'; did you mean '%s'?", name.text,
                      nearest);
  } else {
    diagnostics_error(c->diagnostics, name.span, "the model has no parameter '%s'", name.text);
  }
  vec_free(&names);
}

/* One entry of a list: servers that its other entries agree with. */
static bool declare_entry(Compiler *c, const Expr *entry, ServerList *list) {
  Constant servers;
  if (!compiler_constant(c, entry, "an entry of a list", &servers)) {
    return false;
  }
  if (servers.sort != SORT_SERVER) {
    diagnostics_error(c->diagnostics, entry->span, "a list is one of servers; '%s' is %s", expr_text(c, entry),
                      sort_text(servers.sort));
    return false;
  }
  bool is_first = list->count == 0;
  if (!is_first && (servers.count != list->length || servers.is_group != list->is_group)) {
    diagnostics_error(c->diagnostics, entry->span,
                      "the entries of a list name as many servers each: %d here, %d in the first one", servers.count,
                      list->length);
    return false;
  }
  int32_t service = compiler_service_of_server(c, is_first ? servers.value : list->firsts[0]);
  for (int64_t s = servers.value; s < servers.value + servers.count; s++) {
    if (compiler_service_of_server(c, s) != service) {
      diagnostics_error(c->diagnostics, entry->span, "the servers of a list have one service");
      return false;
    }
  }
  compiler_tell_apart(c, servers, entry->span);
  list->length = servers.count;
  list->is_group = servers.is_group;
  list->firsts[list->count++] = (int32_t)servers.value;
  return true;
}

static void declare_list(Compiler *c, const ParamDecl *param) {
  ServerList list = {.name = param->name, .length = 1, .firsts = g_new0(int32_t, (size_t)param->value->item_count + 1)};
  for (int32_t i = 0; i < param->value->item_count && declare_entry(c, param->value->items[i], &list); i++) {
  }
  vec_push(&c->lists, list);
  compiler_declare_global(c, (Symbol){.name = param->name, .kind = SYMBOL_LIST, .index = (int32_t)c->lists.count - 1});
}

void declare_lists(Compiler *c) {
  for (int32_t i = 0; i < c->decl->param_count; i++) {
    if (c->decl->params[i].value->kind == EXPR_LIST) {
      declare_list(c, &c->decl->params[i]);
    }
  }
  Program *program = c->program;
  program->tables = g_new0(Table, (size_t)c->lists.count + 1);
  for (uint32_t i = 0; i < c->lists.count; i++) {
    program->tables[program->table_count++] = (Table){SORT_SERVER, c->lists.items[i].firsts, c->lists.items[i].count};
  }
}

void declare_parameters(Compiler *c, const Setting *settings, int32_t setting_count) {
  c->program->parameters = g_new0(Parameter, (size_t)c->decl->param_count + 1);
  for (int32_t i = 0; i < c->decl->param_count; i++) {
    const ParamDecl *param = &c->decl->params[i];
    const Setting *setting = setting_of(settings, setting_count, param->name.text);
    if (param->value->kind != EXPR_LIST) { /* lists are of servers, whose number may be a parameter */
      declare_parameter(c, param, setting);
    } else if (setting != NULL || scenario_setting(c, param->name.text) != NULL) {
      diagnostics_error(c->diagnostics, param->name.span, "'%s' is a list of servers, which cannot be set",
                        param->name.text);
    }
  }
  for (int32_t i = 0; i < setting_count; i++) {
    if (!is_parameter(c->decl, settings[i].name)) {
      uint32_t file = sources_add(c->model->sources, "<command line>", settings[i].name, strlen(settings[i].name));
      Name name = {ast_text(c->model->ast, settings[i].name, strlen(settings[i].name)),
                   {file, 0, (uint32_t)strlen(settings[i].name)}};
      unknown_parameter(c, name);
    }
  }
  for (int32_t i = 0; c->scenario != NULL && i < c->scenario->item_count; i++) {
    const ScenarioItem *item = &c->scenario->items[i];
    if (item->kind == ITEM_SET && !is_parameter(c->decl, item->name.text)) {
      unknown_parameter(c, item->name);
    }
  }
}

static int32_t service_named(Compiler *c, Name name) {
  NameList names = {0};
  for (int32_t i = 0; i < c->decl->service_count; i++) {
    if (strcmp(c->decl->services[i]->name.text, name.text) == 0) {
      vec_free(&names);
      return i;
    }
    vec_push(&names, c->decl->services[i]->name.text);
  }
  const char *nearest = nearest_find(name.text, names.items, names.count);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, name.span, "the model uses no service '%s'; did you mean '%s'?", name.text,
                      nearest);
  } else {
    diagnostics_error(c->diagnostics, name.span, "the model uses no service '%s'; add `use %s`", name.text, name.text);
  }
  vec_free(&names);
  return NO_INDEX;
}

static void declare_group(Compiler *c, const ServerDecl *decl, int32_t index, int32_t service, int32_t count) {
  Program *program = c->program;
  ServerGroup *group = &program->groups[program->group_count];
  *group = (ServerGroup){g_strdup(decl->name.text), decl->count != NULL, MAX(service, 0), program->server_count, count};
  for (int32_t s = 0; s < count; s++) {
    program->server_group[program->server_count++] = program->group_count;
  }
  program->servers_symmetric[program->group_count++] = count > 1;
  Constant constant = {SORT_SERVER, group->first, count, group->is_array};
  compiler_declare_global(c,
                          (Symbol){.name = decl->name, .kind = SYMBOL_CONSTANT, .index = index, .constant = constant});
}

static void declare_servers(Compiler *c) {
  Program *program = c->program;
  program->groups = g_new0(ServerGroup, (size_t)c->decl->server_count + 1);
  for (int32_t i = 0; i < c->decl->server_count; i++) {
    const ServerDecl *decl = &c->decl->servers[i];
    int32_t count = 1, service = service_named(c, decl->service);
    int32_t room = PROGRAM_SERVERS_MAX - program->server_count;
    if (decl->count != NULL &&
        !compiler_number(c, decl->count, "the number of servers", 1, PROGRAM_SERVERS_MAX, &count)) {
      count = 1;
    }
    if (count > room) {
      diagnostics_error(c->diagnostics, decl->name.span, "a model has at most %d servers", PROGRAM_SERVERS_MAX);
      return;
    }
    declare_group(c, decl, i, service, count);
  }
}

/* `clients n` of the scenario. */
static const Expr *scenario_clients(Compiler *c) {
  const Expr *value = NULL;
  for (int32_t i = 0; c->scenario != NULL && i < c->scenario->item_count; i++) {
    const ScenarioItem *item = &c->scenario->items[i];
    if (item->kind != ITEM_CLIENTS) {
      continue;
    }
    value = item->value;
    if (c->decl->client_count > 1) {
      diagnostics_error(c->diagnostics, item->span, "`clients` is only for a model with one kind of client");
    }
  }
  return value;
}

static void declare_clients(Compiler *c) {
  Program *program = c->program;
  const Expr *override = scenario_clients(c);
  program->kinds = g_new0(ClientKind, (size_t)c->decl->client_count + 1);
  for (int32_t i = 0; i < c->decl->client_count; i++) {
    const ClientDecl *decl = c->decl->clients[i];
    int32_t count = 1, room = PROGRAM_CLIENTS_MAX - program->client_count;
    const Expr *said = override != NULL ? override : decl->count;
    if (said != NULL && !compiler_number(c, said, "the number of clients", 1, PROGRAM_CLIENTS_MAX, &count)) {
      count = 1;
    }
    if (count > room) {
      diagnostics_error(c->diagnostics, decl->span, "a model has at most %d clients", PROGRAM_CLIENTS_MAX);
      return;
    }
    ClientKind *kind = &program->kinds[program->kind_count];
    *kind = (ClientKind){
        .name = g_strdup(decl->name.text), .first = program->client_count, .count = count, .entry = NO_INDEX};
    for (int32_t k = 0; k < count; k++) {
      program->client_kind[program->client_count++] = program->kind_count;
    }
    program->clients_symmetric[program->kind_count++] = true;
    Constant constant = {SORT_CLIENT, kind->first, count, true};
    compiler_declare_global(c, (Symbol){.name = decl->name, .kind = SYMBOL_KIND, .index = i, .constant = constant});
  }
}

void declare_processes(Compiler *c) {
  declare_servers(c);
  declare_clients(c);
  if (c->decl->client_count == 0 && !diagnostics_any_error(c->diagnostics)) {
    diagnostics_error(c->diagnostics, c->decl->name.span, "the model has no client; add `client[2] { … }`");
  }
  /* `client` means all of them where the kinds have names. */
  if (c->program->kind_count > 0 && g_hash_table_lookup(c->global_index, "client") == NULL) {
    Constant constant = {SORT_CLIENT, 0, c->program->client_count, true};
    Name name = {"client", c->decl->clients[0]->span};
    compiler_declare_global(c, (Symbol){.name = name, .kind = SYMBOL_CONSTANT, .constant = constant});
  }
}
