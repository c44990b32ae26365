// Which version of each part a composed problem is made of: feed_forward.cu,
// multihead_self_attention.cu, transformer_block.cu and transformer_lm.cu are written once, for a V
// of these.
#pragma once

#include "attention.cuh"
#include "embedding.cuh"
#include "linear_bf16x6.cuh"
#include "product.cuh"
#include "rmsnorm.cuh"
#include "rope.cuh"

namespace prenorm::cuda {

/// The first version of each part.
struct V1 {
  static constexpr bool step_by_step = true;  // a kernel for each step of the reference
  template <class T>
  static void look_up(const Lookup<T>& lookup, Stream stream) {
    lookup_v1(lookup, stream);
  }
  template <class T>
  static void multiply(const Product<T>& product, Stream stream) {
    product_v1(product, stream);
  }
  template <class T>
  static void normalize(const Norm<T>& norm, Stream stream) {
    norm_v1(norm, stream);
  }
  template <class T>
  static void rotate(const RopeHeads<T>& heads, Stream stream) {
    rope_heads_v1(heads, stream);
  }
  template <class T>
  static void attend(const Attention<T>& attention, Stream stream) {
    attention_v1(attention, stream);
  }
};

/// The launched version of each part.
struct Launched {
  static constexpr bool step_by_step = false;
  template <class T>
  static void look_up(const Lookup<T>& lookup, Stream stream) {
    lookup_launched(lookup, stream);
  }
  template <class T>
  static void multiply(const Product<T>& product, Stream stream) {
    product_launched(product, stream);
  }
  template <class T>
  static void normalize(const Norm<T>& norm, Stream stream) {
    norm_launched(norm, stream);
  }
  template <class T>
  static void rotate(const RopeHeads<T>& heads, Stream stream) {
    rope_heads_launched(heads, stream);
  }
  template <class T>
  static void attend(const Attention<T>& attention, Stream stream) {
    attention_launched(attention, stream);
  }
};

/// The launched version of each part, except that products are product_batch_invariant: a row has
/// the same bits however many others there are.
struct BatchInvariant : Launched {
  template <class T>
  static void multiply(const Product<T>& product, Stream stream) {
    product_batch_invariant(product, stream);
  }
};

/// The launched version of each part, except that products are product_bf16x6: of float32 only, on
/// tensor cores.
struct Bf16x6 : Launched {
  template <class T>
  static void multiply(const Product<T>& product, Stream stream) {
    product_bf16x6(product, stream);
  }
};

}  // namespace prenorm::cuda
