#include "lang/source.h"

#include <string.h>

#include "base/check.h"
#include "base/vec.h"

#define PRINTED_MAX 10      /* diagnostics that the user sees */
#define KEPT_MAX 1000       /* diagnostics that are remembered at all */
#define LINE_CHARACTERS 140 /* of a source line that are shown */

typedef struct SourceFile {
  char *name;
  char *text;
  size_t text_bytes;
  VEC(uint32_t) line_starts;
} SourceFile;

struct Sources {
  VEC(SourceFile) files;
  int32_t references;
};

Sources *sources_new(void) {
  Sources *sources = g_new0(Sources, 1);
  sources->references = 1;
  return sources;
}

Sources *sources_share(Sources *sources) {
  sources->references++;
  return sources;
}

void sources_free(Sources *sources) {
  if (sources == NULL || --sources->references > 0) {
    return;
  }
  for (uint32_t i = 0; i < sources->files.count; i++) {
    SourceFile *file = &sources->files.items[i];
    g_free(file->name);
    g_free(file->text);
    vec_free(&file->line_starts);
  }
  vec_free(&sources->files);
  g_free(sources);
}

uint32_t sources_add(Sources *sources, const char *name, const char *text, size_t text_bytes) {
  SourceFile file = {.name = g_strdup(name), .text = g_malloc(text_bytes + 1), .text_bytes = text_bytes};
  if (text_bytes > 0) {
    memcpy(file.text, text, text_bytes);
  }
  file.text[text_bytes] = '\0';
  vec_push(&file.line_starts, 0);
  for (size_t i = 0; i < text_bytes; i++) {
    if (file.text[i] == '\n') {
      vec_push(&file.line_starts, (uint32_t)(i + 1));
    }
  }
  vec_push(&sources->files, file);
  return sources->files.count - 1;
}

static const SourceFile *file_at(const Sources *sources, uint32_t file) {
  CHECK(file < sources->files.count);
  return &sources->files.items[file];
}

uint32_t sources_count(const Sources *sources) {
  return sources->files.count;
}

const char *sources_name(const Sources *sources, uint32_t file) {
  return file_at(sources, file)->name;
}

const char *sources_text(const Sources *sources, uint32_t file, size_t *text_bytes) {
  const SourceFile *found = file_at(sources, file);
  if (text_bytes != NULL) {
    *text_bytes = found->text_bytes;
  }
  return found->text;
}

/* The last line that starts at or before `offset`, from 0. */
static uint32_t line_of(const SourceFile *file, uint32_t offset) {
  uint32_t low = 0, high = file->line_starts.count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (file->line_starts.items[middle] <= offset) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Bytes of the character at `at`; what is no UTF-8 counts as one character a byte. */
static size_t character_bytes(const char *at, size_t left) {
  if ((unsigned char)*at < 0x80) {
    return 1;
  }
  gunichar character = g_utf8_get_char_validated(at, (gssize)left);
  return character >= (gunichar)-2 ? 1 : (size_t)g_unichar_to_utf8(character, NULL);
}

static uint32_t characters_between(const SourceFile *file, uint32_t begin, uint32_t end) {
  uint32_t count = 0;
  for (uint32_t at = begin; at < end; count++) {
    at += (uint32_t)character_bytes(file->text + at, file->text_bytes - at);
  }
  return count;
}

void sources_position(const Sources *sources, Span span, uint32_t *line, uint32_t *column) {
  const SourceFile *file = file_at(sources, span.file);
  uint32_t row = line_of(file, span.begin);
  *line = row + 1;
  *column = characters_between(file, file->line_starts.items[row], span.begin) + 1;
}

/* Diagnostics */

typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE } Severity;

static const char *const severity_names[] = {"error", "warning", "note"};

typedef struct Diagnostic {
  Severity severity;
  Span span;
  char *text;
  uint32_t order;  /* of arrival */
  uint32_t leader; /* arrival order of the diagnostic that a note belongs to */
} Diagnostic;

struct Diagnostics {
  const Sources *sources;
  VEC(Diagnostic) items;
  GHashTable *known; /* "severity file begin end text", so that nothing is said twice */
  bool any_error;
  bool muted; /* the diagnostic before was a repetition: its notes are, too */
};

Diagnostics *diagnostics_new(const Sources *sources) {
  Diagnostics *diagnostics = g_new0(Diagnostics, 1);
  diagnostics->sources = sources;
  diagnostics->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  return diagnostics;
}

void diagnostics_free(Diagnostics *diagnostics) {
  if (diagnostics == NULL) {
    return;
  }
  for (uint32_t i = 0; i < diagnostics->items.count; i++) {
    g_free(diagnostics->items.items[i].text);
  }
  vec_free(&diagnostics->items);
  g_hash_table_destroy(diagnostics->known);
  g_free(diagnostics);
}

/* Messages quote the model, and that may hold any bytes; what is printed is UTF-8 without control characters. */
static char *printable(char *text) {
  char *valid = g_utf8_make_valid(text, -1);
  g_free(text);
  for (char *at = valid; *at != '\0'; at++) {
    *at = g_ascii_iscntrl(*at) ? '?' : *at;
  }
  return valid;
}

static void diagnostics_add(Diagnostics *diagnostics, Severity severity, Span span, const char *format,
                            va_list arguments) G_GNUC_PRINTF(4, 0);

