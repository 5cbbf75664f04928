#include "layout/chunked/chunk_store.h"

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"

namespace forebay::chunked {

/// The state of a store before a change that may fail on one rank alone.
struct ChunkStore::Saved {
  struct SavedPage {
    std::size_t entries = 0;
    BlockRef place;
    std::uint32_t birth = 0;
    bool exists = false, dirty = false;
  };
  struct OldEntry {
    VarId var;
    Count id;
    Entry entry;
  };
  enum class State { as_it_was, at_risk, published };

  State state = State::as_it_was;
  std::vector<std::vector<SavedPage>> tables;
  std::vector<FileBoxes> boxes;
  std::vector<OldEntry> entries;  // in the order in which they were replaced
  Spaces spaces;
  std::size_t until_published, until_synced, changed, renewed;
  std::vector<bool> listed;
  bool dirty;
};

ChunkStore::ChunkStore(Schema& schema, ExtentIo& io, const Comm& comm)
    : schema_(schema), io_(&io), comm_(comm) {}
ChunkStore::~ChunkStore() = default;

ChunkStore::WayBack::WayBack(std::span<const Changed> all) : all_(all) {
  std::vector<std::unique_ptr<Saved>> saved;
  for (const Changed& each : all) {
    ChunkStore& store = *each.store;
    auto its = std::make_unique<Saved>();
    for (const ChunkTable& table : store.tables_) {
      its->boxes.push_back(table.boxes);
      auto& pages = its->tables.emplace_back();
      pages.reserve(table.pages().size());
      for (const auto& page : table.pages())
        pages.push_back(page ? Saved::SavedPage{page->entries.size(), page->place, page->birth,
                                                true, page->dirty}
                             : Saved::SavedPage{});
    }
    its->spaces = {store.space_, store.spaces_};
    its->until_published = store.until_published_.size();
    its->until_synced = store.until_synced_.size();
    its->changed = store.changed_.size();
    its->renewed = store.renewed_.size();
    its->listed = store.listed_;
    its->dirty = store.dirty_;
    saved.push_back(std::move(its));
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].store->saved_ = std::move(saved[i]);
}

ChunkStore::WayBack::~WayBack() {
  for (const Changed& each : all_) each.store->saved_.reset();
}

void ChunkStore::go_back() noexcept {
  Saved& was = *saved_;
  for (auto old = was.entries.rbegin(); old != was.entries.rend(); ++old)
    if (table(old->var).get(old->id).present() || old->entry.present())
      table(old->var).set(old->id) = old->entry;  // it exists, so no memory is needed
  for (std::size_t v = 0; v < tables_.size(); ++v) {
    tables_[v].boxes = std::move(was.boxes[v]);
    auto& pages = tables_[v].pages();
    const auto& before = was.tables[v];
    pages.resize(before.size());
    for (std::size_t p = 0; p < before.size(); ++p) {
      if (!before[p].exists) {
        pages[p].reset();
        continue;
      }
      pages[p]->entries.resize(before[p].entries);
      pages[p]->place = before[p].place;
      pages[p]->birth = before[p].birth;
      pages[p]->dirty = before[p].dirty;
    }
  }
  space_ = std::move(was.spaces.of_index);
  spaces_.swap(was.spaces.of_data);
  until_published_.resize(was.until_published);
  until_synced_.resize(was.until_synced);
  changed_.resize(was.changed);
  renewed_.resize(was.renewed);
  listed_.swap(was.listed);
  dirty_ = was.dirty;
  count_index();
  journal_ends_ = true;  // its hash may include the record that failed
}

void ChunkStore::go_back_or_tear(const Error& why) noexcept {
  if (!saved_ || saved_->state == Saved::State::at_risk) return tear(why);
  if (saved_->state == Saved::State::as_it_was) go_back();
}

void ChunkStore::create(Offset root) {
  root_ = root;
  space_ = FileSpace(root + slots * slot_bytes, {});
  spaces_.clear();
  tables_.clear();
  grow(schema_.vars.size());
  commits_ = {{}, slots - 1};
  dirty_ = true;
  publish();
}

namespace {

/// An index of up to this many bytes is always written whole, without a journal.
constexpr Count cheap_index = 1024;

/// Ranges of each file, by its number in entries.
using Used = std::map<std::uint32_t, std::vector<FileSpace::Range>>;

void add_used(const LoadedIndex& index, const std::vector<ChunkTable>& tables, Used& used) {
  each_place(index, tables, [&](Offset offset, Count bytes, std::uint32_t file) {
    used[file].push_back({offset, offset + bytes});
  });
}

void send(const Comm& comm, LoadedIndex& index) {
  auto root = print_root(index.root);
  auto directory = comm.is_root() ? print_directory(index.directory) : std::vector<std::byte>{};
  comm.broadcast(root.data(), root.size());
  comm.broadcast(&index.slot, sizeof index.slot);
  comm.broadcast(&index.last_generation, sizeof index.last_generation);
  comm.broadcast(&index.damaged, sizeof index.damaged);
  comm.broadcast(directory);
  comm.broadcast(index.pages);
  comm.broadcast(index.journal);
  if (comm.is_root()) return;
  index.root = *parse_root(root);
  index.directory = parse_directory(directory, INT64_MAX);
}

}  // namespace

bool ChunkStore::load(Offset root, Offset file_size, OpenState state,
                      const std::function<Offset()>& size_to_read) {
  const bool to_write = !size_to_read;
  root_ = root;
  const ReadBytes read = [this](Offset offset, Count bytes) {
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    ListStream stream({{offset, bytes, out.data(), 0, 1}});
    io_->read(stream);
    return out;
  };
  LoadedIndex newest, synced;
  bool two = false;
  by_root(comm_, [&] {
    newest = read_index(read, root, file_size, state, !to_write);
    if (newest.root.synced || !to_write) return;
    // The synced state must not be overwritten either, if it is another one.
    const auto none = attempt_to([&] {
      synced = read_index(read, root, file_size, OpenState::synced);
      two = true;
    });
    if (none && none->code() != Errc::enotnc) throw *none;
  });
  std::int64_t facts[2] = {file_size, two};
  comm_.broadcast(facts, sizeof facts);
  send(comm_, newest);
  if (facts[1]) send(comm_, synced);

  root_state_ = newest.root;
  shift_ = newest.root.shift;
  root_state_.generation = newest.last_generation;
  numrecs_ = newest.directory.numrecs;
  check_records(numrecs_, schema_);
  const bool is_newest = newest.is_newest();
  if (to_write) {
    tables_ = tables_of(newest, schema_);
    narrow_boxes();
    find_space(newest, facts[1] != 0 ? &synced : nullptr);
  } else {
    const auto again = [this, read, state, size_to_read] {
      const Offset size = size_to_read();
      return PagesOnDemand::Loaded{read_index(read, root_, size, state, true), size};
    };
    pages_ = std::make_unique<PagesOnDemand>(PagesOnDemand::Loaded{std::move(newest), facts[0]},
                                             read, again);
    tables_ = pages_->make_tables(schema_, tables_);
  }
  tell(tables_, numrecs_, schema_);
  return is_newest;
}

void ChunkStore::find_space(const LoadedIndex& newest, const LoadedIndex* synced) {
  // Blocks that a synced state may refer to stay until the next one.
  const bool any_synced = newest.root.synced || synced != nullptr;
  directory_birth_ = newest.last_generation;
  synced_generation_ = any_synced ? newest.last_generation : 0;
  const int synced_slot = newest.root.synced ? newest.slot : synced != nullptr ? synced->slot : -1;
  commits_ = {newest.root, newest.slot, synced_slot, newest.damaged};
  journal_ = {newest.root.journal.offset, newest.root.journal.bytes};
  journal_ends_ = true;  // it is unknown how much was reserved
  listed_.assign(tables_.size(), false);
  for (const Directory::Item& item : newest.directory.items)
    listed_[static_cast<std::size_t>(item.var)] = true;
  count_index();
  Used used;
  add_used(newest, tables_, used);
  if (synced != nullptr) add_used(*synced, tables_of(*synced, schema_), used);
  for (const Variable& var : schema_.vars) {
    if (apart_) break;
    const Count bytes = var.chunking ? size_of(var.type) : var.inner_bytes();
    used[0].push_back({var.begin - shift_, var.begin - shift_ + bytes});
  }
  space_ = FileSpace(root_ - shift_ + slots * slot_bytes, std::move(used[0]));
  spaces_.clear();
  for (auto& [file, ranges] : used)
    if (file != 0) spaces_.emplace(file, FileSpace(first_in_data_file, std::move(ranges)));
}

void ChunkStore::adopt(std::vector<ChunkTable> tables, std::vector<FileSpace::Range> used) {
  tables_ = std::move(tables);
  free_all_but(std::move(used));
  listed_.assign(tables_.size(), true);
  count_index();
  synced_generation_ = root_state_.generation;
  numrecs_ = schema_.numrecs;
}

void ChunkStore::free_all_but(std::vector<FileSpace::Range> used) {
  for (const ChunkTable& table : tables_)
    table.for_each([&](Count, const Entry& e) { used.push_back({e.offset, e.offset + e.bytes}); });
  for (const auto* waiting : {&until_published_, &until_synced_})
    for (const Retired& r : *waiting) used.push_back({r.offset, r.offset + r.bytes});
  space_ = FileSpace(0, std::move(used));
}

// Chunks that were written anew may have left a file.
void ChunkStore::narrow_boxes() {
  for (ChunkTable& table : tables_) {
    if (!table.boxes.has_grid() || !table.boxes.knows_entries()) continue;
    table.boxes.clear();
    table.for_each([&](Count id, const Entry& e) {
      if (e.file != 0) table.boxes.add(id, e.file);
    });
  }
}

// The first and the last unit that a chunk of adopt() touches may hold something else, too.
ChunkStore::Retired ChunkStore::whole_units(const Entry& e) {
  const Offset begin = round_up(e.offset, FileSpace::unit);
  return {begin, (e.offset + e.bytes) / FileSpace::unit * FileSpace::unit - begin, e.file};
}

void ChunkStore::overrule() {
  Root same = commits_.state();
  same.generation = root_state_.generation = store::next_number(root_state_.generation);
  same.synced = false;
  by_root(comm_, [&] { write_state(same); });
  commits_.written(same);
}

void ChunkStore::grow(std::size_t variables) {
  tables_.resize(variables);
  listed_.resize(variables);
}

void ChunkStore::count_index() {
  index_bytes_ = 0;
  for (const ChunkTable& table : tables_) index_bytes_ += table.bytes();
}

void ChunkStore::give_up(const std::string& why) {
  tables_.clear();
  tables_.resize(schema_.vars.size());
  for (ChunkTable& table : tables_) table.fault = why;
}

FileSpace& ChunkStore::space_of(std::uint32_t file) {
  if (file == 0) return space_;
  return spaces_.try_emplace(file, first_in_data_file, std::vector<FileSpace::Range>{})
      .first->second;
}

FileSpace ChunkStore::copy_of_space(std::uint32_t file) const {
  if (file == 0) return space_;
  const auto its = spaces_.find(file);
  return its == spaces_.end() ? FileSpace(first_in_data_file, {}) : its->second;
}

std::vector<std::uint32_t> ChunkStore::data_files() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [file, space] : spaces_) numbers.push_back(file - 1);
  return numbers;
}

