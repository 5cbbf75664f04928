#include "base/companion.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"

extern char** environ;

namespace forebay {

namespace {

// What a companion sends: parts, each after `a_part`, and at the end one of the others.
constexpr std::byte an_answer{0}, an_error{1}, a_part{2};

constexpr std::uint64_t no_limit = 0;

bool companion = false;

/// Returns the folder of the library that this function is in.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&plugin_folders), &info) == 0 || info.dli_fname == nullptr)
    return {};
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// Returns the folders in which the library that this function is in looks for others. A name
/// without a folder would not do: a sanitizer's dlopen looks in its own.
std::vector<std::string> folders_of_libraries() {
  Dl_info info{};
  void* self = nullptr;
  if (::dladdr(reinterpret_cast<void*>(&plugin_folders), &info) != 0 && info.dli_fname != nullptr)
    self = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (self == nullptr) self = ::dlopen(nullptr, RTLD_LAZY);
  std::vector<std::string> folders;
  Dl_serinfo sizes{};
  if (self == nullptr || ::dlinfo(self, RTLD_DI_SERINFOSIZE, &sizes) != 0) return folders;
  std::vector<std::max_align_t> space(sizes.dls_size / sizeof(std::max_align_t) + 1);
  auto* const all = reinterpret_cast<Dl_serinfo*>(space.data());
  *all = sizes;
  if (::dlinfo(self, RTLD_DI_SERINFO, all) == 0)
    for (unsigned i = 0; i < all->dls_cnt; ++i) {
      const std::string folder = (&all->dls_serpath[0])[i].dls_name;
      if (!folder.empty()) folders.push_back(folder + "/");
    }
  ::dlclose(self);
  return folders;
}

std::string find_program(const std::string& program) {
  for (const std::string& folder : plugin_folders())
    if (::access((folder + program).c_str(), X_OK) == 0) return folder + program;
  return {};
}

/// What the program may use for a file.
struct Limits {
  std::uint64_t memory, seconds;
};

Limits limits_for(const std::string& path) {
  struct stat info {};
  const std::uint64_t size = ::stat(path.c_str(), &info) == 0 && info.st_size > 0
                                 ? static_cast<std::uint64_t>(info.st_size)
                                 : 0;
  constexpr std::uint64_t least = std::uint64_t{2} << 30;  // libraries take much of it
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t half = static_cast<std::uint64_t>(std::max(pages, 0L)) / 2 *
                             static_cast<std::uint64_t>(std::max(page, 0L));
  return {std::min(least + 32 * std::min(size, std::uint64_t{1} << 50), std::max(least, half)),
          20 + size / (16 << 20)};
}

/// A child process, and the end of the pipe that it writes to.
struct Child {
  pid_t id = -1;
  Descriptor output{-1};
};

/// Starts the program; `id` is negative if that cannot be done. posix_spawn copies no memory of
/// this process, which some networks' libraries could not bear.
Child start(const std::string& file, const CompanionCall& call, const Limits& limits) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Child();
  Descriptor from(ends[0]), to(ends[1]);
  const std::string memory = std::to_string(limits.memory),
                    seconds = std::to_string(limits.seconds);
  std::vector<const std::string*> words{&file, &memory, &seconds, &call.path};
  for (const std::string& argument : call.arguments) words.push_back(&argument);
  std::vector<char*> arguments(words.size() + 1, nullptr);
  std::transform(words.begin(), words.end(), arguments.begin(),
                 [](const std::string* word) { return const_cast<char*>(word->c_str()); });
  // What was never written is not zero, so that a library that uses it crashes here and not later.
  std::string perturbed = "MALLOC_PERTURB_=165";
  std::vector<char*> environment{perturbed.data()};
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return Child();
  Child child;
  // What the C library says of a crash is said by the error.
  const bool made =
      ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
      ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO) == 0 &&
      ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
  if (!made || ::posix_spawn(&child.id, file.c_str(), &actions, nullptr, arguments.data(),
                             environment.data()) != 0)
    child.id = -1;
  ::posix_spawn_file_actions_destroy(&actions);
  child.output = std::move(from);
  return child;
}

