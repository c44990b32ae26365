// Known mistakes, one and two at once: a pair is neither of its mistakes alone, nor right.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <prenorm/prenorm.hpp>
#include <string>
#include <vector>

extern "C" int prenorm_rope__halves(const prenorm_call* call);
extern "C" int prenorm_rope__theta_fixed(const prenorm_call* call);
extern "C" int prenorm_combination(const char* function, const prenorm_call* call);

BOOST_AUTO_TEST_SUITE(combinations)

namespace {

constexpr double theta = 50;

/// A call of rope with x[2, 4] at the positions 3 and 7, by any of the library's functions.
class Call {
 public:
  /// What the function gives in y, and returns.
  template <class Function>
  std::vector<double> by(Function function) {
    code = function(&call_);
    return output_;
  }
  std::vector<double> combined(const std::string& name) {
    return by([&](const prenorm_call* call) { return prenorm_combination(name.c_str(), call); });
  }

  int code = -1;
  char message[200] = "";

 private:
  /// A tensor of the first axes of a shape.
  template <class T>
  static DLTensor tensor(std::vector<T>& data, std::vector<std::int64_t>& shape, int axes = 2) {
    return {data.data(), {kDLCPU, 0}, axes, prenorm::dtype_of<T>(), shape.data(), nullptr, 0};
  }

  std::vector<double> input_{1, 2, 3, 4, 5, 6, 7, 8}, output_ = std::vector<double>(8);
  std::vector<std::int64_t> at_{3, 7}, shape_{2, 4};
  DLTensor x_ = tensor(input_, shape_), positions_ = tensor(at_, shape_, 1);
  DLTensor y_ = tensor(output_, shape_);
  const DLTensor* inputs_[2] = {&x_, &positions_};
  DLTensor* outputs_[1] = {&y_};
  prenorm_scalar scalars_[2] = {{PRENORM_FLOAT, {.f = theta}}, {PRENORM_INT, {.i = 8}}};
  prenorm_call call_{inputs_, 2, 2, scalars_, outputs_, 1, nullptr, message, sizeof message};
};

/// x of the call turned in pairs (i, j) by the angles of `base`; the other way for a sign of -1.
std::vector<double> turned(double base, bool halves, int sign = 1) {
  std::vector<double> y(8);
  for (int row = 0; row < 2; ++row) {
    for (int k = 0; k < 2; ++k) {
      const int i = 4 * row + (halves ? k : 2 * k), j = 4 * row + (halves ? k + 2 : 2 * k + 1);
      const double angle = sign * (row == 0 ? 3 : 7) / std::pow(base, k / 2.0);
      y[static_cast<std::size_t>(i)] = (i + 1) * std::cos(angle) - (j + 1) * std::sin(angle);
      y[static_cast<std::size_t>(j)] = (i + 1) * std::sin(angle) + (j + 1) * std::cos(angle);
    }
  }
  return y;
}

bool close(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) < 1e-12)) return false;
  }
  return a.size() == b.size();
}

std::string refusal(const std::string& name) {
  Call call;
  call.combined(name);
  BOOST_TEST(call.code == PRENORM_NOT_IMPLEMENTED);
  return call.message;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_mistake_alone_is_what_its_name_says) {
  Call call;
  BOOST_TEST(close(call.by(prenorm_rope__halves), turned(theta, true)));
  BOOST_TEST(close(call.by(prenorm_rope__theta_fixed), turned(10000, false)));
  BOOST_TEST(!close(turned(theta, true), turned(theta, false)));
  BOOST_TEST(!close(turned(10000, false), turned(theta, false)));
}

BOOST_AUTO_TEST_CASE(a_pair_has_both_mistakes_in_either_order) {
  Call call;
  const std::vector<double> both = turned(10000, true);
  BOOST_TEST(close(call.combined("rope__halves+theta_fixed"), both));
  BOOST_TEST(call.code == PRENORM_OK);
  BOOST_TEST(close(call.combined("rope__theta_fixed+halves"), both));
  for (const bool halves : {false, true}) BOOST_TEST(!close(both, turned(theta, halves)));
  BOOST_TEST(!close(both, turned(10000, false)));
  // The next call is not wrong for it.
  BOOST_TEST(close(call.by(prenorm_rope__halves), turned(theta, true)));
}

BOOST_AUTO_TEST_CASE(three_mistakes_at_once) {
  Call call;
  const auto y = call.combined("rope__halves+theta_fixed+turned_the_other_way");
  BOOST_TEST(call.code == PRENORM_OK);
  BOOST_TEST(close(y, turned(10000, true, -1)));
}

BOOST_AUTO_TEST_CASE(what_changes_the_same_step_is_no_combination) {
  const std::string said = refusal("rope__theta_fixed+theta_whole");
  BOOST_TEST(said == "no such combination: two of theta_fixed+theta_whole change the same step");
  // The one is a part of the other.
  refusal("rope__halves+written_as_halves");
  refusal("rope__turned_the_other_way+second_sign_flipped");
  refusal("rope__halves+halves");
  refusal("rope__halves+theta_fixed+theta_whole");
}

BOOST_AUTO_TEST_CASE(what_is_unknown_is_named) {
  BOOST_TEST(refusal("rope__halves+thirds") == "no such combination: thirds is no known mistake");
  BOOST_TEST(refusal("ropes__halves+theta_fixed").starts_with("no such combination: ropes__"));
  BOOST_TEST(refusal("rope").starts_with("no such combination"));
  BOOST_TEST(refusal("rope__").starts_with("no such combination"));
}

BOOST_AUTO_TEST_CASE(a_type_that_hides_one_of_the_two_hides_the_pair) {
  BOOST_TEST(refusal("rope__halves+table_in_t") == "a mistake that the element type hides");
}

BOOST_AUTO_TEST_SUITE_END()
