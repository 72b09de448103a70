#include "world/names.h"

#include <string.h>

#include "base/check.h"

/* --- one walk over all names --------------------------------------------------------------------------------------- */

/* So that each visit becomes a loop of its own. */
#define ALWAYS_INLINE __attribute__((always_inline))

typedef void (*NameVisit)(void *user, FieldSort sort, Cell *cell);

static inline ALWAYS_INLINE void visit_fixed(const Layout *layout, State *state, NameVisit visit, void *user) {
  for (uint32_t i = 0; i < layout->fixed_names.count; i++) {
    uint32_t at = layout->fixed_names.items[i];
    if (state->cells[at] != 0) {
      visit(user, field_sort_at(layout->fixed.items, state->cells, at), &state->cells[at]);
    }
  }
}

static inline ALWAYS_INLINE void visit_messages(const Layout *layout, State *state, int32_t from, int32_t end, NameVisit visit, void *user) {
  for (int32_t m = from; m < end; m++) {
    Cell *record = state_message(layout, state, m);
    for (uint32_t i = 0; i < layout->message_names.count; i++) {
      uint32_t at = layout->message_names.items[i];
      if (record[at] != 0) {
        visit(user, field_sort_at(layout->message.items, record, at), &record[at]);
      }
    }
  }
}

static inline ALWAYS_INLINE void visit_names(const Layout *layout, State *state, NameVisit visit, void *user) {
  visit_fixed(layout, state, visit, user);
  visit_messages(layout, state, 0, state->message_count, visit, user);
}

/* --- messages ------------------------------------------------------------------------------------------------------ */

/* Prompt before late, then by connection and direction; messages of one stream keep their order. */
static int compare_records(const Cell *a, const Cell *b) {
  static const int keys[] = {MESSAGE_SERVER, MESSAGE_CLIENT};
  bool late_a = a[MESSAGE_LATE] != 0, late_b = b[MESSAGE_LATE] != 0;
  if (late_a != late_b) {
    return late_a - late_b;
  }
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (a[keys[i]] != b[keys[i]]) {
      return a[keys[i]] < b[keys[i]] ? -1 : 1;
    }
  }
  bool reply_a = a[MESSAGE_KIND] == MESSAGE_REPLY, reply_b = b[MESSAGE_KIND] == MESSAGE_REPLY;
  if (reply_a != reply_b) {
    return reply_a - reply_b;
  }
  return 0;
}

typedef int (*RecordOrder)(const void *context, const Cell *a, const Cell *b);

/* Insertion sort of messages from .. end: stable, and nearly always nothing to do. */
static void sort_records(const Layout *layout, State *state, int32_t from, RecordOrder order, const void *context) {
  uint32_t cells = layout->message.count;
  Cell held[MESSAGE_CELLS_MAX];
  for (int32_t m = from + 1; m < state->message_count; m++) {
    Cell *record = state_message(layout, state, m);
    int32_t to = m;
    while (to > from && order(context, state_message(layout, state, to - 1), record) > 0) {
      to--;
    }
    if (to < m) {
      memcpy(held, record, cells * sizeof(Cell));
      Cell *slot = state_message(layout, state, to);
      memmove(slot + cells, slot, (size_t)(m - to) * cells * sizeof(Cell));
      memcpy(slot, held, cells * sizeof(Cell));
    }
  }
}

static int by_stream(const void *context, const Cell *a, const Cell *b) {
  (void)context;
  return compare_records(a, b);
}

void names_sort_messages(const World *world, State *state) {
  sort_records(&world->layout, state, 0, by_stream, NULL);
}

/* --- renumbering --------------------------------------------------------------------------------------------------- */

typedef struct Numbering {
  Renaming *renaming;
  uint8_t age[256], token[256], ticket[256], holding[256]; /* old name -> new name */
  uint8_t ticket_used[256], entered_used[256];
} Numbering;

