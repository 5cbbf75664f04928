#include "hdf5/format/log_index.h"

#include <algorithm>

#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::logged {
namespace {

constexpr std::uint32_t index_magic = 0x46424c49;  // "FBLI"
constexpr std::uint16_t index_version = 2;  // 1: lists without pages, before the first release
constexpr std::size_t entry_bytes = 69, fixed_numbers = 10, place_bytes = 40;
constexpr std::uint32_t page_writes = 256, most_page_writes = 4096;

/// Calls f with the numbers that say where an entry's data and pattern are, in their order in the
/// file.
template <typename E, typename R, typename F>
void each_place(E& entry, R& ref, F&& f) {
  f(entry.base), f(entry.file), f(entry.data), f(entry.stored), f(entry.hash), f(entry.filter_mask);
  f(ref.place), f(ref.bytes), f(ref.check);
}

void print_entry(const Entry& entry, const PatternRef& ref, Printer& out) {
  out.fixed(entry.epoch | std::uint64_t{entry.turn} << 32);
  out.fixed(entry.rank);
  out.fixed(
      static_cast<std::uint8_t>(static_cast<unsigned>(entry.kind) | (entry.filtered ? 4U : 0U)));
  each_place(entry, ref, [&](auto number) { out.fixed(number); });
}

void parse_entry(Parser& in, Entry& entry, PatternRef& ref) {
  const auto order = in.fixed<std::uint64_t>();
  entry.epoch = order & largest_epoch;
  entry.turn = static_cast<std::uint32_t>(order >> 32);
  entry.rank = in.fixed<std::uint32_t>();
  const auto kind = in.fixed<std::uint8_t>();
  if ((kind & 3) > 2 || kind > 7) damaged("an entry of kind " + std::to_string(kind));
  entry.kind = static_cast<Kind>(kind & 3);
  entry.filtered = (kind & 4) != 0;
  each_place(entry, ref,
             [&](auto& number) { number = in.fixed<std::decay_t<decltype(number)>>(); });
  Offset end = 0;
  if (entry.base < 0 || entry.data < 0 || entry.stored < 0 || ref.place < 0 ||
      !add_fits(entry.data, entry.stored, end) || !add_fits(ref.place, ref.bytes, end))
    damaged("an entry's place");
}

}  // namespace

std::size_t ListHead::record_bytes() const { return 4 + 8 * box_numbers() + entry_bytes; }

Count ListHead::page_bytes(std::size_t page) const {
  const std::size_t before = page * page_writes;
  return static_cast<Count>(record_bytes() * std::min<std::size_t>(page_writes, writes - before));
}

Offset ListHead::page_place(std::size_t page) const {
  return bytes + static_cast<Offset>(page * page_writes * record_bytes());
}

Count ListHead::memory() const {
  return static_cast<Count>(sizeof *this + cuts.size() * sizeof(NumberedEntry) +
                            8 * (bounds.size() + hashes.size() + inner.size()));
}

namespace {

/// Prints the writes [from, to) of `order`. Widens `bounds` to their boxes.
std::vector<std::byte> print_page(const EntryList& list, std::size_t from, std::size_t to,
                                  Count* bounds) {
  Printer out;
  const std::size_t numbers = list.box_numbers();
  for (std::size_t i = from; i < to; ++i) {
    const std::uint32_t n = list.order[i];
    out.fixed(n);
    for (std::size_t k = 0; k < numbers; ++k) {
      const Count number = list.boxes[i * numbers + k];
      out.fixed(number);
      const bool first = i == from;
      if (first || (k % 2 == 0 ? number < bounds[k] : number > bounds[k])) bounds[k] = number;
    }
    print_entry(list.entries[n], list.refs[n], out);
  }
  return std::move(out.bytes());
}

/// Parses low and high of each dimension.
void parse_box(Parser& in, std::size_t numbers, std::vector<Count>& boxes) {
  for (std::size_t k = 0; k < numbers; k += 2) {
    const auto low = in.fixed<Count>(), high = in.fixed<Count>();
    if (low < 0 || high <= low) damaged("an index's box");
    boxes.insert(boxes.end(), {low, high});
  }
}

NumberedEntry parse_numbered(Parser& in, std::uint32_t number, std::size_t entries) {
  NumberedEntry one;
  one.number = number;
  parse_entry(in, one.entry, one.ref);
  if (number >= entries) damaged("a list's order");
  return one;
}

}  // namespace

