// A solution whose constructor of a global object ends the process, as if all were well.
#include <prenorm/prenorm.hpp>

#include <cstdlib>

namespace {
const struct Exit {
  Exit() { std::exit(0); }
} leave;
}  // namespace

PRENORM_SOLUTION(kDLCPU)
