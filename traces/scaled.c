#include "traces/scaled.h"

#include <string.h>

#include "traces/beat.h"
#include "traces/canvas.h"
#include "traces/palette.h"

/* Measures in points. */
enum {
  LABELS_RIGHT = 146,
  LIFELINE_LEFT = 160,
  TIME_LEFT = 184,
  RIGHT_MARGIN = 20,
  TITLE_Y = 20,
  SUBTITLE_Y = 46,
  AXIS_LABEL_Y = 84,
  AXIS_Y = 98,
  FIRST_LANE_Y = 142,
  SERVER_PITCH = 32,
  CLOCK_ROOM = 14,
  CLIENT_GAP = 92,
  CLIENT_PITCH = 100,
  BOTTOM_GAP = 100,
  BOTTOM_PITCH = 76,
  SERVER_BAR = 16,
  CLIENT_BAR = 30,
  STORY_LIMIT = 12,
  SENTENCE_PITCH = 20,
  SENTENCE_SIZE = 12,
  TICK_ROOM = 50,
  TAIL = 36,
  TAIL_OVERLAP = 190,
  WIDTH_COMFORT = 1100,
  SQUEEZED_WIDTH = 240,
  WORDS_STEPS_MAX = 100
};

typedef struct Rectangle {
  double left, top, right, bottom;
} Rectangle;

typedef struct Row {
  double y, half;    /* the middle of a lane, half the height of its bars */
  int32_t variables; /* of a server: how many bars are stacked */
  bool has_clock;    /* its clock steps: it gets a ruler of its own */
} Row;

typedef struct Picture {
  Canvas canvas;
  const Run *run;
  const Story *story;
  const Beats *beats;
  int32_t *chosen, chosen_count;
  double *gaps;        /* from step i to i + 1; the last one is the tail */
  double *x;           /* by step; x[step_count] is the right edge */
  bool *is_compressed; /* by gap */
  Row *rows;           /* by lane */
  double bottom;       /* under the last lane */
  double width, height;
  int32_t window_first; /* messages sent earlier are not drawn */
  VEC(Rectangle) taken; /* places of words and badges on the lanes */
} Picture;

/* --- time to x --------------------------------------------------------------------------------------------------- */

/* log2(value) for value >= 1, straight between powers of two: exact arithmetic, the same on every machine. */
static double log2_straight(double value) {
  double result = 0;
  while (value >= 2) {
    value /= 2;
    result += 1;
  }
  return result + (value - 1);
}

static int64_t gap_ns(const Picture *p, int32_t step) {
  return p->run->steps[step + 1].time_ns - p->run->steps[step].time_ns;
}

static int compare_int64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t median_gap_ns(const Picture *p) {
  g_autofree int64_t *gaps = g_new0(int64_t, (gsize)p->run->step_count + 1);
  size_t count = 0;
  for (int32_t i = 0; i + 1 < p->run->step_count; i++) {
    if (gap_ns(p, i) > 0) {
      gaps[count++] = gap_ns(p, i);
    }
  }
  qsort(gaps, count, sizeof *gaps, compare_int64);
  return count ? gaps[count / 2] : 1;
}

static double gap_width(const Picture *p, int32_t step, int64_t median_ns) {
  if (p->story->is_untimed) {
    return 44;
  }
  if (gap_ns(p, step) == 0) {
    return 12;
  }
  double width = 10 + 16 * log2_straight(1 + (double)gap_ns(p, step) / (double)median_ns);
  return CLAMP(width, 12, 170);
}

static void widen(Picture *p, int32_t from, int32_t to, double wanted) {
  double sum = 0;
  for (int32_t i = from; i < to; i++) {
    sum += p->gaps[i];
  }
  for (int32_t i = from; i < to && sum > 0 && sum < wanted; i++) {
    p->gaps[i] *= wanted / sum;
  }
}

static const Beat *told(const Picture *p, int32_t index) {
  return &p->beats->list.items[p->chosen[index]];
}

static void make_room_for_ticks(Picture *p) {
  for (int32_t i = 1; i < p->chosen_count; i++) {
    int32_t from = told(p, i - 1)->mark, to = told(p, i)->mark;
    if (p->run->steps[from].time_ns < p->run->steps[to].time_ns) {
      widen(p, from, to, TICK_ROOM);
    } else {
      widen(p, from, to, 22);
    }
  }
}

/* Room for the words in the bars of clients, and for the box of a clock step; in a long run only for pauses. */
static void make_room_for_words(Picture *p) {
  const Run *run = p->run;
  double inside_room = run->step_count > WORDS_STEPS_MAX ? 0 : 84;
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    const StoryTrack *track = &p->story->tracks.items[lane];
    for (uint32_t i = 0; i < track->spans.count; i++) {
      const StorySpan *span = &track->spans.items[i];
      double wanted = span->value == LANE_PAUSED && run->lanes[lane].is_client  ? 190
                      : span->value == LANE_INSIDE || span->value == LANE_STALE ? inside_room
                                                                                : 0;
      widen(p, MAX(span->from, p->window_first), span->to, wanted);
    }
  }
  for (int32_t i = 0; i < run->step_count; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      int32_t after = i + 1;
      while (after < run->step_count && run->steps[after].time_ns == run->steps[i].time_ns) {
        after++;
      }
      if (run->steps[i].events[j].kind == RUN_CLOCK_STEP) {
        widen(p, i, MIN(after, run->step_count), 110);
      }
    }
  }
}

