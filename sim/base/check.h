/* CHECK: our own mistakes, in release builds too.
 *
 * A failed CHECK means that lockstep itself is wrong, never the user and never a limit (those are a
 * diagnostic and a verdict). It prints file, line and expression and exits with status 70; a debug
 * build (LOCKSTEP_DEBUG defined) aborts instead, so that a debugger or a sanitizer sees the stack.
 * DCHECK is the same for pre- and postconditions that are too dear for a release build.
 */
#ifndef LOCKSTEP_BASE_CHECK_H
#define LOCKSTEP_BASE_CHECK_H

_Noreturn void check_failed(const char *file, int line, const char *expression);

#define CHECK(expression) ((expression) ? (void)0 : check_failed(__FILE__, __LINE__, #expression))

#ifdef LOCKSTEP_DEBUG
#define DCHECK(expression) CHECK(expression)
#else
#define DCHECK(expression) ((void)sizeof(expression))
#endif

#endif
