// A solution whose constructor of a global object never ends.
#include <prenorm/prenorm.hpp>

#include <unistd.h>

namespace {
const struct Hang {
  Hang() {
    while (true) ::pause();
  }
} hang;
}  // namespace

PRENORM_SOLUTION(kDLCPU)
