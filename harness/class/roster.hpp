// A course's students: a CSV file with a line each.
#pragma once

#include "class/gradebook.hpp"

#include <set>

namespace prenorm::harness {

struct Roster {
  std::vector<Student> students;
  /// "12 times not understood, as 'X'": of a platform's, which may be in any language; empty: none.
  std::string note;
};

/// Reads a table of the teacher's own, or one that Canvas, Moodle or Gradescope exports.
///
/// One's own has columns `submission` (the name of a file or folder), `name`, `id`, `email` and
/// `submitted` (a time), in any order and case; also first_name and last_name, student_id, e-mail.
/// Without a column `submission` the id is that. Students who work together have the same one. A
/// platform's tells who a student is in several columns: whichever is the name of one of these
/// submissions is taken (class/platform.hpp).
///
/// Texts are put on one line. A letter with an accent may be one character or two (NFC, NFD).
/// Throws UsageError, which names the file and the line: no such column, a row with more or fewer
/// cells than the head, no submission in it, a student twice, wrong quotes, no UTF-8, a time that
/// is none; and where there are submissions and none of them is a student's.
Roster read_roster(const std::filesystem::path& file,
                   const std::set<std::string>& submissions = {});

}  // namespace prenorm::harness
