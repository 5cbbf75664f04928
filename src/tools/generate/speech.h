// How a programming language says what generated code does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "method/groups.h"

namespace forebay::tools {

/// One variable of a group, as code in the language.
struct Spoken {
  const GroupVariable* variable = nullptr;
  std::string value;  ///< what the program calls it
};

/// A box of an array to be read, in the order of dimensions that reading has in the language.
struct SpokenBox {
  std::vector<std::string> start, count;
  std::vector<std::string> divisors;  ///< a box whose list has a 0 is none: reading refuses it
  std::optional<std::size_t> summed;  ///< the dimension whose start is the sum of the ranks below
};

/// Makes one piece of code, statement by statement. Each does nothing where the status is not 0.
class Speech {
 public:
  virtual ~Speech() = default;

  virtual bool is_name(const std::string& text) const = 0;
  virtual std::string number(Count value) const = 0;
  /// A value of the program in 64 bits.
  virtual std::string integer(const std::string& value) const = 0;
  /// Are lists that reading is given in the order that C has?
  virtual bool has_c_order() const = 0;

  /// The first and last lines; `about`: lines of a comment.
  virtual void begin(const std::vector<std::string>& about) = 0;
  virtual void end() = 0;

  virtual void size(const std::string& bytes) = 0;
  virtual void write_scalar(const Spoken& what) = 0;
  virtual void write_string(const Spoken& what) = 0;
  virtual void write_array(const Spoken& what) = 0;
  virtual void read_scalar(const Spoken& what) = 0;
  virtual void read_string(const Spoken& what) = 0;
  virtual void read_array(const Spoken& what, const SpokenBox& box) = 0;

  /// What the program has to declare for it.
  virtual std::vector<std::string> needs_to_write() const = 0;
  virtual std::vector<std::string> needs_to_read(bool sums) const = 0;

  const std::string& text() const { return text_; }

 protected:
  std::string text_;
};

/// A comment of C may not end before its end.
std::string in_comment(std::string text);

std::unique_ptr<Speech> speak_c();
std::unique_ptr<Speech> speak_fortran();

}  // namespace forebay::tools
