#include "decomposed/data_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <future>
#include <set>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/report.h"
#include "base/stale_files.h"
#include "decomposed/format/inverse_map.h"
#include "decomposed/state_file.h"
#include "storage/file.h"

namespace forebay::decomposed {

std::string state_path(const std::string& path) { return folder_of(path) + "/state"; }

std::vector<std::uint32_t> data_files_of(const std::string& path, std::uint32_t files) {
  std::vector<std::uint32_t> numbers;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(path))) {
    const auto number = data_files::number_of(entry.path().filename().string());
    if (number && *number < files) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

namespace {

/// Returns nothing if they cannot be read.
std::optional<store::Slots<State>> slots_beside(const std::string& path) noexcept {
  std::optional<store::Slots<State>> found;
  attempt_to([&] {
    Report unseen;
    File file(state_path(path), false, 0, unseen);
    found = read_states(file);
  });
  return found;
}

bool is_of_another(const std::string& path, std::uint64_t id) noexcept {
  const auto found = slots_beside(path);
  return found && attempt_to([&] { check_owner(*found, id); });
}

}  // namespace

bool has_data_files(const std::string& path) noexcept {
  bool has = false;
  attempt_to([&] { has = ::access(state_path(path).c_str(), F_OK) == 0; });
  return has;
}

bool may_have_values(const std::string& path) noexcept {
  if (!has_data_files(path)) return false;
  const auto found = slots_beside(path);
  if (!found) return true;
  return found->last() > definitions_epoch || (!found->empty && found->newest() < 0);
}

void require_data_files(const std::string& path) {
  if (::access(state_path(path).c_str(), F_OK) != 0 && errno == ENOENT)
    throw Error(Errc::enoent, state_path(path) + " is not there, nor the values of variables",
                folder_advice);
}

void remove_data_files(const std::string& path, std::optional<std::uint64_t> id) noexcept {
  attempt_to([&] {
    if (!has_data_files(path)) return;
    if (id && is_of_another(path, *id)) return;
    // Only the files with the id of the state or the header are removed. Others may lie beside
    // them.
    if (!id) {
      const auto found = slots_beside(path);
      if (!found) return;
      for (const auto& state : found->records)
        if (state) id = state->id;
    }
    if (!data_files::remove_left_by(folder_of(path), id)) return;
    // The state goes last, because it identifies the folder.
    remove_stale_files(folder_of(path), [](std::string_view name) { return name == "state"; });
  });
}

namespace {

Root root_to(const SectionPlace& section) { return {section.epoch, section.offset, section.bytes}; }

Offset reach_of(const Section& section) {
  Offset reach = 0;
  const auto add = [&](Offset offset, Count bytes) { reach = std::max(reach, offset + bytes); };
  for (const Entry& entry : section.entries) entry.for_each_extent(add);
  for (const StoredInverse& inverse : section.inverses)
    for (const FileRange& block : inverse.blocks) add(block.offset, block.bytes);
  return reach;
}

Offset reach_of(const std::vector<SectionPlace>& sections) {
  Offset reach = 0;
  for (const SectionPlace& section : sections) reach = std::max(reach, section.reach);
  return reach;
}

}  // namespace

// -- reading

std::vector<std::byte> DataFileReader::read(Offset offset, Count bytes, const char* what) const {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  if (file_->read_at(offset, out) != out.size()) damaged(std::string("it ends within ") + what);
  return out;
}

void DataFileReader::load(std::uint64_t epoch) {
  naming(file_->path(), [&] {
    const Offset size = file_->size();
    if (size < first_block) damaged("it ends within its front");
    data_files::check_front(*file_, front_);
    roots_ =
        store::read_slots<Root>(read(root_place(0), slots * slot_bytes, "its roots"), parse_root);
    epoch_ = epoch;
    slot_ = roots_.newest([&](const Root& root) { return root.epoch <= epoch; });
    if (slot_ >= 0 && root_ == roots_.at(slot_)) return;
    if (slot_ < 0) {
      index_ = {};
      sections_.clear();
      root_.reset();
    } else {
      follow(roots_.at(slot_), size);
      root_ = roots_.at(slot_);
    }
  });
}

// Follows the sections from the newest one back to a known one, or to one that contains everything.
// Their total size must fit in the file, so a circular chain is found.
void DataFileReader::follow(const Root& root, Offset size) {
  std::vector<Section> fresh;
  std::vector<SectionPlace> places;
  SectionPlace at{root.section, root.bytes, root.epoch, 0};
  std::uint64_t before = root.epoch;
  Count total = 0;
  bool continues = false;
  while (!continues) {
    continues = !sections_.empty() && sections_.back().offset == at.offset &&
                sections_.back().bytes == at.bytes && sections_.back().epoch == at.epoch;
    if (continues) break;
    if (at.offset < first_block || at.offset > size || at.bytes < 0 || at.bytes > size - at.offset)
      damaged("a section lies outside the file");
    if ((total += at.bytes) > size) damaged("its sections are longer than the file");
    fresh.push_back(parse_section(read(at.offset, at.bytes, "a section"), size));
    const Section& section = fresh.back();
    const bool first = fresh.size() == 1;
    if (section.epoch != at.epoch || (!first && section.epoch >= before))
      damaged("a section is not of the write that it should be of");
    before = section.epoch;
    at.reach = reach_of(section);
    places.push_back(at);
    if (section.previous == 0) break;
    at = {section.previous, section.previous_bytes, section.previous_epoch, 0};
  }
  // The known index stays if something is wrong with the new sections.
  FileIndex index;
  if (continues) index = std::move(index_);
  root_.reset();
  std::vector<SectionPlace> known = std::move(sections_);
  if (!continues) known.clear();
  sections_.clear();
  for (std::size_t i = fresh.size(); i-- > 0;) {
    index.add(fresh[i]);
    known.push_back(places[i]);
  }
  index_ = std::move(index);
  sections_ = std::move(known);
}

std::vector<int> DataFileReader::later_slots() const {
  std::vector<int> later;
  for (int slot = 0; slot < slots; ++slot) {
    const auto& root = roots_.records[static_cast<std::size_t>(slot)];
    if (root && root->epoch > epoch_) later.push_back(slot);
  }
  return later;
}

void RootsFound::add(const DataFileReader& file, std::uint32_t number) {
  sums += sums_of(number, file.root());
  later += file.later_slots().empty() ? 0 : 1;
}

std::array<std::int64_t, 4> to_halves(const RootSums& sums) {
  const auto low = [](std::uint64_t n) { return static_cast<std::int64_t>(n & UINT32_MAX); };
  return {low(sums.plain), low(sums.plain >> 32), low(sums.weighted), low(sums.weighted >> 32)};
}

RootSums from_halves(std::span<const std::int64_t, 4> halves) {
  const auto whole = [&](std::size_t i) {
    return static_cast<std::uint64_t>(halves[i]) +
           (static_cast<std::uint64_t>(halves[i + 1]) << 32);
  };
  return {whole(0), whole(2)};
}

void check_roots(const std::string& path, const State& state, bool damaged_slot,
                 const RootsFound& found) {
  constexpr const char* advice =
      "bring back the data files of that commit, or open the last one that was synced, if it is "
      "whole: chunk_state=synced";
  if (damaged_slot && found.later > 0)
    throw Error(Errc::enotnc,
                state_path(path) +
                    ": the newest commit is damaged: data files have later roots "
                    "than those of commit " +
                    std::to_string(state.epoch),
                advice);
  if (found.sums == state.roots) return;
  const auto wrong = wrong_file(state.roots, found.sums, state.files);
  throw Error(Errc::enotnc,
              (wrong ? data_path(path, *wrong) + ": it shows"
                     : folder_of(path) + ": several data files show") +
                  " another commit than number " + std::to_string(state.through) +
                  ", an older one as a rule: the root is damaged, or the file was replaced",
              advice);
}

// -- writing

void wipe(ByteFile& file, std::span<const int> slots) {
  const std::vector<std::byte> nothing(static_cast<std::size_t>(slot_bytes));
  for (const int slot : slots) file.write_at(root_place(slot), std::span<const std::byte>(nothing));
}

namespace {

/// Overlapping slabs are an error, because a writer would allocate the same space twice.
void check_apart(const std::string& path, std::vector<FileSpace::Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const auto over = std::adjacent_find(
      ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.end > b.begin; });
  if (over != ranges.end())
    throw Error(Errc::enotnc,
                path + ": slabs lie over each other, at byte " + std::to_string(over->end),
                "it can be read, and converted to a new file, but not be written to");
}

}  // namespace