std::vector<std::byte> print_list(const EntryList& list) {
  const std::size_t numbers = list.box_numbers(), writes = list.order.size();
  const std::size_t pages = (writes + page_writes - 1) / page_writes;
  Count stored = 0;
  for (const Entry& entry : list.entries) stored += entry.stored;
  Printer out;
  out.number(std::max<std::uint32_t>(list.ndims, 1));
  out.number(list.by_box ? 1 : 0);
  out.number(writes);
  out.number(page_writes);
  out.number(list.entries.size() - writes);
  out.count(stored);
  if (!list.by_box)
    for (std::size_t d = 1; d < list.ndims; ++d)
      out.count(d <= list.inner.size() ? list.inner[d - 1] : 1);
  for (std::uint32_t n = 0; n < list.entries.size(); ++n) {
    if (list.entries[n].kind == Kind::write) continue;
    out.fixed(n);
    print_entry(list.entries[n], list.refs[n], out);
  }
  std::vector<std::byte> printed;
  for (std::size_t page = 0; page < pages; ++page) {
    std::vector<Count> bounds(numbers);
    const auto records = print_page(list, page * page_writes,
                                    std::min(writes, (page + 1) * page_writes), bounds.data());
    for (const Count number : bounds) out.fixed(number);
    out.fixed(hash_of(records));
    printed.insert(printed.end(), records.begin(), records.end());
  }
  out.raw(printed);
  return std::move(out.bytes());
}

ListHead parse_head(std::span<const std::byte> beginning, Count list) {
  Parser in(beginning);
  ListHead head;
  const std::uint64_t ndims = in.number(), by_box = in.number();
  if (ndims < 1 || ndims > 32 || by_box > 1 || (by_box == 1 && ndims == 1))
    damaged("a list's dimensions");
  head.ndims = static_cast<std::uint32_t>(ndims);
  head.by_box = by_box == 1;
  const std::uint64_t writes = in.number(), of_page = in.number();
  const std::size_t cuts = in.items(4 + entry_bytes);
  if (writes > UINT32_MAX - cuts || of_page < 1 || of_page > most_page_writes)
    damaged("a list's length");
  head.writes = static_cast<std::uint32_t>(writes);
  head.page_writes = static_cast<std::uint32_t>(of_page);
  head.stored = in.count();
  Count product = 1;
  for (std::size_t d = 1; d < head.ndims && !head.by_box; ++d) {
    head.inner.push_back(in.count());
    if (head.inner.back() < 1 || !multiply_fits(product, head.inner.back(), product))
      damaged("a list's extents");
  }
  for (std::size_t i = 0; i < cuts; ++i) {
    const auto number = in.fixed<std::uint32_t>();
    if (!head.cuts.empty() && number <= head.cuts.back().number) damaged("a list's order");
    head.cuts.push_back(parse_numbered(in, number, writes + cuts));
    if (head.cuts.back().entry.kind == Kind::write) damaged("a list's order");
  }
  const std::size_t pages = (writes + of_page - 1) / of_page;
  if (in.left() / (8 * head.box_numbers() + 8) < pages) damaged("a list is longer than its bytes");
  for (std::size_t i = 0; i < pages; ++i) {
    parse_box(in, head.box_numbers(), head.bounds);
    head.hashes.push_back(in.fixed<std::uint64_t>());
  }
  head.bytes = static_cast<Count>(beginning.size() - in.left());
  if ((list - head.bytes) % static_cast<Count>(head.record_bytes()) != 0 ||
      (list - head.bytes) / static_cast<Count>(head.record_bytes()) != static_cast<Count>(writes))
    damaged("a list is longer than it says");
  return head;
}

NumberedEntry parse_record(const ListHead& head, std::span<const std::byte> record) {
  Parser in(record);
  const auto number = in.fixed<std::uint32_t>();
  in.take(8 * head.box_numbers());
  NumberedEntry one = parse_numbered(in, number, head.entries());
  if (one.entry.kind != Kind::write) damaged("an index's order");
  return one;
}

void find_in_page(const ListHead& head, std::span<const std::byte> page, const Count* box,
                  const std::function<void(std::span<const std::byte> record)>& use) {
  const std::size_t bytes = head.record_bytes(), numbers = head.box_numbers();
  Count its[2 * 32];
  for (std::size_t at = 0; at + bytes <= page.size(); at += bytes) {
    for (std::size_t k = 0; k < numbers; ++k) its[k] = load_be<Count>(&page[at + 4 + 8 * k]);
    for (std::size_t k = 0; k < numbers; k += 2)
      if (its[k] < 0 || its[k + 1] <= its[k]) damaged("an index's box");
    if (boxes_meet(its, box, head.box_dims())) use(page.subspan(at, bytes));
  }
}

