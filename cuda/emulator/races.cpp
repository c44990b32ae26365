// Each word of memory keeps its last write and its last two reads: by whom, when and where. Time is
// a count of barriers, warp operations and atomic operations. Blocks of a launch run one after the
// other (launch.cpp), in one time.
#include "races.hpp"

#include "block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace prenorm::emulator::races {
namespace {

using Time = std::uint32_t;
constexpr std::size_t word_bytes = 4;

struct Access {
  Time time = 0;            // 0: none
  std::uint32_t code = 0;   // counted from the library's beginning
  std::uint32_t block = 0;  // its number in the grid
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

/// The words of global memory that have been accessed.
class GlobalWords {
 public:
  /// nullptr: too much memory is in use already to watch more of it.
  Word* find(std::uintptr_t at) {
    const std::uintptr_t number = at / page_bytes;
    if (number != last_number_ || last_ == nullptr) {
      auto found = pages_.find(number);
      if (found == pages_.end()) {
        if (pages_.size() == most_pages) return nullptr;
        found = pages_.emplace(number, std::make_unique<Page>()).first;
      }
      last_ = found->second.get();
      last_number_ = number;
    }
    return &(*last_)[at % page_bytes / word_bytes];
  }

 private:
  static constexpr std::size_t page_bytes = 1024, most_pages = 1 << 14;
  using Page = std::array<Word, page_bytes / word_bytes>;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::uintptr_t last_number_ = 0;
  Page* last_ = nullptr;
};

/// An access that nothing orders after another one.
struct Race {
  Access before;
  bool wrote = false;      // the one before
  std::uint8_t bytes = 0;  // of a word
  bool writes = false;
  const void* code = nullptr;
  const std::string* memory = nullptr;  // the name of global memory; nullptr: it is shared
};

/// A race by a write that is about to be done. It is an error if it changes what is there: that
/// several threads write the same value is common, and harmless on every device.
struct Doubtful {
  Race race;
  const std::byte* at = nullptr;
  std::array<std::byte, 16> before{};
  std::size_t bytes = 0;
};

/// What one thread of the machine knows of the block that it runs.
struct Watch {
  Area fixed, dynamic;
  std::size_t current = 0;
  Time now = 1;
  Time barrier = 0;    // what happened until then is ordered before everything in this block
  Time launch = 0;     // what happened until then, before everything in this launch
  Time published = 0;  // what other blocks did until then, before everything that this block does
  std::uint32_t block = 0;
  bool reported = false;  // a race of this block
  bool alone = false;  // no other thread of the machine runs a block now: global memory is watched
  std::vector<Time> acquired = std::vector<Time>(most_threads);  // for one thread likewise
  /// seen[i][lane]: until when what that lane of its warp did is ordered before thread i.
  std::vector<std::array<Time, warp_size>> seen =
      std::vector<std::array<Time, warp_size>>(most_threads);

  GlobalWords global;
  Doubtful doubtful;

