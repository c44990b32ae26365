// y = 2 x in float32 on a device: on the driver of fake_cuda_driver.cpp, whose "kernels" are
// host functions that run when somebody waits for them. Well, and in every wrong way.
#include <prenorm/prenorm.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <sys/resource.h>
#include <thread>

namespace {

template <class Function>
Function* of_driver(const char* name) {
  const char* path = std::getenv("PRENORM_CUDA_DRIVER");
  void* library = ::dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) throw std::runtime_error("the harness has not loaded the driver");
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

/// What a kernel is given.
struct Work {
  const float* x;
  float* y;
  std::int64_t size;
  void (*last)(const Work&);
};

void nothing_more(const Work&) {}

void kernel(void* argument) {
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  for (std::int64_t i = 0; i < work->size; ++i) work->y[i] = 2 * work->x[i];
  work->last(*work);
}

/// Enqueues y = 2 x, and something after it.
int launch(const prenorm_call* call, void (*last)(const Work&) = nothing_more,
           std::int64_t left_out = 0) {
  const DLTensor &x = *call->inputs[0], &y = *call->outputs[0];
  const auto refuse = [call](const char* why) {
    std::strncpy(call->error, why, call->error_size);
    return PRENORM_ERROR;
  };
  auto* owns = of_driver<bool(const void*)>("fake_cuda_owns");
  if (!owns(x.data) || !owns(y.data)) return refuse("a tensor is not on the device");
  if (owns(call->error)) return refuse("the message is on the device");
  if (x.device.device_type != kDLCUDA || x.device.device_id != 0) return refuse("wrong device");
  if (reinterpret_cast<std::uintptr_t>(x.data) % 256 != 0) return refuse("not aligned");
  if (call->stream == nullptr) return refuse("no stream");
  if (x.dtype.bits != 32) return PRENORM_NOT_IMPLEMENTED;
  std::int64_t size = 1;
  for (std::int32_t axis = 0; axis < x.ndim; ++axis) size *= x.shape[axis];
  auto* work = new Work{static_cast<const float*>(x.data), static_cast<float*>(y.data),
                        size - left_out, last};
  auto* enqueue = of_driver<int(void*, void (*)(void*), void*)>("fake_cuda_launch");
  return enqueue(call->stream, kernel, work) == 0 ? PRENORM_OK : refuse("cannot launch");
}

}  // namespace

PRENORM_SOLUTION(kDLCUDA)

extern "C" {

PRENORM_API const char* prenorm_sources() { return "00ff"; }

PRENORM_API int prenorm_twice(const prenorm_call* call) { return launch(call); }

#define LAUNCHES(variant, ...)                                         \
  PRENORM_API int prenorm_twice__##variant(const prenorm_call* call) { \
    return launch(call, __VA_ARGS__);                                  \
  }

LAUNCHES(past_end, [](const Work& work) { work.y[work.size] = 1; })
LAUNCHES(before_begin, [](const Work& work) { work.y[-1] = 1; })
LAUNCHES(mutates_input, [](const Work& work) { const_cast<float*>(work.x)[work.size - 1] = 7; })
LAUNCHES(unwritten, nothing_more, 2)
LAUNCHES(wrong, [](const Work& work) { work.y[1] += 1; })
/// Without the call's stream: at once, as another stream that has nothing else to do.
PRENORM_API int prenorm_twice__elsewhere(const prenorm_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0]->data);
  auto* y = static_cast<float*>(call->outputs[0]->data);
  for (std::int64_t i = 0; i < call->inputs[0]->shape[0]; ++i) y[i] = 2 * x[i];
  return PRENORM_OK;
}
LAUNCHES(sleeps, [](const Work&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); })
PRENORM_API int prenorm_twice__refuses(const prenorm_call* call) {
  std::strncpy(call->error, "not to my taste", call->error_size);
  return PRENORM_ERROR;
}
PRENORM_API int prenorm_twice__throws(const prenorm_call*) { throw std::runtime_error("thrown"); }
LAUNCHES(faults, [](const Work&) { of_driver<void()>("fake_cuda_fault")(); })
/// As a solution does that looks for errors itself.
PRENORM_API int prenorm_twice__faults_and_refuses(const prenorm_call* call) {
  launch(call, [](const Work&) { of_driver<void()>("fake_cuda_fault")(); });
  std::strncpy(call->error, "an illegal memory access", call->error_size);
  return PRENORM_ERROR;
}
/// y[0] becomes the number of allocations on the device, y[1] the bytes that were set so far, y[2]
/// how often what persists in the cache was reset, y[3] the bytes in the cache that are not yet in
/// memory.
PRENORM_API int prenorm_twice__tells(const prenorm_call* call) {
  return launch(call, [](const Work& work) {
    work.y[0] = static_cast<float>(of_driver<int()>("fake_cuda_allocations")());
    work.y[1] = static_cast<float>(of_driver<double()>("fake_cuda_overwritten")());
    work.y[2] = static_cast<float>(of_driver<int()>("fake_cuda_resets")());
    work.y[3] = static_cast<float>(of_driver<double()>("fake_cuda_dirty")());
  });
}
/// y[0] becomes the address space that this process may use, in GiB; -1 for no limit.
PRENORM_API int prenorm_twice__limit(const prenorm_call* call) {
  return launch(call, [](const Work& work) {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    work.y[0] = limit.rlim_cur == RLIM_INFINITY
                    ? -1.0f
                    : static_cast<float>(limit.rlim_cur) / static_cast<float>(1 << 30);
  });
}

}  // extern "C"
