// The maps from problems to Python functions: what they become, every mistake in them, and the
// shipped ones.
#include "grade/adapters.hpp"

#include "fixture_testing.hpp"

#include <nlohmann/json.hpp>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;
using nlohmann::json;

namespace {

const std::map<std::string, std::string> signatures{
    {"mix",
     "x[..., n, d], w[d_out, d], mask[..., n]: bool?; heads: int, eps: float = 1e-5, "
     "flag: bool = true -> y[..., n, d_out]"},
    {"two", "a[..., d], b[..., d] -> y[..., d]"},
    {"plain", "x[d], extra[d, m]? -> y[d]"},
};

Adapters read(const std::string& text) {
  const Scratch scratch;
  std::ofstream(scratch / "map.toml") << text;
  return Adapters(scratch / "map.toml", signatures);
}

/// The problem "mix" with those lines.
json mix(const std::string& lines) {
  return json::parse(read("[mix]\nfunction = \"f\"\n" + lines).json())["mix"];
}

/// The message behind the file's name.
std::string wrong(const std::string& text) {
  const std::string message = message_of<std::invalid_argument>([&] { read(text); });
  const std::string file = "map.toml:";
  BOOST_REQUIRE(contains(message, file));
  return message.substr(message.find(file) + file.size());
}

std::string wrong_mix(const std::string& lines) {
  return wrong("[mix]\nfunction = \"f\"\n" + lines);
}

void check_mix(const std::string& lines, const std::string& why) {
  BOOST_TEST(wrong_mix(lines) == " [mix]: " + why);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(adapters)

BOOST_AUTO_TEST_CASE(names_become_places) {
  const json made = mix(R"(arguments.z = "x"
arguments.width = "d"
arguments.length = "n"
arguments.out = "d_out"
arguments.weight = "w"
arguments.h = "heads"
arguments.e = "eps"
)");
  BOOST_TEST(made["function"] == "f");
  BOOST_TEST(!made.contains("fold"));
  BOOST_TEST(!made.contains("only"));
  // In the order of the file.
  const json wanted = json::parse(R"([
    {"name": "z", "value": {"input": 0}}, {"name": "width", "value": {"dimension": [0, -1]}},
    {"name": "length", "value": {"dimension": [0, -2]}},
    {"name": "out", "value": {"dimension": [1, -2]}}, {"name": "weight", "value": {"input": 1}},
    {"name": "h", "value": {"scalar": 0}}, {"name": "e", "value": {"scalar": 1}}])");
  BOOST_TEST(made["arguments"] == wanted);
}

BOOST_AUTO_TEST_CASE(constants_dictionaries_blocks_and_not) {
  const json made = mix(R"(arguments.b = 0.5
arguments.a = 3
arguments.weights."q.{N}.weight" = "w / heads"
arguments.weights."ln.weight" = "x"
arguments.train = false
arguments.masked = "not mask"
)");
  const json wanted = json::parse(R"([
    {"name": "b", "value": {"constant": 0.5}}, {"name": "a", "value": {"constant": 3}},
    {"name": "weights", "value": {"dict": [
      {"name": "q.{N}.weight", "value": {"input": 1, "blocks": {"scalar": 0}}},
      {"name": "ln.weight", "value": {"input": 0}}]}},
    {"name": "train", "value": {"constant": false}},
    {"name": "masked", "value": {"input": 2, "not": true}}])");
  BOOST_TEST(made["arguments"] == wanted);
}

BOOST_AUTO_TEST_CASE(slices_of_a_stacked_tensor) {
  const json made = mix(R"(arguments.weights."layers.{N}.w" = "w[N]"
arguments.weights."layers.{N}.q" = " w [N]"
)");
  const json wanted = json::parse(R"([
    {"name": "weights", "value": {"dict": [
      {"name": "layers.{N}.w", "value": {"input": 1, "slices": true}},
      {"name": "layers.{N}.q", "value": {"input": 1, "slices": true}}]}}])");
  BOOST_TEST(made["arguments"] == wanted);
}

BOOST_AUTO_TEST_CASE(inline_tables_mean_the_same) {
  BOOST_TEST(mix("arguments = {b = 1, weights = {\"v\" = \"x\", \"u\" = \"w\"}, a = \"x\"}\n") ==
             mix("[mix.arguments]\nb = 1\nweights.v = \"x\"\nweights.u = \"w\"\na = \"x\"\n"));
}

