// packet_test.cpp -- headers and checksums; buffers that put a stream together.
#include <gtest/gtest.h>

#include "packet.h"
#include "receive_buffer.h"
#include "two_ends.h"

namespace net {
namespace {

packet example() {
  const auto payload = test::pattern(101, 1);
  packet p(header_bytes + payload.size());
  std::copy(payload.begin(), payload.end(), p.begin() + header_bytes);
  write_headers(p, {0x0a000001, 1234}, {0x0a000002, 80},
                {.sequence = 0x01020304,
                 .acknowledgment = 0xfffefdfc,
                 .flags = flag::ack,
                 .window = 4711,
                 .payload = payload});
  return p;
}

TEST(packet, checksum_of_rfc_1071) {
  const std::uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(finish_checksum(add_to_checksum(data, 0)), static_cast<std::uint16_t>(~0xddf2));
}

TEST(packet, what_is_written_is_read) {
  const packet p = example();
  arrival found;
  ASSERT_EQ(read_packet(p, found), defect::none);
  EXPECT_EQ(found.from, (endpoint{0x0a000001, 1234}));
  EXPECT_EQ(found.to, (endpoint{0x0a000002, 80}));
  EXPECT_EQ(found.what.sequence, 0x01020304u);
  EXPECT_EQ(found.what.acknowledgment, 0xfffefdfcu);
  EXPECT_EQ(found.what.flags, flag::ack);
  EXPECT_EQ(found.what.window, 4711);
  const auto payload = test::pattern(101, 1);
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), found.what.payload.begin(),
                         found.what.payload.end()));
}

TEST(packet, the_option_goes_through) {
  packet p(header_bytes);
  write_headers(p, {}, {}, {.flags = flag::syn, .mss = 1234});
  arrival found;
  ASSERT_EQ(read_packet(p, found), defect::none);
  EXPECT_EQ(found.what.mss, 1234);
}

TEST(packet, no_damaged_bit_goes_unseen) {
  const packet right = example();
  for (std::size_t bit = 0; bit < 8 * right.size(); ++bit) {
    packet wrong = right;
    wrong[bit / 8] ^= 1u << (bit % 8);
    arrival found;
    EXPECT_NE(read_packet(wrong, found), defect::none) << "bit " << bit;
  }
}

TEST(packet, cut_ones_are_refused) {
  const packet whole = example();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    arrival found;
    EXPECT_NE(read_packet(bytes(whole).first(size), found), defect::none) << size;
  }
}

TEST(packet, random_bytes_do_no_harm) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    auto noise = test::pattern(seed % 90, seed);
    if (!noise.empty()) noise[0] = 0x40 | (noise[0] & 0xf);
    arrival found;
    EXPECT_NE(read_packet(noise, found), defect::none) << "seed " << seed;
  }
}

TEST(receive_buffer, pieces_in_any_order_make_the_stream) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    workloads::random_numbers random(seed, 0);
    const auto data = test::pattern(3000, seed);
    receive_buffer buffer(700);
    std::vector<std::uint8_t> got;
    std::size_t arrived = 0;
    while (got.size() < data.size()) {
      const std::size_t ahead = random.below(400), left = data.size() - arrived;
      const bytes piece = bytes(data).subspan(arrived + std::min(ahead, left));
      arrived +=
          buffer.insert(ahead, piece.first(std::min<std::size_t>(piece.size(), random.below(300))));
      std::uint8_t some[100];
      const std::size_t count = buffer.read(std::span(some, random.below(100)));
      got.insert(got.end(), some, some + count);
      ASSERT_EQ(buffer.ready(), arrived - got.size());
    }
    EXPECT_EQ(got, data) << "seed " << seed;
    EXPECT_FALSE(buffer.has_holes());
  }
}

}  // namespace
}  // namespace net
