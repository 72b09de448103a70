#include "world/recorder.h"

#include <glib.h>
#include <string.h>

#include "base/check.h"

typedef struct TokenInfo {
  int32_t lane, serial;
} TokenInfo; /* who made it, or had it made */

struct Recorder {
  const World *world;
  Run *run;
  GArray *steps;  /* RunStep */
  GArray *events; /* RunEvent of the step under way */
  int64_t now_ns;
  int64_t tickets[256];      /* real numbers by name */
  int32_t ticket_owner[256]; /* client + 1 that it was made for; 0: nobody */
  bool ticket_missed;        /* the last `next` fell between two that were there */
  TokenInfo tokens[256];
  int32_t attempts[256]; /* number of the attempt by holding name */
  int32_t token_serial[WORLD_PROCESSES_MAX], attempt_serial[PROGRAM_CLIENTS_MAX];
  int32_t resuming_task;                /* of this step: the task + 1 whose own pause ends, 0: none */
  char *known[PROGRAM_SERVERS_MAX][64]; /* what was last written of each variable: its token may be forgotten since */
  int64_t paused_since_ns[WORLD_PROCESSES_MAX][PROGRAM_TASKS_MAX + 1]; /* of a whole process: 0 */
  struct {
    int32_t message, server;
    char *text;
  } call[PROGRAM_CLIENTS_MAX][PROGRAM_TASKS_MAX]; /* the ask waited for */
};

/* --- words ------------------------------------------------------------------------------------------------------- */

static const char *lane_name(const Recorder *recorder, int32_t lane) {
  return recorder->run->lanes[lane].name;
}

static char *value_text(const Recorder *recorder, Value value) {
  const Program *program = recorder->world->program;
  switch ((Sort)value.sort) {
  case SORT_INT: return g_strdup_printf("%d", value.number);
  case SORT_BOOL: return g_strdup(value.number ? "true" : "false");
  case SORT_WORD: return g_strdup(program->words[value.number]);
  case SORT_DURATION: return world_duration_text(program->durations_us[value.number]);
  case SORT_CLIENT: return g_strdup(lane_name(recorder, value.number - 1));
  case SORT_SERVER: return g_strdup(lane_name(recorder, program->client_count + value.number - 1));
  case SORT_TICKET: return g_strdup_printf("%" G_GINT64_FORMAT, recorder->tickets[value.number]);
  case SORT_TOKEN: {
    TokenInfo token = recorder->tokens[value.number];
    g_autofree char *lower = g_ascii_strdown(lane_name(recorder, token.lane), -1);
    bool is_client = token.lane < program->client_count;
    return g_strdup_printf(is_client ? "%s%d" : "%s#%d", lower, token.serial);
  }
  case SORT_STAMP: return g_strdup(value.number ? "a stamp" : "never");
  default: return g_strdup("none");
  }
}

static int32_t value_owner(const Recorder *recorder, Value value) {
  switch ((Sort)value.sort) {
  case SORT_TOKEN: {
    int32_t lane = recorder->tokens[value.number].lane;
    return lane < recorder->world->program->client_count ? lane : -1;
  }
  case SORT_TICKET: return recorder->ticket_owner[value.number] - 1;
  case SORT_CLIENT: return value.number - 1;
  default: return -1;
  }
}

/* "set_nx(a1, 10s)" of a request, "ok" of a reply. */
static char *message_text(const Recorder *recorder, const Cell *message) {
  const World *world = recorder->world;
  bool is_reply = message[MESSAGE_KIND] == MESSAGE_REPLY, is_notice = message[MESSAGE_KIND] == MESSAGE_NOTICE;
  const Notice *notice = is_notice ? &world->program->notices[message[MESSAGE_HANDLER]] : NULL;
  const Handler *handler =
      is_notice ? NULL : &world_service(world, message[MESSAGE_SERVER] - 1)->handlers[message[MESSAGE_HANDLER]];
  int32_t count = is_reply ? world->layout.value_count : is_notice ? notice->param_count : handler->param_count;
  GString *text = g_string_new(is_reply ? NULL : is_notice ? notice->name : handler->name);
  g_string_append(text, is_reply ? "" : "(");
  for (int32_t i = 0; i < count; i++) {
    const Cell *cells = &message[MESSAGE_VALUES + VALUE_CELLS * i];
    Value value = {cells[0], cells[1], 0};
    if (is_reply && i > 0 && value.sort == SORT_NONE) {
      break;
    }
    g_autofree char *word = value_text(recorder, value);
    g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", word);
  }
  g_string_append(text, is_reply ? "" : ")");
  return g_string_free(text, FALSE);
}

