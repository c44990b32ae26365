// Each word of shared memory keeps its last write and its last two reads: by whom, when and where.
// Time is a count of the block's barriers, warp operations and atomic operations.
#include "races.hpp"

#include "block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <vector>

namespace prenorm::emulator::races {
namespace {

using Time = std::uint32_t;
constexpr std::size_t word_bytes = 4;

struct Access {
  Time time = 0;           // 0: none
  std::uint32_t code = 0;  // counted from the library's beginning
  std::uint16_t thread = 0;
  std::uint8_t bytes = 0;  // a bit each
  bool atomic = false;
};

struct Word {
  Access write, read, earlier_read;  // reads by different threads
};

struct Area {
  const std::byte* begin = nullptr;
  std::vector<Word> words;

  void place(const std::byte* at, std::size_t bytes) {
    begin = at;
    // Old entries stay: they are from before the block's beginning.
    words.resize(std::max(words.size(), bytes / word_bytes + 2));
  }
  bool holds(const std::byte* at) const {
    return at >= begin && at < begin + (words.size() - 1) * word_bytes;
  }
};

/// What one thread of the machine knows of the block that it runs.
struct Watch {
  Area fixed, dynamic;
  std::size_t current = 0;
  Time now = 1;
  Time barrier = 0;  // what happened until then is ordered before everything
  std::vector<Time> acquired = std::vector<Time>(most_threads);  // for one thread likewise
  /// seen[i][lane]: until when what that lane of its warp did is ordered before thread i.
  std::vector<std::array<Time, warp_size>> seen =
      std::vector<std::array<Time, warp_size>>(most_threads);

  bool is_ordered(const Access& before) const {
    if (before.time <= barrier || before.thread == current) return true;
    if (before.time <= acquired[current]) return true;
    return before.thread / warp_size == current / warp_size &&
           before.time <= seen[current][before.thread % warp_size];
  }
};

// A pointer, for static shared arrays lie in the same segment.
thread_local std::unique_ptr<Watch> watch;

const std::byte* library_begin() {
  static const auto* begin = [] {
    Dl_info object{};
    ::dladdr(reinterpret_cast<const void*>(&library_begin), &object);
    return static_cast<const std::byte*>(object.dli_fbase);
  }();
  return begin;
}

std::string thread_text(std::size_t thread) {
  return to_text(uint3{static_cast<unsigned>(thread) % blockDim.x,
                       static_cast<unsigned>(thread) / blockDim.x % blockDim.y,
                       static_cast<unsigned>(thread) / blockDim.x / blockDim.y});
}

void report(const Access& before, bool wrote, std::uint8_t bytes, bool writes, const void* code) {
  const auto count = [](std::uint8_t mask) { return std::to_string(std::popcount(mask)); };
  const void* other = before.code == 0 ? nullptr : library_begin() + before.code;
  const std::string place = described({}, other);
  record_error(std::string(writes ? "writes " : "reads ") + count(bytes) +
                   " bytes of shared memory that thread " + thread_text(before.thread) +
                   (wrote ? " wrote" : " read") + place + ", with no barrier between them",
               code);
}

void on_word(Watch& w, Word& word, std::uint8_t bytes, Kind kind, const void* code) {
  const auto races_with = [&](const Access& before) {
    return (before.bytes & bytes) != 0 && !w.is_ordered(before) && !(before.atomic && kind.atomic);
  };
  if (races_with(word.write)) return report(word.write, true, bytes, kind.writes, code);
  if (kind.writes) {
    for (const Access* before : {&word.read, &word.earlier_read}) {
      if (races_with(*before)) return report(*before, false, bytes, true, code);
    }
  }
  const auto offset =
      code == nullptr
          ? 0
          : static_cast<std::uint32_t>(static_cast<const std::byte*>(code) - library_begin());
  const Access access{w.now, offset, static_cast<std::uint16_t>(w.current), bytes, kind.atomic};
  if (kind.writes) {
    word.write = access;
  } else {
    if (word.read.thread != access.thread) word.earlier_read = word.read;
    word.read = access;
  }
}

}  // namespace

void begin_block(const std::byte* fixed, std::size_t fixed_bytes, const std::byte* dynamic,
                 std::size_t dynamic_bytes) {
  if (!watch) watch = std::make_unique<Watch>();
  watch->fixed.place(fixed, fixed_bytes);
  watch->dynamic.place(dynamic, dynamic_bytes);
  on_barrier();
}

void on_thread(std::size_t thread) { watch->current = thread; }

void on_barrier() {
  if (watch) watch->barrier = watch->now++;
}

void on_warp_operation(std::size_t warp, unsigned lanes) {
  Watch& w = *watch;
  std::array<Time, warp_size> all{};
  const auto each = [&](auto visit) {
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
      visit(lane, w.seen[warp * warp_size + lane]);
    }
  };
  each([&](std::size_t, const auto& seen) {
    std::ranges::transform(all, seen, all.begin(), [](Time a, Time b) { return std::max(a, b); });
  });
  each([&](std::size_t lane, const auto&) { all[lane] = w.now; });
  each([&](std::size_t, auto& seen) { seen = all; });
  ++w.now;
}

void on_atomic_operation() {
  if (current_block == nullptr || !watch) return;  // the host may do one too
  watch->acquired[watch->current] = watch->now++;
}

void on_access(const void* at, std::size_t bytes, Kind kind, const void* code) {
  Watch& w = *watch;
  const auto* first = static_cast<const std::byte*>(at);
  Area& area = w.fixed.holds(first) ? w.fixed : w.dynamic;
  const auto offset = static_cast<std::size_t>(first - area.begin);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t word = (offset + done) / word_bytes, within = (offset + done) % word_bytes;
    const std::size_t here = std::min(word_bytes - within, bytes - done);
    const auto mask = static_cast<std::uint8_t>(((1u << here) - 1) << within);
    if (word < area.words.size()) on_word(w, area.words[word], mask, kind, code);
    done += here;
  }
}

}  // namespace prenorm::emulator::races
