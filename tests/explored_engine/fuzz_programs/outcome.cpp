// What an execution came to: what each step has returned, and what the objects hold at the end.
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdarg>
#include <cstdio>

#include "plan.h"

namespace {

constexpr const char* names[] = {
#define OPERATION(name) #name,
#include "operations.def"
#undef OPERATION
};
constexpr const char* order_names[orders] = {"relaxed", "acquire", "release",
                                             "acq_rel", "seq_cst", "seq_cst"};
constexpr int most_ends = 24;

int outcomes = -1;
int results[most_threads][most_steps];
int child_results[most_threads][most_steps];
long ends[most_ends];
int end_count;

class text {
 public:
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    std::va_list list;
    va_start(list, format);
    length_ += std::vsnprintf(text_ + length_, sizeof text_ - std::size_t(length_), format, list);
    va_end(list);
  }

  // At once, and past the machine, which keeps what all executions but one write.
  void write() { syscall(SYS_write, outcomes, text_, length_); }

 private:
  char text_[8192];
  int length_ = 0;
};

void add_step(text& t, const step& s) {
  t.add("%s(%d, %s/%u, %d, %d)", names[int(s.what)], s.variable, order_names[s.order], s.choice,
        s.value, s.expected);
}

}  // namespace

void tell_outcomes_to(int descriptor) { outcomes = descriptor; }

void tell_result(const step& of, int result) { results[of.thread][of.index] = result; }

void tell_child_result(const step& of, int result) { child_results[of.thread][of.index] = result; }

void tell_end(long value) { ends[end_count++] = value; }

void write_outcome(const plan& p) {
  text line;
  for (int t = 0; t < p.threads; ++t) {
    for (int i = 0; i < p.length[t]; ++i) {
      const step& s = p.steps[t][i];
      line.add("%d/%d ", results[t][s.index], child_results[t][s.index]);
    }
    line.add("| ");
  }
  for (int i = 0; i < end_count; ++i) line.add("%ld ", ends[i]);
  line.add("\n");
  line.write();
}

void write_plan(const plan& p) {
  text lines;
  for (int t = 0; t < p.threads; ++t) {
    for (int i = 0; i < p.length[t]; ++i) {
      const step& s = p.steps[t][i];
      lines.add("%d.%d ", t, s.index);
      add_step(lines, s);
      lines.add(", child ");
      add_step(lines, *s.child);
      lines.add("\n");
    }
  }
  lines.write();
}
