#include <string.h>

#include "base/check.h"
#include "lang/compiler.h"

static const char *const properties[] = {"mutual_exclusion", "fencing",     "lost_update", "owner_release",
                                         "deadlock",         "token_order", "obtainable",  "all"};

static void set_latency(Compiler *c, const ScenarioItem *item) {
  Window window;
  uint32_t servers;
  if (!compiler_window(c, item->lo, item->hi, "a latency", &window) || !fault_servers(c, item->target, &servers)) {
    return;
  }
  for (int32_t i = 0; i < c->program->server_count; i++) {
    if (servers >> i & 1) {
      c->program->latency[i] = window;
    }
  }
}

/* Expectations */

static bool is_known_property(Compiler *c, const ScenarioItem *item) {
  NameList names = {0};
  bool found = false;
  const char *quote = item->is_text ? "\"" : "'";
  for (int32_t i = 0; item->is_text && i < c->decl->never_count; i++) {
    vec_push(&names, c->decl->nevers[i].text.text);
  }
  for (int32_t i = 0; item->is_text && i < c->program->assertion_count; i++) {
    vec_push(&names, (const char *)c->program->assertions[i].text);
  }
  for (size_t i = 0; !item->is_text && i < G_N_ELEMENTS(properties); i++) {
    vec_push(&names, properties[i]);
  }
  for (uint32_t i = 0; i < names.count; i++) {
    found = found || strcmp(names.items[i], item->name.text) == 0;
  }
  if (!found) {
    const char *nearest =
        diagnostics_many(c->diagnostics) ? NULL : nearest_find(item->name.text, names.items, names.count);
    const char *what = item->is_text ? "no `never` or `assert` has the text" : "unknown property";
    if (nearest != NULL) {
      diagnostics_error(c->diagnostics, item->name.span, "%s %s%s%s; did you mean %s%s%s?", what, quote,
                        item->name.text, quote, quote, nearest, quote);
    } else {
      diagnostics_error(c->diagnostics, item->name.span, "%s %s%s%s", what, quote, item->name.text, quote);
    }
  }
  vec_free(&names);
  return found;
}

/* The same claim is made already; of `obtainable`, several with different bounds may be made. */
static bool is_repeated(Compiler *c, const ScenarioItem *item, const Expectation *claim, int32_t kind) {
  const Program *program = c->program;
  for (int32_t i = 0; i < program->expectation_count; i++) {
    const Expectation *known = &program->expectations[i];
    const Obtainable *bound = known->obtainable == NO_INDEX ? NULL : &program->obtainables[known->obtainable];
    bool is_same = known->is_never == claim->is_never && strcmp(known->property, item->name.text) == 0 &&
                   (bound == NULL || (bound->kind == kind && bound->within_us == claim->within_us));
    if (is_same) {
      diagnostics_error(c->diagnostics, item->span, "this scenario says twice what it expects of %s", item->name.text);
      diagnostics_note(c->diagnostics, known->span, "it is said here, too");
      return true;
    }
  }
  return false;
}

static bool kind_named(Compiler *c, Name name, int32_t *kind) {
  NameList names = {0};
  *kind = NO_INDEX;
  for (int32_t k = 0; k < c->program->kind_count; k++) {
    vec_push(&names, (const char *)c->program->kinds[k].name);
    *kind = strcmp(c->program->kinds[k].name, name.text) == 0 ? k : *kind;
  }
  if (*kind == NO_INDEX) {
    const char *nearest = nearest_find(name.text, names.items, names.count);
    diagnostics_error(c->diagnostics, name.span,
                      nearest == NULL ? "the model has no kind of client '%s'"
                                      : "the model has no kind of client '%s'; did you mean '%s'?",
                      name.text, nearest);
  }
  vec_free(&names);
  return *kind != NO_INDEX;
}

/* obtainable [by KIND] within d */
static bool resolve_bound(Compiler *c, const ScenarioItem *item, int32_t *kind, int64_t *within_us) {
  *kind = NO_INDEX;
  if (item->value == NULL) {
    diagnostics_error(c->diagnostics, item->span, "say how long it may take: `obtainable within 30s holds`");
    return false;
  }
  if (item->kind_name.text != NULL && !kind_named(c, item->kind_name, kind)) {
    return false;
  }
  if (!compiler_constant_duration(c, item->value, "the bound of `obtainable`", within_us)) {
    return false;
  }
  if (*within_us <= 0 || *within_us == DURATION_INFINITE) {
    diagnostics_error(c->diagnostics, item->value->span, "the bound of `obtainable` lies between 0s and inf");
    return false;
  }
  if (*kind != NO_INDEX && !c->program->kinds[*kind].enters) {
    diagnostics_error(c->diagnostics, item->kind_name.span, "the program of '%s' has no critical section",
                      item->kind_name.text);
    return false;
  }
  return true;
}

