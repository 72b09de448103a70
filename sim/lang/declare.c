/* What exists: variables, services, ghosts, notices; before any code is compiled. */
#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

#define ARRAY_MAX 256
#define GHOSTS_MAX 64

/* Variables */

static void variable_type(Compiler *c, const TypeExpr *said, Type *type) {
  *type = (Type){.sort = said->sort, .optional = said->optional, .on_wall = said->on_wall};
  if (said->sort == SORT_INT) {
    bool good = compiler_number(c, said->lo, "a range", INT32_MIN + 1, INT32_MAX, &type->lo) &&
                compiler_number(c, said->hi, "a range", INT32_MIN, INT32_MAX, &type->hi);
    if (good && type->lo > type->hi) {
      diagnostics_error(c->diagnostics, said->span, "this range is empty: its end lies before its beginning");
    }
  } else if (said->sort == SORT_BOOL) {
    type->hi = 1;
  } else if (said->sort == SORT_CLIENT) {
    type->hi = c->program->client_count - 1;
  } else if (said->sort == SORT_SERVER) {
    type->hi = c->program->server_count - 1;
  }
}

/* The value of a variable that is given none. */
static void default_initial(Variable *variable) {
  const Type *type = &variable->type;
  if (type->sort == SORT_TICKET && !type->optional) {
    variable->initial_sort = SORT_TICKET;
    variable->initial = TICKET_BOTTOM;
  } else if ((type->sort == SORT_INT || type->sort == SORT_BOOL) && !type->optional) {
    variable->initial_sort = type->sort;
    variable->initial = type->lo > 0 || type->hi < 0 ? type->lo : 0;
  }
}

static void said_initial(Compiler *c, const Expr *said, Variable *variable) {
  const Type *type = &variable->type;
  Constant value;
  bool is_word = said->kind == EXPR_NAME && compiler_find(c, said->name.text) == NULL && type->sort == SORT_REPLY &&
                 compiler_word_known(c, said->name.text);
  if (is_word) {
    variable->initial_sort = SORT_WORD;
    variable->initial = compiler_word(c, said->name.text);
    return;
  }
  if (!compiler_constant(c, said, "the first value of a variable", &value)) {
    return;
  }
  if (type->sort == SORT_TICKET && value.sort == SORT_INT && value.value == 0) {
    value = (Constant){.sort = SORT_TICKET, .value = TICKET_BOTTOM};
  }
  bool fits = value.sort == SORT_NONE ? type->optional || type->sort == SORT_REPLY
                                      : value.sort == type->sort || type->sort == SORT_REPLY;
  if (!fits || value.is_group) {
    diagnostics_error(c->diagnostics, said->span, "'%s' is %s; it cannot begin as '%s'", variable->name,
                      sort_text(type->sort), expr_text(c, said));
  } else if (value.sort == SORT_INT && type->sort == SORT_INT && (value.value < type->lo || value.value > type->hi)) {
    diagnostics_error(c->diagnostics, said->span, "'%s' lies in %d..%d; this is outside", variable->name, type->lo,
                      type->hi);
  }
  variable->initial_sort = value.sort;
  variable->initial = value.sort == SORT_DURATION ? compiler_duration(c, value.value) : (int32_t)value.value;
}

/* [n], [client], [KIND], [node] behind the name of a variable or timer. */
static Extent declare_extent(Compiler *c, const Expr *index) {
  Extent extent = {.count = 1};
  Constant value;
  if (index == NULL || !compiler_constant(c, index, "what an array is over", &value)) {
    return extent;
  }
  bool is_processes = value.sort == SORT_CLIENT || value.sort == SORT_SERVER;
  if (is_processes && (value.is_group || value.sort == SORT_SERVER) && index->kind == EXPR_NAME) {
    return (Extent){value.count, true, value.sort, (int32_t)value.value};
  }
  if (value.sort != SORT_INT) {
    diagnostics_error(c->diagnostics, index->span,
                      "an array is over a number, all clients of a kind or a group of servers; '%s' is %s",
                      expr_text(c, index), is_processes ? "a part of one" : sort_text(value.sort));
  } else if (value.value < 1 || value.value > ARRAY_MAX) {
    diagnostics_error(c->diagnostics, index->span, "an array has 1..%d elements", ARRAY_MAX);
  } else {
    extent = (Extent){(int32_t)value.value, true, SORT_INT, 0};
  }
  return extent;
}

