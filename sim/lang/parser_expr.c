#include <string.h>

#include "lang/parser_internal.h"

#define COMPARISON_LEVEL 3
#define SUM_LEVEL 4

/* The one table of precedences: a higher level binds tighter. */
static const struct {
  TokenKind token;
  BinaryOp op;
  int level;
} binaries[] = {
    {TOKEN_OR, BINARY_OR, 1},        {TOKEN_AND, BINARY_AND, 2},          {TOKEN_EQUAL, BINARY_EQ, 3},
    {TOKEN_NOT_EQUAL, BINARY_NE, 3}, {TOKEN_LESS, BINARY_LT, 3},          {TOKEN_LESS_EQUAL, BINARY_LE, 3},
    {TOKEN_GREATER, BINARY_GT, 3},   {TOKEN_GREATER_EQUAL, BINARY_GE, 3}, {TOKEN_PLUS, BINARY_ADD, 4},
    {TOKEN_MINUS, BINARY_SUB, 4},    {TOKEN_STAR, BINARY_MUL, 5},         {TOKEN_SLASH, BINARY_DIV, 5},
    {TOKEN_PERCENT, BINARY_MOD, 5},
};

/* Values of one token. */
static const struct {
  TokenKind token;
  ExprKind kind;
  int64_t number;
} atoms[] = {
    {TOKEN_TRUE, EXPR_BOOL, 1},     {TOKEN_FALSE, EXPR_BOOL, 0}, {TOKEN_NONE, EXPR_NONE, 0},
    {TOKEN_FRESH, EXPR_FRESH, 0},   {TOKEN_NOW, EXPR_NOW, 0},    {TOKEN_ME, EXPR_ME, 0},
    {TOKEN_CALLER, EXPR_CALLER, 0}, {TOKEN_INF, EXPR_INF, 0},
};

static const char *const quantifiers[] = {"count", "any", "all", "min", "max"};

static Expr *parse_level(Parser *parser, int level);

static void note_child(Parser *parser, Expr *expr, const Expr *child) {
  if (child == NULL) {
    return;
  }
  expr->has_age = expr->has_age || child->has_age;
  expr->has_ask = expr->has_ask || child->has_ask;
  if (child->depth + 1 > expr->depth) {
    expr->depth = child->depth + 1;
  }
  if (expr->depth > AST_DEPTH_MAX) {
    parser_fail(parser, expr->span, "this expression is nested too deeply (more than %d levels)", AST_DEPTH_MAX);
  }
}

static Expr *make(Parser *parser, ExprKind kind, Span span, Expr *left, Expr *right, Expr *third) {
  Expr *expr = ast_allocate(parser->input.ast, sizeof *expr);
  *expr = (Expr){.kind = kind, .span = span, .left = left, .right = right, .third = third};
  expr->has_age = kind == EXPR_AGE;
  note_child(parser, expr, left);
  note_child(parser, expr, right);
  note_child(parser, expr, third);
  return expr;
}

static Expr *make_nothing(Parser *parser) {
  return make(parser, EXPR_NONE, parser_token(parser)->span, NULL, NULL, NULL);
}

static Expr *parse_number(Parser *parser, ExprKind kind) {
  const Token *token = parser_token(parser);
  Expr *expr = make(parser, kind, token->span, NULL, NULL, NULL);
  expr->number = token->value;
  parser->at++;
  return expr;
}

static Expr *parse_quantifier(Parser *parser, Quantifier quantifier) {
  Span begin = parser_token(parser)->span;
  parser->at += 2; /* the word and the parenthesis */
  Name name = parser_name(parser, "the name of the quantified variable");
  parser_expect(parser, TOKEN_IN, "after the quantified variable");
  Expr *domain = parse_sum(parser), *high = NULL;
  if (parser_accept(parser, TOKEN_DOT_DOT)) {
    high = parse_sum(parser);
  }
  parser_expect(parser, TOKEN_COLON, "after what is quantified over");
  Expr *body = parse_expr(parser);
  parser_expect(parser, TOKEN_CLOSE_PAREN, "at the end of the quantifier");
  Expr *expr = make(parser, EXPR_QUANTIFIER, span_join(begin, parser_previous_span(parser)), domain, body, high);
  expr->quantifier = quantifier;
  expr->name = name;
  return expr;
}

