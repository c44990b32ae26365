// Solutions of a device, and records of devices, on a driver without a device behind it
// (fake_cuda_driver.cpp). The solution is tests/support/solutions/on_device.cpp.
#include "other_home.hpp"
#include "solution_testing.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <set>
#include <string>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

/// The driver that solutions find while this lives.
class UsedDriver {
 public:
  explicit UsedDriver(const fs::path& path = library("fake_cuda")) {
    ::setenv("PRENORM_CUDA_DRIVER", path.c_str(), 1);
  }
  ~UsedDriver() { ::unsetenv("PRENORM_CUDA_DRIVER"); }
  UsedDriver(const UsedDriver&) = delete;
  UsedDriver& operator=(const UsedDriver&) = delete;
};

Solution open(const Solution::Options& options = {}) {
  return {"on_device", library("on_device"), "", options};
}

struct OnDevice {
  UsedDriver driver;
  Solution solution = open();
  Tensor x = counting({2, 3});
};

/// Of some calls: a busy machine delays one, hardly all.
double least_seconds(Solution& solution, const Tensor& x, bool timed) {
  double least = call(solution, "", x, timed).seconds;
  for (int i = 0; i < 4; ++i) least = std::min(least, call(solution, "", x, timed).seconds);
  return least;
}

std::string why_skipped(Solution solution) {
  BOOST_TEST(!solution.load());
  BOOST_TEST(name(solution.status()) == "SKIPPED");
  BOOST_TEST(solution.on_device());
  BOOST_TEST(!solution.device_facts());
  BOOST_TEST(!solution.copy_bandwidth());
  BOOST_TEST(name(call(solution, "", counting({3})).status) == "SKIPPED");
  return solution.message();
}

void check_bandwidth(Solution& solution) {
  const double bandwidth = solution.copy_bandwidth().value();
  BOOST_TEST(bandwidth > 1e7);
  BOOST_TEST(bandwidth < 1e13);
}

constexpr const char* fault =
    "the device failed: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)";

}  // namespace

BOOST_AUTO_TEST_SUITE(device)

BOOST_FIXTURE_TEST_CASE(tensors_go_to_the_device_and_come_back, OnDevice) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{2, 3}, Shape{64}, Shape{5000}}) {
    const Tensor any = counting(shape);
    check_doubled(call(solution, "", any), any);
  }
  check(call(solution, "", counting({3}, DType::float64)), Status::not_implemented, "");
  const Tensor larger = counting({100});
  check_doubled(call(solution, "elsewhere", larger),
                larger);  // inputs and poison are there before the call
}

BOOST_FIXTURE_TEST_CASE(what_is_left_behind_is_judged_as_on_the_host, OnDevice) {
  check_wrote(call(solution, "past_end", x), " past the end of output y");
  check_wrote(call(solution, "before_begin", x), " before the start of output y");
  check(call(solution, "mutates_input", x), Status::input_mutated,
        "input x was changed at [1, 2]: 6 became 7");
  check(call(solution, "unwritten", x), Status::incorrect_numerical,
        "output y: element [1, 1] was never written");
  check_refused(call(solution, "refuses", x), "not to my taste");
  check(call(solution, "throws", x), Status::runtime_error, "threw an exception: thrown");
  check_doubled(call(solution, "", x), x);
}

BOOST_FIXTURE_TEST_CASE(a_fault_is_told_and_costs_the_next_call_nothing, OnDevice) {
  for (const char* variant : {"faults", "faults_and_refuses"}) {
    const Outcome outcome = call(solution, variant, x);
    check(outcome, Status::runtime_error, fault);  // not refused: a case of an error would pass
    BOOST_TEST(outcome.outputs.empty());
    check_doubled(call(solution, "", x), x);
  }
}

BOOST_FIXTURE_TEST_CASE(full_memory_is_told_and_costs_the_next_call_nothing, OnDevice) {
  const Tensor large = counting({40 << 20});  // 160 MiB, twice: the device has 256
  check(call(solution, "", large), Status::out_of_memory, "out of device memory");
  check_doubled(call(solution, "", x), x);
}

