// The file is
//
//     forebay staging 1
//     flushed <20 digits> <16 hex digits>        (or "closed ")
//     key value                                  …
//
// The checksum is the xxh3-64 of the progress line's first two words and of everything after that
// line. Control characters and backslashes in values are written as \xHH. The first byte is written
// last: a file that is empty or begins with a NUL is incomplete.
#include "store/staging_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/path.h"
#include "storage/directory.h"

namespace forebay {
namespace {

constexpr std::string_view magic = "forebay staging ";
constexpr std::string_view version = "1\n";
constexpr std::size_t first_line = magic.size() + version.size();
constexpr std::size_t progress_words = 7 + 1 + 20;
constexpr std::size_t progress_line = progress_words + 1 + 16 + 1;
constexpr std::size_t tail_begin = first_line + progress_line;
constexpr std::size_t most_bytes = 64 << 10;
constexpr int most_ranks = 1 << 24;

// -- text

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || byte == '\\') {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

template <typename T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    if (i + 3 >= text.size() || text[i + 1] != 'x') return std::nullopt;
    const auto byte = number<unsigned char>(text.substr(i + 2, 2), 16);
    if (!byte) return std::nullopt;
    value += static_cast<char>(*byte);
    i += 3;
  }
  return value;
}

std::string print_tail(const StagingInfo& info, bool locked) {
  return fmt::format(
      "file {}\nlogs {}\nsession {:016x}\nranks {}\nmapping {}\nhost {}\npid {}\nlock {}\n",
      escaped(info.file), escaped(info.directory), info.session, info.ranks,
      info.per_node ? "node" : "process", escaped(info.host), info.pid, locked ? "held" : "none");
}

std::string print_progress(const StagingInfo& info, std::string_view tail) {
  std::string line = fmt::format("{} {:020}", info.closed ? "closed " : "flushed", info.flushed);
  const std::uint64_t seed = XXH3_64bits(tail.data(), tail.size());
  line += fmt::format(" {:016x}\n", XXH3_64bits_withSeed(line.data(), line.size(), seed));
  return line;
}

