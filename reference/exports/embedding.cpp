#include "../embedding.hpp"

using namespace prenorm;

PRENORM_EXPORT(embedding, reference::embedding)
