#include "lang/compile.h"

#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"
#include "lang/parser.h"

#define SERVICE_TIMERS_MAX 16
#define SERVICE_HANDLERS_MAX 256

/* The model: parsing, and what can be said without a scenario. */

typedef struct NameSet {
  Diagnostics *diagnostics;
  GHashTable *spans; /* name -> Span * */
} NameSet;

static NameSet name_set(Diagnostics *diagnostics) {
  return (NameSet){diagnostics, g_hash_table_new(g_str_hash, g_str_equal)};
}

static bool name_set_add(NameSet *set, const Name *name) {
  const Span *known = g_hash_table_lookup(set->spans, name->text);
  if (known != NULL) {
    diagnostics_error(set->diagnostics, name->span, "'%s' is declared twice", name->text);
    diagnostics_note(set->diagnostics, *known, "it is declared here, too");
    return false;
  }
  g_hash_table_insert(set->spans, (gpointer)(uintptr_t)name->text, (gpointer)(uintptr_t)&name->span);
  return true;
}

static void name_set_free(NameSet *set) {
  g_hash_table_destroy(set->spans);
}

static void load_service(Model *model, Name name, ServiceReader reader, void *user, ServiceDecl **slot) {
  char *path = NULL;
  size_t bytes = 0;
  char *text = reader == NULL ? NULL : reader(user, name.text, &path, &bytes);
  if (text == NULL) {
    diagnostics_error(model->diagnostics, name.span, "there is no service '%s' (looked for services/%s.lk beside the model)",
                      name.text, name.text);
  } else {
    uint32_t file = sources_add(model->sources, path == NULL ? name.text : path, text, bytes);
    *slot = parse_service((ParseInput){model->ast, model->sources, file, model->diagnostics});
    if (*slot != NULL && strcmp((*slot)->name.text, name.text) != 0 && (*slot)->name.text[0] != '\0') {
      diagnostics_error(model->diagnostics, (*slot)->name.span, "this file should hold the service '%s'", name.text);
    }
  }
  free(text);
  free(path);
}

static void load_services(Model *model, ServiceReader reader, void *user) {
  ModelDecl *decl = model->decl;
  int32_t own = decl->service_count;
  ServiceDecl **all = ast_allocate(model->ast, (size_t)(own + decl->use_count + 1) * sizeof *all);
  for (int32_t i = 0; i < own; i++) {
    all[i] = decl->services[i];
  }
  NameSet known = name_set(model->diagnostics);
  int32_t count = own;
  for (int32_t i = 0; i < own; i++) {
    name_set_add(&known, &all[i]->name);
  }
  for (int32_t i = 0; i < decl->use_count; i++) {
    if (name_set_add(&known, &decl->uses[i]) && !diagnostics_many(model->diagnostics)) {
      load_service(model, decl->uses[i], reader, user, &all[count]);
      count += all[count] != NULL;
    }
  }
  name_set_free(&known);
  decl->services = all;
  decl->service_count = count;
}

static void attach_script(Model *model, HandlerDecl *script) {
  if (script->service.text == NULL || script->service.text[0] == '\0') {
    return; /* a syntax error */
  }
  for (int32_t i = 0; i < model->decl->service_count; i++) {
    ServiceDecl *service = model->decl->services[i];
    if (strcmp(service->name.text, script->service.text) == 0) {
      if (service->handler_count > SERVICE_HANDLERS_MAX) {
        return; /* check_service says so */
      }
      HandlerDecl **more = ast_allocate(model->ast, (size_t)(service->handler_count + 1) * sizeof *more);
      for (int32_t h = 0; h < service->handler_count; h++) {
        more[h] = service->handlers[h];
      }
      more[service->handler_count++] = script;
      service->handlers = more;
      return;
    }
  }
  diagnostics_error(model->diagnostics, script->service.span, "the model uses no service '%s'", script->service.text);
}

static void check_service(Model *model, const ServiceDecl *service) {
  NameSet names = name_set(model->diagnostics);
  for (int32_t i = 0; i < service->variable_count; i++) {
    name_set_add(&names, &service->variables[i].name);
  }
  for (int32_t i = 0; i < service->timer_count; i++) {
    name_set_add(&names, &service->timers[i].name);
  }
  name_set_free(&names);
  names = name_set(model->diagnostics);
  for (int32_t i = 0; i < service->handler_count; i++) {
    name_set_add(&names, &service->handlers[i]->name);
  }
  name_set_free(&names);
  names = name_set(model->diagnostics);
  for (int32_t i = 0; i < service->after_count; i++) {
    name_set_add(&names, &service->afters[i]->name);
  }
  name_set_free(&names);
  if (service->variable_count > SERVICE_VARIABLES_MAX || service->timer_count > SERVICE_TIMERS_MAX ||
      service->handler_count > SERVICE_HANDLERS_MAX) {
    diagnostics_error(model->diagnostics, service->name.span, "a service has at most %d variables, %d timers and %d handlers",
                      SERVICE_VARIABLES_MAX, SERVICE_TIMERS_MAX, SERVICE_HANDLERS_MAX);
  }
}

