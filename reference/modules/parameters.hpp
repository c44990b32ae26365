// Parameters in HDF5 files, under PyTorch's state-dict names. Not included by the modules, so that
// code that only computes needs no HDF5.
#pragma once

#include "module.hpp"

#include <H5Cpp.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

namespace prenorm::reference {

/// The type on disk of elements of type T, little-endian. The 16-bit types are HDF5 floats with
/// their own layout of sign, exponent and mantissa.
template <class T>
H5::FloatType disk_type() {
  if constexpr (std::is_same_v<T, double>) return H5::PredType::IEEE_F64LE;
  if constexpr (std::is_same_v<T, float>) return H5::PredType::IEEE_F32LE;
  H5::FloatType type(H5::PredType::IEEE_F32LE);
  if constexpr (std::is_same_v<T, float16>) {
    type.setFields(15, 10, 5, 0, 10);  // IEEE binary16
    type.setSize(2);
    type.setEbias(15);
  }
  if constexpr (std::is_same_v<T, bfloat16>) {
    type.setFields(15, 7, 8, 0, 7);
    type.setSize(2);
    type.setEbias(127);
  }
  return type;
}

template <class T>
std::string type_name() {
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, float>) return "float32";
  return std::is_same_v<T, float16> ? "float16" : "bfloat16";
}

/// The name of a type on disk.
inline std::string type_name(const H5::DataType& type) {
  if (type == disk_type<double>()) return type_name<double>();
  if (type == disk_type<float>()) return type_name<float>();
  if (type == disk_type<float16>()) return type_name<float16>();
  if (type == disk_type<bfloat16>()) return type_name<bfloat16>();
  return "another type of " + std::to_string(type.getSize()) + " bytes";
}

/// Runs work; what the HDF5 library throws becomes a std::runtime_error that names the file.
template <class Work>
void with_file(const std::string& path, const std::string& what, Work work) {
  H5::Exception::dontPrint();
  try {
    work();
  } catch (const H5::Exception& error) {
    throw std::runtime_error(path + ": cannot " + what + ": " + error.getDetailMsg());
  }
}

/// Writes a file beside `path` and renames it: whatever fails, no file is half written.
inline void replace_file(const std::string& path, const std::vector<char>& bytes) {
  const std::string unfinished = path + "." + std::to_string(::getpid()) + ".part";
  std::ofstream file(unfinished, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file.fail() || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(unfinished.c_str());
    throw std::runtime_error(path + ": cannot save parameters: " + why);
  }
}

/// Saves each parameter of a module as one dataset of its shape, named as in PyTorch's state dict
/// ("attn.q_proj.weight"), all in the root group. An existing file is replaced once the new one is
/// whole.
///
/// Errors   std::runtime_error if the file cannot be written
template <class Module>
void save_parameters(const Module& module, const std::string& path) {
  with_file(path, "save parameters", [&] {
    // In memory: the library does not survive that a disk is full when it closes a file.
    H5::FileAccPropList in_memory;
    in_memory.setCore(std::size_t{1} << 20, false);
    const H5::H5File file(path, H5F_ACC_TRUNC, H5::FileCreatPropList::DEFAULT, in_memory);
    for_each_parameter(module, [&]<class T>(const std::string& name, const Tensor<T>& parameter) {
      const std::vector<hsize_t> shape(parameter.shape().begin(), parameter.shape().end());
      const H5::DataSpace space(static_cast<int>(shape.size()), shape.data());
      const H5::FloatType type = disk_type<T>();
      file.createDataSet(name, type, space).write(parameter.data(), type);
    });
    file.flush(H5F_SCOPE_GLOBAL);
    const auto size = H5Fget_file_image(file.getId(), nullptr, 0);
    std::vector<char> bytes(static_cast<std::size_t>(size < 0 ? 0 : size));
    if (size < 0 || H5Fget_file_image(file.getId(), bytes.data(), bytes.size()) != size) {
      throw std::runtime_error(path + ": cannot save parameters: the file has no image");
    }
    replace_file(path, bytes);
  });
}

/// Reads the dataset `name` into a tensor; shape and type must be the same.
template <class T>
void load_parameter(const H5::H5File& file, const std::string& where, const std::string& name,
                    Tensor<T>& parameter) {
  const std::string wanted = "wanted " + type_name<T>() + to_text(parameter.shape());
  const auto check = [&](bool condition, const std::string& found) {
    if (!condition) throw std::runtime_error(where + name + found + ", " + wanted);
  };
  check(file.nameExists(name), " is missing");
  check(file.childObjType(name) == H5O_TYPE_DATASET, " is no dataset");
  const H5::DataSet dataset = file.openDataSet(name);
  const H5::DataSpace space = dataset.getSpace();
  check(space.isSimple() && space.getSimpleExtentNdims() >= 0, " has no simple shape");
  std::vector<hsize_t> shape(static_cast<std::size_t>(space.getSimpleExtentNdims()));
  if (!shape.empty()) space.getSimpleExtentDims(shape.data());
  const std::string found = " is " + type_name(dataset.getDataType()) + to_text(shape);
  check(std::equal(shape.begin(), shape.end(), parameter.shape().begin(), parameter.shape().end()),
        found);
  check(dataset.getDataType() == disk_type<T>(), found);
  dataset.read(parameter.data(), disk_type<T>());
}

/// The shapes of the parameters in a file, by name: the sizes of a module that fits.
///
/// Errors   std::runtime_error, naming the file, if it cannot be read
inline std::map<std::string, Shape> shapes_of_parameters(const std::string& path) {
  std::map<std::string, Shape> shapes;
  with_file(path, "load parameters", [&] {
    const H5::H5File file(path, H5F_ACC_RDONLY);
    for (hsize_t i = 0; i < file.getNumObjs(); ++i) {
      if (file.getObjTypeByIdx(i) != H5G_DATASET) continue;
      const std::string name = file.getObjnameByIdx(i);
      const H5::DataSpace space = file.openDataSet(name).getSpace();
      std::vector<hsize_t> shape(static_cast<std::size_t>(space.getSimpleExtentNdims()));
      if (!shape.empty()) space.getSimpleExtentDims(shape.data());
      shapes[name] = {shape.begin(), shape.end()};
    }
  });
  return shapes;
}

/// Loads what save_parameters saves, or PyTorch's state dict in the same form. After an error the
/// module is unchanged.
///
/// Errors   std::runtime_error, naming file, dataset and what was wanted, if the file cannot be
///          read, or a dataset is missing, unexpected, or of another shape or element type
template <class Module>
void load_parameters(Module& module, const std::string& path) {
  with_file(path, "load parameters", [&] {
    const H5::H5File file(path, H5F_ACC_RDONLY);
    Module loaded = module;
    std::set<std::string> names;
    for_each_parameter(loaded, [&]<class T>(const std::string& name, Tensor<T>& parameter) {
      load_parameter(file, path + ": ", name, parameter);
      names.insert(name);
    });
    for (hsize_t i = 0; i < file.getNumObjs(); ++i) {
      const std::string name = file.getObjnameByIdx(i);
      if (!names.contains(name)) {
        throw std::runtime_error(path + ": " + name + " is unexpected, wanted only the " +
                                 std::to_string(names.size()) + " parameters of the module");
      }
    }
    module = std::move(loaded);
  });
}

}  // namespace prenorm::reference
