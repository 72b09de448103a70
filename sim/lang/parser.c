#include "lang/parser_internal.h"

#include <string.h>

#include "base/check.h"

/* Tokens and recovery */

const Token *parser_token_after(const Parser *parser, uint32_t ahead) {
  uint32_t last = parser->tokens.count - 1;
  return &parser->tokens.items[parser->at + ahead < last ? parser->at + ahead : last];
}

const Token *parser_token(const Parser *parser) {
  return parser_token_after(parser, 0);
}

Span parser_previous_span(const Parser *parser) {
  return parser->at == 0 ? parser_token(parser)->span
                         : parser->tokens.items[MIN(parser->at, parser->tokens.count) - 1].span;
}

Span span_join(Span first, Span last) {
  return (Span){first.file, first.begin, last.end > first.end ? last.end : first.end};
}

bool parser_sees(const Parser *parser, TokenKind kind) {
  return parser_token(parser)->kind == kind;
}

bool parser_sees_word(const Parser *parser, const char *word) {
  const Token *token = parser_token(parser);
  size_t bytes = strlen(word);
  return token->kind == TOKEN_NAME && token->span.end - token->span.begin == bytes &&
         memcmp(sources_text(parser->input.sources, token->span.file, NULL) + token->span.begin, word, bytes) == 0;
}

bool parser_accept(Parser *parser, TokenKind kind) {
  bool seen = !parser->panicking && parser_sees(parser, kind);
  parser->at += seen;
  return seen;
}

bool parser_accept_word(Parser *parser, const char *word) {
  bool seen = !parser->panicking && parser_sees_word(parser, word);
  parser->at += seen;
  return seen;
}

void parser_fail(Parser *parser, Span span, const char *format, ...) {
  if (parser->panicking) {
    return;
  }
  parser->panicking = true;
  va_list arguments;
  va_start(arguments, format);
  char *text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  diagnostics_error(parser->input.diagnostics, span, "%s", text);
  g_free(text);
}

const char *parser_found(Parser *parser) {
  const Token *token = parser_token(parser);
  if (token->kind != TOKEN_NAME || token->span.end - token->span.begin > 40) {
    return token_kind_name(token->kind);
  }
  char *quoted = g_strdup_printf("'%s'", parser_token_text(parser, token));
  const char *kept = ast_text(parser->input.ast, quoted, strlen(quoted));
  g_free(quoted);
  return kept;
}

bool parser_expect(Parser *parser, TokenKind kind, const char *where) {
  if (parser_accept(parser, kind)) {
    return true;
  }
  if (!parser->panicking) {
    parser_fail(parser, parser_token(parser)->span, "expected %s %s, found %s", token_kind_name(kind), where,
                parser_found(parser));
  }
  return false;
}

bool parser_expect_word(Parser *parser, const char *word, const char *where) {
  if (parser_accept_word(parser, word)) {
    return true;
  }
  if (!parser->panicking) {
    parser_fail(parser, parser_token(parser)->span, "expected `%s` %s, found %s", word, where, parser_found(parser));
  }
  return false;
}

bool parser_enter(Parser *parser) {
  if (parser->depth >= AST_DEPTH_MAX) {
    parser_fail(parser, parser_token(parser)->span, "this is nested too deeply (more than %d levels)", AST_DEPTH_MAX);
    return false;
  }
  parser->depth += !parser->panicking;
  return !parser->panicking;
}

void parser_leave(Parser *parser) {
  CHECK(parser->depth > 0);
  parser->depth--;
}

/* Skips a block if one begins here, else one token. */
static void skip_group(Parser *parser) {
  uint32_t open = 0;
  do {
    open += parser_sees(parser, TOKEN_OPEN_BRACE);
    open -= open > 0 && parser_sees(parser, TOKEN_CLOSE_BRACE);
    parser->at++;
  } while (open > 0 && !parser_sees(parser, TOKEN_END));
}

static bool begins_line(const Parser *parser) {
  return parser_token(parser)->first_of_line && !parser_sees(parser, TOKEN_ELSE);
}

void parser_recover(Parser *parser, uint32_t start) {
  if (!parser->panicking) {
    return;
  }
  parser->panicking = false;
  bool moved = parser->at > start;
  while (!parser_sees(parser, TOKEN_END) && !parser_sees(parser, TOKEN_CLOSE_BRACE)) {
    if (moved && (begins_line(parser) || parser_sees(parser, TOKEN_SEMICOLON))) {
      return;
    }
    skip_group(parser);
    moved = true;
  }
}

