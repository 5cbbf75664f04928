// Files in Forebay's own folders, and stale files that an earlier job left there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// Returns whether a name is a number, as for most files in such folders.
inline bool is_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The first words of data files ("FBDF") and of state slots ("FBDS").
constexpr std::uint32_t data_file_word = 0x4642'4446, state_word = 0x4642'4453;

/// The number of slots of a state, one behind another, and the bytes of each.
constexpr int state_slots = 3, state_slot_bytes = 512;

/// How a file begins: with the expected word (`data_file`); as a kill or power failure leaves it,
/// short and empty or zeros (`torn`); otherwise (`foreign`, may begin with zeros).
enum class Beginning { data_file, torn, foreign };
constexpr std::size_t most_torn = 16384;                    ///< bytes of the largest torn file
constexpr std::size_t enough_of_beginning = most_torn + 1;  ///< bytes that suffice to decide
/// Classifies a file by its first bytes: `enough_of_beginning` of them, or all if there are fewer.
Beginning beginning_of(std::span<const std::byte> bytes, std::uint32_t word = data_file_word);

/// Calls f(descriptor of the folder, name, whether it is a regular file) for each entry of a
/// folder. Returns whether the folder can be read.
using VisitEntry = std::function<void(int at, const char* name, bool is_regular)>;
bool each_in_folder(const std::string& folder, const VisitEntry& f);

/// Removes the regular files of the folder whose names are `ours`, and the folder if it is empty
/// then. Files that cannot be removed stay, also if memory runs out.
void remove_stale_files(const std::string& folder,
                        const std::function<bool(std::string_view name)>& ours) noexcept;

}  // namespace forebay
