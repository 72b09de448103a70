#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *expression) {
  fprintf(stderr, "%s:%d: internal error: CHECK(%s) failed; please report this\n", file, line, expression);
#ifdef LOCKSTEP_DEBUG
  abort();
#else
  exit(70);
#endif
}
