/* A model's parameter as the language writes it: "5", "10s", "inf". */
#ifndef LOCKSTEP_CLI_PARAMETER_H
#define LOCKSTEP_CLI_PARAMETER_H

#include "lang/program.h"

/* A duration in the largest unit of which it is a whole number; caller frees. */
char *parameter_text(const Parameter *parameter);
/* "servers 5, quorum 3, ttl 10s"; caller frees. */
char *parameters_text(const Program *program);

#endif
