// json.h -- writes JSON text: objects, arrays, strings, numbers, booleans.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

namespace syncopate {

// Requires: calls nest as JSON does; a member inside an object, a value inside an array.
class json_writer {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  // The next element starts a new line, for the reader's eyes.
  void line_break() { break_ = true; }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  void key(std::string_view name) {
    separate();
    append_string(name);
    text_ += ": ";
    after_key_ = true;
  }

  void value(std::string_view s) {
    separate();
    append_string(s);
  }
  void value(const std::string& s) { value(std::string_view(s)); }
  void value(const char* s) { value(std::string_view(s)); }
  void value(bool b) {
    separate();
    text_ += b ? "true" : "false";
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void value(T number) {
    separate();
    text_ += std::to_string(number);
  }

  // The shortest text that reads back as the same number; JSON has no infinities.
  template <std::floating_point T>
  void value(T number) {
    separate();
    if (!std::isfinite(number)) {
      text_ += "null";
      return;
    }
    char digits[32];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  template <class T>
  void member(std::string_view name, const T& v) {
    key(name);
    value(v);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
  }

  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }

  // A comma before every element but the first; nothing between a key and its value.
  void separate() {
    if (!first_ && !after_key_) text_ += break_ ? "," : ", ";
    if (break_ && !after_key_) text_ += '\n';
    first_ = false;
    after_key_ = false;
    break_ = false;
  }

  void append_string(std::string_view s) {
    text_ += '"';
    for (const char c : s) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
        text_ += escape;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool first_ = true;
  bool after_key_ = false;
  bool break_ = false;
};

}  // namespace syncopate
