// Fuzz target over logs: what is printed by no build of Forebay must do no harm.
//
// The first byte chooses: one entry, a header with its states, or a whole record log that is
// walked. Checksums are set right first (unless the second byte says no), since no fuzzer finds
// them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_file_testing.h"
#include "burst/format/staging_entry.h"
#include "burst/log/walk_writes.h"
#include "must.h"

namespace {

using forebay::Count;
using forebay::Error;
namespace journal = forebay::journal;
namespace staging = forebay::staging;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t session = 4711;

void check_write(const staging::Write& write) {
  Count end = 0;
  must(write.var >= 0 && forebay::is_valid(write.type), "a write is to a variable");
  must(write.data >= staging::data_begin && write.bytes >= 0 &&
           forebay::add_fits(write.data, write.bytes, end),
       "data have a place");
  const auto* box = std::get_if<forebay::Subarray>(&write.selection);
  if (box == nullptr) return;
  must(box->count.size() == box->start.size() &&
           (box->stride.empty() || box->stride.size() == box->start.size()),
       "start, count and stride are of one length");
  for (std::size_t d = 0; d < box->count.size(); ++d)
    must(box->start[d] >= 0 && box->count[d] >= 0, "a subarray has a place");
}

void check_runs(std::span<const forebay::Run> runs, Count bytes) {
  forebay::Offset end = 0;
  for (const forebay::Run& run : runs) {
    must(run.offset >= end && run.length > 0, "pieces are in order");
    must(forebay::add_fits(run.offset, run.length, end), "a piece has an end");
    bytes -= run.length;
  }
  must(bytes == 0, "pieces have the size that they say");
}

/// What is accepted prints to what reads back the same.
void check_entry(Bytes bytes, bool seal) {
  if (seal && bytes.size() >= static_cast<std::size_t>(staging::least_entry)) {
    bytes.resize(bytes.size() / 8 * 8);
    const auto words = static_cast<std::uint32_t>(bytes.size() / 8);
    std::memcpy(bytes.data() + 16, &words, sizeof words);
    journal::seal_entry(bytes, session);
  }
  const auto entry = staging::parse_entry(bytes, session);
  if (!entry) return;
  Bytes again;
  if (const auto* write = std::get_if<staging::Write>(&entry->what)) {
    check_write(*write);
    staging::print_entry(*write, entry->sequence, session, again, entry->failed);
  } else {
    const auto& pieces = std::get<staging::Pieces>(entry->what);
    check_runs(pieces.runs, pieces.bytes);
    staging::print_entry(pieces, entry->sequence, session, again, entry->failed);
  }
  const auto reread = staging::parse_entry(again, session);
  must(reread && reread->sequence == entry->sequence && reread->failed == entry->failed &&
           reread->what.index() == entry->what.index(),
       "what is printed is read back");
  Bytes third;
  if (const auto* write = std::get_if<staging::Write>(&reread->what)) {
    staging::print_entry(*write, entry->sequence, session, third, entry->failed);
  } else {
    staging::print_entry(std::get<staging::Pieces>(reread->what), entry->sequence, session, third,
                         entry->failed);
  }
  must(third == again, "what is read back prints the same");
}

void check_header(const Bytes& bytes) {
  const staging::Header header = journal::parse_header(bytes);
  must(journal::parse_header(journal::print_header(header)) == header, "a header is read back");
  const auto state = journal::parse_state(bytes, header.session);
  if (!state) return;
  must(state->first_entry >= staging::header_bytes, "entries come after the header");
}

/// The bytes are entries, after a header that is whole. Those that begin like one get a checksum.
void check_log(const Bytes& bytes, bool seal) {
  const staging::Header header{session, 0, 1, {}, "/x"};
  auto records = std::make_shared<forebay::MemoryDisk>();
  auto data = std::make_shared<forebay::MemoryDisk>();
  records->bytes = journal::print_header(header);
  const auto slot = journal::print_state({}, session);
  std::memcpy(records->bytes.data() + journal::slot_of(0), slot.data(), slot.size());
  data->bytes = journal::print_identification(header);
  records->bytes.insert(records->bytes.end(), bytes.begin(), bytes.end());
  auto all = std::span(records->bytes).subspan(static_cast<std::size_t>(staging::header_bytes));
  for (std::size_t at = 0; seal && at < all.size();) {
    const auto length = journal::entry_length(all.subspan(at));
    const bool whole = length && *length <= std::ssize(all) - static_cast<Count>(at);
    if (whole) journal::seal_entry(all.subspan(at, static_cast<std::size_t>(*length)), session);
    at += whole ? static_cast<std::size_t>(*length) : 8;
  }
  staging::Reader reader(std::make_unique<forebay::MemoryFile>("r", records),
                         std::make_unique<forebay::MemoryFile>("d", data));
  Count writes = 0;
  const staging::Scan scan =
      staging::walk_writes(reader, [&](std::uint64_t, const staging::Write& write,
                                       const std::shared_ptr<const forebay::RunList>& runs) {
        ++writes;
        check_write(write);
        must((runs != nullptr) == std::holds_alternative<std::uint64_t>(write.selection),
             "a write of pieces has them");
        if (runs) check_runs(runs->runs, write.bytes);
      });
  must(scan.writes == writes && scan.end <= std::ssize(records->bytes), "a walk counts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(data) + 2;
  const Bytes bytes(begin, begin + (size - 2));
  const bool seal = data[1] % 4 != 0;
  try {
    switch (data[0] % 3) {
      case 0:
        check_entry(bytes, seal);
        break;
      case 1:
        check_header(bytes);
        break;
      default:
        check_log(bytes, seal);
    }
  } catch (const Error& error) {
    must(error.code() == forebay::Errc::ebadlog && !error.message().empty(),
         "an error says what it is");
  }
  return 0;
}
