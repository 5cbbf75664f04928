#include "groups/process_group/trailing_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "base/attempt.h"
#include "base/raw_bytes.h"
#include "comm/agree.h"
#include "groups/format/bp3_read.h"
#include "groups/format/bp_cursor.h"
#include "groups/process_group/bp_files.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/group_walk.h"
#include "groups/process_group/index_window.h"

namespace forebay::process_group {

namespace {

constexpr Count least_share = 64 << 10;
constexpr Count most_entries_at_once = 1 << 20;

/// Reads the contents of an index from its beginning to its end.
class OldIndex {
 public:
  OldIndex(const std::string& path, const BpReader& file, Rank rank, Report& report)
      : path_(path), reader_(file), file_(path, false, rank, report), window_(file_) {}

  TrailingIndex::Found read() {
    read_footer();
    expect_end(read_groups(), footer_.variables);
    expect_end(each_element(window_, footer_.variables, footer_.attributes, false,
                            [&](Offset at, Count n) { take_variable(at, n); }),
               footer_.attributes);
    const Offset end = each_element(window_, footer_.attributes, end_, false,
                                    [&](Offset at, Count n) { take_attribute(at, n); });
    expect_end(end, end_of_attributes());
    found_.contents.places = {.groups = footer_.groups,
                              .variables = footer_.variables,
                              .attributes = footer_.attributes,
                              .end = end};
    return std::move(found_);
  }

 private:
  void expect_end(Offset at, Offset end) const {
    if (at != end) cannot_append(path_, "its index is damaged");
  }

  void add(Name&& name, const IndexList& list) {
    if (!known_.emplace(name.kind == Kind::attribute, name.variable.name).second)
      cannot_append(path_, name.variable.name + " is twice in its index");
    found_.names.push_back(std::move(name));
    found_.contents.names.push_back(list);
  }

  void read_footer() {
    const Count size = window_.file_bytes();
    std::array<std::byte, bp::whole_footer_bytes> last{};
    end_ = size - std::ssize(last);
    if (end_ < 0 || file_.read_at(end_, last) < last.size() ||
        std::memcmp(last.data(), bp::own_footer_tag.data(), bp::own_footer_tag.size()) != 0)
      cannot_append(path_, "another program wrote it");
    footer_ = bp::parse_footer(
        std::span<const std::byte>(last).last<static_cast<std::size_t>(bp::footer_bytes)>(), size);
  }

  // The footer lies behind the attributes, but not always directly.
  Offset end_of_attributes() {
    std::uint64_t bytes = 0;
    const Offset at = footer_.attributes + bp::elements_head_bytes - Count{sizeof bytes};
    std::memcpy(&bytes, window_.bytes(at, sizeof bytes, end_).data(), sizeof bytes);
    const Offset begin = footer_.attributes + bp::elements_head_bytes;
    const Count gap = end_ - begin -
                      static_cast<Count>(
                          std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(end_ - begin)));
    return gap == 0 || gap >= bp::whole_footer_bytes ? end_ - gap : -1;
  }

  Offset read_groups() {
    Offset at = footer_.groups, last = -1;
    const Offset end = footer_.variables;
    std::uint64_t groups =
        bp::parse_groups_head(window_.bytes(at, bp::groups_head_bytes, end), false);
    at += bp::groups_head_bytes;
    found_.contents.groups = {bp::groups_head_bytes, end - at, static_cast<std::int64_t>(groups)};
    for (; groups > 0; --groups) {
      const Count n = bp::parse_group_bytes(window_.bytes(at, 2, end), false);
      bp::Cursor entry(window_.bytes(at, n, end), false);
      const bp::Group group = bp::parse_group(entry);
      last = std::max(last, group.place);
      found_.steps = std::max<std::uint64_t>(found_.steps, group.step);
      at += n;
    }
    if (last < 0) return at;
    const auto written = written_group(file_, last);
    if (!written) cannot_append(path_, "its last group is not there", "see `forebay recover`");
    found_.opening = written->opening;
    found_.data_end = written->end;
    return at;
  }

  void take_variable(Offset at, Count n) {
    const bp::VariableEntry entry(window_.bytes(at, std::min(n, bp::longest_first_block), at + n),
                                  {.form = bp::Form::bp3});
    const auto head = static_cast<Count>(entry.at());
    std::uint64_t blocks = 0;
    std::memcpy(&blocks, window_.bytes(at + head - 8, 8, at + n).data(), sizeof blocks);
    if (blocks > static_cast<std::uint64_t>((n - head) / bp::block_head_bytes))
      cannot_append(path_, "its index is damaged");
    const StoredVariable& stored = reader_.variables()[reader_.find(entry.variable().name)];
    add({stored.variable, stored.kind, static_cast<std::uint8_t>(stored.dimensions)},
        {at + head - footer_.groups, n - head, static_cast<std::int64_t>(blocks)});
  }

