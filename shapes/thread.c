/* Thread-specific storage: a pthread key behind a small struct (3.7 on), a
 * bare pthread key (3.3 on), or a linked list of our own (2.7). */

#include "pythonlike.h"

#include <stdlib.h>

unsigned long PyThread_get_thread_ident(void)
{
    return (unsigned long)pthread_self();
}

#if SHAPE_AT_LEAST(7)

int PyThread_tss_is_created(Py_tss_t *key)
{
    if (key == NULL)
        shape_fatal(__func__, "no key");
    return key->is_initialized;
}

int PyThread_tss_create(Py_tss_t *key)
{
    if (key == NULL)
        shape_fatal(__func__, "no key");
    if (key->is_initialized)
        return 0;
    if (pthread_key_create(&key->key, NULL))
        return -1;
    key->is_initialized = 1;
    return 0;
}

int PyThread_tss_set(Py_tss_t *key, void *value)
{
    return pthread_setspecific(key->key, value) ? -1 : 0;
}

void *PyThread_tss_get(Py_tss_t *key)
{
    return pthread_getspecific(key->key);
}

#endif

#if SHAPE_IS_2

struct item {
    struct item *next;
    unsigned long id;
    int key;
    void *value;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct item *list;
static int last_key;

static struct item *lookup(int key, void *value)
{
    unsigned long id = PyThread_get_thread_ident();
    struct item *item;

    pthread_mutex_lock(&list_lock);
    for (item = list; item != NULL; item = item->next)
        if (item->id == id && item->key == key)
            goto out;
    if (value != NULL && (item = malloc(sizeof *item)) != NULL) {
        item->id = id;
        item->key = key;
        item->value = value;
        item->next = list;
        list = item;
    }
out:
    pthread_mutex_unlock(&list_lock);
    return item;
}

int PyThread_create_key(void)
{
    return ++last_key;
}

int PyThread_set_key_value(int key, void *value)
{
    struct item *item = lookup(key, value);
    if (item == NULL)
        return -1;
    item->value = value;
    return 0;
}

void *PyThread_get_key_value(int key)
{
    struct item *item = lookup(key, NULL);
    return item ? item->value : NULL;
}

#else

int PyThread_create_key(void)
{
    pthread_key_t key;
    return pthread_key_create(&key, NULL) ? -1 : (int)key;
}

int PyThread_set_key_value(int key, void *value)
{
    return pthread_setspecific((pthread_key_t)key, value) ? -1 : 0;
}

void *PyThread_get_key_value(int key)
{
    return pthread_getspecific((pthread_key_t)key);
}

#endif
