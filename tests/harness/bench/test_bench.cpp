// Timing: shapes, counts, statistics, values, verdicts and reports. No test asserts on a time.
#include "bench/bench.hpp"
#include "fixture_testing.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>

using namespace prenorm::harness;
using namespace prenorm::harness::bench;
using namespace prenorm::harness::testing;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

/// What a call throws, or "" where it throws nothing.
std::string complaint(const auto& call) { return message_of<std::runtime_error>(call); }

fs::path shipped_shapes() { return folder("PRENORM_SOURCE") / "harness/bench/shapes.json"; }

/// "twice" of pair [rows, columns], as a file of shapes says it.
Json twice_entry() {
  return {{"name", "small"},
          {"problem", "twice"},
          {"set", "cpu"},
          {"model", "none"},
          {"dtypes", {"float32"}},
          {"dims", {{"rows", 6}, {"columns", 5}}},
          {"inputs", {{"x", "[rows, columns] ~ normal(0, 1)"}}},
          {"bytes", "io"},
          {"flops", "rows*columns"}};
}

std::vector<ShapeEntry> read(const Json& entries) {
  const Scratch scratch;
  const Json file{{"format", "prenorm-shapes"}, {"version", 1}, {"shapes", entries}};
  write(scratch / "shapes.json", file.dump());
  return read_entries(scratch / "shapes.json");
}

const Signature& twice_signature() {
  static const Signature signature = parse_signature("x[...] -> y[...]");
  return signature;
}

/// The workload of one entry: "twice" with those changes.
Workload workload_of(const Json& changes, const Signature& signature,
                     DType dtype = DType::float32) {
  Json entry = twice_entry();
  entry.update(changes);
  return bind_entry(read(Json::array({entry})).at(0), dtype, signature);
}

Workload twice_workload(const Json& changes = Json::object()) {
  return workload_of(changes, twice_signature());
}

std::shared_ptr<const Workload> shared(Workload workload) {
  return std::make_shared<const Workload>(std::move(workload));
}

Solution twice_solution() {
  const fs::path path = folder("PRENORM_TEST_SOLUTIONS") / "libmisbehaving.so";
  return {"misbehaving", path, "", Solution::Options{}};
}

/// A contestant that doubles, and does something else from some call on.
class Fake final : public Contestant {
 public:
  using Spoil = std::function<void(int, Outcome&)>;
  Fake(std::string label, std::vector<std::string>& calls, Spoil spoil = {})
      : label_(std::move(label)), calls_(calls), spoil_(std::move(spoil)) {}

  const std::string& label() const override { return label_; }
  bool is_peer() const override { return false; }
  bool on_device() override { return false; }
  Outcome call(const Workload&, const Inputs& inputs) override {
    const Tensor& x = *inputs.at(0);
    calls_.push_back(label_);
    seen.push_back(values(x));
    Outcome outcome;
    outcome.seconds = 1e-3 * static_cast<double>(seen.size());
    Tensor& y = outcome.outputs.emplace_back(x.dtype, x.shape);
    for (std::int64_t i = 0; i < x.size(); ++i) y.set(i, 2 * x.at(i));
    if (spoil_) spoil_(static_cast<int>(seen.size()), outcome);
    return outcome;
  }

  std::vector<std::vector<double>> seen;  // the inputs of each call

 private:
  std::string label_;
  std::vector<std::string>& calls_;
  Spoil spoil_;
};

std::vector<Row> measure_fakes(const std::vector<Contestant*>& fakes, int samples = 3) {
  Values values(1);
  Checker checker(1);
  Solution truth = twice_solution();
  const Settings settings{.samples = samples, .warm_ups = 1, .settle = 0};
  return measure(shared(twice_workload()), fakes, values, checker, truth, settings, [](int) {});
}

Row row(const std::string& contestant, std::vector<double> seconds, bool is_peer = false) {
  Row made;
  made.workload = shared(twice_workload({{"flops", "1e6"}, {"bytes", "1e6"}}));
  made.contestant = contestant;
  made.is_peer = is_peer;
  made.seconds = std::move(seconds);
  made.times = summarize_times(made.seconds);
  return made;
}

