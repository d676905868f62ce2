// Java: monitors, java.util.concurrent, timed waits, and the virtual machine's own locks (GC, JIT).
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;

public class Threads {
    static final int THREADS = 4, STEPS = 5000;
    static int counter = 0, ready = 0;
    static final Object lock = new Object();

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3 * THREADS);
        BlockingQueue<Integer> items = new ArrayBlockingQueue<>(8);
        List<Future<Integer>> sums = new ArrayList<>();
        for (int i = 0; i < THREADS; ++i) {
            sums.add(pool.submit(() -> {
                int total = 0;
                for (int item; (item = items.take()) >= 0;) total += item;
                return total;
            }));
            pool.submit(() -> {
                for (int step = 0; step < STEPS; ++step) synchronized (lock) { ++counter; }
                synchronized (lock) { ++ready; lock.notifyAll(); }
            });
        }
        for (int number = 0; number < 1000; ++number) items.put(number);
        for (int i = 0; i < THREADS; ++i) items.put(-1);
        int total = 0;
        for (Future<Integer> sum : sums) total += sum.get(20, TimeUnit.SECONDS);
        synchronized (lock) { while (ready < THREADS) lock.wait(20_000); }
        System.gc();
        Object quiet = new Object();
        long start = System.nanoTime();
        synchronized (quiet) { quiet.wait(50); }
        boolean good = System.nanoTime() - start >= 45_000_000L;
        pool.shutdown();
        good &= pool.awaitTermination(20, TimeUnit.SECONDS);
        System.out.println("counter=" + counter + " sum=" + total
            + " waits=" + (good ? "right" : "wrong"));
    }
}
