// What the host does around kernels on a device: compiled by nvcc, with a stand-in for CUDA's
// runtime, so no device is needed.
#include "device_error.cuh"
#include "fake_cuda_runtime.hpp"
#include "launch.cuh"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;
using prenorm::testing::device;
using prenorm::testing::Device;

namespace {

__global__ void nothing(int) {}

constexpr RangeCheck::Names names{"ids check", "ids: id", "size = "};

RangeCheck check_of(const std::vector<std::int64_t>& values) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  return RangeCheck(names, View<const std::int64_t>(values.data(), shape), 5, Stream{});
}

auto says(const std::string& words) {
  return [words](const std::exception& error) { return error.what() == words; };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_runtime)

BOOST_AUTO_TEST_CASE(clusters_where_device_and_code_have_them) {
  device = Device();
  BOOST_TEST(can_cluster(nothing));
  device.compiled_for = 80;  // PTX that the device's driver has compiled
  BOOST_TEST(!can_cluster(nothing));
  device.compiled_for = 100;
  BOOST_TEST(can_cluster(nothing));
  device.has_clusters = false;
  BOOST_TEST(!can_cluster(nothing));
}

BOOST_AUTO_TEST_CASE(checks_that_live_at_the_same_time) {
  device = Device();
  const std::vector<std::int64_t> wrong{0, 7, 9}, right{0, 4}, negative{-1};
  for (int round = 0; round < 3; ++round) {
    const RangeCheck first = check_of(wrong), second = check_of(right), third = check_of(negative);
    BOOST_CHECK_NO_THROW(second.throw_if_wrong());
    BOOST_CHECK_EXCEPTION(first.throw_if_wrong(), std::invalid_argument,
                          says("ids: id 7 is not in [0, size = 5)"));
    BOOST_CHECK_EXCEPTION(third.throw_if_wrong(), std::invalid_argument,
                          says("ids: id -1 is not in [0, size = 5)"));
  }
  BOOST_TEST(device.memory.size() == 3u);  // once each
  BOOST_TEST(device.events.size() == 3u);
  BOOST_TEST(device.recorded.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_check_that_is_not_asked_waits) {
  device = Device();
  const std::vector<std::int64_t> wrong{9}, right{1};
  { const RangeCheck check = check_of(wrong); }
  BOOST_TEST(device.work.empty());  // the kernel is done, and its place may be used again
  BOOST_CHECK_NO_THROW(check_of(right).throw_if_wrong());
}

/// Then the kernel is on its way already.
BOOST_AUTO_TEST_CASE(a_check_that_cannot_be_marked) {
  device = Device();
  const std::vector<std::int64_t> wrong{9}, right{1};
  device.records_events = false;
  BOOST_CHECK_EXCEPTION(check_of(wrong), std::runtime_error,
                        says("marking the check of values: planted"));
  BOOST_TEST(device.work.empty());
  BOOST_TEST(device.waits_for_stream == 1);
  device.records_events = true;
  BOOST_CHECK_NO_THROW(check_of(right).throw_if_wrong());
}

BOOST_AUTO_TEST_SUITE_END()
