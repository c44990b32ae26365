#include "rmsnorm.hpp"

using namespace prenorm::mistakes::rmsnorm;

EXPORT_MISTAKE(rmsnorm__no_eps, no_eps)
EXPORT_MISTAKE(rmsnorm__eps_outside_root, eps_outside_root)
EXPORT_MISTAKE(rmsnorm__eps_fixed, eps_fixed)
EXPORT_MISTAKE(rmsnorm__eps_at_least_1e_6, eps_at_least_1e_6)
EXPORT_MISTAKE(rmsnorm__eps_0_is_default, eps_0_is_default)
EXPORT_MISTAKE(rmsnorm__eps_as_floor, eps_as_floor)
EXPORT_MISTAKE(rmsnorm__first_1024_rows, first_1024_rows)
EXPORT_MISTAKE(rmsnorm__sum_for_mean, sum_for_mean)
EXPORT_MISTAKE(rmsnorm__no_root, no_root)
EXPORT_MISTAKE(rmsnorm__mean_subtracted, mean_subtracted)
EXPORT_MISTAKE(rmsnorm__no_gain, no_gain)
EXPORT_MISTAKE(rmsnorm__gain_one_plus_weight, gain_one_plus_weight)
EXPORT_MISTAKE(rmsnorm__wrong_axis, wrong_axis)
EXPORT_MISTAKE(rmsnorm__not_widened, not_widened)
EXPORT_MISTAKE(rmsnorm__rounded_before_gain, rounded_before_gain)
EXPORT_MISTAKE(rmsnorm__root_in_t, root_in_t)
EXPORT_MISTAKE(rmsnorm__sums_in_t, sums_in_t)
