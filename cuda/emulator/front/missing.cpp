#include "missing.hpp"

#include "tokens.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

namespace prenorm::emulator::front {
namespace {

/// Families of names, the first that fits; what is not emulated is nowhere listed name by name.
const std::array<std::pair<std::regex, std::string_view>, 17> families{{
    {std::regex("(tex[123C]|texture)\\w*|cuda\\w*(Texture|Channel|Res(ource)?(View|Type|Desc)|"
                "(Address|Filter|Read)Mode)\\w*"),
     "a texture"},
    {std::regex("(surf[123C]|surface)\\w*|cuda\\w*(Surface|(Boundary|Format)Mode)\\w*"),
     "a surface"},
    {std::regex("cuda\\w*(Array|Mipmap)\\w*"), "an array of textures"},
    {std::regex("cuda\\w*(Graphics|EGL|VDPAU|D3D\\d*|GL[A-Z])\\w*"), "graphics"},
    {std::regex("cuda\\w*(Graph|Capture|NodeParams|UserObject|ConditionalHandle|KernelNode)\\w*"),
     "a graph"},
    {std::regex("cuda\\w*(MemPool|FromPool|MemAlloc|MemAccess|MemHandle)\\w*"), "a pool of memory"},
    {std::regex("cuda\\w*(Ipc|External|NvSci|Fabric)\\w*"), "memory of another process or API"},
    {std::regex("cuda\\w*(Cooperative|CGScope)\\w*|cudaCG\\w*"), "a cooperative launch"},
    {std::regex("cuda\\w*Cluster\\w*|__\\w*[cC]luster\\w*"), "a cluster"},
    {std::regex("cudaLaunch\\w*|cudaStreamAttr\\w*|cudaAccessP\\w*"), "a launch with attributes"},
    {std::regex("cuda(Jit|Library|library|Kernel)\\w*|cudaGetKernel"), "code loaded by a program"},
    {std::regex("cublas\\w*_64"), "cuBLAS with 64-bit sizes"},
    {std::regex("cublas(I?[CZ][a-z]|S[cC]|D[zZ]|C?[sS]?rot)\\w*"), "cuBLAS of complex numbers"},
    {std::regex("(cublas|CUBLAS)_?[Ll][Tt]_?\\w*"), "cuBLASLt"},
    {std::regex("cublas[A-Z]\\w*|CUBLAS_\\w+"), "cuBLAS"},
    {std::regex("cu[A-Z][A-Za-z]\\w*|CU[a-z]\\w+|CU_\\w+"), "the driver's API"},
    {std::regex("__\\w+|(cuda|curand|cusparse|cusolver|cufft|cudnn|nccl|nvrtc|nvml|nvtx)[A-Z]\\w*|"
                "(CUDA|CUDART|CURAND|CUSPARSE|CUFFT|CUDNN|curand)_\\w+|"
                "cooperative_groups|cg|cub|thrust|cutlass|cute|cuda|nvcuda|wmma"),
     ""},
}};

/// The name that an error of the compiler is about, if it is one that nobody has declared.
std::optional<std::string> undeclared(const std::string& error) {
  static const std::regex not_declared(
      "'(?:struct |class )?([\\w:]+)' (?:was not declared|has not been declared|does not name a|"
      "is not a (?:class|type|template)).*");
  static const std::regex dependent("there are no arguments to '(\\w+)' that depend .*");
  static const std::regex not_member(
      "(?:no template named )?'(\\w+)' (?:is not a member of|in namespace|does not name a .* in) "
      "(?:namespace )?'([\\w:]+)'.*");
  static const std::regex no_member(
      "'(?:const )?(?:struct |class )?([\\w:]+)(?:<.*>)?' has no member named '(\\w+)'.*");
  static const std::regex not_complete(
      "aggregate '(\\w+) \\w+' has incomplete type.*|use of enum '(\\w+)' without.*");
  std::smatch found;
  if (std::regex_match(error, found, not_member)) return found[2].str() + "::" + found[1].str();
  if (std::regex_match(error, found, no_member)) return found[1].str() + "::" + found[2].str();
  if (std::regex_match(error, found, not_declared)) return found[1].str();
  if (std::regex_match(error, found, dependent)) return found[1].str();
  if (std::regex_match(error, found, not_complete))
    return (found[1].matched ? found[1] : found[2]).str();
  return {};
}

/// What a name of the toolkit belongs to; empty if that says nothing more than the name; nothing if
/// the name may be anybody's.
std::optional<std::string_view> family_of(std::string_view name) {
  const std::string_view first = name.substr(0, name.find("::"));
  for (const auto& [names, family] : families) {
    if (std::regex_match(first.begin(), first.end(), names)) return family;
  }
  return {};
}

/// "file:line: HEADER is not emulated", or not found, where the preprocessor stopped because of
/// one.
std::string missing_header(const std::string& errors) {
  static const std::regex includer("(?:In file included| +) from ([^:]+):(\\d+)[:,]");
  static const std::regex fatal("([^:]+):(\\d+):\\d+: fatal error: ([^:]+): No such file.*");
  static const std::regex refusal("([^:]+):(\\d+):\\d+: error: (#error) .*");
  struct Included {
    std::string file, line;
  };
  std::vector<Included> chain;  // from inside to outside
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, includer)) {
      chain.push_back({found[1], found[2]});
    } else if (std::regex_match(line, found, fatal) || std::regex_match(line, found, refusal)) {
      chain.insert(chain.begin(), {found[1], found[2]});
      std::string header = found[3];
      bool of_toolkit = is_of_toolkit(header);
      if (line.find(": error: ") != line.npos && !is_of_toolkit(chain[0].file)) return {};
      for (const Included& each : chain) {
        if (each.file.find("/prenorm/emulator/") == each.file.npos && !is_of_toolkit(each.file)) {
          return each.file + ":" + each.line + ": " + header +
                 (of_toolkit ? " is not emulated" : " is not found");
        }
        header = each.file.substr(each.file.rfind('/') + 1);
        of_toolkit = true;
      }
    } else if (line.find(": error: ") != line.npos) {
      return {};
    }
  }
  return {};
}

}  // namespace

