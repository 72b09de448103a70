/* What a run amounts to: who held what from when to when, and which message went where. Reports and pictures ask this
 * table and never scan events themselves.
 *
 * A Story borrows its Run: the run must outlive it. Steps are counted from 0 and stand for instants; a span covers the
 * steps from <= i < to, and `to` equal to the number of steps means that it lasts at the end of the run. Wording is
 * left to beat.h, drawing to scaled, compact and grid.
 */
#ifndef LOCKSTEP_TRACES_STORY_H
#define LOCKSTEP_TRACES_STORY_H

#include <glib.h>

#include "base/vec.h"
#include "world/run.h"

typedef enum LaneState {
  LANE_IDLE, /* a server that is up; a client outside */
  LANE_ACQUIRING,
  LANE_INSIDE,
  LANE_STALE, /* inside although another one has entered since, and running: it still believes it holds the lock */
  LANE_PAUSED,
  LANE_DOWN,
} LaneState;

#define STORY_FREE (-1)  /* the variable holds nothing */
#define STORY_VALUE (-2) /* it holds a value that is no client's */

typedef struct StorySpan {
  int32_t from, to;
  int32_t value;    /* a LaneState; of a variable: the owning client lane, STORY_FREE or STORY_VALUE */
  const char *text; /* of a variable: the value as the run prints it */
} StorySpan;

/* The life of one thing on one lane: its state (name NULL) or one of its variables. */
typedef struct StoryTrack {
  int32_t lane;
  const char *name;
  bool is_lock;
  VEC(StorySpan) spans; /* in order, without gaps, from step 0 to the end */
} StoryTrack;

typedef struct StoryMessage {
  int32_t id, reply_to;
  int32_t from, to;      /* lanes */
  int32_t client;        /* whose errand it is: a client lane, or -1 */
  int32_t sent, arrived; /* steps; arrived -1: not in this run */
  bool is_reply, is_late, is_lost, is_dropped;
  int32_t ended; /* of a request: the step in which its caller heard the reply, timed out or was refused; else -1 */
  const char *outcome; /* "ok", "timeout", "refused"; NULL while there is none */
  const char *text;
} StoryMessage;

typedef struct Story {
  const Run *run;
  VEC(StoryTrack) tracks;     /* first the states of all lanes, in their order; then variables */
  VEC(StoryMessage) messages; /* in order of sending */
  GHashTable *message_by_id;
  int32_t *order;      /* lanes from top to bottom: servers, clients by first entry, resources */
  int32_t *hue_number; /* by lane: the number of a client among the clients, else -1 */
  StorySpan *overlaps; /* too many inside: value is the count */
  int32_t overlap_count;
  int32_t violation_step; /* -1: none */
  bool is_untimed;        /* no time passes in the whole run */
} Story;

Story *story_new(const Run *run);
void story_free(Story *story);

#define STORY_VARIABLES_PER_LANE 4

const StorySpan *story_span_at(const StoryTrack *track, int32_t step);
LaneState story_state(const Story *story, int32_t lane, int32_t step);
/* NULL if the run never sends it. */
const StoryMessage *story_message(const Story *story, int32_t id);
/* The client whose the value is: by the event's owner, or because the value is a client's name. */
int32_t story_owner(const Run *run, const RunEvent *event);
/* Whether a value reads as "nothing here". */
bool story_is_free(const char *value);
/* A client lane that is inside after `step`, other than `lane`, entered last; -1: none. `since` gets its entry. */
int32_t story_other_inside(const Story *story, int32_t lane, int32_t step, int32_t *since);
/* A lock or resource is drawn at the top or at the bottom: whether the lane belongs to the bottom. */
bool story_is_bottom(const RunLane *lane);

/* "node[0..2], node[4]" for a list of lanes in ascending order. Caller frees. */
char *story_lanes_text(const Run *run, const int32_t *lanes, int32_t count);
/* "9.7 s", "12 ms", "4 us": at most three digits after the point, rounded. Caller frees. */
char *story_duration_text(int64_t duration_ns);
/* Seconds for a picture: as exact as the run's length calls for (ms, us or ns), rounded. Caller frees. */
char *story_instant_text(const Story *story, int64_t time_ns);
/* "Mutual exclusion violated: …" in words for a title. Caller frees. */
char *story_title(const Run *run);
/* "redlock, scenario pause; servers 5, ttl 10s; faults: …". Caller frees. */
char *story_subtitle(const Run *run);
/* "Client A" for short names, else the name. Caller frees. */
char *story_lane_title(const RunLane *lane);

#endif
