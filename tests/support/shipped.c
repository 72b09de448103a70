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

const ShippedScenario shipped_small_scenarios[] = {
    {"advisory_lock", "calm"},
    {"advisory_lock", "pause"},
    {"advisory_lock", "client_crash"},
    {"advisory_lock", "impatient"},
    {"advisory_lock", "short_cut"},
    {"advisory_lock", "cut"},
    {"advisory_lock", "reaped"},
    {"advisory_lock", "late_write"},
    {"consul", "calm"},
    {"fifo", "calm"},
    {"fifo", "pause"},
    {"lease_at_resource", "calm"},
    {"lease_at_resource", "pause"},
    {"lease_at_resource", "late"},
    {"lease_at_resource", "small_skew"},
    {"lease_at_resource", "large_skew"},
    {"lease_at_resource", "small_step"},
    {"lease_at_resource", "large_step"},
    {"lock_table", "calm"},
    {"lock_table", "small_skew"},
    {"lock_table", "skew"},
    {"lock_table", "small_step"},
    {"lock_table", "step"},
    {"lock_table", "client_crash"},
    {"lock_table", "pause"},
    {"optimistic_version", "calm"},
    {"optimistic_version", "pause"},
    {"optimistic_version", "late"},
    {"optimistic_version", "client_crash"},
    {"optimistic_version", "restart"},
    {"readers_writer", "calm"},
    {"readers_writer", "pause"},
    {"redlock_cas", "calm"},
    {"redlock_counter", "calm"},
    {"redlock_extend", "calm"},
    {"select_for_update", "calm"},
    {"select_for_update", "pause"},
    {"select_for_update", "short_pause"},
    {"select_for_update", "no_timeout"},
    {"select_for_update", "late"},
    {"select_for_update", "twice"},
    {"select_for_update", "client_crash"},
    {"select_for_update", "silent_crash"},
    {"select_for_update", "restart"},
    {"semaphore", "calm"},
    {"semaphore", "short_pause"},
    {"stamped_writes", "calm"},
    {"stamped_writes", "pause"},
    {"stamped_writes", "suspend"},
    {"watchdog", "calm"},
    {"watchdog", "client_crash"},
    {"watchdog", "unordered"},
    {"watchdog_deadline", "calm"},
    {"broken/advisory_unlock_first", "calm"},
    {"broken/consul_no_delay", "calm"},
    {"broken/lock_table_blind", "calm"},
    {"broken/lock_table_no_margin", "calm"},
    {"broken/lock_table_no_margin", "skew"},
    {"broken/no_expiry", "calm"},
    {"broken/no_expiry", "pause"},
    {"broken/no_expiry", "client_crash"},
    {"broken/no_expiry", "late_set"},
    {"broken/optimistic_version_blind", "calm"},
    {"broken/optimistic_version_reread", "calm"},
    {"broken/overrun", "calm"},
    {"broken/overrun", "work_below"},
    {"broken/overrun", "work_above"},
    {"broken/readers_one_lease", "calm"},
    {"broken/redlock_cas_read_first", "calm"},
    {"broken/redlock_no_validity", "calm"},
    {"broken/redlock_wall_clock", "calm"},
    {"broken/row_lock_of_connection", "calm"},
    {"broken/row_lock_of_connection", "late"},
    {"broken/semaphore_given_twice", "calm"},
    {"broken/semaphore_two_steps", "calm"},
    {"broken/setnx_expire", "calm"},
    {"broken/setnx_expire", "client_crash"},
    {"broken/watchdog_never", "calm"},
    {"broken/watchdog_recreate", "ordered"},
    {"broken/watchdog_recreate", "unordered"},
    {NULL, NULL},
};
