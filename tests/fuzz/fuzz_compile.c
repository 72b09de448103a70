/* Any bytes as a model: the compiler says what is wrong and neither crashes, hangs nor leaks.
 *
 * With libFuzzer: clang -fsanitize=fuzzer,address,undefined. With -DFUZZ_STANDALONE: a program that runs over the files
 * and folders that it is given, so that a corpus is an ordinary test. The services are fixed and small.
 */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "lang/compile.h"

static const struct {
  const char *name, *text;
} services[] = {
    {"redis",
     "service redis var owner : token? = none lock var fence : ticket = 0 timer expiry on wall\n"
     "on set_nx(key, px) { if owner != none { reply nil } owner = key; expiry in px; reply ok }\n"
     "on release(key) { if owner != key { reply 0 } owner = none; expiry off; reply 1 }\n"
     "on set_nx_fenced(key, px) { if owner != none { reply nil } owner = key; fence = next fence; reply fence, 1 }\n"
     "on del() { owner = none; expiry off }\nafter expiry { owner = none }\n"},
    {"register", "service register on read() { observe } on write() { commit }"},
    {"cell",
     "service cell var value : client? = none on get() { reply value } on set(c) { value = c } on clear() { value = none }"},
    {"broken", "service broken var x : on y( { reply"},
};

static char *read_service(void *user, const char *name, char **path, size_t *text_bytes) {
  (void)user;
  for (size_t i = 0; i < G_N_ELEMENTS(services); i++) {
    if (strcmp(services[i].name, name) == 0) {
      *path = g_strdup(name);
      *text_bytes = strlen(services[i].text);
      return g_strdup(services[i].text);
    }
  }
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  Model *model = model_parse("fuzz.lk", (const char *)data, bytes, read_service, NULL);
  int32_t scenarios = model_scenario_count(model);
  Setting setting = {"ttl", "5s + 1ms"};
  for (int32_t i = scenarios > 0 ? 0 : NO_INDEX; i < scenarios && i < 4; i++) {
    Program *program = model_compile(model, i, &setting, i == 3 ? 1 : 0);
    if (program != NULL) {
      char *listing = program_listing(program);
      CHECK(strlen(listing) > 0);
      g_free(listing);
    }
    program_free(program);
  }
  char *text = diagnostics_text(model_diagnostics(model));
  CHECK(g_utf8_validate(text, -1, NULL));
  CHECK(!diagnostics_any_error(model_diagnostics(model)) || strlen(text) > 0);
  g_free(text);
  model_free(model);
  return 0;
}

#ifdef FUZZ_STANDALONE
static int run_file(const char *path) {
  g_autofree char *text = NULL;
  gsize bytes = 0;
  if (!g_file_get_contents(path, &text, &bytes, NULL)) {
    fprintf(stderr, "cannot read %s\n", path);
    return 1;
  }
  return LLVMFuzzerTestOneInput((const uint8_t *)text, bytes);
}

static int run_path(const char *path, int *count) {
  g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
  if (folder == NULL) {
    *count += 1;
    return run_file(path);
  }
  int failed = 0;
  const char *name;
  while ((name = g_dir_read_name(folder)) != NULL) {
    g_autofree char *below = g_build_filename(path, name, NULL);
    failed |= run_path(below, count);
  }
  return failed;
}

int main(int argc, char **argv) {
  int failed = 0, count = 0;
  for (int i = 1; i < argc; i++) {
    failed |= run_path(argv[i], &count);
  }
  printf("%d inputs\n", count);
  return failed || count == 0;
}
#endif
