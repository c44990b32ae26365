// `plain-tf32`: the textbook loop of `plain`, but matrix products of float32 tensors read
// their operands as tf32 units do. Its error gives the tf32 tolerances. Every other type, and all
// that is no product, is as in `plain`.
#include "../sums.hpp"

#include <type_traits>

// Each function says, before it runs, whether its element type is the one that tf32 is about. (The
// 16-bit types compute in float32 too, so the products themselves cannot tell.)
#undef PRENORM_EXPORT
#define PRENORM_EXPORT(problem, function)                                  \
  extern "C" PRENORM_API int prenorm_##problem(const prenorm_call* call) { \
    return detail::run<double, float, float16, bfloat16>(                  \
        call, []<class T>(std::type_identity<T>) {                         \
          reference::tf32_products = std::is_same_v<T, float>;             \
          return &function<T>;                                             \
        });                                                                \
  }

#include "../exports/linear.cpp"
#include "../exports/embedding.cpp"
#include "../exports/rmsnorm.cpp"
#include "../exports/activations.cpp"
#include "../exports/feed_forward.cpp"
#include "../exports/rope.cpp"
#include "../exports/softmax.cpp"
#include "../exports/attention.cpp"
#include "../exports/multihead_self_attention.cpp"
#include "../exports/transformer_block.cpp"

PRENORM_SOLUTION(kDLCPU)

extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
