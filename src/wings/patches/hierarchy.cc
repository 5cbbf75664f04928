#include "patches/hierarchy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/byteorder.h"
#include "base/hash.h"
#include "base/small_list.h"
#include "base/varint.h"
#include "codec/codec_stage.h"
#include "codec/missing_values.h"
#include "codec/value_loops.h"
#include "codec/wavelet.h"
#include "codec/zfp_stream.h"

namespace forebay {
namespace {

using wavelet::Box;

constexpr int most_levels = 16;
constexpr int more_than_bound = 2;    ///< the search for τ starts at 2^2 times the bound
constexpr int least_below_bound = 4;  ///< and ends at 2^-4 times it: enough up to rounding
constexpr int exact_below_range = 12;
constexpr int most_exponent = 960;
constexpr double no_end = std::numeric_limits<double>::infinity();
/// Upper limit for the growth of an error at coarser levels: the magnitudes of the low-pass weights
/// add up to less than 1.72 along each axis, at all levels.
constexpr double most_widened = 1.72 * 1.72 * 1.72;
constexpr const char* default_residuals = "shuffle,zstd:3";

enum class Kind : std::uint8_t { constant, bounded, exact };
/// Flags next to the kind. The numbers of the head are doubles if one does not fit a float.
constexpr std::uint8_t has_table = 4, was_cut = 16, is_wide = 32, has_bound = 64, is_whole = 128;

/// The power of two that values are multiplied by: down for values whose sums might overflow, up
/// for values that are too small for zfp's scale.
enum class Scale : std::uint8_t { none = 0, up = 1, down = 8 };

struct Head {
  Kind kind = Kind::bounded;
  bool whole = false;  ///< no element is missing
  Scale scale = Scale::none;
  int exponent = 0;  ///< of τ
  double error = 0;
  std::vector<double> details;
  /// The requested bound, if it depends on the range of values; infinite if no value is valid.
  std::optional<double> bound;
  /// How far values already were from the original ones, before a partial write merged them.
  std::optional<double> cut;
  /// A table of missing values follows.
  bool table = false;
};

bool fits_float(double value) {
  return value == 0 || !std::isfinite(value) ||
         (value >= static_cast<double>(std::numeric_limits<float>::min()) &&
          value < static_cast<double>(std::numeric_limits<float>::max()));
}

float rounded_up(double value) {
  const auto f = static_cast<float>(value);
  return static_cast<double>(f) < value ? std::nextafter(f, std::numeric_limits<float>::infinity())
                                        : f;
}

float rounded_down(double value) {
  const auto f = static_cast<float>(value);
  return static_cast<double>(f) > value ? std::nextafter(f, 0.0F) : f;
}

/// zfp multiplies a block whose largest value is 2^e by 2^(30 - e) or 2^(62 - e), which must be
/// finite. A block smaller than its tolerance by 2^8 is all zeros to it. So no tolerance is below
/// this.
template <typename T>
constexpr int least_tolerance = sizeof(T) == 4 ? -90 : -954;
/// Values below 2^smallest are scaled up, so that the tolerances needed for their last bits
/// (exact_below_range and most_levels lower) stay valid.
template <typename T>
constexpr int smallest = sizeof(T) == 4 ? -36 : -870;

template <typename T>
constexpr int exponent_of(Scale scale) {
  if (scale == Scale::up) return sizeof(T) == 4 ? 90 : 200;
  return scale == Scale::down ? -8 : 0;
}

template <typename T>
void put_number(std::vector<std::byte>& to, T value) {
  to.resize(to.size() + sizeof value);
  store_be(to.data() + to.size() - sizeof value, value);
}

void put(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void print(const Head& head, std::vector<std::byte>& to) {
  const bool wide = !fits_float(head.error) || !fits_float(head.bound.value_or(0)) ||
                    !fits_float(head.cut.value_or(0)) ||
                    !std::ranges::all_of(head.details, fits_float);
  const auto put_rounded = [&](double value, float (*rounded)(double)) {
    if (wide)
      put_number(to, value);
    else
      put_number(to, rounded(value));
  };
  put_number(to, static_cast<std::uint8_t>(static_cast<std::uint8_t>(head.kind) |
                                           (head.table ? has_table : 0) | (head.cut ? was_cut : 0) |
                                           (wide ? is_wide : 0) | (head.bound ? has_bound : 0) |
                                           (head.whole ? is_whole : 0)));
  put_number(to, static_cast<std::uint8_t>(head.scale));
  put_number(to, static_cast<std::int16_t>(head.exponent));
  put_rounded(head.error, rounded_up);
  for (const double d : head.details) put_rounded(d, rounded_up);
  if (head.bound) put_rounded(*head.bound, rounded_down);
  if (head.cut) put_rounded(*head.cut, rounded_up);
}

[[noreturn]] void damaged(const char* what) { throw_damaged("wavelet", what); }

/// Reads a part from front to back.
class PartReader {
 public:
  explicit PartReader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <typename T>
  T take() {
    const auto bytes = take(sizeof(T));
    return load_be<T>(bytes.data());
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > left_.size()) damaged("a part ends too early");
    const auto bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }
  std::size_t take_size() {
    const std::byte* at = left_.data();
    std::uint64_t size = 0;
    if (!get_varint(at, left_.data() + left_.size(), size)) damaged("a length is none");
    left_ = left_.subspan(static_cast<std::size_t>(at - left_.data()));
    return static_cast<std::size_t>(size);
  }
  std::span<const std::byte> rest() { return take(left_.size()); }
  bool empty() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

Head take_head(PartReader& part, int levels) {
  Head head;
  const auto first = part.take<std::uint8_t>();
  const auto kind =
      static_cast<std::uint8_t>(first & ~(has_table | was_cut | is_wide | has_bound | is_whole));
  if (kind > static_cast<std::uint8_t>(Kind::exact)) damaged("a patch of a kind that is not known");
  head.kind = static_cast<Kind>(kind);
  head.whole = (first & is_whole) != 0;
  head.table = (first & has_table) != 0;
  head.scale = static_cast<Scale>(part.take<std::uint8_t>());
  head.exponent = part.take<std::int16_t>();
  const auto take = [&] {
    return (first & is_wide) != 0 ? part.take<double>() : static_cast<double>(part.take<float>());
  };
  head.error = take();
  for (int k = 0; k < levels; ++k) head.details.push_back(take());
  if ((first & has_bound) != 0) head.bound = take();
  if ((first & was_cut) != 0) head.cut = take();
  if (head.scale != Scale::none && head.scale != Scale::up && head.scale != Scale::down)
    damaged("a scale that no patch has");
  if (head.bound && !(*head.bound >= 0)) damaged("a bound that no patch has");
  if (head.cut && !(*head.cut > 0)) damaged("an error that no patch has");
  if (std::abs(head.exponent) > 1024) damaged("a tolerance that no patch has");
  return head;
}

Box box_of(const ChunkInfo& chunk) {
  Box box{1, 1, 1};
  std::size_t axes = 0;
  for (const Count n : chunk.shape) axes += n > 1;
  if (axes > box.size()) throw Error(Errc::einternal, "a patch has more than three axes");
  std::size_t axis = box.size() - axes;
  for (const Count n : chunk.shape)
    if (n > 1) box[axis++] = static_cast<std::size_t>(n);
  return box;
}

std::size_t padded(std::size_t n) { return n == 1 ? 1 : (n + 3) / 4 * 4; }

/// The shape that zfp gets.
std::vector<std::size_t> shape_of(const Box& box) {
  std::vector<std::size_t> shape;
  for (const std::size_t n : box)
    if (n > 1) shape.push_back(n);
  if (shape.empty()) shape.push_back(1);
  return shape;
}

/// The positions of the kinds of details of one level: in the array that split() makes, and in the
/// stack.
struct Details {
  struct Band {
    unsigned kind = 0;  ///< numbered as in wavelet::Kinds
    Box size{};
    std::size_t begin = 0;   ///< of its first slice, stacked
    std::size_t slices = 0;  ///< with padding
  };
  Box stacked{1, 1, 1};
  std::size_t axis = 0;  ///< along which they are stacked
  SmallList<Band, 7> bands;

  explicit Details(const Box& box) {
    const Box low = wavelet::smooth_of(box);
    while (axis < box.size() && box[axis] == 1) ++axis;
    if (axis == box.size()) return;
    for (unsigned mask = 1; mask < 8; ++mask) {
      Band band{mask};
      bool any = true;
      for (std::size_t a = 0; a < box.size(); ++a) {
        const bool high = (mask >> (box.size() - 1 - a) & 1U) != 0;
        band.size[a] = high ? box[a] / 2 : low[a];
        any &= band.size[a] > 0;
      }
      if (any) bands.push_back(band);
    }
    std::size_t slices = 0;
    for (Band& band : bands) {
      for (std::size_t a = axis + 1; a < box.size(); ++a)
        stacked[a] = std::max(stacked[a], padded(band.size[a]));
      band.begin = slices;
      // Bands of a stack never share a zfp block.
      band.slices = (band.size[axis] + 3) / 4 * 4;
      slices += band.slices;
    }
    stacked[axis] = bands.size() == 1 ? bands[0].size[axis] : slices;
    if (bands.size() == 1) bands[0].slices = bands[0].size[axis];
  }
  std::size_t size() const { return bands.empty() ? 0 : wavelet::elements(stacked); }

  std::size_t stride(std::size_t a) const {
    return std::accumulate(stacked.begin() + static_cast<std::ptrdiff_t>(a) + 1, stacked.end(),
                           std::size_t{1}, std::multiplies<>());
  }
  /// The stacked values of a band, with padding.
  template <typename T>
  std::span<T> values(T* all, const Band& band) const {
    return {all + band.begin * stride(axis), band.slices * stride(axis)};
  }
  /// Repeats the last element of each band along each axis.
  template <typename T>
  void pad(T* all) const {
    for (const Band& band : bands) {
      Box whole = stacked;
      whole[axis] = band.slices;
      if (whole == band.size) continue;
      for (std::size_t z = 0; z < whole[0]; ++z) {
        for (std::size_t y = 0; y < whole[1]; ++y) {
          const auto row = [&](std::size_t i, std::size_t k) {
            return values(all, band).data() + i * stride(0) + k * stride(1);
          };
          const T* const from = row(std::min(z, band.size[0] - 1), std::min(y, band.size[1] - 1));
          T* const to = row(z, y);
          if (from != to) std::copy_n(from, whole[2], to);
          std::fill(to + band.size[2], to + whole[2], from[band.size[2] - 1]);
        }
      }
    }
  }
};

/// Uninitialised values. Old content is lost when the array grows.
template <typename T>
class Values {
 public:
  void resize(std::size_t n) {
    if (n > capacity_) {
      memory_ = std::make_unique_for_overwrite<T[]>(n);
      capacity_ = n;
    }
    size_ = n;
  }
  T* data() { return memory_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return memory_.get(); }
  const T* end() const { return begin() + size_; }
  T& operator[](std::size_t i) { return memory_[i]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  std::unique_ptr<T[]> memory_;
  std::size_t size_ = 0, capacity_ = 0;
};

/// Scratch memory of a thread.
template <typename T>
struct Room {
  Values<T> scratch, back, finer;
  std::vector<Values<T>> levels;   // exact values, by level
  std::vector<Values<T>> details;  // stacked, by level
  std::vector<double> largest;     // largest detail, by level
  Values<T> stacked;               // decoded
  std::vector<Missing> mask;
  std::vector<T> listed;  // missing values that the mask refers to by number
  std::vector<std::vector<std::byte>> trial, streams, parts;  // the attempt's streams; to store
  ScratchBuffer zfp;
  CodecWorkspace inner;
};

template <typename T>
class Patch {
 public:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Type type = sizeof(T) == 4 ? Type::float32 : Type::float64;
  static constexpr Type bits_type = sizeof(T) == 4 ? Type::uint32 : Type::uint64;

  Patch(const ChunkInfo& chunk, int levels, CodecWorkspace::State& state)
      : chunk_(chunk), levels_(levels), room_(state.context<Room<T>>(0, [] { return Room<T>(); })) {
    boxes_.push_back(box_of(chunk));
    for (int k = 0; k < levels; ++k) boxes_.push_back(wavelet::smooth_of(boxes_.back()));
    if (!chunk.fill.empty()) fill_ = load_be<T>(chunk.fill.data());
    room_.scratch.resize(wavelet::work_size(boxes_[0]));
  }

  void encode(std::span<const std::byte> raw, const CodecStage* cuts, const Pipeline& residuals,
              std::span<EncodedChunk> parts);
  std::optional<double> decode(std::span<const EncodedChunk> parts, const Pipeline& residuals,
                               std::span<std::byte> raw);

 private:
  const T* fill() const { return fill_ ? &*fill_ : nullptr; }
  const T* exact(int level) {
    return level == 0 ? values_ : std::as_const(room_.levels[index(level)]).begin();
  }
  std::span<const T> exact_values(int level) { return {exact(level), size(level)}; }
  std::span<T> changed_values();
  std::size_t size(int level) const { return wavelet::elements(boxes_[index(level)]); }
  static std::size_t index(int level) { return static_cast<std::size_t>(level); }
  static double power(int exponent) { return std::ldexp(1.0, exponent); }
  static double power(Scale scale) { return power(exponent_of<T>(scale)); }
  int least_exponent() const { return least_tolerance<T> + levels_; }

  std::optional<double> bound_of(const CodecStage* cuts, double range) const;
  static double error_of_one(T least, T middle, T most);
  double step_from_missing(const MissingTest<T>& is_missing, T least, T most, double range,
                           double bound);
  void transform();
  struct Attempt {
    double error = 0;      ///< the largest difference at any level
    bool details = false;  ///< some details are not zero
  };
  Attempt attempt(int exponent, double enough, bool keeps);
  bool is_coarsest_small() const;
  std::optional<double> search(double bound, int& exponent);
  bool compress(Values<T>& values, double largest, std::span<const std::size_t> shape,
                double tolerance, std::vector<std::byte>& stream, Values<T>& back);
  void decompress(std::span<const std::byte> stream, Values<T>& values, std::size_t n,
                  std::span<const std::size_t> shape, double tolerance);
  template <typename U>
  wavelet::Kinds<U> kinds(int level, U* smooth, U* details) const;
  double refine(int level, bool any, const T* exact, double enough, bool keeps);
  static double largest(std::span<const T> values);
  static double difference(std::span<const T> a, std::span<const T> b);
  static Bits ordered(T value) {
    const auto bits = std::bit_cast<Bits>(value);
    constexpr Bits top = Bits{1} << (8 * sizeof(T) - 1);
    return (bits & top) != 0 ? ~bits : bits | top;
  }
  static T number(Bits place) {
    constexpr Bits top = Bits{1} << (8 * sizeof(T) - 1);
    return std::bit_cast<T>((place & top) != 0 ? place & ~top : ~place);
  }
  // Means and values outside the bound of a float may overflow when they are scaled back, so they
  // are clamped.
  void unscale(Scale scale) {
    if (scale == Scale::none) return;
    const T most = std::numeric_limits<T>::max() * static_cast<T>(std::min(power(scale), 1.0));
    const T back = static_cast<T>(power(-exponent_of<T>(scale)));
    for (T& v : room_.back) v = std::clamp(v, -most, most) * back;
  }
  void print_parts(const Head& head, bool masked, std::span<EncodedChunk> parts);
  void print_residuals(std::span<const std::byte> raw, const Pipeline& pipeline,
                       std::vector<std::byte>& to);
  void add_residuals(PartReader& part, const Pipeline& pipeline, std::span<std::byte> raw);
  void take_table(PartReader& part, std::span<T, 2> edges);

  const ChunkInfo& chunk_;
  int levels_;
  Room<T>& room_;
  std::vector<Box> boxes_;  // by level
  std::optional<T> fill_;
  std::vector<std::byte> table_;  // printed, i.e. encoded
  const T* values_ = nullptr;     // exact values of level 0: the input, or a copy in the room
};

// Loops of value_loops, compiled for AVX2 and for other processors.
#if FOREBAY_HAVE_AVX2_LOOPS
template <typename T>
__attribute__((target("avx2"))) double largest_avx2(const T* values, std::size_t n) {
  return static_cast<double>(value_loops::largest(values, n));
}
template <typename T>
__attribute__((target("avx2"))) double difference_avx2(const T* a, const T* b, std::size_t n) {
  return value_loops::difference(a, b, n);
}
#endif

template <typename T>
double Patch<T>::largest(std::span<const T> values) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (value_loops::have_avx2()) return largest_avx2(values.data(), values.size());
#endif
  return static_cast<double>(value_loops::largest(values.data(), values.size()));
}

template <typename T>
double Patch<T>::difference(std::span<const T> a, std::span<const T> b) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (value_loops::have_avx2()) return difference_avx2(a.data(), b.data(), a.size());
#endif
  return value_loops::difference(a.data(), b.data(), a.size());
}

// The kinds of a level: the next level, contiguous, and the stacked details (null: zeros).
template <typename T>
template <typename U>
wavelet::Kinds<U> Patch<T>::kinds(int level, U* smooth, U* stacked) const {
  const Box low = wavelet::smooth_of(boxes_[index(level)]);
  wavelet::Kinds<U> all{{{smooth, low[1] * low[2], low[2]}}};
  const Details details(boxes_[index(level)]);
  if (stacked == nullptr) return all;
  for (const Details::Band& band : details.bands)
    all[band.kind] = {details.values(stacked, band).data(), details.stride(0), details.stride(1)};
  return all;
}

// Computes the exact levels, and their stacked details.
template <typename T>
void Patch<T>::transform() {
  room_.details.resize(index(levels_));
  for (int k = 0; k < levels_; ++k) {
    const Box& box = boxes_[index(k)];
    const Details details(box);
    auto& smooth = room_.levels[index(k + 1)];
    auto& stacked = room_.details[index(k)];
    smooth.resize(wavelet::elements(wavelet::smooth_of(box)));
    stacked.resize(details.size());
    wavelet::split<T>(exact(k), box, kinds(k, smooth.data(), stacked.data()), room_.scratch.data());
    details.pad(stacked.data());
  }
}

// Sets `back` to what decompress() makes of the stream. Returns false, without setting it, if all
// values decode to zero; their stream is empty.
template <typename T>
bool Patch<T>::compress(Values<T>& values, double largest, std::span<const std::size_t> shape,
                        double tolerance, std::vector<std::byte>& stream, Values<T>& back) {
  stream.clear();
  if (values.empty() || largest <= tolerance) return false;
  back.resize(values.size());
  const ZfpField field{type, shape, reinterpret_cast<std::byte*>(values.data())};
  const ZfpMode mode{ZfpMode::Kind::accuracy, tolerance};
  const auto out = room_.zfp.reserve(zfp_capacity(field, mode));
  const std::size_t size =
      zfp_compress_to(field, mode, out, reinterpret_cast<std::byte*>(back.data()));
  if (size == 0) throw Error(Errc::einternal, "zfp makes nothing of a patch");
  zfp_order_words(out.first(size));
  stream.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size));
  return true;
}

