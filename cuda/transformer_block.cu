// The Transformer block on the GPU: pre-norm, the post-norm contrast, and the GELU edition.
// Equations, shapes and errors: reference/transformer_block.hpp. Its parts: rmsnorm.cu,
// multihead_self_attention.cu, feed_forward.cu.
//
//   v1               the reference's steps, each by its first version; sums by an own kernel
//   v2               launched versions; a product adds the residual, rounded once  <- launched
//   batch_invariant  v2, but a sequence has the same bits alone and in any batch (linear.cu)
//
// Counts of block, bfloat16: 2 sequences of 64 (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1        18   15.9 (1.51)    8.24 (2.39)    1915       5.58           -         0         0
//   v2        12   2.64 (2.44)    3.57 (3.08)    6.55       3.78        1.01       844      1728
//
// The gain of each step has not been measured on a device yet.
#include "export.cuh"
#include "launch.cuh"
#include "transformer_block.cuh"
#include "types.cuh"
#include "versions.cuh"
#include "workspace.cuh"

// The kernels of v2, in this order and no others. "attention" and its neighbours are those of
// multihead_self_attention.cu:
//
//   transformer_block            rmsnorm, three products, rope_v3, attention, product + x,
//                                rmsnorm, product with w1, product with w3, gate_v3, product + y
//   transformer_block_post_norm  three products, rope_v3, attention, product + x, rmsnorm,
//                                product with w1, product with w3, gate_v3, product + y, rmsnorm
//   transformer_block_gelu       rmsnorm, three products, attention, product + x,
//                                rmsnorm, product with w1, activation_v2, product + y
//
// Where product v5 does it (feed_forward.cu), one kernel takes the place of the products with w1
// and w3 and gate_v3, or of the product with w1 and activation_v2.
//
// The positions are 0, 1, ..., so none can be out of range, and nothing waits for the device.

