// loader.h -- one thread of the load, with a model of its own keys: what it stored must come back,
// or nothing, where the cache had to make room.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../random_numbers.h"
#include "cache.h"
#include "self_load.h"

namespace workloads::txcache {

inline constexpr std::uint64_t shared_numbers = 4;

inline key key_of(const std::string& text) {
  return {text.data(), text.size(), hash_of(text.data(), text.size())};
}

inline std::string own_key(unsigned thread, std::uint64_t number) {
  return std::string("t").append(std::to_string(thread)).append(":").append(std::to_string(number));
}
inline std::string shared_key(std::uint64_t number) { return "shared:" + std::to_string(number); }

struct expected {
  bool present = false;
  std::string value;
  std::uint32_t flags = 0;
  unsigned joins = 0;  // values that were appended and prepended
};

// Numbers may be followed by spaces, where a longer one was there before.
inline std::string_view trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

class loader {
 public:
  loader(const self_load_options& o, unsigned thread)
      : options_(o),
        thread_(thread),
        self_(add_worker()),
        random_(o.seed, thread),
        model_(o.keys) {}

  void run(std::uint64_t operations, std::uint64_t scale) {
    scale_ = scale;
    for (std::uint64_t i = 0; i < operations; ++i) step();
  }

  // Nothing is stored, and shared numbers are 0.
  void forget() {
    for (expected& e : model_) e = {};
    for (std::uint64_t& each : added_) each = 0;
  }

  void read_all() {
    for (std::uint64_t n = 0; n < model_.size(); ++n) read_own(n);
  }

  [[nodiscard]] const std::string& error() const { return error_; }
  // How often this thread has counted the shared number up.
  [[nodiscard]] std::uint64_t added(std::uint64_t number) const { return added_[number]; }
  // Keys that were there and are not.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  void fail(const std::string& what, std::uint64_t number) {
    if (error_.empty()) error_ = what + ", key " + own_key(thread_, number);
  }

  // What was there may have made room; what was not there cannot have come.
  void lose(std::uint64_t number) {
    lost_ += model_[number].present;
    model_[number] = {};
  }

  void read_own(std::uint64_t number) {
    const std::string text = own_key(thread_, number);
    const value found = get(self_, key_of(text));
    if (found.held == nullptr) return lose(number);
    compare(number, found);
    release(found.held);
  }

  void compare(std::uint64_t number, const value& found) {
    if (!options_.check) return;
    const expected& e = model_[number];
    if (!e.present) fail("found what was not stored", number);
    else if (trimmed({found.data, found.size}) != trimmed(e.value) || found.flags != e.flags)
      fail("found another value than was stored", number);
  }

  // Another thread's key: the value has to be whole.
  void read_other() {
    const auto other = static_cast<unsigned>(random_.below(options_.threads));
    const std::string text = own_key(other, random_.below(options_.keys));
    const value found = get(self_, key_of(text));
    if (found.held == nullptr) return;
    const std::string_view bytes = trimmed({found.data, found.size});
    if (options_.check && !bytes.empty() && is_torn(bytes)) fail("read a torn value", 0);
    release(found.held);
  }

  // Values are repetitions of one letter, or decimal numbers; joined ones are some of the former in
  // a row.
  static bool is_torn(std::string_view bytes) {
    const bool is_number = bytes.find_first_not_of("0123456789") == bytes.npos;
    unsigned changes = 0;
    for (std::size_t i = 1; i < bytes.size(); ++i) changes += bytes[i] != bytes[i - 1];
    return !is_number && changes > most_joins;
  }

  std::string new_value() {
    const std::uint64_t size = random_.below(options_.largest_value * scale_ + 1);
    return std::string(size, static_cast<char>('a' + random_.below(26)));
  }

  void step() {
    const std::uint64_t number = random_.below(options_.keys);
    switch (random_.below(20)) {
      case 0:
      case 1:
      case 2:
      case 3: return put(number, method::set);
      case 4: return put(number, method::add);
      case 5: return put(number, method::replace);
      case 6: return join(number, method::append);
      case 7: return join(number, method::prepend);
      case 8: return exchange(number);
      case 9: return take_away(number);
      case 10: return touch_own(number);
      case 11: return count_own(number);
      case 12: return count_shared(random_.below(shared_numbers));
      case 13:
      case 14: return read_other();
      default: read_own(number);
    }
  }

