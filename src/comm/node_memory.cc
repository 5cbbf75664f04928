#include "comm/node_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace forebay {

namespace {

struct SharedName {
  char text[64] = {};
};

int create_object(std::size_t bytes, SharedName& name) {
  static unsigned counter = 0;
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::snprintf(name.text, sizeof name.text, "/forebay-%ld-%u", static_cast<long>(::getpid()),
                  counter++);
    const int fd = ::shm_open(name.text, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) continue;
    // Reserves the pages now: touching memory that the device cannot back would be a SIGBUS.
    if (::posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0) return fd;
    ::close(fd);
    ::shm_unlink(name.text);
    return -1;
  }
  return -1;
}

std::byte* map(int fd, std::size_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

}  // namespace

NodeMemory NodeMemory::create(const Comm& node, std::size_t bytes) {
  if (node.size() == 1) return {static_cast<std::byte*>(std::calloc(1, bytes)), bytes, false};
  SharedName name;
  int fd = -1;
  if (node.is_root()) {
    fd = create_object(bytes, name);
    if (fd < 0) name.text[0] = '\0';
  }
  node.broadcast(name.text, sizeof name.text);
  if (name.text[0] == '\0') return {};
  if (!node.is_root()) fd = ::shm_open(name.text, O_RDWR, 0600);
  std::byte* data = fd < 0 ? nullptr : map(fd, bytes);
  const bool all = node.all_reduce(data != nullptr, Reduce::min) != 0;
  if (fd >= 0) ::close(fd);
  if (node.is_root()) ::shm_unlink(name.text);
  NodeMemory memory(data, data ? bytes : 0, true);
  return all ? std::move(memory) : NodeMemory{};
}

NodeMemory::NodeMemory(NodeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), mapped_(other.mapped_) {}

NodeMemory& NodeMemory::operator=(NodeMemory&& other) noexcept {
  release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = other.bytes_;
  mapped_ = other.mapped_;
  return *this;
}

NodeMemory::~NodeMemory() { release(); }

void NodeMemory::release() {
  if (!data_) return;
  if (mapped_) {
    ::munmap(data_, bytes_);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
}

}  // namespace forebay
