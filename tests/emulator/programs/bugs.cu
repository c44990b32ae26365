// CUDA programs with a bug each, of which a macro chooses one: `prenorm emulate bugs.cu -D
// BUG_trap`. Above each stand the checks that find it (--check) and what they say of it; the line
// that is named has BUG.
#include <cassert>
#include <cooperative_groups.h>
#include <cub/cub.cuh>
#include <cuda_fp16.h>
#include <mma.h>
#include "check.h"

#if defined(BUG_barrier_in_a_branch)
// init: __syncthreads is reached by 40 of 64 threads
__global__ void reverse(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 40) __syncthreads();  // BUG
  x[threadIdx.x] = s[63 - threadIdx.x];
}
int main() {
  float* x = on_device(numbers(64));
  reverse<<<1, 64>>>(x);
  on_host(x, 64);
}

#elif defined(BUG_beyond_dynamic_shared)
// memory: heap-buffer-overflow, a write of 4 bytes
// init: 4 bytes past the end of dynamic shared memory of 128 bytes
__global__ void pad(float* x) {
  extern __shared__ float s[];
  s[threadIdx.x + 1] = x[threadIdx.x];  // BUG
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x];
}
int main() {
  float* x = on_device(numbers(32));
  pad<<<1, 32, 32 * sizeof(float)>>>(x);
  on_host(x, 32);
}

#elif defined(BUG_failing_assert)
// none: kernel divide, block (1, 0, 0), thread (3, 0, 0): assert(y[i] != 0) fails
__global__ void divide(float* x, const float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(y[i] != 0);  // BUG
  x[i] /= y[i];
}
int main() {
  auto y = numbers(64);
  y[35] = 0;
  divide<<<2, 32>>>(on_device(numbers(64)), on_device(y));
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_group_barrier_in_a_branch)
// none: __syncthreads is reached by 48 of 64 threads
namespace cg = cooperative_groups;
__global__ void shift(float* x, int n) {
  auto block = cg::this_thread_block();
  if (block.thread_rank() < n) {
    const float next = x[(block.thread_rank() + 1) % n];
    block.sync();  // BUG
    x[block.thread_rank()] = next;
  }
}
int main() {
  float* x = on_device(numbers(64));
  shift<<<1, 64>>>(x, 48);
  on_host(x, 64);
}

#elif defined(BUG_histogram_without_atomics)
// race: no barrier orders these accesses
__global__ void histogram(const int* x, int* counts) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  own[x[threadIdx.x]]++;  // BUG
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
int main() {
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[i] = i * 7 % 16;
  int* counts = on_device(std::vector<int>(16));
  histogram<<<1, 64>>>(on_device(x), counts);
  on_host(counts, 16);
}

#elif defined(BUG_kernel_from_a_kernel)
// init: which no kernel may here
__global__ void child(int* x) { *x = 1; }
__global__ void parent(int* x) {
  child<<<1, 1>>>(x);  // BUG
}
int main() { parent<<<1, 1>>>(on_device(std::vector<int>(1))); }

#elif defined(BUG_lane_left_before_a_product)
// none: wmma::mma_sync needs lane 20, which has returned
using namespace nvcuda;
__global__ void product(float* out, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(a, __float2half(1.f));
  wmma::fill_fragment(b, __float2half(1.f));
  wmma::fill_fragment(c, 0.f);
  if (threadIdx.x >= n) return;
  wmma::mma_sync(c, a, b, c);  // BUG
  out[threadIdx.x] = c.x[0];
}
int main() {
  product<<<1, 32>>>(on_device(numbers(32)), 20);
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_mask_without_itself)
// none: which its mask leaves out
__global__ void vote(int* x) {
  if (__any_sync(0x0000ffff, x[threadIdx.x] > 0)) x[threadIdx.x] = 1;  // BUG
}
int main() {
  int* x = on_device(std::vector<int>(32));
  vote<<<1, 32>>>(x);
  on_host(x, 32);
}

