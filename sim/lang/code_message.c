/* Messages: ask and tell, to servers and to clients. */
#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

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
    diagnostics_error(c->diagnostics, name.span, "the service '%s' has no handler '%s'; did you mean '%s'?",
                      decl->name.text, name.text, nearest);
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
      diagnostics_error(c->diagnostics, call->target->span,
                        "two services have a handler '%s', and which of them '%s' runs is "
                        "not known here; give one of them another name",
                        call->handler.text, expr_text(c, call->target));
      return NO_INDEX;
    }
    found = i;
  }
  if (found == NO_INDEX) {
    diagnostics_error(c->diagnostics, call->handler.span, "no service has a handler '%s'", call->handler.text);
  }
  return found;
}

static void note_caller(Compiler *c, CallFacts *facts) {
  bool *from = c->mode == MODE_HANDLER ? &facts->from_server : &facts->from_client;
  c->facts_changed = c->facts_changed || !*from;
  *from = true;
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
    diagnostics_error(c->diagnostics, call->span, "'%s' takes %d argument%s, not %d", call->handler.text,
                      decl->param_count, decl->param_count == 1 ? "" : "s", call->arg_count);
    diagnostics_note(c->diagnostics, decl->name.span, "it is declared here");
    return false;
  }
  Span *first = &c->calls[service][target->handler];
  c->facts_changed = c->facts_changed || first->end == 0;
  *first = first->end == 0 ? call->span : *first;
  note_caller(c, &c->facts[service][target->handler]);
  return true;
}

/* Places: whom a message goes to */

typedef enum PlaceKind {
  PLACE_CONSTANT, /* one process or a group */
  PLACE_PEERS,    /* the group of a server without itself */
  PLACE_LIST,     /* lists[me] */
  PLACE_VALUE,    /* one process that the program computes */
} PlaceKind;

typedef struct Place {
  PlaceKind kind;
  Sort sort; /* SERVER or CLIENT; REPLY: not known */
  const Expr *expr;
  Constant processes; /* CONSTANT, PEERS */
  const ServerList *list;
  Shape shape; /* VALUE: which ones, as far as that is known */
  bool is_group;
} Place;

/* The sort and the range of a place that is no constant, without code; SORT_NONE: it cannot be one. */
static Shape value_shape(Compiler *c, const Expr *expr) {
  const Expr *base = expr->kind == EXPR_INDEX ? expr->left : expr;
  const Symbol *symbol = base->kind == EXPR_NAME ? compiler_find(c, base->name.text) : NULL;
  Shape none = {.sort = SORT_NONE};
  Constant group;
  if (expr->kind == EXPR_CALLER) {
    const CallFacts *facts = c->handled;
    Sort sort = facts != NULL && facts->from_server ? SORT_SERVER : SORT_CLIENT;
    return (Shape){.sort = sort, .lo = -1};
  }
  if (symbol == NULL) {
    return none;
  }
  if (expr->kind == EXPR_INDEX && (symbol->kind == SYMBOL_CONSTANT || symbol->kind == SYMBOL_KIND)) {
    return compiler_fold(c, base, &group) == FOLD_YES
               ? (Shape){.sort = group.sort, .lo = group.value, .hi = group.value + group.count - 1}
               : none;
  }
  bool has_shape = symbol->kind == SYMBOL_VARIABLE || symbol->kind == SYMBOL_ARG || symbol->kind == SYMBOL_LOCAL ||
                   symbol->kind == SYMBOL_ELEMENT;
  bool may_be = has_shape && (symbol->shape.sort == SORT_SERVER || symbol->shape.sort == SORT_CLIENT ||
                              symbol->shape.sort == SORT_REPLY);
  return may_be ? symbol->shape : none;
}

static bool is_list_entry(Compiler *c, const Expr *expr) {
  const Symbol *symbol =
      expr->kind == EXPR_INDEX && expr->left->kind == EXPR_NAME ? compiler_find(c, expr->left->name.text) : NULL;
  return symbol != NULL && symbol->kind == SYMBOL_LIST;
}

