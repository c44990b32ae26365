#include "report/report.hpp"

#include <fstream>
#include <sys/utsname.h>
#include <thread>

namespace prenorm::harness {
namespace {

/// The processor's name as Linux tells it, or nothing.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

std::string_view program_version() { return PRENORM_VERSION; }

std::vector<std::pair<std::string, std::string>> describe_environment() {
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("program", "prenorm " + std::string(program_version()));
  utsname system{};
  if (uname(&system) == 0) {
    facts.emplace_back("system", std::string(system.sysname) + " " + system.release);
    facts.emplace_back("machine", system.machine);
  }
  if (std::string name = processor(); !name.empty()) facts.emplace_back("processor", name);
  facts.emplace_back("cores", std::to_string(std::thread::hardware_concurrency()));
#if defined(__clang__)
  facts.emplace_back("built with", "clang++ " __clang_version__);
#else
  facts.emplace_back("built with", "g++ " __VERSION__);
#endif
  return facts;
}

}  // namespace prenorm::harness
