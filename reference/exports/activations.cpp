#include "../activations.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(relu, reference::relu)
PRENORM_EXPORT(silu, reference::silu)
PRENORM_EXPORT(gelu, reference::gelu)
