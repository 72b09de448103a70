#include "traces/json.h"

#include <json-glib/json-glib.h>
#include <string.h>

/* Names of events in the file, by kind. */
static const char *const event_names[] = {
    [RUN_BEGIN] = "begin",       [RUN_ATTEMPT] = "attempt", [RUN_SEND] = "send",
    [RUN_ARRIVE] = "arrive",     [RUN_DROP] = "drop",       [RUN_REFUSED] = "refused",
    [RUN_TIMEOUT] = "timeout",   [RUN_WAIT] = "wait",       [RUN_WAKE] = "wake",
    [RUN_VARIABLE] = "variable", [RUN_FIRE] = "fire",       [RUN_ENTER] = "enter",
    [RUN_LEAVE] = "leave",       [RUN_OBSERVE] = "observe", [RUN_COMMIT] = "commit",
    [RUN_REJECT] = "reject",     [RUN_PAUSE] = "pause",     [RUN_RESUME] = "resume",
    [RUN_CRASH] = "crash",       [RUN_RESTART] = "restart", [RUN_CLOCK_STEP] = "clock_step",
    [RUN_END] = "end",           [RUN_COMPARE] = "compare", [RUN_VIOLATION] = "violation",
    [RUN_LOSS] = "loss",         [RUN_CUT] = "cut",         [RUN_JOIN] = "join",
    [RUN_TRIGGER] = "trigger",
};
_Static_assert(G_N_ELEMENTS(event_names) == RUN_EVENT_KIND_COUNT, "every kind of event has a name");

/* The plain members of an event, a lane and the run, each once for writer and reader. */
#define OFFSET(type, field) G_STRUCT_OFFSET(type, field)
typedef struct Field {
  const char *name;
  size_t offset;
  int64_t missing, lowest; /* of a number: its value when left out, and its lower limit */
} Field;

static const Field event_numbers[] = {
    {"lane", OFFSET(RunEvent, lane), -1, -1},
    {"peer", OFFSET(RunEvent, peer), -1, -1},
    {"message", OFFSET(RunEvent, message), 0, 0},
    {"reply_to", OFFSET(RunEvent, reply_to), 0, 0},
    {"number", OFFSET(RunEvent, number), 0, G_MININT32},
    {"owner", OFFSET(RunEvent, owner), -1, -1},
};
static const Field event_flags[] = {
    {.name = "late", .offset = OFFSET(RunEvent, flag_late)},
    {.name = "lost", .offset = OFFSET(RunEvent, flag_lost)},
    {.name = "lock", .offset = OFFSET(RunEvent, is_lock)},
};
static const Field event_strings[] = {
    {.name = "name", .offset = OFFSET(RunEvent, name)},
    {.name = "before", .offset = OFFSET(RunEvent, before)},
    {.name = "text", .offset = OFFSET(RunEvent, text)},
};
static const Field lane_flags[] = {
    {.name = "client", .offset = OFFSET(RunLane, is_client)},
    {.name = "resource", .offset = OFFSET(RunLane, is_resource)},
    {.name = "lock", .offset = OFFSET(RunLane, has_lock)},
};
static const Field run_strings[] = {
    {.name = "model", .offset = OFFSET(Run, model)},
    {.name = "model_text", .offset = OFFSET(Run, model_text)},
    {.name = "scenario", .offset = OFFSET(Run, scenario)},
    {.name = "scenario_text", .offset = OFFSET(Run, scenario_text)},
    {.name = "property", .offset = OFFSET(Run, property)},
    {.name = "property_sentence", .offset = OFFSET(Run, property_sentence)},
    {.name = "faults_text", .offset = OFFSET(Run, faults_text)},
};

#define FIELD(type, object, field) ((type *)(void *)((char *)(object) + (field)->offset))
#define FIELD_CONST(type, object, field) ((const type *)(const void *)((const char *)(object) + (field)->offset))

/* --- writing ----------------------------------------------------------------------------------------------------- */

