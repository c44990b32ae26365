// A solution whose kernels step beyond the tensors of the call, which AddressSanitizer must see
// though the harness allocated them.
#include "export.cuh"
#include "launch.cuh"
#include "types.cuh"

namespace prenorm::cuda {
namespace {

template <class T, int read_ahead, int write_ahead>
__global__ void relu(const T* x, T* y, std::int64_t size) {
  const std::int64_t i = global_thread();
  if (i >= size) return;
  const auto value = widen(x[i + read_ahead]);
  y[i + write_ahead] = narrow<T>(value < 0 ? 0 : value);
}

template <int read_ahead, int write_ahead, class T>
void launch_relu(View<const T> x, Stream stream, View<T> y) {
  launch({"planted relu", ceil_div(x.size(), 32), 32, stream}, relu<T, read_ahead, write_ahead>,
         x.data(), y.data(), x.size());
}

template <class T>
void clean(View<const T> x, Stream stream, View<T> y) {
  launch_relu<0, 0>(x, stream, y);
}
template <class T>
void reads_beyond(View<const T> x, Stream stream, View<T> y) {
  launch_relu<1, 0>(x, stream, y);
}
template <class T>
void reads_before(View<const T> x, Stream stream, View<T> y) {
  launch_relu<-1, 0>(x, stream, y);
}
template <class T>
void writes_beyond(View<const T> x, Stream stream, View<T> y) {
  launch_relu<0, 1>(x, stream, y);
}

}  // namespace

PRENORM_CUDA_FUNCTION(relu, clean)
PRENORM_CUDA_FUNCTION(relu__reads_beyond, reads_beyond)
PRENORM_CUDA_FUNCTION(relu__reads_before, reads_before)
PRENORM_CUDA_FUNCTION(relu__writes_beyond, writes_beyond)

}  // namespace prenorm::cuda

PRENORM_SOLUTION(kDLCPU)
