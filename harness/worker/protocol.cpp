#include "worker/protocol.hpp"

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace prenorm::harness::protocol {
namespace {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

/// Stands where a message names the protocol's version.
struct Version {};

template <class T, class Message>
concept is = std::same_as<std::remove_const_t<T>, Message>;

// Each message's fields in their order: the same list writes and reads them.
void fields(auto& visit, is<Region> auto& r) {
  visit(r.file_offset, r.address_offset, r.length, r.data_offset, r.bytes);
}
void fields(auto& visit, is<Argument> auto& a) { visit(a.type.dtype, a.type.shape, a.region); }
void fields(auto& visit, is<DeviceFacts> auto& f) {
  visit(f.name, f.compute_capability, f.driver, f.memory, f.l2);
}
void fields(auto& visit, is<Note> auto& n) { visit(n.kind, n.problem, n.text); }
void fields(auto& visit, is<Load> auto& m) { visit(Version{}, m.memory, m.library); }
void fields(auto& visit, is<CallMessage> auto& m) {
  visit(m.number, m.function, m.span, m.inputs, m.scalars, m.outputs, m.error, m.timed);
}
void fields(auto& visit, is<Loaded> auto& m) {
  visit(Version{}, m.abi, m.device, m.unavailable, m.mode, m.functions, m.sources, m.facts,
        m.notes);
}
void fields(auto& visit, is<LoadFailed> auto& m) { visit(m.reason, m.notes); }
void fields(auto& visit, is<Returned> auto& m) {
  visit(m.number, m.how, m.code, m.seconds, m.what, m.notes, m.launches);
}
void fields(auto& visit, is<CopyBandwidth> auto& m) { visit(m.bytes_per_second); }
void fields(auto& visit, is<Counts> auto& m) { visit(m.text); }
void fields(auto&, is<Begun> auto&) {}

/// Appends fields to a message; the header is filled in at the end.
class Writer {
 public:
  explicit Writer(Kind kind) : kind_(kind), message_(sizeof(Header), '\0') {}

  void operator()(const auto&... field) { (write(field), ...); }

  std::string finish() {
    const std::size_t bytes = message_.size() - sizeof(Header);
    if (bytes > largest_message) throw Malformed("a message to or from a worker is too long");
    const Header header{static_cast<std::uint32_t>(kind_), static_cast<std::uint32_t>(bytes)};
    std::memcpy(message_.data(), &header, sizeof header);
    return std::move(message_);
  }

 private:
  template <class T>
  void write(const T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
      write(static_cast<std::uint8_t>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      message_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      fields(*this, value);
    }
  }
  void write(Version) { write(version); }
  void write(const std::string& text) {
    write(static_cast<std::uint32_t>(text.size()));
    message_ += text;
  }
  template <class T>
  void write(const std::vector<T>& list) {
    write(static_cast<std::uint32_t>(list.size()));
    for (const T& item : list) write(item);
  }
  template <class T>
  void write(const std::optional<T>& item) {
    write(item.has_value());
    if (item) write(*item);
  }
  void write(const Scalar& scalar) {
    write(static_cast<std::uint8_t>(scalar.index()));
    if (const auto* boolean = std::get_if<bool>(&scalar)) {
      write(std::int64_t{*boolean});
    } else if (const auto* floating = std::get_if<double>(&scalar)) {
      write(*floating);
    } else {
      write(std::get<std::int64_t>(scalar));
    }
  }

  Kind kind_;
  std::string message_;
};

/// Reads fields from a payload, never past its end.
class Reader {
 public:
  explicit Reader(std::string_view payload) : left_(payload) {}

  void operator()(auto&&... field) { (read(field), ...); }

  void finish() const {
    if (!left_.empty()) throw Malformed("a message is longer than its meaning");
  }

 private:
  template <class T>
  void read(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = next<std::uint8_t>() != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = next<T>();
    } else {
      fields(*this, value);
    }
  }
  void read(Version&) {
    const auto theirs = next<std::uint32_t>();
    if (theirs == version) return;
    throw Malformed("worker and program speak different versions of their protocol, " +
                    std::to_string(theirs) + " and " + std::to_string(version));
  }
  void read(DType& dtype) { dtype = next_of(DType::boolean, "unknown element type"); }
  void read(Returned::How& how) { how = next_of(Returned::How::out_of_bounds, "unknown outcome"); }
  void read(Note::Kind& kind) {
    kind = next_of(Note::Kind::unreadable_code, "unknown kind of note");
  }
  void read(std::string& text) { text = take(count()); }
  template <class T>
  void read(std::vector<T>& list) {
    list.resize(count());
    for (T& item : list) read(item);
  }
  template <class T>
  void read(std::optional<T>& item) {
    if (next<std::uint8_t>() != 0) read(item.emplace());
  }
  void read(Scalar& scalar) {
    switch (next_of(ScalarKind::boolean, "unknown kind of scalar")) {
      case ScalarKind::integer: scalar = next<std::int64_t>(); break;
      case ScalarKind::floating: scalar = next<double>(); break;
      case ScalarKind::boolean: scalar = next<std::int64_t>() != 0; break;
    }
  }

  template <class T>
  T next() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <class Enum>
  Enum next_of(Enum last, const char* complaint) {
    const auto value = next<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) throw Malformed(complaint);
    return static_cast<Enum>(value);
  }
  /// A count of items of at least one byte each.
  std::size_t count() {
    const auto value = next<std::uint32_t>();
    if (value > left_.size()) throw Malformed("a count in a message is beyond its end");
    return value;
  }
  std::string_view take(std::size_t bytes) {
    if (bytes > left_.size()) throw Malformed("a message is cut short");
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  std::string_view left_;
};

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

template <class Message>
std::string encode(const Message& message) {
  Writer writer(Message::kind);
  fields(writer, message);
  return writer.finish();
}

template <class Message>
Message decode(std::string_view payload) {
  Reader reader(payload);
  Message message;
  fields(reader, message);
  reader.finish();
  return message;
}

#define PRENORM_MESSAGE(Message)               \
  template std::string encode(const Message&); \
  template Message decode(std::string_view payload);
PRENORM_MESSAGE(Load)
PRENORM_MESSAGE(CallMessage)
PRENORM_MESSAGE(Loaded)
PRENORM_MESSAGE(LoadFailed)
PRENORM_MESSAGE(Returned)
PRENORM_MESSAGE(CopyBandwidth)
PRENORM_MESSAGE(Counts)
PRENORM_MESSAGE(Begun)

std::string encode(Kind kind) { return Writer(kind).finish(); }

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
