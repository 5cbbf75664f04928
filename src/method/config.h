// The configuration file of FOREBAY_CONFIG: which methods hold for which files and variables.
//
//   config   ::= <forebay> (file | checkpoint | group | method)* </forebay>
//   file     ::= <file match="PATTERN" KEY="VALUE"...> variable* </file>
//   checkpoint ::= the same with another name, for checkpoints alone
//   variable ::= <variable match="PATTERN" KEY="VALUE".../>
//
// group, method: see groups.h. KEY is a method key; of variables, layout or codec. PATTERN: see
// glob.h. All elements that match a name apply, from the first to the last, so that a later one
// wins where both set the same key. The whole file is checked whichever of its elements match, so
// that a mistake shows at the first run and not at the first checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "method/groups.h"
#include "method/method.h"

namespace forebay {

/// One attribute that sets a key.
struct ConfigSetting {
  std::string key, value;
  int line = 0;  ///< counted from 1
};

struct FileRule {
  std::string pattern;
  int line = 0;
  std::vector<ConfigSetting> settings;
  std::vector<VariableRule> variables;
  bool of_checkpoints = false;  ///< not for files
};

/// Keys of files that a group is written to; they win over those of FileRule.
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
/// an element, key, value or pattern that makes no sense) or Errc::enotsupport (a method that this
/// build does not have), with name, line, and what would be accepted. Local, deterministic.
Config parse_config(std::string_view text, const std::string& name);

/// Applies all matching rules to `method`; of `group` too, where the file is a group's, and those
/// of checkpoints where it is one.
void apply_config(const Config& config, const std::string& path, Method& method,
                  const std::string& group = {}, bool is_checkpoint = false);

}  // namespace forebay
