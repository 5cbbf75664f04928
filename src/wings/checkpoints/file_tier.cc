#include "checkpoints/file_tier.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory_at_hand.h"
#include "base/random_number.h"
#include "checkpoints/coding.h"

namespace forebay::checkpoint {

namespace {

/// Shorter journals are not rewritten.
constexpr Offset least_shortened = 64 << 10;

/// Locks the file: an earlier job that still runs, or a second tier in the same directory, would
/// overwrite this tier's states. There is no lock if the file system has none.
Descriptor lock_of(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.get() < 0) throw system_error(errno, Errc::eofile, "opening", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(Errc::eperm, path + " is open already, in this program or another one",
                "close it, or give each tier a directory and each job a name of its own");
  return file;
}

}  // namespace

std::vector<std::byte> bytes_of_journal(File& journal) {
  const Offset size = journal.size();
  if (const auto room = memory_at_hand(); room && static_cast<std::uint64_t>(size) > *room / 2)
    throw Error(Errc::enomem,
                journal.path() + " has " + std::to_string(size) + " bytes, too many to read",
                "a journal has some bytes for each MiB of checkpoints: see whether it is one");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  bytes.resize(journal.read_at(0, bytes));
  return bytes;
}

FileTier::FileTier(const std::string& prefix, Rank rank, int ranks, Count limit)
    : prefix_(prefix), limit_(limit), lock_(lock_of(prefix + ".data")) {
  data_ = std::make_unique<File>(prefix + ".data", true, rank, report_);
  journal_ = std::make_unique<File>(prefix + ".journal", true, rank, report_);
  header_ = {0, rank, ranks};
  if (!std::filesystem::exists(journal_->path())) return;
  std::vector<std::byte> front(header_bytes);
  front.resize(journal_->read_at(0, front));
  const auto found = naming(journal_->path(), [&] { return parse_header(front); });
  if (!found) return;  // a kill came before the header was written
  if (found->ranks != ranks || found->rank != rank)
    throw Error(Errc::einval,
                journal_->path() + " is that of rank " + std::to_string(found->rank) + " of " +
                    std::to_string(found->ranks) + ", not of " + std::to_string(rank) + " of " +
                    std::to_string(ranks),
                "go on with as many ranks as wrote the checkpoints, or give another name");
  header_ = *found;
  is_new_ = false;
  read_journal();
}

void FileTier::begin() {
  if (!is_new_ || std::exchange(begun_, true)) return;
  header_.session = random_number();
  data_->create(false);
  journal_->create(false);
  journal_->write_at(0, print_header(header_));
}

void FileTier::read_journal() {
  const std::vector<std::byte> bytes = bytes_of_journal(*journal_);
  Journal journal = parse_journal(bytes, header_.session);
  for (const std::size_t at : journal.damaged)
    damage_.push_back(journal_->path() + ": what lies at byte " + std::to_string(at) +
                      " is no whole entry");
  records_ = std::move(journal.live);
  end_ = static_cast<Offset>(journal.whole);
  if (end_ < std::ssize(bytes)) journal_->truncate(end_);
  keep_those_that_are_there();
}

/// Drops records for which the data file is too short, and records that overlap a later one: the
/// latter were dropped before, and the entry that said so is damaged. All space but that of the
/// kept records is free.
void FileTier::keep_those_that_are_there() {
  const Offset size = data_->size();
  std::map<Offset, Offset> taken;  // begin and end, without overlap
  std::vector<std::uint64_t> lost, gone;
  for (auto it = records_.rbegin(); it != records_.rend(); ++it) {
    const Record& record = it->second;
    const Offset end = record.place + std::max<Count>(record.bytes, 1);
    const auto next = taken.lower_bound(record.place);
    const bool overlaps = (next != taken.end() && next->first < end) ||
                          (next != taken.begin() && std::prev(next)->second > record.place);
    // A state without values, as a rank may have, has a place but no bytes.
    const bool ends_early = record.bytes > 0 && record.place + record.bytes > size;
    if (ends_early || overlaps || record.place % FileSpace::unit != 0) {
      damage_.push_back(ends_early ? data_->path() + " ends within " + words_for(record.id)
                                   : data_->path() + " has another state in the place of " +
                                         words_for(record.id));
      (ends_early ? lost : gone).push_back(record.serial);
      continue;
    }
    taken.emplace(record.place, end);
    used_ += record.bytes;
    note(record, printed(record));
  }
  for (const std::uint64_t serial : lost) records_.erase(serial);
  for (const std::uint64_t serial : gone) {
    records_.erase(serial);
    attempt_to([&] { append(printed(Dropped{serial})); });  // otherwise it is found again
  }
  std::vector<FileSpace::Range> used;
  used.reserve(taken.size());
  for (const auto& [begin, end] : taken) used.push_back({begin, end});
  space_ = FileSpace(0, std::move(used));
}

Count FileTier::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

Count FileTier::room() const {
  const std::lock_guard lock(mutex_);
  return std::max<Count>(std::min(limit_, full_at_) - used_, 0);
}

bool FileTier::reserve(Record& record, Count leaves) {
  const std::lock_guard lock(mutex_);
  if (record.bytes > std::max<Count>(limit_ - used_ - retired_bytes_, 0) - leaves) return false;
  record.place = space_.allocate(record.bytes);
  used_ += record.bytes;
  return true;
}

void FileTier::add(Record& record, std::span<const iovec> parts, Team& team, bool replaces_synced) {
  keep(record, replaces_synced, [&] { write(record, parts, team); });
}

void FileTier::add(const Record& record, FileTier& from, Offset place) {
  keep(record, false, [&] { copy(record, from, place); });
}

void FileTier::keep(const Record& record, bool replaces_synced,
                    const std::function<void()>& write) {
  try {
    write();
    if (replaces_synced) data_->sync();
    Bytes entry = printed(record);
    const std::lock_guard lock(mutex_);
    note(record, std::move(entry));
    append(live_[record.serial].entry);
    if (used_ > full_at_) full_at_ = no_limit;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    forget(record.serial);
    give_back(record.place, record.bytes);
    full_at_ = std::min(full_at_, used_);
    throw;
  }
}

/// Writes encoded bytes with one call. A call for uncoded values has so few bytes that they are
/// still in the processor's cache when they are written after their checksums are computed.
void FileTier::write(Record& record, std::span<const iovec> parts, Team& team) {
  constexpr Count most_cached = 2 * raw_piece_bytes;
  struct Call {
    Offset at = 0;
    std::size_t first = 0;  ///< index in `bytes`
  };
  std::vector<Call> calls;
  std::vector<iovec> bytes;
  std::vector<Piece*> hashed;  // of each; null for an encoded part
  Offset at = record.place;
  Count cached = most_cached;  // bytes of the last call
  const auto take = [&](std::byte* from, Count size, Piece* piece) {
    if (cached >= most_cached) {
      calls.push_back({at, bytes.size()});
      cached = 0;
    }
    bytes.push_back({from, static_cast<std::size_t>(size)});
    hashed.push_back(piece);
    at += size;
    if (piece) cached += size;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto* from = static_cast<std::byte*>(parts[i].iov_base);
    if (record.parts[i].codec != "none") {
      take(from, static_cast<Count>(parts[i].iov_len), nullptr);
      continue;
    }
    for (Piece& piece : record.parts[i].pieces) {
      take(from, piece.bytes, &piece);
      from += piece.bytes;
    }
  }
  constexpr std::size_t least = 2;  // fewer calls take less time than to start a thread
  std::atomic<std::size_t> next = 0;
  team.share(calls.size(), least, [&](std::size_t, std::size_t, std::size_t) {
    for (std::size_t c = next++; c < calls.size(); c = next++) {
      const std::size_t first = calls[c].first;
      const std::size_t last = c + 1 < calls.size() ? calls[c + 1].first : bytes.size();
      for (std::size_t i = first; i < last; ++i)
        if (hashed[i] && hashed[i]->hash == 0)
          hashed[i]->hash =
              hash_of({static_cast<const std::byte*>(bytes[i].iov_base), bytes[i].iov_len});
      data_->write_at(calls[c].at, std::span(bytes).subspan(first, last - first));
    }
  });
}

void FileTier::copy(const Record& record, FileTier& from, Offset place) {
  constexpr Count most = 4 << 20;
  RawBytes window(static_cast<std::size_t>(std::min(most, record.bytes)));
  for (Count done = 0; done < record.bytes;) {
    const auto block =
        std::span(window).first(static_cast<std::size_t>(std::min(most, record.bytes - done)));
    from.read(place + done, block);
    data_->write_at(record.place + done, block);
    done += std::ssize(block);
  }
}

Offset ReadWindow::place_of(const Record& record, std::size_t part) {
  if (part < part_) {
    part_ = 0;
    part_place_ = record.place;
  }
  for (; part_ < part; ++part_) part_place_ += record.parts[part_].stored_bytes();
  return part_place_;
}

std::span<const std::byte> ReadWindow::at(FileTier& file, Offset place, Count size) {
  constexpr Count most = 4 << 20, small = most / 4;
  const bool follows = place == next_;
  next_ = place + size;
  if (size > small) return {};
  if (place < begin_ || next_ > begin_ + std::ssize(bytes_)) {
    // Reads that do not follow one another fetch only the requested bytes.
    bytes_.resize(static_cast<std::size_t>(follows ? std::min(most, end_ - place) : size));
    begin_ = place;
    try {
      file.read(place, bytes_);
    } catch (...) {
      bytes_.clear();
      throw;
    }
  }
  return std::span(bytes_).subspan(static_cast<std::size_t>(place - begin_),
                                   static_cast<std::size_t>(size));
}

void FileTier::read(Offset place, std::span<std::byte> into) {
  if (data_->read_at(place, into) != into.size())
    throw Error(Errc::ebadlog, data_->path() + " ends too early", "begin from another checkpoint");
}

FileTier::Bytes FileTier::printed(const Entry& entry) const {
  Bytes bytes;
  print_entry(entry, header_.session, bytes);
  return bytes;
}

void FileTier::append(const Bytes& entry) {
  try {
    journal_->write_at(end_, entry);
  } catch (...) {
    // Its remains are overwritten by the next entry, or cut off when the journal is read.
    attempt_to([&] { journal_->truncate(end_); });
    throw;
  }
  end_ += std::ssize(entry);
  journal_bytes_ += std::ssize(entry);
}

void FileTier::note(const Record& record, Bytes entry) {
  live_bytes_ += std::ssize(entry);
  live_[record.serial] = {record.place, record.bytes, std::move(entry)};
}

void FileTier::forget(std::uint64_t serial) {
  const auto found = live_.find(serial);
  if (found == live_.end()) return;
  live_bytes_ -= std::ssize(found->second.entry);
  live_.erase(found);
}

void FileTier::give_back(Offset place, Count bytes) {
  space_.release(place, bytes);
  used_ -= bytes;
}

void FileTier::drop(std::uint64_t serial, bool synced) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(serial);
  if (found == live_.end()) return;
  append(printed(Dropped{serial}));
  if (synced) {
    retire(serial);
  } else {
    give_back(found->second.place, found->second.bytes);
    forget(serial);
  }
  attempt_to([&] { shorten(); });  // if that fails, the journal stays as it is
}