/* Pieces */

const char *parser_token_text(Parser *parser, const Token *token) {
  const char *text = sources_text(parser->input.sources, token->span.file, NULL);
  uint32_t begin = token->span.begin, end = token->span.end;
  if (token->kind == TOKEN_STRING) {
    begin++;
    end -= end > begin && text[end - 1] == '"';
  }
  return ast_text(parser->input.ast, text + begin, end - begin);
}

Name parser_name(Parser *parser, const char *what) {
  const Token *token = parser_token(parser);
  Name name = {"", token->span};
  if (parser->panicking) {
    return name;
  }
  if (token->kind == TOKEN_NAME) {
    name.text = parser_token_text(parser, token);
    parser->at++;
  } else if (token->kind >= TOKEN_MODEL) {
    parser_fail(parser, token->span, "expected %s, found %s, which is a word of the language", what,
                token_kind_name(token->kind));
  } else {
    parser_fail(parser, token->span, "expected %s, found %s", what, token_kind_name(token->kind));
  }
  return name;
}

Name parser_handler_name(Parser *parser, const char *what) {
  const Token *token = parser_token(parser);
  if (parser->panicking || token->kind < TOKEN_MODEL) {
    return parser_name(parser, what);
  }
  parser->at++;
  return (Name){parser_token_text(parser, token), token->span};
}

Name parser_string(Parser *parser, const char *what) {
  const Token *token = parser_token(parser);
  Name text = {"", token->span};
  if (parser_accept(parser, TOKEN_STRING)) {
    text.text = parser_token_text(parser, token);
  } else {
    parser_fail(parser, token->span, "expected %s, found %s", what, token_kind_name(token->kind));
  }
  return text;
}

const char *parser_optional_string(Parser *parser) {
  return parser_sees(parser, TOKEN_STRING) ? parser_string(parser, "a text").text : "";
}

Name *parser_names_copy(Parser *parser, NameVec *names) {
  Name *copy = ast_copy(parser->input.ast, names->items, names->count * sizeof *names->items);
  vec_free(names);
  return copy;
}

Expr **parser_exprs_copy(Parser *parser, ExprVec *exprs) {
  Expr **copy = ast_copy(parser->input.ast, exprs->items, exprs->count * sizeof *exprs->items);
  vec_free(exprs);
  return copy;
}

/* Declarations */

static const struct {
  const char *word;
  Sort sort;
} type_names[] = {{"bool", SORT_BOOL},     {"token", SORT_TOKEN}, {"ticket", SORT_TICKET}, {"client", SORT_CLIENT},
                  {"server", SORT_SERVER}, {"stamp", SORT_STAMP}, {"reply", SORT_REPLY}};

bool parse_on_wall(Parser *parser) {
  /* At the beginning of a line it is the next handler. */
  if (parser_token(parser)->first_of_line || !parser_accept(parser, TOKEN_ON)) {
    return false;
  }
  if (!parser_accept_word(parser, "monotonic")) {
    return parser_expect_word(parser, "wall", "after `on` (the other clock, `monotonic`, need not be named)");
  }
  return false;
}

static TypeExpr parse_type(Parser *parser) {
  const Token *token = parser_token(parser);
  TypeExpr type = {.span = token->span, .sort = SORT_NONE};
  const char *word = parser_token_text(parser, token);
  for (size_t i = 0; i < G_N_ELEMENTS(type_names); i++) {
    if (strcmp(word, type_names[i].word) == 0) {
      type.sort = type_names[i].sort;
    }
  }
  if (type.sort != SORT_NONE) {
    parser->at++;
  } else {
    type.sort = SORT_INT;
    type.lo = parse_sum(parser);
    if (!parser->panicking && !parser_accept(parser, TOKEN_DOT_DOT)) {
      parser_fail(parser, type.lo->span,
                  "expected a type: a range such as 0..9, bool, token, ticket, client, server, stamp or reply");
    }
    type.hi = parse_sum(parser);
  }
  type.optional = parser_accept(parser, TOKEN_QUESTION);
  type.on_wall = type.sort == SORT_STAMP && parse_on_wall(parser);
  type.span = span_join(type.span, parser_previous_span(parser));
  if (type.optional && (type.sort == SORT_STAMP || type.sort == SORT_REPLY || type.sort == SORT_BOOL)) {
    parser_fail(parser, type.span, "a %s cannot be optional; leave out the `?`", word);
  }
  return type;
}