/// Copies of 1e9 bytes a second, products of 2e9 operations.
Ceilings ceilings() {
  Ceilings made;
  made.copy = 1e9;
  made.cached_copies = {{1e5, 1e10}, {1e8, 1e9}};
  made.products = {{"float32", 2e9}};
  return made;
}

BenchReport report_of(std::vector<Row> rows) {
  BenchReport report;
  report.environment = {{"processor", "made up"}};
  report.threads = 2;
  report.cpu = ceilings();
  report.rows = std::move(rows);
  return report;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bench)

BOOST_AUTO_TEST_CASE(expressions_are_evaluated) {
  const std::map<std::string, double> names{{"rows", 3}, {"d_in", 4}, {"T", 2}};
  for (const auto& [text, value] : std::map<std::string, double>{{"2*rows*d_in", 24},
                                                                 {" rows + d_in * T ", 11},
                                                                 {"(rows + d_in)*T", 14},
                                                                 {"d_in/T/2", 1},
                                                                 {"d_in - rows - 1", 0},
                                                                 {"1e3", 1000},
                                                                 {"((7))", 7}}) {
    BOOST_TEST(evaluate(text, names) == value, text);
  }
  for (const std::string text :
       {"", "rows +", "columns", "2 rows", "(rows", "rows)", "-1", "2**3", "rows;", "1e"}) {
    BOOST_TEST(contains(complaint([&] { evaluate(text, names); }), "'" + text + "'"), text);
  }
  BOOST_CHECK_THROW(evaluate(std::string(10000, '('), names), ExpressionError);
}

