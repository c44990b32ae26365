// Causal multi-head self-attention on the GPU: plain, with RoPE, and from one stacked weight.
// Equations, shapes and errors: reference/multihead_self_attention.hpp. Its parts: linear.cu,
// rope.cu, attention.cu.
//
//   v1               the reference's steps, each by its first version
//   v2               one rotation for all heads of q and k; launched versions  <- launched
//   batch_invariant  v2, but a sequence has the same bits alone and in any batch (linear.cu)
//
// Counts of multihead_rope, bfloat16: 2 sequences of 64 (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         9     15 (1.51)     10.8 (2.8)    1627       5.99           -         0         5
//   v2         6          2.53            3.2    4.67       3.33        1.02       284       453
//
// The gain of each step has not been measured on a device yet.
#include "multihead_self_attention.cuh"

#include "export.cuh"
#include "launch.cuh"
#include "types.cuh"
#include "versions.cuh"
#include "workspace.cuh"

// The kernels of v2, in this order and no others. Attention may be more than one (attention.cu),
// and a product is two where cuBLASLt splits its sums, whose parts the second kernel adds:
//
//   multihead_self_attention              three products, attention, product
//   multihead_self_attention_with_rope    three products, rope_v3, attention, product
//   multihead_self_attention_fused_qkv    product, attention, product

namespace prenorm::cuda {
namespace {

Workspace projections("multihead_self_attention: q, k and v");   // [rows, 3 d_model]
Workspace rotated("multihead_self_attention: rotated q and k");  // [rows of y, 2 d_model]
Workspace all_heads("multihead_self_attention: heads");          // [rows of y, d_model]

struct Sizes {
  std::int64_t seq, d_model, num_heads, d_k, x_rows, y_rows;
  std::span<const std::int64_t> x_batch, y_batch;  // y also has those of the positions

