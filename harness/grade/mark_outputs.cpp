// Outputs that were handed in, without code: hidden cases cannot be asked.
#include "base/parallel.hpp"
#include "fixture/compare.hpp"
#include "grade/marks.hpp"
#include "replay/runner.hpp"

#include <algorithm>

namespace prenorm::harness {
namespace {

/// The entry of one output; nullptr where it was not handed in.
const OutputsFile::Entry* find(const OutputsFile& file, const std::string& case_name,
                               const std::string& tensor) {
  const auto entry = std::ranges::find_if(file.entries, [&](const OutputsFile::Entry& each) {
    return each.case_name == case_name && each.tensor == tensor;
  });
  return entry == file.entries.end() ? nullptr : &*entry;
}

Result ends(Status status, std::string message) {
  Result result;
  result.status = status;
  result.message = std::move(message);
  return result;
}

/// What is wrong with what was handed in before its numbers count; PASSED and the tensors where
/// nothing is.
Result take(const Case& info, const Signature& signature, const OutputsFile* handed_in,
            std::vector<Tensor>& outputs) {
  if (handed_in == nullptr) return ends(Status::not_implemented, "no outputs for this problem");
  if (info.error) return ends(Status::not_implemented, "a case that must be refused needs code");
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    const std::string& tensor = signature.outputs[i].name;
    const OutputsFile::Entry* entry = find(*handed_in, info.name, tensor);
    if (entry == nullptr) return ends(Status::not_implemented, "no output " + tensor);
    const OutputInfo& wanted = info.outputs[i];
    const Tensor& value = entry->value;
    if (value.shape != wanted.shape) {
      return ends(Status::incorrect_shape,
                  tensor + " is " + to_text(value.shape) + ", wanted " + to_text(wanted.shape));
    }
    if (value.dtype != wanted.dtype) {
      return ends(Status::incorrect_dtype, tensor + " is " + std::string(name(value.dtype)) +
                                               ", wanted " + std::string(name(wanted.dtype)));
    }
    outputs.push_back(value);
  }
  return ends(Status::passed, "");
}

void judge(const Signature& signature, const LoadedCase& loaded, const std::vector<Tensor>& outputs,
           Result& result) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputInfo& info = loaded.info.outputs[i];
    result.outputs.push_back(compare(signature.outputs[i].name, outputs[i], loaded.expected[i],
                                     info.tolerance.value_or(Tolerance{})));
    if (result.outputs.back().mismatches > 0 && result.status == Status::passed) {
      result.status = Status::incorrect_numerical;
      result.message = explain(result.outputs.back(), info.dtype);
    }
  }
}

Marks mark(const Exam& exam, const ExamPart& part, const Submission& submission,
           SolutionPool& pool) {
  Solution& mistakes = pool.get("mistakes");
  Marker marker(exam, part, submission.name);
  const OutputsFile* handed_in = submission.outputs(part.problem);
  const Signature& signature = part.file->fixture->signature();
  for (std::size_t number = 0; number < part.cases.size(); ++number) {
    const ExamCase& exam_case = part.cases[number];
    if (exam_case.hidden) {
      marker.leave_out(number);
      continue;
    }
    std::vector<Tensor> outputs;
    Result result = take(*exam_case.stored, signature, handed_in, outputs);
    if (result.status != Status::passed) {
      marker.add(number, std::move(result));
      continue;
    }
    marker.accept(number, mistakes);
    const LoadedCase loaded = marker.load(number);
    judge(signature, loaded, outputs, result);
    marker.add(number, loaded, std::move(result), std::move(outputs));
  }
  Marks marks = marker.finish(&mistakes, &pool.get("reference"));
  marks.cannot_be_asked = 0;  // no fault of a function's
  return marks;
}

}  // namespace

std::vector<Marks> mark_outputs(const Exam& exam, const Submission& submission) {
  const unsigned jobs = exam.options.jobs;
  std::vector<Marks> marks(exam.parts.size());
  std::vector<SolutionPool> pools = make_pools(jobs);
  in_parallel(marks.size(), jobs, [&](std::size_t i, std::size_t thread) {
    marks[i] = mark(exam, exam.parts[i], submission, pools[thread]);
  });
  return marks;
}

}  // namespace prenorm::harness
