/* How the image says which Python it is. */

#include "pythonlike.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if SHAPE_AT_LEAST(11)
extern EXPORTED const unsigned long Py_Version;
const unsigned long Py_Version = SHAPE_HEX;
#endif

EXPORTED int PyOS_snprintf(char *text, size_t size, const char *format, ...);
EXPORTED const char *Py_GetBuildInfo(void);
EXPORTED const char *Py_GetCompiler(void);
EXPORTED const char *Py_GetVersion(void);

int PyOS_snprintf(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    text[size - 1] = '\0';
    return length;
}

const char *Py_GetBuildInfo(void)
{
    return "shape, Jan  1 2024, 00:00:00";
}

const char *Py_GetCompiler(void)
{
    return "[a C compiler]";
}

const char *Py_GetVersion(void)
{
    static char version[250];
    PyOS_snprintf(version, sizeof version, "%.80s (%.80s) %.80s", SHAPE_TEXT, Py_GetBuildInfo(),
                  Py_GetCompiler());
    return version;
}

_Noreturn void shape_fatal(const char *function, const char *message)
{
    fprintf(stderr, "Fatal Python error: %s: %s\n", function, message);
    abort();
}