BOOST_AUTO_TEST_CASE(times_are_summarized) {
  const Times four = summarize_times({4, 1, 3, 2});  // quartiles as numpy.percentile gives them
  BOOST_TEST((std::vector{four.min, four.q1, four.median, four.q3, four.max}) ==
                 (std::vector<double>{1, 1.75, 2.5, 3.25, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(four.samples == 4u);
  BOOST_TEST(four.spread() == 0.3);
  const Times one = summarize_times({7});
  BOOST_TEST(one.q1 == 7);
  BOOST_TEST(one.spread() == 0);
  BOOST_TEST(summarize_times({}).samples == 0u);
}

BOOST_AUTO_TEST_CASE(every_shipped_shape_fits_its_problem) {
  std::map<std::string, Signature> signatures;
  for (const auto& file : fs::directory_iterator(folder("PRENORM_SOURCE") / "fixtures")) {
    if (file.path().extension() != ".h5") continue;
    const Fixture fixture(file.path());
    signatures[fixture.problem()] = fixture.signature();
  }
  std::map<std::string, Workload> workloads;
  std::set<std::string> sets;
  for (const ShapeEntry& entry : read_entries(shipped_shapes())) {
    BOOST_REQUIRE_MESSAGE(signatures.contains(entry.problem), entry.problem);
    for (const DType dtype : entry.dtypes) {
      const Workload workload = bind_entry(entry, dtype, signatures.at(entry.problem));
      workloads.emplace(workload.key(), workload);
      sets.insert(entry.set);
    }
  }
  BOOST_TEST(sets == (std::set<std::string>{"cpu", "device"}), boost::test_tools::per_element());
  const auto check = [&](const std::string& key, double bytes, double flops) {
    BOOST_TEST(workloads.at(key).bytes == bytes, key);
    BOOST_TEST(workloads.at(key).flops == flops, key);
  };
  // By hand: 4096 x 1024 and 2752 x 1024 in, 4096 x 2752 out, 4 bytes each; 2 m n k operations.
  check("cpu_linear float32", 73138176, 23085449216);
  check("cpu_rmsnorm float32", 33558528, 16777216);
  check("cpu_attention_full float32", 16777216, 4294967296);
  // The mask adds 1024 x 1024 bytes; the lower triangle has n (n + 1) / 2 of the scores.
  check("cpu_attention_mask float32", 17825792, 4294967296);
  check("cpu_attention_causal float32", 17825792, 2149580800);
  // Only the rows that are looked up move: 8192 ids of 8 bytes, 8192 rows of 512 read and written.
  check("cpu_embedding float32", 33619968, 0);
  check("rmsnorm_8192x4096 bfloat16", 134225920, 134217728);
  BOOST_TEST(workloads.at("block_llama3_4096 bfloat16").flops == 2130337333248);
  // Two documents leave half of the scores of 8192 positions; the mask is one for all heads.
  check("attention_llama3_8192_documents bfloat16", 335544320, 549755813888);
}

BOOST_AUTO_TEST_CASE(a_file_of_shapes_that_is_wrong_is_refused) {
  const auto changed = [](const Json& changes) {
    return complaint([&] { twice_workload(changes); });
  };
  BOOST_TEST(changed(Json::object()) == "");
  BOOST_TEST(contains(changed({{"colour", "red"}}), "small: unknown key 'colour'"));
  BOOST_TEST(contains(changed({{"set", "moon"}}), "wanted 'cpu' or 'device'"));
  BOOST_TEST(contains(changed({{"dtypes", {"int64"}}}), "no floating dtype"));
  BOOST_TEST(contains(changed({{"dtypes", Json::array()}}), "at least one dtype"));
  BOOST_TEST(contains(changed({{"dims", {{"rows", -1}}}}), "rows must be a non-negative integer"));
  BOOST_TEST(contains(changed({{"inputs", {{"x", "rows ~ normal(0, 1)"}}}}), "wanted '[extents]"));
  BOOST_TEST(contains(changed({{"inputs", {{"x", "[depth] ~ normal(0, 1)"}}}}), "'depth' is no"));
  BOOST_TEST(contains(changed({{"inputs", {{"x", "[rows/4] ~ normal(0, 1)"}}}}), "not an integer"));
  BOOST_TEST(contains(changed({{"inputs", {{"x", "[rows] ~ often"}}}}), "draw 'often'"));
  BOOST_TEST(contains(changed({{"inputs", {{"z", "[rows] ~ normal(0, 1)"}}}}), "does not have"));
  BOOST_TEST(contains(changed({{"inputs", Json::object()}}), "input x is missing"));
  BOOST_TEST(
      contains(changed({{"inputs", {{"x", "[rows] ~ normal(0, 1)"}, {"z", "[rows] ~ arange"}}}}),
               "does not have"));
  BOOST_TEST(contains(changed({{"inputs", {{"x", "[1e11] ~ normal(0, 1)"}}}}), "too large"));
  BOOST_TEST(contains(changed({{"scalars", {{"eps", 1}}}}), "no scalar eps"));
  BOOST_TEST(contains(changed({{"flops", "rows*depth"}}), "'depth' is not a dimension"));
  BOOST_TEST(contains(changed({{"bytes", "0"}}), "must be positive"));
  BOOST_TEST(contains(complaint([] {
                        read(Json::array({twice_entry(), twice_entry()}));
                      }),
                      "the name stands twice"));
  BOOST_TEST(contains(complaint([] { read(Json::array({1})); }), "entry 1: wanted an object"));

  const Scratch scratch;
  BOOST_TEST(contains(complaint([&] { read_entries(scratch / "none"); }), "cannot be read"));
  write(scratch / "broken.json", "{");
  BOOST_TEST(contains(complaint([&] { read_entries(scratch / "broken.json"); }), "broken.json"));
  write(scratch / "other.json", R"({"format": "other"})");
  BOOST_TEST(contains(complaint([&] { read_entries(scratch / "other.json"); }), "prenorm-shapes"));
}

BOOST_AUTO_TEST_CASE(scalars_follow_the_signature) {
  const Signature signature = parse_signature("x[...]; f: float = 2.5, k: int -> y[...]");
  const auto bound = [&](const Json& scalars) {
    return workload_of({{"scalars", scalars}}, signature, DType::float16);
  };
  const Workload defaults = bound({{"k", 3}});
  BOOST_TEST(std::get<double>(defaults.info.scalars.at(0)) == 2.5);
  BOOST_TEST(std::get<std::int64_t>(defaults.info.scalars.at(1)) == 3);
  BOOST_TEST(defaults.bytes == 2 * 2 * 30);
  BOOST_TEST(std::get<double>(bound({{"k", 3}, {"f", 7}}).info.scalars.at(0)) == 7);
  BOOST_TEST(contains(complaint([&] { bound(Json::object()); }), "scalar k is missing"));
  BOOST_TEST(contains(complaint([&] { bound({{"k", 1.5}}); }), "another kind"));
}

BOOST_AUTO_TEST_CASE(values_are_fresh_in_every_call_and_the_same_for_a_seed) {
  const Signature signature = parse_signature(
      "x[..., n], ids[...]: int64, mask[..., n, n]: bool, at[...]: int64 -> y[..., n]");
  const Workload workload = workload_of({{"dims", {{"rows", 7}, {"n", 3000}}},
                                         {"inputs",
                                          {{"x", "[rows, n] ~ normal(5, 1)"},
                                           {"ids", "[rows] ~ integer(0, n)"},
                                           {"mask", "[n, n] ~ lower_triangle"},
                                           {"at", "[rows] ~ arange"}}},
                                         {"flops", "1"}},
                                        signature, DType::float64);
  Values values(3), same(3), other(4);
  const auto first = values.fresh(workload), second = values.fresh(workload);
  const Tensor& x = first.at(0).value();
  BOOST_TEST((x.data == same.fresh(workload)[0]->data));
  BOOST_TEST((x.data != other.fresh(workload)[0]->data));
  std::int64_t repeated = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    repeated += x.at(i) == second[0]->at(i) ? 1 : 0;
    sum += x.at(i);
  }
  BOOST_TEST(repeated == 0);
  BOOST_TEST(std::abs(sum / static_cast<double>(x.size()) - 5) < 0.05);  // 7 standard errors
  for (std::int64_t i = 0; i < 7; ++i) {
    BOOST_TEST(first[1]->at(i) >= 0);
    BOOST_TEST(first[1]->at(i) < 3000);
    BOOST_TEST(first[3]->at(i) == static_cast<double>(i));
  }
  BOOST_TEST(first[2]->at(0) == 1);     // [0, 0]
  BOOST_TEST(first[2]->at(1) == 0);     // [0, 1]
  BOOST_TEST(first[2]->at(3000) == 1);  // [1, 0]
  BOOST_TEST(first[2]->at(2 * 3000 - 1) == 0);
  BOOST_TEST(first[2]->at(3000 * 3000 - 1) == 1);
}

BOOST_AUTO_TEST_CASE(documents_attend_to_themselves) {
  const Signature signature = parse_signature("mask[..., n, m]: bool -> y[..., n]: bool");
  const auto documents = [&](const std::string& draw, const Json& dims) {
    const Json inputs{{"mask", "[batch, n, m] ~ " + draw}};
    const Workload workload =
        workload_of({{"dims", dims}, {"inputs", inputs}, {"flops", "1"}}, signature);
    Values values(1);
    const Tensor mask = *values.fresh(workload).at(0);
    std::string text;
    for (std::int64_t i = 0; i < mask.size(); ++i) text += mask.at(i) == 1 ? '1' : '.';
    return text;
  };
  // The last one takes the rest; each mask of a batch is the same.
  const std::string five =
      "11..."
      "11..."
      "..111"
      "..111"
      "..111";
  BOOST_TEST(documents("block_diagonal(2)", {{"batch", 2}, {"n", 5}, {"m", 5}}) == five + five);
  BOOST_TEST(documents("block_diagonal(1)", {{"batch", 1}, {"n", 2}, {"m", 2}}) == "1111");
  BOOST_TEST(documents("block_diagonal(2)", {{"batch", 1}, {"n", 2}, {"m", 6}}) == "111......111");
  for (const std::string draw : {"block_diagonal", "block_diagonal()", "block_diagonal(0)",
                                 "block_diagonal(-1)", "block_diagonal(2.5)", "block_diagonal(2",
                                 "block_diagonal(2, 3)", "block_diagonal(n)", "block_diagonals"}) {
    check_has(complaint([&] {
                documents(draw, {{"batch", 1}, {"n", 5}, {"m", 5}});
              }),
              {"draw '" + draw + "'"});
  }
  check_has(complaint([&] {
              documents("block_diagonal(3)", {{"batch", 1}, {"n", 2}, {"m", 5}});
            }),
            {"more documents than positions"});
}

BOOST_AUTO_TEST_CASE(contestants_take_turns_with_the_same_fresh_values) {
  std::vector<std::string> calls;
  Fake a("a", calls), b("b", calls);
  const std::vector<Row> rows = measure_fakes({&a, &b});
  const std::vector<std::string> wanted{"a", "b", "a", "b", "a", "b", "a", "b"};
  BOOST_TEST(calls == wanted, boost::test_tools::per_element());
  BOOST_TEST((a.seen == b.seen));
  BOOST_TEST((std::set(a.seen.begin(), a.seen.end()).size() == 4u));
  BOOST_TEST(rows.at(0).has_time());
  // The first of the four calls was no timed one.
  BOOST_TEST(rows[0].seconds == (std::vector<double>{0.002, 0.003, 0.004}),
             boost::test_tools::per_element());
  BOOST_TEST(rows[0].times.median == 0.003);
}

BOOST_AUTO_TEST_CASE(a_wrong_answer_has_no_time) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> calls;
  Fake good("good", calls);
  Fake off("off", calls, [](int n, Outcome& outcome) {
    if (n == 3) outcome.outputs[0].set(29, outcome.outputs[0].at(29) + 0.01);
  });
  Fake not_a_number("nan", calls, [nan](int, Outcome& outcome) { outcome.outputs[0].set(0, nan); });
  Fake absent("absent", calls, [](int, Outcome& outcome) {
    outcome = {};
    outcome.status = Status::not_implemented;
  });
  Fake thrower("thrower", calls, [](int n, Outcome&) {
    if (n == 2) throw std::runtime_error("it fell");
  });
  const std::vector<Row> rows = measure_fakes({&good, &off, &not_a_number, &absent, &thrower});
  BOOST_TEST(name(rows.at(0).verdict) == "OK");
  BOOST_TEST(name(rows.at(1).verdict) == "WRONG");
  BOOST_TEST(contains(rows[1].message, "1 of 30 elements wrong"));
  BOOST_TEST(contains(rows[1].message, "[5, 4]"));
  BOOST_TEST(name(rows.at(2).verdict) == "WRONG");
  BOOST_TEST(name(rows.at(3).verdict) == "NOT_IMPLEMENTED");
  BOOST_TEST(name(rows.at(4).verdict) == "FAILED");
  BOOST_TEST(contains(rows[4].message, "it fell"));
  for (std::size_t i = 1; i < rows.size(); ++i) BOOST_TEST(!rows[i].has_time());
  // Who is out is not called again: NaN after the warm-up and one call.
  BOOST_TEST(not_a_number.seen.size() == 2u);
  BOOST_TEST(good.seen.size() == 4u);
}

BOOST_AUTO_TEST_CASE(large_outputs_are_checked_by_rows) {
  // More operations than a check may take: some rows only, in each of which all is wrong.
  const Signature signature = parse_signature("a[..., n], b[..., n] -> y[..., n]");
  Json changes{{"problem", "outer_sum"},
               {"inputs",
                {{"a", "[rows, 1, columns] ~ normal(0, 1)"}, {"b", "[4, columns] ~ normal(0, 1)"}}},
               {"flops", "5e11"}};
  const Workload workload = workload_of(changes, signature);
  Values values(1);
  Checker checker(1);
  Solution truth("pair", folder("PRENORM_TEST_SOLUTIONS") / "libpair.so", "", {});
  const auto inputs = values.fresh(workload);
  checker.prepare(workload, inputs, true, truth);
  BOOST_REQUIRE(checker.any());
  Tensor y(DType::float32, {6, 4, 5});
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y.set(i, inputs[0]->at(i / 20 * 5 + i % 5) + inputs[1]->at(i % 20));
  }
  BOOST_TEST(checker.complaint({y}, "") == "");
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, y.at(i) + 0.5);
  BOOST_TEST(contains(checker.complaint({y}, ""), "of 10 elements wrong"));  // two rows

  // Where a row alone is too much, the first call is checked whole.
  changes["flops"] = "5e12";
  const Workload larger = workload_of(changes, signature);
  checker.prepare(larger, inputs, true, truth);
  BOOST_TEST(contains(checker.complaint({y}, ""), "of 120 elements wrong"));
  checker.prepare(larger, inputs, false, truth);
  BOOST_TEST(!checker.any());

  // A row that is larger than the others may err by more, and the others may not.
  changes["flops"] = "1";
  const Workload small = workload_of(changes, signature);
  auto uneven = values.fresh(small);
  for (std::int64_t i = 0; i < uneven[0]->size(); ++i) uneven[0]->set(i, i == 0 ? 1e4 : 0);
  checker.prepare(small, uneven, true, truth);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y.set(i, uneven[0]->at(i / 20 * 5 + i % 5) + uneven[1]->at(i % 20));
  }
  y.set(1, y.at(1) + 0.4);
  BOOST_TEST(checker.complaint({y}, "") == "");
  y.set(101, y.at(101) + 0.4);
  BOOST_TEST(contains(checker.complaint({y}, ""), "of 120 elements wrong"));
}

