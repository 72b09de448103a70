#include "explore/verify.h"

#include <glib.h>
#include <string.h>

#include "base/check.h"
#include "explore/confirm.h"
#include "explore/exhaustive.h"
#include "explore/witness.h"
#include "world/timed.h"

typedef struct Verifier {
  const Program *program;
  const VerifyOptions *options;
  Verification *result;
  GArray *findings;
  World *world;
  Timed *timed;
  System system;
  Exploration *exploration;
  uint64_t decided;   /* of the properties that were hit */
  bool is_incomplete; /* part of the space was given up: nothing is proved */
  const char *incomplete_because;
} Verifier;

static SearchLimits limits_of(const Verifier *verifier, const char *phase) {
  const VerifyOptions *options = verifier->options;
  return (SearchLimits){
      .memory_bytes = options->memory_bytes, .phase = phase, .tick = options->tick, .user = options->user};
}

static Exploration *explore_as_told(const Verifier *verifier, const System *system, const char *phase) {
  const VerifyOptions *options = verifier->options;
  ExploreOptions explore_options = {.exact = options->exact,
                                    .canonical = true,
                                    .max_states = options->max_states,
                                    .limits = limits_of(verifier, phase)};
  return explore(system, &explore_options);
}

/* --- findings ---------------------------------------------------------------------------------------------------- */

static void add_finding(Verifier *verifier, const char *kind, Span span, char *text) {
  Finding finding = {.kind = g_strdup(kind), .text = text, .span = span};
  g_array_append_val(verifier->findings, finding);
}

static void give_up(Verifier *verifier, const char *because) {
  verifier->is_incomplete = true;
  verifier->incomplete_because = because;
}

static void report_problem(Verifier *verifier, Problem problem) {
  static const struct {
    const char *kind, *text;
  } words[] = {
      [PROBLEM_RANGE] = {"range", "a value outside the range of its variable"},
      [PROBLEM_SLOTS] = {"overflow", "more messages are in flight here than there is room for"},
      [PROBLEM_NAMES] = {"overflow", "more tokens, tickets, attempts or pending things at once than a state may hold"},
      [PROBLEM_ENDLESS] = {"endless", "a step that does not come to an end, or has too many outcomes"},
      [PROBLEM_VALUE] = {"value", "a value of the wrong kind (a reply that is no ticket, say), or a division by zero"},
  };
  Span nowhere = {0};
  bool placed = problem.pc >= 0 && problem.pc < verifier->program->code_count;
  add_finding(verifier, words[problem.kind].kind, placed ? verifier->program->code[problem.pc].span : nowhere,
              g_strdup(words[problem.kind].text));
  give_up(verifier, "a finding ends some of the runs");
  if (problem.kind == PROBLEM_SLOTS || problem.kind == PROBLEM_NAMES) {
    verifier->result->stopped = STOP_OVERFLOW;
  }
}

/* What the clients of a state do at the moment, for a timelock: the place of the first one that is inside the cycle. */
static Span place_of_state(Verifier *verifier, uint32_t state_index) {
  State state;
  const uint8_t *key = store_view(&verifier->exploration->store, state_index, NULL).key;
  state_unpack(&verifier->world->layout, key, &state);
  for (int32_t c = 0; c < verifier->program->client_count; c++) {
    const Cell *client = state_client(&verifier->world->layout, &state, c);
    const Cell *task = state_task(&verifier->world->layout, &state, c, 0);
    if (client[CLIENT_PHASE] == PHASE_RUNS && task[TASK_PHASE] == TASK_RESTS) {
      return verifier->program->code[task[TASK_PC]].span;
    }
  }
  return (Span){0};
}

static void look_for_timelock(Verifier *verifier) {
  static const char *const texts[] = {
      "timelock: a loop of steps through here lets no time pass, so time could stand still for ever",
      "timelock: here something is due that can never happen, so time stands still",
      "perhaps a timelock: a loop of steps through here may let no time pass; a limit was reached before that was settled"};
  SearchLimits limits = limits_of(verifier, "looking for timelocks");
  Timelock timelock = exploration_find_timelock(verifier->exploration, &limits);
  if (timelock.found) {
    bool is_settled = timelock.stopped == STOP_NOT;
    const char *text = texts[!is_settled ? 2 : timelock.cycle_count == 0 ? 1 : 0];
    add_finding(verifier, "timelock", place_of_state(verifier, timelock.state_index), g_strdup(text));
    give_up(verifier, is_settled ? "of the timelock" : "of what may be a timelock");
    verifier->result->stopped = timelock.stopped;
  }
  timelock_free(&timelock);
}