static bool has_fence(const Compiler *c) {
  for (int32_t i = 0; i < c->program->critical_count; i++) {
    if (c->program->criticals[i].has_fence) {
      return true;
    }
  }
  return false;
}

static bool check_claim(Compiler *c, const ScenarioItem *item) {
  if (item->value != NULL || item->kind_name.text != NULL) {
    diagnostics_error(c->diagnostics, item->span, "only `obtainable` has a bound");
  } else if (!item->is_text && strcmp(item->name.text, "all") == 0 && !item->holds) {
    diagnostics_error(c->diagnostics, item->span, "name the properties that are broken; `all` can only hold");
  } else if (!item->is_text && strcmp(item->name.text, "token_order") == 0 && !has_fence(c)) {
    diagnostics_error(c->diagnostics, item->span,
                      "no section of this model has a fence; write `critical fence t { … }`");
  } else {
    return true;
  }
  return false;
}

static void add_expectation(Compiler *c, const ScenarioItem *item) {
  Program *program = c->program;
  bool is_obtainable = !item->is_text && strcmp(item->name.text, "obtainable") == 0;
  Expectation claim = {.is_never = item->is_text, .holds = item->holds, .obtainable = NO_INDEX, .span = item->span};
  int32_t kind = NO_INDEX;
  if (!is_known_property(c, item) ||
      !(is_obtainable ? resolve_bound(c, item, &kind, &claim.within_us) : check_claim(c, item)) ||
      is_repeated(c, item, &claim, kind)) {
    return;
  }
  if (is_obtainable) {
    claim.obtainable = program->obtainable_count;
    program->obtainables[program->obtainable_count++] = (Obtainable){kind, claim.within_us, item->span};
  }
  claim.property = g_strdup(item->name.text);
  program->expectations[program->expectation_count++] = claim;
}

static void add_item(Compiler *c, const ScenarioItem *item) {
  Program *program = c->program;
  switch (item->kind) {
  case ITEM_LATENCY: set_latency(c, item); break;
  case ITEM_STARTS:
    program->client_starts_given =
        compiler_window(c, item->lo, item->hi, "the start of a client", &program->client_starts);
    break;
  case ITEM_DETECT: compiler_window(c, item->lo, item->hi, "the window of `detect`", &program->detect); break;
  case ITEM_ROUNDS: compiler_number(c, item->value, "the number of rounds", 1, 1000000, &program->rounds); break;
  case ITEM_EXPECT: add_expectation(c, item); break;
  case ITEM_CLIENTS:
  case ITEM_SET: break;   /* resolve.c reads them before anything else */
  case ITEM_FAULT: break; /* fault.c has compiled them before the services, since a trigger is a call */
  }
}

/* A line that says something about the whole scenario: it would overwrite the first. */
static bool is_single(const ScenarioItem *item) {
  return (item->kind == ITEM_LATENCY && item->target == NULL) || item->kind == ITEM_STARTS ||
         item->kind == ITEM_DETECT || item->kind == ITEM_CLIENTS || item->kind == ITEM_ROUNDS;
}

static void check_said_once(Compiler *c, const ScenarioItem *item) {
  for (const ScenarioItem *first = c->scenario->items; is_single(item) && first < item; first++) {
    if (first->kind == item->kind && is_single(first)) {
      diagnostics_error(c->diagnostics, item->span, "this scenario says this twice");
      diagnostics_note(c->diagnostics, first->span, "it is said here, too");
      return;
    }
  }
}

void compile_scenario(Compiler *c) {
  Program *program = c->program;
  int32_t count = c->scenario == NULL ? 0 : c->scenario->item_count;
  compile_faults_of_tasks(c);
  program->client_starts = (Window){0, DURATION_INFINITE};
  program->obtainables = g_new0(Obtainable, (size_t)count + 1);
  program->expectations = g_new0(Expectation, (size_t)count + 1);
  /* The general latency first, then that of single servers, in whatever order they are written. */
  for (int32_t i = 0; i < count; i++) {
    const ScenarioItem *item = &c->scenario->items[i];
    check_said_once(c, item);
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
