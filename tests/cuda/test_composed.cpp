// Multi-head self-attention and the Transformer block of the CUDA path, emulated and in the kit on
// a device, through the interface: which kernels a call launches, and that its bits are always the
// same, whether a sequence comes alone or in a batch. Emulated, it is compiled for cuda and for
// cuda-naive.
#include "cuda_testing.hpp"

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <prenorm/prenorm.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

extern "C" {
using Solve = int(const prenorm_call*);
Solve prenorm_multihead_self_attention, prenorm_multihead_self_attention_with_rope,
    prenorm_multihead_self_attention_fused_qkv, prenorm_transformer_block,
    prenorm_transformer_block_post_norm, prenorm_transformer_block_gelu, prenorm_embedding,
    prenorm_rope;
#if !defined(PRENORM_CUDA_NAIVE)
Solve prenorm_multihead_self_attention__batch_invariant,
    prenorm_multihead_self_attention_with_rope__batch_invariant,
    prenorm_multihead_self_attention_fused_qkv__batch_invariant,
    prenorm_transformer_block__batch_invariant,
    prenorm_transformer_block_post_norm__batch_invariant,
    prenorm_transformer_block_gelu__batch_invariant;
#endif
}

namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t size_of(const Shape& shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  return size;
}

/// The arguments of a call, one after the other, and the call.
template <class T>
class Call {
 public:
  template <class E>
  void input(const std::vector<E>& values, Shape shape) {
    BOOST_REQUIRE(size_of(shape) == std::ssize(values));
    Tensor& tensor = tensors_.emplace_back();
    tensor.bytes.resize(values.size() * sizeof(E));
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    tensor.template describe<E>(std::move(shape));
    inputs_.push_back(&tensor.header);
  }
  void weight(unsigned seed, Shape shape) {
    const std::int64_t size = size_of(shape);
    input(uniform<T>(size, seed, 0.6), std::move(shape));
  }
  void absent() { inputs_.push_back(nullptr); }
  void integer(std::int64_t value) { scalars_.push_back({PRENORM_INT, {.i = value}}); }
  void floating(double value) { scalars_.push_back({PRENORM_FLOAT, {.f = value}}); }

  /// The bytes of the output; throws what the function says.
  std::vector<char> operator()(Solve* solve, Shape shape) {
    Tensor y;
    y.bytes.assign(static_cast<std::size_t>(size_of(shape)) * sizeof(T), char(0x7f));
    y.template describe<T>(std::move(shape));
    DLTensor* output = &y.header;
    for (Tensor& tensor : tensors_) tensor.go();
    y.go();
    char error[256] = "";
    const prenorm_call call{inputs_.data(),
                            static_cast<std::int32_t>(inputs_.size()),
                            static_cast<std::int32_t>(scalars_.size()),
                            scalars_.data(),
                            &output,
                            1,
                            nullptr,
                            error,
                            sizeof error};
    if (solve(&call) != PRENORM_OK) throw std::runtime_error(error);
    y.there->take_back();
    return y.bytes;
  }

 private:
  struct Tensor {
    std::vector<char> bytes;
    Shape shape, strides;
    DLTensor header{};
    std::optional<Mirror<char>> there;

    /// To where kernels read it.
    void go() {
      there.emplace(bytes.data(), std::ssize(bytes));
      header.data = there->data();
      header.device = {on_a_device ? kDLCUDA : kDLCPU, 0};
    }
    template <class E>
    void describe(Shape of_shape) {
      shape = std::move(of_shape);
      strides.assign(shape.size(), 1);
      for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
      header = {bytes.data(),
                {kDLCPU, 0},
                static_cast<std::int32_t>(shape.size()),
                dtype_of<E>(),
                shape.data(),
                strides.data(),
                0};
    }
  };
  std::deque<Tensor> tensors_;  // which stay where they are
  std::vector<const DLTensor*> inputs_;
  std::vector<prenorm_scalar> scalars_;
};

constexpr std::int64_t sequences = 3, seq = on_a_device ? 1000 : 70, d_model = 24, num_heads = 3,
                       d_ff = 40;

