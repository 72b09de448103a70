/* Thresholds by hand, to the millisecond: on one side of each the engine proves, on the other it convicts.
 *
 * Redlock as shipped: TTL 10 s, margin 102 ms, work 0..5 s, latency 0..20 ms, five nodes asked one after the other.
 * A takes `since` and sends to node[0] at 0. Its key there is set at 0 at the earliest, so it is gone at 10 s, and at
 * that very instant B, which needs one of A's nodes, can take node[0], node[3] and node[4] in no time and enter.
 * A stays inside for longest when its reply from node[0] takes 20 ms (the request took none), the four other asks 40 ms
 * each, the read 40 ms, the work 5 s, and the write 40 ms: 20 + 160 + 40 + 5,000 + 40 = 5,260 ms. It meets B if it is
 * held up for 10,000 - 5,260 = 4,740 ms; bounds are closed, so 4,739 ms are safe and 4,740 ms are not. A step of
 * node[0]'s clock brings B forward by as much as a pause brings A back: the same figure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "explore/verify.h"
#include "support/shipped.h"

static Verdict verdict_of(const Verification *verification, const char *property) {
  for (int32_t p = 0; p < verification->property_count; p++) {
    if (strcmp(verification->properties[p].name, property) == 0) {
      return verification->properties[p].verdict;
    }
  }
  fail_msg("no property %s", property);
  return VERDICT_UNDECIDED;
}

/* Redlock with one more scenario, whose lines are given; mutual exclusion there. */
static void assert_verdict(const char *lines, Verdict expected) {
  const char *folder = g_getenv("LOCKSTEP_MODELS");
  g_autofree char *path = g_build_filename(folder != NULL ? folder : "models", "redlock.lk", NULL);
  g_autofree char *model = NULL;
  assert_true(g_file_get_contents(path, &model, NULL, NULL));
  g_autofree char *text = g_strconcat(model, "\nscenario threshold \"\" {\n", lines, "\n}\n", NULL);
  Shipped shipped = shipped_text(text, "threshold", NULL);
  Verification *verification = verify(shipped.program, &(VerifyOptions){.symmetry = true});
  Verdict verdict = verdict_of(verification, "mutual_exclusion");
  print_message("%s: %s, %u states\n", lines, verdict_name(verdict), (unsigned)verification->discrete);
  assert_int_equal(verdict, expected);
  verification_free(verification);
  shipped_close(&shipped);
}

#define NO_DELAY "latency 0s..0s\nset margin = 0s\n"

static void test_a_pause_of_exactly_the_rest_of_the_ttl_is_too_long(void **state) {
  (void)state;
  assert_verdict(NO_DELAY "1 pause of client for 0s..4999ms", VERDICT_PROVED);
  assert_verdict(NO_DELAY "1 pause of client for 0s..5000ms", VERDICT_VIOLATED);
}

static void test_work_up_to_the_very_ttl_needs_no_pause(void **state) {
  (void)state;
  assert_verdict(NO_DELAY "set work = inf", VERDICT_VIOLATED);
}

static void test_a_margin_of_a_millisecond_is_enough_without_delays(void **state) {
  (void)state;
  assert_verdict("latency 0s..0s\nset margin = 1ms\nset work = inf", VERDICT_PROVED);
}

static void test_the_pause_that_breaks_redlock_as_shipped(void **state) {
  (void)state;
  assert_verdict("latency 0ms..20ms\n1 pause of client for 0s..4739ms", VERDICT_PROVED);
  assert_verdict("latency 0ms..20ms\n1 pause of client for 0s..4740ms", VERDICT_VIOLATED);
}

static void test_the_clock_step_that_breaks_redlock_as_shipped(void **state) {
  (void)state;
  assert_verdict("latency 0ms..20ms\n1 step of node by 4739ms", VERDICT_PROVED);
  assert_verdict("latency 0ms..20ms\n1 step of node by 4740ms", VERDICT_VIOLATED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_pause_of_exactly_the_rest_of_the_ttl_is_too_long),
      cmocka_unit_test(test_work_up_to_the_very_ttl_needs_no_pause),
      cmocka_unit_test(test_a_margin_of_a_millisecond_is_enough_without_delays),
      cmocka_unit_test(test_the_pause_that_breaks_redlock_as_shipped),
      cmocka_unit_test(test_the_clock_step_that_breaks_redlock_as_shipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