static void squeeze(Picture *p) {
  int32_t count = p->run->step_count;
  double sum = 0;
  p->window_first = MAX(0, count - SCALED_STEPS_MAX);
  for (int32_t i = 0; i < p->window_first; i++) {
    p->gaps[i] = (double)SQUEEZED_WIDTH / p->window_first;
  }
  for (int32_t i = p->window_first; i + 1 < count; i++) {
    sum += p->gaps[i];
  }
  double factor = sum > WIDTH_COMFORT ? WIDTH_COMFORT / sum : 1;
  for (int32_t i = p->window_first; i + 1 < count; i++) {
    p->gaps[i] = MAX(p->gaps[i] * factor, p->story->is_untimed ? 20 : 6);
  }
}

static void map_time(Picture *p) {
  const Run *run = p->run;
  int64_t median_ns = median_gap_ns(p);
  p->gaps = g_new0(double, (gsize)run->step_count + 1);
  p->x = g_new0(double, (gsize)run->step_count + 2);
  p->is_compressed = g_new0(bool, (gsize)run->step_count + 1);
  for (int32_t i = 0; i + 1 < run->step_count; i++) {
    p->gaps[i] = gap_width(p, i, median_ns);
  }
  squeeze(p);
  bool is_crowded = p->story->overlap_count && p->story->overlaps[p->story->overlap_count - 1].to == run->step_count;
  if (run->step_count) {
    p->gaps[run->step_count - 1] = is_crowded ? TAIL_OVERLAP : run->property[0] ? 110 : TAIL;
  }
  make_room_for_ticks(p);
  make_room_for_words(p);
  p->x[0] = TIME_LEFT;
  for (int32_t i = 0; i < run->step_count; i++) {
    p->x[i + 1] = p->x[i] + p->gaps[i];
    p->is_compressed[i] = i + 1 < run->step_count && gap_ns(p, i) >= 8 * median_ns && p->gaps[i] >= 30;
  }
}

/* --- lanes ------------------------------------------------------------------------------------------------------- */

static bool clock_steps(const Run *run, int32_t lane) {
  for (int32_t i = 0; i < run->step_count; i++) {
    for (int32_t j = 0; j < run->steps[i].event_count; j++) {
      if (run->steps[i].events[j].kind == RUN_CLOCK_STEP && run->steps[i].events[j].lane == lane) {
        return true;
      }
    }
  }
  return false;
}

static int32_t variables_of(const Story *story, int32_t lane) {
  int32_t count = 0;
  for (uint32_t i = (uint32_t)story->run->lane_count; i < story->tracks.count; i++) {
    count += story->tracks.items[i].lane == lane;
  }
  return count;
}

static void place_lanes(Picture *p) {
  const Run *run = p->run;
  p->rows = g_new0(Row, (gsize)run->lane_count + 1);
  double y = FIRST_LANE_Y;
  for (int32_t i = 0; i < run->lane_count; i++) {
    int32_t lane = p->story->order[i], above = i ? p->story->order[i - 1] : -1;
    Row *row = &p->rows[lane];
    row->has_clock = clock_steps(run, lane);
    row->variables = run->lanes[lane].is_client ? 0 : variables_of(p->story, lane);
    row->half = run->lanes[lane].is_client ? CLIENT_BAR / 2.0 : MAX(1, row->variables) * SERVER_BAR / 2.0;
    if (above >= 0) {
      bool was_client = run->lanes[above].is_client, is_bottom = story_is_bottom(&run->lanes[lane]);
      y += run->lanes[lane].is_client ? (was_client ? CLIENT_PITCH : CLIENT_GAP)
           : is_bottom                ? (story_is_bottom(&run->lanes[above]) ? BOTTOM_PITCH : BOTTOM_GAP)
                       : SERVER_PITCH + p->rows[above].half - SERVER_BAR / 2.0 + row->half - SERVER_BAR / 2.0;
      y += p->rows[above].has_clock ? CLOCK_ROOM : 0;
    }
    row->y = y;
  }
  p->bottom = y + (run->lane_count && story_is_bottom(&run->lanes[p->story->order[run->lane_count - 1]]) ? 58 : 44);
}

static double right_edge(const Picture *p) {
  return p->x[p->run->step_count];
}

/* --- places ------------------------------------------------------------------------------------------------------ */

static bool is_taken(const Picture *p, Rectangle r) {
  for (uint32_t i = 0; i < p->taken.count; i++) {
    const Rectangle *t = &p->taken.items[i];
    if (r.left < t->right && t->left < r.right && r.top < t->bottom && t->top < r.bottom) {
      return true;
    }
  }
  return false;
}

static Rectangle around(Point at, double width, double height) {
  return (Rectangle){at.x - width / 2, at.y - height / 2, at.x + width / 2, at.y + height / 2};
}

/* The first free one of the places; the first, if none is. */
static Point take_place(Picture *p, const Point *places, size_t count, double width, double height) {
  for (size_t i = 0; i < count; i++) {
    if (!is_taken(p, around(places[i], width, height))) {
      vec_push(&p->taken, around(places[i], width, height));
      return places[i];
    }
  }
  vec_push(&p->taken, around(places[0], width, height));
  return places[0];
}

/* --- paper and guides -------------------------------------------------------------------------------------------- */

static void paint_compressed(Picture *p) {
  canvas_section(&p->canvas, "paper: compressed time, and where too many are inside");
  for (int32_t i = 0; i + 1 < p->run->step_count; i++) {
    if (p->is_compressed[i]) {
      double inset = p->gaps[i] > 60 ? 12 : 6;
      canvas_box(&p->canvas, p->x[i] + inset, p->x[i + 1] - inset, (AXIS_Y + p->bottom) / 2, p->bottom - AXIS_Y,
                 PALETTE_PAPER);
    }
  }
  if (p->window_first > 0) {
    canvas_box(&p->canvas, p->x[0], p->x[p->window_first], (AXIS_Y + p->bottom) / 2, p->bottom - AXIS_Y, PALETTE_PAPER);
  }
}

