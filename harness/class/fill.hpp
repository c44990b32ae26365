// Grades for a learning platform: written into a copy of the table that it exports.
#pragma once

#include "class/class_overview.hpp"

namespace prenorm::harness {

struct Filled {
  std::string platform, column;  // "Canvas", "Assignment 1 (12345)"
  std::string text;              // the table with the totals of the overview in that column
  std::size_t grades = 0;        // that were written
  /// Whose cell stays as it is: who has no grade yet; who handed nothing in and has a word there,
  /// like EX; who is in the table and has not one entry in the gradebook, but none or several; who
  /// is in the gradebook alone.
  std::vector<std::string> ungraded, excused, unknown, missing;
  std::string note;  // on the points; empty: there is nothing to say

  bool complete() const {
    return ungraded.empty() && excused.empty() && unknown.empty() && missing.empty();
  }
};

/// Students are found by what identifies them, never by the order of rows. `column` may be empty
/// where only one can be meant. Throws std::invalid_argument for a text that is no such table, and
/// for another column.
Filled fill(const std::string& csv, const std::string& column, const Overview& overview);

}  // namespace prenorm::harness
