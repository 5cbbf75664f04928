#include "decomposed/format/decomposed_files.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/attempt.h"
#include "base/hash.h"
#include "base/stale_files.h"
#include "decomposed/format/decomposed_bytes.h"

namespace forebay::decomposed {

namespace {

using data_files::parse_slot;
using logged::Parser;
using logged::Printer;

constexpr std::uint32_t root_magic = 0x4642'4452, data_state_magic = state_word,
                        section_magic = 0x4642'4445;  // FBDR, FBDE
constexpr std::size_t data_hash_bytes = 8;            // of a section
/// Sections of the first version have no sorted parts. They are still written.
constexpr std::uint16_t sorted_version = 2;

/// Returns where the next one is expected.
Offset behind(const StoredPart& part) { return round_up(part.offset + part.bytes, part_unit); }
Offset behind(const Entry& e) {
  return e.parts.empty() ? e.offset + e.bytes : behind(e.parts.back());
}

}  // namespace

std::vector<std::byte> print_root(const Root& root) {
  Printer out;
  out.front(root_magic);
  out.fixed(root.epoch);
  out.fixed(root.section);
  out.fixed(root.bytes);
  return store::print_slot(out.bytes());
}

std::optional<Root> parse_root(std::span<const std::byte> bytes) {
  return parse_slot(bytes, root_magic, "a root", [](Parser& in) {
    Root root;
    root.epoch = in.fixed<std::uint64_t>();
    root.section = in.fixed<Offset>();
    root.bytes = in.fixed<Count>();
    return root;
  });
}

RootSums sums_of(std::uint32_t number, const std::optional<Root>& root) {
  if (!root) return {};
  Printer out;
  out.fixed(number);
  out.raw(print_root(*root));
  const std::uint64_t hash = hash_of(out.bytes());
  return {hash, hash * number};
}

std::optional<std::uint32_t> wrong_file(const RootSums& expected, const RootSums& found,
                                        std::uint32_t files) {
  const RootSums difference = expected - found;
  for (std::uint32_t n = 0; difference.plain != 0 && n < files; ++n)
    if (difference.plain * n == difference.weighted) return n;
  return std::nullopt;
}

std::vector<std::byte> print_state(const State& state) {
  Printer out;
  out.front(data_state_magic);
  out.fixed(state.id);
  out.fixed(state.epoch);
  out.fixed(state.through);
  out.fixed(state.records);
  out.fixed(state.files);
  out.fixed(state.roots.plain);
  out.fixed(state.roots.weighted);
  out.fixed(std::uint8_t{state.synced});
  return store::print_slot(out.bytes());
}

std::optional<State> parse_state(std::span<const std::byte> bytes) {
  return parse_slot(bytes, data_state_magic, "a slot of the state", [](Parser& in) {
    State state;
    state.id = in.fixed<std::uint64_t>();
    state.epoch = in.fixed<std::uint64_t>();
    state.through = in.fixed<std::uint64_t>();
    state.records = in.fixed<Count>();
    state.files = in.fixed<std::uint32_t>();
    state.roots.plain = in.fixed<std::uint64_t>();
    state.roots.weighted = in.fixed<std::uint64_t>();
    state.synced = in.fixed<std::uint8_t>() != 0;
    if (state.records < 0) logged::damaged("a number of records below 0");
    if (state.through > state.epoch) logged::damaged("roots of later commits would count");
    return state;
  });
}

namespace {

// Prints nothing if there are no inverses, so that files without any look as before.
void print_inverses(Printer& out, std::span<const StoredInverse> inverses) {
  if (inverses.empty()) return;
  out.number(inverses.size());
  Offset end = first_block;
  for (const StoredInverse& inverse : inverses) {
    out.number(inverse.map);
    out.number(inverse.blocks.size());
    for (const FileRange& block : inverse.blocks) {
      out.number(zigzag(block.offset - end));
      out.count(block.bytes);
      end = block.offset + block.bytes;
    }
    out.fixed(inverse.hash);
  }
}

bool any_sorted(const Section& section) {
  const auto is_sorted = [](const StoredPart& part) { return part.sorted; };
  return std::any_of(section.entries.begin(), section.entries.end(), [&](const Entry& e) {
    return std::any_of(e.parts.begin(), e.parts.end(), is_sorted);
  });
}

void print_parts(Printer& out, const Entry& e, bool tells_sorted) {
  out.number(e.parts.size());
  Offset expected = e.offset;
  for (const StoredPart& part : e.parts) {
    out.count(part.elements);
    out.number(zigzag(part.offset - expected));
    out.count(part.bytes);
    if (tells_sorted)
      out.number(2 * std::uint64_t{part.skipped} + (part.sorted ? 1 : 0));
    else
      out.number(part.skipped);
    out.fixed(part.hash);
    expected = behind(part);
  }
}

}  // namespace

std::vector<std::byte> print_section(const Section& section) {
  Printer out;
  const bool tells_sorted = any_sorted(section);
  if (tells_sorted)
    out.front(section_magic, sorted_version);
  else
    out.front(section_magic);
  out.number(section.epoch);
  out.count(section.previous);
  out.count(section.previous_bytes);
  out.number(section.previous_epoch);
  out.number(section.first_pattern);
  out.number(section.first_map);
  out.number(section.patterns.size());
  for (const StoredPattern& pattern : section.patterns) {
    out.fixed(pattern.key.low);
    out.fixed(pattern.key.high);
    out.count(pattern.elements);
    out.number(pattern.packed.size());
    out.raw(pattern.packed);
  }
  out.number(section.maps.size());
  for (const Map& map : section.maps) {
    out.number(map.size());
    Member before;
    for (const Member& member : map) {
      out.number(member.rank - before.rank);
      out.number(zigzag(std::int64_t{member.pattern} - before.pattern));
      before = member;
    }
  }
  out.number(section.entries.size());
  Entry first;
  first.offset = first_block;
  const Entry* before = &first;
  for (const Entry& e : section.entries) {
    out.number(zigzag(std::int64_t{e.var} - before->var));
    out.number(zigzag(e.record - before->record));
    out.number(e.order);
    out.number(zigzag(std::int64_t{e.map} - before->map));
    out.number(zigzag(e.offset - behind(*before)));
    out.count(e.bytes);
    out.number(section.epoch - e.epoch);
    print_parts(out, e, tells_sorted);
    before = &e;
  }
  print_inverses(out, section.inverses);
  out.fixed(hash_of(out.bytes()));
  return std::move(out.bytes());
}

namespace {

Map parse_map(Parser& in, std::size_t patterns) {
  Map map(in.items(2));
  std::int64_t rank = 0, pattern = 0;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::uint32_t further = number32(in, "a rank");
    if (i > 0 && further == 0) logged::damaged("a map has a rank twice");
    rank = moved(rank, zigzag(further), INT32_MAX, "a rank");
    pattern =
        moved(pattern, in.number(), static_cast<std::int64_t>(patterns) - 1, "number of a pattern");
    map[i] = {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(pattern)};
  }
  return map;
}

void check_lies_within(Offset offset, Count bytes, Offset file_size) {
  if (offset < first_block || bytes > file_size - offset)
    logged::damaged("a slab lies outside the file");
}

// The first part lies where the slab does. The index checks the size of the elements.
void parse_parts(Parser& in, Entry& e, Offset file_size, bool tells_sorted) {
  e.parts.resize(in.items(4 + sizeof(StoredPart::hash)));
  Offset expected = e.offset;
  for (StoredPart& part : e.parts) {
    part.elements = in.count();
    part.offset = moved(expected, in.number(), file_size, "a part's place");
    part.bytes = in.count();
    part.skipped = number32(in, "a filter mask");
    if (tells_sorted) {
      part.sorted = (part.skipped & 1U) != 0;
      part.skipped /= 2;
    }
    part.hash = in.fixed<std::uint64_t>();
    check_lies_within(part.offset, part.bytes, file_size);
    expected = behind(part);
  }
  if (!e.parts.empty() && e.parts.front().offset != e.offset)
    logged::damaged("a slab lies elsewhere than its parts");
}

void parse_entries(Parser& in, Section& section, Offset file_size, bool tells_sorted) {
  const std::int64_t maps = section.first_map + static_cast<std::int64_t>(section.maps.size());
  section.entries.resize(in.items(8));
  Entry first;
  first.offset = first_block;
  const Entry* before = &first;
  for (Entry& e : section.entries) {
    e.var = static_cast<std::int32_t>(moved(before->var, in.number(), INT32_MAX, "a variable"));
    e.record = moved(before->record, in.number(), INT64_MAX, "a record");
    e.order = number32(in, "a turn");
    e.map =
        static_cast<std::uint32_t>(moved(before->map, in.number(), maps - 1, "number of a map"));
    e.offset = moved(behind(*before), in.number(), file_size, "a slab's place");
    e.bytes = in.count();
    const std::uint64_t age = in.number();
    if (age > section.epoch) logged::damaged("an entry is older than the file");
    e.epoch = section.epoch - age;
    parse_parts(in, e, file_size, tells_sorted);
    check_lies_within(e.offset, e.parts.empty() ? e.bytes : 0, file_size);
    before = &e;
  }
}

void parse_inverses(Parser& in, Section& section, Offset file_size) {
  if (in.left() == 0) return;
  const std::size_t maps = section.first_map + section.maps.size();
  section.inverses.resize(in.items(11));
  Offset end = first_block;
  for (StoredInverse& inverse : section.inverses) {
    inverse.map = number32(in, "number of a map");
    if (inverse.map >= maps) logged::damaged("an inverse map of no map");
    inverse.blocks.resize(in.items(2));
    for (FileRange& block : inverse.blocks) {
      block.offset = moved(end, in.number(), file_size, "an inverse map's place");
      block.bytes = in.count();
      if (block.offset < first_block || block.bytes > file_size - block.offset)
        logged::damaged("an inverse map lies outside the file");
      end = block.offset + block.bytes;
    }
    if (inverse.blocks.empty()) logged::damaged("an inverse map without a directory");
    inverse.hash = in.fixed<std::uint64_t>();
  }
}

}  // namespace

