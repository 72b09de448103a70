/* Why a run violates a property, in words: from the events of a recorded run, and from nothing else, the sentence that
 * says what happened and the reasons for it (names, "because", the contradiction; the last one begins with "So").
 *
 * Every sentence states what the events show. Where they do not show why, it says less: a model may do things that
 * nobody has thought of here. What a lock is, whose it is and how it went is read from the lock variables of servers.
 * Printing is left to traces. Same run, same words: no clock, no locale, no addresses.
 */
#ifndef LOCKSTEP_PROPERTIES_WHY_H
#define LOCKSTEP_PROPERTIES_WHY_H

#include "world/run.h"

/* Explains the violation that the last step of `run` completes. Sets the run's property, its sentence and its reasons,
 * and appends a RUN_VIOLATION to the last step (a run without steps gets the sentence only). `property` is the name of
 * a monitor, or the text of a `never`, which is then `never_text_or_NULL` too. To be called once per run. */
void why_explain(Run *run, const char *property, const char *never_text_or_NULL);

#endif