/// Cannot fail: the journal has the entry already.
void FileTier::retire(std::uint64_t serial) {
  auto state = live_.extract(serial);
  Live& its = state.mapped();
  used_ -= its.bytes;
  retired_bytes_ += its.bytes;
  live_bytes_ -= std::ssize(its.entry);
  its.entry = Bytes();  // frees its memory
  retired_.insert(std::move(state));
}

bool FileTier::has_retired() const {
  const std::lock_guard lock(mutex_);
  return !retired_.empty();
}

/// Rewrites the journal beside the old one, and replaces it, once most of it is obsolete.
void FileTier::shorten() {
  if (end_ < least_shortened || header_bytes + live_bytes_ > end_ / 2) return;
  Bytes bytes = print_header(header_);
  bytes.reserve(static_cast<std::size_t>(header_bytes + live_bytes_));
  for (const auto& [serial, state] : live_)
    bytes.insert(bytes.end(), state.entry.begin(), state.entry.end());
  const std::string prefix = place_of_files();
  auto next = std::make_unique<File>(prefix + ".next", true, header_.rank, report_);
  next->create(false);
  next->write_at(0, bytes);
  next->sync();
  if (std::rename(next->path().c_str(), (prefix + ".journal").c_str()) != 0)
    throw system_error(errno, Errc::ewrite, "renaming", next->path());
  next->moved(prefix + ".journal");
  journal_ = std::move(next);
  end_ = std::ssize(bytes);
  journal_bytes_ += end_;
}

