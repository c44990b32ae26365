#include "bench/bench.hpp"

#include "base/text.hpp"
#include "bench/workload.hpp"
#include "fixture/draw.hpp"
#include "fixture/verdict.hpp"
#include "replay/calibrate.hpp"
#include "replay/replay.hpp"

#include <algorithm>
#include <array>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <thread>

namespace prenorm::harness::bench {
namespace {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

constexpr std::size_t large_copy = 512u << 20;  // bytes moved: far beyond the caches of a CPU
constexpr double margin = 1.25;                 // ceilings are measured beside noise, too

/// Seconds from the moment when all threads stand ready until the last has copied its part.
double time_one_copy(std::byte* to, const std::byte* from, std::size_t bytes, unsigned threads) {
  std::barrier ready(static_cast<std::ptrdiff_t>(threads) + 1);
  std::barrier done(static_cast<std::ptrdiff_t>(threads) + 1);
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    const std::size_t begin = bytes / threads * i;
    const std::size_t end = i + 1 == threads ? bytes : bytes / threads * (i + 1);
    workers.emplace_back([=, &ready, &done] {
      ready.arrive_and_wait();
      std::memcpy(to + begin, from + begin, end - begin);
      done.arrive_and_wait();
    });
  }
  ready.arrive_and_wait();
  const auto start = std::chrono::steady_clock::now();
  done.arrive_and_wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr double most_flops = 5e10;    // of one check: about a second on four cores
constexpr double most_elements = 3e7;  // widened to float64: a quarter of a GB
constexpr std::size_t most_rows = 64;

double tolerance_of(DType dtype, bool tf32) {
  if (tf32 && dtype == DType::float32) return 8 * 0x1p-10;
  return (size_of(dtype) >= 4 ? 1024 : 8) * epsilon(dtype);
}

bool all_is_affordable(const Workload& workload) {
  double elements = 0;
  for (const auto& input : workload.info.inputs) {
    if (input) elements += static_cast<double>(element_count(input->type.shape));
  }
  return workload.flops <= most_flops && elements <= most_elements;
}

/// How many rows of the batch a check may take; 0 where one alone takes too long, and where the
/// outputs have no rows.
std::size_t affordable_rows(const Workload& workload) {
  const Signature& signature = workload.signature;
  const bool has_rows =
      !signature.whole_shape() &&
      std::ranges::all_of(signature.outputs, [](const TensorSpec& spec) { return spec.batched; });
  if (!has_rows) return 0;
  const auto rows = static_cast<double>(element_count(workload.info.binding.batch));
  const double by_flops = rows * most_flops / std::max(workload.flops, 1.0);
  return static_cast<std::size_t>(std::min({static_cast<double>(most_rows), rows, by_flops}));
}

/// One call, after a rest; what a peer throws becomes an outcome.
Outcome call(Contestant& contestant, const Workload& workload, const Inputs& inputs,
             const Settings& settings) {
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.settle));
  try {
    return contestant.call(workload, inputs);
  } catch (const std::exception& error) {
    Outcome outcome;
    outcome.status = Status::runtime_error;
    outcome.message = printable(error.what(), 500);
    return outcome;
  }
}

/// Takes in what went wrong, if anything did.
void take(const Outcome& outcome, Row& row) {
  if (outcome.status == Status::passed) return;
  // Elements that were not written are a wrong answer, too.
  row.verdict = outcome.status == Status::not_implemented       ? Verdict::absent
                : outcome.status == Status::incorrect_numerical ? Verdict::wrong
                                                                : Verdict::failed;
  if (row.verdict == Verdict::absent) {
    row.message = outcome.message;  // the verdict says the rest
  } else {
    row.message = std::string(name(outcome.status)) + ": " + outcome.message;
  }
}

}  // namespace

Times summarize_times(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  return {seconds.front(),         quantile(seconds, 0.25), quantile(seconds, 0.5),
          quantile(seconds, 0.75), seconds.back(),          seconds.size()};
}

std::string arithmetic(DType dtype, const std::string& mode) {
  return mode == "tf32" && dtype == DType::float32 ? mode : std::string(name(dtype));
}