EntryList parse_list(std::span<const std::byte> bytes) {
  const ListHead head = parse_head(bytes, static_cast<Count>(bytes.size()));
  EntryList list;
  static_cast<ListShape&>(list) = head;
  list.entries.resize(head.entries());
  list.refs.resize(head.entries());
  std::vector<bool> there(head.entries());
  const auto add = [&](const NumberedEntry& one) {
    if (there[one.number]) damaged("a list's order");
    there[one.number] = true;
    list.entries[one.number] = one.entry;
    list.refs[one.number] = one.ref;
  };
  for (const NumberedEntry& cut : head.cuts) add(cut);
  for (std::size_t page = 0; page < head.hashes.size(); ++page) {
    const auto records = bytes.subspan(static_cast<std::size_t>(head.page_place(page)),
                                       static_cast<std::size_t>(head.page_bytes(page)));
    if (hash_of(records) != head.hashes[page]) damaged("the checksum of a page does not hold");
    for (std::size_t at = 0; at < records.size(); at += head.record_bytes()) {
      const auto record = records.subspan(at, head.record_bytes());
      const NumberedEntry one = parse_record(head, record);
      add(one);
      list.order.push_back(one.number);
      Parser in(record.subspan(4));
      parse_box(in, head.box_numbers(), list.boxes);
    }
  }
  return list;
}

// The front: magic u32 | version u16 | order u8 | 0 u8 | datasets u64 | hash u64 of what follows.
Count directory_bytes(std::size_t datasets) {
  return static_cast<Count>(static_cast<std::size_t>(index_front_bytes) + 8 * fixed_numbers +
                            place_bytes * datasets);
}

std::vector<std::byte> print_directory(const IndexDirectory& directory) {
  Printer out;
  out.front(index_magic, index_version);
  out.fixed(static_cast<std::uint64_t>(directory.places.size()));
  out.fixed(std::uint64_t{0});
  for (const std::uint64_t n : {directory.blocks, directory.epoch, directory.entries}) out.fixed(n);
  for (const auto number : savings_numbers) out.fixed(directory.savings.*number);
  for (const IndexPlace& place : directory.places) {
    out.fixed(place.dataset);
    out.fixed(place.place);
    out.fixed(place.bytes);
    out.fixed(place.head);
    out.fixed(place.hash);
  }
  out.fixed_at(16, hash_of(std::span(out.bytes()).subspan(index_front_bytes)));
  return std::move(out.bytes());
}

Count directory_bytes_of(std::span<const std::byte> front, Count index) {
  Parser in(front);
  in.front(index_magic, "the index", index_version);
  const auto datasets = in.fixed<std::uint64_t>();
  if (datasets > static_cast<std::uint64_t>(index) / place_bytes ||
      directory_bytes(datasets) > index)
    damaged("the index's directory is longer than the index");
  return directory_bytes(datasets);
}

bool is_without_pages(std::span<const std::byte> front) {
  return Parser(front).front(index_magic, "the index", index_version) < index_version;
}

IndexDirectory parse_directory(std::span<const std::byte> bytes, Count index) {
  if (static_cast<Count>(bytes.size()) != directory_bytes_of(bytes, index))
    damaged("the index's directory");
  Parser in(bytes.subspan(16));
  if (in.fixed<std::uint64_t>() != hash_of(bytes.subspan(index_front_bytes)))
    damaged("the checksum of the index's directory does not hold");
  IndexDirectory directory;
  for (std::uint64_t* n : {&directory.blocks, &directory.epoch, &directory.entries})
    *n = in.fixed<std::uint64_t>();
  for (const auto number : savings_numbers) directory.savings.*number = in.fixed<std::uint64_t>();
  while (in.left() >= place_bytes) {
    IndexPlace place;
    place.dataset = in.fixed<std::uint64_t>();
    place.place = in.fixed<Offset>();
    place.bytes = in.fixed<Count>();
    place.head = in.fixed<Count>();
    place.hash = in.fixed<std::uint64_t>();
    if (place.place < 0 || place.bytes < 0 || place.place > index ||
        place.bytes > index - place.place || place.head < 0 || place.head > place.bytes)
      damaged("a list lies outside the index");
    if (!directory.places.empty() && directory.places.back().dataset >= place.dataset)
      damaged("the index's directory is in no order");
    directory.places.push_back(place);
  }
  return directory;
}

}  // namespace forebay::logged
