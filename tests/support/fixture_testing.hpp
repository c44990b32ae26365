// What the tests of fixture files share: files made for a while, and what should be in them.
#pragma once

#include "base/temporary_folder.hpp"
#include "checks.hpp"
#include "fixture/catalogue.hpp"
#include "fixture/fixture.hpp"
#include "other_home.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace prenorm::harness::testing {

namespace fs = std::filesystem;

const ReadLimits small_limits{20, 64u << 20};

inline fs::path folder(const char* variable) {
  const char* value = std::getenv(variable);
  BOOST_REQUIRE_MESSAGE(value != nullptr, variable << " is not set");
  return value;
}

inline fs::path made_files() { return folder("PRENORM_BROKEN_FIXTURES"); }

/// A folder that vanishes.
struct Scratch : TemporaryFolder {
  fs::path operator/(const std::string& name) const { return path() / name; }
};

/// Opens the file and reads all its cases.
inline void read_all(const fs::path& path, const ReadLimits& limits = small_limits) {
  const Fixture fixture(path, limits);
  for (const Case& each : fixture.cases()) {
    fixture.inputs(each);
    fixture.expected(each);
  }
}

/// The message of the BadFixture that reading all of the file ends in.
inline std::string refusal(const fs::path& path, const ReadLimits& limits = small_limits) {
  try {
    read_all(path, limits);
  } catch (const BadFixture& bad) {
    return bad.what();
  }
  return "it was read";
}

inline std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

inline Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.set(static_cast<std::int64_t>(i), values[i]);
  }
  return tensor;
}

inline std::vector<double> values(const Tensor& tensor) {
  std::vector<double> list;
  for (std::int64_t i = 0; i < tensor.size(); ++i) list.push_back(tensor.at(i));
  return list;
}

inline std::vector<fs::path> files_in(const fs::path& path) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  return files;
}

/// What every file in `unusual` holds.
inline void check_content(const fs::path& path) {
  const Fixture fixture(path, small_limits);
  BOOST_TEST(fixture.problem() == "scale");
  BOOST_TEST(fixture.source() == "nobody, eq. ½");
  BOOST_TEST(fixture.signature().inputs.size() == 3u);
  for (const Case& one : fixture.cases()) {
    BOOST_TEST(one.description == "a few elements");
    BOOST_TEST((one.redrawn_sizes == std::vector<std::string>{"d", "n"}));
    BOOST_TEST((one.scalars == std::vector<Scalar>{3.0, std::int64_t{4}, true}));
    BOOST_TEST((one.binding.batch == Shape{2}));
    BOOST_TEST(one.inputs[0]->draw == "normal(0, factor)");
    BOOST_TEST((one.outputs[0].dtype == one.dtype()));
    BOOST_TEST(one.outputs[0].tolerance->atol == 0.5);
    BOOST_TEST(one.outputs[0].tolerance->rtol == 0.0);
    BOOST_TEST(one.elements() == 21);
    const auto inputs = fixture.inputs(one);
    BOOST_TEST((values(*inputs[0]) == std::vector{-1.0, -0.5, 0.0, 0.5, 1.0, 1.5}));
    BOOST_TEST((values(*inputs[1]) == std::vector{1.0, 0.0, 1.0, 0.0, 1.0, 1.0}));
    std::int64_t ids[3];
    BOOST_REQUIRE(inputs[2]->data.size() == sizeof ids);
    std::memcpy(ids, inputs[2]->data.data(), sizeof ids);
    BOOST_TEST((ids[0] == 5 && ids[1] == -7 && ids[2] == (std::int64_t{1} << 53) + 1));
    const auto expected = fixture.expected(one);
    BOOST_TEST((values(expected[0]) == std::vector{-3.0, -1.5, 0.0, 1.5, 3.0, 4.5}));
  }
}

/// Makes $PRENORM_HOME a folder whose prenorm-hdf5 is this shell script, for as long as it lives.
class FalseReader {
 public:
  explicit FalseReader(const std::string& script) {
    fs::create_directories(home_.folder / "libexec/prenorm");
    std::ofstream(program()) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(program(), fs::perms::owner_all);
    std::ofstream(file()) << "any";
  }
  fs::path file() const { return home_.folder / "any.h5"; }
  fs::path program() const { return home_.folder / "libexec/prenorm/prenorm-hdf5"; }