/* What the user wrote at an instruction, on one line and not too long. */
static char *source_text(const Recorder *recorder, int32_t pc) {
  const Program *program = recorder->world->program;
  Span span = program->code[pc].span;
  size_t bytes;
  const char *text = sources_text(program->sources, span.file, &bytes);
  if (text == NULL || span.end > bytes || span.begin >= span.end) {
    return g_strdup("");
  }
  size_t length = span.end - span.begin;
  const char *end_of_line = memchr(text + span.begin, '\n', length);
  length = end_of_line != NULL ? (size_t)(end_of_line - (text + span.begin)) : length;
  g_autofree char *line = g_strndup(text + span.begin, length);
  if (!g_utf8_validate(line, -1, NULL)) {
    return g_strdup("");
  }
  g_strchomp(line);
  return g_utf8_strlen(line, -1) <= 60
             ? g_strdup(line)
             : g_strdup_printf("%.*s…", (int)(g_utf8_offset_to_pointer(line, 59) - line), line);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static RunEvent *add_event(Recorder *recorder, RunEventKind kind, int32_t lane, int32_t peer) {
  RunEvent event = {.kind = kind, .lane = lane, .peer = peer, .owner = -1};
  g_array_append_val(recorder->events, event);
  return &g_array_index(recorder->events, RunEvent, recorder->events->len - 1);
}

static void log_message(Recorder *recorder, const Event *event) {
  const Program *program = recorder->world->program;
  const Cell *message = event->message;
  int32_t client = message[MESSAGE_CLIENT] - 1;
  bool to_client = message_goes_to_client(message), sends = event->kind == EVENT_SEND;
  int32_t server_lane = program->client_count + message[MESSAGE_SERVER] - 1;
  int32_t other_lane = client >= 0 ? client : program->client_count + message[MESSAGE_PEER] - 1;
  int32_t lane = to_client == sends ? server_lane : other_lane;
  RunEvent *out =
      add_event(recorder, sends ? RUN_SEND : RUN_ARRIVE, lane, lane == server_lane ? other_lane : server_lane);
  out->message = message[MESSAGE_ID];
  out->reply_to = message[MESSAGE_REPLY_TO];
  out->text = message_text(recorder, message);
  out->flag_late = message[MESSAGE_LATE] != 0;
  out->flag_lost = sends && event->number > 0 && !out->flag_late;
  if (out->flag_late && program->faults[message[MESSAGE_LATE] - 1].kind == FAULT_DUPLICATED) {
    out->name = g_strdup("copy");
  }
  if (sends && message[MESSAGE_KIND] == MESSAGE_ASK) {
    int32_t task = message[MESSAGE_TASK];
    recorder->call[client][task].message = out->message;
    recorder->call[client][task].server = server_lane;
    g_free(recorder->call[client][task].text);
    recorder->call[client][task].text = g_strdup(out->text);
  }
}

static const Variable *variable_of(const Recorder *recorder, const Event *event) {
  const World *world = recorder->world;
  return event->process < world->program->client_count ? &world_kind(world, event->process)->variables[event->index]
                                                       : &world_service(world, event->server)->variables[event->index];
}

/* "owner", or "owner[1]" of an array. */
static char *element_text(const Recorder *recorder, const char *name, const Extent *extent, int32_t element) {
  if (!extent->is_array) {
    return g_strdup(name);
  }
  bool is_name = extent->sort == SORT_CLIENT || extent->sort == SORT_SERVER; /* names count from 1 */
  g_autofree char *index = value_text(recorder, (Value){(Cell)extent->sort, extent->first + element + is_name, 0});
  return g_strdup_printf("%s[%s]", name, index);
}

static void log_variable(Recorder *recorder, const Event *event) {
  const Program *program = recorder->world->program;
  if (event->process >= program->client_count + program->server_count) {
    return; /* a ghost is nobody's */
  }
  const Variable *variable = variable_of(recorder, event);
  if (variable->name[0] == '.') {
    return;
  }
  RunEvent *out = add_event(recorder, RUN_VARIABLE, event->process, -1);
  out->name = element_text(recorder, variable->name, &variable->extent, event->element);
  out->before = value_text(recorder, event->before);
  if (event->process >= program->client_count && event->index < 64 && !variable->extent.is_array) {
    char **known = &recorder->known[event->server][event->index];
    if (*known != NULL) {
      g_free(out->before);
      out->before = *known;
    }
    *known = value_text(recorder, event->after);
  }
  out->text = value_text(recorder, event->after);
  out->owner = value_owner(recorder, event->after);
  out->is_lock = variable->is_lock;
}

static void log_wait(Recorder *recorder, const Event *event) {
  const Program *program = recorder->world->program;
  const Wait *wait = &program->waits[program->code[event->pc].index];
  RunEvent *out = add_event(recorder, event->kind == EVENT_WAIT ? RUN_WAIT : RUN_WAKE, event->client, -1);
  if (event->kind == EVENT_WAIT) {
    g_autofree char *lo = world_duration_text(wait->lo_us), *hi = world_duration_text(wait->hi_us);
    out->text =
        wait->lo_us == DURATION_INFINITE ? g_strdup("until its condition holds") : g_strdup_printf("%s..%s", lo, hi);
  } else if (event->index > 0) {
    const UntilAge *until = &wait->ages[event->index - 1];
    g_autofree char *bound = world_duration_text(program->durations_us[until->duration]);
    out->text = g_strdup_printf("age(%s) >= %s",
                                world_kind(recorder->world, event->client)->variables[until->variable].name, bound);
  }
}

static void log_compare(Recorder *recorder, const Event *event) {
  if (event->process < 0) {
    return;
  }
  g_autofree char *bound = world_duration_text(recorder->world->program->durations_us[event->number]);
  RunEvent *out = add_event(recorder, RUN_COMPARE, event->process, -1);
  out->text = g_strdup_printf("age(%s) < %s: %s", event->index == NO_INDEX ? "it" : variable_of(recorder, event)->name,
                              bound, event->after.number ? "yes" : "no");
}

static void log_fresh(Recorder *recorder, const Event *event) {
  int32_t client = event->client, lane = client >= 0 ? client : event->process;
  if (event->after.sort == SORT_TOKEN) {
    recorder->tokens[event->after.number] = (TokenInfo){lane, ++recorder->token_serial[lane]};
    return;
  }
  if (event->number != 0 && recorder->ticket_missed) { /* what it misses has moved up by one */
    memmove(&recorder->ticket_owner[event->number + 1], &recorder->ticket_owner[event->number],
            (size_t)(254 - event->number) * sizeof(int32_t));
  }
  recorder->ticket_owner[event->after.number] = client + 1;
}

static void log_attempt(Recorder *recorder, const Event *event) {
  recorder->attempts[event->attempt] = ++recorder->attempt_serial[event->client];
  add_event(recorder, RUN_ATTEMPT, event->client, -1)->number = recorder->attempts[event->attempt];
}

static void log_entry(Recorder *recorder, const Event *event) {
  bool enters = event->kind == EVENT_ENTER;
  RunEvent *out = add_event(recorder, enters ? RUN_ENTER : RUN_LEAVE, event->client, -1);
  if (enters) {
    recorder->attempts[event->attempt] = recorder->attempts[event->number];
    out->number = recorder->attempts[event->attempt];
    out->text = event->fence ? value_text(recorder, (Value){SORT_TICKET, event->fence, 0}) : NULL;
  }
}

static void log_resource(Recorder *recorder, const Event *event) {
  RunEvent *out =
      add_event(recorder, event->kind == EVENT_OBSERVE ? RUN_OBSERVE : RUN_COMMIT, event->process, event->client);
  out->number = recorder->attempts[event->attempt];
}

static void log_reply(Recorder *recorder, const Event *event) {
  const Program *program = recorder->world->program;
  bool stale = event->after.sort == SORT_WORD && strcmp(program->words[event->after.number], "stale") == 0;
  if (stale && event->client >= 0) {
    add_event(recorder, RUN_REJECT, event->process, event->client);
  }
}

static void log_pause(Recorder *recorder, const Event *event) {
  const Program *program = recorder->world->program;
  const Fault *fault = &program->faults[event->index];
  RunEvent *out = add_event(recorder, RUN_PAUSE, event->process, -1);
  out->name = g_strdup(fault->kind == FAULT_SUSPEND ? "suspend" : "pause");
  if (event->process < program->client_count) {
    bool at_point = program->code[event->pc].op == OP_PAUSE_POINT;
    g_autofree char *where = source_text(recorder, event->pc);
    g_autofree char *task =
        fault->task == NO_INDEX
            ? g_strdup("")
            : g_strdup_printf("its task %s ", world_kind(recorder->world, event->process)->tasks[fault->task].name);
    out->text = *where ? g_strdup_printf("%s%s `%s`", task, at_point ? "before" : "during", where) : g_strdup(task);
  }
  recorder->paused_since_ns[event->process][fault->task + 1] = recorder->now_ns;
  recorder->resuming_task = 0;
}

static void log_resume(Recorder *recorder, const Event *event) {
  RunEvent *out = add_event(recorder, RUN_RESUME, event->process, -1);
  out->duration_ns = recorder->now_ns - recorder->paused_since_ns[event->process][recorder->resuming_task];
}

static void log_timeout(Recorder *recorder, const Event *event) {
  RunEvent *out = add_event(recorder, RUN_TIMEOUT, event->client, recorder->call[event->client][event->task].server);
  out->message = recorder->call[event->client][event->task].message;
  out->text = g_strdup(recorder->call[event->client][event->task].text);
}

static void log_fire(Recorder *recorder, const Event *event) {
  int32_t element;
  const Timer *timer = world_timer_of(world_service(recorder->world, event->server), event->index, &element);
  add_event(recorder, RUN_FIRE, event->process, -1)->name =
      element_text(recorder, timer->name, &timer->extent, element);
}

static void log_crash(Recorder *recorder, const Event *event) {
  static const char *const texts[] = {[MEMORY_LOST] = "losing its memory",
                                      [MEMORY_KEPT] = "keeping its memory",
                                      [MEMORY_DURABLE] = "losing what was not yet on disk"};
  const Program *program = recorder->world->program;
  const Fault *fault = &program->faults[event->index];
  bool is_server = event->process >= program->client_count;
  add_event(recorder, RUN_CRASH, event->process, -1)->text = g_strdup(is_server ? texts[fault->memory] : "");
}

static void log_trigger(Recorder *recorder, const Event *event) {
  const Fault *fault = &recorder->world->program->faults[event->index];
  const Handler *handler = &world_service(recorder->world, event->server)->handlers[fault->handler];
  add_event(recorder, RUN_TRIGGER, event->process, -1)->text = g_strdup_printf("%s()", handler->name);
}

void recorder_log(void *user, const Step *step, const Event *event) {
  Recorder *recorder = user;
  int32_t clients = recorder->world->program->client_count;
  (void)step;
  switch (event->kind) {
  case EVENT_ENTER:
  case EVENT_LEAVE: log_entry(recorder, event); break;
  case EVENT_OBSERVE:
  case EVENT_COMMIT: log_resource(recorder, event); break;
  case EVENT_BEGIN: add_event(recorder, RUN_BEGIN, event->client, -1); break;
  case EVENT_ATTEMPT: log_attempt(recorder, event); break;
  case EVENT_SEND:
  case EVENT_ARRIVE: log_message(recorder, event); break;
  case EVENT_REFUSED: add_event(recorder, RUN_REFUSED, event->client, event->process); break;
  case EVENT_TIMEOUT: log_timeout(recorder, event); break;
  case EVENT_WAIT:
  case EVENT_WAKE:
    if (recorder->world->program->code[event->pc].op == OP_WAIT) {
      log_wait(recorder, event);
    }
    break;
  case EVENT_VARIABLE: log_variable(recorder, event); break;
  case EVENT_FIRE: log_fire(recorder, event); break;
  case EVENT_COMPARE: log_compare(recorder, event); break;
  case EVENT_FRESH: log_fresh(recorder, event); break;
  case EVENT_REPLY: log_reply(recorder, event); break;
  case EVENT_PAUSE: log_pause(recorder, event); break;
  case EVENT_RESUME: log_resume(recorder, event); break;
  case EVENT_CRASH: log_crash(recorder, event); break;
  case EVENT_RESTART: add_event(recorder, RUN_RESTART, event->process, -1); break;
  case EVENT_CLOCK_STEP:
    add_event(recorder, RUN_CLOCK_STEP, event->process, -1)->duration_ns = event->number * 1000;
    break;
  case EVENT_END: add_event(recorder, RUN_END, event->client, -1); break;
  case EVENT_LOSS: add_event(recorder, RUN_LOSS, event->process, event->client); break;
  case EVENT_CUT: add_event(recorder, RUN_CUT, event->client, clients + event->server); break;
  case EVENT_JOIN: add_event(recorder, RUN_JOIN, event->client, clients + event->server); break;
  case EVENT_TRIGGER: log_trigger(recorder, event); break;
  default: break;
  }
}

/* --- the run ----------------------------------------------------------------------------------------------------- */

void recorder_begin_step(Recorder *recorder, int64_t time_ns, const Action *action) {
  recorder->now_ns = time_ns;
  recorder->resuming_task = action->kind == ACTION_RESUME ? action->part : 0;
}

static void fill_strings(RunEvent *events, guint count) {
  for (guint e = 0; e < count; e++) {
    char **strings[] = {&events[e].name, &events[e].before, &events[e].text};
    for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
      *strings[i] = *strings[i] != NULL ? *strings[i] : g_strdup("");
    }
  }
}

