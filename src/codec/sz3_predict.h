// SZ3's predictors, and a quantiser for them, between an array and what prediction leaves of it.
//
// Only sz3.cc includes this, and only where SZ3's headers are. SZ3 composes a compressor of parts
// that may be replaced. Its predictors stay; the parts that read and write its byte streams are
// replaced by such as keep the quantised differences in a Residue.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// SZ3's headers need those above to stand before them.
#include <SZ3/compressor/SZInterpolationCompressor.hpp>
#include <SZ3/frontend/SZGeneralFrontend.hpp>
#include <SZ3/predictor/LorenzoPredictor.hpp>

namespace forebay::sz3 {

/// Interpolation, or Lorenzo's predictor.
enum class Predictor : std::uint8_t { linear = 0, cubic = 1, lorenzo = 2 };

struct Choice {
  Predictor predictor = Predictor::cubic;
  bool reversed = false;  // interpolate along the slowest dimension first, or last
};

/// What prediction leaves of an array, in the order in which the predictor takes the elements.
/// Codes: 0 for an outlier, else 1 + zigzag(q).
template <typename T>
struct Residue {
  std::vector<int> codes;
  std::vector<T> outliers;
  std::size_t next_outlier = 0;  // while decoding
};

inline int zigzag(int q) { return q < 0 ? -2 * q - 1 : 2 * q; }
inline int unzigzag(int code) { return (code & 1) != 0 ? -(code + 1) / 2 : code / 2; }

// The three parts that SZ3 lets one choose. They keep what they get in a Residue, so that nothing
// passes through SZ3's byte streams.
template <typename T>
class Quantizer final : public SZ::concepts::QuantizerInterface<T> {
 public:
  Quantizer(Residue<T>& residue, double bound) : residue_(&residue) { set_eb(bound); }

  double get_eb() const { return bound_; }
  void set_eb(double bound) {
    bound_ = bound;
    step_ = 2 * bound;
    per_step_ = 1 / step_;
  }

  int quantize(T value, T predicted) override { return quantize_and_overwrite(value, predicted); }

  // Written so that NaN and infinities fail each comparison and become outliers.
  int quantize_and_overwrite(T& value, T predicted) override {
    constexpr double most = 32767;
    const double scaled = (static_cast<double>(value) - static_cast<double>(predicted)) * per_step_;
    if (std::fabs(scaled) < most - 1) {
      const int q = static_cast<int>(scaled + (scaled < 0 ? -0.5 : 0.5));
      const T decoded = stepped(predicted, q);
      if (std::fabs(static_cast<double>(decoded) - static_cast<double>(value)) <= bound_) {
        value = decoded;
        return 1 + zigzag(q);
      }
    }
    residue_->outliers.push_back(value);
    return 0;
  }

  // There are as many outliers as codes of 0: decode() has counted.
  T recover(T predicted, int code) override {
    return code == 0 ? residue_->outliers[residue_->next_outlier++]
                     : stepped(predicted, unzigzag(code - 1));
  }

  std::size_t size_est() const { return 0; }
  int get_radius() const { return 0; }
  void clear() override {}
  void save(SZ::uchar*&) const override {}
  void load(const SZ::uchar*&, std::size_t&) override {}
  void precompress_data() override {}
  void predecompress_data() override {}
  void postcompress_data() override {}
  void postdecompress_data() override {}

 private:
  T stepped(T predicted, int q) const {
    return static_cast<T>(static_cast<double>(predicted) + q * step_);
  }

  Residue<T>* residue_;
  double bound_ = 0, step_ = 0, per_step_ = 0;
};

class Codes final : public SZ::concepts::EncoderInterface<int> {
 public:
  explicit Codes(std::vector<int>& codes) : codes_(&codes) {}
  void preprocess_encode(const std::vector<int>& codes, int) override { *codes_ = codes; }
  std::size_t encode(const std::vector<int>&, SZ::uchar*&) override { return 0; }
  void postprocess_encode() override {}
  void preprocess_decode() override {}
  std::vector<int> decode(const SZ::uchar*&, std::size_t) override { return std::move(*codes_); }
  void postprocess_decode() override {}
  SZ::uint save(SZ::uchar*&) override { return 0; }
  void load(const SZ::uchar*&, std::size_t&) override {}

