/* Asks for a file's priority and shows the answer; then becomes another image of itself, which does the same. */
#include <foresee.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int priority = -1;
    int result = foresee_get_priority("file", &priority);
    printf("%d, %d\n", result, priority);
    fflush(stdout);
    return argc == 1 ? execl(argv[0], argv[0], "again", (char *)NULL) : 0;
}
