#include "transport/slots.h"

#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "comm/test_delay.h"
#include "transport/extent_reader.h"

namespace forebay {

namespace {

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

template <typename T>
void lower(std::atomic<T>& a, T value) {
  T old = a.load(std::memory_order_relaxed);
  while (value < old && !a.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

template <typename T>
void raise(std::atomic<T>& a, T value) {
  T old = a.load(std::memory_order_relaxed);
  while (value > old && !a.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

std::size_t round_to_page(std::size_t n) { return (n + 4095) / 4096 * 4096; }

}  // namespace

// Ranks may outnumber cores. After a spin of a microsecond, a waiting rank sleeps, so that the one
// it waits for can run. A longer spin took a seventh of all time with sixteen ranks on two cores.
template <typename Condition>
void Slots::wait_for(Control& c, const Meanwhile& meanwhile, Condition&& ready) {
  for (int spins = 0; spins < 30; ++spins) {
    if (ready()) return;
    pause_briefly();
  }
  for (int idle = 0;; ++idle) {
    const Left left = meanwhile();
    const std::uint32_t seen = c.signal.load();
    if (ready()) return;
    if (left == Left::moved) idle = 0;
    c.sleepers.fetch_add(1);
    left == Left::nothing ? peers_.sleep_on(c.signal, seen) : peers_.rest(idle, &c.signal, seen);
    c.sleepers.fetch_sub(1);
  }
}

// A sleeper counts itself before it compares `signal`, and a waker changes `signal` before it looks
// for sleepers. So one of the two always sees the other.
void Slots::wake(Control& c) {
  c.signal.fetch_add(1);
  if (c.sleepers.load() > 0) Peers::wake(c.signal);
}

// `turn_signal` changes after `turns`: a rank that saw neither change sleeps on the old value.
void Slots::take_turn(int most) {
  Control& c = control(0);
  for (;;) {
    const std::uint32_t seen = c.turn_signal.load();
    std::uint32_t turns = c.turns.load();
    if (turns >= static_cast<std::uint32_t>(most)) {
      peers_.sleep_on(c.turn_signal, seen);
    } else if (c.turns.compare_exchange_strong(turns, turns + 1)) {
      return;
    }
  }
}

void Slots::end_turn() {
  Control& c = control(0);
  c.turns.fetch_sub(1);
  c.turn_signal.fetch_add(1);
  Peers::wake(c.turn_signal);
}

std::size_t Slots::groups_of(Count window_size) {
  return static_cast<std::size_t>((window_size + 64 * group - 1) / (64 * group));
}

Count Slots::bytes_of(Count window_size, int slots) {
  const auto window = static_cast<std::size_t>(window_size);
  const std::size_t one = round_to_page(sizeof(Control)) + round_to_page(window / 8) +
                          round_to_page(groups_of(window_size)) +
                          round_to_page(window / block / 8 + 8) + round_to_page(window);
  return static_cast<Count>(one) * slots;
}

Slots::Slots(const Topology& topology, Count window_size, const RingSizes& rings)
    : topology_(topology),
      node_(topology.node()),
      window_(window_size),
      rings_(rings),
      peers_(topology.peers()) {
  const int slots = rings.all();
  slot_bytes_ = static_cast<std::size_t>(bytes_of(window_size, 1));
  const auto failed = attempt_to([&] {
    latest_.resize(static_cast<std::size_t>(slots), Use{0, 0, -1});
    marks_.resize(static_cast<std::size_t>(window_ + 63) / 64);
    marked_.resize(groups_of(window_));
  });
  memory_ = topology_.take_memory(slot_bytes_ * static_cast<std::size_t>(slots), !failed);
  if (!memory_ || !node_.is_root()) return;
  for (int s = 0; s < slots; ++s) {
    std::memset(static_cast<void*>(&control(s)), 0,
                static_cast<std::size_t>(buffer(s) - reinterpret_cast<std::byte*>(&control(s))));
    control(s).low = INT64_MAX;
    control(s).high = -1;
  }
}

Slots::Control& Slots::control(int slot) const {
  return *reinterpret_cast<Control*>(memory_.data() + slot_bytes_ * static_cast<std::size_t>(slot));
}

std::uint64_t* Slots::cover(int slot) const {
  return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(&control(slot)) +
                                          round_to_page(sizeof(Control)));
}

Slots::Lock* Slots::locks(int slot) const {
  return reinterpret_cast<Lock*>(reinterpret_cast<std::byte*>(cover(slot)) +
                                 round_to_page(static_cast<std::size_t>(window_) / 8));
}

Slots::Word* Slots::needed(int slot) const {
  return reinterpret_cast<Word*>(reinterpret_cast<std::byte*>(locks(slot)) +
                                 round_to_page(groups_of(window_)));
}

std::byte* Slots::buffer(int slot) const {
  return reinterpret_cast<std::byte*>(needed(slot)) +
         round_to_page(static_cast<std::size_t>(window_ / block) / 8 + 8);
}

bool Slots::is_free(const Use& use) const {
  const auto finished = [&](int slot) {
    return control(slot).generation.load(std::memory_order_acquire);
  };
  if (finished(use.slot) != use.generation) return false;
  return std::none_of(latest_.begin(), latest_.end(), [&](const Use& earlier) {
    return earlier.begin == use.begin && finished(earlier.slot) <= earlier.generation;
  });
}

void Slots::wait_until_empty(const Use& use, const Meanwhile& meanwhile) {
  test_delay(node_.rank());
  wait_for(control(use.slot), meanwhile, [&] {
    return control(use.slot).generation.load(std::memory_order_acquire) >= use.generation;
  });
}

void Slots::wait_until_free(const Use& use, const Meanwhile& meanwhile) {
  wait_until_empty(use, meanwhile);
  for (const Use& earlier : latest_) {
    if (earlier.begin != use.begin) continue;
    Control& e = control(earlier.slot);
    wait_for(e, meanwhile,
             [&] { return e.generation.load(std::memory_order_acquire) > earlier.generation; });
  }
}

void Slots::Placer::mark_words(std::uint64_t head, std::uint64_t tail, Count first, Count last) {
  if (last < first) return;  // no bytes
  marks_[first] |= head;
  std::fill(marks_ + first + 1, marks_ + last, ~std::uint64_t{0});
  marks_[last] |= tail;
  std::fill(marked_ + first / group, marked_ + last / group + 1, std::uint8_t{1});
}

// Ranks add at the same time, each beginning elsewhere. A rank that has a lock waits for nothing.
Slots::Placer::~Placer() {
  if (high_ < 0) return;
  const Count first = low_ / 64 / group, groups = (high_ - 1) / 64 / group - first + 1;
  const Count begin = slots_.node_.rank() * groups / slots_.node_.size();
  bool overlaps = false;
  for (Count i = 0; i < groups; ++i) {
    const Count g = first + (begin + i) % groups;
    if (std::exchange(marked_[g], std::uint8_t{0}) != 0) overlaps |= add_to_cover(g);
  }
  if (overlaps && slots_.watches_) slots_.overlapped_ = true;
  lower(control_.low, low_);
  raise(control_.high, high_);
}

// Returns whether others had marked any of the same bytes.
bool Slots::Placer::add_to_cover(Count g) {
  const Count end = std::min((g + 1) * group, (slots_.window_ + 63) / 64);
  for (int idle = 0; locks_[g].exchange(1, std::memory_order_acquire) != 0; ++idle) {
    if (idle < 30) {
      pause_briefly();
    } else {
      slots_.peers_.rest(idle);
    }
  }
  std::uint64_t both = 0;
  for (Count w = g * group; w < end; ++w) {
    const std::uint64_t mine = std::exchange(marks_[w], 0);
    both |= cover_[w] & mine;
    cover_[w] |= mine;
  }
  locks_[g].store(0, std::memory_order_release);
  return both != 0;
}

void Slots::need(const Use& use, Offset offset, Count length) {
  const Count from = (offset - use.begin) / block, to = (offset - use.begin + length - 1) / block;
  Word* words = needed(use.slot);
  for (Count b = from; b <= to; ++b) {
    const std::uint64_t bit = std::uint64_t{1} << (b % 64);
    if (!(words[b / 64].load(std::memory_order_relaxed) & bit))
      words[b / 64].fetch_or(bit, std::memory_order_relaxed);
  }
}

bool Slots::arrive(const Use& use, int of) {
  test_delay(node_.rank());
  const auto before = control(use.slot).arrived.fetch_add(1, std::memory_order_acq_rel);
  return before + 1 == static_cast<std::uint32_t>(of);
}

// Without `wakes`, this rank takes it before it sleeps, unless another does: nobody is woken.
void Slots::complete(const Use& use, bool wakes) {
  Control& c = control(use.slot);
  c.complete.store(use.generation + 1, std::memory_order_release);
  if (!wakes) return;
  c.signal.fetch_add(1);
  if (c.sleepers.load() > 0) Peers::wake_one(c.signal);
}

bool Slots::take(const Use& use) {
  Control& c = control(use.slot);
  if (c.complete.load(std::memory_order_acquire) != use.generation + 1) return false;
  std::uint64_t taken = c.taken.load(std::memory_order_relaxed);
  return taken <= use.generation && c.taken.compare_exchange_strong(taken, use.generation + 1);
}

bool Slots::is_taken(const Use& use) const {
  return control(use.slot).taken.load(std::memory_order_relaxed) > use.generation;
}

void Slots::clear_placed(const Use& use) {
  Control& c = control(use.slot);
  const Count high = c.high.load(std::memory_order_relaxed);
  const Count low = c.low.load(std::memory_order_relaxed);
  if (high > low) {
    std::fill(cover(use.slot) + low / 64, cover(use.slot) + (high - 1) / 64 + 1, std::uint64_t{0});
  }
  c.low.store(INT64_MAX, std::memory_order_relaxed);
  c.high.store(-1, std::memory_order_relaxed);
}

void Slots::release_placed(const Use& use) {
  clear_placed(use);
  release(use);
}

void Slots::publish(const Use& use) {
  clear_placed(use);
  control(use.slot).published.store(use.generation + 1, std::memory_order_release);
  wake(control(use.slot));
}

void Slots::release(const Use& use) {
  Control& c = control(use.slot);
  c.arrived.store(0, std::memory_order_relaxed);
  c.departed.store(0, std::memory_order_relaxed);
  c.generation.store(use.generation + 1, std::memory_order_release);
  wake(c);
}

void Slots::write_out(const Use& use, ByteFile& file, Count hole_threshold, Report& report) {
  const bool later = file.writes_later();
  StepTimer timer(report, later ? Step::stage : Step::write);
  Control& c = control(use.slot);
  const Count high = c.high.load(std::memory_order_relaxed);
  const Count low = c.low.load(std::memory_order_relaxed);
  Count written = 0;  // if a thread writes, the file counts in another report
  const auto failure = attempt_to([&] {
    written = write_covered(file, use.begin, buffer(use.slot), cover(use.slot), low, high,
                            hole_threshold);
    if (!later) timer.moved(written);
  });
  release_placed(use);
  if (failure) throw *failure;
}

void Slots::read_in(const Use& use, ByteFile& file, Count hole_threshold, Report& report) {
  StepTimer timer(report, Step::read);
  Word* words = needed(use.slot);
  const Count blocks = window_ / block;
  const Count bridge = std::max<Count>(hole_threshold / block, 0);
  Count read = 0;  // see write_out()
  const auto failure = attempt_to([&] {
    const auto skip = [](Count, Count) {};
    for_each_bridged_run(words, 0, blocks, bridge, skip, [&](Count from, Count to) {
      const auto bytes = static_cast<std::size_t>((to - from) * block);
      std::byte* into = buffer(use.slot) + from * block;
      const std::size_t got = file.read_at(use.begin + from * block, {into, bytes});
      std::memset(into + got, 0, bytes - got);
      read += static_cast<Count>(got);
    });
    timer.moved(read);
  });
  std::memset(static_cast<void*>(words), 0, static_cast<std::size_t>(blocks / 64 + 1) * 8);
  publish(use);
  if (failure) throw *failure;
}

bool Slots::is_read(const Use& use) const {
  return control(use.slot).published.load(std::memory_order_acquire) > use.generation;
}

void Slots::wait_until_read(const Use& use, const Meanwhile& meanwhile) {
  test_delay(node_.rank());
  wait_for(control(use.slot), meanwhile, [&] { return is_read(use); });
}

void Slots::depart(const Use& use, int of) {
  test_delay(node_.rank());
  Control& c = control(use.slot);
  const auto before = c.departed.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == static_cast<std::uint32_t>(of)) release(use);
}

}  // namespace forebay
