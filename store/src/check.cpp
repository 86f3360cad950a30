#include <flor/store/store.h>
