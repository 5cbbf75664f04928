// Random selections of random datasets are compared with a walk from element to element.
#include "hdf5/connector/chunked_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

namespace forebay::vol {
namespace chunked_places_test {

constexpr int draws = 400;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Count below(Count n) { return static_cast<Count>(engine_() % static_cast<std::uint64_t>(n)); }
  Count between(Count low, Count high) { return low + below(high - low + 1); }

  PlacedVariable variable(bool contiguous) {
    constexpr Count shortest = 7;
    PlacedVariable var;
    const Count n = between(1, 3);
    var.element_size = std::array<Count, 4>{1, 3, 4, 24}[static_cast<std::size_t>(below(4))];
    Count chunks = 1;
    for (Count d = 0; d < n; ++d) {
      var.extents.push_back(between(shortest, 17));
      const Count whole = var.extents.back();
      var.chunk.push_back(contiguous ? whole : below(3) == 0 ? whole : between(1, whole + 2));
      chunks *= var.grid_length(static_cast<std::size_t>(d));
    }
    Count bytes = var.element_size;
    for (const Count length : var.chunk) bytes *= length;
    var.places.resize(static_cast<std::size_t>(chunks));
    std::iota(var.places.begin(), var.places.end(), 0);
    std::shuffle(var.places.begin(), var.places.end(), engine_);
    for (Offset& place : var.places) place = end_ + place * (bytes + 5);
    end_ += chunks * (bytes + 5);
    return var;
  }

  Subarray box(const PlacedVariable& var) {
    Subarray box;
    for (const Count extent : var.extents) {
      const Count stride = between(1, 3), most = (extent + stride - 1) / stride;
      box.count.push_back(between(1, most));
      box.stride.push_back(stride);
      box.start.push_back(below(extent - (box.count.data()[box.count.size() - 1] - 1) * stride));
    }
    return box;
  }

  Runs runs(const PlacedVariable& var) {
    Count elements = 1;
    for (const Count extent : var.extents) elements *= extent;
    auto list = std::make_shared<RunList>();
    for (Count at = below(4); at < elements;) {
      const Count length = std::min(between(1, below(4) == 0 ? 40 : 5), elements - at);
      list->runs.push_back({at * var.element_size, length * var.element_size});
      list->bytes += length * var.element_size;
      at += length + between(1, 6);
    }
    return {std::move(list), 0};
  }

  Offset end() const { return end_; }

 private:
  std::mt19937_64 engine_;
  Offset end_ = 100;
};

/// Returns the place in the file of the variable's element with these coordinates.
Offset place_of(const PlacedVariable& var, const std::vector<Count>& at) {
  Count chunk = 0, inside = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    chunk = chunk * var.grid_length(d) + at[d] / var.chunk[d];
    inside = inside * var.chunk[d] + at[d] % var.chunk[d];
  }
  return var.places[static_cast<std::size_t>(chunk)] + inside * var.element_size;
}

std::vector<Count> coordinates(const PlacedVariable& var, Count element) {
  std::vector<Count> at(var.extents.size());
  for (std::size_t d = at.size(); d-- > 0; element /= var.extents[d])
    at[d] = element % var.extents[d];
  return at;
}

/// Writes a request to a model of the file, element by element.
void write_model(const PlacedVariable& var, const Request& request, std::vector<std::byte>& file) {
  const std::byte* from = request.packed;
  const auto put = [&](const std::vector<Count>& at) {
    std::memcpy(&file[static_cast<std::size_t>(place_of(var, at))], from,
                static_cast<std::size_t>(var.element_size));
    from += var.element_size;
  };
  if (const auto* runs = std::get_if<Runs>(&request.selection)) {
    for (const Run& run : runs->list->runs)
      for (Count k = 0; k < run.length / var.element_size; ++k)
        put(coordinates(var, run.offset / var.element_size + k));
    return;
  }
  const auto& box = std::get<Subarray>(request.selection);
  for (Count k = 0; k < box.elements(); ++k) {
    std::vector<Count> at(var.extents.size());
    Count rest = k;
    for (std::size_t d = at.size(); d-- > 0; rest /= box.count.data()[d])
      at[d] = box.start.data()[d] + rest % box.count.data()[d] * box.stride.data()[d];
    put(at);
  }
}

Request request_of(Random& random, const PlacedVariable& var, VarId id,
                   std::vector<std::byte>& data) {
  Request request;
  request.var = id;
  if (random.below(2) == 0) {
    Subarray box = random.box(var);
    request.elements = box.elements();
    request.selection = std::move(box);
  } else {
    Runs runs = random.runs(var);
    request.elements = runs.list->bytes / var.element_size;
    request.selection = std::move(runs);
  }
  data.resize(static_cast<std::size_t>(request.elements * var.element_size));
  for (std::byte& each : data) each = static_cast<std::byte>(random.between(1, 255));
  request.packed = data.data();
  return request;
}

