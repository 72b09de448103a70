#include "traces/beat.h"

#include <string.h>

/* What each kind of event makes of the step that it is in. The largest priority names the beat; priority 0 is folded
 * into a round. Weights: see beats_chosen. */
static const struct {
  RunEventKind event;
  BeatKind beat;
  int priority;
  int32_t weight;
} ranks[] = {
    {RUN_COMMIT, BEAT_COMMIT, 95, 88},   {RUN_CRASH, BEAT_CRASH, 94, 95},   {RUN_CLOCK_STEP, BEAT_CLOCK, 93, 95},
    {RUN_ENTER, BEAT_ENTER, 90, 90},     {RUN_PAUSE, BEAT_PAUSE, 88, 95},   {RUN_REJECT, BEAT_REJECT, 85, 80},
    {RUN_LEAVE, BEAT_LEAVE, 84, 50},     {RUN_RESUME, BEAT_RESUME, 82, 85}, {RUN_RESTART, BEAT_RESTART, 80, 85},
    {RUN_OBSERVE, BEAT_OBSERVE, 70, 55}, {RUN_FIRE, BEAT_FIRE, 60, 30},     {RUN_WAKE, BEAT_WAKE, 20, 12},
    {RUN_TRIGGER, BEAT_TRIGGER, 94, 95}, {RUN_CUT, BEAT_CUT, 88, 95},       {RUN_JOIN, BEAT_JOIN, 82, 60},
    {RUN_LOSS, BEAT_LOSS, 75, 70},       {RUN_END, BEAT_END, 10, 20},
};

enum {
  WEIGHT_VIOLATION = 1000,
  WEIGHT_FAULT = 92,
  WEIGHT_LOCK = 70,
  WEIGHT_TAKE = 60,
  WEIGHT_FREE = 45,
  WEIGHT_TROUBLE = 42,
  WEIGHT_TOLD = 40,
  WEIGHT_ROUND = 15,
  WEIGHT_ECHO = 5
};

typedef VEC(int32_t) LaneList;

typedef struct Teller {
  const Story *story;
  const Run *run;
  bool folded;
  int32_t round_before;   /* the first step of the beat before, if that is a round; else the beat's own */
  GHashTable *last_owner; /* "lane name" -> client lane + 1: whose a variable is, up to the beat being written */
} Teller;

static const char *lane_name(const Run *run, int32_t lane) {
  return lane >= 0 ? run->lanes[lane].name : "somebody";
}

static void add_clause(GString *text, const char *clause) {
  if (clause[0]) {
    g_string_append_printf(text, "%s%s", text->len ? ", " : "", clause);
  }
}

G_GNUC_PRINTF(2, 3) static void add_clausef(GString *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *clause = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  add_clause(text, clause);
}

static void add_lane(LaneList *lanes, int32_t lane) {
  uint32_t at = 0;
  while (at < lanes->count && lanes->items[at] < lane) {
    at++;
  }
  if (lane < 0 || (at < lanes->count && lanes->items[at] == lane)) {
    return;
  }
  vec_push(lanes, lane);
  for (uint32_t i = lanes->count - 1; i > at; i--) {
    lanes->items[i] = lanes->items[i - 1];
  }
  lanes->items[at] = lane;
}

/* "set_nx(a1, 10s)" is a call of "set_nx". */
static size_t handler_length(const char *call) {
  return strcspn(call, "( ");
}

static bool is_request(const RunEvent *event) {
  return event->kind == RUN_SEND && event->reply_to <= 0;
}

static bool has_event(const RunStep *step, RunEventKind kind) {
  for (int32_t j = 0; j < step->event_count; j++) {
    if (step->events[j].kind == kind) {
      return true;
    }
  }
  return false;
}

/* --- what has changed -------------------------------------------------------------------------------------------- */

typedef struct Change {
  const RunEvent *first, *last;
  int32_t owner_before, owner_after;
} Change;
typedef VEC(Change) ChangeList;

static char *variable_key(const RunEvent *event) {
  return g_strdup_printf("%d %s", event->lane, event->name);
}

static void note_change(Teller *teller, ChangeList *changes, const RunEvent *event) {
  g_autofree char *key = variable_key(event);
  int32_t owner = story_owner(teller->run, event);
  Change *change = NULL;
  for (uint32_t i = 0; i < changes->count && !change; i++) {
    const RunEvent *first = changes->items[i].first;
    change = first->lane == event->lane && strcmp(first->name, event->name) == 0 ? &changes->items[i] : NULL;
  }
  if (change) {
    change->last = event;
    change->owner_after = owner;
  } else {
    int32_t before = GPOINTER_TO_INT(g_hash_table_lookup(teller->last_owner, key)) - 1;
    vec_push(changes, ((Change){.first = event, .last = event, .owner_before = before, .owner_after = owner}));
  }
  g_hash_table_insert(teller->last_owner, g_steal_pointer(&key), GINT_TO_POINTER(owner + 1));
}

static const char *value_text(const Run *run, const char *value, int32_t owner, bool is_lock) {
  if (owner >= 0) {
    return run->lanes[owner].name;
  }
  return is_lock && story_is_free(value) ? "free" : value;
}

