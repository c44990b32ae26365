// Breadth-first search: level by level over all vertices with a flag that says when to stop, and by
// queues of the frontier, filled through shared memory.
#include <queue>
#include <utility>
#include "check.h"

struct Graph {
  int vertices;
  const int *begin, *neighbour;
};

// Others of this level set distances meanwhile: so they are read atomically.
__global__ void level(Graph g, int depth, int* distance, int* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= g.vertices || atomicAdd(&distance[v], 0) != depth) return;
  for (int e = g.begin[v]; e < g.begin[v + 1]; ++e) {
    if (atomicCAS(&distance[g.neighbour[e]], -1, depth + 1) == -1) atomicExch(changed, 1);
  }
}

__global__ void expand(Graph g, int depth, const int* frontier, int size, int* distance, int* next,
                       int* next_size) {
  constexpr int most = 96;
  __shared__ int found[most], count, begin;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) {
    const int v = frontier[i];
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e) {
      const int u = g.neighbour[e];
      if (atomicCAS(&distance[u], -1, depth + 1) != -1) continue;
      const int place = atomicAdd(&count, 1);
      if (place < most)
        found[place] = u;
      else
        next[atomicAdd(next_size, 1)] = u;
    }
  }
  __syncthreads();
  const int kept = min(count, most);
  if (threadIdx.x == 0) begin = atomicAdd(next_size, kept);
  __syncthreads();
  for (int k = threadIdx.x; k < kept; k += blockDim.x) next[begin + k] = found[k];
}

int main() {
  const int vertices = 600;
  std::vector<int> begin{0}, neighbour;
  unsigned state = 3;
  for (int v = 0; v < vertices; ++v) {
    for (int k = 0; k < 1 + v % 4; ++k) {
      state = state * 1664525u + 1013904223u;
      neighbour.push_back(int((state >> 9) % vertices));
    }
    begin.push_back(int(neighbour.size()));
  }
  std::vector<int> right(vertices, -1);
  right[0] = 0;
  std::queue<int> queue;
  for (queue.push(0); !queue.empty(); queue.pop())
    for (int e = begin[queue.front()]; e < begin[queue.front() + 1]; ++e)
      if (right[neighbour[e]] < 0) {
        right[neighbour[e]] = right[queue.front()] + 1;
        queue.push(neighbour[e]);
      }

  const Graph g{vertices, on_device(begin), on_device(neighbour)};
  std::vector<int> start(vertices, -1);
  start[0] = 0;
  int* distance = on_device(start);
  int *d_changed, changed = 1;
  CUDA_CHECK(cudaMalloc(&d_changed, sizeof(int)));
  for (int depth = 0; changed; ++depth) {
    CUDA_CHECK(cudaMemset(d_changed, 0, sizeof(int)));
    level<<<(vertices + 63) / 64, 64>>>(g, depth, distance, d_changed);
    CUDA_CHECK(cudaMemcpy(&changed, d_changed, sizeof(int), cudaMemcpyDeviceToHost));
  }
  expect("by levels", on_host(distance, vertices), right);

  int* again = on_device(start);
  int *frontier = on_device(std::vector<int>(vertices)),
      *next = on_device(std::vector<int>(vertices));
  int* next_size = on_device(std::vector<int>(1));
  for (int depth = 0, size = 1; size > 0; ++depth) {
    CUDA_CHECK(cudaMemset(next_size, 0, sizeof(int)));
    expand<<<(size + 31) / 32, 32>>>(g, depth, frontier, size, again, next, next_size);
    CUDA_CHECK(cudaMemcpy(&size, next_size, sizeof size, cudaMemcpyDeviceToHost));
    std::swap(frontier, next);
  }
  expect("by queues", on_host(again, vertices), right);
}
