// The table behind method keys: what each key accepts and where its value goes. Used by method.cc
// alone.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "method/method.h"

namespace forebay {

/// How a key's value is read and kept.
enum class KeyKind {
  word,          ///< one of `words`, in Method::*word
  size,          ///< bytes between least and most, in Method::*size
  count,         ///< a whole number between least and most, in Method::*count
  aggregators,   ///< "auto", "N" or "N/node"
  codec,         ///< a pipeline of codec stages
  text,          ///< any, in Method::*word
  burst_switch,  ///< enable|disable, for stage burst
  off_switch,    ///< enable|disable, of which this build can only disable
  kept           ///< any text; kept for inquiry and for MPI-IO
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
  Count least = 0, most = std::numeric_limits<Count>::max();
  std::span<const std::string_view> words = {};  ///< accepted
  std::span<const std::string_view> later = {};  ///< known, but not in this build
};

std::span<const KeySpec> key_specs();
const KeySpec* find_key_spec(std::string_view key);

/// True for keys that MPI-IO implementations know; they are passed on from any source.
bool is_mpi_io_key(std::string_view key);

}  // namespace forebay
