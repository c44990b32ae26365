// What `prenorm gradebook` hands out: pages for students, grades for a learning platform, and a
// list of submissions that are alike.
#include "base/digest.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "class/roster.hpp"
#include "class/similarity.hpp"
#include "cli/gradebook.hpp"
#include "grade/submission.hpp"
#include "grade/report_parts.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace prenorm::harness {
namespace {

/// Whether a file may be called so on every system, as it stands.
bool is_plain(char c) {
  constexpr std::string_view others = "-. +,=@";
  return is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80 ||
         others.find(c) != std::string_view::npos;
}

/// A file's name for a student, whatever they are called: what no file may be called is _, and
/// then, or where the name is long or was written otherwise, a piece of the name's digest tells
/// them apart.
std::string file_stem(const std::string& name) {
  constexpr std::size_t longest = 200;
  std::string stem;
  for (const char c : name) stem += is_plain(c) ? c : '_';
  if (stem.size() > longest) {
    std::size_t end = longest;
    while ((static_cast<unsigned char>(stem[end]) & 0xc0) == 0x80) --end;
    stem.resize(end);
  }
  for (const char c : {'.', '-', ' ', '+', '=', '@'}) {
    if (stem.starts_with(c)) stem.front() = '_';
  }
  if (stem.ends_with('.') || stem.ends_with(' ')) stem.back() = '_';
  if (stem == name && lowered(stem) == stem) return stem;
  // Some systems take capitals for small letters.
  return stem + "-" + Digest().add(name).hex().substr(0, 8);
}

/// A path of a file as a link in a page that lies in that folder.
std::string link_from(const fs::path& folder, const fs::path& file) {
  std::string link;
  for (const char c : fs::proximate(file, folder).generic_string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (is_plain(c) && c != ' ' && byte < 0x80) || c == '/';
    link += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return link;
}

/// Names after a word, of which a terminal shows some; a line, or empty.
std::string listed(const std::string& what, const std::vector<std::string>& names) {
  return names.empty() ? "" : what + ": " + printable(joined(names, "; "), 4000) + "\n";
}

}  // namespace

Grading seen(const Gradebook& book, const std::string& name) {
  return with_set_points(book.grading(name), book.set_points(name));
}

void hand_out(const Gradebook& book, const GradebookOptions& options, Overview& class_) {
  const fs::path folder = options.feedback;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw UsageError("cannot make the folder " + folder.string() +
                     (error ? ": " + error.message() : ""));
  }
  // Of standard output, or where there is no page of the class: from here.
  fs::path from = fs::path(options.html).parent_path();
  if (from.empty()) from = ".";
  Progress progress;
  std::size_t done = 0;
  std::vector<std::string> without, stale;
  std::set<fs::path> written;
  for (OverviewRow& row : class_.rows) {
    if (!row.graded) {
      without.push_back(row.submission);
      continue;
    }
    const fs::path page = folder / (file_stem(row.submission) + ".html");
    row.page = link_from(from, page);
    if (!written.insert(page.filename()).second) continue;  // of students who work together
    progress.show(fmt::format("[{}/{}] {}", ++done, class_.rows.size(), row.submission));
    write_text(page.string(), grade_html(seen(book, row.submission)));
  }
  progress.clear();
  if (options.report_on_output()) return;
  for (const fs::directory_entry& each : fs::directory_iterator(folder, error)) {
    const fs::path name = each.path().filename();
    if (name.extension() != ".html" || written.contains(name)) continue;
    if (fs::weakly_canonical(each.path()) != fs::weakly_canonical(options.html)) {  // the class's
      stale.push_back(name.string());
    }
  }
  std::ranges::sort(stale);
  print(counted(done, "page") + " in " + printable(folder.string()) + "\n");
  if (!without.empty()) print("no page, as nothing is graded: " + joined(without) + "\n");
  if (!stale.empty())
    print("not written now, of an earlier time: " + printable(joined(stale)) + "\n");
}

