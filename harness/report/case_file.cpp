#include "report/case_file.hpp"

#include "base/printable.hpp"
#include "base/files.hpp"
#include "report/json.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <set>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "both formats say so of their data");

/// What a name of .npz or .pt stands for; std::monostate: an input that is absent.
using Value = std::variant<std::monostate, Tensor, Scalar, std::string>;
struct Member {
  std::string name;
  Value value;
};

std::vector<Member> members_of(const Signature& signature, const LoadedCase& loaded) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    members.push_back({signature.inputs[i].name, {}});
    if (loaded.inputs[i]) members.back().value = *loaded.inputs[i];
  }
  for (std::size_t i = 0; i < loaded.info.scalars.size(); ++i) {
    members.push_back({signature.scalars[i].name, loaded.info.scalars[i]});
  }
  for (std::size_t i = 0; i < loaded.expected.size(); ++i) {
    const std::string& name = signature.outputs[i].name;
    members.push_back({"expected_" + name, loaded.expected[i]});
    if (const std::optional<Tolerance>& tolerance = loaded.info.outputs[i].tolerance) {
      members.push_back({"atol_" + name, Scalar(tolerance->atol)});
      members.push_back({"rtol_" + name, Scalar(tolerance->rtol)});
    }
  }
  if (loaded.info.error) members.push_back({"error", *loaded.info.error});
  std::set<std::string> names;
  for (const Member& member : members) {
    if (names.insert(member.name).second) continue;
    throw std::runtime_error("two values would be named " + member.name +
                             " (JSON tells them apart)");
  }
  return members;
}

std::string bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()};
}

template <class Number>
std::string little_endian(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

/// A scalar as a tensor without axes.
Tensor tensor_of(const Scalar& scalar) {
  Tensor tensor(DType::float64, {});
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
    tensor.dtype = DType::int64;
    std::memcpy(tensor.data.data(), integer, sizeof *integer);
  } else if (const auto* number = std::get_if<double>(&scalar)) {
    tensor.set(0, *number);
  } else {
    tensor = Tensor(DType::boolean, {});
    tensor.set(0, std::get<bool>(scalar) ? 1 : 0);
  }
  return tensor;
}

// NumPy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

std::string npy(const std::string& type, const Shape& shape, const std::string& data) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += std::to_string(extent) + ",";
  std::string head =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + extents + "), }";
  constexpr std::size_t before = 10, alignment = 64;  // of magic, version and length; of the data
  const std::size_t used = before + head.size() + 1;
  head += std::string((alignment - used % alignment) % alignment, ' ') + "\n";
  const auto length = static_cast<std::uint16_t>(head.size());
  return std::string("\x93NUMPY\x01\x00", 8) + little_endian(length) + head + data;
}

std::string npy(const std::string& text) {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = first_character(std::string_view(text).substr(at));
    characters += next.bytes == 0 ? U'\ufffd' : static_cast<char32_t>(next.code);
    at += std::max<std::size_t>(1, next.bytes);
  }
  if (characters.empty()) characters.push_back(U'\0');  // which NumPy drops again
  std::string data;
  for (const char32_t character : characters) data += little_endian(character);
  return npy("<U" + std::to_string(characters.size()), {}, data);
}

std::string npy(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::float64: return npy("<f8", tensor.shape, bytes_of(tensor));
    case DType::float32: return npy("<f4", tensor.shape, bytes_of(tensor));
    case DType::float16: return npy("<f2", tensor.shape, bytes_of(tensor));
    case DType::int64: return npy("<i8", tensor.shape, bytes_of(tensor));
    case DType::boolean: return npy("|b1", tensor.shape, bytes_of(tensor));
    case DType::bfloat16: break;
  }
  Tensor widened(DType::float32, tensor.shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) widened.set(i, tensor.at(i));
  return npy(widened);
}

