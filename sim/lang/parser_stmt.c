#include <string.h>

#include "lang/parser_internal.h"

typedef struct StmtRow {
  TokenKind token;
  StmtKind kind;
  void (*parse)(Parser *parser, Stmt *stmt); /* what follows the word; NULL: nothing does */
} StmtRow;

static Name *one_name(Parser *parser, Name name) {
  return ast_copy(parser->input.ast, &name, sizeof name);
}

static void parse_let(Parser *parser, Stmt *stmt) {
  NameVec names = {0};
  do {
    vec_push(&names, parser_name(parser, "a name after `let`"));
  } while (!parser->panicking && parser_accept(parser, TOKEN_COMMA));
  stmt->target_count = (int32_t)names.count;
  stmt->targets = parser_names_copy(parser, &names);
  parser_expect(parser, TOKEN_ASSIGN, "after the name");
  stmt->value = parse_expr(parser);
}

static Expr *parse_condition(Parser *parser) {
  Expr *condition = parse_expr(parser);
  if (parser_sees(parser, TOKEN_ASSIGN)) {
    parser_fail(parser, parser_token(parser)->span, "a comparison is written `==`");
  }
  return condition;
}

static void parse_if(Parser *parser, Stmt *stmt) {
  stmt->value = parse_condition(parser);
  stmt->body = parse_block(parser);
  if (parser->panicking || !parser_accept(parser, TOKEN_ELSE)) {
    return;
  }
  if (!parser_sees(parser, TOKEN_IF)) {
    stmt->other = parse_block(parser);
    return;
  }
  if (!parser_enter(parser)) {
    return;
  }
  Stmt *nested = ast_allocate(parser->input.ast, sizeof *nested);
  nested->kind = STMT_IF;
  nested->span = parser_token(parser)->span;
  parser->at++;
  parse_if(parser, nested);
  stmt->other = (Block){ast_copy(parser->input.ast, &nested, sizeof nested), 1};
  parser_leave(parser);
}

static void parse_condition_and_body(Parser *parser, Stmt *stmt) {
  stmt->value = parse_condition(parser);
  stmt->body = parse_block(parser);
}

static void parse_body(Parser *parser, Stmt *stmt) {
  stmt->body = parse_block(parser);
}

static void parse_for(Parser *parser, Stmt *stmt) {
  stmt->target_count = 1;
  stmt->targets = one_name(parser, parser_name(parser, "the name of the loop variable after `for`"));
  parser_expect(parser, TOKEN_IN, "after the loop variable");
  stmt->value = parse_sum(parser);
  if (parser_accept(parser, TOKEN_DOT_DOT)) {
    stmt->high = parse_sum(parser);
  }
  stmt->body = parse_block(parser);
}

static void parse_wait(Parser *parser, Stmt *stmt) {
  if (!parser_sees(parser, TOKEN_UNTIL)) {
    stmt->value = parse_sum(parser);
    stmt->high = !parser->panicking && parser_accept(parser, TOKEN_DOT_DOT) ? parse_sum(parser) : stmt->value;
  }
  if (!parser->panicking && parser_accept(parser, TOKEN_UNTIL)) {
    stmt->until = parse_expr(parser);
  }
}

static void parse_tell(Parser *parser, Stmt *stmt) {
  stmt->call = parse_call(parser, true);
}

static void parse_critical(Parser *parser, Stmt *stmt) {
  if (parser_accept_word(parser, "of")) {
    stmt->resource = parse_primary(parser);
  }
  if (parser_accept_word(parser, "shared")) {
    stmt->is_shared = true;
  } else if (parser_accept_word(parser, "permit")) {
    stmt->permits = parse_primary(parser);
  }
  if (parser_accept_word(parser, "fence")) {
    stmt->value = parse_primary(parser);
  }
  stmt->body = parse_block(parser);
}

static void parse_reply(Parser *parser, Stmt *stmt) {
  if (parser_sees(parser, TOKEN_CLOSE_BRACE) || parser_sees(parser, TOKEN_SEMICOLON)) {
    parser_fail(parser, parser_previous_span(parser), "`reply` needs a value; write `reply ok`");
    return;
  }
  ExprVec values = {0};
  do {
    vec_push(&values, parse_expr(parser));
  } while (!parser->panicking && parser_accept(parser, TOKEN_COMMA));
  stmt->arg_count = (int32_t)values.count;
  stmt->args = parser_exprs_copy(parser, &values);
  if (stmt->arg_count > PROGRAM_ARGS_MAX) {
    parser_fail(parser, stmt->span, "a reply has at most %d values", PROGRAM_ARGS_MAX);
  }
}