template <typename T>
void Patch<T>::decompress(std::span<const std::byte> stream, Values<T>& values, std::size_t n,
                          std::span<const std::size_t> shape, double tolerance) {
  values.resize(n);
  if (n == 0) damaged("details where there are none");
  if (stream.empty()) return std::fill(values.begin(), values.end(), T(0));
  const ZfpField field{type, shape, reinterpret_cast<std::byte*>(values.data())};
  zfp_decompress_from(stream, field, {ZfpMode::Kind::accuracy, tolerance}, room_.zfp);
}

// Replaces room_.back by the next finer level, with the details in room_.stacked if there are any.
// Returns the difference from the exact level. Stops early if the difference exceeds `enough`.
template <typename T>
double Patch<T>::refine(int level, bool any, const T* exact, double enough, bool keeps) {
  const Box& box = boxes_[index(level)];
  room_.finer.resize(keeps ? wavelet::elements(box) : 0);
  const double error = wavelet::merge<T>(
      kinds(level, std::as_const(room_.back).begin(),
            any ? std::as_const(room_.stacked).begin() : nullptr),
      box, keeps ? room_.finer.data() : nullptr, exact, enough, room_.scratch.data());
  std::swap(room_.back, room_.finer);
  return error;
}

// Makes the streams for τ = 2^exponent in room_.trial, and decodes them. Leaves level 0 in
// room_.back if `keeps` is set. Ends early once a difference exceeds `enough`. Most patches keep
// the streams of their first attempt.
template <typename T>
typename Patch<T>::Attempt Patch<T>::attempt(int exponent, double enough, bool keeps) {
  room_.trial.resize(index(levels_) + 1);
  auto& coarse = room_.levels[index(levels_)];
  if (!compress(coarse, largest(coarse), shape_of(boxes_[index(levels_)]),
                power(exponent - levels_), room_.trial[0], room_.back)) {
    room_.back.resize(coarse.size());
    std::fill(room_.back.begin(), room_.back.end(), T(0));
  }
  Attempt made{difference(room_.back, coarse)};
  for (int k = levels_ - 1; k >= 0 && made.error <= enough; --k) {
    const Details details(boxes_[index(k)]);
    const bool any =
        compress(room_.details[index(k)], room_.largest[index(k)], shape_of(details.stacked),
                 power(exponent - k), room_.trial[index(levels_ - k)], room_.stacked);
    made.details |= any;
    made.error = std::max(made.error, refine(k, any, exact(k), enough, keeps || k > 0));
  }
  return made;
}

