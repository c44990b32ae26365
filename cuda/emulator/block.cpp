// The threads of a block: their turns, their barriers, and the error when none can go on.
#include "block.hpp"

#include "checker.hpp"
#include "counter.hpp"
#include "races.hpp"

#include <algorithm>
#include <boost/context/preallocated.hpp>
#include <new>
#include <utility>

constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim{}, gridDim{};

namespace prenorm::emulator {

constinit thread_local Block* current_block = nullptr;

void Block::prepare(const Launch& launch, uint3 index) {
  launch_ = &launch;
  blockIdx = index;
  blockDim = launch.block;
  gridDim = launch.grid;
  const dim3 shape = launch.block;
  if (shape.x != shape_.x || shape.y != shape_.y || shape.z != shape_.z) {
    shape_ = shape;
    size_ = std::size_t{shape.x} * shape.y * shape.z;
    for (unsigned i = 0; i < size_; ++i) {
      threads_[i].index = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
    }
  }
  warps_.assign((size_ + warp_size - 1) / warp_size, Warp{});
  for (std::size_t i = 0; i < size_; ++i) {
    threads_[i].state = State::fresh;
    threads_[i].copies.clear();
    threads_[i].copies_made = 0;
    threads_[i].groups = 0;
    warps_[i / warp_size].running |= 1u << i % warp_size;
    if constexpr (RaceFiber::used) {
      // ThreadSanitizer keeps 63 characters.
      const std::string name = "thread " + to_text(threads_[i].index) + ", block " +
                               to_text(blockIdx) + ", kernel " + launch.kernel;
      threads_[i].race.name(name.c_str());
    }
  }
  fresh_ = returned_ = at_barrier_ = gathering_ = 0;
  votes_ = 0;
  absent_ = 0;
  gave_way_ = 0;
  wants_fresh_ = waits_for_others_ = false;
  ready_.clear();
  ready_.reserve(size_);
  abandoned_ = false;
  failure_ = nullptr;
  if (!shared_ || shared_bytes_ != launch.shared_bytes) {
    shared_bytes_ = launch.shared_bytes;
    const std::size_t bytes = std::max<std::size_t>(16, shared_bytes_) + 2 * around_shared;
    void* memory = nullptr;
    if (::posix_memalign(&memory, 256, bytes) != 0) throw std::bad_alloc();
    shared_.reset(static_cast<std::byte*>(memory));
  }
  checker::begin_block(shared(), shared_bytes_);
  const std::uint64_t row = std::uint64_t{index.z} * gridDim.y + index.y;
  counter::begin_block(row * gridDim.x + index.x, size_, shared(), shared_bytes_);
}

void Block::run(const Launch& launch, uint3 index, const std::function<void()>& body,
                Others& others, Cluster* cluster) {
  others_ = &others;
  try {
    prepare(launch, index);
  } catch (...) {
    if (cluster != nullptr) cluster->cannot_begin();
    throw;
  }
  current_block = this;
  cluster_ = cluster;
  const std::uint64_t row = std::uint64_t{index.z} * launch.grid.y + index.y;
  const auto rank = static_cast<unsigned>((row * launch.grid.x + index.x) % launch.cluster);
  if (cluster == nullptr || cluster->begin(rank, this)) run_threads(body);
  if (cluster != nullptr) cluster->end(rank, failure_ != nullptr);
  if (waits_for_others_) others.go_on();
  current_block = nullptr;
  checker::end_block();
  counter::end_block();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Block::run_threads(const std::function<void()>& body) {
  index_of_running_ = &threadIdx;
  scheduler_race_.remember_this();
  RaceFiber::release(&begin_);
  try {
    turns(body);
  } catch (...) {
    failure_ = std::current_exception();
  }
  races::settle();
  abandoned_ = true;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!threads_[i].context) continue;
    if (std::exchange(threads_[i].gave_way, false)) {
      new fiber(std::move(threads_[i].context));  // never resumed, nor destroyed, as in leave()
    } else {
      give_turn(i);
    }
  }
  RaceFiber::acquire(&end_);
}

