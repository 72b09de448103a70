/* A painter of DOT with pinned positions: Graphviz draws, it lays out nothing.
 *
 * Coordinates are points, origin top left, y down; the canvas turns them over. Graphviz paints in the order of the
 * file, so whoever calls first lies below: paper, guides, messages, bars, marks, words. All text is escaped here.
 * Numbers do not depend on the locale. conventions.md, section 9, has what Graphviz gets wrong and how this avoids it.
 */
#ifndef LOCKSTEP_TRACES_CANVAS_H
#define LOCKSTEP_TRACES_CANVAS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Canvas {
  GString *out;
  double height;
  int32_t next_id;
} Canvas;

typedef struct Point {
  double x, y;
} Point;

typedef enum Align { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT } Align;

typedef struct Font {
  double size;
  const char *colour;
  bool is_bold, is_italic;
  const char *paper; /* colour behind the words; NULL: none */
} Font;

typedef struct Stroke {
  const char *colour;
  double width;
  bool is_dashed;
  double arrow;        /* size of the head; 0: none */
  const char *tooltip; /* NULL: none */
} Stroke;

void canvas_begin(Canvas *canvas, double width, double height, const char *comment);
char *canvas_end(Canvas *canvas); /* the DOT text; caller frees */
void canvas_section(Canvas *canvas, const char *comment);

void canvas_box(Canvas *canvas, double left, double right, double middle, double height, const char *fill);
/* A box with words in it, centred; the caller has seen to it that they fit. */
void canvas_bar(Canvas *canvas, double left, double right, double middle, double height, const char *fill, Font font,
                const char *text);
void canvas_stripes(Canvas *canvas, double left, double right, double middle, double height);
void canvas_line(Canvas *canvas, Point from, Point to, Stroke stroke);
/* "star", "diamond", "circle" of Graphviz. */
void canvas_mark(Canvas *canvas, const char *shape, Point at, double size, const char *fill, const char *edge);
void canvas_badge(Canvas *canvas, Point at, int32_t number, const char *fill);
/* `at` is the middle of the left edge, of the text or of the right edge. */
void canvas_text(Canvas *canvas, Point at, Align align, Font font, const char *text);

/* An estimate of a text's width in Arial, on the safe side. */
double canvas_text_width(const char *text, double size, bool is_bold);
/* Lines of at most `width` points, broken at spaces. Caller frees with g_strfreev. */
char **canvas_wrap(const char *text, double size, double width);

/* For HTML-like labels: never empty, valid UTF-8, no character that XML forbids. */
void canvas_append_html(GString *out, const char *text);
/* "12.5": one digit after the point. */
void canvas_append_number(GString *out, double number);

#endif
