// A course's students: a CSV file with a line each.
#pragma once

#include "class/gradebook.hpp"

namespace prenorm::harness {

/// Reads columns `submission` (the name of a file or folder), `name`, `id` and `email`, in any
/// order and case; also first_name and last_name, student_id, e-mail. Without a column `submission`
/// the id is that. Texts are put on one line.
///
/// Throws UsageError, which names the file and the line: no such column, a row with more or fewer
/// cells than the head, no submission in it, two students with one submission, wrong quotes, no
/// UTF-8.
std::vector<Student> read_roster(const std::filesystem::path& file);

}  // namespace prenorm::harness
