#include "linear.hpp"

using namespace prenorm::mistakes::linear;

PRENORM_COMPILED_IN_PLAIN(linear)

EXPORT_MISTAKE_APART(linear__not_transposed, not_transposed)
EXPORT_MISTAKE_APART(linear__sums_in_t, sums_in_t)
EXPORT_MISTAKE_APART(linear__tiles_added_in_t, tiles_added_in_t)
EXPORT_MISTAKE_APART(linear__products_in_t, products_in_t)
EXPORT_MISTAKE_APART(linear__zeros_skipped, zeros_skipped)
EXPORT_MISTAKE_APART(linear__first_1024_terms, first_1024_terms)
EXPORT_MISTAKE_APART(linear__one_tile_of_rows, one_tile_of_rows)
EXPORT_MISTAKE_APART(linear__subnormals_flushed, subnormals_flushed)
