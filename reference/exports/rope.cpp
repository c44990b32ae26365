#include "../rope.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(rope, reference::rope)
PRENORM_COMPILED_HERE(reference::rotate_heads)
