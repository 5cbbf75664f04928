#include "checkpoints/format/checkpoint.h"

#include <algorithm>
#include <limits>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::checkpoint {

namespace {

using logged::Parser;
using logged::Printer;

constexpr std::uint32_t header_word = 0x4642'434a;  // "FBCJ"
constexpr std::uint32_t entry_word = 0x4642'4345;   // "FBCE"
constexpr std::uint16_t version = 1;
constexpr std::uint8_t native = native_is_big_endian ? 'B' : 'L';
constexpr std::size_t front_bytes = 8, hash_bytes = 8;
/// The limit for the bytes of a state. It keeps sums within 63 bits.
constexpr Count most_bytes = std::numeric_limits<Count>::max() / 4;

/// States are counted from 1, so that no later state has a lower number.
constexpr std::uint64_t most_serial = std::numeric_limits<std::uint64_t>::max() / 2;

enum class Word : std::uint8_t { record = 1, dropped = 2 };

int width_of(Type type) { return type == Type::none ? 1 : size_of(type); }

std::uint64_t hash_within(std::uint64_t session, std::span<const std::byte> bytes) {
  std::byte front[sizeof session];
  store_be(front, session);
  RunningHash hash;
  hash.add(front);
  hash.add(bytes);
  return hash.value();
}

void print(const Part& part, Printer& to) {
  to.count(std::ssize(part.name));
  to.raw(std::as_bytes(std::span(part.name)));
  to.fixed(static_cast<std::uint8_t>(part.type));
  to.count(std::ssize(part.shape));
  for (const Count length : part.shape) to.count(length);
  to.count(std::ssize(part.codec));
  to.raw(std::as_bytes(std::span(part.codec)));
  to.count(std::ssize(part.pieces));
  for (const Piece& piece : part.pieces) {
    to.count(piece.bytes);
    to.number(piece.skipped);
    to.fixed(piece.hash);
  }
}

std::string parse_text(Parser& from) {
  const auto bytes = from.take(from.items(1));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require(bool holds, const char* what) {
  if (!holds) logged::damaged(what);
}

/// Throws if the shape has so many bytes that sums would overflow.
void check_shape(const Part& part) {
  Count bytes = width_of(part.type);
  require(bytes > 0, "a type that there is not");
  for (const Count length : part.shape)
    require(multiply_fits(bytes, length, bytes) && bytes <= most_bytes, "too large a shape");
}

Part parse_part(Parser& from) {
  Part part;
  part.name = parse_text(from);
  part.type = static_cast<Type>(from.fixed<std::uint8_t>());
  part.shape.resize(from.items(1));
  require(part.shape.size() <= most_dimensions, "too many dimensions");
  for (Count& length : part.shape) length = from.count();
  check_shape(part);
  part.codec = parse_text(from);
  require(part.type != Type::none || part.codec == "none", "bytes with a codec");
  part.pieces.resize(from.items(2 + hash_bytes));
  const Cut cut = cut_of(part);
  // Earlier versions wrote one piece.
  const bool in_one = part.codec == "none" && part.pieces.size() == 1;
  require(std::ssize(part.pieces) == cut.pieces || in_one, "pieces that the shape has not");
  for (std::size_t i = 0; i < part.pieces.size(); ++i) {
    Piece& piece = part.pieces[i];
    piece.bytes = from.count();
    const Count whole =
        in_one ? part.raw_bytes() : bytes_of_piece(part, cut, static_cast<Count>(i));
    require(piece.bytes <= whole, "a piece larger than what it stands for");
    const std::uint64_t skipped = from.number();
    require(skipped <= UINT32_MAX, "a mask of stages that is too long");
    piece.skipped = static_cast<std::uint32_t>(skipped);
    piece.hash = from.fixed<std::uint64_t>();
  }
  require(part.codec != "none" || part.stored_bytes() == part.raw_bytes(),
          "values of another size than they have");
  return part;
}

Record parse_record(Parser& from) {
  Record record;
  const auto kind = from.fixed<std::uint8_t>();
  require(kind <= static_cast<std::uint8_t>(Kind::adjoint_parity),
          "a kind of state that there is not");
  record.id = {static_cast<Kind>(kind), from.count()};
  record.serial = from.number();
  require(record.serial <= most_serial, "a number that no state has");
  record.place = from.count();
  const std::size_t parts = from.items(4);
  for (std::size_t i = 0; i < parts; ++i) {
    record.parts.push_back(parse_part(from));
    record.bytes += record.parts.back().stored_bytes();
    require(record.bytes <= most_bytes, "too large a state");
  }
  require(record.place <= most_bytes, "a place too far away");
  return record;
}

Entry parse_body(std::span<const std::byte> body) {
  Parser from(body);
  switch (static_cast<Word>(from.fixed<std::uint8_t>())) {
    case Word::record:
      return parse_record(from);
    case Word::dropped:
      return Dropped{from.number()};
  }
  logged::damaged("an entry of a kind that there is not");
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"state", "adjoint", "parity", "adjoint parity"};
  return names[static_cast<std::size_t>(kind)];
}

std::string words_for(const StateId& id) {
  const bool of_adjoint = covered_by(id.kind) == Kind::adjoint || id.kind == Kind::adjoint;
  return (is_parity(id.kind) ? "the parity of " : "") +
         std::string(of_adjoint ? "adjoint state " : "state ") + std::to_string(id.step);
}

Count Part::raw_bytes() const {
  Count bytes = width_of(type);
  for (const Count length : shape) bytes *= length;
  return bytes;
}

Count Part::stored_bytes() const {
  Count bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

Cut cut_of(const Part& part) {
  const Count bytes = part.raw_bytes();
  if (bytes == 0) return {};
  if (part.codec == "none") return {(bytes - 1) / raw_piece_bytes + 1, 0, 1};
  if (part.shape.empty()) return {1, 0, 1};
  Cut cut;
  Count inner = width_of(part.type);  // bytes of one index of the axis
  cut.axis = part.shape.size() - 1;
  const auto block_fits = [&](Count index) {
    return index * std::min(block_rows, part.shape[cut.axis - 1]) <= most_piece_bytes;
  };
  while (cut.axis > 0 && block_fits(inner * part.shape[cut.axis])) inner *= part.shape[cut.axis--];
  const Count length = part.shape[cut.axis];
  const Count blocks = std::max<Count>(piece_bytes / inner / block_rows, 1);
  cut.rows = std::min(blocks * block_rows, length);
  cut.pieces = (length + cut.rows - 1) / cut.rows;
  for (std::size_t d = 0; d < cut.axis; ++d) cut.pieces *= part.shape[d];
  return cut;
}

std::vector<Count> shape_of_piece(const Part& part, const Cut& cut, Count piece) {
  if (part.shape.empty()) return {};
  std::vector<Count> shape(part.shape.begin() + static_cast<std::ptrdiff_t>(cut.axis),
                           part.shape.end());
  const Count along = (shape[0] + cut.rows - 1) / cut.rows;
  shape[0] = std::min(cut.rows, shape[0] - piece % along * cut.rows);
  return shape;
}

Count bytes_of_piece(const Part& part, const Cut& cut, Count piece) {
  if (part.codec == "none")
    return std::min(raw_piece_bytes, part.raw_bytes() - piece * raw_piece_bytes);
  return Part{{}, part.type, shape_of_piece(part, cut, piece), {}, {}}.raw_bytes();
}

std::vector<std::byte> print_header(const Header& header) {
  Printer to;
  to.fixed(header_word);
  to.fixed(version);
  to.fixed(native);
  to.fixed(std::uint8_t{0});
  to.fixed(header.session);
  to.fixed(header.rank);
  to.fixed(header.ranks);
  to.bytes().resize(header_bytes - hash_bytes);
  to.fixed(hash_of(to.bytes()));
  return std::move(to.bytes());
}

std::optional<Header> parse_header(std::span<const std::byte> bytes) {
  if (std::ssize(bytes) < header_bytes) return std::nullopt;
  Parser from(bytes.first(header_bytes));
  if (from.fixed<std::uint32_t>() != header_word)
    throw Error(Errc::ebadlog, "this is no journal of checkpoints", "give another name");
  logged::check_version(from.fixed<std::uint16_t>(), version, "a journal of checkpoints");
  if (from.fixed<std::uint8_t>() != native)
    throw Error(Errc::ebadlog, "checkpoints of a machine with another byte order",
                "read them on one of the same kind");
  from.take(1);
  Header header;
  header.session = from.fixed<std::uint64_t>();
  header.rank = from.fixed<std::int32_t>();
  header.ranks = from.fixed<std::int32_t>();
  from.take(from.left() - hash_bytes);
  if (from.fixed<std::uint64_t>() != hash_of(bytes.first(header_bytes - hash_bytes)))
    throw Error(Errc::ebadlog, "the header of a journal of checkpoints is damaged",
                "remove its files to begin anew");
  return header;
}

void print_entry(const Entry& entry, std::uint64_t session, std::vector<std::byte>& out) {
  Printer to;
  to.fixed(entry_word);
  to.fixed(std::uint32_t{0});
  if (const auto* record = std::get_if<Record>(&entry)) {
    to.fixed(static_cast<std::uint8_t>(Word::record));
    to.fixed(static_cast<std::uint8_t>(record->id.kind));
    to.count(record->id.step);
    to.number(record->serial);
    to.count(record->place);
    to.count(std::ssize(record->parts));
    for (const Part& part : record->parts) print(part, to);
  } else {
    to.fixed(static_cast<std::uint8_t>(Word::dropped));
    to.number(std::get<Dropped>(entry).serial);
  }
  auto& bytes = to.bytes();
  bytes.resize((bytes.size() + 7) / 8 * 8);
  if (bytes.size() + hash_bytes > UINT32_MAX)
    throw Error(Errc::evarsize, "a state of too many variables for its journal",
                "keep fewer, larger variables");
  to.fixed_at(4, static_cast<std::uint32_t>(bytes.size() + hash_bytes));
  to.fixed(hash_within(session, bytes));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::size_t told_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < front_bytes || load_be<std::uint32_t>(bytes.data()) != entry_word) return 0;
  const std::size_t length = load_be<std::uint32_t>(bytes.data() + 4);
  const bool fits = length <= bytes.size() && length % 8 == 0;
  return fits && length >= front_bytes + 8 + hash_bytes ? length : 0;
}

std::optional<ParsedEntry> parse_entry(std::span<const std::byte> bytes, std::uint64_t session) {
  const std::size_t length = told_bytes(bytes);
  if (length == 0) return std::nullopt;
  const auto hashed = bytes.first(length - hash_bytes);
  if (load_be<std::uint64_t>(bytes.data() + hashed.size()) != hash_within(session, hashed))
    return std::nullopt;
  try {
    return ParsedEntry{parse_body(hashed.subspan(front_bytes)), length};
  } catch (const Error&) {
    return std::nullopt;
  }
}

Journal parse_journal(std::span<const std::byte> bytes, std::uint64_t session) {
  Journal journal;
  journal.whole = header_bytes;
  std::size_t looked_at = 0;  // stated bytes of damaged entries
  for (std::size_t at = journal.whole; at < bytes.size();) {
    auto parsed = parse_entry(bytes.subspan(at), session);
    if (!parsed) {
      // Entries begin at multiples of 8. If many are damaged, their stated lengths are used, so
      // that no byte is examined again and again.
      const std::size_t told = told_bytes(bytes.subspan(at));
      at += looked_at > bytes.size() ? std::max<std::size_t>(told, 8) : 8;
      looked_at += told;
      continue;
    }
    if (at != journal.whole) journal.damaged.push_back(journal.whole);
    at = journal.whole = at + parsed->bytes;
    if (auto* record = std::get_if<Record>(&parsed->entry))
      journal.live[record->serial] = std::move(*record);
    else
      journal.live.erase(std::get<Dropped>(parsed->entry).serial);
  }
  const bool torn = journal.whole >= bytes.size() || told_bytes(bytes.subspan(journal.whole)) == 0;
  if (!torn) journal.damaged.push_back(journal.whole);
  return journal;
}

}  // namespace forebay::checkpoint
