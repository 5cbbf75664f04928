#include "groups/format/bp3_read.h"

#include <algorithm>
#include <string_view>

#include "base/byteorder.h"
#include "groups/format/bp_cursor.h"

namespace forebay::bp {

namespace {

constexpr std::size_t order_at = 24, flags_at = 26, version_at = 27;
constexpr int has_subfiles = 1, known_flags = 3;
constexpr int versions_before = 2, version_now = 3;  // these versions have the same index

[[noreturn]] void no_footer() {
  throw Error(
      Errc::ebad_file, "it does not end as files of BP3 do",
      "give the path of a BP3 file, or of a BP4 directory; `forebay recover` gives a file of "
      "this library its index again");
}

}  // namespace

Footer parse_footer(std::span<const std::byte, footer_bytes> footer, Count file_bytes) {
  const auto order = std::to_integer<int>(footer[order_at]);
  const auto flags = std::to_integer<int>(footer[flags_at]);
  const auto version = std::to_integer<int>(footer[version_at]);
  // For a big-endian machine adios2 writes 1, and ADIOS 1 sets the highest bit.
  if ((order != 0 && order != 1 && order != 0x80) || footer[order_at + 1] != std::byte{0} ||
      flags > known_flags || version == 0)
    no_footer();
  Footer parsed;
  parsed.swapped = (order != 0) != native_is_big_endian;
  parsed.subfiles = (flags & has_subfiles) != 0;
  parsed.end = file_bytes - footer_bytes;
  Cursor from(footer, parsed.swapped);
  Offset last = 0;
  for (Offset* const place : {&parsed.groups, &parsed.variables, &parsed.attributes}) {
    const auto n = from.number<std::uint64_t>();
    if (n > static_cast<std::uint64_t>(std::max<Count>(parsed.end, 0))) no_footer();
    *place = static_cast<Offset>(n);
    if (*place < last) no_footer();
    last = *place;
  }
  if (version < versions_before || version > version_now)
    throw Error(Errc::enotsupport, "it is of BP version " + std::to_string(version),
                "versions 2, 3 and 4 are read: convert it with ADIOS 1's bp2bp");
  if (parsed.variables - parsed.groups < groups_head_bytes ||
      parsed.attributes - parsed.variables < elements_head_bytes ||
      parsed.end - parsed.attributes < elements_head_bytes)
    no_footer();
  return parsed;
}

bool is_tag_of_adios2(std::span<const std::byte, footer_tag_bytes> tag) {
  constexpr std::string_view begin = "ADIOS-BP v2";
  return std::memcmp(tag.data(), begin.data(), begin.size()) == 0;
}

std::uint64_t parse_groups_head(std::span<const std::byte> head, bool swapped) {
  return Cursor(head, swapped).number<std::uint64_t>();
}

}  // namespace forebay::bp
