// Which kernel attention is launched with where a device's record says that v4 passed: the emulated
// kernels, compiled as for that, v4 itself by the model of Hopper's instructions (hopper/).
// Without such a record: tests/cuda/test_cuda_attention.cpp.
#include "attention_testing.hpp"
#include "multihead_self_attention.cuh"
#include "versions.cuh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

std::mt19937 random_bits{7};
std::vector<std::string> launched;
using Kernels = std::vector<std::string>;

/// The kernels that `work` launches, in order.
Kernels launches(const auto& work) {
  launched.clear();
  emulator::observe_launch = [](const emulator::Launch& l) { launched.emplace_back(l.kernel); };
  work();
  emulator::observe_launch = nullptr;
  return launched;
}

/// Memory aligned to 256 bytes, as tensors of the interface are.
template <class T>
struct Aligned {
  struct alignas(256) Piece {
    std::byte bytes[256];
  };
  std::vector<Piece> pieces;

  explicit Aligned(std::int64_t count, float spread = 1)
      : pieces(static_cast<std::size_t>(count) * sizeof(T) / sizeof(Piece) + 1) {
    std::normal_distribution<float> normal(0, spread);
    for (std::int64_t i = 0; i < count; ++i) data()[i] = static_cast<T>(normal(random_bits));
  }
  T* data() { return reinterpret_cast<T*>(pieces.data()); }
};

/// A call of one head: what is launched for it, and the largest error.
template <class T>
struct Problem {
  std::int64_t n, m, d_k, d_v;
  Aligned<T> q, k, v, y;
  std::unique_ptr<bool[]> mask;
  bool causal = false;

  Problem(std::int64_t queries, std::int64_t keys, std::int64_t width_k, std::int64_t width_v)
      : n(queries),
        m(keys),
        d_k(width_k),
        d_v(width_v),
        q(n * d_k + 8),
        k(m * d_k),
        v(m * d_v),
        y(n * d_v) {}

  Kernels launch(std::int64_t offset_of_q = 0) {
    Attention<T> a{"test",   q.data() + offset_of_q,
                   k.data(), v.data(),
                   y.data(), n,
                   m,        d_k,
                   d_v,      d_k,
                   d_k,      d_v,
                   d_v,      {}};
    a.causal = causal;
    a.mask = mask.get();
    a.masks = mask ? 1 : 0;
    const Kernels kernels = launches([&] { attention_launched(a, Stream{}); });
    BOOST_TEST(largest_error(a) < 1.5e-2);
    return kernels;
  }
};

using Types = std::tuple<float16, bfloat16>;

}  // namespace

extern "C" int prenorm_scaled_dot_product_attention__v3(const prenorm_call* call);

BOOST_AUTO_TEST_SUITE(attention_launched)

BOOST_AUTO_TEST_CASE_TEMPLATE(v4_where_it_takes_the_call, T, Types) {
  for (const std::int64_t d : {64, 128}) {
    Problem<T> p(70, 150, d, d);
    BOOST_TEST(p.launch() == Kernels{"attention v4"}, boost::test_tools::per_element());
    p.causal = true;  // without a mask: none is built or read
    BOOST_TEST(p.launch() == Kernels{"attention v4"}, boost::test_tools::per_element());
    p.mask = make_mask(1, 70, 150, [](auto, auto i, auto j) { return (i + j) % 3 != 0; });
    BOOST_TEST(p.launch() == (Kernels{"pack_mask_tiles", "attention v4"}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(v3_for_other_shapes, T, Types) {
  for (const auto& [d_k, d_v] : {std::pair{32, 32}, {64, 128}, {128, 64}, {96, 96}, {256, 256}}) {
    Problem<T> p(20, 70, d_k, d_v);
    p.causal = true;
    BOOST_TEST(p.launch() == Kernels{"attention v3"}, boost::test_tools::per_element());
  }
  Problem<T> unaligned(20, 70, 64, 64);
  BOOST_TEST(unaligned.launch(1) == Kernels{"attention v3"}, boost::test_tools::per_element());
}

/// cuda/v3, so that bench can compare it with what is launched.
BOOST_AUTO_TEST_CASE(v3_has_a_name_of_its_own) {
  const auto run = [](auto type) {
    using T = decltype(type);
    Aligned<T> tensors[4] = {Aligned<T>(70 * 64), Aligned<T>(70 * 64), Aligned<T>(70 * 64),
                             Aligned<T>(70 * 64)};
    std::int64_t shape[] = {70, 64}, strides[] = {64, 1};
    DLTensor tensor[4];
    for (int i = 0; i < 4; ++i) {
      tensor[i] = {tensors[i].data(), {kDLCPU, 0}, 2, dtype_of<T>(), shape, strides, 0};
    }
    const DLTensor* inputs[] = {&tensor[0], &tensor[1], &tensor[2], nullptr};
    DLTensor* outputs[] = {&tensor[3]};
    char error[256] = "";
    prenorm_call call{};
    call.inputs = inputs;
    call.num_inputs = 4;
    call.outputs = outputs;
    call.num_outputs = 1;
    call.error = error;
    call.error_size = sizeof error;
    int status = PRENORM_OK;
    const Kernels kernels =
        launches([&] { status = prenorm_scaled_dot_product_attention__v3(&call); });
    return std::pair(status, kernels);
  };
  const auto [status, kernels] = run(bfloat16());
  BOOST_TEST(status == PRENORM_OK);
  BOOST_TEST(kernels == Kernels{"attention v3"}, boost::test_tools::per_element());
  const auto [refused, none] = run(float());
  BOOST_TEST(refused == PRENORM_NOT_IMPLEMENTED);
  BOOST_TEST(none.empty());
}

BOOST_AUTO_TEST_CASE(v2_for_other_types) {
  Problem<float> p(20, 70, 64, 64);
  BOOST_TEST(p.launch() == Kernels{"attention v2"}, boost::test_tools::per_element());
}

/// Two heads of 64, causal: v4 with heads as ranges of columns, as the first versions compute it.
BOOST_AUTO_TEST_CASE_TEMPLATE(multihead_self_attention_goes_by_it, T, Types) {
  constexpr std::int64_t sequences = 2, seq = 140, d_model = 128, size = sequences * seq * d_model;
  Aligned<T> x(size), y(size), wanted(size);
  Aligned<T> w[4] = {Aligned<T>(d_model * d_model, 0.1f), Aligned<T>(d_model * d_model, 0.1f),
                     Aligned<T>(d_model * d_model, 0.1f), Aligned<T>(d_model * d_model, 0.1f)};
  const std::int64_t shape[] = {sequences, seq, d_model};
  const auto call = [&](T* to) {
    return MultiheadSelfAttention<T>{View<const T>(x.data(), shape),
                                     w[0].data(),
                                     w[1].data(),
                                     w[2].data(),
                                     nullptr,
                                     w[3].data(),
                                     View<T>(to, shape),
                                     2};
  };
  const Kernels kernels = launches([&] { multihead<Launched>(call(y.data()), Stream{}); });
  BOOST_TEST(
      kernels == (Kernels{"linear v2", "linear v2", "linear v2", "attention v4", "linear v2"}),
      boost::test_tools::per_element());
  multihead<V1>(call(wanted.data()), Stream{});
  double largest = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double error =
        std::abs(static_cast<double>(y.data()[i]) - static_cast<double>(wanted.data()[i]));
    largest = std::isnan(error) ? INFINITY : std::max(largest, error);
  }
  BOOST_TEST(largest < (std::is_same_v<T, float16> ? 4e-3 : 3e-2));
}

BOOST_AUTO_TEST_SUITE_END()