  void take_attribute(Offset at, Count n) {
    const auto parsed = bp::parse_attribute(window_.bytes(at, n, at + n), {.form = bp::Form::bp3});
    add({{parsed.attribute.name, parsed.attribute.type}, Kind::attribute},
        {at - footer_.groups, n, 1});
  }

  std::string path_;
  const BpReader& reader_;
  File file_;
  IndexWindow window_;
  bp::Footer footer_;
  Offset end_ = 0;
  std::set<std::pair<bool, std::string>> known_;
  TrailingIndex::Found found_;
};

void check_blocks(const BpReader& file, const std::string& path, Count size) {
  for (std::size_t v = 0; v < file.variables().size(); ++v)
    for (const std::uint32_t step : file.variables()[v].steps.numbers())
      file.each_block(v, step, [&](const bp::Block& block) {
        if (!block.has_value && bp::stored_bytes(block) > size - block.payload)
          cannot_append(path, "values of step " + std::to_string(step) + " are not there");
      });
}

}  // namespace

TrailingIndex::Found TrailingIndex::find(const std::string& path, bool column_major, Rank rank,
                                         Report& report) {
  std::optional<BpReader> reader;
  try {
    reader.emplace(Comm(), path, report);
  } catch (const Error& error) {
    cannot_append(path, error.message(), "`forebay recover` gives a file its index again");
  }
  if (reader->swapped()) cannot_append(path, "it has the other byte order");
  if (reader->steps() > 0 && reader->column_major(0) != column_major)
    cannot_append(path, std::string("its arrays are ") + (column_major ? "row" : "column") +
                            "-major, and those of the group are not");
  check_blocks(*reader, path, File(path, false, rank, report).size());
  return OldIndex(path, *reader, rank, report).read();
}

void TrailingIndex::write_empty() {
  bp::Bytes bytes;
  bp::append_groups_head(bytes, 0, 0);
  bp::append_elements_head(bytes, 0, 0);
  bp::append_elements_head(bytes, 0, 0);
  const auto footer = bp::print_footer(now_.places);
  bytes.insert(bytes.end(), footer.begin(), footer.end());
  file_.write_at(begin(), bytes);
}

void TrailingIndex::learn(Contents&& contents) {
  now_ = std::move(contents);
  bp::StepRecord& places = now_.places;
  std::vector<std::int64_t> flat{places.groups,  places.variables,  places.attributes,  places.end,
                                 now_.groups.at, now_.groups.bytes, now_.groups.entries};
  const std::size_t fixed = flat.size();
  for (const IndexList& list : now_.names)
    flat.insert(flat.end(), {list.at, list.bytes, list.entries});
  agree_on_error(comm_, attempt_to([&] {
                   comm_.broadcast(flat);
                   now_.names.resize((flat.size() - fixed) / 3);
                 }));
  places.groups = flat[0];
  places.variables = flat[1];
  places.attributes = flat[2];
  places.end = flat[3];
  now_.groups = {flat[4], flat[5], flat[6]};
  for (std::size_t n = 0, at = fixed; n < now_.names.size(); ++n, at += 3)
    now_.names[n] = {flat[at], flat[at + 1], flat[at + 2]};
}

/// Returns the begin and the end of this rank's share of `bytes` bytes.
std::pair<Count, Count> TrailingIndex::share_of(Count bytes) const {
  const Count share = std::max(least_share, (bytes + comm_.size() - 1) / comm_.size());
  const Count from = std::min(bytes, share * comm_.rank());
  return {from, std::min(bytes, from + share)};
}

void TrailingIndex::read(Offset from, std::span<std::byte> into) const {
  if (file_.read_at(begin() + from, into) < into.size())
    throw Error(Errc::etrunc, file_.path() + " has become shorter while it was written",
                "let one program write it");
}

void TrailingIndex::copy_share(Offset to) const {
  if (drops_) return;
  const auto [from, end] = share_of(bytes());
  RawBytes part;
  for (Offset at = from; at < end; at += most_entries_at_once) {
    part.resize(static_cast<std::size_t>(std::min(end - at, most_entries_at_once)));
    read(at, part);
    file_.write_at(to + at, part);
  }
}

