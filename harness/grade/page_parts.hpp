// What the pages of gradings have in common: one student's, and a class's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// Rules for headings, `.score`, `.bar` with an <i> in it, `.number`, and for pictures: `.axis`,
/// `.grid` and their texts.
std::string_view grade_style();

/// Text from outside, escaped and kept from turning what stands around it; cut after `limit` bytes.
std::string outside(std::string_view text, std::size_t limit = 1000);

/// A text in a picture. `text` is SVG, `more` are further attributes.
std::string svg_label(double x, double y, std::string_view text, std::string_view more = "");

}  // namespace prenorm::harness
