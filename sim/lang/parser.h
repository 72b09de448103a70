/* From tokens to the syntax tree: recursive descent, one table of precedences, one token of look-ahead (two for a
 * statement that begins with a name).
 *
 * After an error the parser goes on with the next statement or declaration; what it returns after an error is only
 * good for finding more errors.
 */
#ifndef LOCKSTEP_LANG_PARSER_H
#define LOCKSTEP_LANG_PARSER_H

#include "lang/ast.h"

typedef struct ParseInput {
  Ast *ast;
  const Sources *sources;
  uint32_t file;
  Diagnostics *diagnostics;
} ParseInput;

/* The uses are names only; the caller loads them. Never NULL. */
ModelDecl *parse_model(ParseInput input);
/* NULL if the file holds no service. */
ServiceDecl *parse_service(ParseInput input);
/* The whole file is one expression; NULL after an error. */
Expr *parse_setting(ParseInput input);

#endif
