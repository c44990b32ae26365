#include "sandbox/system_calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

namespace prenorm::sandbox {
namespace {

std::string end_of(std::uint32_t action) {
  if (action == allowed) return "allowed";
  if (action == ends) return "ends the process";
  if (action == asks) return "the supervisor decides";
  if (action == fails(0)) return "does nothing";
  if (action == fails(EOPNOTSUPP)) return "EOPNOTSUPP";
  if (action == fails(ENOMEM)) return "ENOMEM";
  return action == fails(EACCES) ? "EACCES" : "EPERM";
}

/// "`clone` (no new namespace), `fcntl` (F_DUPFD, F_GETFD)".
std::string names_in(const std::vector<SystemCall>& calls) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> only;
  for (const SystemCall& call : calls) {
    if (!only.contains(call.name)) order.emplace_back(call.name);
    auto& words = only[call.name];
    const std::string word = call.only;
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) {
      words.push_back(word);
    }
  }
  std::string text;
  for (const std::string& name : order) {
    text += (text.empty() ? "`" : ", `") + name + "`";
    std::string inside;
    for (const std::string& word : only[name]) inside += (inside.empty() ? "" : ", ") + word;
    if (!inside.empty()) text += " (" + inside + ")";
  }
  return text;
}

}  // namespace

std::string listed() {
  const std::array<std::pair<const char*, Setting>, 4> kinds{
      {{"bubblewrap", {}},
       {"bubblewrap as root", {.counted = true}},
       {"process", {.alone = true, .counted = true, .scoped = true}},
       {"process before Linux 6.12", {.alone = true, .counted = true}}}};
  // The rows of each rule, one for each way in which the sandboxes have it.
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> rows;
  for (const auto& [kind, setting] : kinds) {
    for (const Rule& rule : rules(setting)) {
      const std::string row = end_of(rule.action) + " | " + names_in(rule.calls);
      if (!rows.contains(rule.what)) order.emplace_back(rule.what);
      auto& same = rows[rule.what];
      const auto found = std::ranges::find(same, row, &std::pair<std::string, std::string>::second);
      if (found == same.end()) {
        same.emplace_back(kind, row);
      } else {
        found->first += std::string(", ") + kind;
      }
    }
  }
  std::string text = "| for | sandbox | what happens | system calls |\n|---|---|---|---|\n";
  for (const std::string& what : order) {
    for (const auto& [where, row] : rows[what]) {
      const bool all = rows[what].size() == 1 && where.ends_with("6.12") && where.starts_with("b");
      text += "| " + what + " | " + (all ? "all" : where) + " | " + row + " |\n";
    }
  }
  return text;
}

}  // namespace prenorm::sandbox
