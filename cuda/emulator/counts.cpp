#include "counts.hpp"

#include <bit>
#include <tuple>

namespace prenorm::emulator::counter {
namespace {

/// A JSON object or array, piece by piece.
class Json {
 public:
  explicit Json(std::string& text, char open = '{') : text_(text), close_(open == '{' ? '}' : ']') {
    text_ += open;
  }
  ~Json() { text_ += close_; }
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  /// Begins an item; the caller writes its value.
  std::string& item(const char* name = nullptr) {
    if (!empty_) text_ += ',';
    empty_ = false;
    if (name != nullptr) text_ += '"' + std::string(name) + "\":";
    return text_;
  }
  void number(const char* name, std::uint64_t value) { item(name) += std::to_string(value); }

 private:
  std::string& text_;
  char close_;
  bool empty_ = true;
};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

std::string triple(const dim3& v) {
  return '[' + std::to_string(v.x) + ',' + std::to_string(v.y) + ',' + std::to_string(v.z) + ']';
}

/// The lanes' addresses, from the sector or the row of banks that the lowest lies in; null: a lane
/// that takes no part.
void write_request(std::string& text, const Request& request) {
  std::uint64_t lowest = ~std::uint64_t{0};
  for_each_lane(request.lanes,
                [&](unsigned lane) { lowest = std::min(lowest, request.addresses[lane]); });
  const std::uint64_t base = lowest / line_bytes * line_bytes;
  Json list(text, '[');
  for (unsigned lane = 0; lane < request_lanes; ++lane) {
    const bool present = (request.lanes >> lane & 1u) != 0;
    list.item() += present ? std::to_string(request.addresses[lane] - base) : "null";
  }
}

void write_place(std::string& text, const Place& place, const Totals& totals, std::uint64_t image,
                 const Lines& lines) {
  constexpr const char* kinds[] = {"load", "store", "atomic", "copy"};
  Json object(text);
  object.number("place", place.code - image);
  object.item("space") += place.space == Space::global ? "\"global\"" : "\"shared\"";
  object.item("kind") += quoted(kinds[static_cast<int>(place.kind)]);
  object.number("width", place.bytes);
  object.number("requests", totals.requests);
  object.number("lanes", totals.lanes);
  if (place.space == Space::global) {
    object.number("sectors", totals.sectors);
    object.number("lines", totals.lines);
    object.number("ideal_sectors", totals.ideal_sectors);
  } else {
    object.number("wavefronts", totals.wavefronts);
    object.number("ideal_wavefronts", totals.ideal_wavefronts);
  }
  if (place.kind == Kind::atomic) object.number("at_one_address", totals.at_one_address);
  object.number("worst_cost", totals.worst.cost);
  object.number("worst_least", totals.worst.least);
  write_request(object.item("worst"), totals.worst.request);
  if (const auto found = lines.find(place.code); found != lines.end()) {
    Json list(object.item("source"), '[');
    for (const std::string& line : found->second) list.item() += quoted(line);
  }
}

void write_kernel(std::string& text, const KernelCounts& counts, std::uint64_t image,
                  const Lines& lines) {
  Json object(text);
  object.item("kernel") += quoted(counts.kernel);
  object.item("grid") += triple(counts.grid);
  object.item("block") += triple(counts.block);
  object.number("shared_bytes", counts.shared_bytes);
  object.number("launches", counts.launches);
  object.number("barriers", counts.barriers);
  object.number("sectors_read", counts.sectors_read);
  object.number("sectors_written", counts.sectors_written);
  {
    Json operations(object.item("operations"));
    for (const auto& [word, count] : counts.operations) {
      operations.item() += quoted(word) + ':' + std::to_string(count);
    }
  }
  Json places(object.item("places"), '[');
  for (const auto& [place, totals] : counts.places)
    write_place(places.item(), place, totals, image, lines);
}

}  // namespace

void Totals::add(const Totals& other) {
  requests += other.requests;
  lanes += other.lanes;
  sectors += other.sectors;
  lines += other.lines;
  ideal_sectors += other.ideal_sectors;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  at_one_address += other.at_one_address;
  keep(other.worst);
}

void Totals::keep(const Worst& other) {
  if (other.request.lanes == 0) return;
  const auto later = [](const Worst& w) { return std::tuple(w.block, w.warp, w.time); };
  const auto excess = [](const Worst& w) { return w.cost - w.least; };
  const bool costs_more = excess(other) > excess(worst);
  if (worst.request.lanes == 0 || costs_more ||
      (excess(other) == excess(worst) && later(other) < later(worst))) {
    worst = other;
  }
}

void Footprint::add(const Footprint& other) {
  for (const auto& [number, page] : other.pages_) {
    auto& bits = pages_[number].bits;
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= page.bits[i];
  }
}

std::uint64_t Footprint::sectors() const {
  std::uint64_t count = 0;
  for (const auto& [number, page] : pages_) {
    for (const std::uint64_t bits : page.bits) {
      count += static_cast<std::uint64_t>(std::popcount(bits));
    }
  }
  return count;
}

std::string to_json(const std::vector<KernelCounts>& kernels, std::uint64_t image,
                    const Lines& lines) {
  std::string text;
  {
    Json root(text);
    root.number("version", 1);
    Json list(root.item("kernels"), '[');
    for (const KernelCounts& counts : kernels) write_kernel(list.item(), counts, image, lines);
  }
  return text;
}

}  // namespace prenorm::emulator::counter
