// A solution that asks for the tf32 tolerances, and is as wrong as they allow.
#include <prenorm/prenorm.hpp>

namespace {

template <class T>
void twice(prenorm::View<const T> x, prenorm::View<T> y) {
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i] * (1 + T(0x1p-11));
}

}  // namespace

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FOR(twice, twice, float)
extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
