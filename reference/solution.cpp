// What each of the solutions `reference`, `fast`, `plain`, `honest` and `mistakes` exports beside
// its problems. CMakeLists.txt says what each is compiled from.
#include "exports/export.hpp"

PRENORM_SOLUTION(kDLCPU)
PRENORM_ALL_TENSORS(template)