Section parse_section(std::span<const std::byte> bytes, Offset file_size) {
  constexpr std::size_t least = 8 + 8 + data_hash_bytes;
  if (bytes.size() < least) damaged("a section ends too early");
  const auto front = bytes.first(bytes.size() - data_hash_bytes);
  if (load_be<std::uint64_t>(bytes.data() + front.size()) != hash_of(front))
    damaged("wrong checksum of a section");
  return parsing("a section", [&] {
    Parser in(front);
    const bool tells_sorted = in.front(section_magic, "it", sorted_version) == sorted_version;
    Section section;
    section.epoch = in.number();
    section.previous = in.count();
    section.previous_bytes = in.count();
    section.previous_epoch = in.number();
    section.first_pattern = number32(in, "a number of patterns");
    section.first_map = number32(in, "a number of maps");
    section.patterns.resize(in.items(18));
    for (StoredPattern& pattern : section.patterns) {
      pattern.key.low = in.fixed<std::uint64_t>();
      pattern.key.high = in.fixed<std::uint64_t>();
      pattern.elements = in.count();
      const auto packed = in.take(in.items(1));
      pattern.packed.assign(packed.begin(), packed.end());
    }
    section.maps.resize(in.items(1));
    for (Map& map : section.maps)
      map = parse_map(in, section.first_pattern + section.patterns.size());
    parse_entries(in, section, file_size, tells_sorted);
    parse_inverses(in, section, file_size);
    if (in.left() != 0) logged::damaged("it is longer than it says");
    return section;
  });
}

}  // namespace forebay::decomposed
