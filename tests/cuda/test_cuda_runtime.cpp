// What the host does around kernels on a device: compiled by nvcc, with a stand-in for CUDA's
// runtime, so no device is needed.
#include "device_error.cuh"
#include "fake_cuda_runtime.hpp"
#include "launch.cuh"

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;
using prenorm::testing::device;
using prenorm::testing::Device;

namespace {

__global__ void nothing(int) {}

__global__ void look(RangeReport report) { report.write(); }

/// What it does: a device's code does not run here.
std::function<void()> work_of_look(void** arguments) {
  return [report = *static_cast<RangeReport*>(arguments[0])] {
    for (unsigned share = 0; share < report.shares; ++share) {
      const std::int64_t begin = share * report.share;
      report.first[share] = nothing_wrong;
      for (std::int64_t i = std::min(begin + report.share, report.count); i-- > begin;) {
        const bool good = report.values[i] >= 0 && report.values[i] < report.limit;
        if (!good) report.first[share] = static_cast<WrongIndex>(i);
      }
    }
  };
}

Device fresh_device() {
  Device fresh;
  fresh.work_of = work_of_look;
  return fresh;
}

constexpr RangeCheck::Names names{"ids: id", "size = "};

/// A check of values, which a kernel looks at.
class Checked {
 public:
  explicit Checked(const std::vector<std::int64_t>& values, bool launched = true)
      : shape_{static_cast<std::int64_t>(values.size())},
        check_(names, View<const std::int64_t>(values.data(), shape_), 5, Stream{}) {
    if (launched) launch({"look", 2, 256, Stream{}}, look, check_.report());
  }
  void throw_if_wrong() const { check_.throw_if_wrong(); }

 private:
  std::int64_t shape_[1];
  RangeCheck check_;
};

auto says(const std::string& words) {
  return [words](const std::exception& error) { return error.what() == words; };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_runtime)

BOOST_AUTO_TEST_CASE(clusters_where_device_and_code_have_them) {
  device = fresh_device();
  BOOST_TEST(can_cluster(nothing));
  device.compiled_for = 80;  // PTX that the device's driver has compiled
  BOOST_TEST(!can_cluster(nothing));
  device.compiled_for = 100;
  BOOST_TEST(can_cluster(nothing));
  device.has_clusters = false;
  BOOST_TEST(!can_cluster(nothing));
}

/// Code that was compiled for less does not wait for the kernel before it.
BOOST_AUTO_TEST_CASE(kernels_begin_early_where_device_and_code_can) {
  const auto attributes = [](const Launch& how, int capability, int compiled_for) {
    static int number = 0;
    device = fresh_device();
    device.number = ++number;  // the driver is asked once for each device
    device.capability = capability;
    device.compiled_for = compiled_for;
    launch(how, look, RangeReport{});
    return device.attributes;
  };
  const Launch plain{"look", 2, 256, Stream{}}, in_clusters{"look", 2, 256, Stream{}, 0, 1, 2};
  const int of_early = cudaLaunchAttributeProgrammaticStreamSerialization,
            of_cluster = cudaLaunchAttributeClusterDimension;
  BOOST_TEST((attributes(early(plain), 9, 90) == std::set{of_early}));
  BOOST_TEST((attributes(early(plain), 10, 90) == std::set{of_early}));
  BOOST_TEST((attributes(early(in_clusters), 9, 90) == std::set{of_cluster, of_early}));
  BOOST_TEST((attributes(in_clusters, 9, 90) == std::set{of_cluster}));
  BOOST_TEST(attributes(plain, 9, 90).empty());
  BOOST_TEST(attributes(early(plain), 8, 80).empty());
  BOOST_TEST(attributes(early(plain), 9, 80).empty());  // its PTX, compiled by the driver
}

BOOST_AUTO_TEST_CASE(checks_that_live_at_the_same_time) {
  device = fresh_device();
  const std::vector<std::int64_t> wrong{0, 7, 9}, right{0, 4}, negative{-1};
  for (int round = 0; round < 3; ++round) {
    const Checked first(wrong), second(right), third(negative);
    BOOST_CHECK_NO_THROW(second.throw_if_wrong());
    BOOST_CHECK_EXCEPTION(first.throw_if_wrong(), std::invalid_argument,
                          says("ids: id 7 is not in [0, size = 5)"));
    BOOST_CHECK_EXCEPTION(third.throw_if_wrong(), std::invalid_argument,
                          says("ids: id -1 is not in [0, size = 5)"));
  }
  BOOST_TEST(device.memory.size() == 3u);  // once each
}

BOOST_AUTO_TEST_CASE(a_check_that_is_not_asked_waits) {
  device = fresh_device();
  const std::vector<std::int64_t> wrong{9}, right{1};
  { const Checked check(wrong); }
  BOOST_TEST(device.work.empty());  // the kernel is done, and its place may be used again
  BOOST_CHECK_NO_THROW(Checked(right).throw_if_wrong());
}

/// The host waits for the words of the kernel that looks, and not for what comes behind it.
BOOST_AUTO_TEST_CASE(a_check_does_not_wait_for_the_stream) {
  device = fresh_device();
  device.works_alone = true;
  const std::vector<std::int64_t> right{1};
  BOOST_CHECK_NO_THROW(Checked(right).throw_if_wrong());
  BOOST_TEST(device.questions == 0);
}

BOOST_AUTO_TEST_CASE(many_values_are_shared_by_many_warps) {
  device = fresh_device();
  std::vector<std::int64_t> values(2'000'000, 4);
  BOOST_CHECK_NO_THROW(Checked(values).throw_if_wrong());
  values[1'999'999] = 8;
  BOOST_CHECK_EXCEPTION(Checked(values).throw_if_wrong(), std::invalid_argument,
                        says("ids: id 8 is not in [0, size = 5)"));
  values[1024] = 7;
  BOOST_CHECK_EXCEPTION(Checked(values).throw_if_wrong(), std::invalid_argument,
                        says("ids: id 7 is not in [0, size = 5)"));
}

/// Nothing writes what the host waits for.
BOOST_AUTO_TEST_CASE(values_that_no_kernel_looks_at) {
  device = fresh_device();
  const std::vector<std::int64_t> wrong{1, 6, 7}, right{1};
  BOOST_CHECK_NO_THROW(Checked(right, false).throw_if_wrong());
  BOOST_CHECK_EXCEPTION(Checked(wrong, false).throw_if_wrong(), std::invalid_argument,
                        says("ids: id 6 is not in [0, size = 5)"));
  device.fails = true;
  BOOST_CHECK_EXCEPTION(Checked(wrong).throw_if_wrong(), std::runtime_error,
                        says("waiting for the check of values: planted"));
}

/// A graph would write what it finds long after the call.
BOOST_AUTO_TEST_CASE(nobody_asks_while_a_graph_is_captured) {
  device = fresh_device();
  device.captures = true;
  const std::vector<std::int64_t> wrong{9};
  const std::int64_t shape[] = {1};
  const RangeCheck check(names, View<const std::int64_t>(wrong.data(), shape), 5, Stream{});
  BOOST_TEST(check.report().shares == 0u);
  BOOST_CHECK_NO_THROW(check.throw_if_wrong());
  BOOST_TEST(device.questions == 0);
}

BOOST_AUTO_TEST_SUITE_END()