static Variable make_variable(Compiler *c, const VarDecl *decl) {
  Variable variable = {.name = g_strdup(decl->name.text),
                       .extent = declare_extent(c, decl->index),
                       .initial_sort = SORT_NONE,
                       .is_lock = decl->is_lock,
                       .span = decl->name.span};
  variable_type(c, &decl->type, &variable.type);
  if (decl->initial == NULL) {
    default_initial(&variable);
  } else if (decl->type.sort == SORT_STAMP) {
    diagnostics_error(c->diagnostics, decl->initial->span,
                      "a stamp begins as never taken, which is older than any bound");
  } else {
    said_initial(c, decl->initial, &variable);
  }
  return variable;
}

void declare_push_variables(Compiler *c, const VarDecl *decls, const Variable *variables, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    const Type *type = &variables[i].type;
    Shape shape = {type->sort, type->optional, type->lo, type->hi, type->on_wall};
    compiler_push_local(
        c,
        (Symbol){
            .name = decls[i].name, .kind = SYMBOL_VARIABLE, .index = i, .shape = shape, .extent = variables[i].extent});
  }
}

void declare_push_timers(Compiler *c, const TimerDecl *decls, const Timer *timers, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    compiler_push_local(c,
                        (Symbol){.name = decls[i].name, .kind = SYMBOL_TIMER, .index = i, .extent = timers[i].extent});
  }
}

/* Services */

static int32_t most_replies(const Block *block) {
  int32_t most = 1;
  for (int32_t i = 0; i < block->count; i++) {
    const Stmt *stmt = block->items[i];
    int32_t here = stmt->kind == STMT_REPLY ? stmt->arg_count : 1;
    here = MAX(here, MAX(most_replies(&stmt->body), most_replies(&stmt->other)));
    for (int32_t a = 0; a < stmt->arm_count; a++) {
      here = MAX(here, most_replies(&stmt->arms[a]));
    }
    most = MAX(most, here);
  }
  return most;
}

static bool is_own_name(const ServiceDecl *service, const HandlerDecl *handler, const char *name) {
  for (int32_t i = 0; i < service->variable_count; i++) {
    if (strcmp(service->variables[i].name.text, name) == 0) {
      return true;
    }
  }
  for (int32_t i = 0; i < handler->param_count; i++) {
    if (strcmp(handler->params[i].text, name) == 0) {
      return true;
    }
  }
  return false;
}

/* Bare names in a reply that name nothing are words; `let`s are told apart only roughly, which does no harm. */
static void collect_words(Compiler *c, const ServiceDecl *service, const HandlerDecl *handler, const Block *block) {
  for (int32_t i = 0; i < block->count; i++) {
    const Stmt *stmt = block->items[i];
    collect_words(c, service, handler, &stmt->body);
    collect_words(c, service, handler, &stmt->other);
    for (int32_t a = 0; a < stmt->arm_count; a++) {
      collect_words(c, service, handler, &stmt->arms[a]);
    }
    for (int32_t a = 0; stmt->kind == STMT_REPLY && a < stmt->arg_count; a++) {
      const Expr *value = stmt->args[a];
      bool is_word = value->kind == EXPR_NAME && compiler_find(c, value->name.text) == NULL &&
                     !is_own_name(service, handler, value->name.text);
      if (is_word && !g_hash_table_contains(c->reply_words, value->name.text)) {
        g_hash_table_add(c->reply_words, (gpointer)(uintptr_t)value->name.text);
        vec_push(&c->reply_word_list, value->name.text);
      }
    }
  }
}

static void declare_handler(const HandlerDecl *decl, Handler *handler) {
  *handler = (Handler){.name = g_strdup(decl->name.text),
                       .param_count = decl->param_count,
                       .entry = NO_INDEX,
                       .guard = NO_INDEX,
                       .keeps = decl->keeps,
                       .reply_count = most_replies(&decl->body),
                       .span = decl->span};
  for (int32_t i = 0; i < decl->param_count; i++) {
    handler->param_names[i] = g_strdup(decl->params[i].text);
  }
}

static void declare_service(Compiler *c, const ServiceDecl *decl, Service *service) {
  service->name = g_strdup(decl->name.text);
  service->text = g_strdup(decl->text);
  service->lost_entry = NO_INDEX;
  service->handlers = g_new0(Handler, (size_t)decl->handler_count + 1);
  for (; service->handler_count < decl->handler_count; service->handler_count++) {
    const HandlerDecl *handler = decl->handlers[service->handler_count];
    declare_handler(handler, &service->handlers[service->handler_count]);
    collect_words(c, decl, handler, &handler->body);
  }
  service->timers = g_new0(Timer, (size_t)decl->timer_count + 1);
  for (; service->timer_count < decl->timer_count; service->timer_count++) {
    const TimerDecl *timer = &decl->timers[service->timer_count];
    service->timers[service->timer_count] = (Timer){.name = g_strdup(timer->name.text),
                                                    .on_wall = timer->on_wall,
                                                    .extent = declare_extent(c, timer->index),
                                                    .entry = NO_INDEX,
                                                    .span = timer->name.span};
  }
  service->variables = g_new0(Variable, (size_t)decl->variable_count + 1);
  for (; service->variable_count < decl->variable_count; service->variable_count++) {
    const VarDecl *var = &decl->variables[service->variable_count];
    service->variables[service->variable_count] = make_variable(c, var);
  }
}