static void check_names(Model *model) {
  const ModelDecl *decl = model->decl;
  for (int32_t i = 0; i < decl->service_count; i++) {
    check_service(model, decl->services[i]);
  }
  NameSet names = name_set(model->diagnostics);
  for (int32_t i = 0; i < decl->scenario_count; i++) {
    name_set_add(&names, &decl->scenarios[i]->name);
  }
  name_set_free(&names);
  names = name_set(model->diagnostics);
  for (int32_t i = 0; i < decl->never_count; i++) {
    name_set_add(&names, &decl->nevers[i].text);
  }
  name_set_free(&names);
  for (int32_t i = 0; i < decl->client_count; i++) {
    if (decl->clients[i]->variable_count > CLIENT_VARIABLES_MAX) {
      diagnostics_error(model->diagnostics, decl->clients[i]->span, "a client has at most %d variables", CLIENT_VARIABLES_MAX);
    }
    names = name_set(model->diagnostics);
    for (int32_t d = 0; d < decl->clients[i]->def_count; d++) {
      name_set_add(&names, &decl->clients[i]->defs[d]->name);
    }
    name_set_free(&names);
  }
}

Model *model_parse(const char *name, const char *text, size_t text_bytes, ServiceReader reader, void *user) {
  Model *model = g_new0(Model, 1);
  model->sources = sources_new();
  model->diagnostics = diagnostics_new(model->sources);
  model->ast = ast_new();
  uint32_t file = sources_add(model->sources, name, text, text_bytes);
  model->decl = parse_model((ParseInput){model->ast, model->sources, file, model->diagnostics});
  load_services(model, reader, user);
  for (int32_t i = 0; i < model->decl->script_count && !diagnostics_many(model->diagnostics); i++) {
    attach_script(model, model->decl->scripts[i]);
  }
  check_names(model);
  return model;
}

void model_free(Model *model) {
  if (model == NULL) {
    return;
  }
  diagnostics_free(model->diagnostics);
  ast_free(model->ast);
  sources_free(model->sources);
  g_free(model);
}

const Diagnostics *model_diagnostics(const Model *model) {
  return model->diagnostics;
}

const char *model_name(const Model *model) {
  return model->decl->name.text;
}

const char *model_text(const Model *model) {
  return model->decl->text;
}

int32_t model_scenario_count(const Model *model) {
  return model->decl->scenario_count;
}

const char *model_scenario_name(const Model *model, int32_t scenario) {
  CHECK(scenario >= 0 && scenario < model->decl->scenario_count);
  return model->decl->scenarios[scenario]->name.text;
}

const char *model_scenario_text(const Model *model, int32_t scenario) {
  CHECK(scenario >= 0 && scenario < model->decl->scenario_count);
  return model->decl->scenarios[scenario]->text;
}

/* Variables */

static void variable_type(Compiler *c, const TypeExpr *said, Type *type) {
  *type = (Type){.sort = said->sort, .optional = said->optional, .on_wall = said->on_wall};
  if (said->sort == SORT_INT) {
    bool good = compiler_number(c, said->lo, "a range", INT32_MIN, INT32_MAX, &type->lo) &&
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
    diagnostics_error(c->diagnostics, said->span, "'%s' is %s; it cannot begin as '%s'", variable->name, sort_text(type->sort),
                      expr_text(c, said));
  } else if (value.sort == SORT_INT && type->sort == SORT_INT && (value.value < type->lo || value.value > type->hi)) {
    diagnostics_error(c->diagnostics, said->span, "'%s' lies in %d..%d; this is outside", variable->name, type->lo, type->hi);
  }
  variable->initial_sort = value.sort;
  variable->initial = value.sort == SORT_DURATION ? compiler_duration(c, value.value) : (int32_t)value.value;
}