// The value of a line "key value" anywhere in the tail.
std::optional<std::string> value_of(std::string_view tail, std::string_view key) {
  while (!tail.empty()) {
    const std::size_t end = std::min(tail.find('\n'), tail.size());
    const std::string_view line = tail.substr(0, end);
    tail.remove_prefix(std::min(end + 1, tail.size()));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ')
      return unescaped(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

struct Parsed {
  FoundStaging found;
  bool lock_held = true;  ///< the job had a lock on the file
  std::string problem;    ///< why it is damaged; empty if it is not
};

bool parse_tail(std::string_view tail, StagingInfo& info, bool& lock_held) {
  const auto file = value_of(tail, "file"), logs = value_of(tail, "logs"),
             session = value_of(tail, "session"), ranks = value_of(tail, "ranks"),
             mapping = value_of(tail, "mapping"), host = value_of(tail, "host"),
             pid = value_of(tail, "pid"), lock = value_of(tail, "lock");
  if (!file || !logs || !session || !ranks || !mapping || !lock) return false;
  const auto id = number<std::uint64_t>(*session, 16);
  const auto n = number<int>(*ranks);
  if (!id || !n || *n < 1 || *n > most_ranks) return false;
  if (file->empty() || file->front() != '/' || logs->empty() || logs->front() != '/') return false;
  if (*mapping != "node" && *mapping != "process") return false;
  info.file = *file;
  info.directory = *logs;
  info.session = *id;
  info.ranks = *n;
  info.per_node = *mapping == "node";
  info.host = host.value_or("");
  info.pid = number<std::int64_t>(pid.value_or("")).value_or(0);
  lock_held = *lock == "held";
  return true;
}

Parsed parse(std::string_view text) {
  Parsed parsed;
  StagingInfo& info = parsed.found.info;
  if (text.empty() || text.front() == '\0') {
    parsed.found.begun_only = true;
    return parsed;
  }
  if (!text.starts_with(magic)) {
    parsed.problem = "it is no control file of Forebay, or damaged";
    return parsed;
  }
  if (!text.substr(magic.size()).starts_with(version)) {
    parsed.problem = "it is damaged, or of another version of Forebay";
    return parsed;
  }
  const std::string_view line = text.substr(first_line, progress_line);
  const std::string_view tail = text.substr(std::min(tail_begin, text.size()));
  if (line.size() == progress_line) {
    info.closed = line.starts_with("closed ");
    info.flushed = number<std::uint64_t>(line.substr(8, 20)).value_or(0);
  }
  if (line != print_progress(info, tail)) {
    parsed.problem = "it is damaged";
  } else if (!parse_tail(tail, info, parsed.lock_held)) {
    parsed.problem = "its contents make no sense";
  }
  if (!parsed.problem.empty()) info.directory = value_of(tail, "logs").value_or("");
  return parsed;
}

[[noreturn]] void throw_damaged(const std::string& path, const Parsed& parsed) {
  const std::string& logs = parsed.found.info.directory;
  throw Error(
      Errc::ebadlog, path + ": " + parsed.problem,
      "writes of the dataset may still be in logs" +
          (logs.empty() ? std::string() : " in " + escaped(logs)) +
          ": look for them with forebay log and replay them with forebay recover DIR --file; "
          "if there are none, remove this file");
}

// -- system calls

bool has_no_locks(int errnum) {
  return errnum == ENOLCK || errnum == EOPNOTSUPP || errnum == EINVAL || errnum == ENOSYS;
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

Liveness try_lock(int fd, const std::string& path) {
  struct flock lock = whole_file();
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return Liveness::dead;
  if (errno == EAGAIN || errno == EACCES) return Liveness::alive;
  if (has_no_locks(errno)) return Liveness::unknown;
  throw system_error(errno, Errc::efile, "locking", path);
}

// Queries the lock without taking it, so that other processes do not mistake this one for the job.
Liveness ask_lock(int fd) {
  struct flock lock = whole_file();
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return Liveness::unknown;
  return lock.l_type == F_UNLCK ? Liveness::dead : Liveness::alive;
}

std::string read_text(int fd, const std::string& path) {
  std::string text(most_bytes + 1, '\0');
  text.resize(read_at(fd, 0, std::as_writable_bytes(std::span(text)), path));
  return text;
}

// Tries several times, since a live job may be rewriting its line.
Parsed read_parsed(int fd, const std::string& path) {
  Parsed parsed;
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
    const std::string text = read_text(fd, path);
    if (text.size() > most_bytes) {
      parsed.problem = "it is no control file of Forebay";
      return parsed;
    }
    parsed = parse(text);
    if (parsed.problem.empty() || ask_lock(fd) == Liveness::dead) break;
  }
  return parsed;
}

void write_all(int fd, std::string_view text, Offset offset, const std::string& path) {
  write_at(fd, offset, std::as_bytes(std::span(text)), path);
}

// Returns whether the open file is still the one with that name.
bool is_same_file(int fd, const std::string& path) {
  struct stat mine {
  }, there{};
  return ::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

}  // namespace

const char* name_of(Liveness job) {
  switch (job) {
    case Liveness::alive:
      return "runs";
    case Liveness::dead:
      return "ended";
    default:
      return "unknown";
  }
}

std::string owner_of(const StagingInfo& info) {
  return fmt::format("host {}, process {}", info.host.empty() ? "unknown" : escaped(info.host),
                     info.pid);
}

void throw_alive(const StagingInfo& info) {
  throw Error(Errc::eperm,
              escaped(info.file) + " is being written by a job that runs (" + owner_of(info) +
                  ") and stages its writes in " + escaped(info.directory),
              "wait until that job has closed the file, or open it for reading");
}

std::string StagingControl::canonical(const std::string& dataset) {
  std::error_code code;
  // This also resolves a link to a missing file, which will later be found by its own name.
  auto path =
      std::filesystem::weakly_canonical(absolute_path(directory::end_of_links(dataset)), code);
  std::string canonical = code ? dataset : path.string();
  while (canonical.size() > 1 && canonical.ends_with('/')) canonical.pop_back();  // of a directory
  return canonical;
}

std::string StagingControl::path_of(const std::string& dataset) {
  return canonical(dataset) + ".staging";
}

std::unique_ptr<StagingControl> StagingControl::create(const StagingInfo& info) {
  const std::string path = path_of(info.file);
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) {
    if (errno != EEXIST) throw system_error(errno, Errc::ecantcreate, "creating", path);
    auto left = take_over(path);
    if (!left) return create(info);  // it was removed just now
    if (!left->begun_only_) {
      throw Error(Errc::ebadlog,
                  path + " was left by a job that ended (" + owner_of(left->info_) + ")",
                  "replay its logs with forebay recover");
    }
    file = Descriptor(std::exchange(left->fd_, -1));
    left.reset();
  }
  std::unique_ptr<StagingControl> control(new StagingControl(path, file.release()));
  const Liveness other = try_lock(control->fd_, path);
  if (other == Liveness::alive) {
    throw Error(Errc::eperm, path + " is being made by another job",
                "let one job at a time write a file");
  }
  control->locked_ = other == Liveness::dead;
  if (!is_same_file(control->fd_, path)) {
    throw Error(Errc::eperm, path + " was removed by somebody while it was made",
                "let one job at a time write a file");
  }
  control->info_ = info;
  control->info_.host = host_name();
  control->info_.pid = ::getpid();
  control->write_whole();
  return control;
}

void StagingControl::write_whole() {
  tail_ = print_tail(info_, locked_);
  const std::string whole = text();
  if (whole.size() > most_bytes)
    throw Error(Errc::einval, path_ + ": the names in it are too long");
  if (::ftruncate(fd_, 0) != 0) throw system_error(errno, Errc::ewrite, "emptying", path_);
  write_all(fd_, std::string_view(whole).substr(1), 1, path_);
  write_all(fd_, std::string_view(whole).substr(0, 1), 0, path_);
}

std::string StagingControl::text() const {
  return std::string(magic) + std::string(version) + print_progress(info_, tail_) + tail_;
}

std::unique_ptr<StagingControl> StagingControl::take_over(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0 && (errno == ENOENT || errno == ENAMETOOLONG)) return nullptr;
  if (file.get() < 0) throw system_error(errno, Errc::efile, "opening", path);
  const Liveness job = try_lock(file.get(), path);
  const Parsed parsed = read_parsed(file.get(), path);
  if (job == Liveness::alive) {
    if (!parsed.found.info.file.empty()) throw_alive(parsed.found.info);
    throw Error(Errc::eperm, path + " is in use by a job that runs", "wait until it has ended");
  }
  if (!is_same_file(file.get(), path)) return nullptr;
  if (!parsed.problem.empty()) throw_damaged(path, parsed);
  std::unique_ptr<StagingControl> control(new StagingControl(path, file.release()));
  control->locked_ = job == Liveness::dead;
  control->info_ = parsed.found.info;
  control->begun_only_ = parsed.found.begun_only;
  const std::string text = read_text(control->fd_, path);
  if (!control->begun_only_) control->tail_ = text.substr(tail_begin);
  return control;
}

std::optional<FoundStaging> StagingControl::read(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG))
    return std::nullopt;
  if (file.get() < 0) throw system_error(errno, Errc::efile, "opening", path);
  Parsed parsed = read_parsed(file.get(), path);
  if (!parsed.problem.empty()) throw_damaged(path, parsed);
  parsed.found.job = parsed.lock_held ? ask_lock(file.get()) : Liveness::unknown;
  return parsed.found;
}

void StagingControl::write_progress(std::uint64_t epoch, bool closed) {
  StagingInfo next = info_;
  next.flushed = epoch;
  next.closed = closed;
  write_all(fd_, print_progress(next, tail_), static_cast<Offset>(first_line), path_);
  info_ = std::move(next);
}

void StagingControl::sync() {
  // The bytes are those that the file has, so a kill in between does no harm.
  if (sync_failed_) write_all(fd_, text(), 0, path_);
  sync_failed_ = ::fsync(fd_) != 0;
  if (sync_failed_) throw system_error(errno, Errc::ewrite, "synchronising", path_);
}

void StagingControl::remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT)
    throw system_error(errno, Errc::ecantremove, "removing", path_);
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

StagingControl::~StagingControl() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace forebay
