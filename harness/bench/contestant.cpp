#include "bench/contestant.hpp"

#include "printable.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace prenorm::harness::bench {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr double patience = 600;              // seconds: a compiling peer takes its time
constexpr std::uint32_t longest = 16u << 20;  // bytes of an answer

fs::path new_folder() {
  std::error_code ignored;
  const fs::path base = fs::is_directory("/dev/shm", ignored) && ::access("/dev/shm", W_OK) == 0
                            ? fs::path("/dev/shm")
                            : fs::temp_directory_path();
  std::string name = (base / "prenorm-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder in " + base.string());
  }
  return name;
}

/// The program's path: execve() searches no PATH.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return fs::absolute(name);
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  throw std::runtime_error("no program " + name + " on PATH");
}

Tensor read_tensor(const fs::path& path, const TensorType& type) {
  Tensor tensor(type.dtype, type.shape);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(tensor.data.data()),
            static_cast<std::streamsize>(tensor.data.size()));
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    throw std::runtime_error("the peer's output is not of " + to_text(type.shape));
  }
  return tensor;
}

}  // namespace

Outcome SolutionContestant::call(const Workload& workload, const Inputs& inputs) {
  Call call;
  call.function = solution_.function_for(workload.entry.problem);
  if (call.function.empty() && solution_.load()) {
    Outcome outcome;
    outcome.status = Status::not_implemented;
    outcome.message = "no function prenorm_" + workload.entry.problem;
    return outcome;
  }
  call.signature = &workload.signature;
  call.scalars = workload.info.scalars;
  for (const auto& input : inputs) call.inputs.push_back(input ? &*input : nullptr);
  for (const OutputInfo& output : workload.info.outputs) {
    call.outputs.push_back({output.dtype, output.shape});
  }
  return solution_.call(call);
}

PeerProcess::PeerProcess(const std::string& python, const fs::path& script,
                         const std::vector<std::string>& options)
    : folder_(new_folder()) {
  try {
    std::vector<std::string> arguments{script.string(), "--serve"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    process_ = std::make_unique<Process>(find_program(python), arguments, Process::Limits{});
    const Json hello = receive();
    name_ = printable(hello.at("name").get<std::string>());
    for (const Json& variant : hello.at("variants")) {
      variants_.push_back(printable(variant.get<std::string>()));
    }
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw std::runtime_error("peer " + python + ": " + printable(error.what(), 500));
  }
}

PeerProcess::~PeerProcess() {
  process_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Json PeerProcess::receive() {
  const auto deadline = deadline_in(patience);
  std::uint32_t length = 0;
  process_->receive(&length, sizeof length, deadline);
  if (length > longest) throw std::runtime_error("the peer's answer is too long");
  std::string text(length, '\0');
  process_->receive(text.data(), text.size(), deadline);
  return Json::parse(text);
}

Json PeerProcess::ask(const Json& request) {
  const std::string text = request.dump();
  const auto length = static_cast<std::uint32_t>(text.size());
  process_->send(&length, sizeof length);
  process_->send(text.data(), text.size());
  return receive();
}

Json PeerProcess::stored(const Tensor& tensor, const std::string& file) {
  const fs::path path = folder_ / file;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(tensor.data.data()),
            static_cast<std::streamsize>(tensor.data.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
  return {{"file", path.string()}, {"dtype", harness::name(tensor.dtype)}, {"shape", tensor.shape}};
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
  const auto file_of = [this](std::size_t i) { return folder_ / ("output-" + std::to_string(i)); };
  for (std::size_t i = 0; i < workload.info.outputs.size(); ++i) {
    std::error_code ignored;
    fs::remove(file_of(i), ignored);  // an output of the last call is no answer
    request["outputs"].push_back({{"file", file_of(i).string()}});
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
    for (std::size_t i = 0; i < workload.info.outputs.size(); ++i) {
      const OutputInfo& output = workload.info.outputs[i];
      outcome.outputs.push_back(read_tensor(file_of(i), {output.dtype, output.shape}));
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
