/* The listing that `lockstep dump` prints: the program as the world sees it, in the words of the model. */
#include <string.h>

#include "base/check.h"
#include "lang/program.h"

typedef enum OperandKind {
  OPERAND_NONE,
  OPERAND_VALUE,
  OPERAND_VAR,
  OPERAND_OTHER_VAR,
  OPERAND_INDEX,
  OPERAND_PROCESS,
  OPERAND_AGE,
  OPERAND_AGE_OF,
  OPERAND_JUMP,
  OPERAND_CALL,
  OPERAND_WAIT,
  OPERAND_CRITICAL,
  OPERAND_TIMER,
  OPERAND_TABLE,
  OPERAND_DURATION,
  OPERAND_NOTICE,
  OPERAND_PARALLEL,
  OPERAND_ASSERTION,
} OperandKind;

static const struct {
  const char *name;
  OperandKind operand;
} opcodes[] = {
#define OPCODE(name, listing, operand) {listing, OPERAND_##operand},
#include "lang/opcodes.def"
};

static const char *const sort_names[SORT_COUNT] = {
    [SORT_NONE] = "none",         [SORT_INT] = "number",    [SORT_BOOL] = "bool",     [SORT_WORD] = "word",
    [SORT_DURATION] = "duration", [SORT_CLIENT] = "client", [SORT_SERVER] = "server", [SORT_TOKEN] = "token",
    [SORT_TICKET] = "ticket",     [SORT_STAMP] = "stamp",   [SORT_REPLY] = "reply"};

typedef struct Listing {
  const Program *program;
  GString *out;
  const ClientKind *kind; /* whose code is being listed; NULL: a service's or a never's */
  const Service *service;
} Listing;

/* "1h", "10s", "50ms", "7us", "inf": the largest unit that divides. */
static void put_duration(GString *out, int64_t us) {
  static const struct {
    const char *unit;
    int64_t us;
  } units[] = {{"h", INT64_C(3600000000)}, {"min", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1}};
  if (us == DURATION_INFINITE) {
    g_string_append(out, "inf");
    return;
  }
  size_t i = us == 0 ? 2 : 0;
  while (us % units[i].us != 0) {
    i++;
  }
  g_string_append_printf(out, "%" G_GINT64_FORMAT "%s", us / units[i].us, units[i].unit);
}

static void put_window(GString *out, int64_t lo_us, int64_t hi_us) {
  put_duration(out, lo_us);
  g_string_append(out, "..");
  put_duration(out, hi_us);
}

static void put_process(Listing *listing, int32_t process) {
  char *name = program_process_name(listing->program, process);
  g_string_append(listing->out, name);
  g_free(name);
}

static void put_value(Listing *listing, Sort sort, int32_t value) {
  const Program *program = listing->program;
  GString *out = listing->out;
  switch (sort) {
  case SORT_NONE: g_string_append(out, "none"); break;
  case SORT_BOOL: g_string_append(out, value ? "true" : "false"); break;
  case SORT_WORD: g_string_append(out, program->words[value]); break;
  case SORT_DURATION: put_duration(out, program->durations_us[value]); break;
  case SORT_CLIENT: put_process(listing, value); break;
  case SORT_SERVER: put_process(listing, program->client_count + value); break;
  case SORT_TICKET: g_string_append_printf(out, "ticket %d", value - TICKET_BOTTOM); break;
  default: g_string_append_printf(out, "%d", value);
  }
}

static void put_type(Listing *listing, const Type *type) {
  GString *out = listing->out;
  if (type->sort == SORT_INT) {
    g_string_append_printf(out, "%d..%d", type->lo, type->hi);
  } else {
    g_string_append(out, sort_names[type->sort]);
  }
  g_string_append_printf(out, "%s%s", type->optional ? "?" : "", type->on_wall ? " on wall" : "");
}