static bool same_change(const Change *a, const Change *b, const Run *run) {
  return a->first->is_lock && b->first->is_lock && strcmp(a->first->name, b->first->name) == 0 &&
         run->lanes[a->first->lane].group == run->lanes[b->first->lane].group && a->owner_before == b->owner_before &&
         a->owner_after == b->owner_after &&
         (a->owner_before >= 0 || strcmp(a->first->before, b->first->before) == 0) &&
         (a->owner_after >= 0 || strcmp(a->last->text, b->last->text) == 0);
}

static bool is_change(const Change *change) {
  return strcmp(change->first->before, change->last->text) != 0;
}

/* A server with one lock is named by its name alone: "node[0..2]: free -> A". */
static bool has_several_locks(const Story *story, int32_t lane) {
  int count = 0;
  for (uint32_t i = (uint32_t)story->run->lane_count; i < story->tracks.count; i++) {
    count += story->tracks.items[i].lane == lane && story->tracks.items[i].is_lock;
  }
  return count > 1;
}

static char *change_text(const Teller *teller, const ChangeList *changes, uint32_t index, int32_t speaker) {
  const Run *run = teller->run;
  const Change *change = &changes->items[index];
  LaneList lanes = {0};
  for (uint32_t i = index; i < changes->count; i++) {
    if (i == index || (is_change(&changes->items[i]) && same_change(change, &changes->items[i], run))) {
      add_lane(&lanes, changes->items[i].first->lane);
    }
  }
  g_autofree char *names = story_lanes_text(run, lanes.items, (int32_t)lanes.count);
  vec_free(&lanes);
  const RunEvent *event = change->first;
  GString *text = g_string_new(NULL);
  if (event->is_lock) {
    g_string_append_printf(text, "%s%s%s", names, has_several_locks(teller->story, event->lane) ? "." : "",
                           has_several_locks(teller->story, event->lane) ? event->name : "");
  } else {
    g_string_append_printf(text, "%s%s%s", event->lane == speaker ? "" : names, event->lane == speaker ? "" : ".",
                           event->name);
  }
  g_string_append_printf(text, ": %s -> %s", value_text(run, event->before, change->owner_before, event->is_lock),
                         value_text(run, change->last->text, change->owner_after, event->is_lock));
  return g_string_free(text, FALSE);
}

static bool is_told_already(const ChangeList *changes, uint32_t index, const Run *run) {
  for (uint32_t i = 0; i < index; i++) {
    if (is_change(&changes->items[i]) && same_change(&changes->items[i], &changes->items[index], run)) {
      return true;
    }
  }
  return false;
}

enum { CHANGES_SHOWN = 3 };

/* Locks first. A folded beat leaves the clients' own variables to the full report; of servers it shows at most
 * CHANGES_SHOWN others and says how many more there are. */
static void append_changes(const Teller *teller, GString *text, const ChangeList *changes, int32_t speaker) {
  uint32_t others = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < changes->count; i++) {
      const Change *change = &changes->items[i];
      bool is_private = teller->folded && teller->run->lanes[change->first->lane].is_client;
      if (change->first->is_lock != (pass == 0) || !is_change(change) || is_private ||
          is_told_already(changes, i, teller->run)) {
        continue;
      }
      others += pass == 1;
      if (!teller->folded || pass == 0 || others <= CHANGES_SHOWN) {
        g_autofree char *one = change_text(teller, changes, i, speaker);
        add_clause(text, one);
      }
    }
  }
  if (teller->folded && others > CHANGES_SHOWN) {
    add_clausef(text, "%u more", others - CHANGES_SHOWN);
  }
}

static const char *const state_names[] = {"outside", "acquiring", "inside", "inside", "paused", "down"};

static void append_state_changes(const Teller *teller, GString *text, const Beat *beat) {
  const Run *run = teller->run;
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    LaneState before = beat->first ? story_state(teller->story, lane, beat->first - 1) : LANE_IDLE;
    LaneState after = story_state(teller->story, lane, beat->last);
    const char *from = before == LANE_IDLE && !run->lanes[lane].is_client ? "up" : state_names[before];
    const char *to = after == LANE_IDLE && !run->lanes[lane].is_client ? "up" : state_names[after];
    if (strcmp(from, to) != 0) {
      add_clausef(text, "%s: %s -> %s", run->lanes[lane].name, from, to);
    }
  }
}

/* Also finds out what the beat did to locks. */
static void write_changes(Teller *teller, Beat *beat) {
  const Run *run = teller->run;
  ChangeList changes = {0};
  bool frees = false;
  for (int32_t i = beat->first; i <= beat->last; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->kind != RUN_VARIABLE || event->lane < 0) {
        continue;
      }
      note_change(teller, &changes, event);
      bool counts = event->is_lock || !run->lanes[event->lane].is_client;
      beat->takes_lock = beat->takes_lock || (counts && story_owner(run, event) >= 0);
      frees = frees || (event->is_lock && story_is_free(event->text));
    }
  }
  GString *text = g_string_new(NULL);
  append_state_changes(teller, text, beat);
  append_changes(teller, text, &changes, beat->lane);
  vec_free(&changes);
  beat->changed = g_string_free(text, FALSE);
  int32_t weight = beat->takes_lock ? WEIGHT_TAKE : frees ? WEIGHT_FREE : 0;
  beat->weight = MAX(beat->weight, beat->kind == BEAT_FIRE && frees ? WEIGHT_LOCK : weight);
}

/* --- the words of one event -------------------------------------------------------------------------------------- */

