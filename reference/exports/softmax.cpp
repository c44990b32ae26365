#include "../softmax.hpp"

using namespace prenorm;

PRENORM_EXPORT(softmax, reference::softmax)