BOOST_AUTO_TEST_CASE(one_batch_axis_and_scalars_without_an_argument) {
  const std::string two = R"([plain]
function = "g"
arguments.x = "x"
[mix]
function = "f"
only.eps = 1e-5
only.flag = true
arguments.x = "x"
)";
  const json made = json::parse(read(two).json());
  BOOST_TEST(made["mix"]["only"] == json::parse(R"([
    {"scalar": 1, "name": "eps", "value": 1e-5}, {"scalar": 2, "name": "flag", "value": true}])"));
  const std::map<std::string, std::string> one{{"p", "w[d], x[..., n, d] -> y[..., n, d]"}};
  const Scratch scratch;
  std::ofstream(scratch / "map.toml")
      << "[p]\nfunction = \"f\"\nbatch_axes = 1\narguments.x = \"x\"\n";
  const Adapters folding(scratch / "map.toml", one);
  BOOST_TEST(json::parse(folding.json())["p"]["fold"] == json::parse(R"({"input": 1, "dims": 2})"));
}

BOOST_AUTO_TEST_CASE(cases_that_cannot_be_asked) {
  const Adapters adapters = read(R"([mix]
function = "f"
only.eps = 1e-5
arguments.weights."{N}" = "w / heads"
)");
  Case info;
  info.inputs.resize(3);
  info.inputs[1].emplace().type = {DType::float32, {6, 4}};
  info.scalars = {std::int64_t{3}, 1e-5, true};
  BOOST_TEST(adapters.cannot_ask("mix", info) == "");
  BOOST_TEST(adapters.cannot_ask("other", info) == "");
  BOOST_TEST(adapters.function("mix") == "f");
  BOOST_TEST(adapters.function("other") == "");
  BOOST_TEST(Adapters().cannot_ask("mix", info) == "");
  info.scalars[1] = 0.1;
  BOOST_TEST(adapters.cannot_ask("mix", info) ==
             "f has no argument for eps, which is 0.1 here and not 1e-05");
  info.scalars = {std::int64_t{4}, 1e-5, true};
  BOOST_TEST(adapters.cannot_ask("mix", info) ==
             "f takes its weights in blocks, and 6 rows do not split into 4");
  info.scalars[0] = std::int64_t{0};
  BOOST_TEST(contains(adapters.cannot_ask("mix", info), "do not split into 0"));
}

BOOST_AUTO_TEST_CASE(a_problem_without_a_fixture_is_left_out) {
  const Adapters adapters = read("[other]\nfunction = \"f\"\narguments.x = \"no such\"\n");
  BOOST_TEST(adapters.json() == "{}");
  BOOST_TEST(Adapters().empty());
}