int list_similar(const GradebookOptions& options) {
  const Gradebook book(options.file, Gradebook::Access::read);
  std::vector<Fingerprints> submissions, given;
  std::vector<std::string> unread, cut, kinds;
  std::map<std::string, std::size_t> no_sources;  // submissions with files of that ending
  Progress progress;
  for (const auto& [name, entry] : book.entries()) {
    progress.show("reading " + name);
    try {
      Fingerprints marks = fingerprints_of(name, submission_file(entry.path));
      for (const std::string& ending : marks.no_sources) ++no_sources[ending];
      if (marks.is_cut) cut.push_back(name);
      if (marks.files.empty()) {
        unread.push_back(name + " (no sources)");
      } else {
        submissions.push_back(std::move(marks));
      }
    } catch (const std::exception&) {
      unread.push_back(name + " (not at " + printable(entry.path, 200) + ")");
    }
  }
  for (const std::string& path : options.given_out) {
    try {
      given.push_back(fingerprints_of(path, path));
      if (given.back().files.empty()) throw std::invalid_argument("no sources in it");
    } catch (const std::exception& error) {
      throw UsageError("--given " + path + ": " + error.what());
    }
  }
  progress.clear();
  const auto [pairs, too_short] = alike(submissions, given, options.share / 100);
  for (const std::string& name : too_short)
    unread.push_back(name + " (too little code of its own)");
  for (const auto& [ending, count] : no_sources) {
    kinds.push_back((ending.empty() ? "without an ending" : ending) + " of " +
                    counted(count, "submission"));
  }
  print(fmt::format("{}, {} that share {} % or more of the smaller one's code\n",
                    counted(submissions.size(), "submission"), counted(pairs.size(), "pair"),
                    points_text(options.share)));
  Table table;
  table.head = {"share", "submissions", "", "files that share the most"};
  for (const Alike& pair : pairs) {
    std::vector<std::string> files;
    for (const auto& [one, other] : pair.files) {
      files.push_back(one == other ? one : one + " and " + other);
    }
    table.rows.push_back({{fmt::format("{:3.0f} %", 100 * pair.share), Tone::strong},
                          {printable(pair.one, 60)},
                          {printable(pair.other, 60)},
                          {joined(files)}});
  }
  if (!pairs.empty()) {
    print("\n" + render(table, wants_colour(options.no_color), 0) +
          "\nThis is not a verdict: some tasks have few solutions. Read both.\n");
  }
  print(listed("not compared", unread));
  print(listed("files not compared, as they are no sources", kinds));
  print(listed("compared in part, as it is too long", cut));
  return 0;
}

void require_whole(const Overview& class_) {
  std::vector<std::string> names;
  for (const OverviewRow& row : class_.rows) {
    if (lacks_cases(row)) names.push_back(row.called());
  }
  if (names.empty()) return;
  throw UsageError("not graded whole: " + printable(joined(names), 1000) +
                   "; go on with: " + printable(class_.go_on, 4000) +
                   "; or export the points so far with --incomplete");
}

int fill_export(const GradebookOptions& options, const Overview& class_) {
  const std::optional<std::string> text = read_whole(options.fill);
  if (!text) throw UsageError("cannot read " + options.fill);
  std::error_code ignored;
  if (fs::equivalent(options.fill, options.out, ignored)) {
    throw UsageError("--out " + options.out + " is the export itself; wanted another file");
  }
  Filled filled;
  try {
    filled = fill_platform_export(*text, options.column, class_);
  } catch (const std::invalid_argument& error) {
    throw UsageError(options.fill + ", " + error.what());
  }
  write_text(options.out, filled.text);
  say_written(options.out, options);
  const std::string lines =
      fmt::format("{} in the column '{}' of {}'s export\n", counted(filled.grades, "grade"),
                  printable(filled.column), filled.platform) +
      (filled.note.empty() ? "" : "note: " + filled.note + "\n") +
      listed("not graded, left as they were", filled.ungraded) +
      listed("nothing handed in, left as they were", filled.excused) +
      listed("in the export, but matching none, or several, in the gradebook", filled.unknown) +
      listed("in the gradebook, and not in the export", filled.missing);
  options.report_on_output() ? fmt::print(stderr, "{}", lines) : print(lines);
  return filled.complete() ? 0 : 1;
}

}  // namespace prenorm::harness
