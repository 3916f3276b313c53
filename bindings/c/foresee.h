/* foresee's hint library: a program says what it will read, and foresee reads it ahead; or it advises which of its own pages can
   be spared, and foresee gives those up first.

   A hint is a disclosure, in the terms of the reads it speaks of: a file's name, byte offsets, byte counts. It is never an
   order: no hint changes what a read returns. Hints are given in the order of the reads, as long before them as possible.

   Under `foresee run -- PROGRAM` the calls reach foresee; hints of a file on a `foresee mount` reach the mount, under `foresee run` or
   not. Anywhere else nobody listens, and a call returns 0 without looking the file up. So a program need not ask where it runs.

   All calls return 0, or -1 with errno set:
     EINVAL        a null or empty path; null segments with a count that is not 0; no such policy; no place for an answer
     ENAMETOOLONG  a path of more than 4,095 bytes
     EAGAIN        foresee took nothing for a second; what it did not take is not read ahead, or not advised
   Advice may also be refused; see there. The first two depend on the arguments alone, and are the same with and without
   foresee. A file that does not exist is no error, nor is a range beyond a file's end.

   Any thread may call, also after fork; signal handlers may not. Exact semantics: docs/hints.md. */
#ifndef FORESEE_H
#define FORESEE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A range of bytes. */
struct foresee_segment {
    uint64_t offset;
    uint64_t length; /* what lies beyond the file's end is passed over; so UINT64_MAX is to the end */
};

/* The whole file will be read, in sequence. A relative path is relative to the working directory now. */
int foresee_hint_file(const char *path);

/* These ranges of the file will be read, in this order. */
int foresee_hint_segments(const char *path, const struct foresee_segment *segments, size_t count);

/* What the last `hints` calls of the two functions above disclosed will be read `passes` times in all, each time from the
   first to the last; 0 is without end, until foresee_cancel. To be said before they are read. */
int foresee_hint_repeat(size_t hints, uint64_t passes);

/* What this process disclosed and has not read is withdrawn. */
int foresee_cancel(void);

/* Advice (policy lru-sp): which of this program's own pages in memory go first, where room is needed. Whose pages go is never a
   program's to say, and who advises badly loses by it alone.

   Each file has a priority, 0 at first: pages of files of lower priority go first. Each priority has a policy: which of its
   pages goes first. The first call of a program that sets anything makes it a manager of its pages.

   These calls wait for foresee's answer, some milliseconds, and may also fail with
     ENOTSUP  foresee was not asked to take advice: `foresee run --policy lru-sp -- PROGRAM`
     EUSERS   as many programs advise as may (64)
     ENOSPC   as many priorities are in use as may be (32)
     EMFILE   as many files have a priority of their own as may (16,384)
     EPERM    this program lost control: too many of its decisions proved wrong
     ERANGE   there is no such file to follow, or no such range
   What is refused changes nothing. Where nobody listens, all succeed, priorities are 0 and policies FORESEE_LRU. */
enum foresee_policy {
    FORESEE_LRU = 0, /* the page whose last use is longest ago */
    FORESEE_MRU = 1 /* the page that was used last: for what is read in a cycle */
};

/* This program will advise: its pages are its own to choose among from now on, by LRU until it says more. */
int foresee_manage_caching(void);

/* It will not any more; what it advised is forgotten. */
int foresee_give_up_control(void);

int foresee_set_priority(const char *path, int priority);
int foresee_get_priority(const char *path, int *priority);
int foresee_set_policy(int priority, enum foresee_policy policy);
int foresee_get_policy(int priority, enum foresee_policy *policy);

/* These bytes' pages that are in memory have this priority until each is used next: -1 for what is done with. Does not wait; that
   it was refused is told by the next such call. */
int foresee_set_temporary_priority(const char *path, uint64_t offset, uint64_t length, int priority);

/* 1 if somebody listens, else 0: for programs to which making hints is work. */
int foresee_is_active(void);

#ifdef __cplusplus
}
#endif
#endif