/* The lane's last comparison, if nothing else of that lane lies between it and `step`: "its check age(since) < 9.9s:
 * yes". */
static const char *check_before(const Run *run, int32_t step, int32_t lane) {
  for (int32_t i = step; i >= 0; i--) {
    const char *check = NULL;
    bool acted = false;
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->lane == lane) {
        acted = acted || i < step;
        check = event->kind == RUN_COMPARE ? event->text : check;
      }
    }
    if (check || acted) {
      return check;
    }
  }
  return NULL;
}

/* "age(since) < 9.9s: yes" as "finds age(since) < 9.9s true". */
static char *check_text(const char *verb, const char *check) {
  bool is_yes = g_str_has_suffix(check, ": yes"), is_no = g_str_has_suffix(check, ": no");
  int length = (int)strlen(check) - (is_yes ? 5 : is_no ? 4 : 0);
  return g_strdup_printf("%s %.*s%s", verb, length, check, is_yes ? " true" : is_no ? " false" : "");
}

static int64_t time_of(const Run *run, int32_t step) {
  return run->steps[step].time_ns;
}

static void pause_clause(const Teller *teller, GString *text, int32_t step, const RunEvent *event) {
  const Run *run = teller->run;
  int64_t length = -1;
  for (int32_t i = step; i < run->step_count && length < 0; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *other = &run->steps[i].events[j];
      if (other->kind == RUN_RESUME && other->lane == event->lane) {
        length = time_of(run, i) - time_of(run, step);
        break;
      }
    }
  }
  const char *check = check_before(run, step, event->lane);
  GString *clause = g_string_new(strcmp(event->name, "suspend") == 0 ? "is suspended" : "is paused");
  if (length >= 0) {
    g_autofree char *duration = story_duration_text(length);
    g_string_append_printf(clause, " for %s", duration);
  }
  if (event->text[0]) {
    g_string_append_printf(clause, " %s", event->text);
  }
  if (check) {
    g_autofree char *found = check_text("it has found", check);
    g_string_append_printf(clause, ", right after %s", found);
  }
  add_clause(text, clause->str);
  g_string_free(clause, TRUE);
}

/* "0.031", or "step 11" where no time passes. */
static char *since_text(const Teller *teller, int32_t step) {
  return teller->story->is_untimed ? g_strdup_printf("step %d", step + 1)
                                   : story_instant_text(teller->story, time_of(teller->run, step));
}

static void enter_clause(const Teller *teller, GString *text, int32_t step, const RunEvent *event) {
  int32_t since = 0;
  int32_t other = story_other_inside(teller->story, event->lane, step, &since);
  GString *clause = g_string_new("enters its critical section");
  if (event->text[0]) {
    g_string_append_printf(clause, " with token %s", event->text);
  }
  if (other >= 0) {
    g_autofree char *instant = since_text(teller, since);
    bool is_paused = story_state(teller->story, other, step) == LANE_PAUSED;
    g_string_append_printf(clause, " while %s%s is inside since %s", lane_name(teller->run, other),
                           is_paused ? ", paused," : "", instant);
  }
  add_clause(text, clause->str);
  g_string_free(clause, TRUE);
}

/* The step of the last such event of `server` and `client` before `step`, or of any client but that one; -1: none. */
static int32_t last_effect(const Run *run, int32_t step, int32_t server, RunEventKind kind, int32_t client,
                           bool others) {
  for (int32_t i = step - 1; i >= 0; i--) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->lane == server && event->kind == kind && (event->peer == client) != others) {
        return i;
      }
    }
  }
  return -1;
}

static int32_t effect_client(const Run *run, int32_t step, int32_t server, RunEventKind kind) {
  for (int32_t j = 0; j < run->steps[step].event_count; j++) {
    const RunEvent *event = &run->steps[step].events[j];
    if (event->lane == server && event->kind == kind) {
      return event->peer;
    }
  }
  return -1;
}

static void commit_clause(const Teller *teller, GString *text, int32_t step, const RunEvent *event) {
  const Run *run = teller->run;
  GString *clause = g_string_new(NULL);
  g_string_append_printf(clause, "accepts the write of %s", lane_name(run, event->peer));
  int32_t read = last_effect(run, step, event->lane, RUN_OBSERVE, event->peer, false);
  int32_t written = last_effect(run, step, event->lane, RUN_COMMIT, event->peer, true);
  if (read >= 0 && written > read) {
    g_autofree char *read_at = since_text(teller, read);
    g_autofree char *written_at = since_text(teller, written);
    g_string_append_printf(clause, ", based on its read at %s, over the write of %s at %s", read_at,
                           lane_name(run, effect_client(run, written, event->lane, RUN_COMMIT)), written_at);
  } else if (written >= 0 && run->steps[step].event_count) {
    int32_t since = 0;
    int32_t other = event->peer >= 0 ? story_other_inside(teller->story, event->peer, step, &since) : -1;
    if (other >= 0) {
      g_string_append_printf(clause, " while %s is inside", lane_name(run, other));
    }
  }
  add_clause(text, clause->str);
  g_string_free(clause, TRUE);
}

