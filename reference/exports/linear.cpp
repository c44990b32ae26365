#include "../linear.hpp"

using namespace prenorm;

PRENORM_EXPORT(linear, reference::linear)
