#include "grade/wanted_outputs.hpp"

#include <map>
#include <tuple>

namespace prenorm::harness {

std::function<bool(const std::string& problem, const OutputsFile::Entry& entry)> wanted_outputs(
    const Exam& exam) {
  using Key = std::tuple<std::string, std::string, std::string>;  // problem, case, tensor
  std::map<Key, const OutputInfo*> wanted;
  for (const ExamPart& part : exam.parts) {
    for (const ExamCase& question : part.questions) {
      if (question.hidden) continue;
      const std::vector<TensorSpec>& names = part.file->fixture->signature().outputs;
      const std::vector<OutputInfo>& outputs = question.stored->outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        wanted[{part.problem, question.name, names[i].name}] = &outputs[i];
      }
    }
  }
  return [wanted](const std::string& problem, const OutputsFile::Entry& entry) {
    const auto found = wanted.find({problem, entry.case_name, entry.tensor});
    return found != wanted.end() && entry.value.dtype == found->second->dtype &&
           entry.value.shape == found->second->shape;
  };
}

}  // namespace prenorm::harness
