#include "cli/less.h"

#include <stdlib.h>
#include <string.h>

#include "cli/quantity.h"

#define MS_US G_GINT64_CONSTANT(1000)
#define MS_NS G_GINT64_CONSTANT(1000000)

/* What the faults are called here, and what of a run begins and ends one. */
static const struct Kind {
  FaultKind fault;
  const char *words;
  RunEventKind begins, ends;
} kinds[] = {
    {FAULT_PAUSE, "a pause of", RUN_PAUSE, RUN_RESUME},
    {FAULT_LATE, "a message that is late by", RUN_SEND, RUN_ARRIVE},
    {FAULT_CRASH_CLIENT, "a crash with a way back of", RUN_CRASH, RUN_RESTART},
    {FAULT_CRASH_SERVER, "a crash with a way back of", RUN_CRASH, RUN_RESTART},
    {FAULT_STEP, "a clock step of", RUN_CLOCK_STEP, RUN_CLOCK_STEP},
};

typedef struct Probe {
  int64_t ms;
  Verification *verification;
} Probe;

typedef struct Search {
  Program *program;
  const VerifyOptions *options;
  const struct Kind *kind;
  GArray *probes; /* of Probe: what one property needed to know, the next may need, too */
} Search;

static void clear_probe(void *item) {
  verification_free(((Probe *)item)->verification);
}

static const struct Kind *find_kind(const Program *program) {
  for (size_t i = 0; program->fault_count == 1 && program->faults[0].count == 1 && i < G_N_ELEMENTS(kinds); i++) {
    if (kinds[i].fault == program->faults[0].kind) {
      return &kinds[i];
    }
  }
  return NULL;
}

/* The fault with another bound; by how much a clock steps keeps its sign. */
static Fault with_bound(Fault fault, int64_t ms) {
  if (fault.kind == FAULT_STEP) {
    fault.by_us = fault.by_us < 0 ? -ms * MS_US : ms * MS_US;
  } else {
    fault.hi_us = ms * MS_US;
  }
  return fault;
}

static const Verification *probe(Search *search, int64_t ms) {
  for (guint i = 0; i < search->probes->len; i++) {
    const Probe *known = &g_array_index(search->probes, Probe, i);
    if (known->ms == ms) {
      return known->verification;
    }
  }
  Fault *fault = &search->program->faults[0], given = *fault;
  *fault = with_bound(given, ms);
  Probe made = {ms, verify(search->program, search->options)};
  *fault = given;
  g_array_append_val(search->probes, made);
  return made.verification;
}

static Verdict verdict_with(Search *search, const PropertyResult *of, int64_t ms) {
  const Verification *verification = probe(search, ms);
  for (int32_t p = 0; p < verification->property_count; p++) {
    const PropertyResult *result = &verification->properties[p];
    if (result->is_never == of->is_never && strcmp(result->name, of->name) == 0) {
      return result->verdict;
    }
  }
  return VERDICT_UNDECIDED;
}

static const RunEvent *find_event(const Run *run, RunEventKind kind, const RunEvent *begin, int64_t *time_ns) {
  for (int32_t s = 0; s < run->step_count; s++) {
    for (int32_t e = 0; e < run->steps[s].event_count; e++) {
      const RunEvent *event = &run->steps[s].events[e];
      bool is_it = begin == NULL        ? kind != RUN_SEND || event->flag_late
                   : kind == RUN_ARRIVE ? event->message == begin->message
                                        : event->lane == begin->lane;
      if (event->kind == kind && is_it) {
        *time_ns = run->steps[s].time_ns;
        return event;
      }
    }
  }
  return NULL;
}

/* How long the run's own fault lasts, in whole milliseconds upwards, with the delay that a late message has anyway;
 * one that the run does not see the end of lasts to its end. -1: the run has none. */
static int64_t used_ms(const Run *run, const struct Kind *kind) {
  int64_t began_ns = 0, ended_ns = MAX(run->end_ns, run->steps[run->step_count - 1].time_ns);
  const RunEvent *begin = find_event(run, kind->begins, NULL, &began_ns);
  if (!begin || run->faults != 1) {
    return -1;
  }
  if (kind->fault == FAULT_STEP) {
    return (llabs(begin->duration_ns) + MS_NS - 1) / MS_NS;
  }
  find_event(run, kind->ends, begin, &ended_ns);
  return (ended_ns - began_ns + MS_NS - 1) / MS_NS;
}

