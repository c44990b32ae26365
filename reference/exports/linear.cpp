#include "linear.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(linear, room::linear)
