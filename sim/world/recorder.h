/* Writes down what the steps of a concrete run do, as a Run: names become "A", "node[0]", "a1" (A's first token), 3
 * (a ticket's real number), and stay what they are though the state renumbers its own.
 */
#ifndef LOCKSTEP_WORLD_RECORDER_H
#define LOCKSTEP_WORLD_RECORDER_H

#include "world/run.h"
#include "world/step.h"

typedef struct Recorder Recorder;

Recorder *recorder_new(const World *world);
void recorder_free(Recorder *recorder);
/* A step begins; its events follow through recorder_log (a Step.log, whose user is the recorder). */
void recorder_begin_step(Recorder *recorder, int64_t time_ns, const Action *action);
void recorder_log(void *user, const Step *step, const Event *event);
/* The step is over and its state is renumbered. `tickets` are the real numbers of the new ticket names. */
void recorder_end_step(Recorder *recorder, const Step *step, const Renaming *renaming, const int64_t *tickets,
                       const Action *action);
/* The real numbers of tickets during a step (names 1 .. 255), before the event of the `next` that made one; `missed`
 * when it fell between two that were there, so that the larger names have moved up by one. */
void recorder_set_tickets(Recorder *recorder, const int64_t *tickets, bool missed);
Run *recorder_take_run(Recorder *recorder);

#endif
