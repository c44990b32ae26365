// Which kernel attention is launched with where a device's record says that v4 passed: the emulated
// kernels, compiled as for that, v4 itself by the model of Hopper's instructions (hopper/).
// Without such a record: tests/cuda/test_cuda_attention.cpp.
#include "attention_testing.hpp"
#include "multihead_self_attention.cuh"
#include "versions.cuh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <tuple>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

/// What is launched for the call, whose result must be right.
template <class T>
Kernels kernels_for(Call<T>& call) {
  const Kernels kernels = launches([&] { call.run(attention_launched<T>); });
  BOOST_TEST(call.error() < 1.5e-2);
  return kernels;
}

using Types = std::tuple<float16, bfloat16>;

}  // namespace

extern "C" int prenorm_scaled_dot_product_attention__v3(const prenorm_call* call);

BOOST_AUTO_TEST_SUITE(attention_launched)

BOOST_AUTO_TEST_CASE_TEMPLATE(v4_where_it_takes_the_call, T, Types) {
  for (const std::int64_t d : {64, 128}) {
    Call<T> p({1, 70, 150, d, d});
    BOOST_TEST(kernels_for(p) == Kernels{"attention v4"}, boost::test_tools::per_element());
    p.a.causal = true;  // without a mask: none is built or read
    BOOST_TEST(kernels_for(p) == Kernels{"attention v4"}, boost::test_tools::per_element());
    p.set_mask([](auto, auto i, auto j) { return (i + j) % 3 != 0; });
    BOOST_TEST(kernels_for(p) == (Kernels{"pack_mask_tiles", "attention v4"}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(v3_for_other_shapes, T, Types) {
  for (const auto& [d_k, d_v] : {std::pair{32, 32}, {64, 128}, {128, 64}, {96, 96}, {256, 256}}) {
    Call<T> p({1, 20, 70, d_k, d_v});
    p.a.causal = true;
    BOOST_TEST(kernels_for(p) == Kernels{"attention v3"}, boost::test_tools::per_element());
  }
  Call<T> unaligned({1, 20, 70, 64, 64, 1, 0, 1});  // its offset
  BOOST_TEST(kernels_for(unaligned) == Kernels{"attention v3"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(split_keys_for_few_queries, T, Types) {
  Call<T> p({1, 2, 1100, 64, 64});
  BOOST_TEST(kernels_for(p) == (Kernels{"attention of parts", "attention, combined"}),
             boost::test_tools::per_element());
}

/// cuda/v3, so that bench can compare it with what is launched.
BOOST_AUTO_TEST_CASE(v3_has_a_name_of_its_own) {
  const auto run = [](auto type) {
    using T = decltype(type);
    Elements<T> memory[4];
    std::int64_t shape[] = {70, 64}, strides[] = {64, 1};
    DLTensor tensor[4];
    for (int i = 0; i < 4; ++i) {
      memory[i] = draw<T>(70 * 64);
      tensor[i] = {memory[i].data(), {kDLCPU, 0}, 2, dtype_of<T>(), shape, strides, 0};
    }
    const DLTensor* inputs[] = {&tensor[0], &tensor[1], &tensor[2], nullptr};
    DLTensor* outputs[] = {&tensor[3]};
    char error[256] = "";
    const prenorm_call call{inputs, 4, 0, nullptr, outputs, 1, nullptr, error, sizeof error};
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
  Call<float> p({1, 20, 70, 64, 64});
  BOOST_TEST(kernels_for(p) == Kernels{"attention v2"}, boost::test_tools::per_element());
}

/// Two heads of 64, causal: v4 with heads as ranges of columns, as the first versions compute it.
BOOST_AUTO_TEST_CASE_TEMPLATE(multihead_self_attention_goes_by_it, T, Types) {
  constexpr std::int64_t sequences = 2, seq = 140, d_model = 128, size = sequences * seq * d_model;
  const Elements<T> x = draw<T>(size);
  Elements<T> y(x.size()), wanted(x.size()), w[4];
  for (Elements<T>& each : w) each = draw<T>(d_model * d_model, 0.1f);
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
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = std::abs(static_cast<double>(y[i]) - static_cast<double>(wanted[i]));
    largest = std::isnan(error) ? INFINITY : std::max(largest, error);
  }
  BOOST_TEST(largest < (std::is_same_v<T, float16> ? 4e-3 : 3e-2));
}

BOOST_AUTO_TEST_SUITE_END()