static bool is_inside(const Story *story, int32_t lane, int32_t step) {
  bool inside = false;
  for (int32_t i = 0; i <= step; i++) {
    for (int32_t j = 0; j < story->run->steps[i].event_count; j++) {
      const RunEvent *event = &story->run->steps[i].events[j];
      if (event->lane == lane) {
        inside = event->kind == RUN_ENTER ||
                 (inside && event->kind != RUN_LEAVE && event->kind != RUN_CRASH && event->kind != RUN_END);
      }
    }
  }
  return inside;
}

/* The topmost and the next client inside during an overlap, and the lowest. */
static void overlap_rows(const Picture *p, const StorySpan *overlap, double *top, double *next, double *bottom) {
  int found = 0;
  for (int32_t i = 0; i < p->run->lane_count; i++) {
    int32_t lane = p->story->order[i];
    if (p->run->lanes[lane].is_client && is_inside(p->story, lane, overlap->from)) {
      double y = p->rows[lane].y;
      *top = found == 0 ? y : *top;
      *next = found == 1 ? y : *next;
      *bottom = y;
      found++;
    }
  }
}

static void paint_overlaps(Picture *p) {
  for (int32_t i = 0; i < p->story->overlap_count; i++) {
    double top = 0, next = 0, bottom = 0;
    const StorySpan *overlap = &p->story->overlaps[i];
    overlap_rows(p, overlap, &top, &next, &bottom);
    canvas_box(&p->canvas, p->x[overlap->from], p->x[overlap->to], (top + bottom) / 2, bottom - top + CLIENT_BAR + 34,
               PALETTE_OVERLAP);
  }
}

