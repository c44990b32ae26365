// What the counter has counted: the data, and their text for the harness.
#pragma once

#include "emulator.hpp"
#include "request.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace prenorm::emulator::counter {

enum class Space : std::uint8_t { global, shared };
enum class Kind : std::uint8_t { load, store, atomic, copy };

/// A place in the code that accesses one kind of memory, always as many bytes.
struct Place {
  std::uint64_t code = 0;  // its address
  Space space = Space::global;
  Kind kind = Kind::load;
  std::uint32_t bytes = 0;

  auto operator<=>(const Place&) const = default;
};

/// What all requests of a place ask for, and the most expensive of them.
struct Totals {
  std::uint64_t requests = 0, lanes = 0;
  std::uint64_t sectors = 0, lines = 0, ideal_sectors = 0;  // of global memory
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;       // of shared memory
  std::uint64_t at_one_address = 0;                         // of atomics: lanes that meet
  struct Worst {
    std::uint64_t cost = 0, least = 0;  // sectors or wavefronts; the least possible
    std::uint64_t block = 0, warp = 0, time = 0;
    Request request;
  } worst;

  void add(const Totals& other);
  /// Keeps the more expensive one, of equals the earlier one.
  void keep(const Worst& other);
};

/// The sectors of global memory that have been touched.
class Footprint {
 public:
  void touch(std::uint64_t sector) {
    const std::uint64_t page = sector / page_sectors;
    if (page != last_page_) {
      last_ = &pages_[page];
      last_page_ = page;
    }
    const std::uint64_t i = sector % page_sectors;
    last_->bits[i / 64] |= std::uint64_t{1} << i % 64;
  }
  void add(const Footprint& other);
  std::uint64_t sectors() const;

 private:
  static constexpr std::uint64_t page_sectors = 4096;
  struct Page {
    std::array<std::uint64_t, page_sectors / 64> bits{};
  };
  std::unordered_map<std::uint64_t, Page> pages_;
  std::uint64_t last_page_ = ~std::uint64_t{0};
  Page* last_ = nullptr;
};

/// Launches of one kernel with the same grid, block and shared memory.
struct KernelCounts {
  std::string kernel;
  dim3 grid, block;
  std::uint64_t shared_bytes = 0;  // of dynamic shared memory
  std::uint64_t launches = 0, barriers = 0;
  std::uint64_t sectors_read = 0, sectors_written = 0;  // different ones, in each launch
  std::map<std::string, std::uint64_t> operations;      // of warps, by their words
  std::map<Place, Totals> places;
};

/// Of places in the code, the lines of the source: "mine.cu:12", the innermost first.
using Lines = std::map<std::uint64_t, std::vector<std::string>>;

/// As JSON; places by their offsets from `image`, where the library begins.
std::string to_json(const std::vector<KernelCounts>& kernels, std::uint64_t image,
                    const Lines& lines);

}  // namespace prenorm::emulator::counter
