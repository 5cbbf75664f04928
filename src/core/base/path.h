// Paths as programs give them, and absolute paths.
#pragma once

#include <string>

namespace forebay {

/// Returns the path without a ROMIO file system prefix ("ufs:", "lustre:", …).
std::string strip_prefix(const std::string& path);

/// Local. Returns the current folder; empty if it has no name any more.
std::string current_folder();

/// Local. Returns the path without a prefix and from the root, so that it stays valid when the
/// program changes its folder. Links and dots stay. A relative path begins at `folder`.
std::string absolute_path(const std::string& path, const std::string& folder = current_folder());

}  // namespace forebay
