// What an earlier job left in a folder of Forebay's own.
#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// Whether a name is a number, as most files in such folders are called.
inline bool is_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Removes the regular files of the folder whose names are `ours`, then the folder, unless more is
/// in it. What cannot be removed stays, also where memory runs out.
void remove_leavings(const std::string& folder, bool (*ours)(std::string_view name)) noexcept;

}  // namespace forebay
