#include "class/similarity.hpp"

#include "base/text.hpp"
#include "grade/snapshot.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace prenorm::harness {
namespace {

constexpr std::size_t tokens_of_a_run = 20, runs_of_a_window = 13;
// No source that a person wrote exceeds these.
constexpr std::size_t most_bytes_of_source = 1u << 20, most_marks_of_source = 20'000,
                      most_marks = 200'000;
constexpr std::size_t fewest_marks = 8;  // below, two share an idiom
constexpr std::size_t fewest_of_a_class = 8;
constexpr std::size_t most_files_named = 3;

/// Words of the language. What is none of them is a name.
const std::unordered_set<std::string_view>& keywords(bool python) {
  static const std::unordered_set<std::string_view> of_python{
      "and",    "as",   "assert", "async",  "await",  "break",  "case",    "class",    "continue",
      "def",    "del",  "elif",   "else",   "except", "False",  "finally", "for",      "from",
      "global", "if",   "import", "in",     "is",     "lambda", "None",    "nonlocal", "not",
      "or",     "pass", "raise",  "return", "True",   "try",    "while",   "with",     "yield"};
  static const std::unordered_set<std::string_view> of_cpp{
      "auto",      "bool",      "break",     "case",     "catch",   "char",     "class",
      "const",     "constexpr", "continue",  "delete",   "do",      "double",   "else",
      "enum",      "false",     "float",     "for",      "goto",    "if",       "inline",
      "int",       "long",      "namespace", "new",      "nullptr", "operator", "private",
      "protected", "public",    "return",    "short",    "signed",  "sizeof",   "static",
      "struct",    "switch",    "template",  "this",     "throw",   "true",     "try",
      "typedef",   "typename",  "union",     "unsigned", "using",   "virtual",  "void",
      "while"};
  return python ? of_python : of_cpp;
}

bool is_word(char c) {
  return is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
}

std::uint64_t mixed(std::uint64_t digest, std::uint64_t value) {
  digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
  return digest ^ (digest >> 29);
}

/// The number that stands for a word of the language.
std::uint64_t number_of_word(std::string_view word) {
  std::uint64_t digest = 0;
  for (const char c : word) digest = mixed(digest, static_cast<unsigned char>(c));
  return digest;
}

/// Goes through a source token by token.
class Tokens {
 public:
  Tokens(std::string_view text, bool python) : text_(text), python_(python) {}

  std::vector<std::uint64_t> read() {
    std::vector<std::uint64_t> tokens;
    while (!text_.empty()) {
      const char c = text_.front();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\') {
        text_.remove_prefix(1);
      } else if (begins_comment()) {
        continue;
      } else if (c == '"' || c == '\'') {
        skip_text(c);
        tokens.push_back('"');
      } else if (is_word(c)) {
        tokens.push_back(word());
      } else {
        tokens.push_back(static_cast<unsigned char>(c));
        text_.remove_prefix(1);
      }
    }
    return tokens;
  }

 private:
  /// Passes over a comment, if one begins here.
  bool begins_comment() {
    if (python_ ? text_.starts_with('#') : text_.starts_with("//")) {
      skip_to("\n");
    } else if (!python_ && text_.starts_with("/*")) {
      text_.remove_prefix(2);
      skip_to("*/");
    } else if (python_ && (text_.starts_with("\"\"\"") || text_.starts_with("'''"))) {
      const std::string_view quotes = text_.substr(0, 3);  // a docstring, most of all
      text_.remove_prefix(3);
      skip_to(quotes);
    } else {
      return false;
    }
    return true;
  }

  /// With what it goes up to.
  void skip_to(std::string_view end) {
    const std::size_t at = text_.find(end);
    text_.remove_prefix(at == text_.npos ? text_.size() : at + end.size());
  }

  /// In quotes, up to the line's end at most.
  void skip_text(char quote) {
    std::size_t at = 1;
    while (at < text_.size() && text_[at] != quote && text_[at] != '\n') {
      at += text_[at] == '\\' ? 2 : 1;
    }
    text_.remove_prefix(std::min(at + 1, text_.size()));
  }

  std::uint64_t word() {
    const bool number = is_digit(text_.front());
    std::size_t size = 1;
    // 1.5e-3 is a number; a.b are two names.
    while (size < text_.size() && (is_word(text_[size]) || (number && text_[size] == '.'))) ++size;
    const std::string_view word = text_.substr(0, size);
    text_.remove_prefix(size);
    if (number) return '0';
    return keywords(python_).contains(word) ? number_of_word(word) : 'a';
  }

  std::string_view text_;
  bool python_;
};

using Mark = Fingerprints::Mark;

/// By digest; of two that are the same the first.
void sort(std::vector<Mark>& marks) {
  std::ranges::stable_sort(marks, {}, &Mark::digest);
  const auto same = std::ranges::unique(marks, {}, &Mark::digest);
  marks.erase(same.begin(), same.end());
}

/// Digests that say nothing of who wrote them.
std::unordered_set<std::uint64_t> common_digests(const std::vector<Fingerprints>& submissions,
                                                 const std::vector<Fingerprints>& given) {
  std::unordered_set<std::uint64_t> common;
  for (const Fingerprints& each : given) {
    for (const Mark& mark : each.marks) common.insert(mark.digest);
  }
  if (submissions.size() < fewest_of_a_class) return common;
  std::unordered_map<std::uint64_t, std::size_t> counts;
  for (const Fingerprints& each : submissions) {
    for (const Mark& mark : each.marks) ++counts[mark.digest];
  }
  for (const auto& [digest, count] : counts) {
    if (2 * count > submissions.size()) common.insert(digest);
  }
  return common;
}

