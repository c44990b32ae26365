#include "worker/library.hpp"

#include <algorithm>
#include <array>
#include <cfenv>
#include <dlfcn.h>
#include <elf.h>
#include <functional>
#include <link.h>
#include <memory>
#include <new>
#include <prenorm/prenorm.h>
#include <string_view>

namespace prenorm::harness {
namespace {

constexpr std::string_view function_prefix = "prenorm_";
/// Functions that every solution exports besides those of its problems.
constexpr std::array<std::string_view, 11> not_problems{
    "abi",      "combination", "counts",  "device", "finding",    "found_out_of_bounds",
    "launches", "mode",        "sources", "watch",  "written_for"};

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

/// Calls visit(symbol) for each symbol that the object exports.
void for_each_symbol(const SymbolTables& tables, auto visit) {
  if (tables.gnu_hash != nullptr) {
    // Header: buckets, number of the first hashed symbol, words of the Bloom filter, its shift;
    // then the filter, the buckets (the first symbol of each), and the chains, one word per symbol,
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
    if (!is_exported_function(symbol) || !name.starts_with(function_prefix)) return;
    const std::string_view problem = name.substr(function_prefix.size());
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
  throw CannotLoad(
      "the library exports no function " + name +
      " (in C++: the line PRENORM_SOLUTION(kDLCPU) is missing; in CUDA, with kDLCUDA)");
}

/// The result of an optional function without parameters; empty if it is absent.
std::string text_of(void* handle, const std::string& name) {
  auto* function = find<const char*()>(handle, name);
  const char* text = function == nullptr ? nullptr : function();
  return text == nullptr ? "" : text;
}

/// A DLTensor with the arrays that it points to.
struct TensorArgument {
  std::vector<std::int64_t> shape, strides;
  DLTensor tensor{};

  TensorArgument(const protocol::Argument& argument, std::byte* data, DLDevice place)
      : shape(argument.type.shape), strides(shape.size()) {
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= shape[axis];
    }
    tensor.data = data;
    tensor.device = place;
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

/// The arguments of one call, as C sees them: tensors on the device, the message's buffer not.
class Arguments {
 public:
  Arguments(const protocol::CallMessage& message, const GuardedMemory& memory, const Device& device,
            const Device::Buffers& buffers)
      : place_(device.place()) {
    for (const std::optional<protocol::Argument>& input : message.inputs) {
      inputs_.push_back(input ? add(*input, buffers) : nullptr);
    }
    for (const protocol::Argument& output : message.outputs) {
      outputs_.push_back(add(output, buffers));
    }
    for (const Scalar& scalar : message.scalars) scalars_.push_back(to_c(scalar));
    call_.inputs = inputs_.data();
    call_.num_inputs = static_cast<std::int32_t>(inputs_.size());
    call_.scalars = scalars_.data();
    call_.num_scalars = static_cast<std::int32_t>(scalars_.size());
    call_.outputs = outputs_.data();
    call_.num_outputs = static_cast<std::int32_t>(outputs_.size());
    call_.stream = device.stream();
    call_.error = reinterpret_cast<char*>(memory.data(message.error));
    call_.error_size = message.error.bytes;
  }

  const prenorm_call* get() const { return &call_; }

 private:
  DLTensor* add(const protocol::Argument& argument, const Device::Buffers& buffers) {
    std::byte* data = buffers.data(argument.region);
    owned_.push_back(std::make_unique<TensorArgument>(argument, data, place_));
    return &owned_.back()->tensor;
  }

  DLDevice place_;
  std::vector<std::unique_ptr<TensorArgument>> owned_;
  std::vector<const DLTensor*> inputs_;
  std::vector<DLTensor*> outputs_;
  std::vector<prenorm_scalar> scalars_;
  prenorm_call call_{};
};

/// Restores the floating-point environment, so that a call's rounding mode does not affect the
/// next.
class KeptFloatingPoint {
 public:
  KeptFloatingPoint() { std::fegetenv(&environment_); }
  ~KeptFloatingPoint() { std::fesetenv(&environment_); }
  KeptFloatingPoint(KeptFloatingPoint&&) = delete;  // nor copied

 private:
  std::fenv_t environment_{};
};

/// A library's function by its name without prenorm_; none if there is no such function. Several
/// variants at once, rope__halves+theta_fixed, are for its prenorm_combination.
std::function<int(const prenorm_call*)> function_named(void* handle, const std::string& name) {
  if (name.find('+') == name.npos) {
    return find<int(const prenorm_call*)>(handle, std::string(function_prefix) + name);
  }
  auto* combination = find<int(const char*, const prenorm_call*)>(
      handle, std::string(function_prefix) + "combination");
  if (combination == nullptr) return nullptr;
  return [=](const prenorm_call* call) { return combination(name.c_str(), call); };
}

/// Calls the function and stores its outcome in the answer.
void call_function(const std::function<int(const prenorm_call*)>& function,
                   const prenorm_call* call, protocol::Returned& answer) {
  using How = protocol::Returned::How;
  try {
    answer.code = function(call);
  } catch (const std::bad_alloc& error) {
    answer.how = How::out_of_memory;
    answer.what = error.what();
  } catch (const std::exception& error) {
    answer.how = How::threw;
    answer.what = error.what();
  } catch (...) {
    answer.how = How::threw;
    answer.what = "an exception that is no std::exception";
  }
}

}  // namespace

Library::Library(const fs::path& path) {
  // Absolute: a name without a slash would be searched in the system's folders.
  handle_ = ::dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    missing_ = ::dlerror();
    // Without a device, the CUDA toolkit's libraries may be missing: open_device() checks for one.
    if (!missing_.starts_with("libcu")) throw CannotLoad(missing_);
    description_.abi = PRENORM_ABI;
    description_.device = kDLCUDA;
    return;
  }
  description_.abi = require<int()>(handle_, "prenorm_abi")();
  if (description_.abi != PRENORM_ABI) {
    throw CannotLoad("the library has ABI " + std::to_string(description_.abi) +
                     " of the interface <prenorm/prenorm.h>, wanted " +
                     std::to_string(PRENORM_ABI));
  }
  description_.device = require<int()>(handle_, "prenorm_device")();
  description_.mode = text_of(handle_, "prenorm_mode");
  description_.sources = text_of(handle_, "prenorm_sources");
  description_.functions = problem_functions(handle_);
}

void Library::open_device() {
  try {
    device_ = harness::open_device(description_.device);
    if (handle_ == nullptr) throw CannotLoad(missing_);
    description_.facts = device_->facts();
    if (description_.functions.empty()) {
      throw CannotLoad(
          "the library exports no problem's function (in C++: a line PRENORM_EXPORT(problem, "
          "function) is missing)");
    }
  } catch (const NoDevice& reason) {
    description_.unavailable = reason.what();
  }
}

protocol::Returned Library::call(const protocol::CallMessage& message,
                                 const GuardedMemory& memory) const {
  using protocol::Returned;
  Returned answer;
  answer.number = message.number;
  const auto function = function_named(handle_, message.function);
  if (!function) {
    answer.how = Returned::How::absent;
    return answer;
  }
  try {
    std::vector<Region> tensors = message.layout().regions;
    tensors.pop_back();  // the buffer for a message stays in the host's memory
    const auto buffers = device_->copy(tensors, memory);
    const Arguments arguments(message, memory, *device_, *buffers);
    const KeptFloatingPoint kept;
    auto* const watch = find<void(const prenorm_call*)>(handle_, "prenorm_watch");
    if (watch != nullptr) watch(arguments.get());
    const auto run = [&] { call_function(function, arguments.get(), answer); };
    answer.seconds = device_->time(run, message.timed);
    if (watch != nullptr) watch(nullptr);
    buffers->copy_back();
    if (auto* launches = find<std::int64_t()>(handle_, "prenorm_launches")) {
      answer.launches = launches();
    }
    // Whatever the function made of it.
    if (std::string finding = text_of(handle_, "prenorm_finding"); !finding.empty()) {
      auto* bounds = find<int()>(handle_, "prenorm_found_out_of_bounds");
      answer.how =
          bounds != nullptr && bounds() != 0 ? Returned::How::out_of_bounds : Returned::How::found;
      answer.what = std::move(finding);
    }
  } catch (const OutOfDeviceMemory& error) {
    answer.how = Returned::How::out_of_memory;
    answer.what = error.what();
  } catch (const DeviceFailed& error) {
    // Whatever the function returned: this is not a refusal, and no output can be fetched.
    answer.how = Returned::How::device_failed;
    answer.what = error.what();
  }
  answer.what.resize(std::min<std::size_t>(answer.what.size(), 4096));
  return answer;
}

protocol::Counts Library::take_counts() const { return {text_of(handle_, "prenorm_counts")}; }

protocol::CopyBandwidth Library::copy_bandwidth() const {
  try {
    return {device_->copy_bandwidth()};
  } catch (const OutOfDeviceMemory&) {
  } catch (const DeviceFailed&) {
  } catch (const std::bad_alloc&) {
  }
  return {};
}

}  // namespace prenorm::harness
