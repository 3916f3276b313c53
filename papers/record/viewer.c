/* A viewer in the way of viewperf: loads the whole of a data file, which is of one of five formats.
 *
 *     viewer FORMAT FILE      FORMAT 0 to 4; prints the sum of what was looked at
 *
 * Each format is read by code of its own: points one by one, lines, bytes, tiles, and chunks of any length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long loader(FILE *file);

static unsigned long points(FILE *file)
{
    double point[3];
    unsigned long sum = 0;
    while (fread(point, sizeof point, 1, file) == 1)
        sum += ((unsigned char *)point)[0];
    return sum;
}

static unsigned long lines(FILE *file)
{
    char line[512];
    unsigned long sum = 0;
    while (fgets(line, sizeof line, file))
        sum += (unsigned char)line[0];
    return sum;
}

static unsigned long bytes(FILE *file)
{
    unsigned long sum = 0;
    for (int byte; (byte = getc(file)) != EOF;)
        sum += byte;
    return sum;
}

static unsigned long tiles(FILE *file)
{
    static unsigned char tile[1 << 16];
    unsigned long sum = 0;
    for (size_t got; (got = fread(tile, 1, sizeof tile, file)) > 0;)
        sum += tile[got / 2];
    return sum;
}

static unsigned long chunks(FILE *file)
{
    char *chunk = NULL;
    size_t room = 0;
    unsigned long sum = 0;
    for (ssize_t got; (got = getdelim(&chunk, &room, '/', file)) > 0;)
        sum += got;
    free(chunk);
    return sum;
}

int main(int words, char **word)
{
    static loader *const loaders[] = { points, lines, bytes, tiles, chunks };
    if (words != 3) {
        fprintf(stderr, "usage: viewer FORMAT FILE\n");
        return 2;
    }
    FILE *file = fopen(word[2], "rb");
    if (!file) {
        perror(word[2]);
        return 1;
    }
    setvbuf(file, NULL, _IOFBF, 1 << 14);
    printf("%lu\n", loaders[atoi(word[1]) % 5](file));
    fclose(file);
    return 0;
}
