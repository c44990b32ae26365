// A histogram by sorting, and compaction: Thrust's algorithms on keys, flags and indices.
#include "check.h"

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/gather.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

struct Positive {
  __host__ __device__ bool operator()(int x) const { return x > 0; }
};

template <class T>
std::vector<T> all(const thrust::device_vector<T>& values) {
  std::vector<T> result(values.size());
  thrust::copy(values.begin(), values.end(), result.begin());
  return result;
}

int main() {
  const std::vector<int> words{4, 1, 4, 9, 1, 4};
  thrust::device_vector<int> sorted(words.begin(), words.end()), keys(6), counts(6);
  thrust::sort(sorted.begin(), sorted.end());
  const auto ends =
      thrust::reduce_by_key(sorted.begin(), sorted.end(), thrust::constant_iterator<int>(1),
                            keys.begin(), counts.begin());
  keys.resize(ends.first - keys.begin());
  counts.resize(ends.second - counts.begin());
  expect("words", all(keys), std::vector<int>{1, 4, 9}, 0);
  expect("counts", all(counts), std::vector<int>{2, 3, 1}, 0);
  sorted.erase(thrust::unique(sorted.begin(), sorted.end()), sorted.end());
  expect("each once", all(sorted), std::vector<int>{1, 4, 9}, 0);

  const std::vector<int> mixed{3, -1, 0, 8, -5, 2};
  thrust::device_vector<int> x = mixed, kept(6), places(6);
  kept.resize(thrust::copy_if(x.begin(), x.end(), kept.begin(), Positive()) - kept.begin());
  expect("kept", all(kept), std::vector<int>{3, 8, 2}, 0);

  // The places in order of the values, and back.
  thrust::sequence(places.begin(), places.end());
  thrust::stable_sort_by_key(x.begin(), x.end(), places.begin());
  expect("places", all(places), std::vector<int>{4, 1, 2, 5, 0, 3}, 0);
  thrust::device_vector<int> back(6), again(6);
  thrust::scatter(x.begin(), x.end(), places.begin(), back.begin());
  expect("scattered", all(back), mixed, 0);
  thrust::gather(places.begin(), places.end(), back.begin(), again.begin());
  expect("gathered", all(again), all(x), 0);
  thrust::inclusive_scan(x.begin(), x.end(), x.begin(), thrust::maximum<int>());
  expect("so far", all(x), std::vector<int>{-5, -1, 0, 2, 3, 8}, 0);
}
