#include "world/names.h"

#include <string.h>

#include "base/check.h"

/* --- one walk over all names ------------------------------------------------------------------------------------- */

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

static inline ALWAYS_INLINE void visit_ordered(const Layout *layout, State *state, NameVisit visit, void *user) {
  for (uint32_t i = 0; i < layout->ordered_names.count; i++) {
    uint32_t at = layout->ordered_names.items[i];
    if (state->cells[at] != 0) {
      visit(user, field_sort_at(layout->fixed.items, state->cells, at), &state->cells[at]);
    }
  }
}

static inline ALWAYS_INLINE void visit_messages(const Layout *layout, State *state, int32_t from, int32_t end,
                                                NameVisit visit, void *user) {
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

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* Prompt ones have the order of their connection, those that travel alone none, those that wait that of their arrival.
 */
enum { RANK_ORDERED, RANK_ALONE, RANK_WAITING };

static int rank_of(const World *world, const Cell *record) {
  bool alone = record[MESSAGE_LATE] || world->is_unordered || record[MESSAGE_KIND] == MESSAGE_LOSS;
  return record[MESSAGE_WAITING] ? RANK_WAITING : alone ? RANK_ALONE : RANK_ORDERED;
}

/* By rank, then by connection and direction; messages of one stream are equal. */
static int compare_records(const World *world, const Cell *a, const Cell *b) {
  static const int keys[] = {MESSAGE_SERVER, MESSAGE_CLIENT, MESSAGE_PEER};
  int rank_a = rank_of(world, a), rank_b = rank_of(world, b);
  if (rank_a != rank_b) {
    return rank_a - rank_b;
  }
  if (rank_a == RANK_WAITING) { /* of one guard, in order of arrival */
    return a[MESSAGE_SERVER] != b[MESSAGE_SERVER] ? a[MESSAGE_SERVER] - b[MESSAGE_SERVER]
                                                  : a[MESSAGE_HANDLER] - b[MESSAGE_HANDLER];
  }
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (a[keys[i]] != b[keys[i]]) {
      return a[keys[i]] < b[keys[i]] ? -1 : 1;
    }
  }
  return message_goes_to_client(a) - message_goes_to_client(b);
}

typedef int (*RecordOrder)(const void *context, const Cell *a, const Cell *b);

