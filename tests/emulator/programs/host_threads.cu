// A program of several threads of the host, each with a stream, buffers and an error of its own;
// thread-local objects, a future, and the same kernel from all of them.
#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include "check.h"

template <class T, size_t N>
struct Coefficients {
  T c[N];
  __host__ __device__ constexpr T operator()(T x) const {
    T sum{};
    for (size_t i = N; i-- > 0;) sum = sum * x + c[i];
    return sum;
  }
};

template <class F>
__global__ void apply(F f, const float* in, float* out, int n) {
  __shared__ float tile[64];
  for (int base = blockIdx.x * 64; base < n; base += gridDim.x * 64) {
    const int i = base + threadIdx.x;
    tile[threadIdx.x] = i < n ? f(in[i]) : 0;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x] + tile[threadIdx.x ^ 1];
    __syncthreads();
  }
}

class Stream {
 public:
  Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_;
};

thread_local int launches = 0;
std::atomic<int> all_launches{0};
std::mutex printing;

std::vector<float> worker(int id, int n) {
  Stream stream;
  float *pinned, *in, *out;
  CUDA_CHECK(cudaMallocHost(&pinned, n * sizeof(float)));
  CUDA_CHECK(cudaMallocAsync((void**)&in, n * sizeof(float), stream));
  CUDA_CHECK(cudaMallocAsync((void**)&out, n * sizeof(float), stream));
  const auto x = numbers(n, id);
  std::copy(x.begin(), x.end(), pinned);
  CUDA_CHECK(cudaMemcpyAsync(in, pinned, n * sizeof(float), cudaMemcpyHostToDevice, stream));
  const Coefficients<float, 3> polynomial{{1.0f, float(id), -0.5f}};
  apply<<<2, 64, 0, stream>>>(polynomial, in, out, n);
  ++launches;
  if (id % 2 == 0) {  // this thread's error is not the others'
    apply<<<1, 4096, 0, stream>>>(polynomial, in, out, n);
    if (cudaPeekAtLastError() != cudaErrorInvalidConfiguration) exit(5);
  }
  if ((cudaGetLastError() != cudaSuccess) != (id % 2 == 0)) exit(5);
  CUDA_CHECK(cudaMemcpyAsync(pinned, out, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  std::vector<float> result(pinned, pinned + n);
  CUDA_CHECK(cudaFreeAsync(in, stream));
  CUDA_CHECK(cudaFreeAsync(out, stream));
  CUDA_CHECK(cudaFreeHost(pinned));
  all_launches += launches;
  std::lock_guard<std::mutex> lock(printing);
  std::vector<float> right(n);
  for (int i = 0; i < n; ++i)
    right[i] = polynomial(x[i]) + ((i ^ 1) < n ? polynomial(x[i ^ 1]) : 0);
  expect(("thread " + std::to_string(id)).c_str(), result, right);
  return result;
}

int main() {
  constexpr int threads = 4, n = 201;
  std::array<std::vector<float>, threads> results;
  {
    std::vector<std::thread> all;
    for (int id = 0; id < threads - 1; ++id)
      all.emplace_back([id, &results] { results[id] = worker(id, n); });
    std::future<std::vector<float>> last = std::async(std::launch::async, worker, threads - 1, n);
    for (auto& thread : all) thread.join();
    results.back() = last.get();
  }
  expect("launches", std::vector<int>{all_launches}, std::vector<int>{threads}, 0);
}
