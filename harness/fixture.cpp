#include "fixture.hpp"

#include "fixture_check.hpp"
#include "fixture_child.hpp"

#include <algorithm>
#include <unistd.h>

namespace prenorm::harness {

std::size_t most_case_bytes() {
  constexpr std::size_t most = 4ull << 30;
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return most;
  return std::min(most, static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 8);
}

struct Fixture::Child {
  FileReader reader;
};

Fixture::Fixture(const std::filesystem::path& path, const ReadLimits& limits,
                 const Requirements& requirements)
    : path_(path), child_(new Child{FileReader(path, limits)}) {
  try {
    FixtureContents contents = check_fixture(child_->reader.catalogue(), limits, requirements);
    problem_ = std::move(contents.problem);
    signature_text_ = std::move(contents.signature_text);
    source_ = std::move(contents.source);
    oracle_ = std::move(contents.oracle);
    signature_ = std::move(contents.signature);
    cases_ = std::move(contents.cases);
  } catch (const ObjectError& error) {
    throw BadFixture(path.string() + ": " + error.what(),
                     problem_of(child_->reader.catalogue()).value_or(""));
  }
}

Fixture::~Fixture() = default;
Fixture::Fixture(Fixture&&) noexcept = default;
Fixture& Fixture::operator=(Fixture&&) noexcept = default;

std::vector<std::optional<Tensor>> Fixture::inputs(const Case& of) const {
  std::vector<std::optional<Tensor>> tensors;
  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    if (!of.inputs[i]) {
      tensors.emplace_back();
      continue;
    }
    const std::string object = "/cases/" + of.name + "/inputs/" + signature_.inputs.at(i).name;
    const TensorType& type = of.inputs[i]->type;
    tensors.emplace_back(child_->reader.read(object, type.dtype, type.shape));
    try {
      check_bools(object, *tensors.back());
    } catch (const ObjectError& error) {
      child_->reader.fail(error.what());
    }
  }
  return tensors;
}

std::vector<Tensor> Fixture::expected(const Case& of) const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < of.outputs.size(); ++i) {
    const std::string object = "/cases/" + of.name + "/outputs/" + signature_.outputs.at(i).name;
    tensors.push_back(child_->reader.read(object, DType::float64, of.outputs[i].shape));
  }
  return tensors;
}

OutputsFile read_outputs(const std::filesystem::path& path, const ReadLimits& limits) {
  FileReader reader(path, limits);
  try {
    OutputsFile file = list_outputs(reader.catalogue(), limits);
    for (OutputsFile::Entry& entry : file.entries) {
      const std::string object = "/cases/" + entry.case_name + "/outputs/" + entry.tensor;
      entry.value = reader.read(object, entry.value.dtype, entry.value.shape);
      check_bools(object, entry.value);
    }
    return file;
  } catch (const ObjectError& error) {
    reader.fail(error.what());
  }
}

}  // namespace prenorm::harness