namespace prenorm::cuda {
namespace {

Workspace normed_rows("transformer_block: a norm");            // [rows, d_model]
Workspace residual_sums("transformer_block: a residual sum");  // [rows, d_model]
Workspace branches("transformer_block: what is added");        // [rows, d_model]

// ---- the parts, with their residual sums --------------------------------------------------------

/// y = a + b
template <class T>
__global__ void __launch_bounds__(256) add_v1(const T* a, const T* b, T* y, std::int64_t size) {
  const std::int64_t i = global_thread();
  // step: residual sum
  if (i < size) y[i] = narrow<T>(widen(a[i]) + widen(b[i]));
}

template <class T>
void add(const T* a, const T* b, T* y, std::int64_t size, Stream stream) {
  launch({"addition v1", ceil_div(size, 256), 256, stream}, add_v1<T>, a, b, y, size);
}

/// In v1 the branch is computed, and rounded, before it is added to the residual.
template <class V, class T>
void attend(MultiheadSelfAttention<T> m, Stream stream) {
  const View<T> y = m.y;
  const T* residual = m.residual;
  if constexpr (V::step_by_step) {
    m.y = View<T>(branches.get<T>(y.size(), stream), y.shape());
    m.residual = nullptr;
  }
  // step: attention
  multihead<V>(m, stream);
  // step: residual sum
  if constexpr (V::step_by_step) add(residual, m.y.data(), y.data(), y.size(), stream);
}

/// SwiGLU, or GELU where nothing is gated.
template <class V, class T>
void network(FeedForward<T> f, Stream stream) {
  const std::int64_t size = f.rows * f.d_model;
  T* y = f.y;
  const T* residual = f.residual;
  if constexpr (V::step_by_step) {
    f.y = branches.get<T>(size, stream);
    f.residual = nullptr;
  }
  // step: feed-forward
  feed_forward<V>(f, stream);
  // step: residual sum
  if constexpr (V::step_by_step) add(residual, f.y, y, size, stream);
}

}  // namespace

// ---- the blocks ---------------------------------------------------------------------------------

template <class T>
void BlockCall<T>::check() const {
  check_heads(attention(nullptr, nullptr, nullptr));
  if (x.size() > 0 && d_ff == 0) {
    throw std::invalid_argument("transformer_block: d_ff is 0, there is nothing to sum over");
  }
}

template <class V, class T>
void pre_norm_block(const BlockCall<T>& call, Stream stream) {
  call.check();
  const T* x = call.x.data();
  T* y = call.y.data();
  T* normed = normed_rows.get<T>(call.x.size(), stream);
  // step: first norm
  V::normalize(call.norm(x, call.ln1, normed), stream);
  // step: attention
  attend<V>(call.attention(normed, y, x), stream);
  // step: second norm
  V::normalize(call.norm(y, call.ln2, normed), stream);
  // step: feed-forward
  network<V>(call.network(normed, y, y), stream);
}

#define PRENORM_BLOCKS(T)                                                 \
  template struct BlockCall<T>;                                           \
  template void pre_norm_block<V1, T>(const BlockCall<T>&, Stream);       \
  template void pre_norm_block<Launched, T>(const BlockCall<T>&, Stream); \
  template void pre_norm_block<BatchInvariant, T>(const BlockCall<T>&, Stream);
PRENORM_BLOCKS(double)
PRENORM_BLOCKS(float)
PRENORM_BLOCKS(float16)
PRENORM_BLOCKS(bfloat16)
#undef PRENORM_BLOCKS

namespace {

template <class V>
struct PreNorm {
  template <class T>
  static void run(const BlockCall<T>& call, Stream stream) {
    pre_norm_block<V>(call, stream);
  }
};

/// normed = norm(x + attention(x)); y = norm(normed + network(normed))
template <class V>
struct PostNorm {
  template <class T>
  static void run(const BlockCall<T>& call, Stream stream) {
    call.check();
    const T* x = call.x.data();
    T* normed = normed_rows.get<T>(call.x.size(), stream);
    T* sum = residual_sums.get<T>(call.x.size(), stream);
    // step: attention
    attend<V>(call.attention(x, sum, x), stream);
    // step: first norm
    V::normalize(call.norm(sum, call.ln1, normed), stream);
    // step: feed-forward
    network<V>(call.network(normed, sum, normed), stream);
    // step: second norm
    V::normalize(call.norm(sum, call.ln2, call.y.data()), stream);
  }
};

// ---- the problems -------------------------------------------------------------------------------

/// Order: PreNorm or PostNorm.
template <class Order>
struct Block {
  template <class T>
  static void swiglu(View<const T> x, View<const T> ln1, View<const T> w_q, View<const T> w_k,
                     View<const T> w_v, View<const T> w_o, View<const T> ln2, View<const T> w1,
                     View<const T> w2, View<const T> w3, std::int64_t num_heads, double theta,
                     std::int64_t max_seq_len, double eps, Stream stream, View<T> y) {
    const HeadRotation rope{std::nullopt, theta, max_seq_len};
    Order::run(
        BlockCall<T>{x, ln1.data(), w_q.data(), w_k.data(), w_v.data(), w_o.data(), ln2.data(),
                     w1.data(), w2.data(), w3.data(), y, w1.shape(0), num_heads, rope, eps},
        stream);
  }

  template <class T>
  static void gelu(View<const T> x, View<const T> ln1, View<const T> w_q, View<const T> w_k,
                   View<const T> w_v, View<const T> w_o, View<const T> ln2, View<const T> w1,
                   View<const T> w2, std::int64_t num_heads, double eps, Stream stream, View<T> y) {
    Order::run(
        BlockCall<T>{x, ln1.data(), w_q.data(), w_k.data(), w_v.data(), w_o.data(), ln2.data(),
                     w1.data(), w2.data(), nullptr, y, w1.shape(0), num_heads, std::nullopt, eps},
        stream);
  }
};

}  // namespace

PRENORM_CUDA_EXPORT(transformer_block, Block<PreNorm<V1>>::swiglu, Block<PreNorm<Launched>>::swiglu)
PRENORM_CUDA_VARIANT(transformer_block, batch_invariant, Block<PreNorm<BatchInvariant>>::swiglu)
PRENORM_CUDA_EXPORT(transformer_block_post_norm, Block<PostNorm<V1>>::swiglu,
                    Block<PostNorm<Launched>>::swiglu)
PRENORM_CUDA_VARIANT(transformer_block_post_norm, batch_invariant,
                     Block<PostNorm<BatchInvariant>>::swiglu)
PRENORM_CUDA_EXPORT(transformer_block_gelu, Block<PreNorm<V1>>::gelu,
                    Block<PreNorm<Launched>>::gelu)
PRENORM_CUDA_VARIANT(transformer_block_gelu, batch_invariant, Block<PreNorm<BatchInvariant>>::gelu)

}  // namespace prenorm::cuda
