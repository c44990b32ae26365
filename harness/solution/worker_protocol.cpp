#include "solution/worker_protocol.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

namespace prenorm::harness::protocol {
namespace {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

/// Appends numbers and texts to a message; the header is filled in at the end.
class Writer {
 public:
  explicit Writer(Kind kind) : kind_(kind), message_(sizeof(Header), '\0') {}

  template <class T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    message_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void count(std::size_t value) { number(static_cast<std::uint32_t>(value)); }
  void text(const std::string& value) {
    count(value.size());
    message_ += value;
  }
  void tensor(const Argument& argument) {
    number(static_cast<std::uint8_t>(argument.type.dtype));
    count(argument.type.shape.size());
    for (const std::int64_t extent : argument.type.shape) number(extent);
    region(argument.region);
  }
  void region(const Region& region) {
    number(region.file_offset);
    number(region.address_offset);
    number(region.length);
    number(region.data_offset);
    number(region.bytes);
  }

  std::string finish() {
    const std::size_t bytes = message_.size() - sizeof(Header);
    if (bytes > largest_message) throw Malformed("a message to or from a worker is too long");
    const Header header{static_cast<std::uint32_t>(kind_), static_cast<std::uint32_t>(bytes)};
    std::memcpy(message_.data(), &header, sizeof header);
    return std::move(message_);
  }

 private:
  Kind kind_;
  std::string message_;
};

/// Reads numbers and texts from a payload, never past its end.
class Reader {
 public:
  explicit Reader(std::string_view payload) : left_(payload) {}

