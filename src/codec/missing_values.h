// Elements that stand for no number, in arrays that are transformed and cut off: they are replaced
// by values that fit their surroundings, and a mask tells where they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/wavelet.h"

namespace forebay {

/// What an element is.
enum class Missing : std::uint8_t { no, fill, not_a_number, plus_infinity, minus_infinity };

/// Marks the elements that are the fill value (its bits; null: there is none) or not finite.
/// Returns how many those are.
template <typename T>
std::size_t find_missing(std::span<const T> values, const T* fill, std::vector<Missing>& mask);

/// Puts averages of the nearest elements that are there in place of those that are missing; zero
/// where none is.
template <typename T>
void fill_in(std::span<T> values, const wavelet::Box& box, std::span<const Missing> mask);

/// The mask one level down: an element is missing where all are that it stands for.
std::vector<Missing> coarser(std::span<const Missing> mask, const wavelet::Box& box);

/// What stands for a missing element. The fill value's bits are kept; a number that is none is the
/// quiet one.
template <typename T>
T value_of(Missing missing, const T* fill);

}  // namespace forebay
