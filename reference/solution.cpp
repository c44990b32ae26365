// What the reference exports beside its problems, which are in exports/, one file per component.
// The same files compiled with PRENORM_TEXTBOOK_SUMS are the solution `plain`.
#include <prenorm/prenorm.hpp>

PRENORM_SOLUTION(kDLCPU)