static uint8_t first_seen(uint8_t *new_names, uint8_t *old_names, int32_t *count, Cell old) {
  if (new_names[old] == 0) {
    old_names[++*count] = (uint8_t)old;
    new_names[old] = (uint8_t)*count;
  }
  return new_names[old];
}

static void number_name(void *user, FieldSort sort, Cell *cell) {
  Numbering *numbering = user;
  Renaming *renaming = numbering->renaming;
  Cell name = *cell;
  if (name == 0) {
    return;
  }
  DCHECK(name > 0 && name <= UINT8_MAX);
  switch (sort) {
  case FIELD_AGE: first_seen(numbering->age, renaming->ages, &renaming->age_count, name); break;
  case FIELD_TOKEN:
    if (name != TOKEN_FOREIGN) {
      first_seen(numbering->token, renaming->tokens, &renaming->token_count, name);
    }
    break;
  case FIELD_HOLDING:
    if (name >= HOLDING_UNENTERED && name != HOLDING_FOREIGN) {
      first_seen(numbering->holding, renaming->unentered, &renaming->unentered_count, name);
    }
    break;
  default: break;
  }
}

/* Names that are ranked: which are there at all. */
static void note_name(void *user, FieldSort sort, Cell *cell) {
  Numbering *numbering = user;
  if (sort == FIELD_TICKET) {
    numbering->ticket_used[*cell] = 1;
  } else if (sort == FIELD_HOLDING && *cell < HOLDING_UNENTERED) {
    numbering->entered_used[*cell] = 1;
  }
}

static void rewrite_name(void *user, FieldSort sort, Cell *cell) {
  const Numbering *numbering = user;
  switch (sort) {
  case FIELD_AGE: *cell = numbering->age[*cell]; break;
  case FIELD_TOKEN: *cell = *cell == TOKEN_FOREIGN ? TOKEN_FOREIGN : numbering->token[*cell]; break;
  case FIELD_TICKET: *cell = numbering->ticket[*cell]; break;
  case FIELD_HOLDING:
    if (*cell >= HOLDING_UNENTERED && *cell != HOLDING_FOREIGN) {
      *cell = HOLDING_UNENTERED + numbering->holding[*cell] - 1;
    } else if (*cell != HOLDING_FOREIGN) {
      *cell = numbering->holding[*cell];
    }
    break;
  default: break;
  }
}

static void rank(const uint8_t *used, int32_t first, int32_t end, uint8_t *new_names, uint8_t *old_names,
                 int32_t *count) {
  for (int32_t old = first; old < end; old++) {
    if (used[old]) {
      old_names[++*count] = (uint8_t)old;
      new_names[old] = (uint8_t)*count;
    }
  }
}

typedef struct LateOrder {
  const Layout *layout;
  const Numbering *numbering;
} LateOrder;

/* Late messages have no order of their own: by content, under the new names as far as there are any yet. */
static int by_content(const void *context, const Cell *a, const Cell *b) {
  const LateOrder *late = context;
  int order = compare_records(a, b);
  for (uint32_t i = 0; order == 0 && i < late->layout->message.count; i++) {
    if (late->layout->message.items[i].width == 0) {
      continue;
    }
    Cell cell_a = a[i], cell_b = b[i];
    rewrite_name((void *)late->numbering, field_sort_at(late->layout->message.items, a, i), &cell_a); /* reads only */
    rewrite_name((void *)late->numbering, field_sort_at(late->layout->message.items, b, i), &cell_b);
    order = cell_a < cell_b ? -1 : cell_a > cell_b;
  }
  return order;
}

/* Numbers what occurs in the late messages alone, after bringing those into an order. */
static void number_late_messages(const Layout *layout, State *state, int32_t prompt, Numbering *numbering) {
  if (prompt < state->message_count) {
    sort_records(layout, state, prompt, by_content, &(LateOrder){layout, numbering});
  }
  visit_messages(layout, state, prompt, state->message_count, number_name, numbering);
}