double copy_bandwidth(std::size_t bytes_moved, unsigned threads) {
  const std::size_t bytes = bytes_moved / 2;
  std::vector<std::byte> from(bytes), to(bytes);  // zeros are written: all pages are there
  for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  double best = 0;
  for (int attempt = 0; attempt < 7; ++attempt) {
    const double seconds = time_one_copy(to.data(), from.data(), bytes, threads);
    best = std::max(best, 2 * static_cast<double>(bytes) / seconds);
  }
  return best;
}

void Ceilings::measure_cpu_copies(unsigned threads) {
  copy = std::max(copy, copy_bandwidth(large_copy, threads));
  // Below 1 MiB, starting threads would be timed.
  for (std::size_t bytes = 1u << 20; bytes < large_copy; bytes *= 4) {
    double& best = cached_copies[static_cast<double>(bytes)];
    best = std::max(best, copy_bandwidth(bytes, threads));
  }
}

double Ceilings::fastest_copy(double bytes) const {
  double best = copy;
  for (const auto& [size, bandwidth] : cached_copies) {
    if (size >= bytes / 2 || size == cached_copies.rbegin()->first) {
      best = std::max(best, bandwidth);
    }
  }
  return best;
}

Roof roof(const Workload& workload, const std::string& mode, const Ceilings& ceilings) {
  Roof roof;
  if (ceilings.copy > 0) roof.seconds = workload.bytes / ceilings.copy;
  const auto product = ceilings.products.find(arithmetic(workload.dtype, mode));
  if (product != ceilings.products.end() && workload.flops / product->second > roof.seconds) {
    roof = {true, workload.flops / product->second};
  }
  return roof;
}

double floor_seconds(const Workload& workload, const std::string& mode, const Ceilings& ceilings) {
  const bool has_cold_caches = ceilings.cached_copies.empty();
  const double bytes =
      has_cold_caches ? std::min(workload.bytes, workload.bytes_read) : workload.bytes;
  double seconds = 0;
  if (ceilings.copy > 0) seconds = bytes / ceilings.fastest_copy(workload.bytes);
  const auto product = ceilings.products.find(arithmetic(workload.dtype, mode));
  if (product != ceilings.products.end()) {
    seconds = std::max(seconds, workload.flops / product->second);
  }
  return seconds / margin;
}

namespace {

/// Compares each row of the last axis with its own rms, where that exceeds the rms of all. Under a
/// causal mask the first positions average few values, and are far larger than the others.
bool rows_are_right(const Tensor& actual, const Tensor& expected, double c, double rms_of_all) {
  if (actual.shape.empty()) return false;
  const Shape outer(actual.shape.begin(), actual.shape.end() - 1);
  for (std::int64_t i = 0; i < element_count(outer); ++i) {
    const Tensor row = rows_of(expected, 1, outer, {i});
    const double rms = std::max(rms_of_all, root_mean_square(row, actual.dtype));
    if (compare("", rows_of(actual, 1, outer, {i}), row, {c * rms, c}).mismatches > 0) return false;
  }
  return true;
}

}  // namespace

Checker::Checker(std::uint64_t seed) : random_(generator(seed, "bench/check")) {}

void Checker::prepare(const Workload& workload, const Inputs& inputs, bool first, Solution& truth) {
  workload_ = &workload;
  rows_.clear();
  expected_.clear();
  const Signature& signature = workload.signature;
  const Shape& batch = workload.info.binding.batch;
  Inputs part = inputs;
  if (!all_is_affordable(workload)) {
    const std::size_t count = affordable_rows(workload);
    if (count == 0 && !first) return;
    const auto all = static_cast<std::uint64_t>(element_count(batch));
    while (rows_.size() < count) rows_.push_back(static_cast<std::int64_t>(random_() % all));
    for (std::size_t i = 0; i < part.size() && count > 0; ++i) {
      const TensorSpec& spec = signature.inputs[i];
      if (part[i] && spec.batched) part[i] = rows_of(*part[i], spec.dims.size(), batch, rows_);
    }
  }
  expected_ = exact_outputs(workload.entry.problem, signature, part, workload.info.scalars, truth);
}

