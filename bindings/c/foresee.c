/* The hint library looks at the arguments and passes them on to the preload library of `foresee run`, if that is loaded.

   The two meet in two names, looked up once, when this library is loaded: a call is then a test and a jump, may come from any
   thread, and leaves what dlerror would tell the program alone. Were they weak symbols, the linker would settle them as
   absent where this file is compiled into a program that is not position independent. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "foresee.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { PATH_BYTES_MAX = 4095 };

/* `foresee_hints_v1` in bindings/preload/src/hints.rs. A change is a new name, and the old one stays. The functions return 0
   or an errno. */
struct hints_listener {
    int (*is_active)(void);
    int (*hint_file)(const char *path, size_t path_bytes);
    int (*hint_segments)(const char *path, size_t path_bytes, const struct foresee_segment *segments, size_t count);
    int (*repeat)(uint64_t hints, uint64_t passes);
    int (*cancel)(void);
};

/* `foresee_advice_v1` in bindings/preload/src/advice.rs; likewise. */
struct advice_listener {
    int (*manage)(int on);
    int (*set_priority)(const char *path, size_t path_bytes, int priority);
    int (*get_priority)(const char *path, size_t path_bytes, int *priority);
    int (*set_policy)(int priority, int policy);
    int (*get_policy)(int priority, int *policy);
    int (*set_temporary_priority)(const char *path, size_t path_bytes, uint64_t offset, uint64_t length, int priority);
};

static const struct hints_listener *hint_listener;
static const struct advice_listener *advice_listener;

__attribute__((constructor)) static void find(void)
{
    hint_listener = dlsym(RTLD_DEFAULT, "foresee_hints_v1");
    advice_listener = dlsym(RTLD_DEFAULT, "foresee_advice_v1");
    if (hint_listener == NULL || advice_listener == NULL)
        dlerror();
}

static int result(int error)
{
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

/* What is wrong with a path: an errno, or 0. */
static int check(const char *path, size_t *bytes)
{
    *bytes = path == NULL ? 0 : strnlen(path, PATH_BYTES_MAX + 1);
    return *bytes == 0 ? EINVAL : *bytes > PATH_BYTES_MAX ? ENAMETOOLONG : 0;
}

int foresee_hint_file(const char *path)
{
    size_t bytes;
    int error = check(path, &bytes);
    if (error == 0 && hint_listener != NULL)
        error = hint_listener->hint_file(path, bytes);
    return result(error);
}

int foresee_hint_segments(const char *path, const struct foresee_segment *segments, size_t count)
{
    size_t bytes;
    int error = segments == NULL && count > 0 ? EINVAL : check(path, &bytes);
    if (error == 0 && hint_listener != NULL)
        error = hint_listener->hint_segments(path, bytes, segments, count);
    return result(error);
}

int foresee_hint_repeat(size_t hints, uint64_t passes)
{
    return result(hint_listener == NULL ? 0 : hint_listener->repeat(hints, passes));
}

int foresee_cancel(void)
{
    return result(hint_listener == NULL ? 0 : hint_listener->cancel());
}

int foresee_is_active(void)
{
    return hint_listener != NULL && hint_listener->is_active();
}

int foresee_manage_caching(void)
{
    return result(advice_listener == NULL ? 0 : advice_listener->manage(1));
}

int foresee_give_up_control(void)
{
    return result(advice_listener == NULL ? 0 : advice_listener->manage(0));
}

int foresee_set_priority(const char *path, int priority)
{
    size_t bytes;
    int error = check(path, &bytes);
    if (error == 0 && advice_listener != NULL)
        error = advice_listener->set_priority(path, bytes, priority);
    return result(error);
}

int foresee_get_priority(const char *path, int *priority)
{
    size_t bytes;
    int error = priority == NULL ? EINVAL : check(path, &bytes);
    if (error != 0)
        return result(error);
    *priority = 0;
    return result(advice_listener == NULL ? 0 : advice_listener->get_priority(path, bytes, priority));
}

int foresee_set_policy(int priority, enum foresee_policy policy)
{
    int error = policy == FORESEE_LRU || policy == FORESEE_MRU ? 0 : EINVAL;
    if (error == 0 && advice_listener != NULL)
        error = advice_listener->set_policy(priority, policy);
    return result(error);
}

int foresee_get_policy(int priority, enum foresee_policy *policy)
{
    if (policy == NULL)
        return result(EINVAL);
    int found = FORESEE_LRU, error = advice_listener == NULL ? 0 : advice_listener->get_policy(priority, &found);
    *policy = found;
    return result(error);
}

int foresee_set_temporary_priority(const char *path, uint64_t offset, uint64_t length, int priority)
{
    size_t bytes;
    int error = check(path, &bytes);
    if (error == 0 && advice_listener != NULL)
        error = advice_listener->set_temporary_priority(path, bytes, offset, length, priority);
    return result(error);
}