/// Writes the extents of a stream, which it takes `at_once` at a time, and checks their order.
/// Returns how many times it asked.
int write_stream(ExtentStream& stream, std::size_t at_once, std::vector<std::byte>& file) {
  const StreamSummary all = stream.summary();
  std::vector<Extent> some(at_once);
  Offset last = 0;
  Count bytes = 0;
  int asked = 0;
  for (std::size_t n = 0; (n = stream.next(some)) > 0; ++asked)
    for (const Extent& e : std::span(some).first(n)) {
      EXPECT_GE(e.offset, last);
      EXPECT_GE(e.offset, all.first);
      EXPECT_LE(e.end(), all.last);
      EXPECT_GT(e.length, 0);
      std::memcpy(&file[static_cast<std::size_t>(e.offset)], e.memory + e.skip,
                  static_cast<std::size_t>(e.length));
      last = e.end();
      bytes += e.length;
    }
  EXPECT_LE(bytes, all.bytes);
  return asked;
}

TEST(Places, any_selection_reaches_its_elements) {
  int asked_often = 0;
  for (unsigned seed = 0; seed < draws; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const PlacedVariable var = random.variable(seed % 4 == 0);
    std::vector<std::byte> data;
    const Request request = request_of(random, var, 0, data);
    std::vector<std::byte> expected(static_cast<std::size_t>(random.end())), found(expected);
    write_model(var, request, expected);
    PlacedStream stream(std::span(&request, 1),
                        [&](VarId) -> const PlacedVariable& { return var; });
    const int asked = write_stream(stream, 1 + seed % 3, found);
    if (asked >= 5) ++asked_often;
    ASSERT_EQ(found, expected);
    // Once more, and by another stream over the same pieces.
    std::fill(found.begin(), found.end(), std::byte{0});
    stream.rewind();
    EXPECT_EQ(write_stream(stream, 1 + seed % 3, found), asked);
    ASSERT_EQ(found, expected);
    std::fill(found.begin(), found.end(), std::byte{0});
    write_stream(*stream.clone(), 7, found);
    ASSERT_EQ(found, expected);
  }
  EXPECT_GE(asked_often, draws / 2);
}

TEST(Places, later_requests_to_several_datasets_win) {
  for (unsigned seed = 0; seed < draws; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<PlacedVariable> vars;
    for (int v = 0; v < 3; ++v) vars.push_back(random.variable(random.below(3) == 0));
    std::vector<std::vector<std::byte>> data(12);
    std::vector<Request> requests;
    for (auto& each : data) {
      const auto v = static_cast<VarId>(random.below(3));
      requests.push_back(request_of(random, vars[static_cast<std::size_t>(v)], v, each));
    }
    std::vector<std::byte> expected(static_cast<std::size_t>(random.end())), found(expected);
    for (const Request& request : requests)
      write_model(vars[static_cast<std::size_t>(request.var)], request, expected);
    PlacedStream stream(requests, [&](VarId v) -> const PlacedVariable& {
      return vars[static_cast<std::size_t>(v)];
    });
    EXPECT_GE(write_stream(stream, 1, found), 5);
    ASSERT_EQ(found, expected);
  }
}

// The sum of what is selected in chunks is what is selected.
TEST(Places, summaries_are_exact) {
  for (unsigned seed = 0; seed < draws; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const PlacedVariable var = random.variable(false);
    std::vector<std::byte> data;
    const Request request = request_of(random, var, 0, data);
    PlacedStream stream(std::span(&request, 1),
                        [&](VarId) -> const PlacedVariable& { return var; });
    const StreamSummary all = stream.summary();
    EXPECT_EQ(all.bytes, request.elements * var.element_size);
    Offset first = -1, last = 0;
    Count pieces = 0;
    for (Extent e; stream.next(std::span(&e, 1)) == 1; ++pieces) {
      if (first < 0) first = e.offset;
      last = e.end();
    }
    EXPECT_EQ(first, all.first);
    EXPECT_EQ(last, all.last);
    EXPECT_EQ(pieces, all.pieces);
  }
}

TEST(Places, whole_rows_are_one_piece) {
  const PlacedVariable var{{9, 4, 6}, {9, 4, 6}, 8, {1000}};
  Request request;
  request.elements = Count{3} * 4 * 6;
  std::vector<std::byte> data(static_cast<std::size_t>(request.elements * 8));
  request.packed = data.data();
  request.selection = Subarray{{2, 0, 0}, {3, 4, 6}, {}};
  PlacedStream stream(std::span(&request, 1), [&](VarId) -> const PlacedVariable& { return var; });
  EXPECT_EQ(stream.summary().pieces, 1);
  Extent e;
  ASSERT_EQ(stream.next(std::span(&e, 1)), 1U);
  EXPECT_EQ(e.offset, 1000 + 2 * 4 * 6 * 8);
  EXPECT_EQ(e.length, request.elements * 8);
}

TEST(Places, nothing_selected_is_an_empty_stream) {
  const PlacedVariable var{{9, 4}, {2, 3}, 8, std::vector<Offset>(10, 0)};
  Request request;
  request.selection = Subarray{{2, 0}, {0, 4}, {}};
  PlacedStream stream(std::span(&request, 1), [&](VarId) -> const PlacedVariable& { return var; });
  EXPECT_TRUE(stream.summary().empty());
  Extent e;
  EXPECT_EQ(stream.next(std::span(&e, 1)), 0U);
}

}  // namespace chunked_places_test
}  // namespace forebay::vol
