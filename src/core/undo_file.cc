#include "core/undo_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"

namespace forebay {
namespace {

using logged::UndoRecord;

/// Walks the records, in order. One that was being appended when its process was killed is not
/// whole; others may follow it, of ranks that lived a little longer.
class Walk {
 public:
  explicit Walk(File& file) : file_(file), end_(file.size()) {}

  bool next() {
    while (at_ < end_) {
      if (record_here()) return true;
      at_ = next_magic();
    }
    return false;
  }
  Offset where() const { return at_; }
  const UndoRecord& record() const { return record_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Behind the record that next() found.
  void pass() { at_ += static_cast<Offset>(logged::undo_front_bytes) + record_.bytes; }

 private:
  bool record_here() {
    std::vector<std::byte> front(logged::undo_front_bytes);
    front.resize(file_.read_at(at_, front));
    const auto found = logged::parse_undo_front(front);
    if (!found) return false;
    bytes_.resize(static_cast<std::size_t>(found->bytes));
    bytes_.resize(file_.read_at(at_ + static_cast<Offset>(front.size()), bytes_));
    if (!logged::is_whole(*found, front, bytes_)) return false;
    record_ = *found;
    return true;
  }

  /// Where the next record may begin, after the one that begins at at_ and is not whole.
  Offset next_magic() {
    const auto magic = logged::print_undo_record({}, 0, {});
    std::vector<std::byte> block(64 << 10);
    for (Offset from = at_ + 1; from < end_; from += std::ssize(block) - 7) {
      block.resize(file_.read_at(from, block));
      const auto found = std::search(block.begin(), block.end(), magic.begin(), magic.begin() + 8);
      if (found != block.end()) return from + (found - block.begin());
      if (block.size() < 8) break;
    }
    return end_;
  }

  File& file_;
  Offset at_ = 0, end_;
  UndoRecord record_;
  std::vector<std::byte> bytes_;
};

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type, lock.l_whence = SEEK_SET;
  return lock;
}

/// False where a job that lives has it open: those hold it to read, who puts back holds it to
/// write and is waited for. File systems without locks are trusted that nobody opens an HDF5 file
/// which another job writes.
bool lock_of_the_dead(File& undo) {
  struct flock mine = whole_file(F_WRLCK);
  if (::fcntl(undo.descriptor(), F_OFD_SETLK, &mine) == 0) return true;
  if (errno != EAGAIN && errno != EACCES) return true;
  struct flock other = whole_file(F_RDLCK);  // with which only a lock to write is in conflict
  if (::fcntl(undo.descriptor(), F_OFD_GETLK, &other) != 0 || other.l_type == F_UNLCK) return false;
  return ::fcntl(undo.descriptor(), F_OFD_SETLKW, &mine) == 0;
}

bool has_witness(File& file, const logged::Witness& witness) {
  std::vector<std::byte> there(logged::witness_bytes);
  there.resize(file.read_at(witness.place, there));
  return there == logged::print_witness(witness.session);
}

}  // namespace

std::string undo_path(const std::string& path) { return path + ".undo"; }

UndoFile::UndoFile(const Comm& comm, const std::string& path, const logged::Witness& witness,
                   Offset end, Report& report)
    : comm_(comm),
      path_(undo_path(std::filesystem::absolute(path))),
      witness_(witness),
      end_(end),
      file_(path, false, comm.rank(), report) {
  // Now: programs remove files that they have open.
  if (attempt_to([&] { file_.ensure_open(); })) active_ = false;
}

UndoFile::~UndoFile() {
  if (undo_ >= 0) ::close(undo_);
}

bool UndoFile::open() {
  if (undo_ >= 0) return true;
  undo_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (undo_ < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) active_ = false;
  if (undo_ < 0 && active_) throw system_error(errno, Errc::eofile, "creating", path_);
  struct flock lock = whole_file(F_RDLCK);  // see lock_of_the_dead()
  if (undo_ >= 0) ::fcntl(undo_, F_OFD_SETLK, &lock);
  return undo_ >= 0;
}

void UndoFile::append(Offset from, Offset to) {
  for (; from < to; from += logged::undo_most_bytes) {
    std::vector<std::byte> old(
        static_cast<std::size_t>(std::min(to - from, logged::undo_most_bytes)));
    old.resize(file_.read_at(from, old));
    if (old.empty()) return;
    const auto record = logged::print_undo_record(witness_, from, old);
    // One call: ranks append side by side.
    const ssize_t n = ::write(undo_, record.data(), record.size());
    if (n != std::ssize(record))
      throw system_error(n < 0 ? errno : ENOSPC, Errc::ewrite, "writing", path_);
  }
}

void UndoFile::save(Offset place, Count bytes) {
  const Offset end = std::min(place + bytes, end_);
  if (place >= end || !active_ || !open()) return;
  // What is saved already stays: only gaps between saved ranges are appended.
  auto range = saved_.upper_bound(place);
  if (range != saved_.begin() && std::prev(range)->second >= place) --range;
  Offset first = place, last = end, at = place;
  while (range != saved_.end() && range->first <= end) {
    append(at, range->first);
    first = std::min(first, range->first), last = std::max(last, range->second);
    at = std::max(at, range->second);
    range = saved_.erase(range);
  }
  append(at, end);
  saved_.emplace(first, last);
}

void UndoFile::commit(Offset end) {
  std::int64_t any[] = {failed_, !saved_.empty()};
  comm_.all_reduce(any, Reduce::max);  // behind it no rank has anything left to write
  if (any[0] != 0)
    throw Error(Errc::ewrite, "a write of the file's metadata failed",
                "what was flushed before it is safe: it is put back when the file is opened again");
  if (any[1] != 0)
    agree_on_error(comm_, attempt_to([&] {
                     if (comm_.is_root() && active_ && open() && ::ftruncate(undo_, 0) != 0)
                       throw system_error(errno, Errc::ewrite, "truncating", path_);
                   }));
  // Behind that the new file holds, and ranks may overwrite it: the undo file is empty.
  saved_.clear();
  end_ = end;
}

void UndoFile::close(Offset end) {
  commit(end);
  if (comm_.is_root()) ::unlink(path_.c_str());
}

bool put_back(const std::string& path) {
  const std::string undo_name = undo_path(path);
  struct stat status;
  if (::stat(undo_name.c_str(), &status) != 0 || status.st_size == 0) return false;
  Report report;
  File undo(undo_name, true, 0, report);
  if (!lock_of_the_dead(undo) || !undo.is_linked()) return false;

  std::vector<std::pair<Offset, UndoRecord>> records;
  for (Walk walk(undo); walk.next(); walk.pass()) records.emplace_back(walk.where(), walk.record());
  if (!records.empty()) {
    File file(path, true, 0, report);
    // Records of another file of that name, which is gone, are nothing to this one.
    std::optional<logged::Witness> own;
    std::erase_if(records, [&](const auto& record) {
      if (!own && has_witness(file, record.second.witness)) own = record.second.witness;
      return own != record.second.witness;
    });
    for (auto record = records.rbegin(); record != records.rend(); ++record) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(record->second.bytes));
      undo.read_at(record->first + static_cast<Offset>(logged::undo_front_bytes), bytes);
      file.write_at(record->second.place, std::span<const std::byte>(bytes));
    }
    if (!records.empty()) file.sync();
  }
  ::unlink(undo_name.c_str());
  return !records.empty();
}

}  // namespace forebay