static void append_string(GString *out, const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
  g_string_append_c(out, '"');
  for (const char *at = valid; *at; at++) {
    unsigned char c = (unsigned char)*at;
    switch (c) {
    case '"': g_string_append(out, "\\\""); break;
    case '\\': g_string_append(out, "\\\\"); break;
    case '\n': g_string_append(out, "\\n"); break;
    case '\t': g_string_append(out, "\\t"); break;
    default:
      if (c < 0x20) {
        g_string_append_printf(out, "\\u%04x", c);
      } else {
        g_string_append_c(out, (char)c);
      }
    }
  }
  g_string_append_c(out, '"');
}

static void append_name(GString *out, const char *separator, const char *name) {
  g_string_append(out, separator);
  append_string(out, name);
  g_string_append(out, ": ");
}

static void append_number(GString *out, const char *separator, const char *name, int64_t number) {
  append_name(out, separator, name);
  g_string_append_printf(out, "%" G_GINT64_FORMAT, number);
}

static void append_member(GString *out, const char *separator, const char *name, const char *text) {
  append_name(out, separator, name);
  append_string(out, text);
}

static void append_flags(GString *out, const void *object, const Field *fields, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (*FIELD_CONST(bool, object, &fields[i])) {
      append_name(out, ", ", fields[i].name);
      g_string_append(out, "true");
    }
  }
}

static void append_event(GString *out, const RunEvent *event) {
  append_member(out, "{", "event", event_names[event->kind]);
  for (size_t i = 0; i < G_N_ELEMENTS(event_numbers); i++) {
    int32_t value = *FIELD_CONST(int32_t, event, &event_numbers[i]);
    if (value != event_numbers[i].missing) {
      append_number(out, ", ", event_numbers[i].name, value);
    }
  }
  if (event->duration_ns) {
    append_number(out, ", ", "duration_ns", event->duration_ns);
  }
  append_flags(out, event, event_flags, G_N_ELEMENTS(event_flags));
  for (size_t i = 0; i < G_N_ELEMENTS(event_strings); i++) {
    const char *text = *FIELD_CONST(char *, event, &event_strings[i]);
    if (text[0]) {
      append_member(out, ", ", event_strings[i].name, text);
    }
  }
  g_string_append_c(out, '}');
}

static void append_action(GString *out, const Action *action) {
  append_name(out, ", ", "action");
  append_number(out, "{", "kind", action->kind);
  append_number(out, ", ", "subject", action->subject);
  append_number(out, ", ", "object", action->object);
  if (action->part) {
    append_number(out, ", ", "part", action->part);
  }
  append_name(out, ", ", "choices");
  g_string_append_c(out, '[');
  for (int i = 0; i < action->choice_count; i++) {
    g_string_append_printf(out, "%s%d", i ? ", " : "", action->choices[i]);
  }
  g_string_append(out, "]}");
}

static void append_step(GString *out, const RunStep *step) {
  append_number(out, "    {", "time_ns", step->time_ns);
  append_action(out, &step->action);
  if (step->faults) {
    append_number(out, ", ", "faults", step->faults);
  }
  append_name(out, ", ", "events");
  g_string_append_c(out, '[');
  for (int32_t i = 0; i < step->event_count; i++) {
    g_string_append(out, i ? ",\n      " : "\n      ");
    append_event(out, &step->events[i]);
  }
  g_string_append(out, "]}");
}

static void append_lane(GString *out, const RunLane *lane) {
  append_member(out, "    {", "name", lane->name);
  append_member(out, ", ", "model_name", lane->model_name);
  append_number(out, ", ", "group", lane->group);
  if (lane->rate) {
    append_number(out, ", ", "rate", lane->rate);
  }
  append_flags(out, lane, lane_flags, G_N_ELEMENTS(lane_flags));
  g_string_append_c(out, '}');
}

static void open_list(GString *out, const char *name, int32_t count) {
  append_name(out, ",\n  ", name);
  g_string_append(out, count ? "[\n" : "[");
}

static void close_list(GString *out, int32_t count) {
  g_string_append(out, count ? "\n  ]" : "]");
}

