#include "traces/canvas.h"

#include <string.h>

#include "traces/palette.h"

/* --- text -------------------------------------------------------------------------------------------------------- */

static bool is_xml_character(gunichar c) {
  return c >= 0x20 && c != 0x7F && c != 0xFFFE && c != 0xFFFF;
}

void canvas_append_html(GString *out, const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  gsize before = out->len;
  for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
    gunichar c = g_utf8_get_char(at);
    switch (c) {
    case '<': g_string_append(out, "&lt;"); break;
    case '>': g_string_append(out, "&gt;"); break;
    case '&': g_string_append(out, "&amp;"); break;
    case '"': g_string_append(out, "&quot;"); break;
    default: g_string_append_unichar(out, is_xml_character(c) ? c : ' '); break;
    }
  }
  if (out->len == before) {
    g_string_append_c(out, ' ');
  }
}

/* Graphviz decodes entities in quoted strings too, and a backslash begins one of its escapes. */
static void append_quoted(GString *out, const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_string_append_c(out, '"');
  for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
    gunichar c = g_utf8_get_char(at);
    if (c == '&') {
      g_string_append(out, "&amp;");
    } else {
      g_string_append(out, c == '"' || c == '\\' ? "\\" : "");
      g_string_append_unichar(out, is_xml_character(c) ? c : ' ');
    }
  }
  g_string_append_c(out, '"');
}

/* Widths of Arial in thousandths of its size: narrow, wide, capital letters and the rest. */
static int character_width(gunichar c) {
  if (c < 0x80 && strchr("ijl|!.,:;'", (int)c)) {
    return 260;
  }
  if (c < 0x80 && strchr("ftr()[] /-", (int)c)) {
    return 330;
  }
  if (c == 'm' || c == 'M' || c == 'W' || c == '>' || c == '<' || c == '+' || c == '=') {
    return c == 'W' ? 950 : c == 'm' || c == 'M' ? 840 : 590;
  }
  if (c == 'w' || (c >= 'A' && c <= 'Z')) {
    return 700;
  }
  return c < 0x250 ? 560 : 1000;
}

double canvas_text_width(const char *text, double size, bool is_bold) {
  int64_t sum = 0;
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
    sum += character_width(g_utf8_get_char(at));
  }
  return (double)sum * size * (is_bold ? 1.08 : 1.0) / 1000;
}

char **canvas_wrap(const char *text, double size, double width) {
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  GPtrArray *lines = g_ptr_array_new();
  GString *line = g_string_new(NULL);
  for (int i = 0; words[i]; i++) {
    g_autofree char *longer = g_strdup_printf("%s%s%s", line->str, line->len ? " " : "", words[i]);
    if (line->len && canvas_text_width(longer, size, false) > width) {
      g_ptr_array_add(lines, g_strdup(line->str));
      g_string_assign(line, words[i]);
    } else {
      g_string_assign(line, longer);
    }
  }
  g_ptr_array_add(lines, g_string_free(line, FALSE));
  g_ptr_array_add(lines, NULL);
  return (char **)g_ptr_array_free(lines, FALSE);
}

void canvas_append_number(GString *out, double number) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd(buffer, sizeof buffer, "%.1f", number);
  g_string_append(out, strcmp(buffer, "-0.0") == 0 ? "0.0" : buffer);
}

/* Sizes of nodes are inches in DOT. */
static void append_inches(GString *out, double points) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append(out, g_ascii_formatd(buffer, sizeof buffer, "%.3f", points / 72));
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static int32_t begin_node(Canvas *canvas, Point at) {
  GString *out = canvas->out;
  g_string_append_printf(out, "  n%d [pos=\"", canvas->next_id);
  canvas_append_number(out, at.x);
  g_string_append_c(out, ',');
  canvas_append_number(out, canvas->height - at.y);
  g_string_append(out, "\"");
  return canvas->next_id++;
}

static void append_size(GString *out, double width, double height) {
  g_string_append(out, ", fixedsize=true, width=");
  append_inches(out, width);
  g_string_append(out, ", height=");
  append_inches(out, height);
}

void canvas_begin(Canvas *canvas, double width, double height, const char *comment) {
  *canvas = (Canvas){.out = g_string_new(NULL), .height = height};
  g_autofree char *valid = g_utf8_make_valid(comment, -1);
  g_strdelimit(valid, "\r\n\v\f", ' ');
  g_string_append_printf(canvas->out,
                         "// %s\n// Render with: dot -Tsvg FILE.dot (all positions are pinned, in points).\n"
                         "// Paint order is file order.\ndigraph counterexample {\n"
                         "  graph [layout=nop2, bgcolor=white, splines=line, pad=0.3, dpi=110, fontname=\"Arial\"];\n"
                         "  node [fontname=\"Arial\", fontsize=10, shape=box]; edge [fontname=\"Arial\"];\n",
                         valid);
  canvas_box(canvas, 0, width, height / 2, height, "white");
}

char *canvas_end(Canvas *canvas) {
  g_string_append(canvas->out, "}\n");
  return g_string_free(canvas->out, FALSE);
}

void canvas_section(Canvas *canvas, const char *comment) {
  g_string_append_printf(canvas->out, "\n  // %s\n", comment);
}

