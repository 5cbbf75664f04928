// Makes BP3 files as other programs write them, byte by byte, for tests.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byteorder.h"
#include "groups/format/bp.h"
#include "groups/format/bp_write.h"

namespace forebay::bp {

/// Appends one number after another, in either byte order.
class Bp3Printer {
 public:
  explicit Bp3Printer(bool big_endian) : swapped_(big_endian != native_is_big_endian) {}

  template <typename T>
  Bp3Printer& put(T number) {
    std::array<std::byte, sizeof number> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    if (swapped_) std::reverse(bytes.begin(), bytes.end());
    return put_bytes(bytes);
  }
  Bp3Printer& put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Bp3Printer& text(std::string_view text) {
    put(static_cast<std::uint16_t>(text.size()));
    return put_bytes(std::as_bytes(std::span(text)));
  }

  // Each appends a characteristic of a block.
  Bp3Printer& time(std::uint32_t step) { return what(8).put(step); }
  Bp3Printer& file(std::uint32_t number) { return what(7).put(number); }
  Bp3Printer& payload(std::uint64_t place) { return what(6).put(place); }
  template <typename T>
  requires std::is_arithmetic_v<T> Bp3Printer& value(T number) { return what(0).put(number); }
  Bp3Printer& value(std::string_view string) { return what(0).text(string); }
  /// `all` has (count, shape, start) of each dimension.
  Bp3Printer& dimensions(const std::vector<std::array<std::uint64_t, 3>>& all) {
    what(4);
    return extents(all);
  }
  Bp3Printer& extents(const std::vector<std::array<std::uint64_t, 3>>& all) {
    put(static_cast<std::uint8_t>(all.size()));
    put(static_cast<std::uint16_t>(24 * all.size()));
    for (const auto& one : all)
      for (const std::uint64_t n : one) put(n);
    return *this;
  }
  Bp3Printer& variable(std::uint32_t member) { return what(5).put(member); }
  Bp3Printer& what(std::uint8_t characteristic) { return put(characteristic); }

  const Bytes& bytes() const { return bytes_; }

 private:
  bool swapped_;
  Bytes bytes_;
};

class Bp3File {
 public:
  explicit Bp3File(bool big_endian = false, std::string tag = "ADIOS-BP v1.13.1")
      : big_(big_endian),
        tag_(std::move(tag)),
        groups_(big_),
        variables_(big_),
        attributes_(big_) {}

  Bp3Printer print() const { return Bp3Printer(big_); }

  void group(std::uint32_t step, bool column_major = false) {
    const std::string name = "restart", steps = "iter";
    groups_.put(static_cast<std::uint16_t>(21 + name.size() + steps.size()));
    groups_.text(name).put(column_major ? 'y' : 'n').put(std::uint32_t{0}).text(steps);
    groups_.put(step).put(std::uint64_t{0});
    ++ngroups_;
  }
  struct Name {
    std::string group, path, name;
    std::uint32_t member = 0;
  };
  void variable(const Name& name, Type type, const std::vector<Bp3Printer>& blocks) {
    entry(variables_, name, type, blocks);
    ++nvariables_;
  }
  void attribute(const Name& name, Type type, const std::vector<Bp3Printer>& values) {
    entry(attributes_, name, type, values);
    ++nattributes_;
  }

  /// Returns the bytes of the file. The first ones are `values`.
  Bytes print(std::span<const std::byte> values, std::uint8_t flags = 2) const {
    Bp3Printer out(big_);
    const auto here = [&] { return static_cast<std::uint64_t>(out.bytes().size()); };
    const std::uint64_t groups = out.put_bytes(values).bytes().size();
    // ADIOS 1 does not count length fields in the size of the entries.
    const auto short_of = [](const Bp3Printer& entries, std::size_t lengths) {
      return static_cast<std::uint64_t>(entries.bytes().size() - lengths);
    };
    out.put(std::uint64_t{ngroups_}).put(short_of(groups_, 2 * ngroups_));
    out.put_bytes(groups_.bytes());
    const std::uint64_t variables = here();
    out.put(nvariables_).put(short_of(variables_, 4 * nvariables_)).put_bytes(variables_.bytes());
    const std::uint64_t attributes = here();
    out.put(nattributes_).put(short_of(attributes_, 4 * nattributes_));
    out.put_bytes(attributes_.bytes());
    std::array<std::byte, 28> tag{};
    std::memcpy(tag.data(), tag_.data(), tag_.size());
    out.put_bytes(tag).put(groups).put(variables).put(attributes);
    out.put(static_cast<std::uint8_t>(big_ ? 0x80 : 0)).put(std::uint8_t{0}).put(flags);
    out.put(std::uint8_t{3});
    return out.bytes();
  }

 private:
  void entry(Bp3Printer& out, const Name& name, Type type,
             const std::vector<Bp3Printer>& blocks) const {
    Bp3Printer entry(big_);
    entry.put(name.member).text(name.group).text(name.name).text(name.path);
    entry.put(static_cast<std::uint8_t>(type)).put(std::uint64_t{blocks.size()});
    for (const Bp3Printer& block : blocks)
      entry.put(std::uint8_t{9})
          .put(static_cast<std::uint32_t>(block.bytes().size()))
          .put_bytes(block.bytes());
    out.put(static_cast<std::uint32_t>(entry.bytes().size())).put_bytes(entry.bytes());
  }

  bool big_;
  std::string tag_;
  Bp3Printer groups_, variables_, attributes_;
  std::uint32_t ngroups_ = 0, nvariables_ = 0, nattributes_ = 0;
};

}  // namespace forebay::bp
