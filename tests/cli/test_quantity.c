/* Numbers with units, as people type and read them; and the names that they nearly type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/nearest.h"
#include "cli/quantity.h"

static guint64 bytes_of(const char *text) {
  guint64 bytes = 0;
  return quantity_parse_bytes(text, &bytes) ? bytes : 0;
}

static gint64 duration_of(const char *text) {
  gint64 duration_us = 0;
  return quantity_parse_duration(text, &duration_us) ? duration_us : -1;
}

static void check_text(char *made, const char *expected) {
  assert_string_equal(made, expected);
  g_free(made);
}

static void test_memory_is_read_in_powers_of_1024(void **state) {
  (void)state;
  assert_int_equal(bytes_of("1024"), 1024);
  assert_int_equal(bytes_of("500M"), 500 << 20);
  assert_int_equal(bytes_of("4G"), (guint64)4 << 30);
  assert_int_equal(bytes_of("1.5GiB"), (guint64)3 << 29);
}

static void test_what_is_no_memory_is_refused(void **state) {
  (void)state;
  const char *const wrong[] = {"", "much", "-4G", "4 G", "4X", "0", "1e300", "G", "0x10 ", "inf", "nan"};
  for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
    assert_int_equal(bytes_of(wrong[i]), 0);
  }
}

static void test_durations_have_units_and_default_to_seconds(void **state) {
  (void)state;
  assert_int_equal(duration_of("90"), 90000000);
  assert_int_equal(duration_of("90s"), 90000000);
  assert_int_equal(duration_of("10m"), 600000000);
  assert_int_equal(duration_of("500ms"), 500000);
  assert_int_equal(duration_of("2h"), 7200000000);
  assert_int_equal(duration_of("0s"), -1);
  assert_int_equal(duration_of("10 m"), -1);
}

static void test_counts_are_printed_in_groups(void **state) {
  (void)state;
  check_text(quantity_count(0), "0");
  check_text(quantity_count(999), "999");
  check_text(quantity_count(33568), "33,568");
  check_text(quantity_count(3200000), "3,200,000");
  check_text(quantity_of(1, "fault"), "1 fault");
  check_text(quantity_of(0, "fault"), "0 faults");
}

static void test_seconds_and_bytes_are_short(void **state) {
  (void)state;
  check_text(quantity_seconds(0.018), "0.02 s");
  check_text(quantity_seconds(0.999), "1.0 s");
  check_text(quantity_seconds(9.12), "9.1 s");
  check_text(quantity_seconds(725), "12 min 5 s");
  check_text(quantity_bytes(1), "0 KB");
  check_text(quantity_bytes(120 << 20), "120 MB");
  check_text(quantity_bytes((guint64)2150 << 20), "2.1 GB");
  check_text(quantity_bytes((guint64)4 << 30), "4 GB");
}

static const char *meant_by(const char *word) {
  static const char *const names[] = {"redlock", "redis_lock", "naked_del", "etcd", "fischer"};
  return nearest_find(word, names, G_N_ELEMENTS(names));
}

static void test_mistyped_names_are_recognised(void **state) {
  (void)state;
  assert_string_equal(meant_by("redlok"), "redlock");
  assert_string_equal(meant_by("erdlock"), "redlock");
  assert_string_equal(meant_by("Fisher"), "fischer");
  assert_string_equal(meant_by("etdc"), "etcd");
}

static void test_other_words_are_no_suggestion(void **state) {
  (void)state;
  assert_null(meant_by("zookeeper"));
  assert_null(meant_by(""));
  assert_null(meant_by("x"));
  assert_null(meant_by("a word that is far longer than any name of a model could ever reasonably be"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_is_read_in_powers_of_1024),
      cmocka_unit_test(test_what_is_no_memory_is_refused),
      cmocka_unit_test(test_durations_have_units_and_default_to_seconds),
      cmocka_unit_test(test_counts_are_printed_in_groups),
      cmocka_unit_test(test_seconds_and_bytes_are_short),
      cmocka_unit_test(test_mistyped_names_are_recognised),
      cmocka_unit_test(test_other_words_are_no_suggestion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
