#include "cli/outcome.h"

#include <string.h>

static bool is_about(const Expectation *expected, const PropertyResult *result) {
  if (expected->obtainable != NO_INDEX || result->obtainable != NO_INDEX) {
    return expected->obtainable == result->obtainable;
  }
  return expected->is_never == result->is_never && strcmp(expected->property, result->name) == 0;
}

/* What `all` speaks of: everything that the model can violate but for what is obtainable. */
static const Expectation *find_expectation(const Program *program, const PropertyResult *result) {
  const Expectation *of_all = NULL;
  for (int32_t i = 0; i < program->expectation_count; i++) {
    const Expectation *expected = &program->expectations[i];
    if (is_about(expected, result)) {
      return expected;
    }
    if (!expected->is_never && strcmp(expected->property, "all") == 0 && result->obtainable == NO_INDEX) {
      of_all = expected;
    }
  }
  return result->verdict == VERDICT_NOT_APPLICABLE ? NULL : of_all;
}

static Met judge(const PropertyResult *result, const Expectation *expected) {
  if (!expected) {
    return MET_NO_CLAIM;
  }
  if (!result) {
    return MET_UNDECIDED;
  }
  switch (result->verdict) {
  case VERDICT_PROVED: return expected->holds && !result->vacuous ? MET_YES : MET_NO;
  case VERDICT_VIOLATED: return expected->holds ? MET_NO : MET_YES;
  case VERDICT_NOT_APPLICABLE: return MET_NO;
  case VERDICT_NOT_VIOLATED:
  case VERDICT_UNDECIDED: break;
  }
  return MET_UNDECIDED;
}

static bool was_checked(const Verification *verification, const Expectation *expected) {
  for (int32_t i = 0; i < verification->property_count; i++) {
    if (is_about(expected, &verification->properties[i])) {
      return true;
    }
  }
  return !expected->is_never && strcmp(expected->property, "all") == 0;
}

Outcome *outcome_new(Program *program, Verification *verification, double seconds) {
  Outcome *outcome = g_new0(Outcome, 1);
  outcome->program = program;
  outcome->verification = verification;
  outcome->seconds = seconds;
  outcome->engine = "exhaustive";
  outcome->claims = g_new0(Claim, (gsize)(verification->property_count + program->expectation_count));
  for (int32_t i = 0; i < verification->property_count; i++) {
    const PropertyResult *result = &verification->properties[i];
    const Expectation *expected = find_expectation(program, result);
    outcome->claims[outcome->claim_count++] =
        (Claim){.property = result->name, .result = result, .expected = expected, .met = judge(result, expected)};
  }
  for (int32_t i = 0; i < program->expectation_count; i++) {
    const Expectation *expected = &program->expectations[i];
    if (!was_checked(verification, expected)) {
      outcome->claims[outcome->claim_count++] =
          (Claim){.property = expected->property, .expected = expected, .met = MET_UNDECIDED};
    }
  }
  return outcome;
}

void outcome_free(Outcome *outcome) {
  program_free(outcome->program);
  verification_free(outcome->verification);
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    g_free(outcome->claims[i].trace);
    g_free(outcome->claims[i].less.text);
  }
  g_free(outcome->claims);
  g_free(outcome);
}

uint32_t claim_steps(const Claim *claim) {
  return (uint32_t)claim->result->run->step_count;
}

uint32_t claim_strikes_inside(const Claim *claim) {
  return claim->result->steps - claim_steps(claim);
}

char *claim_in_brief(const Outcome *outcome, const Claim *claim) {
  return g_strdup_printf("%s: %s is violated, too\n  %s\n  lockstep replay %s\n", outcome->program->scenario,
                         claim->property, claim->result->run->property_sentence, claim->trace);
}

bool outcome_is_complete(const Outcome *outcome) {
  bool complete = outcome->verification->stopped == STOP_NOT;
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    const PropertyResult *result = outcome->claims[i].result;
    complete = complete && result && result->verdict != VERDICT_UNDECIDED && result->verdict != VERDICT_NOT_VIOLATED;
  }
  return complete;
}

int32_t outcome_count(const Outcome *outcome, Met met) {
  int32_t count = 0;
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    count += outcome->claims[i].met == met;
  }
  return count;
}

ExitCode outcome_code(const Outcome *outcome) {
  if (outcome->program->expectation_count == 0) {
    if (outcome_first_violation(outcome)) {
      return EXIT_NOT_MET;
    }
    return outcome_is_complete(outcome) ? EXIT_MET : EXIT_UNDECIDED;
  }
  if (outcome_count(outcome, MET_NO) > 0) {
    return EXIT_NOT_MET;
  }
  return outcome_count(outcome, MET_UNDECIDED) > 0 ? EXIT_UNDECIDED : EXIT_MET;
}

ExitCode outcome_worse(ExitCode a, ExitCode b) {
  if (a == EXIT_NOT_MET || b == EXIT_NOT_MET) {
    return EXIT_NOT_MET;
  }
  return a == EXIT_MET ? b : a;
}

const Claim *outcome_first_violation(const Outcome *outcome) {
  const Claim *first = NULL;
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    const Claim *claim = &outcome->claims[i];
    bool violated = claim->result && claim->result->verdict == VERDICT_VIOLATED;
    if (violated && (!first || (first->met != MET_NO && claim->met == MET_NO))) {
      first = claim;
    }
  }
  return first;
}
