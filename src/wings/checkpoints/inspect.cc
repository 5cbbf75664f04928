#include "checkpoints/inspect.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/raw_bytes.h"
#include "base/report.h"
#include "checkpoints/coding.h"
#include "checkpoints/file_tier.h"
#include "storage/file.h"

namespace forebay::checkpoint {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view ending = ".journal";

/// Returns the prefixes of NAME, by rank.
std::map<Rank, std::string> prefixes_of(const std::string& name) {
  std::map<Rank, std::string> found;
  const fs::path path(name);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string base = path.filename().string() + ".";
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(base) || !file.ends_with(ending)) continue;
    if (file.size() <= base.size() + ending.size()) continue;
    const std::string number = file.substr(base.size(), file.size() - base.size() - ending.size());
    const bool digits =
        std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || number.size() > 9) continue;
    found[std::stoi(number)] =
        (path.has_parent_path() ? folder / (base + number) : fs::path(base + number)).string();
  }
  return found;
}

/// Adds a note to `damage` if the checksums of a state do not match.
void verify_state(File& data, const Record& record, std::vector<std::string>& damage) {
  RawBytes block;
  Offset at = record.place;
  for (const Part& part : record.parts)
    for (const Piece& piece : part.pieces) {
      RunningHash hash;
      for (Count done = 0; done < piece.bytes;) {
        block.resize(static_cast<std::size_t>(std::min(raw_piece_bytes, piece.bytes - done)));
        const std::size_t read = data.read_at(at + done, block);
        hash.add(std::span(block).first(read));
        if (read < block.size()) break;
        done += std::ssize(block);
      }
      if (hash.value() != piece.hash) {
        damage.push_back(data.path() + ": " + words_for(record.id) + ", " + part.name +
                         " is damaged");
        return;
      }
      at += piece.bytes;
    }
}

RankFiles look_at(const std::string& prefix, bool verify) {
  RankFiles found;
  found.prefix = prefix;
  Report report;
  File journal(prefix + std::string(ending), false, 0, report);
  const std::vector<std::byte> bytes = bytes_of_journal(journal);
  const auto header = naming(journal.path(), [&] { return parse_header(bytes); });
  if (!header) throw Error(Errc::ebadlog, journal.path() + " ends within its header");
  found.header = *header;
  Journal told = parse_journal(bytes, header->session);
  for (const std::size_t at : told.damaged)
    found.damage.push_back(journal.path() + ": what lies at byte " + std::to_string(at) +
                           " is no whole entry");
  std::map<StateId, Record> latest;  // serials ascend, so the latest wins
  for (auto& [serial, record] : told.live) latest[record.id] = std::move(record);
  File data(prefix + ".data", false, 0, report);
  const Offset size = data.size();
  for (auto& [id, record] : latest) {
    if (record.bytes > 0 && record.place + record.bytes > size) {
      found.damage.push_back(data.path() + " ends within " + words_for(id));
      continue;
    }
    if (verify) verify_state(data, record, found.damage);
    found.states.push_back(std::move(record));
  }
  return found;
}

}  // namespace

bool is_there(const std::string& name) {
  std::error_code failed;
  if (!fs::exists(name, failed)) return !failed && !prefixes_of(name).empty();
  if (!name.ends_with(ending) || !fs::is_regular_file(name, failed)) return false;
  bool is_journal = false;
  attempt_to([&] {
    Report report;
    File journal(name, false, 0, report);
    std::vector<std::byte> front(header_bytes);
    front.resize(journal.read_at(0, front));
    is_journal = parse_header(front).has_value();
  });
  return is_journal;
}

Inspection inspect(const std::string& name, bool verify) {
  Inspection all;
  std::map<Rank, std::string> prefixes;
  const bool one = name.ends_with(ending);
  if (one)
    prefixes[0] = name.substr(0, name.size() - ending.size());
  else
    prefixes = prefixes_of(name);
  if (prefixes.empty() || (one && !fs::exists(name)))
    throw Error(Errc::enoent, "there are no checkpoints " + name,
                "give the name that the program gave, with the directory where they are");
  int ranks = 0;
  for (const auto& files : prefixes) {
    const auto failed = attempt_to([&] {
      all.ranks.push_back(look_at(files.second, verify));
      ranks = std::max(ranks, all.ranks.back().header.ranks);
    });
    if (failed) all.damage.push_back(failed->message());
  }
  constexpr int most_told = 10;
  int told = 0;
  for (Rank rank = 0; rank < ranks && !one && told < most_told; ++rank)
    if (!prefixes.contains(rank) && ++told > 0)
      all.damage.push_back("rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                           " has no files");
  return all;
}

}  // namespace forebay::checkpoint
