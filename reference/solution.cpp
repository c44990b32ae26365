// What the reference exports beside its problems, which are in exports/, one file per component.
// The same files compiled with PRENORM_PLAIN are the solution `plain`.
#include "exports/export.hpp"

PRENORM_SOLUTION(kDLCPU)
PRENORM_ALL_TENSORS(template)
