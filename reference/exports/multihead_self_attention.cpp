#include "../multihead_self_attention.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(reference::linear)
PRENORM_COMPILED_ELSEWHERE(reference::rotate_heads)

PRENORM_EXPORT(multihead_self_attention, reference::multihead_self_attention)
PRENORM_EXPORT(multihead_self_attention_with_rope, reference::multihead_self_attention_with_rope)
PRENORM_EXPORT(multihead_self_attention_fused_qkv, reference::multihead_self_attention_fused_qkv)
