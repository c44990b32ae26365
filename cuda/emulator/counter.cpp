// The counter: collects each warp's accesses until its lanes meet, pairs them, and adds them up.
//
// A lane's n-th access by a place in the code, since the lanes of its warp last met, belongs to the
// same request as the n-th one of every other lane. Lanes meet at a barrier, and at a shuffle, vote
// or collective of all lanes that have not returned.
#include "counter.hpp"

#include "counts.hpp"
#include "own_segments.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <prenorm/prenorm.h>
#include <pthread.h>
#include <utility>

namespace prenorm::emulator::counter {
namespace {

/// The library's code and data as they lie in memory.
struct Range {
  std::uint64_t begin = 0, end = 0;
  bool holds(std::uint64_t at) const { return at >= begin && at < end; }
};

std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

Range find_image() {
  Range image;
  const auto find = [](dl_phdr_info* info, std::size_t, void* result) {
    Range whole{~std::uint64_t{0}, 0};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      whole.begin = std::min<std::uint64_t>(whole.begin, info->dlpi_addr + part.p_vaddr);
      whole.end = std::max<std::uint64_t>(whole.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
    if (!whole.holds(address_of(reinterpret_cast<const void*>(&find_image)))) return 0;
    *static_cast<Range*>(result) = {std::min<std::uint64_t>(whole.begin, info->dlpi_addr),
                                    whole.end};
    return 1;
  };
  ::dl_iterate_phdr(find, &image);
  return image;
}

const Range& image() {
  static const Range found = find_image();
  return found;
}

/// From here to the end of the stack of the thread that asks: what lies there when it launches a
/// kernel, such as the kernel's arguments.
Range outer_stack() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {};
  void* bottom = nullptr;
  std::size_t bytes = 0;
  ::pthread_attr_getstack(&attributes, &bottom, &bytes);
  ::pthread_attr_destroy(&attributes);
  return {address_of(__builtin_frame_address(0)), address_of(bottom) + bytes};
}

/// The accesses of a warp by one place since its lanes last met.
struct Pending {
  std::array<std::uint32_t, request_lanes> times{};  // of each lane
  std::vector<Request> requests;
};

struct PendingWarp {
  std::vector<Pending> of_place;
  std::vector<std::uint32_t> touched;  // places with requests
  std::uint64_t together = 0;          // how often its lanes have met
};

/// What one thread of the machine counts of a launch.
class Collector {
 public:
  void begin_launch(const Range& launching_stack) {
    arguments_ = launching_stack;
    places_.clear();
    totals_.clear();
    slots_.assign(slots_.empty() ? 1024 : slots_.size(), Slot{});
    read = written = Footprint();
    operations.clear();
    barriers = 0;
    for (PendingWarp& warp : warps_) warp = PendingWarp();  // of a launch that failed
  }
  void begin_block(std::uint64_t number, std::size_t threads, const std::byte* dynamic,
                   std::size_t bytes) {
    block_ = number;
    warps_.resize(std::max(warps_.size(), (threads + request_lanes - 1) / request_lanes));
    warps_in_block_ = (threads + request_lanes - 1) / request_lanes;
    for (PendingWarp& warp : warps_) warp.together = 0;
    const Segment static_arrays = own_segments().thread_locals;
    static_ = {address_of(static_arrays.begin),
               address_of(static_arrays.begin) + static_arrays.bytes};
    dynamic_ = {address_of(dynamic), address_of(dynamic) + bytes};
    peers_.clear();
  }
  void on_thread(std::size_t thread) {
    warp_ = &warps_[thread / request_lanes];
    lane_ = static_cast<unsigned>(thread % request_lanes);
    last_ = {};
  }
  void on_stack(const void* bottom, std::size_t bytes) {
    stack_ = {address_of(bottom), address_of(bottom) + bytes};
  }

  void on_peer(const std::byte* dynamic, std::size_t bytes) {
    const Range peer{address_of(dynamic), address_of(dynamic) + bytes};
    const bool known = std::ranges::any_of(
        peers_, [&peer](const Range& range) { return range.begin == peer.begin; });
    if (!known) peers_.push_back(peer);
  }

