// protocol.cpp -- see protocol.h. Replies are memcached's, word by word.
#include "protocol.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace workloads::txcache {

namespace {

constexpr std::size_t longest_line = 64 << 10;  // of a `get` with many keys
constexpr std::size_t enough_output = 4 << 20;  // goes out before more is made
constexpr std::string_view bad_line = "CLIENT_ERROR bad command line format\r\n";

template <class Number>
std::optional<Number> number_of(std::string_view word) {
  Number number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

key key_of(std::string_view word) {
  return {word.data(), word.size(), hash_of(word.data(), word.size())};
}

// The last word of commands that change something or set the verbosity; of others it is a word.
bool wants_no_reply(const std::vector<std::string_view>& w) {
  constexpr std::string_view others[] = {"get", "gets", "stats", "version", "quit"};
  return w.back() == "noreply" && std::ranges::find(others, w[0]) == std::end(others);
}

// Whether a reply is sent even then: the line was no command, or badly formed.
bool is_always_sent(const std::vector<std::string_view>& w, std::string_view reply) {
  if (w.size() == 2 && w[0] == "verbosity") return false;  // as memcached has it
  return reply.starts_with("CLIENT_ERROR bad") || reply.starts_with("ERROR");
}

std::optional<method> method_of(std::string_view command) {
  constexpr std::pair<std::string_view, method> methods[] = {
      {"set", method::set},       {"add", method::add},         {"replace", method::replace},
      {"append", method::append}, {"prepend", method::prepend}, {"cas", method::cas}};
  for (const auto& [name, how] : methods)
    if (command == name) return how;
  return std::nullopt;
}

std::string_view text_of(outcome result) {
  switch (result) {
    case outcome::stored: return "STORED\r\n";
    case outcome::not_stored: return "NOT_STORED\r\n";
    case outcome::exists: return "EXISTS\r\n";
    case outcome::not_found: return "NOT_FOUND\r\n";
    case outcome::too_large: return "SERVER_ERROR object too large for cache\r\n";
    case outcome::no_memory: return "SERVER_ERROR out of memory storing object\r\n";
    case outcome::deleted: return "DELETED\r\n";
    case outcome::touched: return "TOUCHED\r\n";
    case outcome::not_a_number:
      return "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
    case outcome::changed: break;
  }
  return "";
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == line.npos) return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(words.back().size());
  }
}

}  // namespace

bool protocol::run(std::string& input, std::string& output) {
  std::size_t at = 0;
  progress how = progress::done;
  has_more_ = false;
  while (how == progress::done && at < input.size()) {
    has_more_ = output.size() >= enough_output;
    if (has_more_) break;
    std::size_t used = 0;
    how = run_one(std::string_view(input).substr(at), used, output);
    at += used;
  }
  input.erase(0, at);
  return how != progress::close;
}

protocol::progress protocol::run_one(std::string_view input, std::size_t& used,
                                     std::string& output) {
  if (skip_ != 0) {
    used = std::min(skip_, input.size());
    skip_ -= used;
    return progress::done;
  }
  const std::size_t end = input.find('\n');
  if (end == input.npos) {
    if (input.size() <= longest_line) return progress::needs_more;
    output += "CLIENT_ERROR line is too long\r\n";
    return progress::close;
  }
  std::string_view line = input.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const words w = split(line);
  used = end + 1;
  std::string reply;
  progress how = progress::done;
  if (w.empty()) reply = "ERROR\r\n";
  else if (method_of(w[0])) how = store_value(w, input.substr(end + 1), used, reply);
  else execute(w, reply);
  if (how == progress::needs_more) used = 0;
  else if (w.empty() || !wants_no_reply(w) || is_always_sent(w, reply)) output += reply;
  return quit_ ? progress::close : how;
}

// set KEY FLAGS EXPIRES BYTES [CAS] [noreply], and the value behind it.
protocol::progress protocol::store_value(const words& w, std::string_view rest, std::size_t& used,
                                         std::string& reply) {
  const method how = *method_of(w[0]);
  const std::size_t arguments = how == method::cas ? 6 : 5;
  if (w.size() != arguments && !(w.size() == arguments + 1 && wants_no_reply(w))) {
    reply = "ERROR\r\n";
    return progress::done;
  }
  const auto flags = number_of<std::uint32_t>(w[2]);
  const auto expires = number_of<std::int32_t>(w[3]);
  const auto size = number_of<std::uint32_t>(w[4]);
  const auto cas = how == method::cas ? number_of<std::uint64_t>(w[5]) : 0;
  if (w[1].size() > longest_key || !flags || !expires || !size || !cas) {
    reply = bad_line;
    return progress::done;
  }
  const key k = key_of(w[1]);
  if (*size > largest_value_) {
    (void)remove(self_, k);  // no old value in the place of the one that was meant
    skip_ = *size + std::size_t{2};
    reply = text_of(outcome::too_large);
    return progress::done;
  }
  if (rest.size() < *size + std::size_t{2}) return progress::needs_more;
  used += *size + std::size_t{2};
  if (rest.substr(*size, 2) != "\r\n") {
    reply = "CLIENT_ERROR bad data chunk\r\n";
    return progress::done;
  }
  const outcome result = store(self_, k, {how, *flags, *expires, *cas, rest.data(), *size});
  if (result == outcome::too_large || result == outcome::no_memory) (void)remove(self_, k);
  reply = text_of(result);
  return progress::done;
}