#elif defined(BUG_missing_barrier)
// race: no barrier orders these accesses
__global__ void reverse(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[63 - threadIdx.x];  // BUG
}
int main() {
  float* x = on_device(numbers(64));
  reverse<<<1, 64>>>(x);
  on_host(x, 64);
}

#elif defined(BUG_missing_barrier_in_a_loop)
// race: no barrier orders these accesses
__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float A[8][8], B[8][8];
  float sum = 0;
  for (int t = 0; t < n; t += 8) {
    A[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + t + threadIdx.x];
    B[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 8; ++k) sum += A[threadIdx.y][k] * B[k][threadIdx.x];  // BUG
  }
  c[threadIdx.y * n + threadIdx.x] = sum;
}
int main() {
  float *a = on_device(numbers(256)), *b = on_device(numbers(256)), *c = on_device(numbers(256));
  product<<<1, dim3(8, 8)>>>(a, b, c, 16);
  on_host(c, 256);
}

#elif defined(BUG_missing_fence)
// race: no barrier orders these accesses
__device__ unsigned done;
__global__ void sum_by_last_block(const float* x, float* partial, float* out) {
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += x[blockIdx.x * 32 + i];
  partial[blockIdx.x] = sum;
  if (atomicAdd(&done, 1u) != gridDim.x - 1) return;
  float all = 0;
  for (int b = 0; b < gridDim.x; ++b) all += partial[b];  // BUG
  *out = all;
}
int main() {
  float* out = on_device(numbers(1));
  sum_by_last_block<<<8, 32>>>(on_device(numbers(256)), on_device(numbers(8)), out);
  on_host(out, 1);
}

#elif defined(BUG_off_by_one)
// memory: a write of 4 bytes; the address is located 0 bytes to the right of 400-byte region
__global__ void fill(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = i;  // BUG
}
int main() {
  float* x = on_device(numbers(100));
  fill<<<2, 64>>>(x, 100);
  on_host(x, 100);
}

#elif defined(BUG_reads_before_the_beginning)
// memory: a read of 4 bytes
__global__ void difference(const float* x, float* y) {
  const int i = threadIdx.x;
  y[i] = x[i] - x[i - 1];  // BUG
}
int main() {
  float *x = on_device(numbers(32)), *y = on_device(numbers(32));
  difference<<<1, 32>>>(x, y);
  on_host(y, 32);
}

#elif defined(BUG_return_before_a_barrier)
// init: thread (60, 0, 0) has returned
__global__ void reverse(float* x, int n) {
  __shared__ float s[64];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();  // BUG
  x[threadIdx.x] = s[n - 1 - threadIdx.x];
}
int main() {
  float* x = on_device(numbers(64));
  reverse<<<1, 64>>>(x, 60);
  on_host(x, 64);
}

#elif defined(BUG_scan_in_place)
// race: no barrier orders these accesses
__global__ void scan(float* x) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    if (threadIdx.x >= d) s[threadIdx.x] += s[threadIdx.x - d];  // BUG
    __syncthreads();
  }
  x[threadIdx.x] = s[threadIdx.x];
}
int main() {
  float* x = on_device(numbers(128));
  scan<<<1, 128>>>(x);
  on_host(x, 128);
}

#elif defined(BUG_shuffle_in_a_branch)
// init: __shfl_down_sync reads lane 20, which has returned
__global__ void sum(float* x) {
  float value = x[threadIdx.x];
  if (threadIdx.x < 20) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffff, value, d);  // BUG
  }
  if (threadIdx.x == 0) *x = value;
}
int main() {
  float* x = on_device(numbers(32));
  sum<<<1, 32>>>(x);
  on_host(x, 32);
}

#elif defined(BUG_storage_used_again)
// race: no barrier orders these accesses
__global__ void mean_and_square(const float* x, float* out) {
  using Reduce = cub::BlockReduce<float, 64>;
  __shared__ Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(x[threadIdx.x]);
  const float square = Reduce(storage).Sum(x[threadIdx.x] * x[threadIdx.x]);  // BUG
  if (threadIdx.x == 0) *out = square - sum * sum / 64;
}
int main() {
  float* out = on_device(numbers(1));
  mean_and_square<<<1, 64>>>(on_device(numbers(64)), out);
  on_host(out, 1);
}