 private:
  OtherHome home_;
};

inline std::string refusal_by(const std::string& script, double seconds = 20) {
  const FalseReader reader(script);
  return refusal(reader.file(), {seconds, 1u << 20}).substr(reader.file().string().size());
}

inline Tensor filled(DType dtype, Shape shape, double first = 1) {
  Tensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const bool is_bool = dtype == DType::boolean;
    tensor.set(i, is_bool ? static_cast<double>(i % 2) : first + static_cast<double>(i % 7));
  }
  return tensor;
}

constexpr const char* written_signature =
    "x[..., d], mask[..., d]: bool?; factor: float, n: int, flag: bool = true -> y[..., d]";

inline LoadedCase new_case(const std::string& name, DType dtype, Shape shape) {
  LoadedCase made;
  made.info.name = name;
  made.info.description = "ein Fall, größer";
  made.info.redrawn_sizes = {"d"};
  made.info.scalars = {0.1, std::int64_t{-3}, false};
  made.inputs = {filled(dtype, shape), filled(DType::boolean, shape)};
  made.expected = {filled(DType::float64, shape, 0.1)};
  made.info.inputs.resize(2);
  made.info.inputs[0].emplace().type = {dtype, shape};
  made.info.inputs[0]->draw = "normal(0,1)";
  made.info.inputs[1].emplace().type = {DType::boolean, shape};
  made.info.outputs = {OutputInfo{shape, dtype, Tolerance{1e-7, 2e-7}, Tolerance{0.1, 0.2}, "why"}};
  return made;
}

inline void write_some(const fs::path& path) {
  std::vector<LoadedCase> cases = {new_case("small_bfloat16", DType::bfloat16, {3}),
                                   new_case("large_float16", DType::float16, {70, 3, 33}),
                                   new_case("float32", DType::float32, {2, 3}),
                                   new_case("float64", DType::float64, {2, 0, 3})};
  cases[2].inputs[1].reset();
  cases[2].info.inputs[1].reset();
  cases.push_back(new_case("refused", DType::float32, {3}));
  cases.back().info.error = "it must refuse";
  cases.back().info.outputs.clear();
  cases.back().expected.clear();
  write_fixture(path, "scale", written_signature, "a book, eq. 3", "by hand", cases);
}

inline bool same(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.data == b.data;
}

using Texts = std::vector<std::string>;

inline Node group_node(const std::string& name, std::vector<Node> children,
                       std::vector<Attribute> attributes = {}) {
  return {name, true, std::move(attributes), std::move(children), DType::float64, {}};
}

inline Node catalogue_for_tests() {
  Node x{"x", false, {}, {}, DType::int64, {2, 0, 5}};
  x.attributes = {{"draw", Texts{"normal(0,1)"}}, {"odd", Unusable{"a reference"}}};
  return group_node(
      "", {group_node("inputs", {x})},
      {{"i", std::int64_t{-5}}, {"f", 0.5}, {"b", true}, {"texts", Texts{"", "two"}}});
}

/// A fixture of one case with one input of 8 bytes, which must be refused.
inline Node minimal_fixture() {
  const Node x{"x", false, {}, {}, DType::float64, {1}};
  const Node one = group_node("a", {group_node("inputs", {x})}, {{"error", Texts{"why not"}}});
  return group_node("", {group_node("cases", {one})},
                    {{"format", Texts{"prenorm-fixture"}},
                     {"version", std::int64_t{1}},
                     {"problem", Texts{"scale"}},
                     {"signature", Texts{"x[d] -> y[d]"}}});
}

/// The reply that a reader begins with.
inline void write_reply(const fs::path& path, const Node& root) {
  const std::vector<std::byte> frame = encode(root);
  const std::uint64_t bytes = frame.size();
  std::ofstream out(path, std::ios::binary);
  out.put('\0').write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  out.write(reinterpret_cast<const char*>(frame.data()),
            static_cast<std::streamsize>(frame.size()));
}

}  // namespace prenorm::harness::testing
