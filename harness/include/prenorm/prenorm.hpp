// prenorm.hpp: write a solution as plain C++ functions, export each in one line.
//
//     #include <prenorm/prenorm.hpp>
//
//     template <class T>
//     void relu(prenorm::View<const T> x, prenorm::View<T> y) {
//       for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] < 0 ? T(0) : x[i];
//     }
//
//     PRENORM_SOLUTION(kDLCPU)
//     PRENORM_EXPORT(relu, relu)
//
// PRENORM_EXPORT_FOR(relu, relu, float, double) exports it for these element types only.
//
// A function's parameters follow the signature: the inputs (View<const T>, or std::optional of one
// where the signature has `?`), then the scalars (std::int64_t, double, bool), then the outputs
// (View<T>); a Stream, for code on a device, may stand anywhere. A function may return its only
// output as a container with shape() and data() instead; it is copied. T is the element type of the
// call's first output. A thrown exception becomes the error message of the call.
#pragma once

#include <prenorm/float16.hpp>
#include <prenorm/prenorm.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace prenorm {

/// Thrown by a solution for a problem, or an element type, that it does not (yet) solve.
struct not_implemented : std::runtime_error {
  not_implemented() : std::runtime_error("not implemented") {}
  using std::runtime_error::runtime_error;
};

/// The DLPack type of elements of type T: double, float, float16, bfloat16, int64_t or bool.
template <class T>
constexpr DLDataType dtype_of() {
  using E = std::remove_const_t<T>;
  if constexpr (std::is_same_v<E, bool>)
    return {kDLUInt, 8, 1};
  else if constexpr (std::is_same_v<E, bfloat16>)
    return {kDLBfloat, 16, 1};
  else if constexpr (std::is_same_v<E, std::int64_t>)
    return {kDLInt, 64, 1};
  else
    return {kDLFloat, static_cast<std::uint8_t>(8 * sizeof(E)), 1};
}

template <class T>
bool has_dtype(const DLTensor& tensor) {
  constexpr DLDataType wanted = dtype_of<T>();
  return tensor.dtype.code == wanted.code && tensor.dtype.bits == wanted.bits &&
         tensor.dtype.lanes == wanted.lanes;
}

/// A tensor in memory that somebody else owns, compact and row-major: a pointer and a shape.
///
/// View<const T> is an input, View<T> an output. v[i] counts elements in memory order;
/// v(i, j, ...) takes one index per axis.
template <class T>
class View {
 public:
  View(T* data, std::span<const std::int64_t> shape) : data_(data), shape_(shape) {
    for (const std::int64_t extent : shape) size_ *= extent;
  }

  T* data() const { return data_; }
  std::span<const std::int64_t> shape() const { return shape_; }
  std::int64_t shape(std::size_t axis) const { return shape_[axis]; }
  std::size_t dimension() const { return shape_.size(); }
  std::int64_t size() const { return size_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }

  T& operator[](std::int64_t i) const { return data_[i]; }
  template <class... Index>
  T& operator()(Index... index) const {
    std::int64_t offset = 0;
    std::size_t axis = 0;
    ((offset = offset * shape_[axis++] + static_cast<std::int64_t>(index)), ...);
    return data_[offset];
  }

 private:
  T* data_;
  std::span<const std::int64_t> shape_;
  std::int64_t size_ = 1;
};

/// The stream of a call: a cudaStream_t where its tensors lie on a CUDA device, else null.
struct Stream {
  void* handle = nullptr;
};

/// Reads the arguments of a call one after the other, each checked for presence and type.
///
/// What is large is not inlined: it would be copied into each exported function for each type,
/// which takes the compiler longer than all the rest.
class Arguments {
 public:
  explicit Arguments(const prenorm_call& call) : call_(call) {}

  template <class T>
  [[gnu::noinline]] View<const T> input() {
    const DLTensor* tensor = next_input();
    if (tensor == nullptr) throw std::invalid_argument("input " + number(input_) + " is absent");
    return view<const T>(*tensor, "input ", input_);
  }

  template <class T>
  [[gnu::noinline]] std::optional<View<const T>> optional_input() {
    const DLTensor* tensor = next_input();
    if (tensor == nullptr) return std::nullopt;
    return view<const T>(*tensor, "input ", input_);
  }