void names_renumber(const World *world, State *state, Renaming *renaming) {
  Numbering numbering;
  memset(&numbering, 0, sizeof numbering);
  numbering.renaming = renaming;
  renaming->age_count = renaming->token_count = renaming->ticket_count = 0;
  renaming->entered_count = renaming->unentered_count = 0;
  numbering.ticket_used[TICKET_BOTTOM] = 1;
  visit_names(&world->layout, state, note_name, &numbering);
  rank(numbering.ticket_used, 1, 256, numbering.ticket, renaming->tickets, &renaming->ticket_count);
  rank(numbering.entered_used, 1, HOLDING_UNENTERED, numbering.holding, renaming->entered, &renaming->entered_count);
  visit_fixed(&world->layout, state, number_name, &numbering);
  int32_t prompt = 0;
  while (prompt < state->message_count && !state_message(&world->layout, state, prompt)[MESSAGE_LATE]) {
    prompt++;
  }
  visit_messages(&world->layout, state, 0, prompt, number_name, &numbering);
  number_late_messages(&world->layout, state, prompt, &numbering);
  visit_names(&world->layout, state, rewrite_name, &numbering);
  state->age_count = renaming->age_count;
}

/* --- single names -------------------------------------------------------------------------------------------------- */

typedef struct Query {
  FieldSort sort;
  Cell from, to, found;
} Query;

static void replace_name(void *user, FieldSort sort, Cell *cell) {
  const Query *query = user;
  if (sort == query->sort && *cell == query->from) {
    *cell = query->to;
  }
}

static void raise_ticket(void *user, FieldSort sort, Cell *cell) {
  const Query *query = user;
  if (sort == FIELD_TICKET && *cell >= query->from) {
    ++*cell;
  }
}

static void find_largest(void *user, FieldSort sort, Cell *cell) {
  Query *query = user;
  if (sort == query->sort && *cell > query->found && *cell <= query->to) {
    query->found = *cell;
  }
}

static void find_next(void *user, FieldSort sort, Cell *cell) {
  Query *query = user;
  if (sort == FIELD_TICKET && *cell > query->from && (query->found == 0 || *cell < query->found)) {
    query->found = *cell;
  }
}

void names_replace(const World *world, State *state, FieldSort sort, Cell from, Cell to) {
  visit_names(&world->layout, state, replace_name, &(Query){.sort = sort, .from = from, .to = to});
}

void names_raise_tickets(const World *world, State *state, Cell least) {
  visit_names(&world->layout, state, raise_ticket, &(Query){.from = least});
}

Cell names_largest(const World *world, const State *state, FieldSort sort, Cell most) {
  Query query = {.sort = sort, .to = most};
  visit_names(&world->layout, (State *)state, find_largest, &query); /* reads only */
  return query.found;
}

Cell names_next_ticket(const World *world, const State *state, Cell ticket) {
  Query query = {.from = ticket};
  visit_names(&world->layout, (State *)state, find_next, &query); /* reads only */
  return query.found;
}

/* --- symmetry ------------------------------------------------------------------------------------------------------ */

static void rename_client(void *user, FieldSort sort, Cell *cell) {
  const int32_t *to_client = user;
  if (sort == FIELD_CLIENT && *cell > 0) {
    *cell = to_client[*cell - 1] + 1;
  }
}

void names_permute(const World *world, State *to, const State *from, const int32_t *to_client) {
  const Layout *layout = &world->layout;
  state_copy(layout, to, from);
  for (int32_t c = 0; c < world->program->client_count; c++) {
    memcpy(to->cells + layout->client_cell[to_client[c]], from->cells + layout->client_cell[c],
           (size_t)layout->client_cells[c] * sizeof(Cell));
  }
  visit_names(layout, to, rename_client, (void *)to_client); /* reads the permutation only */
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
  return hash * UINT64_C(0xff51afd7ed558ccd) ^ hash >> 29;
}

