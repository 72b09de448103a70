#include "explore/fuzz.h"

#include <glib.h>
#include <string.h>

#include "explore/confirm.h"
#include "explore/shrink.h"

enum { NEARBY_RUNS = 4000, SHORTER_STEPS = 300000, SHORTER_RUNS = 8000, SHORTER_SEARCHES = 8, SHORT_ENOUGH = 16 };

/* --- findings ---------------------------------------------------------------------------------------------------- */

static Finding finding_of(const Program *program, Problem problem) {
  static const struct {
    const char *kind, *text;
  } words[] = {
      [PROBLEM_NONE] = {"", ""},
      [PROBLEM_RANGE] = {"range", "a value outside the range of its variable"},
      [PROBLEM_SLOTS] = {"overflow", "more messages are in flight here than there is room for"},
      [PROBLEM_NAMES] = {"overflow", "more tokens, tickets, attempts or pending things at once than a state may hold"},
      [PROBLEM_ENDLESS] = {"endless", "a step that does not come to an end, or has too many outcomes"},
      [PROBLEM_VALUE] = {"value", "a value of the wrong kind (a reply that is no ticket, say), or a division by zero"},
  };
  bool placed = problem.pc >= 0 && problem.pc < program->code_count;
  return (Finding){g_strdup(words[problem.kind].kind), g_strdup(words[problem.kind].text),
                   placed ? program->code[problem.pc].span : (Span){0}};
}

static void list_findings(Verification *verification, const Program *program, const RandomResult *found,
                          bool too_large) {
  verification->findings = g_new0(Finding, (gsize)found->problem_count + 1);
  for (int32_t p = 0; p < found->problem_count; p++) {
    verification->findings[verification->finding_count++] = finding_of(program, found->problems[p]);
  }
  if (too_large) {
    verification->findings[verification->finding_count++] =
        (Finding){g_strdup("overflow"),
                  g_strdup("this scenario has too many processes, variables or timers for one state: make it smaller"),
                  (Span){0}};
  }
}

/* --- properties -------------------------------------------------------------------------------------------------- */

static bool is_about(const World *world, const Expectation *expected, int32_t property) {
  int32_t obtainable = property - (world_property_count(world) - world->program->obtainable_count);
  if (expected->obtainable != NO_INDEX || obtainable >= 0) {
    return expected->obtainable == obtainable;
  }
  return strcmp(world->property_names[property], expected->property) == 0;
}

static uint64_t claimed_broken(const World *world) {
  const Program *program = world->program;
  uint64_t wanted = 0;
  for (int32_t e = 0; e < program->expectation_count; e++) {
    for (int32_t p = 0; p < world_property_count(world) && !program->expectations[e].holds; p++) {
      wanted |= is_about(world, &program->expectations[e], p) ? UINT64_C(1) << p : 0;
    }
  }
  return wanted;
}

/* --- the cheapest run that can be had ---------------------------------------------------------------------------- */

/* What is left of a find, and the world in which it happens. */
typedef struct Reduced {
  World *world;
  Shrunk shrunk;
} Reduced;

static void reduced_clear(Reduced *reduced) {
  shrunk_clear(&reduced->shrunk);
  world_free(reduced->world);
  *reduced = (Reduced){0};
}

static Reduced reduce(const Program *program, const Find *find, int32_t property) {
  Reduced reduced = {.world = world_new_with(program, property_monitors, PROPERTY_COUNT, &find->clocks)};
  reduced.shrunk = shrink(reduced.world, find->decisions, find->count, property);
  return reduced;
}

/* The same search once more, for runs of at most `length` steps. */
static RandomResult *search_shorter(const FuzzOptions *options, const Program *program, int32_t property,
                                    int32_t length) {
  RandomOptions random = options->random;
  random.seed = rng_derive(rng_derive_named(random.seed, "shorter"), (uint64_t)property << 32 | (uint64_t)length);
  random.runs = SHORTER_STEPS / (uint64_t)length;
  random.runs = random.runs < SHORTER_RUNS ? random.runs : SHORTER_RUNS;
  random.steps_max = length;
  random.wanted = UINT64_C(1) << property;
  random.to_the_end = false;
  random.tick = NULL;
  return random_search(program, &random);
}

/* Shrinking removes what is superfluous but finds no other way, and takes long for long runs: a find of half the
 * length, if there is one, saves much. NULL: there is none. */
static RandomResult *search_much_shorter(const FuzzOptions *options, const Program *program, int32_t property,
                                         int32_t length) {
  RandomResult *best = NULL;
  for (int32_t half = length / 2; half >= SHORT_ENOUGH; half /= 2) {
    RandomResult *found = search_shorter(options, program, property, half);
    if (found->finds[property].decisions == NULL) {
      random_result_free(found);
      return best;
    }
    random_result_free(best);
    best = found;
    half = found->finds[property].count;
  }
  return best;
}

