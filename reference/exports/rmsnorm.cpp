#include "../rmsnorm.hpp"

using namespace prenorm;

PRENORM_EXPORT(rmsnorm, reference::rmsnorm)
