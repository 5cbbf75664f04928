#include "store/journal_reader.h"

#include <utility>

#include "base/attempt.h"
#include "store/journal_places.h"

namespace forebay::journal {
namespace {

std::vector<std::byte> read_front(ByteFile& file, Offset offset, Count bytes) {
  std::vector<std::byte> front(static_cast<std::size_t>(bytes));
  front.resize(file.read_at(offset, front));
  return front;
}

/// Returns where the header of `part` may be. The first part's header says so. If it is missing,
/// because its rank may have died early, possible block sizes are tried.
Offset find_header(ByteFile& records, int part) {
  if (part == 0) return 0;
  const auto begins_at = [&](Offset offset) {
    try {
      const Header header = parse_header(read_front(records, offset, header_bytes));
      return header.share.part == part && header.share.record_block * part == offset;
    } catch (const Error&) {
      return false;
    }
  };
  try {
    const Header first = parse_header(read_front(records, 0, header_bytes));
    if (part >= first.share.parts)
      throw Error(Errc::ebadlog, "part " + std::to_string(part) + " of a staging log that has " +
                                     std::to_string(first.share.parts));
    return first.share.record_block * part;
  } catch (const Error&) {
    const Offset size = records.size();
    for (Count block = least_block; block <= size / part; block *= 2) {
      if (begins_at(block * part)) return block * part;
    }
    throw;
  }
}

State state_in(std::span<const std::byte> front, std::uint64_t session) {
  const auto state = parse_state(front, session);
  if (!state)
    throw Error(Errc::ebadlog, "neither of the staging log's two states is whole",
                "without them nobody knows which entries count; forebay log DIR shows the rest");
  return *state;
}

}  // namespace

Reader::Reader(std::unique_ptr<ByteFile> records, std::unique_ptr<ByteFile> data, int part)
    : records_(std::move(records)), data_(std::move(data)) {
  if (part < 0) throw Error(Errc::einval, "part " + std::to_string(part) + " of a log");
  naming(records_->path(), [&] {
    const auto front = read_front(*records_, find_header(*records_, part), header_bytes);
    header_ = parse_header(front);
    if (header_.share.part != part)
      throw Error(Errc::ebadlog,
                  "the header of part " + std::to_string(part) + " is that of part " +
                      std::to_string(header_.share.part),
                  "the file was put together from others");
    state_ = state_in(front, header_.session);
  });
  naming(data_->path(), [&] {
    const Share& share = header_.share;
    const Offset at = place_of(0, share, share.data_block).offset;
    check_identification(read_front(*data_, at, data_begin), header_);
  });
}

State Reader::state_now() {
  const Offset at = place_of(0, header_.share, header_.share.record_block).offset;
  return naming(records_->path(),
                [&] { return state_in(read_front(*records_, at, header_bytes), header_.session); });
}

Window Reader::window(Count least) { return {*records_, header_, least}; }

void Reader::read(const Data& data, std::span<std::byte> into) {
  read_data(*data_, data, into, header_.share);
}

}  // namespace forebay::journal