static void resume_clause(const Teller *teller, GString *text, int32_t step, const RunEvent *event) {
  g_autofree char *duration = story_duration_text(event->duration_ns);
  int32_t since = 0;
  bool is_inside = story_state(teller->story, event->lane, step) == LANE_INSIDE ||
                   story_state(teller->story, event->lane, step) == LANE_STALE;
  int32_t other = is_inside ? story_other_inside(teller->story, event->lane, step, &since) : -1;
  if (other >= 0) {
    g_autofree char *instant = since_text(teller, since);
    add_clausef(text, "goes on after %s with %s inside since %s", duration, lane_name(teller->run, other), instant);
  } else {
    add_clausef(text, "goes on after %s", duration);
  }
}

static void fire_clause(const Teller *teller, GString *text, int32_t step, const RunEvent *event) {
  const Run *run = teller->run;
  for (int32_t j = 0; j < run->steps[step].event_count; j++) {
    const RunEvent *other = &run->steps[step].events[j];
    if (other->kind == RUN_VARIABLE && other->is_lock && other->lane == event->lane && story_is_free(other->text)) {
      g_autofree char *key = variable_key(other);
      int32_t owner = GPOINTER_TO_INT(g_hash_table_lookup(teller->last_owner, key)) - 1;
      if (owner >= 0) {
        add_clausef(text, "lets the lock of %s go (timer %s)", lane_name(run, owner), event->name);
      } else {
        add_clausef(text, "lets the lock go (timer %s)", event->name);
      }
      return;
    }
  }
  add_clausef(text, "fires timer %s", event->name);
}

static void late_clause(const Teller *teller, GString *text, int32_t step, const RunEvent *event) {
  const StoryMessage *message = story_message(teller->story, event->message);
  if (!event->flag_late) {
    return;
  }
  if (message) {
    g_autofree char *duration = story_duration_text(time_of(teller->run, step) - time_of(teller->run, message->sent));
    add_clausef(text, "gets the late %s of %s after %s", event->text, lane_name(teller->run, event->peer), duration);
  } else {
    add_clausef(text, "gets the late %s of %s", event->text, lane_name(teller->run, event->peer));
  }
}

static const char *fate(const RunEvent *event) {
  return event->flag_lost ? " (lost)" : event->flag_late ? " (late)" : "";
}

/* What only a full report tells. */
static void minor_clause(const Teller *teller, GString *text, const RunEvent *event) {
  const char *peer = lane_name(teller->run, event->peer);
  switch (event->kind) {
  case RUN_BEGIN: add_clause(text, "begins"); break;
  case RUN_ATTEMPT: add_clausef(text, "begins attempt %d", event->number); break;
  case RUN_SEND:
    add_clausef(text, event->reply_to > 0 ? "answers %s %s%s" : "asks %s %s%s", peer, event->text, fate(event));
    break;
  case RUN_ARRIVE:
    if (!event->flag_late) {
      add_clausef(text, "gets %s from %s", event->text, peer);
    }
    break;
  case RUN_DROP: add_clausef(text, "drops %s from %s, which nobody waits for", event->text, peer); break;
  case RUN_WAIT: add_clausef(text, "waits %s", event->text); break;
  default: break;
  }
}

static void major_clause(const Teller *teller, GString *text, int32_t step, const RunEvent *event) {
  const char *peer = lane_name(teller->run, event->peer);
  switch (event->kind) {
  case RUN_ARRIVE: late_clause(teller, text, step, event); break;
  case RUN_REFUSED: add_clausef(text, "is refused by %s, which is down", peer); break;
  case RUN_TIMEOUT: add_clausef(text, "gives up waiting for %s", peer); break;
  case RUN_WAKE: add_clausef(text, event->text[0] ? "ends its wait (%s)" : "ends its wait%s", event->text); break;
  case RUN_FIRE: fire_clause(teller, text, step, event); break;
  case RUN_ENTER: enter_clause(teller, text, step, event); break;
  case RUN_LEAVE: add_clause(text, "leaves its critical section"); break;
  case RUN_OBSERVE: add_clausef(text, "is read by %s", peer); break;
  case RUN_COMMIT: commit_clause(teller, text, step, event); break;
  case RUN_REJECT: add_clausef(text, "refuses %s: stale", peer); break;
  case RUN_PAUSE: pause_clause(teller, text, step, event); break;
  case RUN_RESUME: resume_clause(teller, text, step, event); break;
  case RUN_CRASH: add_clausef(text, event->text[0] ? "crashes, %s" : "crashes%s", event->text); break;
  case RUN_RESTART: add_clause(text, "is back"); break;
  case RUN_CLOCK_STEP: {
    g_autofree char *size = story_duration_text(event->duration_ns);
    bool is_back = event->duration_ns < 0;
    add_clausef(text, "has its clock set %s by %s", is_back ? "back" : "forward", size + is_back);
    break;
  }
  case RUN_CUT: add_clausef(text, "is cut off from %s", peer); break;
  case RUN_JOIN: add_clausef(text, "can reach %s again", peer); break;
  case RUN_LOSS: add_clausef(text, "notices that %s is gone", peer); break;
  case RUN_TRIGGER: add_clausef(text, "runs %s, as a fault has it", event->text); break;
  case RUN_END: add_clause(text, "is at its end"); break;
  case RUN_COMPARE: {
    g_autofree char *found = check_text("finds", event->text);
    add_clause(text, found);
    break;
  }
  default: break;
  }
}

/* --- the words of one step --------------------------------------------------------------------------------------- */

