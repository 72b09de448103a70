#include "traces/story.h"

#include <string.h>

/* A client's state from what has happened to it; the strongest wins. */
typedef struct ClientFacts {
  bool acquiring, inside, paused, down;
  int32_t entered; /* step of its last entry */
} ClientFacts;

static const char *const free_values[] = {"none", "", "0", "off", "false", "free"};

bool story_is_free(const char *value) {
  for (size_t i = 0; i < G_N_ELEMENTS(free_values); i++) {
    if (strcmp(value, free_values[i]) == 0) {
      return true;
    }
  }
  return false;
}

static int32_t client_named(const Run *run, const char *name) {
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    if (run->lanes[lane].is_client &&
        (strcmp(run->lanes[lane].name, name) == 0 || strcmp(run->lanes[lane].model_name, name) == 0)) {
      return lane;
    }
  }
  return -1;
}

int32_t story_owner(const Run *run, const RunEvent *event) {
  return event->owner >= 0 ? event->owner : client_named(run, event->text);
}

bool story_is_bottom(const RunLane *lane) {
  return !lane->is_client && lane->is_resource && !lane->has_lock;
}

/* --- tracks ------------------------------------------------------------------------------------------------------ */

/* From `step` on the track has this value. A second change in one step replaces the first. */
static void track_set(StoryTrack *track, int32_t step, int32_t value, const char *text) {
  StorySpan *last = track->spans.count ? &track->spans.items[track->spans.count - 1] : NULL;
  if (last && last->value == value && (last->text == text || (text && last->text && strcmp(last->text, text) == 0))) {
    return;
  }
  if (last && last->from == step) {
    last->value = value;
    last->text = text;
    return;
  }
  if (last) {
    last->to = step;
  }
  vec_push(&track->spans, ((StorySpan){.from = step, .to = step, .value = value, .text = text}));
}

static StoryTrack *find_variable(Story *story, int32_t lane, const char *name, uint32_t *lane_variables) {
  *lane_variables = 0;
  for (uint32_t i = (uint32_t)story->run->lane_count; i < story->tracks.count; i++) {
    StoryTrack *track = &story->tracks.items[i];
    if (track->lane != lane) {
      continue;
    }
    ++*lane_variables;
    if (strcmp(track->name, name) == 0) {
      return track;
    }
  }
  return NULL;
}

/* Locks are always followed; other variables only where a server has no lock to show (Fischer's shared variable). */
static bool is_followed(const Run *run, const RunEvent *event) {
  const RunLane *lane = &run->lanes[event->lane];
  return event->is_lock || (!lane->is_client && !lane->has_lock && !lane->is_resource);
}

static void add_variable_change(Story *story, int32_t step, const RunEvent *event) {
  const Run *run = story->run;
  if (event->lane < 0 || !is_followed(run, event)) {
    return;
  }
  uint32_t lane_variables = 0;
  StoryTrack *track = find_variable(story, event->lane, event->name, &lane_variables);
  if (!track && lane_variables == STORY_VARIABLES_PER_LANE) {
    return;
  }
  if (!track) {
    vec_push(&story->tracks, ((StoryTrack){.lane = event->lane, .name = event->name, .is_lock = event->is_lock}));
    track = &story->tracks.items[story->tracks.count - 1];
    int32_t owner = client_named(run, event->before);
    track_set(track, 0, owner >= 0 ? owner : story_is_free(event->before) ? STORY_FREE : STORY_VALUE, event->before);
  }
  int32_t owner = story_owner(run, event);
  track_set(track, step, owner >= 0 ? owner : story_is_free(event->text) ? STORY_FREE : STORY_VALUE, event->text);
}

static void close_tracks(Story *story) {
  for (uint32_t i = 0; i < story->tracks.count; i++) {
    StoryTrack *track = &story->tracks.items[i];
    if (track->spans.count) {
      track->spans.items[track->spans.count - 1].to = story->run->step_count;
    }
  }
}

const StorySpan *story_span_at(const StoryTrack *track, int32_t step) {
  for (uint32_t i = track->spans.count; i-- > 0;) {
    if (track->spans.items[i].from <= step) {
      return &track->spans.items[i];
    }
  }
  return NULL;
}

LaneState story_state(const Story *story, int32_t lane, int32_t step) {
  const StorySpan *span = lane >= 0 ? story_span_at(&story->tracks.items[lane], step) : NULL;
  return span ? (LaneState)span->value : LANE_IDLE;
}

