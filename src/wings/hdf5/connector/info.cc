#include "hdf5/connector/info.h"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>
#include <H5VLpassthru.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/words.h"
#include "hdf5/connector/errors.h"

namespace forebay::vol {
namespace {

constexpr const char* form =
    "the form is under_vol=NUMBER_OR_NAME;under_info={TEXT};hints={name=value;...}, and each part "
    "may be "
    "left out";

[[noreturn]] void bad_text(std::string_view text, const std::string& what) {
  throw Error(Errc::einval, fmt::format("the connector string \"{}\" {}", text, what), form);
}

// Returns the end of the part that begins at `from`: the next ';' outside braces, or the text's
// end.
std::size_t end_of_part(std::string_view text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth < 0) bad_text(text, "closes a brace that was not opened");
    if (text[i] == ';' && depth == 0) return i;
  }
  if (depth != 0) bad_text(text, "opens a brace that is not closed");
  return text.size();
}

std::string without_braces(std::string_view text, std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  if (!value.starts_with('{') || !value.ends_with('}')) {
    bad_text(text, fmt::format("gives {} without braces", name));
  }
  return std::string(value.substr(1, value.size() - 2));
}

// Parses a class value. Returns false if `text` is a name.
bool to_value(const std::string& text, int& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

std::string own_copy(char* text) {
  std::string copy = text ? text : "";
  if (text) H5free_memory(text);
  return copy;
}

/// An info that is being made. It owns a reference to its connector, and has memory of malloc, like
/// HDF5's own part of a property list: all ranks copy a list together, before this library has any
/// way to agree on errors.
struct NewInfo {
  /// Takes over one reference to `id`.
  explicit NewInfo(hid_t id)
      : info(static_cast<H5VL_forebay_info_t*>(std::calloc(1, sizeof(H5VL_forebay_info_t)))) {
    if (info == nullptr) {
      H5Idec_ref(id);
      throw std::bad_alloc();
    }
    info->under_vol_id = id;
  }
  NewInfo(const NewInfo&) = delete;
  NewInfo& operator=(const NewInfo&) = delete;
  ~NewInfo() { info_free(info); }

  H5VL_forebay_info_t* finished(const char* hints) {
    if (hints && *hints && (info->hints = strdup(hints)) == nullptr) throw std::bad_alloc();
    return std::exchange(info, nullptr);
  }

  H5VL_forebay_info_t* info;
};

}  // namespace

InfoText parse_info(std::string_view text) {
  InfoText info;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_part(text, at);
    const std::string_view part = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1));
    if (name == "under_vol" && !value.empty()) {
      info.under_vol = value;
    } else if (name == "under_info") {
      info.under_info = without_braces(text, name, value);
    } else if (name == "hints") {
      info.hints = without_braces(text, name, value);
    } else {
      bad_text(text, fmt::format("has a part that is not understood: \"{}\"", part));
    }
  }
  return info;
}

UnderConnector under_connector(const H5VL_forebay_info_t* info) noexcept {
  if (info == nullptr) return {H5VL_NATIVE, nullptr};
  return {info->under_vol_id > 0 ? info->under_vol_id : H5VL_NATIVE, info->under_vol_info};
}

Fapl::~Fapl() {
  if (id_ < 0) return;
  const ErrorStackSaver saver;
  H5Pclose(id_);
}

ListInfo::ListInfo(hid_t fapl) {
  void* info = nullptr;
  if (H5Pget_vol_info(fapl, &info) < 0) {
    throw Error(Errc::einval,
                "the connector's info cannot be had from the file access property list");
  }
  info_ = static_cast<H5VL_forebay_info_t*>(info);
}

ListInfo::~ListInfo() { info_free(info_); }

void ListInfo::put_under_into(const Fapl& list) const {
  if (list.id() < 0 || H5Pset_vol(list.id(), under().id, under().info) < 0) {
    throw Error(Errc::einval,
                "the file access property list cannot be made one for the connector below");
  }
}

