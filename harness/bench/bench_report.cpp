#include "bench/bench_report.hpp"

#include "base/files.hpp"
#include "base/printable.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness::bench {
namespace {

Json to_object(const Ceilings& ceilings) {
  Json products = Json::object();
  for (const auto& [arithmetic, rate] : ceilings.products) products[arithmetic] = rate;
  return {{"copy_bytes_per_second", ceilings.copy}, {"product_flops_per_second", products}};
}

Json to_object(const Times& times) {
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
                     {"note", row.note},
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
    object["ceiling"] = roof(workload, row.mode, ceilings).by_product ? "product" : "copy";
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

/// What the run is, and the ceilings as far as they are known.
Json head_of(const BenchReport& report) {
  Json environment = Json::object();
  for (const auto& [what, value] : report.environment) environment[what] = value;
  return {{"version", 1},
          {"command", "bench"},
          {"environment", std::move(environment)},
          {"threads", report.threads},
          {"shapes", report.file},
          {"ceilings", {{"cpu", to_object(report.cpu)}, {"device", to_object(report.device)}}}};
}

/// The peer's row as one of ours, checked against the workload.
Row read_row(const Json& object, const std::shared_ptr<const Workload>& workload, bool on_device) {
  const std::string& shape = workload->entry.name;
  const Json wanted = identity(*workload);
  for (const auto& [key, value] : wanted.items()) {
    // Whatever the order of the names in them.
    if (nlohmann::json(object.at(key)) == nlohmann::json(value)) continue;
    throw std::runtime_error(shape + " was measured with other " + key + ": " +
                             object.at(key).dump() + ", here " + value.dump());
  }
  Row row;
  row.workload = workload;
  row.contestant = printable(object.at("contestant").get<std::string>());
  row.is_peer = true;
  row.on_device = on_device;
  row.note = printable(object.value("note", ""));
  row.seconds = object.at("samples").get<std::vector<double>>();
  row.times = summarize_times(row.seconds);
  if (!(row.times.min > 0)) throw std::runtime_error(shape + " has no proper times");
  return row;
}

}  // namespace

const Row* find_rival(const BenchReport& report, const Row& row, const std::string& rival) {
  const auto at = std::ranges::find_if(report.rows, [&](const Row& other) {
    return other.contestant == rival && other.contestant != row.contestant &&
           other.workload->key() == row.workload->key() && other.has_time();
  });
  return at == report.rows.end() ? nullptr : &*at;
}

double rate(const Row& row, const Ceilings& ceilings) {
  const Workload& workload = *row.workload;
  const bool by_product = roof(workload, row.mode, ceilings).by_product;
  return (by_product ? workload.flops : workload.bytes) / row.times.median;
}

double share(const Row& row, const Ceilings& ceilings) {
  return roof(*row.workload, row.mode, ceilings).seconds / row.times.median;
}

std::string rate_text(double rate, bool flops) {
  const bool tera = rate >= 1e12;
  const double value = rate / (tera ? 1e12 : 1e9);
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", value, digits, tera ? "T" : "G", flops ? "FLOP/s" : "B/s");
}

std::string to_json(const BenchReport& report) {
  Json rows = Json::array();
  int ok = 0, failed = 0, skipped = 0;
  for (const Row& row : report.rows) {
    rows.push_back(to_object(row, report));
    (row.verdict == Verdict::ok ? ok : row.verdict == Verdict::absent ? skipped : failed)++;
  }
  Json object = head_of(report);
  object.update(Json{{"rows", std::move(rows)},
                     {"compare", nullptr},
                     {"summary", {{"ok", ok}, {"failed", failed}, {"skipped", skipped}}}});
  if (report.compare) {
    object["compare"] = {{"elements", report.compare->elements},
                         {"harness", to_object(report.compare->ours)},
                         {"numpy.testing.assert_allclose", to_object(report.compare->numpy)}};
  }
  return to_text(object);
}

std::string to_json_lines_head(const BenchReport& report) { return to_line(head_of(report)); }

std::string to_json_line(const Row& row, const BenchReport& report) {
  Row judged = row;
  judge_floor(judged, report.ceilings(row));
  return to_line(to_object(judged, report));
}

std::vector<Row> read_peer(const std::string& path, const Plan& plan, unsigned threads,
                           const std::string& processor) {
  const auto require = [](bool holds, const std::string& why) {
    if (!holds) throw std::runtime_error(why);
  };
  std::vector<Row> rows;
  try {
    const std::optional<std::string> text = read_whole(path);
    require(text.has_value(), "cannot be read");
    const Json object = parse_json(*text);
    require(object.at("command") == "bench" && object.at("version") == 1,
            "is not a result of prenorm bench, version 1");
    const auto theirs = object.at("threads").get<unsigned>();
    require(theirs == threads,
            fmt::format("was measured with {} threads, this run has {}", theirs, threads));
    const auto where = object.at("environment").at("processor").get<std::string>();
    require(where == processor, "was measured on another processor, " + printable(where));
    for (const Json& of_peer : object.at("rows")) {
      if (of_peer.at("status") != "OK") continue;
      for (const auto& [workload, on_device] : plan) {
        if (of_peer.at("place") == (on_device ? "device" : "cpu") &&
            of_peer.at("shape") == workload->entry.name &&
            of_peer.at("dtype") == std::string(name(workload->dtype))) {
          rows.push_back(read_row(of_peer, workload, on_device));
        }
      }
    }
    require(!rows.empty(), "has no row at a shape of this run");
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  return rows;
}

}  // namespace prenorm::harness::bench
