/* The faults of a scenario: whom each strikes, for how long, how often. */
#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

#define FAULTS_MAX 32 /* lines of a scenario; the budget of each is part of the state */
#define DRIFT_PPM_MAX 500000

static uint32_t bits(int32_t first, int32_t count) {
  return count == 0 ? 0 : UINT32_MAX >> (32 - count) << first;
}

/* Symmetry */

static void break_group(Compiler *c, int32_t group, Span span) {
  Program *program = c->program;
  program->servers_symmetric[group] = false;
  if (program->servers_asymmetry[group].end == 0) {
    program->servers_asymmetry[group] = span;
  }
}

/* Who names some of a kind or group, but not all, tells them apart. */
static void tell_apart(Compiler *c, uint32_t clients, uint32_t servers, Span span) {
  const Program *program = c->program;
  for (int32_t k = 0; k < program->kind_count; k++) {
    uint32_t all = bits(program->kinds[k].first, program->kinds[k].count);
    if ((clients & all) != 0 && (clients & all) != all) {
      compiler_break_symmetry(c, k, span);
    }
  }
  for (int32_t g = 0; g < program->group_count; g++) {
    uint32_t all = bits(program->groups[g].first, program->groups[g].count);
    if ((servers & all) != 0 && (servers & all) != all) {
      break_group(c, g, span);
    }
  }
}

/* Whom it strikes */

bool fault_servers(Compiler *c, const Expr *target, uint32_t *servers) {
  Constant value;
  *servers = bits(0, c->program->server_count);
  if (target == NULL) {
    return true;
  }
  if (!compiler_constant(c, target, "the server", &value)) {
    return false;
  }
  if (value.sort != SORT_SERVER) {
    diagnostics_error(c->diagnostics, target->span, "'%s' is not a server", expr_text(c, target));
    return false;
  }
  *servers = bits((int32_t)value.value, value.count);
  tell_apart(c, 0, *servers, target->span);
  return true;
}

/* Adds the processes that `target` names to those that the fault strikes. */
static bool add_victims(Compiler *c, const Expr *target, Fault *fault) {
  Constant value;
  if (!compiler_constant(c, target, "whom a fault strikes", &value)) {
    return false;
  }
  if (value.sort == SORT_SERVER) {
    fault->servers |= bits((int32_t)value.value, value.count);
  } else if (value.sort == SORT_CLIENT) {
    fault->clients |= bits((int32_t)value.value, value.count);
  } else {
    diagnostics_error(c->diagnostics, target->span, "'%s' is neither a client nor a server", expr_text(c, target));
    return false;
  }
  tell_apart(c, fault->clients, fault->servers, target->span);
  return true;
}

static bool find_connections(Compiler *c, const ScenarioItem *item, Fault *fault) {
  return fault_servers(c, item->target, &fault->servers);
}

static bool find_victims(Compiler *c, const ScenarioItem *item, Fault *fault) {
  return add_victims(c, item->target, fault);
}

static bool find_everybody(Compiler *c, const ScenarioItem *item, Fault *fault) {
  (void)item;
  fault->clients = bits(0, c->program->client_count);
  fault->servers = bits(0, c->program->server_count);
  return true;
}

static bool find_drifting(Compiler *c, const ScenarioItem *item, Fault *fault) {
  return item->target == NULL ? find_everybody(c, item, fault) : find_victims(c, item, fault);
}

static bool find_suspended(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (!find_victims(c, item, fault)) {
    return false;
  }
  if (fault->servers != 0) {
    const char *text = expr_text(c, item->target);
    diagnostics_error(c->diagnostics, item->target->span,
                      "only clients are suspended; '%s' can be paused: `pause of %s for …`", text, text);
  }
  return fault->servers == 0;
}

static bool find_cut(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (!add_victims(c, item->target, fault) || !add_victims(c, item->from, fault)) {
    return false;
  }
  bool is_between = fault->clients != 0 && fault->servers != 0;
  if (!is_between) {
    Span ends = {item->span.file, item->target->span.begin, item->from->span.end};
    diagnostics_error(c->diagnostics, ends, "a cut lies between clients and servers (`cut of client from node`); %s",
                      fault->clients == 0 ? "servers cannot be cut from servers" : "clients send each other nothing");
  }
  return is_between;
}

/* The one task that a fault strikes: client.TASK, of one kind of client. */