  template <class T>
  T number() {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  /// A count of items of at least one byte each.
  std::size_t count() {
    const auto value = number<std::uint32_t>();
    if (value > left_.size()) throw Malformed("a count in a message is beyond its end");
    return value;
  }
  std::string text() { return std::string(take(count())); }
  Argument tensor() {
    Argument argument;
    const auto dtype = number<std::uint8_t>();
    if (dtype > static_cast<std::uint8_t>(DType::boolean)) throw Malformed("unknown element type");
    argument.type.dtype = static_cast<DType>(dtype);
    argument.type.shape.resize(count());
    for (std::int64_t& extent : argument.type.shape) extent = number<std::int64_t>();
    argument.region = region();
    return argument;
  }
  Region region() {
    Region region;
    region.file_offset = number<std::uint64_t>();
    region.address_offset = number<std::uint64_t>();
    region.length = number<std::uint64_t>();
    region.data_offset = number<std::uint64_t>();
    region.bytes = number<std::uint64_t>();
    return region;
  }
  void finish() const {
    if (!left_.empty()) throw Malformed("a message is longer than its meaning");
  }

 private:
  std::string_view take(std::size_t bytes) {
    if (bytes > left_.size()) throw Malformed("a message is cut short");
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  std::string_view left_;
};

void check_version(std::uint32_t theirs) {
  if (theirs == version) return;
  throw Malformed("worker and program speak different versions of their protocol, " +
                  std::to_string(theirs) + " and " + std::to_string(version));
}

void write_scalar(Writer& writer, const Scalar& scalar) {
  writer.number(static_cast<std::uint8_t>(scalar.index()));
  if (const auto* floating = std::get_if<double>(&scalar))
    writer.number(*floating);
  else if (const auto* boolean = std::get_if<bool>(&scalar))
    writer.number(std::int64_t{*boolean});
  else
    writer.number(std::get<std::int64_t>(scalar));
}

Scalar read_scalar(Reader& reader) {
  switch (static_cast<ScalarKind>(reader.number<std::uint8_t>())) {
    case ScalarKind::integer: return reader.number<std::int64_t>();
    case ScalarKind::floating: return reader.number<double>();
    case ScalarKind::boolean: return reader.number<std::int64_t>() != 0;
  }
  throw Malformed("unknown kind of scalar");
}

void write_facts(Writer& writer, const DeviceFacts& facts) {
  writer.text(facts.name);
  writer.text(facts.compute_capability);
  writer.text(facts.driver);
  writer.number(facts.memory);
  writer.number(facts.l2);
}

DeviceFacts read_facts(Reader& reader) {
  DeviceFacts facts;
  facts.name = reader.text();
  facts.compute_capability = reader.text();
  facts.driver = reader.text();
  facts.memory = reader.number<std::uint64_t>();
  facts.l2 = reader.number<std::uint64_t>();
  return facts;
}

}  // namespace

Layout CallMessage::layout() const {
  Layout layout;
  layout.span = span;
  for (const std::optional<Argument>& input : inputs) {
    if (input) layout.regions.push_back(input->region);
  }
  for (const Argument& output : outputs) layout.regions.push_back(output.region);
  layout.regions.push_back(error);
  return layout;
}

std::string encode(const Load& message) {
  Writer writer(Kind::load);
  writer.number(version);
  writer.number(message.memory);
  writer.text(message.library);
  return writer.finish();
}

Load decode_load(std::string_view payload) {
  Reader reader(payload);
  check_version(reader.number<std::uint32_t>());
  Load message;
  message.memory = reader.number<std::uint64_t>();
  message.library = reader.text();
  reader.finish();
  return message;
}

std::string encode(const CallMessage& message) {
  Writer writer(Kind::call);
  writer.number(message.number);
  writer.text(message.function);
  writer.number(message.span);
  writer.count(message.inputs.size());
  for (const std::optional<Argument>& input : message.inputs) {
    writer.number(static_cast<std::uint8_t>(input ? 1 : 0));
    if (input) writer.tensor(*input);
  }
  writer.count(message.scalars.size());
  for (const Scalar& scalar : message.scalars) write_scalar(writer, scalar);
  writer.count(message.outputs.size());
  for (const Argument& output : message.outputs) writer.tensor(output);
  writer.region(message.error);
  writer.number(static_cast<std::uint8_t>(message.timed ? 1 : 0));
  return writer.finish();
}

CallMessage decode_call(std::string_view payload) {
  Reader reader(payload);
  CallMessage message;
  message.number = reader.number<std::uint64_t>();
  message.function = reader.text();
  message.span = reader.number<std::uint64_t>();
  message.inputs.resize(reader.count());
  for (std::optional<Argument>& input : message.inputs) {
    if (reader.number<std::uint8_t>() != 0) input = reader.tensor();
  }
  message.scalars.resize(reader.count());
  for (Scalar& scalar : message.scalars) scalar = read_scalar(reader);
  message.outputs.resize(reader.count());
  for (Argument& output : message.outputs) output = reader.tensor();
  message.error = reader.region();
  message.timed = reader.number<std::uint8_t>() != 0;
  reader.finish();
  return message;
}

std::string encode(const Loaded& message) {
  Writer writer(Kind::loaded);
  writer.number(version);
  writer.number(message.abi);
  writer.number(message.device);
  writer.text(message.unavailable);
  writer.text(message.mode);
  writer.count(message.functions.size());
  for (const std::string& function : message.functions) writer.text(function);
  writer.text(message.sources);
  writer.number(static_cast<std::uint8_t>(message.facts ? 1 : 0));
  if (message.facts) write_facts(writer, *message.facts);
  return writer.finish();
}

Loaded decode_loaded(std::string_view payload) {
  Reader reader(payload);
  check_version(reader.number<std::uint32_t>());
  Loaded message;
  message.abi = reader.number<std::int32_t>();
  message.device = reader.number<std::int32_t>();
  message.unavailable = reader.text();
  message.mode = reader.text();
  message.functions.resize(reader.count());
  for (std::string& function : message.functions) function = reader.text();
  message.sources = reader.text();
  if (reader.number<std::uint8_t>() != 0) message.facts = read_facts(reader);
  reader.finish();
  return message;
}

std::string encode(const LoadFailed& message) {
  Writer writer(Kind::load_failed);
  writer.text(message.reason);
  return writer.finish();
}

LoadFailed decode_load_failed(std::string_view payload) {
  Reader reader(payload);
  LoadFailed message{reader.text()};
  reader.finish();
  return message;
}

std::string encode(const Returned& message) {
  Writer writer(Kind::returned);
  writer.number(message.number);
  writer.number(static_cast<std::uint8_t>(message.how));
  writer.number(message.code);
  writer.number(message.seconds);
  writer.text(message.what);
  return writer.finish();
}

Returned decode_returned(std::string_view payload) {
  Reader reader(payload);
  Returned message;
  message.number = reader.number<std::uint64_t>();
  const auto how = reader.number<std::uint8_t>();
  if (how > static_cast<std::uint8_t>(Returned::How::other_dtype))
    throw Malformed("unknown outcome");
  message.how = static_cast<Returned::How>(how);
  message.code = reader.number<std::int32_t>();
  message.seconds = reader.number<double>();
  message.what = reader.text();
  reader.finish();
  return message;
}

std::string encode(const CopyBandwidth& message) {
  Writer writer(Kind::copy_bandwidth);
  writer.number(message.bytes_per_second);
  return writer.finish();
}

CopyBandwidth decode_copy_bandwidth(std::string_view payload) {
  Reader reader(payload);
  const CopyBandwidth message{reader.number<double>()};
  reader.finish();
  return message;
}

std::string encode_measure_copy() { return Writer(Kind::measure_copy).finish(); }

Fault decode_fault(std::string_view payload) {
  Fault fault;
  if (payload.size() != sizeof fault - sizeof fault.header) {
    throw Malformed("a fault message has another length");
  }
  std::memcpy(reinterpret_cast<char*>(&fault) + sizeof fault.header, payload.data(),
              payload.size());
  return fault;
}

}  // namespace prenorm::harness::protocol
