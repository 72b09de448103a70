#include "lang/lexer.h"

#include <string.h>

typedef struct Lexer {
  Diagnostics *diagnostics;
  const char *text;
  uint32_t file, at, end;
  bool first_of_line;
  TokenList tokens;
} Lexer;

/* clang-format off */
static const struct {
  const char *text;
  TokenKind kind;
} punctuation[] = {
#define PUNCTUATION(name, text) {text, TOKEN_##name},
#include "lang/tokens.def"
}, keywords[] = {
#define KEYWORD(name, text) {text, TOKEN_##name},
#include "lang/tokens.def"
};
/* clang-format on */

/* What people write who come from C, and what it is here. */
static const struct {
  const char *text, *instead;
  TokenKind kind; /* as which it is read all the same; TOKEN_END: not at all */
} foreign[] = {{"&&", "`and`", TOKEN_AND},
               {"||", "`or`", TOKEN_OR},
               {"!", "`not`", TOKEN_NOT},
               {":=", "`=`", TOKEN_ASSIGN},
               {"//", "`#` for a comment", TOKEN_END},
               {"'", "double quotes", TOKEN_END}};

static const struct {
  const char *text;
  int64_t us;
} units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"min", 60000000}, {"h", INT64_C(3600000000)}};

#define PERCENT_PPM 10000

const char *token_kind_name(TokenKind kind) {
  switch (kind) {
  case TOKEN_END: return "the end of the file";
  case TOKEN_NAME: return "a name";
  case TOKEN_STRING: return "a text in double quotes";
  case TOKEN_NUMBER: return "a number";
  case TOKEN_DURATION: return "a duration";
  case TOKEN_PPM:
    return "a rate";
/* clang-format off */
#define PUNCTUATION(name, text) case TOKEN_##name: return "`" text "`";
#define KEYWORD(name, text) case TOKEN_##name: return "`" text "`";
#include "lang/tokens.def"
  /* clang-format on */
  default: return "nothing";
  }
}

static Span lexer_span(const Lexer *lexer, uint32_t begin) {
  return (Span){.file = lexer->file, .begin = begin, .end = lexer->at};
}

static void lexer_push(Lexer *lexer, TokenKind kind, uint32_t begin, int64_t value) {
  Token token = {.kind = kind, .first_of_line = lexer->first_of_line, .span = lexer_span(lexer, begin), .value = value};
  vec_push(&lexer->tokens, token);
  lexer->first_of_line = false;
}

static bool is_letter(char c) {
  return g_ascii_isalpha(c) || c == '_';
}

static bool is_digit(char c) {
  return g_ascii_isdigit(c);
}

static bool lexer_sees(const Lexer *lexer, const char *text) {
  size_t bytes = strlen(text);
  return lexer->end - lexer->at >= bytes && memcmp(lexer->text + lexer->at, text, bytes) == 0;
}

static void skip_line(Lexer *lexer) {
  while (lexer->at < lexer->end && lexer->text[lexer->at] != '\n') {
    lexer->at++;
  }
}

static void skip_blank(Lexer *lexer) {
  while (lexer->at < lexer->end) {
    char c = lexer->text[lexer->at];
    if (c == '#') {
      skip_line(lexer);
    } else if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
      lexer->first_of_line = lexer->first_of_line || c == '\n';
      lexer->at++;
    } else {
      return;
    }
  }
}

static void lex_name(Lexer *lexer) {
  uint32_t begin = lexer->at;
  while (lexer->at < lexer->end && (is_letter(lexer->text[lexer->at]) || is_digit(lexer->text[lexer->at]))) {
    lexer->at++;
  }
  TokenKind kind = TOKEN_NAME;
  size_t bytes = lexer->at - begin;
  for (size_t i = 0; i < G_N_ELEMENTS(keywords); i++) {
    if (strlen(keywords[i].text) == bytes && memcmp(keywords[i].text, lexer->text + begin, bytes) == 0) {
      kind = keywords[i].kind;
    }
  }
  lexer_push(lexer, kind, begin, 0);
}

