// A library that loads another by bare name, which only its own RUNPATH leads to.
#include <dlfcn.h>
#include <stdio.h>
void load(void) {
    void *inner = dlopen("libinner.so", RTLD_NOW);
    printf("inner %s\n", inner ? "found" : dlerror());
}