static bool resolve_value(Compiler *c, const Expr *expr, Place *place) {
  if (is_list_entry(c, expr)) {
    const ServerList *list = &c->lists.items[compiler_find(c, expr->left->name.text)->index];
    *place = (Place){.kind = PLACE_LIST, .sort = SORT_SERVER, .expr = expr, .list = list, .is_group = list->is_group};
    return list->count > 0;
  }
  Shape shape = value_shape(c, expr);
  const Expr *base = expr->kind == EXPR_INDEX ? expr->left : expr;
  if (shape.sort == SORT_NONE && base->kind == EXPR_NAME && compiler_find(c, base->name.text) == NULL) {
    compiler_unknown(c, base->name, "server");
    return false;
  }
  if (shape.sort == SORT_NONE) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is not a server", expr_text(c, expr));
    return false;
  }
  *place = (Place){.kind = PLACE_VALUE, .sort = shape.sort, .expr = expr, .shape = shape};
  return true;
}

static bool resolve_place(Compiler *c, const Expr *expr, Place *place) {
  if (compiler_is_peers(c, expr)) {
    *place = (Place){.kind = PLACE_PEERS, .sort = SORT_SERVER, .expr = expr, .is_group = true};
    return compiler_peers(c, expr, &place->processes);
  }
  Constant processes;
  Fold fold = compiler_fold(c, expr, &processes);
  if (fold != FOLD_YES) {
    return fold == FOLD_NO && resolve_value(c, expr, place);
  }
  if (processes.sort != SORT_SERVER && processes.sort != SORT_CLIENT) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' is not a server", expr_text(c, expr));
    return false;
  }
  *place = (Place){.kind = PLACE_CONSTANT,
                   .sort = processes.sort,
                   .expr = expr,
                   .processes = processes,
                   .is_group = processes.is_group};
  return true;
}

/* One process, or a group behind `all`. */
static bool check_all(Compiler *c, const Place *place, bool to_all) {
  const char *text = expr_text(c, place->expr), *what = place->sort == SORT_CLIENT ? "clients" : "servers";
  if (place->is_group == to_all) {
    return true;
  }
  if (to_all && place->kind == PLACE_VALUE) {
    diagnostics_error(c->diagnostics, place->expr->span, "`all` needs a group of servers");
  } else if (to_all) {
    diagnostics_error(c->diagnostics, place->expr->span, "'%s' is a single %s; leave out the `all`", text,
                      place->sort == SORT_CLIENT ? "client" : "server");
  } else if (place->kind == PLACE_CONSTANT && place->expr->kind == EXPR_NAME) {
    diagnostics_error(c->diagnostics, place->expr->span,
                      "'%s' is a group of %s; name one of them (`%s[0]`) or write `for n in %s`", text, what, text,
                      text);
  } else {
    diagnostics_error(c->diagnostics, place->expr->span, "'%s' is a group of %s; write `all %s` or `for n in %s`", text,
                      what, text, text);
  }
  return false;
}

static int32_t place_count(const Place *place) {
  return place->kind == PLACE_LIST ? place->list->length : place->kind == PLACE_VALUE ? 1 : place->processes.count;
}

/* The service of its servers, when that is plain to see. */
static int32_t service_of_place(Compiler *c, const Place *place, const Call *call) {
  int64_t first = place->kind == PLACE_LIST ? place->list->firsts[0] : place->processes.value, last = first;
  if (place->kind == PLACE_VALUE) {
    first = place->shape.lo;
    last = place->shape.hi;
    if (place->sort != SORT_SERVER || first < 0 || last < first || last >= c->program->server_count) {
      return service_by_handler(c, call);
    }
  }
  int32_t service = compiler_service_of_server(c, first);
  for (int64_t s = first; s <= last; s++) {
    if (compiler_service_of_server(c, s) != service) {
      return service_by_handler(c, call);
    }
  }
  return service;
}

