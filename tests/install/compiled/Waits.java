/** Four threads and one monitor, as the trials of packages record them. */
public class Waits {
  static final Object lock = new Object();
  static int left = 400;

  static void work() {
    while (true)
      synchronized (lock) {
        if (left-- <= 0) return;
        try {
          Thread.sleep(1);
        } catch (InterruptedException end) {
          return;
        }
      }
  }

  public static void main(String[] words) throws InterruptedException {
    Thread[] threads = new Thread[4];
    for (int i = 0; i < threads.length; i++) (threads[i] = new Thread(Waits::work)).start();
    for (Thread each : threads) each.join();
    System.out.println("done");
  }
}
