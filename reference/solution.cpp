// What the reference exports beside its problems, which exports/ holds: a file a component, so that
// a change of one compiles what depends on it and no more. All of it compiled with
// PRENORM_TEXTBOOK_SUMS is the solution `plain`.
#include <prenorm/prenorm.hpp>

PRENORM_SOLUTION(kDLCPU)
