// All of Flor's core in one shared library, for programs that tests compile themselves.
#include <flor/flor.h>
