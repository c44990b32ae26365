// Derives tolerances, for stored files and hidden cases alike; fresh cases: stored ones with new
// inputs, new expected values and new tolerances.
#pragma once

#include "fixture/draw.hpp"
#include "replay/answer.hpp"

namespace prenorm::harness {

/// No tolerance comes of these values. The message names the case.
struct CaseError : NoAnswer {
  using NoAnswer::NoAnswer;
};

/// The solutions from whose errors and outputs tolerances are derived.
struct Yardsticks {
  Solution& textbook;                 // the textbook loop
  Solution& truth;                    // called in float64: expected values
  Solution& redraws;                  // the same, for the redraws of a tolerance
  Solution* textbook_tf32 = nullptr;  // the textbook loop with tf32 products, if there is one
  bool tf32_tolerances = true;        // derive them, if textbook_tf32 is there
};

/// E is the largest error of the textbook loop (`textbook`, in the case's type) against float64,
/// over the stored inputs (truth: the stored outputs) and `redraws` fresh ones (truth: `by.redraws`
/// called in float64 on the same values, widened). In a redraw the textbook loop sees the float
/// scalars changed by a relative 2^-50 at most, so that E covers how a formula's constants round.
/// Then atol = 2 E, but at least 4 units in the last place of T at the output's root mean square,
/// and rtol = 4 eps(T). A case whose stored tolerance is zero stays exact: atol = rtol = 0, and
/// E > 0 is an error. E and the root mean square are over finite elements.
///
/// The textbook loop may have a second function for the problem, prenorm_PROBLEM__field: the same
/// in forms that round more and are as right. Then E is the larger error of both.
///
/// In float64 the truth is no more precise than the loop: E is the loop's error in float32, in
/// proportion to the types' spacings, where that is larger and float32 has such values.
///
/// Where the textbook loop takes no products and rounds a 16-bit output once, at its end, E is the
/// error before that rounding, and the tolerance leaves room for this one rounding only:
/// derive_rounded_tolerance(). Both conditions are measured: float32 outputs for the same inputs,
/// rounded, must be the 16-bit outputs bit for bit, and `textbook_tf32` must give the same as
/// `textbook` where tf32 would show in a product (without it the ordinary rule applies).
///
/// An output of float32 also gets a tf32 tolerance where `textbook_tf32` has a function for the
/// problem: from its largest error over the same inputs, by derive_tf32_tolerance().
///
/// Throws CaseError where `truth` or `redraws` refuses the values, where the stored answer is not
/// that of `truth`, or where the solutions disagree on which elements are NaN or infinite; and
/// SolutionFailed, whose message names the case. A case that must be refused has no tolerances:
/// nothing.
std::vector<NewTolerance> calibrate(const std::string& problem, const Signature& signature,
                                    const LoadedCase& stored, const Yardsticks& by,
                                    int redraws = 15, std::uint64_t seed = 0);

/// The textbook loop's functions for a problem: itself, and prenorm_PROBLEM__field where there is
/// one.
std::vector<std::string> forms_of(const std::string& problem, Solution& textbook);

/// The largest |actual - truth| over the elements that are finite in both; 0 if there is none.
///
/// Throws NoAnswer that names the first element where one is NaN or infinite and the other is not.
/// Beside the overflow threshold of actual's type an infinity is no disagreement.
double largest_error(const Tensor& actual, const Tensor& truth);

/// The root mean square of the elements of `truth` that are finite in `dtype`; 0 if there is none.
double root_mean_square(const Tensor& truth, DType dtype);

/// Which tolerance an error gives, and why in one sentence.
struct DerivedTolerance {
  Tolerance tolerance;
  std::string reason;
};

/// The rule above: `error` is E, found in `draws` draws, `rms` the output's root mean square.
DerivedTolerance derive_tolerance(double error, double rms, DType dtype, int draws);

/// The same for a 16-bit output that is rounded once, where `error` is E before the rounding:
/// atol = 2 E plus half the spacing of subnormals, rtol = 0.75 eps (rounding itself needs 0.5).
DerivedTolerance derive_rounded_tolerance(double error, DType dtype, int draws);

/// Adds the limits on all elements' errors together (Tolerance::rms, bias), by the loop's answers
/// to all draws and the exact ones, where there are enough of both and a limit tells something.
/// `other_forms`: by how much the errors of other honest forms together may be larger.
void derive_together(const std::vector<Tensor>& actual, const std::vector<Tensor>& exact,
                     double other_forms, Tolerance& tolerance);

/// Whether a tolerance is one of derive_rounded_tolerance().
bool allows_one_rounding(const Tolerance& tolerance, DType dtype);

/// The tf32 tolerance that goes with an ordinary one; `error_tf32` is the largest error of the loop
/// with tf32 products, `error` is E. atol = 2 error_tf32, but at least the ordinary atol. Where
/// tf32 shows, which is where error_tf32 > error, rtol = 4 * 2^-10; else the ordinary rtol.
DerivedTolerance derive_tf32_tolerance(double error_tf32, double error, const Tolerance& ordinary);

struct FreshOptions {
  std::uint64_t seed = 0;
  bool resize = false;  // redraw the sizes that the case's `dims` names, from 1 to twice the stored
  int redraws = 15;     // for the tolerances
};

/// Whether fresh_case() changes a case: not one that must be refused or has nothing to draw.
bool is_redrawn(const Case& info);

/// The case with fresh values where it has draw texts; expected values in float64, tolerances by
/// calibrate().
///
/// Sizes that the reference rejects (more positions than a table holds) are drawn again, and
/// finally kept. Throws as calibrate().
LoadedCase fresh_case(const std::string& problem, const Signature& signature,
                      const LoadedCase& stored, const Yardsticks& by, const FreshOptions& options);

/// Of a larger case it is not asked whether it is fair, and no hidden one is drawn: 2 % of the
/// cases would take half of the time.
inline constexpr std::int64_t most_elements_fair = 1 << 16;

/// The same, drawn again where the values have no answer, or right answers would come near the
/// tolerance: it comes from sixteen draws, of which one sets it.
LoadedCase fair_case(const std::string& problem, const Signature& signature,
                     const LoadedCase& stored, const Yardsticks& by, const FreshOptions& options);

/// A fair case with other values of the same sizes, and with its tolerances, which need sixteen
/// draws: far sooner there. Nothing where the truth has no answer to any of eight draws. Throws
/// SolutionFailed.
std::optional<LoadedCase> with_other_values(const std::string& problem, const Signature& signature,
                                            const LoadedCase& drawn, const Yardsticks& by,
                                            std::uint64_t seed);

}  // namespace prenorm::harness
