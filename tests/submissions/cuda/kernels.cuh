// Kernels of an honest CUDA submission: test_cuda_submissions.py puts them into the files
// that `prenorm new --language cuda` writes, some with a mistake.
#include <cmath>
#include <stdexcept>

constexpr unsigned threads = 128;

inline void check_launch() {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorString(error));
  }
}

/// The sum over the block, in every thread.
template <class T>
__device__ T block_sum(T value) {
  __shared__ T parts[threads];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();  // after each step
  }
  const T sum = parts[0];
  __syncthreads();  // before parts is written again
  return sum;
}

template <class T>
__device__ T block_max(T value) {
  __shared__ T parts[threads];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half && !(parts[threadIdx.x] > parts[threadIdx.x + half])) {
      parts[threadIdx.x] = parts[threadIdx.x + half];
    }
    __syncthreads();
  }
  const T largest = parts[0];
  __syncthreads();
  return largest;
}

template <class T>
__global__ void relu_kernel(const T* x, T* y, std::int64_t n) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = x[i] < T(0) ? T(0) : x[i];
}

/// One block per row.
template <class T>
__global__ void rmsnorm_kernel(const T* x, const T* weight, T* y, std::int64_t d_model, T eps) {
  const std::int64_t row = blockIdx.x * d_model;
  T squares = 0;
  for (std::int64_t i = threadIdx.x; i < d_model; i += threads) squares += x[row + i] * x[row + i];
  const T scale = T(1) / sqrt(block_sum(squares) / T(d_model) + eps);
  for (std::int64_t i = threadIdx.x; i < d_model; i += threads) {
    y[row + i] = x[row + i] * scale * weight[i];
  }
}

/// One block per slice of n elements, which lie `inner` apart.
template <class T>
__global__ void softmax_kernel(const T* x, T* y, std::int64_t n, std::int64_t inner) {
  const std::int64_t first = blockIdx.x / inner * n * inner + blockIdx.x % inner;
  T largest = -INFINITY;
  for (std::int64_t i = threadIdx.x; i < n; i += threads) {
    const T value = x[first + i * inner];
    if (!(largest > value)) largest = value;
  }
  largest = block_max(largest);
  T sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += threads)
    sum += exp(x[first + i * inner] - largest);
  sum = block_sum(sum);
  for (std::int64_t i = threadIdx.x; i < n; i += threads) {
    y[first + i * inner] = exp(x[first + i * inner] - largest) / sum;
  }
}

// What stands in the functions.

#define RELU                                                                                 \
  if constexpr (sizeof(T) == 2)                                                              \
    throw prenorm::not_implemented();                                                        \
  else if (x.size() > 0) {                                                                   \
    relu_kernel<<<static_cast<unsigned>((x.size() + 255) / 256), 256, 0,                     \
                  static_cast<cudaStream_t>(stream.handle)>>>(x.data(), y.data(), x.size()); \
    check_launch();                                                                          \
  }

#define RMSNORM                                                                              \
  if constexpr (sizeof(T) == 2)                                                              \
    throw prenorm::not_implemented();                                                        \
  else if (x.size() > 0) {                                                                   \
    const std::int64_t d_model = weight.size();                                              \
    rmsnorm_kernel<<<static_cast<unsigned>(x.size() / d_model), threads, 0,                  \
                     static_cast<cudaStream_t>(stream.handle)>>>(x.data(), weight.data(),    \
                                                                 y.data(), d_model, T(eps)); \
    check_launch();                                                                          \
  }

#define SOFTMAX                                                                         \
  const std::int64_t axes = x.dimension(), axis = dim < 0 ? dim + axes : dim;           \
  if (axis < 0 || axis >= axes) throw std::invalid_argument("dim is no axis of x");     \
  if constexpr (sizeof(T) == 2)                                                         \
    throw prenorm::not_implemented();                                                   \
  else if (x.size() > 0) {                                                              \
    std::int64_t inner = 1;                                                             \
    for (std::int64_t i = axis + 1; i < axes; ++i) inner *= x.shape(i);                 \
    softmax_kernel<<<static_cast<unsigned>(x.size() / x.shape(axis)), threads, 0,       \
                     static_cast<cudaStream_t>(stream.handle)>>>(x.data(), y.data(),    \
                                                                 x.shape(axis), inner); \
    check_launch();                                                                     \
  }