/* How a client looks to somebody who cannot read names: equal for clients that may be exchanged. */
static uint64_t look_of_client(const World *world, const State *state, int32_t client) {
  const Layout *layout = &world->layout;
  int32_t first = layout->client_cell[client];
  uint64_t look = (uint64_t)world->program->client_kind[client] + 1;
  for (int32_t i = 0; i < layout->client_cells[client]; i++) {
    FieldSort sort = field_sort_at(layout->fixed.items, state->cells, (uint32_t)(first + i));
    Cell cell = state->cells[first + i];
    look = mix(look, sort == FIELD_PLAIN || sort == FIELD_SERVER ? (uint64_t)(uint32_t)cell : cell != 0);
  }
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    if (record[MESSAGE_CLIENT] == client + 1) {
      look = mix(look, (uint64_t)(uint32_t)(record[MESSAGE_SERVER] << 16 | record[MESSAGE_HANDLER] << 8 |
                                            record[MESSAGE_KIND] << 4 | (record[MESSAGE_LATE] != 0) << 1 |
                                            record[MESSAGE_OVERDUE]));
    }
  }
  for (uint32_t i = 0; i < layout->fixed_names.count; i++) {
    uint32_t at = layout->fixed_names.items[i];
    bool names_it = state->cells[at] == client + 1 &&
                    field_sort_at(layout->fixed.items, state->cells, at) == FIELD_CLIENT;
    if (names_it && at >= (uint32_t)layout->server_cell[0]) {
      look = mix(look, at);
    }
  }
  return look;
}

typedef struct Looks {
  int32_t order[PROGRAM_CLIENTS_MAX]; /* clients, by kind and look */
  uint64_t look[PROGRAM_CLIENTS_MAX];
} Looks;

static void sort_by_look(const World *world, const State *state, int32_t first, int32_t count, Looks *looks) {
  for (int32_t c = first; c < first + count; c++) {
    looks->look[c] = look_of_client(world, state, c);
    int32_t at = c;
    while (at > first && looks->look[looks->order[at - 1]] > looks->look[c]) {
      looks->order[at] = looks->order[at - 1];
      at--;
    }
    looks->order[at] = c;
  }
}

/* All orders of order[from .. end) within runs of equal looks, one row each. */
static void list_orders(const Looks *looks, int32_t *order, int32_t from, int32_t client_count,
                        int32_t rows[NAMES_PERMUTATIONS_MAX][PROGRAM_CLIENTS_MAX], int32_t *row_count) {
  if (*row_count == NAMES_PERMUTATIONS_MAX) {
    return;
  }
  if (from == client_count) {
    for (int32_t i = 0; i < client_count; i++) {
      rows[*row_count][order[i]] = i;
    }
    ++*row_count;
    return;
  }
  for (int32_t i = from; i < client_count && looks->look[order[i]] == looks->look[order[from]]; i++) {
    int32_t chosen = order[i];
    memmove(order + from + 1, order + from, (size_t)(i - from) * sizeof *order);
    order[from] = chosen;
    list_orders(looks, order, from + 1, client_count, rows, row_count);
    memmove(order + from, order + from + 1, (size_t)(i - from) * sizeof *order);
    order[i] = chosen;
  }
}

int32_t names_permutations(const World *world, const State *state,
                           int32_t permutations[NAMES_PERMUTATIONS_MAX][PROGRAM_CLIENTS_MAX]) {
  const Program *program = world->program;
  Looks looks;
  for (int32_t k = 0; k < program->kind_count; k++) {
    const ClientKind *kind = &program->kinds[k];
    if (program->clients_symmetric[k]) {
      sort_by_look(world, state, kind->first, kind->count, &looks);
      continue;
    }
    for (int32_t c = kind->first; c < kind->first + kind->count; c++) {
      looks.order[c] = c;
      looks.look[c] = (uint64_t)c; /* looks like nobody else */
    }
  }
  int32_t count = 0;
  list_orders(&looks, looks.order, 0, program->client_count, permutations, &count);
  return count;
}
