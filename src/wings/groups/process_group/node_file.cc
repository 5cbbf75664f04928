#include "groups/process_group/node_file.h"

#include <atomic>
#include <new>
#include <utility>

#include "base/attempt.h"

namespace forebay::process_group {

bp::Bytes front_at(Offset end, Count alignment) {
  bp::Bytes front;
  if (end < bp::head_bytes) {
    const auto head = bp::print_head("Data");
    front.assign(head.begin(), head.end());
  }
  const Count gap = bp::gap_before_group(end + static_cast<Count>(front.size()), alignment);
  if (gap > 0) bp::append_filler(front, gap, 0);
  return front;
}

/// Memory that the ranks of a node share. The first of them writes it. The others use it only after
/// the reduction that follows. After that, `begin` does not change, and `next` only grows, except
/// in drop(), between two collective steps of all ranks.
struct NodeFile::End {
  Offset begin;              // begin of this opening's groups
  std::atomic<Offset> next;  // place of the next group
  static_assert(std::atomic<Offset>::is_always_lock_free);
};

NodeFile::NodeFile(std::unique_ptr<File> file, std::uint32_t number, Count alignment,
                   NodeMemory shared, File& folder)
    : file_(std::move(file)),
      number_(number),
      alignment_(alignment),
      shared_(std::move(shared)),
      folder_(folder) {
  static_assert(sizeof(End) == shared_bytes);
}

void NodeFile::begin_at(Offset at) {
  auto* const shared = new (shared_.data()) End{at, 0};
  shared->next = at + std::ssize(front_at(at, alignment_));
  cuts_ = true;
  kept_ = shared->next;
}

NodeFile::End& NodeFile::end() const {
  return *std::launder(reinterpret_cast<End*>(shared_.data()));
}

// Other ranks may be in their next step already. Its first groups are then kept, too.
void NodeFile::keep() {
  if (cuts_) kept_ = end().next;
}

void NodeFile::drop() {
  if (!cuts_ || end().next == kept_) return;
  end().next = kept_;
  attempt_to([&] {
    file_->ensure_open();
    if (file_->size() > kept_) file_->truncate(kept_);
  });
}

void NodeFile::open() {
  auto failed = attempt_to([&] { file_->ensure_open(); });
  if (failed) folder_.ensure_open();  // checks that the folder is the one of rank 0
  if (failed) failed = attempt_to([&] { file_->create(true); });
  if (failed) file_->ensure_open();  // another rank has created it meanwhile
  // All ranks write the same bytes, since none knows whether another has written them.
  const bp::Bytes front = front_at(end().begin, alignment_);
  const auto full = attempt_to([&] {
    if (!front.empty()) file_->write_at(end().begin, front);
  });
  if (full) attempt_to([&] { file_->close(); });
  if (full) throw *full;
  is_open_ = true;
}

Offset NodeFile::take(Count bytes) {
  if (!is_open_) open();
  return end().next.fetch_add(bytes);
}

}  // namespace forebay::process_group
