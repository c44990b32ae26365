#include "sandbox/socket_limit.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace prenorm::sandbox {
namespace {

/// So long, and those that were admitted are there to be counted.
constexpr std::chrono::milliseconds until_made{10};

struct Socket {
  std::uint64_t inode;  // 0: it waits to be accepted
  bool is_connected;
  std::string path;
};

/// "0000000012345678: ", where a socket's line begins.
bool begins_record(const std::string& line) {
  const std::size_t colon = line.find_first_not_of("0123456789abcdef");
  return colon != line.npos && colon >= 8 && line.compare(colon, 2, ": ") == 0;
}

/// Nothing where they cannot be read.
std::optional<std::vector<Socket>> sockets_of_namespace() {
  constexpr const char* unconnected = "01";
  std::ifstream file("/proc/net/unix");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;  // the heads of its columns
  std::vector<Socket> sockets;
  while (std::getline(file, line)) {
    if (!begins_record(line)) continue;  // the rest of a name with line breaks
    std::istringstream words(line);
    std::string address, references, protocol, flags, type, state;
    std::uint64_t inode = 0;
    words >> address >> references >> protocol >> flags >> type >> state >> inode;
    std::string path;
    std::getline(words >> std::ws, path);
    sockets.push_back({inode, state != unconnected, path});
  }
  return sockets;
}

}  // namespace

SocketLimit::SocketLimit(std::size_t most)
    : most_(most > 0 ? most : std::numeric_limits<std::size_t>::max()), left_(most_) {
  for (const Socket& each : sockets_of_namespace().value_or(std::vector<Socket>())) {
    if (each.inode != 0) before_.insert(each.inode);
  }
}

bool SocketLimit::admits() {
  if (left_ < 2) {
    std::this_thread::sleep_until(last_admitted_ + until_made);
    left_ = most_ - std::min(most_, count().value_or(most_));
  }
  if (left_ < 2) return false;
  left_ -= 2;
  last_admitted_ = Clock::now();
  return true;
}

void SocketLimit::take_back() { left_ += 2; }

/// Of one that is not connected yet, the other end is to come.
std::optional<std::size_t> SocketLimit::count() const {
  const auto sockets = sockets_of_namespace();
  if (!sockets) return std::nullopt;
  std::size_t number = 0;
  for (const Socket& each : *sockets) {
    if (!before_.contains(each.inode)) number += each.is_connected ? 1 : 2;
  }
  return number;
}

bool is_bound(const std::string& path) {
  const auto sockets = sockets_of_namespace();
  return !sockets || std::ranges::any_of(*sockets, [&path](const Socket& each) {
    return !each.is_connected && each.path == path;
  });
}

}  // namespace prenorm::sandbox
