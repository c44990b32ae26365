// The emulator: tensor cores, what feeds them, and copies by cp.async.
#include "emulator_testing.hpp"
#include "mma.cuh"

#include <array>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

using namespace prenorm::cuda;
using prenorm::bfloat16;
using prenorm::float16;
using prenorm::emulator::KernelError;

namespace {

/// Where lane 4 g + t holds element i of fragment a, b or c, as the PTX ISA says it.
struct Element {
  unsigned row, column;
};
Element of_a(unsigned lane, unsigned i) {
  const bool lower = (i >= 2 && i < 4) || i >= 6, right = i >= 4;
  return {lane / 4 + (lower ? 8 : 0), lane % 4 * 2 + (i & 1) + (right ? 8 : 0)};
}
Element of_b(unsigned lane, unsigned i) {
  return {lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane / 4};
}
Element of_c(unsigned lane, unsigned i) {
  return {lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + (i & 1)};
}

/// c[16, 8] += a[16, 16] b[16, 8], all row-major, every element put where the PTX ISA says.
template <class T>
__global__ void multiply_fragments(const T* a, const T* b, float* c) {
  const unsigned lane = threadIdx.x;
  std::array<T, 8> own_a;
  std::array<T, 4> own_b;
  float own_c[4];
  for (unsigned i = 0; i < 8; ++i) own_a[i] = a[of_a(lane, i).row * 16 + of_a(lane, i).column];
  for (unsigned i = 0; i < 4; ++i) own_b[i] = b[of_b(lane, i).row * 8 + of_b(lane, i).column];
  for (unsigned i = 0; i < 4; ++i) own_c[i] = c[of_c(lane, i).row * 8 + of_c(lane, i).column];
  const auto pair = [](T low, T high) { return low.bits | static_cast<unsigned>(high.bits) << 16; };
  const unsigned packed[4] = {pair(own_a[0], own_a[1]), pair(own_a[2], own_a[3]),
                              pair(own_a[4], own_a[5]), pair(own_a[6], own_a[7])};
  mma<T>(own_c, packed, pair(own_b[0], own_b[1]), pair(own_b[2], own_b[3]));
  for (unsigned i = 0; i < 4; ++i) c[of_c(lane, i).row * 8 + of_c(lane, i).column] = own_c[i];
}

/// The same with b given as two: [16, 16], row-major or transposed, so that c is [16, 16]; by
/// ldmatrix. Then c narrowed, times b once more: a c is an a.
template <class T>
__global__ void multiply_from_shared(const T* a, const T* b, bool transposed, float* c) {
  T* const shared = dynamic_shared<T>();
  for (unsigned i = threadIdx.x; i < 256; i += 32) {
    shared[i] = a[i];
    shared[256 + i] = b[i];
  }
  __syncwarp();
  const unsigned lane = threadIdx.x;
  unsigned own_a[4], own_b[4];
  ldmatrix(own_a, shared + lane % 16 * 16 + lane / 16 * 8);
  const T* const from = shared + 256;
  if (transposed) {  // rows of what is there are columns of b
    ldmatrix(own_b, from + (lane % 8 + lane / 16 * 8) * 16 + lane / 8 % 2 * 8);
  } else {
    ldmatrix_transposed(own_b, from + lane % 16 * 16 + lane / 16 * 8);
  }
  float own_c[2][4] = {}, again[2][4] = {};
  for (int j = 0; j < 2; ++j) mma<T>(own_c[j], own_a, own_b[2 * j], own_b[2 * j + 1]);
  const unsigned narrowed[4] = {
      pack<T>(own_c[0][0], own_c[0][1]), pack<T>(own_c[0][2], own_c[0][3]),
      pack<T>(own_c[1][0], own_c[1][1]), pack<T>(own_c[1][2], own_c[1][3])};
  for (int j = 0; j < 2; ++j) mma<T>(again[j], narrowed, own_b[2 * j], own_b[2 * j + 1]);
  for (unsigned j = 0; j < 2; ++j) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned at = of_c(lane, i).row * 16 + j * 8 + of_c(lane, i).column;
      c[at] = own_c[j][i];
      c[256 + at] = again[j][i];
    }
  }
}

