/* What can no longer matter: dead messages, orphaned tokens, holdings that cannot write any more.
 *
 * A token is an orphan at a server if no client has it in a variable and no request on its way to that server, but such
 * as can do nothing with a token unknown there, carries it: no equality with it will ever be true there again. Requests
 * that carry one, and that nobody waits for, are dropped (a message dropped from an ordered connection does not free
 * the ones behind it: it could always have arrived before them); a lock variable that holds one holds "somebody's"
 * token. A holding that no client and no request to a resource carries is not compared by its entry any more.
 *
 * Servers that hand tokens on (world->tokens_stay is false) are treated with more care.
 */
#ifndef LOCKSTEP_WORLD_DEAD_H
#define LOCKSTEP_WORLD_DEAD_H

#include "world/world.h"

/* Fills world->harmless: for each service and handler the arguments (bit set) with which, if they are orphans and the
 * rest is unknown, no path of the handler changes a variable or timer, touches the resource or sends. Also
 * world->touches_resource, world->tokens_stay and world->one_token_each. */
void dead_prepare(World *world);
void dead_drop_messages(const World *world, State *state);
void dead_forget_tokens(const World *world, State *state);
void dead_forget_entries(const World *world, State *state);

#endif
