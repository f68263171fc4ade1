/* The functions that reach a thread's state, one file for all versions: what
 * each reads, tests and calls is what the function of that name does in that
 * version.
 *
 *   to 3.6         statics autoTLSkey, autoInterpreterState; _PyThreadState_Current
 *   3.7 to 3.11    _PyRuntime.gilstate.{tstate_current, autoInterpreterState, autoTSSkey}
 *   3.12 to 3.14   _PyRuntime.autoTSSkey; thread-local _Py_tss_tstate
 *   3.15           thread-local _Py_tss_tstate, _Py_tss_gilstate, _Py_tss_interp
 */

#include "runtime.h"

#include <stdlib.h>

static PyInterpreterState main_interpreter;

/* ---- where the attached state and the owned state are kept ------------- */

#if SHAPE_AT_LEAST(12)

#ifdef SHAPE_TLS_ATTRIBUTE
#define THREAD_STATE_VARIABLE _Thread_local INTERNAL __attribute__((tls_model(SHAPE_TLS_ATTRIBUTE)))
#else
#define THREAD_STATE_VARIABLE _Thread_local INTERNAL
#endif

THREAD_STATE_VARIABLE PyThreadState *_Py_tss_tstate = NULL;
#if SHAPE_AT_LEAST(15)
THREAD_STATE_VARIABLE PyThreadState *_Py_tss_gilstate = NULL;
THREAD_STATE_VARIABLE PyInterpreterState *_Py_tss_interp = NULL;
#endif

static inline PyThreadState *current_get(void)
{
    return _Py_tss_tstate;
}

static inline void current_set(PyThreadState *state)
{
    _Py_tss_tstate = state;
#if SHAPE_AT_LEAST(15)
    _Py_tss_interp = state ? state->interp : NULL;
#endif
}

#elif SHAPE_AT_LEAST(7)

static inline PyThreadState *current_get(void)
{
    return __atomic_load_n(&_PyRuntime.gilstate.tstate_current, __ATOMIC_RELAXED);
}

static inline void current_set(PyThreadState *state)
{
    __atomic_store_n(&_PyRuntime.gilstate.tstate_current, state, __ATOMIC_RELAXED);
}

#else

extern EXPORTED PyThreadState *_PyThreadState_Current;
PyThreadState *_PyThreadState_Current = NULL;

static inline PyThreadState *current_get(void)
{
#if SHAPE_IS_2
    return _PyThreadState_Current;
#else
    return __atomic_load_n(&_PyThreadState_Current, __ATOMIC_RELAXED);
#endif
}

static inline void current_set(PyThreadState *state)
{
    __atomic_store_n(&_PyThreadState_Current, state, __ATOMIC_RELAXED);
}

#endif

#if SHAPE_AT_LEAST(15)

static inline PyThreadState *gilstate_get(void)
{
    return _Py_tss_gilstate;
}

static inline void gilstate_set(PyThreadState *state)
{
    _Py_tss_gilstate = state;
}

static void gilstate_create(void)
{
    _PyRuntime.gilstate.autoInterpreterState = &main_interpreter;
}

static inline int gilstate_ready(void)
{
    return _PyRuntime.gilstate.autoInterpreterState != NULL;
}

#elif SHAPE_AT_LEAST(12)

static inline int gilstate_tss_initialized(_PyRuntimeState *runtime)
{
    return PyThread_tss_is_created(&runtime->autoTSSkey) != 0;
}

static inline PyThreadState *gilstate_tss_get(_PyRuntimeState *runtime)
{
    return PyThread_tss_get(&runtime->autoTSSkey);
}

static inline PyThreadState *gilstate_get(void)
{
    return gilstate_tss_get(&_PyRuntime);
}

static inline void gilstate_set(PyThreadState *state)
{
    if (PyThread_tss_set(&_PyRuntime.autoTSSkey, state) != 0)
        shape_fatal(__func__, "cannot set the state of this thread");
}

static void gilstate_create(void)
{
    if (PyThread_tss_create(&_PyRuntime.autoTSSkey) != 0)
        shape_fatal(__func__, "cannot create the key");
    _PyRuntime.gilstate.autoInterpreterState = &main_interpreter;
}

static inline int gilstate_ready(void)
{
    return gilstate_tss_initialized(&_PyRuntime);
}

#elif SHAPE_AT_LEAST(7)

static inline PyThreadState *gilstate_get(void)
{
    return PyThread_tss_get(&_PyRuntime.gilstate.autoTSSkey);
}

static inline void gilstate_set(PyThreadState *state)
{
    if (PyThread_tss_set(&_PyRuntime.gilstate.autoTSSkey, state) != 0)
        shape_fatal(__func__, "cannot set the state of this thread");
}

static void gilstate_create(void)
{
    if (PyThread_tss_create(&_PyRuntime.gilstate.autoTSSkey) != 0)
        shape_fatal(__func__, "cannot create the key");
    _PyRuntime.gilstate.autoInterpreterState = &main_interpreter;
}

static inline int gilstate_ready(void)
{
    return PyThread_tss_is_created(&_PyRuntime.gilstate.autoTSSkey);
}

#else

static PyInterpreterState *autoInterpreterState = NULL;
#if SHAPE_AT_LEAST(6)
static int autoTLSkey = -1;
#else
static int autoTLSkey = 0;
#endif

