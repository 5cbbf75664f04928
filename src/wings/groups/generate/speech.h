// Generates code in a programming language.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "method/groups.h"

namespace forebay::tools {

/// A variable of a group, in the program's code.
struct Spoken {
  const GroupVariable* variable = nullptr;
  std::string value;  ///< the program's expression for it
};

/// A box of an array to read. Its dimensions are in the order in which the language reads.
struct SpokenBox {
  std::vector<std::string> start, count;
  std::vector<std::string> divisors;  ///< if one is 0, there is no box, and reading fails
  std::optional<std::size_t> summed;  ///< the dimension whose start is a sum over lower ranks
};

/// What a program must declare, with blanks up to what is said about it.
struct Declarations {
  std::string file, step, status, comm;
};

/// Makes one piece of code, statement by statement. Generated statements do nothing if the status
/// is not 0.
class Speech {
 public:
  virtual ~Speech() = default;

  virtual bool is_name(const std::string& text) const = 0;
  virtual std::string number(Count value) const = 0;
  /// Returns a value of the program converted to 64 bits.
  virtual std::string integer(const std::string& value) const = 0;
  /// Returns whether reading takes dimensions in the order of C.
  virtual bool has_c_order() const = 0;

  /// Appends the first and last lines. `about` has the lines of a comment.
  virtual void begin(const std::vector<std::string>& about) = 0;
  virtual void end() = 0;

  virtual void size(const std::string& bytes) = 0;
  virtual void write_scalar(const Spoken& what) = 0;
  virtual void write_string(const Spoken& what) = 0;
  virtual void write_array(const Spoken& what) = 0;
  virtual void read_scalar(const Spoken& what) = 0;
  virtual void read_string(const Spoken& what) = 0;
  virtual void read_array(const Spoken& what, const SpokenBox& box) = 0;

  virtual Declarations declarations() const = 0;

  const std::string& text() const { return text_; }

 protected:
  std::string text_;
};

/// Returns whether a text has only letters, digits and "_", and begins with no digit.
bool is_identifier(std::string_view text);
/// Returns text without the end mark of C's comments.
std::string in_comment(std::string text);

std::unique_ptr<Speech> speak_c();
std::unique_ptr<Speech> speak_fortran();

}  // namespace forebay::tools