#elif defined(BUG_sum_without_atomics)
// race: kernel count
__global__ void count(const int* x, int* sum) {
  *sum += x[blockIdx.x * blockDim.x + threadIdx.x];  // BUG
}
int main() {
  int *x = on_device(std::vector<int>(64, 1)), *sum = on_device(std::vector<int>(1));
  count<<<2, 32>>>(x, sum);
  on_host(sum, 1);
}

#elif defined(BUG_swapped_coordinates)
// memory: heap-buffer-overflow, a write of 4 bytes
__global__ void transpose(const float* in, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const float value = in[y * w + x];
  out[x * w + y] = value;  // BUG
}
int main() {
  const int w = 24, h = 16;
  float* out = on_device(numbers(w * h));
  transpose<<<dim3(3, 2), dim3(8, 8)>>>(on_device(numbers(w * h)), out, w, h);
  on_host(out, w * h);
}

#elif defined(BUG_trap)
// init: thread (7, 0, 0): __trap()
__global__ void positive(const int* x) {
  if (x[threadIdx.x] < 0) __trap();  // BUG
}
int main() {
  std::vector<int> values(32, 1);
  values[7] = -1;
  positive<<<1, 32>>>(on_device(values));
}

#elif defined(BUG_unknown_assembly)
// init: asm (inline PTX) is not emulated
__global__ void lane(int* x) {
  int number;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(number));  // BUG
  x[threadIdx.x] = number;
}
int main() { lane<<<1, 32>>>(on_device(std::vector<int>(32))); }

#elif defined(BUG_grid_barrier_without_leave)
// none: waits for all blocks, which only a cooperative launch runs together
__global__ void step(float* x) {
  x[blockIdx.x] += 1;
  cooperative_groups::this_grid().sync();  // BUG
  x[blockIdx.x] *= x[(blockIdx.x + 1) % gridDim.x];
}
int main() {
  step<<<2, 1>>>(on_device(numbers(2)));
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_block_left_before_a_grid_barrier)
// none: waits for all blocks, and 1 of 3 have returned
__global__ void step(float* x, int n) {
  if (blockIdx.x >= n) return;
  x[blockIdx.x] += 1;
  cooperative_groups::this_grid().sync();  // BUG
}
int main() {
  float* x = on_device(numbers(3));
  int n = 2;
  void* arguments[] = {&x, &n};
  CUDA_CHECK(cudaLaunchCooperativeKernel((void*)step, 3, 32, arguments));
}

#elif defined(BUG_kernel_by_a_variable)
// none: a launch by an address that is not written as a kernel's name is not emulated
__global__ void clear(float* x) { *x = 0; }
int main() {
  float* x = on_device(numbers(1));
  void *arguments[] = {&x}, *kernel = (void*)clear;
  CUDA_CHECK(cudaLaunchKernel(kernel, 1, 1, arguments, 0, 0));  // BUG
}

#elif defined(BUG_unknown_device_sort)
// init: cub::DeviceRadixSort is not emulated
int main() {
  int *from = on_device(std::vector<int>(9)), *to = on_device(std::vector<int>(9));
  size_t bytes = 0;
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, from, to, 9);  // BUG
}

#elif defined(BUG_unknown_library)
// init: thrust/complex.h is not emulated
#include <thrust/complex.h>  // BUG
int main() {
  const thrust::complex<float> z(1, 2);
  std::printf("%g\n", z.real());
}

#elif defined(BUG_unknown_texture)
// init: cudaTextureObject_t (a texture) is not emulated
__global__ void look_up(cudaTextureObject_t texture, float* x) {  // BUG
  x[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
}
int main() { look_up<<<1, 32>>>(0, on_device(numbers(32))); }

#elif defined(BUG_unwritten_dynamic_shared)
// init: of dynamic shared memory
extern __shared__ double partial[];
__global__ void sum(const double* x, int n, double* y) {
  if (threadIdx.x < n) partial[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];  // BUG
    __syncthreads();
  }
  if (threadIdx.x == 0) *y = partial[0];
}
int main() {
  double *x = on_device(std::vector<double>(50)), *y = on_device(std::vector<double>(1));
  sum<<<1, 64, 64 * sizeof(double)>>>(x, 50, y);
  on_host(y, 1);
}

