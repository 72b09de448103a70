#include "traces/rounds.h"

#include <string.h>

enum { BEATS_MAX = 16, TIMES_MIN = 3 };

int64_t beat_quiet_ns(const Run *run, const Beat *beat) {
  return beat->first ? run->steps[beat->first].time_ns - run->steps[beat->first - 1].time_ns : 0;
}

/* Bytes of the instant that a text begins with, as run_time_text writes it; 0: it begins with something else. */
static size_t instant_length(const char *text) {
  size_t whole = strspn(text, "0123456789");
  size_t part = whole && text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
  return part >= 3 ? whole + 1 + part : 0;
}

/* Whether two texts say the same but for the instants in them. */
static bool is_same_text(const char *a, const char *b) {
  while (*a && *b) {
    size_t of_a = instant_length(a), of_b = instant_length(b);
    if (!of_a != !of_b || (!of_a && *a != *b)) {
      return false;
    }
    a += of_a ? of_a : 1;
    b += of_b ? of_b : 1;
  }
  return *a == *b;
}

static bool is_same_beat(const Run *run, const Beat *a, const Beat *b) {
  return !a->is_violation && !b->is_violation && !strcmp(a->who, b->who) && is_same_text(a->what, b->what) &&
         is_same_text(a->changed, b->changed) &&
         (beat_quiet_ns(run, a) >= ROUNDS_QUIET_NS) == (beat_quiet_ns(run, b) >= ROUNDS_QUIET_NS);
}

/* How often the round of `length` beats at `at` comes again right behind itself. */
static uint32_t times_again(const Beats *beats, const Run *run, uint32_t at, uint32_t length) {
  const Beat *items = beats->list.items;
  uint32_t same = 0;
  while (at + length + same < beats->list.count && is_same_beat(run, &items[at + same], &items[at + length + same])) {
    same++;
  }
  return same / length;
}

static Beat again(const Beats *beats, const Run *run, uint32_t at, uint32_t length, uint32_t times) {
  const Beat *once = &beats->list.items[at], *first = once + length, *last = first + (size_t)length * times - 1;
  g_autofree char *to = run_time_text(run->steps[last->last].time_ns);
  int32_t from = once->first + 1, until = first->first;
  char *what = from == until ? g_strdup_printf("step %d again, %u times (to %s)", from, times, to)
                             : g_strdup_printf("steps %d-%d again, %u times (to %s)", from, until, times, to);
  return (Beat){.kind = BEAT_AGAIN,
                .first = first->first,
                .last = last->last,
                .mark = first->first,
                .lane = -1,
                .client = -1,
                .who = g_strdup(""),
                .what = what,
                .sentence = g_strdup(""),
                .changed = g_strdup("")};
}

/* The beats behind `at` that come again become one. */
static void replace(Beats *beats, uint32_t at, uint32_t count, Beat by) {
  Beat *items = beats->list.items;
  for (uint32_t i = at; i < at + count; i++) {
    beat_clear(&items[i]);
  }
  items[at] = by;
  memmove(&items[at + 1], &items[at + count], (beats->list.count - at - count) * sizeof *items);
  beats->list.count -= count - 1;
}

void beats_fold_rounds(Beats *beats, const Run *run) {
  for (uint32_t at = 0; at < beats->list.count; at++) {
    uint32_t length = 1, times = times_again(beats, run, at, 1);
    while (times < TIMES_MIN && length < BEATS_MAX) {
      times = times_again(beats, run, at, ++length);
    }
    if (times >= TIMES_MIN) {
      replace(beats, at + length, length * times, again(beats, run, at, length, times));
      at += length;
    }
  }
}
