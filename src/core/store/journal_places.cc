#include "store/journal_places.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/hash.h"

namespace forebay::journal {
namespace {

[[noreturn]] void bad_data(const ByteFile& data, const Data& what, const std::string& fault) {
  throw Error(Errc::ebadlog,
              "data log " + data.path() + ": the " + std::to_string(what.bytes) +
                  " bytes at position " + std::to_string(what.data) + " " + fault,
              "run forebay log DIR to see what is whole");
}

}  // namespace

std::size_t read_log(ByteFile& file, Offset position, std::span<std::byte> into, const Share& share,
                     Count block) {
  std::size_t done = 0;
  while (done < into.size()) {
    const Place place = place_of(position + static_cast<Offset>(done), share, block);
    const auto part =
        into.subspan(done, std::min(into.size() - done, static_cast<std::size_t>(place.together)));
    const std::size_t n = file.read_at(place.offset, part);
    done += n;
    if (n < part.size()) break;
  }
  return done;
}

void write_log(ByteFile& file, Offset position, std::span<iovec> pieces, const Share& share,
               Count block, std::vector<iovec>& scratch) {
  if (share.parts == 1) return file.write_at(position, pieces);
  while (!pieces.empty()) {
    const Place place = place_of(position, share, block);
    auto room = static_cast<std::size_t>(place.together);
    scratch.clear();
    while (!pieces.empty() && room > 0) {
      iovec& front = pieces.front();
      const std::size_t n = std::min(room, front.iov_len);
      if (n > 0) scratch.push_back({front.iov_base, n});
      front.iov_base = static_cast<std::byte*>(front.iov_base) + n;
      front.iov_len -= n;
      room -= n;
      if (front.iov_len == 0) pieces = pieces.subspan(1);
    }
    position += place.together - static_cast<Count>(room);
    file.write_at(place.offset, std::span(scratch));
  }
}

bool release_log(ByteFile& file, Offset begin, Offset end, const Share& share, Count block) {
  while (begin < end) {
    const Place place = place_of(begin, share, block);
    const Count length = std::min(end - begin, place.together);
    const Offset first = round_up(place.offset, page_bytes);
    const Offset last = (place.offset + length) / page_bytes * page_bytes;
    if (first < last && !file.release(first, last - first)) return false;
    begin += length;
  }
  return true;
}

void read_data(ByteFile& data, const Data& what, std::span<std::byte> into, const Share& share) {
  if (std::ssize(into) != what.bytes)
    throw Error(Errc::einternal, "memory of another size than the data");
  if (share.parts > 1) {
    // This keeps a hostile position within 63 bits when it is mapped to a place.
    const Count most = bytes_within(data.size(), share, share.data_block);
    if (what.bytes > most || what.data > most - what.bytes)
      bad_data(data, what, "lie beyond the end of the file");
  }
  const std::size_t n = read_log(data, what.data, into, share, share.data_block);
  if (n < into.size())
    bad_data(data, what, "are not whole: the file ends after " + std::to_string(n) + " of them");
  const iovec whole{into.data(), into.size()};
  if (hash_of(std::span<const iovec>(&whole, 1)) != what.hash)
    bad_data(data, what, "have a wrong checksum");
}

}  // namespace forebay::journal
