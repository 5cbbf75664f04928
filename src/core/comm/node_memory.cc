#include "comm/node_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/memory_at_hand.h"
#include "comm/backend.h"

namespace forebay {

std::shared_ptr<std::byte> zeroed_memory(std::size_t bytes) {
  constexpr std::size_t line = 64;
  std::size_t room = bytes + line;
  void* const memory = std::calloc(1, room);
  if (memory == nullptr) return nullptr;
  void* aligned = memory;
  std::align(line, bytes, aligned, room);
  return {static_cast<std::byte*>(aligned), [memory](std::byte*) { std::free(memory); }};
}

namespace {

/// Where the memory of the node's root is, and how to recognise it: if ranks live in containers of
/// their own, another process may have that number.
struct Address {
  std::int64_t pid = 0;  // 0: there is none
  std::int64_t fd = -1;
  std::uint64_t token = 0;  // random, and part of its name
  std::uint64_t device = 0, inode = 0, bytes = 0;
};

struct Name {
  char text[32];
  explicit Name(std::uint64_t token) {
    std::snprintf(text, sizeof text, "forebay-%016" PRIx64, token);
  }
};

bool identify(int fd, Address& address) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return false;
  address.device = status.st_dev;
  address.inode = status.st_ino;
  address.bytes = static_cast<std::uint64_t>(status.st_size);
  return true;
}

// Taking more memory than there is gives no error but a signal, to this process or another one.
bool may_take(std::size_t bytes) {
  constexpr std::size_t little = 1 << 20;  // too little to check
  rlimit largest;                          // a file beyond this limit causes a signal, too
  if (::getrlimit(RLIMIT_FSIZE, &largest) != 0 || bytes > largest.rlim_cur) return false;
  if (bytes <= little) return true;
  const auto at_hand = memory_at_hand();
  return !at_hand || bytes <= *at_hand / 2;
}

/// Makes memory in a file that was never in any directory. Nothing is left behind however this
/// process ends, and the size of /dev/shm does not matter.
Descriptor make_file(std::size_t bytes, Address& address) {
  constexpr unsigned not_executable = 8;  // MFD_NOEXEC_SEAL; unknown to Linux before 6.3
  if (!may_take(bytes) ||
      ::getrandom(&address.token, sizeof address.token, GRND_NONBLOCK) != sizeof address.token)
    return Descriptor();
  const Name name(address.token);
  Descriptor file(::memfd_create(name.text, MFD_CLOEXEC | not_executable));
  if (file.get() < 0 && errno == EINVAL) file = Descriptor(::memfd_create(name.text, MFD_CLOEXEC));
  // Reserves the pages now: touching memory that the system cannot back would be a SIGBUS.
  if (file.get() < 0 || ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) != 0 ||
      !identify(file.get(), address))
    return Descriptor();
  address.pid = ::getpid();
  address.fd = file.get();
  return file;
}

/// Opens the file of another process. Checks its name first: to open a device of a stranger may do
/// something already.
Descriptor open_file(const Address& address) {
  const std::string path =
      "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.fd);
  const std::string wanted = std::string("/memfd:") + Name(address.token).text;
  char found[64];
  const auto length = ::readlink(path.c_str(), found, sizeof found);
  if (length < 0 || !std::string(found, static_cast<std::size_t>(length)).starts_with(wanted))
    return Descriptor();
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  Address opened;
  const bool same = file.get() >= 0 && identify(file.get(), opened) &&
                    opened.device == address.device && opened.inode == address.inode &&
                    opened.bytes == address.bytes;
  return same ? std::move(file) : Descriptor();
}

std::shared_ptr<std::byte> map(const Descriptor& file, std::size_t bytes) {
  if (file.get() < 0) return nullptr;
  // The pages exist already. Each of many ranks touches a small part. Mapping all of it in each
  // rank at once (MAP_POPULATE) took a fifth of the time of a write by 16 ranks.
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (p == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(p), [bytes](std::byte* mapped) { ::munmap(mapped, bytes); }};
}

std::shared_ptr<std::byte> share_between_processes(const Comm& node, std::size_t bytes) {
  Address address;
  Descriptor file;
  std::shared_ptr<std::byte> memory;
  // A rank that fails has no file or no memory, and still takes part.
  if (node.is_root()) attempt_to([&] { file = make_file(bytes, address); });
  node.broadcast(&address, sizeof address);
  if (address.pid == 0) return nullptr;
  attempt_to([&] {
    if (!node.is_root()) file = open_file(address);
    memory = map(file, bytes);
  });
  // Until this reduction, the root's descriptor is open: the others open it by its number.
  const bool all = node.all_reduce(memory != nullptr, Reduce::min) != 0;
  return all ? memory : nullptr;
}

}  // namespace

NodeMemory NodeMemory::create(const Comm& node, std::size_t bytes) {
  std::shared_ptr<std::byte> memory;
  if (node.size() == 1)
    attempt_to([&] { memory = zeroed_memory(bytes); });
  else
    memory = node.backend()->memory_of_process(bytes);
  if (!memory && node.size() > 1) memory = share_between_processes(node, bytes);
  return NodeMemory(std::move(memory), bytes);
}

}  // namespace forebay
