#include "groups/operators/operators.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#if __has_include(<bzlib.h>)
#include <bzlib.h>
#define FOREBAY_BZIP2 1
#else
#define FOREBAY_BZIP2 0
#endif

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "codec/codec_stage.h"
#include "codec/zfp_stream.h"
#include "groups/format/bp_cursor.h"
#include "groups/operators/blosc.h"
#include "groups/operators/forms.h"

namespace forebay::operators {

namespace {

constexpr std::size_t common_bytes = 4;

struct Operator {
  std::string_view name;
  Number number;
};
constexpr Operator all_operators[] = {
    {"blosc", Number::blosc}, {"bzip2", Number::bzip2}, {"zfp", Number::zfp}};

const Operator* find_operator(std::string_view name) {
  const auto* const found = std::ranges::find(all_operators, name, &Operator::name);
  return found == std::end(all_operators) ? nullptr : found;
}

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Errc::ebad_file, "its compressed values are damaged: " + what,
              "read another copy, or an earlier step");
}

[[noreturn]] void unknown(const std::string& what) {
  throw Error(Errc::enotsupport, "its compressed values have " + what,
              "read it with adios2, and write it without an operator");
}

std::size_t take_size(bp::Cursor& from) {
  return static_cast<std::size_t>(from.count("its compressed values have no size"));
}