/* [3], [client], [node]: what an array is over. */
static void put_extent(Listing *listing, const Extent *extent) {
  const Program *program = listing->program;
  if (!extent->is_array) {
    return;
  }
  const char *name =
      extent->sort == SORT_SERVER ? program->groups[program->server_group[extent->first]].name : "client";
  for (int32_t k = 0; k < program->kind_count && extent->sort == SORT_CLIENT; k++) {
    bool is_kind = program->kinds[k].first == extent->first && program->kinds[k].count == extent->count;
    name = is_kind ? program->kinds[k].name : name;
  }
  if (extent->sort == SORT_INT) {
    g_string_append_printf(listing->out, "[%d]", extent->count);
  } else {
    g_string_append_printf(listing->out, "[%s]", name);
  }
}

static void put_variables(Listing *listing, const Variable *variables, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    g_string_append_printf(listing->out, "  var %s", variables[i].name);
    put_extent(listing, &variables[i].extent);
    g_string_append(listing->out, " : ");
    put_type(listing, &variables[i].type);
    if (variables[i].type.sort != SORT_STAMP) {
      g_string_append(listing->out, " = ");
      put_value(listing, variables[i].initial_sort, variables[i].initial);
    }
    g_string_append(listing->out, variables[i].is_lock ? " lock\n" : "\n");
  }
}

static void put_names(Listing *listing, uint64_t live) {
  const char *separator = "";
  for (int32_t i = 0; i < listing->kind->variable_count; i++) {
    if (live >> i & 1) {
      g_string_append_printf(listing->out, "%s%s", separator, listing->kind->variables[i].name);
      separator = " ";
    }
  }
}

/* Operands */

static const Service *service_of(const Listing *listing) {
  CHECK(listing->service != NULL); /* a never has no variables and timers of its own */
  return listing->service;
}

static const Variable *variables_of(const Listing *listing) {
  return listing->kind != NULL ? listing->kind->variables : service_of(listing)->variables;
}

static bool is_ghost(const Program *program, int32_t process) {
  return process == program->client_count + program->server_count;
}

static const Variable *variables_of_process(const Program *program, int32_t process) {
  return process < program->client_count
             ? program->kinds[program->client_kind[process]].variables
             : program->services[program->groups[program->server_group[process - program->client_count]].service]
                   .variables;
}

static void put_variable_of(Listing *listing, int32_t process, int32_t variable) {
  if (is_ghost(listing->program, process)) {
    g_string_append_printf(listing->out, "ghost %s", listing->program->ghosts[variable].name);
    return;
  }
  put_process(listing, process);
  g_string_append_printf(listing->out, ".%s", variables_of_process(listing->program, process)[variable].name);
}

static void put_wait(Listing *listing, const Wait *wait) {
  GString *out = listing->out;
  put_window(out, wait->lo_us, wait->hi_us);
  const char *separator = " until ";
  for (int32_t i = 0; i < wait->age_count; i++) {
    g_string_append_printf(out, "%sage(%s) >= ", separator, variables_of(listing)[wait->ages[i].variable].name);
    put_duration(out, listing->program->durations_us[wait->ages[i].duration]);
    separator = " or ";
  }
  if (wait->until_entry != NO_INDEX) {
    g_string_append_printf(out, "%s@%d", separator, wait->until_entry);
  }
}

/* Which service a call goes to is not in the instruction: its server was pushed. The handler's name is looked up where
 * the text of the call says it, so the listing prints that. */
static void put_call(Listing *listing, const Instr *instr) {
  const char *text = sources_text(listing->program->sources, instr->span.file, NULL);
  const char *begin = text + instr->span.begin, *end = text + instr->span.end;
  const char *dot = begin, *parenthesis = memchr(begin, '(', (size_t)(end - begin));
  while (dot < end && *dot != '.') {
    dot++;
  }
  if (parenthesis != NULL) {
    for (const char *at = begin; at < parenthesis; at++) {
      dot = *at == '.' ? at : dot;
    }
    g_string_append_len(listing->out, dot + 1, parenthesis > dot + 1 ? parenthesis - dot - 1 : 0);
  }
  g_string_append_printf(listing->out, "/%d", instr->count);
}

static void put_within(Listing *listing, const Instr *instr) {
  if (instr->operand != NO_INDEX) {
    g_string_append(listing->out, " within ");
    put_duration(listing->out, listing->program->durations_us[instr->operand]);
  }
}

