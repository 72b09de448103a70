/* From text to tokens, all at once.
 *
 * Newlines mean nothing but the end of a comment or a string; a token only remembers whether it is the first of its
 * line, for the parser's recovery. Whatever is no token is a diagnostic and is left out. The list ends with TOKEN_END.
 */
#ifndef LOCKSTEP_LANG_LEXER_H
#define LOCKSTEP_LANG_LEXER_H

#include "base/vec.h"
#include "lang/source.h"

#define MODEL_BYTES_MAX (1024 * 1024)

typedef enum TokenKind {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_STRING,   /* the span includes the quotes */
  TOKEN_NUMBER,   /* value */
  TOKEN_DURATION, /* value in microseconds */
  TOKEN_PPM,      /* `100ppm`, `0.5%`: value in millionths; `1%` is a number and a `%`, which may be an operator */
#define PUNCTUATION(name, text) TOKEN_##name,
#define KEYWORD(name, text) TOKEN_##name,
#include "lang/tokens.def"
  TOKEN_KIND_COUNT
} TokenKind;

typedef struct Token {
  TokenKind kind;
  bool first_of_line;
  Span span;
  int64_t value;
} Token;

typedef VEC(Token) TokenList;

/* Never fails: errors go to `diagnostics`. Free with vec_free. */
TokenList lexer_run(const Sources *sources, uint32_t file, Diagnostics *diagnostics);
/* "`while`", "a name", …: for messages. */
const char *token_kind_name(TokenKind kind);

#endif
