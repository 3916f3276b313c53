// A library to be loaded and unloaded: with more code or with more data, so that both take up as much and call from the same place.
__attribute__((noipa)) void through(void (*get)(int), int bytes) {
    get(bytes);
    __asm__ volatile("");
}
#ifdef CODE
// Behind what calls, wherever the compiler writes this.
__asm__(".text 1\n.fill 8192, 1, 0x90\n.text 0");
#else
char data[8192] = {1};
#endif