// In thin patches the coarsest level may have an eighth of all values.
template <typename T>
bool Patch<T>::is_coarsest_small() const {
  constexpr std::size_t many = 64;
  return many * size(levels_) <= size(0);
}

// Finds the largest τ that keeps the bound, and returns its error; nothing if there is none.
template <typename T>
std::optional<double> Patch<T>::search(double bound, int& exponent) {
  const int middle = std::clamp(std::ilogb(bound), least_exponent(), most_exponent);
  const int lowest = std::max(middle - least_below_bound, least_exponent());
  std::optional<double> found;
  int next = middle + more_than_bound, fails_from = std::numeric_limits<int>::max();
  while (next < fails_from && (!found || next > exponent)) {
    const auto [error, details] = attempt(next, bound, false);
    int change = error > 0 ? more_than_bound - least_below_bound : more_than_bound;
    if (error > 0 && error <= std::numeric_limits<double>::max())
      change = static_cast<int>(std::floor(std::log2(bound) - std::log2(error)));
    if (error <= bound) {
      found = error;
      exponent = next;
      std::swap(room_.streams, room_.trial);
      next = std::min(next + change, middle + 2 * most_levels);
      // Without details, a larger τ only saves bits of the coarsest level.
      if (change <= 0 || (!details && is_coarsest_small())) break;
    } else {
      fails_from = next;
      if (next == lowest) break;
      next = std::max(next + std::min(change, -1), lowest);
    }
  }
  return found;
}

