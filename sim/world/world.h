/* A world: a program with the layout of its states, its monitors, and what can be known before it runs.
 *
 * Built once per scenario; constant afterwards but for `seen`, which gathers what a search has come across
 * (instructions executed, events raised, problems), and belongs to the verdict and to no state.
 */
#ifndef LOCKSTEP_WORLD_WORLD_H
#define LOCKSTEP_WORLD_WORLD_H

#include "base/check.h"
#include "world/monitor.h"
#include "world/state.h"

#define WORLD_MONITORS_MAX 8
#define WORLD_PROBLEMS_MAX 32
#define WORLD_PROPERTIES_MAX 64
#define WORLD_PROCESSES_MAX (PROGRAM_CLIENTS_MAX + PROGRAM_SERVERS_MAX)

/* Which of the clocks that a scenario allows its processes have. ANY widens each bound to all of them: an
 * over-approximation, which may prove. The others are exact models, and may convict (semantics.md, section 8). */
typedef enum ClockRate { RATE_ANY, RATE_SLOW, RATE_EXACT, RATE_FAST } ClockRate;
typedef enum SuspendLength { SUSPEND_ANY, SUSPEND_SHORTEST, SUSPEND_LONGEST } SuspendLength;
typedef struct Clocks {
  ClockRate rate[WORLD_PROCESSES_MAX]; /* of processes that drift: 1 - e, 1, 1 + e */
  SuspendLength suspends;
} Clocks;

/* When a clock has shown a duration: in true time, at the earliest and at the latest. */
typedef struct Reading {
  int64_t lo_us, hi_us;
} Reading;

/* Something that ends a path of the search, at a place in the model. */
typedef enum ProblemKind {
  PROBLEM_NONE,
  PROBLEM_RANGE,   /* a value outside the range of its variable */
  PROBLEM_SLOTS,   /* more messages in flight than there are slots */
  PROBLEM_NAMES,   /* more tokens, tickets, attempts or ages than a state may hold */
  PROBLEM_ENDLESS, /* a step of too many instructions, or with too many choices */
  PROBLEM_VALUE, /* an operation on a value of the wrong sort (a reply that is no ticket, say), or a division by zero */
} ProblemKind;

typedef struct Problem {
  ProblemKind kind;
  int32_t pc; /* the instruction; -1: none */
} Problem;

typedef struct Seen {
  uint8_t *covered;                     /* per pc */
  uint64_t raised;                      /* bit per monitor */
  Problem problems[WORLD_PROBLEMS_MAX]; /* each once */
  int32_t problem_count;
} Seen;

struct World {
  const Program *program;
  Clocks clocks;
  int32_t drift_ppm[WORLD_PROCESSES_MAX];
  Layout layout;
  const Monitor *monitors[WORLD_MONITORS_MAX];
  int32_t monitor_count;
  int32_t ghost_cell[WORLD_MONITORS_MAX][PROGRAM_SERVERS_MAX]; /* first ghost cell of a monitor for a server */
  bool too_large;                 /* for the cells of a State or for THINGS_MAX: not to be run */
  int32_t integer_lo, integer_hi; /* what a message, a reply variable and a resource have room for */
  bool has_fences;                /* some critical enters with a ticket */
  bool all_fences;                /* every critical does */
  uint8_t *attempt_live;          /* per pc: the attempt's name may still be used from before that instruction on */
  /* Largest bound that a stamp, or a copy of it, is compared with; -1: none. Where stamps travel, one for all. */
  int64_t *stamp_bound_us[PROGRAM_CLIENTS_MAX];        /* per kind and variable */
  int64_t *server_stamp_bound_us[PROGRAM_SERVERS_MAX]; /* per service and variable */
  int64_t all_stamps_bound_us;                         /* of stamps in messages and ghosts; -1 */
  bool stamps_travel;                                  /* as values: in messages, say */
  bool servers_talk;                                   /* to each other */
  int32_t ticket_gap;                                  /* distances between tickets are kept up to here, see names.h */
  bool is_unordered;                                   /* messages of one connection may overtake each other */
  bool has_symmetric_servers;                          /* some servers may be exchanged */
  uint64_t never_reads[PROGRAM_CLIENTS_MAX];           /* per client: the variables that some `never` reads, bit set */
  uint8_t *harmless[PROGRAM_SERVERS_MAX];              /* per service and handler, see dead.h */
  uint8_t *touches_resource[PROGRAM_SERVERS_MAX];      /* per service and handler: it may observe or commit */
  bool tokens_stay;                                    /* no server puts a token into a reply or message */
  bool one_token_each;       /* none has two variables for tokens to compare, and no `never` reads them */
  VEC(int32_t) entry_ghosts; /* ghost cells whose holdings are compared by their entry */
  char *property_names[WORLD_PROPERTIES_MAX]; /* by bit; of what is obtainable "obtainable within 30s" */
  Seen *seen;
};