static Variable make_variable(Compiler *c, const VarDecl *decl) {
  Variable variable = {.name = g_strdup(decl->name.text), .extent = {.count = 1}, .initial_sort = SORT_NONE, .is_lock = decl->is_lock,
                       .span = decl->name.span};
  variable_type(c, &decl->type, &variable.type);
  if (decl->initial == NULL) {
    default_initial(&variable);
  } else if (decl->type.sort == SORT_STAMP) {
    diagnostics_error(c->diagnostics, decl->initial->span, "a stamp begins as never taken, which is older than any bound");
  } else {
    said_initial(c, decl->initial, &variable);
  }
  return variable;
}

static void push_variables(Compiler *c, const VarDecl *decls, const Variable *variables, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    const Type *type = &variables[i].type;
    Shape shape = {type->sort, type->optional, type->lo, type->hi};
    compiler_push_local(c, (Symbol){.name = decls[i].name, .kind = SYMBOL_VARIABLE, .index = i, .shape = shape});
  }
}

/* Services */

static int32_t most_replies(const Block *block) {
  int32_t most = 1;
  for (int32_t i = 0; i < block->count; i++) {
    const Stmt *stmt = block->items[i];
    int32_t here = stmt->kind == STMT_REPLY ? stmt->arg_count : 1;
    here = MAX(here, MAX(most_replies(&stmt->body), most_replies(&stmt->other)));
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
  *handler = (Handler){.name = g_strdup(decl->name.text), .param_count = decl->param_count, .entry = NO_INDEX, .guard = NO_INDEX,
                       .reply_count = most_replies(&decl->body), .span = decl->span};
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
    service->timers[service->timer_count] = 
        (Timer){.name = g_strdup(timer->name.text), .on_wall = timer->on_wall, .extent = {.count = 1}, .entry = NO_INDEX, .span = timer->name.span};
  }
  service->variables = g_new0(Variable, (size_t)decl->variable_count + 1);
  for (; service->variable_count < decl->variable_count; service->variable_count++) {
    const VarDecl *var = &decl->variables[service->variable_count];
    if (var->type.sort == SORT_STAMP) {
      diagnostics_error(c->diagnostics, var->type.span, "a stamp in a service is not supported yet");
    }
    service->variables[service->variable_count] = make_variable(c, var);
  }
}

static void declare_services(Compiler *c) {
  Program *program = c->program;
  program->services = g_new0(Service, (size_t)c->decl->service_count + 1);
  c->calls = g_new0(Span *, (size_t)c->decl->service_count + 1);
  for (; program->service_count < c->decl->service_count; program->service_count++) {
    const ServiceDecl *decl = c->decl->services[program->service_count];
    c->calls[program->service_count] = g_new0(Span, (size_t)decl->handler_count + 1);
    declare_service(c, decl, &program->services[program->service_count]);
  }
}

static void compile_handler(Compiler *c, const HandlerDecl *decl, Handler *handler) {
  uint32_t locals = c->locals.count;
  for (int32_t i = 0; i < decl->param_count; i++) {
    Sort sort = handler->param_sorts[i];
    Shape shape = {.sort = sort, .lo = INT32_MIN, .hi = INT32_MAX};
    compiler_push_local(c, (Symbol){.name = decl->params[i], .kind = SYMBOL_ARG, .index = i, .shape = shape});
  }
  c->dead = false;
  c->local_count = 0;
  handler->entry = code_label(c);
  code_handler_body(c, &decl->body);
  code_emit(c, OP_DONE, 0, 0, decl->span);
  handler->local_count = c->local_count;
  c->locals.count = locals;
}

static void compile_after(Compiler *c, const ServiceDecl *decl, Service *service, const HandlerDecl *after) {
  for (int32_t t = 0; t < decl->timer_count; t++) {
    if (strcmp(decl->timers[t].name.text, after->name.text) == 0) {
      c->dead = false;
      c->local_count = 0;
      service->timers[t].entry = code_label(c);
      code_handler_body(c, &after->body);
      code_emit(c, OP_DONE, 0, 0, after->name.span);
      service->timers[t].local_count = c->local_count;
      return;
    }
  }
  compiler_unknown(c, after->name, "timer");
}

