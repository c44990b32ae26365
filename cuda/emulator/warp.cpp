// Operations of warps, and the asynchronous copies of threads.
#include "block.hpp"

#include "checker.hpp"
#include "counter.hpp"
#include "races.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>

namespace prenorm::emulator {

std::uint64_t Block::warp_operation(const char* word, unsigned mask, std::uint64_t bits, int source,
                                    const Place& here) {
  Thread& self = threads_[current_];
  self.here = here;
  self.bits = bits;
  self.source = source;
  self.combine = nullptr;
  enter_warp_operation(word, mask);
  return self.bits;
}

void Block::collective(const char* word, void* operand, Combine combine, const Place& here) {
  Thread& self = threads_[current_];
  self.here = here;
  self.operand = operand;
  self.combine = combine;
  enter_warp_operation(word, 0xffffffffu);
}

void Block::enter_warp_operation(const char* word, unsigned mask) {
  Thread& self = threads_[current_];
  const unsigned own = 1u << lane();
  if ((mask & own) == 0) {
    fail(current_, std::string(word) + ": the thread is lane " + std::to_string(lane()) +
                       ", which its mask leaves out");
  }
  self.word = word;
  self.mask = mask;
  self.state = State::in_warp;
  warps_[current_ / warp_size].waiting |= own;
  complete_warp_operation(current_ / warp_size, self);
  if (self.state == State::in_warp) wait();
}

/// Completes the operation that `example` waits in, if all lanes that it needs have arrived.
void Block::complete_warp_operation(std::size_t warp_index, const Thread& example) {
  Warp& warp = warps_[warp_index];
  const unsigned lanes = example.mask & warp.running;  // a returned lane is not waited for
  if ((warp.waiting & lanes) != lanes) return;
  const std::size_t first = warp_index * warp_size;
  const auto release = [this, lanes, first, &warp] {
    for (unsigned rest = lanes; rest != 0;) {
      const int last = 31 - __builtin_clz(rest);
      make_ready(first + static_cast<std::size_t>(last));
      rest &= ~(1u << last);
    }
    warp.waiting &= ~lanes;
  };
  const auto each = [lanes, first](auto visit) {
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      visit(first + static_cast<std::size_t>(__builtin_ctz(rest)));
    }
  };
  bool together = true;
  each([&](std::size_t i) { together = together && threads_[i].mask == example.mask; });
  if (!together) return;  // another group of lanes, which may still arrive
  const char* word = example.word;
  each([&](std::size_t i) {
    if (threads_[i].word != word && std::string_view(threads_[i].word) != word) {
      fail(i, std::string(threads_[i].word) + " meets " + word + " of another lane of its mask");
    }
    check_operation(i, lanes);
  });
  if (lanes == warp.running) counter::on_warp_together(warp_index);
  counter::on_warp_operation(word);
  races::on_warp_operation(warp_index, lanes);
  if (example.combine != nullptr) {
    void* operands[warp_size] = {};
    each([&](std::size_t i) { operands[i % warp_size] = threads_[i].operand; });
    example.combine(operands);
    release();
    return;
  }
  // Diverged groups of a warp have different lowest lanes.
  synchronize(each, &threads_[first + static_cast<std::size_t>(__builtin_ctz(lanes))]);
  unsigned votes = 0;
  std::uint64_t given[warp_size];
  each([&](std::size_t i) {
    given[i % warp_size] = threads_[i].bits;
    if (threads_[i].bits != 0) votes |= 1u << i % warp_size;
  });
  each([&](std::size_t i) {
    Thread& thread = threads_[i];
    thread.bits = thread.source < 0 ? votes : given[thread.source];
  });
  release();
}

/// Lanes meet by where they are: the last of a warp lets all go on. Where the others wait for
/// something else the scheduler lets those go on that have come, once no thread can run.
unsigned Block::converged_lanes(const char* word, const Place& here) {
  Thread& self = threads_[current_];
  self.here = here;
  self.word = word;
  self.state = State::gathering;
  ++gathering_;
  const unsigned lanes = gathered_with(current_);
  if (lanes != warps_[current_ / warp_size].running) {
    wait();
    return self.mask;
  }
  gathering_ -= static_cast<std::size_t>(__builtin_popcount(lanes));
  const std::size_t first = current_ / warp_size * warp_size;
  for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
    const std::size_t i = first + static_cast<std::size_t>(__builtin_ctz(rest));
    threads_[i].mask = lanes;
    make_ready(i);
  }
  return lanes;
}

/// The lanes of its warp that gather at the same place.
unsigned Block::gathered_with(std::size_t thread) const {
  const Place& here = threads_[thread].here;
  const std::size_t first = thread / warp_size * warp_size;
  unsigned lanes = 0;
  for (std::size_t i = first; i < std::min(size_, first + warp_size); ++i) {
    const Thread& other = threads_[i];
    if (other.state == State::gathering && other.here.line() == here.line() &&
        std::string_view(other.here.file_name()) == here.file_name()) {
      lanes |= 1u << i % warp_size;
    }
  }
  return lanes;
}

/// Called by the scheduler when no thread can run but for these.
void Block::release_gathered() {
  for (std::size_t i = size_; i-- > 0;) {
    if (threads_[i].state == State::gathering) threads_[i].mask = gathered_with(i);
  }
  for (std::size_t i = size_; i-- > 0;) {
    if (threads_[i].state != State::gathering) continue;
    threads_[i].state = State::ready;
    ready_.push_back(i);
  }
  gathering_ = 0;
}

/// A lane that does not take part has no value to give.
void Block::check_operation(std::size_t i, unsigned lanes) const {
  const Thread& thread = threads_[i];
  int source = thread.source;
  if (thread.combine != nullptr) source = ~lanes == 0 ? -1 : __builtin_ctz(~lanes);
  if (source < 0 || (lanes >> source & 1u) != 0) return;
  const std::size_t other = i / warp_size * warp_size + static_cast<std::size_t>(source);
  std::string why = "is not in its mask";
  if (other >= size_) why = "does not exist";
  if (other < size_ && threads_[other].state == State::returned) why = "has returned";
  fail(i, std::string(thread.word) + (thread.combine != nullptr ? " needs" : " reads") + " lane " +
              std::to_string(source) + ", which " + why);
}

void Block::begin_copy(const AsyncCopy& copy) {
  Thread& self = threads_[current_];
  self.copies.emplace_back(copy, self.groups);
  checker::forget(copy.to, copy.size);
}

bool Block::next_copy(int groups_left, AsyncCopy* copy) {
  Thread& self = threads_[current_];
  if (self.copies_made == self.copies.size()) return false;
  const auto& [next, group] = self.copies[self.copies_made];
  if (group + groups_left >= self.groups) return false;
  *copy = next;
  // Where kernels are compiled for the counter, the write itself reports nothing.
  checker::on_write(next.to, next.size, nullptr, false);
  if (++self.copies_made == self.copies.size()) {
    self.copies.clear();
    self.copies_made = 0;
  }
  return true;
}

/// Called by a thread that returns.
void Block::check_copies() const {
  const Thread& self = threads_[current_];
  const std::size_t left = self.copies.size() - self.copies_made;
  if (left > 0) {
    fail(current_, "returns with " + std::to_string(left) +
                       " copies by cp.async under way, for which it has not waited");
  }
}

namespace {
char fences = 0;  // its address, for ThreadSanitizer
}

void fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  RaceFiber::release(&fences);
  races::on_fence();
}
AtomicOperation::~AtomicOperation() {
  RaceFiber::acquire(&fences);
  races::on_atomic_operation();
}

}  // namespace prenorm::emulator