BOOST_FIXTURE_TEST_CASE(nothing_stays_on_the_device, OnDevice) {
  for (int i = 0; i < 2000; ++i) {
    const Outcome outcome = call(solution, "tells", x);
    BOOST_REQUIRE(outcome.outputs.size() == 1u);
    BOOST_REQUIRE(outcome.outputs[0].at(0) == 2);  // x and y, and nothing of the calls before
  }
}

BOOST_FIXTURE_TEST_CASE(time_is_taken_between_events, OnDevice) {
  // The function itself returns at once; its work is done while somebody waits.
  const Outcome outcome = call(solution, "sleeps", x);
  BOOST_TEST(outcome.seconds >= 0.02);
  BOOST_TEST(least_seconds(solution, x, false) < 0.02);
}

BOOST_FIXTURE_TEST_CASE(a_timed_call_finds_cold_caches, OnDevice) {
  struct SoFar {
    bool timed;
    double overwritten, resets;  // bytes; of what persists in the cache
    bool dirty;                  // has the cache bytes at the call that are not yet in memory?
  };
  const double scratch = 4 << 20;  // four times the device's level 2 cache
  // The call's inputs are dirty. A first timed call overwrites also what is then read; it resets
  // lines, their limit, the stream's window.
  for (const SoFar& wanted :
       {SoFar{false, 0, 0, true}, SoFar{true, 2 * scratch, 3, false},
        SoFar{true, 3 * scratch, 6, false}, SoFar{false, 3 * scratch, 6, true}}) {
    const Tensor y = call(solution, "tells", x, wanted.timed).outputs.at(0);
    BOOST_TEST(y.at(1) == wanted.overwritten);
    BOOST_TEST(y.at(2) == wanted.resets);
    BOOST_TEST((y.at(3) > 0) == wanted.dirty);
  }
  // On the host too nothing of it is in the measured time.
  Solution host("misbehaving", library("misbehaving"), "", {});
  check_doubled(call(host, "", x, true), x);
  BOOST_TEST(least_seconds(host, x, true) < 2e-3);
}

BOOST_AUTO_TEST_CASE(without_a_compiler_for_ptx_the_cache_is_only_written_over) {
  const UsedDriver driver(library("fake_cuda_without_ptx"));
  Solution solution = open();
  const Tensor y = call(solution, "tells", counting({2, 3}), true).outputs.at(0);
  BOOST_TEST(y.at(2) == 3);
  BOOST_TEST(y.at(3) > 0);
}

BOOST_FIXTURE_TEST_CASE(the_device_is_known_after_loading, OnDevice) {
  BOOST_TEST(!solution.device_facts());
  BOOST_REQUIRE(solution.load());
  BOOST_TEST(solution.on_device());
  BOOST_TEST(solution.sources() == "00ff");
  BOOST_TEST(!solution.functions().contains("sources"));
  BOOST_REQUIRE(solution.device_facts().has_value());
  const DeviceFacts& facts = *solution.device_facts();
  BOOST_TEST(facts.name == "Fake Device 1");
  BOOST_TEST(facts.compute_capability == "9.0");
  BOOST_TEST(facts.driver.ends_with("CUDA 13.2"), facts.driver);
  BOOST_TEST(facts.memory == 256u << 20);
  BOOST_TEST(facts.l2 == 1u << 20);
  check_bandwidth(solution);
  check_doubled(call(solution, "", counting({2})), counting({2}));
  BOOST_TEST(call(solution, "tells", counting({4})).outputs.at(0).at(0) == 2);
}

BOOST_AUTO_TEST_CASE(the_host_has_a_copy_bandwidth_too) {
  Solution solution("misbehaving", library("misbehaving"), "", {});
  check_bandwidth(solution);
  BOOST_TEST(!solution.on_device());
  BOOST_TEST(!solution.device_facts());
  BOOST_TEST(solution.sources() == "");
  check_doubled(call(solution, "", counting({2})), counting({2}));
}

