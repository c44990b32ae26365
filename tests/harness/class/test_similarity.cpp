// Which submissions are said to be alike, and which not.
#include "base/temporary_folder.hpp"
#include "class/similarity.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <random>

using namespace prenorm::harness;
namespace fs = std::filesystem;

namespace {

const std::string original = R"py(
import torch

def rmsnorm(x, weight, eps):
    """Root mean square, over the last axis."""
    in_dtype = x.dtype
    x = x.to(torch.float32)
    rms = torch.sqrt(torch.mean(x ** 2, dim=-1, keepdim=True) + eps)
    return (x / rms * weight).to(in_dtype)

def softmax(x, axis):
    largest = x.max(dim=axis, keepdim=True).values
    powers = torch.exp(x - largest)
    return powers / powers.sum(dim=axis, keepdim=True)

class Rope(torch.nn.Module):
    def __init__(self, theta, d_k, longest):
        super().__init__()
        powers = torch.arange(0, d_k, 2) / d_k
        angles = torch.outer(torch.arange(longest), theta ** -powers)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, positions):
        even, odd = x[..., 0::2], x[..., 1::2]
        cos, sin = self.cos[positions], self.sin[positions]
        turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
        return turned.flatten(-2)
)py";

// Other names, other layout, comments, and the parts in another order.
const std::string renamed = R"py(
# My own work.
import torch
class RotaryEmbedding(torch.nn.Module):
  def __init__(self, base, width, steps):
    super().__init__()
    exponent = torch.arange(0, width, 2) / width   # one for each pair
    table = torch.outer(torch.arange(steps), base ** -exponent)
    self.register_buffer('c', table.cos()); self.register_buffer('s', table.sin())
  def forward(self, inputs, where):
    a, b = inputs[..., 0::2], inputs[..., 1::2]
    c, s = self.c[where], self.s[where]
    both = torch.stack(
        [a * c - b * s,
         a * s + b * c], dim=-1)
    return both.flatten(-2)

def my_softmax(values, d):
    m = values.max(dim=d, keepdim=True).values
    e = torch.exp(values - m)
    return e / e.sum(dim=d, keepdim=True)

def norm(inputs, gain, epsilon):
    kind = inputs.dtype
    inputs = inputs.to(torch.float32)
    root = torch.sqrt(torch.mean(inputs ** 2, dim=-1, keepdim=True) + epsilon)
    return (inputs / root * gain).to(kind)
)py";

const std::string another = R"py(
from math import inf
from torch import einsum, rsqrt, float32, ones, empty, stack, view_as_complex, view_as_real, polar

class Norm:
    def __init__(self, size, epsilon=1e-5):
        self.gain, self.epsilon = ones(size), epsilon

    def __call__(self, batch):
        wide = batch.float()
        scale = rsqrt(einsum("...d,...d->...", wide, wide).div(wide.shape[-1]).add(self.epsilon))
        return einsum("...d,...,d->...d", wide, scale, self.gain).type_as(batch)

def rotate(queries, angles):
    pairs = view_as_complex(queries.float().unflatten(-1, (-1, 2)).contiguous())
    unit = polar(angles.new_ones(angles.shape), angles)
    return view_as_real(pairs * unit).flatten(start_dim=-2).type_as(queries)

def normalized_powers(scores, axis=-1):
    shifted = scores.sub(scores.amax(axis, True)).exp_()
    total = shifted.sum(axis, True)
    if not total.all():
        raise ValueError("no power is left in a row")
    return shifted.div_(total)
)py";

Fingerprints marks(const std::string& name, const std::string& text,
                   const std::string& file = "a.py") {
  Fingerprints made{name, {}, {}};
  add_source(made, file, text);
  return made;
}

double share(const std::string& one, const std::string& other, const std::string& file = "a.py") {
  const auto pairs = alike({marks("one", one, file), marks("other", other, file)}, {}, 0).pairs;
  return pairs.empty() ? 0 : pairs[0].share;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(similarity)

BOOST_AUTO_TEST_CASE(names_layout_comments_and_order_do_not_hide_a_copy) {
  BOOST_TEST(share(original, original) == 1);
  BOOST_TEST(share(original, renamed) > .7);
  BOOST_TEST(share(original, another) < .2);
  BOOST_TEST(share(renamed, another) < .2);
}

BOOST_AUTO_TEST_CASE(c_is_compared_without_its_comments) {
  const std::string one = R"c(
#include <math.h>
/* The mean of squares. */
static float mean(const float* x, int n) { float sum = 0; for (int i = 0; i < n; ++i) sum += x[i] * x[i]; return sum / n; }
void norm(const float* x, const float* w, float* y, int n, float eps) {
  const float scale = 1.0f / sqrtf(mean(x, n) + eps);
  for (int i = 0; i < n; ++i) y[i] = x[i] * scale * w[i];  // with the gain
  if (n > 4096 && scale > 1e6f) { y[0] = y[0] / scale; y[n - 1] = y[n - 1] / scale; }
}
)c";
  const std::string other = R"c(
// Nobody else's.
#include <math.h>
static float average(const float* values, int count)
{
  float total = 0;
  for (int k = 0; k < count; ++k)
    total += values[k] * values[k];
  return total / count;
}
void rms(const float* in, const float* gain, float* out, int size, float epsilon)
{
  const float factor = 1.0f / sqrtf(average(in, size) + epsilon);
  for (int k = 0; k < size; ++k)
    out[k] = in[k] * factor * gain[k];
  if (size > 100 && factor > 2e3f) {
    out[0] = out[0] / factor;
    out[size - 1] = out[size - 1] / factor;
  }
}
)c";
  BOOST_TEST(share(one, other, "a.cpp") > .95);
}

