/* Verdicts held against claims: the table that decides the exit code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/outcome.h"

enum { PROPERTIES = 2 };

/* A scenario with two properties, and at most one claim on the first of them or on all. */
typedef struct Fixture {
  Program program;
  Verification verification;
  PropertyResult results[PROPERTIES];
  Expectation expectation;
  Outcome *outcome;
} Fixture;

static void fixture_init(Fixture *fixture, Verdict first, Verdict second, const char *claimed, bool holds) {
  *fixture = (Fixture){0};
  fixture->results[0] = (PropertyResult){
      .name = (char *)"mutual_exclusion", .verdict = first, .obtainable = NO_INDEX, .note = (char *)""};
  fixture->results[1] =
      (PropertyResult){.name = (char *)"fencing", .verdict = second, .obtainable = NO_INDEX, .note = (char *)""};
  fixture->verification.properties = fixture->results;
  fixture->verification.property_count = PROPERTIES;
  fixture->expectation = (Expectation){.property = (char *)claimed, .holds = holds, .obtainable = NO_INDEX};
  fixture->program.expectations = &fixture->expectation;
  fixture->program.expectation_count = claimed ? 1 : 0;
}

static ExitCode judge(Fixture *fixture) {
  fixture->outcome = outcome_new(&fixture->program, &fixture->verification, 0);
  return outcome_code(fixture->outcome);
}

/* The fixture owns what an outcome would. */
static void fixture_clear(Fixture *fixture) {
  g_free(fixture->outcome->claims);
  g_free(fixture->outcome);
}

static void check(Verdict verdict, bool vacuous, bool holds, Met met, ExitCode code) {
  Fixture fixture;
  fixture_init(&fixture, verdict, VERDICT_NOT_APPLICABLE, "mutual_exclusion", holds);
  fixture.results[0].vacuous = vacuous;
  assert_int_equal(judge(&fixture), code);
  assert_int_equal(fixture.outcome->claims[0].met, met);
  assert_int_equal(fixture.outcome->claims[1].met, MET_NO_CLAIM);
  fixture_clear(&fixture);
}

static void test_a_claim_that_it_holds_is_met_by_a_proof_alone(void **state) {
  (void)state;
  check(VERDICT_PROVED, false, true, MET_YES, EXIT_MET);
  check(VERDICT_VIOLATED, false, true, MET_NO, EXIT_NOT_MET);
  check(VERDICT_NOT_VIOLATED, false, true, MET_UNDECIDED, EXIT_UNDECIDED);
  check(VERDICT_UNDECIDED, false, true, MET_UNDECIDED, EXIT_UNDECIDED);
}

static void test_a_claim_that_it_is_broken_is_met_by_a_violation_alone(void **state) {
  (void)state;
  check(VERDICT_VIOLATED, false, false, MET_YES, EXIT_MET);
  check(VERDICT_PROVED, false, false, MET_NO, EXIT_NOT_MET);
  check(VERDICT_UNDECIDED, false, false, MET_UNDECIDED, EXIT_UNDECIDED);
}

static void test_a_vacuous_proof_meets_no_claim(void **state) {
  (void)state;
  check(VERDICT_PROVED, true, true, MET_NO, EXIT_NOT_MET);
}

static void test_a_property_that_does_not_apply_meets_no_claim(void **state) {
  (void)state;
  check(VERDICT_NOT_APPLICABLE, false, true, MET_NO, EXIT_NOT_MET);
  check(VERDICT_NOT_APPLICABLE, false, false, MET_NO, EXIT_NOT_MET);
}

static void check_unclaimed(Verdict verdict, StopReason stopped, ExitCode code) {
  Fixture fixture;
  fixture_init(&fixture, VERDICT_PROVED, verdict, NULL, false);
  fixture.verification.stopped = stopped;
  assert_int_equal(judge(&fixture), code);
  fixture_clear(&fixture);
}

static void test_without_claims_nothing_may_be_violated(void **state) {
  (void)state;
  check_unclaimed(VERDICT_PROVED, STOP_NOT, EXIT_MET);
  check_unclaimed(VERDICT_NOT_APPLICABLE, STOP_NOT, EXIT_MET);
  check_unclaimed(VERDICT_VIOLATED, STOP_NOT, EXIT_NOT_MET);
  check_unclaimed(VERDICT_VIOLATED, STOP_TIME, EXIT_NOT_MET);
  check_unclaimed(VERDICT_UNDECIDED, STOP_NOT, EXIT_UNDECIDED);
  check_unclaimed(VERDICT_PROVED, STOP_MEMORY, EXIT_UNDECIDED);
}

