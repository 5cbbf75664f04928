// A value for each thread that can be used even after the thread's end.
#pragma once

#include <cstddef>
#include <new>

namespace forebay {

/// Returns this thread's T for the tag `Use`. T() makes it on first use. Files that were left open
/// are closed in a handler of exit(), after the destructors of thread_local objects. There is a new
/// T then, which is never destroyed. For the same reason, function-local statics are never
/// destroyed: `static auto& x = *new T;`.
template <typename T, typename Use>
T& of_this_thread() {
  alignas(T) thread_local std::byte room[sizeof(T)];
  struct Life {
    Life() { ::new (room) T(); }
    ~Life() {
      std::launder(reinterpret_cast<T*>(room))->~T();
      ::new (room) T();
    }
  };
  thread_local const Life life;
  return *std::launder(reinterpret_cast<T*>(room));
}

}  // namespace forebay
