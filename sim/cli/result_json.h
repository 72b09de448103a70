/* The verdicts as JSON: the document of `check --json` ("lockstep-check/1"), and a scenario's part of it for run.json.
 *
 * Additions are free; a change of meaning is "lockstep-check/2".
 */
#ifndef LOCKSTEP_CLI_RESULT_JSON_H
#define LOCKSTEP_CLI_RESULT_JSON_H

#include <json-glib/json-glib.h>

#include "cli/outcome.h"

/* Adds an object for one scenario. */
void result_json_scenario(JsonBuilder *builder, const Outcome *outcome);
/* Adds {"ttl": "10s", …} as an object. */
void result_json_parameters(JsonBuilder *builder, const Program *program);
/* Adds the whole document: `warnings` are those of the whole model (warning.h). */
void result_json_document(JsonBuilder *builder, const char *model, const GPtrArray *outcomes,
                          const GPtrArray *warnings);

/* `value` may be NULL. */
void json_set_string(JsonBuilder *builder, const char *name, const char *value);
void json_set_count(JsonBuilder *builder, const char *name, uint64_t value);
/* What was built, with a line feed at the end; caller frees. */
char *json_text(JsonBuilder *builder, bool pretty);
/* … on standard output. */
void json_print(JsonBuilder *builder, bool pretty);

#endif
