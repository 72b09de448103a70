#include "traces/compact.h"

#include <string.h>

#include "traces/canvas.h"
#include "traces/grid.h"
#include "traces/palette.h"

enum {
  STORY_LIMIT = 12,
  CLIENT_WIDTH = 130,
  NARROW_WIDTH = 28,
  WIDE_WIDTH = 100,
  SENTENCE_WIDTH = 560,
  COLUMN_BEFORE = 2
};

typedef struct Table {
  GString *out;
  Grid *grid;
  const Run *run;
  int32_t *covered; /* by lane: rows that a tall cell above still covers */
} Table;

static void append_cell(GString *out, const char *attributes, const char *colour, bool is_bold, const char *text) {
  g_string_append_printf(out, " <td%s%s>", attributes[0] ? " " : "", attributes);
  if (text[0]) {
    g_string_append_printf(out, "<font color=\"%s\">%s", colour, is_bold ? "<b>" : "");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i]; i++) {
      g_string_append(out, i ? "<br/>" : "");
      canvas_append_html(out, lines[i]);
    }
    g_string_append_printf(out, "%s</font>", is_bold ? "</b>" : "");
  }
  g_string_append(out, "</td>\n");
}

/* Sentences may need two lines, each of them left-aligned. */
static void append_sentence(GString *out, const char *colour, bool is_bold, const char *text) {
  g_auto(GStrv) lines = canvas_wrap(text, 11, SENTENCE_WIDTH);
  g_string_append_printf(out, " <td align=\"left\" balign=\"left\"><font color=\"%s\">%s", colour,
                         is_bold ? "<b>" : "");
  for (int i = 0; lines[i]; i++) {
    g_string_append(out, i ? "<br/>" : "");
    canvas_append_html(out, lines[i]);
  }
  g_string_append_printf(out, ".%s</font></td>\n", is_bold ? "</b>" : "");
}

/* --- header ------------------------------------------------------------------------------------------------------ */

static int32_t column_count(const Table *table) {
  return table->grid->column_count + COLUMN_BEFORE + 1;
}

static void append_title(Table *table) {
  g_autofree char *title = story_title(table->run), *subtitle = story_subtitle(table->run);
  g_auto(GStrv) lines = canvas_wrap(title, 17, 1000), sublines = canvas_wrap(subtitle, 11, 1000);
  for (int i = 0; lines[i]; i++) {
    g_string_append_printf(table->out, "<tr><td colspan=\"%d\" align=\"left\"><font point-size=\"17\" color=\"%s\"><b>",
                           column_count(table), table->run->property[0] ? PALETTE_VIOLATION : PALETTE_INK);
    canvas_append_html(table->out, lines[i]);
    g_string_append(table->out, "</b></font></td></tr>\n");
  }
  for (int i = 0; sublines[i]; i++) {
    g_string_append_printf(table->out, "<tr><td colspan=\"%d\" align=\"left\"><font color=\"" PALETTE_GREY "\">",
                           column_count(table));
    canvas_append_html(table->out, sublines[i]);
    g_string_append(table->out, "</font></td></tr>\n");
  }
  g_string_append(table->out, "<tr><td height=\"6\"></td></tr>\n");
}

/* Narrow lanes of one array share their name in a row of its own: "node" over 0 1 2 3 4. */
static int32_t array_length(const Table *table, int32_t column) {
  const Grid *grid = table->grid;
  int32_t lane = grid->columns[column], length = 1;
  if (!grid_is_narrow(grid, lane) || !strchr(table->run->lanes[lane].name, '[')) {
    return 1;
  }
  while (column + length < grid->column_count && grid_is_narrow(grid, grid->columns[column + length]) &&
         table->run->lanes[grid->columns[column + length]].group == table->run->lanes[lane].group) {
    length++;
  }
  return length;
}