/* [NUMBER] behind a name: how many, or what an array is over. */
static Expr *parse_count(Parser *parser) {
  if (!parser_accept(parser, TOKEN_OPEN_BRACKET)) {
    return NULL;
  }
  Expr *count = parse_sum(parser);
  parser_expect(parser, TOKEN_CLOSE_BRACKET, "after the number");
  return count;
}

/* NAME[INDEX] : TYPE [= VALUE] [lock] */
static VarDecl parse_var(Parser *parser) {
  VarDecl var = {.name = parser_name(parser, "the name of a variable")};
  var.index = parse_count(parser);
  parser_expect(parser, TOKEN_COLON, "and a type after the name of the variable");
  if (parser->panicking) {
    return var;
  }
  var.type = parse_type(parser);
  if (parser_accept(parser, TOKEN_ASSIGN)) {
    var.initial = parse_sum(parser);
  }
  var.is_lock = parser_accept_word(parser, "lock");
  return var;
}

typedef struct ServiceParts {
  VEC(VarDecl) variables;
  VEC(TimerDecl) timers;
  VEC(HandlerDecl *) handlers;
  VEC(HandlerDecl *) afters;
  HandlerDecl *lost;
} ServiceParts;

static void parse_after(Parser *parser, ServiceParts *parts) {
  HandlerDecl *after = ast_allocate(parser->input.ast, sizeof *after);
  after->name = parser_name(parser, "the name of a timer after `after`");
  if (parser_accept(parser, TOKEN_OPEN_BRACKET)) {
    Name index = parser_name(parser, "a name for the index of the timer");
    after->params = ast_copy(parser->input.ast, &index, sizeof index);
    after->param_count = 1;
    parser_expect(parser, TOKEN_CLOSE_BRACKET, "after the name");
  }
  after->body = parse_block(parser);
  vec_push(&parts->afters, after);
}

static void parse_on(Parser *parser, ServiceParts *parts) {
  Span begin = parser_previous_span(parser);
  bool is_lost = parser_sees_word(parser, "lost");
  HandlerDecl *handler = parse_handler(parser, begin, (Name){0}, !is_lost);
  if (!is_lost) {
    vec_push(&parts->handlers, handler);
  } else if (!parser->panicking && handler->param_count != 1) {
    diagnostics_error(parser->input.diagnostics, handler->span,
                      "`on lost(c)` is told one thing: the client that is gone");
  } else if (parts->lost != NULL) {
    diagnostics_error(parser->input.diagnostics, handler->span, "a service has only one `on lost`");
    diagnostics_note(parser->input.diagnostics, parts->lost->span, "it is declared here, too");
  } else {
    parts->lost = handler;
  }
}

static void parse_service_item(Parser *parser, ServiceParts *parts) {
  if (parser_accept(parser, TOKEN_VAR)) {
    vec_push(&parts->variables, parse_var(parser));
  } else if (parser_accept(parser, TOKEN_TIMER)) {
    TimerDecl timer = {.name = parser_name(parser, "the name of a timer")};
    timer.index = parse_count(parser);
    timer.on_wall = parse_on_wall(parser);
    vec_push(&parts->timers, timer);
  } else if (parser_accept(parser, TOKEN_ON)) {
    parse_on(parser, parts);
  } else if (parser_accept(parser, TOKEN_AFTER)) {
    parse_after(parser, parts);
  } else if (!parser_accept(parser, TOKEN_SEMICOLON)) {
    if (parser_sees_word(parser, "ghost")) {
      parser_fail(parser, parser_token(parser)->span, "a `ghost` belongs to the model, not to a service");
    }
    const Token *token = parser_token(parser);
    parser_fail(parser, token->span, "expected `var`, `timer`, `on` or `after`, found %s", parser_found(parser));
  }
}

#define MOVE(from, list, to, items_field, count_field)                                                     \
  ((to)->items_field = ast_copy(ast, (from)->list.items, (from)->list.count * sizeof *(from)->list.items), \
   (to)->count_field = (int32_t)(from)->list.count, vec_free(&(from)->list))

