#include "grade/rubric.hpp"

#include "base/paths.hpp"
#include "base/text.hpp"
#include "base/toml_file.hpp"

#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

namespace prenorm::harness {
namespace {

using Words = std::vector<std::string>;

constexpr std::int64_t most_shares = 1000;
constexpr double most_points = 1e6;
constexpr double most_tolerance = 1e-2;
constexpr double most_times = 100;
constexpr std::size_t longest_word = 80;

fs::path shipped_folder() { return home() / "share" / "prenorm" / "fixtures" / "rubrics"; }

bool is_adapters(const std::string& stem) { return stem.starts_with("adapters"); }

/// One table of the file, with what a complaint about it says: "item 'rmsnorm'".
class Reader {
 public:
  Reader(const toml::table& table, const fs::path& file, std::string where)
      : table_(table), file_(file), where_(std::move(where)) {}

  [[noreturn]] void refuse(const std::string& what) const { refuse(table_, what); }

  [[noreturn]] void refuse(const toml::node& at, const std::string& what) const {
    const auto line = at.source().begin.line;
    throw std::invalid_argument(file_.string() + (line > 0 ? ":" + std::to_string(line) : "") +
                                ": " + (where_.empty() ? "" : where_ + ": ") + what);
  }

  void only(const Words& keys) const {
    for (const auto& [key, value] : table_) {
      const std::string word(key.str());
      if (std::ranges::find(keys, word) != keys.end()) continue;
      refuse(value, "no key '" + printable(word) + "' is known here" + did_you_mean(word, keys));
    }
  }

  std::string text(const std::string& key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return "";
    if (!node->is_string()) refuse(*node, key + " must be a text");
    return node->as_string()->get();
  }

  /// A text of one line that is there and not empty.
  std::string name(const std::string& key) const {
    const std::string value = text(key);
    if (value.empty()) refuse("needs a " + key);
    if (value.size() > longest_word || printable(value) != value) {
      refuse(key + " must be one line of up to " + std::to_string(longest_word) + " bytes");
    }
    return value;
  }

  Words words(const std::string& key) const {
    const toml::node* node = table_.get(key);
    Words all;
    if (node == nullptr) return all;
    const std::string wanted = key + " must be a list of texts that are not empty";
    if (!node->is_array()) refuse(*node, wanted);
    for (const toml::node& each : *node->as_array()) {
      if (!each.is_string() || each.as_string()->get().empty()) refuse(*node, wanted);
      all.push_back(each.as_string()->get());
    }
    return all;
  }

  bool flag(const std::string& key, bool otherwise) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return otherwise;
    if (!node->is_boolean()) refuse(*node, key + " must be true or false");
    return node->as_boolean()->get();
  }

  std::int64_t share() const {
    const toml::node* node = table_.get("share");
    if (node == nullptr) return 1;
    const std::int64_t value = node->is_integer() ? node->as_integer()->get() : 0;
    if (value < 1 || value > most_shares) {
      refuse(*node, "share must be an integer from 1 to " + std::to_string(most_shares));
    }
    return value;
  }

  /// A number above 0, up to `most`; 0 without the key.
  double number(const std::string& key, double most, const std::string& wanted) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return 0;
    const double value = node->value<double>().value_or(NAN);
    if (!node->is_number() || !(value > 0 && value <= most)) {
      refuse(*node, key + " must be " + wanted);
    }
    return value;
  }

  /// The tables of [[key]].
  std::vector<const toml::table*> tables(const std::string& key) const {
    const toml::node* node = table_.get(key);
    std::vector<const toml::table*> all;
    if (node == nullptr) return all;
    if (!node->is_array_of_tables())
      refuse(*node, "write each of its " + key + " as [[" + key + "]]");
    for (const toml::node& each : *node->as_array()) all.push_back(each.as_table());
    return all;
  }

 private:
  const toml::table& table_;
  const fs::path& file_;
  std::string where_;
};

RubricGroup read_group(const toml::table& table, const fs::path& file, const std::string& where) {
  const auto begin = [&where](const std::string& what) {
    return where.empty() ? what : where + ", " + what;
  };
  RubricGroup group;
  group.name = Reader(table, file, begin("a group")).name("name");
  const Reader reader(table, file, begin("group '" + group.name + "'"));
  reader.only({"name", "share", "hidden", "problems", "dtypes", "cases", "except", "errors",
               "deterministic", "within", "accepts"});
  group.share = reader.share();
  group.hidden = reader.flag("hidden", true);
  group.problems = reader.words("problems");
  group.dtypes = reader.words("dtypes");
  group.cases = reader.words("cases");
  group.except = reader.words("except");
  group.errors = reader.flag("errors", false);
  group.deterministic = reader.flag("deterministic", false);
  const std::string from_1 = fmt::format("a number from 1 to {}", most_times);
  group.within = reader.number("within", most_times, from_1);
  if (group.within > 0 && group.within < 1) reader.refuse("within must be " + from_1);
  group.accepts = reader.words("accepts");
  for (const std::string& mistake : group.accepts) {
    if (std::ranges::count(mistake, '/') != 1) {
      reader.refuse("accepts must name known mistakes as PROBLEM/MISTAKE, not '" +
                    printable(mistake) + "'");
    }
  }
  const Words floating{"float64", "float32", "float16", "bfloat16"};
  for (const std::string& dtype : group.dtypes) {
    if (std::ranges::find(floating, dtype) != floating.end()) continue;
    reader.refuse("no dtype '" + printable(dtype) + "': " + joined(floating) +
                  did_you_mean(dtype, floating));
  }
  return group;
}

