#include <string.h>

#include "base/nearest.h"
#include "lang/parser_internal.h"

typedef VEC(ScenarioItem) ItemVec;

typedef struct ItemRow {
  const char *word;
  void (*parse)(Parser *parser, ItemVec *items, Span begin);
} ItemRow;

static void push_item(Parser *parser, ItemVec *items, ScenarioItem item, Span begin) {
  item.span = span_join(begin, parser_previous_span(parser));
  if (!parser->panicking) {
    vec_push(items, item);
  }
}

static void parse_window(Parser *parser, ScenarioItem *item) {
  item->lo = parse_sum(parser);
  item->hi = parser_accept(parser, TOKEN_DOT_DOT) ? parse_sum(parser) : item->lo;
}

static void parse_to(Parser *parser, ScenarioItem *item) {
  if (parser_accept_word(parser, "to")) {
    item->target = parse_place(parser);
  }
}

static void parse_latency(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_LATENCY};
  parse_window(parser, &item);
  parse_to(parser, &item);
  push_item(parser, items, item, begin);
}

static void parse_clients(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_CLIENTS, .value = parse_sum(parser)};
  push_item(parser, items, item, begin);
}

static void parse_rounds(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_ROUNDS, .value = parse_sum(parser)};
  push_item(parser, items, item, begin);
}

static void parse_set(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_SET, .name = parser_name(parser, "the name of a parameter after `set`")};
  parser_expect(parser, TOKEN_ASSIGN, "after the name of the parameter");
  item.value = parse_sum(parser);
  push_item(parser, items, item, begin);
}

/* obtainable by KIND within d */
static void parse_bound(Parser *parser, ScenarioItem *item) {
  if (parser_accept_word(parser, "by")) {
    const Token *token = parser_token(parser);
    bool is_client = parser_accept(parser, TOKEN_CLIENT);
    item->kind_name = is_client ? (Name){"client", token->span} : parser_name(parser, "a kind of client after `by`");
  }
  if (parser_accept(parser, TOKEN_WITHIN)) {
    item->value = parse_sum(parser);
  }
  if (parser_sees_word(parser, "by")) {
    parser_fail(parser, parser_token(parser)->span, "the kind of client comes first: `obtainable by KIND within 30s`");
  }
}

static ScenarioItem parse_claim(Parser *parser) {
  ScenarioItem item = {.kind = ITEM_EXPECT, .span = parser_token(parser)->span};
  item.is_text = parser_sees(parser, TOKEN_STRING);
  item.name = item.is_text ? parser_string(parser, "a text") : parser_name(parser, "a property after `expect`");
  if (!item.is_text) {
    parse_bound(parser, &item);
  }
  item.span = span_join(item.span, parser_previous_span(parser));
  return item;
}

/* expect P, Q holds, R broken */
static void parse_expect(Parser *parser, ItemVec *items, Span begin) {
  (void)begin;
  uint32_t waiting = items->count; /* the first claim that has no verdict yet */
  do {
    ScenarioItem item = parse_claim(parser);
    if (parser->panicking) {
      return;
    }
    vec_push(items, item);
    bool holds = parser_sees_word(parser, "holds");
    if (holds || parser_sees_word(parser, "broken")) {
      parser->at++;
      for (; waiting < items->count; waiting++) {
        items->items[waiting].holds = holds;
      }
    }
  } while (parser_accept(parser, TOKEN_COMMA));
  if (waiting < items->count) {
    parser_fail(parser, items->items[items->count - 1].span, "say whether it `holds` or is `broken`");
  }
}

static void parse_detect(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_DETECT};
  parse_window(parser, &item);
  push_item(parser, items, item, begin);
}

static void parse_starts(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_STARTS};
  parser_expect_word(parser, "starts", "after `client`");
  parse_window(parser, &item);
  push_item(parser, items, item, begin);
}

/* Whom a fault strikes: a place, or client.TASK. */
static void parse_victim(Parser *parser, ScenarioItem *item) {
  item->target = parse_place(parser);
  if (parser_accept(parser, TOKEN_DOT)) {
    item->task = parser_name(parser, "the name of a task after `.`");
  }
}

static void parse_of_victim(Parser *parser, ScenarioItem *item) {
  parser_expect_word(parser, "of", "and whom it strikes");
  parse_victim(parser, item);
}

/* Faults without a count: they are there from the beginning to the end. */
static void parse_network(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_FAULT, .fault = FAULT_UNORDERED};
  parser_expect_word(parser, "unordered", "after `network`");
  push_item(parser, items, item, begin);
}

static void parse_down(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_FAULT, .fault = FAULT_DOWN};
  parse_victim(parser, &item);
  item.is_silent = parser_accept_word(parser, "silent");
  push_item(parser, items, item, begin);
}

static void parse_skew(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_FAULT, .fault = FAULT_SKEW};
  if (parser_sees_word(parser, "of")) {
    parser_fail(parser, parser_token(parser)->span, "leave out the `of`: `skew client by 1s`");
  }
  parse_victim(parser, &item);
  parser_expect_word(parser, "by", "and how far its clock is off");
  item.by = parse_sum(parser);
  push_item(parser, items, item, begin);
}

