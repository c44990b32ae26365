// A problem of the tests' own, x[...] -> y[...]: y = 2 x, done well and in every wrong way.
// All but the first take float32 only.
#include <prenorm/prenorm.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

template <class T>
void twice(prenorm::View<const T> x, prenorm::View<T> y) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    y[i] = T(2 * static_cast<double>(x[i]));
  }
}

/// What a worker answers after a good call: kind, bytes, and all zeros (protocol::Returned).
constexpr std::array<unsigned char, 8 + 37> all_is_well{103, 0, 0, 0, 37};

const float* x_of(const prenorm_call* call) {
  return static_cast<const float*>(call->inputs[0]->data);
}

/// volatile: the compiler keeps accesses that have no business in a program.
volatile float* y_of(const prenorm_call* call) {
  return static_cast<volatile float*>(call->outputs[0]->data);
}

std::int64_t size_of(const prenorm_call* call) {
  std::int64_t size = 1;
  const DLTensor& x = *call->inputs[0];
  for (std::int32_t axis = 0; axis < x.ndim; ++axis) size *= x.shape[axis];
  return size;
}

void do_it(const prenorm_call* call) {
  for (std::int64_t i = 0; i < size_of(call); ++i) y_of(call)[i] = 2 * x_of(call)[i];
}

int recurse(std::int64_t depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + room[0];
}

int say(const prenorm_call* call, const char* message) {
  std::snprintf(call->error, call->error_size, "%s", message);
  return PRENORM_ERROR;
}

}  // namespace

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(twice, twice)

extern "C" {

#define DOES(variant, ...)                                                              \
  PRENORM_API int prenorm_twice__##variant([[maybe_unused]] const prenorm_call* call) { \
    __VA_ARGS__;                                                                        \
    return PRENORM_OK;                                                                  \
  }
#define DOUBLES_AND(variant, ...) DOES(variant, do_it(call); __VA_ARGS__)

DOUBLES_AND(past_end, y_of(call)[size_of(call)] = 1)
DOUBLES_AND(before_begin, y_of(call)[-1] = 1)
DOUBLES_AND(far_past_end, y_of(call)[size_of(call) + 1000] = 1)
DOUBLES_AND(far_before_begin, y_of(call)[-3000] = 1)
DOUBLES_AND(writes_past_input, const_cast<volatile float*>(x_of(call))[size_of(call)] = 1)
DOUBLES_AND(mutates_input, const_cast<float*>(x_of(call))[size_of(call) - 1] = 7)
DOUBLES_AND(sleeps, std::this_thread::sleep_for(std::chrono::milliseconds(50)))
DOUBLES_AND(leaves_nan, y_of(call)[0] = y_of(call)[0] * 0 / 0.0f)
DOUBLES_AND(wrong, y_of(call)[1] = 3 * x_of(call)[1])
DOUBLES_AND(closes_the_socket, ::close(3))
// The first element goes another way where it is not alone.
DOUBLES_AND(depends_on_batch, if (size_of(call) > 1) y_of(call)[0] = y_of(call)[0] * (1 + 0x1p-22f))

DOES(does_nothing, )
DOES(segfaults, *reinterpret_cast<volatile int*>(64) = 1)
DOES(raises_segv, ::raise(SIGSEGV))
DOES(killed, ::raise(SIGKILL))

