#include "world/state.h"

#include <string.h>

#include "base/check.h"

static uint8_t width_for(int64_t most) {
  return most <= 0 ? 0 : most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : 4;
}

int32_t layout_add(Layout *layout, FieldSort sort, int32_t base, int64_t most) {
  vec_push(&layout->fixed, ((Field){.sort = sort, .width = width_for(most), .base = base}));
  return (int32_t)layout->fixed.count - 1;
}

void layout_free(Layout *layout, const Program *program) {
  vec_free(&layout->fixed);
  vec_free(&layout->message);
  vec_free(&layout->fixed_names);
  vec_free(&layout->message_names);
  vec_free(&layout->arrays);
  vec_free(&layout->bags);
  vec_free(&layout->ordered_names);
  free(layout->ghost_variable);
  free(layout->cell_array);
  free(layout->cell_home);
  for (int32_t k = 0; k < program->kind_count; k++) {
    free(layout->client_variable[k]);
  }
  for (int32_t s = 0; s < program->service_count; s++) {
    free(layout->server_variable[s]);
    free(layout->server_timer[s]);
  }
}

void state_copy(const Layout *layout, State *to, const State *from) {
  to->message_count = from->message_count;
  to->age_count = from->age_count;
  memcpy(to->cells, from->cells, (size_t)state_cells(layout, from) * sizeof(Cell));
}

void state_remove_message(const Layout *layout, State *state, int32_t message) {
  Cell *gone = state_message(layout, state, message);
  int32_t behind = state->message_count - message - 1;
  memmove(gone, gone + layout->message.count, (size_t)behind * layout->message.count * sizeof(Cell));
  state->message_count--;
}

FieldSort field_sort_of(Cell sort) {
  switch (sort) {
  case SORT_CLIENT: return FIELD_CLIENT;
  case SORT_SERVER: return FIELD_SERVER;
  case SORT_TOKEN: return FIELD_TOKEN;
  case SORT_TICKET: return FIELD_TICKET;
  case SORT_STAMP: return FIELD_AGE;
  default: return FIELD_PLAIN;
  }
}

static uint8_t *pack_cells(const Field *fields, uint32_t count, const Cell *cells, uint8_t *out) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t number = (uint32_t)(cells[i] - fields[i].base);
    switch (fields[i].width) {
    case 0: break;
    case 1:
      CHECK(number <= UINT8_MAX); /* a state that does not fit would prove something about another one */
      *out++ = (uint8_t)number;
      break;
    case 2:
      CHECK(number <= UINT16_MAX);
      *out++ = (uint8_t)number;
      *out++ = (uint8_t)(number >> 8);
      break;
    default:
      for (int shift = 0; shift < 32; shift += 8) {
        *out++ = (uint8_t)(number >> shift);
      }
    }
  }
  return out;
}

static const uint8_t *unpack_cells(const Field *fields, uint32_t count, const uint8_t *in, Cell *cells) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t number = 0;
    for (uint32_t b = 0; b < fields[i].width; b++) {
      number |= (uint32_t)*in++ << (8 * b);
    }
    cells[i] = (Cell)number + fields[i].base;
  }
  return in;
}

uint32_t state_pack(const Layout *layout, const State *state, uint8_t *bytes) {
  uint8_t *out = bytes;
  *out++ = (uint8_t)state->message_count;
  *out++ = (uint8_t)state->age_count;
  out = pack_cells(layout->fixed.items, layout->fixed.count, state->cells, out);
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    out = pack_cells(layout->message.items, layout->message.count, record, out);
  }
  return (uint32_t)(out - bytes);
}

void state_unpack(const Layout *layout, const uint8_t *bytes, State *state) {
  const uint8_t *in = bytes;
  state->message_count = *in++;
  state->age_count = *in++;
  in = unpack_cells(layout->fixed.items, layout->fixed.count, in, state->cells);
  Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    in = unpack_cells(layout->message.items, layout->message.count, in, record);
  }
}

static uint32_t packed_bytes(const Field *fields, uint32_t count) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    bytes += fields[i].width;
  }
  return bytes;
}

uint32_t layout_packed_max(const Layout *layout) {
  return 2 + packed_bytes(layout->fixed.items, layout->fixed.count) +
         STATE_MESSAGES_MAX * packed_bytes(layout->message.items, layout->message.count);
}
