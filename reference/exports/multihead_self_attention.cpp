#include "multihead_self_attention.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(room::linear)

PRENORM_EXPORT(multihead_self_attention, room::multihead_self_attention)
PRENORM_EXPORT(multihead_self_attention_with_rope, room::multihead_self_attention_with_rope)
PRENORM_EXPORT(multihead_self_attention_fused_qkv, room::multihead_self_attention_fused_qkv)