Offset ChunkStore::end_of_data(std::uint32_t number) const {
  const auto its = spaces_.find(number + 1);
  return its == spaces_.end() ? first_in_data_file : its->second.end();
}

void ChunkStore::retire(const Retired& place, std::uint32_t birth) {
  (birth <= synced_generation_ ? until_synced_ : until_published_).push_back(place);
}

void ChunkStore::replace(VarId var, Count id, Entry entry) {
  ChunkTable& its = table(var);
  if (!entry.present() && !its.get(id).present()) return;  // a level of a chunk without details
  if (saved_) saved_->entries.push_back({var, id, its.get(id)});
  if (!listed_[static_cast<std::size_t>(var)]) shape_chosen(var);
  index_bytes_ -= its.bytes_around(id);
  Entry& e = its.set(id);
  index_bytes_ += its.bytes_around(id);
  if (entry.present() && entry.file != 0) {
    if (!its.boxes.has_grid()) its.boxes = boxes_of(item_of(var));
    its.boxes.add(id, entry.file);
  }
  changed_.emplace_back(var, id);
  // No publication refers to this chunk yet, but a write to it may be under way.
  if (e.present() && may_lie(e) && !place_of_) {
    if (e.birth > root_state_.generation) {
      give_back(e, true);
    } else if (!by_others_ || e.birth > 0) {
      retire({e.offset, e.bytes, e.file}, e.birth);
    } else if (const Retired place = whole_units(e); place.bytes > 0) {
      retire(place, e.birth);
    }
  }
  entry.birth = root_state_.generation + 1;
  e = entry;
  dirty_ = wrote_ = true;
}