BOOST_AUTO_TEST_CASE(the_roof_is_the_lower_of_two) {
  const Workload moves = twice_workload({{"bytes", "1e6"}, {"flops", "1e6"}});
  BOOST_TEST(!roof(moves, "", ceilings()).by_product);
  BOOST_TEST(roof(moves, "", ceilings()).seconds == 1e-3);
  const Workload computes = twice_workload({{"bytes", "1e6"}, {"flops", "4e6"}});
  BOOST_TEST(roof(computes, "", ceilings()).by_product);
  BOOST_TEST(roof(computes, "", ceilings()).seconds == 2e-3);
  const BenchReport report = report_of({row("x", {4e-3})});
  BOOST_TEST(share(report.rows[0], report.cpu) == 0.25);
  BOOST_TEST(rate(report.rows[0], report.cpu) == 2.5e8);
  BOOST_TEST(rate_text(22.44e9, false) == "22.4 GB/s");
  BOOST_TEST(rate_text(1.266e12, true) == "1.27 TFLOP/s");
}

BOOST_AUTO_TEST_CASE(a_time_below_the_floor_is_an_error) {
  const auto check_floor = [](const char* bytes, const char* flops, const Ceilings& ceilings,
                              double seconds) {
    const Workload workload = twice_workload({{"bytes", bytes}, {"flops", flops}});
    BOOST_TEST(floor_seconds(workload, "", ceilings) == seconds,
               boost::test_tools::tolerance(1e-12));
  };
  // 1e6 bytes at the best copy of that size or more: 1e9 a second, and a quarter of margin.
  check_floor("1e6", "0", ceilings(), 0.8e-3);
  check_floor("1e5", "0", ceilings(), 0.8e-5);  // may come from a cache
  check_floor("1e5", "1e9", ceilings(), 0.4);   // operations count as well
  // On a device only what must be read: 6 x 5 floats.
  Ceilings device = ceilings();
  device.cached_copies.clear();
  check_floor("1e6", "0", device, 120 / 1e9 / 1.25);

  Row honest = row("honest", {0.9e-3, 1e-3, 2e-3});
  judge_floor(honest, ceilings());
  BOOST_TEST(name(honest.verdict) == "OK");
  Row planted = row("planted", {2e-3, 2e-3, 1e-4});  // one call is enough
  BOOST_TEST(is_below_floor(planted, ceilings()));
  judge_floor(planted, ceilings());
  BOOST_TEST(name(planted.verdict) == "IMPOSSIBLE");
  BOOST_TEST(!planted.has_time());
  BOOST_TEST(contains(planted.message, "below the floor"));
  Row nothing = row("nothing", {0.0});
  judge_floor(nothing, ceilings());
  BOOST_TEST(name(nothing.verdict) == "IMPOSSIBLE");

  Ceilings raised = ceilings();
  raise_product_ceiling(row("slow", {1.0}), raised);
  BOOST_TEST(raised.products.at("float32") == 2e9);
  raise_product_ceiling(row("fast", {1.0, 1e-4}), raised);
  BOOST_TEST(raised.products.at("float32") == 1e10);
  // tf32 has a ceiling of its own, and float32 keeps its roof.
  Row tf32 = row("tf32", {0.5e-4});
  tf32.mode = "tf32";
  raise_product_ceiling(tf32, raised);
  BOOST_TEST(raised.products.at("float32") == 1e10);
  BOOST_TEST(raised.products.at("tf32") == 2e10);
  const Workload computes = twice_workload({{"bytes", "1"}, {"flops", "1e9"}});
  BOOST_TEST(roof(computes, "", raised).seconds == 0.1);
  BOOST_TEST(roof(computes, "tf32", raised).seconds == 0.05);
}

