#include "lang/program.h"

#include "base/check.h"

static void free_variables(Variable *variables, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    g_free(variables[i].name);
  }
  g_free(variables);
}

static void free_service(Service *service) {
  g_free(service->name);
  g_free(service->text);
  free_variables(service->variables, service->variable_count);
  for (int32_t i = 0; i < service->timer_count; i++) {
    g_free(service->timers[i].name);
  }
  g_free(service->timers);
  for (int32_t i = 0; i < service->handler_count; i++) {
    Handler *handler = &service->handlers[i];
    g_free(handler->name);
    for (int32_t p = 0; p < handler->param_count; p++) {
      g_free(handler->param_names[p]);
    }
  }
  g_free(service->handlers);
}

static void free_notices(Program *program) {
  for (int32_t i = 0; i < program->notice_count; i++) {
    g_free(program->notices[i].name);
    for (int32_t p = 0; p < program->notices[i].param_count; p++) {
      g_free(program->notices[i].param_names[p]);
    }
  }
  g_free(program->notices);
}

static void free_kind(ClientKind *kind) {
  g_free(kind->name);
  free_variables(kind->variables, kind->variable_count);
  for (int32_t t = 0; t < kind->task_count; t++) {
    g_free(kind->tasks[t].name);
  }
  g_free(kind->notice_entries);
  g_free(kind->live_before);
  g_free(kind->live_after);
}

static void free_processes(Program *program) {
  for (int32_t i = 0; i < program->service_count; i++) {
    free_service(&program->services[i]);
  }
  g_free(program->services);
  for (int32_t i = 0; i < program->group_count; i++) {
    g_free(program->groups[i].name);
  }
  g_free(program->groups);
  for (int32_t i = 0; i < program->kind_count; i++) {
    free_kind(&program->kinds[i]);
  }
  g_free(program->kinds);
  free_notices(program);
  free_variables(program->ghosts, program->ghost_count);
}

static void free_scenario(Program *program) {
  for (int32_t i = 0; i < program->expectation_count; i++) {
    g_free(program->expectations[i].property);
  }
  g_free(program->expectations);
  g_free(program->obtainables);
  g_free(program->faults);
  g_free(program->scenario);
  g_free(program->scenario_text);
}

static void free_tables(Program *program) {
  for (int32_t i = 0; i < program->word_count; i++) {
    g_free(program->words[i]);
  }
  free(program->words);
  for (int32_t i = 0; i < program->wait_count; i++) {
    g_free(program->waits[i].ages);
  }
  free(program->waits);
  free(program->criticals);
  free(program->parallels);
  for (int32_t i = 0; i < program->assertion_count; i++) {
    g_free(program->assertions[i].text);
  }
  free(program->assertions);
  for (int32_t i = 0; i < program->table_count; i++) {
    g_free(program->tables[i].values);
  }
  g_free(program->tables);
  free(program->durations_us);
  free(program->code);
  for (int32_t i = 0; i < program->never_count; i++) {
    g_free(program->nevers[i].text);
  }
  g_free(program->nevers);
  for (int32_t i = 0; i < program->parameter_count; i++) {
    g_free(program->parameters[i].name);
  }
  g_free(program->parameters);
}

void program_free(Program *program) {
  if (program == NULL) {
    return;
  }
  free_processes(program);
  free_scenario(program);
  free_tables(program);
  g_free(program->model);
  g_free(program->model_text);
  sources_free(program->sources);
  g_free(program);
}

char *program_process_name(const Program *program, int32_t process) {
  CHECK(process >= 0 && process < program->client_count + program->server_count);
  if (process < program->client_count) {
    const ClientKind *kind = &program->kinds[program->client_kind[process]];
    return g_strdup_printf("%s[%d]", kind->name, process - kind->first);
  }
  int32_t server = process - program->client_count;
  const ServerGroup *group = &program->groups[program->server_group[server]];
  return group->is_array ? g_strdup_printf("%s[%d]", group->name, server - group->first) : g_strdup(group->name);
}
