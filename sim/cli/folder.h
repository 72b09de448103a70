/* The output folder of a run: DIR/<model>/<scenario>/ with a trace and pictures of each violation, and run.json.
 *
 * run.json says how the results came about (command line, version, limits, verdicts) and lists the files of the run;
 * the files that an earlier run's run.json lists are removed first, so that no picture outlives its verdict. No other
 * file is touched.
 */
#ifndef LOCKSTEP_CLI_FOLDER_H
#define LOCKSTEP_CLI_FOLDER_H

#include "cli/model_file.h"
#include "cli/outcome.h"
#include "cli/watch.h"

#define FOLDER_RECORD_NAME "run.json"

typedef struct Folder {
  const char *root;    /* -o DIR */
  char **command_line; /* NULL-terminated */
  const ModelFile *model;
  const VerifyOptions *verify;
  const char *seed;  /* of a random search; NULL: none */
  gint64 timeout_us; /* 0: none */
  unsigned formats;  /* bit set that folder_formats made */
} Folder;

/* The formats of --emit, as a bit set; fails with EXIT_USAGE for an unknown name or one that cannot be made here. */
gboolean folder_formats(char **names, unsigned *chosen, GError **error);
/* What is written when --emit is not given: dot, and svg where Graphviz is at hand (says on stderr when it is
 * not). */
unsigned folder_default_formats(void);
/* The formats, a line each; caller frees. */
char *folder_formats_help(void);

/* Before a scenario is explored: makes its folder, and takes away what an earlier run has left there. */
gboolean folder_begin(const Folder *folder, const char *scenario, GError **error);
/* Writes the scenario's files, and sets the `trace` of each violated claim. */
gboolean folder_write(const Folder *folder, Outcome *outcome, GError **error);

#endif
