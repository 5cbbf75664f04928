// The steps of the work on a file, as reports name them.
#pragma once

namespace forebay {

enum class Step {
  define,
  header,
  post,
  plan,
  exchange,
  pack,
  read,
  write,
  wait,
  unpack,
  encode,
  decode,
  stage,
  reload,
  sync,
  total,
  count_
};
constexpr int step_count = static_cast<int>(Step::count_);
constexpr const char* step_names[step_count] = {
    "define", "header", "post",   "plan",   "exchange", "pack",   "read", "write",
    "wait",   "unpack", "encode", "decode", "stage",    "reload", "sync", "total"};

}  // namespace forebay
