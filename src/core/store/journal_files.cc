#include "store/journal_files.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>

#include "base/attempt.h"
#include "storage/file.h"

namespace forebay {
namespace {

constexpr std::size_t most_name = 200;  // a file name has at most 255 bytes, including suffixes
constexpr int most_files_of_a_log = 1 << 16;  // ranks of a node

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Removes ".word" from the end; nothing if there is no dot.
std::optional<std::string> take_word(std::string& name) {
  const auto dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  std::string word = name.substr(dot + 1);
  name.resize(dot);
  return word;
}

// Digits as print_name writes them: no sign, no leading zeros.
template <typename T>
std::optional<T> exact_number(const std::string& text, int base) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc{} || end != text.data() + text.size() || text[0] == '-')
    return std::nullopt;
  return value;
}

bool by_session_and_rank(const LogPair& a, const LogPair& b) {
  return std::tie(a.name.session, a.name.first, a.stem) <
         std::tie(b.name.session, b.name.first, b.stem);
}

}  // namespace

std::string log_stem(const std::string& directory, const std::string& dataset,
                     std::uint64_t session, bool per_node, Rank first) {
  return fmt::format("{}{}{}.{:016x}.{}{}", directory, directory.ends_with('/') ? "" : "/",
                     name_of(dataset).substr(0, most_name), session, per_node ? "n" : "", first);
}

std::optional<LogName> parse_log_name(const std::string& file_name) {
  LogName found;
  found.dataset = file_name;
  const auto kind = take_word(found.dataset), owner = take_word(found.dataset),
             session = take_word(found.dataset);
  if (!kind || !owner || !session || (*kind != "records" && *kind != "data" && *kind != "lost"))
    return std::nullopt;
  found.records = *kind == "records";
  found.lost = *kind == "lost";
  found.per_node = owner->starts_with('n');
  const auto rank = exact_number<Rank>(owner->substr(found.per_node ? 1 : 0), 10);
  const auto id = exact_number<std::uint64_t>(*session, 16);
  if (!rank || !id) return std::nullopt;
  found.first = *rank;
  found.session = *id;
  const std::string again = log_stem("", found.dataset, found.session, found.per_node, found.first);
  if (name_of(again) + "." + *kind != file_name) return std::nullopt;
  return found;
}

std::vector<LogPair> list_logs(const std::string& directory, std::optional<std::uint64_t> session) {
  DIR* handle = ::opendir(directory.c_str());
  if (handle == nullptr) throw system_error(errno, Errc::efile, "reading the directory", directory);
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(handle, ::closedir);
  std::map<std::string, LogPair> pairs;
  for (errno = 0; const dirent* item = ::readdir(handle); errno = 0) {
    const std::string file = item->d_name;
    const auto name = parse_log_name(file);
    if (!name || (session && name->session != *session)) continue;
    const std::string stem =
        directory + (directory.ends_with('/') ? "" : "/") + file.substr(0, file.rfind('.'));
    LogPair& pair = pairs[stem];
    pair.stem = stem;
    (name->lost ? pair.is_lost : name->records ? pair.has_records : pair.has_data) = true;
    pair.name = *name;
    pair.name.records = true;
    pair.name.lost = false;
  }
  if (errno != 0) throw system_error(errno, Errc::eread, "reading the directory", directory);
  std::vector<LogPair> list;
  list.reserve(pairs.size());
  for (auto& [stem, pair] : pairs) list.push_back(std::move(pair));
  std::sort(list.begin(), list.end(), by_session_and_rank);
  return list;
}

std::unique_ptr<journal::Reader> open_log(const std::string& stem, int part, Report& report) {
  const std::string path = records_path(stem);
  const auto refuse = [&](const std::string& why, const std::string& advice) {
    throw Error(Errc::ebadlog, path + ": " + why, advice);
  };
  std::unique_ptr<journal::Reader> reader;
  try {
    reader = std::make_unique<journal::Reader>(
        std::make_unique<File>(path, false, 0, report),
        std::make_unique<File>(data_path(stem), false, 0, report), part);
  } catch (const Error& error) {
    if (error.message().find(stem) != std::string::npos) throw;
    throw error.at(path);
  }
  const journal::Header& header = reader->header();
  const auto name = parse_log_name(name_of(path));
  const char* const advice = "somebody renamed it, or it is not what it seems";
  if (!name || name->session != header.session ||
      name->dataset != name_of(header.path).substr(0, most_name))
    refuse("the staging log is of another session or file than its name says", advice);
  if (part == 0 && name->first != header.rank)
    refuse("the staging log is of another rank than its name says", advice);
  return reader;
}

bool state_is_certain(const std::string& stem, const journal::Reader& reader, Report& report) {
  const journal::Header& header = reader.header();
  std::vector<std::byte> bytes(static_cast<std::size_t>(journal::header_bytes));
  File file(records_path(stem), false, 0, report);
  const auto place = journal::place_of(0, header.share, header.share.record_block);
  bytes.resize(file.read_at(place.offset, bytes));
  return std::ssize(bytes) == journal::header_bytes &&
         journal::parse_states(bytes, header.session).damaged < 0;
}

std::vector<FoundLog> logs_of(const LogPair& pair, std::vector<LogProblem>& problems) {
  std::vector<FoundLog> found;
  Report report;
  if (pair.is_lost) return found;
  if (!pair.has_records || !pair.has_data) {
    const bool records = pair.has_records;
    problems.push_back(
        {records ? records_path(pair.stem) : data_path(pair.stem),
         std::string("its ") + (records ? ".data" : ".records") + " file is missing"});
    return found;
  }
  int parts = 1;
  for (int part = 0; part < parts; ++part) {
    const auto error = attempt_to([&] {
      const auto reader = open_log(pair.stem, part, report);
      if (part == 0) parts = std::min(reader->header().share.parts, most_files_of_a_log);
      if (!found.empty() && (reader->header().ranks != found[0].header.ranks ||
                             reader->header().path != found[0].header.path ||
                             reader->header().session != found[0].header.session))
        throw Error(Errc::ebadlog, records_path(pair.stem) + ": its parts contradict each other");
      found.push_back({pair.stem, reader->header(), reader->state()});
    });
    if (error) {
      problems.push_back({records_path(pair.stem), error->what()});
      if (part == 0) return found;
    }
  }
  return found;
}

FoundLogs find_logs(const std::string& directory, std::optional<std::uint64_t> session) {
  FoundLogs all;
  for (const LogPair& pair : list_logs(directory, session)) {
    for (FoundLog& log : logs_of(pair, all.problems)) {
      if (all.sessions.empty() || all.sessions.back().session != log.header.session) {
        all.sessions.push_back(
            {log.header.session, log.header.path, log.header.ranks, pair.name.per_node, {}});
      }
      FoundSession& now = all.sessions.back();
      if (log.header.ranks != now.ranks || log.header.path != now.file) {
        all.problems.push_back({records_path(pair.stem),
                                "it contradicts other logs of its session: another file, or "
                                "another number of ranks"});
        continue;
      }
      now.logs.push_back(std::move(log));
    }
  }
  for (FoundSession& found : all.sessions) {
    std::stable_sort(
        found.logs.begin(), found.logs.end(),
        [](const FoundLog& a, const FoundLog& b) { return a.header.rank < b.header.rank; });
  }
  return all;
}

Count size_of_log(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

void remove_logs(const std::string& stem) {
  for (const std::string& path : {data_path(stem), records_path(stem), lost_path(stem)}) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      throw system_error(errno, Errc::ecantremove, "removing", path);
  }
}

}  // namespace forebay
