// Which library a name on the command line means.
#include "base/paths.hpp"
#include "base/text.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <stdexcept>

namespace prenorm::harness {
namespace {

constexpr std::string_view prefix = "libprenorm_", suffix = ".so", absent = ".absent";

fs::path shipped_folder() { return home() / "lib" / "prenorm"; }

/// The library, or the file that says why it was not built; empty if there is neither.
fs::path shipped_file(const std::string& name) {
  std::error_code ignored;
  for (const std::string& file :
       {std::string(prefix) + name + std::string(suffix), name + std::string(absent)}) {
    if (fs::exists(shipped_folder() / file, ignored)) return shipped_folder() / file;
  }
  return {};
}

std::string shipped_names() {
  const std::string text = joined(shipped_solutions());
  return text.empty() ? "none (in " + shipped_folder().string() + ")" : text;
}

/// lib.so, lib.so.1, lib.so.1.2.
bool is_library_name(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') {
    const std::size_t end = name.find_last_not_of("0123456789");
    if (end == name.npos || name[end] != '.') return false;
    name = name.substr(0, end);
  }
  return name.ends_with(suffix);
}

/// What is there under a name that is no library, and the command that takes it; empty where
/// nothing is, or what may be a library.
std::string other_than_library(const std::string& name) {
  std::error_code ignored;
  const std::string grade = program_name() + " grade " + shell_word(name);
  const fs::path path = name;
  if (fs::is_directory(path, ignored)) {
    if (fs::exists(path / "CMakeLists.txt", ignored)) {
      return name + " is a CMake project: " + grade + "; or build it, and name its library (.so)";
    }
    const bool python = fs::exists(path / "adapters.py", ignored) ||
                        fs::exists(path / "tests" / "adapters.py", ignored);
    return name + (python ? " is a Python submission: " : " is a folder, not a library: ") + grade;
  }
  if (!fs::is_regular_file(path, ignored)) return "";
  const std::string ending = path.extension();
  if (ending == ".py") return name + " is a Python submission: " + grade;
  if (ending == ".h5" || ending == ".hdf5") return name + " is a file of outputs: " + grade;
  if (ending == ".cpp" || ending == ".cc" || ending == ".c" || ending == ".cu") {
    return name + " is a source file: build a library (.so) of it; " + program_name() +
           " new shows how";
  }
  return "";
}

Solution from_path(const std::string& label, const fs::path& library, const std::string& variant,
                   const Solution::Options& options) {
  std::error_code ignored;
  if (!fs::exists(library, ignored)) {
    throw std::invalid_argument("solution " + label + ": no such file: " + library.string());
  }
  return {label, library, variant, options};
}

}  // namespace

std::vector<std::string> shipped_solutions() {
  std::vector<std::string> names;
  std::error_code no_folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(shipped_folder(), no_folder)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(prefix) && file.ends_with(suffix)) {
      names.push_back(file.substr(prefix.size(), file.size() - prefix.size() - suffix.size()));
    } else if (file.ends_with(absent) && file.size() > absent.size()) {
      names.push_back(file.substr(0, file.size() - absent.size()));
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

bool is_shipped(const std::string& name) { return !shipped_file(name).empty(); }

Solution solution_of_user(const std::string& name, const Solution::Options& options) {
  try {
    return find_solution(name, options);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what() + did_you_mean(name, shipped_solutions()));
  }
}

Solution find_solution(const std::string& name, const Solution::Options& options) {
  std::error_code ignored;
  if (is_library_name(name)) return from_path(name, name, "", options);
  const std::size_t last = name.rfind('/');
  if (last != std::string::npos && is_library_name(std::string_view(name).substr(0, last))) {
    return from_path(name, name.substr(0, last), name.substr(last + 1), options);
  }
  const std::size_t slash = name.find('/');
  const std::string other = other_than_library(name);
  const bool is_file = fs::is_regular_file(name, ignored);
  if (is_file && !other.empty()) throw std::invalid_argument(other);
  if (slash != std::string::npos && is_file) {
    return from_path(name, name, "", options);
  }
  const std::string shipped = name.substr(0, slash);
  const std::string variant = slash == std::string::npos ? "" : name.substr(slash + 1);
  const bool plain_name = !shipped.empty() && shipped != "." && shipped != ".." &&
                          variant.find('/') == std::string::npos;
  if (const fs::path file = plain_name ? shipped_file(shipped) : fs::path(); !file.empty()) {
    return {name, file, variant, options};
  }
  if (!other.empty()) throw std::invalid_argument(other);
  throw std::invalid_argument("no solution " + name + ": the shipped ones are " + shipped_names() +
                              "; or give the path of a library (lib.so, lib.so/variant)");
}

}  // namespace prenorm::harness
