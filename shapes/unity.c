/* All of it as one translation unit. */

#include "runtime.c"
#include "thread.c"
#include "version.c"
#include "decoys.c"
#include "ceval.c"
#include "pystate.c"