bool code_list_entry(Compiler *c, const Expr *expr, const ServerList **found) {
  const Symbol *symbol = compiler_find(c, expr->left->name.text);
  const ServerList *list = &c->lists.items[symbol->index];
  int32_t table = symbol->index;
  *found = list;
  if (expr->right->kind != EXPR_ME || c->mode != MODE_CLIENT) {
    diagnostics_error(c->diagnostics, expr->right->span,
                      "a list is indexed by a number or, in the program of a client, by `me`");
    return false;
  }
  const ClientKind *kind = &c->program->kinds[c->kind];
  if (kind->count > list->count) {
    diagnostics_error(c->diagnostics, expr->span, "'%s' has %d entr%s, but there are %d clients", list->name.text,
                      list->count, list->count == 1 ? "y" : "ies", kind->count);
    return false;
  }
  compiler_tell_apart(c, (Constant){SORT_CLIENT, kind->first, kind->count, true}, expr->span);
  code_emit(c, OP_ME, 0, 0, expr->right->span);
  code_emit(c, OP_ORDINAL, 0, 0, expr->span);
  code_emit(c, OP_TABLE, table, 0, expr->span);
  return true;
}

/* Pushes process number `at` of the place. */
static bool code_place(Compiler *c, const Place *place, int32_t at) {
  const ServerList *list;
  switch (place->kind) {
  case PLACE_CONSTANT:
  case PLACE_PEERS: code_push(c, place->sort, place->processes.value + at, place->expr->span); return true;
  case PLACE_LIST:
    if (!code_list_entry(c, place->expr, &list)) {
      return false;
    }
    if (at > 0) {
      code_push(c, SORT_INT, at, place->expr->span);
      code_emit(c, OP_ADD, 0, 0, place->expr->span);
    }
    return true;
  default: code_value(c, place->expr); return true;
  }
}

/* Arguments */

static void note_sort(Compiler *c, Sort *known, Shape shape) {
  Sort sort = shape.optional || shape.sort == SORT_NONE ? SORT_REPLY : shape.sort;
  Sort joined = *known == SORT_NONE || *known == sort ? sort : SORT_REPLY;
  c->facts_changed = c->facts_changed || joined != *known;
  *known = joined;
}

/* What a call says about argument number `index`. */
static void note_argument(Compiler *c, Sort *sorts, CallFacts *facts, int32_t index, Shape shape) {
  note_sort(c, &sorts[index], shape);
  if (shape.sort == SORT_STAMP) {
    uint8_t *clock = shape.on_wall ? &facts->on_wall : &facts->on_monotonic;
    c->facts_changed = c->facts_changed || (*clock >> index & 1) == 0;
    *clock |= (uint8_t)(1 << index);
  }
}

static void code_send(Compiler *c, Opcode op, const Call *call, int32_t index, int32_t duration, Sort *sorts,
                      CallFacts *facts) {
  for (int32_t i = 0; i < call->arg_count; i++) {
    c->pending++;
    note_argument(c, sorts, facts, i, code_value(c, call->args[i]));
  }
  c->pending -= call->arg_count;
  int32_t pc = code_emit(c, op, index, duration, call->span);
  if (pc != NO_INDEX) {
    c->code.items[pc].count = (uint8_t)call->arg_count;
  }
}

static void send_to_handler(Compiler *c, Opcode op, const Call *call, const Target *target, int32_t index,
                            int32_t duration) {
  Handler *handler = &c->program->services[target->service].handlers[target->handler];
  code_send(c, op, call, index, duration, handler->param_sorts, &c->facts[target->service][target->handler]);
}

/* Ask */

