/* Hull against exact merging, with client symmetry and without: the same verdicts and the same cheapest costs on every
 * shipped model; and every violation, read back from its trace, replays to the same property, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "explore/confirm.h"
#include "explore/verify.h"
#include "support/shipped.h"
#include "traces/json.h"

static unsigned violations, refusals;

static const TraceMeta meta = {.tool_version = "test", .model_hash = "0"};

static Run *read_back(const Run *run, char **text) {
  GError *error = NULL;
  TraceMeta read = {0};
  *text = trace_to_json(run, &meta);
  Run *copy = trace_from_json(*text, strlen(*text), &read, &error);
  assert_null(error);
  assert_non_null(copy);
  trace_meta_clear(&read);
  return copy;
}

static void assert_replays(const Program *program, const Run *run) {
  char *text, *mismatch;
  Run *copy = read_back(run, &text), *replayed = NULL;
  assert_true(replay_run(program, copy, &replayed, &mismatch));
  assert_string_equal(replayed->property, run->property);
  char *again = trace_to_json(replayed, &meta);
  assert_string_equal(again, text);
  g_free(again);
  g_free(text);
  run_free(copy);
  run_free(replayed);
  violations++;
}

/* A last step that comes before the one before it, and then one an hour too late for the message that it is. */
static void assert_tampering_shows(const Program *program, const Run *run) {
  for (int32_t way = 0; way < 2; way++) {
    char *text, *mismatch = NULL;
    Run *copy = read_back(run, &text), *replayed = NULL;
    RunStep *last = &copy->steps[copy->step_count - 1];
    bool changed = way == 0 ? copy->step_count > 1 && last[-1].time_ns > 0 : last->action.kind == 1; /* an arrival */
    if (changed) {
      last->time_ns = way == 0 ? last[-1].time_ns - 1 : last->time_ns + INT64_C(3600) * 1000000000;
    }
    bool taken = !changed || replay_run(program, copy, &replayed, &mismatch);
    assert_true(!changed || !taken);
    refusals += !taken;
    g_free(mismatch);
    g_free(text);
    run_free(copy);
    run_free(replayed);
  }
}

static void assert_same(const Verification *a, const Verification *b) {
  assert_int_equal(a->property_count, b->property_count);
  for (int32_t p = 0; p < a->property_count; p++) {
    assert_int_equal(a->properties[p].verdict, b->properties[p].verdict);
    assert_int_equal(a->properties[p].vacuous, b->properties[p].vacuous);
    assert_int_equal(a->properties[p].faults, b->properties[p].faults);
    assert_int_equal(a->properties[p].steps, b->properties[p].steps);
  }
}

static void check_scenario(const char *model, const char *scenario, const char *const *settings) {
  Shipped shipped = shipped_open(model, scenario, settings);
  Verification *hull = verify(shipped.program, &(VerifyOptions){.symmetry = true});
  Verification *exact = verify(shipped.program, &(VerifyOptions){.symmetry = true, .exact = true});
  Verification *plain = verify(shipped.program, &(VerifyOptions){0});
  print_message("%s %s: %u states, %u without symmetry, %u zones exact\n", model, scenario, (unsigned)hull->discrete,
                (unsigned)plain->discrete, (unsigned)exact->zones);
  assert_same(hull, exact);
  assert_same(hull, plain);
  assert_true(plain->discrete >= hull->discrete);
  for (int32_t p = 0; p < hull->property_count; p++) {
    if (hull->properties[p].verdict == VERDICT_VIOLATED) {
      assert_replays(shipped.program, hull->properties[p].run);
      assert_replays(shipped.program, plain->properties[p].run);
      assert_tampering_shows(shipped.program, hull->properties[p].run);
    }
  }
  verification_free(hull);
  verification_free(exact);
  verification_free(plain);
  shipped_close(&shipped);
}

static void test_all_ways_of_searching_agree_and_all_violations_replay(void **state) {
  (void)state;
  static const char *const models[] = {
      "single_node",        "fenced", "broken/fenced_write_only", "broken/naked_del", "broken/redlock_no_validity",
      "broken/fischer_fast"};
  for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
    char **scenarios = shipped_scenarios(models[m]);
    for (int32_t s = 0; scenarios[s] != NULL; s++) {
      check_scenario(models[m], scenarios[s], NULL);
    }
    g_strfreev(scenarios);
  }
  assert_true(violations >= 20);
  assert_true(refusals >= 10);
}

static void test_small_scenarios_of_newer_models(void **state) {
  (void)state;
  for (const ShippedScenario *small = shipped_small_scenarios; small->model != NULL; small++) {
    check_scenario(small->model, small->scenario, NULL);
  }
}

static void test_redlock_with_three_servers(void **state) {
  (void)state;
  static const char *const settings[] = {"servers", "3", NULL};
  static const char *const scenarios[] = {"calm", "ntp_step", "amnesia", "patient_restart", "late_write"};
  for (size_t s = 0; s < sizeof scenarios / sizeof scenarios[0]; s++) {
    check_scenario("redlock", scenarios[s], settings);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_ways_of_searching_agree_and_all_violations_replay),
      cmocka_unit_test(test_redlock_with_three_servers),
      cmocka_unit_test(test_small_scenarios_of_newer_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
