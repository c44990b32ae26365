// The Transformer language model on the GPU. Equation, shapes and errors:
// reference/transformer_lm.hpp. Its parts: embedding.cu, transformer_block.cu, rmsnorm.cu,
// linear.cu.
//
//   v1               the reference's steps, each by its first version
//   v2               launched versions; every block adds to one stream in place    <- launched
//   batch_invariant  as in transformer_block.cu
//
// Counts of lm, bfloat16: 2 sequences of 64, 2 layers (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1        39   16.1 (1.51)    8.23 (2.34)    1480       3.73           -         0         5
//   v2        27   2.53 (2.37)     3.51 (2.9)    4.89       2.67           1      2200      4101
//
// The gain of each step has not been measured on a device yet.
#include "export.cuh"
#include "transformer_block.cuh"
#include "versions.cuh"
#include "workspace.cuh"

#include <vector>

namespace prenorm::cuda {
namespace {

Workspace residual_stream("transformer_lm: the residual stream");  // [rows, d_model]
Workspace final_rows("transformer_lm: the final norm");            // [rows, d_model]

/// The kernels of v2, in this order: embedding, for each layer those of transformer_block, rmsnorm,
/// product. They are enqueued as one chain. Only then does the host wait, for the first kernel to
/// say whether it has found an id out of range.
template <class V>
struct Model {
  template <class T>
  static void run(View<const std::int64_t> token_ids, View<const T> token_embeddings,
                  View<const T> ln1, View<const T> w_q, View<const T> w_k, View<const T> w_v,
                  View<const T> w_o, View<const T> ln2, View<const T> w1, View<const T> w2,
                  View<const T> w3, View<const T> ln_final, View<const T> lm_head,
                  std::int64_t num_heads, double theta, std::int64_t max_seq_len, double eps,
                  Stream stream, View<T> y) {
    const std::int64_t rows = token_ids.size(), vocab_size = token_embeddings.shape(0);
    const std::int64_t d_model = token_embeddings.shape(1), num_layers = ln1.shape(0);
    T* x = residual_stream.get<T>(rows * d_model, stream);
    std::vector<std::int64_t> shape(token_ids.shape().begin(), token_ids.shape().end());
    shape.push_back(d_model);
    const HeadRotation rope{std::nullopt, theta, max_seq_len};
    const auto layer = [&](std::int64_t i) {
      const auto of = [i](View<const T> stacked) {
        return stacked.data() + i * (stacked.size() / stacked.shape(0));
      };
      return BlockCall<T>{View<const T>(x, shape),
                          of(ln1),
                          of(w_q),
                          of(w_k),
                          of(w_v),
                          of(w_o),
                          of(ln2),
                          of(w1),
                          of(w2),
                          of(w3),
                          View<T>(x, shape),
                          w1.shape(1),
                          num_heads,
                          rope,
                          eps};
    };
    if (num_layers > 0) layer(0).check();  // before anything is enqueued

    const RangeCheck check = check_ids(token_ids, vocab_size, stream);
    // step: embedding
    V::look_up(Lookup<T>{token_ids.data(), token_embeddings.data(), x, rows, vocab_size, d_model,
                         check.report()},
               stream);
    // step: blocks
    for (std::int64_t i = 0; i < num_layers; ++i) pre_norm_block<V>(layer(i), stream);
    // step: final norm
    T* normed = final_rows.get<T>(rows * d_model, stream);
    V::normalize(Norm<T>{x, ln_final.data(), normed, rows, d_model, eps}, stream);
    // step: head
    V::multiply(Product<T>{"transformer_lm, head", normed, lm_head.data(), y.data(), rows,
                           vocab_size, d_model},
                stream);
    check.throw_if_wrong();
  }
};

}  // namespace

PRENORM_CUDA_EXPORT(transformer_lm, Model<V1>::run, Model<Launched>::run)
PRENORM_CUDA_VARIANT(transformer_lm, batch_invariant, Model<BatchInvariant>::run)

}  // namespace prenorm::cuda