/* --- states of lanes --------------------------------------------------------------------------------------------- */

static void apply_to_facts(ClientFacts *facts, const RunEvent *event, int32_t step) {
  switch (event->kind) {
  case RUN_ATTEMPT: facts->acquiring = true; break;
  case RUN_ENTER:
    facts->inside = true;
    facts->entered = step;
    break;
  case RUN_LEAVE: facts->inside = facts->acquiring = false; break;
  case RUN_PAUSE: facts->paused = true; break;
  case RUN_RESUME: facts->paused = false; break;
  case RUN_CRASH: *facts = (ClientFacts){.down = true}; break;
  case RUN_RESTART:
  case RUN_END: *facts = (ClientFacts){0}; break;
  default: break;
  }
}

static int32_t inside_count(const ClientFacts *facts, int32_t lane_count) {
  int32_t count = 0;
  for (int32_t lane = 0; lane < lane_count; lane++) {
    count += facts[lane].inside;
  }
  return count;
}

static LaneState state_of(const ClientFacts *all, int32_t lane, int32_t lane_count, int32_t crowd) {
  const ClientFacts *facts = &all[lane];
  if (facts->down) {
    return LANE_DOWN;
  }
  if (facts->paused) {
    return LANE_PAUSED;
  }
  if (!facts->inside) {
    return facts->acquiring ? LANE_ACQUIRING : LANE_IDLE;
  }
  if (crowd > 0 && inside_count(all, lane_count) >= crowd) {
    for (int32_t other = 0; other < lane_count; other++) {
      if (other != lane && all[other].inside && all[other].entered > facts->entered) {
        return LANE_STALE;
      }
    }
  }
  return LANE_INSIDE;
}

static void apply_step(ClientFacts *facts, const RunStep *step, int32_t index) {
  for (int32_t i = 0; i < step->event_count; i++) {
    if (step->events[i].lane >= 0) {
      apply_to_facts(&facts[step->events[i].lane], &step->events[i], index);
    }
  }
}

/* How many inside at once are too many, as far as the run tells: for a violated mutual exclusion as many as are inside
 * then; for a damaged write, or where the two parties of the violation are both inside, two. 0: overlap says nothing.
 */
static int32_t crowd_of(const Story *story) {
  const Run *run = story->run;
  if (story->violation_step < 0) {
    return 0;
  }
  g_autofree ClientFacts *facts = g_new0(ClientFacts, (gsize)run->lane_count + 1);
  for (int32_t i = 0; i <= story->violation_step; i++) {
    apply_step(facts, &run->steps[i], i);
  }
  int32_t inside = inside_count(facts, run->lane_count);
  if (strcmp(run->property, "mutual_exclusion") == 0) {
    return inside >= 2 ? inside : 0;
  }
  if (strcmp(run->property, "fencing") == 0 || strcmp(run->property, "lost_update") == 0) {
    return 2;
  }
  const RunStep *step = &run->steps[story->violation_step];
  for (int32_t i = 0; i < step->event_count; i++) {
    const RunEvent *event = &step->events[i];
    if (event->kind == RUN_VIOLATION && event->lane >= 0 && event->peer >= 0 && event->lane != event->peer &&
        facts[event->lane].inside && facts[event->peer].inside) {
      return 2;
    }
  }
  return 0;
}

static void follow_states(Story *story) {
  const Run *run = story->run;
  int32_t crowd = crowd_of(story);
  g_autofree ClientFacts *facts = g_new0(ClientFacts, (gsize)run->lane_count + 1);
  VEC(StorySpan) overlaps = {0};
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    vec_push(&story->tracks, ((StoryTrack){.lane = lane}));
    track_set(&story->tracks.items[lane], 0, LANE_IDLE, NULL);
  }
  for (int32_t i = 0; i < run->step_count; i++) {
    apply_step(facts, &run->steps[i], i);
    for (int32_t lane = 0; lane < run->lane_count; lane++) {
      track_set(&story->tracks.items[lane], i, (int32_t)state_of(facts, lane, run->lane_count, crowd), NULL);
    }
    int32_t inside = inside_count(facts, run->lane_count);
    if (crowd == 0 || inside < crowd) {
      continue;
    }
    StorySpan *last = overlaps.count ? &overlaps.items[overlaps.count - 1] : NULL;
    if (last && last->to == i && last->value == inside) {
      last->to = i + 1;
    } else {
      vec_push(&overlaps, ((StorySpan){.from = i, .to = i + 1, .value = inside}));
    }
  }
  story->overlaps = overlaps.items;
  story->overlap_count = (int32_t)overlaps.count;
}

