#include "layout/process_group/step_writer.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "layout/process_group/block_shape.h"

namespace forebay::process_group {

namespace {

constexpr std::int64_t largest_head = 1 << 17;  // of a variable's entry, with its name
constexpr Count largest_alignment = Count{1} << 31;
// In Laid's sums.
constexpr std::size_t group_bytes = 0, groups = 1, of_names = 2;

void check(const WriteOptions& options) {
  if (options.alignment < bp::payload_alignment || options.alignment > largest_alignment ||
      options.alignment % bp::payload_alignment != 0) {
    throw Error(Errc::einval,
                "process groups cannot begin at multiples of " + std::to_string(options.alignment),
                "choose a multiple of 64 up to 2^31");
  }
  if (options.ranks_per_file < WriteOptions::by_size)
    throw Error(Errc::einval, "a data file of so many ranks", "choose 1 or more, or 0 for all");
  if (options.one_file && options.ranks_per_file != WriteOptions::all_ranks)
    throw Error(Errc::enotsupport, "BP3 has one file for all ranks",
                "leave subfiling out, or choose bp_version=4");
  if (options.one_file && options.async_memory > 0)
    throw Error(Errc::enotsupport, "BP3 files are written at once",
                "choose stage=direct, or bp_version=4");
  bp::GroupImage(options.group, false, 1);
}

/// Ascending pieces; those that touch go out in one call, or to the file's queue where that is
/// open.
void write_pieces(File& file, std::span<const FilePiece> pieces) {
  if (file.writes_later()) {
    for (const FilePiece& piece : pieces)
      if (!piece.bytes.empty()) file.write_data_at(piece.at, piece.bytes);
    return;
  }
  std::vector<iovec> together;
  Offset from = 0, end = -1;
  const auto write = [&] {
    if (!together.empty()) file.write_at(from, std::span(together));
    together.clear();
  };
  for (const FilePiece& piece : pieces) {
    if (piece.bytes.empty()) continue;
    if (piece.at != end) {
      write();
      from = end = piece.at;
    }
    together.push_back({const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
    end += static_cast<Offset>(piece.bytes.size());
  }
  write();
}

std::vector<Extent> extents_of(std::span<const FilePiece> pieces) {
  std::vector<Extent> extents;
  for (const FilePiece& piece : pieces)
    if (!piece.bytes.empty())
      extents.push_back(
          {piece.at, std::ssize(piece.bytes), const_cast<std::byte*>(piece.bytes.data()), 0, 1});
  return extents;
}

/// What lies behind whole steps goes, or is no step at least. The file may end before them: they
/// wait in logs.
void cut_off(File& file, Offset end) {
  constexpr std::array<std::byte, bp::payload_alignment> nothing{};
  attempt_to([&] {
    if (file.size() <= end) return;
    if (attempt_to([&] { file.truncate(end); })) file.write_at(end, nothing);
  });
}

/// For so many more, as they are added again and again: reserve() alone has room for just those.
template <typename T>
void make_room_for(std::vector<T>& list, std::size_t more) {
  if (list.capacity() - list.size() < more)
    list.reserve(std::max(list.size() + more, 2 * list.capacity()));
}

void take_range(bp::Block& block, const Range& range, Measure measure) {
  block.has_range = range.any;
  block.min = range.min;
  block.max = range.max;
  block.has_moments = measure == Measure::moments;
  block.moments = range.moments;
}

}  // namespace

/// Collective, before anything of the first step goes to data.K.
void StepWriter::choose_data_files() {
  if (!files_.waits_for_size()) return;
  Count bytes = flushed_.early_bytes;
  for (const Pending& pending : pending_) bytes += static_cast<Count>(pending.data.size());
  files_.spread(options_, bytes);
  files_.data().use_queue(later_.get());
}

StepWriter::StepWriter(const Comm& comm, const std::string& path, const WriteOptions& options,
                       bool append, Report& report)
    : comm_(comm), options_(options), report_(report), files_(comm, path, options, append, report) {
  agree_on_error(comm, attempt_to([&] {
                   if (options.async_memory <= 0) return;
                   later_ = std::make_unique<WriteQueue>(options.async_memory, report);
                   files_.data().use_queue(later_.get());
                   files_.metadata().use_queue(later_.get());
                 }));
  if (!append) return;
  catalogue_.learn(comm, files_.names);
  agree_on_error(comm, attempt_to([&] {
                   for (std::size_t n = 0; n < catalogue_.size(); ++n)
                     attribute_written_.push_back(catalogue_[n].kind == Kind::attribute);
                 }));
  files_.names = {};
}

std::unique_ptr<StepWriter> StepWriter::create(const Comm& comm, const std::string& path,
                                               const WriteOptions& options, Report& report) {
  process_group::check(options);
  return std::unique_ptr<StepWriter>(new StepWriter(comm, path, options, false, report));
}

void StepWriter::check_create(const std::string& path, const WriteOptions& options) {
  process_group::check(options);
  check_replaceable(path, options);
}

std::unique_ptr<StepWriter> StepWriter::append(const Comm& comm, const std::string& path,
                                               const WriteOptions& options, Report& report) {
  process_group::check(options);
  return std::unique_ptr<StepWriter>(new StepWriter(comm, path, options, true, report));
}

void StepWriter::use_log(std::unique_ptr<StepLog> log) {
  if (files_.trailing() || later_)
    throw Error(Errc::enotsupport, "steps of a BP3 file, or of stage async, wait in no log",
                "choose stage=direct, or bp_version=4");
  log_ = std::move(log);
}

std::size_t StepWriter::name_of(const bp::Variable& variable, Kind kind, std::size_t dimensions) {
  const auto is = [&](const Name& name) {
    return name.variable == variable && name.kind == kind && name.dimensions == dimensions;
  };
  // Programs write the same names in the same order, step by step.
  if (next_name_ >= names_.size() || !is(names_[next_name_].name)) {
    const Name name{variable, kind, static_cast<std::uint8_t>(dimensions)};
    const auto [found, is_new] = name_places_.try_emplace(variable.name, names_.size());
    next_name_ = found->second;
    if (is_new) {
      try {
        names_.push_back({name, catalogue_.check(name)});
      } catch (...) {
        name_places_.erase(found);
        throw;
      }
    } else if (!is(names_[next_name_].name)) {
      catalogue_.check(name);
      throw Error(Errc::emultidefine_var_type,
                  variable.name + " is in this step already, with another type or kind of shape",
                  "write a variable with one type and number of dimensions");
    }
  }
  const std::size_t found = next_name_;
  next_name_ = found + 1 < names_.size() ? found + 1 : 0;
  return found;
}

void StepWriter::announce(const bp::Variable& variable, Kind kind, std::size_t dimensions) {
  name_of(variable, kind, dimensions);
}

void StepWriter::add(const bp::Variable& variable, bp::Shape shape, std::span<const std::byte> data,
                     bool lent, Measure measure) {
  const StepTimer timer(report_, Step::post);
  bp::check(variable, shape);
  Kind kind = kind_of(variable, shape, static_cast<Count>(data.size()));
  const bool is_text = variable.type == bp::Type::string;
  if (is_text) bp::check_text({reinterpret_cast<const char*>(data.data()), data.size()});
  if (!leaves_a_trace(kind, shape)) return;
  Pending pending;
  if (kind == Kind::joined && options_.one_file) {
    const auto joined = std::find(shape.shape.begin(), shape.shape.end(), bp::joined);
    pending.joined = static_cast<std::size_t>(joined - shape.shape.begin());
    kind = Kind::global;
  }
  const auto dimensions = std::max(shape.shape.size(), shape.count.size());
  pending.name = name_of(variable, kind, dimensions);
  bp::Block& block = pending.block;
  block.at = std::move(shape);
  block.has_value = kind == Kind::scalar || kind == Kind::local_value;
  pending.number = blocks_;
  pending.lent = lent;
  pending.measure = measure;
  pending.data = data;
  if (is_text) block.text.assign(reinterpret_cast<const char*>(data.data()), data.size());
  if (!is_text && block.has_value) {
    std::copy(data.begin(), data.end(), block.min.begin());
    block.max = block.min;
  }
  // What has no room even when all is gone is written from where it is.
  const auto is_through = [&] {
    return !lent && (is_beyond_memory(data.size()) ||
                     (passes_through() && is_beyond(room_of_passing(), data.size())));
  };
  if (is_through()) let_out(!is_beyond_memory(data.size()));
  const bool through = is_through();
  const auto copy = [&](Pending& one) {
    std::byte* const room = copies_.find(data.size());
    const Range range = copy_with_range(variable.type, data, room, measure);
    copies_.take(data.size());
    one.data = {room, data.size()};
    if (!one.block.has_value) take_range(one.block, range, measure);
  };
  if (through && !block.has_value)
    take_range(block, range_of(variable.type, data, measure), measure);
  if (!lent && !through) copy(pending);
  pending_.push_back(std::move(pending));
  if (through) {
    const bool may_wait = !is_beyond_memory(data.size());
    const auto failed = attempt_to([&] {
      let_out(may_wait);
      if (may_wait && !could_pass_) copy(pending_.back());
    });
    if (failed) {
      pending_.pop_back();
      throw *failed;
    }
  }
  ++blocks_;
  ++report_[Counter::requests];
  report_[Counter::bytes_asked_write] += static_cast<std::int64_t>(data.size());
}

void StepWriter::add_attribute(const bp::Attribute& attribute) {
  bp::check(attribute);
  const auto known = catalogue_.find(attribute.name, true);
  const bool pending = std::any_of(attributes_.begin(), attributes_.end(),
                                   [&](const auto& other) { return other.name == attribute.name; });
  if (!known && !pending) attributes_.push_back(attribute);
}

/// A string that was lent is taken now, too: its text stands in md.0 as well.
void StepWriter::measure_lent(Pending& pending) {
  if (!pending.lent) return;
  const bp::Type type = names_[pending.name].name.variable.type;
  bp::Block& block = pending.block;
  if (type == bp::Type::string) {
    block.text.assign(reinterpret_cast<const char*>(pending.data.data()), pending.data.size());
  } else if (block.has_value) {
    std::copy(pending.data.begin(), pending.data.end(), block.min.begin());
  } else {
    take_range(block, range_of(type, pending.data, pending.measure), pending.measure);
  }
}

std::vector<Name> StepWriter::new_names() const {
  std::vector<Name> fresh;
  for (const OwnName& own : names_)
    if (!own.known) fresh.push_back(own.name);
  for (const bp::Attribute& attribute : attributes_) {
    if (!catalogue_.find(attribute.name, true))
      fresh.push_back({{attribute.name, attribute.type}, Kind::attribute});
  }
  return fresh;
}

void StepWriter::keep_own_attributes() {
  attribute_written_.resize(catalogue_.size());
  std::erase_if(attributes_, [&](const bp::Attribute& attribute) {
    const std::size_t n = *catalogue_.find(attribute.name, true);
    return attribute_written_[n] || catalogue_[n].owner != comm_.rank();
  });
}

/// Behind the agreement: all names of this rank have a place in the catalogue.
void StepWriter::find_places() {
  for (OwnName& own : names_)
    if (!own.known) own.known = catalogue_.find(own.name.variable.name, false);
}

/// Blocks in the order of the catalogue, those of a variable as they came in.
void StepWriter::sort_blocks() {
  const auto before = [&](const Pending& a, const Pending& b) {
    return place(a.name) < place(b.name);
  };
  if (!std::is_sorted(pending_.begin(), pending_.end(), before))
    std::stable_sort(pending_.begin(), pending_.end(), before);
}

/// Into a group of this rank, and its entry behind `entries`, with places counted from the group.
StepWriter::Flushed::Entry StepWriter::put_block(Pending& pending, std::uint32_t file,
                                                 std::uint32_t step, bp::GroupImage& image,
                                                 bp::Bytes& entries) {
  const auto& [name, known] = names_[pending.name];
  const auto member = known ? static_cast<std::uint32_t>(*known) : bp::unknown_member;
  bp::Block& block = pending.block;
  block.step = step;
  block.file = file;
  // Of a local value a group has the head alone.
  const auto data = name.kind == Kind::local_value ? std::span<const std::byte>() : pending.data;
  const auto places = image.add(name.variable, member, block, data);
  block.place = places.head;
  block.payload = places.payload;
  const std::size_t from = entries.size();
  bp::append_block(entries, name.variable, block, form());
  return {pending.name, pending.number, from, entries.size() - from};
}

/// Of blocks in a group that begins at `at`. There is room for them.
void StepWriter::keep_entries(const bp::Bytes& bytes, std::span<const Flushed::Entry> entries,
                              Offset at) {
  const std::size_t from = flushed_.bytes.size();
  flushed_.bytes.insert(flushed_.bytes.end(), bytes.begin(), bytes.end());
  for (Flushed::Entry entry : entries) {
    entry.from += from;
    bp::move_entry(flushed_.of(entry), at);
    flushed_.entries.push_back(entry);
  }
}

/// Entries of variables in the order of the catalogue, of each in the order that its blocks came
/// in, wherever they lie in files: it decides which of two that overlap counts, and where blocks of
/// joined arrays are.
void StepWriter::put_blocks(Laid& step, std::span<const std::size_t> slots) {
  const auto order = [&](const auto& block) { return std::pair(place(block.name), block.number); };
  const auto tell = [&](std::size_t name, std::size_t bytes) {
    step.mine[slots[place(name)]] += static_cast<std::int64_t>(bytes);
    ++step.mine[slots[place(name)] + 1];
  };
  std::vector<Flushed::Entry>& written = flushed_.entries;
  const auto before = [&](const auto& a, const auto& b) { return order(a) < order(b); };
  if (!std::is_sorted(written.begin(), written.end(), before))
    std::sort(written.begin(), written.end(), before);
  sort_blocks();
  step.entries.reserve(flushed_.bytes.size());
  auto next = written.begin();
  const auto put_next = [&] {
    const auto entry = flushed_.of(*next);
    step.entries.insert(step.entries.end(), entry.begin(), entry.end());
    tell(next->name, entry.size());
    ++next;
  };
  for (Pending& pending : pending_) {
    while (next != written.end() && order(*next) < order(pending)) put_next();
    const auto entry = put_block(pending, files_.number(), step.number, *step.image, step.entries);
    step.own.emplace_back(entry.from, entry.from + entry.bytes);
    tell(entry.name, entry.bytes);
  }
  while (next != written.end()) put_next();
}

void StepWriter::put_attributes(Laid& step, std::span<const std::size_t> slots) {
  std::sort(attributes_.begin(), attributes_.end(), [&](const auto& a, const auto& b) {
    return *catalogue_.find(a.name, true) < *catalogue_.find(b.name, true);
  });
  for (const bp::Attribute& attribute : attributes_) {
    const std::size_t n = *catalogue_.find(attribute.name, true), from = step.entries.size();
    step.image->add(attribute, static_cast<std::uint32_t>(n));
    bp::append_attribute(step.entries, attribute, static_cast<std::uint32_t>(n), step.number,
                         files_.number());
    step.mine[slots[n]] += static_cast<std::int64_t>(step.entries.size() - from);
    ++step.mine[slots[n] + 1];
  }
}

LoggedPiece StepWriter::of_step(VarId file) const {
  return {file, static_cast<std::int64_t>(files_.opening), std::int64_t{next_step()}, 0};
}

/// Of the step under way. What the log has no room for goes to the file at once, as all of it does
/// without one: no record tells of it yet.
void StepWriter::write(File& file, VarId which, std::span<const FilePiece> pieces) {
  if (log_ && log_->add(file, of_step(which), pieces)) return;
  write_pieces(file, pieces);
}

void StepWriter::write_group(File& file, std::uint32_t number, const bp::GroupImage& image,
                             Offset at) {
  std::vector<FilePiece> pieces;
  for (const auto bytes : image.pieces()) {
    pieces.push_back({at, bytes});
    at += static_cast<Offset>(bytes.size());
  }
  write(file, LoggedPiece::data + static_cast<VarId>(number), pieces);
}

bp::GroupImage StepWriter::new_image(std::uint32_t step) const {
  return {options_.group, options_.column_major, step,
          bp::GroupMark{comm_.rank(), files_.opening, 0}};
}

void StepWriter::end_image(Laid& step) {
  step.image->finish(options_.alignment);
  step.mine[group_bytes] = step.image->bytes();
  ++step.mine[groups];
}

void StepWriter::lay_out(Laid& step) {
  keep_own_attributes();
  std::vector<std::size_t> slots(catalogue_.size());
  const auto admit = [&](bool attributes) {
    for (std::size_t n = 0; n < catalogue_.size(); ++n) {
      if ((catalogue_[n].kind == Kind::attribute) != attributes) continue;
      if (attributes && attribute_written_[n] && !files_.trailing()) continue;
      slots[n] = of_names + 2 * step.names.size();
      step.names.push_back(n);
    }
  };
  admit(false);
  step.first_attribute = step.names.size();
  admit(true);
  step.mine.resize(of_names + 2 * step.names.size());
  step.total.resize(step.mine.size());
  // One group at least says how many there are, and has an entry that readers take the language
  // from.
  if (comm_.is_root() || !pending_.empty() || !attributes_.empty())
    step.image.emplace(new_image(step.number));
  put_blocks(step, slots);
  put_attributes(step, slots);
  step.mine[groups] = std::ssize(flushed_.groups) + std::ssize(flushed_.early_groups);
  if (step.image) end_image(step);
  step.before = step.mine;
}

/// Where this rank's group begins; `end`: where the next step's do.
Offset StepWriter::place_of(Laid& step, Offset& end) {
  std::int64_t before = step.before[group_bytes], all = step.total[group_bytes];
  if (step.sums_are_known) {
    before = last_.bytes_before;
    all = last_.bytes_of_file;
  } else if (!files_.one_data_file()) {
    before = step.mine[group_bytes];
    files_.data_ranks().exclusive_scan(std::span(&before, 1), std::span(&all, 1));
  }
  step.bytes_before = before;
  step.bytes_of_file = all;
  const Offset begin = std::max(files_.data_end, flushed_.end);
  end = begin + all;
  return begin + before;
}

/// Of all heads in the step's part of md.0, one behind the other, and where they go.
void StepWriter::print_heads(const Laid& step, const IndexPlan& plan, bp::Bytes& heads,
                             std::vector<std::pair<Offset, std::size_t>>& places) const {
  const auto next = [&](Offset at) { places.emplace_back(at, heads.size()); };
  const bp::StepRecord& record = plan.record;
  const auto length = [](Offset from, Offset to, Count head) { return to - from - head; };
  next(record.groups);
  bp::append_groups_head(heads, static_cast<std::uint64_t>(step.of_groups.entries),
                         length(record.groups, record.variables, bp::groups_head_bytes));
  next(record.variables);
  bp::append_elements_head(heads, plan.variables,
                           length(record.variables, record.attributes, bp::elements_head_bytes));
  for (std::size_t i = 0; i < step.first_attribute; ++i) {
    if (plan.heads[i] == IndexPlan::none) continue;
    next(plan.heads[i]);
    const std::size_t name = step.names[i];
    bp::append_variable_head(heads, catalogue_[name].variable, static_cast<std::uint32_t>(name),
                             static_cast<std::uint64_t>(step.sums[i].entries), step.sums[i].bytes,
                             form());
  }
  next(record.attributes);
  bp::append_elements_head(heads, plan.attributes,
                           length(record.attributes, record.end, bp::elements_head_bytes));
}

/// What the index at the end of a BP3 file has of it.
TrailingIndex::List StepWriter::told_of(std::size_t name) const {
  return files_.trailing() ? files_.trailing()->of(name) : TrailingIndex::List();
}

IndexPlan StepWriter::plan_metadata(Laid& step, Offset data_end) {
  step.sums.resize(step.names.size());
  for (std::size_t i = 0; i < step.sums.size(); ++i) {
    const std::size_t slot = of_names + 2 * i;
    const std::string& name = catalogue_[step.names[i]].variable.name;
    const TrailingIndex::List told = told_of(step.names[i]);
    NameSums& sums = step.sums[i];
    sums.bytes = told.bytes + step.total[slot];
    sums.entries = told.entries + step.total[slot + 1];
    if (sums.bytes > std::numeric_limits<std::uint32_t>::max() - largest_head)
      throw Error(Errc::evarsize,
                  name + " has " + std::to_string(sums.entries) +
                      " blocks, whose entries take more than 4 GiB",
                  files_.trailing() ? "write fewer steps a file, or BP4"
                                    : "write larger and fewer blocks a step");
    if (i < step.first_attribute) sums.head_bytes = bp::variable_head_bytes(name);
  }
  step.of_groups.entries = step.total[groups];
  step.of_groups.bytes = step.total[groups] * bp::group_entry_bytes(options_.group, step.number);
  if (files_.trailing()) {
    step.of_groups.entries += files_.trailing()->groups().entries;
    step.of_groups.bytes += files_.trailing()->groups().bytes;
  }
  return plan_index(files_.trailing() ? data_end : files_.metadata_end, step.of_groups.bytes,
                    step.sums, step.first_attribute);
}

/// Every rank has its own entries, the root the heads between them.
void StepWriter::lay_out_metadata(const Laid& step, const IndexPlan& plan, Offset group_at,
                                  Metadata& own) const {
  std::vector<FilePiece>& pieces = own.pieces;
  if (comm_.is_root()) {
    std::vector<std::pair<Offset, std::size_t>> places;
    print_heads(step, plan, own.heads, places);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t from = places[i].second;
      const std::size_t to = i + 1 < places.size() ? places[i + 1].second : own.heads.size();
      pieces.push_back({places[i].first, std::span(own.heads).subspan(from, to - from)});
    }
  }
  const auto put_group = [&](Offset at) {
    bp::append_group(own.groups, {options_.group, options_.column_major,
                                  static_cast<std::uint32_t>(comm_.rank()), step.number, at});
  };
  for (const Offset at : flushed_.groups) put_group(at);
  if (step.image) put_group(group_at);
  for (const Offset at : flushed_.early_groups) put_group(at);
  Count before_mine = step.before[groups] * bp::group_entry_bytes(options_.group, step.number);
  if (files_.trailing()) before_mine += files_.trailing()->groups().bytes;
  pieces.push_back({plan.record.groups + bp::groups_head_bytes + before_mine, own.groups});
  std::size_t taken = 0;
  for (std::size_t i = 0; i < step.names.size(); ++i) {
    const std::size_t slot = of_names + 2 * i;
    const auto bytes = static_cast<std::size_t>(step.mine[slot]);
    if (bytes == 0) continue;
    pieces.push_back({plan.entries[i] + told_of(step.names[i]).bytes + step.before[slot],
                      std::span(step.entries).subspan(taken, bytes)});
    taken += bytes;
  }
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

/// The same on all ranks: whether there are so many small pieces that ranks would wait for each
/// other's calls.
bool StepWriter::writes_index_together(const Laid& step, const IndexPlan& plan) const {
  constexpr std::int64_t many = 64, very_many = 256;
  constexpr Count small = 4096;
  if (!make_io_ || comm_.size() == 1 || later_ || log_ || files_.trailing()) return false;
  const std::int64_t pieces = std::ssize(step.names) * comm_.size();
  return std::ssize(step.names) >= many && pieces >= very_many &&
         (plan.record.end - plan.record.groups) / pieces < small;
}

/// Collective. All ranks have it, or none: the next step asks again.
void StepWriter::make_index_io() {
  if (index_io_) return;
  const auto failed =
      attempt_together(comm_, [&] { index_io_ = make_io_(files_.shared_metadata()); });
  if (!failed) return;
  index_io_.reset();
  throw *failed;
}

/// Collective. `failed`: why this rank has no `stream`; that travels with what is agreed on before.
void StepWriter::write_index_together(std::optional<ListStream>& stream,
                                      const std::optional<Error>& failed) {
  auto foreseen = index_io_->foresee(stream ? stream->summary() : StreamSummary());
  const bool told = foreseen.has_value();
  meet_with(failed, [&](Errc code) {
    told ? comm_.meet(foreseen->values, Reduce::sum, code, Foreseen::maxima) : comm_.meet(code);
  });
  const StepTimer timer(report_, Step::header);
  told ? index_io_->carry_out_foreseen(*stream, true, *foreseen, std::nullopt)
       : index_io_->write_all(*stream);
}

std::uint32_t StepWriter::next_step() const {
  if (files_.steps >= std::numeric_limits<std::uint32_t>::max())
    throw Error(Errc::erange, "BP files have no numbers for more than 2^32 steps",
                "write another file");
  return static_cast<std::uint32_t>(files_.steps + 1);
}

/// Of what this rank has for the file now: names that all know, and places by `lay_out`'s sums.
template <typename F>
void StepWriter::agree(Laid& step, std::optional<Error> failed, F&& lay_out) {
  attempt_into(failed, [&] {
    step.number = next_step();
    for (Pending& pending : pending_) measure_lent(pending);
  });
  std::vector<Name> fresh;
  attempt_into(failed, [&] { fresh = new_names(); });
  catalogue_.agree(comm_, fresh, failed);
  if (files_.trailing()) place_joined();

  failed = attempt_to([&] {
    find_places();
    lay_out();
  });
  add_up(step.before, step.total, failed);
}

/// Collective. `before`: what this rank has, then what those below it have; `total`: all of them.
void StepWriter::add_up(std::vector<std::int64_t>& before, std::vector<std::int64_t>& total,
                        const std::optional<Error>& failed) {
  if (failed) before.clear(), total.clear();
  meet_with(failed, [&](Errc code) { comm_.exclusive_scan(before, total, code); });
}

/// Collective. The same for the end of a step behind another one: if no rank has new names they
/// need not agree on these, and if each has as much as in the step before, which is the rule, so
/// are their sums. One meeting tells both.
void StepWriter::agree_on_step(Laid& step) {
  const auto lay_it_out = [&] {
    const StepTimer timer(report_, Step::define);
    lay_out(step);
  };
  if (last_.mine.empty() || files_.trailing()) return agree(step, std::nullopt, lay_it_out);
  enum : std::int64_t { like_the_last, other_sums, other_names };
  std::int64_t state = like_the_last;
  const auto failed = attempt_to([&] {
    step.number = next_step();
    if (!new_names().empty()) {
      state = other_names;
      return;
    }
    for (Pending& pending : pending_) measure_lent(pending);
    find_places();
    lay_it_out();
    if (step.mine != last_.mine) state = other_sums;
  });
  agree_on_error(comm_, failed, std::span(&state, 1), Reduce::max);
  if (state == other_names) {
    step = Laid();
    agree(step, std::nullopt, lay_it_out);
  } else if (state == other_sums) {
    add_up(step.before, step.total, std::nullopt);
  } else {
    std::copy(last_.before.begin(), last_.before.end(), step.before.begin());
    std::copy(last_.total.begin(), last_.total.end(), step.total.begin());
    step.sums_are_known = true;
  }
}

/// Collective. Blocks of joined arrays follow one another in the order of ranks.
void StepWriter::place_joined() {
  std::vector<std::int64_t> before, total;
  const auto failed = attempt_to([&] {
    before.resize(catalogue_.size());
    total.resize(catalogue_.size());
    find_places();
    for (const Pending& pending : pending_)
      if (pending.joined) before[place(pending.name)] += pending.block.at.count[*pending.joined];
  });
  add_up(before, total, failed);
  for (Pending& pending : pending_) {
    if (!pending.joined) continue;
    bp::Shape& at = pending.block.at;
    at.start.assign(at.count.size(), 0);
    at.shape[*pending.joined] = total[place(pending.name)];
    at.start[*pending.joined] = before[place(pending.name)];
    before[place(pending.name)] += at.count[*pending.joined];
  }
  // As of global arrays: readers would take those for scalars.
  std::erase_if(pending_,
                [](const Pending& p) { return p.joined && bp::all_zero(p.block.at.shape); });
}

void StepWriter::write_flush(const std::optional<Error>& failed_before) {
  choose_data_files();
  Laid step;
  bp::Bytes bytes;
  std::vector<Flushed::Entry> entries;
  agree(step, failed_before, [&] {
    const auto joined = [](const Pending& pending) { return pending.joined.has_value(); };
    if (std::any_of(pending_.begin(), pending_.end(), joined))
      throw Error(Errc::enotsupport, "joined arrays of BP3 files have all blocks of a step at once",
                  "end the step, or choose bp_version=4");
    step.mine.resize(of_names);
    step.total.resize(of_names);
    if (!pending_.empty()) step.image.emplace(new_image(step.number));
    sort_blocks();
    for (Pending& pending : pending_)
      entries.push_back(put_block(pending, files_.number(), step.number, *step.image, bytes));
    if (step.image) end_image(step);
    step.before = step.mine;
  });
  Offset end = 0;
  const Offset at = place_of(step, end);
  // More of the step will follow.
  if (files_.trailing()) files_.trailing()->make_way(end + (end - files_.data_end), std::nullopt);
  agree_on_error(comm_, attempt_to([&] {
                   const StepTimer timer(report_, Step::write);
                   if (step.image) {
                     write_group(files_.data(), files_.number(), *step.image, at);
                     flushed_.groups.push_back(at);
                   }
                   keep_entries(bytes, entries, at);
                 }));
  flushed_.end = end;
}

void StepWriter::make_room(std::size_t bytes) {
  if (passes_through()) bytes = std::min(bytes, static_cast<std::size_t>(room_of_passing()));
  copies_.find(files_.has_early() ? std::min(bytes, static_cast<std::size_t>(options_.step_memory))
                                  : bytes);
}

bool StepWriter::is_beyond(Count room, std::size_t bytes) const {
  const auto most = static_cast<std::size_t>(room);
  return bytes > most || copies_.taken() > most - bytes;
}

bool StepWriter::is_beyond_memory(std::size_t bytes) const {
  return files_.has_early() && is_beyond(options_.step_memory, bytes);
}

/// Whether copies go to this rank's own data file as they come, where it knows without the others
/// what the place of its groups is. A store that takes long for each call gets large ones.
bool StepWriter::passes_through() {
  return could_pass_ && files_.has_early() && files_.data_ranks().size() == 1 &&
         !files_.waits_for_size() && !later_ && !log_ &&
         !is_slow(files_.data().least_latency(true));
}

/// Of copies that wait until they pass: they are in a core's own cache still when the system copies
/// them. Groups end at multiples of the alignment.
Count StepWriter::room_of_passing() const {
  constexpr Count of_cache = 512 << 10, groups_of_alignment = 16;
  return std::min(options_.step_memory,
                  std::max(of_cache, groups_of_alignment * options_.alignment));
}

/// Local. As write_early(); with `may_wait` an error waits for the end of the step, when all ranks
/// hear of it.
void StepWriter::let_out(bool may_wait) {
  if (!may_wait) return write_early();
  could_pass_ = !attempt_to([&] { write_early(); });
}

/// Local. What the step has in copies goes to the file, as a group of its own; what was lent takes
/// no memory and waits, unless a copy of the same variable would lie before it: by groups alone
/// their order is not known otherwise. When it throws, nothing has changed.
void StepWriter::write_early() {
  std::vector<bool> has_copies(names_.size());
  for (const Pending& pending : pending_)
    if (!pending.lent) has_copies[pending.name] = true;
  const auto waits = [&](const Pending& pending) { return !has_copies[pending.name]; };
  if (std::all_of(pending_.begin(), pending_.end(), waits)) return;
  const StepTimer timer(report_, Step::write);
  const std::uint32_t step = next_step();
  const bool own = passes_through();
  const std::uint32_t number = own ? files_.number() : files_.early_number();
  bp::GroupImage image = new_image(step);
  bp::Bytes entry_bytes;
  std::vector<Flushed::Entry> entries;
  Count bytes = 0;
  for (Pending& pending : pending_) {
    if (waits(pending)) continue;
    measure_lent(pending);
    bytes += std::ssize(pending.data);
    entries.push_back(put_block(pending, number, step, image, entry_bytes));
  }
  image.finish(options_.alignment);
  auto& groups = own ? flushed_.groups : flushed_.early_groups;
  make_room_for(flushed_.entries, entries.size());
  make_room_for(flushed_.bytes, entry_bytes.size());
  make_room_for(groups, 1);
  const Offset at =
      own ? std::max(files_.data_end, flushed_.end) : files_.take_early(image.bytes());
  write_group(own ? files_.data() : files_.early(), number, image, at);
  groups.push_back(at);
  if (own) flushed_.end = at + image.bytes();
  flushed_.early_bytes += bytes;
  keep_entries(entry_bytes, entries, at);
  std::erase_if(pending_, [&](const Pending& pending) { return !waits(pending); });
  copies_.clear();
  ++report_[Counter::flushes];
}

/// Collective. All of the step is in its files: it may be seen.
void StepWriter::show(const bp::StepRecord& record) {
  by_root(comm_, [&] { files_.index().write_at(files_.index_end, bp::print_record(record)); });
  files_.index_end += bp::record_bytes;
}

/// Collective. The same in a BP3 file.
void StepWriter::show_trailing(const Laid& step, const IndexPlan& plan) {
  const bp::StepRecord& places = plan.record;
  TrailingIndex::Contents contents;
  const auto failed = attempt_to([&] {
    contents.begin = places.groups;
    contents.variables = places.variables - places.groups;
    contents.attributes = places.attributes - places.groups;
    contents.bytes = places.end - places.groups;
    contents.groups = {bp::groups_head_bytes, step.of_groups.bytes, step.of_groups.entries};
    contents.names.resize(catalogue_.size());
    for (std::size_t i = 0; i < step.names.size(); ++i)
      if (plan.entries[i] != IndexPlan::none)
        contents.names[step.names[i]] = {plan.entries[i] - places.groups, step.sums[i].bytes,
                                         step.sums[i].entries};
    files_.data().meet();
  });
  agree_on_error(comm_, failed);
  files_.trailing()->show(places, std::move(contents));
}

/// Steps that were left to the queues, or to logs.
void StepWriter::finish_last() {
  if (held_.empty()) return;
  if (log_) return empty_log();
  agree_on_error(comm_, attempt_to([&] { later_->drain(); }));
  show(held_.front());
  held_.clear();
}

/// Collective. All that waits in logs goes to the files, and then the records of its steps.
void StepWriter::empty_log() {
  agree_on_error(comm_, attempt_to([&] { log_->drain(); }));
  by_root(comm_, [&] {
    bp::Bytes records;
    for (const bp::StepRecord& record : held_) {
      const auto printed = bp::print_record(record);
      records.insert(records.end(), printed.begin(), printed.end());
    }
    files_.index().write_at(files_.index_end, records);
  });
  files_.index_end += std::ssize(held_) * bp::record_bytes;
  held_.clear();
  log_->drop();
}

/// Collective. All of the step is in logs, or in its files. There is room in held_.
void StepWriter::show_logged(const bp::StepRecord& record) {
  enum : std::int64_t { goes_on, is_full, has_no_record };
  std::int64_t state = log_->is_full() ? is_full : goes_on;
  LoggedPiece of = of_step(LoggedPiece::index);
  of.at = files_.index_end + std::ssize(held_) * bp::record_bytes;
  if (comm_.is_root() && !log_->add_record(of, bp::print_record(record))) state = has_no_record;
  state = comm_.all_reduce(state, Reduce::max);
  if (state != has_no_record) held_.push_back(record);
  if (state == goes_on) return;
  const auto failed = attempt_to([&] { empty_log(); });
  if (state == is_full) {
    // The step is safe in the logs, which tell of the error when they are to be empty.
    if (failed) comm_.forget_failed_meeting();
    return;
  }
  if (failed) throw *failed;
  show(record);
}

void StepWriter::write_step() {
  choose_data_files();
  Laid step;
  agree_on_step(step);
  if (step.image) step.image->tell_groups(step.total[groups]);
  Offset end = 0;
  const Offset at = place_of(step, end);
  IndexPlan plan;
  auto failed = attempt_to([&] {
    plan = plan_metadata(step, end);
    make_room_for(held_, 1);
  });
  if (files_.trailing())
    files_.trailing()->make_way(plan.record.end + bp::whole_footer_bytes, failed);
  Metadata own;
  const bool together = !failed && writes_index_together(step, plan);
  if (together) make_index_io();
  std::optional<ListStream> stream;
  const auto write_all = [&] {
    const StepTimer timer(report_, Step::write);
    std::optional<WriteQueue::Open> open;
    if (later_) open.emplace(*later_);
    if (step.image) write_group(files_.data(), files_.number(), *step.image, at);
    for (const auto& [from, entry_end] : step.own)
      bp::move_entry(std::span(step.entries).subspan(from, entry_end - from), at);
    lay_out_metadata(step, plan, at, own);
    const StepTimer of_index(report_, Step::header);
    if (together)
      stream.emplace(extents_of(own.pieces));
    else
      write(files_.metadata(), LoggedPiece::metadata, own.pieces);
    if (files_.trailing()) files_.trailing()->carry(plan, step.names);
  };
  if (!failed) failed = attempt_to(write_all);
  if (together)
    write_index_together(stream, failed);
  else
    agree_on_error(comm_, failed);
  bp::StepRecord record = plan.record;
  record.step = step.number;
  record.time = record_time();
  if (files_.trailing()) {
    show_trailing(step, plan);
  } else if (later_) {
    held_.push_back(record);
  } else if (log_) {
    show_logged(record);
  } else {
    show(record);
  }
  files_.data_end = end;
  files_.metadata_end = record.end;
  files_.steps = step.number;
  for (const std::size_t n : step.names)
    attribute_written_[n] = catalogue_[n].kind == Kind::attribute;
  attributes_.clear();
  // Behind the last meeting: on all ranks, or on none.
  if (step.sums_are_known) return;
  last_.mine.swap(step.mine);
  last_.before.swap(step.before);
  last_.total.swap(step.total);
  last_.bytes_before = step.bytes_before;
  last_.bytes_of_file = step.bytes_of_file;
}

void StepWriter::forget_blocks() {
  pending_.clear();
  copies_.clear();
}

void StepWriter::forget_step() {
  forget_blocks();
  flushed_.clear();
  blocks_ = 0;
  next_name_ = 0;
  could_pass_ = true;
}

// All ranks have ended their writes, as far as they are this step's. What lies behind whole steps
// is given back where that works; the next step is written over it in any case.
void StepWriter::give_up_step() {
  if (log_) log_->forget_step();
  if (later_ && held_.empty()) {
    later_->drop(files_.data());
    later_->drop(files_.metadata());
    attempt_to([&] { comm_.meet(); });
  }
  if (files_.trailing())
    files_.trailing()->settle(files_.data_end);
  else if (files_.data_ranks().is_root())
    cut_off(files_.data(), files_.data_end);
  if (comm_.is_root() && !files_.trailing()) {
    cut_off(files_.metadata(), files_.metadata_end);
    cut_off(files_.index(), files_.index_end);
  }
  if (options_.step_memory > 0) {
    files_.drop_early();
    attempt_to([&] { comm_.meet(); });
  }
  forget_step();
  names_.clear();  // those that not all ranks know
  name_places_.clear();
  ++files_.opening;  // what is left of it belongs to no other step with its number
}

// What fails on one rank all know of before they meet to give the step up.
template <typename F>
void StepWriter::carry_out(F&& f) {
  const auto failed = up_to_meeting(comm_, f);
  if (!failed) return;
  give_up_step();
  throw Error(*failed).as_own_matter(false);
}

std::int64_t StepWriter::meetings_so_far() const {
  const auto of = [](const Comm::Backend* one) { return one ? one->meetings : 0; };
  const Comm::Backend *const all = comm_.backend(), *const some = files_.data_ranks().backend();
  return of(all) + (some == all ? 0 : of(some));
}

void StepWriter::count_meetings(std::int64_t of_step) {
  auto& [first, least, most] = meetings_;
  if (first >= 0) {
    least = least < 0 ? of_step : std::min(least, of_step);
    most = std::max(most, of_step);
  } else {
    first = of_step;
  }
}

void StepWriter::end_step() {
  const StepTimer timer(report_, Step::wait);
  const std::int64_t before = meetings_so_far();
  carry_out([&] {
    if (later_) finish_last();
    write_step();
  });
  if (log_) log_->keep_step();
  files_.keep_early();
  forget_step();
  count_meetings(meetings_so_far() - before);
}

void StepWriter::flush(const std::optional<Error>& failed) {
  const StepTimer timer(report_, Step::wait);
  carry_out([&] { write_flush(failed); });
  forget_blocks();
}

void StepWriter::sync() {
  finish_last();
  const StepTimer timer(report_, Step::sync);
  agree_on_error(comm_, attempt_to([&] {
                   files_.data().sync();
                   if (files_.wrote_early()) files_.early().sync();
                   if (!files_.trailing()) files_.metadata().sync();
                 }));
  by_root(comm_, [&] {
    if (!files_.trailing()) files_.index().sync();
    files_.sync_names();
  });
}

void StepWriter::close() {
  forget_step();
  if (log_) log_->forget_step();
  auto freed = attempt_to([&] {
    if (index_io_) index_io_->close();
  });
  auto failed = attempt_to([&] { finish_last(); });
  if (failed) failed = attempt_to([&] { finish_last(); });  // the last time that it can be tried
  if (log_ && !failed) log_->end();
  if (later_) {
    later_->drop(files_.data());
    later_->drop(files_.metadata());
    later_->tell();
  }
  keep_first(failed, std::move(freed));
  TrailingIndex* const trailing = files_.trailing();
  if (trailing) trailing->settle(files_.data_end);  // of a flush, too, that no step followed
  attempt_into(failed, [&] { files_.data().close(); });
  if (files_.wrote_early()) attempt_into(failed, [&] { files_.early().close(); });
  if (!trailing) attempt_into(failed, [&] { files_.metadata().close(); });
  if (comm_.is_root() && !trailing) attempt_into(failed, [&] { files_.index().close(); });
  agree_on_error(comm_, failed);
}

}  // namespace forebay::process_group