/* A check that a pause at its heels repeats is told once. */
static bool is_repeated_check(const RunStep *step, int32_t index) {
  for (int32_t j = index + 1; j < step->event_count; j++) {
    if (step->events[j].kind == RUN_PAUSE && step->events[j].lane == step->events[index].lane) {
      return step->events[index].kind == RUN_COMPARE;
    }
  }
  return false;
}

typedef enum Detail { DETAIL_PICTURE, DETAIL_FOLDED, DETAIL_FULL } Detail;

/* A picture leaves out the requests that a step sends (arrows show them), except one with a fate, and checks that let a
 * client in. */
static char *event_words(const Teller *teller, int32_t index, int32_t event_index, Detail detail) {
  const RunStep *step = &teller->run->steps[index];
  const RunEvent *event = &step->events[event_index];
  GString *clause = g_string_new(NULL);
  bool is_entry_check = detail == DETAIL_PICTURE && event->kind == RUN_COMPARE && has_event(step, RUN_ENTER);
  if (!is_repeated_check(step, event_index) && !is_entry_check) {
    major_clause(teller, clause, index, event);
  }
  if (detail == DETAIL_FULL || (is_request(event) && (detail == DETAIL_FOLDED || fate(event)[0]))) {
    minor_clause(teller, clause, event);
  }
  return g_string_free(clause, FALSE);
}

/* Clauses of `lane`, the last joined with "and", then of other lanes with their names. */
static char *step_words(const Teller *teller, int32_t index, int32_t lane, Detail detail) {
  const Run *run = teller->run;
  const RunStep *step = &run->steps[index];
  GString *text = g_string_new(NULL), *others = g_string_new(NULL);
  gsize last = 0;
  for (int32_t j = 0; j < step->event_count; j++) {
    const RunEvent *event = &step->events[j];
    g_autofree char *clause = event_words(teller, index, j, detail);
    if (event->lane == lane && clause[0]) {
      last = text->len;
      add_clause(text, clause);
    } else if (clause[0]) {
      g_string_append_printf(others, "; %s %s", lane_name(run, event->lane), clause);
    }
  }
  if (last > 0) {
    g_string_erase(text, (gssize)last, 2);
    g_string_insert(text, (gssize)last, " and ");
  }
  g_string_append(text, text->len ? others->str : others->len ? others->str + 2 : "");
  g_string_free(others, TRUE);
  return g_string_free(text, FALSE);
}

static const RunEvent *leading_event(const RunStep *step, size_t *rank) {
  const RunEvent *best = NULL;
  for (int32_t j = 0; j < step->event_count; j++) {
    for (size_t r = 0; r < G_N_ELEMENTS(ranks); r++) {
      if (ranks[r].event == step->events[j].kind && (!best || ranks[r].priority > ranks[*rank].priority)) {
        best = &step->events[j];
        *rank = r;
      }
    }
  }
  return best;
}

static const RunEvent *late_arrival(const RunStep *step) {
  for (int32_t j = 0; j < step->event_count; j++) {
    if (step->events[j].kind == RUN_ARRIVE && step->events[j].flag_late) {
      return &step->events[j];
    }
  }
  return NULL;
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

/* Whose errand a step without a leading event is. */
static int32_t errand_client(const Run *run, const RunStep *step) {
  for (int32_t j = 0; j < step->event_count; j++) {
    const RunEvent *event = &step->events[j];
    if (event->lane >= 0 && run->lanes[event->lane].is_client) {
      return event->lane;
    }
    if (event->peer >= 0 && run->lanes[event->peer].is_client) {
      return event->peer;
    }
  }
  return -1;
}

static const char *step_handler(const RunStep *step) {
  for (int32_t j = 0; j < step->event_count; j++) {
    if (is_request(&step->events[j])) {
      return step->events[j].text;
    }
  }
  return NULL;
}

static bool same_handler(const char *a, const char *b) {
  return handler_length(a) == handler_length(b) && strncmp(a, b, handler_length(a)) == 0;
}

/* Whether `step` goes on with the round that began at `first` and whose requests are of `*handler` (NULL: none yet). */
static bool continues_round(const Run *run, int32_t first, int32_t step, const char **handler) {
  const RunStep *next = &run->steps[step];
  size_t rank = 0;
  if (leading_event(next, &rank) || late_arrival(next) || has_event(next, RUN_VIOLATION) ||
      errand_client(run, next) != errand_client(run, &run->steps[first]) || errand_client(run, next) < 0 ||
      has_event(&run->steps[step - 1], RUN_WAIT) || (has_event(next, RUN_ATTEMPT) && *handler)) {
    return false;
  }
  const char *other = step_handler(next);
  if (other && *handler && !same_handler(other, *handler)) {
    return false;
  }
  *handler = *handler ? *handler : other;
  return true;
}

typedef struct Tally {
  const char *outcome;
  int32_t count;
} Tally;
typedef VEC(Tally) TallyList;

static void tally(TallyList *list, const char *outcome) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (strcmp(list->items[i].outcome, outcome) == 0) {
      list->items[i].count++;
      return;
    }
  }
  vec_push(list, ((Tally){outcome, 1}));
}

/* What a request came to, as far as the reader of this beat may know: an answer counts until the step after it. */
static const char *outcome_of(const StoryMessage *request, int32_t last) {
  if (request->is_lost) {
    return "lost";
  }
  if (request->is_late) {
    return "late";
  }
  return request->ended >= 0 && request->ended <= last + 1 ? request->outcome : NULL;
}