int32_t story_other_inside(const Story *story, int32_t lane, int32_t step, int32_t *since) {
  const Run *run = story->run;
  int32_t found = -1;
  g_autofree ClientFacts *facts = g_new0(ClientFacts, (gsize)run->lane_count + 1);
  for (int32_t i = 0; i <= step; i++) {
    apply_step(facts, &run->steps[i], i);
  }
  for (int32_t other = 0; other < run->lane_count; other++) {
    if (other != lane && facts[other].inside && (found < 0 || facts[other].entered > *since)) {
      found = other;
      *since = facts[other].entered;
    }
  }
  return found;
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static StoryMessage *message_of(Story *story, int32_t id) {
  gpointer index = g_hash_table_lookup(story->message_by_id, GINT_TO_POINTER(id));
  return index ? &story->messages.items[GPOINTER_TO_UINT(index) - 1] : NULL;
}

const StoryMessage *story_message(const Story *story, int32_t id) {
  gpointer index = g_hash_table_lookup(story->message_by_id, GINT_TO_POINTER(id));
  return index ? &story->messages.items[GPOINTER_TO_UINT(index) - 1] : NULL;
}

static void add_send(Story *story, int32_t step, const RunEvent *event) {
  const Run *run = story->run;
  if (event->message <= 0 || event->lane < 0 || event->peer < 0 || message_of(story, event->message)) {
    return;
  }
  int32_t client = run->lanes[event->lane].is_client   ? event->lane
                   : run->lanes[event->peer].is_client ? event->peer
                                                       : -1;
  vec_push(&story->messages, ((StoryMessage){.id = event->message,
                                             .reply_to = event->reply_to,
                                             .from = event->lane,
                                             .to = event->peer,
                                             .client = client,
                                             .sent = step,
                                             .arrived = -1,
                                             .is_reply = event->reply_to > 0,
                                             .is_late = event->flag_late,
                                             .is_lost = event->flag_lost,
                                             .ended = -1,
                                             .text = event->text}));
  g_hash_table_insert(story->message_by_id, GINT_TO_POINTER(event->message), GUINT_TO_POINTER(story->messages.count));
}

static void end_request(StoryMessage *request, int32_t step, const char *outcome) {
  if (request && request->ended < 0) {
    request->ended = step;
    request->outcome = outcome;
  }
}

/* The oldest call of `client` to `server` that is still open: time-outs and refusals do not name their message. */
static StoryMessage *open_call(Story *story, int32_t client, int32_t server, int32_t id) {
  if (id > 0) {
    return message_of(story, id);
  }
  for (uint32_t i = 0; i < story->messages.count; i++) {
    StoryMessage *message = &story->messages.items[i];
    if (message->from == client && message->to == server && !message->is_reply && message->ended < 0) {
      return message;
    }
  }
  return NULL;
}

static void add_message_event(Story *story, int32_t step, const RunEvent *event) {
  StoryMessage *message = event->message > 0 ? message_of(story, event->message) : NULL;
  switch (event->kind) {
  case RUN_SEND: add_send(story, step, event); break;
  case RUN_ARRIVE:
  case RUN_DROP:
    if (message) {
      message->arrived = message->arrived < 0 ? step : message->arrived;
      message->is_late = message->is_late || event->flag_late;
      message->is_dropped = event->kind == RUN_DROP;
      if (message->is_reply && event->kind == RUN_ARRIVE) {
        end_request(message_of(story, message->reply_to), step, message->text);
      }
    }
    break;
  case RUN_TIMEOUT: end_request(open_call(story, event->lane, event->peer, event->message), step, "timeout"); break;
  case RUN_REFUSED: end_request(open_call(story, event->lane, event->peer, event->message), step, "refused"); break;
  default: break;
  }
}

/* --- order and identity of lanes --------------------------------------------------------------------------------- */

static int32_t first_event(const Run *run, int32_t lane, RunEventKind kind) {
  for (int32_t i = 0; i < run->step_count; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->lane == lane && event->kind == kind) {
        return i;
      }
    }
  }
  return G_MAXINT32;
}

