#include "layout/canonical/canonical.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace forebay {
namespace canonical_test {

// A schema with fixed and record variables, placed by hand with gaps and an unaligned record
// section.
Schema test_schema() {
  Schema s;
  s.version = 5;
  s.add_dim({"time", 0});
  s.add_dim({"y", 5});
  s.add_dim({"x", 7});
  s.add_dim({"one", 1});
  auto add = [&](const char* name, Type type, std::vector<DimId> dimids, Offset begin) {
    Variable v;
    v.name = name;
    v.type = type;
    v.dimids = std::move(dimids);
    const int id = s.add_var(std::move(v));
    s.vars[static_cast<std::size_t>(id)].begin = begin;
  };
  add("scalar", Type::float64, {}, 512);
  add("fixed", Type::int32, {1, 2}, 520);
  add("flat", Type::int16, {2, 3}, 660);
  add("rec_a", Type::float32, {0, 1, 2}, 676);
  add("rec_b", Type::byte, {0, 2}, 816);
  s.numrecs = 6;
  s.begin_rec = 676;
  s.recsize = 140 + 8;
  return s;
}

/// Byte offsets of the selected elements in selection order, the slow and obvious way.
std::vector<Offset> element_offsets(const Schema& schema, VarId id, const Subarray& sub) {
  const Variable& var = schema.vars[static_cast<std::size_t>(id)];
  std::vector<Offset> out{var.begin};
  Count unit = size_of(var.type);
  std::vector<Count> units(sub.count.size());
  for (std::size_t d = sub.count.size(); d-- > 0;) {
    units[d] = d == 0 && var.is_record ? schema.recsize : unit;
    unit *= var.shape[d];
  }
  for (std::size_t d = 0; d < sub.count.size(); ++d) {
    std::vector<Offset> next;
    for (Offset base : out) {
      for (Count i = 0; i < sub.count[d]; ++i) {
        next.push_back(base +
                       (sub.start[d] + i * (sub.stride.empty() ? 1 : sub.stride[d])) * units[d]);
      }
    }
    out.swap(next);
  }
  return out;
}

Subarray random_subarray(const Schema& schema, VarId id, std::mt19937& random) {
  const Variable& var = schema.vars[static_cast<std::size_t>(id)];
  Subarray sub;
  for (std::size_t d = 0; d < var.dimids.size(); ++d) {
    const Count length = d == 0 && var.is_record ? schema.numrecs : var.shape[d];
    const Count start = static_cast<Count>(random() % static_cast<unsigned>(length));
    const Count stride = 1 + static_cast<Count>(random() % 3);
    const Count most = (length - start + stride - 1) / stride;
    sub.start.push_back(start);
    sub.stride.push_back(stride);
    sub.count.push_back(1 + static_cast<Count>(random() % static_cast<unsigned>(most)));
  }
  if (random() % 2) {
    for (std::size_t d = 0; d < sub.stride.size(); ++d) sub.stride[d] = 1;
    if (random() % 2) sub.stride.clear();
  }
  return sub;
}

Request request_for(const Schema& schema, VarId id, Subarray sub, std::byte* memory) {
  Request r;
  r.var = id;
  r.write = true;
  r.elements = sub.elements();
  r.element_size = r.swap = size_of(schema.vars[static_cast<std::size_t>(id)].type);
  r.packed = memory;
  r.selection = std::move(sub);
  return r;
}

std::vector<Extent> drain(ExtentStream& stream, std::size_t batch) {
  std::vector<Extent> all, part(batch);
  while (const std::size_t n = stream.next(part))
    all.insert(all.end(), part.begin(), part.begin() + static_cast<long>(n));
  return all;
}

TEST(RequestCursor, yields_every_selected_byte_once_in_file_order_with_its_memory) {
  const Schema schema = test_schema();
  std::mt19937 random(1);
  std::vector<std::byte> memory(1 << 16);
  for (int round = 0; round < 2000; ++round) {
    const VarId id = static_cast<VarId>(random() % schema.vars.size());
    const Subarray sub = random_subarray(schema, id, random);
    const auto expected = element_offsets(schema, id, sub);
    std::vector<Request> requests;
    requests.push_back(request_for(schema, id, sub, memory.data()));
    CanonicalStream stream(requests, schema, true);
    const int width = requests[0].element_size;
    std::map<Offset, Offset> place;  // file byte → memory position
    Offset last = -1;
    for (const Extent& e : drain(stream, 1 + random() % 9)) {
      ASSERT_GT(e.offset, last);
      for (Count b = 0; b < e.length; ++b)
        ASSERT_TRUE(place.emplace(e.offset + b, e.skip + b).second);
      last = e.end() - 1;
    }
    ASSERT_EQ(place.size(), expected.size() * static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(place.at(expected[i]), static_cast<Offset>(i) * width) << "element " << i;
    }
    ASSERT_EQ(stream.summary().first, place.begin()->first);
    ASSERT_EQ(stream.summary().last, place.rbegin()->first + 1);
    ASSERT_EQ(stream.summary().bytes, static_cast<Count>(place.size()));
  }
}

// Rows are the same pieces, of any part of a selection; parts may begin and end within a piece.
TEST(RequestCursor, rows_of_a_part_yield_its_bytes_in_their_order) {
  const Schema schema = test_schema();
  std::mt19937 random(3);
  std::byte memory{};
  int cut = 0, rows = 0;
  for (int round = 0; round < 5000; ++round) {
    const VarId id = static_cast<VarId>(random() % schema.vars.size());
    const Variable& var = schema.vars[static_cast<std::size_t>(id)];
    const Subarray sub = random_subarray(schema, id, random);
    const Count width = size_of(var.type);
    const auto elements = element_offsets(schema, id, sub);
    const auto first = static_cast<Count>(random() % elements.size());
    const Count count = 1 + static_cast<Count>(random() % (elements.size() - std::size_t(first)));
    RequestCursor cursor(sub, var, schema.recsize);
    cursor.restrict_to(first * width, count * width, &memory, 1);
    ASSERT_EQ(cursor.summary().bytes, count * width);
    Count at = 0, pieces = 0;  // at: the byte of the part that comes next
    while (const auto row = cursor.next_row()) {
      ASSERT_GT(row->count, 0);
      pieces += row->count;
      rows += row->count > 1;
      for (Count i = 0; i < row->count; ++i) {
        for (Count b = 0; b < row->first.length; ++b, ++at) {
          ASSERT_LT(at, count * width);
          const Offset element = elements[static_cast<std::size_t>(first + at / width)];
          ASSERT_EQ(row->first.offset + i * row->stride + b, element + at % width);
          ASSERT_EQ(row->first.skip + i * row->first.length + b, at);
        }
      }
      cut += row->count == 1 && row->first.length != width;
    }
    ASSERT_EQ(at, count * width);
    ASSERT_EQ(pieces, cursor.summary().pieces);
  }
  EXPECT_GT(cut, 100);
  EXPECT_GT(rows, 100);
}

// Run lists count bytes of the variable, whose records lie apart in the file; lists of reads may
// overlap themselves.
TEST(RequestCursor, places_runs_over_several_records) {
  const Schema schema = test_schema();
  std::mt19937 random(3);
  std::vector<std::byte> memory(1 << 16);
  int several = 0;
  for (int round = 0; round < 3000; ++round) {
    const VarId id = static_cast<VarId>(random() % schema.vars.size());
    const Variable& var = schema.vars[static_cast<std::size_t>(id)];
    const Count width = size_of(var.type), inner = var.inner_bytes();
    const Count elements = inner / width * (var.is_record ? 4 : 1);
    const bool write = random() % 2 == 0;
    std::vector<forebay::Run> runs;
    for (std::size_t k = random() % 6; k-- > 0;) {
      const auto from = static_cast<Count>(random() % static_cast<std::uint64_t>(elements));
      const auto most = static_cast<std::uint64_t>(elements - from);
      runs.push_back({from * width, (1 + static_cast<Count>(random() % most)) * width});
    }
    const RunList list = sorted_run_list(runs, {}, write);
    std::multimap<Offset, Offset> expected;  // file byte → memory position
    Offset position = 0;
    for (std::size_t i = 0; i < list.runs.size(); ++i) {
      const Offset at = list.memory.empty() ? position : list.memory[i];
      position += list.runs[i].length;
      for (Count b = 0; b < list.runs[i].length; ++b) {
        const Offset byte = list.runs[i].offset + b;
        const Count record = var.is_record ? byte / inner : 0;
        several += record > 0 && schema.recsize != inner;
        expected.emplace(var.begin + byte + record * (schema.recsize - inner), at + b);
      }
    }
    Request request;
    request.var = id;
    auto shifted = std::make_shared<RunList>(list);
    const Offset base = random() % 2 == 0 ? 0 : width * static_cast<Count>(random() % 40);
    for (forebay::Run& run : shifted->runs) run.offset -= base;
    request.selection = Runs{std::move(shifted), base};
    request.packed = memory.data();
    RequestCursor cursor(request, schema);
    const StreamSummary summary = cursor.summary();
    std::multimap<Offset, Offset> found;
    std::vector<Extent> batch(1 + random() % 5);
    Offset last = -1;
    Count pieces = 0;
    while (const std::size_t n = cursor.next(batch)) {
      for (std::size_t i = 0; i < n; ++i) {
        const Extent& e = batch[i];
        ASSERT_GE(e.offset, last) << "round " << round;
        last = e.offset;
        ++pieces;
        for (Count b = 0; b < e.length; ++b) found.emplace(e.offset + b, e.skip + b);
      }
    }
    const auto sorted = [](const std::multimap<Offset, Offset>& map) {
      std::vector<std::pair<Offset, Offset>> all(map.begin(), map.end());
      std::sort(all.begin(), all.end());
      return all;
    };
    ASSERT_EQ(sorted(found), sorted(expected)) << "round " << round;
    ASSERT_EQ(summary.bytes, list.bytes);
    if (!list.overlapping) ASSERT_LE(pieces, summary.pieces);
    if (expected.empty()) continue;
    ASSERT_EQ(summary.first, expected.begin()->first);
    ASSERT_EQ(summary.last, expected.rbegin()->first + 1);
  }
  EXPECT_GT(several, 1000);
}

TEST(CanonicalStream, later_request_wins_where_writes_overlap) {
  const Schema schema = test_schema();
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<Request> requests;
    std::map<Offset, std::pair<std::size_t, Offset>> expected;  // file byte → request, position
    const std::size_t n = 1 + random() % 8;
    for (std::size_t k = 0; k < n; ++k) {
      const VarId id = static_cast<VarId>(random() % schema.vars.size());
      const Subarray sub = random_subarray(schema, id, random);
      memory.emplace_back(4096);
      requests.push_back(request_for(schema, id, sub, memory.back().data()));
      const int width = requests.back().element_size;
      const auto offsets = element_offsets(schema, id, sub);
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        for (int b = 0; b < width; ++b)
          expected[offsets[i] + b] = {k, static_cast<Offset>(i) * width + b};
      }
    }
    CanonicalStream stream(requests, schema, true);
    std::size_t bytes = 0;
    Offset end = 0;
    for (const Extent& e : drain(stream, 1 + random() % 5)) {
      ASSERT_GE(e.offset, end) << "extents overlap";
      end = e.end();
      for (Count b = 0; b < e.length; ++b, ++bytes) {
        const auto& [k, position] = expected.at(e.offset + b);
        ASSERT_EQ(e.memory, requests[k].packed);
        ASSERT_EQ(e.skip + b, position);
      }
    }
    ASSERT_EQ(bytes, expected.size());
  }
}

