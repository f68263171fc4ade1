/* A small evaluation loop: a dispatch over handlers, some of them cold. */

#include "pythonlike.h"

struct frame {
    const unsigned char *next;
    long stack[16];
    long *top;
};

EXPORTED long PyEval_EvalFrameEx(struct frame *frame, int throw);
#if SHAPE_AT_LEAST(6)
EXPORTED long _PyEval_EvalFrameDefault(PyThreadState *state, struct frame *frame, int throw);
#endif

EXPORTED extern volatile long shape_last_error;
volatile long shape_last_error;

__attribute__((cold, noinline)) static void raise_error(const char *what, long value)
{
    shape_last_error = value + what[0];
}

#if SHAPE_AT_LEAST(6)
long _PyEval_EvalFrameDefault(PyThreadState *state, struct frame *frame, int throw)
{
#else
long PyEval_EvalFrameEx(struct frame *frame, int throw)
{
    PyThreadState *state = PyThreadState_Get();
#endif
    static const void *const handlers[] = {&&load, &&add, &&subtract, &&multiply,
                                           &&divide, &&duplicate, &&leave};
    if (__builtin_expect(throw, 0))
        goto error;
#define DISPATCH() goto *handlers[*frame->next++ % 7]
    DISPATCH();
load:
    *frame->top++ = *frame->next++;
    DISPATCH();
add:
    --frame->top;
    frame->top[-1] += frame->top[0];
    DISPATCH();
subtract:
    --frame->top;
    frame->top[-1] -= frame->top[0];
    DISPATCH();
multiply:
    --frame->top;
    frame->top[-1] *= frame->top[0];
    DISPATCH();
divide:
    if (__builtin_expect(frame->top[-1] == 0, 0)) {
        raise_error("division by zero", frame->top[-2]);
        goto error;
    }
    --frame->top;
    frame->top[-1] = frame->top[0] / frame->top[-1];
    DISPATCH();
duplicate:
    frame->top[0] = frame->top[-1];
    ++frame->top;
    DISPATCH();
error:
    raise_error("unwinding", (long)state);
    for (frame->top = frame->stack; frame->top < frame->stack + 4; ++frame->top)
        raise_error("slot", *frame->top);
    return -1;
leave:
    return frame->top[-1];
}

#if SHAPE_AT_LEAST(6)
long PyEval_EvalFrameEx(struct frame *frame, int throw)
{
    return _PyEval_EvalFrameDefault(PyThreadState_Get(), frame, throw);
}
#endif
