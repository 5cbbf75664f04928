// The parts that methods are composed of: layouts, stages, transports, containers. Each of them
// describes itself in its own file, by one object:
//
//     extern const TransportEntry posix_transport{{"posix", "each rank its own", 10}, make_posix};
//
// The build finds these objects (cmake/list_parts.cmake) and lists them in one generated source, so
// that no other file changes with a new part. What the entries of a kind hold beside a Part, a
// factory above all, stands where that kind lives: layout/classic_part.h, stage/stage.h,
// transport/transport.h, container/container.h. Codecs are found in the same way (codec/stage.h).
//
// What people are told of parts comes from here: the words that a key accepts, its help, the keys
// that a part brings along, errors, docs/methods.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "method/method_keys.h"

namespace forebay {

enum class PartKind { layout, stage, transport, container };

struct Part {
  const char* name;  ///< the value of the key `layout`, `stage`, `transport`, `container`
  const char* help;  ///< what it does, in words that follow "name: "
  int order;         ///< among its kind, where people are told of all; smaller is earlier
  std::span<const KeySpec> keys = {};  ///< its own
};

/// All parts of a kind, in order.
const std::vector<const Part*>& parts(PartKind kind);

/// The names of a kind's parts, with `between` between them.
std::string part_names(PartKind kind, std::string_view between);

/// The part of that name, as what it is (LayoutEntry, …), or null. A method names only parts that
/// there are.
const Part* find_part(PartKind kind, std::string_view name);
template <typename Entry>
const Entry* find_part(std::string_view name) {
  return static_cast<const Entry*>(find_part(Entry::kind, name));
}

/// A part that the build does not list: of a test, or of a program that links the library's inside.
/// Static objects only: it has to be there before the first method is chosen.
class AddedPart {
 public:
  template <typename Entry>
  explicit AddedPart(const Entry& entry) {
    add(Entry::kind, entry);
  }

 private:
  static void add(PartKind kind, const Part& part);
};

/// Those of the library. Generated.
std::span<const Part* const> built_in_parts(PartKind kind);

}  // namespace forebay
