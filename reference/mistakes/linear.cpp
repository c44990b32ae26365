#include "linear.hpp"

namespace prenorm::mistakes::linear {

EXPORT_MISTAKE(linear, not_transposed)
EXPORT_MISTAKE(linear, sums_in_t)
EXPORT_MISTAKE(linear, tiles_added_in_t)
EXPORT_MISTAKE(linear, products_in_t)
EXPORT_MISTAKE(linear, zeros_skipped)
EXPORT_MISTAKE(linear, first_1024_terms)
EXPORT_MISTAKE(linear, one_tile_of_rows)
EXPORT_MISTAKE(linear, subnormals_flushed)

}  // namespace prenorm::mistakes::linear
