// A solution for a device that no machine of ours has.
#include <prenorm/prenorm.hpp>

PRENORM_SOLUTION(kDLVPI)

extern "C" PRENORM_API int prenorm_twice(const prenorm_call*) { return PRENORM_OK; }