/* 1%, 0.5% or 100ppm */
static void parse_rate(Parser *parser, ScenarioItem *item) {
  const Token *token = parser_token(parser);
  if (parser_accept(parser, TOKEN_PPM)) {
    item->drift_ppm = token->value;
  } else if (parser_accept(parser, TOKEN_NUMBER)) {
    item->drift_ppm = token->value * 10000;
    parser_expect(parser, TOKEN_PERCENT, "after the number, as in `drift 1%`");
  } else {
    parser_fail(parser, token->span, "expected how far clocks drift, such as 1%%, 0.5%% or 100ppm, found %s",
                parser_found(parser));
  }
  item->drift_span = span_join(token->span, parser_previous_span(parser));
}

static void parse_drift(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_FAULT, .fault = FAULT_DRIFT};
  parse_rate(parser, &item);
  if (parser_accept_word(parser, "of")) {
    parse_victim(parser, &item);
  }
  push_item(parser, items, item, begin);
}

static const ItemRow item_rows[] = {
    {"latency", parse_latency}, {"clients", parse_clients}, {"rounds", parse_rounds},   {"set", parse_set},
    {"expect", parse_expect},   {"down", parse_down},       {"network", parse_network}, {"skew", parse_skew},
    {"drift", parse_drift},     {"detect", parse_detect},
};

/* Faults with a count, each with what follows its word. */
static void parse_late(Parser *parser, ScenarioItem *item) {
  parse_to(parser, item);
  if (parser_accept_word(parser, "by")) {
    parse_window(parser, item);
  }
  if (item->target == NULL) {
    parse_to(parser, item);
  }
}

static void parse_pause(Parser *parser, ScenarioItem *item) {
  parse_of_victim(parser, item);
  parser_expect(parser, TOKEN_FOR, "and how long it lasts");
  parse_window(parser, item);
}

static void parse_step(Parser *parser, ScenarioItem *item) {
  parse_of_victim(parser, item);
  parser_expect_word(parser, "by", "and how far the clock jumps");
  item->by = parse_sum(parser);
}

static void parse_losing(Parser *parser, ScenarioItem *item) {
  Span begin = parser_token(parser)->span;
  if (!parser_accept_word(parser, "losing")) {
    return;
  }
  if (parser_accept_word(parser, "memory")) {
    item->memory = MEMORY_LOST;
  } else if (parser_accept_word(parser, "nothing")) {
    item->memory = MEMORY_KEPT;
  } else if (parser_accept_word(parser, "last")) {
    item->memory = MEMORY_DURABLE;
    item->durable = parse_sum(parser);
  } else if (!parser->panicking) {
    parser_fail(parser, parser_token(parser)->span,
                "a server loses `memory`, `nothing` or `last 1s` (what it wrote in the last second), "
                "not %s",
                parser_found(parser));
  }
  item->losing_span = span_join(begin, parser_previous_span(parser));
}

static void parse_crash(Parser *parser, ScenarioItem *item) {
  parse_of_victim(parser, item);
  parse_losing(parser, item);
  bool comma = parser_accept(parser, TOKEN_COMMA);
  if (parser_accept_word(parser, "back")) {
    parser_expect(parser, TOKEN_AFTER, "and a window after `back`");
    parse_window(parser, item);
    comma = parser_accept(parser, TOKEN_COMMA);
  }
  item->is_silent = parser_accept_word(parser, "silent");
  if (comma && !item->is_silent) {
    parser_fail(parser, parser_token(parser)->span, "expected `%s` behind the comma",
                item->lo == NULL ? "back after a..b" : "silent");
  }
}

static void parse_cut(Parser *parser, ScenarioItem *item) {
  parse_of_victim(parser, item);
  parser_expect_word(parser, "from", "and the server that it is cut from");
  item->from = parse_place(parser);
  parser_expect(parser, TOKEN_FOR, "and how long it lasts");
  parse_window(parser, item);
}

static void parse_trigger(Parser *parser, ScenarioItem *item) {
  Call *call = ast_allocate(parser->input.ast, sizeof *call);
  parser_expect_word(parser, "of", "and what is called: `trigger of SERVER.handler()`");
  Span begin = parser_token(parser)->span;
  call->target = parse_place(parser);
  parser_expect(parser, TOKEN_DOT, "between the server and its handler");
  call->handler = parser_name(parser, "the name of a handler after `.`");
  ExprVec args = parse_arguments(parser);
  call->arg_count = (int32_t)args.count;
  call->args = parser_exprs_copy(parser, &args);
  call->span = span_join(begin, parser_previous_span(parser));
  item->target = call->target;
  item->call = call;
}

static const struct {
  const char *word;
  FaultKind kind;
  void (*parse)(Parser *parser, ScenarioItem *item);
} fault_rows[] = {
    {"late", FAULT_LATE, parse_late},
    {"lost", FAULT_LOST, parse_to},
    {"duplicated", FAULT_DUPLICATED, parse_late},
    {"pause", FAULT_PAUSE, parse_pause},
    {"suspend", FAULT_SUSPEND, parse_pause},
    {"step", FAULT_STEP, parse_step},
    {"crash", FAULT_CRASH_CLIENT, parse_crash},
    {"cut", FAULT_CUT, parse_cut},
    {"trigger", FAULT_TRIGGER, parse_trigger},
};