static Expr *parse_age(Parser *parser) {
  Span begin = parser_token(parser)->span;
  parser->at++;
  parser_expect(parser, TOKEN_OPEN_PAREN, "after `age`");
  Expr *stamp = parse_expr(parser);
  parser_expect(parser, TOKEN_CLOSE_PAREN, "after the stamp");
  return make(parser, EXPR_AGE, span_join(begin, parser_previous_span(parser)), stamp, NULL, NULL);
}

static Expr *parse_parenthesis(Parser *parser) {
  Span begin = parser_token(parser)->span;
  parser->at++;
  Expr *inner = parse_expr(parser);
  if (parser_expect(parser, TOKEN_CLOSE_PAREN, "to close the `(`")) {
    Expr *whole = ast_copy(parser->input.ast, inner, sizeof *inner);
    whole->span = span_join(begin, parser_previous_span(parser));
    return whole;
  }
  return inner;
}

static Expr *parse_ask(Parser *parser) {
  Span begin = parser_token(parser)->span;
  parser->at++;
  Call *call = parse_call(parser, false);
  call->span = span_join(begin, parser_previous_span(parser));
  Expr *expr = make(parser, EXPR_ASK, call->span, NULL, NULL, NULL);
  expr->has_ask = true;
  expr->call = call;
  note_child(parser, expr, call->target);
  note_child(parser, expr, call->within);
  note_child(parser, expr, call->wanted);
  note_child(parser, expr, call->until);
  for (int32_t i = 0; i < call->arg_count; i++) {
    note_child(parser, expr, call->args[i]);
  }
  return expr;
}

/* Whether `[ … ] armed` follows: an element of timers. */
static bool sees_armed_element(const Parser *parser) {
  uint32_t ahead = 0, open = 0;
  do {
    TokenKind kind = parser_token_after(parser, ahead)->kind;
    open += kind == TOKEN_OPEN_BRACKET;
    open -= kind == TOKEN_CLOSE_BRACKET;
    ahead++;
  } while (open > 0 && ahead < 64);
  Parser later = *parser;
  later.at += ahead;
  return open == 0 && later.at < parser->tokens.count && parser_sees_word(&later, "armed");
}

static Expr *parse_name_or_quantifier(Parser *parser) {
  const Token *token = parser_token(parser);
  if (parser_token_after(parser, 1)->kind == TOKEN_OPEN_PAREN) {
    const char *word = parser_token_text(parser, token);
    for (size_t i = 0; i < G_N_ELEMENTS(quantifiers); i++) {
      if (strcmp(word, quantifiers[i]) == 0) {
        return parse_quantifier(parser, (Quantifier)i);
      }
    }
    parser_fail(parser, token->span, "there is no function '%s'; a server is asked with `ask SERVER.%s(…)`", word,
                word);
    return make_nothing(parser);
  }
  Expr *expr = make(parser, EXPR_NAME, token->span, NULL, NULL, NULL);
  expr->name = (Name){parser_token_text(parser, token), token->span};
  parser->at++;
  if (parser_sees(parser, TOKEN_OPEN_BRACKET) && sees_armed_element(parser)) {
    parser->at++;
    expr->left = parse_sum(parser);
    note_child(parser, expr, expr->left);
    parser_expect(parser, TOKEN_CLOSE_BRACKET, "after the index");
  }
  if (!parser->panicking && parser_sees_word(parser, "armed")) {
    expr->kind = EXPR_ARMED;
    expr->span = span_join(expr->span, parser_token(parser)->span);
    parser->at++;
  }
  return expr;
}

