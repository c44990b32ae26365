#include "rmsnorm.hpp"

namespace prenorm::mistakes::rmsnorm {

EXPORT_MISTAKE(rmsnorm, no_eps)
EXPORT_MISTAKE(rmsnorm, eps_fixed)
EXPORT_MISTAKE(rmsnorm, eps_fixed_at_1e_6)
EXPORT_MISTAKE(rmsnorm, eps_at_least_1e_6)
EXPORT_MISTAKE(rmsnorm, eps_0_is_default)
EXPORT_MISTAKE(rmsnorm, eps_outside_root)
EXPORT_MISTAKE(rmsnorm, eps_inside_sum)
EXPORT_MISTAKE(rmsnorm, eps_added_to_x_over_rms)
EXPORT_MISTAKE(rmsnorm, eps_as_floor)
EXPORT_MISTAKE(rmsnorm, sum_for_mean)
EXPORT_MISTAKE(rmsnorm, divided_by_variance_unbiased)
EXPORT_MISTAKE(rmsnorm, no_root)
EXPORT_MISTAKE(rmsnorm, multiplied_by_rms)
EXPORT_MISTAKE(rmsnorm, norm_applied_twice)
EXPORT_MISTAKE(rmsnorm, mean_of_absolutes)
EXPORT_MISTAKE(rmsnorm, mean_subtracted)
EXPORT_MISTAKE(rmsnorm, no_gain)
EXPORT_MISTAKE(rmsnorm, gain_one_plus_weight)
EXPORT_MISTAKE(rmsnorm, gain_before_mean)
EXPORT_MISTAKE(rmsnorm, wrong_axis)
EXPORT_MISTAKE(rmsnorm, mean_over_all)
EXPORT_MISTAKE(rmsnorm, not_widened)
EXPORT_MISTAKE(rmsnorm, rounded_before_gain)
EXPORT_MISTAKE(rmsnorm, root_in_t)
EXPORT_MISTAKE(rmsnorm, sums_in_t)
EXPORT_MISTAKE(rmsnorm, first_1024_rows)

}  // namespace prenorm::mistakes::rmsnorm
