// Streams: a chunked pipeline with pinned memory, an event that one stream waits for, times by
// events, and a function of the host's in a stream.
#include "check.h"

__global__ void polynomial(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float x = in[i];
    out[i] = ((x * 3.0f - 2.0f) * x + 1.0f) * x - 4.0f;
  }
}

__global__ void scale(float* x, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}

static void CUDART_CB count_call(void* data) { ++*static_cast<int*>(data); }

int main() {
  constexpr int chunks = 4, per_chunk = 1000, n = chunks * per_chunk;
  const auto values = numbers(n);
  float *in, *out, *d_in, *d_out;
  CUDA_CHECK(cudaMallocHost(&in, n * sizeof(float)));
  CUDA_CHECK(cudaHostAlloc(&out, n * sizeof(float), cudaHostAllocDefault));
  CUDA_CHECK(cudaMalloc(&d_in, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_out, n * sizeof(float)));
  std::copy(values.begin(), values.end(), in);

  cudaStream_t streams[chunks];
  for (auto& stream : streams)
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t begin, end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  CUDA_CHECK(cudaEventRecord(begin));
  for (int c = 0; c < chunks; ++c) {
    const int at = c * per_chunk;
    const size_t bytes = per_chunk * sizeof *in;
    CUDA_CHECK(cudaMemcpyAsync(d_in + at, in + at, bytes, cudaMemcpyHostToDevice, streams[c]));
    polynomial<<<4, 128, 0, streams[c]>>>(d_in + at, d_out + at, per_chunk);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(out + at, d_out + at, bytes, cudaMemcpyDeviceToHost, streams[c]));
  }
  for (auto& stream : streams) CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaEventRecord(end));
  CUDA_CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  if (milliseconds < 0) return 5;

  std::vector<double> right(n);
  for (int i = 0; i < n; ++i) right[i] = ((values[i] * 3.0 - 2) * values[i] + 1) * values[i] - 4;
  expect("pipeline", std::vector<float>(out, out + n), right);

  // The second stream must not read before the first one has scaled.
  cudaEvent_t scaled;
  CUDA_CHECK(cudaEventCreateWithFlags(&scaled, cudaEventDisableTiming));
  scale<<<(n + 255) / 256, 256, 0, streams[0]>>>(d_out, n, 2.0f);
  CUDA_CHECK(cudaEventRecord(scaled, streams[0]));
  CUDA_CHECK(cudaStreamWaitEvent(streams[1], scaled, 0));
  scale<<<(n + 255) / 256, 256, 0, streams[1]>>>(d_out, n, 4.0f);
  int calls = 0;
  CUDA_CHECK(cudaLaunchHostFunc(streams[1], count_call, &calls));
  CUDA_CHECK(cudaStreamSynchronize(streams[1]));
  if (cudaStreamQuery(streams[1]) != cudaSuccess || cudaEventQuery(scaled) != cudaSuccess) return 6;
  for (double& each : right) each *= 8;
  expect("after an event", on_host(d_out, n), right);
  expect("calls of the host", std::vector<int>{calls}, std::vector<int>{1});

  for (auto& stream : streams) CUDA_CHECK(cudaStreamDestroy(stream));
  for (auto event : {begin, end, scaled}) CUDA_CHECK(cudaEventDestroy(event));
  CUDA_CHECK(cudaFreeHost(in));
  CUDA_CHECK(cudaFreeHost(out));
  CUDA_CHECK(cudaFree(d_in));
  CUDA_CHECK(cudaFree(d_out));
  CUDA_CHECK(cudaDeviceReset());
}
