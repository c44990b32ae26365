// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace prenorm::harness {

/// Calls work(index, thread) once for each index below `count`, in that order, on up to `jobs`
/// threads. The first exception is rethrown at the end; no further index is started after it.
void in_parallel(std::size_t count, unsigned jobs,
                 const std::function<void(std::size_t index, std::size_t thread)>& work);

/// The number of threads that in_parallel() uses for that many pieces.
std::size_t thread_count(std::size_t count, unsigned jobs);

/// The number of processors that this program may use.
unsigned processors();

/// The environment variable that tells a process its share of the processors: "0,1,4".
inline constexpr const char* processor_share = "PRENORM_PROCESSORS";

/// The processors that this process may use, in `count` shares: each processor in one; where there
/// are more shares than processors, each share has one.
std::vector<std::string> processor_shares(std::size_t count);

/// Restricts this process, and what it starts from now on, to the share that the variable tells it;
/// does nothing without one. To be called before there is a second thread.
void take_processor_share();

}  // namespace prenorm::harness