  template <class T>
  [[gnu::noinline]] View<T> output() {
    if (output_ >= call_.num_outputs) {
      throw std::invalid_argument("the function takes more than " + number(call_.num_outputs) +
                                  " outputs: View<T> is an output, View<const T> an input");
    }
    const DLTensor& tensor = *call_.outputs[output_++];
    return view<T>(tensor, "output ", output_);
  }

  Stream stream() const { return {call_.stream}; }

  /// The element type T of the call: that of its first output.
  DLDataType element_type() const { return call_.outputs[0]->dtype; }

  /// The next input as it is, whatever its type; nullptr where it is absent.
  const DLTensor* next_input() {
    if (input_ >= call_.num_inputs) {
      throw std::invalid_argument("the function takes more than " + number(call_.num_inputs) +
                                  " inputs");
    }
    return call_.inputs[input_++];
  }

  std::int64_t integer() { return next_scalar(PRENORM_INT).value.i; }
  double floating() { return next_scalar(PRENORM_FLOAT).value.f; }
  bool boolean() { return next_scalar(PRENORM_BOOL).value.b != 0; }

  /// Throws unless the function took every input and scalar that the call carries.
  [[gnu::noinline]] void finish() const {
    if (input_ != call_.num_inputs || scalar_ != call_.num_scalars) {
      throw std::invalid_argument("the call has " + number(call_.num_inputs) + " inputs and " +
                                  number(call_.num_scalars) + " scalars, the function takes " +
                                  number(input_) + " and " + number(scalar_));
    }
  }

 private:
  static std::string number(std::int32_t n) { return std::to_string(n); }

  [[gnu::noinline]] const prenorm_scalar& next_scalar(prenorm_kind kind) {
    if (scalar_ >= call_.num_scalars) {
      throw std::invalid_argument("the function takes more than " + number(call_.num_scalars) +
                                  " scalars");
    }
    const prenorm_scalar& scalar = call_.scalars[scalar_++];
    if (scalar.kind != kind) {
      throw std::invalid_argument("scalar " + number(scalar_) +
                                  " is of another kind: int is std::int64_t, float is double");
    }
    return scalar;
  }

  template <class T>
  static View<T> view(const DLTensor& tensor, const char* what, std::int32_t index) {
    if (!has_dtype<T>(tensor)) {
      throw std::invalid_argument(what + number(index) + " is of another element type");
    }
    return {static_cast<T*>(tensor.data), {tensor.shape, static_cast<std::size_t>(tensor.ndim)}};
  }

  const prenorm_call& call_;
  std::int32_t input_ = 0, scalar_ = 0, output_ = 0;
};

/// How a parameter of type P is read from a call; specialize it for containers of your own.
template <class P>
struct argument {
  static_assert(!std::is_arithmetic_v<P>,
                "a scalar int of the signature is std::int64_t, a float is double");
  static_assert(std::is_arithmetic_v<P>,
                "a parameter is View<const T> (an input), std::int64_t, double, bool, View<T> (an "
                "output) or Stream");
  static P read(Arguments& arguments);
};
template <class T>
struct argument<View<const T>> {
  static View<const T> read(Arguments& arguments) { return arguments.input<T>(); }
};
template <class T>
struct argument<std::optional<View<const T>>> {
  static std::optional<View<const T>> read(Arguments& a) { return a.optional_input<T>(); }
};
template <class T>
struct argument<std::optional<View<T>>> {
  static_assert(std::is_const_v<T>, "an input that may be absent is std::optional<View<const T>>");
  static std::optional<View<T>> read(Arguments& arguments);
};
template <class T>
struct argument<View<T>> {
  static View<T> read(Arguments& arguments) { return arguments.output<T>(); }
};
template <>
struct argument<Stream> {
  static Stream read(Arguments& arguments) { return arguments.stream(); }
};
template <>
struct argument<std::int64_t> {
  static std::int64_t read(Arguments& arguments) { return arguments.integer(); }
};
template <>
struct argument<double> {
  static double read(Arguments& arguments) { return arguments.floating(); }
};
template <>
struct argument<bool> {
  static bool read(Arguments& arguments) { return arguments.boolean(); }
};