static void put_parallel(Listing *listing, const Instr *instr) {
  const Parallel *parallel = &listing->program->parallels[instr->index];
  put_call(listing, instr);
  g_string_append_printf(listing->out, " to %d", parallel->count);
  put_within(listing, instr);
  g_string_append(listing->out, " count ");
  put_value(listing, parallel->wanted_sort, parallel->wanted);
  if (parallel->until != INT32_MAX) {
    g_string_append_printf(listing->out, " until %d", parallel->until);
  }
}

static void put_table(Listing *listing, const Table *table) {
  for (int32_t i = 0; i < table->count; i++) {
    g_string_append_c(listing->out, i == 0 ? '[' : ' ');
    put_value(listing, table->sort, table->values[i]);
  }
  g_string_append_c(listing->out, ']');
}

static void put_section(Listing *listing, const Instr *instr) {
  const Critical *critical = &listing->program->criticals[instr->index];
  const char *separator = "";
  if (instr->op != OP_ENTER) {
    return;
  }
  if (critical->has_resource) {
    g_string_append(listing->out, "of resource");
    separator = " ";
  }
  if (critical->is_shared) {
    g_string_append_printf(listing->out, "%sshared", separator);
    separator = " ";
  }
  if (critical->permits > 1) {
    g_string_append_printf(listing->out, "%spermit %d", separator, critical->permits);
    separator = " ";
  }
  if (critical->has_fence) {
    g_string_append_printf(listing->out, "%swith fence", separator);
  }
}

/* The variable of the process that runs, or a ghost. */
static void put_own_variable(Listing *listing, const Instr *instr) {
  const Variable *variables = instr->op == OP_STORE_GHOST ? listing->program->ghosts : variables_of(listing);
  g_string_append(listing->out, variables[instr->index].name);
  if (instr->op == OP_STAMP_COPY) {
    g_string_append_printf(listing->out, " = %s", variables[instr->operand].name);
  }
}

static void put_value_operand(Listing *listing, const Instr *instr) {
  if (instr->op == OP_IS_SORT) {
    g_string_append(listing->out, sort_names[instr->index]);
  } else {
    put_value(listing, (Sort)instr->index, instr->operand);
  }
}

static void put_operand(Listing *listing, const Instr *instr) {
  const Program *program = listing->program;
  GString *out = listing->out;
  switch (opcodes[instr->op].operand) {
  case OPERAND_NONE: break;
  case OPERAND_VALUE: put_value_operand(listing, instr); break;
  case OPERAND_VAR: put_own_variable(listing, instr); break;
  case OPERAND_OTHER_VAR: put_variable_of(listing, instr->operand, instr->index); break;
  case OPERAND_INDEX: g_string_append_printf(out, "%d", instr->index); break;
  case OPERAND_PROCESS: put_process(listing, instr->operand); break;
  case OPERAND_AGE:
    g_string_append_printf(out, "%s < ", variables_of(listing)[instr->index].name);
    put_duration(out, program->durations_us[instr->operand]);
    break;
  case OPERAND_AGE_OF:
    put_variable_of(listing, instr->count, instr->index);
    g_string_append(out, " < ");
    put_duration(out, program->durations_us[instr->operand]);
    break;
  case OPERAND_JUMP: g_string_append_printf(out, "@%d", instr->operand); break;
  case OPERAND_CALL:
    put_call(listing, instr);
    if (instr->op == OP_ASK) {
      put_within(listing, instr);
    }
    break;
  case OPERAND_WAIT:
    if (instr->op == OP_WAIT) {
      put_wait(listing, &program->waits[instr->index]);
    }
    break;
  case OPERAND_CRITICAL: put_section(listing, instr); break;
  case OPERAND_TIMER: g_string_append(out, service_of(listing)->timers[instr->index].name); break;
  case OPERAND_TABLE: put_table(listing, &program->tables[instr->index]); break;
  case OPERAND_DURATION:
    g_string_append(out, "< ");
    put_duration(out, program->durations_us[instr->operand]);
    g_string_append(out, instr->index == 1 ? " on wall" : "");
    break;
  case OPERAND_NOTICE: g_string_append_printf(out, "%s/%d", program->notices[instr->index].name, instr->count); break;
  case OPERAND_PARALLEL: put_parallel(listing, instr); break;
  case OPERAND_ASSERTION: g_string_append_printf(out, "\"%s\"", program->assertions[instr->index].text); break;
  }
  if (instr->is_indexed) {
    g_string_append(out, " []");
  }
}

