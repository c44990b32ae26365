#include "hdf5/file.hpp"

#include <array>
#include <bit>
#include <cstdlib>

namespace prenorm::harness::hdf5 {
namespace {

struct FloatFields {
  DType dtype;
  std::size_t bytes, exponent_bits, mantissa_bits, bias;
};

constexpr std::array<FloatFields, 4> floats{{
    {DType::float64, 8, 11, 52, 1023},
    {DType::float32, 4, 8, 23, 127},
    {DType::float16, 2, 5, 10, 15},
    {DType::bfloat16, 2, 8, 7, 127},
}};

static_assert(std::endian::native == std::endian::little);

bool is_swapped(hid_t type) { return H5Tget_order(type) == H5T_ORDER_BE; }

bool fills_its_bytes(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return H5Tget_offset(type) == 0 && H5Tget_precision(type) == 8 * H5Tget_size(type) &&
         (order == H5T_ORDER_LE || order == H5T_ORDER_BE || H5Tget_size(type) == 1);
}

bool has_fields(hid_t type, const FloatFields& wanted) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0) {
    return false;
  }
  return H5Tget_size(type) == wanted.bytes && fills_its_bytes(type) && mantissa == 0 &&
         mantissa_bits == wanted.mantissa_bits && exponent == wanted.mantissa_bits &&
         exponent_bits == wanted.exponent_bits && sign == 8 * wanted.bytes - 1 &&
         H5Tget_ebias(type) == wanted.bias && H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

bool is_integer(hid_t type, std::size_t bytes, H5T_sign_t sign) {
  return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == bytes &&
         H5Tget_sign(type) == sign && fills_its_bytes(type);
}

bool member_is(hid_t type, unsigned index, const char* name, signed char value) {
  char* found = H5Tget_member_name(type, index);
  const bool same_name = found != nullptr && std::string(found) == name;
  H5free_memory(found);
  signed char stored = -1;
  return same_name && H5Tget_member_value(type, index, &stored) >= 0 && stored == value;
}

std::string number_text(hid_t type, const char* word) {
  const std::size_t bits = 8 * H5Tget_size(type);
  return word + std::to_string(bits) + (fills_its_bytes(type) ? "" : " of unusual layout");
}

}  // namespace

bool is_bool_enum(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1) return false;
  return H5Tget_nmembers(type) == 2 && member_is(type, 0, "FALSE", 0) &&
         member_is(type, 1, "TRUE", 1);
}

std::string describe(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return number_text(type, H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int");
    case H5T_FLOAT: {
      for (const FloatFields& fields : floats) {
        if (has_fields(type, fields)) return std::string(name(fields.dtype));
      }
      return "a floating type of " + std::to_string(bytes) + " bytes that is none of IEEE's";
    }
    case H5T_STRING: return "text";
    case H5T_OPAQUE: return "an opaque type of " + std::to_string(bytes) + " bytes";
    case H5T_COMPOUND: return "a compound type";
    case H5T_REFERENCE: return "a reference";
    case H5T_ENUM: return is_bool_enum(type) ? "bool" : "an enumeration that is not FALSE, TRUE";
    case H5T_VLEN: return "a type of variable length";
    case H5T_ARRAY: return "an array type";
    case H5T_BITFIELD: return "a bit field";
    case H5T_TIME: return "a time";
    default: return "an unknown type";
  }
}

ElementType recognize(hid_t type, const std::string& object) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_FLOAT) {
    for (const FloatFields& fields : floats) {
      if (has_fields(type, fields)) return {fields.dtype, is_swapped(type)};
    }
  }
  if (is_integer(type, 8, H5T_SGN_2)) return {DType::int64, is_swapped(type)};
  if (is_integer(type, 1, H5T_SGN_NONE) || is_bool_enum(type)) return {DType::boolean, false};
  if (kind == H5T_OPAQUE && H5Tget_size(type) == 2) {
    throw Failure(object,
                  "element type is an opaque type of 2 bytes, as h5py writes ml_dtypes.bfloat16; "
                  "write bfloat16 as an HDF5 float of 16 bits, as fixtures/h5.py does");
  }
  throw Failure(object, "element type is " + describe(type) +
                            ", wanted float64, float32, float16, bfloat16, int64 or bool");
}

Handle type_to_write(DType dtype) {
  const auto copy = [](hid_t type) { return own(H5Tcopy(type), H5Tclose, "a type", "no memory"); };
  switch (dtype) {
    case DType::float64: return copy(H5T_IEEE_F64LE);
    case DType::float32: return copy(H5T_IEEE_F32LE);
    case DType::int64: return copy(H5T_STD_I64LE);
    case DType::boolean: {
      Handle type = own(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "bool", "no memory");
      const signed char values[] = {0, 1};
      check(H5Tenum_insert(type.get(), "FALSE", &values[0]), "bool", "cannot be made");
      check(H5Tenum_insert(type.get(), "TRUE", &values[1]), "bool", "cannot be made");
      return type;
    }
    case DType::float16:
    case DType::bfloat16: break;
  }
  const FloatFields& fields = floats[dtype == DType::float16 ? 2 : 3];
  Handle type = copy(H5T_IEEE_F32LE);
  const hid_t id = type.get();
  // The fields first: libhdf5 refuses a size that would cut them off.
  check(H5Tset_fields(id, 15, fields.mantissa_bits, fields.exponent_bits, 0, fields.mantissa_bits),
        "a 16-bit float", "cannot be made");
  check(H5Tset_size(id, 2), "a 16-bit float", "cannot be made");
  check(H5Tset_ebias(id, fields.bias), "a 16-bit float", "cannot be made");
  return type;
}

}  // namespace prenorm::harness::hdf5