namespace detail {

/// "[2, 3]".
inline std::string to_text(const auto& shape) {
  std::string text = "[";
  for (const auto extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

/// Throws unless a result has the shape that its output has.
[[gnu::noinline]] inline void require_shape(const auto& shape, const DLTensor& output) {
  const std::span wanted(output.shape, static_cast<std::size_t>(output.ndim));
  if (!std::ranges::equal(shape, wanted, [](auto a, auto b) { return std::cmp_equal(a, b); })) {
    throw std::invalid_argument("the result has shape " + to_text(shape) + ", wanted " +
                                to_text(wanted));
  }
}

}  // namespace detail

/// How a function's result of type R becomes the call's only output; specialize it like argument.
template <class R>
struct result {
  static void write(const R& value, const prenorm_call& call) {
    static_assert(
        requires { *value.data(), value.shape(); },
        "a function returns nothing, or its output as a container with shape() and "
        "data()");
    using T = std::remove_cvref_t<decltype(*value.data())>;
    detail::require_shape(value.shape(), *call.outputs[0]);
    const View<T> output = Arguments(call).output<T>();
    std::copy_n(value.data(), output.size(), output.data());
  }
};

namespace detail {

template <class R, class... P>
void call_function(R (*function)(P...), const prenorm_call& call) {
  Arguments arguments(call);
  // Braces: parameters are read from left to right, which a plain call would not promise.
  std::tuple<decltype(argument<std::remove_cvref_t<P>>::read(arguments))...> parameters{
      argument<std::remove_cvref_t<P>>::read(arguments)...};
  arguments.finish();
  if constexpr (std::is_void_v<R>) {
    std::apply(function, std::move(parameters));
  } else {
    result<R>::write(std::apply(function, std::move(parameters)), call);
  }
}

/// Does the work; an exception becomes the call's error message and a return code.
template <class Work>
int guard(const prenorm_call* call, Work work) noexcept {
  const auto say = [call](const char* message) {
    if (call->error != nullptr && call->error_size > 0) {
      std::snprintf(call->error, call->error_size, "%s", message);
    }
  };
  try {
    if (call->num_outputs < 1) throw std::invalid_argument("the call has no output");
    work();
    return PRENORM_OK;
  } catch (const not_implemented& absent) {
    say(absent.what());
    return PRENORM_NOT_IMPLEMENTED;
  } catch (const std::exception& error) {
    say(error.what());
  } catch (...) {
    say("an exception that is no std::exception");
  }
  return PRENORM_ERROR;
}

/// Calls the function that choose(std::type_identity<T>()) gives for that of Types which is the
/// call's. (A tag, for nvcc refuses a lambda whose parameters do not name its T.)
template <class... Types, class Choose>
int run(const prenorm_call* call, Choose choose) noexcept {
  return guard(call, [&] {
    const bool found = ((has_dtype<Types>(*call->outputs[0]) &&
                         (call_function(choose(std::type_identity<Types>()), *call), true)) ||
                        ...);
    if (!found) throw not_implemented("not implemented for this element type");
  });
}

/// Where tensors must lie: a device's code that runs in the emulator has them in the host's memory.
constexpr int device_here([[maybe_unused]] int device) {
#if defined(__PRENORM_EMULATOR__)
  return kDLCPU;
#else
  return device;
#endif
}

}  // namespace detail
}  // namespace prenorm

/// Once in a library: the interface's version, and the device that its tensors must lie on. (The
/// emulator asks for which one it was written.)
#define PRENORM_SOLUTION(device)                                                               \
  extern "C" PRENORM_API int prenorm_abi() { return PRENORM_ABI; }                             \
  extern "C" PRENORM_API int prenorm_device() { return prenorm::detail::device_here(device); } \
  extern "C" PRENORM_API int prenorm_written_for() { return device; }

/// Exports the function template `function` as the problem, for the element types that follow.
#define PRENORM_EXPORT_FOR(problem, function, ...)                          \
  extern "C" PRENORM_API int prenorm_##problem(const prenorm_call* call) {  \
    return prenorm::detail::run<__VA_ARGS__>(                               \
        call, []<class T>(std::type_identity<T>) { return &function<T>; }); \
  }

/// Exports a plain function, whose parameters read any element type or just one.
#define PRENORM_EXPORT_FUNCTION(problem, ...)                                     \
  extern "C" PRENORM_API int prenorm_##problem(const prenorm_call* call) {        \
    return prenorm::detail::guard(                                                \
        call, [call] { prenorm::detail::call_function(+(__VA_ARGS__), *call); }); \
  }

/// Exports the function template `function` as the problem, for all four element types.
#define PRENORM_EXPORT(problem, function) \
  PRENORM_EXPORT_FOR(problem, function, double, float, prenorm::float16, prenorm::bfloat16)
