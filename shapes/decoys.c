/* Thread-local variables that are not a thread state: a decoder that takes
 * the first TLS relocation it finds takes one of these. */

#include "pythonlike.h"

#if SHAPE_AT_LEAST(12)

#ifdef SHAPE_TLS_PAD
static _Thread_local char pad[SHAPE_TLS_PAD] = {1};
#endif
#ifdef SHAPE_TLS_ALIGN
static _Thread_local char aligned[SHAPE_TLS_ALIGN + 3] __attribute__((aligned(SHAPE_TLS_ALIGN)));
#endif

static _Thread_local const char *pkgcontext;
#if SHAPE_AT_LEAST(13)
static int empty_heap;
static _Thread_local int *_mi_heap_default = &empty_heap;
#endif

EXPORTED const char *shape_swap_package_context(const char *next);
EXPORTED long shape_thread_local_state(void);

const char *shape_swap_package_context(const char *next)
{
    const char *old = pkgcontext;
    pkgcontext = next;
    return old;
}

long shape_thread_local_state(void)
{
    long state = pkgcontext != NULL;
#if SHAPE_AT_LEAST(13)
    state += *_mi_heap_default;
#endif
#ifdef SHAPE_TLS_PAD
    state += pad[state & 1];
#endif
#ifdef SHAPE_TLS_ALIGN
    state += aligned[SHAPE_TLS_ALIGN + (state & 1)];
#endif
    return state;
}

#else
typedef int shape_no_thread_locals;
#endif