void canvas_box(Canvas *canvas, double left, double right, double middle, double height, const char *fill) {
  begin_node(canvas, (Point){(left + right) / 2, middle});
  append_size(canvas->out, right - left, height);
  g_string_append_printf(canvas->out, ", style=filled, fillcolor=\"%s\", color=none, penwidth=0, label=\"\"];\n", fill);
}

void canvas_bar(Canvas *canvas, double left, double right, double middle, double height, const char *fill, Font font,
                const char *text) {
  if (!text[0]) {
    canvas_box(canvas, left, right, middle, height, fill);
    return;
  }
  begin_node(canvas, (Point){(left + right) / 2, middle});
  append_size(canvas->out, right - left, height);
  g_string_append_printf(
      canvas->out, ", style=filled, fillcolor=\"%s\", color=none, penwidth=0%s, fontcolor=\"%s\", fontsize=", fill,
      font.is_bold ? ", fontname=\"Arial Bold\"" : "", font.colour);
  canvas_append_number(canvas->out, font.size);
  g_string_append(canvas->out, ", label=");
  append_quoted(canvas->out, text);
  g_string_append(canvas->out, "];\n");
}

void canvas_stripes(Canvas *canvas, double left, double right, double middle, double height) {
  int count = MAX(1, (int)((right - left) / 14));
  begin_node(canvas, (Point){(left + right) / 2, middle});
  append_size(canvas->out, right - left, height);
  g_string_append(canvas->out, ", style=striped, color=none, penwidth=0, label=\"\", fillcolor=\"");
  for (int i = 0; i < count; i++) {
    g_string_append_printf(canvas->out, "%s%s", i ? ":" : "", i % 2 ? PALETTE_PAUSE_LIGHT : PALETTE_PAUSE);
  }
  g_string_append(canvas->out, count == 1 ? ":" PALETTE_PAUSE_LIGHT "\"];\n" : "\"];\n");
}

static int32_t add_end(Canvas *canvas, Point at) {
  int32_t id = begin_node(canvas, at);
  g_string_append(canvas->out, ", shape=none, label=\"\", fixedsize=true, width=0, height=0];\n");
  return id;
}

void canvas_line(Canvas *canvas, Point from, Point to, Stroke stroke) {
  int32_t tail = add_end(canvas, from), head = add_end(canvas, to);
  g_string_append_printf(canvas->out, "  n%d -> n%d [color=\"%s\", penwidth=", tail, head, stroke.colour);
  canvas_append_number(canvas->out, stroke.width);
  g_string_append(canvas->out, stroke.is_dashed ? ", style=dashed" : "");
  if (stroke.arrow > 0) {
    g_string_append(canvas->out, ", arrowsize=");
    canvas_append_number(canvas->out, stroke.arrow);
  } else {
    g_string_append(canvas->out, ", arrowhead=none");
  }
  if (stroke.tooltip) {
    g_string_append(canvas->out, ", tooltip=");
    append_quoted(canvas->out, stroke.tooltip);
  }
  g_string_append(canvas->out, "];\n");
}

void canvas_mark(Canvas *canvas, const char *shape, Point at, double size, const char *fill, const char *edge) {
  begin_node(canvas, at);
  g_string_append_printf(canvas->out, ", shape=%s", shape);
  append_size(canvas->out, size, size);
  g_string_append_printf(canvas->out, ", style=filled, fillcolor=\"%s\", color=\"%s\", penwidth=1.5, label=\"\"];\n",
                         fill, edge);
}

void canvas_badge(Canvas *canvas, Point at, int32_t number, const char *fill) {
  begin_node(canvas, at);
  append_size(canvas->out, 15, 15);
  g_string_append_printf(canvas->out,
                         ", shape=circle, style=filled, fillcolor=\"%s\", color=white, penwidth=1.5, fontcolor=white, "
                         "fontname=\"Arial Bold\", fontsize=9, label=\"%d\"];\n",
                         fill, number);
}

/* A cell of fixed width is the only way to align text that Graphviz measures (labeljust does nothing for nodes). */
void canvas_text(Canvas *canvas, Point at, Align align, Font font, const char *text) {
  GString *out = canvas->out;
  double width = canvas_text_width(text, font.size, font.is_bold) * 1.15 + 8;
  double middle = align == ALIGN_LEFT ? at.x + width / 2 : align == ALIGN_RIGHT ? at.x - width / 2 : at.x;
  begin_node(canvas, (Point){middle, at.y});
  g_string_append(out, ", shape=plain, fontsize=");
  canvas_append_number(out, font.size);
  g_string_append_printf(
      out, ", fontcolor=\"%s\", label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"%d\"",
      font.colour, align == ALIGN_CENTRE ? 2 : 0);
  if (font.paper) {
    g_string_append_printf(out, " bgcolor=\"%s\"", font.paper);
  }
  g_string_append(out, "><tr><td");
  if (align != ALIGN_CENTRE) {
    g_string_append_printf(out, " fixedsize=\"true\" width=\"%d\" height=\"%d\" align=\"%s\"", (int)width,
                           (int)(font.size * 1.5), align == ALIGN_LEFT ? "left" : "right");
  }
  g_string_append_printf(out, ">%s%s", font.is_bold ? "<b>" : "", font.is_italic ? "<i>" : "");
  canvas_append_html(out, text);
  g_string_append_printf(out, "%s%s</td></tr></table>>];\n", font.is_italic ? "</i>" : "", font.is_bold ? "</b>" : "");
}
