#include "lang/compile.h"

#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"
#include "lang/parser.h"

#define SERVICE_TIMERS_MAX 16
#define SERVICE_HANDLERS_MAX 256
#define INFERENCE_ROUNDS 64

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
    diagnostics_error(model->diagnostics, name.span,
                      "there is no service '%s' (looked for services/%s.lk beside the model)", name.text, name.text);
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
    diagnostics_error(model->diagnostics, service->name.span,
                      "a service has at most %d variables, %d timers and %d handlers", SERVICE_VARIABLES_MAX,
                      SERVICE_TIMERS_MAX, SERVICE_HANDLERS_MAX);
  }
}

/* Tasks and notices of a client. */
static void check_activities(Model *model, const ClientDecl *client) {
  NameSet names = name_set(model->diagnostics);
  for (int32_t t = 0; t < client->task_count; t++) {
    name_set_add(&names, &client->tasks[t]->name);
  }
  name_set_free(&names);
  names = name_set(model->diagnostics);
  for (int32_t n = 0; n < client->notice_count; n++) {
    name_set_add(&names, &client->notices[n]->name);
  }
  name_set_free(&names);
  if (client->task_count > PROGRAM_TASKS_MAX) {
    diagnostics_error(model->diagnostics, client->tasks[PROGRAM_TASKS_MAX]->span, "a client has at most %d tasks",
                      PROGRAM_TASKS_MAX);
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
      diagnostics_error(model->diagnostics, decl->clients[i]->span, "a client has at most %d variables",
                        CLIENT_VARIABLES_MAX);
    }
    names = name_set(model->diagnostics);
    for (int32_t d = 0; d < decl->clients[i]->def_count; d++) {
      name_set_add(&names, &decl->clients[i]->defs[d]->name);
    }
    name_set_free(&names);
    check_activities(model, decl->clients[i]);
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

/* Services */

static void push_argument(Compiler *c, Name name, int32_t index, Sort sort, const CallFacts *facts) {
  Shape shape = {.sort = sort, .lo = INT32_MIN, .hi = INT32_MAX};
  shape.on_wall = facts != NULL && (facts->on_wall >> index & 1);
  compiler_push_local(c, (Symbol){.name = name, .kind = SYMBOL_ARG, .index = index, .shape = shape});
}

static void compile_guard(Compiler *c, const HandlerDecl *decl, Handler *handler) {
  c->mode = MODE_GUARD;
  handler->guard = code_label(c);
  code_truth_value(c, decl->guard, "a guard");
  code_emit(c, OP_RETURN, 0, 0, decl->guard->span);
  c->mode = MODE_HANDLER;
  c->dead = false;
}

/* A body that runs from its beginning to its end: where it begins. */
static int32_t compile_run(Compiler *c, const Block *body, Span span, int32_t *local_count) {
  c->dead = false;
  c->local_count = 0;
  int32_t entry = code_label(c);
  code_body(c, body);
  code_emit(c, OP_DONE, 0, 0, span);
  *local_count = c->local_count;
  return entry;
}

static void compile_handler(Compiler *c, const HandlerDecl *decl, Handler *handler, const CallFacts *facts) {
  uint32_t locals = c->locals.count;
  for (int32_t i = 0; i < decl->param_count; i++) {
    push_argument(c, decl->params[i], i, handler->param_sorts[i], facts);
  }
  c->dead = false;
  c->handled = facts;
  if (decl->guard != NULL) {
    compile_guard(c, decl, handler);
  }
  handler->entry = compile_run(c, &decl->body, decl->span, &handler->local_count);
  c->handled = NULL;
  c->locals.count = locals;
}

static void compile_after(Compiler *c, const ServiceDecl *decl, Service *service, const HandlerDecl *after) {
  for (int32_t t = 0; t < decl->timer_count; t++) {
    if (strcmp(decl->timers[t].name.text, after->name.text) != 0) {
      continue;
    }
    Timer *timer = &service->timers[t];
    uint32_t locals = c->locals.count;
    if (timer->extent.is_array != (after->param_count == 1)) {
      diagnostics_error(c->diagnostics, after->name.span,
                        timer->extent.is_array ? "'%s' is an array; write `after %s[i]`"
                                               : "'%s' is no array; write `after %s`",
                        timer->name, timer->name);
    } else if (after->param_count == 1) {
      push_argument(c, after->params[0], 0, timer->extent.sort, NULL);
    }
    timer->entry = compile_run(c, &after->body, after->name.span, &timer->local_count);
    c->locals.count = locals;
    return;
  }
  compiler_unknown(c, after->name, "timer");
}

static void compile_lost(Compiler *c, const HandlerDecl *lost, Service *service) {
  uint32_t locals = c->locals.count;
  int32_t local_count;
  push_argument(c, lost->params[0], 0, SORT_CLIENT, NULL);
  service->lost_entry = compile_run(c, &lost->body, lost->span, &local_count);
  c->locals.count = locals;
}

static void compile_service(Compiler *c, int32_t index) {
  const ServiceDecl *decl = c->decl->services[index];
  Service *service = &c->program->services[index];
  c->mode = MODE_HANDLER;
  c->service = index;
  c->locals.count = 0;
  declare_push_variables(c, decl->variables, service->variables, service->variable_count);
  declare_push_timers(c, decl->timers, service->timers, decl->timer_count);
  for (int32_t i = 0; i < decl->handler_count; i++) {
    Span call = c->calls[index][i];
    if (call.end == 0) {
      continue;
    }
    uint32_t count = diagnostics_count(c->diagnostics);
    compile_handler(c, decl->handlers[i], &service->handlers[i], &c->facts[index][i]);
    if (diagnostics_count(c->diagnostics) > count) { /* perhaps the arguments are to blame */
      diagnostics_note(c->diagnostics, call, "it is called here");
    }
  }
  for (int32_t i = 0; i < decl->after_count; i++) {
    compile_after(c, decl, service, decl->afters[i]);
  }
  if (decl->lost != NULL) {
    compile_lost(c, decl->lost, service);
  }
  c->locals.count = 0;
}

/* Clients */

/* A jump to `begin` belongs to the innermost loop that begins there and holds it. Inner loops come first in the list.
 */
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
    bool rests = instr->op == OP_ASK || instr->op == OP_ASK_ALL || instr->op == OP_WAIT || instr->op == OP_YIELD ||
                 instr->op == OP_STOP || instr->op == OP_END;
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
      diagnostics_error(
          c->diagnostics, loop->span,
          "a round of this loop can pass without waiting; put an `ask`, a `wait` or a `yield` on each way round");
    }
  }
  c->loop_checks.count = 0;
}

