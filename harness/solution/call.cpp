#include "solution/call.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <prenorm/prenorm.h>
#include <sys/wait.h>

namespace prenorm::harness {
namespace {

constexpr std::size_t error_size = 1024;  // bytes of the buffer for a message

std::string tensor_name(const char* kind, const std::vector<TensorSpec>* specs, std::size_t i) {
  const std::string name =
      specs != nullptr && i < specs->size() ? (*specs)[i].name : std::to_string(i + 1);
  return std::string(kind) + " " + name;
}

std::size_t bytes_of(const TensorType& type) {
  return static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
}

/// Each escaped and truncated.
std::vector<std::string> last_lines(const std::string& text, std::size_t most) {
  std::vector<std::string> lines = lines_of(text);
  for (std::string& line : lines) line = printable(line, 200);
  if (lines.size() > most) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
    lines.front() = "...";
  }
  return lines;
}

}  // namespace

GuardedCall::GuardedCall(const Call& call, std::uint64_t number, std::mt19937_64& random)
    : call_(call) {
  message_.number = number;
  message_.function = call.function;
  message_.scalars = call.scalars;
  message_.timed = call.timed;
  std::vector<std::size_t> sizes;
  const auto* inputs = call.signature != nullptr ? &call.signature->inputs : nullptr;
  const auto* outputs = call.signature != nullptr ? &call.signature->outputs : nullptr;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    auto& argument = message_.inputs.emplace_back();
    if (call.inputs[i] == nullptr) continue;
    argument.emplace().type = {call.inputs[i]->dtype, call.inputs[i]->shape};
    sizes.push_back(bytes_of(argument->type));
    names_.push_back(tensor_name("input", inputs, i));
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    message_.outputs.push_back({call.outputs[i], {}});
    sizes.push_back(bytes_of(call.outputs[i]));
    names_.push_back(tensor_name("output", outputs, i));
  }
  sizes.push_back(error_size);
  names_.emplace_back("the buffer for the error message");

  arena_.emplace(lay_out(sizes, random), random);
  message_.span = arena_->layout().span;
  std::size_t region = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] == nullptr) continue;
    message_.inputs[i]->region = arena_->layout().regions[region];
    if (!call.inputs[i]->data.empty()) {
      std::memcpy(arena_->data(region), call.inputs[i]->data.data(), call.inputs[i]->data.size());
    }
    ++region;
  }
  for (protocol::Argument& output : message_.outputs) {
    output.region = arena_->layout().regions[region];
    poisons_.emplace_back(output.type.dtype, random);
    poisons_.back().fill(arena_->data(region++), output.region.bytes, random);
  }
  message_.error = arena_->layout().regions[region];
}

std::string GuardedCall::damaged() const {
  for (std::size_t region = 0; region < names_.size(); ++region) {
    const std::string damage = arena_->damage(region);
    if (!damage.empty()) return "wrote " + damage + " of " + names_[region];
  }
  return "";
}

std::optional<GuardedCall::Change> GuardedCall::changed_input() const {
  std::size_t region = 0;
  for (std::size_t number = 0; number < call_.inputs.size(); ++number) {
    const Tensor* input = call_.inputs[number];
    if (input == nullptr) continue;
    const std::byte *before = input->data.data(), *after = arena_->data(region);
    const std::size_t bytes = input->data.size();
    if (bytes > 0 && std::memcmp(before, after, bytes) != 0) {
      const auto at =
          static_cast<std::size_t>(std::mismatch(before, before + bytes, after).first - before);
      // The worker still has this memory, and may have undone a change.
      if (at == bytes) {
        return Change{number, names_[region] + " was changed while it was looked at"};
      }
      const auto i = static_cast<std::int64_t>(at / size_of(input->dtype));
      return Change{number,
                    fmt::format("{} was changed at {}: {:.9g} became {:.9g}", names_[region],
                                to_text(index_of(i, input->shape)), load(input->dtype, before, i),
                                load(input->dtype, after, i))};
    }
    ++region;
  }
  return std::nullopt;
}

std::string GuardedCall::error_message() const {
  const auto* text = reinterpret_cast<const char*>(arena_->data(names_.size() - 1));
  // Copied before it is examined, like the outputs.
  const std::string taken(text, error_size);
  return printable(taken.substr(0, taken.find('\0')));
}

void GuardedCall::take_outputs(Outcome& outcome) const {
  std::size_t region = names_.size() - 1 - message_.outputs.size();
  for (std::size_t i = 0; i < message_.outputs.size(); ++i, ++region) {
    const TensorType& type = message_.outputs[i].type;
    // Copied before it is examined: the worker still has this memory.
    Tensor& output = outcome.outputs.emplace_back(type.dtype, type.shape);
    if (output.data.empty()) continue;
    std::memcpy(output.data.data(), arena_->data(region), output.data.size());
    const std::int64_t unwritten = poisons_[i].find(output.data.data(), output.size());
    if (unwritten >= 0 && outcome.status == Status::passed) {
      outcome.status = Status::incorrect_numerical;
      outcome.unwritten = true;
      outcome.message = names_[region] + ": element " + to_text(index_of(unwritten, output.shape)) +
                        " was never written";
    }
  }
}

