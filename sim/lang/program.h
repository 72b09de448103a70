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
#define PROGRAM_TASKS_MAX 4 /* of one client */

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
  SORT_STAMP,    /* an instant: only taken, copied, sent and compared */
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
  uint8_t op;      /* Opcode */
  uint8_t count;   /* arguments of a call */
  bool is_indexed; /* of a variable or timer that is an array: pops the index first, which is on top of everything else
                    */
  int16_t index;
  int32_t operand;
  Span span; /* what the user wrote */
} Instr;

typedef struct Type {
  Sort sort;
  int32_t lo, hi; /* SORT_INT: the closed range; SORT_BOOL 0..1 */
  bool optional;  /* `?`: may be none */
  bool on_wall;   /* SORT_STAMP: read on the wall clock */
} Type;

/* What an array is over: numbers from `first` on, a client kind or a server group from instance `first` on. */
typedef struct Extent {
  int32_t count; /* elements; 1 when it is no array */
  bool is_array;
  Sort sort; /* of its index: SORT_INT, SORT_CLIENT or SORT_SERVER */
  int32_t first;
} Extent;

typedef struct Variable {
  char *name; /* as written; hidden ones (loop counters) begin with '.' */
  Type type;  /* of an element */
  Extent extent;
  Sort initial_sort; /* SORT_NONE for `none` and for stamps never taken */
  int32_t initial;   /* value of that sort */
  bool is_lock;      /* owner_release watches it */
  Span span;
} Variable;

typedef struct Timer {
  char *name;
  bool on_wall;
  Extent extent;
  int32_t entry; /* pc of `after`, whose argument 0 is the index of an array; NO_INDEX: nothing happens when it fires */
  Span span;
  int32_t local_count; /* of its `after` */
} Timer;

typedef struct Handler {
  char *name;
  int32_t param_count;
  char *param_names[PROGRAM_ARGS_MAX];
  Sort param_sorts[PROGRAM_ARGS_MAX]; /* inferred from the calls; SORT_REPLY where the calls differ */
  int32_t local_count;
  int32_t reply_count; /* most values that one of its replies has; at least 1 */
  int32_t entry;       /* pc; NO_INDEX when the model never calls it */
  int32_t guard;       /* pc of the expression block behind `when`, without ages; NO_INDEX: none */
  bool keeps;          /* `keep`: a request that waits at the guard outlives its caller's time-out */
  Span span;
} Handler;

/* What a server may tell a client (`on name(args)` in a client): one name for all kinds. */
typedef struct Notice {
  char *name;
  int32_t param_count;
  char *param_names[PROGRAM_ARGS_MAX];
  Sort param_sorts[PROGRAM_ARGS_MAX];
} Notice;

typedef struct Service {
  char *name, *text;
  Variable *variables;
  int32_t variable_count;
  Timer *timers;
  int32_t timer_count;
  Handler *handlers;
  int32_t handler_count;
  int32_t lost_entry;     /* pc of `on lost(c)`, whose argument 0 is the client; NO_INDEX */
  bool observes, commits; /* has such an instruction in a handler that the model calls */
} Service;

typedef struct ServerGroup {
  char *name;
  bool is_array; /* node[5], against one `store` */
  int32_t service;
  int32_t first, count; /* server instances */
} ServerGroup;

/* An activity of a client; a client without `task`s has one, without a name. */
typedef struct Task {
  char *name;
  int32_t entry; /* pc */
  bool enters;   /* its program has a `critical` */
  Span span;
} Task;

typedef struct ClientKind {
  char *name;
  int32_t first, count; /* client instances */
  Variable *variables;
  int32_t variable_count; /* `let`s and loop counters included; at most 64 */
  Task tasks[PROGRAM_TASKS_MAX];
  int32_t task_count;
  int32_t *notice_entries; /* per Program.notices: pc of the handler, which ends in DONE; NO_INDEX: not listened to */
  int32_t entry;           /* the first pc of its code */
  int32_t code_end;        /* behind the last pc of its code, `until` blocks included */
  bool enters;             /* its program has a `critical` */
  /* For each pc of its code: the variables whose value may still be read when the task rests before that
   * instruction (bit = variable index), variables read by a `never` always included. Indexed by pc. Code of other
   * kinds: 0. For a rest at an `ask` or `wait`, look at live_after[pc]: what is read once it goes on. For an `until`
   * wait, the variables its condition reads are in both. What another task or a notice handler of the kind reads is
   * always live. */
  uint64_t *live_before, *live_after;
} ClientKind;

/* The `until` of a wait: age-free expression or any of the ages at least so old. */
typedef struct UntilAge {
  int16_t variable; /* stamp variable of the client */
  int32_t duration; /* index: age(variable) >= durations_us[duration] */
} UntilAge;
typedef struct Wait {
  int64_t lo_us, hi_us; /* hi may be DURATION_INFINITE; both are when only the `until` ends the wait */
  int32_t until_entry;  /* pc of an expression block without ages that ends in RETURN; NO_INDEX: none */
  UntilAge *ages;
  int32_t age_count;
  Span span;
} Wait;

typedef struct Critical {
  bool has_fence;    /* ENTER pops a ticket, which lies above … */
  bool has_resource; /* … the number, client or server that names the resource (`of`) */
  bool is_shared;    /* any number of these may be inside, but nobody else */
  int32_t permits;   /* how many may be inside at a time: 1, or `permit n` */
  Span span;
} Critical;

/* `ask all s.h(args) within d count v until n`: sent to `count` servers at once. */
typedef struct Parallel {
  int32_t count; /* servers, from the one on the stack on */
  int32_t handler;
  Sort wanted_sort; /* the reply that is counted */
  int32_t wanted;
  int32_t until; /* it goes on when so many have come; INT32_MAX when all have answered */
  Span span;
} Parallel;

