/* The syntax tree of a model and of the services that it uses.
 *
 * Everything lives in one Ast (an arena) and dies with it; nodes are never changed after the parser made them. Lists
 * are an array and a count. The depth of any tree is at most AST_DEPTH_MAX, so that whoever walks it may recurse.
 */
#ifndef LOCKSTEP_LANG_AST_H
#define LOCKSTEP_LANG_AST_H

#include "lang/program.h"

#define AST_DEPTH_MAX 200

typedef struct Ast Ast;

Ast *ast_new(void);
void ast_free(Ast *ast);
void *ast_allocate(Ast *ast, size_t bytes); /* zeroed */
char *ast_text(Ast *ast, const char *begin, size_t bytes);
void *ast_copy(Ast *ast, const void *from, size_t bytes);

typedef struct Name {
  const char *text;
  Span span;
} Name;

typedef struct Expr Expr;
typedef struct Stmt Stmt;

typedef enum ExprKind {
  EXPR_NUMBER,   /* number */
  EXPR_DURATION, /* number: microseconds */
  EXPR_INF,
  EXPR_BOOL, /* number */
  EXPR_NONE,
  EXPR_FRESH,
  EXPR_NOW, /* number: 1 on the wall clock */
  EXPR_ME,
  EXPR_CALLER,
  EXPR_NAME,       /* name */
  EXPR_INDEX,      /* left[right]; left is a name, `client` or a field */
  EXPR_SLICE,      /* left[right..third] */
  EXPR_FIELD,      /* left.name */
  EXPR_NOT,        /* left */
  EXPR_NEGATE,     /* left */
  EXPR_NEXT,       /* left */
  EXPR_BINARY,     /* left op right */
  EXPR_IS,         /* left is name */
  EXPR_AGE,        /* age(left) */
  EXPR_ARMED,      /* name armed, name[left] armed */
  EXPR_QUANTIFIER, /* quantifier(name in left[..third] : right) */
  EXPR_ASK,        /* call */
  EXPR_LIST,       /* items: of servers, as the value of a parameter */
} ExprKind;

typedef enum Quantifier { QUANTIFIER_COUNT, QUANTIFIER_ANY, QUANTIFIER_ALL, QUANTIFIER_MIN, QUANTIFIER_MAX } Quantifier;

typedef enum BinaryOp {
  BINARY_OR,
  BINARY_AND,
  BINARY_EQ,
  BINARY_NE,
  BINARY_LT,
  BINARY_LE,
  BINARY_GT,
  BINARY_GE,
  BINARY_ADD,
  BINARY_SUB,
  BINARY_MUL,
  BINARY_DIV,
  BINARY_MOD,
} BinaryOp;

typedef struct Call {
  Span span;
  bool to_all; /* tell all node.h(), ask all node.h() */
  Expr *target;
  Name handler;
  Expr **args;
  int32_t arg_count;
  Expr *within;         /* NULL: for ever */
  Expr *wanted, *until; /* ask all … count wanted until until */
} Call;

struct Expr {
  ExprKind kind;
  Span span;
  int32_t depth;
  bool has_age, has_ask; /* somewhere inside */
  BinaryOp op;
  Span op_span;
  Quantifier quantifier;
  int64_t number;
  Name name;
  Expr *left, *right, *third;
  Call *call;
  Expr **items;
  int32_t item_count;
};

typedef struct Block {
  Stmt **items;
  int32_t count;
} Block;

typedef enum StmtKind {
  STMT_ASSIGN, /* targets = value */
  STMT_ADD,    /* targets[0] += value */
  STMT_SUB,
  STMT_LET,    /* let targets = value */
  STMT_IF,     /* if value body else other */
  STMT_WHILE,  /* value, body */
  STMT_LOOP,   /* body */
  STMT_REPEAT, /* value, body */
  STMT_FOR,    /* for targets[0] in value[..high], body */
  STMT_BREAK,
  STMT_CONTINUE,
  STMT_STOP,
  STMT_ASK,  /* value: an EXPR_ASK */
  STMT_TELL, /* call */
  STMT_WAIT, /* value..high, until */
  STMT_YIELD,
  STMT_CRITICAL, /* resource, permits, fence in value: NULL where not said; body */
  STMT_RUN,      /* targets[0](args): a `def` */
  STMT_REPLY,    /* args */
  STMT_TIMER_IN, /* targets[0] in value */
  STMT_TIMER_OFF,
  STMT_CHOOSE, /* arms */
  STMT_PICK,   /* pick targets[0] in value[..high] */
  STMT_ASSERT, /* assert value text */
  STMT_OBSERVE,
  STMT_COMMIT,
} StmtKind;