BOOST_AUTO_TEST_CASE(mistakes_are_named) {
  BOOST_TEST(wrong("[mix\n").starts_with("1: "));
  BOOST_TEST(wrong("x = 1\n") == " x stands outside of a problem");
  BOOST_TEST(wrong("[mix]\narguments.x = \"x\"\n") ==
             " [mix]: function is missing: wanted its name as a text");
  BOOST_TEST(wrong("[mix]\nfunction = 3\n") ==
             " [mix]: function is missing: wanted its name as a text");
  check_mix("", "arguments are missing");
  check_mix("arguments = 3", "arguments is not a table");
  check_mix("argument.x = \"x\"", "unknown key 'argument' (did you mean 'arguments'?)");
  BOOST_TEST(wrong_mix("arguments.x = \"head\"")
                 .starts_with(" [mix]: 'head' is not in the signature x[...,n,d],w[d_out,d],"));
  BOOST_TEST(wrong_mix("arguments.x = \"head\"").ends_with("(did you mean 'heads'?)"));
  check_mix("arguments.x = [1]", "x: wanted a text, a number or a table");
  check_mix("arguments.x = \"not x\"", "'not x': that tensor is not of bool");
  check_has(wrong_mix("arguments.x = \"not heads\""), {"'heads' is not in the signature"});
  check_mix("arguments.x = \"w / heads\"", "x: blocks of rows belong in a dictionary");
  check_mix("arguments.x.y = \"w / heads\"",
            "y: {N} in a name and \"/\" or \"[N]\" in its value go together");
  check_mix("arguments.x.\"{N}\" = \"w\"",
            "{N}: {N} in a name and \"/\" or \"[N]\" in its value go together");
  check_has(wrong_mix("arguments.x.\"{N}\" = \"x / heads\""), {"without batch axes"});
  check_has(wrong_mix("arguments.x.\"{N}\" = \"w / eps\""), {"eps is not an int"});
  check_has(wrong_mix("arguments.x.\"{N}\" = \"w / many\""), {"'many' is not in"});
  check_mix("arguments.x = \"w[N]\"", "x: slices of a tensor belong in a dictionary");
  check_mix("arguments.x.y = \"w[N]\"",
            "y: {N} in a name and \"/\" or \"[N]\" in its value go together");
  for (const std::string index : {"[0]", "[n]", "[N", "[N][N]", "[N] / heads", "[]"}) {
    BOOST_TEST(contains(wrong_mix("arguments.x.\"{N}\" = \"w" + index + "\""), "'w["), index);
  }
  check_mix("arguments.x.\"{N}\" = \"w[0]\"",
            "{N}: 'w[0]': the only index that a tensor can have is [N]");
  check_has(wrong_mix("arguments.x.\"{N}\" = \"v[N]\""), {"'v' is not in"});
  check_has(wrong_mix("arguments.x.\"{N}\" = \"heads[N]\""), {"'heads' is not in"});
  const std::string two_axes = "without batch axes, and with two axes or more";
  BOOST_TEST(wrong_mix("arguments.x.\"{N}\" = \"x[N]\"") ==
             " [mix]: 'x[N]': wanted a tensor that is always there, " + two_axes);
  BOOST_TEST(
      contains(wrong("[plain]\nfunction = \"f\"\narguments.w.\"{N}\" = \"x[N]\"\n"), two_axes));
  BOOST_TEST(
      contains(wrong("[plain]\nfunction = \"f\"\narguments.w.\"{N}\" = \"extra[N]\"\n"), two_axes));
  check_mix("arguments.x.y.z = \"w\"", "y: a dictionary in a dictionary");
  check_has(wrong_mix("only.ep = 1.0\narguments.x = \"x\""), {"'ep' is not in"});
  check_mix("only.eps = true\narguments.x = \"x\"", "only.eps has another type than the scalar");
  check_mix("only.heads = 1.5\narguments.x = \"x\"", "only.heads has another type than the scalar");
  check_mix("batch_axes = 2\narguments.x = \"x\"", "batch_axes: wanted 1, or no such line");
  const std::string two = "[two]\nfunction = \"f\"\nbatch_axes = 1\narguments.a = \"a\"\n";
  BOOST_TEST(contains(wrong(two), "[two]: batch_axes needs one input with batch axes"));
  // A size that only an absent tensor would have.
  BOOST_TEST(contains(wrong("[plain]\nfunction = \"f\"\narguments.m = \"m\"\n"), "'m' is not in"));
  const auto complaint = [](const fs::path& file) {
    return message_of<std::invalid_argument>([&] { Adapters(file, signatures); });
  };
  BOOST_TEST(complaint("/no/such/map.toml").starts_with("/no/such/map.toml: no such file"));
  // With the whole path, however it was given.
  const std::string here = fs::current_path().string();
  BOOST_TEST(complaint("map.toml").starts_with(here + "/map.toml: no such file"));
  check_has(complaint("."), {here, ": cannot be read: Is a directory"});
}

BOOST_AUTO_TEST_CASE(the_shipped_maps_fit_the_fixtures) {
  const fs::path fixtures = folder("PRENORM_SOURCE") / "fixtures";
  std::map<std::string, std::string> shipped;
  for (const fs::path& file : files_in(fixtures)) {
    if (file.extension() != ".h5") continue;
    const Fixture fixture(file);
    shipped[fixture.problem()] = fixture.signature_text();
  }
  for (const auto& [file, count] :
       {std::pair("adapters-2025.toml", 12u), std::pair("adapters-2024.toml", 7u)}) {
    const json made = json::parse(Adapters(fixtures / "rubrics" / file, shipped).json());
    BOOST_TEST(made.size() == count);
    std::ifstream in(fixtures / "rubrics" / file);
    std::size_t tables = 0;
    for (std::string line; std::getline(in, line);) tables += line.starts_with("[") ? 1u : 0u;
    BOOST_TEST(tables == count);  // none was left out for a problem that does not exist
  }
}

BOOST_AUTO_TEST_SUITE_END()
