// The emulator's counter, by kernels whose requests, sectors, lines and wavefronts can be worked
// out by hand: each expected number stands beside the kernel's name with the reason.
#include "cluster.cuh"
#include "device.cuh"
#include "launch.cuh"
#include "mma.cuh"
#include "profile/counts.hpp"

#include <boost/test/unit_test.hpp>
#include <malloc.h>

#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

using namespace prenorm::cuda;

extern "C" const char* prenorm_counts();

namespace {

// ---- tensors at whole lines, and the counts of one launch ---------------------------------------

/// Elements aligned to 256 bytes, as tensors are; zeros.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count)
      : data_(static_cast<T*>(std::aligned_alloc(256, (count * sizeof(T) + 511) / 256 * 256))) {
    std::fill_n(data_.get(), count, T());
  }
  T* get() const { return data_.get(); }
  operator T*() const { return get(); }
  T& operator[](int i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
};

/// Loads or stores of global memory.
struct Global {
  std::uint64_t requests = 0, sectors = 0, lines = 0, ideal_sectors = 0;
  bool operator==(const Global&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Global& g) {
  return out << g.requests << " requests, " << g.sectors << " sectors, " << g.lines << " lines, "
             << g.ideal_sectors << " would do";
}

struct Counts {
  Global load, store;
  std::uint64_t load_lanes = 0;
  std::uint64_t shared_requests = 0, wavefronts = 0;
  std::uint64_t atomic_requests = 0, at_one_address = 0;
  std::uint64_t launches = 0, barriers = 0, shuffles = 0, products = 0;
  std::uint64_t sectors_read = 0, sectors_written = 0;
};

std::string last_text;

/// Of all launches of `work`, which are of one kernel and shape.
Counts counts_of_all(auto work) {
  using prenorm::harness::profile::Space;
  prenorm_counts();
  work();
  last_text = prenorm_counts();
  const auto kernels = prenorm::harness::profile::parse_counts(last_text);
  const auto& kernel = kernels.at(0);
  const auto global = [](const prenorm::harness::profile::Traffic& t) {
    return Global{t.requests, t.sectors, t.lines, t.ideal_sectors};
  };
  Counts counts;
  counts.load = global(kernel.loads(Space::global));
  counts.store = global(kernel.stores(Space::global));
  counts.load_lanes = kernel.loads(Space::global).lanes;
  counts.shared_requests = kernel.shared().requests;
  counts.wavefronts = kernel.shared().wavefronts;
  counts.atomic_requests = kernel.atomics(Space::global).requests;
  counts.at_one_address = kernel.atomics(Space::global).at_one_address;
  counts.launches = kernel.launches;
  counts.barriers = kernel.barriers;
  counts.shuffles = kernel.shuffles();
  counts.products = kernel.operations_named("mma.sync");
  counts.sectors_read = kernel.sectors_read;
  counts.sectors_written = kernel.sectors_written;
  return counts;
}

struct Shape {
  std::int64_t blocks;
  unsigned threads;
  std::size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
Counts counts_of(Shape shape, void (*kernel)(Parameters...), const Arguments&... arguments) {
  return counts_of_all([&] {
    launch({"counted", shape.blocks, shape.threads, {}, shape.shared_bytes}, kernel,
           static_cast<Parameters>(arguments)...);
  });
}

template <class... Parameters, class... Arguments>
Counts counts_of(std::int64_t blocks, unsigned threads, void (*kernel)(Parameters...),
                 const Arguments&... arguments) {
  return counts_of(Shape{blocks, threads}, kernel, arguments...);
}

constexpr int n = 1024;  // elements of a tensor, unless said otherwise: 32 warps' worth

// ---- copies -------------------------------------------------------------------------------------

/// N elements of a thread in one access.
template <int N>
__global__ void copy_by(const float* x, float* y) {
  const auto i = global_thread() * N;
  const auto vector = load_vector<N>(x + i);
  store_vector(y + i, vector);
}

/// Element i from i * stride + offset.
__global__ void copy_strided(const float* x, float* y, int stride, int offset) {
  const auto i = global_thread();
  y[i] = x[i * stride + offset];
}

__global__ void square(const float* x, float* y) {
  const auto i = global_thread();
  y[i] = x[i] * x[i];
}

__global__ void store_behind_cluster_barrier(float* y) {
  cluster_barrier();
  y[global_thread()] = 1;
}

template <class T>
__global__ void square_of_halves(const T* x, T* y) {
  const auto i = global_thread();
  y[i] = narrow<T>(widen(x[i]) * widen(x[i]));
}

__global__ void accumulate(const float* x, float* y) { y[global_thread()] += x[global_thread()]; }

__global__ void broadcast(const float* x, float* y) { y[global_thread()] = x[0]; }

__global__ void gather(const int* index, const float* x, float* y) {
  y[global_thread()] = x[index[global_thread()]];
}

// ---- half of the lanes, loops -------------------------------------------------------------------

__global__ void even_lanes(const float* x, float* y) {
  const auto i = global_thread();
  if (i % 2 == 0) y[i] = x[i];
}

__global__ void first_half(const float* x, float* y) {
  const auto i = global_thread();
  if (threadIdx.x % 32 < 16) y[i] = x[i];
}

__global__ void either_side(const float* x, float* y) {
  const auto i = global_thread();
  if (i % 2 == 0) {
    y[i] = x[i] + 1;
  } else {
    y[i] = x[i] - 1;
  }
}

/// Lane i reads i + 1 elements of a row, then all read one more.
__global__ void triangle(const float* x, float* y) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned i = 0; i <= lane; ++i) sum += x[i * 32 + lane];
  y[lane] = sum + x[lane];
}

__global__ void conditional(const float* x, float* y, int below) {
  const auto i = global_thread();
  float value = 0;
  if (i < below) value = x[i];
  y[i] = value;
}

// ---- sums of rows -------------------------------------------------------------------------------

__global__ void row_sum_by_thread(const float* x, float* y, int columns) {
  const auto row = global_thread();
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[row * columns + i];
  y[row] = sum;
}

__global__ void row_sum_by_shuffles(const float* x, float* y, int columns) {
  float sum = 0;
  for (unsigned i = threadIdx.x; i < static_cast<unsigned>(columns); i += 32) {
    sum += x[blockIdx.x * static_cast<unsigned>(columns) + i];
  }
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bits);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

__global__ void row_sum_by_block(const float* x, float* y, int columns) {
  __shared__ float part[128];
  float sum = 0;
  for (unsigned i = threadIdx.x; i < static_cast<unsigned>(columns); i += 128) {
    sum += x[blockIdx.x * static_cast<unsigned>(columns) + i];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

// ---- transposes ---------------------------------------------------------------------------------

/// A matrix of 32 x 32.
__global__ void transpose_naive(const float* x, float* y) {
  for (unsigned row = 0; row < 32; ++row) y[threadIdx.x * 32 + row] = x[row * 32 + threadIdx.x];
}

template <int width>
__global__ void transpose_tile(const float* x, float* y) {
  __shared__ float tile[32][width];
  for (unsigned row = 0; row < 32; ++row) tile[row][threadIdx.x] = x[row * 32 + threadIdx.x];
  __syncthreads();
  for (unsigned row = 0; row < 32; ++row) y[row * 32 + threadIdx.x] = tile[threadIdx.x][row];
}

// ---- shared memory ------------------------------------------------------------------------------

template <int N>
__global__ void shared_by(float* y) {
  auto* shared = dynamic_shared<float>();
  Vector<float, N> vector{};
  store_shared(shared + threadIdx.x * N, vector);
  __syncwarp();
  vector = load_vector<N>(shared + threadIdx.x * N);
  y[threadIdx.x] = vector.element[0];
}

__global__ void shared_strided(float* y, int stride) {
  auto* shared = dynamic_shared<float>();
  y[threadIdx.x] = shared[threadIdx.x * static_cast<unsigned>(stride)];
}

__global__ void shared_halves(float* y) {
  auto* shared = dynamic_shared<unsigned short>();
  y[threadIdx.x] = shared[threadIdx.x];
}

// ---- atomics, copies, tensor cores --------------------------------------------------------------

__global__ void histogram(const int* x, int* bins) { atomicAdd(bins + x[global_thread()], 1); }

__global__ void histogram_of_floats(const int* x, float* bins) {
  atomicAdd(bins + x[global_thread()], 1.0f);
}

__global__ void copy_through_shared(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  copy_async(shared + threadIdx.x * 4, x + threadIdx.x * 4, 16);
  commit_copies();
  wait_for_copies<0>();
  y[threadIdx.x] = shared[threadIdx.x];
}

__global__ void one_product(float* y) {
  auto* shared = dynamic_shared<unsigned short>();
  unsigned a[4];
  ldmatrix(a, shared + threadIdx.x * 8);
  float c[4] = {};
  mma<prenorm::float16>(c, a, a[0], a[1]);
  y[threadIdx.x] = c[0];
}

/// A struct of arguments and an array of a thread's own are no memory of the kernel.
struct Arguments {
  const float* x;
  float* y;
  int order[32];
};
__global__ void by_arguments(Arguments arguments) {
  float own[8];
  for (int i = 0; i < 8; ++i) own[(arguments.order[i] + 3) % 8] = arguments.x[threadIdx.x];
  arguments.y[threadIdx.x] = own[arguments.order[threadIdx.x] % 8];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(counter)

BOOST_AUTO_TEST_CASE(copies_of_4_8_and_16_bytes) {
  // 1024 floats are 4096 bytes: 128 sectors and 32 lines, whatever the width.
  const Buffer<float> x(n), y(n);
  const auto by_4 = counts_of(8, 128, copy_by<1>, x, y);
  BOOST_TEST(by_4.load == (Global{32, 128, 32, 128}));  // 32 warps, 128 bytes each
  BOOST_TEST(by_4.store == (Global{32, 128, 32, 128}));
  const auto by_8 = counts_of(4, 128, copy_by<2>, x, y);
  BOOST_TEST(by_8.load == (Global{16, 128, 32, 128}));  // 256 bytes each
  BOOST_TEST(by_8.store == (Global{16, 128, 32, 128}));
  const auto by_16 = counts_of(2, 128, copy_by<4>, x, y);
  BOOST_TEST(by_16.load == (Global{8, 128, 32, 128}));  // 512 bytes each
  BOOST_TEST(by_16.store == (Global{8, 128, 32, 128}));
}

BOOST_AUTO_TEST_CASE(strides_and_offsets) {
  const Buffer<float> x(32 * n + 1), y(n);
  // A warp spans 32 * stride * 4 bytes; from a stride of 8 on each lane has a sector of its own.
  BOOST_TEST(counts_of(8, 128, copy_strided, x, y, 2, 0).load == (Global{32, 32 * 8, 32 * 2, 128}));
  BOOST_TEST(counts_of(8, 128, copy_strided, x, y, 3, 0).load ==
             (Global{32, 32 * 12, 32 * 3, 128}));
  BOOST_TEST(counts_of(8, 128, copy_strided, x, y, 8, 0).load ==
             (Global{32, 32 * 32, 32 * 8, 128}));
  BOOST_TEST(counts_of(8, 128, copy_strided, x, y, 32, 0).load ==
             (Global{32, 32 * 32, 32 * 32, 128}));
  // One element on: each warp reaches into a fifth sector and a second line.
  BOOST_TEST(counts_of(8, 128, copy_strided, x, y, 1, 1).load == (Global{32, 32 * 5, 64, 128}));
  // Eight elements on: whole sectors, but two lines.
  BOOST_TEST(counts_of(8, 128, copy_strided, x, y, 1, 8).load == (Global{32, 32 * 4, 64, 128}));
}

BOOST_AUTO_TEST_CASE(what_the_source_reads_once_is_read_once) {
  const Buffer<float> x(n), y(n);
  BOOST_TEST(counts_of(8, 128, square, x, y).load.requests == 32u);  // x[i] twice in one expression
  const Buffer<prenorm::bfloat16> a(n), b(n);
  const auto halves = counts_of(8, 128, square_of_halves<prenorm::bfloat16>, a, b);
  BOOST_TEST(halves.load == (Global{32, 64, 32, 64}));
  BOOST_TEST(halves.store == (Global{32, 64, 32, 64}));
  const auto sum = counts_of(8, 128, accumulate, x, y);
  BOOST_TEST(sum.load.requests == 64u);  // x and y
  BOOST_TEST(sum.store.requests == 32u);
}

BOOST_AUTO_TEST_CASE(a_broadcast_and_gathers) {
  const Buffer<float> x(n), y(n);
  BOOST_TEST(counts_of(8, 128, broadcast, x, y).load == (Global{32, 32, 32, 32}));
  // Every lane a line of its own; the indices are 128 bytes.
  Buffer<int> index(32);
  for (int i = 0; i < 32; ++i) index[i] = i * 7 % 32 * 32;
  BOOST_TEST(counts_of(1, 32, gather, index, x, y).load == (Global{2, 4 + 32, 1 + 32, 4 + 4}));
  // Another order of neighbours costs nothing.
  for (int i = 0; i < 32; ++i) index[i] = i * 7 % 32;
  BOOST_TEST(counts_of(1, 32, gather, index, x, y).load == (Global{2, 8, 2, 8}));
  // Pairs of lanes read the same element.
  for (int i = 0; i < 32; ++i) index[i] = i / 2;
  BOOST_TEST(counts_of(1, 32, gather, index, x, y).load == (Global{2, 4 + 2, 2, 4 + 2}));
}

BOOST_AUTO_TEST_CASE(lanes_that_are_off) {
  const Buffer<float> x(n), y(n);
  const auto even = counts_of(8, 128, even_lanes, x, y);
  BOOST_TEST(even.load == (Global{32, 128, 32, 64}));  // 16 lanes ask for 64 bytes, 4 sectors apart
  BOOST_TEST(even.load_lanes == 512u);
  const auto half = counts_of(8, 128, first_half, x, y);
  BOOST_TEST(half.load == (Global{32, 64, 32, 64}));
  BOOST_TEST(half.load_lanes == 512u);
  // Two branches are two requests.
  BOOST_TEST(counts_of(8, 128, either_side, x, y).load == (Global{64, 256, 64, 128}));
  // A load that a branch guards is not made without it: 10 lanes of one warp, 40 bytes.
  const auto guarded = counts_of(8, 128, conditional, x, y, 10);
  BOOST_TEST(guarded.load == (Global{1, 2, 1, 2}));
  BOOST_TEST(guarded.store.requests == 32u);
  // A last warp that is not full.
  BOOST_TEST(counts_of(1, 40, copy_by<1>, x, y).load == (Global{2, 5, 2, 5}));
}

BOOST_AUTO_TEST_CASE(loops_of_different_lengths) {
  const Buffer<float> x(n), y(n);
  // Turn i has lanes i to 31: 32 - i lanes of a row, from lane i on. Sectors: 8 turns of 4, 8 of 3,
  // ...
  const auto counts = counts_of(1, 32, triangle, x, y);
  BOOST_TEST(counts.load == (Global{32 + 1, 8 * (4 + 3 + 2 + 1) + 4, 32 + 1, 80 + 4}));
  BOOST_TEST(counts.load_lanes == 32u * 33 / 2 + 32);
}

BOOST_AUTO_TEST_CASE(sums_of_rows) {
  const int columns = 256, rows = 32;
  const Buffer<float> x(columns * rows), y(rows);
  // By a thread: at each of 256 turns each lane has a sector of its own.
  BOOST_TEST(counts_of(1, rows, row_sum_by_thread, x, y, columns).load ==
             (Global{256, 256 * 32, 256 * 32, 256 * 4}));
  // By a warp: 8 turns of 128 bytes; 5 shuffles; one lane stores.
  const auto warp = counts_of(rows, 32, row_sum_by_shuffles, x, y, columns);
  BOOST_TEST(warp.load == (Global{8 * 32, 8 * 32 * 4, 8 * 32, 8 * 32 * 4}));
  BOOST_TEST(warp.shuffles == 5u * 32);
  BOOST_TEST(warp.store == (Global{32, 32, 32, 32}));
  BOOST_TEST(warp.barriers == 0u);
  // By a block: 2 turns of 4 warps. 1 + 7 barriers.
  const auto block = counts_of(rows, 128, row_sum_by_block, x, y, columns);
  BOOST_TEST(block.load == (Global{8 * 32, 8 * 32 * 4, 8 * 32, 8 * 32 * 4}));
  BOOST_TEST(block.barriers == 8u * 32);
  BOOST_TEST(block.shuffles == 0u);
  // 4 warps store; 64, 32, 16, ..., 1 threads read two and write one; one thread reads the sum.
  const unsigned active = 2 + 6;  // warps with a thread below 64, 32, 16, 8, 4, 2, 1
  BOOST_TEST(block.shared_requests == 32u * (4 + 3 * active + 1));
  BOOST_TEST(block.wavefronts == block.shared_requests);  // without a conflict
}

/// Clusters of 4 blocks, 64 threads each.
Counts counts_of_clusters(std::int64_t clusters, float* y) {
  return counts_of_all([&] {
    launch({.kernel = "counted",
            .blocks = 4 * clusters,
            .threads = 64,
            .stream = {},
            .shared_bytes = 256,
            .cluster = 4},
           store_behind_cluster_barrier, y);
  });
}

BOOST_AUTO_TEST_CASE(clusters) {
  const Buffer<float> y(n);
  // Two warps of a block store 128 bytes each. Each block is at one barrier.
  const auto counts = counts_of_clusters(3, y);
  BOOST_TEST(counts.barriers == 4u * 3);
  BOOST_TEST(counts.store == (Global{8 * 3, 32 * 3, 8 * 3, 32 * 3}));
  BOOST_TEST(counts.sectors_written == 32u * 3);
}

/// Each block of a cluster has a thread of the machine of its own, but not for ever what it counts.
BOOST_AUTO_TEST_CASE(memory_does_not_grow_with_the_number_of_clusters) {
  const Buffer<float> y(256 * 256);
  counts_of_clusters(2, y);
  const auto before = ::mallinfo2().uordblks;
  BOOST_TEST(counts_of_clusters(256, y).barriers == 4u * 256);
  BOOST_TEST(static_cast<double>(::mallinfo2().uordblks) < static_cast<double>(before) + 1e6);
}

BOOST_AUTO_TEST_CASE(transposes) {
  const Buffer<float> x(n), y(n);
  const auto naive = counts_of(1, 32, transpose_naive, x, y);
  BOOST_TEST(naive.load == (Global{32, 128, 32, 128}));
  BOOST_TEST(naive.store == (Global{32, 1024, 1024, 128}));
  BOOST_TEST(naive.shared_requests == 0u);
  const auto tile = counts_of(1, 32, transpose_tile<32>, x, y);
  BOOST_TEST(tile.store == (Global{32, 128, 32, 128}));
  BOOST_TEST(tile.shared_requests == 64u);
  BOOST_TEST(tile.wavefronts == 32u + 32 * 32);  // columns: all lanes in one bank
  BOOST_TEST(tile.barriers == 1u);
  const auto padded = counts_of(1, 32, transpose_tile<33>, x, y);
  BOOST_TEST(padded.wavefronts == 64u);
  BOOST_TEST(padded.store == (Global{32, 128, 32, 128}));
}

BOOST_AUTO_TEST_CASE(wavefronts_of_shared_memory) {
  const Buffer<float> y(n);
  const auto shared = [](std::size_t bytes) { return Shape{1, 32, bytes}; };
  // 128 bytes are one wavefront, 256 two, 512 four; a store and a load.
  BOOST_TEST(counts_of(shared(512), shared_by<1>, y).wavefronts == 2u);
  BOOST_TEST(counts_of(shared(512), shared_by<2>, y).wavefronts == 4u);
  BOOST_TEST(counts_of(shared(512), shared_by<4>, y).wavefronts == 8u);
  BOOST_TEST(counts_of(shared(512), shared_by<4>, y).shared_requests == 2u);
  // A stride of s words meets gcd(s, 32) lanes in a bank; stride 0 is a broadcast.
  for (const auto& [stride, wavefronts] :
       {std::pair(0, 1u), {1, 1u}, {2, 2u}, {3, 1u}, {4, 4u}, {8, 8u}, {32, 32u}, {33, 1u}}) {
    const auto counts = counts_of(shared(34 * 128), shared_strided, y, stride);
    BOOST_TEST(counts.wavefronts == wavefronts, "stride " << stride << ": " << counts.wavefronts);
  }
  // Two halves in a word are read together.
  BOOST_TEST(counts_of(shared(64), shared_halves, y).wavefronts == 1u);
}

BOOST_AUTO_TEST_CASE(atomics) {
  Buffer<int> x(32), bins(64);
  const auto at_one_address = [&](auto value_of) {
    for (int i = 0; i < 32; ++i) x[i] = value_of(i);
    return counts_of(1, 32, histogram, x, bins);
  };
  const auto all_different = at_one_address([](int i) { return i; });
  BOOST_TEST(all_different.atomic_requests == 1u);
  BOOST_TEST(all_different.at_one_address == 1u);
  BOOST_TEST(at_one_address([](int) { return 5; }).at_one_address == 32u);
  BOOST_TEST(at_one_address([](int i) { return i % 4; }).at_one_address == 8u);
  // Of floats too, where the emulator makes a loop of it.
  const Buffer<float> sums(64);
  const auto floats = counts_of(1, 32, histogram_of_floats, x, sums);
  BOOST_TEST(floats.atomic_requests == 1u);
  BOOST_TEST(floats.load.requests == 1u);  // x
  BOOST_TEST(floats.store.requests == 0u);
}

BOOST_AUTO_TEST_CASE(asynchronous_copies_and_tensor_cores) {
  const Buffer<float> x(n), y(n);
  const auto copy = counts_of({1, 32, 512}, copy_through_shared, x, y);
  BOOST_TEST(copy.load == (Global{1, 16, 4, 16}));  // 512 bytes
  BOOST_TEST(copy.wavefronts == 4u + 1);            // 512 bytes in, 128 out
  BOOST_TEST(copy.shared_requests == 2u);
  const auto product = counts_of({1, 32, 512}, one_product, y);
  BOOST_TEST(product.products == 1u);
  BOOST_TEST(product.wavefronts == 4u);  // ldmatrix: 8 rows of 16 bytes at a time
  BOOST_TEST(product.store.requests == 1u);
}

BOOST_AUTO_TEST_CASE(arguments_and_arrays_of_a_thread_are_not_counted) {
  const Buffer<float> x(n), y(n);
  Arguments arguments{x, y, {}};
  for (int i = 0; i < 32; ++i) arguments.order[i] = i;
  const auto counts = counts_of(1, 32, by_arguments, arguments);
  BOOST_TEST(counts.load.sectors % 4 == 0u);
  BOOST_TEST(counts.load.requests <= 8u);
  BOOST_TEST(counts.store == (Global{1, 4, 1, 4}));
  BOOST_TEST(counts.shared_requests == 0u);
}

BOOST_AUTO_TEST_CASE(footprints) {
  const Buffer<float> x(n), y(n);
  // Each sector once, however often it is read.
  BOOST_TEST(counts_of(8, 128, broadcast, x, y).sectors_read == 1u);
  BOOST_TEST(counts_of(8, 128, accumulate, x, y).sectors_read == 256u);
  BOOST_TEST(counts_of(8, 128, accumulate, x, y).sectors_written == 128u);
}

BOOST_AUTO_TEST_CASE(counts_do_not_depend_on_the_number_of_threads) {
  const int rows = 512, columns = 64;
  const Buffer<float> x(rows * columns), y(rows);
  std::vector<std::string> texts;
  for (const char* threads : {"1", "2", "5"}) {
    ::setenv("OMP_NUM_THREADS", threads, 1);
    counts_of(rows / 2, 128, row_sum_by_block, x, y, columns);
    texts.push_back(last_text);
  }
  ::unsetenv("OMP_NUM_THREADS");
  BOOST_TEST(texts[0] == texts[1]);
  BOOST_TEST(texts[0] == texts[2]);
}

BOOST_AUTO_TEST_CASE(launches_are_added_up) {
  const Buffer<float> x(n), y(n);
  const auto twice = counts_of_all([&] {
    launch({"copy", 8, 128, {}}, copy_by<1>, x.get(), y.get());
    launch({"copy", 8, 128, {}}, copy_by<1>, x.get(), y.get());
  });
  BOOST_TEST(twice.launches == 2u);
  BOOST_TEST(twice.load == (Global{64, 256, 64, 256}));
  BOOST_TEST(twice.sectors_read == 256u);  // each launch reads them anew
}

BOOST_AUTO_TEST_SUITE_END()
