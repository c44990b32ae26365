#include "library.hpp"

#include <algorithm>
#include <array>
#include <cfenv>
#include <chrono>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <memory>
#include <new>
#include <prenorm/prenorm.h>
#include <string_view>

namespace prenorm::harness {
namespace {

constexpr std::string_view prefix = "prenorm_";
/// What every solution exports beside its problems' functions.
constexpr std::array<std::string_view, 3> not_problems{"abi", "device", "mode"};

/// The tables of a loaded object that name its symbols.
struct SymbolTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};

SymbolTables symbol_tables(void* handle) {
  link_map* object = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &object) != 0) throw CannotLoad(::dlerror());
  SymbolTables tables;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    // The loader has made these addresses absolute.
    const auto* address = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB: tables.symbols = static_cast<const ElfW(Sym)*>(address); break;
      case DT_STRTAB: tables.strings = static_cast<const char*>(address); break;
      case DT_GNU_HASH: tables.gnu_hash = static_cast<const std::uint32_t*>(address); break;
      case DT_HASH: tables.hash = static_cast<const std::uint32_t*>(address); break;
      default: break;
    }
  }
  return tables;
}

/// Calls visit(symbol) for each symbol that the object defines for others.
void for_each_symbol(const SymbolTables& tables, auto visit) {
  if (tables.gnu_hash != nullptr) {
    // Header: buckets, number of the first hashed symbol, words of the Bloom filter, its shift;
    // then the filter, the buckets (the first symbol of each), and the chains, one word a symbol,
    // whose lowest bit ends a bucket.
    const std::uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1];
    const auto* filter = reinterpret_cast<const ElfW(Addr)*>(tables.gnu_hash + 4);
    const auto* bucket = reinterpret_cast<const std::uint32_t*>(filter + tables.gnu_hash[2]);
    const std::uint32_t* chain = bucket + buckets;
    for (std::uint32_t b = 0; b < buckets; ++b) {
      if (bucket[b] < first) continue;  // empty
      for (std::uint32_t i = bucket[b];; ++i) {
        visit(tables.symbols[i]);
        if ((chain[i - first] & 1u) != 0) break;
      }
    }
  } else if (tables.hash != nullptr) {
    for (std::uint32_t i = 0; i < tables.hash[1]; ++i) visit(tables.symbols[i]);
  }
}

bool is_exported_function(const ElfW(Sym) & symbol) {
  const unsigned type = symbol.st_info & 0xfu, binding = symbol.st_info >> 4;
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
         (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE);
}

/// The names of the object's functions prenorm_<name>, sorted.
std::vector<std::string> problem_functions(void* handle) {
  std::vector<std::string> names;
  const SymbolTables tables = symbol_tables(handle);
  for_each_symbol(tables, [&](const ElfW(Sym) & symbol) {
    const std::string_view name = tables.strings + symbol.st_name;
    if (!is_exported_function(symbol) || !name.starts_with(prefix)) return;
    const std::string_view problem = name.substr(prefix.size());
    if (std::ranges::find(not_problems, problem) == not_problems.end()) names.emplace_back(problem);
  });
  std::ranges::sort(names);
  return names;
}

template <class Function>
Function* find(void* handle, const std::string& name) {
  return reinterpret_cast<Function*>(::dlsym(handle, name.c_str()));
}

template <class Function>
Function* require(void* handle, const std::string& name) {
  if (auto* function = find<Function>(handle, name)) return function;
  throw CannotLoad("the library exports no function " + name);
}

/// Why this machine cannot run code for that device; empty where it can.
///
/// Only this process may ask: a driver that fails takes no more with it than a worker.
std::string why_unavailable(std::int32_t device) {
  switch (device) {
    case kDLCPU: return "";
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLCUDAManaged: return "no CUDA device";
    case kDLROCM:
    case kDLROCMHost: return "no ROCm device";
    case kDLMetal: return "no Metal device";
    case kDLVulkan: return "no Vulkan device";
    case kDLOpenCL: return "no OpenCL device";
    default: return "no device of DLPack's type " + std::to_string(device);
  }
}

/// A DLTensor together with what it points to.
struct TensorArgument {
  std::vector<std::int64_t> shape, strides;
  DLTensor tensor{};

  TensorArgument(const protocol::Argument& argument, std::byte* data)
      : shape(argument.type.shape), strides(shape.size()) {
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= shape[axis];
    }
    tensor.data = data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = to_dlpack(argument.type.dtype);
    tensor.shape = shape.data();
    tensor.strides = strides.data();
  }
};

