/* Hull against exact merging, with client symmetry and without: the same verdicts and the same cheapest costs on every
 * shipped model; and every violation, read back from its trace, replays to the same property, byte for byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
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
  static const char *const models[] = {"single_node", "fenced", "broken/fenced_write_only", "broken/naked_del",
                                       "broken/redlock_no_validity", "broken/fischer_fast"};
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
  static const struct { const char *model, *scenario; } newer_ones[] = {
      {"advisory_lock", "calm"},
      {"advisory_lock", "pause"},
      {"advisory_lock", "client_crash"},
      {"advisory_lock", "impatient"},
      {"advisory_lock", "short_cut"},
      {"advisory_lock", "cut"},
      {"advisory_lock", "reaped"},
      {"advisory_lock", "late_write"},
      {"consul", "calm"},
      {"fifo", "calm"},
      {"fifo", "pause"},
      {"lease_at_resource", "calm"},
      {"lease_at_resource", "pause"},
      {"lease_at_resource", "late"},
      {"lease_at_resource", "small_skew"},
      {"lease_at_resource", "large_skew"},
      {"lease_at_resource", "small_step"},
      {"lease_at_resource", "large_step"},
      {"lock_table", "calm"},
      {"lock_table", "small_skew"},
      {"lock_table", "skew"},
      {"lock_table", "small_step"},
      {"lock_table", "step"},
      {"lock_table", "client_crash"},
      {"lock_table", "pause"},
      {"optimistic_version", "calm"},
      {"optimistic_version", "pause"},
      {"optimistic_version", "late"},
      {"optimistic_version", "client_crash"},
      {"optimistic_version", "restart"},
      {"readers_writer", "calm"},
      {"readers_writer", "pause"},
      {"redlock_cas", "calm"},
      {"redlock_counter", "calm"},
      {"redlock_extend", "calm"},
      {"select_for_update", "calm"},
      {"select_for_update", "pause"},
      {"select_for_update", "short_pause"},
      {"select_for_update", "no_timeout"},
      {"select_for_update", "late"},
      {"select_for_update", "twice"},
      {"select_for_update", "client_crash"},
      {"select_for_update", "silent_crash"},
      {"select_for_update", "restart"},
      {"semaphore", "calm"},
      {"semaphore", "short_pause"},
      {"stamped_writes", "calm"},
      {"stamped_writes", "pause"},
      {"stamped_writes", "suspend"},
      {"watchdog", "calm"},
      {"watchdog", "client_crash"},
      {"watchdog", "unordered"},
      {"watchdog_deadline", "calm"},
      {"broken/advisory_unlock_first", "calm"},
      {"broken/consul_no_delay", "calm"},
      {"broken/lock_table_blind", "calm"},
      {"broken/lock_table_no_margin", "calm"},
      {"broken/lock_table_no_margin", "skew"},
      {"broken/no_expiry", "calm"},
      {"broken/no_expiry", "pause"},
      {"broken/no_expiry", "client_crash"},
      {"broken/no_expiry", "late_set"},
      {"broken/optimistic_version_blind", "calm"},
      {"broken/optimistic_version_reread", "calm"},
      {"broken/overrun", "calm"},
      {"broken/overrun", "work_below"},
      {"broken/overrun", "work_above"},
      {"broken/readers_one_lease", "calm"},
      {"broken/redlock_cas_read_first", "calm"},
      {"broken/redlock_no_validity", "calm"},
      {"broken/redlock_wall_clock", "calm"},
      {"broken/row_lock_of_connection", "calm"},
      {"broken/row_lock_of_connection", "late"},
      {"broken/semaphore_given_twice", "calm"},
      {"broken/semaphore_two_steps", "calm"},
      {"broken/setnx_expire", "calm"},
      {"broken/setnx_expire", "client_crash"},
      {"broken/watchdog_never", "calm"},
      {"broken/watchdog_recreate", "ordered"},
      {"broken/watchdog_recreate", "unordered"},
  };
  for (size_t i = 0; i < sizeof newer_ones / sizeof newer_ones[0]; i++) {
    check_scenario(newer_ones[i].model, newer_ones[i].scenario, NULL);
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