/// Which arguments a problem takes.
enum class Kind { plain, with_rope, fused_qkv, block, block_gelu };

struct Problem {
  const char* name;
  Kind kind;
  Solve* solve;
  Kernels kernels;  // in the order of launches
  bool batch_invariant = false;
};

// What the ladders of cuda/multihead_self_attention.cu and cuda/transformer_block.cu say, with the
// product that is launched where there is no cuBLASLt.
#if defined(PRENORM_CUDA_NAIVE)
const Kernels product{"linear v1"},
    attention{"attention v1 scores", "attention v1 probabilities", "attention v1 values"},
    rotation{"rope v1", "rope v1"}, norm{"rmsnorm v1"}, add{"addition v1"},
    project{"linear v1", "linear v1", "linear v1"}, gate{"activation v1", "multiplication v1"},
    activation{"activation v1"};
const std::string look_up = "embedding v1";
#else
const Kernels product{"linear v2"}, attention{"attention v2"}, rotation{"rope v3"},
    norm{"rmsnorm v3"}, add{}, project{"linear v2", "linear v2", "linear v2"}, gate{"gate v3"},
    activation{"activation v2"};
const std::string look_up = "embedding v2";
#endif

Kernels all(std::initializer_list<Kernels> parts) {
  Kernels kernels;
  for (const Kernels& part : parts) kernels.insert(kernels.end(), part.begin(), part.end());
  return kernels;
}

const Kernels plain = all({project, attention, product}),
              turned = all({project, rotation, attention, product}),
              swiglu = all({product, product, gate, product});

std::vector<Problem> problems() {
  const Kernels of_block = all({norm, turned, add, norm, swiglu, add}),
                of_post_norm = all({turned, add, norm, swiglu, add, norm}),
                of_gelu = all({norm, plain, add, norm, product, activation, product, add}),
                of_fused = all({product, attention, product});
  std::vector<Problem> list{
      {"plain", Kind::plain, prenorm_multihead_self_attention, plain},
      {"with_rope", Kind::with_rope, prenorm_multihead_self_attention_with_rope, turned},
      {"fused_qkv", Kind::fused_qkv, prenorm_multihead_self_attention_fused_qkv, of_fused},
      {"block", Kind::block, prenorm_transformer_block, of_block},
      {"post_norm", Kind::block, prenorm_transformer_block_post_norm, of_post_norm},
      {"gelu", Kind::block_gelu, prenorm_transformer_block_gelu, of_gelu}};
#if !defined(PRENORM_CUDA_NAIVE)
  Solve* const variants[] = {prenorm_multihead_self_attention__batch_invariant,
                             prenorm_multihead_self_attention_with_rope__batch_invariant,
                             prenorm_multihead_self_attention_fused_qkv__batch_invariant,
                             prenorm_transformer_block__batch_invariant,
                             prenorm_transformer_block_post_norm__batch_invariant,
                             prenorm_transformer_block_gelu__batch_invariant};
  for (std::size_t i = 0; i < std::size(variants); ++i) {
    Problem variant = list[i];
    variant.solve = variants[i];
    variant.batch_invariant = true;
    std::ranges::replace(variant.kernels, "linear v2", "linear v3");
    list.push_back(variant);
  }
#endif
  return list;
}

struct Options {
  std::int64_t heads = num_heads, max_seq_len = 1024, hidden = d_ff;
  std::vector<std::int64_t> positions = {};  // none: they are absent
};

