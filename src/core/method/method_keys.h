// The table behind method keys: what each key accepts and where its value is stored. Keys may stand
// in the file of the part that has them (method/part.h); method_keys.cc has all others.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "method/front_end.h"
#include "method/method.h"

namespace forebay {

/// How a key's value is read and stored.
enum class KeyKind {
  // Values of the first three kinds and of `text` that have no member of Method are stored as text
  // in Method::of_parts.
  word,    ///< one of `words`, in Method::*word, or by `place`
  size,    ///< bytes between least and most, in Method::*size
  count,   ///< a whole number between least and most, in Method::*count
  codec,   ///< a pipeline of codec stages
  text,    ///< any, in Method::*word
  choice,  ///< enable|disable: whether Method::*word is `chosen`, else its default
  kept     ///< any text; kept for inquiry and for MPI-IO
};

/// The library that a key was made for; it determines how strictly hints of the API are read.
enum class KeyFamily { own, pnetcdf, mpi_io };

/// A member of Method that is an enumeration: its value is the place of a word among a key's.
struct PlaceOfWord {
  std::size_t (*get)(const Method&) = nullptr;
  void (*set)(Method&, std::size_t) = nullptr;
};
template <auto member>
inline constexpr PlaceOfWord place_in = {
    [](const Method& method) { return static_cast<std::size_t>(method.*member); },
    [](Method& method, std::size_t place) {
      using Value = std::remove_reference_t<decltype(method.*member)>;
      method.*member = static_cast<Value>(place);
    }};

struct KeySpec {
  MethodKey shown;
  KeyKind kind;
  KeyFamily family;
  std::string Method::*word = nullptr;
  PlaceOfWord place = {};
  Count Method::*size = nullptr;
  int Method::*count = nullptr;
  int Method::*count_of_node = nullptr;  ///< used instead of `count` for "N/node"
  Count least = 0, most = std::numeric_limits<Count>::max();
  std::span<const std::string_view> words = {};  ///< accepted
  const char* chosen = nullptr;
  FrontEnds front_ends = netcdf_files;  ///< that honour it; values that are parts have their own
  /// What must hold for a netCDF file so that the key has an effect, "layout=canonical|chunked and
  /// file=opened"; null: nothing (method/effect.h). In key_specs(), words in braces are replaced by
  /// what the layouts of this build say of themselves (Part).
  const char* needs = nullptr;

  constexpr KeySpec honoured_by(FrontEnds those) const {
    KeySpec spec = *this;
    spec.front_ends = those;
    return spec;
  }
  constexpr KeySpec with(const char* condition) const {
    KeySpec spec = *this;
    spec.needs = condition;
    return spec;
  }
};

// Functions for tables of constants; the words must be constants as well.

using Words = std::span<const std::string_view>;
inline constexpr std::string_view switches[] = {"enable", "disable"};
inline constexpr const char* chunk_layouts = "{chunks}";
inline constexpr const char* encoded_layouts = "{encoded}";
inline constexpr const char* aggregated_windows = "transport=auto|aggregated and file=in windows";
/// The condition for keys that MPI-IO gets, too.
inline constexpr const char* collective_buffers =
    "transport=collective or transport=auto|aggregated and file=in windows";
inline constexpr const char* bundled_files = "file=in a bundle";
inline constexpr const char* files_of_data = "{data files}";

constexpr KeySpec word_key(MethodKey shown, std::string Method::*member, Words words,
                           KeyFamily family = KeyFamily::own) {
  return {.shown = shown, .kind = KeyKind::word, .family = family, .word = member, .words = words};
}

constexpr KeySpec word_key(MethodKey shown, PlaceOfWord place, Words words,
                           KeyFamily family = KeyFamily::own) {
  return {.shown = shown, .kind = KeyKind::word, .family = family, .place = place, .words = words};
}

/// Bytes.
constexpr KeySpec size_key(MethodKey shown, Count Method::*member, Count least,
                           Count most = std::numeric_limits<Count>::max(),
                           KeyFamily family = KeyFamily::own) {
  return {.shown = shown,
          .kind = KeyKind::size,
          .family = family,
          .size = member,
          .least = least,
          .most = most};
}

constexpr KeySpec count_key(MethodKey shown, int Method::*member, Count least, Count most,
                            KeyFamily family = KeyFamily::own) {
  return {.shown = shown,
          .kind = KeyKind::count,
          .family = family,
          .count = member,
          .least = least,
          .most = most};
}

/// Accepts also "N/node", in Method::*of_node.
constexpr KeySpec count_or_of_node_key(MethodKey shown, int Method::*member, int Method::*of_node) {
  KeySpec spec = count_key(shown, member, 0, std::numeric_limits<int>::max());
  spec.count_of_node = of_node;
  return spec;
}

constexpr KeySpec plain_key(MethodKey shown, KeyKind kind, KeyFamily family) {
  return {.shown = shown, .kind = kind, .family = family};
}

/// All keys: those that choose parts, those of parts, and the common ones.
std::span<const KeySpec> key_specs();
const KeySpec* find_key_spec(std::string_view key);

/// Sets a key to one of its words.
void put_word(Method& method, const KeySpec& key, std::string_view word);

/// True for keys of MPI-IO implementations; they are passed on from any source.
bool is_mpi_io_key(std::string_view key);

}  // namespace forebay
