#include "decomposed/format/inverse_map.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "decomposed/format/decomposed_bytes.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {
namespace {

using logged::Parser;
using logged::Printer;

constexpr std::uint32_t directory_magic = 0x4642'4449;  // FBDI

/// Where each member's next run is expected to begin: at the end of its last one.
class Positions {
 public:
  std::int64_t expected(const InverseRun& run) {
    if (run.factor != factor_) ends_.clear();
    factor_ = run.factor;
    return ends_[run.member];
  }
  void add(const InverseRun& run) { ends_[run.member] = run.position + run.length; }

 private:
  std::uint32_t factor_ = 0;
  std::unordered_map<std::uint32_t, std::int64_t> ends_;
};

void print_place(Printer& out, const InversePlace& before, const InversePlace& place) {
  out.number(place.factor - before.factor);
  out.count(place.factor == before.factor ? place.offset - before.offset : place.offset);
}

InversePlace parse_place(Parser& in, const InversePlace& before, std::size_t factors) {
  InversePlace place;
  const std::uint32_t further = number32(in, "a factor");
  if (further >= factors - before.factor) logged::damaged("a factor is out of range");
  place.factor = before.factor + further;
  if (!add_fits(further == 0 ? before.offset : 0, in.count(), place.offset))
    logged::damaged("a run is out of range");
  return place;
}

}  // namespace

std::vector<std::byte> print_inverse_directory(const InverseDirectory& directory) {
  Printer out;
  out.front(directory_magic);
  out.number(directory.disjoint ? 1 : 0);
  out.number(directory.inner.size());
  for (const Count extent : directory.inner) out.count(extent);
  out.number(directory.factors.size());
  for (const auto& factor : directory.factors) {
    out.number(factor.size());
    for (const Steps& steps : factor) {
      out.count(steps.start);
      out.count(steps.count);
      out.count(steps.stride);
    }
  }
  out.number(directory.pages.size());
  InversePlace before;
  Offset end = first_block;
  for (const InversePage& page : directory.pages) {
    print_place(out, before, page.first);
    print_place(out, page.first, page.end);
    before = page.end;
    out.number(zigzag(page.offset - end));
    out.count(page.bytes);
    end = page.offset + page.bytes;
    out.number(page.runs);
    out.fixed(page.hash);
  }
  return std::move(out.bytes());
}

InverseDirectory parse_inverse_directory(std::span<const std::byte> bytes, Offset file_size) {
  return parsing("the directory of an inverse map", [&] {
    Parser in(bytes);
    in.front(directory_magic, "it");
    InverseDirectory directory;
    directory.disjoint = in.number() == 1;
    directory.inner.resize(in.items(1));
    for (Count& extent : directory.inner) extent = in.count();
    directory.factors.resize(in.items(1));
    for (auto& factor : directory.factors) {
      factor.resize(in.items(3));
      for (Steps& steps : factor) steps = {in.count(), in.count(), in.count()};
      // The check needs some run. This one is valid, so any fault is the factor's.
      if (auto fault = fault_of({directory.inner, factor, {{0, 1, 0}}}))
        logged::damaged("a factor has " + *fault);
    }
    directory.pages.resize(in.items(15));
    InversePlace before;
    Offset end = first_block;
    for (InversePage& page : directory.pages) {
      page.first = parse_place(in, before, directory.factors.size());
      page.end = parse_place(in, page.first, directory.factors.size());
      before = page.end;
      page.offset = moved(end, in.number(), file_size, "a page's place");
      page.bytes = in.count();
      page.runs = number32(in, "a page's runs");
      page.hash = in.fixed<std::uint64_t>();
      if (page.offset < first_block || page.bytes > file_size - page.offset)
        logged::damaged("a page lies outside the file");
      if (page.runs == 0 || page.runs > most_page_runs)
        logged::damaged("a page of " + std::to_string(page.runs) + " runs");
      if (page.bytes > most_printed(page.runs) + packed_overhead)
        logged::damaged("a page of more bytes than its runs can have");
      end = page.offset + page.bytes;
    }
    if (in.left() != 0) logged::damaged("it is longer than it says");
    return directory;
  });
}

// Each number of all runs comes before the next number: they vary less apart, and nearly all
// positions are stored as 0.
std::vector<std::byte> print_inverse_page(std::span<const InverseRun> runs) {
  Printer out;
  InversePlace before{runs.front().factor, 0};
  for (const InverseRun& run : runs) {
    print_place(out, before, {run.factor, run.offset});
    before = {run.factor, run.end()};
  }
  for (const InverseRun& run : runs) out.count(run.length);
  std::int64_t member = 0;
  for (const InverseRun& run : runs) {
    out.number(zigzag(run.member - member));
    member = run.member;
  }
  Positions positions;
  for (const InverseRun& run : runs) {
    out.number(zigzag(run.position - positions.expected(run)));
    positions.add(run);
  }
  return std::move(out.bytes());
}

std::vector<InverseRun> parse_inverse_page(std::span<const std::byte> bytes,
                                           const InversePage& page) {
  return parsing("a page of an inverse map", [&] {
    if (page.runs > bytes.size() / 5) logged::damaged("it has fewer runs than the directory says");
    Parser in(bytes);
    std::vector<InverseRun> runs(page.runs);
    for (InverseRun& run : runs) {  // offsets are gaps until lengths are known
      run.factor = number32(in, "a factor");
      run.offset = in.count();
    }
    for (InverseRun& run : runs) run.length = in.count();
    std::int64_t member = 0;
    for (InverseRun& run : runs) {
      member = moved(member, in.number(), INT32_MAX, "a member");
      run.member = static_cast<std::uint32_t>(member);
    }
    InversePlace before{page.first.factor, 0};
    Positions positions;
    for (InverseRun& run : runs) {
      const std::uint32_t further = run.factor;
      if (further > page.end.factor - before.factor) logged::damaged("a factor is out of range");
      run.factor = before.factor + further;
      Offset end = 0;
      if (!add_fits(further == 0 ? before.offset : 0, run.offset, run.offset) || run.length < 1 ||
          !add_fits(run.offset, run.length, end))
        logged::damaged("a run is out of range");
      before = {run.factor, end};
      run.position = moved(positions.expected(run), in.number(), INT64_MAX, "a position");
      if (!add_fits(run.position, run.length, end)) logged::damaged("a position is out of range");
      positions.add(run);
    }
    if (in.left() != 0) logged::damaged("it has more runs than the directory says");
    const InversePlace first{runs.front().factor, runs.front().offset};
    if (first != page.first || before != page.end)
      logged::damaged("it is about other elements than the directory says");
    return runs;
  });
}

}  // namespace forebay::decomposed