static void parse_observe(Parser *parser, Stmt *stmt) {
  (void)stmt;
  const Token *token = parser_token(parser);
  if (token->kind == TOKEN_NAME && !token->first_of_line) {
    parser_fail(parser, token->span, "`observe` takes no value: what counts is when the caller has read");
  }
}

static const StmtRow rows[] = {
    {TOKEN_LET, STMT_LET, parse_let},
    {TOKEN_IF, STMT_IF, parse_if},
    {TOKEN_WHILE, STMT_WHILE, parse_condition_and_body},
    {TOKEN_LOOP, STMT_LOOP, parse_body},
    {TOKEN_REPEAT, STMT_REPEAT, parse_condition_and_body},
    {TOKEN_FOR, STMT_FOR, parse_for},
    {TOKEN_BREAK, STMT_BREAK, NULL},
    {TOKEN_CONTINUE, STMT_CONTINUE, NULL},
    {TOKEN_STOP, STMT_STOP, NULL},
    {TOKEN_TELL, STMT_TELL, parse_tell},
    {TOKEN_WAIT, STMT_WAIT, parse_wait},
    {TOKEN_YIELD, STMT_YIELD, NULL},
    {TOKEN_CRITICAL, STMT_CRITICAL, parse_critical},
    {TOKEN_REPLY, STMT_REPLY, parse_reply},
    {TOKEN_OBSERVE, STMT_OBSERVE, parse_observe},
    {TOKEN_COMMIT, STMT_COMMIT, NULL},
};

/* { … } or { … } … */
static void parse_choose(Parser *parser, Stmt *stmt) {
  VEC(Block) arms = {0};
  stmt->kind = STMT_CHOOSE;
  do {
    Block arm = parse_block(parser);
    vec_push(&arms, arm);
  } while (!parser->panicking && parser_accept(parser, TOKEN_OR));
  stmt->arm_count = (int32_t)arms.count;
  stmt->arms = ast_copy(parser->input.ast, arms.items, arms.count * sizeof *arms.items);
  vec_free(&arms);
  if (stmt->arm_count < 2) {
    parser_fail(parser, stmt->span, "a choice needs an `or { … }`");
  }
}

static void parse_pick(Parser *parser, Stmt *stmt) {
  stmt->kind = STMT_PICK;
  stmt->target_count = 1;
  stmt->targets = one_name(parser, parser_name(parser, "a name"));
  parser_expect(parser, TOKEN_IN, "and what is picked from");
  stmt->value = parse_sum(parser);
  if (!parser->panicking && parser_accept(parser, TOKEN_DOT_DOT)) {
    stmt->high = parse_sum(parser);
  }
}

static void parse_assert(Parser *parser, Stmt *stmt) {
  stmt->kind = STMT_ASSERT;
  stmt->value = parse_condition(parser);
  if (!parser->panicking) {
    stmt->text = parser_string(parser, "the text of the property behind the condition");
  }
}

/* Statements that begin with a word which is a name elsewhere: told by what follows. False: it is a name here. */
static bool parse_by_word(Parser *parser, Stmt *stmt) {
  static const struct {
    const char *word;
    TokenKind next; /* TOKEN_END: anything that does not make it an assignment or a call */
    void (*parse)(Parser *parser, Stmt *stmt);
  } words[] = {{"choose", TOKEN_OPEN_BRACE, parse_choose},
               {"pick", TOKEN_NAME, parse_pick},
               {"assert", TOKEN_END, parse_assert}};
  static const TokenKind of_names[] = {TOKEN_ASSIGN, TOKEN_PLUS_ASSIGN, TOKEN_MINUS_ASSIGN,
                                       TOKEN_COMMA,  TOKEN_DOT,         TOKEN_IN};
  TokenKind next = parser_token_after(parser, 1)->kind;
  for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
    bool is_it = parser_sees_word(parser, words[i].word) && (words[i].next == TOKEN_END || words[i].next == next);
    for (size_t n = 0; n < G_N_ELEMENTS(of_names); n++) {
      is_it = is_it && next != of_names[n];
    }
    if (is_it) {
      parser->at++;
      words[i].parse(parser, stmt);
      return true;
    }
  }
  return false;
}

