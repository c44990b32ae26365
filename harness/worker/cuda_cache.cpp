#include "worker/cuda_cache.hpp"

#include <algorithm>

namespace prenorm::harness::cuda {
namespace {

/// Reads [from, from + bytes), 16 bytes per thread at a time. PTX, so that the harness needs no
/// CUDA compiler; volatile, so that loads stay though nobody uses what they load.
constexpr const char* read_all_ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry read_all(.param .u64 from, .param .u64 bytes) {
  .reg .pred %done;
  .reg .b32 %block, %size, %thread, %threads, %a, %b, %c, %d;
  .reg .b64 %at, %end, %step;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %thread, %block, %size, %thread;
  mov.u32 %threads, %nctaid.x;
  mul.lo.u32 %threads, %threads, %size;
  ld.param.u64 %at, [from];
  ld.param.u64 %end, [bytes];
  add.u64 %end, %at, %end;
  mul.wide.u32 %step, %thread, 16;
  add.u64 %at, %at, %step;
  mul.wide.u32 %step, %threads, 16;
next:
  setp.ge.u64 %done, %at, %end;
  @%done ret;
  ld.volatile.global.v4.u32 {%a, %b, %c, %d}, [%at];
  add.u64 %at, %at, %step;
  bra next;
}
)";

/// Null where the driver has no compiler for PTX: then the cache is written over, and no more.
Function find_read_all() {
  Module module = nullptr;
  Function function = nullptr;
  if (driver().ModuleLoadData(&module, read_all_ptx) != success) return nullptr;
  if (driver().ModuleGetFunction(&function, module, "read_all") != success) return nullptr;
  return function;
}

/// Lines that a solution lets persist in the cache would survive the flush. Not every device has
/// such lines, so failures mean nothing.
void reset_persisting_lines(Stream stream) {
  constexpr StreamAttribute no_window{};
  const Driver& functions = driver();
  if (functions.StreamSetAttribute != nullptr) {
    functions.StreamSetAttribute(stream, access_policy_window, &no_window);
  }
  if (functions.CtxSetLimit != nullptr) functions.CtxSetLimit(persisting_l2_bytes, 0);
  if (functions.CtxResetPersistingL2Cache != nullptr) functions.CtxResetPersistingL2Cache();
}

}  // namespace

void Cache::allocate(Stream stream) {
  const std::size_t bytes = 4 * std::max<std::size_t>(bytes_, 1 << 20);
  written_.emplace(bytes);
  clean_.emplace(bytes);
  check(driver().MemsetD8Async(clean_->get(), 0, bytes, stream));
  read_all_ = find_read_all();
}

void Cache::flush(Stream stream) {
  reset_persisting_lines(stream);
  if (!clean_) allocate(stream);
  // While the device does this, the host is already at the call: launches cost no time.
  check(driver().MemsetD8Async(written_->get(), 0, written_->size(), stream));
  if (read_all_ == nullptr) return;
  // What was written would itself be written to memory when the call's data takes its place.
  Pointer from = clean_->get();
  std::size_t bytes = clean_->size();
  void* parameters[] = {&from, &bytes};
  constexpr unsigned blocks = 1024, threads = 256;
  check(driver().LaunchKernel(read_all_, blocks, 1, 1, threads, 1, 1, 0, stream, parameters,
                              nullptr));
}

}  // namespace prenorm::harness::cuda
