/* One step: what can happen next in a state, and what it does. The only place that knows; every engine reads it.
 *
 * What takes time is a Thing with a window for its age (semantics.md, section 1); what the adversary may do at any
 * instant is a fault Action. Taking a step changes the state in place. Where the step may go on in several ways (a
 * stamp is compared, a pause may strike, a message may be late, a ticket hits the next one alive), it asks its Chooser;
 * the sequence of the answers is recorded in the Action, so that any engine can take the same step again. A choice is
 * recorded if and only if the discrete part of the state leaves more than one option.
 */
#ifndef LOCKSTEP_WORLD_STEP_H
#define LOCKSTEP_WORLD_STEP_H

#include "world/names.h"
#include "world/system.h"
#include "world/world.h"

typedef enum ActionKind {
  ACTION_BEGIN,   /* subject: client */
  ACTION_ARRIVE,  /* subject: process that gets it; object: index of the message */
  ACTION_TIMEOUT, /* subject: client; part: task */
  ACTION_WAKE,    /* subject: client; part: task; object: 0 its window has come, a + 1 the age a of its `until` */
  ACTION_FIRE,    /* subject: server; object: slot of the timer */
  ACTION_RESUME,  /* subject: process; part: 0, or the task + 1 that was paused alone */
  ACTION_RESTART, /* subject: process; back from a crash */
  ACTION_SYNC,    /* subject: server; its durable copy catches up */
  ACTION_JOIN,    /* subject: client; object: server; the end of a cut */
  ACTION_FAULTS,  /* from here on the adversary's; object: fault */
  ACTION_PAUSE = ACTION_FAULTS, /* subject: process; part: 0, or the task + 1 that pauses alone */
  ACTION_CRASH,                 /* subject: process */
  ACTION_CLOCK_STEP,            /* subject: process */
  ACTION_CUT,                   /* subject: client; part: server */
  ACTION_TRIGGER,               /* subject: process, a server */
} ActionKind;

typedef struct Thing {
  ActionKind kind;
  int32_t subject, object, part;
  Cell age;             /* 0: none, the window is 0 .. inf */
  int64_t lo_us, hi_us; /* the window: happens when lo <= age <= hi; hi may be DURATION_INFINITE */
  bool after_lo;        /* lo < age instead */
  bool withheld;        /* its process is paused or cut off: cannot happen, and the window has no upper end meanwhile */
  bool blocked;         /* cannot happen yet (others go first), but the window's upper end stands */
  bool overdue;         /* past its window: may happen, and no time passes until it has */
  bool optional;        /* may as well never happen: what travels alone */
} Thing;

static inline Action thing_action(const Thing *thing) {
  return (Action){.kind = (uint8_t)thing->kind,
                  .subject = (uint8_t)thing->subject,
                  .object = (uint8_t)thing->object,
                  .part = (uint8_t)thing->part};
}
/* Whether two actions are the same but for the choices made in them. */
static inline bool action_is(const Action *a, const Action *b) {
  return a->kind == b->kind && a->subject == b->subject && a->object == b->object && a->part == b->part;
}

/* The process at which it happens, and on whose clock. */
static inline int32_t action_process(const World *world, const Action *action) {
  bool of_server = action->kind == ACTION_FIRE || action->kind == ACTION_SYNC;
  return action->subject + (of_server ? world->program->client_count : 0);
}

/* Everything that is pending in a state; returns how many. */
int32_t step_things(const World *world, const State *state, Thing things[THINGS_MAX]);
/* What the adversary may do now with what is left of its budgets, apart from choices inside steps. */
int32_t step_faults(const World *world, const State *state, Action actions[FAULT_ACTIONS_MAX]);
/* Whether nothing can happen any more (but by the adversary) though a client that is up is not at its end. */
bool step_is_stuck(const World *world, const State *state);

typedef struct Chooser Chooser;
struct Chooser {
  /* One of 0 .. count - 1, count > 1. */
  int32_t (*choose)(Chooser *chooser, int32_t count);
  /* Whether age < bound (strict) or age <= bound; both outcomes that are possible are choices 0 (yes) and 1 (no). Where
   * clocks are loose the bound is somewhere in bound.lo_us .. bound.hi_us. */
  bool (*compare)(Chooser *chooser, Cell age, Reading bound, bool strict);
  /* Whether the ticket next after `before` is the one alive next (0) or lies between the two (1): a choice like any
   * other. NULL: asks `choose`. */
  int32_t (*next_ticket)(Chooser *chooser, Cell before, Cell alive);
  bool by_model; /* while `choose` is asked: it is the model's own choice, none of the adversary's */
};

#define STEP_STACK_MAX 64
#define STEP_LOCALS_MAX 64