  template <class T>
  explicit Sizes(const MultiheadSelfAttention<T>& m)
      : seq(m.x.shape(m.x.dimension() - 2)),
        d_model(m.x.shape().back()),
        num_heads(m.num_heads),
        d_k(d_model / num_heads),
        x_rows(rows_of(m.x)),
        y_rows(rows_of(m.y)),
        x_batch(m.x.shape().first(m.x.dimension() - 2)),
        y_batch(m.y.shape().first(m.y.dimension() - 2)) {}
};

/// q, k or v of all heads: head h is columns h d_k ... (h + 1) d_k - 1.
template <class T>
struct Heads {
  T* data;
  std::int64_t stride;                  // from a row to the next
  std::span<const std::int64_t> batch;  // rows are [batch..., seq]
};
template <class T>
struct Projections {
  Heads<T> q, k, v;
};

// ---- the projections ----------------------------------------------------------------------------

/// [q k v] = x [w_q; w_k; w_v]ᵀ, side by side: each product writes its columns, with the stride of
/// all three. A head is a range of these columns, given by a pointer and strides: nothing is
/// copied. A caller that keeps w_qkv has x read once instead of three times.
template <class V, class T>
Projections<T> project(const MultiheadSelfAttention<T>& m, const Sizes& s, Stream stream) {
  // step: projections
  const std::int64_t width = 3 * s.d_model;
  T* q = projections.get<T>(s.x_rows * width, stream);
  T *k = q + s.d_model, *v = k + s.d_model;
  const auto multiply = [&](const char* name, const T* weight, T* to, std::int64_t columns) {
    V::template multiply<T>({.name = name,
                             .x = m.x.data(),
                             .weight = weight,
                             .y = to,
                             .rows = s.x_rows,
                             .d_out = columns,
                             .d_in = s.d_model,
                             .y_stride = width},
                            stream);
  };
  if (m.w_qkv != nullptr) {
    multiply("multihead_self_attention, product with w_qkv", m.w_qkv, q, width);
  } else {
    multiply("multihead_self_attention, product with w_q", m.w_q, q, s.d_model);
    multiply("multihead_self_attention, product with w_k", m.w_k, k, s.d_model);
    multiply("multihead_self_attention, product with w_v", m.w_v, v, s.d_model);
  }
  return {{q, width, s.x_batch}, {k, width, s.x_batch}, {v, width, s.x_batch}};
}

// ---- RoPE ---------------------------------------------------------------------------------------

/// Rotates `count` heads side by side.
template <class V, class T>
void rotate_heads(const HeadRotation& rope, const Heads<T>& from, const Heads<T>& to,
                  std::int64_t count, const Sizes& s, Stream stream, RangeReport report = {}) {
  // step: rotation
  RopeHeads<T> heads{.x = from.data,
                     .y = to.data,
                     .seq = s.seq,
                     .d_k = s.d_k,
                     .x_stride = from.stride,
                     .y_stride = to.stride,
                     .theta = rope.theta,
                     .max_seq_len = rope.max_seq_len,
                     .report = report};
  std::span<const std::int64_t> positions_batch;
  if (rope.token_positions) {
    heads.token_positions = rope.token_positions->data();
    positions_batch = rope.token_positions->shape().first(rope.token_positions->dimension() - 1);
  }
  heads.append_batch(from.batch, s.seq * from.stride, s.y_batch, s.seq * to.stride,
                     positions_batch);
  // step: rotation, heads
  heads.shared.append(count, {s.d_k, s.d_k});
  V::rotate(heads, stream);
}

/// Rotates q and k in place, or into other memory where the positions have batch axes that q and k
/// do not have.
template <class V, class T>
void rotate(const HeadRotation& rope, Projections<T>& p, const Sizes& s, RangeReport report,
            Stream stream) {
  // step: rotation
  Projections<T> to = p;
  if (s.x_rows != s.y_rows) {
    T* q = rotated.get<T>(s.y_rows * 2 * s.d_model, stream);
    to.q = {q, 2 * s.d_model, s.y_batch};
    to.k = {q + s.d_model, 2 * s.d_model, s.y_batch};
  }
  if constexpr (V::step_by_step) {
    rotate_heads<V>(rope, p.q, to.q, s.num_heads, s, stream, report);
    rotate_heads<V>(rope, p.k, to.k, s.num_heads, s, stream);
  } else {  // the heads of k follow those of q
    rotate_heads<V>(rope, p.q, to.q, 2 * s.num_heads, s, stream, report);
  }
  p = to;
}

// ---- all of it ----------------------------------------------------------------------------------

/// Each head attends causally; y gets them side by side.
template <class V, class T>
void attend(const Projections<T>& p, T* y, const Sizes& s, Stream stream) {
  // step: causal attention
  Attention<T> a{.name = "multihead_self_attention",
                 .q = p.q.data,
                 .k = p.k.data,
                 .v = p.v.data,
                 .y = y,
                 .n = s.seq,
                 .m = s.seq,
                 .d_k = s.d_k,
                 .d_v = s.d_k,
                 .q_stride = p.q.stride,
                 .k_stride = p.k.stride,
                 .v_stride = p.v.stride,
                 .y_stride = s.d_model,
                 .batch = {},
                 .causal = true};
  // step: heads
  const std::size_t axes = s.y_batch.size();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto stride = [&](const Heads<T>& heads) {
      return batch_stride(heads.batch, axis, axes) * s.seq * heads.stride;
    };
    a.batch.append(s.y_batch[axis], {stride(p.q), stride(p.k), stride(p.v),
                                     batch_stride(s.y_batch, axis, axes) * s.seq * s.d_model, 0});
  }
  a.batch.append(s.num_heads, {s.d_k, s.d_k, s.d_k, s.d_k, 0});
  // step: causal attention
  V::attend(a, stream);
}

}  // namespace

template <class T>
void check_heads(const MultiheadSelfAttention<T>& m) {
  const std::int64_t d_model = m.x.shape().back();
  if (m.num_heads <= 0 || d_model % m.num_heads != 0) {
    throw std::invalid_argument("multihead_self_attention: d_model = " + std::to_string(d_model) +
                                " is not divisible by num_heads = " + std::to_string(m.num_heads));
  }
  if (!m.rope) return;
  check_rope(d_model / m.num_heads, m.rope->token_positions.has_value(),
             m.x.shape(m.x.dimension() - 2), m.rope->theta, m.rope->max_seq_len);
}