void ChunkStore::renew_index() {
  for (ChunkTable& table : tables_)
    for (auto& page : table.pages())
      if (page) page->dirty = true;
  dirty_ = true;
}

std::vector<ChunkStore::Move> ChunkStore::make_moves(
    const std::function<Count(std::uint32_t file)>& most) {
  struct InFile {
    FileSpace* space;
    std::vector<Move> chunks;
    std::vector<BytesInUse> in_use;
  };
  std::map<std::uint32_t, InFile> files;
  const auto look_at = [&](std::uint32_t file, FileSpace& space) {
    if (space.free_bytes() >= least_to_compact) files.emplace(file, InFile{&space, {}, {}});
  };
  if (!apart_) look_at(0, space_);
  if (apart_)
    for (auto& [file, space] : spaces_) look_at(file, space);
  if (files.empty()) return {};
  for (std::size_t v = 0; v < tables_.size(); ++v)
    tables_[v].for_each([&](Count id, const Entry& e) {
      const auto its = files.find(e.file);
      if (its == files.end() || !may_lie(e)) return;
      its->second.chunks.push_back({static_cast<VarId>(v), id, e, -1});
      its->second.in_use.push_back({e.offset, e.bytes, e.birth <= synced_generation_});
    });
  std::vector<Move> moves;
  for (auto& [file, its] : files)
    for (const SpaceMove& planned : plan_compaction(its.in_use, most(file), *its.space)) {
      moves.push_back(its.chunks[planned.which]);
      moves.back().to = planned.to;
    }
  return moves;
}

