#include "storage/file_identity.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/hash.h"
#include "storage/file_system.h"

namespace forebay {
namespace {

std::int64_t read_system() {
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<std::byte, 64> text;
  const ssize_t size = file.get() < 0 ? 0 : ::read(file.get(), text.data(), text.size());
  if (size <= 0) return 0;
  const auto known = std::span<const std::byte>(text).first(static_cast<std::size_t>(size));
  return static_cast<std::int64_t>(hash_of(known) >> 1);
}

/// Returns whether each node has its own files, if alike: in memory, on disks, and above these.
bool is_of_one_node_kind(std::uint32_t kind) {
  constexpr std::uint32_t kinds[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994, 0x858458f6,
                                     0x794c7630, 0x2fc12fc1, 0xf2f52010, 0x73717368, 0xca451a4e};
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

bool makes_up_numbers(std::uint32_t kind) {
  using namespace file_system;
  constexpr std::uint32_t kinds[] = {fuse, smb, smb2, 0x517b, plan9};
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

/// The public function below calls this. `ask` queries the file system where `mine` is.
template <typename Ask>
bool may_be(const FileIdentity& mine, const FileIdentity& file, Ask&& ask) {
  if (!file.is_known() || !mine.is_known()) return true;
  const bool alike = mine.inode == file.inode;
  const bool one_system = mine.system == file.system;
  if (alike && one_system && mine.device == file.device) return true;
  struct statfs system {};
  if (ask(system) != 0) return alike;
  const auto kind = static_cast<std::uint32_t>(system.f_type);
  if (is_of_one_node_kind(kind) && mine.system != 0 && file.system != 0) return false;
  return alike || (!one_system && makes_up_numbers(kind));
}

bool is_at(const struct stat& file, const char* path) {
  struct stat there {};
  return ::stat(path, &there) == 0 && there.st_dev == file.st_dev && there.st_ino == file.st_ino;
}

bool has_numbers(const char* path, const FileIdentity& file) {
  struct stat numbers {};
  numbers.st_dev = static_cast<dev_t>(file.device);
  numbers.st_ino = static_cast<ino_t>(file.inode);
  return is_at(numbers, path);
}

int open_if_it(const std::string& path, const FileIdentity& file, int flags) {
  Descriptor found(::open(path.c_str(), flags));
  return found.get() >= 0 && may_be(found.get(), file) ? found.release() : -1;
}

}  // namespace

std::int64_t this_system() {
  static const std::int64_t number = read_system();
  return number;
}

void FileIdentity::put(std::span<std::int64_t> numbers) const {
  const std::array all{device, inode, system, process, descriptor};
  std::copy(all.begin(), all.end(), numbers.begin());
}

FileIdentity FileIdentity::from(std::span<const std::int64_t> n) {
  return {n[0], n[1], n[2], n[3], n[4]};
}

FileIdentity identity_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
          this_system(), ::getpid(), descriptor};
}

bool may_be(int descriptor, const FileIdentity& file) {
  return may_be(identity_of(descriptor), file,
                [&](struct statfs& system) { return ::fstatfs(descriptor, &system); });
}

bool shows(const std::string& path, const FileIdentity& file) {
  struct stat status {};
  if (!file.is_known() || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  const FileIdentity found{static_cast<std::int64_t>(status.st_dev),
                           static_cast<std::int64_t>(status.st_ino), this_system()};
  return may_be(found, file,
                [&](struct statfs& system) { return ::statfs(path.c_str(), &system); });
}

bool is_of_one_node(int descriptor) {
  struct statfs system {};
  return ::fstatfs(descriptor, &system) == 0 &&
         is_of_one_node_kind(static_cast<std::uint32_t>(system.f_type));
}

std::int64_t sample_of(int descriptor) {
  constexpr Offset pieces = 16, piece = 4096;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw system_error(errno, Errc::eread, "asking of", "it");
  std::vector<std::byte> bytes(static_cast<std::size_t>(pieces * piece));
  std::size_t filled = 0;
  for (Offset i = 0; i < pieces; ++i) {
    const Offset at = std::max<Offset>(status.st_size - piece, 0) / (pieces - 1) * i;
    filled +=
        read_at(descriptor, i == pieces - 1 ? std::max<Offset>(status.st_size - piece, 0) : at,
                std::span(bytes).subspan(filled, static_cast<std::size_t>(piece)), "a file");
  }
  const std::array all{static_cast<std::uint64_t>(status.st_size),
                       hash_of(std::span<const std::byte>(bytes).first(filled))};
  return static_cast<std::int64_t>(hash_of(std::as_bytes(std::span(all))) >> 1);
}

int open_elsewhere(const std::string& path, const FileIdentity& file, int flags) {
  if (!file.is_known()) return -1;
  if (file.system == this_system()) {
    const std::string held =
        "/proc/" + std::to_string(file.process) + "/fd/" + std::to_string(file.descriptor);
    const int fd = has_numbers(held.c_str(), file) ? open_if_it(held, file, flags) : -1;
    if (fd >= 0) return fd;
  }
  constexpr int most_names = 100'000;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(folder.empty() ? "." : folder.c_str()),
                                                  ::closedir);
  for (int n = 0; names && n < most_names; ++n) {
    const dirent* const name = ::readdir(names.get());
    if (name == nullptr) break;
    if (name->d_ino != static_cast<ino_t>(file.inode)) continue;
    const int fd = open_if_it(folder + name->d_name, file, flags);
    if (fd >= 0) return fd;
  }
  return -1;
}

std::string place_of(int descriptor, const std::string& path) {
  struct stat mine {};
  if (::fstat(descriptor, &mine) != 0 || is_at(mine, path.c_str())) return path;
  char place[PATH_MAX + 1];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), place, PATH_MAX);
  if (length <= 0) return path;
  place[length] = '\0';
  return is_at(mine, place) ? place : path;
}

}  // namespace forebay
