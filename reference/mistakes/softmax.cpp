#include "softmax.hpp"

namespace prenorm::mistakes::softmax {

EXPORT_MISTAKE(softmax, no_maximum)
EXPORT_MISTAKE(softmax, wrong_axis)
EXPORT_MISTAKE(softmax, over_last_axis)
EXPORT_MISTAKE(softmax, over_first_axis)
EXPORT_MISTAKE(softmax, global_sum)
EXPORT_MISTAKE(softmax, global_sum_after_maxima)
EXPORT_MISTAKE(softmax, one_added_to_sum)
EXPORT_MISTAKE(softmax, one_added_to_sum_of_e_x)
EXPORT_MISTAKE(softmax, logarithm)
EXPORT_MISTAKE(softmax, log_sum_exp_subtracted)
EXPORT_MISTAKE(softmax, exponentials_in_t)
EXPORT_MISTAKE(softmax, differences_in_t)
EXPORT_MISTAKE(softmax, sums_in_t)
EXPORT_MISTAKE(softmax, maximum_from_minus_1e4)
EXPORT_MISTAKE(softmax, maximum_of_first_tile)
EXPORT_MISTAKE(softmax, one_maximum_for_all)
EXPORT_MISTAKE(softmax, sum_not_rescaled)

}  // namespace prenorm::mistakes::softmax