std::vector<RubricGroup> read_groups(const Reader& of, const fs::path& file,
                                     const std::string& where) {
  std::vector<RubricGroup> groups;
  for (const toml::table* table : of.tables("groups")) {
    RubricGroup group = read_group(*table, file, where);
    if (std::ranges::find(groups, group.name, &RubricGroup::name) != groups.end()) {
      of.refuse(*table, "two groups are called '" + group.name + "'");
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

RubricItem read_item(const toml::table& table, const fs::path& file,
                     const std::vector<RubricGroup>& groups) {
  RubricItem item;
  item.name = Reader(table, file, "an item").name("name");
  const std::string where = "item '" + item.name + "'";
  const Reader reader(table, file, where);
  reader.only({"name", "problems", "points", "atol", "rtol", "groups"});
  const std::string wanted = fmt::format("a number above 0, up to {}", most_tolerance);
  item.atol = reader.number("atol", most_tolerance, wanted);
  item.rtol = reader.number("rtol", most_tolerance, wanted);
  item.points = reader.number("points", most_points, "a number above 0");
  if (item.points == 0) reader.refuse("needs points");
  item.problems = reader.words("problems");
  if (item.problems.empty()) reader.refuse("needs problems");
  item.groups = read_groups(reader, file, where);
  item.own_groups = !item.groups.empty();
  if (!item.own_groups) item.groups = groups;
  if (item.groups.empty()) reader.refuse("has no groups, nor has the rubric any for all items");
  for (const RubricGroup& group : item.groups) {
    for (const std::string& pattern : group.problems) {
      if (!item.own_groups || std::ranges::any_of(item.problems, [&](const std::string& problem) {
            return matches(pattern, problem);
          })) {
        continue;
      }
      reader.refuse("group '" + group.name + "': no problem '" + printable(pattern) +
                    "' in the item" + did_you_mean(pattern, item.problems));
    }
  }
  return item;
}

/// Names of items, and problems, occur once.
void require_unique(const Rubric& rubric, const RubricItem& item, const Reader& reader) {
  for (const RubricItem& other : rubric.items) {
    if (other.name == item.name) reader.refuse("two items are called '" + item.name + "'");
    for (const std::string& problem : item.problems) {
      if (!other.has(problem)) continue;
      reader.refuse("problem '" + printable(problem) + "' is in the items '" + other.name +
                    "' and '" + item.name + "'");
    }
  }
}

fs::path find_rubric(const std::string& word) {
  std::error_code ignored;
  if (word.find('/') != std::string::npos || word.ends_with(".toml")) {
    if (fs::is_regular_file(word, ignored)) return word;
    throw std::invalid_argument("no rubric file " + word);
  }
  const fs::path shipped = shipped_folder() / (word + ".toml");
  if (!word.empty() && !is_adapters(word) && fs::is_regular_file(shipped, ignored)) return shipped;
  const Words names = shipped_rubrics();
  throw std::invalid_argument("no rubric '" + word + "'" + did_you_mean(word, names) +
                              ": shipped are " + (names.empty() ? "none" : joined(names)) +
                              "; or give the path of a file (x.toml)");
}

}  // namespace

bool RubricGroup::has(const std::string& problem, const Case& info) const {
  if (info.error && !errors) return false;
  if (!selects(problems, problem)) return false;
  const std::string dtype(harness::name(info.dtype()));
  if (!dtypes.empty() && std::ranges::find(dtypes, dtype) == dtypes.end()) return false;
  return selects(cases, info.name) && (except.empty() || !selects(except, info.name));
}

bool is_taken(const Rubric& rubric, DType given, DType wanted) {
  return given == wanted ||
         (rubric.round_float64 && given == DType::float64 && wanted == DType::float32);
}

Rubric read_rubric(const std::string& word) {
  Rubric rubric;
  rubric.path = find_rubric(word);
  rubric.name = rubric.path.stem();
  const toml::table table = read_toml(rubric.path);
  const Reader reader(table, rubric.path, "");
  reader.only({"title", "adapters", "forbidden", "forbidden_calls_earn", "round_float64",
               "inputs_may_change", "require_kernel", "groups", "items"});
  rubric.title = reader.name("title");
  rubric.adapters = reader.text("adapters");
  if (fs::path(rubric.adapters).filename() != fs::path(rubric.adapters)) {
    reader.refuse("adapters must be the name of a file in the rubric's folder");
  }
  for (const std::string& pattern : reader.words("forbidden")) {
    const bool is_call = pattern.starts_with("torch.");
    (is_call ? rubric.forbidden_calls : rubric.forbidden).push_back(pattern);
  }
  rubric.forbidden_calls_earn = reader.flag("forbidden_calls_earn", true);
  rubric.round_float64 = reader.flag("round_float64", false);
  rubric.inputs_may_change = reader.flag("inputs_may_change", false);
  rubric.require_kernel = reader.flag("require_kernel", false);
  const std::vector<RubricGroup> groups = read_groups(reader, rubric.path, "");
  for (const toml::table* each : reader.tables("items")) {
    RubricItem item = read_item(*each, rubric.path, groups);
    require_unique(rubric, item, Reader(*each, rubric.path, ""));
    rubric.items.push_back(std::move(item));
  }
  if (rubric.items.empty()) reader.refuse("needs [[items]]");
  return rubric;
}

std::vector<std::string> shipped_rubrics() {
  Words names;
  std::error_code no_folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(shipped_folder(), no_folder)) {
    const std::string stem = entry.path().stem();
    if (entry.path().extension() == ".toml" && !is_adapters(stem)) names.push_back(stem);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace prenorm::harness
