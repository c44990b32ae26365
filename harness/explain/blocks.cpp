#include "explain/blocks.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace prenorm::harness {

const FailureText* Block::told(const Result& result) const {
  if (why == nullptr || !result.case_name) return nullptr;
  const auto found = why->failures.find(*result.case_name);
  return found == why->failures.end() ? nullptr : &found->second;
}

std::vector<FailingCase> Block::cases() const {
  std::vector<FailingCase> all;
  for (const Result* result : failed) all.push_back(failing_case(*result, told(*result)));
  return all;
}

std::string Block::likeness() const {
  std::string text;
  for (const Result* result : failed) {
    text += result->case_name.value_or("") + " " + std::string(name(result->status)) + "\n";
  }
  if (why != nullptr) text += joined(cause_lines(why->causes()), "\n");
  return text;
}

std::int64_t Block::refusals() const {
  return std::ranges::count_if(failed, [&](const Result* result) {
    const FailureText* of = told(*result);
    return of != nullptr && of->refusal;
  });
}

std::int64_t Block::wrong() const {
  return std::ranges::count(failed, Status::incorrect_numerical, &Result::status) - refusals();
}

bool Block::all_alike() const {
  return std::ranges::all_of(failed, [&](const Result* result) {
    return told(*result) == nullptr && result->message == failed.front()->message;
  });
}

std::vector<Block> blocks_of(const Report& report, const std::vector<Explanation>& explanations) {
  std::vector<Block> blocks;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Result& result : report.results) {
    const auto [place, is_new] =
        places.try_emplace({result.fixture, result.solution}, blocks.size());
    if (is_new) blocks.push_back({result.fixture, result.problem, result.solution});
    Block& block = blocks[place->second];
    const bool ran = result.status == Status::passed || is_failure(result);
    if (!ran) continue;
    ++block.asked;
    Failed& of_dtype = block.by_dtype[result.dtype];
    ++of_dtype.asked;
    if (!is_failure(result)) continue;
    ++of_dtype.failed;
    block.failed.push_back(&result);
  }
  std::erase_if(blocks, [](const Block& block) { return block.failed.empty(); });
  for (Block& block : blocks) {
    for (const Explanation& each : explanations) {
      if (each.fixture == block.fixture && each.solution == block.solution) block.why = &each;
    }
  }
  return blocks;
}

}  // namespace prenorm::harness
