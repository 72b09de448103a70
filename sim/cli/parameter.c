#include "cli/parameter.h"

static const struct {
  const char *name;
  int64_t us;
} units[] = {{"h", 3600000000}, {"min", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1}};

char *parameter_text(const Parameter *parameter) {
  int64_t value = parameter->value;
  if (!parameter->is_duration) {
    return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)value);
  }
  if (value == DURATION_INFINITE || value == 0) {
    return g_strdup(value ? "inf" : "0s");
  }
  size_t unit = 0;
  while (value % units[unit].us != 0) {
    unit++;
  }
  return g_strdup_printf("%" G_GINT64_FORMAT "%s", (gint64)(value / units[unit].us), units[unit].name);
}

char *parameters_text(const Program *program) {
  GString *text = g_string_new(NULL);
  for (int32_t i = 0; i < program->parameter_count; i++) {
    g_autofree char *value = parameter_text(&program->parameters[i]);
    g_string_append_printf(text, "%s%s %s", i ? ", " : "", program->parameters[i].name, value);
  }
  return g_string_free(text, FALSE);
}
