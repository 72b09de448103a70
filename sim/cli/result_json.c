#include "cli/result_json.h"

#include <stdio.h>

#include "cli/config.h"
#include "cli/parameter.h"
#include "cli/warning.h"

void json_set_string(JsonBuilder *builder, const char *name, const char *value) {
  json_builder_set_member_name(builder, name);
  if (value) {
    json_builder_add_string_value(builder, value);
  } else {
    json_builder_add_null_value(builder);
  }
}

void json_set_count(JsonBuilder *builder, const char *name, uint64_t value) {
  json_builder_set_member_name(builder, name);
  json_builder_add_int_value(builder, (gint64)value);
}

static void set_bool(JsonBuilder *builder, const char *name, bool value) {
  json_builder_set_member_name(builder, name);
  json_builder_add_boolean_value(builder, value);
}

static void set_met(JsonBuilder *builder, Met met) {
  json_builder_set_member_name(builder, "met");
  if (met == MET_YES || met == MET_NO) {
    json_builder_add_boolean_value(builder, met == MET_YES);
  } else {
    json_builder_add_null_value(builder);
  }
}

static void add_cost(JsonBuilder *builder, const Claim *claim) {
  bool is_violated = claim->result && claim->result->verdict == VERDICT_VIOLATED;
  const struct {
    const char *name;
    uint32_t value;
  } figures[] = {
      {"faults", is_violated ? claim->result->faults : 0},
      {"steps", is_violated ? claim_steps(claim) : 0},
      {"strikes_inside", is_violated ? claim_strikes_inside(claim) : 0},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
    if (is_violated) {
      json_set_count(builder, figures[i].name, figures[i].value);
    } else {
      json_set_string(builder, figures[i].name, NULL);
    }
  }
}

static void add_less(JsonBuilder *builder, const Less *less) {
  json_builder_set_member_name(builder, "less");
  if (!less->text) {
    json_builder_add_null_value(builder);
    return;
  }
  json_builder_begin_object(builder);
  json_set_string(builder, "text", less->text);
  json_set_count(builder, "enough_us", (uint64_t)less->enough_us);
  if (less->proved_us >= 0) {
    json_set_count(builder, "proved_us", (uint64_t)less->proved_us);
  } else {
    json_set_string(builder, "proved_us", NULL);
  }
  json_builder_end_object(builder);
}

static void add_property(JsonBuilder *builder, const Claim *claim) {
  const PropertyResult *result = claim->result;
  json_builder_begin_object(builder);
  json_set_string(builder, "name", claim->property);
  json_set_string(builder, "verdict", verdict_name(result ? result->verdict : VERDICT_UNDECIDED));
  set_bool(builder, "vacuous", result && result->vacuous);
  json_set_string(builder, "expected", !claim->expected ? NULL : claim->expected->holds ? "holds" : "broken");
  set_met(builder, claim->met);
  add_cost(builder, claim);
  add_less(builder, &claim->less);
  json_set_string(builder, "trace", claim->trace);
  json_set_string(builder, "note", result ? result->note : "not checked");
  json_builder_end_object(builder);
}

static void add_warning(JsonBuilder *builder, const Warning *warning) {
  json_builder_begin_object(builder);
  json_set_string(builder, "kind", warning->kind);
  json_set_string(builder, "text", warning->text);
  json_set_string(builder, "file", warning->file);
  if (warning->file) {
    json_set_count(builder, "line", warning->line);
    json_set_count(builder, "column", warning->column);
  }
  json_builder_end_object(builder);
}

static void add_warnings(JsonBuilder *builder, const char *name, const GPtrArray *warnings) {
  json_builder_set_member_name(builder, name);
  json_builder_begin_array(builder);
  for (guint i = 0; i < warnings->len; i++) {
    add_warning(builder, warnings->pdata[i]);
  }
  json_builder_end_array(builder);
}

static void add_findings(JsonBuilder *builder, const Outcome *outcome) {
  g_autoptr(GPtrArray) one = g_ptr_array_new();
  g_ptr_array_add(one, (gpointer)outcome);
  g_autoptr(GPtrArray) findings = warnings_gather(one);
  add_warnings(builder, "findings", findings);
}

