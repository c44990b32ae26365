// The Transformer block on the GPU: pre-norm, the post-norm contrast, and the GELU edition.
// Equations, shapes and errors: reference/transformer_block.hpp. Its parts: rmsnorm.cu,
// multihead_self_attention.cu, feed_forward.cu.
//
//   v1               the reference's steps, each by its first version; the residual sums by a
//                    kernel of their own
//   v2               each part's launched version; a residual is added by the product before it,
//                    which so reads it once and rounds the sum once      <- launched
//   batch_invariant  v2 with product v2 of linear.cu: a sequence has the same bits alone and inside
//                    a batch (multihead_self_attention.cu says more). Where kernels are emulated v2
//                    gives just this
//
// What each step gives is not yet measured on a device.
//
// The kernels of v2, in this order and no others. "attention" and what surrounds it are those of
// multihead_self_attention.cu:
//
//   transformer_block            rmsnorm, stack_weights, product, rope_v2, attention, product + x,
//                                rmsnorm, product with w1, product with w3, gate_v3, product + y
//   transformer_block_post_norm  stack_weights, product, rope_v2, attention, product + x, rmsnorm,
//                                product with w1, product with w3, gate_v3, product + y, rmsnorm
//   transformer_block_gelu       rmsnorm, stack_weights, product, attention, product + x,
//                                rmsnorm, product with w1, activate_v3, product + y
//
// The positions are 0, 1, ..., so nothing on the device can be wrong, and nothing waits for it.
#include "export.cuh"
#include "feed_forward.cuh"
#include "launch.cuh"
#include "multihead_self_attention.cuh"
#include "product.cuh"
#include "rmsnorm.cuh"
#include "types.cuh"
#include "workspace.cuh"

#include <utility>

namespace prenorm::cuda {
namespace {

Workspace normed_rows("transformer_block: a norm");            // [rows, d_model]
Workspace residual_sums("transformer_block: a residual sum");  // [rows, d_model]
Workspace branches("transformer_block: what is added");        // [rows, d_model]

// ---- what the versions are made of --------------------------------------------------------------

/// y = a + b
template <class T>
__global__ void __launch_bounds__(256) add_v1(const T* a, const T* b, T* y, std::int64_t size) {
  const std::int64_t i = global_thread();
  // step: residual sum
  if (i < size) y[i] = narrow<T>(widen(a[i]) + widen(b[i]));
}

/// v1: what is added to a residual is computed, and rounded, first.
struct V1 {
  template <class T>
  static void normalize(const Norm<T>& norm, Stream stream) {
    norm_v1(norm, stream);
  }
  template <class T>
  static void attend(MultiheadSelfAttention<T> m, Stream stream) {
    const View<T> y = m.y;
    m.y = View<T>(branches.get<T>(y.size(), stream), y.shape());
    const T* residual = std::exchange(m.residual, nullptr);
    // step: attention
    multihead_v1(m, stream);
    // step: residual sum
    add(residual, m.y.data(), y.data(), y.size(), stream);
  }
  /// SwiGLU, or GELU where nothing is gated.
  template <class T>
  static void network(FeedForward<T> f, Stream stream) {
    const std::int64_t size = f.rows * f.d_model;
    T* y = std::exchange(f.y, branches.get<T>(size, stream));
    const T* residual = std::exchange(f.residual, nullptr);
    // step: feed-forward
    f.w3 != nullptr ? ffn_swiglu_v1(f, stream) : ffn_gelu_v1(f, stream);
    // step: residual sum
    add(residual, f.y, y, size, stream);
  }

 private:
  template <class T>
  static void add(const T* a, const T* b, T* y, std::int64_t size, Stream stream) {
    launch({"addition v1", ceil_div(size, 256), 256, stream}, add_v1<T>, a, b, y, size);
  }
};

struct V2 {
  template <class T>
  static void normalize(const Norm<T>& norm, Stream stream) {
    norm_launched(norm, stream);
  }
  template <class T>
  static void attend(const MultiheadSelfAttention<T>& m, Stream stream) {
    // step: attention
    multihead_launched(m, stream);
  }
  template <class T>
  static void network(const FeedForward<T>& f, Stream stream) {
    // step: feed-forward
    f.w3 != nullptr ? ffn_swiglu_launched(f, stream) : ffn_gelu_launched(f, stream);
  }
};

struct BatchInvariant : V2 {
  template <class T>
  static void attend(const MultiheadSelfAttention<T>& m, Stream stream) {
    // step: attention
    multihead_batch_invariant(m, stream);
  }
  template <class T>
  static void network(const FeedForward<T>& f, Stream stream) {
    // step: feed-forward
    f.w3 != nullptr ? ffn_swiglu_batch_invariant(f, stream) : ffn_gelu_batch_invariant(f, stream);
  }
};

// ---- the blocks ---------------------------------------------------------------------------------

/// What a block is called with.
template <class T>
struct Call {
  View<const T> x;  // [..., seq, d_model]
  const T *ln1, *w_q, *w_k, *w_v, *w_o, *ln2, *w1, *w2;
  const T* w3;  // null: GELU
  View<T> y;
  std::int64_t d_ff, num_heads;
  std::optional<HeadRotation> rope;
  double eps;

  std::int64_t rows() const { return rows_of(x); }
  std::int64_t d_model() const { return x.shape().back(); }