static void compile_service(Compiler *c, int32_t index) {
  const ServiceDecl *decl = c->decl->services[index];
  Service *service = &c->program->services[index];
  c->mode = MODE_HANDLER;
  c->service = index;
  c->locals.count = 0;
  push_variables(c, decl->variables, service->variables, service->variable_count);
  for (int32_t i = 0; i < decl->timer_count; i++) {
    compiler_push_local(c, (Symbol){.name = decl->timers[i].name, .kind = SYMBOL_TIMER, .index = i});
  }
  for (int32_t i = 0; i < decl->handler_count; i++) {
    Span call = c->calls[index][i];
    if (call.end == 0) {
      continue;
    }
    uint32_t count = diagnostics_count(c->diagnostics);
    compile_handler(c, decl->handlers[i], &service->handlers[i]);
    if (diagnostics_count(c->diagnostics) > count) { /* perhaps the arguments are to blame */
      diagnostics_note(c->diagnostics, call, "it is called here");
    }
  }
  for (int32_t i = 0; i < decl->after_count; i++) {
    compile_after(c, decl, service, decl->afters[i]);
  }
  c->locals.count = 0;
}

/* Clients */

static void declare_client_variables(Compiler *c, int32_t index) {
  const ClientDecl *decl = c->decl->clients[index];
  ClientKind *kind = &c->program->kinds[index];
  kind->variables = g_new0(Variable, CLIENT_VARIABLES_MAX);
  for (; kind->variable_count < decl->variable_count; kind->variable_count++) {
    kind->variables[kind->variable_count] = make_variable(c, &decl->variables[kind->variable_count]);
  }
}

/* A jump to `begin` belongs to the innermost loop that begins there and holds it. Inner loops come first in the list. */
static bool belongs_to_inner(const Compiler *c, const LoopCheck *loop, int32_t pc) {
  for (const LoopCheck *inner = c->loop_checks.items; inner < loop; inner++) {
    if (inner->begin == loop->begin && pc < inner->end) {
      return true;
    }
  }
  return false;
}

/* Whether the loop can be gone round without an `ask`, `wait` or `yield`: a walk inside code[begin .. end). */
static bool spins(const Compiler *c, const LoopCheck *loop) {
  VEC(int32_t) todo = {0};
  bool *seen = g_new0(bool, (size_t)(loop->end - loop->begin) + 1);
  bool found = false;
  vec_push(&todo, loop->begin);
  while (todo.count > 0 && !found) {
    int32_t pc = todo.items[--todo.count];
    if (pc < loop->begin || pc >= loop->end || seen[pc - loop->begin]) {
      continue;
    }
    seen[pc - loop->begin] = true;
    const Instr *instr = &c->code.items[pc];
    bool rests = instr->op == OP_ASK || instr->op == OP_WAIT || instr->op == OP_YIELD || instr->op == OP_STOP;
    bool jumps = instr->op == OP_JUMP || instr->op == OP_JUMP_IF || instr->op == OP_JUMP_UNLESS;
    found = jumps && instr->operand == loop->begin && !belongs_to_inner(c, loop, pc);
    if (jumps) {
      vec_push(&todo, instr->operand);
    }
    if (!rests && instr->op != OP_JUMP) {
      vec_push(&todo, pc + 1);
    }
  }
  g_free(seen);
  vec_free(&todo);
  return found;
}

static void check_loops(Compiler *c) {
  bool is_sound = !diagnostics_any_error(c->diagnostics); /* else code may be missing */
  for (uint32_t i = 0; i < c->loop_checks.count && is_sound && compiler_work(c, c->loop_checks.items[i].span); i++) {
    const LoopCheck *loop = &c->loop_checks.items[i];
    c->work += (loop->end - loop->begin) / 8;
    if (spins(c, loop)) {
      diagnostics_error(c->diagnostics, loop->span,
                        "a round of this loop can pass without waiting; put an `ask`, a `wait` or a `yield` on each way round");
    }
  }
  c->loop_checks.count = 0;
}

static void compile_client(Compiler *c, int32_t index) {
  const ClientDecl *decl = c->decl->clients[index];
  ClientKind *kind = &c->program->kinds[index];
  uint32_t criticals = c->criticals.count;
  c->mode = MODE_CLIENT;
  c->kind = index;
  c->locals.count = 0;
  push_variables(c, decl->variables, kind->variables, kind->variable_count);
  for (int32_t i = 0; i < kind->variable_count; i++) {
    vec_push(&c->variables, kind->variables[i]);
  }
  c->hidden_in_use = kind->variable_count == 64 ? UINT64_MAX : (UINT64_C(1) << kind->variable_count) - 1;
  code_client(c, decl);
  kind->code_end = (int32_t)c->code.count;
  check_loops(c);
  kind->variable_count = (int32_t)c->variables.count;
  for (uint32_t i = 0; i < c->variables.count; i++) {
    kind->variables[i] = c->variables.items[i];
  }
  kind->enters = kind->tasks[0].enters = c->criticals.count > criticals;
  vec_free(&c->variables);
  c->locals.count = 0;
}