static void add_states(JsonBuilder *builder, const Verification *verification) {
  json_builder_set_member_name(builder, "states");
  json_builder_begin_object(builder);
  json_set_count(builder, "discrete", verification->discrete);
  json_set_count(builder, "zones", verification->zones);
  json_set_count(builder, "expanded", verification->expanded);
  json_set_count(builder, "transitions", verification->transitions);
  json_builder_end_object(builder);
}

static const char *stop_name(StopReason reason) {
  static const char *const names[] = {
      [STOP_NOT] = NULL,        [STOP_TIME] = "time",         [STOP_MEMORY] = "memory",
      [STOP_STATES] = "states", [STOP_OVERFLOW] = "overflow", [STOP_INTERRUPT] = "interrupt",
  };
  return names[reason];
}

void result_json_scenario(JsonBuilder *builder, const Outcome *outcome) {
  const Program *program = outcome->program;
  json_builder_begin_object(builder);
  json_set_string(builder, "name", program->scenario);
  json_set_string(builder, "text", program->scenario_text);
  json_set_string(builder, "engine", outcome->engine);
  json_builder_set_member_name(builder, "parameters");
  result_json_parameters(builder, program);
  json_builder_set_member_name(builder, "rounds");
  if (program->rounds > 0) {
    json_builder_add_int_value(builder, program->rounds);
  } else {
    json_builder_add_null_value(builder);
  }
  json_builder_set_member_name(builder, "properties");
  json_builder_begin_array(builder);
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    add_property(builder, &outcome->claims[i]);
  }
  json_builder_end_array(builder);
  add_states(builder, outcome->verification);
  set_bool(builder, "complete", outcome_is_complete(outcome));
  json_set_string(builder, "stopped_by", stop_name(outcome->verification->stopped));
  json_builder_set_member_name(builder, "seconds");
  json_builder_add_double_value(builder, outcome->seconds);
  json_set_count(builder, "peak_bytes", outcome->verification->peak_bytes);
  add_findings(builder, outcome);
  json_builder_end_object(builder);
}

void result_json_parameters(JsonBuilder *builder, const Program *program) {
  json_builder_begin_object(builder);
  for (int32_t i = 0; i < program->parameter_count; i++) {
    const Parameter *parameter = &program->parameters[i];
    g_autofree char *text = parameter_text(parameter);
    json_builder_set_member_name(builder, parameter->name);
    if (parameter->is_duration) {
      json_builder_add_string_value(builder, text);
    } else {
      json_builder_add_int_value(builder, parameter->value);
    }
  }
  json_builder_end_object(builder);
}

/* Those of the first scenario; a scenario that sets one differently says so itself. */
static void add_document_parameters(JsonBuilder *builder, const GPtrArray *outcomes) {
  json_builder_set_member_name(builder, "parameters");
  if (outcomes->len) {
    result_json_parameters(builder, ((const Outcome *)outcomes->pdata[0])->program);
  } else {
    json_builder_begin_object(builder);
    json_builder_end_object(builder);
  }
}

void result_json_document(JsonBuilder *builder, const char *model, const GPtrArray *outcomes,
                          const GPtrArray *warnings) {
  json_builder_begin_object(builder);
  json_set_string(builder, "format", "lockstep-check/1");
  json_set_string(builder, "version", LOCKSTEP_VERSION);
  json_set_string(builder, "model", model);
  add_document_parameters(builder, outcomes);
  json_builder_set_member_name(builder, "scenarios");
  json_builder_begin_array(builder);
  for (guint i = 0; i < outcomes->len; i++) {
    result_json_scenario(builder, outcomes->pdata[i]);
  }
  json_builder_end_array(builder);
  add_warnings(builder, "warnings", warnings);
  json_builder_end_object(builder);
}

char *json_text(JsonBuilder *builder, bool pretty) {
  g_autoptr(JsonNode) root = json_builder_get_root(builder);
  g_autofree char *text = json_to_string(root, pretty);
  return g_strconcat(text, "\n", NULL);
}

void json_print(JsonBuilder *builder, bool pretty) {
  g_autofree char *text = json_text(builder, pretty);
  fputs(text, stdout);
}
