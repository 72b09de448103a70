#include "cli/sweep.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/terminal.h"

typedef struct Worker {
  struct Crew *crew;
  GSubprocess *process; /* NULL: not started, or ended */
  SweepResult result;
  bool has_ended;
} Worker;

typedef struct Crew {
  const Sweep *sweep;
  char *program;
  Worker *workers; /* one for each model */
  guint started, running, handed_out;
  bool is_interrupted;
  GError *error; /* why a process could not be started */
} Crew;

static void say_progress(const Crew *crew) {
  if (crew->sweep->quiet || !isatty(STDERR_FILENO)) {
    return;
  }
  GString *line = g_string_new(NULL);
  g_string_printf(line, "%u of %u models checked; running:", crew->started - crew->running, crew->sweep->models->len);
  for (guint i = 0; i < crew->started; i++) {
    if (crew->workers[i].process) {
      g_string_append_printf(line, " %s", crew->workers[i].result.model);
    }
  }
  terminal_row(crew->running ? line->str : "");
  g_string_free(line, TRUE);
}

/* In the child: away from the terminal's SIGINT, which this program hands on itself; and not left behind. */
static void on_child(void *user) {
  (void)user;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void hand_out(Crew *crew) {
  for (; crew->handed_out < crew->started && crew->workers[crew->handed_out].has_ended; crew->handed_out++) {
    if (!crew->sweep->quiet && isatty(STDERR_FILENO)) {
      terminal_row("");
    }
    crew->sweep->sink(crew->sweep->user, &crew->workers[crew->handed_out].result);
    fflush(stdout);
  }
}

static void note_end(Worker *worker, const char *printed) {
  SweepResult *result = &worker->result;
  GSubprocess *process = worker->process;
  g_autoptr(JsonParser) parser = json_parser_new();
  if (printed && *printed && json_parser_load_from_data(parser, printed, -1, NULL)) {
    result->document = json_parser_steal_root(parser);
  }
  result->code = g_subprocess_get_if_exited(process) ? (ExitCode)g_subprocess_get_exit_status(process) : EXIT_INTERNAL;
  if (g_subprocess_get_if_signaled(process)) {
    char *before = result->said;
    result->said = g_strdup_printf("%slockstep: error: its process was ended by signal %d\n", before,
                                   g_subprocess_get_term_sig(process));
    g_free(before);
  }
}

static void start_more(Crew *crew);

static void on_end(GObject *source, GAsyncResult *async, void *user) {
  Worker *worker = user;
  Crew *crew = worker->crew;
  g_autofree char *printed = NULL, *said = NULL;
  g_autoptr(GError) error = NULL;
  g_subprocess_communicate_utf8_finish(G_SUBPROCESS(source), async, &printed, &said, &error);
  worker->result.said = error ? g_strdup_printf("lockstep: error: %s\n", error->message) : g_strdup(said ? said : "");
  note_end(worker, printed);
  worker->has_ended = true;
  g_clear_object(&worker->process);
  crew->running--;
  hand_out(crew);
  start_more(crew);
  say_progress(crew);
}

static bool start(Crew *crew, Worker *worker) {
  g_autoptr(GPtrArray) line = g_ptr_array_new();
  const char *head[] = {crew->program, "check", worker->result.model, "--json", "--quiet"};
  for (size_t i = 0; i < G_N_ELEMENTS(head); i++) {
    g_ptr_array_add(line, (char *)head[i]);
  }
  for (char **option = crew->sweep->options; *option; option++) {
    g_ptr_array_add(line, *option);
  }
  g_ptr_array_add(line, NULL);
  g_autoptr(GSubprocessLauncher) launcher =
      g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_subprocess_launcher_set_child_setup(launcher, on_child, NULL, NULL);
  worker->process = g_subprocess_launcher_spawnv(launcher, (const char *const *)line->pdata, &crew->error);
  if (worker->process) {
    g_subprocess_communicate_utf8_async(worker->process, NULL, NULL, on_end, worker);
  }
  return worker->process != NULL;
}

static void start_more(Crew *crew) {
  while (!crew->is_interrupted && !crew->error && crew->running < crew->sweep->job_count &&
         crew->started < crew->sweep->models->len && start(crew, &crew->workers[crew->started])) {
    crew->started++;
    crew->running++;
  }
}

/* Removed at once: a second SIGINT ends the program. */
static gboolean on_interrupt(void *user) {
  Crew *crew = user;
  crew->is_interrupted = true;
  for (guint i = 0; i < crew->started; i++) {
    if (crew->workers[i].process) {
      g_subprocess_send_signal(crew->workers[i].process, SIGINT);
    }
  }
  return G_SOURCE_REMOVE;
}

static void crew_init(Crew *crew, const Sweep *sweep) {
  *crew = (Crew){.sweep = sweep};
  crew->program = g_file_read_link("/proc/self/exe", &crew->error);
  crew->workers = g_new0(Worker, MAX(sweep->models->len, 1));
  for (guint i = 0; i < sweep->models->len; i++) {
    crew->workers[i] = (Worker){.crew = crew, .result = {.model = sweep->models->pdata[i]}};
  }
}

static void crew_clear(Crew *crew) {
  for (guint i = 0; i < crew->started; i++) {
    g_clear_pointer(&crew->workers[i].result.document, json_node_unref);
    g_free(crew->workers[i].result.said);
  }
  g_free(crew->workers);
  g_free(crew->program);
}

ExitCode sweep_run(const Sweep *sweep, GError **error) {
  Crew crew;
  crew_init(&crew, sweep);
  guint interrupts = g_unix_signal_add(SIGINT, on_interrupt, &crew);
  start_more(&crew);
  say_progress(&crew);
  while (crew.running) {
    g_main_context_iteration(NULL, TRUE);
  }
  if (!crew.is_interrupted) {
    g_source_remove(interrupts);
  }
  ExitCode code = crew.error ? EXIT_INTERNAL : crew.is_interrupted ? EXIT_INTERRUPTED : EXIT_MET;
  if (crew.error) {
    g_set_error(error, COMMAND_ERROR, EXIT_INTERNAL, "cannot start a process: %s", crew.error->message);
    g_error_free(crew.error);
  }
  crew_clear(&crew);
  return code;
}
