#include "properties/why.h"

#include <glib.h>
#include <string.h>

#include "base/vec.h"

#define NONE (-1)

/* An event with its place: all events of the run in one row. Moments are known by their index in it. */
typedef struct Moment {
  const RunEvent *event;
  int64_t time_ns;
  int32_t step;
} Moment;

/* A lock variable while it belongs to one client. */
typedef struct Key {
  int32_t lane;
  const char *name, *value;
  int32_t owner, attempt; /* attempt 0: not known */
  int32_t set, gone;      /* moments; gone NONE: still there at the end */
} Key;

typedef VEC(int32_t) KeyList; /* indices into the keys of the tale */

typedef struct Tale {
  Run *run;
  VEC(Moment) moments;
  VEC(Key) keys;
  int64_t digit_ns;   /* times are rounded to this */
  GPtrArray *scratch; /* strings that live as long as the tale */
  GPtrArray *reasons;
  const char *sentence;
  int32_t lane, peer; /* of the violation */
} Tale;

/* One attempt of a client and what it did. Moments, or NONE. */
typedef struct Party {
  const char *name; /* "A", or "A (attempt 2)" where both parties are one client */
  int32_t lane, attempt;
  int32_t entry;
  int32_t send, arrive, write; /* of its write: sent, arrived, applied */
  KeyList keys;                /* what it had got of the lock when it entered, still there or not */
} Party;

/* --- the row of events ------------------------------------------------------------------------------------------- */

static const RunEvent *event_at(const Tale *tale, int32_t moment) {
  return tale->moments.items[moment].event;
}

static int64_t time_at(const Tale *tale, int32_t moment) {
  return tale->moments.items[moment].time_ns;
}

static int32_t end_of(const Tale *tale) {
  return (int32_t)tale->moments.count;
}

/* The last moment of a kind on a lane before another moment. */
static int32_t last_before(const Tale *tale, int32_t before, RunEventKind kind, int32_t lane) {
  for (int32_t i = before - 1; i >= 0; i--) {
    if (event_at(tale, i)->kind == kind && event_at(tale, i)->lane == lane) {
      return i;
    }
  }
  return NONE;
}

static int32_t first_after(const Tale *tale, int32_t after, RunEventKind kind, int32_t lane) {
  for (int32_t i = after + 1; i < end_of(tale); i++) {
    if (event_at(tale, i)->kind == kind && event_at(tale, i)->lane == lane) {
      return i;
    }
  }
  return NONE;
}

/* The same within the step of `before`. */
static int32_t earlier_in_step(const Tale *tale, int32_t before, RunEventKind kind, int32_t lane) {
  int32_t found = last_before(tale, before, kind, lane);
  return found != NONE && tale->moments.items[found].step == tale->moments.items[before].step ? found : NONE;
}

static int32_t sending_of(const Tale *tale, int32_t message) {
  for (int32_t i = 0; message > 0 && i < end_of(tale); i++) {
    if (event_at(tale, i)->kind == RUN_SEND && event_at(tale, i)->message == message) {
      return i;
    }
  }
  return NONE;
}

/* When the message that arrives at a moment was sent. */
static int32_t sent(const Tale *tale, int32_t arrival) {
  return arrival == NONE ? NONE : sending_of(tale, event_at(tale, arrival)->message);
}

/* The number of the attempt that a client was in when it sent what arrives; 0 if not known. */
static int32_t attempt_behind(const Tale *tale, int32_t arrival, int32_t client) {
  int32_t send = sent(tale, arrival);
  if (send == NONE || event_at(tale, send)->lane != client) {
    return 0;
  }
  int32_t attempt = last_before(tale, send, RUN_ATTEMPT, client);
  return attempt == NONE ? 0 : event_at(tale, attempt)->number;
}