void recorder_set_tickets(Recorder *recorder, const int64_t *tickets, bool missed) {
  recorder->ticket_missed = missed;
  memcpy(recorder->tickets, tickets, sizeof recorder->tickets);
}

static void carry_names(Recorder *recorder, const Renaming *renaming) {
  TokenInfo tokens[256] = {{0, 0}};
  int32_t attempts[256] = {0}, owners[256] = {0};
  for (int32_t t = 1; t <= renaming->token_count; t++) {
    tokens[t] = recorder->tokens[renaming->tokens[t]];
  }
  for (int32_t t = 1; t <= renaming->ticket_count; t++) {
    owners[t] = recorder->ticket_owner[renaming->tickets[t]];
  }
  for (int32_t h = 1; h <= renaming->entered_count; h++) {
    attempts[h] = recorder->attempts[renaming->entered[h]];
  }
  for (int32_t h = 1; h <= renaming->unentered_count; h++) {
    attempts[HOLDING_UNENTERED + h - 1] = recorder->attempts[renaming->unentered[h]];
  }
  memcpy(recorder->tokens, tokens, sizeof tokens);
  memcpy(recorder->attempts, attempts, sizeof attempts);
  memcpy(recorder->ticket_owner, owners, sizeof owners);
}

void recorder_end_step(Recorder *recorder, const Step *step, const Renaming *renaming, const int64_t *tickets,
                       const Action *action) {
  carry_names(recorder, renaming);
  recorder_set_tickets(recorder, tickets, false);
  guint count = recorder->events->len;
  RunStep out = {.time_ns = recorder->now_ns, .action = *action, .faults = step->faults, .event_count = (int32_t)count};
  out.events = (RunEvent *)(void *)g_array_free(recorder->events, FALSE);
  fill_strings(out.events, count);
  g_array_append_val(recorder->steps, out);
  recorder->events = g_array_new(FALSE, TRUE, sizeof(RunEvent));
  recorder->run->faults += step->faults;
}

