/* foresee's hint library: a program says what it will read, and foresee reads it ahead.

   A hint is a disclosure, in the terms of the reads it speaks of: a file's name, byte offsets, byte counts. It is never an
   order: no hint changes what a read returns. Hints are given in the order of the reads, as long before them as possible.

   Under `foresee run -- PROGRAM` the calls reach foresee. Anywhere else nobody listens, and a call costs some nanoseconds and
   returns 0. So a program need not ask where it runs.

   All calls return 0, or -1 with errno set:
     EINVAL        a null or empty path; null segments with a count that is not 0
     ENAMETOOLONG  a path of more than 4,095 bytes
     EAGAIN        foresee took nothing for a second; what it did not take is not read ahead
   The first two depend on the arguments alone, and are the same with and without foresee. A file that does not exist is no
   error, nor is a range beyond a file's end.

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

/* 1 if somebody listens, else 0: for programs to which making hints is work. */
int foresee_is_active(void);

#ifdef __cplusplus
}
#endif
#endif
