/* What never happened in any scenario of a model, over hand-made programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/coverage.h"
#include "cli/warning.h"

/* if x { votes } else { other } critical … done, and a service with a handler and a timer. */
static const char text[] = "x votes other critical done handler expiry";

enum { CODE = 8, MODEL = SOURCES_MODEL, SERVICE };

typedef struct Fixture {
  Program program;
  Instr code[CODE];
  ClientKind kind;
  Service service;
  Handler handler;
  Timer timer;
} Fixture;

static Span span_of(const char *word) {
  uint32_t begin = (uint32_t)(strstr(text, word) - text);
  return (Span){.file = MODEL, .begin = begin, .end = begin + (uint32_t)strlen(word)};
}

static void fixture_init(Fixture *fixture, Sources *sources, uint32_t file) {
  *fixture = (Fixture){0};
  const Instr code[CODE] = {
      {.op = OP_JUMP_UNLESS, .operand = 3, .span = span_of("x")},
      {.op = OP_PUSH, .span = span_of("votes")},
      {.op = OP_JUMP, .operand = 4},
      {.op = OP_PUSH, .span = span_of("other")},
      {.op = OP_ENTER, .span = span_of("critical")},
      {.op = OP_STOP, .span = span_of("done")},
      {.op = OP_DONE, .span = span_of("handler")},
      {.op = OP_DONE, .span = span_of("expiry")},
  };
  memcpy(fixture->code, code, sizeof code);
  for (int32_t pc = 0; pc < CODE; pc++) {
    fixture->code[pc].span.file = file;
  }
  fixture->kind = (ClientKind){.name = (char *)"client", .count = 2, .enters = true};
  fixture->handler = (Handler){.name = (char *)"release", .entry = 6, .span = span_of("handler")};
  fixture->timer = (Timer){.name = (char *)"expiry", .entry = 7, .span = span_of("expiry")};
  fixture->service = (Service){.name = (char *)"redis",
                               .handlers = &fixture->handler,
                               .handler_count = 1,
                               .timers = &fixture->timer,
                               .timer_count = 1};
  fixture->program = (Program){.sources = sources,
                               .code = fixture->code,
                               .code_count = CODE,
                               .kinds = &fixture->kind,
                               .kind_count = 1,
                               .services = &fixture->service,
                               .service_count = 1};
  fixture->handler.span.file = file;
  fixture->timer.span.file = file;
}

/* The warnings after two scenarios that executed these instructions, which stand in the file. */
static GPtrArray *warnings_after(uint32_t file, uint64_t first, uint64_t second) {
  Sources *sources = sources_new();
  sources_add(sources, "m.lk", text, strlen(text));
  sources_add(sources, "redis.lk", text, strlen(text));
  Fixture fixture;
  fixture_init(&fixture, sources, file);
  uint64_t covered[] = {first, second};
  Verification verifications[] = {{.covered = &covered[0]}, {.covered = &covered[1]}};
  Outcome outcomes[] = {{.program = &fixture.program, .verification = &verifications[0]},
                        {.program = &fixture.program, .verification = &verifications[1]}};
  g_autoptr(GPtrArray) both = g_ptr_array_new();
  g_ptr_array_add(both, &outcomes[0]);
  g_ptr_array_add(both, &outcomes[1]);
  GPtrArray *warnings = coverage_warnings(both);
  sources_free(sources);
  return warnings;
}

static void check_in(uint32_t file, uint64_t first, uint64_t second, guint count, const char *expected) {
  g_autoptr(GPtrArray) warnings = warnings_after(file, first, second);
  assert_int_equal(warnings->len, count);
  if (count) {
    const Warning *warning = warnings->pdata[0];
    g_autofree char *printed = g_strdup_printf("%u:%u: %s", warning->line, warning->column, warning->text);
    assert_string_equal(printed, expected);
  }
}

static void check(uint64_t first, uint64_t second, guint count, const char *expected) {
  check_in(MODEL, first, second, count, expected);
}

static void test_what_all_scenarios_ran_together_is_no_warning(void **state) {
  (void)state;
  check(0xff, 0xff, 0, NULL);
  check(0xf7, 0xfd, 0, NULL);
}

static void test_a_branch_that_is_never_taken_is_named(void **state) {
  (void)state;
  check(0xf7, 0xf7, 1, "1:9: this never runs in any scenario");
  check(0xf9, 0xf9, 1, "1:3: this never runs in any scenario");
}

static void test_a_handler_that_never_runs_is_named(void **state) {
  (void)state;
  check(0xbf, 0xbf, 1, "1:29: 'redis.release' is called, but never runs in any scenario");
}

static void test_a_timer_that_never_fires_is_named(void **state) {
  (void)state;
  check(0x7f, 0x7f, 1, "1:37: 'redis.expiry' never fires in any scenario");
}

static void test_a_client_that_never_enters_is_named(void **state) {
  (void)state;
  check(0xcf, 0xcf, 1, "1:15: 'client' never enters its critical section in any scenario");
}

static void test_code_that_nothing_leads_to_is_no_warning(void **state) {
  (void)state;
  check(0xdf, 0xdf, 0, NULL); /* `done` behind an endless section */
}

static void test_a_service_of_another_file_may_have_idle_parts(void **state) {
  (void)state;
  check_in(SERVICE, 0xf7, 0xf7, 0, NULL); /* a branch */
  check_in(SERVICE, 0x7f, 0x7f, 0, NULL); /* a timer */
  check_in(SERVICE, 0xbf, 0xbf, 1, "1:29: 'redis.release' is called, but never runs in any scenario");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_all_scenarios_ran_together_is_no_warning),
      cmocka_unit_test(test_a_branch_that_is_never_taken_is_named),
      cmocka_unit_test(test_a_handler_that_never_runs_is_named),
      cmocka_unit_test(test_a_timer_that_never_fires_is_named),
      cmocka_unit_test(test_a_client_that_never_enters_is_named),
      cmocka_unit_test(test_code_that_nothing_leads_to_is_no_warning),
      cmocka_unit_test(test_a_service_of_another_file_may_have_idle_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