/// How many marks each two share, the one of the smaller number first.
std::vector<std::vector<std::uint32_t>> shared_marks(const std::vector<Fingerprints>& submissions) {
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> who;
  std::vector<std::vector<std::uint32_t>> shared;
  for (std::uint32_t i = 0; i < submissions.size(); ++i) {
    shared.emplace_back(submissions.size() - i);
    for (const Mark& mark : submissions[i].marks) who[mark.digest].push_back(i);
  }
  for (const auto& [digest, those] : who) {
    for (std::size_t a = 0; a < those.size(); ++a) {
      for (std::size_t b = a + 1; b < those.size(); ++b) ++shared[those[a]][those[b] - those[a]];
    }
  }
  return shared;
}

/// The pairs of files that share the most marks.
std::vector<std::pair<std::string, std::string>> files_of_both(const Fingerprints& one,
                                                               const Fingerprints& other) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> counts;
  auto there = other.marks.begin();
  for (const Mark& mark : one.marks) {
    while (there != other.marks.end() && there->digest < mark.digest) ++there;
    if (there == other.marks.end()) break;
    if (there->digest == mark.digest) ++counts[{mark.file, there->file}];
  }
  std::vector<std::pair<std::size_t, std::pair<std::uint32_t, std::uint32_t>>> sorted;
  for (const auto& [files, count] : counts) sorted.emplace_back(count, files);
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& each) { return each.first; });
  std::vector<std::pair<std::string, std::string>> named;
  for (const auto& [count, files] : sorted) {
    if (named.size() == most_files_named) break;
    named.emplace_back(one.files[files.first], other.files[files.second]);
  }
  return named;
}

}  // namespace

bool is_source(const fs::path& name) {
  constexpr std::array<std::string_view, 10> endings{".py", ".c",   ".cc",  ".cpp", ".cxx",
                                                     ".h",  ".hpp", ".hxx", ".cu",  ".cuh"};
  return std::ranges::find(endings, lowered(name.extension().string())) != endings.end();
}

void add_source(Fingerprints& marks, const std::string& file, std::string_view text) {
  const bool python = lowered(fs::path(file).extension().string()) == ".py";
  const std::vector<std::uint64_t> tokens = Tokens(text, python).read();
  const auto number = static_cast<std::uint32_t>(marks.files.size());
  marks.files.push_back(file);
  std::vector<std::uint64_t> digests;
  for (std::size_t i = 0; i + tokens_of_a_run <= tokens.size(); ++i) {
    std::uint64_t digest = 0;
    for (std::size_t k = 0; k < tokens_of_a_run; ++k) digest = mixed(digest, tokens[i + k]);
    digests.push_back(digest);
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto begin = digests.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end =
        begin + static_cast<std::ptrdiff_t>(std::min(runs_of_a_window, digests.size() - i));
    const std::uint64_t least = *std::min_element(begin, end);
    if (marks.marks.empty() || marks.marks.back().digest != least) {
      marks.marks.push_back({least, number});
    }
    if (end == digests.end()) break;
  }
}

Fingerprints fingerprints_of(const std::string& submission, const fs::path& path) {
  Fingerprints marks{submission, {}, {}, false};
  const auto wanted = [&](const fs::path& name) {
    if (is_source(name)) return true;
    marks.no_sources.insert(printable(name.extension().string(), 20));
    return false;
  };
  read_snapshot(path, most_bytes_of_source + 1, wanted,  // one more tells that there is more
                [&](const fs::path& name, const std::string& text) {
                  const bool is_full = marks.marks.size() >= most_marks;
                  marks.is_cut = marks.is_cut || is_full || text.size() > most_bytes_of_source;
                  if (is_full) return;
                  const std::size_t before = marks.marks.size();
                  add_source(marks, printable(name.string(), 200), text);
                  const std::size_t most = std::min(most_marks, before + most_marks_of_source);
                  marks.is_cut = marks.is_cut || marks.marks.size() > most;
                  marks.marks.resize(std::min(marks.marks.size(), most));
                });
  return marks;
}

Likenesses alike(std::vector<Fingerprints> submissions, const std::vector<Fingerprints>& given,
                 double least) {
  for (Fingerprints& each : submissions) sort(each.marks);
  const std::unordered_set<std::uint64_t> common = common_digests(submissions, given);
  for (Fingerprints& each : submissions) {
    std::erase_if(each.marks, [&](const Mark& mark) { return common.contains(mark.digest); });
  }
  const auto shared = shared_marks(submissions);
  Likenesses found;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    if (submissions[i].marks.size() < fewest_marks)
      found.too_short.push_back(submissions[i].submission);
    for (std::size_t k = i + 1; k < submissions.size(); ++k) {
      const Fingerprints &one = submissions[i], &other = submissions[k];
      const std::size_t count = shared[i][k - i];
      if (count < fewest_marks) continue;
      const double share = static_cast<double>(count) /
                           static_cast<double>(std::min(one.marks.size(), other.marks.size()));
      if (share < least) continue;
      found.pairs.push_back(
          {one.submission, other.submission, share, count, files_of_both(one, other)});
    }
  }
  std::ranges::stable_sort(found.pairs, std::ranges::greater{}, &Alike::share);
  return found;
}

}  // namespace prenorm::harness