/// The scheduler: starts threads, and gives turns until all have returned. Waiting threads pass
/// their turn on directly as long as one is ready, so it seldom runs.
void Block::turns(const std::function<void()>& body) {
  while (returned_ < size_ && !failure_) {
    if (!ready_.empty() && !(wants_fresh_ && fresh_ < size_)) {
      give_turn(next_ready());
    } else if (fresh_ < size_) {
      wants_fresh_ = false;
      Stacks& stacks = RaceFiber::used ? threads_[fresh_].own_stacks : stacks_;
      const stack_context stack = stacks.allocate();
      const Stack extent{static_cast<std::byte*>(stack.sp) - stack.size, stack.size};
      // Stacks begin at pages: the lanes' topmost lines would all want the same places of the
      // cache.
      const std::size_t lower = fresh_ % warp_size * 128;
      forget_frames(extent);
      leaving_ = &scheduler_;
      go_to(fiber(std::allocator_arg,
                  boost::context::preallocated(static_cast<std::byte*>(stack.sp) - lower,
                                               stack.size - lower, stack),
                  StackReturn{&stacks},
                  [this, &body](fiber&& left) {
                    arrive_on_stack(nullptr, &scheduler_stack_);
                    *leaving_ = std::move(left);
                    return run_fresh_threads(body);
                  }),
            extent);
      scheduler_race_.enter();
    } else if (gathering_ > 0) {
      release_gathered();
    } else {
      report_stuck();
    }
  }
}

std::size_t Block::next_ready() {
  // Those who have waited longest, in case the others wait for them in a loop.
  if (++turns_ % 65536 == 0) {
    const std::size_t oldest = std::min<std::size_t>(warp_size, ready_.size());
    // Rotated by swaps: memmove would look to ThreadSanitizer like a race of the two threads.
    const auto middle = ready_.begin() + static_cast<std::ptrdiff_t>(oldest);
    std::reverse(ready_.begin(), middle);
    std::reverse(middle, ready_.end());
    std::reverse(ready_.begin(), ready_.end());
  }
  const std::size_t thread = ready_.back();
  ready_.pop_back();
  return thread;
}

/// Called by the scheduler: resumes a thread that has waited.
void Block::give_turn(std::size_t thread) {
  leaving_ = &scheduler_;
  become(thread);
  go_to(std::move(threads_[thread].context), threads_[thread].stack);
  scheduler_race_.enter();
}

/// Switches to another context; returns when some context switches back.
void Block::go_to(fiber&& context, const Stack& stack) {
  running_stack_ = stack;
  counter::on_stack(stack.bottom, stack.bytes);
  void* kept = nullptr;
  leave_stack(&kept, stack);
  fiber left = std::move(context).resume();
  arrive_on_stack(kept, nullptr);
  if (left) *leaving_ = std::move(left);  // one that has ended leaves nothing
}

void Block::become(std::size_t thread) {
  races::settle();
  current_ = thread;
  read_ = read_before_ = nullptr;
  reads_ = all_reads_ = 0;
  *index_of_running_ = threads_[thread].index;
  threads_[thread].state = State::running;
  threads_[thread].race.enter();
  counter::on_thread(thread);
  races::on_thread(thread);
}

/// A fiber runs one thread after the other as long as none of them waits.
fiber Block::run_fresh_threads(const std::function<void()>& body) {
  do {
    run_to_its_end(fresh_++, body);
    RaceFiber::release(&end_);
  } while (fresh_ < size_ && !failure_ && !RaceFiber::used);
  leave_stack(nullptr, scheduler_stack_);
  return std::move(scheduler_);
}

