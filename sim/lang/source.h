/* Source text, spans, and diagnostics with carets.
 *
 * Sources owns the text of the model and of each service that it uses. A Span is a stretch of bytes of one of them.
 * Diagnostics gathers what is wrong, prints at most ten in order of position, and never stops the parser by itself.
 */
#ifndef LOCKSTEP_LANG_SOURCE_H
#define LOCKSTEP_LANG_SOURCE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Span {
  uint32_t file;  /* index into Sources */
  uint32_t begin; /* byte offsets into its text; end is exclusive */
  uint32_t end;
} Span;

typedef struct Sources Sources;

Sources *sources_new(void);
/* One more owner of the same Sources; each calls sources_free. */
Sources *sources_share(Sources *sources);
void sources_free(Sources *sources);
uint32_t sources_count(const Sources *sources);
/* The first file is the model, the others are what it uses. */
#define SOURCES_MODEL 0u
/* Takes a copy of the text; `name` is what diagnostics print ("models/mine.lk"). Returns the file's index. */
uint32_t sources_add(Sources *sources, const char *name, const char *text, size_t text_bytes);
const char *sources_name(const Sources *sources, uint32_t file);
const char *sources_text(const Sources *sources, uint32_t file, size_t *text_bytes);
/* 1-based line and column (in characters) of the beginning of a span. */
void sources_position(const Sources *sources, Span span, uint32_t *line, uint32_t *column);

typedef struct Diagnostics Diagnostics;

Diagnostics *diagnostics_new(const Sources *sources);
void diagnostics_free(Diagnostics *diagnostics);
void diagnostics_error(Diagnostics *diagnostics, Span span, const char *format, ...) G_GNUC_PRINTF(3, 4);
void diagnostics_warning(Diagnostics *diagnostics, Span span, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* A second place that belongs to the diagnostic before it. */
void diagnostics_note(Diagnostics *diagnostics, Span span, const char *format, ...) G_GNUC_PRINTF(3, 4);
bool diagnostics_any_error(const Diagnostics *diagnostics);
uint32_t diagnostics_count(const Diagnostics *diagnostics);
/* So many that nobody will read another; whoever would work hard for one more may stop. */
bool diagnostics_many(const Diagnostics *diagnostics);
/* The text of all of them, as docs/language.md shows ("file:line:col: error: …", source line, carets); caller frees. */
char *diagnostics_text(const Diagnostics *diagnostics);

#endif