std::string take_short_text(bp::Cursor& from) {
  const auto bytes = from.take(from.number<std::uint8_t>());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> rest_of(const bp::Cursor& from, std::span<const std::byte> all) {
  return all.subspan(from.at());
}

// ---- zfp

double parameter_in(const std::string& text) {
  const auto number = number_in(text);
  if (!number) damaged("zfp has the parameter \"" + text + "\"");
  return *number;
}

// Without one of three parameters adios2 leaves zfp to keep all bit planes.
ZfpMode zfp_mode(const std::map<std::string, std::string>& parameters) {
  using Kind = ZfpMode::Kind;
  constexpr double most_planes = 64, most_rate = 64;
  ZfpMode mode{Kind::precision, most_planes};
  int chosen = 0;
  for (const auto& [name, value] : parameters) {
    if (name == "accuracy")
      mode = {Kind::accuracy, parameter_in(value)};
    else if (name == "precision")
      mode = {Kind::precision, parameter_in(value)};
    else if (name == "rate")
      mode = {Kind::rate, parameter_in(value)};
    else
      continue;
    ++chosen;
  }
  const double most = mode.kind == Kind::accuracy    ? std::numeric_limits<double>::max()
                      : mode.kind == Kind::precision ? most_planes
                                                     : most_rate;
  if (chosen > 1 || !(mode.parameter >= 0) || mode.parameter > most)
    damaged("zfp has no parameters that make sense");
  return mode;
}

Type zfp_type(bp::Type type) {
  if (type == bp::Type::complex64) return Type::float32;
  if (type == bp::Type::complex128) return Type::float64;
  const Type engine = bp::to_engine(type);
  if (!is_floating(engine) && engine != Type::int32 && engine != Type::int64)
    damaged("zfp has no such type");
  return engine;
}

// zfp has at least a bit for each block of four values along each dimension.
void check_zfp_bits(std::span<const std::byte> stream, std::span<const std::size_t> shape) {
  std::size_t blocks = 1;
  for (const std::size_t n : shape) blocks *= n / 4 + (n % 4 != 0);
  if (blocks / 8 > stream.size()) damaged("zfp has fewer bits than blocks");
}

// The header does not say of how many dimensions zfp was told. As a rule the stream's length fits
// one of both numbers alone. A rate makes streams of one length for both.
void decode_zfp_of_many(std::span<const std::byte> stream, const ZfpField& of_four,
                        std::span<const std::size_t> shape_of_three, const ZfpMode& mode,
                        std::span<std::byte> out, CodecWorkspace::State& state) {
  const auto three = state.back.reserve(out.size()).first(out.size());
  const auto fits = [&](const ZfpField& field) {
    const auto failed = attempt_to([&] { zfp_decompress_any(stream, field, mode, state.check); });
    if (failed && failed->code() != Errc::enotnc) throw *failed;
    return !failed;
  };
  const bool is_four = fits(of_four), is_three = fits({of_four.type, shape_of_three, three.data()});
  if (!is_four && !is_three) damaged("zfp cannot decode it");
  if (is_four && is_three && !std::ranges::equal(three, out))
    unknown("four or more dimensions, which versions of adios2 tell zfp differently");
  if (!is_four) std::ranges::copy(three, out.begin());
}

void decode_zfp(bp::Type type, std::span<const std::byte> payload, std::span<std::byte> out,
                CodecWorkspace::State& state) {
  bp::Cursor from(payload, false);
  from.take(common_bytes);
  const std::size_t dimensions = take_size(from);
  if (dimensions > std::numeric_limits<std::uint8_t>::max()) damaged("zfp has many dimensions");
  std::vector<std::size_t> extents;
  auto bytes = static_cast<Count>(bp::size_of(type));
  for (std::size_t d = 0; d < dimensions; ++d) {
    extents.push_back(take_size(from));
    if (!multiply_fits(bytes, static_cast<Count>(extents.back()), bytes)) bytes = -1;
  }
  if (bytes != std::ssize(out)) damaged("zfp has a block of another size");
  from.take(4 + 3);  // the type, and the version of zfp: streams are the same in all
  std::map<std::string, std::string> parameters;
  for (std::size_t n = from.number<std::uint8_t>(); n > 0; --n) {
    std::string name = take_short_text(from);
    parameters[std::move(name)] = take_short_text(from);
  }
  const auto shape = zfp_shape(type, extents, most_zfp_dimensions);
  if (shape.empty()) damaged("zfp has a single value");
  const auto stream = rest_of(from, payload);
  check_zfp_bits(stream, shape);
  const ZfpMode mode = zfp_mode(parameters);
  const ZfpField field{zfp_type(type), shape, out.data()};
  if (shape.size() <= least_zfp_dimensions)
    zfp_decompress_any(stream, field, mode, state.check);
  else
    decode_zfp_of_many(stream, field, zfp_shape(type, extents, least_zfp_dimensions), mode, out,
                       state);
}

// ---- bzip2

#if FOREBAY_BZIP2
void decode_bzip2(std::span<const std::byte> payload, std::span<std::byte> out) {
  bp::Cursor from(payload, false);
  from.take(common_bytes);
  if (take_size(from) != out.size()) damaged("bzip2 has a block of another size");
  constexpr std::size_t info_bytes = 16;
  const std::size_t batches = take_size(from);
  if (batches > rest_of(from, payload).size() / info_bytes) damaged("bzip2 has many batches");
  std::size_t done = 0, at = from.at() + batches * info_bytes;
  for (std::size_t b = 0; b < batches; ++b) {
    // Places are the lowest 32 bits of them.
    from.number<std::uint32_t>();
    const std::size_t decoded = from.number<std::uint32_t>();
    from.number<std::uint32_t>();
    const std::size_t stored = from.number<std::uint32_t>();
    if (decoded > out.size() - done || stored > payload.size() - at)
      damaged("bzip2 has a batch that reaches out of its block");
    auto size = static_cast<unsigned>(decoded);
    // bzip2 only reads what it decodes.
    auto* const source = const_cast<std::byte*>(payload.data() + at);
    const int status = BZ2_bzBuffToBuffDecompress(reinterpret_cast<char*>(out.data() + done), &size,
                                                  reinterpret_cast<char*>(source),
                                                  static_cast<unsigned>(stored), 0, 0);
    if (status == BZ_MEM_ERROR) throw Error(Errc::enomem, "no memory to run bzip2");
    if (status != BZ_OK || size != decoded) damaged("bzip2 cannot decode it");
    done += decoded;
    at += stored;
  }
  if (done != out.size()) damaged("bzip2 has fewer values than the block");
}
#else
void decode_bzip2(std::span<const std::byte>, std::span<std::byte>) {}
#endif

// ---- blosc

void decode_blosc_block(std::span<const std::byte> payload, std::span<std::byte> out,
                        CodecWorkspace& workspace) {
  bp::Cursor from(payload, false);
  from.take(common_bytes);
  if (take_size(from) != out.size()) damaged("blosc has a block of another size");
  from.take(3);  // the version of blosc
  auto chunks = rest_of(from, payload);
  if (from.number<std::uint32_t>() == 0) {
    const auto number = from.number<std::uint32_t>();
    chunks = rest_of(from, payload);
    if (number == 0) {
      if (chunks.size() != out.size()) damaged("blosc has a block of another size");
      std::copy(chunks.begin(), chunks.end(), out.begin());
      return;
    }
  }
  while (!out.empty()) {
    const BloscSizes sizes = blosc_sizes(chunks);
    if (sizes.decoded > out.size()) damaged("blosc has a block of another size");
    decode_blosc(chunks.first(sizes.stored), out.first(sizes.decoded), workspace);
    chunks = chunks.subspan(sizes.stored);
    out = out.subspan(sizes.decoded);
  }
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  text.remove_prefix(std::min(text.find_first_not_of(" +"), text.size()));
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

std::vector<std::size_t> zfp_shape(bp::Type type, std::vector<std::size_t> extents,
                                   std::size_t most) {
  std::erase(extents, 1);
  while (extents.size() > most) {
    extents[1] *= extents[0];
    extents.erase(extents.begin());
  }
  if (bp::is_complex(type) && !extents.empty()) extents.back() *= 2;
  std::ranges::reverse(extents);
  return extents;
}

std::string why_unreadable(const bp::Block& block) {
  if (block.operation.empty()) return {};
  std::string me = "values behind ADIOS's operator " + block.operation;
  if (find_operator(block.operation) == nullptr) return me;
#if !FOREBAY_BZIP2
  if (block.operation == "bzip2") return me + ", which this build lacks (libbz2)";
#endif
  if (block.stored == 0) return me + " of an old or foreign form";
  return {};
}

Count most_ratio(const bp::Block& block) {
  // zfp makes a bit of a block of zeros, with four values of 8 bytes along four dimensions. A block
  // of bzip2 holds 47 MB of one byte in 22 bytes or more. Blosc makes a chunk of 2 GiB of 32 bytes.
  constexpr Count of_zfp = Count{4 * 4 * 4 * 4} * 8 * 8, of_bzip2 = 4 << 20, of_blosc = 64 << 20;
  if (block.operation == "zfp") return of_zfp;
  return block.operation == "bzip2" ? of_bzip2 : of_blosc;
}

void decode(bp::Type type, const bp::Block& block, std::span<const std::byte> payload,
            std::span<std::byte> out, CodecWorkspace& workspace) {
  try {
    bp::Cursor from(payload, false);
    const auto number = static_cast<Number>(from.number<std::uint8_t>());
    const Operator* const its = find_operator(block.operation);
    if (its == nullptr || number != its->number) damaged("another operator made them");
    if (from.number<std::uint8_t>() != header_version) unknown("a later version");
    if (its->name == "zfp") return decode_zfp(type, payload, out, workspace.state());
    if (its->name == "bzip2") return decode_bzip2(payload, out);
    decode_blosc_block(payload, out, workspace);
  } catch (const Error& error) {
    // Codecs call it a file that is no netCDF file.
    if (error.code() == Errc::enotnc) damaged(error.message());
    throw;
  }
}

}  // namespace forebay::operators
