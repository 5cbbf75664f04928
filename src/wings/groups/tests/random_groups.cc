// Writes a group that a seed decides on, with ranks that are threads: another file by another
// method has the same values (check_random_groups.py).
//
//   random_groups PATH SEED RANKS KIND HINTS      KIND: records, of what netCDF's records have one
//                                                 word for, or all
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/thread_ranks.h"
#include "groups/records/group_file.h"
#include "method/groups.h"
#include "method/method.h"

namespace {

using namespace forebay;

enum class Kind { scalar, global, joined, own };

struct Planned {
  std::string name;
  const char* type;
  Kind kind;
  int dimensions;
  int joined = 0;
  bool once = false, in_boxes = false;
};

/// All ranks draw the same numbers from one that is made anew for each step.
class Program {
 public:
  Program(std::uint64_t seed, bool records) : seed_(seed), records_(records) {
    std::mt19937_64 draw(seed);
    const auto below = [&](std::uint64_t n) { return draw() % n; };
    fortran_ = below(2) == 0;
    steps_ = 2 + static_cast<int>(below(3));  // one step has no dimension of steps in BP
    const char* const types[] = {"int8",  "int16",  "int32",   "int64",
                                 "uint8", "uint16", "uint32",  "uint64",
                                 "float", "double", "complex", "double complex"};
    for (std::uint64_t v = 0, n = 3 + below(8); v < n; ++v) {
      Planned one;
      one.name = (below(4) == 0 ? "deep/v" : "v") + std::to_string(v);
      one.type = types[below(std::size(types))];
      one.kind = static_cast<Kind>(below(records ? 2 : 4));
      one.dimensions = one.kind == Kind::scalar ? 0 : 1 + static_cast<int>(below(3));
      one.joined = one.dimensions > 0
                       ? static_cast<int>(below(static_cast<std::uint64_t>(one.dimensions)))
                       : 0;
      one.once = below(4) == 0;
      one.in_boxes = below(2) == 0;
      planned_.push_back(one);
    }
  }

  GroupDefinition group() const {
    GroupDefinition group = define_group("random", fortran_ ? "Fortran" : "C");
    for (const Planned& one : planned_) {
      std::string ones;
      for (int d = 0; d < one.dimensions; ++d) ones += d == 0 ? "1" : ",1";
      GroupVariableText text{.name = one.name, .type = one.type};
      text.dimensions = ones;
      if (one.kind == Kind::global) text.global = text.offsets = ones;
      if (one.kind == Kind::joined) text.joined = std::to_string(one.joined);
      if (one.once) text.steps = "once";
      define_variable(group, text);
      if (one.dimensions > 0) define_attribute(group, one.name + "/units", "m", "");
    }
    return group;
  }

  void step(const Comm& comm, GroupFile& file, int number) const {
    std::vector<std::vector<std::byte>> lent;
    for (std::size_t v = 0; v < planned_.size(); ++v) {
      // Shapes are those of all steps: records have one.
      std::mt19937_64 draw(seed_ + 1000 * (v + 1));
      write(comm, file, number, planned_[v], draw, lent);
    }
    file.end_step();
  }
  int steps() const { return steps_; }

 private:
  using List = std::vector<std::int64_t>;

  /// Element e of a variable's array, or block, in a step; of any type.
  std::vector<std::byte> values(const GroupFile& file, const Planned& one, int step,
                                const List& start, const List& count, std::int64_t salt) const {
    const auto width = static_cast<std::size_t>(size_of(file.variable(one.name).type));
    const bool real = std::string(one.type).find("int") == std::string::npos;
    const std::size_t part =
        std::string(one.type) == "float" || std::string(one.type) == "complex" ? 4 : 8;
    std::size_t elements = 1;
    for (const std::int64_t n : count) elements *= static_cast<std::size_t>(n);
    std::vector<std::byte> bytes(elements * width);
    List at(count.size(), 0);
    for (std::size_t e = 0; e < elements; ++e) {
      std::uint64_t mixed =
          static_cast<std::uint64_t>(salt) + static_cast<std::uint64_t>(step) * 7919;
      for (std::size_t d = 0; d < at.size(); ++d)
        mixed = mixed * 31 + static_cast<std::uint64_t>(at[d] + start[d]);
      std::byte* const to = bytes.data() + e * width;
      for (std::size_t i = 0; real && i < width; i += part) {
        const double d = static_cast<double>(mixed % 100003) + 0.5 * static_cast<double>(i);
        const auto f = static_cast<float>(d);
        std::copy_n(part == 4 ? reinterpret_cast<const std::byte*>(&f)
                              : reinterpret_cast<const std::byte*>(&d),
                    part, to + i);
      }
      if (!real) {
        mixed %= 101;
        std::copy_n(reinterpret_cast<const std::byte*>(&mixed), width, to);
      }
      // In the order of the group's language.
      if (fortran_)
        for (std::size_t d = 0; d < at.size() && ++at[d] == count[d]; ++d) at[d] = 0;
      else
        for (std::size_t d = at.size(); d-- > 0 && ++at[d] == count[d];) at[d] = 0;
    }
    return bytes;
  }

