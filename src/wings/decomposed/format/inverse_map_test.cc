#include "decomposed/format/inverse_map.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "decomposed/format/decomposed_bytes.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {
namespace inverse_map_test {

constexpr Offset file_size = 1 << 20;

InverseDirectory sample() {
  InverseDirectory d;
  d.inner = {10, 1000};
  d.factors = {{}, {{0, 1, 1}, {2, 5, 1}}, {{0, 1, 1}, {3, 2, 4}}};
  d.disjoint = true;
  d.pages = {{{0, 5}, {0, 900}, 4096, 70, 8, 1},
             {{0, 900}, {1, 30}, 4166, 80, 9, 2},
             {{1, 31}, {2, 800}, 9000, 90, 10, UINT64_MAX}};
  return d;
}

std::vector<InverseRun> runs() {
  return {{0, 3, 5, 2, 0},  {0, 1, 7, 3, 0},  {0, 3, 10, 1, 2},
          {0, 3, 90, 9, 7}, {2, 3, 0, 1, 40}, {2, 0, 6, 6, 41}};
}

InversePage page_of(const std::vector<InverseRun>& runs) {
  InversePage page;
  page.first = {runs.front().factor, runs.front().offset};
  page.end = {runs.back().factor, runs.back().end()};
  page.runs = static_cast<std::uint32_t>(runs.size());
  return page;
}

template <typename F>
Errc refusal(F&& f) {
  try {
    f();
    return Errc::ok;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(InverseMapFormat, a_directory_comes_back_as_it_was) {
  const InverseDirectory was = sample();
  const auto is = parse_inverse_directory(print_inverse_directory(was), file_size);
  EXPECT_EQ(is.inner, was.inner);
  EXPECT_EQ(is.factors, was.factors);
  EXPECT_EQ(is.disjoint, was.disjoint);
  EXPECT_EQ(is.pages, was.pages);
}

TEST(InverseMapFormat, impossible_directories_are_refused) {
  const auto refused = [](auto&& change) {
    InverseDirectory d = sample();
    change(d);
    EXPECT_EQ(refusal([&] { parse_inverse_directory(print_inverse_directory(d), file_size); }),
              Errc::enotnc);
  };
  refused([](auto& d) { d.inner[0] = 0; });
  refused([](auto& d) { d.factors[1][1].count = 0; });
  refused([](auto& d) { d.factors[1][1].start = 9; });
  refused([](auto& d) { d.factors[2].resize(4, {0, 1, 1}); });
  refused([](auto& d) { d.factors.resize(2); });
  refused([](auto& d) { d.factors.clear(); });
  refused([](auto& d) { d.pages[0].offset = 4095; });
  refused([](auto& d) { d.pages[2].bytes = file_size; });
  refused([](auto& d) { d.pages[1].runs = 0; });
  refused([](auto& d) { d.pages[1].runs = most_page_runs + 1; });
  const auto good = print_inverse_directory(sample());
  for (std::size_t i = 0; i < good.size(); ++i)
    EXPECT_EQ(refusal([&] { parse_inverse_directory(std::span(good).first(i), file_size); }),
              Errc::enotnc);
}

TEST(InverseMapFormat, a_page_comes_back_as_it_was) {
  const auto was = runs();
  const auto bytes = print_inverse_page(was);
  EXPECT_LE(std::ssize(bytes), most_printed(std::ssize(was)));
  EXPECT_EQ(parse_inverse_page(bytes, page_of(was)), was);
}

TEST(InverseMapFormat, pages_are_of_what_the_directory_says) {
  const auto refused = [](auto&& change) {
    auto page = page_of(runs());
    change(page);
    EXPECT_EQ(refusal([&] { parse_inverse_page(print_inverse_page(runs()), page); }), Errc::enotnc);
  };
  refused([](auto& page) { page.first.offset = 4; });
  refused([](auto& page) { page.first.factor = 1; });
  refused([](auto& page) { page.end.offset = 11; });
  refused([](auto& page) { page.end.factor = 1; });
  refused([](auto& page) { page.end.factor = 3; });
  refused([](auto& page) { page.runs = 5; });
  refused([](auto& page) { page.runs = 7; });
  refused([](auto& page) { page.runs = most_page_runs; });
}

TEST(InverseMapFormat, impossible_runs_are_refused) {
  const auto refused = [](auto&& change) {
    auto bad = runs();
    change(bad);
    EXPECT_EQ(refusal([&] { parse_inverse_page(print_inverse_page(bad), page_of(bad)); }),
              Errc::enotnc);
  };
  refused([](auto& bad) { bad[3].length = 0; });
  refused([](auto& bad) { bad[1].offset = 6; });  // overlaps
  refused([](auto& bad) { bad[2].position = -1; });
}

// Printed by hand, since print_inverse_page() would overflow.
TEST(InverseMapFormat, runs_beyond_all_numbers_are_refused) {
  const auto of_one = [](Offset offset, Count length, Count position) {
    logged::Printer out;
    out.number(0);  // factor
    out.count(offset);
    out.count(length);
    out.number(zigzag(3));  // member
    out.number(zigzag(position));
    InversePage page;
    page.first = {0, offset};
    page.end = {0, static_cast<Offset>(static_cast<std::uint64_t>(offset) +
                                       static_cast<std::uint64_t>(length))};
    page.runs = 1;
    return refusal([&] { parse_inverse_page(out.bytes(), page); });
  };
  EXPECT_EQ(of_one(90, 6, 7), Errc::ok);
  EXPECT_EQ(of_one(90, INT64_MAX, 0), Errc::enotnc);
  EXPECT_EQ(of_one(90, 6, INT64_MAX - 2), Errc::enotnc);
}

}  // namespace inverse_map_test
}  // namespace forebay::decomposed
