#include "explain/laws_file.hpp"

#include "base/text.hpp"
#include "base/toml_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <sstream>

namespace prenorm::harness {
namespace {

std::string text_of(const toml::node& node) {
  if (const auto text = node.value<std::string>()) return *text;
  if (node.is_integer()) return std::to_string(*node.value<std::int64_t>());
  return fmt::format("{}", node.value_or(0.0));
}

Words list_of(const toml::node_view<const toml::node>& node) {
  Words words;
  if (!node.is_array()) return words;
  for (const toml::node& each : *node.as_array()) words.push_back(text_of(each));
  return words;
}

Setting setting_of(const toml::node_view<const toml::node>& node) {
  Setting setting;
  if (!node.is_table()) return setting;
  for (const auto& [key, value] : *node.as_table()) setting[std::string(key)] = text_of(value);
  return setting;
}

std::map<std::string, Words> lists_in(const toml::node_view<const toml::node>& node) {
  std::map<std::string, Words> lists;
  if (!node.is_table()) return lists;
  for (const auto& [key, names] : *node.as_table()) {
    lists[std::string(key)] = list_of(toml::node_view<const toml::node>(names));
  }
  return lists;
}

/// A table's entries in the order of the file; none where there is no such table.
template <class T>
std::vector<T> each_of(const toml::node_view<const toml::node>& node,
                       T (*make)(const std::string&, const toml::node_view<const toml::node>&)) {
  std::vector<std::pair<std::string, const toml::node*>> entries;
  if (node.is_table()) {
    for (const auto& [name, value] : *node.as_table())
      entries.emplace_back(std::string(name), &value);
  }
  std::ranges::sort(entries, {}, [](const auto& each) { return each.second->source().begin.line; });
  std::vector<T> all;
  for (const auto& [name, value] : entries) {
    all.push_back(make(name, toml::node_view<const toml::node>(*value)));
  }
  return all;
}

Law law_of(const std::string& name, const toml::node_view<const toml::node>& node) {
  const auto text = [&](const char* key) { return node[key].value_or<std::string>(""); };
  return {name,
          text("says"),
          text("breach"),
          list_of(node["terms"]),
          setting_of(node["at"]),
          setting_of(node["change"]),
          node["then"] ? text_of(*node["then"].node()) : ""};
}

Probe probe_of(const std::string& where, const toml::node_view<const toml::node>& node) {
  return {where, list_of(node["terms"]), setting_of(node["at"])};
}

std::vector<Laws> read_laws() {
  std::vector<Laws> all;
  std::vector<fs::path> files;
  std::error_code no_folder;
  for (const auto& entry :
       fs::directory_iterator(home() / "share" / "prenorm" / "laws", no_folder)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    const toml::table table = read_toml(file);
    const toml::node& whole = table;
    const toml::node_view<const toml::node> root(whole);
    all.push_back({list_of(root["problems"]), lists_in(root["only"]), lists_in(root["parts"]),
                   setting_of(root["terms"]), setting_of(root["base"]),
                   each_of(root["law"], law_of), each_of(root["right_where"], probe_of),
                   each_of(root["wrong_where"], probe_of)});
  }
  return all;
}

}  // namespace

Words split_words(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

const Laws* laws_for(const std::string& problem) {
  static const std::vector<Laws> all = read_laws();
  const auto found = std::ranges::find_if(all, [&](const Laws& laws) {
    return std::ranges::find(laws.problems, problem) != laws.problems.end();
  });
  return found == all.end() ? nullptr : &*found;
}

std::string look_at(const Laws& laws, const std::string& problem, const Words& terms) {
  Words texts;
  for (const std::string& term : terms) {
    const auto only = laws.only.find(term);
    if (only != laws.only.end() && std::ranges::find(only->second, problem) == only->second.end()) {
      continue;
    }
    const auto found = laws.terms.find(term);
    texts.push_back(found == laws.terms.end() ? term : found->second);
  }
  if (texts.size() > 1) texts.back().insert(0, "or ");
  return "Look at " + joined(texts, "; ") + ".";
}

}  // namespace prenorm::harness