static void append_lane_header(Table *table, int32_t lane) {
  const RunLane *it = &table->run->lanes[lane];
  g_autofree char *title = story_lane_title(it);
  int width = it->is_client ? CLIENT_WIDTH : grid_is_narrow(table->grid, lane) ? NARROW_WIDTH : WIDE_WIDTH;
  g_string_append_printf(table->out, " <td rowspan=\"2\" width=\"%d\"><font point-size=\"%d\" color=\"%s\"><b>", width,
                         grid_is_narrow(table->grid, lane) ? 11 : 13,
                         it->is_client ? palette_hue(table->grid->story->hue_number[lane])->solid : PALETTE_INK);
  canvas_append_html(table->out, title);
  g_string_append(table->out, "</b></font></td>\n");
}

static void append_header(Table *table) {
  const Grid *grid = table->grid;
  g_string_append_printf(table->out,
                         "<tr>\n <td rowspan=\"2\"></td><td rowspan=\"2\" align=\"right\"><font color=\"" PALETTE_GREY
                         "\"><i>%s</i></font></td>\n",
                         grid->story->is_untimed ? "step" : "seconds");
  GString *indices = g_string_new("<tr>\n");
  bool has_arrays = false;
  for (int32_t i = 0; i < grid->column_count;) {
    int32_t length = array_length(table, i);
    const char *name = table->run->lanes[grid->columns[i]].name;
    if (length == 1) {
      append_lane_header(table, grid->columns[i++]);
      continue;
    }
    has_arrays = true;
    g_string_append_printf(table->out, " <td colspan=\"%d\"><b>", length);
    g_autofree char *base = g_strndup(name, strcspn(name, "["));
    canvas_append_html(table->out, base);
    g_string_append(table->out, "</b></td>\n");
    for (int32_t j = 0; j < length; j++) {
      const char *open = strchr(table->run->lanes[grid->columns[i + j]].name, '[');
      g_autofree char *index = open ? g_strndup(open + 1, strcspn(open + 1, "]")) : g_strdup("?");
      g_string_append_printf(indices, " <td width=\"%d\">", NARROW_WIDTH);
      canvas_append_html(indices, index);
      g_string_append(indices, "</td>\n");
    }
    i += length;
  }
  g_string_append(table->out, " <td rowspan=\"2\"></td>\n</tr>\n");
  if (!has_arrays) {
    g_string_append(indices, " <td height=\"1\"></td>\n");
  }
  g_string_append_printf(table->out, "%s</tr>\n", indices->str);
  g_string_free(indices, TRUE);
}

/* --- cells ------------------------------------------------------------------------------------------------------- */

static bool same_cell(const GridCell *a, const GridCell *b) {
  return a->mark == MARK_NONE && b->mark == MARK_NONE && a->state == b->state && a->owner == b->owner &&
         (a->state == LANE_IDLE || a->span_from == b->span_from);
}

/* How many rows from `row` on the lane shows the same. */
static uint32_t cell_height(const Table *table, uint32_t row, int32_t lane) {
  GridCell first = grid_cell(table->grid, row, lane);
  uint32_t height = 1;
  while (row + height < table->grid->rows.count) {
    GridCell next = grid_cell(table->grid, row + height, lane);
    if (!same_cell(&first, &next)) {
      break;
    }
    height++;
  }
  return height;
}

static char *pause_text(const Table *table, const GridCell *cell, int32_t lane) {
  const Run *run = table->run;
  const StorySpan *span = story_span_at(&table->grid->story->tracks.items[lane], cell->span_from);
  bool goes_on = span->to >= run->step_count;
  g_autofree char *length =
      story_duration_text(run->steps[MIN(span->to, run->step_count - 1)].time_ns - run->steps[span->from].time_ns);
  return goes_on ? g_strdup_printf("paused\n%s so far", length) : g_strdup_printf("paused\n%s", length);
}