std::vector<std::string> write_npz(const fs::path& path, const std::vector<Member>& members) {
  std::vector<ZipEntry> entries;
  std::vector<std::string> names;
  for (const auto& [name, value] : members) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    std::string bytes;
    if (const auto* tensor = std::get_if<Tensor>(&value)) bytes = npy(*tensor);
    if (const auto* scalar = std::get_if<Scalar>(&value)) bytes = npy(tensor_of(*scalar));
    if (const auto* text = std::get_if<std::string>(&value)) bytes = npy(*text);
    entries.push_back({name + ".npy", {}, false, std::move(bytes)});
    names.push_back(name);
  }
  write_zip(path, entries);
  return names;
}

// torch: a zip archive of the tensors' bytes, and a pickle of everything else that refers to them.

/// Pickles a dictionary, by the few opcodes of protocol 2 that torch.load(weights_only=True) knows.
class Pickle {
 public:
  void add(const std::string& name, const Value& value) {
    string(name);
    if (const auto* given = std::get_if<Tensor>(&value)) {
      tensor(*given);
    } else if (const auto* scalar = std::get_if<Scalar>(&value)) {
      number(*scalar);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      string(*text);
    } else {
      text_ += 'N';
    }
  }

  std::string text() const { return "\x80\x02}(" + text_ + "u."; }
  /// The tensors' data: archive/data/0, 1, ...
  const std::vector<std::string>& storages() const { return storages_; }

 private:
  void string(const std::string& value) {
    text_ += 'X' + little_endian(static_cast<std::uint32_t>(value.size())) + value;
  }

  void integer(std::int64_t value) {
    if (static_cast<std::int32_t>(value) == value) {
      text_ += 'J' + little_endian(static_cast<std::int32_t>(value));
    } else {
      text_ += "\x8a\x08" + little_endian(value);
    }
  }

  void number(const Scalar& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return integer(*whole);
    if (const auto* truth = std::get_if<bool>(&value)) {
      text_ += *truth ? '\x88' : '\x89';
    } else {
      tensor(tensor_of(value));
    }
  }

  void global(const std::string& module, const std::string& name) {
    text_ += 'c' + module + '\n' + name + '\n';
  }

  void integers(const Shape& values) {
    text_ += '(';
    for (const std::int64_t value : values) integer(value);
    text_ += 't';
  }

  static std::string storage_class(DType dtype) {
    switch (dtype) {
      case DType::float64: return "DoubleStorage";
      case DType::float32: return "FloatStorage";
      case DType::float16: return "HalfStorage";
      case DType::bfloat16: return "BFloat16Storage";
      case DType::int64: return "LongStorage";
      case DType::boolean: return "BoolStorage";
    }
    return "?";
  }

  /// _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, no hooks).
  void tensor(const Tensor& value) {
    Shape strides(value.shape.size(), 1);
    for (std::size_t axis = strides.size(); axis > 1; --axis) {
      strides[axis - 2] = strides[axis - 1] * value.shape[axis - 1];
    }
    global("torch._utils", "_rebuild_tensor_v2");
    text_ += "((";
    string("storage");
    global("torch", storage_class(value.dtype));
    string(std::to_string(storages_.size()));
    string("cpu");
    integer(value.size());
    text_ += "tQ";
    integer(0);
    integers(value.shape);
    integers(strides);
    text_ += '\x89';
    global("collections", "OrderedDict");
    text_ += ")RtR";
    storages_.push_back(bytes_of(value));
  }

  std::string text_;
  std::vector<std::string> storages_;
};

std::vector<std::string> write_pt(const fs::path& path, const std::vector<Member>& members) {
  Pickle pickle;
  std::vector<std::string> names;
  for (const auto& [name, value] : members) {
    pickle.add(name, value);
    names.push_back(name);
  }
  std::vector<ZipEntry> entries{{"archive/data.pkl", {}, false, pickle.text()},
                                {"archive/byteorder", {}, false, "little"}};
  for (const std::string& storage : pickle.storages()) {
    entries.push_back({"archive/data/" + std::to_string(entries.size() - 2), {}, false, storage});
  }
  entries.push_back({"archive/version", {}, false, "3\n"});
  write_zip(path, entries);
  return names;
}

// JSON, laid out for people: one line for each row of a tensor.