typedef struct Assertion {
  char *text;
  Span span;
} Assertion;

/* A constant that a program looks up with `me`: which servers a client uses. */
typedef struct Table {
  Sort sort;
  int32_t *values;
  int32_t count;
} Table;

typedef struct Never {
  char *text;
  int32_t entry; /* expression block */
  Span span;
} Never;

typedef enum FaultKind {
  FAULT_LATE,
  FAULT_LOST,
  FAULT_PAUSE,
  FAULT_STEP,
  FAULT_CRASH_CLIENT,
  FAULT_CRASH_SERVER,
  FAULT_DUPLICATED, /* a second copy of a message, that travels alone */
  FAULT_UNORDERED,  /* no budget: messages of one connection may overtake each other */
  FAULT_SUSPEND,    /* a pause for which the monotonic clock stands */
  FAULT_SKEW,       /* a wall clock that is off by by_us from the beginning */
  FAULT_DRIFT,      /* no budget: clocks run at some constant rate 1 - drift .. 1 + drift */
  FAULT_CUT,        /* between a client and a server */
  FAULT_TRIGGER,    /* the adversary calls a handler */
  FAULT_DOWN,       /* no budget: the server is down from the beginning on */
  FAULT_KIND_COUNT
} FaultKind;

typedef enum FaultMemory { MEMORY_LOST, MEMORY_KEPT, MEMORY_DURABLE } FaultMemory;

typedef struct Fault {
  FaultKind kind;
  int32_t count;    /* COUNT_INFINITE for inf; 1 where there is no budget */
  uint32_t clients; /* bit set of the client instances that it may strike (pause, step, crash) */
  uint32_t servers; /* … server instances (step, crash; late and lost: the connections to these, both directions) */
  int64_t lo_us, hi_us; /* pause: its length; crash: the way back (hi inf and lo inf: never comes back); late: bound
                           beyond the window, hi inf by default */
  int64_t by_us;        /* step, skew: may be negative */
  int32_t task;         /* pause, suspend of one task; NO_INDEX: the whole client */
  FaultMemory memory;   /* crash of a server; durable: what it wrote in the last durable_us may be gone */
  int64_t durable_us;
  bool is_silent; /* crash: requests get no answer, and nobody notices */
  int32_t drift_ppm;
  int32_t handler; /* trigger */
  Sort arg_sorts[PROGRAM_ARGS_MAX];
  int32_t args[PROGRAM_ARGS_MAX];
  int32_t arg_count; /* its constant arguments */
  Span span;
} Fault;

typedef struct Expectation {
  char *property; /* "mutual_exclusion", …, "all", or the text of a never or an assert */
  bool is_never;  /* such a text */
  bool holds;
  int32_t obtainable; /* `obtainable within d`: index into Program.obtainables; else NO_INDEX */
  int64_t within_us;  /* obtainable */
  Span span;
} Expectation;

/* `obtainable [by KIND] within d`, as claimed by the scenario. */
typedef struct Obtainable {
  int32_t kind; /* NO_INDEX: any */
  int64_t within_us;
  Span span;
} Obtainable;

typedef struct Window {
  int64_t lo_us, hi_us;
} Window;

typedef struct Parameter {
  char *name;
  bool is_duration;
  int64_t value;
} Parameter; /* µs for durations */

typedef struct Program {
  Sources *sources;
  char *model, *model_text; /* name and text of the `model` line */
  char *scenario, *scenario_text;
  Instr *code;
  int32_t code_count;
  char **words;
  int32_t word_count;
  int64_t *durations_us;
  int32_t duration_count;
  Wait *waits;
  int32_t wait_count;
  Critical *criticals;
  int32_t critical_count;
  Never *nevers;
  int32_t never_count;
  Assertion *assertions;
  int32_t assertion_count;
  Parallel *parallels;
  int32_t parallel_count;
  Table *tables;
  int32_t table_count;
  Notice *notices;
  int32_t notice_count;
  Variable *ghosts;
  int32_t ghost_count; /* of the process behind the last server: client_count + server_count */
  Service *services;
  int32_t service_count;
  ServerGroup *groups;
  int32_t group_count;
  ClientKind *kinds;
  int32_t kind_count;
  int32_t client_count, server_count;
  int32_t server_group[PROGRAM_SERVERS_MAX]; /* of each server instance */
  int32_t client_kind[PROGRAM_CLIENTS_MAX];
  Parameter *parameters;
  int32_t parameter_count;
  int32_t word_ok, word_timeout, word_refused;
  /* The scenario */
  Window latency[PROGRAM_SERVERS_MAX]; /* per server instance, both directions */
  Window client_starts;                /* 0 .. inf unless said */
  bool client_starts_given;
  int32_t rounds; /* 0: endless */
  Window detect;  /* how long a server needs to notice that a client is gone; 0 .. 0 unless said */
  Fault *faults;
  int32_t fault_count;
  Obtainable *obtainables;
  int32_t obtainable_count;
  Expectation *expectations;
  int32_t expectation_count;
  /* Why clients (servers) of a kind (group) may not be exchanged; empty span with symmetric = true where they may. */
  bool clients_symmetric[PROGRAM_CLIENTS_MAX]; /* per kind */
  Span clients_asymmetry[PROGRAM_CLIENTS_MAX];
  bool servers_symmetric[PROGRAM_SERVERS_MAX]; /* per group */
  Span servers_asymmetry[PROGRAM_SERVERS_MAX];
} Program;

void program_free(Program *program);

/* "node[2]", "store", "client[0]" or "reader[1]": the name of a process in models; caller frees. */
char *program_process_name(const Program *program, int32_t process);
/* The listing that `lockstep dump` prints; caller frees. */
char *program_listing(const Program *program);

#endif
