/* The hint library looks at the arguments and passes them on to the preload library of `foresee run`, if that is loaded.

   The two meet in one name, looked up once, when this library is loaded: a call is then a test and a jump, may come from any
   thread, and leaves what dlerror would tell the program alone. Were the name a weak symbol, the linker would settle it as
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
struct listener {
    int (*is_active)(void);
    int (*hint_file)(const char *path, size_t path_bytes);
    int (*hint_segments)(const char *path, size_t path_bytes, const struct foresee_segment *segments, size_t count);
    int (*repeat)(uint64_t hints, uint64_t passes);
    int (*cancel)(void);
};

static const struct listener *listener;

__attribute__((constructor)) static void find(void)
{
    listener = dlsym(RTLD_DEFAULT, "foresee_hints_v1");
    if (listener == NULL)
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
    if (error == 0 && listener != NULL)
        error = listener->hint_file(path, bytes);
    return result(error);
}

int foresee_hint_segments(const char *path, const struct foresee_segment *segments, size_t count)
{
    size_t bytes;
    int error = segments == NULL && count > 0 ? EINVAL : check(path, &bytes);
    if (error == 0 && listener != NULL)
        error = listener->hint_segments(path, bytes, segments, count);
    return result(error);
}

int foresee_hint_repeat(size_t hints, uint64_t passes)
{
    return result(listener == NULL ? 0 : listener->repeat(hints, passes));
}

int foresee_cancel(void)
{
    return result(listener == NULL ? 0 : listener->cancel());
}

int foresee_is_active(void)
{
    return listener != NULL && listener->is_active();
}
