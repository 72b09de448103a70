/* A run as data: what happened, step by step, with exact times. The concrete engine writes it; reports, pictures and
 * files read it. It owns its strings and needs neither the program nor the search to be understood.
 *
 * A step is one transition at one instant. Its events are what a reader cares about, in the order in which they
 * happened. All of it is allocated with GLib. Times are nanoseconds from the beginning of the run (true time). Lanes
 * are processes: clients first, then servers, in the order of the program's numbering.
 */
#ifndef LOCKSTEP_WORLD_RUN_H
#define LOCKSTEP_WORLD_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "world/system.h"

typedef enum RunEventKind {
  RUN_BEGIN,   /* client lane begins */
  RUN_ATTEMPT, /* client lane begins attempt `number` (1, 2, … per run) */
  RUN_SEND,   /* lane sends message `message` to `peer`: text "set_nx(a1, 10s)"; flag_late / flag_lost; name "copy" of a
                 second one. A reply is a send of a server. */
  RUN_ARRIVE, /* message `message` from `peer` arrives at lane; text as sent; flag_late: after its window */
  RUN_DROP,   /* message arrives, but nobody waits for it any more (a reply after its time-out) */
  RUN_REFUSED,  /* lane (client) is refused by `peer`, which is down */
  RUN_TIMEOUT,  /* lane's call to `peer` times out; text is the call */
  RUN_WAIT,     /* lane begins a wait; text "0s..5s" */
  RUN_WAKE,     /* its wait ends; text "" or the `until` that ended it */
  RUN_VARIABLE, /* `name` of lane changes from `before` to `text`; `owner` is the client lane whose token / ticket the
                   new value is, or -1 */
  RUN_FIRE,     /* timer `name` of server lane fires */
  RUN_ENTER,    /* client lane enters its critical section; attempt in `number`, fencing token in text if any */
  RUN_LEAVE,
  RUN_OBSERVE, /* server lane: `peer` (client) has read the resource; attempt in `number` */
  RUN_COMMIT,  /* server lane: `peer` (client) has changed the resource; attempt in `number` */
  RUN_REJECT,  /* server lane answers `peer` with `stale` */
  RUN_PAUSE,   /* fault: lane pauses; text names where ("before ask store.write()"); name: "pause", or "suspend" */
  RUN_RESUME,  /* it goes on; `duration_ns` is how long it was */
  RUN_CRASH,   /* fault: lane crashes; text "losing its memory", … or "" */
  RUN_RESTART,
  RUN_CLOCK_STEP, /* fault: wall clock of lane steps by `duration_ns` */
  RUN_END,        /* client lane is at its end */
  RUN_COMPARE,    /* lane compares a stamp: text "age(since) < 9.898s: yes" */
  RUN_LOSS,       /* server lane notices that `peer`, a client, is gone */
  RUN_CUT,        /* fault: client lane and server `peer` are cut off from each other */
  RUN_JOIN,       /* the end of that */
  RUN_TRIGGER,    /* fault: the adversary calls a handler of server lane; text "promote()" */
  RUN_VIOLATION, /* `name` is the property; lane is who completes it; `peer` the other party or -1; text one sentence */
  RUN_EVENT_KIND_COUNT
} RunEventKind;

typedef struct RunEvent {
  RunEventKind kind;
  int32_t lane, peer; /* -1: none */
  int32_t message;    /* id of a message, from 1; 0: none. A request and its reply have different ids. */
  int32_t reply_to;   /* of a reply: the id of its request */
  int32_t number;
  int32_t owner;       /* RUN_VARIABLE */
  int64_t duration_ns; /* RUN_RESUME, RUN_CLOCK_STEP */
  bool flag_late, flag_lost;
  bool is_lock;               /* RUN_VARIABLE of a lock variable */
  char *name, *before, *text; /* never NULL */
} RunEvent;

typedef struct RunStep {
  int64_t time_ns;
  Action action;  /* the decision, as the engines take it */
  int32_t faults; /* spent in this step */
  RunEvent *events;
  int32_t event_count;
} RunStep;

typedef struct RunLane {
  char *name;       /* "A", "B" for clients ("client[0]" in the model); "node[0]", "store" for servers */
  char *model_name; /* as the model names it */
  bool is_client;
  bool is_resource; /* a server that observes or commits */
  bool has_lock;    /* a server with a lock variable */
  int32_t group;    /* lanes of one array share a number */
  int32_t rate;     /* ClockRate of a process that drifts; 0: exact */
} RunLane;

typedef struct RunParameter {
  char *name, *value;
} RunParameter;

typedef struct Run {
  char *model, *model_text, *scenario, *scenario_text;
  RunParameter *parameters;
  int32_t parameter_count; /* as text: "ttl" "10s" */
  RunLane *lanes;
  int32_t lane_count;
  RunStep *steps;
  int32_t step_count;
  int32_t suspends;        /* SuspendLength of this run */
  bool is_unordered;       /* messages of one connection may overtake each other */
  int64_t end_ns;          /* when the last state is looked at, if that is later than the last step; else 0 */
  char *property;          /* the property that it violates; "" for none */
  char *property_sentence; /* "A and B are inside at the same time since 10.05 s" */
  int32_t faults;          /* spent in all */
  char *faults_text;       /* "1 pause of A (9.7 s)" */
  char **why;
  int32_t why_count; /* the reasons, a sentence each; empty when not computed */
} Run;

void run_free(Run *run);
/* What the adversary spent, in words: "a pause of A for 9.7 s, a late message from B to store". Caller frees. */
char *run_faults_text(const Run *run);
/* Seconds with as many digits as needed, at least three: "10.206", "4.739000001". Caller frees. */
char *run_time_text(int64_t time_ns);

#endif