static void parse_run(Parser *parser, Stmt *stmt) {
  stmt->kind = STMT_RUN;
  ExprVec args = parse_arguments(parser);
  stmt->arg_count = (int32_t)args.count;
  stmt->args = parser_exprs_copy(parser, &args);
}

/* [INDEX] behind the name of an array, or NULL. */
static Expr *parse_index(Parser *parser) {
  if (parser->panicking || !parser_accept(parser, TOKEN_OPEN_BRACKET)) {
    return NULL;
  }
  Expr *index = parse_sum(parser);
  parser_expect(parser, TOKEN_CLOSE_BRACKET, "after the index");
  return index;
}

/* NAME[INDEX], NAME, … up to the sign; the first name is read already. */
static void parse_targets(Parser *parser, Stmt *stmt, Name first) {
  NameVec names = {0};
  ExprVec indices = {0};
  vec_push(&names, first);
  vec_push(&indices, parse_index(parser));
  while (!parser->panicking && parser_accept(parser, TOKEN_COMMA)) {
    vec_push(&names, parser_name(parser, "the name of a variable"));
    vec_push(&indices, parse_index(parser));
  }
  stmt->target_count = (int32_t)names.count;
  stmt->targets = parser_names_copy(parser, &names);
  stmt->indices = parser_exprs_copy(parser, &indices);
}

static void parse_assignment(Parser *parser, Stmt *stmt) {
  const char *first = stmt->targets[0].text, *index = stmt->indices[0] != NULL ? "[…]" : "";
  stmt->kind = STMT_ASSIGN;
  bool adds = parser_sees(parser, TOKEN_PLUS_ASSIGN);
  if (stmt->target_count == 1 && (adds || parser_sees(parser, TOKEN_MINUS_ASSIGN))) {
    stmt->kind = adds ? STMT_ADD : STMT_SUB;
    parser->at++;
  } else if (parser_sees(parser, TOKEN_DOT)) {
    parser_fail(parser, stmt->targets[0].span, "to send a message write `ask %s%s.…` or `tell %s%s.…`", first, index,
                first, index);
  } else if (strcmp(first, "return") == 0 && !parser_sees(parser, TOKEN_ASSIGN)) {
    parser_fail(parser, stmt->targets[0].span, "to answer a request write `reply …`");
  } else {
    parser_expect(parser, TOKEN_ASSIGN, "after the name of a variable");
  }
  stmt->value = parse_expr(parser);
}

static void parse_named_statement(Parser *parser, Stmt *stmt) {
  if (parse_by_word(parser, stmt)) {
    return;
  }
  Name name = parser_name(parser, "a statement");
  if (parser_sees(parser, TOKEN_OPEN_PAREN)) {
    stmt->targets = one_name(parser, name);
    stmt->target_count = 1;
    parse_run(parser, stmt);
    return;
  }
  parse_targets(parser, stmt, name);
  if (stmt->target_count == 1 && parser_accept(parser, TOKEN_IN)) {
    stmt->kind = STMT_TIMER_IN;
    stmt->value = parse_expr(parser);
  } else if (stmt->target_count == 1 && parser_accept_word(parser, "off")) {
    stmt->kind = STMT_TIMER_OFF;
  } else {
    parse_assignment(parser, stmt);
  }
}

static Stmt *parse_statement(Parser *parser) {
  Stmt *stmt = ast_allocate(parser->input.ast, sizeof *stmt);
  const Token *token = parser_token(parser);
  stmt->span = token->span;
  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
    if (rows[i].token == token->kind) {
      stmt->kind = rows[i].kind;
      parser->at++;
      if (rows[i].parse != NULL) {
        rows[i].parse(parser, stmt);
      }
      return stmt;
    }
  }
  if (token->kind == TOKEN_ASK) {
    stmt->kind = STMT_ASK;
    stmt->value = parse_expr(parser);
    stmt->span = stmt->value->span;
  } else if (token->kind == TOKEN_NAME) {
    parse_named_statement(parser, stmt);
    stmt->span = span_join(stmt->span, parser_previous_span(parser));
  } else if (token->kind == TOKEN_TASK) {
    parser_fail(parser, token->span,
                "a client with tasks has no statements of its own; write `task NAME { … }` around them");
  } else if (token->kind == TOKEN_ON || token->kind == TOKEN_VAR || token->kind == TOKEN_DEF) {
    parser_fail(parser, token->span, "%s stands before the statements", token_kind_name(token->kind));
  } else {
    parser_fail(parser, token->span, "expected a statement, found %s", parser_found(parser));
  }
  return stmt;
}