/* A bound that is enough: what the run itself took, if a verification says so, else what the scenario allows.
 * -1: none is known. */
static int64_t known_enough(Search *search, const PropertyResult *result, int64_t floor_ms) {
  const Fault *fault = &search->program->faults[0];
  int64_t used = used_ms(result->run, search->kind);
  bool is_step = fault->kind == FAULT_STEP;
  int64_t given_us = is_step ? llabs(fault->by_us) : fault->hi_us;
  bool is_whole = given_us != DURATION_INFINITE && given_us % MS_US == 0;
  if (used < 0) {
    return -1;
  }
  used = MAX(used, floor_ms);
  bool is_shorter = given_us == DURATION_INFINITE || used * MS_US < given_us;
  if (is_shorter && verdict_with(search, result, used) == VERDICT_VIOLATED) {
    return used;
  }
  return is_whole ? given_us / MS_US : -1;
}

/* "a pause of 4,740 ms" */
static char *amount_text(const Search *search, int64_t ms) {
  bool is_back = search->kind->fault == FAULT_STEP && search->program->faults[0].by_us < 0;
  g_autofree char *count = quantity_count((guint64)ms);
  return g_strdup_printf("%s %s%s ms", search->kind->words, is_back ? "-" : "", count);
}

static void conclude(const Search *search, Less *less, int64_t enough_ms, int64_t low_ms, Verdict below) {
  g_autofree char *enough = amount_text(search, enough_ms);
  g_autofree char *count = quantity_count((guint64)MAX(low_ms, 0));
  less->enough_us = enough_ms * MS_US;
  less->proved_us = below == VERDICT_PROVED ? low_ms * MS_US : -1;
  if (below == VERDICT_PROVED) {
    less->text = g_strdup_printf("%s is enough; with %s ms it is proved", enough, count);
  } else if (below == VERDICT_VIOLATED && search->kind->fault == FAULT_LATE) {
    /* A late message may never come at all; with no time left to be late in, that is all it can do. */
    less->text = g_strdup("it is enough that the message never comes");
  } else if (below == VERDICT_VIOLATED) {
    less->text = g_strdup_printf("%s is enough, and the scenario allows no less", enough);
  } else {
    less->text = g_strdup_printf("%s is enough; whether less is was not decided", enough);
  }
}

static void bisect(Search *search, const PropertyResult *result, Less *less) {
  const Fault *fault = &search->program->faults[0];
  int64_t low = fault->kind == FAULT_STEP ? 0 : (fault->lo_us + MS_US - 1) / MS_US;
  int64_t high = known_enough(search, result, low);
  if (high < 0) {
    return;
  }
  Verdict below = high > low ? verdict_with(search, result, low) : VERDICT_VIOLATED;
  if (below == VERDICT_VIOLATED) {
    conclude(search, less, low, -1, below);
    return;
  }
  while (high - low > 1 && below == VERDICT_PROVED) {
    int64_t middle = low + (high - low) / 2;
    Verdict verdict = verdict_with(search, result, middle);
    if (verdict == VERDICT_VIOLATED) {
      high = middle;
    } else if (verdict == VERDICT_PROVED) {
      low = middle;
    } else {
      below = VERDICT_UNDECIDED;
    }
  }
  conclude(search, less, high, low, below);
}

void less_search(Outcome *outcome, const VerifyOptions *options) {
  const struct Kind *kind = find_kind(outcome->program);
  if (!kind || (kind->fault != FAULT_STEP && outcome->program->faults[0].lo_us == DURATION_INFINITE)) {
    return;
  }
  g_autoptr(GArray) probes = g_array_new(FALSE, FALSE, sizeof(Probe));
  g_array_set_clear_func(probes, clear_probe);
  Search search = {.program = outcome->program, .options = options, .kind = kind, .probes = probes};
  for (int32_t i = 0; i < outcome->claim_count; i++) {
    Claim *claim = &outcome->claims[i];
    if (claim->result && claim->result->run && claim->result->run->faults == 1) {
      bisect(&search, claim->result, &claim->less);
    }
  }
}