static void order_lanes(Story *story) {
  const Run *run = story->run;
  gsize room = (gsize)run->lane_count + 1;
  int32_t count = 0, clients = 0;
  g_autofree int32_t *entered = g_new0(int32_t, room);
  story->order = g_new0(int32_t, room);
  story->hue_number = g_new0(int32_t, room);
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    bool is_client = run->lanes[lane].is_client;
    story->hue_number[lane] = is_client ? clients++ : -1;
    entered[lane] = is_client ? first_event(run, lane, RUN_ENTER) : 0;
    if (!is_client && !story_is_bottom(&run->lanes[lane])) {
      story->order[count++] = lane;
    }
  }
  int32_t first_client = count;
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    if (run->lanes[lane].is_client) {
      int32_t at = count++;
      for (; at > first_client && entered[story->order[at - 1]] > entered[lane]; at--) {
        story->order[at] = story->order[at - 1];
      }
      story->order[at] = lane;
    }
  }
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    if (story_is_bottom(&run->lanes[lane])) {
      story->order[count++] = lane;
    }
  }
}

static int32_t find_violation(const Run *run) {
  for (int32_t i = 0; i < run->step_count; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->kind == RUN_VIOLATION && strcmp(event->name, run->property) == 0) {
        return i;
      }
    }
  }
  return run->property[0] ? run->step_count - 1 : -1;
}

Story *story_new(const Run *run) {
  Story *story = g_new0(Story, 1);
  story->run = run;
  story->message_by_id = g_hash_table_new(g_direct_hash, g_direct_equal);
  story->violation_step = find_violation(run);
  story->is_untimed = run->step_count == 0 || run->steps[run->step_count - 1].time_ns == run->steps[0].time_ns;
  order_lanes(story);
  follow_states(story);
  for (int32_t i = 0; i < run->step_count; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->kind == RUN_VARIABLE) {
        add_variable_change(story, i, event);
      } else {
        add_message_event(story, i, event);
      }
    }
  }
  close_tracks(story);
  return story;
}

void story_free(Story *story) {
  if (!story) {
    return;
  }
  for (uint32_t i = 0; i < story->tracks.count; i++) {
    vec_free(&story->tracks.items[i].spans);
  }
  vec_free(&story->tracks);
  vec_free(&story->messages);
  free(story->overlaps);
  g_hash_table_destroy(story->message_by_id);
  g_free(story->order);
  g_free(story->hue_number);
  g_free(story);
}

/* --- words ------------------------------------------------------------------------------------------------------- */

/* "node[3]": the length of "node", and 3; false for a name without an index. */
static bool split_name(const char *name, size_t *base_length, int64_t *index) {
  const char *open = strrchr(name, '[');
  if (!open || open == name || !g_ascii_isdigit(open[1])) {
    return false;
  }
  char *end = NULL;
  *index = g_ascii_strtoll(open + 1, &end, 10);
  *base_length = (size_t)(open - name);
  return end[0] == ']' && end[1] == '\0';
}

/* How many lanes from `first` on are name[i], name[i + 1], … */
static int32_t range_length(const Run *run, const int32_t *lanes, int32_t count) {
  size_t base = 0, other_base = 0;
  int64_t index = 0, other_index = 0;
  const char *name = run->lanes[lanes[0]].name;
  if (!split_name(name, &base, &index)) {
    return 1;
  }
  int32_t length = 1;
  while (length < count && split_name(run->lanes[lanes[length]].name, &other_base, &other_index) &&
         other_base == base && strncmp(run->lanes[lanes[length]].name, name, base) == 0 &&
         other_index == index + length) {
    length++;
  }
  return length;
}

char *story_lanes_text(const Run *run, const int32_t *lanes, int32_t count) {
  GString *text = g_string_new(NULL);
  for (int32_t i = 0; i < count;) {
    int32_t length = range_length(run, lanes + i, count - i);
    const char *name = run->lanes[lanes[i]].name;
    g_string_append(text, i ? ", " : "");
    if (length < 2) {
      g_string_append(text, name);
    } else {
      const char *last = run->lanes[lanes[i + length - 1]].name;
      g_string_append_printf(text, "%.*s..%s", (int)(strlen(name) - 1), name, strrchr(last, '[') + 1);
    }
    i += length;
  }
  return g_string_free(text, FALSE);
}

