// The registry of codecs, and the grammar of one stage: name, or name:value, or name:key=value.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "codec/stage.h"

namespace forebay {

namespace {

std::string accepted_names() {
  std::string names = "none";
  for (const CodecEntry* entry : codec_registry())
    names += std::string(", ") + entry->description.name;
  return names;
}

// Insertions, deletions and replacements that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Names that people use for the same codec elsewhere.
std::string_view other_name(std::string_view name) {
  if (name == "gzip" || name == "zlib" || name == "libdeflate") return "deflate";
  if (name == "zstandard") return "zstd";
  if (name == "sz") return "sz3";
  return {};
}

Error unknown_codec(std::string_view name) {
  constexpr std::size_t longest_shown = 40;
  std::string_view meant = other_name(name);
  std::size_t closest = 3;
  for (const CodecEntry* entry : codec_registry()) {
    if (name.size() > longest_shown || !meant.empty()) break;
    const std::size_t distance = edit_distance(name, entry->description.name);
    if (distance < closest && distance < name.size()) {
      closest = distance;
      meant = entry->description.name;
    }
  }
  std::string message =
      name.empty() ? std::string("a codec is missing between two commas")
                   : "unknown codec \"" + std::string(name.substr(0, longest_shown)) + "\"";
  if (!meant.empty()) message += "; did you mean \"" + std::string(meant) + "\"?";
  return Error(Errc::einval, message, "the codecs are: " + accepted_names());
}

}  // namespace

std::span<const CodecEntry* const> codec_registry() {
  static const auto registry = [] {
    const auto found = built_in_codecs();
    std::vector<const CodecEntry*> all(found.begin(), found.end());
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->order < b->order; });
    return all;
  }();
  return registry;
}

std::span<const CodecDescription> codec_descriptions() {
  static const auto descriptions = [] {
    std::vector<CodecDescription> made;
    for (const CodecEntry* entry : codec_registry()) made.push_back(entry->description);
    return made;
  }();
  return descriptions;
}

std::shared_ptr<const CodecStage> make_stage(std::string_view word) {
  StageParameter parameter;
  const auto colon = word.find(':');
  parameter.stage = word.substr(0, colon);
  if (colon != std::string_view::npos) {
    parameter.given = true;
    parameter.value = word.substr(colon + 1);
    const auto equals = parameter.value.find('=');
    if (equals != std::string_view::npos) {
      parameter.key = parameter.value.substr(0, equals);
      parameter.value.remove_prefix(equals + 1);
    }
  }
  for (const CodecEntry* entry : codec_registry()) {
    if (parameter.stage != entry->description.name) continue;
    if (entry->make == nullptr)
      throw Error(Errc::enotsupport,
                  "this build of Forebay lacks the codec " + std::string(parameter.stage),
                  entry->how_to_get);
    return entry->make(parameter);
  }
  throw unknown_codec(parameter.stage);
}

Error StageParameter::refused(const std::string& reason, const std::string& advice) const {
  return Error(Errc::einval, "codec " + std::string(stage) + ": " + reason, advice);
}

int StageParameter::whole(std::string_view key_wanted, int least, int most,
                          std::optional<int> otherwise) const {
  const std::string accepted = std::string(key_wanted) + " is a whole number from " +
                               std::to_string(least) + " to " + std::to_string(most);
  if (!given && otherwise) return *otherwise;
  if (!key.empty() && key != key_wanted)
    throw refused("it has no parameter \"" + std::string(key) + "\"", accepted);
  int number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, number);
  if (problem != std::errc{} || stop != end || number < least || number > most)
    throw refused("\"" + std::string(value) + "\" is no " + std::string(key_wanted), accepted);
  return number;
}

double StageParameter::positive(double most) const {
  double number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, number);
  if (problem != std::errc{} || stop != end || !std::isfinite(number) || number <= 0 ||
      number > most) {
    const std::string limit = std::isfinite(most) ? " and at most " + number_text(most) : "";
    throw refused(std::string(key) + "=" + std::string(value) + " makes no sense",
                  std::string(key) + " is a finite number above 0" + limit + ", such as 1e-3");
  }
  return number;
}

void StageParameter::none() const {
  if (given)
    throw refused("it takes no parameter",
                  "write \"" + std::string(stage) + "\" without a colon after it");
}

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto [end, problem] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

void throw_damaged(const char* stage, const char* what) {
  throw Error(Errc::enotnc, std::string("a chunk encoded with ") + stage + " is damaged: " + what);
}

}  // namespace forebay
