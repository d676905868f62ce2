// Waits whose kind their object or the names around them do not tell. Prints how many there were.
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

public class Roles {
  static final int TIMES = 20;
  static final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
  static final StampedLock stamped = new StampedLock();
  static final ReentrantLock lock = new ReentrantLock();

  static void sleep(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
    }
  }

  // A thread that is joined and parks; one that is a monitor of its own.
  static class Worker extends Thread {
    boolean go;

    void naps() {
      Roles.sleep(100);
      for (int i = 0; i < TIMES; ++i) LockSupport.parkNanos(5_000_000);
    }

    synchronized void waits() {
      while (!go)
        try {
          wait();
        } catch (InterruptedException interrupted) {
        }
    }

    synchronized void goes() {
      go = true;
      notifyAll();
    }
  }

  // Writers in a method whose name says that it reads.
  static void processReadShared() {
    both.writeLock().lock();
    sleep(1);
    both.writeLock().unlock();
  }

  static void stampedRead() {
    long stamp = stamped.writeLock();
    sleep(1);
    stamped.unlockWrite(stamp);
  }

  static void reads() {
    both.readLock().lock();
    both.readLock().unlock();
  }

  static void readsStamped() {
    long stamp = stamped.readLock();
    stamped.unlockRead(stamp);
  }

  static void letsGo() {
    both.writeLock().unlock();
  }

  static void letsGoOfStamped(long stamp) {
    stamped.unlockWrite(stamp);
  }

  static void all(int count, Runnable does) throws InterruptedException {
    Thread[] threads = new Thread[count];
    for (int i = 0; i < count; ++i) (threads[i] = new Thread(does)).start();
    for (Thread each : threads) each.join();
  }

  static Thread[] started(int count, Runnable does) {
    Thread[] threads = new Thread[count];
    for (int i = 0; i < count; ++i) (threads[i] = new Thread(does)).start();
    return threads;
  }

  static void repeat(Runnable does) {
    for (int i = 0; i < TIMES; ++i) does.run();
  }

  static void interrupted() {
    for (int i = 0; i < TIMES; ++i)
      try {
        lock.lockInterruptibly();
        lock.unlock();
      } catch (InterruptedException interrupted) {
      }
  }

  static void tries() {
    for (int i = 0; i < TIMES; ++i)
      try {
        if (lock.tryLock(3, TimeUnit.MILLISECONDS)) lock.unlock();
      } catch (InterruptedException interrupted) {
      }
  }

  public static void main(String[] words) throws InterruptedException {
    switch (words[0]) {
      case "join": {
        Worker worker = new Worker() { public void run() { Roles.sleep(200); } };
        worker.start();
        worker.join();
        break;
      }
      case "nap": {
        Worker worker = new Worker() { public void run() { naps(); } };
        worker.start();
        worker.join();
        break;
      }
      case "own": {
        Worker worker = new Worker() { public void run() { waits(); } };
        worker.start();
        sleep(200);
        worker.goes();
        worker.join();
        break;
      }
      case "writes":
        all(3, () -> repeat(Roles::processReadShared));
        break;
      case "stamped":
        all(3, () -> repeat(Roles::stampedRead));
        break;
      case "passed on":
        for (int i = 0; i < TIMES; ++i) {
          both.writeLock().lock();
          Thread[] threads = started(4, Roles::reads);
          sleep(20);
          letsGo();
          for (Thread each : threads) each.join();
        }
        break;
      case "passed on, stamped":
        for (int i = 0; i < TIMES; ++i) {
          long stamp = stamped.writeLock();
          Thread[] threads = started(4, Roles::readsStamped);
          sleep(20);
          letsGoOfStamped(stamp);
          for (Thread each : threads) each.join();
        }
        break;
      case "interrupted": {
        lock.lock();
        Thread waits = started(1, Roles::interrupted)[0];
        for (int i = 0; i < TIMES; ++i) {
          while (waits.getState() != Thread.State.WAITING) Thread.onSpinWait();
          waits.interrupt();
          while (waits.isInterrupted()) Thread.onSpinWait();
        }
        waits.join();
        lock.unlock();
        break;
      }
      case "crowd":  // one holds it, two wait, until the process is ended
        System.out.println("ready");
        all(3, () -> {
          for (;;) {
            lock.lock();
            sleep(2);
            lock.unlock();
          }
        });
        break;
      case "gave up":
        lock.lock();
        all(3, Roles::tries);
        lock.unlock();
        break;
    }
    System.out.println(TIMES);
  }
}