static void check_all_hold(Verdict second, ExitCode code) {
  Fixture fixture;
  fixture_init(&fixture, VERDICT_PROVED, second, "all", true);
  assert_int_equal(judge(&fixture), code);
  fixture_clear(&fixture);
}

static void test_all_means_what_applies(void **state) {
  (void)state;
  check_all_hold(VERDICT_PROVED, EXIT_MET);
  check_all_hold(VERDICT_NOT_APPLICABLE, EXIT_MET);
  check_all_hold(VERDICT_VIOLATED, EXIT_NOT_MET);
  check_all_hold(VERDICT_UNDECIDED, EXIT_UNDECIDED);
}

static void test_a_property_has_its_own_claim_before_all(void **state) {
  (void)state;
  Fixture fixture;
  fixture_init(&fixture, VERDICT_PROVED, VERDICT_VIOLATED, "all", true);
  Expectation both[] = {fixture.expectation, {.property = (char *)"fencing", .holds = false, .obtainable = NO_INDEX}};
  fixture.program.expectations = both;
  fixture.program.expectation_count = 2;
  assert_int_equal(judge(&fixture), EXIT_MET);
  assert_int_equal(outcome_count(fixture.outcome, MET_YES), 2);
  fixture_clear(&fixture);
}

static void test_a_claim_on_what_was_not_checked_is_undecided(void **state) {
  (void)state;
  Fixture fixture;
  fixture_init(&fixture, VERDICT_PROVED, VERDICT_PROVED, "obtainable", true);
  assert_int_equal(judge(&fixture), EXIT_UNDECIDED);
  assert_int_equal(fixture.outcome->claim_count, PROPERTIES + 1);
  assert_null(fixture.outcome->claims[PROPERTIES].result);
  fixture_clear(&fixture);
}

static void test_a_never_is_no_property_of_the_same_name(void **state) {
  (void)state;
  Fixture fixture;
  fixture_init(&fixture, VERDICT_PROVED, VERDICT_PROVED, "fencing", true);
  fixture.results[1].is_never = true;
  assert_int_equal(judge(&fixture), EXIT_UNDECIDED);
  fixture_clear(&fixture);
}

static void test_the_violation_that_breaks_a_claim_is_shown_first(void **state) {
  (void)state;
  Fixture fixture;
  fixture_init(&fixture, VERDICT_VIOLATED, VERDICT_VIOLATED, "fencing", true);
  assert_int_equal(judge(&fixture), EXIT_NOT_MET);
  assert_string_equal(outcome_first_violation(fixture.outcome)->property, "fencing");
  fixture_clear(&fixture);
}

static void test_not_met_outweighs_undecided(void **state) {
  (void)state;
  assert_int_equal(outcome_worse(EXIT_MET, EXIT_MET), EXIT_MET);
  assert_int_equal(outcome_worse(EXIT_MET, EXIT_UNDECIDED), EXIT_UNDECIDED);
  assert_int_equal(outcome_worse(EXIT_UNDECIDED, EXIT_MET), EXIT_UNDECIDED);
  assert_int_equal(outcome_worse(EXIT_UNDECIDED, EXIT_NOT_MET), EXIT_NOT_MET);
  assert_int_equal(outcome_worse(EXIT_NOT_MET, EXIT_UNDECIDED), EXIT_NOT_MET);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_claim_that_it_holds_is_met_by_a_proof_alone),
      cmocka_unit_test(test_a_claim_that_it_is_broken_is_met_by_a_violation_alone),
      cmocka_unit_test(test_a_vacuous_proof_meets_no_claim),
      cmocka_unit_test(test_a_property_that_does_not_apply_meets_no_claim),
      cmocka_unit_test(test_without_claims_nothing_may_be_violated),
      cmocka_unit_test(test_all_means_what_applies),
      cmocka_unit_test(test_a_property_has_its_own_claim_before_all),
      cmocka_unit_test(test_a_claim_on_what_was_not_checked_is_undecided),
      cmocka_unit_test(test_a_never_is_no_property_of_the_same_name),
      cmocka_unit_test(test_the_violation_that_breaks_a_claim_is_shown_first),
      cmocka_unit_test(test_not_met_outweighs_undecided),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
