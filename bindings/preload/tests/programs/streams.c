// stdio, which reads, writes and seeks past everybody.
#include "show.h"
#include <unistd.h>

int main(void) {
    char line[4096];
    FILE *f = fopen("data", "r");
    SHOW(fgets(line, sizeof line, f) != NULL);
    SHOW(fseek(f, 50000, SEEK_SET));
    SHOW(fread(line, 1, 100, f));
    SHOW(ftell(f));
    int fd = fileno(f);
    SHOW(fclose(f));
    FILE *w = fopen64("written", "w+");
    SHOW(fileno(w) == fd);
    SHOW(fprintf(w, "hello %d\n", 5));
    SHOW(fflush(w));
    SHOW(fseek(w, 0, SEEK_SET));
    SHOW(fgetc(w));
    SHOW(fputs("last words", w));
    w = freopen("data", "r", w);
    SHOW(w != NULL);
    SHOW(fgetc(w));
    SHOW(fopen("absent", "r") != NULL);
    SHOW(freopen("absent", "r", w) != NULL);
    SHOW(fopen("data", "?") != NULL);
    FILE *m = fmemopen(line, 100, "r");
    SHOW(fclose(m));
    return 0;
}