/// Performs this rank's share of ascending moves, window by window.
void TrailingIndex::carry_out(std::span<const Move> moves) const {
  Count all = 0;
  for (const Move& move : moves) all += move.bytes;
  const auto [from, end] = share_of(all);
  RawBytes part;
  Offset window = 0;  // the place of `part` in the index
  const auto held = [&](Offset at, Count n) {
    if (at < window || at + n > window + std::ssize(part)) {
      window = at;
      part.resize(static_cast<std::size_t>(std::min(most_entries_at_once, bytes() - at)));
      read(at, part);
    }
    return std::span<const std::byte>(part).subspan(static_cast<std::size_t>(at - window),
                                                    static_cast<std::size_t>(n));
  };
  Count passed = 0;
  for (const Move& move : moves) {
    Count at = std::max<Count>(0, from - passed);
    const Count last = std::min(move.bytes, end - passed);
    for (; at < last; at += most_entries_at_once) {
      const Count n = std::min(most_entries_at_once, last - at);
      file_.write_at(move.to + at, held(move.from + at, n));
    }
    passed += move.bytes;
  }
}

void TrailingIndex::carry(const StepIndex& step) {
  const IndexPlan& plan = step.plan;
  next_ = {plan.record, {bp::groups_head_bytes, step.groups.bytes, step.groups.entries}, {}};
  std::vector<Move> moves{
      {now_.groups.at, now_.groups.bytes, plan.record.groups + bp::groups_head_bytes}};
  for (std::size_t i = 0; i < step.names.size(); ++i) {
    if (plan.entries[i] == IndexPlan::none) continue;
    const std::size_t name = step.names[i];
    if (name >= next_.names.size()) next_.names.resize(name + 1);
    const NameSums& sums = step.of_names[i];
    next_.names[name] = {plan.entries[i] - plan.record.groups, sums.bytes, sums.entries};
    if (sums.earlier > 0) moves.push_back({of(name).at, sums.earlier, plan.entries[i]});
  }
  if (!drops_) carry_out(moves);
}

/// Writes the footer of an index behind it, and truncates the file there. A truncation that fails
/// may have taken effect: then no other index is left, so it has succeeded.
void TrailingIndex::end_with_footer(const bp::StepRecord& places) {
  const Offset end = places.end + bp::whole_footer_bytes;
  file_.write_at(places.end, bp::print_footer(places));
  const auto failed = attempt_to([&] { file_.truncate(end); });
  if (!failed) return;
  file_.look_again();
  if (file_.size() != end) throw *failed;
}

void TrailingIndex::move_to(Offset begin) {
  const Offset old_end = end(), by = begin - this->begin();
  const bp::StepRecord& now = now_.places;
  const bp::StepRecord moved{.groups = begin,
                             .variables = now.variables + by,
                             .attributes = now.attributes + by,
                             .end = now.end + by};
  const bool goes_up = begin >= old_end;
  const auto cut_off = [&] {
    if (goes_up && comm_.is_root()) attempt_to([&] { file_.truncate(old_end); });
  };
  const auto by_root_or_not = [&](auto&& f) {
    by_root(comm_, [&] {
      const auto torn = attempt_to(f);
      if (torn) cut_off();
      if (torn) throw *torn;
    });
  };
  // The file ends with a footer at any time.
  if (goes_up)
    by_root_or_not([&] {
      file_.write_at(moved.end, bp::print_footer(now));
      file_.meet();
    });
  auto failed = worst_of_all(comm_, attempt_to([&] {
                               copy_share(begin);
                               file_.meet();
                             }));
  if (failed) {
    cut_off();
    throw *failed;
  }
  by_root_or_not([&] { end_with_footer(moved); });
  now_.places = moved;
}

void TrailingIndex::cut_to_size() {
  by_root(comm_, [&] {
    if (file_.size() > end()) end_with_footer(now_.places);
  });
}

void TrailingIndex::make_way(Offset needed, const std::optional<Error>& failed) {
  agree_on_error(comm_, failed);
  if (begin() < needed) move_to(std::max(needed, end()));
}

void TrailingIndex::settle(Offset end) {
  constexpr std::array<std::byte, 4> nothing{};
  if (begin() <= end) return;
  const bool fits = begin() - end >= this->end() - begin();
  if (fits && !attempt_to([&] { move_to(end); })) return;
  if (comm_.is_root() && begin() - end >= std::ssize(nothing))
    attempt_to([&] { file_.write_at(end, nothing); });
}

void TrailingIndex::show() {
  by_root(comm_, [&] {
    end_with_footer(next_.places);
    file_.meet();
  });
  now_ = std::move(next_);
}

}  // namespace forebay::process_group
