// A library that is no solution: it does not say for which interface it was made.
#include <prenorm/prenorm.h>

extern "C" {
PRENORM_API int prenorm_device() { return kDLCPU; }
PRENORM_API int prenorm_twice(const prenorm_call*) { return PRENORM_OK; }
}