static void unknown_task(Compiler *c, const ScenarioItem *item, const ClientKind *kind) {
  NameList names = {0};
  for (int32_t t = 0; t < kind->task_count; t++) {
    if (kind->tasks[t].name != NULL) {
      vec_push(&names, (const char *)kind->tasks[t].name);
    }
  }
  const char *nearest = nearest_find(item->task.text, names.items, names.count);
  if (nearest != NULL) {
    diagnostics_error(c->diagnostics, item->task.span, "'%s' has no task '%s'; did you mean '%s'?", kind->name,
                      item->task.text, nearest);
  } else {
    diagnostics_error(c->diagnostics, item->task.span, "'%s' has no task '%s'", kind->name, item->task.text);
  }
  vec_free(&names);
}

static void resolve_task(Compiler *c, const ScenarioItem *item, Fault *fault) {
  const Program *program = c->program;
  const ClientKind *kind = &program->kinds[program->client_kind[g_bit_nth_lsf(fault->clients, -1)]];
  if ((fault->clients & ~bits(kind->first, kind->count)) != 0) {
    diagnostics_error(c->diagnostics, item->target->span, "name the kind of client whose task this is: `%s.%s`",
                      kind->name, item->task.text);
    return;
  }
  for (int32_t t = 0; t < kind->task_count; t++) {
    if (kind->tasks[t].name != NULL && strcmp(kind->tasks[t].name, item->task.text) == 0) {
      fault->task = t;
      return;
    }
  }
  unknown_task(c, item, kind);
}

void compile_faults_of_tasks(Compiler *c) {
  for (int32_t i = 0, f = 0; c->scenario != NULL && i < c->scenario->item_count; i++) {
    const ScenarioItem *item = &c->scenario->items[i];
    bool is_kept =
        f < c->program->fault_count && c->program->faults[f].span.begin == item->span.begin; /* else it was wrong */
    if (is_kept && item->task.text != NULL) {
      resolve_task(c, item, &c->program->faults[f]);
    }
    f += is_kept;
  }
}

/* Whether the fault may strike a single task at all; which one it is, is not known yet. */
static bool check_task(Compiler *c, const ScenarioItem *item, const Fault *fault) {
  bool may_be_one = fault->kind == FAULT_PAUSE || fault->kind == FAULT_SUSPEND;
  bool is_good = item->task.text == NULL || (fault->clients != 0 && may_be_one);
  if (!is_good) {
    diagnostics_error(c->diagnostics, item->task.span,
                      fault->clients == 0 ? "only clients have tasks"
                                          : "only a pause or a suspend strikes a single task");
  }
  return is_good;
}

/* trigger of SERVER.h(args) */

static bool trigger_argument(Compiler *c, const Expr *said, Constant *value) {
  bool is_word =
      said->kind == EXPR_NAME && compiler_find(c, said->name.text) == NULL && compiler_word_known(c, said->name.text);
  if (is_word) {
    *value = (Constant){.sort = SORT_WORD, .value = compiler_word(c, said->name.text), .count = 1};
    return true;
  }
  if (!compiler_constant(c, said, "an argument of a trigger", value)) {
    return false;
  }
  if (value->is_group) {
    diagnostics_error(c->diagnostics, said->span, "'%s' is more than one process; name one of them",
                      expr_text(c, said));
    return false;
  }
  if (value->sort == SORT_SERVER) {
    tell_apart(c, 0, bits((int32_t)value->value, 1), said->span);
  } else if (value->sort == SORT_DURATION) {
    value->value = compiler_duration(c, value->value);
  }
  return true;
}

static int32_t handler_named(Compiler *c, int32_t service, Name name) {
  const ServiceDecl *decl = c->decl->services[service];
  NameList names = {0};
  int32_t found = NO_INDEX;
  for (int32_t i = 0; i < decl->handler_count; i++) {
    vec_push(&names, decl->handlers[i]->name.text);
    found = strcmp(decl->handlers[i]->name.text, name.text) == 0 ? i : found;
  }
  if (found == NO_INDEX) {
    const char *nearest = nearest_find(name.text, names.items, names.count);
    diagnostics_error(c->diagnostics, name.span,
                      nearest == NULL ? "the service '%s' has no handler '%s'"
                                      : "the service '%s' has no handler '%s'; did you mean '%s'?",
                      decl->name.text, name.text, nearest);
  }
  vec_free(&names);
  return found;
}

/* Like a call, but from nobody: the handler is compiled, and its parameters take what comes. */
static void note_call(Compiler *c, int32_t service, const Call *call, const Fault *fault) {
  Span *first = &c->calls[service][fault->handler];
  *first = first->end == 0 ? call->span : *first;
  Sort *sorts = c->program->services[service].handlers[fault->handler].param_sorts;
  for (int32_t i = 0; i < fault->arg_count; i++) {
    Sort sort = fault->arg_sorts[i] == SORT_NONE ? SORT_REPLY : fault->arg_sorts[i];
    sorts[i] = sorts[i] == SORT_NONE || sorts[i] == sort ? sort : SORT_REPLY;
  }
}

