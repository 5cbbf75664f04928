#include "groups/generate/group_code.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/text_table.h"
#include "base/words.h"
#include "groups/generate/speech.h"

namespace forebay::tools {
namespace {

std::unique_ptr<Speech> speak(Language language) {
  return language == Language::c ? speak_c() : speak_fortran();
}

bool is_string(const GroupVariable& v) { return v.type == GroupType::string; }
bool is_scalar(const GroupVariable& v) { return v.dimensions.empty(); }

// Generated lines cannot contain control characters.
void refuse_control_characters(const std::string& text, const std::string& what) {
  if (std::ranges::all_of(
          text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; }))
    return;
  throw Error(Errc::einval, what + " has a control character: " + printable(text),
              "code cannot be generated for it; take it out");
}

// The prefix is reserved for names in generated code and for the library's functions.
void refuse_names_of_the_library(const GroupVariable& v, Language language) {
  std::string text = v.gwrite.empty() ? v.name : v.gwrite;
  if (language == Language::fortran) text = lower_case(text);
  const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  constexpr std::string_view prefix = "forebay_";
  for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos; at += prefix.size())
    if (at == 0 || !in_name(static_cast<unsigned char>(text[at - 1])))
      throw Error(Errc::einval,
                  "variable " + v.name + ": names that begin with forebay_ are the library's",
                  "give it another name in the program, and say so by gwrite=\"...\"");
}

class Generator {
 public:
  Generator(const GroupDefinition& group, Language language) : group_(group), language_(language) {
    refuse_control_characters(group.name, "the name of the group");
    for (const GroupVariable& v : group.variables) {
      refuse_control_characters(v.name, "the name of variable " + printable(v.name));
      refuse_control_characters(v.gwrite, "gwrite of variable " + v.name);
      refuse_names_of_the_library(v, language);
      for (const auto* list : {&v.dimensions, &v.global, &v.offsets})
        for (const Expression& expression : *list)
          for (const std::string& name : expression.names()) named_.insert(name);
    }
  }

  std::string write() {
    begin("Writes what this rank has in a step of group ",
          {declared_.file + "that is open for writing", status()});
    speech_->size(size());
    for_each(is_scalar, [&](const GroupVariable& v) {
      if (is_string(v))
        speech_->write_string(spoken(v));
      else
        speech_->write_scalar(spoken(v));
    });
    for_each(std::not_fn(is_scalar),
             [&](const GroupVariable& v) { speech_->write_array(spoken(v)); });
    return end();
  }

  std::string read() {
    const bool sums = std::ranges::any_of(
        group_.variables, [](const GroupVariable& v) { return !v.is_histogram && is_summed(v); });
    std::vector<std::string> needs{declared_.file + "that is open for reading",
                                   declared_.step + "of the file, from 0", status()};
    if (sums) needs.push_back(declared_.comm);
    begin("Reads this rank's share of a step of group ", needs, box_names());
    for_each(is_scalar, [&](const GroupVariable& v) {
      if (named_.contains(v.name)) return;
      if (is_string(v))
        speech_->read_string(spoken(v));
      else
        speech_->read_scalar(spoken(v));
    });
    for_each(std::not_fn(is_scalar),
             [&](const GroupVariable& v) { speech_->read_array(spoken(v), box_of(v)); });
    return end();
  }

 private:
  static bool is_summed(const GroupVariable& v) { return !is_scalar(v) && v.global.empty(); }

  std::string status() const {
    return declared_.status + "0, or what went wrong before; then nothing is done";
  }
  void begin(const std::string& what, const std::vector<std::string>& needs,
             const std::vector<std::string>& more = {}) {
    std::vector<std::string> about = {
        what + in_comment(group_.name) + ". Made by `forebay generate`: change the XML instead.",
        "To be included in a program that has, beside the variables,"};
    for (const std::string& need : needs) about.push_back("  " + need);
    about.insert(about.end(), more.begin(), more.end());
    speech_->begin(about);
  }
  std::string end() {
    speech_->end();
    std::string text = speech_->text();
    speech_ = speak(language_);
    return text;
  }

  // Lines about the names that select the box to read.
  std::vector<std::string> box_names() const {
    if (named_.empty()) return {};
    return {"and has set, as they say which box is read: " +
            joined(named_, ", ",
                   [this](const std::string& name) { return in_comment(spoken_name(name)); })};
  }

  void for_each(const std::function<bool(const GroupVariable&)>& which,
                const std::function<void(const GroupVariable&)>& f) const {
    for (const GroupVariable& v : group_.variables)
      if (!v.is_histogram && which(v)) f(v);
  }

  std::string spoken_name(const std::string& name) const {
    return spoken(*group_.find(name)).value;
  }
  Spoken spoken(const GroupVariable& v) const {
    if (!v.gwrite.empty()) return {&v, v.gwrite};
    if (speech_->is_name(v.name)) return {&v, v.name};
    throw Error(Errc::einval,
                "group " + group_.name + ": a program cannot have a variable called " + v.name,
                "say by gwrite=\"...\" what it calls it");
  }

  std::string spoken(const Expression& expression) const {
    return expression.printed(
        [&](Count n) { return speech_->number(n); },
        [&](const std::string& name) { return speech_->integer(spoken_name(name)); });
  }

  // Returns the divisors. Dividing by 0 is an error in the library, but would kill a program.
  static std::vector<Expression> divisors_of(const GroupVariable& v) {
    std::vector<Expression> all;
    for (const auto* list : {&v.dimensions, &v.offsets})
      for (const Expression& expression : *list)
        for (Expression& divisor : expression.divisors()) all.push_back(std::move(divisor));
    return all;
  }

  // Returns the group's size, which need not be exact. Strings are few bytes and have no declared
  // length, so they are left out.
  std::string size() const {
    std::string text;
    for (const GroupVariable& v : group_.variables) {
      if (is_string(v) || !divisors_of(v).empty()) continue;
      if (!text.empty()) text += " + ";
      text += speech_->number(size_of(v.type));
      for (const Expression& dimension : v.dimensions) text += " * " + spoken(dimension);
    }
    return text.empty() ? speech_->number(0) : text;
  }

  // Arrays of single ranks follow one another along the slowest dimension.
  SpokenBox box_of(const GroupVariable& v) const {
    SpokenBox box;
    for (const Expression& dimension : v.dimensions) box.count.push_back(spoken(dimension));
    for (const Expression& offset : v.offsets) box.start.push_back(spoken(offset));
    for (const Expression& divisor : divisors_of(v)) box.divisors.push_back(spoken(divisor));
    if (is_summed(v)) {
      box.start.assign(box.count.size(), speech_->number(0));
      const std::size_t slowest = group_.column_major ? box.count.size() - 1 : 0;
      box.summed = v.joined ? static_cast<std::size_t>(*v.joined) : slowest;
    }
    if (group_.column_major != speech_->has_c_order()) return box;
    std::ranges::reverse(box.start);
    std::ranges::reverse(box.count);
    if (box.summed) box.summed = box.count.size() - 1 - *box.summed;
    return box;
  }

  const GroupDefinition& group_;
  Language language_;
  std::unique_ptr<Speech> speech_ = speak(language_);
  Declarations declared_ = speech_->declarations();
  std::set<std::string> named_;  // scalars in dimensions or offsets
};

}  // namespace

GroupCode group_code(const GroupDefinition& group, Language language) {
  Generator generator(group, language);
  GroupCode code;
  code.write = generator.write();
  code.read = generator.read();
  return code;
}

}  // namespace forebay::tools