char *trace_to_json(const Run *run, const TraceMeta *meta) {
  GString *out = g_string_new(NULL);
  append_member(out, "{\n  ", "format", TRACE_FORMAT_NAME);
  append_member(out, ",\n  ", "tool_version", meta->tool_version);
  append_member(out, ",\n  ", "model_hash", meta->model_hash);
  for (size_t i = 0; i < G_N_ELEMENTS(run_strings); i++) {
    append_member(out, ",\n  ", run_strings[i].name, *FIELD_CONST(char *, run, &run_strings[i]));
  }
  append_number(out, ",\n  ", "faults", run->faults);
  if (run->end_ns) {
    append_number(out, ",\n  ", "end_ns", run->end_ns);
  }
  if (run->suspends) {
    append_number(out, ",\n  ", "suspends", run->suspends);
  }
  if (run->is_unordered) {
    append_number(out, ",\n  ", "unordered", 1);
  }
  open_list(out, "parameters", run->parameter_count);
  for (int32_t i = 0; i < run->parameter_count; i++) {
    append_member(out, i ? ",\n    {" : "    {", "name", run->parameters[i].name);
    append_member(out, ", ", "value", run->parameters[i].value);
    g_string_append_c(out, '}');
  }
  close_list(out, run->parameter_count);
  open_list(out, "why", run->why_count);
  for (int32_t i = 0; i < run->why_count; i++) {
    g_string_append(out, i ? ",\n    " : "    ");
    append_string(out, run->why[i]);
  }
  close_list(out, run->why_count);
  open_list(out, "lanes", run->lane_count);
  for (int32_t i = 0; i < run->lane_count; i++) {
    g_string_append(out, i ? ",\n" : "");
    append_lane(out, &run->lanes[i]);
  }
  close_list(out, run->lane_count);
  open_list(out, "steps", run->step_count);
  for (int32_t i = 0; i < run->step_count; i++) {
    g_string_append(out, i ? ",\n" : "");
    append_step(out, &run->steps[i]);
  }
  close_list(out, run->step_count);
  g_string_append(out, "\n}\n");
  return g_string_free(out, FALSE);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

enum { DEPTH_MAX = 16 };

typedef struct Reader {
  GError **error;
  bool has_failed;
  char where[64]; /* "step 7", "lane 2", "" */
} Reader;

G_GNUC_PRINTF(2, 3) static void fail(Reader *reader, const char *format, ...) {
  if (reader->has_failed) {
    return;
  }
  reader->has_failed = true;
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_set_error(reader->error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "not a trace: %s%s%s", reader->where,
              reader->where[0] ? ": " : "", message);
}

/* json-glib recurses with the nesting and accepts comments and other extras; so look before it does. Outside of strings
 * only what JSON itself has is let through, and a trace is never deep. */
static bool looks_like_json(Reader *reader, const char *text, size_t length) {
  int depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    if (is_string) {
      i += c == '\\' && i + 1 < length;
      is_string = c != '"';
    } else if (c == '"') {
      is_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > DEPTH_MAX) {
        fail(reader, "nested more than %d deep", DEPTH_MAX);
        return false;
      }
    } else if (c == '}' || c == ']') {
      depth--;
    } else if (c == '\0' || !(g_ascii_isalnum(c) || strchr(" \t\r\n,:+-.", c))) {
      fail(reader, "no JSON (an unexpected character at byte %" G_GSIZE_FORMAT ")", i);
      return false;
    }
  }
  return true;
}

static JsonNode *member_of(Reader *reader, JsonObject *object, const char *name, bool is_required) {
  JsonNode *node = json_object_get_member(object, name);
  if (!node && is_required) {
    fail(reader, "'%s' is missing", name);
  }
  return node;
}

static bool holds(JsonNode *node, GType type) {
  return JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type;
}

static char *read_string(Reader *reader, JsonObject *object, const char *name, bool is_required) {
  JsonNode *node = member_of(reader, object, name, is_required);
  if (node && !holds(node, G_TYPE_STRING)) {
    fail(reader, "'%s' is no string", name);
    node = NULL;
  }
  return g_strdup(node ? json_node_get_string(node) : "");
}

