// Tiles of Hopper's attention, as far as they are arithmetic: what TMA writes is what wgmma reads,
// and every matrix of a batch is found in its tensor. TMA and wgmma are as the PTX ISA says.
#include "tensor_tiles.cuh"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

using namespace prenorm::cuda;

namespace {

/// The swizzle of 128 bytes, as it is for TMA and for wgmma: bits 4-6 of an address in shared
/// memory are exchanged by bits 7-9.
std::uint32_t swizzle(std::uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

struct Element {
  int row, column;
  bool operator==(const Element&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Element& e) {
  return out << "(" << e.row << ", " << e.column << ")";
}
/// Which element lies at an address.
using Memory = std::map<std::uint32_t, Element>;

/// What TMA writes for a tile of `panels` boxes of `rows` rows and 64 columns.
Memory tile(std::uint32_t base, int rows, int panels) {
  Memory memory;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < panels * 64; ++column) {
      const int in_order = column / 64 * rows * 128 + row * 128 + column % 64 * 2;
      memory[swizzle(base + static_cast<std::uint32_t>(in_order))] = {row, column};
    }
  }
  return memory;
}

/// A field of a descriptor.
std::uint32_t field(std::uint64_t descriptor, int first, int bits) {
  return static_cast<std::uint32_t>(descriptor >> first & ((1u << bits) - 1));
}
std::uint32_t start(std::uint64_t descriptor) { return 16 * field(descriptor, 0, 14); }
std::uint32_t leading(std::uint64_t descriptor) { return 16 * field(descriptor, 16, 14); }
std::uint32_t stride(std::uint64_t descriptor) { return 16 * field(descriptor, 32, 14); }

constexpr std::uint32_t base = 0x25400;  // a multiple of 1024, beyond 16 bits

}  // namespace

BOOST_AUTO_TEST_SUITE(tensor_tiles)

BOOST_AUTO_TEST_CASE(a_descriptor_has_its_fields) {
  const std::uint64_t d = matrix_descriptor(0x12345670u, 0x4000, 0x400);
  BOOST_TEST(start(d) == 0x05670);  // 18 bits of it
  BOOST_TEST(leading(d) == 0x4000);
  BOOST_TEST(stride(d) == 0x400);
  BOOST_TEST(field(d, 14, 2) == 0);
  BOOST_TEST(field(d, 30, 2) == 0);
  BOOST_TEST(field(d, 46, 3) == 0);
  BOOST_TEST(field(d, 49, 3) == 0);  // base offset
  BOOST_TEST(field(d, 52, 10) == 0);
  BOOST_TEST(d >> 62 == 1u);  // 128 bytes
}

BOOST_AUTO_TEST_CASE(an_element_is_where_the_copy_engine_puts_it) {
  const Memory memory = tile(base, 128, 1);
  for (int row = 0; row < 128; ++row) {
    for (int column = 0; column < 64; ++column) {
      const auto at = base + 2 * static_cast<std::uint32_t>(swizzled(row, column));
      BOOST_REQUIRE_EQUAL(memory.at(at), (Element{row, column}));
    }
  }
}

/// K-major with this swizzle: ((8, m), 16) : ((64, stride), 1) elements from the start.
BOOST_AUTO_TEST_CASE(operands_along_columns_are_read_as_they_were_written) {
  const Memory memory = tile(base, 128, 2);
  for (const int first_row : {0, 64}) {
    for (int first = 0; first < 128; first += 16) {
      const std::uint64_t d =
          along_columns(base + static_cast<std::uint32_t>(first / 64 * 128 * 128 + first_row * 128 +
                                                          first % 64 * 2));
      BOOST_REQUIRE_EQUAL(leading(d), 16u);  // 1, as it is not used
      for (int row = 0; row < 128 - first_row; ++row) {
        for (int k = 0; k < 16; ++k) {
          const auto offset = static_cast<std::uint32_t>(row % 8 * 128 + k * 2) +
                              static_cast<std::uint32_t>(row / 8) * stride(d);
          BOOST_REQUIRE_EQUAL(memory.at(swizzle(start(d) + offset)),
                              (Element{first_row + row, first + k}));
        }
      }
    }
  }
}

