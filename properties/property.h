/* The properties that a model can be asked for, listed once, and the verdicts on them. semantics.md, section 7. */
#ifndef LOCKSTEP_PROPERTIES_PROPERTY_H
#define LOCKSTEP_PROPERTIES_PROPERTY_H

#include <stdbool.h>
#include <stdint.h>

#include "world/monitor.h"

typedef enum Verdict {
  VERDICT_PROVED,
  VERDICT_VIOLATED,
  VERDICT_NOT_VIOLATED, /* random exploration only */
  VERDICT_UNDECIDED,
  VERDICT_NOT_APPLICABLE, /* the model cannot raise its events */
} Verdict;

/* "proved", "violated", "not_violated", "undecided", "not_applicable": as in conventions.md. */
const char *verdict_name(Verdict verdict);

/* One implementation a file. */
extern const Monitor monitor_mutual_exclusion; /* two holdings inside at one instant */
extern const Monitor monitor_fencing;          /* a write of a holding after one of a later holding */
extern const Monitor monitor_lost_update;      /* a commit computed from a value that another holding has replaced */
extern const Monitor monitor_owner_release;    /* a handler frees or overwrites a lock that another attempt has set */
extern const Monitor monitor_token_order;      /* an entry with a fencing token not greater than an earlier one's */
extern const Monitor monitor_deadlock;         /* nothing can happen, though a task is not at its end */

#define PROPERTY_COUNT 6
/* All of them, in the order in which reports list them. */
extern const Monitor *const property_monitors[PROPERTY_COUNT];

#endif
