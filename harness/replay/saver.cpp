#include "replay/saver.hpp"

#include "base/error.hpp"

#include <set>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// "./mine.so" becomes "mine", "mistakes/no_eps" "mistakes-no_eps": part of a file's name.
std::string file_word(const std::string& solution) {
  std::string word =
      fs::path(solution).extension() == ".so" ? fs::path(solution).stem().string() : solution;
  for (char& c : word) {
    if (c == '/') c = '-';
  }
  while (word.starts_with('.') || word.starts_with('-')) word.erase(0, 1);
  return word;
}

/// The word, with a number appended if it has been used before.
std::string unused(const std::string& word, std::set<std::string>& used) {
  std::string name = word;
  for (int number = 2; !used.insert(name).second; ++number) {
    name = word + "-" + std::to_string(number);
  }
  return name;
}

}  // namespace

/// The file names without folder and extension, made unique.
std::vector<std::string> stems_of(const std::vector<File>& files) {
  std::set<std::string> used;
  std::vector<std::string> stems;
  for (const File& file : files) stems.push_back(unused(fs::path(file.path).stem(), used));
  return stems;
}

void Saver::keep(const Case& info, const Result& result, std::vector<Tensor> outputs) {
  if (only_failing_ && result.status == Status::passed) return;
  OutputsFile& saved = saved_[result.solution];
  saved.problem = result.problem;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    saved.entries.push_back(
        {info.name, file_.fixture->signature().outputs[i].name, std::move(outputs[i])});
  }
}

void Saver::write() const {
  std::set<std::string> used;
  for (const auto& [solution, outputs] : saved_) {
    const std::string word = unused(file_word(solution), used);
    const fs::path path = fs::path(folder_) / (stem_ + "." + word + ".h5");
    try {
      write_outputs(path, outputs);
    } catch (const std::exception& error) {
      throw UsageError("cannot save " + path.string() + ": " + error.what());
    }
  }
}

}  // namespace prenorm::harness
