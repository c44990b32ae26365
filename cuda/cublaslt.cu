// Products by cuBLASLt: how they are described to it, and which of its algorithms is kept.
#include "cublaslt.cuh"

#include "launch.cuh"
#include "types.cuh"
#include "workspace.cuh"

#include <algorithm>
#include <array>
#include <compare>
#include <cublasLt.h>
#include <limits>
#include <map>
#include <memory>
#include <vector>

namespace prenorm::cuda {

/// As check of launch.cuh, for what cuBLASLt returns.
static void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(what) + ": cuBLASLt: " + cublasLtGetStatusString(status));
}

namespace {

constexpr std::size_t workspace_bytes = 32 << 20;  // what NVIDIA advises for Hopper
constexpr int most_candidates = 8;
constexpr int rounds = 3;  // of timing all candidates in turn

template <class T>
constexpr cudaDataType_t data_type = CUDA_R_32F;
template <>
constexpr cudaDataType_t data_type<double> = CUDA_R_64F;
template <>
constexpr cudaDataType_t data_type<float16> = CUDA_R_16F;
template <>
constexpr cudaDataType_t data_type<bfloat16> = CUDA_R_16BF;

template <class T>
constexpr cublasComputeType_t compute_type = CUBLAS_COMPUTE_32F;
template <>
constexpr cublasComputeType_t compute_type<double> = CUBLAS_COMPUTE_64F;
#if defined(PRENORM_CUDA_TF32)
template <>
constexpr cublasComputeType_t compute_type<float> = CUBLAS_COMPUTE_32F_FAST_TF32;
#endif

/// The context of a device, created once. Never destroyed: when static objects are, CUDA may be
/// gone.
cublasLtHandle_t handle_of(int device, const char* what) {
  static std::map<int, cublasLtHandle_t> handles;
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) check(cublasLtCreate(&handle), what);
  return handle;
}

/// The power of two, up to 256, to which an address is aligned.
std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

/// What an algorithm depends on.
struct Shape {
  int device;
  std::int64_t rows, d_out, d_in, y_stride;
  bool has_residual;
  std::array<std::uint32_t, 4> alignments;  // of A, B, C, D
  auto operator<=>(const Shape&) const = default;
};

/// An algorithm of cuBLASLt. (Named: nvcc 13.0 crashes on vectors of a struct that is only named by
/// a typedef.)
struct Algorithm : cublasLtMatmulAlgo_t {};

/// A product as cuBLASLt takes it. The descriptors are members: there is no memory to free.
template <class T>
struct Plan {
  Plan(const Shape& shape, const char* what) {
    const auto init = [&](cublasLtMatrixLayoutOpaque_t& layout, const ColumnMajor::Matrix& matrix) {
      check(cublasLtMatrixLayoutInit(&layout, data_type<T>, static_cast<std::uint64_t>(matrix.rows),
                                     static_cast<std::uint64_t>(matrix.columns), matrix.leading),
            what);
    };
    const ColumnMajor matrices = column_major(shape.rows, shape.d_out, shape.d_in, shape.y_stride);
    init(a, matrices.a);
    init(b, matrices.b);
    init(c, matrices.c);
    check(cublasLtMatmulDescInit(&operation, compute_type<T>, data_type<compute_t<T>>), what);
    const std::int32_t transpose = CUBLAS_OP_T;  // of A; B is taken as it is, the default
    check(cublasLtMatmulDescSetAttribute(&operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                         sizeof transpose),
          what);
  }

  cublasStatus_t run(cublasLtHandle_t handle, const Product<T>& p, const Algorithm& with,
                     void* workspace, Stream stream, T* y) {
    const compute_t<T> alpha = 1, beta = p.residual != nullptr ? 1 : 0;
    const T* c_at = p.residual != nullptr ? p.residual : y;  // not read where beta is 0
    return cublasLtMatmul(handle, &operation, &alpha, p.weight, &a, p.x, &b, &beta, c_at, &c, y, &c,
                          &with, workspace, workspace_bytes, native(stream));
  }

  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c;  // C and D are laid out alike
  Algorithm algorithm;                   // the one that is kept
};

/// The algorithms that cuBLASLt suggests, the one that it expects to be the fastest first.
template <class T>
std::vector<Algorithm> candidates(cublasLtHandle_t handle, Plan<T>& plan, const Shape& shape,
                                  const char* what) {
  cublasLtMatmulPreferenceOpaque_t preference;
  check(cublasLtMatmulPreferenceInit(&preference), what);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value), what);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  // The parts of a split sum stay in the compute type, and are added in a fixed order.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.alignments[0]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.alignments[1]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.alignments[2]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.alignments[3]);

  std::array<cublasLtMatmulHeuristicResult_t, most_candidates> results{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, &plan.operation, &plan.a, &plan.b, &plan.c, &plan.c,
                                     &preference, most_candidates, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, what);
  std::vector<Algorithm> algorithms;
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back({result.algo});
  }
  return algorithms;
}

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;
Event make_event(const char* what) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), what);
  return Event(event);
}

