// The methods of a group (docs/groups.md): each <method> element of a configuration is one, and
// writes a file of its own.
#pragma once

#include <cstddef>
#include <string>

#include "method/method.h"

namespace forebay {

/// Local. Returns how many methods the configuration has for a group. Errors are those of
/// choose_method().
std::size_t methods_of_group(const MethodSources& sources, const std::string& group);

/// Like choose_method() for the group's method number `which`, from 0, and no MPI_Info. A group
/// without methods has the general rules for `path`.
Method choose_group_method(const std::string& path, const MethodSources& sources,
                           const std::string& group, std::size_t which, const OwnHints& own = {});

}  // namespace forebay