BOOST_AUTO_TEST_CASE(json_tells_everything) {
  Row wrong = row("wrong", {1e-3});
  wrong.verdict = Verdict::wrong;
  wrong.message = "bad \xff byte";
  Row peer = row("peer", {4e-3}, true);
  peer.note = "takes flash";
  BenchReport report = report_of({row("ours", {1e-3, 3e-3, 2e-3}), wrong, peer});
  report.compare = CompareTimes{10, summarize_times({1}), summarize_times({2})};
  const Json json = Json::parse(to_json(report));
  check_members(json, Json::parse(R"({"version": 1, "command": "bench", "threads": 2,
                                      "summary": {"ok": 2, "failed": 1, "skipped": 0}})"));
  BOOST_TEST(json["ceilings"]["cpu"]["product_flops_per_second"]["float32"] == 2e9);
  BOOST_TEST(json["compare"]["numpy.testing.assert_allclose"]["median"] == 2);
  const Json& ours = json["rows"][0];
  check_members(ours, Json::parse(R"({"shape": "small", "problem": "twice", "ceiling": "copy",
                                      "share": 0.5, "bytes_per_second": 5e8,
                                      "ratios": {"peer": 0.5}})"));  // what is wrong is no rival
  BOOST_TEST(ours["inputs"]["x"]["shape"].dump() == "[6,5]");
  BOOST_TEST(ours["seconds"]["median"] == 2e-3);
  BOOST_TEST(ours["samples"].size() == 3u);
  check_members(json["rows"][1], Json{{"status", "WRONG"}, {"seconds", nullptr}});
  check_members(json["rows"][2], Json{{"peer", true}, {"note", "takes flash"}});
}