void DataFileWriter::create() {
  std::vector<std::byte> bytes = print_front(front_);
  bytes.resize(static_cast<std::size_t>(first_block));
  file_->write_at(0, bytes);
  space_ = FileSpace(first_block, {});
  reach_ = first_block;
}

void DataFileWriter::open(std::uint64_t epoch, std::uint64_t synced, RootsFound& found) {
  DataFileReader newest(file_, front_), old(file_, front_);
  newest.load(epoch);
  found.add(newest, front_.number);
  index_ = newest.index();
  sections_ = newest.sections();
  slot_ = newest.slot();
  if (newest.root()) root_ = newest.root();
  epoch_ = epoch;
  synced_epoch_ = synced;
  synced_slot_ = -1;
  std::vector<FileSpace::Range> used;
  std::set<Offset> known;
  const auto use = [&](Offset offset, Count bytes, std::uint64_t of, bool in_newest) {
    if (bytes == 0) return;
    if (in_newest) known.insert(offset);
    if (!in_newest && known.contains(offset)) return;
    used.push_back({offset, offset + bytes});
    if (!in_newest) until_synced_.push_back({offset, bytes, of});
  };
  const auto use_all = [&](const DataFileReader& reader, bool in_newest) {
    reader.index().for_each_slab([&](const Entry& e) {
      e.for_each_extent(
          [&](Offset offset, Count bytes) { use(offset, bytes, e.epoch, in_newest); });
    });
    reader.index().for_each_inverse([&](const StoredInverse& inverse) {
      for (const FileRange& block : inverse.blocks) use(block.offset, block.bytes, 0, in_newest);
    });
    for (const SectionPlace& s : reader.sections()) use(s.offset, s.bytes, s.epoch, in_newest);
  };
  use_all(newest, true);
  check_apart(file_->path(), used);
  if (synced > 0) {
    old.load(synced);
    synced_slot_ = old.slot();
    synced_reach_ = reach_of(old.sections());
    if (synced_slot_ != slot_) use_all(old, false);
  }
  space_ = FileSpace(first_block, std::move(used));
  reach_ = file_->size();
  stale_ = newest.later_slots();
  begin_draft();
}

