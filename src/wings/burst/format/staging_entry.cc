// Prints and parses the entries. The structures are written as they lie in memory.
#include "burst/format/staging_entry.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/varint.h"

namespace forebay::staging {
namespace {

using journal::append_entry, journal::Beginning, journal::seal_entry, journal::throw_impossible;

constexpr std::size_t front_bytes = least_entry;
enum Kind : std::uint8_t { write_subarray = 1, write_pieces = 2, pieces_kind = 3 };
enum Flag : std::uint8_t { external_flag = 1, continues_flag = 2, continued_flag = 4 };

struct WriteFront {
  std::int32_t var, type;
  std::int64_t last_record, data, bytes;
  std::uint64_t hash;
};
static_assert(sizeof(WriteFront) == 40);

struct SubarrayFront {
  std::uint32_t ndims, strided;
};

struct PiecesFront {
  std::uint64_t runs;
  std::int64_t bytes;
  std::uint32_t shift, zero;  ///< offsets and lengths are in units of 2^shift bytes
};
static_assert(sizeof(PiecesFront) == 24);

constexpr std::size_t write_bytes = front_bytes + sizeof(WriteFront);
constexpr std::uint32_t most_shift = 3;

template <typename T>
std::byte* put(std::byte* at, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

/// Returns why a log cannot hold this write; nothing if it can. Printing and parsing use this one
/// rule, so what was written can be read back.
std::optional<std::string> fault_of(const Write& write, std::uint64_t sequence) {
  const auto text = [](auto n) { return std::to_string(n); };
  Offset end = 0;
  if (write.var < 0 || !is_valid(write.type) || write.last_record < 0)
    return "variable " + text(write.var) + ", type " + text(static_cast<int>(write.type)) +
           ", record " + text(write.last_record);
  if (write.data < data_begin || write.bytes < 0 || !add_fits(write.data, write.bytes, end))
    return text(write.bytes) + " bytes of data at byte " + text(write.data);
  if (const auto* named = std::get_if<std::uint64_t>(&write.selection)) {
    if (*named < sequence && write.bytes % size_of(write.type) == 0) return std::nullopt;
    return "it names the pieces of entry " + text(*named) + " for " + text(write.bytes) + " bytes";
  }
  const auto& box = std::get<Subarray>(write.selection);
  Count elements = 1;
  bool fits = true, empty = false;
  for (std::size_t d = 0; d < box.start.size(); ++d) {
    const Count start = box.start[d], count = box.count[d];
    const Count stride = box.stride.empty() ? 1 : box.stride[d];
    if (start < 0 || count < 0 || stride < 1)
      return "dimension " + text(d) + " has start " + text(start) + ", count " + text(count) +
             ", stride " + text(stride);
    Count last = 0;
    fits &=
        multiply_fits(std::max<Count>(count - 1, 0), stride, last) && add_fits(last, start, last);
    empty |= count == 0;
    fits &= empty || multiply_fits(elements, count, elements);
  }
  if (empty) elements = 0;
  Count expected = 0;
  if (!fits || !multiply_fits(elements, size_of(write.type), expected) || expected != write.bytes)
    return "its subarray has another size than its " + text(write.bytes) + " bytes of data";
  return std::nullopt;
}

void parse_subarray(std::span<const std::byte> bytes, std::uint64_t sequence, Subarray& box) {
  if (bytes.size() < sizeof(SubarrayFront)) throw_impossible(sequence, "it is too short");
  const auto front = load_native<SubarrayFront>(bytes.data());
  const std::size_t lists = front.strided != 0 ? 3 : 2, n = front.ndims;
  if (front.strided > 1 || bytes.size() != sizeof front + lists * n * sizeof(Count))
    throw_impossible(sequence, "a subarray of " + std::to_string(n) + " dimensions in " +
                                   std::to_string(bytes.size()) + " bytes");
  const std::byte* at = bytes.data() + sizeof front;
  const auto fill = [&](Counts& list) {
    list.resize(n);
    if (n > 0) std::memcpy(list.data(), at, n * sizeof(Count));
    at += n * sizeof(Count);
  };
  fill(box.start);
  fill(box.count);
  box.stride.clear();
  if (lists == 3) fill(box.stride);
}

void parse_write(std::span<const std::byte> bytes, const Beginning& front, Write& write) {
  if (bytes.size() < write_bytes) throw_impossible(front.sequence, "it is too short");
  const auto what = load_native<WriteFront>(bytes.data() + front_bytes);
  write.var = what.var;
  write.type = static_cast<Type>(what.type);
  write.external = (front.flags & external_flag) != 0;
  write.continues = (front.flags & continues_flag) != 0;
  write.continued = (front.flags & continued_flag) != 0;
  write.last_record = what.last_record;
  write.data = what.data;
  write.bytes = what.bytes;
  write.hash = what.hash;
  const auto rest = bytes.subspan(write_bytes);
  if (front.kind == write_subarray) {
    if (!std::holds_alternative<Subarray>(write.selection)) write.selection = Subarray{};
    parse_subarray(rest, front.sequence, std::get<Subarray>(write.selection));
  } else {
    if (rest.size() != sizeof(std::uint64_t))
      throw_impossible(front.sequence, "it has a wrong length");
    write.selection = load_native<std::uint64_t>(rest.data());
  }
  if (const auto fault = fault_of(write, front.sequence)) throw_impossible(front.sequence, *fault);
}

void parse_pieces(std::span<const std::byte> bytes, std::uint64_t sequence, Pieces& pieces) {
  if (bytes.size() < sizeof(PiecesFront)) throw_impossible(sequence, "it is too short");
  const auto front = load_native<PiecesFront>(bytes.data());
  const std::byte *at = bytes.data() + sizeof front, *const end = bytes.data() + bytes.size();
  // A run takes two bytes or more, so memory is bounded by the entry's size.
  if (front.runs > static_cast<std::uint64_t>(end - at) / 2 || front.shift > most_shift)
    throw_impossible(sequence, std::to_string(front.runs) + " pieces in " +
                                   std::to_string(bytes.size()) + " bytes");
  pieces.runs.resize(front.runs);
  const std::uint64_t most = static_cast<std::uint64_t>(INT64_MAX) >> front.shift;
  Offset where = 0;
  Count sum = 0;
  for (Run& run : pieces.runs) {
    std::uint64_t gap = 0, length = 0;
    bool good = get_varint(at, end, gap) && get_varint(at, end, length);
    good = good && gap <= most && length <= most && length > 0;
    run.length = good ? static_cast<Count>(length << front.shift) : 0;
    good = good && add_fits(where, static_cast<Count>(gap << front.shift), run.offset) &&
           add_fits(run.offset, run.length, where) && add_fits(sum, run.length, sum);
    if (!good) throw_impossible(sequence, "its pieces make no sense");
  }
  if (sum != front.bytes || end - at >= 8)
    throw_impossible(sequence, "its pieces have another size than it says");
  pieces.bytes = sum;
}

}  // namespace

void print_entry(const Write& write, std::uint64_t sequence, std::uint64_t session,
                 std::vector<std::byte>& out, std::uint32_t failed) {
  const auto* box = std::get_if<Subarray>(&write.selection);
  std::size_t rest = sizeof(std::uint64_t);
  if (box != nullptr) {
    const std::size_t n = box->start.size();
    if (box->count.size() != n || (!box->stride.empty() && box->stride.size() != n))
      throw Error(Errc::einternal, "a subarray whose start, count and stride differ in length");
    rest = sizeof(SubarrayFront) + (n + n + box->stride.size()) * sizeof(Count);
  }
  if (const auto fault = fault_of(write, sequence))
    throw Error(Errc::einternal, "a write that no log can hold: " + *fault);
  const auto flags = static_cast<std::uint8_t>((write.external ? external_flag : 0) |
                                               (write.continues ? continues_flag : 0) |
                                               (write.continued ? continued_flag : 0));
  const auto kind = box != nullptr ? write_subarray : write_pieces;
  const auto entry = append_entry({sequence, failed, kind, flags}, sizeof(WriteFront) + rest, out);
  std::byte* at = entry.data() + front_bytes;
  at = put(at, WriteFront{write.var, static_cast<std::int32_t>(write.type), write.last_record,
                          write.data, write.bytes, write.hash});
  if (box == nullptr) {
    put(at, std::get<std::uint64_t>(write.selection));
  } else {
    at = put(at, SubarrayFront{static_cast<std::uint32_t>(box->start.size()),
                               box->stride.empty() ? 0U : 1U});
    for (const auto* list : {&box->start, &box->count, &box->stride}) {
      if (!list->empty()) std::memcpy(at, list->data(), list->size() * sizeof(Count));
      at += list->size() * sizeof(Count);
    }
  }
  seal_entry(entry, session);
}

void print_entry(const Pieces& pieces, std::uint64_t sequence, std::uint64_t session,
                 std::vector<std::byte>& out, std::uint32_t failed) {
  Offset end = 0;
  Count sum = 0;
  std::uint64_t bits = std::uint64_t{1} << most_shift;
  for (const Run& run : pieces.runs) {
    bits |= static_cast<std::uint64_t>(run.offset | run.length);
    if (run.offset < end || run.length <= 0 || !add_fits(sum, run.length, sum) ||
        !add_fits(run.offset, run.length, end))
      throw Error(Errc::einternal, "pieces that are empty, overlap or are in no order");
  }
  if (sum != pieces.bytes) throw Error(Errc::einternal, "pieces of another size than they say");
  const auto shift = static_cast<std::uint32_t>(std::countr_zero(bits));

  const auto for_each_number = [&](auto&& use) {
    Offset from = 0;
    for (const Run& run : pieces.runs) {
      use(static_cast<std::uint64_t>(run.offset - from) >> shift);
      use(static_cast<std::uint64_t>(run.length) >> shift);
      from = run.offset + run.length;
    }
  };
  std::size_t length = sizeof(PiecesFront);
  for_each_number([&](std::uint64_t n) { length += varint_bytes(n); });
  const auto entry = append_entry({sequence, failed, pieces_kind}, length, out);
  std::byte* at = entry.data() + front_bytes;
  at = put(at, PiecesFront{pieces.runs.size(), pieces.bytes, shift, 0});
  for_each_number([&](std::uint64_t n) { at = put_varint(at, n); });
  seal_entry(entry, session);
}

void parse_whole_entry(std::span<const std::byte> bytes, Entry& into) {
  const auto front = journal::entry_beginning(bytes).value_or(Beginning{});
  into.sequence = front.sequence;
  into.failed = front.failed;
  if (front.kind == pieces_kind) {
    if (!std::holds_alternative<Pieces>(into.what)) into.what = Pieces{};
    parse_pieces(bytes.subspan(front_bytes), front.sequence, std::get<Pieces>(into.what));
  } else if (front.kind == write_subarray || front.kind == write_pieces) {
    if (!std::holds_alternative<Write>(into.what)) into.what = Write{};
    parse_write(bytes, front, std::get<Write>(into.what));
  } else {
    throw_impossible(front.sequence, "it is of no kind");
  }
}

bool parse_entry(std::span<const std::byte> bytes, std::uint64_t session, Entry& into) {
  if (!journal::is_whole(bytes, session)) return false;
  parse_whole_entry(bytes, into);
  return true;
}

std::optional<Entry> parse_entry(std::span<const std::byte> bytes, std::uint64_t session) {
  Entry entry;
  if (!parse_entry(bytes, session, entry)) return std::nullopt;
  return entry;
}

}  // namespace forebay::staging
