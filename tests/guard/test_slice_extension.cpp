// The kernel's time-slice extension, played by a mock: this is how Linux 7.0 and later behave.
#include "preload/guard/slice_extension.h"

#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <vector>

namespace syncopate::shim {
namespace {

struct mock_kernel {
  alignas(32) static inline unsigned char bytes[slice_abi::area_bytes];
  static inline bool has_area;
  static inline long prctl_result, yield_result;
  static inline int prctls, yields;
  static inline std::vector<long> arguments;

  static volatile unsigned char* area() { return has_area ? bytes : nullptr; }
  static long prctl(long option, long command, long argument) {
    ++prctls;
    arguments = {option, command, argument};
    return prctl_result;
  }
  static long yield() {
    ++yields;
    bytes[slice_abi::granted_at] = 0;
    return yield_result;
  }
  // What an interrupt in a section does: the slice is extended.
  static void grant() {
    ASSERT_EQ(bytes[slice_abi::request_at], 1);
    bytes[slice_abi::request_at] = 0;
    bytes[slice_abi::granted_at] = 1;
  }
  static void offer(bool offered) {
    std::memset(bytes, 0, sizeof bytes);
    if (offered) bytes[slice_abi::flags_at] = slice_abi::offered;
  }
};

class SliceExtension : public ::testing::Test {
 protected:
  void SetUp() override {
    mock_kernel::offer(true);
    mock_kernel::has_area = true;
    mock_kernel::prctl_result = mock_kernel::yield_result = 0;
    mock_kernel::prctls = mock_kernel::yields = 0;
  }
  static int request() { return mock_kernel::bytes[slice_abi::request_at]; }
  slice_extension<mock_kernel> slice;
};

TEST_F(SliceExtension, IsEnabledOncePerThreadAsTheKernelWantsIt) {
  EXPECT_EQ(slice.enable(), slice_state::enabled);
  EXPECT_EQ(slice.enable(), slice_state::enabled);
  EXPECT_EQ(mock_kernel::prctls, 1);
  EXPECT_EQ(mock_kernel::arguments, (std::vector<long>{79, 2, 1}));
}

TEST_F(SliceExtension, AsksInsideASectionOnly) {
  EXPECT_EQ(request(), 0);
  slice.enter();
  EXPECT_EQ(request(), 1);
  EXPECT_FALSE(slice.leave());
  EXPECT_EQ(request(), 0);
  EXPECT_EQ(mock_kernel::yields, 0);
}

TEST_F(SliceExtension, GivesBackWhatWasGranted) {
  slice.enter();
  mock_kernel::grant();
  EXPECT_TRUE(slice.leave());
  EXPECT_EQ(mock_kernel::yields, 1);
  slice.enter();
  EXPECT_FALSE(slice.leave());
  EXPECT_EQ(mock_kernel::yields, 1);
}

TEST_F(SliceExtension, ARevokedGrantNeedsNothing) {
  slice.enter();
  mock_kernel::grant();
  mock_kernel::bytes[slice_abi::granted_at] = 0;  // the kernel's timer was faster
  EXPECT_FALSE(slice.leave());
  EXPECT_EQ(mock_kernel::yields, 0);
}

struct kernel_answer {
  bool area, offered;
  long prctl;
  slice_state state;
};
// Names the case in lists of tests, in place of its bytes.
void PrintTo(const kernel_answer& answer, std::ostream* to) {
  *to << (answer.area ? "area" : "no area") << (answer.offered ? ", offered" : "") << ", prctl "
      << answer.prctl;
}
class SliceExtensionMissing : public SliceExtension,
                              public ::testing::WithParamInterface<kernel_answer> {};

TEST_P(SliceExtensionMissing, WritesNothingIntoTheArea) {
  mock_kernel::offer(GetParam().offered);
  mock_kernel::has_area = GetParam().area;
  mock_kernel::prctl_result = GetParam().prctl;
  EXPECT_EQ(slice.enable(), GetParam().state);
  slice.enter();
  EXPECT_EQ(request(), 0);
  EXPECT_FALSE(slice.leave());
  EXPECT_EQ(mock_kernel::prctls, GetParam().area && GetParam().offered ? 1 : 0);
}
INSTANTIATE_TEST_SUITE_P(
    All, SliceExtensionMissing,
    ::testing::Values(kernel_answer{false, false, 0, slice_state::no_area},
                      kernel_answer{true, false, 0, slice_state::not_offered},
                      kernel_answer{true, true, -EINVAL, slice_state::refused},
                      kernel_answer{true, true, -524, slice_state::refused},  // ENOTSUPP
                      kernel_answer{true, true, -ENXIO, slice_state::refused}));

TEST_F(SliceExtension, AKernelWithoutTheCallEndsIt) {
  mock_kernel::yield_result = -ENOSYS;
  slice.enter();
  mock_kernel::grant();
  EXPECT_TRUE(slice.leave());
  slice.enter();
  EXPECT_EQ(request(), 0);
}

}  // namespace
}  // namespace syncopate::shim
