// Fuzz target over the log layout: what is printed by no build of Forebay must do no harm.
//
// The first byte chooses what the others are: a pattern, a packed one, a section, a table, a list
// of the index, its directory, a subfile's beginning, hidden attributes. Checksums are set right
// first (unless the second byte says no), since no fuzzer finds them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "hdf5/format/log_index.h"
#include "hdf5/format/log_section.h"
#include "hdf5/format/log_subfile.h"
#include "hdf5/log/index_pages.h"
#include "hdf5/log/logged_store_text.h"
#include "hdf5/log/lookup.h"
#include "layout/packed_pattern.h"
#include "must.h"

namespace {

using forebay::Count;
using forebay::Error;
namespace logged = forebay::logged;
using Bytes = std::vector<std::byte>;

// A kilobyte of a packed pattern may stand for 32 MiB.
constexpr std::size_t most_packed = 1 << 10;

/// Puts the hash of `hashed`, exclusive-or `with`, where it belongs.
void seal(Bytes& bytes, std::size_t at, std::size_t from, std::size_t to, std::uint64_t with = 0) {
  if (bytes.size() < std::max(at + 8, from) || to < from || to > bytes.size()) return;
  forebay::store_be(bytes.data() + at,
                    forebay::hash_of(std::span(bytes).subspan(from, to - from)) ^ with);
}

/// What is accepted has bounds within its own extents, and prints to what reads back the same.
void check_pattern(const forebay::Pattern& pattern) {
  must(forebay::base_fits(pattern, 0) && pattern.elements() > 0, "a pattern has elements");
  const forebay::Bounds bounds = forebay::bounds_of(pattern, 0);
  must(bounds.first >= 0 && bounds.first < bounds.last, "a pattern has bounds");
  for (std::size_t d = 0; d < bounds.low.size(); ++d)
    must(bounds.low[d] >= 0 && bounds.low[d] < bounds.high[d] &&
             (d == 0 || bounds.high[d] <= pattern.inner[d - 1]),
         "bounds lie within the extents");
  must(logged::parse_pattern(logged::print_pattern(pattern)) == pattern,
       "a pattern is read back as it was printed");
}

void check_entry(const logged::Entry& entry) {
  forebay::Offset end = 0;
  must(entry.base >= 0 && entry.data >= 0 && entry.stored >= 0 &&
           forebay::add_fits(entry.data, entry.stored, end),
       "an entry has a place");
}

void check_section(Bytes bytes, bool sealed) {
  if (sealed) seal(bytes, 8, 16, bytes.size());
  const logged::Section section = logged::parse_section(bytes, 4096);
  for (const logged::Entry& entry : section.entries) {
    check_entry(entry);
    must(entry.kind == logged::Kind::cleared || entry.pattern < section.patterns.size(),
         "an entry has a pattern");
  }
  for (const logged::PatternRef& ref : section.patterns) must(ref.place >= 0, "a pattern's place");
}

void check_table(Bytes bytes, bool sealed) {
  const auto block = static_cast<Count>(4 * bytes.size());
  const Count sections = logged::sections_in(bytes, block);
  if (sealed && sections >= 0 && bytes.size() >= 32)
    seal(bytes, 24, 32, static_cast<std::size_t>(logged::table_bytes(sections)),
         forebay::load_be<std::uint64_t>(bytes.data() + 16));
  const logged::Table table = logged::parse_table(bytes, block);
  for (const logged::SectionPlace& place : table.sections)
    must(place.place >= 0 && place.bytes >= 0 && place.place + place.bytes <= block,
         "a section lies in its block");
}

/// Sets the checksums of a list's pages right, which end its head.
void seal_pages(Bytes& bytes) {
  const logged::ListHead head = logged::parse_head(bytes, std::ssize(bytes));
  const std::size_t each = 8 * head.box_numbers() + 8, pages = head.hashes.size();
  for (std::uint32_t page = 0; page < pages; ++page) {
    const auto from = static_cast<std::size_t>(head.page_place(page));
    seal(bytes, static_cast<std::size_t>(head.bytes) - (pages - page) * each + each - 8, from,
         from + static_cast<std::size_t>(head.page_bytes(page)));
  }
}

void check_list(Bytes bytes, bool sealed) {
  if (sealed) seal_pages(bytes);
  logged::EntryList list = logged::parse_list(bytes);
  const std::size_t entries = list.entries.size();
  for (const logged::Entry& entry : list.entries) check_entry(entry);
  const std::uint32_t ndims = list.ndims;
  forebay::Bounds wanted;
  wanted.low.assign(ndims, 0);
  wanted.high.assign(ndims, 3);
  wanted.last = 3;
  wanted.inner.assign(ndims - 1, 3);
  logged::Lookup lookup(std::move(list));
  std::vector<std::uint32_t> numbers;
  lookup.find(wanted, numbers);
  must(numbers.size() <= entries, "no entry is found twice");
  const logged::ListHead head = logged::parse_head(bytes, std::ssize(bytes));
  std::vector<logged::NumberedEntry> in_pages;
  for (std::uint32_t page = 0; page < head.hashes.size(); ++page)
    logged::find_in_page(head,
                         std::span(bytes).subspan(static_cast<std::size_t>(head.page_place(page)),
                                                  static_cast<std::size_t>(head.page_bytes(page))),
                         logged::wanted_box(head, wanted).data(),
                         [&](std::span<const std::byte> record) {
                           in_pages.push_back(logged::parse_record(head, record));
                         });
  logged::complete(head, in_pages);
  must(in_pages.size() == numbers.size(), "pages have what the tree finds");
  lookup.add({}, {}, &wanted);
  lookup.build();
  lookup.find(wanted, numbers);
  must(!numbers.empty(), "what is added is found");
  logged::Lookup again(logged::parse_list(logged::print_list(lookup.list())));
  must(again.size() == entries + 1, "a list is read back as it was printed");
}

void check_directory(Bytes bytes, bool sealed) {
  if (sealed) seal(bytes, 16, 24, bytes.size());
  const auto directory = logged::parse_directory(bytes, 1 << 20);
  for (const logged::IndexPlace& place : directory.places)
    must(place.place >= 0 && place.bytes >= 0 && place.place + place.bytes <= 1 << 20,
         "a list lies in the index");
  must(logged::print_directory(directory).size() == bytes.size(), "a directory has its size");
}

void check_attributes(Bytes bytes, bool sealed) {
  if (sealed && bytes.size() >= 8) {  // the lowest byte first here, unlike everywhere else
    const std::span<const std::byte> hashed(bytes.data(), bytes.size() - 8);
    const std::uint64_t hash = forebay::hash_of(hashed);
    for (std::size_t i = 0; i < 8; ++i)
      bytes[hashed.size() + i] = static_cast<std::byte>(hash >> (8 * i));
  }
  const auto stored = logged::parse_stored_dataset(bytes);
  must(!stored.extents.empty() && stored.extents.size() == stored.maximum.size(),
       "a dataset has dimensions");
  must(logged::parse_stored_dataset(logged::print_stored_dataset(stored)).extents == stored.extents,
       "an attribute is read back as it was printed");
}

void check(std::uint8_t what, Bytes bytes, bool sealed) {
  switch (what % 8) {
    case 0:
      return check_pattern(logged::parse_pattern(bytes));
    case 1:
      bytes.resize(std::min(bytes.size(), most_packed));
      return check_pattern(logged::PatternPacker().unpack(bytes));
    case 2:
      return check_section(std::move(bytes), sealed);
    case 3:
      return check_table(std::move(bytes), sealed);
    case 4:
      return check_list(std::move(bytes), sealed);
    case 5:
      return check_directory(std::move(bytes), sealed);
    case 6: {
      if (sealed) seal(bytes, 24, 0, 24);
      const auto front = logged::parse_subfile_front(bytes);
      must(logged::parse_subfile_front(logged::print_subfile_front(front)) == front,
           "a subfile's beginning is read back as it was printed");
      return;
    }
    default:
      logged::parse_stored_file(bytes);
      return check_attributes(std::move(bytes), sealed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(data) + 2;
  try {
    check(data[0], Bytes(begin, begin + (size - 2)), data[1] % 4 != 0);
  } catch (const Error& error) {
    must(error.code() == forebay::Errc::ebadlog && !error.message().empty(),
         "an error says what it is");
  }
  return 0;
}
