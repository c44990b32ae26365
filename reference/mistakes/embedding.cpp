#include "embedding.hpp"

using namespace prenorm::mistakes::embedding;

PRENORM_COMPILED_IN_PLAIN(embedding)

EXPORT_MISTAKE_APART(embedding__id_plus_one, id_plus_one)
EXPORT_MISTAKE_APART(embedding__ids_in_16_bits, ids_in_16_bits)
EXPORT_MISTAKE_APART(embedding__ids_in_float16, ids_in_float16)
EXPORT_MISTAKE_APART(embedding__subnormals_flushed, subnormals_flushed)