/// What the emulator says has happened, with the tensors' names in place of "input 1".
std::string GuardedCall::finding_of(const protocol::Returned& answer) const {
  std::string text = printable(answer.what);
  const auto name = [&text](const char* kind, const std::vector<TensorSpec>& specs) {
    for (std::size_t i = specs.size(); i-- > 0;) {  // "input 12" before "input 1"
      const std::string word = " " + std::string(kind) + " " + std::to_string(i + 1);
      for (std::size_t at = 0; (at = text.find(word, at)) != text.npos;) {
        text.replace(at + 1, word.size() - 1, specs[i].name);
      }
    }
  };
  if (call_.signature != nullptr) {
    name("input", call_.signature->inputs);
    name("output", call_.signature->outputs);
  }
  return text;
}

Outcome GuardedCall::judge(const protocol::Returned& answer) const {
  using protocol::Returned;
  Outcome outcome;
  if (std::isfinite(answer.seconds) && answer.seconds > 0) outcome.seconds = answer.seconds;
  const auto found = [&outcome](Status status, std::string message) {
    outcome.status = status;
    outcome.message = std::move(message);
    return outcome;
  };
  outcome.launches = answer.launches;
  const bool told =  // and where in the source
      answer.how == Returned::How::found || answer.how == Returned::How::out_of_bounds;
  if (std::string damage = damaged(); !damage.empty()) {
    return found(Status::out_of_bounds, told ? finding_of(answer) : damage);
  }
  if (std::optional<Change> change = changed_input()) {
    outcome.changed_input = change->input;
    if (!call_.inputs_may_change) {
      return found(Status::input_mutated, std::move(change->message));
    }
    outcome.message = std::move(change->message);
  }
  switch (answer.how) {
    case Returned::How::absent:
      return found(
          Status::not_implemented,
          "no function prenorm_" + (call_.function.find('+') == std::string::npos
                                        ? call_.function
                                        : "combination, which " + call_.function + " needs"));
    case Returned::How::out_of_memory: return found(Status::out_of_memory, printable(answer.what));
    case Returned::How::threw:
      return found(Status::runtime_error, "threw an exception: " + printable(answer.what));
    case Returned::How::device_failed: return found(Status::runtime_error, printable(answer.what));
    case Returned::How::other_shape: return found(Status::incorrect_shape, printable(answer.what));
    case Returned::How::other_dtype: return found(Status::incorrect_dtype, printable(answer.what));
    case Returned::How::not_loaded: return found(Status::load_error, printable(answer.what));
    case Returned::How::no_device: return found(Status::skipped, printable(answer.what));
    case Returned::How::found: return found(Status::runtime_error, finding_of(answer));
    case Returned::How::out_of_bounds: return found(Status::out_of_bounds, finding_of(answer));
    case Returned::How::returned: break;
  }
  if (answer.code != PRENORM_OK) {
    std::string message = error_message();
    if (answer.code == PRENORM_NOT_IMPLEMENTED) {
      return found(Status::not_implemented, std::move(message));
    }
    if (message == "std::bad_alloc") return found(Status::out_of_memory, std::move(message));
    outcome.refused = true;
    if (message.empty()) message = "returned " + std::to_string(answer.code) + " without a message";
    return found(Status::runtime_error, std::move(message));
  }
  take_outputs(outcome);
  return outcome;
}

Outcome GuardedCall::judge(const protocol::Fault& fault) const {
  Outcome outcome;
  const char* abbreviation = ::sigabbrev_np(fault.signal);
  const std::string signal = std::string("SIG") + (abbreviation == nullptr ? "?" : abbreviation);
  const std::uint64_t offset = fault.address - fault.base;
  const bool among_ours = fault.number == message_.number && fault.base != 0 &&
                          fault.address >= fault.base && offset < message_.span;
  if (among_ours) {
    const Nearest place = nearest(arena_->layout(), offset);
    outcome.status = Status::out_of_bounds;
    outcome.message =
        "touched memory " + place.where + " of " + names_[place.region] + " (" + signal + ")";
  } else {
    outcome.status = Status::runtime_error;
    outcome.message = fmt::format("killed by {} at address {:#x}", signal, fault.address);
  }
  return outcome;
}

bool WorkerConnection::alive() const {
  if (process_.has_spoken()) return false;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOHANG | WNOWAIT) ==
             0 &&
         info.si_pid == 0;
}

std::pair<protocol::Kind, std::string> WorkerConnection::ask(const std::string& message,
                                                             int descriptor, double seconds,
                                                             double clock_factor) {
  const Process::Patience patience = process_.within(seconds, clock_factor);
  process_.send(message.data(), message.size(), descriptor, patience);
  protocol::Header header;
  process_.receive(&header, sizeof header, patience);
  if (header.bytes > protocol::largest_message) {
    throw protocol::Malformed("an answer is too long");
  }
  std::string payload(header.bytes, '\0');
  process_.receive(payload.data(), payload.size(), patience);
  const auto kind = static_cast<protocol::Kind>(header.kind);
  if (kind == protocol::Kind::fault) throw Faulted{protocol::decode_fault(payload)};
  return {kind, std::move(payload)};
}

std::string WorkerConnection::take_printed(bool error_is_told) {
  auto [output, error] = process_.take_printed();
  if (error_is_told) error.clear();
  constexpr std::size_t most = 20;  // lines
  std::vector<std::string> lines = last_lines(output, error.empty() ? most : most / 2);
  std::ranges::move(last_lines(error, output.empty() ? most : most / 2), std::back_inserter(lines));
  return joined(lines, "\n");
}

}  // namespace prenorm::harness