Block parse_block(Parser *parser) {
  if (parser->panicking || !parser_expect(parser, TOKEN_OPEN_BRACE, "to begin a block")) {
    return (Block){0};
  }
  return parse_block_inside(parser, parser_previous_span(parser));
}

Block parse_block_inside(Parser *parser, Span open) {
  Block block = {0};
  if (!parser_enter(parser)) {
    return block;
  }
  VEC(Stmt *) items = {0};
  /* A declaration at the beginning of a line: some brace before it is missing. */
  while (!parser_sees(parser, TOKEN_CLOSE_BRACE) &&
         !(parser_begins_declaration(parser) && parser_token(parser)->first_of_line) &&
         !parser_sees(parser, TOKEN_END)) {
    uint32_t start = parser->at;
    if (!parser_accept(parser, TOKEN_SEMICOLON)) {
      Stmt *stmt = parse_statement(parser);
      if (!parser->panicking) {
        vec_push(&items, stmt);
      }
    }
    parser_recover(parser, start);
  }
  if (!parser_accept(parser, TOKEN_CLOSE_BRACE)) {
    parser_fail(parser, open, "this `{` is never closed");
  }
  parser_leave(parser);
  block.count = (int32_t)items.count;
  block.items = ast_copy(parser->input.ast, items.items, items.count * sizeof *items.items);
  vec_free(&items);
  return block;
}

static void parse_parameters(Parser *parser, HandlerDecl *handler) {
  NameVec params = {0};
  parser_expect(parser, TOKEN_OPEN_PAREN, "after the name");
  if (!parser->panicking && !parser_sees(parser, TOKEN_CLOSE_PAREN)) {
    do {
      vec_push(&params, parser_name(parser, "the name of a parameter"));
    } while (!parser->panicking && parser_accept(parser, TOKEN_COMMA));
  }
  parser_expect(parser, TOKEN_CLOSE_PAREN, "after the parameters");
  handler->param_count = (int32_t)params.count;
  handler->params = parser_names_copy(parser, &params);
  if (handler->param_count > PROGRAM_ARGS_MAX && !parser->panicking) {
    parser_fail(parser, handler->name.span, "'%s' has more than %d parameters", handler->name.text, PROGRAM_ARGS_MAX);
  }
}

static void parse_guard(Parser *parser, HandlerDecl *handler, bool may_wait) {
  Span begin = parser_token(parser)->span;
  if (parser_accept_word(parser, "when")) {
    handler->guard = parse_condition(parser);
  }
  Span keep = parser_token(parser)->span;
  handler->keeps = parser_accept_word(parser, "keep");
  if (handler->keeps && handler->guard == NULL) {
    parser_fail(parser, keep, "`keep` is for requests that wait, so it stands behind a `when`");
  } else if (handler->guard != NULL && !may_wait) {
    parser_fail(parser, begin, "only a request to a server can wait for a `when`");
  }
}

HandlerDecl *parse_handler(Parser *parser, Span begin, Name service, bool may_wait) {
  HandlerDecl *handler = ast_allocate(parser->input.ast, sizeof *handler);
  handler->service = service;
  handler->name = parser_token_after(parser, 1)->kind == TOKEN_OPEN_PAREN ? parser_handler_name(parser, "a name")
                                                                          : parser_name(parser, "a name");
  parse_parameters(parser, handler);
  parse_guard(parser, handler, may_wait);
  handler->span = span_join(begin, handler->name.span);
  handler->body = parse_block(parser);
  return handler;
}

HandlerDecl *parse_task(Parser *parser, Span begin) {
  HandlerDecl *task = ast_allocate(parser->input.ast, sizeof *task);
  task->name = parser_name(parser, "the name of a task");
  task->span = span_join(begin, task->name.span);
  task->body = parse_block(parser);
  return task;
}
