// Where a tensor's elements lie: in memory of its own, or in the caller's.
//
// A call through the C interface brings the memory of its inputs and of its result. Tensors of the
// inputs read it where it is. The first tensor as large as the result is allocated in the caller's
// output. A function that allocates only its result therefore writes it in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace prenorm::fast {

/// While one exists, the first tensor of this thread that needs just this many bytes lies in this
/// memory; when that tensor is gone, the next one does. All of them must be gone before it is, and
/// the inputs of the call must not overlap it.
class MemoryForResult {
 public:
  MemoryForResult(void* data, std::size_t bytes)
      : data_(data), bytes_(bytes), outer_(std::exchange(offer(), this)) {}
  ~MemoryForResult() { offer() = outer_; }
  MemoryForResult(const MemoryForResult&) = delete;
  MemoryForResult& operator=(const MemoryForResult&) = delete;

  /// The memory, if there is one on offer that is free and of this size, else nullptr.
  static void* take(std::size_t bytes) {
    MemoryForResult* const here = offer();
    if (here == nullptr || here->taken_ || here->bytes_ != bytes) return nullptr;
    here->taken_ = true;
    return here->data_;
  }
  static void give_back(const void* data) {
    MemoryForResult* const here = offer();
    if (here != nullptr && here->data_ == data) here->taken_ = false;
  }

 private:
  static MemoryForResult*& offer() {
    static thread_local MemoryForResult* offer = nullptr;
    return offer;
  }

  void* data_;
  std::size_t bytes_;
  bool taken_ = false;
  MemoryForResult* outer_;
};

/// The storage of an xtensor container: n elements, which are not set before they are assigned.
template <class T, class Allocator = std::allocator<T>>
class Memory {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using allocator_type = Allocator;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<T*>;
  using const_reverse_iterator = std::reverse_iterator<const T*>;

  Memory() = default;
  explicit Memory(size_type size) : size_(size) {
    if (size == 0) return;
    if (void* const lent = MemoryForResult::take(size * sizeof(T))) {
      data_ = {static_cast<T*>(lent), Release{Owner::call}};
    } else {
      data_ = {static_cast<T*>(::operator new(size * sizeof(T), alignment)), Release{Owner::self}};
    }
  }
  Memory(size_type size, const T& value, const Allocator& = {}) : Memory(size) {
    std::fill_n(data(), size, value);
  }
  Memory(const Memory& other) : Memory(other.size_) { std::copy_n(other.data(), size_, data()); }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory other) noexcept {
    swap(other);
    return *this;
  }

  /// Elements that stay the caller's and are only read. (A copy has memory of its own.)
  static Memory of_caller(const T* data, size_type size) {
    Memory memory;
    memory.size_ = size;
    memory.data_ = {const_cast<T*>(data), Release{Owner::caller}};
    return memory;
  }

  void resize(size_type size) {
    if (size != size_) *this = Memory(size);
  }
  void swap(Memory& other) noexcept {
    std::swap(size_, other.size_);
    data_.swap(other.data_);
  }

  size_type size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  T& operator[](size_type i) { return data()[i]; }
  const T& operator[](size_type i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  iterator begin() noexcept { return data(); }
  iterator end() noexcept { return data() + size_; }
  const_iterator begin() const noexcept { return data(); }
  const_iterator end() const noexcept { return data() + size_; }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
  const_reverse_iterator crbegin() const noexcept { return rbegin(); }
  const_reverse_iterator crend() const noexcept { return rend(); }

 private:
  static constexpr std::align_val_t alignment{64};  // a cache line, and the widest SIMD register

  enum class Owner { self, caller, call };
  struct Release {
    Owner owner = Owner::self;
    void operator()(T* data) const {
      if (owner == Owner::self) ::operator delete(data, alignment);
      if (owner == Owner::call) MemoryForResult::give_back(data);
    }
  };

  size_type size_ = 0;
  std::unique_ptr<T[], Release> data_;
};

template <class T, class Allocator>
bool operator==(const Memory<T, Allocator>& a, const Memory<T, Allocator>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace prenorm::fast
