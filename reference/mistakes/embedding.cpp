#include "embedding.hpp"

PRENORM_COMPILED_IN_PLAIN(embedding)

namespace prenorm::mistakes::embedding {

EXPORT_MISTAKE(embedding, id_plus_one)
EXPORT_MISTAKE(embedding, id_minus_one)
EXPORT_MISTAKE(embedding, ids_in_16_bits)
EXPORT_MISTAKE(embedding, ids_in_float16)
EXPORT_MISTAKE(embedding, subnormals_flushed)

}  // namespace prenorm::mistakes::embedding
