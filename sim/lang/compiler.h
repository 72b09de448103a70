/* What the files of the compiler share; nobody else includes this.
 *
 * compile.c is the door and the order of the work; resolve.c knows names and constants; code.c emits instructions;
 * code_expr.c and code_stmt.c translate expressions and statements; fault.c and scenario.c the scenario; liveness.c looks
 * at the finished code.
 */
#ifndef LOCKSTEP_LANG_COMPILER_H
#define LOCKSTEP_LANG_COMPILER_H

#include "base/nearest.h"
#include "base/vec.h"
#include "lang/ast.h"
#include "lang/compile.h"

#define CODE_MAX (1 << 18)         /* instructions; unrolling can multiply */
#define STACK_MAX 48               /* values below an expression; the VM has room for more */
#define CLIENT_VARIABLES_MAX 64
#define SERVICE_VARIABLES_MAX 64
#define TABLE_MAX INT16_MAX        /* what Instr.index can say */

struct Model {
  Sources *sources;
  Diagnostics *diagnostics;
  Ast *ast;
  ModelDecl *decl;
};

/* A value known while compiling. A server group or a slice of it is count > 1 servers from `value` on. */
typedef struct Constant {
  Sort sort;      /* INT BOOL DURATION NONE CLIENT SERVER */
  int64_t value;  /* microseconds of a duration */
  int32_t count;  /* SERVER, CLIENT: how many; 1 for one process */
  bool is_group;  /* an array without an index: not a value by itself */
} Constant;

/* What is known of a value that the program computes. */
typedef struct Shape {
  Sort sort;
  bool optional;
  int64_t lo, hi;  /* INT */
} Shape;

typedef enum SymbolKind {
  SYMBOL_CONSTANT,  /* parameter, server group, quantified variable, argument of a `def` */
  SYMBOL_KIND,      /* clients */
  SYMBOL_VARIABLE,  /* of the client or service being compiled */
  SYMBOL_ARG,
  SYMBOL_LOCAL,
  SYMBOL_TIMER,
} SymbolKind;

typedef struct Symbol {
  Name name;
  SymbolKind kind;
  bool is_fixed;   /* a loop counter or an argument of a `def`: the user may not assign it */
  int32_t index;
  Shape shape;
  Constant constant;
} Symbol;

typedef VEC(int32_t) Patches; /* pcs of jumps whose target is not known yet */
typedef VEC(Instr) Code;
typedef VEC(const char *) NameList;

typedef struct LoopContext {
  struct LoopContext *outer;
  Patches breaks, continues;
  int32_t head;          /* where `continue` jumps; NO_INDEX: patched */
  int32_t critical_count; /* open critical sections around the loop */
} LoopContext;

typedef struct Deferred { /* an `until` block that waits for its place behind the client's code */
  int32_t wait;
  Code code;
} Deferred;

typedef struct LoopCheck { /* code[begin .. end) is a loop that must pass a waiting point */
  int32_t begin, end;
  Span span;
} LoopCheck;

typedef enum Mode { MODE_NONE, MODE_CLIENT, MODE_HANDLER, MODE_UNTIL, MODE_NEVER } Mode;

typedef struct Compiler {
  Model *model;
  const ModelDecl *decl;
  const ScenarioDecl *scenario; /* NULL: none */
  Diagnostics *diagnostics;
  Program *program;

  VEC(Symbol) globals;
  GHashTable *global_index;     /* name -> index + 1 */
  VEC(Symbol) locals;           /* innermost last */
  VEC(char *) words;
  GHashTable *word_index;       /* name -> index + 1 */
  GHashTable *reply_words;      /* words that services reply: a set, and in order of appearance: */
  NameList reply_word_list;
  VEC(int64_t) durations;
  VEC(Wait) waits;
  VEC(Critical) criticals;
  Span **calls;                 /* [service][handler]: its first call; an empty span: none */
  uint64_t never_reads[PROGRAM_CLIENTS_MAX]; /* per kind */

  /* What is being compiled */
  Mode mode;
  int32_t kind, service;        /* index of the client kind, of the service */
  Code code;
  bool dead;                    /* nothing reaches this place: emits nothing */
  int32_t label_at;             /* the last pc that something jumps to */
  int32_t pending;              /* values on the stack below the expression being compiled */
  LoopContext *loop;
  int32_t critical_count;       /* open critical sections here */
  VEC(Variable) variables;
  uint64_t hidden_in_use;
  int32_t local_count, reply_count;
  VEC(Deferred) deferred;
  VEC(LoopCheck) loop_checks;
  const HandlerDecl *inlined[AST_DEPTH_MAX];
  int32_t inlined_count;

  int64_t work;                 /* a limit against models that unroll for ever */
  bool exhausted;
} Compiler;

