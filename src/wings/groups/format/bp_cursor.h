// A cursor for the parsers of BP: it reads one number after another and never beyond the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/byteorder.h"
#include "base/error.h"
#include "groups/format/bp.h"

namespace forebay::bp {

[[noreturn]] inline void damaged(const std::string& what) {
  throw Error(Errc::ebad_file, "damaged: " + what, "read another copy, or an earlier step");
}

class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  std::span<const std::byte> take(std::size_t n) {
    if (n > bytes_.size() - at_) damaged("an entry of the index ends too early");
    const auto taken = bytes_.subspan(at_, n);
    at_ += n;
    return taken;
  }
  template <typename T>
  T number() {
    static_assert(std::is_unsigned_v<T>);
    const T value = load_native<T>(take(sizeof(T)).data());
    return swapped_ ? byte_swapped(value) : value;
  }
  std::string text() {
    const auto bytes = take(number<std::uint16_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Reads a number of 64 bits. Errc::ebad_file with `fault`: it is above 2^63 - 1.
  Count count(const char* fault) {
    const auto n = number<std::uint64_t>();
    if (!std::in_range<Count>(n)) damaged(fault);
    return static_cast<Count>(n);
  }
  /// Reads a number or complex number, in this machine's byte order.
  Value value(Type type);
  /// Reads lists of extents, which have equal lengths. In groups a byte before each number says
  /// that it is one. Special values such as `joined` are negative when read as signed numbers.
  Shape extents(bool in_group);

  std::size_t at() const { return at_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool swapped_;
  std::size_t at_ = 0;
};

/// A block's operator, as Characteristic::transform_type has it.
struct Operation {
  std::string name;
  std::uint8_t type = 0;  // type and extents of the values before the operator
  Shape extents;
  Count values = 0, stored = 0;  // bytes before and behind it, if the file says so as adios2 does
};
Operation parse_operation(Cursor& from);

}  // namespace forebay::bp
