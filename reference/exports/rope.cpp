#include "rope.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(rope, room::rope)

PRENORM_EXPORT_FIELD_FORMS(rope)
