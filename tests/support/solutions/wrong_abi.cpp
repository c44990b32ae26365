// A solution for another version of the interface.
#include <prenorm/prenorm.h>

extern "C" {
PRENORM_API int prenorm_abi() { return PRENORM_ABI + 1; }
PRENORM_API int prenorm_device() { return kDLCPU; }
PRENORM_API int prenorm_twice(const prenorm_call*) { return PRENORM_OK; }
}
