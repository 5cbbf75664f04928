// The table behind method keys: what each key accepts and where its value goes. Keys of one part
// stand in that part's file (method/part.h), those that several use, or none, in method_keys.cc.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "method/method.h"

namespace forebay {

/// How a key's value is read and kept.
enum class KeyKind {
  // The first three, without a member of Method, are kept as text in Method::of_parts.
  word,    ///< one of `words`, in Method::*word
  size,    ///< bytes between least and most, in Method::*size
  count,   ///< a whole number between least and most, in Method::*count
  codec,   ///< a pipeline of codec stages
  text,    ///< any, in Method::*word
  choice,  ///< enable|disable: whether Method::*word is `chosen`, else its default
  kept     ///< any text; kept for inquiry and for MPI-IO
};

/// Whom a key was made for decides how strictly hints of the API are read.
enum class KeyFamily { own, pnetcdf, mpi_io };

struct KeySpec {
  MethodKey shown;
  KeyKind kind;
  KeyFamily family;
  std::string Method::*word = nullptr;
  Count Method::*size = nullptr;
  int Method::*count = nullptr;
  int Method::*count_of_node = nullptr;  ///< instead of `count`, where "N/node" is accepted, too
  Count least = 0, most = std::numeric_limits<Count>::max();
  std::span<const std::string_view> words = {};  ///< accepted
  const char* chosen = nullptr;
};

// Keys as tables of constants: the words they refer to are constants as well.

using Words = std::span<const std::string_view>;
inline constexpr std::string_view switches[] = {"enable", "disable"};

constexpr KeySpec word_key(MethodKey shown, std::string Method::*member, Words words,
                           KeyFamily family = KeyFamily::own) {
  return {.shown = shown, .kind = KeyKind::word, .family = family, .word = member, .words = words};
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

/// That, or "N/node", in Method::*of_node.
constexpr KeySpec count_or_of_node_key(MethodKey shown, int Method::*member, int Method::*of_node) {
  KeySpec spec = count_key(shown, member, 0, std::numeric_limits<int>::max());
  spec.count_of_node = of_node;
  return spec;
}

constexpr KeySpec plain_key(MethodKey shown, KeyKind kind, KeyFamily family) {
  return {.shown = shown, .kind = kind, .family = family};
}

/// All keys: those that choose parts, those that parts bring along, those that several use.
std::span<const KeySpec> key_specs();
const KeySpec* find_key_spec(std::string_view key);

/// True for keys that MPI-IO implementations know; they are passed on from any source.
bool is_mpi_io_key(std::string_view key);

}  // namespace forebay
