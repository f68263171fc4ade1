/* The runtime object of 3.7 and later, with the members that the exported
 * functions touch at the offsets they have in CPython.
 *
 * Offsets are those of a release build for Linux. Up to 3.11 two
 * pthread_mutex_t lie in front of the GIL state, so that the offset depends
 * on the C library and the architecture (40 bytes: x86-64 and musl; 48:
 * AArch64 glibc).
 */
#ifndef SHAPE_RUNTIME_H
#define SHAPE_RUNTIME_H

#include "pythonlike.h"

#if SHAPE_AT_LEAST(7)

#define GAP(name, from, to) char name[(to) - (from)]
#define MUTEX_GROWTH (2 * (sizeof(pthread_mutex_t) - 40))

#if !SHAPE_AT_LEAST(8) && SHAPE_HEX < 0x03070400
#define HEAD_AT 24
#define CURRENT_AT (1392 + MUTEX_GROWTH)
#define KEY_AT (1416 + MUTEX_GROWTH)
#define RUNTIME_SIZE (1432 + MUTEX_GROWTH)
#elif !SHAPE_AT_LEAST(8)
#define HEAD_AT 24
#define CURRENT_AT (1480 + MUTEX_GROWTH)
#define KEY_AT (1504 + MUTEX_GROWTH)
#define RUNTIME_SIZE (1520 + MUTEX_GROWTH)
#elif !SHAPE_AT_LEAST(9)
#define HEAD_AT 32
#define CURRENT_AT (1368 + MUTEX_GROWTH)
#define KEY_AT (1392 + MUTEX_GROWTH)
#define RUNTIME_SIZE (1464 + MUTEX_GROWTH)
#elif !SHAPE_AT_LEAST(10)
#define HEAD_AT 32
#define CURRENT_AT (568 + MUTEX_GROWTH)
#define KEY_AT (584 + MUTEX_GROWTH)
#define RUNTIME_SIZE (656 + MUTEX_GROWTH)
#elif !SHAPE_AT_LEAST(11)
#define HEAD_AT 32
#define CURRENT_AT (568 + MUTEX_GROWTH)
#define KEY_AT (584 + MUTEX_GROWTH)
#define RUNTIME_SIZE (672 + MUTEX_GROWTH)
#elif !SHAPE_AT_LEAST(12)
#define HEAD_AT 40
#define CURRENT_AT (576 + MUTEX_GROWTH)
#define KEY_AT (592 + MUTEX_GROWTH)
#define RUNTIME_SIZE (166688 + MUTEX_GROWTH)
#elif !SHAPE_AT_LEAST(13)
#define HEAD_AT 40
#define KEY_AT 1544
#define AUTO_INTERPRETER_AT 2568
#define RUNTIME_SIZE 459992
#elif !SHAPE_AT_LEAST(14)
#define HEAD_AT 632
#define KEY_AT 2160
#define AUTO_INTERPRETER_AT 9912
#define RUNTIME_SIZE (SHAPE_FREE_THREADED ? 328384 : 283408)
#elif !SHAPE_AT_LEAST(15)
#define HEAD_AT 808
#define KEY_AT 2336
#define AUTO_INTERPRETER_AT 10096
#define RUNTIME_SIZE (SHAPE_FREE_THREADED ? 365624 : 316616)
#else
#define HEAD_AT 936
#define AUTO_INTERPRETER_AT 10216
#define RUNTIME_SIZE (SHAPE_FREE_THREADED ? 409296 : 346560)
#endif

struct interpreters {
    PyInterpreterState *head;
    PyInterpreterState *main;
};

#if !SHAPE_AT_LEAST(12)

struct gilstate {
    int check_enabled;
    PyThreadState *tstate_current;
#if !SHAPE_AT_LEAST(9)
    PyThreadState *(*getframe)(void);
#endif
    PyInterpreterState *autoInterpreterState;
    Py_tss_t autoTSSkey;
};

typedef struct runtime {
    GAP(preamble, 0, HEAD_AT);
    struct interpreters interpreters;
    GAP(ceval, HEAD_AT + 16, CURRENT_AT - 8);
    struct gilstate gilstate;
    GAP(rest, KEY_AT + 8, RUNTIME_SIZE);
} _PyRuntimeState;

_Static_assert(offsetof(_PyRuntimeState, gilstate.tstate_current) == CURRENT_AT, "tstate_current");
_Static_assert(offsetof(_PyRuntimeState, gilstate.autoTSSkey) == KEY_AT, "autoTSSkey");

#else

#if SHAPE_AT_LEAST(13)
/* The self-description in front; what it says beyond this, members that
 * no function here uses, is left zero except where a test reads it. */
struct debug_offsets {
    char cookie[8];
    uint64_t version;
    uint64_t free_threaded;
    uint64_t runtime_size;
    uint64_t finalizing;
    uint64_t interpreters_head;
};
#endif

struct gilstate {
    int check_enabled;
    PyInterpreterState *autoInterpreterState;
};

typedef struct runtime {
#if SHAPE_AT_LEAST(13)
    struct debug_offsets debug_offsets;
    GAP(preamble, sizeof(struct debug_offsets), HEAD_AT);
#else
    GAP(preamble, 0, HEAD_AT);
#endif
    struct interpreters interpreters;
#ifdef KEY_AT
    GAP(allocators, HEAD_AT + 16, KEY_AT);
    Py_tss_t autoTSSkey;
    GAP(parser, KEY_AT + 8, AUTO_INTERPRETER_AT - 8);
#else
    GAP(parser, HEAD_AT + 16, AUTO_INTERPRETER_AT - 8);
#endif
    struct gilstate gilstate;
    GAP(rest, AUTO_INTERPRETER_AT + 8, RUNTIME_SIZE);
} _PyRuntimeState;

_Static_assert(offsetof(_PyRuntimeState, gilstate.autoInterpreterState) == AUTO_INTERPRETER_AT,
               "autoInterpreterState");
#ifdef KEY_AT
_Static_assert(offsetof(_PyRuntimeState, autoTSSkey) == KEY_AT, "autoTSSkey");
#endif

#endif

_Static_assert(sizeof(_PyRuntimeState) == RUNTIME_SIZE, "size of the runtime");

extern EXPORTED _PyRuntimeState _PyRuntime;

#endif
#endif
