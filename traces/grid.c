#include "traces/grid.h"

#include <string.h>

enum { QUIET_FACTOR = 8, TEXT_ROWS = 24 };

static bool has_variables(const Story *story, int32_t lane) {
  for (uint32_t i = (uint32_t)story->run->lane_count; i < story->tracks.count; i++) {
    if (story->tracks.items[i].lane == lane) {
      return true;
    }
  }
  return false;
}

bool grid_is_narrow(const Grid *grid, int32_t lane) {
  const RunLane *it = &grid->story->run->lanes[lane];
  return !it->is_client && !it->is_resource;
}

static void order_columns(Grid *grid) {
  const Story *story = grid->story;
  const Run *run = story->run;
  grid->columns = g_new0(int32_t, (gsize)run->lane_count + 1);
  int32_t first_client = -1;
  for (int32_t i = 0; i < run->lane_count && first_client < 0; i++) {
    first_client = run->lanes[story->order[i]].is_client ? story->order[i] : -1;
  }
  if (first_client >= 0) {
    grid->columns[grid->column_count++] = first_client;
  }
  for (int32_t i = 0; i < run->lane_count; i++) {
    if (story->order[i] != first_client) {
      grid->columns[grid->column_count++] = story->order[i];
    }
  }
}

/* Quiet: much longer than what lies between the other told beats. */
static bool is_quiet(int64_t gap_ns, int64_t total_ns) {
  return gap_ns > 0 && gap_ns >= total_ns / QUIET_FACTOR && gap_ns >= 1000000;
}

static void add_rows(Grid *grid, int32_t told_limit) {
  const Run *run = grid->story->run;
  int32_t count = 0;
  g_autofree int32_t *chosen = beats_chosen(grid->beats, told_limit, &count);
  for (int32_t i = 0; i < count; i++) {
    const Beat *beat = &grid->beats->list.items[chosen[i]];
    if (i) {
      const Beat *before = &grid->beats->list.items[chosen[i - 1]];
      int64_t gap_ns = run->steps[beat->first].time_ns - run->steps[before->last].time_ns;
      if (is_quiet(gap_ns, run->steps[run->step_count - 1].time_ns)) {
        vec_push(&grid->rows, ((GridRow){.step = beat->first - 1, .quiet_ns = gap_ns}));
      }
    }
    vec_push(&grid->rows, ((GridRow){.beat = beat, .step = beat->last}));
  }
}

Grid *grid_new(const Run *run, int32_t told_limit) {
  Grid *grid = g_new0(Grid, 1);
  grid->story = story_new(run);
  grid->beats = beats_new(grid->story, true);
  order_columns(grid);
  add_rows(grid, told_limit);
  return grid;
}

void grid_free(Grid *grid) {
  if (!grid) {
    return;
  }
  vec_free(&grid->rows);
  g_free(grid->columns);
  beats_free(grid->beats);
  story_free(grid->story);
  g_free(grid);
}

static void note_event(const Grid *grid, GridCell *cell, const RunEvent *event, int32_t lane) {
  if (event->kind == RUN_SEND && event->peer == lane && event->flag_lost) {
    cell->mark = MARK_CROSS;
  }
  if (event->lane != lane) {
    return;
  }
  if (event->kind == RUN_CLOCK_STEP) {
    cell->mark = MARK_CLOCK;
    cell->clock_ns = event->duration_ns;
  } else if (!grid->story->run->lanes[lane].is_client &&
             (event->kind == RUN_OBSERVE || event->kind == RUN_COMMIT || event->kind == RUN_REJECT)) {
    cell->mark = event->kind == RUN_OBSERVE ? MARK_READ : event->kind == RUN_COMMIT ? MARK_WRITE : MARK_REJECT;
    cell->mark_client = event->peer;
  }
}

