/* The hint library looks at the arguments and passes them on: to the preload library of `foresee run`, if that is loaded; what is said
   of a file on a `foresee mount`, to that mount.

   The two libraries meet in two names, looked up once, when this library is loaded: a call is then a test and a jump, may come from any
   thread, and leaves what dlerror would tell the program alone. Were they weak symbols, the linker would settle them as
   absent where this file is compiled into a program that is not position independent. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "foresee.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

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

/* Mounts are asked by system calls of our own: what the preload library sees is what the program does. Their ioctls are in
   crates/mount/src/view/hints.rs; a change is a new number, and the old one stays. */
enum { MOUNT_IOCTLS = 0xf7, SEGMENTS_AT_ONCE = 1023 };

static unsigned long mount_hint(int is_last, size_t count)
{
    return _IOC(_IOC_WRITE, MOUNT_IOCTLS, is_last ? 2 : 1, count * sizeof(struct foresee_segment));
}

static const unsigned long mount_repeat = _IOC(_IOC_WRITE, MOUNT_IOCTLS, 3, 2 * sizeof(uint64_t));
static const unsigned long mount_cancel = _IOC(_IOC_NONE, MOUNT_IOCTLS, 4, 0);

static int open_to_read(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_LARGEFILE | flags, 0);
}

static void close_again(int fd)
{
    syscall(SYS_close, fd);
}

/* All of a file that the kernel makes up, to be freed; NULL if it cannot be had. */
static char *whole_file(const char *path)
{
    size_t size = 0, room = 1 << 14;
    char *text = NULL, *more;
    long count = 1;
    int fd = open_to_read(path, 0);
    while (fd >= 0 && count > 0 && (more = realloc(text, room)) != NULL) {
        text = more;
        count = syscall(SYS_read, fd, text + size, room - size - 1);
        size += count > 0 ? (size_t)count : 0;
        text[size] = 0;
        room += size + 1 == room ? room : 0;
    }
    if (fd >= 0)
        close_again(fd);
    return text;
}

/* In the list of mounts a space in a path is a backslash and three octal digits. */
static void unescape(char *path)
{
    char *to = path;
    for (; *path != 0; to++, path++) {
        *to = *path;
        if (path[0] == '\\' && path[1] != 0 && path[2] != 0 && path[3] != 0) {
            *to = (char)((path[1] - '0') << 6 | (path[2] - '0') << 3 | (path[3] - '0'));
            path += 3;
        }
    }
    *to = 0;
}

/* Shows each `foresee mount` to a visitor until that returns something else than 0. Returns what it returned last, or -1 if the list of
   mounts cannot be read. */
static int each_mount(int (*visit)(dev_t dev, const char *point, const void *with), const void *with)
{
    int visited = 0, error = errno;
    char *text = whole_file("/proc/self/mountinfo"), *line, *rest = text;
    while (visited == 0 && rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
        unsigned int major, minor;
        char point[PATH_BYTES_MAX + 1];
        if (strstr(line, " - fuse.foresee ") != NULL
            && sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, point) == 3) {
            unescape(point);
            visited = visit(makedev(major, minor), point, with);
        }
    }
    free(text);
    errno = error;
    return text == NULL ? -1 : visited;
}

static int is_any_mount(dev_t dev, const char *point, const void *with)
{
    return (void)dev, (void)point, (void)with, 1;
}

static int is_this_mount(dev_t dev, const char *point, const void *wanted)
{
    (void)point;
    return dev == *(const dev_t *)wanted;
}

/* What the list of mounts says, as it was at most a second ago: of the device of this number, or whether there is a mount at all. What was
   found last is kept in one word: the second (the coarse clock takes no system call), the number, and one bit. */
