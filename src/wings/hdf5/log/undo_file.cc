#include "hdf5/log/undo_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/path.h"
#include "comm/agree.h"
#include "storage/fault.h"

namespace forebay {
namespace {

using logged::UndoRecord;

/// Walks the records in order. A record may be incomplete because its process was killed while it
/// appended it. Records of ranks that lived longer may follow.
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
  /// Moves behind the record that next() found.
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

  /// Returns where the next record may begin, after an incomplete one at at_.
  Offset next_magic() {
    const auto magic = logged::print_undo_magic();
    std::vector<std::byte> block(64 << 10);
    for (Offset from = at_ + 1; from < end_; from += std::ssize(block) - 7) {
      block.resize(file_.read_at(from, block));
      const auto found = std::search(block.begin(), block.end(), magic.begin(), magic.end());
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

/// Most bytes of an appended record; the format allows more.
constexpr Count piece_bytes = 256 << 10;
static_assert(piece_bytes <= logged::undo_most_bytes);

constexpr auto longest_wait = std::chrono::milliseconds(1500);  // for processes that are exiting

/// Takes the lock that a running job holds on its undo file (lock_of_the_dead()).
void hold_to_read(int descriptor) {
  struct flock lock = whole_file(F_RDLCK);
  ::fcntl(descriptor, F_OFD_SETLK, &lock);
}

/// Waits until no process of a job holds the undo file, and locks it. Jobs hold a read lock. A
/// process that restores the file holds a write lock, and is waited for. On file systems without
/// locks, nobody may open an HDF5 file that another job writes.
void lock_of_the_dead(File& undo, const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    struct flock mine = whole_file(F_WRLCK);
    if (::fcntl(undo.descriptor(), F_OFD_SETLK, &mine) == 0) return;
    if (errno != EAGAIN && errno != EACCES) return;
    struct flock other = whole_file(F_RDLCK);  // conflicts only with a write lock
    const bool held = ::fcntl(undo.descriptor(), F_OFD_GETLK, &other) == 0;
    const bool put_back_now = held && other.l_type != F_UNLCK;
    if (!put_back_now && std::chrono::steady_clock::now() - start > longest_wait)
      throw Error(Errc::eperm, path + " is being written by a process that still runs",
                  "end the job that writes it, or what is left of it (fuser " + undo.path() +
                      " names the process), and open the file again");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// A file of that name with other contents belongs to the user.
bool begins_as_ours(int descriptor) {
  const auto ours = logged::print_undo_magic();
  std::vector<std::byte> front(ours.size());
  const ssize_t n = ::pread(descriptor, front.data(), front.size(), 0);
  return n >= 0 && std::equal(front.begin(), front.begin() + n, ours.begin());
}

using FileId = std::pair<std::uint64_t, std::uint64_t>;

FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

/// The files that this process writes.
struct LiveFiles {
  std::mutex mutex;
  std::multiset<FileId> files;
};
/// Never destroyed, because HDF5 closes open files when the program ends.
LiveFiles& live = *new LiveFiles;

bool has_witness(File& file, const logged::Witness& witness) {
  std::vector<std::byte> there(logged::witness_bytes);
  there.resize(file.read_at(witness.place, there));
  return there == logged::print_witness(witness.opening);
}

}  // namespace

std::string undo_path(const std::string& path) {
  std::error_code unknown;
  const auto real = std::filesystem::canonical(path, unknown);
  return (unknown ? absolute_path(path) : real.string()) + ".undo";
}

UndoFile::UndoFile(const Comm& comm, const std::string& path, const logged::Witness& witness,
                   Offset end)
    : comm_(comm),
      path_(undo_path(path)),
      witness_(witness),
      end_(end),
      file_(path, false, comm.rank(), report_) {
  // Opened now, because programs may remove files that they have open.
  const bool readable = !attempt_to([&] { file_.ensure_open(); });
  bool made = true;
  try {
    const auto failed = attempt_to([&] {
      made = !comm_.is_root() || make();
      room_.resize(logged::undo_front_bytes + static_cast<std::size_t>(piece_bytes));
    });
    agree_on_error(comm_, failed);
    // All ranks or none: if one rank saved nothing, only the others' bytes would be restored.
    active_ = comm_.all_reduce(readable && made ? 1 : 0, Reduce::min) == 1;
    struct stat status {};
    if (readable && ::fstat(file_.descriptor(), &status) == 0) {
      const std::lock_guard lock(live.mutex);
      live.files.insert(id_of(status));
      id_ = id_of(status);
    }
  } catch (...) {
    leave();
    throw;
  }
}

UndoFile::~UndoFile() { leave(); }

/// This process no longer writes the file.
void UndoFile::leave() {
  if (id_ != FileId{}) {
    const std::lock_guard lock(live.mutex);
    live.files.erase(live.files.find(std::exchange(id_, {})));
  }
  if (undo_ >= 0) ::close(std::exchange(undo_, -1));
}

/// Creates the undo file. Returns whether the folder allows it. It gets the file's permissions, as
/// it holds bytes of the file.
bool UndoFile::make() {
  struct stat status {};
  const mode_t mode =
      ::fstat(file_.descriptor(), &status) == 0 ? status.st_mode & 0777 : S_IRUSR | S_IWUSR;
  undo_ = beyond_standard(
      ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, mode));
  if (undo_ < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) return false;
  if (undo_ < 0) throw system_error(errno, Errc::eofile, "creating", path_);
  if (!begins_as_ours(undo_)) {
    ::close(std::exchange(undo_, -1));
    return false;
  }
  ::fchmod(undo_, mode);  // the umask may remove bits, or the file exists already
  // Removes the contents of an earlier undo file of that name.
  if (::ftruncate(undo_, 0) != 0) throw system_error(errno, Errc::ewrite, "truncating", path_);
  hold_to_read(undo_);
  return true;
}

/// Opens the undo file that the root has created.
void UndoFile::open() {
  if (undo_ >= 0) return;
  undo_ = beyond_standard(::open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (undo_ < 0) throw system_error(errno, Errc::eofile, "opening", path_);
  hold_to_read(undo_);
}

void UndoFile::append(Offset from, Offset to) {
  const std::span<std::byte> room(room_);
  for (; from < to; from += piece_bytes) {
    const auto wanted = static_cast<std::size_t>(std::min(to - from, piece_bytes));
    const std::size_t old = file_.read_at(from, room.subspan(logged::undo_front_bytes, wanted));
    if (old == 0) return;
    const auto record = room.first(logged::undo_front_bytes + old);
    logged::print_undo_front(record, witness_, from);
    // One call per record, because ranks append at the same time.
    const int fault = injected_fault("append", comm_.rank());
    const ssize_t n = fault != 0 ? -1 : ::write(undo_, record.data(), record.size());
    if (fault != 0) errno = fault;
    if (n != std::ssize(record))
      throw system_error(n < 0 ? errno : ENOSPC, Errc::ewrite, "writing", path_);
  }
}

void UndoFile::save(Offset place, Count bytes) {
  const Offset end = std::min(place + bytes, end_);
  if (place >= end || !active_) return;
  open();
  any_ = true;
  // Saved ranges stay: only gaps between them are appended.
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
  // Without memory for the note, the range is saved again the next time. That does no harm: the
  // bytes saved first are written back last.
  attempt_to([&] { saved_.emplace(first, last); });
}

void UndoFile::empty() {
  const int failed = ::ftruncate(undo_, 0) != 0 ? errno : injected_fault("ftruncate", comm_.rank());
  if (failed != 0) throw system_error(failed, Errc::ewrite, "truncating", path_);
}

void UndoFile::commit(Offset end) {
  const auto& failed = lost_ ? lost_ : failed_;
  std::int64_t any[] = {failed.has_value(), any_};
  comm_.all_reduce(any, Reduce::max);  // after it no rank has anything left to write
  if (any[0] != 0)
    throw(failed ? *failed : error_of_others(to_int(Errc::ewrite)))
        .reworded(
            "a write of the file's metadata failed" +
                (failed ? ": " + failed->message() : " on another rank"),
            "what was flushed before it is safe: it is put back when the file is opened again");
  // If truncating fails, either file may be the valid one. So everything that either one has is
  // saved again before it is overwritten. The oldest bytes are the ones that are restored.
  saved_.clear();
  end_ = std::max(end_, end);
  if (any[1] != 0)
    agree_on_error(comm_, attempt_to([&] {
                     if (comm_.is_root() && active_) empty();
                   }));
  // From now on the new file is valid, and ranks may overwrite it: the undo file is empty.
  any_ = false;
  end_ = end;
}

void UndoFile::close(Offset end) {
  try {
    commit(end);
  } catch (...) {
    leave();  // so that saved bytes are restored, also in this process
    throw;
  }
  if (!comm_.is_root() || !active_ || ::unlink(path_.c_str()) == 0) return;
  // The folder was renamed.
  const std::string place = undo_path(file_.place_now());
  struct stat there {
  }, own{};
  if (::lstat(place.c_str(), &there) == 0 && ::fstat(undo_, &own) == 0 &&
      id_of(there) == id_of(own))
    ::unlink(place.c_str());
}

bool put_back(const std::string& path, bool writing) {
  const std::string undo_name = undo_path(path);
  struct stat found {
  }, status{};
  if (::lstat(undo_name.c_str(), &found) != 0 || ::stat(path.c_str(), &status) != 0) return false;
  if (found.st_size == 0 && !writing) return false;
  if (const std::lock_guard lock(live.mutex); live.files.contains(id_of(status))) return false;
  Report report;
  File undo(undo_name, true, 0, report);
  struct stat opened {};
  const bool plain = S_ISREG(found.st_mode) && ::fstat(undo.descriptor(), &opened) == 0 &&
                     id_of(opened) == id_of(found);
  if (!plain)
    throw Error(Errc::eperm,
                undo_name + " is not the undo file of " + path + ", but a link or a folder",
                "move it away, and open the file again");
  if (found.st_uid != status.st_uid && found.st_uid != ::geteuid())
    throw Error(Errc::eperm, undo_name + " is another user's: it cannot be trusted",
                "if a job of that user was killed while it wrote " + path +
                    ", let that user open the file, which brings back what was flushed; else move "
                    "it away, and open the file again");
  lock_of_the_dead(undo, path);
  if (!undo.is_linked()) return false;
  if (!begins_as_ours(undo.descriptor())) return false;

  std::vector<std::pair<Offset, UndoRecord>> records;
  for (Walk walk(undo); walk.next(); walk.pass()) records.emplace_back(walk.where(), walk.record());
  if (!records.empty()) {
    File file(path, true, 0, report);
    // Ignores records of an earlier file of that name.
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
