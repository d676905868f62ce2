// findings.cpp -- see findings.h.
#include "findings.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <unistd.h>

namespace syncopate::explored {

namespace {

class writer {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void add_all(const T& values) {
    add(values.size());
    for (const auto& each : values) add(each);
  }
  void send(int to) const {
    for (std::size_t done = 0; done < bytes_.size();) {
      const ssize_t n = ::write(to, bytes_.data() + done, bytes_.size() - done);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  std::string bytes_;
};

class reader {
 public:
  explicit reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) {
    if (bytes_.size() - at_ < sizeof value) {
      whole_ = false;
      return;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  template <class T>
  void get_all(T& values) {
    std::size_t count = 0;
    get(count);
    for (std::size_t i = 0; i < count && whole_; ++i) {
      typename T::value_type each{};
      get(each);
      values.push_back(each);
    }
  }
  [[nodiscard]] bool whole() const noexcept { return whole_; }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
  bool whole_ = true;
};

// Ends with a mark: without it the process has not come to its end.
constexpr std::uint32_t end_mark = 0x5eedc0deu;

std::string read_all(int from) {
  std::string all;
  char some[1 << 14];
  for (;;) {
    const ssize_t n = ::read(from, some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(some, static_cast<std::size_t>(n));
  }
}

}  // namespace

void findings::send(int to) const {
  writer all;
  all.add(of);
  all.add_all(bound);
  all.add_all(schedule);
  all.add_all(believed);
  all.add_all(endless);
  all.add(asked.size());
  for (const search::request& r : asked) {
    all.add(r.step);
    all.add(r.what);
    all.add(r.later);
    all.add(r.first);
    all.add_all(r.others);
  }
  all.add(end_mark);
  all.send(to);
}

bool findings::receive(int pipe) {
  const std::string bytes = read_all(pipe);
  reader from(bytes);
  from.get(of);
  from.get_all(bound);
  from.get_all(schedule);
  from.get_all(believed);
  from.get_all(endless);
  std::size_t requests = 0;
  from.get(requests);
  for (std::size_t i = 0; i < requests && from.whole(); ++i) {
    search::request r{};
    from.get(r.step);
    from.get(r.what);
    from.get(r.later);
    from.get(r.first);
    from.get_all(r.others);
    asked.push_back(std::move(r));
  }
  std::uint32_t mark = 0;
  from.get(mark);
  return from.whole() && mark == end_mark;
}

void join(verdict& v, const findings& f) {
  v.executions += f.of.executions;
  v.redundant += f.of.redundant;
  v.cut += f.of.cut;
  v.steps += f.of.steps;
  v.longest = std::max(v.longest, f.of.longest);
  v.threads = std::max(v.threads, f.of.threads);
  v.load_buffering |= f.of.load_buffering;
  v.sc_orders |= f.of.sc_orders;
  v.ignored |= f.of.ignored;
  for (const place each : f.believed)
    if (std::ranges::find(v.believed, each) == v.believed.end()) v.believed.push_back(each);
  v.withheld.join(f.of.withheld);
  v.stores.cxx20 |= f.of.stores.cxx20;
  v.stores.cxx11 |= f.of.stores.cxx11;
  if (v.endless.at == nullptr) v.endless = f.of.endless;
  v.bound = f.bound;
}

}  // namespace syncopate::explored