prenorm_scalar to_c(const Scalar& scalar) {
  prenorm_scalar result{};
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
    result.kind = PRENORM_INT;
    result.value.i = *integer;
  } else if (const auto* floating = std::get_if<double>(&scalar)) {
    result.kind = PRENORM_FLOAT;
    result.value.f = *floating;
  } else {
    result.kind = PRENORM_BOOL;
    result.value.b = std::get<bool>(scalar) ? 1 : 0;
  }
  return result;
}

/// The arguments of one call, as C sees them. The only place that knows on which device tensors
/// lie: buffers of another device would be filled here from `memory`, and copied back after a call.
class Arguments {
 public:
  Arguments(const protocol::CallMessage& message, const GuardedMemory& memory) {
    for (const std::optional<protocol::Argument>& input : message.inputs) {
      inputs_.push_back(input ? add(*input, memory) : nullptr);
    }
    for (const protocol::Argument& output : message.outputs) {
      outputs_.push_back(add(output, memory));
    }
    for (const Scalar& scalar : message.scalars) scalars_.push_back(to_c(scalar));
    call_.inputs = inputs_.data();
    call_.num_inputs = static_cast<std::int32_t>(inputs_.size());
    call_.scalars = scalars_.data();
    call_.num_scalars = static_cast<std::int32_t>(scalars_.size());
    call_.outputs = outputs_.data();
    call_.num_outputs = static_cast<std::int32_t>(outputs_.size());
    call_.error = reinterpret_cast<char*>(memory.data(message.error));
    call_.error_size = message.error.bytes;
  }

  const prenorm_call* get() const { return &call_; }

 private:
  DLTensor* add(const protocol::Argument& argument, const GuardedMemory& memory) {
    owned_.push_back(std::make_unique<TensorArgument>(argument, memory.data(argument.region)));
    return &owned_.back()->tensor;
  }

  std::vector<std::unique_ptr<TensorArgument>> owned_;
  std::vector<const DLTensor*> inputs_;
  std::vector<DLTensor*> outputs_;
  std::vector<prenorm_scalar> scalars_;
  prenorm_call call_{};
};

/// Puts the floating-point environment back: a rounding mode that one call sets stays its own.
class KeptFloatingPoint {
 public:
  KeptFloatingPoint() { std::fegetenv(&environment_); }
  ~KeptFloatingPoint() { std::fesetenv(&environment_); }
  KeptFloatingPoint(const KeptFloatingPoint&) = delete;
  KeptFloatingPoint& operator=(const KeptFloatingPoint&) = delete;

 private:
  std::fenv_t environment_{};
};

}  // namespace

Library::Library(const std::filesystem::path& path) {
  // Absolute: a name without a slash would be looked for in the system's folders.
  handle_ = ::dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw CannotLoad(::dlerror());
  description_.abi = require<int()>(handle_, "prenorm_abi")();
  if (description_.abi != PRENORM_ABI) {
    throw CannotLoad("the library has ABI " + std::to_string(description_.abi) +
                     " of the interface <prenorm/prenorm.h>, wanted " +
                     std::to_string(PRENORM_ABI));
  }
  description_.device = require<int()>(handle_, "prenorm_device")();
  description_.unavailable = why_unavailable(description_.device);
  if (auto* mode = find<const char*()>(handle_, "prenorm_mode")) {
    const char* text = mode();
    description_.mode = text == nullptr ? "" : text;
  }
  description_.functions = problem_functions(handle_);
}

protocol::Returned Library::call(const protocol::CallMessage& message,
                                 const GuardedMemory& memory) const {
  using protocol::Returned;
  Returned answer;
  answer.number = message.number;
  auto* function = find<int(const prenorm_call*)>(handle_, std::string(prefix) + message.function);
  if (function == nullptr) {
    answer.how = Returned::How::absent;
    return answer;
  }
  const Arguments arguments(message, memory);
  const KeptFloatingPoint kept;
  const auto start = std::chrono::steady_clock::now();
  try {
    answer.code = function(arguments.get());
  } catch (const std::bad_alloc& error) {
    answer.how = Returned::How::out_of_memory;
    answer.what = error.what();
  } catch (const std::exception& error) {
    answer.how = Returned::How::threw;
    answer.what = error.what();
  } catch (...) {
    answer.how = Returned::How::threw;
    answer.what = "an exception that is no std::exception";
  }
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  answer.what.resize(std::min<std::size_t>(answer.what.size(), 4096));
  return answer;
}

}  // namespace prenorm::harness
