/* Each broken model in tests/golden/errors has its diagnostics beside it: NN_name.lk, NN_name.txt.
 *
 * LOCKSTEP_REWRITE_GOLDEN=1 writes the texts anew; look at the difference before you commit it.
 * Models are found through LOCKSTEP_MODELS, or in ./models; the golden files through LOCKSTEP_TESTS, or in ./tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/compile.h"

static const char *folder_or(const char *variable, const char *folder) {
  const char *said = g_getenv(variable);
  return said != NULL ? said : folder;
}

static char *read_service(void *user, const char *name, char **path, size_t *text_bytes) {
  (void)user;
  *path = g_strdup_printf("services/%s.lk", name);
  g_autofree char *real = g_strdup_printf("%s/services/%s.lk", folder_or("LOCKSTEP_MODELS", "models"), name);
  char *text = NULL;
  return g_file_get_contents(real, &text, text_bytes, NULL) ? text : NULL;
}

static char *diagnose(const char *folder, const char *name) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *text = NULL;
  gsize bytes = 0;
  assert_true(g_file_get_contents(path, &text, &bytes, NULL));
  Model *model = model_parse(name, text, bytes, read_service, NULL);
  int32_t scenarios = model_scenario_count(model);
  for (int32_t i = scenarios > 0 ? 0 : NO_INDEX; i < scenarios; i++) {
    program_free(model_compile(model, i, NULL, 0));
  }
  char *diagnostics = diagnostics_text(model_diagnostics(model));
  assert_true(diagnostics_any_error(model_diagnostics(model)));
  model_free(model);
  return diagnostics;
}

static char *golden_path(const char *folder, const char *name) {
  g_autofree char *stem = g_strndup(name, strlen(name) - strlen(".lk"));
  return g_strdup_printf("%s/%s.txt", folder, stem);
}

static void test_diagnostics_are_as_recorded(void **state) {
  const char *name = *state;
  g_autofree char *folder = g_build_filename(folder_or("LOCKSTEP_TESTS", "tests"), "golden", "errors", NULL);
  g_autofree char *found = diagnose(folder, name);
  g_autofree char *path = golden_path(folder, name);
  if (g_getenv("LOCKSTEP_REWRITE_GOLDEN") != NULL) {
    assert_true(g_file_set_contents(path, found, -1, NULL));
    return;
  }
  g_autofree char *expected = NULL;
  assert_true(g_file_get_contents(path, &expected, NULL, NULL));
  assert_string_equal(found, expected);
}

static int compare_names(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int main(void) {
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *path = g_build_filename(folder_or("LOCKSTEP_TESTS", "tests"), "golden", "errors", NULL);
  g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
  const char *name;
  while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
    if (g_str_has_suffix(name, ".lk")) {
      g_ptr_array_add(names, g_strdup(name));
    }
  }
  g_ptr_array_sort(names, compare_names);
  g_autofree struct CMUnitTest *tests = g_new0(struct CMUnitTest, names->len + 1);
  for (guint i = 0; i < names->len; i++) {
    tests[i] = (struct CMUnitTest){
        .name = names->pdata[i], .test_func = test_diagnostics_are_as_recorded, .initial_state = names->pdata[i]};
  }
  /* A folder that was not found is a failure, not an empty success. */
  return names->len < 20 ? 1 : _cmocka_run_group_tests("diagnostics", tests, names->len, NULL, NULL);
}
