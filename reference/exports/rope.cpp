#include "../rope.hpp"

using namespace prenorm;

PRENORM_EXPORT(rope, reference::rope)
