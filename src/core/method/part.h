// The parts of methods: layouts, stages, transports, containers. Each part describes itself in its
// own file, by one object:
//
//     extern const TransportEntry posix_transport{{"posix", "each rank its own", 10}, make_posix};
//
// The build finds these objects (cmake/list_parts.cmake): no list is kept by hand, but a part may
// take more (docs/internals/parts.md). The entries of a kind hold more than a Part, such as a
// factory; their types are in layout/classic_part.h, stage/stage.h, transport/transport.h and
// container/container.h. Codecs are found in the same way (codec/codec_stage.h).
//
// The following comes from here: the words that a key accepts, its help, the keys of a part,
// errors, docs/methods.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "method/method_keys.h"

namespace forebay {

enum class PartKind { layout, stage, transport, container };

/// What a codec makes smaller: keys of codecs apply to layouts with chunks or slabs, those of
/// chunks to the first ones.
enum class Encoded { nothing, chunks, slabs };

struct Part {
  const char* name;  ///< the value of the key `layout`, `stage`, `transport`, `container`
  const char* help;  ///< what it does; the text follows "name: "
  int order;         ///< position among its kind in lists for users; smaller is earlier
  std::span<const KeySpec> keys = {};   ///< its own
  FrontEnds front_ends = netcdf_files;  ///< that honour it
  // Layouts only: which keys of several layouts they take (KeySpec::needs).
  Encoded encoded = Encoded::nothing;
  /// What must hold so that its values lie in data files, "container=directory"; empty: they always
  /// may; null: they never do.
  const char* data_files = nullptr;
};

/// All parts of a kind, in order.
const std::vector<const Part*>& parts(PartKind kind);

/// The names of a kind's parts, with `between` between them.
std::string part_names(PartKind kind, std::string_view between);

/// The part of that name, of its own type (LayoutEntry, …), or null. A method only names existing
/// parts.
const Part* find_part(PartKind kind, std::string_view name);
template <typename Entry>
const Entry* find_part(std::string_view name) {
  return static_cast<const Entry*>(find_part(Entry::kind, name));
}

/// Adds a part that the build does not list, from a test or from a program that uses the library's
/// internals. For static objects only: it must exist before the first method is chosen.
class AddedPart {
 public:
  template <typename Entry>
  explicit AddedPart(const Entry& entry) {
    add(Entry::kind, entry);
  }

 private:
  static void add(PartKind kind, const Part& part);
};

/// The library's own parts. Generated.
std::span<const Part* const> built_in_parts(PartKind kind);

/// What a wing brings that this build leaves out (FOREBAY_WINGS): a value of the key `layout`,
/// `stage`, `transport` or `container`, or a key, whose `value` is "".
struct AbsentName {
  std::string_view key, value, wing;
};

/// All such names. Generated.
std::span<const AbsentName> absent_names();

/// Errc::enotbuilt, which tells the wing to build, if the key, or this value of it, is absent.
/// `where` begins the message.
std::optional<Error> absent(std::string_view key, std::string_view value, const std::string& where);

}  // namespace forebay
