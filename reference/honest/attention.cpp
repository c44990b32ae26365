#include "attention.hpp"

using namespace prenorm::honest;

ALL_SOFTMAX_INSTANCES(template, prenorm::honest::attention)
EXPORT_SOFTMAXES(scaled_dot_product_attention, attention)
