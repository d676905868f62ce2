// connection_test.cpp -- the TCP state machine: handshake, transfer over bad networks, flow
// control, close, resets. Each property over a bad network holds for every one of its seeds.
#include <gtest/gtest.h>

#include "two_ends.h"

namespace net {
namespace {

using test::pattern;
using test::transfer;
using test::two_ends;

tcp_settings with_short_time_wait() {
  tcp_settings result;
  result.time_wait = 10 * second;
  return result;
}

void expect_both_ways(const impairment_settings& network, std::size_t size) {
  SCOPED_TRACE("seed " + std::to_string(network.seed));
  two_ends ends(network, with_short_time_wait());
  ASSERT_TRUE(ends.connect());
  transfer there(ends.a, ends.b, pattern(size, network.seed)),
      back(ends.b, ends.a, pattern(size / 3, network.seed + 1));
  const bool ended = ends.run([&] {
    const bool first = there.step(), second = back.step();
    return first && second;
  });
  EXPECT_TRUE(ended) << there.received() << " and " << back.received() << " bytes arrived";
  EXPECT_TRUE(there.is_exact());
  EXPECT_TRUE(back.is_exact());
  EXPECT_TRUE(ends.run(
      [&] { return ends.a.state() == tcp_state::closed && ends.b.state() == tcp_state::closed; }));
  EXPECT_EQ(ends.a.why(), failure::none);
  EXPECT_EQ(ends.b.why(), failure::none);
}

TEST(connection, opens_in_three_segments) {
  two_ends ends;
  ASSERT_TRUE(ends.connect());
  ASSERT_EQ(ends.seen.size(), 3u);
  EXPECT_EQ(ends.seen[0].flags, flag::syn);
  EXPECT_EQ(ends.seen[1].flags, flag::syn | flag::ack);
  EXPECT_EQ(ends.seen[2].flags, flag::ack);
  EXPECT_EQ(ends.seen[0].mss, 1460);
}

TEST(connection, delivers_over_a_good_network_without_sending_again) {
  two_ends ends;
  ASSERT_TRUE(ends.connect());
  transfer data(ends.a, ends.b, pattern(1'000'000, 1));
  ASSERT_TRUE(ends.run([&] { return data.step(); }));
  EXPECT_TRUE(data.is_exact());
  EXPECT_EQ(ends.a.counters().time_outs + ends.a.counters().fast_retransmissions, 0u);
  EXPECT_EQ(ends.b.counters().duplicates, 0u);
  // Every second segment is acknowledged, besides window updates.
  EXPECT_LT(ends.b.counters().sent, ends.a.counters().sent);
}

TEST(connection, delivers_exactly_though_packets_are_lost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    expect_both_ways({.lost = 10, .seed = seed}, 60'000);
}

TEST(connection, delivers_exactly_though_packets_are_reordered) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    expect_both_ways({.reordered = 10, .seed = seed}, 100'000);
}

TEST(connection, delivers_exactly_though_packets_are_doubled) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    expect_both_ways({.duplicated = 10, .seed = seed}, 100'000);
}

TEST(connection, delivers_exactly_though_packets_are_damaged) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    expect_both_ways({.damaged = 5, .seed = seed}, 60'000);
}

TEST(connection, delivers_exactly_though_everything_goes_wrong) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    expect_both_ways({.lost = 10, .duplicated = 10, .reordered = 10, .damaged = 2, .seed = seed},
                     50'000);
}

TEST(connection, a_single_loss_is_mended_without_waiting_for_the_timer) {
  unsigned without_time_out = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    two_ends ends({.lost = 1, .seed = seed});
    ASSERT_TRUE(ends.connect());
    transfer data(ends.a, ends.b, pattern(300'000, seed));
    ASSERT_TRUE(ends.run([&] { return data.step(); }));
    const tcp_counters& found = ends.a.counters();
    if (found.fast_retransmissions > 0 && found.time_outs == 0) ++without_time_out;
  }
  EXPECT_GT(without_time_out, 0u);
}

TEST(connection, a_slow_reader_slows_the_sender_down) {
  tcp_settings small;
  small.receive_bytes = 4000;
  two_ends ends({}, small);
  ASSERT_TRUE(ends.connect());
  transfer data(ends.a, ends.b, pattern(50'000, 1));
  nanoseconds next_read = 0;
  ASSERT_TRUE(ends.run([&] {
    EXPECT_LE(ends.b.readable(), small.receive_bytes);
    if (ends.now < next_read) return data.step(0);
    next_read = ends.now + 300 * millisecond;
    return data.step(700);
  }));
  EXPECT_TRUE(data.is_exact());
}

TEST(connection, a_closed_window_is_probed_over_a_bad_network) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    tcp_settings small;
    small.receive_bytes = 3000;
    two_ends ends({.lost = 20, .seed = seed}, small);
    ASSERT_TRUE(ends.connect());
    transfer data(ends.a, ends.b, pattern(20'000, seed));
    const nanoseconds opens = ends.now + 20 * second;
    ASSERT_TRUE(ends.run([&] { return data.step(ends.now < opens ? 0 : 1 << 20); }));
    EXPECT_TRUE(data.is_exact()) << "seed " << seed;
  }
}

TEST(connection, both_windows_closed_open_again) {
  tcp_settings small;
  small.receive_bytes = small.send_bytes = 3000;
  two_ends ends({}, small);
  ASSERT_TRUE(ends.connect());
  transfer there(ends.a, ends.b, pattern(20'000, 1)), back(ends.b, ends.a, pattern(20'000, 2));
  const nanoseconds opens = ends.now + 20 * second;
  ASSERT_TRUE(ends.run([&] {
    const std::size_t most = ends.now < opens ? 0 : 1 << 20;
    const bool first = there.step(most), second = back.step(most);
    return first && second;
  }));
  EXPECT_TRUE(there.is_exact() && back.is_exact());
}

TEST(connection, half_closed_it_still_receives) {
  two_ends ends;
  ASSERT_TRUE(ends.connect());
  ends.a.close();
  ASSERT_TRUE(ends.run([&] { return ends.b.at_end(); }));
  EXPECT_EQ(ends.b.state(), tcp_state::close_wait);
  transfer data(ends.b, ends.a, pattern(100'000, 3));
  ASSERT_TRUE(ends.run([&] { return data.step(); }));
  EXPECT_TRUE(data.is_exact());
}

TEST(connection, who_closes_first_waits_as_long_as_told) {
  two_ends ends({}, with_short_time_wait());
  ASSERT_TRUE(ends.connect());
  ends.a.close();
  ASSERT_TRUE(ends.run([&] { return ends.b.at_end(); }));
  ends.b.close();
  ASSERT_TRUE(ends.run([&] { return ends.b.state() == tcp_state::closed; }));
  EXPECT_EQ(ends.a.state(), tcp_state::time_wait);
  EXPECT_FALSE(ends.run([&] { return ends.a.state() == tcp_state::closed; }, 9 * second));
  EXPECT_TRUE(ends.run([&] { return ends.a.state() == tcp_state::closed; }, 2 * second));
}

TEST(connection, both_close_at_once) {
  two_ends ends({}, with_short_time_wait());
  ASSERT_TRUE(ends.connect());
  ends.a.close();
  ends.b.close();
  ASSERT_TRUE(ends.run([&] {
    return ends.a.state() == tcp_state::time_wait && ends.b.state() == tcp_state::time_wait;
  }));
}

TEST(connection, both_open_at_once) {
  two_ends ends;
  ends.b.open();
  ASSERT_TRUE(ends.connect());
  transfer data(ends.a, ends.b, pattern(10'000, 3));
  ASSERT_TRUE(ends.run([&] { return data.step(); }));
  EXPECT_TRUE(data.is_exact());
}

TEST(connection, an_abort_resets_the_other_end) {
  two_ends ends;
  ASSERT_TRUE(ends.connect());
  ends.a.abort();
  ASSERT_TRUE(ends.run([&] { return ends.b.state() == tcp_state::closed; }));
  EXPECT_EQ(ends.b.why(), failure::reset);
}

TEST(connection, data_that_nobody_reads_any_more_resets) {
  two_ends ends;
  ASSERT_TRUE(ends.connect());
  ends.b.detach();
  ends.a.send(pattern(100, 1));
  ASSERT_TRUE(ends.run([&] { return ends.a.state() == tcp_state::closed; }));
  EXPECT_EQ(ends.a.why(), failure::reset);
}

TEST(connection, a_refused_call_fails_at_once) {
  connection a({}, 5);
  a.open();
  std::uint8_t room[1460];
  segment syn;
  ASSERT_TRUE(a.next_segment(1, syn, room));
  a.on_segment(refusal(syn), 2);
  EXPECT_EQ(a.state(), tcp_state::closed);
  EXPECT_EQ(a.why(), failure::refused);
}

TEST(connection, gives_up_when_nobody_answers_with_pauses_that_double) {
  two_ends ends({.lost = 100, .seed = 1});
  ASSERT_TRUE(ends.run([&] { return ends.a.state() == tcp_state::closed; }));
  EXPECT_EQ(ends.a.why(), failure::timed_out);
  EXPECT_EQ(ends.seen.size(), 7u);  // the call, and six more
  EXPECT_GE(ends.now, (1 + 2 + 4 + 8 + 16 + 32) * second);
}

TEST(connection, numbers_outside_the_window_are_answered_and_change_nothing) {
  two_ends ends;
  ASSERT_TRUE(ends.connect());
  std::uint8_t room[1460];
  segment answer;
  const segment stray{.sequence = 12345, .acknowledgment = 99, .flags = flag::ack | flag::fin};
  ends.b.on_segment(stray, ends.now);
  EXPECT_EQ(ends.b.state(), tcp_state::established);
  ASSERT_TRUE(ends.b.next_segment(ends.now, answer, room));
  EXPECT_EQ(answer.flags, flag::ack);
  // Nor does a reset or a call whose number is only near.
  segment guessed{.sequence = answer.acknowledgment + 10, .flags = flag::rst};
  ends.b.on_segment(guessed, ends.now);
  guessed.flags = flag::syn;
  ends.b.on_segment(guessed, ends.now);
  EXPECT_EQ(ends.b.state(), tcp_state::established);
}

}  // namespace
}  // namespace net
