// Right programs that look like wrong ones: what cuBLAS has written, host memory where a device's
// was, counters that many threads change, structures with room, buffers that live as long as the
// program, assembly without an instruction.
#include <cublas_v2.h>

#include "check.h"

struct Buffer {
  float* memory = nullptr;
  Buffer() { CUDA_CHECK(cudaMalloc(&memory, 64)); }
  ~Buffer() { cudaFree(memory); }
} global;

struct Room {
  char letter;
  int number;
};

__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

__global__ void count(int* n) {
  for (int i = 0; i < 2000; ++i) atomicAdd(n, 1);
}

__global__ void with_room(int* y) {
  __shared__ alignas(Room) unsigned char bytes[sizeof(Room)];
  Room* const room = reinterpret_cast<Room*>(bytes);
  room->letter = 1;
  room->number = 5;
  Room mine;
  memcpy(&mine, room, sizeof mine);
  *y = mine.number + mine.letter;
}

__global__ void without_instructions(float* y) {
  float value = y[threadIdx.x];
  asm volatile("" : "+f"(value) : : "memory");
  asm volatile("" ::: "memory");
  asm("");
  y[threadIdx.x] = 2 * value;
}

int main() {
  float *a = on_device(std::vector<float>{1, 2, 3, 4}), *c, *d;
  CUDA_CHECK(cudaMalloc(&c, 4 * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d, 4 * sizeof(float)));
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2);
  copy<<<1, 4>>>(c, d);
  expect("a product", on_host(d, 4), std::vector<float>{7, 10, 15, 22}, 0);
  without_instructions<<<1, 4>>>(d);
  expect("its double", on_host(d, 4), std::vector<float>{14, 20, 30, 44}, 0);

  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 26}) {
    char *freed, *to;
    CUDA_CHECK(cudaMalloc(&freed, bytes));
    CUDA_CHECK(cudaFree(freed));
    const std::vector<char> host(bytes + 256, 7);  // perhaps in the same place
    CUDA_CHECK(cudaMalloc(&to, bytes));
    CUDA_CHECK(cudaMemcpy(to, host.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaFree(to));
  }

  std::vector<float> pinned(64, 2);
  CUDA_CHECK(cudaHostRegister(pinned.data(), 32 * sizeof(float), cudaHostRegisterDefault));
  CUDA_CHECK(cudaMemcpy(d, pinned.data() + 32, 4 * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaHostUnregister(pinned.data()));

  int* n = on_device(std::vector<int>{0});
  count<<<2, 256>>>(n);
  expect("a counter", on_host(n, 1), std::vector<int>{2 * 256 * 2000}, 0);
  with_room<<<1, 1>>>(n);
  expect("room in a structure", on_host(n, 1), std::vector<int>{6}, 0);
}
