#include "support/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>
#include <string.h>

#include "explore/verify.h"
#include "support/shipped.h"

static const PropertyResult *find_property(const Verification *verification, const char *name) {
  for (int32_t p = 0; p < verification->property_count; p++) {
    if (strcmp(verification->properties[p].name, name) == 0) {
      return &verification->properties[p];
    }
  }
  fail_msg("no property %s", name);
  return NULL;
}

static char letter_of(const PropertyResult *result) {
  return "pvxun"[result->verdict];
}

static const Finding *find_finding(const Verification *verification, const char *kind) {
  for (int32_t f = 0; f < verification->finding_count; f++) {
    if (strcmp(verification->findings[f].kind, kind) == 0) {
      return &verification->findings[f];
    }
  }
  return NULL;
}

/* Any finding but that clients are not exchangeable. */
static const Finding *find_fault(const Verification *verification) {
  for (int32_t f = 0; f < verification->finding_count; f++) {
    if (strcmp(verification->findings[f].kind, "symmetry") != 0) {
      return &verification->findings[f];
    }
  }
  return NULL;
}

/* `pairs` is "property", "letters", … and ends with NULL; only the first letter counts. */
static bool has_verdicts(const Verification *verification, const char *const *pairs) {
  bool good = true;
  for (; *pairs != NULL; pairs += 2) {
    const PropertyResult *result = find_property(verification, pairs[0]);
    if (letter_of(result) != pairs[1][0]) {
      print_error("%s is %s, not %s: %s\n", pairs[0], verdict_name(result->verdict), pairs[1], result->note);
      good = false;
    }
  }
  return good;
}

static void judge_one_way(const char *text, const char *way, const VerifyOptions *options, const char *const *pairs) {
  Shipped shipped = shipped_text(text, "s", NULL);
  Verification *verification = verify(shipped.program, options);
  bool good = has_verdicts(verification, pairs);
  const Finding *fault = find_fault(verification);
  if (fault != NULL) {
    print_error("%s: %s\n", fault->kind, fault->text);
    good = false;
  }
  if (!good) {
    print_error("%s", text);
    fail_msg("%s", way);
  }
  verification_free(verification);
  shipped_close(&shipped);
}

void judge(const char *model, const char *scenario, const char *expected) {
  g_autofree char *text = g_strdup_printf("model m \"\"\n%sscenario s \"\" { %s }\n", model, scenario);
  g_auto(GStrv) split = g_strsplit_set(expected, " =", -1);
  const char *const *pairs = (const char *const *)split;
  judge_one_way(text, "on hulls with symmetry", &(VerifyOptions){.symmetry = true}, pairs);
  judge_one_way(text, "exactly and without symmetry", &(VerifyOptions){.exact = true}, pairs);
}

void judge_text(const char *text, const char *finding, const char *const *pairs) {
  Shipped shipped = shipped_text(text, "s", NULL);
  Verification *verification = verify(shipped.program, &(VerifyOptions){.symmetry = true});
  assert_true(has_verdicts(verification, pairs));
  if (finding == NULL) {
    assert_int_equal(verification->finding_count, 0);
  } else {
    assert_non_null(find_finding(verification, finding));
  }
  verification_free(verification);
  shipped_close(&shipped);
}
