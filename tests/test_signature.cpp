// Signatures: the grammar, every error's message, and tensors held against a signature.
#include "fixture/signature.hpp"

#include <boost/test/unit_test.hpp>

using namespace prenorm;
using namespace prenorm::harness;

namespace {

using Types = std::vector<std::optional<TensorType>>;

TensorType f32(Shape shape) { return {DType::float32, std::move(shape)}; }
TensorType f64(Shape shape) { return {DType::float64, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::int64, std::move(shape)}; }
TensorType b8(Shape shape) { return {DType::boolean, std::move(shape)}; }

std::string parse_error(std::string_view text) {
  try {
    parse_signature(text);
  } catch (const SignatureError& error) {
    return error.what();
  }
  return "no error";
}

std::string bind_error(std::string_view text, const Types& inputs) {
  const Signature signature = parse_signature(text);
  try {
    output_types(signature, harness::bind(signature, inputs));
  } catch (const SignatureError& error) {
    return error.what();
  }
  return "no error";
}

/// The shape of the only output.
Shape output_shape(std::string_view text, const Types& inputs) {
  const Signature signature = parse_signature(text);
  return output_types(signature, harness::bind(signature, inputs)).at(0).shape;
}

constexpr std::string_view matrix = "x[..., d_in], weight[d_out, d_in] -> y[..., d_out]";
constexpr std::string_view masked = "q[..., n, d], mask[..., n]: bool? -> y[..., n, d]";

}  // namespace

BOOST_AUTO_TEST_SUITE(signature)

BOOST_AUTO_TEST_CASE(a_whole_signature) {
  const Signature s = parse_signature(
      "x[..., seq, d], ids[...]: int64, mask[]: bool?, extra[d]?; n: int, eps: float = 1e-5, "
      "theta: float = 10000, flag: bool = true, low: int = -7 -> y[..., seq, d], count[]: int64");
  BOOST_TEST(s.inputs.size() == 4u);
  BOOST_TEST(s.inputs[0].name == "x");
  BOOST_TEST(s.inputs[0].batched);
  BOOST_TEST((s.inputs[0].dims == std::vector<std::string>{"seq", "d"}));
  BOOST_TEST(!s.inputs[0].dtype.has_value());
  BOOST_TEST(!s.inputs[0].optional);
  BOOST_TEST((s.inputs[1].dtype == DType::int64));
  BOOST_TEST((s.inputs[1].batched && s.inputs[1].dims.empty()));
  BOOST_TEST((s.inputs[2].dtype == DType::boolean && s.inputs[2].optional));
  BOOST_TEST((!s.inputs[2].batched && s.inputs[2].dims.empty()));
  BOOST_TEST((!s.inputs[3].dtype && s.inputs[3].optional));
  BOOST_TEST(s.scalars.size() == 5u);
  BOOST_TEST((s.scalars[0].kind == ScalarKind::integer && !s.scalars[0].default_value));
  BOOST_TEST((s.scalars[1].default_value == Scalar(1e-5)));
  BOOST_TEST((s.scalars[2].default_value == Scalar(10000.0)));
  BOOST_TEST((s.scalars[3].default_value == Scalar(true)));
  BOOST_TEST((s.scalars[4].default_value == Scalar(std::int64_t{-7})));
  BOOST_TEST(s.outputs.size() == 2u);
  BOOST_TEST((s.outputs[1].dtype == DType::int64));
  BOOST_TEST(!s.whole_shape());
}

BOOST_AUTO_TEST_CASE(white_space_means_nothing) {
  const Signature a = parse_signature("x[...,d];eps:float=1e-5->y[...,d]");
  const Signature b = parse_signature(" x [ ... ,\td ] ; eps : float = 1e-5\n  -> y[..., d] ");
  BOOST_TEST(a.text == b.text);
  BOOST_TEST(a.text == "x[...,d];eps:float=1e-5->y[...,d]");
  BOOST_TEST(parse_signature("x[...,e];eps:float=1e-5->y[...,e]").text != a.text);
}

BOOST_AUTO_TEST_CASE(a_default_before_the_arrow) {
  const Signature s = parse_signature("x[...]; a: int = 3->y[...]");
  BOOST_TEST((s.scalars[0].default_value == Scalar(std::int64_t{3})));
  const Signature t = parse_signature("x[...]; a: float = -1->y[...]");
  BOOST_TEST((t.scalars[0].default_value == Scalar(-1.0)));
  const Signature u = parse_signature("x[...]; a: bool = false->y[...]");
  BOOST_TEST((u.scalars[0].default_value == Scalar(false)));
}