static void report_asymmetry(Verifier *verifier) {
  const Program *program = verifier->program;
  for (int32_t k = 0; k < program->kind_count && verifier->options->symmetry; k++) {
    if (program->kinds[k].count > 1 && !program->clients_symmetric[k]) {
      add_finding(verifier, "symmetry", program->clients_asymmetry[k],
                  g_strdup_printf("the clients of `%s` cannot be exchanged because of this, so the search is larger",
                                  program->kinds[k].name));
    }
  }
}

/* --- properties -------------------------------------------------------------------------------------------------- */

static int32_t property_count(const Verifier *verifier) {
  return world_property_count(verifier->world);
}

static const char *property_name(const Verifier *verifier, int32_t property) {
  return verifier->world->property_names[property];
}

static bool is_applicable(const Verifier *verifier, int32_t property) {
  return property >= verifier->world->monitor_count ||
         verifier->world->monitors[property]->applicable(verifier->program);
}

/* Hit, and not decided yet. */
static bool is_open(const Verifier *verifier, int32_t property) {
  uint64_t open = exploration_hit_set(verifier->exploration) & ~verifier->decided;
  return open >> property & 1 && is_applicable(verifier, property);
}

static void decide_unhit(Verifier *verifier, int32_t property, PropertyResult *result) {
  if (verifier->is_incomplete) {
    result->verdict = VERDICT_UNDECIDED;
    result->note = g_strdup_printf("not everything was explored, because %s", verifier->incomplete_because);
    return;
  }
  result->verdict = VERDICT_PROVED;
  bool has_event = property < verifier->world->monitor_count && verifier->world->monitors[property]->event != NULL;
  result->vacuous = has_event && !(verifier->world->seen->raised >> property & 1);
}

static void confirm_witness(Verifier *verifier, const World *world, const Witness *witness, int32_t property) {
  PropertyResult *result = &verifier->result->properties[property];
  g_autofree char *problem = NULL;
  result->run = confirm_run(world, witness->actions, (int32_t)witness->action_count, property, witness->state_violation,
                            &problem);
  if (result->run == NULL) {
    result->verdict = VERDICT_UNDECIDED;
    result->note = g_strdup_printf("a violation was found but not confirmed: %s", problem);
    return;
  }
  result->verdict = VERDICT_VIOLATED;
  result->faults = witness->faults + (uint32_t)world_standing_faults(world);
  result->steps = witness->steps;
}

/* The properties whose hit costs as much as that of `property`, of those that are not yet decided: they are often
 * violated by one run, and then searched once. */
static uint64_t hit_together(const Verifier *verifier, int32_t property) {
  uint64_t together = 0;
  for (int32_t p = property; p < property_count(verifier); p++) {
    bool hit = verifier->exploration->hits[p] == verifier->exploration->hits[property];
    together |= hit && is_open(verifier, p) ? UINT64_C(1) << p : 0;
  }
  return together;
}

static void give_up_hit(Verifier *verifier, const Witness *witness, PropertyResult *result) {
  result->verdict = VERDICT_UNDECIDED;
  bool is_limit = witness->stopped != STOP_NOT;
  result->note =
      g_strdup(is_limit ? "a limit was reached while a possible violation was being confirmed"
                        : "a possible violation was not found again among exchanged servers; try --no-symmetry");
  if (verifier->result->stopped == STOP_NOT) {
    verifier->result->stopped = witness->stopped;
  }
}

/* Searches the cheapest run for some of the properties that are hit together with this one, and decides those. */
static void decide_hit(Verifier *verifier, int32_t property) {
  uint64_t together = hit_together(verifier, property);
  g_autofree char *phase = g_strdup_printf("searching a witness for %s", property_name(verifier, property));
  SearchLimits limits = limits_of(verifier, phase);
  Witness *witness = witness_search(verifier->exploration, together, &limits);
  verifier->result->peak_bytes = MAX(verifier->result->peak_bytes, witness->peak_bytes);
  uint64_t decided = witness->outcome == WITNESS_FOUND ? witness->violated : together;
  for (int32_t p = property; p < property_count(verifier); p++) {
    if (!(decided >> p & 1)) {
      continue;
    }
    switch (witness->outcome) {
    case WITNESS_FOUND: confirm_witness(verifier, verifier->world, witness, p); break;
    case WITNESS_NONE: decide_unhit(verifier, p, &verifier->result->properties[p]); break;
    case WITNESS_LIMIT: give_up_hit(verifier, witness, &verifier->result->properties[p]); break;
    }
    verifier->decided |= UINT64_C(1) << p;
  }
  witness_free(witness);
}

