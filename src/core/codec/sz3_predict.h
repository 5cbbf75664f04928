// SZ3's predictors, and a quantiser that turns an array into prediction residues and back.
//
// Only sz3.cc includes this header, and only if SZ3's headers are available. SZ3 composes a
// compressor of replaceable parts. Its predictors are used as they are. The parts that read and
// write its byte streams are replaced by parts that keep the quantised differences in a Residue.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// SZ3's headers require the headers above to be included first.
#include <SZ3/compressor/SZInterpolationCompressor.hpp>
#include <SZ3/frontend/SZGeneralFrontend.hpp>
#include <SZ3/predictor/LorenzoPredictor.hpp>

namespace forebay::sz3 {

/// Interpolation, or the Lorenzo predictor.
enum class Predictor : std::uint8_t { linear = 0, cubic = 1, lorenzo = 2 };

struct Choice {
  Predictor predictor = Predictor::cubic;
  bool reversed = false;  // interpolate along the slowest dimension first, not last
};

/// The quantised prediction errors of an array, in the predictor's order of elements. Codes: 0 for
/// an outlier, else 1 + zigzag(q).
template <typename T>
struct Residue {
  std::vector<int> codes;
  std::vector<T> outliers;
  std::size_t next_outlier = 0;  // while decoding
};

inline int zigzag(int q) { return q < 0 ? -2 * q - 1 : 2 * q; }
inline int unzigzag(int code) { return (code & 1) != 0 ? -(code + 1) / 2 : code / 2; }

// The three parts that SZ3 lets one replace. They keep their data in a Residue, so that nothing
// goes through SZ3's byte streams.
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

  // NaN and infinities fail each of these comparisons, so they become outliers.
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

  // There are as many outliers as codes of 0: decode() has checked that.
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

// Gives the interpolation its header: the shape and its settings.
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

// Overwrites the values with the decoded ones.
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
/// that recover() will give, each within `bound` of the original (`bound` > 0, and twice it is
/// finite). std::bad_alloc.

template <typename T>
Residue<T> predict(const std::vector<std::size_t>& shape, const Choice& choice, double bound,
                   T* values) {
  if (shape.size() == 1) return predict_in<T, 1>(shape, choice, bound, values);
  if (shape.size() == 2) return predict_in<T, 2>(shape, choice, bound, values);
  if (shape.size() == 3) return predict_in<T, 3>(shape, choice, bound, values);
  return predict_in<T, 4>(shape, choice, bound, values);
}

/// Restores the values from a residue with as many codes as elements, and as many outliers as codes
/// of 0. The residue is consumed.
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