static bool find_trigger(Compiler *c, const ScenarioItem *item, Fault *fault) {
  const Call *call = item->call;
  if (!fault_servers(c, call->target, &fault->servers)) {
    return false;
  }
  const Program *program = c->program;
  int32_t service = program->groups[program->server_group[g_bit_nth_lsf(fault->servers, -1)]].service;
  fault->handler = handler_named(c, service, call->handler);
  if (fault->handler == NO_INDEX) {
    return false;
  }
  const HandlerDecl *decl = c->decl->services[service]->handlers[fault->handler];
  if (decl->param_count != call->arg_count) {
    diagnostics_error(c->diagnostics, call->span, "'%s' takes %d argument%s, not %d", call->handler.text,
                      decl->param_count, decl->param_count == 1 ? "" : "s", call->arg_count);
    diagnostics_note(c->diagnostics, decl->name.span, "it is declared here");
    return false;
  }
  for (; fault->arg_count < call->arg_count; fault->arg_count++) {
    Constant value;
    if (!trigger_argument(c, call->args[fault->arg_count], &value)) {
      return false;
    }
    fault->arg_sorts[fault->arg_count] = value.sort;
    fault->args[fault->arg_count] = (int32_t)value.value;
  }
  note_call(c, service, call, fault);
  return true;
}

/* What each kind of fault says beside its victims */

static void complete_jump(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (!compiler_constant_duration(c, item->by, "how far a clock jumps", &fault->by_us)) {
    return;
  }
  if (fault->by_us == 0 || fault->by_us == DURATION_INFINITE) {
    diagnostics_error(c->diagnostics, item->by->span, "a clock jumps by a duration that is neither 0s nor inf");
  } else if (fault->by_us < 0 && fault->count == COUNT_INFINITE) {
    diagnostics_error(c->diagnostics, item->value->span, "the number of steps backwards must be finite");
  }
}

static void complete_skew(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (compiler_constant_duration(c, item->by, "how far a clock is off", &fault->by_us) &&
      (fault->by_us == 0 || fault->by_us == DURATION_INFINITE)) {
    diagnostics_error(c->diagnostics, item->by->span, "a clock is off by a duration that is neither 0s nor inf");
  }
}

/* A process has one drift, a server one durable copy: `value` is what a fault says of it, 0 nothing. */
static void check_same_as_earlier(Compiler *c, const Fault *fault, const char *message,
                                  int64_t (*value)(const Fault *)) {
  for (int32_t i = 0; i < c->program->fault_count; i++) {
    const Fault *known = &c->program->faults[i];
    bool is_shared = (known->clients & fault->clients) != 0 || (known->servers & fault->servers) != 0;
    if (is_shared && value(known) != 0 && value(known) != value(fault)) {
      diagnostics_error(c->diagnostics, fault->span, "%s", message);
      diagnostics_note(c->diagnostics, known->span, "the first one is here");
      return;
    }
  }
}

static int64_t drift_of(const Fault *fault) {
  return fault->drift_ppm;
}

static int64_t durable_of(const Fault *fault) {
  return fault->durable_us;
}

static void complete_drift(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (item->drift_ppm <= 0 || item->drift_ppm >= DRIFT_PPM_MAX) {
    diagnostics_error(c->diagnostics, item->drift_span, "a drift lies between 0%% and 50%%");
    return;
  }
  fault->drift_ppm = (int32_t)item->drift_ppm;
  check_same_as_earlier(c, fault, "a process has one drift, and this gives some a second one", drift_of);
}

static void complete_suspend(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (fault->hi_us == DURATION_INFINITE) {
    diagnostics_error(c->diagnostics, item->hi->span,
                      "a suspend ends, or its clock would never go on; give it a finite length");
  }
}

static void complete_durable(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (!compiler_constant_duration(c, item->durable, "what a crash loses", &fault->durable_us)) {
    return;
  }
  if (fault->durable_us <= 0 || fault->durable_us == DURATION_INFINITE) {
    diagnostics_error(
        c->diagnostics, item->durable->span,
        "`losing last` takes a duration above 0s and below inf; there are also `losing nothing` and `losing memory`");
    return;
  }
  check_same_as_earlier(c, fault, "a server has one durable copy; say `losing last` with the same duration",
                        durable_of);
}

static void complete_crash(Compiler *c, const ScenarioItem *item, Fault *fault) {
  bool says_losing = item->losing_span.end > 0;
  if (item->lo == NULL) {
    fault->lo_us = fault->hi_us = DURATION_INFINITE;
  }
  fault->memory = item->memory;
  if (fault->servers == 0) {
    if (says_losing) {
      diagnostics_error(c->diagnostics, item->losing_span,
                        "a client that crashes loses its memory anyway; leave this out");
    }
    return;
  }
  fault->kind = FAULT_CRASH_SERVER;
  if (!says_losing) {
    diagnostics_error(c->diagnostics, item->span,
                      "say what the server loses: `crash of %s losing memory`, or `nothing`, or `last 1s`",
                      expr_text(c, item->target));
  } else if (item->durable != NULL) {
    complete_durable(c, item, fault);
  }
}

