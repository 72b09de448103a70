#include "world/clocked.h"

#include <glib.h>
#include <string.h>

#include "base/check.h"
#include "world/recorder.h"

#define NS_PER_US 1000

struct Clocked {
  Chooser chooser; /* first */
  const World *world;
  State state;
  int64_t now_ns;
  int64_t births_ns[STATE_AGES_MAX + 2];
  int64_t tickets[256]; /* the integer that each ticket name stands for */
  const Action *action; /* the one that is taken */
  Action taken;         /* the same with the choices as they came out */
  int32_t choice;
  ClockedOracle oracle;
  void *oracle_user;
  void (*hear)(void *user, const Step *step, const Event *event);
  void *hear_user;
  uint64_t violated;
  Problem problem;
  bool keeps_names;
  bool has_observed;  /* since names were renumbered: a ghost may have to be forgotten */
  int32_t names_made; /* tickets and attempts since then */
  int32_t next_message_id;
  Recorder *recorder;
  char *refusal;
};

/* --- choices ----------------------------------------------------------------------------------------------------- */

static void refuse(Clocked *clocked, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void refuse(Clocked *clocked, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (clocked->refusal == NULL) {
    clocked->refusal = g_strdup_vprintf(format, arguments);
  }
  va_end(arguments);
}

static void note_choice(Clocked *clocked, int32_t answer) {
  if (clocked->taken.choice_count < ACTION_CHOICES_MAX) {
    clocked->taken.choices[clocked->taken.choice_count++] = (uint8_t)answer;
  } else {
    refuse(clocked, "the step makes more than %d choices", ACTION_CHOICES_MAX);
  }
}

/* The recorded answer, or -1 when none is recorded and the oracle, if there is one, may answer. */
static int32_t recorded_choice(Clocked *clocked) {
  if (clocked->choice < clocked->action->choice_count) {
    return clocked->action->choices[clocked->choice++];
  }
  if (clocked->oracle == NULL) {
    refuse(clocked, "the step comes to a choice that is not recorded");
  }
  return -1;
}

static int32_t clocked_choose(Chooser *chooser, int32_t count) {
  Clocked *clocked = (Clocked *)chooser;
  int32_t answer = recorded_choice(clocked);
  if (answer < 0) {
    answer = clocked->oracle != NULL ? clocked->oracle(clocked->oracle_user, count, chooser->by_model) : 0;
  }
  if (answer >= count) {
    refuse(clocked, "choice %d of %d does not exist", answer, count);
    answer = 0;
  }
  note_choice(clocked, answer);
  return answer;
}

static bool clocked_compare(Chooser *chooser, Cell age, Reading bound, bool strict) {
  Clocked *clocked = (Clocked *)chooser;
  CHECK(bound.lo_us == bound.hi_us); /* its world has clocks of known rates */
  int64_t bound_us = bound.lo_us;
  int64_t age_ns = clocked_age_ns(clocked, age);
  bool below = strict ? age_ns < bound_us * NS_PER_US : age_ns <= bound_us * NS_PER_US;
  if (clocked->action == NULL) {
    return below; /* a look, not a step */
  }
  int32_t answer = recorded_choice(clocked);
  if (answer >= 0 && answer != !below) {
    refuse(clocked, "an age of %" G_GINT64_FORMAT " ns compares otherwise with %" G_GINT64_FORMAT " us than recorded",
           age_ns, bound_us);
  }
  note_choice(clocked, !below);
  return below;
}

/* The numbers decide. */
static int32_t clocked_next_ticket(Chooser *chooser, Cell before, Cell alive) {
  Clocked *clocked = (Clocked *)chooser;
  int32_t answer = clocked->choice < clocked->action->choice_count
                       ? clocked->action->choices[clocked->choice++]
                       : clocked->tickets[alive] - clocked->tickets[before] > clocked->world->ticket_gap;
  note_choice(clocked, answer);
  return answer;
}

/* --- real tickets ------------------------------------------------------------------------------------------------ */

/* A `next` has named its ticket. Its number is the successor of the old one, and must agree with hit or miss. */
static void number_ticket(Clocked *clocked, const Event *event) {
  int64_t number = clocked->tickets[event->before.number] + 1;
  Cell name = event->after.number;
  bool missed = event->number != 0 && clocked->taken.choices[clocked->taken.choice_count - 1] == 1;
  if (event->number != 0) { /* a larger one was alive, under the name event->number */
    if (missed) {
      memmove(&clocked->tickets[event->number + 1], &clocked->tickets[event->number],
              (size_t)(254 - event->number) * sizeof(int64_t));
    }
    int64_t alive = clocked->tickets[missed ? event->number + 1 : event->number];
    int64_t least = clocked->world->ticket_gap - 1; /* of what is left, and exactly that when nothing was moved */
    if (missed ? alive - number <= least : alive - number != least) {
      refuse(clocked, "the next ticket is %" G_GINT64_FORMAT ", the next one in use %" G_GINT64_FORMAT, number, alive);
    }
  }
  clocked->tickets[name] = number;
  if (clocked->recorder != NULL) {
    recorder_set_tickets(clocked->recorder, clocked->tickets, missed);
  }
}

static void clocked_log(void *user, const Step *step, const Event *event) {
  Clocked *clocked = user;
  if (event->kind == EVENT_FRESH && event->after.sort == SORT_TICKET) {
    number_ticket(clocked, event);
  }
  if (clocked->recorder != NULL) {
    recorder_log(clocked->recorder, step, event);
  }
  if (clocked->hear != NULL) {
    clocked->hear(clocked->hear_user, step, event);
  }
  clocked->has_observed |= event->kind == EVENT_OBSERVE;
  clocked->names_made += event->kind == EVENT_ATTEMPT || event->kind == EVENT_ENTER || event->kind == EVENT_FRESH;
}

/* --- what is due ------------------------------------------------------------------------------------------------- */

static int64_t birth_ns(const Clocked *clocked, Cell age) {
  return age == 0 ? 0 : clocked->births_ns[age];
}

static Due due_of(const Clocked *clocked, const Thing *thing) {
  Due due = {.action = thing_action(thing),
             .earliest_ns = clocked->now_ns,
             .latest_ns = INT64_MAX,
             .opens_ns = clocked->now_ns,
             .optional = thing->optional};
  if (thing->overdue) {
    due.latest_ns = clocked->now_ns;
    return due;
  }
  int64_t earliest = thing->age == 0 ? 0 : birth_ns(clocked, thing->age) + thing->lo_us * NS_PER_US + thing->after_lo;
  due.opens_ns = earliest;
  due.earliest_ns = earliest > due.earliest_ns ? earliest : due.earliest_ns;
  if (thing->hi_us != DURATION_INFINITE && !thing->withheld) {
    due.latest_ns = birth_ns(clocked, thing->age) + thing->hi_us * NS_PER_US;
  }
  return due;
}

void clocked_window(const Clocked *clocked, const Thing *thing, int64_t *opens_ns, int64_t *latest_ns) {
  int64_t born_ns = birth_ns(clocked, thing->age);
  *opens_ns = thing->age == 0 ? 0 : born_ns + thing->lo_us * NS_PER_US + thing->after_lo;
  bool has_end = thing->hi_us != DURATION_INFINITE && !thing->withheld;
  *latest_ns = has_end ? born_ns + thing->hi_us * NS_PER_US : INT64_MAX;
}

int32_t clocked_queue(const Clocked *clocked, Due queue[THINGS_MAX]) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(clocked->world, &clocked->state, things);
  int32_t length = 0;
  for (int32_t i = 0; i < count; i++) {
    if (things[i].withheld || things[i].blocked) {
      continue;
    }
    Due due = due_of(clocked, &things[i]);
    int32_t at = length++;
    while (at > 0 && queue[at - 1].latest_ns > due.latest_ns) {
      queue[at] = queue[at - 1];
      at--;
    }
    queue[at] = due;
  }
  return length;
}