void ChunkStore::shape_chosen(VarId var) {
  renewed_.push_back(var);
  listed_[static_cast<std::size_t>(var)] = true;
  dirty_ = true;
}

void ChunkStore::moved(Count bytes) {
  shift_ += bytes;
  root_ += bytes;
  dirty_ = true;
}

Directory::Item ChunkStore::item_of(VarId var) const {
  const Variable& v = schema_.vars[static_cast<std::size_t>(var)];
  const ChunkTable& its = table(var);
  // A program's own shape is in the header; the table has it once it was chosen or loaded.
  const auto& shape = its.shape.empty() ? v.chunking->shape : its.shape;
  return {var, v.type, v.shape, v.chunking->codec, shape, its.reason, {}, {}};
}

// The record is placed after the records that the published state refers to.
std::optional<ChunkStore::Block> ChunkStore::lay_out_record(Root& root) {
  const Count used = std::max<Count>(root_state_.journal.bytes, 0);
  const Count room = journal_ends_ ? 0 : journal_.bytes - used;
  if (static_cast<Count>(changed_.size()) * entry_bytes > room) return std::nullopt;
  Journal record;
  record.end = space_.end();
  record.numrecs = schema_.numrecs;
  for (const VarId var : renewed_) record.items.push_back(item_of(var));
  for (const auto& [var, id] : changed_) record.changes.push_back({var, id, table(var).get(id)});
  const Count bytes = printed_bytes(record);
  const Offset at = journal_.offset + used;
  // A reader allocates memory for the pages only if the size of the file accounts for it.
  if (bytes > room || index_bytes_ > at + bytes) return std::nullopt;
  root.directory = root_state_.directory;
  root.journal = {journal_.offset, used + bytes, 0};
  Block block{at, {}, {-1, 0}};
  if (comm_.is_root()) {
    block.bytes = print_journal(record);
    journal_hash_.add(block.bytes);
    root.journal.hash = journal_hash_.value();
  }
  return block;
}

