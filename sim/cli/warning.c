#include "cli/warning.h"

#include <string.h>

Warning *warning_new(const Program *program, const char *kind, const char *text, Span span, const char *scenario) {
  Warning *warning = g_new0(Warning, 1);
  warning->kind = g_strdup(kind);
  warning->text = g_strdup(text);
  warning->scenarios = g_string_new(scenario);
  warning->sources = program->sources;
  warning->span = span;
  if (span.begin != span.end) {
    warning->file = g_strdup(sources_name(program->sources, span.file));
    sources_position(program->sources, span, &warning->line, &warning->column);
  }
  return warning;
}

void warning_free(void *item) {
  Warning *warning = item;
  g_free(warning->kind);
  g_free(warning->text);
  g_free(warning->file);
  g_string_free(warning->scenarios, TRUE);
  g_free(warning);
}

char *warning_text(const Warning *warning) {
  g_autofree char *where =
      warning->scenarios->len ? g_strdup_printf(" (in %s)", warning->scenarios->str) : g_strdup("");
  if (!warning->file) {
    return g_strdup_printf("warning: %s%s\n", warning->text, where);
  }
  Diagnostics *diagnostics = diagnostics_new(warning->sources);
  diagnostics_warning(diagnostics, warning->span, "%s%s", warning->text, where);
  char *text = diagnostics_text(diagnostics);
  diagnostics_free(diagnostics);
  return text;
}

static bool is_same(const Warning *a, const Warning *b) {
  return strcmp(a->kind, b->kind) == 0 && strcmp(a->text, b->text) == 0 && g_strcmp0(a->file, b->file) == 0 &&
         a->line == b->line && a->column == b->column;
}

/* Takes `warning` over. */
static void add(GPtrArray *warnings, Warning *warning) {
  for (guint i = 0; i < warnings->len; i++) {
    Warning *known = warnings->pdata[i];
    if (is_same(known, warning)) {
      g_string_append_printf(known->scenarios, ", %s", warning->scenarios->str);
      warning_free(warning);
      return;
    }
  }
  g_ptr_array_add(warnings, warning);
}

GPtrArray *warnings_gather(const GPtrArray *outcomes) {
  GPtrArray *warnings = g_ptr_array_new_with_free_func(warning_free);
  for (guint i = 0; i < outcomes->len; i++) {
    const Outcome *outcome = outcomes->pdata[i];
    for (int32_t j = 0; j < outcome->verification->finding_count; j++) {
      const Finding *finding = &outcome->verification->findings[j];
      add(warnings,
          warning_new(outcome->program, finding->kind, finding->text, finding->span, outcome->program->scenario));
    }
  }
  return warnings;
}