/* --- loose clocks -------------------------------------------------------------------------------------------------
 *
 * Bounds that are widened to all clocks that a scenario allows may prove and never convict. A violation is sought with
 * given clocks, the same for each kind or group, and suspends of given length: each choice is an exact model of its
 * own. */

enum { PARTIES_MAX = PROGRAM_CLIENTS_MAX + PROGRAM_SERVERS_MAX };

typedef struct Party {
  int32_t first, count; /* processes: the clients of a kind, the servers of a group */
} Party;

static int32_t list_drifting(const Verifier *verifier, Party parties[PARTIES_MAX]) {
  const Program *program = verifier->program;
  int32_t count = 0;
  for (int32_t k = 0; k < program->kind_count; k++) {
    if (verifier->world->drift_ppm[program->kinds[k].first] > 0) {
      parties[count++] = (Party){program->kinds[k].first, program->kinds[k].count};
    }
  }
  for (int32_t g = 0; g < program->group_count; g++) {
    int32_t first = program->client_count + program->groups[g].first;
    if (verifier->world->drift_ppm[first] > 0) {
      parties[count++] = (Party){first, program->groups[g].count};
    }
  }
  return count;
}

/* The `number`th choice of clocks, counted in threes; returns how many parties are not exact, -1 when there is none. */
static int32_t choose_clocks(const Party *parties, int32_t party_count, int32_t number, Clocks *clocks) {
  static const ClockRate rates[] = {RATE_EXACT, RATE_SLOW, RATE_FAST};
  int32_t wrong = 0;
  *clocks = (Clocks){.suspends = number % 2 == 0 ? SUSPEND_LONGEST : SUSPEND_SHORTEST};
  number /= 2;
  for (int32_t p = 0; p < party_count; p++, number /= 3) {
    for (int32_t i = 0; i < parties[p].count; i++) {
      clocks->rate[parties[p].first + i] = rates[number % 3];
    }
    wrong += number % 3 != 0;
  }
  return number == 0 ? wrong : -1;
}

static bool has_suspends(const Program *program) {
  for (int32_t f = 0; f < program->fault_count; f++) {
    if (program->faults[f].kind == FAULT_SUSPEND) {
      return true;
    }
  }
  return false;
}

/* Explores with the given clocks, and decides the property if it is violated. */
static void convict_with(Verifier *verifier, int32_t property, const Clocks *clocks) {
  int64_t too_large_us;
  World *world = world_new_with(verifier->program, property_monitors, PROPERTY_COUNT, clocks);
  Timed *timed = timed_new(world, &too_large_us);
  if (timed != NULL) {
    System system = timed_system(timed, verifier->options->symmetry);
    Exploration *exploration = explore_as_told(verifier, &system, "exploring with exact clocks");
    if (exploration_hit_set(exploration) >> property & 1) {
      SearchLimits limits = limits_of(verifier, "searching a witness");
      Witness *witness = witness_search(exploration, UINT64_C(1) << property, &limits);
      if (witness->outcome == WITNESS_FOUND) {
        confirm_witness(verifier, world, witness, property);
      }
      witness_free(witness);
    }
    exploration_free(exploration);
  }
  timed_free(timed);
  world_free(world);
}

static void convict_with_exact_clocks(Verifier *verifier, int32_t property) {
  Party parties[PARTIES_MAX];
  PropertyResult *result = &verifier->result->properties[property];
  int32_t party_count = list_drifting(verifier, parties);
  bool suspends = has_suspends(verifier->program);
  for (int32_t wrong = 0; wrong <= party_count && result->verdict != VERDICT_VIOLATED; wrong++) {
    Clocks clocks;
    for (int32_t number = 0; result->verdict != VERDICT_VIOLATED; number += suspends ? 1 : 2) {
      int32_t differs = choose_clocks(parties, party_count, number, &clocks);
      if (differs < 0) {
        break;
      }
      if (differs == wrong) {
        g_free(result->note);
        result->note = NULL;
        convict_with(verifier, property, &clocks);
      }
    }
  }
  if (result->verdict != VERDICT_VIOLATED) {
    g_free(result->note);
    result->verdict = VERDICT_UNDECIDED;
    result->note =
        g_strdup("possible with clocks in between, perhaps: neither proved nor confirmed with the extreme ones");
  }
}

