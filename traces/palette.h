/* Colours of reports and pictures, once. A colour means *who owns*: one hue per client, used for its name, its bars,
 * its keys and its messages; grey is nobody, purple a clock, and red is kept for the violation.
 */
#ifndef LOCKSTEP_TRACES_PALETTE_H
#define LOCKSTEP_TRACES_PALETTE_H

#include <stddef.h>
#include <stdint.h>

#define PALETTE_INK "#1F2933"
#define PALETTE_GREY "#7B8794" /* words of second rank, the axis */
#define PALETTE_LIFELINE "#CBD2D9"
#define PALETTE_GUIDE "#E4E7EB"
#define PALETTE_PAPER "#F1F3F5"  /* compressed time, empty cells */
#define PALETTE_NOBODY "#9AA5B1" /* a value that is no client's */
#define PALETTE_PAUSE "#C3CBD3"
#define PALETTE_PAUSE_LIGHT "#E9ECEF"
#define PALETTE_DOWN "#52606D"
#define PALETTE_CLOCK "#6B3FA0"
#define PALETTE_VIOLATION "#C2142D"
#define PALETTE_OVERLAP "#FADADF"

typedef struct Hue {
  const char *solid;    /* bars, with white words; names */
  const char *middle;   /* replies, remembered ownership */
  const char *pale;     /* acquiring */
  const char *on_pale;  /* words on pale */
  const char *terminal; /* the same on a terminal: SGR parameters, 256 colours */
} Hue;

/* No hue is close to the red of a violation or the purple of a clock. */
static const Hue palette_hues[] = {
    {"#0B6BB0", "#86B6D8", "#BFDCF0", "#0B6BB0", "38;5;32"},  /* blue */
    {"#B85C00", "#DDA66A", "#F7DDBB", "#8A4500", "38;5;172"}, /* orange */
    {"#1E7F4F", "#85BFA1", "#C5E6D3", "#145C38", "38;5;35"},  /* green */
    {"#0F7E8C", "#84C1C9", "#C2E4E8", "#0A5A64", "38;5;37"},  /* teal */
    {"#7A6A00", "#BFB56A", "#EAE4B4", "#5C5000", "38;5;142"}, /* olive */
    {"#A2437F", "#D39CBF", "#F0D3E4", "#7D2F60", "38;5;169"}, /* mauve */
};
#define PALETTE_HUE_COUNT ((int32_t)(sizeof palette_hues / sizeof palette_hues[0]))

static const Hue palette_nobody = {PALETTE_NOBODY, PALETTE_NOBODY, PALETTE_PAPER, PALETTE_INK, "39"};

/* The hue of the client with this number (0, 1, …); grey for a negative one. Hues repeat after the last. */
static inline const Hue *palette_hue(int32_t client_number) {
  return client_number < 0 ? &palette_nobody : &palette_hues[client_number % PALETTE_HUE_COUNT];
}

#endif