static const HandlerDecl *notice_of(const ClientDecl *decl, const char *name) {
  for (int32_t i = 0; i < decl->notice_count; i++) {
    if (strcmp(decl->notices[i]->name.text, name) == 0) {
      return decl->notices[i];
    }
  }
  return NULL;
}

/* `on event` of the client, those that some server tells. */
static void compile_notices(Compiler *c, const ClientDecl *decl, ClientKind *kind) {
  const Program *program = c->program;
  c->mode = MODE_NOTICE;
  for (int32_t i = 0; i < program->notice_count; i++) {
    const HandlerDecl *notice = notice_of(decl, program->notices[i].name);
    kind->notice_entries[i] = NO_INDEX;
    if (notice == NULL || c->notice_facts[i].call.end == 0) {
      continue;
    }
    uint32_t locals = c->locals.count;
    int32_t local_count;
    for (int32_t p = 0; p < notice->param_count; p++) {
      push_argument(c, notice->params[p], p, program->notices[i].param_sorts[p], &c->notice_facts[i]);
    }
    kind->notice_entries[i] = compile_run(c, &notice->body, notice->span, &local_count);
    c->locals.count = locals;
  }
  c->mode = MODE_CLIENT;
}

static void compile_client(Compiler *c, int32_t index) {
  const ClientDecl *decl = c->decl->clients[index];
  ClientKind *kind = &c->program->kinds[index];
  c->mode = MODE_CLIENT;
  c->kind = index;
  c->locals.count = 0;
  declare_push_variables(c, decl->variables, kind->variables, kind->variable_count);
  for (int32_t i = 0; i < kind->variable_count; i++) {
    vec_push(&c->variables, kind->variables[i]);
  }
  c->hidden_in_use = kind->variable_count == 64 ? UINT64_MAX : (UINT64_C(1) << kind->variable_count) - 1;
  code_client(c, decl);
  c->body_end[index] = (int32_t)c->code.count;
  compile_notices(c, decl, kind);
  c->notices_end[index] = (int32_t)c->code.count;
  code_append_deferred(c);
  kind->code_end = (int32_t)c->code.count;
  check_loops(c);
  kind->variable_count = (int32_t)c->variables.count;
  for (uint32_t i = 0; i < c->variables.count; i++) {
    kind->variables[i] = c->variables.items[i];
  }
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
    code_truth_value(c, decl->value, "a `never`");
    code_emit(c, OP_RETURN, 0, 0, decl->value->span);
  }
}

