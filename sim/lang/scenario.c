#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

static const char *const properties[] = {"mutual_exclusion", "fencing",     "lost_update", "owner_release",
                                         "deadlock",         "token_order", "obtainable",  "all"};

/* The servers that `to SERVER` names: a bit set; all of them when nothing is said. */
static bool servers_of(Compiler *c, const Expr *target, uint32_t *servers) {
  Constant value;
  int32_t count = c->program->server_count;
  *servers = count == 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1;
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
  *servers = 0;
  for (int32_t i = 0; i < value.count; i++) {
    *servers |= UINT32_C(1) << (value.value + i);
  }
  return true;
}

static bool victims_of(Compiler *c, const ScenarioItem *item, Fault *fault) {
  Constant value;
  if (!compiler_constant(c, item->target, "whom a fault strikes", &value)) {
    return false;
  }
  if (value.sort == SORT_SERVER) {
    return servers_of(c, item->target, &fault->servers);
  }
  if (value.sort != SORT_CLIENT) {
    diagnostics_error(c->diagnostics, item->target->span, "'%s' is neither a client nor a server", expr_text(c, item->target));
    return false;
  }
  for (int32_t i = 0; i < value.count; i++) {
    fault->clients |= UINT32_C(1) << (value.value + i);
  }
  return true;
}

static void set_latency(Compiler *c, const ScenarioItem *item) {
  Window window;
  uint32_t servers;
  if (!compiler_window(c, item->lo, item->hi, "a latency", &window) || !servers_of(c, item->target, &servers)) {
    return;
  }
  for (int32_t i = 0; i < c->program->server_count; i++) {
    if (servers >> i & 1) {
      c->program->latency[i] = window;
    }
  }
}

static void complete_crash(Compiler *c, const ScenarioItem *item, Fault *fault) {
  if (fault->servers != 0) {
    fault->kind = FAULT_CRASH_SERVER;
    if (!item->loses_memory) {
      diagnostics_error(c->diagnostics, item->span, "say what the server loses: `crash of %s losing memory`",
                        expr_text(c, item->target));
    }
  } else if (item->loses_memory) {
    diagnostics_error(c->diagnostics, item->losing_span, "a client that crashes loses its memory anyway; leave this out");
  }
  if (item->lo == NULL) {
    fault->lo_us = fault->hi_us = DURATION_INFINITE;
  }
}

static void check_fault(Compiler *c, const ScenarioItem *item, const Fault *fault) {
  if (fault->kind == FAULT_LATE && fault->count == COUNT_INFINITE) {
    diagnostics_error(c->diagnostics, item->value->span,
                      "the number of late messages must be finite; for any delay at all write `latency 0s..inf`");
  }
  if (fault->kind == FAULT_PAUSE && fault->servers != 0) {
    diagnostics_error(c->diagnostics, item->target->span, "a pause of a server is not supported yet");
  }
  if (fault->kind == FAULT_STEP && fault->by_us < 0 && fault->count == COUNT_INFINITE) {
    diagnostics_error(c->diagnostics, item->value->span, "the number of steps backwards must be finite");
  }
  if (fault->kind == FAULT_STEP && (fault->by_us == 0 || fault->by_us == DURATION_INFINITE)) {
    diagnostics_error(c->diagnostics, item->by->span, "a clock jumps by a duration that is neither 0s nor inf");
  }
}

static bool fault_count(Compiler *c, const Expr *expr, int32_t *count) {
  if (expr->kind == EXPR_INF) {
    *count = COUNT_INFINITE;
    return true;
  }
  return compiler_number(c, expr, "the number of faults", 0, 1000, count);
}

static void add_fault(Compiler *c, const ScenarioItem *item) {
  Fault fault = {.kind = item->fault, .lo_us = 0, .hi_us = DURATION_INFINITE, .task = NO_INDEX, .span = item->span};
  Window window;
  bool is_message = item->fault == FAULT_LATE || item->fault == FAULT_LOST;
  if (!fault_count(c, item->value, &fault.count) ||
      !(is_message ? servers_of(c, item->target, &fault.servers) : victims_of(c, item, &fault))) {
    return;
  }
  if (item->lo != NULL) {
    if (!compiler_window(c, item->lo, item->hi, "a window", &window)) {
      return;
    }
    fault.lo_us = window.lo_us;
    fault.hi_us = window.hi_us;
  }
  if (item->by != NULL && !compiler_constant_duration(c, item->by, "how far a clock jumps", &fault.by_us)) {
    return;
  }
  if (fault.kind == FAULT_CRASH_CLIENT) {
    complete_crash(c, item, &fault);
  }
  check_fault(c, item, &fault);
  /* A fault that names some instances of a kind, but not all, tells them apart. */
  for (int32_t k = 0; k < c->program->kind_count; k++) {
    const ClientKind *kind = &c->program->kinds[k];
    uint32_t all = ((UINT32_C(1) << kind->count) - 1) << kind->first;
    if ((fault.clients & all) != 0 && (fault.clients & all) != all) {
      compiler_break_symmetry(c, k, item->target->span);
    }
  }
  if (fault.count > 0) {
    c->program->faults[c->program->fault_count++] = fault;
  }
}