/// Copies of 0 to 16 bytes: what is there before the wait, and after it.
__global__ void copy_partly(const unsigned char* x, unsigned char* before, unsigned char* after) {
  auto* const shared = dynamic_shared<unsigned char>() + 16 * threadIdx.x;
  x += 16 * threadIdx.x, before += 16 * threadIdx.x, after += 16 * threadIdx.x;
  copy_async(shared, x, static_cast<int>(threadIdx.x));
  for (int i = 0; i < 16; ++i) before[i] = shared[i];
  commit_copies();
  wait_for_copies<0>();
  for (int i = 0; i < 16; ++i) after[i] = shared[i];
}

/// Three groups, of one, none and two copies, and a copy of no group.
__global__ void copy_in_groups(const float* x, int* there) {
  auto* const shared = dynamic_shared<float>();
  const auto count = [&] {
    int copies = 0;
    for (int i = 0; i < 4; ++i) copies += shared[4 * i] == 1 ? 1 : 0;
    *there++ = copies;
  };
  copy_async(shared, x, 16);
  commit_copies();
  commit_copies();
  copy_async(shared + 4, x, 16);
  copy_async(shared + 8, x, 16);
  commit_copies();
  copy_async(shared + 12, x, 16);
  wait_for_copies<3>();
  count();
  wait_for_copies<2>();
  count();
  wait_for_copies<1>();
  count();
  wait_for_copies<0>();
  count();
  commit_copies();
  wait_for_copies<0>();
  count();
}

// ---- what goes wrong ----------------------------------------------------------------------------

__global__ void product_of_few_lanes() {
  if (threadIdx.x >= 24) return;
  float c[4] = {};
  mma<float16>(c, {}, 0, 0);
}
__global__ void product_that_a_lane_misses() {
  float c[4] = {};
  if (threadIdx.x != 9) mma<float16>(c, {}, 0, 0);
  __syncthreads();
}
__global__ void product_meets_a_load() {
  float c[4] = {};
  unsigned to[4];
  if (threadIdx.x < 8) {
    ldmatrix(to, dynamic_shared<float>());
  } else {
    mma<float16>(c, {}, 0, 0);
  }
}
__global__ void misaligned_row() {
  unsigned to[4];
  ldmatrix(to, dynamic_shared<float>() + (threadIdx.x == 3 ? 2 : 0));
}
__global__ void misaligned_copy(const float* x, bool to) {
  copy_async(dynamic_shared<float>() + (to ? 1 : 0), x + (to ? 0 : 1), 12);
}
__global__ void copy_of_more_than_16_bytes(const float* x) {
  copy_async(dynamic_shared<float>(), x, 20);
}
__global__ void never_waits(const float* x) {
  if (threadIdx.x != 2) return;
  for (int i = 0; i < 3; ++i) copy_async(dynamic_shared<float>() + 4 * i, x, 16);
  commit_copies();
  wait_for_copies<1>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(emulator)

/// Small whole numbers, whose sums are exact, and most of them different.
template <class T>
std::vector<T> numbers(std::size_t count, std::size_t step) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = T(static_cast<float>(i * step % 31) - 15);
  return values;
}

/// a[rows, 16] b[16, columns], b by its strides.
template <class A, class B>
std::vector<float> product(const std::vector<A>& a, const std::vector<B>& b, std::size_t b_row,
                           std::size_t b_column, std::size_t columns) {
  std::vector<float> c(a.size() / 16 * columns);
  for (std::size_t i = 0; i < c.size(); ++i) {
    for (std::size_t k = 0; k < 16; ++k) {
      c[i] += static_cast<float>(a[i / columns * 16 + k]) *
              static_cast<float>(b[k * b_row + i % columns * b_column]);
    }
  }
  return c;
}