static const char *const count_words[] = {"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};

static void write_overlaps(Picture *p) {
  for (int32_t i = 0; i < p->story->overlap_count; i++) {
    double top = 0, next = 0, bottom = 0;
    const StorySpan *overlap = &p->story->overlaps[i];
    overlap_rows(p, overlap, &top, &next, &bottom);
    g_autofree char *text = overlap->value < 10 ? g_strdup_printf("%s clients inside", count_words[overlap->value])
                                                : g_strdup_printf("%d clients inside", overlap->value);
    double left = p->x[overlap->from], right = p->x[overlap->to];
    double width = canvas_text_width(text, 11, true);
    if (right - left > width + 8) { /* to the left, where arrows are rare: what is written inside is written later */
      Point at = {MIN(left + width / 2 + 14, (left + right) / 2), (top + next) / 2};
      canvas_text(&p->canvas, at, ALIGN_CENTRE,
                  (Font){.size = 11, .colour = PALETTE_VIOLATION, .is_bold = true, .paper = PALETTE_OVERLAP}, text);
    }
  }
}

static void paint_guides(Picture *p) {
  canvas_section(&p->canvas, "guides and lifelines");
  for (int32_t i = 0; i < p->chosen_count; i++) {
    double x = p->x[told(p, i)->mark];
    bool is_violation = told(p, i)->is_violation;
    canvas_line(&p->canvas, (Point){x, AXIS_Y}, (Point){x, p->bottom},
                (Stroke){.colour = is_violation ? "#EBA9B2" : PALETTE_GUIDE, .width = is_violation ? 1.2 : 0.8});
  }
  for (int32_t lane = 0; lane < p->run->lane_count; lane++) {
    canvas_line(&p->canvas, (Point){LIFELINE_LEFT, p->rows[lane].y}, (Point){right_edge(p), p->rows[lane].y},
                (Stroke){.colour = PALETTE_LIFELINE, .width = 1.1});
  }
  canvas_line(&p->canvas, (Point){LIFELINE_LEFT, AXIS_Y}, (Point){right_edge(p), AXIS_Y},
              (Stroke){.colour = PALETTE_GREY, .width = 1});
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* Where a message meets a lane: at the edge of its bars; on the lifeline of a resource. */
static double lane_edge(const Picture *p, int32_t lane, int32_t other) {
  const RunLane *it = &p->run->lanes[lane];
  double half = it->is_client || p->rows[lane].variables ? p->rows[lane].half : 0;
  return p->rows[lane].y + (p->rows[other].y > p->rows[lane].y ? half : -half);
}

static Point between(Point a, Point b, double part) {
  return (Point){a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part};
}

static void paint_cross(Picture *p, Point at) {
  const Stroke stroke = {.colour = PALETTE_VIOLATION, .width = 1.6};
  canvas_line(&p->canvas, (Point){at.x - 4, at.y - 4}, (Point){at.x + 4, at.y + 4}, stroke);
  canvas_line(&p->canvas, (Point){at.x - 4, at.y + 4}, (Point){at.x + 4, at.y - 4}, stroke);
}

static const char *message_colour(const Picture *p, const StoryMessage *message) {
  if (message->client < 0) {
    return PALETTE_GREY;
  }
  const Hue *hue = palette_hue(p->story->hue_number[message->client]);
  return message->is_reply ? hue->middle : hue->solid;
}

/* A message that does not arrive: one that is lost or refused ends in a cross, one still on its way in a stub. */
static void paint_unarrived(Picture *p, const StoryMessage *message, Point from) {
  Point target = {from.x + 46, lane_edge(p, message->to, message->from)};
  if (message->is_lost) {
    Point end = between(from, target, 0.86);
    canvas_line(&p->canvas, from, end,
                (Stroke){.colour = PALETTE_GREY, .width = 1, .is_dashed = true, .tooltip = message->text});
    paint_cross(p, end);
  } else if (message->ended >= 0 && message->outcome && strcmp(message->outcome, "refused") == 0) {
    Point end = {(from.x + p->x[message->ended]) / 2, target.y};
    canvas_line(&p->canvas, from, end,
                (Stroke){.colour = message_colour(p, message), .width = 1.2, .tooltip = message->text});
    paint_cross(p, between(from, end, 0.97));
  } else if (message->is_late) {
    Point end = {right_edge(p), (from.y + target.y) / 2};
    canvas_line(
        &p->canvas, from, end,
        (Stroke){.colour = message_colour(p, message), .width = 1.2, .is_dashed = true, .tooltip = message->text});
  } else if (message->sent + 1 < p->run->step_count) {
    canvas_line(&p->canvas, from, between(from, target, 0.4),
                (Stroke){.colour = message_colour(p, message), .width = 0.9, .tooltip = message->text});
  }
}

static bool causes_violation(const Picture *p, const StoryMessage *message) {
  if (message->arrived < 0 || message->arrived != p->story->violation_step) {
    return false;
  }
  const RunStep *step = &p->run->steps[message->arrived];
  for (int32_t j = 0; j < step->event_count; j++) {
    if (step->events[j].kind == RUN_COMMIT && step->events[j].lane == message->to) {
      return true;
    }
  }
  return false;
}

static void paint_message(Picture *p, const StoryMessage *message) {
  Point from = {p->x[message->sent], lane_edge(p, message->from, message->to)};
  if (message->from == message->to) {
    return;
  }
  if (message->arrived < 0) {
    paint_unarrived(p, message, from);
    return;
  }
  Point to = {p->x[message->arrived], lane_edge(p, message->to, message->from)};
  bool is_fatal = causes_violation(p, message), is_effect = story_is_bottom(&p->run->lanes[message->to]);
  Stroke stroke = {.colour = is_fatal ? PALETTE_VIOLATION : message_colour(p, message), .tooltip = message->text};
  stroke.width = is_fatal ? 2.4 : is_effect ? 1.8 : message->is_reply ? 1.0 : 1.2;
  stroke.arrow = is_fatal ? 0.8 : message->is_reply ? 0.5 : 0.6;
  stroke.is_dashed = message->is_late || message->is_dropped;
  canvas_line(&p->canvas, from, to, stroke);
}

/* Replies below requests below the violating one. */
static void paint_messages(Picture *p) {
  canvas_section(&p->canvas, "messages: replies, requests, and the fatal one");
  for (int layer = 0; layer < 3; layer++) {
    for (uint32_t i = 0; i < p->story->messages.count; i++) {
      const StoryMessage *message = &p->story->messages.items[i];
      int its_layer = causes_violation(p, message) ? 2 : message->is_reply ? 0 : 1;
      if (its_layer == layer && message->sent >= p->window_first) {
        paint_message(p, message);
      }
    }
  }
}

static void write_late_messages(Picture *p) {
  for (uint32_t i = 0; i < p->story->messages.count; i++) {
    const StoryMessage *message = &p->story->messages.items[i];
    if (!message->is_late || message->from == message->to || message->sent < p->window_first) {
      continue;
    }
    Point from = {p->x[message->sent], lane_edge(p, message->from, message->to)};
    Point to = message->arrived >= 0 ? (Point){p->x[message->arrived], lane_edge(p, message->to, message->from)}
                                     : (Point){right_edge(p), (from.y + lane_edge(p, message->to, message->from)) / 2};
    Point places[] = {between(from, to, 0.3), between(from, to, 0.5), between(from, to, 0.2), between(from, to, 0.7)};
    g_autofree char *text = g_strdup_printf("late: %s", message->text);
    Point at = take_place(p, places, G_N_ELEMENTS(places), canvas_text_width(text, 9, false) + 8, 16);
    const char *colour = causes_violation(p, message) ? PALETTE_VIOLATION : message_colour(p, message);
    canvas_text(&p->canvas, at, ALIGN_CENTRE, (Font){.size = 9, .colour = colour, .paper = "white"}, text);
  }
}

/* --- bars -------------------------------------------------------------------------------------------------------- */

/* The longest of the texts that fits. */
static const char *fitting(const char *const *texts, double width, double size, bool is_bold) {
  for (; *texts; texts++) {
    if (canvas_text_width(*texts, size, is_bold) + 10 <= width) {
      return *texts;
    }
  }
  return "";
}

static void paint_variable_span(Picture *p, const StoryTrack *track, const StorySpan *span, double y) {
  if (span->value == STORY_FREE || span->from >= span->to) {
    return;
  }
  const Hue *hue = span->value >= 0 ? palette_hue(p->story->hue_number[span->value]) : &palette_nobody;
  double left = p->x[span->from], right = p->x[span->to];
  const char *value = span->value >= 0 ? p->run->lanes[span->value].name : span->text;
  g_autofree char *full = g_strdup_printf("%s = %s", track->name, value);
  const char *texts[] = {full, value, NULL};
  canvas_bar(&p->canvas, left, right, y, p->rows[track->lane].variables > 1 ? SERVER_BAR - 2 : SERVER_BAR, hue->solid,
             (Font){.size = 9, .colour = "white"}, fitting(texts, right - left, 9, false));
}

static void paint_variables(Picture *p) {
  g_autofree int32_t *drawn = g_new0(int32_t, (gsize)p->run->lane_count + 1);
  for (uint32_t i = (uint32_t)p->run->lane_count; i < p->story->tracks.count; i++) {
    const StoryTrack *track = &p->story->tracks.items[i];
    const Row *row = &p->rows[track->lane];
    if (row->variables == 0) {
      continue;
    }
    double y = row->y - row->half + SERVER_BAR * (drawn[track->lane]++ + 0.5);
    for (uint32_t j = 0; j < track->spans.count; j++) {
      paint_variable_span(p, track, &track->spans.items[j], y);
    }
  }
}

static void paint_client_span(Picture *p, int32_t lane, const StorySpan *span) {
  const char *name = p->run->lanes[lane].name;
  const Hue *hue = palette_hue(p->story->hue_number[lane]);
  double left = p->x[span->from], right = p->x[span->to], y = p->rows[lane].y;
  g_autofree char *inside = g_strdup_printf("%s in critical section", name);
  g_autofree char *stale = g_strdup_printf("%s still believes it holds the lock", name);
  g_autofree char *down = g_strdup_printf("%s has crashed", name);
  const char *acquiring_texts[] = {"acquiring", NULL},
             *inside_texts[] = {inside, "in critical section", "inside", NULL};
  const char *stale_texts[] = {stale, "still believes it is alone", "still inside", "stale", NULL};
  const char *down_texts[] = {down, "crashed", NULL};
  const Font bold = {.size = 11, .colour = "white", .is_bold = true}, plain = {.size = 10, .colour = hue->on_pale};
  switch ((LaneState)span->value) {
  case LANE_ACQUIRING:
    canvas_bar(&p->canvas, left, right, y, CLIENT_BAR, hue->pale, plain,
               fitting(acquiring_texts, right - left, 10, false));
    break;
  case LANE_INSIDE:
    canvas_bar(&p->canvas, left, right, y, CLIENT_BAR, hue->solid, bold, fitting(inside_texts, right - left, 11, true));
    break;
  case LANE_STALE:
    canvas_bar(&p->canvas, left, right, y, CLIENT_BAR, PALETTE_VIOLATION, bold,
               fitting(stale_texts, right - left, 11, true));
    break;
  case LANE_PAUSED: canvas_stripes(&p->canvas, left, right, y, CLIENT_BAR); break;
  case LANE_DOWN:
    canvas_bar(&p->canvas, left, right, y, CLIENT_BAR, PALETTE_DOWN, bold, fitting(down_texts, right - left, 11, true));
    break;
  case LANE_IDLE: break;
  }
}

static void paint_server_span(Picture *p, int32_t lane, const StorySpan *span) {
  double left = p->x[span->from], right = p->x[span->to], y = p->rows[lane].y;
  const char *down_texts[] = {"down", NULL};
  if (span->value == LANE_DOWN) {
    canvas_bar(&p->canvas, left, right, y, p->rows[lane].half * 2, PALETTE_DOWN,
               (Font){.size = 9, .colour = "white", .is_bold = true}, fitting(down_texts, right - left, 9, true));
  } else if (span->value == LANE_PAUSED) {
    canvas_stripes(&p->canvas, left, right, y - p->rows[lane].half - 4, 6);
  }
}

static void paint_bars(Picture *p) {
  canvas_section(&p->canvas, "bars: who holds what, from when to when");
  paint_variables(p);
  for (int32_t lane = 0; lane < p->run->lane_count; lane++) {
    const StoryTrack *track = &p->story->tracks.items[lane];
    for (uint32_t i = 0; i < track->spans.count; i++) {
      if (p->run->lanes[lane].is_client) {
        paint_client_span(p, lane, &track->spans.items[i]);
      } else {
        paint_server_span(p, lane, &track->spans.items[i]);
      }
    }
  }
}

static void write_pauses(Picture *p) {
  const Run *run = p->run;
  for (int32_t lane = 0; lane < run->lane_count; lane++) {
    const StoryTrack *track = &p->story->tracks.items[lane];
    for (uint32_t i = 0; i < track->spans.count; i++) {
      const StorySpan *span = &track->spans.items[i];
      if (span->value != LANE_PAUSED || !run->lanes[lane].is_client || span->from >= span->to) {
        continue;
      }
      bool goes_on = span->to >= run->step_count;
      int64_t end_ns = run->steps[MIN(span->to, run->step_count - 1)].time_ns;
      g_autofree char *length = story_duration_text(end_ns - run->steps[span->from].time_ns);
      g_autofree char *full =
          g_strdup_printf(goes_on ? "%s is paused (%s so far)" : "%s is paused for %s", run->lanes[lane].name, length);
      const char *texts[] = {full, "paused", NULL};
      double left = p->x[span->from], right = p->x[span->to];
      const char *text = fitting(texts, right - left, 11, true);
      if (text[0]) {
        canvas_text(&p->canvas, (Point){(left + right) / 2, p->rows[lane].y}, ALIGN_CENTRE,
                    (Font){.size = 11, .colour = PALETTE_INK, .is_bold = true, .paper = "#F7F8F9"}, text);
      }
    }
  }
}

/* --- clocks ------------------------------------------------------------------------------------------------------ */

static void paint_clock_step(Picture *p, int32_t step, const RunEvent *event) {
  g_autofree char *size = story_duration_text(event->duration_ns);
  g_autofree char *text = g_strdup_printf("clock %s%s", event->duration_ns >= 0 ? "+" : "", size);
  double left = p->x[step], width = canvas_text_width(text, 9, true) + 14, y = p->rows[event->lane].y;
  canvas_bar(&p->canvas, left, left + width, y, SERVER_BAR, PALETTE_CLOCK,
             (Font){.size = 9, .colour = "white", .is_bold = true}, text);
  vec_push(&p->taken, ((Rectangle){left, y - 8, left + width, y + 8}));
}

/* What the lane's own wall clock shows at the instants of the axis: grey until it steps, then purple. */
static void write_own_clock(Picture *p, int32_t lane) {
  const Run *run = p->run;
  double y = p->rows[lane].y + p->rows[lane].half + 9, last = -100;
  canvas_text(&p->canvas, (Point){LABELS_RIGHT, y + 2}, ALIGN_RIGHT,
              (Font){.size = 8, .colour = PALETTE_CLOCK, .is_italic = true}, "its own clock");
  for (int32_t i = 0; i < p->chosen_count; i++) {
    int32_t mark = told(p, i)->mark;
    int64_t offset_ns = 0;
    for (int32_t s = 0; s <= mark; s++) {
      for (int32_t j = 0; j < run->steps[s].event_count; j++) {
        const RunEvent *event = &run->steps[s].events[j];
        bool counts = event->kind == RUN_CLOCK_STEP && event->lane == lane;
        offset_ns += counts ? CLAMP(event->duration_ns, -G_MAXINT64 / 4096, G_MAXINT64 / 4096) : 0;
      }
    }
    if (p->x[mark] - last < 44) {
      continue;
    }
    last = p->x[mark];
    g_autofree char *text = story_instant_text(p->story, run->steps[mark].time_ns + offset_ns);
    canvas_text(&p->canvas, (Point){last, y}, ALIGN_CENTRE,
                (Font){.size = 8, .colour = offset_ns ? PALETTE_CLOCK : PALETTE_GREY}, text);
  }
}

static void paint_clocks(Picture *p) {
  canvas_section(&p->canvas, "clocks that step");
  for (int32_t i = 0; i < p->run->step_count; i++) {
    for (int32_t j = 0; j < p->run->steps[i].event_count; j++) {
      const RunEvent *event = &p->run->steps[i].events[j];
      if (event->kind == RUN_CLOCK_STEP && event->lane >= 0) {
        paint_clock_step(p, i, event);
      }
    }
  }
  for (int32_t lane = 0; lane < p->run->lane_count; lane++) {
    if (p->rows[lane].has_clock) {
      write_own_clock(p, lane);
    }
  }
}

/* --- effects on resources ---------------------------------------------------------------------------------------- */

static bool is_told(const Picture *p, int32_t step) {
  for (int32_t i = 0; i < p->chosen_count; i++) {
    if (told(p, i)->first <= step && step <= told(p, i)->last) {
      return true;
    }
  }
  return false;
}

/* In a long run only what the sentences tell gets words. */
static void paint_effect(Picture *p, int32_t step, const RunEvent *event) {
  const char *name = event->peer >= 0 ? p->run->lanes[event->peer].name : "somebody";
  const Hue *hue = palette_hue(event->peer >= 0 ? p->story->hue_number[event->peer] : -1);
  bool is_fatal = step == p->story->violation_step && event->kind == RUN_COMMIT;
  Point at = {p->x[step], p->rows[event->lane].y};
  const char *colour = is_fatal ? PALETTE_VIOLATION : hue->solid;
  g_autofree char *text = g_strdup_printf(event->kind == RUN_OBSERVE  ? "read by %s"
                                          : event->kind == RUN_REJECT ? "%s refused: stale"
                                          : is_fatal                  ? "write by %s accepted"
                                                                      : "write by %s",
                                          name);
  if (is_fatal) {
    canvas_mark(&p->canvas, "star", at, 26, colour, colour);
  } else if (event->kind == RUN_REJECT) {
    paint_cross(p, at);
  } else {
    canvas_mark(&p->canvas, event->kind == RUN_OBSERVE ? "circle" : "diamond", at, event->kind == RUN_OBSERVE ? 8 : 13,
                event->kind == RUN_OBSERVE ? "white" : colour, colour);
  }
  if (p->run->step_count > WORDS_STEPS_MAX && !is_fatal && !is_told(p, step)) {
    return;
  }
  bool is_bold = event->kind != RUN_OBSERVE;
  double size = is_bold ? 11 : 9, width = canvas_text_width(text, size, is_bold) + 8;
  double under = p->rows[event->lane].half + (is_fatal ? 18 : 14);
  Point places[] = {{at.x, at.y + under},
                    {at.x, at.y + under + 16},
                    {at.x + width / 2 + 12, at.y + under},
                    {at.x - width / 2 - 12, at.y + under},
                    {at.x, at.y - under - 8}};
  Point place = take_place(p, places, G_N_ELEMENTS(places), width, 15);
  canvas_text(&p->canvas, place, ALIGN_CENTRE,
              (Font){.size = size, .colour = colour, .is_bold = is_bold, .paper = "white"}, text);
}

/* Fatal first, so that its words get the best place. */
static void paint_effects(Picture *p) {
  canvas_section(&p->canvas, "reads and writes of the resource");
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < p->run->step_count; i++) {
      bool is_fatal = i == p->story->violation_step;
      for (int32_t j = 0; j < p->run->steps[i].event_count && is_fatal == (pass == 0); j++) {
        const RunEvent *event = &p->run->steps[i].events[j];
        if ((event->kind == RUN_OBSERVE || event->kind == RUN_COMMIT || event->kind == RUN_REJECT) &&
            event->lane >= 0) {
          paint_effect(p, i, event);
        }
      }
    }
  }
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static void write_lanes(Picture *p) {
  canvas_section(&p->canvas, "words, always last");
  for (int32_t lane = 0; lane < p->run->lane_count; lane++) {
    const RunLane *it = &p->run->lanes[lane];
    bool is_big = it->is_client || it->is_resource;
    g_autofree char *title = story_lane_title(it);
    canvas_text(&p->canvas, (Point){LABELS_RIGHT, p->rows[lane].y}, ALIGN_RIGHT,
                (Font){.size = is_big ? 14 : 11,
                       .is_bold = is_big,
                       .colour = it->is_client ? palette_hue(p->story->hue_number[lane])->solid : PALETTE_INK},
                title);
  }
}

static void write_tick(Picture *p, int32_t index, double *last_x, int64_t *last_ns) {
  const Beat *beat = told(p, index);
  double x = p->x[beat->mark];
  int64_t now_ns = p->run->steps[beat->mark].time_ns;
  canvas_line(&p->canvas, (Point){x, AXIS_Y - 4}, (Point){x, AXIS_Y + 4}, (Stroke){.colour = PALETTE_GREY, .width = 1});
  if (!p->story->is_untimed && now_ns == *last_ns && index) {
    return;
  }
  g_autofree char *text =
      p->story->is_untimed ? g_strdup_printf("%d", beat->mark + 1) : story_instant_text(p->story, now_ns);
  double width = canvas_text_width(text, 10, false);
  if (x - width / 2 < *last_x + 6) {
    return;
  }
  *last_x = x + width / 2;
  *last_ns = now_ns;
  canvas_text(
      &p->canvas, (Point){x, AXIS_LABEL_Y}, ALIGN_CENTRE,
      (Font){.size = 10, .colour = beat->is_violation ? PALETTE_VIOLATION : PALETTE_INK, .is_bold = beat->is_violation},
      text);
}

static void write_axis(Picture *p) {
  double last_x = -1000;
  int64_t last_ns = -1;
  canvas_text(&p->canvas, (Point){LABELS_RIGHT, AXIS_LABEL_Y}, ALIGN_RIGHT,
              (Font){.size = 10, .colour = PALETTE_GREY, .is_italic = true},
              p->story->is_untimed ? "step (no time passes)" : "seconds");
  for (int32_t i = 0; i < p->chosen_count; i++) {
    write_tick(p, i, &last_x, &last_ns);
  }
  for (int32_t i = 0; i + 1 < p->run->step_count; i++) {
    if (!p->is_compressed[i]) {
      continue;
    }
    double x = (p->x[i] + p->x[i + 1]) / 2;
    g_autofree char *length = story_duration_text(gap_ns(p, i));
    canvas_text(&p->canvas, (Point){x, AXIS_Y}, ALIGN_CENTRE,
                (Font){.size = 11, .colour = PALETTE_GREY, .is_bold = true, .paper = "white"}, "//");
    Point places[] = {{x, p->bottom - 10}};
    if (p->gaps[i] > canvas_text_width(length, 9, false)) {
      canvas_text(&p->canvas, take_place(p, places, 1, 40, 14), ALIGN_CENTRE,
                  (Font){.size = 9, .colour = PALETTE_GREY, .is_italic = true}, length);
    }
  }
}

/* Badges stand over the bar of a client, under it where it begins to ask, and beside the thing on other lanes. */
static Point badge_place(Picture *p, const Beat *beat) {
  const Row *row = &p->rows[beat->lane];
  double x = p->x[beat->mark], over = row->y - row->half - 9, under = row->y + row->half + 9;
  if (p->run->lanes[beat->lane].is_client) {
    bool is_under = beat->kind == BEAT_ROUND;
    Point places[] = {{x, is_under ? under : over},
                      {x, is_under ? over : under},
                      {x + 16, over},
                      {x - 16, over},
                      {x + 16, under},
                      {x - 16, under}};
    return take_place(p, places, G_N_ELEMENTS(places), 14, 14);
  }
  if (story_is_bottom(&p->run->lanes[beat->lane])) {
    Point places[] = {{x - 18, row->y - 13},
                      {x + 18, row->y - 13},
                      {x - 18, row->y + 14},
                      {x + 30, row->y - 13},
                      {x - 34, row->y - 13}};
    return take_place(p, places, G_N_ELEMENTS(places), 14, 14);
  }
  Point places[] = {{x + 13, row->y}, {x - 10, row->y}, {x, over + 1}, {x + 13, over}, {x + 28, row->y}};
  return take_place(p, places, G_N_ELEMENTS(places), 14, 14);
}

static void paint_badges(Picture *p) {
  canvas_section(&p->canvas, "badges");
  for (int32_t i = 0; i < p->chosen_count; i++) {
    const Beat *beat = told(p, i);
    if (beat->lane >= 0) {
      const char *fill = beat->is_violation         ? PALETTE_VIOLATION
                         : beat->kind == BEAT_CLOCK ? PALETTE_CLOCK
                                                    : PALETTE_INK;
      canvas_badge(&p->canvas, badge_place(p, beat), i + 1, fill);
    }
  }
}

/* --- sentences --------------------------------------------------------------------------------------------------- */

typedef struct Column {
  double left, y;
} Column;

static double sentence_width(const Picture *p, int32_t columns) {
  return (right_edge(p) - TIME_LEFT - 20) / columns - 90;
}

static int32_t sentence_lines(const Picture *p, int32_t index, int32_t columns) {
  g_auto(GStrv) lines = canvas_wrap(told(p, index)->sentence, SENTENCE_SIZE, sentence_width(p, columns));
  return (int32_t)g_strv_length(lines);
}

/* Two columns if the sentences stay short in them. */
static int32_t column_count(const Picture *p) {
  int32_t lines = 0;
  for (int32_t i = 0; i < p->chosen_count; i++) {
    lines += sentence_lines(p, i, 2);
  }
  return p->chosen_count > 5 && lines * 2 <= p->chosen_count * 3 ? 2 : 1;
}

static int32_t first_of_second_column(const Picture *p, int32_t columns) {
  return columns == 2 ? (p->chosen_count + 1) / 2 : p->chosen_count;
}

static double sentences_height(const Picture *p) {
  int32_t columns = column_count(p), split = first_of_second_column(p, columns), lines[2] = {0, 0};
  for (int32_t i = 0; i < p->chosen_count; i++) {
    lines[i >= split] += sentence_lines(p, i, columns);
  }
  return MAX(lines[0], lines[1]) * SENTENCE_PITCH;
}

static void write_sentence(Picture *p, int32_t index, Column *column, int32_t columns) {
  const Beat *beat = told(p, index);
  g_autofree char *number = g_strdup_printf("%d", index + 1);
  g_autofree char *time =
      p->story->is_untimed ? g_strdup("") : story_instant_text(p->story, p->run->steps[beat->mark].time_ns);
  g_auto(GStrv) lines = canvas_wrap(beat->sentence, SENTENCE_SIZE, sentence_width(p, columns));
  const char *ink = beat->is_violation ? PALETTE_VIOLATION : PALETTE_INK;
  canvas_text(&p->canvas, (Point){column->left, column->y}, ALIGN_RIGHT, (Font){.size = SENTENCE_SIZE, .colour = ink},
              number);
  if (time[0]) {
    canvas_text(&p->canvas, (Point){column->left + 58, column->y}, ALIGN_RIGHT,
                (Font){.size = SENTENCE_SIZE, .colour = PALETTE_GREY}, time);
  }
  double left = column->left + (time[0] ? 66 : 12);
  for (int i = 0; lines[i]; i++) {
    bool is_last = !lines[i + 1];
    g_autofree char *line = g_strdup_printf("%s%s", lines[i], is_last && !g_str_has_suffix(lines[i], ".") ? "." : "");
    canvas_text(&p->canvas, (Point){left, column->y}, ALIGN_LEFT, (Font){.size = SENTENCE_SIZE, .colour = ink}, line);
    column->y += SENTENCE_PITCH;
  }
}

static void write_sentences(Picture *p) {
  int32_t columns = column_count(p), split = first_of_second_column(p, columns);
  double top = p->bottom + 38;
  Column places[2] = {{TIME_LEFT - 10, top}, {TIME_LEFT - 10 + (right_edge(p) - TIME_LEFT) / 2, top}};
  for (int32_t i = 0; i < p->chosen_count; i++) {
    write_sentence(p, i, &places[i >= split], columns);
  }
}

/* What the picture does not show. */
static char *notes(const Picture *p) {
  GString *text = g_string_new(NULL);
  int32_t told_steps = 0, hidden = 0;
  for (int32_t i = 0; i < p->chosen_count; i++) {
    told_steps += told(p, i)->last - told(p, i)->first + 1;
  }
  for (uint32_t i = 0; i < p->story->messages.count; i++) {
    hidden += p->story->messages.items[i].sent < p->window_first;
  }
  g_string_append(text, p->story->is_untimed ? "" : "Grey columns are compressed time. ");
  if (told_steps < p->run->step_count) {
    g_string_append_printf(text, "The sentences tell %d of the run's %d steps. ", told_steps, p->run->step_count);
  }
  if (p->window_first > 0) {
    g_string_append_printf(text, "Steps 1 to %d are squeezed, and their %d messages are not drawn. ", p->window_first,
                           hidden);
  }
  return g_string_free(text, FALSE);
}

static void write_titles(Picture *p) {
  g_autofree char *title = story_title(p->run), *subtitle = story_subtitle(p->run), *note = notes(p);
  double size = 19;
  while (size > 11 && canvas_text_width(title, size, true) > p->width - 40) {
    size -= 1;
  }
  canvas_text(&p->canvas, (Point){28, TITLE_Y}, ALIGN_LEFT,
              (Font){.size = size, .is_bold = true, .colour = p->run->property[0] ? PALETTE_VIOLATION : PALETTE_INK},
              title);
  canvas_text(&p->canvas, (Point){28, SUBTITLE_Y}, ALIGN_LEFT, (Font){.size = 11, .colour = PALETTE_GREY}, subtitle);
  canvas_text(&p->canvas, (Point){28, p->height - 12}, ALIGN_LEFT,
              (Font){.size = 9, .colour = PALETTE_GREY, .is_italic = true}, note);
}

static void measure(Picture *p) {
  map_time(p);
  place_lanes(p);
  g_autofree char *title = story_title(p->run), *subtitle = story_subtitle(p->run);
  double words = MAX(canvas_text_width(title, 13, true), canvas_text_width(subtitle, 11, false)) + 60;
  p->width = MAX(right_edge(p) + RIGHT_MARGIN, words);
  p->x[p->run->step_count] = MAX(right_edge(p), MIN(p->width - RIGHT_MARGIN, right_edge(p) + 200));
  p->height = p->bottom + 38 + sentences_height(p) + 30;
}

static void paint(Picture *p) {
  g_autofree char *comment = story_title(p->run);
  canvas_begin(&p->canvas, p->width, p->height, comment);
  paint_compressed(p);
  paint_overlaps(p);
  paint_guides(p);
  paint_messages(p);
  paint_bars(p);
  paint_clocks(p);
  paint_effects(p);
  write_lanes(p);
  write_pauses(p);
  write_overlaps(p);
  write_axis(p);
  paint_badges(p);
  write_late_messages(p);
  write_sentences(p);
  write_titles(p);
}

char *scaled_timeline(const Run *run) {
  Story *story = story_new(run);
  Beats *beats = beats_new(story, true);
  Picture picture = {.run = run, .story = story, .beats = beats};
  picture.chosen = beats_chosen(beats, STORY_LIMIT, &picture.chosen_count);
  measure(&picture);
  paint(&picture);
  g_free(picture.chosen);
  g_free(picture.gaps);
  g_free(picture.x);
  g_free(picture.is_compressed);
  g_free(picture.rows);
  vec_free(&picture.taken);
  beats_free(beats);
  story_free(story);
  return canvas_end(&picture.canvas);
}