static void append_client_cell(Table *table, uint32_t row, int32_t lane) {
  GridCell cell = grid_cell(table->grid, row, lane);
  const Hue *hue = palette_hue(table->grid->story->hue_number[lane]);
  uint32_t height = cell_height(table, row, lane);
  table->covered[lane] = (int32_t)height - 1;
  const struct {
    const char *fill, *ink, *text;
  } looks[] = {
      [LANE_IDLE] = {PALETTE_PAPER, PALETTE_INK, ""},
      [LANE_ACQUIRING] = {hue->pale, hue->on_pale, "acquiring"},
      [LANE_INSIDE] = {hue->solid, "white", "in critical section"},
      [LANE_STALE] = {PALETTE_VIOLATION, "white", height > 1 ? "still believes\nit holds the lock" : "still inside"},
      [LANE_PAUSED] = {PALETTE_PAUSE, PALETTE_INK, "paused"},
      [LANE_DOWN] = {PALETTE_DOWN, "white", "crashed"},
  };
  g_autofree char *pause = cell.state == LANE_PAUSED && height > 1 ? pause_text(table, &cell, lane) : NULL;
  g_autofree char *attributes = g_strdup_printf("bgcolor=\"%s\" rowspan=\"%u\"", looks[cell.state].fill, height);
  append_cell(table->out, attributes, looks[cell.state].ink, false, pause ? pause : looks[cell.state].text);
}

static void append_narrow_cell(Table *table, uint32_t row, int32_t lane) {
  GridCell cell = grid_cell(table->grid, row, lane);
  const Hue *hue = palette_hue(cell.owner >= 0 ? table->grid->story->hue_number[cell.owner] : -1);
  bool is_quiet = !table->grid->rows.items[row].beat;
  const char *fill = cell.owner == STORY_FREE ? PALETTE_PAPER : is_quiet ? hue->middle : hue->solid;
  const char *ink = "white", *text = is_quiet ? "" : cell.value;
  if (cell.state == LANE_DOWN) {
    fill = PALETTE_DOWN;
    text = is_quiet ? "" : "down";
  } else if (cell.mark == MARK_CLOCK) {
    fill = PALETTE_CLOCK;
    text = cell.clock_ns < 0 ? "-" : "+";
  } else if (cell.mark == MARK_CROSS) {
    ink = cell.owner == STORY_FREE ? PALETTE_VIOLATION : "white";
    text = "×";
  }
  g_autofree char *clock = cell.mark == MARK_CLOCK ? story_duration_text(cell.clock_ns) : NULL;
  g_autofree char *with_clock = clock ? g_strdup_printf("%s%s", cell.clock_ns < 0 ? "" : "+", clock) : NULL;
  g_autofree char *attributes = g_strdup_printf("bgcolor=\"%s\"", fill);
  append_cell(table->out, attributes, ink, cell.mark == MARK_CROSS, with_clock ? with_clock : text);
}

