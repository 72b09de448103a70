/* The state of a world: one flat vector of cells whose layout knows the sort of every field.
 *
 * Unpacked, a state is an array of 32-bit cells: first the fixed part (fault budgets, a block for each client, a block
 * for each server), then one record for each message in flight. Packed, it is the bytes that the search stores.
 * Renaming, symmetry, printing and packing are loops over the two tables of Fields (fixed part, message record); a
 * field that the scenario cannot use has width 0 and costs nothing. In a cell that holds a name (client, server, token,
 * ticket, holding, age), 0 means none and names count from 1.
 *
 * Owns no memory but the Layout's tables. Who may change what is in world/step; what names mean in world/names.
 */
#ifndef LOCKSTEP_WORLD_STATE_H
#define LOCKSTEP_WORLD_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "lang/program.h"

typedef int32_t Cell;

typedef enum FieldSort {
  FIELD_PLAIN,
  FIELD_CLIENT,  /* client instance + 1 */
  FIELD_SERVER,  /* server instance + 1 */
  FIELD_TOKEN,   /* equality only */
  FIELD_TICKET,  /* order only; TICKET_BOTTOM is always there */
  FIELD_HOLDING, /* an attempt, see names.h */
  FIELD_AGE,     /* index of an age in the zone */
  FIELD_TAGGED,  /* the cell before says which Sort (program.h) it is: a stamp is an age */
  FIELD_SORT_COUNT
} FieldSort;

typedef struct Field {
  FieldSort sort;
  uint8_t width; /* bytes in the packed state: 0, 1, 2 or 4 (then signed) */
  int32_t base;  /* packed = cell - base */
} Field;

/* A value with its sort, as the VM's stack, arguments and replies have it. */
typedef struct Value {
  Cell sort; /* Sort */
  Cell number;
  Cell offset; /* of a stamp on a wall clock: how far that clock was off when it was taken, µs */
} Value;
#define VALUE_CELLS 3

/* Cells of a client's block: this header, a block for each task, its variables, what is cut off from it. */
enum {
  CLIENT_PHASE,  /* ClientPhase */
  CLIENT_FAULT,  /* fault + 1 of the pause, suspend or crash that it is under, 0: none */
  CLIENT_AGE,    /* since that began, or since time began (not begun) */
  CLIENT_ROUNDS, /* entries so far, counted under `rounds n` only */
  CLIENT_OFFSET, /* of its wall clock, where stamps travel */
  CLIENT_HEADER
};

typedef enum ClientPhase {
  PHASE_NOT_BEGUN,
  PHASE_RUNS,
  PHASE_ENDED,
  PHASE_CRASHED,
} ClientPhase;

enum {
  TASK_PHASE,     /* TaskPhase */
  TASK_PC,        /* where it rests */
  TASK_AGE,       /* since it came to rest (call, wait) */
  TASK_BEHIND_LO, /* how much the monotonic clock has stood still since: at least, */
  TASK_BEHIND_HI, /* and at most, µs; BEHIND_FOREVER: no upper bound */
  TASK_OVERDUE,   /* its wait or time-out is past its end: nothing else but instants before it goes on (OVERDUE_…) */
  TASK_FAULT,     /* fault + 1 of the pause of this task alone */
  TASK_PAUSE_AGE,
  TASK_INSIDE,        /* critical + 1, 0: outside */
  TASK_RESOURCE_SORT, /* of that section */
  TASK_RESOURCE,
  TASK_ATTEMPT, /* holding */
  TASK_FENCE,   /* ticket that the holding entered with */
  TASK_AWAITED, /* of an `ask all`: answers still to come, */
  TASK_COUNTED, /* and those that were wanted so far */
  TASK_CELLS
};

typedef enum TaskPhase {
  TASK_RESTS, /* at the ask, wait, yield or pause point TASK_PC */
  TASK_READY, /* one of several, has not run yet */
  TASK_ENDED,
} TaskPhase;

enum {
  OVERDUE_LATE = 1,
  OVERDUE_WOKEN
}; /* past its window; by its `until`, whatever becomes of that while it is paused */

#define BEHIND_FOREVER INT32_MAX

/* A stamp variable: the same measure of its clock as a task's rest has, and for a wall clock how far that was stepped.
 */