  void on_access(Kind kind, const void* where, std::size_t bytes, const void* code) {
    const std::uint64_t at = address_of(where);
    if (stack_.holds(at) || arguments_.holds(at)) return;
    if (is_repeated({kind, at, bytes, code})) return;
    Place place{address_of(code), Space::global, kind, static_cast<std::uint32_t>(bytes)};
    std::uint64_t offset = at;
    if (dynamic_.holds(at)) {
      place.space = Space::shared;
      offset = at - dynamic_.begin;
    } else if (static_.holds(at)) {
      if (is_the_emulators(at)) return;
      place.space = Space::shared;
      offset = at - static_.begin;
    } else if (image().holds(at)) {
      return;  // constants
    }
    for (const Range& peer : peers_) {
      if (place.space == Space::shared || !peer.holds(at)) continue;
      place.space = Space::shared;
      offset = at - peer.begin;
    }
    // The widest access of a device is of 16 bytes, and each of a power of two: float3 takes three.
    const std::size_t most = std::min<std::size_t>(16, bytes & -bytes);
    for (std::size_t done = 0; done < bytes; done += most) {
      place.bytes = static_cast<std::uint32_t>(most);
      add(place, offset + done);
    }
  }

  void on_warp_together(std::size_t warp) { settle(warp); }
  void on_all_together() {
    for (std::size_t i = 0; i < warps_in_block_; ++i) settle(i);
  }

  void add_to(KernelCounts& counts, Footprint& all_read, Footprint& all_written) const {
    for (std::size_t i = 0; i < places_.size(); ++i) counts.places[places_[i]].add(totals_[i]);
    for (const auto& [word, count] : operations) counts.operations[word] += count;
    counts.barriers += barriers;
    all_read.add(read);
    all_written.add(written);
  }

  std::map<std::string, std::uint64_t> operations;
  std::uint64_t barriers = 0;

 private:
  struct Slot {
    std::uint32_t place = 0;  // its index + 1; 0: none
  };

  /// What a lane did last.
  struct Last {
    Kind kind = Kind::store;
    std::uint64_t at = 0;
    std::size_t bytes = 0;
    const void* code = nullptr;
  };

  /// Whether it loads again the 16-bit number that the lane has just loaded, by another place: the
  /// source names a value twice in one expression, and a compiler for devices keeps it in a
  /// register. The host's does so with numbers, but not with structs, as 16-bit ones are here.
  bool is_repeated(const Last& now) {
    const bool repeated = now.kind == Kind::load && last_.kind == Kind::load &&
                          now.at == last_.at && now.bytes == 2 && last_.bytes == 2 &&
                          now.code != last_.code;
    if (!repeated) last_ = now;
    return repeated;
  }

  static bool is_the_emulators(std::uint64_t at) {
    const auto within = [at](const auto& variable) {
      const std::uint64_t begin = address_of(&variable);
      return at >= begin && at < begin + sizeof variable;
    };
    return within(threadIdx) || within(blockIdx) || within(blockDim) || within(gridDim);
  }

  void add(const Place& place, std::uint64_t at) {
    const std::uint32_t i = index_of(place);
    PendingWarp& warp = *warp_;
    if (warp.of_place.size() <= i) warp.of_place.resize(places_.size());
    Pending& pending = warp.of_place[i];
    const std::uint32_t time = pending.times[lane_]++;
    if (time >= pending.requests.size()) {
      if (pending.requests.empty()) warp.touched.push_back(i);
      pending.requests.emplace_back();
    }
    Request& request = pending.requests[time];
    request.lanes |= 1u << lane_;
    request.addresses[lane_] = at;
  }

  /// The lanes have met: their requests are complete.
  void settle(std::size_t number) {
    PendingWarp& warp = warps_[number];
    for (const std::uint32_t i : warp.touched) {
      Pending& pending = warp.of_place[i];
      for (std::size_t time = 0; time < pending.requests.size(); ++time) {
        count(i, pending.requests[time], number, warp.together << 32 | time);
      }
      pending.requests.clear();
      pending.times.fill(0);
    }
    warp.touched.clear();
    ++warp.together;
  }