  outcome ask(std::uint64_t number, method how, const std::string& bytes, std::uint32_t flags,
              std::uint64_t cas = 0) {
    const std::string text = own_key(thread_, number);
    return store(self_, key_of(text), {how, flags, 0, cas, bytes.data(), bytes.size()});
  }

  // Returns whether it was stored; what the model says otherwise has to be why.
  bool agrees(std::uint64_t number, method how, outcome result) {
    expected& e = model_[number];
    if (result == outcome::no_memory) return false;
    const bool was_there =
        how == method::add ? result == outcome::not_stored : result == outcome::stored;
    if (how != method::set && was_there != e.present) {
      if (was_there) fail("stored, or refused, for a key that was not there", number);
      else lose(number);
    }
    return result == outcome::stored;
  }

  void put(std::uint64_t number, method how) {
    const std::string bytes = new_value();
    const auto flags = static_cast<std::uint32_t>(random_.below(1000));
    if (agrees(number, how, ask(number, how, bytes, flags))) model_[number] = {true, bytes, flags};
  }

  void join(std::uint64_t number, method how) {
    expected& e = model_[number];
    if (e.joins == most_joins) return;
    const std::string bytes = new_value();
    if (!agrees(number, how, ask(number, how, bytes, 0))) return;
    e.value = how == method::append ? e.value + bytes : bytes + e.value;
    ++e.joins;
  }

  void exchange(std::uint64_t number) {
    const std::string text = own_key(thread_, number);
    const value found = get(self_, key_of(text));
    if (found.held == nullptr) return lose(number);
    compare(number, found);
    const std::uint64_t cas = found.cas;
    release(found.held);
    if (ask(number, method::cas, "x", 0, cas + 1) == outcome::stored)
      fail("exchanged in spite of another number", number);
    const std::string bytes = new_value();
    const outcome result = ask(number, method::cas, bytes, 7, cas);
    if (result == outcome::stored) model_[number] = {true, bytes, 7};
    else if (result == outcome::not_found) lose(number);
    else if (result != outcome::no_memory) fail("did not exchange its own value", number);
  }

  void take_away(std::uint64_t number) {
    const std::string text = own_key(thread_, number);
    const bool was_there = remove(self_, key_of(text)) == outcome::deleted;
    if (was_there && !model_[number].present) fail("deleted what was not there", number);
    if (!was_there) lose(number);
    model_[number] = {};
  }

  void touch_own(std::uint64_t number) {
    const std::string text = own_key(thread_, number);
    const bool was_there = touch(self_, key_of(text), 0) == outcome::touched;
    if (was_there && !model_[number].present) fail("touched what was not there", number);
    if (!was_there) lose(number);
  }

  // Sets a number, and counts it up and down across a change of its length.
  void count_own(std::uint64_t number) {
    const std::uint64_t begin = random_.below(1000);
    if (!agrees(number, method::set, ask(number, method::set, std::to_string(begin), 5))) return;
    // Nothing is joined to a number: there may be spaces behind it.
    model_[number] = {true, std::to_string(begin), 5, most_joins};
    if (count(number, begin, 9995, false)) count(number, begin + 9995, begin + 5000, true);
  }

  // Returns whether the number is now what it has to be; there may have been no room for it.
  bool count(std::uint64_t number, std::uint64_t from, std::uint64_t amount, bool subtract) {
    const std::string text = own_key(thread_, number);
    std::uint64_t result = 0;
    const outcome ended = change(self_, key_of(text), amount, subtract, result);
    if (ended == outcome::not_found) lose(number);
    if (ended == outcome::not_found || ended == outcome::no_memory) return false;
    const std::uint64_t right = subtract ? from - amount : from + amount;
    if (ended != outcome::changed || result != right) fail("counted wrongly", number);
    model_[number].value = std::to_string(right);
    return true;
  }

  void count_shared(std::uint64_t number) {
    const std::string text = shared_key(number);
    std::uint64_t result = 0;
    if (change(self_, key_of(text), 1, false, result) == outcome::changed) ++added_[number];
  }

  static constexpr unsigned most_joins = 4;

  const self_load_options& options_;
  unsigned thread_;
  worker* self_;
  random_numbers random_;
  std::uint64_t scale_ = 1, lost_ = 0;
  std::vector<expected> model_;
  std::uint64_t added_[shared_numbers] = {};
  std::string error_;
};

}  // namespace workloads::txcache
