#include "tools/config_file.h"

#include <fstream>
#include <sstream>

#include "base/error.h"

namespace forebay::tools {

Config read_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(Errc::efile, path + ": cannot be read", "give the path of an XML file");
  return parse_config(text.str(), path);
}

}  // namespace forebay::tools