void declare_services(Compiler *c) {
  Program *program = c->program;
  program->services = g_new0(Service, (size_t)c->decl->service_count + 1);
  c->calls = g_new0(Span *, (size_t)c->decl->service_count + 1);
  c->facts = g_new0(CallFacts *, (size_t)c->decl->service_count + 1);
  for (; program->service_count < c->decl->service_count; program->service_count++) {
    const ServiceDecl *decl = c->decl->services[program->service_count];
    c->calls[program->service_count] = g_new0(Span, (size_t)decl->handler_count + 1);
    c->facts[program->service_count] = g_new0(CallFacts, (size_t)decl->handler_count + 1);
    declare_service(c, decl, &program->services[program->service_count]);
  }
}

/* Ghosts */

void declare_ghosts(Compiler *c) {
  Program *program = c->program;
  program->ghosts = g_new0(Variable, (size_t)c->decl->ghost_count + 1);
  if (c->decl->ghost_count > GHOSTS_MAX) {
    diagnostics_error(c->diagnostics, c->decl->ghosts[GHOSTS_MAX].name.span, "a model has at most %d ghosts",
                      GHOSTS_MAX);
    return;
  }
  for (; program->ghost_count < c->decl->ghost_count; program->ghost_count++) {
    const VarDecl *decl = &c->decl->ghosts[program->ghost_count];
    Variable *ghost = &program->ghosts[program->ghost_count];
    *ghost = make_variable(c, decl);
    if (ghost->type.on_wall) {
      diagnostics_error(c->diagnostics, decl->type.span,
                        "a ghost belongs to no process, so its stamps are read on no wall clock");
    }
    Shape shape = {ghost->type.sort, ghost->type.optional, ghost->type.lo, ghost->type.hi, false};
    compiler_declare_global(c, (Symbol){.name = decl->name,
                                        .kind = SYMBOL_GHOST,
                                        .index = program->ghost_count,
                                        .shape = shape,
                                        .extent = ghost->extent});
  }
}

/* Notices */

static void declare_notice(Compiler *c, const HandlerDecl *decl) {
  Program *program = c->program;
  for (int32_t i = 0; i < program->notice_count; i++) {
    const Notice *known = &program->notices[i];
    if (strcmp(known->name, decl->name.text) != 0) {
      continue;
    }
    if (known->param_count != decl->param_count) {
      diagnostics_error(c->diagnostics, decl->span, "all clients are told '%s' in the same way: with %d argument%s",
                        known->name, known->param_count, known->param_count == 1 ? "" : "s");
    }
    return;
  }
  Notice *notice = &program->notices[program->notice_count++];
  *notice = (Notice){.name = g_strdup(decl->name.text), .param_count = decl->param_count};
  for (int32_t p = 0; p < decl->param_count; p++) {
    notice->param_names[p] = g_strdup(decl->params[p].text);
  }
}

void declare_notices(Compiler *c) {
  Program *program = c->program;
  CHECK(program->notice_count == 0);
  int32_t count = 0;
  for (int32_t k = 0; k < c->decl->client_count; k++) {
    count += c->decl->clients[k]->notice_count;
  }
  program->notices = g_new0(Notice, (size_t)count + 1);
  for (int32_t k = 0; k < c->decl->client_count; k++) {
    for (int32_t i = 0; i < c->decl->clients[k]->notice_count; i++) {
      declare_notice(c, c->decl->clients[k]->notices[i]);
    }
  }
  c->notice_facts = g_new0(CallFacts, (size_t)program->notice_count + 1);
  for (int32_t k = 0; k < program->kind_count; k++) {
    program->kinds[k].notice_entries = g_new0(int32_t, (size_t)program->notice_count + 1);
    for (int32_t i = 0; i < program->notice_count; i++) {
      program->kinds[k].notice_entries[i] = NO_INDEX;
    }
  }
}

/* Clients */

void declare_client_variables(Compiler *c, int32_t index) {
  const ClientDecl *decl = c->decl->clients[index];
  ClientKind *kind = &c->program->kinds[index];
  kind->variables = g_new0(Variable, CLIENT_VARIABLES_MAX);
  for (; kind->variable_count < decl->variable_count; kind->variable_count++) {
    kind->variables[kind->variable_count] = make_variable(c, &decl->variables[kind->variable_count]);
  }
}
