// BP4: a directory of process groups (Lofstead et al. 2009, §III.D). This file holds what its
// writer and its reader share.
//
//     NAME/data.K   head, then process groups: each is what one rank wrote in one step
//     NAME/md.0     head, then for each step: index of groups, of variables, of attributes
//     NAME/md.idx   head, then one record of 64 bytes for each step: where its indexes lie in md.0
//
// The head of md.idx says which byte order the numbers have. Readers need md.0 alone to find a
// block's payload. BP3 is read too (groups/format/bp3_read.h): it is one file with one index of all
// steps. docs/formats.md has the grammar.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "array/type.h"
#include "base/types.h"

namespace forebay::bp {

/// Element types, by their number in the file.
enum class Type : std::uint8_t {
  int8 = 0,
  int16 = 1,
  int32 = 2,
  int64 = 4,
  float32 = 5,
  float64 = 6,
  long_double = 7,  // not written: its form depends on the machine
  string = 9,
  complex64 = 10,     // two floats
  complex128 = 11,    // two doubles
  string_array = 12,  // attributes only
  uint8 = 50,
  uint16 = 51,
  uint32 = 52,
  uint64 = 54,
  chr = 55,
  reference = 255  // the attribute has the value and the type of a variable
};

/// Who wrote an index. In ADIOS 1, blocks have a time dimension, and each name has a path ("grid/T"
/// here, for "/grid" and "T"). For transformed values, the index has the type and extents of the
/// transformed bytes.
enum class Form : std::uint8_t { bp4, bp3, adios1 };

/// Types that have the same form in BP and in the engine.
inline constexpr std::pair<Type, forebay::Type> same_forms[] = {
    {Type::int8, forebay::Type::byte},       {Type::int16, forebay::Type::int16},
    {Type::int32, forebay::Type::int32},     {Type::int64, forebay::Type::int64},
    {Type::float32, forebay::Type::float32}, {Type::float64, forebay::Type::float64},
    {Type::uint8, forebay::Type::uint8},     {Type::uint16, forebay::Type::uint16},
    {Type::uint32, forebay::Type::uint32},   {Type::uint64, forebay::Type::uint64},
    {Type::chr, forebay::Type::chr}};

/// Returns the engine's type of the same form, or none (for complex, strings, long double).
constexpr forebay::Type to_engine(Type type) {
  for (const auto& [here, engine] : same_forms)
    if (here == type) return engine;
  return forebay::Type::none;
}

/// Returns the BP type of the same form as an engine's type.
constexpr Type from_engine(forebay::Type type) {
  for (const auto& [here, engine] : same_forms)
    if (engine == type) return here;
  return Type::chr;
}

/// Calls f(T{}) with the C++ type of numbers and characters. Returns whether it called f.
template <typename F>
constexpr bool with_number(Type type, F&& f) {
  if (type == Type::chr) return f(char{}), true;
  return forebay::with_number(to_engine(type), std::forward<F>(f));
}

/// Returns the bytes of an element; 0 for strings, and for numbers that are not a type.
constexpr Count size_of(Type type) {
  if (type == Type::complex64) return 8;
  if (type == Type::complex128 || type == Type::long_double) return 16;
  Count bytes = 0;
  with_number(type, [&](auto zero) { bytes = static_cast<Count>(sizeof zero); });
  return bytes;
}

constexpr bool is_complex(Type type) { return type == Type::complex64 || type == Type::complex128; }

// Special values that stand in the file in place of an extent of the global shape.
inline constexpr Count joined = -2;       ///< ranks' blocks follow one another along this dimension
inline constexpr Count local_value = -3;  ///< shape {local_value}: each rank has its own value

/// Where a block lies, in elements. Dimensions are in the order of the program's language. A scalar
/// has three empty lists. A global array has three lists of the same length. A local array has only
/// `count`. A joined array has one `joined` in `shape` and no `start`. A local value has `shape`.
struct Shape {
  std::vector<Count> shape, start, count;
  bool operator==(const Shape&) const = default;
};

/// A local value has no payload: its value stands in the heads alone.
inline bool is_local_value(const Shape& at) { return at.shape == std::vector<Count>{local_value}; }

inline bool all_zero(const std::vector<Count>& extents) {
  return std::ranges::all_of(extents, [](Count n) { return n == 0; });
}

/// An array with such extents has no elements, however large the others are.
template <typename Extents>
bool any_zero(const Extents& extents) {
  return std::ranges::find(extents, 0) != extents.end();
}

/// Multiplies `product` by all extents. Returns false if that needs over 63 bits.
template <typename Extents>
[[nodiscard]] bool multiply_all(const Extents& extents, Count& product) {
  return std::ranges::all_of(extents, [&](Count n) { return multiply_fits(product, n, product); });
}

/// If all extents of an array are 0, a file stores only how many there are, for local and for
/// global arrays. Such an array is read as a local one.
inline bool may_be_global(const Shape& at) {
  return !at.count.empty() && at.shape.empty() && all_zero(at.count);
}

struct Variable {
  std::string name;
  Type type = Type::int8;
  bool operator==(const Variable&) const = default;
};

/// A value of any numeric type, in the machine's byte order.
using Value = std::array<std::byte, 16>;

/// Returns the value as a floating type; 0 if it is not a number.
template <typename As>
As number_of(Type type, const Value& value) {
  As number = 0;
  with_number(type, [&](auto stored) {
    std::memcpy(&stored, value.data(), sizeof stored);
    number = static_cast<As>(stored);
  });
  return number;
}

/// Sums over the finite values of one block or of several.
struct Moments {
  std::int64_t count = 0;
  double sum = 0, squares = 0;  ///< of the values, and of their squares
};

/// What md.0 holds about a block. If no element counts, `min` is above `max`, in the file too (the
/// type's largest and least value, or infinities). So a reader that combines the ranges of all
/// blocks gets the right range.
struct Block {
  Shape at;
  std::uint32_t step = 0;  ///< from 1
  std::uint32_t file = 0;  ///< K of data.K
  Offset place = 0;        ///< where the block's own head lies in data.K
  Offset payload = 0;      ///< of its first element there; a string begins with its length (u16)
  Count bytes = 0;         ///< of the payload; not in the file: count × size, or the text's length
  bool has_value = false;  ///< a scalar or a local value, which `min`, `max` or `text` hold
  bool has_range = false;  ///< `min` and `max` are those of its finite elements
  bool has_moments = false;
  Value min{}, max{};
  Moments moments;  ///< if has_moments; the file has room for a count below 2^32
  std::string text;
  std::string operation;  ///< the adios2 operator that made the payload; empty: none
  Count stored = 0;       ///< bytes that it made; 0: the file does not say in a known way
};

/// Returns the bytes of a payload in the file; 0 if only an operator knows them.
inline Count stored_bytes(const Block& block) {
  return block.operation.empty() ? block.bytes : block.stored;
}

/// Numbers are in `values`, strings in `texts`. An attribute with one element is a scalar.
struct Attribute {
  std::string name;
  Type type = Type::int8;
  std::vector<std::byte> values;
  std::vector<std::string> texts;
  bool operator==(const Attribute&) const = default;
};

/// An entry of the index of groups: what one rank wrote in one step.
struct Group {
  std::string name;
  bool column_major = false;
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
  Offset place = 0;  ///< in the rank's data.K
};

/// Marks a group, so that a step can be rebuilt from groups alone. A step is complete if the number
/// of groups with the same step and opening equals the count that one of them holds. Other
/// programs' groups have the name of the step in this place.
struct GroupMark {
  Rank rank = 0;
  std::uint64_t opening = 0;  ///< a later opening that wrote the same step has a larger number
  std::uint32_t groups = 0;   ///< of the step, over all ranks; 0: not known when this was written
};

/// A record of md.idx. Places are in md.0.
struct StepRecord {
  std::uint64_t step = 0;  ///< from 1
  std::uint64_t rank = 0;  ///< always 0
  Offset groups = 0, variables = 0, attributes = 0, end = 0;
  std::uint64_t time = 0;  ///< seconds since 1970
};

// The head of each file.
inline constexpr Count head_bytes = 64;
inline constexpr Count record_bytes = 64;
inline constexpr std::size_t head_tag_bytes = 32;   ///< "ADIOS-BP v2.x.y KIND", zero-filled
inline constexpr std::size_t head_version_at = 32;  ///< three digits
inline constexpr std::size_t head_endian_at = 36;   ///< 0: little-endian, 1: big-endian
inline constexpr std::size_t head_bp_version_at = 37;
inline constexpr std::size_t head_active_at = 38;  ///< 1: the program that writes has not ended
inline constexpr std::uint8_t bp_version = 4;

// In md.0, before the entries of a step.
inline constexpr Count groups_head_bytes = 16;
inline constexpr Count elements_head_bytes = 12;  ///< of variables, and of attributes

/// The statistics in Characteristic::stat, in the order of the bits of Characteristic::bitmap.
enum class Statistic : std::uint8_t { min, max, count, sum, squares, histogram, finite, all };
/// Bits of blocks that have moments, and of a range.
inline constexpr std::uint32_t bits_with_moments = 0b11111, bits_of_range = 0b11;

/// What an entry of md.0 says about a block or an attribute, by its number in the file.
enum class Characteristic : std::uint8_t {
  value = 0,
  min = 1,
  max = 2,
  offset = 3,      // Block::place
  dimensions = 4,  // u8 dimensions, u16 bytes, then count, shape, start (u64) of each dimension
  var_id = 5,      // the variable whose value an attribute has
  payload_offset = 6,
  file_index = 7,
  time_index = 8,
  bitmap = 9,  // u32, bits: which statistics the next one holds
  stat = 10,
  // Values are behind an operator: u8 length and name, u8 type, dimensions as above (both of the
  // values), u16 bytes of what follows: in adios2 since 2.8 u64 bytes of the values, and u64
  // stored.
  transform_type = 11,
  minmax = 12  // u16 parts (1: the block whole), min, max
};

}  // namespace forebay::bp