static Expr *parse_atom(Parser *parser) {
  const Token *token = parser_token(parser);
  for (size_t i = 0; i < G_N_ELEMENTS(atoms); i++) {
    if (atoms[i].token == token->kind) {
      Expr *expr = parse_number(parser, atoms[i].kind);
      expr->number = atoms[i].number;
      if (expr->kind == EXPR_NOW) {
        expr->number = parse_on_wall(parser);
        expr->span = span_join(expr->span, parser_previous_span(parser));
      }
      return expr;
    }
  }
  switch (token->kind) {
  case TOKEN_NUMBER: return parse_number(parser, EXPR_NUMBER);
  case TOKEN_DURATION: return parse_number(parser, EXPR_DURATION);
  case TOKEN_NAME: return parse_name_or_quantifier(parser);
  case TOKEN_CLIENT: { /* client[0], or all clients in a quantifier */
    Expr *expr = parse_number(parser, EXPR_NAME);
    expr->name = (Name){"client", token->span};
    return expr;
  }
  case TOKEN_AGE: return parse_age(parser);
  case TOKEN_OPEN_PAREN: return parse_parenthesis(parser);
  case TOKEN_ASK: return parse_ask(parser);
  case TOKEN_OPEN_BRACKET:
    parser_fail(parser, token->span,
                "a list of servers is the value of a parameter: `param lists = [node[0..2], node[2..4]]`");
    return make_nothing(parser);
  default:
    parser_fail(parser, token->span, "expected a value, found %s", token_kind_name(token->kind));
    return make_nothing(parser);
  }
}

static Expr *parse_subscript(Parser *parser, Expr *base) {
  parser->at++;
  Expr *low = parse_sum(parser), *high = NULL;
  if (parser_accept(parser, TOKEN_DOT_DOT)) {
    high = parse_sum(parser);
  }
  parser_expect(parser, TOKEN_CLOSE_BRACKET, "after the index");
  Span span = span_join(base->span, parser_previous_span(parser));
  return make(parser, high == NULL ? EXPR_INDEX : EXPR_SLICE, span, base, low, high);
}

Expr *parse_place(Parser *parser) {
  bool is_process =
      parser_sees(parser, TOKEN_NAME) || parser_sees(parser, TOKEN_CLIENT) || parser_sees(parser, TOKEN_CALLER);
  if (!is_process) {
    const Token *token = parser_token(parser);
    parser_fail(parser, token->span, "expected the name of a process, found %s", token_kind_name(token->kind));
    return make_nothing(parser);
  }
  Expr *place = parse_atom(parser);
  if (!parser->panicking && parser_sees(parser, TOKEN_OPEN_BRACKET)) {
    place = parse_subscript(parser, place);
  }
  return place;
}

Expr *parse_primary(Parser *parser) {
  if (!parser_enter(parser)) {
    return make_nothing(parser);
  }
  Expr *expr = parse_atom(parser);
  while (!parser->panicking) {
    bool can_index = (expr->kind == EXPR_NAME || expr->kind == EXPR_FIELD) && !parser_token(parser)->first_of_line;
    if (can_index && parser_sees(parser, TOKEN_OPEN_BRACKET)) {
      expr = parse_subscript(parser, expr);
    } else if (parser_accept(parser, TOKEN_DOT)) {
      Name field = parser_name(parser, "the name of a variable, `inside` or `up` after `.`");
      expr = make(parser, EXPR_FIELD, span_join(expr->span, parser_previous_span(parser)), expr, NULL, NULL);
      expr->name = field;
    } else {
      break;
    }
  }
  parser_leave(parser);
  return expr;
}

static Expr *parse_prefix(Parser *parser) {
  Span begin = parser_token(parser)->span;
  ExprKind kind = parser_sees(parser, TOKEN_MINUS) ? EXPR_NEGATE : EXPR_NEXT;
  if (!parser_sees(parser, TOKEN_MINUS) && !parser_sees(parser, TOKEN_NEXT)) {
    return parse_primary(parser);
  }
  if (!parser_enter(parser)) {
    return make_nothing(parser);
  }
  parser->at++;
  Expr *operand = parse_prefix(parser);
  parser_leave(parser);
  return make(parser, kind, span_join(begin, parser_previous_span(parser)), operand, NULL, NULL);
}

static Expr *parse_not(Parser *parser) {
  if (!parser_sees(parser, TOKEN_NOT)) {
    return parse_level(parser, COMPARISON_LEVEL);
  }
  if (!parser_enter(parser)) {
    return make_nothing(parser);
  }
  Span begin = parser_token(parser)->span;
  parser->at++;
  Expr *operand = parse_not(parser);
  parser_leave(parser);
  return make(parser, EXPR_NOT, span_join(begin, parser_previous_span(parser)), operand, NULL, NULL);
}

