#include "hdf5/log/index_pages.h"

#include <algorithm>
#include <string>

#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::logged {
namespace {

[[noreturn]] void does_not_hold(std::uint64_t dataset) {
  damaged("the checksum of dataset " + std::to_string(dataset) + "'s index does not hold");
}

}  // namespace

void IndexPages::set(IndexDirectory directory, Offset place, std::span<const std::byte> memory) {
  directory_ = std::move(directory);
  place_ = place;
  memory_ = memory;
  heads_.clear();
  pages_.clear();
  recent_.clear();
  head_memory_ = page_memory_ = 0;
}

const IndexPlace* IndexPages::place_of(std::uint64_t dataset) const {
  const auto& places = directory_.places;
  const auto at =
      std::lower_bound(places.begin(), places.end(), dataset,
                       [](const IndexPlace& p, std::uint64_t id) { return p.dataset < id; });
  return at == places.end() || at->dataset != dataset ? nullptr : &*at;
}

/// `at` counts from the beginning of the index. `room` is used if the bytes are not in memory.
std::span<const std::byte> IndexPages::bytes_at(Offset at, Count bytes,
                                                std::vector<std::byte>& room) const {
  if (!is_in_file())
    return memory_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
  return room = read_(place_ + at, bytes);
}

std::shared_ptr<const ListHead> IndexPages::head(std::uint64_t dataset) {
  if (const auto known = heads_.find(dataset); known != heads_.end()) return known->second;
  const IndexPlace* const at = place_of(dataset);
  if (at == nullptr) return nullptr;
  std::vector<std::byte> room;
  const auto bytes = bytes_at(at->place, at->head, room);
  if (hash_of(bytes) != at->hash) does_not_hold(dataset);
  auto head = std::make_shared<ListHead>(parse_head(bytes, at->bytes));
  if (head->bytes != at->head) damaged("the head of dataset " + std::to_string(dataset));
  if (head_memory_ > memory_limit_) heads_.clear(), head_memory_ = 0;
  heads_.emplace(dataset, head);
  head_memory_ += head->memory();
  return head;
}

std::span<const std::byte> IndexPages::page(std::uint64_t dataset, const ListHead& head,
                                            std::uint32_t page) {
  const PageKey key{dataset, page};
  if (const auto known = pages_.find(key); known != pages_.end()) {
    recent_.splice(recent_.begin(), recent_, known->second.use);
    return known->second.records;
  }
  std::vector<std::byte> room;
  const auto records =
      bytes_at(place_of(dataset)->place + head.page_place(page), head.page_bytes(page), room);
  if (hash_of(records) != head.hashes[page]) does_not_hold(dataset);
  if (!is_in_file()) return records;
  while (page_memory_ + std::ssize(records) > memory_limit_ && !recent_.empty()) {
    const auto oldest = pages_.find(recent_.back());
    page_memory_ -= std::ssize(oldest->second.records);
    pages_.erase(oldest);
    recent_.pop_back();
  }
  recent_.push_front(key);
  try {
    const auto kept = pages_.emplace(key, Kept{std::move(room), recent_.begin()}).first;
    page_memory_ += std::ssize(kept->second.records);
    return kept->second.records;
  } catch (...) {
    recent_.pop_front();
    throw;
  }
}

EntryList IndexPages::list(std::uint64_t dataset) {
  const IndexPlace* const at = place_of(dataset);
  if (at == nullptr) return {};
  std::vector<std::byte> room;
  const auto bytes = bytes_at(at->place, at->bytes, room);
  if (hash_of(bytes.first(static_cast<std::size_t>(at->head))) != at->hash) does_not_hold(dataset);
  return parse_list(bytes);
}

std::vector<std::uint32_t> pages_meeting(const ListHead& head, const Count* box) {
  std::vector<std::uint32_t> pages;
  for (std::uint32_t page = 0; page < head.hashes.size(); ++page)
    if (boxes_meet(&head.bounds[page * head.box_numbers()], box, head.box_dims()))
      pages.push_back(page);
  return pages;
}

void complete(const ListHead& head, std::vector<NumberedEntry>& found) {
  found.insert(found.end(), head.cuts.begin(), head.cuts.end());
  std::sort(found.begin(), found.end(),
            [](const NumberedEntry& a, const NumberedEntry& b) { return a.number < b.number; });
}

}  // namespace forebay::logged