/* Behind the word `service`. With braces it may stand in a model; a service file needs none. */
static ServiceDecl *parse_service_rest(Parser *parser) {
  ServiceDecl *service = ast_allocate(parser->input.ast, sizeof *service);
  service->name = parser_name(parser, "the name of the service");
  service->text = parser_optional_string(parser);
  bool braces = parser_accept(parser, TOKEN_OPEN_BRACE);
  ServiceParts parts = {0};
  while (!parser_sees(parser, TOKEN_END) && !(braces && parser_sees(parser, TOKEN_CLOSE_BRACE))) {
    uint32_t start = parser->at;
    parse_service_item(parser, &parts);
    parser_recover(parser, start);
    if (!braces && parser_sees(parser, TOKEN_CLOSE_BRACE)) {
      diagnostics_error(parser->input.diagnostics, parser_token(parser)->span, "this `}` closes nothing");
      parser->at++;
    }
  }
  if (braces) {
    parser_expect(parser, TOKEN_CLOSE_BRACE, "at the end of the service");
  }
  Ast *ast = parser->input.ast;
  MOVE(&parts, variables, service, variables, variable_count);
  MOVE(&parts, timers, service, timers, timer_count);
  MOVE(&parts, handlers, service, handlers, handler_count);
  MOVE(&parts, afters, service, afters, after_count);
  service->lost = parts.lost;
  return service;
}

typedef struct ModelParts {
  ModelDecl *model;
  VEC(Name) uses;
  VEC(ServiceDecl *) services;
  VEC(HandlerDecl *) scripts;
  VEC(ParamDecl) params;
  VEC(VarDecl) ghosts;
  VEC(ServerDecl) servers;
  VEC(ClientDecl *) clients;
  VEC(NeverDecl) nevers;
  VEC(ScenarioDecl *) scenarios;
} ModelParts;

static void parse_model_line(Parser *parser, ModelParts *parts) {
  Name name = parser_name(parser, "the name of the model");
  if (parts->model->name.text != NULL) {
    parser_fail(parser, name.span, "this file has two `model` lines");
  }
  parts->model->name = name;
  parts->model->text = parser_optional_string(parser);
}

static void parse_use(Parser *parser, ModelParts *parts) {
  Name name = parser_name(parser, "the name of a service after `use`");
  if (!parser->panicking) {
    vec_push(&parts->uses, name);
  }
}

/* [SERVERS, SERVERS, …] */
static Expr *parse_list(Parser *parser) {
  Span begin = parser_token(parser)->span;
  ExprVec items = {0};
  parser->at++;
  do {
    vec_push(&items, parse_place(parser));
  } while (!parser->panicking && parser_accept(parser, TOKEN_COMMA));
  parser_expect(parser, TOKEN_CLOSE_BRACKET, "after the list");
  Expr *list = ast_allocate(parser->input.ast, sizeof *list);
  *list = (Expr){
      .kind = EXPR_LIST, .span = span_join(begin, parser_previous_span(parser)), .item_count = (int32_t)items.count};
  list->items = parser_exprs_copy(parser, &items);
  return list;
}

static void parse_param(Parser *parser, ModelParts *parts) {
  ParamDecl param = {.name = parser_name(parser, "the name of a parameter")};
  parser_expect(parser, TOKEN_ASSIGN, "after the name of the parameter");
  param.value = parser_sees(parser, TOKEN_OPEN_BRACKET) ? parse_list(parser) : parse_sum(parser);
  if (!parser->panicking) {
    vec_push(&parts->params, param);
  }
}

static void parse_server(Parser *parser, ModelParts *parts) {
  ServerDecl server = {.name = parser_name(parser, "the name of a server")};
  server.count = parse_count(parser);
  parser_expect(parser, TOKEN_COLON, "and a service after the name of the server");
  server.service = parser_name(parser, "the name of a service");
  if (!parser->panicking) {
    vec_push(&parts->servers, server);
  }
}

typedef struct ClientParts {
  VEC(VarDecl) variables;
  VEC(HandlerDecl *) defs, tasks, notices;
} ClientParts;

