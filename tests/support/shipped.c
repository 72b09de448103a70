#include "support/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *models_path(const char *name) {
  const char *folder = g_getenv("LOCKSTEP_MODELS");
  g_autofree char *file = g_strconcat(name, ".lk", NULL);
  return g_build_filename(folder != NULL ? folder : "models", file, NULL);
}

static char *read_service(void *user, const char *name, char **path, size_t *text_bytes) {
  (void)user;
  g_autofree char *below = g_build_filename("services", name, NULL);
  char *text = NULL;
  *path = models_path(below);
  return g_file_get_contents(*path, &text, text_bytes, NULL) ? text : NULL;
}

static void fail_with(const Model *model) {
  char *text = diagnostics_text(model_diagnostics(model));
  fprintf(stderr, "%s\n", text);
  abort();
}

static int32_t find_scenario(const Model *model, const char *scenario) {
  for (int32_t s = 0; s < model_scenario_count(model); s++) {
    if (strcmp(model_scenario_name(model, s), scenario) == 0) {
      return s;
    }
  }
  fprintf(stderr, "no scenario %s\n", scenario);
  abort();
}

static Shipped compile(Model *model, const char *scenario, const char *const *settings) {
  Setting list[16];
  int32_t count = 0;
  for (; settings != NULL && settings[2 * count] != NULL; count++) {
    list[count] = (Setting){settings[2 * count], settings[2 * count + 1]};
  }
  if (diagnostics_any_error(model_diagnostics(model))) {
    fail_with(model);
  }
  Program *program = model_compile(model, find_scenario(model, scenario), list, count);
  if (program == NULL) {
    fail_with(model);
  }
  return (Shipped){model, program};
}

static Model *parse_file(const char *name) {
  g_autofree char *path = models_path(name);
  g_autofree char *text = NULL;
  size_t bytes = 0;
  if (!g_file_get_contents(path, &text, &bytes, NULL)) {
    fprintf(stderr, "cannot read %s\n", path);
    abort();
  }
  return model_parse(path, text, bytes, read_service, NULL);
}

Shipped shipped_open(const char *model, const char *scenario, const char *const *settings) {
  return compile(parse_file(model), scenario, settings);
}

Shipped shipped_text(const char *text, const char *scenario, const char *const *settings) {
  return compile(model_parse("test.lk", text, strlen(text), read_service, NULL), scenario, settings);
}

void shipped_close(Shipped *shipped) {
  program_free(shipped->program);
  model_free(shipped->model);
}

char **shipped_scenarios(const char *name) {
  Model *model = parse_file(name);
  char **names = g_new0(char *, (gsize)model_scenario_count(model) + 1);
  for (int32_t s = 0; s < model_scenario_count(model); s++) {
    names[s] = g_strdup(model_scenario_name(model, s));
  }
  model_free(model);
  return names;
}
