#include "groups/operators/lz.h"

#include <algorithm>

#include "codec/codec_stage.h"

namespace forebay::operators {

namespace {

class Input {
 public:
  Input(std::span<const std::byte> bytes, const char* format) : bytes_(bytes), format_(format) {}

  bool at_end() const { return bytes_.empty(); }
  std::size_t byte() { return std::to_integer<std::size_t>(take(1)[0]); }
  std::span<const std::byte> take(std::size_t n) {
    if (n > bytes_.size()) throw_damaged(format_, "it is cut short");
    const auto taken = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return taken;
  }
  /// Adds the bytes that continue a length; one below 255 is the last.
  std::size_t longer(std::size_t length) {
    for (std::size_t more = 255; more == 255; length += more) more = byte();
    return length;
  }

 private:
  std::span<const std::byte> bytes_;
  const char* format_;
};

class Output {
 public:
  Output(std::span<std::byte> bytes, const char* format) : bytes_(bytes), format_(format) {}

  void copy(std::span<const std::byte> literals) {
    check(literals.size());
    std::copy(literals.begin(), literals.end(), bytes_.begin() + at());
    at_ += literals.size();
  }
  /// Repeats bytes that begin `distance` before the end; they may reach beyond it.
  void repeat(std::size_t distance, std::size_t length) {
    check(length);
    if (distance == 0 || distance > at_) throw_damaged(format_, "it repeats what is not there");
    for (std::size_t n = 0; n < length; ++n, ++at_) bytes_[at_] = bytes_[at_ - distance];
  }
  void end() const {
    if (at_ != bytes_.size()) throw_damaged(format_, "it decodes to fewer bytes than there were");
  }

 private:
  std::ptrdiff_t at() const { return static_cast<std::ptrdiff_t>(at_); }
  void check(std::size_t length) const {
    if (length > bytes_.size() - at_)
      throw_damaged(format_, "it decodes to more bytes than there were");
  }

  std::span<std::byte> bytes_;
  const char* format_;
  std::size_t at_ = 0;
};

}  // namespace

// A control byte below 32 precedes one literal more than its value. Any other one begins a match:
// its high three bits are the length, its low five bits and the next byte the distance. The largest
// distance of these 13 bits says that one of 16 bits follows. The first byte has literals only.
void decode_blosclz(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t long_length = 7, far = 31, most_near = 8191;
  Input from(in, "blosclz");
  Output to(out, "blosclz");
  bool first = true;
  while (!from.at_end()) {
    std::size_t control = from.byte();
    if (first) control &= 31;
    first = false;
    if (control < 32) {
      to.copy(from.take(control + 1));
      continue;
    }
    std::size_t length = control >> 5;
    if (length == long_length) length = from.longer(length);
    const std::size_t high = control & 31, low = from.byte();
    std::size_t distance = (high << 8) + low;
    if (high == far && low == 255) {
      const std::size_t upper = from.byte();
      distance = (upper << 8) + from.byte() + most_near;
    }
    to.repeat(distance + 1, length + 2);
  }
  to.end();
}

// A token has the number of literals in its high four bits, and that of bytes that are repeated,
// less 4, in its low ones; 15 is continued. The last sequence has literals only.
void decode_lz4(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t continued = 15, least_match = 4;
  Input from(in, "lz4");
  Output to(out, "lz4");
  while (!from.at_end()) {
    const std::size_t token = from.byte();
    std::size_t literals = token >> 4, length = token & 15;
    if (literals == continued) literals = from.longer(literals);
    to.copy(from.take(literals));
    if (from.at_end()) break;
    const std::size_t low = from.byte();
    const std::size_t distance = low + (from.byte() << 8);
    if (length == continued) length = from.longer(length);
    to.repeat(distance, length + least_match);
  }
  to.end();
}

}  // namespace forebay::operators
