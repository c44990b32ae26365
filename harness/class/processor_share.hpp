// Processors for each of several graders that run at a time, so that none slows down the others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace prenorm::harness {

/// The environment variable that tells a grader its share: "0,1,4".
inline constexpr const char* processor_share = "PRENORM_PROCESSORS";

/// The processors that this process may use in `count` shares: each processor in one; where there
/// are more shares than processors, each share has one.
std::vector<std::string> processor_shares(std::size_t count);

/// Restricts this process, and what it starts from now on, to its share; does nothing where it was
/// told none. Called before there is a second thread.
void take_processor_share();

}  // namespace prenorm::harness
