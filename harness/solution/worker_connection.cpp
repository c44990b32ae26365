#include "solution/worker_connection.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <sstream>
#include <sys/wait.h>
#include <vector>

namespace prenorm::harness {
namespace {

/// Each escaped and truncated.
std::vector<std::string> last_lines(const std::string& text, std::size_t most) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(printable(line, 200));
  if (lines.size() > most) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
    lines.front() = "...";
  }
  return lines;
}

}  // namespace

bool WorkerConnection::alive() const {
  if (process_.has_spoken()) return false;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOHANG | WNOWAIT) ==
             0 &&
         info.si_pid == 0;
}

std::pair<protocol::Kind, std::string> WorkerConnection::ask(const std::string& message,
                                                             int descriptor,
                                                             Process::Deadline deadline) {
  process_.send(message.data(), message.size(), descriptor, deadline);
  protocol::Header header;
  process_.receive(&header, sizeof header, deadline);
  if (header.bytes > protocol::largest_message) {
    throw protocol::Malformed("an answer is too long");
  }
  std::string payload(header.bytes, '\0');
  process_.receive(payload.data(), payload.size(), deadline);
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
