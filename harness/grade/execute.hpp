// How a plan's submissions are graded: by processes here, or by a cluster.
#pragma once

#include "grade/plan.hpp"

#include <functional>

namespace prenorm::harness {

/// What the holder of the gradebook wants to hear; never called by two threads at a time.
struct Events {
  std::function<void(std::size_t number)> done;  // its result is there
  std::function<void(std::size_t number, const std::string& why)> failed;
  std::function<void()> waiting;                // now and then: time for a line of progress
  std::function<void(const std::string&)> say;  // a line for the person who waits
};

/// The command that grades a plan's submission `number`, or one part of it.
std::vector<std::string> planned_command(const std::filesystem::path& folder,
                                         const std::string& option, std::size_t number);

struct LocalOptions {
  unsigned jobs = 1;
  unsigned retries = 2;             // of a process that dies without a result
  std::filesystem::path temporary;  // for copies and builds
};

/// Grades them here, `jobs` at a time, each in a process that ends with this one.
void execute_locally(const std::filesystem::path& folder, const std::vector<std::size_t>& numbers,
                     const LocalOptions& options, const Events& events);

}  // namespace prenorm::harness