  // What the parts take: `to` gets what they make of `of`.
  MultiheadSelfAttention<T> attention(const T* of, T* to, const T* residual) const {
    return {View<const T>(of, x.shape()), w_q,       w_k,  w_v,     nullptr, w_o,
            View<T>(to, x.shape()),       num_heads, rope, residual};  // step: residual sum
  }
  Norm<T> norm(const T* of, const T* gain, T* to) const {
    return {of, gain, to, rows(), d_model(), eps};
  }
  FeedForward<T> network(const T* of, T* to, const T* residual) const {
    return {of, w1, w2, w3, to, rows(), d_model(), d_ff, residual};  // step: residual sum
  }

  /// Whatever would throw later does so before anything is launched.
  void check() const {
    check_heads(attention(nullptr, nullptr, nullptr));
    if (x.size() > 0 && d_ff == 0) {
      throw std::invalid_argument("transformer_block: d_ff is 0, there is nothing to sum over");
    }
  }
};

/// y = x + attention(norm(x)); y = y + network(norm(y))
template <class V, class T>
void pre_norm(const Call<T>& call, Stream stream) {
  call.check();
  const T* x = call.x.data();
  T* y = call.y.data();
  T* normed = normed_rows.get<T>(call.x.size(), stream);
  // step: first norm
  V::normalize(call.norm(x, call.ln1, normed), stream);
  // step: attention
  V::attend(call.attention(normed, y, x), stream);
  // step: second norm
  V::normalize(call.norm(y, call.ln2, normed), stream);
  // step: feed-forward
  V::network(call.network(normed, y, y), stream);
}

/// normed = norm(x + attention(x)); y = norm(normed + network(normed))
template <class V, class T>
void post_norm(const Call<T>& call, Stream stream) {
  call.check();
  const T* x = call.x.data();
  T* normed = normed_rows.get<T>(call.x.size(), stream);
  T* sum = residual_sums.get<T>(call.x.size(), stream);
  // step: attention
  V::attend(call.attention(x, sum, x), stream);
  // step: first norm
  V::normalize(call.norm(sum, call.ln1, normed), stream);
  // step: feed-forward
  V::network(call.network(normed, sum, normed), stream);
  // step: second norm
  V::normalize(call.norm(sum, call.ln2, call.y.data()), stream);
}

// ---- the problems -------------------------------------------------------------------------------

template <class V>
struct Block {
  template <class T>
  static void swiglu(View<const T> x, View<const T> ln1, View<const T> w_q, View<const T> w_k,
                     View<const T> w_v, View<const T> w_o, View<const T> ln2, View<const T> w1,
                     View<const T> w2, View<const T> w3, std::int64_t num_heads, double theta,
                     std::int64_t max_seq_len, double eps, Stream stream, View<T> y) {
    const HeadRotation rope{std::nullopt, theta, max_seq_len};
    pre_norm<V, T>({x, ln1.data(), w_q.data(), w_k.data(), w_v.data(), w_o.data(), ln2.data(),
                    w1.data(), w2.data(), w3.data(), y, w1.shape(0), num_heads, rope, eps},
                   stream);
  }

  template <class T>
  static void swiglu_post_norm(View<const T> x, View<const T> ln1, View<const T> w_q,
                               View<const T> w_k, View<const T> w_v, View<const T> w_o,
                               View<const T> ln2, View<const T> w1, View<const T> w2,
                               View<const T> w3, std::int64_t num_heads, double theta,
                               std::int64_t max_seq_len, double eps, Stream stream, View<T> y) {
    const HeadRotation rope{std::nullopt, theta, max_seq_len};
    post_norm<V, T>({x, ln1.data(), w_q.data(), w_k.data(), w_v.data(), w_o.data(), ln2.data(),
                     w1.data(), w2.data(), w3.data(), y, w1.shape(0), num_heads, rope, eps},
                    stream);
  }

  template <class T>
  static void gelu(View<const T> x, View<const T> ln1, View<const T> w_q, View<const T> w_k,
                   View<const T> w_v, View<const T> w_o, View<const T> ln2, View<const T> w1,
                   View<const T> w2, std::int64_t num_heads, double eps, Stream stream, View<T> y) {
    pre_norm<V, T>({x, ln1.data(), w_q.data(), w_k.data(), w_v.data(), w_o.data(), ln2.data(),
                    w1.data(), w2.data(), nullptr, y, w1.shape(0), num_heads, std::nullopt, eps},
                   stream);
  }
};

}  // namespace

PRENORM_CUDA_EXPORT(transformer_block, Block<V1>::swiglu, Block<V2>::swiglu)
PRENORM_CUDA_VARIANT(transformer_block, batch_invariant, Block<BatchInvariant>::swiglu)
PRENORM_CUDA_EXPORT(transformer_block_post_norm, Block<V1>::swiglu_post_norm,
                    Block<V2>::swiglu_post_norm)
PRENORM_CUDA_VARIANT(transformer_block_post_norm, batch_invariant,
                     Block<BatchInvariant>::swiglu_post_norm)
PRENORM_CUDA_EXPORT(transformer_block_gelu, Block<V1>::gelu, Block<V2>::gelu)
PRENORM_CUDA_VARIANT(transformer_block_gelu, batch_invariant, Block<BatchInvariant>::gelu)

}  // namespace prenorm::cuda
