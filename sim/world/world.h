/* A world: a program with the layout of its states, its monitors, and what can be known before it runs.
 *
 * Built once per scenario; constant afterwards but for `seen`, which gathers what a search has come across
 * (instructions executed, events raised, problems), and belongs to the verdict and to no state.
 */
#ifndef LOCKSTEP_WORLD_WORLD_H
#define LOCKSTEP_WORLD_WORLD_H

#include "world/monitor.h"
#include "world/state.h"

#define WORLD_MONITORS_MAX 8
#define WORLD_PROBLEMS_MAX 32

/* Something that ends a path of the search, at a place in the model. */
typedef enum ProblemKind {
  PROBLEM_NONE,
  PROBLEM_RANGE,     /* a value outside the range of its variable */
  PROBLEM_SLOTS,     /* more messages in flight than there are slots */
  PROBLEM_NAMES,     /* more tokens, tickets, attempts or ages than a state may hold */
  PROBLEM_ENDLESS,   /* a step of too many instructions, or with too many choices */
  PROBLEM_VALUE,     /* an operation on a value of the wrong sort (a reply that is no ticket, say), or a division by zero */
} ProblemKind;

typedef struct Problem {
  ProblemKind kind;
  int32_t pc;        /* the instruction; -1: none */
} Problem;

typedef struct Seen {
  uint8_t *covered;                        /* per pc */
  uint64_t raised;                         /* bit per monitor */
  Problem problems[WORLD_PROBLEMS_MAX];    /* each once */
  int32_t problem_count;
} Seen;

struct World {
  const Program *program;
  Layout layout;
  const Monitor *monitors[WORLD_MONITORS_MAX];
  int32_t monitor_count;
  int32_t ghost_cell[WORLD_MONITORS_MAX][PROGRAM_SERVERS_MAX]; /* first ghost cell of a monitor for a server */
  bool too_large;                          /* for the cells of a State or for THINGS_MAX: not to be run */
  bool has_fences;                         /* some critical enters with a ticket */
  bool all_fences;                         /* every critical does */
  uint8_t *attempt_live;                   /* per pc: the attempt's name may still be used from before that instruction on */
  int64_t *stamp_bound_us[PROGRAM_CLIENTS_MAX]; /* per kind and variable: largest bound that the stamp, or a copy of it, is compared with; -1 */
  uint64_t never_reads[PROGRAM_CLIENTS_MAX]; /* per client: the variables that some `never` reads, bit set */
  uint8_t *harmless[PROGRAM_SERVERS_MAX];  /* per service and handler, see dead.h */
  uint8_t *touches_resource[PROGRAM_SERVERS_MAX]; /* per service and handler: it may observe or commit */
  bool tokens_stay;                        /* no server puts a token into a reply or message */
  bool one_token_each;                     /* none has two variables for tokens to compare, and no `never` reads them */
  VEC(int32_t) entry_ghosts;               /* ghost cells whose holdings are compared by their entry */
  Seen *seen;
};

/* `monitors` are constant tables of properties/; a property's bit is its index, the nevers' bits follow. */
World *world_new(const Program *program, const Monitor *const *monitors, int32_t monitor_count);
void world_free(World *world);

/* Bit of a never in the sets of violated properties. */
static inline uint64_t world_never_bit(const World *world, int32_t never) {
  return UINT64_C(1) << (world->monitor_count + never);
}
/* For Monitor.declare: a ghost field; its cell is ghost_cell[monitor][server] if it is the first one for that server. */
int32_t world_ghost(World *world, int32_t monitor, int32_t server, FieldSort sort, int64_t most);

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
static inline Cell *world_timer(const World *world, State *state, int32_t server, int32_t timer) {
  return state_server(&world->layout, state, server) +
         world->layout.server_timer[world_service_index(world, server)][timer];
}
/* Budget left of a fault: COUNT_INFINITE when it has no end. */
int32_t world_budget(const World *world, const State *state, int32_t fault);

/* Reads a variable's cells as a value (none is (SORT_NONE, 0)), and the other way round; not for stamps. */
Value world_read(const Type *type, const Cell *cells);
/* False when the value is outside the variable's range or of another sort. */
bool world_write(const Type *type, Cell *cells, Value value);
/* How many cells a variable of the type has. */
int32_t world_type_cells(const Type *type);

/* Whether an attempt's name still means something: a client carries it, or a message that is still to arrive. */
bool world_attempt_lives(const World *world, const State *state, Cell attempt);
/* Whether it may still read or write a resource: a client carries it, or a request to one. */
bool world_attempt_may_write(const World *world, const State *state, Cell attempt);
/* Marks the instructions that may run from `entry` on; `reachable` has code_count entries. */
void world_mark_reachable(const Program *program, int32_t entry, uint8_t *reachable);

#endif
