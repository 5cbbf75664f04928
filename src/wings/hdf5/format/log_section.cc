#include "hdf5/format/log_section.h"

#include <algorithm>

#include "base/fill_elements.h"
#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::logged {
namespace {

constexpr std::uint32_t log_section_magic = 0x46424c53;  // "FBLS"
constexpr std::uint32_t table_magic = 0x46424c54;        // "FBLT"
constexpr std::size_t section_front = 16, hash_at = 8;   // the hash covers all that follows it
constexpr std::size_t least_entry = 5;

/// The entry before. Entries are stored as differences from it.
struct Last {
  std::uint64_t dataset = 0, epoch = 0;
  Count base = 0;
  Offset end = 0;
};

enum SectionFlag : std::uint8_t {
  filtered_flag = 4,
  subfile_flag = 8,
  epoch_flag = 16,
  turn_flag = 32
};

void print_entry(const Entry& entry, Last& last, Printer& out) {
  std::uint8_t flags = static_cast<std::uint8_t>(entry.kind);
  if (entry.filtered) flags |= filtered_flag;
  if (entry.file != 0) flags |= subfile_flag;
  if (entry.epoch != last.epoch) flags |= epoch_flag;
  if (entry.turn != 0) flags |= turn_flag;
  out.fixed(flags);
  out.number(zigzag(static_cast<std::int64_t>(entry.dataset - last.dataset)));
  if (entry.epoch != last.epoch) out.number(entry.epoch - last.epoch);
  if (entry.turn != 0) out.number(entry.turn);
  last.dataset = entry.dataset, last.epoch = entry.epoch;
  if (entry.kind == Kind::cleared) return;
  out.number(entry.pattern);
  if (entry.kind == Kind::extent) return;
  out.number(zigzag(entry.base - last.base));
  if (entry.file != 0) out.number(entry.file);
  out.number(zigzag(entry.data - last.end));
  out.count(entry.stored);
  out.fixed(entry.hash);
  if (entry.filtered) out.number(entry.filter_mask);
  last.base = entry.base, last.end = entry.data + entry.stored;
}

Entry parse_entry(Parser& in, Last& last, std::size_t patterns) {
  Entry entry;
  const auto flags = in.fixed<std::uint8_t>();
  if ((flags & 3) > 2 || flags > 63) damaged("an entry of kind " + std::to_string(flags));
  entry.kind = static_cast<Kind>(flags & 3);
  entry.filtered = (flags & filtered_flag) != 0;
  entry.dataset = last.dataset + static_cast<std::uint64_t>(unzigzag(in.number()));
  entry.epoch = last.epoch + ((flags & epoch_flag) != 0 ? in.number() : 0);
  if ((flags & turn_flag) != 0) {
    const std::uint64_t turn = in.number();
    if (turn > UINT32_MAX) damaged("an entry's turn");
    entry.turn = static_cast<std::uint32_t>(turn);
  }
  last.dataset = entry.dataset, last.epoch = entry.epoch;
  if (entry.kind == Kind::cleared) return entry;
  const std::uint64_t pattern = in.number();
  if (pattern >= patterns) damaged("an entry names pattern " + std::to_string(pattern));
  entry.pattern = static_cast<std::uint32_t>(pattern);
  if (entry.kind == Kind::extent) return entry;
  const auto fits = [](std::int64_t from, std::uint64_t difference, std::int64_t& to) {
    if (!add_fits(from, unzigzag(difference), to) || to < 0) damaged("an entry's place");
  };
  fits(last.base, in.number(), entry.base);
  if ((flags & subfile_flag) != 0) {
    const std::uint64_t file = in.number();
    if (file == 0 || file > UINT32_MAX) damaged("an entry names subfile " + std::to_string(file));
    entry.file = static_cast<std::uint32_t>(file);
  }
  fits(last.end, in.number(), entry.data);
  entry.stored = in.count();
  Offset end = 0;
  if (!add_fits(entry.data, entry.stored, end)) damaged("an entry's size");
  entry.hash = in.fixed<std::uint64_t>();
  if (entry.filtered) entry.filter_mask = static_cast<std::uint32_t>(in.number());
  last.base = entry.base, last.end = end;
  return entry;
}

}  // namespace

Savings& Savings::operator+=(const Savings& other) {
  for (const auto number : savings_numbers) this->*number += other.*number;
  return *this;
}

