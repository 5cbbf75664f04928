// The hidden links and attributes of a log file, and their positions in an index.
//
// Forebay's own objects are in the root group and have names with the reserved prefix. Its
// attributes, on any object, have such names, too. The application does not see them: counts leave
// them out, and an index (n-th by name, n-th by creation order) counts only what is visible. With
// the hidden positions h0 < h1 < … of an index, visible position v is raw position v + k, where k
// is the least number with h(k) > v + k.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/connector/errors.h"
#include "hdf5/connector/under.h"

namespace forebay::vol {

/// Positions of the hidden entries of one index, ascending.
class HiddenPositions {
 public:
  HiddenPositions() = default;
  HiddenPositions(std::vector<hsize_t> raw, std::vector<std::int64_t> numbers)
      : raw_(std::move(raw)), numbers_(std::move(numbers)) {}
  hsize_t count() const noexcept { return raw_.size(); }
  hsize_t to_raw(hsize_t visible) const noexcept;
  /// Returns how many visible entries are before raw position `raw`.
  hsize_t to_visible(hsize_t raw) const noexcept;
  /// Returns a creation-order number as it would be without the hidden entries.
  std::int64_t visible_number(std::int64_t raw) const noexcept;

 private:
  std::vector<hsize_t> raw_;
  std::vector<std::int64_t> numbers_;  // creation-order numbers, if they are kept
};

/// Returns the hidden attributes of the object at `location` (by itself or by name) in the given
/// index. Throws UnderFailed.
HiddenPositions hidden_attributes(const UnderObject& at, const H5VL_loc_params_t& location,
                                  H5_index_t index, H5_iter_order_t order, hid_t dxpl);

/// Removes hidden links and attributes from a copy of a root group, which is at `location`. Throws
/// UnderFailed.
void remove_hidden(const UnderObject& at, const H5VL_loc_params_t& location, hid_t dxpl);

/// The hidden links of the root group of one file. One iteration finds the positions of each index;
/// they are kept until links change.
class HiddenLinks {
 public:
  /// For the file in which `object` is open. Throws UnderFailed.
  explicit HiddenLinks(const UnderObject& object);

  /// Returns whether the object at `location` is the root group.
  bool is_root(const UnderObject& at, const H5VL_loc_params_t& location, hid_t dxpl) const;

  /// Returns the hidden links of the group at `location`: none unless it is the root group. Throws
  /// UnderFailed.
  HiddenPositions positions_if_root(const UnderObject& at, const H5VL_loc_params_t& location,
                                    H5_index_t index, H5_iter_order_t order, hid_t dxpl);

  /// To be called when links may have changed.
  void forget() noexcept;

 private:
  struct Identity {
    unsigned long file;
    H5O_token_t token;
  };
  static std::optional<Identity> identity(const UnderObject& at, const H5VL_loc_params_t& location,
                                          hid_t dxpl);
  Identity root_;
  std::array<std::optional<HiddenPositions>, std::size_t{H5_INDEX_N} * std::size_t{H5_ITER_N}>
      known_;
};

}  // namespace forebay::vol
