#include "cli/quantity.h"

#include <stdbool.h>
#include <string.h>

typedef struct Unit {
  const char *name;
  guint64 factor;
} Unit;

#define KIB ((guint64)1 << 10)

static const Unit byte_units[] = {
    {"", 1},          {"K", KIB},        {"KB", KIB},          {"KiB", KIB},          {"M", KIB *KIB},
    {"MB", KIB *KIB}, {"MiB", KIB *KIB}, {"G", KIB *KIB *KIB}, {"GB", KIB *KIB *KIB}, {"GiB", KIB *KIB *KIB},
    {NULL, 0},
};
static const Unit duration_units_us[] = {
    {"", 1000000}, {"ms", 1000}, {"s", 1000000}, {"m", 60000000}, {"min", 60000000}, {"h", 3600000000}, {NULL, 0},
};
static const Unit count_units[] = {
    {"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}, {NULL, 0},
};

/* Accepts "1.5G"; refuses signs, nothing, and what does not fit 63 bits. */
static gboolean parse(const char *text, const Unit *units, guint64 *value) {
  if (!g_ascii_isdigit(*text)) {
    return FALSE;
  }
  char *end;
  double number = g_ascii_strtod(text, &end);
  for (const Unit *unit = units; unit->name; unit++) {
    if (strcmp(end, unit->name) == 0) {
      double product = number * (double)unit->factor;
      *value = product < 9e18 ? (guint64)product : 0;
      return product < 9e18;
    }
  }
  return FALSE;
}

gboolean quantity_parse_bytes(const char *text, guint64 *bytes) {
  return parse(text, byte_units, bytes) && *bytes > 0;
}

gboolean quantity_parse_duration(const char *text, gint64 *duration_us) {
  guint64 value;
  if (!parse(text, duration_units_us, &value) || value == 0) {
    return FALSE;
  }
  *duration_us = (gint64)value;
  return TRUE;
}

gboolean quantity_parse_count(const char *text, guint64 *count) {
  return parse(text, count_units, count) && *count > 0;
}

char *quantity_count(guint64 count) {
  g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, count);
  size_t digit_count = strlen(digits);
  GString *text = g_string_new(NULL);
  for (size_t i = 0; i < digit_count; i++) {
    if (i > 0 && (digit_count - i) % 3 == 0) {
      g_string_append_c(text, ',');
    }
    g_string_append_c(text, digits[i]);
  }
  return g_string_free(text, FALSE);
}

char *quantity_bytes(guint64 bytes) {
  static const char *const names[] = {"KB", "MB", "GB", "TB"};
  double value = (double)bytes / (double)KIB;
  size_t name = 0;
  while (value >= 999.5 && name + 1 < G_N_ELEMENTS(names)) {
    value /= (double)KIB;
    name++;
  }
  bool is_round = name < 2 || value == (double)(guint64)value;
  return g_strdup_printf("%.*f %s", is_round ? 0 : 1, value, names[name]);
}

char *quantity_seconds(double seconds) {
  if (seconds < 0.995) {
    return g_strdup_printf("%.2f s", seconds);
  }
  if (seconds < 99.5) {
    return g_strdup_printf("%.1f s", seconds);
  }
  guint64 whole = (guint64)(seconds + 0.5);
  return g_strdup_printf("%" G_GUINT64_FORMAT " min %" G_GUINT64_FORMAT " s", whole / 60, whole % 60);
}

char *quantity_of(guint64 count, const char *noun) {
  g_autofree char *number = quantity_count(count);
  return g_strdup_printf("%s %s%s", number, noun, count == 1 ? "" : "s");
}