static void append_tally(GString *clause, const TallyList *list, int32_t total) {
  if (list->count == 1 && list->items[0].count == total) {
    g_string_append(clause, ": ");
    if (total > 1) {
      g_string_append_printf(clause, "%d of %d ", total, total);
    }
    g_string_append(clause, list->items[0].outcome);
    return;
  }
  for (uint32_t i = 0; i < list->count; i++) {
    g_string_append_printf(clause, "%s%d %s", i ? ", " : ": ", list->items[i].count, list->items[i].outcome);
  }
}

/* "asks node[0..4] for the lock (set_nx): 5 of 5 ok" */
static void requests_clause(const Teller *teller, GString *text, Beat *beat) {
  const Run *run = teller->run;
  LaneList lanes = {0};
  TallyList outcomes = {0};
  const char *handler = NULL;
  int32_t total = 0;
  for (int32_t i = beat->first; i <= beat->last; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (!is_request(event) || event->lane != beat->client) {
        continue;
      }
      handler = event->text;
      total++;
      add_lane(&lanes, event->peer);
      const StoryMessage *request = story_message(teller->story, event->message);
      const char *outcome = request ? outcome_of(request, beat->last) : NULL;
      if (outcome) {
        tally(&outcomes, outcome);
        beat->has_lost = beat->has_lost || request->is_lost || request->is_late;
      }
    }
  }
  if (handler) {
    g_autofree char *names = story_lanes_text(run, lanes.items, (int32_t)lanes.count);
    GString *clause = g_string_new(NULL);
    g_string_append_printf(clause, beat->takes_lock ? "asks %s for the lock (%.*s)" : "asks %s %.*s", names,
                           (int)handler_length(handler), handler);
    append_tally(clause, &outcomes, total);
    add_clause(text, clause->str);
    g_string_free(clause, TRUE);
  }
  vec_free(&lanes);
  vec_free(&outcomes);
}

/* Whether the reader knows the answer to a request already: it is tallied in this beat, or in the round before. */
static bool is_known(const Teller *teller, const Beat *beat, int32_t step, int32_t request) {
  const StoryMessage *message = story_message(teller->story, request);
  int32_t first = step == beat->first && step_handler(&teller->run->steps[step]) ? teller->round_before : beat->first;
  return message && message->sent >= first;
}

/* Whether a call of this very beat ends so in `step`: then the tally tells it. */
static bool is_tallied(const Story *story, const Beat *beat, int32_t step, const RunEvent *event) {
  for (uint32_t i = 0; i < story->messages.count; i++) {
    const StoryMessage *message = &story->messages.items[i];
    if (message->from == event->lane && message->to == event->peer && !message->is_reply && message->ended == step &&
        message->sent >= beat->first) {
      return true;
    }
  }
  return false;
}

/* Replies to what was asked before this beat, and calls given up. */
static void earlier_clauses(const Teller *teller, GString *text, const Beat *beat) {
  const Run *run = teller->run;
  for (int32_t i = beat->first; i <= beat->last; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->lane != beat->client) {
        continue;
      }
      const StoryMessage *message = story_message(teller->story, event->message);
      const char *peer = lane_name(run, event->peer);
      if (event->kind == RUN_ARRIVE &&
          !(message && message->is_reply && is_known(teller, beat, i, message->reply_to))) {
        add_clausef(text, "gets %s from %s", event->text, peer);
      } else if ((event->kind == RUN_TIMEOUT || event->kind == RUN_REFUSED) &&
                 !is_tallied(teller->story, beat, i, event)) {
        major_clause(teller, text, i, event);
      } else if (event->kind == RUN_COMPARE || event->kind == RUN_DROP) {
        major_clause(teller, text, i, event);
        minor_clause(teller, text, event);
      }
    }
  }
}

/* A round in which the client itself does nothing: a server handles what it got earlier. */
static void handling_clauses(const Teller *teller, GString *text, Beat *beat) {
  const Run *run = teller->run;
  LaneList lanes = {0};
  const char *call = NULL, *reply = NULL;
  for (int32_t i = beat->first; i <= beat->last; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      const RunEvent *event = &run->steps[i].events[j];
      if (event->kind == RUN_ARRIVE) {
        add_lane(&lanes, event->lane);
        call = event->text;
      }
      reply = event->kind == RUN_SEND && event->reply_to > 0 ? event->text : reply;
    }
  }
  if (call && lanes.count) {
    beat->lane = lanes.items[lanes.count - 1];
    g_free(beat->who);
    beat->who = story_lanes_text(run, lanes.items, (int32_t)lanes.count);
    add_clausef(text, "%s %.*s of %s%s%s", lanes.count > 1 ? "handle" : "handles", (int)handler_length(call), call,
                lane_name(run, beat->client), reply ? ": " : "", reply ? reply : "");
  }
  vec_free(&lanes);
}

static void wait_clause(const Teller *teller, GString *text, const Beat *beat) {
  const RunStep *step = &teller->run->steps[beat->last];
  for (int32_t j = 0; j < step->event_count; j++) {
    if (step->events[j].kind == RUN_WAIT) {
      minor_clause(teller, text, &step->events[j]);
    }
  }
}

