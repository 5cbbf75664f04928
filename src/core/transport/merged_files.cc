#include "transport/merged_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/attempt.h"

namespace forebay {

MergedStream::MergedStream(std::vector<std::unique_ptr<ExtentStream>> files,
                           const BundleWindows& windows)
    : windows_(windows), files_(files.size()) {
  order_.reserve(files.size());
  for (std::size_t f = 0; f < files.size(); ++f) {
    if (!files[f] || files[f]->summary().empty()) continue;
    files_[f].stream = std::move(files[f]);
    const StreamSummary one = files_[f].stream->summary();
    const auto merged = [&](Offset byte) {
      const Count window = byte / windows.size() - windows.first_of(f);
      return windows.position(f, window) * windows.size() + byte % windows.size();
    };
    const Offset first = merged(one.first), last = merged(one.last - 1) + 1;
    if (summary_.empty()) summary_.first = first;
    summary_.first = std::min(summary_.first, first);
    summary_.last = std::max(summary_.last, last);
    summary_.bytes += one.bytes;
    summary_.pieces += one.pieces;
  }
  start();
}

std::unique_ptr<ExtentStream> MergedStream::clone() const {
  std::vector<std::unique_ptr<ExtentStream>> copies(files_.size());
  for (std::size_t f = 0; f < files_.size(); ++f)
    if (files_[f].stream) copies[f] = files_[f].stream->clone();
  return std::make_unique<MergedStream>(std::move(copies), windows_);
}

void MergedStream::rewind() {
  for (Source& source : files_)
    if (source.stream) source.stream->rewind();
  start();
}

bool MergedStream::Source::fill() {
  if (at < filled) return true;
  at = 0;
  filled = stream->next(batch);
  return filled > 0;
}

bool MergedStream::settle(std::size_t file) {
  Source& source = files_[file];
  if (!source.fill()) return false;
  source.window = source.batch[source.at].offset / windows_.size();
  source.position = windows_.position(file, source.window - windows_.first_of(file));
  return true;
}

void MergedStream::start() {
  order_.clear();
  for (std::size_t f = 0; f < files_.size(); ++f) {
    if (!files_[f].stream) continue;
    files_[f].at = files_[f].filled = 0;
    if (settle(f)) order_.push_back(f);
  }
  const auto later = [&](std::size_t a, std::size_t b) {
    return files_[a].position > files_[b].position;
  };
  std::make_heap(order_.begin(), order_.end(), later);
}

std::size_t MergedStream::next(std::span<Extent> out) {
  const auto later = [&](std::size_t a, std::size_t b) {
    return files_[a].position > files_[b].position;
  };
  std::size_t n = 0;
  while (n < out.size() && !order_.empty()) {
    const std::size_t file = order_.front();
    Source& source = files_[file];
    const Offset begin = source.window * windows_.size(), end = begin + windows_.size();
    const Offset shift = source.position * windows_.size() - begin;
    bool goes_on = true;  // in this window
    while (n < out.size() && goes_on) {
      Extent& rest = source.batch[source.at];
      Extent& part = out[n++] = rest;
      part.length = std::min(rest.end(), end) - rest.offset;
      part.offset += shift;
      rest.offset += part.length;
      rest.skip += part.length;
      rest.length -= part.length;
      if (rest.length == 0) ++source.at;
      goes_on = source.fill() && source.batch[source.at].offset < end;
    }
    if (goes_on) break;
    std::pop_heap(order_.begin(), order_.end(), later);
    order_.pop_back();
    if (!settle(file)) continue;
    order_.push_back(file);
    std::push_heap(order_.begin(), order_.end(), later);
  }
  return n;
}

MergedFile::MergedFile(std::string path, std::vector<ByteFile*> files, const BundleWindows& windows,
                       WriteQueue* queue)
    : path_(std::move(path)),
      files_(std::move(files)),
      windows_(windows),
      queue_(queue),
      seeks_(queue != nullptr) {
  for (std::size_t f = 0; f < files_.size(); ++f) states_.push_back(std::make_unique<State>());
}

MergedFile::~MergedFile() {
  if (queue_) queue_->drop(*this);
}

MergedFile::Place MergedFile::place(Offset offset) const {
  const BundleWindows::Place at = windows_.at(offset / windows_.size());
  return {at.file,
          (windows_.first_of(at.file) + at.window) * windows_.size() + offset % windows_.size()};
}

// Opening a file may take as long as writing to it, and several threads may come at once.
bool MergedFile::ready(std::size_t file) {
  State& state = *states_[file];
  const std::lock_guard lock(state.mutex);
  if (state.failure) return false;
  if (state.is_open) return true;
  auto failed = attempt_to([&] { files_[file]->ensure_open(); });
  if (failed && seeks_) throw *failed;
  state.is_open = !failed;
  state.failure = std::move(failed);
  return state.is_open;
}

void MergedFile::finish_later() {
  if (!queue_ || !attempt_to([&] { queue_->drain(); })) return;
  seeks_ = false;
  queue_->drain();
}

template <typename F>
void MergedFile::attempt(std::size_t file, F&& f) {
  const auto since = [&] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - made_).count();
  };
  const std::int64_t begin = since();
  if (!ready(file)) return;
  auto failed = attempt_to(f);
  State& state = *states_[file];
  const std::lock_guard lock(state.mutex);
  state.span = {std::min(state.span.begin, begin), std::max<std::int64_t>(state.span.end, since())};
  keep_first(state.failure, std::move(failed));
}

std::size_t MergedFile::read_at(Offset offset, std::span<std::byte> into) {
  const Place at = place(offset);
  std::size_t got = 0;
  attempt(at.file, [&] { got = files_[at.file]->read_at(at.offset, into); });
  return got;
}

void MergedFile::write_at(Offset offset, std::span<iovec> pieces) {
  // A caller that writes for itself may join pieces of successive windows.
  std::vector<iovec> part;
  std::size_t at = 0;
  std::size_t done = 0;  // of pieces[at]
  while (at < pieces.size()) {
    const Offset end = (offset / windows_.size() + 1) * windows_.size();
    const auto [file, there] = place(offset);
    part.clear();
    std::int64_t written = 0;
    while (at < pieces.size() && offset < end) {
      const std::size_t bytes =
          std::min(pieces[at].iov_len - done, static_cast<std::size_t>(end - offset));
      part.push_back({static_cast<std::byte*>(pieces[at].iov_base) + done, bytes});
      offset += static_cast<Offset>(bytes);
      written += static_cast<std::int64_t>(bytes);
      done += bytes;
      if (done == pieces[at].iov_len) ++at, done = 0;
    }
    attempt(file, [&, to = there, into = file] {
      const auto begin = std::chrono::steady_clock::now();
      files_[into]->write_at(to, part);
      const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
      if (written <= largest_timed) times_.note(took.count() - written);
      const std::lock_guard lock(states_[into]->mutex);
      states_[into]->wrote_begin |= to < windows_.size();
    });
  }
}

// A later error is kept as well, so the queue keeps nothing because of it.
void MergedFile::write_data_at(Offset offset, std::span<const std::byte> from) {
  if (!writes_later()) return ByteFile::write_at(offset, from);
  queue_->add(*this, offset, from);
}

}  // namespace forebay