void DataFileWriter::begin_draft() {
  draft_ = {};
  draft_.first_pattern = index_.patterns();
  draft_.first_map = index_.maps();
  new_patterns_.clear();
  new_maps_.clear();
  taken_.clear();
  taken_before_.reset();
  written_ = {};
  moves_ = renews_ = whole_ = false;
  written_slot_ = -1;
}

Offset DataFileWriter::allocate(Count bytes) {
  taken_.push_back({space_.allocate(bytes), bytes, 0});
  reach_ = std::max(reach_, space_.end());
  return taken_.back().offset;
}

std::uint32_t DataFileWriter::number_of_pattern(const Key& key, Count elements) {
  if (const auto known = index_.find(key)) return *known;
  const auto [at, fresh] = new_patterns_.emplace(key, draft_.patterns.size());
  if (fresh) draft_.patterns.push_back({key, elements, {}});
  return draft_.first_pattern + static_cast<std::uint32_t>(at->second);
}

std::uint32_t DataFileWriter::number_of(std::span<const MapMember> members) {
  Map map;
  for (const MapMember& m : members)
    map.push_back({m.rank, number_of_pattern(m.pattern, m.elements)});
  if (const auto known = index_.find(map)) return *known;
  const auto number = draft_.first_map + static_cast<std::uint32_t>(draft_.maps.size());
  const auto [at, fresh] = new_maps_.emplace(map, number);
  if (fresh) draft_.maps.push_back(std::move(map));
  return at->second;
}