Count FileTier::journal_bytes() const {
  const std::lock_guard lock(mutex_);
  return journal_bytes_;
}

/// Returns the prefix of the files. Their folder may have been renamed.
std::string FileTier::place_of_files() {
  constexpr std::string_view ending = ".data";
  const std::string data = data_->place_now();
  return data.ends_with(ending) ? data.substr(0, data.size() - ending.size()) : prefix_;
}

void FileTier::sync() {
  data_->sync();
  const std::lock_guard lock(mutex_);
  journal_->sync();
  for (File* file : {data_.get(), journal_.get()})
    if (!file->is_linked())
      throw Error(Errc::enoent, file->path() + " was removed while it was open",
                  "what it had is lost: begin from another checkpoint");
  path_sync_.folder_of(data_->place_now());
  while (!retired_.empty()) {
    const auto its = retired_.extract(retired_.begin());
    retired_bytes_ -= its.mapped().bytes;
    space_.release(its.mapped().place, its.mapped().bytes);
  }
}

void FileTier::close() {
  data_->close();
  journal_->close();
  let_go();
}

// Releases the lock also for copies of the descriptor, which child processes may have.
void FileTier::let_go() {
  if (lock_.get() >= 0) ::flock(lock_.get(), LOCK_UN);
  lock_ = Descriptor();
}

void FileTier::remove() noexcept {
  attempt_to([&] {
    const std::string next = place_of_files() + ".next";
    // The journal goes first: without it the data are unused. A name that belongs to another file
    // by now stays.
    for (File* file : {journal_.get(), data_.get()})
      if (file->is_linked()) std::remove(file->place_now().c_str());
    std::remove(next.c_str());
  });
  attempt_to([&] { data_->close(); });
  attempt_to([&] { journal_->close(); });
  let_go();  // the next tier makes new files
}

}  // namespace forebay::checkpoint
