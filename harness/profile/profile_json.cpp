#include "profile/profile_report.hpp"
#include "profile/resources.hpp"
#include "report/report.hpp"

namespace prenorm::harness::profile {
namespace {

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

Json global_json(const Traffic& t) {
  return {{"requests", t.requests},
          {"bytes", t.bytes},
          {"sectors", t.sectors},
          {"lines", t.lines},
          {"ideal_sectors", t.ideal_sectors},
          {"sectors_per_request", ratio(t.sectors, t.requests)},
          {"ideal_sectors_per_request", ratio(t.ideal_sectors, t.requests)},
          {"lanes_per_request", ratio(t.lanes, t.requests)}};
}

Json shared_json(const Traffic& t) {
  return {{"requests", t.requests},
          {"bytes", t.bytes},
          {"wavefronts", t.wavefronts},
          {"ideal_wavefronts", t.ideal_wavefronts},
          {"wavefronts_per_request", ratio(t.wavefronts, t.requests)},
          {"ideal_wavefronts_per_request", ratio(t.ideal_wavefronts, t.requests)},
          {"lanes_per_request", ratio(t.lanes, t.requests)}};
}

Json atomics_json(const KernelCounts& kernel) {
  Traffic t = kernel.atomics(Space::global);
  t.add(kernel.atomics(Space::shared));
  return {{"requests", t.requests},
          {"lanes", t.lanes},
          {"lanes_at_one_address", ratio(t.at_one_address, t.requests)}};
}

Json access_json(const Access& access) {
  Json object{{"source", Json::array()},
              {"space", name(access.space)},
              {"kind", name(access.kind)},
              {"width", access.width}};
  for (const Line& line : access.lines) {
    object["source"].push_back({{"file", line.file}, {"line", line.number}});
  }
  object.update(access.space == Space::global ? global_json(access.traffic)
                                              : shared_json(access.traffic));
  if (access.kind == Kind::atomic) {
    object["lanes_at_one_address"] = ratio(access.traffic.at_one_address, access.traffic.requests);
  }
  object["pattern"] = pattern_of(access);
  Json lanes = Json::array();
  for (const auto& address : access.worst) lanes.push_back(address ? Json(*address) : Json());
  object["request"] = std::move(lanes);
  return object;
}

Json resources_json(const KernelCounts& kernel, const DeviceLimits& device) {
  if (!kernel.resources) return {};
  const Occupancy occupancy = occupancy_of(kernel, device);
  return {{"architecture", device.architecture},
          {"registers", kernel.resources->registers},
          {"static_shared_bytes", kernel.resources->shared_bytes},
          {"stack_bytes", kernel.resources->stack_bytes},
          {"spilled_bytes", kernel.resources->spilled_bytes},
          {"blocks_at_a_time", occupancy.blocks},
          {"occupancy", occupancy.share},
          {"limited_by", occupancy.limit}};
}

Json counters_json(const KernelCounts& kernel) {
  if (!kernel.device_counters) return {};
  const DeviceCounters& counters = *kernel.device_counters;
  return {{"launches", counters.launches},
          {"load_requests", counters.load_requests},
          {"load_sectors", counters.load_sectors},
          {"store_requests", counters.store_requests},
          {"store_sectors", counters.store_sectors},
          {"dram_bytes_read", counters.bytes_read},
          {"dram_bytes_written", counters.bytes_written}};
}

Json kernel_json(const KernelCounts& kernel, const DeviceLimits& device) {
  Json shared = shared_json(kernel.shared());
  shared["load"] = shared_json(kernel.loads(Space::shared));
  shared["store"] = shared_json(kernel.stores(Space::shared));
  Json object{{"kernel", kernel.kernel},
              {"grid", kernel.grid},
              {"block", kernel.block},
              {"shared_bytes", kernel.shared_bytes},
              {"launches", kernel.launches},
              {"load", global_json(kernel.loads(Space::global))},
              {"store", global_json(kernel.stores(Space::global))},
              {"shared", std::move(shared)},
              {"atomics", atomics_json(kernel)},
              {"barriers", kernel.barriers},
              {"shuffles", kernel.shuffles()},
              {"votes", kernel.votes()},
              {"operations", kernel.operations},
              {"tensor_flops", kernel.tensor_flops()},
              {"least_bytes", kernel.least_bytes()},
              {"resources", resources_json(kernel, device)},
              {"device_counters", counters_json(kernel)}};
  for (const Access& access : kernel.accesses) object["accesses"].push_back(access_json(access));
  return object;
}

Json row_json(const ProfileRow& row, const DeviceLimits& device) {
  Json object{{"problem", row.work->problem},   {"shape", row.work->shape},
              {"dtype", name(row.work->dtype)}, {"solution", row.solution},
              {"status", row.status},           {"message", row.message},
              {"bytes", row.work->bytes},       {"flops", row.work->flops}};
  if (row.ok()) {
    const Bound bound = row.bound(device);
    object["sector_bytes"] = row.sector_bytes();
    object["least_bytes"] = row.least_bytes();
    object["bound"] = {{"seconds", bound.seconds}, {"by", bound.by_bytes ? "bytes" : "flops"}};
  }
  object["kernels"] = Json::array();
  for (const KernelCounts& kernel : row.kernels) {
    object["kernels"].push_back(kernel_json(kernel, device));
  }
  return object;
}

}  // namespace

std::string to_json(const ProfileReport& report) {
  Json root = report_head("profile");
  root["seed"] = report.seed;
  root["device"] = report.device;
  for (const char* not_shown : {"architecture", "multiprocessor"}) root["device"].erase(not_shown);
  root["counters_of"] = report.counters_of.empty() ? Json() : Json(report.counters_of);
  root["rows"] = Json::array();
  for (const ProfileRow& row : report.rows) root["rows"].push_back(row_json(row, report.device));
  return to_text(root);
}

}  // namespace prenorm::harness::profile