/// The problem for x[batch..., rows, d_model], with weights that are always the same.
template <class T>
std::vector<char> solve(const Problem& problem, const std::vector<T>& x, const Shape& batch,
                        const Options& options = {}) {
  Call<T> call;
  Shape shape = batch;
  shape.insert(shape.end(), {std::ssize(x) / d_model / size_of(batch), d_model});
  call.input(x, shape);
  const bool block = problem.kind == Kind::block || problem.kind == Kind::block_gelu;
  if (block) call.weight(1, {d_model});
  if (problem.kind == Kind::fused_qkv) {
    call.weight(2, {3 * d_model, d_model});
  } else {
    for (const unsigned seed : {2u, 3u, 4u}) call.weight(seed, {d_model, d_model});
  }
  call.weight(5, {d_model, d_model});
  if (block) {
    call.weight(6, {d_model});
    call.weight(7, {options.hidden, d_model});
    call.weight(8, {d_model, options.hidden});
  }
  if (problem.kind == Kind::block) call.weight(9, {options.hidden, d_model});
  if (problem.kind == Kind::with_rope && options.positions.empty()) call.absent();
  if (problem.kind == Kind::with_rope && !options.positions.empty()) {
    call.input(options.positions, {std::ssize(options.positions)});
  }
  call.integer(options.heads);
  if (problem.kind == Kind::with_rope || problem.kind == Kind::block) {
    call.floating(10000);
    call.integer(options.max_seq_len);
  }
  if (block) call.floating(1e-5);
  return call(problem.solve, shape);
}

void for_each_problem(const auto& check) {
  for (const Problem& problem : problems()) {
    BOOST_TEST_CONTEXT(problem.name) { check(problem); }
  }
}

