/* For tests: models of a few lines, judged by the whole way: search, confirmation and all. */
#ifndef LOCKSTEP_TESTS_JUDGE_H
#define LOCKSTEP_TESTS_JUDGE_H

/* Judges a model, given without its first line, in a scenario, given as the lines in its braces, in two ways: on hulls
 * with symmetry, and exactly without. `expected` has the verdicts, one letter each: p proved, v violated, u undecided,
 * n not applicable: "deadlock=p early=v". Fails the test where one comes out otherwise, and at any finding but one
 * about symmetry. */
void judge(const char *model, const char *scenario, const char *expected);

/* The same for a whole model whose scenario is called s, on hulls alone. `finding` is the kind of one that it must
 * have; NULL: it has none. `pairs` is "property", "letter", … and ends with NULL. */
void judge_text(const char *text, const char *finding, const char *const *pairs);
#define JUDGE(text, finding, ...) judge_text(text, finding, (const char *const[]){__VA_ARGS__, NULL})

/* When something happens to a client of the kind `timed`: its `phase` is 1 from the instant `since` on, and 2 from when
 * it happens. It may happen in lo..hi and at no other time, to the millisecond: all four are said in BETWEEN_HOLDS. */
#define BETWEEN(lo, hi)                                                                     \
  "never \"early\" { any(c in timed : c.phase == 2 and age(c.since) < " lo ") }\n"          \
  "never \"earliest\" { any(c in timed : c.phase == 2 and age(c.since) < " lo " + 1ms) }\n" \
  "never \"latest\" { any(c in timed : c.phase == 1 and age(c.since) >= " hi ") }\n"        \
  "never \"late\" { any(c in timed : c.phase == 1 and age(c.since) >= " hi " + 1ms) }\n"
#define BETWEEN_HOLDS "early=p earliest=v latest=v late=p"
/* The variables of `timed`, and the beginning of what is measured. */
#define TIMED "var since : stamp  var phase : 0..2\n"
#define START "since = now  phase = 1\n"

#endif
