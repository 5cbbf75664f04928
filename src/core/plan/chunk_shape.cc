#include "plan/chunk_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace forebay {
namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
constexpr Count least_record_bytes = 4096;  // of records in a chunk
constexpr Count most_records = 512;         // in a chunk
constexpr Count most_tries = 4096;          // to find an even division

// Layout of values(): the kind of requests, then these fields for each dimension.
enum Field { first_start_field, shortest_field, longest_field, strided_field, fields };
enum ShapeKind : std::int64_t { scattered_kind = -1, blocks_kind = 0, nothing_kind = 1 };

std::size_t at(int d, Field field) {
  return 1 + static_cast<std::size_t>(d) * fields + static_cast<std::size_t>(field);
}

Count divide_up(Count a, Count b) { return a / b + (a % b != 0); }

// The product of `lengths` and `bytes`, or the largest count if that exceeds 63 bits.
Count product(std::span<const Count> lengths, Count bytes) {
  for (Count n : lengths) {
    if (!multiply_fits(bytes, n, bytes)) return none;
  }
  return bytes;
}

std::string times(std::span<const Count> lengths) {
  return fmt::format("{}", fmt::join(lengths, " x "));
}

std::string size_text(Count bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

// The allowed bytes of a chunk. Only variables of petabytes, which would otherwise have too many
// chunks, may exceed 1 to 4 MiB.
struct Range {
  Count least, most;
};

// The end of the range that chunks cut from a larger block should be near.
enum class ChunkSize { large, small };

// Larger blocks are cut.
Count uncut(Range range, ChunkSize prefer) {
  return prefer == ChunkSize::small ? 2 * range.least : range.most;
}

// A length in [shortest, longest] that divides `length` evenly, nearest to the preferred end of
// that range. If there is none: equal parts and a shorter one.
Count even_part(Count length, Count shortest, Count longest, ChunkSize prefer) {
  const Count fewest = divide_up(length, longest);
  const Count most = std::max(fewest, length / shortest);
  const Count tries = std::min(most - fewest + 1, most_tries);
  for (Count i = 0; i < tries; ++i) {
    const Count parts = prefer == ChunkSize::large ? fewest + i : most - i;
    if (length % parts == 0) return length / parts;
  }
  return divide_up(length, prefer == ChunkSize::large ? fewest : most);
}

// Cuts a block that is too large, slowest dimension first.
void cut(std::vector<Count>& shape, Count element, Range range, ChunkSize prefer) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Count row = product(std::span(shape).subspan(d + 1), element);
    if (row > uncut(range, prefer)) {
      shape[d] = 1;
      continue;
    }
    const Count longest = range.most / row;
    if (prefer == ChunkSize::small || shape[d] > longest)
      shape[d] = even_part(shape[d], divide_up(range.least, row), longest, prefer);
    return;
  }
}

// Merges neighbours until they are large enough, fastest dimension first.
void merge(std::vector<Count>& shape, std::span<const Count> lengths, Count element, Range range) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    const Count bytes = product(shape, element);
    if (bytes >= range.least) return;
    const Count blocks = divide_up(lengths[d], shape[d]);
    const Count wanted = divide_up(range.least, bytes);
    if (wanted >= blocks) {
      shape[d] = lengths[d];
      continue;
    }
    Count together = wanted;
    const Count tries = std::min(range.most / bytes, wanted + most_tries);
    for (Count n = wanted; n <= tries; ++n) {
      if (blocks % n != 0) continue;
      together = n;
      break;
    }
    shape[d] = together == blocks ? lengths[d] : together * shape[d];
  }
}

// The dimensions that may be cut: all of a fixed variable, those of one record. At least 1.
std::vector<Count> inner_lengths(const Variable& var) {
  std::vector<Count> lengths;
  for (std::size_t d = var.is_record ? 1 : 0; d < var.shape.size(); ++d)
    lengths.push_back(std::max<Count>(var.shape[d], 1));
  return lengths;
}

Count count_chunks(std::span<const Count> lengths, std::span<const Count> shape) {
  Count chunks = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!multiply_fits(chunks, divide_up(lengths[d], shape[d]), chunks)) return none;
  }
  return chunks;
}

// Cuts or enlarges `block` until it is in the range.
std::vector<Count> sized(const std::vector<Count>& block, std::span<const Count> lengths,
                         Count element, ChunkSize prefer, Count least) {
  std::vector<Count> shape;
  for (; least < chunk_bytes_limit; least *= 2) {
    const Range range{least, std::min(most_per_least * least, chunk_bytes_limit)};
    shape = block;
    const Count bytes = product(shape, element);
    if (bytes > uncut(range, prefer))
      cut(shape, element, range, prefer);
    else if (bytes < range.least)
      merge(shape, lengths, element, range);
    if (count_chunks(lengths, shape) <= chunk_count_limit) break;
  }
  return shape;
}