// Changed pages and the directory lie next to each other if there is room. Then one system call
// writes them.
ChunkStore::Block ChunkStore::lay_out_index(Root& root, bool with_journal) {
  struct Changed {
    Page* page;
    Count bytes;
  };
  std::vector<Changed> changed;
  Count total = 0;
  for (ChunkTable& table : tables_) {
    for (auto& page : table.pages()) {
      if (!page || !page->dirty) continue;
      if (page->place.offset >= 0) retire({page->place.offset, page->place.bytes}, page->birth);
      changed.push_back({page.get(), printed_bytes(*page)});
      total += changed.back().bytes;
    }
  }
  Directory directory;
  directory.numrecs = schema_.numrecs;
  for (std::size_t v = 0; v < tables_.size(); ++v) {
    if (tables_[v].shape.empty() && tables_[v].pages().empty()) continue;
    directory.items.push_back(item_of(static_cast<VarId>(v)));
    // If the header and the index disagree about lengths, boxes may be none that a reader takes.
    Directory::Item& item = directory.items.back();
    const FileBoxes grid(item.lengths, item.shape, 1);
    for (const auto& [file, box] : tables_[v].boxes.boxes())
      if (grid.is_possible(box)) item.boxes.emplace(file, box);
    listed_[v] = true;
  }
  // The size of the directory is known before its contents.
  for (auto& item : directory.items) item.pages.resize(table(item.var).pages().size());
  const auto directory_bytes = static_cast<Count>(print_directory(directory).size());
  Offset at = space_.allocate(total + directory_bytes);
  Block block{at, {}, {-1, 0}};
  if (with_journal && total + directory_bytes > cheap_index) {
    block.journal.bytes = total + directory_bytes;
    block.journal.offset = space_.allocate(block.journal.bytes);
  }
  // Rank 0 prints. The other ranks need only the places.
  const bool prints = comm_.is_root();
  for (Changed& c : changed) {
    // All chunks of a page may be absent by now. The directory refers to no empty page.
    c.page->place = c.bytes == 0 ? BlockRef{} : BlockRef{at, c.bytes, 0};
    c.page->birth = root.generation;
    c.page->dirty = false;
    at += c.bytes;
    if (!prints || c.bytes == 0) continue;
    const auto printed = print_page(*c.page);
    c.page->place.hash = hash_of(printed);
    block.bytes.insert(block.bytes.end(), printed.begin(), printed.end());
  }
  root.directory = {at, directory_bytes, 0};
  if (!prints) return block;
  for (auto& item : directory.items) {
    const auto& pages = table(item.var).pages();
    for (std::size_t p = 0; p < pages.size(); ++p)
      item.pages[p] = pages[p] ? pages[p]->place : BlockRef{};
  }
  directory.end = space_.end();
  const auto printed = print_directory(directory);
  root.directory.hash = hash_of(printed);
  block.bytes.insert(block.bytes.end(), printed.begin(), printed.end());
  return block;
}

