// A block of a Hopper kernel on the CPU, for test_attention_wgmma.cpp. The threads are fibers
// that take turns whenever they wait; what a device does by itself, the copies of TMA and the
// products of wgmma, is done as early as it may be or as late, as a test wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace hopper {

/// When copies and products happen: where they are started, or not before somebody cannot go on
/// without. What is right for all of these waits for all that it must wait for.
enum class When { early, late };
inline When copies = When::early, products = When::early;

/// Gives the others their turns until it holds. If it never does, the test fails.
void wait_until(const std::function<bool()>& holds);

/// Waits until no thread can go on but those that wait here: they all do.
void let_others_go_on();

/// The named barriers of the block, which must be left as they were found.
struct NamedBarrier {
  int arrived = 0, round = 0;
};
inline NamedBarrier named_barriers[16];

/// Has TMA do something: now, or when no thread can go on.
void copy(std::function<void()> work);

/// The number of the thread in its block, and the block's shared memory: addresses as wgmma has
/// them count from 48 bytes before it, so that nothing is aligned by chance.
unsigned thread();
std::uint32_t shared_address(const void* at);
std::byte* at_shared_address(std::uint32_t address);

}  // namespace hopper