BOOST_AUTO_TEST_CASE(the_picture_has_a_point_a_row) {
  Row wrong = row("wrong", {1e-3});
  wrong.verdict = Verdict::wrong;
  Row no_operations = row("none", {1e-3});
  no_operations.workload = shared(twice_workload({{"flops", "0"}}));
  Row on_device = row("gpu", {1e-3});
  on_device.on_device = true;
  BenchReport report = report_of(
      {row("ours <&>", {1e-3}), row("peer", {4e-3}, true), wrong, no_operations, on_device});
  report.device = ceilings();
  pugi::xml_document svg;
  BOOST_REQUIRE(svg.load_string(to_svg(report).c_str()));
  BOOST_TEST(svg.select_nodes("//circle").size() == 3u);
  BOOST_TEST(svg.select_nodes("//circle[@class='peer']").size() == 1u);
  BOOST_TEST(svg.select_nodes("/svg/g").size() == 2u);  // the CPU's panel and the device's
  BOOST_TEST(svg.select_nodes("//text[contains(., '1 small float32, ours <&>: 100%')]").size() ==
             1u);
  BOOST_TEST(svg.select_nodes("//text[contains(., 'copy 1.00 GB/s')]").size() == 2u);
  // At one operation a byte and 1e9 a second, where the slope of the copy is: the plot is 400 high.
  const pugi::xml_node point = svg.select_node("//circle").node();
  const double power = (448 - point.attribute("cy").as_double()) / 400;
  BOOST_TEST(power > 0);
  BOOST_TEST(power < 1);
  BOOST_REQUIRE(svg.load_string(to_svg(report_of({})).c_str()));
  BOOST_TEST(svg.select_nodes("//circle").empty());
}