// The bound for values of this range; a known range of all data takes precedence.
template <typename T>
std::optional<double> Patch<T>::bound_of(const CodecStage* cuts, double range) const {
  if (cuts == nullptr) return std::nullopt;
  const double bound = *cuts->bound(chunk_.range.value_or(range));
  return std::min(chunk_.bound ? std::min(bound, *chunk_.bound) : bound,
                  std::numeric_limits<double>::max());
}

// Upper limit for the distance of `middle` from any level of values in [least, most]: the low pass
// applied to the differences, plus the rounding of its sums.
template <typename T>
double Patch<T>::error_of_one(T least, T middle, T most) {
  constexpr double rounding = 512 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const auto low = static_cast<double>(least), high = static_cast<double>(most);
  const auto value = static_cast<double>(middle);
  return most_widened * std::max(high - value, value - low) +
         rounding * std::max(std::abs(low), std::abs(high));
}

/// Replaces a decoded value that would equal a missing one.
template <typename T>
T next_to(T missing) {
  constexpr T end = std::numeric_limits<T>::max();
  return std::nextafter(missing, missing > 0 ? -end : end);
}

// The largest change that this replacement makes to values in [least, most]; 0 if no value comes
// close to a missing one. Missing values that some value may reach are added to the list.
template <typename T>
double Patch<T>::step_from_missing(const MissingTest<T>& is_missing, T least, T most, double range,
                                   double bound) {
  const T middle = least / 2 + most / 2;
  const double reach = error_of_one(least, middle, most) + range / 2 + bound;
  double step = 0;
  for (const T missing : is_missing.values) {
    const auto its = static_cast<double>(missing);
    if (std::abs(its - static_cast<double>(middle)) > reach) continue;
    step = std::max(step, std::abs(its - static_cast<double>(next_to(missing))));
    if (missing != fill_ && std::ranges::find(room_.listed, missing) == room_.listed.end() &&
        room_.listed.size() < most_listed)
      room_.listed.push_back(missing);
  }
  return step;
}

