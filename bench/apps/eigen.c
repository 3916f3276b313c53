/* The lowest energy of a ring of quantum spins (the Heisenberg antiferromagnet), by Lanczos' method out of core.

       eigen write SITES FILE            writes the matrix: the states without magnetisation, row by row
       eigen solve FILE HOW              prints the lowest eigenvalue and how many passes over the file it took

   What it reads: the whole matrix, in blocks of 1 MiB, once an iteration, from the first to the last.
   What it discloses (HOW): hints    at the start of each pass, the next pass: one call (000 section 3.6)
                            fadvise  WILLNEED, always 8 MiB ahead, around the end into the next pass
                            none     nothing

   A block holds items of 8 bytes: (rows in it, sites), then each row as (entries, value on the diagonal) and its entries
   (column, value). All values are multiples of a quarter: floats hold them exactly. */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foresee.h"

enum { ITEMS = (1 << 20) / 8, BLOCK = 1 << 20, WINDOW = 8, PIECE = 128 << 10, PASSES_MAX = 200 };

struct item {
    uint32_t number;
    float value;
};

static struct item block[ITEMS];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint32_t choose[33][33];

static void fill_choose(void) {
    for (int n = 0; n <= 32; n++)
        for (int k = choose[n][0] = 1; k <= n; k++)
            choose[n][k] = choose[n - 1][k - 1] + choose[n - 1][k];
}

/* A state's row: how many states with as many spins up come before it. */
static uint32_t rank_of(uint32_t state) {
    uint32_t rank = 0;
    for (int up = 1; state != 0; up++, state &= state - 1)
        rank += choose[__builtin_ctz(state)][up];
    return rank;
}

/* The next larger number with as many bits (Gosper). */
static uint32_t next_state(uint32_t state) {
    uint32_t low = state & -state, high = state + low;
    return high | (((state ^ high) >> 2) / low);
}

/* The row of H = sum of S_i S_j over neighbours: opposite spins give -1/4 and are exchanged with weight 1/2. */
static int make_row(uint32_t state, int sites, struct item *row) {
    int entries = 0;
    for (int site = 0; site < sites; site++) {
        uint32_t pair = 1u << site | 1u << (site + 1) % sites;
        if ((state & pair) != 0 && (state & pair) != pair)
            row[++entries] = (struct item){rank_of(state ^ pair), 0.5f};
    }
    row[0] = (struct item){entries, 0.25f * (sites - 2 * entries)};
    return entries + 1;
}

/* ---- write ---- */

static void write_matrix(int sites, const char *path) {
    FILE *out = fopen(path, "w");
    if (out == NULL)
        fail(path);
    int used = 1;
    block[0] = (struct item){0, sites};
    uint32_t rows = choose[sites][sites / 2], state = (1u << sites / 2) - 1;
    for (uint32_t row = 0; row <= rows; row++, state = next_state(state)) {
        struct item items[33];
        int count = row < rows ? make_row(state, sites, items) : ITEMS;
        if (used + count > ITEMS) {
            memset(block + used, 0, (ITEMS - used) * sizeof *block);
            if (fwrite(block, BLOCK, 1, out) != 1)
                fail(path);
            block[0].number = 0;
            used = 1;
        }
        if (row == rows)
            break;
        memcpy(block + used, items, count * sizeof *items);
        used += count;
        block[0].number++;
    }
    if (fclose(out) != 0)
        fail(path);
}

/* ---- solve ---- */

/* The matrix as the solver sees it: a file, and how its reads are disclosed. */
struct matrix {
    const char *path, *how;
    int fd;
    size_t blocks;
};

static void disclose_pass(const struct matrix *matrix) {
    if (strcmp(matrix->how, "hints") == 0 && foresee_hint_file(matrix->path) != 0)
        perror("foresee_hint_file");
}

static void disclose_block(const struct matrix *matrix, size_t number) {
    if (strcmp(matrix->how, "fadvise") == 0)
        for (int piece = 0; piece < BLOCK; piece += PIECE) /* the kernel takes no more than a piece at a time */
            posix_fadvise(matrix->fd, (off_t)(number % matrix->blocks) * BLOCK + piece, PIECE, POSIX_FADV_WILLNEED);
}