/* Code */

static bool may_rest(Opcode op) {
  return op == OP_PAUSE_POINT || op == OP_ASK || op == OP_ASK_ALL || op == OP_WAIT || op == OP_YIELD;
}

static void put_instruction(Listing *listing, int32_t pc, uint32_t *line) {
  const Instr *instr = &listing->program->code[pc];
  GString *out = listing->out;
  uint32_t here, column;
  sources_position(listing->program->sources, instr->span, &here, &column);
  if (here != *line) {
    g_string_append_printf(out, "%6u ", here);
  } else {
    g_string_append(out, "       ");
  }
  *line = here;
  gsize begin = out->len;
  g_string_append_printf(out, " %5d  %-14s", pc, opcodes[instr->op].name);
  put_operand(listing, instr);
  if (listing->kind != NULL && may_rest((Opcode)instr->op)) {
    bool rests_after = instr->op != OP_PAUSE_POINT;
    while (out->len - begin < 56) {
      g_string_append_c(out, ' ');
    }
    g_string_append(out, "  live: ");
    put_names(listing, (rests_after ? listing->kind->live_after : listing->kind->live_before)[pc]);
  }
  while (out->len > 0 && out->str[out->len - 1] == ' ') {
    g_string_truncate(out, out->len - 1);
  }
  g_string_append_c(out, '\n');
}

/* From `entry` to the instruction that nothing leads past. */
static void put_code(Listing *listing, int32_t entry, int32_t end) {
  uint32_t line = 0;
  for (int32_t pc = entry; pc < end; pc++) {
    put_instruction(listing, pc, &line);
  }
}

/* Handlers, timers and nevers lie one behind the other: each ends where the next begins. */
static int32_t end_of_block(const Program *program, int32_t entry) {
  int32_t end = program->code_count;
#define CONSIDER(pc) (end = (pc) > entry && (pc) < end ? (pc) : end)
  for (int32_t s = 0; s < program->service_count; s++) {
    for (int32_t h = 0; h < program->services[s].handler_count; h++) {
      CONSIDER(program->services[s].handlers[h].entry);
      CONSIDER(program->services[s].handlers[h].guard);
    }
    for (int32_t t = 0; t < program->services[s].timer_count; t++) {
      CONSIDER(program->services[s].timers[t].entry);
    }
    CONSIDER(program->services[s].lost_entry);
  }
  for (int32_t n = 0; n < program->never_count; n++) {
    CONSIDER(program->nevers[n].entry);
  }
#undef CONSIDER
  return end;
}

static void put_handler(Listing *listing, const Handler *handler) {
  GString *out = listing->out;
  g_string_append_printf(out, "  on %s(", handler->name);
  for (int32_t p = 0; p < handler->param_count; p++) {
    g_string_append_printf(out, "%s%s", p > 0 ? ", " : "", handler->param_names[p]);
    if (handler->entry != NO_INDEX) {
      g_string_append_printf(out, " : %s", sort_names[handler->param_sorts[p]]);
    }
  }
  g_string_append(out, ")");
  if (handler->entry == NO_INDEX) {
    g_string_append(out, "  is never called\n");
    return;
  }
  if (handler->reply_count > 1) {
    g_string_append_printf(out, "  replies up to %d values", handler->reply_count);
  }
  g_string_append(out, handler->guard == NO_INDEX ? "\n" : handler->keeps ? " when … keep\n" : " when …\n");
  if (handler->guard != NO_INDEX) {
    put_code(listing, handler->guard, handler->entry);
    g_string_append(out, "   then\n");
  }
  put_code(listing, handler->entry, end_of_block(listing->program, handler->entry));
}

