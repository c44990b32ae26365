#include "bench/bench.hpp"

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/json.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness::bench {

PRENORM_JSON(Times, samples, min, q1, median, q3, max)

namespace {

Json to_object(const Ceilings& ceilings) {
  return {{"copy_bytes_per_second", ceilings.copy},
          {"product_flops_per_second", ceilings.products}};
}

/// Another contestant's row at the same workload; nullptr where there is none with a time.
const Row* find_rival(const BenchReport& report, const Row& row, const std::string& rival) {
  const auto at = std::ranges::find_if(report.rows, [&](const Row& other) {
    return other.contestant == rival && other.contestant != row.contestant &&
           other.workload->key() == row.workload->key() && other.has_time();
  });
  return at == report.rows.end() ? nullptr : &*at;
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
  object["seconds"] = row.times;
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
  return {{"version", 1},
          {"command", "bench"},
          {"environment", report.environment},
          {"threads", report.threads},
          {"shapes", report.file},
          {"ceilings", {{"cpu", to_object(report.cpu)}, {"device", to_object(report.device)}}}};
}

/// The peer's row as one of ours, compared with the workload.
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

std::string shapes_text(const Workload& workload) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < workload.info.inputs.size(); ++i) {
    const auto& input = workload.info.inputs[i];
    if (input) parts.push_back(workload.signature.inputs[i].name + to_text(input->type.shape));
  }
  return joined(parts, " ");
}

std::vector<std::string> contestants_of(const BenchReport& report, bool peers) {
  std::vector<std::string> names;
  for (const Row& row : report.rows) {
    if (row.is_peer == peers && std::ranges::find(names, row.contestant) == names.end()) {
      names.push_back(row.contestant);
    }
  }
  return names;
}

std::string ceilings_text(const BenchReport& report) {
  std::string text;
  for (const auto& [place, ceilings] :
       {std::pair{fmt::format("CPU, {}", counted(report.threads, "thread")), &report.cpu},
        std::pair{std::string("device"), &report.device}}) {
    if (!(ceilings->copy > 0)) continue;
    text += "ceilings (" + place + "): copy " + rate_text(ceilings->copy, false);
    for (const auto& [arithmetic, rate] : ceilings->products) {
      text += fmt::format(", {} product {}", arithmetic, rate_text(rate, true));
    }
    text += "\n";
  }
  return text;
}

Table table_of(const BenchReport& report) {
  const std::vector<std::string> solutions = contestants_of(report, false);
  std::vector<std::string> rivals = contestants_of(report, true);
  if (solutions.size() > 1) rivals.insert(rivals.begin(), solutions.begin(), solutions.end());
  Table table{{"shape", "dtype", "solution", "time", "spread", "rate", "of ceiling"}, {}};
  for (const std::string& rival : rivals) table.head.push_back("/ " + rival);
  for (const Row& row : report.rows) {
    if (row.is_peer) continue;
    std::vector<Cell> cells{
        {row.workload->entry.name}, {std::string(name(row.workload->dtype))}, {row.contestant}};
    if (!row.has_time()) {
      const Tone tone = row.verdict == Verdict::absent ? Tone::quiet : Tone::bad;
      cells.push_back({std::string(name(row.verdict)), tone});
      table.rows.push_back(std::move(cells));
      continue;
    }
    const Ceilings& ceilings = report.ceilings(row);
    const bool by_product = roof(*row.workload, row.mode, ceilings).by_product;
    const double of_ceiling = share(row, ceilings);
    cells.push_back({duration(row.times.median), Tone::strong});
    cells.push_back({fmt::format("{:.0f} %", 100 * row.times.spread()), Tone::quiet});
    cells.push_back({rate_text(rate(row, ceilings), by_product)});
    cells.push_back({of_ceiling > 0 ? fmt::format("{:.0f} % of {}", 100 * of_ceiling,
                                                  by_product ? "product" : "copy")
                                    : "-"});
    for (const std::string& name : rivals) {
      const Row* rival = find_rival(report, row, name);
      if (rival == nullptr) {
        cells.push_back({"-", Tone::quiet});
        continue;
      }
      const double ratio = row.times.median / rival->times.median;
      const std::string note = rival->note.empty() ? "" : " " + rival->note;
      cells.push_back(
          {fmt::format("{:.2f}{}", ratio, note), ratio <= 1 ? Tone::good : Tone::plain});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// "flash does not take a float32, b float32: why", a line for each contestant and reason.
std::string absences(const BenchReport& report, bool colour) {
  std::vector<std::pair<const Row*, std::vector<std::string>>> groups;
  for (const Row& row : report.rows) {
    if (row.verdict != Verdict::absent) continue;
    auto group = std::ranges::find_if(groups, [&](const auto& each) {
      return each.first->contestant == row.contestant && each.first->message == row.message;
    });
    if (group == groups.end()) group = groups.insert(group, {&row, {}});
    group->second.push_back(row.workload->key());
  }
  std::string text;
  for (const auto& [row, shapes] : groups) {
    text += toned(row->contestant + " does not take", Tone::quiet, colour) + " " +
            joined(shapes, ", ") + ": " + printable(row->message, 500) + "\n";
  }
  return text;
}

}  // namespace

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
                         {"harness", report.compare->ours},
                         {"numpy.testing.assert_allclose", report.compare->numpy}};
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

std::string list_of(const std::vector<std::shared_ptr<const Workload>>& workloads, bool colour) {
  Table table{{"shape", "problem", "dtype", "set", "inputs", "model"}, {}};
  for (const auto& workload : workloads) {
    table.rows.push_back({{workload->entry.name, Tone::strong},
                          {workload->entry.problem},
                          {std::string(name(workload->dtype))},
                          {workload->entry.set},
                          {shapes_text(*workload)},
                          {workload->entry.model, Tone::quiet}});
  }
  return render(table, colour);
}

std::string bench_text(const BenchReport& report, bool colour) {
  std::string text = ceilings_text(report) + "\n" + render(table_of(report), colour);
  text += "\ntime: the median call; spread: half the distance of the quartiles";
  if (!contestants_of(report, true).empty() || contestants_of(report, false).size() > 1) {
    text += "; / RIVAL: this time over the rival's, below 1 is faster";
  }
  text += "\n";
  for (const Row& row : report.rows) {
    if (row.verdict == Verdict::ok || row.verdict == Verdict::absent) continue;
    text += toned(name(row.verdict), Tone::bad, colour) + "  " + row.workload->key() + " by " +
            row.contestant + ": " + printable(row.message, 500) + "\n";
  }
  text += absences(report, colour);
  if (report.compare) {
    const double ours = report.compare->ours.median, numpy = report.compare->numpy.median;
    text += fmt::format(
        "comparing {}M float32: {}, numpy.testing.assert_allclose {}: {:.2f} of its time\n",
        report.compare->elements / 1'000'000, duration(ours), duration(numpy), ours / numpy);
  }
  return text;
}

}  // namespace prenorm::harness::bench