#elif defined(BUG_unwritten_halo)
// init: reads 4 bytes that no thread has written
__global__ void blur(const float* in, float* out, int n) {
  __shared__ float tile[64 + 2];
  const int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 1;
  tile[t] = i < n ? in[i] : 0.f;
  if (threadIdx.x == 0 && i > 0) tile[0] = in[i - 1];
  if (threadIdx.x == 63) tile[65] = i + 1 < n ? in[i + 1] : 0.f;
  __syncthreads();
  if (i < n) out[i] = (tile[t - 1] + tile[t] + tile[t + 1]) / 3;  // BUG
}
int main() {
  float* out = on_device(numbers(100));
  blur<<<2, 64>>>(on_device(numbers(100)), out, 100);
  on_host(out, 100);
}

#elif defined(BUG_unwritten_shared)
// init: reads 4 bytes that no thread has written, static shared memory
__global__ void halo(const float* x, float* y) {
  __shared__ float s[66];
  s[threadIdx.x + 1] = x[threadIdx.x];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];  // BUG
}
int main() {
  float *x = on_device(numbers(64)), *y = on_device(numbers(64));
  halo<<<1, 64>>>(x, y);
  on_host(y, 64);
}

#elif defined(BUG_next_shared_array)
// memory: outside of a static shared array, a write of 4 bytes
template <class T>
__global__ void shift(const T* x, T* y) {
  __shared__ alignas(16) T s[31], *before, other[2][32];
  const int t = threadIdx.x;
  if (t == 0) before = s;
  other[1][t] = 7;
  s[t] = x[t];  // BUG
  __syncthreads();
  y[t] = before[t] + other[1][t];
}
int main() {
  float* y = on_device(numbers(32));
  shift<<<1, 32>>>(on_device(numbers(32)), y);
  on_host(y, 32);
}

#elif defined(BUG_used_after_free)
// memory: heap-use-after-free, a read of 4 bytes
// init: of memory that was freed, by way of argument 1
// race: memory that was freed is accessed
__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // BUG
}
int main() {
  float *x = on_device(numbers(32)), *y = on_device(numbers(32));
  cudaFree(x);
  copy<<<1, 32>>>(x, y);
  on_host(y, 32);
}

#elif defined(BUG_warp_without_syncwarp)
// race: no barrier orders these accesses
__global__ void sum(const float* x, float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int d = 16; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];  // BUG
  }
  if (threadIdx.x == 0) *y = s[0];
}
int main() {
  float *x = on_device(numbers(32)), *y = on_device(numbers(1));
  sum<<<1, 32>>>(x, y);
  on_host(y, 1);
}

#elif defined(BUG_wmma_stride)
// none: wmma::load_matrix_sync: the distance of rows is no multiple of 16 bytes
using namespace nvcuda;
__global__ void copy(const half* in, float* out, int width) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::load_matrix_sync(a, in, width);  // BUG
  for (int i = 0; i < a.num_elements; ++i) out[threadIdx.x] += __half2float(a.x[i]);
}
int main() {
  copy<<<1, 32>>>(on_device(std::vector<half>(16 * 20)), on_device(numbers(32)), 20);
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_called_like_a_function)
// init: is called like a function
__global__ void twice(float* x) {  // BUG
  x[threadIdx.x] *= 2;
}
int main() { twice(on_device(numbers(32))); }

