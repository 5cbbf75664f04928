#include "kill_burst_model.h"

#include <algorithm>

using forebay_test::Rng;

namespace kill_burst {

namespace {

// The columns that an owner may write.
std::array<MPI_Offset, 2> columns_of(int var, int owner, int size) {
  const MPI_Offset columns = infos[static_cast<size_t>(var)].columns;
  if (owner == size) return {0, columns};
  return {columns * owner / size, columns * (owner + 1) / size};
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return Rng(a * 0x100000001b3ULL + b).next();
}

}  // namespace

MPI_Offset Request::elements() const {
  MPI_Offset sum = 0;
  for (const Piece& p : pieces) sum += p.elements();
  return sum;
}

MPI_Offset Request::last_record() const {
  if (infos[static_cast<size_t>(var)].rows > 0) return 0;
  MPI_Offset last = 0;
  for (const Piece& p : pieces)
    last = std::max(last, p.start[0] + (p.count[0] - 1) * p.stride[0] + 1);
  return last;
}

Step step_at(std::uint64_t seed, int step) {
  Rng random(mixed(seed, static_cast<std::uint64_t>(step)));
  static constexpr std::array<Kind, 20> drawn = {
      Kind::put,     Kind::put,   Kind::strided, Kind::several,  Kind::several,
      Kind::several, Kind::alone, Kind::alone,   Kind::varn,     Kind::varn,
      Kind::grow,    Kind::grow,  Kind::common,  Kind::common,   Kind::put,
      Kind::sync,    Kind::sync,  Kind::flush,   Kind::redefine, Kind::reopen};
  return {drawn[static_cast<size_t>(random.below(drawn.size()))],
          static_cast<int>(random.below(64))};
}

Request Sequence::request(int var) {
  Request made;
  made.var = var;
  made.number = ++number_;
  return made;
}

Piece Sequence::box(Rng& random, int var, bool strided) const {
  const auto& info = infos[static_cast<size_t>(var)];
  const auto own = columns_of(var, owner_, size_);
  // Later steps reach higher records.
  const MPI_Offset rows =
      info.rows > 0 ? info.rows : std::min<MPI_Offset>(3 + step_ / 3, most_records);
  Piece p;
  const std::array<MPI_Offset, 2> from = {0, own[0]};
  const std::array<MPI_Offset, 2> extent = {rows, own[1] - own[0]};
  for (size_t d = 0; d < 2; ++d) {
    const bool all = random.one_in(3);
    p.stride[d] = strided ? random.between(1, 3) : 1;
    const MPI_Offset start = all ? 0 : random.below(extent[d]);
    const MPI_Offset most = (extent[d] - start + p.stride[d] - 1) / p.stride[d];
    p.start[d] = from[d] + start;
    p.count[d] = all ? most : random.between(1, most);
  }
  return p;
}

// Small pieces in any order.
Request Sequence::scattered(Rng& random) {
  const int var = random.one_in(3) ? 1 : 0;
  const auto own = columns_of(var, owner_, size_);
  const MPI_Offset width = own[1] - own[0];
  const MPI_Offset all = infos[static_cast<size_t>(var)].rows * width;
  Request made = request(var);
  const auto wanted = static_cast<size_t>(random.between(20, 400));
  for (MPI_Offset at = random.below(50); at < all && made.pieces.size() < wanted;) {
    const MPI_Offset length = std::min<MPI_Offset>(random.between(1, 12), width - at % width);
    made.pieces.push_back({{at / width, own[0] + at % width}, {1, length}, {1, 1}});
    at += length + random.below(all / static_cast<MPI_Offset>(wanted) + 2);
  }
  for (size_t i = made.pieces.size(); i > 1; --i)
    std::swap(made.pieces[i - 1],
              made.pieces[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
  return made;
}

std::vector<Request> Sequence::next() {
  const Step step = step_at(seed_, step_);
  Rng random(mixed(seed_ + 1, static_cast<std::uint64_t>(step_ * 16 + owner_)));
  std::vector<Request> list;
  const auto add = [&](int var, bool strided) {
    list.push_back(request(var));
    list.back().pieces = {box(random, var, strided)};
  };
  const bool shared = owner_ == size_;
  if (shared) {
    if (step.kind == Kind::common) add(common, random.one_in(2));
  } else if (step.kind == Kind::put) {
    add(random.one_in(4) ? 1 : 0, false);
  } else if (step.kind == Kind::strided) {
    add(random.one_in(3) ? 2 : 0, true);
  } else if (step.kind == Kind::several || step.kind == Kind::alone) {
    for (int64_t n = random.between(step.kind == Kind::alone ? 0 : 2, 5); n > 0; --n) {
      if (random.one_in(4)) {
        list.push_back(scattered(random));
      } else {
        add(static_cast<int>(random.below(4)), random.one_in(3));
      }
    }
  } else if (step.kind == Kind::varn) {
    list.push_back(scattered(random));
  } else if (step.kind == Kind::grow) {
    add(random.one_in(2) ? 2 : 3, false);
  }
  ++step_;
  return list;
}

int value_of(int cycle, int owner, int number, int var, MPI_Offset row, MPI_Offset column) {
  const auto element =
      mixed(static_cast<std::uint64_t>(var), static_cast<std::uint64_t>(row * 65536 + column));
  return static_cast<int>((static_cast<unsigned>(number) & 0xfffU) << 19U |
                          (static_cast<unsigned>(owner) & 7U) << 16U |
                          (static_cast<unsigned>(cycle) & 15U) << 12U | (element & 0xfffU));
}

int number_of(int value) { return static_cast<int>(static_cast<unsigned>(value) >> 19U); }

std::string words_for(int value) {
  const auto bits = static_cast<unsigned>(value);
  return std::to_string(value) + " (cycle " + std::to_string(bits >> 12U & 15U) + ", owner " +
         std::to_string(bits >> 16U & 7U) + ", request " + std::to_string(bits >> 19U) + ")";
}

}  // namespace kill_burst
