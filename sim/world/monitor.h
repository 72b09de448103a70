/* What a property is to the world: something that sees events, keeps ghost cells in the state, and never influences
 * the run. Each property is one implementation of Monitor, in properties/.
 */
#ifndef LOCKSTEP_WORLD_MONITOR_H
#define LOCKSTEP_WORLD_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lang/program.h"
#include "world/state.h"

typedef struct World World;

typedef enum EventKind {
  /* These go to the monitors and to the log of a concrete run. */
  EVENT_ENTER,   /* client enters a critical section; attempt (already counted as entered), fence */
  EVENT_LEAVE,   /* client leaves it (or crashes inside) */
  EVENT_OBSERVE, /* server: the request of `client` reads the resource; attempt, fence of that request */
  EVENT_COMMIT,  /* … changes it */
  EVENT_LOCK,    /* lock variable `index` of server changes from before to after on behalf of attempt (0: of nobody) */
  EVENT_RESET,   /* server loses its memory */
  EVENT_MONITORED,
  /* The log alone sees these. */
  EVENT_BEGIN,
  EVENT_ATTEMPT,
  EVENT_SEND,   /* message: the record; process is the sender; number: the fault + 1 that makes it late or loses it */
  EVENT_ARRIVE, /* message: the record */
  EVENT_REFUSED,
  EVENT_TIMEOUT,
  EVENT_WAIT,
  EVENT_WAKE,     /* index: 0 the window, else until atom + 1 … */
  EVENT_VARIABLE, /* variable `index` of process changes from before to after */
  EVENT_FIRE,     /* timer `index` of server */
  EVENT_COMPARE,  /* stamp variable `index` against duration `number`; after: the outcome */
  EVENT_FRESH,    /* after: the new token, or the new ticket (before: the one it follows) */
  EVENT_REPLY,    /* server's handler replies `after` first */
  EVENT_PAUSE,    /* index: fault */
  EVENT_RESUME,
  EVENT_CRASH,
  EVENT_RESTART,
  EVENT_CLOCK_STEP,
  EVENT_END,
  EVENT_LOSS,    /* server notices that client is gone */
  EVENT_CUT,     /* client is cut off from server; index: fault */
  EVENT_JOIN,    /* the end of that */
  EVENT_TRIGGER, /* index: fault */
  EVENT_SYNC,    /* the durable copy of server catches up */
} EventKind;

typedef struct Event {
  EventKind kind;
  int32_t process; /* client c: c; server s: client_count + s */
  int32_t client;  /* whose request, or the client itself; -1: none */
  int32_t server;  /* -1: none */
  int32_t task;    /* of the client */
  int32_t index;   /* variable, slot of a timer, fault, critical, … */
  int32_t element; /* of a variable that is an array */
  int32_t pc;      /* of the instruction; -1: none */
  int64_t number;
  Cell attempt, fence;
  Value before, after;
  const Cell *message;
} Event;

typedef enum MonitorSign {
  SIGN_NOTHING = 0,
  SIGN_RAISED = 1, /* the event that the property is about has happened: a proof is not vacuous */
  SIGN_VIOLATED = 2,
  SIGN_OVERFLOW = 4, /* the ghost has no room: the path is given up, the scenario undecided */
} MonitorSign;

typedef struct Monitor {
  const char *name;                           /* as in `expect` */
  bool (*applicable)(const Program *program); /* whether the model can raise its events */
  bool compares_entries;                      /* its ghosts tell holdings apart by the order of entry */
  /* Adds its ghost fields with world_ghost; called once, while the layout is made. NULL: none. */
  void (*declare)(World *world, int32_t monitor);
  /* Updates the ghosts; returns MonitorSigns. NULL: looks at no event. */
  int (*event)(const World *world, int32_t monitor, State *state, const Event *event);
  /* After each step, before names are renumbered: forget what can no longer matter. NULL: nothing. */
  void (*settle)(const World *world, int32_t monitor, State *state);
  /* Whether a state violates it by itself. NULL: never. */
  bool (*violated_by)(const World *world, const State *state);
} Monitor;

#endif