#elif defined(BUG_divides_by_zero)
// init: kernel share, block (0, 0, 0), thread (3, 0, 0): divides an integer by zero
// memory: kernel share, block (0, 0, 0), thread (3, 0, 0): divides an integer by zero
// race: kernel share, block (0, 0, 0), thread (3, 0, 0): divides an integer by zero
__global__ void share(int* x, int n) {
  x[threadIdx.x] = n / x[threadIdx.x];  // BUG
}
int main() {
  share<<<1, 4>>>(on_device(std::vector<int>{1, 2, 3, 0}), 12);
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_host_memory_read)
// init: reads 4 bytes of the host's memory, by way of argument 1
__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // BUG
}
int main() {
  const std::vector<float> x = numbers(32);
  float* y = on_device(x);
  copy<<<1, 32>>>(x.data(), y);
  on_host(y, 32);
}

#elif defined(BUG_host_reads_device)
// init: host code accesses an allocation of 128 bytes, which lies on the device
int main() {
  float* x = on_device(numbers(32));
  return x[3] > 2;  // BUG
}

#elif defined(BUG_far_away)
// init: kernel touch, block (0, 0, 0), thread (1, 0, 0): accesses no memory
// memory: kernel touch, block (0, 0, 0), thread (1, 0, 0): accesses no memory
// race: kernel touch, block (0, 0, 0), thread (1, 0, 0): accesses no memory
__global__ void touch(float* x) {
  x[threadIdx.x * (size_t(1) << 40)] = 1;  // BUG
}
int main() {
  touch<<<1, 32>>>(on_device(numbers(32)));
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_past_an_allocation)
// init: writes 4 bytes out of bounds, 4 bytes past the end of an allocation of 128 bytes
__global__ void shift(float* x) {
  x[threadIdx.x + 1] = 0;  // BUG
}
int main() {
  shift<<<1, 32>>>(on_device(numbers(32)));
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_never_copied)
// init: reads 4 bytes that nothing has written
__global__ void twice(float* x) {
  x[threadIdx.x] *= 2;  // BUG
}
int main() {
  float* x;
  CUDA_CHECK(cudaMalloc(&x, 32 * sizeof(float)));
  twice<<<1, 32>>>(x);
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_never_zeroed)
// init: reads 4 bytes that nothing has written
__global__ void count(int* n) {
  atomicAdd(n, 1);  // BUG
}
int main() {
  int* n;
  CUDA_CHECK(cudaMalloc(&n, sizeof(int)));
  count<<<1, 32>>>(n);
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_unknown_driver)
// init: cuInit (the driver's API) is not emulated
int main() {
  return cuInit(0);  // BUG
}

#elif defined(BUG_waits_for_ever)
// init: kernel wait, block (0, 0, 0), thread (0, 0, 0): waits for what no thread does that still
// runs
__global__ void wait(volatile int* flag) {
  int seen = 0;
  while (seen == 0) seen = *flag;  // BUG
}
int main() {
  wait<<<2, 1>>>(on_device(std::vector<int>{0}));
  CUDA_CHECK(cudaDeviceSynchronize());
}
#elif defined(BUG_refused_variable_of_the_host)
// init: the host's variable table in device code
static float table[4] = {1, 2, 3, 4};
__device__ float entry(int i) {
  return table[i];  // BUG
}
__global__ void look_up(float* x) { x[threadIdx.x] = entry(threadIdx.x); }
int main() { look_up<<<1, 4>>>(on_device(numbers(4))); }

#elif defined(BUG_refused_function_of_the_host)
// init: a call of the host's function weight in device code
const int step = 2;
template <class T>
T weight(T x) {
  return x * step;
}
__global__ void weigh(float* x) {
  const float step = 3;
  x[threadIdx.x] = step + weight(x[threadIdx.x]);  // BUG
}
int main() { weigh<<<1, 4>>>(on_device(numbers(4))); }

#elif defined(BUG_refused_static_shared_memory)
// init: a kernel has at most 48 KB of static shared memory
template <int rows>
__global__ void keep(float* x) {
  __shared__ float tile[rows][64], row[64];
  tile[0][threadIdx.x] = row[threadIdx.x] = x[threadIdx.x];
  __shared__ double sums[2048];  // BUG
  sums[threadIdx.x] = tile[0][threadIdx.x];
}
int main() { keep<128><<<1, 4>>>(on_device(numbers(4))); }