  /// A global array is cut along one dimension into `ranks` parts, some of which are empty; each of
  /// these goes out whole, or in two boxes.
  void write(const Comm& comm, GroupFile& file, int step, const Planned& one, std::mt19937_64& draw,
             std::vector<std::vector<std::byte>>& lent) const {
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(draw() % n); };
    const auto dimensions = static_cast<std::size_t>(one.dimensions);
    List shape(dimensions), start(dimensions, 0), count;
    for (std::int64_t& n : shape) n = 1 + below(9);
    if (one.kind == Kind::scalar) {
      if (comm.rank() != static_cast<int>(below(static_cast<std::uint64_t>(comm.size())))) return;
      const auto value = values(file, one, step, {}, {}, below(1000));
      return file.write(one.name, value.data(), false);
    }
    const std::int64_t salt = below(1000);
    const auto along = one.kind == Kind::joined ? static_cast<std::size_t>(one.joined)
                                                : static_cast<std::size_t>(below(dimensions));
    std::vector<std::int64_t> cuts{0};
    for (int r = 1; r < comm.size(); ++r)
      cuts.push_back(below(static_cast<std::uint64_t>(shape[along]) + 1));
    cuts.push_back(shape[along]);
    std::sort(cuts.begin(), cuts.end());
    const auto me = static_cast<std::size_t>(comm.rank());
    count = shape;
    if (one.kind == Kind::own) {
      // One behind the other along C's first dimension: the others are alike.
      const std::size_t first = fortran_ ? dimensions - 1 : 0;
      count[first] = 1 + (comm.rank() + salt) % 3;
    } else {
      start[along] = cuts[me];
      count[along] = cuts[me + 1] - cuts[me];
    }
    const std::int64_t from = start[along], many = count[along];
    const std::int64_t half = one.in_boxes && one.kind == Kind::global ? many / 2 : 0;
    for (const auto& [at, n] : {std::pair(from, half), std::pair(from + half, many - half)}) {
      if (n == 0 && (half == 0 && at == from && many > 0)) continue;
      start[along] = at;
      count[along] = n;
      lent.push_back(
          values(file, one, step, start, count, salt + (one.kind == Kind::own ? comm.rank() : 0)));
      const bool global = one.kind == Kind::global;
      file.write_box(
          one.name,
          {global ? shape.data() : nullptr, global ? start.data() : nullptr, count.data()},
          lent.back().data(), (step + comm.rank()) % 2 == 0);
    }
  }

  std::uint64_t seed_;
  bool records_, fortran_ = false;
  int steps_ = 1;
  std::vector<Planned> planned_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const Program program(std::strtoull(argv[2], nullptr, 10), std::string(argv[4]) == "records");
  try {
    run_as_threads(std::atoi(argv[3]), [&](const Comm& comm) {
      Method method;
      apply_hints(method, argv[5], "the test");
      const auto group = program.group();
      auto file = GroupFile::create(comm, argv[1], group, method, false);
      for (int step = 0; step < program.steps(); ++step) {
        if (step == 2) {  // another run goes on with it
          file->close();
          file = GroupFile::create(comm, argv[1], group, method, true);
        }
        program.step(comm, *file, step);
      }
      file->close();
    });
  } catch (const Error& error) {
    std::fprintf(stderr, "random_groups: %s\n", error.what());
    return 1;
  }
  return 0;
}