static void compile_nevers(Compiler *c) {
  Program *program = c->program;
  program->nevers = g_new0(Never, (size_t)c->decl->never_count + 1);
  c->mode = MODE_NEVER;
  for (int32_t i = 0; i < c->decl->never_count; i++) {
    const NeverDecl *decl = &c->decl->nevers[i];
    c->dead = false;
    program->nevers[i] = (Never){g_strdup(decl->text.text), code_label(c), decl->text.span};
    program->never_count++;
    Shape shape = code_value(c, decl->value);
    if (shape.sort != SORT_BOOL && shape.sort != SORT_REPLY) {
      diagnostics_error(c->diagnostics, decl->value->span, "a `never` holds a condition, but this is %s", sort_text(shape.sort));
    }
    code_emit(c, OP_RETURN, 0, 0, decl->value->span);
  }
}

/* The whole */

static Compiler compiler_new(Model *model, int32_t scenario) {
  Compiler c = {.model = model, .decl = model->decl, .diagnostics = model->diagnostics, .label_at = NO_INDEX};
  c.scenario = scenario == NO_INDEX ? NULL : model->decl->scenarios[scenario];
  c.program = g_new0(Program, 1);
  c.global_index = g_hash_table_new(g_str_hash, g_str_equal);
  c.word_index = g_hash_table_new(g_str_hash, g_str_equal);
  c.reply_words = g_hash_table_new(g_str_hash, g_str_equal);
  c.program->sources = sources_share(model->sources);
  c.program->model = g_strdup(model->decl->name.text);
  c.program->model_text = g_strdup(model->decl->text);
  c.program->scenario = g_strdup(c.scenario == NULL ? "" : c.scenario->name.text);
  c.program->scenario_text = g_strdup(c.scenario == NULL ? "" : c.scenario->text);
  c.program->word_ok = compiler_word(&c, "ok");
  c.program->word_timeout = compiler_word(&c, "timeout");
  c.program->word_refused = compiler_word(&c, "refused");
  return c;
}

static void compiler_free(Compiler *c) {
  for (int32_t i = 0; c->calls != NULL && i < c->decl->service_count; i++) {
    g_free(c->calls[i]);
  }
  g_free(c->calls);
  g_hash_table_destroy(c->global_index);
  g_hash_table_destroy(c->word_index);
  g_hash_table_destroy(c->reply_words);
  vec_free(&c->reply_word_list);
  vec_free(&c->globals);
  vec_free(&c->locals);
  vec_free(&c->deferred);
  vec_free(&c->loop_checks);
}

/* Hands the tables over. They were grown with realloc, and program_free gives them back with free. */
static void hand_over(Compiler *c) {
  Program *program = c->program;
  program->code = c->code.items;
  program->code_count = (int32_t)c->code.count;
  program->words = c->words.items;
  program->word_count = (int32_t)c->words.count;
  program->durations_us = c->durations.items;
  program->duration_count = (int32_t)c->durations.count;
  program->waits = c->waits.items;
  program->wait_count = (int32_t)c->waits.count;
  program->criticals = c->criticals.items;
  program->critical_count = (int32_t)c->criticals.count;
}

static void compile_all(Compiler *c, const Setting *settings, int32_t setting_count) {
  declare_parameters(c, settings, setting_count);
  declare_processes(c);
  if (diagnostics_any_error(c->diagnostics)) {
    return; /* the rest would stand on sand */
  }
  declare_services(c);
  for (int32_t k = 0; k < c->program->kind_count; k++) {
    declare_client_variables(c, k);
  }
  compile_faults(c);
  for (int32_t k = 0; k < c->program->kind_count; k++) {
    compile_client(c, k);
  }
  for (int32_t s = 0; s < c->program->service_count; s++) {
    compile_service(c, s);
  }
  compile_nevers(c);
  hand_over(c); /* what is claimed of the tables is looked up there */
  compile_scenario(c);
  if (!diagnostics_any_error(c->diagnostics)) {
    compile_liveness(c);
  }
}

Program *model_compile(Model *model, int32_t scenario, const Setting *settings, int32_t setting_count) {
  CHECK(scenario >= NO_INDEX && scenario < model->decl->scenario_count);
  if (diagnostics_any_error(model->diagnostics)) {
    return NULL;
  }
  Compiler c = compiler_new(model, scenario);
  compile_all(&c, settings, setting_count);
  hand_over(&c);
  Program *program = c.program;
  compiler_free(&c);
  if (diagnostics_any_error(model->diagnostics)) {
    program_free(program);
    return NULL;
  }
  return program;
}