static void describe_lanes(Recorder *recorder) {
  const Program *program = recorder->world->program;
  Run *run = recorder->run;
  run->lane_count = program->client_count + program->server_count;
  run->lanes = g_new0(RunLane, (gsize)run->lane_count);
  for (int32_t l = 0; l < run->lane_count; l++) {
    RunLane *lane = &run->lanes[l];
    char *name = program_process_name(program, l);
    lane->is_client = l < program->client_count;
    lane->rate = recorder->world->drift_ppm[l] > 0 ? (int32_t)recorder->world->clocks.rate[l] : 0;
    lane->model_name = g_strdup(name);
    lane->name = lane->is_client ? g_strdup_printf("%c", 'A' + l) : g_strdup(name);
    g_free(name);
    if (lane->is_client) {
      lane->group = program->client_kind[l];
      continue;
    }
    const Service *service = world_service(recorder->world, l - program->client_count);
    lane->group = program->kind_count + program->server_group[l - program->client_count];
    lane->is_resource = service->observes || service->commits;
    for (int32_t v = 0; v < service->variable_count; v++) {
      lane->has_lock |= service->variables[v].is_lock;
    }
  }
}

static void describe_parameters(Recorder *recorder) {
  const Program *program = recorder->world->program;
  Run *run = recorder->run;
  run->parameter_count = program->parameter_count;
  run->parameters = g_new0(RunParameter, (gsize)run->parameter_count);
  for (int32_t p = 0; p < run->parameter_count; p++) {
    const Parameter *parameter = &program->parameters[p];
    run->parameters[p].name = g_strdup(parameter->name);
    run->parameters[p].value = parameter->is_duration ? world_duration_text(parameter->value)
                                                      : g_strdup_printf("%" G_GINT64_FORMAT, parameter->value);
  }
}

