// Random datatypes, and values of them: how they are made, and what is compared of them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "handles.h"
#include "support/rng.h"

namespace forebay_test {

// A type for a file. With `serial`, also such as parallel HDF5 does not write: variable length and
// references.
Id random_type(Rng& rng, bool serial);

// A type in memory that values of `file_type` convert from and to: mostly the native one; another
// number for numbers; some of the members of a compound.
Id random_memory_type(Rng& rng, hid_t file_type);

// Whether values of `type` hold memory or handles of their own.
bool holds_memory(hid_t type);

// Elements in memory of one type, which it releases in the end.
class Values {
 public:
  // `count` elements, all bytes zero.
  Values(hid_t type, size_t count);
  ~Values();
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  // Gives all elements random values. Objects that references point to are those of `paths` in
  // `file`; if there are none, references stay null. Returns the paths that were taken.
  std::set<std::string> fill(Rng& rng, hid_t file, const std::vector<std::string>& paths);
  // Every element in a form that is the same for equal values, whatever their memory holds beside
  // them: hexadecimal digits, lengths of sequences, names of objects.
  std::string text() const;
  void* data() { return bytes_.data(); }
  // After a read that failed, elements may be neither old nor new, and nothing can be released.
  void forget() { count_ = 0; }
  // Changes one bit of every element, which must not hold memory.
  void spoil();

 private:
  Id type_;
  size_t count_;
  size_t width_;
  std::vector<std::byte> bytes_;
};

// Class, size, order, members: all that makes two types different.
std::string type_text(hid_t type);

}  // namespace forebay_test