static void put_service(Listing *listing, const Service *service) {
  GString *out = listing->out;
  listing->service = service;
  listing->kind = NULL;
  g_string_append_printf(out, "\nservice %s \"%s\"%s%s\n", service->name, service->text,
                         service->observes ? " observes" : "", service->commits ? " commits" : "");
  put_variables(listing, service->variables, service->variable_count);
  for (int32_t t = 0; t < service->timer_count; t++) {
    g_string_append_printf(out, "  timer %s", service->timers[t].name);
    put_extent(listing, &service->timers[t].extent);
    g_string_append(out, service->timers[t].on_wall ? " on wall\n" : "\n");
  }
  for (int32_t h = 0; h < service->handler_count; h++) {
    put_handler(listing, &service->handlers[h]);
  }
  for (int32_t t = 0; t < service->timer_count; t++) {
    if (service->timers[t].entry != NO_INDEX) {
      g_string_append_printf(out, "  after %s\n", service->timers[t].name);
      put_code(listing, service->timers[t].entry, end_of_block(listing->program, service->timers[t].entry));
    }
  }
  if (service->lost_entry != NO_INDEX) {
    g_string_append(out, "  on lost\n");
    put_code(listing, service->lost_entry, end_of_block(listing->program, service->lost_entry));
  }
}

/* The same or why not: "  not symmetric (FILE:LINE:COLUMN)". */
static void put_symmetry(Listing *listing, bool is_symmetric, Span span) {
  uint32_t line, column;
  if (is_symmetric) {
    g_string_append(listing->out, "  symmetric\n");
    return;
  }
  const Sources *sources = listing->program->sources;
  sources_position(sources, span, &line, &column);
  g_string_append_printf(listing->out, "  not symmetric (%s:%u:%u)\n", sources_name(sources, span.file), line, column);
}

static void put_parameters(GString *out, const Notice *notice) {
  g_string_append_c(out, '(');
  for (int32_t p = 0; p < notice->param_count; p++) {
    g_string_append_printf(out, "%s%s : %s", p > 0 ? ", " : "", notice->param_names[p],
                           sort_names[notice->param_sorts[p]]);
  }
  g_string_append(out, ")\n");
}

/* What begins at this pc of a client: a task with a name, or what it does when it is told something. */
static void put_heading(Listing *listing, int32_t pc) {
  const ClientKind *kind = listing->kind;
  for (int32_t t = 0; t < kind->task_count; t++) {
    if (kind->tasks[t].entry == pc && kind->tasks[t].name != NULL) {
      g_string_append_printf(listing->out, "  task %s\n", kind->tasks[t].name);
    }
  }
  for (int32_t n = 0; n < listing->program->notice_count; n++) {
    if (kind->notice_entries[n] == pc) {
      g_string_append_printf(listing->out, "  on %s", listing->program->notices[n].name);
      put_parameters(listing->out, &listing->program->notices[n]);
    }
  }
}

static void put_client_code(Listing *listing) {
  uint32_t line = 0;
  for (int32_t pc = listing->kind->entry; pc < listing->kind->code_end; pc++) {
    put_heading(listing, pc);
    put_instruction(listing, pc, &line);
  }
}

static void put_kind(Listing *listing, int32_t index) {
  const Program *program = listing->program;
  const ClientKind *kind = &program->kinds[index];
  listing->kind = kind;
  listing->service = NULL;
  g_string_append_printf(listing->out, "\n%s[%d]", kind->name, kind->count);
  put_symmetry(listing, program->clients_symmetric[index], program->clients_asymmetry[index]);
  put_variables(listing, kind->variables, kind->variable_count);
  put_client_code(listing);
}

/* Processes and scenario */

static void put_processes(Listing *listing) {
  const Program *program = listing->program;
  GString *out = listing->out;
  g_string_append(out, "\nparameters\n");
  for (int32_t i = 0; i < program->parameter_count; i++) {
    const Parameter *parameter = &program->parameters[i];
    g_string_append_printf(out, "  %s = ", parameter->name);
    if (parameter->is_duration) {
      put_duration(out, parameter->value);
    } else {
      g_string_append_printf(out, "%" G_GINT64_FORMAT, parameter->value);
    }
    g_string_append_c(out, '\n');
  }
  g_string_append(out, "\nprocesses\n");
  for (int32_t c = 0; c < program->client_count; c++) {
    g_string_append_printf(out, "  %d  ", c);
    put_process(listing, c);
    g_string_append_c(out, '\n');
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    g_string_append_printf(out, "  %d  ", program->client_count + s);
    put_process(listing, program->client_count + s);
    g_string_append_printf(out, " : %s, latency ",
                           program->services[program->groups[program->server_group[s]].service].name);
    put_window(out, program->latency[s].lo_us, program->latency[s].hi_us);
    g_string_append_c(out, '\n');
  }
  for (int32_t g = 0; g < program->group_count; g++) {
    if (program->groups[g].count > 1) {
      g_string_append_printf(out, "  %s[%d]", program->groups[g].name, program->groups[g].count);
      put_symmetry(listing, program->servers_symmetric[g], program->servers_asymmetry[g]);
    }
  }
  if (program->ghost_count > 0) {
    g_string_append(out, "\nghosts\n");
    put_variables(listing, program->ghosts, program->ghost_count);
  }
}

