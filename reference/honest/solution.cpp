// Exports the honest variants: prenorm_<problem>__<variant>. All of them must pass every case.
#include "../activations.hpp"
#include "../embedding.hpp"
#include "../feed_forward.hpp"
#include "../linear.hpp"
#include "../rmsnorm.hpp"
#include "../rope.hpp"
#include "sums.hpp"
#include "variants.hpp"

PRENORM_SOLUTION(kDLCPU)

using namespace prenorm;
using namespace prenorm::honest;
using prenorm::reference::SumOrder;
using prenorm::reference::Widening;

// The reference's text with textbook sums, in each order.
#define EXPORT_ORDER(problem, order)                                                  \
  extern "C" PRENORM_API int prenorm_##problem##__##order(const prenorm_call* call) { \
    return with_order(SumOrder::order, prenorm_##problem##__ascending, call);         \
  }
#define EXPORT_ORDERS(problem)                             \
  PRENORM_EXPORT(problem##__ascending, reference::problem) \
  EXPORT_ORDER(problem, reversed)                          \
  EXPORT_ORDER(problem, pairwise)                          \
  EXPORT_ORDER(problem, kahan)                             \
  EXPORT_ORDER(problem, fma)

EXPORT_ORDERS(linear)
EXPORT_ORDERS(rmsnorm)
EXPORT_ORDERS(glu)
EXPORT_ORDERS(ffn_relu)
EXPORT_ORDERS(ffn_silu)
EXPORT_ORDERS(ffn_gelu)
EXPORT_ORDERS(ffn_swiglu)
EXPORT_ORDERS(softmax)
EXPORT_ORDERS(scaled_dot_product_attention)
EXPORT_ORDERS(multihead_self_attention)
EXPORT_ORDERS(multihead_self_attention_with_rope)
EXPORT_ORDERS(multihead_self_attention_fused_qkv)
EXPORT_ORDERS(transformer_block)
EXPORT_ORDERS(transformer_block_post_norm)
EXPORT_ORDERS(transformer_block_gelu)

// Nothing between rounded to T: float32 and float64 inside.
PRENORM_EXPORT_FUNCTION(linear__float32_inside, Widening<&reference::linear<float>>::call)
PRENORM_EXPORT_FUNCTION(linear__float64_inside, Widening<&reference::linear<double>>::call)
PRENORM_EXPORT_FUNCTION(embedding__float32_inside, Widening<&reference::embedding<float>>::call)
PRENORM_EXPORT_FUNCTION(embedding__float64_inside, Widening<&reference::embedding<double>>::call)
PRENORM_EXPORT_FUNCTION(rmsnorm__float32_inside, Widening<&reference::rmsnorm<float>>::call)
PRENORM_EXPORT_FUNCTION(rmsnorm__float64_inside, Widening<&reference::rmsnorm<double>>::call)
PRENORM_EXPORT_FUNCTION(relu__float32_inside, Widening<&reference::relu<float>>::call)
PRENORM_EXPORT_FUNCTION(relu__float64_inside, Widening<&reference::relu<double>>::call)
PRENORM_EXPORT_FUNCTION(silu__float32_inside, Widening<&reference::silu<float>>::call)
PRENORM_EXPORT_FUNCTION(silu__float64_inside, Widening<&reference::silu<double>>::call)
PRENORM_EXPORT_FUNCTION(gelu__float32_inside, Widening<&reference::gelu<float>>::call)
PRENORM_EXPORT_FUNCTION(gelu__float64_inside, Widening<&reference::gelu<double>>::call)
PRENORM_EXPORT_FUNCTION(glu__float32_inside, Widening<&reference::glu<float>>::call)
PRENORM_EXPORT_FUNCTION(glu__float64_inside, Widening<&reference::glu<double>>::call)
PRENORM_EXPORT_FUNCTION(ffn_relu__float32_inside, Widening<&reference::ffn_relu<float>>::call)
PRENORM_EXPORT_FUNCTION(ffn_relu__float64_inside, Widening<&reference::ffn_relu<double>>::call)
PRENORM_EXPORT_FUNCTION(ffn_silu__float32_inside, Widening<&reference::ffn_silu<float>>::call)
PRENORM_EXPORT_FUNCTION(ffn_silu__float64_inside, Widening<&reference::ffn_silu<double>>::call)
PRENORM_EXPORT_FUNCTION(ffn_gelu__float32_inside, Widening<&reference::ffn_gelu<float>>::call)
PRENORM_EXPORT_FUNCTION(ffn_gelu__float64_inside, Widening<&reference::ffn_gelu<double>>::call)
PRENORM_EXPORT_FUNCTION(ffn_swiglu__float32_inside, Widening<&reference::ffn_swiglu<float>>::call)
PRENORM_EXPORT_FUNCTION(ffn_swiglu__float64_inside, Widening<&reference::ffn_swiglu<double>>::call)
PRENORM_EXPORT_FUNCTION(rope__float32_inside, Widening<&reference::rope<float>>::call)
PRENORM_EXPORT_FUNCTION(rope__float64_inside, Widening<&reference::rope<double>>::call)
PRENORM_EXPORT_FUNCTION(softmax__float32_inside, Widening<&reference::softmax<float>>::call)
PRENORM_EXPORT_FUNCTION(softmax__float64_inside, Widening<&reference::softmax<double>>::call)
PRENORM_EXPORT_FUNCTION(scaled_dot_product_attention__float32_inside,
                        Widening<&reference::scaled_dot_product_attention<float>>::call)
PRENORM_EXPORT_FUNCTION(scaled_dot_product_attention__float64_inside,
                        Widening<&reference::scaled_dot_product_attention<double>>::call)
PRENORM_EXPORT_FUNCTION(multihead_self_attention__float32_inside,
                        Widening<&reference::multihead_self_attention<float>>::call)
PRENORM_EXPORT_FUNCTION(multihead_self_attention__float64_inside,
                        Widening<&reference::multihead_self_attention<double>>::call)
PRENORM_EXPORT_FUNCTION(multihead_self_attention_with_rope__float32_inside,
                        Widening<&reference::multihead_self_attention_with_rope<float>>::call)
PRENORM_EXPORT_FUNCTION(multihead_self_attention_with_rope__float64_inside,
                        Widening<&reference::multihead_self_attention_with_rope<double>>::call)
PRENORM_EXPORT_FUNCTION(multihead_self_attention_fused_qkv__float32_inside,
                        Widening<&reference::multihead_self_attention_fused_qkv<float>>::call)
PRENORM_EXPORT_FUNCTION(multihead_self_attention_fused_qkv__float64_inside,
                        Widening<&reference::multihead_self_attention_fused_qkv<double>>::call)
PRENORM_EXPORT_FUNCTION(transformer_block__float32_inside,
                        Widening<&reference::transformer_block<float>>::call)
PRENORM_EXPORT_FUNCTION(transformer_block__float64_inside,
                        Widening<&reference::transformer_block<double>>::call)
PRENORM_EXPORT_FUNCTION(transformer_block_post_norm__float32_inside,
                        Widening<&reference::transformer_block_post_norm<float>>::call)
PRENORM_EXPORT_FUNCTION(transformer_block_post_norm__float64_inside,
                        Widening<&reference::transformer_block_post_norm<double>>::call)
PRENORM_EXPORT_FUNCTION(transformer_block_gelu__float32_inside,
                        Widening<&reference::transformer_block_gelu<float>>::call)
PRENORM_EXPORT_FUNCTION(transformer_block_gelu__float64_inside,
                        Widening<&reference::transformer_block_gelu<double>>::call)

// Variants of our own, written for the type that computes and told T.
#define EXPORT_VARIANT(name, ...)                                                            \
  extern "C" PRENORM_API int prenorm_##name(const prenorm_call* call) {                      \
    return detail::run<double, float, float16, bfloat16>(                                    \
        call, []<class T>(std::type_identity<T>) { return &Widening<&__VA_ARGS__>::call; }); \
  }

EXPORT_VARIANT(rmsnorm__rsqrt, rmsnorm_rsqrt<T>)
EXPORT_VARIANT(softmax__exp2, softmax_exp2<T>)
EXPORT_VARIANT(softmax__online, softmax_online<T>)

// Attention, and what contains it, with another softmax.
#define EXPORT_SOFTMAXES(problem, function)              \
  EXPORT_VARIANT(problem##__exp2, function<Exp2, T>)     \
  EXPORT_VARIANT(problem##__online, function<Online, T>) \
  EXPORT_VARIANT(problem##__rounded_probabilities, function<RoundedProbabilities, T>)

EXPORT_SOFTMAXES(scaled_dot_product_attention, attention)
EXPORT_SOFTMAXES(multihead_self_attention, multihead)
EXPORT_SOFTMAXES(multihead_self_attention_with_rope, multihead_with_rope)
EXPORT_SOFTMAXES(multihead_self_attention_fused_qkv, multihead_fused_qkv)
EXPORT_SOFTMAXES(transformer_block, block)