std::vector<std::byte> print_section(Section& section,
                                     const std::vector<std::vector<std::byte>>& local) {
  Printer out;
  out.front(log_section_magic);
  out.fixed(std::uint64_t{0});  // hash
  out.fixed(section.rank);
  for (const auto number : savings_numbers) out.number(section.savings.*number);

  out.number(section.patterns.size());
  std::vector<std::size_t> places(section.patterns.size(), 0);
  for (std::size_t i = 0; i < section.patterns.size(); ++i) {
    const bool is_new = !local[i].empty();
    out.fixed(static_cast<std::uint8_t>(is_new));
    places[i] = out.bytes().size();
    out.fixed(section.patterns[i].place);
    if (is_new) {
      section.patterns[i].bytes = static_cast<std::uint32_t>(local[i].size());
      section.patterns[i].check = check_of(local[i]);
    }
    out.fixed(section.patterns[i].bytes);
    out.fixed(section.patterns[i].check);
  }
  out.number(section.entries.size());
  Last last;
  for (const Entry& entry : section.entries) print_entry(entry, last, out);
  for (std::size_t i = 0; i < section.patterns.size(); ++i) {
    if (local[i].empty()) continue;
    section.patterns[i].place = static_cast<Offset>(out.bytes().size());
    out.fixed_at(places[i], section.patterns[i].place);
    out.raw(local[i]);
  }
  const auto bytes = std::span(out.bytes());
  out.fixed_at(hash_at, hash_of(bytes.subspan(section_front)));
  return std::move(out.bytes());
}

Section parse_section(std::span<const std::byte> bytes, Offset place) {
  Parser in(bytes);
  in.front(log_section_magic, "a section");
  const auto hash = in.fixed<std::uint64_t>();
  if (hash != hash_of(bytes.subspan(section_front)))
    damaged("the checksum of a section does not hold");
  Section section;
  section.rank = in.fixed<std::uint32_t>();
  for (const auto number : savings_numbers) section.savings.*number = in.number();
  section.patterns.resize(in.items(17));
  for (PatternRef& ref : section.patterns) {
    const bool local = in.fixed<std::uint8_t>() != 0;
    ref.place = in.fixed<Offset>();
    ref.bytes = in.fixed<std::uint32_t>();
    ref.check = in.fixed<std::uint32_t>();
    Offset end = 0;
    if (ref.place < 0 || !add_fits(ref.place, local ? place : 0, ref.place) ||
        !add_fits(ref.place, ref.bytes, end))
      damaged("a pattern's place");
  }
  section.entries.reserve(std::min<std::size_t>(in.left() / least_entry + 1, 1 << 20));
  const std::size_t n = in.items(2);
  Last last;
  for (std::size_t i = 0; i < n; ++i) {
    section.entries.push_back(parse_entry(in, last, section.patterns.size()));
    section.entries.back().rank = section.rank;
  }
  return section;
}

std::vector<std::byte> print_table(const Table& table) {
  Printer out;
  out.front(table_magic);
  out.fixed(static_cast<std::uint64_t>(table.sections.size()));
  out.fixed(table.epoch);
  out.fixed(std::uint64_t{0});
  for (const SectionPlace& section : table.sections) {
    out.fixed(section.place);
    out.fixed(section.bytes);
  }
  out.fixed_at(24, hash_of(std::span(out.bytes()).subspan(32)) ^ table.epoch);
  return std::move(out.bytes());
}

Count sections_in(std::span<const std::byte> beginning, Count block) {
  // Zeros mean that a flush got this space but was not completed.
  if (beginning.size() >= 32 && is_zero(beginning.first(32))) return -1;
  Parser in(beginning);
  in.front(table_magic, "the table of a block of metadata");
  const auto sections = in.fixed<std::uint64_t>();
  if (sections > static_cast<std::uint64_t>(block) / 16) damaged("a table's length");
  return static_cast<Count>(sections);
}

Table parse_table(std::span<const std::byte> bytes, Count block) {
  const Count n = sections_in(bytes, block);
  if (n < 0) return {};
  if (bytes.size() < static_cast<std::size_t>(table_bytes(n))) damaged("a table ends too early");
  Parser in(bytes.subspan(16));
  Table table;
  table.epoch = in.fixed<std::uint64_t>();
  const auto hash = in.fixed<std::uint64_t>();
  const auto list = bytes.subspan(32, static_cast<std::size_t>(16 * n));
  if (hash != (hash_of(list) ^ table.epoch)) damaged("the checksum of a table does not hold");
  for (Count i = 0; i < n; ++i) {
    SectionPlace section{in.fixed<Offset>(), in.fixed<Count>()};
    if (section.place < 0 || section.bytes < 0 || section.place > block ||
        section.bytes > block - section.place)
      damaged("a section lies outside its block");
    table.sections.push_back(section);
  }
  return table;
}

}  // namespace forebay::logged