  void count(std::uint32_t i, const Request& request, std::uint64_t warp, std::uint64_t time) {
    const Place& place = places_[i];
    Totals& totals = totals_[i];
    ++totals.requests;
    totals.lanes += static_cast<std::uint64_t>(__builtin_popcount(request.lanes));
    Totals::Worst worst{0, 0, block_, warp, time, request};
    if (place.space == Space::global) {
      const bool reads = place.kind == Kind::load || place.kind == Kind::copy;
      Footprint& footprint = reads ? read : written;
      const GlobalCost cost = global_cost(
          request, place.bytes, [&footprint](std::uint64_t sector) { footprint.touch(sector); });
      totals.sectors += cost.sectors;
      totals.lines += cost.lines;
      totals.ideal_sectors += cost.ideal_sectors;
      worst.cost = cost.sectors;
      worst.least = cost.ideal_sectors;
    } else {
      const SharedCost cost = shared_cost(request, place.bytes);
      totals.wavefronts += cost.wavefronts;
      totals.ideal_wavefronts += cost.ideal_wavefronts;
      worst.cost = cost.wavefronts;
      worst.least = cost.ideal_wavefronts;
    }
    if (place.kind == Kind::atomic) totals.at_one_address += most_at_one_address(request);
    totals.keep(worst);
  }

  std::uint32_t index_of(const Place& place) {
    for (std::size_t at = hash(place);; ++at) {
      Slot& slot = slots_[at % slots_.size()];
      if (slot.place == 0) {
        places_.push_back(place);
        totals_.emplace_back();
        slot.place = static_cast<std::uint32_t>(places_.size());
        if (2 * places_.size() > slots_.size()) grow();
        return static_cast<std::uint32_t>(places_.size() - 1);
      }
      if (places_[slot.place - 1] == place) return slot.place - 1;
    }
  }
  static std::size_t hash(const Place& place) {
    const std::uint64_t key = place.code << 8 ^ static_cast<std::uint64_t>(place.kind) << 6 ^
                              static_cast<std::uint64_t>(place.space) << 5 ^ place.bytes;
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> 40);
  }
  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    for (std::uint32_t i = 0; i < places_.size(); ++i) {
      std::size_t at = hash(places_[i]);
      while (slots_[at % slots_.size()].place != 0) ++at;
      slots_[at % slots_.size()].place = i + 1;
    }
  }

  Range stack_, arguments_, static_, dynamic_;
  std::vector<Range> peers_;  // of other blocks of the cluster
  std::uint64_t block_ = 0;
  std::vector<PendingWarp> warps_;
  std::size_t warps_in_block_ = 0;
  PendingWarp* warp_ = nullptr;
  unsigned lane_ = 0;
  Last last_;
  std::vector<Place> places_;
  std::vector<Totals> totals_;
  std::vector<Slot> slots_;
  Footprint read, written;
};

/// The launch that runs, with the collectors of its threads; and all that was counted before.
/// Launches come one at a time.
struct Counter {
  std::mutex mutex;
  std::vector<std::unique_ptr<Collector>> collectors;  // of which the first `used` belong to it
  std::size_t used = 0;
  std::vector<Collector*> free;  // of these, those whose threads have ended
  std::uint64_t launch = 0;      // its number
  Range arguments;
  const Launch* running = nullptr;
  std::vector<KernelCounts> kernels;

  Collector* take() {
    const std::lock_guard lock(mutex);
    if (!free.empty()) {
      Collector* again = free.back();
      free.pop_back();
      return again;
    }
    if (used == collectors.size()) collectors.push_back(std::make_unique<Collector>());
    Collector* taken = collectors[used++].get();
    taken->begin_launch(arguments);
    return taken;
  }
  void give_back(Collector* taken) {
    const std::lock_guard lock(mutex);
    free.push_back(taken);
  }
  KernelCounts& counts_of(const Launch& how);
};

KernelCounts& Counter::counts_of(const Launch& how) {
  const auto same = [](const dim3& a, const dim3& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  };
  const auto found = std::ranges::find_if(kernels, [&](const KernelCounts& known) {
    return known.kernel == how.kernel && same(known.grid, how.grid) &&
           same(known.block, how.block) && known.shared_bytes == how.shared_bytes;
  });
  if (found != kernels.end()) return *found;
  KernelCounts& counts = kernels.emplace_back();
  counts.kernel = how.kernel;
  counts.grid = how.grid;
  counts.block = how.block;
  counts.shared_bytes = how.shared_bytes;
  return counts;
}