/* Whether time may come to `time_ns`: nothing that must happen before is passed over. */
bool clocked_let_pass(Clocked *clocked, int64_t time_ns) {
  Thing things[THINGS_MAX];
  int32_t count = step_things(clocked->world, &clocked->state, things);
  if (time_ns < clocked->now_ns) {
    refuse(clocked, "time does not run backwards");
  }
  for (int32_t i = 0; i < count; i++) {
    Due due = due_of(clocked, &things[i]);
    if (!things[i].withheld && !things[i].optional && due.latest_ns < time_ns) {
      refuse(clocked, "something pending had to happen at %" G_GINT64_FORMAT " ns at the latest", due.latest_ns);
    }
  }
  clocked->now_ns = time_ns;
  return clocked->refusal == NULL;
}

static bool is_allowed(Clocked *clocked, const Action *action) {
  Due queue[THINGS_MAX];
  Action faults[FAULT_ACTIONS_MAX];
  int32_t count = clocked_queue(clocked, queue);
  for (int32_t i = 0; i < count; i++) {
    if (action_is(&queue[i].action, action)) {
      return queue[i].earliest_ns <= clocked->now_ns && clocked->now_ns <= queue[i].latest_ns;
    }
  }
  count = step_faults(clocked->world, &clocked->state, faults);
  for (int32_t i = 0; i < count; i++) {
    if (action_is(&faults[i], action)) {
      return true;
    }
  }
  return false;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

static void carry_names(Clocked *clocked, const Step *step, const Renaming *renaming) {
  int64_t births_ns[STATE_AGES_MAX + 2] = {0}, tickets[256] = {0};
  for (int32_t a = 1; a <= renaming->age_count; a++) {
    int32_t old = renaming->ages[a];
    births_ns[a] = old <= step->old_age_count ? clocked->births_ns[old] : clocked->now_ns;
  }
  for (int32_t t = 1; t <= renaming->ticket_count; t++) { /* gaps are name 0 */
    tickets[t] = clocked->tickets[renaming->tickets[t]];
  }
  memcpy(clocked->births_ns, births_ns, sizeof births_ns);
  memcpy(clocked->tickets, tickets, sizeof tickets);
}

/* How few names may be left before they are renumbered: more than one step makes. */
enum { NAMES_SPARE = 16 };

static bool names_run_short(const Clocked *clocked, const Step *step) {
  return clocked->has_observed || clocked->state.age_count > STATE_AGES_MAX - NAMES_SPARE ||
         step->new_token > STATE_NAMES_MAX - NAMES_SPARE || clocked->names_made >= NAMES_SPARE;
}

static void renumber(Clocked *clocked, const Step *step, Renaming *renaming) {
  names_renumber(clocked->world, &clocked->state, renaming);
  carry_names(clocked, step, renaming);
  clocked->has_observed = false;
  clocked->names_made = 0;
}

/* What was born in this step is that old, under the name that it has. */
static void keep_names(Clocked *clocked, const Step *step) {
  if (step->new_age != 0) {
    clocked->births_ns[step->new_age] = clocked->now_ns;
  }
}

static void run_step(Clocked *clocked, Step *step, const Action *action) {
  clocked->action = action;
  clocked->choice = 0;
  clocked->taken =
      (Action){.kind = action->kind, .subject = action->subject, .object = action->object, .part = action->part};
  step_start(step, clocked->world, &clocked->state, &clocked->chooser);
  step->log = clocked_log;
  step->log_user = clocked;
  step->next_message_id = clocked->next_message_id;
  step_take(step, action);
  clocked->next_message_id = step->next_message_id;
  clocked->violated = step->violated;
  clocked->action = NULL;
  clocked->problem = step->problem;
  if (step->problem.kind != PROBLEM_NONE) {
    refuse(clocked, "the step runs into a finding of the model");
  }
  if (clocked->choice < action->choice_count) {
    refuse(clocked, "the step makes fewer choices than are recorded");
  }
}

bool clocked_step(Clocked *clocked, int64_t time_ns, const Action *action) {
  Step step;
  Renaming renaming;
  clocked->now_ns = time_ns;
  run_step(clocked, &step, action);
  if (clocked->keeps_names && !names_run_short(clocked, &step)) {
    step_settle_briefly(&step);
    keep_names(clocked, &step);
  } else {
    step_settle(&step);
    renumber(clocked, &step, &renaming);
  }
  return clocked->refusal == NULL;
}

bool clocked_take(Clocked *clocked, int64_t time_ns, const Action *action) {
  Step step;
  Renaming renaming;
  if (!clocked_let_pass(clocked, time_ns)) {
    return false;
  }
  if (!is_allowed(clocked, action)) {
    refuse(clocked, "it cannot happen at this instant");
    return false;
  }
  if (clocked->recorder != NULL) {
    recorder_begin_step(clocked->recorder, time_ns, action);
  }
  run_step(clocked, &step, action);
  step_settle(&step);
  renumber(clocked, &step, &renaming);
  if (clocked->recorder != NULL) {
    recorder_end_step(clocked->recorder, &step, &renaming, clocked->tickets, &clocked->taken);
  }
  return clocked->refusal == NULL;
}

uint64_t clocked_violated_now(Clocked *clocked) {
  const World *world = clocked->world;
  uint64_t violated = 0;
  int32_t count = world_property_count(world);
  clocked->action = NULL;
  for (int32_t p = 0; p < count; p++) {
    Step step;
    step_start(&step, world, &clocked->state, &clocked->chooser);
    violated |= step_state_violates(&step, p) ? UINT64_C(1) << p : 0;
  }
  return violated;
}

/* --- the rest ---------------------------------------------------------------------------------------------------- */

Clocked *clocked_new(const World *world, bool records) {
  Clocked *clocked = calloc(1, sizeof *clocked);
  CHECK(clocked != NULL);
  clocked->chooser =
      (Chooser){.choose = clocked_choose, .compare = clocked_compare, .next_ticket = clocked_next_ticket};
  clocked->world = world;
  clocked->next_message_id = 1;
  clocked->recorder = records ? recorder_new(world) : NULL;
  world_initial(world, &clocked->state);
  return clocked;
}

void clocked_reset(Clocked *clocked) {
  CHECK(clocked->recorder == NULL);
  clocked->now_ns = 0;
  memset(clocked->births_ns, 0, sizeof clocked->births_ns);
  memset(clocked->tickets, 0, sizeof clocked->tickets);
  clocked->violated = 0;
  clocked->problem = (Problem){0};
  clocked->has_observed = false;
  clocked->names_made = 0;
  clocked->next_message_id = 1;
  g_clear_pointer(&clocked->refusal, g_free);
  world_initial(clocked->world, &clocked->state);
}

void clocked_free(Clocked *clocked) {
  if (clocked != NULL) {
    recorder_free(clocked->recorder);
    g_free(clocked->refusal);
    free(clocked);
  }
}

const char *clocked_refusal(const Clocked *clocked) {
  return clocked->refusal;
}

void clocked_set_oracle(Clocked *clocked, ClockedOracle oracle, void *user) {
  clocked->oracle = oracle;
  clocked->oracle_user = user;
}

void clocked_set_listener(Clocked *clocked, void (*hear)(void *user, const Step *step, const Event *event),
                          void *user) {
  clocked->hear = hear;
  clocked->hear_user = user;
}

void clocked_keep_names(Clocked *clocked) {
  clocked->keeps_names = true;
}
const Action *clocked_taken(const Clocked *clocked) {
  return &clocked->taken;
}
Problem clocked_problem(const Clocked *clocked) {
  return clocked->problem;
}
const State *clocked_state(const Clocked *clocked) {
  return &clocked->state;
}
int64_t clocked_now_ns(const Clocked *clocked) {
  return clocked->now_ns;
}
int64_t clocked_age_ns(const Clocked *clocked, Cell age) {
  return clocked->now_ns - birth_ns(clocked, age);
}
uint64_t clocked_violated(const Clocked *clocked) {
  return clocked->violated;
}
Run *clocked_take_run(Clocked *clocked) {
  return recorder_take_run(clocked->recorder);
}