BOOST_AUTO_TEST_CASE(errors_tell_the_column_and_what_was_wanted) {
  BOOST_TEST(parse_error("") == "signature, column 1: wanted an input's name, found the end");
  BOOST_TEST(parse_error("x[... d] -> y[...]") ==
             "signature, column 7: wanted ']', found 'd]->y[...]'");
  BOOST_TEST(parse_error("x[...]") == "signature, column 7: wanted '->', found the end");
  BOOST_TEST(parse_error("x[...] ->") ==
             "signature, column 10: wanted an output's name, found the end");
  BOOST_TEST(parse_error("x -> y[...]") == "signature, column 3: wanted '[', found '->y[...]'");
  BOOST_TEST(parse_error("x[3] -> y[...]") ==
             "signature, column 3: wanted a dimension's name, '...' or ']', found '3]->y[...]'");
  BOOST_TEST(parse_error("x[d, ...] -> y[d]") ==
             "signature, column 6: wanted a dimension's name, found '...]->y[d]'");
  BOOST_TEST(parse_error("x[d,] -> y[d]") ==
             "signature, column 5: wanted a dimension's name, found ']->y[d]'");
  BOOST_TEST(parse_error("x[d]: float8 -> y[d]") ==
             "signature, column 7: wanted float64, float32, float16, bfloat16, int64, bool or T, "
             "found 'float8->y[d]'");
  BOOST_TEST(parse_error("x[d]; -> y[d]") ==
             "signature, column 7: wanted a scalar's name, found '->y[d]'");
  BOOST_TEST(parse_error("x[d]; n -> y[d]") == "signature, column 9: wanted ':', found '->y[d]'");
  BOOST_TEST(parse_error("x[d]; n: long -> y[d]") ==
             "signature, column 10: wanted int, float or bool, found 'long->y[d]'");
  BOOST_TEST(parse_error("x[d]; n: int = 1.5 -> y[d]") ==
             "signature, column 17: wanted '->', found '.5->y[d]'");
  BOOST_TEST(parse_error("x[d]; n: int = many -> y[d]") ==
             "signature, column 16: wanted an integer, found 'many->y[d]'");
  BOOST_TEST(parse_error("x[d]; n: int = 99999999999999999999 -> y[d]") ==
             "signature, column 16: wanted an integer, found '999999999999'");
  BOOST_TEST(parse_error("x[d]; e: float = inf -> y[d]") ==
             "signature, column 18: wanted a finite number, found 'inf->y[d]'");
  BOOST_TEST(parse_error("x[d]; b: bool = 1 -> y[d]") ==
             "signature, column 17: wanted true or false, found '1->y[d]'");
  BOOST_TEST(parse_error("x[d] -> y[d]?") ==
             "signature, column 13: wanted an output that is not optional, found '?'");
  BOOST_TEST(parse_error("x[d] -> y[d] z[d]") ==
             "signature, column 14: wanted the end or ',', found 'z[d]'");
  BOOST_TEST(parse_error("x[d] -> y[d]; n: int") ==
             "signature, column 13: wanted the end or ',', found ';n:int'");
}

BOOST_AUTO_TEST_CASE(names_mean_one_thing) {
  const std::string taken = ": wanted an unused name, found '";
  BOOST_TEST(parse_error("x[d], x[d] -> y[d]") == "signature, column 7" + taken + "x[d]->y[d]'");
  BOOST_TEST(parse_error("x[d]; x: int -> y[d]") == "signature, column 7" + taken + "x:int->y[d]'");
  BOOST_TEST(parse_error("x[d] -> x[d]") == "signature, column 9" + taken + "x[d]'");
  BOOST_TEST(parse_error("x[d]; d: int -> y[d]") ==
             "signature: 'd' is both a scalar and a dimension");
}

BOOST_AUTO_TEST_CASE(outputs_take_what_inputs_give) {
  BOOST_TEST(parse_error("x[d] -> y[..., d]") ==
             "signature: output y has '...', but no input has it");
  BOOST_TEST(parse_error("x[d]: int64 -> y[d]") ==
             "signature: output y has the dtype T, but no input has it");
  BOOST_TEST(parse_error("x[d]: int64 -> y[d]: int64") == "no error");
  BOOST_TEST(bind_error("x[...] -> y[..., d]", {f32({2})}) ==
             "output y has the dimension d, which no input of this call has");
}

BOOST_AUTO_TEST_CASE(dimensions_bind) {
  const Signature s = parse_signature(matrix);
  const Binding binding = harness::bind(s, Types{f32({4, 2, 3}), f32({5, 3})});
  BOOST_TEST((binding.element_type == DType::float32));
  BOOST_TEST((binding.batch == Shape{4, 2}));
  BOOST_TEST(binding.sizes.at("d_in") == 3);
  BOOST_TEST(binding.sizes.at("d_out") == 5);
  const auto outputs = output_types(s, binding);
  BOOST_TEST((outputs[0].shape == Shape{4, 2, 5}));
  BOOST_TEST((outputs[0].dtype == DType::float32));
}