static void decide_property(Verifier *verifier, int32_t property) {
  PropertyResult *result = &verifier->result->properties[property];
  result->name = g_strdup(property_name(verifier, property));
  int32_t obtainable = property - (property_count(verifier) - verifier->program->obtainable_count);
  result->obtainable = obtainable >= 0 ? obtainable : NO_INDEX;
  result->is_never = property >= verifier->world->monitor_count && obtainable < 0;
  if (!is_applicable(verifier, property)) {
    result->verdict = VERDICT_NOT_APPLICABLE;
  } else if (verifier->exploration == NULL || !(exploration_hit_set(verifier->exploration) >> property & 1)) {
    decide_unhit(verifier, property, result);
  } else if (world_has_loose_clocks(verifier->program)) {
    convict_with_exact_clocks(verifier, property);
  } else {
    while (is_open(verifier, property)) {
      decide_hit(verifier, property);
    }
  }
  result->note = result->note != NULL ? result->note : g_strdup("");
}

/* --- the scenario ------------------------------------------------------------------------------------------------ */

static void run_exploration(Verifier *verifier) {
  static const char *const because[] = {[STOP_NOT] = "",
                                        [STOP_TIME] = "the time was up",
                                        [STOP_MEMORY] = "the memory limit was reached",
                                        [STOP_STATES] = "the limit of states was reached",
                                        [STOP_OVERFLOW] = "there was no room for more messages",
                                        [STOP_INTERRUPT] = "it was interrupted"};
  const VerifyOptions *options = verifier->options;
  verifier->system = timed_system(verifier->timed, options->symmetry);
  Verification *result = verifier->result;
  Exploration *exploration = verifier->exploration = explore_as_told(verifier, &verifier->system, "exploring");
  result->stopped = exploration->stopped;
  result->discrete = exploration->store.state_count;
  result->zones = exploration->store.zone_count;
  result->expanded = exploration->expanded;
  result->transitions = exploration->transitions;
  result->peak_bytes = exploration->peak_bytes;
  if (exploration->stopped != STOP_NOT) {
    give_up(verifier, because[exploration->stopped]);
  } else {
    look_for_timelock(verifier);
  }
  const Seen *seen = verifier->world->seen;
  for (int32_t p = 0; p < seen->problem_count; p++) {
    report_problem(verifier, seen->problems[p]);
  }
}

static void copy_coverage(Verifier *verifier) {
  int32_t count = verifier->program->code_count;
  verifier->result->covered = g_new0(uint64_t, (gsize)count / 64 + 1);
  for (int32_t pc = 0; pc < count; pc++) {
    if (verifier->world->seen->covered[pc]) {
      verifier->result->covered[pc / 64] |= UINT64_C(1) << (pc % 64);
    }
  }
}

Verification *verify(const Program *program, const VerifyOptions *options) {
  int64_t too_large_us = 0;
  Verifier verifier = {.program = program, .options = options};
  verifier.result = g_new0(Verification, 1);
  verifier.findings = g_array_new(FALSE, TRUE, sizeof(Finding));
  verifier.world = world_new(program, property_monitors, PROPERTY_COUNT);
  verifier.timed = verifier.world->too_large ? NULL : timed_new(verifier.world, &too_large_us);
  if (verifier.world->too_large) {
    add_finding(&verifier, "overflow", (Span){0},
                g_strdup("this scenario has too many processes, variables or timers for one state: make it smaller"));
    give_up(&verifier, "the scenario is too large");
  } else if (verifier.timed == NULL) {
    g_autofree char *text = run_time_text(too_large_us * 1000);
    add_finding(&verifier, "constant", (Span){0},
                g_strdup_printf(
                    "the duration of %s s is too large beside the finest one of this model: use rounder times", text));
    give_up(&verifier, "a duration is too large");
  } else {
    run_exploration(&verifier);
  }
  report_asymmetry(&verifier);
  verifier.result->property_count = property_count(&verifier);
  verifier.result->properties = g_new0(PropertyResult, (gsize)verifier.result->property_count);
  for (int32_t p = 0; p < verifier.result->property_count; p++) {
    decide_property(&verifier, p);
  }
  copy_coverage(&verifier);
  verifier.result->finding_count = (int32_t)verifier.findings->len;
  verifier.result->findings = (Finding *)(void *)g_array_free(verifier.findings, FALSE);
  if (verifier.exploration != NULL) {
    exploration_free(verifier.exploration);
  }
  timed_free(verifier.timed);
  world_free(verifier.world);
  return verifier.result;
}

void verification_free(Verification *verification) {
  if (verification == NULL) {
    return;
  }
  for (int32_t p = 0; p < verification->property_count; p++) {
    g_free(verification->properties[p].name);
    g_free(verification->properties[p].note);
    run_free(verification->properties[p].run);
  }
  for (int32_t f = 0; f < verification->finding_count; f++) {
    g_free(verification->findings[f].kind);
    g_free(verification->findings[f].text);
  }
  g_free(verification->properties);
  g_free(verification->findings);
  g_free(verification->covered);
  g_free(verification);
}