void ChunkStore::write(Offset in_file, std::span<std::byte> bytes) {
  ListStream stream({{in_file, static_cast<Count>(bytes.size()), bytes.data(), 0, 1}});
  io_->write(stream);
}

void ChunkStore::write_root(int slot, const Root& root) {
  if (by_others_) return;
  auto bytes = print_root(root);
  write(root_ + slot * slot_bytes, bytes);
}

void ChunkStore::tear(const Error& why) {
  torn_ = Error(why.code());
  attempt_to([&] {  // with a message, if there is memory for it
    torn_ = Error(why.code(),
                  "an earlier operation on chunked variables failed on one rank while all changed "
                  "the index of chunks: " +
                      why.message(),
                  "close the file and open it again; it has what was published before");
  });
  if (why.is_of_others()) std::move(*torn_).as_of_others();
}

void ChunkStore::publish(const Comm& comm, std::span<const Changed> all) {
  for (const Changed& each : all) each.store->require_whole();
  const auto has_news = [](const Changed& each) { return each.store->has_news(each.whole); };
  if (std::none_of(all.begin(), all.end(), has_news)) return;
  std::optional<WayBack> way_back;
  if (all.size() > 1) way_back.emplace(all);
  change(comm, all, [&] { return publish_changes(comm, all); });
}

bool ChunkStore::has_news(bool whole) const {
  return dirty_ || numrecs_ != schema_.numrecs || (whole && root_state_.journal.offset >= 0);
}

std::optional<ChunkStore::Publication> ChunkStore::lay_out(bool whole) {
  if (!has_news(whole)) return std::nullopt;
  Publication news{next_root(), root_state_, {}, false, {}};
  if (by_others_) {
    if (saved_) news.after = spaces_after(news);
    return news;
  }
  std::optional<Block> record;
  if (!whole) record = lay_out_record(news.root);
  news.whole = !record;
  news.block = record ? std::move(*record) : lay_out_index(news.root, !whole);
  if (saved_) news.after = spaces_after(news);
  return news;
}

// Computes the free space in advance, so that is_published() need not release anything.
ChunkStore::Spaces ChunkStore::spaces_after(const Publication& news) const {
  Spaces after{space_, spaces_};
  const auto release = [&](const Retired& place) {
    FileSpace& its = place.file == 0 ? after.of_index
                                     : after.of_data
                                           .try_emplace(place.file, first_in_data_file,
                                                        std::vector<FileSpace::Range>{})
                                           .first->second;
    its.release(place.offset, place.bytes);
  };
  for (const Retired& place : until_published_) release(place);
  if (!news.whole || directory_birth_ <= synced_generation_) return after;
  const BlockRef& directory = news.before.directory;
  if (directory.offset >= 0) release({directory.offset, directory.bytes});
  if (journal_.offset >= 0) release(journal_);
  return after;
}

// From here on the file may show the new state. Nothing that follows needs memory.
void ChunkStore::no_way_back() {
  if (saved_) saved_->state = Saved::State::at_risk;
}

// This bounds the printed bytes of several files in memory. All ranks know the sizes alike.
std::optional<Error> ChunkStore::publish_changes(const Comm& comm, std::span<const Changed> all) {
  constexpr Count most_printed = 8 << 20;
  while (!all.empty()) {
    std::size_t n = 0;
    Count bytes = 0;
    do {
      bytes += all[n++].store->index_bytes_;
    } while (n < all.size() && bytes + all[n].store->index_bytes_ <= most_printed);
    if (auto failed = publish_group(comm, all.first(n))) return failed;
    all = all.subspan(n);
  }
  return std::nullopt;
}