// Copies the input before it is changed.
template <typename T>
std::span<T> Patch<T>::changed_values() {
  auto& own = room_.levels[0];
  if (values_ != own.data()) {
    own.resize(size(0));
    std::copy_n(values_, size(0), own.data());
    values_ = own.data();
  }
  return {own.data(), size(0)};
}

template <typename T>
void Patch<T>::encode(std::span<const std::byte> raw, const CodecStage* cuts,
                      const Pipeline& residuals, std::span<EncodedChunk> parts) {
  const std::size_t n = size(0);
  room_.parts.resize(parts.size());
  for (auto& part : room_.parts) part.clear();
  Head head;
  head.details.assign(index(levels_), 0.0);
  if (chunk_.cut.value_or(0) > 0) head.cut = chunk_.cut;
  auto compared = EncodedChunk::Bound::unknown;
  const auto point = [&] {
    for (std::size_t p = 0; p < parts.size(); ++p) parts[p] = {room_.parts[p], 0};
    parts[0].bound = compared;
  };
  const bool tells_bound = cuts != nullptr && cuts->wants_range();
  const int swap = chunk_.native ? static_cast<int>(sizeof(T)) : 1;
  if (std::memcmp(raw.data(), raw.data() + sizeof(T), raw.size() - sizeof(T)) == 0) {
    std::array<std::byte, sizeof(T)> value;
    copy_swapped(value.data(), raw.data(), value.size(), swap);
    head.kind = Kind::constant;
    head.whole = true;
    if (tells_bound) head.bound = bound_of(cuts, 0);
    if (tells_bound && MissingTest<T>(chunk_.missing.get(), chunk_.fill)(load_be<T>(value.data())))
      head.bound = std::numeric_limits<double>::infinity();
    print(head, room_.parts[0]);
    put(room_.parts[0], value);
    return point();
  }
  room_.levels.resize(index(levels_) + 1);
  if (chunk_.native && reinterpret_cast<std::uintptr_t>(raw.data()) % alignof(T) == 0) {
    values_ = reinterpret_cast<const T*>(raw.data());
  } else {
    auto& own = room_.levels[0];
    own.resize(n);
    copy_swapped(reinterpret_cast<std::byte*>(own.data()), raw.data(), raw.size(),
                 chunk_.native ? 1 : static_cast<int>(sizeof(T)));
    values_ = own.data();
  }
  const auto values = exact_values(0);
  // Most patches have no missing values; one pass over the values finds out.
  const MissingValues<T> missing(chunk_, values);
  const bool masked = missing.any;
  room_.listed.clear();
  const bool all_listed =
      !masked || find_missing(values, missing.is_missing, fill(), room_.mask, room_.listed);
  head.whole = !masked;
  const T least = missing.least, most = missing.most;
  const bool any = least <= most;
  const T huge = std::numeric_limits<T>::max() / 16;
  const T tiny = static_cast<T>(power(smallest<T>));
  if (any && (most > huge || least < -huge)) head.scale = Scale::down;
  if (any && most < tiny && least > -tiny) head.scale = Scale::up;
  const T scale = static_cast<T>(power(head.scale));
  if (head.scale != Scale::none)
    for (T& v : changed_values()) v *= scale;
  // Halves avoid an overflow of the difference.
  const double range =
      any ? 2 * std::min(static_cast<double>(most) / 2 - static_cast<double>(least) / 2,
                         std::numeric_limits<double>::max() / 2)
          : 0;
  const bool waits =
      !all_listed ||
      (chunk_.cut && masked && std::ranges::find(room_.mask, Missing::fill) != room_.mask.end());
  const auto bound = bound_of(cuts, range);
  if (tells_bound) head.bound = any ? bound : std::numeric_limits<double>::infinity();
  if (bound) compared = compare_with_spread(*bound, values, missing.is_missing);
  // Values that an earlier write changed: the two stored errors, both rounded up, must add up to at
  // most the bound.
  double left = bound.value_or(0);
  if (head.cut) left = left * (1 - 0x1p-20) - *head.cut;
  if (any && !masked && left > 0 && head.scale == Scale::none) {
    const auto middle = static_cast<T>(least + (most - least) / 2);
    head.error = error_of_one(least, middle, most);
    if (head.error <= left / 4 && !missing.is_missing(middle)) {
      head.kind = Kind::constant;
      print(head, room_.parts[0]);
      put_number(room_.parts[0], middle);
      return point();
    }
  }
  if (masked) fill_in(changed_values(), boxes_[0], std::span<const Missing>(room_.mask));
  transform();
  room_.largest.resize(index(levels_));
  for (int k = 0; k < levels_; ++k) {
    // The details at one place add up to at most the sum of the largest of each kind.
    const Details details(boxes_[index(k)]);
    double sum = 0;
    room_.largest[index(k)] = 0;
    for (const Details::Band& band : details.bands) {
      const double its =
          largest(details.values(std::as_const(room_.details[index(k)]).begin(), band));
      sum += its;
      room_.largest[index(k)] = std::max(room_.largest[index(k)], its);
    }
    head.details[index(k)] = std::min(sum / power(head.scale), std::numeric_limits<double>::max());
  }
  std::optional<double> error;
  // Scaling back loses up to half of the smallest number.
  double lost = head.scale == Scale::up ? std::numeric_limits<T>::denorm_min() : 0;
  if (any) lost += step_from_missing(missing.is_missing, least, most, range, bound.value_or(0));
  // Decoded values are clamped to these edges, so that they stay valid. An empty range has no
  // edges: all values are missing.
  const T edges[2] = {missing.is_missing.least, missing.is_missing.most};
  const bool is_range = edges[0] <= edges[1];
  const bool has_edge[2] = {is_range && edges[0] > std::numeric_limits<T>::lowest(),
                            is_range && edges[1] < std::numeric_limits<T>::max()};
  head.table = !room_.listed.empty() || has_edge[0] || has_edge[1];
  const double scaled_bound =
      bound ? std::min((*bound - lost) * power(head.scale), std::numeric_limits<double>::max()) : 0;
  const double scaled_left = std::min(scaled_bound, (left - lost) * power(head.scale));
  if (scaled_left > 0 && !waits) error = search(scaled_left, head.exponent);
  if (!error) {
    head.kind = Kind::exact;
    const double from = range > 0 ? range * power(head.scale) : largest(exact_values(0));
    head.exponent = most_exponent;
    if (from > 0) head.exponent = std::ilogb(from) - exact_below_range;
    // Coarser levels keep the bound as well, up to rounding.
    if (scaled_bound > 0)
      head.exponent = std::min(head.exponent, std::ilogb(scaled_bound) - least_below_bound);
    head.exponent = std::clamp(head.exponent, least_exponent(), most_exponent);
    error = attempt(head.exponent, no_end, true).error;
    std::swap(room_.streams, room_.trial);
  }
  head.error = std::min(*error / power(head.scale) + lost, std::numeric_limits<double>::max());
  if (head.table) {
    // The table follows the head, which print_parts() writes first.
    table_.push_back(static_cast<std::byte>((has_edge[0] ? 1 : 0) | (has_edge[1] ? 2 : 0)));
    for (int e = 0; e < 2; ++e)
      if (has_edge[e]) put_number(table_, edges[e]);
    put_number(table_, static_cast<std::uint8_t>(room_.listed.size()));
    for (const T v : room_.listed) put_number(table_, v);
  }
  print_parts(head, masked, parts);
  if (head.kind == Kind::exact) {
    unscale(head.scale);
    std::vector<std::byte> external(chunk_.native ? raw.size() : 0);
    copy_swapped(external.data(), raw.data(), external.size(), sizeof(T));
    print_residuals(chunk_.native ? external : raw, residuals, room_.parts.back());
  }
  point();
}