BOOST_AUTO_TEST_CASE(a_peers_file_must_fit_the_run) {
  const Scratch scratch;
  const fs::path path = scratch / "peer.json";
  const Plan plan{{row("ours", {1}).workload, false}};
  Json file = Json::parse(to_json(report_of({row("pytorch eager", {3e-3, 1e-3, 2e-3}, true)})));
  const auto refusal = [&](const Json& peer, unsigned threads = 2,
                           const std::string& processor = "made up") {
    write(path, peer.dump());
    return complaint([&] { read_peer(path.string(), plan, threads, processor); });
  };
  BOOST_TEST(refusal(file) == "");
  const std::vector<Row> rows = read_peer(path.string(), plan, 2, "made up");
  BOOST_REQUIRE(rows.size() == 1u);
  BOOST_TEST(rows[0].contestant == "pytorch eager");
  BOOST_TEST(rows[0].is_peer);
  BOOST_TEST(rows[0].times.median == 2e-3);

  BOOST_TEST(contains(refusal(file, 4), "measured with 2 threads, this run has 4"));
  BOOST_TEST(contains(refusal(file, 2, "another"), "on another processor, made up"));
  const auto changed = [&](const std::string& key, const Json& value) {
    Json other = file;
    other["rows"][0][key] = value;
    return refusal(other);
  };
  Json other_order;
  for (const char* key : {"draw", "shape", "dtype"}) {
    other_order[key] = file["rows"][0]["inputs"]["x"][key];
  }
  BOOST_TEST(changed("inputs", {{"x", other_order}}) == "");
  BOOST_TEST(contains(changed("scalars", {{"eps", 1}}), "small was measured with other scalars"));
  Json inputs = file["rows"][0]["inputs"];
  inputs["x"]["shape"] = {6, 4};
  BOOST_TEST(contains(changed("inputs", inputs), "small was measured with other inputs"));
  BOOST_TEST(contains(changed("problem", "thrice"), "other problem"));
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"shape", "large"}, {"dtype", "float16"}, {"place", "device"}, {"status", "FAILED"}}) {
    check_has(changed(key, value), {"no row at a shape of this run"});
  }
  BOOST_TEST(contains(changed("samples", Json::array()), "no proper times"));
  BOOST_TEST(contains(changed("samples", {0.0, 1.0}), "no proper times"));
  BOOST_TEST(contains(changed("samples", "fast"), "peer.json"));
  BOOST_TEST(
      contains(refusal({{"command", "verify"}, {"version", 1}}), "not a result of prenorm bench"));
  BOOST_TEST(contains(refusal(Json::array()), "peer.json"));
  BOOST_TEST(contains(complaint([&] { read_peer((scratch / "none").string(), plan, 2, ""); }),
                      "cannot be read"));
}

BOOST_AUTO_TEST_CASE(copies_are_counted_read_and_written) {
  // No assertion on speed: that it is a positive number, whatever the sizes and threads.
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{1} << 20}) {
    for (const unsigned threads : {1u, 3u}) BOOST_TEST(copy_bandwidth(bytes, threads) > 0);
  }
  BOOST_TEST(ceilings().fastest_copy(1e5) == 1e10);
  BOOST_TEST(ceilings().fastest_copy(3e5) == 1e9);
  BOOST_TEST(ceilings().fastest_copy(1e12) == 1e9);
}

BOOST_AUTO_TEST_SUITE_END()
