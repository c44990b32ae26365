// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace prenorm::harness {

/// Calls work(index, thread) once for each index below `count`, in that order, on up to `jobs`
/// threads. The first exception is rethrown at the end; no further index is started after it.
void in_parallel(std::size_t count, unsigned jobs,
                 const std::function<void(std::size_t index, std::size_t thread)>& work);

/// The number of threads that in_parallel() uses for that many pieces.
std::size_t thread_count(std::size_t count, unsigned jobs);

/// The number of processors that this program may use.
unsigned processors();

}  // namespace prenorm::harness