BOOST_AUTO_TEST_CASE(no_batch_axis_and_empty_tensors) {
  BOOST_TEST((output_shape(matrix, {f32({3}), f32({5, 3})}) == Shape{5}));
  BOOST_TEST((output_shape(matrix, {f32({0, 3}), f32({5, 3})}) == Shape{0, 5}));
  BOOST_TEST((output_shape(matrix, {f32({2, 0}), f32({5, 0})}) == Shape{2, 5}));
  BOOST_TEST((output_shape("x[...] -> y[...]", {f32({})}) == Shape{}));
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_bind) {
  BOOST_TEST(bind_error(matrix, {f32({2, 3}), f32({5, 4})}) ==
             "input weight has shape [5, 4], wanted [d_out, d_in]: d_in is 4 here and 3 in x");
  BOOST_TEST(bind_error(matrix, {f32({2, 3}), f32({3})}) ==
             "input weight has shape [3], wanted [d_out, d_in]");
  BOOST_TEST(bind_error(matrix, {f32({2, 3}), f32({1, 5, 3})}) ==
             "input weight has shape [1, 5, 3], wanted [d_out, d_in]");
  BOOST_TEST(bind_error(matrix, {f32({}), f32({5, 3})}) ==
             "input x has shape [], wanted [..., d_in]");
  BOOST_TEST(bind_error("w[d, d] -> y[d]", {f32({4, 5})}) ==
             "input w has shape [4, 5], wanted [d, d]: d is both 4 and 5");
  BOOST_TEST(bind_error("x[d] -> y[d]", {f32({-1})}) == "input x has shape [-1], wanted [d]");
}

BOOST_AUTO_TEST_CASE(element_types_that_do_not_bind) {
  BOOST_TEST(bind_error(matrix, {f32({3}), f64({5, 3})}) ==
             "input weight is float64, wanted float32, the dtype of x");
  BOOST_TEST(bind_error(matrix, {i64({3}), f64({5, 3})}) ==
             "input x is int64, wanted float64, float32, float16 or bfloat16");
  BOOST_TEST(bind_error(masked, {f32({2, 3}), i64({2})}) == "input mask is int64, wanted bool");
  BOOST_TEST(bind_error("i[n]: int64, x[n]? -> y[n]", {i64({2}), std::nullopt}) ==
             "no input determines T, the dtype of output y");
}

BOOST_AUTO_TEST_CASE(inputs_that_are_missing) {
  BOOST_TEST(bind_error(matrix, {f32({3}), std::nullopt}) ==
             "input weight is missing, wanted [d_out, d_in]");
  BOOST_TEST(bind_error(matrix, {f32({3})}) == "the call has 1 inputs, the signature has 2");
  BOOST_TEST((output_shape(masked, {f32({7, 2, 3}), std::nullopt}) == Shape{7, 2, 3}));
}

BOOST_AUTO_TEST_CASE(batch_axes_broadcast) {
  const auto batch = [](Shape q, Shape mask) {
    q.insert(q.end(), {2, 3});
    mask.push_back(2);
    Shape y = output_shape(masked, {f32(q), b8(mask)});
    y.resize(y.size() - 2);
    return y;
  };
  BOOST_TEST((batch({}, {}) == Shape{}));
  BOOST_TEST((batch({4}, {}) == Shape{4}));
  BOOST_TEST((batch({}, {4}) == Shape{4}));
  BOOST_TEST((batch({5, 4}, {4}) == Shape{5, 4}));
  BOOST_TEST((batch({4}, {5, 4}) == Shape{5, 4}));
  BOOST_TEST((batch({5, 1}, {1, 4}) == Shape{5, 4}));
  BOOST_TEST((batch({1}, {6, 5, 4}) == Shape{6, 5, 4}));
  BOOST_TEST((batch({1}, {0}) == Shape{0}));
  BOOST_TEST((batch({0}, {1}) == Shape{0}));
  BOOST_TEST(bind_error(masked, {f32({5, 2, 3}), b8({4, 2})}) ==
             "input mask has shape [4, 2], wanted [..., n]: its batch axes [4] do not broadcast "
             "with [5]");
  BOOST_TEST(bind_error(masked, {f32({0, 2, 3}), b8({4, 2})}) ==
             "input mask has shape [4, 2], wanted [..., n]: its batch axes [4] do not broadcast "
             "with [0]");
}

BOOST_AUTO_TEST_CASE(with_a_scalar_dim_the_dots_are_one_shape) {
  constexpr std::string_view text = "x[...], z[...]; dim: int -> y[...]";
  BOOST_TEST(parse_signature(text).whole_shape());
  BOOST_TEST((output_shape(text, {f32({2, 3}), f32({2, 3})}) == Shape{2, 3}));
  BOOST_TEST(bind_error(text, {f32({2, 3}), f32({1, 3})}) ==
             "input z has shape [1, 3], wanted [...] with ... = [2, 3]");
}

BOOST_AUTO_TEST_SUITE_END()