PRENORM_API int prenorm_twice__reads_far_past_end(const prenorm_call* call) {
  do_it(call);
  y_of(call)[0] = static_cast<const volatile float*>(x_of(call))[size_of(call) + 1000];
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__unwritten(const prenorm_call* call) {
  const float last = 2 * x_of(call)[size_of(call) - 1];
  for (std::int64_t i = 0; i + 2 < size_of(call); ++i) y_of(call)[i] = 2 * x_of(call)[i];
  y_of(call)[size_of(call) - 1] = last;
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__refuses(const prenorm_call* call) {
  return say(call, "x is not to my taste");
}

PRENORM_API int prenorm_twice__refuses_and_writes(const prenorm_call* call) {
  y_of(call)[size_of(call)] = 1;
  return say(call, "x is not to my taste");
}

PRENORM_API int prenorm_twice__returns_42(const prenorm_call*) { return 42; }

PRENORM_API int prenorm_twice__not_implemented(const prenorm_call* call) {
  say(call, "later");
  return PRENORM_NOT_IMPLEMENTED;
}

PRENORM_API int prenorm_twice__throws(const prenorm_call*) { throw std::runtime_error("a\nb"); }
PRENORM_API int prenorm_twice__throws_no_memory(const prenorm_call*) { throw std::bad_alloc(); }
PRENORM_API int prenorm_twice__exits(const prenorm_call*) { std::exit(0); }
PRENORM_API int prenorm_twice__exits_at_once(const prenorm_call*) { ::_exit(3); }

PRENORM_API int prenorm_twice__aborts(const prenorm_call*) {
  std::fputs("something is wrong\n", stderr);
  std::abort();
}

PRENORM_API int prenorm_twice__overflows_stack(const prenorm_call* call) {
  return recurse(size_of(call));
}

PRENORM_API int prenorm_twice__divides_by_zero(const prenorm_call*) {
  ::raise(SIGFPE);  // what the hardware sends; sanitizers stop the division itself
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__hangs(const prenorm_call*) {
  static std::atomic<std::uint64_t> turns;
  while (true) ++turns;
}

PRENORM_API int prenorm_twice__allocates(const prenorm_call* call) {
  constexpr std::size_t bytes = 64 << 20;
  while (true) {
    void* more = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) break;
  }
  say(call, "unreachable by the exception");
  throw std::bad_alloc();
}

PRENORM_API int prenorm_twice__allocates_with_new(const prenorm_call* call) {
  std::vector<std::vector<char>> kept;
  try {
    while (true) kept.emplace_back(64 << 20);
  } catch (const std::exception& error) {
    return say(call, error.what());
  }
}

PRENORM_API int prenorm_twice__nondeterministic(const prenorm_call* call) {
  static int calls = 0;
  do_it(call);
  const float last = 2 * x_of(call)[size_of(call) - 1];
  y_of(call)[size_of(call) - 1] = last * (1 + static_cast<float>(calls++) * 0x1p-22f);
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__nan_of_either_sign(const prenorm_call* call) {
  static int calls = 0;
  do_it(call);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  y_of(call)[0] = std::copysign(nan, ++calls % 2 == 0 ? 1.0f : -1.0f);
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__address_dependent(const prenorm_call* call) {
  do_it(call);
  const auto address = reinterpret_cast<std::uintptr_t>(y_of(call)) >> 12;
  y_of(call)[0] = y_of(call)[0] + static_cast<float>(address % 1024) * 1e-5f;
  return PRENORM_OK;
}

/// Writes to the worker's own socket, as if the worker had answered.
PRENORM_API int prenorm_twice__forges_success(const prenorm_call*) {
  auto answer = all_is_well;
  answer[8] = 1;  // the first call
  [[maybe_unused]] const auto written = ::write(3, answer.data(), answer.size());
  ::_exit(0);
}

PRENORM_API int prenorm_twice__talks_nonsense(const prenorm_call* call) {
  do_it(call);
  const std::string nonsense(100, 'n');
  [[maybe_unused]] const auto written = ::write(3, nonsense.data(), nonsense.size());
  return PRENORM_OK;
}

/// An answer of the right form about another call.
PRENORM_API int prenorm_twice__answers_another_call(const prenorm_call* call) {
  do_it(call);
  auto answer = all_is_well;
  answer[8] = 77;
  [[maybe_unused]] const auto written = ::write(3, answer.data(), answer.size());
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__floods(const prenorm_call* call) {
  do_it(call);
  const std::string line(1023, '#');
  for (int i = 0; i < 4096; ++i) {
    std::fprintf(stdout, "%s\n", line.c_str());
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__control_characters(const prenorm_call* call) {
  return say(call, "red \x1b[31m alarm\a\nPASSED\r\xff");
}

PRENORM_API int prenorm_twice__long_message(const prenorm_call* call) {
  std::memset(call->error, 'm', call->error_size);  // to the last byte, without a 0
  return PRENORM_ERROR;
}

PRENORM_API int prenorm_twice__message_past_end(const prenorm_call* call) {
  std::memset(call->error, 'm', call->error_size + 100);
  return PRENORM_ERROR;
}

PRENORM_API int prenorm_twice__crashes_second_time(const prenorm_call* call) {
  static int calls = 0;
  do_it(call);
  if (++calls == 2) *reinterpret_cast<volatile int*>(64) = 1;
  return PRENORM_OK;
}

PRENORM_API int prenorm_twice__last_depends_on_batch(const prenorm_call* call) {
  do_it(call);
  const std::int64_t last = size_of(call) - 1;
  if (last > 0) y_of(call)[last] = y_of(call)[last] * (1 + 0x1p-22f);
  return PRENORM_OK;
}

}  // extern "C"

// As a library for the emulator has it: no function of a problem.
extern "C" PRENORM_API int prenorm_found_out_of_bounds() { return 0; }
