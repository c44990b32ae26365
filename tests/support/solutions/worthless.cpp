// Solutions of every problem that must earn nothing, a variant each: zeros, ones, refusals, outputs
// left alone, calls that never end, and no implementation.
#include <cstdint>
#include <cstring>
#include <prenorm/prenorm.hpp>
#include <unistd.h>

namespace {

std::size_t bytes_of(const DLTensor& tensor) {
  std::size_t count = (tensor.dtype.bits * tensor.dtype.lanes + 7u) / 8u;
  for (int axis = 0; axis < tensor.ndim; ++axis) {
    count *= static_cast<std::size_t>(tensor.shape[axis]);
  }
  return count;
}

int fill(const prenorm_call* call, int byte) {
  for (int i = 0; i < call->num_outputs; ++i) {
    std::memset(call->outputs[i]->data, byte, bytes_of(*call->outputs[i]));
  }
  return 0;
}

int zeros(const prenorm_call* call) { return fill(call, 0); }
int constant(const prenorm_call* call) { return fill(call, 0x3c); }
int refuses(const prenorm_call*) { return 1; }
int nothing(const prenorm_call*) { return 0; }
int not_implemented(const prenorm_call*) { return PRENORM_NOT_IMPLEMENTED; }
[[noreturn]] int hangs(const prenorm_call*) {
  for (;;) ::pause();
}

}  // namespace

PRENORM_SOLUTION(kDLCPU)

#define VARIANT(problem, variant)                                                       \
  extern "C" __attribute__((visibility("default"))) int prenorm_##problem##__##variant( \
      const prenorm_call* call) {                                                       \
    return variant(call);                                                               \
  }
#define PROBLEM(problem)            \
  VARIANT(problem, zeros)           \
  VARIANT(problem, constant)        \
  VARIANT(problem, refuses)         \
  VARIANT(problem, nothing)         \
  VARIANT(problem, not_implemented) \
  VARIANT(problem, hangs)

PROBLEM(linear)
PROBLEM(embedding)
PROBLEM(rmsnorm)
PROBLEM(relu)
PROBLEM(silu)
PROBLEM(gelu)
PROBLEM(glu)
PROBLEM(ffn_relu)
PROBLEM(ffn_silu)
PROBLEM(ffn_gelu)
PROBLEM(ffn_swiglu)
PROBLEM(rope)
PROBLEM(softmax)
PROBLEM(scaled_dot_product_attention)
PROBLEM(multihead_self_attention)
PROBLEM(multihead_self_attention_with_rope)
PROBLEM(multihead_self_attention_fused_qkv)
PROBLEM(transformer_block)
PROBLEM(transformer_block_post_norm)
PROBLEM(transformer_block_gelu)