  bool is_ordered(const Access& before, bool global_memory) const {
    if (global_memory && before.time <= launch) return true;
    if (global_memory && before.block != block) return before.time <= published;
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

std::string block_text(std::uint32_t number) {
  return to_text(
      uint3{number % gridDim.x, number / gridDim.x % gridDim.y, number / gridDim.x / gridDim.y});
}

/// Records the first race of a block as an error: to find a line takes time.
void report(Watch& w, const Race& race) {
  if (std::exchange(w.reported, true)) return;
  const Access& before = race.before;
  const bool same_block = before.block == w.block;
  const std::string here = described({}, race.code);
  const std::string there =
      described({}, before.code == 0 ? nullptr : library_begin() + before.code);
  record_error(std::string(race.writes ? "writes " : "reads ") +
                   std::to_string(std::popcount(race.bytes)) + " bytes of " +
                   (race.memory == nullptr ? "shared memory" : *race.memory) + " that " +
                   (same_block ? "" : "block " + block_text(before.block) + ", ") + "thread " +
                   thread_text(before.thread) + (race.wrote ? " wrote" : " read") +
                   (there == here && !here.empty() ? " in the same line" : there) +
                   (same_block ? ", with no barrier between them" : ", and nothing orders blocks"),
               race.code);
}

std::optional<Race> on_word(Watch& w, Word& word, std::uint8_t bytes, Kind kind, const void* code,
                            const std::string* memory) {
  const auto races_with = [&](const Access& before) {
    return (before.bytes & bytes) != 0 && !w.is_ordered(before, memory != nullptr) &&
           !(before.atomic && kind.atomic);
  };
  if (races_with(word.write)) return Race{word.write, true, bytes, kind.writes, code, memory};
  if (kind.writes) {
    for (const Access* before : {&word.read, &word.earlier_read}) {
      if (races_with(*before)) return Race{*before, false, bytes, true, code, memory};
    }
  }
  const auto offset =
      code == nullptr
          ? 0
          : static_cast<std::uint32_t>(static_cast<const std::byte*>(code) - library_begin());
  const Access access{w.now, offset,     w.block, static_cast<std::uint16_t>(w.current),
                      bytes, kind.atomic};
  if (kind.writes) {
    word.write = access;
  } else {
    const bool again = word.read.thread == access.thread && word.read.block == access.block;
    if (!again) word.earlier_read = word.read;
    word.read = access;
  }
  return std::nullopt;
}

/// Visits the words of an access: visit(number of the word, its bytes), until it returns false.
void each_word(std::size_t offset, std::size_t bytes, auto visit) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t word = (offset + done) / word_bytes, within = (offset + done) % word_bytes;
    const std::size_t here = std::min(word_bytes - within, bytes - done);
    const auto mask = static_cast<std::uint8_t>(((1u << here) - 1) << within);
    if (!visit(word, mask)) return;
    done += here;
  }
}

}  // namespace

void begin_launch(bool alone) {
  if (!watch) watch = std::make_unique<Watch>();
  watch->launch = watch->now++;
  watch->alone = alone;
}

void begin_block(const std::byte* fixed, std::size_t fixed_bytes, const std::byte* dynamic,
                 std::size_t dynamic_bytes) {
  if (!watch) watch = std::make_unique<Watch>();
  watch->fixed.place(fixed, fixed_bytes);
  watch->dynamic.place(dynamic, dynamic_bytes);
  watch->block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  watch->published = watch->launch;
  watch->reported = false;
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
  watch->acquired[watch->current] = watch->now;
  watch->published = watch->now++;
}

void on_fence() {
  if (current_block != nullptr && watch) watch->published = watch->now++;
}

void settle() {
  if (!watch || watch->doubtful.at == nullptr) return;
  Doubtful& write = watch->doubtful;
  const std::byte* at = std::exchange(write.at, nullptr);
  if (!std::equal(at, at + write.bytes, write.before.begin())) report(*watch, write.race);
}

void on_access(const void* at, std::size_t bytes, Kind kind, const void* code) {
  Watch& w = *watch;
  const auto* first = static_cast<const std::byte*>(at);
  Area& area = w.fixed.holds(first) ? w.fixed : w.dynamic;
  each_word(static_cast<std::size_t>(first - area.begin), bytes,
            [&](std::size_t word, std::uint8_t mask) {
              if (word >= area.words.size()) return false;
              const auto race = on_word(w, area.words[word], mask, kind, code, nullptr);
              if (race) report(w, *race);
              return !race;
            });
}

void on_global_access(const void* at, std::size_t bytes, Kind kind, const void* code,
                      const std::string& name) {
  settle();
  Watch& w = *watch;
  if (!w.alone) return;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  each_word(address, bytes, [&](std::size_t number, std::uint8_t mask) {
    Word* const word = w.global.find(number * word_bytes);
    if (word == nullptr) return false;
    const auto race = on_word(w, *word, mask, kind, code, &name);
    if (!race) return true;
    if (!kind.writes || kind.atomic || bytes > w.doubtful.before.size()) {
      report(w, *race);
    } else {
      const auto* here = static_cast<const std::byte*>(at);
      w.doubtful = {*race, here, {}, bytes};
      std::copy(here, here + bytes, w.doubtful.before.begin());
    }
    return false;
  });
}

}  // namespace prenorm::emulator::races