static void append_wide_cell(Table *table, uint32_t row, int32_t lane) {
  GridCell cell = grid_cell(table->grid, row, lane);
  uint32_t height = cell_height(table, row, lane);
  table->covered[lane] = (int32_t)height - 1;
  const Beat *beat = table->grid->rows.items[row].beat;
  const char *client = cell.mark_client >= 0 ? table->run->lanes[cell.mark_client].name : "somebody";
  const Hue *hue = palette_hue(cell.mark_client >= 0 ? table->grid->story->hue_number[cell.mark_client] : -1);
  const char *fill = PALETTE_PAPER, *ink = PALETTE_INK;
  bool is_fatal = beat && beat->is_violation && cell.mark == MARK_WRITE;
  g_autofree char *text = NULL;
  if (cell.mark == MARK_WRITE) {
    fill = is_fatal ? PALETTE_VIOLATION : hue->solid;
    ink = "white";
    text = g_strdup_printf("%swrite by %s", is_fatal ? "★ " : "", client);
  } else if (cell.mark == MARK_READ) {
    fill = hue->pale;
    ink = hue->on_pale;
    text = g_strdup_printf("read by %s", client);
  } else if (cell.mark == MARK_REJECT) {
    text = g_strdup_printf("%s refused", client);
  } else if (cell.state == LANE_DOWN) {
    fill = PALETTE_DOWN;
    ink = "white";
    text = g_strdup("down");
  } else if (cell.owner != STORY_FREE) {
    fill = palette_hue(cell.owner >= 0 ? table->grid->story->hue_number[cell.owner] : -1)->solid;
    ink = "white";
    text = g_strdup(cell.value);
  }
  g_autofree char *attributes = g_strdup_printf("bgcolor=\"%s\" rowspan=\"%u\"", fill, height);
  append_cell(table->out, attributes, ink, is_fatal, text ? text : "");
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static void append_row(Table *table, uint32_t row, int32_t *number) {
  const GridRow *it = &table->grid->rows.items[row];
  const char *ink = it->beat && it->beat->is_violation ? PALETTE_VIOLATION : PALETTE_INK;
  g_string_append(table->out, "<tr>\n");
  if (it->beat) {
    g_autofree char *index = g_strdup_printf("%d", ++*number);
    g_autofree char *time = table->grid->story->is_untimed
                                ? g_strdup_printf("%d", it->beat->mark + 1)
                                : story_instant_text(table->grid->story, table->run->steps[it->beat->mark].time_ns);
    append_cell(table->out, "align=\"right\"", it->beat->is_violation ? ink : PALETTE_GREY, false, index);
    append_cell(table->out, "align=\"right\"", ink, false, time);
  } else {
    g_autofree char *length = story_duration_text(it->quiet_ns), *text = g_strdup_printf("%s later", length);
    append_cell(table->out, "", PALETTE_GREY, false, "");
    g_string_append(table->out, " <td align=\"right\"><font color=\"" PALETTE_GREY "\"><i>");
    canvas_append_html(table->out, text);
    g_string_append(table->out, "</i></font></td>\n");
  }
  for (int32_t i = 0; i < table->grid->column_count; i++) {
    int32_t lane = table->grid->columns[i];
    if (table->covered[lane] > 0) {
      table->covered[lane]--;
    } else if (table->run->lanes[lane].is_client) {
      append_client_cell(table, row, lane);
    } else if (grid_is_narrow(table->grid, lane)) {
      append_narrow_cell(table, row, lane);
    } else {
      append_wide_cell(table, row, lane);
    }
  }
  if (it->beat) {
    append_sentence(table->out, ink, it->beat->is_violation, it->beat->sentence);
  } else {
    append_cell(table->out, "", ink, false, "");
  }
  g_string_append(table->out, "</tr>\n");
}

static void append_note(Table *table) {
  int32_t told = 0, rows = 0;
  for (uint32_t i = 0; i < table->grid->rows.count; i++) {
    const Beat *beat = table->grid->rows.items[i].beat;
    rows += beat != NULL;
    told += beat ? beat->last - beat->first + 1 : 0;
  }
  if (told < table->run->step_count) {
    g_string_append_printf(table->out,
                           "<tr><td colspan=\"%d\" align=\"left\"><font point-size=\"9\" color=\"" PALETTE_GREY
                           "\"><i>%d rows tell %d of the run's %d steps.</i></font></td></tr>\n",
                           column_count(table), rows, told, table->run->step_count);
  }
}

char *compact_timeline(const Run *run) {
  Table table = {.out = g_string_new(NULL),
                 .grid = grid_new(run, STORY_LIMIT),
                 .run = run,
                 .covered = g_new0(int32_t, (gsize)run->lane_count + 1)};
  g_string_append(table.out,
                  "// One row per event, one column per lane; cell colour is the state after the event.\n"
                  "// Render with: dot -Tsvg FILE.dot\n"
                  "digraph counterexample {\n"
                  "  graph [bgcolor=white, pad=0.25, dpi=110];\n"
                  "  node [shape=plain, fontname=\"Arial\", fontsize=11, fontcolor=\"" PALETTE_INK "\"];\n"
                  "  t [label=<\n<table border=\"0\" cellborder=\"0\" cellspacing=\"2\" cellpadding=\"4\">\n");
  append_title(&table);
  append_header(&table);
  int32_t number = 0;
  for (uint32_t row = 0; row < table.grid->rows.count; row++) {
    append_row(&table, row, &number);
  }
  append_note(&table);
  g_string_append(table.out, "</table>>];\n}\n");
  g_free(table.covered);
  grid_free(table.grid);
  return g_string_free(table.out, FALSE);
}
