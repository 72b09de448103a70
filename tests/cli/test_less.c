/* How much less of a fault is enough: by hand on single_node, whose lease of 10 s ends 4.9 s after the last moment at
 * which its holder can be inside (test_cli.py has the sum), with other faults, and where there is no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/less.h"
#include "support/shipped.h"

typedef struct Fixture {
  Shipped shipped;
  Outcome *outcome;
} Fixture;

/* Single_node with one more scenario, whose lines are given. */
static void fixture_open(Fixture *fixture, const char *lines) {
  const char *folder = g_getenv("LOCKSTEP_MODELS");
  g_autofree char *path = g_build_filename(folder != NULL ? folder : "models", "single_node.lk", NULL);
  g_autofree char *model = NULL;
  assert_true(g_file_get_contents(path, &model, NULL, NULL));
  g_autofree char *text = g_strconcat(model, "\nscenario less \"\" {\nlatency 0ms..20ms\n", lines, "\n}\n", NULL);
  fixture->shipped = shipped_text(text, "less", NULL);
  Verification *verification = verify(fixture->shipped.program, &(VerifyOptions){.symmetry = true});
  fixture->outcome = outcome_new(fixture->shipped.program, verification, 0);
}

static void fixture_close(Fixture *fixture) {
  outcome_free(fixture->outcome);
  model_free(fixture->shipped.model);
}

static const Less *less_of(const Fixture *fixture, const char *property) {
  for (int32_t i = 0; i < fixture->outcome->claim_count; i++) {
    if (strcmp(fixture->outcome->claims[i].property, property) == 0) {
      return &fixture->outcome->claims[i].less;
    }
  }
  fail_msg("no property %s", property);
  return NULL;
}

/* `text` NULL: nothing is said. */
static void check(const char *lines, const char *text) {
  Fixture fixture;
  fixture_open(&fixture, lines);
  Fault given = fixture.shipped.program->faults[0];
  less_search(fixture.outcome, &(VerifyOptions){.symmetry = true});
  const Less *less = less_of(&fixture, "mutual_exclusion");
  if (text != NULL) {
    assert_non_null(less->text);
    assert_string_equal(less->text, text);
  } else {
    assert_null(less->text);
  }
  assert_int_equal(given.hi_us, fixture.shipped.program->faults[0].hi_us);
  assert_int_equal(given.by_us, fixture.shipped.program->faults[0].by_us);
  fixture_close(&fixture);
}

static void test_a_pause_has_its_threshold(void **state) {
  (void)state;
  check("1 pause of client for 0s..15s", "a pause of 4,900 ms is enough; with 4,899 ms it is proved");
  check("1 pause of client for 0s..inf", "a pause of 4,900 ms is enough; with 4,899 ms it is proved");
}

static void test_a_window_that_begins_above_it_allows_no_less(void **state) {
  (void)state;
  check("1 pause of client for 6s..15s", "a pause of 6,000 ms is enough, and the scenario allows no less");
}

static void test_a_clock_step_has_its_threshold(void **state) {
  (void)state;
  check("1 step of node by 10s", "a clock step of 4,900 ms is enough; with 4,899 ms it is proved");
}

static void test_a_message_that_never_comes_is_enough(void **state) {
  (void)state;
  check("1 late to store", "it is enough that the message never comes");
}

static void test_nothing_is_said_where_no_one_fault_decides(void **state) {
  (void)state;
  check("2 pause of client for 0s..15s\nrounds 1", NULL);
  check("1 pause of client for 0s..15s\n1 late to store\nrounds 1", NULL);
  check("1 pause of client for 0s..1s", NULL);
}

typedef struct Patience {
  int32_t left;
} Patience;

static StopReason lose_patience(void *user, const Progress *progress) {
  Patience *patience = user;
  (void)progress;
  return patience->left-- > 0 ? STOP_NOT : STOP_TIME;
}

static void test_a_search_that_is_stopped_says_so(void **state) {
  (void)state;
  Fixture fixture;
  Patience patience = {10};
  fixture_open(&fixture, "1 pause of client for 0s..15s");
  less_search(fixture.outcome, &(VerifyOptions){.symmetry = true, .tick = lose_patience, .user = &patience});
  const Less *less = less_of(&fixture, "mutual_exclusion");
  assert_non_null(strstr(less->text, "is enough; whether less is was not decided"));
  assert_int_equal(less->proved_us, -1);
  assert_true(less->enough_us >= 4900000);
  fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_pause_has_its_threshold),
      cmocka_unit_test(test_a_window_that_begins_above_it_allows_no_less),
      cmocka_unit_test(test_a_clock_step_has_its_threshold),
      cmocka_unit_test(test_a_message_that_never_comes_is_enough),
      cmocka_unit_test(test_nothing_is_said_where_no_one_fault_decides),
      cmocka_unit_test(test_a_search_that_is_stopped_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
