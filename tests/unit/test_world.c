/* What the semantics promise, on models of a few lines: each is judged by the whole way, search, confirmation and all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "explore/verify.h"
#include "support/shipped.h"

/* Holds or fails as one letter: p proved, v violated, u undecided, n not applicable. */
static char letter_of(const Verification *verification, const char *property) {
  for (int32_t p = 0; p < verification->property_count; p++) {
    if (strcmp(verification->properties[p].name, property) == 0) {
      return "pvxun"[verification->properties[p].verdict];
    }
  }
  return '?';
}

static bool has_finding(const Verification *verification, const char *kind) {
  for (int32_t f = 0; f < verification->finding_count; f++) {
    if (strcmp(verification->findings[f].kind, kind) == 0) {
      return true;
    }
  }
  return false;
}

/* `pairs` is "property", "letter", … and ends with NULL. */
static void judge(const char *text, const char *finding, const char *const *pairs) {
  Shipped shipped = shipped_text(text, "s", NULL);
  Verification *verification = verify(shipped.program, &(VerifyOptions){.symmetry = true});
  for (; *pairs != NULL; pairs += 2) {
    print_message("%s\n", *pairs);
    assert_int_equal(letter_of(verification, pairs[0]), pairs[1][0]);
  }
  if (finding == NULL) {
    assert_int_equal(verification->finding_count, 0);
  } else {
    assert_true(has_finding(verification, finding));
  }
  verification_free(verification);
  shipped_close(&shipped);
}

#define JUDGE(text, finding, ...) judge(text, finding, (const char *const[]){__VA_ARGS__, NULL})

static void test_an_ask_without_a_time_out_waits_for_ever_for_a_lost_message(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n r = ask x.get() }\n"
        "scenario s \"\" { latency 0s..1s\n 1 lost to x }\n",
        NULL, "deadlock", "v");
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n r = ask x.get() within 5s }\n"
        "scenario s \"\" { latency 0s..1s\n 1 lost to x }\n",
        NULL, "deadlock", "p");
}

static void test_a_loop_of_asks_that_take_no_time_is_a_timelock(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n loop { r = ask x.get() } }\n"
        "scenario s \"\" { latency 0s..0s }\n",
        "timelock", "deadlock", "u");
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n loop { r = ask x.get()\n wait 1s..1s } }\n"
        "scenario s \"\" { latency 0s..0s }\n",
        NULL, "deadlock", "p");
}

/* Two clients that keep apart by time alone: the second may begin whenever it likes, so they meet. */
static void test_an_instant_that_is_shared_counts_as_shared(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"
        "client[2] { var key : token\n key = fresh\n if ask node.set_nx(key, ttl) == ok { critical { wait 0s..10s } } }\n"
        "scenario s \"\" { latency 0s..0s }\n",
        NULL, "mutual_exclusion", "v");
  JUDGE("model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"
        "client[2] { var key : token\n key = fresh\n if ask node.set_nx(key, ttl) == ok { critical { wait 0s..9999ms } } }\n"
        "scenario s \"\" { latency 0s..0s }\n",
        NULL, "mutual_exclusion", "p");
}

/* The clock of the one server jumps by 4 s: a key of 10 s lives for 6. */
static void test_a_clock_step_brings_an_expiry_forward_by_its_length(void **state) {
  (void)state;
#define STEPPED(work)                                                                                                  \
  "model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"                                                    \
  "client[2] { var key : token\n key = fresh\n if ask node.set_nx(key, ttl) == ok { critical { wait 0s.." work        \
  " } } }\nscenario s \"\" { latency 0s..0s\n 1 step of node by 4s }\n"
  JUDGE(STEPPED("5999ms"), NULL, "mutual_exclusion", "p");
  JUDGE(STEPPED("6s"), NULL, "mutual_exclusion", "v");
}

/* `until` ends the wait at the very instant, and at once when it holds already. */
static void test_a_wait_ends_as_soon_as_its_until_holds(void **state) {
  (void)state;
#define UNTIL(bound)                                                                                                   \
  "model m \"\"\nuse redis\nparam ttl = 10s\nserver node : redis\n"                                                    \
  "client[2] { var key : token\n var since : stamp\n since = now\n key = fresh\n"                                     \
  " if ask node.set_nx(key, ttl) == ok { critical { wait 0s..inf until age(since) >= " bound                          \
  " } } }\nscenario s \"\" { latency 0s..0s }\n"
  JUDGE(UNTIL("9s"), NULL, "mutual_exclusion", "p");
  JUDGE(UNTIL("10s"), NULL, "mutual_exclusion", "v");
}

/* `rounds n` ends each client after n entries. */
static void test_rounds_end_the_clients(void **state) {
  (void)state;
  JUDGE("model m \"\"\nclient[1] { loop { critical { wait 1s..1s }\n wait 1s..1s } }\n"
        "scenario s \"\" { latency 0s..0s\n rounds 2 }\n",
        NULL, "mutual_exclusion", "p", "deadlock", "p");
}

/* A reply that has left a server survives its crash; a request on its way does not, and nobody answers it. */
static void test_a_crash_takes_requests_on_their_way_with_it(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse cell\nserver x : cell\nclient[1] { var r : reply\n r = ask x.get() }\n"
        "scenario s \"\" { latency 0s..1s\n 1 crash of x losing memory, back after 0s..1s }\n",
        NULL, "deadlock", "v");
}

/* Tokens that no client has any more are still told apart where somebody looks. */
static void test_a_never_tells_the_tokens_of_two_servers_apart(void **state) {
  (void)state;
  JUDGE("model m \"\"\nuse redis\nserver node[2] : redis\nclient[1] { var key : token\n key = fresh\n"
        " ask node[0].set_nx(key, 10s)\n key = fresh\n ask node[1].set_nx(key, 10s)\n wait 1s..1s }\n"
        "never \"same\" { node[0].owner != none and node[0].owner == node[1].owner }\n"
        "never \"both\" { node[0].owner != none and node[1].owner != none }\n"
        "scenario s \"\" { latency 0s..0s }\n",
        NULL, "same", "p", "both", "v");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_ask_without_a_time_out_waits_for_ever_for_a_lost_message),
      cmocka_unit_test(test_a_loop_of_asks_that_take_no_time_is_a_timelock),
      cmocka_unit_test(test_an_instant_that_is_shared_counts_as_shared),
      cmocka_unit_test(test_a_clock_step_brings_an_expiry_forward_by_its_length),
      cmocka_unit_test(test_a_wait_ends_as_soon_as_its_until_holds),
      cmocka_unit_test(test_a_never_tells_the_tokens_of_two_servers_apart),
      cmocka_unit_test(test_rounds_end_the_clients),
      cmocka_unit_test(test_a_crash_takes_requests_on_their_way_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