/* Appends value / unit with `digits` decimals, rounded half up, without trailing zeros beyond `keep` decimals. */
static void append_decimal(GString *text, uint64_t value, uint64_t unit, int digits, int keep) {
  uint64_t scale = 1;
  for (int i = 0; i < digits; i++) {
    scale *= 10;
  }
  uint64_t step = unit / scale ? unit / scale : 1;
  uint64_t rounded = value / step + (value % step * 2 >= step && step > 1 ? 1 : 0);
  uint64_t per_unit = unit / step;
  g_string_append_printf(text, "%" G_GUINT64_FORMAT, rounded / per_unit);
  uint64_t fraction = rounded % per_unit;
  while (digits > keep && fraction % 10 == 0) {
    fraction /= 10;
    digits--;
  }
  if (digits > 0) {
    g_string_append_printf(text, ".%0*" G_GUINT64_FORMAT, digits, fraction);
  }
}

char *story_duration_text(int64_t duration_ns) {
  GString *text = g_string_new(duration_ns < 0 ? "-" : NULL);
  uint64_t size = duration_ns < 0 ? -(uint64_t)duration_ns : (uint64_t)duration_ns;
  if (size >= 999999500) {
    append_decimal(text, size, 1000000000, 3, 0);
    g_string_append(text, " s");
  } else if (size >= 999500) {
    append_decimal(text, size, 1000000, size < 10000000 ? 2 : 0, 0);
    g_string_append(text, " ms");
  } else if (size >= 1000) {
    append_decimal(text, size, 1000, size < 10000 ? 2 : 0, 0);
    g_string_append(text, " us");
  } else {
    g_string_append_printf(text, "%" G_GUINT64_FORMAT " ns", size);
  }
  return g_string_free(text, FALSE);
}

char *story_instant_text(const Story *story, int64_t time_ns) {
  const Run *run = story->run;
  int64_t length = run->step_count ? run->steps[run->step_count - 1].time_ns : 0;
  int digits = length >= 100000000 || length == 0 ? 3 : length >= 100000 ? 6 : 9;
  GString *text = g_string_new(time_ns < 0 ? "-" : NULL);
  append_decimal(text, time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns, 1000000000, digits, digits);
  return g_string_free(text, FALSE);
}

static const struct {
  const char *property, *headline;
} headlines[] = {
    {"mutual_exclusion", "Mutual exclusion violated"},
    {"fencing", "Fencing violated"},
    {"lost_update", "An update is lost"},
    {"owner_release", "A lock is taken from its owner"},
    {"token_order", "Fencing tokens out of order"},
    {"obtainable", "The lock cannot be obtained"},
    {"deadlock", "Deadlock"},
};

static void append_without_stop(GString *text, const char *sentence) {
  g_string_append(text, sentence);
  while (text->len && (text->str[text->len - 1] == '.' || text->str[text->len - 1] == '\n')) {
    g_string_truncate(text, text->len - 1);
  }
}

char *story_title(const Run *run) {
  GString *title = g_string_new(NULL);
  if (!run->property[0]) {
    g_string_append_printf(title, "A run of %s", run->model);
    return g_string_free(title, FALSE);
  }
  const char *headline = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS(headlines); i++) {
    if (strcmp(run->property, headlines[i].property) == 0) {
      headline = headlines[i].headline;
    }
  }
  if (headline) {
    g_string_append(title, headline);
  } else {
    g_string_append_printf(title, "\"%s\" violated", run->property);
  }
  if (run->property_sentence[0]) {
    g_string_append(title, ": ");
    append_without_stop(title, run->property_sentence);
  }
  return g_string_free(title, FALSE);
}

char *story_subtitle(const Run *run) {
  GString *text = g_string_new(run->model);
  if (run->scenario[0]) {
    g_string_append_printf(text, ", scenario %s", run->scenario);
  }
  for (int32_t i = 0; i < run->parameter_count; i++) {
    g_string_append_printf(text, "%s%s %s", i ? ", " : "; ", run->parameters[i].name, run->parameters[i].value);
  }
  if (run->faults_text[0]) {
    g_string_append(text, "; faults used: ");
    append_without_stop(text, run->faults_text);
  } else {
    g_string_append(text, "; no fault used");
  }
  return g_string_free(text, FALSE);
}

char *story_lane_title(const RunLane *lane) {
  return lane->is_client && g_utf8_strlen(lane->name, -1) <= 2 ? g_strdup_printf("Client %s", lane->name)
                                                               : g_strdup(lane->name);
}
