// Tensors of more than 2^31 elements: indices of 64 bits, on the way from the interface to the
// kernel. By the emulator, which counts as a device does; about 8.6 GB of memory.
#include "skip.hpp"

#include <prenorm/prenorm.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int prenorm_relu(const prenorm_call* call);

namespace {

constexpr std::int64_t size = (std::int64_t{1} << 31) + 21;  // no vector's multiple
constexpr std::size_t bytes = static_cast<std::size_t>(size) * sizeof(prenorm::float16);

/// Pages that take no memory until they are written.
prenorm::float16* pages() {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<prenorm::float16*>(memory);
}

}  // namespace

int main() {
  const auto available =
      static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(::getpagesize());
  if (available < 12e9) {
    prenorm::testing::skip("large", "there is not enough memory");
    return 77;
  }
  prenorm::float16 *x = pages(), *y = pages();
  // Around 2^31, where 32 bits end, and at the end; each another value, so that none is mistaken.
  const std::array<std::int64_t, 7> places{0,
                                           (std::int64_t{1} << 31) - 2,
                                           (std::int64_t{1} << 31) - 1,
                                           std::int64_t{1} << 31,
                                           (std::int64_t{1} << 31) + 1,
                                           size - 2,
                                           size - 1};
  for (std::size_t i = 0; i < places.size(); ++i) {
    x[places[i]] = prenorm::float16(i % 2 == 0 ? 1.0 + static_cast<double>(i) : -1.0);
    y[places[i]] = prenorm::float16(-100.0);
  }

  std::int64_t shape = size, stride = 1;
  DLTensor from{x, {kDLCPU, 0}, 1, {kDLFloat, 16, 1}, &shape, &stride, 0};
  DLTensor to{y, {kDLCPU, 0}, 1, {kDLFloat, 16, 1}, &shape, &stride, 0};
  const DLTensor* inputs[] = {&from};
  DLTensor* outputs[] = {&to};
  char error[256] = "";
  const prenorm_call call{inputs, 1, 0, nullptr, outputs, 1, nullptr, error, sizeof error};
  if (prenorm_relu(&call) != PRENORM_OK) {
    std::printf("relu of %lld elements: %s\n", static_cast<long long>(size), error);
    return 1;
  }
  int wrong = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const float wanted = i % 2 == 0 ? 1.0f + static_cast<float>(i) : 0.0f;
    const float found = y[places[i]];
    if (found == wanted) continue;
    std::printf("element %lld is %g, wanted %g\n", static_cast<long long>(places[i]), found,
                wanted);
    ++wrong;
  }
  return wrong == 0 ? 0 : 1;
}
