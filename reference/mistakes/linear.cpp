#include "linear.hpp"

using namespace prenorm::mistakes::linear;

PRENORM_COMPILED_IN_PLAIN(linear)

EXPORT_MISTAKE(linear__not_transposed, not_transposed)
EXPORT_MISTAKE(linear__sums_in_t, sums_in_t)