void Block::run_to_its_end(std::size_t thread, const std::function<void()>& body) {
  become(thread);
  RaceFiber::acquire(&begin_);
  try {
    body();
    check_copies();
  } catch (const Abandoned&) {
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (failure_) return;
  threads_[thread].state = State::returned;
  ++returned_;
  gave_way_ = 0;
  Warp& warp = warps_[thread / warp_size];
  warp.running &= ~(1u << thread % warp_size);
  if (warp.running == 0) counter::on_warp_together(thread / warp_size);
  try {
    // Others of its warp may have waited only for this thread.
    for (unsigned lanes = warp.waiting; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(__builtin_ctz(lanes));
      const Thread& waiting = threads_[thread / warp_size * warp_size + lane];
      if (waiting.state == State::in_warp) complete_warp_operation(thread / warp_size, waiting);
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
}

/// Lets others have their turns until this thread is ready again.
void Block::wait() {
  Thread& self = threads_[current_];
  self.stack = running_stack_;
  leaving_ = &self.context;
  if (!ready_.empty() && !wants_fresh_ && !failure_) {
    Thread& next = threads_[next_ready()];
    become(static_cast<std::size_t>(&next - threads_.data()));
    go_to(std::move(next.context), next.stack);
  } else {
    go_to(std::move(scheduler_), scheduler_stack_);
  }
  if (abandoned_) throw Abandoned();
}

void Block::on_read_again(const void* at, const void* code) {
  constexpr unsigned same = 64, all = 4096;  // reads: others have their turns after so many
  if (at != read_ && at != read_before_) {
    read_before_ = std::exchange(read_, at);
    reads_ = 0;
  }
  if (++reads_ >= same) {
    reads_ = 0;
    give_way(code, true);
  } else if (++all_reads_ >= all) {
    all_reads_ = 0;
    give_way(code, false);
  }
}

/// The others of the block have their turns; where they only wait too, other blocks have.
void Block::give_way(const void* code, bool waits) {
  wants_fresh_ = fresh_ < size_;
  if (waits) ++gave_way_;
  const bool all_wait = gave_way_ > 2 * size_;
  if (!wants_fresh_ && gathering_ > 0 && (ready_.empty() || all_wait)) release_gathered();
  const bool alone = ready_.empty() && !wants_fresh_;
  if (waits && (alone || all_wait)) {
    waits_for_others_ = true;
    const Others::Turn turn = others_->have_turns();
    if (turn == Others::Turn::never) {
      record("waits for what no thread does that still runs", code, KernelError::Kind::other);
    } else if (turn == Others::Turn::over && !failure_) {
      failure_ = std::make_exception_ptr(Abandoned());
    }
    if (turn != Others::Turn::again) leave();
  } else if (waits_for_others_) {
    waits_for_others_ = false;
    others_->go_on();
  }
  if (alone) return;
  Thread& self = threads_[current_];
  self.state = State::ready;
  self.gave_way = true;
  ready_.insert(ready_.begin(), current_);
  wait();
  self.gave_way = false;
}

/// The scheduler goes on and ends the block, as an error is recorded. The fiber is never resumed,
/// nor destroyed, which would throw in code that expects nothing.
void Block::leave() {
  leaving_ = new fiber;
  go_to(std::move(scheduler_), scheduler_stack_);
  std::abort();
}

/// Waits for all threads of the block; the counter is told of it where it counts.
Votes Block::meet(bool predicate, const Place& here, bool counted) {
  Thread& self = threads_[current_];
  self.here = here;
  self.state = State::at_barrier;
  if (at_barrier_ == 0) barrier_place_ = here;
  if (here != barrier_place_) report_other_barrier();
  votes_ += predicate ? 1 : 0;
  if (++at_barrier_ == size_) {
    const auto each = [this](auto visit) {
      for (std::size_t i = 0; i < size_; ++i) visit(i);
    };
    synchronize(each, &barrier_);
    if (counted) counter::on_barrier();
    races::on_barrier();
    for (std::size_t i = size_; i-- > 0;) {
      threads_[i].bits = votes_;
      make_ready(i);
    }
    votes_ = 0;
    at_barrier_ = 0;
  } else {
    wait();
  }
  return {static_cast<int>(self.bits), static_cast<int>(size_)};
}

/// One thread waits with those of the other blocks, and its whole block with it: one barrier.
void Block::cluster_barrier(const Place& here) {
  meet(false, here, true);
  if (current_ == 0 && cluster_ != nullptr) {
    RaceFiber::release(cluster_);
    absent_ = cluster_->wait();
    RaceFiber::acquire(cluster_);
  }
  meet(false, here, false);
}

void Block::grid_barrier(const Place& here) {
  threads_[current_].here = here;
  if (!launch_->cooperative) {
    fail(current_, "waits for all blocks, which only a cooperative launch runs together");
  }
  cluster_barrier(here);
  if (absent_ > 0 && cluster_ != nullptr && cluster_->failed()) throw Abandoned();
  if (absent_ > 0) {
    fail(current_, "waits for all blocks, and " + std::to_string(absent_) + " of " +
                       std::to_string(launch_->cluster) + " have returned");
  }
}

std::byte* Block::cluster_peer(std::byte* own, unsigned rank) const {
  const unsigned blocks = cluster_ == nullptr ? 1 : launch_->cluster;
  if (rank >= blocks) {
    fail(current_,
         "asks for block " + std::to_string(rank) + " of a cluster of " + std::to_string(blocks));
  }
  const Block* peer = cluster_ == nullptr ? this : cluster_->block(rank);
  if (peer == nullptr) {
    fail(current_, "asks for shared memory of block " + std::to_string(rank) +
                       " of its cluster, which has returned");
  }
  const std::ptrdiff_t offset = own - shared();
  if (offset < 0 || offset >= static_cast<std::ptrdiff_t>(launch_->shared_bytes)) {
    fail(current_, "asks another block for what is not in dynamic shared memory");
  }
  counter::on_peer(peer->shared(), launch_->shared_bytes);
  return peer->shared() + offset;
}

/// The thread may go on, before all that may already. The one whose turn it is just continues.
void Block::make_ready(std::size_t thread) {
  const bool has_its_turn = thread == current_;
  threads_[thread].state = has_its_turn ? State::running : State::ready;
  gave_way_ = 0;
  if (has_its_turn) return;
  ready_.push_back(thread);
}

std::string Block::what_it_does(const Thread& thread) const {
  switch (thread.state) {
    case State::returned: return "has returned";
    case State::at_barrier: return "waits at __syncthreads";
    case State::in_warp: return std::string("waits in ") + thread.word;
    default: return "runs";
  }
}

/// The running thread has come to another barrier than those that wait.
void Block::report_other_barrier() const {
  const auto first = std::ranges::find_if(threads_, [this](const Thread& each) {
    return each.state == State::at_barrier && each.here == barrier_place_;
  });
  fail(current_, "comes to another __syncthreads than thread " + to_text(first->index) +
                     ", which waits at one" + described(barrier_place_, nullptr) +
                     ": barriers of two branches are two barriers");
}

/// No thread can go on: reports who waits for whom.
void Block::report_stuck() const {
  const auto begin = threads_.begin(), end = begin + static_cast<std::ptrdiff_t>(size_);
  const auto in_state = [](State state) {
    return [state](const Thread& thread) { return thread.state == state; };
  };
  // A warp operation first: threads at a barrier may wait for those in it.
  const auto stuck = std::find_if(begin, end, in_state(State::in_warp));
  if (stuck != end) {
    const auto i = static_cast<std::size_t>(stuck - begin);
    const std::size_t first = i / warp_size * warp_size;
    for (std::size_t other = first; other < std::min(size_, first + warp_size); ++other) {
      const Thread& absent = threads_[other];
      const bool named = (stuck->mask >> (other - first) & 1u) != 0;
      if (!named || (absent.state == State::in_warp && absent.mask == stuck->mask)) continue;
      fail(i, std::string(stuck->word) + " names lane " + std::to_string(other - first) +
                  ", which never takes part: it " + what_it_does(absent));
    }
  }
  const auto waiting = std::find_if(begin, end, in_state(State::at_barrier));
  const auto absent = std::find_if_not(begin, end, in_state(State::at_barrier));
  fail(static_cast<std::size_t>((waiting == end ? begin : waiting) - begin),
       "__syncthreads is reached by " + std::to_string(at_barrier_) + " of " +
           std::to_string(size_) + " threads: thread " + to_text(absent->index) + " " +
           what_it_does(*absent));
}

}  // namespace prenorm::emulator