template <class T>
void check_products() {
  const std::vector<T> a = numbers<T>(256, 7), b = numbers<T>(128, 11);
  std::vector<float> c(128, 0.5f), expected = product(a, b, 8, 1, 8);
  for (float& value : expected) value += 0.5f;
  run(1, 32, multiply_fragments<T>, a.data(), b.data(), c.data());
  BOOST_TEST(c == expected, boost::test_tools::per_element());

  const std::vector<T> square = numbers<T>(256, 5);
  for (const bool transposed : {false, true}) {
    const std::size_t row = transposed ? 1 : 16, column = transposed ? 16 : 1;
    expected = product(a, square, row, column, 16);
    std::vector<T> narrowed;
    for (const float value : expected) narrowed.push_back(T(value));
    const std::vector<float> again = product(narrowed, square, row, column, 16);
    expected.insert(expected.end(), again.begin(), again.end());
    c.assign(512, 0);
    launch({"planted", 1, 32, {}, 512 * sizeof(T)}, multiply_from_shared<T>, a.data(),
           square.data(), transposed, c.data());
    BOOST_TEST(c == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(products_of_fragments) {
  check_products<float16>();
  check_products<bfloat16>();
}

BOOST_AUTO_TEST_CASE(copies_are_there_after_the_wait) {
  std::vector<unsigned char> x(17 * 16), before(x.size()), after(x.size());
  std::iota(x.begin(), x.end(), static_cast<unsigned char>(1));
  launch({"planted", 1, 17, {}, x.size()}, copy_partly, x.data(), before.data(), after.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    BOOST_TEST(before[i] == 0xff);
    BOOST_TEST(after[i] == (i % 16 < i / 16 ? x[i] : 0));
  }
}

BOOST_AUTO_TEST_CASE(groups_of_copies) {
  alignas(16) const float x[4] = {1, 1, 1, 1};
  std::vector<int> there(5);
  launch({"planted", 1, 1, {}, 64}, copy_in_groups, x, there.data());
  BOOST_TEST(there == (std::vector<int>{0, 1, 1, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(operations_of_whole_warps) {
  BOOST_TEST(error_of(1, 32, product_of_few_lanes) ==
             in_thread(0, "mma.sync needs lane 24, which has returned"));
  BOOST_TEST(error_of(1, 20, product_of_few_lanes) ==
             in_thread(0, "mma.sync needs lane 20, which does not exist"));
  BOOST_TEST(
      error_of(1, 32, product_that_a_lane_misses) ==
      in_thread(0, "mma.sync names lane 9, which never takes part: it waits at __syncthreads"));
  BOOST_TEST(error_of(1, 32, product_meets_a_load) ==
             in_thread(0, "ldmatrix meets mma.sync of another lane of its mask"));
}

BOOST_AUTO_TEST_CASE(copies_and_rows_that_no_device_takes) {
  alignas(16) const float x[8] = {};
  const auto error = [](auto... arguments) {
    try {
      launch({"planted", 1, 32, {}, 64}, arguments...);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  BOOST_TEST(error(misaligned_row) ==
             in_thread(3, "the row of an ldmatrix is not aligned to 16 bytes"));
  BOOST_TEST(error(misaligned_copy, x, true) ==
             in_thread(0, "where a cp.async writes is not aligned to 16 bytes"));
  BOOST_TEST(error(misaligned_copy, x, false) ==
             in_thread(0, "what a cp.async reads is not aligned to 16 bytes"));
  BOOST_TEST(error(copy_of_more_than_16_bytes, x) ==
             in_thread(0, "a cp.async reads 20 bytes, of 16"));
  BOOST_TEST(
      error(never_waits, x) ==
      in_thread(2, "returns with 3 copies by cp.async under way, for which it has not waited"));
}

BOOST_AUTO_TEST_SUITE_END()