/* The reply that an `ask all` counts: a word, a number or a boolean. */
static bool resolve_wanted(Compiler *c, const Expr *wanted, Parallel *parallel) {
  Constant value;
  bool is_word = wanted->kind == EXPR_NAME && compiler_find(c, wanted->name.text) == NULL;
  if (is_word && !compiler_word_known(c, wanted->name.text)) {
    compiler_unknown(c, wanted->name, "name");
    return false;
  }
  if (is_word) {
    parallel->wanted_sort = SORT_WORD;
    parallel->wanted = compiler_word(c, wanted->name.text);
    return true;
  }
  if (!compiler_constant(c, wanted, "what is counted", &value)) {
    return false;
  }
  if (value.sort != SORT_INT && value.sort != SORT_BOOL) {
    diagnostics_error(c->diagnostics, wanted->span, "what is counted is a word, a number or a boolean; '%s' is %s",
                      expr_text(c, wanted), sort_text(value.sort));
    return false;
  }
  parallel->wanted_sort = value.sort;
  parallel->wanted = (int32_t)value.value;
  return true;
}

static int32_t add_parallel(Compiler *c, const Call *call, const Place *place, const Target *target) {
  Parallel parallel = {.count = place_count(place), .handler = target->handler, .until = INT32_MAX, .span = call->span};
  if (!resolve_wanted(c, call->wanted, &parallel) ||
      (call->until != NULL &&
       !compiler_number(c, call->until, "the number behind `until`", 1, parallel.count, &parallel.until))) {
    return NO_INDEX;
  }
  vec_push(&c->parallels, parallel);
  return (int32_t)c->parallels.count - 1;
}

static bool resolve_asked(Compiler *c, const Expr *ask, Place *place, Target *target, int32_t *duration) {
  const Call *call = ask->call;
  if (c->mode != MODE_CLIENT || c->pending > 0) {
    diagnostics_error(c->diagnostics, ask->span,
                      c->mode == MODE_CLIENT
                          ? "`ask` stands as a statement, as the right side of an assignment, or first in a condition"
                          : "only the program of a client can `ask`");
    return false;
  }
  if (!resolve_place(c, call->target, place)) {
    return false;
  }
  if (place->sort == SORT_CLIENT) {
    diagnostics_error(c->diagnostics, call->target->span, "'%s' is a client; only servers can be asked",
                      expr_text(c, call->target));
    return false;
  }
  int64_t us = DURATION_INFINITE;
  if (!check_all(c, place, call->to_all) || !resolve_handler(c, call, service_of_place(c, place, call), target) ||
      (call->within != NULL && !compiler_constant_duration(c, call->within, "the time-out", &us))) {
    return false;
  }
  if (us < 0) {
    diagnostics_error(c->diagnostics, call->within->span, "a time-out cannot be negative");
  }
  *duration = us == DURATION_INFINITE ? NO_INDEX : compiler_duration(c, us);
  return true;
}

int32_t code_ask(Compiler *c, const Expr *ask, Shape *value) {
  const Call *call = ask->call;
  Place place;
  Target target;
  int32_t duration;
  *value = shape_any;
  if (!resolve_asked(c, ask, &place, &target, &duration)) {
    return 1;
  }
  int32_t parallel = call->to_all ? add_parallel(c, call, &place, &target) : 0;
  code_pause_point(c, ask->span);
  if (parallel == NO_INDEX || !code_place(c, &place, 0)) {
    return 1;
  }
  send_to_handler(c, call->to_all ? OP_ASK_ALL : OP_ASK, call, &target, call->to_all ? parallel : target.handler,
                  duration);
  if (call->to_all) {
    *value = (Shape){.sort = SORT_INT, .lo = 0, .hi = place_count(&place)};
    return 1;
  }
  return c->program->services[target.service].handlers[target.handler].reply_count;
}

/* Tell */

