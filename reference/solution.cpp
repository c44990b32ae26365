// The reference as a solution; compiled with PRENORM_TEXTBOOK_SUMS it is `plain`.
#include "activations.hpp"
#include "attention.hpp"
#include "embedding.hpp"
#include "feed_forward.hpp"
#include "linear.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"
#include "rope.hpp"
#include "softmax.hpp"
#include "transformer_block.hpp"

using namespace prenorm;

PRENORM_SOLUTION(kDLCPU)

PRENORM_EXPORT(linear, reference::linear)
PRENORM_EXPORT(embedding, reference::embedding)
PRENORM_EXPORT(rmsnorm, reference::rmsnorm)
PRENORM_EXPORT(relu, reference::relu)
PRENORM_EXPORT(silu, reference::silu)
PRENORM_EXPORT(gelu, reference::gelu)
PRENORM_EXPORT(glu, reference::glu)
PRENORM_EXPORT(ffn_relu, reference::ffn_relu)
PRENORM_EXPORT(ffn_silu, reference::ffn_silu)
PRENORM_EXPORT(ffn_gelu, reference::ffn_gelu)
PRENORM_EXPORT(ffn_swiglu, reference::ffn_swiglu)
PRENORM_EXPORT(rope, reference::rope)
PRENORM_EXPORT(softmax, reference::softmax)
PRENORM_EXPORT(scaled_dot_product_attention, reference::scaled_dot_product_attention)
PRENORM_EXPORT(multihead_self_attention, reference::multihead_self_attention)
PRENORM_EXPORT(multihead_self_attention_with_rope, reference::multihead_self_attention_with_rope)
PRENORM_EXPORT(multihead_self_attention_fused_qkv, reference::multihead_self_attention_fused_qkv)
PRENORM_EXPORT(transformer_block, reference::transformer_block)
PRENORM_EXPORT(transformer_block_post_norm, reference::transformer_block_post_norm)
PRENORM_EXPORT(transformer_block_gelu, reference::transformer_block_gelu)
