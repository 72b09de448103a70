/* Dead messages: those whose arrival can no longer change anything.
 *
 * A token that occurs nowhere but in requests nobody waits for, and only in handlers that can do nothing with a token
 * unknown to the server, is an orphan: no equality with it will ever be true. Those requests are dropped. (A message
 * dropped from an ordered connection does not free the ones behind it: it could always have arrived before them.)
 */
#ifndef LOCKSTEP_WORLD_DEAD_H
#define LOCKSTEP_WORLD_DEAD_H

#include "world/world.h"

/* Fills world->harmless: for each service and handler the arguments (bit set) with which, if they are orphans and the
 * rest is unknown, no path of the handler changes a variable or timer, touches the resource or sends. */
void dead_prepare(World *world);
void dead_drop_messages(const World *world, State *state);

#endif