std::string Checker::complaint(const std::vector<Tensor>& outputs, const std::string& mode) const {
  if (!any()) return "";
  const double c = tolerance_of(workload_->dtype, mode == "tf32");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = workload_->signature.outputs[i];
    const Tensor& whole = outputs[i];
    const Tensor part =
        rows_.empty() ? Tensor()
                      : rows_of(whole, spec.dims.size(), workload_->info.binding.batch, rows_);
    const Tensor& actual = rows_.empty() ? whole : part;
    const double rms = root_mean_square(expected_[i], actual.dtype);
    const OutputReport report = compare(spec.name, actual, expected_[i], {c * rms, c});
    if (report.mismatches > 0 && !rows_are_right(actual, expected_[i], c, rms)) {
      return explain(report, actual.dtype);
    }
  }
  return "";
}

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 5> names{"OK", "WRONG", "IMPOSSIBLE", "NOT_IMPLEMENTED",
                                                  "FAILED"};
  return names[static_cast<std::size_t>(verdict)];
}

std::vector<Row> measure(std::shared_ptr<const Workload> workload,
                         const std::vector<Contestant*>& contestants, Values& values,
                         Checker& checker, Solution& truth, const Settings& settings,
                         const std::function<void(int)>& progress) {
  std::vector<Row> rows(contestants.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].workload = workload;
    rows[i].contestant = contestants[i]->label();
    rows[i].is_peer = contestants[i]->is_peer();
    rows[i].on_device = contestants[i]->on_device();
    rows[i].mode = contestants[i]->mode();
  }
  const auto anybody_left = [&rows] {
    return std::ranges::any_of(rows, [](const Row& row) { return row.verdict == Verdict::ok; });
  };
  for (int turn = -settings.warm_ups; turn < settings.samples && anybody_left(); ++turn) {
    progress(turn);
    const Inputs inputs = values.fresh(*workload);
    std::vector<Outcome> outcomes(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].verdict != Verdict::ok) continue;
      outcomes[i] = call(*contestants[i], *workload, inputs, settings);
      take(outcomes[i], rows[i]);
    }
    if (turn < 0 || !anybody_left()) continue;
    checker.prepare(*workload, inputs, turn == 0, truth);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[i];
      if (row.verdict != Verdict::ok) continue;
      row.seconds.push_back(outcomes[i].seconds);
      if (row.is_peer) row.note = outcomes[i].message;
      row.message = checker.complaint(outcomes[i].outputs, contestants[i]->mode());
      if (!row.message.empty()) row.verdict = Verdict::wrong;
    }
  }
  for (Row& row : rows) row.times = summarize_times(row.seconds);
  return rows;
}

bool is_below_floor(const Row& row, const Ceilings& ceilings) {
  return row.has_time() && !(row.times.min >= floor_seconds(*row.workload, row.mode, ceilings));
}

void judge_floor(Row& row, const Ceilings& ceilings) {
  if (!is_below_floor(row, ceilings)) return;
  row.verdict = Verdict::impossible;
  row.message = duration(row.times.min) + " is below the floor of " +
                duration(floor_seconds(*row.workload, row.mode, ceilings)) +
                " that bytes and operations need on this machine: an error of the measurement";
}

void raise_product_ceiling(const Row& row, Ceilings& ceilings) {
  if (!row.has_time() || !(row.times.min > 0)) return;
  double& best = ceilings.products[arithmetic(row.workload->dtype, row.mode)];
  best = std::max(best, row.workload->flops / row.times.min);
}

// ---- Fresh values

namespace {

constexpr std::int64_t pool_elements = (1 << 20) + 7;  // no power of two: stretches do not align
constexpr std::int64_t stretch = 4096;                 // elements copied from one place

Tensor arange(const TensorType& type) {
  Tensor tensor(type.dtype, type.shape);
  if (type.shape.empty()) throw SignatureError("arange: the tensor has no axis");
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, static_cast<double>(i % type.shape.back()));
  }
  return tensor;
}

/// A mask [..., queries, keys] in which a query attends to a range of keys: range(query, queries,
/// keys) is its begin and its end.
template <class Range>
Tensor mask_of(const TensorType& type, const std::string& draw, Range range) {
  if (type.dtype != DType::boolean || type.shape.size() < 2) {
    throw SignatureError(draw + ": wanted bool and at least two axes");
  }
  Tensor tensor(type.dtype, type.shape);
  const std::int64_t keys = type.shape.back(), queries = type.shape[type.shape.size() - 2];
  const std::int64_t rows = keys == 0 ? 0 : tensor.size() / keys;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto [begin, end] = range(row % queries, queries, keys);
    std::memset(tensor.data.data() + row * keys + begin, 1, static_cast<std::size_t>(end - begin));
  }
  return tensor;
}