Counter& counter() {
  static Counter one;
  return one;
}

// A thread's collector, and the launch that it is of; active while the thread runs a block.
thread_local Collector* collector = nullptr;
thread_local std::uint64_t collector_launch = 0;
thread_local bool active = false;

// Submissions are counted from when somebody has asked for counts, which takes time; others always.
#if defined(PRENORM_EMULATOR_RACES)
bool wanted = false;
#else
bool wanted = true;
#endif

}  // namespace

std::vector<std::vector<std::string>> (*lines_of_places)(const std::vector<std::uint64_t>&) =
    nullptr;

void begin_launch(const Launch& launch) {
  if (!wanted) return;
  Counter& all = counter();
  all.arguments = outer_stack();
  all.running = &launch;
  all.used = 0;
  all.free.clear();
  ++all.launch;
}

void end_launch() {
  Counter& all = counter();
  if (all.running == nullptr) return;
  KernelCounts& counts = all.counts_of(*all.running);
  ++counts.launches;
  Footprint read, written;
  for (std::size_t i = 0; i < all.used; ++i) all.collectors[i]->add_to(counts, read, written);
  counts.sectors_read += read.sectors();
  counts.sectors_written += written.sectors();
  all.running = nullptr;
}

void begin_block(std::uint64_t number, std::size_t threads, const std::byte* dynamic,
                 std::size_t bytes) {
  if (counter().running == nullptr) {
    collector = nullptr;
    return;
  }
  if (collector == nullptr || collector_launch != counter().launch) {
    collector = counter().take();
    collector_launch = counter().launch;
  }
  collector->begin_block(number, threads, dynamic, bytes);
  active = true;
}
void end_block() { active = false; }
void end_thread() {
  if (collector != nullptr) counter().give_back(std::exchange(collector, nullptr));
}

void on_thread(std::size_t thread) {
  if (collector != nullptr) collector->on_thread(thread);
}
void on_stack(const void* bottom, std::size_t bytes) {
  if (collector != nullptr) collector->on_stack(bottom, bytes);
}
void on_peer(const std::byte* dynamic, std::size_t bytes) {
  if (collector != nullptr) collector->on_peer(dynamic, bytes);
}
void on_warp_together(std::size_t warp) {
  if (collector != nullptr) collector->on_warp_together(warp);
}
void on_barrier() {
  if (collector == nullptr) return;
  collector->on_all_together();
  ++collector->barriers;
}
void on_warp_operation(const char* word) {
  if (collector != nullptr) ++collector->operations[word];
}

void on_copy(const AsyncCopy& copy, const void* place) {
  if (collector == nullptr) return;
  if (copy.bytes > 0) collector->on_access(Kind::copy, copy.from, copy.bytes, place);
  collector->on_access(Kind::copy, copy.to, copy.size, place);
}
void on_atomic(const void* at, std::size_t bytes, const void* place) {
  if (collector != nullptr) collector->on_access(Kind::atomic, at, bytes, place);
}

void on_read(const void* at, std::size_t bytes, const void* place) {
  if (active) collector->on_access(Kind::load, at, bytes, place);
}
void on_write(const void* at, std::size_t bytes, const void* place) {
  if (active) collector->on_access(Kind::store, at, bytes, place);
}

}  // namespace prenorm::emulator::counter

/// What <prenorm/prenorm.h> says of prenorm_counts.
extern "C" PRENORM_API const char* prenorm_counts() {
  using namespace prenorm::emulator::counter;
  static std::string text;
  wanted = true;
  Lines lines;
  if (lines_of_places != nullptr) {
    for (const auto& kernel : counter().kernels) {
      for (const auto& [place, totals] : kernel.places) lines[place.code];
    }
    std::vector<std::uint64_t> codes;
    for (const auto& [code, none] : lines) codes.push_back(code);
    auto found = lines_of_places(codes);
    for (std::size_t i = 0; i < found.size(); ++i) lines[codes[i]] = std::move(found[i]);
  }
  text = to_json(counter().kernels, image().begin, lines);
  counter().kernels.clear();
  return text.c_str();
}
