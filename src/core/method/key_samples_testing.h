// For tests that go through all keys: values of each key other than its default.
#pragma once

#include <string>
#include <vector>

#include "method/method_keys.h"

namespace forebay {

struct KeySample {
  std::string key, value;
  std::string shown;  ///< as method_value() returns it
};

/// All values of keys that have words, one value of every other key.
inline std::vector<KeySample> key_samples() {
  std::vector<KeySample> samples;
  for (const KeySpec& spec : key_specs()) {
    const std::string key = spec.shown.name;
    const std::string standard = method_value(Method{}, key);
    const auto add = [&](const std::string& value) {
      if (value != standard) samples.push_back({key, value, value});
    };
    switch (spec.kind) {
      case KeyKind::word:
      case KeyKind::choice:
        for (const std::string_view word : spec.words) add(std::string(word));
        break;
      case KeyKind::size:
      case KeyKind::count:
        add(std::to_string(spec.most > (1 << 21) ? (1 << 21) : spec.least + 1));
        break;
      case KeyKind::codec:
        add("deflate:1");
        break;
      case KeyKind::text:
        add("/tmp");
        break;
      case KeyKind::kept:
        add(key == "cb_config_list" ? "*:1" : "3");
        break;
    }
  }
  // It only disables a staging log that was enabled before.
  std::erase_if(samples,
                [](const KeySample& s) { return s.key == "nc_burst_buf" && s.value == "disable"; });
  return samples;
}

}  // namespace forebay