BOOST_AUTO_TEST_CASE(in_process_is_no_other) {
  const UsedDriver driver;
  Solution::Options options;
  options.in_process = true;
  Solution solution = open(options);
  const Tensor x = counting({2, 3});
  check_doubled(call(solution, "", x), x);
  check(call(solution, "mutates_input", x), Status::input_mutated,
        "input x was changed at [1, 2]: 6 became 7");
  void* loaded = ::dlopen(library("fake_cuda").c_str(), RTLD_NOW | RTLD_NOLOAD);
  BOOST_REQUIRE(loaded != nullptr);
  BOOST_TEST(reinterpret_cast<int (*)()>(::dlsym(loaded, "fake_cuda_allocations"))() == 0);
}

BOOST_AUTO_TEST_CASE(a_device_has_no_limit_on_addresses) {
  const UsedDriver driver;
  Solution::Options options;
  options.limits.bytes = std::size_t{1} << 30;
  Solution solution = open(options);
  BOOST_TEST(call(solution, "limit", counting({1})).outputs.at(0).at(0) == -1);
}

BOOST_AUTO_TEST_CASE(without_a_device_the_reason_is_told) {
  const auto with_driver = [](const fs::path& path) {
    const UsedDriver driver(path);
    return why_skipped(open());
  };
  BOOST_TEST(with_driver("/no/such/driver.so") == "no CUDA device");
  BOOST_TEST(with_driver(library("fake_cuda_without_device")) == "no CUDA device");
  BOOST_TEST(with_driver(library("fake_cuda_mismatched")) ==
             "the CUDA driver fails: system has unsupported display driver / cuda driver "
             "combination (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)");
  BOOST_TEST(with_driver(library("pair")) ==
             "the CUDA driver is too old: it has no function cuGetErrorName");
}

BOOST_AUTO_TEST_CASE(a_toolkit_is_wanted_only_where_a_device_is) {
  const auto needy = [] { return Solution("needs_toolkit", library("needs_toolkit"), "", {}); };
  {
    const UsedDriver none("/no/such/driver.so");
    BOOST_TEST(why_skipped(needy()) == "no CUDA device");
  }
  const UsedDriver driver;
  Solution solution = needy();
  BOOST_TEST(!solution.load());
  BOOST_CHECK(solution.status() == Status::load_error);
  BOOST_TEST(solution.message().starts_with("libcu_nowhere.so: cannot open shared object file"));
}

BOOST_AUTO_TEST_CASE(a_solution_that_was_not_built_says_why) {
  const OtherHome other;  // no worker is there: none may be started
  const fs::path shipped = other.folder / "lib" / "prenorm";
  std::ofstream(shipped / "gone.absent") << "not built: no compiler\n12ab\ntwice\ntwice__slowly\n";
  std::ofstream(shipped / "mute.absent") << "";
  fs::copy_file(library("misbehaving"), shipped / "libprenorm_here.so");
  std::ofstream(shipped / "here.absent") << "left over from another build\n";
  BOOST_TEST(shipped_solutions() == std::vector<std::string>({"gone", "here", "mute"}),
             boost::test_tools::per_element());
  BOOST_TEST(why_skipped(find_solution("gone", {})) == "not built: no compiler");
  BOOST_TEST(why_skipped(find_solution("gone/variant", {})) == "not built: no compiler");
  BOOST_TEST(why_skipped(find_solution("mute", {})) == "not built");
  Solution gone = find_solution("gone", {});
  gone.load();
  BOOST_TEST(gone.sources() == "12ab");
  BOOST_TEST(gone.functions() == std::set<std::string>({"twice", "twice__slowly"}),
             boost::test_tools::per_element());
  BOOST_TEST(find_solution("here", {}).library().filename() == "libprenorm_here.so");
}

BOOST_AUTO_TEST_SUITE_END()
