#include "bench/bench.hpp"

#include "base/text.hpp"
#include "replay/replay.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace prenorm::harness::bench {
namespace {

constexpr double patience = 600;              // seconds: a compiling peer takes its time
constexpr std::uint32_t longest = 16u << 20;  // bytes of an answer

/// The program's path: execve() searches no PATH.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return fs::absolute(name);
  const CommandOutput found = command_output("command -v " + posix_word(name) + " 2>/dev/null");
  if (found.exit_code == 0) return lines_of(found.text).at(0);
  throw std::runtime_error("no program " + name + " on PATH");
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("a file in memory: " + what + ": " + std::strerror(errno));
}

}  // namespace

MemoryFile::MemoryFile() : file_(::memfd_create("prenorm-bench", MFD_CLOEXEC)) {
  if (!file_.is_open()) fail("cannot be made");
}

std::string MemoryFile::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.get());
}

void MemoryFile::write(const std::vector<std::byte>& data) {
  std::ofstream file(path(), std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data.data()), std::ssize(data));
  if (!file.flush()) fail("cannot be written");
}

void MemoryFile::read(std::vector<std::byte>& data) const {
  if (const auto size = fs::file_size(path()); size != data.size()) {
    throw std::runtime_error("the peer's output has " + std::to_string(size) + " bytes, wanted " +
                             std::to_string(data.size()));
  }
  std::ifstream file(path(), std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(data.data()), std::ssize(data))) fail("cannot be read");
}

Outcome SolutionContestant::call(const Workload& workload, const Inputs& inputs) {
  const std::string function = solution_.function_for(workload.entry.problem);
  if (function.empty() && solution_.load()) {
    Outcome outcome;
    outcome.status = Status::not_implemented;
    outcome.message = "no function prenorm_" + workload.entry.problem;
    return outcome;
  }
  Call call = call_of(function, workload.signature, inputs, workload.info);
  // On the CPU every contestant's tensors were written just before, so none is at an advantage.
  call.timed = on_device();
  return solution_.call(call);
}

PeerProcess::PeerProcess(const std::string& python, const fs::path& script,
                         const std::vector<std::string>& options) {
  try {
    std::vector<std::string> arguments{script.string(), "--serve"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    process_ = std::make_unique<Process>(find_program(python), arguments, Process::Limits{});
    const Json hello = receive();
    name_ = printable(hello.at("name").get<std::string>());
    for (const auto& [variant, problems] : hello.at("variants").items()) {
      Variant& made = variants_.emplace_back(Variant{printable(variant), std::nullopt});
      if (!problems.is_null()) made.problems = problems.get<std::vector<std::string>>();
    }
  } catch (const std::exception& error) {
    throw std::runtime_error("peer " + python + ": " + printable(error.what(), 500));
  }
}

Json PeerProcess::receive() {
  const auto deadline = deadline_in(patience);
  std::uint32_t length = 0;
  process_->receive(&length, sizeof length, deadline);
  if (length > longest) throw std::runtime_error("the peer's answer is too long");
  std::string text(length, '\0');
  process_->receive(text.data(), text.size(), deadline);
  return parse_json(text);
}

Json PeerProcess::ask(const Json& request) {
  if (!process_)
    throw std::runtime_error("the peer was ended: it gave no answer to an earlier call");
  try {
    const std::string text = request.dump();
    const auto length = static_cast<std::uint32_t>(text.size());
    process_->send(&length, sizeof length);
    process_->send(text.data(), text.size());
    return receive();
  } catch (const std::exception&) {
    process_.reset();  // a late answer would be taken for that of the next call
    throw;
  }
}

Json PeerProcess::stored(const Tensor& tensor, const std::string& name) {
  MemoryFile& file = files_[name];
  file.write(tensor.data);
  return {{"file", file.path()}, {"dtype", harness::name(tensor.dtype)}, {"shape", tensor.shape}};
}

Outcome PeerProcess::call(const std::string& variant, const Workload& workload,
                          const Inputs& inputs, bool on_device) {
  Json request = identity(workload);
  request["do"] = "call";
  request["variant"] = variant;
  request["device"] = on_device ? "cuda" : "cpu";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const std::string& name = workload.signature.inputs[i].name;
    request["inputs"][name].update(stored(*inputs[i], "input-" + std::to_string(i)));
  }
  request["outputs"] = Json::array();
  const auto file_of = [this](std::size_t i) -> MemoryFile& {
    return files_["output-" + std::to_string(i)];
  };
  for (std::size_t i = 0; i < workload.info.outputs.size(); ++i) {
    file_of(i).write({});  // an output of the last call is no answer
    request["outputs"].push_back({{"file", file_of(i).path()}});
  }
  const Json answer = ask(request);
  Outcome outcome;
  if (answer.contains("absent")) {
    outcome.status = Status::not_implemented;
    outcome.message = printable(answer.at("absent").get<std::string>());
  } else if (answer.contains("error")) {
    outcome.status = Status::runtime_error;
    outcome.message = printable(answer.at("error").get<std::string>());
  } else {
    outcome.seconds = answer.at("seconds").get<double>();
    outcome.message = printable(answer.value("note", ""));
    for (std::size_t i = 0; i < workload.info.outputs.size(); ++i) {
      const OutputInfo& output = workload.info.outputs[i];
      file_of(i).read(outcome.outputs.emplace_back(output.dtype, output.shape).data);
    }
  }
  return outcome;
}

double PeerProcess::compare_seconds(const Tensor& actual, const Tensor& expected,
                                    const Tolerance& tolerance) {
  const Json answer = ask({{"do", "compare"},
                           {"actual", stored(actual, "actual")},
                           {"expected", stored(expected, "expected")},
                           {"atol", tolerance.atol},
                           {"rtol", tolerance.rtol}});
  if (answer.contains("error")) throw std::runtime_error(answer.at("error").get<std::string>());
  return answer.at("seconds").get<double>();
}

}  // namespace prenorm::harness::bench
