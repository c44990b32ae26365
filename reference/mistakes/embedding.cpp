#include "embedding.hpp"

using namespace prenorm::mistakes::embedding;

PRENORM_COMPILED_IN_PLAIN(embedding)

EXPORT_MISTAKE(embedding__id_plus_one, id_plus_one)
