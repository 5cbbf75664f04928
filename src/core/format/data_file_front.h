// The front of a data file (layout/data_files.h), whichever layout has its values there, and what
// the formats of such files share. A front is one slot (store/slots.h): magic | id | number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/number_bytes.h"
#include "store/slots.h"

namespace forebay::data_files {

struct Front {
  std::uint64_t id = 0;  ///< random; the header of the classic file has it, too
  std::uint32_t number = 0;

  bool operator==(const Front&) const = default;
};

std::vector<std::byte> print_front(const Front& front);
/// Errc::enotnc if the bytes are not a whole front.
Front parse_front(std::span<const std::byte> bytes);

/// Throws Errc::enotnc.
[[noreturn]] void damaged(const std::string& what);

/// Calls f, which uses the log's parser. Turns that parser's errors into those of a netCDF file.
template <typename F>
auto parsing(const char* what, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.code() != Errc::ebadlog) throw;
    const std::string& text = error.message();
    const std::size_t colon = text.find(": ");
    damaged(std::string(what) + ": " + text.substr(colon == std::string::npos ? 0 : colon + 2));
  }
}

/// Returns `parse(parser)` of a slot; nothing if the slot is not whole.
template <typename F>
auto parse_slot(std::span<const std::byte> bytes, std::uint32_t magic, const char* what, F&& parse)
    -> std::optional<decltype(parse(std::declval<logged::Parser&>()))> {
  const auto contents = store::parse_slot(bytes);
  if (!contents) return std::nullopt;
  return parsing(what, [&] {
    logged::Parser in(*contents);
    in.front(magic, "it");
    return parse(in);
  });
}

}  // namespace forebay::data_files