static bool is_free(const char *value) {
  static const char *const values[] = {"none", "", "0", "off", "false", "free"};
  for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
    if (strcmp(values[i], value) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_lock_change(const RunEvent *event) {
  return event->kind == RUN_VARIABLE && event->is_lock && event->lane >= 0;
}

/* A lock variable changes: one key goes, and another one may come. */
static void follow_lock(Tale *tale, int32_t moment) {
  const RunEvent *event = event_at(tale, moment);
  for (uint32_t k = 0; k < tale->keys.count; k++) {
    Key *key = &tale->keys.items[k];
    if (key->gone == NONE && key->lane == event->lane && strcmp(key->name, event->name) == 0) {
      key->gone = moment;
    }
  }
  int32_t arrival = earlier_in_step(tale, moment, RUN_ARRIVE, event->lane);
  int32_t owner = event->owner >= 0 ? event->owner : arrival != NONE ? event_at(tale, arrival)->peer : NONE;
  if (!is_free(event->text)) {
    vec_push(&tale->keys, ((Key){.lane = event->lane,
                                 .name = event->name,
                                 .value = event->text,
                                 .owner = owner,
                                 .attempt = attempt_behind(tale, arrival, owner),
                                 .set = moment,
                                 .gone = NONE}));
  }
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static const char *keep(Tale *tale, char *text) {
  g_ptr_array_add(tale->scratch, text);
  return text;
}

G_GNUC_PRINTF(2, 3) static const char *words(Tale *tale, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return keep(tale, text);
}

G_GNUC_PRINTF(2, 3) static void reason(Tale *tale, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(tale->reasons, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

static const char *name_of(const Tale *tale, int32_t lane) {
  return lane >= 0 ? tale->run->lanes[lane].name : "nobody";
}

/* "9.700 s" */
static const char *length(Tale *tale, int64_t duration_ns) {
  int64_t rounded = (duration_ns + tale->digit_ns / 2) / tale->digit_ns * tale->digit_ns;
  g_autofree char *text = run_time_text(rounded);
  return words(tale, "%s s", text);
}

static const char *when(Tale *tale, int32_t moment) {
  return length(tale, time_at(tale, moment));
}

static const char *clock_step(Tale *tale, int32_t moment) {
  g_autofree char *text = run_time_text(event_at(tale, moment)->duration_ns);
  return words(tale, "%s s", text);
}

/* "node[" and 3 of "node[3]"; NONE for a name without an index. */
static int32_t split_index(const char *name, size_t *stem) {
  const char *open = strrchr(name, '[');
  if (open == NULL || !g_ascii_isdigit(open[1])) {
    return NONE;
  }
  *stem = (size_t)(open + 1 - name);
  return (int32_t)g_ascii_strtoll(open + 1, NULL, 10);
}

static bool follows(const char *name, const char *next) {
  size_t stem = 0, next_stem = 0;
  int32_t index = split_index(name, &stem), next_index = split_index(next, &next_stem);
  return index != NONE && next_index == index + 1 && stem == next_stem && strncmp(name, next, stem) == 0;
}

/* "a", "a and b", "a, b and c"; four or more in a row, such as node[0] to node[4], become "node[0..4]". */
static const char *list(Tale *tale, const GPtrArray *names) {
  g_autoptr(GPtrArray) parts = g_ptr_array_new();
  for (guint i = 0, next; i < names->len; i = next) {
    for (next = i + 1; next < names->len && follows(names->pdata[next - 1], names->pdata[next]); next++) {
    }
    if (next - i >= 4) {
      size_t stem = 0;
      int32_t last = split_index(names->pdata[next - 1], &stem);
      const char *first = names->pdata[i];
      g_ptr_array_add(parts, (char *)words(tale, "%.*s..%d]", (int)(strlen(first) - 1), first, last));
    } else {
      next = i + 1;
      g_ptr_array_add(parts, names->pdata[i]);
    }
  }
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < parts->len; i++) {
    g_string_append(text, i == 0 ? "" : i + 1 == parts->len ? " and " : ", ");
    g_string_append(text, parts->pdata[i]);
  }
  return keep(tale, g_string_free(text, FALSE));
}

/* A lock by its server, and by its variable too where the run shows several of that server. */
static const char *place_of(Tale *tale, const Key *key) {
  for (uint32_t k = 0; k < tale->keys.count; k++) {
    const Key *other = &tale->keys.items[k];
    if (other->lane == key->lane && strcmp(other->name, key->name) != 0) {
      return words(tale, "%s.%s", name_of(tale, key->lane), key->name);
    }
  }
  return name_of(tale, key->lane);
}

static int by_lane(const void *a, const void *b, void *user) {
  const Tale *tale = user;
  const Key *x = &tale->keys.items[*(const int32_t *)a], *y = &tale->keys.items[*(const int32_t *)b];
  return x->lane != y->lane ? (x->lane < y->lane ? -1 : 1) : strcmp(x->name, y->name);
}

static const char *places(Tale *tale, const KeyList *keys) {
  g_autofree int32_t *sorted = g_memdup2(keys->items, keys->count * sizeof(int32_t));
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_qsort_with_data(sorted, (int)keys->count, sizeof(int32_t), by_lane, tale);
  for (uint32_t i = 0; i < keys->count; i++) {
    g_ptr_array_add(names, (char *)place_of(tale, &tale->keys.items[sorted[i]]));
  }
  return list(tale, names);
}

/* --- the lock ---------------------------------------------------------------------------------------------------- */

static const Key *key_at(const Tale *tale, const KeyList *keys, uint32_t i) {
  return &tale->keys.items[keys->items[i]];
}

static bool same_lock(const Key *a, const Key *b) {
  return a->lane == b->lane && strcmp(a->name, b->name) == 0;
}

typedef enum LossKind {
  LOSS_UNKNOWN,
  LOSS_EXPIRED,    /* a timer of its server fired */
  LOSS_STEPPED,    /* the same, after the clock of the server was set forward */
  LOSS_FORGOTTEN,  /* its server crashed */
  LOSS_FREED,      /* a message of `culprit` freed it */
  LOSS_OVERWRITTEN /* a message of `culprit` set it anew */
} LossKind;

typedef struct Loss {
  LossKind kind;
  int32_t culprit; /* client or NONE */
  int32_t cause;   /* the arrival, firing, clock step or crash; NONE */
} Loss;

static Loss loss_of_timer(const Tale *tale, const Key *key, int32_t fire) {
  int32_t step = last_before(tale, fire, RUN_CLOCK_STEP, key->lane);
  if (step != NONE && step > key->set && event_at(tale, step)->duration_ns > 0) {
    return (Loss){LOSS_STEPPED, NONE, step};
  }
  return (Loss){LOSS_EXPIRED, NONE, fire};
}

/* How a key that is gone went. */
static Loss loss_of(const Tale *tale, const Key *key) {
  bool freed = is_free(event_at(tale, key->gone)->text);
  int32_t crash = earlier_in_step(tale, key->gone, RUN_CRASH, key->lane);
  if (crash != NONE && freed) {
    return (Loss){LOSS_FORGOTTEN, NONE, crash};
  }
  int32_t fire = earlier_in_step(tale, key->gone, RUN_FIRE, key->lane);
  if (fire != NONE && freed) {
    return loss_of_timer(tale, key, fire);
  }
  int32_t arrival = earlier_in_step(tale, key->gone, RUN_ARRIVE, key->lane);
  if (arrival != NONE && fire == NONE) {
    return (Loss){freed ? LOSS_FREED : LOSS_OVERWRITTEN, event_at(tale, arrival)->peer, arrival};
  }
  return (Loss){LOSS_UNKNOWN, NONE, NONE};
}

/* Whether the client gave the key back itself, with a message that it sent when it had the key. */
static bool given_back(const Tale *tale, const Key *key) {
  Loss loss = loss_of(tale, key);
  int32_t send = sent(tale, loss.cause);
  return loss.kind == LOSS_FREED && loss.culprit == key->owner && send != NONE && send > key->set;
}

static bool belongs(const Tale *tale, const Key *key, const Party *party, bool of_attempt) {
  if (key->owner != party->lane || key->set > party->entry) {
    return false;
  }
  bool was_gone = key->gone != NONE && key->gone < party->entry;
  return of_attempt ? (key->attempt == party->attempt || key->attempt == 0) && !(was_gone && given_back(tale, key))
                    : !was_gone;
}

/* What the party had got of the lock when it entered, each lock once: what its attempt had set; if that is nothing (a
 * lease may outlive an attempt), whatever the client held. */
static void collect_keys(Tale *tale, Party *party) {
  for (int pass = 0; party->entry != NONE && pass < 2 && party->keys.count == 0; pass++) {
    for (int32_t k = (int32_t)tale->keys.count - 1; k >= 0; k--) {
      const Key *key = &tale->keys.items[k];
      bool wanted = belongs(tale, key, party, pass == 0);
      for (uint32_t i = 0; i < party->keys.count; i++) {
        wanted = wanted && !same_lock(key, key_at(tale, &party->keys, i));
      }
      if (wanted) {
        vec_push(&party->keys, k);
      }
    }
  }
}

/* Whether the party still has all of its keys at a moment. */
static bool holds_at(const Tale *tale, const Party *party, int32_t moment) {
  bool holds = party->keys.count > 0;
  for (uint32_t i = 0; i < party->keys.count; i++) {
    int32_t gone = key_at(tale, &party->keys, i)->gone;
    holds = holds && (gone == NONE || gone > moment);
  }
  return holds;
}

/* The keys of `stale` that went before `right` got the same locks and entered. */
static KeyList keys_taken(Tale *tale, const Party *stale, const Party *right) {
  KeyList taken = {0};
  for (uint32_t i = 0; i < stale->keys.count; i++) {
    const Key *mine = key_at(tale, &stale->keys, i);
    bool is_taken = false;
    for (uint32_t j = 0; j < right->keys.count; j++) {
      const Key *other = key_at(tale, &right->keys, j);
      is_taken = is_taken || (same_lock(mine, other) && mine->gone != NONE && mine->gone <= other->set);
    }
    if (is_taken) {
      vec_push(&taken, stale->keys.items[i]);
    }
  }
  return taken;
}

/* The keys of `stale` that are gone by a moment, whoever has them now. */
static KeyList keys_gone(Tale *tale, const Party *stale, int32_t moment) {
  KeyList gone = {0};
  for (uint32_t i = 0; i < stale->keys.count; i++) {
    const Key *key = key_at(tale, &stale->keys, i);
    if (key->gone != NONE && key->gone < moment) {
      vec_push(&gone, stale->keys.items[i]);
    }
  }
  return gone;
}

static bool takes_from(Tale *tale, const Party *stale, const Party *right) {
  KeyList taken = keys_taken(tale, stale, right);
  bool any = taken.count > 0;
  vec_free(&taken);
  return any;
}

/* When the last of the keys was set, or went. */
static int32_t last_set(const Tale *tale, const KeyList *keys) {
  int32_t last = NONE;
  for (uint32_t i = 0; i < keys->count; i++) {
    last = MAX(last, key_at(tale, keys, i)->set);
  }
  return last;
}

static int32_t last_gone(const Tale *tale, const KeyList *keys) {
  int32_t last = NONE;
  for (uint32_t i = 0; i < keys->count; i++) {
    last = MAX(last, key_at(tale, keys, i)->gone);
  }
  return last;
}

/* "by 10.031 s" for several, "at 10.031 s" for one. */
static const char *by_when(Tale *tale, uint32_t count, int32_t last) {
  return words(tale, "%s %s", count > 1 ? "by" : "at", when(tale, last));
}

/* A message that took effect long after it was sent: ", late: sent at 0.338 s". Else empty. */
static const char *late_note(Tale *tale, int32_t arrival, int32_t than) {
  int32_t send = sent(tale, arrival);
  if (send == NONE) {
    return "";
  }
  if (event_at(tale, arrival)->flag_late) {
    return words(tale, " (it was late: sent at %s)", when(tale, send));
  }
  return than != NONE && send < than ? words(tale, " (it was sent at %s, before that lock was set)", when(tale, send))
                                     : "";
}

static const char *message_loss(Tale *tale, const char *whose, const KeyList *group, Loss loss) {
  const char *verb = loss.kind == LOSS_FREED ? "freed" : "overwritten";
  const Key *key = key_at(tale, group, 0);
  return words(tale, "`%s` of %s had %s %s on %s %s%s", event_at(tale, loss.cause)->text, name_of(tale, loss.culprit),
               verb, whose, places(tale, group), by_when(tale, group->count, last_gone(tale, group)),
               late_note(tale, loss.cause, loss.culprit == key->owner ? key->set : NONE));
}

/* How one group of keys went, as a clause: "A's lock had expired on node[0] and node[1] by 10.031 s". */
static const char *loss_clause(Tale *tale, const char *whose, const KeyList *group) {
  const Key *key = key_at(tale, group, 0);
  Loss loss = loss_of(tale, key);
  const char *server = name_of(tale, key->lane);
  switch (loss.kind) {
  case LOSS_EXPIRED:
    return words(tale, "%s had expired on %s %s", whose, places(tale, group),
                 by_when(tale, group->count, last_gone(tale, group)));
  case LOSS_STEPPED:
    return time_at(tale, loss.cause) == time_at(tale, key->gone)
               ? words(tale, "%s had expired on %s at %s, when the clock of %s was stepped by %s", whose,
                       places(tale, group), when(tale, key->gone), server, clock_step(tale, loss.cause))
               : words(tale, "%s had expired on %s at %s, after the clock of %s was stepped by %s at %s", whose,
                       places(tale, group), when(tale, key->gone), server, clock_step(tale, loss.cause),
                       when(tale, loss.cause));
  case LOSS_FORGOTTEN:
    return words(tale, "%s had crashed at %s and lost its memory and %s with it", server, when(tale, loss.cause),
                 whose);
  case LOSS_FREED:
  case LOSS_OVERWRITTEN: return message_loss(tale, whose, group, loss);
  case LOSS_UNKNOWN: break;
  }
  return words(tale, "%s had gone on %s %s", whose, places(tale, group),
               by_when(tale, group->count, last_gone(tale, group)));
}

/* Whether two losses are told in one breath. */
static bool same_loss(const Tale *tale, Loss a, Loss b) {
  bool is_single = a.kind == LOSS_STEPPED || a.kind == LOSS_FORGOTTEN;
  bool by_message = a.kind == LOSS_FREED || a.kind == LOSS_OVERWRITTEN;
  return a.kind == b.kind && a.culprit == b.culprit && !is_single &&
         (!by_message || strcmp(event_at(tale, a.cause)->text, event_at(tale, b.cause)->text) == 0);
}

/* How the keys went, clause by clause, and what comes after. */
static const char *loss_clauses(Tale *tale, const char *whose, const KeyList *keys, const char *after) {
  GString *text = g_string_new(NULL);
  bool ends_in_comma = false;
  g_autofree bool *told = g_new0(bool, keys->count + 1);
  for (uint32_t i = 0; i < keys->count; i++) {
    if (told[i]) {
      continue;
    }
    KeyList group = {0};
    Loss loss = loss_of(tale, key_at(tale, keys, i));
    for (uint32_t j = i; j < keys->count; j++) {
      if (j == i || (!told[j] && same_loss(tale, loss, loss_of(tale, key_at(tale, keys, j))))) {
        told[j] = true;
        vec_push(&group, keys->items[j]);
      }
    }
    g_string_append_printf(text, "%s%s", text->len > 0 ? " and " : "", loss_clause(tale, whose, &group));
    ends_in_comma = loss.kind == LOSS_STEPPED || loss.kind == LOSS_FORGOTTEN;
    vec_free(&group);
  }
  g_string_append(text, ends_in_comma && *after != '\0' ? "," : "");
  g_string_append(text, after);
  return keep(tale, g_string_free(text, FALSE));
}

static const char *grant_note(Tale *tale, const KeyList *keys) {
  for (uint32_t i = 0; i < keys->count; i++) {
    const Key *key = key_at(tale, keys, i);
    int32_t arrival = earlier_in_step(tale, key->set, RUN_ARRIVE, key->lane);
    if (arrival != NONE && event_at(tale, arrival)->flag_late) {
      return words(tale, ", there by a late `%s` sent at %s", event_at(tale, arrival)->text,
                   sent(tale, arrival) != NONE ? when(tale, sent(tale, arrival)) : "an unknown time");
    }
  }
  return "";
}

/* --- what a client knew and what held it up ---------------------------------------------------------------------- */

typedef struct Delay {
  int32_t pause, resume; /* a pause that matters; resume NONE: it lasts */
  int32_t check;         /* the last comparison before the party acted; NONE */
  int32_t late;          /* arrival of a late message to or from the party that it had to wait for; NONE */
  int32_t clock;         /* a step of its own clock; NONE */
  int32_t unanswered;    /* the sending of a call that it still waits for, as that or the reply is late or lost; NONE */
} Delay;

static bool is_yes(const RunEvent *compare) {
  return g_str_has_suffix(compare->text, ": yes");
}

/* "age(since) < 9.898s" */
static const char *check_text(Tale *tale, int32_t check) {
  const char *text = event_at(tale, check)->text;
  const char *colon = strrchr(text, ':');
  return colon != NULL ? keep(tale, g_strndup(text, (gsize)(colon - text))) : text;
}

/* Whether something that took from `begin` to `end` can have been decisive for what happened between `from` and `to`:
 * it reached beyond the moment when trouble began, or took most of the time. */
static bool matters(const Tale *tale, int32_t begin, int32_t end, int32_t from, int32_t to, int32_t trouble) {
  int64_t whole_ns = time_at(tale, MIN(to, end_of(tale) - 1)) - time_at(tale, from);
  int64_t length_ns = time_at(tale, MIN(end, end_of(tale) - 1)) - time_at(tale, begin);
  return end > trouble || (length_ns > 0 && length_ns >= whole_ns / 2);
}

/* The longest pause of the client that begins between two moments and matters. */
static void find_pause(const Tale *tale, Delay *delay, int32_t lane, int32_t from, int32_t to, int32_t trouble) {
  int64_t longest_ns = -1;
  for (int32_t i = from; i < to; i++) {
    if (event_at(tale, i)->kind != RUN_PAUSE || event_at(tale, i)->lane != lane) {
      continue;
    }
    int32_t resume = first_after(tale, i, RUN_RESUME, lane);
    int32_t end = resume == NONE ? end_of(tale) : resume;
    int64_t length_ns = time_at(tale, MIN(end, end_of(tale) - 1)) - time_at(tale, i);
    if (matters(tale, i, end, from, to, trouble) && length_ns > longest_ns) {
      longest_ns = length_ns;
      delay->pause = i;
      delay->resume = resume;
    }
  }
}

/* Whether the client heard the reply to a request before a moment. */
static bool heard_reply(const Tale *tale, int32_t client, int32_t request, int32_t before) {
  for (int32_t i = before - 1; request > 0 && i >= 0; i--) {
    int32_t send = event_at(tale, i)->kind == RUN_ARRIVE && event_at(tale, i)->lane == client ? sent(tale, i) : NONE;
    if (send != NONE && event_at(tale, send)->reply_to == request) {
      return true;
    }
  }
  return false;
}

/* The last arrival of a late request or reply that the client waited for, if that matters. */
static int32_t late_arrival(const Tale *tale, int32_t lane, int32_t from, int32_t to, int32_t trouble) {
  for (int32_t i = MIN(to, end_of(tale)) - 1; i > from; i--) {
    const RunEvent *event = event_at(tale, i);
    if (event->kind != RUN_ARRIVE || !event->flag_late || sent(tale, i) == NONE) {
      continue;
    }
    bool is_awaited = event->lane == lane || (event->peer == lane && heard_reply(tale, lane, event->message, to));
    if (is_awaited && matters(tale, sent(tale, i), i, from, to, trouble)) {
      return i;
    }
  }
  return NONE;
}

/* The call that a client waits for in vain, because of a late or lost message. */
static int32_t unanswered_call(const Tale *tale, int32_t lane) {
  int32_t last = end_of(tale) - 1;
  while (last >= 0 && event_at(tale, last)->lane != lane) {
    last--;
  }
  if (last < 0 || event_at(tale, last)->kind != RUN_SEND) {
    return NONE;
  }
  bool is_struck = event_at(tale, last)->flag_late || event_at(tale, last)->flag_lost;
  for (int32_t i = last + 1; i < end_of(tale); i++) {
    const RunEvent *event = event_at(tale, i);
    bool is_reply = event->kind == RUN_SEND && event->reply_to > 0 && event->reply_to == event_at(tale, last)->message;
    is_struck = is_struck || (is_reply && (event->flag_late || event->flag_lost));
  }
  return is_struck ? last : NONE;
}

/* What kept the party between the beginning of its attempt, or the moment when it first had something of the lock if
 * that is earlier, and `act`. */
static Delay find_delay(const Tale *tale, const Party *party, int32_t act, int32_t trouble) {
  Delay delay = {NONE, NONE, NONE, NONE, NONE, NONE};
  int32_t from = party->entry != NONE ? party->entry : act;
  for (uint32_t i = 0; i < party->keys.count; i++) {
    from = MIN(from, key_at(tale, &party->keys, i)->set);
  }
  from = MAX(0, last_before(tale, from, RUN_ATTEMPT, party->lane));
  find_pause(tale, &delay, party->lane, from, act, trouble);
  int32_t check = last_before(tale, act, RUN_COMPARE, party->lane);
  delay.check = check > from && is_yes(event_at(tale, check)) ? check : NONE;
  delay.late = late_arrival(tale, party->lane, from, act, trouble);
  delay.unanswered = unanswered_call(tale, party->lane);
  int32_t clock = last_before(tale, act, RUN_CLOCK_STEP, party->lane);
  delay.clock = clock > from ? clock : NONE;
  return delay;
}

/* Whether the check was made before the pause, so that the pause made it stale. */
static bool check_went_stale(const Delay *delay) {
  return delay->pause != NONE && delay->check != NONE && delay->check < delay->pause;
}

static const char *check_clause(Tale *tale, const Delay *delay) {
  if (!check_went_stale(delay)) {
    return "";
  }
  bool at_once = time_at(tale, delay->check) == time_at(tale, delay->pause);
  return at_once ? words(tale, ", right after it had found %s true", check_text(tale, delay->check))
                 : words(tale, ", after it had found %s true at %s", check_text(tale, delay->check),
                         when(tale, delay->check));
}

/* "it was paused from 0.458 s to 10.158 s, right after it had found age(since) < 9.898s true" */
static const char *pause_clause(Tale *tale, const Delay *delay) {
  const char *check = check_clause(tale, delay);
  return delay->resume == NONE
             ? words(tale, "it has been paused since %s%s", when(tale, delay->pause), check)
             : words(tale, "it was paused from %s to %s%s", when(tale, delay->pause), when(tale, delay->resume), check);
}

/* Why the client did not go on sooner; NULL if the run does not show it. */
static const char *delay_clause(Tale *tale, const Delay *delay) {
  if (delay->pause != NONE) {
    return pause_clause(tale, delay);
  }
  if (delay->late != NONE) {
    return words(tale, "`%s` of %s, sent at %s, arrived late, at %s", event_at(tale, delay->late)->text,
                 name_of(tale, event_at(tale, delay->late)->peer), when(tale, sent(tale, delay->late)),
                 when(tale, delay->late));
  }
  return NULL;
}

/* The same of a client that has not gone on at all. */
static const char *unanswered_clause(Tale *tale, const Delay *delay) {
  if (delay->unanswered == NONE) {
    return NULL;
  }
  const RunEvent *call = event_at(tale, delay->unanswered);
  bool is_call = call->flag_late || call->flag_lost;
  return words(tale, "it has been waiting since %s for %s to answer its `%s`, and %s", when(tale, delay->unanswered),
               name_of(tale, call->peer), call->text,
               is_call ? (call->flag_lost ? "that was lost" : "that is late") : "the answer is late or lost");
}

/* Whether what held the party up was over when it entered, so that it entered late. */
static bool was_late_to_enter(const Party *party, const Delay *delay) {
  int32_t end = delay->pause != NONE ? delay->resume : delay->late;
  return end != NONE && end < party->entry;
}

static void tell_clock(Tale *tale, const Party *party, const Delay *delay) {
  if (delay->clock != NONE) {
    reason(tale, "The clock of %s was stepped by %s at %s%s", party->name, clock_step(tale, delay->clock),
           when(tale, delay->clock),
           delay->check > delay->clock ? words(tale, ", before it found %s true at %s", check_text(tale, delay->check),
                                               when(tale, delay->check))
                                       : "");
  }
}

/* The last reply that a client got before a moment; NONE. */
static int32_t last_reply(const Tale *tale, int32_t lane, int32_t before) {
  for (int32_t i = before - 1; i >= 0; i--) {
    int32_t send = event_at(tale, i)->kind == RUN_ARRIVE && event_at(tale, i)->lane == lane ? sent(tale, i) : NONE;
    if (send != NONE && event_at(tale, send)->reply_to > 0) {
      return i;
    }
  }
  return NONE;
}

static int32_t request_of(const Tale *tale, int32_t reply) {
  int32_t send = sent(tale, reply);
  return send == NONE ? NONE : sending_of(tale, event_at(tale, send)->reply_to);
}

/* The last change of a variable of a server by a message of the client, before a moment; NONE. */
static int32_t last_change(const Tale *tale, int32_t client, int32_t server, int32_t before) {
  for (int32_t i = before - 1; i >= 0; i--) {
    const RunEvent *event = event_at(tale, i);
    if (event->kind == RUN_VARIABLE && event->lane == server) {
      int32_t arrival = earlier_in_step(tale, i, RUN_ARRIVE, server);
      if (arrival != NONE && event_at(tale, arrival)->peer == client) {
        return i;
      }
    }
  }
  return NONE;
}

/* The last reply of the server that it gave to the client before a moment; the sending of it. */
static int32_t last_answer(const Tale *tale, int32_t server, int32_t client, int32_t before) {
  for (int32_t i = before - 1; i >= 0; i--) {
    const RunEvent *event = event_at(tale, i);
    if (event->kind == RUN_SEND && event->lane == server && event->peer == client && event->reply_to > 0) {
      return i;
    }
  }
  return NONE;
}

/* --- two parties ------------------------------------------------------------------------------------------------- */

static Party party_at_entry(Tale *tale, int32_t entry) {
  const RunEvent *event = event_at(tale, entry);
  Party party = {.name = name_of(tale, event->lane), .lane = event->lane, .attempt = event->number, .entry = entry};
  party.send = party.arrive = party.write = NONE;
  collect_keys(tale, &party);
  return party;
}

/* The attempt whose write or read the resource handles at a moment. */
static Party party_at_resource(Tale *tale, int32_t moment) {
  const RunEvent *event = event_at(tale, moment);
  Party party = {.name = name_of(tale, event->peer), .lane = event->peer, .attempt = event->number, .entry = NONE};
  party.write = moment;
  party.arrive = earlier_in_step(tale, moment, RUN_ARRIVE, event->lane);
  party.send = sent(tale, party.arrive);
  int32_t before = party.send != NONE ? party.send : moment;
  for (int32_t i = before - 1; i >= 0 && party.entry == NONE; i--) {
    const RunEvent *entry = event_at(tale, i);
    bool is_its = entry->kind == RUN_ENTER && entry->lane == party.lane;
    party.entry = is_its && (party.attempt == 0 || entry->number == party.attempt) ? i : NONE;
  }
  collect_keys(tale, &party);
  return party;
}

static void party_clear(Party *party) {
  vec_free(&party->keys);
}

/* Two attempts of one client are told apart by their numbers. */
static void name_apart(Tale *tale, Party *a, Party *b) {
  if (a->lane == b->lane) {
    a->name = words(tale, "%s (attempt %d)", name_of(tale, a->lane), a->attempt);
    b->name = words(tale, "%s (attempt %d)", name_of(tale, b->lane), b->attempt);
  }
}

static const char *lock_of(Tale *tale, const Party *party) {
  return strchr(party->name, ' ') == NULL ? words(tale, "%s's lock", party->name)
                                          : words(tale, "the lock of %s", party->name);
}

/* What a client that has nothing of a lock went by: the last thing that it was told before it entered. */
static void tell_entry_by_reply(Tale *tale, const Party *party) {
  int32_t reply = last_reply(tale, party->lane, party->entry);
  int32_t request = reply == NONE ? NONE : request_of(tale, reply);
  if (request != NONE) {
    reason(tale, "%s entered at %s, after %s had answered its `%s` with `%s` at %s", party->name,
           when(tale, party->entry), name_of(tale, event_at(tale, reply)->peer), event_at(tale, request)->text,
           event_at(tale, reply)->text, when(tale, sent(tale, reply)));
  }
}

static void tell_entry(Tale *tale, const Party *party) {
  if (party->entry == NONE) {
    return;
  }
  if (party->keys.count == 0) {
    tell_entry_by_reply(tale, party);
    return;
  }
  int32_t check = earlier_in_step(tale, party->entry, RUN_COMPARE, party->lane);
  bool is_checked = check != NONE && is_yes(event_at(tale, check));
  reason(tale, "%s entered at %s, because it had got the lock on %s %s%s%s%s%s", party->name, when(tale, party->entry),
         places(tale, &party->keys), by_when(tale, party->keys.count, last_set(tale, &party->keys)),
         grant_note(tale, &party->keys), is_checked ? " and found " : "", is_checked ? check_text(tale, check) : "",
         is_checked ? " true" : "");
}

/* Whether an entry stands to reason: the client had all that it had got, more of the lock than the other one still had,
 * and it took nothing away itself. */
static bool was_right(Tale *tale, const Party *stale, const Party *right, const KeyList *lost) {
  bool is_right = holds_at(tale, right, right->entry);
  uint32_t left = 0;
  for (uint32_t i = 0; i < stale->keys.count; i++) {
    int32_t gone = key_at(tale, &stale->keys, i)->gone;
    left += gone == NONE || gone > right->entry;
  }
  for (uint32_t i = 0; i < lost->count; i++) {
    is_right = is_right && loss_of(tale, key_at(tale, lost, i)).culprit != right->lane;
  }
  return is_right && right->keys.count > left;
}

/* Why the one whose lock stands could enter: how the lock of the other one went. */
static void tell_right(Tale *tale, const Party *stale, const Party *right) {
  if (right->entry == NONE) {
    return;
  }
  KeyList taken = keys_taken(tale, stale, right), gone = keys_gone(tale, stale, right->entry);
  const KeyList *lost = taken.count > 0 ? &taken : &gone;
  if (lost->count == 0 || right->keys.count == 0) {
    tell_entry(tale, right);
  } else {
    const char *got = lost == &taken && taken.count == right->keys.count
                          ? "it there"
                          : words(tale, "the lock on %s", places(tale, &right->keys));
    const char *after =
        words(tale, " and %s had got %s %s%s", right->name, got,
              by_when(tale, right->keys.count, last_set(tale, &right->keys)), grant_note(tale, &right->keys));
    reason(tale, "%s %s at %s, because %s", right->name,
           was_right(tale, stale, right, lost) ? "was right to enter" : "entered", when(tale, right->entry),
           loss_clauses(tale, lock_of(tale, stale), lost, after));
  }
  vec_free(&taken);
  vec_free(&gone);
}

/* The loss that explains most: what is nobody's plan comes before an ordinary expiry. Key NULL: none is lost. */
static Loss chief_loss(Tale *tale, const Party *stale, const Party *right, const Key **key) {
  static const LossKind rank[] = {LOSS_STEPPED, LOSS_FORGOTTEN, LOSS_FREED, LOSS_OVERWRITTEN, LOSS_EXPIRED};
  KeyList taken = keys_taken(tale, stale, right);
  if (taken.count == 0 && right->entry != NONE) {
    taken = keys_gone(tale, stale, right->entry);
  }
  Loss chief = {LOSS_UNKNOWN, NONE, NONE};
  *key = NULL;
  for (size_t r = 0; r < G_N_ELEMENTS(rank) && *key == NULL; r++) {
    for (uint32_t i = 0; i < taken.count && *key == NULL; i++) {
      Loss loss = loss_of(tale, key_at(tale, &taken, i));
      if (loss.kind == rank[r]) {
        chief = loss;
        *key = key_at(tale, &taken, i);
      }
    }
  }
  vec_free(&taken);
  return chief;
}

/* From which moment on something is wrong: the first key that is gone, else the entry of the other. */
static int32_t trouble_since(const Tale *tale, const Party *stale, const Party *right) {
  int32_t first = right->entry != NONE ? right->entry : right->write;
  for (uint32_t i = 0; i < stale->keys.count; i++) {
    int32_t gone = key_at(tale, &stale->keys, i)->gone;
    first = gone != NONE && gone < first ? gone : first;
  }
  return first;
}

/* --- conclusions ------------------------------------------------------------------------------------------------- */

/* What failed, where a lock went before its time: what a client could not foresee. NULL: it did not. */
static const char *unplanned_loss(Tale *tale, const Party *stale, const Key *key, Loss loss) {
  const char *place = key != NULL ? place_of(tale, key) : "";
  switch (loss.kind) {
  case LOSS_STEPPED:
    return time_at(tale, loss.cause) == time_at(tale, key->gone)
               ? words(tale,
                       "the assumption failed that the clock of %s runs evenly, and %s there ended before its time%s",
                       name_of(tale, key->lane), lock_of(tale, stale),
                       stale->write == NONE ? "; an expiry on a monotonic clock would not have jumped" : "")
               : words(tale, "the clock of %s did not run evenly while %s counted on its lock there",
                       name_of(tale, key->lane), stale->name);
  case LOSS_FORGOTTEN:
    return words(tale, "the assumption failed that %s remembers a lock that it has granted", name_of(tale, key->lane));
  case LOSS_FREED:
    if (loss.culprit != key->owner) {
      return words(tale, "%s let %s free a lock of %s; a release that compares the owner first would have left it",
                   place, name_of(tale, loss.culprit), stale->name);
    }
    if (!given_back(tale, key)) {
      return words(tale, "an earlier message of %s took its own lock away", name_of(tale, stale->lane));
    }
    return stale->write == NONE ? words(tale, "%s had given its lock back and was not done yet", stale->name)
                                : words(tale, "%s had given its lock back before its write was applied", stale->name);
  case LOSS_OVERWRITTEN:
    return words(tale, "%s let %s overwrite the lock while it was held", place, name_of(tale, loss.culprit));
  default: return NULL;
  }
}

/* What a pause did: "A's check of 0.458 s was 9.653 s old when B entered". */
static const char *stale_check(Tale *tale, const Party *stale, const Delay *delay, int32_t act, const char *deed) {
  return words(tale, "%s's check of %s was %s old when %s", name_of(tale, stale->lane), when(tale, delay->check),
               length(tale, time_at(tale, act) - time_at(tale, delay->check)), deed);
}

/* --- mutual exclusion -------------------------------------------------------------------------------------------- */

static bool is_inside(const Tale *tale, int32_t entry) {
  int32_t lane = event_at(tale, entry)->lane;
  return first_after(tale, entry, RUN_LEAVE, lane) == NONE && first_after(tale, entry, RUN_CRASH, lane) == NONE &&
         first_after(tale, entry, RUN_END, lane) == NONE && first_after(tale, entry, RUN_ENTER, lane) == NONE;
}

/* Entries before `newest` of clients that are still inside, in order. */
static KeyList entries_inside(Tale *tale, int32_t newest) {
  KeyList entries = {0};
  for (int32_t i = 0; i < newest; i++) {
    if (event_at(tale, i)->kind == RUN_ENTER && event_at(tale, i)->lane != event_at(tale, newest)->lane &&
        is_inside(tale, i)) {
      vec_push(&entries, i);
    }
  }
  return entries;
}

static void say_who_is_inside(Tale *tale, int32_t newest, const KeyList *entries) {
  const char *head = words(tale, "%s enters at %s", name_of(tale, event_at(tale, newest)->lane), when(tale, newest));
  if (entries->count == 1) {
    tale->sentence = words(tale, "%s while %s is still inside (since %s)", head,
                           name_of(tale, event_at(tale, entries->items[0])->lane), when(tale, entries->items[0]));
    return;
  }
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (uint32_t i = 0; i < entries->count; i++) {
    g_ptr_array_add(names, (char *)words(tale, "%s (since %s)", name_of(tale, event_at(tale, entries->items[i])->lane),
                                         when(tale, entries->items[i])));
  }
  tale->sentence = words(tale, "%s while %s are still inside", head, list(tale, names));
}

/* Both passed a test: the later write came after the earlier look. */
static void tell_looks(Tale *tale, const Party *older, const Party *newer) {
  int32_t reply = last_reply(tale, older->lane, older->entry);
  int32_t look = sent(tale, reply);
  int32_t server = look == NONE ? NONE : event_at(tale, look)->lane;
  int32_t change = server == NONE ? NONE : last_change(tale, newer->lane, server, newer->entry);
  if (change == NONE || change < look) {
    reason(tale, "So each had passed all that its program asks for before it enters");
    return;
  }
  int32_t own = last_change(tale, older->lane, server, older->entry);
  int32_t read = own == NONE ? NONE : last_answer(tale, server, newer->lane, own);
  const char *write = event_at(tale, earlier_in_step(tale, change, RUN_ARRIVE, server))->text;
  if (read != NONE) {
    int32_t question = sending_of(tale, event_at(tale, read)->reply_to);
    reason(tale,
           "%s had not been kept out, because %s had answered its `%s` with `%s` at %s, before `%s` of %s arrived "
           "at %s",
           newer->name, name_of(tale, server), question != NONE ? event_at(tale, question)->text : "call",
           event_at(tale, read)->text, when(tale, read),
           event_at(tale, earlier_in_step(tale, own, RUN_ARRIVE, server))->text, older->name, when(tale, own));
  }
  const char *late = late_note(tale, earlier_in_step(tale, change, RUN_ARRIVE, server), NONE);
  reason(tale,
         "So what %s had been told at %s no longer held when %s entered, because `%s` of %s had arrived at %s%s, "
         "after %s's last look",
         older->name, when(tale, look), newer->name, write, newer->name, when(tale, change), late, older->name);
}

static void tell_why_stale_is_inside(Tale *tale, const Party *stale, const Party *right, const Delay *delay) {
  const char *clause = delay_clause(tale, delay), *waits = unanswered_clause(tale, delay);
  if (stale->entry > right->entry && clause != NULL) {
    reason(tale, "%s entered only at %s, because %s", stale->name, when(tale, stale->entry), clause);
  } else if (stale->entry > right->entry) {
    return;
  } else if (clause != NULL && was_late_to_enter(stale, delay)) {
    reason(tale, "%s entered no sooner, because %s", stale->name, clause);
  } else if (clause != NULL || waits != NULL) {
    reason(tale, "%s is still inside, because %s", stale->name, clause != NULL ? clause : waits);
  } else if (delay->check != NONE && delay->check > stale->entry) {
    reason(tale, "%s is still inside; it last found %s true at %s", stale->name, check_text(tale, delay->check),
           when(tale, delay->check));
  }
}

static void conclude_overlap(Tale *tale, const Party *stale, const Party *right, const Delay *delay) {
  const Key *key;
  Loss loss = chief_loss(tale, stale, right, &key);
  const char *unplanned = unplanned_loss(tale, stale, key, loss);
  bool entered_last = stale->entry > right->entry;
  int32_t act = entered_last ? stale->entry : right->entry;
  const char *deed = entered_last ? "it entered" : words(tale, "%s entered", right->name);
  const char *pause = loss.kind == LOSS_EXPIRED ? ": the assumption failed that no pause outlasts the lock" : "";
  if (unplanned != NULL) {
    reason(tale, "So %s", unplanned);
  } else if (check_went_stale(delay)) {
    reason(tale, "So %s%s", stale_check(tale, stale, delay, act, deed), pause);
  } else if (delay->pause != NONE) {
    reason(tale, "So %s could not notice what happened meanwhile%s", stale->name, pause);
  } else if (key != NULL && loss.kind == LOSS_EXPIRED) {
    reason(tale,
           entered_last ? "So %s entered on a lock that had run out: the assumption failed that it gets there in time"
                        : "So %s stayed inside for longer than its lock lasted",
           stale->name);
  } else if (stale->keys.count > 0 && right->keys.count > 0 && holds_at(tale, stale, right->entry)) {
    reason(tale, "So both had got what they take for the lock at the same time, %s on %s and %s on %s", stale->name,
           places(tale, &stale->keys), right->name, places(tale, &right->keys));
  } else {
    reason(tale, "So each had passed all that its program asks for before it enters");
  }
}

/* No lock variable says who held what when: what is left are replies, writes and pauses. */
static void tell_overlap_without_locks(Tale *tale, const Party *older, const Party *newer) {
  Delay of_older = find_delay(tale, older, end_of(tale), newer->entry);
  Delay of_newer = find_delay(tale, newer, newer->entry, older->entry);
  tell_entry(tale, older);
  tell_entry(tale, newer);
  if (of_older.pause != NONE) {
    tell_why_stale_is_inside(tale, older, newer, &of_older);
  } else if (of_newer.pause != NONE) {
    tell_why_stale_is_inside(tale, newer, older, &of_newer);
  }
  if (tale->reasons->len > 0) {
    tell_looks(tale, older, newer);
  }
}

/* Reasons for two at a time. The stale one is the one whose lock went: as a rule the older. */
static void tell_overlap(Tale *tale, const Party *older, const Party *newer) {
  if (older->keys.count == 0 && newer->keys.count == 0) {
    tell_overlap_without_locks(tale, older, newer);
    return;
  }
  bool older_is_stale = takes_from(tale, older, newer) || !takes_from(tale, newer, older);
  const Party *stale = older_is_stale ? older : newer, *right = older_is_stale ? newer : older;
  Delay delay =
      find_delay(tale, stale, older_is_stale ? end_of(tale) : newer->entry, trouble_since(tale, stale, right));
  if (older_is_stale) {
    tell_entry(tale, stale);
    tell_why_stale_is_inside(tale, stale, right, &delay);
    tell_clock(tale, stale, &delay);
    tell_right(tale, stale, right);
  } else {
    tell_right(tale, stale, right);
    tell_why_stale_is_inside(tale, stale, right, &delay);
    tell_clock(tale, stale, &delay);
  }
  conclude_overlap(tale, stale, right, &delay);
}

static void explain_mutual_exclusion(Tale *tale) {
  int32_t newest = end_of(tale) - 1;
  while (newest >= 0 && event_at(tale, newest)->kind != RUN_ENTER) {
    newest--;
  }
  KeyList entries = newest >= 0 ? entries_inside(tale, newest) : (KeyList){0};
  if (entries.count == 0) {
    return;
  }
  say_who_is_inside(tale, newest, &entries);
  Party newer = party_at_entry(tale, newest);
  Party older = party_at_entry(tale, entries.items[entries.count - 1]);
  for (uint32_t i = 0; i + 1 < entries.count && !takes_from(tale, &older, &newer); i++) {
    Party other = party_at_entry(tale, entries.items[i]);
    Party unused = takes_from(tale, &other, &newer) ? older : other;
    older = unused.entry == other.entry ? older : other;
    party_clear(&unused);
  }
  tale->lane = newer.lane;
  tale->peer = older.lane;
  tell_overlap(tale, &older, &newer);
  party_clear(&newer);
  party_clear(&older);
  vec_free(&entries);
}

/* --- fencing, lost_update ---------------------------------------------------------------------------------------- */

static const char *token_of(const Tale *tale, const Party *party) {
  return party->entry != NONE ? event_at(tale, party->entry)->text : "";
}

/* Whether a message carries a value: "write(33)" shows 33. */
static bool shows(const Tale *tale, int32_t arrival, const char *token) {
  const char *open = arrival != NONE ? strchr(event_at(tale, arrival)->text, '(') : NULL;
  if (open == NULL || *token == '\0') {
    return false;
  }
  g_auto(GStrv) arguments = g_strsplit_set(open + 1, ",()", -1);
  bool found = false;
  for (char **argument = arguments; *argument != NULL; argument++) {
    found = found || strcmp(g_strstrip(*argument), token) == 0;
  }
  return found;
}

/* The request with which the party last read or changed the resource before a moment. */
static int32_t access_before(const Tale *tale, const Party *party, int32_t resource, int32_t before) {
  for (int32_t i = before - 1; i >= 0; i--) {
    const RunEvent *event = event_at(tale, i);
    if ((event->kind == RUN_OBSERVE || event->kind == RUN_COMMIT) && event->lane == resource &&
        event->peer == party->lane && event->number == party->attempt) {
      return earlier_in_step(tale, i, RUN_ARRIVE, resource);
    }
  }
  return NONE;
}

/* What a fencing token did not do here, or would have done. */
static const char *token_remark(Tale *tale, const Party *stale, const Party *right) {
  int32_t resource = event_at(tale, stale->write)->lane;
  const char *store = name_of(tale, resource), *old = token_of(tale, stale), *young = token_of(tale, right);
  int32_t access = access_before(tale, right, resource, stale->write);
  if (stale->entry == NONE || right->entry == NONE) {
    return "";
  }
  if (*old == '\0' || *young == '\0') {
    /* A token would have been given with the lock: it tells the two apart if they got the lock in that order. */
    bool in_order = stale->keys.count > 0 && last_set(tale, &stale->keys) < last_set(tale, &right->keys);
    return access != NONE && in_order
               ? words(tale, "; a fencing token that %s checks on reads and writes would have stopped it", store)
               : "";
  }
  if (g_ascii_strtoll(old, NULL, 10) >= g_ascii_strtoll(young, NULL, 10)) {
    return words(tale, "; %s entered with token %s, and %s with %s", stale->name, old, right->name, young);
  }
  if (!shows(tale, stale->arrive, old)) {
    return words(tale, "; %s entered with token %s, but its write did not show it to %s", stale->name, old, store);
  }
  if (!shows(tale, access, young)) {
    return words(tale, "; %s had not been shown %s, the token of %s, when it took the write with %s%s", store, young,
                 right->name, old, access != NONE ? ": a read must present its token too" : "");
  }
  return words(tale, "; %s had been shown %s by %s, and took the write with %s all the same", store, young, right->name,
               old);
}

/* Why the write of the stale party came when it came. */
static void tell_write_delay(Tale *tale, const Party *stale, const Party *right, const Delay *delay) {
  int32_t since = right->entry != NONE ? right->entry : right->write;
  const char *clause = delay_clause(tale, delay);
  if (stale->send == NONE) {
    return;
  }
  if (clause != NULL && was_late_to_enter(stale, delay)) {
    reason(tale, "%s entered no sooner, because %s", stale->name, clause);
  } else if (clause != NULL) {
    reason(tale, "%s sent its write only at %s, because %s", stale->name, when(tale, stale->send), clause);
  }
  if (stale->arrive != NONE && event_at(tale, stale->arrive)->flag_late) {
    reason(tale, "The write of %s reached %s only at %s, because it was late: sent at %s, it took %s", stale->name,
           name_of(tale, event_at(tale, stale->write)->lane), when(tale, stale->write), when(tale, stale->send),
           length(tale, time_at(tale, stale->write) - time_at(tale, stale->send)));
  } else if (stale->send < since && stale->write > since) {
    reason(tale,
           "The write of %s came after %s %s at %s, because it was still on its way: sent at %s, it arrived at %s",
           stale->name, right->name, right->entry != NONE ? "entered" : "wrote", when(tale, since),
           when(tale, stale->send), when(tale, stale->write));
  } else if (clause == NULL && delay->check != NONE) {
    bool just_now = time_at(tale, delay->check) == time_at(tale, stale->send);
    reason(tale, "%s sent its write at %s, because it had %sfound %s true%s", stale->name, when(tale, stale->send),
           just_now ? "just " : "", check_text(tale, delay->check),
           just_now ? "" : words(tale, " at %s", when(tale, delay->check)));
  }
}

static const char *write_conclusion(Tale *tale, const Party *stale, const Party *right, const Delay *delay) {
  const Key *key;
  Loss loss = chief_loss(tale, stale, right, &key);
  const char *unplanned = unplanned_loss(tale, stale, key, loss);
  if (unplanned != NULL) {
    return unplanned;
  }
  if (check_went_stale(delay) && stale->send != NONE) {
    return stale_check(tale, stale, delay, stale->send, "it sent the write");
  }
  if (stale->send != NONE && holds_at(tale, stale, stale->send) && !holds_at(tale, stale, stale->write)) {
    return words(tale, "%s still had its lock when it sent the write, and no longer when the write arrived",
                 stale->name);
  }
  if (key != NULL && loss.kind == LOSS_EXPIRED) {
    return words(tale, "the write of %s came after its lock had expired", stale->name);
  }
  return right->entry != NONE && right->entry < stale->write
             ? words(tale, "the write of %s came when %s had entered after it", stale->name, right->name)
             : words(tale, "nothing kept the write of %s and that of %s apart", stale->name, right->name);
}

static void tell_write(Tale *tale, const Party *stale, const Party *right) {
  if (!takes_from(tale, stale, right) && takes_from(tale, right, stale)) { /* the lock was lost by who entered later */
    bool in_order = stale->entry < right->entry;
    tell_overlap(tale, in_order ? stale : right, in_order ? right : stale);
    return;
  }
  int32_t act = stale->send != NONE ? stale->send : stale->write;
  Delay delay = find_delay(tale, stale, act, trouble_since(tale, stale, right));
  tell_entry(tale, stale);
  tell_write_delay(tale, stale, right, &delay);
  tell_clock(tale, stale, &delay);
  tell_right(tale, stale, right);
  const char *conclusion = write_conclusion(tale, stale, right, &delay);
  reason(tale, "So %s%s", conclusion, token_remark(tale, stale, right));
}

static int32_t last_commit(const Tale *tale) {
  int32_t commit = end_of(tale) - 1;
  while (commit >= 0 && event_at(tale, commit)->kind != RUN_COMMIT) {
    commit--;
  }
  return commit;
}

static bool is_of_attempt(const RunEvent *event, const RunEvent *other) {
  return event->peer == other->peer && event->number == other->number;
}

/* By the tokens if both have one, else by their entries. */
static bool is_later(const Tale *tale, const Party *a, const Party *b) {
  const char *x = token_of(tale, a), *y = token_of(tale, b);
  return *x != '\0' && *y != '\0' ? g_ascii_strtoll(x, NULL, 10) > g_ascii_strtoll(y, NULL, 10) : a->entry > b->entry;
}

/* The last write of a later holding before the given one. */
static Party later_writer(Tale *tale, const Party *writer) {
  const RunEvent *write = event_at(tale, writer->write);
  for (int32_t i = writer->write - 1; i >= 0; i--) {
    const RunEvent *event = event_at(tale, i);
    if (event->kind != RUN_COMMIT || event->lane != write->lane || is_of_attempt(event, write)) {
      continue;
    }
    Party other = party_at_resource(tale, i);
    if (other.entry != NONE && is_later(tale, &other, writer)) {
      return other;
    }
    party_clear(&other);
  }
  return (Party){.lane = NONE};
}

static void explain_fencing(Tale *tale) {
  int32_t commit = last_commit(tale);
  if (commit == NONE) {
    return;
  }
  Party writer = party_at_resource(tale, commit);
  Party later = later_writer(tale, &writer);
  tale->lane = writer.lane;
  tale->peer = later.lane;
  if (later.lane != NONE && writer.entry != NONE) {
    name_apart(tale, &writer, &later);
    bool by_token = *token_of(tale, &later) != '\0' && *token_of(tale, &writer) != '\0';
    const char *later_by = by_token ? words(tale, "whose token is larger (%s, that of %s is %s)",
                                            token_of(tale, &later), writer.name, token_of(tale, &writer))
                                    : words(tale, "who entered later (at %s, %s at %s)", when(tale, later.entry),
                                            writer.name, when(tale, writer.entry));
    tale->sentence = words(tale, "%s applies a write of %s at %s, after one at %s of %s, %s",
                           name_of(tale, event_at(tale, commit)->lane), writer.name, when(tale, commit),
                           when(tale, later.write), later.name, later_by);
    tell_write(tale, &writer, &later);
  }
  party_clear(&writer);
  party_clear(&later);
}

/* The read that a write was computed from, and the last write of another attempt in between; NONE. */
static int32_t read_behind(const Tale *tale, int32_t commit, int32_t *replaced) {
  const RunEvent *write = event_at(tale, commit);
  *replaced = NONE;
  for (int32_t i = commit - 1; i >= 0; i--) {
    const RunEvent *event = event_at(tale, i);
    if (event->lane != write->lane) {
      continue;
    }
    if (event->kind == RUN_COMMIT && !is_of_attempt(event, write) && *replaced == NONE) {
      *replaced = i;
    } else if (event->kind == RUN_OBSERVE && is_of_attempt(event, write)) {
      return i;
    }
  }
  return NONE;
}

static void explain_lost_update(Tale *tale) {
  int32_t commit = last_commit(tale), replaced = NONE;
  int32_t read = commit == NONE ? NONE : read_behind(tale, commit, &replaced);
  if (read == NONE || replaced == NONE) {
    return;
  }
  Party writer = party_at_resource(tale, commit), other = party_at_resource(tale, replaced);
  tale->lane = writer.lane;
  tale->peer = other.lane;
  name_apart(tale, &writer, &other);
  tale->sentence =
      words(tale, "%s applies a write of %s at %s, computed from what it read at %s, and loses that of %s at %s",
            name_of(tale, event_at(tale, commit)->lane), writer.name, when(tale, commit), when(tale, read), other.name,
            when(tale, replaced));
  bool writer_is_stale = writer.entry == NONE || other.entry == NONE || writer.entry < other.entry;
  tell_write(tale, writer_is_stale ? &writer : &other, writer_is_stale ? &other : &writer);
  party_clear(&writer);
  party_clear(&other);
}

/* --- owner_release ----------------------------------------------------------------------------------------------- */

/* The key that goes at a moment; NULL: the run does not say who set it. */
static const Key *key_gone_at(const Tale *tale, int32_t moment) {
  for (uint32_t k = 0; k < tale->keys.count; k++) {
    if (tale->keys.items[k].gone == moment) {
      return &tale->keys.items[k];
    }
  }
  return NULL;
}

/* The change of a lock in the last step that hits another attempt; else any change of a lock there; else NONE. */
static int32_t foreign_change(const Tale *tale) {
  int32_t found = NONE, last_step = tale->run->step_count - 1;
  for (int32_t i = end_of(tale) - 1; i >= 0 && tale->moments.items[i].step == last_step; i--) {
    const RunEvent *event = event_at(tale, i);
    int32_t arrival = is_lock_change(event) ? earlier_in_step(tale, i, RUN_ARRIVE, event->lane) : NONE;
    if (arrival == NONE || is_free(event->before)) {
      continue;
    }
    found = found == NONE ? i : found;
    const Key *key = key_gone_at(tale, i);
    int32_t culprit = event_at(tale, arrival)->peer;
    if (key != NULL && (key->owner != culprit || key->attempt != attempt_behind(tale, arrival, culprit))) {
      return i;
    }
  }
  return found;
}

/* The last key on the same lock that the attempt had before. */
static const Key *own_key(const Tale *tale, const Key *lock, int32_t lane, int32_t attempt) {
  for (int32_t k = (int32_t)tale->keys.count - 1; k >= 0; k--) {
    const Key *key = &tale->keys.items[k];
    if (same_lock(key, lock) && key->set < lock->set && key->owner == lane && key->attempt == attempt) {
      return key;
    }
  }
  return NULL;
}

/* The culprit never had the lock: what its server last told it. */
static void tell_never_owner(Tale *tale, const Party *culprit, const Key *lock) {
  int32_t answer = last_answer(tale, lock->lane, culprit->lane, culprit->write);
  int32_t request = answer == NONE ? NONE : sending_of(tale, event_at(tale, answer)->reply_to);
  int32_t begin = last_before(tale, culprit->send != NONE ? culprit->send : culprit->write, RUN_ATTEMPT, culprit->lane);
  if (request != NONE && request > begin) {
    reason(tale, "It was not the lock of %s, because %s had not set it: %s had answered its `%s` with `%s` at %s",
           culprit->name, culprit->name, name_of(tale, lock->lane), event_at(tale, request)->text,
           event_at(tale, answer)->text, when(tale, answer));
  } else {
    reason(tale, "It was not the lock of %s, because the attempt that sent this had not set it", culprit->name);
  }
}

static void tell_release_delay(Tale *tale, const Party *culprit, const Key *lock, const Key *own) {
  const char *text = event_at(tale, culprit->arrive)->text;
  if (culprit->send == NONE) {
    return;
  }
  Delay delay = {NONE, NONE, NONE, NONE, NONE, NONE};
  int32_t begin = MAX(0, last_before(tale, culprit->send, RUN_ATTEMPT, culprit->lane));
  find_pause(tale, &delay, culprit->lane, begin, culprit->send,
             own != NULL && own->gone != NONE ? own->gone : lock->set);
  if (delay.pause != NONE) {
    int32_t check = last_before(tale, culprit->send, RUN_COMPARE, culprit->lane);
    delay.check = check > begin && is_yes(event_at(tale, check)) ? check : NONE;
    reason(tale, "%s sent `%s` only at %s, because %s", culprit->name, text, when(tale, culprit->send),
           pause_clause(tale, &delay));
  }
  if (event_at(tale, culprit->arrive)->flag_late) {
    reason(tale, "`%s` arrived only at %s, because it was late: sent at %s, it took %s", text,
           when(tale, culprit->arrive), when(tale, culprit->send),
           length(tale, time_at(tale, culprit->arrive) - time_at(tale, culprit->send)));
  } else if (culprit->send < lock->set) {
    reason(tale, "`%s` was sent at %s, before %s had set the lock, and arrived after", text, when(tale, culprit->send),
           name_of(tale, lock->owner));
  }
}

static void tell_release(Tale *tale, const Party *culprit, const Party *owner, const Key *lock, bool frees) {
  const Key *own = own_key(tale, lock, culprit->lane, culprit->attempt);
  if (own != NULL && own->gone != NONE) {
    KeyList keys = {0};
    vec_push(&keys, (int32_t)(own - tale->keys.items));
    reason(tale, "It was no longer the lock of %s, who had set it at %s, because %s", culprit->name,
           when(tale, own->set), loss_clauses(tale, "it", &keys, ""));
    vec_free(&keys);
  } else {
    tell_never_owner(tale, culprit, lock);
  }
  if (is_free(event_at(tale, lock->set)->before)) {
    reason(tale, "%s was right to set it at %s, because it was free then", owner->name, when(tale, lock->set));
  }
  tell_release_delay(tale, culprit, lock, own);
  const char *text = event_at(tale, culprit->arrive)->text;
  if (frees) {
    reason(tale,
           "So `%s` freed a lock that its attempt had not set; a release that compares %s first would have left it",
           text, culprit->lane == owner->lane ? "a value that is fresh for each attempt" : "the owner");
  } else {
    reason(tale, "So `%s` overwrote a lock that was held", text);
  }
}

static void explain_owner_release(Tale *tale) {
  int32_t change = foreign_change(tale);
  if (change == NONE) {
    return;
  }
  const RunEvent *event = event_at(tale, change);
  int32_t arrival = earlier_in_step(tale, change, RUN_ARRIVE, event->lane);
  if (arrival == NONE) {
    return; /* served after it had waited: the last step says enough */
  }
  Party culprit = {.lane = event_at(tale, arrival)->peer, .entry = NONE, .arrive = arrival, .write = change};
  culprit.name = name_of(tale, culprit.lane);
  culprit.send = sent(tale, arrival);
  culprit.attempt = attempt_behind(tale, arrival, culprit.lane);
  bool frees = is_free(event->text);
  const char *deed = words(tale, "`%s` of %s", event_at(tale, arrival)->text, culprit.name);
  const Key *lock = key_gone_at(tale, change);
  tale->lane = culprit.lane;
  if (lock == NULL || lock->owner == NONE) {
    tale->sentence =
        words(tale, "%s %s a lock on %s at %s that its attempt has not set (%s)", deed, frees ? "frees" : "overwrites",
              name_of(tale, event->lane), when(tale, change), event->before);
    return;
  }
  tale->peer = lock->owner;
  Party owner = {.name = name_of(tale, lock->owner), .lane = lock->owner, .attempt = lock->attempt, .entry = NONE};
  name_apart(tale, &culprit, &owner);
  const char *value = strcmp(lock->value, "true") == 0 ? "" : words(tale, "%s, ", lock->value);
  tale->sentence = words(tale, "`%s` of %s %s the lock of %s on %s at %s (%sset at %s)", event_at(tale, arrival)->text,
                         culprit.name, frees ? "frees" : "overwrites", owner.name, place_of(tale, lock),
                         when(tale, change), value, when(tale, lock->set));
  tell_release(tale, &culprit, &owner, lock, frees);
}

/* --- deadlock ---------------------------------------------------------------------------------------------------- */

/* What has become of a request that has no reply. */
static const char *fate_of_request(Tale *tale, int32_t send) {
  const RunEvent *request = event_at(tale, send);
  int32_t crash = first_after(tale, send, RUN_CRASH, request->peer);
  if (request->flag_lost) {
    return ", which was lost";
  }
  int32_t arrival = NONE;
  for (int32_t i = send + 1; i < end_of(tale); i++) {
    const RunEvent *event = event_at(tale, i);
    if (event->kind == RUN_SEND && event->reply_to == request->message) {
      return event->flag_lost   ? ", and the answer was lost"
             : event->flag_late ? ", and the answer is late"
                                : ", and the answer has not come";
    }
    arrival = event->kind == RUN_ARRIVE && event->message == request->message ? i : arrival;
  }
  if (arrival != NONE) {
    return words(tale, ", which arrived at %s", when(tale, arrival));
  }
  if (request->flag_late) {
    return ", which is late";
  }
  return crash != NONE ? words(tale, ", but %s crashed at %s", name_of(tale, request->peer), when(tale, crash)) : "";
}

/* What a client waits for, from its last event; NULL if it is at its end, down, or has not begun. */
static const char *waiting_for(Tale *tale, int32_t lane) {
  int32_t last = end_of(tale) - 1;
  while (last >= 0 && event_at(tale, last)->lane != lane) {
    last--;
  }
  const RunEvent *event = last >= 0 ? event_at(tale, last) : NULL;
  if (event == NULL || event->kind == RUN_END || event->kind == RUN_CRASH) {
    return NULL;
  }
  const char *name = name_of(tale, lane);
  switch (event->kind) {
  case RUN_SEND:
    return words(tale, "%s has been waiting since %s for %s to answer its `%s`%s", name, when(tale, last),
                 name_of(tale, event->peer), event->text, fate_of_request(tale, last));
  case RUN_WAIT: return words(tale, "%s has been waiting since %s", name, when(tale, last));
  case RUN_PAUSE: return words(tale, "%s has been paused since %s", name, when(tale, last));
  default: return words(tale, "%s is not at its end (it last did something at %s)", name, when(tale, last));
  }
}

static void explain_deadlock(Tale *tale) {
  GString *text = g_string_new(NULL);
  for (int32_t lane = 0; lane < tale->run->lane_count; lane++) {
    const char *clause = tale->run->lanes[lane].is_client ? waiting_for(tale, lane) : NULL;
    if (clause == NULL) {
      continue;
    }
    g_string_append_printf(text, "%s%s", text->len > 0 ? "; " : "", clause);
    tale->peer = tale->lane != NONE && tale->peer == NONE ? lane : tale->peer;
    tale->lane = tale->lane == NONE ? lane : tale->lane;
  }
  tale->sentence = words(tale, "Nothing can happen any more after %s%s%s", when(tale, end_of(tale) - 1),
                         text->len > 0 ? ": " : "", text->str);
  g_string_free(text, TRUE);
}

/* --- what a model says must never be, and anything else ---------------------------------------------------------- */

/* What an event is in words; NULL for what says little. `rank` gets how much it says. */
static const char *event_words(Tale *tale, int32_t moment, int *rank) {
  const RunEvent *event = event_at(tale, moment);
  const char *lane = name_of(tale, event->lane), *peer = name_of(tale, event->peer);
  switch (event->kind) {
  case RUN_ENTER: *rank = 9; return words(tale, "%s enters its critical section", lane);
  case RUN_COMMIT: *rank = 8; return words(tale, "%s applies a write of %s", lane, peer);
  case RUN_OBSERVE: *rank = 8; return words(tale, "%s is read by %s", lane, peer);
  case RUN_LEAVE: *rank = 7; return words(tale, "%s leaves its critical section", lane);
  case RUN_CRASH: *rank = 7; return words(tale, "%s crashes", lane);
  case RUN_CLOCK_STEP:
    *rank = 7;
    return words(tale, "the clock of %s is stepped by %s", lane, clock_step(tale, moment));
  case RUN_RESTART: *rank = 7; return words(tale, "%s restarts", lane);
  case RUN_PAUSE:
    *rank = 7;
    return words(tale, "%s is %sed", lane, strcmp(event->name, "suspend") == 0 ? "suspend" : "paus");
  case RUN_CUT: *rank = 7; return words(tale, "%s is cut off from %s", lane, peer);
  case RUN_JOIN: *rank = 6; return words(tale, "%s can reach %s again", lane, peer);
  case RUN_LOSS: *rank = 7; return words(tale, "%s notices that %s is gone", lane, peer);
  case RUN_TRIGGER: *rank = 7; return words(tale, "%s runs %s", lane, event->text);
  case RUN_RESUME: *rank = 6; return words(tale, "%s goes on after its pause", lane);
  case RUN_FIRE: *rank = 6; return words(tale, "timer %s of %s fires", event->name, lane);
  case RUN_VARIABLE:
    *rank = event->is_lock ? 5 : 4;
    return words(tale, "%s of %s changes from %s to %s", event->name, lane, event->before, event->text);
  case RUN_TIMEOUT: *rank = 3; return words(tale, "the call of %s to %s times out", lane, peer);
  case RUN_ARRIVE: *rank = 2; return words(tale, "`%s` of %s arrives at %s", event->text, peer, lane);
  case RUN_WAKE: *rank = 2; return words(tale, "the wait of %s ends", lane);
  case RUN_BEGIN: *rank = 1; return words(tale, "%s begins", lane);
  case RUN_END: *rank = 1; return words(tale, "%s is at its end", lane);
  default: return NULL;
  }
}

/* Who is inside at the end, but for one lane: " (inside: A since 0.031 s)". */
static const char *insiders(Tale *tale, int32_t but) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (int32_t i = 0; i < end_of(tale); i++) {
    if (event_at(tale, i)->kind == RUN_ENTER && event_at(tale, i)->lane != but && is_inside(tale, i)) {
      g_ptr_array_add(names, (char *)words(tale, "%s since %s", name_of(tale, event_at(tale, i)->lane), when(tale, i)));
    }
  }
  return names->len > 0 ? words(tale, " (inside: %s)", list(tale, names)) : "";
}

/* The last step in words: what the model forbids is so after it, at once or when some time has passed. */
static void explain_last_step(Tale *tale) {
  const char *best = NULL;
  int best_rank = 0;
  int32_t moment = end_of(tale) - 1, last_step = tale->run->step_count - 1;
  for (int32_t i = moment; i >= 0 && tale->moments.items[i].step == last_step; i--) {
    int rank = 0;
    const char *text = event_words(tale, i, &rank);
    if (text != NULL && rank >= best_rank) {
      best = text;
      best_rank = rank;
      moment = i;
    }
  }
  if (best == NULL) {
    return;
  }
  const RunEvent *event = event_at(tale, moment);
  bool by_client = event->lane >= 0 && tale->run->lanes[event->lane].is_client;
  tale->lane = event->lane;
  tale->peer = event->peer;
  const Run *run = tale->run;
  bool is_later = run->end_ns > run->steps[run->step_count - 1].time_ns;
  tale->sentence = words(tale, "It is violated %s%safter %s at %s%s", is_later ? "at " : "",
                         is_later ? words(tale, "%s, ", length(tale, run->end_ns)) : "", best, when(tale, moment),
                         insiders(tale, by_client && event->kind == RUN_ENTER ? event->lane : NONE));
}

/* --- token order, what is obtainable ----------------------------------------------------------------------------- */

/* The last entry has a fencing token; an earlier one had it, or a larger one. */
static void explain_token_order(Tale *tale) {
  int32_t entry = end_of(tale) - 1, earlier = NONE;
  while (entry >= 0 && event_at(tale, entry)->kind != RUN_ENTER) {
    entry--;
  }
  if (entry < 0) {
    return;
  }
  const RunEvent *last = event_at(tale, entry);
  int64_t token = g_ascii_strtoll(last->text, NULL, 10);
  for (int32_t i = 0; i < entry; i++) {
    const RunEvent *event = event_at(tale, i);
    if (event->kind == RUN_ENTER && *event->text && g_ascii_strtoll(event->text, NULL, 10) >= token) {
      earlier = i;
    }
  }
  if (earlier == NONE) {
    return;
  }
  const RunEvent *before = event_at(tale, earlier);
  tale->lane = last->lane;
  tale->peer = before->lane;
  tale->sentence =
      words(tale, "%s enters with token %s at %s, after %s entered with token %s at %s", name_of(tale, last->lane),
            last->text, when(tale, entry), name_of(tale, before->lane), before->text, when(tale, earlier));
}

/* "obtainable within 30s": nobody has been inside since the last leave, crash or beginning. */
static void explain_obtainable(Tale *tale, const char *property) {
  int32_t since = NONE;
  for (int32_t i = 0; i < end_of(tale); i++) {
    RunEventKind kind = event_at(tale, i)->kind;
    bool restarts = kind == RUN_LEAVE || kind == RUN_BEGIN || kind == RUN_RESUME || kind == RUN_CRASH;
    since = restarts && (since == NONE || kind == RUN_LEAVE || kind == RUN_RESUME) ? i : since;
  }
  if (since == NONE) {
    return;
  }
  tale->lane = event_at(tale, since)->lane;
  int64_t end_ns = MAX(tale->run->end_ns, time_at(tale, end_of(tale) - 1));
  tale->sentence = words(tale, "Nobody is inside from %s until %s at least, though somebody tries: not %s",
                         when(tale, since), length(tale, end_ns), property);
}

/* --- the run ----------------------------------------------------------------------------------------------------- */

/* To ms, unless the whole run is shorter than that can show. */
static int64_t digit_of(const Run *run) {
  int64_t length_ns = run->step_count > 0 ? run->steps[run->step_count - 1].time_ns : 0;
  return length_ns == 0 || length_ns >= 100000000 ? 1000000 : length_ns >= 100000 ? 1000 : 1;
}

static Tale tale_begin(Run *run) {
  Tale tale = {.run = run, .digit_ns = digit_of(run), .lane = NONE, .peer = NONE, .sentence = NULL};
  tale.scratch = g_ptr_array_new_with_free_func(g_free);
  tale.reasons = g_ptr_array_new();
  for (int32_t s = 0; s < run->step_count; s++) {
    for (int32_t e = 0; e < run->steps[s].event_count; e++) {
      const RunEvent *event = &run->steps[s].events[e];
      if (event->kind == RUN_VIOLATION) {
        continue;
      }
      vec_push(&tale.moments, ((Moment){event, run->steps[s].time_ns, s}));
      if (is_lock_change(event)) {
        follow_lock(&tale, end_of(&tale) - 1);
      }
    }
  }
  return tale;
}

static void append_violation(const Tale *tale, Run *run) {
  RunStep *step = &run->steps[run->step_count - 1];
  step->events = g_renew(RunEvent, step->events, (gsize)step->event_count + 1);
  step->events[step->event_count++] = (RunEvent){.kind = RUN_VIOLATION,
                                                 .lane = tale->lane,
                                                 .peer = tale->peer,
                                                 .owner = NONE,
                                                 .name = g_strdup(run->property),
                                                 .before = g_strdup(""),
                                                 .text = g_strdup(run->property_sentence)};
}

/* Hands what was found to the run. The events may move here: moments are not read any more. */
static void tale_end(Tale *tale, const char *property) {
  Run *run = tale->run;
  g_free(run->property);
  g_free(run->property_sentence);
  run->property = g_strdup(property);
  run->property_sentence = g_strdup(tale->sentence);
  for (int32_t w = 0; w < run->why_count; w++) {
    g_free(run->why[w]);
  }
  g_free(run->why);
  run->why_count = (int32_t)tale->reasons->len;
  run->why = g_new0(char *, tale->reasons->len + 1);
  for (guint w = 0; w < tale->reasons->len; w++) {
    run->why[w] = tale->reasons->pdata[w];
  }
  if (run->step_count > 0) {
    append_violation(tale, run);
  }
  vec_free(&tale->moments);
  vec_free(&tale->keys);
  g_ptr_array_free(tale->reasons, TRUE);
  g_ptr_array_free(tale->scratch, TRUE);
}

void why_explain(Run *run, const char *property, const char *never_text_or_NULL) {
  static const struct {
    const char *property;
    void (*explain)(Tale *tale);
  } table[] = {
      {"mutual_exclusion", explain_mutual_exclusion}, {"fencing", explain_fencing},
      {"lost_update", explain_lost_update},           {"owner_release", explain_owner_release},
      {"token_order", explain_token_order},           {"deadlock", explain_deadlock},
  };
  Tale tale = tale_begin(run);
  for (size_t i = 0; i < G_N_ELEMENTS(table) && end_of(&tale) > 0 && never_text_or_NULL == NULL; i++) {
    if (strcmp(table[i].property, property) == 0) {
      table[i].explain(&tale);
    }
  }
  if (tale.sentence == NULL && end_of(&tale) > 0 && g_str_has_prefix(property, "obtainable ")) {
    explain_obtainable(&tale, property);
  }
  if (tale.sentence == NULL && end_of(&tale) > 0) {
    explain_last_step(&tale);
  }
  if (tale.sentence == NULL) {
    tale.sentence = "It is violated from the beginning";
  }
  tale_end(&tale, property);
}
