// Random selections of all kinds are compared with the result of HDF5's own H5Dgather.
#include "hdf5/connector/logged_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>

#include "base/error.h"
#include "hdf5/connector/logged_memory.h"

namespace forebay::vol {
namespace logged_selection_test {

constexpr int draws = 300;

/// A space with a random selection.
struct Drawn {
  std::vector<Count> extents;
  hid_t space = H5I_INVALID_HID;
  std::string what;

  explicit Drawn(unsigned seed) : random_(seed) {
    const auto n = 1 + pick(3);
    std::vector<hsize_t> dims;
    for (Count d = 0; d < n; ++d) dims.push_back(static_cast<hsize_t>(1 + pick(d == 0 ? 7 : 9)));
    extents.assign(dims.begin(), dims.end());
    space = H5Screate_simple(static_cast<int>(n), dims.data(), nullptr);
    switch (pick(6)) {
      case 0:
        what = "none";
        H5Sselect_none(space);
        break;
      case 1:
        what = "all";
        H5Sselect_all(space);
        break;
      case 2:
        what = "points";
        points();
        break;
      default:
        what = "hyperslabs";
        hyperslab(H5S_SELECT_SET);
        for (Count more = pick(4); more > 0; --more)
          hyperslab(pick(3) == 0 ? H5S_SELECT_XOR : H5S_SELECT_OR);
    }
  }
  ~Drawn() { H5Sclose(space); }
  Drawn(const Drawn&) = delete;
  Drawn& operator=(const Drawn&) = delete;

  std::size_t elements() const {
    return static_cast<std::size_t>(
        std::accumulate(extents.begin(), extents.end(), Count{1}, std::multiplies<>()));
  }
  /// Returns the places of the selected elements, in the program's order, according to HDF5.
  std::vector<std::int64_t> places() const {
    std::vector<std::int64_t> all(elements());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::int64_t> out(static_cast<std::size_t>(H5Sget_select_npoints(space)));
    if (!out.empty())
      H5Dgather(space, all.data(), H5T_NATIVE_INT64, out.size() * sizeof out[0], out.data(),
                nullptr, nullptr);
    return out;
  }

 private:
  Count pick(Count below) { return static_cast<Count>(random_() % static_cast<unsigned>(below)); }

  void points() {
    std::vector<hsize_t> at;
    const Count many = 1 + pick(20);
    for (Count p = 0; p < many; ++p)
      for (const Count extent : extents) at.push_back(static_cast<hsize_t>(pick(extent)));
    H5Sselect_elements(space, H5S_SELECT_SET, static_cast<std::size_t>(many), at.data());
  }
  void hyperslab(H5S_seloper_t how) {
    std::vector<hsize_t> start, stride, count, block;
    for (const Count extent : extents) {
      const Count first = pick(extent), wide = 1 + pick(std::min<Count>(3, extent - first));
      const Count step = wide + pick(3);
      start.push_back(static_cast<hsize_t>(first));
      block.push_back(static_cast<hsize_t>(wide));
      stride.push_back(static_cast<hsize_t>(step));
      count.push_back(static_cast<hsize_t>(1 + pick((extent - first - wide) / step + 1)));
    }
    H5Sselect_hyperslab(space, how, start.data(), stride.data(), count.data(), block.data());
  }

  std::mt19937 random_;
};

void expand(const Pattern& pattern, Count base, std::size_t d, Offset at,
            std::vector<std::int64_t>& out) {
  if (d < pattern.outer.size()) {
    const Steps& steps = pattern.outer[d];
    for (Count i = 0; i < steps.count; ++i)
      expand(pattern, base, d + 1,
             at + (steps.start + i * steps.stride + (d == 0 ? base : 0)) * pattern.below(d + 1),
             out);
    return;
  }
  if (pattern.outer.empty()) at += base * pattern.below(1);
  for (const PatternRun& run : pattern.runs)
    for (Count i = 0; i < run.length; ++i) out.push_back(at + run.offset + i);
}

TEST(LoggedSelection, names_the_elements_that_hdf5_selects) {
  for (unsigned seed = 0; seed < draws; ++seed) {
    const Drawn drawn(seed);
    const auto wanted = drawn.places();
    const FileSelection found = file_selection(drawn.space, drawn.extents);
    ASSERT_EQ(found.elements, std::ssize(wanted)) << seed << ": " << drawn.what;
    if (wanted.empty()) continue;
    std::vector<std::int64_t> places;
    expand(found.placed.pattern, found.placed.base, 0, 0, places);
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << seed;
    if (!found.order.empty()) {
      std::vector<std::int64_t> in_order;
      for (const Count k : found.order) in_order.push_back(places.at(static_cast<std::size_t>(k)));
      places = std::move(in_order);
    }
    EXPECT_EQ(places, wanted) << seed << ": " << drawn.what;
    EXPECT_FALSE(fault_of(found.placed.pattern)) << seed;
  }
}

TEST(LoggedSelection, runs_of_any_number_of_elements_follow_each_other) {
  for (unsigned seed = 0; seed < draws; ++seed) {
    const Drawn drawn(seed);
    const auto wanted = drawn.places();
    if (wanted.empty()) continue;
    SelectionRuns runs(drawn.space);
    std::vector<std::int64_t> places;
    const Count at_once = 1 + seed % 7;
    for (auto next = runs.next(at_once); !next.empty(); next = runs.next(at_once)) {
      Count elements = 0;
      for (const forebay::Run& run : next)
        for (Count i = 0; i < run.length; ++i, ++elements) places.push_back(run.offset + i);
      EXPECT_LE(elements, at_once);
    }
    EXPECT_EQ(places, wanted) << seed << ": " << drawn.what;
  }
}

TEST(LoggedMemory, gathers_what_hdf5_gathers_and_scatters_it_back) {
  for (unsigned seed = 0; seed < draws; ++seed) {
    const Drawn drawn(seed);
    const auto wanted = drawn.places();
    std::vector<std::int64_t> memory(drawn.elements()), packed(wanted.size(), -1);
    std::iota(memory.begin(), memory.end(), 0);
    gather(memory.data(), drawn.space, sizeof memory[0], std::as_writable_bytes(std::span(packed)));
    EXPECT_EQ(packed, wanted) << seed << ": " << drawn.what;
    std::vector<std::int64_t> back(drawn.elements(), -1), expected(drawn.elements(), -1);
    for (const auto place : wanted) expected[static_cast<std::size_t>(place)] = place;
    scatter(std::as_bytes(std::span(packed)), drawn.space, sizeof back[0], back.data());
    EXPECT_EQ(back, expected) << seed << ": " << drawn.what;
  }
}

TEST(LoggedSelection, what_lies_outside_the_dataset_is_refused) {
  const std::array<hsize_t, 2> dims{4, 6};
  const Hdf5Id space = owned_space(H5Screate_simple(2, dims.data(), nullptr));
  for (const auto& [extents, refused] : std::vector<std::pair<std::vector<Count>, bool>>{
           {{4, 6}, false}, {{9, 9}, false}, {{3, 6}, true}, {{4, 5}, true}}) {
    const std::array<hsize_t, 2> start{0, 0}, count{4, 6};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    try {
      file_selection(space, extents);
      EXPECT_FALSE(refused) << extents[0] << " x " << extents[1];
    } catch (const Error& error) {
      EXPECT_TRUE(refused) << extents[0] << " x " << extents[1];
      EXPECT_EQ(error.code(), Errc::einvalcoords);
    }
  }
}

}  // namespace logged_selection_test
}  // namespace forebay::vol