/* Insertion sort of messages from .. end: stable, and nearly always nothing to do. */
static void sort_records(const Layout *layout, State *state, int32_t from, int32_t end, RecordOrder order,
                         const void *context) {
  uint32_t cells = layout->message.count;
  Cell held[MESSAGE_CELLS_MAX];
  for (int32_t m = from + 1; m < end; m++) {
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
  return compare_records(context, a, b);
}

void names_sort_messages(const World *world, State *state) {
  sort_records(&world->layout, state, 0, state->message_count, by_stream, world);
}

/* --- renumbering ------------------------------------------------------------------------------------------------- */

typedef struct Numbering {
  Renaming *renaming;
  uint8_t age[256], token[256], ticket[256], holding[256]; /* old name -> new name */
  uint8_t ticket_used[256], entered_used[256];
  Cell ticket_last, entered_last; /* the largest that is used */
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
    numbering->ticket_last = *cell > numbering->ticket_last ? *cell : numbering->ticket_last;
  } else if (sort == FIELD_HOLDING && *cell < HOLDING_UNENTERED) {
    numbering->entered_used[*cell] = 1;
    numbering->entered_last = *cell > numbering->entered_last ? *cell : numbering->entered_last;
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

static void rank(const uint8_t *used, int32_t last, uint8_t *new_names, uint8_t *old_names, int32_t *count) {
  for (int32_t old = 1; old <= last; old++) {
    if (used[old]) {
      old_names[++*count] = (uint8_t)old;
      new_names[old] = (uint8_t)*count;
    }
  }
}

/* Tickets: distances between neighbours are kept up to `gap`. */
static void rank_tickets(Numbering *numbering, int32_t gap) {
  Renaming *renaming = numbering->renaming;
  int32_t before = 0, name = 0;
  for (int32_t old = 1; old <= numbering->ticket_last; old++) {
    if (numbering->ticket_used[old]) {
      name += before == 0 ? 1 : old - before < gap ? old - before : gap;
      before = old;
      DCHECK(name <= UINT8_MAX);
      numbering->ticket[old] = (uint8_t)name;
      renaming->tickets[name] = (uint8_t)old;
      renaming->ticket_count = name;
    }
  }
}

typedef struct ContentOrder {
  const World *world;
  const Numbering *numbering;
} ContentOrder;

/* What travels alone has no order of its own: by content, under the new names as far as there are any yet. */
static int by_content(const void *context, const Cell *a, const Cell *b) {
  const ContentOrder *content = context;
  const Layout *layout = &content->world->layout;
  int order = compare_records(content->world, a, b);
  for (uint32_t i = 0; order == 0 && i < layout->message.count; i++) {
    if (layout->message.items[i].width == 0) {
      continue;
    }
    Cell cell_a = a[i], cell_b = b[i];
    rewrite_name((void *)content->numbering, field_sort_at(layout->message.items, a, i), &cell_a); /* reads only */
    rewrite_name((void *)content->numbering, field_sort_at(layout->message.items, b, i), &cell_b);
    order = cell_a < cell_b ? -1 : cell_a > cell_b;
  }
  return order;
}

/* The first message of a rank, or of a higher one. */
static int32_t rank_begin(const World *world, State *state, int rank) {
  int32_t m = 0;
  while (m < state->message_count && rank_of(world, state_message(&world->layout, state, m)) < rank) {
    m++;
  }
  return m;
}

/* Numbers what occurs in the messages: what travels alone is brought into an order before. */
static void number_messages(const World *world, State *state, Numbering *numbering) {
  const Layout *layout = &world->layout;
  int32_t alone = rank_begin(world, state, RANK_ALONE), waiting = rank_begin(world, state, RANK_WAITING);
  visit_messages(layout, state, 0, alone, number_name, numbering);
  if (alone < waiting) {
    sort_records(layout, state, alone, waiting, by_content, &(ContentOrder){world, numbering});
  }
  visit_messages(layout, state, alone, state->message_count, number_name, numbering);
}

/* Whether element a of a bag stands before element b, under the new names. */
static bool precedes(const Layout *layout, const Numbering *numbering, State *state, const LayoutBag *bag, int32_t a,
                     int32_t b) {
  for (int32_t i = 0; i < bag->element_cells; i++) {
    int32_t at_a = bag->cell + a * bag->element_cells + i, at_b = bag->cell + b * bag->element_cells + i;
    Cell cell_a = state->cells[at_a], cell_b = state->cells[at_b];
    rewrite_name((void *)numbering, field_sort_at(layout->fixed.items, state->cells, (uint32_t)at_a),
                 &cell_a); /* reads only */
    rewrite_name((void *)numbering, field_sort_at(layout->fixed.items, state->cells, (uint32_t)at_b), &cell_b);
    if (cell_a != cell_b) {
      return cell_a < cell_b;
    }
  }
  return false;
}

static void sort_bag(const Layout *layout, const Numbering *numbering, State *state, const LayoutBag *bag) {
  for (int32_t i = 1; i < bag->count; i++) {
    for (int32_t j = i; j > 0 && precedes(layout, numbering, state, bag, j, j - 1); j--) {
      Cell *element = state->cells + bag->cell + j * bag->element_cells;
      for (int32_t k = 0; k < bag->element_cells; k++) {
        Cell held = element[k];
        element[k] = element[k - bag->element_cells];
        element[k - bag->element_cells] = held;
      }
    }
  }
}

void names_renumber(const World *world, State *state, Renaming *renaming) {
  Numbering numbering;
  memset(&numbering, 0, sizeof numbering);
  numbering.renaming = renaming;
  renaming->age_count = renaming->token_count = renaming->ticket_count = 0;
  renaming->entered_count = renaming->unentered_count = 0;
  numbering.ticket_used[TICKET_BOTTOM] = 1;
  numbering.ticket_last = TICKET_BOTTOM;
  visit_names(&world->layout, state, note_name, &numbering);
  memset(renaming->tickets, 0, sizeof renaming->tickets);
  rank_tickets(&numbering, world->ticket_gap);
  rank(numbering.entered_used, numbering.entered_last, numbering.holding, renaming->entered, &renaming->entered_count);
  visit_ordered(&world->layout, state, number_name, &numbering);
  number_messages(world, state, &numbering);
  for (uint32_t b = 0; b < world->layout.bags.count; b++) {
    sort_bag(&world->layout, &numbering, state, &world->layout.bags.items[b]);
  }
  visit_fixed(&world->layout, state, number_name, &numbering); /* what is in bags alone, if anything */
  visit_names(&world->layout, state, rewrite_name, &numbering);
  state->age_count = renaming->age_count;
}

/* --- single names ------------------------------------------------------------------------------------------------ */

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

/* --- symmetry ---------------------------------------------------------------------------------------------------- */

static void rename_process(void *user, FieldSort sort, Cell *cell) {
  const Permutation *permutation = user;
  if (sort == FIELD_CLIENT) {
    *cell = permutation->to_client[*cell - 1] + 1;
  } else if (sort == FIELD_SERVER) {
    *cell = permutation->to_server[*cell - 1] + 1;
  }
}

static void permute_cells(State *to, const State *from, int32_t to_cell, int32_t from_cell, int32_t count) {
  memcpy(to->cells + to_cell, from->cells + from_cell, (size_t)count * sizeof(Cell));
}

void names_permute(const World *world, State *to, const State *from, const Permutation *permutation) {
  const Layout *layout = &world->layout;
  state_copy(layout, to, from);
  for (int32_t c = 0; c < world->program->client_count; c++) {
    permute_cells(to, from, layout->client_cell[permutation->to_client[c]], layout->client_cell[c],
                  layout->client_cells[c]);
  }
  for (int32_t s = 0; s < world->program->server_count && world->has_symmetric_servers; s++) {
    permute_cells(to, from, layout->server_cell[permutation->to_server[s]], layout->server_cell[s],
                  layout->server_cells[s]);
  }
  State
      before; /* arrays within blocks: their blocks have moved by now; and arrays within others, one after the other */
  for (uint32_t i = 0; i < layout->arrays.count; i++) {
    const LayoutArray *array = &layout->arrays.items[i];
    permute_cells(&before, to, array->cell, array->cell, array->count * array->element_cells);
    for (int32_t e = 0; e < array->count; e++) {
      int32_t goes_to =
          array->over_clients ? permutation->to_client[array->first + e] : permutation->to_server[array->first + e];
      permute_cells(to, &before, array->cell + (goes_to - array->first) * array->element_cells,
                    array->cell + e * array->element_cells, array->element_cells);
    }
  }
  visit_names(layout, to, rename_process, (void *)permutation); /* reads the permutation only */
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
  return hash * UINT64_C(0xff51afd7ed558ccd) ^ hash >> 29;
}

/* What can be told of a message without reading names. */
static uint64_t look_of_message(const Cell *record) {
  return (uint64_t)(uint32_t)(record[MESSAGE_HANDLER] << 11 | record[MESSAGE_KIND] << 8 | record[MESSAGE_TASK] << 5 |
                              (record[MESSAGE_LATE] != 0) << 4 | record[MESSAGE_WAITING] << 3 |
                              record[MESSAGE_OVERDUE] << 2 | record[MESSAGE_CUT]);
}

enum { COLORS = FIELD_SORT_COUNT << 8 };

static uint32_t color_index(FieldSort sort, Cell name) {
  return (uint32_t)sort << 8 | (uint32_t)name;
}

/* Who looks: at a state, knowing the new places of clients (NULL: not yet), colours of names (NULL: none). */
typedef struct Viewer {
  const World *world;
  const State *state;
  const Permutation *row;
  const uint64_t *color;
  int32_t client, server; /* whose look it is; -1 */
} Viewer;

/* Where a cell is, for somebody who does not know the old places of processes: elements of arrays are told apart by the
 * new place of their client, or by whether they are one's own. */
static uint64_t place_of(const Viewer *viewer, int32_t cell, int32_t block) {
  const Layout *layout = &viewer->world->layout;
  uint64_t place = (uint64_t)(layout->cell_home[cell] - layout->cell_home[block]);
  if (layout->cell_array[cell] == 0) {
    return place;
  }
  const LayoutArray *array = &layout->arrays.items[layout->cell_array[cell] - 1];
  int32_t element = array->first + (cell - array->cell) / array->element_cells;
  bool is_own = element == (array->over_clients ? viewer->client : viewer->server);
  uint64_t which = array->over_clients && viewer->row != NULL ? (uint64_t)viewer->row->to_client[element] + 2 : is_own;
  return place << 16 | which << 8 | 1;
}

/* How cells look to somebody who cannot read names; elements of arrays in no order. */
static uint64_t look_of_cells(const Viewer *viewer, int32_t first, int32_t count, uint64_t look) {
  const World *world = viewer->world;
  const Layout *layout = &world->layout;
  uint64_t elements = 0;
  for (int32_t i = first; i < first + count; i++) {
    FieldSort sort = field_sort_at(layout->fixed.items, viewer->state->cells, (uint32_t)i);
    Cell cell = viewer->state->cells[i];
    bool reads = sort == FIELD_PLAIN || (sort == FIELD_SERVER && !world->has_symmetric_servers);
    uint64_t named = viewer->color != NULL && cell > 0 ? viewer->color[color_index(sort, cell)] + 1 : cell != 0;
    uint64_t seen = reads ? (uint64_t)(uint32_t)cell : named;
    if (layout->cell_array[i] == 0) {
      look = mix(look, seen);
    } else {
      elements += mix(place_of(viewer, i, first), seen);
    }
  }
  return layout->arrays.count > 0 ? mix(look, elements) : look;
}

/* A block by its kind or group; a client's by its new place, if that is known, or whether it is one's own. */
static uint64_t look_of_block(const Viewer *viewer, int32_t process, int32_t *first) {
  const World *world = viewer->world;
  const Program *program = world->program;
  *first = 0;
  if (process == NO_INDEX) {
    return 0;
  }
  int32_t server = process - program->client_count;
  if (server >= 0) {
    *first = world->layout.server_cell[server];
    bool is_own = server == viewer->server;
    return world->has_symmetric_servers ? (uint64_t)program->server_group[server] << 8 | 2 | is_own
                                        : (uint64_t)server << 16 | 2;
  }
  *first = world->layout.client_cell[process];
  uint64_t which = viewer->row != NULL ? (uint64_t)viewer->row->to_client[process] + 2 : process == viewer->client;
  return (uint64_t)program->client_kind[process] << 16 | which << 8 | 1;
}

/* What arrays say of a process; a sum, since they may be in blocks that change places. */
static uint64_t look_of_elements(const Viewer *viewer, bool over_clients, int32_t index) {
  const Layout *layout = &viewer->world->layout;
  uint64_t look = 0;
  for (uint32_t i = 0; i < layout->arrays.count; i++) {
    const LayoutArray *array = &layout->arrays.items[i];
    if (array->over_clients == over_clients && index >= array->first && index < array->first + array->count) {
      int32_t block;
      uint64_t owner = look_of_block(viewer, array->process, &block);
      int32_t at = array->cell + (index - array->first) * array->element_cells;
      uint64_t base = mix(owner, (uint64_t)(layout->cell_home[array->cell] - block));
      look += mix(base, look_of_cells(viewer, at, array->element_cells, 1));
    }
  }
  return look;
}

/* Equal for clients that may be exchanged. */
static uint64_t look_of_client(const World *world, const State *state, int32_t client) {
  const Layout *layout = &world->layout;
  uint64_t look = (uint64_t)world->program->client_kind[client] + 1;
  Viewer viewer = {.world = world, .state = state, .client = client, .server = -1};
  look = look_of_cells(&viewer, layout->client_cell[client], layout->client_cells[client], look);
  look = mix(look, look_of_elements(&viewer, true, client));
  const Cell *record = state->cells + layout->fixed.count;
  uint64_t messages = 0;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    if (record[MESSAGE_CLIENT] == client + 1) {
      uint64_t server = world->has_symmetric_servers ? 0 : (uint64_t)record[MESSAGE_SERVER];
      messages += mix(server + 1, look_of_message(record));
    }
  }
  look = mix(look, messages);
  for (uint32_t i = 0; i < layout->fixed_names.count && !world->has_symmetric_servers; i++) {
    uint32_t at = layout->fixed_names.items[i];
    bool names_it =
        state->cells[at] == client + 1 && field_sort_at(layout->fixed.items, state->cells, at) == FIELD_CLIENT;
    if (names_it && at >= (uint32_t)layout->server_cell[0]) {
      look += mix(place_of(&viewer, (int32_t)at, 0), 1);
    }
  }
  return look;
}

typedef struct Looks {
  int32_t order[PROGRAM_CLIENTS_MAX]; /* clients, by kind and look */
  uint64_t look[PROGRAM_CLIENTS_MAX];
} Looks;

static void insert_by_look(int32_t *order, const uint64_t *look, int32_t first, int32_t member) {
  CHECK(0 <= first && first <= member);
  int32_t at = member;
  while (at > first && look[order[at - 1]] > look[member]) {
    order[at] = order[at - 1];
    at--;
  }
  order[at] = member;
}

/* All orders of order[from .. end) within runs of equal looks, one permutation each. */
static void list_orders(const Looks *looks, int32_t *order, int32_t from, int32_t client_count, Permutation *rows,
                        int32_t *row_count) {
  if (*row_count == NAMES_PERMUTATIONS_MAX) {
    return;
  }
  if (from == client_count) {
    for (int32_t i = 0; i < client_count; i++) {
      rows[*row_count].to_client[order[i]] = i;
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

/* Names look like the places that they have at the clients, in their new order. */
static void color_by_clients(const World *world, const State *state, const Permutation *row, uint64_t *color) {
  const Layout *layout = &world->layout;
  Viewer viewer = {.world = world, .state = state, .row = row, .client = -1, .server = -1};
  memset(color, 0, COLORS * sizeof *color);
  for (int32_t c = 0; c < world->program->client_count; c++) {
    for (int32_t i = 0; i < layout->client_cells[c]; i++) {
      int32_t at = layout->client_cell[c] + i;
      FieldSort sort = field_sort_at(layout->fixed.items, state->cells, (uint32_t)at);
      if (sort != FIELD_PLAIN && state->cells[at] > 0) {
        color[color_index(sort, state->cells[at])] +=
            mix(place_of(&viewer, at, layout->client_cell[c]), (uint64_t)row->to_client[c] + 1);
      }
    }
  }
  for (int32_t c = 0; c < world->program->client_count; c++) {
    color[color_index(FIELD_CLIENT, c + 1)] = (uint64_t)row->to_client[c] + 1;
  }
  for (int32_t s = 0; s < world->program->server_count;
       s++) { /* by their groups; the places of equal servers are open */
    color[color_index(FIELD_SERVER, s + 1)] = (uint64_t)world->program->server_group[s] + 1;
  }
}

/* What a message says, its names in colours. */
static uint64_t colored_message(const World *world, const Cell *record, const uint64_t *color) {
  const Layout *layout = &world->layout;
  uint64_t look = look_of_message(record);
  for (uint32_t i = 0; i < layout->message.count; i++) {
    FieldSort sort = field_sort_at(layout->message.items, record, i);
    if (layout->message.items[i].width > 0 && record[i] != 0) {
      look = mix(look, i << 1 | 1);
      look = mix(look, sort == FIELD_PLAIN ? (uint64_t)(uint32_t)record[i] : color[color_index(sort, record[i])]);
    }
  }
  return look;
}

/* And like the messages that they are in; a sum, since the messages stand in the order of old places. */
static void color_by_messages(const World *world, const State *state, uint64_t *color) {
  const Layout *layout = &world->layout;
  uint64_t looks[STATE_MESSAGES_MAX];
  const Cell *record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    looks[m] = colored_message(world, record, color);
  }
  record = state->cells + layout->fixed.count;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    for (uint32_t i = 0; i < layout->message_names.count; i++) {
      uint32_t at = layout->message_names.items[i];
      FieldSort sort = field_sort_at(layout->message.items, record, at);
      if (record[at] > 0 && sort != FIELD_PLAIN && sort != FIELD_CLIENT && sort != FIELD_SERVER) {
        color[color_index(sort, record[at])] += mix(looks[m], at);
      }
    }
  }
}

static uint64_t look_of_server(const World *world, const State *state, int32_t server, const Permutation *row,
                               const uint64_t *color) {
  const Layout *layout = &world->layout;
  Viewer viewer = {.world = world, .state = state, .row = row, .color = color, .client = -1, .server = server};
  uint64_t look = look_of_cells(&viewer, layout->server_cell[server], layout->server_cells[server], 1);
  look = mix(look, look_of_elements(&viewer, false, server));
  const Cell *record = state->cells + layout->fixed.count;
  uint64_t messages = 0; /* of one connection in their order, which is that of the records */
  uint64_t stream = 0;
  for (int32_t m = 0; m < state->message_count; m++, record += layout->message.count) {
    uint64_t role = record[MESSAGE_SERVER] == server + 1 ? 1 : record[MESSAGE_PEER] == server + 1 ? 2 : 0;
    bool follows = m > 0 && record[MESSAGE_CLIENT] == record[MESSAGE_CLIENT - (int32_t)layout->message.count] &&
                   record[MESSAGE_SERVER] == record[MESSAGE_SERVER - (int32_t)layout->message.count];
    stream = follows ? mix(stream, 1) : 0;
    messages += role ? mix(mix(colored_message(world, record, color), role), stream) : 0;
  }
  return mix(look, messages);
}

/* And like the servers that know them. */
static void color_by_servers(const World *world, const State *state, const Permutation *row, uint64_t *color) {
  const Layout *layout = &world->layout;
  uint64_t looks[PROGRAM_SERVERS_MAX];
  for (int32_t s = 0; s < world->program->server_count; s++) {
    looks[s] = look_of_server(world, state, s, row, color);
  }
  for (int32_t s = 0; s < world->program->server_count; s++) {
    Viewer viewer = {.world = world, .state = state, .row = row, .client = -1, .server = s};
    for (int32_t i = 0; i < layout->server_cells[s]; i++) {
      int32_t at = layout->server_cell[s] + i;
      FieldSort sort = field_sort_at(layout->fixed.items, state->cells, (uint32_t)at);
      if (sort != FIELD_PLAIN && sort != FIELD_CLIENT && sort != FIELD_SERVER && state->cells[at] > 0) {
        color[color_index(sort, state->cells[at])] += mix(looks[s], place_of(&viewer, at, layout->server_cell[s]));
      }
    }
  }
}

/* One order of the servers of each symmetric group, for clients in their new places. */
static void order_servers(const World *world, const State *state, Permutation *row) {
  static _Thread_local uint64_t color[COLORS];
  const Program *program = world->program;
  uint64_t look[PROGRAM_SERVERS_MAX];
  int32_t order[PROGRAM_SERVERS_MAX];
  color_by_clients(world, state, row, color);
  color_by_messages(world, state, color);
  color_by_servers(world, state, row, color);
  for (int32_t g = 0; g < program->group_count; g++) {
    const ServerGroup *group = &program->groups[g];
    for (int32_t s = group->first; s < group->first + group->count; s++) {
      look[s] = program->servers_symmetric[g] ? look_of_server(world, state, s, row, color) : (uint64_t)s;
      insert_by_look(order, look, group->first, s);
    }
    for (int32_t s = group->first; s < group->first + group->count; s++) {
      row->to_server[order[s]] = s;
    }
  }
}

int32_t names_permutations(const World *world, const State *state, Permutation permutations[NAMES_PERMUTATIONS_MAX]) {
  const Program *program = world->program;
  Looks looks;
  for (int32_t c = 0; c < program->client_count; c++) {
    int32_t kind = program->client_kind[c];
    looks.look[c] = program->clients_symmetric[kind] ? look_of_client(world, state, c) : (uint64_t)c;
    insert_by_look(looks.order, looks.look, program->kinds[kind].first, c);
  }
  int32_t count = 0;
  list_orders(&looks, looks.order, 0, program->client_count, permutations, &count);
  for (int32_t p = 0; p < count; p++) {
    for (int32_t s = 0; s < program->server_count; s++) {
      permutations[p].to_server[s] = s;
    }
    if (world->has_symmetric_servers) {
      order_servers(world, state, &permutations[p]);
    }
  }
  return count;
}