// Only a call with given positions waits for the device, at its end: for the rotation to say
// whether they are in range. By then the device has all of the call's work, and does not idle.
// While a graph is captured nothing can wait. Positions that are not given are 0, 1, ...: the
// kernel counts, no tensor holds them.
template <class V, class T>
void multihead(const MultiheadSelfAttention<T>& m, Stream stream) {
  check_heads(m);
  const Sizes s(m);
  const PositionCheck check(m.rope ? m.rope->token_positions : std::nullopt,
                            m.rope ? m.rope->max_seq_len : 0, stream);
  if (m.y.size() > 0) {
    // step: projections
    Projections<T> p = project<V>(m, s, stream);
    // step: rotation
    if (m.rope) rotate<V>(*m.rope, p, s, check.report(), stream);
    // step: heads, causal attention
    T* heads = all_heads.get<T>(s.y_rows * s.d_model, stream);
    attend<V>(p, heads, s, stream);
    // step: output projection
    V::template multiply<T>({"multihead_self_attention, product with w_o", heads, m.w_o, m.y.data(),
                             s.y_rows, s.d_model, s.d_model, m.residual},
                            stream);
  }
  check.throw_if_wrong();
}

#define PRENORM_MULTIHEADS(T)                                                  \
  template void check_heads<T>(const MultiheadSelfAttention<T>&);              \
  template void multihead<V1>(const MultiheadSelfAttention<T>&, Stream);       \
  template void multihead<Launched>(const MultiheadSelfAttention<T>&, Stream); \
  template void multihead<BatchInvariant>(const MultiheadSelfAttention<T>&, Stream);
PRENORM_MULTIHEADS(double)
PRENORM_MULTIHEADS(float)
PRENORM_MULTIHEADS(float16)
PRENORM_MULTIHEADS(bfloat16)
#undef PRENORM_MULTIHEADS

// ---- the problems -------------------------------------------------------------------------------

namespace {

template <class V>
struct Multihead {
  template <class T>
  static void plain(View<const T> x, View<const T> w_q, View<const T> w_k, View<const T> w_v,
                    View<const T> w_o, std::int64_t num_heads, Stream stream, View<T> y) {
    multihead<V, T>({x, w_q.data(), w_k.data(), w_v.data(), nullptr, w_o.data(), y, num_heads},
                    stream);
  }

  template <class T>
  static void with_rope(View<const T> x, View<const T> w_q, View<const T> w_k, View<const T> w_v,
                        View<const T> w_o, std::optional<View<const std::int64_t>> token_positions,
                        std::int64_t num_heads, double theta, std::int64_t max_seq_len,
                        Stream stream, View<T> y) {
    multihead<V, T>({x, w_q.data(), w_k.data(), w_v.data(), nullptr, w_o.data(), y, num_heads,
                     HeadRotation{token_positions, theta, max_seq_len}},
                    stream);
  }

  template <class T>
  static void fused_qkv(View<const T> x, View<const T> w_qkv, View<const T> w_o,
                        std::int64_t num_heads, Stream stream, View<T> y) {
    const std::int64_t d_qkv = w_qkv.shape(0), wanted = 3 * w_qkv.shape(1);
    if (d_qkv != wanted) {
      throw std::invalid_argument(
          "multihead_self_attention_fused_qkv: w_qkv must have 3 d_model = " +
          std::to_string(wanted) + " rows, has " + std::to_string(d_qkv));
    }
    multihead<V, T>({x, nullptr, nullptr, nullptr, w_qkv.data(), w_o.data(), y, num_heads}, stream);
  }
};

}  // namespace

PRENORM_CUDA_EXPORT(multihead_self_attention, Multihead<V1>::plain, Multihead<Launched>::plain)
PRENORM_CUDA_VARIANT(multihead_self_attention, batch_invariant, Multihead<BatchInvariant>::plain)
PRENORM_CUDA_EXPORT(multihead_self_attention_with_rope, Multihead<V1>::with_rope,
                    Multihead<Launched>::with_rope)
PRENORM_CUDA_VARIANT(multihead_self_attention_with_rope, batch_invariant,
                     Multihead<BatchInvariant>::with_rope)
PRENORM_CUDA_EXPORT(multihead_self_attention_fused_qkv, Multihead<V1>::fused_qkv,
                    Multihead<Launched>::fused_qkv)
PRENORM_CUDA_VARIANT(multihead_self_attention_fused_qkv, batch_invariant,
                     Multihead<BatchInvariant>::fused_qkv)

}  // namespace prenorm::cuda