/* resolve.c */
void compiler_declare_global(Compiler *c, Symbol symbol);
void compiler_push_local(Compiler *c, Symbol symbol);
const Symbol *compiler_find(Compiler *c, const char *name);
bool compiler_word_known(Compiler *c, const char *name);
int32_t compiler_word(Compiler *c, const char *name);
int32_t compiler_duration(Compiler *c, int64_t us);
/* Says "unknown …" with a suggestion. */
void compiler_unknown(Compiler *c, Name name, const char *what);
const char *expr_text(Compiler *c, const Expr *expr); /* what the user wrote, for messages; in the arena */
const char *sort_text(Sort sort);                     /* "a number", "a token", … */

typedef enum Fold { FOLD_NO, FOLD_YES, FOLD_BAD } Fold; /* BAD: a diagnostic was added */
Fold compiler_fold(Compiler *c, const Expr *expr, Constant *value);
/* A constant is required; `what` names it ("the time-out of an ask"). False after a diagnostic. */
bool compiler_constant(Compiler *c, const Expr *expr, const char *what, Constant *value);
bool compiler_number(Compiler *c, const Expr *expr, const char *what, int64_t lo, int64_t hi, int32_t *number);
bool compiler_constant_duration(Compiler *c, const Expr *expr, const char *what, int64_t *us);
bool compiler_window(Compiler *c, const Expr *lo, const Expr *hi, const char *what, Window *window);
bool compiler_work(Compiler *c, Span span); /* false: too much */
void compiler_break_symmetry(Compiler *c, int32_t kind, Span span);
int32_t compiler_kind_of_client(const Compiler *c, int64_t client);
void declare_parameters(Compiler *c, const Setting *settings, int32_t setting_count);
void declare_processes(Compiler *c);

/* code.c */
int32_t code_emit(Compiler *c, Opcode op, int32_t index, int32_t operand, Span span);
void code_push(Compiler *c, Sort sort, int64_t value, Span span);
void code_pause_point(Compiler *c, Span span); /* in clients, where the stack is empty */
int32_t code_label(Compiler *c);               /* a target for jumps back */
void code_jump(Compiler *c, Opcode op, Patches *patches, Span span);
void code_patch(Compiler *c, Patches *patches); /* all of them lead here; frees the list */

/* code_expr.c */
Shape code_value(Compiler *c, const Expr *expr);
Shape code_value_as(Compiler *c, const Expr *expr, Sort expected); /* reads 0 as a ticket where one is expected */
void code_condition(Compiler *c, const Expr *expr, bool when, Patches *patches); /* jumps when it is `when` */
int32_t code_ask(Compiler *c, const Expr *ask); /* returns how many values the handler replies; 1 when unknown */
void code_tell(Compiler *c, const Call *call);
bool code_age(Compiler *c, const Expr *expr, bool *below, int32_t *variable, int32_t *process, int32_t *duration);
Symbol code_hidden(Compiler *c, Name name, Type type);
void code_store(Compiler *c, Name name);
Type type_of_shape(Shape shape);

/* code_stmt.c */
void code_client(Compiler *c, const ClientDecl *client);
void code_handler_body(Compiler *c, const Block *body);

/* scenario.c */
void compile_scenario(Compiler *c);

/* fault.c */
void compile_faults(Compiler *c); /* before the services: a trigger is a call of a handler */
void compile_faults_of_tasks(Compiler *c); /* behind the clients, whose tasks they name */
/* The servers that `to SERVER` names: a bit set; NULL: all of them. Some of a group are told apart from the others. */
bool fault_servers(Compiler *c, const Expr *target, uint32_t *servers);

/* liveness.c */
void compile_liveness(Compiler *c);

#endif
