/* Member offsets as absolute symbols, from the compiler's own layout. Never
 * linked into a shape; the harness reads the object file. */

#include "runtime.h"

#define TRUTH(name, value) \
    __asm__(".globl " name "\n.set " name ", %c0" : : "i"(value))

void shape_truth(void);

void shape_truth(void)
{
#if SHAPE_AT_LEAST(12) && !SHAPE_AT_LEAST(15)
    TRUTH("shape_truth_key", offsetof(_PyRuntimeState, autoTSSkey) + offsetof(Py_tss_t, key));
#elif SHAPE_AT_LEAST(7) && !SHAPE_AT_LEAST(12)
    TRUTH("shape_truth_key", offsetof(_PyRuntimeState, gilstate.autoTSSkey) + offsetof(Py_tss_t, key));
    TRUTH("shape_truth_current", offsetof(_PyRuntimeState, gilstate.tstate_current));
#endif
#if SHAPE_AT_LEAST(7)
    TRUTH("shape_truth_size", sizeof(_PyRuntimeState));
#endif
}
