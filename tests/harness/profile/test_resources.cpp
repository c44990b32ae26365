// Registers, shared memory and occupancy of kernels.
#include "profile/profile_run.hpp"
#include "profile/resources.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define HAS_CUDA_OCCUPANCY
#endif

using namespace prenorm::harness::profile;

namespace {

DeviceLimits device(const std::string& id) {
  for (const DeviceLimits& each : read_devices(data_folder() / "devices.json")) {
    if (each.id == id) return each;
  }
  throw std::invalid_argument(id);
}

KernelCounts kernel(std::uint64_t threads, std::uint64_t registers, std::uint64_t static_shared = 0,
                    std::uint64_t dynamic_shared = 0) {
  KernelCounts counts;
  counts.block = {threads, 1, 1};
  counts.shared_bytes = dynamic_shared;
  counts.resources = KernelResources{.registers = registers, .shared_bytes = static_shared};
  return counts;
}

void check(const Occupancy& occupancy, std::uint64_t blocks, double share, std::string_view limit) {
  BOOST_TEST(occupancy.blocks == blocks);
  BOOST_TEST(occupancy.share == share);
  BOOST_TEST(occupancy.limit == limit);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resources)

BOOST_AUTO_TEST_CASE(a_function_has_the_same_name_on_a_device_and_in_the_emulator) {
  const std::string parameters =
      "iIfLi4ELi8EEEvPKT_PS1_l";  // <float, 4, 8>(float const*, float*, long)
  for (const std::string scope : {"_GLOBAL__N__74937aa7_10_rmsnorm_cu_df1c851f", "_GLOBAL__N_1"}) {
    const std::string symbol = "_ZN7prenorm4cuda" + std::to_string(scope.size()) + scope +
                               "10rmsnorm_v3" + parameters.substr(1);
    BOOST_TEST(function_name(symbol) == "rmsnorm_v3<float, 4, 8>");
  }
  BOOST_TEST(function_name("_Z4copyPKfPfi") == "copy");
  BOOST_TEST(function_name("_ZN1a1bC1Ev") == "a::b::b");
  BOOST_TEST(function_name("_Z6reduceIN7prenorm8bfloat16EEvPT_") == "reduce<bfloat16>");
  BOOST_TEST(function_name("reduce<prenorm::bfloat16>") == "reduce<bfloat16>");
  BOOST_TEST(function_name("main") == "main");
}

BOOST_AUTO_TEST_CASE(what_ptxas_says_is_read) {
  const std::string report =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z4copyPKfPfi' for 'sm_80'\n"
      "ptxas info    : Function properties for _Z4copyPKfPfi\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 18 registers, used 1 barriers, 128 bytes smem, 376 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function '_Z4copyPKfPfi' for 'sm_90'\n"
      "    40 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 24 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function '_Z5otherv' for 'sm_90a'\n"
      "ptxas info    : Used 168 registers, used 2 barriers\n";
  Resources found = parse_resources(report, "sm_80");
  BOOST_REQUIRE(found.size() == 1u);
  BOOST_TEST(found["copy"].registers == 18u);
  BOOST_TEST(found["copy"].shared_bytes == 128u);
  BOOST_TEST(found["copy"].spilled_bytes == 0u);
  found = parse_resources(report, "sm_90");
  BOOST_REQUIRE(found.size() == 2u);
  BOOST_TEST(found["copy"].registers == 24u);
  BOOST_TEST(found["copy"].shared_bytes == 0u);
  BOOST_TEST(found["copy"].stack_bytes == 40u);
  BOOST_TEST(found["copy"].spilled_bytes == 12u);
  BOOST_TEST(found["other"].registers == 168u);
  BOOST_TEST(parse_resources(report, "sm_9").empty());
  BOOST_TEST(parse_resources("", "sm_90").empty());
}

BOOST_AUTO_TEST_CASE(resources_go_to_the_kernel_that_an_access_is_in) {
  std::vector<KernelCounts> kernels(2);
  kernels[0].functions = {"_Z4loadPKf", "_Z4copyPKfPfi"};
  kernels[1].functions = {"_Z4loadPKf"};
  add_resources(kernels, {{"copy", {.registers = 18}}});
  BOOST_TEST(kernels[0].resources.value().registers == 18u);
  BOOST_TEST(!kernels[1].resources);
}

BOOST_AUTO_TEST_CASE(occupancy_by_hand) {
  const DeviceLimits h100 = device("h100"), rtx4090 = device("rtx4090");
  // 8 warps of 32 * 32 registers: 64 warps have all 65536.
  check(occupancy_of(kernel(256, 32), h100), 8, 1, "threads");
  // 33 registers take room for 40: 16384 / 1280 = 12 warps in each quarter, 48 in all.
  check(occupancy_of(kernel(256, 33), h100), 6, 0.75, "registers");
  check(occupancy_of(kernel(1024, 64), h100), 1, 0.5, "registers");
  // Two blocks of 100 KiB and the system's 1 KiB fit into 228 KiB.
  check(occupancy_of(kernel(128, 32, 0, 102400), h100), 2, 0.125, "shared memory");
  check(occupancy_of(kernel(128, 32, 51200, 51200), h100), 2, 0.125, "shared memory");
  check(occupancy_of(kernel(32, 16), h100), 32, 0.5, "blocks");
  check(occupancy_of(kernel(33, 16), h100), 32, 1, "threads");
  check(occupancy_of(kernel(1024, 32), rtx4090), 1, 1024.0 / 1536, "threads");
}

#ifdef HAS_CUDA_OCCUPANCY
/// The toolkit's own calculator says the same.
BOOST_AUTO_TEST_CASE(occupancy_is_that_of_cuda) {
  std::mt19937 random(1);
  const auto up_to = [&](std::uint64_t most) { return random() % most; };
  int not_one = 0;
  for (const std::string id : {"h100", "a100", "rtx4090"}) {
    const DeviceLimits here = device(id);
    const int architecture = std::stoi(here.architecture.substr(3));
    cudaOccDeviceProp properties;
    properties.computeMajor = architecture / 10;
    properties.computeMinor = architecture % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = static_cast<int>(here.multiprocessor.threads);
    properties.regsPerBlock = 65536;
    properties.regsPerMultiprocessor = static_cast<int>(here.multiprocessor.registers);
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024;
    properties.sharedMemPerMultiprocessor = here.multiprocessor.shared_bytes;
    properties.numSms = 100;
    properties.sharedMemPerBlockOptin = here.multiprocessor.shared_bytes - 1024;
    properties.reservedSharedMemPerBlock = 1024;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t threads = 1 + up_to(1024), registers = 16 + up_to(240);
      const KernelCounts each =
          kernel(threads, registers, up_to(4) * up_to(12000), up_to(3) * up_to(40000));
      cudaOccFuncAttributes needs;
      needs.maxThreadsPerBlock = 1024;
      needs.numRegs = static_cast<int>(registers);
      needs.sharedSizeBytes = each.resources->shared_bytes;
      needs.partitionedGCConfig = PARTITIONED_GC_OFF;
      needs.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      needs.maxDynamicSharedSizeBytes = each.shared_bytes;
      cudaOccDeviceState state;
      state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
      cudaOccResult result;
      BOOST_REQUIRE(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &needs, &state,
                                                            static_cast<int>(threads),
                                                            each.shared_bytes) == CUDA_OCC_SUCCESS);
      const std::uint64_t blocks = occupancy_of(each, here).blocks;
      BOOST_TEST_CONTEXT(id << ": " << threads << " threads, " << registers << " registers, "
                            << each.resources->shared_bytes << " + " << each.shared_bytes << " B") {
        BOOST_TEST(blocks == static_cast<std::uint64_t>(result.activeBlocksPerMultiprocessor));
      }
      not_one += blocks == 0;
    }
  }
  BOOST_TEST(not_one > 0);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