#elif defined(BUG_refused_function_of_c)
// init: a call of the host's function rand in device code
__global__ void noise(int* x) {
  x[threadIdx.x] = rand();  // BUG
}
int main() { noise<<<1, 4>>>(on_device(std::vector<int>(4))); }

#elif defined(BUG_device_variable_set_by_the_host)
// init: host code accesses a __device__ variable, which lies on the device
__constant__ float weights[4];
__device__ int launches = 3;
__global__ void weigh(float* x) { x[threadIdx.x] *= weights[threadIdx.x] + launches; }
int main() {
  weigh<<<1, 4>>>(on_device(numbers(4)));
  weights[1] = 2;  // BUG
}

#elif defined(BUG_device_variable_read_by_the_host)
// init: host code accesses a __device__ variable, which lies on the device
__device__ int launches = 3;
__global__ void count() { atomicAdd(&launches, 1); }
int main() {
  count<<<1, 4>>>();
  return launches;  // BUG
}
#elif defined(BUG_barriers_of_two_branches)
// init: thread (32, 0, 0): comes to another __syncthreads than thread (0, 0, 0), which waits at one
// none: barriers of two branches are two barriers
__global__ void halves(float* x) {
  __shared__ float s[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
  } else {
    s[threadIdx.x] = -x[threadIdx.x];
    __syncthreads();  // BUG
  }
  x[threadIdx.x] = s[63 - threadIdx.x];
}
int main() {
  float* x = on_device(numbers(64));
  halves<<<1, 64>>>(x);
  on_host(x, 64);
}

#elif defined(BUG_barrier_of_another_turn)
// none: comes to another __syncthreads than thread (63, 0, 0)
__global__ void reduce(float* x) {
  for (unsigned i = 1; i < 2 + threadIdx.x / 32; ++i) {
    x[threadIdx.x] += i;
    __syncthreads();  // BUG
  }
  if (threadIdx.x < 32) x[threadIdx.x] += x[threadIdx.x + 32];
  __syncthreads();
}
int main() {
  float* x = on_device(numbers(64));
  reduce<<<1, 64>>>(x);
  on_host(x, 64);
}
#elif defined(BUG_vectors_not_aligned)
// init: accesses 16 bytes at an address that is 4 bytes past a multiple of 16
__global__ void sum(const float* x, float* y) {
  const float4 four = reinterpret_cast<const float4*>(x + 1)[threadIdx.x];  // BUG
  y[threadIdx.x] = four.x + four.y + four.z + four.w;
}
int main() {
  float* x = on_device(numbers(132));
  sum<<<1, 32>>>(x, x);
  on_host(x, 32);
}

#elif defined(BUG_number_among_bytes)
// init: accesses 4 bytes at an address that is 2 bytes past a multiple of 4
__global__ void unpack(unsigned char* x) {
  x[threadIdx.x] = *reinterpret_cast<int*>(x + 2) % 7;  // BUG
}
int main() {
  unpack<<<1, 1>>>(on_device(std::vector<unsigned char>(64)));
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_throws)
// none: kernel check, block (0, 0, 0), thread (5, 0, 0): throws an exception
// memory: kernel check, block (0, 0, 0), thread (5, 0, 0): throws an exception
// race: kernel check, block (0, 0, 0), thread (5, 0, 0): throws an exception
__global__ void check(const int* x) {
  if (x[threadIdx.x] == 5) throw threadIdx.x;  // BUG
}
int main() {
  check<<<1, 8>>>(on_device(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  CUDA_CHECK(cudaDeviceSynchronize());
}

#elif defined(BUG_more_than_all_memory)
// none: kernel keep, block (0, 0, 0), thread (0, 0, 0): throws std::bad_alloc
// memory: requested allocation size
// race: requested allocation size
__global__ void keep(int** x, size_t n) {
  *x = new int[n];  // BUG
}
int main() {
  keep<<<1, 1>>>(on_device(std::vector<int*>(1)), size_t(1) << 45);
  CUDA_CHECK(cudaDeviceSynchronize());
}
#endif
