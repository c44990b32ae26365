// Graphs: levels by a queue that blocks collect in shared memory and copy together, shortest paths
// by relaxing edges until a flag stays down, components by hooking labels.
#include <climits>
#include <queue>
#include "check.h"

struct Graph {
  int nodes;
  const int *starts, *edges, *weights;
};

enum { QUEUE = 64 };

__global__ void next_level(Graph g, const int* frontier, const int* size, int* levels, int level,
                           int* next, int* next_size) {
  __shared__ int queue[QUEUE], count, begin;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < *size) {
    const int node = frontier[i];
    for (int e = g.starts[node]; e < g.starts[node + 1]; ++e) {
      const int to = g.edges[e];
      if (atomicCAS(&levels[to], -1, level) != -1) continue;
      const int place = atomicAdd(&count, 1);
      if (place < QUEUE)
        queue[place] = to;
      else
        next[atomicAdd(next_size, 1)] = to;  // it is full
    }
  }
  __syncthreads();
  const int mine = min(count, int(QUEUE));
  if (threadIdx.x == 0) begin = atomicAdd(next_size, mine);
  __syncthreads();
  for (int k = threadIdx.x; k < mine; k += blockDim.x) next[begin + k] = queue[k];
}

__global__ void relax(Graph g, int* distance, int* changed) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= g.nodes) return;
  const int own = atomicAdd(&distance[node], 0);
  if (own == INT_MAX) return;
  for (int e = g.starts[node], end = g.starts[node + 1]; e != end; e++) {
    const int by_me = own + g.weights[e];
    if (atomicMin(distance + g.edges[e], by_me) > by_me) atomicOr(changed, 1);
  }
}

__device__ int root(int* labels, int node) {
  for (int label; (label = atomicAdd(&labels[node], 0)) != node; node = label) {
  }
  return node;
}
__global__ void hook(Graph g, int* labels) {
  const int node = threadIdx.x + blockDim.x * blockIdx.x;
  if (node >= g.nodes) return;
  for (int e = g.starts[node]; e < g.starts[node + 1]; ++e) {
    int a = root(labels, node), b = root(labels, g.edges[e]);
    while (a != b) {
      if (a < b) {
        const int t = a;
        a = b, b = t;
      }
      const int seen = atomicCAS(&labels[a], a, b);  // the larger one under the smaller one
      if (seen == a) break;
      a = root(labels, seen), b = root(labels, b);
    }
  }
}
__global__ void flatten(int* labels, int* flat, int n) {
  const int node = threadIdx.x + blockDim.x * blockIdx.x;
  if (node < n) flat[node] = root(labels, node);
}

int main() {
  const int n = 500;
  std::vector<int> starts{0}, edges, weights, identity(n);
  for (int i = 0; i < n; ++i) {
    identity[i] = i;
    // Two components: the even nodes and the odd ones.
    for (int j : {(i + 2) % n, (i + n - 2) % n, (i * 6 + i % 2) % n, i % 2}) {
      edges.push_back(j / 2 * 2 + i % 2);
      weights.push_back(1 + (i * 31 + j) % 9);
    }
    starts.push_back(int(edges.size()));
  }
  std::vector<int> levels(n, -1), distance(n, INT_MAX), parts(n);
  std::queue<int> waiting({0});
  for (levels[0] = 0; !waiting.empty(); waiting.pop())
    for (int e = starts[waiting.front()]; e < starts[waiting.front() + 1]; ++e)
      if (levels[edges[e]] < 0) {
        levels[edges[e]] = levels[waiting.front()] + 1;
        waiting.push(edges[e]);
      }
  distance[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < n; ++i)
      for (int e = starts[i]; distance[i] != INT_MAX && e < starts[i + 1]; ++e)
        if (distance[i] + weights[e] < distance[edges[e]])
          distance[edges[e]] = distance[i] + weights[e], changed = true;
  }
  for (int i = 0; i < n; ++i) parts[i] = i % 2;

  const Graph g{n, on_device(starts), on_device(edges), on_device(weights)};
  std::vector<int> first(n, -1);
  first[0] = 0;
  int *d_levels = on_device(first), *frontier = on_device(std::vector<int>(n)),
      *next = on_device(std::vector<int>(n)), *sizes = on_device(std::vector<int>{1, 0});
  for (int level = 1, h_size = 1; h_size > 0; ++level) {
    CUDA_CHECK(cudaMemset(sizes + 1, 0, sizeof(int)));
    next_level<<<(h_size + 31) / 32, 32>>>(g, frontier, sizes, d_levels, level, next, sizes + 1);
    CUDA_CHECK(cudaMemcpy(&h_size, sizes + 1, sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(sizes, sizes + 1, sizeof(int), cudaMemcpyDeviceToDevice));
    std::swap(frontier, next);
  }
  expect("levels", on_host(d_levels, n), levels, 0);

  std::vector<int> far(n, INT_MAX);
  far[0] = 0;
  int *d_distance = on_device(far), *changed, again;
  CUDA_CHECK(cudaMalloc(&changed, sizeof *changed));
  do {
    CUDA_CHECK(cudaMemset(changed, again = 0, sizeof *changed));
    relax<<<(n + 127) / 128, 128>>>(g, d_distance, changed);
    CUDA_CHECK(cudaMemcpy(&again, changed, sizeof again, cudaMemcpyDeviceToHost));
  } while (again);
  expect("shortest paths", on_host(d_distance, n), distance, 0);

  int *labels = on_device(identity), *flat = on_device(identity);
  hook<<<(n + 127) / 128, 128>>>(g, labels);
  flatten<<<(n + 127) / 128, 128>>>(labels, flat, n);
  expect("components", on_host(flat, n), parts, 0);
}