Count element_bytes(const Variable& var) { return std::max(size_of(var.type), 1); }

// Adds the record dimension, with as many records as a chunk should have.
ShapeChoice with_records(const Variable& var, std::vector<Count> shape, std::string reason,
                         Count least) {
  if (var.is_record) {
    const Count bytes = product(shape, element_bytes(var));
    const Count records =
        std::min(divide_up(std::min(least_record_bytes, least), bytes), most_records);
    shape.insert(shape.begin(), records);
    reason += records == 1 ? "; one record a chunk" : fmt::format("; {} records a chunk", records);
  }
  return {std::move(shape), std::move(reason)};
}

// Returns whether the whole variable or record is too small to be cut.
bool is_small(const Variable& var, std::span<const Count> lengths, Count least) {
  return product(lengths, element_bytes(var)) < least;
}

ShapeChoice whole(const Variable& var, std::vector<Count> lengths, Count least) {
  const std::string size = size_text(product(lengths, element_bytes(var)));
  return with_records(var, std::move(lengths),
                      (var.is_record ? "whole records, " : "the whole variable, ") + size, least);
}

// The block of the access pattern, within the variable: of the lattice, or of typical lengths.
std::vector<Count> pattern_block(const Variable& var, const AccessFacts& facts,
                                 std::span<const Count> lengths, bool lattice_holds) {
  const int first = var.is_record ? 1 : 0;
  std::vector<Count> block;
  if (lattice_holds) {
    const auto lattice = candidate_lattice(var, facts);
    block.assign(lattice.begin() + first, lattice.end());
  } else {
    for (int d = first; d < facts.ndims(); ++d)
      block.push_back(facts.longest(d) - (facts.longest(d) - facts.shortest(d)) / 2);
  }
  for (std::size_t d = 0; d < block.size(); ++d)
    block[d] = std::clamp<Count>(block[d], 1, lengths[d]);
  return block;
}

std::string pattern_reason(const std::vector<Count>& block, const std::vector<Count>& shape,
                           Count element, bool lattice_holds) {
  const std::string size = size_text(product(shape, element));
  const std::string blocks = (lattice_holds ? "blocks of " : "unequal blocks of about ") +
                             times(block) + " that the ranks access";
  if (shape == block) return fmt::format("{}, {} each", blocks, size);
  if (product(block, element) > product(shape, element))
    return fmt::format("{}, in {} parts of {}", blocks, count_chunks(block, shape), size);
  return fmt::format("{}, neighbours together: {}", blocks, size);
}

[[noreturn]] void refuse(const Variable& var, std::span<const Count> shape, const std::string& what,
                         const std::string& advice) {
  throw Error(Errc::einval,
              fmt::format("chunk shape {} of variable {}: {}", shape.empty() ? "()" : times(shape),
                          var.name, what),
              advice);
}

}  // namespace

AccessFacts::AccessFacts(int ndims) : values_(size_for(ndims), none) { values_[0] = nothing_kind; }

std::size_t AccessFacts::size_for(int ndims) { return at(ndims, first_start_field); }

void AccessFacts::add_block(const Subarray& block) {
  if (std::any_of(block.count.begin(), block.count.end(), [](Count n) { return n <= 0; })) return;
  values_[0] = std::min<std::int64_t>(values_[0], blocks_kind);
  const auto lower = [&](int d, Field field, std::int64_t value) {
    values_[at(d, field)] = std::min(values_[at(d, field)], value);
  };
  const int n = std::min(ndims(), static_cast<int>(block.count.size()));
  for (int d = 0; d < n; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (block.start[i] > 0) lower(d, first_start_field, block.start[i]);
    lower(d, shortest_field, block.count[i]);
    lower(d, longest_field, -block.count[i]);
    const bool gaps = !block.stride.empty() && block.stride[i] != 1 && block.count[i] > 1;
    lower(d, strided_field, gaps ? -1 : 0);
  }
}

void AccessFacts::add_scattered() { values_[0] = scattered_kind; }

bool AccessFacts::any() const { return values_[0] != nothing_kind; }

bool AccessFacts::scattered() const { return values_[0] == scattered_kind; }

Count AccessFacts::first_start(int d) const {
  const std::int64_t start = values_[at(d, first_start_field)];
  return start == none ? 0 : start;
}

Count AccessFacts::shortest(int d) const {
  const std::int64_t length = values_[at(d, shortest_field)];
  return length == none ? 0 : length;
}

Count AccessFacts::longest(int d) const {
  const std::int64_t negated = values_[at(d, longest_field)];
  return negated == none ? 0 : -negated;
}

bool AccessFacts::strided(int d) const { return values_[at(d, strided_field)] < 0; }

AccessFacts describe_access(const Variable& var, std::span<const Subarray* const> blocks,
                            bool scattered) {
  AccessFacts facts(var.ndims());
  for (const Subarray* block : blocks) facts.add_block(*block);
  if (scattered) facts.add_scattered();
  return facts;
}