Recorder *recorder_new(const World *world) {
  const Program *program = world->program;
  Recorder *recorder = g_new0(Recorder, 1);
  recorder->world = world;
  recorder->steps = g_array_new(FALSE, TRUE, sizeof(RunStep));
  recorder->events = g_array_new(FALSE, TRUE, sizeof(RunEvent));
  Run *run = recorder->run = g_new0(Run, 1);
  run->model = g_strdup(program->model);
  run->model_text = g_strdup(program->model_text);
  run->scenario = g_strdup(program->scenario);
  run->scenario_text = g_strdup(program->scenario_text);
  run->suspends = (int32_t)world->clocks.suspends;
  run->is_unordered = world->is_unordered;
  run->faults = world_standing_faults(world);
  run->property = g_strdup("");
  run->property_sentence = g_strdup("");
  run->faults_text = g_strdup("");
  describe_lanes(recorder);
  describe_parameters(recorder);
  return recorder;
}

Run *recorder_take_run(Recorder *recorder) {
  Run *run = recorder->run;
  recorder->run = NULL;
  run->step_count = (int32_t)recorder->steps->len;
  run->steps = (RunStep *)(void *)g_array_free(recorder->steps, FALSE);
  recorder->steps = NULL;
  g_free(run->faults_text);
  run->faults_text = run_faults_text(run);
  return run;
}

void recorder_free(Recorder *recorder) {
  if (recorder == NULL) {
    return;
  }
  if (recorder->run != NULL) {
    run_free(recorder_take_run(recorder));
  }
  for (int32_t c = 0; c < PROGRAM_CLIENTS_MAX; c++) {
    for (int32_t t = 0; t < PROGRAM_TASKS_MAX; t++) {
      g_free(recorder->call[c][t].text);
    }
  }
  for (int32_t s = 0; s < PROGRAM_SERVERS_MAX; s++) {
    for (int32_t v = 0; v < 64; v++) {
      g_free(recorder->known[s][v]);
    }
  }
  g_array_free(recorder->events, TRUE);
  g_free(recorder);
}
