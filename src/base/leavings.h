// What lies in a folder of Forebay's own, and what an earlier job left there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// Whether a name is a number, as most files in such folders are called.
inline bool is_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "FBDF", which data files begin with, and "FBDS", as slots of a state do.
constexpr std::uint32_t data_file_word = 0x4642'4446, state_word = 0x4642'4453;

/// Slots of a state, one behind the other, of so many bytes each.
constexpr int state_slots = 3, state_slot_bytes = 512;

/// What a file begins with: that word; what a kill or a power failure leaves in its place, nothing
/// or zeros, little more than definitions take; something else, which may begin with zeros, too.
enum class Beginning { data_file, torn, foreign };
constexpr std::size_t most_torn = 16384;                    ///< bytes of a file that count as torn
constexpr std::size_t enough_of_beginning = most_torn + 1;  ///< bytes that tell
/// Of the first bytes of a file, of which so many are given, or all.
Beginning beginning_of(std::span<const std::byte> bytes, std::uint32_t word = data_file_word);

/// Calls f(folder's descriptor, name, whether it is a regular file) for all that is in a folder.
/// Returns whether that can be read.
using VisitEntry = std::function<void(int at, const char* name, bool is_regular)>;
bool each_in_folder(const std::string& folder, const VisitEntry& f);

/// Removes the regular files of the folder whose names are `ours`, then the folder, unless more is
/// in it. What cannot be removed stays, also where memory runs out.
void remove_leavings(const std::string& folder,
                     const std::function<bool(std::string_view name)>& ours) noexcept;

}  // namespace forebay
