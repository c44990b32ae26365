#include "activations.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(relu, room::relu)
PRENORM_EXPORT(silu, room::silu)
PRENORM_EXPORT(gelu, room::gelu)

PRENORM_EXPORT_FIELD_FORMS(gelu)
