#include "embedding.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(embedding, room::embedding)
