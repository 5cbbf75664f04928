#include "comm/node_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "comm/backend.h"

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

std::shared_ptr<std::byte> map(int fd, std::size_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (p == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(p), [bytes](std::byte* mapped) { ::munmap(mapped, bytes); }};
}

}  // namespace

NodeMemory NodeMemory::create(const Comm& node, std::size_t bytes) {
  if (node.size() == 1) {
    return NodeMemory({static_cast<std::byte*>(std::calloc(1, bytes)),
                       [](std::byte* memory) { std::free(memory); }},
                      bytes);
  }
  if (auto memory = node.backend()->memory_of_process(bytes))
    return NodeMemory(std::move(memory), bytes);
  SharedName name;
  int fd = -1;
  if (node.is_root()) {
    fd = create_object(bytes, name);
    if (fd < 0) name.text[0] = '\0';
  }
  node.broadcast(name.text, sizeof name.text);
  if (name.text[0] == '\0') return {};
  if (!node.is_root()) fd = ::shm_open(name.text, O_RDWR, 0600);
  auto data = fd < 0 ? nullptr : map(fd, bytes);
  const bool all = node.all_reduce(data != nullptr, Reduce::min) != 0;
  if (fd >= 0) ::close(fd);
  if (node.is_root()) ::shm_unlink(name.text);
  return all ? NodeMemory(std::move(data), bytes) : NodeMemory{};
}

}  // namespace forebay