/* False when something else begins: the program itself. */
static bool parse_client_item(Parser *parser, ClientParts *parts) {
  if (parser_accept(parser, TOKEN_VAR)) {
    VarDecl var = parse_var(parser);
    if (var.is_lock) {
      parser_fail(parser, parser_previous_span(parser), "`lock` belongs to a variable of a service");
    }
    vec_push(&parts->variables, var);
  } else if (parser_accept(parser, TOKEN_DEF)) {
    vec_push(&parts->defs, parse_handler(parser, parser_previous_span(parser), (Name){0}, false));
  } else if (parser_accept(parser, TOKEN_TASK)) {
    vec_push(&parts->tasks, parse_task(parser, parser_previous_span(parser)));
  } else if (parser_accept(parser, TOKEN_ON)) {
    vec_push(&parts->notices, parse_handler(parser, parser_previous_span(parser), (Name){0}, false));
  } else {
    return parser_accept(parser, TOKEN_SEMICOLON);
  }
  return true;
}

static void parse_client_items(Parser *parser, ClientDecl *client) {
  ClientParts parts = {0};
  bool found = true;
  while (found) {
    uint32_t start = parser->at;
    found = parse_client_item(parser, &parts);
    parser_recover(parser, start);
  }
  Ast *ast = parser->input.ast;
  MOVE(&parts, variables, client, variables, variable_count);
  MOVE(&parts, defs, client, defs, def_count);
  MOVE(&parts, tasks, client, tasks, task_count);
  MOVE(&parts, notices, client, notices, notice_count);
}

static void parse_client(Parser *parser, ModelParts *parts) {
  ClientDecl *client = ast_allocate(parser->input.ast, sizeof *client);
  client->span = parser_previous_span(parser);
  client->name = (Name){"client", client->span};
  if (parser_sees(parser, TOKEN_NAME)) {
    client->name = parser_name(parser, "a name");
  }
  client->count = parse_count(parser);
  if (parser->panicking || !parser_sees(parser, TOKEN_OPEN_BRACE)) {
    parser_expect(parser, TOKEN_OPEN_BRACE, "to begin the program of the client");
    return;
  }
  parser->at++;
  Span open = parser_previous_span(parser);
  parse_client_items(parser, client);
  client->body = parse_block_inside(parser, open);
  if (client->task_count > 0 && client->body.count > 0) {
    diagnostics_error(parser->input.diagnostics, client->body.items[0]->span,
                      "a client with tasks has no statements of its own; write `task NAME { … }` around them");
  }
  vec_push(&parts->clients, client);
}

static void parse_never(Parser *parser, ModelParts *parts) {
  NeverDecl never = {.text = parser_string(parser, "the text of the property after `never`")};
  parser_expect(parser, TOKEN_OPEN_BRACE, "after the text");
  never.value = parse_expr(parser);
  parser_expect(parser, TOKEN_CLOSE_BRACE, "after the expression");
  if (!parser->panicking) {
    vec_push(&parts->nevers, never);
  }
}

/* ghost var NAME : TYPE */
static void parse_ghost(Parser *parser, ModelParts *parts) {
  parser_expect(parser, TOKEN_VAR, "after `ghost`");
  VarDecl var = parse_var(parser);
  if (var.is_lock) {
    parser_fail(parser, parser_previous_span(parser), "`lock` belongs to a variable of a service");
  }
  if (!parser->panicking) {
    vec_push(&parts->ghosts, var);
  }
}

static void parse_script(Parser *parser, ModelParts *parts) {
  Span begin = parser_previous_span(parser);
  Name service = parser_name(parser, "the name of a service after `script`");
  parser_expect(parser, TOKEN_DOT, "between the service and the name of the script");
  vec_push(&parts->scripts, parse_handler(parser, begin, service, true));
}

static void parse_model_service(Parser *parser, ModelParts *parts) {
  const Token *after = parser_token_after(parser, 1);
  const Token *behind = parser_token_after(parser, after->kind == TOKEN_STRING ? 2 : 1);
  if (behind->kind != TOKEN_OPEN_BRACE) {
    parser_fail(parser, parser_token(parser)->span,
                "a service inside a model is written in braces: `service NAME { … }`");
    return;
  }
  vec_push(&parts->services, parse_service_rest(parser));
}

static void parse_model_scenario(Parser *parser, ModelParts *parts) {
  vec_push(&parts->scenarios, parse_scenario(parser));
}