// A part holds the size of its mask (0: there is none), the mask and the stream. The last part of
// an exact patch also holds the size of its stream.
template <typename T>
void Patch<T>::print_parts(const Head& head, bool masked, std::span<EncodedChunk> parts) {
  static const auto& mask_pipeline = *new Pipeline(Pipeline::parse("zstd:3"));
  std::vector<Missing> mask;
  if (masked) mask = room_.mask;
  for (int level = 0; level <= levels_; ++level) {
    if (level > 0 && !mask.empty()) mask = coarser(mask, boxes_[index(level - 1)]);
    const std::size_t p = parts.size() - 1 - index(level);
    auto& part = room_.parts[p];
    if (p == 0) {
      print(head, part);
      put(part, table_);
    }
    const bool any =
        std::any_of(mask.begin(), mask.end(), [](Missing m) { return m != Missing::no; });
    const auto& stream = room_.streams[p];
    const bool last_of_exact = head.kind == Kind::exact && level == 0;
    if (p > 0 && !any && stream.empty() && !last_of_exact) continue;
    if (any) {
      const auto bytes = std::as_bytes(std::span(mask));
      const EncodedChunk coded =
          mask_pipeline.encode({Type::byte, {std::ssize(bytes)}}, bytes, room_.inner);
      append_varint(part, 1 + coded.bytes.size());
      part.push_back(static_cast<std::byte>(coded.skipped));
      put(part, coded.bytes);
    } else {
      append_varint(part, 0);
    }
    if (last_of_exact) append_varint(part, stream.size());
    put(part, stream);
  }
}