static Expr *parse_operand(Parser *parser, int level) {
  if (level + 1 == COMPARISON_LEVEL) {
    return parse_not(parser);
  }
  return level + 1 > 5 ? parse_prefix(parser) : parse_level(parser, level + 1);
}

static Expr *parse_is(Parser *parser, Expr *left) {
  parser->at++;
  Name sort;
  if (parser_sees(parser, TOKEN_CLIENT) || parser_sees(parser, TOKEN_SERVER)) {
    sort = (Name){parser_token_text(parser, parser_token(parser)), parser_token(parser)->span};
    parser->at++;
  } else {
    sort = parser_name(parser, "a kind of value such as `ticket` after `is`");
  }
  Expr *expr = make(parser, EXPR_IS, span_join(left->span, parser_previous_span(parser)), left, NULL, NULL);
  expr->name = sort;
  return expr;
}

static Expr *parse_level(Parser *parser, int level) {
  Expr *left = parse_operand(parser, level);
  while (!parser->panicking) {
    const Token *token = parser_token(parser);
    size_t i = 0;
    while (i < G_N_ELEMENTS(binaries) && (binaries[i].token != token->kind || binaries[i].level != level)) {
      i++;
    }
    if (level == COMPARISON_LEVEL && token->kind == TOKEN_IS) {
      return parse_is(parser, left);
    }
    if (i == G_N_ELEMENTS(binaries)) {
      break;
    }
    parser->at++;
    Expr *right = parse_operand(parser, level);
    if (parser->panicking) {
      break; /* the depth of `left` is the limit already */
    }
    left = make(parser, EXPR_BINARY, span_join(left->span, right->span), left, right, NULL);
    left->op = binaries[i].op;
    left->op_span = token->span;
    if (level == COMPARISON_LEVEL) {
      break; /* a < b < c means nothing */
    }
  }
  return left;
}

Expr *parse_sum(Parser *parser) {
  return parse_level(parser, SUM_LEVEL);
}

Expr *parse_expr(Parser *parser) {
  if (!parser_enter(parser)) {
    return make_nothing(parser);
  }
  Expr *expr = parse_level(parser, 1);
  parser_leave(parser);
  return expr;
}

ExprVec parse_arguments(Parser *parser) {
  ExprVec args = {0};
  parser_expect(parser, TOKEN_OPEN_PAREN, "before the arguments");
  if (!parser->panicking && !parser_sees(parser, TOKEN_CLOSE_PAREN)) {
    do {
      vec_push(&args, parse_expr(parser));
    } while (!parser->panicking && parser_accept(parser, TOKEN_COMMA));
  }
  parser_expect(parser, TOKEN_CLOSE_PAREN, "after the arguments");
  return args;
}

/* count VALUE [until NUMBER] of an `ask all` */
static void parse_counted(Parser *parser, Call *call) {
  if (!parser_expect_word(parser, "count", "and the reply that is counted behind `ask all`: `count ok`")) {
    return;
  }
  call->wanted = parse_primary(parser);
  if (!parser->panicking && parser_accept(parser, TOKEN_UNTIL)) {
    call->until = parse_primary(parser);
  }
}

Call *parse_call(Parser *parser, bool is_tell) {
  Call *call = ast_allocate(parser->input.ast, sizeof *call);
  Span begin = parser_token(parser)->span;
  if (parser_sees_word(parser, "all")) {
    call->to_all = true;
    parser->at++;
  }
  call->target = parse_place(parser);
  parser_expect(parser, TOKEN_DOT, "between the server and what it is asked");
  call->handler = parser_handler_name(parser, "the name of a handler after `.`");
  ExprVec args = parse_arguments(parser);
  call->arg_count = (int32_t)args.count;
  call->args = parser_exprs_copy(parser, &args);
  if (!is_tell && !parser->panicking && parser_accept(parser, TOKEN_WITHIN)) {
    call->within = parse_primary(parser);
  }
  if (!is_tell && call->to_all) {
    parse_counted(parser, call);
  }
  call->span = span_join(begin, parser_previous_span(parser));
  return call;
}