static int64_t number_of(Reader *reader, JsonNode *node, const char *name, int64_t lowest, int64_t highest) {
  if (!holds(node, G_TYPE_INT64)) {
    fail(reader, "'%s' is no whole number", name);
    return lowest;
  }
  int64_t number = json_node_get_int(node);
  if (number < lowest || number > highest) {
    fail(reader, "'%s' is %" G_GINT64_FORMAT ", outside %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT, name, number, lowest,
         highest);
    return lowest;
  }
  return number;
}

static int64_t read_number(Reader *reader, JsonObject *object, const char *name, int64_t lowest, int64_t highest,
                           int64_t missing) {
  JsonNode *node = member_of(reader, object, name, false);
  return node ? number_of(reader, node, name, lowest, highest) : missing;
}

static void read_flags(Reader *reader, JsonObject *object, void *into, const Field *fields, size_t count) {
  for (size_t i = 0; i < count; i++) {
    JsonNode *node = member_of(reader, object, fields[i].name, false);
    if (node && !holds(node, G_TYPE_BOOLEAN)) {
      fail(reader, "'%s' is neither true nor false", fields[i].name);
    } else {
      *FIELD(bool, into, &fields[i]) = node && json_node_get_boolean(node);
    }
  }
}

static JsonArray *read_array(Reader *reader, JsonObject *object, const char *name) {
  JsonNode *node = member_of(reader, object, name, true);
  if (node && !JSON_NODE_HOLDS_ARRAY(node)) {
    fail(reader, "'%s' is no list", name);
    return NULL;
  }
  JsonArray *array = node ? json_node_get_array(node) : NULL;
  if (array && json_array_get_length(array) > G_MAXINT32) {
    fail(reader, "'%s' is too long", name);
    return NULL;
  }
  return array;
}

static JsonObject *object_at(Reader *reader, JsonArray *array, guint index, const char *what) {
  JsonNode *node = json_array_get_element(array, index);
  if (!JSON_NODE_HOLDS_OBJECT(node)) {
    fail(reader, "%s %u is no object", what, index + 1);
    return NULL;
  }
  return json_node_get_object(node);
}

static guint length_of(JsonArray *array) {
  return array ? json_array_get_length(array) : 0;
}

static RunEventKind read_kind(Reader *reader, JsonObject *object) {
  g_autofree char *name = read_string(reader, object, "event", true);
  for (int kind = 0; kind < RUN_EVENT_KIND_COUNT; kind++) {
    if (strcmp(event_names[kind], name) == 0) {
      return (RunEventKind)kind;
    }
  }
  fail(reader, "unknown event '%s'", name);
  return RUN_BEGIN;
}

static void check_lane(Reader *reader, const Run *run, const char *name, int32_t lane, bool is_client) {
  if (lane >= run->lane_count) {
    fail(reader, "'%s' is %d, but there are %d lanes", name, lane, run->lane_count);
  } else if (is_client && lane >= 0 && !run->lanes[lane].is_client) {
    fail(reader, "'%s' is %d, which is no client", name, lane);
  }
}

static void read_event(Reader *reader, const Run *run, JsonObject *object, RunEvent *event) {
  event->kind = read_kind(reader, object);
  for (size_t i = 0; i < G_N_ELEMENTS(event_numbers); i++) {
    const Field *field = &event_numbers[i];
    *FIELD(int32_t, event, field) =
        (int32_t)read_number(reader, object, field->name, field->lowest, G_MAXINT32, field->missing);
  }
  event->duration_ns = read_number(reader, object, "duration_ns", -G_MAXINT64, G_MAXINT64, 0);
  read_flags(reader, object, event, event_flags, G_N_ELEMENTS(event_flags));
  for (size_t i = 0; i < G_N_ELEMENTS(event_strings); i++) {
    *FIELD(char *, event, &event_strings[i]) = read_string(reader, object, event_strings[i].name, false);
  }
  check_lane(reader, run, "lane", event->lane, false);
  check_lane(reader, run, "peer", event->peer, false);
  check_lane(reader, run, "owner", event->owner, true);
}

