#include "multihead_self_attention.hpp"

using namespace prenorm;
using namespace prenorm::honest;

PRENORM_COMPILED_IN_PLAIN(linear)
PRENORM_COMPILED_IN_PLAIN(rope)
ALL_SOFTMAX_INSTANCES(extern template, prenorm::honest::attention)

ALL_SOFTMAX_INSTANCES(template, prenorm::honest::multihead_with_rope)
EXPORT_SOFTMAXES(multihead_self_attention, multihead)
EXPORT_SOFTMAXES(multihead_self_attention_with_rope, multihead_with_rope)
EXPORT_SOFTMAXES(multihead_self_attention_fused_qkv, multihead_fused_qkv)
