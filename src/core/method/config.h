// The configuration file of FOREBAY_CONFIG: which methods apply to which files and variables.
//
//   config   ::= <forebay> (file | checkpoint | group | method)* </forebay>
//   file     ::= <file match="PATTERN" KEY="VALUE"...> variable* </file>
//   checkpoint ::= the same with another name, for checkpoints only
//   variable ::= <variable match="PATTERN" KEY="VALUE".../>
//
// groups.h describes group and method, glob.h describes PATTERN. KEY is a method key; for a
// variable, layout or codec. All elements that match a name apply, from the first to the last, so
// that a later one wins if both set the same key. The whole file is checked, even elements that do
// not match, so that a mistake shows at the first run and not at the first checkpoint.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "method/groups.h"
#include "method/method.h"

namespace forebay {

/// One attribute that sets a key.
struct ConfigSetting {
  std::string key, value;
  int line = 0;     ///< counted from 1
  std::string via;  ///< the attribute that stands for it, "method=MPI"; empty: its own
};

struct FileRule {
  std::string pattern;
  int line = 0;
  std::vector<ConfigSetting> settings;
  std::vector<VariableRule> variables;
  bool of_checkpoints = false;  ///< only for checkpoints
};

/// Keys for the files of a group; they take precedence over those of FileRule. Each element of a
/// group is a method, which writes a file of its own.
struct GroupMethod {
  std::string group;
  int line = 0;
  std::vector<ConfigSetting> settings;
};

struct Config {
  std::string name;  ///< of the file, for origins and messages
  std::vector<FileRule> files;
  std::vector<GroupDefinition> groups;
  std::vector<GroupMethod> group_methods;
};

/// Parses and checks `text`, the contents of the file `name`. Throws Errc::einval (malformed XML,
/// an invalid element, key, value or pattern) or Errc::enotsupport (a method that this build
/// lacks), with name, line, and what would be accepted. Local, deterministic.
Config parse_config(std::string_view text, const std::string& name);

/// Applies all matching rules to `method`: also those of `group`, if a group is given, and those
/// for checkpoints, if `is_checkpoint` is set. `which` of the group's methods counts from 0.
void apply_config(const Config& config, const std::string& path, Method& method,
                  const std::string& group = {}, bool is_checkpoint = false, std::size_t which = 0);

}  // namespace forebay