static void read_action(Reader *reader, JsonObject *step, Action *action) {
  JsonNode *node = member_of(reader, step, "action", true);
  if (node && !JSON_NODE_HOLDS_OBJECT(node)) {
    fail(reader, "'action' is no object");
  }
  if (reader->has_failed) {
    return;
  }
  JsonObject *object = json_node_get_object(node);
  action->kind = (uint8_t)read_number(reader, object, "kind", 0, 255, 0);
  action->subject = (uint8_t)read_number(reader, object, "subject", 0, 255, 0);
  action->object = (uint8_t)read_number(reader, object, "object", 0, 255, 0);
  action->part = (uint8_t)read_number(reader, object, "part", 0, 255, 0);
  JsonArray *choices = read_array(reader, object, "choices");
  if (length_of(choices) > ACTION_CHOICES_MAX) {
    fail(reader, "more than %d choices", ACTION_CHOICES_MAX);
    return;
  }
  action->choice_count = (uint8_t)length_of(choices);
  for (guint i = 0; i < action->choice_count; i++) {
    action->choices[i] = (uint8_t)number_of(reader, json_array_get_element(choices, i), "choices", 0, 255);
  }
}

static void read_step(Reader *reader, const Run *run, JsonObject *object, RunStep *step, int64_t earliest_ns) {
  member_of(reader, object, "time_ns", true);
  step->time_ns = read_number(reader, object, "time_ns", earliest_ns, G_MAXINT64, earliest_ns);
  step->faults = (int32_t)read_number(reader, object, "faults", 0, G_MAXINT32, 0);
  read_action(reader, object, &step->action);
  JsonArray *events = read_array(reader, object, "events");
  step->events = g_new0(RunEvent, (gsize)length_of(events) + 1);
  for (guint i = 0; i < length_of(events) && !reader->has_failed; i++) {
    JsonObject *event = object_at(reader, events, i, "event");
    if (event) {
      step->event_count++;
      read_event(reader, run, event, &step->events[i]);
    }
  }
}

static void read_steps(Reader *reader, JsonObject *root, Run *run) {
  JsonArray *steps = read_array(reader, root, "steps");
  run->steps = g_new0(RunStep, (gsize)length_of(steps) + 1);
  int64_t earliest_ns = 0;
  for (guint i = 0; i < length_of(steps) && !reader->has_failed; i++) {
    JsonObject *step = object_at(reader, steps, i, "step");
    g_snprintf(reader->where, sizeof reader->where, "step %u", i + 1);
    if (step) {
      run->step_count++;
      read_step(reader, run, step, &run->steps[i], earliest_ns);
      earliest_ns = run->steps[i].time_ns;
    }
  }
  reader->where[0] = '\0';
}

static void read_lanes(Reader *reader, JsonObject *root, Run *run) {
  JsonArray *lanes = read_array(reader, root, "lanes");
  if (length_of(lanes) > TRACE_LANES_MAX) {
    fail(reader, "more than %d lanes", TRACE_LANES_MAX);
    return;
  }
  run->lanes = g_new0(RunLane, (gsize)length_of(lanes) + 1);
  for (guint i = 0; i < length_of(lanes) && !reader->has_failed; i++) {
    JsonObject *object = object_at(reader, lanes, i, "lane");
    if (!object) {
      break;
    }
    g_snprintf(reader->where, sizeof reader->where, "lane %u", i + 1);
    RunLane *lane = &run->lanes[run->lane_count++];
    lane->name = read_string(reader, object, "name", true);
    lane->model_name = read_string(reader, object, "model_name", true);
    lane->group = (int32_t)read_number(reader, object, "group", G_MININT32, G_MAXINT32, 0);
    lane->rate = (int32_t)read_number(reader, object, "rate", 0, 3, 0);
    read_flags(reader, object, lane, lane_flags, G_N_ELEMENTS(lane_flags));
    reader->where[0] = '\0';
  }
}

