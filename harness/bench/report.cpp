#include "bench/report.hpp"

#include "printable.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace prenorm::harness::bench {
namespace {

using Json = nlohmann::ordered_json;

Json to_object(const Ceilings& ceilings) {
  Json products = Json::object();
  for (const auto& [dtype, rate] : ceilings.products) products[std::string(name(dtype))] = rate;
  return {{"copy_bytes_per_second", ceilings.copy}, {"product_flops_per_second", products}};
}

Json to_object(const Summary& times) {
  return {{"samples", times.samples}, {"min", times.min}, {"q1", times.q1},
          {"median", times.median},   {"q3", times.q3},   {"max", times.max}};
}

Json to_object(const Row& row, const BenchReport& report) {
  const Workload& workload = *row.workload;
  Json object{{"shape", workload.entry.name}};
  object.update(identity(workload));
  object.update(Json{{"model", workload.entry.model},
                     {"bytes", workload.bytes},
                     {"flops", workload.flops},
                     {"contestant", row.contestant},
                     {"peer", row.is_peer},
                     {"place", row.on_device ? "device" : "cpu"},
                     {"status", name(row.verdict)},
                     {"message", row.message},
                     {"seconds", nullptr},
                     {"samples", row.seconds},
                     {"bytes_per_second", nullptr},
                     {"flops_per_second", nullptr},
                     {"ceiling", nullptr},
                     {"share", nullptr},
                     {"ratios", Json::object()}});
  if (!row.has_time()) return object;
  const Ceilings& ceilings = report.ceilings(row);
  object["seconds"] = to_object(row.times);
  object["bytes_per_second"] = workload.bytes / row.times.median;
  object["flops_per_second"] = workload.flops / row.times.median;
  if (const double of_ceiling = share(row, ceilings); of_ceiling > 0) {
    object["ceiling"] = roof(workload, ceilings).by_product ? "product" : "copy";
    object["share"] = of_ceiling;
  }
  for (const Row& other : report.rows) {
    if (other.contestant == row.contestant) continue;
    if (const Row* rival = find_rival(report, row, other.contestant)) {
      object["ratios"][rival->contestant] = row.times.median / rival->times.median;
    }
  }
  return object;
}

std::string environment_of(const BenchReport& report, const std::string& what) {
  for (const auto& [name, value] : report.environment) {
    if (name == what) return value;
  }
  return "";
}

}  // namespace

const Row* find_rival(const BenchReport& report, const Row& row, const std::string& rival) {
  const auto at = std::ranges::find_if(report.rows, [&](const Row& other) {
    return other.contestant == rival && other.contestant != row.contestant &&
           other.on_device == row.on_device && other.workload->key() == row.workload->key() &&
           other.has_time();
  });
  return at == report.rows.end() ? nullptr : &*at;
}

double rate(const Row& row, const Ceilings& ceilings) {
  const Workload& workload = *row.workload;
  const bool by_product = roof(workload, ceilings).by_product;
  return (by_product ? workload.flops : workload.bytes) / row.times.median;
}

double share(const Row& row, const Ceilings& ceilings) {
  return roof(*row.workload, ceilings).seconds / row.times.median;
}

std::string rate_text(double rate, bool flops) {
  const bool tera = rate >= 1e12;
  const double value = rate / (tera ? 1e12 : 1e9);
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", value, digits, tera ? "T" : "G", flops ? "FLOP/s" : "B/s");
}

std::string to_json(const BenchReport& report) {
  Json environment = Json::object();
  for (const auto& [what, value] : report.environment) environment[what] = value;
  Json rows = Json::array();
  int ok = 0, failed = 0, skipped = 0;
  for (const Row& row : report.rows) {
    rows.push_back(to_object(row, report));
    (row.verdict == Verdict::ok ? ok : row.verdict == Verdict::absent ? skipped : failed)++;
  }
  Json object{{"version", 1},
              {"command", "bench"},
              {"environment", std::move(environment)},
              {"threads", report.threads},
              {"shapes", report.file},
              {"ceilings", {{"cpu", to_object(report.cpu)}, {"device", to_object(report.device)}}},
              {"rows", std::move(rows)},
              {"compare", nullptr},
              {"summary", {{"ok", ok}, {"failed", failed}, {"skipped", skipped}}}};
  if (report.compare) {
    object["compare"] = {{"elements", report.compare->elements},
                         {"harness", to_object(report.compare->ours)},
                         {"numpy.testing.assert_allclose", to_object(report.compare->numpy)}};
  }
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<Row> read_peer(const std::string& path, const BenchReport& report) {
  const auto refuse = [&path](const std::string& why) {
    throw std::runtime_error(path + ": " + why);
  };
  std::ifstream file(path);
  if (!file) refuse("cannot be read");
  std::vector<Row> rows;
  try {
    const Json object = Json::parse(file);
    if (object.at("command") != "bench" || object.at("version") != 1) {
      refuse("is no result of a bench of version 1");
    }
    const auto threads = object.at("threads").get<unsigned>();
    if (threads != report.threads) {
      refuse(fmt::format("was measured with {} threads, this run has {}", threads, report.threads));
    }
    const auto processor = object.at("environment").value("processor", std::string());
    if (processor != environment_of(report, "processor")) {
      refuse("was measured on another processor, " + processor);
    }
    for (const Json& of_peer : object.at("rows")) {
      if (of_peer.at("status") != "OK") continue;
      // Each workload once, whoever was timed at it here.
      std::set<std::string> seen;
      for (const Row& ours : report.rows) {
        const Workload& workload = *ours.workload;
        const bool same_place = of_peer.at("place") == (ours.on_device ? "device" : "cpu");
        if (!same_place || of_peer.at("shape") != workload.entry.name ||
            of_peer.at("dtype") != std::string(name(workload.dtype)) ||
            !seen.insert(workload.key()).second) {
          continue;
        }
        const Json wanted = identity(workload);
        for (const auto& [key, value] : wanted.items()) {
          if (of_peer.at(key) != value) {
            refuse(workload.entry.name + " was measured with other " + key + ": " +
                   of_peer.at(key).dump() + ", here " + value.dump());
          }
        }
        Row row;
        row.workload = ours.workload;
        row.contestant = printable(of_peer.at("contestant").get<std::string>());
        row.is_peer = true;
        row.on_device = ours.on_device;
        row.seconds = of_peer.at("samples").get<std::vector<double>>();
        row.times = summarize_times(row.seconds);
        const bool positive =
            std::ranges::all_of(row.seconds, [](double seconds) { return seconds > 0; });
        if (!positive || row.seconds.empty()) refuse(workload.entry.name + " has no proper times");
        rows.push_back(std::move(row));
      }
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(error.what());
  }
  if (rows.empty()) refuse("has no row at a shape of this run");
  return rows;
}

}  // namespace prenorm::harness::bench
