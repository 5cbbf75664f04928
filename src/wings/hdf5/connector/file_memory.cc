#include "hdf5/connector/file_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace forebay::vol {
namespace {

constexpr Count least_segment = 8 << 20, page = 64 << 10;

}  // namespace

std::byte* FileMemory::take(Count bytes) {
  if (segments_.empty() || segments_.back().bytes - used_ < bytes) {
    if (!file_) file_ = make_nameless_file(beside_, rank_, report_);
    const Count room = (std::max(bytes, least_segment) + page - 1) / page * page;
    segments_.reserve(segments_.size() + 1);
    // Without space for a page that was written to, the system would end the process.
    const int fd = file_->descriptor();
    if (const int failed = ::posix_fallocate(fd, end_, room); failed != 0)
      throw system_error(failed, Errc::ewrite, "make longer the file for writes that wait, beside",
                         beside_);
    void* const at = ::mmap(nullptr, static_cast<std::size_t>(room), PROT_READ | PROT_WRITE,
                            MAP_SHARED, fd, end_);
    if (at == MAP_FAILED) throw Error(Errc::enomem);
    segments_.push_back({static_cast<std::byte*>(at), room});
    end_ += room;
    used_ = 0;
  }
  std::byte* const taken = segments_.back().begin + used_;
  used_ += (bytes + 7) / 8 * 8;
  used_ = std::min(used_, segments_.back().bytes);
  return taken;
}

void FileMemory::clear() {
  for (const Segment& segment : segments_)
    ::munmap(segment.begin, static_cast<std::size_t>(segment.bytes));
  segments_.clear();
  file_.reset();
  end_ = used_ = 0;
}

}  // namespace forebay::vol
