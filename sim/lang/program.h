/* The compiled program of one model in one scenario with one set of parameters: what the world runs.
 *
 * Everything is constant, indexed and flat; nothing points back into the syntax tree. Processes are numbered: client
 * instances 0 .. client_count - 1, then server instances; "server s" below is 0 .. server_count - 1. All durations are
 * microseconds; DURATION_INFINITE is `inf`. A Program owns its memory and its Sources; program_free gives all back.
 */
#ifndef LOCKSTEP_LANG_PROGRAM_H
#define LOCKSTEP_LANG_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lang/source.h"

#define DURATION_INFINITE INT64_MAX
#define COUNT_INFINITE INT32_MAX
#define NO_INDEX (-1)

#define PROGRAM_CLIENTS_MAX 16
#define PROGRAM_SERVERS_MAX 32
#define PROGRAM_ARGS_MAX 6

/* What a value is. A value travels as (sort, number); a variable of sort REPLY holds any of them with its sort. */
typedef enum Sort {
  SORT_NONE = 0, /* the value `none`; as the type of a variable: nothing */
  SORT_INT,
  SORT_BOOL,
  SORT_WORD,     /* ok, nil, timeout, refused, stale, …: index into Program.words */
  SORT_DURATION, /* index into Program.durations_us */
  SORT_CLIENT,   /* client instance */
  SORT_SERVER,   /* server instance */
  SORT_TOKEN,    /* a `fresh` value: 1, 2, …; only equality means anything */
  SORT_TICKET,   /* only the order means anything; TICKET_BOTTOM is the literal 0 */
  SORT_STAMP,    /* an instant; never on the stack */
  SORT_REPLY,    /* only as the type of a variable: a value with its sort */
  SORT_COUNT
} Sort;

#define TICKET_BOTTOM 1

typedef enum Opcode {
#define OPCODE(name, listing, operand) OP_##name,
#include "lang/opcodes.def"
  OP_COUNT
} Opcode;

typedef struct Instr {
  uint8_t op;     /* Opcode */
  uint8_t count;  /* arguments of a call */
  int16_t index;
  int32_t operand;
  Span span;      /* what the user wrote */
} Instr;

typedef struct Type {
  Sort sort;
  int32_t lo, hi;    /* SORT_INT: the closed range; SORT_BOOL 0..1 */
  bool optional;     /* `?`: may be none */
  bool on_wall;      /* SORT_STAMP: read on the wall clock */
} Type;

typedef struct Variable {
  char *name;        /* as written; hidden ones (loop counters) begin with '.' */
  Type type;
  Sort initial_sort; /* SORT_NONE for `none` and for stamps never taken */
  int32_t initial;   /* value of that sort */
  bool is_lock;      /* owner_release watches it */
  Span span;
} Variable;

typedef struct Timer {
  char *name;
  bool on_wall;
  int32_t entry;     /* pc of `after`; NO_INDEX: nothing happens when it fires */
  Span span;
  int32_t local_count; /* of its `after` */
} Timer;

typedef struct Handler {
  char *name;
  int32_t param_count;
  char *param_names[PROGRAM_ARGS_MAX];
  Sort param_sorts[PROGRAM_ARGS_MAX]; /* inferred from the calls; SORT_REPLY where the calls differ */
  int32_t local_count;
  int32_t reply_count;                /* most values that one of its replies has; at least 1 */
  int32_t entry;                      /* pc; NO_INDEX when the model never calls it */
  Span span;
} Handler;

typedef struct Service {
  char *name, *text;
  Variable *variables; int32_t variable_count;
  Timer *timers;       int32_t timer_count;
  Handler *handlers;   int32_t handler_count;
  bool observes, commits; /* has such an instruction in a handler that the model calls */
} Service;

typedef struct ServerGroup {
  char *name;
  bool is_array;           /* node[5], against one `store` */
  int32_t service;
  int32_t first, count;    /* server instances */
} ServerGroup;