std::vector<Count> candidate_lattice(const Variable& var, const AccessFacts& combined) {
  if (!combined.any() || combined.scattered()) return {};
  std::vector<Count> lattice;
  for (int d = 0; d < combined.ndims(); ++d) {
    if (d == 0 && var.is_record) {
      lattice.push_back(1);
      continue;
    }
    if (combined.strided(d)) return {};
    const Count start = combined.first_start(d), longest = combined.longest(d);
    if (start == 0 || start == longest) {
      // The first border is the end of the first block; the last block may be shorter.
      lattice.push_back(start == 0 ? combined.shortest(d) : start);
      continue;
    }
    // Blocks of several lattice cells. A divisor much smaller than the blocks is a coincidence.
    const Count common = std::gcd(std::gcd(start, longest), combined.shortest(d));
    lattice.push_back(common >= divide_up(start, 4) ? common : start);
  }
  return lattice;
}

bool aligned(const Variable& var, std::span<const Count> lattice,
             std::span<const Subarray* const> blocks) {
  if (lattice.size() != var.shape.size()) return blocks.empty();
  for (const Subarray* block : blocks) {
    if (std::any_of(block->count.begin(), block->count.end(), [](Count n) { return n <= 0; }))
      continue;
    for (std::size_t d = var.is_record ? 1 : 0; d < lattice.size(); ++d) {
      const Count start = block->start[d];
      Count end = 0;
      if (lattice[d] < 1 || !add_fits(start, block->count[d], end)) return false;
      if (start % lattice[d] != 0 || (end % lattice[d] != 0 && end != var.shape[d])) return false;
    }
  }
  return true;
}

std::optional<ShapeChoice> small_chunk_shape(const Variable& var, Count least) {
  const auto lengths = inner_lengths(var);
  if (!is_small(var, lengths, least)) return std::nullopt;
  return whole(var, lengths, least);
}

ShapeChoice choose_chunk_shape(const Variable& var, const AccessFacts& combined, bool lattice_holds,
                               Count least) {
  if (auto small = small_chunk_shape(var, least)) return *small;
  const auto lengths = inner_lengths(var);
  if (!combined.any()) return default_chunk_shape(var, "nothing accessed yet", least);
  if (combined.scattered()) return default_chunk_shape(var, "scattered pieces", least);
  for (int d = var.is_record ? 1 : 0; d < combined.ndims(); ++d) {
    if (combined.strided(d)) return default_chunk_shape(var, "strided access", least);
  }
  const auto block = pattern_block(var, combined, lengths, lattice_holds);
  auto shape = sized(block, lengths, element_bytes(var), ChunkSize::large, least);
  auto reason = pattern_reason(block, shape, element_bytes(var), lattice_holds);
  return with_records(var, std::move(shape), std::move(reason), least);
}

ShapeChoice default_chunk_shape(const Variable& var, std::string_view why, Count least) {
  if (auto small = small_chunk_shape(var, least)) return *small;
  const auto lengths = inner_lengths(var);
  auto shape = sized(lengths, lengths, element_bytes(var), ChunkSize::small, least);
  auto reason =
      fmt::format("{}: contiguous parts of {}", why, size_text(product(shape, element_bytes(var))));
  return with_records(var, std::move(shape), std::move(reason), least);
}

std::vector<Count> clipped_chunk_shape(const Variable& var, std::span<const Count> shape) {
  std::vector<Count> clipped(shape.begin(), shape.end());
  const std::size_t n = std::min(shape.size(), var.shape.size());
  for (std::size_t d = var.is_record ? 1 : 0; d < n; ++d)
    clipped[d] = std::min(clipped[d], std::max<Count>(var.shape[d], 1));
  return clipped;
}

void check_chunk_shape(const Variable& var, std::span<const Count> shape) {
  if (shape.size() != var.shape.size()) {
    refuse(var, shape, fmt::format("{} lengths for {} dimensions", shape.size(), var.shape.size()),
           "give one length per dimension, slowest first");
  }
  if (std::any_of(shape.begin(), shape.end(), [](Count n) { return n < 1; }))
    refuse(var, shape, "a length below 1", "each length is a number of elements, at least 1");
  const Count bytes = product(shape, element_bytes(var));
  if (bytes > chunk_bytes_limit) {
    refuse(var, shape, "a chunk has more than 1 GiB",
           "ask for fewer elements a chunk; 1 to 4 MiB are a good size");
  }
  const auto chunk = shape.subspan(var.is_record ? 1 : 0);
  if (count_chunks(inner_lengths(var), chunk) > chunk_count_limit) {
    refuse(var, shape,
           var.is_record ? "a record has more than 2^31-1 chunks"
                         : "the variable has more than 2^31-1 chunks",
           "ask for more elements a chunk; 1 to 4 MiB are a good size");
  }
}

}  // namespace forebay