void protocol::execute(const words& w, std::string& reply) {
  const std::string_view command = w[0];
  if (command == "get" || command == "gets") return get_values(w, command == "gets", reply);
  if (command == "incr" || command == "decr") return change_number(w, reply);
  if (command == "delete" || command == "touch") return remove_or_touch(w, reply);
  if (command == "flush_all") return flush_all(w, reply);
  if (command == "stats") return statistics(w, reply);
  if (command == "version" && w.size() == 1) reply = "VERSION 1.4.15-txcache\r\n";
  else if (command == "verbosity" && (w.size() == 2 || w.size() == 3))
    reply = number_of<std::uint32_t>(w[1]) ? "OK\r\n" : bad_line;
  else if (command == "quit" && w.size() == 1) quit_ = true;
  else reply = "ERROR\r\n";
}

void protocol::get_values(const words& w, bool with_cas, std::string& reply) {
  if (w.size() == 1) {
    reply = "ERROR\r\n";
    return;
  }
  for (std::size_t i = 1; i < w.size(); ++i) {
    if (w[i].size() > longest_key) {
      reply = bad_line;
      return;
    }
    const value found = get(self_, key_of(w[i]));
    if (found.held == nullptr) continue;
    reply.append("VALUE ").append(w[i]).append(" ").append(std::to_string(found.flags));
    reply.append(" ").append(std::to_string(found.size));
    if (with_cas) reply.append(" ").append(std::to_string(found.cas));
    reply.append("\r\n").append(found.data, found.size).append("\r\n");
    release(found.held);
  }
  reply += "END\r\n";
}

// incr KEY AMOUNT
void protocol::change_number(const words& w, std::string& reply) {
  if (w.size() != 3 && !(w.size() == 4 && wants_no_reply(w))) {
    reply = "ERROR\r\n";
    return;
  }
  const auto amount = number_of<std::uint64_t>(w[2]);
  if (w[1].size() > longest_key) {
    reply = bad_line;
  } else if (!amount) {
    reply = "CLIENT_ERROR invalid numeric delta argument\r\n";
  } else {
    std::uint64_t result = 0;
    const outcome ended = change(self_, key_of(w[1]), *amount, w[0] == "decr", result);
    reply =
        ended == outcome::changed ? std::to_string(result) + "\r\n" : std::string(text_of(ended));
  }
}

// delete KEY [0]; touch KEY EXPIRES
void protocol::remove_or_touch(const words& w, std::string& reply) {
  const std::size_t count = w.size() - wants_no_reply(w);
  const bool touches = w[0] == "touch";
  if (touches ? count != 3 : count < 2) {
    reply = "ERROR\r\n";
  } else if (w[1].size() > longest_key) {
    reply = bad_line;
  } else if (touches) {
    const auto expires = number_of<std::int32_t>(w[2]);
    if (expires) reply = text_of(touch(self_, key_of(w[1]), *expires));
    else reply = "CLIENT_ERROR invalid exptime argument\r\n";
  } else if (count > 3 || (count == 3 && w[2] != "0")) {
    reply = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
  } else {
    reply = text_of(remove(self_, key_of(w[1])));
  }
}

// flush_all [DELAY]
void protocol::flush_all(const words& w, std::string& reply) {
  const std::size_t count = w.size() - wants_no_reply(w);
  const auto delay = count > 1 ? number_of<std::uint32_t>(w[1]) : 0;
  if (count > 2) {
    reply = "ERROR\r\n";
  } else if (!delay) {
    reply = bad_line;
  } else {
    flush(self_, *delay);
    reply = "OK\r\n";
  }
}

void protocol::statistics(const words& w, std::string& reply) {
  if (w.size() > 1 && w[1] == "reset") {
    reset_statistics();
    reply = "RESET\r\n";
    return;
  }
  const bool slabs = w.size() > 1 && w[1] == "slabs";
  if (w.size() > 1 && !slabs) {
    reply = "ERROR\r\n";
    return;
  }
  char* const text =
      statistics_text(slabs ? statistics_kind::slabs : statistics_kind::general, threads_);
  if (text != nullptr) reply = text;
  std::free(text);
  reply += "END\r\n";
}

}  // namespace workloads::txcache
