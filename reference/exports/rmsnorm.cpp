#include "rmsnorm.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(rmsnorm, room::rmsnorm)
