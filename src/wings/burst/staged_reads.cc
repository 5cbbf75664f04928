#include "burst/staged_reads.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/byteorder.h"
#include "layout/canonical/canonical.h"

namespace forebay::burst {

namespace {

constexpr std::size_t block = 64;  // number of writes that a read may skip at once

// The extents of a read or write of one variable, as if its records followed each other.
RequestCursor cursor_of(const Request& request, const Schema& schema) {
  const Variable& var = schema.vars[static_cast<std::size_t>(request.var)];
  return {request, var, var.inner_bytes()};
}

// Goes through the extents of a cursor.
template <typename Cursor>
class Walk {
 public:
  explicit Walk(Cursor& cursor) : cursor_(cursor) { next(); }
  explicit operator bool() const { return at_ < count_; }
  const Extent& operator*() const { return extents_[at_]; }
  const Extent* operator->() const { return &extents_[at_]; }
  void next() {
    if (++at_ < count_) return;
    at_ = 0;
    count_ = cursor_.next(extents_);
  }

 private:
  Cursor& cursor_;
  std::array<Extent, 64> extents_;
  std::size_t at_ = 0, count_ = 0;
};

// Calls f(a, b, first, last) for each common range of bytes. Neither cursor may overlap itself.
template <typename A, typename B, typename F>
void for_each_common(A& first, B& second, F&& f) {
  Walk<A> a(first);
  Walk<B> b(second);
  while (a && b) {
    const Offset from = std::max(a->offset, b->offset);
    const Offset to = std::min(a->end(), b->end());
    if (from < to) f(*a, *b, from, to);
    a->end() < b->end() ? a.next() : b.next();
  }
}

void copy_common(const Extent& from, const Extent& to, Offset first, Offset last) {
  const Offset source = from.skip + first - from.offset;
  const Offset target = to.skip + first - to.offset;
  const Count bytes = last - first;
  if (from.swap == to.swap && ((source | target | bytes) & (from.swap - 1)) == 0) {
    std::memcpy(to.memory + target, from.memory + source, static_cast<std::size_t>(bytes));
    return;
  }
  std::array<std::byte, 4096> external;
  for (Count done = 0; done < bytes;) {
    const auto now = std::min<Count>(bytes - done, external.size());
    copy_swapped_range(external.data(), from.memory, source + done, now, from.swap);
    store_swapped_range(to.memory, target + done, external.data(), now, to.swap);
    done += now;
  }
}

// Splits a read that selects elements twice into its runs.
std::vector<Request> parts_of(const Request& read) {
  const auto& selected = std::get<Runs>(read.selection);
  const RunList& list = *selected.list;
  std::vector<Request> parts;
  Offset position = 0;
  for (std::size_t i = 0; i < list.runs.size(); ++i) {
    Request part;
    part.var = read.var;
    part.packed = read.packed;
    part.element_size = read.element_size;
    part.swap = read.swap;
    auto run = std::make_shared<RunList>();
    run->runs = {list.runs[i]};
    run->memory = {list.memory.empty() ? position : list.memory[i]};
    run->bytes = list.runs[i].length;
    position += list.runs[i].length;
    part.selection = Runs{std::move(run), selected.base};
    parts.push_back(std::move(part));
  }
  return parts;
}

bool selects_twice(const Request& read) {
  const auto* runs = std::get_if<Runs>(&read.selection);
  return runs != nullptr && runs->list->overlapping;
}

}  // namespace

void StagedWrites::clear() { *this = StagedWrites(); }

std::vector<std::uint32_t> StagedWrites::meeting(const Schema& schema, VarId var, Offset first,
                                                 Offset last) {
  if (of_var_.size() < schema.vars.size()) of_var_.resize(schema.vars.size());
  for (; looked_up_ < table.size(); ++looked_up_) {
    const Request write = table.request(looked_up_, nullptr);
    const StreamSummary range = cursor_of(write, schema).summary();
    OfVariable& known = of_var_[static_cast<std::size_t>(write.var)];
    if (known.ranges.size() % block == 0) known.blocks.push_back({range.first, range.last, 0});
    Range& span = known.blocks.back();
    span.first = std::min(span.first, range.first);
    span.last = std::max(span.last, range.last);
    known.ranges.push_back({range.first, range.last, static_cast<std::uint32_t>(looked_up_)});
  }
  const auto meets = [&](const Range& range) { return range.first < last && first < range.last; };
  const OfVariable& known = of_var_[static_cast<std::size_t>(var)];
  std::vector<std::uint32_t> found;
  for (std::size_t b = 0; b < known.blocks.size(); ++b) {
    if (!meets(known.blocks[b])) continue;
    const std::size_t end = std::min((b + 1) * block, known.ranges.size());
    for (std::size_t i = b * block; i < end; ++i) {
      if (meets(known.ranges[i])) found.push_back(known.ranges[i].index);
    }
  }
  return found;
}

bool covers(std::span<StagedWrites* const> staged, const Schema& schema, const Request& read) {
  if (read.level != 0) return false;  // it selects elements of another level
  if (selects_twice(read)) {
    auto parts = parts_of(read);
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Request& part) { return covers(staged, schema, part); });
  }
  RequestCursor wanted = cursor_of(read, schema);
  const StreamSummary range = wanted.summary();
  if (range.empty()) return true;
  std::vector<RequestCursor> cursors;
  for (StagedWrites* writes : staged) {
    for (const std::uint32_t i : writes->meeting(schema, read.var, range.first, range.last))
      cursors.push_back(cursor_of(writes->table.request(i, nullptr), schema));
  }
  if (cursors.empty()) return false;
  GroupMerge<RequestCursor> merged(std::move(cursors), true);
  Count common = 0;
  for_each_common(merged, wanted, [&](const Extent&, const Extent&, Offset first, Offset last) {
    common += last - first;
  });
  return common == range.bytes;
}

bool overlay(std::span<StagedWrites* const> staged, const Schema& schema, Request& read,
             const staging::ReadData& data) {
  if (read.level != 0) return false;
  bool any = false;
  if (selects_twice(read)) {
    for (Request& part : parts_of(read)) any = overlay(staged, schema, part, data) || any;
    return any;
  }
  const StreamSummary range = cursor_of(read, schema).summary();
  if (range.empty()) return false;
  std::unique_ptr<std::byte[]> buffer;
  std::size_t room = 0;
  for (StagedWrites* writes : staged) {
    for (const std::uint32_t i : writes->meeting(schema, read.var, range.first, range.last)) {
      const auto bytes = static_cast<std::size_t>(writes->table.bytes_of(i));
      if (bytes > room) {
        buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
        room = bytes;
      }
      bool loaded = false;
      RequestCursor from = cursor_of(writes->table.request(i, buffer.get()), schema);
      RequestCursor to = cursor_of(read, schema);
      for_each_common(from, to, [&](const Extent& a, const Extent& b, Offset first, Offset last) {
        if (!loaded) data(writes->table.facts(i), {buffer.get(), bytes});
        loaded = any = true;
        copy_common(a, b, first, last);
      });
    }
  }
  return any;
}

}  // namespace forebay::burst
