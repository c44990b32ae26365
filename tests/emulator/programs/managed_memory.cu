// Managed memory: a list that host and device both walk, a managed variable, a class that
// allocates itself there.
#include <new>
#include "check.h"

struct Node {
  int value;
  Node* next;
};

class Managed {
 public:
  void* operator new(size_t bytes) {
    void* memory;
    if (cudaMallocManaged(&memory, bytes) != cudaSuccess) throw std::bad_alloc();
    return memory;
  }
  void operator delete(void* memory) {
    cudaDeviceSynchronize();
    cudaFree(memory);
  }
};

class Counter : public Managed {
 public:
  __host__ __device__ Counter() : count_(0) {}
  __device__ void add(int by) { atomicAdd(&count_, by); }
  __host__ __device__ int get() const { return count_; }

 private:
  int count_;
};

__managed__ int longest;
__device__ __managed__ float table[4] = {1, 2, 4, 8};

__global__ void walk(Node* const* heads, int lists, int* sums, Counter* nodes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lists) return;
  int length = 0;
  for (Node* node = heads[i]; node != nullptr; node = node->next) {
    sums[i] += node->value;
    node->value = -node->value;
    ++length;
  }
  nodes->add(length);
  atomicMax(&longest, length);
}

__global__ void look_up(float* out) { out[threadIdx.x] = table[threadIdx.x] * 10; }

int main() {
  const int lists = 40;
  Node** heads;
  int* sums;
  CUDA_CHECK(cudaMallocManaged(&heads, lists * sizeof(Node*)));
  CUDA_CHECK(cudaMallocManaged(&sums, lists * sizeof(int), cudaMemAttachGlobal));
  std::vector<int> right(lists);
  int nodes = 0;
  for (int i = 0; i < lists; ++i) {
    heads[i] = nullptr;
    sums[i] = 0;
    for (int k = 0; k < i % 7; ++k, ++nodes) {
      Node* node;
      CUDA_CHECK(cudaMallocManaged(&node, sizeof(Node)));
      *node = Node{i + k, heads[i]};
      heads[i] = node;
      right[i] += i + k;
    }
  }
  longest = -1;
  Counter* counter = new Counter;
  walk<<<2, 32>>>(heads, lists, sums, counter);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  expect("sums", std::vector<int>(sums, sums + lists), right);
  expect("nodes, longest", std::vector<int>{counter->get(), longest}, std::vector<int>{nodes, 6});
  delete counter;
  for (int i = 0; i < lists; ++i)
    for (Node* node = heads[i]; node != nullptr;) {
      if (node->value > 0) return 5;
      Node* next = node->next;
      CUDA_CHECK(cudaFree(node));
      node = next;
    }
  float* out;
  CUDA_CHECK(cudaMallocManaged(&out, sizeof table));
  table[3] = 16;
  look_up<<<1, 4>>>(out);
  CUDA_CHECK(cudaDeviceSynchronize());
  expect("table", std::vector<float>(out, out + 4), std::vector<float>{10, 20, 40, 160});
  cudaPointerAttributes attributes;
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, out));
  if (attributes.type != cudaMemoryTypeManaged) return 6;
  CUDA_CHECK(cudaFree(out));
  CUDA_CHECK(cudaFree(heads));
  CUDA_CHECK(cudaFree(sums));
}