static void tell_servers(Compiler *c, const Call *call, const Place *place) {
  Target target;
  if (!resolve_handler(c, call, service_of_place(c, place, call), &target)) {
    return;
  }
  code_pause_point(c, call->span); /* all messages of a `tell all` leave together */
  for (int32_t i = 0; i < place_count(place) && !c->exhausted; i++) {
    Patches not_me = {0};
    if (place->kind == PLACE_PEERS) {
      code_push(c, SORT_SERVER, place->processes.value + i, place->expr->span);
      code_emit(c, OP_ME, 0, 0, place->expr->span);
      code_emit(c, OP_EQ, 0, 0, place->expr->span);
      code_jump(c, OP_JUMP_IF, &not_me, place->expr->span);
    }
    if (code_place(c, place, i)) {
      send_to_handler(c, OP_TELL, call, &target, target.handler, NO_INDEX);
    }
    code_patch(c, &not_me);
  }
}

static int32_t find_notice(const Compiler *c, const char *name) {
  for (int32_t i = 0; i < c->program->notice_count; i++) {
    if (strcmp(c->program->notices[i].name, name) == 0) {
      return i;
    }
  }
  return NO_INDEX;
}

static void unknown_notice(Compiler *c, Name name) {
  NameList names = {0};
  for (int32_t i = 0; i < c->program->notice_count; i++) {
    vec_push(&names, (const char *)c->program->notices[i].name);
  }
  const char *nearest = nearest_find(name.text, names.items, names.count);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, name.span, "no client has an `on %s`; did you mean '%s'?", name.text, nearest);
  } else {
    diagnostics_error(c->diagnostics, name.span, "no client has an `on %s(…)`, which would be told this", name.text);
  }
  vec_free(&names);
}

static void tell_clients(Compiler *c, const Call *call, const Place *place) {
  int32_t index = find_notice(c, call->handler.text);
  if (index == NO_INDEX) {
    unknown_notice(c, call->handler);
    return;
  }
  Notice *notice = &c->program->notices[index];
  CallFacts *facts = &c->notice_facts[index];
  if (notice->param_count != call->arg_count) {
    diagnostics_error(c->diagnostics, call->span, "'%s' takes %d argument%s, not %d", notice->name, notice->param_count,
                      notice->param_count == 1 ? "" : "s", call->arg_count);
    return;
  }
  c->facts_changed = c->facts_changed || facts->call.end == 0;
  facts->call = facts->call.end == 0 ? call->span : facts->call;
  for (int32_t i = 0; i < place_count(place) && !c->exhausted; i++) {
    if (code_place(c, place, i)) {
      code_send(c, OP_NOTIFY, call, index, NO_INDEX, notice->param_sorts, facts);
    }
  }
}

/* Whether a message to a process of unknown kind is for a client: its name says so. */
static bool is_for_client(Compiler *c, const Call *call) {
  bool is_handler = false;
  for (int32_t i = 0; i < c->decl->service_count; i++) {
    is_handler = is_handler || find_handler(c, i, call->handler.text) != NO_INDEX;
  }
  bool is_notice = find_notice(c, call->handler.text) != NO_INDEX;
  if (is_handler && is_notice) {
    diagnostics_error(c->diagnostics, call->target->span,
                      "clients and servers can be told '%s', and whether '%s' is one or the other is not known "
                      "here; give one of the two another name",
                      call->handler.text, expr_text(c, call->target));
  }
  return is_notice;
}

void code_tell(Compiler *c, const Call *call) {
  Place place;
  if (!resolve_place(c, call->target, &place) || !check_all(c, &place, call->to_all)) {
    return;
  }
  bool to_client =
      place.sort == SORT_CLIENT || (place.sort == SORT_REPLY && c->mode == MODE_HANDLER && is_for_client(c, call));
  if (to_client && c->mode == MODE_CLIENT) {
    diagnostics_error(c->diagnostics, call->target->span,
                      "clients tell servers only; what a client is told (`on …`) comes from a server");
  } else if (to_client) {
    tell_clients(c, call, &place);
  } else {
    tell_servers(c, call, &place);
  }
}