/// Every sequence by itself has the bits that it has in a batch; and those are always the same. On
/// a device only batch_invariant promises the first: cuBLASLt's algorithm depends on the shape.
template <class T>
void check_bits(const Problem& problem) {
  const std::int64_t part = seq * d_model;
  const std::vector<T> x = uniform<T>(sequences * part, 10, 2);
  const std::vector<char> together = solve(problem, x, {sequences});
  BOOST_TEST((solve(problem, x, {sequences}) == together));
  for (std::size_t at = 0; at < together.size(); at += sizeof(T)) {  // NaN would be NaN, alone too
    T value;
    std::memcpy(&value, &together[at], sizeof value);
    BOOST_TEST_REQUIRE(std::isfinite(static_cast<float>(value)));
  }
  if (on_a_device && !problem.batch_invariant) return;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const std::vector<char> alone =
        solve(problem, std::vector<T>(x.begin() + i * part, x.begin() + (i + 1) * part), {});
    BOOST_TEST_REQUIRE(static_cast<std::size_t>(sequences) * alone.size() == together.size());
    const char* there = together.data() + static_cast<std::size_t>(i) * alone.size();
    BOOST_TEST(std::memcmp(alone.data(), there, alone.size()) == 0, "sequence " << i);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(composed)

BOOST_AUTO_TEST_CASE(a_sequence_has_the_same_bits_alone_and_in_a_batch) {
  for_each_problem([](const Problem& problem) {
    check_bits<float>(problem);
    check_bits<bfloat16>(problem);
  });
}

#if !defined(__CUDACC__)  // only the emulator tells what is launched
BOOST_AUTO_TEST_CASE(the_kernels_are_those_of_the_ladder) {
  for_each_problem([](const Problem& problem) {
    const std::vector<float> x = uniform<float>(seq * d_model, 10, 2);
    BOOST_TEST(launches([&] { solve(problem, x, {}); }) == problem.kernels,
               boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(positions_that_are_given_are_looked_at) {
  for_each_problem([](const Problem& problem) {
    if (problem.kind != Kind::with_rope) return;
    const std::vector<float> x = uniform<float>(seq * d_model, 10, 2);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(seq));
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
    std::vector<char> given;
    const Kernels kernels =
        launches([&] { given = solve(problem, x, {}, {.positions = positions}); });
    BOOST_TEST(kernels == problem.kernels, boost::test_tools::per_element());
    BOOST_TEST((given == solve(problem, x, {})), "0, 1, ... is what is taken where none are given");

    const auto refused = [&](std::int64_t wrong, std::int64_t max_seq_len, const char* end) {
      positions[5] = wrong;
      positions[9] = -1;
      BOOST_CHECK_EXCEPTION(
          solve(problem, x, {}, {.max_seq_len = max_seq_len, .positions = positions}),
          std::runtime_error, [&](const std::runtime_error& error) {
            return error.what() ==
                   "rope: position " + std::to_string(wrong) + " is not in [0, " + end + ")";
          });
    };
    refused(1024, 1024, "max_seq_len = 1024");
    refused(1ll << 53, 1ll << 54, "2^53 = 9007199254740992");
  });
}

/// By the kernel that does the work, whose blocks share them; and by the host where there is none.
BOOST_AUTO_TEST_CASE(ids_and_positions_are_looked_at) {
  const auto check = [](Call<float>& call, Solve* function, const Shape& shape, std::string error,
                        const Kernels& kernels) {
    std::string said;
    const Kernels seen = launches([&] {
      try {
        call(function, shape);
      } catch (const std::runtime_error& thrown) {
        said = thrown.what();
      }
    });
    BOOST_TEST(seen == kernels, boost::test_tools::per_element());
    BOOST_TEST(said == error);
  };
  const Kernels embedding{look_up}, rope{rotation[0]};
  const auto check_positions = [&](const std::vector<std::int64_t>& positions, std::int64_t heads,
                                   const std::string& wrong, const Kernels& kernels) {
    const std::int64_t count = std::ssize(positions);
    Call<float> turn;
    turn.weight(1, {heads, count, 4});
    turn.input(positions, {count});
    turn.floating(10000);
    turn.integer(9);
    check(turn, prenorm_rope, {heads, count, 4},
          wrong.empty() ? "" : "rope: position " + wrong + " is not in [0, max_seq_len = 9)",
          kernels);
  };
  struct Values {
    std::vector<std::int64_t> values;
    std::string wrong;
  };
  for (const auto& [values, wrong] :
       {Values{{0, 8, 3}, ""}, Values{{8, 9, -1}, "9"}, Values{{8, -1, 9}, "-1"}}) {
    Call<float> lookup;
    lookup.input(values, {3});
    lookup.weight(1, {9, 4});
    check(lookup, prenorm_embedding, {3, 4},
          wrong.empty() ? "" : "embedding: token id " + wrong + " is not in [0, 9)", embedding);
    check_positions(values, 2, wrong, rope);
  }
  check_positions({0, 9, 12}, 0, "9", {});
  for (const std::size_t wrong : {0, 127, 128, 4000, 4999}) {  // in shares of several blocks
    std::vector<std::int64_t> many(5000, 8);
    many.back() = 10;
    many[wrong] = 9;
    Call<float> lookup;
    lookup.input(many, {5000});
    lookup.weight(1, {9, 4});
    check(lookup, prenorm_embedding, {5000, 4}, "embedding: token id 9 is not in [0, 9)",
          embedding);
    check_positions(many, 2, "9", rope);
  }
  Call<float> nothing;  // no id, no launch
  nothing.input(std::vector<std::int64_t>{}, {0});
  nothing.weight(1, {9, 4});
  check(nothing, prenorm_embedding, {0, 4}, "", {});
}

/// What the host can know to be wrong is thrown before anything is launched.
BOOST_AUTO_TEST_CASE(nothing_is_launched_where_the_host_finds_an_error) {
  for_each_problem([](const Problem& problem) {
    const std::vector<float> x = uniform<float>(2 * d_model, 10, 2);
    const auto refuses = [&](const Options& options, const std::string& message) {
      const auto says = [&](const std::runtime_error& error) {
        BOOST_TEST_INFO(error.what());
        return std::string(error.what()).find(message) != std::string::npos;
      };
      const Kernels kernels = launches(
          [&] { BOOST_CHECK_EXCEPTION(solve(problem, x, {}, options), std::runtime_error, says); });
      BOOST_TEST(kernels == Kernels{}, boost::test_tools::per_element());
    };
    for (const std::int64_t heads : {-1, 0, 5}) {
      refuses({.heads = heads}, "d_model = 24 is not divisible by num_heads = ");
    }
    if (problem.kind == Kind::with_rope || problem.kind == Kind::block) {
      refuses({.heads = 8}, "d_k must be even, is 3");
      refuses({.max_seq_len = 1}, "the last of 2 is not below max_seq_len = 1");
    }
    if (problem.kind == Kind::block || problem.kind == Kind::block_gelu) {
      refuses({.hidden = 0}, "d_ff is 0");
    }
  });
}
#endif

BOOST_AUTO_TEST_SUITE_END()