static void diagnostics_add(Diagnostics *diagnostics, Severity severity, Span span, const char *format,
                            va_list arguments) {
  if (diagnostics->items.count >= KEPT_MAX) {
    return;
  }
  char *text = printable(g_strdup_vprintf(format, arguments));
  if (severity != SEVERITY_NOTE) {
    char *key = g_strdup_printf("%d %u %u %u %s", (int)severity, span.file, span.begin, span.end, text);
    diagnostics->muted = !g_hash_table_add(diagnostics->known, key);
  }
  if (diagnostics->muted) {
    g_free(text);
    return;
  }
  Diagnostic added = {.severity = severity, .span = span, .text = text, .order = diagnostics->items.count};
  added.leader = added.order;
  if (severity == SEVERITY_NOTE) {
    CHECK(diagnostics->items.count > 0);
    added.leader = diagnostics->items.items[diagnostics->items.count - 1].leader;
  }
  vec_push(&diagnostics->items, added);
}

void diagnostics_error(Diagnostics *diagnostics, Span span, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  diagnostics_add(diagnostics, SEVERITY_ERROR, span, format, arguments);
  va_end(arguments);
  diagnostics->any_error = true;
}

void diagnostics_warning(Diagnostics *diagnostics, Span span, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  diagnostics_add(diagnostics, SEVERITY_WARNING, span, format, arguments);
  va_end(arguments);
}

void diagnostics_note(Diagnostics *diagnostics, Span span, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  diagnostics_add(diagnostics, SEVERITY_NOTE, span, format, arguments);
  va_end(arguments);
}

bool diagnostics_any_error(const Diagnostics *diagnostics) {
  return diagnostics->any_error;
}

uint32_t diagnostics_count(const Diagnostics *diagnostics) {
  return diagnostics->items.count;
}

bool diagnostics_many(const Diagnostics *diagnostics) {
  return diagnostics->items.count >= KEPT_MAX / 10;
}

static int compare_positions(const void *left, const void *right, void *user) {
  const Diagnostics *diagnostics = user;
  const Diagnostic *a = *(const Diagnostic *const *)left, *b = *(const Diagnostic *const *)right;
  const Diagnostic *a_leader = &diagnostics->items.items[a->leader], *b_leader = &diagnostics->items.items[b->leader];
  if (a_leader->span.file != b_leader->span.file) {
    return a_leader->span.file < b_leader->span.file ? -1 : 1;
  }
  if (a_leader->span.begin != b_leader->span.begin) {
    return a_leader->span.begin < b_leader->span.begin ? -1 : 1;
  }
  return a->order < b->order ? -1 : a->order > b->order;
}

/* One character of a source line, as a terminal can show it. */
static void append_character(GString *out, const char *at, size_t bytes) {
  gunichar character = bytes == 1 && (unsigned char)*at >= 0x80 ? 0 : g_utf8_get_char(at);
  if (character == '\t') {
    g_string_append_c(out, ' ');
  } else if (character == 0 || !g_unichar_isprint(character)) {
    g_string_append_c(out, '?');
  } else {
    g_string_append_len(out, at, (gssize)bytes);
  }
}

/* The line under a diagnostic and the carets under that. Of a very long line, the part around the span. */
static void append_excerpt(GString *out, const SourceFile *file, Span span) {
  uint32_t row = line_of(file, span.begin);
  uint32_t begin = file->line_starts.items[row];
  uint32_t end = row + 1 < file->line_starts.count ? file->line_starts.items[row + 1] - 1 : (uint32_t)file->text_bytes;
  if (end > begin && file->text[end - 1] == '\r') {
    end--;
  }
  uint32_t column = characters_between(file, begin, span.begin);
  uint32_t skipped = column > LINE_CHARACTERS - 40 ? column - 40 : 0;
  GString *carets = g_string_new(NULL);
  g_string_append_printf(out, "  %4u | ", row + 1);
  uint32_t index = 0;
  for (uint32_t at = begin; at < end && index < skipped + LINE_CHARACTERS; index++) {
    uint32_t bytes = (uint32_t)character_bytes(file->text + at, end - at);
    if (index >= skipped) {
      append_character(out, file->text + at, bytes);
      g_string_append_c(carets, at >= span.begin && (at < span.end || at == span.begin) ? '^' : ' ');
    }
    at += bytes;
  }
  if (span.begin >= end && index < skipped + LINE_CHARACTERS) {
    g_string_append_c(carets, '^');
  }
  g_string_truncate(carets, strlen(g_strchomp(carets->str)));
  g_string_append_printf(out, "\n       | %s\n", carets->str);
  g_string_free(carets, TRUE);
}

static void append_diagnostic(GString *out, const Diagnostics *diagnostics, const Diagnostic *item) {
  const SourceFile *file = file_at(diagnostics->sources, item->span.file);
  uint32_t line, column;
  sources_position(diagnostics->sources, item->span, &line, &column);
  g_string_append_printf(out, "%s:%u:%u: %s: %s\n", file->name, line, column, severity_names[item->severity],
                         item->text);
  append_excerpt(out, file, item->span);
}

char *diagnostics_text(const Diagnostics *diagnostics) {
  uint32_t count = diagnostics->items.count;
  const Diagnostic **sorted = g_new(const Diagnostic *, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    sorted[i] = &diagnostics->items.items[i];
  }
  g_qsort_with_data(sorted, (gint)count, sizeof *sorted, compare_positions, (gpointer)(uintptr_t)diagnostics);
  GString *out = g_string_new(NULL);
  uint32_t printed = 0, withheld = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool is_note = sorted[i]->severity == SEVERITY_NOTE;
    if (!is_note && printed == PRINTED_MAX) {
      withheld++;
    }
    if (withheld == 0) {
      printed += !is_note;
      append_diagnostic(out, diagnostics, sorted[i]);
    }
  }
  if (withheld > 0) {
    g_string_append_printf(out, "and %u more\n", withheld);
  }
  g_free(sorted);
  return g_string_free(out, FALSE);
}
