#include "rope.hpp"

namespace prenorm::mistakes::rope {

EXPORT_MISTAKE(rope, halves)
EXPORT_MISTAKE(rope, written_as_halves)
EXPORT_MISTAKE(rope, turned_the_other_way)
EXPORT_MISTAKE(rope, second_sign_flipped)
EXPORT_MISTAKE(rope, sin_and_cos_exchanged)
EXPORT_MISTAKE(rope, position_plus_one)
EXPORT_MISTAKE(rope, positions_ignored)
EXPORT_MISTAKE(rope, exponent_k_over_d)
EXPORT_MISTAKE(rope, pairs_counted_from_1)
EXPORT_MISTAKE(rope, exponent_over_d_minus_2)
EXPORT_MISTAKE(rope, same_angle_for_all_pairs)
EXPORT_MISTAKE(rope, theta_fixed)
EXPORT_MISTAKE(rope, theta_whole)
EXPORT_MISTAKE(rope, float32_angles)
EXPORT_MISTAKE(rope, float32_angles_by_exp_log)
EXPORT_MISTAKE(rope, float32_angles_by_exp_of_product)
EXPORT_MISTAKE(rope, float32_angles_by_quotient)
EXPORT_MISTAKE(rope, float32_angles_by_reciprocal)
EXPORT_MISTAKE(rope, float32_angles_by_negative_power)
EXPORT_MISTAKE(rope, table_in_t)
EXPORT_MISTAKE(rope, products_in_t)
EXPORT_MISTAKE(rope, frequencies_in_t)
EXPORT_MISTAKE(rope, nan_fills_the_row)

}  // namespace prenorm::mistakes::rope