TEST(CanonicalStream, overlapping_reads_are_all_delivered) {
  const Schema schema = test_schema();
  std::vector<std::byte> memory(4096);
  std::vector<Request> requests;
  for (int k = 0; k < 3; ++k) {
    requests.push_back(
        request_for(schema, 1, Subarray{{0, 0}, {5, 7}, {}}, memory.data() + k * 256));
    requests.back().write = false;
  }
  CanonicalStream stream(requests, schema, false);
  Count bytes = 0;
  for (const Extent& e : drain(stream, 4)) bytes += e.length;
  EXPECT_EQ(bytes, 3 * 140);
}

TEST(CanonicalStream, clone_and_rewind_walk_the_same_extents) {
  const Schema schema = test_schema();
  std::vector<std::byte> memory(4096);
  std::vector<Request> requests;
  requests.push_back(request_for(schema, 3, Subarray{{0, 1, 2}, {6, 3, 4}, {}}, memory.data()));
  requests.push_back(request_for(schema, 4, Subarray{{1, 0}, {4, 7}, {}}, memory.data()));
  CanonicalStream stream(requests, schema, true);
  const auto first = drain(stream, 3);
  stream.rewind();
  const auto second = drain(stream, 64);
  const auto third = drain(*stream.clone(), 1);
  ASSERT_EQ(first.size(), second.size());
  ASSERT_EQ(first.size(), third.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].offset, second[i].offset);
    EXPECT_EQ(first[i].offset, third[i].offset);
    EXPECT_EQ(first[i].skip, third[i].skip);
  }
}

TEST(CanonicalStream, empty_selections_yield_nothing) {
  const Schema schema = test_schema();
  std::vector<Request> requests;
  requests.push_back(request_for(schema, 1, Subarray{{0, 0}, {0, 7}, {}}, nullptr));
  CanonicalStream stream(requests, schema, true);
  EXPECT_TRUE(stream.summary().empty());
  EXPECT_TRUE(drain(stream, 4).empty());
}

}  // namespace canonical_test
}  // namespace forebay
