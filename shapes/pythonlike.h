/* Common ground of the shape sources.
 *
 * These files are our own. They have the structure that the analyzer reads in
 * a CPython image, and none of its code: the objects and exported functions
 * of the same names, doing the same loads, compares and calls.
 *
 * The build chooses with -D:
 *   SHAPE_HEX            PY_VERSION_HEX, e.g. 0x030c01f0
 *   SHAPE_TEXT           "3.12.1"
 *   SHAPE_FREE_THREADED  1 for a --disable-gil build
 *   SHAPE_TLS_ATTRIBUTE  a TLS model for the thread state variables, as a string
 *   SHAPE_TLS_PAD        bytes of another thread-local variable in front
 *   SHAPE_TLS_ALIGN      alignment of one more, of odd size
 */
#ifndef SHAPE_PYTHONLIKE_H
#define SHAPE_PYTHONLIKE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_AT_LEAST(minor) (SHAPE_HEX >= (0x03000000 | ((minor) << 16)))
#define SHAPE_IS_2 (SHAPE_HEX < 0x03000000)

#ifndef SHAPE_FREE_THREADED
#define SHAPE_FREE_THREADED 0
#endif

/* 3.9 and later hide everything that is not marked for export. */
#define EXPORTED __attribute__((visibility("default")))
#if SHAPE_AT_LEAST(9)
#define INTERNAL __attribute__((visibility("hidden")))
#else
#define INTERNAL
#endif

typedef struct interpreter PyInterpreterState;

typedef struct thread_state {
    struct thread_state *prev;
    struct thread_state *next;
    PyInterpreterState *interp;
    int status;
    int gilstate_counter;
    unsigned long thread_id;
} PyThreadState;

struct interpreter {
    PyInterpreterState *next;
    PyThreadState *threads;
};

typedef enum { PyGILState_LOCKED, PyGILState_UNLOCKED } PyGILState_STATE;

_Noreturn void shape_fatal(const char *function, const char *message);

/* thread.c */
#if SHAPE_AT_LEAST(7)
typedef struct {
    int is_initialized;
    pthread_key_t key;
} Py_tss_t;

EXPORTED int PyThread_tss_create(Py_tss_t *key);
EXPORTED int PyThread_tss_is_created(Py_tss_t *key);
EXPORTED int PyThread_tss_set(Py_tss_t *key, void *value);
EXPORTED void *PyThread_tss_get(Py_tss_t *key);
#endif
EXPORTED int PyThread_create_key(void);
EXPORTED int PyThread_set_key_value(int key, void *value);
EXPORTED void *PyThread_get_key_value(int key);
EXPORTED unsigned long PyThread_get_thread_ident(void);

/* pystate.c */
EXPORTED void Py_Initialize(void);
EXPORTED PyThreadState *PyThreadState_New(PyInterpreterState *interp);
EXPORTED PyThreadState *PyThreadState_Get(void);
EXPORTED PyThreadState *PyGILState_GetThisThreadState(void);
EXPORTED PyGILState_STATE PyGILState_Ensure(void);
EXPORTED void PyGILState_Release(PyGILState_STATE old);
EXPORTED PyThreadState *PyEval_SaveThread(void);
EXPORTED void PyEval_RestoreThread(PyThreadState *state);
#if SHAPE_AT_LEAST(4)
EXPORTED int PyGILState_Check(void);
#endif
#if SHAPE_AT_LEAST(5) && !SHAPE_AT_LEAST(13)
EXPORTED PyThreadState *_PyThreadState_UncheckedGet(void);
#endif
#if SHAPE_AT_LEAST(12)
EXPORTED PyThreadState *_PyThreadState_GetCurrent(void);
#endif
#if SHAPE_AT_LEAST(13)
EXPORTED PyThreadState *PyThreadState_GetUnchecked(void);
#endif

#endif