 private:
  std::vector<int>* codes_;
};

// Gives the interpolation what it reads before the codes: the shape and its settings.
class Settings final : public SZ::concepts::LosslessInterface {
 public:
  explicit Settings(const SZ::Config& config) : config_(&config) {}
  void postcompress_data(SZ::uchar* data) override { delete[] data; }
  void postdecompress_data(SZ::uchar* data) override { delete[] data; }
  SZ::uchar* compress(SZ::uchar*, std::size_t, std::size_t& size) override {
    size = 0;
    return nullptr;
  }
  SZ::uchar* decompress(const SZ::uchar*, std::size_t& size) override {
    const auto& dims = config_->dims;
    size = dims.size() * sizeof(std::size_t) + sizeof(SZ::uint) + 2 * sizeof(int);
    auto* data = new SZ::uchar[size];
    SZ::uchar* at = data;
    SZ::write(dims.data(), dims.size(), at);
    SZ::write(static_cast<SZ::uint>(config_->interpBlockSize), at);
    SZ::write(static_cast<int>(config_->interpAlgo), at);
    SZ::write(static_cast<int>(config_->interpDirection), at);
    return data;
  }

 private:
  const SZ::Config* config_;
};

template <SZ::uint N>
SZ::Config config_of(const std::vector<std::size_t>& shape, const Choice& choice) {
  SZ::Config config;
  config.setDims(shape.begin(), shape.end());
  config.blockSize = N == 1 ? 128 : N == 2 ? 16 : 6;
  config.interpAlgo =
      choice.predictor == Predictor::linear ? SZ::INTERP_ALGO_LINEAR : SZ::INTERP_ALGO_CUBIC;
  constexpr std::array<std::uint8_t, 5> orders{1, 1, 2, 6, 24};
  config.interpDirection = choice.reversed ? orders[N] - 1 : 0;
  config.absErrorBound = 0;  // only used to compare predictors
  return config;
}

template <typename T, SZ::uint N>
auto interpolation(const SZ::Config& config, Residue<T>& residue, double bound) {
  return SZ::SZInterpolationCompressor<T, N, Quantizer<T>, Codes, Settings>(
      Quantizer<T>(residue, bound), Codes(residue.codes), Settings(config));
}

template <typename T, SZ::uint N>
auto lorenzo(const SZ::Config& config, Residue<T>& residue, double bound) {
  return SZ::make_sz_general_frontend<T, N>(config, SZ::LorenzoPredictor<T, N, 1>(bound),
                                            Quantizer<T>(residue, bound));
}

// Overwrites the values with those that decoding will give.
template <typename T, SZ::uint N>
Residue<T> predict_in(const std::vector<std::size_t>& shape, const Choice& choice, double bound,
                      T* values) {
  Residue<T> residue;
  const SZ::Config config = config_of<N>(shape, choice);
  if (choice.predictor == Predictor::lorenzo) {
    residue.codes = lorenzo<T, N>(config, residue, bound).compress(values);
  } else {
    std::size_t size = 0;
    interpolation<T, N>(config, residue, bound).compress(config, values, size);
  }
  return residue;
}

template <typename T, SZ::uint N>
void recover_in(const std::vector<std::size_t>& shape, const Choice& choice, double bound,
                Residue<T>& residue, T* values) {
  const SZ::Config config = config_of<N>(shape, choice);
  if (choice.predictor == Predictor::lorenzo)
    lorenzo<T, N>(config, residue, bound).decompress(residue.codes, values);
  else
    interpolation<T, N>(config, residue, bound).decompress(nullptr, std::size_t{0}, values);
}

constexpr std::size_t most_dimensions = 4;

/// Predicts an array of one to four dimensions, slowest first. Overwrites the values with those
/// that recover() will give, each within the bound (> 0, twice it finite) of what it was.
/// std::bad_alloc.

template <typename T>
Residue<T> predict(const std::vector<std::size_t>& shape, const Choice& choice, double bound,
                   T* values) {
  if (shape.size() == 1) return predict_in<T, 1>(shape, choice, bound, values);
  if (shape.size() == 2) return predict_in<T, 2>(shape, choice, bound, values);
  if (shape.size() == 3) return predict_in<T, 3>(shape, choice, bound, values);
  return predict_in<T, 4>(shape, choice, bound, values);
}

/// The values of a residue: as many codes as elements, as many outliers as codes of 0. Uses it up.
template <typename T>
void recover(const std::vector<std::size_t>& shape, const Choice& choice, double bound,
             Residue<T>& residue, T* values) {
  residue.next_outlier = 0;
  if (shape.size() == 1) return recover_in<T, 1>(shape, choice, bound, residue, values);
  if (shape.size() == 2) return recover_in<T, 2>(shape, choice, bound, residue, values);
  if (shape.size() == 3) return recover_in<T, 3>(shape, choice, bound, residue, values);
  return recover_in<T, 4>(shape, choice, bound, residue, values);
}

}  // namespace forebay::sz3
