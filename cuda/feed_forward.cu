// Feed-forward networks and the gated linear unit on the GPU. Equations, shapes and errors:
// reference/feed_forward.hpp. Products: linear.cu.
//
//   v1  the reference's steps, rounded as it rounds, by product v1
//   v2  the same steps by the launched product
//   v3  the gate in one kernel, 16 bytes at a time, rounded once                   <- launched
//
// Counts of ffn_swiglu, float32: TinyStories, a quarter as wide (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         5   16.5 (2.51)              4     849       3.24           -         0         0
//   v2         5          3.98           3.96     5.3       3.24           1       560         0
//   v3         4          4.43           5.05    4.76        2.7           1       560         0
//
// Measured on NVIDIA H200: v2 72.3 times as fast as v1, what is launched 1.01 times as fast as v2
// (cpu_ffn_gelu, float32).
#include "activations.cuh"
#include "dependent_launch.cuh"
#include "export.cuh"
#include "feed_forward.cuh"
#include "launch.cuh"
#include "types.cuh"
#include "versions.cuh"
#include "workspace.cuh"

namespace prenorm::cuda {
namespace {

Workspace first_product("feed_forward: the first product");    // [rows, d_ff]
Workspace second_product("feed_forward: the second product");  // [rows, d_ff]

/// On Hopper the gate of SwiGLU and GELU are computed at the end of product v5 (linear.cu) up to
/// this d_model: further up they take longer than what v5 may lose to the library. On an H200 16384
/// rows of 768 took 255 us to 3072 gated columns, where PyTorch's two products, SiLU and
/// multiplication took 410; of 4096 to 4096 columns both took 0.4 ms.
[[maybe_unused]] constexpr std::int64_t most_at_once = 2048;

/// v2: as V1, with the launched product.
struct V2 : V1 {
  template <class T>
  static void multiply(const Product<T>& product, Stream stream) {
    product_launched(product, stream);
  }
};

// ---- activation and gate ------------------------------------------------------------------------

/// a = activation(a)
template <class V, class Activation, class T>
void activate(T* a, std::int64_t size, Stream stream) {
  // step: activation
  if constexpr (V::step_by_step) {
    activate_v1<Activation>("activation v1", a, a, size, stream);
  } else {
    activate_launched<Activation>("activation v2", a, a, size, stream);
  }
}

/// v1, v2: b = a * b
template <class T>
__global__ void __launch_bounds__(256) multiply_v1(const T* a, T* b, std::int64_t size) {
  const std::int64_t i = global_thread();
  if (i < size) b[i] = narrow<T>(widen(a[i]) * widen(b[i]));  // step: gate
}

/// v3: b = activation(a) * b, N elements per thread; what no vector fills is left for the last one.
/// The activation is not rounded before it is multiplied: one rounding error less.
template <class Activation, int N, class T>
__global__ void __launch_bounds__(256) gate_v3(const T* a, T* b, std::int64_t size) {
  wait_for_the_kernel_before();
  let_the_next_begin();
  const auto gated = [](T left, T right) {
    return narrow<T>(activated<Activation>(left) * widen(right));  // step: activation, gate
  };
  const std::int64_t i = global_thread() * N;
  if (i + N <= size) {
    const Vector<T, N> left = load_vector<N>(a + i), right = load_vector<N>(b + i);
    Vector<T, N> out;
#pragma unroll
    for (int k = 0; k < N; ++k) out.element[k] = gated(left.element[k], right.element[k]);
    store_vector(b + i, out);
  } else {
    for (std::int64_t k = i; k < size; ++k) b[k] = gated(a[k], b[k]);
  }
}

/// b = activation(a) * b; in v1 and v2 a changes too. Vectors need no check for alignment: a
/// Workspace and an output of the interface are aligned to 256 bytes.
template <class V, class Activation, class T>
void gate(T* a, T* b, std::int64_t size, Stream stream) {
  if constexpr (V::step_by_step) {
    activate<V, Activation>(a, size, stream);  // step: activation
    // step: gate
    launch({"multiplication v1", ceil_div(size, 256), 256, stream}, multiply_v1<T>, a, b, size);
  } else {
    constexpr int N = vector_width<T>;
    // step: activation, gate
    launch(early({"gate v3", ceil_div(size, 256 * N), 256, stream}), gate_v3<Activation, N, T>, a,
           b, size);
  }
}

/// y = silu(x weightᵀ) (x gateᵀ), or y = gelu(x weightᵀ), by product v5 in one kernel, where that
/// is the best: on Hopper, as records say. False, and nothing is done, elsewhere.
template <class V, class T>
bool gated_at_once(const Product<T>& product, const T* gate, Stream stream) {
#if defined(PRENORM_LINEAR_WGMMA)
  if constexpr (!V::step_by_step) {
    // step: product with w1, product with w3, activation, gate
    if (product.d_in <= most_at_once) return gated_product_v5<Silu>(product, gate, stream);
  }
#endif
  static_cast<void>(product), static_cast<void>(gate), static_cast<void>(stream);
  return false;
}
template <class V, class Activation, class T>
bool activated_at_once(const Product<T>& product, Stream stream) {
#if defined(PRENORM_LINEAR_WGMMA)
  if constexpr (!V::step_by_step && std::is_same_v<Activation, Gelu>) {
    // step: product with w1, activation
    if (product.d_in <= most_at_once) return activated_product_v5<Gelu>(product, stream);
  }
#endif
  static_cast<void>(product), static_cast<void>(stream);
  return false;
}

// ---- the networks -------------------------------------------------------------------------------

template <class V>
struct Networks {
  /// The second product is gated in place, in y.
  template <class T>
  static void glu(View<const T> x, View<const T> w1, View<const T> w2, Stream stream, View<T> y) {
    const std::int64_t rows = rows_of(x), d_ff = w1.shape(0), d_in = w1.shape(1);
    T* hidden = first_product.get<T>(rows * d_ff, stream);
    // step: product with w1
    V::template multiply<T>({"glu, product with w1", x.data(), w1.data(), hidden, rows, d_ff, d_in},
                            stream);
    // step: product with w2
    V::template multiply<T>(
        {"glu, product with w2", x.data(), w2.data(), y.data(), rows, d_ff, d_in}, stream);
    // step: activation, gate
    gate<V, Sigmoid>(hidden, y.data(), rows * d_ff, stream);
  }

