/* What extension modules would use of a program: without this list the linker
 * drops functions that nothing here calls. */

#include "pythonlike.h"

extern const void *const shape_exports[];
extern long PyEval_EvalFrameEx(void *frame, int throw);
extern const char *Py_GetVersion(void);

#if SHAPE_AT_LEAST(6)
extern long _PyEval_EvalFrameDefault(PyThreadState *state, void *frame, int throw);
#endif
#if SHAPE_AT_LEAST(11)
extern const unsigned long Py_Version;
#endif
#if SHAPE_AT_LEAST(12)
extern const char *shape_swap_package_context(const char *next);
extern long shape_thread_local_state(void);
#endif

const void *const shape_exports[] = {
    (const void *)Py_GetVersion,
    (const void *)PyEval_EvalFrameEx,
    (const void *)PyThreadState_Get,
    (const void *)PyGILState_GetThisThreadState,
    (const void *)PyGILState_Ensure,
    (const void *)PyGILState_Release,
    (const void *)PyEval_SaveThread,
    (const void *)PyEval_RestoreThread,
    (const void *)PyThread_get_key_value,
    (const void *)PyThread_set_key_value,
#if SHAPE_AT_LEAST(4)
    (const void *)PyGILState_Check,
#endif
#if SHAPE_AT_LEAST(5) && !SHAPE_AT_LEAST(13)
    (const void *)_PyThreadState_UncheckedGet,
#endif
#if SHAPE_AT_LEAST(6)
    (const void *)_PyEval_EvalFrameDefault,
#endif
#if SHAPE_AT_LEAST(7)
    (const void *)PyThread_tss_get,
    (const void *)PyThread_tss_is_created,
#endif
#if SHAPE_AT_LEAST(11)
    &Py_Version,
#endif
#if SHAPE_AT_LEAST(12)
    (const void *)_PyThreadState_GetCurrent,
    (const void *)shape_swap_package_context,
    (const void *)shape_thread_local_state,
#endif
#if SHAPE_AT_LEAST(13)
    (const void *)PyThreadState_GetUnchecked,
#endif
};