static bool is_printable(const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (g_ascii_iscntrl(text[i])) {
      return false;
    }
  }
  return g_utf8_validate(text, (gssize)bytes, NULL);
}

static void lex_string(Lexer *lexer) {
  uint32_t begin = lexer->at++;
  while (lexer->at < lexer->end && lexer->text[lexer->at] != '"' && lexer->text[lexer->at] != '\n') {
    lexer->at++;
  }
  if (lexer->at == lexer->end || lexer->text[lexer->at] == '\n') {
    diagnostics_error(lexer->diagnostics, lexer_span(lexer, begin), "this text has no closing `\"` on its line");
  } else {
    lexer->at++;
    if (!is_printable(lexer->text + begin, lexer->at - begin)) {
      diagnostics_error(lexer->diagnostics, lexer_span(lexer, begin),
                        "this text has a byte that cannot be printed; texts are UTF-8 without control characters");
    }
  }
  lexer_push(lexer, TOKEN_STRING, begin, 0);
}

/* Digits, to which a fraction may be added: value = digits / scale. False when it does not fit. */
static bool lex_digits(Lexer *lexer, int64_t *value, int64_t *scale) {
  bool fits = true;
  for (; lexer->at < lexer->end && is_digit(lexer->text[lexer->at]); lexer->at++) {
    fits = fits && !__builtin_mul_overflow(*value, 10, value) &&
           !__builtin_add_overflow(*value, lexer->text[lexer->at] - '0', value);
    fits = fits && (scale == NULL || !__builtin_mul_overflow(*scale, 10, scale));
  }
  return fits;
}

static int64_t unit_us(const Lexer *lexer, uint32_t begin) {
  for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
    if (strlen(units[i].text) == lexer->at - begin &&
        memcmp(units[i].text, lexer->text + begin, lexer->at - begin) == 0) {
      return units[i].us;
    }
  }
  return 0;
}

/* `0.5%` or `100ppm`: behind the digits of a number. */
static bool lex_rate_unit(Lexer *lexer, bool is_fraction, int64_t *ppm) {
  bool is_percent = is_fraction && lexer_sees(lexer, "%");
  bool is_ppm =
      lexer_sees(lexer, "ppm") &&
      (lexer->end - lexer->at == 3 || !(is_letter(lexer->text[lexer->at + 3]) || is_digit(lexer->text[lexer->at + 3])));
  *ppm = is_percent ? PERCENT_PPM : 1;
  lexer->at += is_percent ? 1 : is_ppm ? 3 : 0;
  return is_percent || is_ppm;
}

static void lex_rate(Lexer *lexer, uint32_t begin, bool fits, int64_t value, int64_t scale) {
  Span span = lexer_span(lexer, begin);
  if (!fits) {
    diagnostics_error(lexer->diagnostics, span, "this rate is too large");
    value = scale;
  } else if (value % scale != 0) {
    diagnostics_error(lexer->diagnostics, span, "this rate is not a whole number of ppm; 1ppm is 0.0001%%");
  }
  lexer_push(lexer, TOKEN_PPM, begin, value / scale);
}

