#include <string.h>

#include "base/nearest.h"
#include "lang/parser_internal.h"

typedef VEC(ScenarioItem) ItemVec;

typedef struct ItemRow {
  const char *word;
  void (*parse)(Parser *parser, ItemVec *items, Span begin); /* NULL: not supported yet */
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

static ScenarioItem parse_claim(Parser *parser) {
  ScenarioItem item = {.kind = ITEM_EXPECT, .span = parser_token(parser)->span};
  item.is_text = parser_sees(parser, TOKEN_STRING);
  item.name = item.is_text ? parser_string(parser, "a text") : parser_name(parser, "a property after `expect`");
  if (!item.is_text && parser_accept(parser, TOKEN_WITHIN)) {
    item.value = parse_sum(parser);
  }
  if (parser_sees_word(parser, "by")) {
    parser_fail_unsupported(parser, parser_token(parser)->span, "a claim `by` one kind of client");
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

static const ItemRow item_rows[] = {
    {"latency", parse_latency}, {"clients", parse_clients}, {"rounds", parse_rounds}, {"set", parse_set},
    {"expect", parse_expect},   {"down", NULL},             {"network", NULL},        {"skew", NULL},
    {"drift", NULL},            {"detect", NULL},
};

static void parse_starts(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_STARTS};
  parser_expect_word(parser, "starts", "after `client`");
  parse_window(parser, &item);
  push_item(parser, items, item, begin);
}

/* The faults, each with what follows its word. */
static void parse_late(Parser *parser, ScenarioItem *item) {
  parse_to(parser, item);
  if (parser_accept_word(parser, "by")) {
    parse_window(parser, item);
  }
  if (item->target == NULL) {
    parse_to(parser, item);
  }
}

static void parse_victim(Parser *parser, ScenarioItem *item) {
  parser_expect_word(parser, "of", "and whom it strikes");
  item->target = parse_place(parser);
  if (!parser->panicking && parser_sees(parser, TOKEN_DOT)) {
    parser_fail_unsupported(parser, parser_token(parser)->span, "a fault of a single task");
  }
}

static void parse_pause(Parser *parser, ScenarioItem *item) {
  parse_victim(parser, item);
  parser_expect(parser, TOKEN_FOR, "and the length of the pause");
  parse_window(parser, item);
}

static void parse_step(Parser *parser, ScenarioItem *item) {
  parse_victim(parser, item);
  parser_expect_word(parser, "by", "and how far the clock jumps");
  item->by = parse_sum(parser);
}

static void parse_losing(Parser *parser, ScenarioItem *item) {
  item->losing_span = parser_token(parser)->span;
  if (!parser_accept_word(parser, "losing")) {
    return;
  }
  item->losing_span = span_join(item->losing_span, parser_token(parser)->span);
  item->loses_memory = parser_accept_word(parser, "memory");
  if (!item->loses_memory) {
    parser_fail_unsupported(parser, item->losing_span, "a crash that loses anything else than `memory`");
  }
}

static void parse_crash(Parser *parser, ScenarioItem *item) {
  parse_victim(parser, item);
  parse_losing(parser, item);
  bool comma = parser_accept(parser, TOKEN_COMMA);
  if (parser_accept_word(parser, "back")) {
    parser_expect(parser, TOKEN_AFTER, "and a window after `back`");
    parse_window(parser, item);
  } else if (comma) {
    parser_fail(parser, parser_token(parser)->span, "expected `back after a..b` behind the comma");
  }
  if (parser_sees_word(parser, "silent")) {
    parser_fail_unsupported(parser, parser_token(parser)->span, "a `silent` crash");
  }
}

static const struct {
  const char *word;
  FaultKind kind;
  void (*parse)(Parser *parser, ScenarioItem *item); /* NULL: not supported yet */
} fault_rows[] = {
    {"late", FAULT_LATE, parse_late},   {"lost", FAULT_LOST, parse_to},
    {"pause", FAULT_PAUSE, parse_pause}, {"step", FAULT_STEP, parse_step},
    {"crash", FAULT_CRASH_CLIENT, parse_crash}, {"duplicated", FAULT_LATE, NULL},
    {"suspend", FAULT_PAUSE, NULL},     {"cut", FAULT_LOST, NULL},
    {"trigger", FAULT_LOST, NULL},
};

/* Neither a line of a scenario nor a fault: `latncy …` or `5 lates …`. */
static void fail_fault(Parser *parser, const ScenarioItem *item) {
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
  } else if (!parser->panicking) {
    parser_fail(parser, token->span, "expected a fault (late, lost, pause, step or crash) after its count, found %s",
                parser_found(parser));
  }
}

static void parse_fault(Parser *parser, ItemVec *items, Span begin) {
  ScenarioItem item = {.kind = ITEM_FAULT, .value = parse_primary(parser)};
  for (size_t i = 0; i < G_N_ELEMENTS(fault_rows) && !parser->panicking; i++) {
    if (!parser_sees_word(parser, fault_rows[i].word)) {
      continue;
    }
    if (fault_rows[i].parse == NULL) {
      char *what = g_strdup_printf("`%s`", fault_rows[i].word);
      parser_fail_unsupported(parser, parser_token(parser)->span, what);
      g_free(what);
      return;
    }
    parser->at++;
    item.fault = fault_rows[i].kind;
    fault_rows[i].parse(parser, &item);
    push_item(parser, items, item, begin);
    return;
  }
  fail_fault(parser, &item);
}

static void parse_item(Parser *parser, ItemVec *items) {
  const Token *token = parser_token(parser);
  for (size_t i = 0; i < G_N_ELEMENTS(item_rows); i++) {
    if (parser_sees_word(parser, item_rows[i].word)) {
      if (item_rows[i].parse == NULL) {
        char *what = g_strdup_printf("`%s`", item_rows[i].word);
        parser_fail_unsupported(parser, token->span, what);
        g_free(what);
        return;
      }
      parser->at++;
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
                "expected latency, clients, rounds, set, expect, `client starts` or a fault with its count, found %s",
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