std::string element(const Tensor& tensor, std::int64_t i) {
  if (tensor.dtype == DType::boolean) return tensor.at(i) != 0 ? "true" : "false";
  if (tensor.dtype == DType::int64) {
    std::int64_t value = 0;
    std::memcpy(&value, tensor.data.data() + i * 8, sizeof value);
    return std::to_string(value);
  }
  const double value = tensor.at(i);
  if (!std::isfinite(value)) return to_line(number(value));
  return tensor.dtype == DType::float64 ? fmt::format("{}", value)
                                        : fmt::format("{}", static_cast<float>(value));
}

/// The values from `next` on, of the axes from `axis` on.
std::string nested(const Tensor& tensor, std::size_t axis, std::int64_t& next) {
  if (axis == tensor.shape.size()) return element(tensor, next++);
  const bool row = axis + 1 == tensor.shape.size();
  std::string text = "[";
  for (std::int64_t i = 0; i < tensor.shape[axis]; ++i) {
    if (i > 0) text += row ? ", " : ",\n" + std::string(7 + axis, ' ');
    text += nested(tensor, axis + 1, next);
  }
  return text + "]";
}

std::string json_tensor(const Tensor& tensor, DType dtype, const std::string& more = "") {
  std::int64_t next = 0;
  return fmt::format("{{\"dtype\": \"{}\", \"shape\": {},{} \"values\":\n      {}}}", name(dtype),
                     to_text(tensor.shape), more, nested(tensor, 0, next));
}

std::string json_object(const std::vector<std::string>& members) {
  std::string text;
  for (const std::string& member : members) text += (text.empty() ? "\n    " : ",\n    ") + member;
  return "{" + text + (text.empty() ? "}" : "\n  }");
}

std::string quoted(const std::string& text) { return to_line(Json(text)); }

std::vector<std::string> write_json(const fs::path& path, const std::string& problem,
                                    const Signature& signature, const LoadedCase& loaded) {
  const Case& info = loaded.info;
  std::vector<std::string> inputs, scalars, expected;
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    const std::optional<Tensor>& input = loaded.inputs[i];
    inputs.push_back(quoted(signature.inputs[i].name) + ": " +
                     (input ? json_tensor(*input, input->dtype) : "null"));
  }
  for (std::size_t i = 0; i < info.scalars.size(); ++i) {
    const Tensor scalar = tensor_of(info.scalars[i]);
    scalars.push_back(quoted(signature.scalars[i].name) + ": " + element(scalar, 0));
  }
  for (std::size_t i = 0; i < loaded.expected.size(); ++i) {
    const OutputInfo& output = info.outputs[i];
    const std::string tolerance = output.tolerance
                                      ? fmt::format(" \"atol\": {}, \"rtol\": {},",
                                                    output.tolerance->atol, output.tolerance->rtol)
                                      : "";
    expected.push_back(quoted(signature.outputs[i].name) + ": " +
                       json_tensor(loaded.expected[i], output.dtype, tolerance));
  }
  std::string text = "{\n  \"problem\": " + quoted(problem) +
                     ",\n  \"case\": " + quoted(info.name) +
                     ",\n  \"description\": " + quoted(info.description) +
                     ",\n  \"inputs\": " + json_object(inputs) +
                     ",\n  \"scalars\": " + json_object(scalars) + ",\n";
  text += info.error ? "  \"error\": " + quoted(*info.error) + "\n}\n"
                     : "  \"expected\": " + json_object(expected) + "\n}\n";
  if (!(std::ofstream(path, std::ios::binary) << text).flush()) {
    throw std::runtime_error(path.string() + ": cannot be written");
  }
  return {"inputs", "scalars", info.error ? "error" : "expected"};
}

}  // namespace

const std::vector<std::string>& case_file_endings() {
  static const std::vector<std::string> endings{".npz", ".pt", ".json"};
  return endings;
}

std::vector<std::string> write_case(const fs::path& path, const std::string& problem,
                                    const Signature& signature, const LoadedCase& loaded) {
  const fs::path ending = path.extension();
  if (ending == ".npz") return write_npz(path, members_of(signature, loaded));
  if (ending == ".pt") return write_pt(path, members_of(signature, loaded));
  if (ending == ".json") return write_json(path, problem, signature, loaded);
  throw std::runtime_error(path.string() + ": no format has this ending");
}

}  // namespace prenorm::harness
