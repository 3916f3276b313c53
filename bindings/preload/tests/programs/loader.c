#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
    void *plugin = dlopen(arguments[1], RTLD_NOW);
    printf("plugin %d\n", plugin != NULL);
    ((void (*)(void))dlsym(plugin, "load"))();
    printf("absent %d: %s\n", dlopen("libabsent.so", RTLD_NOW) != NULL, dlerror());
    return count - 2;
}