typedef struct Step {
  const World *world;
  State *state;
  Chooser *chooser;
  void (*log)(void *user, const struct Step *step, const Event *event); /* NULL in a search */
  void *log_user;
  int32_t next_message_id; /* 0: messages get no ids */
  /* What came of it */
  uint64_t violated; /* bit set of properties */
  uint16_t faults, steps;
  Problem problem; /* if any, the state is not to be used */
  /* The machine's registers */
  int32_t process, client, server; /* who runs; the client concerned or -1; the server or -1 */
  int32_t task;                    /* of the client that runs */
  int32_t peer;                    /* the server whose message is handled, or -1 */
  Cell attempt, fence;             /* of the request that is handled */
  Cell new_age;                    /* the age of whatever is born in this step; 0 until something is */
  Cell new_token;                  /* the last fresh token of this step */
  int32_t old_age_count;
  bool visible;           /* the client has done something that others could tell apart since it left its rest */
  int32_t ran;            /* the client that ran + 1: its waits may be over */
  uint32_t entered_kinds; /* client kinds of which somebody entered a section */
  int32_t request_id;     /* of the request that is handled: for the log */
  bool answers;           /* the caller waits for a reply, */
  int32_t caller_task;    /* in this task */
  int32_t instruction_count;
  int32_t stack_count;
  Value stack[STEP_STACK_MAX];
  Value locals[STEP_LOCALS_MAX];
  Value values[PROGRAM_ARGS_MAX * 2]; /* arguments of the handler, or values of the reply */
  int32_t value_count;
} Step;

void step_start(Step *step, const World *world, State *state, Chooser *chooser);
/* Takes an action that step_things or step_faults has listed; the window of the thing is the caller's business. */
void step_take(Step *step, const Action *action);
/* Behind step_take: forgets what can no longer matter and sorts the messages. Names are not renumbered yet. */
void step_settle(Step *step);
/* The part of it that changes what can happen, for runs that need no canonical states: forgets nothing. */
void step_settle_briefly(Step *step);
/* Whether the state by itself, at some instant, violates a property (its bit): a monitor, a never, something
 * obtainable. Ages are compared through the chooser. */
bool step_state_violates(Step *step, int32_t property);

/* --- for the parts of a step: vm, faults ------------------------------------------------------------------------- */

void step_event(Step *step, Event event);
/* An Event with everything empty but its kind and the process that runs. */
Event step_event_of(const Step *step, EventKind kind);
void step_fail(Step *step, ProblemKind kind, int32_t pc);
/* The one age of what is born in this step. */
Cell step_new_age(Step *step);
/* Asks the chooser, unless what is compared was born in this very step or never. */
bool step_compare(Step *step, Cell age, Reading bound, bool strict);

typedef struct Envelope {
  MessageKind kind;
  int32_t client, server, peer; /* as in a message record, from 0; -1: none */
  int32_t handler, task;
  const Value *values;
  int32_t value_count;
  int32_t pc; /* who sends */
} Envelope;
/* Sends a message; the adversary may make it late, lose it or send it twice. */
void step_send(Step *step, const Envelope *envelope);
/* A task comes to rest at `pc`: forgets its dead variables. */
void step_rest(Step *step, int32_t client, int32_t task, int32_t pc);
/* A task is at its end; the client, too, when it was the last. */
void step_end_task(Step *step, int32_t client, int32_t task);
/* A client is at its end, or crashed. */
void step_end_client(Step *step, int32_t client, ClientPhase phase);
/* Nobody waits any more for the answer to a call: of this task (-1: any) from this server (-1: any). */
void step_give_up_call(Step *step, int32_t client, int32_t task, int32_t server);
/* A server notices that a client is gone: what came of its loss is handled now. */
void step_notice_loss(Step *step, int32_t client, int32_t server);
/* A client begins to run, or runs again. */
void step_begin_client(Step *step, int32_t client);
/* The requests that wait at the guards of a server are served as far as these hold. */
void step_serve_waiting(Step *step, int32_t server);
/* Waits of the client whose `until` holds by now are over. */
void step_wake_waiters(Step *step, int32_t client);
/* Spends one of a fault's budget and counts the cost. */
void step_spend(Step *step, int32_t fault);

/* faults.c: a pause or a crash may strike the running client right before instruction `pc`; true if it did. Not before
 * the client has done something visible since it left its rest: the fault might as well have struck there, with what
 * ended the rest still to come, at the same cost. A pause of one task strikes at any of them: the others see all it
 * does. */
bool faults_strike(Step *step, int32_t pc);
void faults_pause(Step *step, const Action *action);
void faults_resume(Step *step, const Action *action);
void faults_crash(Step *step, int32_t process, int32_t fault);
void faults_restart(Step *step, int32_t process);
void faults_clock_step(Step *step, int32_t process, int32_t fault);
void faults_cut(Step *step, int32_t client, int32_t server, int32_t fault);
void faults_join(Step *step, int32_t client, int32_t server);
void faults_trigger(Step *step, int32_t server, int32_t fault);
/* The fault that a process (a task of it) is under, NULL for none. */
const Fault *faults_of_client(const World *world, const State *state, int32_t client);
const Fault *faults_of_task(const World *world, const State *state, int32_t client, int32_t task);
const Fault *faults_of_server(const World *world, const State *state, int32_t server);
bool fault_is_pause(const Fault *fault);

/* vm.c: runs a task from `pc` to its next rest, a handler of a client or server to its end, an expression block. */
void vm_run_client(Step *step, int32_t client, int32_t task, int32_t pc);
void vm_run_notice(Step *step, int32_t client, int32_t entry);
void vm_run_server(Step *step, int32_t server, int32_t entry);
bool vm_evaluate(Step *step, int32_t entry);

#endif
