// Printing and parsing of numbers, which the encodings of the log layout share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/types.h"
#include "base/varint.h"

namespace forebay::logged {

constexpr std::uint16_t version = 1;  ///< of tables, sections and indexes
constexpr std::uint8_t big_endian = 'B';

[[noreturn]] inline void damaged(const std::string& what) {
  throw Error(Errc::ebadlog, "the log is damaged: " + what,
              "forebay check tells what can still be read");
}

/// Throws Errc::ebadlog for a version that this build does not know. `what` names it: "a section".
inline void check_version(std::uint64_t found, std::uint64_t newest, std::string_view what) {
  if (found == 0) damaged(std::string(what) + " has no version");
  if (found > newest)
    throw Error(Errc::ebadlog,
                std::string(what) + " has version " + std::to_string(found) +
                    ", this build reads up to " + std::to_string(newest),
                "it was written by a newer Forebay: read it with that one");
}

class Printer {
 public:
  template <typename T>
  void fixed(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    store_be(bytes_.data() + bytes_.size() - sizeof value, value);
  }
  void number(std::uint64_t value) {
    std::byte buffer[most_varint_bytes];
    std::byte* const end = put_varint(buffer, value);
    bytes_.insert(bytes_.end(), buffer, end);
  }
  void count(Count value) { number(static_cast<std::uint64_t>(value)); }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <typename T>
  void fixed_at(std::size_t position, T value) {
    store_be(bytes_.data() + position, value);
  }
  /// Prints the beginning of tables, sections and indexes: magic u32 | version u16 | "B" | 0.
  void front(std::uint32_t magic, std::uint16_t its_version = version) {
    fixed(magic);
    fixed(its_version);
    fixed(big_endian);
    fixed(std::uint8_t{0});
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Parses numbers and bytes. Calls `fail`, which throws, if bytes are missing or a count is too
/// large.
class Parser {
 public:
  using Fail = void (*)(const std::string& what);
  explicit Parser(std::span<const std::byte> bytes, Fail fail = damaged)
      : bytes_(bytes), fail_(fail) {}

  std::span<const std::byte> take(std::size_t n) {
    if (n > bytes_.size()) fail_("it ends too early");
    const auto taken = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return taken;
  }
  template <typename T>
  T fixed() {
    return load_be<T>(take(sizeof(T)).data());
  }
  std::uint64_t number() {
    const std::byte* at = bytes_.data();
    std::uint64_t value = 0;
    if (!get_varint(at, bytes_.data() + bytes_.size(), value)) fail_("a number has no end");
    bytes_ = bytes_.subspan(static_cast<std::size_t>(at - bytes_.data()));
    return value;
  }
  Count count() {
    const std::uint64_t value = number();
    if (value > INT64_MAX) fail_("a count is too large");
    return static_cast<Count>(value);
  }
  /// Reads a number of items, each of which takes at least `least` of the bytes that are left.
  std::size_t items(std::size_t least) {
    const std::uint64_t n = number();
    if (n > left() / least) fail_("a list is longer than its bytes");
    return static_cast<std::size_t>(n);
  }
  /// Parses what Printer::front wrote. `what` is for messages: "a section". Returns the version.
  std::uint16_t front(std::uint32_t magic, const std::string& what,
                      std::uint16_t newest = version) {
    if (fixed<std::uint32_t>() != magic) damaged(what + " does not begin like one");
    const auto found = fixed<std::uint16_t>();
    check_version(found, newest, what);
    if (fixed<std::uint8_t>() != big_endian) damaged(what + " has another byte order");
    take(1);
    return found;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  Fail fail_;
};

}  // namespace forebay::logged