std::string what_is_missing(const std::string& errors) {
  if (std::string header = missing_header(errors); !header.empty()) return header;
  static const std::regex error("([^:\n]+:)(\\d+):(?:\\d+:)? error: (.*)");
  std::string sentence;
  std::vector<std::string> said;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    // Outside of the C locale the compiler quotes as printers do.
    for (const char* quote : {"\u2018", "\u2019"}) {
      for (std::size_t at; (at = line.find(quote)) != std::string::npos;) line.replace(at, 3, "'");
    }
    std::smatch found;
    if (!std::regex_match(line, found, error)) continue;
    // What translate.cpp asserts.
    if (const auto at = line.find("a kernel has at most"); at != line.npos && said.empty()) {
      return found[1].str() + found[2].str() + ": " + line.substr(at);
    }
    const std::optional<std::string> name = undeclared(found[3]);
    if (!name || std::ranges::find(said, *name) != said.end()) continue;
    const std::optional<std::string_view> family = family_of(*name);
    if (!family) continue;
    said.push_back(*name);
    if (said.size() == 1) {
      sentence = found[1].str() + found[2].str() + ": " + *name;
      static const std::regex meant(".*(did you mean '[^']*'\\?).*");
      std::smatch hint;
      const std::string all = found[3];
      if (!family->empty()) {
        sentence += " (" + std::string(*family) + ")";
      } else if (std::regex_match(all, hint, meant)) {
        sentence += " (" + hint[1].str() + ")";
      }
      sentence += " is not emulated";
    } else {
      sentence += (said.size() == 2 ? ", nor " : ", ") + *name + " (line " + found[2].str() + ")";
    }
  }
  return sentence;
}

}  // namespace prenorm::emulator::front