static void look_for_shorter(const FuzzOptions *options, const Program *program, int32_t property, Reduced *best) {
  for (int32_t i = 0; i < SHORTER_SEARCHES && best->shrunk.count > 1; i++) {
    RandomResult *found = search_shorter(options, program, property, best->shrunk.count - 1);
    bool any = found->finds[property].decisions != NULL;
    Reduced other = any ? reduce(program, &found->finds[property], property) : (Reduced){0};
    random_result_free(found);
    if (!any || other.shrunk.decisions == NULL || !shrunk_is_cheaper(&other.shrunk, &best->shrunk)) {
      reduced_clear(&other);
      return;
    }
    reduced_clear(best);
    *best = other;
  }
}

static Reduced cheapest_of(const FuzzOptions *options, const Program *program, const Find *find, int32_t property) {
  RandomResult *shorter = search_much_shorter(options, program, property, find->count);
  Reduced best = reduce(program, shorter != NULL ? &shorter->finds[property] : find, property);
  random_result_free(shorter);
  if (best.shrunk.decisions != NULL) {
    look_for_shorter(options, program, property, &best);
    uint64_t seed = rng_derive(options->random.seed, (uint64_t)property);
    shrink_nearby(best.world, &best.shrunk, property, seed, NEARBY_RUNS);
    shrink_tidy(best.world, &best.shrunk, property);
  }
  return best;
}

static void convict(const FuzzOptions *options, const Program *program, const Find *find, int32_t property,
                    PropertyResult *result) {
  g_autofree char *problem = NULL;
  Reduced best = {0};
  if (!options->as_found) {
    if (options->shrinking != NULL) {
      options->shrinking(options->random.user, result->name);
    }
    best = cheapest_of(options, program, find, property);
  }
  if (best.shrunk.decisions != NULL) {
    result->run =
        confirm_decisions(best.world, best.shrunk.decisions, best.shrunk.count, best.shrunk.end_ns, property, &problem);
  }
  if (result->run == NULL) { /* as it was found */
    World *world = world_new_with(program, property_monitors, PROPERTY_COUNT, &find->clocks);
    g_free(problem);
    result->run = confirm_decisions(world, find->decisions, find->count, find->end_ns, property, &problem);
    world_free(world);
  }
  if (result->run != NULL) {
    result->verdict = VERDICT_VIOLATED;
    result->faults = (uint32_t)result->run->faults;
    result->steps = (uint32_t)result->run->step_count;
  } else {
    result->verdict = VERDICT_UNDECIDED;
    result->note = g_strdup_printf("a violation was found but not confirmed: %s", problem);
  }
  reduced_clear(&best);
}

static void decide(const FuzzOptions *options, const World *world, const RandomResult *found, int32_t property,
                   Fuzzing *fuzzing) {
  PropertyResult *result = &fuzzing->verification->properties[property];
  const Find *find = &found->finds[property];
  result->name = g_strdup(world->property_names[property]);
  int32_t obtainable = property - (world_property_count(world) - world->program->obtainable_count);
  result->obtainable = obtainable >= 0 ? obtainable : NO_INDEX;
  result->is_never = property >= world->monitor_count && obtainable < 0;
  if (property < world->monitor_count && !world->monitors[property]->applicable(world->program)) {
    result->verdict = VERDICT_NOT_APPLICABLE;
  } else if (find->decisions != NULL) {
    fuzzing->found_in[property] = find->run + 1;
    fuzzing->found_by[property] = find->strategy->name;
    fuzzing->found_steps[property] = find->count;
    convict(options, world->program, find, property, result);
  } else if (found->runs == 0) {
    result->verdict = VERDICT_UNDECIDED;
    result->note = g_strdup("nothing was run");
  } else {
    result->verdict = VERDICT_NOT_VIOLATED;
  }
  result->note = result->note != NULL ? result->note : g_strdup("");
}

Fuzzing *fuzz(const Program *program, const FuzzOptions *options) {
  Fuzzing *fuzzing = g_new0(Fuzzing, 1);
  Verification *verification = fuzzing->verification = g_new0(Verification, 1);
  World *world = world_new_with(program, property_monitors, PROPERTY_COUNT, &(Clocks){.suspends = SUSPEND_SHORTEST});
  RandomOptions random = options->random;
  random.wanted = claimed_broken(world);
  random.runs = world->too_large ? 0 : random.runs;
  RandomResult *found = random_search(program, &random);
  fuzzing->runs = found->runs;
  fuzzing->steps = found->steps;
  fuzzing->entries = found->entries;
  verification->stopped = found->stopped;
  verification->property_count = world_property_count(world);
  verification->properties = g_new0(PropertyResult, (gsize)verification->property_count);
  verification->covered = g_new0(uint64_t, (gsize)program->code_count / 64 + 1);
  list_findings(verification, program, found, world->too_large);
  for (int32_t p = 0; p < verification->property_count; p++) {
    decide(options, world, found, p, fuzzing);
  }
  random_result_free(found);
  world_free(world);
  return fuzzing;
}

void fuzzing_free(Fuzzing *fuzzing) {
  g_free(fuzzing);
}