std::vector<std::byte> read_all(int file) {
  std::vector<std::byte> bytes;
  std::array<std::byte, 1 << 16> some;
  for (;;) {
    const ssize_t n = ::read(file, some.data(), some.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.insert(bytes.end(), some.begin(), some.begin() + n);
  }
}

int wait_for(pid_t id) {
  int status = 0;
  while (::waitpid(id, &status, 0) < 0)
    if (errno != EINTR) return 0;  // the program waits for all its children
  return status;
}

class Answer {
 public:
  explicit Answer(std::span<const std::byte> bytes) : left_(bytes) {}
  bool has(std::size_t n) const { return left_.size() >= n; }
  std::span<const std::byte> rest() const { return left_; }
  template <typename T>
  T get() {
    T value{};
    if (has(sizeof value)) {
      std::memcpy(&value, left_.data(), sizeof value);
      left_ = left_.subspan(sizeof value);
    }
    return value;
  }
  std::string text() {
    const std::size_t size = std::min<std::size_t>(get<std::uint32_t>(), left_.size());
    std::string its(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
    return its;
  }

 private:
  std::span<const std::byte> left_;
};

void add(std::vector<std::byte>& to, const void* from, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + size);
}

void add_text(std::vector<std::byte>& to, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  add(to, &size, sizeof size);
  add(to, text.data(), size);
}

void limit(int what, const char* most) {
  rlimit its{};
  if (::getrlimit(what, &its) != 0) return;
  const rlim_t wanted = std::strtoull(most, nullptr, 10);
  if (wanted == no_limit && what == RLIMIT_CPU) return;
  if (its.rlim_max == RLIM_INFINITY || wanted < its.rlim_max) its.rlim_cur = its.rlim_max = wanted;
  ::setrlimit(what, &its);
}

bool send(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(to, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

Error crash_of(const CompanionCall& call, const std::string& part, int status,
               const Limits& limits) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const std::string advice = "the file is damaged, or was made to harm";
  const std::string at = part.empty() ? call.part : part;
  if (signal == SIGXCPU || signal == SIGKILL)
    return {Errc::ehdferr,
            call.path + ": " + call.library + " did not get to the end of " + at + " in " +
                std::to_string(limits.seconds) + " seconds",
            advice};
  return {Errc::ehdferr,
          call.path + ": " + call.library + " crashed while it read " + at +
              (signal != 0 ? " (signal " + std::to_string(signal) + ")" : std::string()),
          advice};
}

}  // namespace

std::vector<std::string> plugin_folders() {
  const char* const set = ::secure_getenv("FOREBAY_PLUGIN_PATH");
  std::vector<std::string> folders;
  if (set != nullptr && *set != '\0') folders.push_back(std::string(set) + "/");
  folders.push_back(own_folder());
  folders.push_back(own_folder() + "../lib/");
  for (std::string& folder : folders_of_libraries()) folders.push_back(std::move(folder));
  return folders;
}

bool is_companion() { return companion; }

std::optional<std::vector<std::byte>> ask_companion(const CompanionCall& call) {
  const std::string file = find_program(call.program);
  if (file.empty()) return std::nullopt;
  Limits limits = limits_for(call.path);
  if (call.takes_its_time) limits.seconds = no_limit;
  Child child = start(file, call, limits);
  if (child.id < 0) return std::nullopt;
  std::vector<std::byte> bytes;
  const auto failed = attempt_to([&] { bytes = read_all(child.output.get()); });
  child.output = Descriptor(-1);  // so that it does not wait to be read
  const int status = wait_for(child.id);
  if (failed) throw *failed;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return std::nullopt;  // not started
  Answer answer(bytes);
  std::string part;
  std::byte kind = a_part;
  while (answer.has(1) && (kind = answer.get<std::byte>()) == a_part) part = answer.text();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || kind == a_part)
    throw crash_of(call, part, status, limits);
  if (kind == an_answer) return std::vector<std::byte>(answer.rest().begin(), answer.rest().end());
  const auto code = static_cast<Errc>(answer.get<int>());
  std::string message = answer.text();
  throw Error(code, std::move(message), answer.text());
}

void be_companion(int argc, char** argv,
                  const std::function<std::vector<std::byte>(const std::vector<std::string>& words,
                                                             const NamePart& name_part)>& answer) {
  if (argc < 4) ::_exit(2);
  companion = true;
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read the answer
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take more addresses
  limit(RLIMIT_AS, argv[1]);
#endif
  limit(RLIMIT_CPU, argv[2]);
  limit(RLIMIT_CORE, "0");
  const int out = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // libraries may print
  std::vector<std::byte> bytes;
  const auto failed = attempt_to([&] {
    bytes = answer({argv + 3, argv + argc}, [&](const std::string& part) {
      std::vector<std::byte> told(1, a_part);
      add_text(told, part.substr(0, 1 << 16));
      send(out, told);
    });
  });
  std::vector<std::byte> head(1, an_answer);
  if (failed) {
    bytes.clear();
    head[0] = an_error;
    const int code = to_int(failed->code());
    add(head, &code, sizeof code);
    add_text(head, failed->message());
    add_text(head, failed->advice());
  }
  // The library has nothing to write, and may not be in a state to end well.
  ::_exit(send(out, head) && send(out, bytes) ? 0 : 1);
}

}  // namespace forebay