/* A round that asks nothing echoes an earlier one. */
static int32_t round_weight(const Run *run, const Beat *beat) {
  int32_t weight = WEIGHT_ECHO;
  for (int32_t i = beat->first; i <= beat->last; i++) {
    if (has_event(&run->steps[i], RUN_TIMEOUT) || has_event(&run->steps[i], RUN_REFUSED)) {
      return WEIGHT_TROUBLE;
    }
    weight = step_handler(&run->steps[i]) ? WEIGHT_ROUND : weight;
  }
  return weight;
}

/* " (to 0.028)" where a beat takes time. */
static void append_until(const Teller *teller, GString *text, const Beat *beat) {
  if (time_of(teller->run, beat->last) > time_of(teller->run, beat->first)) {
    g_autofree char *until = run_time_text(time_of(teller->run, beat->last));
    g_string_append_printf(text, " (to %s)", until);
  }
}

static void tell_round(Teller *teller, Beat *beat) {
  GString *text = g_string_new(NULL);
  earlier_clauses(teller, text, beat);
  requests_clause(teller, text, beat);
  if (!text->len) {
    handling_clauses(teller, text, beat);
  }
  beat->sentence = g_strdup_printf("%s %s", beat->who, text->len ? text->str : "goes on");
  wait_clause(teller, text, beat);
  if (has_event(&teller->run->steps[beat->first], RUN_WAKE)) {
    g_string_prepend(text, text->len ? "ends its wait, " : "ends its wait");
  }
  append_until(teller, text, beat);
  beat->what = g_string_free(text, FALSE);
  beat->weight = MAX(beat->weight, beat->has_lost ? WEIGHT_FAULT : round_weight(teller->run, beat));
}

/* --- timers that fire in a row ----------------------------------------------------------------------------------- */

static const RunEvent *fire_event(const RunStep *step) {
  size_t rank = 0;
  const RunEvent *event = leading_event(step, &rank);
  return event && event->kind == RUN_FIRE && event->lane >= 0 && !has_event(step, RUN_VIOLATION) ? event : NULL;
}

static bool continues_fire(const Run *run, int32_t first, int32_t step) {
  const RunEvent *a = fire_event(&run->steps[first]), *b = fire_event(&run->steps[step]);
  if (!a || !b || strcmp(a->name, b->name) != 0 || run->lanes[a->lane].group != run->lanes[b->lane].group) {
    return false;
  }
  for (int32_t i = first; i < step; i++) {
    if (fire_event(&run->steps[i])->lane == b->lane) {
      return false;
    }
  }
  return true;
}

static void tell_fire(Teller *teller, Beat *beat) {
  LaneList lanes = {0};
  for (int32_t i = beat->first; i <= beat->last; i++) {
    add_lane(&lanes, fire_event(&teller->run->steps[i])->lane);
  }
  g_free(beat->who);
  beat->who = story_lanes_text(teller->run, lanes.items, (int32_t)lanes.count);
  beat->what = step_words(teller, beat->first, fire_event(&teller->run->steps[beat->first])->lane, DETAIL_PICTURE);
  if (lanes.count > 1) {
    const char *verb = beat->what;
    const char *rest = g_str_has_prefix(verb, "lets ") ? verb + 5 : g_str_has_prefix(verb, "fires ") ? verb + 6 : verb;
    char *plural = g_strdup_printf("%s%s", rest == verb ? "" : rest == verb + 5 ? "let " : "fire ", rest);
    g_free(beat->what);
    beat->what = plural;
  }
  beat->sentence = g_strdup_printf("%s %s", beat->who, beat->what);
  GString *what = g_string_new(beat->what);
  append_until(teller, what, beat);
  g_free(beat->what);
  beat->what = g_string_free(what, FALSE);
  beat->mark = beat->last;
  vec_free(&lanes);
}

/* --- beats ------------------------------------------------------------------------------------------------------- */

static void mark_violation(const Teller *teller, Beat *beat) {
  int32_t step = teller->story->violation_step;
  beat->is_violation = step >= beat->first && step <= beat->last;
  if (beat->is_violation) {
    beat->weight = WEIGHT_VIOLATION;
  }
}

/* The first lane with an event, for steps that lead with nothing. */
static int32_t acting_lane(const Run *run, const RunStep *step) {
  int32_t client = errand_client(run, step);
  for (int32_t j = 0; j < step->event_count; j++) {
    if (step->events[j].lane >= 0) {
      return step->events[j].lane;
    }
  }
  return client;
}

static void tell_step(Teller *teller, Beat *beat) {
  const Run *run = teller->run;
  const RunStep *step = &run->steps[beat->first];
  beat->what = step_words(teller, beat->first, beat->lane, teller->folded ? DETAIL_FOLDED : DETAIL_FULL);
  g_autofree char *words = step_words(teller, beat->first, beat->lane, DETAIL_PICTURE);
  for (int32_t j = 0; j < step->event_count; j++) {
    bool is_fault = is_request(&step->events[j]) && fate(&step->events[j])[0];
    beat->weight = is_fault ? MAX(beat->weight, WEIGHT_FAULT) : beat->weight;
  }
  if (!beat->what[0]) {
    g_free(beat->what);
    beat->what = g_strdup(beat->is_violation ? run->property_sentence : "goes on");
  }
  beat->sentence =
      words[0] ? g_strdup_printf("%s %s", beat->who, words) : g_strdup_printf("%s %s", beat->who, beat->what);
}

