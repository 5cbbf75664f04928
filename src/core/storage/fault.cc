#include "storage/fault.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace forebay {

namespace {

struct FaultPlan {
  std::string text;  // what it was parsed from
  std::string call;
  Rank rank = -1;  // -1: every rank
  long number = 1;
  int errnum = EIO;
  bool and_later = false;
  std::chrono::microseconds delay{0};
  long seen = 0;
};

int errno_of(std::string_view name) {
  if (name == "ENOSPC") return ENOSPC;
  if (name == "EDQUOT") return EDQUOT;
  if (name == "EACCES") return EACCES;
  if (name == "ENOENT") return ENOENT;
  return EIO;
}

std::string text_of_plan() {
  const char* text = std::getenv("FOREBAY_FAULT");
  return text ? text : "";
}

FaultPlan parse_plan(const std::string& text) {
  FaultPlan plan;
  plan.text = text;
  std::string_view rest = text;
  for (bool first = true; !rest.empty(); first = false) {
    const auto cut = rest.find(':');
    const std::string_view part = rest.substr(0, cut);
    rest = cut == std::string_view::npos ? std::string_view{} : rest.substr(cut + 1);
    const std::string value(part.substr(part.find('=') + 1));
    if (first) plan.call = part;
    if (part.starts_with("rank=")) plan.rank = std::atoi(value.c_str());
    if (part.starts_with("call=")) plan.number = std::atol(value.c_str());
    if (part.starts_with("errno=")) plan.errnum = errno_of(value);
    if (part.starts_with("delay="))
      plan.delay = std::chrono::microseconds(std::atol(value.c_str()));
    if (part == "from") plan.and_later = true;
  }
  return plan;
}

}  // namespace

int injected_fault(const char* call, Rank rank) {
  static const bool wanted = !text_of_plan().empty();
  if (!wanted) return 0;
  static std::mutex mutex;
  static auto& plan = *new FaultPlan;  // files are closed at exit, too
  std::unique_lock lock(mutex);
  if (std::string text = text_of_plan(); text != plan.text) plan = parse_plan(text);
  if (plan.call != call || (plan.rank >= 0 && plan.rank != rank)) return 0;
  if (const auto delay = plan.delay; delay.count() > 0) {
    lock.unlock();
    std::this_thread::sleep_for(delay);
    return 0;
  }
  const long n = ++plan.seen;
  return n == plan.number || (plan.and_later && n > plan.number) ? plan.errnum : 0;
}

}  // namespace forebay