BOOST_AUTO_TEST_CASE(what_everybody_was_given_does_not_count) {
  const std::string mine = original + another, yours = original + "\n\n# nothing more\n";
  BOOST_TEST(share(mine, yours) > .9);
  const auto found =
      alike({marks("a", mine), marks("b", original + renamed)}, {marks("given", original)}, .1);
  BOOST_TEST(found.pairs.empty());
  BOOST_TEST(found.too_short.empty());
  const auto own = alike({marks("a", mine), marks("b", yours)}, {marks("given", original)}, .1);
  BOOST_TEST(own.too_short == std::vector<std::string>{"b"});
}

BOOST_AUTO_TEST_CASE(what_most_of_a_class_has_does_not_count) {
  // A skeleton, and something of one's own: two have the same.
  std::vector<Fingerprints> class_;
  for (int i = 0; i < 8; ++i) {
    std::string own = "\ndef part_" + std::to_string(i) + "(a, b):\n";
    for (int k = 0; k < 40; ++k) {
      const int turn = (i * 37 + k * (i + 3)) % 11;
      own += turn % 3 == 0
                 ? "    a = a * b + " + std::string(static_cast<std::size_t>(turn), '-') + "b\n"
             : turn % 3 == 1 ? "    b = [a] * (b // 2 ** a)\n    if a > b: return a\n"
                             : "    for a in range(b): b, a = a, b\n    while b: b -= a\n";
    }
    class_.push_back(marks("s" + std::to_string(i), original + (i == 7 ? another : own)));
  }
  class_.push_back(marks("copy", original + another));
  const auto pairs = alike(class_, {}, .9).pairs;
  BOOST_REQUIRE_EQUAL(pairs.size(), 1u);
  BOOST_TEST(pairs[0].one == "s7");
  BOOST_TEST(pairs[0].other == "copy");
  BOOST_TEST(pairs[0].share > .95);
  // In a class of two it is all that there is to see.
  BOOST_TEST(!alike({class_[0], class_[1]}, {}, .3).pairs.empty());
}

BOOST_AUTO_TEST_CASE(the_files_are_named_and_only_sources_are_read) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((folder / file).parent_path());
    std::ofstream(folder / file) << text;
  };
  write("ann/model.py", original);
  write("ann/README.md", another);
  write("ann/.venv/lib/torch.py", another);
  write("ben/src/net.py", renamed);
  write("ben/other.py", another);
  write("cy/notes.txt", original);
  write("dee/long.py", original + std::string(1u << 20, '#'));
  fs::create_symlink("../ann/model.py", folder / "cy/model.py");
  const Fingerprints ann = fingerprints_of("ann", folder / "ann"),
                     ben = fingerprints_of("ben", folder / "ben");
  BOOST_TEST(ann.files == std::vector<std::string>{"model.py"});
  BOOST_TEST(fingerprints_of("cy", folder / "cy").files.empty());
  BOOST_TEST(fingerprints_of("model", folder / "ann/model.py").files ==
             std::vector<std::string>{"model.py"});
  BOOST_TEST(!ann.is_cut);
  BOOST_TEST(fingerprints_of("dee", folder / "dee").is_cut);
  BOOST_TEST(ann.no_sources == std::set<std::string>{".md"});
  const auto pairs = alike({ann, ben}, {}, .5).pairs;
  BOOST_REQUIRE_EQUAL(pairs.size(), 1u);
  BOOST_REQUIRE(!pairs[0].files.empty());
  BOOST_TEST(pairs[0].files[0].first == "model.py");
  BOOST_TEST(pairs[0].files[0].second == "src/net.py");
  BOOST_CHECK_THROW(fingerprints_of("no", folder / "no"), std::exception);
}

BOOST_AUTO_TEST_CASE(endless_sources_take_little_memory) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  std::minstd_rand random;
  for (int i = 0; i < 12; ++i) {
    std::ofstream file(folder / (std::to_string(i) + ".py"));
    for (int k = 0; k < (1 << 20); ++k) file << "+-*/%&|^<>=()[]{},;:."[random() % 21];
  }
  const Fingerprints endless = fingerprints_of("endless", folder);
  BOOST_TEST(endless.marks.size() == 200000u);
  BOOST_TEST(endless.is_cut);
}

BOOST_AUTO_TEST_CASE(little_code_and_wild_text_say_nothing) {
  BOOST_TEST(share("x = 1\n", "x = 1\n") == 0);
  const std::string wild = "\"\"\"\xff\\ 'unended\n\"\n/* # " + std::string(3000, '(');
  for (const char* file : {"a.py", "a.cu"}) {
    BOOST_CHECK_NO_THROW(share(wild, wild, file));
    BOOST_CHECK_NO_THROW(share("'\\", "\"\"\"", file));
  }
}

BOOST_AUTO_TEST_SUITE_END()
