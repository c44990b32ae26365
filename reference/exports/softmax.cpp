#include "softmax.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(softmax, room::softmax)