/// A run of a candidate between two events.
struct Run {
  std::size_t algorithm;
  Event start, stop;
};

struct Free {
  void operator()(void* memory) const { cudaFree(memory); }
};

/// The fastest of the algorithms, timed on the stream; overwrites y. All runs are enqueued, in
/// turns, before the wait for the stream, so that a changing clock affects all alike. An algorithm
/// that does not run counts as slow.
template <class T>
Algorithm fastest(cublasLtHandle_t handle, Plan<T>& plan, const Product<T>& p,
                  const std::vector<Algorithm>& algorithms, void* workspace, Stream stream) {
  std::unique_ptr<void, Free> scratch;  // if y is also read, the runs must not change it
  if (p.residual == p.y) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, static_cast<std::size_t>(p.rows * p.row_of_y()) * sizeof(T)), p.name);
    scratch.reset(memory);
  }
  T* y = scratch ? static_cast<T*>(scratch.get()) : p.y;

  std::vector<Run> runs;
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      Run run{i, make_event(p.name), make_event(p.name)};
      check(cudaEventRecord(run.start.get(), native(stream)), p.name);
      if (plan.run(handle, p, algorithms[i], workspace, stream, y) != CUBLAS_STATUS_SUCCESS)
        continue;
      check(cudaEventRecord(run.stop.get(), native(stream)), p.name);
      if (round > 0) runs.push_back(std::move(run));  // round 0 loads the kernels
    }
  }
  check(cudaStreamSynchronize(native(stream)), p.name);

  std::vector<float> best(algorithms.size(), std::numeric_limits<float>::infinity());
  for (const Run& run : runs) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, run.start.get(), run.stop.get()), p.name);
    best[run.algorithm] = std::min(best[run.algorithm], milliseconds);
  }
  // Within 2% the first is kept, so that noise seldom decides.
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < best.size(); ++i) {
    if (best[i] < 0.98f * best[chosen]) chosen = i;
  }
  return algorithms[chosen];
}

}  // namespace

template <class T>
bool cublaslt_product(const Product<T>& p, Stream stream) {
  static Workspace workspace("cuBLASLt's workspace");
  void* memory = workspace.get<std::byte>(workspace_bytes, stream);
  int device = 0;
  check(cudaGetDevice(&device), p.name);
  const cublasLtHandle_t handle = handle_of(device, p.name);
  const bool has_residual = p.residual != nullptr;
  const Shape shape{device,
                    p.rows,
                    p.d_out,
                    p.d_in,
                    p.row_of_y(),
                    has_residual,
                    {alignment(p.weight), alignment(p.x),
                     alignment(has_residual ? p.residual : p.y), alignment(p.y)}};

  static std::map<Shape, std::unique_ptr<Plan<T>>> plans;  // null: cuBLASLt has no algorithm
  auto known = plans.find(shape);
  if (known == plans.end()) {
    auto plan = std::make_unique<Plan<T>>(shape, p.name);
    const auto algorithms = candidates(handle, *plan, shape, p.name);
    cudaStreamCaptureStatus capture{};
    check(cudaStreamIsCapturing(native(stream), &capture), p.name);
    if (algorithms.empty()) {
      plan.reset();
    } else if (algorithms.size() == 1) {
      plan->algorithm = algorithms.front();
    } else if (capture != cudaStreamCaptureStatusNone) {  // only the graph keeps this one
      check(plan->run(handle, p, algorithms.front(), memory, stream, p.y), p.name);
      return true;
    } else {
      plan->algorithm = fastest(handle, *plan, p, algorithms, memory, stream);
    }
    known = plans.emplace(shape, std::move(plan)).first;
  }
  if (known->second == nullptr) return false;
  Plan<T>& plan = *known->second;
  check(plan.run(handle, p, plan.algorithm, memory, stream, p.y), p.name);
  return true;
}

template bool cublaslt_product<double>(const Product<double>&, Stream);
template bool cublaslt_product<float>(const Product<float>&, Stream);
template bool cublaslt_product<float16>(const Product<float16>&, Stream);
template bool cublaslt_product<bfloat16>(const Product<bfloat16>&, Stream);

}  // namespace prenorm::cuda