bool DataFileWriter::wants(const Key& pattern) const {
  const auto found = new_patterns_.find(pattern);
  return found != new_patterns_.end() && draft_.patterns[found->second].packed.empty();
}

void DataFileWriter::give(const Key& pattern, std::vector<std::byte> packed) {
  if (wants(pattern)) draft_.patterns[new_patterns_.at(pattern)].packed = std::move(packed);
}

void DataFileWriter::write(std::uint64_t epoch) {
  const int slot = store::next_slot(slot_, synced_slot_);
  wipe(*file_, stale_);
  stale_.clear();
  if (draft_.entries.empty() && draft_.inverses.empty() && !renews_ && front_.number != 0) return;
  for (const StoredPattern& pattern : draft_.patterns)
    if (pattern.packed.empty())
      throw Error(Errc::einval, "a rank did not give its pattern", "this is a fault of Forebay's");
  draft_.epoch = epoch;
  for (Entry& entry : draft_.entries)
    if (entry.epoch == 0) entry.epoch = epoch;
  whole_ = renews_ || sections_.size() + 1 >= most_sections;
  if (!sections_.empty()) {
    draft_.previous = sections_.back().offset;
    draft_.previous_bytes = sections_.back().bytes;
    draft_.previous_epoch = sections_.back().epoch;
  }
  std::vector<std::byte> bytes;
  Offset reach = 0;
  const auto print = [&](const Section& section) {
    bytes = print_section(section);
    reach = reach_of(section);
  };
  if (whole_) {
    FileIndex all = index_;
    all.add(draft_);
    print(all.whole(epoch));
  } else {
    print(draft_);
  }
  const auto size = static_cast<Count>(bytes.size());
  taken_before_ = taken_.size();
  const SectionPlace place{allocate(size), size, epoch, reach};
  stale_ = {slot};  // until the commit; before it nobody may use the root
  const auto write_section = [&] { file_->write_at(place.offset, bytes); };
  const auto write_root = [&] { file_->write_at(root_place(slot), print_root(root_to(place))); };
  std::future<std::optional<Error>> beside;
  if (is_slow(file_->least_latency(true)))
    attempt_to([&] {  // if this fails, one after the other
      file_->ensure_open();
      beside = std::async(std::launch::async, [&] { return attempt_to(write_section); });
    });
  if (!beside.valid()) write_section();
  auto failed = attempt_to(write_root);
  if (beside.valid()) keep_first(failed, beside.get());
  if (failed) throw *failed;
  written_ = place;
  written_slot_ = slot;
}

RootSums DataFileWriter::change() const {
  if (written_slot_ < 0) return {};
  return sums_of(front_.number, root_to(written_)) - sums_of(front_.number, root_);
}

void DataFileWriter::retire(const Range& range) {
  if (range.bytes == 0) return;  // a definition takes no space
  if (range.epoch <= synced_epoch_)
    until_synced_.push_back(range);
  else
    space_.release(range.offset, range.bytes);
}

