#include "layout/chunked/pages_on_demand.h"

#include <algorithm>

#include "base/error.h"

namespace forebay::chunked {

PagesOnDemand::PagesOnDemand(Loaded loaded, ReadBytes read, LoadAgain again, std::size_t most)
    : read_(std::move(read)), again_(std::move(again)), most_(most) {
  take(std::move(loaded));
}

void PagesOnDemand::take(Loaded loaded) {
  loaded_ = std::move(loaded);
  LoadedIndex& index = loaded_.index;
  items_.clear();
  for (const Directory::Item& item : index.directory.items) items_[item.var] = &item;
  changes_.clear();
  for (Journal::Change& change : parse_journal(index.journal).changes) {
    change.entry.birth = index.root.generation;
    changes_[{change.var, change.id}] = change.entry;
  }
  index.journal = {};
}

std::vector<ChunkTable> PagesOnDemand::make_tables(const Schema& schema,
                                                   std::vector<ChunkTable>& tables) {
  tables_ = &tables;
  auto made = tables_without_pages(loaded_.index, schema);
  for (const auto& [var, item] : items_)
    made[static_cast<std::size_t>(var)].read_on_demand(
        item->pages.size(), [this, var = var](std::size_t page) { return load(var, page); });
  return made;
}

// Takes the present directory if there is a newer one. Tables get longer, as it may have more
// pages.
bool PagesOnDemand::is_renewed() {
  Loaded now = again_();
  if (now.index.root.generation == loaded_.index.root.generation) return false;
  take(std::move(now));
  for (const auto& [var, item] : items_) {
    if (static_cast<std::size_t>(var) >= tables_->size()) continue;  // was added since
    ChunkTable& table = (*tables_)[static_cast<std::size_t>(var)];
    table.pages().resize(std::max(table.pages().size(), item->pages.size()));
    // Pages that are held, and entries that a read has taken, may be of the state before.
    FileBoxes now = boxes_of(*item);
    now.widen(table.boxes);
    table.boxes = std::move(now);
  }
  return true;
}

std::unique_ptr<Page> PagesOnDemand::read_now(VarId var, std::size_t page) const {
  const auto item = items_.find(var);
  const bool stored = item != items_.end() && page < item->second->pages.size() &&
                      item->second->pages[page].offset != -1;
  const Count first = static_cast<Count>(page) * chunks_per_page;
  auto change = changes_.lower_bound({var, first});
  const auto end = changes_.lower_bound({var, first + chunks_per_page});
  if (!stored && change == end) return nullptr;
  auto loaded =
      stored ? read_page(read_, loaded_.index.root, item->second->pages[page], loaded_.file_size)
             : std::make_unique<Page>();
  for (; change != end; ++change) {
    const auto i = static_cast<std::size_t>(change->first.second - first);
    if (i >= loaded->entries.size()) loaded->entries.resize(i + 1);
    loaded->entries[i] = change->second;
  }
  return loaded;
}

std::unique_ptr<Page> PagesOnDemand::load(VarId var, std::size_t page) {
  std::unique_ptr<Page> loaded;
  try {
    loaded = read_now(var, page);
  } catch (const Error& error) {
    if (error.code() != Errc::enotnc || !is_renewed()) throw;
    loaded = read_now(var, page);
  }
  if (!loaded) return nullptr;
  if (held_.size() == most_) {
    const auto [of, oldest] = held_.front();
    held_.pop_front();
    (*tables_)[static_cast<std::size_t>(of)].forget(oldest);
  }
  held_.emplace_back(var, page);
  return loaded;
}

}  // namespace forebay::chunked
