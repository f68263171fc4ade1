/* The runtime object itself, in its own section from 3.10 on. */

#include "runtime.h"

#if SHAPE_AT_LEAST(7)

#if SHAPE_AT_LEAST(10)
__attribute__((section(".PyRuntime")))
#endif
/* A whole CPython stores its address; here nothing does, and the optimizer
 * would take it apart. */
__attribute__((used))
_PyRuntimeState _PyRuntime
#if SHAPE_AT_LEAST(13)
    = {.debug_offsets = {
           .cookie = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'},
           .version = SHAPE_HEX,
           .free_threaded = SHAPE_FREE_THREADED,
           .runtime_size = RUNTIME_SIZE,
           .finalizing = HEAD_AT - 24,
           .interpreters_head = HEAD_AT,
       }}
#endif
;

#else
typedef int shape_no_runtime;
#endif
