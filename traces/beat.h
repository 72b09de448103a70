/* The beats of a story: consecutive steps that a reader takes in as one ("A asks node[0..4] for the lock"), in words.
 *
 * Every step of the run belongs to exactly one beat, and beats are in order, so their ranges can be printed as honest
 * step numbers. Folded beats are for reports and pictures; unfolded ones (one a step) for `--trace full`. The picture
 * takes the few beats that weigh most. Beats own their strings and borrow the story.
 */
#ifndef LOCKSTEP_TRACES_BEAT_H
#define LOCKSTEP_TRACES_BEAT_H

#include "traces/story.h"

typedef enum BeatKind {
  BEAT_ROUND, /* a client's messages, their handling and their replies */
  BEAT_FIRE,  /* timers of one name, one after the other */
  BEAT_ENTER,
  BEAT_LEAVE,
  BEAT_OBSERVE,
  BEAT_COMMIT,
  BEAT_REJECT,
  BEAT_PAUSE,
  BEAT_RESUME,
  BEAT_CRASH,
  BEAT_RESTART,
  BEAT_CLOCK,
  BEAT_CUT,
  BEAT_JOIN,
  BEAT_TRIGGER,
  BEAT_LOSS,
  BEAT_LATE, /* a late message arrives */
  BEAT_WAKE,
  BEAT_END,
  BEAT_AGAIN, /* what has just been told, several times more (rounds.h) */
  BEAT_OTHER, /* a violation that no event of its own completes */
} BeatKind;

typedef struct Beat {
  BeatKind kind;
  int32_t first, last; /* steps */
  int32_t mark;        /* the step whose time stands for the beat */
  int32_t lane;        /* where its badge goes; -1: nowhere */
  int32_t client;      /* whose colour it has: a client lane or -1 */
  int32_t weight;      /* for the choice of what a picture tells */
  bool is_violation, takes_lock, has_lost;
  char *who, *what; /* of a report: "A", "asks node[0..4] for the lock (set_nx): 5 of 5 ok" */
  char *sentence;   /* of a picture: one sentence without a stop */
  char *changed;    /* "node[0..4]: free -> A" */
} Beat;

typedef struct Beats {
  VEC(Beat) list;
} Beats;

Beats *beats_new(const Story *story, bool folded);
void beats_free(Beats *beats);
void beat_clear(Beat *beat);

/* The indices of at most `limit` beats that tell the story, in order; the violation is always among them. Caller frees.
 */
int32_t *beats_chosen(const Beats *beats, int32_t limit, int32_t *count);

#endif
