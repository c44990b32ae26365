// Solutions that are refused, or that ask for something: a library for each part.
#include <prenorm/prenorm.hpp>

#include <cstdlib>
#include <unistd.h>

namespace {

/// What the constructor of a global object does.
struct AtLoad {
  AtLoad() {
#if defined(PART_crashes_at_load)
    *reinterpret_cast<volatile int*>(64) = 1;
#elif defined(PART_exits_at_load)
    std::exit(0);  // as if all were well
#elif defined(PART_hangs_at_load)
    while (true) ::pause();
#endif
  }
};
[[maybe_unused]] const AtLoad at_load;

}  // namespace

#if defined(PART_no_abi)  // it does not say for which interface it was made
extern "C" PRENORM_API int prenorm_device() { return kDLCPU; }
#elif defined(PART_wrong_abi)
extern "C" PRENORM_API int prenorm_abi() { return PRENORM_ABI + 1; }
extern "C" PRENORM_API int prenorm_device() { return kDLCPU; }
#elif defined(PART_other_device)  // which no machine of ours has
PRENORM_SOLUTION(kDLVPI)
#else
PRENORM_SOLUTION(kDLCPU)
#endif

#if defined(PART_unknown_mode)
PRENORM_EXPORT_FUNCTION(nothing, [](prenorm::View<float>) {})
extern "C" PRENORM_API const char* prenorm_mode() { return "numpy"; }  // as only Python may
#elif defined(PART_tf32)  // as wrong as its tolerances allow
template <class T>
void twice(prenorm::View<const T> x, prenorm::View<T> y) {
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i] * (1 + T(0x1p-11));
}
PRENORM_EXPORT_FOR(twice, twice, float)
extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
#elif defined(PART_no_abi) || defined(PART_wrong_abi) || defined(PART_other_device)
extern "C" PRENORM_API int prenorm_twice(const prenorm_call*) { return PRENORM_OK; }
#endif
