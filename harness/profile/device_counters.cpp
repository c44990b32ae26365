#include "profile/device_counters.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "profile/resources.hpp"
#include "report/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>

namespace prenorm::harness::profile {
namespace {

/// Where a counter's value goes.
struct Counter {
  const char* name;
  double DeviceCounters::*value;
};
constexpr Counter counters[] = {
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", &DeviceCounters::load_requests},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", &DeviceCounters::load_sectors},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", &DeviceCounters::store_requests},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", &DeviceCounters::store_sectors},
    {"dram__bytes_read.sum", &DeviceCounters::bytes_read},
    {"dram__bytes_write.sum", &DeviceCounters::bytes_written},
};

/// The rows of the table, without what ncu says before, between and after them.
std::vector<CsvRow> rows_of(const std::string& text) {
  std::string table;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with('"')) table += line + '\n';
  }
  return csv_rows(table);
}

/// The cells of a table's row by the names of its columns.
class NamedCells {
 public:
  NamedCells(const CsvRow& head, const CsvRow& row) : head_(head), row_(row) {
    if (row.cells.size() != head.cells.size()) {
      throw std::invalid_argument("a row has not as many cells as the head");
    }
  }

  const std::string& operator[](const std::string& name) const {
    const auto found = std::ranges::find(head_.cells, name);
    if (found == head_.cells.end()) throw std::invalid_argument("there is no column " + name);
    return row_.cells[static_cast<std::size_t>(found - head_.cells.begin())];
  }

 private:
  const CsvRow& head_;
  const CsvRow& row_;
};

/// "1,048,576"; NaN for "n/a" and for what is not there.
double number(std::string cell) {
  std::erase(cell, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool whole = error == std::errc() && end == cell.data() + cell.size();
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

/// "(256, 1, 1)".
std::array<std::uint64_t, 3> triple(const std::string& cell) {
  unsigned long x = 0, y = 0, z = 0;
  if (std::sscanf(cell.c_str(), "(%lu, %lu, %lu)", &x, &y, &z) != 3) {
    throw std::invalid_argument("no size: " + printable(cell, 60));
  }
  return {x, y, z};
}

/// The name of the function that these launches are of, if it is among the kernel's.
bool is_of(const DeviceLaunch& launch, const KernelCounts& kernel) {
  return std::ranges::any_of(kernel.functions, [&](const std::string& symbol) {
    return function_name(symbol) == launch.function;
  });
}

bool has_size(const DeviceLaunch& launch, const KernelCounts& kernel) {
  return launch.grid == kernel.grid && launch.block == kernel.block;
}

DeviceCounters sum_of(const std::vector<const DeviceLaunch*>& launches, std::uint64_t counted) {
  DeviceCounters sum;
  sum.launches = launches.size();
  const double each = static_cast<double>(counted) / static_cast<double>(launches.size());
  for (const DeviceLaunch* launch : launches) {
    for (const Counter& counter : counters) {
      sum.*counter.value += each * launch->counters.*counter.value;
    }
  }
  return sum;
}

}  // namespace

std::vector<std::string> counter_names() {
  std::vector<std::string> names;
  for (const Counter& counter : counters) names.emplace_back(counter.name);
  return names;
}

std::vector<DeviceLaunch> parse_launches(const std::string& text) {
  const std::vector<CsvRow> rows = rows_of(text);
  std::vector<DeviceLaunch> launches;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const NamedCells cells(rows.front(), rows[i]);
    if (cells["ID"].empty()) continue;  // the units
    DeviceLaunch launch;
    launch.function = function_name(cells["Kernel Name"]);
    launch.grid = triple(cells["Grid Size"]);
    launch.block = triple(cells["Block Size"]);
    launch.counters.launches = 1;
    for (const Counter& counter : counters) {
      launch.counters.*counter.value = number(cells[counter.name]);
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

void add_counters(std::vector<KernelCounts>& kernels, const std::vector<DeviceLaunch>& launches) {
  for (KernelCounts& kernel : kernels) {
    std::vector<const DeviceLaunch*> of_function, of_size;
    for (const DeviceLaunch& launch : launches) {
      if (!is_of(launch, kernel)) continue;
      of_function.push_back(&launch);
      if (has_size(launch, kernel)) of_size.push_back(&launch);
    }
    if (of_function.empty()) continue;
    if (of_size.empty()) {
      const DeviceLaunch& first = *of_function.front();
      const bool one_there = std::ranges::all_of(of_function, [&](const DeviceLaunch* each) {
        return each->grid == first.grid && each->block == kernel.block;
      });
      const bool one_here = std::ranges::count_if(kernels, [&](const KernelCounts& each) {
                              return is_of(first, each);
                            }) == 1;
      if (!one_there || !one_here) continue;
      of_size = of_function;
    }
    kernel.device_counters = sum_of(of_size, kernel.launches);
  }
}

}  // namespace prenorm::harness::profile
