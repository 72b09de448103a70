/* What the files of the parser share; nobody else includes this. parser.c has tokens, recovery and declarations,
 * parser_expr.c expressions, parser_stmt.c statements, parser_scenario.c scenarios. */
#ifndef LOCKSTEP_LANG_PARSER_INTERNAL_H
#define LOCKSTEP_LANG_PARSER_INTERNAL_H

#include "lang/lexer.h"
#include "lang/parser.h"

typedef struct Parser {
  ParseInput input;
  TokenList tokens;
  uint32_t at;
  int32_t depth;
  bool panicking; /* an error was reported and nothing is parsed until the parser has recovered */
} Parser;

typedef VEC(Name) NameVec;
typedef VEC(Expr *) ExprVec;

const Token *parser_token(const Parser *parser);
const Token *parser_token_after(const Parser *parser, uint32_t ahead);
Span parser_previous_span(const Parser *parser);
bool parser_sees(const Parser *parser, TokenKind kind);
bool parser_sees_word(const Parser *parser, const char *word); /* a name that means something in its place */
bool parser_accept(Parser *parser, TokenKind kind);
bool parser_accept_word(Parser *parser, const char *word);
/* Or an error: "expected `{`, found …". */
bool parser_expect(Parser *parser, TokenKind kind, const char *where);
bool parser_expect_word(Parser *parser, const char *word, const char *where);
bool parser_begins_declaration(const Parser *parser);
const char *parser_found(Parser *parser); /* the next token, for "…, found X" */
void parser_fail(Parser *parser, Span span, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Below the depth limit? Pair with parser_leave. */
bool parser_enter(Parser *parser);
void parser_leave(Parser *parser);
/* After a failed statement or scenario line: goes to the next one. `start` is where the failed one began. */
void parser_recover(Parser *parser, uint32_t start);

const char *parser_token_text(Parser *parser, const Token *token); /* in the arena; strings without quotes */
Name parser_name(Parser *parser, const char *what);
Name parser_handler_name(Parser *parser, const char *what); /* may be a word of the language: `ask n.wait()` */
Name parser_string(Parser *parser, const char *what);
const char *parser_optional_string(Parser *parser);
Name *parser_names_copy(Parser *parser, NameVec *names);  /* frees the vector */
Expr **parser_exprs_copy(Parser *parser, ExprVec *exprs); /* frees the vector */
Span span_join(Span first, Span last);

Expr *parse_expr(Parser *parser); /* never NULL; `none` after an error */
Expr *parse_sum(Parser *parser);  /* without comparison, and, or */
Expr *parse_primary(Parser *parser);
Expr *parse_place(Parser *parser); /* name, name[i], name[a..b] */
Call *parse_call(Parser *parser, bool is_tell);
ExprVec parse_arguments(Parser *parser);

bool parse_on_wall(Parser *parser); /* `on wall`, `on monotonic`, on the same line */

Block parse_block(Parser *parser);
Block parse_block_inside(Parser *parser, Span open); /* behind the `{` */
/* name(params) { … }; `when` and `keep` only where a request can wait. */
HandlerDecl *parse_handler(Parser *parser, Span begin, Name service, bool may_wait);
HandlerDecl *parse_task(Parser *parser, Span begin); /* name { … } */

ScenarioDecl *parse_scenario(Parser *parser);

#endif