void DataFileWriter::committed() {
  free_orphans();
  if (written_slot_ < 0) return begin_draft();
  stale_.clear();
  slot_ = written_slot_;
  epoch_ = written_.epoch;
  root_ = root_to(written_);
  if (sections_.empty()) draft_.previous = 0;
  const std::set<Offset> stay = places_of_draft();
  if (moves_)
    for (const StoredInverse& moved : draft_.inverses)
      for (const FileRange& block : index_.inverse(moved.map)->blocks)
        if (!stay.contains(block.offset)) space_.release(block.offset, block.bytes);
  index_.add(draft_, [&](const Entry& old) {
    old.for_each_extent([&](Offset offset, Count bytes) {
      if (!stay.contains(offset)) retire({offset, bytes, old.epoch});
    });
  });
  if (whole_) {
    for (const SectionPlace& s : sections_) retire({s.offset, s.bytes, s.epoch});
    sections_.clear();
  }
  sections_.push_back(written_);
  begin_draft();
}

void DataFileWriter::dropped() {
  free_orphans();
  for (const Range& range : taken_) space_.release(range.offset, range.bytes);
  begin_draft();
}

void DataFileWriter::free_orphans() {
  for (const Range& range : orphans_) space_.release(range.offset, range.bytes);
  orphans_.clear();
}

void DataFileWriter::unwritten() {
  for (; taken_before_ && taken_.size() > *taken_before_; taken_.pop_back())
    space_.release(taken_.back().offset, taken_.back().bytes);
  taken_before_.reset();
  written_ = {};
  written_slot_ = -1;
}

DataFileWriter::Mark DataFileWriter::mark() const {
  return {draft_.entries.size(), draft_.patterns.size(), draft_.maps.size(), taken_.size()};
}

void DataFileWriter::date(const Mark& since, std::uint64_t epoch) {
  for (std::size_t i = since.entries; i < draft_.entries.size(); ++i)
    draft_.entries[i].epoch = epoch;
}

void DataFileWriter::back_to(const Mark& mark) {
  draft_.entries.resize(mark.entries);
  draft_.patterns.resize(mark.patterns);
  draft_.maps.resize(mark.maps);
  std::erase_if(new_patterns_, [&](const auto& item) { return item.second >= mark.patterns; });
  const auto maps = draft_.first_map + static_cast<std::uint32_t>(mark.maps);
  std::erase_if(new_maps_, [&](const auto& item) { return item.second >= maps; });
  orphans_.insert(orphans_.end(), taken_.begin() + static_cast<std::ptrdiff_t>(mark.taken),
                  taken_.end());
  taken_.resize(mark.taken);
}

// -- the end

DataFileWriter::InUse DataFileWriter::in_use() const {
  InUse all;
  const auto add = [&](Offset offset, Count bytes, bool stays, InUse::What what) {
    if (bytes == 0) return;
    all.bytes.push_back({offset, bytes, stays});
    all.what.push_back(what);
  };
  index_.for_each_slab([&](const Entry& e) {
    std::size_t at = 0;
    e.for_each_extent([&](Offset offset, Count bytes) {
      add(offset, bytes, e.epoch <= synced_epoch_, {&e, nullptr, at++});
    });
  });
  index_.for_each_inverse([&](const StoredInverse& inverse) {
    std::size_t at = 0;  // its epoch is unknown
    for (const FileRange& block : inverse.blocks)
      add(block.offset, block.bytes, synced_epoch_ > 0, {nullptr, &inverse, at++});
  });
  return all;
}

// Old sections may reach beyond the bytes in use, so they must be written anew.
bool DataFileWriter::is_sparse() const {
  const Count free = space_.free_bytes() + std::max<Count>(reach_ - space_.end(), 0);
  if (free < least_to_compact) return false;
  Count sum = 0;
  for (const BytesInUse& each : in_use().bytes) sum += each.bytes;
  return forebay::is_sparse(free, sum);
}

