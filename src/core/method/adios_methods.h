// Methods by the names that ADIOS 1 gave them: <method group="restart" method="MPI"/>. Each stands
// for keys, and keys beside it take precedence (docs/groups.md, "Methods").
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace forebay {

/// Local. Returns the keys and values that a name stands for. Case does not matter.
/// Errc::enotsupport: a method of ADIOS that has nothing like it here; Errc::einval: no such name.
/// Both tell what would be accepted; `where` begins the message.
std::vector<std::pair<std::string, std::string>> keys_of_adios_method(const std::string& name,
                                                                      const std::string& where);

}  // namespace forebay
