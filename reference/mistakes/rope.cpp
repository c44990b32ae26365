#include "rope.hpp"

using namespace prenorm::mistakes::rope;

EXPORT_MISTAKE(rope__halves, halves)
EXPORT_MISTAKE(rope__turned_the_other_way, turned_the_other_way)
EXPORT_MISTAKE(rope__position_plus_one, position_plus_one)
EXPORT_MISTAKE(rope__exponent_k_over_d, exponent_k_over_d)
EXPORT_MISTAKE(rope__positions_ignored, positions_ignored)
EXPORT_MISTAKE(rope__float32_angles, float32_angles)
EXPORT_MISTAKE(rope__table_in_t, table_in_t)
EXPORT_MISTAKE(rope__products_in_t, products_in_t)
EXPORT_MISTAKE(rope__theta_fixed, theta_fixed)
EXPORT_MISTAKE(rope__theta_whole, theta_whole)
EXPORT_MISTAKE(rope__exponent_over_d_minus_2, exponent_over_d_minus_2)
EXPORT_MISTAKE(rope__frequencies_in_t, frequencies_in_t)
EXPORT_MISTAKE(rope__nan_fills_the_row, nan_fills_the_row)
