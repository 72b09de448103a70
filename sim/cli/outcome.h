/* One scenario's verification held against what the model claims: which claims are met, and what that means for the
 * exit code.
 *
 * A claim that a property holds is met by a proof that is not vacuous; a claim that it is broken by a violation. A
 * property that does not apply meets no claim. `all` stands for every property that applies and has no claim of its
 * own. A claim on something that was not checked is undecided.
 */
#ifndef LOCKSTEP_CLI_OUTCOME_H
#define LOCKSTEP_CLI_OUTCOME_H

#include <glib.h>

#include "cli/command.h"
#include "explore/verify.h"

typedef enum Met { MET_NO_CLAIM, MET_YES, MET_NO, MET_UNDECIDED } Met;

/* How much less of its fault a violation could do with (less.h). */
typedef struct Less {
  char *text;        /* "a pause of 4,740 ms is enough; with 4,739 ms it is proved"; NULL: was not asked */
  int64_t enough_us; /* still violated */
  int64_t proved_us; /* no longer; -1: not known, or the scenario allows no less */
} Less;

typedef struct Claim {
  const char *property;         /* its name, or the text of a never */
  const PropertyResult *result; /* NULL: was not checked */
  const Expectation *expected;  /* NULL: nothing is claimed */
  Met met;
  char *trace; /* the file that its run was written to; NULL: none */
  Less less;
} Claim;

typedef struct Outcome {
  Program *program;
  Verification *verification;
  double seconds;
  const char *engine; /* "exhaustive", "random" */
  Claim *claims;      /* one for each property, then one for each claim on something that was not checked */
  int32_t claim_count;
} Outcome;

/* Takes both over. */
Outcome *outcome_new(Program *program, Verification *verification, double seconds);
void outcome_free(Outcome *outcome);

/* Of a violation: the steps that one counts in its report. */
uint32_t claim_steps(const Claim *claim);
/* … and the pauses and crashes that strike inside a step; the cost of the run counts each as a step of its own. */
uint32_t claim_strikes_inside(const Claim *claim);
/* … and what one says of it beside another one that is reported in full. The caller frees it. */
char *claim_in_brief(const Outcome *outcome, const Claim *claim);

/* The search was finished, and every property that applies has its verdict. */
bool outcome_is_complete(const Outcome *outcome);
/* EXIT_MET, EXIT_NOT_MET or EXIT_UNDECIDED. Where the scenario claims nothing: nothing is violated. */
ExitCode outcome_code(const Outcome *outcome);
/* Of several scenarios: one that is not met outweighs one that is undecided. */
ExitCode outcome_worse(ExitCode a, ExitCode b);
int32_t outcome_count(const Outcome *outcome, Met met);
/* The violation to show first: one that breaks a claim if there is any. NULL: nothing is violated. */
const Claim *outcome_first_violation(const Outcome *outcome);

#endif
