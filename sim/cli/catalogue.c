#include "cli/catalogue.h"

#include <gio/gio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/config.h"

#define MODEL_SUFFIX ".lk"
#define SERVICES_FOLDER "services"
#define BROKEN_FOLDER "broken"
#define FAMILY_PREFIX "# family:"

static char *program_folder(void) {
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
  return program ? g_path_get_dirname(program) : NULL;
}

static char *models_folder(void) {
  const char *chosen = g_getenv("LOCKSTEP_MODELS");
  if (chosen && *chosen) {
    return g_strdup(chosen);
  }
  g_autofree char *bin = program_folder();
  if (bin && g_str_has_prefix(bin, LOCKSTEP_BUILD_FOLDER)) {
    return g_strdup(LOCKSTEP_SOURCE_FOLDER "/models");
  }
  /* The installation may have been moved as a whole (DESTDIR, a package's staging folder). */
  g_autofree char *moved = bin ? g_build_filename(bin, LOCKSTEP_BIN_TO_DATA, "lockstep", "models", NULL) : NULL;
  if (moved && g_file_test(moved, G_FILE_TEST_IS_DIR)) {
    return g_canonicalize_filename(moved, NULL);
  }
  return g_strdup(LOCKSTEP_DATA_FOLDER "/lockstep/models");
}

/* Adds the models of folder/prefix, and of the folders below it. */
static void gather(GPtrArray *names, const char *folder, const char *prefix) {
  g_autofree char *here = g_build_filename(folder, prefix, NULL);
  g_autoptr(GDir) dir = g_dir_open(here, 0, NULL);
  for (const char *entry = dir ? g_dir_read_name(dir) : NULL; entry; entry = g_dir_read_name(dir)) {
    g_autofree char *path = g_build_filename(here, entry, NULL);
    g_autofree char *name = *prefix ? g_strconcat(prefix, "/", entry, NULL) : g_strdup(entry);
    if (g_str_has_suffix(entry, MODEL_SUFFIX)) {
      name[strlen(name) - strlen(MODEL_SUFFIX)] = '\0';
      g_ptr_array_add(names, g_steal_pointer(&name));
    } else if (strcmp(entry, SERVICES_FOLDER) != 0 && g_file_test(path, G_FILE_TEST_IS_DIR)) {
      gather(names, folder, name);
    }
  }
}

static int compare_names(gconstpointer a, gconstpointer b) {
  const char *left = *(const char *const *)a, *right = *(const char *const *)b;
  int left_is_below = strchr(left, '/') != NULL, right_is_below = strchr(right, '/') != NULL;
  return left_is_below != right_is_below ? left_is_below - right_is_below : strcmp(left, right);
}

Catalogue *catalogue_open(void) {
  Catalogue *catalogue = g_new0(Catalogue, 1);
  catalogue->folder = models_folder();
  catalogue->names = g_ptr_array_new_with_free_func(g_free);
  gather(catalogue->names, catalogue->folder, "");
  g_ptr_array_sort(catalogue->names, compare_names);
  return catalogue;
}

void catalogue_free(Catalogue *catalogue) {
  g_free(catalogue->folder);
  g_ptr_array_unref(catalogue->names);
  g_free(catalogue);
}

gboolean catalogue_has(const Catalogue *catalogue, const char *name) {
  return g_ptr_array_find_with_equal_func(catalogue->names, name, g_str_equal, NULL);
}

gboolean catalogue_is_there(const Catalogue *catalogue, GError **error) {
  if (catalogue->names->len == 0) {
    g_set_error(error, COMMAND_ERROR, EXIT_INTERNAL, "there are no models in %s", catalogue->folder);
    return FALSE;
  }
  return TRUE;
}

char *catalogue_path(const Catalogue *catalogue, const char *name) {
  return g_strconcat(catalogue->folder, "/", name, MODEL_SUFFIX, NULL);
}

char *catalogue_family_of_text(const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++) {
    g_strstrip(*line);
    if (g_str_has_prefix(*line, FAMILY_PREFIX)) {
      const char *family = g_strstrip(*line + strlen(FAMILY_PREFIX));
      return *family ? g_strdup(family) : NULL;
    }
    if (**line && **line != '#' && !g_str_has_prefix(*line, "model ")) {
      return NULL;
    }
  }
  return NULL;
}

char *catalogue_family(const Catalogue *catalogue, const char *name) {
  g_autofree char *path = catalogue_path(catalogue, name);
  g_autofree char *text = NULL;
  char *family = g_file_get_contents(path, &text, NULL, NULL) ? catalogue_family_of_text(text) : NULL;
  return family ? family : g_strdup(CATALOGUE_OTHER);
}

gboolean catalogue_is_broken(const char *name) {
  return g_str_has_prefix(name, BROKEN_FOLDER "/");
}

const char *catalogue_nearest(const Catalogue *catalogue, const char *word) {
  g_autofree char *stem = g_path_get_basename(word);
  if (g_str_has_suffix(stem, MODEL_SUFFIX)) {
    stem[strlen(stem) - strlen(MODEL_SUFFIX)] = '\0';
  }
  g_autofree const char **stems = g_new(const char *, catalogue->names->len + 1);
  for (guint i = 0; i < catalogue->names->len; i++) {
    const char *name = catalogue->names->pdata[i];
    const char *slash = strrchr(name, '/');
    stems[i] = slash ? slash + 1 : name;
  }
  const char *nearest = nearest_find(stem, stems, catalogue->names->len);
  for (guint i = 0; i < catalogue->names->len; i++) {
    if (nearest == stems[i]) {
      return catalogue->names->pdata[i];
    }
  }
  return NULL;
}
