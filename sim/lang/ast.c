#include "lang/ast.h"

#include <string.h>

#include "base/vec.h"

#define CHUNK_BYTES 65536

struct Ast {
  VEC(char *) chunks;
  size_t used, room; /* of the last chunk */
};

Ast *ast_new(void) {
  return g_new0(Ast, 1);
}

void ast_free(Ast *ast) {
  if (ast == NULL) {
    return;
  }
  for (uint32_t i = 0; i < ast->chunks.count; i++) {
    g_free(ast->chunks.items[i]);
  }
  vec_free(&ast->chunks);
  g_free(ast);
}

void *ast_allocate(Ast *ast, size_t bytes) {
  size_t rounded = (bytes + 15) & ~(size_t)15;
  if (ast->room - ast->used < rounded) {
    ast->room = rounded > CHUNK_BYTES ? rounded : CHUNK_BYTES;
    ast->used = 0;
    vec_push(&ast->chunks, g_malloc0(ast->room));
  }
  void *fresh = ast->chunks.items[ast->chunks.count - 1] + ast->used;
  ast->used += rounded;
  return fresh;
}

char *ast_text(Ast *ast, const char *begin, size_t bytes) {
  char *text = ast_allocate(ast, bytes + 1);
  memcpy(text, begin, bytes);
  return text;
}

void *ast_copy(Ast *ast, const void *from, size_t bytes) {
  if (bytes == 0) {
    return NULL;
  }
  void *copy = ast_allocate(ast, bytes);
  memcpy(copy, from, bytes);
  return copy;
}