static void classify(const Teller *teller, Beat *beat) {
  const Run *run = teller->run;
  const RunStep *step = &run->steps[beat->first];
  size_t rank = 0;
  const RunEvent *leading = leading_event(step, &rank), *late = late_arrival(step);
  if (teller->folded && leading && leading->kind == RUN_WAKE && step_handler(step)) {
    leading = NULL; /* waking up only to ask begins a round */
  }
  beat->kind = leading ? ranks[rank].beat : late ? BEAT_LATE : BEAT_ROUND;
  beat->weight = leading ? ranks[rank].weight : 0;
  beat->weight = late ? MAX(beat->weight, WEIGHT_FAULT) : beat->weight;
  beat->lane = leading ? leading->lane : late ? late->lane : errand_client(run, step);
  beat->client = errand_client(run, step);
  if (leading && leading->lane >= 0 && run->lanes[leading->lane].is_client) {
    beat->client = leading->lane;
  } else if (leading && leading->peer >= 0 && run->lanes[leading->peer].is_client) {
    beat->client = leading->peer;
  } else if (leading) {
    beat->client = -1;
  }
  if (!leading && !late && (beat->client < 0 || has_event(step, RUN_VIOLATION))) {
    beat->kind = BEAT_OTHER;
    beat->lane = acting_lane(run, step);
  }
}

static Beat beat_from(Teller *teller, int32_t first) {
  const Run *run = teller->run;
  Beat beat = {.first = first, .last = first, .mark = first};
  classify(teller, &beat);
  if (teller->folded && beat.kind == BEAT_ROUND) {
    const char *handler = step_handler(&run->steps[first]);
    while (beat.last + 1 < run->step_count && continues_round(run, first, beat.last + 1, &handler)) {
      beat.last++;
    }
  } else if (teller->folded && fire_event(&run->steps[first])) {
    while (beat.last + 1 < run->step_count && continues_fire(run, first, beat.last + 1)) {
      beat.last++;
    }
    beat.lane = fire_event(&run->steps[beat.last])->lane;
  } else if (!teller->folded) {
    beat.lane = beat.kind == BEAT_ROUND || beat.kind == BEAT_OTHER ? acting_lane(run, &run->steps[first]) : beat.lane;
  }
  beat.who = g_strdup(beat.lane >= 0 ? run->lanes[beat.lane].name : "-");
  mark_violation(teller, &beat);
  return beat;
}

/* Words before changes, as a timer's words need the owner that the changes overwrite; a round wants to know first
 * whether it took a lock. */
static void tell(Teller *teller, Beat *beat) {
  if (teller->folded && beat->kind == BEAT_ROUND) {
    write_changes(teller, beat);
    tell_round(teller, beat);
  } else if (teller->folded && beat->kind == BEAT_FIRE && fire_event(&teller->run->steps[beat->first])) {
    tell_fire(teller, beat);
    write_changes(teller, beat);
  } else {
    tell_step(teller, beat);
    write_changes(teller, beat);
  }
}

Beats *beats_new(const Story *story, bool folded) {
  Beats *beats = g_new0(Beats, 1);
  Teller teller = {.story = story,
                   .run = story->run,
                   .folded = folded,
                   .last_owner = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
  for (int32_t step = 0; step < story->run->step_count;) {
    Beat beat = beat_from(&teller, step);
    const Beat *before = beats->list.count ? &beats->list.items[beats->list.count - 1] : NULL;
    teller.round_before = before && before->kind == BEAT_ROUND ? before->first : step;
    tell(&teller, &beat);
    vec_push(&beats->list, beat);
    step = beat.last + 1;
  }
  g_hash_table_destroy(teller.last_owner);
  return beats;
}

void beat_clear(Beat *beat) {
  g_free(beat->who);
  g_free(beat->what);
  g_free(beat->sentence);
  g_free(beat->changed);
}

void beats_free(Beats *beats) {
  if (!beats) {
    return;
  }
  for (uint32_t i = 0; i < beats->list.count; i++) {
    beat_clear(&beats->list.items[i]);
  }
  vec_free(&beats->list);
  g_free(beats);
}

/* Whether beat `a` is to be told rather than `b`: more weight, or as much and later. */
static bool tells_more(const Beats *beats, uint32_t a, uint32_t b) {
  const Beat *first = &beats->list.items[a], *second = &beats->list.items[b];
  return first->weight != second->weight ? first->weight > second->weight : a > b;
}

enum { CHOSEN_MIN = 8 };

int32_t *beats_chosen(const Beats *beats, int32_t limit, int32_t *count) {
  uint32_t total = beats->list.count;
  int32_t *chosen = g_new0(int32_t, (gsize)total + 1);
  *count = 0;
  for (uint32_t i = 0; i < total; i++) {
    int32_t better = 0;
    for (uint32_t j = 0; j < total && better < limit; j++) {
      better += j != i && tells_more(beats, j, i);
    }
    int32_t weight = beats->list.items[i].weight;
    bool is_told = weight >= WEIGHT_TOLD || (weight >= WEIGHT_ROUND && better < CHOSEN_MIN);
    if (better < limit && is_told) {
      chosen[(*count)++] = (int32_t)i;
    }
  }
  return chosen;
}