/* The processes in a set, each behind a blank; with the name of the task when a fault strikes only that. */
static void put_set(Listing *listing, uint32_t clients, uint32_t servers, int32_t task) {
  const Program *program = listing->program;
  for (int32_t c = 0; c < program->client_count; c++) {
    if (clients >> c & 1) {
      g_string_append_c(listing->out, ' ');
      put_process(listing, c);
      if (task != NO_INDEX) {
        g_string_append_printf(listing->out, ".%s", program->kinds[program->client_kind[c]].tasks[task].name);
      }
    }
  }
  for (int32_t s = 0; s < program->server_count; s++) {
    if (servers >> s & 1) {
      g_string_append_c(listing->out, ' ');
      put_process(listing, program->client_count + s);
    }
  }
}

static void put_crash(Listing *listing, const Fault *fault) {
  static const char *const memories[] = {
      [MEMORY_LOST] = "memory", [MEMORY_KEPT] = "nothing", [MEMORY_DURABLE] = "last "};
  GString *out = listing->out;
  if (fault->kind == FAULT_CRASH_SERVER) {
    g_string_append_printf(out, " losing %s", memories[fault->memory]);
    if (fault->memory == MEMORY_DURABLE) {
      put_duration(out, fault->durable_us);
    }
  }
  if (fault->lo_us == DURATION_INFINITE) {
    g_string_append(out, ", never back");
  } else {
    g_string_append(out, ", back after ");
    put_window(out, fault->lo_us, fault->hi_us);
  }
}

static void put_trigger(Listing *listing, const Fault *fault) {
  const Program *program = listing->program;
  const char *separator = "";
  int32_t server = 0;
  while ((fault->servers >> server & 1) == 0) {
    server++;
  }
  const Service *service = &program->services[program->groups[program->server_group[server]].service];
  g_string_append_printf(listing->out, ".%s(", service->handlers[fault->handler].name);
  for (int32_t i = 0; i < fault->arg_count; i++) {
    g_string_append(listing->out, separator);
    put_value(listing, fault->arg_sorts[i], fault->args[i]);
    separator = ", ";
  }
  g_string_append_c(listing->out, ')');
}

/* What a fault says behind its victims. */
static void put_fault_rest(Listing *listing, const Fault *fault) {
  GString *out = listing->out;
  switch (fault->kind) {
  case FAULT_STEP:
  case FAULT_SKEW:
    g_string_append(out, " by ");
    put_duration(out, fault->by_us);
    break;
  case FAULT_LATE:
  case FAULT_DUPLICATED:
    g_string_append(out, " by ");
    put_window(out, fault->lo_us, fault->hi_us);
    break;
  case FAULT_CUT:
    g_string_append(out, " from");
    put_set(listing, 0, fault->servers, NO_INDEX);
    G_GNUC_FALLTHROUGH;
  case FAULT_PAUSE:
  case FAULT_SUSPEND:
    g_string_append(out, " for ");
    put_window(out, fault->lo_us, fault->hi_us);
    break;
  case FAULT_CRASH_CLIENT:
  case FAULT_CRASH_SERVER: put_crash(listing, fault); break;
  case FAULT_TRIGGER: put_trigger(listing, fault); break;
  default: /* late, lost, drift, unordered, down: nothing */ break;
  }
}

