// The messages between the judging program and a worker; protocol.md specifies the bytes.
#pragma once

#include "fixture/signature.hpp"
#include "worker/device.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace prenorm::harness::protocol {

/// The version of the protocol; each side sends it in its first message.
constexpr std::uint32_t version = 9;
/// The maximum size of a payload in bytes.
constexpr std::size_t largest_message = 1 << 20;

/// A message is truncated, too long, or invalid.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Kind : std::uint32_t {
  load = 1,
  call = 2,
  measure_copy = 3,
  take_counts = 4,
  begin_anew = 5,
  loaded = 101,
  load_failed = 102,
  returned = 103,
  fault = 104,
  copy_bandwidth = 105,
  counts = 106,
  begun = 107
};

/// The start of every message.
struct Header {
  std::uint32_t kind = 0;
  std::uint32_t bytes = 0;  // of the payload that follows
};
static_assert(sizeof(Header) == 8);

struct Load {
  static constexpr Kind kind = Kind::load;
  std::uint64_t memory = 0;  // bytes of address space beyond what the worker has; 0: no limit
  std::string library;
};

struct Argument {
  TensorType type;
  Region region;
};

struct CallMessage {
  static constexpr Kind kind = Kind::call;
  std::uint64_t number = 0;  // counts from 1; the answer bears it too
  std::string function;      // without prenorm_
  std::uint64_t span = 0;    // of addresses to reserve
  std::vector<std::optional<Argument>> inputs;
  std::vector<Scalar> scalars;
  std::vector<Argument> outputs;
  Region error;        // the buffer for an error message
  bool timed = false;  // empty the caches before it

  /// All regions: of present inputs, of outputs, of the error message.
  Layout layout() const;
};

/// For the reader of the results.
struct Note {
  enum class Kind : std::uint8_t {
    other,
    missing_package,
    forbidden_call,
    unreadable_code  // by Python: of a file of the submission
  };
  Kind kind = Kind::other;
  std::string problem;  // in which something forbidden was called; empty: while it was imported
  std::string text;
};

struct Loaded {
  static constexpr Kind kind = Kind::loaded;
  std::int32_t abi = 0;
  std::int32_t device = 0;  // a DLDeviceType
  std::string unavailable;  // why this machine cannot run it: "no CUDA device"; else empty
  std::string mode;         // what prenorm_mode says; else empty
  std::vector<std::string> functions;
  std::string sources;               // what prenorm_sources says; else empty
  std::optional<DeviceFacts> facts;  // of the device, unless it is the host
  std::vector<Note> notes = {};      // on loading
};

struct LoadFailed {
  static constexpr Kind kind = Kind::load_failed;
  std::string reason;
  std::vector<Note> notes = {};
};

struct Returned {
  static constexpr Kind kind = Kind::returned;
  enum class How : std::uint8_t {
    returned,
    threw,
    out_of_memory,
    absent,
    device_failed,
    other_shape,  // than the output's; of a solution that makes its own outputs
    other_dtype,
    not_loaded,    // something that the function needs could not be loaded
    found,         // a kernel did something undefined: prenorm_finding
    no_device,     // the function needs one that is not here
    out_of_bounds  // found, and it was that
  };
  std::uint64_t number = 0;
  How how = How::returned;
  std::int32_t code = 0;         // what the function returned
  double seconds = 0;            // of the function alone
  std::string what;              // of the exception, or of the device's failure
  std::vector<Note> notes = {};  // on what the call has loaded
  std::int64_t launches = -1;    // of kernels: prenorm_launches; -1: not counted
};

/// Bytes read and written per second by a large copy in the memory of the solution's tensors.
struct CopyBandwidth {
  static constexpr Kind kind = Kind::copy_bandwidth;
  double bytes_per_second = 0;  // 0: it could not be measured
};

/// What prenorm_counts says; empty where the library has no such function.
struct Counts {
  static constexpr Kind kind = Kind::counts;
  std::string text;
};

/// What calls have left in its process is gone.
struct Begun {
  static constexpr Kind kind = Kind::begun;
};

/// The last message of a worker that accessed an invalid address. Plain bytes without
/// padding: sent from a signal handler.
struct Fault {
  Header header;
  std::uint64_t number = 0;  // of the call; 0: outside of any
  std::uint64_t address = 0;
  std::uint64_t base = 0;  // where the call's stretch of addresses begins; 0: none
  std::int32_t signal = 0;
  std::int32_t reserved = 0;
};
static_assert(sizeof(Fault) == 40);

/// A whole message, header included; a payload's message, which throws Malformed. For Load,
/// CallMessage, Loaded, LoadFailed, Returned, CopyBandwidth, Counts and Begun.
template <class Message>
std::string encode(const Message& message);
template <class Message>
Message decode(std::string_view payload);
/// A request without a payload: measure_copy, take_counts, begin_anew.
std::string encode(Kind kind);
Fault decode_fault(std::string_view payload);

}  // namespace prenorm::harness::protocol
