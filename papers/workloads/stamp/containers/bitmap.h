// bitmap.h -- a fixed number of bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../transaction.h"

namespace workloads::stamp {

class bitmap {
 public:
  explicit bitmap(std::size_t bits) : words_((bits + 63) / 64) {
    data_ = new shared<std::uint64_t>[words_] {};
  }
  ~bitmap() { delete[] data_; }
  bitmap(const bitmap&) = delete;
  bitmap& operator=(const bitmap&) = delete;

  // Requires, here and below: i is less than the number of bits.
  [[nodiscard]] bool test(std::size_t i) const { return (data_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::size_t i) { data_[i / 64] = data_[i / 64] | std::uint64_t{1} << (i % 64); }
  void clear(std::size_t i) { data_[i / 64] = data_[i / 64] & ~(std::uint64_t{1} << (i % 64)); }
  void clear_all() {
    for (std::size_t w = 0; w < words_; ++w) data_[w] = 0;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t result = 0;
    for (std::size_t w = 0; w < words_; ++w)
      for (std::uint64_t word = data_[w]; word != 0; word &= word - 1) ++result;
    return result;
  }

 private:
  const std::size_t words_;
  shared<std::uint64_t>* data_;
};

}  // namespace workloads::stamp