std::vector<BytesToMove> DataFileWriter::make_moves(Count most, Count piece) {
  if (space_.free_bytes() < least_to_compact) return {};
  const InUse all = in_use();
  std::map<const Entry*, Entry> slabs;
  std::map<const StoredInverse*, StoredInverse> inverses;
  std::vector<BytesToMove> moves;
  const auto plan = plan_compaction(all.bytes, most, space_);
  moves_ = renews_ = !plan.empty();
  for (const SpaceMove& planned : plan)
    taken_.push_back({planned.to, all.bytes[planned.which].bytes, 0});
  for (const SpaceMove& planned : plan) {
    const auto [offset, bytes, stays] = all.bytes[planned.which];
    const auto [slab, inverse, at] = all.what[planned.which];
    if (inverse != nullptr) {
      auto& its = inverses.try_emplace(inverse, *inverse).first->second;
      its.blocks[at].offset = planned.to;
      if (at + 1 == its.blocks.size()) continue;  // the directory, which records where pages are
    }
    if (slab == nullptr || slab->parts.empty()) {
      for (Count done = 0; done < bytes; done += piece)
        moves.push_back({offset + done, planned.to + done, std::min(piece, bytes - done), {}});
    } else {
      moves.push_back({offset, planned.to, bytes, slab->parts[at].hash});
    }
    if (slab == nullptr) continue;
    Entry& its = slabs.try_emplace(slab, *slab).first->second;
    if (at == 0) its.offset = planned.to;
    if (!its.parts.empty()) its.parts[at].offset = planned.to;
  }
  for (auto& [was, moved] : slabs) draft_.entries.push_back(std::move(moved));
  for (auto& [was, moved] : inverses) move_inverse(std::move(moved), *was);
  return moves;
}

// The directory records where pages are. So it is written anew, perhaps with another size.
void DataFileWriter::move_inverse(StoredInverse moved, const StoredInverse& from) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(from.directory().bytes));
  if (file_->read_at(from.directory().offset, bytes) != bytes.size() || hash_of(bytes) != from.hash)
    damaged(file_->path() + ": the directory of an inverse map");
  InverseDirectory directory = parse_inverse_directory(bytes, file_->size());
  for (InversePage& page : directory.pages)
    for (std::size_t i = 0; i + 1 < from.blocks.size(); ++i) {
      const FileRange& block = from.blocks[i];
      if (page.offset < block.offset || page.offset >= block.offset + block.bytes) continue;
      page.offset += moved.blocks[i].offset - block.offset;
      break;
    }
  bytes = print_inverse_directory(directory);
  if (moved.directory().offset != from.directory().offset) {
    const auto planned = std::find_if(taken_.begin(), taken_.end(), [&](const Range& range) {
      return range.offset == moved.directory().offset;
    });
    space_.release(planned->offset, planned->bytes);
    taken_.erase(planned);
  }
  moved.blocks.back() = {allocate(std::ssize(bytes)), std::ssize(bytes)};
  moved.hash = hash_of(bytes);
  file_->write_at(moved.directory().offset, std::span<const std::byte>(bytes));
  draft_.inverses.push_back(std::move(moved));
}

// Returns nothing if nothing is moved, because new data have new places.
std::set<Offset> DataFileWriter::places_of_draft() const {
  std::set<Offset> places;
  if (!moves_) return places;
  for (const Entry& entry : draft_.entries)
    entry.for_each_extent([&](Offset offset, Count) { places.insert(offset); });
  for (const StoredInverse& inverse : draft_.inverses)
    for (const FileRange& block : inverse.blocks) places.insert(block.offset);
  return places;
}

Offset DataFileWriter::least_size() const {
  return std::max({space_.end(), reach_of(sections_), synced_reach_});
}

void DataFileWriter::cut() noexcept {
  if (!is_too_long()) return;
  cut_behind(*file_, least_size());
  reach_ = least_size();
}

void DataFileWriter::synced() {
  synced_slot_ = slot_;
  synced_epoch_ = epoch_;
  synced_reach_ = reach_of(sections_);
  for (const Range& range : until_synced_) space_.release(range.offset, range.bytes);
  until_synced_.clear();
}

}  // namespace forebay::decomposed