enum { STAMP_AGE, STAMP_SHIFT, STAMP_BEHIND_LO, STAMP_BEHIND_HI, STAMP_CELLS };

/* Whether a client is cut off from a server: one pair for each server, behind the variables of a client. */
enum {
  CUT_FAULT, /* fault + 1 */
  CUT_AGE,
  CUT_CELLS
};

/* Cells of a server's block, before its variables, its timers, and the durable copy of both. */
enum {
  SERVER_FAULT,     /* fault + 1 of the crash or pause that it is under, 0: up */
  SERVER_AGE,       /* since that began */
  SERVER_OFFSET,    /* of its wall clock, where stamps travel */
  SERVER_DIRTY,     /* something has been written that the durable copy does not hold, */
  SERVER_DIRTY_AGE, /* first so long ago */
  SERVER_HEADER
};

enum {
  TIMER_DURATION, /* index of its duration + 1, 0: off */
  TIMER_AGE,      /* since it was set */
  TIMER_SHIFT,    /* how much its wall clock was stepped since, µs */
  TIMER_OVERDUE,
  TIMER_CELLS
};

enum {
  MESSAGE_CLIENT,   /* whom it comes from or goes to; 0: between servers */
  MESSAGE_SERVER,   /* the server at the other end; between servers: whom it goes to */
  MESSAGE_PEER,     /* between servers: whom it comes from */
  MESSAGE_KIND,     /* MessageKind */
  MESSAGE_HANDLER,  /* handler of the server's service, or notice */
  MESSAGE_TASK,     /* of a call and its reply: who waits */
  MESSAGE_LATE,     /* fault + 1 when it travels alone: late, or a second copy; 0: prompt */
  MESSAGE_WAITING,  /* it has arrived and waits at a guard */
  MESSAGE_OVERDUE,  /* it is past its window: whom it goes to was paused, or it waited behind one that a cut held up */
  MESSAGE_CUT,      /* HeldUp */
  MESSAGE_AGE,      /* since it was sent, or the cut was over */
  MESSAGE_ATTEMPT,  /* of a request: on whose behalf (ghost) */
  MESSAGE_FENCE,    /* of a request: the ticket that this holding entered with (ghost) */
  MESSAGE_ID,       /* the concrete engine's own number: never packed, 0 in the search */
  MESSAGE_REPLY_TO, /* likewise */
  MESSAGE_VALUES,   /* triples as in Value: arguments, or values of the reply */
};

/* What a cut that is over has done to a message. */
typedef enum HeldUp {
  HELD_UP_NOT,
  HELD_UP,        /* it would have arrived during the cut: its window begins at 0, from the end of the cut on */
  HELD_UP_BEHIND, /* it was too young for that, but comes behind one that was held up: withheld until that is there */
} HeldUp;

typedef enum MessageKind {
  MESSAGE_ASK = 1,
  MESSAGE_TELL,   /* of a client or server to a server */
  MESSAGE_ORPHAN, /* an ask whose call was given up: where its guard does not hold it is withdrawn */
  MESSAGE_REPLY,
  MESSAGE_NOTICE, /* of a server to a client */
  MESSAGE_LOSS,   /* no message: the server is to notice that the client is gone */
} MessageKind;

static inline bool message_goes_to_client(const Cell *record) {
  return record[MESSAGE_KIND] == MESSAGE_REPLY || record[MESSAGE_KIND] == MESSAGE_NOTICE;
}

#define STATE_CELLS_MAX 6144
#define STATE_MESSAGES_MAX 64
#define MESSAGE_CELLS_MAX 128
#define THINGS_MAX 256 /* pending at once */
#define FAULT_ACTIONS_MAX 256
#define STATE_AGES_MAX 60
#define TICKET_GAP_MAX 3    /* see names.h */
#define STATE_NAMES_MAX 200 /* tokens, tickets, holdings of one state, each */

typedef struct State {
  int32_t message_count;
  int32_t age_count; /* ages are 1 .. age_count */
  Cell cells[STATE_CELLS_MAX];
} State;

