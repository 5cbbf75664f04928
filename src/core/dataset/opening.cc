#include "dataset/opening.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/attempt.h"
#include "base/hash.h"
#include "container/recognise.h"
#include "method/front_end.h"
#include "stage/stage.h"

namespace forebay {

namespace {

/// The last request to create a file that this process has received.
class LastAsked {
 public:
  std::shared_ptr<const CreationRequest> get() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  void set(std::shared_ptr<const CreationRequest> asked) {
    const std::lock_guard lock(mutex_);
    last_.swap(asked);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const CreationRequest> last_;
};

LastAsked& last_asked() {
  static auto* last = new LastAsked;  // never freed: what runs last may still make a file
  return *last;
}

std::int64_t positive_hash_of(const std::string& text) {
  return static_cast<std::int64_t>(hash_of(std::as_bytes(std::span(text))) >> 1);
}

/// Only rank 0 looks.
bool may_have_leftovers(bool is_root, const std::string& path) {
  if (!is_root) return false;
  const auto& stages = parts(PartKind::stage);
  return std::any_of(stages.begin(), stages.end(), [&](const Part* part) {
    const auto& leftovers = static_cast<const StageEntry*>(part)->leftovers;
    return leftovers && leftovers->any(path);
  });
}

}  // namespace

// `path` is absolute, here and below.
OpeningArguments OpeningArguments::to_create(bool is_root, const std::string& path, int version,
                                             bool no_clobber, const HintMap& hints) {
  OpeningArguments arguments{hints, version * 2 + (no_clobber ? 1 : 0)};
  arguments.logs = !no_clobber && may_have_leftovers(is_root, path);
  return arguments;
}

OpeningArguments OpeningArguments::to_open(bool is_root, const std::string& path, bool writable,
                                           const HintMap& hints) {
  return {hints, writable, look_at(is_root, path), may_have_leftovers(is_root, path)};
}

std::string OpeningArguments::pack() const {
  std::string packed = std::to_string(flag) + '\0' + found + '\0' + (logs ? "1" : "") + '\0';
  for (const auto& [key, value] : hints) packed += key + '\0' + value + '\0';
  return packed;
}

void OpeningArguments::unpack(const std::string& packed) {
  std::size_t at = 0;
  const auto next = [&] {
    std::string text = packed.c_str() + at;
    at += text.size() + 1;
    return text;
  };
  flag = std::stoll(next());
  found = next();
  logs = !next().empty();
  hints.clear();
  while (at < packed.size()) {
    const std::string key = next();
    hints[key] = next();
  }
}

CreationRequest::CreationRequest(OpeningArguments given, MethodSources read)
    : arguments(std::move(given)),
      sources(std::move(read)),
      hash(positive_hash_of(arguments.pack() + text_of(sources))) {}

std::shared_ptr<const CreationRequest> CreationRequest::of(const std::string& path, int version,
                                                           bool no_clobber, const HintMap& hints) {
  return std::make_shared<const CreationRequest>(
      OpeningArguments::to_create(true, absolute_path(path), version, no_clobber, hints),
      read_method_sources());
}

std::shared_ptr<const CreationRequest> CreationRequest::last() { return last_asked().get(); }

std::int64_t CreationRequest::hash_at(const std::string& path) const {
  return positive_hash_of(std::to_string(hash) + NamedFile(path).pack());
}

Method method_for(const std::string& path, const HintMap& hints, const MethodSources& sources) {
  Method method = choose_method(path, hints, sources);
  keep_honoured(method, FrontEnd::netcdf);
  return method;
}

Method shared_method(const Comm& comm, NamedFile& name, OpeningArguments& arguments, bool makes) {
  const std::string given = name.given;
  std::string packed = name.pack() + arguments.pack();
  const MethodSources sources = share_method_sources(comm, &packed);
  const std::string of_root = packed.substr(0, packed.find('\0'));
  name = NamedFile(of_root, packed.c_str() + of_root.size() + 1);
  if (!comm.is_root()) arguments.unpack(packed.substr(name.pack().size()));
  // Programs that open a file between two others create those alike, so the request is kept. If
  // there is no memory for it, the next one is broadcast again.
  if (makes)
    attempt_to(
        [&] { last_asked().set(std::make_shared<const CreationRequest>(arguments, sources)); });
  name.given = given;
  return method_for(of_root, arguments.hints, sources);
}

std::string look_at(bool is_root, const std::string& path) {
  if (!is_root) return {};
  const ContainerEntry* entry = recognise(path);
  return entry ? entry->name : "";
}

void meet_leftovers(const Comm& comm, const std::string& path, bool writable, bool creating,
                    const Method& method) {
  for (const Part* part : parts(PartKind::stage)) {
    const auto& leftovers = static_cast<const StageEntry*>(part)->leftovers;
    if (leftovers) leftovers->meet(comm, path, writable, creating, method);
  }
}

}  // namespace forebay
