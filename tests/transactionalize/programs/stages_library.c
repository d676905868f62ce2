// stages_library.c -- stands for a library whose source is not there.
const char* library_version(void) { return "version 5"; }
