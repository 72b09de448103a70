#include "properties/property.h"

const Monitor *const property_monitors[PROPERTY_COUNT] = {
    &monitor_mutual_exclusion, &monitor_fencing,     &monitor_lost_update,
    &monitor_owner_release,    &monitor_token_order, &monitor_deadlock,
};

const char *verdict_name(Verdict verdict) {
  static const char *const names[] = {
      [VERDICT_PROVED] = "proved",
      [VERDICT_VIOLATED] = "violated",
      [VERDICT_NOT_VIOLATED] = "not_violated",
      [VERDICT_UNDECIDED] = "undecided",
      [VERDICT_NOT_APPLICABLE] = "not_applicable",
  };
  return names[verdict];
}