  template <class T>
  static void gelu(const FeedForward<T>& f, Stream stream) {
    network<Gelu>({"ffn_gelu, product with w1", "ffn_gelu, product with w2"}, f, stream);
  }

  template <class T>
  static void swiglu(const FeedForward<T>& f, Stream stream) {
    T* gated = second_product.get<T>(f.rows * f.d_ff, stream);
    const Product<T> first{
        "ffn_swiglu, product with w1", f.x, f.w1, gated, f.rows, f.d_ff, f.d_model};
    if (!gated_at_once<V>(first, f.w3, stream)) {
      T* hidden = first_product.get<T>(f.rows * f.d_ff, stream);
      // Stacked weights would have x read once, but would have to be copied together in each call.
      // step: product with w1
      V::template multiply<T>({first.name, f.x, f.w1, hidden, f.rows, f.d_ff, f.d_model}, stream);
      // step: product with w3
      V::template multiply<T>(
          {"ffn_swiglu, product with w3", f.x, f.w3, gated, f.rows, f.d_ff, f.d_model}, stream);
      // step: activation, gate
      gate<V, Silu>(hidden, gated, f.rows * f.d_ff, stream);
    }
    // step: product with w2
    V::template multiply<T>(
        {"ffn_swiglu, product with w2", gated, f.w2, f.y, f.rows, f.d_model, f.d_ff, f.residual},
        stream);
  }

  // The problems, as the interface calls them.

  template <class T>
  static void ffn_relu(View<const T> x, View<const T> w1, View<const T> w2, Stream stream,
                       View<T> y) {
    network<Relu>({"ffn_relu, product with w1", "ffn_relu, product with w2"}, of(x, w1, w2, y),
                  stream);
  }
  template <class T>
  static void ffn_silu(View<const T> x, View<const T> w1, View<const T> w2, Stream stream,
                       View<T> y) {
    network<Silu>({"ffn_silu, product with w1", "ffn_silu, product with w2"}, of(x, w1, w2, y),
                  stream);
  }
  template <class T>
  static void ffn_gelu(View<const T> x, View<const T> w1, View<const T> w2, Stream stream,
                       View<T> y) {
    gelu(of(x, w1, w2, y), stream);
  }
  template <class T>
  static void ffn_swiglu(View<const T> x, View<const T> w1, View<const T> w2, View<const T> w3,
                         Stream stream, View<T> y) {
    FeedForward<T> f = of(x, w1, w2, y);
    f.w3 = w3.data();
    swiglu(f, stream);
  }

