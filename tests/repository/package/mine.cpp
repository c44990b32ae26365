// A solution as somebody else would write it, outside this project.
#include <prenorm/prenorm.hpp>

namespace {

template <class T>
void relu(prenorm::View<const T> x, prenorm::View<T> y) {
  // Not std::max: it would turn NaN into 0.
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] < 0 ? T(0) : x[i];
}

}  // namespace

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(relu, relu)