/* Expectations */

static bool is_known_property(Compiler *c, const ScenarioItem *item) {
  NameList names = {0};
  bool found = false;
  const char *quote = item->is_text ? "\"" : "'";
  if (item->is_text) {
    for (int32_t i = 0; i < c->decl->never_count; i++) {
      vec_push(&names, c->decl->nevers[i].text.text);
    }
  } else {
    for (size_t i = 0; i < G_N_ELEMENTS(properties); i++) {
      vec_push(&names, properties[i]);
    }
  }
  for (uint32_t i = 0; i < names.count; i++) {
    found = found || strcmp(names.items[i], item->name.text) == 0;
  }
  if (!found) {
    const char *nearest = diagnostics_many(c->diagnostics) ? NULL : nearest_find(item->name.text, names.items, names.count);
    const char *what = item->is_text ? "no `never` has the text" : "unknown property";
    if (nearest != NULL) {
      diagnostics_error(c->diagnostics, item->name.span, "%s %s%s%s; did you mean %s%s%s?", what, quote, item->name.text, quote,
                        quote, nearest, quote);
    } else {
      diagnostics_error(c->diagnostics, item->name.span, "%s %s%s%s", what, quote, item->name.text, quote);
    }
  }
  vec_free(&names);
  return found;
}

static bool is_repeated(Compiler *c, const ScenarioItem *item) {
  for (int32_t i = 0; i < c->program->expectation_count; i++) {
    const Expectation *known = &c->program->expectations[i];
    if (known->is_never == item->is_text && strcmp(known->property, item->name.text) == 0) {
      diagnostics_error(c->diagnostics, item->span, "this scenario says twice what it expects of %s", item->name.text);
      diagnostics_note(c->diagnostics, known->span, "it is said here, too");
      return true;
    }
  }
  return false;
}

static void add_expectation(Compiler *c, const ScenarioItem *item) {
  if (!is_known_property(c, item) || is_repeated(c, item)) {
    return;
  }
  bool is_obtainable = !item->is_text && strcmp(item->name.text, "obtainable") == 0;
  int64_t within_us = 0;
  if (is_obtainable != (item->value != NULL)) {
    diagnostics_error(c->diagnostics, item->span, is_obtainable ? "say how long it may take: `obtainable within 30s holds`"
                                                                : "only `obtainable` has a bound");
    return;
  }
  if (item->value != NULL && !compiler_constant_duration(c, item->value, "the bound of `obtainable`", &within_us)) {
    return;
  }
  if (!item->is_text && strcmp(item->name.text, "all") == 0 && !item->holds) {
    diagnostics_error(c->diagnostics, item->span, "name the properties that are broken; `all` can only hold");
    return;
  }
  c->program->expectations[c->program->expectation_count++] =
      (Expectation){.property = g_strdup(item->name.text), .is_never = item->is_text, .holds = item->holds, .obtainable = NO_INDEX,
                    .within_us = within_us, .span = item->span};
}

static void add_item(Compiler *c, const ScenarioItem *item) {
  Program *program = c->program;
  switch (item->kind) {
  case ITEM_LATENCY:
    set_latency(c, item);
    break;
  case ITEM_STARTS:
    program->client_starts_given = compiler_window(c, item->lo, item->hi, "the start of a client", &program->client_starts);
    break;
  case ITEM_FAULT:
    add_fault(c, item);
    break;
  case ITEM_ROUNDS:
    compiler_number(c, item->value, "the number of rounds", 1, 1000000, &program->rounds);
    break;
  case ITEM_EXPECT:
    add_expectation(c, item);
    break;
  case ITEM_CLIENTS:
  case ITEM_SET:
    break; /* resolve.c reads them before anything else */
  }
}

void compile_scenario(Compiler *c) {
  Program *program = c->program;
  int32_t count = c->scenario == NULL ? 0 : c->scenario->item_count;
  program->client_starts = (Window){0, DURATION_INFINITE};
  program->faults = g_new0(Fault, (size_t)count + 1);
  program->expectations = g_new0(Expectation, (size_t)count + 1);
  /* The general latency first, then that of single servers, in whatever order they are written. */
  for (int32_t i = 0; i < count; i++) {
    const ScenarioItem *item = &c->scenario->items[i];
    if (item->kind != ITEM_LATENCY || item->target == NULL) {
      add_item(c, item);
    }
  }
  for (int32_t i = 0; i < count; i++) {
    const ScenarioItem *item = &c->scenario->items[i];
    if (item->kind == ITEM_LATENCY && item->target != NULL) {
      set_latency(c, item);
    }
  }
}