/* Clients and services together, since servers tell each other and the clients */

static void compile_bodies(Compiler *c) {
  for (int32_t k = 0; k < c->program->kind_count; k++) {
    compile_client(c, k);
  }
  for (int32_t s = 0; s < c->program->service_count; s++) {
    compile_service(c, s);
  }
}

/* As before compile_bodies, but for what the calls have told. */
static void forget_bodies(Compiler *c) {
  for (uint32_t i = 0; i < c->waits.count; i++) {
    g_free(c->waits.items[i].ages);
  }
  for (uint32_t i = 0; i < c->assertions.count; i++) {
    g_free(c->assertions.items[i].text);
  }
  for (int32_t k = 0; k < c->program->kind_count; k++) {
    ClientKind *kind = &c->program->kinds[k];
    for (int32_t v = c->decl->clients[k]->variable_count; v < kind->variable_count; v++) {
      g_free(kind->variables[v].name);
    }
    for (int32_t t = 0; t < kind->task_count; t++) {
      g_free(kind->tasks[t].name);
    }
    kind->variable_count = c->decl->clients[k]->variable_count;
    kind->task_count = 0;
  }
  c->code.count = c->waits.count = c->assertions.count = c->criticals.count = c->parallels.count = 0;
  c->exhausted = false;
  c->label_at = NO_INDEX;
}

static bool tells(const Block *block) {
  for (int32_t i = 0; i < block->count; i++) {
    const Stmt *stmt = block->items[i];
    bool found = stmt->kind == STMT_TELL || tells(&stmt->body) || tells(&stmt->other);
    for (int32_t a = 0; a < stmt->arm_count && !found; a++) {
      found = tells(&stmt->arms[a]);
    }
    if (found) {
      return true;
    }
  }
  return false;
}

static bool servers_tell(const ModelDecl *decl) {
  bool found = false;
  for (int32_t s = 0; s < decl->service_count; s++) {
    const ServiceDecl *service = decl->services[s];
    for (int32_t i = 0; i < service->handler_count; i++) {
      found = found || tells(&service->handlers[i]->body);
    }
    for (int32_t i = 0; i < service->after_count; i++) {
      found = found || tells(&service->afters[i]->body);
    }
    found = found || (service->lost != NULL && tells(&service->lost->body));
  }
  return found;
}

/* What a handler's arguments are is known from the calls, which lie in the bodies of handlers, too: compiles without a
 * word until nothing new comes out. What is known only grows, and never by much. */
static void infer_calls(Compiler *c) {
  Diagnostics *diagnostics = c->diagnostics;
  for (int32_t round = 0; round < INFERENCE_ROUNDS; round++) {
    c->diagnostics = diagnostics_new(c->model->sources);
    c->facts_changed = false;
    compile_bodies(c);
    forget_bodies(c);
    diagnostics_free(c->diagnostics);
    if (!c->facts_changed) {
      break;
    }
  }
  c->diagnostics = diagnostics;
  if (c->facts_changed) {
    diagnostics_error(c->diagnostics, c->decl->name.span,
                      "handlers tell each other in a chain that is too long to follow");
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
    g_free(c->facts[i]);
  }
  g_free(c->calls);
  g_free(c->facts);
  g_free(c->notice_facts);
  g_hash_table_destroy(c->global_index);
  g_hash_table_destroy(c->word_index);
  g_hash_table_destroy(c->reply_words);
  vec_free(&c->reply_word_list);
  vec_free(&c->globals);
  vec_free(&c->locals);
  vec_free(&c->deferred);
  vec_free(&c->loop_checks);
  vec_free(&c->lists); /* their entries are the program's tables */
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
  program->parallels = c->parallels.items;
  program->parallel_count = (int32_t)c->parallels.count;
  program->assertions = c->assertions.items;
  program->assertion_count = (int32_t)c->assertions.count;
}

static void compile_all(Compiler *c, const Setting *settings, int32_t setting_count) {
  declare_parameters(c, settings, setting_count);
  declare_processes(c);
  if (diagnostics_any_error(c->diagnostics)) {
    return; /* the rest would stand on sand */
  }
  declare_lists(c);
  declare_services(c);
  declare_ghosts(c);
  declare_notices(c);
  for (int32_t k = 0; k < c->program->kind_count; k++) {
    declare_client_variables(c, k);
  }
  compile_faults(c);
  if (servers_tell(c->decl)) {
    infer_calls(c);
  }
  compile_bodies(c);
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
