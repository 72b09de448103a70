#include "cli/distribution_text.h"

#include <string.h>

#include "cli/command.h"
#include "cli/quantity.h"

#define NS_PER_US 1e3

typedef struct Form {
  const char *name;
  DistributionKind kind;
  bool second_is_duration, second_is_number;
  const char *text;
} Form;

static const Form forms[] = {
    {"constant", DISTRIBUTION_CONSTANT, false, false, "constant(10ms)          always"},
    {"uniform", DISTRIBUTION_UNIFORM, true, false, "uniform(1ms, 5ms)       anywhere between"},
    {"exponential", DISTRIBUTION_EXPONENTIAL, false, false, "exponential(10ms)       its mean"},
    {"lognormal", DISTRIBUTION_LOGNORMAL, false, true,
     "lognormal(1ms, 0.5)     its median, the deviation of its logarithm"},
    {"pareto", DISTRIBUTION_PARETO, false, true, "pareto(50ms, 1.5)       the least, the exponent of its tail"},
};

static gboolean wrong(const char *option, const char *text, GError **error) {
  g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s '%s' is no distribution such as lognormal(1ms, 0.5); see --help",
              option, text);
  return FALSE;
}

/* Microseconds suffice for what people type, and 0 is a duration, too. */
static gboolean parse_duration_ns(const char *text, double *ns) {
  gint64 us = 0;
  char *end;
  double micro = g_ascii_strtod(text, &end);
  if (end != text && strcmp(end, "us") == 0 && micro >= 0) {
    *ns = micro * NS_PER_US;
    return TRUE;
  }
  gboolean is_zero = end != text && micro == 0;
  *ns = is_zero ? 0 : (quantity_parse_duration(text, &us) ? (double)us * NS_PER_US : -1);
  return *ns >= 0;
}

static gboolean parse_arguments(const Form *form, char **arguments, Distribution *distribution) {
  guint count = g_strv_length(arguments), wanted = form->second_is_duration || form->second_is_number ? 2 : 1;
  if (count != wanted || !parse_duration_ns(g_strstrip(arguments[0]), &distribution->a_ns)) {
    return FALSE;
  }
  if (form->second_is_duration) {
    return parse_duration_ns(g_strstrip(arguments[1]), &distribution->b) && distribution->b >= distribution->a_ns;
  }
  if (form->second_is_number) {
    char *end;
    distribution->b = g_ascii_strtod(g_strstrip(arguments[1]), &end);
    return *end == '\0' && end != arguments[1] && distribution->b > 0;
  }
  return TRUE;
}

static gboolean read_samples(const char *option, const char *path, Distribution *distribution, GError **error) {
  g_autofree char *text = NULL;
  g_autoptr(GError) cause = NULL;
  if (!g_file_get_contents(path, &text, NULL, &cause)) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s: %s", option, cause->message);
    return FALSE;
  }
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  distribution->samples_ns = g_new0(double, g_strv_length(lines) + 1);
  for (guint i = 0; lines[i]; i++) {
    if (*g_strstrip(lines[i]) == '\0') {
      continue;
    }
    if (!parse_duration_ns(lines[i], &distribution->samples_ns[distribution->sample_count++])) {
      g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s: %s:%u: '%s' is no duration such as 1.5ms", option, path,
                  i + 1, lines[i]);
      return FALSE;
    }
  }
  if (distribution->sample_count == 0) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s: %s has no numbers", option, path);
  }
  return distribution->sample_count > 0;
}

gboolean distribution_parse(const char *option, const char *text, Distribution *distribution, GError **error) {
  *distribution = (Distribution){.kind = DISTRIBUTION_CONSTANT};
  if (parse_duration_ns(text, &distribution->a_ns)) {
    return TRUE;
  }
  const char *open = strchr(text, '(');
  if (!open || !g_str_has_suffix(text, ")")) {
    return wrong(option, text, error);
  }
  g_autofree char *name = g_strndup(text, (gsize)(open - text));
  g_autofree char *inner = g_strndup(open + 1, strlen(open + 1) - 1);
  if (strcmp(name, "empirical") == 0) {
    distribution->kind = DISTRIBUTION_EMPIRICAL;
    return read_samples(option, inner, distribution, error);
  }
  g_auto(GStrv) arguments = g_strsplit(inner, ",", -1);
  for (size_t f = 0; f < G_N_ELEMENTS(forms); f++) {
    if (strcmp(name, forms[f].name) == 0) {
      distribution->kind = forms[f].kind;
      return parse_arguments(&forms[f], arguments, distribution) || wrong(option, text, error);
    }
  }
  return wrong(option, text, error);
}

gboolean distribution_parse_every(const char *option, const char *text, Distribution *every, Distribution *length,
                                  GError **error) {
  const char *middle = strstr(text, " for ");
  if (!g_str_has_prefix(text, "every ") || !middle) {
    g_set_error(error, COMMAND_ERROR, EXIT_USAGE, "--%s '%s' is not such as \"every 10min for pareto(50ms, 1.5)\"",
                option, text);
    return FALSE;
  }
  const char *from = text + strlen("every ");
  g_autofree char *interval = g_strndup(from, middle > from ? (gsize)(middle - from) : 0);
  if (!distribution_parse(option, interval, every, error) ||
      !distribution_parse(option, middle + strlen(" for "), length, error)) {
    return FALSE;
  }
  every->kind = every->kind == DISTRIBUTION_CONSTANT ? DISTRIBUTION_EXPONENTIAL : every->kind;
  return every->a_ns > 0 || every->kind == DISTRIBUTION_EMPIRICAL || wrong(option, text, error);
}

char *distribution_help(void) {
  GString *text = g_string_new("Distributions of a length of time:");
  for (size_t f = 0; f < G_N_ELEMENTS(forms); f++) {
    g_string_append_printf(text, "\n  %s", forms[f].text);
  }
  g_string_append(
      text,
      "\n  empirical(FILE)         one of the durations in a file, a line each\n  10ms                    constant");
  return g_string_free(text, FALSE);
}