/* `monitors` are constant tables of properties/; a property's bit is its index, the nevers' bits follow. */
World *world_new(const Program *program, const Monitor *const *monitors, int32_t monitor_count);
/* The same with given clocks; world_new lets them be any that the scenario allows. */
World *world_new_with(const Program *program, const Monitor *const *monitors, int32_t monitor_count,
                      const Clocks *clocks);
/* "10s", "250ms", "inf": in the largest unit that is whole; caller frees. */
char *world_duration_text(int64_t us);
/* Faults that are there all the time: clocks that are not exact, an unordered network. */
int32_t world_standing_faults(const World *world);
/* Whether the scenario leaves open how fast clocks run or how long they stand still. */
bool world_has_loose_clocks(const Program *program);
void world_free(World *world);

/* Bits in the sets of violated properties: the monitors, then the nevers, the assertions, what is obtainable. */
static inline uint64_t world_never_bit(const World *world, int32_t never) {
  return UINT64_C(1) << (world->monitor_count + never);
}
static inline uint64_t world_assertion_bit(const World *world, int32_t assertion) {
  return world_never_bit(world, world->program->never_count + assertion);
}
static inline uint64_t world_obtainable_bit(const World *world, int32_t obtainable) {
  return world_assertion_bit(world, world->program->assertion_count + obtainable);
}
static inline int32_t world_property_count(const World *world) {
  return world->monitor_count + world->program->never_count + world->program->assertion_count +
         world->program->obtainable_count;
}
/* When a clock of the process has shown `us` that stood still for behind_lo to behind_hi meanwhile. */
Reading world_reading(const World *world, int32_t process, int64_t us, Cell behind_lo, Cell behind_hi);
/* How long a suspend may last, at least and at most, with the clocks as they are. */
Window world_suspend_window(const World *world, int32_t fault);
/* For Monitor.declare: a ghost field; its cell is ghost_cell[monitor][server] if it is the first one for that server.
 */
int32_t world_ghost(World *world, int32_t monitor, int32_t server, FieldSort sort, int64_t most);

/* For Monitor.declare: ghosts from `cell` on, one for each element of an array, change places as its elements do. */
void world_ghost_array(World *world, int32_t cell, const Extent *extent);
/* For Monitor.declare: `count` elements of ghost cells from `cell` on have no order. */
void world_ghost_bag(World *world, int32_t cell, int32_t element_cells, int32_t count);

/* The state in which nothing has happened yet. */
void world_initial(const World *world, State *state);
/* The variables of a client or server get their initial values. */
void world_reset_client(const World *world, State *state, int32_t client);
void world_reset_server(const World *world, State *state, int32_t server);