typedef struct ClientKind {
  char *name;
  int32_t first, count;    /* client instances */
  Variable *variables; int32_t variable_count; /* `let`s and loop counters included; at most 64 */
  int32_t entry;           /* pc; one task per client so far */
  int32_t code_end;        /* behind the last pc of its code, `until` blocks included */
  bool enters;             /* its program has a `critical` */
  /* For each pc of its code: the variables whose value may still be read when the task rests before that
   * instruction (bit = variable index), variables read by a `never` always included. Indexed by pc. Code of other
   * kinds: 0. For a rest at an `ask` or `wait`, look at live_after[pc]: what is read once it goes on. For an `until`
   * wait, the variables its condition reads are in both. */
  uint64_t *live_before, *live_after;
} ClientKind;

/* The `until` of a wait: age-free expression or any of the ages at least so old. */
typedef struct UntilAge {
  int16_t variable;        /* stamp variable of the client */
  int32_t duration;        /* index: age(variable) >= durations_us[duration] */
} UntilAge;
typedef struct Wait {
  int64_t lo_us, hi_us;    /* hi may be DURATION_INFINITE */
  int32_t until_entry;     /* pc of an expression block without ages that ends in RETURN; NO_INDEX: none */
  UntilAge *ages; int32_t age_count;
  Span span;
} Wait;

typedef struct Critical {
  bool has_fence;
  Span span;
} Critical;

typedef struct Never {
  char *text;
  int32_t entry;           /* expression block */
  Span span;
} Never;

typedef enum FaultKind {
  FAULT_LATE, FAULT_LOST, FAULT_PAUSE, FAULT_STEP, FAULT_CRASH_CLIENT, FAULT_CRASH_SERVER, FAULT_KIND_COUNT
} FaultKind;

typedef struct Fault {
  FaultKind kind;
  int32_t count;           /* COUNT_INFINITE for inf */
  uint32_t clients;        /* bit set of the client instances that it may strike (pause, step, crash) */
  uint32_t servers;        /* … server instances (step, crash; late and lost: the connections to these, both directions) */
  int64_t lo_us, hi_us;    /* pause: its length; crash: the way back (hi inf and lo inf: never comes back); late: bound beyond the window, hi inf by default */
  int64_t by_us;           /* step: may be negative */
  Span span;
} Fault;

typedef struct Expectation {
  char *property;          /* "mutual_exclusion", …, "all", or the text of a never */
  bool is_never;
  bool holds;
  int64_t within_us;       /* obtainable */
  Span span;
} Expectation;

typedef struct Window { int64_t lo_us, hi_us; } Window;

typedef struct Parameter { char *name; bool is_duration; int64_t value; } Parameter; /* µs for durations */

typedef struct Program {
  Sources *sources;
  char *model, *model_text;        /* name and text of the `model` line */
  char *scenario, *scenario_text;
  Instr *code;            int32_t code_count;
  char **words;           int32_t word_count;
  int64_t *durations_us;  int32_t duration_count;
  Wait *waits;            int32_t wait_count;
  Critical *criticals;    int32_t critical_count;
  Never *nevers;          int32_t never_count;
  Service *services;      int32_t service_count;
  ServerGroup *groups;    int32_t group_count;
  ClientKind *kinds;      int32_t kind_count;
  int32_t client_count, server_count;
  int32_t server_group[PROGRAM_SERVERS_MAX]; /* of each server instance */
  int32_t client_kind[PROGRAM_CLIENTS_MAX];
  Parameter *parameters;  int32_t parameter_count;
  int32_t word_ok, word_timeout, word_refused;
  /* The scenario */
  Window latency[PROGRAM_SERVERS_MAX];       /* per server instance, both directions */
  Window client_starts;                      /* 0 .. inf unless said */
  bool client_starts_given;
  int32_t rounds;                            /* 0: endless */
  Fault *faults;          int32_t fault_count;
  Expectation *expectations; int32_t expectation_count;
  /* Why clients (servers) of a kind (group) may not be exchanged; empty span with symmetric = true where they may. */
  bool clients_symmetric[PROGRAM_CLIENTS_MAX]; /* per kind */
  Span clients_asymmetry[PROGRAM_CLIENTS_MAX];
} Program;

void program_free(Program *program);

/* "node[2]", "store", "client[0]" or "reader[1]": the name of a process in models; caller frees. */
char *program_process_name(const Program *program, int32_t process);
/* The listing that `lockstep dump` prints; caller frees. */
char *program_listing(const Program *program);

#endif