static bool is_item_word(const char *word) {
  for (size_t i = 0; i < G_N_ELEMENTS(item_rows); i++) {
    if (strcmp(word, item_rows[i].word) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_fault_word(const char *word) {
  for (size_t i = 0; i < G_N_ELEMENTS(fault_rows); i++) {
    if (strcmp(word, fault_rows[i].word) == 0) {
      return true;
    }
  }
  return false;
}

/* `pause of client …` without a count, `1 skew …` with one. True if that was it. */
static bool fail_count(Parser *parser, const ScenarioItem *item) {
  const Token *token = parser_token(parser);
  if (item->value->kind == EXPR_NAME && is_fault_word(item->value->name.text)) {
    parser_fail(parser, item->value->span, "a fault begins with how often it may strike: `1 %s …`",
                item->value->name.text);
  } else if (token->kind == TOKEN_NAME && !token->first_of_line && is_item_word(parser_token_text(parser, token))) {
    parser_fail(parser, item->value->span, "`%s` has no count; leave this out", parser_token_text(parser, token));
  }
  return parser->panicking;
}

/* Neither a line of a scenario nor a fault: `latncy …` or `5 lates …`. */
static void fail_fault(Parser *parser, const ScenarioItem *item) {
  if (fail_count(parser, item)) {
    return;
  }
  const char *words[G_N_ELEMENTS(item_rows) + G_N_ELEMENTS(fault_rows)];
  bool is_word = item->value->kind == EXPR_NAME;
  uint32_t count = 0;
  for (size_t i = 0; is_word && i < G_N_ELEMENTS(item_rows); i++) {
    words[count++] = item_rows[i].word;
  }
  for (size_t i = 0; !is_word && i < G_N_ELEMENTS(fault_rows); i++) {
    words[count++] = fault_rows[i].word;
  }
  const Token *token = parser_token(parser);
  const char *said = is_word ? item->value->name.text : parser_token_text(parser, token);
  const char *nearest = nearest_find(said, words, count);
  Span span = is_word ? item->value->span : token->span;
  if (nearest != NULL) {
    parser_fail(parser, span, "unknown word '%s'; did you mean '%s'?", said, nearest);
  } else {
    parser_fail(
        parser, token->span,
        "expected a fault (late, lost, duplicated, pause, suspend, step, crash, cut or trigger) after its count, found %s",
        parser_found(parser));
  }
}

static void parse_fault(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_FAULT, .value = parse_primary(parser)};
  for (size_t i = 0; i < G_N_ELEMENTS(fault_rows) && !parser->panicking; i++) {
    if (parser_accept_word(parser, fault_rows[i].word)) {
      item.fault = fault_rows[i].kind;
      fault_rows[i].parse(parser, &item);
      push_item(parser, items, item, begin);
      return;
    }
  }
  if (!parser->panicking) {
    fail_fault(parser, &item);
  }
}

static void parse_item(Parser *parser, ItemVec *items) {
  const Token *token = parser_token(parser);
  for (size_t i = 0; i < G_N_ELEMENTS(item_rows); i++) {
    if (parser_accept_word(parser, item_rows[i].word)) {
      item_rows[i].parse(parser, items, token->span);
      return;
    }
  }
  if (parser_accept(parser, TOKEN_CLIENT)) {
    parse_starts(parser, items, token->span);
  } else if (token->kind == TOKEN_NUMBER || token->kind == TOKEN_INF || token->kind == TOKEN_NAME ||
             token->kind == TOKEN_OPEN_PAREN) {
    parse_fault(parser, items, token->span);
  } else {
    parser_fail(parser, token->span,
                "expected latency, clients, rounds, set, expect, `client starts`, detect or a fault, found %s",
                token_kind_name(token->kind));
  }
}

ScenarioDecl *parse_scenario(Parser *parser) {
  ScenarioDecl *scenario = ast_allocate(parser->input.ast, sizeof *scenario);
  scenario->name = parser_name(parser, "the name of the scenario");
  scenario->text = parser_optional_string(parser);
  if (!parser_expect(parser, TOKEN_OPEN_BRACE, "to begin the scenario")) {
    return scenario;
  }
  ItemVec items = {0};
  while (!parser_sees(parser, TOKEN_CLOSE_BRACE) && !parser_sees(parser, TOKEN_END)) {
    uint32_t start = parser->at;
    if (!parser_accept(parser, TOKEN_SEMICOLON)) {
      parse_item(parser, &items);
    }
    parser_recover(parser, start);
  }
  parser_expect(parser, TOKEN_CLOSE_BRACE, "at the end of the scenario");
  scenario->item_count = (int32_t)items.count;
  scenario->items = ast_copy(parser->input.ast, items.items, items.count * sizeof *items.items);
  vec_free(&items);
  return scenario;
}