/* An array in the fixed part whose index is a client or server: elements change places when those do. */
typedef struct LayoutArray {
  int32_t cell, element_cells;
  bool over_clients;
  int32_t first, count; /* instances */
  int32_t process;      /* in whose block it is; NO_INDEX: in none */
} LayoutArray;

/* Elements in the fixed part whose order means nothing: names_renumber sorts them. Every name in them is somewhere
 * else, too. */
typedef struct LayoutBag {
  int32_t cell, element_cells, count;
} LayoutBag;

typedef struct Layout {
  VEC(Field) fixed;
  VEC(Field) message;
  int32_t budget_cell;                       /* first of fault_count budgets */
  int32_t client_cell[PROGRAM_CLIENTS_MAX];  /* where the blocks begin */
  int32_t client_cells[PROGRAM_CLIENTS_MAX]; /* and how long they are */
  int32_t client_cut[PROGRAM_CLIENTS_MAX];   /* offset of the cuts in the block; NO_INDEX: it can't be cut off */
  int32_t server_cell[PROGRAM_SERVERS_MAX];
  int32_t server_cells[PROGRAM_SERVERS_MAX];
  int32_t server_copy[PROGRAM_SERVERS_MAX];      /* offset of the durable copy in the block; NO_INDEX: none */
  int32_t *client_variable[PROGRAM_CLIENTS_MAX]; /* per kind and variable: offset in the block */
  int32_t *server_variable[PROGRAM_SERVERS_MAX]; /* per service and variable */
  int32_t *server_timer[PROGRAM_SERVERS_MAX];    /* per service and timer */
  int32_t *ghost_variable;                       /* per ghost: cell */
  int32_t obtainable_cell;                       /* ages of Program.obtainables: since nobody has obtained */
  int32_t value_count;                           /* values in a message */
  VEC(uint16_t) fixed_names;                     /* the fields that may hold a name, of the fixed part */
  VEC(uint16_t) ordered_names;                   /* those of them that are in no bag */
  VEC(uint16_t) message_names;                   /* and of a message record */
  VEC(LayoutArray) arrays;
  uint16_t *cell_array; /* per fixed field: the array that it is in (of two the inner one) + 1 */
  uint16_t *cell_home;  /* and its place in the first element of it, or its own */
  VEC(LayoutBag) bags;
} Layout;

/* Appends a field to the fixed part and returns its cell. `most` is the largest value - base that it may hold. */
int32_t layout_add(Layout *layout, FieldSort sort, int32_t base, int64_t most);
void layout_free(Layout *layout, const Program *program);

static inline Cell *state_client(const Layout *layout, State *state, int32_t client) {
  return state->cells + layout->client_cell[client];
}
static inline Cell *state_server(const Layout *layout, State *state, int32_t server) {
  return state->cells + layout->server_cell[server];
}
static inline Cell *state_task(const Layout *layout, State *state, int32_t client, int32_t task) {
  return state_client(layout, state, client) + CLIENT_HEADER + task * TASK_CELLS;
}
static inline Cell *state_message(const Layout *layout, State *state, int32_t message) {
  return state->cells + layout->fixed.count + (uint32_t)message * layout->message.count;
}
static inline int32_t state_cells(const Layout *layout, const State *state) {
  return (int32_t)(layout->fixed.count + (uint32_t)state->message_count * layout->message.count);
}
void state_copy(const Layout *layout, State *to, const State *from);
void state_remove_message(const Layout *layout, State *state, int32_t message);

/* The field sort of a value of this Sort. */
FieldSort field_sort_of(Cell sort);
/* What `cells[i]` really holds: resolves FIELD_TAGGED through the cell before it. */
static inline FieldSort field_sort_at(const Field *fields, const Cell *cells, uint32_t i) {
  return fields[i].sort == FIELD_TAGGED ? field_sort_of(cells[i - 1]) : fields[i].sort;
}

/* Packs into `bytes` (at least layout_packed_max) and returns how many; the first two are the counts of messages and
 * ages. */
uint32_t state_pack(const Layout *layout, const State *state, uint8_t *bytes);
void state_unpack(const Layout *layout, const uint8_t *bytes, State *state);
uint32_t layout_packed_max(const Layout *layout);
static inline int32_t packed_age_count(const uint8_t *bytes) {
  return bytes[1];
}

#endif