static int find_mount(uint64_t *last, int (*visit)(dev_t dev, const char *point, const void *with), dev_t dev)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t what = ((uint64_t)now.tv_sec + 1) << 33 | (uint64_t)(uint32_t)dev << 1, known = __atomic_load_n(last, __ATOMIC_RELAXED);
    if (known >> 1 != what >> 1) {
        int found = each_mount(visit, &dev);
        if (found < 0)
            return 0;
        known = what | (uint64_t)found;
        __atomic_store_n(last, known, __ATOMIC_RELAXED);
    }
    return known & 1;
}

static int is_anything_mounted(void)
{
    static uint64_t last;
    return find_mount(&last, is_any_mount, 0);
}

/* Whether the files of this device number are a mount's. */
static int is_of_mount(dev_t dev)
{
    static uint64_t last;
    return find_mount(&last, is_this_mount, dev);
}

/* The device number of the mount that was hinted to last, or 0 if the last hint was of a file elsewhere. */
static uint64_t hinted_last;

/* Whether a mount has taken the hint: the file's own. Where there is none, the file is not looked up: its name may lie across a
   network, and whoever hints a thousand files would wait a thousand times for what foresee looks up side by side. */
static int has_told_mount(const char *path, const struct foresee_segment *segments, size_t count)
{
    struct statx found;
    dev_t dev = 0;
    size_t told = 0;
    int fd = -1, is_told = 0, error = errno;
    if (is_anything_mounted() && syscall(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE, &found) == 0 && S_ISREG(found.stx_mode)
        && found.stx_dev_major == 0) {
        dev = makedev(found.stx_dev_major, found.stx_dev_minor);
        if (is_of_mount(dev))
            fd = open_to_read(path, O_NONBLOCK);
    }
    if (fd >= 0) {
        do {
            size_t part = count - told < SEGMENTS_AT_ONCE ? count - told : SEGMENTS_AT_ONCE;
            is_told = ioctl(fd, mount_hint(told + part == count, part), segments + told) == 0;
            told += part;
        } while (is_told && told < count);
        close_again(fd);
    }
    __atomic_store_n(&hinted_last, is_told ? dev : 0, __ATOMIC_RELAXED);
    errno = error;
    return is_told;
}

static int ask_mount(const char *point, unsigned long what, const void *with)
{
    int fd = open_to_read(point, O_DIRECTORY);
    int is_told = fd >= 0 && ioctl(fd, what, with) == 0;
    if (fd >= 0)
        close_again(fd);
    return is_told;
}

static int repeat_on_mount(dev_t dev, const char *point, const void *numbers)
{
    return dev == __atomic_load_n(&hinted_last, __ATOMIC_RELAXED) && ask_mount(point, mount_repeat, numbers);
}

static int cancel_on_mount(dev_t dev, const char *point, const void *with)
{
    (void)dev;
    ask_mount(point, mount_cancel, with);
    return 0;
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
    struct foresee_segment whole = {0, UINT64_MAX};
    if (error == 0 && !has_told_mount(path, &whole, 1) && hint_listener != NULL)
        error = hint_listener->hint_file(path, bytes);
    return result(error);
}

int foresee_hint_segments(const char *path, const struct foresee_segment *segments, size_t count)
{
    size_t bytes;
    int error = segments == NULL && count > 0 ? EINVAL : check(path, &bytes);
    if (error == 0 && !has_told_mount(path, segments, count) && hint_listener != NULL)
        error = hint_listener->hint_segments(path, bytes, segments, count);
    return result(error);
}

int foresee_hint_repeat(size_t hints, uint64_t passes)
{
    uint64_t numbers[2] = {hints, passes};
    if (__atomic_load_n(&hinted_last, __ATOMIC_RELAXED) != 0 && each_mount(repeat_on_mount, numbers) > 0)
        return 0;
    return result(hint_listener == NULL ? 0 : hint_listener->repeat(hints, passes));
}

int foresee_cancel(void)
{
    each_mount(cancel_on_mount, NULL);
    return result(hint_listener == NULL ? 0 : hint_listener->cancel());
}

int foresee_is_active(void)
{
    return (hint_listener != NULL && hint_listener->is_active()) || each_mount(is_any_mount, NULL) > 0;
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