void* info_copy(const void* info) noexcept {
  return guarded<void*>(nullptr, [&]() -> void* {
    const auto* from = static_cast<const H5VL_forebay_info_t*>(info);
    const UnderConnector under = under_connector(from);
    if (H5Iinc_ref(under.id) < 0) {
      throw Error(Errc::einval, "under_vol_id of Forebay's connector info is no open connector",
                  "register the connector first, or give 0 for the native one");
    }
    NewInfo copy(under.id);
    if (under.info &&
        H5VLcopy_connector_info(under.id, &copy.info->under_vol_info, under.info) < 0) {
      throw Error(Errc::einval, "the connector below Forebay's cannot copy its info");
    }
    return copy.finished(from ? from->hints : nullptr);
  });
}

herr_t info_cmp(int* result, const void* left, const void* right) noexcept {
  const auto* a = static_cast<const H5VL_forebay_info_t*>(left);
  const auto* b = static_cast<const H5VL_forebay_info_t*>(right);
  *result = 0;
  if (H5VLcmp_connector_cls(result, a->under_vol_id, b->under_vol_id) < 0) return -1;
  if (*result == 0 &&
      H5VLcmp_connector_info(result, a->under_vol_id, a->under_vol_info, b->under_vol_info) < 0) {
    return -1;
  }
  if (*result == 0) *result = std::strcmp(a->hints ? a->hints : "", b->hints ? b->hints : "");
  return 0;
}

herr_t info_free(void* info) noexcept {
  auto* own = static_cast<H5VL_forebay_info_t*>(info);
  if (!own) return 0;
  const ErrorStackSaver saver;
  if (own->under_vol_info) H5VLfree_connector_info(own->under_vol_id, own->under_vol_info);
  H5Idec_ref(own->under_vol_id);
  std::free(own->hints);
  std::free(own);
  return 0;
}

herr_t info_to_str(const void* info, char** text) noexcept {
  return guarded<herr_t>(-1, [&] {
    const auto* own = static_cast<const H5VL_forebay_info_t*>(info);
    H5VL_class_value_t value = 0;
    char* under_text = nullptr;
    if (H5VLget_value(own->under_vol_id, &value) < 0 ||
        H5VLconnector_info_to_str(own->under_vol_info, own->under_vol_id, &under_text) < 0) {
      throw Error(Errc::einval, "the connector below Forebay's cannot write down its info");
    }
    std::string whole = fmt::format("under_vol={};under_info={{{}}}", static_cast<int>(value),
                                    own_copy(under_text));
    if (own->hints) whole += fmt::format(";hints={{{}}}", own->hints);
    *text = static_cast<char*>(H5allocate_memory(whole.size() + 1, false));
    if (!*text) throw std::bad_alloc();
    std::memcpy(*text, whole.c_str(), whole.size() + 1);
    return 0;
  });
}

herr_t info_from_str(const char* text, void** info) noexcept {
  return guarded<herr_t>(-1, [&] {
    const InfoText parts = parse_info(text ? text : "");
    const std::string& name = parts.under_vol;
    int value = 0;
    (void)H5VL_PASSTHRU;  // the library defines it, but may register it only on demand
    const hid_t id =
        to_value(name, value)
            ? H5VLregister_connector_by_value(static_cast<H5VL_class_value_t>(value), H5P_DEFAULT)
            : H5VLregister_connector_by_name(name.c_str(), H5P_DEFAULT);
    if (id < 0) {
      throw Error(Errc::einval,
                  fmt::format("under_vol={} names no connector that can be loaded", name),
                  "under_vol=0 is the native one; others are looked for in HDF5_PLUGIN_PATH");
    }
    NewInfo made(id);
    if (!parts.under_info.empty() &&
        H5VLconnector_str_to_info(parts.under_info.c_str(), id, &made.info->under_vol_info) < 0) {
      throw Error(Errc::einval, fmt::format("connector {} does not understand under_info={{{}}}",
                                            name, parts.under_info));
    }
    *info = made.finished(parts.hints.c_str());
    return 0;
  });
}

}  // namespace forebay::vol
