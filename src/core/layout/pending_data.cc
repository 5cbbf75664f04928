#include "layout/pending_data.h"

#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay {
std::span<std::byte> PendingData::reserve(Count bytes, Offset& position) {
  if (bytes > left_) {
    const Count size = std::max(bytes, block_bytes);
    auto& blocks = size == block_bytes ? blocks_ : large_;
    if (size == block_bytes && !spare_.empty()) {
      blocks.push_back(std::move(spare_.back()));
      spare_.pop_back();
    } else {
      blocks.push_back(make_large_block(size));
    }
    free_ = blocks.back().get();
    left_ = size;
  }
  position = this->bytes();
  const std::span<std::byte> room(free_, static_cast<std::size_t>(bytes));
  const bool continues = !parts_.empty() && !parts_.back().lent &&
                         parts_.back().bytes.data() + parts_.back().bytes.size() == free_;
  if (continues)
    parts_.back().bytes = {parts_.back().bytes.data(), parts_.back().bytes.size() + room.size()};
  else
    parts_.push_back({position, room});
  free_ += bytes, left_ -= bytes, held_ += bytes;
  return room;
}

Offset PendingData::add(std::span<const std::byte> bytes) {
  Offset position = 0;
  const auto room = reserve(static_cast<Count>(bytes.size()), position);
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  return position;
}

Offset PendingData::lend(std::span<const std::byte> bytes) {
  const Offset position = this->bytes();
  parts_.push_back({position, bytes, true});
  held_ += static_cast<Count>(bytes.size());
  return position;
}

void PendingData::keep_lent() {
  for (Part& part : parts_) {
    if (!part.lent) continue;
    large_.push_back(make_large_block(std::ssize(part.bytes)));
    std::copy(part.bytes.begin(), part.bytes.end(), large_.back().get());
    part = {part.begin, {large_.back().get(), part.bytes.size()}};
  }
}

void PendingData::check_whole() const {
  if (lost_)
    throw Error(
        Errc::enomem, "data of a write that failed is lost: there was no memory for it",
        "the file cannot be flushed any more: what was flushed before is put back when it is "
        "opened again");
}

const PendingData::Part& PendingData::part_at(Offset position) const {
  return *std::prev(std::upper_bound(parts_.begin(), parts_.end(), position,
                                     [](Offset p, const Part& part) { return p < part.begin; }));
}

const std::byte* PendingData::address_of(Offset position) const {
  check_whole();
  if (position < spilled_ || parts_.empty()) return nullptr;
  const Part& part = part_at(position);
  return part.bytes.data() + (position - part.begin);
}

void PendingData::save() {
  check_whole();
  if (saved_ == bytes()) return;
  if (!file_) file_ = make_file_();
  std::vector<iovec> pieces;
  for (const Part* part = &part_at(saved_); part <= &parts_.back(); ++part) {
    const auto from = static_cast<std::size_t>(std::max<Offset>(0, saved_ - part->begin));
    const auto rest = part->bytes.subspan(std::min(from, part->bytes.size()));
    pieces.push_back({const_cast<std::byte*>(rest.data()), rest.size()});
  }
  file_->write_at(saved_, pieces);
  saved_ = bytes();
}

void PendingData::make_room(Count more) {
  if (is_full(more)) move_to_file();
}

void PendingData::move_to_file() {
  save();
  spilled_ += held_;
  held_ = 0;
  drop_parts();
}

void PendingData::write_to(ByteFile& file, Offset begin) {
  check_whole();
  if (spilled_ > 0) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(spilled_, copy_bytes)));
    for (Offset at = 0; at < spilled_;) {
      const auto part = std::span(buffer).first(
          static_cast<std::size_t>(std::min<Count>(spilled_ - at, copy_bytes)));
      read(at, part);
      file.write_at(begin + at, std::span<const std::byte>(part));
      at += static_cast<Count>(part.size());
    }
  }
  if (parts_.empty()) return;
  std::vector<iovec> pieces;
  for (const Part& part : parts_)
    if (!part.bytes.empty())
      pieces.push_back({const_cast<std::byte*>(part.bytes.data()), part.bytes.size()});
  if (!pieces.empty()) file.write_at(begin + spilled_, pieces);
}

void PendingData::read(Offset position, std::span<std::byte> into) const {
  check_whole();
  if (position < spilled_) {
    const auto part =
        into.first(std::min(into.size(), static_cast<std::size_t>(spilled_ - position)));
    if (file_->read_at(position, part) != part.size())
      throw Error(Errc::eread, "the temporary file of staged writes ends too early",
                  "it was changed while it was in use");
    into = into.subspan(part.size());
    position += static_cast<Offset>(part.size());
  }
  if (into.empty()) return;
  for (const Part* part = &part_at(position); !into.empty(); ++part) {
    const auto skip = static_cast<std::size_t>(position - part->begin);
    const std::size_t n = std::min(into.size(), part->bytes.size() - skip);
    std::memcpy(into.data(), part->bytes.data() + skip, n);
    into = into.subspan(n);
    position += static_cast<Offset>(n);
  }
}

void PendingData::clear() {
  saved_ = spilled_ = held_ = 0;
  drop_parts();
  if (file_) file_->truncate(0);
}

PendingData PendingData::give() {
  PendingData given(limit_, {});
  given.lost_ = lost_;
  std::swap(given.held_, held_);
  given.parts_.swap(parts_);
  given.blocks_.swap(blocks_);
  given.large_.swap(large_);
  free_ = nullptr, left_ = 0;
  return given;
}

void PendingData::reuse(PendingData&& done) {
  for (LargeBlock& block : done.blocks_)
    if (std::ssize(spare_) * block_bytes < limit_)
      attempt_to([&] { spare_.push_back(std::move(block)); });
}

std::uint64_t PendingData::lend_to(WriteQueue& queue, ByteFile& file, Offset begin) const {
  check_whole();
  std::uint64_t last = 0;
  for (const Part& part : parts_)
    if (!part.bytes.empty()) last = queue.lend(file, begin + part.begin, part.bytes);
  return last;
}

/// Blocks of the usual size are reused: fresh memory costs a page fault for each 4 KiB.
void PendingData::drop_parts() {
  parts_.clear();
  free_ = nullptr, left_ = 0;
  attempt_to([&] { spare_.reserve(spare_.size() + blocks_.size()); });
  for (auto& block : blocks_)
    if (static_cast<Count>(spare_.size()) * block_bytes < limit_ &&
        spare_.size() < spare_.capacity())
      spare_.push_back(std::move(block));
  blocks_.clear();
  large_.clear();
}

}  // namespace forebay