static void put_fault(Listing *listing, const Fault *fault) {
  static const struct {
    const char *name; /* up to its victims */
    bool has_count;
  } rows[FAULT_KIND_COUNT] = {
      [FAULT_LATE] = {"late to", true},
      [FAULT_LOST] = {"lost to", true},
      [FAULT_PAUSE] = {"pause of", true},
      [FAULT_STEP] = {"step of", true},
      [FAULT_CRASH_CLIENT] = {"crash of", true},
      [FAULT_CRASH_SERVER] = {"crash of", true},
      [FAULT_DUPLICATED] = {"duplicated to", true},
      [FAULT_SUSPEND] = {"suspend of", true},
      [FAULT_CUT] = {"cut of", true},
      [FAULT_TRIGGER] = {"trigger of", true},
      [FAULT_UNORDERED] = {"network unordered", false},
      [FAULT_SKEW] = {"skew", false},
      [FAULT_DRIFT] = {"drift", false},
      [FAULT_DOWN] = {"down", false},
  };
  GString *out = listing->out;
  g_string_append(out, "  ");
  if (rows[fault->kind].has_count && fault->count == COUNT_INFINITE) {
    g_string_append(out, "inf ");
  } else if (rows[fault->kind].has_count) {
    g_string_append_printf(out, "%d ", fault->count);
  }
  g_string_append(out, rows[fault->kind].name);
  if (fault->kind == FAULT_DRIFT) {
    g_string_append_printf(out, " %dppm of", fault->drift_ppm);
  }
  if (fault->kind != FAULT_UNORDERED) {
    put_set(listing, fault->clients, fault->kind == FAULT_CUT ? 0 : fault->servers, fault->task);
  }
  put_fault_rest(listing, fault);
  g_string_append(out, fault->is_silent ? " silent\n" : "\n");
}

static void put_expectation(Listing *listing, const Expectation *expectation) {
  const Program *program = listing->program;
  GString *out = listing->out;
  const char *quote = expectation->is_never ? "\"" : "";
  g_string_append_printf(out, "  expect %s%s%s", quote, expectation->property, quote);
  if (expectation->obtainable != NO_INDEX) {
    const Obtainable *bound = &program->obtainables[expectation->obtainable];
    if (bound->kind != NO_INDEX) {
      g_string_append_printf(out, " by %s", program->kinds[bound->kind].name);
    }
    g_string_append(out, " within ");
    put_duration(out, bound->within_us);
  }
  g_string_append(out, expectation->holds ? " holds\n" : " broken\n");
}

static void put_scenario(Listing *listing) {
  const Program *program = listing->program;
  GString *out = listing->out;
  g_string_append_printf(out, "\nscenario %s \"%s\"\n", program->scenario, program->scenario_text);
  if (program->client_starts_given) {
    g_string_append(out, "  client starts ");
    put_window(out, program->client_starts.lo_us, program->client_starts.hi_us);
    g_string_append_c(out, '\n');
  }
  if (program->detect.hi_us > 0) {
    g_string_append(out, "  detect ");
    put_window(out, program->detect.lo_us, program->detect.hi_us);
    g_string_append_c(out, '\n');
  }
  if (program->rounds > 0) {
    g_string_append_printf(out, "  rounds %d\n", program->rounds);
  }
  for (int32_t i = 0; i < program->fault_count; i++) {
    put_fault(listing, &program->faults[i]);
  }
  for (int32_t i = 0; i < program->expectation_count; i++) {
    put_expectation(listing, &program->expectations[i]);
  }
}

char *program_listing(const Program *program) {
  Listing listing = {.program = program, .out = g_string_new(NULL)};
  g_string_append_printf(listing.out, "model %s \"%s\"\n", program->model, program->model_text);
  put_scenario(&listing);
  put_processes(&listing);
  for (int32_t k = 0; k < program->kind_count; k++) {
    put_kind(&listing, k);
  }
  for (int32_t s = 0; s < program->service_count; s++) {
    put_service(&listing, &program->services[s]);
  }
  listing.kind = NULL;
  listing.service = NULL;
  for (int32_t n = 0; n < program->never_count; n++) {
    g_string_append_printf(listing.out, "\nnever \"%s\"\n", program->nevers[n].text);
    put_code(&listing, program->nevers[n].entry, end_of_block(program, program->nevers[n].entry));
  }
  return g_string_free(listing.out, FALSE);
}