using Bounds = std::pair<std::int64_t, std::int64_t>;

Tensor lower_triangle(const TensorType& type) {
  return mask_of(type, "lower_triangle", [](std::int64_t query, std::int64_t, std::int64_t keys) {
    return Bounds(0, std::min(query + 1, keys));
  });
}

/// The number of documents of "block_diagonal(count)"; nothing for another draw.
std::optional<std::int64_t> documents_of(const std::string& draw) {
  constexpr std::string_view word = "block_diagonal";
  if (!draw.starts_with(word)) return std::nullopt;
  std::int64_t count = 0;
  const char* const last = draw.data() + draw.size();
  const char* const first = std::min(draw.data() + word.size() + 1, last);
  const auto [end, error] = std::from_chars(first, last, count);
  if (draw[word.size()] != '(' || error != std::errc() || count < 1 ||
      std::string_view(end, last) != ")") {
    throw SignatureError("draw '" + draw + "': wanted block_diagonal(count), a number from 1 on");
  }
  return count;
}

Tensor block_diagonal(const TensorType& type, std::int64_t documents) {
  const auto range = [documents](std::int64_t query, std::int64_t queries, std::int64_t keys) {
    if (std::min(queries, keys) < documents) {
      throw SignatureError("block_diagonal: more documents than positions");
    }
    const std::int64_t document = std::min(query / (queries / documents), documents - 1);
    const std::int64_t length = keys / documents;
    return Bounds(document * length, document + 1 < documents ? (document + 1) * length : keys);
  };
  return mask_of(type, "block_diagonal", range);
}

bool is_name(const std::string& bound) {
  return !bound.empty() && bound.find_first_of("0123456789+-.") != 0;
}

}  // namespace

void check_draw(const std::string& text, const Workload& workload) {
  if (text == "arange" || text == "lower_triangle" || documents_of(text)) return;
  check_bounds(parse_draw(text), workload.info, workload.signature);
}

Values::Values(std::uint64_t seed) : random_(generator(seed, "bench")) {}

Inputs Values::fresh(const Workload& workload) {
  Inputs inputs;
  for (const auto& input : workload.info.inputs) {
    auto& tensor = inputs.emplace_back();
    if (input) tensor = fresh(*input, workload);
  }
  return inputs;
}

Tensor Values::fresh(const InputInfo& input, const Workload& workload) {
  if (input.draw == "arange") return arange(input.type);
  if (input.draw == "lower_triangle") return lower_triangle(input.type);
  if (const auto documents = documents_of(input.draw)) {
    return block_diagonal(input.type, *documents);
  }
  const Draw how = parse_draw(input.draw);
  if (how.kind == Draw::Kind::permutation) {
    return draw(how, input.type, workload.info, workload.signature, random_);
  }
  const Tensor& from = pool(input, workload);
  Tensor tensor(input.type.dtype, input.type.shape);
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
  for (std::int64_t begin = 0; begin < tensor.size(); begin += stretch) {
    const std::int64_t count = std::min(stretch, tensor.size() - begin);
    const auto place =
        static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(pool_elements - count));
    std::memcpy(tensor.data.data() + begin * size, from.data.data() + place * size,
                static_cast<std::size_t>(count * size));
  }
  return tensor;
}

const Tensor& Values::pool(const InputInfo& input, const Workload& workload) {
  const Draw how = parse_draw(input.draw);
  std::string key = std::string(name(input.type.dtype)) + " " + input.draw;
  // A bound may be the name of a dimension, which is another number in another workload.
  if (is_name(how.first) || is_name(how.second)) key += " " + workload.entry.name;
  const auto [at, is_new] = pools_.try_emplace(key);
  if (is_new) {
    at->second =
        draw(how, {input.type.dtype, {pool_elements}}, workload.info, workload.signature, random_);
  }
  return at->second;
}

}  // namespace prenorm::harness::bench
