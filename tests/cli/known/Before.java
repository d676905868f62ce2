// Threads that wait when a recording begins. They go on when a line is read, and print how many
// nanoseconds later than that at least; with "dead", two of them never do. With "crowd" they wait
// for each other all the time; with "churn" they begin and end, too.
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class Before {
  static final Object monitor = new Object(), told = new Object();
  static final Object[] pair = {new Object(), new Object()};
  static final ReentrantLock lock = new ReentrantLock(), ofCondition = new ReentrantLock();
  static final Condition condition = ofCondition.newCondition();
  static final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
  static final CountDownLatch latch = new CountDownLatch(1);
  static final List<Thread> all = new ArrayList<>();
  static boolean goes = false;

  interface Work {
    void run() throws InterruptedException;
  }

  static Thread start(String name, Work work) {
    Thread thread = new Thread(() -> {
      try {
        work.run();
      } catch (InterruptedException interrupted) {
      }
    }, name);
    thread.start();
    return thread;
  }

  static void starts(String name, Work work) {
    all.add(start(name, work));
  }

  static void entersMonitor() {
    synchronized (monitor) {
      goes = true;
    }
  }

  static synchronized void entersClass() {
    goes = true;
  }

  static void waitsToBeTold() throws InterruptedException {
    synchronized (told) {
      while (!goes) told.wait();
    }
  }

  static void locks() {
    lock.lock();
    lock.unlock();
  }

  static void readsBoth() {
    both.readLock().lock();
    both.readLock().unlock();
  }

  static void awaitsCondition() throws InterruptedException {
    ofCondition.lock();
    while (!goes) condition.await();
    ofCondition.unlock();
  }

  static void parks() {
    while (!goes) LockSupport.park();
  }

  static void isInterrupted() {
    LockSupport.park("a blocker");
    Thread.interrupted();
    for (;;) sleep(1000);
  }

  static void sleep(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
    }
  }

  static void holdsOne(int first) {
    synchronized (pair[first]) {
      sleep(200);
      synchronized (pair[1 - first]) {
        goes = true;
      }
    }
  }

  // Threads that wait for each other again and again, each time for less than a millisecond.
  static void crowds() {
    for (;;) {
      lock.lock();
      LockSupport.parkNanos(50_000);
      lock.unlock();
      synchronized (monitor) {
        LockSupport.parkNanos(50_000);
      }
    }
  }

  static void crowd() throws IOException {
    for (int i = 0; i < 12; ++i) starts("crowd", Before::crowds);
    System.out.println("ready");
    System.in.read();
    System.exit(0);
  }

  static void churns() throws InterruptedException {
    for (;;) {
      Thread[] some = new Thread[8];
      for (int i = 0; i < some.length; ++i)
        some[i] = start("short", () -> {
          lock.lock();
          LockSupport.parkNanos(20_000);
          lock.unlock();
          synchronized (monitor) {
            monitor.wait(1);
            monitor.notifyAll();
          }
        });
      for (Thread each : some) each.join();
    }
  }

  // Threads begin, wait for each other and end all the time.
  static void churn() throws IOException {
    for (int i = 0; i < 3; ++i) starts("churns", Before::churns);
    System.out.println("ready");
    System.in.read();
    System.exit(0);
  }

  static void areWaiting() {
    for (Thread each : all)
      while (each.getState() != Thread.State.BLOCKED && each.getState() != Thread.State.WAITING)
        sleep(1);
  }

  static void dead() throws IOException {
    starts("one", () -> holdsOne(0));
    starts("other", () -> holdsOne(1));
    areWaiting();
    System.out.println("ready");
    System.in.read();
    System.exit(0);
  }

  static void go(Thread interrupted, Thread parked) throws IOException, InterruptedException {
    synchronized (monitor) {
      synchronized (Before.class) {
        lock.lock();
        both.writeLock().lock();
        starts("enters", Before::entersMonitor);
        starts("enters class", Before::entersClass);
        starts("told", Before::waitsToBeTold);
        starts("locks", Before::locks);
        starts("reads", Before::readsBoth);
        starts("awaits", Before::awaitsCondition);
        starts("latched", latch::await);
        areWaiting();
        System.out.println("ready");
        System.in.read();
        long begin = System.nanoTime();
        sleep(500);
        System.out.println(System.nanoTime() - begin);
        both.writeLock().unlock();
        lock.unlock();
        goes = true;
      }
    }
    latch.countDown();
    interrupted.interrupt();
    LockSupport.unpark(parked);
    synchronized (told) {
      told.notifyAll();
    }
    ofCondition.lock();
    condition.signalAll();
    ofCondition.unlock();
    for (Thread each : all)
      if (each != interrupted) each.join();
  }

  public static void main(String[] words) throws IOException, InterruptedException {
    if (words.length != 0 && words[0].equals("dead")) dead();
    if (words.length != 0 && words[0].equals("crowd")) crowd();
    if (words.length != 0 && words[0].equals("churn")) churn();
    starts("interrupted", Before::isInterrupted);
    starts("parks", Before::parks);
    Thread parked = all.get(1);
    starts("joins", parked::join);
    go(all.get(0), parked);
    System.out.println("gone");
    System.in.read();
    System.in.read();
    System.exit(0);
  }
}
