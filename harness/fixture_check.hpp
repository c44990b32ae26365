// A fixture file's catalogue, held against the rules of the format.
#pragma once

#include "catalogue.hpp"
#include "fixture.hpp"

namespace prenorm::harness {

/// What a fixture file says, but for its tensors' values.
struct FixtureContents {
  std::string problem, signature_text, source, oracle;
  Signature signature;
  std::vector<Case> cases;  // sorted by name
};

/// What is wrong with an object of a file: "/cases/a/inputs/x: why".
struct ObjectError : std::runtime_error {
  ObjectError(const std::string& object, const std::string& why);
};

/// Checks all that can be known without the tensors' values. Throws ObjectError.
FixtureContents check_fixture(const Node& root, const ReadLimits& limits,
                              const Requirements& requirements);

/// The attribute `problem`, where it can be read, whatever else is wrong with the file.
std::optional<std::string> problem_of(const Node& root);

/// The outputs that an outputs file (or a fixture file) names, their values not yet read. Throws
/// ObjectError.
OutputsFile list_outputs(const Node& root, const ReadLimits& limits);

/// Checks the values of a bool tensor: nothing but 0 and 1. Throws ObjectError.
void check_bools(const std::string& object, const Tensor& tensor);

}  // namespace prenorm::harness
