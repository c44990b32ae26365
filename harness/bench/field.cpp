#include "bench/field.hpp"

#include "base/error.hpp"
#include "base/home.hpp"
#include "base/text.hpp"

namespace prenorm::harness::bench {

std::filesystem::path data_folder() { return home() / "share/prenorm/bench"; }

Field::Field(const BenchOptions& options)
    : named_(!options.solutions.empty()), anywhere_(named_ && !options.set.empty()) {
  limits_.limits = {.seconds = options.timeout, .bytes = 0};
  limits_.in_process = options.in_process;
  std::vector<std::string> names = options.solutions;
  if (!named_) names = shipped_solutions();
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) add(name);
  }
  if (solutions_.empty()) {
    throw UsageError("no solution can run here; --solution PATH names one");
  }
  for (const std::string& python : options.pythons) add_peer(python, options);
}

std::vector<Contestant*> Field::at(const Workload& workload) {
  std::vector<Contestant*> all;
  for (const auto& solution : solutions_) {
    const bool at_home = solution->on_device() == (workload.entry.set == "device");
    if (anywhere_ || at_home) all.push_back(solution.get());
  }
  if (all.empty()) return all;
  for (const auto& peer : has_device_peers(workload) ? device_peers_ : peers_) {
    if (peer->is_for(workload.entry.problem)) all.push_back(peer.get());
  }
  return all;
}

std::set<std::string> Field::sets() {
  std::set<std::string> sets;
  for (const auto& solution : solutions_) sets.insert(solution->on_device() ? "device" : "cpu");
  return sets;
}

bool Field::has_device_peers(const Workload& workload) {
  return workload.entry.set == "device" && any_on_device();
}

std::optional<double> Field::device_copy() {
  for (const auto& solution : solutions_) {
    if (const auto bandwidth = solution->copy_bandwidth()) return bandwidth;
  }
  return std::nullopt;
}

void Field::add(const std::string& name) {
  try {
    auto contestant = std::make_unique<SolutionContestant>(find_solution(name, limits_));
    const bool loads = contestant->solution().load();
    if (named_ && !loads) throw UsageError(name + ": " + contestant->solution().message());
    // By default the reference and what runs on a device: others are not there to be fast.
    if (named_ || (loads && (name == "reference" || contestant->on_device()))) {
      solutions_.push_back(std::move(contestant));
    }
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what() + did_you_mean(name, shipped_solutions()));
  }
}

void Field::add_peer(const std::string& python, const BenchOptions& options) {
  const bool has_device = any_on_device();
  std::vector<std::string> words{"--threads", std::to_string(options.threads)};
  if (options.compile) words.emplace_back("--compile");
  if (has_device) words.insert(words.end(), {"--device", "cuda"});
  try {
    const auto peer =
        std::make_shared<PeerProcess>(python, data_folder() / "peers/pytorch.py", words);
    for (const PeerProcess::Variant& variant : peer->variants()) {
      peers_.push_back(std::make_unique<PeerContestant>(peer, variant, false));
      if (has_device) {
        device_peers_.push_back(std::make_unique<PeerContestant>(peer, variant, true));
      }
    }
    if (!peer_process_) peer_process_ = peer;
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

bool Field::any_on_device() {
  return std::ranges::any_of(solutions_, [](const auto& each) { return each->on_device(); });
}

}  // namespace prenorm::harness::bench
