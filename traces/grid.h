/* Rows and columns of a run, for the compact picture and its form on a terminal.
 *
 * Rows are the told beats, with rows between them where time is quiet; columns are
 * lanes: the first client, lock servers, the other clients, resources. A cell is what a lane shows after the row's last
 * step.
 */
#ifndef LOCKSTEP_TRACES_GRID_H
#define LOCKSTEP_TRACES_GRID_H

#include "traces/beat.h"

typedef struct GridRow {
  const Beat *beat; /* NULL: quiet time */
  int32_t step;     /* the cells show the state after this step */
  int64_t quiet_ns;
} GridRow;

typedef enum GridMark { MARK_NONE, MARK_CROSS, MARK_CLOCK, MARK_READ, MARK_WRITE, MARK_REJECT } GridMark;

typedef struct GridCell {
  LaneState state;
  int32_t owner; /* of a server with variables: the first one's owner, STORY_FREE or STORY_VALUE */
  const char *value;
  GridMark mark;       /* what happens to the lane in this row */
  int32_t mark_client; /* MARK_READ, MARK_WRITE, MARK_REJECT */
  int64_t clock_ns;    /* MARK_CLOCK */
  int32_t span_from;   /* the step in which the lane's state began */
} GridCell;

typedef struct Grid {
  Story *story;
  Beats *beats;
  VEC(GridRow) rows;
  int32_t *columns; /* lanes */
  int32_t column_count;
} Grid;

Grid *grid_new(const Run *run, int32_t told_limit);
void grid_free(Grid *grid);
GridCell grid_cell(const Grid *grid, uint32_t row, int32_t lane);
/* Whether the column is one of a run of narrow ones: a server that shows variables and is no resource. */
bool grid_is_narrow(const Grid *grid, int32_t lane);

/* The compact picture on a terminal. Caller frees. */
char *grid_text(const Run *run);

#endif
