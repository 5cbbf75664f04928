#include "store/journal_writer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "store/journal_places.h"

namespace forebay::journal {
namespace {

/// The limit for the memory of entries that is kept between commits.
constexpr std::size_t most_kept = 4 << 20;

}  // namespace

Writer::Writer(std::unique_ptr<ByteFile> records, std::unique_ptr<ByteFile> data,
               const Header& header, const State& state)
    : records_(std::move(records)), data_(std::move(data)), header_(header), state_(state) {
  state_.first_entry = header_bytes;
  end_.sequence = state_.first_sequence;
  added_ = live_ = freed_ = end_;
  const Share& share = header_.share;
  auto front = print_header(header_);
  const auto slot = print_state(state_, header_.session);
  std::copy(slot.begin(), slot.end(), front.begin() + slot_of(state_.serial));
  // The record log is written last, so that a readable log has both files.
  data_->write_at(place_of(0, share, share.data_block).offset, print_identification(header_));
  records_->write_at(place_of(0, share, share.record_block).offset, front);
}

Data Writer::facts_of(std::span<const iovec> pieces) const {
  Data data{added_.data, 0, hash_of(pieces)};
  for (const iovec& p : pieces) data.bytes += static_cast<Count>(p.iov_len);
  return data;
}

void Writer::add_data(std::span<const iovec> pieces, Count bytes) {
  for (const iovec& p : pieces) {
    if (p.iov_len == 0) continue;
    if (!pieces_.empty() &&
        static_cast<std::byte*>(pieces_.back().iov_base) + pieces_.back().iov_len == p.iov_base) {
      pieces_.back().iov_len += p.iov_len;
    } else {
      pieces_.push_back(p);
    }
  }
  added_.data += bytes;
}

void Writer::commit() {
  if (entries_.empty()) return;
  added_.entry = end_.entry + std::ssize(entries_);
  const Share& share = header_.share;
  try {
    // A state that failed may be in the file. If it restarts the log, nobody looks for entries
    // here.
    if (in_doubt_) write_state(state_);
    if (!pieces_.empty()) write_log(*data_, end_.data, pieces_, share, share.data_block, scratch_);
    iovec entries{entries_.data(), entries_.size()};
    write_log(*records_, end_.entry, {&entries, 1}, share, share.record_block, scratch_);
  } catch (...) {
    take_back();
    throw;
  }
  end_ = added_;
  forget();
}

void Writer::forget() {
  added_ = end_;
  pieces_.clear();
  entries_.clear();
  if (entries_.capacity() > most_kept) entries_.shrink_to_fit();
}

/// Makes `next` the state. A state in doubt has the same serial, so it is overwritten.
void Writer::write_state(const State& next) {
  State numbered = next;
  numbered.serial = state_.serial + 1;
  const Share& share = header_.share;
  const Place slot = place_of(slot_of(numbered.serial), share, share.record_block);
  in_doubt_ = true;
  records_->write_at(slot.offset, print_state(numbered, header_.session));
  in_doubt_ = false;
  state_ = numbered;
}

/// To be called after a failed commit. The file may hold whole entries of it. They are removed as
/// far as possible. Later entries have a higher number of failed commits, so none of the old ones
/// can follow them.
void Writer::take_back() noexcept {
  ++failed_;
  try {
    if (header_.share.parts == 1) {
      records_->truncate(end_.entry);
      data_->truncate(end_.data);
    } else {
      std::fill(entries_.begin(), entries_.end(), std::byte{0});
      iovec zeros{entries_.data(), entries_.size()};
      write_log(*records_, end_.entry, {&zeros, 1}, header_.share, header_.share.record_block,
                scratch_);
    }
  } catch (const Error&) {
    // The first error is the one to report.
  }
  forget();
}

Mark Writer::mark() {
  if (!entries_.empty())
    throw Error(Errc::einternal, "a mark in log " + records_->path() + " amid a commit");
  return end_;
}

void Writer::drop(const Mark& mark, const State& state, bool keep) {
  if (mark.sequence < live_.sequence || mark.sequence > end_.sequence || mark.entry < live_.entry ||
      mark.entry > end_.entry || mark.data < live_.data || mark.data > end_.data)
    throw Error(Errc::einternal, "a mark of another time in log " + records_->path());
  const bool restarts = header_.share.parts == 1 && !keep && mark == end_ && entries_.empty();
  State next = state;
  next.first_sequence = mark.sequence;
  next.first_entry = restarts ? header_bytes : mark.entry;
  write_state(next);
  // From here on the entries do not count, whether or not their space can be freed.
  live_ = mark;
  if (restarts) {
    restart();
  } else if (!keep) {
    free_before(mark);
  }
}

void Writer::restart() {
  end_.entry = header_bytes;
  end_.data = data_begin;
  added_ = live_ = freed_ = end_;
  try {
    records_->truncate(header_bytes);
    data_->truncate(data_begin);
  } catch (const Error&) {
    // Only space is lost for a while, because the entries left there are old ones.
  }
}

void Writer::free_before(const Mark& mark) {
  const Share& share = header_.share;
  try {
    if (freed_.entry == header_bytes && mark.entry > header_bytes) {
      // Without the front of the first entry nobody takes the rest for entries that were kept.
      const std::byte zeros[least_entry] = {};
      const Place front = place_of(header_bytes, share, share.record_block);
      records_->write_at(front.offset, zeros);
    }
    releases_ = releases_ &&
                release_log(*records_, freed_.entry, mark.entry, share, share.record_block) &&
                release_log(*data_, freed_.data, mark.data, share, share.data_block);
  } catch (const Error&) {
    releases_ = false;
  }
  // A page that is still partly in use is given back at the next call.
  freed_.entry = std::max(freed_.entry, mark.entry / page_bytes * page_bytes);
  freed_.data = std::max(freed_.data, mark.data / page_bytes * page_bytes);
}

void Writer::sync() {
  data_->sync();
  records_->sync();
  if (has_name_) return;
  path_sync_.folder_of(records_->path());
  has_name_ = true;
}

void Writer::read(const Data& data, std::span<std::byte> into) {
  read_data(*data_, data, into, header_.share);
}

}  // namespace forebay::journal
