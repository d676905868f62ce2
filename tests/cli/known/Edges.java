// SEED: threads t0, t1, ... of which each has a monitor or a ReentrantLock and waits for that of
// another one, by chance: in chains, trees and circles. For good.
import java.util.Random;
import java.util.concurrent.locks.ReentrantLock;

public class Edges {
  static Object[] monitors;
  static ReentrantLock[] locks;  // null: a monitor

  static void sleep(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
    }
  }

  static void waitsFor(int self, int other) {
    sleep(300);  // until each has its own
    if (other != self && locks[other] != null) locks[other].lock();
    else if (other != self) synchronized (monitors[other]) { }
    for (;;) sleep(1000);
  }

  static void runs(int self, int other) {
    if (locks[self] == null) {
      synchronized (monitors[self]) {
        waitsFor(self, other);
      }
    }
    locks[self].lock();
    waitsFor(self, other);
  }

  public static void main(String[] words) {
    Random random = new Random(Long.parseLong(words[0]));
    int count = 4 + random.nextInt(8);
    monitors = new Object[count];
    locks = new ReentrantLock[count];
    for (int i = 0; i < count; ++i) {
      monitors[i] = new Object();
      if (random.nextBoolean()) locks[i] = new ReentrantLock();
    }
    for (int i = 0; i < count; ++i) {
      int self = i, other = random.nextInt(count);
      new Thread(() -> runs(self, other), "t" + i).start();
    }
    sleep(1000);
    System.out.println("ready");
  }
}
