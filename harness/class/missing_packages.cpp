// One pass over a class before it is graded: which packages its submissions lack.
#include "base/text.hpp"
#include "class/class_run.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace prenorm::harness {
namespace {

/// Of packages, and of submissions, that are named.
constexpr std::size_t most_packages = 30, most_named = 5;

struct Package {
  std::string module, distribution;
  std::size_t submissions = 0;
};

/// The commonest first.
std::vector<Package> count(const ClassImports& imports) {
  std::map<std::string, Package> packages;
  std::map<std::string, std::size_t> own;
  for (const auto& [name, each] : imports) {
    for (const std::string& module : each.own) ++own[module];
    for (const auto& [module, missing] : each.missing) {
      Package& package = packages[module];
      package = {module, missing.distribution, package.submissions + 1};
    }
  }
  std::vector<Package> sorted;
  for (auto& [module, package] : packages) {
    // A module that most have as their own file is not a package: some forgot to hand it in.
    if (own[module] >= package.submissions) package.distribution.clear();
    sorted.push_back(std::move(package));
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Package::submissions);
  return sorted;
}

/// Names come from submissions: only plain names go into a command.
bool is_distribution(const std::string& name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return !name.empty() && name.front() != '-' && name.find_first_not_of(plain) == name.npos;
}

std::string named(std::vector<std::string> words, std::size_t most) {
  const std::size_t all = words.size();
  if (all > most) words.resize(most);
  return joined(words) + (all > most ? fmt::format(" and {} more", all - most) : "");
}

std::string install_line(const std::vector<Package>& packages, const fs::path& python) {
  std::string names;
  for (const Package& package : packages) {
    if (is_distribution(package.distribution)) names += " " + package.distribution;
  }
  if (names.empty()) return "";
  const bool environment = fs::exists(python.parent_path().parent_path() / "pyvenv.cfg");
  return "Read the names, as anybody can publish a package; then install them" +
         (environment ? ": " + shell_word(python.string()) + " -m "
                      : std::string(" in an environment that --python names: ")) +
         "pip install" + names;
}

}  // namespace

std::vector<std::string> missing_packages(const ClassImports& imports, const fs::path& python) {
  std::vector<std::string> lines;
  std::vector<Package> packages = count(imports);
  if (!packages.empty()) {
    const auto lack = [](const auto& each) { return !each.second.missing.empty(); };
    std::vector<std::string> words;
    for (const Package& package : packages) {
      words.push_back(fmt::format("{} ({})", package.module, package.submissions));
    }
    lines.push_back(
        fmt::format("{} of {} import packages that {} does not have, and what uses them fails: {}",
                    std::ranges::count_if(imports, lack), counted(imports.size(), "submission"),
                    python.string(), named(words, most_packages)));
    if (packages.size() > most_packages) packages.resize(most_packages);
    if (std::string line = install_line(packages, python); !line.empty()) {
      lines.push_back(std::move(line));
    }
  }
  std::vector<std::string> unusable;
  for (const auto& [name, each] : imports) {
    if (!each.failure.empty()) unusable.push_back(fmt::format("{} ({})", name, each.failure));
  }
  if (!unusable.empty()) {
    lines.push_back(fmt::format("nothing can be loaded of {}: {}",
                                counted(unusable.size(), "submission"),
                                named(unusable, most_named)));
  }
  return lines;
}

}  // namespace prenorm::harness