static const struct {
  TokenKind token;
  void (*parse)(Parser *parser, ModelParts *parts);
} declarations[] = {
    {TOKEN_MODEL, parse_model_line},        {TOKEN_USE, parse_use},       {TOKEN_PARAM, parse_param},
    {TOKEN_SERVER, parse_server},           {TOKEN_CLIENT, parse_client}, {TOKEN_NEVER, parse_never},
    {TOKEN_SCENARIO, parse_model_scenario}, {TOKEN_SCRIPT, parse_script}, {TOKEN_SERVICE, parse_model_service},
};

static bool sees_ghost(const Parser *parser) {
  return parser_sees_word(parser, "ghost") && parser_token_after(parser, 1)->kind == TOKEN_VAR;
}

bool parser_begins_declaration(const Parser *parser) {
  for (size_t i = 0; i < G_N_ELEMENTS(declarations); i++) {
    if (parser_sees(parser, declarations[i].token)) {
      return true;
    }
  }
  return parser_sees(parser, TOKEN_END) || sees_ghost(parser);
}

static void parse_declaration(Parser *parser, ModelParts *parts) {
  uint32_t start = parser->at;
  const Token *token = parser_token(parser);
  for (size_t i = 0; i < G_N_ELEMENTS(declarations); i++) {
    if (token->kind == declarations[i].token) {
      parser->at++;
      declarations[i].parse(parser, parts);
      break;
    }
  }
  if (sees_ghost(parser) && parser->at == start) {
    parser->at++;
    parse_ghost(parser, parts);
  }
  if (parser->at == start && !parser_accept(parser, TOKEN_SEMICOLON)) {
    parser_fail(
        parser, token->span,
        "expected a declaration (param, server, service, client, ghost var, never, scenario, use or script), found %s",
        parser_found(parser));
  }
  if (parser->panicking) {
    parser->panicking = false;
    parser->at += parser->at == start;
    while (!parser_begins_declaration(parser)) {
      skip_group(parser);
    }
  }
}

static void finish_model(Ast *ast, ModelParts *parts) {
  ModelDecl *model = parts->model;
  MOVE(parts, uses, model, uses, use_count);
  MOVE(parts, services, model, services, service_count);
  MOVE(parts, scripts, model, scripts, script_count);
  MOVE(parts, params, model, params, param_count);
  MOVE(parts, ghosts, model, ghosts, ghost_count);
  MOVE(parts, servers, model, servers, server_count);
  MOVE(parts, clients, model, clients, client_count);
  MOVE(parts, nevers, model, nevers, never_count);
  MOVE(parts, scenarios, model, scenarios, scenario_count);
}

static Parser parser_new(ParseInput input) {
  return (Parser){.input = input, .tokens = lexer_run(input.sources, input.file, input.diagnostics)};
}

ModelDecl *parse_model(ParseInput input) {
  Parser parser = parser_new(input);
  ModelParts parts = {.model = ast_allocate(input.ast, sizeof *parts.model)};
  while (!parser_sees(&parser, TOKEN_END)) {
    parse_declaration(&parser, &parts);
  }
  if (parts.model->name.text == NULL) {
    parts.model->name = (Name){"", {input.file, 0, 0}};
    parts.model->text = "";
    if (!diagnostics_any_error(input.diagnostics)) {
      diagnostics_error(input.diagnostics, parts.model->name.span, "a model begins with `model NAME \"what it is\"`");
    }
  }
  finish_model(input.ast, &parts);
  vec_free(&parser.tokens);
  return parts.model;
}

ServiceDecl *parse_service(ParseInput input) {
  Parser parser = parser_new(input);
  ServiceDecl *service = NULL;
  if (parser_expect(&parser, TOKEN_SERVICE, "at the beginning of a service file")) {
    service = parse_service_rest(&parser);
  }
  parser.panicking = false;
  if (service != NULL && !parser_sees(&parser, TOKEN_END)) {
    parser_expect(&parser, TOKEN_END, "after the service");
  }
  vec_free(&parser.tokens);
  return service;
}

Expr *parse_setting(ParseInput input) {
  Parser parser = parser_new(input);
  Expr *value = parse_sum(&parser);
  parser_expect(&parser, TOKEN_END, "after the value");
  bool failed = parser.panicking;
  vec_free(&parser.tokens);
  return failed ? NULL : value;
}