GridCell grid_cell(const Grid *grid, uint32_t row, int32_t lane) {
  const Story *story = grid->story;
  const GridRow *it = &grid->rows.items[row];
  const StorySpan *state = story_span_at(&story->tracks.items[lane], it->step);
  GridCell cell = {.state = state ? (LaneState)state->value : LANE_IDLE,
                   .owner = STORY_FREE,
                   .value = "",
                   .mark_client = -1,
                   .span_from = state ? state->from : 0};
  for (uint32_t i = story->tracks.count; has_variables(story, lane) && i-- > (uint32_t)story->run->lane_count;) {
    const StorySpan *span =
        story->tracks.items[i].lane == lane ? story_span_at(&story->tracks.items[i], it->step) : NULL;
    if (span && (span->value != STORY_FREE || cell.owner == STORY_FREE)) {
      cell.owner = span->value;
      cell.value = span->value >= 0 ? story->run->lanes[span->value].name : span->value == STORY_FREE ? "" : span->text;
    }
  }
  for (int32_t i = it->beat ? it->beat->first : it->step + 1; i <= it->step; i++) {
    for (int32_t j = 0; j < story->run->steps[i].event_count; j++) {
      note_event(grid, &cell, &story->run->steps[i].events[j], lane);
    }
  }
  return cell;
}

/* --- on a terminal ----------------------------------------------------------------------------------------------- */

static char *cell_text(const Grid *grid, uint32_t row, int32_t lane) {
  static const char *const words[] = {"", "acquiring", "INSIDE", "INSIDE (!)", "paused", "down"};
  const Run *run = grid->story->run;
  GridCell cell = grid_cell(grid, row, lane);
  const char *client = cell.mark_client >= 0 ? run->lanes[cell.mark_client].name : "";
  switch (cell.mark) {
  case MARK_CROSS: return g_strdup("x");
  case MARK_CLOCK: return g_strdup("clock");
  case MARK_READ: return g_strdup_printf("read %s", client);
  case MARK_WRITE: return g_strdup_printf("write %s", client);
  case MARK_REJECT: return g_strdup_printf("stale %s", client);
  case MARK_NONE: break;
  }
  if (cell.state == LANE_DOWN) {
    return g_strdup("down");
  }
  if (run->lanes[lane].is_client) {
    bool goes_on = row && grid_cell(grid, row - 1, lane).state == cell.state && cell.state != LANE_IDLE;
    return g_strdup(goes_on ? "  |" : words[cell.state]);
  }
  return g_strdup(grid_is_narrow(grid, lane) ? (cell.owner == STORY_FREE ? "." : cell.value) : "");
}

static int column_width(const Grid *grid, int32_t lane) {
  glong width = g_utf8_strlen(grid->story->run->lanes[lane].name, -1);
  for (uint32_t row = 0; row < grid->rows.count; row++) {
    g_autofree char *text = cell_text(grid, row, lane);
    width = MAX(width, g_utf8_strlen(text, -1));
  }
  return (int)MIN(width, 200);
}

static void append_cell(GString *out, const char *text, int width) {
  g_string_append(out, text);
  for (glong i = g_utf8_strlen(text, -1); i < width + 2; i++) {
    g_string_append_c(out, ' ');
  }
}

static void end_row(GString *out) {
  while (out->len && out->str[out->len - 1] == ' ') {
    g_string_truncate(out, out->len - 1);
  }
  g_string_append_c(out, '\n');
}

char *grid_text(const Run *run) {
  Grid *grid = grid_new(run, TEXT_ROWS);
  GString *out = g_string_new(NULL);
  g_autofree char *title = story_title(run);
  g_string_append_printf(out, "%s\n\n%9s  ", title, grid->story->is_untimed ? "step" : "t (s)");
  g_autofree int *widths = g_new0(int, (gsize)grid->column_count + 1);
  for (int32_t i = 0; i < grid->column_count; i++) {
    widths[i] = column_width(grid, grid->columns[i]);
    append_cell(out, run->lanes[grid->columns[i]].name, widths[i]);
  }
  end_row(out);
  for (uint32_t row = 0; row < grid->rows.count; row++) {
    const GridRow *it = &grid->rows.items[row];
    if (!it->beat) {
      g_autofree char *quiet = story_duration_text(it->quiet_ns);
      g_string_append_printf(out, "  ... %s\n", quiet);
      continue;
    }
    g_autofree char *time = grid->story->is_untimed
                                ? g_strdup_printf("%d", it->beat->mark + 1)
                                : story_instant_text(grid->story, run->steps[it->beat->mark].time_ns);
    g_string_append_printf(out, "%9s  ", time);
    for (int32_t i = 0; i < grid->column_count; i++) {
      g_autofree char *text = cell_text(grid, row, grid->columns[i]);
      append_cell(out, text, widths[i]);
    }
    g_string_append(out, it->beat->is_violation ? "<-- violation" : "");
    end_row(out);
  }
  grid_free(grid);
  return g_string_free(out, FALSE);
}