std::optional<Error> ChunkStore::publish_group(const Comm& comm, std::span<const Changed> all) {
  std::vector<std::optional<Publication>> news;
  for (const Changed& each : all) news.push_back(each.store->lay_out(each.whole));
  const auto each_news = [&](auto&& f) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (news[i]) f(*all[i].store, *news[i]);
  };
  std::optional<Error> mine;
  bool any = false, may_go_back = false;
  each_news([&](ChunkStore& store, const Publication& /*its*/) {
    any = true;
    may_go_back = may_go_back || store.saved_;
    // This is memory for is_published() and undo().
    store.until_published_.reserve(store.until_published_.size() + 2);
    store.until_synced_.reserve(store.until_synced_.size() + 2);
  });
  if (may_go_back) comm.meet();
  each_news([&](ChunkStore& store, const Publication& /*its*/) { store.no_way_back(); });
  each_news([&](ChunkStore& store, Publication& its) {
    if (comm.is_root()) attempt_into(mine, [&] { store.write(its); });
    store.root_state_ = its.root;
  });
  if (!any) return std::nullopt;
  auto failed = worst_of_all(comm, mine);
  each_news([&](ChunkStore& store, Publication& its) {
    failed ? store.undo(its) : store.is_published(its);
    if (store.saved_) store.saved_->state = Saved::State::published;
  });
  return failed;
}

Root ChunkStore::next_root() const {
  Root root;
  root.generation = store::next_number(root_state_.generation);
  root.shift = shift_;
  return root;
}

void ChunkStore::write(Publication& news) {
  if (by_others_) return;
  write(in_file(news.block.offset), news.block.bytes);
  write_state(news.root);
}

void ChunkStore::write_state(const Root& root) {
  commits_.write(root, [this](int slot, const Root& its) { write_root(slot, its); });
}

void ChunkStore::is_published(Publication& news) {
  if (news.whole) {
    const BlockRef& directory = news.before.directory;
    if (directory.offset >= 0) retire({directory.offset, directory.bytes}, directory_birth_);
    if (journal_.offset >= 0) retire(journal_, directory_birth_);
    directory_birth_ = news.root.generation;
    journal_ = news.block.journal;
    journal_hash_.reset();
    journal_ends_ = false;
  }
  commits_.written(news.root);
  dirty_ = false;
  changed_.clear();
  renewed_.clear();
  numrecs_ = schema_.numrecs;
  if (news.after) {
    space_ = std::move(news.after->of_index);
    spaces_.swap(news.after->of_data);
  } else {
    for (const Retired& r : until_published_) release(r);
  }
  until_published_.clear();
}

// The old state is still the file's. The next publication writes all of this one again, in another
// place, because its root may have reached the file after all.
void ChunkStore::undo(const Publication& news) {
  const std::uint32_t failed = root_state_.generation;
  const BlockRef directory = std::exchange(root_state_.directory, news.before.directory);
  root_state_.journal = news.before.journal;
  journal_ends_ = true;
  if (!news.whole) return;
  retire({directory.offset, directory.bytes}, failed);
  if (news.block.journal.offset >= 0) retire(news.block.journal, failed);
  for (ChunkTable& table : tables_) {
    for (auto& page : table.pages()) {
      if (page && page->birth == failed) page->dirty = true;
    }
  }
}

bool ChunkStore::mark_synced() {
  require_whole();
  // A mark that fails may still arrive. So what this state uses is kept from here on.
  if (!is_synced()) synced_generation_ = root_state_.generation;
  return commits_.mark_synced(
      [this](int slot, const Root& marked) { by_root(comm_, [&] { write_root(slot, marked); }); });
}

void ChunkStore::forget_older_synced() {
  commits_.marked();
  synced_generation_ = root_state_.generation;
  for (const Retired& r : until_synced_) release(r);
  until_synced_.clear();
}

}  // namespace forebay::chunked