static inline PyThreadState *gilstate_get(void)
{
    return PyThread_get_key_value(autoTLSkey);
}

static inline void gilstate_set(PyThreadState *state)
{
    if (PyThread_set_key_value(autoTLSkey, state) < 0)
        shape_fatal(__func__, "cannot set the state of this thread");
}

static void gilstate_create(void)
{
    autoTLSkey = PyThread_create_key();
    if (autoTLSkey == -1)
        shape_fatal(__func__, "cannot create the key");
    autoInterpreterState = &main_interpreter;
}

static inline int gilstate_ready(void)
{
    return autoInterpreterState != NULL;
}

#endif

/* ---- the exported readers ---------------------------------------------- */

PyThreadState *PyThreadState_Get(void)
{
    PyThreadState *state = current_get();
    if (state == NULL)
        shape_fatal(__func__, "no current thread");
    return state;
}

#if SHAPE_AT_LEAST(5) && !SHAPE_AT_LEAST(13)
PyThreadState *_PyThreadState_UncheckedGet(void)
{
    return current_get();
}
#endif

#if SHAPE_AT_LEAST(12)
PyThreadState *_PyThreadState_GetCurrent(void)
{
    return current_get();
}
#endif

#if SHAPE_AT_LEAST(13)
PyThreadState *PyThreadState_GetUnchecked(void)
{
    return current_get();
}
#endif

PyThreadState *PyGILState_GetThisThreadState(void)
{
#if SHAPE_AT_LEAST(15)
    return gilstate_get();
#elif SHAPE_AT_LEAST(12)
    _PyRuntimeState *runtime = &_PyRuntime;
    if (!gilstate_tss_initialized(runtime))
        return NULL;
    return gilstate_tss_get(runtime);
#elif SHAPE_AT_LEAST(7)
    struct gilstate *gilstate = &_PyRuntime.gilstate;
    if (gilstate->autoInterpreterState == NULL)
        return NULL;
    return PyThread_tss_get(&gilstate->autoTSSkey);
#else
    if (autoInterpreterState == NULL)
        return NULL;
    return PyThread_get_key_value(autoTLSkey);
#endif
}

#if SHAPE_AT_LEAST(4)
int PyGILState_Check(void)
{
#if SHAPE_AT_LEAST(7)
    if (!__atomic_load_n(&_PyRuntime.gilstate.check_enabled, __ATOMIC_RELAXED))
        return 1;
#if !SHAPE_AT_LEAST(15)
    if (!gilstate_ready())
        return 1;
#endif
#endif
    PyThreadState *state = current_get();
    return state != NULL && state == PyGILState_GetThisThreadState();
}
#endif

/* ---- attaching, detaching, creating ------------------------------------ */

static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;

PyThreadState *PyThreadState_New(PyInterpreterState *interp)
{
    PyThreadState *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->interp = interp;
    state->thread_id = PyThread_get_thread_ident();
    state->next = interp->threads;
    if (interp->threads != NULL)
        interp->threads->prev = state;
    interp->threads = state;
    if (gilstate_get() == NULL)
        gilstate_set(state);
    return state;
}

PyThreadState *PyEval_SaveThread(void)
{
    PyThreadState *state = current_get();
    if (state == NULL)
        shape_fatal(__func__, "no current thread");
    current_set(NULL);
    pthread_mutex_unlock(&gil);
    return state;
}

void PyEval_RestoreThread(PyThreadState *state)
{
    if (state == NULL)
        shape_fatal(__func__, "no state to restore");
    pthread_mutex_lock(&gil);
    current_set(state);
}

PyGILState_STATE PyGILState_Ensure(void)
{
    if (!gilstate_ready())
        shape_fatal(__func__, "not initialized");
    PyThreadState *state = gilstate_get();
    int has_gil;
    if (state == NULL) {
        state = PyThreadState_New(&main_interpreter);
        if (state == NULL)
            shape_fatal(__func__, "no memory for a thread state");
        has_gil = 0;
    } else {
        has_gil = state == current_get();
    }
    if (!has_gil)
        PyEval_RestoreThread(state);
    ++state->gilstate_counter;
    return has_gil ? PyGILState_LOCKED : PyGILState_UNLOCKED;
}

void PyGILState_Release(PyGILState_STATE old)
{
    PyThreadState *state = gilstate_get();
    if (state == NULL)
        shape_fatal(__func__, "auto-releasing, but this thread has no state");
    if (state != current_get())
        shape_fatal(__func__, "this thread state must be current when releasing");
    if (--state->gilstate_counter < 0)
        shape_fatal(__func__, "released more often than ensured");
    if (old == PyGILState_UNLOCKED)
        PyEval_SaveThread();
}

void Py_Initialize(void)
{
#if SHAPE_AT_LEAST(7)
    _PyRuntime.interpreters.head = &main_interpreter;
    _PyRuntime.interpreters.main = &main_interpreter;
#endif
    gilstate_create();
    PyThreadState *state = PyThreadState_New(&main_interpreter);
    if (state == NULL)
        shape_fatal(__func__, "no memory for a thread state");
    PyEval_RestoreThread(state);
#if SHAPE_AT_LEAST(7)
    __atomic_store_n(&_PyRuntime.gilstate.check_enabled, 1, __ATOMIC_RELAXED);
#endif
}
