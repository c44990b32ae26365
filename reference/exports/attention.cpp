#include "attention.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(scaled_dot_product_attention, room::scaled_dot_product_attention)

PRENORM_EXPORT_FIELD_FORMS(scaled_dot_product_attention)