static inline const ClientKind *world_kind(const World *world, int32_t client) {
  return &world->program->kinds[world->program->client_kind[client]];
}
static inline const Service *world_service(const World *world, int32_t server) {
  return &world->program->services[world->program->groups[world->program->server_group[server]].service];
}
static inline int32_t world_service_index(const World *world, int32_t server) {
  return world->program->groups[world->program->server_group[server]].service;
}
static inline Cell *world_client_variable(const World *world, State *state, int32_t client, int32_t variable) {
  return state_client(&world->layout, state, client) +
         world->layout.client_variable[world->program->client_kind[client]][variable];
}
static inline Cell *world_server_variable(const World *world, State *state, int32_t server, int32_t variable) {
  return state_server(&world->layout, state, server) +
         world->layout.server_variable[world_service_index(world, server)][variable];
}
/* Timers are known by their slot: an array has one for each element, in the order of declaration. */
static inline Cell *world_timer(const World *world, State *state, int32_t server, int32_t slot) {
  return state_server(&world->layout, state, server) +
         world->layout.server_timer[world_service_index(world, server)][0] + slot * TIMER_CELLS;
}
int32_t world_timer_slots(const Service *service);
/* The declaration of a slot, and its place in the array. */
const Timer *world_timer_of(const Service *service, int32_t slot, int32_t *element);
/* The slot of a timer's first element. */
int32_t world_timer_slot(const Service *service, int32_t timer);
/* Where a ghost's cells are. */
static inline Cell *world_ghost_variable(const World *world, State *state, int32_t ghost) {
  return state->cells + world->layout.ghost_variable[ghost];
}
/* The pair of cells that tells whether a client is cut off from a server; only where it can be. */
static inline bool world_has_cuts(const World *world, int32_t client) {
  return world->layout.client_cut[client] != NO_INDEX;
}
static inline Cell *world_cut(const World *world, State *state, int32_t client, int32_t server) {
  DCHECK(world_has_cuts(world, client));
  return state_client(&world->layout, state, client) + world->layout.client_cut[client] + server * CUT_CELLS;
}
static inline bool world_is_cut(const World *world, const State *state, int32_t client, int32_t server) {
  return world_has_cuts(world, client) && world_cut(world, (State *)state, client, server)[CUT_FAULT];
}
/* The task whose attempt the messages of a task are charged to. */
int32_t world_attempt_task(const ClientKind *kind, int32_t task);
bool world_is_inside(const World *world, const State *state, int32_t client);
/* The durable copy of a server's variables and timers, where there is one: is made, is put back, holds all there is. */
void world_save_copy(const World *world, State *state, int32_t server);
void world_restore_copy(const World *world, State *state, int32_t server);
/* The timers in it, in the order of slots; NULL: there is no copy. */
Cell *world_copied_timers(const World *world, State *state, int32_t server);
bool world_copy_holds(const World *world, const State *state, int32_t server);
/* Budget left of a fault: COUNT_INFINITE when it has no end. */
int32_t world_budget(const World *world, const State *state, int32_t fault);

/* Reads a variable's cells as a value (none is (SORT_NONE, 0)), and the other way round; not for stamps. */
Value world_read(const Type *type, const Cell *cells);
/* False when the value is outside the variable's range or of another sort. */
bool world_write(const Type *type, Cell *cells, Value value);
/* Whether a message, a variable for replies, a resource has room for the value. */
static inline bool world_has_room(const World *world, Value value) {
  return value.number >= world->integer_lo && value.number <= world->integer_hi;
}
/* How many cells a variable of the type has; of an array: each element. */
int32_t world_type_cells(const Type *type);
int32_t world_variable_cells(const Variable *variable);

/* Whether an attempt's name still means something: a client carries it, or a message that is still to arrive. */
bool world_attempt_lives(const World *world, const State *state, Cell attempt);
/* Whether it may still read or write a resource: a client carries it, or a request to one. */
bool world_attempt_may_write(const World *world, const State *state, Cell attempt);
/* Marks the instructions that may run from `entry` on; `reachable` has code_count entries. */
void world_mark_reachable(const Program *program, int32_t entry, uint8_t *reachable);

#endif