static void read_parameters(Reader *reader, JsonObject *root, Run *run) {
  JsonArray *parameters = read_array(reader, root, "parameters");
  run->parameters = g_new0(RunParameter, (gsize)length_of(parameters) + 1);
  for (guint i = 0; i < length_of(parameters) && !reader->has_failed; i++) {
    JsonObject *object = object_at(reader, parameters, i, "parameter");
    if (object) {
      RunParameter *parameter = &run->parameters[run->parameter_count++];
      parameter->name = read_string(reader, object, "name", true);
      parameter->value = read_string(reader, object, "value", true);
    }
  }
}

static void read_why(Reader *reader, JsonObject *root, Run *run) {
  JsonArray *why = read_array(reader, root, "why");
  run->why = g_new0(char *, (gsize)length_of(why) + 1);
  for (guint i = 0; i < length_of(why) && !reader->has_failed; i++) {
    JsonNode *node = json_array_get_element(why, i);
    if (!holds(node, G_TYPE_STRING)) {
      fail(reader, "reason %u of 'why' is no string", i + 1);
      return;
    }
    run->why[run->why_count++] = g_strdup(json_node_get_string(node));
  }
}

static bool check_format(Reader *reader, JsonObject *root) {
  g_autofree char *format = read_string(reader, root, "format", true);
  if (reader->has_failed || strcmp(format, TRACE_FORMAT_NAME) == 0) {
    return !reader->has_failed;
  }
  if (g_str_has_prefix(format, "lockstep-trace/")) {
    reader->has_failed = true;
    g_set_error(reader->error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                "the trace has the format '%s', and this lockstep reads '%s'", format, TRACE_FORMAT_NAME);
  } else {
    fail(reader, "its format is '%s', not '%s'", format, TRACE_FORMAT_NAME);
  }
  return false;
}

static Run *read_run(Reader *reader, JsonObject *root) {
  Run *run = g_new0(Run, 1);
  for (size_t i = 0; i < G_N_ELEMENTS(run_strings); i++) {
    *FIELD(char *, run, &run_strings[i]) = read_string(reader, root, run_strings[i].name, true);
  }
  run->faults = (int32_t)read_number(reader, root, "faults", 0, G_MAXINT32, 0);
  run->end_ns = read_number(reader, root, "end_ns", 0, G_MAXINT64, 0);
  run->suspends = (int32_t)read_number(reader, root, "suspends", 0, 2, 0);
  run->is_unordered = read_number(reader, root, "unordered", 0, 1, 0) == 1;
  read_parameters(reader, root, run);
  read_why(reader, root, run);
  read_lanes(reader, root, run);
  read_steps(reader, root, run);
  return run;
}

void trace_meta_clear(TraceMeta *meta) {
  g_clear_pointer(&meta->tool_version, g_free);
  g_clear_pointer(&meta->model_hash, g_free);
}

static JsonObject *parse(Reader *reader, JsonParser *parser, const char *text, size_t length) {
  g_autoptr(GError) problem = NULL;
  if (length > G_MAXINT32 || !g_utf8_validate(text, (gssize)length, NULL)) {
    fail(reader, length > G_MAXINT32 ? "too large" : "not UTF-8");
    return NULL;
  }
  if (!looks_like_json(reader, text, length)) {
    return NULL;
  }
  if (!json_parser_load_from_data(parser, text, (gssize)length, &problem)) {
    fail(reader, "%s", problem->message);
    return NULL;
  }
  JsonNode *root = json_parser_get_root(parser);
  if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
    fail(reader, "not a JSON object");
    return NULL;
  }
  return json_node_get_object(root);
}

Run *trace_from_json(const char *text, size_t length, TraceMeta *meta, GError **error) {
  Reader reader = {.error = error};
  g_autoptr(JsonParser) parser = json_parser_new();
  JsonObject *root = parse(&reader, parser, text, length);
  if (!root || !check_format(&reader, root)) {
    return NULL;
  }
  TraceMeta found = {.tool_version = read_string(&reader, root, "tool_version", true),
                     .model_hash = read_string(&reader, root, "model_hash", true)};
  Run *run = read_run(&reader, root);
  if (reader.has_failed) {
    run_free(run);
    run = NULL;
  } else if (meta) {
    *meta = found;
    return run;
  }
  trace_meta_clear(&found);
  return run;
}
