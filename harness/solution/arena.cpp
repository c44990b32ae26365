#include "solution/call.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace prenorm::harness {
namespace {

const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
constexpr std::uint64_t alignment = 256;        // of data, promised by prenorm.h
constexpr std::uint64_t least_canary = 256;     // before the data
constexpr std::uint64_t least_guard = 1 << 16;  // between buffers: catches a wrong stride
constexpr std::uint64_t margin = 1 << 20;       // before the first buffer and behind the last
constexpr std::uint64_t guard_pages = 64;       // added to a guard at random
constexpr std::uint64_t margin_pages = 4096;    // added to the first margin at random

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

std::uint64_t random_pages(std::mt19937_64& random, std::uint64_t count) {
  return random() % count * page;
}

/// By a fast generator, splitmix64: the bytes need only differ from what a program would write.
void fill_with_noise(std::byte* to, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    seed += 0x9e3779b97f4a7c15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    std::memcpy(to + i, &z, std::min(bytes - i, sizeof z));
  }
}

/// The canaries before and after the data.
struct Canary {
  std::span<std::byte> before, behind;
};
Canary canary_of(std::byte* pages, const Region& region) {
  const std::uint64_t end = region.data_offset + region.bytes;
  return {{pages, region.data_offset}, {pages + end, region.length - end}};
}

/// Distances count from 1: the byte right after the last one is 1 byte past the end.
std::string before_start(std::uint64_t bytes) {
  return counted(bytes, "byte") + " before the start";
}
std::string past_end(std::uint64_t bytes) { return counted(bytes, "byte") + " past the end"; }

/// Anonymous shared memory of a fixed size: if one side could shrink it, accesses by the other
/// would raise SIGBUS.
int shared_memory(std::uint64_t bytes) {
  const int descriptor = ::memfd_create("prenorm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) throw std::bad_alloc();
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    ::close(descriptor);
    throw std::bad_alloc();
  }
  return descriptor;
}

}  // namespace

Layout lay_out(std::span<const std::size_t> sizes, std::mt19937_64& random) {
  Layout layout;
  layout.regions.resize(sizes.size());
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  layout.span = margin + random_pages(random, margin_pages);
  for (const std::size_t i : order) {
    Region& region = layout.regions[i];
    const std::uint64_t data_and_rest = round_up(sizes[i], alignment);
    region.bytes = sizes[i];
    region.length = round_up(least_canary + data_and_rest, page);
    region.data_offset = region.length - data_and_rest;
    region.file_offset = layout.file_bytes;
    region.address_offset = layout.span;
    layout.file_bytes += region.length;
    layout.span += region.length + least_guard + random_pages(random, guard_pages);
  }
  layout.span += margin;
  return layout;
}

Nearest nearest(const Layout& layout, std::uint64_t offset) {
  Nearest found;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t i = 0; i < layout.regions.size(); ++i) {
    const Region& region = layout.regions[i];
    const std::uint64_t start = region.address_offset + region.data_offset;
    const std::uint64_t end = start + region.bytes;
    const bool before = offset < start;
    const std::uint64_t away = before ? start - offset : offset < end ? 0 : offset - end + 1;
    if (away < least) {
      least = away;
      found = {i, before ? before_start(away) : away > 0 ? past_end(away) : "inside"};
    }
  }
  return found;
}

Arena::Arena(Layout layout, std::mt19937_64& random)
    : layout_(std::move(layout)), descriptor_(shared_memory(layout_.file_bytes)) {
  void* memory = ::mmap(nullptr, layout_.file_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (memory == MAP_FAILED) {
    ::close(descriptor_);
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
  for (const Region& region : layout_.regions) {
    const Canary canary = canary_of(memory_ + region.file_offset, region);
    seeds_.push_back(random());
    fill_with_noise(canary.before.data(), canary.before.size(), seeds_.back());
    fill_with_noise(canary.behind.data(), canary.behind.size(), ~seeds_.back());
  }
}

Arena::~Arena() {
  ::munmap(memory_, layout_.file_bytes);
  ::close(descriptor_);
}

std::byte* Arena::data(std::size_t region) const {
  return memory_ + layout_.regions[region].file_offset + layout_.regions[region].data_offset;
}

std::string Arena::damage(std::size_t i) const {
  const Region& region = layout_.regions[i];
  const Canary canary = canary_of(memory_ + region.file_offset, region);
  std::vector<std::byte> whole(canary.before.size());
  fill_with_noise(whole.data(), whole.size(), seeds_[i]);
  // The farthest byte: of what is written side by side, that is how many there are.
  const auto before = std::mismatch(whole.begin(), whole.end(), canary.before.begin()).first;
  if (before != whole.end()) return before_start(static_cast<std::uint64_t>(whole.end() - before));
  whole.resize(canary.behind.size());
  fill_with_noise(whole.data(), whole.size(), ~seeds_[i]);
  const auto behind = std::mismatch(whole.rbegin(), whole.rend(), canary.behind.rbegin()).first;
  return behind == whole.rend() ? "" : past_end(static_cast<std::uint64_t>(whole.rend() - behind));
}

Poison::Poison(DType dtype, std::mt19937_64& random) : dtype_(dtype) {
  if (!is_floating(dtype)) return;
  const int bits = 8 * static_cast<int>(size_of(dtype));
  int mantissa_bits = 0;
  for (double spacing = epsilon(dtype); spacing < 1; spacing *= 2) ++mantissa_bits;
  const std::uint64_t exponent = ((std::uint64_t{1} << (bits - 1 - mantissa_bits)) - 1)
                                 << mantissa_bits;
  const std::uint64_t digits = (std::uint64_t{1} << (mantissa_bits - 1)) - 1;  // the quiet bit: 0
  const std::uint64_t sign = (random() & 1) << (bits - 1);
  pattern_ = sign | exponent | (random() % digits + 1);
  for (int filled = bits; filled < 64; filled *= 2) pattern_ |= pattern_ << filled;
}

void Poison::fill(std::byte* data, std::size_t bytes, std::mt19937_64& random) const {
  if (!is_floating(dtype_)) {
    fill_with_noise(data, bytes, random());
    return;
  }
  for (std::size_t i = 0; i < bytes; i += sizeof pattern_) {
    std::memcpy(data + i, &pattern_, std::min(bytes - i, sizeof pattern_));
  }
}

namespace {

template <class Bits>
std::int64_t find_bits(const std::byte* data, std::int64_t elements, std::uint64_t pattern) {
  const auto* first = reinterpret_cast<const Bits*>(data);
  constexpr std::int64_t block = 4096;
  for (std::int64_t start = 0; start < elements; start += block) {
    const std::int64_t end = std::min(start + block, elements);
    bool any = false;
    for (std::int64_t i = start; i < end; ++i) any |= first[i] == static_cast<Bits>(pattern);
    if (any) return std::find(first + start, first + end, static_cast<Bits>(pattern)) - first;
  }
  return -1;
}

}  // namespace

std::int64_t Poison::find(const std::byte* data, std::int64_t elements) const {
  if (!is_floating(dtype_)) return -1;
  switch (size_of(dtype_)) {
    case 8: return find_bits<std::uint64_t>(data, elements, pattern_);
    case 4: return find_bits<std::uint32_t>(data, elements, pattern_);
    default: return find_bits<std::uint16_t>(data, elements, pattern_);
  }
}

}  // namespace prenorm::harness