// Differences from the decoded values, as integers; small ones of either sign come first.
template <typename T>
void Patch<T>::print_residuals(std::span<const std::byte> raw, const Pipeline& pipeline,
                               std::vector<std::byte>& to) {
  std::vector<std::byte> residuals(raw.size());
  for (std::size_t i = 0; i < room_.back.size(); ++i) {
    const Bits d = ordered(load_be<T>(raw.data() + i * sizeof(T))) - ordered(room_.back[i]);
    const Bits sign =
        static_cast<Bits>(-static_cast<std::make_signed_t<Bits>>(d >> (8 * sizeof(T) - 1)));
    store_be(residuals.data() + i * sizeof(T), static_cast<Bits>((d << 1) ^ sign));
  }
  const ChunkInfo info{bits_type, {std::ssize(room_.back)}};
  const EncodedChunk coded = pipeline.encode(info, residuals, room_.inner);
  put_number(to, hash_of(raw));
  put_number(to, static_cast<std::uint8_t>(coded.skipped));
  put(to, coded.bytes);
}

template <typename T>
void Patch<T>::add_residuals(PartReader& part, const Pipeline& pipeline, std::span<std::byte> raw) {
  const auto hash = part.take<std::uint64_t>();
  const auto skipped = part.take<std::uint8_t>();
  std::vector<std::byte> residuals(raw.size());
  const ChunkInfo info{bits_type, {std::ssize(room_.back)}};
  pipeline.decode(info, part.rest(), skipped, residuals, room_.inner);
  for (std::size_t i = 0; i < room_.back.size(); ++i) {
    const auto z = load_be<Bits>(residuals.data() + i * sizeof(T));
    const Bits d = (z >> 1) ^ static_cast<Bits>(-static_cast<std::make_signed_t<Bits>>(z & 1));
    store_be(raw.data() + i * sizeof(T), number(ordered(room_.back[i]) + d));
  }
  if (hash_of(raw) != hash) damaged("its values are not those that were written");
}

template <typename T>
void Patch<T>::take_table(PartReader& part, std::span<T, 2> edges) {
  const auto flags = part.take<std::uint8_t>();
  if (flags > 3) damaged("edges that no patch has");
  for (std::size_t e = 0; e < 2; ++e)
    if ((flags >> e & 1) != 0) edges[e] = part.take<T>();
  if (!(edges[0] <= edges[1])) damaged("edges that nothing is between");
  const auto n = part.take<std::uint8_t>();
  for (int i = 0; i < n; ++i) room_.listed.push_back(part.take<T>());
}

template <typename T>
std::optional<double> Patch<T>::decode(std::span<const EncodedChunk> parts,
                                       const Pipeline& residuals, std::span<std::byte> raw) {
  // Details of parts that are not given count as zero.
  int level = levels_ + 1 - static_cast<int>(parts.size());
  while (level > 0 && raw.size() != size(level) * sizeof(T)) --level;
  if (raw.size() != size(level) * sizeof(T))
    throw Error(Errc::einternal, "a level of a patch is decoded into another size");
  PartReader first(parts[0].bytes);
  const Head head = take_head(first, levels_);
  if (head.kind == Kind::constant) {
    const auto value = first.take(sizeof(T));
    for (std::size_t at = 0; at < raw.size(); at += sizeof(T))
      std::memcpy(raw.data() + at, value.data(), sizeof(T));
    if (!first.empty()) damaged("a constant patch goes on");
    return head.bound;
  }
  T edges[2] = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  room_.listed.clear();
  if (head.table) take_table(first, edges);
  std::span<const std::byte> mask;
  std::optional<PartReader> last;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const int now = levels_ - static_cast<int>(p);
    PartReader part = p == 0 ? first : PartReader(parts[p].bytes);
    std::span<const std::byte> stream;
    mask = {};
    const bool last_of_exact = head.kind == Kind::exact && now == 0;
    if (!part.empty() || p == 0 || last_of_exact) {
      mask = part.take(part.take_size());
      stream = last_of_exact ? part.take(part.take_size()) : part.rest();
    }
    if (last_of_exact) last.emplace(part);
    if (p == 0) {
      decompress(stream, room_.back, size(now), shape_of(boxes_[index(now)]),
                 power(head.exponent - now));
      continue;
    }
    const Details details(boxes_[index(now)]);
    if (!stream.empty())
      decompress(stream, room_.stacked, details.size(), shape_of(details.stacked),
                 power(head.exponent - now));
    refine(now, !stream.empty(), nullptr, no_end, true);
  }
  for (int now = levels_ - static_cast<int>(parts.size()); now >= level; --now) {
    refine(now, false, nullptr, no_end, true);
    mask = {};
  }
  unscale(head.scale);
  if (last) {
    add_residuals(*last, residuals, raw);
    return head.bound;
  }
  // A valid value must not decode to a missing one. Coarser levels need no clamping: their values
  // are nobody's input.
  if (raw.size() == size(0) * sizeof(T))
    for (T& v : room_.back) v = std::clamp(v, edges[0], edges[1]);
  const auto step_aside = [&](T missing) {
    if (holds(std::span<const T>(room_.back.data(), room_.back.size()), missing))
      std::replace(room_.back.begin(), room_.back.end(), missing, next_to(missing));
  };
  if (fill_) step_aside(*fill_);
  for (const T missing : room_.listed)
    if (missing >= edges[0] && missing <= edges[1]) step_aside(missing);
  if (!mask.empty()) {
    static const auto& mask_pipeline = *new Pipeline(Pipeline::parse("zstd:3"));
    room_.mask.resize(room_.back.size());
    const auto bytes = std::as_writable_bytes(std::span(room_.mask));
    mask_pipeline.decode({Type::byte, {std::ssize(bytes)}}, mask.subspan(1),
                         std::to_integer<std::uint32_t>(mask[0]), bytes, room_.inner);
    for (std::size_t i = 0; i < room_.back.size(); ++i) {
      if (static_cast<std::size_t>(room_.mask[i]) >=
          static_cast<std::size_t>(Missing::listed) + room_.listed.size())
        damaged("a mask of what it does not know");
      if (room_.mask[i] != Missing::no)
        room_.back[i] = value_of<T>(room_.mask[i], fill(), room_.listed);
    }
  }
  copy_swapped(raw.data(), reinterpret_cast<const std::byte*>(room_.back.data()), raw.size(),
               sizeof(T));
  return head.bound;
}

