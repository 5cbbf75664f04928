#include "hdf5/format/log_index.h"

#include <algorithm>

#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::logged {
namespace {

constexpr std::uint32_t index_magic = 0x46424c49;  // "FBLI"
constexpr std::size_t entry_bytes = 69, fixed_numbers = 10, place_bytes = 32;

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

std::vector<std::byte> print_list(const EntryList& list) {
  Printer out;
  out.number(std::max<std::uint32_t>(list.ndims, 1));
  out.number(list.by_box ? 1 : 0);
  out.number(list.entries.size());
  out.number(list.order.size());
  if (!list.by_box)
    for (std::size_t d = 1; d < list.ndims; ++d)
      out.count(d <= list.inner.size() ? list.inner[d - 1] : 1);
  for (std::size_t i = 0; i < list.entries.size(); ++i)
    print_entry(list.entries[i], list.refs[i], out);
  for (const std::uint32_t n : list.order) out.fixed(n);
  for (const Count n : list.boxes) out.fixed(n);
  return std::move(out.bytes());
}

EntryList parse_list(std::span<const std::byte> bytes) {
  Parser in(bytes);
  EntryList list;
  const std::uint64_t ndims = in.number(), by_box = in.number();
  if (ndims < 1 || ndims > 32 || by_box > 1 || (by_box == 1 && ndims == 1))
    damaged("a list's dimensions");
  list.ndims = static_cast<std::uint32_t>(ndims);
  list.by_box = by_box == 1;
  const std::size_t entries = in.items(entry_bytes), ordered = in.items(4);
  if (ordered > entries || entries > UINT32_MAX) damaged("a list's length");
  Count product = 1;
  for (std::size_t d = 1; d < list.ndims && !list.by_box; ++d) {
    list.inner.push_back(in.count());
    if (list.inner.back() < 1 || !multiply_fits(product, list.inner.back(), product))
      damaged("a list's extents");
  }
  list.entries.resize(entries);
  list.refs.resize(entries);
  for (std::size_t i = 0; i < entries; ++i) parse_entry(in, list.entries[i], list.refs[i]);
  const std::size_t numbers = 2 * list.box_dims();
  if (in.left() / (4 + 8 * numbers) < ordered) damaged("a list is longer than its bytes");
  list.order.resize(ordered);
  for (std::uint32_t& n : list.order) {
    n = in.fixed<std::uint32_t>();
    if (n >= entries) damaged("a list's order");
  }
  list.boxes.resize(ordered * numbers);
  for (Count& n : list.boxes) n = in.fixed<Count>();
  if (in.left() != 0) damaged("a list is longer than it says");
  return list;
}

// The front: magic u32 | version u16 | order u8 | 0 u8 | datasets u64 | hash u64 of what follows.
Count directory_bytes(std::size_t datasets) {
  return static_cast<Count>(static_cast<std::size_t>(index_front_bytes) + 8 * fixed_numbers +
                            place_bytes * datasets);
}

std::vector<std::byte> print_directory(const IndexDirectory& directory) {
  Printer out;
  out.front(index_magic);
  out.fixed(static_cast<std::uint64_t>(directory.places.size()));
  out.fixed(std::uint64_t{0});
  for (const std::uint64_t n : {directory.blocks, directory.epoch, directory.entries}) out.fixed(n);
  for (const auto number : savings_numbers) out.fixed(directory.savings.*number);
  for (const IndexPlace& place : directory.places) {
    out.fixed(place.dataset);
    out.fixed(place.place);
    out.fixed(place.bytes);
    out.fixed(place.hash);
  }
  out.fixed_at(16, hash_of(std::span(out.bytes()).subspan(index_front_bytes)));
  return std::move(out.bytes());
}

Count directory_bytes_of(std::span<const std::byte> front, Count index) {
  Parser in(front);
  in.front(index_magic, "the index");
  const auto datasets = in.fixed<std::uint64_t>();
  if (datasets > static_cast<std::uint64_t>(index) / place_bytes ||
      directory_bytes(datasets) > index)
    damaged("the index's directory is longer than the index");
  return directory_bytes(datasets);
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
    place.hash = in.fixed<std::uint64_t>();
    if (place.place < 0 || place.bytes < 0 || place.place > index ||
        place.bytes > index - place.place)
      damaged("a list lies outside the index");
    if (!directory.places.empty() && directory.places.back().dataset >= place.dataset)
      damaged("the index's directory is in no order");
    directory.places.push_back(place);
  }
  return directory;
}

}  // namespace forebay::logged