static void read_block(const struct matrix *matrix, size_t number) {
    disclose_block(matrix, number + WINDOW);
    if (pread(matrix->fd, block, BLOCK, (off_t)number * BLOCK) != BLOCK)
        fail(matrix->path);
}

/* out = matrix * in: one pass. The next one is disclosed first. */
static void multiply(const struct matrix *matrix, const double *in, double *out) {
    disclose_pass(matrix);
    for (size_t number = 0, row = 0; number < matrix->blocks; number++) {
        read_block(matrix, number);
        const struct item *at = block + 1;
        for (uint32_t rows = block[0].number; rows > 0; rows--, row++) {
            uint32_t entries = at->number;
            double sum = at->value * in[row];
            for (at++; entries > 0; entries--, at++)
                sum += at->value * in[at->number];
            out[row] = sum;
        }
    }
}

static double dot(const double *a, const double *b, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The lowest eigenvalue of a tridiagonal matrix, by bisection: as many lie below a number as pivots are negative. */
static double lowest(const double *diagonal, const double *beside, int size) {
    double low = -1000, high = 1000;
    while (high - low > 1e-12) {
        double middle = (low + high) / 2, pivot = 1;
        int below = 0;
        for (int i = 0; i < size; i++) {
            pivot = diagonal[i] - middle - (i > 0 ? beside[i - 1] * beside[i - 1] / pivot : 0);
            below += pivot < 0;
        }
        *(below > 0 ? &high : &low) = middle;
    }
    return high;
}

/* Where to begin: all states alike, with Marshall's signs (the parity of the spins that are up on every other site). */
static void begin(double *vector, size_t size, int sites) {
    uint32_t state = (1u << sites / 2) - 1;
    for (size_t row = 0; row < size; row++, state = next_state(state))
        vector[row] = (__builtin_popcount(state & 0x55555555) % 2 ? -1 : 1) / sqrt(size);
}

static void solve(struct matrix *matrix) {
    struct stat found;
    matrix->fd = open(matrix->path, O_RDONLY);
    if (matrix->fd < 0 || fstat(matrix->fd, &found) != 0)
        fail(matrix->path);
    matrix->blocks = found.st_size / BLOCK;
    disclose_pass(matrix);
    for (size_t number = 0; number < WINDOW; number++)
        disclose_block(matrix, number);
    read_block(matrix, 0);
    int sites = block[0].value;
    size_t size = choose[sites][sites / 2];
    double *before = calloc(size, sizeof(double)), *now = calloc(size, sizeof(double));
    double *after = calloc(size, sizeof(double));
    if (before == NULL || now == NULL || after == NULL)
        fail("memory");
    begin(now, size, sites);

    double diagonal[PASSES_MAX], beside[PASSES_MAX], energy = 0, last = 1;
    int passes = 0;
    while (fabs(energy - last) > 1e-9 && passes < PASSES_MAX) {
        last = energy;
        multiply(matrix, now, after);
        diagonal[passes] = dot(now, after, size);
        for (size_t i = 0; i < size; i++)
            after[i] -= diagonal[passes] * now[i] + (passes > 0 ? beside[passes - 1] * before[i] : 0);
        beside[passes] = sqrt(dot(after, after, size));
        for (size_t i = 0; i < size; i++)
            after[i] /= beside[passes];
        double *free_one = before;
        before = now, now = after, after = free_one;
        energy = lowest(diagonal, beside, ++passes);
    }
    foresee_cancel(); /* the pass that will not come */
    printf("%.9f %d\n", energy, passes);
}

int main(int argc, char **argv) {
    fill_choose();
    if (argc == 4 && strcmp(argv[1], "write") == 0) {
        write_matrix(atoi(argv[2]), argv[3]);
    } else if (argc == 4 && strcmp(argv[1], "solve") == 0) {
        solve(&(struct matrix){.path = argv[2], .how = argv[3]});
    } else {
        fprintf(stderr, "usage: eigen write SITES FILE | eigen solve FILE none|hints|fadvise\n");
        return 2;
    }
    return 0;
}
