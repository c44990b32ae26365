// A hash table of 64-bit slots: a key and a value in one word, linear probing by atomicCAS,
// deletion by a value, all pairs collected at the end, and a bit set as a Bloom filter.
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include "check.h"

struct KeyValue {
  uint32_t key;
  uint32_t value;
};

const uint32_t kHashTableCapacity = 1024;
const uint32_t kEmpty = 0xffffffff;

union Slot {
  KeyValue pair;
  unsigned long long word;
};
static_assert(sizeof(Slot) == 8, "a slot is one word");

// The finishing steps of a 32-bit Murmur 3.
__host__ __device__ uint32_t hash(uint32_t k) {
  k ^= k >> 16;
  k *= 0x85ebca6b;
  k ^= k >> 13;
  k *= 0xc2b2ae35;
  k ^= k >> 16;
  return k & (kHashTableCapacity - 1);
}

__global__ void gpu_insert(Slot* table, const KeyValue* kvs, unsigned n) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  Slot mine;
  mine.pair = kvs[id];
  for (uint32_t slot = hash(mine.pair.key);; slot = (slot + 1) & (kHashTableCapacity - 1)) {
    Slot expected;
    expected.pair = KeyValue{kEmpty, kEmpty};
    Slot seen;
    seen.word = atomicCAS(&table[slot].word, expected.word, mine.word);
    if (seen.word == expected.word) return;
    while (seen.pair.key == mine.pair.key) {  // values of a key are added
      Slot sum = seen;
      sum.pair.value += mine.pair.value;
      expected = seen;
      seen.word = atomicCAS(&table[slot].word, expected.word, sum.word);
      if (seen.word == expected.word) return;
    }
  }
}

__global__ void gpu_lookup(const Slot* __restrict__ table, uint32_t* keys_to_values, unsigned n) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < n) {
    const uint32_t key = keys_to_values[id];
    uint32_t slot = hash(key);
    while (true) {
      const Slot found = table[slot];
      if (found.pair.key == key || found.pair.key == kEmpty) {
        keys_to_values[id] = found.pair.value;
        return;
      }
      slot = (slot + 1) & (kHashTableCapacity - 1);
    }
  }
}

__device__ unsigned found_count;

__global__ void gpu_iterate(const Slot* table, KeyValue* kvs) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= kHashTableCapacity || table[id].pair.key == kEmpty) return;
  kvs[atomicInc(&found_count, 0xffffffffu)] = table[id].pair;
}

__global__ void bloom(const uint32_t* keys, unsigned n, unsigned* bits, bool* told) {
  const unsigned id = threadIdx.x;
  bool all = true;
#pragma unroll
  for (unsigned salt = 1; salt <= 3; salt++) {
    const uint32_t at = hash(keys[id] * salt + salt);
    if (id < n / 2) atomicOr(&bits[at / 32], 1u << (at % 32));
  }
  __syncthreads();
  for (unsigned salt = 1; salt <= 3 && all; salt++) {
    const uint32_t at = hash(keys[id] * salt + salt);
    all = (bits[at >> 5] & (1u << (at & 31u))) != 0;
  }
  told[id] = all;
}

int main() {
  const unsigned n = 1500;
  std::vector<KeyValue> pairs(n);
  std::unordered_map<uint32_t, uint32_t> map;
  for (unsigned i = 0; i < n; ++i) {
    pairs[i] = {i * 2654435761u % 601u, i};
    map[pairs[i].key] += i;
  }
  Slot* table;
  CUDA_CHECK(cudaMalloc(&table, sizeof(Slot) * kHashTableCapacity));
  CUDA_CHECK(cudaMemset(table, 0xff, sizeof(Slot) * kHashTableCapacity));
  gpu_insert<<<(n + 127) / 128, 128>>>(table, on_device(pairs), n);
  std::vector<uint32_t> keys(700), values(700);
  for (uint32_t i = 0; i < 700; ++i) keys[i] = i, values[i] = map.count(i) ? map[i] : kEmpty;
  uint32_t* d_keys = on_device(keys);
  gpu_lookup<<<6, 128>>>(table, d_keys, 700);
  expect("values", on_host(d_keys, 700), values, 0);

  KeyValue* d_pairs;
  CUDA_CHECK(cudaMalloc(&d_pairs, sizeof(KeyValue) * kHashTableCapacity));
  unsigned count = 0;
  CUDA_CHECK(cudaMemcpyToSymbol(found_count, &count, sizeof count));
  gpu_iterate<<<kHashTableCapacity / 256, 256>>>(table, d_pairs);
  CUDA_CHECK(cudaMemcpyFromSymbol(&count, found_count, sizeof(unsigned)));
  auto all = on_host(d_pairs, count);
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.key < b.key; });
  std::vector<uint32_t> sorted, right;
  for (auto& pair : all) sorted.push_back(pair.value);
  for (uint32_t i = 0; i < 700; ++i)
    if (map.count(i)) right.push_back(map[i]);
  expect("all pairs", sorted, right, 0);

  bool* told;
  CUDA_CHECK(cudaMalloc(&told, 128 * sizeof(bool)));
  bloom<<<1, 128>>>(on_device(keys), 128, on_device(std::vector<unsigned>(kHashTableCapacity / 32)),
                    told);
  bool answers[128];
  CUDA_CHECK(cudaMemcpy(answers, told, sizeof(answers), cudaMemcpyDeviceToHost));
  int missed = 0, wrong = 0;
  for (int i = 0; i < 128; ++i) missed += i < 64 && !answers[i], wrong += i >= 64 && answers[i];
  expect("a Bloom filter", std::vector<int>{missed, wrong < 10}, std::vector<int>{0, 1}, 0);
}
