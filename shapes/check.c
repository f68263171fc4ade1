/* Checks truths by using them: does what a profiler would do with the
 * addresses it is given, in this process, and compares with what the exported
 * functions return.
 *
 *   check [--library FILE] NAME=VALUE…
 *
 *   key=ADDRESS       link-time address of the int key
 *   global=ADDRESS    link-time address of the pointer to the holder's state
 *   tstate=OFFSET     offset of the attached state in the module's TLS block
 *   gilstate=OFFSET   offset of the owned state in the module's TLS block
 *   tstate_tp=OFFSET, gilstate_tp=OFFSET
 *                     the same from the thread pointer, signed
 *
 * Built into an executable shape (then the module is the program itself), or
 * alone, and then it loads the library.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct api {
    void (*initialize)(void);
    void *(*this_thread)(void);
    void *(*get)(void);
    int (*ensure)(void);
    void (*release)(int);
    void *(*save)(void);
    void (*restore)(void *);
};

#ifndef SHAPE_CHECK_ALONE
void Py_Initialize(void);
void *PyGILState_GetThisThreadState(void);
void *PyThreadState_Get(void);
int PyGILState_Ensure(void);
void PyGILState_Release(int);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);
extern const void *const shape_exports[];
#endif

static struct api api;

static int has_key, has_global, has_tstate, has_gilstate, has_tstate_tp, has_gilstate_tp;
static uint64_t key, global, tstate, gilstate;
static int64_t tstate_tp, gilstate_tp;
static int failures;

static uintptr_t thread_pointer(void)
{
    uintptr_t pointer;
#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}

struct module {
    const void *inside;
    uintptr_t bias;
    size_t tls_module;
    char *block;
    int found;
};

#ifdef SHAPE_CHECK_ALONE
/* What code in the general-dynamic model calls; both psABIs. The list of
 * modules does not do for a library: glibc leaves the block out of it when the
 * module lies in the static block and nobody has used its DTV entry yet. */
struct tls_index {
    size_t module;
    size_t offset;
};
void *__tls_get_addr(struct tls_index *);
#endif

static void *thread_local_word(const struct module *module, uint64_t offset)
{
#ifdef SHAPE_CHECK_ALONE
    struct tls_index index = {module->tls_module, offset};
    return module->tls_module ? *(void **)__tls_get_addr(&index) : NULL;
#else
    return module->block ? *(void **)(module->block + offset) : NULL;
#endif
}

static int find_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct module *module = data;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || (uintptr_t)module->inside < start
            || (uintptr_t)module->inside - start >= segment->p_memsz)
            continue;
        module->bias = info->dlpi_addr;
        if (size >= sizeof *info) {
            module->tls_module = info->dlpi_tls_modid;
            module->block = info->dlpi_tls_data;
        }
        module->found = 1;
        return 1;
    }
    return 0;
}

static void compare(const char *where, const char *what, const void *seen, const void *expected)
{
    if (seen == expected)
        return;
    ++failures;
    printf("%s: %s is %p, expected %p\n", where, what, seen, expected);
}

/* `owned` and `attached` are what this thread's states should be now. */
static void look(const char *where, void *owned, void *attached)
{
    struct module module = {.inside = (const void *)(uintptr_t)api.this_thread};
    dl_iterate_phdr(find_module, &module);
    if (!module.found) {
        ++failures;
        printf("%s: the module is not in the list\n", where);
        return;
    }
    if (has_key) {
        int value = *(int *)(module.bias + key);
        compare(where, "key", pthread_getspecific((pthread_key_t)value), owned);
    }
    if (has_global)
        compare(where, "global", *(void **)(module.bias + global), attached);
    if (has_tstate)
        compare(where, "tstate", thread_local_word(&module, tstate), attached);
    if (has_gilstate)
        compare(where, "gilstate", thread_local_word(&module, gilstate), owned);
    if (has_tstate_tp)
        compare(where, "tstate_tp", *(void **)(thread_pointer() + tstate_tp), attached);
    if (has_gilstate_tp)
        compare(where, "gilstate_tp", *(void **)(thread_pointer() + gilstate_tp), owned);
}

static void *another_thread(void *unused)
{
    (void)unused;
    int old = api.ensure();
    void *state = api.this_thread();
    compare("second thread", "state", api.get(), state);
    look("second thread, attached", state, state);
    api.release(old);
    look("second thread, detached", state, NULL);
    return NULL;
}

static int number(const char *argument, const char *name, int *has, uint64_t *value)
{
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0 || argument[length] != '=')
        return 0;
    *has = 1;
    *value = strtoull(argument + length + 1, NULL, 0);
    return 1;
}

static void *resolve(void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (function == NULL) {
        printf("cannot find %s\n", name);
        exit(2);
    }
    return function;
}

#ifndef __GLIBC__
/* What -finstrument-functions calls; glibc has it. */
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}
#endif

int main(int argc, char **argv)
{
    const char *file = NULL;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--library") == 0 && i + 1 < argc)
            file = argv[++i];
        else if (!number(argv[i], "key", &has_key, &key)
                 && !number(argv[i], "global", &has_global, &global)
                 && !number(argv[i], "tstate", &has_tstate, &tstate)
                 && !number(argv[i], "gilstate", &has_gilstate, &gilstate)
                 && !number(argv[i], "tstate_tp", &has_tstate_tp, (uint64_t *)&tstate_tp)
                 && !number(argv[i], "gilstate_tp", &has_gilstate_tp, (uint64_t *)&gilstate_tp)) {
            printf("what is %s?\n", argv[i]);
            return 2;
        }
    }

    /* Keys that are taken before make a wrong address that reads zero show. */
    for (int i = 0; i < 3; ++i) {
        pthread_key_t burnt;
        pthread_key_create(&burnt, NULL);
    }

#ifdef SHAPE_CHECK_ALONE
    void *library = file ? dlopen(file, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (library == NULL) {
        printf("cannot load: %s\n", file ? dlerror() : "no --library");
        return 2;
    }
    *(void **)&api.initialize = resolve(library, "Py_Initialize");
    *(void **)&api.this_thread = resolve(library, "PyGILState_GetThisThreadState");
    *(void **)&api.get = resolve(library, "PyThreadState_Get");
    *(void **)&api.ensure = resolve(library, "PyGILState_Ensure");
    *(void **)&api.release = resolve(library, "PyGILState_Release");
    *(void **)&api.save = resolve(library, "PyEval_SaveThread");
    *(void **)&api.restore = resolve(library, "PyEval_RestoreThread");
#else
    (void)resolve;
    if (file != NULL)
        printf("a program with %p needs no %s\n", shape_exports[argc - 1], file);
    api = (struct api){Py_Initialize,     PyGILState_GetThisThreadState, PyThreadState_Get,
                       PyGILState_Ensure, PyGILState_Release,            PyEval_SaveThread,
                       PyEval_RestoreThread};
#endif

    api.initialize();
    void *state = api.get();
    compare("main thread", "state", api.this_thread(), state);
    look("main thread, attached", state, state);
    void *saved = api.save();
    look("main thread, detached", state, NULL);

    pthread_t thread;
    if (pthread_create(&thread, NULL, another_thread, NULL) != 0)
        return 2;
    pthread_join(thread, NULL);

    api.restore(saved);
    look("main thread, attached again", state, state);
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
