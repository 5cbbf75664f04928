// The registry of codecs, and the grammar of a stage: name, name:value, or name:key=value.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/words.h"
#include "codec/codec_stage.h"

namespace forebay {

namespace {

// Names that other software uses for the same codec.
std::string_view other_name(std::string_view name) {
  if (name == "gzip" || name == "zlib" || name == "libdeflate") return "deflate";
  if (name == "zstandard") return "zstd";
  if (name == "sz") return "sz3";
  return {};
}

Error unknown_codec(std::string_view name) {
  constexpr std::size_t longest_shown = 40;
  std::vector<std::string_view> names;
  for (const CodecEntry* entry : codec_registry()) names.emplace_back(entry->description.name);
  std::string meant(other_name(name));
  if (meant.empty() && name.size() <= longest_shown)
    meant = nearest_word(name, names).value_or(std::string());
  std::string message =
      name.empty() ? std::string("a codec is missing between two commas")
                   : "unknown codec \"" + std::string(name.substr(0, longest_shown)) + "\"";
  if (!meant.empty()) message += "; did you mean \"" + meant + "\"?";
  return Error(Errc::einval, message, "the codecs are: none, " + joined(names, ", "));
}

}  // namespace

std::span<const CodecEntry* const> codec_registry() {
  // Never destroyed, since files that are closed at exit still encode.
  static const auto& registry = *[] {
    const auto found = built_in_codecs();
    auto* all = new std::vector<const CodecEntry*>(found.begin(), found.end());
    std::sort(all->begin(), all->end(), [](auto* a, auto* b) { return a->order < b->order; });
    return all;
  }();
  return registry;
}

std::span<const CodecDescription> codec_descriptions() {
  static const auto& descriptions = *[] {
    auto* made = new std::vector<CodecDescription>;
    for (const CodecEntry* entry : codec_registry()) made->push_back(entry->description);
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
