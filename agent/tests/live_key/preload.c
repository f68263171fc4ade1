/*
 * Loaded into a process before Python starts. Makes KEYHOLE_KEYS pthread keys,
 * so that Python's own is not key 0, where a wrong address that reads zero
 * would look right. With KEYHOLE_LATE it then loads that libpython with
 * dlopen and runs KEYHOLE_SCRIPT in it.
 *
 * Built without a C library and with unversioned symbols: the same file runs
 * with any glibc.
 */
extern int pthread_key_create(unsigned *key, void (*destructor)(void *));
extern int pthread_setspecific(unsigned key, const void *value);
extern char *getenv(const char *name);
extern int unsetenv(const char *name);
extern int atoi(const char *text);
extern void *dlopen(const char *file, int flags);
extern void *dlsym(void *handle, const char *name);
extern void *fopen(const char *path, const char *mode);
extern void _exit(int status);
extern int puts(const char *text);
extern char *dlerror(void);

#define RTLD_NOW 2
#define RTLD_GLOBAL 0x100

static void late(const char *library, const char *script)
{
    void *python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (!python) {
        puts(dlerror());
        _exit(3);
    }
    void (*initialize)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
    int (*run)(void *, const char *) =
        (int (*)(void *, const char *))dlsym(python, "PyRun_SimpleFile");
    void *file = fopen(script, "r");
    if (!initialize || !run || !file) {
        puts("no Py_InitializeEx, no PyRun_SimpleFile or no script");
        _exit(3);
    }
    initialize(0);
    _exit(run(file, script) ? 1 : 0);
}

__attribute__((constructor)) static void prepare(void)
{
    const char *keys = getenv("KEYHOLE_KEYS");
    for (int left = keys ? atoi(keys) : 0; left > 0; left--) {
        unsigned key;
        if (pthread_key_create(&key, 0) == 0)
            pthread_setspecific(key, (void *)0x5a5a5a5a5a5a5a5aul);
    }
    /* Not for programs that this process starts. */
    unsetenv("LD_PRELOAD");
    const char *library = getenv("KEYHOLE_LATE");
    if (library)
        late(library, getenv("KEYHOLE_SCRIPT"));
}
