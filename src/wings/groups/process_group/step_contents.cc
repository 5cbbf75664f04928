#include "groups/process_group/step_contents.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "groups/process_group/block_shape.h"

namespace forebay::process_group {

namespace {

/// Reserves memory for `more` elements, with growth, because reserve() alone reserves exactly this
/// number each time.
template <typename T>
void reserve_more(std::vector<T>& list, std::size_t more) {
  if (list.capacity() - list.size() < more)
    list.reserve(std::max(list.size() + more, 2 * list.capacity()));
}

void note_range(bp::Block& block, const Range& range, Measure measure) {
  block.has_range = range.any;
  block.min = range.min;
  block.max = range.max;
  block.has_moments = measure == Measure::moments;
  block.moments = range.moments;
}

std::size_t place_in(const Catalogue& known, const bp::Attribute& attribute) {
  return *known.find(attribute.name, true);
}

}  // namespace

std::size_t OwnNames::number_of(const Name& name, const Catalogue& known) {
  std::size_t found = next_;
  if (found >= names_.size() || !(names_[found].name == name)) {
    const auto [number, is_new] = numbers_.try_emplace(name.variable.name, names_.size());
    found = number->second;
    if (is_new) {
      try {
        names_.push_back({name, known.check(name)});
      } catch (...) {
        numbers_.erase(number);
        throw;
      }
    } else if (!(names_[found].name == name)) {
      known.check(name);
      throw Error(
          Errc::emultidefine_var_type,
          name.variable.name + " is in this step already, with another type or kind of shape",
          "write a variable with one type and number of dimensions");
    }
  }
  next_ = found + 1 < names_.size() ? found + 1 : 0;
  return found;
}

std::vector<Name> OwnNames::new_ones() const {
  std::vector<Name> fresh;
  for (const OwnName& own : names_)
    if (!own.place) fresh.push_back(own.name);
  return fresh;
}

void OwnNames::find_places(const Catalogue& known) {
  for (OwnName& own : names_)
    if (!own.place) own.place = known.find(own.name.variable.name, false);
}

void OwnNames::clear() {
  names_.clear();
  numbers_.clear();
  next_ = 0;
}

void WrittenGroups::make_room(const GroupDraft& group, bool early) {
  reserve_more(early ? early_groups_ : groups_, 1);
  if (blocks_.entries.empty()) return;
  reserve_more(blocks_.entries, group.blocks.entries.size());
  reserve_more(blocks_.bytes, group.blocks.bytes.size());
}

void WrittenGroups::keep(GroupDraft&& group, Offset at, bool early) {
  (early ? early_groups_ : groups_).push_back(at);
  BlockEntries& fresh = group.blocks;
  for (const auto& [name, number, from, bytes] : fresh.entries)
    bp::move_entry(std::span(fresh.bytes).subspan(from, bytes), at);
  if (blocks_.entries.empty()) return std::swap(blocks_, fresh);
  for (BlockEntries::Entry& entry : fresh.entries) entry.from += blocks_.bytes.size();
  blocks_.entries.insert(blocks_.entries.end(), fresh.entries.begin(), fresh.entries.end());
  blocks_.bytes.insert(blocks_.bytes.end(), fresh.bytes.begin(), fresh.bytes.end());
}

bp::Bytes WrittenGroups::group_entries(bp::Group group) const {
  bp::Bytes printed;
  for (const auto* const list : {&groups_, &early_groups_})
    for (const Offset at : *list) {
      group.place = at;
      bp::append_group(printed, group);
    }
  return printed;
}

std::span<const std::byte> WrittenGroups::in_order(const OwnNames& names) {
  const auto place = [&](const BlockEntries::Entry& entry) {
    return std::pair(names.place(entry.name), entry.number);
  };
  if (!std::ranges::is_sorted(blocks_.entries, {}, place)) {
    std::ranges::sort(blocks_.entries, {}, place);
    bp::Bytes ordered;
    ordered.reserve(blocks_.bytes.size());
    for (BlockEntries::Entry& entry : blocks_.entries) {
      const auto bytes = std::span(blocks_.bytes).subspan(entry.from, entry.bytes);
      entry.from = ordered.size();
      ordered.insert(ordered.end(), bytes.begin(), bytes.end());
    }
    blocks_.bytes = std::move(ordered);
  }
  return blocks_.bytes;
}

void WrittenGroups::clear() {
  groups_.clear();
  early_groups_.clear();
  blocks_ = {};
  end = early_bytes = 0;
}

std::optional<StepBlocks::Block> StepBlocks::made_of(const bp::Variable& variable,
                                                     bp::Shape&& shape,
                                                     std::span<const std::byte> data,
                                                     const Catalogue& known) {
  bp::check(variable, shape);
  Kind kind = kind_of(variable, shape, static_cast<Count>(data.size()));
  const bool is_text = variable.type == bp::Type::string;
  if (is_text) bp::check_text({reinterpret_cast<const char*>(data.data()), data.size()});
  if (!leaves_a_trace(kind, shape)) return std::nullopt;
  Block made;
  if (kind == Kind::joined && form_ == bp::Form::bp3) {
    const auto joined = std::ranges::find(shape.shape, bp::joined);
    made.joined = static_cast<std::size_t>(joined - shape.shape.begin());
    kind = Kind::global;
  }
  const auto dimensions = std::max(shape.shape.size(), shape.count.size());
  made.name = names_.number_of({variable, kind, static_cast<std::uint8_t>(dimensions)}, known);
  made.number = count_;
  made.data = data;
  made.block.at = std::move(shape);
  made.block.has_value = kind == Kind::scalar || kind == Kind::local_value;
  take_value(made);
  return made;
}

/// Takes the value of a block that has one.
void StepBlocks::take_value(Block& one) const {
  bp::Block& block = one.block;
  if (names_.variable(one.name).type == bp::Type::string) {
    block.text.assign(reinterpret_cast<const char*>(one.data.data()), one.data.size());
  } else if (block.has_value) {
    std::copy(one.data.begin(), one.data.end(), block.min.begin());
    block.max = block.min;
  }
}

void StepBlocks::copy(Block& one) {
  std::byte* const room = copies_.find(one.data.size());
  if (!one.block.operation.empty()) {
    std::copy(one.data.begin(), one.data.end(), room);
    one.data = {room, one.data.size()};
    copies_.take(one.data.size());
    return;
  }
  const Range range = copy_with_range(names_.variable(one.name).type, one.data, room, one.measure);
  copies_.take(one.data.size());
  one.data = {room, one.data.size()};
  if (!one.block.has_value) note_range(one.block, range, one.measure);
}

void StepBlocks::code(Block& one, const operators::CodedBlock& coded) const {
  const std::span<const std::byte> values = one.data;
  if (!coded.lossy.empty()) one.data = coded.lossy;
  take_range(one);
  one.block.operation = coded.operation;
  one.block.bytes = std::ssize(values);
  one.block.stored = std::ssize(coded.payload);
  one.data = coded.payload;
}

void StepBlocks::take_range(Block& one) const {
  if (one.block.has_value || !one.block.operation.empty()) return;
  note_range(one.block, range_of(names_.variable(one.name).type, one.data, one.measure),
             one.measure);
}

void StepBlocks::add(Block&& block) {
  blocks_.push_back(std::move(block));
  ++count_;
}

void StepBlocks::take_back() {
  blocks_.pop_back();
  --count_;
}

bool StepBlocks::is_beyond(Count room, std::size_t bytes) const {
  const auto most = static_cast<std::size_t>(room);
  return bytes > most || copies_.taken() > most - bytes;
}

bool StepBlocks::has_copies() const {
  return std::ranges::any_of(blocks_, [](const Block& one) { return !one.lent; });
}

Count StepBlocks::bytes() const {
  Count bytes = 0;
  for (const Block& one : blocks_) bytes += std::ssize(one.data);
  return bytes;
}

void StepBlocks::measure(Block& one) const {
  if (!one.lent) return;
  take_value(one);
  take_range(one);
}

void StepBlocks::measure_lent() {
  for (Block& one : blocks_) measure(one);
}

/// Puts a block into the group, and its entry behind the group's other entries.
void StepBlocks::put(Block& one, GroupDraft& group) const {
  const bp::Variable& variable = names_.variable(one.name);
  const auto place = names_.place(one.name);
  const auto member = place ? static_cast<std::uint32_t>(*place) : bp::unknown_member;
  bp::Block& block = one.block;
  block.step = group.step;
  block.file = group.file;
  // A local value has only a head in a group.
  const bool has_data = names_.kind(one.name) != Kind::local_value;
  const auto places =
      group.image.add(variable, member, block, has_data ? one.data : std::span<const std::byte>());
  block.place = places.head;
  block.payload = places.payload;
  group.blocks.add(one.name, one.number, variable, block, form_);
}

void StepBlocks::put_all(GroupDraft& group) {
  const auto place = [&](const Block& one) { return names_.place(one.name); };
  if (!std::ranges::is_sorted(blocks_, {}, place)) std::ranges::stable_sort(blocks_, {}, place);
  for (Block& one : blocks_) put(one, group);
}

Count StepBlocks::put_copies(GroupDraft& group) {
  std::vector<bool> copied(names_.size());
  for (const Block& one : blocks_)
    if (!one.lent) copied[one.name] = true;
  Count bytes = 0;
  for (Block& one : blocks_) {
    one.was_put = copied[one.name];
    if (!one.was_put) continue;
    measure(one);
    bytes += std::ssize(one.data);
    put(one, group);
  }
  return bytes;
}

void StepBlocks::forget_copies() {
  std::erase_if(blocks_, [](const Block& one) { return one.was_put; });
  copies_.clear();
}

void StepBlocks::forget() {
  blocks_.clear();
  copies_.clear();
}

void StepBlocks::start_step() {
  forget();
  count_ = 0;
  names_.start_step();
}

bool StepBlocks::has_joined() const {
  return std::ranges::any_of(blocks_, [](const Block& one) { return one.joined.has_value(); });
}

void StepBlocks::add_joined(std::span<std::int64_t> extents) const {
  for (const Block& one : blocks_)
    if (one.joined) extents[*names_.place(one.name)] += one.block.at.count[*one.joined];
}

void StepBlocks::place_joined(std::span<std::int64_t> before, std::span<const std::int64_t> total) {
  for (Block& one : blocks_) {
    if (!one.joined) continue;
    const std::size_t place = *names_.place(one.name), along = *one.joined;
    bp::Shape& at = one.block.at;
    at.start.assign(at.count.size(), 0);
    at.shape[along] = total[place];
    at.start[along] = before[place];
    before[place] += at.count[along];
  }
  // Drops arrays without elements, as for global arrays: readers would take them for scalars.
  std::erase_if(blocks_,
                [](const Block& one) { return one.joined && bp::all_zero(one.block.at.shape); });
}

void StepAttributes::add(const bp::Attribute& attribute, const Catalogue& known) {
  bp::check(attribute);
  const auto is = [&](const auto& other) { return other.name == attribute.name; };
  if (!known.find(attribute.name, true) && std::ranges::none_of(waiting_, is))
    waiting_.push_back(attribute);
}

void StepAttributes::add_new_names(const Catalogue& known, std::vector<Name>& names) const {
  for (const bp::Attribute& attribute : waiting_)
    if (!known.find(attribute.name, true))
      names.push_back({{attribute.name, attribute.type}, Kind::attribute});
}

void StepAttributes::keep_own(const Catalogue& known, Rank rank) {
  written_.resize(known.size());
  std::erase_if(waiting_, [&](const bp::Attribute& attribute) {
    const std::size_t place = place_in(known, attribute);
    return written_[place] || known[place].owner != rank;
  });
}

bp::Bytes StepAttributes::put(bp::GroupImage& group, std::uint32_t step, std::uint32_t file,
                              const Catalogue& known, RankSums& sums,
                              std::span<const std::size_t> places) {
  std::ranges::sort(waiting_, {}, [&](const auto& one) { return place_in(known, one); });
  bp::Bytes entries;
  for (const bp::Attribute& attribute : waiting_) {
    const std::size_t place = place_in(known, attribute), from = entries.size();
    group.add(attribute, static_cast<std::uint32_t>(place));
    bp::append_attribute(entries, attribute, static_cast<std::uint32_t>(place), step, file);
    sums.add_entry(places[place], entries.size() - from);
  }
  return entries;
}

void StepAttributes::start(const Catalogue& known) {
  for (std::size_t n = 0; n < known.size(); ++n)
    written_.push_back(known[n].kind == Kind::attribute);
}

void StepAttributes::note_written(const Catalogue& known, std::span<const std::size_t> names) {
  for (const std::size_t n : names) written_[n] = known[n].kind == Kind::attribute;
  waiting_.clear();
}

}  // namespace forebay::process_group