struct Stmt {
  StmtKind kind;
  Span span; /* of its first line: what a diagnostic underlines */
  Name *targets;
  Expr **indices; /* of each target, NULL where there is none; the whole list may be NULL */
  int32_t target_count;
  Expr **args;
  int32_t arg_count;
  Expr *value, *high, *until;
  Call *call;
  Block body, other;
  Block *arms;
  int32_t arm_count;
  Expr *resource, *permits;
  bool is_shared;
  Name text;
};

typedef struct TypeExpr {
  Span span;
  Sort sort;
  Expr *lo, *hi; /* SORT_INT */
  bool optional, on_wall;
} TypeExpr;

typedef struct VarDecl {
  Name name;
  TypeExpr type;
  Expr *initial; /* NULL: not said */
  bool is_lock;
  Expr *index; /* what an array is over: a number, clients or servers; NULL: no array */
} VarDecl;

typedef struct TimerDecl {
  Name name;
  bool on_wall;
  Expr *index;
} TimerDecl;

typedef struct HandlerDecl { /* a handler, a script, a `def`, a task, a notice, or what comes after a timer */
  Name service;              /* of a script */
  Name name;
  Name *params;
  int32_t param_count;
  Expr *guard; /* `when`; NULL: none */
  bool keeps;
  Block body;
  Span span;
} HandlerDecl;

typedef struct ServiceDecl {
  Name name;
  const char *text;
  VarDecl *variables;
  int32_t variable_count;
  TimerDecl *timers;
  int32_t timer_count;
  HandlerDecl **handlers;
  int32_t handler_count; /* scripts of the model are added */
  HandlerDecl **afters;
  int32_t after_count;
  HandlerDecl *lost; /* `on lost(c)`; NULL */
} ServiceDecl;

typedef struct ParamDecl {
  Name name;
  Expr *value;
} ParamDecl;

typedef struct ServerDecl {
  Name name;
  Expr *count; /* NULL: a single one */
  Name service;
} ServerDecl;

typedef struct ClientDecl {
  Name name;
  Expr *count;
  VarDecl *variables;
  int32_t variable_count;
  HandlerDecl **defs;
  int32_t def_count;
  HandlerDecl **tasks;
  int32_t task_count; /* 0: the body is the only one */
  HandlerDecl **notices;
  int32_t notice_count;
  Block body;
  Span span;
} ClientDecl;

typedef struct NeverDecl {
  Name text;
  Expr *value;
} NeverDecl;

typedef enum ItemKind {
  ITEM_LATENCY,
  ITEM_STARTS,
  ITEM_DETECT,
  ITEM_FAULT,
  ITEM_CLIENTS,
  ITEM_ROUNDS,
  ITEM_SET,
  ITEM_EXPECT,
} ItemKind;

typedef struct ScenarioItem {
  ItemKind kind;
  Span span;
  FaultKind fault; /* crash: FAULT_CRASH_CLIENT until the target is known */
  Expr *value;     /* count of a fault, value of a set, clients, rounds, bound of `obtainable`; NULL: not said */
  Expr *target;    /* NULL: all */
  Name task;       /* client.TASK; no text: the whole client */
  Expr *from;      /* cut … from SERVER */
  Expr *lo, *hi;   /* window; NULL: not said */
  Expr *by;
  Span losing_span; /* crash: no end: nothing is said of what it loses */
  FaultMemory memory;
  Expr *durable; /* losing last d */
  bool is_silent;
  int64_t drift_ppm;
  Span drift_span;
  Call *call;     /* trigger */
  Name name;      /* set NAME = …; expect PROPERTY … */
  Name kind_name; /* expect obtainable by KIND; no text: any */
  bool is_text;   /* expect "…" */
  bool holds;
} ScenarioItem;

typedef struct ScenarioDecl {
  Name name;
  const char *text;
  ScenarioItem *items;
  int32_t item_count;
} ScenarioDecl;

typedef struct ModelDecl {
  Name name;
  const char *text;
  Name *uses;
  int32_t use_count;
  ServiceDecl **services;
  int32_t service_count; /* written in the model itself, then the used ones */
  HandlerDecl **scripts;
  int32_t script_count;
  ParamDecl *params;
  int32_t param_count;
  VarDecl *ghosts;
  int32_t ghost_count;
  ServerDecl *servers;
  int32_t server_count;
  ClientDecl **clients;
  int32_t client_count;
  NeverDecl *nevers;
  int32_t never_count;
  ScenarioDecl **scenarios;
  int32_t scenario_count;
} ModelDecl;

#endif
