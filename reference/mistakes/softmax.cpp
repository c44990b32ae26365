#include "softmax.hpp"

using namespace prenorm::mistakes::softmax;

EXPORT_MISTAKE(softmax__no_maximum, no_maximum)
EXPORT_MISTAKE(softmax__wrong_axis, wrong_axis)
EXPORT_MISTAKE(softmax__global_sum, global_sum)
EXPORT_MISTAKE(softmax__logarithm, logarithm)
EXPORT_MISTAKE(softmax__exponentials_in_t, exponentials_in_t)
EXPORT_MISTAKE(softmax__differences_in_t, differences_in_t)
EXPORT_MISTAKE(softmax__sums_in_t, sums_in_t)
EXPORT_MISTAKE(softmax__maximum_from_minus_1e4, maximum_from_minus_1e4)
EXPORT_MISTAKE(softmax__maximum_of_first_tile, maximum_of_first_tile)
EXPORT_MISTAKE(softmax__one_maximum_for_all, one_maximum_for_all)
EXPORT_MISTAKE(softmax__sum_not_rescaled, sum_not_rescaled)
