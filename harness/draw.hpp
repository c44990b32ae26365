// Fresh values for a case's inputs, as its `draw` attributes describe them.
#pragma once

#include "replay.hpp"

#include <random>

namespace prenorm::harness {

/// A parsed draw text: normal(m,s), uniform(a,b), integer(a,b) (a <= v < b), boolean(p) (the
/// probability of true), permutation (of 0 .. n-1 along the last axis, each row for itself).
/// A bound is a number or the name of a dimension or of a scalar.
struct Draw {
  enum class Kind { normal, uniform, integer, boolean, permutation };
  Kind kind = Kind::normal;
  std::string first, second;  // the bounds as written
};

/// Parses; throws SignatureError that quotes the text.
Draw parse_draw(const std::string& text);

/// A generator whose numbers depend on the seed and the words alone, on every machine.
std::mt19937_64 generator(std::uint64_t seed, const std::string& words);

/// One fresh input of that type. Throws SignatureError for a bound that names nothing, a range
/// without a number in it, or values that the type cannot hold.
Tensor draw(const Draw& how, const TensorType& type, const Case& of, const Signature& signature,
            std::mt19937_64& random);

/// A case's inputs anew: drawn where there is a draw text, else the stored floating values made
/// smaller by up to 1% each, so that none leaves its type's range (kept bit for bit where `perturb`
/// is false, and always for int64 and bool). Throws SignatureError where a draw text is wrong.
std::vector<std::optional<Tensor>> redraw(const LoadedCase& stored, const Signature& signature,
                                          bool perturb, std::mt19937_64& random);

}  // namespace prenorm::harness