static void lex_number(Lexer *lexer) {
  uint32_t begin = lexer->at;
  int64_t value = 0, scale = 1;
  bool fits = lex_digits(lexer, &value, NULL), is_fraction = false;
  if (lexer->end - lexer->at >= 2 && lexer->text[lexer->at] == '.' && is_digit(lexer->text[lexer->at + 1])) {
    is_fraction = true;
    lexer->at++;
    fits = lex_digits(lexer, &value, &scale) && fits;
  }
  int64_t ppm;
  if (lex_rate_unit(lexer, is_fraction, &ppm)) {
    fits = fits && !__builtin_mul_overflow(value, ppm, &value);
    lex_rate(lexer, begin, fits, value, scale);
    return;
  }
  uint32_t unit_begin = lexer->at;
  while (lexer->at < lexer->end && (is_letter(lexer->text[lexer->at]) || is_digit(lexer->text[lexer->at]))) {
    lexer->at++;
  }
  bool has_unit = lexer->at > unit_begin;
  int64_t us = has_unit ? unit_us(lexer, unit_begin) : 0;
  Span span = lexer_span(lexer, begin);
  if (has_unit && us == 0) {
    diagnostics_error(lexer->diagnostics, span,
                      "unknown unit; durations are written in us, ms, s, min or h, as in 50ms");
    value = 1;
  } else if (is_fraction && !has_unit) {
    diagnostics_error(lexer->diagnostics, span,
                      "a number is a whole number; only durations and rates have a fraction, as in 1.5s or 0.5%%");
    value = 1;
  } else if (!fits || (has_unit && __builtin_mul_overflow(value, us, &value)) || (!has_unit && value > INT32_MAX)) {
    diagnostics_error(lexer->diagnostics, span, "this %s is too large", has_unit ? "duration" : "number");
    value = 1;
  } else if (value % scale != 0) {
    diagnostics_error(lexer->diagnostics, span, "this duration is not a whole number of microseconds");
  }
  lexer_push(lexer, has_unit ? TOKEN_DURATION : TOKEN_NUMBER, begin, value / scale);
}

static bool lex_foreign(Lexer *lexer) {
  for (size_t i = 0; i < G_N_ELEMENTS(foreign); i++) {
    bool is_not_equal = lexer_sees(lexer, "!=");
    if (lexer_sees(lexer, foreign[i].text) && !is_not_equal) {
      uint32_t begin = lexer->at;
      lexer->at += (uint32_t)strlen(foreign[i].text);
      diagnostics_error(lexer->diagnostics, lexer_span(lexer, begin), "`%s` is not of this language; write %s",
                        foreign[i].text, foreign[i].instead);
      if (foreign[i].kind != TOKEN_END) {
        lexer_push(lexer, foreign[i].kind, begin, 0);
      } else {
        skip_line(lexer);
      }
      return true;
    }
  }
  return false;
}

static void lex_punctuation(Lexer *lexer) {
  uint32_t begin = lexer->at;
  for (size_t i = 0; i < G_N_ELEMENTS(punctuation); i++) {
    if (lexer_sees(lexer, punctuation[i].text)) {
      lexer->at += (uint32_t)strlen(punctuation[i].text);
      lexer_push(lexer, punctuation[i].kind, begin, 0);
      return;
    }
  }
  /* One message for a run of strange bytes. */
  while (lexer->at < lexer->end && !g_ascii_isgraph(lexer->text[lexer->at]) &&
         !g_ascii_isspace(lexer->text[lexer->at])) {
    lexer->at++;
  }
  lexer->at += lexer->at == begin;
  diagnostics_error(lexer->diagnostics, lexer_span(lexer, begin), "this character has no meaning here");
}

TokenList lexer_run(const Sources *sources, uint32_t file, Diagnostics *diagnostics) {
  size_t bytes;
  const char *text = sources_text(sources, file, &bytes);
  Lexer lexer = {.diagnostics = diagnostics, .text = text, .file = file, .first_of_line = true};
  if (bytes > MODEL_BYTES_MAX) {
    diagnostics_error(diagnostics, (Span){.file = file}, "this file is larger than 1 MiB");
  } else {
    lexer.end = (uint32_t)bytes;
  }
  if (lexer_sees(&lexer, "\xef\xbb\xbf")) {
    lexer.at += 3; /* a byte order mark */
  }
  for (skip_blank(&lexer); lexer.at < lexer.end; skip_blank(&lexer)) {
    char c = text[lexer.at];
    if (is_letter(c)) {
      lex_name(&lexer);
    } else if (is_digit(c)) {
      lex_number(&lexer);
    } else if (c == '"') {
      lex_string(&lexer);
    } else if (!lex_foreign(&lexer)) {
      lex_punctuation(&lexer);
    }
  }
  lexer_push(&lexer, TOKEN_END, lexer.end, 0);
  return lexer.tokens;
}
