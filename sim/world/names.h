/* Names without information: renumbering of ages, tokens, tickets and holdings, and symmetry of processes.
 *
 * After each step the names of a state are renumbered: ages, tokens and attempts that have not entered in the order of
 * their first occurrence in the vector (only equality matters); tickets and holdings that have entered by rank without
 * gaps (only order matters). Where a counter may begin anew, `next t` may hit a larger ticket that is alive: then
 * distances between neighbours are kept as they are up to world->ticket_gap, which stands for this and all larger ones.
 * Endless loops then have finitely many states. A permutation of clients of one kind (servers of one group) that the
 * program cannot tell apart renames blocks, messages, arrays and cells alike.
 */
#ifndef LOCKSTEP_WORLD_NAMES_H
#define LOCKSTEP_WORLD_NAMES_H

#include "world/world.h"

/* A holding's name: entered ones 1 .. by order of entry, the others from HOLDING_UNENTERED; HOLDING_FOREIGN is "some
 * attempt that is over", for ghosts that ask no more than "mine or not". */
#define HOLDING_UNENTERED 128
#define HOLDING_FOREIGN 255
/* A token that no equality will be true of any more (dead.h). */
#define TOKEN_FOREIGN 255

/* What the new names were before: old = ages[new], 1-based; entry 0 is 0. */
typedef struct Renaming {
  int32_t age_count, token_count, ticket_count, entered_count, unentered_count;
  uint8_t ages[256], tokens[256], tickets[256], entered[256], unentered[256];
} Renaming;

/* Renumbers all names in place. */
void names_renumber(const World *world, State *state, Renaming *renaming);
/* Sorts messages: prompt ones by connection, those of one connection in their order; then what travels alone; then
 * what waits at a guard, in order of arrival. names_renumber sorts further what has no order of its own. */
void names_sort_messages(const World *world, State *state);

/* Client c becomes client to_client[c], server s server to_server[s]. */
typedef struct Permutation {
  int32_t to_client[PROGRAM_CLIENTS_MAX];
  int32_t to_server[PROGRAM_SERVERS_MAX];
} Permutation;
void names_permute(const World *world, State *to, const State *from, const Permutation *permutation);

/* Replaces one name of a sort by another one everywhere. */
void names_replace(const World *world, State *state, FieldSort sort, Cell from, Cell to);
/* Adds one to each ticket >= `least`: makes room for one in between. */
void names_raise_tickets(const World *world, State *state, Cell least);
/* The largest name of the sort in the state that is at most `most`; 0 for none. */
Cell names_largest(const World *world, const State *state, FieldSort sort, Cell most);
/* The smallest ticket larger than `ticket`, 0 for none. */
Cell names_next_ticket(const World *world, const State *state, Cell ticket);

/* The permutations worth trying for the representative of a state's symmetry class: 1 .. NAMES_PERMUTATIONS_MAX; the
 * identity alone when no two processes look alike. All orders of clients that look alike, with one order of the servers
 * for each: by what they look like then. Deterministic; a function of the class unless there were too many, or servers
 * that look alike are not. */
#define NAMES_PERMUTATIONS_MAX 120
int32_t names_permutations(const World *world, const State *state, Permutation permutations[NAMES_PERMUTATIONS_MAX]);

#endif