static void complete_unordered(Compiler *c, const ScenarioItem *item, Fault *fault) {
  (void)fault;
  for (int32_t i = 0; i < c->program->fault_count; i++) {
    if (c->program->faults[i].kind == FAULT_UNORDERED) {
      diagnostics_error(c->diagnostics, item->span, "this scenario says this twice");
      diagnostics_note(c->diagnostics, c->program->faults[i].span, "it is said here, too");
      return;
    }
  }
}

static const struct {
  bool (*find)(Compiler *c, const ScenarioItem *item, Fault *fault);     /* whom it strikes; false after a diagnostic */
  void (*complete)(Compiler *c, const ScenarioItem *item, Fault *fault); /* NULL: nothing else to say */
  const char *window;                                                    /* what its window is, for messages */
  const char *infinite; /* why it cannot strike for ever; NULL: it can */
} rows[FAULT_KIND_COUNT] = {
    [FAULT_LATE] =
        {find_connections, NULL, "how late a message is",
         "the number of late messages must be finite; for any delay at all write `latency 0s..inf` and `network unordered`"},
    [FAULT_LOST] = {find_connections, NULL, NULL, NULL},
    [FAULT_DUPLICATED] = {find_connections, NULL, "how late a copy is",
                          "the number of duplicated messages must be finite"},
    [FAULT_PAUSE] = {find_victims, NULL, "a pause", NULL},
    [FAULT_SUSPEND] = {find_suspended, complete_suspend, "a suspend", NULL},
    [FAULT_STEP] = {find_victims, complete_jump, NULL, NULL},
    [FAULT_SKEW] = {find_victims, complete_skew, NULL, NULL},
    [FAULT_DRIFT] = {find_drifting, complete_drift, NULL, NULL},
    [FAULT_CRASH_CLIENT] = {find_victims, complete_crash, "the way back", NULL},
    [FAULT_CUT] = {find_cut, NULL, "a cut", NULL},
    [FAULT_TRIGGER] = {find_trigger, NULL, NULL, NULL},
    [FAULT_DOWN] = {find_connections, NULL, NULL, NULL},
    [FAULT_UNORDERED] = {find_everybody, complete_unordered, NULL, NULL},
};

static bool fault_count(Compiler *c, const ScenarioItem *item, int32_t *count) {
  *count = 1;
  if (item->value == NULL) {
    return true;
  }
  if (item->value->kind != EXPR_INF) {
    return compiler_number(c, item->value, "the number of faults", 0, 1000, count);
  }
  *count = COUNT_INFINITE;
  if (rows[item->fault].infinite != NULL) {
    diagnostics_error(c->diagnostics, item->value->span, "%s", rows[item->fault].infinite);
  }
  return true;
}

static void add_fault(Compiler *c, const ScenarioItem *item) {
  Fault fault = {.kind = item->fault,
                 .lo_us = 0,
                 .hi_us = DURATION_INFINITE,
                 .task = NO_INDEX,
                 .handler = NO_INDEX,
                 .is_silent = item->is_silent,
                 .span = item->span};
  Window window;
  if (!fault_count(c, item, &fault.count) || !rows[item->fault].find(c, item, &fault) || !check_task(c, item, &fault)) {
    return;
  }
  if (item->lo != NULL) {
    if (!compiler_window(c, item->lo, item->hi, rows[item->fault].window, &window)) {
      return;
    }
    fault.lo_us = window.lo_us;
    fault.hi_us = window.hi_us;
  }
  if (rows[item->fault].complete != NULL) {
    rows[item->fault].complete(c, item, &fault);
  }
  if (c->program->fault_count == FAULTS_MAX) {
    diagnostics_error(c->diagnostics, item->span, "a scenario has at most %d faults", FAULTS_MAX);
  } else if (fault.count > 0) {
    c->program->faults[c->program->fault_count++] = fault;
  }
}

void compile_faults(Compiler *c) {
  c->mode = MODE_NONE;
  c->program->faults = g_new0(Fault, FAULTS_MAX);
  for (int32_t i = 0; c->scenario != NULL && i < c->scenario->item_count && !diagnostics_many(c->diagnostics); i++) {
    if (c->scenario->items[i].kind == ITEM_FAULT) {
      add_fault(c, &c->scenario->items[i]);
    }
  }
}