class HierarchyCoder final : public LevelCoder {
 public:
  /// `cuts` is the stage that has the bound, null for exact patches.
  HierarchyCoder(int levels, std::shared_ptr<const CodecStage> cuts, Pipeline residuals)
      : levels_(levels), cuts_(std::move(cuts)), residuals_(std::move(residuals)) {}

  int levels() const override { return levels_; }
  // Noise takes as many bits in zfp's streams as in its raw form, and as many again as differences.
  Count most_bytes(const ChunkInfo& chunk) const override {
    constexpr Count of_head = 64, of_part = 32;
    Count most = of_head + chunk.bytes();
    Box box = box_of(chunk);
    for (int k = 0; k <= levels_; ++k) {
      const Details details(box);
      const auto shape = shape_of(k < levels_ ? details.stacked : box);
      most += of_part + static_cast<Count>(sizeof(double)) +
              static_cast<Count>(wavelet::elements(box)) + zfp_most_bytes(chunk.type, shape);
      box = wavelet::smooth_of(box);
    }
    return most;
  }

  void encode(const ChunkInfo& chunk, std::span<const std::byte> raw, std::span<EncodedChunk> parts,
              CodecWorkspace::State& state) const override {
    if (chunk.type == Type::float32)
      Patch<float>(chunk, levels_, state).encode(raw, cuts_.get(), residuals_, parts);
    else
      Patch<double>(chunk, levels_, state).encode(raw, cuts_.get(), residuals_, parts);
  }

  std::optional<double> decode(const ChunkInfo& chunk, std::span<const EncodedChunk> parts,
                               std::span<std::byte> raw,
                               CodecWorkspace::State& state) const override {
    if (chunk.type == Type::float32)
      return Patch<float>(chunk, levels_, state).decode(parts, residuals_, raw);
    return Patch<double>(chunk, levels_, state).decode(parts, residuals_, raw);
  }

  LevelFacts facts(std::span<const std::byte> first_part) const override {
    return hierarchy_facts(first_part, levels_);
  }

 private:
  int levels_;
  std::shared_ptr<const CodecStage> cuts_;
  Pipeline residuals_;
};

class WaveletStage final : public CodecStage {
 public:
  explicit WaveletStage(int levels) : levels_(levels) {}

  Kind kind() const override { return Kind::levels; }
  std::string text() const override { return "wavelet:" + std::to_string(levels_); }
  bool applies_to(Type type) const override { return is_floating(type); }
  // The cost of all attempts of a search, measured on two fields (docs/patches.md, "Speed").
  double encode_work() const override { return 0.1; }
  double decode_work() const override { return 0.03; }

  std::optional<std::size_t> encode(const StageInput&, ScratchBuffer&,
                                    CodecWorkspace::State&) const override {
    throw Error(Errc::einternal, "a hierarchy is made of chunks in parts");
  }
  std::size_t decode(const ChunkInfo&, std::span<const std::byte>, std::span<std::byte>,
                     CodecWorkspace::State&) const override {
    throw Error(Errc::einternal, "a hierarchy is read from chunks in parts");
  }

  std::shared_ptr<const LevelCoder> over(
      std::span<const std::shared_ptr<const CodecStage>> rest) const override {
    std::shared_ptr<const CodecStage> cuts;
    std::string residuals, all;
    for (const auto& stage : rest) all += (all.empty() ? "" : ",") + stage->text();
    for (const auto& stage : rest) {
      if (stage->lossy()) {
        if (!stage->bound(1) || rest.size() > 1)
          throw Error(Errc::einval, "patches cannot go through " + all,
                      "their codec is zfp:accuracy=X, zfp:relative=X, or one without loss: "
                      "shuffle,zstd:3");
        cuts = stage;
      } else if (stage->applies_to(Type::uint64)) {
        residuals += (residuals.empty() ? "" : ",") + stage->text();
      }
    }
    if (residuals.empty()) residuals = default_residuals;
    return std::make_shared<HierarchyCoder>(levels_, std::move(cuts), Pipeline::parse(residuals));
  }

 private:
  int levels_;
};

std::shared_ptr<const CodecStage> make_wavelet(const StageParameter& parameter) {
  return std::make_shared<WaveletStage>(parameter.whole("levels", 1, most_levels));
}

}  // namespace

LevelFacts hierarchy_facts(std::span<const std::byte> first_part, int levels) {
  PartReader part(first_part);
  const Head head = take_head(part, levels);
  LevelFacts facts;
  const bool is_near = head.kind != Kind::exact && head.error > 0;
  facts.lossy = head.kind == Kind::bounded || is_near || head.cut;
  facts.whole = head.whole;
  const double cut = head.cut.value_or(0);
  // A part that was written later has edges to its neighbours, which the low pass widens.
  facts.error = head.error + most_widened * cut;
  facts.finest_error = cut + (head.kind == Kind::exact ? 0 : head.error);
  facts.details.assign(head.details.begin(), head.details.end());
  return facts;
}

extern const CodecEntry wavelet_codec{
    80,
    {"wavelet", "levels", "A hierarchy of levels, which layout=patches makes of its chunks.", false,
     true},
    make_wavelet,
    ""};

}  // namespace forebay
