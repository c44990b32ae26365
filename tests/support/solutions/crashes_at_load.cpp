// A solution whose constructor of a global object crashes.
#include <prenorm/prenorm.hpp>

namespace {
const struct Crash {
  Crash() { *reinterpret_cast<volatile int*>(64) = 1; }
} crash;
}  // namespace

PRENORM_SOLUTION(kDLCPU)