/// MN-major with this swizzle: ((64, m), (8, 2)) : ((1, leading), (64, stride)).
BOOST_AUTO_TEST_CASE(operands_along_rows_are_read_as_they_were_written) {
  for (const int panels : {1, 2}) {
    const Memory memory = tile(base, 128, panels);
    for (int first = 0; first < 128; first += 16) {
      const std::uint64_t d = along_rows(base + static_cast<std::uint32_t>(first * 128), 128 * 128);
      for (int column = 0; column < 64 * panels; ++column) {
        for (int k = 0; k < 16; ++k) {
          const auto offset = static_cast<std::uint32_t>(column % 64 * 2 + k % 8 * 128) +
                              static_cast<std::uint32_t>(column / 64) * leading(d) +
                              static_cast<std::uint32_t>(k / 8) * stride(d);
          BOOST_REQUIRE_EQUAL(memory.at(swizzle(start(d) + offset)), (Element{first + k, column}));
        }
      }
    }
  }
}

namespace {

/// Batch axes of one tensor.
BatchAxes<1> axes(
    std::initializer_list<std::pair<std::int64_t, std::int64_t>> extents_and_strides) {
  BatchAxes<1> batch;
  for (const auto& [extent, stride] : extents_and_strides) batch.append(extent, {stride});
  return batch;
}

/// Whether each matrix lies in its tensor where it lies in memory.
void check_places(const BatchAxes<1>& batch, const std::optional<TensorRows>& tensor,
                  std::int64_t width) {
  BOOST_REQUIRE(tensor);
  std::int64_t parts = 0, columns = 0;
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const std::int64_t offset = batch.part(0, i);
    const auto [part, column] = tensor->corner(offset);
    BOOST_REQUIRE_EQUAL(part * tensor->rows * tensor->stride + column, offset);
    BOOST_REQUIRE_LE(column + width, tensor->stride);
    parts = std::max<std::int64_t>(parts, part + 1);
    columns = std::max(columns, column + width);
  }
  BOOST_TEST(parts == tensor->parts);
  BOOST_TEST(columns == tensor->columns);
}

}  // namespace

BOOST_AUTO_TEST_CASE(matrices_of_a_batch_are_found_in_their_tensor) {
  const auto check = [](const BatchAxes<1>& batch, std::int64_t rows, std::int64_t width,
                        std::int64_t stride) {
    check_places(batch, tensor_rows(batch, 0, rows, width, stride), width);
  };
  check(axes({}), 5, 64, 64);                                  // no batch axis
  check(axes({{2, 3 * 7 * 128}, {3, 7 * 128}}), 7, 128, 128);  // compact
  check(axes({{2, 7 * 3 * 512}, {8, 64}}), 7, 64, 3 * 512);    // heads of a fused product
  check(axes({{2, 3 * 512}, {8, 64}}), 1, 64, 3 * 512);        // of one row
  check(axes({{2, 0}, {3, 7 * 64}, {4, 0}}), 7, 64, 64);       // broadcast
  check(axes({{5, 2 * 7 * 64}}), 7, 64, 64);                   // every second part
  check(axes({{2, 4 * 9 * 256}, {2, 128}, {2, 9 * 256}}), 9, 128, 256);
}

BOOST_AUTO_TEST_CASE(matrices_that_the_copy_engine_cannot_walk_through_are_refused) {
  BOOST_TEST(!tensor_rows(axes({}), 0, 5, 64, 68));                      // a stride of 136 bytes
  BOOST_TEST(!tensor_rows(axes({{2, 4}}), 0, 5, 64, 128));               // a step of 8 bytes
  BOOST_TEST(!tensor_rows(axes({{2, -64}}), 0, 5, 64, 128));             // backwards
  BOOST_TEST(!tensor_rows(axes({{2, 6 * 64}}), 0, 5, 64, 64));           // a row too many
  BOOST_TEST(!tensor_rows(axes({{3, 64}}), 0, 5, 64, 128));              // a head too many
  BOOST_TEST(!tensor_rows(axes({}), 0, std::int64_t{1} << 31, 64, 64));  // too many rows
}

BOOST_AUTO_TEST_SUITE_END()