 private:
  template <class T>
  static FeedForward<T> of(View<const T> x, View<const T> w1, View<const T> w2, View<T> y) {
    return {x.data(), w1.data(),  w2.data(),   nullptr,
            y.data(), rows_of(x), w1.shape(1), w1.shape(0)};
  }

  struct Names {
    const char *first, *second;  // product
  };
  /// y = Activation(x w1ᵀ) w2ᵀ
  template <class Activation, class T>
  static void network(Names names, const FeedForward<T>& f, Stream stream) {
    T* hidden = first_product.get<T>(f.rows * f.d_ff, stream);
    const Product<T> first{names.first, f.x, f.w1, hidden, f.rows, f.d_ff, f.d_model};
    if (!activated_at_once<V, Activation>(first, stream)) {
      V::template multiply<T>(first, stream);                    // step: product with w1
      activate<V, Activation>(hidden, f.rows * f.d_ff, stream);  // step: activation
    }
    // step: product with w2
    V::template multiply<T>(
        {names.second, hidden, f.w2, f.y, f.rows, f.d_model, f.d_ff, f.residual}, stream);
  }
};

}  // namespace

template <class V, class T>
void feed_forward(const FeedForward<T>& f, Stream stream) {
  f.w3 != nullptr ? Networks<V>::swiglu(f, stream) : Networks<V>::gelu(f, stream);
}

#define PRENORM_FEED_FORWARDS(T)                                       \
  template void feed_forward<V1>(const FeedForward<T>&, Stream);       \
  template void feed_forward<Launched>(const FeedForward<T>&, Stream); \
  template void feed_forward<BatchInvariant>(const FeedForward<T>&, Stream);
PRENORM_FEED_FORWARDS(double)
PRENORM_FEED_FORWARDS(float)
PRENORM_FEED_FORWARDS(float16)
PRENORM_FEED_FORWARDS(bfloat16)
#undef PRENORM_FEED_FORWARDS

PRENORM_CUDA_EXPORT(glu, Networks<V1>::glu, Networks<Launched>::glu)
PRENORM_CUDA_VARIANT(glu, v2, Networks<V2>::glu)
PRENORM_CUDA_VARIANT(glu, batch_invariant, Networks<BatchInvariant>::glu)
PRENORM_CUDA_VARIANT(glu, bf16x6, Networks<Bf16x6>::glu)
PRENORM_CUDA_EXPORT(ffn_relu, Networks<V1>::ffn_relu, Networks<Launched>::ffn_relu)
PRENORM_CUDA_VARIANT(ffn_relu, v2, Networks<V2>::ffn_relu)
PRENORM_CUDA_VARIANT(ffn_relu, batch_invariant, Networks<BatchInvariant>::ffn_relu)
PRENORM_CUDA_VARIANT(ffn_relu, bf16x6, Networks<Bf16x6>::ffn_relu)
PRENORM_CUDA_EXPORT(ffn_silu, Networks<V1>::ffn_silu, Networks<Launched>::ffn_silu)
PRENORM_CUDA_VARIANT(ffn_silu, v2, Networks<V2>::ffn_silu)
PRENORM_CUDA_VARIANT(ffn_silu, batch_invariant, Networks<BatchInvariant>::ffn_silu)
PRENORM_CUDA_VARIANT(ffn_silu, bf16x6, Networks<Bf16x6>::ffn_silu)
PRENORM_CUDA_EXPORT(ffn_gelu, Networks<V1>::ffn_gelu, Networks<Launched>::ffn_gelu)
PRENORM_CUDA_VARIANT(ffn_gelu, v2, Networks<V2>::ffn_gelu)
PRENORM_CUDA_VARIANT(ffn_gelu, batch_invariant, Networks<BatchInvariant>::ffn_gelu)
PRENORM_CUDA_VARIANT(ffn_gelu, bf16x6, Networks<Bf16x6>::ffn_gelu)
PRENORM_CUDA_EXPORT(ffn_swiglu, Networks<V1>::ffn_swiglu, Networks<Launched>::ffn_swiglu)
PRENORM_CUDA_VARIANT(ffn_swiglu, v2, Networks<V2>::ffn_swiglu)
PRENORM_CUDA_VARIANT(ffn_swiglu, batch_invariant, Networks<BatchInvariant>::ffn_swiglu)
PRENORM_CUDA_VARIANT(ffn_swiglu, bf16x6, Networks<Bf16x6>::ffn_swiglu)

}  // namespace prenorm::cuda
